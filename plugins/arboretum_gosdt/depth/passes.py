"""One set of rows of the depth-limited search: packed into words, its pairs counted, and those
of both sides of a split.

With v the level of the set S, D(x) = weight of class 1 less weight of class 0 in x (or, of more
classes, the weight of each class)::

    open_set(v):
        lay the rows of S group by group, each group from a new word on        (list_places_of_rows)
        words[w · stride + f] = outcomes of feature f in the rows of word w          (pack_rows)
        whole = D(S);  margin[h] = D(S ∧ h);  total[h] = weight(S ∧ h)
        scratch.lanes = 0
    sum_fingerprints(v):    sums[h] = fingerprint of S ∧ h
    count_pairs_of_set(v):      for a stretch of g, all h of g's window:
        count[g, h] = D(S ∧ g ∧ h);  weight[g, h] = weight(S ∧ g ∧ h)           (count_pairs)
        keep the best split below g, ¬g, h and ¬h
    start_split(v, f):    T = the smaller of S ∧ f and S ∧ ¬f
        pack T;  margin and whole of T and S ∖ T from row f of ``count`` and those of S
    count_pairs_of_split(v):    for a stretch of g, all h of g's window:
        count D(T ∧ g ∧ h);  D((S ∖ T) ∧ g ∧ h) = count[g, h] − D(T ∧ g ∧ h)  (count_pairs_of_sides)
        keep the best split below g, ¬g, h and ¬h on both sides

Invariants:

- ``rows[v]`` is ascending, so that rows of a group (one class, one weight 2ᵇ) lie together.  Group
  q has the words start[q] … start[q + 1] − 1.  Its last word is filled up with an empty row
  ("nobody"), which lacks all features; ``collect_rows_of_side`` leaves it out where it takes the
  rows that lack one.
- ``frame.at`` features of a pass are done; a stretch is at least TOGETHER features, and at most
  some LARGE steps long, so that the clock can be looked at.  ``lanes`` and ``single`` of the
  scratch hold the best splits of the pass so far; ``open_set`` and ``start_split`` clear ``lanes``.
- ``count[v]`` and ``weight[v]`` are whole once ``at`` has reached all features, and stay until the
  level is opened again; splits and similarity read them.  A pair {g, h} may stand in the window
  of one of the two only: read it by ``read_row_of_pairs``.
- Of two classes, whose groups take turns (class 0, class 1 of the same weight), a word of T may
  hold both: the groups of a weight come together, class 0 first, and ``flip`` has its rows of
  class 0.
- ``append_chosen_rows`` may write up to a word behind the end; ``scratch.entries`` is a
  word longer.

Where nothing else is said, task is a Task of :mod:`.arrays`, whose levels, scratch, memory and
state are written; v is the level of a set, f, g and h are features, and literal is 0 for outcome 1
of one.
"""

import numpy as np

from arboretum.kernels.jit import inline, inner
from arboretum_gosdt.depth.arrays import (
    COST_OF_PASS,
    LARGE,
    PAIRS,
    SPLIT,
)
from arboretum_gosdt.depth.packing import (
    append_chosen_rows,
    fill_array,
    pack_rows,
    sum_hashes,
    sum_margins,
)
from arboretum_gosdt.depth.pair_counts import (
    TOGETHER,
    Packed,
    Pairs,
    Side,
    correct_by_first_feature,
    count_pairs,
    count_pairs_of_sides,
)


@inline
def loss_from_correct(setting, weight, right):
    """Return the loss of what gets ``right`` right, as :func:`correct_by_first_feature` and leaves
    count that.
    """
    return (weight - right) >> 1 if setting.two else weight - right


@inner
def correct_of_leaf(setting, whole):
    """Return what a leaf gets right: the greatest class weight; of two classes, whose ``whole`` is
    D, |D|, which is what it gets right less what it gets wrong.

    setting : Setting; whole : counts of the set, [classes], as in :class:`.pair_counts.Side`.
    """
    if setting.two:
        return abs(np.int64(whole[0]))
    most = np.int64(0)
    for k in range(setting.classes):
        most = max(most, np.int64(whole[k]))
    return most


@inner
def list_places_of_rows(task, rows, number, start, entries):
    """List the places of ``number`` rows by word: every group begins a word, and what is left of
    its last one is filled up; returns the number of words.

    rows : int32, ascending.
    start : out, int64[groups + 1], first word of each group.
    entries : out, int32, places in ``table.bits``.
    """
    table, width = task.table, task.setting.width
    nobody = table.place[len(table.group)]
    at, i = np.int64(0), np.int64(0)
    for q in range(task.setting.groups):
        start[q] = at // width
        while i < number and table.group[rows[i]] == q:
            entries[at] = table.place[rows[i]]
            at += 1
            i += 1
        while at % width:
            entries[at] = nobody
            at += 1
    start[task.setting.groups] = at // width
    return at // width


@inner
def pack_set(words, layout, bits, entries, number, begin):
    """Pack ``number`` words; a kernel of its own, as it is long and used thrice."""
    pack_rows(words, layout, bits, entries, 0, number, begin)


