"""A problem as integers says of every leaf what the objective says."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import attrs
import numpy as np
import pytest
from tiny_tables import objectives, tiny_problem

from arboretum.api import (
    BudgetError,
    CapabilityError,
    Context,
    Family,
    Price,
    Prices,
    RawFeature,
    exact_weights,
    rational,
)
from arboretum.testing.oracles import outcomes
from arboretum_gosdt.problem.objectives import Accuracy, Balanced, CostMatrix, decimal
from arboretum_gosdt.problem.prepared import (
    all_tests,
    merge_equal_rows,
    pack_distinct_tests,
    units_of,
    unpack_bits,
)


def prepare(problem):
    units, tests = units_of(problem), all_tests(problem)
    return merge_equal_rows(problem, tests, units), tests, units


def bit(bits, f):
    return (bits[:, f // 32] >> (f % 32)) & 1


def exact_losses(problem):
    """[objects, classes] in fractions: what each costs by the label of its leaf."""
    objects, objective = problem.objects, problem.parts.objective
    weight = [decimal(one) for one in objects.weight.tolist()]
    total = [
        sum((w for w, y in zip(weight, objects.label, strict=True) if y == k), Fraction(0))
        for k in range(objects.n_classes)
    ]
    factor, errors = objective.factors(total), objective.errors(objects.n_classes)
    return [
        [w * factor[y] * one for one in errors[y]]
        for w, y in zip(weight, objects.label.tolist(), strict=True)
    ]


@pytest.mark.parametrize("seed", range(40))
def test_integers_say_what_fractions_say_of_every_set_that_tests_can_make(seed):
    for objective in objectives(seed):
        problem = tiny_problem(seed, objective, raw=seed % 5 == 0)
        merged, tests, units = prepare(problem)
        assert units.slack == units.slack_per_leaf == 0
        assert (units.p + units.above) * units.loss_value == decimal(objective.lam) * units.q
        losses, everything = exact_losses(problem), np.arange(problem.objects.n_objects)
        used = [tests.outcome(int(t), everything) for t in merged.tests]
        # with outcome 0, with outcome 1, either
        for signs in itertools.product((0, 1, 2), repeat=min(len(used), 3)):
            chosen, groups = np.ones(len(everything), bool), np.ones(len(merged.bits), bool)
            for f, sign in enumerate(signs):
                if sign < 2:
                    chosen &= used[f] == sign
                    groups &= bit(merged.bits, f) == sign
            inside, outside = merged.weights[groups], merged.weights[~groups]
            own = min(
                sum(losses[u][k] for u in everything[chosen])
                for k in range(problem.objects.n_classes)
            )
            rest = min(
                sum(losses[u][k] for u in everything[~chosen])
                for k in range(problem.objects.n_classes)
            )
            counted = (
                sum(
                    int(part.sum() - part.sum(axis=0).max())
                    for part in (inside, outside)
                    if len(part)
                )
                + merged.base
            )
            assert counted * units.loss_value == own + rest


@pytest.mark.parametrize("seed", range(60))
def test_the_normal_form(seed):
    problem = tiny_problem(
        seed, objectives(seed)[seed % 4], raw=seed % 7 == 0, n_rows=8, n_columns=5
    )
    merged, tests, _units = prepare(problem)
    columns = [tuple(bit(merged.bits, f)) for f in range(len(merged.tests))]
    flipped = [tuple(1 - np.array(column)) for column in columns]
    assert len(set(columns + flipped)) == 2 * len(columns), "constant, twice, or a complement"
    assert len({tuple(row) for row in merged.bits.tolist()}) == len(merged.bits)
    assert (
        merged.rows.sum() == problem.objects.count.sum()
        and merged.members.sum() == problem.objects.n_objects
    )
    assert (merged.weights >= 0).all() and (merged.weights.min(axis=1) == 0).all()
    assert (prepared := merged.prepared).weights.any(axis=1).all() and len(
        prepared.bits
    ) == merged.helps.sum()
    everything = np.arange(problem.objects.n_objects)
    alike = {tuple(tests.outcome(t, everything)) for t in range(len(tests.column))}
    alike = {column for column in alike if len(set(column)) > 1}
    assert len(merged.tests) == len(
        {min(column, tuple(not one for one in column)) for column in alike}
    )


def test_outcomes_are_those_of_the_house():
    for seed in range(20):
        problem = tiny_problem(seed)
        tests, everything = all_tests(problem), np.arange(problem.objects.n_objects)
        for test in range(len(tests.column)):
            assert (
                tests.outcome(test, everything) == outcomes(problem.objects, test, everything)
            ).all()


@pytest.mark.parametrize("seed", range(40))
def test_thresholds_told_apart_by_codes_are_those_told_apart_by_bits(seed, monkeypatch):
    """Columns that say the same, or the contrary, among them, and tests that were left out."""
    monkeypatch.setattr("arboretum_gosdt.problem.prepared.MANY_THRESHOLDS", 0)
    problem = tiny_problem(
        seed, Accuracy(lam=0.01), n_rows=3 + seed, n_columns=2, raw=True, most_values=9
    )
    raw = problem.objects.raw
    more = [raw[:, 0] * 2, -raw[:, 1], np.minimum(raw[:, 0], 2), np.ones(len(raw))]
    raw = np.column_stack([raw, *more])[:, np.random.default_rng(seed).permutation(6)]
    names = [RawFeature(f"x{f}", 0) for f in range(6)]
    objects = attrs.evolve(problem.objects, raw_features=tuple(names), raw=raw)
    prices = attrs.evolve(problem.prices, raw=np.ones(6))
    problem = attrs.evolve(problem, objects=objects, prices=prices)
    tests, units = all_tests(problem), units_of(problem)
    if seed % 2:
        tests = tests.select(np.random.default_rng(seed).random(len(tests.column)) < 0.7)
    found = merge_equal_rows(problem, tests, units, by_codes=True)
    plain = merge_equal_rows(problem, tests, units)
    assert plain.codes is None and found.codes is not None
    for name in ("tests", "bits", "weights", "rows", "mass", "members", "first", "costs"):
        assert np.array_equal(getattr(found, name), getattr(plain, name)), name
    outcome = unpack_bits(plain.bits, len(plain.tests))
    sizes = np.unique(tests.column[plain.tests], return_counts=True)[1]
    below = np.cumsum(sizes) - sizes
    assert np.array_equal(
        found.codes, np.add.reduceat(outcome, below, axis=1) if len(sizes) else found.codes
    )
    for column, (begin, size) in enumerate(zip(below, sizes, strict=True)):
        ones = np.arange(size) < found.codes[:, column, None]
        assert (outcome[:, begin : begin + size] == ones).all()


def test_tests_of_one_sign_are_told_apart_by_their_rows(monkeypatch):
    words = "arboretum.kernels.solving.fingerprints.random_words"
    for seed in range(20):
        problem = tiny_problem(seed, Accuracy(), n_rows=20, n_columns=6)
        tests = all_tests(problem)
        planes, kept = pack_distinct_tests(tests, Context())
        with monkeypatch.context() as patch:
            patch.setattr(words, lambda n: np.zeros((n, 2), np.uint64))
            alike, of_all = pack_distinct_tests(tests, Context())
        assert (kept.tolist(), planes.tolist()) == (of_all.tolist(), alike.tolist())
        assert len(kept) > 3


def test_of_equal_tests_the_cheapest_is_kept_where_prices_count():
    problem = tiny_problem(3, Accuracy(mu=0.1), n_rows=8, n_columns=3)
    codes = problem.objects.codes.copy()
    codes[:, 0] = codes[:, 1] = np.arange(8) % 2
    twin = attrs.evolve(problem.objects.features[0], column="x1", position=1)
    features = (problem.objects.features[0], twin, *problem.objects.features[2:])
    objects = attrs.evolve(problem.objects, codes=codes, features=features)
    n = features[0].n_tests
    prices = np.ones(int(objects.test_offset[-1]))
    prices[:n] = 2.0
    cheap = attrs.evolve(problem, objects=objects, prices=Prices(prices, np.zeros(0)))
    assert min(prepare(cheap)[0].tests) >= n
    free = attrs.evolve(cheap, parts=attrs.evolve(problem.parts, objective=Accuracy()))
    assert min(prepare(free)[0].tests) == 0


def test_decimals_are_exact_and_long_ones_are_rounded_within_the_slack():
    mass, unit, error = exact_weights(np.array([0.1, 0.3, 1.2]))
    assert mass.tolist() == [1, 3, 12] and unit == Fraction(1, 10) and error == 0
    mass, unit, error = exact_weights(np.array([4.0, 6.0]))
    assert mass.tolist() == [2, 3] and unit == 2
    odd = np.random.default_rng(0).random(50)
    mass, unit, error = exact_weights(odd)
    assert 0 < error < odd.mean() / 2**33
    assert all(
        abs(Fraction(w) - int(m) * unit) <= error for w, m in zip(odd.tolist(), mass, strict=True)
    )


@pytest.mark.parametrize(
    "objective",
    [
        Accuracy(lam=1 / math.pi),
        Balanced(lam=0.017),
        CostMatrix(costs=(np.ones((3, 3)) / 3).tolist(), lam=1e-12),
    ],
)
def test_what_does_not_fit_is_rounded_and_the_slack_covers_it(objective):
    for seed in range(30):
        problem = tiny_problem(seed, objective)
        weight = np.random.default_rng(seed).random(problem.objects.n_objects) * 10.0 ** (seed % 7)
        problem = attrs.evolve(problem, objects=attrs.evolve(problem.objects, weight=weight))
        merged, _, units = prepare(problem)
        losses = exact_losses(problem)
        own = min(sum(row[k] for row in losses) for k in range(problem.objects.n_classes))
        counted = int(merged.weights.sum() - merged.weights.sum(axis=0).max()) + merged.base
        assert 0 <= units.slack < 1e-8
        assert abs(counted * units.loss_value - own) <= units.slack
        assert (
            abs(units.p * units.loss_value / units.q - rational(objective.lam))
            <= units.slack_per_leaf
        )
        assert units.q * units.most < 1 << 62


def test_what_no_form_of_it_can_be_asked_is_refused_with_the_way_out(monkeypatch):
    monkeypatch.setattr("arboretum.interfaces.method.FEW_BYTES", 0)
    problem = tiny_problem(1, n_rows=6)
    wide = attrs.evolve(problem.objects.features[0], family=Family.multiway, n_bins=3)
    features = (wide, *problem.objects.features[1:])
    with pytest.raises(CapabilityError, match="has 3 branches; use encoder=onehot"):
        all_tests(attrs.evolve(problem, objects=attrs.evolve(problem.objects, features=features)))
    gap = attrs.evolve(
        problem.objects.features[0], family=Family.thresholds, n_bins=1, has_missing=True
    )
    with pytest.raises(
        CapabilityError, match="'x0' has missing values; use encoder.missing=category"
    ):
        all_tests(
            attrs.evolve(
                problem,
                objects=attrs.evolve(
                    problem.objects, features=(gap, *problem.objects.features[1:])
                ),
            )
        )
    with pytest.raises(
        BudgetError, match="tests of 6 objects as bits take about 0 MB.* raise budget.memory_mb"
    ):
        merge_equal_rows(problem, all_tests(problem), units_of(problem), Context(memory_bytes=1))
    dear = attrs.evolve(
        problem, parts=attrs.evolve(problem.parts, objective=Accuracy(mu=1e30, price=Price.max))
    )
    with pytest.raises(CapabilityError, match="do not fit into 62 bits"):
        units_of(attrs.evolve(dear, prices=attrs.evolve(dear.prices, tests=dear.prices.tests + 1)))
