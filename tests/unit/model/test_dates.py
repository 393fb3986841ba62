"""Dates as numbers: read from text, compared as numbers, read aloud as dates."""

from __future__ import annotations

import datetime

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.errors import DataError
from arboretum.model.dates import spell_date
from arboretum.model.frame import read_column, table_like
from arboretum.model.rules import Bins, Interval, TestRule, Threshold
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import ColumnSpec, Tree, single_leaf
from arboretum.testing.effort import examples
from arboretum_data.reading.cells import read_dates

DAYS = st.dates().map(lambda day: day.isoformat())
MOMENTS = st.datetimes().map(lambda moment: moment.replace(microsecond=0).isoformat(" "))


@given(st.lists(DAYS, min_size=1, max_size=20))
@examples(50)
def test_days_are_read_in_order_and_spelled_back(days):
    unit, values = read_dates(days)
    assert unit == "days"
    assert [spell_date(v, unit) for v in values] == days
    assert sorted(days) == [days[i] for i in np.argsort(values, kind="stable")]


@given(st.lists(MOMENTS, min_size=1, max_size=20), st.lists(DAYS, max_size=3))
@examples(50)
def test_a_time_of_day_makes_them_seconds(moments, days):
    unit, values = read_dates(moments + days)
    if unit == "seconds":
        assert [spell_date(v, unit) for v in values[: len(moments)]] == moments
    else:
        assert all(moment.endswith("00:00:00") for moment in moments)


@given(st.lists(DAYS, min_size=2, max_size=10, unique=True), st.randoms(use_true_random=False))
@examples(50)
def test_a_test_says_of_every_day_what_it_does(days, random):
    """The day that is read aloud divides the rows as the number does, although midpoints fall
    between days.
    """
    _, values = read_dates(days)
    first, second = sorted(random.sample(values.tolist(), 2))
    rule = Threshold("sold", (first + second) / 2, "days")
    said = rule.outcome_label(0).removeprefix("≤ ")
    assert [rule.outcome_of({"sold": v}) for v in values] == [int(day > said) for day in days]


@pytest.mark.parametrize(
    "text",
    [
        "20200301",
        "2020-03",
        "2020-3-1",
        "01.03.2020",
        "2020-02-30",
        "2020-03-01 25:00",
        "12:30",
        "",
        "2020-03-01T12:30.5",
    ],
)
def test_what_is_not_a_whole_iso_date_is_text(text):
    assert read_dates(["2020-03-01", text]) is None


def test_times_with_a_zone_are_turned_to_utc():
    unit, values = read_dates(["2020-03-01T01:00:00+02:00", "2020-03-01 00:00:00Z"])
    assert [spell_date(v, unit) for v in values] == ["2020-02-29 23:00:00", "2020-03-01 00:00:00"]


@pytest.mark.parametrize(
    "rule",
    [
        Threshold("d", 18322.5, "days"),
        Bins("d", (1.0, 2.0), unit="seconds"),
        Interval("d", 1.0, None, unit="days"),
        Threshold("d", 18322.5),
    ],
)
def test_rules_of_dates_survive_json_and_others_are_written_as_before(rule):
    assert TestRule.from_json(rule.to_json()) == rule
    assert ("unit" in rule.to_json()) == bool(rule.unit)


def test_an_unknown_unit_is_refused():
    with pytest.raises(DataError, match="Threshold.unit: unknown unit 'day'; did you mean 'days'"):
        Threshold("d", 1.0, "day")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (Threshold("d", 18322.5, "days"), ["≤ 2020-03-01", "> 2020-03-01"]),
        (
            Threshold("d", 1583064000.5, "seconds"),
            ["≤ 2020-03-01 12:00:00", "> 2020-03-01 12:00:00"],
        ),
        (
            Bins("d", (0.5, 1.5), unit="days"),
            ["≤ 1970-01-01", "in (1970-01-01, 1970-01-02]", "> 1970-01-02"],
        ),
        (
            Interval("d", 0.5, 1.5, unit="days"),
            ["in (1970-01-01, 1970-01-02]", "not in (1970-01-01, 1970-01-02]"],
        ),
        (Interval("d", None, 1.5, unit="days"), ["≤ 1970-01-02", "> 1970-01-02"]),
        (Threshold("d", 1e9, "days"), ["≤ 1e+09 days", "> 1e+09 days"]),
    ],
)
def test_tests_read_aloud_as_dates(rule, said):
    assert [rule.outcome_label(k) for k in range(rule.arity)] == said


DAY = datetime.date(2020, 3, 1)


@pytest.mark.parametrize(
    ("values", "unit", "found"),
    [
        (["2020-03-01", None, "2020-03-01T23:59"], "days", [18322.0, np.nan, 18322.0]),
        (
            [DAY, datetime.datetime(2020, 3, 1, 12), float("nan")],
            "days",
            [18322.0, 18322.0, np.nan],
        ),
        (np.array(["2020-03-01", "NaT"], "datetime64[D]"), "days", [18322.0, np.nan]),
        (
            np.array(["2020-03-01T00:00:01.5", "NaT"], "datetime64[ns]"),
            "seconds",
            [1583020801.0, np.nan],
        ),
        (np.array([18322.0, 1.0]), "days", [18322.0, 1.0]),
    ],
)
def test_outside_values_are_read_as_the_column_of_dates_was(values, unit, found):
    column = read_column(ColumnSpec("sold", ColumnKind.continuous, (), unit), values)
    assert np.array_equal(column.values, found, equal_nan=True)
    assert column.unit == unit


def test_what_is_no_date_is_refused_with_the_column():
    with pytest.raises(
        DataError, match="column 'sold' must hold dates such as 2020-03-01; got 'yesterday'"
    ):
        read_column(ColumnSpec("sold", ColumnKind.continuous, (), "days"), ["yesterday"])


def dated(values, unit) -> Table:
    target = Target(
        "y",
        Task.classification,
        codes=np.arange(len(values), dtype=np.int32) % 2,
        classes=("a", "b"),
    )
    return Table(
        "t", (Column("sold", ColumnKind.continuous, np.array(values, float), unit=unit),), target
    )


def test_the_unit_travels_with_the_tree_and_is_part_of_the_checksum():
    tree = single_leaf(dated([1.0, 2.0], "days"))
    assert tree.columns[0].unit == "days"
    assert Tree.from_json(tree.to_json()) == tree
    assert "unit" not in single_leaf(dated([1.0], "")).to_json()
    assert dated([1.0, 2.0], "days").sha256() != dated([1.0, 2.0], "").sha256()


def test_a_table_in_another_unit_is_converted_and_plain_numbers_are_refused():
    tree = single_leaf(dated([1.0, 2.0], "days"))
    assert table_like(tree, dated([86_399.0, 86_400.0], "seconds")).columns[0].values.tolist() == [
        0.0,
        1.0,
    ]
    back = single_leaf(dated([1.0], "seconds"))
    assert table_like(back, dated([1.0, np.nan], "days")).columns[0].values.tolist()[0] == 86_400.0
    with pytest.raises(
        DataError, match="column 'sold' holds numbers here, but the tree was grown with dates"
    ):
        table_like(tree, attrs.evolve(dated([1.0], "")))
