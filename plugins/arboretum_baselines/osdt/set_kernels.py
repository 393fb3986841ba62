"""Branch and bound over sets of leaves, some of them to be split: PyGOSDT's search, a leaf at a
time::

    queue ← {the root, to be split}
    while the queue is not empty:
        s ← its first set; if bound(s) ≥ R^c: pop it; next turn
        leaf ← the heaviest of s that must be split
        enter its children by every test, and look ahead from each; pop s
        for every test that splits the leaf into a and b:
            d ← the leaves of s with a and b in the place of the leaf
            if R(d) < R^c: R^c ← R(d), and d is the best set
            for each choice which of a and b must be split again (4 of them):
                skip it if no leaf of d is left to be split, or there are too many leaves,
                    or a part that is to be split cannot gain λ (B.6, C.2),
                    or neither part is, and this split gains no more than λ (B.7),
                    or a part that stays is not worth λ (support)
                bound ← max(bound(s), bound of the subtrees, loss at least (2.1, 2.2, B.1, B.9, C.3)
                            + λ · (leaves of d + by B.2 those that must be split))
                if bound < R^c and the set is new (B.8): it enters the queue

A leaf of a set is one number: that of the leaf, its depth (where depth is limited) and whether it
must be split.  Leaves of a set stand by falling share of positives.  Every tree that refines a
set splits each leaf that must be, and none of the others.

Invariants:

- An entry is leaf + depth · LEVEL + SPLIT, so that LEAF masks the number of the leaf.
- Sets are only appended, and never change: set s has the entries item[start[s] : start[s] +
  size[s]].  Going ``parent`` by ``parent``, ``via`` and ``test`` say how its tree was made; −1 ends
  it.  A set that is recorded as the best one alone has no key and is not in the queue.
- The bound of a set in the queue is at least that of its parent.  No tree is below the lesser of
  R^c and the least bound in the queue.
- ``queue[:state.queued]`` is a binary heap by key, then turn, the least first.
- ``room.item[:size]`` is the set that is being made, ``room.sorted`` the entries that stay; one
  place behind them is used for the other part.
- A set is popped to be split only when the children of its leaf, their bounds that look ahead
  and room for all new sets are there: PAUSED and NEED_ROOM leave it first in the queue.  What is
  called after that looks for no room.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.jit import inner, jit
from arboretum.kernels.solving.fingerprints import find_or_enter
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED
from arboretum_baselines.osdt.curve_kernels import (
    EQUIVALENT,
    FIXED,
    LEAF,
    LEVEL,
    LOOKAHEAD,
    PERMUTED,
    PROGRESS,
    SPLIT,
    SPLITTING,
    SUBTREES,
    SUPPORT,
    bound_loss,
    gain_of,
    leaf_gain_bound,
    value_of,
)
from arboretum_baselines.osdt.leaf_kernels import (
    NONE,
    ensure_split,
    look_ahead,
    saving,
)

CURIOSITY, OBJECTIVE, BOUND, ENTROPY, GINI, FIFO, RANDOM = range(7)
NO_BETTER = 1e-12
"""Values are sums of some dozens of numbers up to about 1, each rounded to 2⁻⁵³: trees that are
better by less are not told apart.
"""

PER_TEST = 5
"""Sets that a test adds at most when a set is split by it: one that is better, and four ways of
dividing both sides further or not.
"""

Sets = namedtuple("Sets", "slots item bound key turn queue parent via test start size")
"""Of each set of leaves: the first of its entries in ``item`` and how many; no tree below it is
better than ``bound``; its place in the order of the queue, by key, then turn; the set it was made
of, the leaf split and the test.

