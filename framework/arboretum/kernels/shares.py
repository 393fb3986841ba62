"""Whole trees by shares in one call: an object may be in several nodes in parts, by a rule for rows without a value.

An *entry* of a node is a part of an object.  The entries of the open nodes, and the runs of their raw columns (see :mod:`arboretum.kernels.runs`; an
entry of a run names one of the node by its place there), lie in a pool in the order of the stack, the next node last.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.block import ARITY, BROKEN, FEATURE, INDEX, SIDE, USED, flush, named, score
from arboretum.kernels.coded import COUNTED, EQUALS, MULTIWAY, SORTED, outcome
from arboretum.kernels.function_pointers import call_impurity, impurity_at
from arboretum.kernels.jit import jit
from arboretum.kernels.kernel_decorators import KernelNode
from arboretum.kernels.runs import CLASS, MISSING, MOST_CLASSES, OBJECT, TO_CLASS, TO_RANK, alone, separated
from arboretum.kernels.subtree import NODE_WORK, bar_prices, mark_paid
from arboretum.kernels.tables import BLOCK, Ask, Ties, add_moments, mass_of

SPLITS, HEAVIEST, OWN, LEFT_OUT, STOPS = range(5)  # as ``SHARED`` of :mod:`arboretum.interfaces.missing` names them
DONE, LATE, NO_ROOM, FOUND_NAN = range(4)
EVERYWHERE = -2  # as MISSING_SPLITS of a tree
NONE, LEFT, RIGHT, KNOWN, LOST, BEFORE, WHOLE, FIRST = range(8)  # rows of sums, ``FIRST`` that of a feature's first bin, or outcome
ROUNDED = 1e-9  # what sums of shares may lack of a whole number of rows
PIECE = 32  # entries of a run that are bounded together

Pool = namedtuple("Pool", "who share runs")
"""who : int32[room], objects.   share : float64[room].   runs : uint64[columns, room]."""

Run = namedtuple("Run", "features own_form how objects rules scorer above")
"""own_form : bool[F], whether a feature's tests have a form with an outcome for missing values.   how : the rule."""

Nodes = namedtuple("Nodes", "feature index beyond to parent branch rows price score impurity weights segment stack")
"""As :class:`arboretum.kernels.subtree.Nodes`.   to : where rows without a value go, as in a tree; the arity: an outcome of their own.
rows : float64.   segment : int64[·, 3], where the entries lie in the pool, and the depth."""

Sums = namedtuple("Sums", "weights rows tally")
"""What some entries add up to, one row each, row NONE nothing: float64[·, width], float64[·, count width], and int64[·, count width], how many they are."""

Here = namedtuple("Here", "weight rows label y goes place start part lowest highest")
"""A node.   weight, rows, y : float64[k], label : int32[k], of its entries.   goes : int32[k], outcomes.   place : uint64[k], 2 · place in a child
+ whether it is there.   Of its outcomes, and of rows without one: start int64[·], where its entries lie; part, lowest, highest float64[·], share and values."""


