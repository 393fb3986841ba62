"""The best test for many nodes together: one pass per column over the rows of all of them, keyed by the number of the node.

An oblivious tree asks one test at all nodes of a level; a fuzzy tree has levels of one node, whose rows are there in shares.  A test's score
is the sum of the criterion's scores at the nodes that it divides, each times the node's factor.  Raw columns are sorted once.  Where the
criterion declares ``bounded_by_corners`` a column's rows are first counted by bins: within a bin the sum is at most the sum of the highest
corners of the nodes, and only bins that may hold the best cut are scanned row by row.

Sums are kept by *place*: node · width + class, or node · 3 for moments.  Beside weights stand numbers of rows, which may be shares.
"""

from collections import namedtuple
from functools import lru_cache

import numpy as np

from arboretum.kernels.coded import MULTIWAY, THRESHOLDS
from arboretum.kernels.function_pointers import call_batch, compiled, impurity_at
from arboretum.kernels.jit import jit, merged
from arboretum.kernels.kernel_decorators import KernelNode, baked
from arboretum.kernels.stack_arrays import float_table, int_table
from arboretum.kernels.tables import NO_SIDE, NOTHING, bar_of

MOST_IN_REGISTERS = 3
BINS = 255  # of a raw column; rows without a value are in one more
EMPTY, SMALL, REFUSED, DIVIDED = range(4)
"""What a cut does at a node: an outcome has no rows, or nobody asks; one has too few; the criterion says −inf; it is divided."""

CLASSES, MOMENTS, WEIGHTED, ALONE = 0, False, False, False
"""Constants of a compiled search: the number of classes where it is known; tables hold moments; weights are not all 1; numbers of rows are kept
beside weights, since they differ."""

_TEMPLATE = """
def {name}(columns, level, objects, price, rules, scorer):
    return search(kernel, columns, level, objects, price, rules, scorer)  # CONSTANTS
"""

Columns = namedtuple("Columns", "order values known bin start")
"""order, values : uint32, float[columns, k], rows by value and these values, the ``known[f]`` rows with a value first.   bin : uint8[columns, n], by
row; empty without bins.   start : int64[columns, BINS + 1], where each bin begins in ``order``."""

Level = namedtuple("Level", "place members first weights rows mass impurity factor open depth total")
"""place : int32[n], −1 outside.   members, first : int32[m] rows by node, int64[nodes + 1] where each node begins.   weights, rows : float64[nodes,
width], [nodes, count width].   mass, impurity, factor : float64[nodes].   open : bool[nodes], has a say.   total : weight of the root."""

Objects = namedtuple("Objects", "y weight rows")
"""float64[n] by row: target, weight and number of rows as they are in the level."""

Rules = namedtuple("Rules", "rows weight gap shared")
"""rows, weight : of every branch that receives any.   gap : neighbours not further apart are not separated.   shared : rows without a value
go every way, in proportion; else they are tried in either outcome."""

Work = namedtuple("Work", "left_w left_c lost_w lost_c score state total number dirty weights counts extra")
"""left_*, lost_* : sums by place, left of a cut and without a value; the same memory where weights are rows.   score, state : by node.
total : float64[2], sum of the scores and what rounding took from it.   number : int64[4], nodes by state.   dirty : nodes to be asked
again, and whether a node is among them.   weights, counts, extra : the table of one node."""


def search_of(kernel, classes, moments, weighted, alone):
    """The compiled :func:`search` of a criterion kernel; compiled at its first call, or read from the cache."""
    return _search(kernel, classes if classes <= MOST_IN_REGISTERS and not moments else 0, moments, weighted, alone)


@lru_cache(maxsize=None)
def _search(kernel, *constants):
    known = dict(zip(("CLASSES", "MOMENTS", "WEIGHTED", "ALONE"), constants, strict=True))
    for part in (add_row, ask, put, begin, bound_bins, scan_rows, search):
        known[part.__name__] = merged(baked(part, part.__name__, **known))
    return compiled(kernel, _TEMPLATE.replace("CONSTANTS", repr(constants)), None, (("search", known["search"]),))


