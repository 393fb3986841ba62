"""Proofs of losses of false positives and false negatives, and of areas, against every tree of tiny
tables.
"""

from __future__ import annotations

import json

import attrs
import numpy as np
import pytest
from tampered import with_bound
from test_fronts import GMean, Jaccard, best
from test_proof import Within
from tiny_tables import limited, tiny_problem

from arboretum.api import ConfusionObjective, Context, VerificationError
from arboretum.proof import confusion
from arboretum.proof.check import check
from arboretum.proof.format import read
from arboretum.proof.fronts import all_below, unbeaten
from arboretum.proof.lines import Lines
from arboretum.testing.effort import tries
from arboretum_gosdt.all_trees.areas import RankedLoss
from arboretum_gosdt.all_trees.monotone import MonotoneLoss
from arboretum_gosdt.problem.ranked import Auc, FScore, PartialAuc
from arboretum_gosdt.solvers.fronts import NonDominated, NonDominatedSearch

KINDS = [
    FScore,
    lambda lam: FScore(lam=lam, beta=2.0),
    GMean,
    Jaccard,
    Auc,
    lambda lam: PartialAuc(lam=lam, theta=0.3),
    lambda lam: PartialAuc(lam=lam, theta=0.5, normalised=True),
]


def proven(problem, path, context=Context()):
    solver = NonDominated(proof=str(path))
    problem = limited(problem, solver=solver)
    return solver.solve(problem, context), problem


def drawn(seed, kind, n_rows=None, n_columns=None):
    """A problem of two classes, with limits in turn; None where it has one class."""
    rng = np.random.default_rng([seed, kind, 7])
    free = seed % 4 in (1, 2) and seed % 3 == 0  # within a depth, or so many, leaves may be free
    objective = KINDS[kind](lam=0.0 if free else float(rng.choice([0.005, 0.02, 0.05, 0.2])))
    problem = tiny_problem(seed, raw=seed % 5 == 0, n_rows=n_rows, n_columns=n_columns)
    if len(np.unique(problem.objects.label)) != 2 or problem.objects.n_classes != 2:
        return None
    name = (None, "max_depth", "max_leaves", "min_leaf")[seed % 4]
    limits = {} if name is None else {name: int(rng.integers(1, 6 if name == "max_leaves" else 4))}
    return limited(problem, objective=objective, stopping=(Within(**limits),))


def optimum(problem):
    limits = problem.parts.limits()
    depth = 9 if limits.max_depth is None else limits.max_depth
    return best(
        problem, problem.parts.objective, depth, limits.max_leaves or 99, limits.min_leaf or 1
    )


