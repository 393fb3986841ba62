"""The slow, obvious twins of ``kernels.py``: same names, plain Python, exact sums
(``math.fsum``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence


def me(weights: Sequence[float]) -> float:
    return math.fsum(weights) - max(weights)


def rt(weights: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in itertools.combinations(weights, 2))


def gini(weights: Sequence[float]) -> float:
    mass = math.fsum(weights)
    return 1.0 - math.fsum((w / mass) ** 2 for w in weights) if mass > 0 else 0.0


def entropy(weights: Sequence[float]) -> float:
    mass = math.fsum(weights)
    return -math.fsum(w / mass * math.log2(w / mass) for w in weights if w > 0) if mass > 0 else 0.0


def _aggregated(impurity: Callable, weights, counts, node) -> float:
    values = [impurity(row) for row in weights]
    if node.params[0] >= 2:
        moments = counts.shape[1] < weights.shape[1]
        mass = [row[0] if moments else math.fsum(row) for row in weights]
        values = [value * share / node.mass for value, share in zip(values, mass, strict=True)]
    return -max(values) if node.params[0] in (1, 3) else -math.fsum(values)


def aggregated(weights, counts, price, extra, node) -> float:
    return _aggregated(node.impurity_of, weights, counts, node)


def aggregated_gini(weights, counts, price, extra, node) -> float:
    return _aggregated(gini, weights, counts, node)


def aggregated_entropy(weights, counts, price, extra, node) -> float:
    return _aggregated(entropy, weights, counts, node)


def aggregated_me(weights, counts, price, extra, node) -> float:
    return _aggregated(me, weights, counts, node)


def aggregated_rt(weights, counts, price, extra, node) -> float:
    return _aggregated(rt, weights, counts, node)
