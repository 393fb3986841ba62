"""DL8 and DL8.5: least error + λ · leaves within a depth, by itemsets (sets of outcomes of
tests) that are known in whatever order they were asked::

    DL8.5(I, limit), the recursion that ``search`` makes level by level:
        deepest level, or a leaf of I costs at most 2 λ: the answer is a leaf, if below limit
        error(I) is proven (bound(I) ≥ error(I)), or bound(I) ≥ limit: answer from the cache
        one level is left: count both sides of every test at once (``stump``)
        best ← min(limit, error(I))
        for every test with enough rows on both sides, while best > 2 λ:
            e_0 ← DL8.5(I ∪ {outcome 0}, best);  none: next test
            e_1 ← DL8.5(I ∪ {outcome 1}, best − e_0);  none: next test
            best ← e_0 + e_1;  error(I), feature(I) ← best, the test
        best < limit: bound(I) ← error(I), the answer;  else bound(I) ← limit, and no answer
    DL8: enter all frequent itemsets, tests ascending;  then, those of most outcomes first:
        error(I) ← min(error(I), error(I ∪ {outcome 0}) + error(I ∪ {outcome 1})) over tests

Invariants:

- The key of an itemset is the sum of two random words per outcome, mod 2⁶⁴, so that order does not
  matter; the empty one has key 0 and number 0.
- error(I) is the cost of a tree that is known, λ per leaf included, and only falls; feature(I) is
  its first test, −1 for a leaf.  bound(I) is what no tree of the depth left undercuts.
- Level l has l tests: rows[l], sums[l] and key[l] are those of its itemset, one[l] those of
  its rows with outcome 1 of the test in turn.  phase is how many of its sides were begun,
  the one at work among them.  Level l + 1 is scratch until ``descend`` fills it.
- Levels 0 … ``state.level`` are in use; −1 before the root was entered, and after the end.
- Every turn of ``search`` sees to room for two more itemsets, as many as it may enter;
  ``enumerate_itemsets`` enters one a turn, ``join`` none.  The caller enlarges the cache.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.solving.fingerprints import find, find_or_enter
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED
from arboretum_baselines.dl8.planes import both, total

STATE = np.dtype(
    [
        ("level", np.int64),  # of the search; −1: not begun, or over
        ("known", np.int64),  # itemsets in the cache
        ("steps", np.int64),  # itemsets looked at
        ("row_sets", np.int64),  # different sets of rows among them
        ("next", np.int64),  # the itemset whose turn it is in :func:`join`
    ],
    align=True,
)
SETTINGS = np.dtype(
    [
        ("depth", np.int64),  # the greatest
        ("least", np.int64),  # rows in every branch
        ("labels", np.int64),
        ("lam", np.int64),  # λ, what a leaf costs
    ],
    align=True,
)
LEAF, NOTHING, OPENED = np.int64(-1), np.int64(-1), np.int64(-2)

Cache = namedtuple("Cache", "slots key size error bound feature row_sets")
"""Of each itemset, by its number in ``slots`` (:mod:`arboretum.kernels.solving.fingerprints`): its
key (uint64[2]), the number of its outcomes, the error of the best tree known, what no tree
undercuts, the first test of that tree.

