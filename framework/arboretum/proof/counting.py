"""What counting says of a set, and whether a bound of it follows: the checker's own kernels (no
solver uses them).

The rules that are meant by number stand in :mod:`arboretum.proof.additive`.  A set is a mask of
objects.  Its objects are counted as rows of one label and one power of two each, 64 of them a word,
by columns: the tests that are not idle::

    for each record (path, limits, bound), in their order:
        S ← the objects of the path
        if a record before it says as much of S, under limits as loose: next
        enter: count S; its columns ← the tests that are not idle (rule 1)
            low[side of a column] ← cost as a leaf, or of two leaves and the cheapest test if that
                is less; at least what a record says of the side
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
- A record is words[start[i] : start[i + 1]]: length of the path, limits, bound (low and high half),
  literals.  Records of one fingerprint are a chain from ``slots`` on by ``before``, −1 at its end;
  some slot is always free.
- A fingerprint only says where a record may be found; what counts is that the record's path leads
  to the very same mask.  Words of a log are not trusted: limits and literals are checked first.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.bits import lowest, popcount
from arboretum.kernels.jit import inline, inner, jit

HEAD = 5
"""Words of a record before its literals."""
NEVER = np.int64(1) << 60
"""The cost of what does not exist; two of them still add up."""
COUNTED, RECORDED = 1, 2
"""Bits of ``Node.state``."""

Ground = namedtuple(
    "Ground",
    "bits packed everything members plane shift mixer literal first price max_path_cost "
    "p unit labels least",
)
"""The table.  Planes of counts: what each label saves, then rows, then mass; nothing is counted
where leaves may have any size, or tests cost nothing.

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
"""

Log = namedtuple("Log", "words start mark slots before")
"""Records.

words : int32.
start : int64[records + 1].
mark : uint64[records], fingerprints.
slots : int64[2^k], the last record of a fingerprint, −1: free.
before : int64[records], the one before it.
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
    "Node", "mask columns test_cost words ends ones totals low own claimed tried state rank numbers"
)
"""A set.

mask : uint64[·].
columns, test_cost : int64, and what it costs to ask them.
words : uint64, ``words[w · columns + c]``. ends : int64[groups], first word after each.
ones : int64, sums by plane and column; totals : int64[planes].
low, own : int64[levels, 2, columns], bounds of sides, and those of them that are from counting or a
    record.   A level is a number of leaves from 1 on, or there is one. claimed : int64[2, columns],
    what somebody says of sides.
tried : uint8, as ``low``.
state : uint8.
rank : int64, weight of the smaller side.
numbers : NUMBERS.
"""

CountingScratch = namedtuple(
    "CountingScratch", "rows block words both most loss mass busy mask path"
)
"""rows : int64[objects].

block : uint64[64].
words : uint64, of all columns.
both : int64[planes · columns].
most, loss, mass, busy : int64[4 · columns], of the cells of sides s of one column and t of another,
    at 2 s + t: what their objects cost anywhere below, what a leaf loses, mass, and whether it may
    stand below the root.
mask, path : uint64[·].
"""


@inner
def path_set(ground, words, at, out):
    """Write the objects of the path of the record at a word into ``out``; False where it names a
    literal that there is not.
    """
    for w in range(out.shape[0]):
        out[w] = ground.everything[w]
    for place in range(at + HEAD, at + HEAD + 2 * words[at], 2):
        test, outcome = np.int64(words[place]), np.int64(words[place + 1])
        if (
            test < 0
            or test + 1 >= ground.first.shape[0]
            or outcome < 0
            or ground.first[test] + outcome >= ground.first[test + 1]
        ):
            return False
        literal = ground.literal[ground.first[test] + outcome]
        part(ground, out, literal >> 1, literal & 1, out)
    return True


@inner
def part(ground, mask, column, side, out):
    """Write the objects of a mask on one side of a column into ``out``.   side : 1, those that have
    the column; 0, the others.
    """
    for w in range(mask.shape[0]):
        out[w] = mask[w] & (ground.packed[column, w] if side == 1 else ~ground.packed[column, w])


@inner(wraps=True)
def mark_of(ground, mask):
    """Fingerprint of a mask: the sum of word · random word, modulo 2⁶⁴.

    Those of two parts add up to that of the whole.
    """
    mark = np.uint64(0)
    for w in range(mask.shape[0]):
        mark += mask[w] * ground.mixer[w]
    return mark


