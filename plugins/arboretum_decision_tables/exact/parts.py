"""The decision table as the solver's kernels see it, its leaf rule, and the parts of a subtable
under the tests of a feature::

    fill_parts:  for every row r: c ← its bin (or its outcome under one test)
                     the first of c overwrites slot c, any other is added to it
    list_tests:  sort the bins b_0 < b_1 < … that occur
                     before[k] = b_0 ∪ … ∪ b_{k−1},  after[k] = b_k ∪ b_{k+1} ∪ …
                 test k: before[k + 1] and after[k + 1] for thresholds,
                         b_k and before[k] ∪ after[k + 1] for equals (of two bins: one test)

Invariants, w being the most bins of a feature, at least 2:

- Slots 0 … w − 1 are bins, the next w + 1 are ``after``, the next w + 1 ``before``, the last w what
  an equals test leaves outside.
- A bin whose ``tally`` is 0 is empty, and its other fields are stale.  ``fill_parts`` takes it that
  all bins are empty; whoever called it calls ``clear_parts``.
- ``touched[:seen]`` lists the bins that occur, in ascending order after ``list_tests``.
- Sums are only added, never subtracted, so that a class that is absent weighs exactly 0.
  Fingerprints are sums mod 2⁶⁴.
- ``class_weight`` has no columns where class weights are not asked for; ``alone`` and ``spread``
  are then not summed.

Where nothing else is said, table is a Table, rule its Rule and parts are Parts, the last written; f
is a feature, slot a place of ``parts.sets``.
"""

from typing import NamedTuple

import numpy as np

from arboretum.api import Form
from arboretum.kernels.function_pointers import call_impurity
from arboretum.kernels.jit import inline, inner
from arboretum.kernels.solving.rows import (
    INSIDE,
    MIXED,
    NOBODY,
    OUTSIDE,
    THRESHOLDS,
    cheapest,
    goes,
    sort_few,
    union,
)

BY_BIN = np.int64(-1)
"""No test of a feature, but all of its bins."""
FEATURE = np.dtype(
    [
        ("family", np.int64),
        ("n_bins", np.int64),
        ("first_test", np.int64),
        ("even", np.int64),  # 1 where all its tests cost the same
    ]
)
ROW = np.dtype(
    [
        ("label", np.int64),  # class
        ("purity", np.int64),  # equal for objects that may share a leaf of one class
        ("group", np.int64),  # class that bounds may count on; −1: it shares such a leaf with none
        ("weight", np.float64),
        ("count", np.int64),  # see ``is_too_small_to_divide``
        ("words", np.uint64, 2),  # its summand of a fingerprint
    ]
)
PART = np.dtype(
    [
        ("tally", np.int64),  # objects
        ("counts", np.int64),  # what the leaf rule counts
        ("mass", np.float64),
        ("one", np.uint64),  # fingerprint
        ("two", np.uint64),
        ("who", np.int64),  # purity class
        ("alone", np.int64),  # objects that share a leaf with no other, and Σ w log₂ w of them
        ("spread", np.float64),
    ]
)
TWO_WAY = np.dtype(
    [
        ("index", np.int64),  # of the test among those of its feature
        ("slots", np.int64, 2),  # of its two outcomes
    ]
)


class ClosedForm(NamedTuple):
    """F of a complexity: (per_node + per_mass · mass) · price (1 unless ``priced``) and the sum or
    (``largest``) the maximum of the branches; a leaf costs ``leaf``.
    """

    largest: bool
    leaf: float
    per_node: float
    per_mass: float
    priced: bool


def closed_form_of(form: Form) -> ClosedForm:
    """Return a form as kernels read it."""
    leaf, per_node, per_mass = map(float, (form.leaf, form.per_node, form.per_mass))
    return ClosedForm(form.combine == "max", leaf, per_node, per_mass, bool(form.priced))


class Rule(NamedTuple):
    """The leaf rule, see ``space.Space.rule_array``."""

    rows: float
    light: float
    impurity: float
    objects: float


