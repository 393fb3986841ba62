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

- An open node's rows and shares lie in [low, high) of the pool, each row at most once; the run of a
  number begins at ``low``, too, and holds its rows with a value, by ascending rank (see
  :mod:`arboretum.kernels.runs`).  An entry of a run names a row by its place at the node.
- Open nodes lie in the pool in the order of the stack: what lies behind the last belongs to none.
  Branches begin at their node's ``low``, the first one last.  A LOST row is in every open branch,
  behind its other rows, so that the branches can be longer than the node was.  Before they are
  written the pool has a place more than they need, as ``copy_branch`` writes ahead.
- ``own``, ``goes`` and ``place`` go by a row's place at the node and hold for the node at hand.
- Leaves have neither rows nor runs: what they weigh stands on the stack.
"""

from collections import namedtuple

import numpy as np

from arboretum.api import NO_OUTCOME as LOST
from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.runs import CLASS, OBJECT, TO_CLASS, TO_RANK, separated
from arboretum_classic.c45.criterion import MOST_OBJECTS, SLACK, TOLERANCE

ROUNDED = 1e-3  # bits by which bounds are taken too high: weights below TOLERANCE count as none

NODE = np.dtype(
    [
        ("column", np.int64),  # of its test, −1 at a leaf
        ("bin", np.int64),  # of "value k or not" that value; of a number the place of the cut
        ("above", np.int64),  # the node that it hangs below, −1 at the root
        ("outcome", np.int64),  # of that node's test
        ("cut", np.float64),  # of a number; NaN at a leaf
        ("score", np.float64),  # NaN at a leaf
        ("count", np.float64),  # shares of its rows, each as often as it counts
    ],
    align=True,
)
"""A node of the tree."""

OPEN = np.dtype(
    [
        ("low", np.int64),  # where its rows lie in the pool
        ("high", np.int64),
        ("parent", np.int64),  # as ``above`` and ``outcome`` of a node
        ("branch", np.int64),
        ("depth", np.int64),  # tests above it
        ("leaf", np.int64),  # 1: it is one, whatever its tests are
        ("count", np.float64),  # as of a node
        ("portion", np.float64),  # K_v / K
    ],
    align=True,
)
"""A node that waits for its test."""

Open = namedtuple("Open", "node known weights")
"""Nodes that wait: OPEN[·]; int64[·, numbers], lengths of their runs; float64[·, classes].

A node's branches are such, too, and behind them, as the last one, its rows without a value.
"""

Columns = namedtuple("Columns", "number at in_average codes offset tests")
"""The columns that tests read, in the order of the table.

number, at : bool[c], int64[c], whether it is a number, and its place among those of its sort.
in_average : bool[c].
codes : uint[n, nominal], a value's bin, the number of bins without a value.
offset : int64[nominal + 1], bins of each, one more than it has values.
tests : int64[nominal], 0: one with a branch per value, else so many "value k or not".
"""

Objects = namedtuple("Objects", "label weight count logs distinct reach close")
"""label, weight, count : of each row; weight is empty where all weigh 1 and count once.

logs : log2 of 0 … n (0 of 0) where that holds and no value is missing, else empty.
distinct, reach, close : [numbers, n] twice, bool[numbers], of ``rank_columns``.
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

C45Scratch = namedtuple("C45Scratch", "own goes place to bins left total slope")
"""own, goes, place : float64, int16, int32[n], of each row of the node its weight, its branch, and
    its place there.
to : int32[open branches, n], the same branch by branch (see :func:`copy_branch`), where there are
    no more.
bins : float64[bins, classes].
left, total, slope : float64[classes].
"""


@inline
def log(x, logs):
    """log2 of a weight in bits; 0 below TOLERANCE.

    logs : of :class:`Objects`: where it is not empty all rows weigh 1, and log2 of ``x``, rounded
        to a whole number, is looked up.
    """
    if len(logs) > 0:
        return logs[np.uintp(x + 0.5)]
    return np.log2(x) if x >= TOLERANCE else 0.0


@inline
def xlog(x, logs):
    """x log2 x of a weight x, by :func:`log`; 0 where x is 0."""
    return x * log(x, logs)


