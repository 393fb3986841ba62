"""Counts of all pairs of features, and the best split below each literal: what the depth-limited
search spends its time on.

The rows of a set are packed into words, 16 (32, 64) of one group to a word, and the lanes of a
vector are features (see :mod:`arboretum_gosdt.simd.lanes`).  Rows of a group have one weight,
2ᵇ.  One pass over pairs (g, h) of features gives, for every literal of every feature, the value of
the best split below it; the best tree of depth 2 is read from that.

**Two classes**: only signed counts are kept, D(cell) = weight of class 1 − weight of class 0.  A
cell split by a feature whose one side is x is labelled right up to (T − |x| − |D − x|) / 2, and |x|
+ |D − x| = max(|D|, |2x − D|), so that the greatest and the least x over all features say which
split is best: two running extremes per literal instead of sums per pair.  A word may hold rows of
both classes: with c = 1 at rows of class 0, the ones of (x ∧ y) xor c are D + (number of rows of
class 0).

**More classes**: the greatest of the classes' counts in each of the four cells of a pair.

Pairs are visited once: for two features g at a time, h runs over a window of lanes.  Windows begin
at the feature's own chunk of lanes and end at the last one, or begin at the feature and go half way
round, with the first features repeated behind the last ("ring"): whichever takes fewer vectors.
Of two classes::

    for two features g at a time, for every vector of h in their window:
        D(g ∧ h) = Σ over groups, doubling from group to group, of ± ones(words[w, g] & words[w, h])
        D(g ∧ ¬h) = D(g) − D(g ∧ h);  D(¬g ∧ h) = D(h) − D(g ∧ h)
        below g:   extremes of D(g ∧ h) over h;  below ¬g: of D(¬g ∧ h)      (carried, then single)
        below h:   extremes of D(g ∧ h) over g;  below ¬h: of D(g ∧ ¬h)                     (lanes)
        of a split: the same on its other side, whose D(g ∧ h) is the stored one less this
    value(ℓ) = max(2 · greatest − D(ℓ), D(ℓ) − 2 · least)
    key[f] = value(f) + value(¬f): what the best tree of depth 2 that asks f first gets right less
        what it gets wrong                                                (correct_by_first_feature)

Invariants: 0 is among the x of every literal, since carried and stored extremes begin with it, so
that a leaf is among the splits.  ``lanes`` has to be 0 before the first stretch of a pass, and
grows from stretch to stretch; ``single`` is written once for each g.  ``count_pairs`` stores
``count`` and ``weight`` of its windows, ``count_pairs_of_sides`` only reads ``count``.  Counters of
8 bits are emptied after SEGMENT words, before they overflow.

In the bodies lanes is the writer, a Lanes, which the decorator hands in: callers of a kernel do
not pass it.
packed, layout, pairs and sides are Packed, Layout, Pairs and Side; g is a feature, h one of the
lanes.
"""

from __future__ import annotations

import itertools
from collections import namedtuple
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir
from numba.core import types

from arboretum_gosdt.simd.lanes import VECTOR_BYTES, Lanes, lanes_kernel

if TYPE_CHECKING:
    from llvmlite.ir import Value


BYTES = ir.VectorType(ir.IntType(8), VECTOR_BYTES)
TOGETHER = 2
"""Features g of one pass: vectors of h are loaded once for both."""
SEGMENT = 31
"""Words between two emptyings of the counters of 8 bits: up to 8 ones each."""
EXTREMES = ("smax", "smin", "smax", "smin")

Layout = namedtuple("Layout", "begin end features ring stride chunks")
"""Where features lie in vectors.

begin, end : int64[pairs of features], windows of lanes.
features : even, the last may be an empty column.
ring : lanes that are repeated behind the last feature.
stride : lanes from one word to the next.
chunks : int32 words of a row.
"""

Packed = namedtuple("Packed", "words flip start first classes less")
"""Rows as words.

words : uint[words, stride], flat.
flip : for each word one that has its rows of class 0 (two classes).
start : int64[groups + 1], first word of a group.
first : int64[classes + 1], first group of a class; from one group of a class to the next the weight
    of a row is halved, to 1.
classes : 1 where two classes are counted with signs.
less : weight of the rows of class 0, where words are mixed.
"""

Side = namedtuple("Side", "margin whole")
"""Counts of one class, or of each class: margin [classes, stride] of each feature, whole
[classes] of the set.
"""

Pairs = namedtuple("Pairs", "count weight lanes single")
"""What a pass over the pairs of a set leaves; counts of 16 (32, 64) bits.

count : int[features, stride] D of two classes, or uint[classes, features, stride].
weight : uint[features, stride], of all classes.
lanes : [4 or 8, stride], running values of h.
single : [4, stride], values of g.
"""


