"""The root of a sparse search: its rows in groups, by class and power of two of their weights (numba kernels)."""

from __future__ import annotations

import numpy as np

from arboretum.kernels.jit import jit

BITS = 63
"""Of a weight."""


@jit(borrow=True)
def count_groups(planes, sizes):
    """sizes : out, int64[planes, BITS], rows whose weight has that power of two.   planes : int64[rows, planes]."""
    for r in range(planes.shape[0]):
        for k in range(planes.shape[1]):
            left, power = planes[r, k], 0
            while left != 0:
                sizes[k, power] += left & 1
                left >>= 1
                power += 1


@jit(borrow=True)
def lay_rows(bits, planes, group_class, data, random, level, virtual):
    """Lay rows, their random words and their bits of ``full`` into the root's level, group by group.

    bits : uint32[rows, parts].   group_class : int64[groups].   data : shifts of the groups, bits of a word.   random : uint64[·, 2].
    level : starts (there), rows, sums and full (out), as in ``Levels``.   virtual : out, the row that each of them is.
    """
    (shifts, word_bits), (starts, rows, sums, full) = data, level
    parts, positions = bits.shape[1], sums.shape[0] // 2
    rows[:], sums[:], full[:] = 0, 0, 0
    found = 0
    for g in range(group_class.shape[0]):
        at = starts[g] * word_bits
        for r in range(planes.shape[0]):
            if planes[r, group_class[g]] >> shifts[g] & 1:
                for part in range(parts):
                    rows[part * positions + at] = bits[r, part]
                sums[at], sums[positions + at] = random[found, 0], random[found, 1]
                full[at // word_bits] |= np.int64(1) << at % word_bits
                virtual[found] = r
                at += 1
                found += 1
