"""Splits: which rows train, which test?

``split=none`` is no component: without a split all rows train.  Every division is drawn by NumPy's
PCG64 from the run's seed, so that it is the same on every platform.  Rows of one group
(``Table.groups``) stay on one side.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from arboretum.api import ConfigError, DataError, Division, Table, param, sure

BLOCK = 1 << 16
"""Rows that are assigned at a time: what is in memory for all rows is one number, of four bytes."""


def _check_subsets(part: np.ndarray, split: Holdout | KFold | Contiguous) -> np.ndarray:
    """Return ``part``, a number per row: 0 (train), 1 (valid), 2 (test); raises DataError, naming
    the split, when nothing trains, or a fold is empty.
    """
    if isinstance(split, KFold | Contiguous) and not (part == 2).any():
        raise DataError(
            f"split.{split.name}: fold {split.fold} is empty; {split.folds} folds are too "
            "many for this table"
        )
    if (part != 0).all():
        raise DataError(
            f"split.{split.name} leaves no row to learn from; {len(part)} rows are too few for it"
        )
    return part


def _read_division(part: np.ndarray, split: Holdout | KFold | Contiguous) -> Division:
    """Return the division of numbered rows; raises DataError as :func:`_check_subsets`."""
    _check_subsets(part, split)
    return Division(*[np.flatnonzero(part == code) for code in range(3)])


def _classes_of(table: Table) -> np.ndarray | None:
    """Return int32[n_rows]: the class of each row; None of numbers."""
    return table.target.codes if table.is_classification else None


def _strata_of_rows(classes: np.ndarray | None, n_rows: int, stratify: bool) -> np.ndarray:
    """Return ints[n_rows]: the class of each row where the split is stratified, else 0."""
    by_class = stratify and classes is not None
    return sure(classes) if by_class else np.zeros(n_rows, np.uint8)


def _generator(*seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([abs(s) for s in seed])))


def shuffled_by_class(
    strata: np.ndarray, draw: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (rows, place), ints[k]: rows in random order, and where each stands when they are put
    in order by stratum, at random within.

    strata : ints[n], from 0 on.
    """
    n = len(strata)
    order = np.arange(n, dtype=np.int32 if n < 1 << 31 else np.int64)
    draw.shuffle(order)  # the numbers of draw.permutation(n), in half the memory
    sizes = _sizes_of(strata)
    end = np.cumsum(sizes) - sizes
    for start in range(0, n, BLOCK):
        rows = order[start : start + BLOCK]
        own = strata[rows]
        rows = rows[by_stratum := np.argsort(own, kind="stable")]
        here = np.bincount(own, minlength=len(sizes))
        yield rows, np.arange(len(rows)) + (end - (np.cumsum(here) - here))[own[by_stratum]]
        end += here


def _sizes_of(strata: np.ndarray) -> np.ndarray:
    """Return int64[strata], rows of each, without a copy of all in eight bytes."""
    n = int(strata.max(initial=0)) + 1
    blocks = (strata[a : a + BLOCK] for a in range(0, len(strata), BLOCK))
    return sum((np.bincount(block, minlength=n) for block in blocks), np.zeros(n, np.int64))


