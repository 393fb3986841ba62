"""How rows travel through a tree.

:func:`rest` is the fast way: a block of rows advances one level at a time, whatever the number of nodes.
:func:`flow` is the general way: node by node, for any test, and for rows that missing values split over branches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.model.rules import NO_OUTCOME, Threshold
from arboretum.model.table import UNSEEN_CODE, Column, ColumnKind, Table

if TYPE_CHECKING:
    from arboretum.model.tree import Tree

STOPS, SPLITS = -1, -2
SPLIT_ROW = -1
"""In the answer of :func:`rest`: the row is split over several leaves."""
BLOCK_CELLS = 1 << 18
"""Cells of the table looked at in one block of rows (2 MiB of float64: within the second-level cache)."""
LOOKUP_LIMIT = 1 << 22
"""Most entries that the outcome tables of categorical tests may have together (16 MiB)."""

Resting = tuple[int, np.ndarray, np.ndarray]


def policies(tree: Tree) -> np.ndarray:
    """int64[n_nodes]: what happens to a row without an outcome: an outcome, STOPS or SPLITS.

    A split over one branch is that branch; a split where no branch has any weight stops.
    """
    policy = tree.missing_child.astype(np.int64)
    mass = tree.mass
    for node in np.flatnonzero((policy == SPLITS) & ~tree.is_leaf):
        children = tree.children(node)
        heavy = np.flatnonzero((children >= 0) & (mass[children] > 0))
        if len(heavy) < 2:
            policy[node] = heavy[0] if len(heavy) else STOPS
    return policy


def flow(tree: Tree, table: Table, rows: np.ndarray | None = None) -> Iterator[Resting]:
    """Yield (node, rows, shares) where ``rows`` of the table (all, unless given: int64) come to rest.

    A row rests at a leaf, or at an inner node whose test has no branch for it.  A node is yielded at most once, with
    its rows in ascending order if they were given so.
    """
    policy, mass = policies(tree), tree.mass
    rows = np.arange(table.n_rows) if rows is None else rows
    stack = [(0, rows, np.ones(len(rows)))]
    while stack:
        node, rows, share = stack.pop()
        if len(rows) == 0:
            continue
        if tree.test[node] < 0:
            yield node, rows, share
            continue
        outcome = tree.rule(node).outcomes(table, rows)
        lost = outcome == NO_OUTCOME
        spread = None
        if policy[node] >= 0:
            outcome[lost] = policy[node]
        elif policy[node] == SPLITS and lost.any():
            spread = lost
        children = tree.children(node)
        stays = np.concatenate([children < 0, [spread is None]])[outcome]  # the last slot serves outcome −1
        if stays.any():
            yield node, rows[stays], share[stays]
        known = mass[children[children >= 0]].sum()
        for k in np.flatnonzero(children >= 0)[::-1]:
            child, here = int(children[k]), outcome == k
            if spread is None:
                stack.append((child, rows[here], share[here]))
            else:
                portion = np.where(spread, share * (mass[child] / known), share)
                here |= spread & (mass[child] > 0)
                stack.append((child, rows[here], portion[here]))


def rest(tree: Tree, table: Table) -> np.ndarray:
    """int64[n_rows]: the node where each row comes to rest, SPLIT_ROW for a row that is split over several."""
    plan = _plan(tree, table)
    result = np.full(table.n_rows, SPLIT_ROW, np.int64)
    if plan is None:
        for node, rows, share in flow(tree, table):
            result[rows[share == 1.0]] = node
        return result
    block = max(BLOCK_CELLS // max(len(plan.numeric) + len(plan.coded), 1), 512)
    for start in range(0, table.n_rows, block):
        part = slice(start, min(start + block, table.n_rows))
        result[part] = _walk(plan, part)
    return result


@attrs.frozen(eq=False)
class _Plan:
    """The tree as arrays that a block of rows can follow without looking at single nodes.

    numeric, coded : the columns that tests read (their values).
    slot : int64[n_nodes], which of them the node reads.   is_coded : bool[n_nodes].
    threshold : float64[n_nodes].
    lookup : int32[…], outcome of a code c of the node's column at ``lookup[base[node] + c]`` (c ≥ −2).
    """

    tree: Tree
    policy: np.ndarray
    numeric: list[np.ndarray]
    coded: list[np.ndarray]
    slot: np.ndarray
    is_coded: np.ndarray
    threshold: np.ndarray
    lookup: np.ndarray
    base: np.ndarray


def _plan(tree: Tree, table: Table) -> _Plan | None:
    """Compile the tree for a table; None when a test is neither a threshold nor a question about one coded column."""
    numeric: dict[str, int] = {}
    coded: dict[str, int] = {}
    n = len(tree.rules)
    slot, is_coded, threshold, base = np.zeros(n + 1, int), np.zeros(n + 1, bool), np.zeros(n + 1), np.zeros(n + 1, int)
    pieces, size = [], 0
    columns = {name: table.column(name) for name in sorted({name for rule in tree.rules for name in rule.columns})}
    for i, rule in enumerate(tree.rules):
        if len(rule.columns) != 1:
            return None
        column = columns[rule.columns[0]]
        if column.kind is not ColumnKind.continuous:
            piece = _outcome_of_code(rule, column, table)
            slot[i], is_coded[i] = coded.setdefault(column.name, len(coded)), True
            base[i] = size - UNSEEN_CODE
            size += len(piece)
            pieces.append(piece)
        elif type(rule) is Threshold:
            slot[i] = numeric.setdefault(column.name, len(numeric))
            threshold[i] = rule.threshold
        else:
            return None
        if size > LOOKUP_LIMIT:
            return None
    of_node = tree.test  # −1 at a leaf reads the last slot, which nobody uses
    return _Plan(
        tree=tree,
        policy=policies(tree),
        numeric=[columns[name].values for name in numeric],
        coded=[columns[name].values for name in coded],
        slot=slot[of_node],
        is_coded=is_coded[of_node],
        threshold=threshold[of_node],
        lookup=np.concatenate(pieces) if pieces else np.zeros(0, np.int32),
        base=base[of_node],
    )


def _outcome_of_code(rule, column: Column, table: Table) -> np.ndarray:
    """int32[n_categories + 2]: the rule's outcome for the codes −2 (unseen), −1 (missing), 0, 1, …"""
    codes = np.arange(UNSEEN_CODE, len(column.categories), dtype=np.int32)
    probe = table.with_columns([attrs.evolve(column, values=codes)])
    return rule.outcomes(probe, np.arange(len(codes))).astype(np.int32)


