"""Two-way tests of categories, "is the value one of these?": searched at the node, beside
thresholds on raw columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import attrs
import numpy as np

from arboretum.api import (
    NO_OUTCOME,
    CodedTests,
    ColumnKind,
    DataError,
    Encoded,
    Family,
    Limits,
    Plain,
    Table,
    TestRule,
    by_code,
    is_missing,
    param,
)


@attrs.frozen
class Among(TestRule):
    """Outcome 0 is "the value is one of ``categories``", outcome 1 "one of ``others``"; with
    ``missing_outcome`` outcome 2 is "missing".

    Any other value, one that no training row of the node has, gets no outcome: the tree treats it
    as a missing one.
    """

    tag = "among"
    column: str
    categories: tuple[str, ...]
    others: tuple[str, ...]
    missing_outcome: bool = False

    def __attrs_post_init__(self) -> None:
        both = (*self.categories, *self.others)
        if not self.categories or not self.others or len(set(both)) < len(both):
            raise DataError(
                "Among.categories and Among.others must hold distinct values, one each at "
                f"least; got {self.categories} and {self.others}"
            )

    @property
    def arity(self) -> int:
        """2, or 3 with an outcome for missing values."""
        return 2 + self.missing_outcome

    def outcomes(self, table: Table, rows: np.ndarray) -> np.ndarray:
        """Return int32[len(rows)]: 0 where the value is one of ``categories``, 1 where of
        ``others``.

        A missing value has outcome 2 with ``missing_outcome``, else −1; any other value has −1.
        Raises DataError where the column is continuous in ``table``.
        """
        column = table.column(self.column)
        if column.is_continuous:
            raise DataError(
                f"column {self.column!r} is continuous here, but the tree asks for its "
                "categories; give it as text"
            )
        side = {value: k for k, part in enumerate((self.categories, self.others)) for value in part}
        lost = 2 if self.missing_outcome else NO_OUTCOME
        answers = [side.get(value, NO_OUTCOME) for value in column.categories]
        return by_code(answers, column.values[rows], lost, NO_OUTCOME, np.int32)

    def outcome_of(self, row: Plain) -> int:
        """Return 0 where the value of one row is one of ``categories``, 1 where of ``others``.

        A missing value has outcome 2 with ``missing_outcome``, else −1; any other value has −1.
        """
        value = row[self.column]
        if is_missing(value):
            return 2 if self.missing_outcome else NO_OUTCOME
        return 0 if value in self.categories else 1 if value in self.others else NO_OUTCOME

    def with_missing(self) -> Among | None:
        """Return the same test with outcome 2 for missing values; None where it has that
        already.
        """
        return None if self.missing_outcome else attrs.evolve(self, missing_outcome=True)

    def sql_conditions(self, name: Callable[[str], str], text: Callable[[str], str]) -> list[str]:
        """Per outcome its condition in SQL; NULL fulfils that of outcome 2 alone.

        name, text : a column's name, and a category → as SQL writes it.
        """
        sides = [
            f"{name(self.column)} IN ({', '.join(map(text, part))})"
            for part in (self.categories, self.others)
        ]
        return sides + [f"{name(self.column)} IS NULL"] * self.missing_outcome

    def outcome_label(self, outcome: int) -> str:
        """ "= almond" for one category, "in {almond, anise}" for several, "= missing"."""
        part = [self.categories, self.others, ("missing",)][outcome]
        return f"= {part[0]}" if len(part) == 1 else f"in {{{', '.join(part)}}}"


@attrs.frozen
class Subset:
    """Categories in two sets, as in CART; thresholds on raw columns compete beside, and the fixed
    tests of what else is coded.

    For two classes, and for numbers, the best of the 2^(b−1) − 1 ways to part the b categories at a
    node is along their order by the share of a class, or by the mean, for every impurity that is
    concave: b − 1 tests (Breiman et al. 1984, theorem 4.5).  For more classes all ways are tried up
    to ``exhaustive`` categories; above that those along the first principal component of the class
    shares, a heuristic (Coppersmith, Hong & Hosking 1999).  A column costs a pass over the rows of
    the node, or one for every way.

    Where a least leaf may forbid the best beginning (some category at the node has fewer rows, or
    less weight), all ways are tried up to ``exhaustive`` categories, whatever the target; above
    that the best beginning that it allows need not be the best set.
    """

    kind = "predicate"
    name = "subset"
    paper = "Breiman, Friedman, Olshen & Stone 1984, section 4.2.2"
    capabilities = ()
    beside_raw = True
    limits = Limits()

    exhaustive: int = param(
        10,
        "categories at a node up to which all ways are tried where the order may not hold "
        "the best one",
        ge=2,
        le=16,
    )

    def within(self, limits: Limits) -> Subset:
        """Return the same in a run of these limits."""
        return _Within(self.exhaustive, limits)

    def candidates(
        self, objects: Encoded, rows: np.ndarray, seed: int
    ) -> Sequence[TestRule | CodedTests]:
        """Return the tests of coded columns, in the order of the table."""
        found: list[TestRule | CodedTests] = []
        for name, features in itertools.groupby(
            sorted(objects.features, key=lambda each: each.position), key=lambda each: each.column
        ):
            if objects.table.column(name).kind is ColumnKind.categorical:
                found += self._of_column(objects, rows, name)
            else:
                found += [feature.rule(k) for feature in features for k in range(feature.n_tests)]
        return found

    def _of_column(self, objects: Encoded, rows: np.ndarray, name: str) -> list[CodedTests]:
        """Return the tests of a coded column at the node: subsets of its categories against the
        others; none where one category is left.

        rows : int64[k], objects of the node.
        """
        column = objects.table.column(name)
        codes, weight = column.values[objects.row_of_object[rows]], objects.weight[rows]
        known = codes >= 0
        present, bins = np.unique(codes[known], return_inverse=True)
        if len(present) < 2:
            return []
        every = self._forbids(objects, rows[known], bins)
        mass = np.bincount(bins, weight[known])
        values = [column.categories[code] for code in present]
        if objects.label is None:
            mean = np.bincount(bins, weight[known] * objects.y[rows][known]) / mass
            parts = (
                all_bipartitions(len(mean))
                if every and len(mean) <= self.exhaustive
                else np.argsort(mean, kind="stable")[None]
            )
        else:
            width = objects.n_classes
            table = np.bincount(
                bins * width + objects.label[rows][known], weight[known], len(present) * width
            ).reshape(-1, width)
            parts = parts_of(table, self.exhaustive, every)
        ordered = parts.dtype != np.bool_
        # [codes, b]: the place of each category in the order, or its side
        bin_of = np.argsort(parts, axis=1) if ordered else ~parts
        n_bins = np.full(len(parts), len(present) if ordered else 2)

        def outcome(first: int, stop: int) -> np.ndarray:
            reported = np.full((stop - first, len(rows)), n_bins[0])
            reported[:, known] = bin_of[first:stop, bins]
            return reported

        def rule(code: int, index: int) -> Among:
            """Return the subset of code ``code`` with that index: the categories of the bins up to
            it.
            """
            inside = bin_of[code] <= index
            return Among(
                name,
                tuple(itertools.compress(values, inside)),
                tuple(itertools.compress(values, ~inside)),
            )

        return [CodedTests((name,), Family.thresholds, n_bins, outcome, rule)]

    def _forbids(self, objects: Encoded, rows: np.ndarray, bins: np.ndarray) -> bool:
        """Return whether a side of some categories of the node may be too small for the run's
        limits.

        rows : int64[k], its objects with a value; bins : int64[k], their category.
        """
        limits = self.limits
        if limits.min_leaf == 1 and not limits.min_mass:
            return False
        n, weight = np.bincount(bins, objects.count[rows]), np.bincount(bins, objects.weight[rows])
        return bool(
            n.min() < limits.min_leaf
            or weight.min() < limits.min_weight(float(objects.weight.sum()), objects.n_objects)
        )


@attrs.frozen
class _Within(Subset):
    """In a run with limits."""

    limits: Limits = Limits()


@attrs.frozen
class OrderedSubset(Subset):
    """``subset`` along the order alone, also where a least leaf forbids the best of it, as rpart
    has it.
    """

    name = "ordered_subset"
    paper = (
        "Therneau & Atkinson, An introduction to recursive partitioning using the rpart routines"
    )

    def within(self, limits: Limits) -> OrderedSubset:
        """Return itself: a least leaf changes nothing about the sets that are tried."""
        return self


def all_bipartitions(n: int) -> np.ndarray:
    """Return bool[2^(n−1) − 1, n]: every way to part n things in two, the first thing always in, in
    the order of a Gray code.
    """
    step = np.arange(1, 1 << n - 1)[:, None]
    moved = (step ^ step >> 1) >> np.arange(n) & 1 == 1
    return np.asarray(moved == moved[:, :1])


def parts_of(table: np.ndarray, exhaustive: int, every: bool = False) -> np.ndarray:
    """For class weights float64[b, classes ≥ 1] of b ≥ 2 categories an order of them whose
    beginnings are tried, int64[1, b], or every set that is, bool[2^(b−1) − 1, b], in the order of a
    Gray code: as in rpart also where but two of the run's classes are left, since a beginning may
    hold too few rows.  For the same reason it counts which of the categories alike in class 0 is
    the first: as in rpart.

    every : every set up to ``exhaustive`` categories, of two classes, too.
    """
    n, several, table = len(table), table.shape[1] > 2, table[:, table.any(axis=0)]
    share = table / table.sum(axis=1, keepdims=True)
    if table.shape[1] <= 2 and not ((several or every) and n <= exhaustive):
        return np.argsort(share[:, 0], kind="stable")[None]
    if n <= exhaustive:
        return all_bipartitions(n)
    mass = table.sum(axis=1, keepdims=True)
    centred = (share - (share * mass).sum(axis=0) / mass.sum()) * np.sqrt(mass)
    first = np.linalg.svd(centred, full_matrices=False)[2][0]
    first = first * np.sign(first[np.abs(first).argmax()])  # of the two directions always the same
    return np.argsort((share @ first).round(12), kind="stable")[None]
