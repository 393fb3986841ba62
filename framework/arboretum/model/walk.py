"""How rows travel through a tree: one walk, in which a row is whole or in shares; and what objects add up to at each node.

A block of rows advances one level at a time, whatever the number of nodes.  A row is whole until a missing value or a test that
gives degrees splits it; from there on its shares advance on their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.errors import ContractError
from arboretum.model.encoded import Encoded
from arboretum.model.rules import NO_OUTCOME, TestRule, Threshold
from arboretum.model.table import UNSEEN_CODE, Column, ColumnKind, Table, Task

if TYPE_CHECKING:
    from arboretum.model.tree import Tree

STOPS, SPLITS = -1, -2
SPLIT_ROW = -1
"""In the answer of :func:`rest`: the row is split over several leaves."""
BLOCK_CELLS = 1 << 18
"""Cells of the table looked at in one block of rows (2 MiB of float64: within the second-level cache)."""
LOOKUP_LIMIT = 1 << 22
"""Most entries that the outcome tables of categorical tests may have together (16 MiB)."""

NUMERIC, CODED, OTHER = 0, 1, 2
EPS = float(np.finfo(np.float64).eps)


@attrs.frozen(eq=False)
class Places:
    """Where rows come to rest.

    whole : int64[n_rows], the node where each row rests, SPLIT_ROW for one that is split over several.
    node, row, share : int64[m], int64[m], float64[m] in (0, 1]: the shares of split rows; a row and a node meet at most once.
    """

    whole: np.ndarray
    node: np.ndarray
    row: np.ndarray
    share: np.ndarray

    def all(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(node, row, share) of whole rows, with share 1, and of all shares."""
        row = np.flatnonzero(self.whole >= 0)
        parts = (self.whole[row], row, np.ones(len(row)))
        if not len(self.node):
            return parts
        return tuple(np.concatenate(pair) for pair in zip(parts, (self.node, self.row, self.share), strict=True))

    def averaged(self, per_node: np.ndarray) -> np.ndarray:
        """``per_node`` (float64[n_nodes, …]) at the node of each row; where a row is split, the average by its shares."""
        result = per_node[self.whole]
        if len(self.row):
            result[self.row] = 0
            np.add.at(result, self.row, self.share.reshape(-1, *[1] * (per_node.ndim - 1)) * per_node[self.node])
        return result


def policies(tree: Tree) -> np.ndarray:
    """int64[n_nodes]: what happens to a row without an outcome: an outcome, STOPS or SPLITS.

    A split over one branch is that branch; a split where no branch has any weight stops.
    """
    policy, owner, heavy = tree.missing_child.astype(np.int64), tree.owner, _heavy(tree)
    filled = np.bincount(owner, heavy > 0, tree.n_nodes)
    policy[(policy == SPLITS) & (filled == 0)] = STOPS
    only = np.flatnonzero((heavy > 0) & (filled[owner] == 1) & (policy[owner] == SPLITS))
    policy[owner[only]] = only - tree.child_offset[owner[only]]
    return policy


def _heavy(tree: Tree) -> np.ndarray:
    """float64[n_edges]: the weight of the training rows in each branch, 0 where there is none."""
    return np.where(tree.child >= 0, tree.mass[tree.child], 0.0)


