"""Tests made at the node: what they propose is what a brute force finds, and every form of a
tree says what the tree says.
"""

from __future__ import annotations

import itertools
import sqlite3

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import (
    NO_OUTCOME,
    Column,
    ColumnKind,
    DataError,
    RawFeature,
    Table,
    Target,
    Task,
    TestRule,
    Tree,
)
from arboretum.engine.run import Request, run
from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.discovery import load_registry
from arboretum.sklearn import TreeClassifier, TreeRegressor
from arboretum.testing import PredicateSuite
from arboretum.testing.effort import examples
from arboretum.testing.suites.growth import rules_of
from arboretum.testing.tables import bare_objects, row_of
from arboretum_basics.questionnaire import Questionnaire
from arboretum_basics.to_sklearn import sklearn_matrix
from arboretum_classic.predicates.ball import Balls
from arboretum_classic.predicates.intervals import Intervals
from arboretum_classic.predicates.predicates import RandomThresholds, Thresholds, ranks_of_few_bins
from arboretum_classic.predicates.proposals import Goal, climb_interval
from arboretum_classic.predicates.rules import METRICS, Ball, MOfN, Oblique


@pytest.mark.parametrize(
    "component",
    [
        Thresholds(columns=1),
        RandomThresholds(draws=3),
        Intervals(size=3),
        *(Balls(metric=metric) for metric in METRICS),
    ],
    ids=lambda component: f"{component.name}-{attrs.astuple(component)}",
)
class TestProposals(PredicateSuite):
    pass


@st.composite
def tables(draw, gaps: bool = True) -> Table:
    """Three columns of few distinct numbers, one of words; values may be missing; two or three
    classes.
    """
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(4, 30))
    values = generator.integers(-3, 4, (n, 3)) * draw(st.sampled_from([1.0, 0.1, 1e6]))
    words = generator.integers(0, 3, n).astype(np.int32)
    if gaps:
        values[generator.random((n, 3)) < 0.1] = np.nan
        words[generator.random(n) < 0.1] = -1
    columns = [Column(f"x{f}", ColumnKind.continuous, values[:, f]) for f in range(3)]
    columns.append(Column("word", ColumnKind.categorical, words, ("p", "q", "r")))
    return Table(
        "drawn",
        tuple(columns),
        Target(
            "y", Task.classification, generator.integers(0, 3, n).astype(np.int32), ("a", "b", "c")
        ),
    )


BOUNDS = st.floats(-4, 4).map(lambda x: round(x, 2))
SIDES = st.tuples(BOUNDS, BOUNDS).map(sorted)
NAMES = ("x0", "x1", "x2")


@st.composite
def rules(draw) -> TestRule:
    """A test of several columns."""
    kind, k = draw(st.sampled_from(["oblique", "m_of_n", *METRICS])), draw(st.integers(1, 3))
    numbers = lambda of=BOUNDS: tuple(draw(st.lists(of, min_size=k, max_size=k)))
    if kind == "oblique":
        return Oblique(NAMES[:k], numbers(), draw(BOUNDS))
    if kind == "m_of_n":
        low, high = zip(*numbers(SIDES), strict=True)
        open_ended = draw(st.sampled_from(["low", "high", ""]))
        low = (None, *low[1:]) if open_ended == "low" else low
        high = (None, *high[1:]) if open_ended == "high" else high
        return MOfN(
            tuple(draw(st.lists(st.sampled_from(NAMES), min_size=k, max_size=k))),
            low,
            high,
            draw(st.integers(1, k)),
        )
    scales = numbers(st.floats(0.1, 3).map(lambda x: round(x, 1)))
    word = ("word",) * (kind == "gower")
    return Ball(
        NAMES[:k] + word,
        numbers() + ("q",) * len(word),
        scales + (1.0,) * len(word),
        abs(draw(BOUNDS)),
        kind,
    )


@examples(60)
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
    cases = " ".join(
        f"WHEN {condition} THEN {k}"
        for k, condition in enumerate(
            rule.sql_conditions(lambda name: f'"{name}"', lambda text: f"'{text}'")
        )
    )
    return asked(table, f"CASE {cases} ELSE -1 END")


