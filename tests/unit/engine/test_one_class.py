"""Rows of one class, or one number: a leaf with a note; a method that cannot says so by its
name.
"""

from __future__ import annotations

import pandas as pd
import pytest

import arboretum
from arboretum import TreeClassifier, TreeRegressor
from arboretum.api import CapabilityError


def run(folder, target, *words):
    pd.DataFrame({"a": [i % 3 for i in range(12)], "b": list("pq") * 6, "y": [target] * 12}).to_csv(
        folder / "t.csv", index=False
    )
    return arboretum.run(
        [
            "dataset=file",
            f"dataset.path={folder / 't.csv'}",
            "dataset.target=y",
            "split=none",
            *words,
        ]
    )


@pytest.mark.parametrize("method", ["cart", "c45", "gosdt", "greedytree_pairs", "asr"])
def test_one_class_is_a_leaf_with_a_note(tmp_path, method):
    record = run(tmp_path, "u", f"method={method}")
    assert record.tree.n_leaves == 1 and record.verified and record.metrics["train_error"] == 0
    assert (
        "the training rows show one class, 'u', of 'y': there is nothing to tell apart, and "
        "a leaf says it" in record.notes
    )


def test_one_number_is_one_too(tmp_path):
    record = run(tmp_path, 2.5, "method=cart", "criterion=reduction", "impurity=auto")
    assert record.tree.value.tolist() == [
        2.5
    ] and "the training rows show one value, 2.5, of 'y'" in " ".join(record.notes)


def test_estimators_do_the_same():
    assert TreeClassifier(verify=True).fit([[1.0], [2.0]], ["u", "u"]).predict(
        [[3.0]]
    ).tolist() == ["u"]
    assert TreeRegressor(verify=True).fit([[1.0], [2.0]], [2.5, 2.5]).predict([[3.0]]).tolist() == [
        2.5
    ]


def test_a_loss_that_needs_two_classes_is_refused_by_name(tmp_path):
    with pytest.raises(CapabilityError, match="objective auc is undefined with one class"):
        run(tmp_path, "u", "method=fronts", "objective=auc")
