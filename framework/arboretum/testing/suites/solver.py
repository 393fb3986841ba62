"""Conformance of exact solvers: what is the optimum, and who proves it?"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np
import pytest

from arboretum.api import BudgetError, Column, ColumnKind, Context, Parts, Problem, Status, Table, Target, Task, Tree
from arboretum.testing.oracles import best_tree, build_tree
from arboretum.testing.suites.base import ComponentSuite
from arboretum.testing.suites.growing import late, verified
from arboretum.testing.tables import context_of, prices_of, toy_objects

SLACK = 1e-9
"""Relative; a solver and the oracle add the same few weights in another order."""


def tiny_table(seed: int, n_rows: int = 8, n_columns: int = 3, n_classes: int = 2) -> Table:
    """Binary columns, few rows, contradictions allowed: every tree over it can be listed."""
    generator = np.random.default_rng([seed, n_rows, n_columns])
    columns = tuple(
        Column(f"x{i}", ColumnKind.categorical, generator.integers(0, 2, n_rows), ("no", "yes")) for i in range(n_columns)
    )
    codes = generator.integers(0, n_classes, n_rows).astype(np.int32)
    codes[:n_classes] = np.arange(n_classes)
    return Table(f"tiny{seed}", columns, Target("y", Task.classification, codes, ("a", "b", "c")[:n_classes]))


class SolverSuite(ComponentSuite):
    """Equal to brute force on tiny tables, never a bound above the value, never a silent wrong answer."""

    kind = "solver"
    tables = 30
    """Number of tiny tables that are solved by brute force."""

    @pytest.fixture
    def parts(self, component) -> Parts:
        """The objective (and complexity) that the solver minimises.  Override: ``Parts(method=None, solver=component, …)``."""
        pytest.fail(f"{type(self).__name__} must override the fixture 'parts': which objective is minimised?")

    @pytest.fixture
    def value(self, parts) -> Callable[[Tree, object], float]:
        """The objective's value of a tree."""
        return parts.objective.value

    def problems(self, parts):
        for seed in range(self.tables):
            objects = toy_objects(tiny_table(seed))
            yield Problem(objects, prices_of(objects, seed), parts)

    @staticmethod
    def brute_force(problem, value) -> tuple[float, Tree]:
        return best_tree(problem.objects, lambda tree: value(tree, problem), problem.prices)

    def test_it_finds_what_brute_force_finds(self, component, parts, value):
        for problem in self.problems(parts):
            best, tree = self.brute_force(problem, value)
            solution = component.solve(problem, context_of())
            if math.isinf(best):
                assert solution.status is Status.infeasible
                continue
            assert solution.status is Status.optimal
            assert abs(solution.value - best) <= SLACK * max(1.0, abs(best)), f"brute force: {tree.n_leaves} leaves"

    def test_its_value_is_the_value_of_its_tree_and_the_bound_is_not_above_it(self, component, parts, value):
        for problem in self.problems(parts):
            solution = verified(component.solve, problem, context_of())
            if solution.tree is None:
                continue
            found = value(solution.tree, problem)
            assert abs(found - solution.value) <= SLACK * max(1.0, abs(found))
            assert solution.lower_bound <= solution.value + SLACK * max(1.0, abs(solution.value))

    def test_the_same_seed_gives_the_same_solution(self, component, parts):
        problem = next(iter(self.problems(parts)))
        once, twice = component.solve(problem, context_of(seed=3)), component.solve(problem, context_of(seed=3))
        assert (once.value, once.lower_bound, once.status) == (twice.value, twice.lower_bound, twice.status)

    def test_when_time_is_over_it_says_what_it_has_proven(self, component, parts, value):
        for problem in self.problems(parts):
            best, _ = self.brute_force(problem, value)
            if hasattr(component, "warm_up"):
                component.warm_up(problem, Context(deadline=math.inf))
            try:
                with late() as context:
                    solution = component.solve(problem, context)
            except BudgetError:  # honest: there was no time for any tree
                continue
            assert math.isfinite(solution.lower_bound), "0 is a bound, too, where nothing can cost less"
            assert solution.lower_bound <= best + SLACK * max(1.0, abs(best)), "a bound above the optimum is no bound"
            assert solution.value >= best - SLACK * max(1.0, abs(best))

    def test_a_table_of_one_class_is_solved_by_a_leaf(self, component, parts, value):
        table = tiny_table(0)
        same = attrs.evolve(table, target=attrs.evolve(table.target, codes=np.zeros(table.n_rows, np.int32)))
        objects = toy_objects(same)
        problem = Problem(objects, prices_of(objects), parts)
        solution = component.solve(problem, context_of())
        leaf = value(build_tree(objects, None), problem)
        assert solution.status is Status.optimal and abs(solution.gap) <= SLACK and solution.value <= leaf + SLACK
