"""What counting says of a set, and whether a bound of it follows: the checker's own kernels (no
solver uses them).

The rules that are meant by number stand in :mod:`arboretum.proof.additive`.  A set is a mask of
objects.  Its objects are counted as rows of one label and one power of two each, 64 of them a word,
by columns: the tests that are not idle::

    for each record (path, limits, bound), in their order:
        S ← the objects of the path
        if a record before it says as much of S, under limits as loose: next
        enter: count S; its columns ← the tests that are not idle (rule 1)
            low[side of a column] ← cost as a leaf, or of two leaves, the cheapest test and what
                objects cost apart if that is less; at least what a record says of the side
        refuse the record if S costs less than the bound as a leaf
        while a column is open, low[side 0] + low[side 1] + test_cost < bound (rule 2):
        (count_columns)
            refuse the record if no column is left to be counted
            count the column of the highest rank against all: cells, and low of its sides (rule 3)
            raise low of other columns' sides by what is shown of these (rules 4 and 5)
                                                                              (propagate_to_sides)
        the record is known from now on, in place of those that say less of S; refuse it if
            MOST_KEPT others stay

Invariants:

- Costs and bounds are integers.  ``low`` and ``own`` never exceed what a side really costs, and
  only rise once a set is entered.  What is propagated to a side is in ``low`` alone, and goes no
  further.
- Sides lie at (2 · level + side) · columns + column; with a limit on leaves, level counts from one
  leaf on, and the two sides of a column share the leaves: levels that add up to the last one.
- Plane k of ``ones`` has a number per column, that of objects with it; ``totals`` has all.
- In ``CountingScratch``, ``both`` and the four arrays of cells are of the column that was counted
  last.
- Numbers of columns are read and written as slices: an index that is a sum could be negative, for
  all that the compiler knows, and nothing would be done to eight columns at once.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.bits import lowest, popcount, transpose
from arboretum.kernels.jit import inner, jit
from arboretum.kernels.solving.fingerprints import prefetch
from arboretum.proof.records import (
    bound_of,
    first_slot_of,
    known_of,
    mark_of,
    part,
    path_set,
    slot_of,
    take_place,
)

NEVER = np.int64(1) << 60
"""The cost of what does not exist; two of them still add up."""
COUNTED, RECORDED = 1, 2
"""Bits of ``Node.state``."""

Ground = namedtuple(
    "Ground",
    "bits packed everything members plane shift mixer literal first price max_path_cost "
    "p unit labels least apart",
)
"""The table.  Planes of counts: what each label saves, then rows, mass, and what objects cost at
least; nothing is counted of rows where leaves may have any size, nor of mass where tests cost
nothing.

bits : uint64[objects, ·], bit f of the words is whether the object has column f.
packed : uint64[columns + 1, ·], the same as masks; the last holds no object.

everything : uint64[·], mask.
members : uint64[groups, ·], masks of the objects with a power of two in the count of a plane.
plane, shift : int64[groups], the plane and the power.
mixer : uint64[·], random.
literal : int64[·], 2 · column + side of a literal of the log; first : int64[tests + 1], where those
    of a test begin.
price : int64[columns + 1], of a unit of mass.
max_path_cost : int64[·], sums of so many of the highest prices, of most tests on a path.
p, unit, labels, least : int64, what a leaf costs and a saving of 1 is worth, how many labels, and
    rows that a leaf must have.
apart : whether some object costs something by its best label.
"""

NUMBERS = np.dtype(
    [
        ("columns", np.int64),  # how many are not idle
        ("depth", np.int64),  # limits of the set; −1: any
        ("leaves", np.int64),
        ("leaf", np.int64),  # its cost as a leaf
        ("path", np.int64),  # of a unit of mass: what a path below a side costs at most,
        ("beside", np.int64),  # one beside a leaf,
        ("cheapest", np.int64),  # and the cheapest of the columns
    ],
    align=True,
)
Node = namedtuple(
    "Node",
    "mask columns test_cost words ends ones totals low own high claimed tried state rank numbers",
)
"""A set.

