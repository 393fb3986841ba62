"""Pre-pruning by significance: p-values as SciPy has them, and where trees stop."""

from __future__ import annotations

import warnings

import attrs
import numpy as np
import pytest
from hypothesis import assume, example, given, settings, strategies as st
from scipy.special import chdtrc, gammaln
from scipy.stats import chi2_contingency, fisher_exact

import arboretum
from arboretum.api import CapabilityError, Context, Limits, Parts, Problem, RawFeature
from arboretum.engine import promises
from arboretum.engine.search.bulk import Judges, Objects, grow_many
from arboretum.engine.search.grow import grow
from arboretum.engine.why import reasons
from arboretum.kernels.function_pointers import address_of
from arboretum.kernels.scoring import score_tables
from arboretum.testing import StoppingSuite
from arboretum.testing.suites.base import grow_and_verify
from arboretum.testing.tables import (
    ToyGini,
    ToyReduction,
    TreeParts,
    bare_objects,
    prices_of,
    problem_of,
    toy_objects,
    toy_table,
)
from arboretum_classic.criteria.criteria import Reduction
from arboretum_classic.criteria.impurities import Gini
from arboretum_classic.stopping.chi2 import ChiSquared
from arboretum_classic.stopping.kernels import CLOSE, FEW, MOST, ROUNDING, SIGNIFICANCE

TENNIS = {
    "outlook": [[2, 3], [4, 0], [3, 2]],
    "temperature": [[2, 2], [4, 2], [3, 1]],
    "humidity": [[3, 4], [6, 1]],
    "wind": [[6, 2], [3, 3]],
}
"""Play-tennis (Quinlan 1986): yes and no by value."""


class TestChiSquaredExact(StoppingSuite):
    component = ChiSquared(small="exact", bonferroni=True)

    def test_its_leaf_rule_and_its_kernel_say_what_it_says(self, component, monkeypatch):
        """Of tables of few rows: of many rows and five classes Python lists 65,536 tables of the
        same margins for each, to find that they are too many.
        """
        few = [promises.tables_of(n)[:9] for n in range(6) if n > 1]
        monkeypatch.setattr(promises, "tables_of", lambda n_classes: few[n_classes - 2])
        super().test_its_leaf_rule_and_its_kernel_say_what_it_says(component)


def least_p(tables: np.ndarray, small: str) -> float:
    """The least p-value of some tables (float64[tests, outcomes, classes], in rows); 1 without
    any.
    """
    by_outcome, by_class = tables.sum(axis=2), tables.sum(axis=1)
    total = by_class.sum(axis=1)
    expected = (
        by_outcome[:, :, None] * by_class[:, None, :] / np.maximum(total, 1e-300)[:, None, None]
    )
    there = expected > 0
    free = ((by_outcome > 0).sum(axis=1) - 1) * ((by_class > 0).sum(axis=1) - 1)
    apart = np.abs(tables - expected)
    if small == "yates":
        apart = np.where((free == 1)[:, None, None], np.maximum(apart - 0.5, 0.0), apart)
    statistic = np.where(there, apart**2 / np.where(there, expected, 1.0), 0.0).sum(axis=(1, 2))
    exact = (
        (free > 0)
        & (small == "exact")
        & (np.where(there, expected, np.inf).min(axis=(1, 2), initial=np.inf) < FEW)
    )
    least = 1.0
    for k in np.flatnonzero(exact):
        p = fisher(tables[k])
        # NaN differs from itself
        least, exact[k] = (min(least, p), True) if p == p else (least, False)
    for degrees in np.unique(free[(free > 0) & ~exact]):
        least = min(least, float(chdtrc(degrees, statistic[(free == degrees) & ~exact].max())))
    return least


def fisher(table: np.ndarray) -> float:
    """Fisher's exact test of a table, as of Freeman and Halton for more than two by two: how
    probable are those of its margins that are no more probable than it; NaN where they are more
    than ``MOST``.  They are listed cell by cell, the last column and row having the rest.
    """
    cells = np.rint(table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]).astype(np.int64)
    cells = cells[:, np.argsort(cells.sum(axis=0), kind="stable")]
    # of each: int64[n, outcomes], rows that columns to come may have; −Σ log cell!
    left, weight = cells.sum(axis=1)[None], np.zeros(1)
    for column in cells.T[:-1]:
        rest = np.full(len(left), column.sum())
        for outcome in range(len(cells)):
            least = np.maximum(rest - left[:, outcome + 1 :].sum(axis=1), 0)
            ways = np.minimum(left[:, outcome], rest) - least + 1
            if ways.sum() > MOST:
                return np.nan
            who = np.repeat(np.arange(len(left)), ways)
            cell = np.arange(len(who)) - np.repeat(np.cumsum(ways) - ways, ways) + least[who]
            left, rest, weight = left[who], rest[who] - cell, weight[who] - gammaln(cell + 1.0)
            left[:, outcome] -= cell
    weight = weight - gammaln(left + 1.0).sum(axis=1)
    probability = np.exp(weight - weight.max())
    own = np.exp(-gammaln(cells + 1.0).sum() - weight.max())
    return float(probability[probability <= own * (1.0 + CLOSE)].sum() / probability.sum())


