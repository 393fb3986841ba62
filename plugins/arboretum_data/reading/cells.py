"""One column as a file holds it, before its kind is known.

Every reader hands over the same form: the distinct spellings of a column and a code per row.  Kinds are inferred from
the distinct spellings, so that a column of a million rows costs one look at each of its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs
import numpy as np

from arboretum.api import DataError


@attrs.frozen(eq=False)
class Cells:
    """A raw column: text (``values`` and ``codes``) or numbers.

    values : the distinct spellings.   codes : int32[n_rows] into ``values``, −1 = missing.
    numbers : float64[n_rows], NaN = missing, where the format is typed (Parquet), instead of the two.
    declared : the values of a nominal attribute in the order the file declares them (ARFF), or ().
    parsed : float64[len(values)], the values as numbers, where they are known.
    unit : of the numbers, where they are dates (as in :class:`arboretum.api.Column`).
    """

    name: str
    values: tuple[str, ...] = ()
    codes: np.ndarray | None = None
    numbers: np.ndarray | None = None
    declared: tuple[str, ...] = ()
    parsed: np.ndarray | None = None
    unit: str = ""

    @property
    def n_rows(self) -> int:
        return len(self.codes if self.numbers is None else self.numbers)

    def as_numbers(self) -> np.ndarray | None:
        """float64[n_rows] with NaN = missing, or None when some value is not a number."""
        if self.numbers is not None:
            return self.numbers
        parsed = parse_numbers(self.values) if self.parsed is None else self.parsed
        if parsed is None:
            return None
        return np.append(parsed, np.nan)[self.codes]

    def as_text(self) -> Cells:
        """The same column with its numbers spelled out (shortest form, whole numbers without ``.0``)."""
        if self.numbers is None:
            return self
        distinct, codes = np.unique(self.numbers, return_inverse=True)
        n_known = int(np.count_nonzero(~np.isnan(distinct)))
        codes = np.where(codes < n_known, codes, -1).astype(np.int32)
        spelled = tuple(str(int(v)) if v.is_integer() else repr(v) for v in distinct[:n_known].tolist())
        return attrs.evolve(self, values=spelled, codes=codes, numbers=None)


def parse_numbers(values: Sequence[str]) -> np.ndarray | None:
    """float64[len(values)], or None when some value is not a number ("1_000" and "nan" are not)."""
    try:
        parsed = np.array([float(value) for value in values], dtype=np.float64)
    except ValueError:
        return None
    return None if np.isnan(parsed).any() or any("_" in value for value in values) else parsed


def natural_order(values: Iterable[str]) -> list[str]:
    """Sort spellings as numbers where all are numbers, as text otherwise."""
    listed = list(values)
    parsed = parse_numbers(listed)
    if parsed is None:
        return sorted(listed)
    return [value for _, value in sorted(zip(parsed.tolist(), listed, strict=True))]


def text_cells(
    name: str, spellings: Sequence[str], codes: np.ndarray, missing: Sequence[str], declared: tuple[str, ...] = ()
) -> Cells:
    """Strip the spellings, merge those that become equal, and turn missing-value words into code −1.

    spellings : distinct values as the file has them.   codes : integers into ``spellings``, −1 allowed.
    """
    skip = frozenset(missing)
    position: dict[str, int] = {}
    lookup = np.full(len(spellings) + 1, -1, np.int32)
    for index, spelling in enumerate(spellings):
        value = spelling.strip()
        if value not in skip:
            lookup[index] = position.setdefault(value, len(position))
    return Cells(name, tuple(position), lookup[codes], declared=declared)


def factorise(name: str, column: Sequence[str], missing: Sequence[str], declared: tuple[str, ...] = ()) -> Cells:
    """Cells of a column given as one text per row."""
    position: dict[str, int] = {}
    codes = np.fromiter((position.setdefault(v, len(position)) for v in column), np.int32, len(column))
    return text_cells(name, list(position), codes, missing, declared)


def checked_header(names: Sequence[str], where: str) -> list[str]:
    """Names without surrounding blanks, empty ones numbered; raises DataError on a name that comes twice."""
    header = [name.strip() or f"column_{i + 1}" for i, name in enumerate(names)]
    seen: set[str] = set()
    for name in header:
        if name in seen:
            raise DataError(f"{where}: column name {name!r} comes twice; rename one of them in the file")
        seen.add(name)
    return header
