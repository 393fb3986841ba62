"""The impurities are what the paper says of them: every axiom on every function, by brute force,
and its printed numbers.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from small_instances import component

import arboretum
from arboretum.api import CapabilityError, ConfigError, not_admissible
from arboretum.testing import ImpuritySuite
from arboretum.testing.tables import toy_objects, toy_table
from arboretum_maxcost.greedy import reference
from arboretum_maxcost.greedy.impurities import HingedPairs, Polynomial, Powers

SYMMETRIC = Polynomial((1.0, 1.0, 1.0, 2.0), ((1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1)))
FUNCTIONS = [
    component("impurity", "pairs"),
    Powers(2),
    Powers(3),
    Powers(5),
    HingedPairs(1.0),
    HingedPairs(1.0, subtract_square=False),
    HingedPairs(1.5),
    HingedPairs(0.75, subtract_square=False),
    SYMMETRIC,
    Polynomial((0.5, 3.0), ((2, 1, 0), (0, 1, 3))),
]
ids = [str(function) for function in FUNCTIONS]
GRIDS = {
    k: np.array(list(itertools.product(range(most + 1), repeat=k)), float)
    for k, most in ((2, 7), (3, 4))
}


class TestPowers(ImpuritySuite):
    component = Powers(4)


class TestHingedPairs(ImpuritySuite):
    component = HingedPairs(0.5)


class TestHingedPairsOfTheAppendix(ImpuritySuite):
    component = HingedPairs(0.7, subtract_square=False)


class TestPolynomial(ImpuritySuite):
    component = SYMMETRIC
    symmetric = False  # of three classes it is; a fourth counts in no term


@pytest.mark.parametrize("function", FUNCTIONS, ids=ids)
@pytest.mark.parametrize("k", [2, 3])
def test_it_has_every_axiom_of_an_admissible_function(function, k):
    grid, unit = GRIDS[k], np.eye(k)
    value = lambda counts: np.asarray(function.value(counts))
    assert (value(grid) >= 0).all()
    assert (value(grid[(grid > 0).sum(axis=1) <= 1]) == 0).all(), "0 on pure sets"
    inside = (grid[:, None] <= grid[None]).all(axis=-1)  # R ⊆ G
    small, large = np.nonzero(inside)
    assert (value(grid[small]) <= value(grid[large])).all(), "monotone"
    for j in unit:  # exact: all numbers are whole, or halves and quarters
        gained = value(grid + j) - value(grid)
        assert (gained[small] <= gained[large]).all(), "supermodular"
    n = grid.sum(axis=1)
    assert (np.log(np.maximum(value(grid), 1)) <= 6 * np.log(np.maximum(n, 1)) + np.log(8)).all(), (
        "log F = O(log n)"
    )
    assert not not_admissible(function)


@pytest.mark.parametrize("function", FUNCTIONS, ids=ids)
def test_what_exceeds_a_level_has_every_axiom_too(function):
    """max(F − δ, 0): the premise of the greedy on the shifted function (docs/paper.md has the
    proof).
    """
    grid = GRIDS[3]
    inside = (grid[:, None] <= grid[None]).all(axis=-1)
    small, large = np.nonzero(inside)
    for delta in np.unique(function.value(grid))[:40]:
        over = lambda counts, delta=delta: np.maximum(function.value(counts) - delta, 0.0)
        assert (over(grid[small]) <= over(grid[large])).all()
        for j in np.eye(3):
            gained = over(grid + j) - over(grid)
            assert (gained[small] <= gained[large]).all()


@pytest.mark.parametrize("name", ["entropy", "gini", "misclassification", "me"])
def test_functions_that_are_not_admissible_have_a_counterexample(name):
    found = not_admissible(component("impurity", name))
    assert found.startswith("not supermodular" if name == "me" else "not ")


def test_the_numbers_of_figure_1():
    whole = np.array([30.0, 30.0])
    first = np.array([[30.0, 10.0], [0.0, 20.0]])
    second = np.array([[15.0, 15.0], [15.0, 15.0]])

    def of(function):
        return (
            float(function.value(whole)),
            function.value(first).tolist(),
            function.value(second).tolist(),
        )

    def worst(function):
        f, *tests = of(function)
        return tuple(Fraction(1) / Fraction(f - max(test)) for test in tests)

    pairs = component("impurity", "pairs")
    printed = HingedPairs(8, subtract_square=False)
    by_equation = HingedPairs(8)
    assert of(pairs) == (900, [300, 0], [225, 225]) and worst(pairs) == (
        Fraction(1, 600),
        Fraction(1, 675),
    )
    assert of(printed) == (484, [44, 0], [49, 49]) and worst(printed) == (
        Fraction(1, 440),
        Fraction(1, 435),
    )
    assert of(by_equation) == (420, [0, 0], [0, 0])
    expected = {3: (126000, 141750), 4: (9600000, 10631250), 5: (651000000, 706218750)}
    for l, denominators in expected.items():
        assert worst(Powers(l)) == tuple(Fraction(1, d) for d in denominators)
    for alpha in np.arange(0, 15, 0.25):  # t1 is never better by equation 10
        one, other = worst(HingedPairs(alpha))
        assert one > other if alpha < 7.5 else one == other


@pytest.mark.parametrize("l", [2, 3, 5, 9, 17, 40])
def test_powers_are_exact_below_two_to_the_53(l):
    generator, function, seen = np.random.default_rng(l), Powers(l), 0
    for _ in range(300):
        counts = generator.integers(0, int(0.6 * 2 ** (53 / l)) + 2, 3)
        exact = int(counts.sum()) ** l - sum(int(n) ** l for n in counts)
        found = float(function.value(counts.astype(float)))
        assert found == function.kernel(counts.astype(float)) == pytest.approx(exact, rel=1e-14)
        if exact < 2**53:
            seen += 1
            assert found == exact
    assert seen > 50


def test_the_slow_twins_say_the_same():
    generator = np.random.default_rng(0)
    for _ in range(200):
        weights = generator.integers(0, 30, 3) * generator.choice([0.25, 1.0])
        for l in (2, 3, 6):
            assert float(Powers(l).value(weights)) == pytest.approx(
                reference.powers(weights, l), rel=1e-12, abs=1e-9
            )
        for alpha, square in itertools.product((0.0, 2.0, 3.7), (True, False)):
            expected = reference.hinged_pairs(weights, alpha, square)
            assert float(
                HingedPairs(alpha, subtract_square=square).value(weights)
            ) == pytest.approx(expected, rel=1e-12, abs=1e-10)
        assert float(SYMMETRIC.value(weights)) == reference.polynomial(
            weights, SYMMETRIC.gamma, SYMMETRIC.exponents
        )


def test_the_least_positive_value_of_hinged_pairs_is_one():
    for alpha, totals in itertools.product((0.0, 0.5, 1.3, 2.25, 3.42), ((6, 7), (9, 3, 5))):
        function = HingedPairs(alpha)
        every = function.value(
            np.array(list(itertools.product(*(range(n + 1) for n in totals))), float)
        )
        assert (
            0
            < function.least_positive(np.array(totals, float))
            <= every[every > 0].min(initial=math.inf)
        )


def test_what_is_no_weight_below_the_hinge_is_nothing_but_for_rounding():
    alpha = 0.1 * 3  # 0.30000000000000004: n_i n_j = α (n_i + n_j) for 0.6 and 0.6
    assert (
        HingedPairs(alpha).value(np.array([0.6, 0.6]))
        == HingedPairs(alpha).kernel(np.array([0.6, 0.6]))
        == 0
    )


def test_identities_across_papers():
    pairs, unlike = component("impurity", "rt"), component("coverage", "pairs")
    for seed in range(20):
        objects = toy_objects(toy_table(seed))
        rows = np.flatnonzero(np.random.default_rng(seed).random(objects.n_objects) < 0.5)
        counts, whole = (
            np.bincount(objects.label[r], minlength=3).astype(float)
            for r in (rows, np.arange(objects.n_objects))
        )
        assert type(component("impurity", "pairs")) is type(pairs)
        assert (
            Powers(2).value(counts) == 2 * pairs.value(counts) == 2 * HingedPairs(0).value(counts)
        )
        assert pairs.value(counts) == pytest.approx(
            counts.sum() ** 2 * component("impurity", "gini").value(counts) / 2
        )
        covered = (
            unlike.prepare(objects).covered(objects, rows)
            if hasattr(unlike, "prepare")
            else unlike.covered(objects, rows)
        )
        assert covered == pytest.approx(1 - pairs.value(counts) / pairs.value(whole)), (
            "φ(S)/φ(X) of Zhang & Gionis"
        )


def test_a_share_of_the_objects_becomes_an_amount():
    objects = toy_objects(toy_table(0, n_rows=30))
    total = objects.weight.sum()
    assert HingedPairs(epsilon=0.125).for_objects(objects) == HingedPairs(0.125 * total)
    once = HingedPairs(epsilon=0.125).for_objects(objects)
    assert once.for_objects(objects) is once
    ones = toy_objects(
        arboretum.testing.tables.toy_table(
            0, n_rows=100, kind=arboretum.testing.tables.TreeParts(weighted=False)
        )
    )
    assert HingedPairs(epsilon=0.07).for_objects(ones).alpha == 7, (
        "0.07 · 100 is 7.000000000000001 in binary numbers"
    )
    with pytest.raises(CapabilityError, match="share of the training objects"):
        HingedPairs(epsilon=0.1).value(np.ones(2))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Powers(1), "impurity.l must be ≥ 2"),
        (lambda: Powers(65), "≤ 64"),
        (lambda: HingedPairs(-1), "impurity.alpha must be ≥ 0"),
        (lambda: HingedPairs(math.inf), "impurity.alpha must be"),
        (lambda: HingedPairs(math.nan), "impurity.alpha must be"),
        (lambda: HingedPairs(epsilon=1.5), "impurity.epsilon must be"),
        (lambda: HingedPairs(2, epsilon=0.1), "both say what α is"),
        (lambda: Polynomial((1.0, 2.0), ((1, 1), (3, 0))), r"term 1, 2 · n\^\[3, 0\].*pure set"),
        (lambda: Polynomial((1.0,), ((1, -1),)), "exponents ≥ 0"),
        (lambda: Polynomial((-1.0,), ((1, 1),)), "impurity.gamma must be"),
        (lambda: Polynomial((1.0,), ((1, 1), (1, 1))), "a row for each"),
        (lambda: Polynomial((), ()), "a row for each"),
    ],
)
def test_fields_that_make_no_sense_are_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_what_does_not_fit_the_data_is_refused():
    objects = toy_objects(toy_table(0))
    with pytest.raises(CapabilityError, match="exponents for 2 classes, but toy0 has 3"):
        Polynomial().for_objects(objects)
    large = toy_objects(toy_table(0, n_rows=120000))
    with pytest.raises(
        CapabilityError, match=r"Powers\(l=64\) of n = .* beyond the largest number"
    ):
        Powers(64).for_objects(large)


def test_pairs_is_rt_on_the_command_line_in_estimators_and_in_records():
    common = ["dataset=wine", "method=greedytree_pairs", "encoder=auto", "tracker=none"]
    one, other = arboretum.run([*common]), arboretum.run([*common, "impurity=rt"])
    assert one.tree == other.tree and one.config["impurity"] == other.config["impurity"] == {
        "name": "rt"
    }
    from sklearn.datasets import load_wine

    x, y = load_wine(return_X_y=True)
    assert arboretum.TreeClassifier(method="greedytree_pairs").fit(x, y).score(x, y) == 1
    assert (
        arboretum.TreeClassifier(
            method="greedy", impurity="pairs", overrides={"criterion": "worst_case"}
        )
        .fit(x, y)
        .score(x, y)
        == 1
    )


def test_polynomials_can_be_written_on_the_command_line():
    common = [
        "dataset=wine",
        "method=greedy",
        "criterion=worst_case",
        "impurity=polynomial",
        "tracker=none",
    ]
    terms = ["impurity.gamma=[1,1,1]", "impurity.exponents=[[1,1,0],[1,0,1],[0,1,1]]"]
    record = arboretum.run([*common, *terms])
    assert record.tree == arboretum.run([*common[:3], "impurity=pairs", "tracker=none"]).tree
    with pytest.raises(ConfigError, match="term 0"):
        arboretum.run([*common, "impurity.exponents=[[2,0,0]]"])
