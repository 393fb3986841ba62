"""What the paper proves, as properties of small instances against all their trees; and what it
prints that is not so.
"""

from __future__ import annotations

import itertools
import math

import attrs
import numpy as np
import pytest
from small_instances import Instance, component, drawn, grown, max_cost_of

from arboretum.api import CapabilityError, Context
from arboretum_maxcost.greedy.criteria import WorstCase
from arboretum_maxcost.greedy.guarantee import (
    guarantee_of,
    refute_admissibility,
    refute_least_positive,
)
from arboretum_maxcost.greedy.impurities import HingedPairs, Polynomial, Powers
from arboretum_maxcost.optimal.solver import MaxCostSolver

PAIRS = component("impurity", "pairs")
THREE = Polynomial((1.0, 2.0, 1.0), ((1, 1, 0), (1, 0, 2), (0, 1, 1)))
FUNCTIONS = [
    PAIRS,
    Powers(3),
    HingedPairs(1.0),
    HingedPairs(1.5),
    HingedPairs(1.0, subtract_square=False),
    THREE,
]
CLOSE = 1 + 1e-12


@attrs.frozen
class Mixed:
    """1 of every set of several classes: it says that it is admissible, and is not."""

    kind = "impurity"
    name = "mixed"
    paper = ""
    capabilities = ("classification", "multiclass", "weights", "admissible")
    scale = "total"

    def value(self, weights):
        return ((weights > 0).sum(axis=-1) > 1).astype(np.float64)


@attrs.frozen
class MixedOfThree(Mixed):
    """Pairs, but a thousand where three classes are."""

    def value(self, weights):
        return np.where((weights > 0).sum(axis=-1) > 2, 1000.0, PAIRS.value(weights))


class OverstatedLeast(HingedPairs):
    """Hinged pairs whose least value is said to be ten times what it is."""

    def least_positive(self, weights):
        return 10.0 * super().least_positive(weights)


def factor_of(problem) -> float:
    """What is promised; the same as the criterion says to a certificate."""
    criterion = problem.parts.criterion
    found = guarantee_of(problem, criterion.delta)
    promises = criterion.promises(problem)
    assert promises == ({} if found.reason else {"max_cost": found.factor})
    assert str(found).startswith(
        "no guarantee: " if found.reason else "guarantee: max cost at most"
    )
    return found.factor


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_theorem_2_2_holds_for_every_function_and_unequal_prices(function):
    worst = 0.0
    for seed in range(15):
        x = drawn(seed)
        problem = x.problem(function, delta=0.0)
        factor = factor_of(problem)
        least = x.optimum(lambda counts: float(function.value(counts)) == 0)
        total = float(function.value(x.counts(range(len(x.label)))))
        if total == 0:
            assert math.isnan(factor)
            continue
        bill = max_cost_of(grown(problem))
        assert least <= bill * CLOSE
        assert bill <= factor * least, (seed, bill, least)
        worst = max(worst, bill / least)
    assert 1 <= worst < 3 and (worst > 1 or function is not PAIRS), (
        "greedy is not always best, and far better than its bound"
    )


def test_the_factor_is_the_papers_where_the_least_value_is_one():
    for seed in range(10):
        x = drawn(seed)
        total = float(PAIRS.value(x.counts(range(len(x.label)))))
        assert factor_of(x.problem(PAIRS, delta=0.0)) == pytest.approx(
            math.log(total) + 1, rel=1e-8
        )
        assert factor_of(x.problem(PAIRS)) == factor_of(x.problem(PAIRS, delta=0.0)), (
            "pure leaves are the same leaves"
        )
        assert factor_of(x.problem(Powers(2))) == pytest.approx(math.log(total) + 1, rel=1e-8), (
            "divided by its least value, 2"
        )


@pytest.mark.parametrize("prices", ["unit", "unequal"])
@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("function", [PAIRS, Powers(3), HingedPairs(1.0)], ids=str)
def test_early_stopping_keeps_what_is_promised(function, shifted, prices):
    for seed, share in itertools.product(range(10), (0.1, 0.4)):
        x = drawn(seed, prices=prices)
        total = float(function.value(x.counts(range(len(x.label)))))
        delta = float(math.floor(share * total))
        if not 0 < delta < total:
            continue
        problem = x.problem(function, delta, WorstCase(delta=delta if shifted else 0.0))
        factor = factor_of(problem)
        assert factor >= math.log(total - delta) + 1
        if shifted or prices == "unit":
            assert factor == pytest.approx(math.log(total - delta) + 1, rel=1e-8)
        tree = grown(problem)
        assert (function.value(tree.weights[tree.is_leaf]) <= delta).all()
        least = x.optimum(lambda counts, delta=delta: float(function.value(counts)) <= delta)
        assert max_cost_of(tree) <= factor * least


