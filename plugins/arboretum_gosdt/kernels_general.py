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


@jit
def tally_pairs(rows, outcome, data, feature, mine, out):
    """out[c, i, j] : the sum of ``data[u, c]`` over those of the rows u whose outcomes under the features i and j are 1.

    feature : int64[m], which of all features i stands for.   mine : int64[m], room.   out : int64[columns, m, m].
    """
    m = feature.shape[0]
    out[:] = 0
    for r in range(rows.shape[0]):
        for i in range(m):
            mine[i] = outcome[rows[r], feature[i]]
        for c in range(data.shape[1]):
            value = data[rows[r], c]
            if value != 0:
                for i in range(m):
                    if mine[i]:
                        sums = out[c, i]
                        for j in range(i, m):
                            sums[j] += value * mine[j]
    for c in range(out.shape[0]):
        for i in range(m):
            for j in range(i):
                out[c, i, j] = out[c, j, i]