mask : uint64[·].
columns, test_cost : int64, and what it costs to ask them.
words : uint64, ``words[w · columns + c]``. ends : int64[groups], first word after each.
ones : int64, sums by plane and column; totals : int64[planes].
low, own : int64[levels, 2, columns], bounds of sides, and those of them that are from counting or a
    record.   A level is a number of leaves from 1 on, or there is one.
high : int64[2, columns], what sides cost at most without a limit on leaves, as a leaf or with a
    test: for who looks for a proof.
claimed : int64[2, columns], what somebody says of sides.
tried : uint8, as ``low``.
state : uint8.
rank : int64, weight of the smaller side.
numbers : NUMBERS.
"""

CountingScratch = namedtuple(
    "CountingScratch",
    "rows block words both most loss mass least busy joined order marks mask path",
)
"""rows : int64[objects].

block : uint64[64].
words : uint64, of all columns.
both : int64[planes · columns].
most, loss, mass, least, busy : int64[4 · columns], of the cells of sides s of one column and t of
    another, at 2 s + t: what their objects cost anywhere below, what a leaf loses, mass where tests
    cost anything, what its objects and a test cost at least, and whether it may stand below the
    root.
joined, order : int64[columns], what trees cost that begin with each, and when it is counted.
marks : uint64[columns], fingerprints of the sides 1.
mask, path : uint64[·].
"""


@inner
def levels_of(leaves):
    """Levels of a set: one for each number of leaves of a side, 1 without a limit (−1)."""
    return np.int64(1) if leaves < 0 else max(leaves - 1, np.int64(0))


@inner
def is_priced(ground):
    """Whether tests cost anything."""
    return ground.max_path_cost[ground.max_path_cost.shape[0] - 1] > 0


@inner
def busy_of(ground, path, saved, rows, mass):
    """Rule 1: whether a set may stand below the root of a tree with the fewest leaves.

    saved : by its best label.
    path : beside it.
    """
    return saved * ground.unit + path * mass > ground.p and rows >= ground.least


@inner
def paths_of(ground, node, depth):
    """Write into ``node.numbers`` what paths cost at most, for a unit of mass: a tree has no more
    leaves than pay for what they save (rule 1).   depth : −1: any.
    """
    p, most = ground.p, np.int64(ground.max_path_cost.shape[0] - 1)
    tests = min(most, (node.numbers.leaf - p) // p) if p > 0 else most
    below = tests if depth < 0 else min(tests, max(depth - 1, np.int64(0)))
    node.numbers.path = ground.max_path_cost[below]
    node.numbers.beside = ground.max_path_cost[max(min(below, tests - 1), np.int64(0))]


@inner
def lay_word(ground, rows, block, word, ones, shift):
    """Write a word of up to 64 objects for each column, and add its ones up.

    rows : int64[≤ 64], the objects.
    block : uint64[64], scratch.
    word : uint64[columns], written: bit i is whether object i has the column.
    ones : int64[columns], takes 2^shift for each that has it.
    """
    for w in range(ground.bits.shape[1]):
        here = word[64 * w : min(64 * w + 64, word.shape[0])]
        with_column = ones[64 * w : 64 * w + here.shape[0]]
        for i in range(rows.shape[0]):
            block[i] = ground.bits[rows[i], w]
        block[rows.shape[0] :] = 0
        transpose(block)
        for f in range(here.shape[0]):
            here[f] = block[f]
            with_column[f] += popcount(block[f]) << shift


@jit(borrow=True)
def enter(ground, log, node, scratch, depth, leaves):
    """Count the objects of ``node.mask``, find its columns, and what sides cost by one leaf and
    by records: writes all of ``node`` but ``claimed``.

    depth, leaves : limits of the set; −1: any.
    """
    numbers, columns, planes = node.numbers, ground.packed.shape[0] - 1, node.totals.shape[0]
    every = scratch.words
    ones = scratch.both
    labels = ground.labels
    n_words = np.int64(0)
    n = np.int64(0)
    divided = depth != 0 and leaves != 1
    node.totals[:] = 0
    ones[:] = 0
    for g in range(ground.plane.shape[0]):
        count, plane, shift = np.int64(0), ground.plane[g], ground.shift[g]
        for w in range(node.mask.shape[0]):
            rest = node.mask[w] & ground.members[g, w]
            while rest != 0:
                scratch.rows[count] = 64 * w + lowest(rest)
                count += 1
                rest &= rest - np.uint64(1)
        node.totals[plane] += count << shift
        for begin in range(0, count if divided else 0, 64):
            word = every[n_words * columns : (n_words + 1) * columns]
            of_plane = ones[plane * columns : (plane + 1) * columns]
            lay_word(
                ground,
                scratch.rows[begin : min(begin + 64, count)],
                scratch.block,
                word,
                of_plane,
                shift,
            )
            n_words += 1
        node.ends[g] = n_words
    most, whole = np.int64(0), np.int64(0)
    for k in range(labels):
        most, whole = max(most, node.totals[k]), whole + node.totals[k]
    numbers.leaf, numbers.cheapest = (whole - most) * ground.unit + ground.p, NEVER
    paths_of(ground, node, depth)
    rows, mass, beside = node.totals[labels], node.totals[labels + 1], numbers.beside
    inside, outside = scratch.loss[:columns], scratch.loss[columns : 2 * columns]
    weight = scratch.most[:columns]
    for f in range(columns):
        inside[f], outside[f], weight[f] = 0, 0, 0
    for k in range(labels):
        ones_k, total = ones[k * columns : (k + 1) * columns], node.totals[k]
        for f in range(columns):
            weight[f] += ones_k[f]
            inside[f] = max(inside[f], ones_k[f])
            outside[f] = max(outside[f], total - ones_k[f])
    for f in range(columns if divided else 0):
        rows_f, mass_f = ones[labels * columns + f], ones[(labels + 1) * columns + f]
        if busy_of(ground, beside, inside[f], rows_f, mass_f) and busy_of(
            ground, beside, outside[f], rows - rows_f, mass - mass_f
        ):
            node.columns[n], node.rank[n], node.state[n] = f, min(weight[f], whole - weight[f]), 0
            node.test_cost[n] = ground.price[f] * mass
            numbers.cheapest = min(numbers.cheapest, ground.price[f])
            n += 1
    for k in range(planes):
        kept, of_all = node.ones[k * n : (k + 1) * n], ones[k * columns : (k + 1) * columns]
        for c in range(n):
            kept[c] = of_all[node.columns[c]]
    for w in range(n_words):
        words, all_words = node.words[w * n : (w + 1) * n], every[w * columns : (w + 1) * columns]
        for c in range(n):
            words[c] = all_words[node.columns[c]]
    numbers.columns, numbers.depth, numbers.leaves = n, depth, leaves
    bound_sides(ground, log, node, scratch)


@inner
def mass_of(ground, node, c, s):
    """The mass of side s of the node's column c; 0 where tests cost nothing."""
    plane = ground.labels + 1
    with_c = node.ones[plane * node.numbers.columns + c]
    return with_c if s == 1 else node.totals[plane] - with_c


