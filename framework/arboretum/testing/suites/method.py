"""Conformance of methods: the recipe a paper proposes."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest

from arboretum.api import BudgetError, Capability, Parts, Solution, Status
from arboretum.testing.suites.base import ComponentSuite, claims, kind_of_table, skip_if, tasks_of
from arboretum.testing.suites.growing import late, verified, verify_solution
from arboretum.testing.tables import context_of, problem_of, toy_impurity, toy_table
from arboretum.testing.example_components import ToyReduction

class MethodSuite(ComponentSuite):
    """A verified tree for every kind of target it claims, the same for the same seed, in time."""

    kind = "method"

    @pytest.fixture
    def parts(self, component) -> Parts:
        """What the method is tried with.  Override it for a method that needs a solver."""
        needed = set(getattr(component, "needs", ())) - {"criterion", "impurity"}
        skip_if(needed, f"needs {', '.join(sorted(needed))}; override the fixture 'parts' to choose them")
        return Parts(method=component, criterion=ToyReduction())

    def problems(self, component, parts, only: list[int] | slice = slice(None)):
        """Small problems of every kind of target.   only : rows of their tables."""
        for task in tasks_of(component):
            chosen = parts if parts.impurity else attrs.evolve(parts, impurity=toy_impurity(task))
            kind = kind_of_table(component, task)
            for seed in (0, 1, 2):
                table = toy_table(seed, n_rows=40, kind=kind).take(np.arange(40)[only])
                yield problem_of(table, chosen, multiway=kind.multiway)

    def test_it_returns_a_tree_that_verification_accepts(self, component, parts):
        for problem in self.problems(component, parts):
            assert isinstance(verified(component.fit, problem, context_of(seed=1)), Solution)

    def test_it_learns_something(self, component, parts):
        assert any(component.fit(problem, context_of()).tree.n_leaves > 1 for problem in self.problems(component, parts))

    def test_the_same_seed_gives_the_same_tree(self, component, parts):
        for problem in self.problems(component, parts):
            once, twice = component.fit(problem, context_of(seed=4)), component.fit(problem, context_of(seed=4))
            assert once.tree.to_json() == twice.tree.to_json()
            assert (once.value, once.lower_bound, once.status) == (twice.value, twice.lower_bound, twice.status)

    def test_it_makes_a_leaf_of_a_single_object(self, component, parts):
        for problem in self.problems(component, parts, only=[0]):
            assert component.fit(problem, context_of()).tree.n_nodes == 1

    def test_its_bound_is_not_above_its_value(self, component, parts):
        for problem in self.problems(component, parts):
            solution = component.fit(problem, context_of())
            claims_nothing = math.isnan(solution.value) and solution.status is Status.feasible
            assert claims_nothing or solution.lower_bound <= solution.value
            if claims(component, Capability.exact):
                assert solution.status is Status.optimal and abs(solution.gap) <= 1e-9 * max(1.0, abs(solution.value))

    def test_it_stops_when_its_time_is_over(self, component, parts):
        """It returns the tree it has, or says that there is none; it does not go on."""
        for problem in self.problems(component, parts):
            try:
                with late() as context:
                    solution = component.fit(problem, context)
            except BudgetError:
                assert not claims(component, Capability.anytime), "claims anytime, but returns no tree when time is over"
            else:
                verify_solution(solution, problem)
