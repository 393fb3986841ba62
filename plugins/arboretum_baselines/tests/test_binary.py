"""The problem as bits and whole numbers: every tree is worth what the objective says; sets of
weighted rows count right.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from drawn_tables import drawn_nodes, drawn_problem

from arboretum.api import CapabilityError, Parts, two_way_problem
from arboretum.testing.oracles import outcomes
from arboretum_gosdt.problem.objectives import Accuracy, Balanced, CostMatrix, Weighted


def objectives(seed):
    return [
        Accuracy(lam=0.013),
        Balanced(lam=0.0),
        CostMatrix(lam=1 / 8, costs=[[0, 1.5, 2], [0.25, 0, 1], [3, 1, 0]]),
    ] + [Weighted(omega=0.7)] * (seed % 2)


def test_a_tree_costs_what_the_objective_says_and_a_group_agrees_on_every_test():
    for seed in range(60):
        for objective in objectives(seed):
            problem = drawn_problem(seed, objective)
            found, objects = two_way_problem(problem, "it"), problem.objects
            for f, test in enumerate(found.tests.tolist()):
                assert (
                    outcomes(objects, test, np.arange(objects.n_objects))
                    == found.outcome[f, found.group]
                ).all()
            assert len(np.unique(found.outcome, axis=1).T) == found.outcome.shape[1]
            nodes, held = drawn_nodes(seed, found)
            cost = sum(int(found.cost[rows].sum(axis=0).min()) + found.leaf for rows in held)
            assert problem.parts.objective.value(found.tree(nodes), problem) == pytest.approx(
                found.value(cost), rel=1e-12, abs=1e-15
            )


def test_tests_and_groups_are_those_of_a_list_whether_few_or_many(monkeypatch):
    """First of each kind of test, and groups in the order of what tests say, also where outcomes
    are laid out a few at a time, and where they are more than a number holds.
    """
    from arboretum.solving import two_way

    for seed in range(60):
        columns = [None, 9, 50][seed % 3]
        monkeypatch.setattr(two_way, "AT_ONCE", [1 << 20, 1, 40][seed // 3 % 3])
        problem = drawn_problem(seed, Accuracy(), n_columns=columns, n_rows=20 if columns else None)
        found, objects = two_way_problem(problem, "it"), problem.objects
        everything, kept = np.arange(objects.n_objects), {}
        for test in range(objects.n_tests):
            said = outcomes(objects, test, everything) > 0
            if said.any() and not said.all():
                kept.setdefault(tuple(said ^ said[0]), (test, said))
        assert found.tests.tolist() == [test for test, _ in kept.values()]
        rows = np.array([said for _, said in kept.values()]).reshape(-1, len(everything)).T
        groups = sorted({tuple(row) for row in rows.tolist()})
        assert found.group.tolist() == [groups.index(tuple(row)) for row in rows.tolist()]
        np.testing.assert_array_equal(found.outcome.T.reshape(len(groups), -1), groups)
        assert found.rows.tolist() == [
            int(objects.count[found.group == k].sum()) for k in range(len(groups))
        ]


def test_sums_of_planes_are_sums_of_weights(monkeypatch):
    from arboretum.kernels.jit import jit
    from arboretum_baselines.dl8 import planes as layout
    from arboretum_baselines.dl8.planes import both, planes_of, total

    @jit
    def summed(planes, rows, test, ones, everything):
        both(planes, rows, test, ones)
        total(planes, rows, everything)

    for seed in range(20):
        generator = np.random.default_rng(seed)
        outcome = generator.random((5, 150)) < 0.5
        weights = generator.integers(0, [1, 2, 9, 1 << 40], (150, 4))
        monkeypatch.setattr(layout, "AT_ONCE", [1 << 16, 1, 6000][seed % 3])
        planes = planes_of(outcome, weights)
        ones, everything = np.empty(4, np.int64), np.empty(4, np.int64)
        for t in range(5):
            summed(planes, planes.full, t, ones, everything)
            assert (
                ones.tolist() == weights[outcome[t]].sum(axis=0).tolist()
                and everything.tolist() == weights.sum(axis=0).tolist()
            )


def test_what_is_no_problem_of_the_compared_systems_is_refused_with_the_way_out():
    problem = drawn_problem(0, Accuracy(mu=0.5))
    with pytest.raises(
        CapabilityError,
        match="solver it minimises sums over objects .* objective=accuracy without objective.mu",
    ):
        two_way_problem(problem, "it")
    fine = drawn_problem(1, Accuracy())
    weight = np.random.default_rng(0).random(fine.objects.n_objects)
    with pytest.raises(
        CapabilityError, match="do not fit into 60 bits for solver it; give them fewer digits"
    ):
        two_way_problem(attrs.evolve(fine, objects=attrs.evolve(fine.objects, weight=weight)), "it")
    with pytest.raises(CapabilityError, match="add objective|objective=accuracy"):
        two_way_problem(attrs.evolve(fine, parts=Parts(method=None)), "it")
