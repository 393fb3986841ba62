"""Is an objective of the shape that it states?  Tried on a few of the run's own objects, by trees
of its own tests.

A solver that knows the shape bounds and recurses by it; verification recomputes the value of the
tree it found, and of no other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.engine.ground import Ground
from arboretum.engine.label_costs import costs_at_nodes, labelled
from arboretum.engine.search.assemble import Grown, to_tree
from arboretum.engine.search.statistics import Statistics
from arboretum.errors import ArboretumError, blaming, sure
from arboretum.interfaces.method import Problem
from arboretum.interfaces.objective import Objective, Shape, shape_of
from arboretum.interfaces.sums import leaf_costs, moments_of, read_only
from arboretum.model.real_numbers import real_numbers
from arboretum.model.rules import TestRule
from arboretum.model.tree import Tree

OBJECTS, TESTS, UNIONS = 12, 24, 256
"""Of a run that are looked at: more cost time, and a shape shows on few."""
CLOSE = 1e-9  # relative: a value is a sum of a few dozen products
MOVED = OBJECTS * float(np.finfo(np.float64).eps)
"""Of the sizes that are added: a sum of so many, a union's addition, and as many roundings again of
what an objective makes of it.
"""
Asked = tuple[TestRule, np.ndarray]
"""A test, and the outcome of each object."""


@attrs.frozen
class Few:
    """A few of a run's objects, by which its objective is tried; equal where another trial would
    say the same.
    """

    objective: Objective
    ground: Ground
    problem: Problem = attrs.field(eq=False)

    @staticmethod
    def of(problem: Problem) -> Few:
        """At most OBJECTS of a problem's objects, evenly spaced, without its validation rows."""
        n = problem.objects.n_objects
        rows = np.unique(np.linspace(0, n - 1, min(n, OBJECTS)).astype(np.int64))
        return Few(
            sure(problem.parts.objective),
            Ground.of(problem),
            attrs.evolve(
                problem,
                objects=problem.objects.take(rows),
                parts=attrs.evolve(problem.parts, criterion=None),
                valid=None,
            ),
        )


def broken_objective(few: Few) -> str:
    """How an objective breaks what it states, and the way out, as the end of a sentence that
    names it; "" where these trees do not show it.
    """
    objective, small, shape = few.objective, few.problem, shape_of(few.objective)
    if shape is None:
        return ""
    if Shape.sums in shape.cases and (fault := _sums_fault(few)):
        return fault
    if not {Shape.additive, Shape.deviation, Shape.sums} & set(shape.cases):
        return ""
    try:
        trees = four_trees(small)
        if trees is None:
            return ""
        with blaming(f"objective {objective.name}"):
            found = [float(objective.value(tree, small)) for tree in trees]
            relabelled = _label_fault(objective, trees[1], small)
    except ArboretumError:  # so few objects have no such value: both classes, a group
        return ""
    both, one, other, none = found
    if all(map(math.isfinite, found)) and abs(both + none - one - other) > CLOSE * sum(
        map(abs, found)
    ):
        return (
            f"states the shape {shape.value}, but of {small.objects.n_objects} of the run's "
            f"objects a division of either side of {trees[3].rule(0).describe()!r} changes it by "
            f"{one - none:.9g} and {other - none:.9g}, and both by {both - none:.9g}; let it be a "
            "sum over the leaves and nodes, or state another shape"
        )
    return relabelled


def _sums_fault(few: Few) -> str:
    """How costs or answers of leaves are no number for each, or break what is promised of unions,
    as :func:`broken_objective`; "" where they do neither.
    """
    objective: Any = few.objective
    try:
        moments = moments_of(few.problem)
    except ArboretumError:  # the solver says so of all objects, by their rows
        return ""
    chosen = np.random.default_rng(0).integers(0, 3, (UNIONS, len(moments)))
    within = [(chosen == k).astype(np.float64) for k in (0, 1)]
    parts, sizes = ([one @ added for one in within] for added in (moments, np.abs(moments)))
    with blaming(f"objective {objective.name}"), np.errstate(divide="ignore", invalid="ignore"):
        said = real_numbers(
            objective.predicts(read_only(parts[0])), f"objective {objective.name}: predicts"
        )
        one, other, union = (leaf_costs(objective, sums) for sums in (*parts, sum(parts)))
    for method, found in (("leaf", one), ("predicts", said)):
        if found.shape != (UNIONS,):
            return (
                f"is asked for many leaves at once, by sums float64[…, k], but {method} returns "
                f"{found.shape} for sums of the shape {parts[0].shape}, not ({UNIONS},); let it "
                "read sums[..., i] and return one number for each leaf"
            )
    if not getattr(objective, "superadditive", False):
        return ""
    both_hold = (chosen == 0).any(axis=1) & (chosen == 1).any(axis=1)
    undefined = both_hold & np.isnan(one + other + union)
    if undefined.any():
        at = int(undefined.argmax())
        return (
            "states superadditive = True, but of some of the run's objects two leaves cost "
            f"{one[at]:g} and {other[at]:g}, and a leaf of both {union[at]:g}; let leaf return a "
            "number for every sum of objects, also of one alone"
        )
    off = CLOSE * (np.abs(one) + np.abs(other) + np.abs(union))
    off = np.where(np.isfinite(off), off, 0.0)
    amiss = both_hold & (union < one + other - off)
    if amiss.any():
        with blaming(f"objective {objective.name}"):
            for sums, size in zip((*parts, sum(parts)), (*sizes, sum(sizes)), strict=True):
                off += _rounding_of_leaves(objective, sums, size)
        amiss = both_hold & (union < one + other - off)
    if not amiss.any():
        return ""
    at = int(amiss.argmax())
    return (
        "states superadditive = True, but of some of the run's objects two leaves cost "
        f"{one[at]:g} and {other[at]:g}, and a leaf of both {union[at]:g}, which is less; state "
        "superadditive = False (the search has no bound then), or mend leaf"
    )


