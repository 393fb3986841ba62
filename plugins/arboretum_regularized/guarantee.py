"""Theorem 1: the greedy tree's expected cost C_A against the least possible one C*, and what it
presupposes.

C_A ≤ 20 γ C* with γ = 15 (1 + ln(1/Δ) + log2 n + λ ε_h): Δ is the least positive increment of any
f_i by any test after any tests, n the number of objects, ε_h the largest h_ℓ(x)(S) of any object in
any set (entropy: at most log2(1/p_min), gini: below 1).  Δ and ε_h are bounded from the instance: Δ
from below and ε_h from above, so that the theorem holds with them.

The theorem is about Algorithm 1 and about trees that ask until every object is covered (f_i = 1).
It speaks of a run only where coverage and leaf rule are one problem: of the sets of objects that a
tree can reach, the leaf rule calls exactly those a leaf all of whose objects are covered.  For the
coverages of this plugin that is decided here, from the instance:

* a set of one class is always a leaf, so it must be covered: by ``pairs`` or ``excluded``, or, with
  ``probability`` alone, because it is one object or weighs at most θ;
* a set of several classes is covered exactly where it weighs at most the coverage's θ
  (``probability``), and is a leaf exactly where it weighs at most the rule's θ.  A number that no
  such set reaches is no number at all;
* tests are functions of the object that tell objects of different classes apart, and the best one
  is always found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import CapabilityError, Encoded, LeafRule, Problem
from arboretum.kernels import known_impurity
from arboretum_regularized.coverages import (
    Covered,
    OthersExcluded,
    Probability,
    UnlikePairs,
    others_of,
    pairs_of,
)

if TYPE_CHECKING:
    from arboretum.interfaces.coverage import Coverage
    from arboretum.interfaces.impurity import Impurity


LOST = 1e-12
"""A coverage that misses 1 by no more counts as 1 (the contract of coverages)."""
TIES = 1e-12
"""Scores that differ by no more than this times the node's impurity are ties to the search,
whatever the price divides them by.
"""
SMALL = 0.01
"""What rounding and ties may hide of a score: the theorem's bound is above what is needed by far
more.
"""


@attrs.frozen
class Guarantee:
    """What the theorem promises; NaN and a reason where it promises nothing that is known.

    delta : lower bound of Δ.
    eps_h : upper bound of ε_h (0 where λ = 0 leaves it out).
    n : objects.
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


def guarantee_of(
    objects: Encoded,
    coverage: Sequence[Coverage],
    theta: float,
    lam: float,
    impurity: Impurity | None,
) -> Guarantee:
    """Return the promise for a run with these coverages and this impurity, or the reason why there
    is none.

    theta : mass up to which a node is covered.
    lam : λ, the weight of D in the score.
    impurity : of D; None without one.
    """
    n = objects.n_objects

    def nothing(reason: str) -> Guarantee:
        return Guarantee(math.nan, math.nan, n, lam, reason)

    if lam == math.inf:
        return nothing("lam=inf leaves out what bounds the expected cost")
    if not coverage:
        return nothing("it needs coverages; choose coverage=[probability,pairs]")
    if n < 2 or theta >= 1.0 or len(np.unique(objects.label)) < 2:
        return nothing("the root is a leaf")
    if alike := conflicting(objects):
        return nothing(
            f"{alike} objects share all answers with one of another class; "
            "encoder.coalesce=sum makes them one"
        )
    delta = 1.0
    for each in coverage:
        least = least_increment(each, objects, theta)
        if not least > LOST:
            known = (
                "is not known for this instance"
                if math.isnan(least)
                else f"may be {least:.1g}, which counts as none"
            )
            return nothing(f"the least increment of coverage {each.name} {known}")
        delta *= least
    if not objects.weight.min() > 0.0:
        return nothing("an object weighs 0")
    eps_h = largest_part(impurity, objects) if lam > 0 else 0.0
    if math.isnan(eps_h):
        name = getattr(impurity, "name", "none")
        return nothing(
            f"impurity {name} is not known to be decomposable; entropy, gini and subclasses "
            "of Decomposable are"
        )
    found = Guarantee(
        delta, eps_h, n, lam, p_min=float(objects.weight.min() / objects.weight.sum())
    )
    return (
        found if math.isfinite(found.ratio) else nothing(f"its factor is not finite at lam={lam:g}")
    )


