"""The slow, obvious twins of the kernels: same names, plain Python, exact sums (``math.fsum``).

They read contingency tables, as the kernels do.  What the terms mean, object by object, is in ``literal.py``.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from arboretum.api import LeafRule


def pairs(counts) -> float:
    return math.fsum(a * b for a, b in itertools.combinations([int(n) for n in counts], 2))


def entropy(weights) -> float:
    mass = math.fsum(weights)
    return -math.fsum(w / mass * math.log2(w / mass) for w in weights if w > 0) if mass > 0 else 0.0


def gini(weights) -> float:
    mass = math.fsum(weights)
    return 1.0 - math.fsum((w / mass) ** 2 for w in weights) if mass > 0 else 0.0


def heavy_objects(weight, label, node) -> float:
    """The difference of the two fractions, which the kernel has written as one."""
    theta = node.params[1] * node.total_mass
    if weight <= theta or node.mass <= theta or node.mass <= weight:
        return 0.0
    return weight / (node.mass - weight) - weight / (node.mass - theta)


def balance_term(weights, counts, node) -> float:
    """p(S) − p(S_v*), v* the first outcome with the most objects."""
    objects = [sum(row) for row in counts]
    return (node.mass - math.fsum(weights[objects.index(max(objects))])) / node.total_mass


def efficiency_term(weights, counts, extra, node, by_probability, by_pairs) -> float:
    """Σ_v [p(S_v) − C_v φ(S_v)/φ(S)], in shares of the root's weight."""
    share, theta = node.mass / node.total_mass, node.params[1]
    before = pairs(np.sum(counts, axis=0))
    if (by_probability and share <= theta * (1 + LeafRule.ROUNDING)) or (by_pairs and before == 0):
        return 0.0
    gained = []
    for v, row in enumerate(weights):
        p = math.fsum(row) / node.total_mass
        left = p
        if by_probability:
            w = p / (share - theta) + extra[v][0]
            left = p - (share - p) * w if p > theta else 0.0
        if by_pairs:
            left *= pairs(counts[v]) / before
        gained.append(p - left)
    return math.fsum(gained)


def excluded_term(weights, counts, node) -> float:
    """Σ_v Σ_ℓ p_ℓ(S_v) (1 − g_ℓ(S_v)/g_ℓ(S))."""
    whole = np.sum(counts, axis=0)
    gained = []
    for v, row in enumerate(weights):
        for k, w in enumerate(row):
            others, here = sum(whole) - whole[k], sum(counts[v]) - counts[v][k]
            gained.append(w / node.total_mass * (1.0 - here / others) if others else 0.0)
    return math.fsum(gained)


def exclusive_term(weights, counts, extra, node, by_probability, by_pairs) -> float:
    """Σ_v Σ_ℓ [p_ℓ(S_v) − C_vℓ φ(S_v)/φ(S) g_ℓ(S_v)/g_ℓ(S)], in shares of the root's weight."""
    share, theta = node.mass / node.total_mass, node.params[1]
    whole = [int(n) for n in np.sum(counts, axis=0)]
    if pairs(whole) == 0 or (by_probability and share <= theta * (1 + LeafRule.ROUNDING)):
        return 0.0
    gained = []
    for v, row in enumerate(weights):
        p = math.fsum(row) / node.total_mass
        for k, w in enumerate(row):
            left = w / node.total_mass
            if by_probability:
                left = left - (share - p) * (left / (share - theta) + extra[v][k]) if p > theta else 0.0
            if by_pairs:
                left *= pairs(counts[v]) / pairs(whole)
            left *= (sum(counts[v]) - counts[v][k]) / (sum(whole) - whole[k])
            gained.append(w / node.total_mass - left)
    return math.fsum(gained)


def discrimination_term(weights, node, impurity, scale="mean") -> float:
    """p(S) (h(S) − Σ_v p(S_v)/p(S) h(S_v)); the authors' form has p(S_v) in place of the fraction."""
    if scale == "total":
        return (node.impurity - math.fsum(impurity(row) for row in weights)) / node.total_mass
    below = node.total_mass if node.params[2] else node.mass
    return node.mass / node.total_mass * (node.impurity - math.fsum(math.fsum(row) / below * impurity(row) for row in weights))


