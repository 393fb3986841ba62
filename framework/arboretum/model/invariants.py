"""What makes arrays a tree: the conditions that :class:`~arboretum.model.tree.Tree` checks when
it is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from arboretum.errors import ContractError

if TYPE_CHECKING:
    from arboretum.model.tree import Tree


def check_tree(tree: Tree) -> None:
    """Raise ContractError unless the arrays form one tree in depth-first preorder.

    Costs one pass over the nodes: about 15 ms for 30,000 of them.
    """
    _check_shapes(tree)
    rules = tree.rules
    known = {column.name for column in tree.columns}
    for rule in rules:
        for name in rule.columns:
            if name not in known:
                _refuse(
                    f"the test {rule.describe()!r} reads the column {name!r}, which the tree "
                    "does not list"
                )
    _check_nodes(tree)
    _check_surrogates(tree)


def _check_shapes(tree: Tree) -> None:
    """Raise ContractError where an array has another length than nodes and edges, or a label is
    none.
    """
    n = tree.n_nodes
    _demand(n > 0, "it has no node; a tree has at least a leaf")
    width = len(tree.classes) if tree.is_classification else 3
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(
        ("missing_child", "counts", "label", "value", "price", "impurity", "score"), (n,)
    )
    shapes |= {"weights": (n, width), "child_offset": (n + 1,)} | (
        {} if tree.branch_price is None else {"branch_price": tree.child.shape}
    )
    for name, shape in shapes.items():
        if (found := getattr(tree, name).shape) != shape:
            _refuse(f"{name} has the shape {found}, expected {shape}")
    if tree.is_classification:
        _demand(
            tree.label.min() >= 0 and tree.label.max() < width,
            f"label must lie between 0 and {width - 1}",
        )


def _check_nodes(tree: Tree) -> None:
    """Raise ContractError unless the nodes, one after another in depth-first preorder, are the
    children that outcomes of tests lead to, each once.
    """
    arity = [*(rule.arity for rule in tree.rules), 0]  # a leaf's test −1 reads the last
    child, offset = tree.child.tolist(), tree.child_offset.tolist()
    # without numpy, which takes ten times as long for the few nodes that most trees have
    waiting, begin, last = [0], 0, len(tree.rules) - 1
    asked = zip(tree.test.tolist(), tree.missing_child.tolist(), offset[1:], strict=True)
    for node, (test, lost, end) in enumerate(asked):
        if not -1 <= test <= last:
            _refuse(
                f"test must be -1 or below {last + 1}, the number of rules; node {node} has {test}"
            )
        slots = arity[test]
        if end - begin != slots or offset[0] != 0:
            _refuse(
                f"child_offset gives node {node} {end - begin} child slots; an inner node has one "
                f"per outcome of its test, a leaf none"
            )
        if not -2 <= lost < (slots or 1):
            _refuse(
                f"missing_child of node {node} is {lost}; it must be an outcome of the node's "
                "test, -1 (stops) or -2 (splits)"
            )
        if not waiting or waiting.pop() != node:
            _refuse(
                f"node {node} is out of order: every node but the root is the child of exactly one "
                "node, and nodes are numbered in depth-first preorder"
            )
        if slots:
            waiting += sorted([one for one in child[begin:end] if one != -1], reverse=True)
        begin = end
    if waiting or begin != len(child):
        _refuse("child names nodes that do not exist, or has more slots than child_offset gives")


def check_numbers(tree: Tree) -> None:
    """Raise ContractError where names come twice or numbers cannot be what they say: what only a
    file from elsewhere does.
    """
    for what, names in (
        ("classes", tree.classes),
        ("columns", [column.name for column in tree.columns]),
    ):
        if len(set(names)) < len(names):
            _refuse(
                f"{what} must be distinct; "
                f"{next(name for name in names if list(names).count(name) > 1)!r} comes twice"
            )
    _demand((tree.counts >= 0).all(), f"counts must be ≥ 0; got {tree.counts.min()}")
    # Σwy may have either sign
    positive = tree.weights if tree.is_classification else tree.weights[:, ::2]
    _demand(
        np.isfinite(tree.weights).all() and (positive >= 0).all(), "weights must be finite and ≥ 0"
    )
    _demand((np.isfinite(tree.price) & (tree.price >= 0)).all(), "price must be finite and ≥ 0")
    paid = (tree.edge_price >= 0) & (tree.edge_price <= tree.price[tree.owner])
    _demand(paid.all(), "branch_price must lie between 0 and the price of its node")
    _demand(tree.is_classification or np.isfinite(tree.value).all(), "value must be finite")
    shares = tree.value[~np.isnan(tree.value)] if tree.is_classification else tree.value[:0]
    _demand(
        not len(shares) or (len(tree.classes) == 2 and 0 <= shares.min() <= shares.max() <= 1),
        "value of a tree of classes must be none, or of two a share from 0 to 1",
    )


def _demand(holds: bool | np.bool_, what: str) -> None:
    """Refuse the arrays unless it holds.   what : must hold, as the message says it."""
    if not holds:
        _refuse(what)


def _refuse(what: str) -> NoReturn:
    raise ContractError(f"not a tree: {what}")


def _check_surrogates(tree: Tree) -> None:
    """Raise ContractError where a surrogate is not one of an inner node's rules, in the order of
    nodes.
    """
    n, rules, last = tree.n_nodes, tree.rules, 0
    for one in tree.surrogates:
        named = last <= one.node < n and tree.test[one.node] >= 0 and 0 <= one.rule < len(rules)
        _demand(
            named, f"{one}: surrogates must name inner nodes, in their order, and rules of the tree"
        )
        own, rule, last = rules[tree.test[one.node]], rules[one.rule], one.node
        answers = (
            not rule.fuzzy
            and len(one.to) == rule.arity
            and all(-1 <= k < own.arity for k in one.to)
        )
        _demand(
            answers,
            f"{one}: a surrogate gives no degrees, but for each of its outcomes one of the "
            "node's test, or -1",
        )
