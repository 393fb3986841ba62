"""Proofs of areas under the ROC curve: what is tampered with is refused, and curves are those of
all trees.
"""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from types import SimpleNamespace

import attrs
import numpy as np
import pytest
from test_fronts_proof import larger, proven, with_bound, with_end
from test_proof import Within
from tiny_tables import limited

from arboretum.api import (
    CapabilityError,
    Extraction,
    KnownLine,
    ProofWriter,
    Tree,
    VerificationError,
    write_lines,
)
from arboretum.proof import areas
from arboretum.proof.areas import Areas, reaches, sum_of
from arboretum.proof.check import check
from arboretum.proof.format import read
from arboretum.proof.fronts import all_below
from arboretum.proof.ground import MOST
from arboretum.testing.effort import tries
from arboretum.testing.tables import toy_objects
from arboretum_gosdt.problem.ranked import Auc, FScore, PartialAuc


@pytest.fixture(scope="module", params=[Auc(lam=0.02), PartialAuc(lam=0.02, theta=0.3)])
def written(tmp_path_factory, request):
    """A proof that needs its records, and its fronts."""
    path = tmp_path_factory.mktemp("proofs") / "proof"
    found, problem = proven(limited(larger(3), objective=request.param), path)
    proof = read(path)
    accepted = check(proof, problem)
    assert accepted.lower_bound == accepted.value == pytest.approx(found.value, abs=1e-12)
    assert proof.end["fronts"] == 0 and proof.n_records > 100 and not found.notes
    return problem, proof


