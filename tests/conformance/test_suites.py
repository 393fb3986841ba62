"""Each suite tells a sound component from a broken one: every defect below must be found by some
test of the suite.
"""

from __future__ import annotations

import inspect
import math
import sys
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from arboretum.api import Form, Limits, Parts, Prices, Selection, Solution, Status, param
from arboretum.kernels import criterion_kernel
from arboretum.testing import suite_of
from arboretum.testing.effort import tries
from arboretum.testing.oracles import best_tree, build_tree
from arboretum.testing.tables import ToyGini, ToyReduction

sys.path.insert(0, str(Path(__file__).parents[1] / "property" / "search"))
from cover import ToyCover
from toy_coverage import ToyExcluded


def failures(kind: str, component: Any, only: str = "test_", **fixtures: Any) -> list[str]:
    """Run the tests of a kind's suite whose name starts with ``only``, and return the names of
    those that fail.

    The suite's methods are called directly; a fixture's value is computed from the suite's own
    fixture functions.
    """
    suite = suite_of(kind)()
    given = {"component": component, **fixtures}
    failed = []
    for name, test in inspect.getmembers(suite, inspect.ismethod):
        if not name.startswith(only):
            continue
        try:
            for values in _arguments(suite, test, given):
                test(**values)
        except pytest.skip.Exception:
            continue
        except (Exception, pytest.fail.Exception):
            # whatever a broken component raises is a failure
            failed.append(name)
    return failed


def _arguments(suite: Any, test: Any, given: dict[str, Any]) -> list[dict[str, Any]]:
    """One set of arguments per parameter of the fixtures that the test asks for."""
    wanted = list(inspect.signature(test).parameters)
    marked = {
        mark.args[0]: mark.args[1]
        for mark in getattr(test, "pytestmark", ())
        if mark.name == "parametrize"
    }
    cases: list[dict[str, Any]] = [{}]
    for name in wanted:
        cases = [
            {**case, name: value}
            for case in cases
            for value in marked.get(name) or _values(suite, name, given)
        ]
    return cases


def _values(suite: Any, name: str, given: dict[str, Any]) -> list[Any]:
    if name in given:
        return [given[name]]
    fixture = getattr(type(suite), name)
    marker = getattr(fixture, "_fixture_function_marker", None)
    function = getattr(fixture, "_fixture_function", None) or fixture.__wrapped__
    found = []
    for param_value in getattr(marker, "params", None) or [None]:
        request = type("Request", (), {"param": param_value})()
        for values in _arguments(suite, _Bound(function, suite), {**given, "request": request}):
            found.append(function(suite, **values))
    return found


class _Bound:
    """A fixture function without its ``self``, for its signature."""

    def __init__(self, function: Any, suite: Any) -> None:
        parameters = list(inspect.signature(function).parameters.values())[1:]
        self.__signature__ = inspect.Signature(parameters)

    def __call__(self) -> None: ...


# -- criteria --------------------------------------------------------------------------------------


@attrs.frozen
class SoundCriterion(ToyReduction):
    """Weighted decrease of a mean impurity."""


@attrs.frozen
class SaysNan(ToyReduction):
    """Divides by the weight of an outcome, which may be zero."""

    def score(self, tables, node):
        with np.errstate(all="ignore"):
            return super().score(tables, node) + (0 * tables.mass / tables.mass).sum(axis=1)


@attrs.frozen
class Mutates(ToyReduction):
    """Works in place."""

    def score(self, tables, node):
        result = super().score(tables, node)
        tables.weights[...] += 1
        return result


@attrs.frozen
class ReadsTheBatch(ToyReduction):
    """Divides by the best of the batch."""

    def score(self, tables, node):
        result = super().score(tables, node)
        return result / np.abs(result).max()


@attrs.frozen
class ReadsThePosition(ToyReduction):
    """Prefers the first test of a batch."""

    def score(self, tables, node):
        return super().score(tables, node) - np.arange(tables.n_tests)


@attrs.frozen
class LikesTheFirstClass(ToyReduction):
    """Looks at one class only."""

    def score(self, tables, node):
        return tables.weights[:, :, 0].max(axis=1)


