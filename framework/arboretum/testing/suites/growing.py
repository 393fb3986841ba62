"""Grow a small tree through the public interface, let the slow reference check it; and a clock that is not the wall's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from arboretum.api import Context, Parts, Solution, Table, Tree
from arboretum.engine.seal import Seal
from arboretum.engine.verify import verify
from arboretum.testing.tables import context_of, problem_of

LOOKS = 100
"""At the clock, at most, once the time is over: a search that looks at all and stops needs a dozen on tables this small."""


@contextmanager
def late() -> Iterator[Context]:
    """A context whose deadline is over; on the clock inside, each look takes a second, and there are at most ``LOOKS`` of them."""
    clock = mock.Mock(side_effect=map(float, range(1, 10 * LOOKS)))
    try:
        with mock.patch("time.monotonic", clock):
            yield Context(deadline=0.0)
    finally:
        assert clock.call_count <= LOOKS, f"looked at the clock {clock.call_count} times after its time was over"


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
