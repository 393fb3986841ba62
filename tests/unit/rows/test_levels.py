"""Growth by levels over a row store: the tree of the ordinary growth on the same codes, equal in
every field; what does not add up is refused by name.
"""

import attrs
import numpy as np
import pytest

from arboretum.api import (
    CapabilityError,
    Column,
    ColumnKind,
    Context,
    ContractError,
    Parts,
    Problem,
    Table,
    Target,
    Task,
    grow,
    grow_by_levels,
)
from arboretum.engine.search import levels
from arboretum.kernels import criterion_kernel
from arboretum.plugin.discovery import load_registry
from arboretum.rows.coded import rows_of_arrays
from arboretum.rows.reference import ReferenceRows

REGISTRY = load_registry()


def part(kind, name, **fields):
    return REGISTRY.get(kind, name).cls(**fields)


def draw_table(seed, *, weights="units", regression=False, n=140, missing=0.1):
    draw = np.random.default_rng(seed)
    columns = []
    for k in range(3):
        values = draw.integers(0, 2 + 4 * k, n) / 4.0
        values[draw.random(n) < missing] = np.nan
        columns.append(Column(f"x{k}", ColumnKind.continuous, values))
    words = draw.integers(0, 4, n).astype(np.int32)
    words[draw.random(n) < missing] = -1
    columns.insert(1, Column("colour", ColumnKind.categorical, words, ("a", "b", "c", "d")))
    signal = np.nan_to_num(columns[0].values) + (words == 2)
    if regression:
        y = signal + draw.normal(size=n).round(1) + 1000.0
        target = Target("y", Task.regression, values=y)
    else:
        noisy = (signal * 2 + draw.random(n) * 2).astype(np.int32) % 3
        target = Target("y", Task.classification, noisy, ("no", "maybe", "yes"))
    given = {
        "units": None,
        "whole": draw.integers(1, 4, n).astype(float),
        "quarters": draw.integers(1, 9, n) / 4.0,
        "tenths": draw.integers(1, 30, n) / 10.0,
    }[weights]
    return Table("drawn", tuple(columns), target, weights=given)


def problem_of(table, encoder="midpoints", cost="unit", **parts):
    objects = part("encoder", encoder).encode(table, table, raw_thresholds=False, seed=0)
    chosen = {
        "criterion": part("criterion", "reduction"),
        "impurity": part("impurity", "auto"),
        "stopping": (part("stopping", "standard", max_depth=5),),
        **parts,
    }
    prices = (part("cost", cost) if isinstance(cost, str) else cost).price_list(objects, 0)
    return Problem(objects, prices, Parts(None, **chosen))


def reference(problem):
    return ReferenceRows.of(problem.objects, getattr(problem.parts.impurity, "about", None))


def kernels(problem, chunk=32):
    objects = problem.objects
    numbers = objects.is_regression
    return rows_of_arrays(
        objects.features,
        objects.n_classes,
        np.ascontiguousarray(objects.codes.T),
        objects.y if numbers else objects.label,
        objects.weight,
        reference(problem).shift,
        chunk,
    )


STORES = {"reference": reference, "kernels": kernels}


def check_same(problem, seed=0, stores=STORES, compiled=True, **how):
    context = Context(seed=seed)
    known = grow(problem, context, order="breadth", compiled=compiled, **how).tree
    for name, store in stores.items():
        found = grow_by_levels(problem, context, store(problem), **how).tree
        for field in attrs.fields(type(known)):
            own, theirs = (getattr(tree, field.name) for tree in (known, found))
            if isinstance(own, np.ndarray):
                assert np.array_equal(own, theirs, equal_nan=own.dtype.kind == "f"), (
                    name,
                    field.name,
                )
            else:
                assert own == theirs, (name, field.name)
    return known


