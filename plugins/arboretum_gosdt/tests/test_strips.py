"""Squared errors within two levels: bounds by strips against all trees of small tables, whatever
the cuts; proofs that are accepted, and refused once they are tampered with.
"""

import attrs
import numpy as np
import pytest
from tampered import with_bound
from tiny_tables import numbers

from arboretum.api import (
    Column,
    ColumnKind,
    Context,
    Family,
    Limits,
    Parts,
    Prices,
    Problem,
    RawFeature,
    Status,
    Table,
    Target,
    Task,
    VerificationError,
)
from arboretum.proof import deviation
from arboretum.proof.check import check
from arboretum.proof.format import read
from arboretum.testing.effort import tries
from arboretum.testing.tables import bare_objects
from arboretum_gosdt.regression import strips
from arboretum_gosdt.regression.solver import Regression
from arboretum_gosdt.regression.strips import StripSearch
from arboretum_gosdt.sums.objectives import SquaredError


def least_cost(ranks, weight, total, rows, price, depth, leaves, least):
    """Of all trees, one after another."""

    def solve(some, depth, leaves):
        y = total[some] / weight[some]
        mean = np.average(y, weights=weight[some])
        best = float(weight[some] @ (y - mean) ** 2) + price
        for rank in ranks if depth and leaves > 1 else []:
            for cut in np.unique(rank[some])[:-1]:
                below, above = some[rank[some] <= cut], some[rank[some] > cut]
                if min(rows[below].sum(), rows[above].sum()) >= least:
                    for k in range(1, leaves):
                        best = min(
                            best,
                            solve(below, depth - 1, k) + solve(above, depth - 1, leaves - k),
                        )
        return best

    return solve(np.arange(len(weight)), depth, leaves)


def drawn(seed):
    """(arguments of a search, its limits): tables with ties, few ranks and uneven strips."""
    rng = np.random.default_rng([seed, 28])
    n, columns = int(rng.integers(1, 13)), int(rng.integers(1, 4))
    ranks = np.array(
        [
            np.unique(rng.integers(0, rng.integers(1, 9), n), return_inverse=True)[1]
            for _ in range(columns)
        ],
        np.int32,
    )
    weight = rng.integers(1, 4, n)
    total, rows = weight * rng.integers(-9, 10, n), rng.integers(1, 3, n)
    limits = {
        "depth": int(rng.integers(0, 3)),
        "leaves": int(rng.integers(1, 5)),
        "least": int(rng.integers(1, 4)),
    }
    return (ranks, weight, total, rows, float(rng.choice([0.0, 0.5, 3.0]))), limits


@pytest.mark.parametrize(
    "seeds",
    [range(150), pytest.param(range(150, 150 + tries(4850)), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
def test_the_least_cost_is_that_of_all_trees(monkeypatch, seeds):
    for seed in seeds:
        monkeypatch.setattr(strips, "FIRST", (2, 3, 256)[seed % 3])
        monkeypatch.setattr(strips, "MORE", 2)
        table, limits = drawn(seed)
        search = StripSearch(*table, **limits)
        bounds = []
        assert (
            search.run(None, lambda search=search, bounds=bounds: bounds.append(search.lower)) == ""
        )
        least = least_cost(*table, **limits)
        assert search.upper == pytest.approx(least, abs=1e-9), seed
        assert least - 1e-9 <= search.lower <= least, seed
        assert bounds == sorted(bounds)


def test_bounds_hold_while_strips_are_thick(monkeypatch):
    """After each round, of few cuts, with those of all cuts beside them."""
    monkeypatch.setattr(strips, "FIRST", 2)
    rng = np.random.default_rng(3)
    ranks = np.array([rng.permutation(60) for _ in range(3)], np.int32)
    total = (9 * (ranks[0] > 40) + 5 * (ranks[1] > 20) * (ranks[0] < 30)) + rng.integers(-3, 4, 60)
    whole = StripSearch(ranks, np.ones(60, int), total, np.ones(60, int), 4.0, depth=2)
    gaps = []
    whole.run(None, lambda: gaps.append((whole.lower, whole.upper)))
    assert len(gaps) > 2 and gaps[0][0] < whole.lower
    assert all(lower <= whole.lower <= whole.upper <= upper for lower, upper in gaps)
    assert whole.upper - whole.lower <= 1e-9 * whole.upper


@pytest.fixture
def proven(tmp_path):
    """(problem, proof) of a small table of raw columns."""
    problem = numbers(6, SquaredError(lam=0.01), Limits(max_depth=2), raw=True)
    solver = Regression(proof=str(tmp_path / "proof"))
    problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, solver=solver))
    found = solver.solve(problem, Context())
    assert found.status is Status.optimal
    return problem, read(tmp_path / "proof"), found


def test_a_proof_is_accepted_and_shows_the_value(proven):
    problem, proof, found = proven
    accepted = check(proof, problem)
    assert accepted.lower_bound == pytest.approx(found.value, abs=1e-9)
    assert accepted.value == pytest.approx(found.value)


def test_what_does_not_follow_is_refused(proven):
    problem, proof, found = proven
    exact = 0
    for number in range(proof.n_records):
        bound = proof.record(number).bound
        with pytest.raises(VerificationError, match=f"record {number} "):
            check(with_bound(proof, number, 1.03), problem)  # a leaf of all objects costs 1.01
        try:
            check(with_bound(proof, number, bound + 1e-6), problem)
        except VerificationError as error:
            exact += f"record {number} " in str(error)
    assert exact > 1  # of others no more is claimed than the bound needs
    with pytest.raises(VerificationError, match="its records show"):
        end = {**proof.end, "bound": found.value + 1e-6, "value": found.value + 2e-6}
        check(attrs.evolve(proof, end=end), problem)
    refused = 0
    for number in range(proof.n_records):
        try:
            check(with_bound(proof, number, 0.0), problem)
        except VerificationError as error:
            refused += "its records show" in str(error)
    assert refused  # the bound needs some of them, at least both sides of the best test


@pytest.mark.parametrize("encoder", ["raw", "bins"])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_proofs_of_each_depth_are_accepted(tmp_path, encoder, depth):
    for seed in range(6):
        problem = numbers(
            seed, SquaredError(lam=0.01), Limits(max_depth=depth), raw=encoder == "raw"
        )
        solver = Regression(proof=str(tmp_path / f"{seed}"))
        problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, solver=solver))
        found = solver.solve(problem, Context())
        assert check(read(tmp_path / f"{seed}"), problem).lower_bound == pytest.approx(found.value)


