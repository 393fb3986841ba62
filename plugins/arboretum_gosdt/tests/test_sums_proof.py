"""Proofs of sums by leaf: accepted as they are written, refused as they are changed."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
import tiny_tables
from tampered import with_bound
from tiny_sums import Counts, Huber, Liar, Squares, clock, numbers

from arboretum.api import Context, Limits, VerificationError
from arboretum.proof.check import check
from arboretum.proof.format import read
from arboretum_gosdt.sums import search as sums_search
from arboretum_gosdt.sums.objectives import SquaredError
from arboretum_gosdt.sums.solver import LeafSums


def proven(path, objective, n_rows=40, seed=0, context=Context(), **stopping):
    """(problem, proof, solution)."""
    problem = numbers(seed, objective, n_rows, **stopping)
    return solved(path, problem, context)


def solved(path, problem, context=Context()):
    solver = LeafSums(proof=str(path))
    problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, solver=solver))
    found = solver.solve(problem, context)
    return problem, read(path), found


@pytest.mark.parametrize(
    "objective", [Squares(), Huber(), Counts(), SquaredError()], ids=lambda one: one.name
)
@pytest.mark.parametrize(
    "stopping",
    [{"max_depth": depth} for depth in range(5)] + [{"max_depth": 3, "min_leaf": 3}, {}],
    ids=str,
)
def test_a_proof_is_accepted_and_shows_the_value(objective, stopping, tmp_path):
    for seed in range(2):
        n_rows = 40 if stopping else 9
        for lam in (0.0, 0.05):
            problem, proof, found = proven(
                tmp_path / "proof",
                attrs.evolve(objective, lam=lam),
                n_rows,
                seed,
                **stopping,
            )
            accepted = check(proof, problem)
            assert accepted.lower_bound == pytest.approx(found.value, rel=1e-8, abs=1e-8)
            assert accepted.value == pytest.approx(found.value)
            assert accepted.lower_bound <= accepted.value + 1e-12
            assert ("superadditive" in accepted.assumed) == objective.superadditive


@pytest.mark.parametrize("lam", [0.0, 1e-300, 1e-12, 5e-11, 1e-10, 1e-8])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_value_near_what_rounding_takes_is_claimed_as_it_is_shown(lam, depth, tmp_path):
    """Each object is a leaf, so that nothing is left but λ."""
    problem = numbers(0, SquaredError(lam=lam), max_depth=depth)
    y = problem.objects.outcome(0).astype(float)
    problem = attrs.evolve(problem, objects=attrs.evolve(problem.objects, y=y))
    problem, proof, found = solved(tmp_path / "proof", problem)
    shown = check(proof, problem).lower_bound
    assert found.value == pytest.approx(2 * lam, abs=1e-15)
    unit = problem.parts.objective.unit(problem.objects)
    assert shown == pytest.approx(proof.end["bound"] / unit)
    assert any(f"the proof shows {shown:g} only" in note for note in found.notes)


def test_the_checker_lets_nobody_write_over_its_sums(tmp_path):
    class Overwriting(Squares):
        def leaf(self, sums):
            sums[..., 1] = 0.0
            return super().leaf(sums)

    problem, proof, _ = proven(tmp_path / "proof", Squares(), max_depth=2)
    parts = attrs.evolve(problem.parts, objective=Overwriting())
    with pytest.raises(ValueError, match="read-only"):
        check(proof, attrs.evolve(problem, parts=parts))


def test_proofs_of_thresholds_of_raw_columns_are_accepted(tmp_path):
    for seed in range(12):
        problem = tiny_tables.numbers(
            seed, Squares(lam=0.01), Limits(max_depth=3), rows=14, columns=2, raw=True
        )
        problem, proof, found = solved(tmp_path / "proof", problem)
        assert check(proof, problem).lower_bound == pytest.approx(found.value, rel=1e-8, abs=1e-8)


def test_what_does_not_follow_is_refused(tmp_path):
    problem, proof, found = proven(tmp_path / "proof", Squares(lam=0.0), max_depth=3)
    assert proof.n_records > 20
    needed = 0
    for number in range(proof.n_records):
        bound = proof.record(number).bound
        with pytest.raises(VerificationError, match=f"record {number} "):
            check(with_bound(proof, number, 1e6), problem)
        with pytest.raises(VerificationError, match=f"record {number} "):
            check(with_bound(proof, number, np.nan), problem)
        with pytest.raises(VerificationError, match=f"record {number} "):
            check(with_bound(proof, number, bound + 1e-4), problem)
        try:
            check(with_bound(proof, number, -1e6), problem)
        except VerificationError as error:
            needed += "(root, depth 3) claims a bound" in str(error)
    assert needed
    weight = problem.objects.weight.sum()
    with pytest.raises(VerificationError, match="its records show"):
        end = {**proof.end, "bound": found.value * weight + 1e-4}
        check(attrs.evolve(proof, end=end), problem)
    with pytest.raises(VerificationError, match="but the tree costs"):
        check(attrs.evolve(proof, end={**proof.end, "value": proof.end["bound"] / 2}), problem)


def test_what_a_record_may_not_say_is_refused(tmp_path):
    problem, proof, _ = proven(tmp_path / "proof", Squares(lam=0.0), max_depth=3)
    for word, value, why in (
        (1, -2, "limits"),
        (2, 4, "limits"),
        (5, 10_000, "path"),
        (6, 2, "path"),
    ):
        words = proof.words.copy()
        words[proof.start[3] + word] = value
        with pytest.raises(VerificationError, match=f"record 3 .*{why}"):
            check(attrs.evolve(proof, words=words), problem)
    deeper = proof.words.copy()
    deeper[proof.start[3] + 1] = 3  # of three levels nothing is counted
    with pytest.raises(VerificationError, match="record 3 .*for all that is known"):
        check(attrs.evolve(proof, words=deeper), problem)


def test_a_proof_of_a_promise_that_does_not_hold_is_refused(tmp_path):
    refused = 0
    for seed in range(3):
        problem, proof, _ = proven(tmp_path / "proof", Liar(lam=0.0), seed=seed, max_depth=3)
        try:
            check(proof, problem)
        except VerificationError as error:
            refused += "declares superadditive = True, and two sides of a test" in str(error)
    assert refused == 3


@pytest.mark.parametrize(
    "objective", [Squares(lam=0.02), Huber(lam=0.02)], ids=lambda one: one.name
)
@pytest.mark.parametrize("stopping", [{"max_depth": 4}, {}], ids=str)
def test_a_search_that_was_stopped_proves_what_it_has(objective, stopping, tmp_path, monkeypatch):
    """Time is over after some sets; all that is recorded follows."""
    for most in (1, 2, 5, 20, 60):
        monkeypatch.setattr(sums_search.time, "monotonic", clock())
        problem, proof, found = proven(
            tmp_path / "proof", objective, 24, context=Context(deadline=most), **stopping
        )
        monkeypatch.undo()
        accepted = check(proof, problem)
        assert accepted.value == pytest.approx(found.value)
        if objective.superadditive:
            assert accepted.lower_bound == pytest.approx(found.lower_bound)
        else:
            assert accepted.lower_bound <= found.value
