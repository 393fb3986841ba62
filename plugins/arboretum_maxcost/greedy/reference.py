"""The slow, obvious twins of ``kernels.py``: same names, plain Python, sums without rounding
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


def powers(weights: Sequence[float], l: int) -> float:
    """Return (Σ n_i)^l − Σ n_i^l of class weights (equation 9)."""
    return math.fsum(weights) ** l - math.fsum(w**l for w in weights)


def hinged_pairs(weights: Sequence[float], alpha: float, subtract_square: bool) -> float:
    """Return Σ_{i<j} [[n_i − α]₊ [n_j − α]₊ − α²]₊ of class weights (equation 10), or without − α²
    (not ``subtract_square``).
    """

    def positive_part(x: float) -> float:
        return max(x, 0.0)

    square = alpha * alpha if subtract_square else 0.0
    return math.fsum(
        positive_part(positive_part(a - alpha) * positive_part(b - alpha) - square)
        for a, b in itertools.combinations(weights, 2)
    )


def polynomial(
    weights: Sequence[float], gamma: Sequence[float], exponents: Sequence[Sequence[int]]
) -> float:
    """Return Σ_t γ_t Π_k n_k^p_tk of class weights (equation 8), as many as exponents in a row.

    gamma : γ_t; exponents : p_tk, a row per term.
    """
    return math.fsum(
        g * math.prod(w**p for w, p in zip(weights, row, strict=False))
        for g, row in zip(gamma, exponents, strict=True)
    )


def rt(weights: Sequence[float]) -> float:
    """Return Σ_{i<j} n_i n_j of class weights."""
    return math.fsum(a * b for a, b in itertools.combinations(weights, 2))


def gain_of(weights: Sequence[Sequence[float]] | np.ndarray) -> float:
    """Return ΔI in bits, at least 0: entropy of all outcomes together less the mean of theirs.

    weights : [outcomes][classes], some of them above 0.
    """

    def bits(row: Sequence[float]) -> float:
        mass = math.fsum(row)
        return math.fsum(w * math.log2(mass / w) for w in row if w > 0)

    whole = [math.fsum(column) for column in zip(*weights, strict=True)]
    return max((bits(whole) - math.fsum(map(bits, weights))) / math.fsum(whole), 0.0)


def _worst_case(
    impurity: Callable[..., float], weights: np.ndarray, price: float, node: KernelNode
) -> float:
    """Return −max_i c / (g(G) − g(G_i)), see :func:`worst_case`, with F(G_i) = ``impurity``, of
    each row of ``weights``, and c = ``price``.
    """

    def positive_part(value: float) -> float:
        return max(value - float(node.params[0]), 0.0)

    drops = [
        positive_part(node.impurity) - positive_part(impurity(row))
        for row in weights
        if sum(row) > 0
    ]
    return -max(price / drop for drop in drops) if min(drops) > 0 else -1e300


def worst_case(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return −max_i c / (g(G) − g(G_i)) over the outcomes with rows, g = [F − δ]₊, F the node's
    impurity and δ ``node.params[0]``; −1e300 where some outcome does not lower g.
    """
    return _worst_case(node.impurity_of, weights, price, node)


def worst_case_rt(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return the score of :func:`worst_case` with F(G_i) = :func:`rt`."""
    return _worst_case(rt, weights, price, node)


def eg2(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return (2^ΔI − 1) / (C + 1)^w, w in ``node.params[0]``."""
    found: float = (2.0 ** gain_of(weights) - 1.0) / (price + 1.0) ** node.params[0]
    return found


def idx(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return ΔI / C, of a price C > 0."""
    return gain_of(weights) / price


def cs_id3(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """Return ΔI² / C, of a price C > 0."""
    return gain_of(weights) ** 2 / price
