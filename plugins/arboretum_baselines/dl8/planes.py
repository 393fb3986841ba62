"""Sets of weighted rows as bits, so that sums of weights are counts of ones.

Every lane (a class, say) and binary digit has words of its own: a row of weight 5 in a lane has a
bit in its words of digit 0 and in those of digit 2.  A set is uint64[words] over all of them; Σ
over digits 2^digit · ones is its weight in the lane::

    both:   for every block b of words: sums[lane(b)] += 2^shift(b) · ones in (rows ∩ bits[test])

Invariants: block b has the words start[b] … start[b + 1] − 1.  Bits that stand for no row are 0 in
``full`` and ``bits``, and so in every set that is ``full`` cut down by tests.  Words of different
blocks do not correspond, but a set of rows is the same set in all of them.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.bits import popcount
from arboretum.kernels.jit import inline

AT_ONCE = 1 << 16
"""Rows of tests that are laid out together: they fit into a cache."""

Planes = namedtuple("Planes", "full bits lane shift start")
"""full : uint64[words], the set of all rows.

bits : uint64[tests, words], those with outcome 1.
lane, shift : int64[blocks], the lane and the digit of each block of words.
start : int64[blocks + 1], its first word.
"""


def planes_of(outcome: np.ndarray, weights: np.ndarray) -> Planes:
    """outcome : bool[tests, rows].

    weights : int64[rows, lanes], ≥ 0; a row without any is in no set.
    """
    places, full, lane, shift, words = [], [], [], [], []
    for c in range(weights.shape[1]):
        for digit in range(int(weights[:, c].max(initial=0)).bit_length()):
            rows = np.flatnonzero(weights[:, c] >> digit & 1)
            if len(rows):
                held = np.zeros(-(-len(rows) // 64) * 64, bool)
                held[: len(rows)] = True
                places.append(np.concatenate([rows, np.zeros(len(held) - len(rows), np.int64)]))
                full.append(held)
                lane.append(c)
                shift.append(digit)
                words.append(len(held) // 64)
    place, held = (
        np.concatenate([*found, np.zeros(0, kind)]).astype(kind)
        for found, kind in ((places, np.int64), (full, bool))
    )
    bits = np.empty((len(outcome), len(held) // 8), np.uint8)
    many = max(1, AT_ONCE // max(1, len(held)))
    for start in range(0, len(outcome), many):
        some = slice(start, start + many)
        bits[some] = np.packbits(
            outcome[some].take(place, axis=1) & held, axis=1, bitorder="little"
        )
    whole = np.packbits(held, bitorder="little").view(np.uint64)
    return Planes(
        whole,
        bits.view(np.uint64),
        np.array(lane, np.int64),
        np.array(shift, np.int64),
        np.cumsum([0, *words]),
    )


@inline
def both(planes, rows, test, sums):
    """Write to sums[lane] the weight of the rows of a set that have outcome 1 of a test.

    rows : uint64[words], the set as bits.
    """
    bits = planes.bits[test]
    sums[:] = 0
    for b in range(planes.lane.shape[0]):
        ones = np.int64(0)
        for w in range(planes.start[b], planes.start[b + 1]):
            ones += popcount(rows[w] & bits[w])
        sums[planes.lane[b]] += ones << planes.shift[b]


@inline
def total(planes, rows, sums):
    """Write to sums[lane] the weight of a set.

    rows : uint64[words], the set as bits.
    """
    sums[:] = 0
    for b in range(planes.lane.shape[0]):
        ones = np.int64(0)
        for w in range(planes.start[b], planes.start[b + 1]):
            ones += popcount(rows[w])
        sums[planes.lane[b]] += ones << planes.shift[b]
