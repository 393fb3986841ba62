"""Proofs of the solver are accepted, whichever search found the bound; what cannot be proven is
said.
"""

from __future__ import annotations

import math
from itertools import combinations

import attrs
import numpy as np
import pytest

from arboretum.api import (
    BudgetError,
    CapabilityError,
    Column,
    ColumnKind,
    Context,
    Extraction,
    Limits,
    Parts,
    Price,
    Problem,
    ProofWriter,
    RawFeature,
    Status,
    Table,
    Target,
    Task,
    VerificationError,
)
from arboretum.kernels.plain import interpreted
from arboretum.proof import sets
from arboretum.proof.check import check
from arboretum.proof.format import read
from arboretum.testing.tables import prices_of, toy_objects
from arboretum_decision_tables.complexities import Leaves
from arboretum_gosdt.problem.objectives import Accuracy, Balanced, CostMatrix
from arboretum_gosdt.problem.proving import prove
from arboretum_gosdt.solvers.choice import Which
from arboretum_gosdt.solvers.gosdt import Gosdt
from arboretum_gosdt.sparse import search as sparse


@attrs.frozen
class Within:
    """Limits of a run."""

    kind, name = "stopping", "within"
    max_depth: int | None = None
    max_leaves: int | None = None
    min_leaf: int = 1

    def limits(self) -> Limits:
        return Limits(self.max_depth, self.max_leaves, self.min_leaf)

    def leaf_rule(self):
        from arboretum.api import LeafRule

        return LeafRule()


def problem_of(seed, objective, classes=2, n=40, **limits):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, (n, 5))
    y = ((x[:, 0] & x[:, 1]) ^ x[:, 2] ^ (rng.random(n) < 0.2)) + (classes > 2) * rng.integers(
        0, 2, n
    )
    return problem_from(x, y, objective, classes, **limits)


def problem_from(x, y, objective, classes=2, priced=None, **limits):
    """priced : seed of the prices; None: all are 1."""
    columns = tuple(
        Column(f"x{f}", ColumnKind.categorical, values.astype(np.int32), ("a", "b"))
        for f, values in enumerate(x.T)
    )
    table = Table(
        "drawn",
        columns,
        Target("y", Task.classification, y.astype(np.int32), tuple("abc"[:classes])),
        None,
    )
    objects = toy_objects(table, multiway=False)
    return Problem(
        objects,
        prices_of(objects, priced),
        Parts(method=None, objective=objective, solver=Gosdt(), stopping=(Within(**limits),)),
    )


def proven(problem, path, context=Context()):
    solver = Gosdt(proof=str(path))
    problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, solver=solver))
    return solver.solve(problem, context), problem


def noisy(seed):
    """A table whose proof has thousands of records."""
    rng = np.random.default_rng(seed)
    x = rng.random((120, 16)) < rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], 16)
    y = x[:, 0] ^ (x[:, 1] & x[:, 2]) ^ (rng.random(120) < 0.2)
    return problem_from(x.astype(int), y.astype(int), Accuracy(lam=0.01))


@pytest.mark.parametrize("seed", [736, 1020])
def test_a_side_that_a_larger_set_bounds_bounds_the_whole(seed, tmp_path):
    """Who wrote the record asked of a column that is open no more when it is checked."""
    found, problem = proven(noisy(seed), tmp_path / "log")
    assert check(read(tmp_path / "log"), problem).lower_bound == pytest.approx(found.value)


def test_pairs_that_are_not_kept_are_counted_again(tmp_path, monkeypatch):
    words = []
    for kept in (sets.KEPT, 0):
        monkeypatch.setattr(sets, "KEPT", kept)
        found, problem = proven(noisy(1020), tmp_path / "log")
        proof = read(tmp_path / "log")
        assert check(proof, problem).lower_bound == pytest.approx(found.value)
        words.append(proof.words.tolist())
    assert words[0] == words[1]
    assert proof.n_records > 1000