def conflicting(objects: Encoded) -> int:
    """Return the objects that no test tells from an object of another class.

    They are compared by a 64-bit hash: among a million, two different ones share it with a chance
    of 3e-8.
    """
    mixed = np.zeros(objects.n_objects, np.uint64)
    raw = np.ascontiguousarray(objects.raw, float) + 0.0  # −0 and 0 are one value
    for column in (*objects.codes.T, *raw.view(np.uint64).reshape(raw.shape).T):
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    _, group = np.unique(mixed, return_inverse=True)
    low, high = np.full(group.max() + 1, objects.n_classes), np.full(group.max() + 1, -1)
    np.minimum.at(low, group, objects.label)
    np.maximum.at(high, group, objects.label)
    return int((low != high)[group].sum())


def least_increment(coverage: Coverage, objects: Encoded, theta: float) -> float:
    """Return a lower bound of the positive values of 1 − f_i and of their differences, for one
    component; NaN if unknown.

    theta : mass up to which a node is covered.

    The product over the components bounds the increments of their disjunction: with a = 1 − f, b =
    1 − g and a ≥ a', b ≥ b', ab − a'b' = a (b − b') + b' (a − a') is at least a (b − b') where b' <
    b, and b (a − a') where b' = b.
    """
    if type(coverage) is UnlikePairs:
        return 1.0 / pairs_of(objects.label, objects.n_classes)
    if type(coverage) is OthersExcluded:
        return 1.0 / float(others_of(objects.label, objects.n_classes).max())
    if type(coverage) is Probability:
        return _least_increment_of_probability(objects.weight, theta)
    return math.nan


def _least_increment_of_probability(weight: np.ndarray, theta: float) -> float:
    """Return the least increment of p(S): it changes by p_min at least, and above θ it lies at
    least the distance to the next possible weight above.

    weight : float64[objects]; theta : θ, a share of its sum.

    Returns NaN if weights that may lie below θ are no whole numbers, or if nothing lies above θ.
    """
    total = float(weight.sum())
    lightest = float(weight.min()) / total
    least = lightest
    if lightest < theta:
        unit = _unit(weight)
        if not unit:
            return math.nan
        steps = theta * total / unit
        above = math.floor(steps * (1.0 + LeafRule.ROUNDING)) + 1 - steps
        least = min(least, unit / total * min(above, 1.0))
    target = max(lightest, theta)
    return least / (1.0 - target) if target < 1.0 else math.nan


def _unit(weight: np.ndarray) -> float:
    """Return what all weights are multiples of, where they are whole numbers; else 0."""
    return (
        float(np.gcd.reduce(weight.astype(np.int64))) if (weight == np.rint(weight)).all() else 0.0
    )


def largest_part(impurity: Impurity | None, objects: Encoded) -> float:
    """Return an upper bound of ε_h, in the impurity's unit; NaN where ``impurity`` is None or not
    known to be decomposable.

    The share of a class with objects in a set is at least p_min.
    """
    lightest = float(objects.weight.min() / objects.weight.sum())
    if impurity is not None and hasattr(impurity, "largest_part"):
        return float(impurity.largest_part(lightest, objects.n_classes))
    form = (
        known_impurity(getattr(impurity, "name", ""), impurity.value)
        if impurity is not None and hasattr(impurity, "value")
        else None
    )
    return {"entropy": -math.log2(lightest), "gini": 1.0 - lightest}.get(form or "", math.nan)


def broken(problem: Problem, lam: float) -> str:
    """Return what the theorem presupposes and this run does otherwise, with the way out; "" where
    it presupposes nothing else.

    lam : λ of the criterion.
    """
    method = problem.parts.method
    name = getattr(method, "name", "greedy")
    if not problem.prices.fixed:
        return (
            "a test has one price in the theorem, and here it depends on the path or the "
            "outcome; choose cost=table"
        )
    if problem.prices.once_per_column:
        return "what a test costs depends on what was asked before; choose cost=unit or cost=table"
    if name != "greedy":
        return f"method {name} is not known to be Algorithm 1; choose method=greedy"
    if getattr(method, "allow_constant", False):
        return "tests that divide nothing compete; choose method.allow_constant=false"
    if getattr(method, "max_features", None) is not None:
        return "not every test competes at a node; leave method.max_features out"
    return (
        _why_not_with_missing_values(problem.objects)
        or _other_leaves(problem)
        or _hidden(problem, lam)
    )


