"""What predicates share that search for few tests among many: what a node's rows are to be told
apart by.

They search by a proxy, and the run's criterion chooses among what they propose.  The proxy is the
decrease of gini impurity for classes and of variance for numbers: up to constants, the sum over the
outcomes of Σ_c w_c² / w, with w_c the weight of class c, or (Σ w·(y − mean))² / w.
"""

from __future__ import annotations

from functools import cached_property

import attrs
import numpy as np

from arboretum.api import Column, Encoded
from arboretum_classic.predicates.predicates import columns_of

GAIN = 1e-12
"""By how much a move must raise the proxy, relatively; less is rounding."""


@attrs.define(eq=False, slots=False)
class Goal:
    """What tests are to tell apart.

    parts : float64[n, k], class weights (or weighted deviations) of a node's objects; weight :
        float64[n].
    """

    parts: np.ndarray
    weight: np.ndarray

    @staticmethod
    def of(objects: Encoded, rows: np.ndarray) -> Goal:
        """Return what the objects ``rows`` (int64[n]) of a node are to be told apart by.

        The parts are a column per class at the node, or for numbers the one column weight · (y −
        mean).
        """
        weight = objects.weight[rows]
        if objects.label is None:
            y = objects.y[rows]
            return Goal(((y - np.average(y, weights=weight)) * weight)[:, None], weight)
        present, code = np.unique(objects.label[rows], return_inverse=True)
        parts = np.zeros((len(rows), len(present)))
        parts[np.arange(len(rows)), code] = weight
        return Goal(parts, weight)

    @cached_property
    def each(self) -> np.ndarray:
        """float64[n, k + 1]: the parts, and last the weight."""
        return np.column_stack([self.parts, self.weight])

    def by_bin(
        self, codes: np.ndarray, cuts: np.ndarray, chosen: np.ndarray | None = None
    ) -> np.ndarray:
        """Return float64[bins, k + 1]: ``each`` summed by the bins between cuts, those without a
        value left out.

        codes : int64[n], a row's bin, len(cuts) + 1 without a value.
        chosen : bool[n], rows that count; None: all.
        """
        each = self.each if chosen is None else np.where(chosen[:, None], self.each, 0.0)
        return np.stack(
            [np.bincount(codes, part, len(cuts) + 2)[: len(cuts) + 1] for part in each.T], axis=1
        )

    def score(self, sums: np.ndarray) -> np.ndarray:
        """:meth:`proxy` of sums float64[…, k + 1]."""
        return self.proxy(sums[..., :-1], sums[..., -1])

    def take(self, chosen: np.ndarray) -> Goal:
        """Return the same for some of the objects, by their places (int64[m]); means stay those of
        all.
        """
        return Goal(self.parts[chosen], self.weight[chosen])

    def proxy(self, parts: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return float64[…]: of tests whose outcome 0 has these sums, parts float64[…, k] and
        weight float64[…]; the more the better.
        """
        other, rest = self.parts.sum(axis=0) - parts, self.weight.sum() - weight
        tiny = 1e-12 * max(self.weight.sum(), 1e-300)  # an empty side has no parts but for rounding
        return np.asarray(
            (parts * parts).sum(axis=-1) / np.maximum(weight, tiny)
            + (other * other).sum(axis=-1) / np.maximum(rest, tiny)
        )


def plain_numbers(objects: Encoded, rows: np.ndarray, seed: int, most: int) -> list[Column]:
    """Return the columns of numbers, without dates, that vary at the node."""
    columns = [c for c in columns_of(objects, rows, seed, most) if c.is_continuous and not c.unit]
    return [c for c in columns if len(known := c.values[~c.missing]) and known.min() < known.max()]


def rounded(value: float, digits: int) -> float:
    """Return a number of so many significant digits."""
    return float(f"{value:.{digits - 1}e}")


def best_interval(
    goal: Goal, base: np.ndarray, by_bin: np.ndarray
) -> tuple[tuple[int, int], float]:
    """Return (first bin, last bin), proxy: the best of all intervals but the whole.

    goal : scores sums.
    base : float64[k + 1], sums of rows that are in anyway.
    by_bin : float64[bins, k + 1], sums by bin.
    """
    first, last = np.triu_indices(len(by_bin))
    part = (first > 0) | (last < len(by_bin) - 1)
    first, last, upto = first[part], last[part], _upto(by_bin)
    scores = goal.score(base + upto[last + 1] - upto[first])
    best = int(scores.argmax())
    return (int(first[best]), int(last[best])), float(scores[best])


def climb_interval(
    goal: Goal, base: np.ndarray, by_bin: np.ndarray, first: int, last: int
) -> tuple[int, int]:
    """Move the two ends of an interval of bins in turn, each to where the proxy is highest while
    the other stays, until neither move raises it by more than rounding; return (first bin, last
    bin).

    This climbs to a local maximum; :func:`best_interval` tries all.  Never the whole, which asks
    nothing.

    base, by_bin : as of :func:`best_interval`, by_bin float64[bins, k + 1].
    first, last : where to begin.
    """
    upto = _upto(by_bin)
    best = float(goal.score(base + upto[last + 1] - upto[first]))
    while True:
        of_first = goal.score(base + upto[last + 1] - upto[: last + 1])
        of_first[0] = of_first[0] if last < len(by_bin) - 1 else -np.inf
        first = int(of_first.argmax()) if of_first.max() > best * (1 + GAIN) else first
        of_last = goal.score(base + upto[first + 1 :] - upto[first])
        of_last[-1] = of_last[-1] if first else -np.inf
        last = (
            first + int(of_last.argmax())
            if of_last.max() > max(best, of_first.max()) * (1 + GAIN)
            else last
        )
        if max(of_first.max(), of_last.max()) <= best * (1 + GAIN):
            return first, last
        best = max(float(of_first.max()), float(of_last.max()))


def within(some: np.ndarray, every: np.ndarray, first: int, last: int) -> tuple[int, int]:
    """First and last bin between every cut of an interval of bins between some of them."""
    return int(np.searchsorted(every, some[first - 1], side="right")) if first else 0, int(
        np.searchsorted(every, some[last])
    ) if last < len(some) else len(every)


def _upto(by_bin: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros((1, by_bin.shape[1])), np.cumsum(by_bin, axis=0)])