class Table(NamedTuple):
    """Objects, tests and leaf rule.

    codes : uint[F, n].
    features : FEATURE[F].
    price : float64[tests].
    rows : ROW[n].
    impurity : address of the one that the leaf rule asks for, or 0.
    """

    codes: np.ndarray
    features: np.ndarray
    price: np.ndarray
    rows: np.ndarray
    rule: Rule
    impurity: int


class Parts(NamedTuple):
    """Sets of rows, by slot, of which the first are the bins of a feature.

    sets : PART[slots].
    class_weight : float64[slots, classes], class weights.
    touched : int64[·], the bins in use.
    tests : TWO_WAY[·].
    vector : float64[classes], scratch.
    """

    sets: np.ndarray
    class_weight: np.ndarray
    touched: np.ndarray
    tests: np.ndarray
    vector: np.ndarray


def new_parts(table: Table, *, class_weights: bool) -> Parts:
    """Return empty parts with room for the tests of any feature.

    class_weights : whether class weights, and what objects alone weigh, are summed.
    """
    widest, classes = most_bins(table), n_classes(table)
    n = 4 * widest + 2
    return Parts(
        np.zeros(n, PART),
        np.zeros((n, classes if class_weights else 0)),
        np.zeros(widest, np.int64),
        np.zeros(widest, TWO_WAY),
        np.zeros(classes),
    )


def most_bins(table: Table) -> int:
    """Return the most bins of a feature, at least 2."""
    return max(2, int(table.features["n_bins"].max(initial=0)))


def n_classes(table: Table) -> int:
    """Return how many classes there are, as far as they occur."""
    return int(table.rows["label"].max(initial=0)) + 1


@inline
def is_too_small_to_divide(counts, rule):
    """Return whether a subtable is a leaf for its size: it has fewer than rule.rows rows, or fewer
    than rule.objects objects.

    counts : its rows; where rule.objects > 0 its rows · 2³² + its objects, so that one sum (or
        difference) counts both.
    """
    if rule.objects > 0.0:
        return counts >> 32 < rule.rows or (counts & 0xFFFFFFFF) < rule.objects
    return counts < rule.rows


@inner
def is_light_or_pure_enough(table, rows, low, high, f, index, outcome, vector):
    """Return whether one branch of a test of rows[low:high] is a leaf by its mass or impurity;
    summed in the order of rows, so that the answer does not depend on the way that led to the
    subtable.

    f, index, outcome : the feature, its test and the branch.
    vector : float64[classes], overwritten.
    """
    vector[:] = 0.0
    mass, column, family = 0.0, table.codes[f], table.features[f].family
    for k in range(low, high):
        r = rows[k]
        if goes(family, np.int64(column[r]), index, outcome):
            row = table.rows[r]
            mass += row.weight
            vector[row.label] += row.weight
    return mass <= table.rule.light or is_pure_enough(table, vector)


@inline
def is_pure_enough(table, weights):
    """Return whether the leaf rule makes a leaf of class weights, float64[classes], for their
    impurity.
    """
    most = table.rule.impurity
    return not np.isnan(most) and call_impurity(table.impurity, weights) <= most


@inline
def part_is_leaf(table, parts, slot, rows, low, high, f, index, outcome):
    """Return whether a part, one branch of a test of rows[low:high], is a leaf by the rule.

    slot : of the part, filled in.
    f, index, outcome : the feature, its test and the branch, for rules that sum rows anew.
    """
    part = parts.sets[slot]
    if part.who != MIXED or is_too_small_to_divide(part.counts, table.rule):
        return True
    if table.rule.light > 0.0 or not np.isnan(table.rule.impurity):
        return is_light_or_pure_enough(table, rows, low, high, f, index, outcome, parts.vector)
    return False


