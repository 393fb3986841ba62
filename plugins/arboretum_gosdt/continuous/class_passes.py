"""Vector passes over all columns at once for more than two classes, in the layout of
:mod:`.column_passes`.

What one split of a side labels rightly is the weight of one class at the left of its cut, and of
one at its right.  Registers hold the sums of four classes of both sides, or of eight of one; those
that are not among the heaviest of a side seldom matter, which is seen afterwards::

    totals[class, side] = weights of the side's rows      (count_classes; by blocks: sum_classes)
    for every vector:
        before[class, side] = weights in the blocks before each lane's               (sum_classes)
        for both sides, k over the side's heaviest four; for its steps, lane by lane:
            left[k] = left[k] + the row's weight;  right[k] = right[k] − the row's weight
            the row is the last of its value: best = max(best, max left + max right)
                                                                             (measure_both_sides)
        for each side, its rivals = the classes k of total[k] + the greatest total > best:
            more than four: the same with the heaviest eight                   (measure_one_side)
            more than eight: the same with all of them, whose sums stand in memory
                                                                              (measure_in_memory)

A split that labels more than ``best`` rightly names two rivals: the total of each, with that of the
other, is more.  So where all rivals were counted, ``best`` is the best of all splits.

What it was worth, in processor seconds at depth 3, against all classes in memory: bean 3.64 and
2.72, fault 2.67 and 1.63, page .83 and .75, avila 6.24 and 5.03; at depth 4 segment 30.6 and 25.1,
room 12.6 and 11.7.  A second group of four on both sides, in place of eight of one, left avila at
6.4.

Invariants: classes are padded to a multiple of FOUR, K, by ones without rows.  ``room``: two
vectors, the first of zeros; before[class, side], zeros where a column is one block; K vectors that
``measure_in_memory`` overwrites.  chosen[side] has all classes, the heaviest first.  ``out`` never
falls, and is the best of all vectors after the last.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING

from llvmlite import ir

from arboretum.kernels.jit import inner
from arboretum_gosdt.continuous.column_passes import mask_of_bits, sum_over_blocks
from arboretum_gosdt.simd.lanes import lanes_kernel

if TYPE_CHECKING:
    from llvmlite.ir import Value

    from arboretum_gosdt.simd.lanes import Lanes

FOUR = 4
"""Classes of both sides whose sums registers hold."""


ClassRows = namedtuple("ClassRows", "weights labels ranks ends cut first steps")
"""Rows in the layout, and a cut.

weights, labels, ranks : int16/32[vectors · steps · lanes].
ends : uint64[vectors · steps], bit set after the last row of a value.
cut : a rank.   first : the first step of a vector.   steps : of each.
"""

ClassSums = namedtuple("ClassSums", "classes room totals chosen out")
"""What a pass knows of the classes.

