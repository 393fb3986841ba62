"""Fuzzy trees: crisp at width 0 to the bit, shares that sum to one, widths that lower the error
of both sides together, and what a rule says.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

import arboretum
from arboretum.api import (
    ArboretumError,
    CapabilityError,
    Context,
    DataError,
    Limits,
    Parts,
    Problem,
    RawFeature,
    Task,
    TestRule,
    Tree,
    grow,
)
from arboretum.sklearn import TreeClassifier
from arboretum.testing.effort import examples
from arboretum.testing.suites.base import verify_solution
from arboretum.testing.tables import TreeParts, prices_of, row_of, toy_objects, toy_table
from arboretum_classic.criteria.criteria import Reduction
from arboretum_classic.criteria.impurities import Auto
from arboretum_classic.fuzzy.growth import GRID
from arboretum_classic.fuzzy.method import SoftSplits
from arboretum_classic.fuzzy.rule import FuzzyThreshold, Shape
from arboretum_classic.oblivious.decision_table import DecisionTable


@attrs.frozen
class Held:
    """Limits of a run."""

    max_depth: int = 3
    min_leaf: int = 1
    name = "held"

    def limits(self):
        return Limits(max_depth=self.max_depth, min_leaf=self.min_leaf)

    def is_leaf(self, node):
        return False


def problem_of(table, method, **limits) -> Problem:
    """Continuous columns raw, categories one by one."""
    objects = toy_objects(table, multiway=False)
    kept = [f for f, feature in enumerate(objects.features) if feature.column in ("shade", "lit")]
    values = np.array([table.column(name).values for name in ("width", "height")]).T.copy()
    objects = attrs.evolve(
        objects,
        features=tuple(objects.features[f] for f in kept),
        codes=objects.codes[:, kept].copy(),
        raw=values,
        raw_features=(RawFeature("width", 0), RawFeature("height", 2)),
    )
    return Problem(
        objects,
        prices_of(objects),
        Parts(method, criterion=Reduction(), impurity=Auto(), stopping=(Held(**limits),)),
    )


KINDS = st.sampled_from(
    [
        TreeParts(missing=missing, task=task, weighted=task is Task.classification)
        for missing in (False, True)
        for task in Task
    ]
)
"""With and without weights the search is compiled anew; the tests below have no weights, and
share what is compiled.
"""


@pytest.mark.slow
@examples(100)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(6, 50),
    task=st.sampled_from(Task),
    min_leaf=st.sampled_from([1, 3]),
)
def test_width_0_is_the_crisp_tree_to_the_bit(seed, n, task, min_leaf):
    table = toy_table(seed, n, TreeParts(weighted=False, task=task))
    problem = problem_of(table, SoftSplits(width=0.0), max_depth=4, min_leaf=min_leaf)
    fuzzy, crisp = problem.parts.method.fit(problem, Context()).tree, grow(problem, Context()).tree
    if task is Task.classification:
        assert fuzzy == crisp
    else:  # moments are summed in another order
        assert (
            fuzzy.rules == crisp.rules
            and np.array_equal(fuzzy.test, crisp.test)
            and np.array_equal(fuzzy.counts, crisp.counts)
        )
        assert fuzzy.value == pytest.approx(crisp.value, rel=1e-12, abs=1e-12)


@pytest.mark.slow
@examples(150)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(6, 50),
    kind=KINDS,
    width=st.sampled_from([None, 0.0, 0.3, 2.0]),
    shape=st.sampled_from(Shape),
)
def test_every_tree_is_verified_and_the_shares_of_a_row_sum_to_one(seed, n, kind, width, shape):
    table = toy_table(seed, n, kind)
    problem = problem_of(table, SoftSplits(width=width, shape=shape))
    solution = problem.parts.method.fit(problem, Context())
    verify_solution(solution, problem)
    tree = solution.tree
    places = tree.places(table)
    sums = np.bincount(places.row, places.share, table.n_rows) + (places.whole >= 0)
    assert np.abs(sums - 1.0).max() <= 1e-14 * 4, "a product of at most three shares and quotients"
    assert tree.counts[tree.is_leaf].sum() == pytest.approx(n, abs=1e-9), (
        "no row is lost, none is counted twice"
    )
    assert Tree.from_json(tree.to_json()) == tree
    if kind.task is Task.classification:
        assert tree.predict_proba(table).sum(axis=1) == pytest.approx(np.ones(n), abs=1e-12)


@pytest.mark.parametrize("shape", ["linear", "logistic"])
def test_a_learned_width_has_the_least_squared_error_of_the_grid(shape):
    """On a gradual border of one class and two; at one threshold the error of both sides
    together is the Brier score of the tree.
    """
    rng = np.random.default_rng(0)
    x = rng.random((2000, 1))
    rises = np.clip((x[:, 0] - 0.2) / 0.6, 0, 1)
    p = np.stack([1 - rises, 0.75 * rises, 0.25 * rises], axis=1)
    y = (rng.random((2000, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=2)
    brier, far = {}, {}
    for width in (None, 0.0, *GRID):
        given = {} if width is None else {"method.width": width}
        model = TreeClassifier(
            method="fuzzy", max_depth=1, overrides={"method.shape": shape} | given
        ).fit(x, y)
        told = model.predict_proba(x)
        brier[width], far[width] = (
            float(((told - at) ** 2).sum(axis=1).mean()) for at in (np.eye(3)[y], p)
        )
    assert brier[None] == min(brier.values()) < brier[0.0]
    assert far[None] < far[0.0], "nearer to the true probabilities, too"


def test_a_fuzzy_table_never_scores_higher_than_the_best_crisp_one():
    """Why widths are not chosen by the criterion: a soft table is a mean of crisp ones, and the
    reduction is convex.
    """
    for seed in range(20):
        table = toy_table(seed, 40, TreeParts(weighted=False))
        crisp = SoftSplits(width=0.0).fit(problem_of(table, None, max_depth=1), Context()).tree
        for width in (0.1, 0.5, 2.0):
            fuzzy = (
                SoftSplits(width=width).fit(problem_of(table, None, max_depth=1), Context()).tree
            )
            assert fuzzy.n_leaves == 1 or fuzzy.score[0] <= crisp.score[0] + 1e-12


@examples(150)
@given(
    t=st.floats(-5, 5),
    width=st.sampled_from([0.0, 0.1, 1.0, 7.0]),
    shape=st.sampled_from(["linear", "logistic"]),
)
def test_a_rule_says_the_same_of_many_rows_of_one_row_and_in_the_kernel(t, width, shape):
    from arboretum_classic.fuzzy.kernels import share_above

    rule, table = FuzzyThreshold("height", t, width, shape), toy_table(1, 30)
    many = rule.degrees(table, np.arange(30))
    assert many.sum(axis=1) == pytest.approx(np.ones(30), abs=1e-15)
    for i, one in enumerate(many):
        assert rule.degrees_of(row_of(table, i)) == pytest.approx(tuple(one), abs=1e-15)
    values = table.column("height").values
    assert [share_above(x, t, width, shape == "logistic") for x in values] == pytest.approx(
        many[:, 1], abs=1e-15
    )
    assert (np.diff(many[np.argsort(values), 1]) >= 0).all(), "more of a larger value goes above"
    assert rule.degrees_of({"height": None}) == (0.0, 0.0)
    assert TestRule.from_json(rule.to_json()) == rule


def test_a_rule_reads_aloud_and_refuses_what_is_none():
    assert FuzzyThreshold("x", 2.5, 0.5).describe() == "x ≤ 2.5 ± 0.25"
    assert FuzzyThreshold("x", 2.5, 0.0).describe() == "x ≤ 2.5"
    for wrong in ({"width": -1.0}, {"width": float("nan")}, {"shape": "round"}):
        with pytest.raises(DataError, match=f"FuzzyThreshold.{next(iter(wrong))}"):
            FuzzyThreshold(**{"column": "x", "threshold": 1.0, "width": 1.0, **wrong})


def test_a_missing_value_goes_every_way_by_the_training_weights():
    table = toy_table(8, 60, TreeParts(missing=True, weighted=False))
    tree = SoftSplits(width=0.5).fit(problem_of(table, None), Context()).tree
    lost = table.column("width").missing
    root = tree.rule(0)
    assert root.columns == ("width",) and lost.any()
    children = tree.children(0)
    both = tree.mass[children] / tree.mass[children].sum()
    only = attrs.evolve(
        table,
        columns=tuple(c.take(np.flatnonzero(lost)) for c in table.columns),
        target=table.target.take(np.flatnonzero(lost)),
        weights=None,
    )
    stump = tree.cut(children)
    assert stump.predict_proba(only) == pytest.approx(
        np.tile(both @ stump.distribution()[1:], (lost.sum(), 1)), abs=1e-12
    )


def test_the_preset_runs_with_widths_by_column_and_forms_that_cannot_hold_it_say_so():
    record = arboretum.run(
        [
            "dataset=iris",
            "method=fuzzy",
            "split=none",
            "stopping.standard.max_depth=2",
            "method.widths={petal_length: 1.0}",
        ]
    )
    tree = record.tree
    assert record.verified and tree.rule(0) == FuzzyThreshold("petal_length", 2.45, 1.0)
    assert "± 0.5" in tree.to_text() and "± 0.5" in tree.to_svg()
    for form in (tree.to_sql, tree.to_sklearn, lambda: DecisionTable().write(tree)):
        with pytest.raises(CapabilityError, match="degrees"):
            form()
    with pytest.raises(DataError, match="petal_length"):
        arboretum.run(["dataset=iris", "method=fuzzy", "method.widths={petal_lenght: 1.0}"])


def test_ordered_categories_are_asked_crisply_and_widths_are_of_numbers(tmp_path):
    lines = [
        "size,x,y",
        *(f"{'sml'[k % 3] if k % 7 else ''},{k % 5},{'ab'[k % 3 == 2]}" for k in range(60)),
    ]
    (tmp_path / "sizes.csv").write_text("\n".join(lines))
    ways = [
        "dataset=file",
        f"dataset.path={tmp_path}/sizes.csv",
        "dataset.target=y",
        "dataset.kinds={size: ordinal}",
        "dataset.orders={size: [s, m, l]}",
    ]
    record = arboretum.run([*ways, "method=fuzzy", "method.width=0.5", "split=none"])
    assert record.verified and record.tree.rule(0).describe() == "size ≤ m"
    assert {rule.fuzzy for rule in record.tree.rules if rule.columns == ("size",)} == {False}
    with pytest.raises(DataError, match="unknown raw column of numbers 'size'"):
        arboretum.run([*ways, "method=fuzzy", "method.widths={size: 1.0}"])
    with pytest.raises(
        ArboretumError, match="method.widths must be ≥ 0 and < inf; got {'x': -1.0}"
    ):
        arboretum.run([*ways, "method=fuzzy", "method.widths={x: -1.0}"])


def test_regression_softens_a_slope():
    record = arboretum.run(
        ["dataset=diabetes", "method=fuzzy", "split=none", "stopping.standard.max_depth=3"]
    )
    crisp = arboretum.run(
        ["dataset=diabetes", "method=cart", "split=none", "stopping.standard.max_depth=3"]
    )
    assert record.verified and record.metrics["train_mse"] < crisp.metrics["train_mse"] * 1.05
