"""All trees that cost at most a budget, as a graph of sets of objects and the tests that divide
them (numba kernels).

Many trees meet the same set of objects.  ``search`` takes the sets from the largest down: when one
is taken, all larger ones have said what its trees may cost at most.  It asks for every test that
some tree within that budget asks first, for which it needs the least cost of both sides; these are
found depth first, by branch and bound, with a memo.  What is kept is a graph of sets and edges
(set, test, both sides): its unfoldings are the trees, and no tree is written down here.  With s a
set, B(s) = ``graph.set[s].most`` its budget, lb and ub bounds of least costs (kernels take d, the
level of a set; i and j, places of tests there; and side, ONE or REST)::

    the set of all objects waits, with the budget of the whole
    for n = number of objects … 1, while a set s of n objects waits:
        take s: push it at level 0, its limit B(s)                               (take_next_set)
        while the stack is not empty, with t the set on top:
            if t is s, has three levels or more, and its tests are thresholds: let the search over
                intervals of cuts bound its first tests                    (NEED_BOUNDS)
            if t is new: bound the sides of its tests by pairs and by the memo
                                                                          (bound_sides_of_tests)
            limit = B(s) if t is s, else min(budget of t, ub(t) − 1)
            i = the most balanced test of bound[i] ≤ limit with a side that is not solved
            if there is one:
                push its lighter open side, with the budget limit − lb(other side) − test_cost
            elif t is s:
                for every test, both sides solved, with cost(one) + cost(rest) + test_cost ≤ B(s):
                    keep an edge; both sides wait, if they do not yet, and
                    B(one) = max(B(one), B(s) − cost(rest) − test_cost), the same for rest
                pop                                                                 (write_edges)
            else:
                memo(t) = min(ub(t), least bound[i]) and ub(t); pop
                bounds of the set below follow, and of the sides of its other tests
                                                                   (propagate_to_siblings, B.10)

Bounds: one leaf, two leaves and at least three below every side of a test, from all pairs of tests
(B.2, B.6); equal rows are one object (B.9); the bound of one side, solved, less what their
difference can cost, for the sides of all other tests (B.10).

Invariants:

- A side has fewer objects than its set, so B(s) is final when s is taken.  ``graph.waiting[n]``
  begins the list (``next``, −1 at its end) of the waiting sets of n objects.  The first
  ``state.taken`` of ``graph.order`` are those taken, larger ones first; set 0 has all objects.
  Edges of a set that was taken are first_edge … end_edge − 1.
- Level d has ``objects[first[d] : first[d + 1]]``, ascending; level 0 also as ``bits``.  What is
  behind the top is room for the next level.  Places of a level go by the ``width`` tests that
  divide its set; ``test`` says which they are.
- low ≤ least cost of a side ≤ high; low = high: it is solved.  ``near`` holds rows of the open
  tests only, those of ``levels.open``.
- ``memo``: a new set has lower 0, upper NEVER and place −1, that is, it is not in the graph.
- numba checks no index: NEED_ROOM comes before a set is taken (two sets for every test, of codes
  for every way to divide it, and as many edges as tests have to fit) and before one is expanded (a
  number for every level, and for such sets; half of ``slots`` stays free).

Where nothing else is said, table is a GraphTable, only read; levels and scratch are GraphLevels and
GraphScratch, memo is a Memo, graph a Graph and state a record of STATE, all written.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.bits import lowest, popcount
from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.solving.fingerprints import find_or_enter
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED
from arboretum_gosdt.all_trees.codes import CodeLevels, sum_keys_of_all_tests
from arboretum_gosdt.all_trees.pairs import (
    NEVER,
    bound_all_by_pairs,
    bound_by_pairs,
    bound_sides_of_tests,
    cost_limit,
    cost_of_sides,
    is_asked,
    is_open,
    propagate_to_siblings,
    refresh_bound_of_test,
    take_bounds_from_memo,
)
from arboretum_gosdt.all_trees.planes import (
    PlaneLevels,
    count_pairs_of_test,
    list_side,
    sum_keys,
    write_bits_of_side,
)
from arboretum_gosdt.all_trees.stumps import (
    BITS,
    LOW,
    begin_column,
    losses_of_stumps,
    take_from_side,
    write_side,
)
from arboretum_gosdt.problem.kernels import ONE, REST, TOO_LONG, both_sides, lightest_side
from arboretum_gosdt.sparse.loop import depth_below, key_with_depth


class GraphTable(NamedTuple):
    """What is searched.

    planes : uint64[tests, words], outcomes of the tests as bits of objects.
    packed : uint64[objects, tests / 8], the same, each test a byte, 0 or 1; behind the tests 0.
    packed_amount : int64[objects], one object and both excesses, see :mod:`.stumps`.
    codes, start : int32[objects, columns], int64[columns + 1], see :mod:`.codes`; where there are
        codes the arrays before are empty, else these two.
    amount : int64[objects, answers + 3], the numbers that are summed (see :mod:`.planes`).
    excess : int64[objects, answers], what an answer costs more than the best one.
    keys : int64[objects, 2], random.
    first_kind : int64[answers + 4], where the kinds of each number begin.
    shift : int64[kinds], which of its number's binary digits each is.
    price : int64[tests], of a unit of mass.
    numbers : a record of NUMBERS.
    first : int64[tests], what trees cost at least that ask them first, of the set at level 0.
    sides : int64[2, tests], what their sides cost, −1 where that is not known.
    turn : int64[tests], the tests in the order in which their pairs are counted.
    """

    planes: np.ndarray
    packed: np.ndarray
    packed_amount: np.ndarray
    codes: np.ndarray
    start: np.ndarray
    amount: np.ndarray
    excess: np.ndarray
    keys: np.ndarray
    first_kind: np.ndarray
    shift: np.ndarray
    price: np.ndarray
    numbers: np.record
    first: np.ndarray
    sides: np.ndarray
    turn: np.ndarray


NUMBERS = np.dtype(
    [
        ("p", "i8"),  # cost of a leaf
        ("q", "i8"),  # cost of a unit of loss
        ("least", "i8"),  # rows that a side needs
        ("free", np.bool_),  # no test has a price
        ("coded", np.bool_),  # tests are thresholds of columns of codes
        ("packed", np.bool_),  # and their sums are packed where sides must be leaves
        ("similar", np.bool_),  # bounds of similar sets hold
    ],
    align=True,
)


class GraphLevels(NamedTuple):
    """The sets on the way from the one that was taken; sides are that of outcome 1, then the other;
    one level a row.

    objects : int64, those of one set after the other.
    first : int64[levels + 1], where those of each set begin.
    bits : uint64[words], of level 0.
    by_codes, by_planes : CodeLevels and PlaneLevels, the sets as one or the other is counted.
    node : NODE[levels].
    test, test_cost, bound, known_bound : int64[levels, tests], those that divide the set, what they
        cost there, at least with the trees below, and what was known of that before.
    low, high : int64[levels, 2, tests], the least cost of a side, at least and at most.
    leaf, several : int64[levels, 2, tests], what a side costs as a leaf, and as any other tree at
        least.
    side_key : int64[levels, 2, tests, 2], fingerprints of the sides, where ``keyed``.
    keyed : bool[levels, tests].
    weight : int64[levels, 2, tests], the most that wrong answers cost on a side.
    paired : bool[levels, tests], whether the test's pairs with others were counted.
    sums : int64[levels, answers + 3, tests], numbers of the sides of outcome 1.
    total : int64[levels, answers + 3], numbers of the set.
    """

    objects: np.ndarray
    first: np.ndarray
    bits: np.ndarray
    by_codes: CodeLevels
    by_planes: PlaneLevels
    node: np.ndarray
    test: np.ndarray
    test_cost: np.ndarray
    bound: np.ndarray
    known_bound: np.ndarray
    low: np.ndarray
    high: np.ndarray
    leaf: np.ndarray
    several: np.ndarray
    side_key: np.ndarray
    keyed: np.ndarray
    weight: np.ndarray
    paired: np.ndarray
    sums: np.ndarray
    total: np.ndarray


NODE = np.dtype(
    [
        ("width", "i8"),  # tests that divide the set
        ("lanes", "i8"),  # as many, rounded up
        ("words", "i8"),  # of planes
        ("budget", "i8"),  # what its trees may cost
        ("every", np.bool_),  # whether all these are asked for, or the best one
        ("best", "i8"),  # least cost known
        ("leaf", "i8"),  # cost of a leaf
        ("depth", "i8"),  # tests that may follow
        ("child", "i8"),  # test of which a side is being solved; NEW; AGAIN
        ("side", "i8"),  # that side: 0 of outcome 1, 1 the other
        ("key", "i8", (2,)),  # fingerprint
    ]
)
NEW, AGAIN = -2, -3
"""In place of the test of which a side is being solved.  NEW: nothing was done yet; AGAIN: what was
done was for less than the budget.
"""


class Memo(NamedTuple):
    """Sets by number.

    slots : see fingerprints.
    lower, upper : int64, least cost, at least and at most.
    place : int64, in the graph, or −1.
    """

    slots: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    place: np.ndarray


class Graph(NamedTuple):
    """Sets as they were met, and edges.

    bits : uint64[sets, words].
    set : SET[sets].
    waiting : int64[objects + 1], the first of the sets of so many objects that wait, or −1.
    order : int64[sets], as they were taken.
    edge : EDGE[edges], those of a set lie together.
    """

    bits: np.ndarray
    set: np.ndarray
    waiting: np.ndarray
    order: np.ndarray
    edge: np.ndarray


SET = np.dtype(
    [
        ("most", "i8"),  # what its trees may cost
        ("least", "i8"),  # what the best one costs
        ("alone", "i8"),  # cost of a leaf
        ("several", "i8"),  # of its other trees, at least
        ("depth", "i8"),  # tests that may follow
        ("next", "i8"),  # set that waits behind it; −1: none
        ("key", "i8", (2,)),  # fingerprint
        ("first_edge", "i8"),  # its edges are edge[first_edge:end_edge]; or LEAF, or WAITS
        ("end_edge", "i8"),
    ]
)
LEAF, WAITS = -1, -2
"""In place of a set's first edge.  LEAF: it was not taken, since only a leaf is within its budget;
WAITS: it was not taken yet.
"""
EDGE = np.dtype(
    [
        ("test", "i8"),
        ("one", "i8"),  # set of outcome 1
        ("rest", "i8"),  # set of the other
        ("test_cost", "i8"),  # what the test costs
    ]
)


class GraphScratch(NamedTuple):
    """Room.

    both : int64[answers + 1, tests], numbers that one test has in common with the others.
    side : uint64[words + 2], bits and fingerprint of a side, see :mod:`.stumps`.
    packed : int64[codes of all columns], the numbers of sides, see there.
    objects : int64[tests], how many have outcome 1.
    place : int64[tests], where a test is among those that divide the set, or −1.
    masks : uint64[words, kinds], of the set that is packed.
    mask, at, shift, given : uint64[terms], int64[terms] twice, int64[8], which :mod:`.passes` read.
    together : uint64[tests / 8], outcomes of eight objects.
    says : uint8[tests], the same bytes.
    """

    both: np.ndarray
    side: np.ndarray
    packed: np.ndarray
    objects: np.ndarray
    place: np.ndarray
    masks: np.ndarray
    mask: np.ndarray
    at: np.ndarray
    shift: np.ndarray
    given: np.ndarray
    together: np.ndarray
    says: np.ndarray


STATE = np.dtype(
    [
        ("level", "i8"),  # of the search; −1: the next set is taken
        ("known", "i8"),  # sets in the memo
        ("sets", "i8"),  # in the graph
        ("taken", "i8"),  # of these
        ("edges", "i8"),
        ("objects", "i8"),  # of the sets that are taken now
        ("every", np.bool_),  # whether all trees within the budget are asked for, or the least cost
        ("least", "i8"),  # the least cost, where that was asked for
        ("asks", "i8"),  # sets of more levels have their first tests bounded from outside
        ("given", np.bool_),  # whether ``first`` and ``sides`` are those of the set at level 0
    ]
)
NEED_BOUNDS = 4
"""What a slice returns, too: ``first`` and ``sides`` of the set at level 0 are to be written."""


@inner
def push_side(table, levels, d, i, side, budget):
    """Push side ``side`` of test i (place in ``levels.test[d]``) as level d + 1: its rows, cost ≤
    ``budget``.

    Writes objects behind ``first[d + 1]``.
    """
    node, child, end = levels.node[d], levels.node[d + 1], levels.first[d + 1]
    levels.first[d + 2] = list_side(table, levels, d, i, side, end)
    node.child, node.side = i, side
    child.budget, child.depth, child.child = budget, depth_below(node.depth), NEW
    child.every = False
    for word in range(2):
        child.key[word] = levels.side_key[d, side, i, word]


@inner
def most_balanced_open_test(levels, d, limit):
    """Return the most balanced test within the limit of which a side is not solved; −1: none.

    limit : a cost, see ``cost_limit``; the balance is the weight of the lighter side.
    """
    found, most = np.int64(-1), np.int64(-1)
    for i in range(levels.node[d].width):
        balance = levels.weight[d, lightest_side(levels, d, i), i]
        if balance > most and is_asked(levels, d, i, limit):
            found, most = np.int64(i), balance
    return found


@inner
def number_of_set(memo, state, one, two, depth):
    """Return the number of a set in the memo, given to it where it is new.

    one, two : words of its fingerprint; depth : tests that may follow.
    memo, state : written; there must be room for one set.
    """
    number = find_or_enter(
        memo.slots, key_with_depth(np.uint64(one), depth), np.uint64(two), state.known
    )
    if number == state.known:
        state.known += 1
        memo.lower[number], memo.upper[number], memo.place[number] = 0, NEVER, -1
    return number


@inner
def place_in_graph(table, levels, scratch, memo, graph, state, i, side, most):
    """Return the place of a side of a test of level 0 in the graph; its trees may cost ``most``.

    i : the test's place in ``levels.test[0]``, its fingerprints there; side : ONE or REST.
    Of a side that is there the budget is raised.  It waits among the sets of as many objects once
    that reaches any tree but a leaf.
    """
    one = levels.side_key[0, side, i, 0]
    two = levels.side_key[0, side, i, 1]
    depth = depth_below(levels.node[0].depth)
    number = number_of_set(memo, state, one, two, depth)
    at = memo.place[number]
    if at < 0:
        at = state.sets
        state.sets += 1
        memo.place[number] = at
        write_bits_of_side(table, levels, scratch, i, side, graph.bits[at])
        new = graph.set[at]
        new.most = most
        new.least = levels.low[0, side, i]
        new.alone = levels.leaf[0, side, i]
        new.several = 0
        new.depth = depth
        new.key[0] = one
        new.key[1] = two
        new.first_edge = LEAF
        new.end_edge = LEAF
    found = graph.set[at]
    found.most = max(found.most, most)
    found.several = max(found.several, levels.several[0, side, i])
    if found.first_edge == LEAF and found.most >= found.several:
        size = np.int64(0)
        for w in range(graph.bits.shape[1]):
            size += popcount(graph.bits[at, w])
        found.first_edge = WAITS
        found.next = graph.waiting[size]
        graph.waiting[size] = at
    return at


@inline
def most_new_sets(table, n):
    """Return how many sets the tests of a set of n objects make, at most."""
    tests = table.price.shape[0]
    return 2 * (min(tests, n * table.codes.shape[1]) if table.numbers.coded else tests)


@inner
def take_next_set(levels, graph, state):
    """Make the next waiting set of ``state.objects`` objects that of level 0, and the next in
    ``graph.order``.

    There must be one.  The node's budget is the set's.
    """
    at, end = graph.waiting[state.objects], np.int64(0)
    taken = graph.set[at]
    graph.waiting[state.objects] = taken.next
    graph.order[state.taken] = at
    taken.first_edge = state.edges
    state.taken += 1
    for w in range(graph.bits.shape[1]):
        word = graph.bits[at, w]
        levels.bits[w] = word
        while word != 0:
            levels.objects[end] = w * 64 + lowest(word)
            word &= word - np.uint64(1)
            end += 1
    node = levels.node[0]
    levels.first[0], levels.first[1] = 0, end
    node.budget, node.depth, node.child = taken.most, taken.depth, NEW
    node.every = state.every
    for word in range(2):
        node.key[word] = taken.key[word]


@inner
def take_leaves(graph, state):
    """Take all sets that never waited, without edges, behind the others."""
    for at in range(state.sets):
        if graph.set[at].first_edge == LEAF:
            graph.set[at].first_edge = graph.set[at].end_edge = 0
            graph.order[state.taken] = at
            state.taken += 1


@inner
def write_edges(table, levels, scratch, memo, graph, state):
    """Keep the tests of level 0 that some tree within its budget asks first, as edges.

    The set's ``alone`` and the range of its edges are written; there must be room for an edge and
    two sets for each test.
    """
    node, at = levels.node[0], graph.order[state.taken - 1]
    graph.set[at].alone, kept = node.leaf, np.int64(0)
    # to divide such a set takes no longer than to count a test's pairs
    stumps = table.numbers.packed and node.depth == 2
    for i in range(node.width if table.numbers.coded else 0):
        kept += cost_of_sides(levels.high, 0, i) + levels.test_cost[0, i] <= node.budget
    if kept > 4 * table.codes.shape[1]:
        sum_keys_of_all_tests(table, levels, scratch, 0)
    high_1, high_2 = both_sides(levels.high[0])
    several_1, several_2 = both_sides(levels.several[0])
    for i in range(node.width):
        if is_open(levels, 0, ONE, i) or is_open(levels, 0, REST, i):
            continue
        one, rest = high_1[i], high_2[i]
        test_cost = levels.test_cost[0, i]
        most = node.budget - test_cost
        if one + rest <= most:
            if (
                not levels.paired[0, i]
                and not stumps
                and (most - rest >= several_1[i] or most - one >= several_2[i])
            ):
                bound_by_pairs(table, levels, scratch, 0, i)
            sum_keys(table, levels, 0, i)
            edge = graph.edge[state.edges]
            edge.test, edge.test_cost = levels.test[0, i], test_cost
            edge.one = place_in_graph(
                table, levels, scratch, memo, graph, state, i, ONE, most - rest
            )
            edge.rest = place_in_graph(
                table, levels, scratch, memo, graph, state, i, REST, most - one
            )
            state.edges += 1
    graph.set[at].end_edge = state.edges


@inner
def write_stumps(table, levels, scratch, memo, graph, state):
    """Keep the tests of level 0, whose sides must be leaves, as ``write_edges`` does, of a table of
    codes (:mod:`.stumps`).
    """
    node, at, n = levels.node[0], graph.order[state.taken - 1], levels.first[1]
    whole, p, q = losses_of_stumps(table, levels, scratch), table.numbers.p, table.numbers.q
    graph.set[at].alone = q * min((whole >> BITS) & LOW, whole >> (2 * BITS)) + p
    most, lost = (node.budget - 2 * p) // q, levels.bound[0]
    for b in range(table.codes.shape[1]):
        out, last = np.int64(-1), np.int64(0)  # how many are out; −1: none was listed
        for f in range(table.start[b], table.start[b + 1]):
            if lost[f] > most:
                continue
            edge, one = graph.edge[state.edges], scratch.packed[f + b + 1]
            edge.test, edge.test_cost = f, 0
            if out == n - (one & LOW):
                edge.one, edge.rest = graph.edge[last].one, graph.edge[last].rest
            else:
                if out < 0:
                    begin_column(table, levels, scratch, b)
                    out = np.int64(0)
                take_from_side(table, levels, scratch, out, n - (one & LOW))
                out = n - (one & LOW)
                write_side(table, levels, scratch, f, one, whole)
                most_1 = node.budget - levels.leaf[0, REST, f]
                most_2 = node.budget - levels.leaf[0, ONE, f]
                edge.one = place_in_graph(
                    table, levels, scratch, memo, graph, state, f, ONE, most_1
                )
                edge.rest = place_in_graph(
                    table, levels, scratch, memo, graph, state, f, REST, most_2
                )
            last = state.edges
            state.edges += 1
    graph.set[at].end_edge = state.edges


@jit(borrow=True, whole=True)
def search(table, levels, scratch, memo, graph, state, work, most):
    """Work on, some ``work`` objects · tests long; returns FINISHED, NEED_ROOM, PAUSED or
    NEED_BOUNDS, or TOO_LONG where the next set alone takes ``most``.

    table : GraphTable.
    levels, scratch, memo, graph, state : written; another call with the same arrays (or longer
        ones) goes on where this one stopped; after NEED_BOUNDS once ``state.given`` is true.
    Where ``state.every`` is False it ends with the least cost of the first set, ``state.least``.
    """
    tests = table.price.shape[0]
    while True:
        d = state.level
        if d < 0:
            while state.objects > 0 and graph.waiting[state.objects] < 0:
                state.objects -= 1
            if state.objects == 0:
                take_leaves(graph, state)
                return FINISHED
            new = most_new_sets(table, state.objects)
            if state.sets + new > graph.set.shape[0] or state.edges + tests > graph.edge.shape[0]:
                return NEED_ROOM
            take_next_set(levels, graph, state)
            d = state.level = np.int64(0)
        node = levels.node[d]
        if node.child == NEW:
            n = levels.first[d + 1] - levels.first[d]
            soon = state.known + d + most_new_sets(table, n) + 2
            if soon >= memo.lower.shape[0] or 2 * soon >= memo.slots.shape[0]:
                return NEED_ROOM
            if work < 0:
                return PAUSED
            if d == 0 and node.every and node.depth > state.asks and not state.given:
                return NEED_BOUNDS
            # of many tests few rows of pairs are counted: an eighth, say
            row = n * table.codes.shape[1] + 3 * tests
            row = row if table.numbers.coded else (n // 64 + 1) * (tests + 64) // 2
            step = n * tests // 8 + tests * row // 8
            if step > most:
                return TOO_LONG
            if d == 0 and node.every and node.depth == 1 and table.numbers.packed:
                work -= 1000 + row
                write_stumps(table, levels, scratch, memo, graph, state)
                state.level = -1
                continue
            work -= 1000 + step
            bound_sides_of_tests(table, levels, scratch, d, d == 0 and state.given)
            state.given = state.given and d > 0
        if node.child == AGAIN:
            node.child = -1
            bound_all_by_pairs(table, levels, scratch, d)
        limit = cost_limit(node)
        i = most_balanced_open_test(levels, d, limit)
        if i >= 0 and not levels.keyed[d, i]:
            take_bounds_from_memo(table, levels, scratch, memo, d, i)
            continue
        if i >= 0:
            side = lightest_side(levels, d, i)
            side = side if is_open(levels, d, side, i) else 1 - side
            budget = limit - levels.low[d, 1 - side, i] - levels.test_cost[d, i]
            push_side(table, levels, d, i, side, budget)
            state.level = d + 1
            continue
        if d == 0 and not node.every:
            state.least, state.level = node.best, -1
            return FINISHED
        if d == 0:
            if table.numbers.packed and node.depth == 1:
                write_stumps(table, levels, scratch, memo, graph, state)
            else:
                write_edges(table, levels, scratch, memo, graph, state)
            state.level = -1
            continue
        lower = node.best
        for i in range(node.width):
            lower = min(lower, levels.bound[d, i])
        number = number_of_set(memo, state, node.key[0], node.key[1], node.depth)
        memo.lower[number] = max(memo.lower[number], lower)
        memo.upper[number] = min(memo.upper[number], node.best)
        state.level = d - 1
        i, side = levels.node[d - 1].child, levels.node[d - 1].side
        levels.low[d - 1, side, i] = max(levels.low[d - 1, side, i], memo.lower[number])
        levels.high[d - 1, side, i] = min(levels.high[d - 1, side, i], memo.upper[number])
        refresh_bound_of_test(levels, d - 1, i)
        if table.numbers.similar and levels.low[d - 1, side, i] > 2 * table.numbers.p:
            count_pairs_of_test(table, levels, scratch, d - 1, i)
            propagate_to_siblings(table, levels, scratch, d - 1, i, side == ONE, side == REST)
