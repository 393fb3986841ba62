"""Scalar kernels; loaded and compiled at first use.  ``reference.py`` has their slow, obvious twins.

Those of Z, of Z without impurity (λ = 0) and of D / c are three families, one source each.  The names in capitals are constants of
a kernel: which impurity, which coverages.  Entropy and Gini's index are written out, which spares a call through a pointer per
outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from arboretum.kernels import baked, criterion_kernel
from arboretum.kernels.impurity_sums import entropy_after, gini_after
from arboretum_regularized.kernels_terms import (
    balance_term,
    efficiency_term,
    excluded_term,
    exclusive_term,
    joined,
    joined_total,
    mean_after,
    reduced,
    reduced_total,
    total_after,
    unlike_pairs,
    unlike_pairs_together,
)

COVERAGES = ("probability", "pairs", "excluded")
"""In the order of a kernel's name."""
AFTER = {"entropy": entropy_after, "gini": gini_after, "mean": mean_after, "total": total_after}
"""Form of the impurity → Σ_v of it; mean and total stand for any impurity of that scale that has a kernel."""
COVERED = BY_PROBABILITY = BY_PAIRS = WRITTEN_OUT = True
efficiency, impurity_after = efficiency_term, entropy_after


def submodular(weights, counts, price, extra, node):
    """(B + E) / c."""
    regular = balance_term(weights, counts, node)
    if COVERED:
        regular += efficiency(weights, counts, extra, node, BY_PROBABILITY, BY_PAIRS)
    return regular / price


def regularized(weights, counts, price, extra, node):
    """Z."""
    regular = balance_term(weights, counts, node)
    if COVERED:
        regular += efficiency(weights, counts, extra, node, BY_PROBABILITY, BY_PAIRS)
    after = impurity_after(weights) if WRITTEN_OUT else impurity_after(weights, node.impurity_of)
    return joined(regular, after, price, node)


def cost_benefit(weights, counts, price, extra, node):
    """D / c."""
    after = impurity_after(weights) if WRITTEN_OUT else impurity_after(weights, node.impurity_of)
    return reduced(after, price, node)


@lru_cache(maxsize=None)
def kernel_of(family: Callable, impurity: str = "", coverages: frozenset[str] = frozenset()) -> Callable:
    """The kernel of a family, one of the three functions above.

    impurity : a key of :data:`AFTER`; "" for the family without.   coverages : those of the disjunction, of :data:`COVERAGES`.
    """
    excluded = "excluded" in coverages
    name = "_".join((family.__name__, *filter(None, [impurity]), *(each for each in COVERAGES if each in coverages)))
    names = {"joined": joined_total, "reduced": reduced_total} if impurity == "total" else {}
    kernel = baked(
        family, name, **names,
        COVERED=bool(coverages), BY_PROBABILITY="probability" in coverages, BY_PAIRS="pairs" in coverages,
        efficiency=excluded_term if coverages == {"excluded"} else exclusive_term if excluded else efficiency_term,
        impurity_after=AFTER.get(impurity), WRITTEN_OUT=impurity in ("entropy", "gini"),
    )  # fmt: skip
    return criterion_kernel(kernel, column_by_class=excluded and "probability" in coverages)


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
