"""What sets of leaves lose, at least and exactly; and the most that dividing a leaf gains,
whatever the other leaves are::

    bound_loss:     segments ← leaves that stay, and the groups of equal rows of those that must
                    be divided (without EQUIVALENT: one pure part of either class),
                    merged by falling share of positives
                    an area: 1 − area under their curve; else the least loss at a point of the
                    curve, FN rounded up (``hull_loss``)
    labelled_loss:  front[0] ← 0; for every leaf (p, n), for every x from above:
                        front[x] ← min(front[x] + p, front[x − n])    (labelled −, labelled +)
                    the least loss[x, front[x]]
    value_of:       λ · leaves + the area's loss of the leaves alone, or ``labelled_loss``
    gain_of, leaf_gain_bound:  what a split gains at most (B.6, B.7, C.2), and what a leaf does

Invariants: ``rise`` and ``run`` hold the positives and negatives of the segments, in the order of
falling share, which that of the leaves and groups is already.  front[x] is the least FN of labels
with x FP, 2⁶⁰ or more where there are none.  ``loss`` without entries says that areas count.
``bound_loss`` uses up ``union``, the groups in leaves to be divided.  Nothing here looks for room:
there are no more segments than groups and two, and Room is made for groups + 4.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.bits import lowest
from arboretum.kernels.jit import inner

FIXED, LOOKAHEAD, EQUIVALENT, SPLITTING, PROGRESS, PERMUTED, SUPPORT, SUBTREES = (
    1 << k for k in range(8)
)
"""Bounds in use, as bits."""
LEAF, LEVEL, SPLIT = np.int64((1 << 32) - 1), np.int64(1 << 32), np.int64(1 << 60)
"""Parts of the number that a leaf of a set is."""

Room = namedtuple("Room", "rise run front union item sorted")
"""Segments of a curve (int64, positives and negatives), the least FN by FP, groups in the leaves
to be divided, entries of a set.
"""


@inner
def area_loss(room, k, settings):
    """Return 1 − area under the curve of k segments, the steepest first, up to ``settings.theta``
    of the negatives.

    room : ``rise`` and ``run``, int64[≥ k], positives and negatives of each.
    """
    positives, negatives, area = np.int64(0), np.int64(0), 0.0
    for i in range(k):
        positives += room.rise[i]
        negatives += room.run[i]
    x, y, theta = 0.0, 0.0, settings.theta
    for i in range(k):
        width, height = room.run[i] / negatives, room.rise[i] / positives
        if x >= theta:
            break
        if width > 0.0:
            part = min(width, theta - x)
            area += part * (y + 0.5 * height * part / width)
        x += width
        y += height
    return 1.0 - area / settings.unit


@inner
def hull_loss(data, room, k):
    """Return what no labels of the k segments, however cut, lose less than: the loss at the (FP,
    FN) of the curve, FN rounded up.

    room : ``rise`` and ``run``, int64[≥ k], positives and negatives of each, the steepest first.
    """
    x, y = np.int64(0), np.int64(data.loss.shape[1] - 1)
    least = data.loss[x, y]
    for i in range(k):
        p, n = room.rise[i], room.run[i]
        for step in range(1, n + 1):
            least = min(least, data.loss[x + step, y - p * step // n])
        x += n
        y -= p
        least = min(least, data.loss[x, y])
    return least


@inner
def labelled_loss(data, room, k):
    """Return the loss of k leaves with the labels that are best, whichever they are: of all labels
    those of least FN for each FP.

    room : ``rise`` and ``run``, int64[≥ k], positives and negatives of each; ``front`` is
        overwritten.
    """
    front, end, none = room.front, np.int64(0), np.int64(1 << 60)
    front[0] = 0
    for i in range(k):
        p, n = room.rise[i], room.run[i]
        for x in range(end + 1, end + n + 1):
            front[x] = none
        end += n
        for x in range(end, -1, -1):
            front[x] = min(front[x] + p, front[x - n] if x >= n else none)
    least = np.inf
    for x in range(end + 1):
        if front[x] < none:
            least = min(least, data.loss[x, front[x]])
    return least


@inner
def bound_loss(data, leaves, room, size, settings, used):
    """Return a lower bound of the loss of all trees below the set in ``room.item`` (theorems 2.1,
    2.2, B.1; with EQUIVALENT, B.9 and C.3).

    size : leaves of the set.
    used : bits FIXED, EQUIVALENT …: which of the bounds.

    What is to be divided counts as if pure, or as its groups; without FIXED so do the other leaves.
    """
    k, words, p, n = np.int64(0), leaves.rows.shape[1], np.int64(0), np.int64(0)
    for w in range(words):
        room.union[w] = np.uint64(0)
    for i in range(size):
        leaf = room.item[i] & LEAF
        if room.item[i] & SPLIT or not used & FIXED:
            p += leaves.p[leaf]
            n += leaves.n[leaf]
            for w in range(words):
                room.union[w] |= leaves.rows[leaf, w]
    at, w = np.int64(0), np.int64(0)
    if not used & EQUIVALENT:
        room.rise[0], room.run[0] = p, 0
        k, w = np.int64(1), words
    while True:
        while at < size and (room.item[at] & SPLIT or not used & FIXED):
            at += 1
        while w < words and room.union[w] == 0:
            w += 1
        if w < words:
            u = 64 * w + lowest(room.union[w])
            if at >= size or data.p[u] >= leaves.share[room.item[at] & LEAF] * (
                data.p[u] + data.n[u]
            ):
                room.rise[k], room.run[k] = data.p[u], data.n[u]
                room.union[w] &= room.union[w] - np.uint64(1)
                k += 1
                continue
        elif at >= size:
            break
        leaf = room.item[at] & LEAF
        room.rise[k], room.run[k] = leaves.p[leaf], leaves.n[leaf]
        at += 1
        k += 1
    if not used & EQUIVALENT:
        room.rise[k], room.run[k] = 0, n
        k += 1
    return area_loss(room, k, settings) if data.loss.shape[0] == 0 else hull_loss(data, room, k)


@inner
def value_of(data, leaves, room, size, settings, most):
    """Return R(d) of the ``size`` leaves in ``room.item``; where that is not below ``most``, maybe
    only a bound that is not either.
    """
    for i in range(size):
        leaf = room.item[i] & LEAF
        room.rise[i], room.run[i] = leaves.p[leaf], leaves.n[leaf]
    paid = settings.lam * size
    if data.loss.shape[0] == 0:
        return area_loss(room, size, settings) + paid
    value = hull_loss(data, room, size) + paid
    return value if value >= most else labelled_loss(data, room, size) + paid


@inner
def gain_of(data, leaves, room, others, settings, p, n, p_a, n_a):
    """Return the most that any tree gains by a leaf's division into a part of p_a, n_a with the
    greater share and the rest.

    p, n : positives and negatives of the leaf.
    others : entries of ``room.sorted`` that are its other leaves, or what those that must be
        divided become.
    """
    p_b, n_b = p - p_a, n - n_a
    if data.loss.shape[0]:  # the parts are labelled + and −, the leaf is either
        plus = n_b * settings.greatest_fp - p_b * settings.smallest_fn
        return max(0.0, min(plus, p_a * settings.greatest_fn - n_a * settings.smallest_fp))
    if p == 0 or n == 0:
        return 0.0
    pairs, aside = 0.5 * (p_a * n_b - p_b * n_a), p_a - n_a * p / n
    for i in range(others):
        k = room.sorted[i] & LEAF
        # pairs with one part come into order, most of them for a leaf with the share of the whole;
        # what is to be divided may become one
        if room.sorted[i] & SPLIT:
            pairs += aside * min(np.float64(leaves.n[k]), leaves.p[k] * n / p)
        else:
            pairs += max(
                0.0,
                min(p_a * leaves.n[k] - n_a * leaves.p[k], leaves.p[k] * n_b - leaves.n[k] * p_b),
            )
    return pairs / (np.float64(data.p.sum()) * np.float64(data.n.sum()) * settings.unit)


@inner
def leaf_gain_bound(data, settings, p, n, divided):
    """Return the most that a tree loses when a leaf of p positives and n negatives is cut off and
    its rows join its sibling's leaves; ``divided``: for all leaves of a subtree, summed.
    """
    if data.loss.shape[0]:
        plus, minus = p * settings.greatest_fn, n * settings.greatest_fp
        return plus + minus if divided else max(plus, minus)
    whole_p, whole_n = np.float64(data.p.sum()), np.float64(data.n.sum())
    return (p * whole_n + n * whole_p - (0.0 if divided else p * n)) / (
        whole_p * whole_n * settings.unit
    )
