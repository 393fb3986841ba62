"""How rows travel through a tree: one walk, in which a row is whole or in shares; and what objects
add up to at each node.

All rows that come by a node are asked its test together.  A row is whole until a missing value or a
test that gives degrees splits it; from there on its shares advance on their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.errors import ContractError
from arboretum.model.encoded import Encoded
from arboretum.model.missing import by_code
from arboretum.model.rules import NO_OUTCOME, TestRule
from arboretum.model.table import Table

if TYPE_CHECKING:
    from arboretum.model.tree import Tree

STOPS, SPLITS = -1, -2  # in place of an outcome: what becomes of a row without one
SPLIT_ROW = -1  # in the answer of :func:`rest`: the row is split over several leaves
EPS = float(np.finfo(np.float64).eps)
NEGLIGIBLE = 1e-9
"""Of all training rows: fewer of them, in shares, are the rounding of their sums."""


@attrs.frozen(eq=False)
class Places:
    """Where rows come to rest.

    whole : int64[n_rows], the node where each row rests, SPLIT_ROW for one that is split over
        several.
    node, row, share : int64[m], int64[m], float64[m] in (0, 1]: the shares of split rows; a row and
        a node meet at most once.
    """

    whole: np.ndarray
    node: np.ndarray
    row: np.ndarray
    share: np.ndarray

    def all(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (node, row, share) of whole rows, with share 1, and of all shares."""
        row = np.flatnonzero(self.whole >= 0)
        node = np.concatenate((self.whole[row], self.node))
        share = np.concatenate((np.ones(len(row)), self.share))
        return node, np.concatenate((row, self.row)), share

    def average_over_shares(self, per_node: np.ndarray) -> np.ndarray:
        """``per_node`` (float64[n_nodes, …]) at the node of each row; where a row is split, the
        average by its shares.
        """
        result: np.ndarray = per_node[self.whole]
        if len(self.row):
            result[self.row] = 0
            np.add.at(
                result,
                self.row,
                self.share.reshape(-1, *[1] * (per_node.ndim - 1)) * per_node[self.node],
            )
        return result


def policies(tree: Tree) -> np.ndarray:
    """Return int64[n_nodes]: what happens to a row without an outcome: an outcome, STOPS or SPLITS.

    A split over one branch is that branch; a split where no branch has any weight stops.
    """
    policy, owner = tree.missing_child.astype(np.int64), tree.owner
    # what trains each branch, 0 where there is none
    heavy = np.where(tree.child >= 0, tree.mass[tree.child], 0.0)
    filled = np.bincount(owner, heavy > 0, tree.n_nodes)
    policy[(policy == SPLITS) & (filled == 0)] = STOPS
    only = np.flatnonzero((heavy > 0) & (filled[owner] == 1) & (policy[owner] == SPLITS))
    policy[owner[only]] = only - tree.child_offset[owner[only]]
    return policy


def keeps_rows(tree: Tree) -> np.ndarray:
    """Return bool[n_nodes]: inner nodes at which training rows come to rest.  Rows are counted, as
    weights may be smaller than the rounding of others.
    """
    child, owner = tree.child, tree.owner
    if child.min(initial=0) < 0:  # of an outcome that no row had
        child, owner = child[child >= 0], owner[child >= 0]
    kept = tree.counts - np.bincount(owner, tree.counts[child], tree.n_nodes)
    return np.asarray(~tree.is_leaf & (kept > NEGLIGIBLE * tree.counts[0]))


def places(tree: Tree, table: Table, weight: np.ndarray | None = None) -> Places:
    """Return where all rows of a table come to rest.  Raises DataError where a test cannot be asked
    of it.

    weight : float64[n_rows] > 0: rows without an outcome that go down every branch do so in
        proportion to what the other rows of this table weigh there, as if the tree had been grown
        from them; None: to what its training objects weigh.
    """
    for name in sorted(
        {name for rule in tree.rules for name in rule.columns}
        - {column.name for column in table.columns}
    ):
        table.column(name)  # refused, with the closest
    walk, whole, none = (
        _Walk(tree, table, weight),
        np.zeros(table.n_rows, np.int64),
        np.zeros(0, np.int64),
    )
    shares = [(none, none, none.astype(np.float64))]
    came: dict[int, list[Some]] = {0: [(np.arange(table.n_rows), None)]}
    for node, leaf in enumerate(tree.is_leaf.tolist()):
        if node not in came:
            continue
        here = _join_arrivals(came.pop(node))
        for to, (rows, share) in [(node, here)] if leaf else walk.below(node, *here):
            if to != node and len(rows):
                came.setdefault(to, []).append((rows, share))
            elif share is None:
                whole[rows] = node
            else:
                shares.append((np.full(len(rows), node), rows, share))
    at, row, part = map(np.concatenate, zip(*shares, strict=True))
    split = np.bincount(row, minlength=table.n_rows)[row] > 1
    whole[row] = np.where(split, SPLIT_ROW, at)
    return Places(whole, at[split], row[split], part[split])