@inner
def sum_margins_of_set(packed, layout, low, high, into, at):
    """:func:`sum_margins` as a kernel of its own."""
    sum_margins(packed, layout, low, high, into, at)


@inner
def correct_of_depth_two(task, v, side, number):
    """:func:`correct_by_first_feature` as a kernel of its own, for the counts of level v; keys go
    to the scratch.

    side : Side, the counts of the set or of one side of a split.
    number : 0, or 1 for the second side.  Pairs must be counted to the end.
    """
    levels, scratch = task.levels, task.scratch
    pairs = Pairs(levels.count[v], levels.weight[v], scratch.lanes, scratch.single)
    return correct_by_first_feature(pairs, task.layout, side, number, scratch.key)


@inner
def open_set(task, v):
    """Pack the rows of level v, and count its features.

    ``rows`` of level v and ``frame.rows`` must be there.  Writes ``words``, ``entries``, ``start``,
    ``margin``, ``whole`` and ``total`` of level v, and clears ``scratch.lanes``; the phase becomes
    PAIRS.
    """
    table = task.table
    layout = task.layout
    levels = task.levels
    scratch = task.scratch
    setting = task.setting
    frame, start, stride = levels.frame[v], levels.start[v], layout.stride
    words = list_places_of_rows(task, levels.rows[v], frame.rows, start, levels.entries[v])
    pack_set(levels.words[v], layout, table.bits, levels.entries[v], words, 0)
    packed = Packed(levels.words[v], scratch.flip, start, table.first, setting.classes, 0)
    margin, total, whole = levels.margin[v], levels.total[v], levels.whole[v]
    weight = np.int64(0)
    for k in range(setting.classes):
        whole[k] = 0
    i = np.int64(0)
    for q in range(setting.groups):
        number = np.int64(0)
        while i < frame.rows and table.group[levels.rows[v, i]] == q:
            number += 1
            i += 1
        number <<= table.power[q]
        weight += number
        if setting.two:
            whole[0] += number if table.kind[q] else -number
        else:
            whole[table.kind[q]] += number
    if setting.two:
        none, some = scratch.margins[0], scratch.margins[1]
        sum_margins_of_set(packed, layout, 0, setting.groups, none, 0)
        sum_margins_of_set(packed, layout, 1, setting.groups, some, 0)
        for h in range(stride):
            margin[h] = some[h] - none[h]
            total[h] = np.int64(some[h]) + np.int64(none[h])
    else:
        for k in range(setting.classes):
            sum_margins_of_set(
                packed, layout, table.first[k], table.first[k + 1], margin, k * stride
            )
        for h in range(stride):
            total[h] = 0
            for k in range(setting.classes):
                total[h] += np.int64(margin[k * stride + h])
    fill_array(scratch.lanes, 0, 8 * stride, 0)
    frame.weight, frame.words, frame.at, frame.phase = weight, words, 0, PAIRS
    task.state[0].opened += 1


@inline
def asks_memory(setting, depth):
    """Return whether a set of that depth has literals that the memory may know."""
    return depth > 3 or setting.keep_cells


@inner
def sum_fingerprints(task, v):
    """Write ``sums`` of level v, whose rows are there."""
    table, levels = task.table, task.levels
    sum_hashes(
        table.hashes,
        table.bits,
        table.place,
        levels.rows[v],
        levels.frame[v].rows,
        task.layout.chunks,
        levels.sums[v],
    )


