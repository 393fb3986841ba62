"""Bounds of additive objectives: what the slow prover writes is accepted, and nothing that is
not true ever is.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from slow_prover import Exact, problem_of, prove, raw_problem_of, unit_of

from arboretum.errors import VerificationError
from arboretum.proof import check
from arboretum.proof.format import read
from arboretum.proof.writing import ProofWriter
from arboretum.testing.effort import tries
from arboretum_gosdt.problem.objectives import Accuracy, Balanced, CostMatrix, Weighted

LIMITS = [
    {},
    {},
    {"max_depth": 2},
    {"max_depth": 3},
    {"max_leaves": 3},
    {"max_leaves": 4, "max_depth": 2},
    {"min_leaf": 2},
]


def drawn(rng, most=9, raw=False, classes=3):
    """A tiny problem: duplicates with several labels, up to so many classes, weights, prices, every
    limit; raw columns beside the binary ones.
    """
    x = rng.integers(0, 2, (rng.integers(2, most), rng.integers(0 if raw else 1, 2 if raw else 4)))
    y = rng.integers(0, rng.integers(2, classes + 1), len(x))
    y[:2] = 0, 1
    y = np.unique(y, return_inverse=True)[1]
    k = int(y.max()) + 1
    objectives = [Accuracy(lam=0.1), Accuracy(lam=0.05), Accuracy(lam=0.0), Balanced(lam=0.07)]
    objectives += [CostMatrix(lam=0.1, costs=rng.integers(0, 4, (k, k)).tolist())] + [
        Weighted(lam=0.03, omega=2.5)
    ] * (k == 2)
    objective, weight = (
        objectives[rng.integers(len(objectives))],
        rng.integers(1, 4, len(x)).astype(float),
    )
    limits, weight = LIMITS[rng.integers(len(LIMITS))], weight if rng.random() < 0.5 else None
    if rng.random() < 0.5:
        objective = attrs.evolve(objective, mu=float(rng.choice([0.0005, 0.003, 0.02])))
    if not raw:
        return problem_of(x, y, objective, weight, **limits)
    values = rng.integers(0, rng.integers(2, 6), (len(x), rng.integers(1, 3))) / 2.0
    return raw_problem_of(
        x,
        values,
        y,
        objective,
        weight,
        **{name: most for name, most in limits.items() if name != "max_leaves"},
    )


@pytest.mark.parametrize("raw", [False, True], ids=["binary", "raw"])
@pytest.mark.parametrize("seed", range(24))
def test_a_true_proof_is_accepted_and_each_record_with_a_higher_bound_is_not(seed, raw, tmp_path):
    problem = drawn(np.random.default_rng(seed), raw=raw)
    _exact, _cost = prove(problem, tmp_path / "log")
    proof = read(tmp_path / "log")
    found = check.check(proof, problem)
    assert found.records == proof.n_records
    assert raw or found.lower_bound == pytest.approx(found.value)
    number = int(np.random.default_rng(seed).integers(proof.n_records))

    def raised(record, seen=iter(range(proof.n_records))):
        literals, bound, *rest = record
        return (literals, bound + (next(seen) == number), *rest)

    prove(problem, tmp_path / "tampered", change=raised)
    with pytest.raises(VerificationError, match=rf"^record {number} \(.*claims a bound of"):
        check.check(read(tmp_path / "tampered"), problem)


def try_random_records(seed, path, raw, classes=3, n=60):
    """How many random claims were accepted, and how many of these were the exact optimum; raises
    when one is untrue.
    """
    rng = np.random.default_rng([7, seed])
    problem = drawn(rng, most=10 if raw else 14, raw=raw, classes=classes)
    unit = unit_of(problem)
    exact, tests, truth = Exact(problem, unit), problem.objects.n_tests, []
    with ProofWriter(path, problem, tests=range(tests), unit=unit) as log:
        for _ in range(n):
            steps = [
                (int(rng.integers(exact.tests)), int(rng.integers(2)))
                for _ in range(rng.integers(4))
            ]
            rows = frozenset(range(problem.objects.n_objects))
            for test, outcome in steps:
                rows = exact.part(rows, test, outcome)
            literals = [exact.literals[test][outcome] for test, outcome in steps]
            limits = int(rng.integers(-1, 4)), -1 if raw else int(rng.choice([-1, -1, 1, 2, 3, 4]))
            least, far = int(exact.least(rows, *limits)[0]), int(exact.p) + 2
            bound = least + int(rng.integers(-far, far) if rng.random() < 0.7 else rng.integers(2))
            log.record(literals, bound, *limits)
            truth.append(least)
        log.close(0, None, None)
    proof = read(path)
    refused, accepted, tight = (
        dict(check.rules_of(proof, problem).refusals(proof, lambda number: None)),
        0,
        0,
    )
    for number, record in enumerate(proof.records()):
        if number not in refused:
            assert record.bound <= truth[number], (seed, number, record)
            accepted, tight = accepted + 1, tight + (record.bound == truth[number])
    return accepted, tight


@pytest.mark.parametrize("raw", [False, True], ids=["binary", "raw"])
def test_random_claims_are_accepted_only_where_they_are_true(raw, tmp_path):
    accepted, tight = np.sum(
        [try_random_records(seed, tmp_path / "log", raw) for seed in range(15)], axis=0
    )
    assert accepted > 350
    assert tight > 120


def test_random_claims_of_many_labels_are_accepted_only_where_they_are_true(tmp_path):
    claims = [try_random_records(seed, tmp_path / "log", False, classes=9) for seed in range(40)]
    assert (np.sum(claims, axis=0) > (900, 300)).all()


@pytest.mark.slow
@pytest.mark.parametrize("raw", [False, True], ids=["binary", "raw"])
def test_many_random_claims_are_accepted_only_where_they_are_true(raw, tmp_path):
    for seed in range(15, 15 + tries(485)):
        try_random_records(seed, tmp_path / "log", raw)
        try_random_records(seed, tmp_path / "log", raw, classes=9)


def test_a_proof_may_leave_out_what_counting_shows(tmp_path):
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 2, (40, 6)), rng.integers(0, 2, 40)
    problem = problem_of(x, y, Accuracy(lam=0.0), max_depth=2)
    _exact, cost = prove(problem, tmp_path / "log", keep=lambda number: False)  # the root alone
    proof = read(tmp_path / "log")
    accepted = check.check(proof, problem)
    assert proof.n_records == 1
    assert accepted.lower_bound == accepted.value == check.rules_of(proof, problem).value(cost)


def test_of_sixteen_labels_counting_shows_sixteen_leaves(tmp_path):
    """Either side of a test has eight of them; pairs of tests say four leaves at most."""
    x = np.repeat(np.arange(16)[:, None] >> np.arange(4) & 1, 5, axis=0)
    problem = problem_of(x, np.repeat(np.arange(16), 5), Accuracy(lam=0.05))
    prove(problem, tmp_path / "log", keep=lambda number: False)  # the root alone
    proof = read(tmp_path / "log")
    assert proof.n_records == 1
    assert check.check(proof, problem).lower_bound == pytest.approx(0.8)


def test_a_part_of_a_leaf_of_least_size_need_not_be_one(tmp_path):
    """Two objects of the first four cannot be told apart, the four can: no similarity under a
    least size of leaves.
    """
    x = np.array(
        [
            [0, 0, 1, 1],
            [0, 1, 1, 0],
            [1, 0, 1, 1],
            [1, 1, 1, 0],
            [0, 0, 0, 0],
            [0, 0, 0, 0],
            [0, 1, 0, 0],
            [0, 1, 0, 0],
        ]
    )
    problem = problem_of(
        x, np.array([0, 0, 1, 1, 0, 0, 1, 1]), Accuracy(lam=0.0), max_depth=2, min_leaf=2
    )
    assert prove(problem, tmp_path / "log")[1] == 0
    unit = unit_of(problem)
    with ProofWriter(
        tmp_path / "log", problem, tests=range(problem.objects.n_tests), unit=unit
    ) as log:
        log.record((), 1, 2)
        log.close(1, None, None)
    with pytest.raises(
        VerificationError,
        match=r"^record 0 \(root, depth 2\) claims a bound of 1, but trees that begin with",
    ):
        check.check(read(tmp_path / "log"), problem)
