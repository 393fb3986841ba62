"""Sums over the sides of the tests of sets of objects, and over the cells of their pairs: what a
leaf function is asked, and what follows of its answers (numba kernels).

Each test is turned so that side 1, "inside", holds fewer objects of the whole problem; an object
has a list of the tests it is inside.  A node is a set whose sides are to be solved; it keeps the
sums of its pairs i ∧ j.  So a side's own sums need no row, and the pairs of the larger side are
those of the node less those of the smaller one::

    open_node: Σ over the set and over the inside of each test, from its objects
               the tests that divide it, each division once, and leave enough rows on both sides
    count_node: Σ over i ∧ j: for each object, all pairs of its list
    open_sides: for each side asked: its sums, from the node's pairs; the tests it keeps; the
                objects of the smaller side, whose pairs are to be counted
    repeat:                                                          (costs of many leaves at once)
        fill_cells: the next cells, until the room is full                              (position)
            of all sets: the set itself and both sides of its tests
            then pair by pair: Σ over i ∧ j; the other three cells are differences
        costs ← leaf(cells), in Python, over arrays of one moment each
        take_cells: leaf[side, i] = cost + p, ∞ where rows are few
            two[side, i] = min of leaf and, over j, of what the side costs divided by j
    best tree of two levels: min over i of two[0, i] + two[1, i]; or the leaf

Invariants: moments are whole multiples of a number that all sums are exact for, so that sums and
their differences do not depend on how they come about.  Tests of a set are kept in the order of
its node.  Pair (i, j), i < j, of m tests is number i (2 m − i − 1) / 2 + j − i − 1.  Room for cells
is at least that of all sides, and of one row of pairs.  What was asked is taken before it is asked
again.

What it was worth, in processor seconds (survival trees of ``anneal``, depth 4; 300 rows with 290
cuts, depth 3): products of matrices, set by set, 1.25 and 6.4; the same bounds and sums in kernels,
pairs by masks over all tests .25 and 1.39; lists of tests, and the pairs of the smaller side, .105
and .90 (all pairs from objects .136 and 1.16).  One set at a time .16 instead of .10, and for the
15 tests of ``monk1`` .021 instead of .009.  Leaves asked by 2¹¹ instead of 2¹⁴: .19 and 2.1; by
2¹⁸: the same.

Where nothing else is said, table is a SumsTable, only read, node a SumsNode, batch a SumsBatch; b
is the number of a set, i and j are places of tests, side is 1 inside and 0 outside; K is the number
of sums, filled up to a multiple of four.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import inline, inner, jit

STORED, COUNTED, LEFT = 0, 1, 2
"""Pairs of a set: those of its node; those of the objects listed; the node's without the latter."""


class SumsTable(NamedTuple):
    """What is searched.

    inside : uint8[tests, objects], 0 or 1.
    begin : int64[objects + 1], where the tests of each object begin in ``tests``.
    tests : int32[begin[-1]], those that each object is inside.
    moments : float64[objects, K], the number of rows among them, at ``rows``.
    alone : float64[objects], what each costs as a leaf of its own.
    words : uint64[objects, 2], random.
    rows, asked : int, the place of rows, and how many of the K there are.
    """

    inside: np.ndarray
    begin: np.ndarray
    tests: np.ndarray
    moments: np.ndarray
    alone: np.ndarray
    words: np.ndarray
    rows: int
    asked: int


class SumsNode(NamedTuple):
    """A set of objects, by its m tests.

    objects : int64.   test : int64[m].
    whole, own, alone : float64[K], uint64[2], float64[1], sums of the set, its fingerprint, and
        what its objects cost apart.
    one, word, alone_of, objects_of : float64[m, K], uint64[m, 2], float64[m], int64[m], the same,
        and how many they are, of the objects inside each test.
    both, both_word : float64[pairs, K], uint64[pairs, 2], of those inside two; of no length where
        they are too many to be kept.
    """

    objects: np.ndarray
    test: np.ndarray
    whole: np.ndarray
    own: np.ndarray
    alone: np.ndarray
    one: np.ndarray
    word: np.ndarray
    alone_of: np.ndarray
    objects_of: np.ndarray
    both: np.ndarray
    both_word: np.ndarray


