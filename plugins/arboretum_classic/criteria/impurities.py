"""Impurities of the classical methods.

Classes: p_k is the share of class k by weight.  Numbers: moments (Σw, Σwy, Σwy²).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import attrs
import numpy as np

from arboretum.api import DataError, Encoded, param
from arboretum_classic.criteria import kernels, reference

_CLASSES = (
    "classification",
    "multiclass",
    "weights",
    "additive",
    "concave",
)


def _shares(weights: np.ndarray) -> np.ndarray:
    """Return float64[…, classes]: shares, 0 where the mass is 0."""
    mass = weights.sum(axis=-1, keepdims=True)
    found: np.ndarray = np.divide(weights, mass, out=np.zeros_like(weights), where=mass > 0)
    return found


class _Mean:
    """Base of impurities that are means; of classes, where a subclass says nothing else."""

    kind = "impurity"
    capabilities: ClassVar[tuple[str, ...]] = _CLASSES
    scale = "mean"


@attrs.frozen
class Gini(_Mean):
    """Gini index: 1 − Σ p_k² (0 if the mass is 0); the chance that two objects drawn with
    replacement differ in class.
    """

    name = "gini"
    paper = "Breiman, Friedman, Olshen & Stone 1984, section 4.3"
    kernel = staticmethod(kernels.gini)

    def value(self, weights: np.ndarray) -> np.ndarray:
        """Return float64[…, classes] → float64[…]."""
        p = _shares(weights)
        return np.where(weights.sum(axis=-1) > 0, 1.0 - (p * p).sum(axis=-1), 0.0)


@attrs.frozen
class Entropy(_Mean):
    """Shannon entropy: −Σ p_k log2 p_k, in bits."""

    name = "entropy"
    paper = "Quinlan 1986, section 4"
    kernel = staticmethod(kernels.entropy)

    def value(self, weights: np.ndarray) -> np.ndarray:
        """Return float64[…, classes] → float64[…], bits."""
        p = _shares(weights)
        found: np.ndarray = -(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=-1) + 0.0
        return found


@attrs.frozen
class Misclassification(_Mean):
    """Share of objects outside the majority class: 1 − max p_k."""

    name = "misclassification"
    paper = "Breiman, Friedman, Olshen & Stone 1984, section 4.2"
    kernel = staticmethod(kernels.misclassification)

    def value(self, weights: np.ndarray) -> np.ndarray:
        """Return float64[…, classes] → float64[…]."""
        return np.where(weights.sum(axis=-1) > 0, 1.0 - _shares(weights).max(axis=-1), 0.0)


@attrs.frozen
class Variance(_Mean):
    """Variance of the target: Σwy²/Σw − (Σwy/Σw)², never below 0; a leaf predicts the mean."""

    name = "variance"
    paper = "Breiman, Friedman, Olshen & Stone 1984, section 8.3"
    capabilities = (
        "regression",
        "weights",
        "additive",
        "concave",
    )
    kernel = staticmethod(kernels.variance)

    def value(self, weights: np.ndarray) -> np.ndarray:
        """Return float64[…, 3] → float64[…], square of the target's unit."""
        w, wy, wyy = weights[..., 0], weights[..., 1], weights[..., 2]
        safe = np.where(w > 0, w, 1.0)
        return np.where(w > 0, np.maximum(wyy / safe - (wy / safe) ** 2, 0.0), 0.0)


@attrs.frozen
class AbsoluteError(_Mean):
    """Mean absolute deviation from the median; a leaf predicts the median.

    Not a function of additive tables: medians do not add up.  The engine scans raw columns with
    ``prefix``, which keeps the deviations of every prefix of the sorted node in O(log n) per
    object; other features are refused.
    """

    name = "absolute_error"
    paper = "Breiman, Friedman, Olshen & Stone 1984, section 8.11"
    capabilities = (
        "regression",
        "weights",
        "thresholds",
    )
    prefix = staticmethod(kernels.absolute_deviations)

    def of_values(self, y: np.ndarray, weight: np.ndarray) -> float:
        """Return the impurity of the objects themselves.   y, weight : float64[n]."""
        return float(np.average(np.abs(y - self.leaf_value(y, weight)), weights=weight))

    def leaf_value(self, y: np.ndarray, weight: np.ndarray) -> float:
        """Return the weighted median (the middle of the two, where half of the weight lies on
        either side).
        """
        return reference.weighted_median(y, weight)


