"""Strips of a column within sides of cuts of another: what one split must lose in each.

Losses of disjoint sets add up to no more than the loss of their union, whatever tree it has: a tree
of the union is one of each part.  So what is lost at one cut of a column, and in the strips between
it and another, is lost at the other (:mod:`.cuts`), though no pass was made there.  The rows of a
column stand in ``fine`` blocks, and in ``coarse`` ones, of about as many rows each::

    strip (side, i, j) of columns f, g:   the rows of the fine block j of g in the first i coarse
                                          blocks of f (side 0), or in the others (side 1)
    loss of a strip:       least, over all cuts of all columns, of what is lost with one split
    strips[f, g, side, i, j] = losses of the strips j' < j

    for all columns f, g and h:  the rows in the order of h are added to their strips in all sides
    at once, which are the lanes of a vector                                        (add_to_strips)

    rows on a side of a cut of f, between cuts of g, one split:                              (d = 2)
        the strips of g wholly between them, within the last coarse block wholly on that side
    rows between cuts of f, two levels, the first of which cuts g:                           (d = 3)
        least over i of the strips of f wholly between them, within the first i coarse blocks of g,
        and within those after the next one;  least of that over g

Invariants: blocks rise with the ranks.  Strips of a pair (f, g) are made together, those of f
before those of f + 1; before all are made, nothing is bounded by them, and none is read.  They are
made when the passes of their level took ``patience`` times as long as making them will.

What they were worth, in passes at depth 3, without and with them, where passes and making them took
the same time before they were made: eeg 131,241 and 65,788, magic 158,625 and 109,650, avila 44,864
and 25,567, page 22,571 and 18,749, fault 66,859 and 54,965, htru 596,285 and 556,355, bean 31,832
and 27,504.  Of more than two classes making them takes what they save (bean, fault), so that they
wait longer there.  Disjoint cells of 2 to 8 coarse blocks in place of all first and all last ones
bound little (eeg 103,753 to 115,983), and so do cuts only at the ends of blocks, where an interval
has one (magic 96,951 passes, in the same time).
"""

import numpy as np

from arboretum.kernels.jit import inline, inner
from arboretum_gosdt.continuous.strip_passes import (
    add_to_strips,
    add_to_strips_by_class,
    join_strips_by_class,
)
from arboretum_gosdt.continuous.tables import BLOCKS

STEPS_OF_ROW = 4
"""Steps of vectors in the time in which a row is added to a strip."""
WIDE = 16
"""Parts at most in which an interval of a frame of three levels is looked at."""


@inline
def fine_block(plan, block):
    """Return the fine block of a number of ``Tables.strips``."""
    return np.int64(block) * plan.fine // BLOCKS


@inline
def blocks_up_to(plan, tables, level, column, cut):
    """Return how many fine blocks of a column lie wholly up to a cut."""
    start, end = tables.starts[column], tables.starts[column + 1]
    if cut < 0:
        return np.int64(0)
    if start + cut + 1 >= end:
        return plan.fine
    block = fine_block(plan, tables.strips[level, start + cut])
    return block + np.int64(fine_block(plan, tables.strips[level, start + cut + 1]) > block)


@inline
def first_block_above(plan, tables, level, column, cut):
    """Return the first fine block of a column that lies wholly above a cut."""
    if cut < 0:
        return np.int64(0)
    return fine_block(plan, tables.strips[level, tables.starts[column] + cut]) + 1


@inline
def side_of_blocks(plan, first, last):
    """Return the row of a pair's strips for the rows of a column's fine blocks first to last - 1,
    of which either are the outermost; -1: none is.
    """
    if first == 0:
        return last * plan.coarse // plan.fine - 1
    low = (first * plan.coarse + plan.fine - 1) // plan.fine
    return plan.coarse + low if low < plan.coarse else np.int64(-1)


@inline
def strips_are_missing(plan, tables, level):
    """Return whether a level's passes took long enough for its strips, and some are to be made."""
    pairs = plan.columns * plan.columns
    return (
        plan.fine > 0
        and tables.spent[level, 1] < pairs
        and tables.spent[level, 0] >= plan.patience * pairs * steps_of_pair(plan, tables, level)
    )


@inline
def steps_of_pair(plan, tables, level):
    """Return how many steps of vectors take as long as the strips of a pair of columns."""
    return plan.columns * tables.shape[level, 0] * STEPS_OF_ROW


