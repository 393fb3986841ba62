"""The trees of a graph of :mod:`.graph`: how many of each cost, and each of them in its
order (numba kernels).

With N(s, c) the number of trees of set s that cost c ≤ ``most`` of s, one(e) and rest(e) the sides
of outcome 1 and 0 of edge e::

    N(s, c) = [s as a leaf costs c] + Σ over edges e of s, Σ over a + b + test_cost(e) = c:
                  N(one(e), a) · N(rest(e), b)                    (count_trees, smallest set first)
    above(root, c) = 1
    for the sets from the largest down, for every edge and a + b + test_cost = c:
        above(one(e), a) += above(s, c) · N(rest(e), b), and the other way round
                                                                        (count_trees_above_sets)
    list_trees: by cost; of one cost in the order of (edge, a), node by node: the last node that
        can be something else is changed, and all behind it begin with their first choice

Invariants: costs of a set are ascending, at first[s] … last[s] − 1 of ``cost`` and ``count``; sides
of a set come before it in the order of counting.  Between two sets all slots of the bag are FREE.
A set is counted whole or not at all: NEED_ROOM comes before its costs are written, and it is begun
anew.  At most about half of the bag is in use.  Counts are exact below 2⁵³, or mod ``modulus``.

graph is a Graph of :mod:`.graph`, only read; s is a set of it, e or edge one of its edges.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.bits import lowest
from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.solving.fingerprints import GOLDEN
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED

FREE = np.int64(-1)


class TreeCounts(NamedTuple):
    """The costs of the trees of every set, ascending, and how many trees have each.

    first, last : int64[sets], places of a set.
    cost : int64.
    count : float64 (exact below 2^53), or int64, mod some number.
    """

    first: np.ndarray
    last: np.ndarray
    cost: np.ndarray
    count: np.ndarray


class CostTable(NamedTuple):
    """The costs of one set while they are found.

    slots : int64[2^k], costs, else FREE.
    sums : their counts.
    found : int64[2^k], listed.
    """

    slots: np.ndarray
    sums: np.ndarray
    found: np.ndarray


@jit
def count_trees(graph, counted, bag, state, without, modulus, steps):
    """Count the trees of each cost, from the smallest set up; returns FINISHED, NEED_ROOM, or
    PAUSED once ``steps`` pairs of costs were added.

    graph : see :mod:`.graph`.
    counted : TreeCounts, written; bag : CostTable, all of it FREE.
    state : int64[2], sets left (order[state[0] − 1] is next) and places of ``counted`` taken;
        written.
    without : bool[tests], tests whose trees do not count.
    modulus : counts are taken mod this; 0: none.
    """
    mask = np.int64(bag.slots.shape[0] - 1)
    while state[0] > 0:
        if steps <= 0:
            return PAUSED
        s = graph.order[state[0] - 1]
        most, n = graph.set[s].most, np.int64(0)
        if graph.set[s].alone <= most:
            n = add_trees_of_cost(bag, mask, n, graph.set[s].alone, bag.sums[0] * 0 + 1, modulus)
        for e in range(graph.set[s].first_edge, graph.set[s].end_edge):
            one, rest, test_cost = graph.edge[e].one, graph.edge[e].rest, graph.edge[e].test_cost
            if without[graph.edge[e].test]:
                continue
            for a in range(counted.first[one], counted.last[one]):
                steps -= 1
                for b in range(counted.first[rest], counted.last[rest]):
                    cost = counted.cost[a] + counted.cost[b] + test_cost
                    if cost > most:
                        break
                    steps -= 1
                    if 2 * n > mask:
                        free_slots(bag, n, mask)
                        return NEED_ROOM
                    n = add_trees_of_cost(
                        bag, mask, n, cost, counted.count[a] * counted.count[b], modulus
                    )
        if state[1] + n > counted.cost.shape[0]:
            free_slots(bag, n, mask)
            return NEED_ROOM
        listed = bag.found[:n]
        listed.sort()
        counted.first[s], counted.last[s] = state[1], state[1] + n
        for i in range(n):
            counted.cost[state[1] + i] = listed[i]
            counted.count[state[1] + i] = bag.sums[place_of_cost(bag.slots, mask, listed[i])]
        free_slots(bag, n, mask)
        state[0], state[1] = state[0] - 1, state[1] + n
    return FINISHED


@inline(wraps=True)
def place_of_cost(slots, mask, cost):
    """Return the slot of a cost, or the free one where it would be.

    slots : int64[2^k], with a free one; mask : 2^k − 1.
    """
    at = np.int64(np.uint64(cost) * GOLDEN >> np.uint64(20)) & mask
    while slots[at] != FREE and slots[at] != cost:
        at = (at + 1) & mask
    return at


@inner
def add_trees_of_cost(bag, mask, n, cost, count, modulus):
    """Add ``count`` trees of a cost to the table; returns how many costs are in it.

    bag : CostTable with a free slot; mask : its slots less 1.
    n : how many costs were in it.
    modulus : counts are taken mod this; 0: none.
    """
    at = place_of_cost(bag.slots, mask, cost)
    if bag.slots[at] == FREE:
        bag.slots[at], bag.found[n], bag.sums[at] = cost, cost, 0
        n += 1
    bag.sums[at] += count
    if modulus != 0:
        bag.sums[at] %= modulus
    return n


@inner
def free_slots(bag, n, mask):
    """Free the slots of the n costs in the table; all are found before the first is freed, which
    would hide others.
    """
    for i in range(n):
        bag.found[i] = place_of_cost(bag.slots, mask, bag.found[i])
    for i in range(n):
        bag.slots[bag.found[i]] = FREE


@jit(borrow=True)
def count_trees_above_sets(graph, counted, state, above):
    """Count in how many trees of all objects a set has one of its trees of a cost, each of these
    counted once: above[c], float64, out, by place in ``counted``.

    So a set is a leaf of above[c] trees, c the place of its cost as a leaf.

    graph, counted : read only; counts as floats.
    state : int64[1], sets taken.
    """
    above[:] = 0.0
    root = graph.order[0]
    above[counted.first[root] : counted.last[root]] = 1.0
    for t in range(state[0]):
        s = graph.order[t]
        first, last = counted.first[s], counted.last[s]
        for e in range(graph.set[s].first_edge, graph.set[s].end_edge):
            one, rest, test_cost = graph.edge[e].one, graph.edge[e].rest, graph.edge[e].test_cost
            for a in range(counted.first[one], counted.last[one]):
                c = first
                for b in range(counted.first[rest], counted.last[rest]):
                    cost = counted.cost[a] + counted.cost[b] + test_cost
                    while c < last and counted.cost[c] < cost:
                        c += 1
                    if c == last:
                        break
                    above[a] += above[c] * counted.count[b]
                    above[b] += above[c] * counted.count[a]


@jit(borrow=True)
def add_answers(graph, counted, excess, taken, above, sums, found):
    """Add the number of trees in which a set is a leaf to found[objects, answers], for its objects
    and the answer that they lose least by.

    graph, counted : read only; counts as floats.
    excess : int64[objects, answers].
    taken : sets taken.
    above : of ``count_trees_above_sets``.
    sums : int64[answers], room.
    found : float64[objects, answers], zeros.
    """
    for t in range(taken):
        s = graph.order[t]
        cost, at, last = graph.set[s].alone, counted.first[s], counted.last[s]
        at += np.searchsorted(counted.cost[at:last], cost)
        if at == last or counted.cost[at] != cost or above[at] == 0.0:
            continue
        sums[:] = 0
        for w in range(graph.bits.shape[1]):
            word = graph.bits[s, w]
            while word != 0:
                r = w * 64 + lowest(word)
                word &= word - np.uint64(1)
                for c in range(sums.shape[0]):
                    sums[c] += excess[r, c]
        said = np.int64(0)
        for c in range(sums.shape[0]):
            said = np.int64(c) if sums[c] < sums[said] else said
        for w in range(graph.bits.shape[1]):
            word = graph.bits[s, w]
            while word != 0:
                found[w * 64 + lowest(word), said] += above[at]
                word &= word - np.uint64(1)


NODE = np.dtype(
    [
        ("set", "i8"),
        ("cost", "i8"),  # its place in ``TreeCounts``
        ("edge", "i8"),  # −1: a leaf
        ("left", "i8"),  # places of the costs of both sides
        ("right", "i8"),
        ("waits", "i8"),  # room for a stack of nodes whose second side is to come
    ]
)
"""A node of the tree that is listed."""


@jit(borrow=True)
def split_of_cost(graph, counted, s, place, edge, left):
    """Return the first (edge, places of both sides) from (edge, left) on that makes a cost of set
    s; edge −1: a leaf, −2: there is none.

    place : of the cost, in ``counted``.
    edge, left : where to begin: an edge of the set and a place of its side of outcome 1; −1, −1:
        with the leaf.
    """
    cost = counted.cost[place]
    if edge < 0:
        if graph.set[s].alone == cost:
            return np.int64(-1), np.int64(0), np.int64(0)
        edge = graph.set[s].first_edge
    while edge < graph.set[s].end_edge:
        one, rest = graph.edge[edge].one, graph.edge[edge].rest
        a = max(left, counted.first[one])
        b = counted.last[rest] - 1
        wanted = cost - graph.edge[edge].test_cost
        while a < counted.last[one] and b >= counted.first[rest]:
            both = counted.cost[a] + counted.cost[b]
            if both == wanted:
                return edge, a, b
            if both > wanted:
                b -= 1
            else:
                a += 1
        edge, left = edge + 1, np.int64(-1)
    return np.int64(-2), np.int64(0), np.int64(0)


@jit(borrow=True)
def list_trees(graph, counted, nodes, state, tests, starts):
    """Write the next trees, cheapest first: their tests in preorder (−1: a leaf; outcome 1 first);
    returns how many, 0 at the end.

    nodes : NODE[most nodes], the tree written last.
    state : int64[2], its nodes (0: none), place of its cost.
    tests : int64, out.
    starts : int64, out, where each tree begins in ``tests``, and the end.
    nodes, state, tests, starts : written; another call goes on behind the last tree, as long as
        ``nodes`` and ``state`` stay.
    """
    written, end, root = 0, np.int64(0), graph.order[0]
    starts[0] = 0
    while written + 1 < starts.shape[0] and end + nodes.shape[0] <= tests.shape[0]:
        if state[1] >= counted.last[root]:
            return written
        at, edge, a, b = state[0] - 1, np.int64(-2), np.int64(0), np.int64(0)
        if at < 0:
            nodes[0].set, nodes[0].cost = root, state[1]
            edge, a, b = split_of_cost(graph, counted, root, state[1], -1, -1)
            at = 0
        while edge == -2 and at >= 0 and state[0] > 0:  # the last node that can be something else
            s, place, now = nodes[at].set, nodes[at].cost, nodes[at].edge
            if now < 0:
                edge, a, b = split_of_cost(graph, counted, s, place, graph.set[s].first_edge, -1)
            else:
                edge, a, b = split_of_cost(graph, counted, s, place, now, nodes[at].left + 1)
            at -= edge == -2
        if edge == -2:
            state[0], state[1] = 0, state[1] + 1
            continue
        nodes[at].edge, nodes[at].left, nodes[at].right = edge, a, b
        state[0] = complete_tree(graph, counted, nodes, at)
        for i in range(state[0]):
            tests[end + i] = graph.edge[nodes[i].edge].test if nodes[i].edge >= 0 else -1
        end += state[0]
        written += 1
        starts[written] = end
    return written


@inner
def complete_tree(graph, counted, nodes, at):
    """Make all nodes behind ``at`` anew, each by its first choice; returns how many nodes there
    are.

    nodes : NODE, written; up to ``at`` they stay, and ``nodes[at].edge`` has just been chosen.
    """
    n, top = at + 1, np.int64(0)
    for i in range(at + 1):
        if nodes[i].edge >= 0:
            nodes[top].waits = i
            top += 1
        elif i < at:  # the next node is a second side
            top -= 1
    first_side = nodes[at].edge >= 0
    while top > 0:
        above = nodes[nodes[top - 1].waits]
        top -= not first_side
        edge = graph.edge[above.edge]
        s = edge.one if first_side else edge.rest
        nodes[n].set, nodes[n].cost = s, above.left if first_side else above.right
        nodes[n].edge, nodes[n].left, nodes[n].right = split_of_cost(
            graph, counted, s, nodes[n].cost, -1, -1
        )
        first_side = nodes[n].edge >= 0
        if first_side:
            nodes[top].waits = n
            top += 1
        n += 1
    return n
