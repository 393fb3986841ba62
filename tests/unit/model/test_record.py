"""Records and solutions survive JSON, also where a number is not known."""

from __future__ import annotations

import json
import math

import pytest

import arboretum
from arboretum.errors import StoreError
from arboretum.model.record import (
    Certificate,
    Certified,
    Checked,
    Record,
    Selection,
    Solution,
    Status,
)


def record(**changes) -> Record:
    parts = {
        "config": {"choices": {"method": "cart"}, "seed": 1},
        "seed": 1,
        "versions": {"arboretum": "0.1.0"},
        "data": {"name": "iris", "n_rows": 150},
        "timings": {"fit": 0.25},
        "metrics": {"train_error": 0.02, "test_roc_auc": math.nan},
        "solution": Solution(None, 3.5, 3.0, Status.feasible, 12),
        "verified": True,
        "tree": None,
        "fingerprint": "abc",
        "notes": ("one note",),
    }
    return Record(**{**parts, **changes})


def strict(text: str):
    """Parse JSON, refusing the NaN and Infinity that Python would let pass."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_a_choice_comes_back_with_its_standard_errors_also_where_none_is_known():
    tried = [({"a": 1}, 0.5), ({"a": 2}, math.nan)]
    chosen = Selection({"a": 1}, "roc_auc", tried, standard_errors=(0.25, math.nan))
    again = Selection.from_json(strict(json.dumps(chosen.to_json())))
    assert again.tried[0] == tried[0] and math.isnan(again.tried[1][1])
    assert again.standard_errors[0] == 0.25 and math.isnan(again.standard_errors[1])


def test_a_record_comes_back_as_it_was():
    again = Record.from_json(record().to_json())
    assert again.to_json() == record().to_json()
    assert math.isnan(again.metrics["test_roc_auc"])
    assert again.solution.status is Status.feasible
    assert again.solution.gap == 0.5
    assert again.notes == ("one note",)


def test_a_record_is_strict_json_whatever_is_unknown():
    unknown = Solution(None, math.inf, math.nan, Status.infeasible)
    text = record(solution=unknown, metrics={"gap": math.inf}).to_json()
    assert strict(text)["solution"]["value"] is None
    assert math.isnan(Record.from_json(text).solution.lower_bound)


def test_whose_word_a_value_is_comes_back_and_is_read_off_older_records():
    for checked in (None, *Checked):
        again = Record.from_json(
            record(solution=Solution(None, 2.0, 2.0, Status.optimal, checked=checked)).to_json()
        )
        assert again.solution.checked is checked
        assert again.solution.word == (
            "optimal (claimed)" if checked is Checked.claimed else "optimal"
        )
    for told, checked in (
        ("by the objective", Checked.verified),
        ("not: the run has no objective", Checked.claimed),
    ):
        assert (
            Record.from_json(record(checked={"value": told}).to_json()).solution.checked is checked
        )


def test_an_optimal_solution_has_no_gap():
    assert Solution(None, 2.0, 2.0, Status.optimal).gap == 0


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"schema": "arboretum.record/0"}', '{"schema": "arboretum.record/1"}'],
)
def test_text_that_is_no_record_is_refused_in_one_line(text):
    with pytest.raises(StoreError, match="not a record") as error:
        Record.from_json(text)
    assert "\n" not in str(error.value)


def test_a_damaged_record_is_refused():
    text = record().to_json()
    for old, new in (('"feasible"', '"fine"'), ('"metrics": {', '"metrics": 3, "x": {')):
        with pytest.raises(StoreError, match="edited or cut short"):
            Record.from_json(text.replace(old, new))


def certificate(**complexities: Certified) -> Certificate:
    return Certificate({"name": "dp"}, {"min_split": 0, "theta": 0.0, "delta": None}, complexities)


def test_a_certificate_comes_back_as_it_was_and_is_absent_where_there_is_none():
    found = certificate(
        depth=Certified(3.0, 2.0, 2.0),
        n_leaves=Certified(5.0, 4.0, 5.0),
        max_cost=Certified(2.0, 0.0, 0.0),
    )
    text = record(certificate=found).to_json()
    again = Record.from_json(text)
    assert again.to_json() == text
    assert again.certificate.complexities == found.complexities
    assert "certificate" not in json.loads(record().to_json())
    assert Record.from_json(record().to_json()).certificate is None


@pytest.mark.parametrize(
    ("numbers", "minimum", "ratio", "says", "cells"),
    [
        ((3.0, 2.0, 2.0), 2.0, 1.5, "exact", ("3", "2", "1.500", "")),
        ((3.0, 3.0, 3.0), 3.0, 1.0, "exact", ("3", "3", "1", "")),
        ((3.0, 2.0, 2.5), None, 1.5, "at most", ("3", "≥ 2", "≤ 1.500", "")),
        ((3.0, 0.0, 0.0), 0.0, None, "undefined", ("3", "0", "–", "")),
        ((3.0, 0.0, 2.0), None, None, "unknown", ("3", "≥ 0", "–", "")),
    ],
)
def test_a_ratio_says_what_it_is(numbers, minimum, ratio, says, cells):
    found = Certified(*numbers)
    assert (found.minimum, found.ratio, found.ratio_is) == (minimum, ratio, says)
    assert tuple(found.cells().values()) == cells


def test_a_damaged_certificate_is_refused():
    text = record(certificate=certificate(depth=Certified(3.0, 2.0, 2.0))).to_json()
    for old, new in (
        ('"value": 3.0,\n        "minimum"', '"value": null,\n        "minimum"'),
        ('"complexities": {', '"complexities": 3, "x": {'),
    ):
        assert old in text
        with pytest.raises(StoreError, match="edited or cut short"):
            Record.from_json(text.replace(old, new))


# -- what a notebook shows -------------------------------------------------------------------------


def test_a_record_says_in_one_line_what_was_run_and_how_good_it_is():
    run = arboretum.run(["dataset=iris", "stopping.standard.max_depth=2", "seed=1"])
    text = repr(run)
    assert text.startswith("Record(cart on iris, seed 1: n_nodes 5, depth 2, train_error 0.")
    assert (
        "test_error" in text
        and "expected_cost" in text
        and text.endswith(", verified)")
        and len(text) < 200
    )
    assert repr(run.tree) == "Tree(3 classes, 4 columns: 5 nodes, 3 leaves, depth 2)"


def test_a_record_of_numbers_shows_its_squared_errors():
    text = repr(arboretum.run(["dataset=diabetes", "stopping.standard.max_depth=1"]))
    assert "train_mse" in text and "error" not in text


def test_a_record_with_little_in_it_is_shown_too():
    bare = record(
        config={}, data={}, metrics={}, timings={}, solution=None, notes=("a < b",), verified=False
    )
    assert repr(bare) == "Record(a run, seed 1: not verified)"