@jit(borrow=True)
def grow_shares(run, pool, progress, most_work, nodes, here, sums, block, free):
    """Grow depth first; return why it ends: DONE, LATE (more than ``most_work``), NO_ROOM in pool or nodes, FOUND_NAN.

    progress : int64[2], nodes found and nodes open; the first node is described, the open ones are in ``nodes.stack``.
    """
    features, rules, scorer, above, state = run.features, run.rules, run.scorer, run.above, block.state
    impurity_of, work = impurity_at(scorer.impurity), np.int64(0)
    moments = len(run.objects.label) == 0
    clear(sums, NONE)
    while progress[1] > 0:
        if work > most_work:
            return LATE
        v = np.int64(nodes.stack[progress[1] - 1])
        low, high = nodes.segment[v, 0], nodes.segment[v, 1]
        work += (high - low + NODE_WORK) * len(features.family)
        load(pool, low, high, run.objects, here, sums)
        if rules.once:
            mark_paid(v, features.owner, nodes, above.paid, free)
        if len(above.listed) > 0:
            bar_prices(v, nodes, above, rules.max_cost, features.prices)
        node = KernelNode(
            mass_of(nodes.weights, v, moments), rules.total, nodes.impurity[v], nodes.segment[v, 2], 0.0, scorer.params, impurity_of
        )  # fmt: skip
        floor = scorer.floor * abs(node.impurity) if np.isfinite(node.impurity) else 0.0
        ask = Ask(node, scorer.batch, Ties(scorer.relative, floor), 1.0)
        state[:] = 0
        state[FEATURE], block.best[0] = -1, -np.inf
        for f in range(len(features.family)):
            scan_feature(f, run, pool, (low, high), here, sums, free[f], ask, block)
        if state[BROKEN] or block.best[0] == np.inf:
            return FOUND_NAN
        if state[FEATURE] < 0 or (rules.bounded and not block.best[0] > rules.least + floor):
            progress[1] -= 1
        elif not divide(v, run, pool, progress, nodes, here, sums, block, free):
            return NO_ROOM
    return DONE


@jit(inline=True, borrow=True)
def clear(sums, row):
    for k in range(sums.weights.shape[1]):
        sums.weights[row, k] = 0.0
    for k in range(sums.rows.shape[1]):
        sums.rows[row, k], sums.tally[row, k] = 0.0, 0


@jit(inline=True, borrow=True)
def add(sums, row, e, here):
    """Add an entry."""
    k, w = np.int64(0), here.weight[e]
    if len(here.y) > 0:
        add_moments(sums.weights, row, w, here.y[e])
    else:
        k = np.int64(here.label[e])
        sums.weights[row, k] += w
    sums.rows[row, k] += here.rows[e]
    sums.tally[row, k] += 1


@jit(inline=True, borrow=True)
def add_word(sums, row, word, by_units, here):
    """Add an entry of a run; of objects that all weigh 1 one value is looked up."""
    e, k = word & OBJECT, np.int64(word >> TO_CLASS & CLASS)
    if by_units:
        sums.weights[row, k] += here.weight[e]
        sums.rows[row, k] = sums.weights[row, k]
        sums.tally[row, k] += 1
    else:
        add(sums, row, e, here)


@jit(inline=True, borrow=True)
def subtract(sums, to, whole, part):
    """Row ``to`` becomes row ``whole`` without row ``part``; 0 and not 1e-17 where no entry is left."""
    width, count_width = sums.weights.shape[1], sums.rows.shape[1]
    for k in range(count_width):
        sums.tally[to, k] = sums.tally[whole, k] - sums.tally[part, k]
        sums.rows[to, k] = sums.rows[whole, k] - sums.rows[part, k] if sums.tally[to, k] > 0 else 0.0
    for k in range(width):
        sums.weights[to, k] = sums.weights[whole, k] - sums.weights[part, k] if sums.tally[to, k if width == count_width else 0] > 0 else 0.0


@jit(inner=True, borrow=True)
def load(pool, low, high, objects, here, sums):
    """Write what the entries of a node weigh, and their sum."""
    clear(sums, WHOLE)
    for e in range(high - low):
        i, share = pool.who[low + e], pool.share[low + e]
        here.weight[e], here.rows[e] = objects.weight[i] * share, objects.count[i] * share
        if len(here.y) > 0:
            here.y[e] = objects.y[i]
        else:
            here.label[e] = objects.label[i]
        add(sums, WHOLE, e, here)


