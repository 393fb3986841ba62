"""Subtrees of coded features grown inside a kernel against the loop that goes node by node: the
same tree.
"""

from __future__ import annotations

import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import (
    Context,
    ContractError,
    Encoded,
    Family,
    LeafRule,
    Limits,
    Node,
    Prices,
    Task,
    grow,
)
from arboretum.engine.search import subtree
from arboretum.kernels import criterion_kernel
from arboretum.testing.effort import examples
from arboretum_classic.criteria.criteria import GainRatio, Reduction
from arboretum_classic.criteria.impurities import Entropy, Gini, Variance

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
    }
)


@attrs.frozen
class ByObjects:
    """A leaf rule that looks at objects alone."""

    rule: LeafRule = LeafRule()
    least: Limits = Limits()

    def limits(self) -> Limits:
        return self.least

    def is_leaf(self, node: Node) -> bool:
        return self.rule.holds(
            node.mass, node.total_mass, node.count, node.impurity, node.n_objects
        )

    def leaf_rule(self) -> LeafRule:
        return self.rule


@st.composite
def coded(draw: st.DrawFn, task: Task = Task.classification, max_rows: int = 20) -> Encoded:
    """Objects with 1–5 coded features of any family, some of which read the same column."""
    n, n_features = draw(st.integers(1, max_rows)), draw(st.integers(1, 5))
    bins = [draw(st.integers(1, 5)) for _ in range(n_features)]
    families = [draw(st.sampled_from(Family)) for _ in range(n_features)]
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    missing = draw(st.sampled_from([0.0, 0.0, 0.2]))
    codes = np.zeros((n, n_features), draw(st.sampled_from([np.uint8, np.uint16, np.uint32])))
    for f in range(n_features):
        codes[:, f] = np.where(
            generator.random(n) < missing, bins[f], generator.integers(0, bins[f], n)
        )
    twin = n_features > 1 and draw(st.booleans())
    if twin:
        codes[:, 1], bins[1] = codes[:, 0], bins[0]
    if draw(st.booleans()):
        codes = np.asfortranarray(codes)
    classes = task is Task.classification
    target = generator.integers(0, 4, n) if classes else generator.choice([0.0, 0.5, 3.0], n)
    weight = count = None
    if draw(st.booleans()):
        weight, count = generator.choice([0.125, 0.375, 1.0, 2.5], n), generator.integers(1, 4, n)
    # a mean of 0, so that moments about it are sums of halves and quarters, and no digit is lost
    if not classes:
        codes, target = np.repeat(codes, 2, axis=0), np.repeat(target, 2)
        codes[1::2, -1] = codes[::2, -1][::-1]
        target[1::2] *= -1.0
        weight, count = (None if a is None else np.repeat(a, 2) for a in (weight, count))
    objects = encode(
        codes, bins, families, np.zeros((n, 0)), target, task, weight, count, 4 if classes else None
    )
    if twin:
        second = attrs.evolve(objects.features[1], column="c0", position=0)
        objects = attrs.evolve(
            objects, features=(objects.features[0], second, *objects.features[2:])
        )
    return objects


@attrs.frozen
class PerPrice:
    """Gini reduction per unit of price plus one, as a kernel; constant tests are allowed to
    score.
    """

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
            if mass > 0.0:
                after += mass - squares / mass
        return (node.mass * node.impurity - after) / node.total_mass / (1.0 + price) - 0.001 * price


def both(problem, entries, order="depth", constant=False):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subtree, "MOST_ENTRIES", entries)
        patch.setattr(subtree, "NODE_COST", 1e12)
        fast = grow(problem, Context(), order=order, allow_constant=constant)
    return fast, grow(problem, Context(), order=order, allow_constant=constant, compiled=False)


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


def unit(objects) -> bool:
    return bool((objects.weight == 1).all() and (objects.count == 1).all())


@pytest.mark.parametrize("impurity", [Gini(), Entropy()], ids=lambda i: i.name)
@EXAMPLES
@given(
    objects=coded(),
    entries=ENTRIES,
    limits=LIMITS,
    order=st.sampled_from(["depth", "breadth", "best"]),
)
def test_a_subtree_of_classes_is_what_the_loop_grows(impurity, objects, entries, limits, order):
    problem = problem_of(objects, Reduction(), impurity, **limits)
    assert_same(*both(problem, entries, order), exactly=unit(objects))


@EXAMPLES
@given(objects=coded(), entries=ENTRIES, limits=LIMITS)
def test_a_subtree_by_gain_ratio_is_what_the_loop_grows(objects, entries, limits):
    assert_same(
        *both(problem_of(objects, GainRatio(), None, **limits), entries), exactly=unit(objects)
    )


