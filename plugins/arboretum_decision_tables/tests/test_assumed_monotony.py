"""A complexity of one's own is minimised on an assumption: tried at the table at hand and where
the search has been, and said.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest
import slow_truth as slow
from decision_tables import random_problem

from arboretum.api import CapabilityError, Context, Form, Monotony, grow
from arboretum.engine.certificate import certify
from arboretum_classic.criteria.criteria import Reduction
from arboretum_classic.criteria.impurities import Gini
from arboretum_decision_tables.complexities import AverageDepth, Nodes, ZeroError
from arboretum_decision_tables.exact.solver import SubtableDP
from arboretum_decision_tables.exact.space import space_of


@attrs.frozen
class Own:
    """Nodes, but at masses from ``start`` to ``end`` a node is the cheaper the dearer its
    branches are.
    """

    kind, name, paper, capabilities = "complexity", "own", "", ()
    start: float = np.inf
    end: float = np.inf
    answer: float = -1.0
    first: float = 1.0

    def leaf(self):
        return self.first

    def node(self, mass, price, children):
        total = float(np.sum(children))
        if not self.start <= mass <= self.end:
            return 1.0 + total
        return 60.0 / (1.0 + total) if self.answer == -1.0 else self.answer


def table(complexity=None, **more):
    """Thirty objects of a weight of some hundreds each, no two sums alike."""
    weight = np.round(np.random.default_rng(1).uniform(300, 900, 30), 3)
    problem = random_problem(1, 30, 4, values=2, classes=2, weight=weight, impurity=Gini())
    parts = attrs.evolve(
        problem.parts, objective=ZeroError(), complexity=complexity, criterion=Reduction(), **more
    )
    return attrs.evolve(problem, parts=parts)


def mass_of_an_inner_node() -> float:
    """Of a subtable that is reached and divided, neither the whole table nor a small part of it."""
    space = space_of(table())
    graph = slow.delta(space)
    rows = sorted(
        (
            rows
            for rows, bundles in graph.items()
            if bundles and 3 <= len(rows) <= space.n_objects // 2
        ),
        key=sorted,
    )[0]
    return float(sum(space.weight[row] for row in sorted(rows)))


def test_what_falls_only_at_large_masses_would_have_ended_as_optimal():
    """Dynamic programming takes the cheapest branches; at the root the costliest are the best."""
    space = space_of(table())
    own = Own(start=space.total_mass - 1.0)
    assert Monotony(own).on_a_grid().at_random(500).found is None, (
        "not to be seen at masses below 1000"
    )
    graph, whole = slow.delta(space), frozenset(range(space.n_objects))
    costliest = {}
    for rows in sorted(graph, key=len):
        choices = [
            slow.bundle_value(space, Nodes(), rows, bundle, costliest) for bundle in graph[rows]
        ]
        costliest[rows] = max(choices, default=1.0)
    there_is = min(
        slow.bundle_value(space, own, whole, bundle, costliest) for bundle in graph[whole]
    )
    assert there_is < 0.95 * slow.minima(space, own, graph)[whole], "which is no minimum"
    with pytest.raises(CapabilityError, match=r"complexity own is not monotone: F\(mass=[12]\d{4}"):
        SubtableDP().solve(table(own), Context())


def test_what_falls_at_one_subtable_only_is_seen_where_the_search_has_been():
    mass = mass_of_an_inner_node()
    own = Own(start=mass - 0.01, end=mass + 0.01)
    Monotony.on(own, table().objects, table().prices)
    with pytest.raises(
        CapabilityError, match=rf"F\(mass={mass:g}, price=1, \[.*\]\) = .* is greater than F\("
    ):
        SubtableDP().solve(table(own), Context())


def test_a_result_says_what_was_assumed_and_how_far_it_was_tried():
    solution = SubtableDP().solve(table(Own()), Context())
    note = next(note for note in solution.notes if "assumed, not proven" in note)
    for word in (
        "complexity own has no closed form",
        "pairs of arguments were tried",
        "at all ",
        "subtables visited",
    ):
        assert word in note
    assert not any(
        "assumed" in note for note in SubtableDP().solve(table(Nodes()), Context()).notes
    )


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (Own(first=-1.0), "ψ⁰ = -1 must be a finite number ≥ 0"),
        (Own(first=np.nan), "ψ⁰ = nan must be a finite number ≥ 0"),
        (Own(start=0.0, answer=-2.0), r"= -2 must be a number ≥ 0"),
        (
            Own(start=10_000.0, answer=np.nan),
            r"F\(mass=[12]\d{4}\S*, price=1, .*\) = nan must be a number ≥ 0",
        ),
    ],
)
def test_what_is_no_cost_is_refused(own, message):
    with pytest.raises(CapabilityError, match=message):
        SubtableDP().solve(table(own), Context())


@attrs.frozen
class TwoTongues(Own):
    """Its closed form says something else."""

    name = "two_tongues"

    def form(self):
        return Form(leaf=5.0, per_node=7.0)


def test_one_complexity_that_is_no_number_somewhere_leaves_the_others_certified():
    problem = table()
    mass = mass_of_an_inner_node()
    solution = grow(problem, Context())
    assert not np.isclose(solution.tree.mass, mass).any(), "the run's own tree does not come by"
    bad = {
        "own": Own(start=mass - 0.01, end=mass + 0.01, answer=np.nan),
        "at_the_root": Named(start=10_000.0, answer=np.nan),
        "two_tongues": TwoTongues(),
    }
    asked = [AverageDepth(), *bad.values(), Fine()]
    certificate, notes = certify(
        SubtableDP(), asked, solution.tree, problem, solution, {}, Context()
    )
    assert set(certificate.complexities) == {"average_depth", "fine"}
    assert all(found.proven for found in certificate.complexities.values())
    for name in bad:
        assert sum(f"complexity {name} is left out: " in note for note in notes) == 1
    assert (
        sum("fine has no closed form" in note and "assumed, not proven" in note for note in notes)
        == 1
    )


@attrs.frozen
class Named(Own):
    name = "at_the_root"


@attrs.frozen
class Fine(Own):
    name = "fine"
