"""Verification of what a node says of itself: its impurity, the number it predicts, the score of
its test.

Impurity and score are asked of the run's components again, for tables that are added up here,
object by object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, cast

import attrs
import numpy as np

from arboretum.engine.label_costs import predicted
from arboretum.engine.mismatch import at_every_node, fail
from arboretum.engine.monotone import asked_of, held
from arboretum.errors import sure
from arboretum.interfaces.impurity import ImpurityOfValues, impurity_values
from arboretum.interfaces.method import Problem
from arboretum.model.encoded import Node
from arboretum.model.table import Table
from arboretum.model.tree import Tree
from arboretum.model.walk import EPS, Arrivals

if TYPE_CHECKING:
    from arboretum.engine.search.compiled_criterion import CompiledCriterion
    from arboretum.engine.search.coverage_state import CoverageState
    from arboretum.engine.search.statistics import Statistics

NODES = 32  # nodes at which a component is asked node by node; they are spread evenly over the tree
# objects of all these nodes together, at most; a node that does not fit any more is passed over
OBJECTS = 1 << 21
SCORES = 1e-9
"""How far a score may lie from the one asked again, over the larger of itself and the node's
impurity.  A criterion may divide by anything, so nothing smaller can be derived for all of them;
1e-9 of a sum over 10⁶ objects is a tenth of a percent of one.
"""


def check_impurity(tree: Tree, problem: Problem, arrived: Arrivals) -> str:
    """Check that the impurity of every node is that of its weights.  Returns how much was checked;
    raises VerificationError.
    """
    objects, impurity = problem.objects, problem.parts.impurity
    if np.isnan(tree.impurity).all():
        return "not: the tree states none"
    if impurity is None:
        return "not: the run names none"
    if hasattr(impurity, "of_values"):

        def of_values(y: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
            own = float(impurity.of_values(y, weight))
            return own, 8 * len(y) * EPS * max(abs(own), float(np.abs(y).max()))

        return _one_by_one(tree, "impurity", problem, arrived, of_values)
    if objects.is_classification:
        own = arrived.totals(objects)
        # the same mass, spread evenly: what its terms are as large as before they cancel
        even = np.repeat(own.sum(axis=1, keepdims=True) / own.shape[1], own.shape[1], axis=1)
    else:
        own = arrived.totals(objects, centre_of(problem))
        even = own * [1.0, 0.0, 1.0]
    found, scale = impurity_values(impurity, own), impurity_values(impurity, even)
    slack = (4 * arrived.rounding(objects) + 8 * own.shape[1] * EPS) * np.maximum(
        np.abs(found), np.abs(scale)
    )
    at_every_node("impurity", np.abs(tree.impurity - found) <= slack, tree.impurity, found)
    return "every node"


OF_SUMS = 1e-9
"""Relative: an objective's function of sums that were added up in another order."""