def search(kernel, columns, level, objects, price, rules, scorer):
    """Find the best cut; return (column, position of the last row left of it, side, score).

    price : float64[columns], ∞ where it cannot be paid.   Column NOTHING: there is none.  The first of equal cuts wins, those
    with rows without a value in outcome 0 before the others.   Score NaN: the
    criterion returned it.   side : outcome of rows without a value, NO_SIDE where there are none or they go every way.
    """
    n, width, n_counts = level.weights.shape[0], level.weights.shape[1], level.rows.shape[1]
    binned, n_columns = len(columns.bin) > 0, len(columns.order)
    if CLASSES > 0 or MOMENTS:
        weights, counts = float_table(2, 3 if MOMENTS else CLASSES), int_table(2, 1 if MOMENTS else CLASSES)
    else:
        weights, counts = np.empty((2, width)), np.empty((2, n_counts), np.int64)
    left, lost = np.zeros(n * width), np.zeros(n * width)
    left_c, lost_c = (np.zeros(n * n_counts), np.zeros(n * n_counts)) if ALONE else (left, lost)
    work = Work(
        left, left_c, lost, lost_c, np.zeros(n), np.zeros(n, np.int8), np.zeros(2), np.zeros(4, np.int64), np.zeros((2, n), np.int32),
        weights, counts, float_table(2, 0),
    )  # fmt: skip
    asked = level.depth, level.total, scorer.params, impurity_at(scorer.impurity)
    each_w = np.zeros((n_columns if binned else 0, BINS + 1, n * width))
    each_c = np.zeros((len(each_w), BINS + 1, n * n_counts)) if ALONE else each_w
    bound, low = np.full((n_columns, 2, BINS), np.inf), -np.inf
    for f in range(len(each_w)):
        if price[f] == np.inf:
            continue
        codes, flat, flat_c = columns.bin[f], each_w[f].reshape(each_w[f].size), each_c[f].reshape(each_c[f].size)
        for i in level.members:
            add_row(i, np.int64(codes[i]) * (n * width) + level.place[i], objects, flat, flat_c)
        for s in range(2):
            n_lost = begin(f, s, columns, level, objects, rules, work)
            if n_lost > 0 if rules.shared else n_lost == 0 and s == 1:
                break
            own = Rules(rules.rows, rules.weight, rules.gap, False)  # here a shared column has no row without a value
            low = max(low, bound_bins(kernel, n_lost > 0, (f, s), columns, level, price[f], own, asked, each_w[f], each_c[f], bound[f, s], work))
    low -= 8.0 * max(scorer.ties.relative * abs(low), scorer.ties.floor) if low > -np.inf else 0.0
    best = np.int64(NOTHING), np.int64(NOTHING), np.int64(NO_SIDE), -np.inf
    for f in range(n_columns):
        if price[f] == np.inf:
            continue
        for s in range(1 if rules.shared else 2):
            n_lost = begin(f, s, columns, level, objects, rules, work)
            if n_lost == 0 and s == 1:
                break
            own = Rules(rules.rows, rules.weight, rules.gap, rules.shared and n_lost > 0)
            side, stale = np.int64(NO_SIDE if n_lost == 0 or rules.shared else s), n_lost > 0
            for b in range(BINS if binned else 1):
                low_at, high_at = (columns.start[f, b], columns.start[f, b + 1]) if binned else (np.int64(0), columns.known[f])
                if low_at == high_at:
                    continue
                if bound[f, s, b] < low:
                    for p in range(len(left)):
                        left[p] += each_w[f, b, p]
                    for p in range(len(left_c) if ALONE else 0):
                        left_c[p] += each_c[f, b, p]
                    stale = True
                    continue
                where = f, low_at, high_at, stale, high_at < columns.known[f] or (n_lost > 0 and s == 1)
                stale = False
                at, score = scan_rows(kernel, where, columns, level, objects, price[f], own, asked, scorer.ties, best[3], work)
                if at >= 0:
                    best = np.int64(f), at, side, score
                    if score != score:
                        return best
    return best


