"""The tree: one frozen, array-based value for greedy, exact, pruned and hand-made trees alike.

Nodes are numbered in depth-first preorder: the root is 0, and a child's number is larger than its parent's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import numpy as np

from arboretum.errors import DataError
from arboretum.model.rules import NO_OUTCOME, TestRule
from arboretum.model.table import ColumnKind, Table, Task, frozen_array

LEAF = -1
NO_CHILD = -1
MISSING_STOPS = -1
"""A row without an outcome is predicted by the node itself (rpart; also any value never seen in training)."""
MISSING_SPLITS = -2
"""A row without an outcome goes down every branch, in proportion to the branches' weights (C4.5)."""

SCHEMA = "arboretum.tree/1"


@attrs.frozen
class ColumnSpec:
    """What the tree must know of a raw column to read rows: its name, kind and categories."""

    name: str
    kind: ColumnKind
    categories: tuple[str, ...] = ()


@attrs.frozen(eq=False)
class Tree:
    """A decision tree.

    columns : the raw columns of the training table, in order.
    classes : class names (classification), empty for regression.
    rules : the distinct tests used.
    test : int32[n_nodes], index into ``rules``; −1 at a leaf.
    child_offset : int64[n_nodes + 1]; the children of node v are ``child[child_offset[v]:child_offset[v + 1]]``, one per
        outcome of its test.
    child : int32[n_edges], node number, or −1 for an outcome that no training object had.
    missing_child : int32[n_nodes], the outcome that a row without one follows, or MISSING_STOPS, or MISSING_SPLITS.
    weights : float64[n_nodes, n_classes], class weights of the training objects; for regression the moments
        (Σw, Σwy, Σwy²).
    counts : int64[n_nodes], number of training rows.
    label : int32[n_nodes], the class predicted (heaviest; ties: smallest index); zeros for regression.
    value : float64[n_nodes], the number predicted (regression), NaN for classification.
    price : float64[n_nodes], what asking the node's test costs on its path; 0 at a leaf.
    impurity : float64[n_nodes], by the impurity the tree was grown with; NaN if it had none.
    score : float64[n_nodes], the criterion's score of the chosen test; NaN at a leaf.
    """

    task: Task
    columns: tuple[ColumnSpec, ...]
    classes: tuple[str, ...]
    rules: tuple[TestRule, ...]
    test: np.ndarray
    child_offset: np.ndarray
    child: np.ndarray
    missing_child: np.ndarray
    weights: np.ndarray
    counts: np.ndarray
    label: np.ndarray
    value: np.ndarray
    price: np.ndarray
    impurity: np.ndarray
    score: np.ndarray

    def __attrs_post_init__(self) -> None:
        for name, dtype in _ARRAYS.items():
            object.__setattr__(self, name, frozen_array(getattr(self, name), dtype))

    # -- shape ---------------------------------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        return len(self.test)

    @property
    def is_leaf(self) -> np.ndarray:
        """bool[n_nodes]."""
        return self.test == LEAF

    @property
    def n_leaves(self) -> int:
        return int(self.is_leaf.sum())

    @property
    def mass(self) -> np.ndarray:
        """float64[n_nodes]: weight of the training objects in each node."""
        return self.weights.sum(axis=1) if self.task is Task.classification else self.weights[:, 0]

    def children(self, node: int) -> np.ndarray:
        """int32[arity]: the children of a node, −1 for an outcome without one; empty at a leaf."""
        return self.child[self.child_offset[node] : self.child_offset[node + 1]]

    def rule(self, node: int) -> TestRule:
        """The test of an inner node."""
        return self.rules[self.test[node]]

    @property
    def parent(self) -> np.ndarray:
        """int32[n_nodes]: the parent of each node, −1 at the root."""
        parent = np.full(self.n_nodes, NO_CHILD, np.int32)
        owner = np.repeat(np.arange(self.n_nodes, dtype=np.int32), np.diff(self.child_offset))
        present = self.child >= 0
        parent[self.child[present]] = owner[present]
        return parent

    @property
    def depth_of(self) -> np.ndarray:
        """int64[n_nodes]: number of tests asked before the node is reached."""
        depth = np.zeros(self.n_nodes, np.int64)
        for node, parent in enumerate(self.parent):
            if parent >= 0:
                depth[node] = depth[parent] + 1
        return depth

    @property
    def price_to(self) -> np.ndarray:
        """float64[n_nodes]: price of all tests asked before the node is reached."""
        total = np.zeros(self.n_nodes)
        for node, parent in enumerate(self.parent):
            if parent >= 0:
                total[node] = total[parent] + self.price[parent]
        return total

    def path(self, node: int) -> list[tuple[int, int]]:
        """The (inner node, outcome) pairs from the root to ``node``."""
        parent, steps = self.parent, []
        while node != 0:
            up = int(parent[node])
            steps.append((up, int(np.flatnonzero(self.children(up) == node)[0])))
            node = up
        return steps[::-1]

    # -- use -----------------------------------------------------------------------------------------------------

    def distribution(self) -> np.ndarray:
        """float64[n_nodes, n_classes]: class shares of each node (classification)."""
        return self.weights / self.mass[:, None]

    def flow(self, table: Table) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield (node, rows, shares) where rows of ``table`` come to rest.

        rows : int64[k]; shares : float64[k], 1 unless missing values are split over branches.  A row rests at a leaf, or
        at an inner node whose test has no branch for it.
        """
        stack = [(0, np.arange(table.n_rows), np.ones(table.n_rows))]
        while stack:
            node, rows, share = stack.pop()
            if len(rows) == 0:
                continue
            if self.test[node] == LEAF:
                yield node, rows, share
                continue
            outcome = self.rule(node).outcomes(table, rows)
            children = self.children(node)
            lost = outcome == NO_OUTCOME
            policy = int(self.missing_child[node])
            if lost.any() and policy >= 0:
                outcome[lost] = policy
                lost = np.zeros_like(lost)
            spread = lost if policy == MISSING_SPLITS else np.zeros_like(lost)
            known = self.mass[children[children >= 0]].sum()
            stays = lost & ~spread
            for k, child in enumerate(children):
                here = outcome == k
                if child < 0:
                    stays |= here
                    continue
                stack.append((int(child), rows[here], share[here]))
                if spread.any():
                    stack.append((int(child), rows[spread], share[spread] * (self.mass[child] / known)))
            if stays.any():
                yield node, rows[stays], share[stays]

    def apply(self, table: Table) -> np.ndarray:
        """int64[n_rows]: the node where each row comes to rest; raises DataError if rows are split over branches."""
        result = np.full(table.n_rows, -1, np.int64)
        for node, rows, share in self.flow(table):
            if (share < 1).any():
                msg = "this tree splits rows with missing values over several leaves; ask for predict_proba instead"
                raise DataError(msg)
            result[rows] = node
        return result

    def predict_proba(self, table: Table) -> np.ndarray:
        """float64[n_rows, n_classes]: class shares (classification)."""
        if self.task is Task.regression:
            msg = "predict_proba needs classes; this tree predicts numbers: call predict"
            raise DataError(msg)
        result, shares = np.zeros((table.n_rows, len(self.classes))), self.distribution()
        for node, rows, share in self.flow(table):
            result[rows] += share[:, None] * shares[node]
        return result

    def predict(self, table: Table) -> np.ndarray:
        """Predict each row: int32[n_rows] class indices (ties: smallest), or float64[n_rows] numbers."""
        if self.task is Task.regression:
            result = np.zeros(table.n_rows)
            for node, rows, share in self.flow(table):
                result[rows] += share * self.value[node]
            return result
        if (self.missing_child == MISSING_SPLITS).any():
            return self.predict_proba(table).argmax(axis=1).astype(np.int32)
        result = np.zeros(table.n_rows, np.int32)
        for node, rows, _ in self.flow(table):
            result[rows] = self.label[node]
        return result

    def prices_paid(self, table: Table) -> np.ndarray:
        """float64[n_rows]: what each row pays for the tests on its path (a test without an answer is paid, too)."""
        paid, total = np.zeros(table.n_rows), self.price_to
        for node, rows, share in self.flow(table):
            paid[rows] += share * (total[node] + self.price[node])
        return paid

    # -- storage -------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The tree as JSON text; docs/reference/tree-json.md describes the schema."""
        data: dict[str, Any] = {
            "schema": SCHEMA,
            "task": self.task.value,
            "classes": list(self.classes),
            "columns": [
                {"name": c.name, "kind": c.kind.value, "categories": list(c.categories)} for c in self.columns
            ],
            "rules": [rule.to_json() for rule in self.rules],
        }
        for name in _ARRAYS:
            array = getattr(self, name)
            # JSON has no NaN: it is written as null
            data[name] = np.where(np.isnan(array), None, array.astype(object)).tolist() if array.dtype.kind == "f" else array.tolist()
        return json.dumps(data, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Tree:
        """Rebuild a tree; raises DataError when the text is not one."""
        try:
            data: Mapping[str, Any] = json.loads(text)
        except ValueError as error:
            msg = f"not a tree: {error}; expected the JSON that Tree.to_json writes"
            raise DataError(msg) from None
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            found = data.get("schema") if isinstance(data, dict) else type(data).__name__
            msg = f"not a tree of this version: schema {found!r}, expected {SCHEMA!r}"
            raise DataError(msg)
        missing = sorted({"task", "classes", "columns", "rules", *_ARRAYS} - set(data))
        if missing:
            msg = f"not a tree: {', '.join(missing)} absent; was the file cut short?"
            raise DataError(msg)
        width = max(len(data["classes"]), 3 if data["task"] == "regression" else 1)
        arrays = {name: np.array(data[name], dtype=dtype) for name, dtype in _ARRAYS.items()}
        arrays["weights"] = arrays["weights"].reshape(len(data["test"]), width)
        return Tree(
            task=Task(data["task"]),
            columns=tuple(ColumnSpec(c["name"], ColumnKind(c["kind"]), tuple(c["categories"])) for c in data["columns"]),
            classes=tuple(data["classes"]),
            rules=tuple(TestRule.from_json(rule) for rule in data["rules"]),
            **arrays,
        )

    # -- pictures (arboretum.report does the work) --------------------------------------------------------------------

    def to_text(self, **options: Any) -> str:
        """The tree as indented text; options of :func:`arboretum.report.text.tree_text`."""
        from arboretum.report.text import tree_text

        return tree_text(self, **options)

    def to_svg(self, **options: Any) -> str:
        """The tree as an SVG document; options of :func:`arboretum.report.svg.tree_svg`."""
        from arboretum.report.svg import tree_svg

        return tree_svg(self, **options)

    def to_graphviz(self, **options: Any) -> str:
        """The tree in the DOT language; options of :func:`arboretum.report.graphviz.tree_dot`."""
        from arboretum.report.graphviz import tree_dot

        return tree_dot(self, **options)

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn tree with the same predictions; see :func:`arboretum.report.to_sklearn.to_sklearn`."""
        from arboretum.report.to_sklearn import to_sklearn

        return to_sklearn(self)


_ARRAYS: dict[str, type] = {
    "test": np.int32,
    "child_offset": np.int64,
    "child": np.int32,
    "missing_child": np.int32,
    "weights": np.float64,
    "counts": np.int64,
    "label": np.int32,
    "value": np.float64,
    "price": np.float64,
    "impurity": np.float64,
    "score": np.float64,
}
