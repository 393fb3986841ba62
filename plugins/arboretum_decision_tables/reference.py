"""The slow, obvious twins of ``kernels.py``: same names, plain Python, exact sums
(``math.fsum``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from arboretum.kernels import KernelNode


def me(weights: Sequence[float]) -> float:
    """Return N − max N_j of class weights, N their sum: the weight outside the majority class."""
    return math.fsum(weights) - max(weights)


def rt(weights: Sequence[float]) -> float:
    """Return Σ_{i<j} N_i N_j of class weights: with weights of 1 the pairs of objects of unlike
    class.
    """
    return math.fsum(a * b for a, b in itertools.combinations(weights, 2))


def gini(weights: Sequence[float]) -> float:
    """Return 1 − Σ p_k² of class weights, p_k the share of class k; 0 where the mass is 0."""
    mass = math.fsum(weights)
    return 1.0 - math.fsum((w / mass) ** 2 for w in weights) if mass > 0 else 0.0


def entropy(weights: Sequence[float]) -> float:
    """Return −Σ p_k log2 p_k of class weights, in bits; 0 where the mass is 0."""
    mass = math.fsum(weights)
    return -math.fsum(w / mass * math.log2(w / mass) for w in weights if w > 0) if mass > 0 else 0.0


def _aggregated(
    impurity: Callable[..., float],
    weights: np.ndarray,
    counts: np.ndarray,
    node: KernelNode,
) -> float:
    """Return −I as :func:`aggregated` does, with ``impurity`` of each row of the weights as U.

    weights, counts : [outcomes, classes], or moments and [outcomes, 1].
    """
    values = [impurity(row) for row in weights]
    if node.params[0] >= 2:
        moments = counts.shape[1] < weights.shape[1]
        mass = [row[0] if moments else math.fsum(row) for row in weights]
        values = [value * share / node.mass for value, share in zip(values, mass, strict=True)]
    return -max(values) if node.params[0] in (1, 3) else -math.fsum(values)


def aggregated(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return −I(T, f) with U the node's ``impurity_of``, in the aggregation ``node.params[0]``.

    0: Σ U(T_j); 1: max U(T_j); 2: Σ U(T_j) N(T_j)/N(T); 3: max U(T_j) N(T_j)/N(T); over the
    outcomes T_j, N the weight.
    """
    return _aggregated(node.impurity_of, weights, counts, node)


def aggregated_gini(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return −I(T, f) as of :func:`aggregated`, U being gini."""
    return _aggregated(gini, weights, counts, node)


def aggregated_entropy(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return −I(T, f) as of :func:`aggregated`, U being the entropy in bits."""
    return _aggregated(entropy, weights, counts, node)


def aggregated_me(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return −I(T, f) as of :func:`aggregated`, U being me, N − max N_j."""
    return _aggregated(me, weights, counts, node)


def aggregated_rt(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return −I(T, f) as of :func:`aggregated`, U being rt, Σ_{i<j} N_i N_j."""
    return _aggregated(rt, weights, counts, node)
