"""The walk through the reasons of a bound (numba kernels): sets are counted as the checker counts
them, and records written.

Frame 0 is the set of all objects with the bound that is wanted, its *goal*; frame d + 1 is a side
of a column of frame d::

    repeat, d the frame at work, S its set:
        if S is new:
            NEED_ROOM or PAUSED, if there is no room or no work left
            if records say as much as the goal: close the frame with what they say
            else: count S (enter); goal ← min(goal, cost as a leaf)
        count columns until the goal follows, or none that is open is left to count; of a new S
            larger sets are asked, too
                                                                                   (count_columns)
        goal ← min(goal, highest), and count again if that is less
        if columns are open, and S was not to be counted alone:
            choose a side of one, and a bound of it: what memory tells, or what is needed
            if trees of few leaves may show that: count them; next           (raise_by_few_leaves)
            frame d + 1 ← that side; work at it; next
        if columns are open: goal ← min(goal, the least that a column costs)
        write S's record, if its goal is above what records say
        end at the frame ``end``; else d ← d − 1: its side costs at least that goal (take)

A goal that cannot be shown is lowered to what can, so that each record follows from those before
it.  To find out by search is what takes longest: a goal is lowered at once to what trees cost whose
sides are leaves or divided once, as they were counted (``highest``), and of a side is asked first
what must hold even if the other costs as much as it can (SURE).  Without that, 99.8 % of 25 million
needs of anneal λ=.005 could not be shown: 235 processor seconds, 16.5 with it; heart-cleveland
λ=.01 34 and 20; others as before.

Invariants:

- The masks of frames 0 … d are a path: each is a side of a column of the one before, and
  ``literal`` names it.  Frames behind d are stale.
- Records of sides are written before the record of the set that needs them, and are known at once.
- Before a set is begun there is room for a record of each frame on the way, and for one frame more;
  it is still NEW then, so that the walk can be left and entered again.
- ``tried`` says which ways were gone for a side of a set; none is gone twice.
- ``claimed`` is what memory says, which is shown before it counts; 0: nothing.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.bits import lowest
from arboretum.kernels.jit import inner, jit, merged
from arboretum.kernels.solving.fingerprints import find
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED
from arboretum.proof.counting import (
    cheapest,
    count_columns,
    few_leaves_may_show,
    join_sides,
    propagate_to_sides,
    raise_by_few_leaves,
    recall_column,
)
from arboretum.proof.records import HEAD, known_of, learn, mark_of, part
from arboretum.proof.sets import NEVER, Node, enter, fewer, levels_of

TIER = np.int64(1) << 56
ALONE, CLAIMED, NEEDED, SURE = 1, 2, 4, 8
"""Bits of ``Node.tried``: a side was counted alone; what memory claims of it was to be shown, or
what is needed, or what is needed even if the other side costs as much as it can.
"""
FRAME = np.dtype(
    [
        ("literal", np.int64),  # by which its set was entered
        ("goal", np.int64),  # bound that is wanted
        ("depth", np.int64),  # limits that are left; −1: none
        ("leaves", np.int64),
        ("how", np.int64),  # why it was entered, a bit of ``Node.tried``
        ("step", np.int64),  # what was done: NEW, ENTERED or ASKED
        ("known", np.int64),  # bound that records said
        ("column", np.int64),  # of the set that is being proven for it, with its level and side
        ("level", np.int64),
        ("side", np.int64),
        ("open", np.int64),  # columns that were, before the first of these
    ],
    align=True,
)
NEW, ENTERED, ASKED = range(3)
STATE = np.dtype(
    [
        ("at", np.int64),  # frame at work
        ("records", np.int64),  # that are written
        ("end", np.int64),  # frame at which the walk ends
    ],
    align=True,
)

Remembered = namedtuple("Remembered", "words slots bound turn")
"""What a search remembers.

words : uint64[objects, 2], random.
slots : see :mod:`arboretum.kernels.solving.fingerprints`.