row_sets : a second table, of the sets of rows; of length 1: they are not counted.
"""

Dl8Levels = namedtuple("Dl8Levels", "rows sums one key number feature phase limit best first")
"""A level per test on the path: the rows that are left, their weights per lane, those with outcome
1 of the test in turn, the key and the number of the itemset, the test in turn, which of its sides
is tried (0: none yet), what the error must stay below, the best error, that of side 0.
"""


@inline
def error_of(sums, labels):
    """Return the error of a leaf: that of its best label, λ not counted.

    sums : int64[≥ labels], what each label costs.
    """
    least = sums[0]
    for k in range(1, labels):
        least = min(least, sums[k])
    return least


@inline
def allowed(sums, labels, least):
    """Return whether a branch holds enough rows, and any that some label costs something.

    sums : int64[lanes], by label, then the rows, where these are asked for: ``least`` above 1.
    """
    weight = np.int64(0)
    for k in range(labels):
        weight |= sums[k]
    return weight > 0 and (least <= 1 or sums[labels] >= least)


@inner
def stump(planes, rows, sums, one, settings):
    """Return (least cost of a tree of one test, the test), −1 where a leaf is as good.

    rows : uint64[words]; sums : int64[lanes], their weights.
    one : int64[lanes], scratch.
    """
    labels, least, lam, feature = settings.labels, settings.least, settings.lam, LEAF
    best = error_of(sums, labels) + lam
    for f in range(planes.bits.shape[0]):
        both(planes, rows, f, one)
        right, left = error_of(one, labels) + 2 * lam, sums[0] - one[0]
        for k in range(1, labels):
            left = min(left, sums[k] - one[k])
        if left + right < best and (
            least <= 1 or (one[labels] >= least and sums[labels] - one[labels] >= least)
        ):
            best, feature = left + right, np.int64(f)
    return best, feature


@inner(wraps=True)
def descend(planes, words, levels, level, side):
    """Lay the branch of a level's test on the next level.

    words : uint64[2 · tests, 2], random; side : outcome, 0 or 1.
    """
    f, rows, bits = levels.feature[level], levels.rows[level], planes.bits[levels.feature[level]]
    flip = np.uint64(0) if side else ~np.uint64(0)
    for w in range(rows.shape[0]):
        levels.rows[level + 1, w] = rows[w] & (bits[w] ^ flip)
    for k in range(levels.sums.shape[1]):
        levels.sums[level + 1, k] = (
            levels.one[level, k] if side else levels.sums[level, k] - levels.one[level, k]
        )
    for h in range(2):
        levels.key[level + 1, h] = levels.key[level, h] + words[2 * f + side, h]


@inner(wraps=True)
def known(cache, levels, level, state, settings):
    """Return the number of a level's itemset; a new one is entered as a leaf.

    cache : written, with room for one more.
    """
    one, two, n = levels.key[level, 0], levels.key[level, 1], state.known
    number = find_or_enter(cache.slots, one, two, n)
    if number == n:
        state.known += 1
        cache.key[n, 0], cache.key[n, 1], cache.size[n], cache.feature[n] = one, two, level, LEAF
        cache.error[n] = error_of(levels.sums[level], settings.labels) + settings.lam
        cache.bound[n] = 0
        if cache.row_sets.shape[0] > 1:
            one, two = np.uint64(0), np.uint64(1)
            for w in range(levels.rows.shape[1]):
                one = (one ^ levels.rows[level, w]) * np.uint64(0x9E3779B97F4A7C15)
                one ^= one >> np.uint64(32)
                two = (two + levels.rows[level, w]) * np.uint64(0xBF58476D1CE4E5B9)
                two ^= two >> np.uint64(29)
            state.row_sets += (
                find_or_enter(cache.row_sets, one, two, state.row_sets) == state.row_sets
            )
    return number


@inner
def enter(planes, cache, levels, level, state, settings, limit):
    """Ask for the least error of a level's itemset, below a limit: the error, NOTHING where none
    is, OPENED where it has to be searched, for which the level is laid out.
    """
    leaf = error_of(levels.sums[level], settings.labels) + settings.lam
    if level == settings.depth or leaf <= 2 * settings.lam:  # two leaves cost as much
        return leaf if leaf < limit else NOTHING
    state.steps += 1
    n = known(cache, levels, level, state, settings)
    if cache.bound[n] < cache.error[n] and cache.bound[n] < limit:
        if level < settings.depth - 1:
            levels.number[level], levels.feature[level], levels.phase[level] = n, -1, 0
            levels.limit[level], levels.best[level] = limit, min(limit, cache.error[n])
            state.level = level
            return OPENED
        cache.error[n], cache.feature[n] = stump(
            planes, levels.rows[level], levels.sums[level], levels.one[level], settings
        )
        cache.bound[n] = cache.error[n]
    return (
        cache.error[n] if cache.bound[n] >= cache.error[n] and cache.error[n] < limit else NOTHING
    )


@inner
def next_test(planes, levels, level, settings):
    """Go on to the next test of a level that divides its rows into branches that are allowed; False
    when there is none.

    ``one`` of the level and ``sums`` of the next receive what both sides weigh.
    """
    labels, least = settings.labels, settings.least
    sums, one, other = levels.sums[level], levels.one[level], levels.sums[level + 1]
    levels.feature[level] += 1
    while levels.feature[level] < planes.bits.shape[0]:
        both(planes, levels.rows[level], levels.feature[level], one)
        for k in range(sums.shape[0]):
            other[k] = sums[k] - one[k]
        if allowed(one, labels, least) and allowed(other, labels, least):
            return True
        levels.feature[level] += 1
    return False


@jit(borrow=True)
def search(planes, words, cache, levels, state, settings, work):
    """Run DL8.5: depth first, with the best error so far as upper bound of what both branches may
    make together; return FINISHED, PAUSED or NEED_ROOM.

    words : uint64[2 · tests, 2], random.
    state, settings : STATE, SETTINGS.
    work : itemsets to look at.
    """
    until = state.steps + work
    if state.level < 0:  # the root
        total(planes, levels.rows[0], levels.sums[0])
        levels.key[0] = 0
        if (
            enter(
                planes,
                cache,
                levels,
                0,
                state,
                settings,
                error_of(levels.sums[0], settings.labels) + settings.lam + 1,
            )
            != OPENED
        ):
            return FINISHED
    while state.steps < until:
        level = state.level
        if state.known + 2 > cache.error.shape[0]:
            return NEED_ROOM
        n, found = levels.number[level], NOTHING
        if levels.phase[level] == 0:
            if levels.best[level] > 2 * settings.lam and next_test(planes, levels, level, settings):
                levels.phase[level] = 1
                descend(planes, words, levels, level, 0)
                found = enter(planes, cache, levels, level + 1, state, settings, levels.best[level])
            else:  # nothing is left to try
                if levels.best[level] < levels.limit[level]:
                    found = cache.bound[n] = cache.error[n]
                else:
                    cache.bound[n] = levels.limit[level]
                state.level = level = level - 1
                if level < 0:
                    return FINISHED
        while found != OPENED:  # an answer for the level
            if found == NOTHING:
                levels.phase[level] = 0
                break
            if levels.phase[level] == 1:
                levels.first[level], levels.phase[level] = found, 2
                descend(planes, words, levels, level, 1)
                found = enter(
                    planes, cache, levels, level + 1, state, settings, levels.best[level] - found
                )
            else:  # both branches together are below the best
                levels.best[level], levels.phase[level] = levels.first[level] + found, 0
                cache.error[levels.number[level]] = levels.best[level]
                cache.feature[levels.number[level]] = levels.feature[level]
                break
    return PAUSED


@jit(borrow=True)
def enumerate_itemsets(planes, words, cache, levels, state, settings, work):
    """Run the first half of DL8: enter all frequent itemsets of at most so many outcomes, tests in
    ascending order; return FINISHED, PAUSED or NEED_ROOM.

    words, state, settings, work : as in :func:`search`.
    """
    until, labels = state.steps + work, settings.labels
    if state.level < 0:
        total(planes, levels.rows[0], levels.sums[0])
        levels.key[0] = 0
        known(cache, levels, 0, state, settings)
        state.level, levels.feature[0], levels.phase[0] = 0, 0, 0
    while state.steps < until:
        level = state.level
        if state.known + 2 > cache.error.shape[0]:
            return NEED_ROOM
        if levels.phase[level] == 2:
            levels.feature[level], levels.phase[level] = levels.feature[level] + 1, 0
        if levels.feature[level] == planes.bits.shape[0]:
            state.level = level - 1
            if level == 0:
                return FINISHED
            continue
        if levels.phase[level] == 0:
            both(planes, levels.rows[level], levels.feature[level], levels.one[level])
        descend(planes, words, levels, level, levels.phase[level])
        levels.phase[level] += 1
        state.steps += 1
        if allowed(levels.sums[level + 1], labels, settings.least):
            known(cache, levels, level + 1, state, settings)
            if level + 1 < settings.depth:
                levels.feature[level + 1], levels.phase[level + 1] = levels.feature[level] + 1, 0
                state.level = level + 1
    return PAUSED


@jit(borrow=True, wraps=True)
def join(words, cache, state, order, work):
    """Run the second half of DL8: the best tree of every itemset from those of one outcome more;
    return FINISHED or PAUSED.

    words, state : as in :func:`search`.
    order : int64[itemsets], the largest first.
    work : itemsets to join.
    """
    until = min(order.shape[0], state.next + work)
    while state.next < until:
        n = order[state.next]
        one, two = cache.key[n, 0], cache.key[n, 1]
        for f in range(words.shape[0] // 2):
            zero = find(cache.slots, one + words[2 * f, 0], two + words[2 * f, 1])
            if zero >= 0:
                other = find(cache.slots, one + words[2 * f + 1, 0], two + words[2 * f + 1, 1])
                if other >= 0 and cache.error[zero] + cache.error[other] < cache.error[n]:
                    cache.error[n], cache.feature[n] = cache.error[zero] + cache.error[other], f
        state.next += 1
    return FINISHED if until == order.shape[0] else PAUSED


@jit(borrow=True, wraps=True)
def read_tree(words, cache, room, nodes):
    """Write the tree that the cache knows to ``nodes``, int64[·, 3]: (test or LEAF, node of outcome
    0, node of outcome 1), level by level; returns how many there are, or −1 where there is no room.

    words : uint64[2 · tests, 2], random.
    room : uint64[rows of nodes, 2], the itemset of each node, written.
    """
    room[0], made, at = np.uint64(0), np.int64(1), np.int64(0)
    nodes[0] = -1
    while at < made:
        number = find(cache.slots, room[at, 0], room[at, 1])
        test = cache.feature[number] if number >= 0 else LEAF
        if test >= 0:
            if made + 2 > nodes.shape[0]:
                return np.int64(-1)
            nodes[at, 0] = test
            for side in range(2):
                nodes[at, 1 + side] = made
                nodes[made] = -1
                for word in range(2):
                    room[made, word] = room[at, word] + words[2 * test + side, word]
                made += 1
        at += 1
    return made
