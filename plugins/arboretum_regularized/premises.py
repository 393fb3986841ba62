"""What Theorem 1 presupposes, and what of it a run does not keep.

The theorem is about Algorithm 1 and about trees that ask until every object is covered (f_i = 1).  It speaks of a run only where
coverage and leaf rule are one problem: of the sets of objects that a tree can reach, the leaf rule calls exactly those a leaf
all of whose objects are covered.  For the coverages of this plugin that is decided here, from the instance:

* a set of one class is always a leaf, so it must be covered: by ``pairs`` or ``excluded``, or, with ``probability`` alone, because
  it is one object or weighs at most θ;
* a set of several classes is covered exactly where it weighs at most the coverage's θ (``probability``), and is a leaf exactly
  where it weighs at most the rule's θ.  A number that no such set reaches is no number at all;
* tests are functions of the object that tell objects of different classes apart, and the best one is always found.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arboretum.api import CapabilityError, LeafRule, Problem
from arboretum_regularized.coverages import OthersExcluded, Probability, UnlikePairs
from arboretum_regularized.stopping import Covered

TIES = 1e-12
"""Scores that differ by no more than this times the node's impurity are ties to the search, whatever the price divides them by."""
SMALL = 0.01
"""What rounding and ties may hide of a score: the theorem's bound is above what is needed by far more."""


def broken(problem: Problem, lam: float) -> str:
    """What the theorem presupposes and this run does otherwise, with the way out; "" where it presupposes nothing else."""
    if not problem.prices.fixed:
        return "a test has one price in the theorem, and here it depends on the path or the outcome; choose cost=table"
    if problem.prices.once_per_column:
        return "what a test costs depends on what was asked before; choose cost=unit or cost=table"
    return _grown_otherwise(problem.parts.method) or _missing(problem.objects) or _other_leaves(problem) or _hidden(problem, lam)


def _grown_otherwise(method: Any) -> str:
    name = getattr(method, "name", "greedy")
    if name != "greedy":
        return f"method {name} is not known to be Algorithm 1; choose method=greedy"
    if getattr(method, "allow_constant", False):
        return "tests that divide nothing compete; choose method.allow_constant=false"
    return ""


def _missing(objects: Any) -> str:
    """A test must give every object an outcome that does not depend on the node."""
    for f, feature in enumerate(objects.features):
        if feature.has_missing and (objects.codes[:, f] == feature.n_bins).any():
            return f"column {feature.column!r} has missing values, whose branch is chosen at each node; choose encoder.missing=category"
    lacking = np.flatnonzero(np.isnan(objects.raw).any(axis=0))
    if len(lacking):
        name = objects.raw_features[lacking[0]].column
        return f"column {name!r} has missing values, whose branch is chosen at each node; choose encoder.missing=drop_rows"
    return ""


def _other_leaves(problem: Problem) -> str:
    """Where the leaf rule and the coverages differ."""
    parts, objects = problem.parts, problem.objects
    asks_coverage = any(type(rule) is Covered for rule in parts.stopping)
    others = tuple(rule for rule in parts.stopping if type(rule) is not Covered)
    try:
        rule = attrs.evolve(parts, stopping=others).leaf_rule(counting_objects=True)
    except CapabilityError as error:
        return f"leaves are not those of the theorem: {error}"
    total, mass, rows = float(objects.weight.sum()), _lightest(objects, objects.weight), _lightest(objects, objects.count)
    if rule.delta is not None:
        return f"nodes of an impurity of at most {rule.delta:g} are leaves, but not covered; leave stopping impurity out"
    if rule.min_split > rows or rule.min_objects > 2:
        what = f"{rule.min_split} rows" if rule.min_split > rows else f"{rule.min_objects} objects"
        return f"nodes of fewer than {what} are leaves, but not covered; choose stopping=[mass] or [pure]"
    theta = max((each.theta for each in parts.coverage if type(each) is Probability), default=0.0)
    covered, leaf = (_heaviest(LeafRule(theta=share).levels(total)[0], objects.weight, mass) for share in (theta, rule.theta))
    if leaf > covered:
        what = f"covered at theta={theta:g} only" if covered else "not covered"
        return (
            f"nodes of at most {rule.theta:g} of the weight are leaves, but {what}; set both by theta=VALUE, with "
            "coverage=[probability,pairs]"
        )
    if covered > leaf and not asks_coverage:
        return f"nodes of at most theta={theta:g} are divided further; choose stopping=[mass]"
    if not any(type(each) in (UnlikePairs, OthersExcluded) for each in parts.coverage):
        weight, size = np.bincount(objects.label, objects.weight), np.bincount(objects.label)
        if ((size > 1) & (weight > LeafRule(theta=theta).levels(total)[0])).any():
            return "nodes of one class are leaves, but not covered; choose coverage=[probability,pairs]"
    return ""


def _lightest(objects: Any, amount: np.ndarray) -> float:
    """The least amount of any set of objects of several classes: one object each of two of them."""
    least = np.full(int(objects.label.max()) + 1, np.inf)
    np.minimum.at(least, objects.label, amount)
    return float(np.partition(least, 1)[:2].sum())


def _heaviest(level: float, weight: np.ndarray, mass: float) -> float:
    """The same level for all θ that the same sets of several classes stay below.   mass : of the lightest such set."""
    if level < mass:
        return 0.0
    unit = float(np.gcd.reduce(weight.astype(np.int64))) if (weight == np.rint(weight)).all() else 0.0
    return level // unit * unit if unit else level


def _hidden(problem: Problem, lam: float) -> str:
    """B + E of a test that divides a node is at least p_min: ties, and the rounding of λD and of sums, must stay far below."""
    objects, prices, impurity = problem.objects, problem.prices, problem.parts.impurity
    total, lightest = float(objects.weight.sum()), float(objects.weight.min())
    impurity = impurity.for_task(objects.task) if hasattr(impurity, "for_task") else impurity
    level = float(impurity.value(np.full(objects.n_classes, total / objects.n_classes))) if hasattr(impurity, "value") else 0.0
    dearest = float(np.concatenate([prices.tests, prices.raw]).max(initial=0.0))
    lost = TIES * level * (dearest + lam) + objects.n_objects * np.finfo(np.float64).eps
    if lost <= SMALL * lightest / total:
        return ""
    return (
        f"rounding and ties may hide balance and coverage of a test (lam={lam:g}, price at most {dearest:g}, p_min = "
        f"{lightest / total:.3g}); choose a smaller lam, or a larger unit of prices"
    )
