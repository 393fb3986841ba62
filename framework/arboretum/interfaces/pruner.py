"""Contract: what should be cut back?"""

from __future__ import annotations

from typing import Protocol

from arboretum.interfaces.component import Component
from arboretum.model.record import Selection
from arboretum.model.table import Table
from arboretum.model.tree import Tree


class Pruner(Component, Protocol):
    """A rule that replaces subtrees by leaves (or by a branch).  :meth:`Tree.cut` does the work.

    needs_validation : a run without validation rows is refused; a class attribute, or a property that looks at the fields
        (a pruner that chooses its strength needs them, one that is told it does not).
    reads_impurity : optional, default False: it reads ``tree.impurity``, so a run without impurity, or with one that grows
        with the mass (``scale = "total"``), is refused.
    """

    needs_validation: bool

    def prune(self, tree: Tree, train: Table, valid: Table | None) -> Tree:
        """Return the pruned tree, the given one itself where nothing is cut.  Called once per run, after growth.

        train : the training rows.   valid : the validation rows, None without any.   It asks no test that ``tree`` does not.
        """


class PrunerChooses(Protocol):
    """Optional: a pruner that picks values for those of its fields that are None, so that the record can tell which."""

    def choose(self, tree: Tree, valid: Table) -> Selection:
        """The values for this tree; keys are "pruner.FIELD".  Called once per run, if ``needs_validation``; never for nothing.

        With these values in its fields the pruner needs no validation rows, and ``prune`` does the same as without.
        """