@inner
def floor_of(ground, node, c, s):
    """What the objects of side s of the node's column c cost at least, divided by the cheapest
    test.
    """
    plane = ground.labels + 2
    with_c = node.ones[plane * node.numbers.columns + c]
    apart = with_c if s == 1 else node.totals[plane] - with_c
    return apart * ground.unit + node.numbers.cheapest * mass_of(ground, node, c, s)


@inner
def leaf_of(ground, node, c, s):
    """What side s of the node's column c costs as a leaf."""
    whole, most = np.int64(0), np.int64(0)
    for k in range(ground.labels):
        one = node.ones[k * node.numbers.columns + c]
        one = one if s == 1 else node.totals[k] - one
        whole, most = whole + one, max(most, one)
    return (whole - most) * ground.unit + ground.p


@inner
def cost_leaves(ground, node, s, cost, best):
    """Write into ``cost`` what side s of each column costs as a leaf.   best : written."""
    n = node.numbers.columns
    for c in range(n):
        cost[c], best[c] = 0, 0
    for k in range(ground.labels):
        ones, total = node.ones[k * n : (k + 1) * n], node.totals[k]
        for c in range(n):
            one = ones[c] if s == 1 else total - ones[c]
            cost[c], best[c] = cost[c] + one, max(best[c], one)
    for c in range(n):
        cost[c] = (cost[c] - best[c]) * ground.unit + ground.p


