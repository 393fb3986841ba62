"""Verification of what a node says of itself: its impurity, the number it predicts, the score of its test.

Impurity and score are asked of the run's components again, for tables that are added up here, object by object.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from arboretum.errors import VerificationError
from arboretum.model.encoded import Node
from arboretum.model.table import Task

if TYPE_CHECKING:
    from arboretum.interfaces.method import Problem
    from arboretum.model.arrivals import Arrivals
    from arboretum.model.encoded import Encoded
    from arboretum.model.table import Table
    from arboretum.model.tree import Tree

EPS = float(np.finfo(np.float64).eps)
NODES = 32
"""Nodes at which a component is asked node by node; they are spread evenly over the tree."""
OBJECTS = 1 << 21
"""Objects of all these nodes together, at most; a node that does not fit any more is passed over."""
SCORES = 1e-9
"""How far a score may lie from the one asked again, over the larger of itself and the node's impurity.  A criterion may divide
by anything, so nothing smaller can be derived for all of them; 1e-9 of a sum over 10⁶ objects is a tenth of a percent of one."""


def check_impurity(tree: Tree, problem: Problem, arrived: Arrivals) -> str:
    """The impurity of every node is that of its weights.  Returns how much was checked; raises VerificationError."""
    objects, impurity = problem.objects, problem.parts.impurity
    if impurity is not None and hasattr(impurity, "for_task"):
        impurity = impurity.for_task(objects.task)
    if np.isnan(tree.impurity).all():
        return "not: the tree states none"
    if impurity is None:
        return "not: the run names none"
    if hasattr(impurity, "of_values"):
        asked = 0
        for node, y, weight in _values(tree, objects, arrived):
            own = float(impurity.of_values(y, weight))
            asked += 1
            _close(tree, node, "impurity", own, 8 * len(y) * EPS * max(abs(own), float(np.abs(y).max())))
        return _share(asked, tree.n_nodes, "nodes")
    if objects.task is Task.classification:
        own = arrived.totals(objects)
        # the same mass, spread evenly: what its terms are as large as before they cancel
        even = np.repeat(own.sum(axis=1, keepdims=True) / own.shape[1], own.shape[1], axis=1)
    else:
        own = arrived.totals(objects, _mean(objects))
        even = own * [1.0, 0.0, 1.0]
    found, scale = np.asarray(impurity.value(own)), np.asarray(impurity.value(even))
    slack = (4 * arrived.rounding(objects) + 8 * own.shape[1] * EPS) * np.maximum(np.abs(found), np.abs(scale))
    close = np.abs(tree.impurity - found) <= slack
    if not close.all():
        _fail(int(np.argmin(close)), "impurity", tree.impurity, found)
    return "every node"


def check_values(tree: Tree, problem: Problem, arrived: Arrivals) -> str:
    """A node predicts the mean of its objects, or what the impurity makes of them.  Returns how much was checked."""
    objects, impurity = problem.objects, problem.parts.impurity
    shift = _mean(objects)
    if hasattr(impurity, "leaf_value"):
        asked = 0
        for node, y, weight in _values(tree, objects, arrived):
            asked += 1
            _close(tree, node, "value", float(impurity.leaf_value(y, weight)) + shift, 8 * EPS * (float(np.abs(y).max()) + abs(shift)))
        return _share(asked, tree.n_nodes, "nodes")
    own = arrived.totals(objects, shift)
    spread = np.sqrt(own[:, 2] / own[:, 0])  # at least the mean of |y − shift|
    close = np.abs(tree.value - (own[:, 1] / own[:, 0] + shift)) <= 2 * arrived.rounding(objects) * (spread + abs(shift))
    if not close.all():
        _fail(int(np.argmin(close)), "value", tree.value, own[:, 1] / own[:, 0] + shift)
    return "every node"


def check_scores(tree: Tree, problem: Problem, train: Table, arrived: Arrivals) -> str:
    """Ask the criterion again for the score of the chosen test.  Returns how much was checked; raises VerificationError."""
    parts, criterion, inner = problem.parts, problem.parts.criterion, np.flatnonzero(~tree.is_leaf)
    if not np.isnan(tree.score[tree.is_leaf]).all():
        _fail(int(np.argmin(np.isnan(tree.score) | ~tree.is_leaf)), "a leaf asks nothing, so its score", tree.score, tree.score * np.nan)
    if criterion is None or parts.solver is not None:
        return "not: the run has no criterion"
    if hasattr(criterion, "with_seed"):
        return "not: the criterion draws"
    if hasattr(criterion, "settle"):
        return "not: the criterion settles a score by those of all candidates"
    if np.isnan(tree.score).all() and len(inner):
        return "not: the tree states none"
    if not np.isfinite(tree.score[inner]).all():
        _fail(int(inner[np.argmin(np.isfinite(tree.score[inner]))]), "score", tree.score, ["a finite number"] * tree.n_nodes)
    from arboretum.engine.search.coverage_state import CoverageState
    from arboretum.engine.search.compiled_criterion import CompiledCriterion
    from arboretum.engine.search.statistics import Statistics

    statistics = Statistics.of(problem.objects, bool(getattr(criterion, "counts_objects", False)))
    scorer = CompiledCriterion.of(criterion, parts.impurity, statistics, 0, parts.coverage)
    coverage_state = CoverageState.of(parts.coverage, problem.objects) if scorer.wants_gain else None
    row = np.unique(problem.objects.object_of_row, return_index=True)[1]
    floor, asked = 1e-12 * float(np.abs(tree.score[inner]).max(initial=0.0)), 0
    for v in _some(inner, arrived.sizes()):
        who, share = arrived.at(v)
        if tree.rule(v).fuzzy or (share != 1.0).any():  # how a criterion sees a part of an object is not laid down
            continue
        outcome = tree.rule(v).outcomes(train, row[who])
        if (outcome < 0).any() and parts.by_shares:  # which table competed, only ``missing`` knows
            continue
        outcome = np.where(outcome < 0, tree.missing_child[v], outcome)
        node, own = _asked_again(tree, v, problem, who, outcome, statistics, scorer, coverage_state)
        level = abs(node.impurity) if np.isfinite(node.impurity) else 0.0
        _close(tree, v, "score", own, SCORES * max(abs(own), level) + floor)
        asked += 1
    return _share(asked, len(inner), "inner nodes")


def _asked_again(tree, v, problem, who, outcome, statistics, scorer, coverage_state) -> tuple[Node, float]:
    """The node as the criterion sees it, and the score it gives the test that was chosen."""
    arity = tree.rule(v).arity
    label = None if statistics.moments else statistics.label[who]
    weight, count = statistics.weight[who], statistics.count[who]

    def table(of: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        if label is None:
            y = statistics.y[who]
            weights = np.stack([np.bincount(of, weight * y**k, n) for k in range(3)], axis=1)
            return weights, np.bincount(of, count, n).astype(np.int64)[:, None]
        cell, width = of * statistics.width + label, statistics.width
        return tuple(np.bincount(cell, each, n * width).reshape(n, width) for each in (weight, count))

    weights, counts = table(np.zeros(len(who), np.int64), 1)
    mass = float(weights[0, 0] if statistics.moments else weights.sum())
    left = None if coverage_state is None else coverage_state.left(who)
    level, state = scorer.node_impurity(weights[0], statistics, who), 0.0 if left is None else coverage_state.mean(who, left)
    total, depth = float(statistics.weight.sum()), int(tree.depth_of[v])
    node = Node(weights[0], counts[0].astype(np.int64), mass, total, level, depth, state, int(problem.objects.count[who].sum()), len(who))
    if scorer.prefix:  # mass × impurity of each outcome
        y = statistics.y[who]
        of = scorer.impurity.of_values
        extra = np.array([[weight[outcome == k].sum() * of(y[outcome == k], weight[outcome == k])] if (outcome == k).any() else [0.0] for k in range(arity)])
    elif scorer.has_columns:
        columns = scorer.columns(node, problem.objects, who)
        extra = np.stack([np.bincount(outcome, column, arity) for column in columns.T], axis=1) if columns.shape[1] else np.zeros((arity, 0))
    else:
        extra = np.zeros((arity, 0))
    weights, counts = table(outcome, arity)
    tables = scorer.tables(weights[None], counts[None].astype(np.int64), tree.price[v : v + 1].copy(), extra[None], np.zeros(1, np.int64))
    if getattr(problem.parts.criterion, "needs_outcome_prices", False):
        tables = attrs.evolve(tables, outcome_price=tree.edge_price[None, tree.child_offset[v] : tree.child_offset[v + 1]])
    if left is not None:
        tables = attrs.evolve(tables, gain=coverage_state.gains(who, left, [outcome.astype(np.int32)], 1, arity))
    return node, float(scorer.score(tables, node)[0])


def _values(tree: Tree, objects: Encoded, arrived: Arrivals) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """(node, targets about their mean, weights) of the nodes that are looked at one by one."""
    shift = _mean(objects)
    for node in _some(np.arange(tree.n_nodes), arrived.sizes()):
        who, share = arrived.at(node)
        yield node, objects.y[who] - shift, objects.weight[who] * share


def _mean(objects: Encoded) -> float:
    return float(np.average(objects.y, weights=objects.weight))


def _some(nodes: np.ndarray, sizes: np.ndarray) -> Iterator[int]:
    """Some of the nodes, spread evenly, whose objects are not too many together."""
    left = OBJECTS
    for i in np.unique(np.linspace(0, len(nodes) - 1, min(NODES, len(nodes))).astype(np.int64)):
        if sizes[nodes[i]] <= left:
            left -= int(sizes[nodes[i]])
            yield int(nodes[i])


def _share(asked: int, of: int, what: str) -> str:
    return f"every {what[:-1]}" if asked == of else f"{asked} of {of} {what}"


def _close(tree: Tree, node: int, what: str, own: float, slack: float) -> None:
    if not abs(getattr(tree, what)[node] - own) <= slack:
        _fail(node, what, getattr(tree, what), {node: own})


def _fail(node: int, what: str, reported: Any, own: Any) -> None:
    msg = f"verification failed: node {node}: {what}: reported {reported[node]}, recomputed {own[node]}; please report this run's record"
    raise VerificationError(msg)
