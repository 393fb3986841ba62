"""Two-way tests of categories, "is the value one of these?": searched at the node, beside thresholds on raw columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from arboretum.api import NO_OUTCOME, ColumnKind, DataError, Encoded, Table, TestRule, param


@attrs.frozen
class Among(TestRule):
    """Outcome 0 is "the value is one of ``categories``", outcome 1 "one of ``others``"; with ``missing_outcome`` outcome 2 is "missing".

    Any other value, one that no training row of the node has, gets no outcome: the tree treats it as a missing one.
    """

    tag: ClassVar[str] = "among"
    column: str
    categories: tuple[str, ...]
    others: tuple[str, ...]
    missing_outcome: bool = False

    def __attrs_post_init__(self) -> None:
        both = (*self.categories, *self.others)
        if not self.categories or not self.others or len(set(both)) < len(both):
            raise DataError(f"Among.categories and Among.others must hold distinct values, one each at least; got {self.categories} and {self.others}")

    @property
    def arity(self):
        return 2 + self.missing_outcome

    def outcomes(self, table: Table, rows: np.ndarray) -> np.ndarray:
        column = table.column(self.column)
        if column.kind is ColumnKind.continuous:
            raise DataError(f"column {self.column!r} is continuous here, but the tree asks for its categories; give it as text")
        side = {value: k for k, part in enumerate((self.categories, self.others)) for value in part}
        lost = 2 if self.missing_outcome else NO_OUTCOME
        answers = [side.get(value, NO_OUTCOME) for value in column.categories]
        return np.array([*answers, NO_OUTCOME, lost], np.int32)[column.values[rows]]  # the codes −2 (unseen) and −1 (missing) count from the end

    def outcome_of(self, row: Mapping[str, Any]) -> int:
        value = row[self.column]
        if value is None or value != value:  # NaN is the one value that differs from itself
            return 2 if self.missing_outcome else NO_OUTCOME
        return 0 if value in self.categories else 1 if value in self.others else NO_OUTCOME

    def with_missing(self) -> Among | None:
        return None if self.missing_outcome else attrs.evolve(self, missing_outcome=True)

    def sql_conditions(self, name: Callable[[str], str], text: Callable[[str], str]) -> list[str]:
        sides = [f"{name(self.column)} IN ({', '.join(map(text, part))})" for part in (self.categories, self.others)]
        return sides + [f"{name(self.column)} IS NULL"] * self.missing_outcome

    def outcome_label(self, outcome: int) -> str:
        part = [self.categories, self.others, ("missing",)][outcome]
        return f"= {part[0]}" if len(part) == 1 else f"in {{{', '.join(part)}}}"


@attrs.frozen
class Subset:
    """Categories in two sets, as in CART; thresholds on raw columns compete beside, and the fixed tests of what else is coded.

    For two classes, and for numbers, the best of the 2^(b−1) − 1 ways to part the b categories at a node is along their order by
    the share of a class, or by the mean, for every impurity that is concave: b − 1 tests (Breiman et al. 1984, theorem 4.5).  For more
    classes all ways are tried up to ``exhaustive`` categories; above that those along the first principal component of the class
    shares, a heuristic (Coppersmith, Hong & Hosking 1999).  Each test costs a pass over the rows of the node.
    """

    kind: ClassVar[str] = "predicate"
    name: ClassVar[str] = "subset"
    paper: ClassVar[str] = "Breiman, Friedman, Olshen & Stone 1984, section 4.2.2"
    capabilities: ClassVar[tuple] = ()
    beside_raw: ClassVar[bool] = True

    exhaustive: int = param(8, "categories at a node up to which all ways are tried where there are more than two classes", ge=2, le=16)

    def candidates(self, objects: Encoded, rows: np.ndarray, seed: int) -> Sequence[TestRule]:
        """The tests of coded columns, in the order of the table."""
        found: list[TestRule] = []
        for name, features in itertools.groupby(sorted(objects.features, key=lambda each: each.position), key=lambda each: each.column):
            if objects.table.column(name).kind is ColumnKind.categorical:
                found += self._of_column(objects, rows, name)
            else:
                found += [feature.rule(k) for feature in features for k in range(feature.n_tests)]
        return found

    def _of_column(self, objects: Encoded, rows: np.ndarray, name: str) -> Iterator[Among]:
        column = objects.table.column(name)
        codes, weight = column.values[objects.row_of_object[rows]], objects.weight[rows]
        known = codes >= 0
        present, bins = np.unique(codes[known], return_inverse=True)
        if len(present) < 2:
            return
        if objects.label is None:
            mass = np.bincount(bins, weight[known])
            order = np.argsort(np.bincount(bins, weight[known] * objects.y[rows][known]) / mass, kind="stable")
            parts = prefixes(order)
        else:
            width = objects.n_classes
            table = np.bincount(bins * width + objects.label[rows][known], weight[known], len(present) * width).reshape(-1, width)
            parts = parts_of(table[:, table.any(axis=0)], self.exhaustive)
        values = [column.categories[code] for code in present]
        for part in parts:
            yield Among(name, tuple(itertools.compress(values, part)), tuple(itertools.compress(values, ~part)))


def parts_of(table: np.ndarray, exhaustive: int) -> Iterator[np.ndarray]:
    """bool[b]: the sets of categories that are tried, for class weights float64[b, classes ≥ 1] of b ≥ 2 categories."""
    n, share = len(table), table / table.sum(axis=1, keepdims=True)
    if table.shape[1] <= 2:
        return prefixes(np.argsort(share[:, -1], kind="stable"))
    if n <= exhaustive:
        return (np.array([bits >> k & 1 == 0 for k in range(n)]) for bits in range(2, 1 << n, 2))  # the first category is always in
    mean = np.average(share, axis=0, weights=table.sum(axis=1))
    centred = (share - mean) * np.sqrt(table.sum(axis=1, keepdims=True))
    first = np.linalg.svd(centred, full_matrices=False)[2][0]
    first = first * np.sign(first[np.abs(first).argmax()])  # of the two directions always the same
    return prefixes(np.argsort((share @ first).round(12), kind="stable"))


def prefixes(order: np.ndarray) -> Iterator[np.ndarray]:
    """bool[b]: the first, the first two, … of an order, but never all."""
    for k in range(1, len(order)):
        part = np.zeros(len(order), bool)
        part[order[:k]] = True
        yield part