@inner(wraps=True)
def bound_sides(ground, log, node, scratch):
    """Write into ``low``, ``own``, ``tried`` and ``state`` what the sides of the columns cost by
    one leaf and by records.
    """
    n, leaves, mark = node.numbers.columns, node.numbers.leaves, mark_of(ground, node.mask)
    below = max(node.numbers.depth - 1, np.int64(-1))
    for c in range(n):
        with_c, column = np.uint64(0), ground.packed[node.columns[c]]
        for w in range(node.mask.shape[0]):
            with_c += (node.mask[w] & column[w]) * ground.mixer[w]
        scratch.marks[c] = with_c
        # looked up below
        prefetch(log.slots, first_slot_of(log, with_c))
        prefetch(log.slots, first_slot_of(log, mark - with_c))
    for s in range(2):
        leaf, two = scratch.loss[s * n : (s + 1) * n], scratch.most[s * n : (s + 1) * n]
        cost_leaves(ground, node, s, leaf, two)
        high = node.high[s * n : (s + 1) * n]
        for c in range(n):
            high[c] = leaf[c]
            two[c] = 2 * ground.p + floor_of(ground, node, c, s)
        for level in range(levels_of(leaves)):
            first = (2 * level + s) * n
            low, own = node.low[first : first + n], node.own[first : first + n]
            alone = below == 0 or fewer(leaves, level) == 1
            for c in range(n):
                low[c], own[c] = leaf[c] if alone else min(leaf[c], two[c]), 0
            node.tried[first : first + n] = 0
        for c in range(n):
            here = scratch.marks[c] if s == 1 else mark - scratch.marks[c]
            # else its cost is known
            if leaf[c] > two[c] and below != 0 and log.slots[slot_of(log, here), 0] != 0:
                part(ground, node.mask, node.columns[c], s, scratch.mask)
                for level in range(levels_of(leaves)):
                    few, place = fewer(leaves, level), (2 * level + s) * n + c
                    found = known_of(ground, log, scratch.mask, here, below, few, scratch.path)
                    node.low[place], node.own[place] = max(found, node.low[place]), found
                    node.state[c] |= RECORDED if found > 0 else 0


@inner
def fewer(leaves, level):
    """Leaves that a side may have on a level."""
    return np.int64(-1) if leaves < 0 else np.int64(level + 1)


@jit(borrow=True)
def count_column(ground, node, scratch, c):
    """Count the node's column c against all: the cells of its sides, which are left in ``scratch``,
    and what these cost with two leaves and with more (rules 2 and 3), which raises ``own`` and
    ``low``.
    """
    n = node.numbers.columns
    planes = node.totals.shape[0]
    first = np.int64(0)
    scratch.both[: planes * n] = 0
    for g in range(ground.plane.shape[0]):
        plane, shift = ground.plane[g], ground.shift[g]
        both = scratch.both[plane * n : (plane + 1) * n]
        for w in range(first, node.ends[g]):
            words = node.words[w * n : (w + 1) * n]
            word = words[c]
            if word != 0:
                for f in range(n):
                    both[f] += popcount(words[f] & word) << shift
        first = node.ends[g]
    count_cells(ground, node, scratch, c)
    node.state[c] |= COUNTED
    p = ground.p
    depth = node.numbers.depth - 1
    leaves = node.numbers.leaves
    priced = is_priced(ground)
    for s in range(2):
        two, more, cell, mass = NEVER, NEVER, 2 * s * n, mass_of(ground, node, c, s)
        floor = p + floor_of(ground, node, c, s)
        losses_0, losses_1 = scratch.loss[cell : cell + n], scratch.loss[cell + n : cell + 2 * n]
        busy_0, busy_1 = scratch.busy[cell : cell + n], scratch.busy[cell + n : cell + 2 * n]
        least_1 = scratch.least[cell + n : cell + 2 * n]
        for f in range(n):
            one, other = losses_0[f], losses_1[f]
            test_cost = ground.price[node.columns[f]] * mass if priced else np.int64(0)
            below_1, below_0 = least_1[f], floor - p - least_1[f]
            open_0, open_1 = one > p + below_0, other > p + below_1
            beside_leaf = min(
                one + below_1 if open_1 else NEVER,
                other + below_0 if open_0 else NEVER,
                floor if open_0 & open_1 else NEVER,
            )
            idle = busy_0[f] & busy_1[f] == 0
            two = min(two, NEVER if idle else one + other + test_cost)
            more = min(more, NEVER if idle else test_cost + beside_leaf)
        for level in range(levels_of(leaves)):
            few = fewer(leaves, level)
            place = (2 * level + s) * n + c
            cost = leaf_of(ground, node, c, s)
            if depth != 0 and few != 1:
                cost = min(cost, two + 2 * p)
            if depth != 0 and depth != 1 and (few < 0 or few > 2):
                cost = min(cost, more + 3 * p)
            node.own[place] = max(node.own[place], cost)
            node.low[place] = max(node.low[place], cost)
        if depth != 0:
            node.high[s * n + c] = min(node.high[s * n + c], two + 2 * p)


