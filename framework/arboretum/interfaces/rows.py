"""Contract: where do the rows of one growth lie?

Contingency tables add up over rows, so a growth by levels needs no row: it asks a *row store* what
the rows of some nodes add up to (``totals``), for their tables by bin (``tables``), and to send
them on (``split``).  A store may hold them in memory, in a file, or on many machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import attrs
import numpy as np

from arboretum.interfaces.component import Component
from arboretum.interfaces.dataset import InParts
from arboretum.interfaces.encoder import Encoder
from arboretum.model.encoded import Encoded


@attrs.frozen
class NodeSplit:
    """A node's test, and the nodes below.

    feature, index : the test among those of ``objects.features``.
    side : the outcome of rows without a value, which may be one of their own, the last; −1: there
        are none, or they stay at the node.
    children : of each outcome the number of its node; larger than that of any node before.
    """

    node: int
    feature: int
    index: int
    side: int
    children: tuple[int, ...]


@attrs.frozen(eq=False)
class NodeTotals:
    """What the rows of k nodes add up to, in the order of rows.

    weights : float64[k, width], class weights, or moments about the store's ``shift``.
    counts : int64[k, count width], rows by class (moments: one number).
    low, high : float64[k], the least and the largest target (less the shift) where it is a number;
        ∞ and −∞ in a node without rows.  Zeros for classes.
    """

    weights: np.ndarray
    counts: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def add(self, other: NodeTotals) -> NodeTotals:
        """The totals of both, of the same nodes."""
        return NodeTotals(
            self.weights + other.weights,
            self.counts + other.counts,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


@attrs.frozen(eq=False)
class NodeTables:
    """The rows of k nodes by bin: the bins of all features one after the other, of each the one of
    missing values last, if it has such.

    counts : integers[k, bins, count width].
    weights : float64[k, bins, width]; None where every row weighs 1 and the target is a class: then
        they are the counts.
    columns : float64[k, bins, ·], the criterion's own; None without any.
    """

    counts: np.ndarray
    weights: np.ndarray | None = None
    columns: np.ndarray | None = None

    def add(self, other: NodeTables) -> NodeTables:
        """The tables of both, of the same nodes."""
        return NodeTables(
            self.counts + other.counts,
            None if self.weights is None or other.weights is None else self.weights + other.weights,
            None if self.columns is None or other.columns is None else self.columns + other.columns,
        )


class RowStore(Protocol):
    """The rows of one growth.  All of them are in node 0 at first.

    n_columns : (optional) how many columns of the criterion's own are in its tables
        (``InParts.columns``).

    Sums are exact where every weight (and target) is a whole number, or a whole number of some
    power of two, whatever their order.  Elsewhere a store adds up in the order of rows if it wants
    the tree of ``rows=memory`` to the last bit.
    """

    @property
    def n_rows(self) -> int:
        """Rows in all."""

    @property
    def total_weight(self) -> float:
        """What they weigh."""

    @property
    def units(self) -> bool:
        """Whether every row weighs 1."""

    @property
    def exact(self) -> bool:
        """Whether sums of weights round in no order
        (:func:`arboretum.rows.values.adds_exactly`): then a node's table less those of all its
        children but one is that of the last.
        """

    @property
    def shift(self) -> float:
        """What targets are taken less of before moments are added up: their mean; 0 for classes."""

    def totals(self, nodes: Sequence[int]) -> NodeTotals:
        """What the rows of these nodes add up to.   nodes : ascending; of the last level."""

    def tables(self, nodes: Sequence[int]) -> NodeTables:
        """Their rows by bin.   nodes : ascending; of the last level."""

    def split(self, splits: Sequence[NodeSplit]) -> None:
        """Send the rows of these nodes to the nodes below, all nodes of a level at once.
        splits : by ascending node.
        """


@attrs.frozen(eq=False)
class Opened:
    """Rows where they lie, coded.

    objects : a few rows of the same kind (:meth:`arboretum.rows.sketch.Sketch.encode`): the
        features of all, prices go by them.
    sha256 : of the table's canonical content, as ``Table.sha256`` has it.
    approximate : columns with more values than ``objects`` show.
    release : gives back what the store holds; may be called twice.
    visit : calls a function with every item of a list, where rows lie, and yields what it returned,
        in order; the tree is verified by it, and the items are the parts of the data, in order.
        Function and items can be pickled.  ``map``: this process reads them.
    notes : what a reader of the record should know of the store, asked once the tree is grown and
        verified.
    """

    store: RowStore
    objects: Encoded
    sha256: str
    approximate: frozenset[str] = frozenset()
    release: Callable[[], None] = lambda: None
    visit: Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]] = map
    notes: Callable[[], tuple[str, ...]] = lambda: ()


class Rows(Component, Protocol):
    """Where the rows of one growth lie.

    whole : the run loads one table, and grows in its memory; ``open`` is asked by nobody.
    keeps_roles : (optional) roles of rows are in its checksum, and ``InParts.columns`` in its
        tables; where it does not say so, rows with roles are refused, or read without them.
    """

    @property
    def whole(self) -> bool:
        """Whether rows are loaded as one table."""

    def open(
        self,
        data: InParts,
        encoder: Encoder,
        seed: int,
        about: float | None,
        progress: Callable[[float, float | None, str], None],
    ) -> Opened:
        """Read the parts, code their columns, and hold the codes.

        about : what targets are taken less of; None: their mean.
        progress : as of a :class:`~arboretum.interfaces.method.Context`.
        Raises DataError, naming a part that cannot be read or has other columns; CapabilityError
        for an encoder that must see all rows at once; StoreError where there is no room.
        """


class RowsWithNeeds(Protocol):
    """Optional for a kind of rows: it needs what may not be installed."""

    def check_installed(self) -> None:
        """Raise CapabilityError, naming what is missing and how to get it; asked before any data
        are read.
        """
