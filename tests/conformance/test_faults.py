"""Faults of every kind: the suite of the kind finds each, and the run before it grows where it
believes the promise.
"""

from __future__ import annotations

import attrs
import faults
import faulty_criteria
import numpy as np
import pytest
from suite_failures import failures

from arboretum.api import (
    ColumnKind,
    Context,
    ContractError,
    Parts,
    Prices,
    Problem,
    RawFeature,
    Table,
    Task,
)
from arboretum.engine.check import check_prices
from arboretum.engine.promises import check_complexity
from arboretum.engine.select import grow_or_tune
from arboretum.testing.suites.criterion import raw_objects as raw_objects_of
from arboretum.testing.tables import (
    KernelReduction,
    ToyGini,
    ToyReduction,
    ToyVariance,
    TreeParts,
    bare_objects,
    problem_of,
    toy_objects,
    toy_table,
)
from arboretum_basics.methods import Exact, Greedy

VERTICES = "test_bins_find_the_tests_that_sorted_columns_find_where_it_promises_bounded_by_vertices"
COPIES = "test_weight_two_is_two_copies_and_a_part_of_a_weight_counts"
SLOW = "test_its_compiled_kernel_answers_what_the_slow_form_answers"
TRIED = "test_what_a_run_tries_of_it_is_true_of_two_three_and_five_classes"
SUMS = "test_sums_find_the_tests_that_tables_find_where_its_kernel_promises_by_sums"
LEAVES = "test_its_leaf_rule_and_its_kernel_say_what_it_says"
MISSING = "test_it_is_the_rule_of_the_kernel_that_it_names"
FORM = "test_its_closed_form_says_the_same"
SHAPE = "test_it_is_of_the_shape_that_it_states"
BRUTE = "test_it_finds_what_brute_force_finds_and_again_for_the_same_seed"
LIMITS = "test_within_the_limits_that_it_says_it_knows_it_finds_what_brute_force_finds"
VERIFIED = "test_the_pruned_tree_asks_tests_of_the_given_one_and_is_what_verification_recomputes"

BY_SUITE = [
    (faulty_criteria.EvenInBins, VERTICES),
    (faulty_criteria.EvenOfThreeInBins, VERTICES),
    (faulty_criteria.SumsAndRows, SUMS),
    (faulty_criteria.RisesWithItsSum, SUMS),
    (faulty_criteria.RoundsWeights, COPIES),
    (faulty_criteria.CountsRows, COPIES),
    (faulty_criteria.ReadsPrices, "test_it_reads_prices_where_it_says_so"),
    (faulty_criteria.KernelRoundsWeights, SLOW),
    (faulty_criteria.KernelForgetsDearPrices, SLOW),
    (faults.PairsButOfThree, TRIED),
    (faults.ConcaveButOfThree, TRIED),
    (faults.GrowingMean, TRIED),
    (faults.WholeHalves, TRIED),
    (faults.RoundedGini, "test_a_part_of_a_weight_counts"),
    (faults.PrefixOfAnother, "test_its_prefix_kernel_gives_mass_times_impurity_of_every_prefix"),
    (faults.ManyForgetWeights, "test_many_sets_at_once_are_answered_as_each_by_itself"),
    (faults.DepthTwo, LEAVES),
    (faults.OneRowLess, LEAVES),
    (faults.NearlyPure, LEAVES),
    (faults.ShareOfAll, LEAVES),
    (faults.WorthOfTheOther, LEAVES),
    (faults.ReadsCoverage, "test_it_looks_at_coverage_only_where_it_says_so"),
    (faults.LastBranch, MISSING),
    (faults.SplitsAndCounts, MISSING),
    (faults.ForgetsPrices, FORM),
    (faults.SumOfTwo, FORM),
    (faults.Overflows, "test_its_kernel_answers_compiled_what_it_answers_as_python"),
    (faults.RootOfErrors, SHAPE),
    (faults.OtherLabelCosts, SHAPE),
    (
        faults.WeighsNothing,
        "test_what_it_weighs_objects_by_is_a_weight_for_each_and_the_same_twice",
    ),
    (faults.CountsLeafRows, "test_weight_two_is_two_copies"),
    (faults.ListsByRows, BRUTE),
    (faults.ListsByWholeWeights, BRUTE),
    (faults.HeedsNoLimit, LIMITS),
    (faults.MinimaOfNothing, "test_its_minima_are_the_least_of_all_trees_that_obey_the_leaf_rule"),
    (faults.AsksNoRule, "test_it_asks_the_rule_for_missing_values_where_it_says_so"),
    (faults.Relabels, VERIFIED),
    (faults.GivesAway, VERIFIED),
    (faults.HalfTheWeight, VERIFIED),
    (faults.PrunesByRows, "test_weight_two_is_two_copies"),
    (
        faults.ForgetsTheWeights,
        "test_codes_stay_below_their_bins_tests_read_aloud_and_objects_stand_for_rows",
    ),
    (faults.CodesTheOtherWay, "test_codes_say_the_outcomes_of_their_tests"),
    (faults.DearerBelow, "test_no_price_rises_on_the_way_down_and_a_tree_pays_those_of_the_list"),
    (faults.CallsHome, "test_it_asks_nobody_where_it_says_that_it_is_offline"),
    (
        faults.WorstByItsMeasure,
        "test_it_keeps_the_best_tree_on_the_validation_rows_up_to_the_slack_it_states",
    ),
]
"""Fault → the test of its suite that finds it."""


