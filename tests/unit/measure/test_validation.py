"""The score by which pruners and tuners choose, against the tree that is really cut and
scikit-learn's area.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest
import sklearn.metrics
from drawn_trees import tables, trees
from hypothesis import given, strategies as st

from arboretum.errors import DataError
from arboretum.measure import ValidationScore, evaluate, metrics
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import single_leaf


def shown(codes, classes=("a", "b", "c"), weights=None):
    column = Column("x", ColumnKind.continuous, np.arange(float(len(codes))))
    return Table(
        "t",
        (column,),
        Target("y", Task.classification, np.array(codes, np.int32), classes),
        weights,
    )


@given(st.data())
def test_the_score_of_a_cut_is_that_of_the_tree_that_is_cut(data):
    table = data.draw(tables())
    tree = data.draw(trees(table))
    score = ValidationScore.on(table)
    of_cuts = score.of_cuts(tree)
    for _ in range(3):
        nodes = data.draw(st.lists(st.integers(0, tree.n_nodes - 1), max_size=3))
        cut = tree.cut(nodes)
        assert of_cuts(nodes) == pytest.approx(evaluate(cut, table)[score.measure])
        assert of_cuts(nodes) == pytest.approx(score.of(cut))


@given(st.data())
def test_the_area_of_a_tree_is_that_of_its_probabilities(data):
    table = data.draw(tables(task=Task.classification))
    tree = data.draw(trees(table))
    by_rows = metrics.roc_auc(table.target.codes, tree.predict_proba(table), table.row_weights())
    assert evaluate(tree, table)["roc_auc"] == pytest.approx(by_rows, nan_ok=True)


def test_the_area_for_several_classes_is_scikit_learns_macro_mean():
    generator = np.random.default_rng(3)
    proba = generator.dirichlet(np.ones(3), 40)
    table = shown(np.arange(40) % 3)
    expected = sklearn.metrics.roc_auc_score(
        table.target.codes, proba, multi_class="ovr", average="macro"
    )
    assert metrics.roc_auc(table.target.codes, proba, table.row_weights()) == pytest.approx(
        expected
    )


def test_a_class_that_no_row_shows_is_left_out_and_named():
    table = shown([0, 0, 2, 2])
    proba = np.array([[0.8, 0.1, 0.1], [0.2, 0.1, 0.7], [0.3, 0.5, 0.2], [0.1, 0.1, 0.8]])
    # a: 3 of 4 pairs in order (0.8, 0.2 against 0.3, 0.1); c: 0.2 > 0.1, 0.8 above both
    assert metrics.roc_auc(table.target.codes, proba, table.row_weights()) == pytest.approx(
        (3 / 4 + 3 / 4) / 2
    )
    score = ValidationScore.on(table)
    assert score.measure == "roc_auc"
    assert score.notes == (
        "the validation rows show no object of class 'b': ROC AUC is the mean over the other 2",
    )


def test_rows_of_one_class_are_judged_by_accuracy_and_a_note_says_so():
    score = ValidationScore.on(shown([1, 1, 1]))
    assert score.measure == "accuracy"
    assert score.notes == (
        "the validation rows show one class, 'b': ROC AUC is undefined, accuracy takes its place",
    )
    assert score.of(single_leaf(shown([0, 1, 1]))) == 1.0
    assert score.of(single_leaf(shown([0, 0, 1]))) == 0.0
    assert np.isnan(evaluate(single_leaf(shown([0, 0, 1])), shown([1, 1]))["roc_auc"])


def test_many_absent_classes_are_counted():
    classes = tuple(f"c{i}" for i in range(9))
    note = ValidationScore.on(shown([0, 8], classes)).notes[0]
    assert "'c1', 'c2', 'c3', 'c4', 'c5' and 2 more" in note


def test_numbers_are_judged_by_the_share_of_variance_explained():
    column = Column("x", ColumnKind.continuous, np.arange(4.0))
    table = Table("t", (column,), Target("y", Task.regression, values=np.array([1.0, 2, 3, 4])))
    score = ValidationScore.on(table)
    assert (score.measure, score.notes) == ("r2", ())
    assert score.of(single_leaf(table)) == pytest.approx(0.0)


def test_a_table_without_rows_is_refused():
    column = Column("x", ColumnKind.continuous, np.arange(2.0))
    numbers = Table("t", (column,), Target("y", Task.regression, values=np.array([1.0, 2])))
    with pytest.raises(DataError, match="no validation row of t to judge on; use split=holdout"):
        ValidationScore.on(attrs.evolve(numbers.take(np.arange(0))))
