"""GOSDT as its authors print it: algorithms 1 to 5 over a dependency graph of sets of rows, with
a queue of sets whose turn comes::

    Q ← {root}
    while lb(root) ≠ ub(root) and Q is not empty:                          (Algorithm 1)
        p ← Q.pop(); if lb(p) = ub(p): next turn
        if p has no children: for every test that divides it (Algorithm 5):
            FIND_OR_CREATE both sides; bounds of a new one (Algorithms 2, 3, 4)
        lb', ub' ← min over tests of the sum of both sides' lb, of their ub
        if lb(p) < lb' or ub(p) > ub':
            ub(p) ← min(ub(p), ub');  lb(p) ← min(ub(p), max(lb(p), lb'))
            push the parents of p, with high priority if that is asked for
        if lb(p) < ub(p): for every test whose sum of lb is below its sum of ub
            and at most ub(p): push both sides

Invariants:

- Sets are 0 … ``state.known`` − 1, the root is 0; a set is known by its fingerprint and never
  removed.
- lower ≤ upper ≤ leaf; ``lower`` never falls and ``upper`` never rises.
- start[n] is −1 before n is expanded; then child[start[n] + 2 f + outcome] are its children, both
  −1 where the test does not divide.  ``owner`` of an entry's block is the set that it belongs to.
- above[n] is the last entry that names n, ``higher`` leads from there to the ones before; −1 ends.
- ``queue[:state.queued]`` is a binary heap by key, then turn; place[n] is where n is, −1 if it
  does not wait.  A set waits once.
- Before a set is popped there is room for its expansion; the queue is as long as the sets are many.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.jit import inner, jit
from arboretum.kernels.solving.fingerprints import find_or_enter
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED

CURIOSITY, OBJECTIVE, BOUND, ENTROPY, GINI, FIFO, RANDOM = range(7)
STATE = np.dtype(
    [
        ("known", np.int64),  # sets in the graph
        ("expanded", np.int64),  # those whose children are
        ("queued", np.int64),  # sets in the queue
        ("pushed", np.int64),  # sets pushed so far
        ("iterations", np.int64),  # sets popped
        ("updates", np.int64),  # changes of bounds
    ],
    align=True,
)
SETTINGS = np.dtype(
    [
        ("lam", np.int64),  # λ
        ("rule", np.int64),  # of scheduling
        ("high", np.int64),  # whether updates go upward with high priority
        ("seed", np.int64),  # of the rule RANDOM
    ],
    align=True,
)
NONE, ROOT = np.int64(-1), np.int64(0)  # of the nodes, the root is the first: no field

Data = namedtuple("Data", "mask bits cost least words")
"""The rows.

