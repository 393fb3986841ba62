"""The best tree that a sparse search knows, from the tests in its memo.

The memo holds one test per set, so the tree is laid by asking it from the root down::

    read_tree_from_memo:
        push all rows
        while the stack is not empty:
            pop a set s; it becomes the next node
            f = given at the root, else the memo's test of s with its remaining depth;
                unknown: the first test of the best tree of one or two levels
                                                                          (first_test_of_two_levels)
            f = −1: a leaf;  else divide s by f, push outcome 0, then outcome 1
    find_best_tree:
        read_tree_from_memo; where that costs more than was proven, nodes are exchanged for the
        best subtrees of depth 2 (not in a hurry, where that takes long)

Between two prices p₀ < p < p₁ of a leaf ``enter_bounds_between_prices`` asks what both bounds
leave for every number of leaves: q₀ · loss + p₀ · k ≥ cost₀ says how much k leaves lose at least,
in whole losses.

Invariants: ``order`` is a permutation of the rows, and a set that waits is its stretch low … high −
1; stretches of waiting sets do not overlap.  Nodes stand in preorder, that of outcome 1 first.
NO_TREE as a set's test: the memo has only a bound.  In these kernels sets are known by the sums of
their rows' random words, as in :mod:`.loop`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from arboretum.api import ContractError
from arboretum.kernels.bits import lowest
from arboretum.kernels.jit import jit
from arboretum.kernels.solving.arrays import Arrays
from arboretum.kernels.solving.fingerprints import FREE, LOWER, find, find_or_enter
from arboretum_gosdt.sparse.incumbent import SubProblem
from arboretum_gosdt.sparse.loop import NO_TREE, depth_below, key_with_depth
from arboretum_gosdt.sparse.node import NEVER, UNLIMITED

ALL = 1 << 62
"""Slices, as many as it takes."""
QUICK = 1 << 26
"""Rows times pairs of features, up to which all trees of two levels are gone through where the
memo knows nothing.
"""
LONG = 1 << 29
"""The same, from which the pairs of all nodes of a tree are not counted in a hurry: it takes
some tenths of a second.
"""
MOST_LEAVES_TRIED = 16
"""Numbers of leaves for which a loss is rounded, on each side of where two bounds meet."""
WAITING = np.dtype(
    [
        ("low", "i8"),  # its rows are order[low:high]
        ("high", "i8"),
        ("depth", "i8"),  # tests that may follow
        ("above", "i8"),  # node above; −1: none
        ("place", "i8"),  # of the child there
    ]
)


class Question(NamedTuple):
    """What tree is read from the memo.

    p, q : what a leaf and a unit of loss cost.
    depth : tests on a path, at most.
    first : test of the root, −1 where it is a leaf.
    levels : tests below each other, at most, in the trees of sets that the memo does not hold.
    least : mass of a leaf, at least, where that is more than 1.
    """

    p: int
    q: int
    depth: int
    first: int
    levels: int
    least: int


@jit(borrow=True, wraps=True)
def sum_words_of_rows(virtual, random, sums):
    """Add to each row of the table the random words of its rows of groups.

    virtual : int64, the row that each of them is.   random : uint64[·, 2], theirs.
    sums : uint64[rows, 2], written.
    """
    for v in range(virtual.shape[0]):
        sums[virtual[v], 0] += random[v, 0]
        sums[virtual[v], 1] += random[v, 1]


@jit(borrow=True, wraps=True)
def read_tree_from_memo(table, prices, sums, memo, order, waiting, counts, question, nodes):
    """Write the tree that the memo knows into ``nodes`` (int64[2 · rows + 1, 4]: feature or −1, 0,
    node of outcome 1, node of outcome 0); where it knows nothing of a set, the best one of one or
    two levels.

    table : bits (uint32[rows, words]) and weights (int64[rows, classes]).
    prices : mass and price, int64, of rows and features.
    sums : uint64[rows, 2], random words of the rows, added up.
    memo : its slots and tests.
    order : int64[rows].
    waiting : WAITING[2 · rows + 1].
    counts : int64[classes + 1, features + 1].
    question : Question.   Returns (nodes, cost).

    ``order``, ``waiting`` and ``counts`` are overwritten, whatever they hold.  The cost has what
    every label loses.
    """
    (bits, weights), (mass, price), (slots, test) = table, prices, memo
    (n, classes), features = weights.shape, counts.shape[1] - 1
    p, q = question.p, question.q
    for r in range(n):
        order[r] = r
    waiting[0].low, waiting[0].high, waiting[0].depth, waiting[0].above = 0, n, question.depth, -1
    left, made, cost = 1, 0, np.int64(0)
    while left > 0:
        left -= 1
        low, high, depth = waiting[left].low, waiting[left].high, waiting[left].depth
        at, made = made, made + 1
        if waiting[left].above >= 0:
            nodes[waiting[left].above, waiting[left].place] = at
        counts[:, features] = 0
        one, two, here = np.uint64(0), np.uint64(0), np.int64(0)
        for c in range(low, high):
            r = order[c]
            here += mass[r]
            one += sums[r, 0]
            two += sums[r, 1]
            for k in range(classes):
                counts[k, features] += weights[r, k]
        total, most = np.int64(0), np.int64(0)
        for k in range(classes):
            total += counts[k, features]
            most = max(most, counts[k, features])
        leaf = q * (total - most) + p
        feature = question.first
        if at > 0:
            number = find(slots, key_with_depth(one, depth), two)
            if number >= 0 and test[number] != NO_TREE:
                feature = np.int64(test[number])
            else:
                feature = first_test_of_two_levels(
                    table, prices, order[low:high], counts, question, min(depth, question.levels)
                )
        for c in range(4):
            nodes[at, c] = -1 if c != 1 else 0
        if feature < 0:
            cost += leaf
            continue
        nodes[at, 0] = feature
        cost += price[feature] * here
        end = low
        for c in range(low, high):
            r = order[c]
            if bits[r, feature // 32] >> np.uint32(feature % 32) & np.uint32(1):
                order[c], order[end] = order[end], r
                end += 1
        for place in range(2):
            waiting[left].low, waiting[left].high = (end, high) if place == 0 else (low, end)
            waiting[left].depth = depth_below(depth)
            waiting[left].above = at
            waiting[left].place = 3 - place
            left += 1
    return made, cost


@jit(borrow=True)
def first_test_of_two_levels(table, prices, order, counts, question, levels):
    """Return the feature at the root of the best tree of up to two levels of tests for some rows;
    −1 where that is a leaf.

    table, prices, question : of the whole table, see ``read_tree_from_memo``.
    order : int64[rows of the set], their numbers in the table.
    counts : int64[classes + 1, features + 1], overwritten.
    levels : 0, 1 or 2, tests below one another, at most.
    """
    best, found = best_split_into_leaves(table, prices, order, counts, question, -1, 0)
    if levels < 2 or best <= 2 * question.p:
        return found if levels > 0 else np.int64(-1)
    (mass, price), here = prices, np.int64(0)
    for c in range(order.shape[0]):
        here += mass[order[c]]
    for f in range(price.shape[0]):
        cost = price[f] * here
        for side in range(2):
            cost += best_split_into_leaves(table, prices, order, counts, question, f, side)[0]
        if cost < best:
            best, found = cost, np.int64(f)
    return found


@jit(borrow=True)
def best_split_into_leaves(table, prices, order, counts, question, of, side):
    """Return the least cost of up to two leaves for the rows with a side of feature ``of``, and
    their test, −1: a leaf; NEVER and −1 where they are too light for one.

    of, side : only the rows of ``order`` that have the feature (side 1) or have it not (0); −1 for
        ``of``: all rows.
    Other arguments as of ``first_test_of_two_levels``.  Features are counted against the first
    row's: the words of a row are XORed with its words, so ``counts`` may hold either side of a
    test.
    """
    (bits, weights), (mass, price), (p, q) = table, prices, (question.p, question.q)
    classes, features, least = weights.shape[1], counts.shape[1] - 1, question.least
    planes, here, found = classes + np.int64(least > 1), np.int64(0), np.int64(-1)
    counts[:] = 0
    for c in range(order.shape[0]):
        r = order[c]
        if of >= 0 and np.int64(bits[r, of >> 5] >> np.uint32(of & 31) & np.uint32(1)) != side:
            continue
        here += mass[r]
        for k in range(planes):
            weight = weights[r, k] if k < classes else mass[r]
            if weight != 0:
                counts[k, features] += weight
                for w in range(bits.shape[1]):
                    word = np.uint64(bits[r, w] ^ bits[order[0], w])
                    # rows differ in few tests of many categories; which side is which changes no
                    # cost
                    while word != 0:
                        counts[k, 32 * w + lowest(word)] += weight
                        word &= word - np.uint64(1)
    if least > 1 and of >= 0 and here < least:
        return NEVER, found
    total, best = np.int64(0), np.int64(0)
    for k in range(classes):
        total, best = total + counts[k, features], max(best, counts[k, features])
    best = q * (total - best) + p
    for f in range(features):
        if least > 1 and min(counts[classes, f], here - counts[classes, f]) < least:
            continue
        with_f, without_f = np.int64(0), np.int64(0)
        for k in range(classes):
            with_f = max(with_f, counts[k, f])
            without_f = max(without_f, counts[k, features] - counts[k, f])
        cost = q * (total - with_f - without_f) + 2 * p + price[f] * here
        if cost < best:
            best, found = cost, np.int64(f)
    return best, found


@jit(borrow=True, wraps=True)
def enter_proof_records(bits, weights, sums, words, start, slots, lower, upper, test, question):
    """Enter the bounds of a proof's records, without limits on leaves, into an empty memo; returns
    how many sets it knows then.

    bits, weights, sums : the table, see ``read_tree_from_memo``.
    words, start : int32 and int64, the records: see :mod:`arboretum.proof.format`, tests being
        features.  A record is: number of literals, depth (−1: any), leaves (−1: any; others are
        skipped), the bound's low and high 32 bits, then feature and outcome of each literal.
    slots, lower, upper, test : the memo, with room for all records, written.  A bound above the
        cost of a leaf counts as that cost; the test is a leaf.
    question : int64[2], p and q.
    """
    known, (n, classes) = np.int64(0), weights.shape
    for record in range(start.shape[0] - 1):
        at = start[record]
        one = np.uint64(0)
        two = np.uint64(0)
        total = np.int64(0)
        most = np.int64(0)
        if words[at + 2] >= 0:
            continue
        depth = UNLIMITED if words[at + 1] < 0 else np.int64(words[at + 1])
        end = at + 5 + 2 * words[at]
        for k in range(classes):
            saved = np.int64(0)
            for r in range(n):
                inside = True
                for place in range(at + 5, end, 2):
                    f = words[place]
                    inside &= (
                        np.int32(bits[r, f >> 5] >> np.uint32(f & 31) & np.uint32(1))
                        == words[place + 1]
                    )
                if inside:
                    saved += weights[r, k]
                    one, two = (one + sums[r, 0], two + sums[r, 1]) if k == 0 else (one, two)
            total, most = total + saved, max(most, saved)
        bound = np.int64(words[at + 4]) << 32 | np.int64(words[at + 3]) & 0xFFFFFFFF
        leaf = question[1] * (total - most) + question[0]
        number = find_or_enter(slots, key_with_depth(one, depth), two, known)
        if number == known:
            known, lower[number], upper[number], test[number] = known + 1, np.int64(0), leaf, -1
        lower[number] = max(lower[number], min(bound, leaf))
    return known


@jit(borrow=True)
def enter_bounds_between_prices(cheap, dear, prices, memo):
    """Enter bounds for one price of a leaf from those for a lower and for a higher one into an
    empty memo (``least_cost_between_prices``); returns how many sets it knows then.

    cheap, dear : slots and lower of a memo, for the lower and the higher price; sets may be in one
        of them only.
    prices : int64[3, 2], p and q of the lower, the higher and this price; products of two of them
        and a cost must fit int64.
    memo : slots, lower, upper, test; written, with NEVER as upper and NO_TREE as test.
    """
    (slots, lower, upper, test), known = memo, np.int64(0)
    for turn in range(2):
        own, other = cheap if turn == 0 else dear, dear if turn == 0 else cheap
        for at in range(own[0].shape[0]):
            one, two = own[0][at, 0], own[0][at, 1]
            if two == FREE:
                continue
            least, again = own[1][np.int64(two & LOWER) - 1], find(other[0], one, two)
            if turn == 1 and again >= 0:
                continue
            more = other[1][again] if again >= 0 else np.int64(0)
            bound = least_cost_between_prices(
                least if turn == 0 else more, more if turn == 0 else least, prices
            )
            if bound > 3 * prices[2, 0]:
                known += find_or_enter(slots, one, two, known) == known
                lower[known - 1], upper[known - 1], test[known - 1] = bound, NEVER, NO_TREE
    return known


@jit(borrow=True)
def least_cost_between_prices(low, high, prices):
    """Return a bound of the cost of trees of three leaves and more, from what they cost at least
    at a lower and at a higher price of a leaf.

    low, high : int64, those costs; 0 where nothing is known.
    prices : int64[3, 2], as of ``enter_bounds_between_prices``.

    With loss₀(k) and loss₁(k) what the two costs leave for a loss with k leaves, it is the least
    q · max(0, ⌈loss₀(k)⌉, ⌈loss₁(k)⌉) + p · k.  Without the rounding that falls up to where the two
    lines meet, and rises from there: so k goes down and up from there, until the line alone is not
    below what was found.  After MOST_LEAVES_TRIED steps the line itself is the bound.
    """
    (p_0, q_0), (p_1, q_1), (p, q) = prices[0], prices[1], prices[2]
    meet = min((high * q_0 - low * q_1) // max(1, p_1 * q_0 - p_0 * q_1), high // p_1)
    meet, best = max(np.int64(3), meet), NEVER
    for step in range(MOST_LEAVES_TRIED):
        k = meet + step
        # ⌈a / b⌉ = −(−a // b)
        line = max(p * k, -((q * (p_0 * k - low)) // q_0) + p * k)
        if line >= best or step == MOST_LEAVES_TRIED - 1:
            best = min(best, line)
            break
        loss = max(np.int64(0), -((p_0 * k - low) // q_0), -((p_1 * k - high) // q_1))
        best = min(best, q * loss + p * k)
    for step in range(1, MOST_LEAVES_TRIED):
        k = meet - step
        line = -((q * (p_1 * k - high)) // q_1) + p * k
        if k < 3 or line >= best or step == MOST_LEAVES_TRIED - 1:
            best = min(best, line) if k >= 3 else best
            break
        loss = max(np.int64(0), -((p_0 * k - low) // q_0), -((p_1 * k - high) // q_1))
        best = min(best, q * loss + p * k)
    return best


def find_best_tree(
    subproblem: SubProblem,
    virtual: np.ndarray,
    random: np.ndarray,
    memo: Arrays,
    root: tuple[int, int],
    search: Callable,
    hurry: bool,
) -> np.ndarray:
    """Return the best tree that the memo knows, int64[nodes, 4], see ``SparseSearch.tree``.

    virtual : the row of each row of a group; random : its random words.
    root : least cost, and its test.
    search : finds the trees of three leaves that the memo does not hold, or that were found when it
        held others.
    hurry : where that takes long it is left, and the tree costs more.
    memo : what the search knows, by the names of :class:`.loop.Memo`.
    Raises ContractError where the tree costs more than ``root`` says: the search and the table
    disagree.
    """
    n, sums = len(subproblem.bits), np.zeros((len(subproblem.bits), 2), np.uint64)
    masses = subproblem.known_masses()
    sum_words_of_rows(virtual, random, sums)
    nodes = np.empty((2 * n + 1, 4), np.int64)
    for levels in (1, 2) if n * subproblem.n_features**2 <= QUICK else (1,):
        made, cost = read_tree_from_memo(
            (subproblem.bits, subproblem.weights),
            (masses.mass, masses.price),
            sums,
            (memo["slots"], memo["test"]),
            np.empty(n, np.int64),
            np.empty(2 * n + 1, WAITING),
            np.empty((subproblem.weights.shape[1] + 1, subproblem.n_features + 1), np.int64),
            Question(
                subproblem.p,
                subproblem.q,
                subproblem.depth,
                int(root[1]),
                levels,
                masses.least,
            ),
            nodes,
        )
        if cost <= root[0]:
            return nodes[:made].copy()
    tree = subproblem.build_subtree(nodes)
    if hurry and n * subproblem.n_features**2 > LONG:
        return tree.to_array()
    for node in [*tree.leaves(), *tree.inner_nodes()]:
        subproblem.exchange_subtree(node, search, 2, ALL)
    if tree.recompute_cost() > root[0]:
        raise ContractError(f"the tree found costs {tree.cost}, the search proved {root[0]}")
    return tree.to_array()