@EXAMPLES
@given(objects=coded(task=Task.regression), entries=ENTRIES, limits=LIMITS)
def test_a_subtree_of_numbers_is_what_the_loop_grows(objects, entries, limits):
    assert_same(
        *both(problem_of(objects, Reduction(), Variance(), **limits), entries), exactly=False
    )


@EXAMPLES
@given(
    objects=coded(),
    entries=ENTRIES,
    once=st.booleans(),
    constant=st.booleans(),
    seed=st.integers(0, 99),
)
def test_prices_are_paid_as_in_the_loop_also_by_tests_that_divide_nothing(
    objects, entries, once, constant, seed
):
    drawn = np.random.default_rng(seed).choice([0.0, 1.0, 2.0, 5.0], int(objects.test_offset[-1]))
    problem = problem_of(
        objects, PerPrice(), Gini(), prices=Prices(drawn, np.zeros(0), once), max_depth=6
    )
    assert_same(*both(problem, entries, constant=constant), exactly=unit(objects))


@EXAMPLES
@given(
    objects=st.one_of(coded(), encodeds(max_rows=40)),
    entries=ENTRIES,
    min_split=st.integers(0, 6),
    theta=st.sampled_from([0.0, 0.1, 0.3]),
    delta=st.sampled_from([None, 0.0, 0.4, 0.5]),
)
def test_leaf_rules_about_objects_hold_inside_the_kernel(objects, entries, min_split, theta, delta):
    problem = problem_of(objects, Reduction(), Gini())
    rule = ByObjects(LeafRule(min_split, theta, delta))
    problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, stopping=(rule,)))
    assert_same(*both(problem, entries), exactly=unit(objects))


@EXAMPLES
@given(
    objects=st.one_of(coded(), encodeds(max_rows=40)),
    entries=ENTRIES,
    share=st.sampled_from([0.05, 0.101, 0.2]),
)
def test_a_least_weight_of_branches_holds_inside_the_kernel(objects, entries, share):
    problem = problem_of(objects, Reduction(), Gini())
    rule = ByObjects(least=Limits(min_mass=share))
    problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, stopping=(rule,)))
    assert_same(*both(problem, entries), exactly=unit(objects))


@pytest.mark.parametrize("weighted", [False, True])
def test_a_deep_tree_over_many_values_is_the_same(weighted):
    generator = np.random.default_rng(3)
    bins = [2, 3, 7, 40, 300, 3]
    families = [
        Family.multiway,
        Family.multiway,
        Family.thresholds,
        Family.thresholds,
        Family.equals,
        Family.equals,
    ]
    codes = np.stack([generator.integers(0, b, 400) for b in bins], axis=1).astype(np.uint16)
    weight = generator.random(400) + 0.1 if weighted else None
    objects = encode(
        codes, bins, families, np.zeros((400, 0)), generator.integers(0, 5, 400), weight=weight
    )
    for entries in (600, 1 << 22):
        fast, slow = both(problem_of(objects, Reduction(), Gini()), entries)
        assert slow.tree.n_nodes > 150
        assert_same(fast, slow, exactly=not weighted)


@attrs.frozen
class BadBelow:
    """No number at some depth."""

    bad: float = np.nan

    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        return node.params[0] if node.depth == 2 else weights[0, 0]


@pytest.mark.parametrize(("bad", "words"), [(np.nan, "NaN for the test"), (np.inf, r"with \+inf")])
def test_a_score_that_is_no_number_inside_a_subtree_is_refused_with_the_name_of_the_test(
    bad, words
):
    codes = np.arange(20, dtype=np.uint8).reshape(20, 1)
    objects = encode(codes, [20], [Family.thresholds], np.zeros((20, 0)), np.arange(20) % 2)
    with pytest.raises(ContractError, match=words):
        grow(problem_of(objects, BadBelow(bad), Gini()), Context())


def test_a_rule_that_looks_at_more_than_objects_keeps_the_loop():
    calls = []

    @attrs.frozen
    class Counting:
        def limits(self):
            return Limits()

        def is_leaf(self, node):
            calls.append(node.depth)
            return node.depth >= 1

    codes = np.arange(20, dtype=np.uint8).reshape(20, 1)
    objects = encode(codes, [20], [Family.thresholds], np.zeros((20, 0)), np.arange(20) % 2)
    problem = problem_of(objects, Reduction(), Gini())
    ruled = attrs.evolve(problem, parts=attrs.evolve(problem.parts, stopping=(Counting(),)))
    assert grow(ruled, Context()).tree.n_nodes == 3
    assert set(calls) == {0, 1}
