"""Which setting of a sweep is best, and which others are as good, as far as its runs tell?"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from arboretum.measure.evaluate import HIGHER, direction

BEST, TIED, BEHIND = "best", "tied", ""
CONFIDENCE = 0.95
LEAST_SHARED = 3
"""Runs that two settings have in common, below which nothing tells a difference from chance (two splits of few rows easily
differ by the same row, and would look certain)."""


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and its standard error s/√n (n − 1 below the variance); the error of a single value is NaN, both of none."""
    n = len(values)
    mean = math.fsum(values) / n if n else math.nan
    spread = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(spread / (n - 1) / n) if n > 1 else math.nan


def places(goal: str, settings: Sequence[Mapping[Hashable, float]]) -> list[str]:
    """BEST for the setting whose mean is best, TIED for those that are not shown to be worse, BEHIND for the others.

    settings : per setting, block (seed and fold) → value of the metric ``goal``; one without finite values is BEHIND.
    A setting is worse where the mean of its differences to the best, block by block, is further from 0 than the half width
    of their confidence interval (Student's t, two-sided, ``CONFIDENCE``); with fewer than ``LEAST_SHARED`` common blocks only
    equal means are a tie.  Blocks are compared, not means, because a split that is hard is hard for every setting.
    Raises ConfigError for a goal that is no metric.
    """
    sign = -1.0 if direction(goal) == HIGHER else 1.0
    finite = [{block: sign * x for block, x in one.items() if math.isfinite(x)} for one in settings]
    means = [mean_and_error(list(one.values()))[0] for one in finite]
    if not any(finite):
        return [BEHIND] * len(settings)
    first = int(np.nanargmin(means))
    return [
        BEST if i == first else TIED if one and _is_tied(one, finite[first], means[i] - means[first]) else BEHIND
        for i, one in enumerate(finite)
    ]


def _is_tied(one: Mapping[Hashable, float], best: Mapping[Hashable, float], difference: float) -> bool:
    shared = [one[block] - best[block] for block in one if block in best]
    if difference == 0 or len(shared) < LEAST_SHARED:
        return difference == 0
    from scipy.special import stdtrit

    mean, error = mean_and_error(shared)
    return mean <= error * float(stdtrit(len(shared) - 1, (1 + CONFIDENCE) / 2))
