"""Trade-offs: which methods no other beats in both, and how time grows with size."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.errors import DataError


def pareto_front(points: np.ndarray, higher_is_better: tuple[bool, ...]) -> np.ndarray:
    """int[f]: the points that no other dominates, by the first coordinate from small to large.

    points : float64[n, d]; a point with a NaN is on no front.   higher_is_better : per coordinate.   A point dominates
    another if it is as good in all coordinates and better in one; equal points are on the front together.
    Raises DataError where the shapes do not fit.
    """
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != len(higher_is_better):
        raise DataError(f"points of shape {points.shape} do not fit {len(higher_is_better)} directions: give float64[n, directions]")
    toward = np.where(higher_is_better, points, -points)
    whole = ~np.isnan(toward).any(axis=1)
    no_worse = (toward[:, None] >= toward[None, :]).all(axis=2)
    better = (toward[:, None] > toward[None, :]).any(axis=2)
    front = np.flatnonzero(whole & ~(no_worse & better).any(axis=0))
    return front[np.lexsort((*points[front].T[:0:-1], points[front, 0]))]


@attrs.frozen
class PowerLaw:
    """y ≈ factor · x^exponent.   error : standard error of the exponent, NaN for two points."""

    factor: float
    exponent: float
    error: float

    def at(self, x: np.ndarray) -> np.ndarray:
        """float64[…] of the curve at x > 0."""
        return self.factor * np.asarray(x, dtype=np.float64) ** self.exponent


def power_law(x: np.ndarray, y: np.ndarray) -> PowerLaw:
    """Least squares of ln y on ln x: the slope of the line in a picture with two logarithmic axes.

    x, y : float64[n] > 0, with two different x at least.   Raises DataError otherwise.
    """
    x, y = (np.asarray(values, dtype=np.float64) for values in (x, y))
    if x.shape != y.shape or x.ndim != 1:
        raise DataError(f"a power law needs as many x as y, not shapes {x.shape} and {y.shape}")
    if not ((x > 0) & (y > 0) & np.isfinite(x) & np.isfinite(y)).all():
        raise DataError("a power law needs finite x and y above 0; leave the other points out")
    if len(np.unique(x)) < 2:
        raise DataError(f"a power law needs two different x, not {len(np.unique(x))}")
    u, v = np.log(x), np.log(y)
    fit, covariance = np.polyfit(u, v, 1, cov="unscaled")
    variance = ((v - np.polyval(fit, u)) ** 2).sum() / (len(u) - 2) if len(u) > 2 else np.nan
    return PowerLaw(float(np.exp(fit[1])), float(fit[0]), float(np.sqrt(covariance[0, 0] * variance)))
