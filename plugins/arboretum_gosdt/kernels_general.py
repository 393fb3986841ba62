"""The sums over a node's objects that the general search looks at, for all features at once."""

from __future__ import annotations

from arboretum.kernels.jit import jit


@jit
def tally(rows, outcome, data, out):
    """out[c, f] : the sum of ``data[u, c]`` over those of the rows u whose outcome under feature f is 1.

    rows : int64[k].   outcome : uint8[objects, features], 0 or 1.   data : int64[objects, columns].   out : int64[columns, features].
    """
    out[:] = 0
    for i in range(rows.shape[0]):
        mine = outcome[rows[i]]
        for c in range(data.shape[1]):
            value, sums = data[rows[i], c], out[c]
            if value != 0:
                for f in range(mine.shape[0]):
                    sums[f] += value * mine[f]