@pytest.mark.parametrize(
    ("fault", "found_by"), BY_SUITE, ids=lambda value: getattr(value, "__name__", "")
)
def test_the_suite_of_its_kind_finds(fault, found_by, tmp_path, monkeypatch):
    component = fault()
    extra = (
        {"tmp_path": tmp_path, "monkeypatch": monkeypatch} if component.kind == "dataset" else {}
    )
    if component.kind == "solver":
        extra = {
            "parts": Parts(method=None, solver=component, objective=faults.LeafErrors()),
            "value": faults.LeafErrors().value,
        }
    if component.kind == "method":
        extra = {"parts": Parts(method=component, criterion=ToyReduction())}
    assert found_by in failures(component.kind, component, found_by, **extra)


def raw_objects(table: Table):
    """The numbers of a table as raw columns."""
    numbers = [
        (i, column)
        for i, column in enumerate(table.columns)
        if column.kind is ColumnKind.continuous
    ]
    raw = np.stack([column.values for _, column in numbers], axis=1)
    return bare_objects(
        table, raw_features=tuple(RawFeature(column.name, i) for i, column in numbers), raw=raw
    )


def growth(
    seed: int = 0,
    *,
    task: Task = Task.classification,
    raw: bool = False,
    lacking: bool = False,
    **parts,
) -> Problem:
    """A greedy run of three classes, or of numbers, with weights, and prices of up to 20."""
    table = toy_table(seed, n_rows=40, kind=TreeParts(missing=lacking, task=task))
    objects = raw_objects(table) if raw else toy_objects(table)
    n, impurity = (
        int(objects.test_offset[-1]),
        ToyVariance() if task is Task.regression else ToyGini(),
    )
    prices = Prices(np.linspace(1.0, 20.0, n), np.linspace(1.0, 20.0, len(objects.raw_features)))
    given = {
        "criterion": KernelReduction() if task is Task.classification else ToyReduction(),
        "impurity": impurity,
        **parts,
    }
    return Problem(objects, prices, Parts(method=Greedy(), **given))


def of_nine_classes(criterion) -> Problem:
    draw = np.random.default_rng(0)
    objects = raw_objects_of(
        draw.normal(size=(40, 2)), draw.integers(0, 9, 40).astype(np.int32), tuple("abcdefghi")
    )
    parts = Parts(method=Greedy(), criterion=criterion, impurity=ToyGini())
    return Problem(objects, Prices(np.zeros(0), np.array([1.0, 20.0])), parts)


def solved(objective) -> Problem:
    return problem_of(
        toy_table(0, n_rows=40),
        Parts(method=Exact(), solver=faults.Lists(), objective=objective),
        multiway=False,
    )


