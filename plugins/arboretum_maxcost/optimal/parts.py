"""The parts of a subtable under its tests, and what is known of subtables::

    known_of(G, b):  least ← the largest loss of a LOWER fact of G whose budget is ≥ b
                     most  ← the smallest loss of a tree of G whose budget is ≤ b
                     (or else what errs in every tree, and the loss of a leaf)
    keep_fact:       a known fact says as much: nothing to do
                     the first fact that now says no more: overwrite it;  none: append, and link
    weigh_parts(t):  with b left below t: least ← Σ_i least(G_i, b),  most ← Σ_i most(G_i, b)
                     (b below the smallest price: every part is a leaf)
    reach_of:        up to which b the sum of least losses holds: while some loss is to spare,
                     give up the bound that holds least far

Invariants:

- Losses, budgets and masses are whole numbers.  EVER stands for a bound that always holds.
- Slots 0 … w − 1 are the bins of a feature (w the most bins, at least 2), then come the run w, what
  is outside w + 1, and the whole subtable w + 2.  A bin whose ``tally`` is 0 is empty, its other
  fields are stale; ``fill_parts`` takes it that all bins are empty, and ``clear_parts`` empties
  them.  ``loss`` and ``error`` count only after ``settle``, which also sets ``sure`` to 0 where
  trees must not err.
- ``low`` and ``reach`` follow ``chosen`` by place, not by slot; ``low`` is what exceeds ``sure``,
  and ``reach_of`` sets what it gives up to 0.
- ``head[node]`` is the first fact or −1, NEXT the one after it or −1.  Facts are overwritten in
  place and never removed.
- ``keep_fact`` writes one fact at most, and looks for no room: the caller has seen to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.function_pointers import call_impurity
from arboretum.kernels.jit import jit
from arboretum.kernels.solving.fingerprints import find
from arboretum.kernels.solving.rows import INSIDE, MIXED, OUTSIDE, goes, union

WITHOUT_ERROR, DELTA, UNIT, LEAST, MOST, LEMMA, AHEAD, STARS = range(8)
"""Places in ``setting``: float64[8].  MOST : the largest value of the bound's impurity that a leaf
may have.

