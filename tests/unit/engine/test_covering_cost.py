"""The metric covering_cost: what is paid until objects are covered."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from toy_coverage import ToyExcluded

from arboretum.api import Context, Parts, Problem, VerificationError, grow
from arboretum.engine.search.coverage_state import covering_cost_of
from arboretum.engine.verify import check_tree, covering_cost, verify
from arboretum.measure import better, complexities
from arboretum.model.tree import MISSING_SPLITS
from arboretum.testing.oracles import left_of
from arboretum.testing.tables import (
    ToyGini,
    ToyReduction,
    TreeParts,
    prices_of,
    toy_objects,
    toy_table,
)


@attrs.frozen
class HalfWay(ToyExcluded):
    """Covered once half of the others are excluded: truncated by a constant."""

    name = "half_way"

    def covered(self, objects, rows):
        return np.minimum(2.0 * ToyExcluded().covered(objects, rows), 1.0)

    def prepare(self, objects):
        return self


def slow_cost(coverage, objects, tree) -> float:
    """c(T, F), object by object: each walks down alone and pays until the objects that came along
    with it cover it.

    Where a missing value splits it over branches, each share walks and pays on its own; along with
    it came the objects of which any share did.
    """
    visits: list[dict[int, float]] = []
    row_of = {int(i): row for row, i in enumerate(objects.object_of_row)}
    for i in range(objects.n_objects):
        row, waiting, shares = objects.table.take(np.array([row_of[i]])), [(0, 1.0)], {}
        while waiting:
            v, share = waiting.pop()
            shares[v] = share
            if tree.test[v] < 0:
                continue
            outcome = int(tree.rule(v).outcomes(row, np.array([0]))[0])
            child = {k: int(c) for k, c in enumerate(tree.children(v)) if c >= 0}
            heavy = {c: float(tree.mass[c]) for c in child.values() if tree.mass[c] > 0}
            if outcome < 0 and tree.missing_child[v] == -2:
                waiting += [(c, share * mass / sum(heavy.values())) for c, mass in heavy.items()]
                continue
            outcome = int(tree.missing_child[v]) if outcome < 0 else outcome
            waiting += [(child[outcome], share)] if outcome in child else []
        visits.append(shares)
    total = 0.0
    for v in range(tree.n_nodes):
        together = [i for i, shares in enumerate(visits) if v in shares]
        if tree.test[v] < 0 or not together:
            continue
        left, edge = left_of(coverage, objects, together), tree.child_offset[v]
        for i in (i for i in together if left[i] > 0.0):
            paid = float(tree.price[v]) * visits[i][v]  # less what the branches it takes cost less
            paid -= sum(
                float(tree.price[v] - tree.edge_price[edge + k]) * visits[i].get(c, 0.0)
                for k, c in enumerate(tree.children(v).tolist())
            )
            total += float(objects.weight[i]) * paid
    return total / float(objects.weight.sum())


def grown(seed: int, *coverage, depth: int | None = None) -> tuple:
    table = toy_table(seed, n_rows=18, kind=TreeParts(missing=seed % 2 == 1))
    objects = toy_objects(table)
    parts = Parts(method=None, criterion=ToyReduction(), impurity=ToyGini(), coverage=coverage)
    problem = Problem(objects, prices_of(objects, seed), parts)
    solution = grow(problem, Context())
    return problem, solution, table


def fractional(tree, problem):
    """The same tests with missing values split over branches, and the weights and counts that go
    with it, share by share.
    """
    objects, table = problem.objects, problem.objects.table
    weights, counts = np.zeros_like(tree.weights), np.zeros(tree.n_nodes)
    # every row is an object of its own here
    waiting = [(0, [(i, float(w)) for i, w in enumerate(objects.weight)])]
    while waiting:
        node, here = waiting.pop()
        for i, w in here:
            weights[node, objects.label[i]] += w
            counts[node] += w / objects.weight[i]
        if tree.is_leaf[node]:
            continue
        outcome = tree.rule(node).outcomes(table, np.array([i for i, _ in here]))
        known = [
            [pair for pair, o in zip(here, outcome, strict=True) if o == k]
            for k in range(tree.rule(node).arity)
        ]
        lost = [pair for pair, o in zip(here, outcome, strict=True) if o < 0]
        mass = [sum(w for _, w in part) for part in known]
        for child, part, m in zip(tree.children(node).tolist(), known, mass, strict=True):
            if part:
                waiting.append((child, part + [(i, w * m / sum(mass)) for i, w in lost]))
    missing = np.where(tree.is_leaf, -1, MISSING_SPLITS)
    nothing = np.full(tree.n_nodes, np.nan)
    impurity = np.array([float(ToyGini().value(row)) for row in weights])
    label = weights.argmax(axis=1)
    return attrs.evolve(
        tree,
        missing_child=missing,
        weights=weights,
        counts=counts,
        label=label,
        impurity=impurity,
        score=nothing,
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "coverage", [(ToyExcluded(),), (HalfWay(),), (ToyExcluded(), HalfWay())], ids=len
)
def test_it_is_the_sum_over_objects_of_what_each_pays_until_it_is_covered(seed, coverage):
    problem, solution, table = grown(seed, *coverage)
    found = covering_cost_of(solution.tree, problem, table)
    assert found["covering_cost"] == pytest.approx(
        slow_cost(coverage, problem.objects, solution.tree), abs=1e-12
    )
    assert found["covering_cost"] <= complexities(solution.tree)["expected_cost"] + 1e-12
    verify(solution.tree, problem, table, found, solution)


@pytest.mark.parametrize("seed", range(1, 12, 2))
@pytest.mark.parametrize(
    "coverage", [(ToyExcluded(),), (HalfWay(),), (ToyExcluded(), HalfWay())], ids=len
)
def test_shares_of_a_row_with_missing_values_pay_along_their_own_paths(seed, coverage):
    problem, solution, table = grown(seed, *coverage)
    tree = fractional(solution.tree, problem)
    assert (tree.rest(table) == -1).any(), "some row is split"
    found = covering_cost_of(tree, problem, table)
    assert found["covering_cost"] == pytest.approx(
        slow_cost(coverage, problem.objects, tree), rel=1e-12
    )
    weight = table.row_weights()
    assert found["covering_cost"] <= (weight * tree.prices_paid(table)).sum() / weight.sum() + 1e-12
    verify(tree, problem, table, found, solution)
    with pytest.raises(VerificationError, match="covering_cost"):
        verify(tree, problem, table, {"covering_cost": found["covering_cost"] + 1e-6}, solution)


@pytest.mark.parametrize("seed", range(4))
def test_objects_pay_by_the_branch_they_take(seed):
    problem, solution, table = grown(seed, HalfWay())
    tree = solution.tree if seed % 2 == 0 else fractional(solution.tree, problem)
    cheaper = (
        np.random.default_rng(seed).choice([0.0, 0.5, 1.0], len(tree.child))
        * tree.price[tree.owner]
    )
    last = tree.child_offset[1:][~tree.is_leaf] - 1
    cheaper[last] = tree.price[tree.owner[last]]  # one branch costs the most
    tree = attrs.evolve(tree, branch_price=cheaper)
    found = covering_cost_of(tree, problem, table)
    assert found["covering_cost"] == pytest.approx(
        slow_cost((HalfWay(),), problem.objects, tree), rel=1e-12
    )
    _, arrived, _ = check_tree(tree, problem.objects, table)
    assert covering_cost(tree, problem, arrived) == pytest.approx(found["covering_cost"], rel=1e-12)


def test_where_nothing_is_split_shares_and_rows_pay_alike():
    problem, solution, table = grown(2, ToyExcluded())
    rows = covering_cost_of(solution.tree, problem, table)
    split = attrs.evolve(
        solution.tree, missing_child=np.where(solution.tree.is_leaf, -1, MISSING_SPLITS)
    )
    assert covering_cost_of(split, problem, table)["covering_cost"] == pytest.approx(
        rows["covering_cost"], rel=1e-13
    )


def test_objects_covered_at_an_inner_node_pay_no_further():
    problem, solution, table = grown(0, HalfWay())
    assert (
        covering_cost_of(solution.tree, problem, table)["covering_cost"]
        < complexities(solution.tree)["expected_cost"]
    )


def test_a_wrong_number_does_not_pass_verification():
    problem, solution, table = grown(2, ToyExcluded())
    found = covering_cost_of(solution.tree, problem, table)
    with pytest.raises(VerificationError, match="covering_cost"):
        verify(
            solution.tree,
            problem,
            table,
            {"covering_cost": found["covering_cost"] + 1e-6},
            solution,
        )


def test_a_run_without_coverages_has_no_such_metric():
    problem, solution, table = grown(2)
    assert covering_cost_of(solution.tree, problem, table) == {}


def test_less_is_better():
    assert better("covering_cost", 1.0, 2.0)


@attrs.frozen
class Drifts(ToyExcluded):
    """Answers something else once it is bound to its root."""

    name = "drifts"

    def covered(self, objects, rows):
        return ToyExcluded().covered(objects, rows)

    def prepare(self, objects):
        return HalfWay()


def test_a_coverage_that_changes_when_bound_to_its_root_is_named():
    problem, solution, table = grown(2, Drifts())
    found = covering_cost_of(solution.tree, problem, table)
    with pytest.raises(VerificationError, match="coverage drifts answers alike"):
        verify(solution.tree, problem, table, found, solution)
