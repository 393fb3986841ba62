"""Contract: how mixed is a class-weight vector?"""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np

from arboretum.interfaces.component import Component


class Impurity(Component, Protocol):
    """A function of the class weights of a set of objects (of the moments Σw, Σwy, Σwy² for regression).

    scale : "mean" (entropy, gini: does not grow with the mass) or "total" (pairs, powers: does).  Only mean impurities
        are weighted by mass in a reduction.

    A kernel form may be given as a static method ``kernel`` marked by ``arboretum.kernels.impurity_kernel``:
    ``kernel(weights: float64[classes]) -> float64``, called inside numba, must not allocate.
    """

    scale: ClassVar[str]

    def value(self, weights: np.ndarray) -> np.ndarray:
        """float64[…, classes] → float64[…]; 0 where the mass is 0.  Called once per batch; may allocate."""
        ...
