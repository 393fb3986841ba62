"""What makes arrays a tree: the conditions that :class:`~arboretum.model.tree.Tree` checks when it is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arboretum.errors import ContractError
from arboretum.model.table import Task

if TYPE_CHECKING:
    from arboretum.model.tree import Tree


def check_tree(tree: Tree) -> None:
    """Raise ContractError unless the arrays form one tree in depth-first preorder.

    Costs one pass over the nodes: about 10 ms for 30,000 of them, of which most is the preorder walk.
    """
    _check_shapes(tree)
    _check_tests(tree)
    _check_children(tree)
    _check_surrogates(tree)
    _check_preorder(tree)


def check_numbers(tree: Tree) -> None:
    """Raise ContractError where names come twice or numbers cannot be what they say: what only a file from elsewhere does."""
    for what, names in (("classes", tree.classes), ("columns", [column.name for column in tree.columns])):
        if len(set(names)) < len(names):
            _refuse(f"{what} must be distinct; {next(name for name in names if list(names).count(name) > 1)!r} comes twice")
    if (tree.counts < 0).any():
        _refuse(f"counts must be ≥ 0; got {tree.counts.min()}")
    positive = tree.weights if tree.task is Task.classification else tree.weights[:, ::2]  # Σwy may have either sign
    if not (np.isfinite(tree.weights).all() and (positive >= 0).all()):
        _refuse("weights must be finite and ≥ 0")
    if not (np.isfinite(tree.price) & (tree.price >= 0)).all():
        _refuse("price must be finite and ≥ 0")
    if not ((tree.edge_price >= 0) & (tree.edge_price <= tree.price[tree.owner])).all():
        _refuse("branch_price must lie between 0 and the price of its node")
    if tree.task is Task.regression and not np.isfinite(tree.value).all():
        _refuse("value must be finite")


def _refuse(what: str) -> None:
    raise ContractError(f"not a tree: {what}")


def _check_shapes(tree: Tree) -> None:
    n = tree.n_nodes
    if n == 0:
        _refuse("it has no node; a tree has at least a leaf")
    width = len(tree.classes) if tree.task is Task.classification else 3
    shapes = dict.fromkeys(("missing_child", "counts", "label", "value", "price", "impurity", "score"), (n,))
    shapes |= {"weights": (n, width), "child_offset": (n + 1,)}
    for name, shape in (shapes if tree.branch_price is None else shapes | {"branch_price": tree.child.shape}).items():
        if getattr(tree, name).shape != shape:
            _refuse(f"{name} has the shape {getattr(tree, name).shape}, expected {shape}")
    if tree.task is Task.classification and not ((tree.label >= 0) & (tree.label < width)).all():
        _refuse(f"label must lie between 0 and {width - 1}")


def _check_tests(tree: Tree) -> None:
    if not ((tree.test >= -1) & (tree.test < len(tree.rules))).all():
        _refuse(f"test must be -1 or below {len(tree.rules)}, the number of rules")
    known = {column.name for column in tree.columns}
    for rule in tree.rules:
        for name in rule.columns:
            if name not in known:
                _refuse(f"the test {rule.describe()!r} reads the column {name!r}, which the tree does not list")


def _check_children(tree: Tree) -> None:
    n, offset = tree.n_nodes, tree.child_offset
    # one slot more: a leaf's test −1 reads arity 0
    arity = np.array([*(rule.arity for rule in tree.rules), 0], np.int64)[tree.test]
    if offset[0] != 0 or offset[-1] != len(tree.child) or not (np.diff(offset) == arity).all():
        _refuse("child_offset must give every inner node one child slot per outcome of its test, and a leaf none")
    if not ((tree.missing_child >= -2) & (tree.missing_child < np.maximum(arity, 1))).all():
        _refuse("missing_child must be an outcome of the node's test, -1 (stops) or -2 (splits)")
    present = tree.child[tree.child >= 0]
    if len(present) != n - 1 or len(present) and not (np.bincount(present, minlength=n)[1:n] == 1).all():
        _refuse("every node but the root must be the child of exactly one node")
    if (tree.child < -1).any():
        _refuse("child must be a node's number, or -1 where an outcome has no branch")


def _check_surrogates(tree: Tree) -> None:
    n, rules, last = tree.n_nodes, tree.rules, 0
    for one in tree.surrogates:
        if not last <= one.node < n or tree.test[one.node] < 0 or not 0 <= one.rule < len(rules):
            _refuse(f"{one}: surrogates must name inner nodes, in their order, and rules of the tree")
        own, rule, last = rules[tree.test[one.node]], rules[one.rule], one.node
        if rule.fuzzy or len(one.to) != rule.arity or not all(-1 <= k < own.arity for k in one.to):
            _refuse(f"{one}: a surrogate gives no degrees, but for each of its outcomes one of the node's test, or -1")


def _check_preorder(tree: Tree) -> None:
    """A node's parent is the nearest node before it that is still open: walk with the stack of open nodes."""
    parent = tree.parent.tolist()
    path = [0]
    for node in range(1, len(parent)):
        while path and path[-1] != parent[node]:
            path.pop()
        if not path:
            _refuse(f"node {node} does not follow its parent {parent[node]} in depth-first preorder")
        path.append(node)
