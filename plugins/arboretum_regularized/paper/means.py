"""Means of our runs beside published means of runs."""

import math

import numpy as np

from arboretum.api import Cell, Known

REACH = 2.0
"""Standard errors by which :func:`known_between` widens: half of what a cell itself is allowed,
for reasons are looked for afterwards.
"""


def standard_error(values: np.ndarray, behind: int) -> float:
    """s·√(1/n + 1/N): standard error of the difference between the mean of our n values and a
    published one of N.

    values : float64[n], s their standard deviation; 0 where they are fewer than two.
    behind : N.
    """
    return (
        float(values.std(ddof=1)) * math.sqrt(1.0 / len(values) + 1.0 / behind)
        if len(values) > 1
        else 0.0
    )


def known_between(
    reason: str,
    means: tuple[float, float],
    at: tuple[np.ndarray, np.ndarray],
    behind: int,
    source: str,
) -> Known:
    """Predict what lies between two of our means, each widened by :data:`REACH` standard errors.

    reason, source : in words, why the published mean differs and where the prediction is from.
    means : the lower, the higher.
    at : float64[n] each, the values behind these means.
    behind : as for :func:`standard_error`.
    """
    low, high = (standard_error(values, behind) for values in at)
    return Known(reason, means[0] - REACH * low, means[1] + REACH * high, source)


def cell_of_runs(
    table: str,
    row: str,
    column: str,
    published: float,
    values: np.ndarray,
    behind: int,
    *,
    rounding: float = 0.0,
    known: Known | None = None,
    aside: str = "",
) -> Cell | None:
    """Judge the mean of our runs; None where they are fewer than the paper's, or all agree: they
    say nothing of the error.

    values : float64[n], one per run.
    behind : runs behind the published mean.
    rounding : unit of its last digit.
    """
    error = math.hypot(standard_error(values, behind), rounding / math.sqrt(12.0))
    if len(values) < max(behind, 2) or error <= 0.0:
        return None
    return Cell.judged(
        table,
        row,
        column,
        published,
        float(values.mean()),
        error,
        n=len(values),
        known=known,
        aside=aside,
    )
