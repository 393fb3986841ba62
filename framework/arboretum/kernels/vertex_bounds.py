"""Score the cuts between the bins of a column, and bound the cuts inside them by vertices.

A cut inside bin b leaves some of the bin's objects left: its class weights lie in the box between
those before the bin and those after it.  For a criterion that is quasi-convex in the class weights
of an outcome (impurity reduction with a concave impurity, gain ratio) the highest score over the
box is at one of its vertices::

    left ← the missing rows if they go left (side 0), else 0
    for each bin b that has objects, up to the last such one:
        if it may be cut inside:
            bounds[b] ← the highest score of (left + the bin's objects of some classes, the rest),
                over all choices of classes; ∞ for a bin of too many classes
        scores[b] ← score of (left + bin b, the rest)
        left ← left + bin b
    scores[b] ← −∞ where the cut after bin b is not allowed

Choosing no class, or all, is the cut before the bin, or after it: these are scored once.

Invariants:

- The missing values are in the last bin; the classes of a bin are numbered from 0 in ``bit``.
- ``place`` says what a table of the block is about: b, the cut after bin b; bins + b, a vertex.
- The block is scored when it is full: scores and bounds are complete only after the last one.
- Cuts that are not allowed keep their scores until all bounds are found, as they are vertices.
- A class that has no row on a side weighs 0 there.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.tables import BLOCK, enough_rows, enough_weight, score_block

OCCUPIED, CUT_INSIDE, BARRED = 1, 2, 4
"""What is known of a bin: it has objects; it may be cut inside; the cut after it is not allowed."""

# bins with more classes than this are not bounded by their vertices (2⁶ of them), but searched
MOST_VERTICES = 6

Whole = namedtuple("Whole", "weights counts")
"""The table of a node.   weights : float64[classes].   counts : int64[classes]."""

VertexBlock = namedtuple("VertexBlock", "weights counts extra price scores place low high")
"""Tables that are scored together.

place, low, high : int64[tables], float64[tables] twice, what each is about.
"""


@jit(inner=True)
def new_block(classes):
    """Memory for BLOCK tables of two outcomes, not filled in."""
    return VertexBlock(
        np.empty((BLOCK, 2, classes)),
        np.empty((BLOCK, 2, classes), np.int64),
        np.empty((BLOCK, 2, 0)),
        np.empty(BLOCK),
        np.empty(BLOCK),
        np.empty(BLOCK, np.int64),
        np.empty(BLOCK),
        np.empty(BLOCK),
    )


@jit(inline=True)
def put_vertex(t, weights, counts, left_w, left_c, all_w, all_c, w, c, b, bit, mask):
    """Write two-outcome table t: left and the classes of bin b that ``mask`` picks, against the
    rest.

    weights, counts : float64[tables, 2, classes], int64[tables, 2, classes], written at t.
    left_w, left_c : what lies before the bin; all_w, all_c : the node; w, c : the bins.
    bit : int64[classes], the class's place in ``mask``; 63 for a class that the bin has not.

    One loop: with two classes loops cost more than what they do.
    """
    for k in range(len(left_w)):
        inside = mask >> bit[k] & 1
        count = left_c[k] + inside * c[b, k]
        weight = left_w[k] + (w[b, k] if inside else 0.0)
        rest = all_c[k] - count
        weights[t, 0, k], counts[t, 0, k] = weight, count
        weights[t, 1, k], counts[t, 1, k] = all_w[k] - weight if rest > 0 else 0.0, rest


@jit(inner=True)
def score_edges(w, c, whole, many, least, side, scoring, block, scores, bounds):
    """Score the cuts after every bin of one column, and bound the cuts inside every bin.

    w, c : float64[bins, classes], int64[bins, classes], the column's bins, the missing values last.
    whole : the node's table.
    many : bool[bins], bins with more than one value in the training set.
    side : where missing rows go, or −1.
    block : scratch; its ``price`` is that of the column.
    scores : float64[bins], written where bins have objects, −inf where the cut is not admissible.
    bounds : float64[bins], written where a bin may be cut inside; −inf before, which says that
        there is nothing to cut.

    Returns False if a score is NaN.
    """
    n_bins, n_classes = w.shape
    missing_bin = n_bins - 1
    # arrays of a tuple are taken out once: each time costs an atomic addition
    all_w, all_c = whole
    weights, counts, place = block.weights, block.counts, block.place
    left_w, left_c = np.zeros(n_classes), np.zeros(n_classes, np.int64)
    bit, state = np.empty(n_classes, np.int64), np.zeros(n_bins, np.uint8)
    total, rows = all_c.sum(), np.int64(0)
    if side == 0:
        for k in range(n_classes):
            left_w[k], left_c[k] = w[missing_bin, k], c[missing_bin, k]
            rows += left_c[k]
    first = rows
    last = missing_bin - 1
    while last >= 0 and c[last].sum() == 0:
        last -= 1
    n = 0
    ok = True
    for b in range(last + 1):
        here = np.int64(0)
        classes = 0
        for k in range(n_classes):
            bit[k] = 63
            if c[b, k] > 0:
                here += c[b, k]
                bit[k] = classes
                classes += 1
        if here == 0:
            continue
        state[b] = OCCUPIED if enough_rows(rows + here, total, least) else OCCUPIED | BARRED
        # no and all objects of the bin are vertices, too: cuts between bins, but for the missing
        # rows alone on a side
        full, lowest, highest = (1 << classes) - 1, 0, 0
        if many[b] and here > 1 and rows + here > least.rows and total - rows > least.rows:
            state[b] |= CUT_INSIDE
            bounds[b] = np.inf if classes > MOST_VERTICES else -np.inf
            if classes <= MOST_VERTICES:
                lowest = 0 if side == 0 and rows == first else 1
                highest = full + 1 if side == 1 and b == last else full
        for mask in range(lowest, highest + (b < last)):  # the vertices, then the cut after the bin
            inside = mask < highest
            if n == BLOCK:
                ok = _score_block_into_bins(n, block, scoring, scores, bounds) and ok
                n = 0
            put_vertex(
                n,
                weights,
                counts,
                left_w,
                left_c,
                all_w,
                all_c,
                w,
                c,
                b,
                bit,
                mask if inside else full,
            )
            place[n] = b + n_bins if inside else b
            if least.weight > 0.0 and not inside and not enough_weight(weights[n], False, least):
                state[b] |= BARRED
            n += 1
        for k in range(n_classes):
            left_w[k] += w[b, k]
            left_c[k] += c[b, k]
        rows += here
    ok = _score_block_into_bins(n, block, scoring, scores, bounds) and ok
    # the vertices that are cuts between bins; then the limits of those cuts
    previous = -np.inf
    for b in range(last + 1):
        if state[b] == 0:
            continue
        score = scores[b]
        if state[b] & CUT_INSIDE:
            bounds[b] = max(bounds[b], max(previous, score))
        previous = score
        if state[b] & BARRED:
            scores[b] = -np.inf
    return ok


@jit(inner=True)
def _score_block_into_bins(n, block, scoring, scores, bounds):
    """Score the first n tables of ``block``, and write each score to its bin in ``scores``, or
    raise the bound of its bin in ``bounds`` to it (see ``place`` in the module); return whether
    none is NaN.
    """
    score_block(n, block.weights, block.counts, block.price, block.extra, scoring, block.scores)
    found, place, ok = block.scores, block.place, True
    for t in range(n):
        s, b = found[t], place[t]
        ok = ok and s == s
        if b >= len(scores):
            bounds[b - len(scores)] = max(bounds[b - len(scores)], s)
        else:
            scores[b] = s
    return ok
