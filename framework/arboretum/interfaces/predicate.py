"""Contract: which tests may a node use?"""

from collections.abc import Callable, Sequence
from typing import Protocol

import attrs
import numpy as np
from numpy.typing import ArrayLike

from arboretum.interfaces.component import Component
from arboretum.interfaces.stopping import Limits
from arboretum.model.encoded import Encoded, Family
from arboretum.model.rules import TestRule


def _whole(given: ArrayLike) -> np.ndarray:
    return np.asarray(given, np.int64)


@attrs.frozen(eq=False)
class CodedTests:
    """Many tests that differ in a bin of a code: counted all at once, and made into rules where one
    of them is asked.

    columns : raw columns that each of them reads.
    family : which tests a code offers.
    n_bins : int64[k] of k codes.
    codes : (first, stop) → whole numbers [stop − first, rows] of these codes: the bin of each row,
        n_bins where no test has an outcome.
    rule : (code, index) → the test; its outcomes at the node are those that the code's bins say.
    """

    columns: tuple[str, ...]
    family: Family
    n_bins: np.ndarray = attrs.field(converter=_whole)
    codes: Callable[[int, int], np.ndarray]
    rule: Callable[[int, int], TestRule]

    @property
    def n_tests(self) -> np.ndarray:
        """int64[k]: how many tests each code offers."""
        return {
            Family.multiway: self.n_bins * 0 + 1,
            Family.thresholds: self.n_bins - 1,
            Family.equals: self.n_bins,
        }[self.family]


class Predicate(Component, Protocol):
    """A generator of tests at the node, from the raw table.

    With predicates their tests are the only ones: what the encoder makes says which columns have a
    price.  But where one states ``beside_raw = True`` it speaks for coded columns, and thresholds
    on raw columns compete as well; ties then go to the lowest column.
    """

    def candidates(
        self, objects: Encoded, rows: np.ndarray, seed: int
    ) -> Sequence[TestRule | CodedTests]:
        """Return the tests that compete at the node with the objects ``rows`` (int64[k]); none
        makes it a leaf.

        Object i is row ``objects.row_of_object[i]`` of ``objects.table``.  Equal seeds and rows
        give equal tests; ties of their scores go to the first.  A test of one outcome at the node
        never competes.  It costs, summed over the columns it reads, what the costliest test of each
        column costs (0 where ``Prices.once_per_column`` and the path has asked the column).
        """


class PredicateWithin(Protocol):
    """Optional: a predicate whose tests depend on what the run limits (a least leaf)."""

    def within(self, limits: Limits) -> Predicate:
        """Return the same predicate for a run of these limits.  Called before growth."""