def p_of(table, small: str = "plain") -> float:
    return least_p(np.array([table], float), small)


def test_play_tennis_has_the_p_values_of_the_lecture():
    found = {name: p_of(table) for name, table in TENNIS.items()}
    assert found["humidity"] == pytest.approx(0.0943, abs=5e-5) and found[
        "outlook"
    ] == pytest.approx(0.1698, abs=5e-5)
    assert min(found.values()) == found["humidity"]


@settings(deadline=None)
@given(
    st.sampled_from([2, 3]).flatmap(
        lambda k: st.lists(
            st.lists(st.integers(0, 12), min_size=k, max_size=k), min_size=2, max_size=4
        )
    ),
    st.sampled_from(["plain", "yates"]),
)
@example([[7, 2], [3, 6]], "yates")
def test_p_is_that_of_scipy(rows, small):
    table = np.array(rows)
    whole = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    assume(min(whole.shape, default=0) > 1)
    assert p_of(rows, small) == pytest.approx(
        chi2_contingency(whole, correction=small == "yates").pvalue, rel=1e-9, abs=1e-300
    )


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=2), min_size=2, max_size=2))
def test_the_exact_test_is_that_of_scipy(rows):
    table = np.array(rows)
    assume((table.sum(axis=0) > 0).all() and (table.sum(axis=1) > 0).all())
    assert fisher(table.astype(float)) == pytest.approx(fisher_exact(table).pvalue, rel=1e-7)
    small = np.outer(table.sum(axis=1), table.sum(axis=0)).min() / table.sum() < 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert p_of(rows, "exact") == pytest.approx(
            fisher(table.astype(float)) if small else p_of(rows), rel=1e-9
        )


@pytest.mark.parametrize(
    ("rows", "p"),
    [
        ([[3, 1, 2], [0, 4, 2]], 0.1341991342),
        ([[3, 1, 2], [0, 4, 2], [2, 0, 5]], 0.03981467449),
        ([[2, 3], [4, 0], [3, 2]], 0.3006993007),
    ],
)
def test_larger_tables_have_the_p_of_rs_fisher_test(rows, p):
    assert (
        fisher(np.array(rows, float))
        == pytest.approx(p, rel=1e-9)
        == pytest.approx(p_of(rows, "exact"), rel=1e-9)
    )


def test_where_too_many_tables_have_the_margins_chi2_takes_its_place_and_a_note_says_so():
    table = 2 * np.eye(8) + 1
    assert np.isnan(fisher(table)) and p_of(table, "exact") == p_of(table)
    assert any("χ² above" in note for note in tennis("stopping.chi2.small=exact").notes)


def test_the_least_of_several_is_found_and_no_table_has_none():
    padded = np.zeros((4, 3, 2))
    for k, table in enumerate(TENNIS.values()):
        padded[k, : len(table)] = table
    assert least_p(padded, "plain") == pytest.approx(p_of(TENNIS["humidity"]))
    assert least_p(np.zeros((0, 2, 2)), "exact") == 1.0 and p_of([[4, 0], [3, 0]]) == 1.0


def tennis(*more: str):
    return arboretum.run(
        ["dataset=play-tennis", "method=id3", "split=none", "stopping=[chi2]", *more]
    )


@pytest.mark.parametrize(
    ("words", "leaves"),
    [
        ([], 1),
        (["stopping.chi2.alpha=0.1"], 5),
        (["stopping.chi2.alpha=0.1", "stopping.chi2.bonferroni=true"], 1),
    ],
)
def test_play_tennis_stops_at_its_root_at_five_per_cent(words, leaves):
    record = tennis(*words)
    assert record.tree.n_leaves == leaves
    assert any(
        "cells expect fewer than 5 rows, so that p is approximate" in note for note in record.notes
    )


def by_kernel(tables: np.ndarray, small: str, rows: float = 1.0) -> np.ndarray:
    """float64[tests]: p as the kernel has it."""
    found, n = np.empty(len(tables)), np.zeros(tables.shape, np.int64)
    node = (
        np.zeros((len(tables), 2, 0)),
        address_of(SIGNIFICANCE[small], "criterion"),
        np.zeros(5),
        np.ones(1),
        0,
    )
    score_tables(tables * rows, n, np.zeros(len(tables)), *node, found)
    return (1.0 + ROUNDING) / found