def places(tree: Tree, table: Table) -> Places:
    """Where all rows of a table come to rest."""
    plan, n_rows = _Plan(tree, table), table.n_rows
    block = max(BLOCK_CELLS // max(len(plan.numeric) + len(plan.coded), 1), 512)
    if plan.asks_other:  # such tests are asked one by one, so the fewer blocks the better
        block = max(n_rows, 1)
    none = np.zeros(0, np.int64)
    ends = [(none, none, none.astype(np.float64))]
    for start in range(0, 0 if tree.is_leaf[0] else n_rows, block):
        ends += [(node, row + start, share) for node, row, share in _Block(plan, slice(start, min(start + block, n_rows))).walk()]
    node, row, share = map(np.concatenate, zip(*ends, strict=True))
    if plan.fuzzy:  # shares of outcomes without a branch meet at the node
        key, place = np.unique(row * tree.n_nodes + node, return_inverse=True)
        (row, node), share = np.divmod(key, tree.n_nodes), np.bincount(place, share)
    whole, split = np.zeros(n_rows, np.int64), np.bincount(row, minlength=n_rows)[row] > 1
    whole[row] = np.where(split, SPLIT_ROW, node)
    return Places(whole, node[split], row[split], share[split])


class _Plan:
    """The tree as arrays that a block of rows can follow without looking at single nodes.

    numeric, coded : the columns that thresholds and tests of one coded column read (their values).
    kind : int8[n_nodes], NUMERIC, CODED, or OTHER for a test that is asked by itself.
    slot : int64[n_nodes], which of the columns the node reads.   threshold : float64[n_nodes].
    lookup : int32[…], outcome of a code c of the node's column at ``lookup[base[node] + c]`` (c ≥ −2).
    there : int64[n_edges], where an edge leads: the child, or the node itself where no branch is; goes_on : bool[n_edges],
    whether that asks a test.   fuzzy : the nodes whose test gives degrees.   surrogates : node → its surrogates, in order.
    portion : float64[n_edges], the part of a row without an outcome that a SPLITS node sends down the edge.
    """

    def __init__(self, tree: Tree, table: Table) -> None:
        """Compile the tree for a table.  Raises DataError where a test cannot be asked of it."""
        numeric: dict[str, int] = {}
        coded: dict[str, int] = {}
        columns = {column.name: column for column in table.columns}
        asked, pieces, size = [], [np.zeros(0, np.int32)], 0
        for rule in tree.rules:
            name = rule.columns[0] if len(rule.columns) == 1 else ""
            column = columns.get(name) or (table.column(name) if name else None)  # an absent one is refused, with the closest
            if (piece := _lookup_of(rule, column, table, size)) is not None:
                asked.append((CODED, coded.setdefault(name, len(coded)), 0.0, size - UNSEEN_CODE))
                pieces.append(piece)
                size += len(piece)
            elif type(rule) is Threshold and column.kind is ColumnKind.continuous:
                asked.append((NUMERIC, numeric.setdefault(name, len(numeric)), rule.threshold, 0))
            else:
                asked.append((OTHER, 0, 0.0, 0))
        of_node, child = tree.test, tree.child  # −1 at a leaf reads the last row, which nobody uses
        kind, slot, threshold, base = np.array([*asked, (OTHER, 0, 0.0, 0)])[of_node].T
        self.tree, self.table, self.policy = tree, table, policies(tree)
        self.numeric, self.coded = [columns[name].values for name in numeric], [columns[name].values for name in coded]
        self.kind, self.slot, self.base = kind.astype(np.int8), slot.astype(np.int64), base.astype(np.int64)
        self.threshold, self.lookup = threshold.copy(), np.concatenate(pieces)
        self.portion = _portions(tree, self.policy)
        self.there, self.goes_on = np.where(child < 0, tree.owner, child).astype(np.int64), (of_node[child] >= 0) & (child >= 0)
        fuzzy = np.array([*(rule.fuzzy for rule in tree.rules), False])[of_node]
        self.fuzzy = frozenset(np.flatnonzero(fuzzy).tolist())
        self.surrogates = {node: tuple(one) for node, one in itertools.groupby(tree.surrogates, key=lambda each: each.node)}
        self.asks_other = any(one[0] == OTHER for one in asked)


def _lookup_of(rule: TestRule, column: Column | None, table: Table, size: int) -> np.ndarray | None:
    """int32[n_categories + 2]: the rule's outcome for the codes −2 (unseen), −1 (missing), 0, 1, …; None for a test that
    reads numbers or several columns, and where tables would become too large."""
    if rule.fuzzy or column is None or column.kind is ColumnKind.continuous or size + len(column.categories) > LOOKUP_LIMIT:
        return None
    codes = np.arange(UNSEEN_CODE, len(column.categories), dtype=np.int32)
    probe = attrs.evolve(table, columns=(attrs.evolve(column, values=codes),))
    return rule.outcomes(probe, np.arange(len(codes))).astype(np.int32)


def _portions(tree: Tree, policy: np.ndarray) -> np.ndarray:
    """float64[n_edges]: the weight of a branch over that of all branches of its node, at nodes that split rows; else 0."""
    owner, heavy = tree.owner, _heavy(tree)
    heavy[policy[owner] != SPLITS] = 0.0
    total = np.bincount(owner, heavy, tree.n_nodes)[owner]
    return np.divide(heavy, total, out=heavy, where=total > 0)


class _Block:
    """Some rows of the table, side by side for one plan.   first : number of the first in the table."""

    def __init__(self, plan: _Plan, part: slice) -> None:
        self.plan, self.first, self.size = plan, part.start, part.stop - part.start
        self.numbers = np.array([values[part] for values in plan.numeric], np.float64).reshape(-1)
        self.codes = np.array([values[part] for values in plan.coded], np.int32).reshape(-1)

    def walk(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield (node, row of the block, share) of what comes to rest, level by level.   Invariant: all of ``at`` ask a test."""
        plan, offset = self.plan, self.plan.tree.child_offset
        at, row, share = np.zeros(self.size, np.int64), np.arange(self.size), np.ones(self.size)
        while len(row):
            outcome, more = self._outcomes(at, row), None
            if len(lost := np.flatnonzero(outcome < 0)):
                outcome[lost] = self._placed(at[lost], row[lost], outcome[lost])
                if len(shed := np.flatnonzero(outcome == SPLITS)):
                    more, keep = self._spread(at[shed], row[shed], share[shed]), outcome != SPLITS
                    at, row, outcome, share = at[keep], row[keep], outcome[keep], share[keep]
            stops = np.flatnonzero(outcome < 0)
            outcome[stops] = 0
            edge = offset[at] + outcome
            there, goes_on = plan.there[edge], plan.goes_on[edge]
            there[stops], goes_on[stops] = at[stops], False
            if more is not None:
                there, row, share, goes_on = (np.concatenate(pair) for pair in zip((there, row, share, goes_on), more, strict=True))
            ends = ~goes_on
            yield there[ends], row[ends], share[ends]
            at, row, share = there[goes_on], row[goes_on], share[goes_on]

    def _placed(self, at: np.ndarray, row: np.ndarray, outcome: np.ndarray) -> np.ndarray:
        """int64[len(row)]: what becomes of rows without an outcome (those that SPLITS already are left): an outcome, STOPS or SPLITS."""
        plan = self.plan
        for node in np.unique(at).tolist() if plan.surrogates else ():
            here = np.flatnonzero((at == node) & (outcome == NO_OUTCOME))
            for one in plan.surrogates.get(node, ()):
                known = plan.tree.rules[one.rule].outcomes(plan.table, row[here] + self.first)
                outcome[here] = np.array([*one.to, NO_OUTCOME])[known]
                here = here[outcome[here] == NO_OUTCOME]
        return np.where(outcome == NO_OUTCOME, plan.policy[at], outcome)

    def _spread(self, at, row, share) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The shares of rows that nodes split: (where they come to, row, share, whether they go on)."""
        plan, offset = self.plan, self.plan.tree.child_offset
        n_edges = np.diff(offset)[at]
        which, first = np.repeat(np.arange(len(at)), n_edges), np.cumsum(n_edges) - n_edges
        edge = np.arange(len(which)) + (offset[at] - first)[which]
        part = plan.portion[edge]
        for node in plan.fuzzy.intersection(at.tolist()):
            here = np.flatnonzero(at == node)
            degrees = plan.tree.rule(node).degrees(plan.table, row[here] + self.first)
            known = degrees.any(axis=1)
            part[first[here[known], None] + np.arange(degrees.shape[1])] = degrees[known]
        kept = part > 0.0
        which, edge = which[kept], edge[kept]
        return plan.there[edge], row[which], share[which] * part[kept], plan.goes_on[edge]

    def _outcomes(self, at: np.ndarray, row: np.ndarray) -> np.ndarray:
        """int64[len(row)]: outcome of the test of each row's node."""
        plan, cell = self.plan, self.plan.slot[at] * self.size + row
        if not plan.asks_other and not plan.coded:
            return self._compared(at, cell)
        result, kind = np.empty(len(at), np.int64), plan.kind[at]
        here = np.flatnonzero(kind == NUMERIC)
        result[here] = self._compared(at[here], cell[here])
        here = np.flatnonzero(kind == CODED)
        result[here] = plan.lookup[plan.base[at[here]] + self.codes[cell[here]]]
        here = np.flatnonzero(kind == OTHER)
        here = here[np.argsort(at[here], kind="stable")]
        for part in np.split(here, np.flatnonzero(np.diff(at[here])) + 1) if len(here) else ():
            result[part] = self._asked(int(at[part[0]]), row[part] + self.first)
        return result

    def _compared(self, at: np.ndarray, cell: np.ndarray) -> np.ndarray:
        value = self.numbers[cell]
        outcome = (value > self.plan.threshold[at]).astype(np.int64)
        outcome[np.isnan(value)] = NO_OUTCOME
        return outcome

    def _asked(self, node: int, rows: np.ndarray) -> np.ndarray:
        """The same of a test that is asked by itself.   rows : of the table, together at the node."""
        rule = self.plan.tree.rule(node)
        if not rule.fuzzy:
            return rule.outcomes(self.plan.table, rows)
        degrees = rule.degrees(self.plan.table, rows)
        whole = np.where(degrees.max(axis=1) == 1.0, degrees.argmax(axis=1), SPLITS)
        return np.where(degrees.any(axis=1), whole, NO_OUTCOME)


@attrs.frozen(eq=False)
class Arrivals:
    """Where the objects of a tree come to rest, ordered by node.

    node, who, share : int64[m], int64[m], float64[m]: one entry per whole object (share 1), several for one that is split.
    places : the same of the rows.   start : int64[n_nodes + 1], where the entries of each node begin.
    """

    tree: Tree
    places: Places
    node: np.ndarray
    who: np.ndarray
    share: np.ndarray
    start: np.ndarray

    @staticmethod
    def of(tree: Tree, object_of_row: np.ndarray, n_objects: int, places: Places) -> Arrivals:
        """Raises ContractError unless every object stands for some rows, and these share their path."""
        first = np.full(n_objects, -1)
        first[object_of_row[::-1]] = np.arange(len(object_of_row))[::-1]
        if not (first >= 0).all():
            raise ContractError(f"every object stands for a row: object {int(first.argmin())} does not")
        node, row, share = places.all()
        order = np.lexsort((node, row))
        node, row, share = node[order], row[order], share[order]
        size = np.bincount(row, minlength=len(object_of_row))
        begin, stands = np.cumsum(size) - size, first[object_of_row[row]]  # the row that stands for the object of each entry's row
        twin = np.minimum(begin[stands] + np.arange(len(row)) - begin[row], len(row) - 1)  # and its entry at the same node
        alike = (size[row] == size[stands]) & (node == node[twin]) & (share == share[twin])
        if not alike.all():
            raise ContractError(f"rows merged into one object share their path: row {int(row[np.argmin(alike)])} does not")
        chosen = np.flatnonzero(row == stands)
        node, who, share = node[chosen], object_of_row[row[chosen]], share[chosen]
        order = np.lexsort((who, node))
        start = np.searchsorted(node[order], np.arange(tree.n_nodes + 1))
        return Arrivals(tree, places, node[order], who[order], share[order], start)

    @property
    def split(self) -> bool:
        """Whether any object is split."""
        return len(self.places.row) > 0

    def at(self, node: int) -> tuple[np.ndarray, np.ndarray]:
        """(int64[k] objects in ascending order, float64[k] shares) that come by a node."""
        part = slice(self.start[node], self.start[self.tree.subtree_end[node]])
        if not self.split:
            return np.sort(self.who[part]), self.share[part]
        who, place = np.unique(self.who[part], return_inverse=True)
        return who, np.bincount(place, self.share[part], len(who))

    def sizes(self) -> np.ndarray:
        """int64[n_nodes]: how many entries lie in the subtree of each node; the number of objects unless some are split."""
        return self.start[self.tree.subtree_end] - self.start[:-1]

    def totals(self, objects: Encoded, shift: float = 0.0) -> np.ndarray:
        """float64[n_nodes, classes]: class weights of the objects at each node; for numbers their moments about ``shift``."""
        n, mass = self.tree.n_nodes, objects.weight[self.who] * self.share
        if objects.task is Task.classification:
            width = objects.n_classes
            own = np.bincount(self.node * width + objects.label[self.who], mass, n * width).reshape(n, width)
        else:
            y = objects.y[self.who] - shift
            own = np.stack([np.bincount(self.node, mass * y**k, n) for k in range(3)], axis=1)
        return summed(own, self.tree)

    def counts(self, count: np.ndarray) -> np.ndarray:
        """float64[n_nodes]: how many rows (``count`` per object) come by each node, by their shares."""
        return summed(np.bincount(self.node, count[self.who] * self.share, self.tree.n_nodes), self.tree)

    def rounding(self, objects: Encoded) -> float:
        """How far two orders of adding up a node's weights may lie apart, over the sum of their absolute values.

        Twice m·ε for m terms; a share is a product of as many quotients as its path is long, each of sums that are as far off.
        """
        terms = 2 * max(len(self.node), objects.n_objects) * EPS
        return terms * (1 + 2 * int(self.tree.depth_of.max())) if self.split else terms


def summed(own: np.ndarray, tree: Tree) -> np.ndarray:
    """Sums over subtrees of what each node has itself; own : float64[n_nodes] or [n_nodes, k]."""
    total = own.astype(np.float64)
    for node, above in zip(range(tree.n_nodes - 1, 0, -1), tree.parent[:0:-1].tolist(), strict=True):  # children after their parents
        total[above] += total[node]
    return total