def asked(table: Table, expression: str) -> list:
    """The value of an SQL expression for each row, a missing value being NULL."""
    rows = [row_of(table, i) for i in range(table.n_rows)]
    cells = [
        [None if (value := row[c.name]) is None or value != value else value for c in table.columns]
        for row in rows
    ]
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE r ({', '.join(c.name for c in table.columns)})")
    base.executemany(f"INSERT INTO r VALUES ({', '.join('?' * len(table.columns))})", cells)
    found = [value for (value,) in base.execute(f"SELECT {expression} FROM r ORDER BY rowid")]
    base.close()
    return found


@examples(40)
@given(table=tables())
def test_intervals_and_thresholds_are_all_there_are(table):
    """Every way to divide the known values of a column at the node, by one cut or by two, is
    proposed once.
    """
    objects, rows = raw_objects(table), np.arange(table.n_rows)
    for predicate, least in ((Thresholds(columns=99), 0), (Intervals(size=30), 1)):
        found: dict[str, list[bytes]] = {}
        for rule in rules_of(predicate, objects, rows, 0):
            found.setdefault(rule.columns[0], []).append(rule.outcomes(table, rows).tobytes())
        for column in table.columns[:3]:
            known = np.unique(column.values[~column.missing])
            cuts = (
                [*itertools.combinations(known, 2)]
                if least
                else [(low, known[-1]) for low in known[:-1]]
            )
            want = set()
            for low, high in (
                cuts if not least else itertools.combinations_with_replacement(known, 2)
            ):
                inside = (
                    (column.values >= low) & (column.values <= high)
                    if least
                    else column.values <= low
                )
                if not least or high < known[-1]:
                    want.add(
                        np.where(column.missing, NO_OUTCOME, ~inside).astype(np.int32).tobytes()
                    )
            mine = found.get(column.name, [])
            assert len(mine) == len(set(mine)) and set(mine) == want


@given(
    values=st.lists(st.integers(-5, 5) | st.just(None), min_size=1, max_size=40),
    most=st.integers(2, 6),
)
def test_a_column_of_many_values_is_divided_evenly_at_midpoints(values, most):
    values = np.array([np.nan if value is None else float(value) for value in values])
    codes, cuts = ranks_of_few_bins(values, most)
    known = ~np.isnan(values)
    assert len(cuts) < most and (np.diff(cuts) > 0).all()
    assert codes[known].tolist() == np.searchsorted(cuts, values[known]).tolist()
    assert (codes[~known] == len(cuts) + 1).all()
    distinct = np.unique(values[known])
    assert set(cuts) <= set((distinct[:-1] + distinct[1:]) / 2)
    # no part is heavier than its share, but for the values that no cut divides
    if len(distinct) > most:
        largest = max(np.bincount(np.searchsorted(distinct, values[known])))
        assert np.bincount(codes[known]).max() <= known.sum() / most + 2 * largest


def raw_objects(table: Table):
    numeric = [(i, c) for i, c in enumerate(table.columns) if c.kind is ColumnKind.continuous]
    return bare_objects(
        table,
        raw_features=tuple(RawFeature(c.name, i) for i, c in numeric),
        raw=np.stack([c.values for _, c in numeric], axis=1),
    )


def rotated(n=300, seed=0):
    """Two classes on both sides of a slanted line, with a gap."""
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 3))
    side = 0.6 * X[:, 0] - X[:, 1]
    return X[np.abs(side) > 0.05], (side > 0)[np.abs(side) > 0.05].astype(int)


@pytest.mark.parametrize("restarts", [0, 2])
def test_oblique_finds_the_line_that_separates(restarts):
    X, y = rotated()
    tree = (
        TreeClassifier(
            predicate="oblique",
            predicate__oblique__restarts=restarts,
            predicate__oblique__terms=2,
            verify=True,
        )
        .fit(X, y)
        .tree_
    )
    assert tree.n_leaves == 2 and isinstance(tree.rules[0], Oblique)
    weights = dict(zip(tree.rules[0].columns, tree.rules[0].coefficients, strict=True))
    assert weights["x0"] / weights["x1"] == pytest.approx(-0.6, abs=0.15)
    assert TreeClassifier().fit(X, y).tree_.n_leaves > 5