LEAST : the smallest price.   The last three: whether a bound is used.
"""
EVER = np.int64(1) << 60
"""A budget above all others."""
BUDGET, LOSS, TEST, NEXT = range(4)
"""Columns of ``facts``."""
LOWER = np.int64(-2)
"""Instead of a test: the fact is a lower bound."""


class Table(NamedTuple):
    """Objects and tests, see ``space.Space``.

    words : uint64[n, 2].
    n_classes : int.

    star : int64[n + 1]; object x has the rivals star_row[star[x] : star[x + 1]] (int32), of other
        classes, no two of which are divided from x by the same test; star_price (int64) is the
        cheapest test that divides each from x.
    """

    codes: np.ndarray
    family: np.ndarray
    n_bins: np.ndarray
    first_test: np.ndarray
    price: np.ndarray
    label: np.ndarray
    purity: np.ndarray
    mass: np.ndarray
    sure: np.ndarray
    count: np.ndarray
    words: np.ndarray
    n_classes: int
    star: np.ndarray
    star_row: np.ndarray
    star_price: np.ndarray


class Parts(NamedTuple):
    """Sets of rows, by slot: objects, mass, mass that errs in every tree, words of the fingerprint,
    purity class, class masses; then the loss of a leaf, and the mass outside the heaviest class.

    The first slots are the bins of a feature, the last three a run of bins, what a test leaves
    outside, and the whole subtable. ``touched``: the bins in use; ``chosen``: the slots of one
    test, ``low`` and ``reach`` what is known of them, in that order.
    after : int64[·], purity of all bins from there on.
    vector : float64[classes], scratch.
    """

    tally: np.ndarray
    mass: np.ndarray
    sure: np.ndarray
    one: np.ndarray
    two: np.ndarray
    who: np.ndarray
    heavy: np.ndarray
    loss: np.ndarray
    error: np.ndarray
    touched: np.ndarray
    chosen: np.ndarray
    low: np.ndarray
    reach: np.ndarray
    after: np.ndarray
    vector: np.ndarray


class Memory(NamedTuple):
    """What is known of subtables.

    slots : uint64[2^k, 2].
    head : int64[nodes], first fact or −1.
    facts : int64[·, 4].

    A fact (budget, loss, test, next): some tree of at most that price errs by at most that loss,
    and asks that test first; or, where the test is LOWER, every tree of at most that price errs by
    at least that loss.
    """

    slots: np.ndarray
    head: np.ndarray
    facts: np.ndarray


class Task(NamedTuple):
    """What is asked of a table.

    setting : float64[8].
    rule, bound : addresses of the impurity of the leaf rule and of that of the bound (0: none, and
        hinged pairs).
    mark, used : int64[n], stamps.
    order : int64[tests], drop : float64[tests], scratch.
    """

    table: Table
    parts: Parts
    memory: Memory
    setting: np.ndarray
    rule: int
    bound: int
    mark: np.ndarray
    used: np.ndarray
    order: np.ndarray
    drop: np.ndarray


def new_parts(n_bins: np.ndarray, classes: int) -> Parts:
    """Room for the tests of any feature."""
    widest = max(2, int(n_bins.max(initial=0)))
    whole, words, listed = (
        np.zeros((6, widest + 3), np.int64),
        np.zeros((2, widest + 3), np.uint64),
        np.zeros((5, widest + 1), np.int64),
    )
    return Parts(
        *whole[:3],
        *words,
        whole[3],
        np.zeros((widest + 3, classes), np.int64),
        *whole[4:],
        *listed,
        np.zeros(classes),
    )


@jit(inline=True, borrow=True, wraps=True)
def add_row(table, r, c, parts):
    """Add a row to a slot."""
    if parts.tally[c] == 0:
        parts.mass[c], parts.sure[c], parts.who[c] = 0, 0, table.purity[r]
        parts.one[c], parts.two[c] = np.uint64(0), np.uint64(0)
        parts.heavy[c] = 0
    elif parts.who[c] != table.purity[r]:
        parts.who[c] = MIXED
    parts.tally[c] += 1
    parts.mass[c] += table.mass[r]
    parts.sure[c] += table.sure[r]
    parts.one[c] += table.words[r, 0]
    parts.two[c] += table.words[r, 1]
    parts.heavy[c, table.label[r]] += table.mass[r]


@jit(inner=True, borrow=True)
def fill_parts(table, f, index, rows, low, high, parts):
    """Add up the rows of each bin of a feature (index < 0), or of each outcome of its two-way
    test; returns how many occur.
    """
    column, family, touched = table.codes[f], table.family[f], parts.touched
    seen = np.int64(0)
    for k in range(low, high):
        c = np.int64(column[rows[k]])
        if index >= 0:
            c = INSIDE if goes(family, c, index, INSIDE) else OUTSIDE
        if parts.tally[c] == 0:
            touched[seen] = c
            seen += 1
        add_row(table, rows[k], c, parts)
    return seen


@jit(inner=True, borrow=True)
def clear_parts(parts, seen):
    """Empty the slots of the first ``seen`` bins that were touched: with a count of 0 they are
    filled anew.
    """
    for k in range(seen):
        parts.tally[parts.touched[k]] = 0


@jit(inner=True, borrow=True)
def append_part(parts, to, other, fresh):
    """Add a slot to another, which is empty when ``fresh``."""
    if fresh:
        parts.tally[to], parts.mass[to], parts.sure[to], parts.who[to] = 0, 0, 0, parts.who[other]
        parts.one[to], parts.two[to] = np.uint64(0), np.uint64(0)
        parts.heavy[to] = 0
    parts.who[to] = union(parts.who[to], parts.who[other])
    parts.tally[to] += parts.tally[other]
    parts.mass[to] += parts.mass[other]
    parts.sure[to] += parts.sure[other]
    parts.one[to] += parts.one[other]
    parts.two[to] += parts.two[other]
    for c in range(parts.heavy.shape[1]):
        parts.heavy[to, c] += parts.heavy[other, c]


@jit(inner=True, borrow=True)
def without_part(parts, to, whole, other, who):
    """A slot becomes what one has more than another; its purity class is given."""
    parts.who[to] = who
    parts.tally[to] = parts.tally[whole] - parts.tally[other]
    parts.mass[to] = parts.mass[whole] - parts.mass[other]
    parts.sure[to] = parts.sure[whole] - parts.sure[other]
    parts.one[to] = parts.one[whole] - parts.one[other]
    parts.two[to] = parts.two[whole] - parts.two[other]
    for c in range(parts.heavy.shape[1]):
        parts.heavy[to, c] = parts.heavy[whole, c] - parts.heavy[other, c]


@jit(inline=True, borrow=True)
def impurity_at_slot(task, address, slot):
    """The impurity whose kernel is at ``address``, of the class weights in a slot (masses times the
    setting UNIT).
    """
    parts = task.parts
    for c in range(parts.heavy.shape[1]):
        parts.vector[c] = parts.heavy[slot, c] * task.setting[UNIT]
    return call_impurity(address, parts.vector)


@jit(inner=True, borrow=True)
def settle(task, slot):
    """Write what a leaf of these rows loses: the mass outside the heaviest class, or 1 where it
    breaks the leaf rule.
    """
    parts, setting = task.parts, task.setting
    heaviest = np.int64(0)
    for c in range(parts.heavy.shape[1]):
        heaviest = max(heaviest, parts.heavy[slot, c])
    parts.error[slot] = parts.loss[slot] = parts.mass[slot] - heaviest
    if setting[WITHOUT_ERROR] > 0.0:
        parts.sure[slot] = 0
        lawful = parts.who[slot] != MIXED
        if not lawful and not np.isnan(setting[DELTA]):
            lawful = impurity_at_slot(task, task.rule, slot) <= setting[DELTA]
        parts.loss[slot] = 0 if lawful else 1


@jit(inner=True, borrow=True)
def potential(task, slot, alpha):
    """F of a part: the bound's impurity, or Σ_{i<j} [n_i − α]₊ [n_j − α]₊ in units of mass."""
    if task.bound != 0:
        return impurity_at_slot(task, task.bound, slot)
    total, squares = 0.0, 0.0
    for c in range(task.parts.heavy.shape[1]):
        more = max(0.0, np.float64(task.parts.heavy[slot, c] - alpha))
        total += more
        squares += more * more
    return 0.5 * (total * total - squares)


