"""Decomposable impurities: h(S) = Σ_ℓ q_ℓ h_ℓ(q_ℓ), q_ℓ the share of class ℓ by weight (section 3).

An author writes h_ℓ alone::

    @attrs.frozen
    class Mine(Decomposable):
        \"\"\"What it measures.\"\"\"

        name = "mine"

        def parts(self, q):
            return 1.0 - q * q

and ``arboretum lint`` says whether h is what Theorem 1 asks for: 0 where one class has everything,
largest where all have the same share, concave, and the same for any order of the classes.
"""

from collections.abc import Callable

import attrs
import numpy as np

from arboretum.api import param
from arboretum_regularized import kernels

TOLERANCE = 1e-9
"""Relative to the largest value: some twenty operations on float64, and a difference of two
means.
"""


class Decomposable:
    """Base of impurities given by ``parts``; classes need not be told apart by it, but may be."""

    kind = "impurity"
    paper = "Zhang & Gionis 2023, section 3"
    capabilities = (
        "classification",
        "multiclass",
        "weights",
        "additive",
        "concave",
    )
    scale = "mean"

    def parts(self, q: np.ndarray) -> np.ndarray:
        """h_ℓ(q_ℓ): float64[…, classes] in (0, 1] → float64[…, classes].  Also called with 1
        where a class has nothing.
        """
        raise NotImplementedError

    def value(self, weights: np.ndarray) -> np.ndarray:
        """Return float64[…, classes] → float64[…]."""
        mass = weights.sum(axis=-1, keepdims=True)
        q = np.divide(weights, mass, out=np.zeros_like(weights, dtype=float), where=mass > 0)
        found = np.where(q > 0, q * self.parts(np.where(q > 0, q, 1.0)), 0.0).sum(axis=-1)
        # the sum of nearly equal parts of a pure set may be −1e-17; real negative values are left
        # for the check to find
        return np.where((found < 0) & (found > -TOLERANCE), 0.0, found)

    def largest_part(self, least_share: float, n_classes: int) -> float:
        """max h_ℓ(q) over the shares from ``least_share`` to 1, on a grid of 1025 (its ends are
        on it).
        """
        q = np.linspace(least_share, 1.0, 1025)
        return float(np.max(self.parts(np.repeat(q[:, None], n_classes, axis=1))))


@attrs.frozen
class Tsallis(Decomposable):
    """Tsallis entropy: (1 − Σ q_ℓ^a) / (a − 1), with h_ℓ(q) = (1 − q^(a−1)) / (a − 1); a = 2 is
    gini, a → 1 entropy in nats.
    """

    name = "tsallis"
    paper = "Tsallis 1988; decomposable as in Zhang & Gionis 2023, section 3"

    order: float = param(1.5, "a; larger values look at the heavy classes more", gt=0.0)

    @property
    def kernel(self) -> Callable[..., float]:
        """The impurity of this order as a kernel."""
        return kernels.tsallis_of(self.order)

    def parts(self, q: np.ndarray) -> np.ndarray:
        """Return float64[…, classes] → float64[…, classes]; −ln q for a = 1."""
        a = self.order - 1.0
        parts: np.ndarray = -np.expm1(a * np.log(q)) / a if a else -np.log(q)
        return parts
