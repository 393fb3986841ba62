"""Sort raw values into up to 254 bins with edges taken from the data: the first half of the bounded
exact search.

Bin b of a column holds the values in (edge[b − 1], edge[b]]; the bin is found by a binary search
without branches, for eight rows at a time::

    p ← 0
    for step in (128, 64, …, 1): if edges[p + step − 1] < v: p ← p + step
    codes[row, column] ← p, or MISSING_BIN without a value
    if v < edges[p]: single[p] ← False

Invariants: after each step all edges before p are below v.  Edges are padded with ∞ to 256, at
least the last two, so that p is at most LAST_BIN.  Bins only say where to look; no value is
rounded.
"""

import numpy as np

from arboretum.kernels.jit import inline, inner, jit

# two of the bins: rows of a table, and no fields
LAST_BIN = 254
MISSING_BIN = LAST_BIN + 1  # the number of bins, as everywhere (arboretum.model.missing)

ROWS = 1024  # rows whose columns are read one after the other: they stay in the cache

STEPS = (128, 64, 32, 16, 8, 4, 2, 1)


@jit
def assign_bins(values, n, row_stride, column_stride, edges, codes, single):
    """Give every value its bin.

    values : flat memory of float[n, columns] with strides in elements.
    edges : float[columns, 256], up to 254 of them, ascending, padded with inf.
    codes : uint8[n × columns], row by row; written.
    single : bool[columns, 256], set to False where a bin holds a value other than its upper edge
        (so that there may be something to cut inside).
    """
    down, across = np.uintp(row_stride), np.uintp(column_stride)
    for low in range(0, n, ROWS):
        for f in range(len(edges)):
            column = (values, np.uintp(f) * across, down)
            _bins_of_column(
                column, low, min(n, low + ROWS), edges[f], codes, len(edges), f, single[f]
            )


@inner
def _bins_of_column(column, low, high, e, codes, width, f, single):
    """Write the bins of the rows low … high − 1 of column f, eight at a time: a search is a chain
    of eight waits, eight searches wait together.  At the end the last row is looked up several
    times.

    column : flat values, where the column begins, and elements from row to row.
    e : float[256], its edges.
    codes : uint8[·], ``width`` to a row.
    single : bool[256], see :func:`assign_bins`.
    """
    values, start, down = column
    last = np.uintp(high - 1)
    for first in range(low, high, 8):
        a = np.uintp(first)
        b, c, d = min(a + np.uintp(1), last), min(a + np.uintp(2), last), min(a + np.uintp(3), last)
        r = min(a + np.uintp(4), last)
        s, t, u = min(a + np.uintp(5), last), min(a + np.uintp(6), last), min(a + np.uintp(7), last)
        va = values[start + a * down]
        vb = values[start + b * down]
        vc = values[start + c * down]
        vd = values[start + d * down]
        vr = values[start + r * down]
        vs = values[start + s * down]
        vt = values[start + t * down]
        vu = values[start + u * down]
        pa = pb = pc = pd = pr = ps = pt = pu = np.uintp(0)
        for step in STEPS:
            pa = _on(e, pa, va, step)
            pb = _on(e, pb, vb, step)
            pc = _on(e, pc, vc, step)
            pd = _on(e, pd, vd, step)
            pr = _on(e, pr, vr, step)
            ps = _on(e, ps, vs, step)
            pt = _on(e, pt, vt, step)
            pu = _on(e, pu, vu, step)
        some = (a, va, pa), (b, vb, pb), (c, vc, pc), (d, vd, pd)
        for i, v, p in (*some, (r, vr, pr), (s, vs, ps), (t, vt, pt), (u, vu, pu)):
            if v < e[p]:
                single[p] = False
            codes[i * np.uintp(width) + np.uintp(f)] = (
                np.uint8(p) if v == v else np.uint8(MISSING_BIN)
            )


@inline
def _on(e, p, v, step):
    """Return where a binary search goes on from edge p, without a branch: ``step`` edges on where
    these are all below v.
    """
    return p + (np.uintp(step) if e[p + np.uintp(step - 1)] < v else np.uintp(0))
