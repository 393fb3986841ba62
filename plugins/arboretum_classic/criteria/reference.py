"""The slow, obvious twins of ``kernels.py``: same names, plain Python, exact sums
(``math.fsum``).
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from arboretum.kernels import KernelNode


def gini(weights: Sequence[float]) -> float:
    """Return 1 − Σ p_k² of class weights, p_k the share of class k; 0 where the mass is 0."""
    mass = math.fsum(weights)
    return 1.0 - math.fsum((w / mass) ** 2 for w in weights) if mass > 0 else 0.0


def entropy(weights: Sequence[float]) -> float:
    """Return −Σ p_k log2 p_k of class weights, in bits; 0 where the mass is 0."""
    mass = math.fsum(weights)
    return -math.fsum(w / mass * math.log2(w / mass) for w in weights if w > 0) if mass > 0 else 0.0


def misclassification(weights: Sequence[float]) -> float:
    """Return 1 − max p_k of class weights, p_k the share of class k; 0 where the mass is 0."""
    mass = math.fsum(weights)
    return 1.0 - max(weights) / mass if mass > 0 else 0.0


def variance(weights: Sequence[float]) -> float:
    """Return Σwy²/Σw − (Σwy/Σw)² of ``weights``, the moments (Σw, Σwy, Σwy²), at least 0; 0 where
    the mass is 0.
    """
    w, wy, wyy = weights
    return max(wyy / w - (wy / w) ** 2, 0.0) if w > 0 else 0.0


def _reduction(
    weights: np.ndarray,
    node: KernelNode,
    impurity: Callable[..., float],
    mass_of: Callable[..., float],
) -> float:
    """Return [m(S) i(S) − Σ_v m(S_v) i(S_v)] / m(R).

    weights : float64[outcomes, ·], of which ``impurity`` and ``mass_of`` take a row each.
    """
    after = math.fsum(mass_of(row) * impurity(row) for row in weights)
    return (node.mass * node.impurity - after) / node.total_mass


def reduction_gini(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return [m(S) i(S) − Σ_v m(S_v) i(S_v)] / m(R): m the mass, S the node, R the root, i gini."""
    return _reduction(weights, node, gini, math.fsum)


def reduction_entropy(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return [m(S) i(S) − Σ_v m(S_v) i(S_v)] / m(R), i the entropy in bits."""
    return _reduction(weights, node, entropy, math.fsum)


def reduction_misclassification(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return [m(S) i(S) − Σ_v m(S_v) i(S_v)] / m(R), i the misclassification."""
    return _reduction(weights, node, misclassification, math.fsum)


def reduction_variance(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return [m(S) i(S) − Σ_v m(S_v) i(S_v)] / m(R), i the variance.

    weights : float64[outcomes, 3], moments (Σw, Σwy, Σwy²).
    """
    return _reduction(weights, node, variance, lambda row: row[0])


def reduction_mean(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return [m(S) i(S) − Σ_v m(S_v) i(S_v)] / m(R), i the node's ``impurity_of``, a mean."""
    return _reduction(weights, node, node.impurity_of, math.fsum)


def reduction_total(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """i(S) − Σ_v i(S_v), i the node's ``impurity_of``, a total that mass does not weigh."""
    return node.impurity - math.fsum(node.impurity_of(row) for row in weights)


def reduction_prefix(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return [m(S) i(S) − Σ_v m(S_v) i(S_v)] / m(R), from the outcomes' m · i.

    extra : float64[outcomes, 1], m(S_v) i(S_v), so that no ``weights`` are read.
    """
    return (node.mass * node.impurity - math.fsum(extra[:, 0])) / node.total_mass


def gain_ratio(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return [H(S) − Σ_v p(S_v)/p(S) · H(S_v)] / H(p(S_1)/p(S), …), H the entropy in bits.

    weights : float64[outcomes, classes].
    −∞ where the divisor, the split information, is 0.
    """
    masses = [math.fsum(row) for row in weights]
    total = math.fsum(masses)
    if entropy(masses) <= 0:
        return -math.inf
    before = entropy([math.fsum(column) for column in np.transpose(weights)])
    after = math.fsum(m / total * entropy(row) for m, row in zip(masses, weights, strict=True))
    return (before - after) / entropy(masses)


def squared_pairs(weights: Sequence[float]) -> float:
    """Return Σ_i Σ_j ½ w_i w_j (y_i − y_j)² = Σw · Σwy² − (Σwy)², at least 0.

    weights : the moments (Σw, Σwy, Σwy²).
    """
    w, wy, wyy = weights
    return max(w * wyy - wy * wy, 0.0)


def poisson_deviances(y: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """Write Σ w y log(y / ȳ) of every prefix to ``out``; ∞ where all its y are 0.

    y, weight, out : float64[n], y ≥ 0; ȳ is the weighted mean of the prefix.
    """
    for i in range(len(y)):
        mean = math.fsum(weight[: i + 1] * y[: i + 1]) / math.fsum(weight[: i + 1])
        seen = zip(y[: i + 1], weight[: i + 1], strict=True)
        out[i] = (
            math.fsum(w * v * math.log(v / mean) for v, w in seen if v > 0)
            if mean > 0
            else math.inf
        )


def poisson_deviances_with_zeros(y: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """Write Σ w y log(y / ȳ) of every prefix to ``out``; 0 where all its y are 0."""
    poisson_deviances(y, weight, out)
    out[out == math.inf] = 0.0


def absolute_deviations(y: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """Write Σ w |y − median| of every prefix to ``out``, about its weighted median.

    y, weight, out : float64[n].
    """
    for i in range(len(y)):
        middle = weighted_median(y[: i + 1], weight[: i + 1])
        out[i] = math.fsum(
            w * abs(v - middle) for v, w in zip(y[: i + 1], weight[: i + 1], strict=True)
        )


def weighted_median(y: np.ndarray, weight: np.ndarray) -> float:
    """Return a point of y with at most half of the weight on either side; the middle of the two
    where there are two.

    y, weight : float64[n].
    """
    order = np.argsort(y, kind="stable")
    cumulative = np.cumsum(weight[order])
    half = 0.5 * cumulative[-1]
    first = int(np.searchsorted(cumulative, half, side="left"))
    last = first + 1 if cumulative[first] == half and first + 1 < len(order) else first
    return float(0.5 * (y[order[first]] + y[order[last]]))
