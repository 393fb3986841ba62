"""Exports predict as the tree does: in SQLite, and as a scikit-learn tree."""

from __future__ import annotations

import contextlib
import sqlite3
from unittest import mock

import attrs
import numpy as np
import pytest
from drawn_trees import row_of, rows_like, tables, trees
from hypothesis import given, settings, strategies as st
from sklearn.tree import DecisionTreeClassifier, export_text, plot_tree

from arboretum.api import table_like
from arboretum.errors import CapabilityError, DataError
from arboretum.model.rules import Interval, Threshold, Values
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import MISSING_SPLITS, ColumnSpec, Tree
from arboretum_basics import sql
from arboretum_basics.to_sklearn import sklearn_features, sklearn_matrix, tree_sklearn


@pytest.mark.parametrize("nested", [sql.NESTED, 0])
@given(st.data())
@settings(deadline=None)
def test_sqlite_predicts_as_the_tree_does(nested, data):
    table = data.draw(tables())
    tree, rows = data.draw(trees(table, splits=False)), data.draw(rows_like(table))
    # 0: small trees, too, are written as deep ones are
    with mock.patch.object(sql, "NESTED", nested):
        query = tree.to_sql()
    names = [f'"{column.name}"' for column in rows.columns]
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.execute(f"CREATE TABLE given ({', '.join(names)})")
        cells = [tuple(row_of(rows, r).values()) for r in range(rows.n_rows)]
        base.executemany(f"INSERT INTO given VALUES ({', '.join('?' * len(names))})", cells)
        found = [answer for (answer,) in base.execute(f"SELECT {query} FROM given ORDER BY rowid")]
    predicted = tree.predict(rows)
    if tree.task is Task.classification:
        assert found == [tree.classes[code] for code in predicted]
    else:
        assert found == predicted.tolist()


def test_quotes_in_names_and_values_are_doubled():
    categories = ("it's", "b")
    tree = one_test(
        Values('say "x"', categories), ColumnSpec('say "x"', ColumnKind.categorical, categories)
    )
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        given_row = 'SELECT \'it\'\'s\' AS "say ""x"""'
        query = f"SELECT {tree.to_sql()} FROM ({given_row})"
        assert base.execute(query).fetchone() == ("no",)


def one_test(rule, column, **changes) -> Tree:
    n = rule.arity + 1
    weights = np.zeros((n, 2))
    weights[1:] = [[3, 1], *[[1, 2]] * (rule.arity - 1)]
    weights[0] = weights[1:].sum(axis=0)
    parts = {
        "task": Task.classification,
        "columns": (column,),
        "classes": ("no", "yes"),
        "rules": (rule,),
        "test": [0] + [-1] * rule.arity,
        "child_offset": [0, rule.arity] + [rule.arity] * rule.arity,
        "child": range(1, n),
        "missing_child": [-1] * n,
        "weights": weights,
        "counts": weights.sum(axis=1),
        "label": weights.argmax(axis=1),
        "value": np.full(n, np.nan),
        "price": np.ones(n),
        "impurity": np.full(n, np.nan),
        "score": np.full(n, np.nan),
    }
    return Tree(**{**parts, **changes})


AGE = ColumnSpec("age", ColumnKind.continuous)


def test_a_tree_that_splits_rows_has_no_sql():
    with pytest.raises(CapabilityError, match="splits rows with missing values"):
        one_test(Threshold("age", 3), AGE, missing_child=[MISSING_SPLITS, -1, -1]).to_sql()


@given(st.data())
@settings(deadline=None)
def test_the_scikit_learn_tree_predicts_as_the_tree_does(data):
    table = data.draw(tables())
    tree, rows = data.draw(trees(table, binary=True)), data.draw(rows_like(table))
    try:
        X = sklearn_matrix(tree, rows)
    except DataError as error:
        assert "predict with this tree instead" in str(error)
        rest = tree.rest(rows)
        assert ((rest < 0) | ~tree.is_leaf[rest]).any()
        return
    other = tree_sklearn(tree)
    assert X.shape == (rows.n_rows, len(sklearn_features(tree)))
    if tree.task is Task.classification:
        codes = tree.predict(rows)
        assert other.predict(X).tolist() == [tree.classes[code] for code in codes]
        assert other.predict_proba(X) == pytest.approx(tree.predict_proba(rows))
    else:
        assert other.predict(X) == pytest.approx(tree.predict(rows))
    assert other.get_depth() >= tree.depth_of.max()