def test_records_that_do_not_follow_are_refused(written):
    problem, proof = written
    needed = 0
    for number in range(0, proof.n_records, proof.n_records // 40):
        bound = int(proof.record(number).bound)
        with pytest.raises(VerificationError, match=f"record {number} "):
            check(with_bound(proof, number, bound * 3 + 20_000), problem)
        try:
            check(with_bound(proof, number, 0), problem)
        except VerificationError:
            needed += 1
    assert needed


def test_more_than_is_shown_is_refused(written):
    problem, proof = written
    value = proof.end["value"]
    for bound in (value + 1e-6, value + 0.01, 1.0):
        with pytest.raises(VerificationError, match="but its records show"):
            check(with_end(proof, bound=bound, value=None, tree=None), problem)
    with pytest.raises(VerificationError, match="but its records show"):
        check(with_end(proof, fronts=-1), problem)
    with pytest.raises(VerificationError, match="but the tree costs"):
        check(with_end(proof, value=value + 1e-6), problem)


def test_what_shows_no_record_is_refused(written):
    problem, proof = written
    lines = [[*proof.end["lines"][0][:-1], 0]]
    empty = attrs.evolve(proof, words=proof.words[:0], start=proof.start[:1])
    with pytest.raises(VerificationError, match="exceed|cost 2|sets|curves|but its records show"):
        check(with_end(empty, lines=lines, fronts=-1), problem)


def test_other_tangents_than_those_of_the_records_are_refused(written):
    problem, proof = written
    lengths, gains, q, p, count = proof.end["lines"][0]
    more = [
        (lengths, gains, q, p + 1),  # a leaf costs more than λ
        (lengths, gains, 2 * q, p),
        (lengths[::-1], gains[::-1], q, p),  # slopes rise
        ([*lengths[1:], lengths[0]], gains, q, p),
        (lengths, [0] * len(gains), q, p),
        ([10 * one for one in lengths], gains, q, p),
    ]
    for line in more:
        with pytest.raises(VerificationError, match="tangents have|record|its records show"):
            check(with_end(proof, lines=[[*line, count]], fronts=-1), problem)
    for line in (
        (lengths, gains, q, 0),
        (lengths, gains, 0, p),
        ([*lengths, 0], [*gains, 0], q, p),
        (lengths[::-1], gains[::-1], q, p),
        (lengths, gains, q, p + 1),
    ):
        with pytest.raises(VerificationError, match="tangents have"):
            check(with_end(proof, lines=[[*line, count]]), problem)
    for line in (
        (lengths, gains[1:], q, p),
        (lengths, gains, q),
        (lengths, [-1, *gains[1:]], q, p),
        (lengths, [1.5, *gains[1:]], q, p),
        ([], [], q, p),
        ([1] * 17, [0] * 17, q, p),
        (7, gains, q, p),
    ):
        with pytest.raises(VerificationError, match="names its lines"):
            check(with_end(proof, lines=[[*line, count]]), problem)
    with pytest.raises(VerificationError, match="names its lines"):
        check(with_end(proof, lines=[[lengths, gains, q, p, count - 1]]), problem)


def test_the_proof_of_another_objective_or_table_is_refused(written):
    problem, proof = written
    own = problem.parts.objective
    for other in (attrs.evolve(own, lam=0.019), attrs.evolve(own, lam=0.021)):
        with pytest.raises(VerificationError):
            check(proof, limited(problem, objective=other))
    other = PartialAuc(lam=0.02, theta=0.31)
    with pytest.raises(VerificationError):
        check(proof, limited(problem, objective=other))
    with pytest.raises(VerificationError, match="of its run is of shape 'confusion'"):
        check(proof, limited(problem, objective=FScore(lam=0.02)))
    with pytest.raises(VerificationError, match="another table"):
        check(proof, limited(larger(4), objective=own))


def test_the_tree_of_another_proof_is_refused(written, tmp_path):
    problem, proof = written
    other = limited(larger(3, max_leaves=2), objective=problem.parts.objective)
    proven(other, tmp_path / "proof")
    worse = read(tmp_path / "proof").end
    with pytest.raises(VerificationError, match="but the tree costs"):
        check(with_end(proof, tree=worse["tree"]), problem)
    assert (
        check(with_end(proof, tree=worse["tree"], value=worse["value"]), problem).value
        > (proof.end["value"])
    )


@pytest.mark.parametrize(
    "limits",
    [{"max_leaves": 3}, {"max_depth": 2}, {"min_leaf": 12}],
    ids=lambda one: next(iter(one)),
)
def test_fronts_hold_limits(limits, tmp_path):
    for seed in range(tries(6)):
        problem = limited(larger(seed, n=40, **limits), objective=Auc(lam=0.005))
        found, problem = proven(problem, tmp_path / "proof")
        accepted = check(read(tmp_path / "proof"), problem)
        assert not found.notes
        assert accepted.lower_bound == accepted.value == pytest.approx(found.value, abs=1e-12)


def test_curves_that_are_too_many_are_left_out_and_said(written, tmp_path, monkeypatch):
    problem, proof = written
    monkeypatch.setattr(areas, "MOST_SUMS", 5)
    with pytest.raises(VerificationError, match="adds? more than 5 curves"):
        check(proof, problem)
    found, problem = proven(problem, tmp_path / "proof")
    assert "the proof shows" in found.notes[-1]
    accepted = check(read(tmp_path / "proof"), problem)
    assert 0 < accepted.lower_bound < found.value == pytest.approx(accepted.value, abs=1e-12)


@attrs.frozen
class Sunken(Auc):
    """Says of trees less than it is."""

    def value(self, tree, problem):
        return super().value(tree, problem) - 1e-6


@attrs.frozen
class Unlimited(Auc):
    """Does not say which area counts."""

    false_positive_limit = property()


@pytest.mark.parametrize("written", [Auc(lam=0.02)], indirect=True)
def test_an_objective_that_says_something_else_is_refused(written):
    problem, proof = written
    with pytest.raises(VerificationError, match="but its objective says"):
        check(proof, limited(problem, objective=Sunken(lam=0.02)))
    with pytest.raises(CapabilityError, match="proofs know of rankings areas"):
        check(proof, limited(problem, objective=Unlimited(lam=0.02)))


def test_weights_and_leaves_of_many_digits_fit_into_a_proof(tmp_path):
    rng = np.random.default_rng(3)
    problem = larger(3, n=180, max_depth=3)
    table = attrs.evolve(problem.objects.table, weights=np.round(rng.random(180) + 0.1, 7))
    problem = attrs.evolve(
        problem,
        objects=toy_objects(table, multiway=False),
        parts=attrs.evolve(problem.parts, objective=Auc(lam=0.0123456789)),
    )
    found, problem = proven(problem, tmp_path / "proof")
    accepted = check(read(tmp_path / "proof"), problem)
    assert accepted.lower_bound == accepted.value == pytest.approx(found.value, abs=1e-12)
    assert not found.notes


def test_a_bound_that_is_not_true_is_told_by_the_tree_that_shows_it(written, tmp_path):
    problem, proof = written
    lines = [KnownLine(tuple(line[:-1]), None) for line in proof.end["lines"]]
    tree = Tree.from_json(json.dumps(proof.end["tree"]))
    worse = limited(larger(3, max_leaves=2), objective=problem.parts.objective)
    found, _ = proven(worse, tmp_path / "worse")
    for bound, told in ((found.value, "finds a tree of the value"), (proof.end["bound"], "")):
        with ProofWriter(
            tmp_path / "proof", problem, tests=proof.header["tests"], unit=Fraction(1)
        ) as log:
            what = log, problem, lines, bound, found.tree if told else tree, lambda *_: None
            if told:
                with pytest.raises(VerificationError, match=told):
                    write_lines(*what)
            else:
                assert write_lines(*what).bound == pytest.approx(bound)


@pytest.mark.parametrize("lam", [0.0, 0.002])
def test_curves_of_as_many_leaves_as_a_depth_allows_are_found(lam, tmp_path):
    """Eight segments within depth 3: an array of too few lost the best tree."""
    for seed in range(2, 2 + tries(3)):
        problem = limited(larger(seed, n=100, columns=5, max_depth=3), objective=Auc(lam=lam))
        found, problem = proven(problem, tmp_path / "proof")
        accepted = check(read(tmp_path / "proof"), problem)
        rules = Areas(problem, [*range(5)], [], -1, 1.0)
        negatives, positives = rules.total.tolist()
        trees = leaf_lists(rules.columns.has, rules.weights, np.arange(len(rules.weights)), 3, 1)
        best = min(
            1
            - sum(
                run * (2 * sum(other for other, _ in curve[:i]) + rise)
                for i, (rise, run) in enumerate(curve)
            )
            / (2 * positives * negatives)
            + lam * len(leaves)
            for leaves in trees
            for curve in (curve_of(leaves),)
        )
        assert accepted.lower_bound == accepted.value == pytest.approx(best, abs=1e-12)
        assert found.value == pytest.approx(best, abs=1e-12) and not found.notes


def curve_of(leaves):
    """Segments of leaves (positives, negatives), those of one share joined: by fractions."""
    share = {}
    for rise, run in leaves:
        at = Fraction(rise, rise + run)
        more = share.get(at, (0, 0))
        share[at] = more[0] + rise, more[1] + run
    return tuple(share[at] for at in sorted(share, reverse=True))


def height(curve, x):
    """The greatest height of a curve at x."""
    left = up = 0
    for rise, run in curve:
        if left + run > x:
            return up + Fraction(rise * (x - left), run)
        left, up = left + run, up + rise
    return up


def test_curves_are_added_and_compared_as_by_their_points():
    rng, found = np.random.default_rng(5), []
    for _ in range(tries(400)):
        many = rng.integers(0, 4, (2, int(rng.integers(1, 6)), 2))
        one, rest = (
            [tuple(leaf) for leaf in leaves.tolist() if sum(leaf)] or [(1, 1)] for leaves in many
        )
        assert sum_of(curve_of(one), curve_of(rest)) == curve_of(one + rest)
        # the same ends
        ends = [tuple(map(sum, zip(*leaves, strict=True))) for leaves in (one, rest)]
        more = [
            (max(a, b) - c, max(d, e) - f)
            for (a, d), (b, e), (c, f) in ((*ends, ends[0]), (*ends, ends[1]))
        ]
        a, b = (
            curve_of([*leaves, *([gap] if sum(gap) else [])])
            for leaves, gap in zip((one, rest), more, strict=True)
        )
        wide = sum(run for _, run in a)
        above = all(
            height(a, Fraction(k, 12)) >= height(b, Fraction(k, 12)) for k in range(12 * wide + 1)
        )
        assert reaches(a, b) == above
        found.append(above)
    assert 0.05 < np.mean(found) < 0.95


def leaf_lists(has, weights, rows, depth, least):
    """The leaves of every tree on some objects, as sorted tuples of (positives, negatives)."""
    held = weights[rows].sum(axis=0).tolist()
    found = {((held[1], held[0]),)} if held[2] >= least else set()
    for column in range(has.shape[1]) if depth else ():
        mine = has[rows, column] == 1
        if mine.any() and not mine.all():
            one, rest = (
                leaf_lists(has, weights, rows[side], depth - 1, least) for side in (mine, ~mine)
            )
            found |= {tuple(sorted(a + b)) for a in one for b in rest}
    return found


def tangents_drawn(seed):
    """A tiny problem with tangents: the rules, the depth, and cost and leaves of every tree; None
    where it has one class.
    """
    rng = np.random.default_rng([seed, 6])
    problem = larger(seed, n=int(rng.integers(8, 30)), columns=4, noise=0.3)
    if len(np.unique(problem.objects.label)) < 2:
        return None
    slopes = sorted(rng.integers(0, 9, 2).tolist(), reverse=True)
    lengths = rng.integers(1, 5, 2).tolist()
    gains = [one * length for one, length in zip(slopes, lengths, strict=True)]
    depth, least, p = int(rng.integers(-1, 4)), int(rng.choice([1, 1, 2])), int(rng.integers(1, 5))
    stopping = Within(max_depth=None if depth < 0 else depth, min_leaf=least)
    problem = limited(problem, objective=Auc(lam=1.0), stopping=(stopping,))
    rules = Areas(problem, [*range(4)], [(lengths, gains, 1, p)], 0, 1.0)
    everyone = np.arange(len(rules.weights))
    trees = leaf_lists(rules.columns.has, rules.weights, everyone, 9 if depth < 0 else depth, least)

    def cost(leaves):
        parts = list(zip(lengths, gains, strict=True))
        return sum(
            p - sum(max(0, length * rise - gain * run) for length, gain in parts)
            for rise, run in leaves
        )

    return rules, depth, [(cost(leaves), leaves) for leaves in trees]


def test_records_show_the_least_cost_of_tangents_and_no_more():
    divided = 0
    for seed in range(max(80, tries(600))):
        if (drawn := tangents_drawn(seed)) is None:
            continue
        rules, depth, trees = drawn
        line, room = rules.lines[0], SimpleNamespace(header={"tests": [*range(4)]})
        extraction = Extraction(room, rules.problem, None, lambda *_: None, line.rules)
        least, leaves = min(trees)
        assert extraction.show(MOST, depth) + line.constant == least
        divided += len(leaves) > 2
    assert divided > 10


def test_all_curves_below_a_cost_are_gone_through():
    """Of every tree within the budget some tree is found that is as good; and none that is none."""
    met = 0
    for seed in range(max(60, tries(400))):
        if (drawn := tangents_drawn(seed)) is None:
            continue
        rules, depth, trees = drawn
        rng, line = np.random.default_rng([seed, 7]), rules.lines[0]
        if seed % 2:
            line.rules.new_log(np.empty(0, np.int32), np.zeros(1, np.int64))
        else:  # records know some sides as well as can be
            room = SimpleNamespace(header={"tests": [*range(4)]})
            Extraction(room, rules.problem, None, lambda *_: None, line.rules).show(MOST, depth)
        budget = min(trees)[0] + int(rng.choice([0, rng.integers(0, 5 * line.p + 9)]))
        found = all_below(rules.below(budget), rules.trees())
        allowed = {
            (cost, len(leaves), curve_of(leaves)) for cost, leaves in trees if cost <= budget
        }
        assert set(found) <= allowed
        for _, n, curve in allowed:
            assert any(h <= n and reaches(other, curve) for _, h, other in found)
        for (dear, n, curve), (cheap, h, other) in itertools.permutations(found, 2):
            assert not (cheap < dear and h <= n and reaches(other, curve))
        met += len(found) > 1
    assert met > 10