@jit(inline=True, borrow=True)
def scan_feature(f, run, pool, span, here, sums, paid, ask, block):
    """Score the tests of a feature; the best so far stands in the block."""
    features, how, rules, (low, high) = run.features, run.how, run.rules, span
    family, column, moments = features.family[f], features.column[f], len(here.y) > 0
    n_bins, known, at = features.offset[f + 1] - features.offset[f] - features.has_missing[f], high - low, features.price_offset[f]
    entry, by_units = pool.runs[column if family == SORTED else 0, low:high], run.objects.unit and not moments
    if family == SORTED:
        if entry[0] >> TO_RANK == entry[known - 1] >> TO_RANK:
            return
        clear(sums, LOST)
        while entry[known - 1] >> TO_RANK == MISSING:
            known -= 1
            add_word(sums, LOST, entry[known], by_units, here)
    else:
        base = np.uintp(column) * np.uintp(features.column_stride)
        for b in range(n_bins + 1):
            clear(sums, FIRST + b)
        for e in range(known):
            add(sums, FIRST + features.codes[base + np.uintp(pool.who[low + e]) * np.uintp(features.row_stride)], e, here)
        subtract(sums, LOST, FIRST + n_bins, NONE)
    subtract(sums, KNOWN, WHOLE, LOST)
    n_known, n_lost = mass_of(sums.tally, KNOWN, False), mass_of(sums.tally, LOST, False)
    if n_known == 0 or (n_lost > 0 and (how == LEFT_OUT or (how == OWN and not run.own_form[f]))):
        return
    if n_lost > 0 and (how == SPLITS or how == STOPS):  # in no table: the criterion sees the others as the node
        mass, node = mass_of(sums.weights, KNOWN, moments), ask.node
        factor, impurity = mass / node.mass, call_impurity(run.scorer.impurity, sums.weights[KNOWN])
        seen = KernelNode(mass, node.total_mass * factor, impurity, node.depth, 0.0, node.params, node.impurity_of)
        ask = Ask(seen, ask.batch, ask.ties, factor)
    own = how == OWN and n_lost > 0
    block.state[ARITY] = (n_bins if family == MULTIWAY else 2) + own
    if family == MULTIWAY:
        heaviest = FIRST
        for b in range(FIRST + 1, FIRST + n_bins):
            heaviest = b if mass_of(sums.weights, b, moments) > mass_of(sums.weights, heaviest, moments) else heaviest
        to = -1 if n_lost == 0 else heaviest - FIRST if how == HEAVIEST else n_bins if own else -1
        put(sums, FIRST, n_bins, to, (f, 0), 0.0 if paid else features.prices[at], rules, block, ask)
        flush(block, ask)
        return
    clear(sums, LEFT)
    apart = n_lost == 0 or how == SPLITS or how == STOPS  # a table is of its left side and the rest of the known
    inner = rules.corners and rules.min_weight == 0.0 and not moments and (n_lost == 0 or how != HEAVIEST)
    bounded, after = rules.corners and apart and by_units and sums.weights.shape[1] <= MOST_CLASSES, np.int64(0)
    for j in range(known - 1 if family == SORTED else n_bins if family == EQUALS else n_bins - 1):
        test = at
        if family == SORTED:
            if j < after:
                continue
            if bounded and j % PIECE == 0 and j + PIECE < known and hopeless(entry, j, here, sums, rules.min_leaf, block, ask):
                after = j + PIECE
                continue
            add_word(sums, LEFT, entry[j], by_units, here)
            if not separated(entry[j], entry[j + 1], features.reach[column], features.close[column]):
                continue
            if inner and (entry[j] ^ entry[j + 1]) >> TO_CLASS & CLASS == 0 and alone(entry, j, known):
                left, right = mass_of(sums.rows, LEFT, False), mass_of(sums.rows, KNOWN, False)
                before, rest = left - here.rows[entry[j] & OBJECT], right - left - here.rows[entry[j + 1] & OBJECT]
                if min(before, rest) >= rules.min_leaf:
                    continue  # as in the kernel of subtrees: one of its neighbours is allowed, too, and scores no less
        else:
            test, b = at + j, FIRST + j
            if family == EQUALS:
                clear(sums, LEFT)
            for k in range(sums.weights.shape[1]):
                sums.weights[LEFT, k] += sums.weights[b, k]
            for k in range(sums.rows.shape[1]):
                sums.rows[LEFT, k] += sums.rows[b, k]
                sums.tally[LEFT, k] += sums.tally[b, k]
            done = mass_of(sums.tally, LEFT, False)
            if done == 0 or done == n_known or (mass_of(sums.tally, b, False) == 0 and features.prices[test] == features.prices[test - 1]):
                continue
        subtract(sums, RIGHT, KNOWN, LEFT)
        to = 2 if own else -1
        if n_lost > 0 and how == HEAVIEST:
            to = np.int64(mass_of(sums.weights, LEFT, moments) < mass_of(sums.weights, RIGHT, moments))
        put(sums, LEFT, 2, to, (f, j), 0.0 if paid else features.prices[test], rules, block, ask)
    flush(block, ask)
    if own and (family == SORTED or family == COUNTED):  # known against missing
        block.state[ARITY] = 2
        put(sums, KNOWN, 1, 1, (f, known - 1 if family == SORTED else n_bins - 1), 0.0 if paid else features.prices[at], rules, block, ask)
        flush(block, ask)


