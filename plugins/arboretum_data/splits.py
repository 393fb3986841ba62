"""Splits: which rows train, which test?

``split=none`` is no component: without a split all rows train.  Every division is drawn by NumPy's
PCG64 from the run's seed, so that it is the same on every platform.  Rows of one group
(``Table.groups``) stay on one side.
"""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.api import ConfigError, DataError, Division, Table, param


def _read_division(part: np.ndarray, split: Holdout | KFold | Contiguous) -> Division:
    """Return the division of rows marked 0 (train), 1 (valid), 2 (test) in ``part``; raises
    DataError, naming the split, when nothing trains, or a fold is empty.
    """
    parts = [np.flatnonzero(part == code) for code in range(3)]
    if isinstance(split, KFold | Contiguous) and not len(parts[2]):
        raise DataError(
            f"split.{split.name}: fold {split.fold} is empty; {split.folds} folds are too "
            "many for this table"
        )
    if not len(parts[0]):
        raise DataError(
            f"split.{split.name} leaves no row to learn from; {len(part)} rows are too few for it"
        )
    return Division(*parts)


def _strata_of_rows(table: Table, stratify: bool) -> np.ndarray:
    """Return int64[n_rows]: the class of each row where the split is stratified, else 0."""
    by_class = stratify and table.is_classification
    return (
        np.asarray(table.target.codes, np.int64) if by_class else np.zeros(table.n_rows, np.int64)
    )


def _generator(*seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([abs(s) for s in seed])))


def apportion(strata: np.ndarray, fractions: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Return int64[n]: a part per row; each stratum is divided by ``fractions``, at random within
    it.

    strata : int64[n], from 0 on; fractions : float64[parts], their sum 1.

    The parts' sizes add up over the strata: a stratum's share is the difference of rounded
    cumulative sums, so it is off by less than one row, and so is the whole.  A stratum always keeps
    a row for part 0.
    """
    n = len(strata)
    order = draw.permutation(n)
    order = order[np.argsort(strata[order], kind="stable")]  # by stratum, at random within
    part = np.empty(n, np.int64)
    sizes = np.bincount(strata)
    end = np.cumsum(sizes)
    for size, stop in zip(sizes[sizes > 0], end[sizes > 0], strict=True):
        start = stop - size
        counts = [_rounded(stop * f) - _rounded(start * f) for f in fractions[1:]]
        while sum(counts) >= size:
            counts[int(np.argmax(counts))] -= 1
        part[order[start:stop]] = np.repeat(
            np.arange(len(fractions)), [size - sum(counts), *counts]
        )
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


def _draw_parts(
    table: Table, strata: np.ndarray, fractions: np.ndarray, draw: np.random.Generator
) -> np.ndarray:
    """Return int64[n_rows]: a part per row, whole groups where the table has such; see
    :func:`apportion`.
    """
    return (
        apportion(strata, fractions, draw)
        if table.groups is None
        else apportion_groups(strata, table.groups, fractions, draw)
    )


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
        fractions = np.array([self.train, self.valid, self.test])
        return _read_division(
            _draw_parts(table, _strata_of_rows(table, self.stratify), fractions, _generator(seed)),
            self,
        )


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
        repeat, fold = divmod(self.fold, self.folds)
        strata = _strata_of_rows(table, self.stratify)
        part = np.where(self._deal_folds(table, strata, _generator(seed, 1, repeat)) == fold, 2, 0)
        if self.valid:
            rest = np.flatnonzero(part == 0)
            fractions = np.array([1 - self.valid, self.valid])
            part[rest] = _draw_parts(
                table.take(rest), strata[rest], fractions, _generator(seed, 2, self.fold)
            )
        return _read_division(part, self)

    def _deal_folds(
        self, table: Table, strata: np.ndarray, draw: np.random.Generator
    ) -> np.ndarray:
        """Return int64[n_rows]: the fold of each row.  Dealing goes on across ``strata``, so sizes
        differ by at most one; of whole groups, where the table has such.
        """
        if table.groups is not None:
            return apportion_groups(strata, table.groups, np.full(self.folds, 1 / self.folds), draw)
        order = draw.permutation(table.n_rows)
        order = order[np.argsort(strata[order], kind="stable")]
        dealt = np.empty(table.n_rows, np.int64)
        dealt[order] = np.arange(table.n_rows) % self.folds
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
        before = _rows_before(table)
        part = np.where(self.folds * before // table.n_rows == self.fold, 2, 0)
        n_valid = _rounded(np.count_nonzero(part == 0) * self.valid)
        if n_valid:
            start = np.sort(before[part == 0])[-n_valid]
            part[(part == 0) & (before >= start)] = 1
        return _read_division(part, self)


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