@pytest.mark.parametrize("weights", ["units", "whole", "quarters", "tenths"])
@pytest.mark.parametrize("encoder", ["midpoints", "multiway", "onehot", "bins"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_tree_is_that_of_rows_in_memory(weights, encoder, seed):
    tree = check_same(problem_of(draw_table(seed, weights=weights), encoder))
    assert tree.n_leaves > 4


@pytest.mark.parametrize("weights", ["units", "tenths"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_regression_by_moments_is_equal_to_the_last_bit(weights, seed):
    tree = check_same(problem_of(draw_table(seed, weights=weights, regression=True)))
    assert tree.n_leaves > 4


CRITERIA = {
    "gain_ratio": {"impurity": ("entropy", {})},
    "balance": {},
    "impure_pairs": {},
    "random": {},
    "worst_case": {"impurity": ("pairs", {})},
    "aggregated": {"impurity": ("rt", {})},
    "reduction": {"impurity": ("entropy", {})},
}


@pytest.mark.parametrize("name", CRITERIA)
def test_criteria_with_and_without_kernels_work_unchanged(name):
    impurity, fields = CRITERIA[name].get("impurity", ("gini", {}))
    binary = name in ("balance",)
    problem = problem_of(
        draw_table(3, weights="quarters"),
        "midpoints" if binary else "multiway",
        criterion=part("criterion", name),
        impurity=part("impurity", impurity, **fields),
    )
    check_same(problem, seed=7)


LIMITS = [
    {"max_leaves": 7},
    {"min_leaf": 9},
    {"min_mass": 0.08},
    {"min_decrease": 0.02},
    {"max_depth": 0},
    {"max_depth": 1},
]


@pytest.mark.parametrize("limits", LIMITS, ids=lambda limits: "-".join(limits))
@pytest.mark.parametrize("encoder", ["midpoints", "multiway"])
def test_limits_hold_in_the_same_places(limits, encoder):
    table = draw_table(4, weights="whole")
    problem = problem_of(table, encoder, stopping=(part("stopping", "standard", **limits),))
    check_same(problem)


@pytest.mark.parametrize("name, fields", [("pure", {}), ("mass", {"theta": 0.1}), ("chi2", {})])
def test_leaf_rules_see_the_same_nodes(name, fields):
    problem = problem_of(draw_table(5), stopping=(part("stopping", name, **fields),))
    check_same(problem)


@pytest.mark.parametrize("name", ["per_column", "random", "discount", "by_outcome"])
def test_prices_are_paid_alike(name):
    check_same(problem_of(draw_table(6), "multiway", cost=name))


def test_columns_are_drawn_alike_and_constant_tests_compete():
    check_same(problem_of(draw_table(7)), seed=3, max_features=2)
    check_same(problem_of(draw_table(8, n=40)), allow_constant=True)


def test_tables_that_do_not_fit_together_are_fetched_in_batches(monkeypatch):
    monkeypatch.setattr(levels, "TABLE_BYTES", 1500)
    monkeypatch.setattr(levels.StoredHistograms, "keep_bytes", 1500)
    check_same(problem_of(draw_table(9)))
    check_same(problem_of(draw_table(9, weights="tenths"), "multiway"))


@pytest.mark.parametrize("weights", ["units", "tenths"])
def test_nodes_scored_together_or_one_by_one_have_the_same_tests(weights, monkeypatch):
    problem = problem_of(draw_table(9, weights=weights, n=400), "multiway")
    trees = []
    for together in (1, 3, 64):
        monkeypatch.setattr(levels, "TOGETHER", together)
        trees.append(check_same(problem))
    monkeypatch.setattr(levels.LevelGrowth, "together", False)
    assert [check_same(problem)] * 3 == trees and trees[0].n_leaves > 20


@criterion_kernel
def broken_score(weights, counts, price, extra, node):
    return node.params[0] if node.mass < 0.5 * node.total_mass else 0.5


@attrs.frozen
class Broken:
    """No score for tests of nodes of less than half of the weight."""

    kind, name, paper, capabilities = "criterion", "broken", "", ()

    value: float = np.nan

    def score(self, tables, node):
        half = node.mass < 0.5 * node.total_mass
        return np.full(tables.n_tests, self.value if half else 0.5)

    def kernel(self, impurity):
        return broken_score


@pytest.mark.parametrize("value, said", [(np.nan, "returned NaN for"), (np.inf, r"with \+inf")])
def test_a_score_that_is_no_number_is_named_wherever_it_is_met(value, said):
    problem = problem_of(draw_table(0), criterion=Broken(value))
    with pytest.raises(ContractError, match=rf"criterion 'broken' .*{said}"):
        grow_by_levels(problem, Context(), kernels(problem))


def test_one_class_is_a_leaf_and_a_tree():
    table = draw_table(0)
    same = attrs.evolve(table.target, codes=np.zeros(table.n_rows, np.int32))
    tree = check_same(problem_of(attrs.evolve(table, target=same)))
    assert tree.n_nodes == 1


RULES = ["majority", "own_category", "ignore", "stops"]


@pytest.mark.parametrize("weights", ["units", "quarters", "tenths"])
@pytest.mark.parametrize("encoder", ["midpoints", "multiway", "onehot"])
@pytest.mark.parametrize("rule", RULES)
def test_rules_for_missing_values_send_rows_whole(rule, encoder, weights):
    share, leaves = 0.2 if rule != "ignore" else 0.005, 0
    for seed in range(3):
        for regression in (False, True):
            table = draw_table(seed, weights=weights, regression=regression, missing=share)
            problem = problem_of(table, encoder, missing=part("missing", rule))
            leaves += check_same(problem).n_leaves
            if weights != "tenths" and not regression:
                check_nearly_same(problem)
    assert leaves > 12


def check_nearly_same(problem):
    """The loop, where nothing is compiled: its scores are those of the kernel but for rounding."""
    known = grow(problem, Context(), compiled=False).tree
    found = grow_by_levels(problem, Context(), reference(problem)).tree
    assert np.allclose(found.score, known.score, rtol=1e-12, atol=1e-15, equal_nan=True)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("limits", LIMITS, ids=lambda limits: "-".join(limits))
def test_limits_hold_where_a_rule_for_missing_values_is_asked(rule, limits):
    stopping = (part("stopping", "standard", **limits),)
    table = draw_table(4, weights="whole")
    check_same(problem_of(table, missing=part("missing", rule), stopping=stopping))


@pytest.mark.parametrize("rule", RULES)
def test_criteria_leaf_rules_and_prices_see_the_tables_of_the_rule(rule):
    missing = part("missing", rule)
    ratio = {"criterion": part("criterion", "gain_ratio"), "impurity": part("impurity", "entropy")}
    check_same(problem_of(draw_table(5), "multiway", missing=missing, **ratio))
    check_same(problem_of(draw_table(5), stopping=(part("stopping", "chi2"),), missing=missing))
    check_same(problem_of(draw_table(6), "multiway", cost="random", missing=missing))


@pytest.mark.parametrize("rule", [*RULES, "fractional", "surrogates"])
def test_a_table_without_gaps_grows_alike_and_later_rows_go_where_the_rule_says(rule):
    problem = problem_of(draw_table(0, missing=0.0), missing=part("missing", rule))
    if rule in RULES:
        check_same(problem)
    else:
        with pytest.raises(CapabilityError, match=rf"missing '{rule}'.*rows=memory"):
            check_same(problem)


@pytest.mark.parametrize("rule", RULES)
def test_batches_and_tables_that_are_not_kept_change_nothing_of_it(rule, monkeypatch):
    monkeypatch.setattr(levels, "TABLE_BYTES", 1500)
    monkeypatch.setattr(levels.StoredHistograms, "keep_bytes", 1500)
    check_same(problem_of(draw_table(9, weights="whole"), missing=part("missing", rule)))


class Uncounted:
    """A rule of somebody else: such rows are in no table, and follow the heaviest outcome."""

    kind, name, paper, capabilities = "missing", "uncounted", "", ()
    counted, discounted, kernel = False, True, ""

    def placements(self, known):
        return (int(np.argmax(known)),)


def test_a_rule_whose_rows_are_in_no_table_and_go_on_is_refused_by_name():
    problem = problem_of(draw_table(0), missing=Uncounted())
    with pytest.raises(CapabilityError, match=r"missing 'uncounted'.*no table.*rows=memory"):
        grow_by_levels(problem, Context(), reference(problem))


class SharesOutAtTimes:
    """One that says only at a node that it shares rows out."""

    kind, name, paper, capabilities = "missing", "at_times", "", ()
    counted, discounted, kernel = True, False, ""

    def placements(self, known):
        return (0,) if known[0] == known[1] else (-2,)


def test_a_rule_that_sends_rows_in_shares_at_some_node_is_refused_there():
    problem = problem_of(draw_table(0, missing=0.3), missing=SharesOutAtTimes())
    with pytest.raises(CapabilityError, match=r"missing 'at_times'.*in shares.*rows=memory"):
        grow_by_levels(problem, Context(), reference(problem))


REFUSED = {
    "coverage": {"coverage": (part("coverage", "probability"),)},
    "missing": {"missing": part("missing", "fractional")},
    "predicate": {"predicate": (part("predicate", "interval"),)},
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_looks_at_rows_is_refused_by_name(kind):
    problem = problem_of(draw_table(0), **REFUSED[kind])
    with pytest.raises(CapabilityError, match=rf"{kind} '\w+'.*rows=memory"):
        grow_by_levels(problem, Context(), reference(problem))


def test_raw_columns_absolute_error_and_leaves_spent_depth_first_are_refused_by_name():
    table = draw_table(0, missing=0.0)
    raw = problem_of(table, "raw")
    with pytest.raises(CapabilityError, match=r"column 'x0' is raw.*encoder=midpoints"):
        grow_by_levels(raw, Context(), reference(raw))
    numbers = problem_of(
        draw_table(0, regression=True), impurity=part("impurity", "absolute_error")
    )
    with pytest.raises(CapabilityError, match="'absolute_error'.*rows=memory"):
        grow_by_levels(numbers, Context(), reference(numbers))
    few = problem_of(table, stopping=(part("stopping", "standard", max_leaves=4),))
    with pytest.raises(CapabilityError, match="max_leaves is spent best-first"):
        grow_by_levels(few, Context(), reference(few), order="best")


def test_a_store_that_loses_rows_is_found_out():
    class Loses(ReferenceRows):
        def split(self, splits):
            super().split(splits)
            self.node[np.flatnonzero(self.node == self.node.max())[0]] = 0

    problem = problem_of(draw_table(0))
    objects = problem.objects
    store = Loses(objects, 0.0, np.zeros(objects.n_objects, np.int64))
    with pytest.raises(ContractError, match="sends all rows of a node on"):
        grow_by_levels(problem, Context(), store)


def test_a_store_serves_one_growth():
    problem = problem_of(draw_table(0))
    store = kernels(problem)
    grow_by_levels(problem, Context(), store)
    with pytest.raises(ContractError, match="serves one growth"):
        grow_by_levels(problem, Context(), store)


def test_progress_is_told_by_level():
    told = []
    problem = problem_of(draw_table(0))
    context = Context(progress=lambda done, total, message: told.append((done, total, message)))
    grow_by_levels(problem, context, kernels(problem))
    assert [m for *_, m in told if m.startswith("level 2: ")] and told[-1][1] == 140