CASES = [
    (Accuracy(lam=0.02), {}),
    (Accuracy(lam=0.01), {"max_depth": 3}),
    (Accuracy(lam=3 / 157), {}),
    (Accuracy(lam=0.0), {"max_depth": 2}),
    (Balanced(lam=0.013), {}),
    (Accuracy(lam=0.01), {"min_leaf": 4}),
    (Accuracy(lam=0.0), {"min_leaf": 4, "max_depth": 3}),
    (CostMatrix(lam=0.05, costs=[[0, 1], [3, 0.5]]), {}),
    (Accuracy(lam=0.01, mu=0.002), {"priced": 1}),
    (Balanced(lam=0.02, mu=0.01), {"priced": 2, "max_depth": 3}),
    (Accuracy(lam=0.01, mu=0.002), {"priced": 3, "min_leaf": 4}),
    (Accuracy(lam=0.0, mu=0.004), {"priced": 4, "max_leaves": 4, "max_depth": 3}),
    (Accuracy(lam=0.0, mu=0.002), {"priced": 5, "max_depth": 3}),
    (Accuracy(lam=0.005, mu=0.02, price=Price.max), {}),
    (Balanced(lam=0.005, mu=0.01, price=Price.max), {"max_depth": 3, "min_leaf": 2}),
    (Accuracy(lam=0.0), {"max_leaves": 4}),
    (Accuracy(lam=0.01), {"max_leaves": 3, "max_depth": 3}),
    (Accuracy(lam=0.0), {"max_depth": 4}),
]


@pytest.mark.parametrize(
    ("objective", "limits"), CASES, ids=lambda one: getattr(one, "name", str(one))
)
@pytest.mark.parametrize("seed", range(3))
def test_the_proof_shows_the_value(objective, limits, seed, tmp_path):
    found, problem = proven(problem_of(seed, objective, **limits), tmp_path / "log")
    accepted = check(read(tmp_path / "log"), problem)
    assert accepted.lower_bound == pytest.approx(found.lower_bound)
    assert accepted.value == pytest.approx(found.value)


def test_a_depth_that_is_paid_is_shown_limit_by_limit_and_no_more(tmp_path):
    """Records of all objects say what trees within a depth cost; without those of one limit the
    rest shows less.
    """
    several = 0
    for seed in range(12):
        objective = Accuracy(lam=0.005, mu=(0.005, 0.02, 0.05)[seed % 3], price=Price.max)
        found, problem = proven(problem_of(seed, objective, n=60), tmp_path / "log")
        plain = Gosdt(search=Which.general).solve(problem, Context())
        assert found.lower_bound == found.value == pytest.approx(plain.value, rel=1e-12)
        proof = read(tmp_path / "log")
        assert check(proof, problem).lower_bound == pytest.approx(found.value)
        above = {**proof.end, "bound": proof.end["bound"] + 1, "value": None, "tree": None}
        with pytest.raises(VerificationError, match="but its records show"):
            check(attrs.evolve(proof, end=above), problem)
        head = proof.start[:-1]
        for limit in np.unique(proof.words[head + 1][proof.words[head] == 0]).tolist():
            words = proof.words.copy()
            words[(head + 1)[(words[head] == 0) & (words[head + 1] == limit)]] = 0  # of leaves
            with pytest.raises(VerificationError, match="but its records show"):
                check(attrs.evolve(proof, words=words), problem)
            several += limit >= 0
    assert several > 5, "most are shown by one limit"


def test_a_leaf_pays_for_no_level(tmp_path):
    """However dear the first test is: what is known of trees of one level and more says nothing."""
    problem = problem_of(0, Accuracy(lam=0.02, mu=0.9, price=Price.max))
    found, problem = proven(problem, tmp_path / "log")
    assert found.tree.n_leaves == 1
    proof = read(tmp_path / "log")
    with ProofWriter(
        tmp_path / "log", problem, tests=proof.header["tests"], unit=proof.unit
    ) as log:
        extraction = Extraction(log, problem, None, lambda *told: None)
        assert extraction.show(1 << 40) + extraction.rules.costs.per_level > proof.end["bound"]
        extraction.write()
        log.close(proof.end["bound"] + 1, None, None)
    with pytest.raises(VerificationError, match="but its records show"):
        check(read(tmp_path / "log"), problem)


