"""Verification: the tree is replayed over the rows by a slow reference, and every reported number is recomputed.

Nothing here shares code with the kernels: rows walk the tree through the raw-column rules (NumPy for all rows, plain
Python for a sample), and the complexities are summed object by object.  A mismatch fails the run.

Tolerances.  Sums of n weights in float64, in whatever order, differ by at most about n·ε times the sum of absolute values
(ε = 2⁻⁵²); twice that is allowed.  Counts, labels and shapes must agree exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from arboretum.engine import verify_shares
from arboretum.errors import VerificationError
from arboretum.interfaces.method import Problem
from arboretum.model.encoded import Encoded, Prices
from arboretum.model.rules import NO_OUTCOME
from arboretum.model.solution import Solution, Status
from arboretum.model.table import Table, Task
from arboretum.model.tree import LEAF, MISSING_SPLITS, Tree

ROWS_IN_PYTHON = 1000
"""Rows that are walked one by one in plain Python; all rows are walked by NumPy."""


def verify(
    tree: Tree, problem: Problem, train: Table, metrics: Mapping[str, float], solution: Solution
) -> None:
    """Check the tree against the training objects, its prices, the reported metrics and the solution's value.

    train : the rows the objects were made from.   Raises VerificationError naming what disagrees, where and by how much.
    """
    objects, prices = problem.objects, problem.prices
    check_structure(tree)
    if (tree.missing_child != MISSING_SPLITS).all():
        at = replay(tree, train)
        check_sample(tree, train, at)
        check_objects(tree, objects, at)
        check_complexities(tree, objects, at, metrics)
        check_train_error(tree, train, at, metrics)
        check_covering_cost(tree, problem, at, metrics)
    elif "covering_cost" in metrics:
        verify_shares.check_covering_cost(tree, problem, train, metrics["covering_cost"])
    check_prices(tree, objects, prices)
    check_solution(tree, problem, solution)


def check_structure(tree: Tree) -> None:
    """Every node but the root has one parent before it; leaves have no children; inner nodes have at least one."""
    seen = np.zeros(tree.n_nodes, np.int64)
    for node in range(tree.n_nodes):
        children = tree.children(node)
        present = children[children >= 0]
        if (tree.test[node] == LEAF) != (len(present) == 0):
            _fail(f"node {node}: a leaf has no children and an inner node has some", len(present), "children")
        if len(children) and len(children) != tree.rule(node).arity:
            _fail(f"node {node}: one child slot per outcome", len(children), tree.rule(node).arity)
        if (present <= node).any():
            _fail(f"node {node}: children come after their parent", present.tolist(), node)
        seen[present] += 1
    if (seen[1:] != 1).any() or seen[0] != 0:
        _fail("every node but the root has one parent", int((seen[1:] != 1).sum()), "nodes that do not")


def replay(tree: Tree, table: Table) -> np.ndarray:
    """int64[n_rows]: where each row rests, by the rules on raw columns."""
    at = np.zeros(table.n_rows, np.int64)
    for node in range(tree.n_nodes):  # preorder: a node's rows are complete when it is reached
        if tree.test[node] == LEAF:
            continue
        rows = np.flatnonzero(at == node)
        if len(rows) == 0:
            continue
        outcome = tree.rule(node).outcomes(table, rows)
        if tree.missing_child[node] >= 0:
            outcome = np.where(outcome == NO_OUTCOME, tree.missing_child[node], outcome)
        goes = outcome >= 0
        child = np.where(goes, tree.children(node)[np.where(goes, outcome, 0)], -1)
        at[rows] = np.where(child >= 0, child, node)
    return at


def check_sample(tree: Tree, table: Table, at: np.ndarray) -> None:
    """Walk evenly spaced rows in plain Python and compare."""
    rows = np.unique(np.linspace(0, table.n_rows - 1, min(ROWS_IN_PYTHON, table.n_rows)).astype(np.int64))
    used = {name for rule in tree.rules for name in rule.columns}
    columns = [column for column in table.columns if column.name in used]
    children = [tree.children(node).tolist() for node in range(tree.n_nodes)]
    for row in rows.tolist():
        values = {column.name: verify_shares.plain(column, row) for column in columns}
        node = 0
        while tree.test[node] != LEAF:
            outcome = tree.rule(node).outcome_of(values)
            if outcome == NO_OUTCOME:
                outcome = int(tree.missing_child[node])
            child = children[node][outcome] if outcome >= 0 else -1
            if child < 0:
                break
            node = child
        if node != at[row]:
            _fail(f"row {row} comes to rest at the same node in both walks", node, int(at[row]))


def check_objects(tree: Tree, objects: Encoded, at: np.ndarray) -> None:
    """Recompute weights, counts, labels and means of every node from the objects that pass it."""
    rests = np.full(objects.n_objects, -1, np.int64)
    rests[objects.object_of_row] = at
    if (rests[objects.object_of_row] != at).any():
        _fail("rows merged into one object share their path", int((rests[objects.object_of_row] != at).sum()), "rows that do not")
    used = np.flatnonzero(rests >= 0)
    if objects.task is Task.classification:
        own = np.zeros((tree.n_nodes, objects.n_classes))
        np.add.at(own, (rests[used], objects.label[used]), objects.weight[used])
    else:
        w, y = objects.weight[used], objects.y[used]
        own = np.zeros((tree.n_nodes, 3))
        np.add.at(own, rests[used], np.stack([w, w * y, w * y * y], axis=1))
    count = np.bincount(rests[used], weights=objects.count[used], minlength=tree.n_nodes).astype(np.int64)
    parent = tree.parent
    for node in range(tree.n_nodes - 1, 0, -1):
        own[parent[node]] += own[node]
        count[parent[node]] += count[node]
    slack = 2 * objects.n_objects * np.finfo(np.float64).eps * np.abs(own[0]).sum()
    _same("class weights" if objects.task is Task.classification else "moments", tree.weights, own, slack)
    if (count != tree.counts).any():
        node = int(np.flatnonzero(count != tree.counts)[0])
        _fail(f"node {node}: number of rows", int(tree.counts[node]), int(count[node]))
    if objects.task is Task.classification:
        # a label is right if no class outweighs it by more than the rounding of the sums
        lead = own.max(axis=1) - own[np.arange(tree.n_nodes), tree.label]
        if (lead > slack).any():
            node = int(np.argmax(lead))
            _fail(f"node {node}: the label is the heaviest class", int(tree.label[node]), int(own[node].argmax()))


def check_prices(tree: Tree, objects: Encoded, prices: Prices) -> None:
    """Every inner node's price is one the price list has for its column, or 0 where the column is paid already."""
    allowed: dict[str, set[float]] = {}
    offset = objects.test_offset
    for f, feature in enumerate(objects.features):
        allowed.setdefault(feature.column, set()).update(prices.tests[offset[f] : offset[f + 1]].tolist())
    for f, feature in enumerate(objects.raw_features):
        allowed.setdefault(feature.column, set()).add(float(prices.raw[f]))
    parent = tree.parent
    for node in np.flatnonzero(tree.test != LEAF):
        columns = tree.rule(node).columns
        known = set().union(*(allowed.get(column, set()) for column in columns))
        if prices.once_per_column and _asked_before(tree, parent, int(node), columns):
            known = {0.0}
        if len(columns) == 1 and known and float(tree.price[node]) not in known:
            _fail(f"node {node}: price of {tree.rule(node).describe()!r}", float(tree.price[node]), sorted(known)[:5])