def test_lemmas_2_1_and_4_1_are_lower_bounds():
    for seed, function in itertools.product(range(15), FUNCTIONS):
        x = drawn(seed)
        everybody = frozenset(range(len(x.label)))
        total = float(function.value(x.counts(everybody)))
        lowered = [
            min(
                total - float(function.value(x.counts(own)))
                for own in x.children(everybody, t).values()
            )
            for t in range(x.answers.shape[1])
        ]
        least_ratio = min(
            (c / d if d > 0 else math.inf) for c, d in zip(x.price[:, 0], lowered, strict=True)
        )
        for delta in (0.0, 0.25 * total, 0.6 * total):
            least = x.optimum(lambda counts, f=function, d=delta: float(f.value(counts)) <= d)
            if delta < total:
                assert least_ratio * (total - delta) <= least * CLOSE


def early_stopping(m: int) -> tuple[Instance, float]:
    """Extract 4.4, no. 6: test A (price 1) takes out one object, B (price 0.99 m) separates the
    m objects of each class; δ = m² − 1.
    """
    label = np.repeat([0, 1], m)
    out = (np.arange(2 * m) == 0).astype(int)
    return Instance(
        np.stack([out, label], axis=1), label, np.array([[1.0, 1.0], [0.99 * m, 0.99 * m]])
    ), m * m - 1.0


@pytest.mark.parametrize("m", [10, 100])
def test_theorem_4_2_is_false_as_printed_for_unequal_prices(m):
    x, delta = early_stopping(m)
    assert x.problem(PAIRS, delta).objects.n_objects == 2 * m
    least = 1.0  # A leaves m (m − 1) ≤ δ pairs, and no test is cheaper
    assert float(PAIRS.value(np.array([m - 1.0, m]))) <= delta
    plain = x.problem(PAIRS, delta)
    bill = max_cost_of(grown(plain))
    assert bill == pytest.approx(0.99 * m) and bill > (math.log(m * m) + 1) * least
    with_prices = guarantee_of(plain, 0.0)
    assert bill <= with_prices.factor * least, (
        "what is promised instead has the ratio of the prices in it"
    )
    shifted = x.problem(PAIRS, delta, WorstCase(delta=delta))
    assert max_cost_of(grown(shifted)) == least and guarantee_of(
        shifted, delta
    ).factor == pytest.approx(1.0)


def test_the_promise_needs_the_same_level_in_criterion_and_leaf_rule():
    x = drawn(0)
    assert (
        "let both be the same"
        in guarantee_of(x.problem(PAIRS, 5.0, WorstCase(delta=3.0)), 3.0).reason
    )


def test_theorem_2_2_with_prices_by_outcome_for_two_way_tests():
    for seed, function in itertools.product(range(14), (PAIRS, Powers(3), HingedPairs(1.0))):
        x = drawn(seed, values=2, tests=6, prices="by outcome")
        problem = x.problem(function, 0.0)
        total = float(function.value(x.counts(range(len(x.label)))))
        if total == 0:
            continue
        factor = factor_of(problem)
        if function is PAIRS:
            assert factor == pytest.approx(math.log(total) + 1, rel=1e-8)
        assert max_cost_of(grown(problem)) <= factor * x.optimum(
            lambda counts, f=function: float(f.value(counts)) == 0
        )


def test_theorem_2_2_with_prices_by_outcome_for_multiway_tests_has_the_ratio_of_prices_in_it():
    for seed in range(20):
        x = drawn(seed, prices="by outcome")
        problem = x.problem(PAIRS)
        total = float(PAIRS.value(x.counts(range(len(x.label)))))
        ratio = float((x.price.max(axis=1) / x.price.min(axis=1)).max())
        factor = factor_of(problem)
        assert factor == pytest.approx(ratio * (math.log(total) + 1), rel=1e-8)
        assert max_cost_of(grown(problem)) <= factor * x.optimum(
            lambda counts: np.count_nonzero(counts) < 2
        )


