"""Subtree raising: what the kernel needs of a tree and its rows, and the tree that comes of what
it answers.
"""

from collections.abc import Iterator

import attrs
import numpy as np

from arboretum.api import (
    MISSING,
    NO_OUTCOME,
    Bins,
    CapabilityError,
    Column,
    Equals,
    Table,
    TestRule,
    Threshold,
    Tree,
)
from arboretum_classic.pruning.kernels import Limit, Nodes, Shape, Tests, prune_and_raise

LEAF = -1


def raise_subtrees(tree: Tree, train: Table, limit: Limit, margin: float) -> Tree:
    """Return the tree pruned by the estimate, the given one itself where nothing is.

    limit : the confidence of the estimate.
    margin : errors by which a leaf or a branch may be worse.

    Raises CapabilityError for a tree of fuzzy tests, and where the rows are not those whose classes
    it counts.
    """
    refuse_other_rows(tree, train)
    n, spare = tree.n_nodes, tree.n_nodes + len(tree.child)
    child = tree.child.astype(np.int64)
    nodes = Nodes._make(
        [
            np.full(spare, LEAF),
            np.zeros((spare, len(tree.classes))),
            *np.zeros((2, spare)),
            np.zeros(spare, np.int64),
            *np.zeros((3, spare), np.bool_),
            *np.zeros((2, len(child)), np.int64),
            np.zeros(len(child)),
        ]
    )
    nodes.origin[:n] = np.where(tree.is_leaf, LEAF, np.arange(n))
    label, weight = train.target.codes.astype(np.int32), np.asarray(train.row_weights(), float)
    tests = rules_for_kernel(tree, train)
    nodes.weights[:n] = tree.weights
    nodes.split[:n] = np.isnan(tests.numbers).any() or (tests.codes < 0).any()
    prune_and_raise(label, weight, tests, arrays_of_tree(tree), nodes, child, limit, margin)
    return rebuild_tree(tree, nodes, child)


def refuse_other_rows(tree: Tree, train: Table) -> None:
    """Raise CapabilityError unless the tree's class weights are those of the rows, and each row
    goes down one branch.
    """
    way = "say pruner.raising=false"
    for rule in tree.rules:
        if rule.fuzzy:
            raise CapabilityError(
                f"subtree raising sends rows down other branches, and {rule.describe()!r} "
                f"sends them in shares; {way}"
            )
    own = np.bincount(train.target.codes, train.row_weights(), len(tree.classes))
    if not np.allclose(own, tree.weights[0], rtol=1e-9):
        reported = (
            f"the rows weigh {own.tolist()} by class, the tree counts {tree.weights[0].tolist()}"
        )
        raise CapabilityError(
            f"subtree raising counts rows anew, but {reported}: rows were merged under one "
            f"class, left out, or weighed by an objective; {way}"
        )


def arrays_of_tree(tree: Tree) -> Shape:
    """Return the nodes and surrogates of a tree, for the kernel."""
    each = tree.surrogates
    start = np.searchsorted([one.node for one in each], np.arange(tree.n_nodes + 1))
    stands = [one.to for one in each]
    return Shape(
        tree.test.astype(np.int64),
        tree.child_offset.astype(np.int64),
        tree.child.astype(np.int64),
        tree.missing_child.astype(np.int64),
        start.astype(np.int64),
        np.array([one.rule for one in each], np.int64),
        to_start=np.cumsum([0, *map(len, stands)]),
        to=np.array([k for to in stands for k in to], np.int64),
    )