def _asked_before(tree: Tree, parent: np.ndarray, node: int, columns: tuple[str, ...]) -> bool:
    above = int(parent[node])
    while above >= 0:
        if set(columns) <= set(tree.rule(above).columns):
            return True
        above = int(parent[above])
    return False


def check_complexities(tree: Tree, objects: Encoded, at: np.ndarray, metrics: Mapping[str, float]) -> None:
    """Recompute depth, path lengths, sizes and costs object by object."""
    depth, paid = [0] * tree.n_nodes, [0.0] * tree.n_nodes
    for node, above in enumerate(tree.parent.tolist()):
        if above >= 0:
            depth[node], paid[node] = depth[above] + 1, paid[above] + float(tree.price[above])
    rests = np.zeros(objects.n_objects, np.int64)
    rests[objects.object_of_row] = at
    leaves = sum(1 for node in range(tree.n_nodes) if tree.test[node] == LEAF)
    total = path = cost = 0.0
    for node, weight in zip(rests.tolist(), objects.weight.tolist(), strict=True):
        asked, spent = depth[node], paid[node]
        if tree.test[node] != LEAF:  # the test was asked, and had no branch for the answer
            asked, spent = asked + 1, spent + float(tree.price[node])
        total, path, cost = total + weight, path + weight * asked, cost + weight * spent
    resting = [n for n in range(tree.n_nodes) if tree.test[n] == LEAF]
    expected = {
        "depth": max(depth),
        "n_nodes": tree.n_nodes,
        "n_leaves": leaves,
        "n_internal": tree.n_nodes - leaves,
        "total_path_length": path,
        "average_depth": path / total,
        "expected_cost": cost / total,
        "max_cost": max(paid[n] for n in resting),
    }
    slack = 4 * objects.n_objects * np.finfo(np.float64).eps
    for name, value in expected.items():
        if name in metrics and abs(metrics[name] - value) > slack * max(1.0, abs(value)):
            _fail(f"reported {name}", metrics[name], value)


