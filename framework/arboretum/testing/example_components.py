"""Toy components that stand in for the parts a suite is not about."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.api import Encoded, Node, Tables


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


@attrs.frozen
class ToyExcluded:
    """Share of the weight of the other objects that an object has been told apart from: (W − w(S)) / (W − w_i)."""

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
        return np.divide(self.total - weight.sum(), others, out=np.ones(len(rows)), where=others > 0.0)
