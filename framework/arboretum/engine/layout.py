"""Trees over fixed tests, laid out level by level: thousands of leaves take as many array
operations as the tree is deep.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Protocol, TypeVar

import attrs
import numpy as np

from arboretum.interfaces.impurity import Impurity
from arboretum.model.encoded import Encoded
from arboretum.model.tree import Tree

Token = TypeVar("Token")


class Coded(Protocol):
    """A solver's own table, of the objects or of those that it merged."""

    @property
    def objects(self) -> Encoded:
        """The training objects."""

    @property
    def codes(self) -> np.ndarray:
        """unsigned[features, n]."""

    @property
    def family(self) -> np.ndarray:
        """int64[features], as in :mod:`arboretum.kernels.solving.rows`."""

    @property
    def first_test(self) -> np.ndarray:
        """int64[features], as there."""

    @property
    def label(self) -> np.ndarray:
        """int[n]."""

    @property
    def weight(self) -> np.ndarray:
        """float64[n]."""

    @property
    def count(self) -> np.ndarray:
        """int64[n], rows that each stands for."""

    @property
    def impurity(self) -> Impurity | None:
        """The component, or None."""


@attrs.frozen(eq=False, slots=False)
class Level:
    """Sets of rows, none of them empty.

    rows : int64, of one set after the other, each ascending.
    start : int64[sets], where each begins.
    parent : int64[sets], its place in the level above.
    outcome : int64[sets], of the test there; children of one parent ascend in it.
    """

    table: Coded
    rows: np.ndarray
    start: np.ndarray
    parent: np.ndarray
    outcome: np.ndarray

    @staticmethod
    def root(table: Coded) -> Level:
        """All rows."""
        rows, zero = np.arange(len(table.label)), np.zeros(1, np.int64)
        return Level(table, rows, zero, zero, zero)

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def sets(self) -> np.ndarray:
        """int64[rows]: the set that each row is in."""
        return np.repeat(np.arange(len(self)), np.diff(self.start, append=len(self.rows)))

    @cached_property
    def weights(self) -> np.ndarray:
        """float64[sets, classes], added up in the order of rows."""
        return self.by_class(self.table.weight)

    @cached_property
    def one_class(self) -> np.ndarray:
        """bool[sets]."""
        label = self.table.label[self.rows]
        same: np.ndarray = np.minimum.reduceat(label, self.start) == np.maximum.reduceat(
            label, self.start
        )
        return same

    def by_class(self, values: np.ndarray) -> np.ndarray:
        """float64[sets, classes]: sums of ``values``, float64 or int64[n] by object; whole numbers
        stay whole below 2^53.
        """
        classes = self.table.objects.n_classes
        key = self.sets * classes + self.table.label[self.rows]
        return np.bincount(key, values[self.rows], len(self) * classes).reshape(-1, classes)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """[sets, …]: sums of ``values``, [n, …] by object, in its dtype."""
        return np.add.reduceat(values[self.rows], self.start, axis=0)

    def of(self, number: int) -> np.ndarray:
        """int64: the rows of one set."""
        end = self.start[number + 1] if number + 1 < len(self) else len(self.rows)
        return self.rows[self.start[number] : end]

    def below(self, test: np.ndarray) -> Level:
        """The sets that tests make of these; outcomes without rows are left out.

        test : int64[sets], −1 at a leaf.
        """
        from arboretum.kernels.solving.rows import MULTIWAY, THRESHOLDS

        table, asks = self.table, (test >= 0)[self.sets]
        rows, above = self.rows[asks], self.sets[asks]
        f = np.searchsorted(table.first_test, test, side="right") - 1
        family, index = table.family[f][above], (test - table.first_test[f])[above]
        code = table.codes[f[above], rows].astype(np.int64)
        outcome = np.where(
            family == MULTIWAY, code, np.where(family == THRESHOLDS, code > index, code != index)
        )
        key = above * (int(outcome.max(initial=0)) + 1) + outcome
        order = np.argsort(key, kind="stable")
        start = np.flatnonzero(np.diff(key[order], prepend=-1))
        first = order[start]
        return Level(table, rows[order], start, above[first], outcome[first])


Choose = Callable[[Level, Token], tuple[np.ndarray, Callable[[Level], Token]]]
"""(sets, what is handed down to them) → (int64[sets], the test of each, −1 for a leaf; what to
hand down to the sets below).
"""


def laid_out(table: Coded, price: np.ndarray, token: Token, choose: Choose[Token]) -> Tree:
    """Ask for the tests of every level, from the root down, and freeze the tree.

    price : float64[tests].
    token : what ``choose`` is handed with the root; what it hands down goes with the next level.
    Scores and the impurity of a table without one are NaN: a tree so laid out states none.
    """
    from arboretum.engine.search.assemble import Grown, Subtree, to_tree

    level, levels, tests = Level.root(table), [], []
    while len(level):
        test, hand_down = choose(level, token)
        levels.append(level)
        tests.append(test)
        level = level.below(test)
        token = hand_down(level)
    sizes = np.cumsum([0, *map(len, levels)])
    parent = np.concatenate(
        [each.parent + above for each, above in zip(levels, [0, *sizes[:-2]], strict=True)]
    )
    test, weights = np.concatenate(tests), np.concatenate([each.weights for each in levels])
    unknown = np.full(len(test), math.nan)
    tree = Subtree(
        feature=test,
        number=np.zeros(len(test), np.int64),
        side=np.full(len(test), -1),
        parent=parent,
        branch=np.concatenate([each.outcome for each in levels]),
        price=np.append(price, 0.0)[test],
        score=unknown,
        impurity=unknown if table.impurity is None else np.asarray(table.impurity.value(weights)),
        weights=weights,
        count=np.concatenate([each.sums(table.count) for each in levels]),
        shift=math.nan,
        rule_of=lambda test, _: table.objects.rule(test),
        fills=False,
    )
    top = Grown(weights[0], float(tree.count[0]), math.nan, float(tree.impurity[0]), below=tree)
    return to_tree(top, table.objects)