@pytest.mark.parametrize("m", [10, 100])
def test_theorem_2_2_is_false_for_multiway_tests_whose_prices_differ_by_outcome(m):
    """Test A (price 1) takes one object out; B separates the classes and costs m − 1 for that
    object alone.  A, B costs 2; greedy asks B.
    """
    label = np.repeat([0, 1], m)
    rare = np.arange(2 * m) == 0
    price = np.array([[1.0, 1.0, np.nan], [1.0, 1.0, m - 1.0]])
    x = Instance(np.stack([rare.astype(int), np.where(rare, 2, label)], axis=1), label, price)
    bill, least = max_cost_of(grown(x.problem(PAIRS))), 2.0
    if m == 10:
        assert x.optimum(lambda counts: np.count_nonzero(counts) < 2) == least
    assert bill == m - 1
    assert (bill > (math.log(m * m) + 1) * least) == (m == 100)
    assert bill <= guarantee_of(x.problem(PAIRS), 0.0).factor * least


def test_prices_of_zero_are_legal():
    for seed in range(12):
        x = drawn(seed)
        free = attrs.evolve(x, price=np.where(x.price < 4, 0.0, x.price))
        problem = free.problem(PAIRS)
        tree, least = grown(problem), free.optimum(lambda counts: np.count_nonzero(counts) < 2)
        assert max_cost_of(tree) <= factor_of(problem) * least
        if not free.price.any():
            assert max_cost_of(tree) == 0
        last = free.problem(PAIRS, 3.0)
        assert (
            guarantee_of(last, 0.0).reason == "a price is 0 where others are not"
            or free.price.all()
        )


def test_a_run_that_the_theorem_does_not_speak_of_is_promised_nothing():
    x = drawn(1)
    of = lambda problem: guarantee_of(problem, 0.0).reason
    problem = x.problem(PAIRS)
    assert of(problem) == ""
    parts, objects = problem.parts, problem.objects
    rule = lambda **fields: (component("stopping", "standard", **fields),)
    with_parts = lambda **given: attrs.evolve(problem, parts=attrs.evolve(parts, **given))
    assert "max_depth" in of(with_parts(stopping=rule(max_depth=2)))
    assert "neither pure nor" in of(with_parts(stopping=rule(min_split=4)))
    assert "neither pure nor" in of(
        with_parts(stopping=(component("stopping", "mass", theta=0.3),))
    )
    assert "does not declare" in of(
        with_parts(
            impurity=component("impurity", "entropy"), criterion=WorstCase(any_impurity=True)
        )
    )
    assert "without constant tests" in of(
        with_parts(method=component("method", "greedy", allow_constant=True))
    )
    assert "asked before" in of(
        attrs.evolve(problem, prices=attrs.evolve(problem.prices, once_per_column=True))
    )
    assert "the root is a leaf" in of(x.problem(PAIRS, 1e6))
    assert "declares admissible, but is not supermodular: F(" in of(with_parts(impurity=Mixed()))
    with pytest.raises(
        CapabilityError, match="would prove what is false: impurity mixed declares admissible"
    ):
        exact = {
            "objective": component("objective", "zero_error"),
            "complexity": component("complexity", "max_cost"),
        }
        MaxCostSolver().solve(with_parts(impurity=Mixed(), **exact), Context())
    assert refute_admissibility(
        MixedOfThree(), 2
    ) == "" and "not supermodular: F(1, 1, 1)" in refute_admissibility(MixedOfThree(), 3)
    assert (
        "least_positive of impurity hinged_pairs says"
        in refute_least_positive(OverstatedLeast(), 3)
        and refute_least_positive(HingedPairs(1.5), 3) == ""
    )
    assert "is not known" in of(x.problem(HingedPairs(1.0))), (
        "nodes of several classes with F = 0 are divided on"
    )
    alike = attrs.evolve(objects, codes=np.repeat(objects.codes[:1], len(objects.codes), axis=0))
    assert f"{len(x.label)} objects share all answers" in of(attrs.evolve(problem, objects=alike))

    class Mine(WorstCase):
        pass

    assert Mine().promises(problem) == {}


def leaf_wise(function: HingedPairs, leaf: np.ndarray, k: int) -> bool:
    """Lemma 4.3 for a leaf: at most k (k − 1) α objects outside the majority."""
    return leaf.sum() - leaf.max() <= k * (k - 1) * function.alpha


