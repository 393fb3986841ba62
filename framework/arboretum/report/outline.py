"""What of a tree is shown: the nodes worth showing, with what was folded away stated."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator

import attrs
import numpy as np

from arboretum.model.digits import spell
from arboretum.model.rules import NO_OUTCOME, TestRule
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS, Tree


@attrs.frozen(eq=False)
class Item:
    """One shown node.

    node : its number.
    edge : how the branch to it reads, "" at the root.
    weights : float64[n_classes] or moments.
    count : training rows.
    children : the shown branches; none at a leaf and where the rest is folded.
    folded : leaves that lie below and are not shown.
    stays : the rows that stop at the parent (no branch for them).
    note : what else its test does with rows that have no value; "" where a branch says it ("> 3 or
        missing").
    """

    node: int
    edge: str
    weights: np.ndarray
    count: float
    children: tuple[Item, ...] = ()
    folded: int = 0
    stays: bool = False
    note: str = ""

    def walk(self) -> Iterator[Item]:
        """Yield this item and all below, in preorder."""
        stack = [self]
        while stack:
            item = stack.pop()
            yield item
            stack.extend(reversed(item.children))


def outline(
    tree: Tree,
    max_depth: int | None = None,
    max_leaves: int | None = None,
    *,
    empty: bool = False,
    labels: bool = False,
) -> Item:
    """Choose what to show.

    max_depth : branches below are folded; None: none is.
    max_leaves : the heaviest nodes are opened until that many leaves show; None: all are.
    empty : also show the branch of rows without an outcome where no training row took it.
    labels : an edge reads as in a sentence ("age ≤ 3"), not as a mark beside its node's question
        ("yes", "= red").
    """
    before = np.concatenate([[0], np.cumsum(tree.is_leaf)])
    # int64[n_nodes]: leaves under each node, itself included
    below = before[tree.subtree_end] - before[:-1]
    opened, parent = _nodes_to_open(tree, below, max_depth, max_leaves), tree.parent
    built: dict[int, Item] = {}
    for node in range(tree.n_nodes - 1, -1, -1):  # children come before their parents
        if node and not opened[parent[node]]:
            continue
        built[node] = _make_item(
            tree, node, bool(opened[node]), int(below[node]), built, empty, labels
        )
    return built[0]


def _nodes_to_open(
    tree: Tree, below: np.ndarray, max_depth: int | None, max_leaves: int | None
) -> np.ndarray:
    """Return bool[n_nodes]: inner nodes whose branches are shown; heaviest first while the shown
    leaves fit.

    below : int64[n_nodes], leaves under each.   max_depth, max_leaves : as of :func:`outline`.
    """
    opened, mass, depth = np.zeros(tree.n_nodes, bool), tree.mass, tree.depth_of
    shown, queue = 1, [(-mass[0], 0)]
    while queue:
        _, node = heapq.heappop(queue)
        children = [child for child in tree.children(node).tolist() if child >= 0]
        after = shown + len(children) - 1
        full = (
            max_leaves is not None
            and below[0] > max_leaves
            and after > max(max_leaves, len(children))
        )
        if full or tree.is_leaf[node] or (max_depth is not None and depth[node] >= max_depth):
            continue
        shown, opened[node] = after, True
        for child in children:
            heapq.heappush(queue, (-mass[child], child))
    return opened


def _make_item(
    tree: Tree,
    node: int,
    opened: bool,
    below: int,
    built: dict[int, Item],
    empty: bool,
    labels: bool,
) -> Item:
    """Return the item of a node with those of its children, which leave ``built``; rows that no
    branch takes become one of their own.

    opened : its branches are shown; else its ``below`` leaves are folded.
    empty, labels : as of :func:`outline`.
    """
    weights, count = tree.weights[node], _rows(tree.counts[node])
    if not opened:
        return Item(node, "", weights, count, folded=0 if tree.is_leaf[node] else below)
    rule = tree.rule(node)
    lost, children = missing_outcome(tree, node), []
    for outcome, child in enumerate(tree.children(node)):
        if child >= 0:
            mark = edge_label(rule, outcome, labels)
            if outcome == lost and "missing" not in mark:
                mark += ", missing" if mark in ("yes", "no") else " or missing"
            children.append(attrs.evolve(built.pop(int(child)), edge=mark))
    rest = weights - sum(child.weights for child in children)
    stays = tree.mass[node] - sum(mass_of(tree, child.weights) for child in children)
    without = _rows(count - sum(child.count for child in children))
    lacks = (tree.children(node) < 0).any()
    if stays > 1e-9 * tree.mass[node] or (empty and lacks):
        edge = "otherwise" if lacks else "missing"
        children.append(
            Item(node, edge, np.where(stays > 0, rest, 0.0), max(without, 0), stays=True)
        )
    note = "missing → every branch, by weight" if lost == MISSING_SPLITS else ""
    if asked := [tree.rules[one.rule].describe() for one in tree.surrogates if one.node == node]:
        note = f"missing → asks {', then '.join(asked)}" + note.replace("missing → ", "; else ")
    return Item(node, "", weights, count, tuple(children), note=note)


def missing_outcome(tree: Tree, node: int) -> int:
    """Return the outcome whose branch a row without a value takes at an inner node; MISSING_STOPS
    or MISSING_SPLITS if none.

    Where no training row missed a value of the columns in question the branch is a mere convention
    (the heaviest), not worth a word: MISSING_STOPS, unless the test itself has an outcome for such
    rows.
    """
    rule = tree.rule(node)
    if not rule.fuzzy and (own := rule.outcome_of(dict.fromkeys(rule.columns))) != NO_OUTCOME:
        return own
    seen = any(column.missing for column in tree.columns if column.name in rule.columns)
    return int(tree.missing_child[node]) if seen else MISSING_STOPS


def _rows(count: float) -> float:
    """Return a number of rows; where rows come in shares, in tenths."""
    tenths = round(float(count), 1)
    return int(tenths) if tenths.is_integer() else tenths


def mass_of(tree: Tree, weights: np.ndarray) -> float:
    """Return the mass of class weights, or of moments."""
    return float(weights.sum() if tree.is_classification else weights[0])


def edge_label(rule: TestRule, outcome: int, sentence: bool = False) -> str:
    """Return the branch as a sentence part ("≤ 3"), or as the answer to the node's question ("yes",
    "no", "= red").
    """
    mark = rule.outcome_label(outcome)
    if not sentence and rule.arity == 2 and rule.describe() != rule.subject:
        return "yes" if outcome == 0 else "no"
    return mark


def question(rule: TestRule) -> str:
    """Return what a node asks: the sentence, or the column with a question mark where the branches
    complete it.
    """
    sentence = rule.describe()
    return f"{sentence}?" if sentence == rule.subject else sentence


def prediction(tree: Tree, item: Item) -> str:
    """Return what is predicted there: the class, or the number."""
    return (
        spell_short(tree.value[item.node])
        if tree.is_regression
        else tree.classes[tree.label[item.node]]
    )


def share(tree: Tree, item: Item) -> float:
    """Return the weight share of the predicted class (NaN for regression, and where no row is)."""
    shown = tree.is_classification and item.weights.sum() > 0
    return (
        float(item.weights[tree.label[item.node]] / item.weights.sum()) if shown else float("nan")
    )


def deviation(tree: Tree, item: Item) -> float:
    """Standard deviation of the target (regression), from the moments."""
    mass, total, squares = item.weights
    return (
        math.ldexp(math.sqrt(max(squares / mass - (total / mass) ** 2, 0.0)), tree.exponent)
        if mass > 0
        else float("nan")
    )


def spell_short(value: float) -> str:
    """Return a number in four significant digits, whole numbers in full."""
    whole = abs(value - round(value)) < 1e-9 and abs(value) < 1e15
    return str(round(value)) if whole else spell(float(f"{value:.4g}"))


def headline(tree: Tree) -> str:
    """Return one line about the whole tree."""
    leaves, depth, rows = int(tree.is_end.sum()), int(tree.depth_of.max()), round(tree.counts[0])
    kind = f"{len(tree.classes)} classes" if tree.is_classification else "regression"
    return f"{leaves} {'leaf' if leaves == 1 else 'leaves'}, depth {depth}, {rows} rows, {kind}"
