"""Encoded training objects: what the search loop and the solvers see.

An encoder turns a raw :class:`~arboretum.model.table.Table` into objects with two kinds of
features:

* *coded* features hold a small integer per object (a bin, a category); each feature offers a family
  of fixed tests;
* *raw* features hold a float per object; their tests are thresholds found at the node.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from arboretum.errors import sure
from arboretum.model.plain import Facts
from arboretum.model.real_numbers import real_numbers
from arboretum.model.rules import Interval, TestRule, Threshold
from arboretum.model.table import (
    Column,
    ColumnKind,
    HasTask,
    Table,
    Task,
    array_field,
    frozen_array,
)
from arboretum.model.whole import exact_weights


class Family(enum.Enum):
    """Which tests a coded feature with bins 0 … b−1 offers."""

    multiway = "multiway"
    """One test with b outcomes, outcome = bin."""
    thresholds = "thresholds"
    """b − 1 tests with two outcomes: test k is "bin ≤ k" (outcome 0) against the rest (outcome
    1).
    """
    equals = "equals"
    """b tests with two outcomes: test k is "bin = k" (outcome 0) against the rest (outcome 1)."""

    def outcome(self, index: int, bins: np.ndarray) -> np.ndarray:
        """Return int64[n]: the outcome of its test for each of these bins; none is a missing
        value's.
        """
        if self is Family.multiway:
            outcome = bins
        else:
            outcome = bins > index if self is Family.thresholds else bins != index
        return outcome.astype(np.int64)


@attrs.frozen
class Feature:
    """One coded feature.  Encoders subclass it to say how its tests read on the raw column.

    column : name of the raw column.  position : its index in the raw table (ties go to the lowest).
    n_bins : number of bins, the missing bin not counted.
    has_missing : bin ``n_bins`` (:mod:`arboretum.model.missing`) is that of a missing value, which
        no test has an outcome for.
    """

    column: str
    position: int
    family: Family
    n_bins: int
    has_missing: bool = False

    @property
    def n_tests(self) -> int:
        """Number of tests the feature offers (those constant on the whole table included)."""
        family = self.family
        if family is Family.multiway:
            return 1
        return self.n_bins - 1 if family is Family.thresholds else self.n_bins

    @property
    def arity(self) -> int:
        """Number of outcomes of each of its tests."""
        return self.n_bins if self.family is Family.multiway else 2

    def missing(self, codes: np.ndarray) -> np.ndarray:
        """Return bool[n]: which of these codes are that of a missing value."""
        gone: np.ndarray = codes == self.n_bins
        return gone

    def rule(self, index: int) -> TestRule:
        """The raw-column test with that index (0 ≤ index < n_tests)."""
        raise NotImplementedError

    def codes(self, column: Column) -> np.ndarray:
        """Return ints[n]: the bin of each row of the column, whichever rows these are; for encoders
        that code rows part by part.
        """
        raise NotImplementedError


@attrs.frozen
class RawFeature:
    """One raw feature: thresholds are placed at midpoints between neighbouring values of the node's
    objects, and after all of them.

    column : name of the raw column.  position : its index in the raw table.  unit : as in Column.
    """

    column: str
    position: int
    unit: str = ""

    def rule(self, threshold: float) -> TestRule:
        """Return the test "value ≤ threshold"; for ∞ "the value is known", which competes where
        some value is missing.
        """
        if threshold == np.inf:
            return Interval(self.column, None, None, missing_is_other=True, unit=self.unit)
        return Threshold(self.column, float(threshold), self.unit)


@attrs.frozen(eq=False)
class Encoded(HasTask):
    """Training objects, ready for search.

    table : the raw training rows the objects were made from (after rows were dropped, if the
        encoder drops rows).
    features : one per column of ``codes``.
    codes : uint8, uint16 or uint32[n_objects, n_features], any memory order; kept as given, never
        copied here.
    raw_features, raw : one per column of ``raw``; float32 or float64[n_objects, n_raw], NaN =
        missing.
    label : int32[n_objects] (classification) or None.
    y : float64[n_objects] (regression) or None.
    weight : float64[n_objects] > 0.
    count : int64[n_objects], rows that each object stands for.
    object_of_row : int64[n_rows of table]; the object each row became.
    gap : raw values of a node not further apart than this are not separated by a threshold; 0:
        different ones always are.
    test_offset : int64[n_features + 1]: tests of feature f have the global indices test_offset[f] …
        test_offset[f + 1] − 1.
    """

    table: Table
    features: tuple[Feature, ...]
    codes: np.ndarray
    raw_features: tuple[RawFeature, ...]
    raw: np.ndarray
    label: np.ndarray = array_field(np.int32)
    y: np.ndarray = array_field(np.float64)
    weight: np.ndarray = array_field(np.float64)
    count: np.ndarray = array_field(np.int64)
    object_of_row: np.ndarray = array_field(np.int64)
    notes: tuple[str, ...] = ()
    gap: float = 0.0

    @property
    def all_features(self) -> tuple[Feature | RawFeature, ...]:
        """Coded ones, then raw ones."""
        return (*self.features, *self.raw_features)

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return len(self.weight)

    @cached_property
    def row_of_object(self) -> np.ndarray:
        """int64[n_objects]: the first row of ``table`` that became each object."""
        return frozen_array(np.unique(self.object_of_row, return_index=True)[1], np.int64)

    @property
    def task(self) -> Task:
        """The task of the table: classification or regression."""
        return self.table.task

    @property
    def n_classes(self) -> int:
        """Number of classes of the table; 0 for regression."""
        return self.table.n_classes

    @cached_property
    def exact_weights(self) -> tuple[np.ndarray, Fraction, Fraction]:
        """Mass, unit and error of the weights, as :func:`~arboretum.model.whole.exact_weights` has
        them.
        """
        return exact_weights(self.weight)

    @cached_property
    def class_weights(self) -> tuple[Fraction, ...]:
        """The weight of each class, exactly but for the weights' error."""
        mass, unit, _ = self.exact_weights
        # sums of whole numbers below 2^53
        total = np.bincount(self.label, mass, self.n_classes).tolist()
        return tuple(Fraction(int(one)) if unit == 1 else int(one) * unit for one in total)

    @cached_property
    def test_offset(self) -> np.ndarray:
        """int64[n_features + 1]: index of each feature's first test, then the number of tests."""
        return np.cumsum([0, *(feature.n_tests for feature in self.features)])

    @property
    def n_tests(self) -> int:
        """Number of fixed tests, plus one per raw feature (its thresholds are not counted before
        growth).
        """
        return self.n_fixed + len(self.raw_features)

    @property
    def n_fixed(self) -> int:
        """Number of fixed tests."""
        return int(self.test_offset[-1])

    @cached_property
    def levels(self) -> np.ndarray:
        """int64[columns of ``table``]: values that the tests of each column tell apart, 0 where
        they are thresholds; without any, those it declares.
        """
        reported = dict.fromkeys((feature.position for feature in self.raw_features), 0)
        # of a column in several features, each sets one value apart from the rest
        for feature in self.features:
            named = (
                feature.family is not Family.thresholds
                or self.table.columns[feature.position].kind is ColumnKind.categorical
            )
            reported[feature.position] = (
                max(reported.get(feature.position, 0), 1) + feature.n_bins - 1 if named else 0
            )
        return frozen_array(
            [
                reported.get(position, len(column.categories))
                for position, column in enumerate(self.table.columns)
            ],
            np.int64,
        )

    @cached_property
    def cuts(self) -> tuple[int, int]:
        """(cuts of continuous columns that the fixed tests know, cuts between neighbouring
        values of these columns); raw ones do not count.
        """
        raw, columns = {feature.position for feature in self.raw_features}, self.table.columns
        known = {feature.position: feature.n_bins - 1 for feature in self.features}
        coded = [
            place
            for place, column in enumerate(columns)
            if column.is_continuous and place not in raw
        ]
        values = [columns[place].values[~columns[place].missing] for place in coded]
        return sum(known.get(place, 0) for place in coded), sum(
            max(0, len(np.unique(one)) - 1) for one in values
        )

    @cached_property
    def hides_rows(self) -> bool:
        """Whether rows of several classes became one object, or it weighs other than they do:
        what is wrong of objects is not what is wrong of rows.
        """
        merged = np.bincount(self.object_of_row, self.table.row_weights(), self.n_objects)
        other = (
            self.label is not None
            and (self.label[self.object_of_row] != self.table.target.codes).any()
        )
        return bool(other) or not np.allclose(merged, self.weight, rtol=1e-12, atol=0.0)

    @cached_property
    def lacking(self) -> np.ndarray:
        """bool[n_objects]: whether some test has no outcome for an object."""
        coded = [
            feature.missing(self.codes[:, f])
            for f, feature in enumerate(self.features)
            if feature.has_missing
        ]
        return frozen_array(np.any([np.isnan(self.raw).any(axis=1), *coded], axis=0))

    @cached_property
    def incomplete(self) -> tuple[Feature | RawFeature, ...]:
        """The features of which some object has no value, coded ones first."""
        coded = (
            feature
            for f, feature in enumerate(self.features)
            if feature.has_missing and feature.missing(self.codes[:, f]).any()
        )
        return (*coded, *itertools.compress(self.raw_features, np.isnan(self.raw).any(axis=0)))

    def mean_of_rows(self, values: np.ndarray) -> Any:
        """Return float64[n_objects] or [n_objects, k]: of each object the mean of its rows, by
        their weights.

        values : float64[n_rows of table] or [n_rows, k].
        """
        found: np.ndarray = np.asarray(values, np.float64)
        if self.n_objects == self.table.n_rows:
            return found[self.row_of_object]
        weight, summed = self.table.row_weights(), np.zeros((self.n_objects, *found.shape[1:]))
        np.add.at(summed, self.object_of_row, (found.T * weight).T)
        whole = np.bincount(self.object_of_row, weight, self.n_objects)
        mean: np.ndarray = (summed.T / whole).T
        return mean

    def role(self, name: str) -> np.ndarray:
        """Return float64[n_objects]: what :meth:`Table.role` says of the rows, as a mean of each
        object's.
        """
        mean: np.ndarray = self.mean_of_rows(self.table.role(name))
        return mean

    def take(self, rows: np.ndarray) -> Encoded:
        """Return the same features and tests with some of the objects (int64 indices); each stands
        for itself as a row.
        """
        per_object = ("codes", "raw", "label", "y", "weight", "count")
        picked: Facts = {
            name: None if (values := getattr(self, name)) is None else values[rows]
            for name in per_object
        }
        table = self.table.take(self.row_of_object[rows])
        return attrs.evolve(self, **picked, table=table, object_of_row=np.arange(len(rows)))

    def rule(self, test: int) -> TestRule:
        """Return the rule of a fixed test by its global index."""
        feature, index = self.place(test)
        return self.features[feature].rule(index)

    def outcome(self, test: int) -> np.ndarray:
        """Return int64[n_objects]: the outcome of a fixed test by its global index, where all have
        one.
        """
        feature, index = self.place(test)
        return self.features[feature].family.outcome(index, self.codes[:, feature])

    def place(self, test: int) -> tuple[int, int]:
        """Return the feature of a fixed test, and which of its tests it is."""
        feature = int(self.test_offset.searchsorted(test, "right")) - 1
        return feature, test - int(self.test_offset[feature])


