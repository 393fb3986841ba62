"""Trees say where rows without a value go, in words and pictures, where training rows had none."""

from __future__ import annotations

import contextlib
import sqlite3

import attrs
import numpy as np
import pytest

from arboretum.model.rules import Equals, Interval, Threshold, Values
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS, Tree, single_leaf
from arboretum_basics.sql import tree_sql

AGE = np.array([20.0, np.nan, 30.0, 50.0, 60.0, np.nan])
JOB = np.array([0, 1, 2, -1, 1, 0], np.int32)
LABEL = np.array([0, 0, 0, 1, 1, 1], np.int32)


def table(age=AGE) -> Table:
    columns = (
        Column("age", ColumnKind.continuous, age),
        Column("job", ColumnKind.categorical, JOB, ("cook", "nurse", "it's")),
    )
    return Table("t", columns, Target("y", Task.classification, codes=LABEL, classes=("no", "yes")))


def split(rule, follows: int, data: Table | None = None) -> Tree:
    """One test; rows without an outcome follow the branch ``follows``."""
    data = data or table()
    outcome = rule.outcomes(data, np.arange(data.n_rows))
    outcome = np.where(outcome < 0, follows, outcome)
    weights = [
        np.bincount(LABEL[outcome == k], minlength=2).astype(float) for k in range(rule.arity)
    ]
    whole = single_leaf(data)
    n = rule.arity + 1
    return attrs.evolve(
        whole,
        rules=(rule,),
        test=[0, *[-1] * rule.arity],
        child_offset=[0, *[rule.arity] * n],
        child=list(range(1, n)),
        missing_child=[follows, *[MISSING_STOPS] * rule.arity],
        weights=np.array([np.bincount(LABEL, minlength=2), *weights]),
        counts=[len(LABEL), *(int(w.sum()) for w in weights)],
        label=[0, *(int(w.argmax()) for w in weights)],
        value=[np.nan] * n,
        price=[1.0, *[0.0] * rule.arity],
        impurity=[np.nan] * n,
        score=[np.nan] * n,
    )


@pytest.mark.parametrize(
    ("rule", "follows", "said", "drawn"),
    [
        (Threshold("age", 40.0), 1, "age > 40 or missing", "no, missing"),
        (Threshold("age", 40.0), 0, "age ≤ 40 or missing", "yes, missing"),
        (Equals("job", "cook"), 1, "job ≠ cook or missing", "no, missing"),
        (Equals("job", "cook", missing_is_other=True), 1, "job ≠ cook or missing", "no, missing"),
        (
            Interval("age", None, 40.0, missing_is_other=True),
            1,
            "age > 40 or missing",
            "no, missing",
        ),
        (
            Values("job", ("cook", "nurse", "it's")),
            1,
            "job = nurse or missing",
            "= nurse or missing",
        ),
    ],
)
def test_the_branch_of_missing_values_says_so(rule, follows, said, drawn):
    tree = split(rule, follows)
    lines = tree.to_text().splitlines()
    assert sum("missing" in line for line in lines) == 1
    assert any(said in line for line in lines)
    assert drawn in tree.to_svg()
    assert said.split(" ", 1)[1] in tree.to_graphviz()


def test_a_test_that_asks_for_missing_values_says_it_once():
    text = split(Equals("job", None), 0).to_text()
    assert "job = missing" in text and "or missing" not in text


def test_nothing_is_said_where_no_training_row_missed_a_value():
    tree = split(Threshold("age", 40.0), 1, table(np.array([20.0, 25.0, 30.0, 50.0, 60.0, 70.0])))
    assert "missing" not in tree.to_text() + tree.to_svg() + tree.to_graphviz()


def test_rows_that_go_down_every_branch_are_told_at_the_node():
    tree = split(Threshold("age", 40.0), 1)
    tree = attrs.evolve(tree, missing_child=[MISSING_SPLITS, *tree.missing_child[1:]])
    assert "(missing → every branch, by weight)" in tree.to_text().splitlines()[1]
    assert "missing → every branch, by weight" in tree.to_graphviz()
    assert "missing → all" in tree.to_svg()


def test_the_knowledge_of_missing_values_is_stored_with_the_tree():
    tree = split(Threshold("age", 40.0), 1)
    assert Tree.from_json(tree.to_json()) == tree
    assert Tree.from_json(tree.to_json()).to_text() == tree.to_text()


@pytest.mark.parametrize(
    ("rule", "follows"),
    [
        (Threshold("age", 40.0), 1),
        (Threshold("age", 40.0), 0),
        (Threshold("age", 40.0), MISSING_STOPS),
        (Equals("job", "it's"), 0),
        (Values("job", ("cook", "nurse", "it's")), 2),
        (Values("job", ("cook", "it's")), 1),
    ],
)
def test_sql_decides_as_the_tree_does_and_names_the_branch_of_missing_values(rule, follows):
    tree, data = split(rule, follows), table()
    jobs = [data.column("job").categories[k] if k >= 0 else None for k in JOB]
    ages = [None if np.isnan(a) else float(a) for a in AGE]
    with contextlib.closing(sqlite3.connect(":memory:")) as rows:
        rows.execute("CREATE TABLE rows (age REAL, job TEXT)")
        rows.executemany("INSERT INTO rows VALUES (?, ?)", list(zip(ages, jobs, strict=True)))
        found = [
            answer
            for (answer,) in rows.execute(f"SELECT {tree_sql(tree)} FROM rows ORDER BY rowid")
        ]
    assert found == [tree.classes[k] for k in tree.predict(data)]
    assert ("or missing */" in tree_sql(tree)) == (follows >= 0)


def test_sql_of_a_deep_tree_with_missing_values_grows_with_its_nodes():
    """Each branch is written once, however often rows without a value are sent along."""
    data, depth = table(), 30
    rules = tuple(Threshold("age", 40.0 + k) for k in range(depth))
    whole, n = single_leaf(data), 2 * depth + 1
    # preorder: node, its left leaf, then the right subtree
    inner = [k for v in range(depth) for k in (v, -1)] + [-1]
    offset = np.cumsum([0, *(2 if k >= 0 else 0 for k in inner)])
    child = [c for v in range(0, 2 * depth, 2) for c in (v + 1, v + 2)]
    share = np.array([[1.0, 1.0]] * n)
    for v in range(2 * depth - 2, -1, -2):
        share[v] = share[v + 1] + share[v + 2]
    tree = attrs.evolve(
        whole,
        rules=rules,
        test=inner,
        child_offset=offset,
        child=child,
        missing_child=[1 if k >= 0 else MISSING_STOPS for k in inner],
        weights=share,
        counts=share.sum(axis=1).astype(int),
        label=[0] * n,
        value=[np.nan] * n,
        price=[1.0 if k >= 0 else 0.0 for k in inner],
        impurity=[np.nan] * n,
        score=[np.nan] * n,
    )
    assert tree_sql(tree).count("WHEN") == depth
