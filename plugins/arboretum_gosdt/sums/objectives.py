"""Costs of leaves by the sums of their objects."""

from __future__ import annotations

import math

import attrs
import numpy as np

from arboretum.api import DataError, Encoded, SumsObjective


@attrs.frozen
class SquaredError(SumsObjective):
    """Σ w (y − leaf's mean)², as a share of what a single leaf leaves (1 − R²), + λ · leaves."""

    name = "squared_error"
    paper = "Zhang, Xin, Seltzer & Rudin 2023"
    shape = "squares"
    needs_all_rows = "takes squares about the median of all rows (impurity=variance grows the same)"
    example = "dataset=diabetes encoder=bins method=regression stopping.standard.max_depth=3"

    def moments(self, objects: Encoded) -> np.ndarray:
        """Return float64[objects, 4]: w, w y, w z, w z², of targets y and what they are above their
        median, z: squares of large numbers that differ little would be rounded by more than these
        leave.
        """
        y, w = objects.y, objects.weight
        z = y - np.median(y)
        return np.stack([w, w * y, w * z, w * z * z], axis=1)

    def leaf(self, sums: np.ndarray) -> np.ndarray:
        """Return float64[…]: Σ w z² − (Σ w z)² / Σ w."""
        found: np.ndarray = sums[..., 3] - sums[..., 2] ** 2 / sums[..., 0]
        return found

    def predicts(self, sums: np.ndarray) -> np.ndarray:
        """Return float64[…]: the mean."""
        found: np.ndarray = sums[..., 1] / sums[..., 0]
        return found

    def unit(self, objects: Encoded) -> float:
        """Return what one leaf of all objects costs, 1 where that is nothing."""
        sums = np.array([math.fsum(column) for column in self.moments(objects).T])
        return max(0.0, float(self.leaf(sums))) or 1.0


@attrs.frozen
class PoissonDeviance(SumsObjective):
    """Mean deviance of counts from the rate of their leaf, as of Poisson's distribution, + λ ·
    leaves.

    2 Σ w (y log(y / μ) − (y − μ)) with μ the leaf's mean; targets below 0 are refused.
    """

    name = "poisson"
    above_zero = True
    by_value = True
    paper = "Breiman, Friedman, Olshen & Stone 1984; Therneau & Atkinson"
    example = (
        "dataset=diabetes encoder=bins method=leaf_sums objective.lam=1 "
        "stopping.standard.max_depth=3"
    )

    def moments(self, objects: Encoded) -> np.ndarray:
        """Return float64[objects, 3]: w, w y, and w y log y.  Raises DataError for a target below
        0.
        """
        y, w = objects.y, objects.weight
        if (y < 0).any():
            row = int(objects.row_of_object[int(y.argmin())]) + 1
            raise DataError(
                f"objective poisson: targets are counts, 0 or more; row {row} has {y.min():g}"
            )
        own = y * np.log(np.where(y > 0, y, 1.0))
        return np.stack([w, w * y, w * own], axis=1)

    def leaf(self, sums: np.ndarray) -> np.ndarray:
        """Return float64[…]: 2 (Σ w y log y − Σ w y · log of the mean)."""
        weight, total, own = np.moveaxis(sums, -1, 0)
        mean = total / np.where(weight > 0, weight, 1.0)
        found: np.ndarray = 2 * (own - total * np.log(np.where(mean > 0, mean, 1.0)))
        return found

    def predicts(self, sums: np.ndarray) -> np.ndarray:
        """Return float64[…]: the mean."""
        found: np.ndarray = sums[..., 1] / sums[..., 0]
        return found
