"""C4.5's growth in one kernel; its twin is the criterion in ``c45.py``, asked node by node by the framework's loop.

Nodes are taken depth first, first branch first, so that they come out in preorder.  What a node holds lies on top of the arena: its rows
with their shares, and for each number its rows in ascending order with their values; its branches are written over it, the first one
last.  A row without the value of the chosen test is in every branch, so the branches can be longer than the node was.

| name | meaning |
|---|---|
| W, K | weight of the node, of its rows with a value |
| xlog(x) | x log2 x |
| least | weight that either side of a cut has to have |
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import jit
from arboretum_classic.c45 import MOST_OBJECTS, SLACK, TOLERANCE

GAP = 1e-5  # values that lie closer are not separated
LOST = -1  # in ``goes``: the row has no value
LOW, HIGH, PARENT, BRANCH, DEPTH, LEAF, LISTS = range(7)  # columns of an open node; from LISTS on, low and high of each number's list
COLUMN, BIN, ABOVE, OUTCOME = range(4)  # whole numbers of a node: its test (column −1 at a leaf), and where it hangs
CUT, SCORE, COUNT, WEIGHTS = range(4)  # the others; from WEIGHTS on, those of the classes


class Columns(NamedTuple):
    """The columns that tests read, in the order of the table.

    number, at : bool[c], int64[c], whether it is a number, and its place among those of its sort.   in_average : bool[c].
    codes : uint[n, nominal], a value's bin, the number of bins without a value.   offset : int64[nominal + 1], bins of each, one more than
    it has values.   tests : int64[nominal], 0: one with a branch per value, else so many "value k or not".
    """

    number: np.ndarray
    at: np.ndarray
    in_average: np.ndarray
    codes: np.ndarray
    offset: np.ndarray
    tests: np.ndarray


class Objects(NamedTuple):
    """label, weight, count : of each row.   xlogs : xlog(0 … n) where all weigh 1 and no value is missing, else empty."""

    label: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    xlogs: np.ndarray


class Arena(NamedTuple):
    """rows, share : int32[size], float64[size].   order, value : int32 and float64[numbers, size].   spare_rows, spare : for moving them."""

    rows: np.ndarray
    share: np.ndarray
    order: np.ndarray
    value: np.ndarray
    spare_rows: np.ndarray
    spare: np.ndarray


class Found(NamedTuple):
    """Of each column its best test: gain (less the charge), split information · W, bin or position of the cut, cut; and whether it has one."""

    gain: np.ndarray
    split: np.ndarray
    place: np.ndarray
    cut: np.ndarray
    usable: np.ndarray


class Scratch(NamedTuple):
    """own : float64[n], weight of each row at the node.   goes : int16[n], its branch.   bins : float64[bins, classes].   first, second : float64[classes]."""

    own: np.ndarray
    goes: np.ndarray
    bins: np.ndarray
    first: np.ndarray
    second: np.ndarray


@jit(inline=True)
def xlog(x, xlogs):
    if len(xlogs) > 0:
        return xlogs[np.int64(x + 0.5)]
    return x * np.log2(x) if x >= TOLERANCE else 0.0


@jit(inner=True)
def gain_of(without, within, known, whole):
    """Gain in bits from K times the entropy of the known rows without and within the branches."""
    numerator = known / whole * (without - within)
    return numerator / known if abs(numerator) >= TOLERANCE else 0.0


@jit(inner=True)
def split_of(branches, known, whole, xlogs):
    """W times the split information; rows without a value are a branch of their own.   branches : Σ xlog(W_v)."""
    return xlog(whole, xlogs) - branches - xlog(whole - known, xlogs)


@jit(inner=True)
def many_way(bins, whole, rule, xlogs):
    """(gain, split, usable) of the test with a branch per bin.   bins : float64[bins, classes], of the rows with a value."""
    known, within, branches, heavy, without = 0.0, 0.0, 0.0, 0, 0.0
    for b in range(len(bins)):
        mass = 0.0
        for k in range(bins.shape[1]):
            mass += bins[b, k]
            within -= xlog(bins[b, k], xlogs)
        known += mass
        branches += xlog(mass, xlogs)
        heavy += mass > rule.min_objects - TOLERANCE
    if heavy < 2:
        return 0.0, 0.0, False
    for k in range(bins.shape[1]):
        mass = 0.0
        for b in range(len(bins)):
            mass += bins[b, k]
        without -= xlog(mass, xlogs)
    gain = gain_of(without + xlog(known, xlogs), within + branches, known, whole)
    return gain, split_of(branches, known, whole, xlogs), True


@jit(inner=True)
def one_value(bins, n_tests, whole, rule, xlogs, pair):
    """(gain, split, bin, usable) of the best test "value k or not", by its ratio.   pair : float64[2, classes], scratch."""
    best, kept, at = 0.0, (0.0, 0.0), -1
    for b in range(n_tests):
        pair[0] = bins[b]
        for k in range(bins.shape[1]):
            pair[1, k] = -bins[b, k]
            for other in range(len(bins)):
                pair[1, k] += bins[other, k]
        gain, split, usable = many_way(pair, whole, rule, xlogs)
        if usable:
            ratio = gain / (split / whole) if split >= TOLERANCE else 0.0
            if at < 0 or ratio - best > TOLERANCE:
                at, kept, best = b, (gain, split), max(ratio, 0.0)
    return kept[0], kept[1], at, at >= 0


@jit(inner=True)
def best_cut(rows, value, objects, whole, rule, scratch):
    """(gain, split, position, cuts) of the best cut between neighbours of an ascending list; position −1 without gain.

    scratch.first, scratch.second : weights of the classes on either side of the cut.
    """
    label, xlogs, own, left, right = objects.label, objects.xlogs, scratch.own, scratch.first, scratch.second
    unit, low, high, without = len(xlogs) > 0, 0.0, 0.0, 0.0
    left[:] = 0.0
    right[:] = 0.0
    for i in range(len(rows)):
        right[label[rows[i]]] += 1.0 if unit else own[rows[i]]
    for k in range(len(right)):
        high += right[k]
        without -= xlog(right[k], xlogs)
    known = high
    without += xlog(known, xlogs)
    least = known / (10.0 * len(left))
    least = min(least, MOST_OBJECTS) if rule.scaled and least - rule.min_objects >= TOLERANCE else rule.min_objects
    best, at, low_at, cuts, inside, started = 0.0, -1, 0.0, 0, 0.0, False
    for i in range(len(rows) - 1):
        k = label[rows[i]]
        mass = 1.0 if unit else own[rows[i]]
        if started:  # Σ xlog over the classes of both sides
            inside -= xlog(left[k], xlogs) + xlog(right[k], xlogs)
        left[k] += mass
        right[k] -= mass
        if started:
            inside += xlog(left[k], xlogs) + xlog(right[k], xlogs)
        low += mass
        high -= mass
        if high <= least - TOLERANCE:
            break
        if low <= least - TOLERANCE:
            continue
        if not started:
            started = True
            for c in range(len(left)):
                inside += xlog(left[c], xlogs) + xlog(right[c], xlogs)
        if value[i] + GAP < value[i + 1]:
            cuts += 1
            gain = gain_of(without, xlog(low, xlogs) + xlog(high, xlogs) - inside, known, whole)
            if gain - best > TOLERANCE:
                best, at, low_at = gain, i, low
    split = split_of(xlog(low_at, xlogs) + xlog(known - low_at, xlogs), known, whole, xlogs)
    return best, split, at, cuts


@jit(inner=True)
def count_bins(rows, columns, objects, scratch):
    """Add up the classes by bin of all nominal columns, in one pass over the rows."""
    bins, codes, offset, unit = scratch.bins, columns.codes, columns.offset, len(objects.xlogs) > 0
    bins[:] = 0.0
    for i in range(len(rows)):
        r = np.uintp(rows[i])
        k = np.uintp(objects.label[r])
        mass = 1.0 if unit else scratch.own[r]
        for f in range(codes.shape[1]):
            bins[np.uintp(offset[f]) + np.uintp(codes[r, f]), k] += mass


@jit(inner=True)
def look(arena, item, columns, objects, whole, rule, scratch, found, pair):
    """Find the best test of each column at a node.   item : int64[·], the open node."""
    if len(columns.tests):
        count_bins(arena.rows[item[LOW] : item[HIGH]], columns, objects, scratch)
    for c in range(len(columns.at)):
        f = columns.at[c]
        found.usable[c] = False
        if columns.number[c]:
            low, high = item[LISTS + 2 * f], item[LISTS + 2 * f + 1]
            if high - low < 2:
                continue
            value = arena.value[f, low:high]
            gain, split, at, cuts = best_cut(arena.order[f, low:high], value, objects, whole, rule, scratch)
            if at < 0:
                continue
            if rule.mdl:
                gain -= np.log2(cuts) / whole
            middle = (value[at] + value[at + 1]) / 2.0
            found.cut[c] = value[at] if middle == value[at + 1] else middle
            found.gain[c], found.split[c], found.place[c], found.usable[c] = gain, split, at, gain >= TOLERANCE
        else:
            bins, n_tests = scratch.bins[columns.offset[f] : columns.offset[f + 1] - 1], columns.tests[f]
            if n_tests == 0:
                found.gain[c], found.split[c], found.usable[c] = many_way(bins, whole, rule, objects.xlogs)
            else:
                found.gain[c], found.split[c], found.place[c], found.usable[c] = one_value(bins, n_tests, whole, rule, objects.xlogs, pair)


@jit(inner=True)
def choose(found, in_average, whole, rule):
    """(column, ratio) of the node's test, (−1, 0) without any: the best ratio of the tests whose gain is not below the average."""
    total, n = 0.0, 0
    for c in range(len(in_average)):
        if found.usable[c] and in_average[c]:
            total += found.gain[c]
            n += 1
    if n == 0:
        return -1, 0.0
    best, least, trivial, at = 0.0, total / n - SLACK if rule.average_gain else -np.inf, TOLERANCE, -1
    if rule.zero_gain:
        best, trivial = -SLACK, SLACK * whole
    for c in range(len(in_average)):
        if found.usable[c] and found.gain[c] >= least and found.split[c] >= trivial:
            ratio = found.gain[c] / (found.split[c] / whole)
            if ratio - best > TOLERANCE:
                best, at = ratio, c
    return at, best


