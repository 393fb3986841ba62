"""What an actor does: it holds the codes of some parts, and counts them."""

from __future__ import annotations

import functools
import itertools
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import attrs
import numpy as np

from arboretum.api import (
    Chunk,
    CodedRows,
    DataError,
    NodeSplit,
    NodeTables,
    NodeTotals,
    Sketch,
    StoreError,
    Table,
    adds_exactly,
    rows_of_arrays,
)
from arboretum_ray.order import Span, add_up

if TYPE_CHECKING:
    from arboretum.interfaces.dataset import Part
    from arboretum.model.encoded import Feature

T = TypeVar("T")
P = ParamSpec("P")
Held = TypeVar("Held")
Columns = Callable[[Table, np.ndarray], np.ndarray]
"""Of rows' shares of the weight what they add to a criterion's own columns."""


@attrs.frozen
class Place:
    """Where an actor lives.   version : of the laboratory there."""

    node: str
    version: str


@attrs.frozen
class Moments:
    """Of one part: its weight, and Σ of weight times target (0 for classes)."""

    weight: float
    target: float


@attrs.frozen
class Size:
    """Of one part, coded: what a row store says of its rows.

    columns : Σ of the absolute values of the criterion's own columns; ∞ where sums of them round.
    n_columns : of these.
    """

    n_rows: int
    total_weight: float
    units: bool
    exact: bool
    columns: float
    n_columns: int


@attrs.frozen(eq=False)
class PartSketches:
    """What some parts look like: sketches of spans of them, and the moments of each."""

    sketches: Mapping[Span, Sketch]
    moments: tuple[Moments, ...]


def node_name() -> str:
    """The address of the node that this runs on."""
    import ray

    return str(ray.util.get_node_ip_address())


def version_here() -> str:
    """The version of the laboratory in this process."""
    return str(vars(sys.modules["arboretum"])["__version__"])


def merged(one: Sketch, other: Sketch) -> Sketch:
    """The first, that has taken in the second."""
    one.merge(other)
    return one


def on_node(method: Callable[P, T]) -> Callable[P, T]:
    """Let errors say on which node they came up, in one line."""

    @functools.wraps(method)
    def wrapped(*words: P.args, **more: P.kwargs) -> T:
        try:
            return method(*words, **more)
        except (DataError, StoreError) as error:
            raise type(error)(f"node {node_name()}: {error}") from None
        except MemoryError:
            raise StoreError(
                f"node {node_name()} has no memory left for its rows; more actors hold fewer each "
                "(rows.actors)"
            ) from None

    return wrapped


def checksum_of_values(values: np.ndarray, before: int = 0) -> int:
    """A quick checksum, by which two readers of a part see that they read the same."""
    return zlib.crc32(np.ascontiguousarray(values).view(np.uint8).data, before)


