"""Pre-pruning by significance: p-values as SciPy has them, and where trees stop."""

from __future__ import annotations

import warnings

import arboretum
import numpy as np
import pytest
from arboretum.api import CapabilityError, Parts
from arboretum.engine.why import reasons
from arboretum.testing import StoppingSuite
from arboretum.testing.suites.base import grow_and_verify
from arboretum.testing.tables import ToyGini, ToyReduction, problem_of, toy_table
from arboretum_classic.chi2 import ChiSquared, fisher, least_p
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, fisher_exact

TENNIS = {"outlook": [[2, 3], [4, 0], [3, 2]], "temperature": [[2, 2], [4, 2], [3, 1]], "humidity": [[3, 4], [6, 1]], "wind": [[6, 2], [3, 3]]}
"""Play-tennis (Quinlan 1986): yes and no by value."""


class TestChiSquaredExact(StoppingSuite):
    component = ChiSquared(small="exact", bonferroni=True)


def p_of(table, small: str = "plain") -> float:
    return least_p(np.array([table], float), small)


def test_play_tennis_has_the_p_values_of_the_lecture():
    found = {name: p_of(table) for name, table in TENNIS.items()}
    assert found["humidity"] == pytest.approx(0.0943, abs=5e-5) and found["outlook"] == pytest.approx(0.1698, abs=5e-5)
    assert min(found.values()) == found["humidity"]


@settings(deadline=None)
@given(
    st.sampled_from([2, 3]).flatmap(lambda k: st.lists(st.lists(st.integers(0, 12), min_size=k, max_size=k), min_size=2, max_size=4)),
    st.sampled_from(["plain", "yates"]),
)
@example([[7, 2], [3, 6]], "yates")
def test_p_is_that_of_scipy(rows, small):
    table = np.array(rows)
    whole = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    assume(min(whole.shape, default=0) > 1)
    assert p_of(rows, small) == pytest.approx(chi2_contingency(whole, correction=small == "yates").pvalue, rel=1e-9, abs=1e-300)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=2), min_size=2, max_size=2))
def test_the_exact_test_is_that_of_scipy(rows):
    table = np.array(rows)
    assume((table.sum(axis=0) > 0).all() and (table.sum(axis=1) > 0).all())
    assert fisher(table.astype(float)) == pytest.approx(fisher_exact(table).pvalue, rel=1e-7)
    small = np.outer(table.sum(axis=1), table.sum(axis=0)).min() / table.sum() < 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert p_of(rows, "exact") == pytest.approx(fisher(table.astype(float)) if small else p_of(rows), rel=1e-9)


@pytest.mark.parametrize(
    ("rows", "p"), [([[3, 1, 2], [0, 4, 2]], 0.1341991342), ([[3, 1, 2], [0, 4, 2], [2, 0, 5]], 0.03981467449), ([[2, 3], [4, 0], [3, 2]], 0.3006993007)]
)
def test_larger_tables_have_the_p_of_rs_fisher_test(rows, p):
    assert fisher(np.array(rows, float)) == pytest.approx(p, rel=1e-9) == pytest.approx(p_of(rows, "exact"), rel=1e-9)


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
    return arboretum.run(["dataset=play-tennis", "method=id3", "split=none", "stopping=[chi2]", *more])


@pytest.mark.parametrize(("words", "leaves"), [([], 1), (["stopping.chi2.alpha=0.1"], 5), (["stopping.chi2.alpha=0.1", "stopping.chi2.bonferroni=true"], 1)])
def test_play_tennis_stops_at_its_root_at_five_per_cent(words, leaves):
    record = tennis(*words)
    assert record.tree.n_leaves == leaves
    assert any("cells expect fewer than 5 rows, so that p is approximate" in note for note in record.notes)


def test_why_names_the_rule():
    parts = Parts(method=None, criterion=ToyReduction(), impurity=ToyGini(), stopping=(ChiSquared(alpha=0.0),))
    table = toy_table(0, n_rows=40)
    problem = problem_of(table, parts)
    assert "stopping rule chi2 makes it a leaf: none of its tests" in reasons(problem, grow_and_verify(table, parts), 0, 0).stopped_by


WAYS = [["method=cart"], ["method=cart", "encoder=bins"], ["method=id3", "encoder=auto", "missing=fractional"], ["method=c45"], ["method=cart", "predicate=[interval]"]]


@pytest.mark.parametrize("words", WAYS, ids=" ".join)
def test_every_way_of_growth_asks_it(words):
    """Thresholds on raw columns, coded ones, by shares, C4.5's recipe, and tests made at the node: fewer leaves, and a verified tree."""
    free, held = (arboretum.run(["dataset=wdbc", *words, f"stopping=[{rules}]"]) for rules in ("standard", "standard,chi2"))
    strict = arboretum.run(["dataset=wdbc", *words, "stopping=[standard,chi2]", "stopping.chi2.alpha=1e-12"])
    assert 1 < strict.tree.n_leaves <= held.tree.n_leaves <= free.tree.n_leaves and strict.tree.n_leaves < free.tree.n_leaves


def test_classes_alone_have_a_chi2():
    with pytest.raises(CapabilityError, match="stopping chi2 does classification, but the target"):
        arboretum.run(["dataset=diabetes", "method=cart", "stopping=[chi2]"])