classes : K.
room : as weights; 2 + 3 · K vectors, overwritten but for the first.
totals : int64[2 · K], of both sides of each class; read where a column is one block, else written.
chosen : int64[2 · K], written.
out : int64[2], written.
"""


@inner
def measure_many_classes(rows, sums, vectors, blocks):
    """Write the most weight that one split labels rightly, for any number of classes: out[0] of the
    rows with rank <= cut, out[1] of the rest.

    rows : ClassRows of the first vector.   sums : ClassSums.
    vectors, blocks : the layout.
    """
    out, totals, chosen, classes = sums.out, sums.totals, sums.chosen, sums.classes
    out[0] = out[1] = 0
    for vector in range(vectors):
        here = ClassRows(
            rows.weights,
            rows.labels,
            rows.ranks,
            rows.ends,
            rows.cut,
            vector * rows.steps,
            rows.steps,
        )
        if blocks > 1:
            sum_classes(here, sums, blocks)
        if vector == 0:
            sort_by_total(totals, 0, chosen)
            sort_by_total(totals, 1, chosen)
        measure_both_sides(here, sums)
        for side in range(2):
            first, rivals = side * classes, 0
            most = totals[2 * chosen[first] + side]
            while rivals < classes and totals[2 * chosen[first + rivals] + side] + most > out[side]:
                rivals += 1
            if rivals > 2 * FOUR:
                measure_in_memory(here, sums, side, rivals)
            elif rivals > FOUR:
                measure_one_side(here, sums, side)


@inner
def count_classes(label, weight, rank, cut, totals):
    """Write the weight of every class on both sides of a cut, row by row.

    label, weight, rank : int32[rows], int64[rows], int32[rows], of a frame; the rank is that in the
        cut's column.
    """
    totals[:] = 0
    for r in range(len(label)):
        totals[2 * label[r] + (rank[r] > cut)] += weight[r]


@inner
def sort_by_total(totals, side, chosen):
    """Sort the classes by their totals of a side, the greatest first."""
    classes = len(totals) // 2
    first = side * classes
    for k in range(classes):
        at = k
        while at > 0 and totals[2 * chosen[first + at - 1] + side] < totals[2 * k + side]:
            chosen[first + at] = chosen[first + at - 1]
            at -= 1
        chosen[first + at] = k


@lanes_kernel()
def sum_classes(lanes, rows, sums, blocks):
    """Write what stands before the blocks of a vector, and the totals of all rows."""
    b, width, zero = lanes.builder, lanes.index(lanes.count), lanes.all(0)
    limit, columns = lanes.spread(rows.cut), b.udiv(width, blocks)
    last = b.trunc(b.sub(width, columns), ir.IntType(32))
    with lanes.loop(lanes.index(0), sums.classes, step=FOUR) as kind:
        names = [lanes.spread(b.add(kind.i, lanes.index(each))) for each in range(FOUR)]
        with lanes.loop(lanes.index(0), rows.steps, [zero] * (2 * FOUR)) as row:
            at = b.mul(b.add(rows.first, row.i), width)
            named, weight = lanes.load(rows.labels, at), lanes.load(rows.weights, at)
            left = b.icmp_signed("<=", lanes.load(rows.ranks, at), limit)
            here = b.select(left, weight, zero)
            row.next = []
            for each, label in enumerate(names):
                mine = b.icmp_signed("==", named, label)
                s, both = row.now[2 * each : 2 * each + 2]
                row.next += [
                    b.select(mine, b.add(s, here), s),
                    b.select(mine, b.add(both, weight), both),
                ]
        for each in range(FOUR):
            s, both = row.after[2 * each : 2 * each + 2]
            k = b.add(kind.i, lanes.index(each))
            for side, total in enumerate((s, b.sub(both, s))):
                running = sum_over_blocks(lanes, total, columns, sums.room)
                lanes.store(b.sub(running, total), sums.room, _before(lanes, k, lanes.index(side)))
                whole = b.sext(b.extract_element(running, last), lanes.index(0).type)
                lanes.put(whole, sums.totals, b.add(b.mul(k, lanes.index(2)), lanes.index(side)))


@lanes_kernel()
def measure_both_sides(lanes, rows, sums):
    """Raise ``out`` to what the best split of a vector's columns labels rightly that names none but
    the first four classes of its side.
    """
    _measure(lanes, rows, sums, (lanes.index(0), lanes.index(1)), FOUR)


@lanes_kernel()
def measure_one_side(lanes, rows, sums, side):
    """Raise ``out`` of one side to what the best split of a vector's columns labels rightly that
    names none but the first eight classes.
    """
    _measure(lanes, rows, sums, (side,), 2 * FOUR)


@lanes_kernel()
def measure_in_memory(lanes, rows, sums, side, rivals):
    """Raise ``out`` of one side to what the best split of a vector's columns labels rightly that
    names none but the first ``rivals`` classes.
    """
    b, width, zero = lanes.builder, lanes.index(lanes.count), lanes.all(0)
    begin = b.mul(sums.classes, side)
    held = b.gep(sums.room, [_before(lanes, sums.classes, lanes.index(0))])
    with lanes.loop(lanes.index(0), rivals) as kind:
        k = lanes.element(sums.chosen, b.add(begin, kind.i))
        before = lanes.load(sums.room, _before(lanes, k, side))
        lanes.store(before, held, b.mul(kind.i, width))
    limit = lanes.spread(rows.cut)
    with lanes.loop(lanes.index(0), rows.steps, [zero]) as row:
        named, end, here, there = _row(lanes, rows, limit, row.i)
        more = b.select(b.icmp_signed("==", side, lanes.index(0)), here, there)
        with lanes.loop(lanes.index(0), rivals, [zero] * 2) as kind:
            k = lanes.element(sums.chosen, b.add(begin, kind.i))
            place = b.mul(kind.i, width)
            old = lanes.load(held, place)
            new = b.select(b.icmp_signed("==", named, lanes.spread(k)), b.add(old, more), old)
            lanes.store(new, held, place)
            rest = b.sub(lanes.spread(_total(lanes, sums, k, side)), new)
            kind.next = [
                lanes.call("smax", most, one)
                for most, one in zip(kind.now, (new, rest), strict=True)
            ]
        rightly = lanes.call("smax", row.now[0], b.add(*kind.after))
        row.next = [b.select(end, rightly, row.now[0])]
    _raise(lanes, row.after[0], sums.out, side)


def _measure(
    lanes: Lanes, rows: ClassRows, sums: ClassSums, sides: tuple[Value, ...], count: int
) -> None:
    """Raise ``out`` of some sides to what the best split of a vector's columns labels rightly that
    names none but the first ``count`` classes, whose sums stand in registers.
    """
    b, zero = lanes.builder, lanes.all(0)
    limit, held, names = lanes.spread(rows.cut), [zero] * len(sides), []
    for side in sides:
        for each in range(count):
            place = b.add(b.mul(sums.classes, side), lanes.index(each))
            k = lanes.element(sums.chosen, place)
            before = lanes.load(sums.room, _before(lanes, k, side))
            total = lanes.spread(_total(lanes, sums, k, side))
            held += [before, b.sub(total, before)]
            names.append(lanes.spread(k))
    with lanes.loop(lanes.index(0), rows.steps, held) as row:
        named, end, here, there = _row(lanes, rows, limit, row.i)
        if len(sides) == 2:
            adds = [here, there]
        else:
            adds = [b.select(b.icmp_signed("==", sides[0], lanes.index(0)), here, there)]
        best, after = [], []
        for place, more in enumerate(adds):
            lefts, rights = [], []
            for each in range(place * count, (place + 1) * count):
                left, right = row.now[len(sides) + 2 * each : len(sides) + 2 * each + 2]
                mine = b.icmp_signed("==", named, names[each])
                lefts.append(b.select(mine, b.add(left, more), left))
                rights.append(b.select(mine, b.sub(right, more), right))
                after += [lefts[-1], rights[-1]]
            known = row.now[place]
            rightly = b.add(_greatest(lanes, lefts), _greatest(lanes, rights))
            best.append(b.select(end, lanes.call("smax", known, rightly), known))
        row.next = [*best, *after]
    for place, side in enumerate(sides):
        _raise(lanes, row.after[place], sums.out, side)


def _row(
    lanes: Lanes, rows: ClassRows, limit: Value, step: Value
) -> tuple[Value, Value, Value, Value]:
    """Return the classes of a step, where values end, and its weights on both sides of the cut."""
    b = lanes.builder
    at = b.add(rows.first, step)
    place = b.mul(at, lanes.index(lanes.count))
    weight, rank = lanes.load(rows.weights, place), lanes.load(rows.ranks, place)
    here = b.select(b.icmp_signed("<=", rank, limit), weight, lanes.all(0))
    named, end = lanes.load(rows.labels, place), mask_of_bits(lanes, rows.ends, at)
    return named, end, here, b.sub(weight, here)


def _before(lanes: Lanes, k: Value, side: Value) -> Value:
    """Return where the vector before[k, side] begins."""
    b = lanes.builder
    place = b.add(b.mul(b.add(k, lanes.index(1)), lanes.index(2)), side)
    return b.mul(place, lanes.index(lanes.count))


def _total(lanes: Lanes, sums: ClassSums, k: Value, side: Value) -> Value:
    b = lanes.builder
    return lanes.element(sums.totals, b.add(b.mul(k, lanes.index(2)), side))


def _greatest(lanes: Lanes, vectors: list[Value]) -> Value:
    """Return the greatest of vectors, lane by lane."""
    while len(vectors) > 1:
        vectors = [
            lanes.call("smax", *two) for two in zip(vectors[::2], vectors[1::2], strict=True)
        ]
    return vectors[0]


def _raise(lanes: Lanes, found: Value, out: Value, place: Value) -> None:
    """Raise a number of ``out`` to the greatest of a vector."""
    b = lanes.builder
    most = b.sext(lanes.reduce("smax", found), lanes.index(0).type)
    old = lanes.element(out, place)
    lanes.put(b.select(b.icmp_signed(">", most, old), most, old), out, place)