@jit(inline=True, borrow=True)
def hopeless(entry, first, here, sums, min_leaf, block, ask):
    """Whether no cut among the next PIECE entries of a run, all of weight 1, can be the best; if so they have been added to LEFT.

    The class weights left of such a cut lie in the box between those before the piece and those after it, and the criterion is
    quasi-convex, so that its highest score over the box is at a corner.
    """
    width = sums.weights.shape[1]
    if block.state[USED] > 0:
        flush(block, ask)
    subtract(sums, BEFORE, LEFT, NONE)
    a, b, c, n, m = 0.0, 0.0, 0.0, np.uint64(0), np.uint64(0)
    for word in entry[first : first + PIECE]:  # without a branch, and without a sum in memory: MOST_CLASSES of them
        w, k = here.weight[np.uintp(word & OBJECT)], word >> TO_CLASS & CLASS
        one, two = k == np.uint64(1), k == np.uint64(2)
        a, b, c = a + (0.0 if one or two else w), b + (w if one else 0.0), c + (w if two else 0.0)
        n, m = n + np.uint64(one), m + np.uint64(two)
    for k in range(width):
        sums.weights[LEFT, k] += (a, b, c)[k]
        sums.rows[LEFT, k] = sums.weights[LEFT, k]
        sums.tally[LEFT, k] += np.int64((np.uint64(PIECE) - n - m, n, m)[k])
    small = min(mass_of(sums.rows, LEFT, False), mass_of(sums.rows, KNOWN, False) - mass_of(sums.rows, BEFORE, False)) < min_leaf - ROUNDED
    for mask in range(0 if small else 1 << width):
        block.price[mask] = 0.0
        for k in range(width):
            side, at = LEFT if mask >> k & 1 else BEFORE, 2 * mask * width + k
            block.weights[at], block.weights[at + width] = sums.weights[side, k], sums.weights[KNOWN, k] - sums.weights[side, k]
            block.counts[at], block.counts[at + width] = np.rint(sums.rows[side, k]), np.rint(sums.rows[KNOWN, k] - sums.rows[side, k])
    if not small:
        score(1 << width, 2, block, ask)
    for mask in range(0 if small else 1 << width):
        if not block.scores[mask] * ask.factor <= block.best[0]:
            subtract(sums, LEFT, BEFORE, NONE)
            return False
    return True


