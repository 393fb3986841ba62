"""What the tests of a set of rows, and their pairs, say of the least errors of one and two
leaves on every side (numba kernels).

With w, s the sums Σ w and Σ w y of a set of rows x, and squared errors::

    gain(x) = round(scale · s² / w);  leaf(x) = square(x) − gain(x) + p
    sums of i ∧ j are counted, those of ¬i ∧ j, i ∧ ¬j, ¬i ∧ ¬j are differences
    two[side, j] = max over i of gain(x ∧ i) + gain(x ∧ ¬i), x that side of j
                                                                             (savings_of_two_leaves)
    find_tree_of_two_levels: min over f of square + 2 p − max(gain(f), two[0, f] − p)
                                           − max(gain(¬f), two[1, f] − p), or a leaf

Of absolute errors one pass over the sorted objects sums weights and a second one losses, in all
four cells of every pair (``deviations_of_cells``); ``two`` then is the least cost, not the greatest
gain.

Invariants: objects of a level are sorted by target.  Rows of ``sums``: weight, total, square,
worst, two words of the fingerprint, rows; ``sum_sides_of_tests`` moves those of the tests it keeps
to the front.  Counting Σ w and Σ w y in one number needs ``shift`` bits below, which all weights
together fit into.  Sums are whole numbers; only gains, and all of absolute errors, are floats
before they are rounded.

Where nothing else is said, table is a RegressionTable, only read; levels and scratch are
RegressionLevels and RegressionScratch, written; d is the level of a set, i and j are places of
tests there, side is ONE or REST, and k is how many leaves a side may have.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import inline, inner, jit

NEVER = np.int64(1) << 60
"""The cost of what does not exist."""


class RegressionTable(NamedTuple):
    """What is searched, sorted by target.

    outcome : uint8[objects, tests], 0 or 1.
    weight, total, square : int64[objects], Σ w, Σ w y, and at least scale · Σ w y² (of
        absolute errors what the equal rows of an object cost whatever is said, at the first of
        them).
    worst : int64[objects], the most that an object can add to a tree.
    rows : int64[objects].
    keys : int64[objects, 2], random.
    p : price of a leaf.
    least : rows that a side needs.
    absolute : whether errors are absolute.
    similar : whether bounds of similar sets hold.
    slack : what rounding may add to a bound.
    shift : by how many bits Σ w y is moved where it is counted in one number with Σ w; 0: they do
        not fit into one.
    scale : costs in a unit of the deviation.
    """

    outcome: np.ndarray
    weight: np.ndarray
    total: np.ndarray
    square: np.ndarray
    worst: np.ndarray
    rows: np.ndarray
    keys: np.ndarray
    p: int
    least: int
    absolute: bool
    similar: bool
    slack: int
    shift: int
    scale: float


NODE = np.dtype(
    [
        ("width", "i8"),  # tests that divide it
        ("budget", "i8"),  # what its tree may cost
        ("ub", "i8"),  # least cost known
        ("leaf", "i8"),  # cost of a leaf
        ("depth", "i8"),  # that remains
        ("leaves", "i8"),  # at most, 0: any number
        ("child", "i8"),  # the test that is being solved, −1: none, NEW: nothing was done yet
        ("side", "i8"),  # of it, that is
        ("share", "i8"),  # leaves of that side
        ("key", "i8", 2),  # fingerprint
        ("first", "i8"),  # test of the best tree, −1: a leaf
        ("given", "i8"),  # leaves given to its side of outcome 1
    ],
    align=True,
)
"""A set of objects on the way."""
NEW = -2


class RegressionLevels(NamedTuple):
    """The sets on the way from the root, one level a row; sides are that of outcome 1, then the
    other.

    objects : int64, those of one set after the other.
    first : int64[levels + 1], where those of each set begin.
    node : NODE[levels].
    test : int64[levels, tests], those that divide it.
    low, high : int64[levels, 2, tests, leaves], the least cost of a side with so many leaves, at
        least and at most.
    side_key : int64[levels, 2, tests, 2], fingerprints of the sides.
    weight : int64[levels, 2, tests], ``worst`` of a side.
    near : int64[levels, tests²], of what two tests share.
    seen : uint8[levels, 2, tests], whether intervals were looked at.
    """

    objects: np.ndarray
    first: np.ndarray
    node: np.ndarray
    test: np.ndarray
    low: np.ndarray
    high: np.ndarray
    side_key: np.ndarray
    weight: np.ndarray
    near: np.ndarray
    seen: np.ndarray


class RegressionScratch(NamedTuple):
    """Room.

    sums, whole : int64[7, tests], int64[7], of the objects with outcome 1 of each test, and of all:
        0 weight, 1 total, 2 square, 3 worst, 4 and 5 the fingerprint's words, 6 rows.
    both : int64[3, tests²] (weight, total, worst).
    mask : int64[tests].
    two : float64[2, tests].
    cells : float64[3, tests, 2, 2, tests + 1], of absolute errors.
    prefix : float64[4, objects + 1].
    queue : int64[2, objects + 1].
    """

    sums: np.ndarray
    whole: np.ndarray
    both: np.ndarray
    mask: np.ndarray
    two: np.ndarray
    cells: np.ndarray
    prefix: np.ndarray
    queue: np.ndarray


def new_levels(levels: int, tests: int, objects: int, leaves: int) -> RegressionLevels:
    """Return the arrays of so many levels, zeros but for the objects.

    leaves : of a tree, at most, and 1 more.
    """

    def level(*shape: int) -> np.ndarray:
        return np.zeros((levels, *shape), np.int64)

    return RegressionLevels(
        objects=np.empty(objects * (levels + 1) + 64, np.int64),
        first=np.zeros(levels + 1, np.int64),
        node=np.zeros(levels, NODE),
        test=level(tests),
        low=level(2, tests, leaves),
        high=level(2, tests, leaves),
        side_key=level(2, tests, 2),
        weight=level(2, tests),
        near=level(tests * tests),
        seen=np.zeros((levels, 2, tests), np.uint8),
    )


def new_scratch(tests: int, objects: int, absolute: bool) -> RegressionScratch:
    """Return the room of one set, not filled in."""
    cells = (3, tests, 2, 2, tests + 1) if absolute else (3, 0, 2, 2, 0)
    return RegressionScratch(
        sums=np.empty((7, tests), np.int64),
        whole=np.empty(7, np.int64),
        both=np.empty((3, tests * tests), np.int64),
        mask=np.empty(tests + 1, np.int64),
        two=np.empty((2, tests)),
        cells=np.empty(cells),
        prefix=np.empty((4, objects + 1)),
        queue=np.empty((2, objects + 1), np.int64),
    )


@inline
def squares_saved_by_leaf(scale, total, weight):
    """Return what a leaf saves of the squares, scale · total² / weight, as a whole float; a set
    without weight saves nothing.
    """
    return np.rint(scale * total * total / max(weight, 1.0))


@jit(borrow=True)
def leaf_cost(table, objects):
    """Return the cost of a leaf of these objects, without its price.

    table : RegressionTable; objects : int64, sorted by target.
    """
    weight, total, square, raw, below = 0.0, 0.0, np.int64(0), 0.0, 0.0
    for r in objects:
        weight += table.weight[r]
        total += table.total[r]
        square += table.square[r]
    if not table.absolute:
        return square - np.int64(squares_saved_by_leaf(table.scale, total, weight))
    for r in objects:
        w = np.float64(table.weight[r])
        raw += table.total[r] / w * (w - min(max(weight - 2 * below, 0.0), 2 * w))
        below += w
    return np.int64(raw * table.scale)


@inner(wraps=True)
def sum_sides_of_tests(table, levels, scratch, d):
    """Sum over each test's objects with outcome 1, and over all, and list the tests that divide the
    set; returns how many.

    Writes ``scratch.sums`` and ``whole`` and ``levels.test[d]``; a test with fewer than
    ``table.least`` rows on a side is left out.
    """
    sums, whole, mask, tests = scratch.sums, scratch.whole, scratch.mask, table.outcome.shape[1]
    sums[:], whole[:] = 0, 0
    for at in range(levels.first[d], levels.first[d + 1]):
        r = levels.objects[at]
        for f in range(tests):
            mask[f] = -np.int64(table.outcome[r, f])
        for c in range(7):
            value = table.rows[r] if c == 6 else table.weight[r]
            value = (
                table.total[r]
                if c == 1
                else table.square[r]
                if c == 2
                else table.worst[r]
                if c == 3
                else value
            )
            value = table.keys[r, c - 4] if c == 4 or c == 5 else value
            whole[c] += value
            row = sums[c]
            for f in range(tests):
                row[f] += value & mask[f]
    width, least = 0, max(table.least, 1)
    for f in range(tests):
        if least <= sums[6, f] <= whole[6] - least:
            levels.test[d, width] = f
            for c in range(7):
                sums[c, width] = sums[c, f]
            width += 1
    return width


@inner
def add_masked(sums, value, mask):
    """Add a value to the sums where the mask is −1."""
    for j in range(len(mask)):
        sums[j] += value & mask[j]


@inner
def count_pairs(table, levels, scratch, d, m, deep):
    """Sum weight, total and ``worst`` over the objects with outcome 1 of both tests i and j into
    ``scratch.both[c, i · m + j]``, c being 0, 1 or 2.

    m : how many of ``levels.test[d]`` they are.
    deep : whether ``worst`` is asked, too.
    Of absolute errors totals are not summed.
    """
    both, mask, shift = scratch.both, scratch.mask, table.shift
    two = shift == 0 and not table.absolute
    for c in range(3):
        for k in range(m * m):
            both[c, k] = 0
    weight, total, worst = both[0], both[1], both[2]
    for at in range(levels.first[d], levels.first[d + 1]):
        r = levels.objects[at]
        for i in range(m):
            mask[i] = -np.int64(table.outcome[r, levels.test[d, i]])
        w = (table.total[r] << shift) + table.weight[r] if shift > 0 else table.weight[r]
        s = table.total[r]
        v = table.worst[r]
        for i in range(m):
            if mask[i] != 0:
                add_masked(weight[i * m + i : i * m + m], w, mask[i:m])
                if two:
                    add_masked(total[i * m + i : i * m + m], s, mask[i:m])
                if deep:
                    add_masked(worst[i * m + i : i * m + m], v, mask[i:m])
    if shift > 0:
        for i in range(m):
            for j in range(i, m):
                total[i * m + j] = weight[i * m + j] >> shift
                weight[i * m + j] &= (np.int64(1) << shift) - 1
    for c in range(3 if deep else 2):
        for i in range(m):
            for j in range(i):
                both[c, i * m + j] = both[c, j * m + i]


@inner
def find_tree_of_two_levels(table, levels, scratch, d):
    """Find the best tree of two levels of tests, from pairs alone, and keep it with the node of
    level d.

    Only of squared errors without a least leaf; ``node.width`` is 0 behind it, so that nothing is
    left to solve.
    """
    node, tests, p, scale = levels.node[d], table.outcome.shape[1], table.p, table.scale
    for f in range(tests):
        levels.test[d, f] = f
    count_pairs(table, levels, scratch, d, tests, False)
    sums, whole, two, square = scratch.sums, scratch.whole, scratch.two, np.int64(0)
    whole[0], whole[1], node.width, node.first, node.child = 0, 0, 0, -1, -1
    for at in range(levels.first[d], levels.first[d + 1]):
        r = levels.objects[at]
        whole[0] += table.weight[r]
        whole[1] += table.total[r]
        square += table.square[r]
    for f in range(tests):
        sums[0, f], sums[1, f] = scratch.both[0, f * tests + f], scratch.both[1, f * tests + f]
    savings_of_two_leaves(table, scratch, tests)
    node.leaf = node.ub = (
        square
        - np.int64(squares_saved_by_leaf(scale, np.float64(whole[1]), np.float64(whole[0])))
        + p
    )
    for f in range(tests):
        if 0 < sums[0, f] < whole[0]:
            one = squares_saved_by_leaf(scale, np.float64(sums[1, f]), np.float64(sums[0, f]))
            rest = squares_saved_by_leaf(
                scale, np.float64(whole[1] - sums[1, f]), np.float64(whole[0] - sums[0, f])
            )
            cost = (
                square
                + 2 * p
                - max(np.int64(one), np.int64(two[0, f]) - p)
                - max(np.int64(rest), np.int64(two[1, f]) - p)
            )
            if cost < node.ub:
                node.ub, node.first, node.given = cost, f, node.leaves // 2


@inner
def savings_of_two_leaves(table, scratch, m):
    """Write the most that two leaves for a side of test j save of its squares to two[side, j], by
    any second test; 0 at least.

    m : how many tests ``scratch.sums`` and ``both`` are of.
    """
    scale, sums, whole, two = table.scale, scratch.sums, scratch.whole, scratch.two
    weight, total = scratch.both[0], scratch.both[1]
    all_w, all_s = np.float64(whole[0]), np.float64(whole[1])
    one, rest = two[0], two[1]
    for j in range(m):
        one[j], rest[j] = 0.0, 0.0
    for i in range(m):
        w_i, s_i, begin = np.float64(sums[0, i]), np.float64(sums[1, i]), i * m
        for j in range(m):
            w, s = np.float64(weight[begin + j]), np.float64(total[begin + j])
            w_j, s_j = np.float64(sums[0, j]), np.float64(sums[1, j])
            inside = squares_saved_by_leaf(scale, s, w) + squares_saved_by_leaf(
                scale, s_j - s, w_j - w
            )
            outside = squares_saved_by_leaf(scale, s_i - s, w_i - w) + squares_saved_by_leaf(
                scale, all_s - s_i - s_j + s, all_w - w_i - w_j + w
            )
            one[j] = inside if inside > one[j] else one[j]
            rest[j] = outside if outside > rest[j] else rest[j]


@inner
def deviations_of_cells(table, levels, scratch, d, m):
    """Write Σ w |y − median| of the objects with outcome a of test i and b of test j > i to
    cells[2, i, a, b, j]; j = m: of the side a of i alone.

    m : how many of ``levels.test[d]`` they are.
    One pass over the sorted objects sums weights (cells[0]), a second one losses, with the weights
    so far in cells[1].
    """
    mask, cells = scratch.mask, scratch.cells
    for c in range(3):
        for i in range(m):
            cells[c, i, :, :, : m + 1] = 0.0
    for turn in range(2):  # weights, then losses
        for at in range(levels.first[d], levels.first[d + 1]):
            r = levels.objects[at]
            w = np.float64(table.weight[r])
            y = table.total[r] / w
            for i in range(m):
                mask[i] = np.int64(table.outcome[r, levels.test[d, i]])
            mask[m] = 1
            for i in range(m):
                for b in range(2):
                    whole = cells[0, i, mask[i], b]
                    run = cells[1, i, mask[i], b]
                    loss = cells[2, i, mask[i], b]
                    for j in range(i + 1, m + 1):
                        mine = np.float64(mask[j] if b == 1 else 1 - mask[j])
                        if turn == 0:
                            whole[j] += w * mine
                        else:
                            half = whole[j] - 2 * run[j]
                            half = half if half > 0.0 else 0.0
                            half = half if half < 2 * w else 2 * w
                            loss[j] += y * (w - half) * mine
                            run[j] += w * mine


@inner
def deviations_of_two_leaves(table, scratch, m):
    """Write the least that two leaves for a side of test j cost to two[side, j], NEVER where no
    second test is left.

    m : how many tests ``scratch.cells`` are of.
    """
    two, loss, scale = scratch.two, scratch.cells[2], table.scale
    for side in range(2):
        for j in range(m):
            best = np.inf
            for i in range(m):
                first, last, other = min(i, j), max(i, j), 1 - side
                if i < j:
                    best = min(best, loss[first, 0, other, last] + loss[first, 1, other, last])
                elif i > j:
                    best = min(best, loss[first, other, 0, last] + loss[first, other, 1, last])
            two[side, j] = scale * best if best < np.inf else np.float64(NEVER)
