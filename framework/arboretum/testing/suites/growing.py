"""Grow a small tree through the public interface and let the slow reference check it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arboretum.api import Parts, Solution, Table, Tree
from arboretum.engine.seal import Seal
from arboretum.engine.verify import verify
from arboretum.testing.tables import context_of, problem_of


def grow_and_verify(table: Table, parts: Parts, *, multiway: bool = True, **options: Any) -> Tree:
    """The tree that the search loop grows, after verification replayed the training rows through it."""
    from arboretum.api import grow

    problem = problem_of(table, parts, multiway=multiway)
    return verified(lambda given, context: grow(given, context, **options), problem, context_of()).tree


def verified(fit: Callable[[Any, Any], Solution], problem: Any, context: Any) -> Solution:
    """What a ``fit`` or ``solve`` returns, verified; it must leave the problem as it was."""
    seal = Seal().over(problem.objects.table, problem.objects, problem.prices)
    solution = fit(problem, context)
    seal.check("it")
    if solution.tree is not None:
        verify_solution(solution, problem)
    return solution


def verify_solution(solution: Solution, problem: Any) -> None:
    """Raise VerificationError unless the tree's weights, counts, labels and prices are those of its training rows."""
    verify(solution.tree, problem, problem.objects.table, {}, solution)