class RowActor:
    """An actor's object.

    stores : the codes, of each part or (once ``join`` was asked) of all.
    """

    def __init__(self, parts: Sequence[Part], mine: Span, all_parts: Span, schema: Table):
        self.parts, self.mine, self.all_parts, self.schema = parts, mine, all_parts, schema
        self.stores: list[CodedRows] = []

    def place(self) -> Place:
        """Say where it is."""
        return Place(node_name(), version_here())

    @on_node
    def sketch(self, most: int) -> PartSketches:
        """What an encoder must know.   most : values of a column that are kept."""
        moments = list[Moments]()

        def sketch_of(part: Part) -> Sketch:
            table, sketch = part.load(), Sketch.of(self.schema, most)
            sketch.add(table)
            weight = table.row_weights()
            target = float(weight @ table.target.values) if table.is_regression else 0.0
            moments.append(Moments(float(weight.sum()), target))
            return sketch

        return PartSketches(self._by_span(self.parts, sketch_of, merged), tuple(moments))

    @on_node
    def code(
        self,
        features: tuple[Feature, ...],
        shift: float,
        checksums: Sequence[int],
        columns: Columns | None,
        total: float,
    ) -> list[Size]:
        """Code all parts.

        checksums : what the driver read of each; an actor that reads anything else raises
            DataError.
        columns : as of ``InParts``.   total : the weight of all rows.
        """
        sizes = []
        self.stores = []
        for k, part in enumerate(self.parts, self.mine.first):
            table = self._read(part, checksums[k])
            own = self._columns_of(table, part, columns, total)
            store = self._coded(table, features, shift, own)
            exact = adds_exactly(np.abs(own.ravel()))
            added = float(np.abs(own).sum()) if exact else np.inf
            sizes.append(
                Size(
                    store.n_rows,
                    store.total_weight,
                    store.units,
                    store.exact,
                    added,
                    store.n_columns,
                )
            )
            self.stores.append(store)
        return sizes

    def _columns_of(
        self, table: Table, part: Part, columns: Columns | None, total: float
    ) -> np.ndarray:
        """float64[n, k], what rows add to the criterion's own columns; float64[0] for nothing."""
        if columns is None:
            return np.zeros(0)
        bare = attrs.evolve(
            self.schema,
            columns=(),
            target=table.target,
            weights=table.weights,
            roles=table.roles,
        )
        try:
            found = columns(bare, table.row_weights() / total)
        except DataError as error:
            raise DataError(f"{part.name}: {error}") from error
        if len(found) != table.n_rows:
            raise DataError(
                f"{part.name} has {table.n_rows} rows, and {len(found)} come of its columns"
            )
        return np.asarray(found, np.float64)

    def _read(self, part: Part, wanted: int) -> Table:
        """A part's table.  Raises DataError where its checksum is another."""
        table = part.load()
        target = table.target.codes if table.is_classification else table.target.values
        read = [*(column.values for column in table.columns), target]
        read += [] if table.weights is None else [table.weights]
        read += [table.roles[role] for role in sorted(table.roles)]  # as the driver reads them
        if functools.reduce(lambda found, values: checksum_of_values(values, found), read, 0) != (
            wanted
        ):
            raise DataError(
                f"{part.name} holds other values here than where the run began; all nodes need "
                "the same file"
            )
        return table

    def _coded(
        self, table: Table, features: tuple[Feature, ...], shift: float, columns: np.ndarray
    ) -> CodedRows:
        classes = table.is_classification
        target = table.target.codes if classes else table.target.values
        kind = np.uint8 if max(f.n_bins + f.has_missing for f in features) <= 256 else np.uint16
        codes = np.empty((len(features), table.n_rows), kind)
        for own, feature in zip(codes, features, strict=True):
            own[:] = feature.codes(table.column(feature.column))
        weight, n_classes = table.row_weights(), self.schema.n_classes
        return rows_of_arrays(features, n_classes, codes, target, weight, shift, columns=columns)

    def join(self) -> None:
        """Take all parts as one from now on: their sums do not round, in whatever order, or are
        asked for in the order of rows.
        """
        stores, first = self.stores, self.stores[0]

        def chunks() -> Iterator[Chunk]:
            return itertools.chain.from_iterable(one.chunks() for one in stores)

        whole = CodedRows(
            features=first.features,
            n_classes=first.n_classes,
            n_rows=sum(one.n_rows for one in stores),
            total_weight=sum(one.total_weight for one in stores),
            units=all(one.units for one in stores),
            exact=all(one.exact for one in stores),
            shift=first.shift,
            chunks=chunks,
            n_columns=max(one.n_columns for one in stores),
        )
        self.stores = [whole]

    @on_node
    def totals(self, nodes: Sequence[int]) -> dict[Span, NodeTotals]:
        """What the rows of these nodes add up to."""
        return self._by_span(self.stores, lambda one: one.totals(nodes), NodeTotals.add)

    @on_node
    def tables(self, nodes: Sequence[int], units: bool) -> dict[Span, NodeTables]:
        """Their rows by bin."""
        return self._by_span(self.stores, lambda one: one.tables(nodes, units), NodeTables.add)

    @on_node
    def totals_after(self, nodes: Sequence[int], before: NodeTotals | None) -> NodeTotals:
        """What they add up to with the rows before these, in the order of rows; once joined."""
        return self.stores[0].totals(nodes, before)

    @on_node
    def tables_after(
        self, nodes: Sequence[int], units: bool, before: NodeTables | None
    ) -> NodeTables:
        """The same by bin."""
        return self.stores[0].tables(nodes, units, before)

    @on_node
    def split(self, splits: Sequence[NodeSplit]) -> None:
        """Send the rows of these nodes to the nodes below."""
        for store in self.stores:
            store.split(splits)

    @on_node
    def visit(self, function: Callable[[Held], T], items: Sequence[Held]) -> list[T]:
        """What a function says of each item."""
        return [function(item) for item in items]

    def _by_span(
        self,
        held: Sequence[Held],
        ask: Callable[[Held], T],
        add: Callable[[T, T], T],
    ) -> dict[Span, T]:
        """Answers of what is held, added up over the largest spans."""
        if len(held) == 1:
            return {self.mine: ask(held[0])}

        def known(span: Span) -> T | None:
            single = span.stop == span.first + 1
            return ask(held[span.first - self.mine.first]) if single else None

        return {span: add_up(span, known, add) for span in self.all_parts.largest_within(self.mine)}
