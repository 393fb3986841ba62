"""Proofs from what a search remembers: found whatever it forgot, and for no bound that is not
true.
"""

from __future__ import annotations

import numpy as np
import pytest
from slow_prover import Exact, closed_sets, problem_of, unit_of
from test_additive import drawn

from arboretum.kernels.solving.fingerprints import enter, random_words
from arboretum.proof.additive import Additive
from arboretum.proof.check import check
from arboretum.proof.extract import Extraction, Memo
from arboretum.proof.format import read
from arboretum.proof.writing import ProofWriter
from arboretum_gosdt.problem.objectives import Accuracy

TURN, UNLIMITED = 0x9E3779B97F4A7C15, 0x1234567


def memo_of(problem, exact, depth, remembers):
    """What a search of fixed tests might remember: of each set that divisions lead to what
    ``remembers`` makes of its bound.
    """
    rules = Additive(problem, range(problem.objects.n_tests), unit_of(problem))
    has = np.array([exact.answers[test] for test in range(exact.tests)]).T
    kinds, kind = np.unique(has, axis=0, return_inverse=True)
    kept = [rules.columns.group[np.flatnonzero(kind.ravel() == k)[0]] for k in range(len(kinds))]
    helped = rules.costs.saved.any(axis=1)[kept]  # others are in no search
    words, sets = random_words(len(kinds)), closed_sets(exact, depth, -1)
    slots, bounds = (
        np.zeros((4 << len(sets).bit_length(), 2), np.uint64),
        np.zeros(len(sets), np.int64),
    )
    for number, (_, rows, below, _) in enumerate(sets):
        mine = np.unique(kind.ravel()[list(rows)])
        one, two = words[mine[helped[mine]]].sum(axis=0, dtype=np.uint64)
        at = np.uint64((int(one) + (below * TURN if below >= 0 else UNLIMITED)) % 2**64)
        bounds[enter(slots, at, two, number)] = remembers(int(exact.least(rows, below, -1)[0]))
    return Memo(kinds == 1, words, slots, bounds, TURN, UNLIMITED)


def extracted(problem, path, remembers, goal=None, progress=lambda *told: None):
    """Bound that was asked for and the one that was shown.

    remembers : exact bound of a side → what the memo says of it.
    """
    unit, most = unit_of(problem), problem.parts.limits()
    exact, depth, leaves = (
        Exact(problem, unit),
        *(-1 if value is None else value for value in (most.max_depth, most.max_leaves)),
    )
    memo = (
        memo_of(problem, exact, depth, remembers)
        if not problem.objects.raw_features and most.min_leaf <= 1
        else None
    )
    wanted = (
        int(exact.least(frozenset(range(problem.objects.n_objects)), depth, leaves)[0])
        if goal is None
        else goal
    )
    with ProofWriter(path, problem, tests=range(problem.objects.n_tests), unit=unit) as log:
        extraction = Extraction(log, problem, memo, progress)
        shown = extraction.show(wanted, depth, leaves)
        extraction.write()
        log.close(shown, None, None)
    return wanted, shown


@pytest.mark.parametrize("raw", [False, True], ids=["binary", "raw"])
@pytest.mark.parametrize("seed", range(30))
def test_a_proof_is_found_however_much_was_forgotten(seed, raw, tmp_path):
    rng = np.random.default_rng(seed)
    problem = drawn(rng, raw=raw, most=10)
    for remembers in (
        lambda bound: bound,
        lambda bound: 0,
        lambda bound: bound * int(rng.integers(2)),
        lambda bound: bound + int(rng.integers(-1, 2)),
    ):
        wanted, shown = extracted(problem, tmp_path / "log", remembers)
        assert shown == wanted
        check(read(tmp_path / "log"), problem)


def test_a_bound_that_is_not_true_is_not_shown(tmp_path):
    rng = np.random.default_rng(3)
    problem = problem_of(rng.integers(0, 2, (20, 4)), rng.integers(0, 2, 20), Accuracy(lam=0.02))
    wanted, true = extracted(problem, tmp_path / "log", lambda bound: bound)
    _, shown = extracted(problem, tmp_path / "log", lambda bound: bound + 5, goal=wanted + 5)
    assert shown == true == wanted
    check(read(tmp_path / "log"), problem)


def test_a_memo_makes_proofs_short(tmp_path):
    rng = np.random.default_rng(4)
    x = rng.integers(0, 2, (80, 7))
    problem = problem_of(
        x, ((x[:, 0] & x[:, 1]) ^ x[:, 2] ^ (rng.random(80) < 0.2)).astype(int), Accuracy(lam=0.004)
    )
    extracted(problem, tmp_path / "memo", lambda bound: bound)
    extracted(problem, tmp_path / "none", lambda bound: 0)
    short, long = (read(tmp_path / name).n_records for name in ("memo", "none"))
    assert 1 < short < 2 / 3 * long


def test_the_share_that_is_written_is_told_as_it_grows(tmp_path, monkeypatch):
    monkeypatch.setattr("arboretum.proof.extract.SETS", 1)
    rng, told = np.random.default_rng(4), []
    problem = problem_of(rng.integers(0, 2, (60, 6)), rng.integers(0, 2, 60), Accuracy(lam=0.006))
    extracted(
        problem,
        tmp_path / "log",
        lambda bound: 0,
        progress=lambda done, total, message: told.append((done, total)),
    )
    shares = [done for done, total in told if total == 1.0]
    assert len(shares) == len(told) > 5
    assert 0.0 <= min(shares) < 0.5 < max(shares[:-1]) <= shares[-1] == 1.0
