"""The decision table as the solver's kernels see it, and what the solver refuses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import (
    Context,
    DataError,
    Encoded,
    Family,
    LeafRule,
    Level,
    Problem,
    refuse_unfit,
    sure,
)
from arboretum.kernels import mark_of

if TYPE_CHECKING:
    from arboretum.interfaces.impurity import Impurity
    from arboretum_decision_tables.exact import parts


FAMILIES = {Family.multiway: 0, Family.thresholds: 1, Family.equals: 2}
"""As in arboretum.kernels.solving.rows."""


@attrs.frozen(eq=False)
class Space:
    """Objects, tests and leaf rule.  Objects with equal codes and class are merged: no test can
    tell them apart.

    codes : uint8, uint16 or uint32[F, n], one contiguous row per feature.
    family, n_bins, first_test : int64[F].
    price : float64[tests].
    even : bool[F], all tests of the feature cost the same.
    label : int32[n].
    weight : float64[n].
    count : int64[n], rows.
    members : int64[n], objects before merging.
    words : uint64[n, 2], random.
    rule : the leaf rule.
    impurity : component, or None.
    total_mass : weight of all objects.
    inconsistent : number of objects whose codes also occur with another class.
    """

    objects: Encoded
    codes: np.ndarray
    family: np.ndarray
    n_bins: np.ndarray
    first_test: np.ndarray
    price: np.ndarray
    even: np.ndarray
    label: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    members: np.ndarray
    words: np.ndarray
    rule: LeafRule
    impurity: Impurity | None
    total_mass: float
    inconsistent: int

    @property
    def n_objects(self) -> int:
        """Number of objects, after those with equal codes and class were merged."""
        return len(self.label)

    @property
    def rule_array(self) -> np.ndarray:
        """float64[4]: min_split, the weight and the impurity (NaN: none) at or below which a node
        is a leaf, min_objects; 0 for a number that every mixed node reaches.
        """
        light, mixed = self.rule.levels(self.total_mass)
        if self.impurity is None or self.rule.delta is None:
            mixed = math.nan
        rows, objects = (
            least if least > 2 else 0 for least in (self.rule.min_split, self.rule.min_objects)
        )
        return np.array([rows, light, mixed, objects])

    @property
    def counted(self) -> np.ndarray:
        """int64[n]: what the leaf rule counts, as ``parts.is_too_small_to_divide`` reads it: rows,
        and objects where it asks for them.
        """
        return (self.count << 32) | self.members if self.rule_array[3] else self.count

    @property
    def exact(self) -> bool:
        """Weights and prices are integers, so that sums below 2⁵³ are exact, and ties are ties."""
        return bool(
            (self.weight == np.rint(self.weight)).all()
            and (self.price == np.rint(self.price)).all()
        )

    @property
    def slack(self) -> float:
        """Relative difference up to which two bundles count as equally good: 0 for integers.

        Otherwise a value is a sum of at most 2n masses times prices (one per node), each mass a sum
        of at most n weights, all of them ≥ 0: two orders of summation differ by less than 4n·ε
        relatively.
        """
        return 0.0 if self.exact else 4 * self.n_objects * float(np.finfo(np.float64).eps)

    @property
    def light(self) -> tuple[float, float, int]:
        """Return what is known of leaves of several classes: their weight is at most the first
        number, and either at most the second or they hold fewer objects than the third.  (0, 0, 0)
        where only one class makes a leaf; (∞, ∞, 0): nothing is known.
        """
        rows, share, mixed, objects = self.rule_array.tolist()
        few = int(max(rows, objects))
        if not math.isnan(mixed) or (few and self.inconsistent):
            return math.inf, math.inf, 0
        # sums in another order
        majority = float(np.sort(self.weight)[::-1][: max(0, few - 1)].sum()) * (
            1 + LeafRule.ROUNDING
        )
        return max(share, majority), share, few

    @property
    def compiled_impurity(self) -> bool:
        """The leaf rule asks for no impurity, or for one that has a kernel."""
        return (
            math.isnan(self.rule_array[2])
            or mark_of(getattr(self.impurity, "kernel", None)) == "impurity"
        )

    def make_table(self) -> parts.Table:
        """Return what kernels read, a ``parts.Table``."""
        from arboretum.kernels.function_pointers import address_in_python, address_of
        from arboretum_decision_tables.exact.parts import FEATURE, ROW, Rule, Table

        rule, address = self.rule_array, 0
        if not np.isnan(rule[2]):
            address = (
                address_of(sure(getattr(self.impurity, "kernel", None)), "impurity")
                if self.compiled_impurity
                else address_in_python(sure(self.impurity).value)
            )
        features = np.zeros(len(self.family), FEATURE)
        for name in sure(FEATURE.names):
            features[name] = getattr(self, name)
        rows = np.zeros(self.n_objects, ROW)
        for name in ("label", "weight", "words"):
            rows[name] = getattr(self, name)
        rows["purity"], rows["group"], rows["count"] = self.label, self.label, self.counted
        return Table(self.codes, features, self.price, rows, Rule(*rule.tolist()), address)

    def raise_from_impurity(self) -> None:
        """Raise what an impurity without a kernel has raised inside one; asked after each slice
        of a search.
        """
        if not self.compiled_impurity:
            from arboretum.kernels.function_pointers import raise_from_python

            raise_from_python(sure(self.impurity).value)

    def outcomes_of_test(self, rows: np.ndarray, test: int) -> np.ndarray:
        """Return int64[len(rows)]: the outcome of each object under a test, by its global index.

        rows : int64[·], objects.
        """
        f = int(np.searchsorted(self.first_test, test, side="right")) - 1
        code: np.ndarray = self.codes[f, rows].astype(np.int64)
        k = test - int(self.first_test[f])
        if self.family[f] == FAMILIES[Family.multiway]:
            return code
        other = code > k if self.family[f] == FAMILIES[Family.thresholds] else code != k
        return other.astype(np.int64)

    def class_weights(self, rows: np.ndarray) -> np.ndarray:
        """Return float64[classes], the weights of the objects ``rows``, int64[·], by class, summed
        in the order of rows.
        """
        return np.bincount(self.label[rows], self.weight[rows], self.objects.n_classes)

    def node_impurity(self, weights: np.ndarray) -> float:
        """Return the run's impurity of class weights, float64[classes]; NaN without one."""
        return math.nan if self.impurity is None else float(self.impurity.value(weights))

    def is_leaf(self, rows: np.ndarray) -> bool:
        """Return whether the objects of a subtable are of one class, or the leaf rule makes it a
        leaf.

        Where objects of several classes agree on all tests the answer is False: nothing divides
        them, and the caller sees that for itself.

        rows : int64[≥ 1], objects.
        """
        label = self.label[rows]
        if (label == label[0]).all():
            return True
        weights = self.class_weights(rows)
        impurity = self.node_impurity(weights) if self.rule.delta is not None else math.nan
        count, members = int(self.count[rows].sum()), int(self.members[rows].sum())
        return self.rule.holds(float(weights.sum()), self.total_mass, count, impurity, members)

    def are_leaves(self, level: Level) -> np.ndarray:
        """Return bool[sets]: :meth:`is_leaf` of each set of a level."""
        found, (rows, light, mixed, objects) = level.one_class.copy(), self.rule_array.tolist()
        if rows or light or objects or not math.isnan(mixed):
            for k in np.flatnonzero(~found).tolist():
                found[k] = self.is_leaf(level.of(k))
        return found