def check_values(tree: Tree, problem: Problem, arrived: Arrivals) -> str:
    """Check that a node predicts the mean of its objects, or what the impurity, or a solver's
    objective, makes of them.  Returns how much was checked.
    """
    objects, parts, shift = problem.objects, problem.parts, centre_of(problem)
    if hasattr(parts.objective, "moments"):
        said = predicted(problem, arrived)
        near = np.abs(tree.value - said) <= OF_SUMS * (1 + np.abs(said))
        at_every_node("value", near, tree.value, said)
        return "every node"
    by_impurity = getattr(parts.impurity, "leaf_value", None)
    of_leaf = (parts.solver and getattr(parts.objective, "leaf_value", None)) or by_impurity
    if of_leaf is not None:

        def leaf_value(y: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
            return float(of_leaf(y, weight)) + shift, 8 * EPS * (
                float(np.abs(y).max()) + abs(shift)
            )

        return _one_by_one(tree, "value", problem, arrived, leaf_value)
    own = arrived.totals(objects, shift)
    spread = np.sqrt(own[:, 2] / own[:, 0])  # at least the mean of |y − shift|
    mean = held(own[:, 1] / own[:, 0] + shift, tree, parts, objects.table)
    at_every_node(
        "value",
        np.abs(tree.value - mean) <= 2 * arrived.rounding(objects) * (spread + abs(shift)),
        tree.value,
        mean,
    )
    return "every node"


def check_shares(tree: Tree, problem: Problem, arrived: Arrivals) -> None:
    """Check that nodes predict the shares of their own weights; where the run holds predictions
    monotone, as far as their bounds let them.
    """
    if len(tree.classes) == 1 or not any(asked_of(problem.parts)):
        at_every_node("the weights say what is predicted", np.isnan(tree.value), tree.value)
        return
    own = arrived.totals(problem.objects)
    share = held(own[:, -1] / own.sum(axis=1), tree, problem.parts, problem.objects.table)
    at_every_node(
        "share of the second class",
        np.abs(tree.value - share) <= 4 * arrived.rounding(problem.objects),
        tree.value,
        share,
    )


def check_scores(tree: Tree, problem: Problem, train: Table, arrived: Arrivals) -> str:
    """Ask the criterion again for the score of the chosen test.  Returns how much was checked;
    raises VerificationError.
    """
    parts, criterion, inner = problem.parts, problem.parts.criterion, tree.inner
    at_every_node(
        "a leaf asks nothing, so it has no score", np.isnan(tree.score) | ~tree.is_leaf, tree.score
    )
    if criterion is None or parts.solver is not None:
        return "not: the run has no criterion"
    if hasattr(criterion, "with_seed"):
        return "not: the criterion draws"
    if hasattr(criterion, "finalise_scores"):
        return "not: the criterion finalises a score by those of all candidates"
    if np.isnan(tree.score).all() and len(inner):
        return "not: the tree states none"
    # where a branch was raised, a test was not chosen among others
    untold = tree.is_leaf | ((parts.pruner is not None) & np.isnan(tree.score))
    at_every_node("score is a finite number", np.isfinite(tree.score) | untold, tree.score)
    inner = inner[~untold[inner]]
    from arboretum.engine.search.compiled_criterion import CompiledCriterion
    from arboretum.engine.search.coverage_state import CoverageState
    from arboretum.engine.search.statistics import Statistics

    statistics = Statistics.of(problem.objects, criterion, parts.impurity)
    scorer = CompiledCriterion.of(
        criterion, parts.impurity, statistics, 0, parts.coverage, problem.prices.fixed
    )
    coverage_state = (
        CoverageState.of(parts.coverage, problem.objects) if scorer.wants_gain else None
    )
    row = np.unique(problem.objects.object_of_row, return_index=True)[1]
    floor, asked = 1e-12 * float(np.abs(tree.score[inner]).max(initial=0.0)), 0
    for v in _some(inner, arrived.sizes()):
        who, share = arrived.at(v)
        # how a criterion sees degrees is not laid down
        if tree.rule(v).fuzzy or (not parts.fractional_rows and (share != 1.0).any()):
            continue
        outcome, known = tree.rule(v).outcomes(train, row[who]), 1.0
        lost, apart = outcome < 0, parts.fractional_rows and not sure(parts.missing).counted
        # which table competed, only ``missing`` knows
        if lost.any() and tree.missing_child[v] < 0 and not apart:
            continue
        if lost.any() and apart:
            mass = statistics.weight[who] * share
            known = float(mass[~lost].sum() / mass.sum())
            who, share, outcome = who[~lost], share[~lost], outcome[~lost]
        outcome = np.where(outcome < 0, tree.missing_child[v], outcome)
        node, own = _score_again(
            tree, v, problem, (who, share, known), outcome, statistics, scorer, coverage_state
        )
        own *= known if parts.fractional_rows and sure(parts.missing).discounted else 1.0
        level = abs(node.impurity) if np.isfinite(node.impurity) else 0.0
        _close(tree, v, "score", own, SCORES * max(abs(own), level) + floor)
        asked += 1
    return _share(asked, int((~tree.is_leaf).sum()), "inner nodes")


def _score_again(
    tree: Tree,
    v: int,
    problem: Problem,
    seen: tuple[np.ndarray, np.ndarray, float],
    outcome: np.ndarray,
    statistics: Statistics,
    scorer: CompiledCriterion,
    coverage_state: CoverageState | None,
) -> tuple[Node, float]:
    """The node as the criterion sees it, and the score it gives the test that was chosen.

    v : the node's number.
    seen : the objects that have an outcome (int64), their shares (float64), and what part of the
        node's weight they are.
    outcome : int64, of each of them.
    coverage_state : None where the criterion reads no coverage.
    """
    objects = problem.objects
    arity = tree.rule(v).arity
    width = statistics.width
    who, share, known = seen
    weight, count = statistics.weight[who] * share, statistics.count[who] * share
    if statistics.moments:
        y = statistics.y[who]
        weights = np.stack([np.bincount(outcome, weight * y**k, arity) for k in range(3)], axis=1)
        rows = np.bincount(outcome, count, arity)[:, None]
    else:
        cell = outcome * width + statistics.label[who]
        weights, rows = (
            np.bincount(cell, own, arity * width).reshape(arity, width) for own in (weight, count)
        )
    counts = np.rint(rows).astype(np.int64)
    whole = weights.sum(axis=0)
    left = np.zeros(0) if coverage_state is None else coverage_state.left(who)
    node = Node(
        weights=whole,
        counts=counts.sum(axis=0),
        mass=float(weight.sum()),
        total_mass=float(statistics.weight.sum()) * known,
        impurity=scorer.node_impurity(whole, statistics, who),
        depth=int(tree.depth_of[v]),
        coverage=0.0 if coverage_state is None else coverage_state.mean(who, left),
        n_rows=round(float((objects.count[who] * share).sum())),
        n_objects=len(who),
    )
    extra = np.zeros((arity, 0))
    if scorer.prefix:  # mass × impurity of each outcome
        of_values = cast(ImpurityOfValues, scorer.impurity).of_values
        there = [(y[outcome == k], weight[outcome == k]) for k in range(arity)]
        extra = np.array([[w.sum() * of_values(z, w) if len(w) else 0.0] for z, w in there])
    elif scorer.has_columns:
        columns = scorer.columns(node, objects, who)
        extra = np.array([np.bincount(outcome, column, arity) for column in columns.T]).T.reshape(
            arity, columns.shape[1]
        )
    tables = scorer.tables(
        weights[None],
        counts[None],
        tree.price[v : v + 1].copy(),
        extra[None],
        np.zeros(1, np.int64),
    )
    if getattr(problem.parts.criterion, "needs_outcome_prices", False):
        tables = attrs.evolve(
            tables,
            outcome_price=tree.edge_price[None, tree.child_offset[v] : tree.child_offset[v + 1]],
        )
    if coverage_state is not None:
        tables = attrs.evolve(
            tables, gain=coverage_state.gains(who, left, [outcome.astype(np.int32)], 1, arity)
        )
    return node, float(scorer.score(tables, node)[0])


def _one_by_one(
    tree: Tree,
    what: str,
    problem: Problem,
    arrived: Arrivals,
    ask: Callable[[np.ndarray, np.ndarray], tuple[float, float]],
) -> str:
    """Compare what the tree states of some nodes with what is asked again.  Returns how many.

    what : the tree's array, "impurity" or "value".
    ask : (targets about their mean, weights) → (what the node should say, slack).
    """
    objects, shift, asked = problem.objects, centre_of(problem), 0
    for node in _some(np.arange(tree.n_nodes), arrived.sizes()):
        who, share = arrived.at(node)
        _close(tree, node, what, *ask(objects.y[who] - shift, objects.weight[who] * share))
        asked += 1
    return _share(asked, tree.n_nodes, "nodes")


def centre_of(problem: Problem) -> float:
    """What moments are taken about."""
    about = getattr(problem.parts.impurity, "about", None)
    return (
        float(np.average(problem.objects.y, weights=problem.objects.weight))
        if about is None
        else about
    )


def _some(nodes: np.ndarray, sizes: np.ndarray) -> Iterator[int]:
    """At most NODES of these nodes, spread evenly, with at most OBJECTS objects together.

    sizes : int64[n_nodes], objects at every node of the tree.
    """
    left = OBJECTS
    for i in np.unique(np.linspace(0, len(nodes) - 1, min(NODES, len(nodes))).astype(np.int64)):
        if sizes[nodes[i]] <= left:
            left -= int(sizes[nodes[i]])
            yield int(nodes[i])


def _share(asked: int, of: int, what: str) -> str:
    """ "every node", or "32 of 95 nodes"."""
    return f"every {what[:-1]}" if asked == of else f"{asked} of {of} {what}"


def _close(tree: Tree, node: int, what: str, own: float, slack: float) -> None:
    if not abs((reported := getattr(tree, what)[node]) - own) <= slack:
        fail(f"node {node}: {what}: reported {reported}", own)
