"""Predicates of one column each: thresholds, categories, random thresholds; and what all predicates
share.

Costs are told with n rows at the node and p columns.
"""

import zlib
from collections.abc import Iterator, Sequence

import attrs
import numpy as np

from arboretum.api import (
    CodedTests,
    Column,
    ColumnKind,
    Encoded,
    Equals,
    Family,
    OrdinalThreshold,
    Threshold,
    Values,
    param,
    to_bins,
)

HANDLES = ("classification", "regression", "multiclass", "weights", "missing", "multiway")
ALL = 0
HOW_MANY = "columns drawn anew at every node; 0: all"


def columns_of(objects: Encoded, rows: np.ndarray, seed: int, most: int = ALL) -> list[Column]:
    """Return the columns that the encoder left, with the values of a node's objects, in the order
    of the raw table.

    rows : int64[k], objects of the node.
    most : so many of them, drawn by the seed and the rows; ALL takes all.
    """
    position = {feature.column: feature.position for feature in objects.all_features}
    names = sorted(position, key=position.__getitem__)
    if most and most < len(names):
        drawn = generator_of(seed, rows).choice(len(names), most, replace=False)
        names = [names[i] for i in sorted(drawn)]
    own = objects.row_of_object[rows]
    return [objects.table.column(name).take(own) for name in names]


def generator_of(seed: int, rows: np.ndarray) -> np.random.Generator:
    """Draws that depend on the seed and on which rows a node has, not on their order."""
    return np.random.default_rng(
        [seed, len(rows), zlib.crc32(np.sort(rows).astype("<i8").tobytes())]
    )


