"""What was noted of repeated runs, and the means of it: what a study's tables, tests and pictures are made of."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np


@attrs.frozen(eq=False)
class Observed:
    """found : place, e.g. (setting, data set, algorithm) → per run, measure → number, None or absent where it has none."""

    found: Mapping[tuple[Hashable, ...], Sequence[Mapping[str, Any]]]

    def values(self, *at: Any) -> np.ndarray:
        """float64[runs]: what each run gave; those without a value left out.   at : a place, then a measure."""
        *place, measure = at
        return np.array([one[measure] for one in self.found.get(tuple(place), ()) if one.get(measure) is not None], np.float64)

    def mean(self, *at: Any) -> float:
        """The mean over runs; NaN without any."""
        values = self.values(*at)
        return float(values.mean()) if len(values) else float("nan")

    def error(self, *at: Any) -> float:
        """The standard error of that mean; NaN for fewer than two runs."""
        values = self.values(*at)
        return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