def _regular(family, weights, counts, extra, node) -> float:
    balanced = balance_term(weights, counts, node)
    if family == "excluded":
        return balanced + excluded_term(weights, counts, node)
    by = ("probability" in family or family in ("both", "all"), "pairs" in family or family in ("both", "all"))
    if "excluded" in family or family == "all":
        return balanced + exclusive_term(weights, counts, extra, node, *by)
    return balanced + (efficiency_term(weights, counts, extra, node, *by) if any(by) else 0.0)


def _z(family, impurity, weights, counts, price, extra, node, scale="mean") -> float:
    gained = discrimination_term(weights, node, impurity, scale)
    return (_regular(family, weights, counts, extra, node) + node.params[0] * gained) / price


def submodular_none(weights, counts, price, extra, node) -> float:
    return _regular("none", weights, counts, extra, node) / price


def submodular_probability(weights, counts, price, extra, node) -> float:
    return _regular("probability", weights, counts, extra, node) / price


def submodular_pairs(weights, counts, price, extra, node) -> float:
    return _regular("pairs", weights, counts, extra, node) / price


def submodular_both(weights, counts, price, extra, node) -> float:
    return _regular("both", weights, counts, extra, node) / price


def submodular_excluded(weights, counts, price, extra, node) -> float:
    return _regular("excluded", weights, counts, extra, node) / price


def submodular_probability_excluded(weights, counts, price, extra, node) -> float:
    return _regular("probability_excluded", weights, counts, extra, node) / price


def submodular_pairs_excluded(weights, counts, price, extra, node) -> float:
    return _regular("pairs_excluded", weights, counts, extra, node) / price


def submodular_all(weights, counts, price, extra, node) -> float:
    return _regular("all", weights, counts, extra, node) / price


def regularized_entropy_none(weights, counts, price, extra, node) -> float:
    return _z("none", entropy, weights, counts, price, extra, node)


def regularized_entropy_probability(weights, counts, price, extra, node) -> float:
    return _z("probability", entropy, weights, counts, price, extra, node)


def regularized_entropy_pairs(weights, counts, price, extra, node) -> float:
    return _z("pairs", entropy, weights, counts, price, extra, node)


def regularized_entropy_both(weights, counts, price, extra, node) -> float:
    return _z("both", entropy, weights, counts, price, extra, node)


def regularized_entropy_excluded(weights, counts, price, extra, node) -> float:
    return _z("excluded", entropy, weights, counts, price, extra, node)


def regularized_entropy_probability_excluded(weights, counts, price, extra, node) -> float:
    return _z("probability_excluded", entropy, weights, counts, price, extra, node)


def regularized_entropy_pairs_excluded(weights, counts, price, extra, node) -> float:
    return _z("pairs_excluded", entropy, weights, counts, price, extra, node)


def regularized_entropy_all(weights, counts, price, extra, node) -> float:
    return _z("all", entropy, weights, counts, price, extra, node)


def regularized_gini_none(weights, counts, price, extra, node) -> float:
    return _z("none", gini, weights, counts, price, extra, node)


def regularized_gini_probability(weights, counts, price, extra, node) -> float:
    return _z("probability", gini, weights, counts, price, extra, node)


def regularized_gini_pairs(weights, counts, price, extra, node) -> float:
    return _z("pairs", gini, weights, counts, price, extra, node)


def regularized_gini_both(weights, counts, price, extra, node) -> float:
    return _z("both", gini, weights, counts, price, extra, node)


def regularized_gini_excluded(weights, counts, price, extra, node) -> float:
    return _z("excluded", gini, weights, counts, price, extra, node)


def regularized_gini_probability_excluded(weights, counts, price, extra, node) -> float:
    return _z("probability_excluded", gini, weights, counts, price, extra, node)


def regularized_gini_pairs_excluded(weights, counts, price, extra, node) -> float:
    return _z("pairs_excluded", gini, weights, counts, price, extra, node)