@inner(wraps=True)
def fill_parts(table, f, index, rows, low, high, parts):
    """Add up the objects of rows[low:high] by outcome of a two-way test; returns how many outcomes
    occur, listed in ``parts.touched``.

    f, index : the feature and its test; BY_BIN: by bin of the feature.
    All bins must be empty (``clear_parts``).
    """
    column, family, class_weight = table.codes[f], table.features[f].family, parts.class_weight
    seen = np.int64(0)
    for k in range(low, high):
        r = rows[k]
        c = np.int64(column[r])
        if index >= 0:
            c = INSIDE if goes(family, c, index, INSIDE) else OUTSIDE
        part, row = parts.sets[c], table.rows[r]
        if part.tally == 0:
            parts.touched[seen] = c
            seen += 1
            part.one, part.two = row.words[0], row.words[1]
            part.mass, part.who, part.counts = row.weight, row.purity, row.count
            class_weight[c] = 0.0
            part.alone, part.spread = 0, 0.0
        else:
            part.one += row.words[0]
            part.two += row.words[1]
            part.mass += row.weight
            part.counts += row.count
            if part.who != row.purity:
                part.who = MIXED
        part.tally += 1
        if class_weight.shape[1] == 0:
            continue
        if row.group >= 0:
            class_weight[c, row.group] += row.weight
        else:
            part.alone += 1
            part.spread += row.weight * np.log2(row.weight) if row.weight > 0.0 else 0.0
    return seen


@inner
def clear_parts(parts, seen):
    """Empty the slots of the first ``seen`` bins touched, for the next feature."""
    for k in range(seen):
        parts.sets[parts.touched[k]].tally = 0


@inner(wraps=True)
def unite_parts(parts, to, first, second):
    """Make slot ``to`` the union of slots ``first`` and ``second``, which share no rows.  Only
    sums, no differences: a class that is absent weighs 0.
    """
    part, one, other, class_weight = (
        parts.sets[to],
        parts.sets[first],
        parts.sets[second],
        parts.class_weight,
    )
    for k in range(class_weight.shape[1]):
        class_weight[to, k] = class_weight[first, k] + class_weight[second, k]
    part.tally, part.counts, part.mass = (
        one.tally + other.tally,
        one.counts + other.counts,
        one.mass + other.mass,
    )
    part.one, part.two, part.who = (
        one.one + other.one,
        one.two + other.two,
        union(one.who, other.who),
    )
    part.alone, part.spread = one.alone + other.alone, one.spread + other.spread


@inline
def write_test(test, index, inside, outside):
    """Write a two-way test, and the slots of its outcomes, to an entry of ``parts.tests``."""
    test.index, test.slots[0], test.slots[1] = index, inside, outside


@inner
def list_tests(table, f, seen, parts):
    """List the tests of a two-way feature that divide the rows in ``parts.tests``, with the slots
    of their outcomes; returns how many.

    seen : bins that were filled in; ``parts.touched`` is sorted.
    Of tests that divide alike only the cheapest is listed, ties to the first.
    """
    touched, tests, price, feature = parts.touched, parts.tests, table.price, table.features[f]
    first, ordered = feature.first_test, feature.family == THRESHOLDS
    after, before, other = len(touched), 2 * len(touched) + 1, 3 * len(touched) + 2
    sort_few(touched, seen)
    if not ordered and seen == 2:
        k = 1 if price[first + touched[1]] < price[first + touched[0]] else 0
        write_test(tests[0], touched[k], touched[k], touched[1 - k])
        return 1
    nobody = after + seen
    none = parts.sets[nobody]
    none.tally = none.counts = none.alone = 0
    none.one = none.two = np.uint64(0)
    none.mass = none.spread = 0.0
    none.who = NOBODY
    parts.class_weight[nobody] = 0.0
    unite_parts(parts, before, nobody, nobody)
    for k in range(seen - 1, -1, -1):
        unite_parts(parts, after + k, after + k + 1, touched[k])
    for k in range(seen):
        unite_parts(parts, before + k + 1, before + k, touched[k])
        if not ordered:
            unite_parts(parts, other + k, before + k, after + k + 1)
            write_test(tests[k], touched[k], touched[k], other + k)
            continue
        index = touched[k]
        if feature.even == 0 and k + 1 < seen:
            index = cheapest(price, first, index, touched[k + 1])
        write_test(tests[k], index, before + k + 1, after + k + 1)
    return seen - 1 if ordered else seen