mask : int64[rows, tests], −1 for outcome 1, else 0.
bits : uint64[tests, words], the rows with outcome 1.
cost : int64[rows, labels].
least : int64[rows], that of the best label.
words : uint64[rows, 2], random.
"""

Graph = namedtuple(
    "Graph", "slots rows lower upper leaf share start above place key turn queue child higher owner"
)
"""Of each set by its number: its rows as bits and their bounds (``leaf`` is Algorithm 3's), its
share of the weight or that times its impurity (as the rule asks), the first of its ``child``
entries (−1: none yet), the last entry that names it (−1: none), its place in the queue (−1: none)
and there its key and its turn.

slots : hash table of supports.
queue : binary heap of numbers.
child, higher : int64[2 · tests · expanded sets]; of each test the sets of outcome 0 and 1 (−1: the
    test does not divide), and the entry before that names the same set.
owner : the set whose entries those are.
"""

Sums = namedtuple("Sums", "cost least one two size own")
"""Room per test, over the rows with outcome 1: costs by label (int64[labels, tests]), least
costs, the random words, how many; and costs of a set.
"""


@inner
def earlier(graph, a, b):
    """Return whether set a comes before set b."""
    return graph.key[a] < graph.key[b] or (
        graph.key[a] == graph.key[b] and graph.turn[a] < graph.turn[b]
    )


@inner
def rise(graph, at):
    """Restore the order of the heap upward from place ``at`` of ``graph.queue``."""
    n = graph.queue[at]
    while at > 0 and earlier(graph, n, graph.queue[(at - 1) // 2]):
        graph.queue[at] = graph.queue[(at - 1) // 2]
        graph.place[graph.queue[at]] = at
        at = (at - 1) // 2
    graph.queue[at], graph.place[n] = n, at


@inner
def pop(graph, state):
    """Take the set whose turn it is out of the queue, which is not empty, and return it."""
    first, n = graph.queue[0], graph.queue[state.queued - 1]
    graph.place[first] = NONE
    state.queued -= 1
    at, size = np.int64(0), state.queued
    while size > 0:
        below = 2 * at + 1
        if below + 1 < size and earlier(graph, graph.queue[below + 1], graph.queue[below]):
            below += 1
        if below >= size or not earlier(graph, graph.queue[below], n):
            graph.queue[at], graph.place[n] = n, at
            break
        graph.queue[at] = graph.queue[below]
        graph.place[graph.queue[at]] = at
        at = below
    return first


@inner(wraps=True)
def push(graph, state, settings, n, high):
    """Give set n a turn; one that waits already keeps its place, unless the new key is earlier.

    high : it comes before all others.
    """
    rule, key = settings.rule, 0.0
    if high:
        key = -np.inf
    elif rule == CURIOSITY:
        key = graph.lower[n] / graph.share[n]
    elif rule == OBJECTIVE:
        key = np.float64(graph.upper[n])
    elif rule == BOUND:
        key = np.float64(graph.lower[n])
    elif rule == ENTROPY or rule == GINI:
        key = graph.share[n]
    elif rule == RANDOM:
        word = (np.uint64(settings.seed) + np.uint64(state.pushed)) * np.uint64(0x9E3779B97F4A7C15)
        word = (word ^ word >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        key = np.float64(word >> np.uint64(11))
    if graph.place[n] >= 0 and key >= graph.key[n]:
        return
    graph.key[n], graph.turn[n] = key, state.pushed
    state.pushed += 1
    if graph.place[n] < 0:
        graph.place[n] = state.queued
        graph.queue[state.queued] = n
        state.queued += 1
    rise(graph, graph.place[n])


@inner
def share_of(own, whole, rule):
    """Return a set's share of the weight, for ENTROPY and GINI times its impurity.

    own : int64[labels], what each label costs.
    whole : of all rows, Σ over labels.

    Of the weight of class k label k saves: w_k = Σ_j own_j / (K − 1) − own_k.
    rule : of scheduling, CURIOSITY … RANDOM.
    """
    total, impurity = np.float64(own.sum()), 0.0
    if total <= 0.0:
        return 1e-300 if rule == CURIOSITY else 0.0
    for k in range(own.shape[0]):
        p = 1.0 - (own.shape[0] - 1) * own[k] / total
        if p > 0.0:
            impurity += p * (1.0 - p) if rule == GINI else -p * np.log2(p)
    return total / whole * (impurity if rule == ENTROPY or rule == GINI else 1.0)


@inner
def create(graph, n, own, least, whole, settings):
    """Write the bounds of new set n: algorithms 2 (lower), 3 (upper) and 4 (where the bounds fail
    it is not divided).

    own : int64[labels], what each label costs; least : Σ of what each row costs at least.
    whole : of all rows, Σ over labels.
    """
    best = own[0]
    for k in range(1, own.shape[0]):
        best = min(best, own[k])
    lower, upper = least + settings.lam, best + settings.lam
    if upper - lower <= settings.lam or upper <= 2 * settings.lam:
        lower = upper
    graph.lower[n], graph.upper[n], graph.leaf[n] = lower, upper, upper
    graph.share[n] = share_of(own, whole, settings.rule)
    graph.start[n] = graph.above[n] = graph.place[n] = NONE


@inner(wraps=True)
def add_rows(data, rows, sums):
    """Sum over the rows of a set, for every test those with outcome 1, into ``sums``, and the set's
    own costs; return (least, one, two, size) of the set.

    rows : uint64[words], the set as bits.
    least : Σ of what each row costs at least; one, two : its fingerprint.
    """
    n_tests = data.mask.shape[1]
    least = np.int64(0)
    one = np.uint64(0)
    two = np.uint64(0)
    size = np.int64(0)
    for f in range(n_tests):
        sums.least[f] = sums.size[f] = 0
        sums.one[f] = sums.two[f] = np.uint64(0)
        sums.cost[:, f] = 0
    sums.own[:] = 0
    for u in range(data.mask.shape[0]):
        if not rows[u >> 6] >> np.uint64(u & 63) & np.uint64(1):
            continue
        mask, low, first, second = data.mask[u], data.least[u], data.words[u, 0], data.words[u, 1]
        least, one, two, size = least + low, one + first, two + second, size + 1
        for f in range(n_tests):
            sums.least[f] += mask[f] & low
            sums.size[f] -= mask[f]
            sums.one[f] += np.uint64(mask[f]) & first
            sums.two[f] += np.uint64(mask[f]) & second
        for k in range(data.cost.shape[1]):
            cost = data.cost[u, k]
            sums.own[k] += cost
            into = sums.cost[k]
            for f in range(n_tests):
                into[f] += mask[f] & cost
    return least, one, two, size


@inner(wraps=True)
def expand(data, graph, sums, state, settings, p, whole):
    """Find or create the children of set p by every test (Algorithm 5, split, and FIND_OR_CREATE),
    and enter it among their parents; there is room.

    sums : scratch.
    whole : of all rows, Σ over labels.
    """
    n_tests, n_labels = data.mask.shape[1], data.cost.shape[1]
    least, one, two, size = add_rows(data, graph.rows[p], sums)
    graph.start[p] = 2 * n_tests * state.expanded
    graph.owner[state.expanded] = p
    state.expanded += 1
    for f in range(n_tests):
        for side in range(2):
            at = graph.start[p] + 2 * f + side
            graph.child[at] = graph.higher[at] = NONE
            if sums.size[f] == 0 or sums.size[f] == size:
                continue
            new = state.known
            n = find_or_enter(
                graph.slots,
                sums.one[f] if side else one - sums.one[f],
                sums.two[f] if side else two - sums.two[f],
                new,
            )
            if n == new:
                state.known += 1
                flip = np.uint64(0) if side else ~np.uint64(0)
                for w in range(graph.rows.shape[1]):
                    graph.rows[n, w] = graph.rows[p, w] & (data.bits[f, w] ^ flip)
                for k in range(n_labels):
                    sums.cost[k, f] = sums.cost[k, f] if side else sums.own[k] - sums.cost[k, f]
                create(
                    graph,
                    n,
                    sums.cost[:, f],
                    sums.least[f] if side else least - sums.least[f],
                    whole,
                    settings,
                )
                if not side:
                    for k in range(n_labels):
                        sums.cost[k, f] = sums.own[k] - sums.cost[k, f]
            graph.child[at], graph.higher[at], graph.above[n] = n, graph.above[n], at


@jit(borrow=True)
def begin(data, graph, sums, state, settings):
    """Make the root, all of whose rows are set, and give it a turn.

    sums : scratch; state : STATE, 0 before.
    """
    least, one, two, _ = add_rows(data, graph.rows[ROOT], sums)
    find_or_enter(graph.slots, one, two, ROOT)
    state.known = 1
    create(graph, ROOT, sums.own, least, np.float64(sums.own.sum()), settings)
    push(graph, state, settings, ROOT, False)


@jit(borrow=True)
def search(data, graph, sums, state, settings, work):
    """Run Algorithm 1 until ``work`` more sets are popped; return FINISHED, PAUSED or NEED_ROOM.

    sums : scratch; state, settings : STATE, SETTINGS.
    """
    until = state.iterations + work
    entries = 2 * data.mask.shape[1]
    whole = np.float64(data.cost.sum())
    while graph.lower[ROOT] != graph.upper[ROOT] and state.queued > 0:
        if state.iterations >= until:
            return PAUSED
        blocks = state.expanded + 1
        if (
            state.known + entries > graph.lower.shape[0]
            or blocks * entries > graph.child.shape[0]
            or blocks > graph.owner.shape[0]
        ):
            return NEED_ROOM
        p = pop(graph, state)
        state.iterations += 1
        if graph.lower[p] == graph.upper[p]:
            continue
        if graph.start[p] < 0:
            expand(data, graph, sums, state, settings, p, whole)
        lower, upper = np.int64(1 << 62), np.int64(1 << 62)
        child, start = graph.child, graph.start[p]
        for at in range(start, start + entries, 2):
            if child[at] >= 0:
                lower = min(lower, graph.lower[child[at]] + graph.lower[child[at + 1]])
                upper = min(upper, graph.upper[child[at]] + graph.upper[child[at + 1]])
        if graph.lower[p] < lower or graph.upper[p] > upper:
            graph.upper[p] = min(graph.upper[p], upper)
            graph.lower[p] = min(graph.upper[p], max(graph.lower[p], lower))
            state.updates += 1
            above = graph.above[p]
            while above >= 0:
                push(graph, state, settings, graph.owner[above // entries], settings.high != 0)
                above = graph.higher[above]
        if graph.lower[p] >= graph.upper[p]:
            continue
        for at in range(start, start + entries, 2):
            if child[at] >= 0:
                zero, other = child[at], child[at + 1]
                lower = graph.lower[zero] + graph.lower[other]
                if lower < graph.upper[zero] + graph.upper[other] and lower <= graph.upper[p]:
                    push(graph, state, settings, zero, False)
                    push(graph, state, settings, other, False)
    return FINISHED