@attrs.frozen
class LikesTheFirstOutcome(ToyReduction):
    """Looks at one outcome only."""

    def score(self, tables, node):
        return tables.mass[:, 0]


@attrs.frozen
class CountsOutcomes(ToyReduction):
    """Counts the slots of a table, absent outcomes included."""

    def score(self, tables, node):
        return super().score(tables, node) / tables.weights.shape[1]


@attrs.frozen
class WrongShape(ToyReduction):
    """One number too few."""

    def score(self, tables, node):
        return super().score(tables, node)[1:]


@attrs.frozen
class WrongType(ToyReduction):
    """Whole numbers."""

    def score(self, tables, node):
        return np.round(super().score(tables, node)).astype(np.int64)


@attrs.frozen
class RefusesAll(ToyReduction):
    """Finds nothing admissible."""

    def score(self, tables, node):
        return np.full(tables.n_tests, -np.inf)


@attrs.frozen
class Draws(ToyReduction):
    """Draws without a seed."""

    def score(self, tables, node):
        return np.random.default_rng().random(tables.n_tests)


@attrs.frozen
class TermsOfAnotherShape(ToyReduction):
    """Explains too little."""

    def terms(self, tables, node):
        return {"decrease": 0.0}


@attrs.frozen
class KernelOfAnotherScore(ToyReduction):
    """The kernel forgets the square."""

    def kernel(self, impurity):
        return forgets_the_square


@criterion_kernel
def forgets_the_square(weights, counts, price, extra, node):
    total = 0.0
    for k in range(weights.shape[0]):
        total += weights[k, 0]
    return total


@attrs.frozen
class TwoRules(ToyCover):
    """The column in NumPy is not the one in compiled form."""

    name = "two_rules"

    def columns(self, node, objects, rows):
        return objects.weight[rows][:, None]


@attrs.frozen
class ReadsRows(ToyReduction):
    """Says that it counts objects, and adds up rows."""

    counts_objects = True

    def columns(self, node, objects, rows):
        return objects.count[rows].astype(float)[:, None]

    def score(self, tables, node):
        return tables.extra[..., 0].min(axis=1)


@attrs.frozen
class IgnoresGain(ToyReduction):
    """Asks for what tests add to coverage, and does not read it."""

    needs_gain = True


@attrs.frozen
class NoDocumentedField(ToyReduction):
    """A field without a line of meaning."""

    alpha: float = 1.0


