"""Branch and bound against the slow truth and the graph; budgets that cut it short; the bounds
by themselves.
"""

from __future__ import annotations

import math
import time

import attrs
import numpy as np
import pytest
import slow_truth as slow
from decision_tables import problem_from, problems, random_problem
from hypothesis import given, settings, strategies as st

from arboretum.api import Context, Family, Form, LeafRule, OutOfTime, value_of
from arboretum.testing.tables import ToyGini
from arboretum_decision_tables.complexities import COMPLEXITIES, ClosedForm, Depth, Nodes, ZeroError
from arboretum_decision_tables.exact import search as searching
from arboretum_decision_tables.exact.graph import build_graph
from arboretum_decision_tables.exact.search import minimise_complexity
from arboretum_decision_tables.exact.space import space_of
from arboretum_decision_tables.exact.values import Cost, values_of_nodes

NAMES = [cls.name for cls in COMPLEXITIES]
TOLERANCE = 1e-12
"""Relative: ψ is a sum of at most 2 · 90 terms, so two orders of summation differ by less than
180 ε = 4 · 10⁻¹⁴.
"""


@attrs.frozen
class Mixed(ClosedForm):
    """A form that has every term."""

    name = "mixed"
    FORM = Form(leaf=0.5, per_node=2.0, per_mass=0.25, priced=True)


@attrs.frozen
class MixedMax(ClosedForm):
    name = "mixed_max"
    FORM = Form(combine="max", leaf=0.5, per_node=2.0, per_mass=0.25)


FORMS = [*(cls() for cls in COMPLEXITIES), Mixed(), MixedMax()]


def check_tree(problem, complexity, found):
    """The tree is lawful and has the value that is claimed; one cut short may be better (a part
    was improved last).
    """
    tree = found.best_tree()
    scale = found.space.total_mass if complexity.per_object else 1.0
    value = value_of(complexity, tree) * scale
    assert found.lower_bound * (1 - TOLERANCE) <= value <= found.value * (1 + TOLERANCE)
    asked = attrs.evolve(problem, parts=attrs.evolve(problem.parts, complexity=complexity))
    assert ZeroError().value(tree, asked) == value_of(complexity, tree)


@settings(max_examples=5 * settings().max_examples, deadline=None)
@given(problems(max_rows=9, max_features=4), st.sampled_from(FORMS), st.booleans())
def test_the_minimum_is_that_of_the_slow_truth(problem, complexity, widths):
    space = space_of(problem)
    best = slow.minima(space, complexity)[frozenset(range(space.n_objects))]
    found = minimise_complexity(space, complexity.FORM, widths=widths)
    assert (
        found.solved
        and found.value == pytest.approx(best, rel=TOLERANCE)
        and found.lower_bound == found.value
    )
    check_tree(problem, complexity, found)


FAMILIES = {
    "multiway": [Family.multiway] * 6,
    "two-way": [Family.thresholds, Family.equals] * 3,
    "all": [*Family, *Family],
}
RULES = {
    "pure": LeafRule(),
    "rows": LeafRule(min_split=4),
    "mass": LeafRule(theta=0.05),
    "all": LeafRule(3, 0.02, 0.2),
    "objects": LeafRule(theta=0.03, min_objects=3),
}


@pytest.mark.compiled  # larger than patience lasts for
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("families", FAMILIES.values(), ids=FAMILIES)
def test_the_minimum_is_that_of_the_graph_on_larger_tables(families, rule):
    """Tables of 24 rows reach every line of the search that tables of 60 rows did; those of two
    values contradict themselves.
    """
    for seed in range(3):
        options = (
            {"rule": rule, "impurity": ToyGini(), "prices": [1, 2, 3, 1.5]}
            if seed % 2
            else {"rule": rule, "impurity": ToyGini()}
        )
        weight = (
            np.random.default_rng(seed).choice([0.5, 1.0, 2.0, 0.1], 24) if seed % 3 == 0 else None
        )
        problem = random_problem(
            seed,
            24,
            6,
            values=3 - seed // 2,
            classes=2 + seed % 3,
            families=families,
            weight=weight,
            **options,
        )
        space = space_of(problem)
        graph = build_graph(space)
        for complexity in FORMS[seed::3]:
            best = float(values_of_nodes(graph, Cost.of(complexity))[0])
            found = minimise_complexity(space, complexity.FORM)
            assert found.solved and found.value == pytest.approx(best, rel=TOLERANCE)
            check_tree(problem, complexity, found)


