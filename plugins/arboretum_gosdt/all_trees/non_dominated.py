"""Of the trees of a graph of :mod:`.graph`, those that no other beats in every respect
(numba kernels).

A tree for a set of rows is a *partial solution*.  Its value is a vector of numbers that add up over
leaves (false positives, false negatives, rows of a group that are predicted positive, leaves), or a
ROC curve, which is the leaves' (positives, negatives) sorted by their fraction of positives.  Of a
set only partial solutions are kept that no other one dominates: with any other tree beside it, the
better one is better for the whole.  For curves: the curve of two sets of leaves is the Minkowski
sum of their curves, so that a curve above another stays above it::

    for the sets s of the graph but the first, from the smallest up:       (find_partial_solutions)
        own = partial solutions of s as a leaf, one for each answer (a curve: one), of cost ≤
              MOST of s
        for every edge of s, partial solution a of its side of outcome 1, b of the other:
            cost = cost(a) + cost(b) + test_cost ≤ MOST of s: keep a + b in own, unless one there
            beats it; drop those that it beats                             (keep_unless_beaten)
        partial solutions of s = own
    of the first set the leaves and all such a + b are handed out, none dropped (write_whole_trees)

Invariants: partial solutions of s are first[s] … last[s] − 1, and sides are done before their set.
One beats another only if it has no more leaves and costs no more.  Segments of a curve are the
steepest first, those of one slope joined.  ``origin`` leads from a partial solution to those of its
sides, so that a tree can be laid.  NEED_ROOM comes before one is written, and the set is begun
anew.

graph is a Graph of :mod:`.graph`, only read; s is a set of it, e one of its edges; a and b are
numbers of partial solutions.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import inner, jit
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED


class PartialSolutions(NamedTuple):
    """Partial solutions, those of a set together.

    value : int64[solutions, width, 2]; of numbers the first ``size`` rows are (number, 0), of
        curves segments (positives, negatives), steepest first.
    size : int64[solutions], rows of it.
    leaves, cost : int64[solutions].
    origin : int64[solutions, 3], edge and solutions of both sides, or (−1, answer, set).
    """

    value: np.ndarray
    size: np.ndarray
    leaves: np.ndarray
    cost: np.ndarray
    origin: np.ndarray


@inner
def curve_reaches(partial, a, x, y):
    """Return whether the curve of solution a lies at y or above, at x.

    partial : PartialSolutions of curves; x, y : weights of negatives and positives.
    """
    right, up = np.int64(0), np.int64(0)
    for i in range(partial.size[a]):
        rise, run = partial.value[a, i, 0], partial.value[a, i, 1]
        if right + run >= x and run > 0:
            return (y - up) * run <= rise * (x - right)
        right, up = right + run, up + rise
    return y <= up


@inner
def beats(partial, a, b, curves, equal):
    """Return whether solution a is at least as good as solution b in all respects: value, leaves
    and cost.

    partial : PartialSolutions; curves : whether their values are curves.
    equal : bool[width], numbers that must be the same; not looked at of curves.
    """
    if partial.leaves[a] > partial.leaves[b] or partial.cost[a] > partial.cost[b]:
        return False
    x, y = np.int64(0), np.int64(0)
    for i in range(partial.size[b]):
        if curves:
            y, x = y + partial.value[b, i, 0], x + partial.value[b, i, 1]
            if not curve_reaches(partial, a, x, y):
                return False
        elif partial.value[a, i, 0] > partial.value[b, i, 0] or (
            equal[i] and partial.value[a, i, 0] != partial.value[b, i, 0]
        ):
            return False
    return True


@inner
def add_values(partial, a, b, own, n, curves):
    """Write the values of solutions a and b of two sides, added (curves: their Minkowski sum), as
    number n of ``own``.

    partial, own : PartialSolutions; own : only ``value`` and ``size`` are written.
    """
    value, size = own.value[n], np.int64(0)
    if not curves:
        own.size[n] = partial.size[a]
        for i in range(partial.size[a]):
            value[i, 0] = partial.value[a, i, 0] + partial.value[b, i, 0]
        return
    i, j = np.int64(0), np.int64(0)
    while i < partial.size[a] or j < partial.size[b]:
        first = j == partial.size[b]
        if i < partial.size[a] and j < partial.size[b]:
            first = (
                partial.value[a, i, 0] * partial.value[b, j, 1]
                >= partial.value[b, j, 0] * partial.value[a, i, 1]
            )
        c, k = (a, i) if first else (b, j)
        i, j = i + first, j + (not first)
        rise, run = partial.value[c, k, 0], partial.value[c, k, 1]
        if size > 0 and value[size - 1, 0] * run == rise * value[size - 1, 1]:
            value[size - 1, 0] += rise
            value[size - 1, 1] += run
        else:
            value[size, 0], value[size, 1] = rise, run
            size += 1
    own.size[n] = size


@inner
def copy_solution(partial, a, own, n):
    """Copy solution a of ``partial`` as number n of ``own``, which may be the same arrays."""
    own.size[n], own.leaves[n], own.cost[n] = partial.size[a], partial.leaves[a], partial.cost[a]
    for i in range(3):
        own.origin[n, i] = partial.origin[a, i]
    for i in range(partial.size[a]):
        own.value[n, i, 0], own.value[n, i, 1] = partial.value[a, i, 0], partial.value[a, i, 1]


@inner
def keep_unless_beaten(own, n, curves, equal):
    """Keep the solution that was written as number n, unless one before beats it, and drop those
    that it beats; returns how many there are.

    own : PartialSolutions of one set, written: those that stay move up.
    curves, equal : as of ``beats``.
    """
    for k in range(n):
        if beats(own, k, n, curves, equal):
            return n
    left = np.int64(0)
    for k in range(n):
        if not beats(own, n, k, curves, equal):
            if left != k:
                copy_solution(own, k, own, left)
            left += 1
    if left != n:
        copy_solution(own, n, own, left)
    return left + 1


@inner
def write_leaf(graph, s, own, n, columns, excess, answer, price_of_leaf, curves):
    """Write set s as a leaf with an answer as number n of ``own``.

    columns, excess : as of ``find_partial_solutions``.
    answer : of curves 0, as their leaves have none.
    price_of_leaf : in costs, as ``excess``.
    """
    own.value[n] = 0
    own.size[n], own.leaves[n], own.cost[n] = 1 if curves else columns.shape[2], 1, price_of_leaf
    own.origin[n, 0], own.origin[n, 1], own.origin[n, 2] = -1, answer, s
    for w in range(graph.bits.shape[1]):
        left = graph.bits[s, w]
        for bit in range(64):
            if left >> np.uint64(bit) & np.uint64(1):
                r = w * 64 + bit
                own.cost[n] += excess[r, answer]
                for i in range(columns.shape[2]):
                    own.value[n, 0 if curves else i, i if curves else 0] += columns[r, answer, i]
    if curves:
        own.cost[n] = graph.set[s].alone


@inner
def write_tree(partial, a, b, e, cost, own, n, curves):
    """Write the tree of solutions a and b of the sides of edge e as number n of ``own``.

    cost : of both and of the test.
    """
    add_values(partial, a, b, own, n, curves)
    own.leaves[n], own.cost[n] = partial.leaves[a] + partial.leaves[b], cost
    own.origin[n, 0], own.origin[n, 1], own.origin[n, 2] = e, a, b


@jit(borrow=True)
def find_partial_solutions(
    graph, first, last, partial, own, columns, excess, price_of_leaf, state, curves, equal, work
):
    """Find the partial solutions of all sets but the first, from the smallest up; returns FINISHED,
    NEED_ROOM (longer ``partial`` or ``own``) or PAUSED.

    graph : see :mod:`.graph`.
    first, last : int64[sets], out, the solutions of each set.
    partial : PartialSolutions, written: those that are kept.
    own : PartialSolutions, room for the partial solutions of a set.
    columns : int64[objects, answers, width], what an object adds to the numbers by the answer of
        its leaf; of curves, [:, 0] is (positives, negatives).
    excess : int64[objects, answers], q times what an answer costs more than the best.
    state : int64[2], sets left, solutions kept; written.
    curves, equal : as of ``beats``.
    work : comparisons of solutions, about.
    """
    while state[0] > 1:
        if work < 0:
            return PAUSED
        s = graph.order[state[0] - 1]
        most, n = graph.set[s].most, np.int64(0)
        for answer in range(1 if curves else excess.shape[1]):
            write_leaf(graph, s, own, n, columns, excess, answer, price_of_leaf, curves)
            if own.cost[n] <= most:
                n = keep_unless_beaten(own, n, curves, equal)
        for e in range(graph.set[s].first_edge, graph.set[s].end_edge):
            one, rest, test_cost = graph.edge[e].one, graph.edge[e].rest, graph.edge[e].test_cost
            work -= (last[one] - first[one]) * (last[rest] - first[rest]) * (2 + n)
            for a in range(first[one], last[one]):
                for b in range(first[rest], last[rest]):
                    cost = partial.cost[a] + partial.cost[b] + test_cost
                    if cost <= most:
                        if n + 2 > own.size.shape[0]:
                            return NEED_ROOM
                        write_tree(partial, a, b, e, cost, own, n, curves)
                        n = keep_unless_beaten(own, n, curves, equal)
        if state[1] + n > partial.size.shape[0]:
            return NEED_ROOM
        first[s], last[s] = state[1], state[1] + n
        for k in range(n):
            copy_solution(own, k, partial, state[1] + k)
        state[0], state[1] = state[0] - 1, state[1] + n
    return FINISHED


@jit(borrow=True)
def write_whole_trees(
    graph, first, last, partial, own, columns, excess, price_of_leaf, state, curves
):
    """Write the next trees of all objects, as many as ``own`` holds; returns how many, 0 at the
    end.

    state : int64[2], edge and solution of its side of outcome 1 that come next; edge −1: leaves
        come first.
    own : PartialSolutions, written, with more room than any set has solutions.
    Other arguments as of ``find_partial_solutions``; what is behind a value's ``size`` is 0.
    """
    root, n = graph.order[0], np.int64(0)
    most = graph.set[root].most
    if state[0] < 0:
        state[0], state[1] = graph.set[root].first_edge, -1
        for answer in range(1 if curves else excess.shape[1]):
            write_leaf(graph, root, own, n, columns, excess, answer, price_of_leaf, curves)
            n += own.cost[n] <= most
    while state[0] < graph.set[root].end_edge:
        e = state[0]
        one, rest, test_cost = graph.edge[e].one, graph.edge[e].rest, graph.edge[e].test_cost
        for a in range(max(state[1], first[one]), last[one]):
            if n + last[rest] - first[rest] >= own.size.shape[0]:
                state[1] = a
                return n
            for b in range(first[rest], last[rest]):
                cost = partial.cost[a] + partial.cost[b] + test_cost
                if cost <= most:
                    write_tree(partial, a, b, e, cost, own, n, curves)
                    own.value[n, own.size[n] :] = 0
                    n += 1
        state[0], state[1] = e + 1, -1
    return n