def _why_not_with_missing_values(objects: Encoded) -> str:
    """Return why objects without a value break the theorem, "" without any: a test must give every
    object an outcome that does not depend on the node.
    """
    if not objects.incomplete:
        return ""
    first = objects.incomplete[0]
    # a coded feature can have a bin for missing values, a raw one cannot
    way_out = "category" if first in objects.features else "drop_rows"
    return (
        f"column {first.column!r} has missing values, whose branch is chosen at each node; "
        f"choose encoder.missing={way_out}"
    )


def _other_leaves(problem: Problem) -> str:
    """Return where the leaf rule and the coverages differ, with the way out; "" where they
    do not.
    """
    parts, objects = problem.parts, problem.objects
    others = tuple(rule for rule in parts.stopping if type(rule) is not Covered)
    try:
        rule = attrs.evolve(parts, stopping=others).leaf_rule(counting_objects=True)
    except CapabilityError as error:
        return f"leaves are not those of the theorem: {error}"
    total = float(objects.weight.sum())
    mass = _lightest_mixed_set(objects, objects.weight)
    rows = _lightest_mixed_set(objects, objects.count)
    if rule.delta is not None:
        return (
            f"nodes of an impurity of at most {rule.delta:g} are leaves, but not covered; leave "
            "stopping impurity out"
        )
    if rule.min_split > rows or rule.min_objects > 2:
        what = f"{rule.min_split} rows" if rule.min_split > rows else f"{rule.min_objects} objects"
        return (
            f"nodes of fewer than {what} are leaves, but not covered; choose stopping=[mass] or "
            "[pure]"
        )
    theta = max((each.theta for each in parts.coverage if type(each) is Probability), default=0.0)
    covered, leaf = (
        _same_level(LeafRule(theta=share).levels(total)[0], objects.weight, mass)
        for share in (theta, rule.theta)
    )
    if leaf > covered:
        what = f"covered at theta={theta:g} only" if covered else "not covered"
        return (
            f"nodes of at most {rule.theta:g} of the weight are leaves, but {what}; set both "
            "by theta=VALUE, with "
            "coverage=[probability,pairs]"
        )
    if covered > leaf and len(others) == len(parts.stopping):
        return f"nodes of at most theta={theta:g} are divided further; choose stopping=[mass]"
    if not any(type(each) in (UnlikePairs, OthersExcluded) for each in parts.coverage):
        weight, size = np.bincount(objects.label, objects.weight), np.bincount(objects.label)
        if ((size > 1) & (weight > LeafRule(theta=theta).levels(total)[0])).any():
            return (
                "nodes of one class are leaves, but not covered; choose "
                "coverage=[probability,pairs]"
            )
    return ""


def _lightest_mixed_set(objects: Encoded, amount: np.ndarray) -> float:
    """Return the least amount of any set of objects of several classes: one object each of two of
    them.

    amount : float64[objects] or int64[objects], weights or rows.
    """
    least = np.full(int(objects.label.max()) + 1, np.inf)
    np.minimum.at(least, objects.label, amount)
    return float(np.partition(least, 1)[:2].sum())


def _same_level(level: float, weight: np.ndarray, mass: float) -> float:
    """Return the same ``level`` of mass for all θ that the same sets of several classes stay below.

    weight : float64[objects]; mass : of the lightest such set.
    """
    unit = _unit(weight)
    return 0.0 if level < mass else level // unit * unit if unit else level


def _hidden(problem: Problem, lam: float) -> str:
    """Return why ties or rounding may hide a test's worth, "" where they cannot.

    lam : λ of the criterion.

    B + E of a test that divides a node is at least p_min: ties, and the rounding of λD and of sums,
    must stay far below.
    """
    objects, prices, impurity = problem.objects, problem.prices, problem.parts.impurity
    total, lightest = float(objects.weight.sum()), float(objects.weight.min())
    level = (
        float(impurity.value(np.full(objects.n_classes, total / objects.n_classes)))
        if impurity is not None and hasattr(impurity, "value")
        else 0.0
    )
    highest = float(np.concatenate([prices.tests, prices.raw]).max(initial=0.0))
    lost = TIES * level * (highest + lam) + objects.n_objects * np.finfo(np.float64).eps
    if lost <= SMALL * lightest / total:
        return ""
    return (
        f"rounding and ties may hide balance and coverage of a test (lam={lam:g}, price at "
        f"most {highest:g}, p_min = "
        f"{lightest / total:.3g}); choose a smaller lam, or a larger unit of prices"
    )