@inner
def fill_cell(node, scratch, plane, c, cell, out):
    """Write into ``out`` what a plane counts in a cell of column c and each of the others."""
    n = node.numbers.columns
    ones, pairs = node.ones[plane * n : (plane + 1) * n], scratch.both[plane * n : (plane + 1) * n]
    of_c = ones[c]
    without = node.totals[plane] - of_c
    if cell == 3:
        for f in range(n):
            out[f] = pairs[f]
    elif cell == 2:
        for f in range(n):
            out[f] = of_c - pairs[f]
    elif cell == 1:
        for f in range(n):
            out[f] = ones[f] - pairs[f]
    else:
        for f in range(n):
            out[f] = without - ones[f] + pairs[f]


@inner
def count_cells(ground, node, scratch, c):
    """Write into ``scratch`` the cells of column c, counted against all, and the others: ``most``,
    ``loss``, ``mass``, ``least`` and ``busy``.
    """
    n, p, unit, priced = node.numbers.columns, ground.p, ground.unit, is_priced(ground)
    path, beside = node.numbers.path, node.numbers.beside
    for cell in range(4):
        most = scratch.most[cell * n : (cell + 1) * n]
        loss = scratch.loss[cell * n : (cell + 1) * n]
        mass = scratch.mass[cell * n : (cell + 1) * n]
        busy = scratch.busy[cell * n : (cell + 1) * n]
        least = scratch.least[cell * n : (cell + 1) * n]
        fill_cell(node, scratch, 0, c, cell, loss)
        for f in range(n):
            most[f] = loss[f]
        for k in range(1, ground.labels):
            fill_cell(node, scratch, k, c, cell, mass)
            for f in range(n):
                most[f], loss[f] = most[f] + mass[f], max(loss[f], mass[f])
        for f in range(n):
            busy[f] = loss[f] * unit
            loss[f] = unit * most[f] - busy[f]
            most[f] = unit * most[f]
        if ground.apart:
            fill_cell(node, scratch, ground.labels + 2, c, cell, mass)
            for f in range(n):
                least[f] = unit * mass[f]
        elif priced:
            for f in range(n):
                least[f] = 0
        if priced:
            fill_cell(node, scratch, ground.labels + 1, c, cell, mass)
            for f in range(n):
                least[f] += node.numbers.cheapest * mass[f]
                busy[f] += beside * mass[f]
                most[f] += path * mass[f]
        for f in range(n):
            busy[f] = busy[f] > p
        if ground.least > 0:
            rows = scratch.rows[:n]
            fill_cell(node, scratch, ground.labels, c, cell, rows)
            for f in range(n):
                busy[f] &= rows[f] >= ground.least


@jit(borrow=True)
def propagate_to_sides(ground, node, scratch, c):
    """Raise low of other columns' sides by similarity (rules 4 and 5) to both sides of the column
    that was counted last.
    """
    n, p = node.numbers.columns, ground.p
    if ground.least > 1:
        return
    dear = np.int64(0) if node.numbers.depth < 0 and node.numbers.leaves < 0 else NEVER
    priced = is_priced(ground)
    for level in range(levels_of(node.numbers.leaves)):
        for s in range(2):
            bound, mass = node.own[(2 * level + s) * n + c], mass_of(ground, node, c, s)
            for t in range(2):
                low = node.low[(2 * level + t) * n : (2 * level + t + 1) * n]
                cell = (2 * s + 1 - t) * n
                most, loss = scratch.most[cell : cell + n], scratch.loss[cell : cell + n]
                for f in range(n):
                    test_cost = ground.price[node.columns[f]] * mass if priced else np.int64(0)
                    less = min(most[f], dear + p + loss[f] + test_cost)
                    low[f] = max(low[f], bound - less)


