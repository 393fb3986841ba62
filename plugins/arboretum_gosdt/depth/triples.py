"""Depth 3 by counts of all triples of features, each triple once: for a set that is searched to
the end, where bounds leave little out.

A *cell* is a pair of literals of two features, and best[cell] what the best split of it gets right,
as counts of pairs have it (:mod:`.pair_counts`).  A triple {f, g, h} has eight parts, which say
what its third feature makes of each cell of the other two::

    for every f, for two g at a time from f on, for every vector of h from theirs on:
        count D(T ∧ g ∧ h), T the smaller side of f; the seven other parts by subtraction
        right of a part = |D|, or the greatest weight of a class
        best[f, g], best[f, h], best[g, h] (all literals) = the most of right over their third one
    R of depth 2 on a literal of f: most over g of best[literal, g] + best[literal, ¬g]
    R of depth 3: most over f of both its literals

Counting the pairs of both sides of every f, as SPLIT does, counts each triple three times.

Invariants: best[u, w, f, h] is of outcome u of f and w of h, the one with the lower number first;
what stands where h is below f is less than its best, or no more.  Windows end at the last feature,
so that ``count`` has every pair from its first feature's vector on.  Two features of a triple may
be the same: then it says what a leaf gets right.
"""

import itertools

import numpy as np

from arboretum.kernels.jit import inner
from arboretum_gosdt.depth.pair_counts import (
    TOGETHER,
    Packed,
    Pairs,
    Side,
    cells_of_pair,
    count_class_cells,
    count_signed_cells,
)
from arboretum_gosdt.depth.passes import collect_rows_of_side, loss_from_correct, pack_set
from arboretum_gosdt.simd.lanes import lanes_kernel

SIDES, OUTCOMES = (0, 1), (1, 0)
"""Side 0 is the smaller one; cells of a pair are in the order of outcomes."""


@lanes_kernel()
def count_triples(lanes, packed, layout, pairs, side, rest, best, f, outcome):
    """Raise ``best`` by all triples whose first feature is f.

    packed, pairs, side, rest : as of :func:`.pair_counts.count_pairs_of_sides`; rest is its other.
    best : [4 · features · stride], flat.
    outcome : of f, on ``side``.
    """
    build, index, stride = lanes.builder, lanes.index, layout.stride
    signed = lanes.kinds[2].types[0].dtype.signed
    name = "smax" if signed else "umax"
    sides, square = [side, rest], build.mul(layout.features, stride)
    outcomes = [outcome, build.sub(index(1), outcome)]

    def place(one, other, row, lane):
        """Return where ``best`` of these outcomes is."""
        number = build.add(build.add(one, one), other)
        return build.add(build.mul(number, square), build.add(build.mul(row, stride), lane))

    def raise_best(at, values):
        """Raise the vector of ``best`` at a place."""
        found = lanes.load(best, at)
        for value in values:
            found = lanes.call(name, found, value)
        lanes.store(found, best, at)

    first = build.mul(build.lshr(f, index(1)), index(TOGETHER))
    with lanes.loop(first, layout.features, step=TOGETHER) as outer:
        g = [build.add(outer.i, index(t)) for t in range(TOGETHER)]
        block = build.lshr(outer.i, index(1))
        begin, end = lanes.element(layout.begin, block), lanes.element(layout.end, block)
        with lanes.loop(begin, end, [lanes.all(0)] * (4 * TOGETHER), step=lanes.count) as loop:
            h = loop.i
            places = [build.add(build.mul(one, stride), h) for one in g]
            # right[side][t][outcome of g][outcome of h]
            right = []
            if signed:
                found = count_signed_cells(lanes, packed, pairs, sides, h, g, places, stride)
                for one, cells in zip(sides, found, strict=True):
                    whole = lanes.spread(lanes.element(one.whole, index(0)))
                    right.append(
                        [
                            [_absolute(lanes, cell) for cell in cells_of_pair(lanes, *cell3, whole)]
                            for cell3 in cells
                        ]
                    )
            else:
                right = count_class_cells(lanes, packed, pairs, sides, h, g, places, layout)
            # cells are in the order (g h), (g ¬h), (¬g h), (¬g ¬h)
            at = {(u, w): 2 * (1 - u) + 1 - w for u in OUTCOMES for w in OUTCOMES}
            following = []
            for s, t in itertools.product(SIDES, range(TOGETHER)):
                for u in OUTCOMES:
                    both = build.add(right[s][t][at[u, 1]], right[s][t][at[u, 0]])
                    following.append(lanes.call(name, loop.now[len(following)], both))
            for s, w in itertools.product(SIDES, OUTCOMES):
                raise_best(
                    place(outcomes[s], index(w), f, h),
                    [
                        build.add(right[s][t][at[1, w]], right[s][t][at[0, w]])
                        for t in range(TOGETHER)
                    ],
                )
            for t, u, w in itertools.product(range(TOGETHER), OUTCOMES, OUTCOMES):
                raise_best(
                    place(index(u), index(w), g[t], h),
                    [build.add(right[0][t][at[u, w]], right[1][t][at[u, w]])],
                )
            loop.next = following
        carried = iter(loop.after)
        for s, t, u in itertools.product(SIDES, range(TOGETHER), OUTCOMES):
            value, spot = lanes.reduce(name, next(carried)), place(outcomes[s], index(u), f, g[t])
            known = lanes.element(best, spot)
            more = (build.icmp_signed if signed else build.icmp_unsigned)(">", value, known)
            lanes.put(build.select(more, value, known), best, spot)


