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
- ``heavy`` has no columns where class weights are not asked for; ``alone`` and ``spread`` are then
  not summed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.function_pointers import call_impurity
from arboretum.kernels.jit import jit
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

MAX, LEAF, PER_NODE, PER_MASS, PRICED = range(5)
"""Places in a form: float64[5], the closed form of a complexity (MAX and PRICED are 0 or 1)."""
BY_BIN = np.int64(-1)
"""No test of a feature, but all of its bins."""


class Table(NamedTuple):
    """Objects, tests and leaf rule.

    codes : uint[F, n].
    family, n_bins, first_test : int64[F].
    price : float64[tests].
    even : bool[F], all tests of the feature cost the same.
    label, purity : int32[n], class; objects that may share a leaf of one class have equal purity.
    group : int64[n], class that bounds may count on, −1 for an object that shares a leaf of one
        class with no other.
    weight : float64[n].
    count : int64[n], see ``few``.
    words : uint64[n, 2].
    rule : float64[4], see ``space.Space.rule_array``.
    impurity : address of the one that the leaf rule asks for, or 0.
    """

    codes: np.ndarray
    family: np.ndarray
    n_bins: np.ndarray
    first_test: np.ndarray
    price: np.ndarray
    even: np.ndarray
    label: np.ndarray
    purity: np.ndarray
    group: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    words: np.ndarray
    rule: np.ndarray
    impurity: int


class Parts(NamedTuple):
    """Sets of rows, by slot: objects, what the leaf rule counts, mass, two words of the
    fingerprint, class, class weights; of the objects that share a leaf with no other, their number
    and Σ w log₂ w.

    The first slots are the bins of a feature, ``touched`` the list of those in use; ``tests`` :
    int64[·, 3], index and slots of the two outcomes of each test.   vector : float64[classes],
    scratch.
    """

    tally: np.ndarray
    counts: np.ndarray
    mass: np.ndarray
    one: np.ndarray
    two: np.ndarray
    who: np.ndarray
    heavy: np.ndarray
    alone: np.ndarray
    spread: np.ndarray
    touched: np.ndarray
    tests: np.ndarray
    vector: np.ndarray


def new_parts(table: Table, *, class_weights: bool) -> Parts:
    """Room for the tests of any feature."""
    widest, classes = max(2, int(table.n_bins.max(initial=0))), int(table.label.max(initial=0)) + 1
    n = 4 * widest + 2
    whole, real, words = np.zeros((5, n), np.int64), np.zeros((2, n)), np.zeros((2, n), np.uint64)
    heavy = np.zeros((n, classes if class_weights else 0))
    touched, tests = np.zeros(widest, np.int64), np.zeros((widest, 3), np.int64)
    return Parts(
        whole[0],
        whole[1],
        real[0],
        *words,
        whole[2],
        heavy,
        whole[3],
        real[1],
        touched,
        tests,
        np.zeros(classes),
    )


@jit(inline=True, borrow=True)
def few(counts, rule):
    """Whether a subtable has fewer than rule[0] rows, or fewer than rule[3] objects.

    counts : its rows; where rule[3] > 0 its rows · 2³² + its objects, so that one sum (or
        difference) counts both.
    """
    if rule[3] > 0.0:
        return counts >> 32 < rule[0] or (counts & 0xFFFFFFFF) < rule[3]
    return counts < rule[0]


@jit(inner=True, borrow=True)
def is_light_or_pure_enough(table, rows, low, high, f, index, outcome, vector):
    """Whether one branch of a test is a leaf by its mass or impurity; summed in the order of rows,
    so that the answer does not depend on the way that led to the subtable.
    """
    vector[:] = 0.0
    mass, column, family = 0.0, table.codes[f], table.family[f]
    for k in range(low, high):
        r = rows[k]
        if goes(family, np.int64(column[r]), index, outcome):
            mass += table.weight[r]
            vector[table.label[r]] += table.weight[r]
    if mass <= table.rule[1]:
        return True
    return not np.isnan(table.rule[2]) and call_impurity(table.impurity, vector) <= table.rule[2]


@jit(inline=True, borrow=True)
def part_is_leaf(table, parts, slot, rows, low, high, f, index, outcome):
    """Whether a part is a leaf by the rule."""
    if parts.who[slot] != MIXED or few(parts.counts[slot], table.rule):
        return True
    if table.rule[1] > 0.0 or not np.isnan(table.rule[2]):
        return is_light_or_pure_enough(table, rows, low, high, f, index, outcome, parts.vector)
    return False


