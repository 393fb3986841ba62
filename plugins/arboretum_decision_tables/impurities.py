"""Impurities of decision tables that grow with the table: totals, not shares.

The other two of the paper, entropy and gini, are the classical ones.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from arboretum.api import Capability
from arboretum_decision_tables import kernels

_CLASSES = (
    Capability.classification, Capability.multiclass, Capability.weights, Capability.additive, Capability.concave,
)  # fmt: skip
_PAPER = "Alkhalid, Chikalov & Moshkov 2011, section 3"


@attrs.frozen
class OutsideMajority:
    """Weight outside the heaviest class: N − max N_j (me); no split raises its sum.

    Not supermodular, so not admissible: with one object of each of two classes the second one adds 1; where its class
    is the heavier one it adds nothing.
    """

    kind: ClassVar[str] = "impurity"
    name: ClassVar[str] = "me"
    paper: ClassVar[str] = _PAPER
    capabilities: ClassVar[tuple] = _CLASSES
    scale: ClassVar[str] = "total"
    kernel = staticmethod(kernels.me)

    def value(self, weights: np.ndarray) -> np.ndarray:
        """float64[…, classes] → float64[…], weight."""
        return np.maximum(weights.sum(axis=-1) - weights.max(axis=-1), 0.0)


@attrs.frozen
class UnlikePairs:
    """Pairs of objects of different classes: Σ_{i<j} N_i N_j (rt); no split raises its sum.

    Admissible: an object of class k adds the weight outside k, which only grows with the table.
    """

    kind: ClassVar[str] = "impurity"
    name: ClassVar[str] = "rt"
    paper: ClassVar[str] = _PAPER
    capabilities: ClassVar[tuple] = (*_CLASSES, Capability.admissible)
    scale: ClassVar[str] = "total"
    kernel = staticmethod(kernels.rt)

    def value(self, weights: np.ndarray) -> np.ndarray:
        """float64[…, classes] → float64[…], square of weight."""
        before = np.cumsum(weights, axis=-1) - weights
        return (weights * np.maximum(before, 0.0)).sum(axis=-1)