@attrs.define(eq=False)
class RuleTables:
    """Rules as tables over columns of numbers and of codes; each column that a rule reads is kept
    once.

    A rule of another sort (several columns, or a plugin's own on a number) is asked of all rows,
    and its outcomes are a column.
    """

    table: Table
    numbers: list[np.ndarray] = attrs.field(factory=list)
    codes: list[np.ndarray] = attrs.field(factory=list)
    place: dict[str, int] = attrs.field(factory=dict)
    probes: dict[str, Table] = attrs.field(factory=dict)

    def of(self, rule: TestRule) -> tuple[bool, int, tuple[float, ...], np.ndarray]:
        """Return (whether the rule reads codes, number of the column, edges, outcomes by bin or
        code and of a missing value).
        """
        column = self.table.column(rule.columns[0])
        if len(rule.columns) > 1 or (
            column.is_continuous and not isinstance(rule, Threshold | Bins | Equals)
        ):
            self.codes.append(rule.outcomes(self.table, np.arange(self.table.n_rows)))
            return True, len(self.codes) - 1, (), np.append(np.arange(rule.arity), NO_OUTCOME)
        number = self._place(column)
        if not column.is_continuous:
            return (
                True,
                number,
                (),
                rule.outcomes(self.probes[column.name], np.arange(len(column.categories) + 1)),
            )
        if isinstance(rule, Threshold):
            return False, number, (rule.threshold,), np.array([0, 1, NO_OUTCOME])
        if isinstance(rule, Bins):
            bins = np.arange(len(rule.edges) + 1)
            last = len(bins) if rule.missing_outcome else NO_OUTCOME
            return False, number, rule.edges, np.append(bins, last)
        return False, number, (), np.array([1, 0])  # whether it is missing

    def _place(self, column: Column) -> int:
        """Return the number of a column among those of its sort, which it joins."""
        if column.name not in self.place:
            kept = self.numbers if column.is_continuous else self.codes
            self.place[column.name] = len(kept)
            kept.append(column.values)
            if not column.is_continuous:  # a row of each category, and one without
                every = attrs.evolve(
                    column, values=np.append(np.arange(len(column.categories)), MISSING)
                )
                target = attrs.evolve(
                    self.table.target, codes=np.zeros(len(every.values), np.int32)
                )
                self.probes[column.name] = Table("probe", (every,), target)
        return self.place[column.name]


def rules_for_kernel(tree: Tree, table: Table) -> Tests:
    """Return the rules of a tree and the columns that they read, for the kernel."""
    known = RuleTables(table)
    coded, column, edges, outcome = (
        zip(*map(known.of, tree.rules), strict=True) if tree.rules else ((), (), (), ())
    )

    def by_row(columns: list[np.ndarray], dtype: type) -> np.ndarray:
        """Return [rows, columns]: a row's values lie together, since it is asked one column after
        another on its way down.
        """
        return (
            np.array(columns, dtype).reshape(len(columns), -1).T.copy()
            if columns
            else np.zeros((0, 0), dtype)
        )

    return Tests(
        np.array(coded, np.bool_),
        np.array(column, np.int64),
        np.cumsum([0, *map(len, edges)]),
        np.array([e for some in edges for e in some], float),
        np.cumsum([0, *map(len, outcome)]),
        np.concatenate([*outcome, np.zeros(0, np.int64)]).astype(np.int64),
        numbers=by_row(known.numbers, float),
        codes=by_row(known.codes, np.int32),
    )