@inner(wraps=True)
def slot_of(log, mark):
    """Where a fingerprint is, or would be."""
    mixed = (mark ^ mark >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
    at = np.int64((mixed ^ mixed >> np.uint64(33)) >> np.uint64(1))
    last = np.int64(log.slots.shape[0] - 1)
    at &= last
    while log.slots[at] >= 0 and log.mark[log.slots[at]] != mark:
        at = (at + 1) & last
    return at


@inner
def serves(have, want):
    """Whether a limit is as loose as another; −1: none."""
    return have < 0 or 0 <= want <= have


@inner
def is_about(ground, log, record, mask, room):
    """Whether a record is about the objects of a mask.   room : uint64[·], written."""
    same = path_set(ground, log.words, log.start[record], room)
    for w in range(mask.shape[0]):
        same &= room[w] == mask[w]
    return same


@jit(borrow=True)
def known_of(ground, log, mask, mark, depth, leaves, room):
    """The best bound that the records have of a set under limits, 0 without one.

    mark : of the set.   depth, leaves : −1: any.   room : uint64[·], written.
    """
    # that all records of a fingerprint are about one set: of the best that is looked at
    trusted = True
    while True:
        best, found, record = np.int64(0), np.int64(-1), log.slots[slot_of(log, mark)]
        while record >= 0:
            at = log.start[record]
            bound = bound_of(log.words, at)
            if (
                bound > best
                and serves(log.words[at + 1], depth)
                and serves(log.words[at + 2], leaves)
            ) and (trusted or is_about(ground, log, record, mask, room)):
                best, found = bound, record
            record = log.before[record]
        if not trusted or found < 0 or is_about(ground, log, found, mask, room):
            return best
        trusted = False


@inner
def bound_of(words, at):
    """The bound, an integer, of the record that begins at a word."""
    return np.int64(words[at + 4]) << 32 | np.int64(words[at + 3]) & 0xFFFFFFFF


@jit(borrow=True)
def learn(log, first, end):
    """Let the records first … end − 1, whose fingerprints are in ``log.mark``, be known from now
    on: writes ``log.slots`` and ``log.before``.
    """
    for number in range(first, end):
        at = slot_of(log, log.mark[number])
        log.before[number], log.slots[at] = log.slots[at], number


@inner
def take_place(ground, log, number, mask, room):
    """A record, of the objects of a mask, is known in place of those that say less of them;
    returns how many others stay.
    """
    at, slot = log.start[number], slot_of(log, log.mark[number])
    bound, record, last, kept = bound_of(log.words, at), log.slots[slot], np.int64(-1), np.int64(0)
    while record >= 0:
        before, old = log.before[record], log.start[record]
        less = (
            bound_of(log.words, old) <= bound
            and serves(log.words[at + 1], log.words[old + 1])
            and serves(log.words[at + 2], log.words[old + 2])
        )
        if less and is_about(ground, log, record, mask, room):
            if last < 0:
                log.slots[slot] = before
            else:
                log.before[last] = before
        else:
            last, kept = record, kept + 1
        record = before
    learn(log, number, number + 1)
    return kept


@inner
def levels_of(leaves):
    """Levels of a set: one for each number of leaves of a side, 1 without a limit (−1)."""
    return np.int64(1) if leaves < 0 else max(leaves - 1, np.int64(0))


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
    for part in range(ground.bits.shape[1]):
        first = 64 * part
        for i in range(64):
            block[i] = ground.bits[rows[i], part] if i < rows.shape[0] else np.uint64(0)
        step, low = np.uint64(32), np.uint64(0xFFFFFFFF)
        # transposed: squares of bits change places with those on the other side of the diagonal
        while step != 0:
            wide = np.int64(step)
            for begin in range(0, 64, 2 * wide):
                for i in range(begin, begin + wide):
                    swap = (block[i] >> step ^ block[i + wide]) & low
                    block[i + wide] ^= swap
                    block[i] ^= swap << step
            step >>= np.uint64(1)
            low ^= low << step
        for f in range(first, min(first + 64, word.shape[0])):
            word[f] = block[f - first]
            ones[f] += popcount(word[f]) << shift


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
    for f in range(columns if divided else 0):
        inside, outside, weight = np.int64(0), np.int64(0), np.int64(0)
        for k in range(labels):
            one = ones[k * columns + f]
            weight = weight + one
            inside = max(inside, one)
            outside = max(outside, node.totals[k] - one)
        rows_f, mass_f = ones[labels * columns + f], ones[(labels + 1) * columns + f]
        if busy_of(ground, beside, inside, rows_f, mass_f) and busy_of(
            ground, beside, outside, rows - rows_f, mass - mass_f
        ):
            node.columns[n], node.rank[n], node.state[n] = f, min(weight, whole - weight), 0
            node.test_cost[n] = ground.price[f] * mass
            numbers.cheapest = min(numbers.cheapest, ground.price[f])
            n += 1
    for k in range(planes):
        for c in range(n):
            node.ones[k * n + c] = ones[k * columns + node.columns[c]]
    for w in range(n_words):
        for c in range(n):
            node.words[w * n + c] = every[w * columns + node.columns[c]]
    numbers.columns, numbers.depth, numbers.leaves = n, depth, leaves
    bound_sides(ground, log, node, scratch)


@inner
def mass_of(ground, node, c, s):
    """The mass of side s of the node's column c; 0 where tests cost nothing."""
    plane = ground.labels + 1
    with_c = node.ones[plane * node.numbers.columns + c]
    return with_c if s == 1 else node.totals[plane] - with_c


@inner
def leaf_of(ground, node, c, s):
    """What side s of the node's column c costs as a leaf."""
    whole, most = np.int64(0), np.int64(0)
    for k in range(ground.labels):
        one = node.ones[k * node.numbers.columns + c]
        one = one if s == 1 else node.totals[k] - one
        whole, most = whole + one, max(most, one)
    return (whole - most) * ground.unit + ground.p


@inner(wraps=True)
def bound_sides(ground, log, node, scratch):
    """Write into ``low``, ``own``, ``tried`` and ``state`` what the sides of the columns cost by
    one leaf and by records.
    """
    n, leaves, mark = node.numbers.columns, node.numbers.leaves, mark_of(ground, node.mask)
    below = max(node.numbers.depth - 1, np.int64(-1))
    for c in range(n):
        part(ground, node.mask, node.columns[c], 1, scratch.mask)
        with_c = mark_of(ground, scratch.mask)
        for s in range(2):
            here, leaf = with_c if s == 1 else mark - with_c, leaf_of(ground, node, c, s)
            two = 2 * ground.p + node.numbers.cheapest * mass_of(ground, node, c, s)
            # else its cost is known
            recorded = leaf > two and below != 0 and log.slots[slot_of(log, here)] >= 0
            if recorded:
                part(ground, node.mask, node.columns[c], s, scratch.mask)
            for level in range(levels_of(leaves)):
                few, place, found = fewer(leaves, level), (2 * level + s) * n + c, np.int64(0)
                if recorded:
                    found = known_of(ground, log, scratch.mask, here, below, few, scratch.path)
                node.low[place] = max(found, leaf if below == 0 or few == 1 else min(leaf, two))
                node.own[place], node.tried[place] = found, 0
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
    both = scratch.both
    first = np.int64(0)
    both[: planes * n] = 0
    for g in range(ground.plane.shape[0]):
        here, shift = ground.plane[g] * n, ground.shift[g]
        for w in range(first, node.ends[g]):
            word = node.words[w * n + c]
            if word != 0:
                for f in range(n):
                    both[here + f] += popcount(node.words[w * n + f] & word) << shift
        first = node.ends[g]
    for s in range(2):
        for t in range(2):
            count_cells(ground, node, scratch, c, s, t)
    node.state[c] |= COUNTED
    p = ground.p
    depth = node.numbers.depth - 1
    leaves = node.numbers.leaves
    cheapest = node.numbers.cheapest
    for s in range(2):
        two, more, cell, mass = NEVER, NEVER, 2 * s * n, mass_of(ground, node, c, s)
        floor = p + cheapest * mass
        for f in range(n):
            one, other = scratch.loss[cell + f], scratch.loss[cell + n + f]
            if scratch.busy[cell + f] & scratch.busy[cell + n + f]:
                test_cost = ground.price[node.columns[f]] * mass
                below_1 = cheapest * scratch.mass[cell + n + f]
                below_0 = floor - p - below_1
                open_0, open_1 = one > p + below_0, other > p + below_1
                two = min(two, one + other + test_cost)
                more = min(
                    more,
                    test_cost
                    + min(
                        one + below_1 if open_1 else NEVER,
                        other + below_0 if open_0 else NEVER,
                        floor if open_0 & open_1 else NEVER,
                    ),
                )
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


@inner
def cell_of(node, scratch, plane, c, s, t):
    """What a plane counts in the cells of side s of a column and side t of the others: (ones,
    pairs, a, x, y), a + x · ones + y · pairs.
    """
    n = node.numbers.columns
    total, of_c = node.totals[plane], node.ones[plane * n + c]
    a = 0 if t == 1 else total - of_c if s == 0 else of_c
    x = 0 if s == 1 else 1 if t == 1 else -1
    y = 1 if s == t else -1
    return (
        node.ones[plane * n : (plane + 1) * n],
        scratch.both[plane * n : (plane + 1) * n],
        a,
        x,
        y,
    )


@inner
def count_cells(ground, node, scratch, c, s, t):
    """Write into ``scratch`` the cells of side s of column c, counted against all, and side t of
    the others: ``most``, ``loss``, ``mass`` and ``busy``.
    """
    n, labels, cell = node.numbers.columns, ground.labels, (2 * s + t) * node.numbers.columns
    p = ground.p
    unit = ground.unit
    least = ground.least
    path = node.numbers.path
    beside = node.numbers.beside
    most = scratch.most[cell : cell + n]
    loss = scratch.loss[cell : cell + n]
    mass = scratch.mass[cell : cell + n]
    busy = scratch.busy[cell : cell + n]
    most[:], loss[:] = 0, 0
    for k in range(labels):
        ones, pairs, a, x, y = cell_of(node, scratch, k, c, s, t)
        for f in range(n):
            one = a + x * ones[f] + y * pairs[f]
            most[f], loss[f] = most[f] + one, max(loss[f], one)
    ones, pairs, a, x, y = cell_of(node, scratch, labels, c, s, t)
    ones_m, pairs_m, a_m, x_m, y_m = cell_of(node, scratch, labels + 1, c, s, t)
    for f in range(n):
        mass[f] = a_m + x_m * ones_m[f] + y_m * pairs_m[f]
        busy[f] = (loss[f] * unit + beside * mass[f] > p) & (
            a + x * ones[f] + y * pairs[f] >= least
        )
        most[f], loss[f] = unit * most[f] + path * mass[f], unit * (most[f] - loss[f])


@jit(borrow=True)
def propagate_to_sides(ground, node, scratch, c):
    """Raise low of other columns' sides by similarity (rules 4 and 5) to both sides of the column
    that was counted last.
    """
    n, p = node.numbers.columns, ground.p
    if ground.least > 1:
        return
    dear = np.int64(0) if node.numbers.depth < 0 and node.numbers.leaves < 0 else NEVER
    for level in range(levels_of(node.numbers.leaves)):
        for s in range(2):
            bound, mass = node.own[(2 * level + s) * n + c], mass_of(ground, node, c, s)
            for t in range(2):
                low = node.low[(2 * level + t) * n : (2 * level + t + 1) * n]
                cell = (2 * s + 1 - t) * n
                for f in range(n):
                    less = min(
                        scratch.most[cell + f],
                        dear + p + scratch.loss[cell + f] + ground.price[node.columns[f]] * mass,
                    )
                    low[f] = max(low[f], bound - less)


@inline
def joined_cost(low, test_cost, numbers, c):
    """What trees cost that begin with a column (rule 2).

    low, test_cost, numbers : of the set; handing on the whole Node took a quarter of the time.
    With a limit on leaves the best way to share them.
    """
    n, leaves = numbers.columns, numbers.leaves
    if leaves < 0:
        return low[c] + low[n + c] + test_cost[c]
    least, levels = NEVER, levels_of(leaves)
    for level in range(levels):
        least = min(least, low[2 * level * n + c] + low[(2 * (levels - level) - 1) * n + c])
    return least + test_cost[c]


@jit(borrow=True)
def cheapest(node):
    """(cost, column) of the trees that cost least, by the column that they begin with."""
    least, at = 4 * NEVER, np.int64(-1)
    for c in range(node.numbers.columns):
        cost = joined_cost(node.low, node.test_cost, node.numbers, c)
        if cost < least:
            least, at = cost, np.int64(c)
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
        still, best, at, whole = np.int64(0), np.int64(-1), np.int64(-1), np.int64(0)
        for c in range(n):
            whole = max(whole, node.low[c], node.low[n + c]) if alone else whole
            is_open = joined_cost(node.low, node.test_cost, node.numbers, c) < goal
            known = node.state[c] & RECORDED != 0
            new = node.state[c] & COUNTED == 0
            still += is_open
            # records say most about other columns, and so do balanced ones
            rank = node.rank[c] + (NEVER if known else NEVER >> 1 if is_open else np.int64(0))
            rank = rank if new & (thorough | is_open | known) else np.int64(-1)
            if rank > best:
                best, at = rank, np.int64(c)
        if whole >= goal:  # rule 5: the whole costs no less than a part
            return np.int64(0)
        if still == 0 or at < 0:
            return still
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