def _walk(plan: _Plan, part: slice) -> np.ndarray:
    """Let one block of rows walk; int64[block]: as :func:`rest`.

    Invariant: rows in ``active`` stand at the inner nodes ``at``; all others have their answer in ``result``.
    """
    tree, size = plan.tree, part.stop - part.start
    numbers = np.array([values[part] for values in plan.numeric], np.float64).reshape(-1)
    codes = np.array([values[part] for values in plan.coded], np.int32).reshape(-1)
    gaps = bool(np.isnan(numbers).any()) or bool(plan.coded)
    result = np.zeros(size, np.int64)
    if tree.test[0] < 0:
        return result
    active, at = np.arange(size), np.zeros(size, np.int64)
    while len(active):
        outcome = _outcomes(plan, numbers, codes, at, plan.slot[at] * size + active, gaps)
        if gaps:
            lost = np.flatnonzero(outcome < 0)
            outcome[lost] = plan.policy[at[lost]]
        slot = tree.child_offset[at] + outcome
        child = tree.child[np.maximum(slot, 0)].astype(np.int64)
        if gaps:
            child = np.where(outcome < 0, -1, child)
        answer = np.where(child < 0, at, child)
        if gaps:
            answer[outcome == SPLITS] = SPLIT_ROW
        result[active] = answer
        goes_on = (child >= 0) & (tree.test[child] >= 0)
        active, at = active[goes_on], child[goes_on]
    return result


def _outcomes(plan: _Plan, numbers, codes, at, cell, gaps: bool) -> np.ndarray:
    """int64[active]: outcome of each row's test; ``cell``: where the node's column holds the row's value."""
    if not plan.coded:
        return _compare(plan, numbers, at, cell, gaps)
    if not plan.numeric:
        return plan.lookup[plan.base[at] + codes[cell]].astype(np.int64)
    result, coded = np.empty(len(at), np.int64), plan.is_coded[at]
    result[coded] = plan.lookup[plan.base[at[coded]] + codes[cell[coded]]]
    result[~coded] = _compare(plan, numbers, at[~coded], cell[~coded], gaps)
    return result


def _compare(plan: _Plan, numbers, at, cell, gaps: bool) -> np.ndarray:
    value = numbers[cell]
    outcome = (value > plan.threshold[at]).astype(np.int64)
    if gaps:
        outcome[np.isnan(value)] = NO_OUTCOME
    return outcome
