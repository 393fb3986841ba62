"""Subtrees grown inside a kernel against the loop that goes node by node: the same tree."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import Context, ContractError, Family, Prices, Task, grow
from arboretum.engine.search import subtree
from arboretum.engine.search.growth import Growth
from arboretum.kernels import criterion_kernel
from arboretum.testing.effort import examples
from arboretum_classic.criteria.criteria import GainRatio, Reduction
from arboretum_classic.criteria.impurities import Entropy, Gini, Misclassification, Variance

sys.path.insert(0, str(Path(__file__).parent))
from problems import encode, encodeds, problem_of

EXAMPLES = examples(150)
ENTRIES = st.sampled_from([4, 10, 30, 1 << 22])
"""Largest node that goes to the kernel: with little of them the loop grows the top of the tree."""
LIMITS = st.fixed_dictionaries(
    {
        "min_leaf": st.integers(1, 4),
        "max_depth": st.sampled_from([None, None, 1, 2, 4]),
        # not a score that these tables reach: at equality the last digit of a sum of weights would
        # decide
        "min_decrease": st.sampled_from([None, None, 0.0123456]),
        "min_mass": st.sampled_from([0.0, 0.0, 0.04, 0.1]),
    }
)
KINDS = [Gini(), Entropy(), Misclassification()]


def both(objects, criterion, impurity, entries, order="depth", prices=None, **limits):
    problem = problem_of(objects, criterion, impurity, prices=prices, **limits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subtree, "MOST_ENTRIES", entries)
        fast = grow(problem, Context(), order=order)
    slow = grow(problem, Context(), order=order, compiled=False)
    return fast, slow


def assert_same(fast, slow, exactly):
    """Node by node; ``exactly``: sums are of whole numbers, so that not a digit differs."""
    assert fast.subproblems == slow.subproblems
    a, b = fast.tree, slow.tree
    assert [a.rules[t] if t >= 0 else None for t in a.test] == [
        b.rules[t] if t >= 0 else None for t in b.test
    ]
    for name in ("child_offset", "child", "missing_child", "counts", "label", "price"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    # fewer than 100 terms, each rounded to 1.1e-16 of the largest, in another order
    scale = max(1.0, float(np.abs(b.weights).max()))
    for name in ("weights", "value", "impurity", "score"):
        tolerance = 0.0 if exactly else 100 * 1.1e-16 * scale
        np.testing.assert_allclose(
            getattr(a, name), getattr(b, name), rtol=0, atol=tolerance, err_msg=name
        )
    if exactly:
        assert a.to_json() == b.to_json()


def unit(objects) -> bool:
    return bool((objects.weight == 1).all() and (objects.count == 1).all())


@pytest.mark.parametrize("impurity", KINDS, ids=lambda i: i.name)
@EXAMPLES
@given(
    objects=encodeds(raw_only=True, max_rows=40),
    entries=ENTRIES,
    limits=LIMITS,
    order=st.sampled_from(["depth", "breadth", "best"]),
)
def test_a_subtree_of_classes_is_what_the_loop_grows(impurity, objects, entries, limits, order):
    assert_same(
        *both(objects, Reduction(), impurity, entries, order, **limits), exactly=unit(objects)
    )


@EXAMPLES
@given(objects=encodeds(raw_only=True, max_rows=40), entries=ENTRIES, limits=LIMITS)
def test_a_subtree_by_gain_ratio_is_what_the_loop_grows(objects, entries, limits):
    assert_same(*both(objects, GainRatio(), Entropy(), entries, **limits), exactly=unit(objects))
    assert_same(*both(objects, GainRatio(), None, entries, **limits), exactly=unit(objects))


@EXAMPLES
@given(
    objects=encodeds(task=Task.regression, raw_only=True, max_rows=40),
    entries=ENTRIES,
    limits=LIMITS,
)
def test_a_subtree_of_numbers_is_what_the_loop_grows(objects, entries, limits):
    fast, slow = both(objects, Reduction(), Variance(), entries, **limits)
    assert_same(fast, slow, exactly=False)


@pytest.mark.parametrize("criterion", [Reduction(), GainRatio()], ids=["reduction", "ratio"])
@EXAMPLES
@given(
    objects=encodeds(max_rows=40, mixed=True),
    entries=ENTRIES,
    limits=LIMITS,
    order=st.sampled_from(["depth", "breadth", "best"]),
)
def test_a_subtree_of_coded_and_raw_columns_is_what_the_loop_grows(
    criterion, objects, entries, limits, order
):
    assert_same(*both(objects, criterion, Gini(), entries, order, **limits), exactly=unit(objects))


@EXAMPLES
@given(
    objects=encodeds(task=Task.regression, max_rows=40, mixed=True), entries=ENTRIES, limits=LIMITS
)
def test_a_subtree_of_numbers_over_mixed_columns_is_what_the_loop_grows(objects, entries, limits):
    assert_same(*both(objects, Reduction(), Variance(), entries, **limits), exactly=False)


@EXAMPLES
@given(objects=encodeds(max_rows=30), entries=ENTRIES, limits=LIMITS)
def test_tables_with_multiway_tests_grow_as_before(objects, entries, limits):
    assert_same(*both(objects, Reduction(), Gini(), entries, **limits), exactly=unit(objects))


@attrs.frozen
class PerPrice:
    """Gini reduction per unit of price plus one, as a kernel."""

    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        after = 0.0
        for o in range(weights.shape[0]):
            mass = 0.0
            squares = 0.0
            for k in range(weights.shape[1]):
                mass += weights[o, k]
                squares += weights[o, k] * weights[o, k]
            after += mass - squares / mass
        return (node.mass * node.impurity - after) / node.total_mass / (1.0 + price)


@EXAMPLES
@given(
    objects=encodeds(raw_only=True, max_rows=40),
    entries=ENTRIES,
    once=st.booleans(),
    raw=st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=2, max_size=2),
)
def test_columns_asked_before_are_free_in_a_subtree_where_they_are_paid_once(
    objects, entries, once, raw
):
    prices = Prices(np.zeros(0), np.array(raw[: len(objects.raw_features)]), once)
    assert_same(*both(objects, PerPrice(), Gini(), entries, prices=prices), exactly=unit(objects))


@EXAMPLES
@given(
    objects=encodeds(max_rows=40, mixed=True), entries=ENTRIES, once=st.booleans(), data=st.data()
)
def test_all_tests_of_a_column_asked_before_are_free_where_columns_are_paid_once(
    objects, entries, once, data
):
    one = lambda: data.draw(st.sampled_from([1.0, 2.0, 5.0]))
    prices = Prices(
        np.array([one() for f in objects.features for _ in range(f.n_tests)]),
        np.array([one() for _ in objects.raw_features]),
        once,
    )
    assert_same(*both(objects, PerPrice(), Gini(), entries, prices=prices), exactly=unit(objects))


@pytest.mark.parametrize(
    # the loop's scan is compiled for itself with and without weights, for 2, 3, and more classes
    ("classes", "mixed", "weighted"),
    [
        (3, False, False),
        (3, True, True),
        pytest.param(2, False, True, marks=pytest.mark.slow),
        pytest.param(9, True, False, marks=pytest.mark.slow),
    ],
)
def test_a_deep_tree_over_continuous_and_binary_columns_is_the_same(classes, mixed, weighted):
    generator = np.random.default_rng(classes)
    raw = generator.normal(size=(700, 7))
    raw[:, :3] = raw[:, :3] > 0
    raw[:, 3] = np.round(raw[:, 3])
    raw[generator.random(raw.shape) < 0.05] = np.nan
    label = generator.integers(0, classes, 700)
    weight = generator.random(700) + 0.1 if weighted else None
    # code 5 of the first two: missing
    codes = generator.integers(0, 6, (700, 3 * mixed)).astype(np.uint8)
    families = [Family.equals, Family.thresholds, Family.equals][: 3 * mixed]
    objects = encode(
        codes, [5, 5, 6][: 3 * mixed], families, raw, label, weight=weight, n_classes=classes
    )
    for entries in (100, 1500, 1 << 22):
        fast, slow = both(objects, Reduction(), Gini(), entries)
        assert slow.tree.n_nodes > 300
        assert_same(fast, slow, exactly=not weighted)


@EXAMPLES
@given(
    objects=encodeds(raw_only=True, max_rows=40),
    work=st.sampled_from([1, 60, 400]),
    once=st.booleans(),
    raw=st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=2, max_size=2),
    limits=LIMITS,
)
def test_a_subtree_in_several_calls_is_what_one_call_grows(objects, work, once, raw, limits):
    prices = Prices(np.zeros(0), np.array(raw[: len(objects.raw_features)]), once)
    problem = problem_of(objects, PerPrice(), Gini(), prices=prices, **limits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subtree, "MOST_WORK_IN_TIME", work)
        pieces = grow(problem, Context(deadline=math.inf))
    assert pieces.finished
    assert_same(pieces, grow(problem, Context()), exactly=unit(objects))


@pytest.mark.compiled
def test_a_deadline_is_looked_at_within_a_subtree(monkeypatch):
    """A chain: every test takes off a few of the highest values, so that the whole costs rows ×
    nodes.
    """
    n = 4000
    raw = np.arange(float(n)).reshape(n, 1)
    objects = encode(np.zeros((n, 0), np.uint8), [], [], raw, 1.01 ** np.arange(n), Task.regression)
    problem = problem_of(objects, Reduction(), Variance())
    whole = grow(problem, Context(deadline=math.inf))
    monkeypatch.setattr(subtree, "MOST_WORK_IN_TIME", 5 * n)
    asked = iter([False] * 20 + [True] * 10**6)
    monkeypatch.setattr(
        Growth,
        "late",
        lambda self: self.stopped or setattr(self, "stopped", next(asked)) or self.stopped,
    )
    cut = grow(problem, Context(deadline=math.inf))
    assert not cut.finished and "cut short" in cut.notes[0]
    assert 1 < cut.tree.n_nodes < whole.tree.n_nodes
    assert cut.subproblems == (cut.tree.n_nodes - 1) / 2


@attrs.frozen
class NanBelow:
    """NaN at some depth."""

    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        return np.nan if node.depth == 2 else weights[0, 0]


def test_a_score_that_is_nan_inside_a_subtree_is_refused_with_the_name_of_the_test():
    raw = np.arange(20.0).reshape(20, 1)
    objects = encode(np.zeros((20, 0), np.uint8), [], [], raw, np.arange(20) % 2)
    with pytest.raises(ContractError, match="NaN for the test 'r0 ≤"):
        grow(problem_of(objects, NanBelow(), Gini()), Context())


def test_a_rule_that_does_more_than_count_rows_keeps_the_loop():
    calls = []

    @attrs.frozen
    class Counting:
        def limits(self):
            from arboretum.api import Limits

            return Limits()

        def is_leaf(self, node):
            calls.append(node.depth)
            return node.depth >= 1

    raw = np.arange(20.0).reshape(20, 1)
    objects = encode(np.zeros((20, 0), np.uint8), [], [], raw, np.arange(20) % 2)
    problem = problem_of(objects, Reduction(), Gini())
    ruled = attrs.evolve(problem, parts=attrs.evolve(problem.parts, stopping=(Counting(),)))
    assert grow(ruled, Context()).tree.n_nodes == 3
    assert set(calls) == {0, 1}