@jit(inline=True, borrow=True)
def put(sums, first, outcomes, to, name, price, rules, block, ask):
    """Write the table of a test, if it divides the node into branches that are large enough.

    first : its outcomes are rows ``first …`` of the sums.   to : LOST joins that outcome, or is one more.   name : feature, index.
    """
    width, count_width, arity = sums.weights.shape[1], sums.rows.shape[1], outcomes + (to == outcomes)
    if block.state[USED] >= min(BLOCK, max(1, 2 * BLOCK // arity)):
        flush(block, ask)
    present, t = 0, block.state[USED]
    for o in range(arity):
        own, lost = first + o if o < outcomes else NONE, LOST if o == to else NONE
        rows, mass, w, c = 0.0, 0.0, (t * arity + o) * width, (t * arity + o) * count_width
        for k in range(count_width):
            n = sums.rows[own, k] + sums.rows[lost, k]
            rows += n
            block.counts[c + k] = np.int64(np.rint(n))
        for k in range(width):
            weight = sums.weights[own, k] + sums.weights[lost, k]
            block.weights[w + k] = weight
            mass += weight if k == 0 or width == count_width else 0.0
        if rows > 0.0:
            present += 1
            if rows < rules.min_leaf - ROUNDED or mass < rules.min_weight:
                return
    if present > 1:
        named(t, name[0], name[1], to, price, block)


@jit(inner=True, borrow=True)
def divide(v, run, pool, progress, nodes, here, sums, block, free):
    """Ask the chosen test: describe the children, and put those that may be divided in the node's place in the pool; False without room."""
    features, state, goes, start = run.features, block.state, here.goes, here.start
    f, index, side, splits = state[FEATURE], state[INDEX], state[SIDE], run.how == SPLITS
    low, high, family, moments = nodes.segment[v, 0], nodes.segment[v, 1], features.family[f], len(here.y) > 0
    test, n_bins = 0 if family == SORTED else index, features.offset[f + 1] - features.offset[f] - features.has_missing[f]
    arity = n_bins if family == MULTIWAY else np.int64(2)
    arity += side == arity
    index, beyond = outcomes(features, pool, f, index, low, high, goes)
    for o in range(arity + 1):
        here.lowest[o], here.highest[o], start[o] = np.inf, -np.inf, -1
        clear(sums, FIRST + o)
    for e in range(high - low):
        goes[e] = side if goes[e] < 0 else goes[e]
        o = arity if goes[e] < 0 else np.int64(goes[e])  # the last place is that of rows without an outcome
        add(sums, FIRST + o, e, here)
        if moments:
            here.lowest[o], here.highest[o] = min(here.lowest[o], here.y[e]), max(here.highest[o], here.y[e])
    total, n, top, lost = 0.0, progress[0], high, FIRST + arity
    split = mass_of(sums.tally, lost, False) if splits else np.int64(0)
    for o in range(arity):
        total += mass_of(sums.weights, FIRST + o, moments)
    if n + arity > len(nodes.feature):
        return False
    for o in range(arity):
        size = mass_of(sums.tally, FIRST + o, False)
        here.part[o] = mass_of(sums.weights, FIRST + o, moments) / total
        if size == 0:
            continue
        if split > 0:
            join(sums, FIRST + o, lost, here, o, arity)
        nodes.feature[n], nodes.parent[n], nodes.branch[n], nodes.to[n], nodes.price[n], nodes.score[n] = -1, v, o, -1, 0.0, np.nan
        nodes.segment[n, 0], nodes.segment[n, 2] = top, nodes.segment[v, 2] + 1
        if describe(n, o, size + split, sums, here, run, nodes):  # a leaf needs no entries
            start[o] = top
            top += size + split
        nodes.segment[n, 1] = top
        n += 1
    if top >= len(pool.who):
        return False
    nodes.feature[v], nodes.index[v], nodes.beyond[v], nodes.score[v] = f, index, beyond, block.best[0]
    nodes.to[v] = EVERYWHERE if splits else side
    nodes.price[v] = 0.0 if free[f] else features.prices[features.price_offset[f] + test]
    progress[1] -= 1
    for c in range(progress[0], n):
        if nodes.segment[c, 1] > nodes.segment[c, 0]:
            nodes.stack[progress[1]] = c
            progress[1] += 1
        nodes.segment[c, 0] -= high - low
        nodes.segment[c, 1] -= high - low
    progress[0] = n
    hand_on(features, pool, (low, high, top), here, arity, splits)
    return True


@jit(inner=True, borrow=True)
def outcomes(features, pool, f, index, low, high, goes):
    """Where the test sends the entries of a node, −1 without a value.   Return its index, a rank for a sorted column, and the rank or code above."""
    family, column, beyond = features.family[f], features.column[f], np.int64(1 << 30)
    if family == SORTED:
        run = pool.runs[column, low:high]
        beyond, index = np.int64(run[index + 1] >> TO_RANK), np.int64(run[index] >> TO_RANK)
        for j in range(high - low):
            rank = run[j] >> TO_RANK
            goes[run[j] & OBJECT] = -1 if rank == MISSING else np.int64(np.int64(rank) > index)
        return index, beyond
    n_bins = features.offset[f + 1] - features.offset[f] - features.has_missing[f]
    base, down = np.uintp(column) * np.uintp(features.column_stride), np.uintp(features.row_stride)
    for e in range(high - low):
        code = np.int64(features.codes[base + np.uintp(pool.who[low + e]) * down])
        goes[e] = outcome(code, family, index, n_bins, -1)
        beyond = min(beyond, code) if goes[e] == 1 else beyond
    return index, beyond


@jit(inline=True, borrow=True)
def join(sums, row, lost, here, o, arity):
    """Add to outcome o, a row of the sums, its part of row ``lost``."""
    for k in range(sums.weights.shape[1]):
        sums.weights[row, k] += here.part[o] * sums.weights[lost, k]
    for k in range(sums.rows.shape[1]):
        sums.rows[row, k] += here.part[o] * sums.rows[lost, k]
    here.lowest[o], here.highest[o] = min(here.lowest[o], here.lowest[arity]), max(here.highest[o], here.highest[arity])


@jit(inner=True, borrow=True)
def describe(c, o, n_entries, sums, here, run, nodes):
    """Start node c, outcome o of its parent, as a leaf; return whether it may be divided."""
    rules, classes, moments = run.rules, 0, len(here.y) > 0
    for k in range(sums.weights.shape[1]):
        nodes.weights[c, k] = sums.weights[FIRST + o, k]
        classes += nodes.weights[c, k] > 0.0
    rows, mass = mass_of(sums.rows, FIRST + o, False), mass_of(nodes.weights, c, moments)
    nodes.rows[c], nodes.impurity[c] = rows, call_impurity(run.scorer.impurity, nodes.weights[c])
    pure = here.lowest[o] == here.highest[o] if moments else classes <= 1
    return not (
        pure or nodes.segment[c, 2] == rules.max_depth or rows < 2 * rules.min_leaf - ROUNDED or np.rint(rows) < rules.min_split
        or mass < 2.0 * rules.min_weight or mass <= rules.light or nodes.impurity[c] <= rules.mixed or n_entries < rules.min_objects
    )  # fmt: skip


@jit(inner=True, borrow=True)
def hand_on(features, pool, span, here, arity, splits):
    """Write the entries and runs of the children behind the node's, each in their order, then move what lies there into the node's place.

    span : where the node's entries begin and end, and the children's end; one place more is written to.   here.start : of each child, −1
    where nothing is wanted.
    """
    (low, high, top), goes, place = span, here.goes, here.place
    for o in range(arity):
        first = here.start[o]
        if first < 0:
            continue
        to = first
        for e in range(high - low):  # without a branch, for it could not be predicted
            lost = goes[e] < 0
            pool.who[to], pool.share[to] = pool.who[low + e], pool.share[low + e] * (here.part[o] if lost else 1.0)
            inside = goes[e] == o or (lost and splits)
            place[e] = np.uint64(2 * (to - first) + inside)
            to += inside
        for r in range(len(features.order)):
            words, run, own = pool.runs[r, low:high], pool.runs[r, first : top + 1], np.uintp(0)
            if words[0] >> TO_RANK == words[high - low - 1] >> TO_RANK:  # of what is not scanned any more the rank is enough
                run[: to - first] = words[0]
                continue
            for word in words:
                found = place[np.uintp(word & OBJECT)]
                run[own] = word & ~OBJECT | found >> np.uint64(1)
                own += np.uintp(found & np.uint64(1))
    for j in range(high, top):
        pool.who[j - high + low], pool.share[j - high + low] = pool.who[j], pool.share[j]
    for r in range(len(features.order)):
        for j in range(high, top):
            pool.runs[r, j - high + low] = pool.runs[r, j]
