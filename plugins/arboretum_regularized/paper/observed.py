"""What was noted of repeated runs, and the means of it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import attrs
import numpy as np

from arboretum.api import Plain


@attrs.frozen(eq=False)
class Observed:
    """What was noted of repeated runs, and the means of it.

    found : place, e.g. (setting, data set, algorithm) → per run, measure → number, None or absent
        where it has none.
    """

    found: Mapping[tuple[Hashable, ...], Sequence[Plain]]

    def values(self, *at: Hashable) -> np.ndarray:
        """Return float64[runs]: what each run gave; those without a value left out.

        at : a place, then a measure.
        """
        *place, last = at
        measure = str(last)
        return np.array(
            [
                one[measure]
                for one in self.found.get(tuple(place), ())
                if one.get(measure) is not None
            ],
            np.float64,
        )

    def mean(self, *at: Hashable) -> float:
        """Return the mean over runs; NaN without any."""
        values = self.values(*at)
        return float(values.mean()) if len(values) else float("nan")

    def error(self, *at: Hashable) -> float:
        """Return the standard error of that mean; NaN for fewer than two runs."""
        values = self.values(*at)
        return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
