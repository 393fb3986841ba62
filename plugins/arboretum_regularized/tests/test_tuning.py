"""The descending rule, on given scores, on real trees, and in whole runs."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import Column, ColumnKind, Selection, Solution, Status, Table, Target, Task
from arboretum_regularized import tuning
from arboretum_regularized.tuning import LAMBDAS, Descending

VALID = Table(
    "v",
    (Column("x", ColumnKind.continuous, np.arange(4.0)),),
    Target("y", Task.classification, np.array([0, 1, 0, 1], np.int32), ("a", "b")),
)


@attrs.frozen
class Given:
    """A score that a tree brings with it."""

    measure: str = "roc_auc"
    notes: tuple = ()

    def of(self, tree):
        return tree


@pytest.fixture
def told(monkeypatch):
    """Let ``tune`` meet given scores: told(tuner, scores) → (kept value, values tried)."""
    monkeypatch.setattr(tuning.ValidationScore, "on", staticmethod(lambda table: Given()))
    return _told


def _told(tuner, scores):
    by_value, asked = dict(zip(tuner.values, scores, strict=False)), []

    def fit(values):
        asked.append(values[tuner.field])
        return Solution(by_value[values[tuner.field]], 0.0, 0.0, Status.feasible)

    selection, solution = tuner.tune(fit, VALID)
    assert isinstance(selection, Selection)
    kept = selection.kept[tuner.field]
    assert solution.tree == by_value[kept]
    expected = [
        ({tuner.field: value}, math.nan if by_value[value] is None else by_value[value])
        for value in asked
    ]
    assert str(selection.tried) == str(expected)  # as text: NaN is NaN
    return kept, asked


def test_the_values_are_the_papers():
    assert (Descending().values, Descending().field, Descending().drop) == (
        (100.0, 10.0, 1.0, 0.1, 0.01),
        "criterion.lam",
        0.01,
    )


@pytest.mark.parametrize(
    ("scores", "kept", "tries"),
    [
        ((0.95, 1.0, 1.0, 0.85), 1.0, 4),  # the authors' trace for iris
        ((0.95, 0.95, 0.95, 0.95, 0.95), 0.01, 5),  # no drop: the last of all
        ((0.95, 0.93), 100.0, 2),
        ((0.95, 0.94, 0.93), 10.0, 3),  # 0.01 is no drop; 0.02 against the best is
        ((0.90, 0.95, 0.945, 0.941, 0.93), 0.1, 5),
        ((0.95, None), 100.0, 2),  # the budget ran out
        ((None,), 100.0, 1),
    ],
)
def test_the_value_before_the_drop_is_kept(told, scores, kept, tries):
    found, asked = told(Descending(), scores)
    assert found == kept
    assert asked == list(LAMBDAS[:tries])


def test_against_the_previous_value_a_slow_decline_is_no_drop(told):
    scores = (0.95, 0.945, 0.938, 0.93, 0.925)
    assert told(Descending(), scores)[0] == 10.0
    assert told(Descending(against="previous"), scores)[0] == 0.01
    assert told(Descending(against="previous"), (0.95, 0.945, 0.93))[0] == 10.0


def test_a_relative_drop_is_a_share_of_what_it_is_compared_with(told):
    scores = (0.6, 0.593, 0.5)
    assert told(Descending(), scores)[0] == 10.0
    assert told(Descending(relative=True), scores)[0] == 100.0  # 0.007 > 1 % of 0.6


@given(
    st.lists(st.integers(40, 100), min_size=1, max_size=6),
    st.integers(0, 10),
    st.booleans(),
    st.booleans(),
)
def test_the_descending_rule_is_the_sentence_that_states_it(percent, drop, previous, relative):
    """Whole percents: in integers there is no rounding to speak of."""
    tuner = Descending(
        values=tuple(range(len(percent))),
        drop=drop / 100,
        against="previous" if previous else "best",
        relative=relative,
    )
    expected = 0
    for i in range(1, len(percent)):
        reference = percent[i - 1] if previous else max(percent[:i])
        if 100 * (reference - percent[i]) > drop * (reference if relative else 100):
            break
        expected = i
    solutions = [Solution(score / 100, 0.0, 0.0, Status.feasible) for score in percent]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning.ValidationScore, "on", staticmethod(lambda table: Given()))
        selection, solution = tuner.tune(lambda values: solutions[values["criterion.lam"]], VALID)
    assert selection.kept == {"criterion.lam": expected} and solution is solutions[expected]


@pytest.mark.parametrize(
    ("tuner", "fields", "complaint"),
    [
        (
            Descending,
            {"values": ()},
            "tuner.values must hold at least one value; got an empty list",
        ),
        (Descending, {"drop": -0.1}, "tuner.drop must be ≥ 0; got -0.1"),
        (
            Descending,
            {"against": "worst"},
            "tuner.against must be one of best, previous; got 'worst'",
        ),
    ],
)
def test_impossible_fields_are_refused(tuner, fields, complaint):
    with pytest.raises(ValueError, match=complaint):
        tuner(**fields)
