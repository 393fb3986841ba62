"""Results of a study as data: methods × data sets, perhaps means of repeats, and what statistics
say about them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.errors import DataError, unknown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _numbers(values: ArrayLike) -> np.ndarray:
    return np.array(values, dtype=float)


@attrs.frozen(eq=False)
class Scores:
    """What every method reached on every data set, by one measure.

    measure : its name with its unit, as pictures show it.
    methods, datasets : names, each once, in the order shown.
    values : float64[datasets, methods], means over the repeats; NaN where a method has no result.
    higher_is_better : True for accuracies, False for errors, costs, sizes and times.
    errors : float64[datasets, methods] standard errors of ``values`` (NaN: unknown), or None.
    Raises DataError for names that occur twice, another shape, or an infinite value.
    """

    measure: str
    methods: Sequence[str] = attrs.field(converter=tuple[str, ...])
    datasets: Sequence[str] = attrs.field(converter=tuple[str, ...])
    values: np.ndarray = attrs.field(converter=_numbers)
    higher_is_better: bool = True
    errors: np.ndarray | None = attrs.field(
        default=None, converter=attrs.converters.optional(_numbers)
    )

    def __attrs_post_init__(self) -> None:
        shape = (len(self.datasets), len(self.methods))
        for what, names in (("method", self.methods), ("data set", self.datasets)):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise DataError(
                    f"the {what} {twice[0]!r} occurs twice; give each {what} one name and "
                    "the mean of its repeats"
                )
            if not names:
                raise DataError(f"scores need at least one {what}")
        for what, array in (("values", self.values), ("errors", self.errors)):
            if array is None:
                continue
            if array.shape != shape:
                raise DataError(
                    f"{what} of shape {array.shape} do not fit {shape[0]} data sets × "
                    f"{shape[1]} methods, in this order"
                )
            if np.isinf(array).any():
                d, m = np.argwhere(np.isinf(array))[0]
                raise DataError(
                    f"{what} of {self.methods[m]!r} on {self.datasets[d]!r} are infinite; a "
                    "method without a result has NaN"
                )
            array.setflags(write=False)

    @staticmethod
    def of_repeats(
        measure: str,
        methods: Sequence[str],
        datasets: Sequence[str],
        values: np.ndarray,
        *,
        higher_is_better: bool = True,
    ) -> Scores:
        """Return means and standard errors over repeats.

        measure, higher_is_better : its name, and which way it is better.
        values : float64[datasets, methods, repeats]; a NaN is a repeat that is missing and is left
            out of mean and error.

        The standard error is s/√r with s by r − 1; NaN where r < 2.  Raises DataError as the class
        does.
        """
        values = np.asarray(values, dtype=float)
        if values.ndim != 3:
            raise DataError(
                "repeats are values of shape [datasets, methods, repeats], not of shape "
                f"{values.shape}"
            )
        known = ~np.isnan(values)
        r = known.sum(axis=2)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(known, values, 0.0).sum(axis=2) / r  # 0/0: no repeat, NaN
            squares = np.where(known, (values - mean[:, :, None]) ** 2, 0.0).sum(axis=2)
            error = np.where(r > 1, np.sqrt(squares / (r - 1) / r), np.nan)
        return Scores(measure, methods, datasets, mean, higher_is_better, error)

    @staticmethod
    def of_rows(
        measure: str, rows: Iterable[tuple[str, str, float]], *, higher_is_better: bool = True
    ) -> Scores:
        """Return means and standard errors from single runs, in any order; names in the order in
        which they are first met.

        measure, higher_is_better : its name, and which way it is better.
        rows : (data set, method, value) of a run.
        """
        found: dict[tuple[str, str], list[float]] = {}
        for dataset, method, value in rows:
            found.setdefault((dataset, method), []).append(float(value))
        datasets, methods = (list(dict.fromkeys(pair[i] for pair in found)) for i in (0, 1))
        repeats = max(map(len, found.values()), default=0)
        values = np.full((len(datasets), len(methods), repeats), np.nan)
        for (dataset, method), runs in found.items():
            values[datasets.index(dataset), methods.index(method), : len(runs)] = runs
        return Scores.of_repeats(
            measure, methods, datasets, values, higher_is_better=higher_is_better
        )

    def method(self, name: str) -> int:
        """Return the number of a method.  Raises DataError with the closest name."""
        if name not in self.methods:
            raise DataError(unknown("method", name, self.methods))
        return self.methods.index(name)

    def without_gaps(self) -> Scores:
        """Return the data sets on which every method has a result.  Raises DataError when there is
        none.
        """
        whole = ~np.isnan(self.values).any(axis=1)
        datasets = [name for name, kept in zip(self.datasets, whole, strict=True) if kept]
        errors = None if self.errors is None else self.errors[whole]
        return attrs.evolve(self, datasets=datasets, values=self.values[whole], errors=errors)

    @property
    def gaps(self) -> list[tuple[str, str]]:
        """(data set, method) of the results that are missing."""
        return [(self.datasets[d], self.methods[m]) for d, m in np.argwhere(np.isnan(self.values))]


@attrs.frozen(eq=False)
class Repeats:
    """What every method reached in every block of every data set, by one measure.

    measure : its name with its unit, as tables and pictures show it.
    methods, datasets : names, each once, in the order shown.
    blocks : per data set the names of its blocks ("seed 1, fold 2"), on which methods are paired.
    values : per data set float64[blocks, methods]; NaN where a method has no result.
    higher_is_better : True for accuracies, False for errors, costs, sizes and times.
    test_shares : per data set, rows that judge ÷ all rows, the same in every block; NaN where it
        is not known; ().
    Raises DataError for names that occur twice, another shape, or an infinite value.
    """

    measure: str
    methods: Sequence[str] = attrs.field(converter=tuple[str, ...])
    datasets: Sequence[str] = attrs.field(converter=tuple[str, ...])
    blocks: Sequence[Sequence[str]]
    values: Sequence[np.ndarray]
    higher_is_better: bool = True
    test_shares: Sequence[float] = ()

    def __attrs_post_init__(self) -> None:
        for name, blocks, values in zip(self.datasets, self.blocks, self.values, strict=True):
            if values.shape != (len(blocks), len(self.methods)):
                raise DataError(
                    f"values of shape {values.shape} on {name!r} do not fit {len(blocks)} blocks "
                    f"× {len(self.methods)} methods"
                )
        if self.test_shares and len(self.test_shares) != len(self.datasets):
            raise DataError(
                f"{len(self.test_shares)} shares of rows that judge do not fit "
                f"{len(self.datasets)} data sets"
            )
        self.scores()  # its rules hold of the means

    def scores(self) -> Scores:
        """Return means and standard errors over the blocks that a method has.

        Means are of twelve digits: those of equal sums in another order are ties.
        """
        most = max((len(values) for values in self.values), default=0)
        padded = np.full((len(self.datasets), len(self.methods), most), np.nan)
        for row, values in zip(padded, self.values, strict=True):
            row[:, : len(values)] = values.T
        whole = Scores.of_repeats(
            self.measure,
            self.methods,
            self.datasets,
            padded,
            higher_is_better=self.higher_is_better,
        )
        digits = [[float(f"{value:.12g}") for value in row] for row in whole.values]
        return attrs.evolve(whole, values=digits)

    def differences(self, dataset: int, first: int, second: int) -> np.ndarray:
        """Return float64[n]: by how much the first method is better than the second, in every
        block that both have, in the measure's unit.

        dataset, first, second : their numbers.
        """
        values = self.values[dataset]
        apart = values[:, first] - values[:, second]
        return np.asarray((apart if self.higher_is_better else -apart)[~np.isnan(apart)])

    def test_share(self, dataset: int) -> float:
        """Return the rows that judge ÷ all rows of a data set, by its number; NaN: not known."""
        return float(self.test_shares[dataset]) if self.test_shares else math.nan


@attrs.frozen
class Friedman:
    """Friedman's test of "all methods are alike", with Iman and Davenport's F of the same ranks.

    chi_square : of k − 1 degrees of freedom, with its probability ``p``.
    f : of (k − 1, (k − 1)(N − 1)) degrees of freedom, with ``f_p``; infinite where all data sets
        agree on the order.
    """

    chi_square: float
    p: float
    f: float
    f_p: float
    k: int
    n: int


@attrs.frozen(eq=False)
class Pairwise:
    """Every method against every other.

    test : as named in tables and pictures.
    p : float64[k, k], adjusted for all pairs, symmetric, 1 on the diagonal.
    different : bool[k, k].
    ranks : float64[k], average ranks.
    critical_difference : of average ranks, None where the test has none.
    notes : sentences on what limits the test here.
    """

    test: str
    methods: Sequence[str]
    ranks: np.ndarray
    p: np.ndarray
    different: np.ndarray
    alpha: float
    critical_difference: float | None = None
    notes: Sequence[str] = ()

    def groups(self) -> list[tuple[int, ...]]:
        """Return the largest sets of two or more methods of which no two differ, each by rank, best
        first.
        """
        order = np.argsort(self.ranks, kind="stable").tolist()
        place = {method: i for i, method in enumerate(order)}
        alike = {i: {j for j in order if j != i and not self.different[i, j]} for i in order}

        # Bron and Kerbosch with a pivot
        def cliques(clique: set[int], candidates: set[int], done: set[int]) -> Iterator[set[int]]:
            """Yield the largest sets of methods that contain ``clique`` and, besides, some
            candidates alone (Bron & Kerbosch 1973).

            done : methods whose sets were yielded before.
            """
            if not candidates | done:
                yield clique
            pivot = max(candidates | done, key=lambda i: len(alike[i] & candidates), default=-1)
            for i in sorted(candidates - alike.get(pivot, set())):
                yield from cliques(clique | {i}, candidates & alike[i], done & alike[i])
                candidates, done = candidates - {i}, done | {i}

        groups = [
            sorted(place[i] for i in clique)
            for clique in cliques(set(), set(order), set())
            if len(clique) > 1
        ]
        return [tuple(order[at] for at in group) for group in sorted(groups)]


@attrs.frozen(eq=False)
class AgainstControl:
    """Every method against one.

    control : its number.
    p : float64[k], adjusted for k − 1 comparisons, 1 for the control.

    The others as in :class:`Pairwise`; different : bool[k].
    """

    test: str
    methods: Sequence[str]
    control: int
    ranks: np.ndarray
    p: np.ndarray
    different: np.ndarray
    alpha: float
    critical_difference: float
    notes: Sequence[str] = ()
