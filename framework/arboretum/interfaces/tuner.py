"""Contract: which parameter value, judged on validation rows?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from arboretum.interfaces.component import Component
from arboretum.model.solution import Solution
from arboretum.model.table import Table


class Tuner(Component, Protocol):
    """A rule that tries values of one field and keeps one."""

    def tune(self, fit: Callable[[dict[str, Any]], Solution], valid: Table) -> tuple[dict[str, Any], Solution]:
        """Return the kept overrides and their solution.

        fit : grows with some fields replaced; keys as on the command line ("criterion.lam").   valid : rows to judge on,
        never empty: a run without validation rows is refused.
        """
        ...
