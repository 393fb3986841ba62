"""Sort raw values into up to 254 bins with edges taken from the data: the first half of the bounded exact search.

Bin b of a column holds the values in (edge[b − 1], edge[b]].  Bins only say where to look; no value is rounded.
"""

import numpy as np

from arboretum.kernels.jit import jit

MISSING_BIN = 255
LAST_BIN = 254


CELLS = 2048  # cells of equal width laid over a column's edges: the cell of a value says at which edge to start
CROWDED = 8  # with more edges than this in one cell, binary search is faster


@jit
def assign_bins(values, n, row_stride, column_stride, edges, codes, single):
    """Give every value its bin.

    values : flat memory of float[n, columns] with strides in elements.   edges : float[columns, 256], ascending, padded
    with inf.   codes : uint8[n × columns], row by row.   single : bool[columns, 256], set to False where a bin holds a
    value other than its upper edge (so that there may be something to cut inside).
    """
    first = np.empty(CELLS, np.uint8)
    for f in range(len(edges)):
        start = np.uintp(f) * np.uintp(column_stride)
        step = np.uintp(row_stride)
        if _lay_grid(edges[f], first):
            _bins_by_grid(values, n, start, step, edges[f], first, codes, len(edges), f, single[f])
        else:
            _bins_by_search(values, n, start, step, edges[f], codes, len(edges), f, single[f])


@jit(inline=True)
def _cell(v, low, scale, zero, most):
    """A monotone function of v into 0 … CELLS − 1; one function for edges and values, so that both are rounded alike."""
    x = (v - low) * scale
    x = x if x > zero else zero  # also where x is NaN
    return np.int64(x if x < most else most)


@jit(inline=True)
def _scale(e, limits):
    """Limits of the cells in the column's type, and cells per unit: (low, scale, 0, CELLS − 1)."""
    top = 0
    while top < LAST_BIN and e[top] < np.inf:
        top += 1
    limits[0], limits[1] = 0, CELLS - 1
    return e[0], limits[1] / (e[max(top - 1, 0)] - e[0]), limits[0], limits[1]


@jit(inner=True)
def _lay_grid(e, first):
    """For every cell the number of edges in the cells before it; False if the edges crowd in few cells."""
    if not e[0] < np.inf:
        return False
    low, scale, zero, most = _scale(e, np.empty(2, e.dtype))
    k = 0
    for c in range(CELLS):
        first[c] = k
        begin = k
        while k < LAST_BIN and e[k] < np.inf and _cell(e[k], low, scale, zero, most) <= c:
            k += 1
        if k - begin > CROWDED:
            return False
    return True


@jit(inner=True)
def _bins_by_grid(values, n, start, step, e, first, codes, width, f, single):
    low, scale, zero, most = _scale(e, np.empty(2, e.dtype))
    for i in range(n):
        v = values[start + np.uintp(i) * step]
        p = np.uintp(first[np.uintp(_cell(v, low, scale, zero, most))])
        while e[p] < v:
            p += np.uintp(1)
        if v < e[p]:
            single[p] = False
        codes[np.uintp(i) * np.uintp(width) + np.uintp(f)] = np.uint8(p) if v == v else np.uint8(MISSING_BIN)


@jit(inner=True)
def _bins_by_search(values, n, start, step, e, codes, width, f, single):
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
