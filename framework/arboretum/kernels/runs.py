"""Sorted runs: raw columns sorted once per subtree, divided from node to node, and scored cut by
cut.

An *entry* of a run is one word, ``rank << 42 | class << 22 | object``, so that a scan gathers
nothing from elsewhere and serves values of any type: the rank of a value among the distinct ones of
its column, the class of the object (0 for numbers), and the object.  An object without a value has
the rank :data:`MISSING`; such entries come last.  A *cut* at position j of a run has its first j +
1 entries on the left::

    rank_columns, for each column: sort it; write its entries and its distinct values
    probe, for each piece of a run of unit objects:
        before ← class counts left of it; bound ← the highest score of its vertices
    scan_run:
        for each piece (the whole run, where it was not probed):
            if its bound is below ``floor``, or not above the best score: next
            left ← before
            for each entry j of the piece:
                left ← left + entry j
                if entries j and j + 1 are separated, and the branches large enough, and no
                neighbouring cut is known to score no less (``inner``):
                    put the table (left, all − left) into the block, once per side of missing rows
    split_run: move the entries stably by outcome, those of outcome 0 first

Invariants:

- A node's part of a run holds one entry per object of it, ranks ascending, equal ranks in the order
  of objects; division keeps all three.  Ranks and ``distinct`` are those of the subtree's root.
- ``reach`` is filled for columns that are ``close`` alone: rank r is separated from ranks from
  reach[r] on; elsewhere, from every other rank.
- Numbers of objects are below 2²², which the callers see to.
- ``before`` and ``bound`` hold for the node at hand.  bound[r, 0] is NaN where run r is not to be
  scored in pieces, else ∞: the first piece is always scanned.
- The block is emptied before a table is put into a full one.
"""

import numpy as np

from arboretum.kernels.block import flush, named, score
from arboretum.kernels.class_sums import Keys, Moved, best_cut
from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.presort import sorted_rows
from arboretum.kernels.sorting import split_many, split_two, take_back
from arboretum.kernels.tables import BLOCK, NO_SIDE, Least

OBJECT_BITS = 22
TO_CLASS, TO_RANK = np.uint64(OBJECT_BITS), np.uint64(42)
OBJECT = np.uint64((1 << OBJECT_BITS) - 1)
CLASS = np.uint64((1 << 20) - 1)
MISSING = np.uint64((1 << 22) - 1)
NOBODY = np.uint64((1 << 64) - 1)  # no entry has this rank

PROBED, MOST_CLASSES = 256, 3
"""Runs from this length on are scored in pieces, where there are at most so many classes (a
piece has 2ⁿ − 1 vertices).
"""


@jit
def rank_columns(values, bits, label, gap, order, distinct, reach, found):
    """Sort every column: fill ``order`` with its entries and ``distinct`` with its values,
    ascending.

    values : float32/64[columns, n], NaN = missing.
    bits : the same memory as uint32/64.
    label : int32[n], or empty: numbers, whose entries have the class 0.
    gap : neighbours not further apart are not separated.
    order : uint64[columns, n], written.
    distinct : like values; the first found[f, 0] of a row are written.
    reach : int32[columns, n], by rank the lowest rank that is separated from it; filled where it is
        not always the next.
    found : int64[columns, 2], receives the number of distinct values, and whether ``reach`` is
        filled.
    """
    n = values.shape[1]
    for f in range(len(values)):
        column = values[f]
        entries = order[f]
        own = distinct[f]
        rows = sorted_rows(values[f], bits[f])
        rank, close = np.int64(-1), False
        for j in range(n):
            i = rows[j]
            v = column[i]
            if (rank < 0 or v > own[rank]) and v == v:
                rank += 1
                own[rank] = v
                close |= rank > 0 and not v > own[rank - 1] + gap
            entry = np.uint64(i) | (np.uint64(rank) if v == v else MISSING) << TO_RANK
            if len(label) > 0:
                entry |= np.uint64(label[i]) << TO_CLASS
            entries[j] = entry
        found[f, 0], found[f, 1] = rank + 1, close
        if close:
            to = np.int64(0)
            for r in range(rank + 1):
                while to <= rank and not own[to] > own[r] + gap:
                    to += 1
                reach[f, r] = to