def check_train_error(tree: Tree, train: Table, at: np.ndarray, metrics: Mapping[str, float]) -> None:
    """Recompute the error on the training rows from where they rest."""
    if train.task is not Task.classification or "train_error" not in metrics:
        return
    weight = train.row_weights()
    wrong = float(weight[tree.label[at] != train.target.codes].sum() / weight.sum())
    if abs(wrong - metrics["train_error"]) > 4 * train.n_rows * np.finfo(np.float64).eps:
        _fail("reported train_error", metrics["train_error"], wrong)


NODES_UNBOUND = 8
"""Nodes at which a coverage bound to its root is compared with the component itself, which may be slow."""


def check_covering_cost(tree: Tree, problem: Problem, at: np.ndarray, metrics: Mapping[str, float]) -> None:
    """Let all objects walk down together, level by level; each pays until some coverage says 1, and stays covered."""
    if "covering_cost" not in metrics:
        return
    objects, coverage = problem.objects, problem.parts.coverage
    bound = [part.prepare(objects) if hasattr(part, "prepare") else part for part in coverage]
    depth, above = np.zeros(tree.n_nodes, np.int64), tree.parent
    for node in range(1, tree.n_nodes):
        depth[node] = depth[above[node]] + 1
    rests = np.zeros(objects.n_objects, np.int64)
    rests[objects.object_of_row] = at
    passed: dict[int, list[np.ndarray]] = {}
    here, who = rests.copy(), np.arange(objects.n_objects)
    while len(who):  # upwards: every object is noted at each node of its path
        order = np.argsort(here, kind="stable")
        nodes, first = np.unique(here[order], return_index=True)
        for node, part in zip(nodes.tolist(), np.split(who[order], first[1:]), strict=True):
            passed.setdefault(node, []).append(part)
        on = here > 0
        here, who = above[here[on]], who[on]
    paid, covered, compared = np.zeros(objects.n_objects), np.zeros(objects.n_objects, np.bool_), 0
    for node in sorted(passed, key=lambda v: depth[v]):
        rows = np.sort(np.concatenate(passed[node]))
        for part, own in zip(coverage, bound, strict=True):
            found = own.covered(objects, rows)
            if own is not part and compared < NODES_UNBOUND * len(coverage):
                compared += 1
                off = np.abs(found - (itself := part.covered(objects, rows)))
                if off.max() > 1e-9:
                    i, rule = int(off.argmax()), f"node {node}: coverage {part.name} answers alike, bound to its root or not"
                    _fail(rule, float(found[i]), float(itself[i]))
            covered[rows[found >= 1.0 - verify_shares.COVERED]] = True
        if tree.test[node] != LEAF:
            paid[rows[~covered[rows]]] += float(tree.price[node])
    value = float((paid * objects.weight).sum() / objects.weight.sum())
    slack = 4 * (objects.n_objects + tree.n_nodes) * np.finfo(np.float64).eps
    if abs(metrics["covering_cost"] - value) > slack * max(1.0, abs(value)):
        _fail("reported covering_cost", metrics["covering_cost"], value)


def check_solution(tree: Tree, problem: Problem, solution: Solution) -> None:
    """A solver's value is the objective's value of its tree, its bound is not above it, and "optimal" means no gap."""
    parts = problem.parts
    if parts.solver is None:
        return
    slack = 1e-9 * max(1.0, abs(solution.value))
    if solution.lower_bound > solution.value + slack:
        _fail("the lower bound is at most the value", solution.lower_bound, solution.value)
    if solution.status is Status.optimal and solution.gap > slack:
        _fail("an optimal solution has no gap", solution.gap, 0)
    if parts.objective is not None and hasattr(parts.objective, "value"):
        value = parts.objective.value(tree, problem)
        if abs(value - solution.value) > slack:
            _fail("the solution's value is the objective's value of its tree", solution.value, value)


def _same(what: str, reported: np.ndarray, recomputed: np.ndarray, slack: float) -> None:
    difference = np.abs(reported - recomputed)
    if not (difference <= slack).all():
        node = int(np.argmax(difference.max(axis=1)))
        _fail(f"node {node}: {what}", reported[node].tolist(), recomputed[node].tolist())


def _fail(rule: str, reported: Any, recomputed: Any) -> None:
    msg = f"verification failed: {rule}: reported {reported}, recomputed {recomputed}; please report this run's record"
    raise VerificationError(msg)