def test_one_oblique_sum_fits_numbers_on_a_slope():
    X = np.random.default_rng(1).uniform(-1, 1, (200, 3))
    y = np.sign(X[:, 0] + X[:, 1])
    grown = [
        TreeRegressor(predicate=option, max_depth=2, verify=True).fit(X, y)
        for option in ("oblique", "threshold")
    ]
    assert grown[0].score(X, y) > 0.95 > grown[1].score(X, y)


def test_m_of_n_and_intervals_divide_what_thresholds_need_many_tests_for():
    X = np.random.default_rng(0).uniform(-1, 1, (400, 4))
    band = (np.abs(X[:, 2] - 0.1) < 0.3).astype(int)
    assert TreeClassifier(predicate="interval", verify=True).fit(X, band).tree_.n_leaves == 2
    assert TreeClassifier(predicate="threshold").fit(X, band).tree_.n_leaves == 3
    two_of_three = ((X[:, :3] > 0).sum(axis=1) >= 2).astype(int)
    trees = [
        TreeClassifier(predicate=option, predicate__m_of_n__size=24, verify=True)
        .fit(X, two_of_three)
        .tree_
        for option in (["m_of_n"], ["m_of_n", "threshold"])
    ]
    assert (
        trees[0].n_leaves <= 6
        and isinstance(trees[0].rules[0], MOfN)
        and trees[0].rules[0].m == 2 == len(trees[0].rules[0].columns) - 1
    )
    corners = ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int)
    found = TreeClassifier(
        predicate="m_of_n", predicate__m_of_n__terms=2, max_depth=2, verify=True
    ).fit(X, corners)
    assert (
        found.score(X, corners)
        > 0.97
        > 0.8
        > TreeClassifier(max_depth=2).fit(X, corners).score(X, corners)
    )


def test_a_ball_holds_a_cluster():
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = ((X**2).sum(axis=1) < 1).astype(int)
    few = TreeClassifier(
        predicate="ball", predicate__ball__centres=300, max_leaf_nodes=3, verify=True
    ).fit(X, y)
    assert few.score(X, y) > TreeClassifier(max_leaf_nodes=3).fit(X, y).score(X, y) + 0.1


def mixed(n=120, seed=0) -> Table:
    """Numbers and words with gaps, two classes."""
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(n, 3)).round(2)
    words = generator.integers(0, 3, n).astype(np.int32)
    label = ((values[:, 0] + values[:, 1] > 0) ^ (words == 1)).astype(np.int32)
    values[generator.random((n, 3)) < 0.08] = np.nan
    words[generator.random(n) < 0.08] = -1
    columns = [Column(f"x{f}", ColumnKind.continuous, values[:, f]) for f in range(3)]
    columns.append(Column("word", ColumnKind.categorical, words, ("p", "it's", "r")))
    return Table("mixed", tuple(columns), Target("y", Task.classification, label, ("no", "yes")))


@attrs.frozen
class Given:
    kind, name, capabilities = "dataset", "given", ()

    def load(self, seed):
        return mixed()


def grown(services, chosen, values) -> Tree:
    """The tree of a verified run; all rows train."""
    parts = attrs.evolve(services.parts({**chosen, "split": "none"}, values), dataset=Given())
    record = run(Request(parts))
    assert record.verified
    return record.tree


ALL = ("threshold", "interval", "m_of_n", "oblique", "ball", "categorical", "random")


@pytest.fixture(scope="module")
def services() -> RegistryFactory:
    return RegistryFactory(load_registry())


@pytest.mark.parametrize(
    "criterion, impurity",
    [
        ("reduction", "gini"),
        ("gain_ratio", "entropy"),
        ("c45", "entropy"),
        ("aggregated", "me"),
        ("regularized", "entropy"),
        ("worst_case", "pairs"),
    ],
)
def test_the_criteria_of_every_paper_score_them_unchanged(services, criterion, impurity):
    chosen = {
        "method": "greedy",
        "criterion": criterion,
        "impurity": impurity,
        "predicate": ALL,
        "stopping": ("standard",),
    }
    values = {
        "stopping.standard.max_depth": 3,
        "predicate.oblique.restarts": 0,
        "predicate.ball.centres": 4,
    }
    assert grown(services, chosen, values).n_leaves > 2