BEFORE_GROWTH = [
    (
        lambda: growth(raw=True, criterion=faulty_criteria.EvenInBins()),
        "criterion kernel_reduction promises bounded_by_vertices with impurity toy_gini, but "
        "of a bin",
    ),
    (
        lambda: growth(raw=True, criterion=faulty_criteria.EvenOfThreeInBins()),
        "promises bounded_by_vertices with impurity toy_gini, but of a bin",
    ),
    (
        lambda: of_nine_classes(faulty_criteria.SumsAndRows()),
        r"kernel_reduction: its kernel promises by_sums, but a table of the class weights \(",
    ),
    (
        lambda: of_nine_classes(faulty_criteria.RisesWithItsSum()),
        "promises by_sums, but with gini_after from .* its score rises from",
    ),
    (
        lambda: growth(criterion=faulty_criteria.KernelRoundsWeights()),
        r"criterion 'toy_reduction': its kernel .* by score, in NumPy form",
    ),
    (
        lambda: growth(criterion=faulty_criteria.KernelForgetsDearPrices()),
        r"criterion 'toy_reduction': its kernel .* by score, in NumPy form",
    ),
    (
        lambda: growth(impurity=faults.PairsButOfThree()),
        r"impurity pairs_but_of_three declares admissible, but is not supermodular: F\(1, 1, 1\)",
    ),
    (
        lambda: growth(impurity=faults.ConcaveButOfThree()),
        r"impurity toy_gini declares concave, but is not concave: .*\(1, 1, 0\)",
    ),
    (
        lambda: growth(impurity=faults.GrowingMean()),
        r"states scale = 'mean', but is not scale-free: F\(",
    ),
    (
        lambda: growth(impurity=faults.WholeHalves()),
        r"states whole = True, but F\(0, 1, 1\) = 0.5; leave whole out",
    ),
    (lambda: growth(impurity=faults.RoundedGini()), "states scale = 'mean', but is not scale-free"),
    (
        lambda: growth(
            task=Task.regression,
            raw=True,
            impurity=faults.PrefixOfAnother(),
            criterion=ReadsPrefix(),
        ),
        "impurity 'prefix_of_another': .* by of_values times the mass",
    ),
    (
        lambda: growth(coverage=(faults.ManyForgetWeights(),)),
        "coverage many_forget_weights answers .* by covered_many and .* by covered for object",
    ),
    (
        lambda: growth(stopping=(faults.DepthTwo(),)),
        r"stopping depth_two promises by leaf_rule\(\).* a node of 2 rows .*at depth 2.* is "
        r"no leaf, and is_leaf",
    ),
    (
        lambda: growth(stopping=(faults.OneRowLess(),)),
        "a node of 10 rows .* is no leaf, and is_leaf says a leaf",
    ),
    (
        lambda: growth(stopping=(faults.NearlyPure(),)),
        r"a node of 10 rows .* of the weights \(4.5, 0, 0.5\).* is no leaf, and is_leaf "
        r"says a leaf",
    ),
    (
        lambda: growth(stopping=(faults.ShareOfAll(),)),
        "0.101 of all.* is no leaf, and is_leaf says a leaf",
    ),
    (
        lambda: growth(stopping=(faults.ThirdLevel(),)),
        "at depth 3 .* is no leaf, and is_leaf says a leaf",
    ),
    (
        lambda: growth(stopping=(faults.NoFirstClass(),)),
        r"of the weights \(0, .* is no leaf, and is_leaf says a leaf",
    ),
    (
        lambda: growth(stopping=(faults.HundredsOfRows(),)),
        "a node of 100 rows .* is no leaf, and is_leaf says a leaf",
    ),
    (
        lambda: growth(stopping=(faults.ReadsCoverage(),)),
        "with coverage 0.5, is no leaf, and is_leaf says a leaf",
    ),
    (
        lambda: growth(stopping=(faults.WorthOfTheOther(),)),
        "makes a node with the tests .* by significance .* by is_leaf_among",
    ),
    (
        lambda: growth(missing=faults.LastBranch()),
        r"missing last_branch places rows without a value into \(1,\) of a test with the "
        r"known weights \(1, 1\)",
    ),
    (
        lambda: growth(missing=faults.SplitsAndCounts()),
        "states kernel = 'splits' and counted = True",
    ),
    (
        lambda: growth(complexity=faults.ForgetsPrices()),
        r"complexity forgets_prices answers F\(.*price=0, \[0.0\]\) = 1 in closed form and 0 "
        r"by node",
    ),
    (
        lambda: growth(complexity=faults.SumOfTwo()),
        r"\[1.0, 3.0, 2.0\]\) = 7 in closed form and 6 by node",
    ),
    (
        lambda: solved(faults.RootOfErrors()),
        "objective leaf_errors states the shape additive, but of 12 of the run's objects a "
        "division",
    ),
    (
        lambda: solved(faults.OtherLabelCosts()),
        "objective leaf_errors states the shape additive, but a leaf of the weights",
    ),
]
"""A run → how it is refused."""


@attrs.frozen
class ReadsPrefix(ToyReduction):
    """Of an impurity of values."""

    reads_prefix_costs = True

    def score(self, tables, node):
        return -tables.extra[..., 0].sum(axis=1)


@pytest.mark.parametrize(("problem", "complaint"), BEFORE_GROWTH, ids=range(len(BEFORE_GROWTH)))
def test_a_run_refuses_before_it_grows(problem, complaint, monkeypatch):
    with pytest.raises(ContractError, match=complaint) as caught:
        grow_or_tune(problem(), Context())
    assert "\n" not in str(caught.value)


def test_a_certificate_tries_the_complexities_that_it_is_about():
    with pytest.raises(ContractError, match="complexity sum_of_two answers"):
        check_complexity(faults.SumOfTwo(), growth())


def test_a_price_that_rises_and_weights_that_are_lost_are_refused_before_the_growth():
    objects = toy_objects(toy_table(0))
    with pytest.raises(
        ContractError, match="cost dearer_below: a test costs 2 after .* was asked, and 1 before"
    ):
        check_prices(faults.DearerBelow(), faults.DearerBelow().price_list(objects, 0), objects)


def test_the_same_runs_without_a_fault_are_grown():
    for problem in (growth(), growth(raw=True), growth(task=Task.regression), growth(lacking=True)):
        assert grow_or_tune(problem, Context()).solution.tree.n_leaves > 1
