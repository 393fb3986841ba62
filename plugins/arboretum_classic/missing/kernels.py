"""The threshold of each column that agrees best with where a test sends rows::

    for each column: sort its rows by value
        whole ← weight of the rows with a value, by outcome of the test;  left ← 0
        for each row with a value, in order:
            left[its outcome] += its weight
            if the next value is greater, and both sides have enough rows with an outcome:
                a, b ← the heaviest outcomes of left, and of whole − left
                agree ← left[a] + (whole − left)[b], if that is more than before

Invariants: rows without an outcome (−1) are in no sum.  Rows without a value are sorted last, and
left out.  The lowest of equal thresholds, and of equally heavy outcomes, is kept; agree is −1, and
cut and sides are not written, where there is none.
"""

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.presort import sorted_rows


@jit
def best_agreement(values, bits, goes, weight, least, cut, sides, agree, both):
    """Fill in, for every column, the threshold of the highest agreement, the lowest of equals.

    values : float64[columns, n], NaN = missing; bits : the same memory as uint64.
    goes : int32[n], outcomes, −1 without one.
    weight : float64[n].
    least : rows with an outcome on either side.
    cut : float64[columns, 2], the values around the threshold.
    sides : int64[columns, 2], the outcomes that its sides stand for.
    agree : float64[columns], the weight that agrees, −1 without a threshold.
    both : float64[columns, outcomes], what has a value, by outcome.
    """
    outcomes = both.shape[1]
    left = np.empty(outcomes)
    for f in range(len(values)):
        column, whole, rows = values[f], both[f], sorted_rows(values[f], bits[f])
        known, n, seen = 0, 0, 0
        whole[:], left[:], agree[f] = 0.0, 0.0, -1.0
        while known < len(rows) and column[rows[known]] == column[rows[known]]:
            i = rows[known]
            if goes[i] >= 0:
                whole[goes[i]] += weight[i]
                n += 1
            known += 1
        for j in range(known - 1):
            i, after = rows[j], column[rows[j + 1]]
            if goes[i] >= 0:
                left[goes[i]] += weight[i]
                seen += 1
            if not after > column[i] or seen < least or n - seen < least:
                continue
            a, b = 0, 0
            for o in range(1, outcomes):
                a = o if left[o] > left[a] else a
                b = o if whole[o] - left[o] > whole[b] - left[b] else b
            found = left[a] + (whole[b] - left[b])
            if found > agree[f]:
                agree[f] = found
                cut[f, 0] = column[i]
                cut[f, 1] = after
                sides[f, 0] = a
                sides[f, 1] = b