@pytest.mark.parametrize(
    "seeds",
    [range(24), pytest.param(range(24, 24 + tries(1400)), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
@pytest.mark.parametrize("kind", range(len(KINDS)))
@pytest.mark.parametrize("lines", [9, 1], ids=["all lines", "one line"])
def test_a_proof_shows_the_optimum_of_all_trees_and_no_more(
    kind, lines, seeds, tmp_path, monkeypatch
):
    """With one line more is left to fronts, or to counting; so is with few and wide steps."""
    if lines == 1:
        monkeypatch.setattr(confusion, "STEPS", 2)
        monkeypatch.setattr(confusion, "MOST_STEPS", 0)
    loss = MonotoneLoss if kind < KINDS.index(Auc) else RankedLoss
    made = loss.next_cost
    monkeypatch.setattr(
        loss, "next_cost", lambda self, *at: made(self, *at) if len(self.lines) < lines else None
    )
    tried = fronts = 0
    for seed in seeds:
        if (problem := drawn(seed, kind)) is None:
            continue
        found, problem = proven(problem, tmp_path / "proof")
        truth, proof = optimum(problem), read(tmp_path / "proof")
        assert not found.notes
        accepted = check(proof, problem)
        assert accepted.value == pytest.approx(truth, abs=1e-7)  # a root of sums of floats
        assert accepted.lower_bound == pytest.approx(accepted.value, abs=1e-8)
        for fronts_by in range(-1, len(proof.end["lines"])):
            end = {**proof.end, "bound": truth + 1e-4, "value": None, "tree": None}
            with pytest.raises(VerificationError, match="but its records show"):
                check(attrs.evolve(proof, end={**end, "fronts": fronts_by}), problem)
        fronts += proof.end["fronts"] >= 0
        tried += 1
    assert tried > len(seeds) / 5
    assert len(seeds) < 100 or lines > 1 or fronts


def larger(seed, lam=0.02, n=60, columns=6, noise=0.15, **limits):
    """Of so many rows that lines need records, and leave trees."""
    from test_proof import problem_from

    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, (n, columns))
    y = ((x[:, 0] & x[:, 1]) ^ x[:, 2] ^ (rng.random(n) < noise)).astype(int)
    return problem_from(x, y, FScore(lam=lam), **limits)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A proof that needs its fronts."""
    path = tmp_path_factory.mktemp("proofs") / "proof"
    for seed in range(40):
        found, problem = proven(larger(seed, lam=0.01), path)
        proof = read(path)
        if proof.end["fronts"] >= 0 and proof.n_records > 50:
            assert check(proof, problem).lower_bound == pytest.approx(found.value)
            return problem, proof
    raise AssertionError("no table of these leaves trees to its fronts")


def with_end(proof, **changed):
    return attrs.evolve(proof, end={**proof.end, **changed})


def test_records_that_do_not_follow_are_refused(written):
    problem, proof = written
    step, needed = max(1, proof.n_records // 60), 0
    for number in range(0, proof.n_records, step):
        bound = int(proof.record(number).bound)
        with pytest.raises(VerificationError, match=f"record {number} "):
            check(with_bound(proof, number, bound * 3 + 2000), problem)
        try:
            check(with_bound(proof, number, 0), problem)
        except VerificationError:
            needed += 1
    assert needed


def test_a_record_that_is_missing_is_missed(written):
    problem, proof = written
    refused = 0
    first = proof.end["lines"][0][3]
    for number in range(0, first, max(1, first // 40)):
        a, b = proof.start[number], proof.start[number + 1]
        words = np.concatenate([proof.words[:a], proof.words[b:]])
        start = np.concatenate([proof.start[: number + 1], proof.start[number + 2 :] - (b - a)])
        lines = [list(line) for line in proof.end["lines"]]
        lines[0][3] -= 1
        cut = attrs.evolve(proof, words=words, start=start)
        try:
            check(with_end(cut, lines=lines), problem)
        except VerificationError:
            refused += 1
    assert refused


def test_other_lines_than_those_of_the_records_are_refused(written):
    problem, proof = written
    for k in range(len(proof.end["lines"])):
        a, b, p, count = proof.end["lines"][k]
        for wrong in ([b, a, p, count], [a, b, 3 * p, count], [3 * a, 3 * b, p, count]):
            lines = [*proof.end["lines"]]
            lines[k] = wrong
            if wrong[0] >= a and wrong[1] >= b:
                # what all costs more is no less true of the line, but the line then shows less
                with pytest.raises(VerificationError):
                    check(with_end(proof, lines=lines, bound=1.0, tree=None), problem)
                continue
            with pytest.raises(VerificationError):
                check(with_end(proof, lines=lines), problem)
    with pytest.raises(VerificationError, match="names its lines"):
        check(with_end(proof, lines=proof.end["lines"][:-1]), problem)
    with pytest.raises(VerificationError, match="names its lines"):
        check(with_end(proof, lines=[[1, 2, 3.0, proof.n_records]]), problem)
    with pytest.raises(VerificationError, match="weights of a line lie above 0"):
        check(with_end(proof, lines=[[0, 1, 1, proof.n_records]], fronts=-1), problem)
    with pytest.raises(VerificationError, match="goes through trees by line"):
        check(with_end(proof, fronts=len(proof.end["lines"])), problem)
    with pytest.raises(VerificationError, match="but its records show"):
        check(with_end(proof, fronts=-1), problem)


def test_the_proof_of_another_objective_is_refused(written):
    problem, proof = written
    for other in (FScore(lam=0.013), FScore(lam=0.01, beta=2.0), Jaccard(lam=0.01)):
        with pytest.raises(VerificationError):
            check(proof, limited(problem, objective=other))
    with pytest.raises(VerificationError, match="of its run is of shape 'ranking'"):
        check(proof, limited(problem, objective=Auc(lam=0.01)))


def test_a_tree_with_other_classes_is_refused(written):
    problem, proof = written
    tree = json.loads(json.dumps(proof.end["tree"]))
    tree["label"] = [1 - label for label in tree["label"]]
    with pytest.raises(VerificationError):
        check(with_end(proof, tree=tree, value=proof.end["value"] + 1e-3), problem)
    with pytest.raises(VerificationError, match="but the tree costs"):
        check(with_end(proof, value=proof.end["value"] + 1e-3), problem)
    with pytest.raises(VerificationError, match="but the tree costs|but its records show"):
        check(with_end(proof, bound=proof.end["value"] + 1e-3), problem)


@attrs.frozen
class Falling(ConfusionObjective):
    name = "falling"

    def loss(self, fp, fn, positives, negatives):
        return (fp + fn) / (positives + negatives) - 0.9 * (fp == 3) * fp


def test_a_loss_that_falls_is_refused_by_its_pair(written):
    problem, proof = written
    with pytest.raises(VerificationError, match="is not monotone: loss"):
        check(proof, limited(problem, objective=Falling(lam=0.01)))


def test_a_search_that_is_stopped_proves_what_it_has(tmp_path, monkeypatch):
    """After some lines, or some steps of the values below; the bound is true, and as good as the
    search's where lines show that.
    """
    for seed in range(tries(6)):
        problem = larger(seed, lam=0.01, n=40)
        for stop in range(5):
            calls = []

            def late(self, *args, made=NonDominatedSearch._search_cost, calls=calls, stop=stop):
                calls.append(1)
                if len(calls) > stop:
                    raise KeyboardInterrupt
                return made(self, *args)

            monkeypatch.setattr(NonDominatedSearch, "_search_cost", late)
            found, asked = proven(problem, tmp_path / "proof")
            monkeypatch.undo()
            accepted = check(read(tmp_path / "proof"), asked)
            assert accepted.value == pytest.approx(found.value)
            assert accepted.lower_bound <= found.value + 1e-9
            assert accepted.lower_bound == pytest.approx(found.lower_bound, abs=1e-6)


def test_fronts_of_too_many_sets_are_left_out_and_said(tmp_path, monkeypatch):
    monkeypatch.setattr(Lines, "most_sets", 1)
    for seed in range(40):
        found, problem = proven(larger(seed, lam=0.01), tmp_path / "proof")
        if found.notes:
            assert "the proof shows" in found.notes[-1]
            accepted = check(read(tmp_path / "proof"), problem)
            assert accepted.lower_bound < found.value == pytest.approx(accepted.value)
            return
    raise AssertionError("no table of these leaves trees to its fronts")


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_where_leaves_cost_nothing_a_depth_or_their_number_is_proven(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(confusion, "MOST_LEAVES", 5)  # no number of leaves is too many
    for limits in (
        {"max_depth": 2},
        {"max_depth": 3},
        {"max_leaves": 3},
        {"max_leaves": 8, "max_depth": 2},
    ):
        seed = len(limits) + sum(limits.values())
        problem = limited(larger(seed, n=100, **limits), objective=KINDS[kind](lam=0))
        found, problem = proven(problem, tmp_path / "proof")
        proof = read(tmp_path / "proof")
        accepted = check(proof, problem)
        assert not found.notes
        assert accepted.lower_bound == accepted.value == pytest.approx(found.value, abs=1e-12)
        line = proof.end["lines"][0]
        with pytest.raises(VerificationError, match="where λ is"):
            check(with_end(proof, lines=[[*line[:-2], 1, line[-1]]]), problem)
        with pytest.raises(VerificationError, match="where λ is"):
            check(proof, limited(problem, objective=KINDS[kind](lam=0.01)))
        with pytest.raises(VerificationError, match="but its records show"):
            check(with_end(proof, bound=found.value + 1e-4, value=None, tree=None), problem)


@pytest.mark.parametrize("lam", [1e-15, 1e-9, 1e-6])
@pytest.mark.parametrize("kind", [FScore, Jaccard, Auc])
def test_a_price_that_no_line_holds_in_whole_numbers_is_proven_or_the_note_says_it(
    kind, lam, tmp_path
):
    for seed in range(6):
        problem = drawn(seed, 0, n_rows=6)
        if problem is None:
            continue
        problem = limited(problem, objective=kind(lam=lam), stopping=(Within(max_depth=2),))
        solution, problem = proven(problem, tmp_path / "proof")
        shown = check(read(str(tmp_path / "proof")), problem).lower_bound
        if kind is Auc and solution.notes:
            assert shown <= solution.value and "lam is too small for lines" in solution.notes[-1]
        else:
            assert shown == pytest.approx(solution.value, abs=1e-9) and not solution.notes


def test_of_a_price_that_a_proof_cannot_hold_none_is_written(tmp_path):
    found, _ = proven(larger(0, lam=1e19), tmp_path / "proof")
    assert found.notes[-1].startswith("no proof is written: objective.lam is too large")
    assert list(tmp_path.iterdir()) == []


def test_what_was_not_tried_of_the_loss_is_said(tmp_path, monkeypatch):
    found, problem = proven(larger(0), tmp_path / "proof")
    assert check(read(tmp_path / "proof"), problem).assumed == ""
    monkeypatch.setattr(confusion, "ALL_TRIED", 10)
    assert "falls neither" in check(read(tmp_path / "proof"), problem).assumed
    assert found.finished


def test_fronts_hold_limits(tmp_path, monkeypatch):
    """Trees of more leaves, or tests on a path, may be better and cost less."""
    made = MonotoneLoss.next_cost
    monkeypatch.setattr(
        MonotoneLoss, "next_cost", lambda self, *at: None if self.lines else made(self, *at)
    )
    met = 0
    for seed in range(tries(24)):
        name, most = (("max_leaves", 4), ("max_leaves", 5), ("max_depth", 2))[seed % 3]
        problem = larger(seed, lam=0.005, n=30, columns=5, **{name: most})
        found, problem = proven(problem, tmp_path / "proof")
        proof = read(tmp_path / "proof")
        accepted = check(proof, problem)
        assert not found.notes
        assert accepted.lower_bound == pytest.approx(found.value) == accepted.value
        met += proof.end["fronts"] >= 0
    assert met


def trees_of(has, weights, rows, depth, least):
    """(false positives, false negatives, leaves) of every tree on some objects."""
    held = weights[rows].sum(axis=0).tolist()
    found = {(held[0], 0, 1), (0, held[1], 1)} if held[2] >= least else set()
    for column in range(has.shape[1]) if depth else ():
        mine = has[rows, column] == 1
        if mine.any() and not mine.all():
            one, rest = (
                trees_of(has, weights, rows[side], depth - 1, least) for side in (mine, ~mine)
            )
            found |= {tuple(map(sum, zip(a, b, strict=True))) for a in one for b in rest}
    return found


def test_all_trees_below_a_cost_are_gone_through():
    met = 0
    for seed in range(max(80, tries(600))):
        rng = np.random.default_rng([seed, 5])
        problem = limited(larger(seed, n=int(rng.integers(8, 24)), columns=4), objective=FScore())
        if len(np.unique(problem.objects.label)) < 2:
            continue
        a, b, p = *rng.integers(2, 9, 2).tolist(), int(rng.integers(1, 5))
        depth, least = int(rng.integers(-1, 4)), int(rng.choice([1, 1, 2]))
        tests = list(range(problem.objects.n_tests))
        rules = confusion.Confusion(problem, tests, [(a, b, p)], 0, 1.0)
        line = rules.lines[0]
        line.rules.new_log(np.empty(0, np.int32), np.zeros(1, np.int64))
        trees = trees_of(
            rules.columns.has,
            rules.weights,
            np.arange(len(rules.weights)),
            9 if depth < 0 else depth,
            least,
        )
        costs = sorted(a * fp + b * fn + p * leaves for fp, fn, leaves in trees)
        budget = costs[0] + int(rng.integers(0, 5 * p + 4))
        below = attrs.evolve(rules.below(budget), depth=depth, least=least)
        found = {tuple(tree) for tree in all_below(below, rules.trees()).tolist()}
        allowed = [tree for tree in trees if np.dot(tree, (a, b, p)) <= budget]
        assert found == {tuple(tree) for tree in unbeaten(np.array(allowed)).tolist()}
        met += len(found) > 2
    assert met > 10


def test_trees_that_no_other_beats_are_those_of_all_pairs():
    for seed in range(tries(40)):
        rng = np.random.default_rng(seed)
        trees = rng.integers(0, int(rng.integers(2, 12)), (int(rng.integers(1, 700)), 3))
        kept = {tuple(tree) for tree in unbeaten(trees).tolist()}
        different = {tuple(tree) for tree in trees.tolist()}
        naive = {
            tree
            for tree in different
            if not any(
                other != tree and all(x <= y for x, y in zip(other, tree, strict=True))
                for other in different
            )
        }
        assert kept == naive