bound : int64, by number.
turn : [2], what a set's first sum is raised by for each test that may follow, and without a limit.
"""


@merged  # a kernel cannot return what holds a record
def node_of(nodes, d):
    """The set of frame d: views of the arrays that hold all frames."""
    return Node(
        nodes.mask[d],
        nodes.columns[d],
        nodes.test_cost[d],
        nodes.words[d],
        nodes.ends[d],
        nodes.ones[d],
        nodes.weights[d],
        nodes.totals[d],
        nodes.low[d],
        nodes.own[d],
        nodes.high[d],
        nodes.few[d],
        nodes.claimed[d],
        nodes.tried[d],
        nodes.state[d],
        nodes.rank[d],
        nodes.pairs[d],
        nodes.numbers[d],
    )


@inner(wraps=True)
def ask(ground, node, scratch, memory, depth, goal):
    """Write into ``node.claimed`` what is remembered of the sides of columns that are open, 0 where
    nothing is.

    depth : that is left to the sides; −1: any.   goal : a column is open that may cost less.
    """
    n = node.numbers.columns
    turn = memory.turn[1] if depth < 0 else memory.turn[0] * np.uint64(depth)
    one, two = np.uint64(0), np.uint64(0)
    join_sides(node, scratch.joined)
    for column in range(-1, n):
        if column >= 0:
            node.claimed[column], node.claimed[n + column] = 0, 0
            if scratch.joined[column] >= goal:
                continue
        with_one, with_two = np.uint64(0), np.uint64(0)
        for w in range(node.mask.shape[0]):
            rest = node.mask[w] & (
                ground.packed[node.columns[column], w] if column >= 0 else ~np.uint64(0)
            )
            while rest != 0:
                u = 64 * w + lowest(rest)
                with_one = with_one + memory.words[u, 0]
                with_two = with_two + memory.words[u, 1]
                rest = rest & rest - np.uint64(1)
        if column < 0:
            one, two = with_one, with_two
            continue
        for side in range(2):
            known = (
                with_one if side == 1 else one - with_one,
                with_two if side == 1 else two - with_two,
            )
            number = find(memory.slots, known[0] + turn, known[1])
            node.claimed[side * n + column] = memory.bound[number] if number >= 0 else 0


@inner
def choose(ground, node, goal):
    """What is to be done next about an open column: (column, level, side, how, goal of the side);
    column −1 where nothing is left.

    how : a bit of ``Node.tried``.   goal : of the set.

    Columns first of which the claims of both sides suffice, then counting in sides of which
    nothing is claimed, then what is claimed of others, then what must hold of a side if the goal
    does, at last what is needed beside what is shown of the other side; and balanced columns first,
    as they say most about others.
    """
    n, leaves = node.numbers.columns, node.numbers.leaves
    claimed, low, tried = node.claimed, node.low, node.tried
    best = np.int64(-1)
    column = np.int64(-1)
    level_there = np.int64(0)
    side_there = np.int64(0)
    way = np.int64(0)
    wanted = np.int64(0)
    levels = levels_of(leaves)
    for c in range(n):
        with_c, wanted_c = np.int64(0), goal - node.test_cost[c]
        for k in range(ground.labels):
            with_c += node.ones[k * n + c]
        small = np.int64(1) if with_c == node.rank[c] else np.int64(0)
        for level in range(levels):
            # of side 1, where side 0 has this level
            other = level if leaves < 0 else levels - 1 - level
            zero, one = 2 * level * n + c, (2 * other + 1) * n + c
            if low[zero] + low[one] >= wanted_c:
                continue
            said_0, said_1 = (
                (max(claimed[c], low[zero]), max(claimed[n + c], low[one]))
                if leaves < 0
                else (low[zero], low[one])
            )
            for turn in range(2):
                side = small if turn == 0 else 1 - small
                here, there, said, _beside = (
                    (one, zero, said_1, said_0) if side == 1 else (zero, one, said_0, said_1)
                )
                if leaves < 0 and low[here] >= node.high[side * n + c]:
                    continue  # its cost is known
                needed = wanted_c - low[there]
                sure = wanted_c - node.high[(1 - side) * n + c] if leaves < 0 else np.int64(0)
                if said > low[here] and said_0 + said_1 >= wanted_c and tried[here] & CLAIMED == 0:
                    how, goal_here = CLAIMED, said
                    rank = (
                        node.rank[c]
                        + 5 * TIER
                        + (TIER if said + low[there] >= wanted_c else np.int64(0))
                    )
                elif said <= low[here] and tried[here] & ALONE == 0:
                    how, goal_here, rank = ALONE, needed, node.rank[c] + 4 * TIER
                elif said > low[here] and tried[here] & CLAIMED == 0:
                    how, goal_here, rank = CLAIMED, said, node.rank[c] + 3 * TIER
                elif sure > low[here] and tried[here] & SURE == 0:
                    how, goal_here, rank = SURE, sure, node.rank[c] + 2 * TIER
                elif tried[here] & NEEDED == 0:
                    how, goal_here, rank = NEEDED, needed, node.rank[c]
                else:
                    continue
                if rank > best:
                    best, column, side_there, way = rank, np.int64(c), side, how
                    level_there = other if side == 1 else np.int64(level)
                    wanted = goal_here
    return column, level_there, side_there, way, wanted


@inner
def highest(node):
    """What the set costs at most without a limit on leaves: by the columns that are counted, each
    side a leaf or divided once.
    """
    n, most = node.numbers.columns, node.numbers.leaf
    for c in range(n):
        most = min(most, node.high[c] + node.high[n + c] + node.test_cost[c])
    return most


@inner
def take(ground, node, scratch, column, level, side, how, bound):
    """Take a bound of a side as shown, and what follows for other sides.

    how : bit of ``tried`` that is set.
    """
    place = (2 * level + side) * node.numbers.columns + column
    node.tried[place] |= how
    if bound > node.own[place]:
        node.own[place], node.low[place] = bound, max(node.low[place], bound)
        recall_column(ground, node, scratch, column)
        propagate_to_sides(ground, node, scratch, column)


@inner
def spell(log, frames, spelled, d, number):
    """Spell the path of frame d's set behind the ``number`` records of the log, where there is room
    for it; returns the word where it begins.

    spelled : as of :func:`walk`.
    """
    at = log.start[number]
    log.words[at], log.words[at + 1], log.words[at + 2] = d, frames[d].depth, frames[d].leaves
    for level in range(1, d + 1):
        place = at + HEAD + 2 * (level - 1)
        literal = frames[level].literal
        log.words[place], log.words[place + 1] = spelled[literal, 0], spelled[literal, 1]
    return at


@inner
def write(ground, log, frames, spelled, mask, d, number):
    """Write the record of frame d's set behind the ``number`` records of the log, where there is
    room for it, and make it known.

    mask : of the set.   spelled : as of :func:`walk`.
    """
    at, bound = spell(log, frames, spelled, d, number), frames[d].goal
    log.words[at + 3], log.words[at + 4] = np.int32(bound), np.int32(bound >> 32)
    log.start[number + 1] = at + HEAD + 2 * d
    log.mark[number] = mark_of(ground, mask)
    learn(log, number, number + 1)


@jit(borrow=True)
def report(ground, log, nodes, frames, scratch, memory, d):
    """Count frame d's set, and ask what is remembered of its sides; returns how many columns it
    has, the first of ``columns`` and ``claimed``.
    """
    node = node_of(nodes, d)
    enter(ground, log, node, scratch, frames[d].depth, frames[d].leaves)
    ask(ground, node, scratch, memory, max(frames[d].depth - 1, np.int64(-1)), NEVER)
    return node.numbers.columns


@jit(borrow=True, whole=True)
def walk(ground, log, nodes, frames, scratch, memory, spelled, state, work):
    """Write records of the sets that the goal of the first frame needs; FINISHED, NEED_ROOM or
    PAUSED.

    frames, state : FRAME[levels], STATE; written, so that the walk can go on where it was left.
    spelled : int32[literals, 2], (test, outcome) as the log has them.
    work : sets that are entered at most before it is PAUSED.
    """
    while True:
        d = state.at
        frame, node = frames[d], node_of(nodes, d)
        depth, leaves = frame.depth, frame.leaves
        closed = False
        if frame.step == NEW:
            number = state.records
            # every set on the way from the root may be closed before the next is begun
            if (
                d + 1 >= frames.shape[0]
                or number + d >= log.mark.shape[0]
                or log.start[number] + (d + 1) * (d + HEAD) > log.words.shape[0]
            ):
                return NEED_ROOM
            if work <= 0:
                return PAUSED
            work -= 1
            frame.known = known_of(
                ground, log, node.mask, mark_of(ground, node.mask), depth, leaves, scratch.path
            )
            closed = frame.known >= frame.goal
            if closed:
                frame.goal = frame.known
            else:
                enter(ground, log, node, scratch, depth, leaves)
                frame.goal, frame.step = min(frame.goal, node.numbers.leaf), ENTERED
        if not closed:
            column = np.int64(-1)
            level = np.int64(0)
            side = np.int64(0)
            how = np.int64(0)
            wanted = np.int64(0)
            at = np.int64(-1)
            if frame.step == ENTERED:
                at = spell(log, frames, spelled, d, state.records)
            still = count_columns(ground, log, at, node, scratch, frame.goal, False)
            most = highest(node) if still > 0 and leaves < 0 else frame.goal
            if most < frame.goal:
                frame.goal = most
                still = count_columns(ground, log, -1, node, scratch, frame.goal, False)
            if still > 0:
                if frame.how != ALONE:
                    if frame.step == ENTERED:
                        frame.step, frame.open = ASKED, still
                        node.claimed[: 2 * node.numbers.columns] = 0
                        if memory.bound.shape[0] > 0 and leaves < 0:
                            ask(
                                ground,
                                node,
                                scratch,
                                memory,
                                max(depth - 1, np.int64(-1)),
                                frame.goal,
                            )
                    column, level, side, how, wanted = choose(ground, node, frame.goal)
                if column < 0:
                    frame.goal = min(frame.goal, cheapest(node, scratch)[0])
            if column >= 0 and few_leaves_may_show(ground, node, column, side, wanted):
                recall_column(ground, node, scratch, column)
                if raise_by_few_leaves(ground, node, scratch, column, side, wanted):
                    propagate_to_sides(ground, node, scratch, column)
                continue
            if column >= 0:
                frame.column, frame.level, frame.side = column, level, side
                part(ground, node.mask, node.columns[column], side, nodes.mask[d + 1])
                child = frames[d + 1]
                child.literal = 2 * node.columns[column] + side
                child.goal = wanted
                child.how = how
                child.step = NEW
                child.depth, child.leaves = max(depth - 1, np.int64(-1)), fewer(leaves, level)
                state.at = d + 1
                continue
            if frame.goal > frame.known:
                write(ground, log, frames, spelled, node.mask, d, state.records)
                state.records += 1
        if d == state.end:
            return FINISHED
        state.at = d - 1
        above = frames[d - 1]
        take(
            ground,
            node_of(nodes, d - 1),
            scratch,
            above.column,
            above.level,
            above.side,
            frame.how,
            frame.goal,
        )