@attrs.frozen
class Poisson(_Mean):
    """Half the mean Poisson deviance, Σ w y log(y / ȳ) / Σ w, of counts or rates ≥ 0; a leaf
    predicts the mean.

    As in scikit-learn a test does not compete if an outcome of it has nothing but zeros, which a
    leaf would predict; rpart lets it (``zeros``).  Σ wy log y is no moment, so the engine scans raw
    columns with ``prefix``; other features are refused.
    """

    name = "poisson"
    paper = "Therneau & Atkinson, rpart; scikit-learn's criterion of that name"
    capabilities = (
        "regression",
        "weights",
        "thresholds",
    )
    about = 0.0
    zeros: bool = param(
        False, "whether an outcome may have nothing but zeros, as in rpart; its deviance is 0"
    )

    @property
    def prefix(self) -> Callable[..., None]:
        """The kernel that writes Σ w y log(y / ȳ) of every prefix.

        Where all y of a prefix are 0 it writes ∞, or 0 with ``zeros``.
        """
        return kernels.poisson_deviances_with_zeros if self.zeros else kernels.poisson_deviances

    def for_objects(self, objects: Encoded) -> Poisson:
        """Return itself.  Raises DataError for targets that are no counts or rates: below 0, or all
        0.
        """
        if objects.y is not None and not (objects.y.min() >= 0 and objects.y.sum() > 0):
            got = f"the least is {objects.y.min():g}" if objects.y.min() < 0 else "all are 0"
            raise DataError(
                f"impurity poisson needs targets ≥ 0 with a positive sum; {got} in "
                f"{objects.table.target.name!r}: use impurity=variance"
            )
        return self

    def of_values(self, y: np.ndarray, weight: np.ndarray) -> float:
        """Return the impurity of the objects themselves, 0 where all are 0.   y, weight :
        float64[n].
        """
        mean, some = float(np.average(y, weights=weight)), y > 0
        return (
            max(float(weight[some] @ (y[some] * np.log(y[some] / mean))) / float(weight.sum()), 0.0)
            if mean > 0
            else 0.0
        )

    def leaf_value(self, y: np.ndarray, weight: np.ndarray) -> float:
        """Return the weighted mean."""
        return float(np.average(y, weights=weight))


@attrs.frozen
class SquaredPairs(_Mean):
    """Σ_i Σ_j ½ (y_i − y_j)² over ordered pairs, (Σw)² times the variance: a total, which a
    reduction does not weigh by mass.

    The lecture's reduction weighs it by mass all the same, a set then counting by the third power
    of its mass; divided by the number of ordered pairs it is the variance, which is what the usual
    CART weighs: ``impurity=variance``.
    """

    name = "squared_pairs"
    paper = "lecture on decision trees, regression impurity"
    capabilities = (
        "regression",
        "weights",
        "additive",
    )
    scale = "total"
    kernel = staticmethod(kernels.squared_pairs)

    def value(self, weights: np.ndarray) -> np.ndarray:
        """Return float64[…, 3] → float64[…], square of the unit of weight × target."""
        w, wy, wyy = weights[..., 0], weights[..., 1], weights[..., 2]
        found: np.ndarray = np.maximum(w * wyy - wy * wy, 0.0)
        return found


@attrs.frozen
class Auto(_Mean):
    """The usual impurity for the target: gini for classes, variance for numbers."""

    name = "auto"
    paper = "Breiman, Friedman, Olshen & Stone 1984"
    capabilities = (*_CLASSES, "regression")

    def for_objects(self, objects: Encoded) -> Gini | Variance:
        """Return the impurity that stands behind the name."""
        return Variance() if objects.is_regression else Gini()

    def value(self, weights: np.ndarray) -> np.ndarray:
        """As gini; the engine asks ``for_objects`` first."""
        return Gini().value(weights)
