"""Scalar kernels; compiled at first use.  The same names in ``reference.py`` are the slow, obvious twins.

``node.params[0]`` is the aggregation of a criterion: 0 sum, 1 max, 2 w_sum, 3 w_max.  The criteria have one source; those besides
:func:`aggregated` write a measure out, which spares a call through a pointer per outcome.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from arboretum.kernels import baked, criterion_kernel, impurity_kernel, kernel_part


@impurity_kernel
def me(weights):
    """N − max N_j."""
    mass = 0.0
    top = 0.0
    for w in weights:
        mass += w
        top = max(top, w)
    return mass - top


@impurity_kernel
def rt(weights):
    """Σ_{i<j} N_i N_j."""
    before = 0.0
    pairs = 0.0
    for w in weights:
        pairs += w * before
        before += w
    return pairs


@kernel_part
def any_part(weights, counts, node, o, by_mass):
    """U of outcome o, times N(T_j) if ``by_mass``; with the run's impurity."""
    value = node.impurity_of(weights[o])
    if by_mass:
        mass = weights[o, 0]
        if counts.shape[1] == weights.shape[1]:  # else they are moments
            for k in range(1, weights.shape[1]):
                mass += weights[o, k]
        value *= mass
    return value


@kernel_part
def gini_part(weights, counts, node, o, by_mass):
    """With gini; N · gini = N − Σ N_k² / N."""
    mass = 0.0
    squares = 0.0
    for k in range(weights.shape[1]):
        w = weights[o, k]
        mass += w
        squares += w * w
    if mass <= 0.0:
        return 0.0
    return mass - squares / mass if by_mass else 1.0 - squares / (mass * mass)


@kernel_part
def entropy_part(weights, counts, node, o, by_mass):
    """With entropy; N · entropy = −Σ N_k log2(N_k / N)."""
    mass = 0.0
    for k in range(weights.shape[1]):
        mass += weights[o, k]
    value = 0.0
    for k in range(weights.shape[1]):
        w = weights[o, k]
        if 0.0 < w < mass:
            value -= w * math.log2(w / mass)
    return value if by_mass or value <= 0.0 else value / mass


@kernel_part
def me_part(weights, counts, node, o, by_mass):
    """With me."""
    mass = 0.0
    most = 0.0
    for k in range(weights.shape[1]):
        w = weights[o, k]
        mass += w
        most = max(most, w)
    return (mass - most) * mass if by_mass else mass - most


@kernel_part
def rt_part(weights, counts, node, o, by_mass):
    """With rt."""
    mass = 0.0
    value = 0.0
    for k in range(weights.shape[1]):
        w = weights[o, k]
        value += w * mass
        mass += w
    return value * mass if by_mass else value


part_of = any_part


def score(weights, counts, price, extra, node):
    """−I: minus the sum or the maximum over the outcomes of U, or of U · N(T_j) / N(T)."""
    by_mass = node.params[0] >= 2.0
    total = 0.0
    top = 0.0
    for o in range(weights.shape[0]):
        value = part_of(weights, counts, node, o, by_mass)
        total += value
        top = max(top, value)
    found = top if (node.params[0] == 1.0 or node.params[0] == 3.0) and total == total else total  # NaN where U is
    return -found / node.mass if by_mass else -found


def _written_out(name: str, part: Callable) -> Callable:
    return criterion_kernel(baked(score, name, part_of=part))


aggregated = _written_out("aggregated", any_part)
aggregated_gini = _written_out("aggregated_gini", gini_part)
aggregated_entropy = _written_out("aggregated_entropy", entropy_part)
aggregated_me = _written_out("aggregated_me", me_part)
aggregated_rt = _written_out("aggregated_rt", rt_part)