@jit(inner=True)
def send(arena, item, columns, c, found, goes):
    """Write into ``goes`` the branch of each of the node's rows by the chosen column; returns the number of branches."""
    f, rows = columns.at[c], arena.rows[item[LOW] : item[HIGH]]
    if columns.number[c]:
        low, high = item[LISTS + 2 * f], item[LISTS + 2 * f + 1]
        for i in range(len(rows)):
            goes[rows[i]] = LOST
        for i in range(low, high):
            goes[arena.order[f, i]] = i - low > found.place[c]
        return 2
    bins = columns.offset[f + 1] - columns.offset[f] - 1
    for i in range(len(rows)):
        b = np.int64(columns.codes[rows[i], f])
        goes[rows[i]] = LOST if b == bins else b if columns.tests[f] == 0 else np.int64(b != found.place[c])
    return bins if columns.tests[f] == 0 else 2


@jit(inner=True)
def weigh(arena, item, objects, goes, below):
    """Add up what goes to each branch: float64[branches, ·] as a node's numbers; rows without a value in proportion to the others' weight.

    Returns the proportions, float64[branches].
    """
    lost, portion = np.zeros(below.shape[1]), np.zeros(len(below))
    below[:] = 0.0
    for i in range(item[LOW], item[HIGH]):
        r = arena.rows[i]
        into = lost if goes[r] == LOST else below[goes[r]]
        into[COUNT] += objects.count[r] * arena.share[i]
        into[WEIGHTS + objects.label[r]] += objects.weight[r] * arena.share[i]
    for v in range(len(below)):
        portion[v] = below[v, WEIGHTS:].sum()
    portion /= portion.sum()
    for v in range(len(below)):
        below[v] += lost * portion[v]
    return portion