slots : hash table of sets.
queue : binary heap.
"""


@inner
def may_split(data, leaves, room, others, settings, leaf, depth):
    """Return whether a leaf may have to be split, beside ``others`` in ``room.sorted``: impure,
    with rows for two, it could gain λ (B.6, C.2).
    """
    p, n = leaves.p[leaf], leaves.n[leaf]
    if (
        p == 0
        or n == 0
        or leaves.count[leaf] < 2 * settings.least_rows
        or (settings.depth > 0 and depth >= settings.depth)
    ):
        return False
    if (
        settings.used & SUPPORT
        and leaf_gain_bound(data, settings, p, n, True) <= 2.0 * settings.lam
    ):
        return False
    return (
        not settings.used & SPLITTING
        or gain_of(data, leaves, room, others, settings, p, n, p, np.int64(0)) > settings.lam
    )


@inner
def put_sorted(leaves, item, size, entry):
    """Put a leaf into its place by share; returns the new size."""
    at, share = size, leaves.share[entry & LEAF]
    while at > 0 and leaves.share[item[at - 1] & LEAF] < share:
        item[at] = item[at - 1]
        at -= 1
    item[at] = entry
    return size + 1


@inner(wraps=True)
def mixed(word):
    """Return a 64-bit word like random (splitmix64)."""
    word = (word ^ word >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ word >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return word ^ word >> np.uint64(31)


@inner(wraps=True)
def key_of(leaves, room, size, bound, value, state, settings):
    """Return the place of a set in the queue, the least first."""
    rule = settings.rule
    if rule == BOUND:
        return bound
    if rule == OBJECTIVE:
        return value
    if rule == RANDOM:
        word = (np.uint64(settings.seed) + np.uint64(state.turn) + np.uint64(1)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        return np.float64(mixed(word) >> np.uint64(11))
    if rule == FIFO:
        return 0.0
    fixed, total, impurity = 0.0, 0.0, 0.0
    for i in range(size):
        leaf = room.item[i] & LEAF
        mass, q = np.float64(leaves.p[leaf] + leaves.n[leaf]), leaves.share[leaf]
        total += mass
        if not room.item[i] & SPLIT:
            fixed += mass
        if rule == GINI:
            impurity += mass * q * (1.0 - q)
        elif 0.0 < q < 1.0:
            impurity -= mass * (q * np.log2(q) + (1.0 - q) * np.log2(1.0 - q))
    return bound * total / max(fixed, 1.0) if rule == CURIOSITY else impurity / total


@inner
def earlier(sets, a, b):
    """Return whether set a comes before set b in the queue: the least key first, then the first
    pushed.
    """
    return sets.key[a] < sets.key[b] or (sets.key[a] == sets.key[b] and sets.turn[a] < sets.turn[b])


@inner
def push(sets, state, n):
    """Put set n into the queue, a binary heap by :func:`earlier`, and count it."""
    at = state.queued
    state.queued += 1
    while at > 0 and earlier(sets, n, sets.queue[(at - 1) // 2]):
        sets.queue[at] = sets.queue[(at - 1) // 2]
        at = (at - 1) // 2
    sets.queue[at] = n


@inner
def pop(sets, state):
    """Take the first set, ``sets.queue[0]``, out of the queue."""
    state.queued -= 1
    size, at, n = state.queued, np.int64(0), sets.queue[state.queued]
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and earlier(sets, sets.queue[below + 1], sets.queue[below]):
            below += 1
        if not earlier(sets, sets.queue[below], n):
            break
        sets.queue[at] = sets.queue[below]
        at = below
    sets.queue[at] = n


@inner
def record(sets, room, state, made, size, bound):
    """Return a new set, of the entries in ``room.item``; not in the queue."""
    s = state.sets
    state.sets += 1
    (sets.parent[s], sets.via[s], sets.test[s]), sets.bound[s] = made, bound
    sets.start[s], sets.size[s] = state.items, size
    for i in range(size):
        sets.item[state.items + i] = room.item[i]
    state.items += size
    return s


@inner
def improve(state, s, value, ladder):
    """A better tree: the leaves of set s."""
    state.best, state.best_set = value, s
    if ladder.shape[1] == 0:
        state.most = value - state.const


@inner(wraps=True)
def known_before(sets, room, size, state):
    """Return whether a set with these entries was made before (B.8); else it is now."""
    one, two = np.uint64(0), np.uint64(0)
    for i in range(size):
        word = mixed((np.uint64(room.item[i]) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
        one += word
        two += mixed(word + np.uint64(0xD1B54A32D192ED03))
    return find_or_enter(sets.slots, one, two, state.sets) != state.sets


@inner
def subtrees_bound(data, leaves, room, size, state, settings):
    """Return (Σ (λ − g) at least, R at least) of all trees below the set in ``room.item``, by what
    is known of its leaves' subtrees.
    """
    total = 0.0
    for i in range(size):
        leaf = room.item[i] & LEAF
        if room.item[i] & SPLIT:
            total += leaves.split[leaf]
        else:
            total += settings.lam - saving(
                data, np.float64(leaves.p[leaf]), np.float64(leaves.n[leaf])
            )
    if data.ladder.shape[1] == 0:
        return total, state.const + total
    low, high = 0, data.ladder.shape[1]
    while low < high:
        middle = (low + high) // 2
        if data.ladder[1, middle] < total:
            low = middle + 1
        else:
            high = middle
    return total, data.ladder[0, low - 1] if low > 0 else -np.inf


@inner
def consider(data, leaves, sets, room, state, settings, made, size, splits, value, above):
    """Bounds of the set in ``room.item``, ``splits`` of whose leaves must be split; it enters the
    queue unless they are too high.

    made : (set, leaf, test) that it comes from.
    value : R of its leaves.
    above : bound of the set it comes from.
    """
    used, most = settings.used, state.best - NO_BETTER
    bound = above
    if used & SUBTREES:
        total, least = subtrees_bound(data, leaves, room, size, state, settings)
        if total > state.most + NO_BETTER:
            return
        bound = max(bound, least)
    if used & (FIXED | EQUIVALENT):
        paid = settings.lam * (size + (splits if used & LOOKAHEAD else 0))
        bound = max(bound, bound_loss(data, leaves, room, size, settings, used) + paid)
    if bound >= most or (used & PERMUTED and known_before(sets, room, size, state)):
        return
    s = record(sets, room, state, made, size, bound)
    sets.key[s] = key_of(leaves, room, size, bound, value, state, settings)
    sets.turn[s] = state.turn
    state.turn += 1
    push(sets, state, s)


@inner
def others(leaves, sets, room, s, leaf):
    """Write the entries of a set but for one, which ``leaf`` is, into ``room.sorted``; how many of
    them must be split.
    """
    k, splits = np.int64(0), np.int64(0)
    for i in range(sets.start[s], sets.start[s] + sets.size[s]):
        if sets.item[i] != leaf:
            room.sorted[k] = sets.item[i]
            splits += 1 if sets.item[i] & SPLIT else 0
            k += 1
    return splits


@inner
def with_children(leaves, room, size, zero, other):
    """The entries in ``room.sorted`` and two more, into ``room.item``."""
    for i in range(size - 1):
        room.item[i] = room.sorted[i]
    put_sorted(leaves, room.item, put_sorted(leaves, room.item, size - 1, zero), other)


@inner
def expand(data, leaves, sets, sums, room, state, settings, s, leaf):
    """Divide a leaf of a set by every test, and each part again or not."""
    size, n_tests, used = sets.size[s], data.mask.shape[1], settings.used
    splits, x = others(leaves, sets, room, s, leaf), leaf & LEAF
    depth = (leaf & ~SPLIT) // LEVEL + (1 if settings.depth > 0 else 0)
    state.divided += 1
    for f in range(n_tests):
        a, b = leaves.child[leaves.start[x] + 2 * f], leaves.child[leaves.start[x] + 2 * f + 1]
        if a < 0:
            continue
        if leaves.share[a] < leaves.share[b]:
            a, b = b, a
        zero, other = a + depth * LEVEL, b + depth * LEVEL
        with_children(leaves, room, size, zero, other)
        value = value_of(data, leaves, room, size + 1, settings, state.best - NO_BETTER)
        if value < state.best - NO_BETTER:
            improve(
                state,
                record(sets, room, state, (s, x, f), size + 1, value),
                value,
                data.ladder,
            )
        gain = gain_of(
            data,
            leaves,
            room,
            size - 1,
            settings,
            leaves.p[x],
            leaves.n[x],
            leaves.p[a],
            leaves.n[a],
        )
        room.sorted[size - 1] = other
        first_able = may_split(data, leaves, room, size, settings, a, depth)
        room.sorted[size - 1] = zero
        second_able = may_split(data, leaves, room, size, settings, b, depth)
        for ways in range(4):
            first, second = ways & 1, ways >> 1
            more = splits + first + second
            if (
                more == 0
                or (first and not first_able)
                or (second and not second_able)
                or size + 1 + more > settings.most_leaves
            ):
                continue
            if used & PROGRESS and ways == 0 and gain <= settings.lam:
                continue
            if (
                used & SUPPORT
                and not first
                and leaf_gain_bound(data, settings, leaves.p[a], leaves.n[a], False) <= settings.lam
            ):
                continue
            if (
                used & SUPPORT
                and not second
                and leaf_gain_bound(data, settings, leaves.p[b], leaves.n[b], False) <= settings.lam
            ):
                continue
            with_children(leaves, room, size, zero + first * SPLIT, other + second * SPLIT)
            consider(
                data,
                leaves,
                sets,
                room,
                state,
                settings,
                (s, x, f),
                size + 1,
                more,
                value,
                sets.bound[s],
            )


@inner
def chosen(leaves, sets, s):
    """Of the leaves of a set that must be split, the heaviest."""
    found, most = NONE, np.int64(-1)
    for i in range(sets.start[s], sets.start[s] + sets.size[s]):
        leaf = sets.item[i] & LEAF
        if sets.item[i] & SPLIT and leaves.p[leaf] + leaves.n[leaf] > most:
            found, most = sets.item[i], leaves.p[leaf] + leaves.n[leaf]
    return found


@inner
def room_for_sets(data, sets, state, size):
    """Return whether the arrays can take PER_TEST more sets for every test, each a leaf longer than
    one of ``size``.
    """
    new = PER_TEST * data.mask.shape[1]
    return (
        state.sets + new <= sets.key.shape[0]
        and state.items + new * (size + 1) <= sets.item.shape[0]
    )


@jit(borrow=True)
def begin(data, leaves, sets, room, state, settings):
    """The set of one leaf that must be split enters the queue, where trees of more than a leaf
    can be better.
    """
    room.item[0] = SPLIT
    if settings.most_leaves > 1 and may_split(
        data, leaves, room, np.int64(0), settings, np.int64(0), np.int64(0)
    ):
        least = data.loss[0, 0] if data.loss.shape[0] else 1.0 - settings.theta / settings.unit
        consider(
            data,
            leaves,
            sets,
            room,
            state,
            settings,
            (NONE, NONE, NONE),
            np.int64(1),
            np.int64(1),
            state.best,
            least,
        )


@jit(borrow=True)
def search(data, leaves, sets, sums, room, state, settings):
    """Pop and split, until nothing is left that may be better."""
    n_tests, lookahead = data.mask.shape[1], settings.ahead if settings.used & SUBTREES else 0
    while state.queued > 0:
        if state.work >= state.until:
            return PAUSED
        s = sets.queue[0]
        if sets.bound[s] >= state.best - NO_BETTER:
            pop(sets, state)
            state.popped += 1
            continue
        if not room_for_sets(data, sets, state, sets.size[s]):
            return NEED_ROOM
        leaf = chosen(leaves, sets, s)
        ended = ensure_split(data, leaves, sums, state, settings, leaf & LEAF)
        if ended != FINISHED:
            return ended
        start = leaves.start[leaf & LEAF]
        for at in range(start, start + 2 * n_tests if lookahead else start):
            if leaves.child[at] >= 0:
                ended = look_ahead(
                    data,
                    leaves,
                    sums,
                    state,
                    settings,
                    leaves.child[at],
                    lookahead,
                )
                if ended != FINISHED:
                    return ended
        pop(sets, state)
        state.popped += 1
        state.work += 1
        expand(data, leaves, sets, sums, room, state, settings, s, leaf)
    return FINISHED