def apportion(strata: np.ndarray, fractions: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Return uint8[n]: a part per row; each stratum is divided by ``fractions``, at random within
    it.

    strata : ints[n], from 0 on; fractions : float64[parts], their sum 1.

    The parts' sizes add up over the strata: a stratum's share is the difference of rounded
    cumulative sums, so it is off by less than one row, and so is the whole.  A stratum always keeps
    a row for part 0.
    """
    sizes, n_parts = _sizes_of(strata), len(fractions)
    lengths = np.zeros((len(sizes), n_parts), np.int64)
    for k, (size, stop) in enumerate(zip(sizes, np.cumsum(sizes), strict=True)):
        counts = [_rounded(stop * f) - _rounded((stop - size) * f) for f in fractions[1:]]
        while size and sum(counts) >= size:
            counts[int(np.argmax(counts))] -= 1
        if size:
            lengths[k] = [size - sum(counts), *counts]
    end = np.cumsum(lengths)
    part = np.empty(len(strata), np.uint8)
    for rows, place in shuffled_by_class(strata, draw):
        part[rows] = np.searchsorted(end, place, side="right") % n_parts
    return part


def _rounded(value: float) -> int:
    """Round half up, after taking off what binary fractions add (0.1 + 0.2)."""
    return int(np.floor(round(value, 9) + 0.5))


def apportion_groups(
    strata: np.ndarray, groups: np.ndarray, fractions: np.ndarray, draw: np.random.Generator
) -> np.ndarray:
    """Return int64[n]: a part per row, whole groups only.

    strata : int64[n], from 0 on; fractions : float64[parts], their sum 1.

    Groups come largest first (at random among equals); each goes to the part whose class counts
    then stay nearest, in squared distance relative to what the part is due.
    """
    names, member = np.unique(groups, return_inverse=True)
    n_strata = int(strata.max()) + 1
    counts = np.zeros((len(names), n_strata))
    np.add.at(counts, (member, strata), 1.0)
    due = fractions[:, None] * counts.sum(axis=0)
    have = np.zeros_like(due)
    part_of_group = np.zeros(len(names), np.int64)
    order = draw.permutation(len(names))
    order = order[np.argsort(-counts[order].sum(axis=1), kind="stable")]
    usable = np.flatnonzero(fractions > 0)
    for place, group in enumerate(order):
        empty = usable[have[usable].sum(axis=1) == 0]
        if len(order) - place <= len(empty):
            usable = empty  # as many groups are left as parts are empty: one each
        lack = due[usable] - have[usable]
        gain = (lack**2).sum(axis=1) - ((lack - counts[group]) ** 2).sum(axis=1)
        chosen = usable[int(np.argmax(gain / fractions[usable]))]
        part_of_group[group] = chosen
        have[chosen] += counts[group]
    return part_of_group[member]


@attrs.frozen
class Holdout:
    """One random division, stratified by class."""

    kind = "split"
    name = "holdout"
    paper = ""
    capabilities = ("randomised",)

    train: float = param(0.7, "share of the rows that train", gt=0, le=1)
    valid: float = param(0.1, "share kept for pruning and tuning", ge=0, lt=1)
    test: float = param(0.2, "share that judges", ge=0, lt=1)
    stratify: bool = param(
        True, "keep the class shares in every part (a class with one row trains)"
    )

    def __attrs_post_init__(self) -> None:
        total = self.train + self.valid + self.test
        if abs(total - 1) > 1e-9:
            raise ConfigError(
                f"split.train + split.valid + split.test must be 1; got {self.train} + "
                f"{self.valid} + {self.test}"
            )

    def divide(self, table: Table, seed: int) -> Division:
        """Draw the three parts."""
        classes, n = _classes_of(table), table.n_rows
        if table.groups is None:
            return _read_division(self.assign_rows(classes, n, seed), self)
        strata, draw = _strata_of_rows(classes, n, self.stratify), _generator(seed)
        return _read_division(apportion_groups(strata, table.groups, self._fractions, draw), self)

    def assign_rows(self, classes: np.ndarray | None, n_rows: int, seed: int) -> np.ndarray:
        """Number the rows of the three parts."""
        strata = _strata_of_rows(classes, n_rows, self.stratify)
        return _check_subsets(apportion(strata, self._fractions, _generator(seed)), self)

    @property
    def _fractions(self) -> np.ndarray:
        return np.array([self.train, self.valid, self.test])


def _check_fold(split: KFold | Contiguous, n_folds: int) -> None:
    if split.fold >= n_folds:
        raise ConfigError(
            f"split.fold must be < {n_folds} (folds are counted from 0); got {split.fold}"
        )


@attrs.frozen
class KFold:
    """Repeated stratified k-fold: each repeat deals the rows anew; one run is one fold."""

    kind = "split"
    name = "kfold"
    paper = ""
    capabilities = ("randomised",)

    folds: int = param(10, "parts of about equal size", ge=2)
    repeats: int = param(1, "how often the rows are dealt", ge=1)
    fold: int = param(0, "which part judges: fold + folds · repeat", ge=0)
    valid: float = param(0.0, "share of the other rows kept for pruning and tuning", ge=0, lt=1)
    stratify: bool = param(True, "keep the class shares in every part")

    def __attrs_post_init__(self) -> None:
        _check_fold(self, self.folds * self.repeats)

    def divide(self, table: Table, seed: int) -> Division:
        """The fold's rows judge; every other row trains, but for a share of ``valid``."""
        classes, groups = _classes_of(table), table.groups
        return _read_division(self._assign(classes, table.n_rows, seed, groups), self)

    def assign_rows(self, classes: np.ndarray | None, n_rows: int, seed: int) -> np.ndarray:
        """Number the rows of the fold, and of ``valid``."""
        return _check_subsets(self._assign(classes, n_rows, seed, None), self)

    def _assign(
        self, classes: np.ndarray | None, n_rows: int, seed: int, groups: np.ndarray | None
    ) -> np.ndarray:
        """Number the rows, whole groups where there are such."""
        repeat, fold = divmod(self.fold, self.folds)
        strata = _strata_of_rows(classes, n_rows, self.stratify)
        dealt = self._deal_folds(strata, groups, _generator(seed, 1, repeat))
        part = np.where(dealt == fold, np.uint8(2), np.uint8(0))
        if self.valid:
            rest = np.flatnonzero(part == 0)
            fractions, draw = np.array([1 - self.valid, self.valid]), _generator(seed, 2, self.fold)
            part[rest] = (
                apportion(strata[rest], fractions, draw)
                if groups is None
                else apportion_groups(strata[rest], groups[rest], fractions, draw)
            )
        return part

    def _deal_folds(
        self, strata: np.ndarray, groups: np.ndarray | None, draw: np.random.Generator
    ) -> np.ndarray:
        """Return ints[n_rows]: the fold of each row.  Dealing goes on across ``strata``, so sizes
        differ by at most one; of whole groups, where there are such.
        """
        if groups is not None:
            return apportion_groups(strata, groups, np.full(self.folds, 1 / self.folds), draw)
        dealt = np.empty(len(strata), np.int32)
        for rows, place in shuffled_by_class(strata, draw):
            dealt[rows] = place % self.folds
        return dealt


@attrs.frozen
class Contiguous:
    """Unshuffled folds: fold i is the i-th stretch of rows (for data in order of time)."""

    kind = "split"
    name = "contiguous"
    paper = ""
    capabilities = ()

    folds: int = param(10, "stretches of about equal length", ge=2)
    fold: int = param(0, "which stretch judges", ge=0)
    valid: float = param(
        0.0, "share of the other rows, their last ones, kept for pruning and tuning", ge=0, lt=1
    )

    def __attrs_post_init__(self) -> None:
        _check_fold(self, self.folds)

    def divide(self, table: Table, seed: int) -> Division:
        """Return the fold's stretch judges; groups stay whole and stand where their first row
        stands.
        """
        del seed
        return _read_division(self._assign(_rows_before(table), table.n_rows), self)

    def assign_rows(self, classes: np.ndarray | None, n_rows: int, seed: int) -> np.ndarray:
        """Number the rows of the stretch, and of ``valid``."""
        del classes, seed
        return _check_subsets(self._assign(np.arange(n_rows), n_rows), self)

    def _assign(self, before: np.ndarray, n_rows: int) -> np.ndarray:
        """Number rows by how many stand ``before`` them, int64[n_rows]."""
        part = np.where(self.folds * before // n_rows == self.fold, np.uint8(2), np.uint8(0))
        n_valid = _rounded(np.count_nonzero(part == 0) * self.valid)
        if n_valid:
            start = np.sort(before[part == 0])[-n_valid]
            part[(part == 0) & (before >= start)] = 1
        return part


def _rows_before(table: Table) -> np.ndarray:
    """Return int64[n_rows]: the row's own number; with groups, the rows of all groups that appear
    before the row's group.
    """
    if table.groups is None:
        return np.arange(table.n_rows)
    _, first, member, size = np.unique(
        table.groups, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    before = np.empty(len(order), np.int64)
    before[order] = np.cumsum(size[order]) - size[order]
    return before[member]
