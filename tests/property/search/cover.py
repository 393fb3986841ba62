"""A criterion that reads coverage, by a column of its own and a kernel, or by what tests add."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from toy_coverage import ToyExcluded

from arboretum.api import Node, Tables, param
from arboretum.kernels import column_kernel, criterion_kernel


@attrs.frozen
class ToyCover:
    """What a test adds to the coverage of its objects, less a little for its price.

    With ``ToyExcluded`` alone the sum over an outcome S_v has the closed form (w(S) − w(S_v)) · Σ
    w_i / (w(S) − w_i): an additive column and a kernel.  With other coverages it reads
    ``tables.gain``.
    """

    kind = "criterion"
    name = "toy_cover"
    paper = ""
    capabilities = (
        "classification",
        "multiclass",
        "weights",
        "prices",
        "multiway",
        "missing",
        "additive",
    )
    needs_gain = True
    counts_objects = True

    per_price: float = param(0.0, "taken off per unit of price")
    per_object: float = param(0.0, "taken off per object outside the largest outcome")

    def kernel(self, impurity: Any, coverage: tuple[Any, ...]) -> Callable | None:
        return cover_score if coverage == (ToyExcluded(),) else None

    @staticmethod
    @column_kernel
    def column(weight, label, node):
        return weight / (node.mass - weight) if node.mass > weight else 0.0

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        gain = tables.gain
        if gain is None:
            gain = (node.mass - tables.mass) * tables.extra[..., 0]
        sizes = tables.counts.sum(axis=2)
        few = sizes.sum(axis=1) - sizes.max(axis=1)
        return gain.sum(axis=1) - self.per_price * tables.price - self.per_object * few


@criterion_kernel
def cover_score(weights, counts, price, extra, node):
    """:class:`ToyCover` in closed form."""
    gain, objects, most = 0.0, 0, 0
    for o in range(weights.shape[0]):
        mass, size = 0.0, 0
        for k in range(weights.shape[1]):
            mass += weights[o, k]
            size += counts[o, k]
        gain += (node.mass - mass) * extra[o, 0]
        objects, most = objects + size, max(most, size)
    return gain - node.params[0] * price - node.params[1] * (objects - most)
