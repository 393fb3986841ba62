"""Theorem 1: the greedy tree's expected cost C_A against the least possible one C*.

C_A ≤ 20 γ C* with γ = 15 (1 + ln(1/Δ) + log2 n + λ ε_h): Δ is the least positive increment of any f_i by any test after any
tests, n the number of objects, ε_h the largest h_ℓ(x)(S) of any object in any set (entropy: at most log2(1/p_min), gini: below
1).  Δ and ε_h are bounded from the instance: Δ from below and ε_h from above, so that the theorem holds with them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.api import Encoded, LeafRule
from arboretum.kernels import known_impurity
from arboretum_regularized.coverages import OthersExcluded, Probability, UnlikePairs, others_of, pairs_of

LOST = 1e-12
"""A coverage that misses 1 by no more counts as 1 (the contract of coverages)."""


@attrs.frozen
class Guarantee:
    """What the theorem promises; NaN and a reason where it promises nothing that is known.

    delta : lower bound of Δ.   eps_h : upper bound of ε_h (0 where λ = 0 leaves it out).   n : objects.
    p_min : probability of the lightest object.
    """

    delta: float
    eps_h: float
    n: int
    lam: float
    reason: str = ""
    p_min: float = math.nan

    @property
    def gamma(self) -> float:
        """15 (1 + ln(1/Δ) + log2 n + λ ε_h)."""
        weighed = self.lam * self.eps_h if self.lam else 0.0
        return 15.0 * (1.0 + math.log(1.0 / self.delta) + math.log2(self.n) + weighed)

    @property
    def ratio(self) -> float:
        """20 γ: C_A / C* is at most that."""
        return 20.0 * self.gamma

    def __str__(self) -> str:
        if self.reason:
            return f"no guarantee: {self.reason}"
        impurity = f", ε_h ≤ {self.eps_h:.4g}" if self.lam else ""
        return (
            f"guarantee: expected cost at most 20γ = {self.ratio:,.0f} times the least "
            f"(Theorem 1; n = {self.n}, p_min = {self.p_min:.3g}, Δ ≥ {self.delta:.3g}{impurity})"
        )


def guarantee_of(objects: Encoded, coverage: Sequence[Any], theta: float, lam: float, impurity: Any) -> Guarantee:
    """The promise for a run with these coverages and this impurity."""
    n = objects.n_objects
    nothing = lambda reason: Guarantee(math.nan, math.nan, n, lam, reason)  # noqa: E731
    if lam == math.inf:
        return nothing("lam=inf leaves out what bounds the expected cost")
    if not coverage:
        return nothing("it needs coverages; choose coverage=[probability,pairs]")
    if n < 2 or theta >= 1.0 or len(np.unique(objects.label)) < 2:
        return nothing("the root is a leaf")
    if alike := conflicting(objects):
        return nothing(f"{alike} objects share all answers with one of another class; encoder.coalesce=sum makes them one")
    delta = 1.0
    for each in coverage:
        least = least_increment(each, objects, theta)
        if not least > LOST:
            known = "is not known for this instance" if math.isnan(least) else f"may be {least:.1g}, which counts as none"
            return nothing(f"the least increment of coverage {each.name} {known}")
        delta *= least
    if not objects.weight.min() > 0.0:
        return nothing("an object weighs 0")
    eps_h = largest_part(impurity, objects) if lam > 0 else 0.0
    if math.isnan(eps_h):
        name = getattr(impurity, "name", "none")
        return nothing(f"impurity {name} is not known to be decomposable; entropy, gini and subclasses of Decomposable are")
    found = Guarantee(delta, eps_h, n, lam, p_min=float(objects.weight.min() / objects.weight.sum()))
    return found if math.isfinite(found.ratio) else nothing(f"its factor is not finite at lam={lam:g}")


def conflicting(objects: Encoded) -> int:
    """Objects that no test tells from an object of another class.

    They are compared by a 64-bit hash: among a million, two different ones share it with a chance of 3e-8.
    """
    mixed = np.zeros(objects.n_objects, np.uint64)
    raw = np.ascontiguousarray(objects.raw, np.float64) + 0.0  # −0 and 0 are one value
    columns = [*objects.codes.T, *raw.view(np.uint64).reshape(raw.shape).T]
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    _, group = np.unique(mixed, return_inverse=True)
    low, high = np.full(group.max() + 1, objects.n_classes), np.full(group.max() + 1, -1)
    np.minimum.at(low, group, objects.label)
    np.maximum.at(high, group, objects.label)
    return int((low != high)[group].sum())


def least_increment(coverage: Any, objects: Encoded, theta: float) -> float:
    """A lower bound of the positive values of 1 − f_i and of their differences, for one component; NaN if unknown.

    The product over the components bounds the increments of their disjunction: with a = 1 − f, b = 1 − g and a ≥ a', b ≥ b',
    ab − a'b' = a (b − b') + b' (a − a') is at least a (b − b') where b' < b, and b (a − a') where b' = b.
    """
    if type(coverage) is UnlikePairs:
        return 1.0 / pairs_of(objects.label, objects.n_classes)
    if type(coverage) is OthersExcluded:
        return 1.0 / float(others_of(objects.label, objects.n_classes).max())
    if type(coverage) is Probability:
        return _least_of_probability(objects.weight, theta)
    return math.nan


def _least_of_probability(weight: np.ndarray, theta: float) -> float:
    """p(S) changes by p_min at least, and above θ it lies at least the distance to the next possible weight above."""
    total = float(weight.sum())
    lightest = float(weight.min()) / total
    least = lightest
    if lightest < theta:
        if not (weight == np.rint(weight)).all():
            return math.nan
        unit = float(np.gcd.reduce(weight.astype(np.int64)))
        steps = theta * total / unit
        above = math.floor(steps * (1.0 + LeafRule.ROUNDING)) + 1 - steps
        least = min(least, unit / total * min(above, 1.0))
    target = max(lightest, theta)
    return least / (1.0 - target) if target < 1.0 else math.nan


def largest_part(impurity: Any, objects: Encoded) -> float:
    """An upper bound of ε_h, in the impurity's unit; NaN for an impurity that is not known to be decomposable.

    The share of a class with objects in a set is at least p_min.
    """
    impurity = impurity.for_task(objects.task) if hasattr(impurity, "for_task") else impurity
    lightest = float(objects.weight.min() / objects.weight.sum())
    if hasattr(impurity, "largest_part"):
        return float(impurity.largest_part(lightest, objects.n_classes))
    form = known_impurity(getattr(impurity, "name", ""), impurity.value) if hasattr(impurity, "value") else None
    known = {"entropy": -math.log2(lightest), "gini": 1.0 - lightest}
    return known.get(form, math.nan) if form else math.nan