@pytest.mark.parametrize("base", [1e12, 1e15])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_proof_of_large_targets_that_differ_little_is_accepted(tmp_path, depth, base):
    """Their mean, and the answers of leaves, are rounded by more than the proof leaves room for."""
    for seed in range(6):
        problem = numbers(seed, SquaredError(lam=0.01), Limits(max_depth=depth), rows=7, raw=True)
        y = base + np.random.default_rng(seed).choice([0.0, 1.0, 5.0], 7)
        table = problem.objects.table
        table = attrs.evolve(table, target=attrs.evolve(table.target, values=y))
        objects = attrs.evolve(problem.objects, table=table, y=y)
        parts = attrs.evolve(problem.parts, solver=Regression(proof=str(tmp_path / f"{seed}")))
        problem = attrs.evolve(problem, objects=objects, parts=parts)
        found = parts.solver.solve(problem, Context())
        accepted = check(read(tmp_path / f"{seed}"), problem)
        assert accepted.value == pytest.approx(found.value, abs=1e-9)
        assert 0.01 <= accepted.lower_bound <= found.lower_bound + 1e-9  # λ, where digits lack


def test_a_tree_whose_answers_are_no_means_is_refused(proven):
    problem, proof, _ = proven
    tree = dict(proof.end["tree"])
    tree["value"] = [one + 0.01 for one in tree["value"]]
    with pytest.raises(VerificationError, match="are not the means"):
        check(attrs.evolve(proof, end={**proof.end, "tree": tree}), problem)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_proof_under_limits_of_leaves_claims_what_it_shows(tmp_path, depth):
    """It knows none, and the run says so where the bound is less."""
    told = 0
    for seed in range(6):
        limits = Limits(max_depth=depth, min_leaf=seed % 3 + 2, max_leaves=2 if seed % 2 else None)
        problem = numbers(seed, SquaredError(lam=0.01), limits, raw=True)
        solver = Regression(proof=str(tmp_path / f"{seed}"))
        problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, solver=solver))
        found = solver.solve(problem, Context())
        shown = check(read(tmp_path / f"{seed}"), problem).lower_bound
        less = any("the proof shows" in note for note in found.notes)
        assert shown <= found.value + 1e-9
        assert less or shown == pytest.approx(found.lower_bound, abs=1e-9)
        told += less
    assert bool(told) == bool(depth)


