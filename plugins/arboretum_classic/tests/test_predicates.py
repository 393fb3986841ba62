"""Tests made at the node: what they propose is what a brute force finds, and every form of a tree says what the tree says."""

from __future__ import annotations

import itertools
import sqlite3

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arboretum.api import NO_OUTCOME, Column, ColumnKind, DataError, Interval, Table, Target, Task, TestRule, Threshold, masked
from arboretum.sklearn import TreeClassifier, TreeRegressor
from arboretum.testing import PredicateSuite
from arboretum.testing.suites.growth import rules_of
from arboretum.testing.tables import bare_objects, row_of
from arboretum_classic.ball import Balls
from arboretum_classic.m_of_n import MOfNIntervals
from arboretum_classic.oblique import ObliqueSums
from arboretum_classic.predicates import Categories, Intervals, RandomThresholds, Thresholds, coarse
from arboretum_classic.rules import METRICS, Ball, MOfN, Oblique


@pytest.mark.parametrize(
    "component",
    [Thresholds(), Thresholds(columns=1), RandomThresholds(draws=3), Intervals(), Intervals(size=3), MOfNIntervals(), ObliqueSums(),
     *(Balls(metric=metric) for metric in METRICS)],
    ids=lambda component: f"{component.name}-{attrs.astuple(component)}",
)  # fmt: skip
class TestProposals(PredicateSuite):
    pass


@st.composite
def tables(draw, gaps: bool = True) -> Table:
    """Three columns of few distinct numbers, one of words; values may be missing; two or three classes."""
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(4, 30))
    values = generator.integers(-3, 4, (n, 3)) * draw(st.sampled_from([1.0, 0.1, 1e6]))
    words = generator.integers(0, 3, n).astype(np.int32)
    if gaps:
        values[generator.random((n, 3)) < 0.1] = np.nan
        words[generator.random(n) < 0.1] = -1
    columns = [Column(f"x{f}", ColumnKind.continuous, values[:, f]) for f in range(3)]
    columns.append(Column("word", ColumnKind.categorical, words, ("p", "q", "r")))
    return Table("drawn", tuple(columns), Target("y", Task.classification, generator.integers(0, 3, n).astype(np.int32), ("a", "b", "c")))


BOUNDS = st.floats(-4, 4).map(lambda x: round(x, 2))
SIDES = st.tuples(BOUNDS, BOUNDS).map(sorted)
NAMES = ("x0", "x1", "x2")


@st.composite
def rules(draw) -> TestRule:
    """A test of several columns."""
    kind, k = draw(st.sampled_from(["oblique", "m_of_n", *METRICS])), draw(st.integers(1, 3))
    numbers = lambda of=BOUNDS: tuple(draw(st.lists(of, min_size=k, max_size=k)))  # noqa: E731
    if kind == "oblique":
        return Oblique(NAMES[:k], numbers(), draw(BOUNDS))
    if kind == "m_of_n":
        low, high = zip(*numbers(SIDES), strict=True)
        open_ended = draw(st.sampled_from(["low", "high", ""]))
        low, high = ((None, *low[1:]) if open_ended == "low" else low), ((None, *high[1:]) if open_ended == "high" else high)
        return MOfN(tuple(draw(st.lists(st.sampled_from(NAMES), min_size=k, max_size=k))), low, high, draw(st.integers(1, k)))
    scales = numbers(st.floats(0.1, 3).map(lambda x: round(x, 1)))
    word = ("word",) * (kind == "gower")
    return Ball(NAMES[:k] + word, numbers() + ("q",) * len(word), scales + (1.0,) * len(word), abs(draw(BOUNDS)), kind)


@settings(deadline=None, max_examples=60)
@given(table=tables(), rule=rules())
def test_many_rows_and_one_row_and_sql_get_the_same_answer(table, rule):
    rows = np.arange(table.n_rows)
    found = rule.outcomes(table, rows)
    assert found.tolist() == [rule.outcome_of(row_of(table, int(row))) for row in rows]
    without = np.any([table.column(name).missing for name in rule.columns], axis=0)
    assert (found[without] == NO_OUTCOME).all() and (found[~without] >= 0).all()
    assert TestRule.from_json(rule.to_json()) == rule
    assert rule.describe() == f"{rule.subject} {rule.outcome_label(0)}"
    assert answers(rule, table) == found.tolist()


def answers(rule: TestRule, table: Table) -> list[int]:
    """Outcomes by a database."""
    each = [[None if row_of(table, i)[c.name] in (None,) or row_of(table, i)[c.name] != row_of(table, i)[c.name] else row_of(table, i)[c.name] for c in table.columns]
            for i in range(table.n_rows)]
    conditions = rule.sql_conditions(lambda name: f'"{name}"', lambda text: "'" + text + "'")
    with sqlite3.connect(":memory:") as base:
        base.execute(f"CREATE TABLE r ({', '.join(c.name for c in table.columns)})")
        base.executemany(f"INSERT INTO r VALUES ({', '.join('?' * len(table.columns))})", each)
        cases = " ".join(f"WHEN {condition} THEN {k}" for k, condition in enumerate(conditions))
        return [value for (value,) in base.execute(f"SELECT CASE {cases} ELSE -1 END FROM r ORDER BY rowid")]
