"""Rows to words, and what is summed over the rows of a set, for the depth-limited search (see
:mod:`.pair_counts`)::

    pack_rows:    bit t of words[w, f] = outcome of feature f in row t of word w
    sum_margins:  margin[f] = 0;  for the groups from the greatest weight to 1:
                      margin[f] = 2 · margin[f] + Σ over words w of the group: ones(words[w, f])
    sum_margins_of_part:  the same with words[w, f] & part[w]
    sum_hashes:   out[f] = Σ of the random words of the rows with outcome 1 of f (mod 2⁶⁴)
    append_chosen_rows: append those of a word's rows whose bit is set

Invariants: a word has as many rows as a lane has bits: 16, 32 or 64.  A row's outcomes are
``chunks`` int32 words; lanes of features that are not there have its zeros.  The first ``ring``
lanes are repeated behind the last feature.  Vectors are written whole: ``append_chosen_rows`` may
overwrite as many rows behind its end as a word has.

In the bodies lanes is the writer, a Lanes, which the decorator hands in: callers of a kernel do
not pass it.
"""

from llvmlite import ir
from numba.core import types

from arboretum_gosdt.depth.pair_counts import (
    add_to_doubled,
    count_ones_of_bytes,
    sum_bytes_of_lanes,
)
from arboretum_gosdt.simd.lanes import lanes_kernel

PART = 16
"""Rows that are appended at once: of a vector of the widest registers."""


@lanes_kernel()
def pack_rows(lanes, words, layout, bits, rows, low, high, begin):
    """Write the words ``low`` … ``high`` − 1, of as many rows each as a lane has bits.

    words : out, [words · stride].
    layout : Layout; lanes up to its ring behind the last feature are written.
    bits : int32, flat, outcomes of all features by row.
    rows : int32[words · width], where in it a row begins; an empty row is at a place with zeros.
    begin : of the 32 features each, the first that are written.
    """
    build, index = lanes.builder, lanes.index
    width, i1 = lanes.word.width, ir.VectorType(ir.IntType(1), lanes.count)
    part = ir.IntType(lanes.count)
    pieces = 32 // lanes.count
    with lanes.loop(low, high) as loop:
        place, row = build.mul(loop.i, index(width)), build.mul(loop.i, layout.stride)
        places = [
            build.sext(lanes.element(rows, build.add(place, index(k))), ir.IntType(64))
            for k in range(width)
        ]
        with lanes.loop(begin, layout.chunks) as chunk:
            found = [lanes.all(0)] * pieces
            for k in range(width):
                outcomes = lanes.element(bits, build.add(places[k], chunk.i))
                for piece in range(pieces):
                    few = (
                        build.trunc(
                            build.lshr(outcomes, ir.Constant(ir.IntType(32), piece * lanes.count)),
                            part,
                        )
                        if pieces > 1
                        else outcomes
                    )
                    mask = build.bitcast(few, i1)
                    found[piece] = build.or_(
                        found[piece], build.select(mask, lanes.all(1 << k), lanes.all(0))
                    )
            at = build.add(row, build.mul(chunk.i, index(32)))
            for piece in range(pieces):
                lanes.store(found[piece], words, build.add(at, index(piece * lanes.count)))
        with lanes.loop(index(0), layout.ring, step=lanes.count) as ring:
            at = build.add(row, ring.i)
            lanes.store(lanes.load(words, at), words, build.add(at, layout.features))


