"""A coverage to test on, as simple as they come; with a kernel of its own in
``property/search/cover.py``.
"""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.api import Encoded


@attrs.frozen
class ToyExcluded:
    """Share of the weight of the other objects that an object has been told apart from: (W −
    w(S)) / (W − w_i).
    """

    kind = "coverage"
    name = "toy_excluded"
    paper = ""
    capabilities = ()

    def covered(self, objects: Encoded, rows: np.ndarray) -> np.ndarray:
        return self.prepare(objects).covered(objects, rows)

    def prepare(self, objects: Encoded) -> ExcludedOf:
        return ExcludedOf(float(objects.weight.sum()))


@attrs.frozen
class ExcludedOf:
    """The same, bound to the weight of all objects."""

    total: float

    def covered(self, objects: Encoded, rows: np.ndarray) -> np.ndarray:
        weight = objects.weight[rows]
        others = self.total - weight
        return np.divide(
            self.total - weight.sum(), others, out=np.ones(len(rows)), where=others > 0.0
        )
