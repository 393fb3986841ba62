"""What proven bounds of complexities say of each other: an average depth of at least 3.26 is a path length of at least 1002.

Every closed form is made of seven quantities of a tree: inner nodes, leaves, Σ price, Σ mass and Σ mass · price over the inner
nodes, and the longest path, in tests and in prices.  Of any two of them it is known that r ≤ s q + t for every tree on the same
objects and tests, or nothing is.  A bound of ψ thus bounds each quantity, and these bound every other ψ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs
import numpy as np

from arboretum.interfaces.method import Problem
from arboretum.interfaces.complexity import Form
from arboretum.interfaces.stopping import LeafRule

INNER, LEAVES, PRICES, LENGTH, COST, DEPTH, DEAREST = range(7)
ONE = np.eye(7)  # ONE[q] · quantities is quantity q
SURE = 1e-9  # relative: a bound that misses a whole number by less is not rounded up beyond it

ROUNDS = 4
"""Whole numbers rise to the next, and the others follow: after each round what is known holds, and little is left to follow."""

Relations = Mapping[tuple[int, int], tuple[float, float]]  # (r, q) → (s, t): r ≤ s q + t for every tree


@attrs.frozen
class Facts:
    """What is known of all trees on some objects and tests whose every inner node has two branches or more.

    arity : most branches of a test.   cheapest, dearest : prices of tests.   total : weight of all objects.   lightest : no
    inner node weighs less; > 0.   whole : per quantity, whether it is a whole number in every tree.
    """

    arity: int
    cheapest: float
    dearest: float
    total: float
    lightest: float
    whole: tuple[bool, ...]

    @staticmethod
    def of(problem: Problem, rule: LeafRule) -> Facts:
        """Read them off a problem of classes with fixed tests; an inner node has two classes or more."""
        objects, prices = problem.objects, problem.prices
        least = np.full(objects.n_classes, np.inf)
        np.minimum.at(least, objects.label, objects.weight)
        total = float(objects.weight.sum())
        lightest = max(float(np.sort(least)[:2].sum()), rule.theta * total)
        paid = prices.tests if len(prices.tests) else np.ones(1)
        weights, whole_prices = _whole(objects.weight), _whole(paid)
        whole = (True, True, whole_prices, weights, weights and whole_prices, True, whole_prices)
        cheapest = 0.0 if prices.once_per_column or not prices.fixed else float(paid.min())
        arity = max((feature.arity for feature in objects.features), default=2)
        return Facts(max(2, arity), cheapest, float(paid.max()), total, lightest if math.isfinite(lightest) else total, whole)

    def relations(self) -> Relations:
        """The elementary ones, and what follows from chains of them."""
        found = {(q, q): (1.0, 0.0) for q in range(7)}
        found |= {
            (INNER, LEAVES): (1.0, -1.0), (LEAVES, INNER): (self.arity - 1.0, 1.0), (PRICES, INNER): (self.dearest, 0.0),
            (COST, LENGTH): (self.dearest, 0.0), (LENGTH, INNER): (self.total, 0.0), (COST, PRICES): (self.total, 0.0),
            (INNER, LENGTH): (1.0 / self.lightest, 0.0), (PRICES, COST): (1.0 / self.lightest, 0.0), (DEPTH, INNER): (1.0, 0.0),
            (DEAREST, PRICES): (1.0, 0.0), (DEAREST, DEPTH): (self.dearest, 0.0), (LENGTH, DEPTH): (self.total, 0.0),
            (COST, DEAREST): (self.total, 0.0),
        }  # fmt: skip
        if self.cheapest > 0.0:
            more = 1.0 / self.cheapest
            found |= {(INNER, PRICES): (more, 0.0), (LENGTH, COST): (more, 0.0), (DEPTH, DEAREST): (more, 0.0)}
        for k, r, q in np.ndindex(7, 7, 7):
            if (r, q) not in found and (r, k) in found and (k, q) in found:
                (s, t), (more, rest) = found[r, k], found[k, q]
                found[r, q] = s * more, s * rest + t
        return found


def parts_of(form: Form, total: float) -> tuple[float, np.ndarray, np.ndarray]:
    """(constant, low, high): constant + low · quantities ≤ ψ ≤ constant + high · quantities, equal for sums."""
    if form.combine == "max":
        path = DEAREST if form.priced else DEPTH
        return form.leaf, form.per_node * ONE[path], (form.per_node + form.per_mass * total) * ONE[path]
    nodes, masses = (PRICES, COST) if form.priced else (INNER, LENGTH)
    every = form.per_node * ONE[nodes] + form.per_mass * ONE[masses] + form.leaf * ONE[LEAVES]
    return 0.0, every, every


def raised(bounds: Mapping[str, tuple[Form, float]], facts: Facts) -> dict[str, float]:
    """name → what all bounds together imply of ψ (not divided by the weight).   bounds : name → (form, proven bound of ψ)."""
    relations, parts = facts.relations(), {name: parts_of(form, facts.total) for name, (form, _) in bounds.items()}
    least = np.zeros(7)
    least[LEAVES] = 1.0
    for name, (_, bound) in bounds.items():
        constant, _, high = parts[name]
        used = np.flatnonzero(high)
        for q in range(7):
            if all((r, q) in relations for r in used):
                slope = sum(high[r] * relations[r, q][0] for r in used)
                rest = constant + sum(high[r] * relations[r, q][1] for r in used)
                if slope > 0.0 and bound > rest:
                    least[q] = max(least[q], (bound - rest) / slope)
    for _ in range(ROUNDS):
        for (r, q), (s, t) in relations.items():
            if s > 0.0:
                least[q] = max(least[q], (least[r] - t) / s)
        least[DEPTH] = max(least[DEPTH], math.log(least[LEAVES]) / math.log(facts.arity))
        least = np.where(facts.whole, np.ceil(least - SURE * np.maximum(1.0, least)), least)
    return {name: constant + float(low @ least) for name, (constant, low, _) in parts.items()}


def _whole(values: np.ndarray) -> bool:
    return bool((values == np.rint(values)).all())