# (int64[k] rows, float64[k] shares of them), None for whole rows
Some = tuple[np.ndarray, np.ndarray | None]


def _join_arrivals(came: list[Some]) -> Some:
    """Return all of them together."""
    if len(came) == 1:
        return came[0]
    shares = [np.ones(len(rows)) if share is None else share for rows, share in came]
    return np.concatenate([rows for rows, _ in came]), np.concatenate(shares)


def outcomes_of(rule: TestRule, table: Table, rows: np.ndarray) -> np.ndarray:
    """Return what a test says of rows; raises ContractError for an outcome that it does not have,
    as a plugin's has that was changed after the tree was grown.
    """
    found = rule.outcomes(table, rows)
    wrong = found[(found < NO_OUTCOME) | (found >= rule.arity)]
    if len(wrong):
        raise ContractError(
            f"the test {rule.describe()!r} has the outcomes 0 to {rule.arity - 1}, and "
            f"{NO_OUTCOME} for none; it says {wrong[0]}"
        )
    return found


class _Walk:
    """What the nodes of a tree do with rows of a table.

    policy : of each node.
    surrogates : node → its surrogates, in order.
    """

    def __init__(self, tree: Tree, table: Table, weight: np.ndarray | None = None) -> None:
        """``table`` : has all columns that the tree's tests read.   weight : as of
        :func:`places`.
        """
        self.tree, self.table, self.weight = tree, table, weight
        self.policy = (policies(tree) if weight is None else tree.missing_child).tolist()
        self.surrogates = {
            node: tuple(one)
            for node, one in itertools.groupby(tree.surrogates, key=lambda each: each.node)
        }

    def below(
        self, node: int, rows: np.ndarray, share: np.ndarray | None
    ) -> Iterator[tuple[int, Some]]:
        """Yield (child, what goes there) of an inner node, (the node itself, what rests there).

        rows : int64[k], that come by.   share : float64[k], None where all are whole.
        """
        rule, children = self.tree.rule(node), self.tree.children(node).tolist()
        degrees = rule.degrees(self.table, rows) if rule.fuzzy else None
        outcome = self._resolve_outcomes(
            node,
            rows,
            outcomes_of(rule, self.table, rows) if degrees is None else _whole_outcomes(degrees),
        )
        for k, child in enumerate(children):
            part = outcome == k
            yield node if child < 0 else child, (rows[part], None if share is None else share[part])
        if not (outcome < 0).any():
            return
        heavy = np.array([self.tree.mass[child] if child >= 0 else 0.0 for child in children])
        if self.weight is not None:
            mass = self.weight[rows] if share is None else self.weight[rows] * share
            heavy = _weigh_branches(children, mass, outcome, degrees)
            if not heavy.any():  # nothing says how much goes where
                told = np.zeros(len(rows), bool) if degrees is None else degrees.any(axis=1)
                outcome = np.where((outcome == SPLITS) & ~told, STOPS, outcome)
        stops, split = outcome == STOPS, outcome == SPLITS
        yield node, (rows[stops], None if share is None else share[stops])
        portion = np.tile(
            heavy / max(heavy.sum(), np.finfo(np.float64).tiny), (int(split.sum()), 1)
        )
        if degrees is not None:
            portion = np.where(degrees[split].any(axis=1, keepdims=True), degrees[split], portion)
        # outcomes without a branch meet at the node
        rests = portion[:, [child < 0 for child in children]].sum(axis=1)
        for child, part in [
            (node, rests),
            *((child, portion[:, k]) for k, child in enumerate(children) if child >= 0),
        ]:
            kept = part > 0.0
            yield child, (rows[split][kept], (part if share is None else share[split] * part)[kept])

    def _resolve_outcomes(self, node: int, rows: np.ndarray, outcome: np.ndarray) -> np.ndarray:
        """Return int[len(rows)]: what becomes of rows without an outcome (those that SPLITS already
        are left): an outcome, STOPS or SPLITS.
        """
        lost = np.flatnonzero(outcome == NO_OUTCOME)
        if not len(lost):
            return outcome
        outcome = outcome.copy()
        for one in self.surrogates.get(node, ()):
            known = outcomes_of(self.tree.rules[one.rule], self.table, rows[lost])
            outcome[lost] = by_code(one.to, known, NO_OUTCOME)
            lost = lost[outcome[lost] == NO_OUTCOME]
        outcome[lost] = self.policy[node]
        return outcome


def _weigh_branches(
    children: list[int], mass: np.ndarray, outcome: np.ndarray, degrees: np.ndarray | None
) -> np.ndarray:
    """Return float64[outcomes]: what rows that have an outcome weigh in each branch, 0 without one.

    children : −1 for an outcome without a branch.   mass : float64[k], of the rows that come by.
    outcome : ints[k], < 0 for what has none, or is split by its degrees, float64[k, outcomes].
    """
    whole = outcome >= 0
    heavy = np.bincount(outcome[whole], mass[whole], len(children))
    if degrees is not None:
        heavy += mass[outcome == SPLITS] @ degrees[outcome == SPLITS]
    return np.where(np.array(children) >= 0, heavy, 0.0)