def _rounding_of_leaves(objective: Any, sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return float64[leaves]: by how much costs may be off that are a difference of larger numbers,
    as sums show it that are moved by what rounding makes of them.

    sums, sizes : float64[leaves, k], of moments, and of their sizes.
    """
    costs, found = leaf_costs(objective, sums), np.zeros(len(sums))
    for k in range(sums.shape[1]):
        each = []
        for sign in (-1, 1):
            moved = sums.copy()
            moved[:, k] += sign * MOVED * sizes[:, k]
            with np.errstate(invalid="ignore"):
                each.append(np.abs(leaf_costs(objective, moved) - costs))
        found += np.where(np.isfinite(each), each, 0.0).max(axis=0)
    return found


def _label_fault(objective: Objective, tree: Tree, problem: Problem) -> str:
    """How a leaf with another label costs something else than ``label_costs`` says, as
    :func:`broken_objective`; "" where it does not, or nothing is said.
    """
    by_object, by_class = hasattr(objective, "costs"), hasattr(objective, "label_costs")
    if shape_of(objective) is not Shape.additive or not (by_object or by_class):
        return ""
    costs = costs_at_nodes(tree, problem)
    said, before = "costs" if by_object else "label_costs", float(objective.value(tree, problem))
    for node, label in itertools.product(
        np.flatnonzero(tree.is_leaf).tolist(), range(costs.shape[1])
    ):
        other = attrs.evolve(
            tree, label=np.where(np.arange(tree.n_nodes) == node, label, tree.label)
        )
        more = float(objective.value(other, problem)) - before
        own = float(costs[node, label] - costs[node, tree.label[node]])
        if math.isfinite(more) and abs(more - own) > CLOSE * max(
            1.0, abs(before), np.abs(costs).max()
        ):
            return (
                "states the shape additive, but a leaf of the weights "
                f"({', '.join(f'{w:g}' for w in tree.weights[node])}) with label {label} instead "
                f"of {tree.label[node]} changes its value by {more:.9g}, and {said} by "
                f"{own:.9g}; let value add up {said}, or leave them out"
            )
    return ""


def four_trees(problem: Problem) -> list[Tree] | None:
    """Four trees of one test: both sides are divided again, the first, the other, and none, in
    this order; None where so few objects have no such tests.
    """
    objects = problem.objects
    everyone = np.arange(objects.n_objects)
    answers = [(rule, rule.outcomes(objects.table, everyone)) for rule in _tests(problem)]
    answers = [
        (rule, goes)
        for rule, goes in answers
        if rule.arity == 2 and (goes >= 0).all() and 0 < goes.sum() < len(goes)
    ]
    for rule, goes in answers:
        sides = [everyone[goes == k] for k in (0, 1)]
        below = [
            next(((r, g) for r, g in answers if 0 < g[side].sum() < len(side)), None)
            for side in sides
        ]
        if None not in below:
            return [
                _two_level_tree((rule, goes), way, problem)
                for way in itertools.product(*((one, None) for one in below))
            ]
    return None


def _tests(problem: Problem) -> list[TestRule]:
    """Some fixed tests, evenly spaced, and thresholds in the middle of raw columns."""
    objects = problem.objects
    fixed, found = objects.n_fixed, []
    for test in np.unique(np.linspace(0, fixed - 1, min(fixed, TESTS)).astype(np.int64)).tolist():
        found.append(objects.rule(test))
    for feature, column in zip(objects.raw_features[:TESTS], objects.raw.T, strict=False):
        values = np.unique(column[~np.isnan(column)]).astype(np.float64)
        found += [
            feature.rule(float(values[k : k + 2].mean())) for k in range(0, len(values) - 1, 2)
        ]
    return found


def _two_level_tree(top: Asked, below: Sequence[Asked | None], problem: Problem) -> Tree:
    """The tree that asks ``top`` and then, on side 0 and 1, a test of ``below`` or none (None).

    Free of charge, as the costliest path is no sum; labels are the cheapest by the objective.
    """
    objects, statistics = problem.objects, Statistics.of(problem.objects)

    def node(
        rows: np.ndarray, asked: Asked | None, deeper: Sequence[Asked | None] = (None, None)
    ) -> Grown:
        """The node of these objects (int64), a leaf where ``asked`` is None.

        rows : int64, the objects.   deeper : the tests of its children.
        """
        weights, counts = statistics.totals(rows.astype(np.int32))
        mean = float(weights[1] / weights[0] + statistics.shift) if statistics.moments else math.nan
        grown = Grown(weights, int(counts.sum()), mean, math.nan)
        if asked is not None:
            grown.rule = asked[0]
            grown.children = [
                node(rows[asked[1][rows] == k], each) for k, each in enumerate(deeper)
            ]
        return grown

    tree = to_tree(node(np.arange(objects.n_objects), top, below), objects, statistics)
    own = hasattr(problem.parts.objective, "moments") or not statistics.moments
    return labelled(tree, problem) if own else tree