def ranks(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (int64[k], float64[m]): the bin of each value between the m midpoints of distinct
    neighbours; NaN has bin m + 1.

    values : float[k].
    """
    from arboretum.api import midpoints

    values = values.astype(float)
    seen, codes = np.unique(values, return_inverse=True)
    seen = seen[~np.isnan(seen)]
    return np.where(np.isnan(values), max(len(seen), 1), codes), midpoints(
        np.stack([seen[:-1], seen[1:]], axis=1)
    )


def ranks_of_few_bins(values: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return :func:`ranks` of ``values`` with ``most`` bins at most: of more distinct values the
    midpoints that divide the rows most evenly.
    """
    codes, cuts = ranks(values)
    if len(cuts) < most:
        return codes, cuts
    # rows on the left of each cut
    below = np.cumsum(np.bincount(codes, minlength=len(cuts) + 2)[: len(cuts)])
    known = np.count_nonzero(codes <= len(cuts))
    kept = np.unique(
        np.searchsorted(below, known * np.arange(1, most) / most).clip(0, len(cuts) - 1)
    )
    return np.where(
        codes > len(cuts), len(kept) + 1, np.searchsorted(kept, codes, side="left")
    ), cuts[kept]


def thresholds(column: Column, codes: np.ndarray, cuts: np.ndarray) -> CodedTests:
    """Return the tests "at most" of a column of numbers at some cuts.

    cuts : float64[m], ascending.
    codes : int64[rows], the bin of each value between the cuts; m + 1 without a value.
    """
    rule = lambda _, index: Threshold(column.name, float(cuts[index]), column.unit)
    return CodedTests(
        (column.name,),
        Family.thresholds,
        [len(cuts) + 1],
        lambda first, stop: codes[None][first:stop],
        rule,
    )


@attrs.frozen
class Thresholds:
    """Every threshold between neighbouring values at the node, of numbers and of ordered
    categories; O(p n log n) per node.

    Those of all raw columns are growth's own, with the test between known and missing values: use
    it beside other predicates, or with ``columns``.
    """

    kind, name, paper, capabilities = "predicate", "threshold", "", HANDLES

    columns: int = param(ALL, HOW_MANY, ge=0)

    @property
    def beside_raw(self) -> bool:
        """Whether growth's own thresholds on raw columns compete, too: if ``columns`` is 0."""
        return self.columns == ALL

    def candidates(self, objects: Encoded, rows: np.ndarray, seed: int) -> Sequence[CodedTests]:
        """Return all thresholds at the node, one code per column of numbers or of ordered
        categories.

        Those of raw columns only where ``columns`` are drawn; else growth finds them.
        """
        raw = {feature.column for feature in objects.raw_features} if self.beside_raw else ()
        return [
            *self._tests(
                [
                    column
                    for column in columns_of(objects, rows, seed, self.columns)
                    if column.name not in raw
                ]
            )
        ]

    @staticmethod
    def _tests(columns: Sequence[Column]) -> Iterator[CodedTests]:
        """Yield the tests of columns of numbers and of ordered categories; none of other
        columns.
        """
        for column in columns:
            if column.is_continuous:
                yield thresholds(column, *ranks(column.values))
            elif column.kind is ColumnKind.ordinal and len(column.categories) > 1:
                yield _ordinal(column)


def _ordinal(column: Column) -> CodedTests:
    """Return the tests "at most" of a column of ordered categories, one code."""
    codes = to_bins(column.values, len(column.categories))
    rule = lambda _, index: OrdinalThreshold(column.name, column.categories, index)
    return CodedTests(
        (column.name,),
        Family.thresholds,
        [len(column.categories)],
        lambda first, stop: codes[None][first:stop],
        rule,
    )


@attrs.frozen
class RandomThresholds:
    """Thresholds drawn uniformly between the least and the greatest value at the node; O(p n) per
    node.

    With ``columns`` drawn, too, and no bootstrap, the trees of Geurts, Ernst & Wehenkel.
    """

    kind, name, capabilities = "predicate", "random", HANDLES
    paper = "Geurts, Ernst & Wehenkel 2006, table 1"

    draws: int = param(1, "thresholds drawn per column", ge=1)
    columns: int = param(ALL, HOW_MANY, ge=0)

    def candidates(self, objects: Encoded, rows: np.ndarray, seed: int) -> Sequence[CodedTests]:
        """Return up to ``draws`` thresholds of each column of numbers that varies at the node."""
        generator, found = generator_of(seed, rows), []
        for column in columns_of(objects, rows, seed, self.columns):
            known = column.values[~column.missing].astype(float)
            if not column.is_continuous or not len(known) or known.min() == known.max():
                continue
            cuts = np.unique(generator.uniform(known.min(), known.max(), self.draws))
            codes = np.searchsorted(cuts, column.values.astype(float), side="left")
            found.append(thresholds(column, np.where(column.missing, len(cuts) + 1, codes), cuts))
        return found


@attrs.frozen
class Categories:
    """Tests of categories at the node: each value against the rest, or one branch per value; O(p n)
    per node.

    A value that no row of the node has is none of the branches' own: rows that bring it later go as
    those without a value.
    """

    kind, name, paper, capabilities = "predicate", "categorical", "", HANDLES

    form: str = param(
        "one_vs_rest",
        "a category against the rest, or a branch for each",
        choices=("one_vs_rest", "multiway"),
    )
    columns: int = param(ALL, HOW_MANY, ge=0)

    def candidates(self, objects: Encoded, rows: np.ndarray, seed: int) -> Sequence[CodedTests]:
        """Return the tests of the categories at the node, one code per nominal or ordered column.

        A column with one category there offers none.
        """
        columns = columns_of(objects, rows, seed, self.columns)
        return [_categories(column, self.form) for column in columns if not column.is_continuous]


def _categories(column: Column, form: str) -> CodedTests:
    """Return the tests of the categories of a column that occur, one code; none where that is one.

    form : "one_vs_rest": a test per category; else one test with a branch each.
    """
    present = np.unique(column.values[~column.missing])
    names = tuple(column.categories[code] for code in present)
    codes = np.where(column.missing, len(present), np.searchsorted(present, column.values))
    family = Family.equals if form == "one_vs_rest" else Family.multiway
    rule = lambda _, index: (
        Equals(column.name, names[index]) if family is Family.equals else Values(column.name, names)
    )
    return CodedTests(
        (column.name,),
        family,
        [len(present)] * (len(present) > 1),
        lambda first, stop: codes[None][first:stop],
        rule,
    )
