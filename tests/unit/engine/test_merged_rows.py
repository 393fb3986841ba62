"""Rows that an encoder merged: what an optimum says of objects is not what it says of rows."""

from __future__ import annotations

import pandas as pd
import pytest

import arboretum


def run(folder, target, *words):
    """Twelve rows of three kinds that no test tells apart.   target : of each row."""
    pd.DataFrame({"a": [0, 1, 2] * 4, "y": target}).to_csv(folder / "t.csv", index=False)
    path = f"dataset.path={folder / 't.csv'}"
    kinds = "dataset.kinds={a: categorical}"
    data = ["dataset=file", path, "dataset.target=y", kinds, "split=none"]
    return arboretum.run([*data, "objective.lam=0.001", *words])


def said(record):
    return [note for note in record.notes if "merged" in note]


CLASSES = list("uvu" * 3 + "vvu")
"""One row is of another class than those that are like it."""


def test_the_value_of_merged_objects_is_told_apart_from_that_of_rows(tmp_path):
    merged = run(tmp_path, CLASSES, "method=gosdt", "encoder.coalesce=sum")
    rows = run(tmp_path, CLASSES, "method=gosdt", "encoder.coalesce=none")
    assert merged.metrics["train_error"] == rows.metrics["train_error"] == pytest.approx(1 / 12)
    assert rows.solution.value - merged.solution.value == pytest.approx(1 / 12)
    assert said(merged) == [
        "value and bound are of 3 objects that 12 rows were merged to (rows of another class "
        "than their object: 1); with encoder.coalesce=none they are of rows"
    ]
    assert said(rows) == []


def test_rows_that_are_alike_in_class_too_are_as_good_as_their_objects(tmp_path):
    alike = run(tmp_path, list("uvu" * 4), "method=gosdt", "encoder.coalesce=sum")
    assert alike.data["n_objects"] == 3 and said(alike) == []


def test_numbers_are_told_apart_and_trees_that_nobody_proves_are_not(tmp_path):
    numbers = [k + 0.5 * (k % 2) for k in range(12)]
    words = ("encoder=multiway", "encoder.coalesce=sum")
    (note,) = said(run(tmp_path, numbers, "method=regression", "encoder.coalesce=sum"))
    assert "another number than their object" in note
    assert said(run(tmp_path, CLASSES, "method=cart", "objective=accuracy", *words)) == []