@inner
def join_sides(node, joined):
    """Write into ``joined`` what trees cost that begin with each column (rule 2), with a limit on
    leaves by the best way to share them.
    """
    n, levels = node.numbers.columns, levels_of(node.numbers.leaves)
    for c in range(n):
        joined[c] = NEVER
    for level in range(levels):
        zero = node.low[2 * level * n : (2 * level + 1) * n]
        one = node.low[(2 * (levels - level) - 1) * n : 2 * (levels - level) * n]
        for c in range(n):
            joined[c] = min(joined[c], zero[c] + one[c])
    for c in range(n):
        joined[c] += node.test_cost[c]


@jit(borrow=True)
def cheapest(node, scratch):
    """(cost, column) of the trees that cost least, by the column that they begin with."""
    least, at = 4 * NEVER, np.int64(-1)
    join_sides(node, scratch.joined)
    for c in range(node.numbers.columns):
        if scratch.joined[c] < least:
            least, at = scratch.joined[c], np.int64(c)
    return least, at


@inner
def count_columns(ground, node, scratch, goal, thorough):
    """Count columns until the bound follows; returns how many columns are open, 0: it follows.

    goal : the bound.
    thorough : where counting the open ones does not help, also the others.
    """
    n = node.numbers.columns
    alone = ground.least <= 1 and node.numbers.depth < 0 and node.numbers.leaves < 0
    while True:
        if alone:
            # rule 5: the whole costs no less than a part
            whole = np.int64(0)
            for low in node.low[: 2 * n]:
                whole = max(whole, low)
            if whole >= goal:
                return np.int64(0)
        join_sides(node, scratch.joined)
        still, best = np.int64(0), np.int64(-1)
        for c in range(n):
            is_open = scratch.joined[c] < goal
            known = node.state[c] & RECORDED != 0
            still += is_open
            # records say most about other columns, and so do balanced ones
            rank = node.rank[c] + (NEVER if known else NEVER >> 1 if is_open else np.int64(0))
            ready = (node.state[c] & COUNTED == 0) & (thorough | is_open | known)
            scratch.order[c] = rank if ready else np.int64(-1)
            best = max(best, scratch.order[c])
        if still == 0 or best < 0:
            return still
        at = np.int64(0)
        while scratch.order[at] != best:
            at += 1
        count_column(ground, node, scratch, at)
        propagate_to_sides(ground, node, scratch, at)


FINE, NO_PATH, NO_LIMITS, LEAF_COSTS, OPEN, MANY = range(6)
MOST_KEPT = 4096
"""Records of one set, under limits of which none is as loose as another's: what one more costs
is bounded by them.
"""


@jit(borrow=True)
def check_records(ground, log, node, scratch, first, end):
    """Check records in their order; returns (number, reason) of the first that does not follow,
    which is the node's, or (end, FINE).   first, end : numbers of records.
    """
    for number in range(first, end):
        at = log.start[number]
        depth = np.int64(log.words[at + 1])
        leaves = np.int64(log.words[at + 2])
        bound = bound_of(log.words, at)
        if depth < -1 or leaves < -1 or leaves == 0:
            return number, NO_LIMITS
        if not path_set(ground, log.words, at, node.mask):
            return number, NO_PATH
        # as many as there are objects are as good as any number
        leaves = min(leaves, max(np.int64(1), np.int64(ground.bits.shape[0])))
        log.mark[number] = mark_of(ground, node.mask)
        if known_of(ground, log, node.mask, log.mark[number], depth, leaves, scratch.path) < bound:
            enter(ground, log, node, scratch, depth, leaves)
            if node.numbers.leaf < bound:
                return number, LEAF_COSTS
            if count_columns(ground, node, scratch, bound, True) > 0:
                return number, OPEN
            if take_place(ground, log, number, node.mask, scratch.path) >= MOST_KEPT:
                return number, MANY
    return end, FINE