@attrs.frozen(eq=False)
class Prices:
    """What each test costs (same unit for all).

    tests, raw : float64[number of fixed tests], float64[n_raw]; the largest price of a test, where
        outcomes differ.
    once_per_column : a column asked before on the path is free (its value is known by then).
    after : the list below a path that has asked these raw columns and paid so much, none of its
        prices above those of the root; None: the same list everywhere.
    outcomes : float64[number of fixed tests + n_raw, most outcomes], the price by outcome, NaN
        beyond a test's last; None: all outcomes cost the same.

    With ``after`` or ``outcomes`` trees are grown node by node, and no exact solver knows their
    minimum.
    """

    tests: np.ndarray
    raw: np.ndarray
    once_per_column: bool = False
    after: Callable[[frozenset[str], float], Prices] | None = None
    outcomes: np.ndarray | None = None

    @staticmethod
    def by_outcome(outcomes: np.ndarray, n_raw: int = 0, **more: Any) -> Prices:
        """Return a list by outcome; its last ``n_raw`` tests are the raw features.

        outcomes : float64[tests, most outcomes], NaN beyond a test's last.
        more : fields of the list.
        """
        outcomes = real_numbers(outcomes, "Prices.by_outcome")
        highest = np.nanmax(outcomes, axis=1, initial=0.0)
        split = len(highest) - n_raw
        return Prices(highest[:split], highest[split:], outcomes=outcomes, **more)

    @property
    def fixed(self) -> bool:
        """Whether one number per test says all, wherever it is asked."""
        return self.after is None and self.outcomes is None

    def at(self, asked: frozenset[str], paid: float = 0.0) -> Prices:
        """Return the list at a node, whose path has asked these raw columns and paid so much."""
        return self if self.after is None or not asked else self.after(asked, paid)

    def of(self, test: int) -> tuple[float, ...]:
        """Return the price of each outcome of a fixed test (a raw feature counts on), one number
        where they are all the same.
        """
        n = len(self.tests)
        highest = float(self.tests[test] if test < n else self.raw[test - n])
        own = (
            ()
            if self.outcomes is None
            else tuple(self.outcomes[test][~np.isnan(self.outcomes[test])].tolist())
        )
        return own if len(set(own)) > 1 else (highest,)


