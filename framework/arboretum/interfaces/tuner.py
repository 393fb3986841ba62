"""Contract: which parameter value, judged on validation rows?"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from arboretum.interfaces.component import Component
from arboretum.model.encoded import Encoded
from arboretum.model.plain import Facts
from arboretum.model.record import Selection, Solution
from arboretum.model.table import Table
from arboretum.model.tree import Tree


class Tuner(Component, Protocol):
    """A rule that tries values of fields and keeps some.  It sees trees before they are pruned.

    Optional attributes, for those who check it: ``measure``, by which the kept tree is the best
    tried on the validation rows ("roc_auc", "accuracy" or "r2"; default: what
    :class:`~arboretum.measure.ValidationScore` takes for the rows), and ``slack``, by how much it
    may miss that; ``needs_validation`` (default: True), a class attribute, or a property that looks
    at the fields: whether a run without validation rows is refused.
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


class TunerGrows(Protocol):
    """Optional: a tuner that judges on objects that its trees have not seen."""

    def tune_by_growing(
        self,
        fit: Callable[[Facts], Solution],
        grow: Callable[[Facts, np.ndarray], Tree],
        objects: Encoded,
        seed: int,
    ) -> tuple[Facts | Selection, Solution]:
        """As ``tune``, called once per run in its place where ``needs_validation`` is False.

        fit : as of ``tune``, on all training ``objects``.
        grow : the tree that the run's method grows on some of the objects (int64[k], their
            positions) with some fields replaced; their tests are those of all.
        """