@inline
def separated(entry, after, reach, close):
    """Whether there is room for a threshold between two neighbouring entries.

    reach : int32[n] of the column, read only if it is ``close`` (see the module).
    """
    low, high = entry >> TO_RANK, after >> TO_RANK
    return high != low and (not close or np.int64(high) >= reach[low])


@inline
def piece_of(m):
    """Return how many entries a piece has in a run of m entries that is scored in pieces."""
    return np.int64(16 if m < 1024 else 32 if m < 8192 else 64)


@inner
def probe(r, features, low, high, price, min_leaf, runs, block, scoring):
    """Bound the scores of run r of unit objects piece by piece, without looking into the pieces;
    return the best score of a cut between them, −∞ if none is allowed.

    Class counts left of a cut inside a piece lie in the box between those before the piece and
    those after it, and the criterion is quasi-convex, so that its highest score over the box is at
    a vertex.

    low, high : the node's part of the run.
    runs : ``all_c`` holds the node's class counts; ``before[r]`` receives the counts before each
        piece, ``bound[r]`` the bound; the first one is NaN where the run has missing entries and is
        not to be looked at in pieces.
    block : empty; its tables are overwritten, and its best test stays.
    """
    run, before, bound = features.order[r, low:high], runs.before[r], runs.bound[r]
    reach, close = features.reach[r], features.close[r]
    m, best = high - low, -np.inf
    bound[0] = np.nan
    if run[m - 1] >> TO_RANK == MISSING:
        return best
    all_c, tally = runs.all_c, runs.left_c
    width = len(all_c)
    piece, vertices = piece_of(m), (1 << width) - 1
    for k in range(width):
        tally[k] = 0
    first, used, edge = np.int64(0), np.int64(0), -np.inf
    n = (m - 1 + piece - 1) // piece
    for q in range(n):
        start, stop = q * piece, min((q + 1) * piece, m - 1)
        for k in range(width):
            before[q, k] = tally[k]
        if width == 2:
            ones = np.uint64(0)
            for entry in run[start:stop]:
                ones += entry >> TO_CLASS & np.uint64(1)
            tally[1] += np.int64(ones)
            tally[0] += stop - start - np.int64(ones)
        else:
            for entry in run[start:stop]:
                tally[entry >> TO_CLASS & CLASS] += 1
        for mask in range(1, vertices + 1):
            at = 2 * used * width
            for k in range(width):
                c = tally[k] if mask >> k & 1 else np.int64(before[q, k])
                block.counts[at + k], block.counts[at + width + k] = c, all_c[k] - c
                block.weights[at + k], block.weights[at + width + k] = c, all_c[k] - c
            block.price[used] = price
            used += 1
        if used + vertices <= BLOCK and q + 1 < n:
            continue
        score(used, 2, block, scoring)
        t = 0
        for p in range(first, q + 1):
            top = edge
            for _ in range(vertices):
                s = block.scores[t]
                top = s if not s <= top else top
                t += 1
            edge = block.scores[t - 1]
            bound[p] = np.inf if p == 0 or top != top else top
            stop = min((p + 1) * piece, m - 1)
            if (
                edge > best
                and stop >= min_leaf
                and m - stop >= min_leaf
                and separated(run[stop - 1], run[stop], reach, close)
            ):
                best = edge
        first, used = q + 1, np.int64(0)
    bound[0] = np.inf
    return best