@attrs.frozen(eq=False)
class Tables:
    """Contingency tables of a batch of candidate tests at one node: what a NumPy criterion scores.

    weights : float64[tests, outcomes, classes]; for regression the last axis holds (Σw, Σwy, Σwy²).
    counts : int64[tests, outcomes, classes], rows (objects, for a criterion with
        ``counts_objects``); for regression int64[tests, outcomes, 1].
    price : float64[tests], after what the path has paid for already.
    extra : float64[tests, outcomes, k], the criterion's own additive columns; k = 0 if it declares
        none.
    test : int64[tests], position of each candidate in the node's list of candidates (stable; ties
        go to the lowest).
    impurity_scale : "mean" or "total" as the run's impurity declares; "prefix" if it is no function
        of additive tables: then ``extra`` holds mass × impurity of each outcome.
    gain : float64[tests, outcomes], Σ over an outcome's objects i of w_i (f_i(outcome) − f_i(node))
        / (1 − f_i(node)), with 0 for objects that are covered at the node; f is the disjunction of
        the run's coverages (Zhang & Gionis, the term E). None unless the run has coverages and the
        criterion declares ``needs_gain``.
    column : int64[tests], position in the raw table of the column that a test reads.
    levels : int64[columns], of each column the values that its tests tell apart, 0 where they are
        thresholds, those it declares where it has none.   None where a predicate makes the tests.
    outcome_price : float64[tests, outcomes], what each outcome costs (``price`` is the most); None
        unless the criterion declares ``needs_outcome_prices``.

    Outcomes that a test does not have, or that no object of the node has, are zero.
    """

    weights: np.ndarray
    counts: np.ndarray
    price: np.ndarray
    extra: np.ndarray
    test: np.ndarray
    impurity_of: Callable[[np.ndarray], np.ndarray] | None = None
    impurity_scale: str = "mean"
    gain: np.ndarray | None = None
    outcome_price: np.ndarray | None = None
    column: np.ndarray | None = None
    levels: np.ndarray | None = None

    def impurity(self, weights: np.ndarray) -> np.ndarray:
        """Apply the run's impurity to the last axis: float64[…, classes] → float64[…]; 0 where
        the mass is 0.
        """
        return sure(self.impurity_of)(weights)

    @property
    def mass(self) -> np.ndarray:
        """float64[tests, outcomes]: weight that each outcome receives."""
        return (
            self.weights.sum(axis=-1)
            if self.counts.shape[-1] == self.weights.shape[-1]
            else self.weights[..., 0]
        )

    @property
    def n_tests(self) -> int:
        """Number of tests in the batch."""
        return len(self.price)


@attrs.frozen(eq=False)
class Node:
    """The node at which tests are scored.

    weights : float64[classes] (or moments).
    counts : int64[classes] (or int64[1]), rows, or objects for a criterion with ``counts_objects``.
    mass, total_mass : weight in the node and at the root.
    impurity : of the node, NaN without an impurity.
    depth : number of tests on the path.
    coverage : weighted mean over the node's objects of f_i, the disjunction of the run's coverages;
        exactly 1.0 where every object is covered.  0.0 without coverages, and where neither a
        stopping rule (``needs_coverage``) nor a criterion in NumPy form (``needs_gain``) looks.
    n_rows, n_objects : training rows and (coalesced) objects in the node; None where nobody counted
        them.
    """

    weights: np.ndarray
    counts: np.ndarray
    mass: float
    total_mass: float
    impurity: float
    depth: int
    coverage: float = 0.0
    n_rows: int | None = None
    n_objects: int | None = None

    @property
    def count(self) -> int:
        """Number of training rows in the node."""
        return int(self.counts.sum()) if self.n_rows is None else self.n_rows