def test_python_too_proves_and_checks(tmp_path):
    """Fingerprints wrap around there as in machine code: a run would compile all of it anew."""
    with interpreted(math.inf):
        found, problem = proven(problem_of(0, Accuracy(lam=0.02), n=16), tmp_path / "log")
        assert check(read(tmp_path / "log"), problem).value == pytest.approx(found.value)


def test_there_is_room_for_more_columns_than_objects(tmp_path):
    """Of rows, whose counts had room for one number an object; Python tells, machine code wrote
    behind its end.
    """
    pairs = [[one in pair for pair in combinations(range(6), 2)] for one in range(6)]
    labels = np.array([0, 1, 1, 0, 0, 1])
    problem = problem_from(np.array(pairs, int), labels, Accuracy(lam=0.0), min_leaf=2)
    found, problem = proven(problem, tmp_path / "log")
    with interpreted(math.inf):
        assert check(read(tmp_path / "log"), problem).value == pytest.approx(found.value)


def test_three_classes(tmp_path):
    found, problem = proven(problem_of(1, Accuracy(lam=0.02), classes=3), tmp_path / "log")
    assert check(read(tmp_path / "log"), problem).lower_bound == pytest.approx(found.value)


def test_without_time_the_bound_that_is_known_is_proven(tmp_path):
    found, problem = proven(
        problem_of(2, Accuracy(lam=0.001), n=200), tmp_path / "log", Context(deadline=0.0)
    )
    assert check(read(tmp_path / "log"), problem).lower_bound <= found.value


@pytest.mark.parametrize("after", [1, 2, 3])
def test_what_is_known_when_a_search_is_stopped_is_proven(after, tmp_path, monkeypatch):
    """All of it: a leaf at least, also where the search knows less."""
    monkeypatch.setattr(sparse, "SLICE", 100)
    for seed in range(12):
        reports = iter(range(1, after + 1))

        def stop(done, total, message, reports=reports):
            if next(reports, 0) == after:
                raise KeyboardInterrupt

        problem = problem_of(seed, Accuracy(lam=0.005), 2 + seed % 2, 20 + 10 * seed)
        gosdt = Gosdt(search=Which.sparse, proof=str(tmp_path / "log"))
        problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, solver=gosdt))
        attempt = gosdt.begin(problem)
        found = attempt.go_on(Context(progress=stop))
        found = prove(gosdt.proof, attempt.search, found, Context())
        accepted = check(read(tmp_path / "log"), problem)
        assert found.lower_bound == pytest.approx(accepted.lower_bound, abs=1e-12)


@pytest.mark.parametrize(
    ("objective", "limits", "why"),
    [
        (Accuracy(mu=0.1, price=Price.max), {"max_leaves": 4}, "costliest path"),
        (Accuracy(lam=1e15), {}, "objective.lam is too large"),
    ],
)
def test_what_cannot_be_proven_is_said(objective, limits, why, tmp_path):
    found, _ = proven(problem_of(0, objective, **limits), tmp_path / "log")
    assert any(note.startswith("no proof is written: ") and why in note for note in found.notes)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_no_checker_knows_keeps_its_tree_and_says_why(tmp_path):
    problem = problem_of(0, Accuracy(lam=0.02))
    parts = attrs.evolve(problem.parts, complexity=Leaves())
    problem = attrs.evolve(problem, parts=parts)
    found, _ = proven(problem, tmp_path / "log")
    assert found.status is Status.optimal and found.notes[-1].startswith(
        "no proof is written: complexity=n_leaves stands beside objective=accuracy"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("raised", "why"),
    [
        (BudgetError("it takes 9 MB; raise budget.memory_mb"), "it takes 9 MB; raise budget.mem"),
        (KeyboardInterrupt(), "it was interrupted"),
    ],
)
def test_what_ends_a_proof_is_said_with_the_way_out(raised, why, tmp_path):
    def hear(done, total, message):
        if message == "writing the proof":
            raise raised

    found, _ = proven(problem_of(0, Accuracy(lam=0.02)), tmp_path / "log", Context(progress=hear))
    assert found.notes[-1].startswith(f"no proof is written: {why}") and not found.finished
    assert bool(found.interrupted) == isinstance(raised, KeyboardInterrupt)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("limits", [{}, {"max_leaves": 5}])
