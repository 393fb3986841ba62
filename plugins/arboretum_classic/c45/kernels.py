"""C4.5's growth in one kernel; its twin is the criterion in ``criterion.py``, asked node by node by
the framework's loop (Quinlan 1993; the charge for a choice among cuts: Quinlan 1996).

Nodes are taken depth first, first branch first, so that they come out in preorder::

    while nodes are open, the last of them next:
        write it; if it is a leaf: next
        for each column: its best test
            number: of all cuts of its run the one of highest gain, less log2(cuts) / W with ``mdl``
            nominal: the test with a branch per value, or the "value k or not" of the highest ratio
        average ← mean gain of the usable tests of the columns that count in it
        choose, among tests of at least that gain (``average_gain``), the highest W · gain / split
        if there is none: it stays a leaf; next
        goes ← the branch of each row, LOST without a value of the chosen test
        W_v ← weight of the rows in branch v, and K_v / K of the weight of the LOST rows
        write the rows and runs of the open branches over those of the node, and open the branches

| name | meaning |
|---|---|
| W, K | weight of the node, of its rows with a value |
| xlog(x) | x log2 x |
| least | weight that either side of a cut has to have |
| gain | (K/W) · [H(known) − Σ_v K_v/K · H(v)], in bits |
| split | W times the split information; the rows without a value are a branch of their own |

Invariants:

- An open node's rows and shares lie in [LOW, HIGH) of the pool, each row at most once; the run of a
  number begins at LOW, too, and holds its rows with a value, by ascending rank (see
  :mod:`arboretum.kernels.runs`).  An entry of a run names a row by its place at the node.
- Open nodes lie in the pool in the order of the stack: what lies behind the last belongs to none.
  Branches begin at their node's LOW, the first one last.  A LOST row is in every open branch,
  behind its other rows, so that the branches can be longer than the node was.  Before they are
  written the pool has a place more than they need, as ``pick`` writes ahead.
- ``own``, ``goes`` and ``place`` go by a row's place at the node and hold for the node at hand.
- Leaves have neither rows nor runs: what they weigh is carried beside the stack.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.runs import CLASS, OBJECT, TO_CLASS, TO_RANK, separated
from arboretum_classic.c45.criterion import MOST_OBJECTS, SLACK, TOLERANCE

LOST = -1  # in ``goes``: the row has no value
# columns of an open node; from KNOWN on, the length of each number's run
LOW, HIGH, PARENT, BRANCH, DEPTH, LEAF, KNOWN = range(7)
# whole numbers of a node: its test (column −1 at a leaf), and where it hangs
COLUMN, BIN, ABOVE, OUTCOME = range(4)
CUT, SCORE, COUNT, WEIGHTS = range(4)  # the others; from WEIGHTS on, those of the classes
ROUNDED = 1e-3  # bits by which bounds are taken too high: weights below TOLERANCE count as none

Columns = namedtuple("Columns", "number at in_average codes offset tests")
"""The columns that tests read, in the order of the table. number, at : bool[c], int64[c], whether
it is a number, and its place among those of its sort.

in_average : bool[c]. codes : uint[n, nominal], a value's bin, the number of bins without a value.
offset : int64[nominal + 1], bins of each, one more than it has values.
tests : int64[nominal], 0: one with a branch per value, else so many "value k or not".
"""

Objects = namedtuple("Objects", "label weight count logs distinct reach close")
"""label, weight, count : of each row; weight is empty where all weigh 1 and count once.

logs : log2 of 0 … n (0 of 0) where that holds and no value is missing, else empty.
distinct, reach : [numbers, n], close : bool[numbers], of ``rank_columns``.
"""

Pool = namedtuple("Pool", "who share runs spare spare_share")
"""who, share : int32[size], float64[size].

runs : uint64[numbers, size].
spare, spare_share : for moving them.
"""

Found = namedtuple("Found", "gain split place cut usable")
"""Of each column its best test: gain (less the charge), split information · W, bin or position
of the cut, cut; and whether it has one.
"""

Scratch = namedtuple("Scratch", "own goes place to bins left total slope")
"""own, goes, place : float64, int16, int32[n], of each row of the node its weight, its branch, and
its place there. to : int32[open branches, n], the same branch by branch (see :func:`pick`), where
there are no more. bins : float64[bins, classes].