@inner
def scan_run(f, features, low, high, objects, whole, rules, price, floor, runs, block, scoring):
    """Put the tables of all cuts of a run into the block; with missing entries, each cut with them
    left, then right, at last these alone right.

    f : the feature; low, high : the node's part of its run.
    whole : the node's table, (weights float64[width], counts int64[count width]).
    rules : :class:`arboretum.kernels.subtree.SubtreeRules`.
    floor : where the run was probed, pieces that cannot exceed it are left out; NaN: not probed.

    Returns whether the run can be cut, here or further down: whether two entries differ in rank.
    """
    r = features.column[f]
    run, reach, close = features.order[r, low:high], features.reach[r], features.close[r]
    known, total = high - low, np.int64(0)
    if run[0] >> TO_RANK == run[known - 1] >> TO_RANK:
        return False
    all_w, all_c = whole
    left_w, left_c, lost_w, lost_c = runs.left_w, runs.left_c, runs.lost_w, runs.lost_c
    moments, unit = len(objects.y) > 0, objects.unit
    min_leaf, min_weight = rules.min_leaf, rules.min_weight
    for k in range(len(all_w)):
        left_w[k], lost_w[k] = 0.0, 0.0
    for k in range(len(all_c)):
        left_c[k], lost_c[k] = 0, 0
        total += all_c[k]
    while run[known - 1] >> TO_RANK == MISSING:
        known -= 1
        add(run[known], objects, moments, lost_w, lost_c)
    missing = np.int64(0)
    for k in range(len(lost_c)):
        missing += lost_c[k]
    inner = (
        rules.vertices
        and scoring.batch != rules.significance
        and min_weight == 0.0
        and not moments
        and not close
    )
    plain = unit and not moments and missing == 0 and len(all_c) == 2
    last = known if missing > 0 else known - 1
    pieces, piece = np.int64(1), last
    if floor == floor and runs.bound[r, 0] > 0.0:
        piece = piece_of(known)
        pieces = (last + piece - 1) // piece
    if block.state[0].arity != 2:
        flush(block, scoring)
        block.state[0].arity = 2
    left = np.int64(0)
    for q in range(pieces):
        start, stop = q * piece, min((q + 1) * piece, last)
        if pieces > 1:
            top = runs.bound[r, q]
            if top < floor or top <= block.state[0].best:
                continue
            left = np.int64(0)
            for k in range(len(all_c)):
                left_c[k] = runs.before[r, q, k]
                left += left_c[k]
        if plain:
            rows = max(min_leaf, np.int64(np.ceil(min_weight)))
            scan_units(
                f,
                run,
                (start, stop, known),
                (left_c, all_c),
                inner,
                rows,
                reach,
                close,
                price,
                block,
                scoring,
            )
            continue
        for j in range(start, stop):
            entry, after = run[j], run[j + 1]
            left += add(entry, objects, moments, left_w, left_c)
            if not separated(entry, after, reach, close):
                continue
            if (
                inner
                and entry >> TO_CLASS & CLASS == after >> TO_CLASS & CLASS
                and alone(run, j, known)
            ):
                here = 1 if unit else objects.count[entry & OBJECT]
                then = 1 if unit else objects.count[after & OBJECT]
                if left - here >= min_leaf and total - missing - left - then >= min_leaf:
                    continue
            for s in range(2 if missing > 0 else 1):
                a = left + missing if s == 0 else left
                if a < min_leaf or total - a < min_leaf:
                    continue
                if min_weight > 0.0:
                    mass, rest = np.float64(a), np.float64(total - a)
                    if not unit or moments:
                        mass, rest = 0.0, 0.0
                        for k in range(1 if moments else len(all_w)):
                            mass += left_w[k] + (lost_w[k] if s == 0 else 0.0)
                            rest += all_w[k]
                        rest -= mass
                    if mass < min_weight or rest < min_weight:
                        continue
                if block.state[0].used == BLOCK:
                    flush(block, scoring)
                put(
                    s == 0,
                    all_w,
                    all_c,
                    left_w,
                    left_c,
                    lost_w,
                    lost_c,
                    unit and not moments,
                    moments,
                    block,
                )
                named(block.state[0].used, f, j, s if missing > 0 else NO_SIDE, price, block)
    return True


