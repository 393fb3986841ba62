"""Scalar kernels; compiled at first use.  The same names in ``reference.py`` are the slow, obvious
twins::

    I(T, f) = Σ_j U(T_j),  max_j U(T_j),  Σ_j U(T_j) N(T_j) / N(T),  max_j U(T_j) N(T_j) / N(T)
    me(T) = N(T) − max_k N_k(T),   rt(T) = Σ_{i<j} N_i(T) N_j(T)
    the score of f is −I(T, f): the greatest is best

``node.params[0]`` is the aggregation of a criterion: 0 sum, 1 max, 2 w_sum, 3 w_max.  The four
criteria below :func:`aggregated` write a measure out, which spares a call through a pointer per
outcome; each accumulates both the sum and the maximum of U, or of U · N(T_j).

Invariants: ``weights`` has a row per outcome T_j, with a column per class; where ``counts`` has
fewer columns, a row is moments, and its first number is N(T_j).  Only :func:`aggregated` reads
moments; it answers NaN where U is NaN.  No kernel writes into its arguments or allocates.
"""

import math

from arboretum.kernels import criterion_kernel, impurity_kernel


@impurity_kernel
def me(weights):
    """Return N − max N_j.   weights : float64[classes], N_j; N their sum."""
    mass = 0.0
    top = 0.0
    for w in weights:
        mass += w
        top = max(top, w)
    return mass - top


@impurity_kernel
def rt(weights):
    """Return Σ_{i<j} N_i N_j.   weights : float64[classes], N_j."""
    before = 0.0
    pairs = 0.0
    for w in weights:
        pairs += w * before
        before += w
    return pairs


@criterion_kernel
def aggregated(weights, counts, price, extra, node):
    """Return −I with the run's impurity, in the aggregation ``node.params[0]``: 0: sum; 1: max; 2:
    sum weighted by mass; 3: max of these.

    weights, counts : [outcomes, classes], or moments and [outcomes, 1].

    NaN where the impurity has no kernel.
    """
    by_mass = node.params[0] >= 2.0
    moments = counts.shape[1] < weights.shape[1]
    total = 0.0
    top = 0.0
    for o in range(weights.shape[0]):
        value = node.impurity_of(weights[o])
        if by_mass:
            mass = weights[o, 0]
            if not moments:
                for k in range(1, weights.shape[1]):
                    mass += weights[o, k]
            value *= mass
        if value != value:
            return value
        total += value
        top = max(top, value)
    found = top if node.params[0] == 1.0 or node.params[0] == 3.0 else total
    return -found / node.mass if by_mass else -found


@criterion_kernel
def aggregated_gini(weights, counts, price, extra, node):
    """Return :func:`aggregated` with gini; N · gini = N − Σ N_k² / N."""
    by_mass = node.params[0] >= 2.0
    total = 0.0
    top = 0.0
    for o in range(weights.shape[0]):
        mass = 0.0
        squares = 0.0
        for k in range(weights.shape[1]):
            w = weights[o, k]
            mass += w
            squares += w * w
        if mass > 0.0:
            value = mass - squares / mass if by_mass else 1.0 - squares / (mass * mass)
            total += value
            top = max(top, value)
    found = top if node.params[0] == 1.0 or node.params[0] == 3.0 else total
    return -found / node.mass if by_mass else -found


@criterion_kernel
def aggregated_entropy(weights, counts, price, extra, node):
    """Return :func:`aggregated` with entropy; N · entropy = −Σ N_k log2(N_k / N)."""
    by_mass = node.params[0] >= 2.0
    total = 0.0
    top = 0.0
    for o in range(weights.shape[0]):
        mass = 0.0
        for k in range(weights.shape[1]):
            mass += weights[o, k]
        value = 0.0
        for k in range(weights.shape[1]):
            w = weights[o, k]
            if 0.0 < w < mass:
                value -= w * math.log2(w / mass)
        if value > 0.0:
            if not by_mass:
                value /= mass
            total += value
            top = max(top, value)
    found = top if node.params[0] == 1.0 or node.params[0] == 3.0 else total
    return -found / node.mass if by_mass else -found


@criterion_kernel
def aggregated_me(weights, counts, price, extra, node):
    """Return :func:`aggregated` with me, N − max N_k."""
    by_mass = node.params[0] >= 2.0
    total = 0.0
    top = 0.0
    for o in range(weights.shape[0]):
        mass = 0.0
        most = 0.0
        for k in range(weights.shape[1]):
            w = weights[o, k]
            mass += w
            most = max(most, w)
        value = (mass - most) * mass if by_mass else mass - most
        total += value
        top = max(top, value)
    found = top if node.params[0] == 1.0 or node.params[0] == 3.0 else total
    return -found / node.mass if by_mass else -found


@criterion_kernel
def aggregated_rt(weights, counts, price, extra, node):
    """Return :func:`aggregated` with rt, Σ_{i<j} N_i N_j."""
    by_mass = node.params[0] >= 2.0
    total = 0.0
    top = 0.0
    for o in range(weights.shape[0]):
        mass = 0.0
        value = 0.0
        for k in range(weights.shape[1]):
            w = weights[o, k]
            value += w * mass
            mass += w
        if by_mass:
            value *= mass
        total += value
        top = max(top, value)
    found = top if node.params[0] == 1.0 or node.params[0] == 3.0 else total
    return -found / node.mass if by_mass else -found