def test_few_bytes_leave_thick_strips_and_a_bound(monkeypatch):
    """More strips than memory has room for are not made: what is proven is less, and said."""
    monkeypatch.setattr(strips, "FIRST", 4)
    rng = np.random.default_rng(5)
    ranks = np.array([rng.permutation(400) for _ in range(2)], np.int32)
    total = 9 * (ranks[0] > 150) * (ranks[1] > 90) + rng.integers(-3, 4, 400)
    table = ranks, np.ones(400, int), total, np.ones(400, int), 4.0
    few, whole = (StripSearch(*table, depth=2, most_strips=most) for most in (32, 1000))
    assert few.run(None, lambda: None) == whole.run(None, lambda: None) == ""
    assert few.lower < whole.lower <= whole.upper <= few.upper
    assert whole.upper - whole.lower <= 1e-9 * whole.upper


@pytest.mark.parametrize("kept", [1, 2, 99])
def test_the_checker_shows_no_more_than_is_true_whatever_cuts_a_log_lists(monkeypatch, kept):
    """Some thresholds of raw columns, and records of some of those: no bound of a side, or of the
    whole, is above the least cost of all trees; all of them show just that.
    """
    monkeypatch.setattr(deviation, "FEW", kept)
    shown = 0
    for seed in range(60):
        problem = numbers(
            seed, SquaredError(lam=0.001), Limits(max_depth=2), rows=11, columns=2, raw=True
        )
        objects, rng = problem.objects, np.random.default_rng(seed)
        if any(feature.family is not Family.thresholds for feature in objects.features):
            continue
        ranks = [objects.codes[:, f] for f in range(len(objects.features))]
        ranks += [np.unique(values, return_inverse=True)[1] for values in objects.raw.T]
        ranks, n_fixed, coded = np.array(ranks, np.int32), objects.n_fixed, len(objects.features)
        place = [(f, k) for f in range(coded) for k in range(int(np.diff(objects.test_offset)[f]))]
        place += [(g, k) for g in range(coded, len(ranks)) for k in range(int(ranks[g].max()))]
        off = objects.y - np.average(objects.y, weights=objects.weight)
        whole = float(objects.weight @ off**2)

        def least(some, depth, objects=objects, ranks=ranks, whole=whole):
            weight, total = objects.weight[some], (objects.weight * objects.y)[some]
            table = ranks[:, some], weight, total, objects.count[some]
            return least_cost(*table, 0.001 * whole, depth, 2**depth, 1) / whole

        best = least(np.arange(objects.n_objects), 2)
        every = range(len(place))
        drawn = [[at for at in every if rng.random() < share] for share in (0.3, 0.5)]
        for listed in (*drawn, *([at for at in every if at != out] for out in (-1, *every))):
            names = [
                at if at < n_fixed else [n_fixed + place[at][0] - coded, place[at][1]]
                for at in listed
            ]
            rules = deviation.Deviations(problem, names)
            part = 0.7 if listed in drawn else 1.0
            some = {test: [9.0, 9.0] for test in range(len(listed)) if rng.random() < part}
            for test, bounds in rules._low_of(some, lambda share: None).items():
                column, cut = place[listed[test]]
                for side, bound in enumerate(bounds):
                    rows = np.flatnonzero((ranks[column] > cut) == side)
                    assert not len(rows) or bound <= least(rows, 1) + 1e-9, (seed, test, side)
                    rules.known[test, side] = bound
            assert rules.root_bound((2, -1)) <= best + 1e-9, seed
            if len(some) == len(place):
                assert rules.root_bound((2, -1)) == pytest.approx(best, abs=1e-9), seed
                shown += 1
    assert shown > 5


def test_a_first_test_that_no_record_is_about_is_not_taken_for_its_neighbour():
    """Below 20 of the first column the second counts from 10 on, above it from 30 on: no other
    first test leads to as good a tree.
    """
    rng = np.random.default_rng(1)
    x = np.column_stack([np.arange(40), rng.permutation(40)]).astype(float)
    y = np.where(x[:, 0] < 20, 9.0 * (x[:, 1] > 10), 7.0 * (x[:, 1] > 30))
    columns = tuple(Column(f"x{c}", ColumnKind.continuous, x[:, c]) for c in range(2))
    table = Table("drawn", columns, Target("y", Task.regression, values=y))
    raw = tuple(RawFeature(f"x{c}", c) for c in range(2))
    problem = Problem(
        bare_objects(table, raw_features=raw, raw=x),
        Prices(np.ones(0), np.ones(2)),
        Parts(method=None, objective=SquaredError(lam=0.001), solver=Regression()),
    )
    names = [[column, cut] for column in range(2) for cut in range(39) if (column, cut) != (0, 19)]
    rules = deviation.Deviations(problem, names)
    for test, bounds in rules._low_of(
        {test: [9.0, 9.0] for test in range(len(names))}, print
    ).items():
        for side, bound in enumerate(bounds):
            rules.known[test, side] = bound
    assert 0.002 < rules.root_bound((2, -1)) <= 0.004 + 1e-9  # four leaves, and no error