POSITION = np.dtype(
    [
        ("sets", "i8"),  # of the batch
        ("set", "i8"),  # whose pairs are counted next
        ("row", "i8"),  # its first test of these pairs
        ("from_set", "i8"),  # the same, of the cells that were asked
        ("from_row", "i8"),
        ("sides", "i8"),  # cells of sets and sides that were asked, 0: they are taken
        ("cells", "i8"),  # that were asked in all
        ("undefined", "i8"),  # a cell that costs NaN, −1: none
    ],
    align=True,
)
"""Where the counting of a batch is."""


class SumsBatch(NamedTuple):
    """Sets that are counted together, all of one node, T being room for tests.

    objects, first : int64, int64[sets + 1], those that are counted for each set, and where they
        begin.
    kind : int64[sets], STORED, COUNTED or LEFT.
    width : int64[sets], tests that are kept.
    at : int64[sets, T], their places in the node.
    whole, one : float64[sets, K], float64[sets, T, K], sums.
    own : uint64[sets, 2], fingerprints.
    cost : float64[sets], of a leaf with its price.
    leaf, two : float64[sets, 2, T], what a side costs as a leaf, and as one or two.
    second : int64[sets, 2, T], the place of the test of two, −1: a leaf.
    inside : uint8[T, T] or of no length, of the only set, bit 2 (1 − s) + 1 − t of [i, j]: whether
        side s of test i is part of side t of test j.
    cells, both : float64[K, room], float64[room / 4, K], sums.
    sums, word : float64[T, K], uint64[T, 2], of all tests of the node.
    place : int64[all tests], of each kept one, else −1.
    listed : int64[T].
    slot : int64[power of two above 2 T].
    position : POSITION[1].
    """

    objects: np.ndarray
    first: np.ndarray
    kind: np.ndarray
    width: np.ndarray
    at: np.ndarray
    whole: np.ndarray
    one: np.ndarray
    own: np.ndarray
    cost: np.ndarray
    leaf: np.ndarray
    two: np.ndarray
    second: np.ndarray
    inside: np.ndarray
    cells: np.ndarray
    both: np.ndarray
    sums: np.ndarray
    word: np.ndarray
    place: np.ndarray
    listed: np.ndarray
    slot: np.ndarray
    position: np.ndarray


@inline
def number_of_pair(i, j, m):
    """Return the number of the pair i < j of m tests."""
    return i * (2 * m - i - 1) // 2 + j - i - 1


@inline
def enough(rows, whole, least):
    """Return whether a side of so many rows and the other one, of all, may be leaves."""
    few = max(np.float64(least), 0.5)
    return rows >= few and whole - rows >= few


