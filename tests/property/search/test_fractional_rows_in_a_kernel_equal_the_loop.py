"""Trees by shares grown inside a kernel against growth by shares node by node: the same tree."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import Context, Family, Prices, Task, grow
from arboretum.engine.search import subtree
from arboretum.engine.search.assemble import to_tree
from arboretum.engine.search.fractional import MissingValueGrowth
from arboretum.kernels.plain import interpreted
from arboretum.testing.effort import examples
from arboretum.testing.suites.base import verify_solution
from arboretum_classic.criteria.criteria import GainRatio, Reduction
from arboretum_classic.criteria.impurities import Entropy, Gini, Variance
from arboretum_classic.missing.rules import (
    Fractional,
    Ignore,
    Majority,
    OwnCategory,
    Stops,
    Surrogates,
)

sys.path.insert(0, str(Path(__file__).parent))
from problems import encode, encodeds, problem_of

EXAMPLES = examples(100)
RULES = [Fractional(), Ignore(), Majority(), OwnCategory(), Stops()]
LIMITS = st.fixed_dictionaries(
    {
        "min_leaf": st.integers(1, 4),
        "max_depth": st.sampled_from([None, None, 2]),
        "min_decrease": st.sampled_from([None, None, 0.0123456]),
        "min_mass": st.sampled_from([0.0, 0.0, 0.1]),
        "max_cost": st.sampled_from([None, None, 2.5]),
    }
)


def assert_same(objects, criterion, impurity, rule, once, **limits):
    n, raw = int(objects.test_offset[-1]), len(objects.raw_features)
    problem = problem_of(
        objects,
        criterion,
        impurity,
        Prices(1.0 + np.arange(n) % 3 / 4, np.ones(raw), once_per_column=once),
        **limits,
    )
    problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, missing=rule))
    one, two = grow(problem, Context()), grow(problem, Context(), compiled=False)
    assert one.subproblems == two.subproblems and not one.notes
    a, b = one.tree, two.tree
    assert [a.rules[t] if t >= 0 else None for t in a.test] == [
        b.rules[t] if t >= 0 else None for t in b.test
    ]
    for name in ("child_offset", "child", "missing_child", "price"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    # fewer than 100 terms, each a product of fewer than 10 shares, summed in another order
    scale = max(1.0, float(np.abs(b.weights).max()))
    for name in ("weights", "counts", "value", "impurity", "score"):
        np.testing.assert_allclose(
            getattr(a, name), getattr(b, name), rtol=0, atol=1000 * 1.1e-16 * scale, err_msg=name
        )
    assert a.surrogates == b.surrogates
    verify_solution(one, problem)


@pytest.mark.parametrize("rule", [*RULES, Surrogates()], ids=lambda rule: rule.name)
@pytest.mark.parametrize(
    ("criterion", "impurity"),
    [(Reduction(), Gini()), (GainRatio(), Entropy())],
    ids=["reduction", "ratio"],
)
@EXAMPLES
@given(objects=encodeds(max_rows=30), limits=LIMITS, once=st.booleans())
def test_trees_of_classes(rule, criterion, impurity, objects, limits, once):
    assert_same(objects, criterion, impurity, rule, once, **limits)


def test_python_too_reads_no_sorted_column_where_there_is_none():
    """Machine code forgives a view of a row that is not there; a run would compile anew."""
    codes = np.arange(24, dtype=np.uint8).reshape(12, 2) % 4  # 3: missing
    families, target = [Family.thresholds, Family.multiway], np.arange(12) // 3 % 2
    objects = encode(codes, [3, 3], families, np.zeros((12, 0)), target)
    with interpreted(math.inf):
        assert_same(objects, Reduction(), Gini(), Fractional(), False)


@pytest.mark.parametrize("rule", [*RULES, Surrogates()], ids=lambda rule: rule.name)
@EXAMPLES
@given(objects=encodeds(task=Task.regression, max_rows=30), limits=LIMITS, once=st.booleans())
def test_trees_of_numbers(rule, objects, limits, once):
    assert_same(objects, Reduction(), Variance(), rule, once, **limits)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@EXAMPLES
@given(objects=encodeds(max_rows=30, missing=False), limits=LIMITS)
def test_trees_of_complete_rows_go_the_way_of_every_other_run_and_say_where_later_rows_go(
    rule, objects, limits
):
    problem = problem_of(objects, Reduction(), Gini(), **limits)
    shared = attrs.evolve(problem, parts=attrs.evolve(problem.parts, missing=rule))
    growth = MissingValueGrowth.of(shared, Context(), False)
    slow, tree, plain = (
        to_tree(growth.run("depth"), objects, growth.space.statistics),
        grow(shared, Context()).tree,
        grow(problem, Context()).tree,
    )
    assert attrs.evolve(tree, missing_child=plain.missing_child) == plain
    assert (
        [tree.rules[t] for t in tree.test] == [slow.rules[t] for t in slow.test]
        if tree.rules
        else slow.n_nodes == 1
    )
    assert tree.missing_child.tolist() == slow.missing_child.tolist()


def test_a_tree_whose_rows_are_in_many_nodes_is_grown_in_several_calls(monkeypatch):
    """Most values are missing: the shares of 60 objects need more room than there is at first,
    and the kernel stops for the time, too.
    """
    random = np.random.default_rng(3)
    raw = random.normal(size=(60, 5))
    target = (raw[:, 0] * raw[:, 1] + raw[:, 2] > 0).astype(int)
    raw[random.random(raw.shape) < 0.6] = np.nan
    objects = encode(np.zeros((60, 0), np.uint8), [], [], raw, target)
    problem = problem_of(objects, Reduction(), Gini())
    problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, missing=Fractional()))
    rooms, roomier = [], subtree._enlarge_memory
    monkeypatch.setattr(
        subtree, "_enlarge_memory", lambda *given: rooms.append(given[-1]) or roomier(*given)
    )
    monkeypatch.setattr(subtree, "MOST_WORK_IN_TIME", 200)
    whole, pieces, loop = (
        grow(problem, Context()),
        grow(problem, Context(deadline=math.inf)),
        grow(problem, Context(), compiled=False),
    )
    assert rooms == [180, 360] * 2, "three times the objects at first, then twice as much"
    assert pieces.finished
    assert pieces.tree == whole.tree
    assert [whole.tree.rules[t] for t in whole.tree.test if t >= 0] == [
        loop.tree.rules[t] for t in loop.tree.test if t >= 0
    ]
    verify_solution(whole, problem)


def test_no_neighbour_stands_in_for_a_cut_where_values_are_close():
    """0 and 0.30000001 are of one class; the next value is too close for a cut of its own."""
    raw = np.array([[0.30000004], [-2.0], [-2.0], [0.0], [0.30000001], [np.nan]])
    objects = encode(np.zeros((6, 0), np.uint8), [], [], raw, np.array([1, 0, 0, 0, 0, 0]))
    assert_same(attrs.evolve(objects, gap=1e-7), Reduction(), Gini(), Stops(), False)
