"""Objectives whose costs differ by object: every search against brute force, roundings and their
slack, proofs, what is refused.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from tiny_tables import ALL, OwnCosts, exact_costs, least, limited, tiny_problem

from arboretum.api import (
    CapabilityError,
    Context,
    ContractError,
    DataError,
    Price,
    Status,
    check_proof,
    cost_role,
    read_proof,
    whole_costs,
)
from arboretum.engine.label_costs import LabelCosts
from arboretum.model.walk import Arrivals
from arboretum.testing import ObjectiveSuite
from arboretum.testing.effort import tries
from arboretum.testing.suites.base import verify_solution
from arboretum_basics.stopping import Standard
from arboretum_gosdt.problem.objectives import InstanceCost
from arboretum_gosdt.problem.prepared import units_of
from arboretum_gosdt.solvers.choice import Which
from arboretum_gosdt.solvers.gosdt import Gosdt

LIMITS = [
    {},
    {"max_depth": 2},
    {"max_leaves": 3},
    {"min_leaf": 2},
    {"max_depth": 2, "max_leaves": 3, "min_leaf": 2},
]


def given_costs(problem, costs):
    """The problem with a column of costs for each label."""
    table = problem.objects.table
    roles = {cost_role(c): costs[:, k] for k, c in enumerate(table.target.classes)}
    objects = attrs.evolve(problem.objects, table=attrs.evolve(table, roles=roles))
    return attrs.evolve(problem, objects=objects)


class TestInstanceCost(ObjectiveSuite):
    @pytest.fixture
    def component(self):
        return InstanceCost()


def own(seed, digits, **more):
    lam = float(np.random.default_rng([seed, 19]).choice([0.0, 0.01, 0.03, 0.125, 0.3]))
    return OwnCosts(seed=seed, digits=digits, **{"lam": lam, **more})


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("digits", [0, 2, ALL])
def test_the_tree_is_of_least_cost_within_the_limits(limits, digits):
    for seed in range(12):
        raw = seed % 4 == 0
        problem = tiny_problem(seed, own(seed, digits), raw=raw)
        problem = limited(problem, solver=Gosdt(), stopping=(Standard(**limits),))
        solution = Gosdt().solve(problem, Context())
        verify_solution(solution, problem)
        most = {"depth": "max_depth", "leaves": "max_leaves"}
        asked = {name: limits.get(field) for name, field in most.items()}
        best = float(least(problem, least=limits.get("min_leaf", 1), **asked))
        off = float(whole_costs(problem).more) + 1e-12
        assert solution.value == pytest.approx(best, abs=off)
        assert solution.lower_bound <= best + 1e-12 and solution.status is Status.optimal
        assert digits == ALL or solution.lower_bound == solution.value


@pytest.mark.compiled
@pytest.mark.parametrize("digits", [0, 3, ALL])
@pytest.mark.parametrize("which", [Which.sparse, Which.limited, Which.intervals])
def test_every_search_finds_what_brute_force_finds(which, digits):
    solver = Gosdt(search=which)
    for seed in range(tries(300)):
        factor = {Which.sparse: 1 + seed % 4, Which.intervals: seed % 4}.get(which, 0)
        objective = own(seed, digits, lam=0.02 * factor)
        problem = tiny_problem(seed, objective, raw=which is Which.intervals)
        depth = None if which is Which.sparse and seed % 2 else 2
        problem = limited(problem, solver=solver, stopping=(Standard(max_depth=depth),))
        try:
            solution = solver.solve(problem, Context())
        except CapabilityError as error:  # without tests there is nothing to search, lanes overflow
            assert "knows" in str(error)
            continue
        best = float(least(problem, depth=depth))
        off = float(whole_costs(problem).more) + 1e-12
        assert solution.value == pytest.approx(best, abs=off)


def test_prices_count_beside_costs_of_objects():
    for seed in range(12):
        for price in Price:
            objective = own(seed, 2, lam=0.01, mu=0.1, price=price)
            problem = limited(tiny_problem(seed, objective), solver=Gosdt())
            solution = Gosdt().solve(problem, Context())
            assert solution.value == pytest.approx(float(least(problem)), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("digits", [0, 2, 6, ALL])
def test_whole_costs_are_the_costs_or_below_them_by_no_more_than_they_say(digits):
    for seed in range(20):
        problem = tiny_problem(seed, OwnCosts(seed=seed, digits=digits))
        found, (_, exact) = whole_costs(problem), exact_costs(problem)
        off = [
            one - int(whole) * found.unit
            for row, wholes in zip(exact, found.costs.tolist(), strict=True)
            for one, whole in zip(row, wholes, strict=True)
        ]
        assert found.slack == 0 and (found.more > 0) == (digits == ALL)
        assert min(off) >= 0 and sum(off) <= found.more * problem.objects.n_classes
        assert digits == ALL or not any(off)
        assert float(found.more) < 1e-9 * np.abs(np.array(exact, float)).sum()


@pytest.mark.parametrize("digits", [0, 2, ALL])
@pytest.mark.parametrize("limits", [{}, {"max_depth": 2}, {"max_leaves": 3}], ids=str)
def test_the_checker_accepts_the_proof_and_refuses_a_bound_above_it(digits, limits, tmp_path):
    shown = 0
    for seed in range(8):
        objective = own(seed, digits, lam=0.02)
        problem = tiny_problem(seed, objective, n_rows=12, n_columns=3)
        stopping = (Standard(**limits),)
        solver = Gosdt(proof=str(tmp_path / f"{seed}.proof"))
        problem = limited(problem, solver=solver, stopping=stopping)
        solution = solver.solve(problem, Context())
        proof = read_proof(solver.proof)
        accepted = check_proof(proof, problem)
        off = float(whole_costs(problem).more) + 1e-12
        assert accepted.value == pytest.approx(solution.value, rel=1e-12, abs=1e-12)
        assert accepted.lower_bound == pytest.approx(solution.value, abs=2 * off)
        assert accepted.lower_bound <= solution.value + 1e-12
        shown += proof.n_records > 0
        far = Gosdt(proof=solver.proof)
        dearer = limited(problem, objective=attrs.evolve(objective, seed=99), solver=far)
        with pytest.raises(Exception, match=r"claims|costs|divide|value"):
            check_proof(proof, dearer)
    assert shown


def test_a_cost_that_is_no_number_names_row_and_label():
    problem = tiny_problem(3, InstanceCost(), n_rows=6)
    costs = np.ones((6, problem.objects.n_classes))
    costs[4, 1] = np.nan
    with pytest.raises(DataError, match=r"that of row 5 for 'v' is nan"):
        units_of(given_costs(problem, costs))
    costs[4, 1] = -np.inf
    with pytest.raises(DataError, match=r"that of row 5 for 'v' is -inf"):
        units_of(given_costs(problem, costs))


def test_costs_of_another_shape_are_refused_by_name():
    @attrs.frozen
    class Short(OwnCosts):
        def costs(self, problem):
            return super().costs(problem)[1:]

    problem = tiny_problem(3, Short(), n_rows=6)
    with pytest.raises(ContractError, match=r"objective own_costs: costs must return float64"):
        units_of(problem)


def test_costs_of_rows_where_objects_are_asked_for_are_told_the_way():
    @attrs.frozen
    class OfRows(OwnCosts):
        def costs(self, problem):
            return np.ones((problem.objects.table.n_rows, problem.objects.n_classes))

    problem = tiny_problem(3, OfRows(), n_rows=6)
    objects = problem.objects
    merged = attrs.evolve(
        objects,
        **{
            name: getattr(objects, name)[:3]
            for name in ("codes", "raw", "label", "weight", "count")
        },
        object_of_row=np.array([0, 1, 2, 0, 1, 2]),
        y=None,
    )
    with pytest.raises(ContractError, match=r"got \(6, 2\); objects\.mean_of_rows"):
        units_of(attrs.evolve(problem, objects=merged))


def test_labels_without_rows_may_be_the_cheapest():
    problem = tiny_problem(0, InstanceCost(lam=0.0), n_rows=8)
    never = problem.objects.n_classes - 1
    objects = problem.objects
    label = np.minimum(objects.label, never - 1) if never else objects.label
    table = attrs.evolve(objects.table, target=attrs.evolve(objects.table.target, codes=label))
    problem = attrs.evolve(problem, objects=attrs.evolve(objects, label=label, table=table))
    costs = np.ones((8, never + 1))
    costs[:, never] = -1.0
    problem = limited(given_costs(problem, costs), solver=Gosdt())
    solution = Gosdt().solve(problem, Context())
    verify_solution(solution, problem)
    assert solution.value == -1.0 and (solution.tree.label == never).all()


def test_a_million_distinct_costs_are_rounded_and_the_note_says_so():
    problem = limited(tiny_problem(1, OwnCosts(seed=5, digits=ALL), n_rows=12), solver=Gosdt())
    solution = Gosdt().solve(problem, Context())
    gap = solution.value - solution.lower_bound
    assert 0 < gap < 1e-9 and solution.status is Status.optimal
    assert any("more digits" in note for note in solution.notes)


def test_an_object_that_is_split_costs_each_branch_its_share():
    objective = OwnCosts(seed=3)
    problem = tiny_problem(3, objective, n_rows=8, n_columns=2)
    solved = limited(problem, objective=OwnCosts(seed=3, lam=0.0), solver=Gosdt())
    tree = Gosdt().solve(solved, Context()).tree
    leaves = np.flatnonzero(tree.is_leaf)
    assert len(leaves) > 1
    node = np.repeat(leaves[:2], 8)
    share = np.concatenate([np.full(8, 0.25), np.full(8, 0.75)])
    start = np.searchsorted(node, np.arange(tree.n_nodes + 1))
    who = np.tile(np.arange(8), 2)
    arrived = Arrivals(tree, tree.places(problem.objects.table), node, who, share, start)
    costs, _ = LabelCosts(problem).at_nodes(tree.weights, arrived)
    weight = problem.objects.weight / problem.objects.weight.sum()
    whole = weight @ objective.costs(problem)
    np.testing.assert_allclose(costs[leaves[0]], 0.25 * whole)
    np.testing.assert_allclose(costs[leaves[1]], 0.75 * whole)
    np.testing.assert_allclose(costs[0], whole)