class Bounds(NamedTuple):
    """Depth, and least number of rows, of a node that is divided."""

    depth: int
    rows: int


@jit(inner=True)
def is_leaf(numbers, depth, rule, bounds):
    """Whether a node is one before its tests are looked at: too light, of one class, of too few rows, or too deep."""
    total = numbers[WEIGHTS:].sum()
    light = total < 2.0 * rule.min_objects - TOLERANCE or np.rint(numbers[COUNT]) < bounds.rows
    return light or total - numbers[WEIGHTS:].max() < TOLERANCE or depth >= bounds.depth


@jit(inner=True)
def starts_of(rows, goes, stays, low, start):
    """Lay the open branches of a list one after the other from ``low`` on, the first branch last: start int64[branches] ← their places.

    Returns where they end.
    """
    start[:] = 0
    lost = 0
    for i in range(len(rows)):
        g = goes[rows[i]]
        if g == LOST:
            lost += 1
        else:
            start[g] += 1
    at = low
    for v in range(len(start) - 1, -1, -1):
        size = start[v] + lost if stays[v] else 0
        start[v] = at
        at += size
    return at


@jit(inner=True)
def move(rows, with_rows, goes, stays, portion, start, arena):
    """Copy a list (``with_rows``: its shares, or its values where ``portion`` is empty) to the branches, into the spare room."""
    for i in range(len(rows)):
        r = rows[i]
        g = goes[r]
        if g != LOST:
            if stays[g]:
                arena.spare_rows[start[g]] = r
                arena.spare[start[g]] = with_rows[i]
                start[g] += 1
        else:
            for v in range(len(stays)):
                if stays[v]:
                    arena.spare_rows[start[v]] = r
                    arena.spare[start[v]] = with_rows[i] * portion[v] if len(portion) else with_rows[i]
                    start[v] += 1


