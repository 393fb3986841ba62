"""The framework in one file: the same ideas, nothing fast, nothing missing that matters.

    python one_file_framework.py

A test is judged by its contingency table.  A component is a frozen class whose fields are its
configuration.  Every tree is the same value, whoever grew it, and a run ends with a check.  The
real house adds: many kinds of tests, compiled kernels, configuration from the command line,
records, trackers, and a reader who never has to change it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# -- model: rows, tests, trees ---------------------------------------------------------------------

Row = dict[str, Any]
Table = list[Counter]
"""One counter of class weights per outcome of a test: all that a criterion may look at."""


@dataclass(frozen=True)
class Equals:
    """Does the column have this value?  Outcome 0: yes, outcome 1: no."""

    column: str
    value: Any

    def outcome(self, row: Row) -> int:
        """0 where the row has the value, else 1."""
        return 0 if row[self.column] == self.value else 1

    def __str__(self) -> str:
        return f"{self.column} = {self.value}"


@dataclass(frozen=True)
class Tree:
    """A leaf, or a test with one child per outcome; ``weights`` are those of its training rows."""

    weights: Counter
    test: Equals | None = None
    children: tuple[Tree, ...] = ()

    def predict(self, row: Row) -> str:
        """The majority class of the leaf that the row reaches."""
        if self.test is None:
            # ties: the smallest class
            return min(self.weights, key=lambda name: (-self.weights[name], name))
        return self.children[self.test.outcome(row)].predict(row)

    def lines(self, prefix: str = "", says: str = "all rows") -> Iterator[str]:
        """A line per node: its outcome and class weights, indented by depth, and a leaf's class."""
        label = "" if self.test else " ▸ " + self.predict({})
        yield f"{prefix}{says}{label}  {dict(sorted(self.weights.items()))}"
        for sign, child in zip(("", "not "), self.children, strict=False):
            yield from child.lines(prefix + "  ", f"{sign}{self.test}")


# -- interfaces and plugins: a component is a class with a kind and a name -------------------------

REGISTRY: dict[tuple[str, str], type] = {}
"""In the real house an object that is passed down."""


def component(cls: type) -> type:
    """Register a class under its kind and name; ValueError where that is taken."""
    key = cls.kind, cls.name
    if key in REGISTRY:
        raise ValueError(f"{key} is claimed by {REGISTRY[key].__module__} and {cls.__module__}")
    return REGISTRY.setdefault(key, cls)


def build(kind: str, name: str, **fields: Any) -> Any:
    """A component with these fields; ValueError, with the known names, for an unknown one."""
    if (kind, name) not in REGISTRY:
        known = ", ".join(sorted(n for k, n in REGISTRY if k == kind))
        raise ValueError(f"unknown {kind} {name!r}; known: {known}")
    return REGISTRY[kind, name](**fields)


@component
@dataclass(frozen=True)
class Gain:
    """Decrease of entropy, in bits."""

    kind, name = "criterion", "gain"

    def score(self, table: Table, node: Counter) -> float:
        """Entropy of the node less the weighted mean of its parts, in bits; higher is better."""
        total = node.total()
        return bits(node) - sum(part.total() / total * bits(part) for part in table)


@component
@dataclass(frozen=True)
class CleanCut:
    """Share of the weight in pure outcomes, plus λ times the share outside the largest outcome."""

    kind, name = "criterion", "clean_cut"
    lam: float = 0.05

    def score(self, table: Table, node: Counter) -> float:
        """The score of a table, at most 1 + λ; higher is better."""
        masses = [part.total() for part in table]
        settled = sum(part.total() for part in table if len(part) == 1)
        return (settled + self.lam * (sum(masses) - max(masses))) / node.total()


def bits(weights: Counter) -> float:
    """Entropy of class weights, in bits."""
    total = weights.total()
    return -sum(w / total * math.log2(w / total) for w in weights.values())


# -- engine: one loop grows every tree; verification shares no code with it ------------------------


def grow(rows: list[Row], target: str, criterion: Any, max_depth: int = 9) -> Tree:
    """The greedy tree: at each node the test of highest score, until a class or no test is left."""
    node = Counter(row[target] for row in rows)
    tests = sorted({Equals(c, row[c]) for row in rows for c in row if c != target}, key=str)
    tables = {test: [Counter(), Counter()] for test in tests}
    for row in rows:
        for test, table in tables.items():
            table[test.outcome(row)][row[target]] += 1
    # constant tests never compete
    candidates = [test for test in tests if all(part.total() for part in tables[test])]
    if len(node) == 1 or not candidates or max_depth == 0:
        return Tree(node)
    best = max(candidates, key=lambda test: criterion.score(tables[test], node))  # ties: the first
    parts = [[row for row in rows if best.outcome(row) == outcome] for outcome in (0, 1)]
    return Tree(node, best, tuple(grow(part, target, criterion, max_depth - 1) for part in parts))


def verify(tree: Tree, rows: list[Row], target: str) -> None:
    """Replay every row and recount every node."""
    counted = Counter(row[target] for row in rows)
    assert tree.weights == counted, "the tree reports other weights than its rows have"
    for outcome, child in enumerate(tree.children):
        verify(child, [row for row in rows if tree.test.outcome(row) == outcome], target)


# -- a run -----------------------------------------------------------------------------------------

PLAY = """sunny hot no|sunny hot no|overcast hot yes|rain mild yes|rain cool yes|rain cool no
overcast cool yes|sunny mild no|sunny cool yes|rain mild yes|sunny mild yes|overcast mild yes
overcast hot yes|rain mild no""".replace("\n", "|")
COLUMNS = ("outlook", "temperature", "play")
ROWS = [dict(zip(COLUMNS, line.split(), strict=True)) for line in PLAY.split("|")]

if __name__ == "__main__":
    for name in ("gain", "clean_cut"):
        tree = grow(ROWS, "play", build("criterion", name), max_depth=3)
        verify(tree, ROWS, "play")
        errors = sum(tree.predict(row) != row["play"] for row in ROWS)
        head = f"criterion {name}: {errors} errors of {len(ROWS)}, verified"
        print(head, *tree.lines(), "", sep="\n")