PER_ROW, PER_CODE, BYTES = 600, 5, 20
"""Steps for each row and each code, and bytes for each code, while equal rows are found."""


def space_of(
    problem: Problem, *, refuse_inconsistent: bool = False, context: Context = Context()
) -> Space:
    """Read a problem, equal objects of one class merged.

    refuse_inconsistent : whether objects with equal values and different classes raise DataError.
    Raises CapabilityError or DataError, with the way out, where the problem is none for this
    solver, BudgetError or OutOfTime where the context leaves too little for equal rows to be found.
    """
    from arboretum.kernels.solving.fingerprints import random_words

    objects, prices, impurity = problem.objects, problem.prices, problem.parts.impurity
    rule = problem.parts.leaf_rule(counting_objects=True)
    refuse_unfit("subtable_dp", objects, prices)
    context.check_time(2 * (PER_ROW * objects.n_objects + PER_CODE * objects.codes.size))
    context.room(
        BYTES * objects.codes.size,
        f"equal rows among {objects.n_objects:,} objects of {len(objects.features):,} columns",
    )
    codes, index, inverse = _merge_equal_objects(objects)
    inconsistent = _count_inconsistent(codes)
    if inconsistent and refuse_inconsistent:
        raise DataError(
            f"{inconsistent} objects have the same values as objects of another class; "
            "choose solver.inconsistent=majority, or give the table columns that tell them apart"
        )
    features, offset = objects.features, objects.test_offset
    even = [
        len(set(prices.tests[offset[f] : offset[f + 1]].tolist())) <= 1
        for f in range(len(features))
    ]
    return Space(
        objects=objects,
        codes=np.ascontiguousarray(codes.T),
        family=np.array([FAMILIES[f.family] for f in features], np.int64),
        n_bins=np.array([f.n_bins for f in features], np.int64),
        first_test=offset[:-1].astype(np.int64),
        price=np.ascontiguousarray(prices.tests, np.float64),
        even=np.array(even, np.bool_),
        label=np.ascontiguousarray(objects.label[index], np.int32),
        weight=np.bincount(inverse, objects.weight, len(index)),
        count=np.bincount(inverse, objects.count, len(index)).astype(np.int64),
        members=np.bincount(inverse, minlength=len(index)).astype(np.int64),
        words=random_words(len(index)),
        rule=rule,
        impurity=impurity,
        total_mass=float(objects.weight.sum()),
        inconsistent=inconsistent,
    )


