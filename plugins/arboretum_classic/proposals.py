"""What predicates share that search for few tests among many: what a node's rows are to be told apart by.

They search by a proxy, and the run's criterion chooses among what they propose.  The proxy is the decrease of gini impurity for classes and
of variance for numbers: up to constants, the sum over the outcomes of Σ_c w_c² / w, with w_c the weight of class c, or Σ w·(y − mean)² / w.
"""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.api import Column, ColumnKind, Encoded
from arboretum_classic.predicates import columns_of


@attrs.frozen(eq=False)
class Goal:
    """What tests are to tell apart.   parts : float64[n, k], class weights (or weighted deviations) of a node's objects; weight : float64[n]."""

    parts: np.ndarray
    weight: np.ndarray

    @staticmethod
    def of(objects: Encoded, rows: np.ndarray) -> Goal:
        weight = objects.weight[rows]
        if objects.label is None:
            y = objects.y[rows]
            return Goal(((y - np.average(y, weights=weight)) * weight)[:, None], weight)
        present, code = np.unique(objects.label[rows], return_inverse=True)
        parts = np.zeros((len(rows), len(present)))
        parts[np.arange(len(rows)), code] = weight
        return Goal(parts, weight)

    def take(self, chosen: np.ndarray) -> Goal:
        return Goal(self.parts[chosen], self.weight[chosen])

    def proxy(self, parts: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """float64[…]: of tests whose outcome 0 has these sums, parts float64[…, k] and weight float64[…]; the more the better."""
        other, rest = self.parts.sum(axis=0) - parts, self.weight.sum() - weight
        tiny = 1e-12 * max(self.weight.sum(), 1e-300)  # an empty side has no parts but for rounding
        return (parts * parts).sum(axis=-1) / np.maximum(weight, tiny) + (other * other).sum(axis=-1) / np.maximum(rest, tiny)


def plain_numbers(objects: Encoded, rows: np.ndarray, seed: int, most: int) -> list[Column]:
    """The columns of numbers, without dates, that vary at the node."""
    columns = [c for c in columns_of(objects, rows, seed, most) if c.kind is ColumnKind.continuous and not c.unit]
    return [c for c in columns if len(known := c.values[~c.missing]) and known.min() < known.max()]


def rounded(value: float, digits: int) -> float:
    """A number of so many significant digits."""
    return float(f"{value:.{digits - 1}e}")
