"""What an encoder must know of columns that are read part by part: their distinct values, or, where
these are too many, quantiles.  Sketches of parts can be merged, so that parts may lie anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import attrs
import numpy as np

from arboretum.errors import CapabilityError, sure
from arboretum.interfaces.dataset import InParts, Part
from arboretum.interfaces.encoder import Encoder
from arboretum.model.encoded import Encoded
from arboretum.model.missing import MISSING
from arboretum.model.table import Checksum, Column, ColumnKind, Table, Target
from arboretum.rows.values import distinct_with_codes

SIZE = 4096
"""Numbers of a buffer: the more, the smaller the error of ranks."""
COUNTED = 1 << 20


@attrs.define(eq=False)
class QuantileSketch:
    """Quantiles of numbers that pass by once, in memory for some buffers, mergeable.

    Two full buffers of numbers that stand for w each become one: sorted together, every other
    number stays, and stands for 2w.  That moves the rank of any number by at most w, and the one
    kept alternates.  So a rank is wrong by at most ``error`` of all numbers: ⌈log₂(n / 4096)⌉ /
    8192 for n of them (0.15 % for 20 million), and in practice by a tenth of that.

    levels : of each power of two w its buffers, float64[k] ascending.
    rest : float[< 2 · SIZE], numbers that have not been sorted yet.
    n : numbers in all.   moved : Σ of w over all pairs that became one.
    """

    levels: list[list[np.ndarray]] = attrs.field(factory=list)
    rest: np.ndarray = attrs.field(factory=lambda: np.zeros(0))
    n: int = 0
    moved: int = 0

    @property
    def error(self) -> float:
        """By what share of the numbers a rank may be wrong, at most."""
        return self.moved / max(1, self.n)

    def add(self, values: np.ndarray) -> None:
        """Take more numbers in.   values : float[·], none NaN."""
        self.n += len(values)
        self._take_in(values)

    def merge(self, other: QuantileSketch) -> None:
        """Take in what another one has seen."""
        self.n += other.n
        self.moved += other.moved
        for level, buffers in enumerate(other.levels):
            self._level(level).extend(buffers)
        self._take_in(other.rest)

    def quantiles(self, count: int) -> np.ndarray:
        """Return float[≤ count], ascending and distinct: the numbers of rank (k + ½) / count, the
        least and the largest seen among those kept.
        """
        held = [self.rest, *(buffer for level in self.levels for buffer in level)]
        weigh = [np.ones(len(self.rest))]
        weigh += [
            np.full(SIZE, 2.0 ** (k + 1)) for k, level in enumerate(self.levels) for _ in level
        ]
        values, weight = np.concatenate(held), np.concatenate(weigh)
        order = np.argsort(values, kind="stable")
        rank = np.cumsum(weight[order])
        wanted = (np.arange(count) + 0.5) / count * rank[-1]
        return np.unique(values[order][np.searchsorted(rank, wanted)])

    def _level(self, level: int) -> list[np.ndarray]:
        while len(self.levels) <= level:
            self.levels.append([])
        return self.levels[level]

    def _take_in(self, values: np.ndarray) -> None:
        """Sort what fills buffers, and halve those that are two of a kind."""
        self.rest = np.concatenate([self.rest.astype(values.dtype, copy=False), values])
        full = len(self.rest) // (2 * SIZE)
        if full:
            pairs = self.rest[: full * 2 * SIZE].reshape(full, 2 * SIZE)
            self.rest = self.rest[full * 2 * SIZE :].copy()
            self._level(0).extend(self._compact(pairs, 1))
        level = 0
        while level < len(self.levels):
            buffers = self.levels[level]
            if (k := len(buffers) // 2) > 0:
                pairs = np.stack(buffers[: 2 * k]).reshape(k, 2 * SIZE)
                del buffers[: 2 * k]
                self._level(level + 1).extend(self._compact(pairs, 2 << level))
            level += 1

    def _compact(self, pairs: np.ndarray, weight: int) -> list[np.ndarray]:
        """Every other number of each pair of buffers, the first and the second in turn.

        pairs : float[·, 2 · SIZE].   weight : what a number of them stands for.
        """
        begin = np.arange(len(pairs)) + self.moved // weight
        self.moved += weight * len(pairs)
        ordered = np.sort(pairs, axis=1)
        return [row[int(b) % 2 :: 2].copy() for row, b in zip(ordered, begin, strict=True)]


@attrs.define(eq=False)
class ColumnSketch:
    """What is known of a column.

    most : distinct numbers that are kept; of more of them quantiles are.
    missing : rows without a value.
    values : float[k] (int64, codes, of categories), ascending: the distinct values.
    counts : int64[k], rows of each.
    quantiles : of the numbers, where they are more; then there are no ``values``.
    """

    most: int
    missing: int = 0
    values: np.ndarray = attrs.field(factory=lambda: np.zeros(0))
    counts: np.ndarray = attrs.field(factory=lambda: np.zeros(0, np.int64))
    quantiles: QuantileSketch | None = None

    def add(self, column: Column) -> np.ndarray | None:
        """Take in the rows of a part; return ints[n], the position of each row's value in
        ``values`` as they are then (their number: missing); None where quantiles are kept.
        """
        gone = column.missing
        self.missing += int(gone.sum())
        if not column.is_continuous:
            counts = np.bincount(column.values[~gone], minlength=len(column.categories))
            there = np.flatnonzero(counts)
            self._take_in(there, counts[there])
            place = np.searchsorted(self.values, column.values)
            return np.where(gone, len(self.values), place)
        if self.quantiles is None:
            known = self.values if len(self.values) else None
            found = distinct_with_codes(column.values, self.most, known)
            if found is not None:
                values, codes = found
                rows = np.bincount(codes, minlength=len(values) + 1)[: len(values)]
                before, self.values = self.counts, values
                place = np.searchsorted(values, known) if known is not None else np.zeros(0, int)
                self.counts = rows
                self.counts[place] += before
                return codes
            self._keep_quantiles()
        sure(self.quantiles).add(column.values[~gone])
        return None

    def merge(self, other: ColumnSketch) -> None:
        """Take in what another one, of the same column, has seen."""
        self.missing += other.missing
        if self.quantiles is None and other.quantiles is None:
            self._take_in(other.values, other.counts)
            if self.values.dtype.kind == "i" or len(self.values) <= self.most:
                return
        self._keep_quantiles()
        kept = sure(self.quantiles)
        if other.quantiles is not None:
            kept.merge(other.quantiles)
        elif len(self.values):
            self._add_counted(other.values, other.counts)

    def example(self, column: Column, n: int) -> Column:
        """Return the column with ``n`` rows that show each of its values, quantiles in place of
        values that are too many; each at least twice, unless no row shares its value with another.

        column : of the schema, without rows.
        """
        some = self.values if self.quantiles is None else self.quantiles.quantiles(self.most)
        missing = MISSING if some.dtype.kind == "i" else np.nan
        shown = np.append(some, [missing] * (self.missing > 0))
        if not len(shown):
            shown = np.array([missing])
        unlike = some.dtype.kind == "i" and bool((self.counts == 1).all())
        rows = np.resize(shown, n)
        if unlike:  # each value once, as in the table: an identifier
            rows[len(shown) :] = missing
        return attrs.evolve(column, values=rows)

    @property
    def shows(self) -> int:
        """Rows that its values, and none, take once."""
        return (len(self.values) if self.quantiles is None else self.most) + 1

    def _take_in(self, values: np.ndarray, counts: np.ndarray) -> None:
        together = np.union1d(self.values.astype(values.dtype, copy=False), values)
        rows = np.zeros(len(together), np.int64)
        rows[np.searchsorted(together, self.values)] += self.counts
        rows[np.searchsorted(together, values)] += counts
        self.values, self.counts = together, rows

    def _keep_quantiles(self) -> None:
        """From distinct values to quantiles, once they are too many."""
        if self.quantiles is None:
            self.quantiles = QuantileSketch()
            self._add_counted(self.values, self.counts)
            self.values, self.counts = np.zeros(0), np.zeros(0, np.int64)

    def _add_counted(self, values: np.ndarray, counts: np.ndarray) -> None:
        """Add counted values, a million rows at a time."""
        ends = np.cumsum(counts)
        for first in range(0, int(ends[-1]) if len(ends) else 0, COUNTED):
            rows = np.arange(first, min(first + COUNTED, int(ends[-1])))
            sure(self.quantiles).add(values[np.searchsorted(ends, rows, side="right")])


@attrs.define(eq=False)
class Sketch:
    """What is known of all columns of a table.

    schema : the table without rows.
    columns : one per column.
    """

    schema: Table
    columns: tuple[ColumnSketch, ...]

    @staticmethod
    def of(schema: Table, most: int) -> Sketch:
        """Begin with no row.   most : distinct numbers of a column that are kept."""
        return Sketch(schema, tuple(ColumnSketch(most) for _ in schema.columns))

    def add(self, table: Table) -> None:
        """Take in the rows of a part."""
        for own, column in zip(self.columns, table.columns, strict=True):
            own.add(column)

    def merge(self, other: Sketch) -> None:
        """Take in what another one, of the same table, has seen."""
        for own, theirs in zip(self.columns, other.columns, strict=True):
            own.merge(theirs)

    def example(self) -> Table:
        """Return a table of few rows that shows what the sketch knows: every value of every column
        (quantiles where they are too many), and every class.
        """
        n = 2 * max((own.shows for own in self.columns), default=1)
        n = max(n, 2 * self.schema.n_classes, 2)
        columns = [
            own.example(column, n)
            for own, column in zip(self.columns, self.schema.columns, strict=True)
        ]
        target = self.schema.target
        if self.schema.is_classification:
            codes = np.resize(np.arange(self.schema.n_classes), n).astype(np.int32)
            target = attrs.evolve(target, codes=codes)
        else:
            target = attrs.evolve(target, values=np.resize([0.0, 1.0], n))
        return attrs.evolve(
            self.schema,
            columns=tuple(columns),
            target=target,
            weights=None if self.schema.weights is None else np.ones(n),
            groups=None,
            roles={role: np.ones(n) for role in self.schema.roles},
        )

    def check(self, encoder: Encoder) -> None:
        """Raise CapabilityError for an encoder that must see all rows (``needs_rows``), or does not
        say.
        """
        ask = getattr(encoder, "needs_rows", None)
        if why := "it does not say which values it looks at" if ask is None else ask(self.schema):
            raise CapabilityError(
                f"encoder {encoder.name!r} cannot code rows part by part: {why}; use rows=memory, "
                "or encoder=midpoints"
            )

    def encode(self, encoder: Encoder, seed: int) -> Encoded:
        """Let an encoder make its features of what the sketch knows: few rows, the features of all.

        Raises CapabilityError as :meth:`check`.
        """
        self.check(encoder)
        table = self.example()
        return encoder.encode(table, table, raw_thresholds=False, seed=seed)

    def approximate(self) -> frozenset[str]:
        """Names of the columns that are cut at quantiles."""
        return frozenset(
            column.name
            for own, column in zip(self.columns, self.schema.columns, strict=True)
            if own.quantiles is not None
        )

    def notes(self) -> tuple[str, ...]:
        """A sentence per column whose cuts are quantiles."""
        return tuple(
            f"column {column.name!r} has more than {own.most} values: it is cut at quantiles, each "
            f"within {own.quantiles.error + 0.5 / own.most:.2%} of its rank"
            for own, column in zip(self.columns, self.schema.columns, strict=True)
            if own.quantiles is not None
        )


def checksum_of(
    data: InParts, seen: Callable[[int, np.ndarray], None] = lambda part, values: None
) -> str:
    """Return the checksum of a data set's table (``Table.sha256``), read column after column.

    seen : is told the number of a part and what was read of it: each column, the target, weights.
    """
    checksum, schema = Checksum(), data.schema

    def take_in(what: Column | Target | None, read: Callable[[Part], np.ndarray]) -> None:
        checksum.begin(what)
        for k, part in enumerate(data.parts):
            values = read(part)
            checksum.add(values)
            seen(k, values)

    for column in schema.columns:
        take_in(column, partial(values_of, name=column.name))
    take_in(schema.target, lambda part: target_values(part.target()))
    if schema.weights is not None:
        take_in(None, lambda part: part.weights())
    for role in sorted(schema.roles):
        own = Column(role, ColumnKind.continuous, schema.roles[role])
        take_in(own, partial(role_of, name=role))
    return checksum.sha256


def values_of(part: Part, name: str) -> np.ndarray:
    """Return float64[n] or int32[n], a column of a part."""
    return part.column(name).values


def role_of(part: Part, name: str) -> np.ndarray:
    """Return float64[n], a role of a part."""
    return part.role(name)


def target_values(target: Target) -> np.ndarray:
    """Return int32[n] codes of classes, or float64[n] numbers."""
    return target.codes if target.is_classification else target.values