def test_a_mixed_tree_leaves_in_every_form_with_the_same_predictions(services):
    table = mixed()
    values = {"oblique.single": False, "ball.metric": "gower", "ball.columns": 2}
    trees = []
    for some in (("categorical", "oblique"), ("m_of_n",), ("ball",), ("ball", "m_of_n", "oblique")):
        own = {
            f"predicate.{key}": value for key, value in values.items() if key.split(".")[0] in some
        }
        trees.append(
            grown(
                services,
                {"method": "cart", "predicate": some},
                {**own, "stopping.standard.max_depth": 6},
            )
        )
    assert {rule.tag for tree in trees for rule in tree.rules} >= {
        "equals",
        "oblique",
        "ball",
        "m_of_n",
    }
    for tree in trees:
        assert Tree.from_json(tree.to_json()) == tree
        want = [tree.classes[k] for k in tree.predict(table)]
        assert asked(table, tree.to_sql()) == want
        assert tree.to_sklearn().predict(sklearn_matrix(tree, table)).tolist() == want
        for rule in tree.rules:
            assert (
                rule.subject[:10] in tree.to_text(width=200)
                and rule.subject[:10] in tree.to_graphviz()
            )
        assert Questionnaire().write(tree) and tree.to_svg()


@pytest.mark.parametrize("seed", range(3))
def test_thresholds_grow_the_tree_of_raw_columns(seed):
    X = np.random.default_rng(seed).normal(size=(80, 3)).round(1)
    y = (X.sum(axis=1) + np.random.default_rng(seed + 9).normal(size=80) > 0).astype(int)
    X[(X < -1) & (seed > 0)] = np.nan  # whether a value is known is the best test of some nodes
    own, plain = (
        TreeClassifier(**more).fit(X, y).tree_ for more in ({"predicate": "threshold"}, {})
    )
    assert own.counts.tolist() == plain.counts.tolist()
    assert [own.rule(v) for v in np.flatnonzero(~own.is_leaf)] == [
        plain.rule(v) for v in np.flatnonzero(~plain.is_leaf)
    ]


def test_draws_depend_on_the_seed_and_the_rows_alone():
    X = np.random.default_rng(0).normal(size=(100, 6))
    y = (X[:, 0] > 0).astype(int)
    grown = {}
    for seed in (1, 1, 2):
        tree = (
            TreeClassifier(
                predicate=["random", "interval"],
                predicate__random__columns=2,
                predicate__interval__columns=1,
                random_state=seed,
            )
            .fit(X, y)
            .tree_
        )
        grown.setdefault(seed, set()).add(tree.to_json())
    assert len(grown[1]) == len(grown[2]) == 1 and grown[1] != grown[2]


def test_what_a_rule_cannot_be_is_named():
    for make, complaint in [
        (lambda: Oblique(("a", "b"), (1.0,), 0.0), "one entry per column"),
        (lambda: Oblique(("a",), (np.inf,), 0.0), "finite"),
        (lambda: Ball(("a",), (1.0,), (0.0,), 1.0), "scales above 0"),
        (lambda: MOfN(("a",), (1.0,), (2.0,), 2), "1 ≤ m ≤ 1"),
        (lambda: MOfN(("a",), (None,), (None,), 1), "a bound or two"),
    ]:
        with pytest.raises(DataError, match=complaint):
            make()


def test_no_interval_becomes_the_whole_column():
    """Where all rows without a value are of one class, "all known ones" is the purest set of the
    proxy, but no test.
    """
    goal = Goal(np.eye(2)[[0, 0, 0, 1, 1, 1, 1]], np.ones(7))
    by_bin = goal.by_bin(np.array([4, 4, 4, 0, 1, 2, 3]), np.array([0.5, 1.5, 2.5]))
    assert all(
        climb_interval(goal, np.zeros(3), by_bin, first, last) != (0, 3)
        for first, last in itertools.combinations(range(4), 2)
        if (first, last) != (0, 3)
    )
    X = np.array([[np.nan, 0.0], [np.nan, 0], [np.nan, 1], [0, 0], [1, 0], [2, 1], [3, 1]])
    assert (
        TreeClassifier(predicate="m_of_n", missing="majority", verify=True)
        .fit(X, [0, 0, 0, 1, 1, 1, 1])
        .tree_.n_nodes
        > 1
    )
