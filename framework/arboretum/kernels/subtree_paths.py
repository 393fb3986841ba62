"""What a node of a subtree asks of the path above it, and what its best test does to its rows.

Prices and columns::

    up ← the parent of v
    while there is one: take in the price, the column or the test of up; up ← its parent

Rows::

    for each object of the node: goes[object] ← outcome of the test, or ``side`` without a value
    sort the node's rows stably by ``goes``; start[o] ← the first place of outcome o

Invariants: children have larger numbers than their parent, so that a walk upwards ends at the given
node.  Rows of other nodes are not touched, but under SPLITS, where rows behind the node's receive
those that go to several branches; there is room for them, or nothing is written.
"""

import numpy as np

from arboretum.kernels.coded import SORTED, outcome
from arboretum.kernels.fractional import SPLITS, lacking
from arboretum.kernels.jit import inline, inner
from arboretum.kernels.runs import MISSING, OBJECT, TO_RANK
from arboretum.kernels.sorting import split_many, split_shared, split_two, take_back

EPS = 2.0**-52


@inner
def bar_prices(v, nodes, above, max_cost, prices):
    """Write to ``prices`` those at node v: ∞ where its path cannot pay them any more
    (Limits.most_paid).

    above : the path to the given node, with its ``listed`` prices.
    """
    spent, up = above.spent, nodes.parent[v]
    while up >= 0:
        spent += nodes.price[up]
        up = nodes.parent[up]
    most = max_cost * (1.0 + (nodes.segment[v, 2] + 3) * EPS)
    for i in range(len(prices)):
        prices[i] = above.listed[i] if spent + above.listed[i] <= most else np.inf


@inner
def mark_paid(v, owner, nodes, paid, free):
    """Write to ``free``, bool[F], whether a feature's column was asked on the path to node v.

    owner : int64[F], number of the raw column.
    paid : bool[F], the same of the path above the given node.
    """
    for f in range(len(free)):
        free[f] = paid[f]
    up = nodes.parent[v]
    while up >= 0:
        column = owner[nodes.feature[up]]
        for f in range(len(owner)):
            free[f] |= owner[f] == column
        up = nodes.parent[up]


@inner
def mark_asked(v, features, nodes, asked, value):
    """Write ``value`` for all tests that were asked on the path to node v, below the given one:
    True that they were, False to take it back.

    asked : bool[·], by place in the prices.
    """
    up = nodes.parent[v]
    while up >= 0:
        f = nodes.feature[up]
        if features.family[f] != SORTED:
            asked[features.price_offset[f] + nodes.index[up]] = value
        up = nodes.parent[up]


@inline
def send(features, f, index, side, rows, low, high, goes):
    """Write the outcome of a test by object, ``side`` without a value; return the lowest rank, or
    code, above a cut, 2³⁰ for other tests without one.

    f, index : the test; of a sorted column, the place of the last entry left of the cut.
    rows : int32[·], the node's objects at low … high − 1.
    goes : uint16[n], written at these.
    """
    column, family, beyond = features.column[f], features.family[f], np.int64(1 << 30)
    if family == SORTED:
        run = features.order[column, low:high]
        beyond = np.int64(run[index + 1] >> TO_RANK)
        for j in range(high - low):
            goes[run[j] & OBJECT] = j > index if run[j] >> TO_RANK != MISSING else side
        return beyond
    known = features.offset[f + 1] - features.offset[f] - features.has_missing[f]
    base, down = np.uintp(column) * np.uintp(features.column_stride), np.uintp(features.row_stride)
    for j in range(low, high):
        i = np.uintp(rows[j])
        code = np.int64(features.codes[base + i * down])
        o = outcome(code, family, index, known, side)
        beyond = min(beyond, code) if o == 1 and code < known else beyond
        goes[i] = o
    return beyond


@inline
def split_rows(rows, low, high, outcomes, goes, shares, scratch):
    """Sort a node's rows stably by outcome, in place; ``scratch.start[o]`` receives the first place
    of outcome o, from ``low``.

    outcomes : number of outcomes, which is also that of rows without one in ``goes``.
    shares : Fractions, or None.

    Rows without an outcome are behind the others, or under SPLITS in each of them.   Returns how
    many groups there are, 0 where ``rows`` has no room.
    """
    start = scratch.start
    spare = scratch.spare
    groups = outcomes
    some = rows[low:high]
    every = np.int64(-1)
    if shares is not None:
        groups += lacking(some, outcomes, goes)
    for o in range(groups + 1):
        start[o] = 0
    if groups == 2:
        left = split_two(some, every, goes, spare)
        take_back(some, left, spare)
        start[1], start[2] = np.int64(left), high - low
    else:
        for j in range(low, high):
            start[np.int64(goes[rows[j]]) + 1] += 1
        for o in range(groups):
            start[o + 1] += start[o]
        if shares is not None and groups > outcomes and shares.how == SPLITS:
            lost, first = start[groups] - start[outcomes], np.int64(0)
            for o in range(outcomes):
                size, first = start[o + 1] - first, start[o + 1]
                start[o + 1] = start[o] + (size + lost if size > 0 else 0)
            if low + start[outcomes] > len(rows):
                return np.int64(0)
            split_shared(rows[low:], high - low, every, goes, start[: outcomes + 1], spare)
            return outcomes
        split_many(some, every, goes, start[: groups + 1], spare)
    return groups
