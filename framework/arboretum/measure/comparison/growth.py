"""How does time grow with size?  A power law, and the chart of it."""

from collections.abc import Mapping

import attrs
import numpy as np

from arboretum.errors import DataError
from arboretum.model.charts import Axis, Line, LineChart
from arboretum.model.scores import Scores


@attrs.frozen
class PowerLaw:
    """y ≈ factor · x^exponent.   error : standard error of the exponent, NaN for two points."""

    factor: float
    exponent: float
    error: float

    def at(self, x: np.ndarray) -> np.ndarray:
        """Return float64[…] of the curve at x > 0."""
        return self.factor * np.asarray(x, dtype=float) ** self.exponent


def power_law(x: np.ndarray, y: np.ndarray) -> PowerLaw:
    """Return the least squares of ln y on ln x: the slope of the line in a picture with two
    logarithmic axes.

    x, y : float64[n] > 0, with two different x at least.   Raises DataError otherwise.
    """
    x, y = (np.asarray(values, dtype=float) for values in (x, y))
    if x.shape != y.shape or x.ndim != 1:
        raise DataError(f"a power law needs as many x as y, not shapes {x.shape} and {y.shape}")
    if not ((x > 0) & (y > 0) & np.isfinite(x) & np.isfinite(y)).all():
        raise DataError("a power law needs finite x and y above 0; leave the other points out")
    if len(np.unique(x)) < 2:
        raise DataError(f"a power law needs two different x, not {len(np.unique(x))}")
    u, v = np.log(x), np.log(y)
    fit, covariance = np.polyfit(u, v, 1, cov="unscaled")
    variance = ((v - np.polyval(fit, u)) ** 2).sum() / (len(u) - 2) if len(u) > 2 else np.nan
    return PowerLaw(
        float(np.exp(fit[1])), float(fit[0]), float(np.sqrt(covariance[0, 0] * variance))
    )


def growth_chart(times: Scores, sizes: Mapping[str, float], title: str, *, axis: str) -> LineChart:
    """Return running time against a size of the data set, both logarithmic, with a fitted power law
    per method.

    sizes : data set → its size, which ``axis`` names.
    The slope with its standard error stands in the legend; a method with results on fewer than two
    sizes has no line.   Raises DataError for a data set without a size.
    """
    if absent := [name for name in times.datasets if name not in sizes]:
        raise DataError(f"the data set {absent[0]!r} has no size; add it to sizes")
    n = np.array([sizes[name] for name in times.datasets], dtype=float)
    lines = []
    for m, (method, column) in enumerate(zip(times.methods, times.values.T, strict=True)):
        x, y, label, fitted = n[~np.isnan(column)], column[~np.isnan(column)], method, []
        if len(np.unique(x)) > 1:
            law, ends = power_law(x, y), np.array([x.min(), x.max()])
            label = f"{method}: slope {law.exponent:.2f}" + (
                f" ± {law.error:.2f}" if np.isfinite(law.error) else ""
            )
            fitted = [
                Line(
                    label,
                    ends.tolist(),
                    law.at(ends).tolist(),
                    colour=m,
                    marked=False,
                    dashed=True,
                    quiet=True,
                )
            ]
        lines += [Line(label, x.tolist(), y.tolist(), colour=m, joined=False), *fitted]
    dashed = "Dashed: least squares of the logarithms; slope ± standard error."
    return LineChart(
        title, lines, Axis(axis, log=True), Axis(times.measure, log=True), notes=[dashed]
    )