@pytest.mark.parametrize("complexity", FORMS, ids=lambda complexity: complexity.name)
def test_cut_short_anywhere_the_bounds_hold_and_the_tree_is_there(complexity, monkeypatch):
    problem = random_problem(5, 80, 7, prices=[1, 2, 3])
    space = space_of(problem)
    best = float(values_of_nodes(build_graph(space), Cost.of(complexity))[0])
    monkeypatch.setattr(searching, "SLICE", 0)  # a look at the clock at every step
    clock = iter(range(10**9))
    monkeypatch.setattr(searching.time, "monotonic", lambda: next(clock) * 1.0)
    with pytest.raises(OutOfTime, match="before there was a tree"):
        minimise_complexity(space, complexity.FORM, Context(deadline=time.monotonic() + 1))
    # a first tree is sought for so long
    monkeypatch.setattr("arboretum.interfaces.method.MOMENT", 1e6)
    gaps = []
    for steps in (1, 30, 100, 300, 1000, 3000):
        start = time.monotonic()
        found = minimise_complexity(space, complexity.FORM, Context(deadline=start + steps))
        assert found.lower_bound <= best * (1 + TOLERANCE) and found.value >= best * (1 - TOLERANCE)
        assert (
            found.solved == (found.stopped == "") and 0 < found.lower_bound <= found.value < np.inf
        )
        check_tree(problem, complexity, found)
        gaps.append(found.value - found.lower_bound)
    assert gaps[0] > 0 and gaps[-1] <= gaps[0], "one step proves nothing, and more steps prove more"


def test_bytes_that_run_out_stop_it_with_sound_bounds(monkeypatch):
    monkeypatch.setattr(searching, "FIRST_NODES", 64)
    space = space_of(random_problem(6, 120, 7))
    best = minimise_complexity(space, Nodes.FORM)
    for budget in (1, 20_000, 40_000):
        found = minimise_complexity(space, Nodes.FORM, Context(memory_bytes=budget))
        assert (
            found.stopped == "bytes" and 0 < found.lower_bound <= best.value <= found.value < np.inf
        )
        check_tree(random_problem(6, 120, 7), Nodes(), found)


def test_the_same_search_finds_the_same_tree_and_count():
    space = space_of(random_problem(7, 70, 6))
    one, two = (minimise_complexity(space, COMPLEXITIES[1].FORM) for _ in range(2))
    assert (one.value, one.subproblems, one.opened) == (two.value, two.subproblems, two.opened)
    assert one.best_tree() == two.best_tree()


@settings(max_examples=4 * settings().max_examples, deadline=None)
@given(problems(max_rows=9, max_features=4), st.sampled_from(FORMS), st.integers(1, 4))
def test_the_bound_by_cubes_is_a_bound(problem, complexity, depth):
    from arboretum_decision_tables.exact.bound_kernels import conjunction_bound_of_table

    space = space_of(problem)
    whole = frozenset(range(space.n_objects))
    if math.isinf(space.light[0]):
        return  # of leaves by an impurity nothing is known
    if (
        slow.is_leaf(space, whole)
        or not slow.bundles_of(space, whole)
        or (complexity.FORM.combine == "sum" and not complexity.FORM.per_mass)
    ):
        return
    walk = searching.SubtableSearch(space, complexity.FORM, ease=0.0)
    bound = conjunction_bound_of_table(walk.table, walk.form, walk.setting, depth)
    assert 0 <= bound <= slow.minima(space, complexity)[whole] * (1 + TOLERANCE)


def test_cubes_of_parity_give_its_depth():
    """No conjunction of less than 4 literals has one class, and one of 4 has one object."""
    codes = np.array(list(np.ndindex(2, 2, 2, 2)))
    space = space_of(problem_from(codes, codes.sum(axis=1) % 2, [Family.multiway] * 4))
    for complexity, least in ((COMPLEXITIES[1](), 16 * 4), (Depth(), 4)):
        walk = searching.SubtableSearch(space, complexity.FORM, ease=0.0)
        from arboretum_decision_tables.exact.bound_kernels import conjunction_bound_of_table

        assert conjunction_bound_of_table(walk.table, walk.form, walk.setting, 4) == pytest.approx(
            least, rel=TOLERANCE
        )


@settings(max_examples=4 * settings().max_examples, deadline=None)
@given(problems(max_rows=9, max_features=4), st.sampled_from(FORMS), st.booleans())
def test_whatever_helps_the_minimum_is_the_same(problem, complexity, ahead):
    space = space_of(problem)
    best = slow.minima(space, complexity)[frozenset(range(space.n_objects))]
    found = minimise_complexity(space, complexity.FORM, widths=False, ahead=ahead, ease=0.0)
    assert found.solved and found.value == pytest.approx(best, rel=TOLERANCE)