@inner
def scan_sums(f, features, low, high, objects, whole, rules, price, sums, block, scoring):
    """Find what :func:`scan_run` finds, where the criterion scores sums: no table is written but
    those of the cuts that may be best.

    whole : (weights, counts, number of rows, weight) of the node.
    sums : :class:`arboretum.kernels.class_sums.Sums`, scratch.
    block : emptied first; its best test is replaced by a better cut.

    Returns whether the run can be cut, as there.
    """
    r = features.column[f]
    run, reach, close = features.order[r, low:high], features.reach[r], features.close[r]
    known, missing, total, state = high - low, np.int64(0), whole[2], block.state[0]
    if run[0] >> TO_RANK == run[known - 1] >> TO_RANK:
        return False
    while run[known - 1] >> TO_RANK == MISSING:
        known -= 1
        missing += 1 if objects.unit else objects.count[run[known] & OBJECT]
    inner = rules.vertices and rules.min_weight == 0.0 and not close
    least = rules.min_leaf
    left = np.int64(0)
    for j in range(known if missing > 0 else known - 1):
        entry, after = run[j], run[j + 1]
        here = np.int64(1) if objects.unit else objects.count[entry & OBJECT]
        left += here
        cut = separated(entry, after, reach, close)
        if (
            cut
            and inner
            and entry >> TO_CLASS & CLASS == after >> TO_CLASS & CLASS
            and alone(run, j, known)
        ):
            then = np.int64(1) if objects.unit else objects.count[after & OBJECT]
            cut = left - here < least or total - missing - left - then < least
        sums.cut[j] = cut
    keys, moved = Keys(TO_CLASS, CLASS, OBJECT), Moved(objects.weight, objects.count, objects.unit)
    flush(block, scoring)
    at, side, score = best_cut(
        run,
        known,
        keys,
        moved,
        whole,
        Least(least, rules.min_weight),
        price,
        scoring,
        state.best,
        sums,
    )
    if at >= 0:
        state.feature, state.index, state.side = f, at, side
        state.broken |= score != score
        state.best = score if score == score else np.inf
    return True


@inline
def add(entry, objects, moments, w, c):
    """Add the object of an entry to a row of a table; return the number of rows that it stands for.

    w : float64[width]; left alone for units by class, whose weights are counts.
    c : int64[count width].
    """
    i = entry & OBJECT
    if moments:
        weight, y = objects.weight[i], objects.y[i]
        w[0] += weight
        w[1] += weight * y
        w[2] += weight * y * y
        c[0] += objects.count[i]
        return objects.count[i]
    k = entry >> TO_CLASS & CLASS
    if objects.unit:
        c[k] += 1
        return np.int64(1)
    w[k] += objects.weight[i]
    c[k] += objects.count[i]
    return objects.count[i]


@inline
def alone(run, j, known):
    """Whether the entries j and j + 1 have values that no other entry has.

    known : entries with a value, which come first.

    Between two such of one class no cut is best: a criterion that is convex along rows of one class
    scores one of its neighbours no less.
    """
    return (
        j + 2 < known
        and (j == 0 or run[j - 1] >> TO_RANK != run[j] >> TO_RANK)
        and run[j + 2] >> TO_RANK != run[j + 1] >> TO_RANK
    )


