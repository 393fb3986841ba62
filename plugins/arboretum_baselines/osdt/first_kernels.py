"""First trees of a search over sets of leaves, grown a leaf at a time; each is the last set::

    greedy:   s ← the last set; while it may grow:
                  (leaf, test) ← those that lower Gini's index most, of leaves that may be split
                  s ← s with the leaf split; R(s) < R^c: it is the best set
    follow:   s ← the last set; while some leaf is better split, by what looking ahead found:
                  its test ← the least sum of the parts' bounds; s ← s with the leaf split
    prepare:  levels = 0: Σ g of all leaves anew, and what is known of them by their own
              else look that many levels of tests ahead from the root

Invariants: the sets grown here have no leaf that must be split (SPLIT), and are not in the queue.
``greedy`` and ``prepare`` can be left and entered again: they go on from the last set, and from the
leaves known; ``follow`` ends where there is no room.
"""

import numpy as np

from arboretum.kernels.bits import lowest
from arboretum.kernels.jit import inner, jit
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM
from arboretum_baselines.osdt.curve_kernels import LEAF, LEVEL, value_of
from arboretum_baselines.osdt.leaf_kernels import (
    NONE,
    bound_leaf,
    ensure_split,
    look_ahead,
    saving,
)
from arboretum_baselines.osdt.set_kernels import (
    NO_BETTER,
    improve,
    may_split,
    others,
    record,
    room_for_sets,
    with_children,
)


@inner
def grow(data, leaves, sets, room, state, settings, s, leaf, test):
    """Enter set s with a leaf split by a test; if it is the best tree, keep it as that.

    leaf : an entry of the set, with its depth.   There is room, and the leaf's children are known.
    """
    others(leaves, sets, room, s, leaf)
    at = leaves.start[leaf & LEAF] + 2 * test
    depth = leaf // LEVEL + (1 if settings.depth > 0 else 0)
    with_children(
        leaves,
        room,
        sets.size[s],
        leaves.child[at] + depth * LEVEL,
        leaves.child[at + 1] + depth * LEVEL,
    )
    value = value_of(data, leaves, room, sets.size[s] + 1, settings, state.best)
    new = record(sets, room, state, (s, leaf & LEAF, test), sets.size[s] + 1, value)
    if value < state.best - NO_BETTER:
        improve(state, new, value, data.ladder)


@jit(borrow=True)
def greedy(data, leaves, sets, sums, room, state, settings):
    """Divide where Gini's index falls most, a leaf at a time; the best tree on the way is a first
    one.  Goes on from the last set; returns FINISHED, or why not.
    """
    while True:
        s = state.sets - 1
        if sets.size[s] >= settings.most_leaves or settings.lam * sets.size[s] >= state.best:
            return FINISHED
        if not room_for_sets(data, sets, state, sets.size[s]):
            return NEED_ROOM
        best, leaf, test = -1.0, NONE, NONE
        for i in range(sets.start[s], sets.start[s] + sets.size[s]):
            x = sets.item[i] & LEAF
            others(leaves, sets, room, s, sets.item[i])
            if not may_split(
                data, leaves, room, sets.size[s] - 1, settings, x, sets.item[i] // LEVEL
            ):
                continue
            ended = ensure_split(data, leaves, sums, state, settings, x)
            if ended != FINISHED:
                return ended
            for f in range(data.mask.shape[1]):
                a = leaves.child[leaves.start[x] + 2 * f]
                b = leaves.child[leaves.start[x] + 2 * f + 1]
                if a >= 0:
                    less = (
                        leaves.n[x] * leaves.share[x]
                        - leaves.n[a] * leaves.share[a]
                        - leaves.n[b] * leaves.share[b]
                    )
                    if less > best:
                        best, leaf, test = less, sets.item[i], f
        if leaf < 0:
            return FINISHED
        grow(data, leaves, sets, room, state, settings, s, leaf, test)


@jit(borrow=True)
def follow(data, leaves, sets, sums, room, state, settings):
    """Grow the tree that looking ahead from the root likes best; the best on the way is kept.  Goes
    on from the last set, which has room.
    """
    lam = settings.lam
    while True:
        s = state.sets - 1
        if sets.size[s] >= settings.most_leaves:
            return
        leaf, test = NONE, NONE
        for i in range(sets.start[s], sets.start[s] + sets.size[s]):
            x, depth = sets.item[i] & LEAF, sets.item[i] // LEVEL
            own = lam - saving(data, np.float64(leaves.p[x]), np.float64(leaves.n[x]))
            if (
                leaves.start[x] < 0
                or leaves.level[x] <= 0
                or own <= leaves.split[x]
                or (settings.depth > 0 and depth >= settings.depth)
            ):
                continue
            best = np.inf
            for f in range(data.mask.shape[1]):
                a = leaves.child[leaves.start[x] + 2 * f]
                b = leaves.child[leaves.start[x] + 2 * f + 1]
                if a >= 0 and leaves.least[a] + leaves.least[b] < best:
                    best, leaf, test = leaves.least[a] + leaves.least[b], sets.item[i], f
            break
        if leaf < 0 or not room_for_sets(data, sets, state, sets.size[s]):
            return
        grow(data, leaves, sets, room, state, settings, s, leaf, test)


@jit(borrow=True)
def prepare(data, leaves, sums, state, settings, levels):
    """Look ahead from the root, ``levels`` of tests; anew for all leaves where that is 0.  Returns
    FINISHED, or why not.
    """
    if levels == 0:
        for x in range(state.leaves):
            g = 0.0
            for w in range(leaves.rows.shape[1]):
                word = leaves.rows[x, w]
                while word != 0:
                    u = 64 * w + lowest(word)
                    g += saving(data, np.float64(data.p[u]), np.float64(data.n[u]))
                    word &= word - np.uint64(1)
            leaves.all[x] = g
            leaves.share[x] = leaves.p[x] / max(1.0, np.float64(leaves.p[x] + leaves.n[x]))
            bound_leaf(data, leaves, settings, x)
        return FINISHED
    return look_ahead(data, leaves, sums, state, settings, np.int64(0), levels)
