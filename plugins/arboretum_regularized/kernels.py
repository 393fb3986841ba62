"""Scalar kernels; loaded and compiled at first use.  The same names in ``reference.py`` are the slow, obvious twins.

``submodular_COVERAGE`` is Z without impurity (λ = 0), ``regularized_IMPURITY_COVERAGE`` is Z, ``cost_benefit_IMPURITY`` is D / c;
entropy and Gini's index are written out, which spares a call through a pointer per outcome.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels import criterion_kernel
from arboretum.kernels.parts import entropy_after, gini_after
from arboretum_regularized.kernels_parts import (
    balance_term,
    efficiency_term,
    joined,
    joined_total,
    mean_after,
    reduction_term,
    total_after,
    unlike_pairs,
    unlike_pairs_together,
)


@criterion_kernel
def submodular_none(weights, counts, price, extra, node):
    """(B + E) / c: no coverage."""
    return (balance_term(weights, counts, node)) / price


@criterion_kernel
def submodular_probability(weights, counts, price, extra, node):
    """(B + E) / c: f^p."""
    return (balance_term(weights, counts, node) + efficiency_term(weights, counts, extra, node, True, False)) / price


@criterion_kernel
def submodular_pairs(weights, counts, price, extra, node):
    """(B + E) / c: f^φ."""
    return (balance_term(weights, counts, node) + efficiency_term(weights, counts, extra, node, False, True)) / price


@criterion_kernel
def submodular_both(weights, counts, price, extra, node):
    """(B + E) / c: f^p or f^φ."""
    return (balance_term(weights, counts, node) + efficiency_term(weights, counts, extra, node, True, True)) / price


@criterion_kernel
def regularized_entropy_none(weights, counts, price, extra, node):
    """Z: entropy in bits; no coverage."""
    regular = balance_term(weights, counts, node)
    return joined(regular, entropy_after(weights), price, node)


@criterion_kernel
def regularized_entropy_probability(weights, counts, price, extra, node):
    """Z: entropy in bits; f^p."""
    regular = balance_term(weights, counts, node) + efficiency_term(weights, counts, extra, node, True, False)
    return joined(regular, entropy_after(weights), price, node)


@criterion_kernel
def regularized_entropy_pairs(weights, counts, price, extra, node):
    """Z: entropy in bits; f^φ."""
    regular = balance_term(weights, counts, node) + efficiency_term(weights, counts, extra, node, False, True)
    return joined(regular, entropy_after(weights), price, node)


@criterion_kernel
def regularized_entropy_both(weights, counts, price, extra, node):
    """Z: entropy in bits; f^p or f^φ."""
    regular = balance_term(weights, counts, node) + efficiency_term(weights, counts, extra, node, True, True)
    return joined(regular, entropy_after(weights), price, node)


@criterion_kernel
def regularized_gini_none(weights, counts, price, extra, node):
    """Z: Gini's index; no coverage."""
    regular = balance_term(weights, counts, node)
    return joined(regular, gini_after(weights), price, node)


@criterion_kernel
def regularized_gini_probability(weights, counts, price, extra, node):
    """Z: Gini's index; f^p."""
    regular = balance_term(weights, counts, node) + efficiency_term(weights, counts, extra, node, True, False)
    return joined(regular, gini_after(weights), price, node)


@criterion_kernel
def regularized_gini_pairs(weights, counts, price, extra, node):
    """Z: Gini's index; f^φ."""
    regular = balance_term(weights, counts, node) + efficiency_term(weights, counts, extra, node, False, True)
    return joined(regular, gini_after(weights), price, node)


@criterion_kernel
def regularized_gini_both(weights, counts, price, extra, node):
    """Z: Gini's index; f^p or f^φ."""
    regular = balance_term(weights, counts, node) + efficiency_term(weights, counts, extra, node, True, True)
    return joined(regular, gini_after(weights), price, node)


@criterion_kernel
def regularized_mean_none(weights, counts, price, extra, node):
    """Z: any mean impurity that has a kernel; no coverage."""
    regular = balance_term(weights, counts, node)
    return joined(regular, mean_after(weights, node.impurity_of), price, node)


