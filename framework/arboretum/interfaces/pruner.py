"""Contract: what should be cut back?"""

from __future__ import annotations

from typing import ClassVar, Protocol

from arboretum.interfaces.component import Component
from arboretum.model.table import Table
from arboretum.model.tree import Tree


class Pruner(Component, Protocol):
    """A rule that replaces subtrees by leaves (or by a branch).

    needs_validation : a run without validation rows is refused.
    """

    needs_validation: ClassVar[bool]

    def prune(self, tree: Tree, train: Table, valid: Table | None) -> Tree:
        """Return the pruned tree, the given one itself where nothing is cut.  Called once per run, after growth.

        train : the training rows.   valid : the validation rows, None without any.   It asks no test that ``tree`` does not.
        """
        ...
