"""Toy components that stand in for the parts a suite is not about."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.api import Node, Tables


@attrs.frozen
class ToyReduction:
    """Weighted decrease of a mean impurity, in NumPy."""

    kind = "criterion"
    name = "toy_reduction"
    paper = ""
    capabilities = ("classification", "regression", "multiclass", "weights", "multiway", "missing", "additive")

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        mass = tables.mass
        below = (mass * tables.impurity(tables.weights)).sum(axis=1) / mass.sum(axis=1)
        return node.impurity - below