left, total, slope : float64[classes].
"""


@jit(inline=True, borrow=True)
def log(x, logs):
    """log2 of a weight in bits; 0 below TOLERANCE.

    logs : of :class:`Objects`: where it is not empty all rows weigh 1, and log2 of ``x``, rounded
        to a whole number, is looked up.
    """
    if len(logs) > 0:
        return logs[np.uintp(x + 0.5)]
    return np.log2(x) if x >= TOLERANCE else 0.0


@jit(inline=True, borrow=True)
def xlog(x, logs):
    """x log2 x of a weight x, by :func:`log`; 0 where x is 0."""
    return x * log(x, logs)


@jit(inner=True, borrow=True)
def gain_of(without, within, known, whole):
    """Gain in bits from K times the entropy of the known rows without and within the branches."""
    numerator = known / whole * (without - within)
    return numerator / known if abs(numerator) >= TOLERANCE else 0.0


@jit(inner=True, borrow=True)
def split_of(branches, known, whole, logs):
    """W times the split information; rows without a value are a branch of their own.

    branches : Σ xlog(W_v).
    """
    return xlog(whole, logs) - branches - xlog(whole - known, logs)


@jit(inner=True, borrow=True)
def many_way(bins, whole, rule, logs):
    """(gain, split, usable) of the test with a branch per bin.

    bins : float64[bins, classes], of the rows with a value.
    """
    known, within, branches, heavy, without = 0.0, 0.0, 0.0, 0, 0.0
    for b in range(len(bins)):
        mass = 0.0
        for k in range(bins.shape[1]):
            mass += bins[b, k]
            within -= xlog(bins[b, k], logs)
        known += mass
        branches += xlog(mass, logs)
        heavy += mass > rule.min_objects - TOLERANCE
    if heavy < 2:
        return 0.0, 0.0, False
    for k in range(bins.shape[1]):
        mass = 0.0
        for b in range(len(bins)):
            mass += bins[b, k]
        without -= xlog(mass, logs)
    gain = gain_of(without + xlog(known, logs), within + branches, known, whole)
    return gain, split_of(branches, known, whole, logs), True


@jit(inner=True, borrow=True)
def one_value(bins, n_tests, whole, rule, logs, pair):
    """(gain, split, bin, usable) of the best test "value k or not", by its ratio.

    pair : float64[2, classes], scratch.
    """
    best, kept, at = 0.0, (0.0, 0.0), -1
    for b in range(n_tests):
        for k in range(bins.shape[1]):
            pair[0, k], pair[1, k] = bins[b, k], -bins[b, k]
            for other in range(len(bins)):
                pair[1, k] += bins[other, k]
        gain, split, usable = many_way(pair, whole, rule, logs)
        if usable:
            ratio = gain / (split / whole) if split >= TOLERANCE else 0.0
            if at < 0 or ratio - best > TOLERANCE:
                at, kept, best = b, (gain, split), max(ratio, 0.0)
    return kept[0], kept[1], at, at >= 0


@jit(inline=True, borrow=True)
def weight_of(entry, own, unit):
    """Weight at the node of the row that an entry of a run names; 1 where ``unit``.

    own : float64[n], the weights of the node's rows by their place there; not read where ``unit``.
    """
    return 1.0 if unit else own[entry & OBJECT]


@jit(inner=True, borrow=True)
def best_cut(run, reach, close, logs, whole, rule, scratch):
    """(gain, split, position, cuts) of the best cut of a run; position −1 where none can be used.

    Cuts that cannot gain more than the best, or than their choice will be charged, are passed over.
    As rows of class k move to the left, W · gain rises per unit of weight by log2(left_k/left ·
    right/right_k): scratch.slope holds a bound of it until as much has moved as there is room, in
    bits; it is at least 1, so that no more than that moves; and −log2 x is on average 1/ln 2 more
    on 0 … x than at x.
    """
    own, left, total, slope, unit = (
        scratch.own,
        scratch.left,
        scratch.total,
        scratch.slope,
        len(logs) > 0,
    )
    known, without, low, high, first, last, cuts = 0.0, 0.0, 0.0, 0.0, -1, len(run) - 1, 0
    for k in range(len(total)):
        left[k], total[k], slope[k] = 0.0, 0.0, 0.0
    if len(run) % 2:
        total[run[-1] >> TO_CLASS & CLASS] += weight_of(run[-1], own, unit)
    # numba knows no strict
    for one, other in zip(run[: len(run) // 2], run[len(run) // 2 :]):  # noqa: B905
        total[one >> TO_CLASS & CLASS] += weight_of(one, own, unit)
        slope[other >> TO_CLASS & CLASS] += weight_of(other, own, unit)
    for k in range(len(total)):
        total[k] += slope[k]
        known += total[k]
        without -= xlog(total[k], logs)
    without += xlog(known, logs)
    least = known / (10.0 * len(total))
    least = (
        min(least, MOST_OBJECTS)
        if rule.scaled and least - rule.min_objects >= TOLERANCE
        else rule.min_objects
    ) - TOLERANCE
    while low <= least and first < last:  # to the first cut with enough on its left
        first += 1
        mass = weight_of(run[first], own, unit)
        left[run[first] >> TO_CLASS & CLASS] += mass
        low += mass
    while high <= least and first <= last:  # back to the last one with enough on its right
        high += weight_of(run[last], own, unit)
        last -= 1
    before = run[first]
    for entry in run[first + 1 : last + 2]:
        cuts += (
            separated(before, entry, reach, True)
            if close
            else np.int64(entry >> TO_RANK != before >> TO_RANK)
        )
        before = entry
    charge = np.log2(cuts) if rule.mdl and cuts > 0 else 0.0
    if cuts == 0 or without - charge < 0.0:
        return 0.0, 0.0, -1, cuts
    best, at, low_at, risen, room = 0.0, -1, 0.0, 0.0, -1.0
    for i in range(first, last + 1):
        if i > first:
            entry = run[np.uintp(i)]
            k = entry >> TO_CLASS & CLASS
            mass = weight_of(entry, own, unit)
            left[k] += mass
            risen += mass * slope[k]
        if risen > room:
            inside, low, risen = 0.0, 0.0, 0.0
            for k in range(len(total)):
                inside += xlog(left[k], logs) + xlog(total[k] - left[k], logs)
                low += left[k]
            within = xlog(low, logs) + xlog(known - low, logs) - inside
            gain = gain_of(without, within, known, whole)
            if gain - best > TOLERANCE and separated(run[i], run[i + 1], reach, close):
                best, at, low_at = gain, i, low
            room = max(best * whole, charge) - (without - within) - ROUNDED
            most = max(room, 0.0)
            for k in range(len(total)):
                right = max(total[k] - left[k] - most, (total[k] - left[k]) / np.e, TOLERANCE)
                slope[k] = max(
                    np.log2((known - low) * (left[k] + most) / ((low + most) * right)), 1.0
                )
    split = split_of(xlog(low_at, logs) + xlog(known - low_at, logs), known, whole, logs)
    return best, split, at, cuts


@jit(inner=True, borrow=True)
def count_bins(who, columns, objects, scratch):
    """Add up the classes by bin of all nominal columns, in one pass over the rows."""
    bins, codes, offset, unit = scratch.bins, columns.codes, columns.offset, len(objects.logs) > 0
    bins[:] = 0.0
    for e in range(len(who)):
        r = np.uintp(who[e])
        k = np.uintp(objects.label[r])
        mass = 1.0 if unit else scratch.own[e]
        for f in range(codes.shape[1]):
            bins[np.uintp(offset[f]) + np.uintp(codes[r, f]), k] += mass


@jit(inner=True, borrow=True)
def best_tests(pool, item, columns, objects, whole, rule, scratch, found, pair):
    """Find the best test of each column at a node.   item : int64[·], the open node."""
    low, logs = item[LOW], objects.logs
    for e in range(item[HIGH] - low if len(logs) == 0 else 0):
        scratch.own[e] = pool.share[low + e] * (
            objects.weight[pool.who[low + e]] if len(objects.weight) else 1.0
        )
    if len(columns.tests):
        count_bins(pool.who[low : item[HIGH]], columns, objects, scratch)
    for c in range(len(columns.at)):
        f = columns.at[c]
        found.usable[c] = False
        if columns.number[c]:
            if item[KNOWN + f] < 2:
                continue
            run, value = pool.runs[f, low : low + item[KNOWN + f]], objects.distinct[f]
            gain, split, at, cuts = best_cut(
                run, objects.reach[f], objects.close[f], logs, whole, rule, scratch
            )
            if at < 0:
                continue
            if rule.mdl:
                gain -= np.log2(cuts) / whole
            below, above = value[run[at] >> TO_RANK], value[run[at + 1] >> TO_RANK]
            middle = (below + above) / 2.0
            found.cut[c] = below if middle == above else middle
            found.gain[c], found.split[c], found.place[c], found.usable[c] = (
                gain,
                split,
                at,
                gain >= TOLERANCE,
            )
        else:
            bins, n_tests = (
                scratch.bins[columns.offset[f] : columns.offset[f + 1] - 1],
                columns.tests[f],
            )
            if n_tests == 0:
                found.gain[c], found.split[c], found.usable[c] = many_way(bins, whole, rule, logs)
            else:
                found.gain[c], found.split[c], found.place[c], found.usable[c] = one_value(
                    bins, n_tests, whole, rule, logs, pair
                )


@jit(inner=True, borrow=True)
def choose(found, in_average, whole, rule):
    """(column, ratio) of the node's test, (−1, 0) without any: the best ratio of the tests whose
    gain is not below the average.
    """
    total, n = 0.0, 0
    for c in range(len(in_average)):
        if found.usable[c] and in_average[c]:
            total += found.gain[c]
            n += 1
    if n == 0:
        return -1, 0.0
    best, least, trivial, at = (
        0.0,
        total / n - SLACK if rule.average_gain else -np.inf,
        TOLERANCE,
        -1,
    )
    if rule.zero_gain:
        best, trivial = -SLACK, SLACK * whole
    for c in range(len(in_average)):
        if found.usable[c] and found.gain[c] >= least and found.split[c] >= trivial:
            ratio = found.gain[c] / (found.split[c] / whole)
            if ratio - best > TOLERANCE:
                best, at = ratio, c
    return at, best


@jit(inner=True, borrow=True)
def send(pool, item, columns, c, found, goes):
    """Write into ``goes`` the branch of each of the node's rows by the chosen column; returns
    the number of branches.
    """
    f, who = columns.at[c], pool.who[item[LOW] : item[HIGH]]
    if columns.number[c]:
        goes[: len(who)] = LOST
        run = pool.runs[f, item[LOW] : item[LOW] + item[KNOWN + f]]
        for i in range(len(run)):
            goes[run[i] & OBJECT] = i > found.place[c]
        return 2
    bins = columns.offset[f + 1] - columns.offset[f] - 1
    for e in range(len(who)):
        b = np.int64(columns.codes[who[e], f])
        goes[e] = (
            LOST if b == bins else b if columns.tests[f] == 0 else np.int64(b != found.place[c])
        )
    return bins if columns.tests[f] == 0 else 2


@jit(inner=True, borrow=True)
def weigh(pool, item, objects, goes, numbers, portion):
    """Add up what goes to each branch; rows without a value in proportion to the others' weight.

    numbers : float64[branches + 1, ·], receives a node's numbers of each branch, last of the rows
        without a value.
    portion : float64[branches], receives the proportions.
    """
    numbers[:] = 0.0
    known, lost = 0.0, len(portion)
    for e in range(item[HIGH] - item[LOW]):
        r, share = np.uintp(pool.who[item[LOW] + e]), pool.share[item[LOW] + e]
        v = np.int64(goes[e]) if goes[e] != LOST else lost
        numbers[v, COUNT] += share * (objects.count[r] if len(objects.weight) else 1.0)
        numbers[v, WEIGHTS + objects.label[r]] += share * (
            objects.weight[r] if len(objects.weight) else 1.0
        )
    for v in range(lost):
        portion[v] = 0.0
        for k in range(WEIGHTS, numbers.shape[1]):
            portion[v] += numbers[v, k]
        known += portion[v]
    for v in range(lost):
        portion[v] /= known
        for k in range(numbers.shape[1]):
            numbers[v, k] += numbers[lost, k] * portion[v]


Bounds = namedtuple("Bounds", "depth rows")
"""Depth, and least number of rows, of a node that is divided."""


@jit(inner=True)
def is_leaf(numbers, depth, rule, bounds):
    """Whether a node is one before its tests are looked at: too light, of one class, of too few
    rows, or too deep.
    """
    total = numbers[WEIGHTS:].sum()
    light = total < 2.0 * rule.min_objects - TOLERANCE or np.rint(numbers[COUNT]) < bounds.rows
    return light or total - numbers[WEIGHTS:].max() < TOLERANCE or depth >= bounds.depth


@jit(inner=True, borrow=True)
def lay_out(item, scratch, size, below):
    """Give each row its place in its branch, and each open branch its segment; rows without a value
    come behind the others.

    size : int64[branches + 1], receives the rows of each branch, last those without a value.
        Returns where the segments end.
    """
    size[:] = 0
    for e in range(item[HIGH] - item[LOW]):
        v = scratch.goes[e] if scratch.goes[e] != LOST else len(below)
        scratch.place[e] = size[v]
        size[v] += 1
    end = item[LOW]
    for v in range(len(below) - 1, -1, -1):
        below[v, LOW] = end
        end += 0 if below[v, LEAF] else size[v] + size[len(below)]
        below[v, HIGH] = end
    return end


@jit(inner=True, borrow=True)
def hand_down(pool, item, scratch, size, portion, ends, below):
    """Write the rows and runs of the open branches over those of the node.

    below : int64[branches, ·], the branches as open nodes.

    ends : int64[branches], scratch.
    size : of :func:`lay_out`.
    """
    goes, place, spare, share, low = (
        scratch.goes,
        scratch.place,
        pool.spare,
        pool.spare_share,
        item[LOW],
    )
    for e in range(item[HIGH] - low):
        if goes[e] != LOST and not below[goes[e], LEAF]:
            at = below[goes[e], LOW] + place[e]
            spare[at], share[at] = pool.who[low + e], pool.share[low + e]
        for v in range(len(below) if goes[e] == LOST else 0):
            if not below[v, LEAF]:
                at = below[v, LOW] + size[v] + place[e]
                spare[at], share[at] = pool.who[low + e], pool.share[low + e] * portion[v]
    for v in range(len(below)):
        copy(spare[below[v, LOW] : below[v, HIGH]], pool.who[below[v, LOW] : below[v, HIGH]])
        copy(share[below[v, LOW] : below[v, HIGH]], pool.share[below[v, LOW] : below[v, HIGH]])
    n_open = 0
    for v in range(len(below) - 1, -1, -1):
        if not below[v, LEAF] and n_open < len(scratch.to):
            to, behind = scratch.to[n_open], np.int32(size[v])
            for e in range(item[HIGH] - low):
                to[e] = place[e] + behind if goes[e] == LOST else place[e] if goes[e] == v else -1
        n_open += not below[v, LEAF]
    for f in range(len(pool.runs)):
        run, nth = pool.runs[f], 0
        whole = run[low : low + item[KNOWN + f]]
        if n_open <= len(scratch.to):
            for v in range(len(below) - 1, -1, -1):
                ends[v] = below[v, LOW]
                if not below[v, LEAF]:
                    ends[v] += pick(whole, scratch.to[nth], spare[below[v, LOW] :])
                    nth += 1
        else:
            deal(whole, size, ends, below, scratch, spare)
        for v in range(len(below)):
            below[v, KNOWN + f] = ends[v] - below[v, LOW]
            copy(spare[below[v, LOW] : ends[v]], run[below[v, LOW] : ends[v]])


@jit(inline=True, borrow=True)
def copy(source, out):
    """Where places are known not to be negative many are copied at once."""
    for i in range(len(out)):
        out[i] = source[i]


@jit(inner=True, borrow=True)
def pick(run, to, out):
    """Copy the entries of one branch; return how many.

    to : int32[·], of each row its place in the branch, −1 where it is not there.

    No jump depends on the row: ``out[n]`` is written at any rate, and kept if it belongs there.
    """
    n = np.uintp(0)
    for entry in run:
        place = to[entry & OBJECT]
        out[n] = entry & ~OBJECT | np.uint64(place)
        n += np.uintp(place >= 0)
    return np.int64(n)


@jit(inner=True, borrow=True)
def deal(run, size, ends, below, scratch, spare):
    """Copy the entries of a run to all open branches in one pass, however many.

    ends : int64[branches], receives where they end.
    """
    for v in range(len(below)):
        ends[v] = below[v, LOW]
    for entry in run:
        g, place, entry = (
            scratch.goes[entry & OBJECT],
            np.uint64(scratch.place[entry & OBJECT]),
            entry & ~OBJECT,
        )
        if g != LOST:
            if not below[g, LEAF]:
                spare[ends[g]] = entry | place
                ends[g] += 1
        else:
            for v in range(len(below)):
                if not below[v, LEAF]:
                    spare[ends[v]] = entry | place + np.uint64(size[v])
                    ends[v] += 1


@jit(inner=True)
def longer(array, size):
    """The same array with room for ``size`` rows."""
    wide = np.empty((size, array.shape[1]), array.dtype)
    wide[: len(array)] = array
    return wide


@jit(inner=True)
def roomier(pool, size):
    """The same pool with room for ``size`` rows in all."""
    n, width = pool.runs.shape[1], len(pool.runs)
    who, share, runs = np.empty(size, np.int32), np.empty(size), np.empty((width, size), np.uint64)
    who[:n], share[:n], runs[:, :n] = pool.who, pool.share, pool.runs
    return Pool(who, share, runs, np.empty(size, np.uint64), np.empty(size))


@jit
def grow(pool, columns, objects, rule, scratch, root, bounds):
    """Grow a tree from its root: int64[1, ·] as an open node.   Returns (int64[nodes, 4],
    float64[nodes, ·]) in preorder.
    """
    classes, c = len(scratch.left), len(columns.at)
    found = Found(
        np.zeros(c), np.zeros(c), np.zeros(c, np.int64), np.zeros(c), np.zeros(c, np.bool_)
    )
    waiting, carried = longer(root, 64), np.zeros((64, WEIGHTS + classes))
    whole_of, real_of = np.empty((1024, 4), np.int64), np.empty((1024, WEIGHTS + classes))
    pair, n, top = np.zeros((2, classes)), 0, 1
    everything = np.zeros((2, WEIGHTS + classes))
    scratch.goes[: len(pool.who)] = 0
    weigh(pool, root[0], objects, scratch.goes, everything, np.empty(1))
    carried[0] = everything[0]
    waiting[0, LEAF] = is_leaf(carried[0], 0, rule, bounds)
    while top > 0:
        top -= 1
        if n == len(whole_of):
            whole_of, real_of = longer(whole_of, 2 * n), longer(real_of, 2 * n)
        item, weights = waiting[top].copy(), carried[top, WEIGHTS:].copy()
        whole_of[n], real_of[n] = -1, carried[top]
        whole_of[n, ABOVE], whole_of[n, OUTCOME], real_of[n, CUT], real_of[n, SCORE] = (
            item[PARENT],
            item[BRANCH],
            np.nan,
            np.nan,
        )
        n += 1
        if item[LEAF]:
            continue
        whole = weights.sum()
        best_tests(pool, item, columns, objects, whole, rule, scratch, found, pair)
        c, ratio = choose(found, columns.in_average, whole, rule)
        if c < 0:
            continue
        whole_of[n - 1, COLUMN], real_of[n - 1, SCORE] = c, ratio
        whole_of[n - 1, BIN], real_of[n - 1, CUT] = found.place[c], found.cut[c]
        branches = send(pool, item, columns, c, found, scratch.goes)
        below, numbers, portion = (
            np.zeros((branches, len(item)), np.int64),
            np.empty((branches + 1, WEIGHTS + classes)),
            np.empty(branches),
        )
        weigh(pool, item, objects, scratch.goes, numbers, portion)
        for v in range(branches):
            below[v, PARENT], below[v, BRANCH], below[v, DEPTH] = n - 1, v, item[DEPTH] + 1
            below[v, LEAF] = is_leaf(numbers[v], item[DEPTH] + 1, rule, bounds)
        size = np.empty(branches + 1, np.int64)
        end = lay_out(item, scratch, size, below)
        if end > item[LOW]:
            if end >= len(pool.who):
                pool = roomier(pool, 2 * end)
            hand_down(pool, item, scratch, size, portion, np.empty(branches, np.int64), below)
        if top + branches > len(waiting):
            waiting, carried = (
                longer(waiting, 2 * (top + branches)),
                longer(carried, 2 * (top + branches)),
            )
        for v in range(branches - 1, -1, -1):
            if portion[v] > 0.0:
                waiting[top], carried[top] = below[v], numbers[v]
                top += 1
    return whole_of[:n].copy(), real_of[:n].copy()
