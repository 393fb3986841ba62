"""The suites of what looks at a node (criteria, impurities, leaf rules, prices) tell a sound
component from a broken one: every defect below must be found by some test of the suite.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from cover import ToyCover
from suite_failures import failures
from toy_coverage import ToyExcluded

from arboretum.api import Limits, Prices, param
from arboretum.kernels import criterion_kernel
from arboretum.testing import suite_of
from arboretum.testing.tables import ToyGini, ToyReduction

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


# -- whatever the kind -----------------------------------------------------------------------------


def test_a_suite_without_a_component_says_what_to_override():
    with pytest.raises(pytest.fail.Exception, match="must override the fixture 'component'"):
        fixture = suite_of("criterion").component
        getattr(fixture, "_fixture_function", None)(suite_of("criterion")())