@inner
def gain_of(without, within, known, whole):
    """Return the gain in bits from K times the entropy of the known rows without and within the
    branches.

    known, whole : K and W, weights of the node's rows with a value, and of all.
    """
    numerator = known / whole * (without - within)
    return numerator / known if abs(numerator) >= TOLERANCE else 0.0


@inner
def split_of(branches, known, whole, logs):
    """Return W times the split information in bits; rows without a value are a branch of their own.

    branches : Σ xlog(W_v).
    known, whole : K and W.
    logs : see ``xlog``.
    """
    return xlog(whole, logs) - branches - xlog(whole - known, logs)


@inner
def score_multiway_test(bins, whole, rule, logs):
    """Return (gain in bits, W times split information, whether two branches are heavy enough) of
    the test with a branch per bin.

    bins : float64[bins, classes], of the rows with a value.
    whole : W, of all rows of the node.
    rule, logs : Rule; see ``xlog``.
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


@inner
def best_one_value_test(bins, n_tests, whole, rule, logs, pair):
    """Return (gain, split, bin, usable) of the best test "value k or not", by its ratio; bin −1
    where none is usable.

    bins : float64[bins, classes], of which the first n_tests have a test.
    whole, rule, logs : as in :func:`score_multiway_test`.
    pair : float64[2, classes], scratch.
    """
    best, kept, at = 0.0, (0.0, 0.0), -1
    for b in range(n_tests):
        for k in range(bins.shape[1]):
            pair[0, k], pair[1, k] = bins[b, k], -bins[b, k]
            for other in range(len(bins)):
                pair[1, k] += bins[other, k]
        gain, split, usable = score_multiway_test(pair, whole, rule, logs)
        if usable:
            ratio = gain / (split / whole) if split >= TOLERANCE else 0.0
            if at < 0 or ratio - best > TOLERANCE:
                at, kept, best = b, (gain, split), max(ratio, 0.0)
    return kept[0], kept[1], at, at >= 0


@inline
def weight_of(entry, own, unit):
    """Return the weight at the node of the row that an entry of a run names; 1 where ``unit``.

    own : float64[n], the weights of the node's rows by their place there; not read where ``unit``.
    """
    return 1.0 if unit else own[entry & OBJECT]


@inner
def best_cut(run, reach, close, logs, whole, rule, scratch):
    """Return (gain, split, position, cuts) of the best cut of a run; position −1 where none can be
    used.

    run : uint64[known], the node's entries with a value, ascending.
    reach, close : which neighbours are separated, see :mod:`arboretum.kernels.runs`.
    whole, rule, logs : as in :func:`score_multiway_test`.
    scratch : ``own`` is read; ``left``, ``total`` and ``slope`` are overwritten.

    Cuts that cannot gain more than the best, or than their choice will be charged, are passed over.
    As rows of class k move to the left, W · gain rises per unit of weight by log2(left_k/left ·
    right/right_k): scratch.slope holds a bound of it until as much has moved as there is room, in
    bits; it is at least 1, so that no more than that moves; and −log2 x is on average 1/ln 2 more
    on 0 … x than at x.
    """
    own = scratch.own
    left = scratch.left
    total = scratch.total
    slope = scratch.slope
    unit = len(logs) > 0
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


@inner
def count_bins(who, columns, objects, scratch):
    """Add up the classes by bin of all nominal columns, in one pass over the rows, into
    ``scratch.bins``.

    who : int32[m], the node's rows.
    scratch : ``own`` holds what each weighs, unless all weigh 1.
    """
    bins, codes, offset, unit = scratch.bins, columns.codes, columns.offset, len(objects.logs) > 0
    bins[:] = 0.0
    for e in range(len(who)):
        r = np.uintp(who[e])
        k = np.uintp(objects.label[r])
        mass = 1.0 if unit else scratch.own[e]
        for f in range(codes.shape[1]):
            bins[np.uintp(offset[f]) + np.uintp(codes[r, f]), k] += mass


@inner
def best_tests(pool, node, known, columns, objects, whole, rule, scratch, found, pair):
    """Find the best test of each column at a node, and write it to ``found``.

    known : int64[numbers], of ``Open``: how many entries of each run have a value.
    whole : W, the node's weight.
    pair : float64[2, classes], scratch; ``scratch`` is overwritten.
    """
    low, logs = node.low, objects.logs
    for e in range(node.high - low if len(logs) == 0 else 0):
        scratch.own[e] = pool.share[low + e] * (
            objects.weight[pool.who[low + e]] if len(objects.weight) else 1.0
        )
    if len(columns.tests):
        count_bins(pool.who[low : node.high], columns, objects, scratch)
    for c in range(len(columns.at)):
        f = columns.at[c]
        found.usable[c] = False
        if columns.number[c]:
            if known[f] < 2:
                continue
            run, value = pool.runs[f, low : low + known[f]], objects.distinct[f]
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
            found.gain[c] = gain
            found.split[c] = split
            found.place[c] = at
            found.usable[c] = gain >= TOLERANCE
        else:
            bins = scratch.bins[columns.offset[f] : columns.offset[f + 1] - 1]
            n_tests = columns.tests[f]
            if n_tests == 0:
                found.gain[c], found.split[c], found.usable[c] = score_multiway_test(
                    bins, whole, rule, logs
                )
            else:
                found.gain[c], found.split[c], found.place[c], found.usable[c] = (
                    best_one_value_test(bins, n_tests, whole, rule, logs, pair)
                )


@inner
def choose_column(found, in_average, whole, rule):
    """Return (column, ratio) of the node's test, (−1, 0) without any: the best ratio of the tests
    whose gain is not below the average.
    """
    total, n = 0.0, 0
    for c in range(len(in_average)):
        if found.usable[c] and in_average[c]:
            total += found.gain[c]
            n += 1
    if n == 0:
        return -1, 0.0
    best = 0.0
    least = total / n - SLACK if rule.average_gain else -np.inf
    trivial = TOLERANCE
    at = -1
    if rule.zero_gain:
        best, trivial = -SLACK, SLACK * whole
    for c in range(len(in_average)):
        if found.usable[c] and found.gain[c] >= least and found.split[c] >= trivial:
            ratio = found.gain[c] / (found.split[c] / whole)
            if ratio - best > TOLERANCE:
                best, at = ratio, c
    return at, best


@inner
def send_rows(pool, node, known, columns, c, found, goes):
    """Write into ``goes`` the branch of each of the node's rows by the chosen column; returns
    the number of branches.
    """
    f, who = columns.at[c], pool.who[node.low : node.high]
    if columns.number[c]:
        goes[: len(who)] = LOST
        run = pool.runs[f, node.low : node.low + known[f]]
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


@inner
def weigh_branches(pool, low, high, objects, goes, below):
    """Add up what goes to each branch; rows without a value in proportion to the others' weight.

    below : Open, the branches, receives counts, portions and weights, all 0 before.
    """
    known, lost, weights = 0.0, len(below.node) - 1, below.weights
    for e in range(high - low):
        r, share = np.uintp(pool.who[low + e]), pool.share[low + e]
        v = np.int64(goes[e]) if goes[e] != LOST else lost
        below.node[v].count += share * (objects.count[r] if len(objects.weight) else 1.0)
        weights[v, objects.label[r]] += share * (objects.weight[r] if len(objects.weight) else 1.0)
    for v in range(lost):
        for k in range(weights.shape[1]):
            below.node[v].portion += weights[v, k]
        known += below.node[v].portion
    for v in range(lost):
        node = below.node[v]
        node.portion /= known
        node.count += below.node[lost].count * node.portion
        for k in range(weights.shape[1]):
            weights[v, k] += weights[lost, k] * node.portion


Bounds = namedtuple("Bounds", "depth rows")
"""Depth, and least number of rows, of a node that is divided."""


@jit(inner=True)
def is_leaf(node, weights, rule, bounds):
    """Return whether a node is one before its tests are looked at: too light, of one class, of too
    few rows, or too deep.
    """
    total = weights.sum()
    light = total < 2.0 * rule.min_objects - TOLERANCE or np.rint(node.count) < bounds.rows
    return light or total - weights.max() < TOLERANCE or node.depth >= bounds.depth


@inner
def place_rows_in_branches(low, high, scratch, size, below):
    """Give each row its place in its branch, and each open branch its segment; rows without a value
    come behind the others.

    size : int64[branches + 1], receives the rows of each branch, last those without a value.

    Returns where the segments end.
    """
    size[:] = 0
    end, lost = low, len(size) - 1
    for e in range(high - low):
        v = scratch.goes[e] if scratch.goes[e] != LOST else lost
        scratch.place[e] = size[v]
        size[v] += 1
    for v in range(lost - 1, -1, -1):
        below[v].low = end
        end += 0 if below[v].leaf else size[v] + size[lost]
        below[v].high = end
    return end


@inner
def write_branches(pool, low, high, known, scratch, size, ends, below):
    """Write the rows and runs of the open branches over those of the node.

    known : int64[numbers], of the node.
    below : Open, the branches.
    ends : int64[branches], scratch.
    size : of :func:`place_rows_in_branches`.
    """
    goes, place, spare, share = scratch.goes, scratch.place, pool.spare, pool.spare_share
    nodes, n_open = below.node, 0
    for e in range(high - low):
        if goes[e] != LOST and not nodes[goes[e]].leaf:
            at = nodes[goes[e]].low + place[e]
            spare[at], share[at] = pool.who[low + e], pool.share[low + e]
        for v in range(len(ends) if goes[e] == LOST else 0):
            if not nodes[v].leaf:
                at = nodes[v].low + size[v] + place[e]
                spare[at] = pool.who[low + e]
                share[at] = pool.share[low + e] * nodes[v].portion
    for v in range(len(ends)):
        first, end = nodes[v].low, nodes[v].high
        copy(spare[first:end], pool.who[first:end])
        copy(share[first:end], pool.share[first:end])
    for v in range(len(ends) - 1, -1, -1):
        if not nodes[v].leaf and n_open < len(scratch.to):
            to, behind = scratch.to[n_open], np.int32(size[v])
            for e in range(high - low):
                to[e] = place[e] + behind if goes[e] == LOST else place[e] if goes[e] == v else -1
        n_open += not nodes[v].leaf
    for f in range(len(pool.runs)):
        run, nth = pool.runs[f], 0
        whole = run[low : low + known[f]]
        if n_open <= len(scratch.to):
            for v in range(len(ends) - 1, -1, -1):
                ends[v] = nodes[v].low
                if not nodes[v].leaf:
                    ends[v] += copy_branch(whole, scratch.to[nth], spare[nodes[v].low :])
                    nth += 1
        else:
            deal_to_branches(whole, size, ends, nodes, scratch, spare)
        for v in range(len(ends)):
            below.known[v, f] = ends[v] - nodes[v].low
            copy(spare[nodes[v].low : ends[v]], run[nodes[v].low : ends[v]])


@inline
def copy(source, out):
    """Where places are known not to be negative many are copied at once."""
    for i in range(len(out)):
        out[i] = source[i]


@inner
def copy_branch(run, to, out):
    """Copy the entries of one branch of a run to ``out``; return how many.

    to : int32[·], of each row its place in the branch, −1 where it is not there.

    No jump depends on the row: ``out[n]`` is written at any rate, and kept if it belongs there.
    """
    n = np.uintp(0)
    for entry in run:
        place = to[entry & OBJECT]
        out[n] = entry & ~OBJECT | np.uint64(place)
        n += np.uintp(place >= 0)
    return np.int64(n)


@inner
def deal_to_branches(run, size, ends, nodes, scratch, spare):
    """Copy the entries of a run to all open branches in one pass, however many.

    size : rows of each branch, as :func:`place_rows_in_branches` writes them.
    ends : int64[branches], receives where they end.
    nodes : OPEN[branches], with their segments.
    scratch : ``goes`` and ``place`` by row.
    spare : uint64[·], written.
    """
    for v in range(len(ends)):
        ends[v] = nodes[v].low
    for entry in run:
        g = scratch.goes[entry & OBJECT]
        place = np.uint64(scratch.place[entry & OBJECT])
        entry = entry & ~OBJECT
        if g != LOST:
            if not nodes[g].leaf:
                spare[ends[g]] = entry | place
                ends[g] += 1
        else:
            for v in range(len(ends)):
                if not nodes[v].leaf:
                    spare[ends[v]] = entry | place + np.uint64(size[v])
                    ends[v] += 1


@jit(inner=True)
def longer(array, size):
    """Return the same array with room for ``size`` rows."""
    wide = np.empty((size, array.shape[1]), array.dtype)
    wide[: len(array)] = array
    return wide


@jit(inner=True)
def more(records, size):
    """Return the same records with room for ``size``."""
    wide = np.empty(size, records.dtype)
    wide[: len(records)] = records
    return wide


@jit(inner=True)
def enlarge_pool(pool, size):
    """Return the same pool with room for ``size`` rows in all."""
    n, width = pool.runs.shape[1], len(pool.runs)
    who, share, runs = np.empty(size, np.int32), np.empty(size), np.empty((width, size), np.uint64)
    who[:n], share[:n], runs[:, :n] = pool.who, pool.share, pool.runs
    return Pool(who, share, runs, np.empty(size, np.uint64), np.empty(size))


@jit
def grow_tree(pool, columns, objects, rule, scratch, waiting, bounds):
    """Grow a tree from its root; return (NODE[nodes], float64[nodes, classes]) in preorder.

    pool : Pool, the root's rows and runs; divided in place, and copied where it grows too small.
    columns, objects, rule, bounds : Columns, Objects, Rule, Bounds.
    scratch : overwritten.
    waiting : Open, the root, and behind it its rows without a value, none.
    """
    classes, c = len(scratch.left), len(columns.at)
    found = Found(
        np.zeros(c), np.zeros(c), np.zeros(c, np.int64), np.zeros(c), np.zeros(c, np.bool_)
    )
    nodes, weights = np.empty(1024, NODE), np.empty((1024, classes))
    pair, n, top, root = np.zeros((2, classes)), 0, 1, waiting.node[0]
    scratch.goes[: len(pool.who)] = 0
    weigh_branches(pool, root.low, root.high, objects, scratch.goes, waiting)
    root.leaf = is_leaf(root, waiting.weights[0], rule, bounds)
    while top > 0:
        top -= 1
        if n == len(nodes):
            nodes, weights = more(nodes, 2 * n), longer(weights, 2 * n)
        item, known, node = waiting.node[top], waiting.known[top], nodes[n]
        low, high, depth = item.low, item.high, item.depth
        weights[n] = waiting.weights[top]
        node.column, node.bin, node.above, node.outcome = -1, -1, item.parent, item.branch
        node.cut, node.score, node.count = np.nan, np.nan, item.count
        n += 1
        if item.leaf:
            continue
        whole = weights[n - 1].sum()
        best_tests(pool, item, known, columns, objects, whole, rule, scratch, found, pair)
        c, ratio = choose_column(found, columns.in_average, whole, rule)
        if c < 0:
            continue
        node.column, node.score, node.bin, node.cut = c, ratio, found.place[c], found.cut[c]
        branches = send_rows(pool, item, known, columns, c, found, scratch.goes)
        below = Open(
            np.zeros(branches + 1, OPEN),
            np.zeros((branches + 1, len(known)), np.int64),
            np.zeros((branches + 1, classes)),
        )
        weigh_branches(pool, low, high, objects, scratch.goes, below)
        for v in range(branches):
            child = below.node[v]
            child.parent, child.branch, child.depth = n - 1, v, depth + 1
            child.leaf = is_leaf(child, below.weights[v], rule, bounds)
        size = np.empty(branches + 1, np.int64)
        end = place_rows_in_branches(low, high, scratch, size, below.node)
        if end > low:
            if end >= len(pool.who):
                pool = enlarge_pool(pool, 2 * end)
            write_branches(
                pool, low, high, known, scratch, size, np.empty(branches, np.int64), below
            )
        if top + branches > len(waiting.node):
            room = 2 * (top + branches)
            waiting = Open(
                more(waiting.node, room),
                longer(waiting.known, room),
                longer(waiting.weights, room),
            )
        for v in range(branches - 1, -1, -1):
            if below.node[v].portion > 0.0:
                waiting.node[top] = below.node[v]
                waiting.known[top], waiting.weights[top] = below.known[v], below.weights[v]
                top += 1
    return nodes[:n].copy(), weights[:n].copy()
