"""Leaves that sets of leaves are made of: each set of rows once, with what its subtrees save at
most, by a sum over their leaves.

Of a tree R(d) ≥ const + Σ_leaves (λ − g), where a leaf of p positives and n negatives saves g(p, n)
= Σ_j ω_j max(p − w_j n, 0): tangents of a ROC curve, or a line below a loss of (FP, FN), where
min(a n, b p) = b p − b max(p − a/b n, 0)::

    split_leaf(x):  one pass over the groups of x: for every test the sums of those with outcome 1
                    outcome 0 is x less these; find or enter both parts, if they hold enough rows
    look_ahead(x):  depth first, to so many levels of tests; when the parts of x are known:
                    split(x) ← max(split(x), min over tests of least(x_0) + least(x_1))
                    least(x) ← min(λ − g(x), split(x))

Invariants:

- Leaf 0 is all rows.  A leaf is entered once, by the fingerprint of its rows, and is never removed.
- least[x] is at most Σ (λ − g) of any subtree of x, split[x] of any that splits x.  level[x] says
  how many levels of tests they have looked ahead; SURE: looking further changes nothing.
- start[x] is −1 before x is split; then its parts are child[start[x] + 2 f + outcome].  Both
  entries of a test are −1 where a part would hold too few rows.
- ``mask`` is −1 for outcome 1 and 0 else, so that ``mask & value`` adds a value or 0.
- ``ensure_split`` looks for room before ``split_leaf`` writes; on PAUSED and NEED_ROOM all that was
  found stays, and looking ahead begins at its top again.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.jit import inner
from arboretum.kernels.solving.fingerprints import find_or_enter
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED

SETTINGS = np.dtype(
    [
        ("least_rows", np.int64),  # training rows of a leaf
        ("depth", np.int64),  # tests on a path; 0: any number
        ("most_leaves", np.int64),
        ("rule", np.int64),  # which set comes next
        ("seed", np.int64),
        ("ahead", np.int64),  # levels to look ahead
        ("used", np.int64),  # bounds in use, as bits
        ("lam", np.float64),  # λ
        # the greatest and the smallest that one more false positive or negative adds to the loss
        ("greatest_fp", np.float64),
        ("greatest_fn", np.float64),
        ("smallest_fp", np.float64),
        ("smallest_fn", np.float64),
        ("theta", np.float64),  # up to where area counts
        ("unit", np.float64),  # what it is divided by
    ],
    align=True,
)
STATE = np.dtype(
    [
        ("leaves", np.int64),  # how many are known
        ("sets", np.int64),  # how many sets of leaves,
        ("items", np.int64),  # and of their entries
        ("queued", np.int64),  # sets in the queue
        ("turn", np.int64),  # sets pushed so far
        ("expanded", np.int64),  # leaves that were split
        ("work", np.int64),  # what was done,
        ("until", np.int64),  # and where to pause
        ("popped", np.int64),  # sets popped so far
        ("divided", np.int64),  # sets whose children were looked at
        ("best_set", np.int64),
        ("best", np.float64),  # R^c
        ("most", np.float64),  # that Σ (λ − g) may be for a better tree
        ("const", np.float64),
    ],
    align=True,
)
NONE, SURE = np.int64(-1), np.int64(1 << 30)

Data = namedtuple("Data", "mask bits p n rows words loss pieces ladder")
"""Groups of rows by falling share of positives.

mask : int64[groups, tests], −1 for outcome 1, else 0.
bits : uint64[tests, words] of groups.
p, n, rows : int64[groups].
words : uint64[groups, 2], random.
loss : float64[N⁻ + 1, N⁺ + 1] by FP and FN; without entries: areas count.
pieces : float64[k, 2], (ω_j, w_j).
ladder : float64[2, k], ascending values and the most that a tree below has as Σ (λ − g).
"""

Leaves = namedtuple("Leaves", "slots rows p n count share all start least split level child")
"""Of each leaf by its number: rows as bits, positives, negatives, training rows, share of
positives; ``all``: Σ g of its groups; the first of its ``child`` entries (−1: none yet); lower
bounds of Σ (λ − g) over its subtrees, of any and of those that split it, and how many levels they
look ahead.

slots : hash table of rows.
child : int64[2 · tests · split leaves], leaves of outcome 0 and 1, −1 where a test does not
    split.
