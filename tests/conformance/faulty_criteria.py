"""Criteria that break a promise, each in one way; ``test_faults.py`` says who finds them."""

from __future__ import annotations

import attrs
import numpy as np
from faults import CLASSES

from arboretum.kernels import criterion_kernel, kernel_part
from arboretum.kernels.impurity_sums import gini_after
from arboretum.testing.tables import KernelReduction, ToyReduction


@criterion_kernel
def even(weights, counts, price, extra, node):
    largest = 0.0
    for v in range(weights.shape[0]):
        mass = 0.0
        for k in range(weights.shape[1]):
            mass += weights[v, k]
        largest = max(largest, mass)
    return -largest / node.mass


@criterion_kernel
def even_of_three(weights, counts, price, extra, node):
    largest = below = squares = all_mass = 0.0
    classes = 0
    for k in range(weights.shape[1]):
        total = 0.0
        for v in range(weights.shape[0]):
            total += weights[v, k]
        classes += total > 0.0
        squares += total * total
    for v in range(weights.shape[0]):
        mass = own = 0.0
        for k in range(weights.shape[1]):
            mass += weights[v, k]
            own += weights[v, k] * weights[v, k]
        largest = max(largest, mass)
        below += own / mass if mass > 0.0 else 0.0
        all_mass += mass
    return -largest / node.mass if classes > 2 else (below - squares / all_mass) / all_mass


@criterion_kernel
def rounded_reduction(weights, counts, price, extra, node):
    below = mass = 0.0
    for v in range(weights.shape[0]):
        own = 0.0
        for k in range(weights.shape[1]):
            own += np.floor(weights[v, k])
        mass += own
        below += own * node.impurity_of(weights[v])
    return node.impurity - below / max(mass, 1.0)


@kernel_part
def reduction_of(weights, node):
    below = mass = 0.0
    for v in range(weights.shape[0]):
        own = 0.0
        for k in range(weights.shape[1]):
            own += weights[v, k]
        mass += own
        below += own * node.impurity_of(weights[v])
    return node.impurity - below / mass


@criterion_kernel
def cheap_reduction(weights, counts, price, extra, node):
    return reduction_of(weights, node) / min(price, 8.0)


@attrs.frozen
class EvenInBins(KernelReduction):
    """The most even division, said to be bounded by the vertices of a bin."""

    score = staticmethod(even)

    def bounded_by_vertices(self, impurity):
        return True


@attrs.frozen
class EvenOfThreeInBins(EvenInBins):
    """The same where three classes are there; of two it keeps its promise."""

    score = staticmethod(even_of_three)


@criterion_kernel(by_sums=True)
def more_is_better(weights, counts, price, extra, node):
    return gini_after(weights) / node.mass


@criterion_kernel(by_sums=True)
def sum_and_rows(weights, counts, price, extra, node):
    rows = 0
    for k in range(counts.shape[1]):
        rows += counts[0, k]
    return node.impurity - gini_after(weights) / node.mass - (0.125 if rows == 1 else 0.0)


@attrs.frozen
class RisesWithItsSum(KernelReduction):
    """Higher where more is left, and said to be scored by sums."""

    score = staticmethod(more_is_better)


@attrs.frozen
class SumsAndRows(KernelReduction):
    """The sum, and how many rows the first branch has, which sums do not tell."""

    score = staticmethod(sum_and_rows)


@attrs.frozen
class RoundsWeights(ToyReduction):
    """Weights become whole numbers."""

    def score(self, tables, node):
        return super().score(
            attrs.evolve(tables, weights=np.rint(tables.weights) + 1e-3 * (tables.counts > 0)), node
        )


@attrs.frozen
class CountsRows(ToyReduction):
    """Rows in the place of weights."""

    capabilities = CLASSES

    def score(self, tables, node):
        return -np.square(tables.counts.sum(axis=2) / node.counts.sum()).sum(
            axis=1
        ) - 0.01 * tables.counts.max(axis=(1, 2))


@attrs.frozen
class ReadsPrices(ToyReduction):
    """Divides by the price, and does not say so."""

    def score(self, tables, node):
        return super().score(tables, node) / (1.0 + tables.price)


@attrs.frozen
class KernelRoundsWeights(ToyReduction):
    """Its kernel is its score where weights are whole numbers."""

    def kernel(self, impurity):
        return rounded_reduction


@attrs.frozen
class KernelForgetsDearPrices(ToyReduction):
    """Its kernel is its score up to a price of 8."""

    capabilities = (*ToyReduction.capabilities, "prices")

    def kernel(self, impurity):
        return cheap_reduction

    def score(self, tables, node):
        return super().score(tables, node) / tables.price
