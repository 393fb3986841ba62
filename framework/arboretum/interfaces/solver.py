"""Contract: what is the optimum, and who proves it?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from arboretum.interfaces.component import Component
from arboretum.model.solution import Solution

if TYPE_CHECKING:
    from arboretum.interfaces.method import Context, Problem


class Solver(Component, Protocol):
    """An exact search.  Within the budget it proves; beyond it, it returns its best tree and the proven bound."""

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Never a silent wrong answer: status says what is proven.  Raises BudgetError if there is no tree at all."""
        ...