def test_progress_is_a_share_that_grows_up_to_one(limits, tmp_path, monkeypatch):
    monkeypatch.setattr("arboretum.proof.extract.SETS", 1)  # a word after every set
    shares = []

    def hear(done, total, message):
        if message == "writing the proof":
            shares.append(done / total)

    proven(
        problem_of(2, Accuracy(lam=0.002), n=200, **limits),
        tmp_path / "log",
        Context(progress=hear),
    )
    assert shares == sorted(shares) and shares[-1] == 1 and 0 <= shares[0] < shares[-2] < 1


def stopped(problem, slices):
    """An attempt, and what it has found after some slices of the search."""
    attempt = Gosdt().begin(problem)
    attempt.search.chosen.search.work_slices(slices)
    return attempt, attempt.go_on(Context(deadline=0.0))


def hard(mu=0.0, seed=3):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, (300, 14))
    return problem_from(
        x,
        ((x[:, 0] & x[:, 1]) ^ x[:, 2] ^ (rng.random(300) < 0.25)).astype(int),
        Accuracy(lam=0.006, mu=mu),
        priced=seed,
    )


def hard_with_raw_columns(seed=5):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 6, (200, 3)) / 2.0
    y = ((z[:, 0] > 1) ^ (z[:, 1] > z[:, 2]) ^ (rng.random(200) < 0.25)).astype(int)
    columns = tuple(Column(f"z{g}", ColumnKind.continuous, values) for g, values in enumerate(z.T))
    problem = problem_from(rng.integers(0, 2, (200, 2)), y, Accuracy(lam=0.008))
    table = attrs.evolve(problem.objects.table, columns=(*problem.objects.table.columns, *columns))
    features = tuple(RawFeature(column.name, 2 + g) for g, column in enumerate(columns))
    objects = attrs.evolve(problem.objects, table=table, raw_features=features, raw=z)
    return attrs.evolve(problem, objects=objects, prices=prices_of(objects))


@pytest.mark.compiled  # a thousand sets, and what follows compiles all the same
def test_thresholds_of_raw_columns_are_shown_by_what_the_search_remembers(tmp_path):
    found, problem = proven(hard_with_raw_columns(), tmp_path / "log")
    proof = read(tmp_path / "log")
    assert [4, 0] in proof.header["tests"]
    assert check(proof, problem).lower_bound == pytest.approx(found.value)


@pytest.mark.compiled  # whose slices are longer
@pytest.mark.parametrize(
    "problem", [hard(), hard(mu=0.0001), hard_with_raw_columns()], ids=["", "prices", "raw"]
)
def test_a_search_goes_on_from_its_proof(problem, tmp_path):
    whole, (attempt, part) = Gosdt().solve(problem, Context()), stopped(problem, 1)
    assert 0 < part.subproblems < whole.subproblems / 2 and part.lower_bound < part.value
    prove(str(tmp_path / "bound"), attempt.search, part, Context())
    prove(str(tmp_path / "log"), attempt.search, part, Context(), resumable=True)
    for name in ("bound", "log"):
        accepted = check(read(tmp_path / name), problem)
        assert accepted.lower_bound == pytest.approx(part.lower_bound)
        assert accepted.value == pytest.approx(part.value)
    found = Gosdt(resume=str(tmp_path / "log")).solve(problem, Context())
    assert found.value == found.lower_bound == whole.value
    assert found.subproblems <= whole.subproblems - part.subproblems / 2


