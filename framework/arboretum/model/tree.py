"""The tree: one frozen, array-based value for greedy, exact, pruned and hand-made trees alike.

Nodes are numbered in depth-first preorder: the root is 0, and a child's number is larger than its
parent's.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from os import PathLike
from typing import Any

import attrs
import numpy as np

import arboretum
from arboretum.errors import ContractError, DataError
from arboretum.model import steps, walk
from arboretum.model.digits import digits_of, with_digits
from arboretum.model.invariants import check_numbers, check_tree
from arboretum.model.plain import Facts
from arboretum.model.reading import (
    OBJECTS,
    built,
    document,
    plain_array,
    read_array,
    refuse_misfits,
)
from arboretum.model.rules import TestRule, rules_from_json
from arboretum.model.table import (
    ColumnSpec,
    HasTask,
    Table,
    Task,
    array_field,
    frozen_array,
)
from arboretum.model.walk import Places

LEAF = -1
NO_CHILD = -1
# a row without an outcome is predicted by the node itself (rpart; also any value never seen in
# training)
MISSING_STOPS = walk.STOPS
# a row without an outcome goes down every branch, in proportion to the branches' weights (C4.5)
MISSING_SPLITS = walk.SPLITS

SCHEMA = "arboretum.tree/2"
READS = ("arboretum.tree/1", SCHEMA)
"""Schema 1 has no surrogates and no prices of branches, and counts a row that is split once in
every branch.
"""


@attrs.frozen
class Surrogate:
    """A test that stands in for a node's own where a row has no value for that (Breiman et al.
    1984, section 5.3).

    node : the inner node.
    rule : index into the tree's ``rules``.
    to : for each of its outcomes, that of the node's test it stands for, −1 for none.
    """

    node: int
    rule: int
    to: tuple[int, ...]


@attrs.frozen(eq=False, repr=False)
class Tree(HasTask):
    """A decision tree.

    columns : the raw columns of the training table, in order.
    classes : class names (classification), empty for regression.
    rules : the distinct tests used.
    test : int32[n_nodes], index into ``rules``; −1 at a leaf.
    child_offset : int64[n_nodes + 1]; the children of node v are
        ``child[child_offset[v]:child_offset[v + 1]]``, one per outcome of its test.
    child : int32[n_edges], node number, or −1 for an outcome that no training object had.
    missing_child : int32[n_nodes], the outcome that a row without one follows, or MISSING_STOPS, or
        MISSING_SPLITS.
    weights : float64[n_nodes, n_classes], class weights of the training objects; for regression the
        moments (Σw, Σwy, Σwy²).
    counts : float64[n_nodes], number of training rows that come by; of a row in shares, its share.
    label : int32[n_nodes], the class predicted (the heaviest, or of least loss by what a solver
        minimised; ties: smallest index); zeros for regression.
    value : float64[n_nodes], the number predicted (regression); NaN for classification, or of two
        classes the share of the second that is predicted in place of that of the weights.
    price : float64[n_nodes], what asking the node's test costs on its path (the most, where
        branches differ, and what a row pays that stops there); 0 at a leaf.
    impurity : float64[n_nodes], by the impurity the tree was grown with; NaN if it had none.
    score : float64[n_nodes], the criterion's score of the chosen test; NaN at a leaf.
    surrogates : ordered by node, and at a node in the order in which they are asked.  A row that
        none of them knows follows ``missing_child``.
    branch_price : float64[n_edges], at most the node's price: what a row pays that takes the
        branch; None: that price.
    prior : what is added to the weight of every class where shares are predicted (1: Laplace's
        rule).
    exponent : the moments are of the targets over 2^exponent; 0 unless their squares would be no
        numbers.

    A row is in several nodes in shares where ``missing_child`` or a test that gives degrees
    (``TestRule.fuzzy``) splits it.

    Two trees are equal when all fields are, NaN equal to NaN; equal trees have equal hashes.

    Raises ContractError when the arrays do not form one tree (:mod:`arboretum.model.invariants`).
    """

    task: Task
    columns: tuple[ColumnSpec, ...]
    classes: tuple[str, ...]
    rules: tuple[TestRule, ...]
    test: np.ndarray = array_field(np.int32)
    child_offset: np.ndarray = array_field(np.int64)
    child: np.ndarray = array_field(np.int32)
    missing_child: np.ndarray = array_field(np.int32)
    weights: np.ndarray = array_field(np.float64)
    counts: np.ndarray = array_field(np.float64)
    label: np.ndarray = array_field(np.int32)
    value: np.ndarray = array_field(np.float64)
    price: np.ndarray = array_field(np.float64)
    impurity: np.ndarray = array_field(np.float64)
    score: np.ndarray = array_field(np.float64)
    surrogates: tuple[Surrogate, ...] = ()
    branch_price: np.ndarray | None = array_field(np.float64, default=None)
    prior: float = 0.0
    exponent: int = 0

    def __attrs_post_init__(self) -> None:
        check_tree(self)

    def __eq__(self, other: object) -> bool:
        """By all fields, NaN equal to NaN; prices of branches that all cost their node's count as
        none.
        """
        if not isinstance(other, Tree):
            return NotImplemented
        return self is other or (
            all(getattr(self, name) == getattr(other, name) for name in _VALUES)
            and np.array_equal(self.edge_price, other.edge_price)
            and all(
                np.array_equal(
                    getattr(self, name), getattr(other, name), equal_nan=dtype is np.float64
                )
                for name, dtype in _ARRAYS.items()
            )
        )

    def __hash__(self) -> int:
        # the shape tells most trees apart; floats are left out, since 0.0 and -0.0 are equal with
        # different bytes
        return hash((self.task, self.classes, self.test.tobytes(), self.child.tobytes()))

    def __repr__(self) -> str:
        target = f"{len(self.classes)} classes" if self.is_classification else "regression"
        depth = int(self.depth_of.max())
        return (
            f"Tree({target}, {len(self.columns)} columns: {self.n_nodes} nodes, {self.n_leaves} "
            f"leaves, depth {depth})"
        )

    # -- shape -------------------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves among them."""
        return len(self.test)

    @cached_property
    def is_leaf(self) -> np.ndarray:
        """bool[n_nodes]."""
        return frozen_array(self.test == LEAF, np.bool_)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self.is_leaf.sum())

    @cached_property
    def inner(self) -> np.ndarray:
        """int64[n_nodes − n_leaves]: the nodes that ask a test, ascending."""
        return frozen_array(np.flatnonzero(~self.is_leaf), np.int64)

    @cached_property
    def is_end(self) -> np.ndarray:
        """bool[n_nodes]: where training rows come to rest: a leaf, or an inner node at which
        rows without an outcome stop, which costs as much.
        """
        return frozen_array(self.is_leaf | walk.keeps_rows(self), np.bool_)

    @cached_property
    def resting(self) -> np.ndarray:
        """float64[n_nodes, n_classes], or moments: weights of the training objects that come to
        rest at each node; 0 where it is no end.
        """
        rest = self.weights.copy()
        if (self.is_end > self.is_leaf).any():
            np.subtract.at(rest, self.parent[1:], self.weights[1:])
        # what rounding leaves
        rest = np.maximum(rest, 0.0) if self.is_classification else rest
        return frozen_array(np.where(self.is_end[:, None], rest, 0.0), np.float64)

    @cached_property
    def mass(self) -> np.ndarray:
        """float64[n_nodes]: weight of the training objects in each node."""
        return frozen_array(
            self.weights.sum(axis=1) if self.is_classification else self.weights[:, 0],
            np.float64,
        )

    def children(self, node: int) -> np.ndarray:
        """Return int32[arity]: the children of a node, −1 for an outcome without one; empty at a
        leaf.
        """
        return self.child[self.child_offset[node] : self.child_offset[node + 1]]

    def rule(self, node: int) -> TestRule:
        """Return the test of an inner node."""
        return self.rules[int(self.test[node])]

    @cached_property
    def owner(self) -> np.ndarray:
        """int32[n_edges]: the inner node that each branch belongs to."""
        offset = self.child_offset
        return frozen_array(np.repeat(np.arange(self.n_nodes), offset[1:] - offset[:-1]), np.int32)

    @cached_property
    def edge_to(self) -> np.ndarray:
        """int64[n_nodes]: the branch that leads to each node (position in ``child``), −1 at the
        root.
        """
        edge, present = np.full(self.n_nodes, -1), np.flatnonzero(self.child >= 0)
        edge[self.child[present]] = present
        return frozen_array(edge, np.int64)

    @cached_property
    def parent(self) -> np.ndarray:
        """int32[n_nodes]: the parent of each node, −1 at the root."""
        parent, present = np.full(self.n_nodes, NO_CHILD, np.int32), self.child >= 0
        parent[self.child[present]] = self.owner[present]
        return frozen_array(parent)

    @property
    def edge_price(self) -> np.ndarray:
        """float64[n_edges]: what a row pays that takes each branch."""
        return self.price[self.owner] if self.branch_price is None else self.branch_price

    @cached_property
    def subtree_end(self) -> np.ndarray:
        """int64[n_nodes]: the subtree of node v are the nodes v … end[v] − 1 (nodes are numbered
        in preorder).
        """
        end, parent = list(range(1, self.n_nodes + 1)), self.parent.tolist()
        # a child comes after its parent, and a later child ends later
        for node in range(len(end) - 1, 0, -1):
            end[parent[node]] = max(end[parent[node]], end[node])
        return frozen_array(end, np.int64)

    @cached_property
    def depth_of(self) -> np.ndarray:
        """int64[n_nodes]: number of tests asked before the node is reached."""
        return frozen_array(self._sum_to(np.ones(len(self.child), np.int64)), np.int64)

    @property
    def price_to(self) -> np.ndarray:
        """float64[n_nodes]: price of all tests asked before the node is reached, by the branches
        taken.
        """
        return self._sum_to(self.edge_price)

    def _sum_to(self, amount: np.ndarray) -> np.ndarray:
        """Return, per node, the sum of ``amount`` over the branches that lead to it."""
        parent, step = self.parent.tolist(), amount[self.edge_to[1:]].tolist()
        total = [amount.dtype.type(0).item()] * len(parent)
        for node in range(1, len(parent)):  # a parent comes before its children
            total[node] = total[parent[node]] + step[node - 1]
        return np.array(total, amount.dtype)

    def path(self, node: int) -> list[tuple[int, int]]:
        """Return the (inner node, outcome) pairs from the root to ``node``."""
        steps = []
        while node != 0:
            edge, node = int(self.edge_to[node]), int(self.parent[node])
            steps.append((node, edge - int(self.child_offset[node])))
        return steps[::-1]

    # -- cutting back: subtrees become leaves, and everything else stays what it is ----------------

    def nearest_kept(self, nodes: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return int64[n_nodes]: the node at which a row that came to rest at each node rests once
        ``nodes`` are leaves.

        That is the first of ``nodes`` on the path from the root, or the node itself where none lies
        on it.
        Raises ContractError for a number that is no node.
        """
        marked = self._mark_nodes(nodes).tolist()
        parent, kept = self.parent.tolist(), list(range(self.n_nodes))
        for node in range(1, len(kept)):  # a parent comes before its children
            above = parent[node]
            if marked[above] or kept[above] != above:
                kept[node] = kept[above]
        return np.array(kept, np.int64)

    def cut(self, nodes: Sequence[int] | np.ndarray) -> Tree:
        """Return the tree with ``nodes`` (int[k], any; one below another has no effect) made
        leaves, the given one itself where all of them are.

        What stands keeps its weights, counts, label, value and impurity; a new leaf asks nothing,
        so its price is 0 and its score NaN.  Rules that nobody asks any more are dropped.  Raises
        ContractError for a number that is no node.
        """
        marked = self._mark_nodes(nodes)
        if not (marked & ~self.is_leaf).any():
            return self
        stands = self.nearest_kept(nodes) == np.arange(self.n_nodes)
        return self.keep(stands, stands & ~marked & ~self.is_leaf)

    def keep(self, kept: np.ndarray, inner: np.ndarray) -> Tree:
        """Return the tree of the nodes kept, bool[n_nodes] (the root, and nothing below a
        node that goes), where those of ``inner``, bool[n_nodes], ask their tests still and the
        others are leaves; an outcome whose child goes has no branch.  Numbers stay, as in
        :meth:`cut`.
        """
        arity = np.diff(self.child_offset)
        edges = inner[self.owner]
        child = self.child[edges]
        number = np.cumsum(kept) - 1
        surrogates = [one for one in self.surrogates if inner[one.node]]
        used = np.unique([*self.test[inner], *(one.rule for one in surrogates)]).astype(np.int64)
        place = np.full(len(self.rules) + 1, LEAF)
        place[used] = np.arange(len(used))
        numbers = {
            name: getattr(self, name)[kept]
            for name in ("weights", "counts", "label", "value", "impurity")
        }
        return attrs.evolve(
            self,
            rules=tuple(self.rules[rule] for rule in used),
            test=np.where(inner, place[self.test], LEAF)[kept],
            child_offset=np.concatenate([[0], np.cumsum(np.where(inner, arity, 0)[kept])]),
            child=np.where((child >= 0) & kept[child], number[child], NO_CHILD),
            missing_child=np.where(inner, self.missing_child, MISSING_STOPS)[kept],
            price=np.where(inner, self.price, 0.0)[kept],
            score=np.where(inner, self.score, np.nan)[kept],
            surrogates=tuple(
                attrs.evolve(one, node=int(number[one.node]), rule=int(place[one.rule]))
                for one in surrogates
            ),
            branch_price=None if self.branch_price is None else self.branch_price[edges],
            **numbers,
        )

    def _mark_nodes(self, nodes: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return bool[n_nodes]: True for these nodes.  Raises ContractError for what is no node."""
        numbers = np.asarray(nodes, np.int64).reshape(-1)
        wrong = numbers[(numbers < 0) | (numbers >= self.n_nodes)]
        if len(wrong):
            raise ContractError(
                f"a tree is cut at its nodes, 0 to {self.n_nodes - 1}; got {int(wrong[0])}"
            )
        marked = np.zeros(self.n_nodes, bool)
        marked[numbers] = True
        return marked

    # -- use ---------------------------------------------------------------------------------------

    def distribution(self) -> np.ndarray:
        """Return float64[n_nodes, n_classes]: class shares of each node, by ``prior``, or
        ``value`` where there is one (classification); its label where it is empty.
        """
        weights = self.weights + self.prior
        mass = weights.sum(axis=1)[:, None]
        alone = np.eye(len(self.classes))[self.label]
        shares = np.asarray(np.divide(weights, mass, out=alone, where=mass > 0))
        if (said := ~np.isnan(self.value)).any():
            shares[said] = np.column_stack([1 - self.value, self.value])[said]
        return shares

    def plain_impurity(self) -> np.ndarray:
        """Return float64[n_nodes]: gini or variance (over 4^``exponent``) of each node, whatever
        the tree was grown with.
        """
        mass = np.maximum(self.mass, np.finfo(np.float64).tiny)
        if self.is_classification:
            return np.asarray(1.0 - ((self.weights / mass[:, None]) ** 2).sum(axis=1))
        mean = self.weights[:, 1] / mass
        return np.asarray(np.maximum(self.weights[:, 2] / mass - mean**2, 0.0))

    def deviation(self) -> np.ndarray:
        """Return float64[n_nodes]: standard deviation of the target (regression)."""
        return np.asarray(np.ldexp(np.sqrt(self.plain_impurity()), self.exponent))

    def impurity_decrease(self) -> dict[str, float]:
        """Return column → Σ over the nodes that ask it of mass · impurity, minus the same of their
        children; as share of the mass.

        The impurity is :meth:`plain_impurity`, so that trees of different methods compare.  What
        stops at a node for want of an answer decreases nothing. Breiman, Friedman, Olshen & Stone
        (1984), section 5.3.4, without surrogates.
        """
        impurity, gain, parent = self.plain_impurity(), np.zeros(self.n_nodes), self.parent[1:]
        np.add.at(gain, parent, self.mass[1:] * (impurity[parent] - impurity[1:]))
        return self.by_column(np.maximum(gain, 0.0) / self.mass[0])

    def by_column(self, amount: np.ndarray) -> dict[str, float]:
        """Return column → sum of ``amount`` (float64[n_nodes]) over the nodes that ask it; several
        columns of a test share it equally.
        """
        found: dict[str, float] = {}
        for node in self.inner.tolist():
            for name in (columns := self.rule(node).columns):
                found[name] = found.get(name, 0.0) + float(amount[node]) / len(columns)
        return found

    def places(self, table: Table) -> Places:
        """Return where each row comes to rest, whole or in shares; what predicts or measures takes
        it, so that rows walk once.

        A row rests at a leaf, or at an inner node whose test has no branch for it.

        table : here and below, what is no Table (a frame, an array, mappings) is read by
            :func:`arboretum.api.table_like`.
        """
        if not isinstance(table, Table):
            # which reads trees
            table = import_module("arboretum.model.frame").table_like(self, table)
        return steps.fast_places(self, table)

    def rest(self, table: Table) -> np.ndarray:
        """Return int64[n_rows]: the node where each row comes to rest, −1 for a row that is split
        over several nodes.
        """
        return self.places(table).whole

    def apply(self, table: Table) -> np.ndarray:
        """Return int64[n_rows]: the node where each row comes to rest; raises DataError if rows are
        split over branches.
        """
        result = self.rest(table)
        if (result == walk.SPLIT_ROW).any():
            raise DataError(
                "this tree splits rows over several leaves; ask for predict_proba instead"
            )
        return result

    def predict_proba(self, table: Table, places: Places | None = None) -> np.ndarray:
        """Return float64[n_rows, n_classes]: class shares (classification).

        places : from :meth:`places`, where they are known.

        Raises DataError for a tree of numbers.
        """
        if self.is_regression:
            raise DataError("predict_proba needs classes; this tree predicts numbers: call predict")
        return (places or self.places(table)).average_over_shares(self.distribution())

    def predict(self, table: Table, places: Places | None = None) -> np.ndarray:
        """Predict each row: int32[n_rows] class indices, or float64[n_rows] numbers.

        places : from :meth:`places`.

        A row gets the label of the node where it rests; a row that is split over several gets the
        class with the largest share (ties: smallest index).
        """
        places = places or self.places(table)
        if self.is_regression:
            return places.average_over_shares(self.value)
        result: np.ndarray = self.label[places.whole]
        if len(places.row):
            result[places.row] = places.average_over_shares(self.distribution())[places.row].argmax(
                axis=1
            )
        return result

    def prices_paid(self, table: Table, places: Places | None = None) -> np.ndarray:
        """Return float64[n_rows]: what each row pays for the tests on its path (a test without an
        answer is paid, too).
        """
        return (places or self.places(table)).average_over_shares(self.price_to + self.price)

    def tests_asked(self, table: Table, places: Places | None = None) -> np.ndarray:
        """Return float64[n_rows]: number of tests on each row's path (a test without an answer is
        counted, too).
        """
        return (places or self.places(table)).average_over_shares(
            self.depth_of + np.where(self.is_leaf, 0.0, 1.0)
        )

    # -- storage -----------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return the tree as JSON text; docs/reference/tree-json.md describes the schema."""
        data: Facts = {
            "schema": SCHEMA,
            "task": self.task.value,
            "classes": list(self.classes),
            "columns": [column.to_json() for column in self.columns],
            "rules": [rule.to_json() for rule in self.rules],
            **{name: plain_array(getattr(self, name)) for name in _ARRAYS},
        }
        if (self.counts == np.rint(self.counts)).all():  # as schema 1 wrote them
            data["counts"] = self.counts.astype(np.int64).tolist()
        surrogates = [attrs.asdict(one) for one in self.surrogates]
        more = {
            "digits": digits_of(self.rules),
            "surrogates": surrogates,
            "prior": self.prior,
            "exponent": self.exponent,
        }
        data |= {name: value for name, value in more.items() if value}
        if self.branch_price is not None:
            data["branch_price"] = self.branch_price.tolist()
        return json.dumps(data, ensure_ascii=False, allow_nan=False)

    @staticmethod
    def from_json(text: str | Facts) -> Tree:
        """Rebuild a tree from JSON, or from what it was read as; raises DataError when that is no
        tree.
        """
        try:
            data = document(text, *READS)
        except ValueError as error:
            raise DataError(
                f"not a tree of this version: {error}; expected the JSON that Tree.to_json writes"
            ) from None
        missing = sorted({"task", "classes", "columns", "rules", *_ARRAYS} - set(data))
        if missing:
            raise DataError(f"not a tree: {', '.join(missing)} absent; was the file cut short?")
        try:
            refuse_misfits(
                data,
                {
                    "classes": list[str],
                    "columns": OBJECTS,
                    "rules": OBJECTS,
                    "surrogates": OBJECTS,
                    "digits": list[int],
                },
            )
            tree = Tree(
                task=Task(data["task"]),
                columns=tuple(built(ColumnSpec, column) for column in data["columns"]),
                classes=tuple(data["classes"]),
                rules=with_digits(rules_from_json(data["rules"]), data),
                **{name: read_array(name, data[name], dtype) for name, dtype in _ARRAYS.items()},
                surrogates=tuple(built(Surrogate, one) for one in data.get("surrogates", ())),
                branch_price=read_array("branch_price", data["branch_price"], np.float64)
                if "branch_price" in data
                else None,
                prior=float(data.get("prior", 0.0)),
                exponent=int(data.get("exponent", 0)),
            )
            for rule in tree.rules:  # of whatever plugin: it can be read aloud
                for outcome in range(rule.arity):
                    rule.outcome_label(outcome)
            check_numbers(tree)
            return tree
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            raise DataError(f"not a tree: {kind}{error}") from None
        except ContractError as error:
            raise DataError(str(error)) from None

    # -- pictures and exports (functions of other rooms, which the package finds) ------------------

    def to_text(self, **options: object) -> str:
        """Return the tree as indented text; options of :func:`arboretum.report.text.tree_text`."""
        text: str = arboretum.tree_text(self, **options)
        return text

    def to_svg(self, **options: object) -> str:
        """Return the tree as an SVG document; options of
        :func:`arboretum.report.picture.tree_scene`.
        """
        text: str = arboretum.tree_scene(self, **options).svg()
        return text

    def _repr_svg_(self) -> str:
        """Return what a notebook shows."""
        return self.to_svg()

    def to_png(self, path: str | PathLike[str] | None = None, **options: object) -> bytes:
        """Return the bytes of a PNG file, also written to ``path`` if there is one, by the
        installed export of that name and its options.
        """
        picture: bytes = arboretum.exported(self, "png", path, **options)
        return picture

    def to_graphviz(self, **options: object) -> str:
        """Return the tree in the DOT language, by the installed export of that name and its
        options.
        """
        text: str = arboretum.exported(self, "graphviz", **options)
        return text

    def to_sql(self) -> str:
        """Return the prediction as an SQL CASE expression, by the installed export of that name."""
        text: str = arboretum.exported(self, "sql")
        return text

    def to_sklearn(self) -> Any:
        """Return a fitted scikit-learn tree with the same predictions, by the installed export of
        that name.
        """
        return pickle.loads(arboretum.exported(self, "sklearn"))


_VALUES = ("task", "columns", "classes", "rules", "surrogates", "prior", "exponent")
_ARRAYS = {
    field.name: field.metadata["dtype"]
    for field in attrs.fields(Tree)
    if field.metadata and field.default is attrs.NOTHING
}
"""Array that every tree has → type of its numbers."""


def single_leaf(table: Table) -> Tree:
    """Return the tree that asks nothing: one leaf with all rows of a table."""
    target, weights = table.target, table.row_weights()
    if target.is_classification:
        moments = np.bincount(target.codes, weights, len(target.classes))
        value = np.nan
    else:
        moments = np.array(
            [weights.sum(), (weights * target.values).sum(), (weights * target.values**2).sum()]
        )
        value = moments[1] / moments[0]
    node: Facts = {
        "test": [LEAF],
        "child_offset": [0, 0],
        "child": [],
        "missing_child": [MISSING_STOPS],
        "counts": [table.n_rows],
        "label": [moments.argmax() if target.is_classification else 0],
        "value": [value],
        "price": [0.0],
        "impurity": [np.nan],
        "score": [np.nan],
    }
    return Tree(
        task=target.task,
        columns=tuple(column.spec for column in table.columns),
        classes=target.classes,
        rules=(),
        weights=moments[None],
        **node,
    )
