"""The regularisation path and the exact front of error and leaves, against every tree of tiny
tables.
"""

from __future__ import annotations

import time
from fractions import Fraction

import attrs
import numpy as np
import pytest
from tiny_tables import Held, limited, tiny_problem

import arboretum
from arboretum.api import CapabilityError, Context, Limits
from arboretum_gosdt.problem.objectives import Accuracy, Balanced
from arboretum_gosdt.problem.prepared import all_tests
from arboretum_gosdt.solvers.gosdt import Gosdt
from arboretum_gosdt.solvers.path import Path


def least_losses(problem, depth):
    """Leaves → the least weight of errors of a tree with so many, in fractions."""
    tests, objects = all_tests(problem), problem.objects
    everything = np.arange(objects.n_objects)
    outcomes = [tests.outcome(test, everything) for test in range(len(tests.column))]
    weight = [Fraction(str(float(one))) for one in objects.weight]

    def trees(rows, depth):
        held = [
            sum((weight[r] for r in rows if objects.label[r] == k), Fraction(0))
            for k in range(objects.n_classes)
        ]
        found = {1: sum(held) - max(held)}
        for outcome in outcomes if depth else ():
            sides = rows[outcome[rows]], rows[~outcome[rows]]
            if all(map(len, sides)):
                for k, a in trees(sides[0], depth - 1).items():
                    for m, b in trees(sides[1], depth - 1).items():
                        found[k + m] = min(found.get(k + m, a + b), a + b)
        return found

    return {k: loss / sum(weight) for k, loss in trees(everything, depth).items()}


