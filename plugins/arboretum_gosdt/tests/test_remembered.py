"""What a search over intervals of cuts remembers for a proof."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from tiny_tables import Held, limited, tiny_problem

from arboretum.api import Context, Limits, Memo, Status, check_proof, read_proof
from arboretum.kernels.solving.fingerprints import find
from arboretum_gosdt.continuous.remembered import sides_of_cuts
from arboretum_gosdt.continuous.search import IntervalSearch
from arboretum_gosdt.problem.objectives import Accuracy
from arboretum_gosdt.problem.proving import prove
from arboretum_gosdt.solvers.choice import Which
from arboretum_gosdt.solvers.gosdt import Gosdt

TURN = 0x9E3779B97F4A7C15


def least_cost(ranks, weights, price, depth):
    """What the best tree loses, with a price for every leaf, by all trees."""
    found = price + int(weights.sum() - weights.sum(axis=0).max())
    for column in ranks.T if depth else ():
        for cut in np.unique(column)[:-1]:
            sides = column <= cut, column > cut
            both = (least_cost(ranks[side], weights[side], price, depth - 1) for side in sides)
            found = min(found, sum(both))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_sides_of_cuts_are_remembered_with_bounds_that_hold(seed):
    rng = np.random.default_rng([seed, 31])
    rows, depth, price = 12, 2 + seed % 3, int(rng.integers(1, 4))
    ranks = rng.integers(0, 4, (rows, 2)).astype(np.int32)
    weights = np.zeros((rows, 2), np.int64)
    weights[np.arange(rows), (ranks.sum(axis=1) + rng.integers(0, 2, rows)) % 2] = 1
    weights *= rng.integers(1, 5, (rows, 1))
    search = IntervalSearch(ranks, weights, depth, price)
    search.run(None, None, lambda *_: None)
    memo = sides_of_cuts(search, TURN)
    column, cut, low = search.root_cuts()
    assert len(cut) or search.upper == search.leaf
    for b, k, *lows in zip(column, cut, *low, strict=True):
        up_to = ranks[:, b] <= k
        for side, lost in zip((up_to, ~up_to), lows, strict=True):
            one, two = memo.words[side].sum(axis=0, dtype=np.uint64).tolist()
            least = least_cost(ranks[side], weights[side], price, depth - 1)
            for left in range(depth):
                raised = np.uint64((one + left * TURN) % 2**64)
                number = find(memo.slots, raised, np.uint64(two))
                assert (number >= 0) == (left == depth - 1)
            assert lost + price <= memo.bound[find(memo.slots, raised, np.uint64(two))] <= least


@pytest.mark.parametrize("seed", range(12))
def test_a_proof_after_intervals_shows_the_optimum(seed, tmp_path):
    problem = tiny_problem(seed, n_rows=40, n_columns=2, raw=True, most_values=9)
    stopping = (Held(Limits(max_depth=2 + seed % 3)),)
    problem = limited(problem, objective=Accuracy(lam=0.03), stopping=stopping)
    path = str(tmp_path / "x.proof")
    solver = Gosdt(proof=path, search=Which.intervals)
    problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, solver=solver))
    found = solver.solve(problem, Context())
    proof = read_proof(path)
    check_proof(proof, problem, lambda *_: None)
    assert found.status is Status.optimal
    other = Gosdt(search=Which.sparse).solve(problem, Context())
    assert found.value == other.value and found.lower_bound == found.value
    assert not found.notes


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("resumable", [False, True])
def test_proofs_of_few_levels_go_by_intervals(depth, resumable, tmp_path, monkeypatch):
    monkeypatch.setattr("arboretum_gosdt.solvers.choice.CUTS_IN_ALL", 0)
    monkeypatch.setattr("arboretum_gosdt.solvers.choice.CUTS", 0)
    problem = tiny_problem(3, n_rows=40, n_columns=2, raw=True, most_values=9)
    stopping = (Held(Limits(max_depth=depth)),)
    problem = limited(problem, objective=Accuracy(lam=0.03), stopping=stopping)
    solver = Gosdt(proof=str(tmp_path / "x.proof"), resumable=resumable)
    search = solver.begin(problem).search.chosen.search
    assert isinstance(search, IntervalSearch) == (depth <= 3 and not resumable)


def test_a_proof_finds_the_sides_of_the_cuts_by_its_tests(tmp_path, monkeypatch):
    asked = []

    def memo(*parts):
        asked.append(parts)
        return Memo(*parts)

    monkeypatch.setattr("arboretum.api.Memo", memo)
    problem = tiny_problem(3, n_rows=40, n_columns=2, raw=True, most_values=9)
    problem = limited(problem, objective=Accuracy(lam=0.03), stopping=(Held(Limits(max_depth=2)),))
    solver = Gosdt(proof=str(tmp_path / "x.proof"), search=Which.intervals)
    problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, solver=solver))
    attempt = solver.begin(problem)
    prove(solver.proof, attempt.search, attempt.go_on(Context()), Context())
    [(has, words, slots, bound, turn, _)] = asked
    found = set()
    for side in (*has.T, *~has.T):
        one, two = words[side].sum(axis=0, dtype=np.uint64).tolist()
        found.add(find(slots, np.uint64((one + turn) % 2**64), np.uint64(two)))
    assert len(has) == len(words) and found >= set(range(len(bound) - 1)) and len(bound) > 3