@pytest.mark.parametrize(
    ("broken", "found_by"),
    [
        (SaysNan, "test_it_gives_every_test_one_score_never_nan_and_admits_some_test_somewhere"),
        (WrongShape, "test_it_gives_every_test_one_score_never_nan_and_admits_some_test_somewhere"),
        (WrongType, "test_it_gives_every_test_one_score_never_nan_and_admits_some_test_somewhere"),
        (RefusesAll, "test_it_gives_every_test_one_score_never_nan_and_admits_some_test_somewhere"),
        (Draws, "test_it_answers_the_same_twice_and_does_not_change_its_tables"),
        (Mutates, "test_it_answers_the_same_twice_and_does_not_change_its_tables"),
        (ReadsTheBatch, "test_a_test_scores_the_same_alone_and_in_a_batch_of_any_order"),
        (ReadsThePosition, "test_a_test_scores_the_same_alone_and_in_a_batch_of_any_order"),
        (LikesTheFirstClass, "test_the_order_of_the_classes_does_not_matter"),
        (
            LikesTheFirstOutcome,
            "test_neither_an_outcome_that_nobody_has_nor_the_order_of_outcomes_matters",
        ),
        (
            CountsOutcomes,
            "test_neither_an_outcome_that_nobody_has_nor_the_order_of_outcomes_matters",
        ),
        (
            TermsOfAnotherShape,
            "test_its_terms_are_one_number_per_test_and_its_rule_keeps_the_shape",
        ),
        (KernelOfAnotherScore, "test_its_compiled_kernel_answers_what_the_slow_form_answers"),
        (TwoRules, "test_its_column_is_finite_and_answers_compiled_what_it_answers_as_python"),
        (ReadsRows, "test_rows_that_an_object_stands_for_do_not_matter_where_it_counts_objects"),
        (NoDocumentedField, "test_it_states_what_it_is_and_what_every_field_means"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_criterion_suite_finds_a_criterion_that(broken, found_by):
    assert found_by in failures("criterion", broken(), found_by)


def test_the_criterion_suite_finds_one_that_asks_for_coverage_and_does_not_read_it():
    wanted = "test_it_reads_what_tests_add_to_coverage_where_it_says_so"
    assert wanted in failures("criterion", IgnoresGain(), wanted, coverage=(ToyExcluded(),))


@attrs.frozen
class OwnColumn(ToyReduction):
    """Balance of a column of its own, in the form that receives the node's objects alone."""

    def columns(self, node, objects):
        assert objects.n_objects == node.n_objects
        return objects.weight[:, None] * (
            1.0 + (0 if objects.label is None else objects.label[:, None])
        )

    def score(self, tables, node):
        return -np.square(tables.extra[..., 0]).sum(axis=1)


def test_the_criterion_suite_accepts_the_documented_form_of_columns_with_the_nodes_objects_alone():
    assert failures("criterion", OwnColumn()) == []


def test_the_criterion_suite_accepts_a_sound_criterion():
    assert failures("criterion", SoundCriterion()) == []


# -- impurities ------------------------------------------------------------------------------------


@attrs.frozen
class SoundImpurity(ToyGini):
    """Gini's index."""

    capabilities = ("classification", "multiclass", "weights", "concave")


@attrs.frozen
class NotZeroOnPure(SoundImpurity):
    """One half everywhere."""

    def value(self, weights):
        return np.full(weights.shape[:-1], 0.5)


@attrs.frozen
class NanOnEmpty(SoundImpurity):
    """Divides by the mass."""

    def value(self, weights):
        with np.errstate(all="ignore"):
            share = weights / weights.sum(axis=-1, keepdims=True)
            return 1 - (share * share).sum(axis=-1)


@attrs.frozen
class Negative(SoundImpurity):
    """The wrong sign."""

    def value(self, weights):
        return -super().value(weights)


@attrs.frozen
class FirstClassCounts(SoundImpurity):
    """Twice as mixed if the first class is there."""

    def value(self, weights):
        return super().value(weights) * (1 + (weights[..., 0] > 0))


@attrs.frozen
class DeclaredTotal(SoundImpurity):
    """A mean that says total."""

    scale = "total"


@attrs.frozen
class DeclaredMean(SoundImpurity):
    """A total that says mean."""

    def value(self, weights):
        return super().value(weights) * weights.sum(axis=-1)


@attrs.frozen
class Convex(SoundImpurity):
    """The square of gini is not concave."""

    def value(self, weights):
        return super().value(weights) ** 4


@attrs.frozen
class NotAdmissible(SoundImpurity):
    """A mean is not monotone."""

    capabilities = ("classification", "multiclass", "weights", "admissible")


@attrs.frozen
class OtherValue(SoundImpurity):
    """Half of what its kernel says."""

    def value(self, weights):
        return super().value(weights) / 2


@pytest.mark.parametrize(
    ("broken", "found_by"),
    [
        (NotZeroOnPure, "test_what_it_declares_is_true_of_all_small_sets"),
        (NotZeroOnPure, "test_it_is_zero_on_an_empty_set_and_positive_on_some_mixed_one"),
        (NanOnEmpty, "test_it_is_zero_on_an_empty_set_and_positive_on_some_mixed_one"),
        (Negative, "test_it_is_zero_on_an_empty_set_and_positive_on_some_mixed_one"),
        (Negative, "test_what_it_declares_is_true_of_all_small_sets"),
        (FirstClassCounts, "test_what_it_declares_is_true_of_all_small_sets"),
        (DeclaredTotal, "test_what_it_declares_is_true_of_all_small_sets"),
        (DeclaredMean, "test_what_it_declares_is_true_of_all_small_sets"),
        (Convex, "test_what_it_declares_is_true_of_all_small_sets"),
        (NotAdmissible, "test_what_it_declares_is_true_of_all_small_sets"),
        (OtherValue, "test_its_kernel_equals_its_value"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_impurity_suite_finds_an_impurity_that(broken, found_by):
    assert found_by in failures("impurity", broken(), found_by)


def test_the_impurity_suite_accepts_a_sound_impurity():
    assert failures("impurity", SoundImpurity()) == []


# -- leaf rules and prices -------------------------------------------------------------------------


@attrs.frozen
class SoundStop:
    """At most two tests on a path."""

    kind, name, paper, capabilities = "stopping", "sound", "", ()
    depth: int = param(2, "tests on a path, at most", ge=0)

    def limits(self):
        return Limits(max_depth=self.depth)

    def is_leaf(self, node):
        return node.depth >= self.depth


@attrs.frozen
class AnswersWithANumber(SoundStop):
    """Returns the depth instead of yes or no."""

    def is_leaf(self, node):
        return node.depth


@attrs.frozen
class NoLeafAtAll(SoundStop):
    """Limits that no tree can keep."""

    def limits(self):
        return Limits(max_leaves=0)


@attrs.frozen
class SaysOneThingAndDoesAnother(SoundStop):
    """Flips its answer."""

    def is_leaf(self, node):
        node.weights.flags.writeable = True
        node.weights[0] += 1
        return bool(node.weights[0] > 9)


@attrs.frozen
class SoundCost:
    """Two per test."""

    kind, name, paper, capabilities = "cost", "sound", "", ()

    def price_list(self, objects, seed):
        return Prices(
            np.full(int(objects.test_offset[-1]), 2.0), np.ones(len(objects.raw_features))
        )


@attrs.frozen
class PaysYou(SoundCost):
    """A negative price."""

    def price_list(self, objects, seed):
        return Prices(-super().price_list(objects, seed).tests, np.ones(len(objects.raw_features)))


@attrs.frozen
class OnePricePerColumn(SoundCost):
    """Too few prices."""

    def price_list(self, objects, seed):
        return Prices(np.ones(len(objects.features)), np.ones(len(objects.raw_features)))


@attrs.frozen
class DrawsUndeclared(SoundCost):
    """Random, and does not say so."""

    def price_list(self, objects, seed):
        return Prices(
            np.random.default_rng(seed).random(int(objects.test_offset[-1])),
            np.ones(len(objects.raw_features)),
        )


@pytest.mark.parametrize(
    ("kind", "broken", "found_by"),
    [
        (
            "stopping",
            AnswersWithANumber,
            "test_it_says_yes_or_no_by_the_node_alone_which_it_leaves_as_it_was",
        ),
        ("stopping", NoLeafAtAll, "test_its_limits_are_bounds_that_a_tree_can_keep"),
        (
            "stopping",
            SaysOneThingAndDoesAnother,
            "test_it_says_yes_or_no_by_the_node_alone_which_it_leaves_as_it_was",
        ),
        ("cost", PaysYou, "test_every_test_has_one_finite_price_of_at_least_zero"),
        ("cost", OnePricePerColumn, "test_every_test_has_one_finite_price_of_at_least_zero"),
        ("cost", DrawsUndeclared, "test_the_seed_matters_exactly_where_that_is_declared"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_suites_find_a_rule_or_a_price_list_that(kind, broken, found_by):
    assert found_by in failures(kind, broken(), found_by)


def test_the_suites_accept_a_sound_rule_and_a_sound_price_list():
    assert failures("stopping", SoundStop()) == []
    assert failures("cost", SoundCost()) == []


# -- coverage, complexity, objective ---------------------------------------------------------------


@attrs.frozen
class SoundCoverage:
    """Share of the objects of other classes that are gone (heterogeneous pairs, per object)."""

    kind, name, paper, capabilities = "coverage", "sound", "", ()

    def covered(self, objects, rows):
        total = np.bincount(objects.label, objects.weight, objects.n_classes)
        here = np.bincount(objects.label[rows], objects.weight[rows], objects.n_classes)
        others, still = total.sum() - total, here.sum() - here
        return (1 - still / others)[objects.label[rows]]


@attrs.frozen
class AboveOne(SoundCoverage):
    """Counts instead of shares."""

    def covered(self, objects, rows):
        return super().covered(objects, rows) * 2


@attrs.frozen
class Uncovers(SoundCoverage):
    """Falls when more is asked."""

    def covered(self, objects, rows):
        return 1 - super().covered(objects, rows)


@attrs.frozen
class NotSubmodular(SoundCoverage):
    """A square gains more the later it is asked."""

    def covered(self, objects, rows):
        return super().covered(objects, rows) ** 6


@attrs.frozen
class HalfBefore(SoundCoverage):
    """Half covered before anything is asked."""

    def covered(self, objects, rows):
        return 0.5 + super().covered(objects, rows) / 2


@attrs.frozen
class Drifts(SoundCoverage):
    """Answers something else once it is bound to its root."""

    def prepare(self, objects):
        return NotSubmodular()


@attrs.frozen
class SoundComplexity:
    """Number of leaves."""

    kind, name, paper, capabilities = "complexity", "sound", "", ()

    per_object = False

    def leaf(self):
        return 1.0

    def node(self, mass, price, children):
        return float(children.sum())

    def form(self):
        return Form(leaf=1.0)


@attrs.frozen
class FallsWithSize(SoundComplexity):
    """Cheaper when larger."""

    def node(self, mass, price, children):
        return 1 / (1.0 + float(children.sum()))

    def form(self):
        return None


@attrs.frozen
class WrongForm(SoundComplexity):
    """Says in closed form what it does not do."""

    def form(self):
        return Form(leaf=1.0, per_node=1.0)


@attrs.frozen
class LeafErrors:
    """Weight of the errors plus λ per leaf."""

    kind, name, paper, capabilities = "objective", "leaf_errors", "", ()
    lam: float = param(0.7, "cost of a leaf", ge=0)

    def value(self, tree, problem):
        wrong = (tree.weights.sum(axis=1) - tree.weights.max(axis=1))[tree.is_leaf].sum()
        return float(wrong + self.lam * tree.n_leaves)


@attrs.frozen
class NanObjective(LeafErrors):
    """Undefined on a leaf."""

    def value(self, tree, problem):
        return float("nan") if tree.n_nodes == 1 else super().value(tree, problem)


@attrs.frozen
class ConstantObjective(LeafErrors):
    """Tells nothing apart."""

    def value(self, tree, problem):
        return 1.0


@pytest.mark.parametrize(
    "coverage", [(), (ToyExcluded(),), (ToyExcluded(), SoundCoverage())], ids=len
)
def test_the_criterion_suite_accepts_a_sound_criterion_that_reads_coverage(coverage):
    assert failures("criterion", ToyCover(0.1), coverage=coverage) == []


@pytest.mark.parametrize(
    ("kind", "broken", "found_by"),
    [
        ("coverage", AboveOne, "test_it_satisfies_its_axioms"),
        ("coverage", Uncovers, "test_it_satisfies_its_axioms"),
        ("coverage", NotSubmodular, "test_it_satisfies_its_axioms"),
        ("coverage", HalfBefore, "test_it_satisfies_its_axioms"),
        (
            "coverage",
            Drifts,
            "test_it_answers_with_a_number_per_object_and_bound_to_its_root_with_the_same",
        ),
        (
            "complexity",
            FallsWithSize,
            "test_it_is_a_finite_number_above_that_of_a_leaf_and_no_cut_makes_a_tree_dearer",
        ),
        ("complexity", FallsWithSize, "test_no_dearer_branch_makes_a_node_cheaper"),
        ("complexity", WrongForm, "test_its_closed_form_says_the_same"),
        (
            "objective",
            NanObjective,
            "test_it_is_a_number_the_same_for_a_stored_tree_and_tells_some_trees_apart",
        ),
        (
            "objective",
            ConstantObjective,
            "test_it_is_a_number_the_same_for_a_stored_tree_and_tells_some_trees_apart",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_suites_find_a_function_of_trees_or_objects_that(kind, broken, found_by):
    assert found_by in failures(kind, broken(), found_by)


def test_the_suites_accept_sound_functions_of_trees_and_objects():
    assert failures("coverage", SoundCoverage()) == failures("coverage", ToyExcluded()) == []
    assert failures("complexity", SoundComplexity()) == []
    assert failures("objective", LeafErrors()) == []


# -- solvers, pruners, tuners, methods -------------------------------------------------------------


@attrs.frozen
class BruteForce:
    """Lists every tree."""

    kind, name, paper, capabilities = (
        "solver",
        "brute_force",
        "",
        ("classification", "multiclass", "weights", "exact"),
    )

    def solve(self, problem, context):
        objective = problem.parts.objective
        value, tree = best_tree(
            problem.objects, lambda tree: objective.value(tree, problem), problem.prices
        )
        return Solution(tree, value, value, Status.optimal)


@attrs.frozen
class ClaimsTheFirstTree(BruteForce):
    """Calls a leaf optimal."""

    def solve(self, problem, context):
        leaf = build_tree(problem.objects, None)
        value = problem.parts.objective.value(leaf, problem)
        return Solution(leaf, value, value, Status.optimal)


@attrs.frozen
class BoundAboveTheOptimum(BruteForce):
    """Proves too much when time is over."""

    def solve(self, problem, context):
        found = super().solve(problem, context)
        if context.deadline is None:
            return found
        return attrs.evolve(
            found, value=found.value + 1, lower_bound=found.value + 0.5, status=Status.feasible
        )


@attrs.frozen
class NoPruning:
    """Leaves the tree as it is."""

    kind, name, paper, capabilities = "pruner", "no_pruning", "", ()
    needs_validation = False

    def prune(self, tree, train, valid):
        return tree


@attrs.frozen
class Stump(NoPruning):
    """Cuts the tree at a depth that is given, or chosen."""

    depth: int | None = param(None, "tests on a path")

    @property
    def needs_validation(self):
        return self.depth is None

    def choose(self, tree, valid):
        return Selection({"pruner.depth": 1})

    def prune(self, tree, train, valid):
        depth = 1 if self.depth is None else self.depth
        return tree.cut(np.flatnonzero(tree.depth_of == depth))


@attrs.frozen
class ChoosesAnother(Stump):
    """Says one depth and takes another."""

    def choose(self, tree, valid):
        return Selection({"pruner.depth": 0})


@attrs.frozen
class ForgetsRows(NoPruning):
    """Counts one row less."""

    def prune(self, tree, train, valid):
        return attrs.evolve(tree, counts=np.maximum(tree.counts - 1, 0))


def _errors(solution, valid):
    """Weight of the rows predicted wrongly; a solution without a tree is worse than any."""
    if solution.tree is None:
        return math.inf
    return valid.row_weights()[solution.tree.predict(valid) != valid.target.codes].sum()


@attrs.frozen
class BestOfThree:
    """Tries three values and keeps the one with fewest errors on the validation rows."""

    kind, name, paper, capabilities = "tuner", "best_of_three", "", ()
    measure = "accuracy"

    def tune(self, fit, valid):
        tried = [({"criterion.lam": lam}, fit({"criterion.lam": lam})) for lam in (0.0, 0.3, 0.5)]
        return min(tried, key=lambda pair: _errors(pair[1], valid))


@attrs.frozen
class KeepsWhatItNeverTried(BestOfThree):
    """Invents a value."""

    def tune(self, fit, valid):
        return {"criterion.lam": 99.0}, super().tune(fit, valid)[1]


@attrs.frozen
class KeepsTheWorst(BestOfThree):
    """The wrong way round."""

    def tune(self, fit, valid):
        tried = [({"criterion.lam": lam}, fit({"criterion.lam": lam})) for lam in (0.0, 0.3, 0.5)]
        return max(tried, key=lambda pair: _errors(pair[1], valid))


@attrs.frozen
class TellsOtherScores(BestOfThree):
    """Its record does not fit its trees."""

    def tune(self, fit, valid):
        kept, solution = super().tune(fit, valid)
        return Selection(
            kept, "accuracy", [({"criterion.lam": lam}, 0.125) for lam in (0.0, 0.3, 0.5)]
        ), solution


@attrs.frozen
class KeepsWhatHasNoTree(BestOfThree):
    """The last value, come what may."""

    def tune(self, fit, valid):
        return [({"criterion.lam": lam}, fit({"criterion.lam": lam})) for lam in (0.0, 0.3, 0.5)][
            -1
        ]


@attrs.frozen
class SlowMethod:
    """Grows by the naive loop."""

    kind, name, paper, capabilities = "method", "slow", "", ()
    needs = ("criterion",)

    def fit(self, problem, context):
        from arboretum.testing.oracles import slow_greedy

        return Solution(
            build_tree(problem.objects, slow_greedy(problem.objects)), 0.0, 0.0, Status.feasible
        )


@attrs.frozen
class NeverLearns(SlowMethod):
    """Always a leaf."""

    def fit(self, problem, context):
        return Solution(build_tree(problem.objects, None), 0.0, 0.0, Status.feasible)


@attrs.frozen
class LosesWeight(SlowMethod):
    """Reports other weights than its training objects have."""

    def fit(self, problem, context):
        found = super().fit(problem, context)
        return attrs.evolve(found, tree=attrs.evolve(found.tree, weights=found.tree.weights * 1.01))


def solver_parts(solver):
    return Parts(method=None, solver=solver, objective=LeafErrors())


@pytest.mark.parametrize(
    ("kind", "broken", "found_by"),
    [
        (
            "solver",
            ClaimsTheFirstTree,
            "test_it_finds_what_brute_force_finds_and_again_for_the_same_seed",
        ),
        ("solver", BoundAboveTheOptimum, "test_when_time_is_over_it_says_what_it_has_proven"),
        (
            "pruner",
            ForgetsRows,
            "test_the_pruned_tree_is_no_larger_and_holds_at_every_node_the_rows_that_come_to_it",
        ),
        (
            "tuner",
            KeepsWhatItNeverTried,
            "test_it_keeps_one_of_the_values_it_tried_and_tries_the_same_again",
        ),
        (
            "tuner",
            KeepsTheWorst,
            "test_it_keeps_the_best_tree_on_the_validation_rows_up_to_the_slack_it_states",
        ),
        ("tuner", TellsOtherScores, "test_what_it_tells_of_its_trials_is_what_it_tried"),
        (
            "tuner",
            KeepsWhatHasNoTree,
            "test_a_value_that_the_budget_left_without_a_tree_is_kept_only_where_no_other_has_one",
        ),
        (
            "pruner",
            ChoosesAnother,
            "test_it_says_whether_it_needs_validation_rows_and_its_choice_prunes_as_it_does",
        ),
        ("method", NeverLearns, "test_it_learns_something_and_makes_a_leaf_of_a_single_object"),
        (
            "method",
            LosesWeight,
            "test_it_returns_a_tree_that_verification_accepts_and_for_the_same_seed_the_same",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_suites_find_a_procedure_that(kind, broken, found_by):
    extra = (
        {"parts": solver_parts(broken()), "value": LeafErrors().value} if kind == "solver" else {}
    )
    assert found_by in failures(kind, broken(), found_by, **extra)


@pytest.mark.slow
def test_the_suites_accept_sound_procedures(monkeypatch):
    monkeypatch.setattr(suite_of("solver"), "tables", tries(30))
    assert failures("solver", BruteForce(), parts=solver_parts(BruteForce())) == []
    assert failures("pruner", NoPruning()) == []
    assert failures("pruner", Stump()) == failures("pruner", Stump(2)) == []
    assert failures("tuner", BestOfThree()) == []
    assert failures("method", SlowMethod()) == []


def test_a_suite_without_a_component_says_what_to_override():
    with pytest.raises(pytest.fail.Exception, match="must override the fixture 'component'"):
        fixture = suite_of("criterion").component
        getattr(fixture, "_fixture_function", None)(suite_of("criterion")())
