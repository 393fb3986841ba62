"""The slow, obvious twins of the kernels: plain Python, exact sums (``math.fsum``).

They read contingency tables, as the kernels do.  What the terms mean, object by object, is in
``literal.py``.
"""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from arboretum.api import LeafRule
from arboretum.kernels import KernelNode

Numbers = Sequence[float] | np.ndarray


def pairs(counts: Numbers) -> float:
    """φ = Σ_{k<l} n_k n_l, pairs of objects of different classes, from their numbers by class."""
    return math.fsum(a * b for a, b in itertools.combinations([int(n) for n in counts], 2))


def entropy(weights: Numbers) -> float:
    """Return −Σ q_ℓ log2 q_ℓ of class weights, in bits; 0 where the mass is 0."""
    mass = math.fsum(weights)
    return -math.fsum(w / mass * math.log2(w / mass) for w in weights if w > 0) if mass > 0 else 0.0


def gini(weights: Numbers) -> float:
    """Return 1 − Σ q_ℓ² of class weights, q_ℓ the share of class ℓ; 0 where the mass is 0."""
    mass = math.fsum(weights)
    return 1.0 - math.fsum((w / mass) ** 2 for w in weights) if mass > 0 else 0.0


def excess_weight(weight: float, label: int, node: KernelNode) -> float:
    """Return the difference of the two fractions, which the kernel has written as one.

    weight : of an object; of its label nothing is read.
    """
    theta = node.params[1] * node.total_mass
    if weight <= theta or node.mass <= theta or node.mass <= weight:
        return 0.0
    found: float = weight / (node.mass - weight) - weight / (node.mass - theta)
    return found


def balance_term(weights: np.ndarray, counts: np.ndarray, node: KernelNode) -> float:
    """p(S) − p(S_v*), v* the first outcome with the most objects."""
    objects = [sum(row) for row in counts]
    return (node.mass - math.fsum(weights[objects.index(max(objects))])) / node.total_mass


def efficiency_term(
    names: set[str], weights: np.ndarray, counts: np.ndarray, extra: np.ndarray, node: KernelNode
) -> float:
    """Return Σ_v Σ_ℓ [p_ℓ(S_v) − C_vℓ φ(S_v)/φ(S) g_ℓ(S_v)/g_ℓ(S)], in shares of the root's weight;
    without ``excluded`` an outcome's classes are one.

    names : of the coverages: probability, pairs, excluded.
    weights, counts : [outcomes, classes].
    extra : float64[outcomes, 1 or classes], Σ of ``excess_weight``.
    """
    share, theta = node.mass / node.total_mass, node.params[1]
    whole, by_probability = [int(n) for n in np.sum(counts, axis=0)], "probability" in names
    told_apart = pairs(whole) == 0 and names != {"probability"}
    if not names or told_apart or (by_probability and share <= theta * (1 + LeafRule.ROUNDING)):
        return 0.0
    gained = []
    for v, row in enumerate(weights):
        p = math.fsum(row) / node.total_mass
        for k, w in enumerate(row) if "excluded" in names else [(0, math.fsum(row))]:
            left = w / node.total_mass
            if by_probability:
                left = (
                    left - (share - p) * (left / (share - theta) + extra[v][k])
                    if p > theta
                    else 0.0
                )
            if "pairs" in names:
                left *= pairs(counts[v]) / pairs(whole)
            if "excluded" in names:
                left *= (sum(counts[v]) - counts[v][k]) / (sum(whole) - whole[k])
            gained.append(w / node.total_mass - left)
    return math.fsum(gained)


def discrimination_term(
    weights: np.ndarray, node: KernelNode, impurity: Callable[..., float], scale: str = "mean"
) -> float:
    """Return p(S) (h(S) − Σ_v p(S_v)/p(S) h(S_v)); the authors' form has p(S_v) in place of the
    fraction.

    weights : float64[outcomes, classes]; impurity : h of a row of them.
    scale : "total": h counts as it is, not weighed by p; else "mean".
    """
    if scale == "total":
        return (node.impurity - math.fsum(impurity(row) for row in weights)) / node.total_mass
    below = node.total_mass if node.params[2] else node.mass
    return (
        node.mass
        / node.total_mass
        * (node.impurity - math.fsum(math.fsum(row) / below * impurity(row) for row in weights))
    )


def score_of(
    name: str,
    weights: np.ndarray,
    counts: np.ndarray,
    price: float,
    extra: np.ndarray,
    node: KernelNode,
) -> float:
    """Return the score of a test by the twin of the kernel of that name in
    :func:`~arboretum_regularized.kernels.kernel_of`: family, impurity, coverages.

    weights, counts : [outcomes, classes]; extra : float64[outcomes, ·]; price : of the test.
    """
    words = set(name.split("_"))
    impurity = entropy if "entropy" in words else gini if "gini" in words else node.impurity_of
    scale = "total" if "total" in words else "mean"
    if "benefit" in words:
        return (
            discrimination_term(weights, node._replace(params=np.zeros(3)), impurity, scale) / price
        )
    found = balance_term(weights, counts, node)
    found += efficiency_term(
        words & {"probability", "pairs", "excluded"}, weights, counts, extra, node
    )
    if "regularized" in words:
        found += node.params[0] * discrimination_term(weights, node, impurity, scale)
    return found / price


def balance(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return min p(S_v) − max p(S_v) over the outcomes with weight, p the share of the root's
    weight.

    weights : float64[outcomes, classes].
    """
    shares = [math.fsum(row) / node.total_mass for row in weights if math.fsum(row) > 0]
    return min(shares) - max(shares)


def impure_pairs(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """φ(S) − Σ_v φ(S_v), φ(S) the pairs of rows of S of different classes.

    weights : float64[outcomes, classes], counts : int64[outcomes, classes], of the rows.
    price : of the test.
    node : its ``params`` say whether to divide by the price, and whether to weigh each φ by p, the
        share of the root's weight.
    """

    def weigh(rows: np.ndarray) -> float:
        """Return the share of the root's weight, or 1 where φ is not weighed."""
        return math.fsum(np.ravel(rows)) / node.total_mass if node.params[1] else 1.0

    before = weigh(weights) * pairs(np.sum(counts, axis=0))
    told_apart = before - math.fsum(
        weigh(row) * pairs(n) for row, n in zip(weights, counts, strict=True)
    )
    return told_apart / price if node.params[0] else told_apart
