"""A chain of thousands of tests is shown and exported like any tree: in text linear in its
nodes, at no depth that fails.
"""

from __future__ import annotations

import contextlib
import sqlite3

import numpy as np
import pytest

from arboretum.model.rules import Threshold
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import ColumnSpec, Tree

DEEP = 10_000


def chain(depth: int, step: int = 1) -> Tree:
    """Each test cuts one leaf off, its first branch; step −1: its second branch, so that rows
    without a value go on.
    """
    n = 2 * depth + 1
    inner = np.arange(n) % 2 == 0
    inner[-1] = False
    at = np.where(inner, np.arange(n) // 2, -1)
    child = np.stack([np.arange(0, n - 1, 2) + 1, np.arange(0, n - 1, 2) + 2])
    if step < 0:  # preorder wants the first branch first: the cut-off leaves come last
        child = np.stack([np.arange(1, depth + 1), 2 * depth - np.arange(depth)])
        inner = np.arange(n) < depth
        at = np.where(inner, np.arange(n), -1)
    weights = np.zeros((n, 2))
    leaves = np.flatnonzero(~inner)
    weights[leaves, leaves // 2 % 2] = 1
    for k in range(depth - 1, -1, -1):
        node = k if step < 0 else 2 * k
        weights[node] = weights[child[:, k]].sum(axis=0)
    columns = tuple(ColumnSpec(name, ColumnKind.continuous) for name in ("a", "b", "c"))
    cut = [float(k // 3) if step > 0 else float(depth - k // 3) for k in range(depth)]
    return Tree(
        task=Task.classification,
        columns=columns,
        classes=("no", "yes"),
        rules=tuple(Threshold(columns[k % 3].name, cut[k]) for k in range(depth)),
        test=at,
        child_offset=np.concatenate([[0], np.cumsum(2 * inner)]),
        child=child.T.ravel(),
        missing_child=np.where(inner, np.arange(n) % 3 - 1, -1),
        weights=weights,
        counts=weights.sum(axis=1),
        label=weights.argmax(axis=1),
        value=np.full(n, np.nan),
        price=inner.astype(float),
        impurity=np.full(n, np.nan),
        score=np.full(n, np.nan),
    )


@pytest.mark.parametrize("step", [1, -1])
def test_sqlite_runs_a_chain_and_predicts_as_it_does(step):
    tree, rng = chain(DEEP, step), np.random.default_rng(0)
    values = rng.integers(-1, DEEP // 3 + 2, (60, 3)).astype(float)
    values[:20] = DEEP if step > 0 else -1  # to the end of the chain
    values[rng.random((60, 3)) < 0.05] = np.nan
    columns = tuple(
        Column(name, ColumnKind.continuous, values[:, j]) for j, name in enumerate("abc")
    )
    rows = Table("rows", columns, Target("", Task.regression, values=np.zeros(60)))
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE given (a, b, c)")
        base.executemany(
            "INSERT INTO given VALUES (?, ?, ?)",
            [[None if v != v else v for v in row] for row in values.tolist()],
        )
        found = [
            answer
            for (answer,) in base.execute(f"SELECT {tree.to_sql()} FROM given ORDER BY rowid")
        ]
    assert found == [tree.classes[code] for code in tree.predict(rows)]
    assert tree.depth_of[tree.rest(rows)].max() >= DEEP - 1


@pytest.mark.parametrize("form", ["to_text", "to_sql", "to_graphviz", "to_json"])
def test_text_grows_as_the_tree_does(form):
    small, large = (len(getattr(chain(depth), form)()) for depth in (1000, 2000))
    assert large < 2.2 * small


def test_levels_without_room_to_indent_are_named():
    lines = chain(DEEP).to_text(width=100).splitlines()
    assert len(lines) == 2 + 2 * DEEP and max(map(len, lines)) <= 100
    assert lines[-1].split()[:3] == [f"[{DEEP}]", "a", ">"]
    assert chain(60).to_text(width=400).splitlines()[-1].lstrip().startswith("[60] c > 19")


def test_pictures_and_other_forms_of_a_chain():
    tree = chain(DEEP)
    assert tree.to_svg().startswith("<svg") and len(tree.to_svg()) < 1e6
    assert tree.to_graphviz().count("->") == 2 * DEEP
    assert Tree.from_json(tree.to_json()) == tree
    assert tree.to_sklearn().tree_.max_depth == DEEP
