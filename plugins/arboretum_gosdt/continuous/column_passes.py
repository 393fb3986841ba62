"""Vector passes over all columns at once: what a cut of one column leaves for one more split on
each side.

**Layout.** The rows of a table stand once for every column h, in the order of h, cut into
``blocks`` contiguous parts of ``steps`` rows each.  The lanes of a vector are pairs (block,
column): a vector holds ``lanes / blocks`` columns, lane ``block · (lanes / blocks) + column``, and
its step i the i-th row of every block.  With as many blocks as fill the lanes, a pass is one loop
over steps, and the sums of blocks are put together only once for each vector.  Element ``(vector ·
steps + i) · lanes + lane``.

Two classes: a row is its weight, negative for class 1.  More: a row is its weight, its class stands
in an array of its own.  Of two classes, for the cut of one column::

    for every vector, for its steps i, lane by lane:
        the row is at or below the cut: s = s + its weight;  else t = t + its weight
        the row is the last of its value: most = max(most, s), least = min(least, s); so for t
    after every ``span`` steps: s, most and least are put into wider lanes; so are those of t
    for every block: add s of the blocks before it to most and least (saturating); so for t
    out = greatest most, least least and s of all rows; the same of t          (measure_two_classes)

Invariants: a row that a set lacks has weight 0, so a pass needs no list of rows.  Bits of ``ends``
stand only after the last row of a value, as no cut can divide equal values.  Sums within
``span`` steps fit into a lane, sums of blocks into those of ``room``, whose first vector stays 0
(``sum_over_blocks`` reads it in place of the blocks before the first).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from arboretum_gosdt.simd.lanes import Lanes, lanes_kernel

if TYPE_CHECKING:
    from llvmlite.ir import Value


def mask_of_bits(lanes: Lanes, pointer: Value, at: Value) -> Value:
    """Return a vector of truth values from the low bits of a uint64, pointer[at]."""
    word, builder = lanes.element(pointer, at), lanes.builder
    if lanes.count < 64:
        word = builder.trunc(word, ir.IntType(lanes.count))
    return builder.bitcast(word, ir.VectorType(ir.IntType(1), lanes.count))


def sum_over_blocks(lanes: Lanes, sums: Value, columns: Value, room: Value) -> Value:
    """Return, lane by lane, the sums over the blocks of a column up to this one, it included.

    room : two vectors, the first of zeros.
    """
    builder, one, width = lanes.builder, lanes.index(1), lanes.index(lanes.count)
    # blocks double: a shift by 1, 2, 4 … blocks is a load from so many lanes before
    rounds = builder.sub(
        builder.cttz(width, ir.Constant(ir.IntType(1), 1)),
        builder.cttz(columns, ir.Constant(ir.IntType(1), 1)),
    )
    with lanes.loop(lanes.index(0), rounds, [sums]) as loop:
        lanes.store(loop.now[0], room, width)
        shift = builder.shl(columns, builder.mul(loop.i, one))
        loop.next = [
            builder.add(loop.now[0], lanes.load(room, builder.sub(width, shift), sums.type.element))
        ]
    return loop.after[0]


def _widen(lanes: Lanes, vector: Value, word: Value, edge: int | None = None) -> Value:
    """Return the same numbers in wider lanes.

    edge : −1 or 1: the least or the greatest number stands for "none" and becomes the least or the
        greatest of the wider lanes; None: no number does.
    """
    if vector.type.element.width == word.width:
        return vector
    wide = lanes.builder.sext(vector, ir.VectorType(word, lanes.count))
    if edge is None:
        return wide
    unknown = lanes.builder.icmp_signed(
        "==", vector, lanes.all(_limit_of_word(vector.type.element, edge))
    )
    return lanes.builder.select(unknown, lanes.all(_limit_of_word(word, edge), word), wide)


def _limit_of_word(word: Value, side: int) -> int:
    """Return the least (-1) or greatest (1) signed number of a word."""
    found: int = -(1 << (word.width - 1)) if side < 0 else (1 << (word.width - 1)) - 1
    return found


def _write_results(lanes: Lanes, out: Value, values: list[Value]) -> None:
    for at, value in enumerate(values):
        lanes.put(lanes.builder.sext(value, lanes.index(0).type), out, lanes.index(at))


@lanes_kernel()
def measure_two_classes(lanes, signs, ranks, ends, cut, vectors, steps, span, blocks, room, out):
    """Write, for two classes, the largest and the smallest sum of signs of the first rows of any
    column, and the sum of all rows: out[:3] of the rows with rank <= cut, out[3:6] of the rest.

    signs : int8/16/32[vectors · steps · lanes]; no ``span`` steps of a block add up to more than
        they hold.
    ranks : int16/32.
    ends : uint64[vectors · steps], bit set after the last row of a value.
    cut : a rank.
    vectors, steps, blocks : the layout (see above), numbers.
    span : steps whose weights of a block fit into a lane.
    room : int16/32, wide enough for all weights together: two vectors, the first of zeros, the
        second overwritten.
    out : int64[6], written.
    """
    b = lanes.builder
    width = lanes.index(lanes.count)
    zero = lanes.all(0)
    ranked = lanes.words[1]
    wide = lanes.words[8]
    low = lanes.all(_limit_of_word(lanes.word, -1))
    high = lanes.all(_limit_of_word(lanes.word, 1))
    limit, columns = lanes.spread(cut, ranked), b.udiv(width, blocks)
    wide_zero = lanes.all(0, wide)
    unknown = [
        lanes.all(_limit_of_word(wide, -1), wide),
        lanes.all(_limit_of_word(wide, 1), wide),
        wide_zero,
    ]
    with lanes.loop(lanes.index(0), vectors, unknown * 2) as loop:
        first = b.mul(loop.i, steps)
        parts = b.udiv(b.sub(b.add(steps, span), lanes.index(1)), span)
        with lanes.loop(lanes.index(0), parts, [wide_zero, *unknown[:2]] * 2) as part:
            begin = b.mul(part.i, span)
            end = b.add(begin, span)
            end = b.select(b.icmp_signed("<", end, steps), end, steps)
            with lanes.loop(begin, end, [zero, low, high] * 2) as row:
                at = b.add(first, row.i)
                place = b.mul(at, width)
                sign, last = lanes.load(signs, place), mask_of_bits(lanes, ends, at)
                left = b.icmp_signed("<=", lanes.load(ranks, place, ranked), limit)
                s, most, least, t, other_most, other_least = row.now
                s2, t2 = b.select(left, b.add(s, sign), s), b.select(left, t, b.add(t, sign))
                row.next = [
                    s2,
                    b.select(last, lanes.call("smax", most, s2), most),
                    b.select(last, lanes.call("smin", least, s2), least),
                    t2,
                    b.select(last, lanes.call("smax", other_most, t2), other_most),
                    b.select(last, lanes.call("smin", other_least, t2), other_least),
                ]
            part.next = []
            for side in (0, 1):
                total, most, least = part.now[3 * side : 3 * side + 3]
                more, high_in, low_in = (
                    _widen(lanes, row.after[3 * side + k], wide, edge)
                    for k, edge in enumerate((None, -1, 1))
                )
                # saturating: a block without the end of a value keeps the extreme numbers that it
                # began with
                part.next += [
                    b.add(total, more),
                    lanes.call("smax", most, lanes.call("sadd.sat", high_in, total)),
                    lanes.call("smin", least, lanes.call("sadd.sat", low_in, total)),
                ]
        found = []
        for side in (0, 1):
            total, most, least = part.after[3 * side : 3 * side + 3]
            running = sum_over_blocks(lanes, total, columns, room)
            before = b.sub(running, total)
            most = lanes.call("sadd.sat", most, before)
            least = lanes.call("sadd.sat", least, before)
            found += [
                lanes.call("smax", loop.now[3 * side], most),
                lanes.call("smin", loop.now[3 * side + 1], least),
            ]
            found.append(running)
        loop.next = found
    numbers = []
    for side in (0, 1):
        most, least, running = loop.after[3 * side : 3 * side + 3]
        # the last block of the vector's first column
        lane = b.trunc(b.sub(width, columns), ir.IntType(32))
        numbers += [
            lanes.reduce("smax", most),
            lanes.reduce("smin", least),
            b.extract_element(running, lane),
        ]
    _write_results(lanes, out, numbers)


@lanes_kernel()
def keep_signs_of_side(lanes, signs, ranks, cut, left, vectors, steps, blocks, room, kept, counts):
    """Write the signs of the rows with (rank <= cut) == left, else 0, to ``kept``, and the weight
    of the kept rows of the column up to each to ``counts``.

    signs, kept : int8/16/32[vectors · steps · lanes].
    ranks : int16/32.
    left : 1 for the rows up to the cut, 0 for the others.
    vectors, steps, blocks : the layout (see above), numbers.
    room : int32, two vectors, the first of zeros, the second overwritten.
    counts : int32, written, at the places of the layout.
    """
    b = lanes.builder
    width = lanes.index(lanes.count)
    zero = lanes.all(0)
    wide = lanes.words[1]
    full = ir.IntType(32)
    limit, columns = lanes.spread(cut, wide), b.udiv(width, blocks)
    wanted = b.icmp_signed("!=", left, lanes.index(0))
    with lanes.loop(lanes.index(0), vectors) as loop:
        first = b.mul(loop.i, steps)
        with lanes.loop(lanes.index(0), steps, [lanes.all(0, full)]) as row:
            at = b.mul(b.add(first, row.i), width)
            sign = lanes.load(signs, at)
            below = b.select(b.icmp_signed("<=", lanes.load(ranks, at, wide), limit), sign, zero)
            mine = b.select(wanted, below, b.sub(sign, below))
            lanes.store(mine, kept, at)
            weight = lanes.call("smax", mine, b.sub(zero, mine))
            row.next = [b.add(row.now[0], _widen(lanes, weight, full))]
            lanes.store(row.next[0], counts, at)
        running = sum_over_blocks(lanes, row.after[0], columns, room)
        before = b.sub(running, row.after[0])
        with lanes.loop(
            lanes.index(0),
            b.select(b.icmp_signed(">", blocks, lanes.index(1)), steps, lanes.index(0)),
        ) as row:
            at = b.mul(b.add(first, row.i), width)
            lanes.store(b.add(lanes.load(counts, at, full), before), counts, at)
