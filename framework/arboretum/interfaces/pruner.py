"""Contract: what should be cut back?"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from arboretum.interfaces.component import Component
from arboretum.interfaces.method import Problem
from arboretum.model.encoded import Encoded
from arboretum.model.record import Selection
from arboretum.model.table import Table
from arboretum.model.tree import Tree


class Pruner(Component, Protocol):
    """A rule that replaces subtrees by leaves (or by a branch).  :meth:`Tree.cut` does the work.

    needs_validation : a run without validation rows is refused; a class attribute, or a property
        that looks at the fields (a pruner that chooses its strength needs them, one that is told it
        does not).
    reads_impurity : optional, default False: it reads ``tree.impurity``, so a run without impurity,
        or with one that grows with the mass (``scale = "total"``), is refused.
    reads_costs : optional, default False: under an objective that weighs objects its methods are
        also given ``costs``, float64[classes, classes], what a unit of weight of a class (row)
        loses by each label.
    """

    @property
    def needs_validation(self) -> bool:
        """Whether a run without validation rows is refused."""

    def prune(self, tree: Tree, train: Table, valid: Table | None) -> Tree:
        """Return the pruned tree, the given one itself where nothing is cut.  Called once per run,
        after growth.

        train : the training rows.
        valid : the validation rows, None without any.

        It asks no test that ``tree`` does not. Where it moves rows (a branch takes the place of its
        node), impurity and score are NaN: the run states the impurity, and no score.
        """


class PrunerChooses(Protocol):
    """Optional: a pruner that picks values for those of its fields that are None, so that the
    record can tell which.
    """

    def choose(self, tree: Tree, valid: Table) -> Selection:
        """Return the values for this tree; keys are "pruner.FIELD".  Called once per run, if
        ``needs_validation``; ``prune`` does the same without.
        """

    def choose_by_growing(
        self, tree: Tree, objects: Encoded, grow: Callable[[np.ndarray], Tree], seed: int
    ) -> Selection | None:
        """As ``choose``, called once per run in its place where ``needs_validation`` is False; None
        where nothing is to be picked.

        grow : the tree that the run's method grows on some of ``objects`` (int64[k]), with the
            values that a tuner kept; pruned by nobody.
        """


class PrunerNotes(Protocol):
    """Optional: a pruner that says what the user should know of what it left."""

    def notes(self, tree: Tree, train: Table, valid: Table | None) -> Sequence[str]:
        """Sentences about a tree that ``prune`` returned for these rows.  Called once per run."""


class PrunerChecks(Protocol):
    """Optional: a pruner that cannot serve every problem says so before anything grows."""

    def check(self, problem: Problem) -> None:
        """Raise CapabilityError, with the way out, where ``prune`` would refuse the trees of
        this problem.  Called once per run, before growth.
        """