def test_a_search_goes_on_only_from_a_proof_of_its_problem_that_is_one(tmp_path):
    problem = problem_of(0, Accuracy(lam=0.02))
    proven(problem, tmp_path / "log")
    again = Gosdt(resume=str(tmp_path / "log"))
    assert again.solve(problem, Context()).value == Gosdt().solve(problem, Context()).value
    with pytest.raises(CapabilityError, match="is the proof of another problem"):
        again.solve(problem_of(0, Accuracy(lam=0.02), n=41), Context())
    with pytest.raises(VerificationError, match="is of another table"):
        again.solve(problem_of(5, Accuracy(lam=0.02)), Context())
    with pytest.raises(VerificationError, match="the end claims a tree of"):
        again.solve(problem_of(0, Accuracy(lam=0.03)), Context())
    proof = read(tmp_path / "log")
    with ProofWriter(
        tmp_path / "raised",
        proven(problem, tmp_path / "again")[1],
        tests=proof.header["tests"],
        unit=proof.unit,
    ) as log:
        for number, record in enumerate(proof.records()):
            log.record(
                record.path.tolist(), record.bound + (number == proof.n_records - 1), record.depth
            )
        log.close(proof.end["bound"], proof.end["value"], None)
    with pytest.raises(VerificationError, match="claims a bound of"):
        Gosdt(resume=str(tmp_path / "raised")).solve(problem, Context())


@pytest.mark.parametrize(
    ("lam", "limits", "search"),
    [
        (0.02, {"min_leaf": 3}, "general"),
        (0.02, {"max_leaves": 3}, "general"),
        (0.0, {"max_depth": 3}, "limited"),
        (0.0, {"max_depth": 2}, "intervals"),
    ],
)
def test_searches_that_do_not_go_on_refuse_it_before_they_begin(lam, limits, search):
    problem = problem_of(0, Accuracy(lam=lam), **limits)
    with pytest.raises(
        CapabilityError,
        match=(
            f"the search {search} does not go on from a proof, .* leave solver.resume, or "
            "--from, out"
        ),
    ):
        Gosdt(resume="nothing is read", search=Which(search)).begin(problem)


def test_a_bound_that_two_sets_with_one_fingerprint_made_too_high_fails_the_run(tmp_path):
    problem = problem_of(1, Accuracy(lam=0.02))
    attempt = Gosdt().begin(problem)
    found = attempt.go_on(Context())
    attempt.search.chosen.search._memo["lower"][:] += 1
    prove(str(tmp_path / "log"), attempt.search, found, Context())  # hints are checked
    assert check(read(tmp_path / "log"), problem).lower_bound == pytest.approx(found.value)
    leaf = Gosdt().begin(problem).search.tree()  # of a search that has not begun
    worse = attrs.evolve(found, tree=leaf, value=1.0, lower_bound=1.0)
    with pytest.raises(VerificationError, match="the proof shows .* only, but the search claims 1"):
        prove(str(tmp_path / "log"), attempt.search, worse, Context())


def test_a_bound_of_paid_depths_that_is_too_high_fails_the_run(tmp_path):
    problem = problem_of(1, Accuracy(lam=0.02, mu=0.01, price=Price.max))
    attempt = Gosdt().begin(problem)
    found = attempt.go_on(Context())
    assert found.tree.n_leaves > 1
    leaf = Gosdt().begin(problem).search.tree()
    worse = attrs.evolve(found, tree=leaf, value=1.0, lower_bound=1.0)
    shown = f"the proof shows {found.value:g} only, but the search claims 1"
    with pytest.raises(VerificationError, match=shown):
        prove(str(tmp_path / "log"), attempt.search, worse, Context())