def add_row(i, p, objects, w, c):
    """Add row i to sums at its place.   c : the same as w where weights are rows."""
    if MOMENTS:
        mass, y = objects.weight[i] if WEIGHTED else 1.0, objects.y[i]
        w[p] += mass
        w[p + 1] += mass * y
        w[p + 2] += mass * y * y
        if ALONE:
            c[p // 3] += objects.rows[i]
    else:
        w[p] += objects.weight[i] if WEIGHTED else 1.0
        if ALONE:
            c[p] += objects.rows[i]


def ask(kernel, v, level, price, rules, asked, work):
    """(state, score times factor) of node v by the sums left of the cut."""
    weights, counts, width, n_counts = work.weights, work.counts, level.weights.shape[1], level.rows.shape[1]
    if CLASSES > 0 or MOMENTS:
        width, n_counts = (3, 1) if MOMENTS else (CLASSES, CLASSES)
    part, left_rows, right_rows, base, base_c = 0.0, 0.0, 0.0, v * width, v * n_counts
    if rules.shared:  # what has no value is divided as what has one
        left_mass, known = 0.0, level.mass[v]
        for k in range(1 if MOMENTS else width):
            left_mass += work.left_w[base + k]
            known -= work.lost_w[base + k]
        part = left_mass / known if known > 0.0 else 0.0
    at = base if MOMENTS and not ALONE else base_c  # of moments the first is the number of rows, where each weighs 1
    for k in range(n_counts):
        rows = work.left_c[at + k] + (part * work.lost_c[at + k] if rules.shared else 0.0)
        left_rows += rows
        right_rows += level.rows[v, k] - rows
        counts[0, k] = np.int64(rows + 0.5)
        counts[1, k] = np.int64(level.rows[v, k] - rows + 0.5)
    if not (left_rows > 0.0 and right_rows > 0.0):
        return EMPTY, 0.0
    for k in range(width):
        weights[0, k] = work.left_w[base + k] + (part * work.lost_w[base + k] if rules.shared else 0.0)
        weights[1, k] = level.weights[v, k] - weights[0, k]
        if ALONE and not MOMENTS and not rules.shared and level.rows[v, k] == work.left_c[base + k]:
            weights[1, k] = 0.0  # and not 1e-17
    small = left_rows < rules.rows or right_rows < rules.rows
    if rules.weight > 0.0:
        left_mass = 0.0
        for k in range(1 if MOMENTS else width):
            left_mass += weights[0, k]
        small |= left_mass < rules.weight or level.mass[v] - left_mass < rules.weight
    if not level.open[v]:
        return (SMALL if small else EMPTY), 0.0
    node = KernelNode(level.mass[v], asked[1], level.impurity[v], asked[0], 0.0, asked[2], asked[3])
    score = level.factor[v] * float(kernel(weights, counts, price, work.extra, node))
    return (SMALL if small else REFUSED if score == -np.inf else DIVIDED), score


def put(v, state, score, work):
    """Bring the level's sum up to date with what node v says now (summed with compensation: Neumaier 1974)."""
    total, before = work.total, work.score[v]
    work.number[work.state[v]] -= 1
    work.number[state] += 1
    work.state[v] = state
    score = 0.0 if score == -np.inf else score
    work.score[v] = score
    for i in range(2 if len(work.score) > 1 else 0):
        term = score if i else -before
        both = total[0] + term
        total[1] += (total[0] - both) + term if abs(total[0]) >= abs(term) else (term - both) + total[0]
        total[0] = both


def begin(f, s, columns, level, objects, rules, work):
    """Set the sums of column f before its first row, rows without a value in outcome s; return how many these are."""
    work.left_w[:] = 0.0
    work.left_c[:] = 0.0
    work.lost_w[:] = 0.0
    work.lost_c[:] = 0.0
    n_lost = 0
    for j in range(columns.known[f], columns.order.shape[1]):
        i = columns.order[f, j]
        if level.place[i] >= 0:
            add_row(i, level.place[i], objects, work.lost_w, work.lost_c)
            n_lost += 1
    work.dirty[1, :] = 0
    work.total[:] = 0.0
    work.score[:] = 0.0
    work.state[:] = EMPTY
    work.number[:] = 0
    work.number[EMPTY] = len(work.score)
    if n_lost > 0 and s == 0 and not rules.shared:
        work.left_w[:] = work.lost_w
        work.left_c[:] = work.lost_c
    return n_lost


def bound_bins(kernel, stale, where, columns, level, price, rules, asked, each_w, each_c, bound, work):
    """What the cuts in each bin of a column score at most; returns the best of those between bins.

    stale : some rows are left of the first cut.   each_w, each_c : [bins, places], sums of each bin.   bound : float64[BINS], written.
    A corner has some classes of the bin left of the cut and the others right of it.
    """
    left_w, left_c, width, best, f = work.left_w, work.left_c, level.weights.shape[1], -np.inf, where[0]
    for b in range(-1 if stale else 0, BINS):
        most = 0.0
        for v in range(len(work.score) if b < 0 or columns.start[f, b] < columns.start[f, b + 1] else 0):
            first, present, some = v * width, 0, 0
            for k in range(width if b >= 0 else 0):
                present |= np.int64(each_w[b, first + k] > 0.0) << k
            top = np.inf if work.state[v] == REFUSED else max(work.score[v], 0.0)
            while present > 0 or b < 0:  # all choices of the classes that are there; the last is all of them
                some = (some - present) & present
                for k in range(width):
                    if (some >> k) & 1 == 1:
                        left_w[first + k] += each_w[b, first + k]
                        if ALONE:
                            left_c[first + k] += each_c[b, first + k]
                state, score = ask(kernel, v, level, price, rules, asked, work)
                top = max(top, np.inf if state == REFUSED else score)
                if some == present:
                    put(v, state, score, work)
                    break
                for k in range(width):
                    if (some >> k) & 1 == 1:
                        left_w[first + k] -= each_w[b, first + k]
                        if ALONE:
                            left_c[first + k] -= each_c[b, first + k]
            most += top
        if b >= 0:
            bound[b] = most
        admissible = work.number[SMALL] + work.number[REFUSED] == 0 and work.number[DIVIDED] > 0
        if b >= 0 and columns.start[f, b + 1] < columns.known[f] and admissible:
            best = max(best, work.score[0] if len(work.score) == 1 else work.total[0] + work.total[1])
    return best


def scan_rows(kernel, where, columns, level, objects, price, rules, asked, ties, best, work):
    """Score the cuts behind some rows of a column; return (position, score) of one that beats ``best``, or NOTHING.

    where : the column, first position and the one behind the last, whether all nodes have to be asked anew, and whether a cut behind the last
    row competes: it divides rows with a value from those without where it is the last of all.
    """
    f, low, high, stale, after = where
    order, values, place, width = columns.order[f], columns.values[f], level.place, 3 if MOMENTS else level.weights.shape[1]
    dirty, number, n_dirty = work.dirty, work.number, 0
    bar, at, last, several = bar_of(best, ties), np.int64(NOTHING), np.int64(NOTHING), len(work.score) > 1
    for v in range(len(work.score) if stale else 0):
        dirty[0, n_dirty], dirty[1, v] = v, 1
        n_dirty += 1
    for j in range(low, high + 1 if after else high):
        p = np.int64(0)
        if j < high:
            p = np.int64(place[order[j]])
            if p < 0:
                continue
        if last >= 0 and (j == high or values[j] > values[last] + rules.gap):
            for d in range(n_dirty):
                v = np.int64(dirty[0, d]) if several else np.int64(0)
                dirty[1, v] = 0
                state, score = ask(kernel, v, level, price, rules, asked, work)
                put(v, state, score, work)
            n_dirty = 0
            if number[SMALL] + number[REFUSED] == 0 and number[DIVIDED] > 0:
                score = work.total[0] + work.total[1] if several else work.score[0]
                if not score <= bar:
                    at, best = last, score
                    if score != score:
                        return at, score
                    bar = bar_of(best, ties)
        if j < high:
            add_row(order[j], p, objects, work.left_w, work.left_c)
            v, last = p // width if several else np.int64(0), np.int64(j)
            if dirty[1, v] == 0:
                dirty[0, n_dirty], dirty[1, v] = v, 1
                n_dirty += 1
    return at, best


@jit
def arrange(values, shift, gap, order, ordered, known, codes, start):
    """Rows, values and bins of sorted columns, from the entries of :func:`arboretum.kernels.presort.sort_columns`.

    order : uint32[columns, k], entries, of which the rows are left.   ordered, known, codes, start : written; see :class:`Columns`.   A bin
    holds about as many rows as others and does not end between equal values.
    """
    mask = (np.uint64(1) << np.uint64(shift)) - np.uint64(1)
    for f in range(len(order)):
        known[f] = 0
        for j in range(order.shape[1]):
            i = np.uint64(order[f, j]) & mask
            order[f, j], ordered[f, j] = i, values[f, i]
            known[f] += ordered[f, j] == ordered[f, j]
        at = np.int64(0)
        for b in range(BINS if len(codes) > 0 else 0):
            start[f, b] = at
            stop = max(at, (known[f] * (b + 1)) // BINS)
            while at < stop < known[f] and not ordered[f, stop] > ordered[f, stop - 1] + gap:
                stop += 1
            for j in range(at, stop):
                codes[f, order[f, j]] = b
            at = stop
        if len(codes) > 0:
            start[f, BINS] = at
            for j in range(at, order.shape[1]):
                codes[f, order[f, j]] = BINS


@jit
def score_coded(feature, codes, level, objects, price, rules, scorer, found):
    """Score all tests of a coded feature at all nodes; return the heaviest of its bins, and how many rows have no value.

    feature : (family, number of bins).   codes : uint[n]; those behind the last bin stand for no value.   price : float64[tests].   found :
    float64[2, tests], the level's score with rows without a value in outcome 0, and in 1; −inf where a test may not compete.  Of a
    multiway test they are in the heaviest bin, and the second is −inf; so it is, too, where there is only one way.
    """
    family, bins = feature
    width, n_counts, tests = level.weights.shape[1], level.rows.shape[1], len(price)
    arity, moments, impurity = bins if family == MULTIWAY else np.int64(2), len(objects.y) > 0, impurity_at(scorer.impurity)
    w, c = np.zeros((bins + 1, width)), np.zeros((bins + 1, n_counts))
    weights, counts, rows = np.zeros((tests, arity, width)), np.zeros((tests, arity, n_counts), np.int64), np.zeros((arity, n_counts))
    extra, scores, small, divided = np.zeros((tests, arity, 0)), np.zeros(tests), np.zeros((tests, arity), np.int64), np.zeros((2, tests))
    heaviest, n_lost = np.zeros(bins), 0
    for i in level.members:
        if codes[i] < bins:
            heaviest[codes[i]] += objects.weight[i]
        else:
            n_lost += 1
    to, sides = np.int64(np.argmax(heaviest)), 2 if n_lost > 0 and not rules.shared and family != MULTIWAY else 1
    found[:sides] = 0.0
    found[sides:] = -np.inf
    for v in range(len(level.mass)):
        w[:] = 0.0
        c[:] = 0.0
        for j in range(level.first[v], level.first[v + 1]):
            i = level.members[j]
            b, k, mass = min(np.int64(codes[i]), bins), level.place[i] - v * width, objects.weight[i]
            if moments:
                y = objects.y[i]
                w[b, 0] += mass
                w[b, 1] += mass * y
                w[b, 2] += mass * y * y
                c[b, 0] += objects.rows[i]
            else:
                w[b, k] += mass
                c[b, k] += objects.rows[i]
        all_w, all_c = sums_of(w, bins), sums_of(c, bins)
        node = KernelNode(level.mass[v], level.total, level.impurity[v], level.depth, 0.0, scorer.params, impurity)
        for s in range(sides):
            left, left_c = np.zeros(width), np.zeros(n_counts)
            for t in range(tests):
                if family == MULTIWAY:
                    weights[t], rows[:] = w[:bins], c[:bins]
                else:
                    kept = 1.0 if family == THRESHOLDS else 0.0
                    left, left_c = w[t] + kept * left, c[t] + kept * left_c
                    weights[t, 0], weights[t, 1] = left, all_w - left
                    rows[0], rows[1] = left_c, all_c - left_c
                share_lost(weights[t], rows, w[bins], c[bins], to if family == MULTIWAY else s, rules.shared, moments)
                for o in range(arity):
                    here, heavy = rows[o].sum(), weights[t, o, 0] if moments else weights[t, o].sum()
                    small[t, o] = 0 if here <= 0.0 else 1 if here < rules.rows or heavy < rules.weight else 2
                    for k in range(n_counts):
                        counts[t, o, k] = np.int64(rows[o, k] + 0.5)
            call_batch(scorer.batch, weights, counts, price, extra, node, scores)
            for t in range(tests):
                if (small[t] == 1).any() or price[t] == np.inf:
                    found[s, t] = -np.inf
                if level.open[v] and (small[t] > 0).sum() > 1:
                    found[s, t] += level.factor[v] * scores[t]
                    divided[s, t] += 1
    for s in range(sides):
        for t in range(tests):
            found[s, t] = found[s, t] if divided[s, t] > 0 else -np.inf
    return to, n_lost


@jit(inner=True)
def sums_of(table, bins):
    """float64[k]: sums over the first rows of a table."""
    found = np.zeros(table.shape[1])
    for b in range(bins):
        found += table[b]
    return found


@jit(inner=True)
def share_lost(weights, rows, lost_w, lost_c, to, shared, moments):
    """Add rows without a value to a table: to one outcome, or to all in proportion to their weight."""
    if not shared:
        weights[to] += lost_w
        rows[to] += lost_c
        return
    mass = np.array([one[0] if moments else one.sum() for one in weights])
    for o in range(len(mass) if mass.sum() > 0.0 else 0):
        weights[o] += lost_w * (mass[o] / mass.sum())
        rows[o] += lost_c * (mass[o] / mass.sum())
