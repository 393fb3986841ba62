"""Which impurity is it?  Entropy and gini are another plugin's: a name is not enough, some values must be right, too."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

TRIAL_VECTORS = ((1.0, 1.0, 2.0), (3.0, 1.0, 0.0), (0.5, 0.25, 0.25))
TRIAL_VALUES = {
    "entropy": (1.5, 2.0 - 0.75 * math.log2(3.0), 1.5),
    "gini": (0.625, 0.375, 0.625),
}
"""Values of the trial vectors, by hand."""


def written_out(impurity: Any) -> str | None:
    """The word in a kernel's name: "entropy", "gini", "mean" or "total" (any other with a kernel); None without a kernel."""
    kernel = getattr(impurity, "kernel", None)
    if kernel is None:
        return None
    return named(getattr(impurity, "name", ""), kernel) or impurity.scale


@lru_cache(maxsize=64)
def named(name: str, value: Callable) -> str | None:
    """"entropy" or "gini" if ``value`` of class weights is what the name says."""
    if name not in TRIAL_VALUES:
        return None
    found = [float(value(np.array(vector))) for vector in TRIAL_VECTORS]
    return name if np.allclose(found, TRIAL_VALUES[name], rtol=1e-12, atol=0.0) else None