@inline
def next_part_of_pairs(layout, words, at):
    """Return (end, work) of the next features from ``at`` on whose windows are counted in one
    go.

    words : of the rows that are counted.
    Work is vectors · words, with COST_OF_PASS words more a vector; it is up to LARGE and one step.
    """
    work, end = np.int64(0), at
    while end < layout.features and work < LARGE:
        work += (
            (layout.end[end // TOGETHER] - layout.begin[end // TOGETHER])
            // 16
            * (words + COST_OF_PASS)
        )
        end += TOGETHER
    return end, work


@inner
def count_pairs_of_set(task, v):
    """Count a stretch of all pairs of the set of level v; returns the work.

    Goes on from ``frame.at``, which it moves; the pass is over when that has reached all features.
    """
    layout, levels, scratch, frame = task.layout, task.levels, task.scratch, task.levels.frame[v]
    end, work = next_part_of_pairs(layout, frame.words, frame.at)
    packed = Packed(
        levels.words[v], scratch.flip, levels.start[v], task.table.first, task.setting.classes, 0
    )
    pairs = Pairs(levels.count[v], levels.weight[v], scratch.lanes, scratch.single)
    count_pairs(packed, layout, pairs, Side(levels.margin[v], levels.whole[v]), frame.at, end)
    frame.at = end
    return work


@inner
def read_row_of_pairs(values, base, layout, f, out, at):
    """Copy the count of every pair {f, h} to out[at + h], from the window of whichever of the two
    has it; the first are repeated behind the last.

    values : a level's ``count`` or ``weight``, whose row of feature 0 begins at ``base`` (of more
        classes each class has its own).
    out : written from ``at`` on, features + ring elements.
    """
    stride, features, ring = layout.stride, layout.features, layout.ring
    begin, end = layout.begin[f // TOGETHER], layout.end[f // TOGETHER]
    mine, first = base + f * stride, max(np.int64(0), end - features) if ring else np.int64(0)
    for h in range(begin, min(end, features)):
        out[at + h] = values[mine + h]
    for h in range(first):
        out[at + h] = values[mine + features + h]
    for h in range(first, begin):
        out[at + h] = values[base + h * stride + f]
    for h in range(min(end, features), features):
        out[at + h] = values[base + h * stride + features + f]
    for h in range(ring):
        out[at + features + h] = out[at + h]


@inner
def collect_rows_of_side(task, v, f, outcome):
    """List the rows of level v with an outcome of feature f, word by word, groups of two classes
    together; returns (words, weight of class 0).

    outcome : 0 or 1.
    Writes ``scratch.entries`` (places of the rows), ``scratch.start`` (first words of the groups)
    and, of two classes, ``scratch.flip``.
    """
    table, levels, scratch, setting = task.table, task.levels, task.scratch, task.setting
    words = levels.words[v]
    entries = levels.entries[v]
    stride = task.layout.stride
    width = setting.width
    nobody, into, start = table.place[len(table.group)], scratch.entries, levels.start[v]
    whole_word = np.int64(-1)
    at, less, out = np.int64(0), np.int64(0), np.int64(0)
    step = np.int64(2) if setting.two else np.int64(1)
    for q in range(0, setting.groups, step):
        scratch.start[out] = at // width
        begin = at
        for side in range(step):
            for w in range(start[q + side], start[q + side + 1]):
                chosen = np.int64(words[w * stride + f])
                at = append_chosen_rows(
                    words, chosen if outcome else ~chosen, entries, w * width, into, at
                )
                # rows that fill up its last word lack every feature
                if not outcome and w == start[q + side + 1] - 1:
                    while at > begin and into[at - 1] == nobody:
                        at -= 1
            if setting.two and side == 0:
                none = at - begin
                less += none << table.power[q]
                for w in range(none // width):
                    scratch.flip[begin // width + w] = whole_word
                scratch.flip[begin // width + none // width] = (np.int64(1) << none % width) - 1
                for w in range(
                    none // width + 1, none // width + 2 + (start[q + 2] - start[q + 1])
                ):
                    scratch.flip[begin // width + w] = 0
        while at % width:
            into[at] = nobody
            at += 1
        out += 1
    scratch.start[out] = at // width
    return at // width, less


@inner
def start_split(task, v, f):
    """Prepare the pass over both sides of feature f of the set of level v.

    The smaller side is packed; side 0 of ``scratch.margins`` and ``wholes`` is of that one, side 1
    of the other.  The phase becomes SPLIT.
    """
    table = task.table
    layout = task.layout
    levels = task.levels
    scratch = task.scratch
    setting = task.setting
    frame, stride = levels.frame[v], layout.stride
    smaller = np.int64(2 * levels.total[v, f] <= frame.weight)
    words, less = collect_rows_of_side(task, v, f, smaller)
    pack_set(scratch.words, layout, table.bits, scratch.entries, words, 0)
    mine, other = scratch.margins[0], scratch.margins[1]
    for k in range(setting.classes):
        row, base = k * stride, k * layout.features * stride
        read_row_of_pairs(levels.count[v], base, layout, f, mine, row)
        part = levels.margin[v, row + f]
        rest = levels.whole[v, k] - part
        for h in range(layout.features + layout.ring):
            there = mine[row + h]
            missing = levels.margin[v, row + h] - there
            mine[row + h], other[row + h] = (there, missing) if smaller else (missing, there)
        scratch.wholes[0, k], scratch.wholes[1, k] = (part, rest) if smaller else (rest, part)
    fill_array(scratch.lanes, 0, 8 * stride, 0)
    frame.current, frame.side, frame.at, frame.phase = f, smaller, 0, SPLIT
    frame.side_words, frame.less = words, less


@inner
def count_pairs_of_split(task, v):
    """Count a stretch of all pairs of both sides of a split of level v; returns the work.

    Only the smaller side's rows are read: the other's counts are the set's less these.  Goes on
    from ``frame.at``, which it moves.
    """
    layout = task.layout
    levels = task.levels
    scratch = task.scratch
    frame = task.levels.frame[v]
    setting = task.setting
    end, work = next_part_of_pairs(layout, frame.side_words, frame.at)
    first = task.table.mixed if setting.two else task.table.first
    packed = Packed(scratch.words, scratch.flip, scratch.start, first, setting.classes, frame.less)
    pairs = Pairs(levels.count[v], levels.weight[v], scratch.lanes, scratch.single)
    sides = Side(scratch.margins[0], scratch.wholes[0]), Side(scratch.margins[1], scratch.wholes[1])
    count_pairs_of_sides(packed, layout, pairs, sides[0], sides[1], frame.at, end)
    frame.at = end
    return work