@pytest.mark.parametrize("k", [2, 3])
def test_lemma_4_3_holds_leaf_by_leaf(k):
    for alpha, leaf in itertools.product(
        (0.5, 1.0, 1.7, 3.0), itertools.product(range(13), repeat=k)
    ):
        function, counts = HingedPairs(alpha), np.array(leaf, float)
        if float(function.value(counts)) == 0:
            assert leaf_wise(function, counts, k)


def test_lemma_4_3_is_false_as_printed():
    """Five leaves of F = 0 make one error of ε n each, and k (k − 1) ε n is less than five of
    them.
    """
    leaves, alpha = np.array([[9.0, 1.0]] * 5), 1.0
    assert not HingedPairs(alpha).value(leaves).any()
    n, errors = leaves.sum(), (leaves.sum(axis=1) - leaves.max(axis=1)).sum()
    assert errors / n > 2 * 1 * (alpha / n)
    assert errors / n <= 2 * 1 * (alpha / n) * len(leaves), "with the factor l that is missing"


def small_trees():
    for seed, k in itertools.product(range(6), (2, 3)):
        x = drawn(seed, n=7, tests=3, values=2, classes=k)
        yield from ((x, k, np.array(leaves)) for leaves in itertools.islice(x.trees(), 300))


def test_lemmas_4_4_and_4_5_hold_for_all_trees():
    seen = tight = 0
    for _x, k, leaves in small_trees():
        n, errors = leaves.sum(), float((leaves.sum(axis=1) - leaves.max(axis=1)).sum())
        for alpha in (0.5, 1.0, 2.0):
            function = HingedPairs(alpha)
            inside = not function.value(leaves).any()
            assert inside or errors > alpha, "D_E:ε ⊆ D_Pεn,0"
            if inside:
                bound = function.error_bound(leaves.sum(axis=1), k)
                assert (
                    errors / n <= bound + 1e-12 <= k * (k - 1) * alpha / n * len(leaves) + 1e-11
                ), "⊆ D_E:k(k−1)εl"
                mass, seen = np.sort(leaves.sum(axis=1))[::-1], seen + 1
                tight += bound < k * (k - 1) * alpha / n * len(leaves) - 1e-9
                for eta in np.linspace(0, 1, 21)[1:]:
                    heavy = int(np.argmax(np.cumsum(mass) > (1 - eta) * n)) + 1
                    printed = k * (k - 1) * heavy * alpha / n + (k - 1) / k * eta
                    assert errors / n <= printed + 1e-12 and bound <= printed + 1e-12, (
                        "the bound is Lemma 4.4's for the best η"
                    )
    assert seen > 1000 and tight > 100


def test_theorem_4_6_bounds_the_bill_by_the_best_of_trees_with_few_errors():
    for seed, alpha in itertools.product(range(12), (1.0, 2.0)):
        x = drawn(seed, n=8, tests=4, values=2, classes=2)
        function = HingedPairs(alpha)
        problem = x.problem(function, 0.0)
        whole = x.counts(range(len(x.label)))
        if float(function.value(whole)) == 0:
            continue
        best = least_with_errors(x, frozenset(range(len(x.label))), int(alpha))
        assert max_cost_of(grown(problem)) <= factor_of(problem) * best
        assert x.optimum(lambda counts, f=function: float(f.value(counts)) == 0) <= best, (
            "Lemma 4.5"
        )


def least_with_errors(x: Instance, members: frozenset[int], errors: int) -> float:
    """The least worst-case cost of the trees that misclassify so many objects at most."""

    def best(members: frozenset[int]) -> dict[int, float]:
        counts = x.counts(members)
        found = dict.fromkeys(range(errors + 1), math.inf)
        for e in range(int(counts.sum() - counts.max()), errors + 1):
            found[e] = 0.0
        for test in range(x.answers.shape[1]):
            if len(parts := x.children(members, test)) > 1:
                below = [(x.price[test, o], best(own)) for o, own in parts.items()]
                for shares in itertools.product(range(errors + 1), repeat=len(below)):
                    if sum(shares) <= errors:
                        bill = max(
                            price + table[share]
                            for (price, table), share in zip(below, shares, strict=True)
                        )
                        found[sum(shares)] = min(found[sum(shares)], bill)
        return {e: min(found[f] for f in range(e + 1)) for e in found}

    return best(members)[errors]


def test_max_cost_with_unit_prices_is_the_depth():
    for seed in range(5):
        tree = grown(drawn(seed, prices="unit").problem(PAIRS))
        assert max_cost_of(tree) == tree.depth_of.max()
