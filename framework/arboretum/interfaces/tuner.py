"""Contract: which parameter value, judged on validation rows?"""

from collections.abc import Callable
from typing import Protocol

from arboretum.interfaces.component import Component
from arboretum.model.plain import Facts
from arboretum.model.record import Selection, Solution
from arboretum.model.table import Table


class Tuner(Component, Protocol):
    """A rule that tries values of one field and keeps one.  It sees trees before they are pruned.

    Optional attributes, for those who check it: ``measure``, by which the kept tree is the best
    tried on the validation rows ("roc_auc", "accuracy" or "r2"; default: what
    :class:`~arboretum.measure.ValidationScore` takes for the rows), and ``slack``, by how much it
    may miss that.
    """

    def tune(
        self, fit: Callable[[Facts], Solution], valid: Table
    ) -> tuple[Facts | Selection, Solution]:
        """Return the kept overrides, or a selection that also tells what was tried, and their
        solution.

        fit : grows with some fields replaced; keys as on the command line ("criterion.lam").  A
            solution without a tree means that the budget ran out.
        valid : rows to judge on, never empty: a run without validation rows is refused.
        """