@jit(borrow=True, wraps=True)
def open_node(table, batch, node, tests, least):
    """Sum over the objects of a node and over the inside of each of ``tests``, and keep those that
    divide it; returns how many.

    tests : int64.   least : rows that a side needs.
    Writes all of ``node`` but the pairs; there is room for all of ``tests``.
    """
    place, k = batch.place, table.moments.shape[1]
    place[:] = -1
    for j in range(len(tests)):
        place[tests[j]] = j
    node.whole[:], node.own[:], node.alone[:] = 0.0, np.uint64(0), 0.0
    node.one[:], node.word[:], node.alone_of[:], node.objects_of[:] = 0.0, np.uint64(0), 0.0, 0
    for r in node.objects:
        for c in range(k):
            node.whole[c] += table.moments[r, c]
        node.alone[0] += table.alone[r]
        for half in range(2):
            node.own[half] += table.words[r, half]
        for at in range(table.begin[r], table.begin[r + 1]):
            j = place[table.tests[at]]
            if j >= 0:
                for c in range(k):
                    node.one[j, c] += table.moments[r, c]
                for half in range(2):
                    node.word[j, half] += table.words[r, half]
                node.alone_of[j] += table.alone[r]
                node.objects_of[j] += 1
    empty_slots(batch)
    m = 0
    for j in range(len(tests)):
        if enough(node.one[j, table.rows], node.whole[table.rows], least) and is_new(
            batch.slot, node.word, m, node.word[j, 0], node.word[j, 1], node.own
        ):
            node.test[m] = tests[j]
            for c in range(k):
                node.one[m, c] = node.one[j, c]
            node.word[m, 0], node.word[m, 1] = node.word[j, 0], node.word[j, 1]
            node.alone_of[m], node.objects_of[m] = node.alone_of[j], node.objects_of[j]
            m += 1
    return m


@inner
def empty_slots(batch):
    """Forget which divisions are known."""
    for at in range(len(batch.slot)):
        batch.slot[at] = -1


@inner(wraps=True)
def is_new(slot, word, m, low, high, own):
    """Return whether no test of ``word[:m]`` divides the set as the one of this fingerprint does,
    and enter it as number m then.

    own : uint64[2], of the set: the other side divides alike.
    """
    other_low, other_high = own[0] - low, own[1] - high
    last = np.uint64(len(slot) - 1)
    at = np.int64(min(low, other_low) & last)
    while slot[at] >= 0:
        one, two = word[slot[at], 0], word[slot[at], 1]
        if (one == low and two == high) or (one == other_low and two == other_high):
            return False
        at = np.int64(np.uint64(at + 1) & last)
    slot[at] = m
    return True


@jit(borrow=True, wraps=True)
def count_node(table, batch, node):
    """Sum over the objects inside two tests of a node, for all pairs."""
    place, listed, m = batch.place, batch.listed, len(node.test)
    place[:] = -1
    for j in range(m):
        place[node.test[j]] = j
    node.both[:], node.both_word[:] = 0.0, np.uint64(0)
    for r in node.objects:
        many = list_tests(table, place, listed, r)
        one, two = table.words[r, 0], table.words[r, 1]
        for x in range(many - 1):
            base = number_of_pair(listed[x], np.int64(0), m)
            for y in range(x + 1, many):
                pair = node.both_word[base + listed[y]]
                pair[0] += one
                pair[1] += two
        for c in range(0, table.moments.shape[1], 4):
            add_to_pairs(node.both, table.moments[r], listed[:many], m, np.int64(0), c, m)


@inner
def list_tests(table, place, listed, r):
    """List the places of the tests that an object is inside, and that have one; returns how
    many.
    """
    many = 0
    for at in range(table.begin[r], table.begin[r + 1]):
        j = place[table.tests[at]]
        if j >= 0:
            listed[many] = j
            many += 1
    return many


@inner
def add_to_pairs(both, moments, listed, m, start, c, last):
    """Add four moments of an object, from c on, to all pairs of its tests of which the first is
    below ``last``.

    listed : int64, places, ascending.   start : number of the pair that is first in ``both``.
    """
    a, b, d, e = moments[c], moments[c + 1], moments[c + 2], moments[c + 3]
    for x in range(len(listed) - 1):
        if listed[x] >= last:
            break
        base = number_of_pair(listed[x], np.int64(0), m) - start
        for y in range(x + 1, len(listed)):
            at = base + listed[y]
            one, two, three, four = both[at, c], both[at, c + 1], both[at, c + 2], both[at, c + 3]
            both[at, c] = one + a
            both[at, c + 1] = two + b
            both[at, c + 2] = three + d
            both[at, c + 3] = four + e