@jit(inner=True)
def hand_down(arena, item, goes, stays, portion, below):
    """Write the lists of the open branches over those of the node.   below : int64[branches, ·], the branches as open nodes."""
    start, none = np.empty(len(stays), np.int64), portion[:0]
    for f in range(-1, len(arena.order)):
        low, high = (item[LOW], item[HIGH]) if f < 0 else (item[LISTS + 2 * f], item[LISTS + 2 * f + 1])
        rows = arena.rows if f < 0 else arena.order[f]
        values = arena.share if f < 0 else arena.value[f]
        column = LOW if f < 0 else LISTS + 2 * f
        end = starts_of(rows[low:high], goes, stays, low, start)
        below[:, column] = start
        move(rows[low:high], values[low:high], goes, stays, portion if f < 0 else none, start, arena)
        below[:, column + 1] = start
        rows[low:end] = arena.spare_rows[low:end]
        values[low:end] = arena.spare[low:end]


@jit(inner=True)
def longer(array, size):
    """The same array with room for ``size`` rows."""
    wide = np.empty((size, array.shape[1]), array.dtype)
    wide[: len(array)] = array
    return wide


@jit(inner=True)
def roomier(arena, size):
    """The same arena with room for lists of ``size`` in all."""
    n, width = len(arena.rows), len(arena.order)
    rows, share = np.empty(size, np.int32), np.empty(size)
    order, value = np.empty((width, size), np.int32), np.empty((width, size))
    rows[:n], share[:n], order[:, :n], value[:, :n] = arena.rows, arena.share, arena.order, arena.value
    return Arena(rows, share, order, value, np.empty(size, np.int32), np.empty(size))