@pytest.mark.parametrize("seed", range(80))
def test_the_path_and_the_front_are_those_of_all_trees(seed):
    lam = [0.01, 0.05, 0.002][seed % 3]
    rows, columns = [(None, 3), (14, 3), (24, 2)][seed // 3 % 3]
    problem = tiny_problem(
        seed, Accuracy(lam=lam), raw=seed % 5 == 0, n_rows=rows, n_columns=columns
    )
    depth = 2 if seed % 4 == 1 else 9
    if depth == 2:
        problem = limited(problem, stopping=(Held(Limits(max_depth=2)),))
    least = least_losses(problem, depth)
    try:
        found = Path(exact=True).solve(problem, Context())
    except CapabilityError:
        assert not len(all_tests(problem).column)
        return
    smallest = Fraction(str(lam))
    starts, leaves = found.details["lambdas"], found.details["leaves"]
    # at every turn, and halfway to the next, the step costs least
    for i, start in enumerate(starts):
        end = starts[i + 1] if i + 1 < len(starts) else 2.0
        for lam in (max(Fraction(start), smallest), Fraction(start + end) / 2):
            best = min(loss + lam * k for k, loss in least.items())
            assert float(least[leaves[i]] + lam * leaves[i]) == pytest.approx(
                float(best), abs=1e-12
            )
    kept = [
        k
        for k in sorted(least)
        if k <= leaves[0] and least[k] < min((least[j] for j in least if j < k), default=2)
    ]
    assert [point.values for point in found.front.points] == [
        pytest.approx((float(least[k]), k)) for k in kept
    ]
    for k, loss in least.items():  # the bound holds for every tree
        assert any(error <= float(loss) + 1e-12 and n <= k for error, n in found.front.bound)
    # and where the path reaches it is what the trees found show
    for error, k in found.front.bound[: leaves[0]]:
        assert error == pytest.approx(float(min(least[j] for j in least if j <= k)))


def test_other_losses_have_a_path_and_no_front_of_errors():
    problem = tiny_problem(5, Balanced(lam=0.01), n_columns=2)
    found = Path().solve(problem, Context())
    assert found.front is None and len(found.others) == len(found.details["leaves"]) - 1


def test_other_losses_have_the_trees_between_among_the_others():
    for seed in (5, 21, 38):
        problem = tiny_problem(seed, Balanced(lam=0.01), n_columns=3, n_rows=16)
        plain, exact = (Path(exact=one).solve(problem, Context()) for one in (False, True))
        leaves = [tree.n_leaves for tree in exact.others]
        assert leaves == sorted(leaves, reverse=True) and {
            tree.n_leaves for tree in plain.others
        } <= set(leaves)
        # as good as every solver's best tree of so many leaves
        for k in range(1, plain.tree.n_leaves):
            best = Gosdt().solve(
                limited(problem, stopping=(Held(Limits(max_leaves=k)),)), Context()
            )
            own = min(
                problem.parts.objective.value(tree, problem)
                for tree in exact.others
                if tree.n_leaves <= k
            )
            assert own == pytest.approx(best.value, abs=1e-12)


@pytest.mark.parametrize("depth", [1, 2, None])
def test_the_bound_ends_with_the_most_leaves_that_a_tree_may_have(depth):
    problem = tiny_problem(5, Accuracy(lam=1e-9), n_columns=3, n_rows=14)
    found = Path().solve(
        problem if depth is None else limited(problem, stopping=(Held(Limits(max_depth=depth)),)),
        Context(),
    )
    assert max(leaves for _, leaves in found.front.bound) <= (14 if depth is None else 1 << depth)


def test_a_path_that_is_stopped_holds_what_is_proven():
    problem = tiny_problem(5, Accuracy(lam=0.01), n_columns=2)
    found = Path().solve(problem, Context(deadline=time.monotonic() - 1))
    assert not found.finished and found.lower_bound <= found.value


def test_what_the_sparse_search_does_not_know_is_refused():
    with pytest.raises(CapabilityError, match="the smallest λ"):
        Path().solve(tiny_problem(5, Accuracy(lam=0.0)), Context())


@pytest.mark.parametrize("after", [0, 1])
def test_ctrl_c_never_proves_anything(after, monkeypatch):
    from arboretum_gosdt.sparse.search import SparseSearch

    problem = tiny_problem(11, Accuracy(lam=0.01), n_columns=2, n_rows=8)
    run = SparseSearch.run
    calls = []
    whole = Path().solve(problem, Context())
    assert whole.details["leaves"][0] > 4  # trees of fewer are found without another search

    def interrupting(self, *args, **more):
        calls.append(0)
        if len(calls) > after:
            raise KeyboardInterrupt
        return run(self, *args, **more)

    monkeypatch.setattr(SparseSearch, "run", interrupting)
    found = Path().solve(problem, Context())
    assert not found.finished and found.interrupted is not None
    assert found.lower_bound <= whole.value <= found.value
    least = least_losses(problem, 9)
    for k, loss in least.items():
        assert any(error <= float(loss) + 1e-12 and n <= k for error, n in found.front.bound)


@pytest.mark.parametrize("seed", [1, 2, 3, 5, 6, 9, 12, 13, 15, 16, 18, 20, 21])
def test_larger_paths_are_those_of_one_search_for_each_price(seed):
    rng = np.random.default_rng(seed)
    problem = tiny_problem(
        seed + 100,
        Accuracy(lam=0.003),
        n_rows=int(rng.integers(30, 70)),
        n_columns=int(rng.integers(4, 6)),
    )
    found = Path().solve(problem, Context())
    starts, leaves, losses = (found.details[key] for key in ("lambdas", "leaves", "losses"))
    assert found.finished and leaves[0] > 4  # trees of fewer are found without another search
    for lam in np.geomspace(0.003, 0.4, 15).tolist():
        at = max(i for i, start in enumerate(starts) if start <= lam)
        alone = Gosdt().solve(
            attrs.evolve(problem, parts=attrs.evolve(problem.parts, objective=Accuracy(lam=lam))),
            Context(),
        )
        assert losses[at] + lam * leaves[at] == pytest.approx(alone.value, abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_no_inherited_bound_is_above_what_a_set_costs(seed):
    from test_sparse import cost_of, drawn

    from arboretum_gosdt.sparse.search import SparseSearch

    has, bits, weights, p, q, depth, _, _ = drawn(seed)
    alone = SparseSearch(bits, weights, has.shape[1], 2 * p, q, depth)
    assert alone.run(None, None, lambda low, up: None) == ""
    sides = [SparseSearch(bits, weights, has.shape[1], times * p, q, depth) for times in (1, 3)]
    for one in sides:
        one.run(None, None, lambda low, up: None)
    for dear in (None, sides[1]):
        middle = SparseSearch(bits, weights, has.shape[1], 2 * p, q, depth)
        middle.start_between_prices(sides[0], dear)
        assert (
            middle.run(None, None, lambda low, up: None) == ""
            and middle.upper == middle.lower == alone.upper
        )
        assert cost_of(middle.tree(), has, weights, 2 * p, q)[0] == alone.upper
        below = SparseSearch(bits, weights, has.shape[1], 2 * p, q, depth)
        below.search_below(alone.upper)  # there is no such tree
        below.start_between_prices(sides[0], dear)
        assert (
            below.run(None, None, lambda low, up: None) == ""
            and below.lower == alone.upper <= below.upper
        )


@pytest.mark.parametrize("seed", range(40))
def test_the_bound_between_prices_is_the_least_of_what_both_bounds_leave(seed):
    """For every number of leaves the least whole loss that neither bound forbids, by hand."""
    from arboretum_gosdt.sparse.tree import least_cost_between_prices

    rng = np.random.default_rng(seed)
    while True:
        drawn = [Fraction(int(rng.integers(10, 40)), int(rng.integers(1, 40))) for _ in range(3)]
        cheap, middle, dear = sorted(drawn)
        if cheap < middle < dear:
            break
    prices = np.array([(one.numerator, one.denominator) for one in (cheap, dear, middle)])
    (p_0, q_0), (p_1, q_1), (p, q) = prices.tolist()
    exact = 0
    for turn in range(12):
        # bounds of trees that there are, or lower ones; or only one of both is known
        leaves, losses = rng.integers(3, 30, 4), rng.integers(0, 60, 4)
        low, high = (
            max(0, int((b * losses + a * leaves).min()) - int(rng.integers(0, b + 1)) * (turn % 2))
            for a, b in ((p_0, q_0), (p_1, q_1))
        )
        low, high = low if turn % 3 != 1 else 0, high if turn % 3 != 2 else 0
        bound = int(least_cost_between_prices(low, high, prices))
        assert bound <= (q * losses + p * leaves).min()
        line, least = (
            min(
                q * max(0, up(low - p_0 * k, q_0), up(high - p_1 * k, q_1)) + p * k
                for k in range(3, 300)
            )
            for up in (Fraction, lambda a, b: -(-a // b))
        )
        assert line <= bound <= least
        exact += bound == least
    assert exact >= 8  # few leaves are tried


@pytest.mark.parametrize("seed", range(40))
def test_trees_are_the_same_counted_by_groups_of_equal_objects(seed):
    from arboretum_gosdt.problem.prepared import merge_equal_rows, units_of
    from arboretum_gosdt.problem.trees import build_tree, count_by_group

    problem = tiny_problem(seed, Accuracy(lam=0.01), raw=seed % 3 == 0, n_rows=90, n_columns=2)
    tests, units = all_tests(problem), units_of(problem)
    if not len(tests.column):
        return
    merged = merge_equal_rows(problem, tests, units)
    counted = count_by_group(problem, tests, merged)
    whole = (problem.objects.weight % 1 == 0).all()
    assert (counted is not None) == whole or problem.objects.exact_weights[1] != 1
    rng = np.random.default_rng(seed)
    for _ in range(5 if counted else 0):
        a, b = rng.integers(0, len(tests.column), 2)
        nodes = np.array([[a, 1, 2], [b, 3, 4], [-1, -1, -1], [-1, -1, -1], [-1, -1, -1]])
        assert build_tree(problem, tests, units, nodes) == build_tree(
            problem, tests, units, nodes, counted=counted
        )


@pytest.mark.parametrize("seed", [2, 5])
def test_interrupted_at_any_word_its_trees_have_the_losses_that_it_tells(seed, monkeypatch):
    from arboretum.testing.suites.base import verify_solution
    from arboretum_gosdt.sparse import search as sparse

    # short slices: many words, with trees that are better than the search has added up
    monkeypatch.setattr(sparse, "SLICE", 300)
    monkeypatch.setattr(sparse, "SLICE_SECONDS", 1e-5)
    problem = tiny_problem(seed + 100, Accuracy(lam=0.003), n_rows=60, n_columns=5)
    best, heard = Path().solve(problem, Context()), []
    for last in range(1, 21):
        heard.clear()

        def ends(*what, last=last):
            heard.append(what)
            if len(heard) == last:
                raise KeyboardInterrupt(15)

        found = Path(exact=last % 2 == 0).solve(problem, Context(progress=ends))
        verify_solution(found, problem)
        assert (found.interrupted is not None) == (
            len(heard) == last
        ) and found.lower_bound <= best.value <= found.value + 1e-12
        errors = [point.values[0] for point in found.front.points]
        assert errors == pytest.approx([_error(one.tree) for one in found.front.points])


def _error(tree):
    held = tree.weights[tree.is_leaf]
    return float((held.sum() - held.max(axis=1).sum()) / held.sum())


def test_a_front_is_of_the_errors_of_rows_so_merged_rows_have_none():
    """Its trees are listed all the same, and verified."""
    words = [
        "method=path",
        "dataset=iris",
        "encoder=onehot",
        "objective.lam=0.02",
        "split=none",
        "tracker=none",
    ]
    merged, each = (arboretum.run([*words, f"encoder.coalesce={how}"]) for how in ("one", "none"))
    assert (
        merged.verified
        and merged.solution.front is None
        and len(merged.solution.details["lambdas"]) > 1
    )
    assert each.verified and each.solution.front is not None