@criterion_kernel
def regularized_mean_probability(weights, counts, price, extra, node):
    """Z: any mean impurity that has a kernel; f^p."""
    regular = balance_term(weights, counts, node) + efficiency_term(weights, counts, extra, node, True, False)
    return joined(regular, mean_after(weights, node.impurity_of), price, node)


@criterion_kernel
def regularized_mean_pairs(weights, counts, price, extra, node):
    """Z: any mean impurity that has a kernel; f^φ."""
    regular = balance_term(weights, counts, node) + efficiency_term(weights, counts, extra, node, False, True)
    return joined(regular, mean_after(weights, node.impurity_of), price, node)


@criterion_kernel
def regularized_mean_both(weights, counts, price, extra, node):
    """Z: any mean impurity that has a kernel; f^p or f^φ."""
    regular = balance_term(weights, counts, node) + efficiency_term(weights, counts, extra, node, True, True)
    return joined(regular, mean_after(weights, node.impurity_of), price, node)


@criterion_kernel
def regularized_total_none(weights, counts, price, extra, node):
    """Z: any total impurity that has a kernel; no coverage."""
    regular = balance_term(weights, counts, node)
    return joined_total(regular, total_after(weights, node.impurity_of), price, node)


@criterion_kernel
def regularized_total_probability(weights, counts, price, extra, node):
    """Z: any total impurity that has a kernel; f^p."""
    regular = balance_term(weights, counts, node) + efficiency_term(weights, counts, extra, node, True, False)
    return joined_total(regular, total_after(weights, node.impurity_of), price, node)


@criterion_kernel
def regularized_total_pairs(weights, counts, price, extra, node):
    """Z: any total impurity that has a kernel; f^φ."""
    regular = balance_term(weights, counts, node) + efficiency_term(weights, counts, extra, node, False, True)
    return joined_total(regular, total_after(weights, node.impurity_of), price, node)


@criterion_kernel
def regularized_total_both(weights, counts, price, extra, node):
    """Z: any total impurity that has a kernel; f^p or f^φ."""
    regular = balance_term(weights, counts, node) + efficiency_term(weights, counts, extra, node, True, True)
    return joined_total(regular, total_after(weights, node.impurity_of), price, node)


@criterion_kernel
def cost_benefit_entropy(weights, counts, price, extra, node):
    """D / c: entropy in bits."""
    return reduction_term(entropy_after(weights), node) / price


@criterion_kernel
def cost_benefit_gini(weights, counts, price, extra, node):
    """D / c: Gini's index."""
    return reduction_term(gini_after(weights), node) / price


@criterion_kernel
def cost_benefit_mean(weights, counts, price, extra, node):
    """D / c: any mean impurity that has a kernel."""
    return reduction_term(mean_after(weights, node.impurity_of), node) / price


@criterion_kernel
def cost_benefit_total(weights, counts, price, extra, node):
    """D / c: any total impurity that has a kernel."""
    return (node.impurity - total_after(weights, node.impurity_of)) / node.total_mass / price


@criterion_kernel
def balance(weights, counts, price, extra, node):
    """Minus the difference of the heaviest and the lightest outcome that has objects, as a share of the root's weight."""
    most = 0.0
    least = np.inf
    for o in range(weights.shape[0]):
        mass = 0.0
        for k in range(weights.shape[1]):
            mass += weights[o, k]
        if mass > 0.0:
            most = max(most, mass)
            least = min(least, mass)
    return (least - most) / node.total_mass


@criterion_kernel
def impure_pairs(weights, counts, price, extra, node):
    """φ(S) − Σ_v φ(S_v), or with the branch's share of the weight before each φ; over the price if ``params[0]``."""
    found = unlike_pairs_together(counts)
    if node.params[1] > 0.0:
        found *= node.mass / node.total_mass
    for o in range(weights.shape[0]):
        pairs = unlike_pairs(counts[o])
        if node.params[1] > 0.0:
            mass = 0.0
            for k in range(weights.shape[1]):
                mass += weights[o, k]
            pairs *= mass / node.total_mass
        found -= pairs
    return found / price if node.params[0] > 0.0 else found