@jit(inner=True)
def needed(item, n_stay):
    """Size of the arena that the branches of a node need at most."""
    most = item[LOW] + n_stay * (item[HIGH] - item[LOW])
    for f in range(LISTS, len(item), 2):
        most = max(most, item[f] + n_stay * (item[f + 1] - item[f]))
    return most


@jit
def grow(arena, columns, objects, rule, scratch, root, bounds):
    """Grow a tree from its root: int64[1, ·] as an open node.   Returns (int64[nodes, 4], float64[nodes, ·]) in preorder."""
    classes, n_columns = len(scratch.first), len(columns.at)
    found = Found(np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns, np.int64), np.zeros(n_columns), np.zeros(n_columns, np.bool_))
    waiting, carried = longer(root, 64), np.zeros((64, WEIGHTS + classes))
    whole_of, real_of = np.empty((1024, 4), np.int64), np.empty((1024, WEIGHTS + classes))
    pair, n, top = np.zeros((2, classes)), 0, 1
    everything = np.zeros((1, WEIGHTS + classes))
    scratch.goes[:] = 0
    weigh(arena, root[0], objects, scratch.goes, everything)
    carried[0] = everything[0]
    waiting[0, LEAF] = is_leaf(carried[0], 0, rule, bounds)
    while top > 0:
        top -= 1
        if n == len(whole_of):
            whole_of, real_of = longer(whole_of, 2 * n), longer(real_of, 2 * n)
        item, weights = waiting[top].copy(), carried[top, WEIGHTS:].copy()
        whole_of[n], real_of[n] = -1, carried[top]
        whole_of[n, ABOVE], whole_of[n, OUTCOME], real_of[n, CUT], real_of[n, SCORE] = item[PARENT], item[BRANCH], np.nan, np.nan
        n += 1
        if item[LEAF]:
            continue
        if len(objects.xlogs) == 0:
            for i in range(item[LOW], item[HIGH]):
                scratch.own[arena.rows[i]] = objects.weight[arena.rows[i]] * arena.share[i]
        whole = weights.sum()
        look(arena, item, columns, objects, whole, rule, scratch, found, pair)
        c, ratio = choose(found, columns.in_average, whole, rule)
        if c < 0:
            continue
        whole_of[n - 1, COLUMN], real_of[n - 1, SCORE] = c, ratio
        whole_of[n - 1, BIN], real_of[n - 1, CUT] = found.place[c], found.cut[c]
        branches = send(arena, item, columns, c, found, scratch.goes)
        below, numbers = np.zeros((branches, len(item)), np.int64), np.empty((branches, WEIGHTS + classes))
        portion = weigh(arena, item, objects, scratch.goes, numbers)
        stays = np.zeros(branches, np.bool_)
        for v in range(branches):
            below[v, PARENT], below[v, BRANCH], below[v, DEPTH] = n - 1, v, item[DEPTH] + 1
            below[v, LEAF] = is_leaf(numbers[v], item[DEPTH] + 1, rule, bounds)
            stays[v] = not below[v, LEAF]
        if stays.any():
            most = needed(item, stays.sum() if len(objects.xlogs) == 0 else 1)
            if most > len(arena.rows):
                arena = roomier(arena, max(most, 2 * len(arena.rows)))
            hand_down(arena, item, scratch.goes, stays, portion, below)
        if top + branches > len(waiting):
            waiting, carried = longer(waiting, 2 * (top + branches)), longer(carried, 2 * (top + branches))
        for v in range(branches - 1, -1, -1):
            if portion[v] > 0.0:
                waiting[top], carried[top] = below[v], numbers[v]
                top += 1
    return whole_of[:n].copy(), real_of[:n].copy()