def rebuild_tree(tree: Tree, nodes: Nodes, child: np.ndarray) -> Tree:
    """Return the tree that is left.

    nodes : Nodes, as the kernel left them: ``origin`` is the node of ``tree`` whose test is asked,
        −1 at a leaf.
    child : int64[edges], by edge of ``tree`` the node it leads to now, −1 for none.

    A node whose rows are others than before has no impurity, and neither it nor one that asks
    another test has a score: only the run knows how they are measured.  A column that was paid for
    above and is asked no more is paid where it is asked first.
    """
    kept = np.array(list(_preorder(tree, nodes.origin, child)), np.int64)
    origin, moved = nodes.origin[kept], nodes.moved[kept]
    inner = origin >= 0
    if (
        (kept == np.arange(tree.n_nodes)[: len(kept)]).all()
        and len(kept) == tree.n_nodes
        and (inner == ~tree.is_leaf).all()
    ):
        return tree
    asked = np.where(inner, origin, 0)
    arity = np.where(inner, np.diff(tree.child_offset)[asked], 0)
    offset = np.concatenate([[0], np.cumsum(arity)])
    edge = np.repeat(tree.child_offset[asked] - offset[:-1], arity) + np.arange(offset[-1])
    number = np.full(len(nodes.origin) + 1, LEAF)
    number[kept] = np.arange(len(kept))
    at = {int(node): place for place, node in enumerate(origin) if node >= 0}
    surrogates = sorted(
        (one for one in tree.surrogates if one.node in at), key=lambda one: at[one.node]
    )
    used = np.unique([*tree.test[origin[inner]], *(one.rule for one in surrogates)]).astype(
        np.int64
    )
    place = np.full(len(tree.rules) + 1, LEAF)
    place[used] = np.arange(len(used))
    before = np.minimum(kept, tree.n_nodes - 1)

    def reported(name: str, now: np.ndarray | float, changed: np.ndarray) -> np.ndarray:
        """Return an array of the tree by the nodes that are left, with what changed.

        now : the new values; changed : bool[kept], where they count.
        """
        own = getattr(tree, name)[before]
        return np.where(changed.reshape(-1, *[1] * (own.ndim - 1)), now, own)

    price = _prices_paid(tree, origin, number[child[edge]], offset)
    free = np.where(inner, tree.price[asked], 0.0) < price  # it was
    return attrs.evolve(
        tree,
        rules=tuple(tree.rules[rule] for rule in used),
        test=np.where(inner, place[tree.test[asked]], LEAF),
        child_offset=offset,
        child=number[child[edge]],
        missing_child=np.where(inner, tree.missing_child[asked], LEAF),
        weights=reported("weights", nodes.weights[kept], moved),
        counts=reported("counts", nodes.rows[kept], moved),
        label=reported("label", nodes.weights[kept].argmax(axis=1), moved),
        value=np.full(len(kept), np.nan),
        price=price,
        impurity=reported("impurity", np.nan, moved),
        score=reported("score", np.nan, moved | (origin != kept)),
        surrogates=tuple(
            attrs.evolve(one, node=at[one.node], rule=int(place[one.rule])) for one in surrogates
        ),
        branch_price=None
        if tree.branch_price is None
        else np.where(np.repeat(free, arity), np.repeat(price, arity), tree.edge_price[edge]),
    )


def _prices_paid(
    tree: Tree, origin: np.ndarray, child: np.ndarray, offset: np.ndarray
) -> np.ndarray:
    """Return float64[len(origin)], the price of each node: a column may cost once on a path; where
    the test that paid is gone, the first that is left pays the same.

    origin : int64[n], node of ``tree`` whose test each asks, −1 at a leaf.
    child : int64[edges], the nodes below, those of node v from ``offset[v]`` on, −1 for none.
    """
    price, parent = np.where(origin >= 0, tree.price[origin], 0.0), np.full(len(origin), -1)
    edges = np.flatnonzero(child >= 0)
    parent[child[edges]] = np.repeat(np.arange(len(origin)), np.diff(offset))[edges]
    columns = [() if rule < 0 else tree.rules[rule].columns for rule in tree.test.tolist()]

    def paid(
        node: int, above: np.ndarray, asks: np.ndarray, of: np.ndarray, names: tuple[str, ...]
    ) -> float:
        """Return what the nearest node above paid for the columns, 0 if none did.

        above : parent of each node; asks : the node of ``tree`` whose test it asks; of : its price.
        """
        while (node := int(above[node])) >= 0:
            if of[node] > 0.0 and columns[asks[node]] == names:
                return float(of[node])
        return 0.0

    for node in np.flatnonzero((origin >= 0) & (price == 0.0)).tolist():  # from the root down
        names = columns[origin[node]]
        if not paid(node, parent, origin, price, names):
            price[node] = paid(
                int(origin[node]), tree.parent, np.arange(tree.n_nodes), tree.price, names
            )
    return price


def _preorder(tree: Tree, origin: np.ndarray, child: np.ndarray) -> Iterator[int]:
    """Yield the nodes that are left, in preorder.

    origin, child : as :func:`rebuild_tree` has them of the kernel.
    """
    stack, start, below, asks = [0], tree.child_offset.tolist(), child.tolist(), origin.tolist()
    while stack:
        node = stack.pop()
        yield node
        if (asked := asks[node]) >= 0:
            stack += [one for one in reversed(below[start[asked] : start[asked + 1]]) if one >= 0]