def _whole_outcomes(degrees: np.ndarray) -> np.ndarray:
    """Return int64[n]: the outcome of rows that go down one branch whole; SPLITS for the others,
    NO_OUTCOME without degrees.
    """
    whole = np.where(degrees.max(axis=1) == 1.0, degrees.argmax(axis=1), SPLITS)
    return np.where(degrees.any(axis=1), whole, NO_OUTCOME)


@attrs.frozen(eq=False)
class Arrivals:
    """Where the objects of a tree come to rest, ordered by node.

    node, who, share : int64[m], int64[m], float64[m]: one entry per whole object (share 1), several
        for one that is split.
    places : the same of the rows.
    start : int64[n_nodes + 1], where the entries of each node begin.
    """

    tree: Tree
    places: Places
    node: np.ndarray
    who: np.ndarray
    share: np.ndarray
    start: np.ndarray

    @staticmethod
    def of(tree: Tree, object_of_row: np.ndarray, n_objects: int, places: Places) -> Arrivals:
        """Order the objects by where they rest; raises ContractError unless every object stands for
        some rows, and these share their path.

        object_of_row : int64[n_rows].   places : of these rows.
        """
        first = np.full(n_objects, -1)
        first[object_of_row[::-1]] = np.arange(len(object_of_row))[::-1]
        if not (first >= 0).all():
            raise ContractError(
                f"every object stands for a row: object {int(first.argmin())} does not"
            )
        stands, (node, row, share) = first[object_of_row], places.all()
        # one number for where a row rests, for a split one from 0 to 1: equal ones for different
        # shares would be a chance of 2⁻⁵⁰
        mixed = np.bincount(
            places.row,
            places.share * np.random.default_rng(0).random(tree.n_nodes)[places.node],
            len(stands),
        )
        place = np.where(places.whole >= 0, places.whole, mixed)
        if not (alike := place == place[stands]).all():
            raise ContractError(
                f"rows merged into one object share their path: row {int(np.argmin(alike))} "
                "does not"
            )
        chosen = np.flatnonzero(row == stands[row])
        node, who, share = node[chosen], object_of_row[row[chosen]], share[chosen]
        order = np.lexsort((who, node))
        start = np.searchsorted(node[order], np.arange(tree.n_nodes + 1))
        return Arrivals(tree, places, node[order], who[order], share[order], start)

    @property
    def split(self) -> bool:
        """Whether any object is split."""
        return len(self.places.row) > 0

    def at(self, node: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (int64[k] objects in ascending order, float64[k] shares) that come by a node."""
        part = slice(self.start[node], self.start[self.tree.subtree_end[node]])
        who, place = np.unique(self.who[part], return_inverse=True)
        return who, np.bincount(place, self.share[part], len(who))

    def sizes(self) -> np.ndarray:
        """Return int64[n_nodes]: how many entries lie in the subtree of each node; the number of
        objects unless some are split.
        """
        return np.asarray(self.start[self.tree.subtree_end] - self.start[:-1])

    def totals(self, objects: Encoded, shift: float = 0.0) -> np.ndarray:
        """Return float64[n_nodes, classes]: class weights of the objects at each node; for numbers
        their moments about ``shift``.
        """
        n, mass = self.tree.n_nodes, objects.weight[self.who] * self.share
        if objects.is_classification:
            width = objects.n_classes
            own = np.bincount(self.node * width + objects.label[self.who], mass, n * width).reshape(
                n, width
            )
        else:
            y = objects.y[self.who] - shift
            own = np.stack([np.bincount(self.node, mass * y**k, n) for k in range(3)], axis=1)
        return sum_subtrees(own, self.tree)

    def counts(self, count: np.ndarray) -> np.ndarray:
        """Return float64[n_nodes]: how many rows (``count`` per object) come by each node, by their
        shares.
        """
        return sum_subtrees(
            np.bincount(self.node, count[self.who] * self.share, self.tree.n_nodes), self.tree
        )

    def rounding(self, objects: Encoded) -> float:
        """Return how far two orders of adding up a node's weights may lie apart, over the sum of
        their absolute values.

        Twice m·ε for m terms, also the rows that objects were added up of before; a share is a
        product of as many quotients as its path is long, each of sums that are as far off.
        """
        terms = 2 * max(len(self.node), int(objects.count.sum())) * EPS
        return terms * (1 + 2 * int(self.tree.depth_of.max())) if self.split else terms


def sum_subtrees(own: np.ndarray, tree: Tree) -> np.ndarray:
    """Return the sums over subtrees of what each node has itself.

    own : float64[n_nodes] or [n_nodes, k].
    """
    total = own.astype(np.float64)
    # children after their parents
    for node, above in zip(
        range(tree.n_nodes - 1, 0, -1), tree.parent[:0:-1].tolist(), strict=True
    ):
        total[above] += total[node]
    return total
