"""What the scores are made of, in numba's subset; merged into the kernels of ``kernels.py``.

Weights are those of the run, not shares: with M the weight at the root, p(S) is m(S) / M.  ``node.params`` holds λ, θ and the
form of D (0 paper, 1 authors).
"""

from __future__ import annotations

from arboretum.api import LeafRule
from arboretum.kernels import kernel_part
from arboretum.kernels.jit import jit

ROUNDING = LeafRule.ROUNDING
"""Relative: a node of exactly θ is covered, as it is a leaf."""


@kernel_part
def mean_after(weights, impurity_of):
    """Σ_v m(S_v) h(S_v), h a mean; ``impurity_of`` as in ``node``."""
    found = 0.0
    for o in range(weights.shape[0]):
        mass = 0.0
        for k in range(weights.shape[1]):
            mass += weights[o, k]
        if mass > 0.0:
            found += mass * impurity_of(weights[o])
    return found


@kernel_part
def total_after(weights, impurity_of):
    """Σ_v h(S_v), h a total; ``impurity_of`` as in ``node``."""
    found = 0.0
    for o in range(weights.shape[0]):
        found += impurity_of(weights[o])
    return found


@jit(inline=True)
def unlike_pairs(counts):
    """Pairs of objects of different classes.   counts : int64[classes]."""
    before = 0.0
    pairs = 0.0
    for k in range(counts.shape[0]):
        n = float(counts[k])
        pairs += n * before
        before += n
    return pairs


@jit(inline=True)
def unlike_pairs_together(counts):
    """φ(S) of the node whose outcomes are given.   counts : int64[outcomes, classes]."""
    before = 0.0
    pairs = 0.0
    for k in range(counts.shape[1]):
        n = 0.0
        for o in range(counts.shape[0]):
            n += counts[o, k]
        pairs += n * before
        before += n
    return pairs


@jit(inline=True)
def balance_term(weights, counts, node):
    """B: the share of all outcomes but the one with the most objects (the first of several)."""
    most = -1.0
    kept = 0.0
    for o in range(weights.shape[0]):
        objects = 0.0
        mass = 0.0
        for k in range(weights.shape[1]):
            objects += counts[o, k]
            mass += weights[o, k]
        if objects > most:
            most = objects
            kept = mass
    return (node.mass - kept) / node.total_mass


@jit(inline=True)
def efficiency_term(weights, counts, extra, node, by_probability, by_pairs):
    """E with the coverage f^p, f^φ or both: Σ_v [p(S_v) − C_v φ(S_v)/φ(S)], see :mod:`arboretum_regularized.criteria`.

    ``extra[:, 0]`` holds what heavy objects add to W_v (``kernels_column.heavy_objects``).
    """
    theta = node.params[1] * node.total_mass
    room = node.mass - theta
    pairs = 1.0
    if by_probability and room <= ROUNDING * theta:
        return 0.0  # every object is covered: there is nothing to gain
    if by_pairs:
        pairs = unlike_pairs_together(counts)
        if pairs <= 0.0:
            return 0.0
    found = 0.0
    for o in range(weights.shape[0]):
        mass = 0.0
        for k in range(weights.shape[1]):
            mass += weights[o, k]
        left = mass
        if by_probability:
            left = 0.0
            if mass > theta:
                left = max(mass - (node.mass - mass) * (mass / room + extra[o, 0]), 0.0)
        if by_pairs:
            left *= unlike_pairs(counts[o]) / pairs
        found += mass - left
    return found / node.total_mass


@jit(inline=True)
def excluded_term(weights, counts, extra, node, by_probability, by_pairs):
    """E with the coverage "objects of other classes excluded" alone: Σ_v Σ_ℓ p_ℓ(S_v) (1 − g_ℓ(S_v)/g_ℓ(S))."""
    everyone = 0.0
    for o in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            everyone += counts[o, k]
    found = 0.0
    for k in range(counts.shape[1]):
        own = 0.0
        for o in range(counts.shape[0]):
            own += counts[o, k]
        others = everyone - own
        if others <= 0.0:
            continue
        for o in range(counts.shape[0]):
            inside = 0.0
            for j in range(counts.shape[1]):
                inside += counts[o, j]
            found += weights[o, k] * (1.0 - (inside - counts[o, k]) / others)
    return found / node.total_mass


@jit(inline=True)
def exclusive_term(weights, counts, extra, node, by_probability, by_pairs):
    """E with a disjunction of "objects of other classes excluded" and f^p, f^φ or both, see
    :mod:`arboretum_regularized.criteria`: Σ_v Σ_ℓ [p_ℓ(S_v) − C_vℓ φ(S_v)/φ(S) g_ℓ(S_v)/g_ℓ(S)].

    ``extra[:, ℓ]`` holds what heavy objects of class ℓ add to W_vℓ (with f^p; not read without).
    """
    theta = node.params[1] * node.total_mass
    room = node.mass - theta
    pairs = unlike_pairs_together(counts)
    if pairs <= 0.0 or (by_probability and room <= ROUNDING * theta):
        return 0.0  # every object is covered: there is nothing to gain
    everyone = 0.0
    for o in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            everyone += counts[o, k]
    found = 0.0
    for o in range(weights.shape[0]):
        mass = 0.0
        inside = 0.0
        for k in range(weights.shape[1]):
            mass += weights[o, k]
            inside += counts[o, k]
        together = unlike_pairs(counts[o]) / pairs if by_pairs else 1.0
        for k in range(weights.shape[1]):
            others = everyone
            for i in range(counts.shape[0]):
                others -= counts[i, k]
            left = weights[o, k]
            if by_probability:
                if mass > theta:
                    left = max(left - (node.mass - mass) * (left / room + extra[o, k]), 0.0)
                else:
                    left = 0.0
            found += weights[o, k] - left * together * (inside - counts[o, k]) / others
    return found / node.total_mass


@jit(inline=True)
def reduced(after, price, node):
    """D / c, D = p(S) (h(S) − h(S|d)), from Σ_v m(S_v) h(S_v)."""
    return (node.mass * node.impurity - after) / node.total_mass / price


@jit(inline=True)
def reduced_total(after, price, node):
    """D / c with an impurity that is a total: D = (I(S) − Σ_v I(S_v)) / M."""
    return (node.impurity - after) / node.total_mass / price


@jit(inline=True)
def joined(regular, after, price, node):
    """Z = (B + E + λD) / c; the authors' D weighs h(S_v) by p(S_v) where the paper weighs it by p(S_v) / p(S)."""
    total = node.total_mass
    if node.params[2] > 0.0:
        gain = node.mass / total * (node.impurity - after / total)
    else:
        gain = (node.mass * node.impurity - after) / total
    return (regular + node.params[0] * gain) / price


@jit(inline=True)
def joined_total(regular, after, price, node):
    """Z with an impurity that is a total."""
    return (regular + node.params[0] * (node.impurity - after) / node.total_mass) / price
