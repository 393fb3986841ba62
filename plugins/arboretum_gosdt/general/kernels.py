"""The sums over a node's objects that the general search looks at, for all features at once.

``look_ahead`` is B.2 one level further: for child x of feature i, and a second test j that leaves
both cells y = x ∧ j and z = x ∧ ¬j (or the other way) rows enough::

    n(¬i ∧ j) = n(j) − n(i ∧ j), and so for every column of sums
    leaf(y) = q · least class sum of y + p;  test_cost = price of j · mass of x (worst path: 0)
    split(y) = least_cost_if_split(y) = 2 p + cheapest price · mass of y, FAR where y must be a leaf
                                                                                  (B.2, B.6)
    two(x) = min over j of leaf(y) + leaf(z) + test_cost
    three(x) = min over j of test_cost + min(min(leaf(y), split(y)) + split(z),
                                             split(y) + min(leaf(z), split(z)))
        only where children may have three leaves (``deep``), else FAR
    floors[x] = min(leaf(x), two(x), three(x)): no tree of x costs less

Invariants: columns of sums are those of the classes, the influence, training rows, objects, mass
and the problem's objects.  ``both`` is symmetric in its tests.  FAR is above all costs, and two of
them add up.  ``costs[1]`` is −1 where no second test beats a leaf.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import inline, jit
from arboretum_gosdt.general.splits import COUNT, MASS, OWN, SIZE


@jit
def sum_by_feature(rows, outcome, data, out):
    """Sum ``data[u, c]`` into out[c, f], over those of the rows u whose outcome under feature f is
    1.

    rows : int64[k].
    outcome : uint8[objects, features], 0 or 1.
    data : int64[objects, columns].
    out : int64[columns, features].
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
def sum_by_pairs(rows, outcome, data, feature, mine, out):
    """Sum ``data[u, c]`` into out[c, i, j], over those of the rows u whose outcomes under the
    features i and j are both 1.

    feature : int64[m], which of all features i stands for.
    mine : int64[m], room.
    out : int64[columns, m, m].
    rows, outcome, data : as of :func:`sum_by_feature`.
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


FAR = 1 << 60
"""Above the cost of every tree."""


class Setting(NamedTuple):
    """What a call does not change.

    p, q : price of a leaf and of a loss.
    least, split, light, members, worst : of :class:`.splits.SplitRules`.
    cheapest : the least price of a test; 0 where ``worst``.
    path_cost : what the costliest path may cost, where ``worst``.
    deep : whether children may have three leaves.
    """

    p: int
    q: int
    classes: int
    least: int
    split: int
    light: int
    members: int
    cheapest: int
    worst: bool
    path_cost: int
    deep: bool


@inline
def least_cost_if_split(count, size, mass, members, setting):
    """Return the least that a set costs if it is split, two leaves and a test; FAR where it must be
    a leaf.

    count, size, mass, members : sums over the set, in the order of COUNT, SIZE, MASS and OWN.
    setting : Setting, whose ``split``, ``least``, ``light`` and ``members`` say what must be a
        leaf, as ``SplitRules.must_be_leaf`` does; the search's ``_least_cost_if_split`` is the same
        in NumPy.
    """
    few = size < 2 or count < max(setting.split, 2 * setting.least)
    if few or mass <= setting.light or members < setting.members:
        return np.int64(FAR)
    return 2 * setting.p + setting.cheapest * mass


@jit
def look_ahead(both, sums, price, must_be_leaf, leaf, setting, costs, floors):
    """Write what the children of every feature i cost with one more test j, and at least with more.

    both : of :func:`sum_by_pairs`.
    sums : int64[2, columns, m], of the children.
    price : int64[m].
    must_be_leaf, leaf : bool[2, m], int64[2, m], whether a child must be a leaf, and its cost.
    costs : int64[5, 2, m], filled: cost of the child's best test, which (−1: none beats a leaf),
        its price, both leaves.
    floors : int64[2, m], filled: no tree of the child is below.
    setting : Setting.  A test that leaves a cell too few rows, or that the costliest path cannot
        pay, is passed over; ``costs[2:]`` is undefined where none is left.
    """
    m, k = both.shape[1], setting.classes
    for side in range(2):
        for i in range(m):
            two, three, costs[0, side, i], costs[1, side, i] = np.int64(FAR), np.int64(FAR), FAR, -1
            for j in range(0 if must_be_leaf[side, i] else m):
                size = (
                    both[k + SIZE, i, j]
                    if side == 0
                    else sums[0, k + SIZE, j] - both[k + SIZE, i, j]
                )
                count = (
                    both[k + COUNT, i, j]
                    if side == 0
                    else sums[0, k + COUNT, j] - both[k + COUNT, i, j]
                )
                other_size = sums[side, k + SIZE, i] - size
                other_count = sums[side, k + COUNT, i] - count
                if (
                    size <= 0
                    or other_size <= 0
                    or count < setting.least
                    or other_count < setting.least
                ):
                    continue
                if setting.worst and price[i] + price[j] > setting.path_cost:
                    continue
                one, rest = np.int64(FAR), np.int64(FAR)
                for c in range(k):
                    loss = both[c, i, j] if side == 0 else sums[0, c, j] - both[c, i, j]
                    one, rest = min(one, loss), min(rest, sums[side, c, i] - loss)
                # both cells as leaves
                one, rest = setting.q * one + setting.p, setting.q * rest + setting.p
                test_cost = np.int64(0) if setting.worst else price[j] * sums[side, k + MASS, i]
                if one + rest + test_cost < two:
                    two = one + rest + test_cost
                    costs[0, side, i] = two
                    costs[1, side, i] = j
                    costs[2, side, i] = test_cost
                    costs[3, side, i] = one
                    costs[4, side, i] = rest
                # three leaves and more: a cell at least is divided, which costs
                # ``least_cost_if_split``; left out where that cannot lower ``three``
                if (
                    setting.deep
                    and min(one, rest, 2 * setting.p) + 2 * setting.p + test_cost < three
                ):
                    mass = (
                        both[k + MASS, i, j]
                        if side == 0
                        else sums[0, k + MASS, j] - both[k + MASS, i, j]
                    )
                    own = (
                        both[k + OWN, i, j]
                        if side == 0
                        else sums[0, k + OWN, j] - both[k + OWN, i, j]
                    )
                    here = least_cost_if_split(count, size, mass, own, setting)
                    there = least_cost_if_split(
                        other_count,
                        other_size,
                        sums[side, k + MASS, i] - mass,
                        sums[side, k + OWN, i] - own,
                        setting,
                    )
                    three = min(
                        three, test_cost + min(min(one, here) + there, here + min(rest, there))
                    )
            if two >= leaf[side, i]:
                costs[1, side, i] = -1
            floors[side, i] = min(leaf[side, i], min(two, three))


def load_kernels() -> None:
    """Compile the kernels, or load them from the cache: on a few objects relaxing leaves nothing
    for them.
    """
    two, table = np.zeros(2, np.int64), np.zeros((2, 6), np.int64)
    outcome, cube = np.zeros((2, 1), np.uint8), np.zeros((6, 1, 1), np.int64)
    for data in (table, table[:, 1:2]):  # the sums of one column are taken as well
        sum_by_feature(two, outcome, data, np.zeros((data.shape[1], 1), np.int64))
    sum_by_pairs(two, outcome, table, two[:1], two[:1], cube)
    sums, leaf = np.zeros((2, 6, 1), np.int64), np.zeros((2, 1), np.int64)
    look_ahead(
        cube,
        sums,
        two[:1],
        np.ones((2, 1), np.bool_),
        leaf,
        Setting(1, 1, 1, 1, 1, 1, 1, 1, True, 1, True),
        np.zeros((5, 2, 1), np.int64),
        leaf,
    )
