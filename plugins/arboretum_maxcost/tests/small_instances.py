"""Small instances: objects by their answers, and what is true of all their trees, by
enumeration.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    Column,
    ColumnKind,
    Context,
    Family,
    Parts,
    Prices,
    Problem,
    Table,
    Target,
    Task,
    Tree,
    grow,
)
from arboretum.plugin.discovery import load_registry
from arboretum.testing.tables import ToyFeature, bare_objects
from arboretum_maxcost.greedy.criteria import WorstCase

NAMES = tuple("abcdefgh")


def component(kind: str, name: str, **fields: Any) -> Any:
    """An installed component of any plugin."""
    return _registry().get(kind, name).cls(**fields)


_registry = lru_cache(load_registry)


@attrs.frozen(eq=False)
class Instance:
    """answers : int[objects, tests].

    label : int[objects].
    price : float[tests, outcomes], NaN beyond a test's last.
    """

    answers: np.ndarray
    label: np.ndarray
    price: np.ndarray

    def problem(self, impurity: Any, delta: float | None = None, criterion: Any = None) -> Problem:
        """To be grown by multiway tests down to pure leaves, or to leaves of F ≤ δ."""
        n_tests, columns, features = self.answers.shape[1], [], []
        for t in range(n_tests):
            bins = int((~np.isnan(self.price[t])).sum())
            columns.append(
                Column(
                    f"t{t}",
                    ColumnKind.categorical,
                    self.answers[:, t].astype(np.int32),
                    NAMES[:bins],
                )
            )
            features.append(ToyFeature(f"t{t}", t, Family.multiway, bins, categories=NAMES[:bins]))
        classes = NAMES[: max(2, int(self.label.max()) + 1)]
        table = Table(
            "small",
            tuple(columns),
            Target("y", Task.classification, self.label.astype(np.int32), classes),
        )
        objects = bare_objects(table, features=tuple(features), codes=self.answers.astype(np.uint8))
        stopping = (
            (component("stopping", "pure"),)
            if delta is None
            else (component("stopping", "impurity", delta=delta),)
        )
        parts = Parts(
            method=component("method", "greedy"),
            criterion=criterion or WorstCase(),
            impurity=impurity,
            stopping=stopping,
        )
        same = all(len(set(row[~np.isnan(row)])) == 1 for row in self.price)
        prices = (
            Prices(np.nanmax(self.price, axis=1), np.zeros(0))
            if same
            else Prices.by_outcome(self.price)
        )
        return Problem(objects, prices, parts)

    def counts(self, members: Sequence[int]) -> np.ndarray:
        return np.bincount(self.label[list(members)], minlength=int(self.label.max()) + 1).astype(
            float
        )

    def children(self, members: frozenset[int], test: int) -> dict[int, frozenset[int]]:
        """Outcome → objects, of the outcomes that there are."""
        found: dict[int, set[int]] = {}
        for i in members:
            found.setdefault(int(self.answers[i, test]), set()).add(i)
        return {outcome: frozenset(own) for outcome, own in sorted(found.items())}

    def optimum(self, is_leaf: Callable[[np.ndarray], bool]) -> float:
        """The least worst-case cost of all trees whose leaves are such; ∞ where there is none."""
        known: dict[frozenset[int], float] = {}

        def least(members: frozenset[int]) -> float:
            if members not in known:
                known[members] = (
                    0.0
                    if is_leaf(self.counts(members))
                    else min(asked(members, t) for t in range(self.answers.shape[1]))
                )
            return known[members]

        def asked(members: frozenset[int], test: int) -> float:
            parts = self.children(members, test)
            return (
                np.inf
                if len(parts) == 1
                else max(self.price[test, o] + least(own) for o, own in parts.items())
            )

        return least(frozenset(range(len(self.label))))

    def trees(self, members: frozenset[int] | None = None) -> Iterator[list[np.ndarray]]:
        """The leaves (counts) of every tree that asks no test in vain."""
        members = frozenset(range(len(self.label))) if members is None else members
        yield [self.counts(members)]
        for test in range(self.answers.shape[1]):
            if len(parts := self.children(members, test)) > 1:
                for leaves in itertools.product(*(self.trees(own) for own in parts.values())):
                    yield [leaf for part in leaves for leaf in part]


def drawn(
    seed: int,
    n: int = 9,
    tests: int = 5,
    values: int = 3,
    classes: int = 3,
    prices: str = "unequal",
) -> Instance:
    """Distinct objects of two classes or more.   prices : "unit", "unequal" or "by outcome"."""
    generator = np.random.default_rng([seed, 11])
    rows = np.array(list(itertools.product(range(values), repeat=tests)))
    answers = generator.permutation(rows)[:n]
    label = np.concatenate([np.arange(classes), generator.integers(0, classes, n - classes)])
    price = generator.integers(1, 10, (tests, values)).astype(float)
    if prices != "by outcome":
        price = np.repeat(
            price[:, :1] if prices == "unequal" else np.ones((tests, 1)), values, axis=1
        )
    return Instance(answers, label, price)


def grown(problem: Problem) -> Tree:
    return grow(problem, Context()).tree


def max_cost_of(tree: Tree) -> float:
    """The costliest path from the root, by the prices that the tree states for its edges."""
    return float(tree.price_to[tree.is_leaf].max())
