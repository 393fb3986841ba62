"""Counting over the words of a node, features as lanes (:mod:`arboretum_gosdt.simd.lanes`).

A node's rows stand in *words*: ``words[w · stride + f]`` holds feature f of 16 (or 32) rows, all of
one *group*: one class k and one power of two b, where a row of weight 5 is a row of the groups (k,
0) and (k, 2); if all weights of the class are multiples of g, a row of weight 5 g is.  A row counts
g · 2ᵇ, the *factor* of its group.  Groups are in the order of classes, those of class k are
``of_class[k] … of_class[k + 1] − 1``, group g has the words ``starts[g] … starts[g + 1] − 1``.
Lanes behind the last feature are 0.  All counts are weights, and fit into a lane but for one: the
largest number means "no such tree". Behind the last class there may be more *planes*, which are
counted as classes are: the loss that no label saves (of more than two classes), and where tests
have prices the mass that the weights do not cover.

With n_k(x) the weight of class k in the rows x, for feature i and a vector of features f::

    n_k(i ∧ f) = Σ over groups g of k: factor[g] · Σ over words w of g: ones(w_i & w_f)
    n_k(i ∧ ¬f) = n_k(i) − n_k(i ∧ f),  n_k(¬i ∧ f) = n_k(f) − n_k(i ∧ f),  n_k(¬i ∧ ¬f) = the rest
    saving(x) = greatest n_k(x);  loss(x) = Σ n_k(x) − equivalent_loss(x) − saving(x)
    leaf(x) = loss(x) if saving(x) is enough, else the largest number
    two[ℓ] = min of leaf(ℓ ∧ f) + leaf(ℓ ∧ ¬f), saturating, over all f
    three[ℓ] = min of leaf(x) over cells x of ℓ beside one whose loss is enough for a split

Invariants: ``two`` and ``three`` only fall while ``count_pairs_of_feature`` runs feature by
feature; it keeps those of i and of all f at once, so that half of the pairs is enough.  It may
begin at i's vector: lanes of ``both`` before it stay as they are.  Arrays reach to the end of the
last vector of a stride; ``append_rows_with_feature`` clears a word's rows behind the end, and so
needs room for them.

In the bodies v is the writer, a Lanes, which the decorator hands in: callers of a kernel do not
pass it.  node is a Words; stride, classes, summed and planes are as in it; k is a plane, i and f
are lanes of features.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types

from arboretum_gosdt.simd.lanes import INDEX, VECTOR_BYTES, Lanes, lanes_kernel

if TYPE_CHECKING:
    from llvmlite.ir import Value


class Words(NamedTuple):
    """A node's words and groups.

    classes, summed, planes, stride : int64; the planes of classes, these and that of equivalent
        loss, all.
    """

    words: Value
    starts: Value
    of_class: Value
    factors: Value
    classes: Value
    summed: Value
    planes: Value
    stride: Value


class Rows(NamedTuple):
    """Rows on the move.

    rows : uint32[parts · positions], the features of each.
    sums : uint64[2 · positions], its random words.
    """

    rows: Value
    sums: Value


def carry_save_add(v: Lanes, x: Value, y: Value, z: Value) -> tuple[Value, Value]:
    """Return the sum bits and the carries of three words (a carry-save adder)."""
    if v.wide_logic:
        return v.logic(0x96, x, y, z), v.logic(0xE8, x, y, z)
    b = v.builder
    odd = b.xor(x, y)
    return b.xor(odd, z), b.or_(b.and_(x, y), b.and_(odd, z))


def greatest(bits: int) -> int:
    """Return the number that stands for no tree in lanes of so many bits: those of 64 are read as
    signed ones.
    """
    return (1 << min(bits, 63)) - 1


def count_ones_of_parts(v: Lanes, word: Value) -> Value:
    """Return how many bits are set in each lane of a vector, or in each byte where the machine
    does not count lanes at once.
    """
    return v.call("ctpop", v.builder.bitcast(word, _parts(v)))


def _parts(v: Lanes) -> ir.VectorType:
    return v.vector if v.counts_lanes else ir.VectorType(ir.IntType(8), VECTOR_BYTES)


def sum_parts_of_lanes(v: Lanes, counts: Value) -> Value:
    """Return, lane by lane, the sum of its parts (``count_ones_of_parts``)."""
    if v.counts_lanes:
        return counts
    b = v.builder
    found, width = b.bitcast(counts, v.vector), 8
    while width < v.word.width:
        low = v.all(sum(((1 << width) - 1) << at for at in range(0, v.word.width, 2 * width)))
        found = b.add(b.and_(found, low), b.and_(b.lshr(found, v.all(width)), low))
        width *= 2
    return found


def count_ones(v: Lanes, low: Value, high: Value, word: Callable[[Value], Value]) -> Value:
    """Return, lane by lane, how many bits are set in word(low) … word(high − 1).

    Eight words at a time go through carry-save adders, so that one population count serves eight
    (from 500 rows on 1.7 to 2 times as fast as one count a word); those that are left over are
    counted part by part, four, two and one at a time, and summed once.
    """
    b = v.builder
    by_eight = b.lshr(b.sub(high, low), v.index(3))
    some = b.zext(b.icmp_signed(">", by_eight, v.index(0)), INDEX)
    none = ir.Constant(_parts(v), [0] * _parts(v).count)
    with v.loop(v.index(0), some, [v.all(0), none]) as once:
        with v.loop(v.index(0), by_eight, [v.all(0)] * 4) as eights:
            first = b.add(low, b.shl(eights.i, v.index(3)))
            x = [word(b.add(first, v.index(k))) for k in range(8)]
            ones, twos, fours, count = eights.now
            ones, two_a = carry_save_add(v, ones, x[0], x[1])
            ones, two_b = carry_save_add(v, ones, x[2], x[3])
            twos, four_a = carry_save_add(v, twos, two_a, two_b)
            ones, two_a = carry_save_add(v, ones, x[4], x[5])
            ones, two_b = carry_save_add(v, ones, x[6], x[7])
            twos, four_b = carry_save_add(v, twos, two_a, two_b)
            fours, eight = carry_save_add(v, fours, four_a, four_b)
            eights.next = [ones, twos, fours, b.add(count, v.call("ctpop", eight))]
        few = none
        for bits in reversed(eights.after[:3]):
            few = b.add(b.add(few, few), count_ones_of_parts(v, bits))
        once.next = [b.shl(eights.after[3], v.all(3)), few]
    at, few = b.add(low, b.shl(by_eight, v.index(3))), once.after[1]
    left = b.sub(high, at)
    for power in (2, 1, 0):
        with v.loop(v.index(0), b.and_(b.lshr(left, v.index(power)), v.index(1)), [few]) as some:
            ones = [count_ones_of_parts(v, word(b.add(at, v.index(k)))) for k in range(1 << power)]
            some.next = [reduce(b.add, ones, some.now[0])]
        at, few = b.add(at, b.and_(left, v.index(1 << power))), some.after[0]
    return b.add(once.after[0], sum_parts_of_lanes(v, few))


def weight_of_class(v: Lanes, node: Words, k: Value, word: Callable[[Value], Value]) -> Value:
    """Return, lane by lane, the weight of class k in the rows whose bits word(w) keeps."""
    b = v.builder
    with v.loop(
        v.element(node.of_class, k), v.element(node.of_class, b.add(k, v.index(1))), [v.all(0)]
    ) as group:
        low = v.element(node.starts, group.i)
        high = v.element(node.starts, b.add(group.i, v.index(1)))
        count = count_ones(v, low, high, word)
        group.next = [b.add(group.now[0], b.mul(count, v.spread(v.element(node.factors, group.i))))]
    return group.after[0]


def weights_of_cells(
    v: Lanes, classes: Value, summed: Value, cells: Callable[[Value], tuple[Value, ...]], n: int = 2
) -> tuple[Value, Value]:
    """Return, lane by lane, what n cells weigh, and the weight of the class that weighs most there.

    cells : the n of a plane.
    """
    b = v.builder
    with v.loop(v.index(0), classes, [v.all(0)] * 2 * n) as one:
        cells_of_plane = cells(one.i)
        one.next = [b.add(s, x) for s, x in zip(one.now[:n], cells_of_plane, strict=True)] + [
            v.call("umax", m, x) for m, x in zip(one.now[n:], cells_of_plane, strict=True)
        ]
    with v.loop(classes, summed, one.after[:n]) as lost:
        lost.next = [b.sub(s, x) for s, x in zip(lost.now, cells(lost.i), strict=True)]
    return lost.after, one.after[n:]


ROWS = 16
"""Rows that are moved at once: the lanes of 32 bits of a vector."""


def mask_of_lowest_bits(v: Lanes, word: Value, lanes: int) -> Value:
    """Return the lowest bits of a word, one a lane."""
    b = v.builder
    number = ir.IntType(lanes)
    cut = word if word.type.width == lanes else b.trunc(word, number)
    return b.bitcast(cut, ir.VectorType(ir.IntType(1), lanes))


@lanes_kernel(types.int64)
def append_rows_with_feature(v, node, i, absent, full, group, parts, positions, old, at, new):
    """Append the rows of a group that have feature i (absent = 1: that do not have it); returns the
    end.

    full : [words], bits that stand for rows.
    parts : uint32 words of a row.
    at : first free row of ``new``; behind the end rows are cleared up to a multiple of a word.
    node : Words of the rows that are there.
    group : whose rows are appended.
    positions : rows that the arrays can hold; each plane of ``rows`` and ``sums`` has that many.
    old, new : Rows; ``new`` is written.
    """
    b, words, stride = v.builder, node.words, node.stride
    low, high = v.element(node.starts, group), v.element(node.starts, b.add(group, v.index(1)))
    (old, old_sums), (new, new_sums) = old, new
    flip = b.icmp_signed("!=", absent, v.index(0))
    packed = {16: ir.VectorType(ir.IntType(32), 16), 8: ir.VectorType(INDEX, 8)}

    def append(
        lanes: int, source: Value, place: Value, target: Value, to: Value, mask: Value
    ) -> None:
        """Write the lanes of ``mask``, of the vector at source[place], one behind the other from
        target[to] on.
        """
        value = b.load(b.bitcast(b.gep(source, [place]), packed[lanes].as_pointer()))
        value.align = 4
        v.append(value, mask, target, to)

    with v.loop(low, high, [at]) as each:
        word = v.element(words, b.add(b.mul(each.i, stride), i))
        word = b.select(flip, b.and_(v.element(full, each.i), b.not_(word)), word)
        word, end = b.zext(word, INDEX), each.now[0]
        for half in range(v.word.width // ROWS):
            bits = b.trunc(b.lshr(word, v.index(half * ROWS)), ir.IntType(ROWS))
            row = b.add(b.mul(each.i, v.index(v.word.width)), v.index(half * ROWS))
            mask = mask_of_lowest_bits(v, bits, 16)
            with v.loop(v.index(0), parts) as part:
                plane = b.mul(part.i, positions)
                append(16, old, b.add(plane, row), new, b.add(plane, end), mask)
            for eight in range(2):
                some = b.trunc(b.lshr(bits, ir.Constant(bits.type, 8 * eight)), ir.IntType(8))
                mask = mask_of_lowest_bits(v, some, 8)
                for which in range(2):
                    plane = b.mul(v.index(which), positions)
                    append(
                        8,
                        old_sums,
                        b.add(b.add(plane, row), v.index(8 * eight)),
                        new_sums,
                        b.add(plane, end),
                        mask,
                    )
                count = cgutils.get_or_insert_function(
                    b.module, ir.FunctionType(some.type, [some.type]), "llvm.ctpop.i8"
                )
                end = b.add(end, b.zext(b.call(count, [some]), INDEX))
        each.next = [end]
    end = each.after[0]
    for half in range(v.word.width // ROWS):
        to = b.add(end, v.index(half * ROWS))
        with v.loop(v.index(0), parts) as part:
            place = b.gep(new, [b.add(b.mul(part.i, positions), to)])
            b.store(
                ir.Constant(packed[16], [0] * 16), b.bitcast(place, packed[16].as_pointer())
            ).align = 4
        for which in range(2):
            for eight in range(2):
                place = b.gep(
                    new_sums,
                    [b.add(b.mul(v.index(which), positions), b.add(to, v.index(8 * eight)))],
                )
                b.store(
                    ir.Constant(packed[8], [0] * 8), b.bitcast(place, packed[8].as_pointer())
                ).align = 4
    return end


def feature_of_lane(lane: Value, lanes: int) -> Value:
    """Return the bit of a row that is a lane of its words: bit k of every byte of a piece stands
    beside bit k of the others.

    lanes : of a vector, as many as a piece has bits.  So one shuffle and a sign bit at a time turn
        rows into words.
    """
    piece, at, bytes_of = lane // lanes, lane % lanes, lanes // 8
    return piece * lanes + 8 * (at % bytes_of) + at // bytes_of


@lanes_kernel()
def pack_rows_into_word(v, words, at, parts, positions, rows, first):
    """Write the rows first … as one word of every lane, at words[at:].

    rows : see ``append_rows_with_feature``; bits as in ``feature_of_lane``.
    """
    b = v.builder
    # of a part: as many features as a vector has lanes
    pieces, bytes_of = 32 // v.count, v.count // 8
    byte = ir.VectorType(ir.IntType(8), VECTOR_BYTES)
    quads = ir.VectorType(ir.IntType(32), VECTOR_BYTES // 4)
    number = ir.IntType(32)
    with v.loop(v.index(0), parts) as part:
        row = b.add(b.mul(part.i, positions), first)
        loads = []
        for k in range(v.word.width // 16):
            found = b.load(
                b.bitcast(b.gep(rows, [b.add(row, v.index(16 * k))]), quads.as_pointer())
            )
            found.align = 4
            # four rows at a time: their bytes of one number side by side
            near = [
                16 * quad + 4 * r + byte_of
                for quad in range(4)
                for byte_of in range(4)
                for r in range(4)
            ]
            bits = b.bitcast(found, byte)
            near = b.shuffle_vector(
                bits,
                ir.Constant(byte, ir.Undefined),
                ir.Constant(ir.VectorType(number, VECTOR_BYTES), near),
            )
            loads.append(b.bitcast(near, quads))
        for piece in range(pieces):
            two = min(len(loads), 2)  # at a time
            far = [
                16 * load + 4 * quad + piece * bytes_of + byte_of
                for byte_of in range(bytes_of)
                for load in range(two)
                for quad in range(4)
            ]
            shown = ir.Constant(ir.VectorType(number, len(far)), far)
            found = [
                b.shuffle_vector(loads[k], loads[k + two - 1], shown)
                for k in range(0, len(loads), two)
            ]
            if len(found) > 1:  # a lane has one byte here, so that they follow one another
                order = ir.Constant(ir.VectorType(number, 16), list(range(16)))
                found = [b.shuffle_vector(*found, order)]
            found = b.bitcast(found[0], byte)
            to = b.add(
                at, b.mul(b.add(b.mul(part.i, v.index(pieces)), v.index(piece)), v.index(v.count))
            )
            for bit in reversed(range(8)):
                some = b.bitcast(
                    b.icmp_signed("<", found, ir.Constant(byte, [0] * VECTOR_BYTES)), INDEX
                )
                place = b.gep(words, [b.add(to, v.index(bit * bytes_of))])
                b.store(some, b.bitcast(place, INDEX.as_pointer())).align = v.word.width // 8
                found = b.add(found, found)


@lanes_kernel()
def unpack_word_into_rows(v, words, at, parts, positions, rows, first):
    """Write the rows first … from one word of every lane, at words[at:]: ``pack_rows_into_word``
    back.

    parts : uint32 words of a row; each has ``positions`` rows.
    rows : out, uint32[parts · positions].
    """
    b = v.builder
    pieces = 32 // v.count
    element = ir.IntType(v.count)
    out = b.bitcast(rows, element.as_pointer())
    lane_of = {feature_of_lane(lane, v.count): lane for lane in range(v.count)}
    order = ir.Constant(
        ir.VectorType(ir.IntType(32), v.count), [lane_of[bit] for bit in range(v.count)]
    )
    with v.loop(v.index(0), parts) as part:
        row = b.add(b.mul(part.i, positions), first)
        for piece in range(pieces):
            from_ = b.add(
                at, b.mul(b.add(b.mul(part.i, v.index(pieces)), v.index(piece)), v.index(v.count))
            )
            found = b.shuffle_vector(v.load(words, from_), v.all(0), order)
            for t in reversed(range(v.word.width)):
                bits = b.bitcast(b.icmp_signed("<", found, v.all(0)), element)
                b.store(
                    bits,
                    b.gep(
                        out, [b.add(b.mul(b.add(row, v.index(t)), v.index(pieces)), v.index(piece))]
                    ),
                )
                found = b.add(found, found)


@lanes_kernel()
def sum_feature_weights(v, node, counts):
    """Write the weight of class k in the rows that have feature f to counts[k · stride + f].

    node : Words; counts : out, all planes, of all lanes up to the stride.
    """
    b, words, stride = v.builder, node.words, node.stride
    with v.loop(v.index(0), stride, step=v.count) as part, v.loop(v.index(0), node.planes) as one:

        def word(w: Value) -> Value:
            return v.load(words, b.add(b.mul(w, stride), part.i))

        v.store(weight_of_class(v, node, one.i, word), counts, b.add(b.mul(one.i, stride), part.i))


@lanes_kernel()
def count_pairs_of_feature(v, node, i, begin, totals, counts, least, both, two, three, alive):
    """Count feature i with all features from ``begin`` on, and the trees of two and three leaves
    below each literal.

    totals : [k], weight of class k.
    counts : [k · stride + f].
    least : [2], what a leaf must save, and the least loss of one that may be split.
    both : out, [k · stride + f], weight of class k that has feature i and f (lanes before ``begin``
        stay as they are).
    two : in and out, [side · stride + f] for side 0 (feature f absent) and 1: least loss of two
        leaves.
    three : the same, least loss of a leaf beside which the other rows could be divided once more.
    alive : in and out, [f], becomes 0 where f divides the rows as i does (for i itself, too).
    """
    b, words, stride, classes = v.builder, node.words, node.stride, node.classes
    never = v.all(greatest(v.word.width))
    saving = v.spread(v.element(least, v.index(0)))
    least_loss = v.spread(v.element(least, v.index(1)))
    with v.loop(begin, stride, [never] * 4, v.count) as part:

        def word(w: Value) -> Value:
            row = b.mul(w, stride)
            return b.and_(
                v.load(words, b.add(row, part.i)), v.spread(v.element(words, b.add(row, i)))
            )

        def cells_in(k: Value) -> tuple[Value, ...]:
            """Return the weights of class k with both features, i only, f only and none."""
            row = b.mul(k, stride)
            at = b.add(row, part.i)
            n11 = weight_of_class(v, node, k, word)
            v.store(n11, both, at)
            of_i = v.spread(v.element(counts, b.add(row, i)))
            n10, n01 = b.sub(of_i, n11), b.sub(v.load(counts, at), n11)
            return n11, n10, n01, b.sub(b.sub(v.spread(v.element(totals, k)), of_i), n01)

        with v.loop(v.index(0), classes, [v.all(0)] * 8) as one:
            cells = cells_in(one.i)
            one.next = [
                *(b.add(s, n) for s, n in zip(one.now[:4], cells, strict=True)),
                *(v.call("umax", m, n) for m, n in zip(one.now[4:], cells, strict=True)),
            ]
        with v.loop(classes, node.planes, one.after) as more:
            cells, lost = cells_in(more.i), b.icmp_signed("<", more.i, node.summed)
            sums = [
                b.select(lost, b.sub(s, n), s) for s, n in zip(more.now[:4], cells, strict=True)
            ]
            more.next = [
                *sums,
                *(b.or_(some, found) for some, found in zip(more.now[4:], cells, strict=True)),
            ]
        in_11, in_10, in_01, in_00 = more.after[4:]
        same, opposite = (
            b.icmp_unsigned("==", b.or_(*apart), v.all(0))
            for apart in ((in_10, in_01), (in_11, in_00))
        )
        v.store(b.select(b.or_(same, opposite), v.all(0), v.load(alive, part.i)), alive, part.i)
        leaves, divisible = [], []
        for weight, most in zip(more.after[:4], one.after[4:], strict=True):
            loss = b.sub(weight, most)
            leaves.append(b.select(b.icmp_unsigned(">=", most, saving), loss, never))
            divisible.append(b.icmp_unsigned(">=", loss, least_loss))

        def lower(two_now: Value, three_now: Value, c: int, d: int) -> tuple[Value, Value]:
            """With the cells c and d of a literal: as two leaves, and as a leaf beside a cell
            that is divided.
            """
            for leaf, other in ((c, d), (d, c)):
                three_now = b.select(
                    divisible[other], v.call("umin", three_now, leaves[leaf]), three_now
                )
            return v.call("umin", two_now, v.call("uadd.sat", leaves[c], leaves[d])), three_now

        part.next = [*lower(*part.now[:2], 0, 1), *lower(*part.now[2:], 2, 3)]
        for base, c, d in ((stride, 0, 2), (v.index(0), 1, 3)):
            at = b.add(base, part.i)
            for out, found in zip(
                (two, three), lower(v.load(two, at), v.load(three, at), c, d), strict=True
            ):
                v.store(found, out, at)
    for found, out, base in zip(
        part.after,
        (two, three) * 2,
        (stride, stride, v.index(0), v.index(0)),
        strict=True,
    ):
        place = b.add(base, i)
        smallest, old = v.reduce("umin", found), v.element(out, place)
        v.put(b.select(b.icmp_unsigned("<", smallest, old), smallest, old), out, place)


@lanes_kernel()
def copy_column_of_pairs(v, both, stride, planes, i, end):
    """Write both[f, i] to both[i, f] for all planes and the features f below ``end``: a pair weighs
    the same, whichever of its features is named first.

    both : [(f · planes + k) · stride + i], rows of ``count_pairs_of_feature`` one after the other.
    """
    b = v.builder
    row = b.mul(planes, stride)
    with v.loop(v.index(0), planes) as one, v.loop(v.index(0), end) as each:
        plane = b.mul(one.i, stride)
        found = v.element(both, b.add(b.add(b.mul(each.i, row), plane), i))
        v.put(found, both, b.add(b.add(b.mul(i, row), plane), each.i))


def store_losses(
    v: Lanes,
    cells: Value,
    stride: Value,
    at: Value,
    weights: tuple[Value, Value],
    least: tuple[Value, Value],
) -> None:
    """Write a vector of the six rows of ``cells``, see ``fill_losses_of_cells``.

    weights : of the cells with and without each feature, all of it and that of the best class.
    least : what a leaf must save, and the least loss of a cell that may be split, in every lane.
    """
    b, (sums, saved), (enough, least_loss) = v.builder, weights, least
    losses = [b.sub(total, most) for total, most in zip(sums, saved, strict=True)]
    valid = b.and_(*(b.icmp_unsigned(">=", most, enough) for most in saved))
    with_leaf, without_leaf = (
        b.and_(valid, b.icmp_unsigned(">=", loss, least_loss)) for loss in reversed(losses)
    )
    mask = b.add(
        b.select(with_leaf, v.all(1), v.all(0)), b.select(without_leaf, v.all(2), v.all(0))
    )
    for number, value in enumerate(
        (losses[0], saved[0], losses[1], saved[1], b.select(valid, v.all(1), v.all(0)), mask)
    ):
        v.store(value, cells, b.add(b.mul(v.index(number), stride), at))


@lanes_kernel()
def fill_losses_of_cells(
    v, cells, stride, classes, summed, both, counts, totals, i, absent, saving, least_loss
):
    """Write what child i (absent = 1: its other side) loses and saves with and without every
    feature.

    both : [k · stride + f] for feature i, all lanes.
    cells : out, [6 · stride], loss and saving with f, loss and saving without f; then masks by lane
        (all bits or none): both cells save enough; the same, and their loss is enough for a split
        (bit 0: that without f, so that f can be a leaf; bit 1: that with f).
    saving, least_loss : as in ``count_pairs_of_feature``.
    """
    b = v.builder
    enough = v.spread(saving)
    least_loss = v.spread(least_loss)
    flip = b.icmp_signed("!=", absent, v.index(0))
    with v.loop(v.index(0), stride, step=v.count) as part:

        def cells_of_plane(k: Value) -> tuple[Value, Value]:
            """Return plane k of child i with feature f of each lane, and without it."""
            row = b.mul(k, stride)
            at = b.add(row, part.i)
            both_now = v.load(both, at)
            of_i = v.spread(v.element(counts, b.add(row, i)))
            of_f = v.load(counts, at)
            with_f = b.select(flip, b.sub(of_f, both_now), both_now)
            size = b.select(flip, b.sub(v.spread(v.element(totals, k)), of_i), of_i)
            return with_f, b.sub(size, with_f)

        sums, saved = weights_of_cells(v, classes, summed, cells_of_plane)
        store_losses(v, cells, stride, part.i, (sums, saved), (enough, least_loss))


@lanes_kernel(types.int64)
def lowest_bit(v, word):
    """Return the number of the lowest bit that is set."""
    function = cgutils.get_or_insert_function(
        v.builder.module, ir.FunctionType(INDEX, [INDEX, ir.IntType(1)]), "llvm.cttz.i64"
    )
    return v.builder.call(function, [word, ir.Constant(ir.IntType(1), 1)])


@lanes_kernel()
def mask_rows_with_feature(v, words, stride, i, absent, full, low, high, mask):
    """Write to mask[w] the rows of word w that have feature i (absent = 1: that do not), among
    those of full[w].

    low, high : the words that are looked at are low … high − 1; others of ``mask`` stay as they
        are.
    """
    b = v.builder
    flip = b.icmp_signed("!=", absent, v.index(0))
    with v.loop(low, high) as each:
        word = v.element(words, b.add(b.mul(each.i, stride), i))
        v.put(b.and_(v.element(full, each.i), b.select(flip, b.not_(word), word)), mask, each.i)


@lanes_kernel()
def fill_leaf_losses(v, losses, stride, classes, summed, counts, totals):
    """Write what both sides of every feature f lose as leaves.

    losses : out, [3 · stride], of the rows without f, of those with f, and the weight of the rows
        with f.
    counts, totals : [k · stride + f] and [k], as in ``count_pairs_of_feature``.  All lanes up to
        the stride are written, no leaf is left out for saving too little.
    """
    b = v.builder
    with v.loop(v.index(0), stride, step=v.count) as part:

        def cells_of_plane(k: Value) -> tuple[Value, Value]:
            with_f = v.load(counts, b.add(b.mul(k, stride), part.i))
            return b.sub(v.spread(v.element(totals, k)), with_f), with_f

        sums, most = weights_of_cells(v, classes, summed, cells_of_plane)
        values = (*map(b.sub, sums, most), sums[1])
        for number, value in enumerate(values):
            v.store(value, losses, b.add(b.mul(v.index(number), stride), part.i))


@lanes_kernel(types.int64)
def least_loss_of_two_leaves(v, node, mask, totals, least_saving):
    """Return the least loss of two leaves for the rows that ``mask`` (one element a word) keeps;
    the largest number where there is none.

    totals : [k], weight of class k that the mask keeps.
    node : Words.
    least_saving : [1], what a leaf must save.
    """
    b, words, stride = v.builder, node.words, node.stride
    never = v.all(greatest(v.word.width))
    saving = v.spread(v.element(least_saving, v.index(0)))
    with v.loop(v.index(0), stride, [never], v.count) as part:

        def word(w: Value) -> Value:
            return b.and_(
                v.load(words, b.add(b.mul(w, stride), part.i)), v.spread(v.element(mask, w))
            )

        def cells_of_plane(k: Value) -> tuple[Value, Value]:
            with_f = weight_of_class(v, node, k, word)
            return with_f, b.sub(v.spread(v.element(totals, k)), with_f)

        losses = []
        for weight, most in zip(
            *weights_of_cells(v, node.classes, node.summed, cells_of_plane), strict=True
        ):
            losses.append(b.select(b.icmp_unsigned(">=", most, saving), b.sub(weight, most), never))
        part.next = [v.call("umin", part.now[0], v.call("uadd.sat", *losses))]
    return b.zext(v.reduce("umin", part.after[0]), INDEX)


@lanes_kernel(types.int64)
def greatest_within(v, values, bounds, limit, n):
    """Return the greatest of the values whose bound is at most the limit, 0 where there is none.

    values, bounds : int64, read to the end of the last vector; bounds behind the first ``n`` are
        above the limit.
    """
    b, most = v.builder, v.spread(limit)
    with v.loop(v.index(0), n, [v.all(0)], v.count) as part:
        within = b.icmp_signed("<=", v.load(bounds, part.i), most)
        value = b.select(within, v.load(values, part.i), v.all(0))
        part.next = [v.call("smax", part.now[0], value)]
    return v.reduce("smax", part.after[0])


@lanes_kernel(types.boolean)
def has_prices(v, price):
    """Return whether tests cost anything, known when the search is compiled: prices are int64 then,
    and int8 where there are none.
    """
    return ir.Constant(ir.IntType(1), v.kinds[0].dtype.bitwidth == 64)


@lanes_kernel(types.uint64)
def sum_numbers_where_feature(v, words, stride, i, n_words, numbers):
    """Return the sum (mod 2⁶⁴) of the numbers of the rows that have feature i.

    numbers : uint64, one a row.
    """
    b = v.builder
    eight = ir.VectorType(INDEX, 8)
    zero = ir.Constant(eight, [0] * 8)
    bits = v.word.width
    with v.loop(v.index(0), n_words, [zero]) as each:
        word = b.bitcast(
            v.element(words, b.add(b.mul(each.i, stride), i)),
            ir.VectorType(ir.IntType(8), bits // 8),
        )
        found = each.now[0]
        for k in range(bits // 8):
            has = b.bitcast(
                b.extract_element(word, ir.Constant(ir.IntType(32), k)),
                ir.VectorType(ir.IntType(1), 8),
            )
            at = b.add(b.mul(each.i, v.index(bits)), v.index(8 * k))
            value = b.load(b.bitcast(b.gep(numbers, [at]), eight.as_pointer()))
            value.align = 8
            found = b.add(found, b.select(has, value, zero))
        each.next = [found]
    return v.reduce("add", each.after[0])