def regularized_gini_all(weights, counts, price, extra, node) -> float:
    return _z("all", gini, weights, counts, price, extra, node)


def regularized_mean_none(weights, counts, price, extra, node) -> float:
    return _z("none", node.impurity_of, weights, counts, price, extra, node)


def regularized_mean_probability(weights, counts, price, extra, node) -> float:
    return _z("probability", node.impurity_of, weights, counts, price, extra, node)


def regularized_mean_pairs(weights, counts, price, extra, node) -> float:
    return _z("pairs", node.impurity_of, weights, counts, price, extra, node)


def regularized_mean_both(weights, counts, price, extra, node) -> float:
    return _z("both", node.impurity_of, weights, counts, price, extra, node)


def regularized_mean_excluded(weights, counts, price, extra, node) -> float:
    return _z("excluded", node.impurity_of, weights, counts, price, extra, node)


def regularized_mean_probability_excluded(weights, counts, price, extra, node) -> float:
    return _z("probability_excluded", node.impurity_of, weights, counts, price, extra, node)


def regularized_mean_pairs_excluded(weights, counts, price, extra, node) -> float:
    return _z("pairs_excluded", node.impurity_of, weights, counts, price, extra, node)


def regularized_mean_all(weights, counts, price, extra, node) -> float:
    return _z("all", node.impurity_of, weights, counts, price, extra, node)


def regularized_total_none(weights, counts, price, extra, node) -> float:
    return _z("none", node.impurity_of, weights, counts, price, extra, node, "total")


def regularized_total_probability(weights, counts, price, extra, node) -> float:
    return _z("probability", node.impurity_of, weights, counts, price, extra, node, "total")


def regularized_total_pairs(weights, counts, price, extra, node) -> float:
    return _z("pairs", node.impurity_of, weights, counts, price, extra, node, "total")


def regularized_total_both(weights, counts, price, extra, node) -> float:
    return _z("both", node.impurity_of, weights, counts, price, extra, node, "total")


def regularized_total_excluded(weights, counts, price, extra, node) -> float:
    return _z("excluded", node.impurity_of, weights, counts, price, extra, node, "total")


def regularized_total_probability_excluded(weights, counts, price, extra, node) -> float:
    return _z("probability_excluded", node.impurity_of, weights, counts, price, extra, node, "total")


def regularized_total_pairs_excluded(weights, counts, price, extra, node) -> float:
    return _z("pairs_excluded", node.impurity_of, weights, counts, price, extra, node, "total")


def regularized_total_all(weights, counts, price, extra, node) -> float:
    return _z("all", node.impurity_of, weights, counts, price, extra, node, "total")


def cost_benefit_entropy(weights, counts, price, extra, node) -> float:
    return (node.mass * node.impurity - math.fsum(math.fsum(row) * entropy(row) for row in weights)) / node.total_mass / price


def cost_benefit_gini(weights, counts, price, extra, node) -> float:
    return (node.mass * node.impurity - math.fsum(math.fsum(row) * gini(row) for row in weights)) / node.total_mass / price


def cost_benefit_mean(weights, counts, price, extra, node) -> float:
    return (node.mass * node.impurity - math.fsum(math.fsum(row) * node.impurity_of(row) for row in weights)) / node.total_mass / price


def cost_benefit_total(weights, counts, price, extra, node) -> float:
    return (node.impurity - math.fsum(node.impurity_of(row) for row in weights)) / node.total_mass / price


def balance(weights, counts, price, extra, node) -> float:
    shares = [math.fsum(row) / node.total_mass for row in weights if math.fsum(row) > 0]
    return min(shares) - max(shares)


def impure_pairs(weights, counts, price, extra, node) -> float:
    weigh = (lambda rows: math.fsum(np.ravel(rows)) / node.total_mass) if node.params[1] else lambda rows: 1.0
    before = weigh(weights) * pairs(np.sum(counts, axis=0))
    told_apart = before - math.fsum(weigh(row) * pairs(n) for row, n in zip(weights, counts, strict=True))
    return told_apart / price if node.params[0] else told_apart
