"""Scalar kernels of Z with the coverage "objects of other classes excluded", alone and in disjunctions; see ``kernels.py``.

Names end in ``excluded``, ``probability_excluded``, ``pairs_excluded`` and ``all``.
"""

from __future__ import annotations

from arboretum.kernels import criterion_kernel
from arboretum.kernels.parts import entropy_after, gini_after
from arboretum_regularized.kernels_parts import (
    balance_term,
    excluded_term,
    exclusive_term,
    joined,
    joined_total,
    mean_after,
    total_after,
)


@criterion_kernel
def submodular_excluded(weights, counts, price, extra, node):
    """(B + E) / c: objects of other classes excluded."""
    return (balance_term(weights, counts, node) + excluded_term(weights, counts, node)) / price


@criterion_kernel(column_by_class=True)
def submodular_probability_excluded(weights, counts, price, extra, node):
    """(B + E) / c: f^p or others excluded."""
    return (balance_term(weights, counts, node) + exclusive_term(weights, counts, extra, node, True, False)) / price


@criterion_kernel
def submodular_pairs_excluded(weights, counts, price, extra, node):
    """(B + E) / c: f^φ or others excluded."""
    return (balance_term(weights, counts, node) + exclusive_term(weights, counts, extra, node, False, True)) / price


@criterion_kernel(column_by_class=True)
def submodular_all(weights, counts, price, extra, node):
    """(B + E) / c: f^p, f^φ or others excluded."""
    return (balance_term(weights, counts, node) + exclusive_term(weights, counts, extra, node, True, True)) / price


@criterion_kernel
def regularized_entropy_excluded(weights, counts, price, extra, node):
    """Z: entropy in bits; objects of other classes excluded."""
    regular = balance_term(weights, counts, node) + excluded_term(weights, counts, node)
    return joined(regular, entropy_after(weights), price, node)


@criterion_kernel(column_by_class=True)
def regularized_entropy_probability_excluded(weights, counts, price, extra, node):
    """Z: entropy in bits; f^p or others excluded."""
    regular = balance_term(weights, counts, node) + exclusive_term(weights, counts, extra, node, True, False)
    return joined(regular, entropy_after(weights), price, node)


@criterion_kernel
def regularized_entropy_pairs_excluded(weights, counts, price, extra, node):
    """Z: entropy in bits; f^φ or others excluded."""
    regular = balance_term(weights, counts, node) + exclusive_term(weights, counts, extra, node, False, True)
    return joined(regular, entropy_after(weights), price, node)


@criterion_kernel(column_by_class=True)
def regularized_entropy_all(weights, counts, price, extra, node):
    """Z: entropy in bits; f^p, f^φ or others excluded."""
    regular = balance_term(weights, counts, node) + exclusive_term(weights, counts, extra, node, True, True)
    return joined(regular, entropy_after(weights), price, node)


@criterion_kernel
def regularized_gini_excluded(weights, counts, price, extra, node):
    """Z: Gini's index; objects of other classes excluded."""
    regular = balance_term(weights, counts, node) + excluded_term(weights, counts, node)
    return joined(regular, gini_after(weights), price, node)


@criterion_kernel(column_by_class=True)
def regularized_gini_probability_excluded(weights, counts, price, extra, node):
    """Z: Gini's index; f^p or others excluded."""
    regular = balance_term(weights, counts, node) + exclusive_term(weights, counts, extra, node, True, False)
    return joined(regular, gini_after(weights), price, node)


@criterion_kernel
def regularized_gini_pairs_excluded(weights, counts, price, extra, node):
    """Z: Gini's index; f^φ or others excluded."""
    regular = balance_term(weights, counts, node) + exclusive_term(weights, counts, extra, node, False, True)
    return joined(regular, gini_after(weights), price, node)


@criterion_kernel(column_by_class=True)
def regularized_gini_all(weights, counts, price, extra, node):
    """Z: Gini's index; f^p, f^φ or others excluded."""
    regular = balance_term(weights, counts, node) + exclusive_term(weights, counts, extra, node, True, True)
    return joined(regular, gini_after(weights), price, node)


@criterion_kernel
def regularized_mean_excluded(weights, counts, price, extra, node):
    """Z: any mean impurity that has a kernel; objects of other classes excluded."""
    regular = balance_term(weights, counts, node) + excluded_term(weights, counts, node)
    return joined(regular, mean_after(weights, node.impurity_of), price, node)


@criterion_kernel(column_by_class=True)
def regularized_mean_probability_excluded(weights, counts, price, extra, node):
    """Z: any mean impurity that has a kernel; f^p or others excluded."""
    regular = balance_term(weights, counts, node) + exclusive_term(weights, counts, extra, node, True, False)
    return joined(regular, mean_after(weights, node.impurity_of), price, node)


@criterion_kernel
def regularized_mean_pairs_excluded(weights, counts, price, extra, node):
    """Z: any mean impurity that has a kernel; f^φ or others excluded."""
    regular = balance_term(weights, counts, node) + exclusive_term(weights, counts, extra, node, False, True)
    return joined(regular, mean_after(weights, node.impurity_of), price, node)


@criterion_kernel(column_by_class=True)
def regularized_mean_all(weights, counts, price, extra, node):
    """Z: any mean impurity that has a kernel; f^p, f^φ or others excluded."""
    regular = balance_term(weights, counts, node) + exclusive_term(weights, counts, extra, node, True, True)
    return joined(regular, mean_after(weights, node.impurity_of), price, node)


@criterion_kernel
def regularized_total_excluded(weights, counts, price, extra, node):
    """Z: any total impurity that has a kernel; objects of other classes excluded."""
    regular = balance_term(weights, counts, node) + excluded_term(weights, counts, node)
    return joined_total(regular, total_after(weights, node.impurity_of), price, node)


@criterion_kernel(column_by_class=True)
def regularized_total_probability_excluded(weights, counts, price, extra, node):
    """Z: any total impurity that has a kernel; f^p or others excluded."""
    regular = balance_term(weights, counts, node) + exclusive_term(weights, counts, extra, node, True, False)
    return joined_total(regular, total_after(weights, node.impurity_of), price, node)


@criterion_kernel
def regularized_total_pairs_excluded(weights, counts, price, extra, node):
    """Z: any total impurity that has a kernel; f^φ or others excluded."""
    regular = balance_term(weights, counts, node) + exclusive_term(weights, counts, extra, node, False, True)
    return joined_total(regular, total_after(weights, node.impurity_of), price, node)


@criterion_kernel(column_by_class=True)
def regularized_total_all(weights, counts, price, extra, node):
    """Z: any total impurity that has a kernel; f^p, f^φ or others excluded."""
    regular = balance_term(weights, counts, node) + exclusive_term(weights, counts, extra, node, True, True)
    return joined_total(regular, total_after(weights, node.impurity_of), price, node)