@jit(inner=True, borrow=True, wraps=True)
def fill_parts(table, f, index, rows, low, high, parts):
    """Add up the objects of each outcome of a two-way test (of each bin of its feature where
    index < 0); returns how many occur.
    """
    tally, counts, mass, one, two, who, heavy, alone, spread, touched, _, _ = parts
    column, family, weight, purity, group = (
        table.codes[f],
        table.family[f],
        table.weight,
        table.purity,
        table.group,
    )
    seen = np.int64(0)
    for k in range(low, high):
        r = rows[k]
        c = np.int64(column[r])
        if index >= 0:
            c = INSIDE if goes(family, c, index, INSIDE) else OUTSIDE
        if tally[c] == 0:
            touched[seen] = c
            seen += 1
            one[c], two[c] = table.words[r, 0], table.words[r, 1]
            mass[c], who[c], counts[c] = weight[r], purity[r], table.count[r]
            heavy[c] = 0.0
            alone[c], spread[c] = 0, 0.0
        else:
            one[c] += table.words[r, 0]
            two[c] += table.words[r, 1]
            mass[c] += weight[r]
            counts[c] += table.count[r]
            if who[c] != purity[r]:
                who[c] = MIXED
        tally[c] += 1
        if heavy.shape[1] == 0:
            continue
        if group[r] >= 0:
            heavy[c, group[r]] += weight[r]
        else:
            alone[c] += 1
            spread[c] += weight[r] * np.log2(weight[r]) if weight[r] > 0.0 else 0.0
    return seen


@jit(inner=True, borrow=True)
def clear_parts(parts, seen):
    """Empty the slots of the first ``seen`` bins touched, for the next feature."""
    for k in range(seen):
        parts.tally[parts.touched[k]] = 0


@jit(inner=True, borrow=True)
def join(parts, to, a, b):
    """A slot becomes the union of two others.  Only sums, no differences: a class that is absent
    weighs 0.
    """
    tally, counts, mass, one, two, who, heavy, alone, spread, _, _, _ = parts
    for k in range(heavy.shape[1]):
        heavy[to, k] = heavy[a, k] + heavy[b, k]
    tally[to], counts[to], mass[to] = tally[a] + tally[b], counts[a] + counts[b], mass[a] + mass[b]
    one[to], two[to], who[to] = one[a] + one[b], two[a] + two[b], union(who[a], who[b])
    alone[to], spread[to] = alone[a] + alone[b], spread[a] + spread[b]


@jit(inner=True, borrow=True)
def list_tests(table, f, seen, parts):
    """List the tests of a two-way feature that divide the rows, of whose bins ``seen`` were filled
    in; returns how many.

    Of tests that divide alike only the cheapest is listed, ties to the first.
    """
    touched, tests, price, first = parts.touched, parts.tests, table.price, table.first_test[f]
    after, before, other = len(touched), 2 * len(touched) + 1, 3 * len(touched) + 2
    sort_few(touched, seen)
    if table.family[f] != THRESHOLDS and seen == 2:
        k = 1 if price[first + touched[1]] < price[first + touched[0]] else 0
        tests[0, 0], tests[0, 1], tests[0, 2] = touched[k], touched[k], touched[1 - k]
        return 1
    nobody = after + seen
    parts.tally[nobody], parts.counts[nobody], parts.mass[nobody], parts.who[nobody] = (
        0,
        0,
        0.0,
        NOBODY,
    )
    parts.one[nobody], parts.two[nobody] = np.uint64(0), np.uint64(0)
    parts.heavy[nobody] = 0.0
    parts.alone[nobody], parts.spread[nobody] = 0, 0.0
    join(parts, before, nobody, nobody)
    for k in range(seen - 1, -1, -1):
        join(parts, after + k, after + k + 1, touched[k])
    for k in range(seen):
        join(parts, before + k + 1, before + k, touched[k])
        tests[k, 0], tests[k, 1], tests[k, 2] = touched[k], touched[k], other + k
        if table.family[f] != THRESHOLDS:
            join(parts, other + k, before + k, after + k + 1)
            continue
        tests[k, 1], tests[k, 2] = before + k + 1, after + k + 1
        if not table.even[f] and k + 1 < seen:
            tests[k, 0] = cheapest(price, first, touched[k], touched[k + 1])
    return seen - 1 if table.family[f] == THRESHOLDS else seen
