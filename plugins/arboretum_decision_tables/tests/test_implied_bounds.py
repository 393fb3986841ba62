"""What proven bounds say of each other holds of every tree, by brute force; and a certificate uses it."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from arboretum.api import Context, Family, Form, Solution, Status, grow, value_of
from arboretum.engine.certificate import certify
from arboretum.engine.implied import COST, DEAREST, DEPTH, INNER, LEAVES, LENGTH, PRICES, Facts, raised
from arboretum.errors import VerificationError
from arboretum.testing.oracles import build_tree
from arboretum_classic.criteria import Reduction
from arboretum_classic.impurities import Gini
from arboretum_decision_tables.complexities import COMPLEXITIES, AverageDepth, ClosedForm, TotalPathLength
from arboretum_decision_tables.solver import SubtableDP
from arboretum_decision_tables.space import space_of

import slow_truth as slow
from decision_tables import problems, random_problem


@attrs.frozen
class Mixed(ClosedForm):
    name = "mixed"
    FORM = Form(leaf=0.5, per_node=2.0, per_mass=0.25, priced=True)


@attrs.frozen
class MixedMax(ClosedForm):
    name = "mixed_max"
    FORM = Form(combine="max", leaf=0.5, per_node=2.0, per_mass=0.25)


FORMS = [*(cls() for cls in COMPLEXITIES), Mixed(), MixedMax()]


def psi(complexity, tree) -> float:
    """Not divided by the weight."""
    value = value_of(complexity, tree)
    return value * tree.mass[0] if complexity.per_object else value


def quantities(tree) -> np.ndarray:
    inner = np.flatnonzero(~tree.is_leaf)
    depth, paid = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
    for v in range(1, tree.n_nodes):
        up = tree.parent[v]
        depth[v], paid[v] = depth[up] + 1, paid[up] + tree.price[up]
    found = np.empty(7)
    found[[INNER, LEAVES, PRICES, LENGTH]] = len(inner), tree.n_leaves, tree.price[inner].sum(), tree.mass[inner].sum()
    found[[COST, DEPTH, DEAREST]] = (tree.price * tree.mass)[inner].sum(), depth.max(), paid.max()
    return found


def trees_of(problem):
    """All trees of a table, at most 300 of them."""
    space = space_of(problem)
    assume(slow.count(slow.delta(space))[frozenset(range(space.n_objects))] <= 300)
    return [build_tree(problem.objects, sketch, problem.prices) for sketch in slow.all_trees(space)]


@settings(max_examples=3 * settings().max_examples, deadline=None)
@given(problems(max_rows=7), st.lists(st.sampled_from([0.0, 0.3, 0.9, 0.999, 1.0]), min_size=len(FORMS), max_size=len(FORMS)))
def test_nothing_is_implied_that_some_tree_undercuts(problem, shares):
    """Bounds that hold, each a part of its minimum, imply bounds that hold: of every complexity and every tree."""
    trees = trees_of(problem)
    facts = Facts.of(problem, problem.parts.leaf_rule(counting_objects=True))
    least = {each.name: min(psi(each, tree) for tree in trees) for each in FORMS}
    bounds = {each.name: (each.form(), share * least[each.name]) for each, share in zip(FORMS, shares, strict=True)}
    for name, bound in raised(bounds, facts).items():
        assert bound <= least[name] * (1 + 1e-12) + 1e-12, (name, bound, least[name])
    for tree in trees:
        found = quantities(tree)
        for (r, q), (s, t) in facts.relations().items():
            assert found[r] <= (s * found[q] + t) * (1 + 1e-12) + 1e-12, (r, q)


def test_most_of_what_the_minima_say_of_each_other_is_found():
    """One exact minimum at a time: with unit prices and binary tests it fixes its equals, and bounds the others above 0."""
    problem = random_problem(3, 24, 5, values=2, classes=2)
    answers = SubtableDP().minima(problem, FORMS, Context())
    facts, total = Facts.of(problem, problem.parts.leaf_rule()), 24.0
    least = {each.name: one.value * (total if each.per_object else 1.0) for each, one in zip(FORMS, answers, strict=True)}
    forms = {each.name: each.form() for each in FORMS}
    known = lambda name: raised({other: (form, least[name] if other == name else 0.0) for other, form in forms.items()}, facts)  # noqa: E731
    for same in (("total_path_length", "average_depth", "expected_cost"), ("n_nodes", "n_leaves", "n_internal"), ("depth", "max_cost")):
        for one in same:
            found = known(one)
            assert [found[other] for other in same] == pytest.approx([least[other] for other in same])
    assert known("n_leaves")["depth"] >= np.log2(least["n_leaves"])
    assert known("average_depth")["depth"] == np.ceil(least["average_depth"] / total)


@attrs.frozen
class ProvesOne:
    """Knows the minimum of the average depth, and a poor bound of all else."""

    kind, name, paper, capabilities = "solver", "proves_one", "", ("classification", "multiclass", "weights", "multiway")
    lie: float = 1.0

    def minima(self, problem, complexities, context):
        answers = SubtableDP().minima(problem, complexities, context)
        return [
            attrs.evolve(one, lower_bound=one.value * self.lie)
            if each.name == "average_depth"
            else Solution(one.tree, one.value, 0.9 * one.value, Status.feasible, finished=False)
            for each, one in zip(complexities, answers, strict=True)
        ]


def certified_by(certifier):
    problem = random_problem(5, 40, 6, values=2, classes=2)
    parts = attrs.evolve(problem.parts, criterion=Reduction(), impurity=Gini())
    problem = attrs.evolve(problem, parts=parts)
    solution = grow(problem, Context())
    return certify(certifier, [AverageDepth(), TotalPathLength(), *FORMS[3:6]], solution.tree, problem, solution, {}, Context())


def test_a_certificate_uses_what_follows():
    certificate, notes = certified_by(ProvesOne())
    depth, length = (certificate.complexities[name] for name in ("average_depth", "total_path_length"))
    assert depth.proven and length.proven
    assert length.lower_bound == length.best_known == pytest.approx(depth.lower_bound * 40)
    assert any("the minimum of total_path_length follows from what is proven of the others" in note for note in notes)
    nodes, leaves, inner = (certificate.complexities[name] for name in ("n_nodes", "n_leaves", "n_internal"))
    assert nodes.lower_bound == leaves.lower_bound + inner.lower_bound == 2 * inner.lower_bound + 1, "binary tests"


def test_bounds_that_contradict_a_tree_fail_the_run():
    with pytest.raises(VerificationError):
        certified_by(ProvesOne(lie=1.01))