def _absolute(lanes, value):
    """Return |value| of each lane."""
    return lanes.call("smax", value, lanes.builder.sub(lanes.all(0), value))


@inner
def best_of_literal(layout, best, f, outcome):
    """Return (feature, right) of the best tree of depth 2 on the rows with an outcome of f.

    best : [2, 2, features, stride].
    """
    found, most = np.int64(0), np.int64(-1)
    for g in range(layout.features):
        if g < f:
            both = np.int64(best[0, outcome, g, f]) + np.int64(best[1, outcome, g, f])
        else:
            both = np.int64(best[outcome, 0, f, g]) + np.int64(best[outcome, 1, f, g])
        if both > most:
            most, found = both, np.int64(g)
    return found, most


@inner
def start_triples(task, f):
    """Pack the smaller side of f, and count the features of both sides, of the lanes from f's
    vector on; returns (the outcome of f on it, weight of class 0 in it).

    Side 0 of ``scratch.margins`` and ``wholes`` is of that one, side 1 of the other.
    """
    layout, levels, scratch, setting = task.layout, task.levels, task.scratch, task.setting
    smaller = np.int64(2 * levels.total[0, f] <= levels.frame[0].weight)
    words, less = collect_rows_of_side(task, 0, f, smaller)
    pack_set(scratch.words, layout, task.table.bits, scratch.entries, words, f // 32)
    has, lacks = (0, 1) if smaller else (1, 0)
    for k in range(setting.classes):
        at, base = k * layout.stride, (k * layout.features + f) * layout.stride
        with_f, without = scratch.margins[has], scratch.margins[lacks]
        for h in range(f // 32 * 32, layout.features):
            there = levels.count[0, base + h]
            with_f[at + h] = there
            without[at + h] = levels.margin[0, at + h] - there
        part = levels.margin[0, at + f]
        scratch.wholes[has, k], scratch.wholes[lacks, k] = part, levels.whole[0, k] - part
    return smaller, less


@inner
def search_triples(task):
    """Solve the set of level 0, of depth 3, whose pairs are counted to the end.

    Writes ``scratch.best``, and ``ub``, ``feature``, ``one``, ``other`` and ``solved`` of the
    frame.
    """
    layout, levels, scratch, setting = task.layout, task.levels, task.scratch, task.setting
    frame, best = levels.frame[0], scratch.best
    first = task.table.mixed if setting.two else task.table.first
    pairs = Pairs(levels.count[0], levels.weight[0], scratch.lanes, scratch.single)
    flat = best.reshape(-1)
    flat[:] = 0
    for f in range(layout.features):
        if not 0 < levels.total[0, f] < frame.weight:
            continue
        outcome, less = start_triples(task, f)
        packed = Packed(scratch.words, scratch.flip, scratch.start, first, setting.classes, less)
        side = Side(scratch.margins[0], scratch.wholes[0])
        other = Side(scratch.margins[1], scratch.wholes[1])
        count_triples(packed, layout, pairs, side, other, flat, f, outcome)
        task.state[0].opened += 2
    for f in range(layout.features):
        inside = np.int64(levels.total[0, f])
        if not 0 < inside < frame.weight:
            continue
        one, right = best_of_literal(layout, best, f, 1)
        other, rest = best_of_literal(layout, best, f, 0)
        both = loss_from_correct(setting, inside, right) + loss_from_correct(
            setting, frame.weight - inside, rest
        )
        if both < frame.ub:
            frame.ub, frame.feature, frame.one, frame.other = both, f, one, other
    frame.solved = 1