@inner
def make_strips(plan, tables, state, level):
    """Make the strips of a level's next pair of columns.

    Steps are counted in ``state.now.work``.
    """
    n, pair = tables.shape[level, 0], tables.spent[level, 1]
    width, lanes = plan.fine + 1, 2 * plan.coarse
    loss = tables.strips[level, plan.keys + 2 * n + plan.fine :]
    write_keys(plan, tables, level, pair // plan.columns, pair % plan.columns)
    if plan.two:
        measure_strips_of_two_classes(plan, tables, level)
    else:
        measure_strips_of_many_classes(plan, tables, level)
    for side in range(lanes):
        at, total = plan.losses + (pair * lanes + side) * width, np.int32(0)
        tables.strips[level, at] = 0
        for j in range(plan.fine):
            total += loss[j * lanes + side]
            tables.strips[level, at + j + 1] = total
    tables.spent[level, 1] += 1
    state.now[0].work += steps_of_pair(plan, tables, level)


@inner
def write_keys(plan, tables, level, f, g):
    """Write the coarse block in f and the fine block in g of every row as its key."""
    n, block = tables.shape[level, 0], tables.strips[level]
    keys = tables.strips[level, plan.keys :]
    for r in range(n):
        i = np.int64(block[tables.starts[f] + tables.rank[level, f * (n + 1) + r]])
        j = np.int64(block[tables.starts[g] + tables.rank[level, g * (n + 1) + r]])
        keys[r] = np.int32(fine_block(plan, j) * 256 + i * plan.coarse // BLOCKS)


@inner
def measure_strips_of_two_classes(plan, tables, level):
    """Write the least loss with one split of every strip of keys to losses (``Tables.strips``)."""
    n, lanes, room = tables.shape[level, 0], 2 * plan.coarse, tables.strips[level, plan.keys :]
    keys, signs, last_value, loss = room[:n], room[n:], room[2 * n :], room[2 * n + plan.fine :]
    member, sums = tables.strip_sums, tables.strip_sums[plan.coarse * lanes :]
    # by strip: signed sums, the greatest and the least of first rows
    sums[: plan.fine * 3 * lanes] = 0
    loss[: plan.fine * lanes] = 0
    for r in range(n):
        weight, at = np.int32(tables.weight[level, r]), np.int64(keys[r] >> 8) * lanes
        signs[r] = -weight if tables.label[level, r] else weight
        i = np.int64(keys[r] & 255)
        for side in range(plan.coarse):
            if side >= i:
                loss[at + side] += weight
            if side <= i:
                loss[at + plan.coarse + side] += weight
    for h in range(plan.columns):
        for j in range(plan.fine):
            last_value[j] = 0
            for k in range(lanes):
                sums[j * 3 * lanes + k] = 0
        add_to_strips(
            sums,
            tables.strips[level, plan.sorted + h * n :],
            keys,
            signs,
            last_value,
            member,
            n,
        )
    for j in range(plan.fine):
        for k in range(lanes):
            at = j * 3 * lanes + k
            s, most, least = (
                np.int64(sums[at]),
                np.int64(sums[at + lanes]),
                np.int64(sums[at + 2 * lanes]),
            )
            weight = loss[j * lanes + k]
            loss[j * lanes + k] = (weight - max(2 * most - s, s - 2 * least)) >> 1


@inner
def measure_strips_of_many_classes(plan, tables, level):
    """Write the least loss with one split of every strip of keys to losses (``Tables.strips``)."""
    n, lanes, room = tables.shape[level, 0], 2 * plan.coarse, tables.strips[level, plan.keys :]
    keys, weights, last_value, loss = room[:n], room[n:], room[2 * n :], room[2 * n + plan.fine :]
    member, sums = tables.strip_sums, tables.strip_sums[plan.coarse * lanes :]
    before = sums[plan.fine * (plan.classes + 2) * lanes :]
    # by strip: sums of every class, their greatest, the most weight that one split labels rightly
    width = (plan.classes + 2) * lanes
    sums[: plan.fine * width] = 0
    for r in range(n):
        weights[r] = np.int32(tables.weight[level, r])
        # together with the class
        keys[r] += np.int32(tables.label[level, r]) * 65536
    for h in range(plan.columns):
        for back in range(2):
            for j in range(plan.fine):
                last_value[j] = 0
                for k in range(width - lanes):
                    sums[j * width + k] = 0
            if back == 0:
                add_to_strips_by_class(
                    sums,
                    tables.strips[level, plan.sorted + h * n :],
                    keys,
                    weights,
                    last_value,
                    member,
                    before,
                    plan.classes,
                    n,
                )
            else:
                join_strips_by_class(
                    sums,
                    tables.strips[level, plan.sorted + h * n :],
                    keys,
                    weights,
                    member,
                    before,
                    plan.classes,
                    n,
                )
    for j in range(plan.fine):
        for k in range(lanes):
            weight = np.int64(0)
            for c in range(plan.classes):
                weight += sums[j * width + c * lanes + k]
            loss[j * lanes + k] = weight - sums[j * width + width - lanes + k]


@inline
def is_divided(plan, tables, frame, levels, level):
    """Return whether what strips lose is known between cuts of a frame.

    levels : that remain to the frame; level : of its table.
    """
    known = tables.spent[level, 1] == plan.columns * plan.columns
    return known and (levels == 3 or (levels == 2 and frame.part >= 0))


@inline
def blocks_from(plan, tables, levels, level, column, first, last):
    """Return the fine block of a cut, the block from which on blocks are above all cuts that are
    looked at together with it, and the last of these: one block's, of three levels more.

    first, last : that cut, and the last one that may be among them.
    """
    start, finals = tables.starts[column], plan.finals + column * plan.fine
    block = fine_block(plan, tables.strips[level, start + first])
    beyond = block + 1
    if levels == 3:
        wide = fine_block(plan, tables.strips[level, start + last]) - block
        beyond = min(plan.fine, beyond + wide // WIDE)
    return block, beyond, min(last, np.int64(tables.strips[level, finals + beyond - 1]))


@inner
def lost_between(plan, tables, frame, levels, level, column, first, last):
    """Return what rows of a frame in fine blocks of a column lose at least with one level less.

    first, last : from this block to that before the last; ``is_divided`` holds.
    """
    width, lanes = plan.fine + 1, 2 * plan.coarse
    if levels == 2:
        if frame.part == column:
            first, last = max(first, frame.first_block), min(last, frame.last_block)
        if first >= last or frame.within < 0:
            return np.int64(0)
        at = frame.within * width
        return np.int64(
            tables.strips[level, plan.losses + at + last]
            - tables.strips[level, plan.losses + at + first]
        )
    if first >= last:
        return np.int64(0)
    found = np.int64(1) << 40
    for g in range(plan.columns):
        at = (g * plan.columns + column) * lanes * width
        if g == column:
            at += (plan.coarse - 1) * width
            dearest = np.int64(0)
            for j in range(first, last):
                dearest = max(
                    dearest,
                    np.int64(
                        tables.strips[level, plan.losses + at + j + 1]
                        - tables.strips[level, plan.losses + at + j]
                    ),
                )
            found = min(
                found,
                np.int64(
                    tables.strips[level, plan.losses + at + last]
                    - tables.strips[level, plan.losses + at + first]
                )
                - dearest,
            )
            continue
        for i in range(plan.coarse):
            lost = np.int64(0)
            if i > 0:
                low = at + (i - 1) * width
                lost += (
                    tables.strips[level, plan.losses + low + last]
                    - tables.strips[level, plan.losses + low + first]
                )
            if i + 1 < plan.coarse:
                high = at + (plan.coarse + i + 1) * width
                lost += (
                    tables.strips[level, plan.losses + high + last]
                    - tables.strips[level, plan.losses + high + first]
                )
            found = min(found, lost)
    return found


@inner
def loss_of_new_rows(plan, tables, frame, level, column, cut, side):
    """Return what rows that a frame has and the subset with a list has not lose with one split on
    one side of a cut.

    side : 0 left, 1 right.
    """
    width, lanes = plan.fine + 1, 2 * plan.coarse
    if column == frame.part or frame.first_new >= frame.last_new:
        return np.int64(0)
    if side == 0:
        row = side_of_blocks(plan, 0, blocks_up_to(plan, tables, level, column, cut))
    else:
        above = first_block_above(plan, tables, level, column, cut)
        row = side_of_blocks(plan, above, plan.fine) if above > 0 else plan.coarse
    if row < 0:
        return np.int64(0)
    at = ((column * plan.columns + frame.part) * lanes + row) * width
    return np.int64(
        tables.strips[level, plan.losses + at + frame.last_new]
        - tables.strips[level, plan.losses + at + frame.first_new]
    )
