"""Contracts: where does the table come from, which rows teach, how do columns become tests, and what does asking cost?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import attrs
import numpy as np

from arboretum.interfaces.component import Component
from arboretum.model.encoded import Encoded, Prices
from arboretum.model.rules import TestRule
from arboretum.model.table import Table


class Dataset(Component, Protocol):
    """A source of one raw table.

    A class may state ``offline = True``: ``load`` needs neither a file nor the network.  Printed examples prefer such sets.
    """

    def load(self, seed: int) -> Table:
        """Return the table.  Called once per run, before encoding; may read files and, for OpenML, the network.

        seed : used by random generators only; a stored data set ignores it.
        Raises DataError: missing or empty file, ragged rows, absent target, one class, infinite values, …
        """


@attrs.frozen(eq=False)
class Division:
    """Row numbers of the three parts; int64 arrays, disjoint, ascending; ``valid`` and ``test`` may be empty."""

    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray


class Split(Component, Protocol):
    """A rule that divides the rows.  One run uses one fold: components with folds have a field ``fold``."""

    def divide(self, table: Table, seed: int) -> Division:
        """Return the parts.  Called once per run.  Raises DataError when a part that must teach would be empty."""


class Encoder(Component, Protocol):
    """A rule that fixes tests before growth, or leaves columns raw for thresholds found at the node."""

    def encode(self, table: Table, whole: Table, *, raw_thresholds: bool, seed: int) -> Encoded:
        """Encode the training rows.  Called once per run.

        table : the training rows.   whole : all rows, for encoders that place bins on the whole data set.
        raw_thresholds : the method can search raw columns (``encoder=auto`` then leaves numeric columns raw).
        seed : the run's, for encoders that draw (k-means).
        Raises DataError when no usable column is left.
        """


class Predicate(Component, Protocol):
    """A generator of tests at the node, from the raw table.

    With a predicate its tests are the only ones: what the encoder makes says which columns have a price.
    """

    def candidates(self, objects: Encoded, rows: np.ndarray, seed: int) -> Sequence[TestRule]:
        """Return the tests that compete at the node with the objects ``rows`` (int64[k]); none makes it a leaf.

        Object i is row ``objects.row_of_object[i]`` of ``objects.table``.  Equal seeds and rows give equal tests; ties of their
        scores go to the first.  A test of one outcome at the node never competes.  It costs, summed over the columns it reads,
        what the dearest test of each column costs (0 where ``Prices.once_per_column`` and the path has asked the column).
        """


class Cost(Component, Protocol):
    """A price list for tests."""

    def price_list(self, objects: Encoded, seed: int) -> Prices:
        """Return the price of every test, finite and ≥ 0, all in one unit.  Called once per run, after encoding.

        A price that depends on what the path has asked (a set-up that is shared by several columns): ``Prices.after`` answers
        the list below such a path, from what it has asked and paid.  No price may rise on the way down.  A price that depends on the
        outcome: :meth:`Prices.by_outcome`.  Kernels of whole subtrees, bulk growth and exact solvers know one number per test:
        such trees are grown node by node, and solvers and certificates refuse the run in one line.  A criterion sees the largest
        price of a test unless it declares ``needs_outcome_prices``.

        seed : the run's; equal seeds give equal prices.   Raises DataError when a price names an unknown column.
        """
