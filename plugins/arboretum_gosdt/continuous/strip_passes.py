"""Vector passes that add rows to strips of a column, within all sides of another at once.

**Layout.** The lanes of a vector are sides: lane i < coarse has the rows of the first i + 1 coarse
blocks, lane coarse + i those of the blocks from i on; ``member`` has the lanes of every coarse
block.  Rows are read in the order of one column, whose values must not be divided::

    row after row:  j, i = its fine block in one column, its coarse block in another
        it begins a value in j:   most[j], least[j] = max, min of them and sum[j]
        sum[j] = sum[j] + its weight in the lanes of i, negative for class 1        (add_to_strips)

    of more classes, k the row's class:                                    (add_to_strips_by_class)
        before[row] = greatest[j] if it begins a value in j, else −1
        sum[j, k] = sum[j, k] + its weight in the lanes of i
        greatest[j] = max(greatest[j], sum[j, k])
    then from the last row to the first, the sums being 0 again:             (join_strips_by_class)
        sum and greatest as before;   best[j] = max(best[j], before[row] + greatest[j])

Invariants: sums of a strip fit into a lane.  Values count from 1 up, ``last_value`` of a strip is 0
before its first row.  Where ``before`` is −1, the sum is no more than what the right side alone
labels rightly, so it never exceeds the best.
"""

from __future__ import annotations

from llvmlite import ir

from arboretum_gosdt.simd.lanes import lanes_kernel

WORD = ir.IntType(32)


def _row_of(lanes, sorted_rows, keys, at):
    """Return number and key of a row, and whether it begins a value, as int32."""
    b = lanes.builder
    code = lanes.element(sorted_rows, at)
    row = b.zext(b.lshr(code, WORD(1)), lanes.index(0).type)
    return row, lanes.element(keys, row), b.and_(code, WORD(1))


def _weight_in_lanes(lanes, key, weights, row, member):
    """Return the weight of a row in the lanes of its coarse block, 0 in others."""
    b = lanes.builder
    block = b.zext(b.and_(key, WORD(255)), lanes.index(0).type)
    mask = lanes.load(member, b.mul(block, lanes.index(lanes.count)))
    return b.and_(mask, lanes.spread(lanes.element(weights, row), lanes.word))


def _strip_of(lanes, key):
    b = lanes.builder
    return b.zext(b.and_(b.lshr(key, WORD(8)), WORD(255)), lanes.index(0).type)


@lanes_kernel()
def add_to_strips(lanes, sums, sorted_rows, keys, signs, last_value, member, count):
    """Add the rows of two classes to their strips in the order of one column.

    sums : int16/32[strips · 3 · lanes]: signed sums, which begin at 0, the greatest and the least.
    sorted_rows, keys, signs, last_value : int32; fine block · 256 + coarse block are a row's key.
    member : as sums [coarse · lanes], −1 where a coarse block belongs to a side, else 0.
    count : rows.
    """
    b, width = lanes.builder, lanes.index(lanes.count)
    with lanes.loop(lanes.index(0), count, [WORD(1)]) as loop:
        row, key, begins = _row_of(lanes, sorted_rows, keys, loop.i)
        value = b.add(loop.now[0], begins)
        strip = _strip_of(lanes, key)
        new = b.icmp_signed("!=", lanes.element(last_value, strip), value)
        lanes.put(value, last_value, strip)
        at = b.mul(strip, lanes.index(3 * lanes.count))
        at_most = b.add(at, width)
        at_least = b.add(at_most, width)
        s, most, least = (lanes.load(sums, each) for each in (at, at_most, at_least))
        lanes.store(b.select(new, lanes.call("smax", most, s), most), sums, at_most)
        lanes.store(b.select(new, lanes.call("smin", least, s), least), sums, at_least)
        lanes.store(b.add(s, _weight_in_lanes(lanes, key, signs, row, member)), sums, at)
        loop.next = [value]


def _add_to_class(lanes, sums, keys_and_rows, weights, member, classes):
    """Add a row to the sum of its class, and return its strip's greatest sum before and after, and
    where the sums of the strip after those of the classes begin.
    """
    b, width = lanes.builder, lanes.index(lanes.count)
    row, key = keys_and_rows
    first = b.mul(b.mul(_strip_of(lanes, key), b.add(classes, lanes.index(2))), width)
    kind = b.zext(b.lshr(key, WORD(16)), lanes.index(0).type)
    mine = b.add(first, b.mul(kind, width))
    at = b.add(first, b.mul(classes, width))
    before = lanes.load(sums, at)
    total = b.add(lanes.load(sums, mine), _weight_in_lanes(lanes, key, weights, row, member))
    lanes.store(total, sums, mine)
    after = lanes.call("smax", before, total)
    lanes.store(after, sums, at)
    return before, after, at


@lanes_kernel()
def add_to_strips_by_class(
    lanes, sums, sorted_rows, keys, weights, last_value, member, before, classes, count
):
    """Add the rows of many classes to their strips in the order of one column, and note what the
    best label of those before each has.

    sums : int16/32[strips · (classes + 2) · lanes]: sums of classes, their greatest, all from 0 on,
        the best of two sides.
    sorted_rows, keys, weights, last_value : int32; class · 65536 + fine block · 256 + coarse block
        are a row's key.
    member : as of :func:`add_to_strips`.
    before : as sums [count · lanes], written.
    classes, count : numbers of classes and rows.
    """
    b = lanes.builder
    with lanes.loop(lanes.index(0), count, [WORD(1)]) as loop:
        row, key, begins = _row_of(lanes, sorted_rows, keys, loop.i)
        value = b.add(loop.now[0], begins)
        strip = _strip_of(lanes, key)
        new = b.icmp_signed("!=", lanes.element(last_value, strip), value)
        lanes.put(value, last_value, strip)
        left, _, _ = _add_to_class(lanes, sums, (row, key), weights, member, classes)
        lanes.store(
            b.select(new, left, lanes.all(-1)), before, b.mul(loop.i, lanes.index(lanes.count))
        )
        loop.next = [value]


@lanes_kernel()
def join_strips_by_class(lanes, sums, sorted_rows, keys, weights, member, before, classes, count):
    """Add the rows from the last to the first, and keep the most weight that one split of a strip
    labels rightly.

    Arguments are those of :func:`add_to_strips_by_class`, which wrote ``before``; sums of classes
    and their greatest are 0.
    """
    b, width = lanes.builder, lanes.index(lanes.count)
    with lanes.loop(lanes.index(0), count) as loop:
        p = b.sub(b.sub(count, lanes.index(1)), loop.i)
        row, key, _ = _row_of(lanes, sorted_rows, keys, p)
        _, right, at = _add_to_class(lanes, sums, (row, key), weights, member, classes)
        best = b.add(at, width)
        both = b.add(lanes.load(before, b.mul(p, width)), right)
        lanes.store(lanes.call("smax", lanes.load(sums, best), both), sums, best)