@given(st.data())
@settings(deadline=None, max_examples=25)
def test_scikit_learns_own_tools_read_it(data):
    table = data.draw(tables(task=Task.classification, min_rows=3))
    tree = data.draw(trees(table, binary=True))
    other, names = tree_sklearn(tree), sklearn_features(tree)
    text = export_text(other, feature_names=names)
    assert text.count("class:") == other.tree_.n_leaves
    assert other.feature_importances_.shape == (len(names),)
    assert other.decision_path(np.zeros((1, len(names)), np.float32)).shape == (
        1,
        other.tree_.node_count,
    )


def test_plot_tree_draws_it():
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tree = one_test(Threshold("age", 3), AGE)
    axes = FigureCanvasAgg(Figure()).figure.subplots()
    assert len(plot_tree(tree_sklearn(tree), feature_names=["age"], ax=axes)) >= 3


def test_the_exported_tree_equals_a_fitted_one_node_by_node():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1)).astype(np.float32)
    y = (X[:, 0] > 0.3).astype(int)
    fitted = DecisionTreeClassifier().fit(X, y)
    threshold = float(fitted.tree_.threshold[0])
    low = X[:, 0] <= threshold
    weights = np.array([np.bincount(part, minlength=2) for part in (y, y[low], y[~low])])
    tree = one_test(
        Threshold("age", threshold),
        AGE,
        weights=weights,
        counts=weights.sum(axis=1),
        label=weights.argmax(axis=1),
    )
    ours, theirs = tree_sklearn(tree).tree_.__getstate__(), fitted.tree_.__getstate__()
    for name in (
        "left_child",
        "right_child",
        "feature",
        "threshold",
        "n_node_samples",
        "weighted_n_node_samples",
    ):
        assert ours["nodes"][name].tolist() == theirs["nodes"][name].tolist(), name
    assert ours["nodes"]["impurity"] == pytest.approx(theirs["nodes"]["impurity"])
    assert ours["values"] == pytest.approx(theirs["values"])


def test_multiway_tests_are_refused_by_name():
    rule = Values("odor", ("a", "b", "c"))
    tree = one_test(rule, ColumnSpec("odor", ColumnKind.categorical, ("a", "b", "c")))
    with pytest.raises(CapabilityError, match="'odor' has 3 outcomes; encode with one-hot"):
        tree.to_sklearn()


def test_a_label_that_is_not_the_heaviest_class_is_refused():
    tree = one_test(Threshold("age", 3), AGE, label=[0, 1, 1])
    with pytest.raises(CapabilityError, match="node 1 predicts 'yes'"):
        tree.to_sklearn()


def ages(values) -> Table:
    target = Target("", Task.classification, np.zeros(len(values)), ("no", "yes"))
    return Table("", (Column("age", ColumnKind.continuous, values),), target)


def test_a_double_that_float32_would_round_across_a_threshold_stays_on_its_side():
    cut = 1.0 + 2.0**-30
    values = np.array([1.0 + 2.0**-31, 1.0 + 2.0**-29])  # both are 1.0 in float32
    tree = one_test(Threshold("age", cut), AGE)
    rows = ages(values)
    assert tree_sklearn(tree).predict(sklearn_matrix(tree, rows)).tolist() == ["no", "yes"]


def test_missing_values_follow_the_branch_the_tree_sends_them_down():
    for outcome, answer in ((0, "no"), (1, "yes")):
        tree = one_test(Threshold("age", 3), AGE, missing_child=[outcome, -1, -1])
        rows = ages(np.array([np.nan]))
        assert tree_sklearn(tree).predict(sklearn_matrix(tree, rows)).tolist() == [answer]
        assert attrs.evolve(tree).predict(rows).tolist() == [outcome]


def test_whether_a_value_is_known_is_the_threshold_infinity_of_scikit_learn():
    tree = one_test(
        Interval("x", None, None, missing_is_other=True), ColumnSpec("x", ColumnKind.continuous)
    )
    exported, rows = tree_sklearn(tree), [{"x": 3.0}, {"x": None}, {"x": -1e300}]
    assert sklearn_features(tree) == ["x"] and exported.tree_.threshold[0] == np.inf
    found = exported.predict(sklearn_matrix(tree, rows[:2]))
    assert found.tolist() == [tree.classes[k] for k in tree.predict(table_like(tree, rows))[:2]]
    assert found[0] != found[1] and export_text(exported) and "or missing" not in tree.to_sql()
