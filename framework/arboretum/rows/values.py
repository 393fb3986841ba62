"""Numbers → bins and distinct values, in blocks that stay in the cache; NumPy alone, so that a
short column waits for no compiler.

A binary search takes some 35 ns a value, as the processor guesses every turn of it wrongly.  Here
values are put into equal cells first: ``cell(x) = ⌊(x − low) · scale⌋`` rises with x in floating
point, too, so edges in lower cells are below x, edges in higher ones are not, and only those of
x's own cell are compared.
"""

from __future__ import annotations

import attrs
import numpy as np

BLOCK = 1 << 15
"""Values of a block: with its cells and codes half a megabyte."""
CELLS = 1 << 12
CROWDED = 6
"""Edges in one cell beyond which a binary search is as quick."""
MOST_DISTINCT = 4096
"""Distinct values of a column up to which its rows are coded as they are met."""


@attrs.frozen(eq=False)
class Grid:
    """Edges with the cells that they lie in.

    edges : float[k], ascending, then ∞.
    below : int32[cells], the number of edges in lower cells.
    crowd : most edges in one cell; 0: the cells are of no use, and a binary search is.
    """

    edges: np.ndarray
    low: float
    scale: float
    below: np.ndarray
    crowd: int

    @staticmethod
    def of(edges: np.ndarray) -> Grid:
        """Lay the cells.   edges : float[k], ascending, finite."""
        padded = np.append(edges, edges.dtype.type(np.inf))
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            width = edges[-1] - edges[0] if len(edges) > 1 else edges.dtype.type(1)
            scale = edges.dtype.type(CELLS - 1) / width
        none = Grid(padded, 0.0, 0.0, np.zeros(0, np.int32), 0)
        if not len(edges) or not (np.isfinite(scale) and np.isfinite(width) and scale > 0):
            return none
        grid = Grid(padded, edges[0], scale, np.zeros(0, np.int32), 0)
        count = np.bincount(grid.cells(edges), minlength=CELLS)
        crowd = int(count.max())
        below = (np.cumsum(count) - count).astype(np.int32)
        return none if crowd > CROWDED else attrs.evolve(grid, below=below, crowd=crowd)

    def cells(self, values: np.ndarray) -> np.ndarray:
        """Return int32[n]: the cell of each value, which must not be NaN."""
        with np.errstate(over="ignore"):  # beyond the last cell, and clipped to it
            place = values - self.low
            place *= self.scale
        np.clip(place, 0, CELLS - 1, out=place)
        return place.astype(np.int32)

    def bins(self, values: np.ndarray) -> np.ndarray:
        """Return int[n]: how many edges are below each value; NaN is above all of them."""
        if not self.crowd:
            return np.searchsorted(self.edges[:-1], values, side="left")
        gone = np.isnan(values)
        some = bool(gone.any())
        if some:
            values = np.where(gone, self.low, values)
        # a cell is a position here, and codes are below the number of edges: nothing is clipped
        code = self.below.take(self.cells(values), mode="clip")
        for _ in range(self.crowd):
            code += values > self.edges.take(code, mode="clip")
        if some:
            code[gone] = len(self.edges) - 1
        return code


def bins_of(
    values: np.ndarray, edges: np.ndarray, missing: int, dtype: type = np.int64
) -> np.ndarray:
    """Return ints[n]: the bin of each value, ``edges[k − 1] < value ≤ edges[k]``; ``missing`` for
    NaN.

    values : float[n].   edges : float[k], ascending; none: all values lie in bin 0.
    """
    wide = np.result_type(values, edges) if len(edges) else values.dtype
    grid = Grid.of(edges.astype(wide, copy=False))
    found: np.ndarray = np.empty(len(values), dtype)
    for start in range(0, len(values), BLOCK):
        part = values[start : start + BLOCK].astype(wide, copy=False)
        code = grid.bins(part)
        if (gone := np.isnan(part)).any():
            code[gone] = missing
        found[start : start + BLOCK] = code
    return found


@attrs.frozen(eq=False)
class Distinct:
    """The distinct values of a column, and where each row's stands among them.

    values : float[k], ascending, without NaN.
    counts : int64[k], rows of each.
    codes : uint16[n], a row's position in ``values``, k for NaN; empty where there are more than
        MOST_DISTINCT values, which are counted by sorting.
    """

    values: np.ndarray
    counts: np.ndarray
    codes: np.ndarray

    @staticmethod
    def of(column: np.ndarray) -> Distinct:
        """Find and count them.   column : float[n], NaN = missing; 0.0 and −0.0 are one value."""
        found = distinct_with_codes(column)
        if found is None:
            values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
            return Distinct(values, counts, np.zeros(0, np.uint16))
        values, codes = found
        counts = np.bincount(codes, minlength=len(values) + 1)[: len(values)]
        return Distinct(values, counts, codes)

    def bins(self, edges: np.ndarray, missing: int) -> np.ndarray:
        """Return ints[n]: :func:`bins_of` of the rows, by their distinct values; they must have
        codes.
        """
        by_value = bins_of(self.values, edges, missing)
        kind = np.uint8 if max(len(edges), missing) < 1 << 8 else np.uint16
        table = np.append(by_value, missing).astype(kind)
        # a position that every code is below: nothing is clipped
        return table.take(self.codes, mode="clip")


def distinct_with_codes(
    column: np.ndarray, most: int = MOST_DISTINCT, known: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return (float[k] ascending, uint16[n] position of each row's value, k for NaN); None where
    there are more than ``most`` values.

    known : float[·], ascending, values that are among them whether a row has them or not.

    A block is coded by the values known so far; where one is new they become more, and the codes
    written before are told apart by how many there were then.
    """
    known = _distinct(column[:BLOCK]) if known is None else known
    codes = np.empty(len(column), np.uint16)
    begins, versions = [0], [known]
    grid = Grid.of(known)
    for start in range(0, len(column), BLOCK):
        part = column[start : start + BLOCK]
        code = grid.bins(part)
        met = (grid.edges.take(code, mode="clip") == part) & (code < len(known))
        if not met.all() and not (met | np.isnan(part)).all():
            known = np.union1d(known, _distinct(part[~met]))
            if len(known) > most:
                return None
            grid = Grid.of(known)
            begins.append(start)
            versions.append(known)
            code = grid.bins(part)
        if (gone := np.isnan(part)).any():
            code[gone] = len(known)
        codes[start : start + BLOCK] = code
    if len(known) > most:
        return None
    for version, first, stop in zip(versions, begins, [*begins[1:], len(column)], strict=True):
        if len(version) < len(known):
            table = np.append(np.searchsorted(known, version), len(known)).astype(np.uint16)
            codes[first:stop] = table[codes[first:stop]]
    return known, codes


def _distinct(values: np.ndarray) -> np.ndarray:
    """Return float[k], ascending, without NaN."""
    found = np.unique(values)
    known: np.ndarray = found[~np.isnan(found)] + found.dtype.type(0)  # −0.0 becomes 0.0
    return known


FINEST = 20
"""Powers of two of which weights may be whole numbers: 2⁻²⁰ is a millionth."""


def adds_exactly(weights: np.ndarray) -> bool:
    """Return whether sums of these weights round in no order: they are whole numbers of 2⁻²⁰, and
    all together stay below 2⁵³ of them.

    weights : float64[n] ≥ 0.
    """
    scaled = weights * 2.0**FINEST
    return bool((scaled == np.floor(scaled)).all() and scaled.sum() < 2.0**53)
