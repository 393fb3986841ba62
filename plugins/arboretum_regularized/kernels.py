"""Scalar kernels; compiled at first use.  ``reference.py`` has their slow, obvious twins.
Importing this module loads no numba::

    Z(d) = (B + E + λ D) / c                                                       (equation 2)
    B = p(S) − p(S_v), v the outcome with the most objects
    E = Σ_v Σ_ℓ [p_ℓ(S_v) − C_vℓ φ(S_v)/φ(S) g_ℓ(S_v)/g_ℓ(S)]           (criteria.py derives it)
        C_vℓ = p_ℓ(S_v) − (p(S) − p(S_v)) W_vℓ where p(S_v) > θ, else 0
    D = p(S) h(S) − Σ_v p(S_v) h(S_v); the authors' form is p(S) (h(S) − Σ_v p(S_v) h(S_v));
        (h(S) − Σ_v h(S_v)) / M for an h that is a total
    impure_pairs = φ(S) − Σ_v φ(S_v);  balance = −(heaviest − lightest outcome) / M

Those of Z, of Z without impurity (λ = 0) and of D / c have one source.  The names in capitals are
constants of a kernel: which terms, which impurity, which coverages.  Weights are those of the run,
not shares: with M the weight at the root, p(S) is m(S) / M.  ``node.params`` holds λ, θ and the
form of D (0 paper, 1 authors).

Invariants: ``weights`` and ``counts`` have a row per outcome and a column per class; φ and g count
objects, and so use ``counts``.  ``extra`` is read only where f^p is in the disjunction: column ℓ
sums ``excess_weight`` of class ℓ over an outcome, or there is one column, of all objects, where
others are not counted.  A factor whose coverage is not in the disjunction is 1 (without f^p, C_vℓ
is p_ℓ(S_v)).  No kernel writes into its arguments or allocates.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from arboretum.api import LeafRule
from arboretum.kernels import baked, column_kernel, criterion_kernel, impurity_kernel, kernel_part
from arboretum.kernels.impurity_sums import entropy_after, gini_after

COVERAGES = ("probability", "pairs", "excluded")
"""In the order of a kernel's name."""
ROUNDING = LeafRule.ROUNDING
"""Relative: a node of exactly θ is covered, as it is a leaf."""


LESS = 0.5
"""a − 1 of Tsallis entropy."""


@impurity_kernel
def tsallis(weights):
    """Return Σ_ℓ q_ℓ (1 − q_ℓ^(a−1)) / (a − 1), LESS = a − 1; −Σ q_ℓ ln q_ℓ for a = 1.

    weights : float64[classes], of which q_ℓ is a share.
    """
    mass = 0.0
    for w in weights:
        mass += w
    found = 0.0
    for w in weights:
        if w > 0.0:
            log = math.log(w / mass)
            found -= w / mass * (log if LESS == 0.0 else math.expm1(LESS * log) / LESS)
    return max(found, 0.0)


@cache
def tsallis_of(order: float) -> Callable:
    """Return the kernel :func:`tsallis` with a = ``order``; the same object for equal orders."""
    return baked(
        tsallis,
        f"tsallis_{float(order).hex().replace('.', '_').replace('+', '').replace('-', 'm')}",
        LESS=order - 1.0,
    )


@column_kernel
def excess_weight(weight, label, node):
    """Return what an object adds to W_v = Σ_{i ∈ S_v} p_i / (p(S) − max(p_i, θ)) beyond p_i / (p(S)
    − θ).

    p (p − θ) / ((p(S) − p) (p(S) − θ)) for an object heavier than θ, and 0 for the others, so that
    they cost nothing.
    """
    theta = node.params[1] * node.total_mass
    room = node.mass - theta
    alone = node.mass - weight
    if weight <= theta or room <= 0.0 or alone <= 0.0:
        return 0.0
    return weight * (weight - theta) / (alone * room)


@kernel_part
def mean_after(weights, impurity_of):
    """Return Σ_v m(S_v) h(S_v), h a mean; ``impurity_of`` as in ``node``, ``weights``
    float64[outcomes, classes].
    """
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
    """Return Σ_v h(S_v), h a total; ``impurity_of`` as in ``node``, ``weights`` float64[outcomes,
    classes].
    """
    found = 0.0
    for o in range(weights.shape[0]):
        found += impurity_of(weights[o])
    return found


AFTER = {"entropy": entropy_after, "gini": gini_after, "mean": mean_after, "total": total_after}
"""Form of the impurity → Σ_v of it; mean and total stand for any impurity of that scale that has a
kernel.  Entropy and Gini's index are written out, which spares a call through a pointer per
outcome.
"""


@kernel_part
def unlike_pairs(counts):
    """Pairs of objects of different classes.   counts : int64[classes]."""
    before = 0.0
    pairs = 0.0
    for k in range(counts.shape[0]):
        n = float(counts[k])
        pairs += n * before
        before += n
    return pairs