@lanes_kernel(types.int64)
def append_chosen_rows(lanes, words, chosen, rows, low, into, at):
    """Append to ``into``, from place ``at`` on, those of rows[low], rows[low + 1] … whose bit in
    ``chosen`` is 1, the lowest bit first, as many as a word has bits; return the place behind the
    last one.  What lies behind it, up to a word's bits, may be overwritten.

    words : is not read; a kernel takes the width of its lanes from its first array.
    rows, into : int32.
    """
    build, part, i64 = lanes.builder, ir.IntType(PART), ir.IntType(64)
    kind, mask = ir.VectorType(ir.IntType(32), PART), ir.VectorType(ir.IntType(1), PART)
    for k in range(lanes.word.width // PART):
        few = build.trunc(build.lshr(chosen, ir.Constant(i64, k * PART)), part)
        first = build.gep(rows, [build.add(low, lanes.index(k * PART))])
        found = build.load(build.bitcast(first, kind.as_pointer()))
        found.align = 4  # rows begin anywhere
        lanes.append(found, build.bitcast(few, mask), into, at)
        at = build.add(at, build.zext(build.ctpop(few), i64))
    return at


@lanes_kernel()
def sum_margins(lanes, packed, layout, low, high, margin, at):
    """Sum into margin[at + lane] the weight of the rows that have a feature, of the groups ``low``,
    ``low`` + step … below ``high``.

    step : 2 where classes take turns (margin is signed), else 1; each group is of half the weight
        of the one before.
    packed : Packed; layout : Layout.
    margin : out; its type says whether it is signed.
    """
    _sum_words(lanes, packed, layout, low, high, margin, at, (lanes.index(0), layout.stride))


@lanes_kernel()
def sum_margins_of_part(lanes, packed, layout, low, high, margin, at, part, begin, end):
    """Do the same for some of the rows, of the lanes ``begin`` … ``end`` − 1.

    part : uint[words], a bit for each of the rows.
    begin, end : multiples of 32.
    """
    _sum_words(lanes, packed, layout, low, high, margin, at, (begin, end), part)


def _sum_words(lanes, packed, layout, low, high, margin, at, between, part=None):
    """Write what both do; ``between``: the first lane, and the one behind the last."""
    build = lanes.builder
    step = 2 if lanes.kinds[4].dtype.signed else 1
    with lanes.loop(*between, step=lanes.count) as chunk:
        with lanes.loop(low, high, [lanes.all(0)], step=step) as groups:
            first = lanes.element(packed.start, groups.i)
            last = lanes.element(packed.start, build.add(groups.i, lanes.index(1)))
            with lanes.loop(first, last, [lanes.all(0)]) as word:
                x = lanes.load(packed.words, build.add(build.mul(word.i, layout.stride), chunk.i))
                if part is not None:
                    x = build.and_(x, lanes.spread(lanes.element(part, word.i)))
                word.next = [
                    build.add(word.now[0], sum_bytes_of_lanes(lanes, count_ones_of_bytes(lanes, x)))
                ]
            groups.next = add_to_doubled(lanes, groups.now, word.after)
        lanes.store(groups.after[0], margin, build.add(at, chunk.i))


@lanes_kernel()
def sum_hashes(lanes, hashes, bits, place, rows, number, chunks, out):
    """Write the sums, mod 2⁶⁴, of both random words of the rows that have a feature.

    hashes : uint64[2 · rows].
    bits, place : as for pack_rows, place by row.
    rows : int32, the first ``number`` count.
    chunks : int32 words of a row.
    out : uint64[2, 32 · chunks], flat.
    """
    build, index, i64 = lanes.builder, lanes.index, ir.IntType(64)
    parts, i32 = 32 // lanes.count, ir.IntType(32)
    with lanes.loop(index(0), chunks) as chunk:
        with lanes.loop(index(0), number, [lanes.all(0)] * (2 * parts)) as loop:
            row = build.sext(lanes.element(rows, loop.i), i64)
            outcomes = lanes.element(
                bits, build.add(build.sext(lanes.element(place, row), i64), chunk.i)
            )
            words = [
                lanes.spread(lanes.element(hashes, build.add(build.add(row, row), index(k))))
                for k in (0, 1)
            ]
            loop.next = []
            for part in range(parts):
                few = build.trunc(
                    build.lshr(outcomes, ir.Constant(i32, part * lanes.count)),
                    ir.IntType(lanes.count),
                )
                mask = build.bitcast(few, ir.VectorType(ir.IntType(1), lanes.count))
                for k, word in enumerate(words):
                    chosen = build.select(mask, word, lanes.all(0))
                    loop.next.append(build.add(loop.now[2 * part + k], chosen))
        for part in range(parts):
            at = build.add(build.mul(chunk.i, index(32)), index(part * lanes.count))
            lanes.store(loop.after[2 * part], out, at)
            lanes.store(loop.after[2 * part + 1], out, build.add(build.mul(chunks, index(32)), at))


@lanes_kernel()
def fill_array(lanes, array, at, end, value):
    """Set array[at … end − 1] to a value; whole vectors are written."""
    with lanes.loop(at, end, step=lanes.count) as loop:
        lanes.store(lanes.spread(value), array, loop.i)