@jit(inner=True, borrow=True)
def unevenness(parts, slot):
    """Mass times gini."""
    squares = 0.0
    for c in range(parts.heavy.shape[1]):
        squares += np.float64(parts.heavy[slot, c]) * np.float64(parts.heavy[slot, c])
    return parts.mass[slot] - squares / max(1, parts.mass[slot])


@jit(inline=True, borrow=True)
def known_of(memory, node, budget, sure, loss):
    """(least, up to which budget; most, from which budget, by which test or −1): what a subtable
    loses at a budget.

    loss : of a leaf.
    """
    low, reach, up, spent, test = sure, EVER, loss, np.int64(0), np.int64(-1)
    at = memory.head[node] if node >= 0 else np.int64(-1)
    while at >= 0:
        fact = memory.facts[at]
        if fact[TEST] == LOWER:
            if fact[BUDGET] >= budget and (
                fact[LOSS] > low or (fact[LOSS] == low and fact[BUDGET] > reach)
            ):
                low, reach = fact[LOSS], fact[BUDGET]
        elif fact[BUDGET] <= budget and (
            fact[LOSS] < up or (fact[LOSS] == up and fact[BUDGET] < spent)
        ):
            up, spent, test = fact[LOSS], fact[BUDGET], fact[TEST]
        at = fact[NEXT]
    return low, reach, up, spent, test


@jit(inner=True, borrow=True)
def keep_fact(memory, node, budget, loss, test, free):
    """Keep a fact unless a better one is known; a worse one makes room.

    free : number of facts.  Returns the new number.
    """
    better = 1 if test == LOWER else -1  # more budget and more loss say more, or less of either
    at, place = memory.head[node], np.int64(-1)
    while at >= 0:
        fact = memory.facts[at]
        if (fact[TEST] == LOWER) == (test == LOWER):
            more, worse = better * (fact[BUDGET] - budget), better * (fact[LOSS] - loss)
            if more >= 0 and worse >= 0:
                return free
            if place < 0 and more <= 0 and worse <= 0:
                place = at
        at = fact[NEXT]
    if place < 0:
        place = free
        memory.facts[place, NEXT] = memory.head[node]
        memory.head[node] = place
        free += 1
    memory.facts[place, BUDGET], memory.facts[place, LOSS], memory.facts[place, TEST] = (
        budget,
        loss,
        test,
    )
    return free


@jit(inner=True, borrow=True)
def weigh_parts(task, m, left, needed):
    """Bounds of a test whose first m ``chosen`` slots are settled, with ``left`` to spend below it.

    Returns (least loss, up to which ``left`` it holds, most loss, with which of ``left``, unsolved
    slot or −1, its least loss). What is said of the reach is said of the lesser of the least loss
    and ``needed``.
    """
    parts = task.parts
    least = np.int64(task.setting[LEAST])
    lower, upper, cost, hardest = np.int64(0), np.int64(0), np.int64(0), np.int64(-1)
    unsolved, unsolved_low = np.int64(-1), np.int64(0)
    for k in range(m):
        slot = parts.chosen[k]
        low, reach, up, spent = parts.sure[slot], EVER, parts.loss[slot], np.int64(0)
        if low < up:
            if left < least:
                low, reach = up, least - 1
            else:
                node = find(task.memory.slots, parts.one[slot], parts.two[slot])
                low, reach, up, spent, _ = known_of(task.memory, node, left, low, up)
                if low >= up:
                    low = up
        parts.low[k], parts.reach[k] = low - parts.sure[slot], reach
        lower, upper, cost = lower + low, upper + up, max(cost, spent)
        if low < up and parts.error[slot] > hardest:
            hardest, unsolved, unsolved_low = parts.error[slot], slot, low
    return (
        lower,
        reach_of(parts, m, lower - min(lower, needed)),
        upper,
        cost,
        unsolved,
        unsolved_low,
    )


@jit(inner=True, borrow=True)
def reach_of(parts, m, spare):
    """Up to which budget the parts together lose what they do now, less ``spare``: bounds of
    least reach are given up first.
    """
    while True:
        at = np.int64(-1)
        for k in range(m):
            if parts.low[k] > 0 and (at < 0 or parts.reach[k] < parts.reach[at]):
                at = np.int64(k)
        if at < 0:
            return EVER
        if parts.low[at] > spare:
            return parts.reach[at]
        spare -= parts.low[at]
        parts.low[at] = 0