@jit(borrow=True)
def open_whole(table, batch, node):
    """Begin a batch of the node itself."""
    m, position = len(node.test), batch.position[0]
    batch.first[0], batch.first[1] = 0, len(node.objects)
    for at in range(len(node.objects)):
        batch.objects[at] = node.objects[at]
    batch.kind[0], batch.width[0] = STORED if len(node.both) > 0 else COUNTED, m
    for c in range(table.moments.shape[1]):
        batch.whole[0, c] = node.whole[c]
        for i in range(m):
            batch.one[0, i, c] = node.one[i, c]
    for i in range(m):
        batch.at[0, i] = i
    batch.own[0, 0], batch.own[0, 1] = node.own[0], node.own[1]
    begin(position, 1)


@inline
def begin(position, sets):
    """Begin to count a batch."""
    position.sets, position.set, position.row = sets, 0, 0
    position.sides, position.cells, position.undefined = -1, 0, -1


@jit(borrow=True, wraps=True)
def open_sides(table, batch, node, asked, count, least):
    """Begin a batch of sides of a node.

    asked : int64[2, count or more], the place of each one's test, and its side.
    least : rows that a side needs.
    """
    end = 0
    for b in range(count):
        i, side = asked[0, b], asked[1, b]
        stored = len(node.both) > 0 or len(node.test) < 2
        batch.kind[b] = COUNTED
        counted = side
        if stored and 2 * node.objects_of[i] > len(node.objects):
            counted = 0
        elif stored:
            counted = 1
        if counted != side:
            batch.kind[b] = LEFT
        batch.first[b] = end
        inside = table.inside[node.test[i]]
        for r in node.objects:
            batch.objects[end] = r
            end += inside[r] == counted
        batch.first[b + 1] = end
        for c in range(table.moments.shape[1]):
            mine = node.one[i, c]
            batch.whole[b, c] = mine if side == 1 else node.whole[c] - mine
        for half in range(2):
            word = node.word[i, half]
            batch.own[b, half] = word if side == 1 else node.own[half] - word
        if stored:
            sums_from_pairs(batch, node, i, side)
        else:
            sums_from_objects(table, batch, node, b)
        keep_tests(table, batch, b, len(node.test), least)
    begin(batch.position[0], count)


@inner(wraps=True)
def sums_from_pairs(batch, node, i, side):
    """Write sums over the inside of all tests, of one side of test i of a node."""
    m, k = len(node.test), len(node.whole)
    for j in range(m):
        if j == i:
            for c in range(k):
                batch.sums[j, c] = 0.0
            continue
        at = number_of_pair(min(i, j), max(i, j), m)
        for c in range(k):
            both = node.both[at, c]
            batch.sums[j, c] = both if side == 1 else node.one[j, c] - both
        for half in range(2):
            word = node.both_word[at, half]
            batch.word[j, half] = word if side == 1 else node.word[j, half] - word


@inner(wraps=True)
def sums_from_objects(table, batch, node, b):
    """Write the sums of a set by test, ``batch.sums`` and ``batch.word``, from its objects.

    b : number of the set in the batch.
    """
    place, m = batch.place, len(node.test)
    place[:] = -1
    for j in range(m):
        place[node.test[j]] = j
    batch.sums[:m], batch.word[:m] = 0.0, np.uint64(0)
    for at in range(batch.first[b], batch.first[b + 1]):
        r = batch.objects[at]
        many = list_tests(table, place, batch.listed, r)
        for x in range(many):
            j = batch.listed[x]
            for c in range(table.moments.shape[1]):
                batch.sums[j, c] += table.moments[r, c]
            for half in range(2):
                batch.word[j, half] += table.words[r, half]