@inline
def scan_units(f, run, span, sums, inner, min_leaf, reach, close, price, block, scoring):
    """Put the tables of the cuts of a run into the block, with all sums in registers: two classes,
    every object of weight 1 with a value, the commonest case of :func:`scan_run`.

    run : uint64[·], the node's part.
    span : first and last position, and number of entries.
    sums : (class counts before ``start``, class counts of the node), int64[2] each.
    inner : cuts between two neighbours of one class may be left out (see :func:`alone`).
    min_leaf : rows that a branch needs.
    """
    (start, stop, known), (left_c, all_c) = span, sums
    zeros, ones = left_c[0], left_c[1]
    total = all_c[0] + all_c[1]
    before = run[np.uintp(start - 1)] >> TO_RANK if start > 0 else NOBODY
    after = run[np.uintp(start)]
    # unsigned: no test for negative positions
    for at in range(np.uintp(start) + np.uintp(1), np.uintp(stop) + np.uintp(1)):
        entry, after = after, run[at]
        own, rank, then = entry >> TO_CLASS & np.uint64(1), entry >> TO_RANK, after >> TO_RANK
        ones += np.int64(own)
        zeros += 1 - np.int64(own)
        alone, before = before != rank, rank
        if not (then != rank and (not close or np.int64(then) >= reach[rank])):
            continue
        left = np.int64(at)
        if (
            inner
            and alone
            and own == after >> TO_CLASS & np.uint64(1)
            and left + 1 < known
            and left > min_leaf
            and total - left > min_leaf
        ) and run[at + np.uintp(1)] >> TO_RANK != then:
            continue
        if left < min_leaf or total - left < min_leaf:
            continue
        if block.state[0].used == BLOCK:
            flush(block, scoring)
        t = np.uintp(block.state[0].used)
        c = block.counts
        w = block.weights
        a = all_c[0] - zeros
        b = all_c[1] - ones
        t = np.uintp(4) * t
        c[t], c[t + np.uintp(1)], c[t + np.uintp(2)], c[t + np.uintp(3)] = zeros, ones, a, b
        w[t], w[t + np.uintp(1)], w[t + np.uintp(2)], w[t + np.uintp(3)] = zeros, ones, a, b
        named(block.state[0].used, f, left - 1, NO_SIDE, price, block)


@inline
def put(lost_left, all_w, all_c, left_w, left_c, lost_w, lost_c, counted, moments, block):
    """Write the table of a cut, as the next one of the block; there is room.

    lost_left : missing rows are left of it.
    all_*, left_*, lost_* : one row of the node, left of the cut, and without a value.
    counted : weights are counts.
    moments : weights are Σw, Σwy, Σwy².
    """
    t, width, count_width = block.state[0].used, len(all_w), len(all_c)
    w, c = 2 * t * width, 2 * t * count_width
    for k in range(count_width):
        here = left_c[k] + (lost_c[k] if lost_left else 0)
        block.counts[c + k], block.counts[c + count_width + k] = here, all_c[k] - here
    for k in range(width):
        if counted:
            block.weights[w + k] = block.counts[c + k]
            block.weights[w + width + k] = block.counts[c + width + k]
            continue
        here = left_w[k] + (lost_w[k] if lost_left else 0.0)
        # where no row of a class is left its weight is 0 and not 1e-17
        gone = not moments and block.counts[c + width + k] == 0
        block.weights[w + k], block.weights[w + width + k] = here, 0.0 if gone else all_w[k] - here


@inner
def split_run(run, goes, start, wanted, spare):
    """Divide a run stably by outcome, in place.

    goes : outcome by object.
    start : int64[outcomes + 1], their first places.
    wanted : of two outcomes, 1 only the left part is needed, 2 only the right, 3 both; the other
        part is then stale.  Else not read.
    spare : uint64[≥ len(run)], scratch.
    """
    m = len(run)
    if len(start) > 3:
        split_many(run, OBJECT, goes, start, spare)
        return
    if wanted == 2:
        at = m - 1
        for j in range(m - 1, -1, -1):
            entry = run[j]
            run[at] = entry
            at -= np.int64(goes[entry & OBJECT])
            if at < 0:
                break
        return
    left = split_two(run, OBJECT, goes, spare)
    if wanted == 3:
        take_back(run, left, spare)