@kernel_part
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


@kernel_part
def balance_term(weights, counts, node):
    """Return B: the share of all outcomes but the one with the most objects (the first of several),
    of the root's weight.

    weights : float64[outcomes, classes]; counts : int64[outcomes, classes].
    """
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


@kernel_part
def efficiency_term(weights, counts, extra, node, by_probability, by_pairs, by_others):
    """Return E with a disjunction of f^p, f^φ and "objects of other classes excluded": Σ_v Σ_ℓ
    [p_ℓ(S_v) − C_vℓ φ(S_v)/φ(S) g_ℓ(S_v)/g_ℓ(S)], see :mod:`arboretum_regularized.criteria`; the
    classes of an outcome are one where others are not counted.

    weights : float64[outcomes, classes]; counts : int64[outcomes, classes].
    ``extra[:, ℓ]`` holds what heavy objects (of class ℓ) add to W_vℓ.
    by_probability, by_pairs, by_others : which of the three there are, constants of the kernel.
    """
    theta = node.params[1] * node.total_mass
    room = node.mass - theta
    pairs = unlike_pairs_together(counts) if by_pairs or by_others else 1.0
    if pairs <= 0.0 or (by_probability and room <= ROUNDING * theta):
        return 0.0  # every object is covered: there is nothing to gain
    found = 0.0
    for o in range(weights.shape[0]):
        mass = 0.0
        inside = 0.0
        for k in range(weights.shape[1]):
            mass += weights[o, k]
            inside += counts[o, k]
        together = unlike_pairs(counts[o]) / pairs if by_pairs else 1.0
        for k in range(weights.shape[1] if by_others else 1):
            own = weights[o, k] if by_others else mass
            left = own
            if by_probability:
                left = 0.0
                if mass > theta:
                    left = max(own - (node.mass - mass) * (own / room + extra[o, k]), 0.0)
            left *= together
            if by_others:
                others = 0.0
                for i in range(counts.shape[0]):
                    for j in range(counts.shape[1]):
                        if j != k:
                            others += counts[i, j]
                left *= (inside - counts[o, k]) / others
            found += own - left
    return found / node.total_mass


BALANCED = BY_PROBABILITY = BY_PAIRS = BY_OTHERS = IMPURE = WRITTEN_OUT = TOTAL = True
impurity_after = entropy_after


def score(weights, counts, price, extra, node):
    """Return Z = (B + E + λD) / c, (B + E) / c or D / c, as the constants of the kernel say; the
    authors' D weighs h(S_v) by p(S_v) where the paper weighs it by p(S_v) / p(S).
    """
    found = 0.0
    if BALANCED:
        found = balance_term(weights, counts, node)
    if BY_PROBABILITY or BY_PAIRS or BY_OTHERS:
        found += efficiency_term(weights, counts, extra, node, BY_PROBABILITY, BY_PAIRS, BY_OTHERS)
    if IMPURE:
        after = (
            impurity_after(weights) if WRITTEN_OUT else impurity_after(weights, node.impurity_of)
        )
        if TOTAL:
            gain = (node.impurity - after) / node.total_mass
        elif BALANCED and node.params[2] > 0.0:
            gain = node.mass / node.total_mass * (node.impurity - after / node.total_mass)
        else:
            gain = (node.mass * node.impurity - after) / node.total_mass
        found += node.params[0] * gain if BALANCED else gain
    return found / price


@cache
def kernel_of(family: str, impurity: str = "", coverages: frozenset[str] = frozenset()) -> Callable:
    """Return the kernel of a family: "regularized" (Z), "submodular" (Z without impurity) or
    "cost_benefit" (D / c).

    impurity : a key of :data:`AFTER`; "" for the family without.
    coverages : those of the disjunction, of :data:`COVERAGES`.
    """
    kernel = baked(
        score,
        "_".join(
            (family, *filter(None, [impurity]), *(each for each in COVERAGES if each in coverages))
        ),
        BALANCED=family != "cost_benefit",
        BY_PROBABILITY="probability" in coverages,
        BY_PAIRS="pairs" in coverages,
        BY_OTHERS="excluded" in coverages,
        IMPURE=bool(impurity),
        WRITTEN_OUT=impurity in ("entropy", "gini"),
        TOTAL=impurity == "total",
        impurity_after=AFTER.get(impurity),
    )
    return criterion_kernel(kernel, column_by_class={"excluded", "probability"} <= coverages)


@criterion_kernel
def balance(weights, counts, price, extra, node):
    """Minus the difference of the heaviest and the lightest outcome that has objects, as a share
    of the root's weight.
    """
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
    """φ(S) − Σ_v φ(S_v), or with the branch's share of the weight before each φ; over the price
    if ``params[0]``.
    """
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
