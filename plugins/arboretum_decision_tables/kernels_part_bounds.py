"""Parts of a subtable under a test: what they hold, what ψ of them is at least, and how mixed they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.solving.rows import INSIDE, MIXED, OUTSIDE, goes
from arboretum_decision_tables.kernels_values import LEAF, MAX, PER_MASS, PER_NODE, PRICED

LEAST, ARITY, FREE, LIGHT, SLACK, EASE, AHEAD, CUBES, SHARE, FEW = range(10)
"""Places in ``setting``: cheapest price; most outcomes of a test; greatest weight of a leaf of several classes (∞: not known); weight
of the two lightest objects; relative difference of equal values; how far beyond the second best test to go on with the best;
whether to look ahead (kernels_ahead); from how many objects on to list cubes (kernels_cubes); second and third number of
``space.Space.light``."""

ENTROPY, PAIRS, GINI, WORST_PAIRS, WORST_ENTROPY = range(5)
"""What ranks tests: sum over parts of mass times entropy, of pairs of unlike objects, of mass times Gini's index; or the
maximum over parts."""


BY_BIN = np.int64(-1)
"""No test of a feature, but all of its bins."""


class Parts(NamedTuple):
    """The parts of a test: objects, rows that they stand for, mass, two words of the fingerprint, class, list of the slots in use,
    class weights; of the objects that share a leaf with no other, their number and Σ w log₂ w."""

    tally: np.ndarray
    counts: np.ndarray
    mass: np.ndarray
    one: np.ndarray
    two: np.ndarray
    who: np.ndarray
    touched: np.ndarray
    heavy: np.ndarray
    alone: np.ndarray
    spread: np.ndarray


def new_parts(slots: int, classes: int) -> Parts:
    """Room for so many parts."""
    return Parts(
        np.zeros(slots, np.int64), np.zeros(slots, np.int64), np.zeros(slots), np.zeros(slots, np.uint64),
        np.zeros(slots, np.uint64), np.zeros(slots, np.int64), np.zeros(slots, np.int64), np.zeros((slots, classes)),
        np.zeros(slots, np.int64), np.zeros(slots),
    )  # fmt: skip


@jit(borrow=True)
def fill_parts(table, f, index, rows, low, high, parts):
    """Add up the objects of each outcome of a two-way test (of each bin of its feature where index < 0); returns how many occur."""
    tally, counts, mass, one, two, who, touched, heavy, alone, spread = parts
    column, family, weight, purity, group = table.codes[f], table.family[f], table.weight, table.purity, table.group
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
        if group[r] >= 0:
            heavy[c, group[r]] += weight[r]
        else:
            alone[c] += 1
            spread[c] += weight[r] * np.log2(weight[r]) if weight[r] > 0.0 else 0.0
        tally[c] += 1
    return seen


@jit(borrow=True)
def clear_parts(parts, seen):
    for k in range(seen):
        parts.tally[parts.touched[k]] = 0


@jit(borrow=True)
def part_bound(mass, heavy, alone, spread, form, setting, heap):
    """A lower bound of ψ for a part that is no leaf, by its class weights.

    It is divided, as two of its objects differ in class and so in some code; so one test is asked of all its objects, and it
    has two branches, each ≥ ψ⁰.  Where only one class makes a leaf (for light leaves see ``cap``), each of its c classes has a leaf: there are at least c
    leaves, ⌈(c − 1) / (a − 1)⌉ inner nodes, a path of ⌈log_a c⌉ tests, and Σ mass over inner nodes is at least the length
    of Huffman's a-ary code of the classes: keep of each class its shallowest leaf and send all its weight there; no path gets
    longer, and what remains is a prefix code.  An object that shares a leaf with no other is a class.  Where there are such, Shannon's bound of that length is taken: it needs only sums over the objects.
    """
    least = setting[LEAST] if form[PRICED] else 1.0
    one_test = (form[PER_NODE] + form[PER_MASS] * mass) * least + form[LEAF] * (1.0 if form[MAX] else 2.0)
    free = setting[FREE]
    if np.isinf(free) or (alone > 0 and free > 0.0):
        return one_test
    classes = 0
    for k in range(len(heavy)):
        if heavy[k] > 0.0:
            j = classes
            while j > 0 and heap[j - 1] > heavy[k]:
                heap[j] = heap[j - 1]
                j -= 1
            heap[j] = heavy[k]
            classes += 1
    if free > 0.0:
        classes = cap(heap, classes, free)
    arity = np.int64(setting[ARITY])
    if classes + alone <= 2:
        return one_test
    length = 0.0
    if alone > 0:
        length = mass * np.log2(mass) - spread if mass > 0.0 else 0.0
        for j in range(classes):
            length -= heap[j] * np.log2(heap[j])
        # each of the terms is rounded: take off more than that
        length = (length - 1e-12 * (alone + classes) * mass * max(1.0, np.log2(mass))) / np.log2(arity) if mass > 0.0 else 0.0
        length = max(length, 0.0)
        classes += alone
    elif form[PER_MASS] > 0.0 and not form[MAX]:
        length = huffman(heap, classes, arity)
    if form[MAX]:
        longest, reached = 1, arity
        while reached < classes:
            longest += 1
            reached *= arity
        return one_test + (longest - 1) * (form[PER_NODE] + form[PER_MASS] * setting[LIGHT]) * least
    inner = (classes - 1 + arity - 2) // (arity - 1)
    return max(one_test, form[LEAF] * classes + (form[PER_NODE] * inner + form[PER_MASS] * length) * least)


@jit(borrow=True)
def cap(heap, n, free):
    """The weights above ``free``, and the rest in portions of ``free``, in place and ascending; returns how many there are.

    Where light nodes are leaves of weight at most ``free``, the j heaviest leaves together weigh at most what the j first of
    these numbers do: they majorise the leaves' weights, and the length of the best code is Schur-concave.
    """
    rest, light = 0.0, 0
    while light < n and heap[light] <= free:
        rest += heap[light]
        light += 1
    portions = 0
    while rest > free and portions < light:
        rest -= free
        portions += 1
    left = 1 if rest > 1e-9 * free and portions < light else 0
    if left:
        heap[0] = rest
    for k in range(portions):
        heap[left + k] = free
    for k in range(light, n):
        heap[left + portions + k - light] = heap[k]
    return left + portions + n - light


@jit(borrow=True)
def huffman(heap, n, arity):
    """Length of the best prefix code of ``arity`` letters for the ascending weights heap[:n], which are lost."""
    total, first = 0.0, 0
    take = (n - 1) % (arity - 1) + 1  # words of no weight fill the first group
    if take == 1:
        take = arity
    while n - first > 1:
        merged = 0.0
        for _ in range(take):
            merged += heap[first]
            first += 1
        total += merged
        first -= 1
        j = first
        while j + 1 < n and heap[j + 1] < merged:
            heap[j] = heap[j + 1]
            j += 1
        heap[j] = merged
        take = min(arity, n - first)
    return total


@jit(borrow=True)
def disorder(heavy, spread, mass, heuristic):
    """How mixed a part is."""
    total = 0.0
    if heuristic == ENTROPY or heuristic == WORST_ENTROPY:
        for k in range(len(heavy)):
            if heavy[k] > 0.0:
                total -= heavy[k] * np.log2(heavy[k])
        return total + mass * np.log2(mass) - spread if mass > 0.0 else 0.0
    for k in range(len(heavy)):
        total += heavy[k] * heavy[k]
    if heuristic == GINI:
        return mass - total / mass if mass > 0.0 else 0.0
    return (mass * mass - total) / 2.0
