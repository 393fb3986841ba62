"""How two trees differ: where they part, walking down both together, and on which rows they
disagree.

Both are walked from the root.  As long as the two nodes ask the same test, the walk goes down every
branch; two cuts of one column go on, too, since their branches stand for each other.  Where the
tests are others, or one node is a leaf, everything below is a subtree of one tree alone.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

import attrs
import numpy as np

from arboretum.errors import DataError
from arboretum.model.rules import TestRule
from arboretum.model.table import Table
from arboretum.model.tree import Tree
from arboretum.model.walk import SPLITS, STOPS, policies


class Change(enum.Enum):
    """What differs at a place that both trees have, or that one has."""

    test = "another test"
    cut = "another cut"
    missing = "rows without a value go elsewhere"
    answer = "another answer"
    grown = "only the second goes on"
    cut_back = "only the first goes on"
    branch = "a branch that one has"


@attrs.frozen
class Place:
    """One place where two trees differ.

    change : what differs.
    first, second : number of the node in each tree; −1 where a tree has none.
    path : "petal_length > 2.6 and petal_width ≤ 1.65", in the words of the first tree; "all rows".
    here, there : what the first, the second has there.
    sizes : nodes of the subtree that each has there and the other has not; 0 where it has none.
    moved : node of the other tree at which the same subtree stands, of the first's subtree and of
        the second's; −1 where it stands nowhere.
    """

    change: Change
    first: int
    second: int
    path: str
    here: str
    there: str
    sizes: tuple[int, int] = (0, 0)
    moved: tuple[int, int] = (-1, -1)


@attrs.frozen(eq=False)
class Difference:
    """Two trees over the same columns, side by side.

    shared : (node of the first, node of the second) of the common prefix: the same tests all the
        way, at the leaves the same answer.
    places : where they differ, in the order of the first tree.
    fields : names of the arrays that differ where the structure is the same (weights, prices, …).
    unused_policies : pairs of nodes that send rows without a value elsewhere, where no training
        row of either tree lacked one; they are no places.
    """

    first: Tree
    second: Tree
    shared: tuple[tuple[int, int], ...]
    places: tuple[Place, ...]
    fields: tuple[str, ...]
    unused_policies: int = 0

    @staticmethod
    def of(first: Tree, second: Tree) -> Difference:
        """Compare two trees.  Raises DataError for other tasks, classes or columns."""
        refuse_others(first, second)
        walk = _Walk(first, second)
        places = tuple(walk.places())
        same = not places and first.n_nodes == second.n_nodes
        fields = tuple(_fields_that_differ(first, second)) if same and first != second else ()
        return Difference(first, second, tuple(walk.shared), places, fields, walk.unused_policies)

    @property
    def equal(self) -> bool:
        """Whether the trees are equal in every field."""
        return not self.places and not self.fields

    def only(self) -> tuple[list[int], list[int]]:
        """Return the nodes of each tree at which it differs from the other."""
        return (
            [place.first for place in self.places if place.first >= 0],
            [place.second for place in self.places if place.second >= 0],
        )


def refuse_others(first: Tree, second: Tree) -> None:
    """Raise DataError unless both trees have one task, the same classes and the same columns."""
    way = "; diff takes two trees of one table (arboretum list finds runs of one data set)"
    if first.task is not second.task:
        raise DataError(
            f"trees of one task can be compared: the first is of {first.task.value}, the second "
            f"of {second.task.value}{way}"
        )
    for what, one, other in (
        ("class", first.classes, second.classes),
        ("column", _names(first), _names(second)),
    ):
        for who, own, others in (("first", one, other), ("second", other, one)):
            if alone := [name for name in own if name not in others]:
                raise DataError(f"only the {who} tree knows the {what} {alone[0]!r}{way}")
    kinds = {spec.name: spec.kind for spec in second.columns}
    for spec in first.columns:
        if spec.is_continuous != (kinds[spec.name].value == "continuous"):
            raise DataError(
                f"column {spec.name!r} is {spec.kind.value} in the first tree and "
                f"{kinds[spec.name].value} in the second{way}"
            )


def _names(tree: Tree) -> list[str]:
    return [spec.name for spec in tree.columns]


def _fields_that_differ(first: Tree, second: Tree) -> Iterator[str]:
    """Yield the fields in which two trees of the same structure differ, in the words of
    :class:`Tree`.
    """
    for field in attrs.fields(Tree):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if field.name == "branch_price":
            one, other = first.edge_price, second.edge_price
        if isinstance(one, np.ndarray):
            numbers = one.dtype == np.float64
            if not np.array_equal(one, other, equal_nan=numbers):
                yield field.name
        elif one != other:
            yield field.name


class _Walk:
    """Both trees, walked together.

    shared, unused_policies : as of :class:`Difference`; they grow with the walk.
    """

    def __init__(self, first: Tree, second: Tree) -> None:
        self.first, self.second = first, second
        self.shared: list[tuple[int, int]] = []
        self.unused_policies = 0
        self.lacking = {
            spec.name for tree in (first, second) for spec in tree.columns if spec.missing
        }
        self.policies = policies(first).tolist(), policies(second).tolist()
        self.surrogates = _surrogates_of(first), _surrogates_of(second)
        known: dict[object, int] = {}
        self.numbers = _numbers_of_subtrees(first, known), _numbers_of_subtrees(second, known)
        self.nodes_by_number = tuple(
            {number: node for node, number in reversed([*enumerate(numbers)])}
            for numbers in self.numbers
        )

    def places(self) -> Iterator[Place]:
        """Yield where the trees differ, in preorder of the first."""
        first, second = self.first, self.second
        stack = [(0, 0, True, "")]
        while stack:
            a, b, same, path = stack.pop()
            if first.is_leaf[a] or second.is_leaf[b]:
                yield from self._at_leaf(a, b, same, path)
                continue
            one, other = first.rule(a), second.rule(b)
            if one != other and not _same_column(one, other):
                yield self._place(Change.test, a, b, path)
                continue
            if one != other:
                yield self._place(Change.cut, a, b, path, subtrees=False)
                same = False
            elif same:
                self.shared.append((a, b))
            if self._lost(0, a) != self._lost(1, b):
                if self.lacking.isdisjoint(one.columns):
                    self.unused_policies += 1
                else:
                    words = self._lost_in_words(0, a), self._lost_in_words(1, b)
                    yield Place(Change.missing, a, b, path or "all rows", *words)
            children = list(
                zip(first.children(a).tolist(), second.children(b).tolist(), strict=True)
            )
            below = []
            for k, (left, right) in enumerate(children):
                step = f"{one.subject} {one.outcome_label(k)}"
                further = f"{path} and {step}" if path else step
                if left >= 0 and right >= 0:
                    below.append((left, right, same, further))
                elif left >= 0 or right >= 0:
                    yield self._place(Change.branch, left, right, further)
            stack.extend(reversed(below))

    def _at_leaf(self, a: int, b: int, same: bool, path: str) -> Iterator[Place]:
        """Yield what differs where at least one of the two nodes is a leaf."""
        if self.first.is_leaf[a] != self.second.is_leaf[b]:
            change = Change.grown if self.first.is_leaf[a] else Change.cut_back
            yield self._place(change, a, b, path)
        elif answer_of(self.first, a) != answer_of(self.second, b):
            yield self._place(Change.answer, a, b, path, subtrees=False)
        elif same:
            self.shared.append((a, b))

    def _place(self, change: Change, a: int, b: int, path: str, subtrees: bool = True) -> Place:
        """Return the place of a change with what both trees have there."""
        sizes, moved, words = [0, 0], [-1, -1], ["no such branch", "no such branch"]
        pair = ((self.first, a), (self.second, b))
        for who, (tree, node) in enumerate(pair):
            if node < 0:
                continue
            words[who] = (
                f"answers {answer_of(tree, node)}"
                if tree.is_leaf[node]
                else f"asks {tree.rule(node).describe()}"
            )
            if subtrees and not (tree.is_leaf[node] and change is not Change.branch):
                sizes[who] = int(tree.subtree_end[node]) - node
                moved[who] = self.nodes_by_number[1 - who].get(self.numbers[who][node], -1)
        return Place(
            change,
            a,
            b,
            path or "all rows",
            words[0],
            words[1],
            (sizes[0], sizes[1]),
            (moved[0], moved[1]),
        )

    def _lost(self, who: int, node: int) -> object:
        """Return what decides where a row without a value goes."""
        return self.policies[who][node], self.surrogates[who].get(node, ())

    def _lost_in_words(self, who: int, node: int) -> str:
        tree, policy = (self.first, self.second)[who], self.policies[who][node]
        words = {STOPS: "stops", SPLITS: "goes down every branch in shares"}
        found = words.get(policy) or f"goes to {tree.rule(node).outcome_label(policy)}"
        asked = len(self.surrogates[who].get(node, ()))
        return f"{found}, after {asked} surrogate{'s' * (asked != 1)}" if asked else found


def answer_of(tree: Tree, node: int) -> str:
    """Return what a tree predicts at a node: a class, or a number in full."""
    return tree.classes[tree.label[node]] if tree.classes else repr(float(tree.value[node]))


def _same_column(one: TestRule, other: TestRule) -> bool:
    """Return whether two tests are cuts of one column, so that their branches stand for each
    other.
    """
    return (
        type(one) is type(other)
        and one.columns == other.columns
        and one.arity == other.arity
        and bool(one.cuts)
    )


def _surrogates_of(tree: Tree) -> dict[int, tuple[tuple[TestRule, tuple[int, ...]], ...]]:
    """Return node → its surrogates, in order, as (test, outcomes)."""
    found: dict[int, tuple[tuple[TestRule, tuple[int, ...]], ...]] = {}
    for one in tree.surrogates:
        found[one.node] = (*found.get(one.node, ()), (tree.rules[one.rule], one.to))
    return found


def _numbers_of_subtrees(tree: Tree, known: dict[object, int]) -> list[int]:
    """Return a number per node: equal ones for subtrees of the same tests and answers.

    known : what a number stands for → the number; shared by the trees that are compared.
    """
    numbers = [0] * tree.n_nodes
    for node in range(tree.n_nodes - 1, -1, -1):  # children come after their parent
        key: object = answer_of(tree, node)
        if not tree.is_leaf[node]:
            below = tuple(numbers[child] if child >= 0 else -1 for child in tree.children(node))
            key = (tree.rule(node), below)
        numbers[node] = known.setdefault(key, len(known))
    return numbers


@attrs.frozen(eq=False)
class Disagreement:
    """Rows on which two trees disagree.

    n_rows : rows looked at.
    rows : int64[k], positions of those with two answers, ascending.
    true, first, second : k answers in words each: the target (None where it is not known), and
        those of the trees.
    right : k words: "first", "second", "neither"; of numbers who is nearer ("both" where they are
        as near); "" where the target is not known.
    """

    n_rows: int
    rows: np.ndarray
    true: tuple[str | None, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    right: tuple[str, ...]

    @staticmethod
    def of(first: Tree, second: Tree, table: Table, known: bool = True) -> Disagreement:
        """Predict all rows of a table by both trees.

        table : with the columns of the trees.   known : whether its target is to be believed.
        Raises DataError where a test cannot be asked of it.
        """
        if first.is_regression:
            return _of_numbers(first, second, table, known)
        one = np.array(first.classes, object)[first.predict(table)]
        other = np.array(second.classes, object)[second.predict(table)]
        rows = np.flatnonzero(one != other)
        true: list[str | None] = [None] * len(rows)
        if known:
            codes, names = table.target.codes[rows], table.target.classes
            true = [names[code] if code >= 0 else None for code in codes.tolist()]
        right = [
            "" if t is None else "first" if t == a else "second" if t == b else "neither"
            for t, a, b in zip(true, one[rows], other[rows], strict=True)
        ]
        return Disagreement(
            table.n_rows, rows, tuple(true), tuple(one[rows]), tuple(other[rows]), tuple(right)
        )

    def count(self, who: str) -> int:
        """Return on how many of them ``who`` is right."""
        return self.right.count(who)


def _of_numbers(first: Tree, second: Tree, table: Table, known: bool) -> Disagreement:
    """Return :class:`Disagreement` of two trees of numbers."""
    one, other = first.predict(table), second.predict(table)
    rows = np.flatnonzero(one != other)
    values = table.target.values[rows] if known else np.full(len(rows), np.nan)
    near, far = np.abs(one[rows] - values), np.abs(other[rows] - values)
    right = np.where(near < far, "first", np.where(far < near, "second", "both"))
    return Disagreement(
        table.n_rows,
        rows,
        tuple(None if np.isnan(value) else f"{value:g}" for value in values),
        tuple(f"{value:g}" for value in one[rows]),
        tuple(f"{value:g}" for value in other[rows]),
        tuple("" if np.isnan(y) else str(who) for y, who in zip(values, right, strict=True)),
    )