def _merge_equal_objects(objects: Encoded) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return codes of the merged objects, uint[n, F], in the order of their first occurrence, label
    not included; int64[n], the first object of each; and the merged object of every object.
    """
    labelled = np.concatenate(
        [objects.codes, objects.label[:, None]], axis=1, dtype=np.uint32, casting="unsafe"
    )
    _, index, inverse = np.unique(labelled, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(index)
    return (
        objects.codes[index[order]].astype(code_type(objects)),
        index[order],
        np.argsort(order)[inverse.ravel()],
    )


def code_type(objects: Encoded) -> type:
    """Return the smallest dtype that holds every code."""
    most = max((feature.n_bins for feature in objects.features), default=0)
    return np.uint8 if most <= 256 else np.uint16 if most <= 65536 else np.uint32


def parity_table(problem: Problem) -> Space:
    """Return a table of two bits and their parity, in the dtypes of a problem: kernels are
    compiled, or loaded, on it.
    """
    ones = np.ones(4, np.int64)
    return Space(
        objects=problem.objects,
        codes=np.array([[0, 0, 1, 1], [0, 1, 0, 1]], code_type(problem.objects)),
        family=np.zeros(2, np.int64),
        n_bins=2 * ones[:2],
        first_test=np.arange(2),
        price=np.ones(2),
        even=np.ones(2, np.bool_),
        label=np.array([0, 1, 1, 0], np.int32),
        weight=np.ones(4),
        count=ones,
        members=ones,
        words=np.uint64(1) << np.arange(8, dtype=np.uint64).reshape(4, 2),
        rule=LeafRule(),
        impurity=None,
        total_mass=4.0,
        inconsistent=0,
    )


def _count_inconsistent(codes: np.ndarray) -> int:
    """Return how many of the merged objects have the codes of another class, too.

    codes : uint[n, F]; no two objects have the same codes and the same class, so that equal codes
        mean different classes.  Without features all have the same.
    """
    if codes.shape[1] == 0:
        return len(codes) if len(codes) > 1 else 0
    _, times = np.unique(codes, axis=0, return_counts=True)
    return int(times[times > 1].sum())