@inner
def keep_tests(table, batch, b, m, least):
    """Keep the tests that divide a set, each division once, by ``sums`` and ``word`` of all m."""
    empty_slots(batch)
    kept, whole, sums, word = 0, batch.whole[b, table.rows], batch.sums, batch.word
    for j in range(m):
        if enough(sums[j, table.rows], whole, least) and is_new(
            batch.slot, word, kept, word[j, 0], word[j, 1], batch.own[b]
        ):
            word[kept, 0], word[kept, 1] = word[j, 0], word[j, 1]
            batch.at[b, kept] = j
            for c in range(table.moments.shape[1]):
                batch.one[b, kept, c] = sums[j, c]
            kept += 1
    batch.width[b] = kept


@inner
def count_pairs(table, batch, node, b, first, last, start):
    """Sum over the objects of a set inside both i and j, for first ≤ i < last and i < j, into
    ``both[start :]``; returns the end.
    """
    both, place, listed, m = batch.both, batch.place, batch.listed, batch.width[b]
    before = number_of_pair(first, first + 1, m)
    end = start + number_of_pair(last, last + 1, m) - before
    k = both.shape[1]
    for at in range(start, end):
        for c in range(k):
            both[at, c] = 0.0
    if batch.kind[b] == STORED:
        return end
    place[:] = -1
    for i in range(first, m):
        place[node.test[batch.at[b, i]]] = i
    for at in range(batch.first[b], batch.first[b + 1]):
        r = batch.objects[at]
        many = list_tests(table, place, listed, r)
        for c in range(0, k, 4):
            add_to_pairs(both, table.moments[r], listed[:many], m, before - start, c, last)
    return end


@jit(borrow=True)
def fill_cells(table, batch, node):
    """Write the sums of the next cells; returns how many.

    Of pairs, the four cells are (1, 1), (1, 0), (0, 1) and (0, 0), all of one kind together.
    """
    position, cells = batch.position[0], batch.cells
    room, at = cells.shape[1], 0
    if position.sides < 0:
        for b in range(position.sets):
            m = batch.width[b]
            for c in range(table.asked):
                whole = batch.whole[b, c]
                cells[c, at] = whole
                for i in range(m):
                    cells[c, at + 1 + i] = whole - batch.one[b, i, c]
                    cells[c, at + 1 + m + i] = batch.one[b, i, c]
            at += 2 * m + 1
        position.sides = at
    position.from_set, position.from_row = position.set, position.row
    pairs, most = np.int64(0), (room - at) // 4
    while position.set < position.sets:
        b = position.set
        m, first = batch.width[b], position.row
        if m < 2:
            position.set = b + 1
            continue
        last, after = first, pairs
        while last < m - 1 and after + m - 1 - last <= most:
            after += m - 1 - last
            last += 1
        if last > first:
            pairs = count_pairs(table, batch, node, b, first, last, pairs)
        if last < m - 1:
            position.row = last
            break
        position.set, position.row = b + 1, 0
    position.cells = at + 4 * pairs
    begin, b, row = 0, position.from_set, position.from_row
    while begin < pairs:
        m = batch.width[b]
        if row >= m - 1:
            b, row = b + 1, 0
            continue
        if batch.kind[b] != COUNTED:
            add_from_node(batch, node, b, row, begin)
        many, here = m - 1 - row, at + begin
        for c in range(table.asked):
            fill_four(
                cells[c, here : here + 3 * pairs + many],
                batch.both[begin : begin + many, c],
                batch.one[b, row:m, c],
                batch.whole[b, c],
                pairs,
            )
        begin += many
        row += 1
    return position.cells


@inner
def add_from_node(batch, node, b, i, start):
    """Take the pairs of test i of a set from those of its node, less what was counted."""
    m, k, mine = len(node.test), len(node.whole), batch.at[b, i]
    base = number_of_pair(mine, np.int64(0), m)
    for j in range(i + 1, batch.width[b]):
        at, to = base + batch.at[b, j], start + j - i - 1
        for c in range(k):
            batch.both[to, c] = node.both[at, c] - batch.both[to, c]