def choose_layout(features: int, width: int, ring: bool | None = None) -> Layout:
    """Return the layout whose windows take fewer vectors, or the kind that ``ring`` names; a ring
    is not longer than the features.

    width : bits of a lane.
    ring : True: windows go half way round; False: they end at the last feature; None: whichever
        takes fewer vectors.
    """
    lanes = VECTOR_BYTES * 8 // width
    even, chunks = features + features % 2, -(-features // 32)
    first = np.arange(0, even, TOGETHER)
    half = -(-(even // 2 + TOGETHER) // lanes) * lanes
    begin, end = first // lanes * lanes, np.full(len(first), -(-even // lanes) * lanes)
    if half <= even and (ring or (ring is None and half * len(first) < (end - begin).sum())):
        stride = -(-max(32 * chunks, even + half) // 32) * 32
        return Layout(first, first + half, even, half, stride, chunks)
    return Layout(begin, end, even, 0, 32 * chunks, chunks)


def count_ones_of_bytes(lanes: Lanes, vector: Value) -> Value:
    """Return how many bits are set in each byte of a vector, as a vector of 64 bytes."""
    return lanes.call("ctpop", lanes.builder.bitcast(vector, BYTES))


def sum_bytes_of_lanes(lanes: Lanes, counts: Value) -> Value:
    """Return the sums of the bytes of each lane."""
    build, width, step = lanes.builder, lanes.word.width, 8
    found = build.bitcast(counts, lanes.vector)
    while step < width:
        mask = lanes.all(sum(((1 << step) - 1) << at for at in range(0, width, 2 * step)))
        found = build.add(
            build.and_(found, mask), build.and_(build.lshr(found, lanes.all(step)), mask)
        )
        step *= 2
    return found


def _count_pairs_of_group(
    lanes: Lanes,
    packed: Packed,
    stride: Value,
    group: Value,
    at: Value,
    features: Sequence[Value],
    signed: bool,
) -> list[Value]:
    """Count, lane by lane, the rows of a group that have both h, of the lanes from ``at``, and g,
    one vector for each g of ``features``.

    stride : lanes from one word to the next.
    signed : rows of class 0 count if they lack one of the two: the caller takes their number off.
    """
    build = lanes.builder
    none = ir.Constant(BYTES, [0] * VECTOR_BYTES)
    low = lanes.element(packed.start, group)
    high = lanes.element(packed.start, build.add(group, lanes.index(1)))

    def word(number: Value) -> list[Value]:
        """Return a row of words with each of ``features``: the bits that both have, where counts
        are signed xored with the row's flip.
        """
        row = build.mul(number, stride)
        x = lanes.load(packed.words, build.add(row, at))
        both = [
            build.and_(x, lanes.spread(lanes.element(packed.words, build.add(row, g))))
            for g in features
        ]
        if not signed:
            return both
        flip = lanes.spread(lanes.element(packed.flip, number))
        return [build.xor(one, flip) for one in both]

    with lanes.loop(low, high, [lanes.all(0)] * len(features), step=SEGMENT) as segment:
        last = build.add(segment.i, lanes.index(SEGMENT))
        last = build.select(build.icmp_signed("<", last, high), last, high)
        with lanes.loop(segment.i, last, [none] * len(features)) as loop:
            loop.next = [
                build.add(now, count_ones_of_bytes(lanes, value))
                for now, value in zip(loop.now, word(loop.i), strict=True)
            ]
        segment.next = [
            build.add(now, sum_bytes_of_lanes(lanes, few))
            for now, few in zip(segment.now, loop.after, strict=True)
        ]
    return segment.after


def add_to_doubled(lanes: Lanes, now: Sequence[Value], counts: Sequence[Value]) -> list[Value]:
    """Return 2 · now + counts: groups of a class follow each other from the greatest weight to
    1.
    """
    return [
        lanes.builder.add(lanes.builder.add(one, one), count)
        for one, count in zip(now, counts, strict=True)
    ]


def _store_extremes(
    lanes: Lanes, name: str, pointer: Value, at: Value, values: Sequence[Value]
) -> None:
    """Store the extremes, by ``name``, of the vector at pointer[at] and of ``values`` there."""
    found = lanes.load(pointer, at)
    for value in values:
        found = lanes.call(name, found, value)
    lanes.store(found, pointer, at)


def _raise_extremes(
    lanes: Lanes,
    sides: Sequence[Value],
    running: Sequence[Value],
    pairs: Pairs,
    rows: Sequence[Value],
) -> list[Value]:
    """Extend the extremes of D below h in ``pairs.lanes`` by these pairs; returns those below g,
    which are carried.

    sides : per side, per g (D of the pair, D of g, D of the lanes h).
    running : the extremes below g so far.
    rows : places in ``pairs.lanes``.

    ``pairs.lanes`` is written; the carried values have per side and g four extremes, in
    the order of EXTREMES.
    """
    build, following = lanes.builder, []
    for number, cells in enumerate(sides):
        into: list[list[Value]] = [[], [], [], []]
        for t, (d11, of_g, of_lanes) in enumerate(cells):
            d10, d01 = build.sub(of_g, d11), build.sub(of_lanes, d11)
            now = running[(number * TOGETHER + t) * 4 :]
            for value, name, one in zip(now, EXTREMES, (d11, d11, d01, d01), strict=False):
                following.append(lanes.call(name, value, one))
            for k, value in enumerate((d11, d11, d10, d10)):
                into[k].append(value)
        for k, name in enumerate(EXTREMES):
            _store_extremes(lanes, name, pairs.lanes, rows[4 * number + k], into[k])
    return following


def _best_signed_split(lanes: Lanes, most: Value, least: Value, whole: Value) -> Value:
    """Return max(|D|, |2x − D|) of the greatest and the least x: what two leaves get right less
    what they get wrong.

    most, least : extremes of D of one side of a split, over all splits; 0 is among the x.
    whole : D of the literal.
    """
    build = lanes.builder
    return lanes.call(
        "smax", build.sub(build.add(most, most), whole), build.sub(whole, build.add(least, least))
    )


def _raise_greatest_counts(
    lanes: Lanes,
    sides: Sequence[Value],
    running: Sequence[Value],
    pairs: Pairs,
    rows: Sequence[Value],
) -> list[Value]:
    """Raise the greatest counts of the four cells (n11, n10, n01, n00), per side and g, as
    ``_raise_extremes`` does extremes; returns the running values of g.

    sides : per side, per g the four cells.  The carried values have per side and g two, of g and
        ¬g.
    """
    build, following = lanes.builder, []
    for number, cells in enumerate(sides):
        for t, (n11, n10, n01, n00) in enumerate(cells):
            now = running[(number * TOGETHER + t) * 2 :]
            following += [
                lanes.call("umax", now[0], build.add(n11, n10)),
                lanes.call("umax", now[1], build.add(n01, n00)),
            ]
        for k in (0, 1):
            _store_extremes(
                lanes,
                "umax",
                pairs.lanes,
                rows[2 * number + k],
                [build.add(cell[k], cell[2 + k]) for cell in cells],
            )
    return following


def cells_of_pair(
    lanes: Lanes, n11: Value, of_g: Value, of_lanes: Value, whole: Value
) -> tuple[Value, ...]:
    """Return the four cells (n11, n10, n01, n00) of features g and h of the lanes, by n11, what g
    and h have alone, and the whole.
    """
    build = lanes.builder
    n10, n01 = build.sub(of_g, n11), build.sub(of_lanes, n11)
    return n11, n10, n01, build.sub(build.sub(whole, of_g), n01)


def count_signed_cells(
    lanes: Lanes,
    packed: Packed,
    pairs: Pairs,
    sides: Sequence[Side],
    at: Value,
    g: Value,
    places: Value,
    stride: Value,
) -> list[Value]:
    """Count D of the pairs on each side; of a set that is not split, store D and weight in
    ``pairs``.

    sides : one for a set, two for a split: the side whose rows are packed, and the rest.
    at : first lane of h; g : the TOGETHER features; places : where their counts of these lanes are.
    Returns, per side and g, (D of the pair, D of g, D of the lanes h).
    """
    build, index = lanes.builder, lanes.index
    groups = lanes.element(packed.first, index(1))
    if len(sides) == 2:
        with lanes.loop(index(0), groups, [lanes.all(0)] * TOGETHER) as loop:
            counts = _count_pairs_of_group(lanes, packed, stride, loop.i, at, g, signed=True)
            loop.next = add_to_doubled(lanes, loop.now, counts)
        less = lanes.spread(packed.less)
        mine = [build.sub(count, less) for count in loop.after]
        found = [
            mine,
            [
                build.sub(lanes.load(pairs.count, place), d)
                for place, d in zip(places, mine, strict=True)
            ],
        ]
    else:
        with lanes.loop(index(0), groups, [lanes.all(0)] * (2 * TOGETHER)) as loop:
            counts = _count_pairs_of_group(lanes, packed, stride, loop.i, at, g, signed=False)
            # of each weight class 0 comes first
            negative = build.icmp_signed("==", build.and_(loop.i, index(1)), index(0))
            before = [build.select(negative, build.add(now, now), now) for now in loop.now]
            signed = [
                build.select(negative, build.sub(lanes.all(0), count), count) for count in counts
            ]
            loop.next = [
                build.add(now, part)
                for now, part in zip(before, signed + list(counts), strict=True)
            ]
        found = [loop.after[:TOGETHER]]
        for k, place in enumerate(places):
            lanes.store(loop.after[k], pairs.count, place)
            lanes.store(loop.after[TOGETHER + k], pairs.weight, place)
    made = []
    for side, values in zip(sides, found, strict=True):
        of_lanes = lanes.load(side.margin, at)
        made.append(
            [
                (d, lanes.spread(lanes.element(side.margin, one)), of_lanes)
                for d, one in zip(values, g, strict=True)
            ]
        )
    return made


def count_class_cells(
    lanes: Lanes,
    packed: Packed,
    pairs: Pairs,
    sides: Sequence[Side],
    at: Value,
    g: Value,
    places: Value,
    layout: Layout,
) -> list[Value]:
    """Count the classes in the four cells of the pairs on each side; of a set that is not split,
    store the classes' counts and the weight in ``pairs``.

    Arguments as of ``count_signed_cells``.

    places : within the counts of a class.

    Returns, per side and g, the greatest count of a class in each cell (n11, n10, n01, n00).
    """
    build, index, split = lanes.builder, lanes.index, len(sides) == 2
    zero, cells = lanes.all(0), 4 * TOGETHER
    weights = [] if split else [zero] * TOGETHER
    with lanes.loop(index(0), packed.classes, [zero] * (cells * len(sides)) + weights) as loop:
        low = lanes.element(packed.first, loop.i)
        high = lanes.element(packed.first, build.add(loop.i, index(1)))
        with lanes.loop(low, high, [zero] * TOGETHER) as groups:
            counts = _count_pairs_of_group(
                lanes, packed, layout.stride, groups.i, at, g, signed=False
            )
            groups.next = add_to_doubled(lanes, groups.now, counts)
        row = build.mul(loop.i, layout.stride)
        base = build.mul(build.mul(loop.i, layout.features), layout.stride)
        found = [groups.after]
        if split:
            kept = [lanes.load(pairs.count, build.add(base, place)) for place in places]
            found.append([build.sub(a, b) for a, b in zip(kept, groups.after, strict=True)])
        following: list[list[Value]] = []
        for side, values in zip(sides, found, strict=True):
            of_lanes = lanes.load(side.margin, build.add(row, at))
            whole = lanes.spread(lanes.element(side.whole, loop.i))
            for n11, one in zip(values, g, strict=True):
                of_g = lanes.spread(lanes.element(side.margin, build.add(row, one)))
                following += cells_of_pair(lanes, n11, of_g, of_lanes, whole)
        loop.next = [
            lanes.call("umax", now, cell) for now, cell in zip(loop.now, following, strict=False)
        ]
        if not split:
            loop.next += [
                build.add(now, n) for now, n in zip(loop.now[cells:], groups.after, strict=True)
            ]
            for place, n in zip(places, groups.after, strict=True):
                lanes.store(n, pairs.count, build.add(base, place))
    if not split:
        for place, weight in zip(places, loop.after[cells:], strict=True):
            lanes.store(weight, pairs.weight, place)
    return [
        [loop.after[s * cells + 4 * t :][:4] for t in range(TOGETHER)] for s in range(len(sides))
    ]


def _count_windows(
    lanes: Lanes,
    packed: Packed,
    layout: Layout,
    pairs: Pairs,
    sides: Sequence[Side],
    low: Value,
    high: Value,
) -> None:
    """Count the pairs of the features g of ``low`` … ``high`` − 1 with their windows, and keep the
    best splits below g, ¬g, h and ¬h on each side.

    low, high : multiples of TOGETHER, but for the end.
    Whether classes are signed follows from the type of the counts in ``pairs``, and what is written
    to its fields from that and from the number of sides (see :class:`Pairs`).
    """
    build, index, stride = lanes.builder, lanes.index, layout.stride
    signed = lanes.kinds[2].types[0].dtype.signed
    each = 4 if signed else 2
    with lanes.loop(low, high, step=TOGETHER) as outer:
        g = [build.add(outer.i, index(t)) for t in range(TOGETHER)]
        block = build.lshr(outer.i, index(1))
        begin, end = lanes.element(layout.begin, block), lanes.element(layout.end, block)
        with lanes.loop(
            begin, end, [lanes.all(0)] * (TOGETHER * each * len(sides)), step=lanes.count
        ) as inner:
            places = [build.add(build.mul(one, stride), inner.i) for one in g]
            rows = [
                build.add(build.mul(index(k), stride), inner.i) for k in range(each * len(sides))
            ]
            if signed:
                cells = count_signed_cells(lanes, packed, pairs, sides, inner.i, g, places, stride)
                inner.next = _raise_extremes(lanes, cells, inner.now, pairs, rows)
            else:
                cells = count_class_cells(lanes, packed, pairs, sides, inner.i, g, places, layout)
                inner.next = _raise_greatest_counts(lanes, cells, inner.now, pairs, rows)
        name = "smax" if signed else "umax"
        for number, side in enumerate(sides):
            mine = inner.after[number * TOGETHER * each :][: TOGETHER * each]
            for outcome, t in itertools.product((0, 1), range(TOGETHER)):
                value = mine[2 * t + outcome] if not signed else None
                if signed:
                    most, least = mine[4 * t + 2 * outcome :][:2]
                    d = lanes.spread(lanes.element(side.margin, g[t]))
                    whole = (
                        build.sub(lanes.spread(lanes.element(side.whole, index(0))), d)
                        if outcome
                        else d
                    )
                    value = _best_signed_split(lanes, most, least, whole)
                place = build.add(build.mul(index(2 * number + outcome), stride), g[t])
                lanes.put(lanes.reduce(name, value), pairs.single, place)


@lanes_kernel()
def count_pairs(lanes, packed, layout, pairs, side, low, high):
    """Count the pairs of a set whose groups hold one class each; two classes: groups 2b and 2b + 1
    are class 0 and 1 of weight 2ᵇ.

    packed, layout : Packed and Layout; pairs : Pairs, written; side : Side of the set.
    low, high : the features g, low … high − 1, whose windows are counted.
    """
    _count_windows(lanes, packed, layout, pairs, [side], low, high)


@lanes_kernel()
def count_pairs_of_sides(lanes, packed, layout, pairs, side, other, low, high):
    """Count the pairs of both sides of a split of a set whose counts ``pairs`` holds; ``packed``
    has the rows of ``side``, of two classes together.

    pairs : ``count`` is read, ``lanes`` and ``single`` are written.
    other : the Side that is not packed.
    low, high : as of ``count_pairs``.
    """
    _count_windows(lanes, packed, layout, pairs, [side, other], low, high)


@lanes_kernel(types.int64)
def correct_by_first_feature(lanes, pairs, layout, side, number, key):
    """Write what a tree of depth 2 gets right (two classes: that less what it gets wrong), by its
    first feature: key [stride]; returns the most.

    number : 0 or 1, the side.
    pairs : ``lanes`` and ``single`` of a finished pass; ``lanes`` takes over what the ring holds of
        the first features.
    side : Side of the set, or of that side of a split.
    """
    build, index, stride = lanes.builder, lanes.index, layout.stride
    signed = lanes.kinds[0].types[0].dtype.signed
    names, each = (EXTREMES, 4) if signed else (("umax", "umax"), 2)
    rows = [
        build.mul(build.add(build.mul(number, index(each)), index(k)), stride) for k in range(each)
    ]
    with lanes.loop(index(0), layout.ring, step=lanes.count) as loop:
        for row, name in zip(rows, names, strict=True):
            here = build.add(row, loop.i)
            _store_extremes(
                lanes,
                name,
                pairs.lanes,
                here,
                [lanes.load(pairs.lanes, build.add(here, layout.features))],
            )
    with lanes.loop(index(0), layout.features, [lanes.all(0)], step=lanes.count) as loop:
        values = [lanes.load(pairs.lanes, build.add(row, loop.i)) for row in rows]
        name = "smax" if signed else "umax"
        if signed:
            d = lanes.load(side.margin, loop.i)
            rest = build.sub(lanes.spread(lanes.element(side.whole, index(0))), d)
            values = [
                _best_signed_split(lanes, *values[:2], d),
                _best_signed_split(lanes, *values[2:], rest),
            ]
        total = lanes.all(0)
        for outcome, value in enumerate(values):
            single = build.mul(build.add(build.mul(number, index(2)), index(outcome)), stride)
            total = build.add(
                total, lanes.call(name, value, lanes.load(pairs.single, build.add(single, loop.i)))
            )
        # lanes behind the last feature hold copies of the first, or nothing
        lanes.store(total, key, loop.i)
        loop.next = [lanes.call(name, loop.now[0], total)]
    found = lanes.reduce("smax" if signed else "umax", loop.after[0])
    return build.zext(found, ir.IntType(64)) if found.type.width < 64 else found