"""

Sums = namedtuple("Sums", "p n count all one two stack cursor")
"""Room: per test over the rows with outcome 1; and for a walk downward."""


@inner
def saving(data, p, n):
    """Return g of a leaf of p positives and n negatives: what it saves at most."""
    g = 0.0
    for j in range(data.pieces.shape[0]):
        g += data.pieces[j, 0] * max(p - data.pieces[j, 1] * n, 0.0)
    return g


@inner
def bound_leaf(data, leaves, settings, leaf):
    """Write what a leaf costs at least, and what its subtrees do: a split pays two leaves and saves
    at most what its groups do.
    """
    lam, own = settings.lam, saving(data, np.float64(leaves.p[leaf]), np.float64(leaves.n[leaf]))
    leaves.split[leaf] = 2.0 * lam - leaves.all[leaf]
    leaves.least[leaf] = min(lam - own, leaves.split[leaf])
    leaves.level[leaf] = (
        SURE if leaves.p[leaf] == 0 or leaves.n[leaf] == 0 or lam - own <= leaves.split[leaf] else 0
    )


@inner
def room_for_leaves(data, leaves, state):
    """Return whether the arrays can take the children of one more leaf by every test.

    state : how many leaves are known, and split.
    """
    entries = 2 * data.mask.shape[1]
    return (
        state.leaves + entries <= leaves.p.shape[0]
        and (state.expanded + 1) * entries <= leaves.child.shape[0]
    )


@inner(wraps=True)
def split_leaf(data, leaves, sums, state, settings, leaf):
    """Enter the children of a leaf by every test; both sides must hold so many training rows as
    ``settings`` say.  There is room; ``sums`` is overwritten.
    """
    n_tests, words = data.mask.shape[1], leaves.rows.shape[1]
    for f in range(n_tests):
        sums.p[f] = sums.n[f] = sums.count[f] = 0
        sums.one[f] = sums.two[f] = np.uint64(0)
        sums.all[f] = 0.0
    one, two = np.uint64(0), np.uint64(0)
    for u in range(data.p.shape[0]):
        if not leaves.rows[leaf, u >> 6] >> np.uint64(u & 63) & np.uint64(1):
            continue
        mask = data.mask[u]
        p = data.p[u]
        n = data.n[u]
        rows = data.rows[u]
        first = data.words[u, 0]
        second = data.words[u, 1]
        g = saving(data, np.float64(p), np.float64(n))
        one, two = one + first, two + second
        for f in range(n_tests):
            sums.p[f] += mask[f] & p
            sums.n[f] += mask[f] & n
            sums.count[f] += mask[f] & rows
            sums.one[f] += np.uint64(mask[f]) & first
            sums.two[f] += np.uint64(mask[f]) & second
            sums.all[f] -= mask[f] * g
    start = leaves.start[leaf] = 2 * n_tests * state.expanded
    state.expanded += 1
    for f in range(n_tests):
        fits = settings.least_rows <= sums.count[f] <= leaves.count[leaf] - settings.least_rows
        for side in range(2):
            leaves.child[start + 2 * f + side] = NONE
            if not fits:
                continue
            new = state.leaves
            c = find_or_enter(
                leaves.slots,
                sums.one[f] if side else one - sums.one[f],
                sums.two[f] if side else two - sums.two[f],
                new,
            )
            leaves.child[start + 2 * f + side] = c
            if c == new:
                state.leaves += 1
                flip = np.uint64(0) if side else ~np.uint64(0)
                for w in range(words):
                    leaves.rows[c, w] = leaves.rows[leaf, w] & (data.bits[f, w] ^ flip)
                leaves.p[c] = sums.p[f] if side else leaves.p[leaf] - sums.p[f]
                leaves.n[c] = sums.n[f] if side else leaves.n[leaf] - sums.n[f]
                leaves.count[c] = sums.count[f] if side else leaves.count[leaf] - sums.count[f]
                leaves.share[c] = leaves.p[c] / max(1.0, np.float64(leaves.p[c] + leaves.n[c]))
                leaves.all[c] = sums.all[f] if side else leaves.all[leaf] - sums.all[f]
                leaves.start[c] = NONE
                bound_leaf(data, leaves, settings, c)


@inner
def ensure_split(data, leaves, sums, state, settings, leaf):
    """Return FINISHED when the children of a leaf are known, else why not: PAUSED or NEED_ROOM."""
    if leaves.start[leaf] < 0:
        if state.work >= state.until:
            return PAUSED
        if not room_for_leaves(data, leaves, state):
            return NEED_ROOM
        state.work += 1
        split_leaf(data, leaves, sums, state, settings, leaf)
    return FINISHED


@inner
def look_ahead(data, leaves, sums, state, settings, leaf, levels):
    """Bound a leaf's subtrees by looking at so many levels of tests; return FINISHED, or why not:
    what was found is kept.
    """
    top, entries = np.int64(0), 2 * data.mask.shape[1]
    sums.stack[0], sums.cursor[0] = leaf, 0
    while top >= 0:
        x, want = sums.stack[top], levels - top
        if leaves.level[x] >= want:
            top -= 1
            continue
        ended = ensure_split(data, leaves, sums, state, settings, x)
        if ended != FINISHED:
            return ended
        start, at = leaves.start[x], sums.cursor[top]
        while at < entries:
            c = leaves.child[start + at]
            if c >= 0 and leaves.level[c] < want - 1:
                break
            at += 1
        sums.cursor[top] = at
        if at < entries:
            top += 1
            sums.stack[top], sums.cursor[top] = leaves.child[start + at], 0
            continue
        best, level = np.inf, SURE
        for f in range(start, start + entries, 2):
            if leaves.child[f] >= 0:
                zero, other = leaves.child[f], leaves.child[f + 1]
                best = min(best, leaves.least[zero] + leaves.least[other])
                level = min(level, leaves.level[zero] + 1, leaves.level[other] + 1)
        leaves.split[x] = max(leaves.split[x], best)
        leaves.least[x] = min(
            settings.lam - saving(data, np.float64(leaves.p[x]), np.float64(leaves.n[x])),
            leaves.split[x],
        )
        leaves.level[x] = SURE if level >= SURE // 2 else max(want, level)
        top -= 1
    return FINISHED