@inner
def fill_four(cells, both, one, whole, pairs):
    """Write the four cells of one test's pairs with those behind it, ``pairs`` apart.

    cells : float64, from the first cell (1, 1) on.   both : float64[tests behind].
    one : float64[1 + tests behind], of their insides.
    """
    mine = one[0]
    rest = whole - mine
    for j in range(len(both)):
        inside = both[j]
        other = one[1 + j] - inside
        cells[j] = inside
        cells[pairs + j] = mine - inside
        cells[2 * pairs + j] = other
        cells[3 * pairs + j] = rest - other


@jit(borrow=True)
def take_cells(table, batch, costs, p, least):
    """Take what leaves of the cells cost, float64[cells], without their price p; returns whether
    cells are left to be asked.

    Writes ``cost``, ``leaf``, ``two`` and ``second``; and ``inside`` of the only set, where it has
    a length.  A cell of at least ``least`` rows that costs NaN is ``undefined``; then nothing else
    is certain.
    """
    position = batch.position[0]
    rows, few, at = batch.cells[table.rows], max(np.float64(least), 0.5), 0
    for cell in range(position.cells):
        if rows[cell] < few:
            costs[cell] = np.inf
        elif np.isnan(costs[cell]):
            position.undefined = cell
            return False
        else:
            costs[cell] += p
    if position.sides > 0:
        for b in range(position.sets):
            m = batch.width[b]
            batch.cost[b] = costs[at]
            for side in range(2):
                for i in range(m):
                    cost = costs[at + 1 + side * m + i]
                    batch.leaf[b, side, i], batch.two[b, side, i] = cost, cost
                    batch.second[b, side, i] = -1
            at += 2 * m + 1
        position.sides = 0
    pairs = (position.cells - at) // 4
    begin, b, row = 0, position.from_set, position.from_row
    while begin < pairs:
        m = batch.width[b]
        if row >= m - 1:
            b, row = b + 1, 0
            continue
        here, many = at + begin, m - 1 - row
        take_row_of_pairs(
            batch.two[b],
            batch.second[b],
            costs[here : here + 3 * pairs + many],
            row,
            m,
            pairs,
        )
        if len(batch.inside) > 0:
            compare_sides(batch, rows[here : here + 3 * pairs + many], row, m, pairs)
        begin += many
        row += 1
    return position.set < position.sets


@inner
def take_row_of_pairs(two, second, costs, i, m, pairs):
    """Take the costs of the pairs of one test i with those behind it.

    two, second : of the set.   costs : float64, of the cells as :func:`fill_four` writes them.
    """
    rest, one = two[0, i], two[1, i]
    by_rest, by_one = second[0, i], second[1, i]
    for j in range(i + 1, m):
        at = j - i - 1
        a, b = costs[at], costs[pairs + at]
        c, d = costs[2 * pairs + at], costs[3 * pairs + at]
        if a + b < one:
            one, by_one = a + b, j
        if c + d < rest:
            rest, by_rest = c + d, j
        if a + c < two[1, j]:
            two[1, j], second[1, j] = a + c, i
        if b + d < two[0, j]:
            two[0, j], second[0, j] = b + d, i
    two[0, i], two[1, i], second[0, i], second[1, i] = rest, one, by_rest, by_one


@inner
def compare_sides(batch, rows, i, m, pairs):
    """Write which sides of test i are part of a side of those behind it, and the other way round.

    rows : float64, of the cells as :func:`fill_four` writes them.
    """
    inside = batch.inside
    for j in range(i + 1, m):
        at, mine, other = j - i - 1, 0, 0
        for kind in range(4):  # bit: 2 (1 − s) + 1 − t; an empty cell (s, t): s in not t
            if rows[kind * pairs + at] < 0.5:
                s, t = 1 - kind // 2, 1 - kind % 2
                mine |= 1 << (2 * (1 - s) + t)
                other |= 1 << (2 * (1 - t) + s)
        inside[i, j], inside[j, i] = mine, other