@pytest.mark.parametrize(
    "small", ["plain", "yates", pytest.param("exact", marks=pytest.mark.compiled)]
)
def test_the_kernel_has_the_p_of_the_numpy_form(small):
    """χ² of n cells is a sum wrong by some n ε of itself, p by χ²/2 times as much; SciPy's own p
    by some 100 ε; Fisher's p by the rounding of log k!.
    """
    draw = np.random.default_rng(0)
    for shape in ((2, 2), (2, 3), (3, 2), (4, 4), (9, 5)):
        size = draw.choice([0.4, 3.0, 40.0 if small == "exact" else 4e3], (150, 1, 1))
        tables = np.round(
            draw.gamma(draw.choice([0.2, 1.0, 20.0], (150, 1, 1)), size, (150, *shape))
        )
        tables *= draw.random((150, *shape)) < 0.9
        expected = np.array([least_p(table[None] * 0.5, small) for table in tables])
        known = (expected > 1e-290) & (tables.sum(axis=(1, 2)) > 0)
        found = by_kernel(tables[known], small, 0.5)
        # -log p bounds χ²/2 from below, and is near it where p is small
        assert known.sum() > 50
        eps = 2.0**-52 * (
            200 + 4 * np.prod(shape) * (1 + 20 * np.prod(shape) - np.log(expected[known]))
        )
        assert (np.abs(found / expected[known] - 1.0) <= eps).all()


@attrs.frozen
class InNumPy:
    """The same rule, asked node by node, p by SciPy."""

    name = "chi2_in_numpy"
    rule: ChiSquared

    def limits(self) -> Limits:
        return Limits()

    def is_leaf(self, node) -> bool:
        return False

    def is_leaf_among(self, tables, node) -> bool:
        found = [
            (some.n_tests, least_p(some.weights * (node.count / node.mass), self.rule.small))
            for some in tables
        ]
        n = sum(n for n, _ in found) if self.rule.bonferroni else 1
        return min((p for _, p in found), default=1.0) * n > self.rule.alpha * (1.0 + ROUNDING)


@pytest.mark.parametrize(
    "rule", [ChiSquared(0.2), ChiSquared(0.5, "yates", True), ChiSquared(0.1, "exact")], ids=str
)
def test_subtrees_of_a_kernel_stop_where_numpy_stops_them(rule):
    """Coded and raw columns, weights, missing values, two and three classes; α = 0.1 is p of
    three against three rows (2 of 20 tables).
    """
    inner = leaves = 0
    for seed, missing, n in (
        (seed, (seed + k) % 2 > 0, n) for seed in range(6) for k, n in enumerate((6, 60, 120))
    ):
        table = toy_table(seed, n, TreeParts(seed % 2 == 0, seed % 3 == 0, seed % 2 == 1, missing))
        raw = np.stack([column.values.astype(float) for column in table.columns], axis=1)
        sorted_ones = bare_objects(
            table,
            raw_features=tuple(RawFeature(c.name, i) for i, c in enumerate(table.columns)),
            raw=raw,
        )
        for objects in (toy_objects(table, multiway=seed % 2 == 1), sorted_ones):
            fast, slow, free = (
                grow(
                    Problem(
                        objects,
                        prices_of(objects),
                        Parts(None, criterion=Reduction(), impurity=Gini(), stopping=stopping),
                    ),
                    Context(),
                    compiled=compiled,
                ).tree
                for stopping, compiled in (((rule,), True), ((InNumPy(rule),), False), ((), True))
            )
            assert fast.to_json() == slow.to_json()
            if not objects.raw_features:  # many trees over the same objects
                light = Objects.of(objects, prices_of(objects))
                forest = grow_many(
                    light, Judges.of([(Reduction(), Gini())], objects.n_classes), (rule,)
                )
                assert (forest.tree(0, objects, light.layout).test == slow.test).all()
            inner, leaves = inner + (fast.n_leaves > 1), leaves + (fast.n_leaves < free.n_leaves)
    assert inner > 5 and leaves > 5


def test_why_names_the_rule():
    parts = Parts(
        method=None, criterion=ToyReduction(), impurity=ToyGini(), stopping=(ChiSquared(alpha=0.0),)
    )
    table = toy_table(0, n_rows=40)
    problem = problem_of(table, parts)
    assert (
        "stopping rule chi2 makes it a leaf: none of its tests"
        in reasons(problem, grow_and_verify(table, parts), 0, 0).reason_to_stop
    )


WAYS = [
    ["method=cart"],
    ["method=cart", "encoder=bins"],
    ["method=id3", "encoder=auto", "missing=fractional"],
    ["method=c45"],
    ["method=cart", "predicate=[interval]"],
]


@pytest.mark.parametrize("words", WAYS, ids=" ".join)
def test_every_way_of_growth_asks_it(words):
    """Thresholds on raw columns, coded ones, by shares, C4.5's recipe, and tests made at the
    node: fewer leaves, and a verified tree.
    """
    free, held = (
        arboretum.run(["dataset=iris", *words, f"stopping=[{rules}]"])
        for rules in ("standard", "standard,chi2")
    )
    strict = arboretum.run(
        ["dataset=iris", *words, "stopping=[standard,chi2]", "stopping.chi2.alpha=1e-12"]
    )
    assert (
        1 < strict.tree.n_leaves <= held.tree.n_leaves <= free.tree.n_leaves
        and strict.tree.n_leaves < free.tree.n_leaves
    )


def test_classes_alone_have_a_chi2():
    with pytest.raises(CapabilityError, match="stopping chi2 does classification, but the target"):
        arboretum.run(["dataset=diabetes", "method=cart", "stopping=[chi2]"])
