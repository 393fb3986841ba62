"""The parts of a subtable under its tests, and what is known of subtables::

    known_bounds(G, b):
                     least ← the largest loss of a LOWER fact of G whose budget is ≥ b
                     most  ← the smallest loss of a tree of G whose budget is ≤ b
                     (or else what errs in every tree, and the loss of a leaf)
    keep_fact:       a known fact says as much: nothing to do
                     the first fact that now says no more: overwrite it;  none: append, and link
    bounds_of_test(t):
                     with b left below t: least ← Σ_i least(G_i, b),  most ← Σ_i most(G_i, b)
                     (b below the smallest price: every part is a leaf)
    reach_of_bound:  up to which b the sum of least losses holds: while some loss is to spare,
                     give up the bound that holds least far

Invariants:

- Losses, budgets and masses are whole numbers.  EVER stands for a bound that always holds.
- Slots 0 … w − 1 are the bins of a feature (w the most bins, at least 2), then come the run w, what
  is outside w + 1, and the whole subtable w + 2.  A bin whose ``tally`` is 0 is empty, its other
  fields and its class masses are stale; ``fill_parts`` takes it that all bins are empty, and
  ``clear_parts`` empties them.  ``loss`` and ``error`` count only after ``write_leaf_loss``, which
  also sets ``equivalent_loss`` to 0 where trees must not err.
- ``low`` of a chosen part is what exceeds ``equivalent_loss``, and ``reach_of_bound`` sets what it
  gives up to 0.
- ``head[node]`` is the first fact or −1, ``next`` the one after it or −1.  Facts are overwritten in
  place and never removed.
- ``keep_fact`` writes one fact at most, and looks for no room: the caller has seen to it.

Where nothing else is said, table is a MaxCostTable, parts are MaxCostParts, task is a Task and
memory a Memory; slot, to and other are places of ``parts.sets``.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.function_pointers import call_impurity
from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.solving.fingerprints import find
from arboretum.kernels.solving.rows import INSIDE, MIXED, OUTSIDE, goes, union

EVER = np.int64(1) << 60
"""A budget above all others."""
LOWER = np.int64(-2)
"""Instead of a test: the fact is a lower bound."""
FEATURE = np.dtype([("family", np.int64), ("n_bins", np.int64), ("first_test", np.int64)])
ROW = np.dtype(
    [
        ("label", np.int64),  # class
        ("purity", np.int64),  # equal for objects that may share a leaf without error
        ("mass", np.int64),  # weight in units of the space
        ("equivalent_loss", np.int64),  # mass of it that errs in every tree
        ("count", np.int64),  # rows of the data
        ("words", np.uint64, 2),  # its summand of a fingerprint
    ]
)
PART = np.dtype(
    [
        ("tally", np.int64),  # objects
        ("mass", np.int64),
        ("equivalent_loss", np.int64),  # mass that errs in every tree
        ("one", np.uint64),  # fingerprint
        ("two", np.uint64),
        ("who", np.int64),  # purity class
        ("loss", np.int64),  # of a leaf
        ("error", np.int64),  # mass outside the majority class
    ]
)
CHOSEN = np.dtype(
    [
        ("slot", np.int64),  # of a part of the test that is weighed
        ("low", np.int64),  # what it loses at least, and up to which budget
        ("reach", np.int64),
    ]
)
FACT = np.dtype(
    [
        ("budget", np.int64),
        ("loss", np.int64),
        ("test", np.int64),  # that is asked first, or LOWER
        ("next", np.int64),  # fact of the same subtable, −1 for none
    ]
)


class MaxCostTable(NamedTuple):
    """Objects and tests, see ``space.Space``.

    codes : uint[F, n].
    features : FEATURE[F].
    price : int64[tests].
    rows : ROW[n].
    n_classes : int.

    conflict : int64[n + 1]; object x has the rivals conflict_row[conflict[x] : conflict[x + 1]]
        (int32), of other classes, no two of which are divided from x by the same test;
        conflict_price (int64) is the cheapest test that divides each from x.
    """

    codes: np.ndarray
    features: np.ndarray
    price: np.ndarray
    rows: np.ndarray
    n_classes: int
    conflict: np.ndarray
    conflict_row: np.ndarray
    conflict_price: np.ndarray


class MaxCostParts(NamedTuple):
    """Sets of rows, by slot: the bins of a feature, then a run of bins, what a test leaves outside,
    and the whole subtable.

    sets : PART[slots].
    class_mass : int64[slots, classes], class masses.
    touched : int64[·], the bins in use.
    chosen : CHOSEN[·], the parts of one test.
    after : int64[·], purity of all bins from there on.
    vector : float64[classes], scratch.
    """

    sets: np.ndarray
    class_mass: np.ndarray
    touched: np.ndarray
    chosen: np.ndarray
    after: np.ndarray
    vector: np.ndarray


class Memory(NamedTuple):
    """What is known of subtables.

    slots : uint64[2^k, 2].
    head : int64[nodes], first fact or −1.
    facts : FACT[·].

    A fact: some tree of at most that budget errs by at most that loss, and asks that test first;
    or, where the test is LOWER, every tree of at most that budget errs by at least that loss.
    """

    slots: np.ndarray
    head: np.ndarray
    facts: np.ndarray


class Setting(NamedTuple):
    """What a leaf is, and which bounds are used.

    without_error : leaves must not err, but for impurities up to ``delta`` (NaN: none).
    unit : weight of a mass of 1.
    least : the smallest price.
    most : the largest value of the bound's impurity that a leaf may have.
    rule, bound : addresses of the impurity of the leaf rule and of that of the bound (0: none, and
        hinged pairs).
    """

    without_error: bool
    delta: float
    unit: float
    least: int
    most: float
    rule: int
    bound: int
    lemma: bool
    ahead: bool
    conflicts: bool


class Task(NamedTuple):
    """What is asked of a table.

    mark, used : int64[n], stamps.
    order : int64[tests], scratch.
    """

    table: MaxCostTable
    parts: MaxCostParts
    memory: Memory | None
    setting: Setting
    mark: np.ndarray
    used: np.ndarray
    order: np.ndarray


def new_parts(n_bins: np.ndarray, classes: int) -> MaxCostParts:
    """Return empty parts with room for the tests of any feature.

    n_bins : int64[F].
    """
    widest = max(2, int(n_bins.max(initial=0)))
    touched, after = np.zeros((2, widest + 1), np.int64)
    return MaxCostParts(
        np.zeros(widest + 3, PART),
        np.zeros((widest + 3, classes), np.int64),
        touched,
        np.zeros(widest + 1, CHOSEN),
        after,
        np.zeros(classes),
    )


@inline
def empty_part(parts, slot, who):
    """Make a slot a set of no rows, of the purity class ``who`` (MIXED: of several)."""
    part = parts.sets[slot]
    part.tally = part.mass = part.equivalent_loss = 0
    part.one = part.two = np.uint64(0)
    part.who = who
    parts.class_mass[slot] = 0


@inner(wraps=True)
def add_row_to_part(table, r, slot, parts):
    """Add row r of the table to a slot of ``parts``, whose ``tally`` is 0 where it is empty."""
    part, row = parts.sets[slot], table.rows[r]
    if part.tally == 0:
        empty_part(parts, slot, row.purity)
    elif part.who != row.purity:
        part.who = MIXED
    part.tally += 1
    part.mass += row.mass
    part.equivalent_loss += row.equivalent_loss
    part.one += row.words[0]
    part.two += row.words[1]
    parts.class_mass[slot, row.label] += row.mass


@inner
def fill_parts(table, f, index, rows, low, high, parts):
    """Add up rows[low:high] of each bin of a feature, or of each outcome of a two-way test of it;
    returns how many of these occur, listed in ``parts.touched``.

    f : the feature; index : its test, below 0: by bin.
    All slots of bins must be empty (``clear_parts``).
    """
    column, family, touched = table.codes[f], table.features[f].family, parts.touched
    seen = np.int64(0)
    for k in range(low, high):
        c = np.int64(column[rows[k]])
        if index >= 0:
            c = INSIDE if goes(family, c, index, INSIDE) else OUTSIDE
        if parts.sets[c].tally == 0:
            touched[seen] = c
            seen += 1
        add_row_to_part(table, rows[k], c, parts)
    return seen


@inner
def clear_parts(parts, seen):
    """Empty the slots of the first ``seen`` bins that were touched: with a count of 0 they are
    filled anew.
    """
    for k in range(seen):
        parts.sets[parts.touched[k]].tally = 0


@inner(wraps=True)
def add_part(parts, to, other, fresh):
    """Add the sums of slot ``other`` to slot ``to``, which is emptied before where ``fresh``."""
    part, more = parts.sets[to], parts.sets[other]
    if fresh:
        empty_part(parts, to, more.who)
    part.who = union(part.who, more.who)
    part.tally += more.tally
    part.mass += more.mass
    part.equivalent_loss += more.equivalent_loss
    part.one += more.one
    part.two += more.two
    for c in range(parts.class_mass.shape[1]):
        parts.class_mass[to, c] += parts.class_mass[other, c]


@inner(wraps=True)
def subtract_part(parts, to, whole, other, who):
    """Make slot ``to`` the rows of slot ``whole`` that are not in slot ``other``, a part of it.

    who : their purity class, which a difference does not say.
    """
    part, every, less = parts.sets[to], parts.sets[whole], parts.sets[other]
    part.who = who
    part.tally = every.tally - less.tally
    part.mass = every.mass - less.mass
    part.equivalent_loss = every.equivalent_loss - less.equivalent_loss
    part.one = every.one - less.one
    part.two = every.two - less.two
    for c in range(parts.class_mass.shape[1]):
        parts.class_mass[to, c] = parts.class_mass[whole, c] - parts.class_mass[other, c]


@inline
def impurity_at_slot(task, address, slot):
    """Return the impurity of the class weights in a slot, masses times the unit.

    address : of its kernel, ``setting.rule`` or ``setting.bound``.
    Overwrites ``parts.vector``.
    """
    parts = task.parts
    for c in range(parts.class_mass.shape[1]):
        parts.vector[c] = parts.class_mass[slot, c] * task.setting.unit
    return call_impurity(address, parts.vector)


@inner
def write_leaf_loss(task, slot):
    """Write what a leaf of the rows in a slot loses into its ``loss``: the mass outside the
    majority class (``error``), or, where trees must not err, 1 if it breaks the leaf rule, else 0.
    """
    part, setting = task.parts.sets[slot], task.setting
    majority = np.int64(0)
    for c in range(task.parts.class_mass.shape[1]):
        majority = max(majority, task.parts.class_mass[slot, c])
    part.error = part.loss = part.mass - majority
    if setting.without_error:
        part.equivalent_loss = 0
        lawful = part.who != MIXED
        if not lawful and not np.isnan(setting.delta):
            lawful = impurity_at_slot(task, setting.rule, slot) <= setting.delta
        part.loss = 0 if lawful else 1


@inner
def impurity_bound(task, slot, alpha):
    """Return F of the rows in a slot: the bound's impurity, or Σ_{i<j} [n_i − α]₊ [n_j − α]₊ in
    units of mass.

    alpha : mass that a class keeps of hinged pairs; 0 where trees must not err.
    """
    if task.setting.bound != 0:
        return impurity_at_slot(task, task.setting.bound, slot)
    total, squares = 0.0, 0.0
    for c in range(task.parts.class_mass.shape[1]):
        more = max(0.0, np.float64(task.parts.class_mass[slot, c] - alpha))
        total += more
        squares += more * more
    return 0.5 * (total * total - squares)


@inner
def mass_times_gini(parts, slot):
    """Return mass times gini of the class masses in a slot, by which tests are ranked."""
    squares = 0.0
    for c in range(parts.class_mass.shape[1]):
        squares += np.float64(parts.class_mass[slot, c]) * np.float64(parts.class_mass[slot, c])
    mass = parts.sets[slot].mass
    return mass - squares / max(1, mass)


@jit(borrow=True)
def known_bounds(memory, node, budget, equivalent_loss, loss):
    """Return what a subtable loses at a budget, as far as it is known: (least loss, up to which
    budget that holds; most loss, with how much of the budget, by which test or −1).

    node : its number in the memory; below 0: it is not there.
    equivalent_loss, loss : that no tree avoids, and of a leaf; they hold at any budget.
    """
    low, reach, up, path_cost, test = equivalent_loss, EVER, loss, np.int64(0), np.int64(-1)
    at = memory.head[node] if node >= 0 else np.int64(-1)
    while at >= 0:
        fact = memory.facts[at]
        if fact.test == LOWER:
            if fact.budget >= budget and (
                fact.loss > low or (fact.loss == low and fact.budget > reach)
            ):
                low, reach = fact.loss, fact.budget
        elif fact.budget <= budget and (
            fact.loss < up or (fact.loss == up and fact.budget < path_cost)
        ):
            up, path_cost, test = fact.loss, fact.budget, fact.test
        at = fact.next
    return low, reach, up, path_cost, test


@jit(borrow=True)
def keep_fact(memory, node, budget, loss, test, state):
    """Keep a fact of a subtable unless a better one is known; a worse one makes room.

    node : number of the subtable in the memory.
    budget, loss : of some tree, which asks ``test`` first; where ``test`` is LOWER, every tree of
        that budget loses so much.
    state : STATE[1], which counts the ``facts``; there must be room for one.
    """
    better = 1 if test == LOWER else -1  # more budget and more loss say more, or less of either
    at, place = memory.head[node], np.int64(-1)
    while at >= 0:
        fact = memory.facts[at]
        if (fact.test == LOWER) == (test == LOWER):
            more, worse = better * (fact.budget - budget), better * (fact.loss - loss)
            if more >= 0 and worse >= 0:
                return
            if place < 0 and more <= 0 and worse <= 0:
                place = at
        at = fact.next
    if place < 0:
        place = state[0].facts
        memory.facts[place].next = memory.head[node]
        memory.head[node] = place
        state[0].facts += 1
    fact = memory.facts[place]
    fact.budget, fact.loss, fact.test = budget, loss, test


@inner
def bounds_of_test(task, n_parts, left, needed):
    """Bound the loss of a test whose first ``n_parts`` ``chosen`` slots are settled, with ``left``
    to spend below it.

    needed : the loss from which on the test is given up.
    Returns (least loss, up to which ``left`` it holds, most loss, with which of ``left``, unsolved
    slot or −1, its least loss).  What is said of the reach is said of the lesser of the least loss
    and ``needed``.  The slot is that of most error among those not solved.
    """
    parts, least = task.parts, task.setting.least
    lower, upper, cost, hardest = np.int64(0), np.int64(0), np.int64(0), np.int64(-1)
    unsolved, unsolved_low = np.int64(-1), np.int64(0)
    for k in range(n_parts):
        chosen = parts.chosen[k]
        part = parts.sets[chosen.slot]
        low, reach, up, path_cost = part.equivalent_loss, EVER, part.loss, np.int64(0)
        if low < up:
            if left < least:
                low, reach = up, least - 1
            else:
                node = find(task.memory.slots, part.one, part.two)
                low, reach, up, path_cost, _ = known_bounds(task.memory, node, left, low, up)
                if low >= up:
                    low = up
        chosen.low, chosen.reach = low - part.equivalent_loss, reach
        lower, upper, cost = lower + low, upper + up, max(cost, path_cost)
        if low < up and part.error > hardest:
            hardest, unsolved, unsolved_low = part.error, chosen.slot, low
    reach = reach_of_bound(parts.chosen, n_parts, lower - min(lower, needed))
    return lower, reach, upper, cost, unsolved, unsolved_low


@inner
def reach_of_bound(chosen, n_parts, spare):
    """Return up to which budget the first ``n_parts`` chosen parts together lose what they do now,
    less ``spare``: bounds of least reach are given up first.

    chosen : CHOSEN[·], ``low`` of what is given up becomes 0.
    """
    while True:
        at = np.int64(-1)
        for k in range(n_parts):
            if chosen[k].low > 0 and (at < 0 or chosen[k].reach < chosen[at].reach):
                at = np.int64(k)
        if at < 0:
            return EVER
        if chosen[at].low > spare:
            return chosen[at].reach
        spare -= chosen[at].low
        chosen[at].low = 0
