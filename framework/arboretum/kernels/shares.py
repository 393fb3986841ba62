"""Whole trees by shares in one call: an object may be in several nodes in parts, by a rule for rows without a value.

An *entry* of a node is a part of an object.  The entries of the open nodes, and the runs of their raw columns (see :mod:`arboretum.kernels.runs`; an
entry of a run names one of the node by its place there), lie in a pool in the order of the stack, the next node last.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.block import ARITY, BROKEN, FEATURE, INDEX, SIDE, USED, named, score
from arboretum.kernels.coded import COUNTED, EQUALS, MULTIWAY, SORTED
from arboretum.kernels.function_pointers import call_impurity, impurity_at
from arboretum.kernels.jit import jit
from arboretum.kernels.kernel_decorators import KernelNode
from arboretum.kernels.runs import CLASS, MISSING, OBJECT, TO_CLASS, TO_RANK, alone, separated
from arboretum.kernels.subtree import NODE_WORK, bar_prices, mark_paid
from arboretum.kernels.tables import BLOCK, Ask, Ties, mass_of, slack

SPLITS, HEAVIEST, OWN, LEFT_OUT, STOPS = range(5)  # as ``SHARED`` of :mod:`arboretum.interfaces.missing` names them
DONE, LATE, NO_ROOM, FOUND_NAN = range(4)
EVERYWHERE = -2  # as MISSING_SPLITS of a tree
LEFT, RIGHT, KNOWN = range(3)  # rows of sums at a test
ROUNDED = 1e-9  # what sums of shares may lack of a whole number of rows

Pool = namedtuple("Pool", "who share runs")
"""who : int32[room], objects.   share : float64[room].   runs : uint64[columns, room]."""

Run = namedtuple("Run", "features own_form how objects rules scorer above")
"""own_form : bool[F], whether a feature's tests have a form with an outcome for missing values.   how : the rule."""

Nodes = namedtuple("Nodes", "feature index beyond to parent branch rows price score impurity weights segment stack")
"""As :class:`arboretum.kernels.subtree.Nodes`.   to : where rows without a value go, as in a tree; the arity: an outcome of their own.
rows : float64.   segment : int64[·, 3], where the entries lie in the pool, and the depth."""

Sums = namedtuple("Sums", "weights rows tally")
"""What some entries add up to, one row each: float64[·, width], float64[·, count width], and int64[·, count width], how many they are."""

Here = namedtuple("Here", "weight rows label y goes place size start ends part lowest highest")
"""A node.   weight, rows, y : float64[k], label : int32[k], of its entries.   goes : int32[k], outcomes; place : int64[k], among those of the outcome.
Of its outcomes, and of rows without one: size, start, ends int64[·], entries and where they lie; part, lowest, highest float64[·], share and values."""


@jit(borrow=True)
def grow_shares(run, pool, progress, most_work, nodes, here, sums, whole, lost, bins, block, free):
    """Grow depth first; return why it ends: DONE, LATE (more than ``most_work``), NO_ROOM in pool or nodes, FOUND_NAN.

    progress : int64[2], nodes found and nodes open; the first node is described, the open ones are in ``nodes.stack``.
    """
    features, rules, scorer, above, state = run.features, run.rules, run.scorer, run.above, block.state
    impurity_of, work = impurity_at(scorer.impurity), np.int64(0)
    moments = len(run.objects.label) == 0
    while progress[1] > 0:
        if work > most_work:
            return LATE
        v = np.int64(nodes.stack[progress[1] - 1])
        low, high = nodes.segment[v, 0], nodes.segment[v, 1]
        work += (high - low + NODE_WORK) * len(features.family)
        load(pool, low, high, run.objects, here, whole)
        if rules.once:
            mark_paid(v, features.owner, nodes, above.paid, free)
        if len(above.listed) > 0:
            bar_prices(v, nodes, above, rules.max_cost, features.prices)
        node = KernelNode(
            mass_of(nodes.weights, v, moments), rules.total, nodes.impurity[v], nodes.segment[v, 2], 0.0, scorer.params, impurity_of
        )  # fmt: skip
        floor = scorer.floor * abs(node.impurity) if np.isfinite(node.impurity) else 0.0
        ask = Ask(node, scorer.batch, Ties(scorer.relative, floor))
        state[:] = 0
        state[FEATURE], block.best[0] = -1, -np.inf
        for f in range(len(features.family)):
            scan_feature(f, run, pool, (low, high), here, sums, whole, lost, bins, free[f], ask, block)
        if state[BROKEN] or block.best[0] == np.inf:
            return FOUND_NAN
        if state[FEATURE] < 0 or (rules.bounded and not block.best[0] > rules.least + floor):
            progress[1] -= 1
        elif not divide(v, run, pool, progress, nodes, here, bins, block, free):
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
        y = here.y[e]
        sums.weights[row, 0] += w
        sums.weights[row, 1] += w * y
        sums.weights[row, 2] += w * y * y
    else:
        k = np.int64(here.label[e])
        sums.weights[row, k] += w
    sums.rows[row, k] += here.rows[e]
    sums.tally[row, k] += 1


@jit(inline=True, borrow=True)
def subtract(sums, to, whole, a, part, b):
    """Row ``to`` becomes row a of ``whole`` without row b of ``part``; 0 and not 1e-17 where no entry is left."""
    width, count_width = sums.weights.shape[1], sums.rows.shape[1]
    for k in range(count_width):
        sums.tally[to, k] = whole.tally[a, k] - part.tally[b, k]
        sums.rows[to, k] = whole.rows[a, k] - part.rows[b, k] if sums.tally[to, k] > 0 else 0.0
    for k in range(width):
        sums.weights[to, k] = whole.weights[a, k] - part.weights[b, k] if sums.tally[to, k if width == count_width else 0] > 0 else 0.0


@jit(inline=True, borrow=True)
def entries(sums, row):
    n = sums.tally[row, 0]
    for k in range(1, sums.tally.shape[1]):
        n += sums.tally[row, k]
    return n


@jit(inline=True, borrow=True)
def rows_of(sums, row):
    n = sums.rows[row, 0]
    for k in range(1, sums.rows.shape[1]):
        n += sums.rows[row, k]
    return n


@jit(inner=True, borrow=True)
def load(pool, low, high, objects, here, whole):
    """Write what the entries of a node weigh, and their sum."""
    clear(whole, 0)
    for e in range(high - low):
        i, share = pool.who[low + e], pool.share[low + e]
        here.weight[e], here.rows[e] = objects.weight[i] * share, objects.count[i] * share
        if len(here.y) > 0:
            here.y[e] = objects.y[i]
        else:
            here.label[e] = objects.label[i]
        add(whole, 0, e, here)


@jit(inner=True, borrow=True)
def scan_feature(f, run, pool, span, here, sums, whole, lost, bins, paid, ask, block):
    """Score the tests of a feature; the best so far stands in the block."""
    features, how, rules, (low, high) = run.features, run.how, run.rules, span
    family, column, moments = features.family[f], features.column[f], len(here.y) > 0
    first, stop = features.offset[f], features.offset[f + 1] - features.has_missing[f]
    n_bins, known = stop - first, high - low
    entry = pool.runs[column if family == SORTED else 0, low:high]
    if family == SORTED:
        if entry[0] >> TO_RANK == entry[known - 1] >> TO_RANK:
            return
        clear(lost, 0)
        while entry[known - 1] >> TO_RANK == MISSING:
            known -= 1
            add(lost, 0, entry[known] & OBJECT, here)
    else:
        base = np.uintp(column) * np.uintp(features.column_stride)
        for b in range(n_bins + 1):
            clear(bins, b)
        for e in range(known):
            add(bins, features.codes[base + np.uintp(pool.who[low + e]) * np.uintp(features.row_stride)], e, here)
        clear(lost, 0)
        subtract(lost, 0, bins, n_bins, lost, 0)
    subtract(sums, KNOWN, whole, 0, lost, 0)
    n_known, n_lost = entries(sums, KNOWN), entries(lost, 0)
    if n_known == 0 or (n_lost > 0 and (how == LEFT_OUT or (how == OWN and not run.own_form[f]))):
        return
    factor = 1.0
    if n_lost > 0 and (how == SPLITS or how == STOPS):  # in no table: the criterion sees the others as the node
        mass, node = mass_of(sums.weights, KNOWN, moments), ask.node
        factor = mass / node.mass
        impurity = call_impurity(run.scorer.impurity, sums.weights[KNOWN])
        seen = KernelNode(mass, node.total_mass * factor, impurity, node.depth, 0.0, node.params, node.impurity_of)
        ask = Ask(seen, ask.batch, ask.ties)
    arity = n_bins if family == MULTIWAY else 2
    block.state[ARITY] = arity + (how == OWN and n_lost > 0)
    at = features.price_offset[f]
    if family == MULTIWAY:
        heaviest = 0
        for b in range(1, n_bins):
            heaviest = b if mass_of(bins.weights, b, moments) > mass_of(bins.weights, heaviest, moments) else heaviest
        to = -1 if n_lost == 0 else heaviest if how == HEAVIEST else arity if how == OWN else -1
        put(bins, 0, arity, lost, to, (f, 0), 0.0 if paid else features.prices[at], rules, block, ask, factor)
        settle(block, ask, factor)
        return
    clear(sums, LEFT)
    inner = rules.corners and rules.min_weight == 0.0 and not moments and (n_lost == 0 or how != HEAVIEST)
    for j in range(known - 1 if family == SORTED else n_bins if family == EQUALS else n_bins - 1):
        test = at
        if family == SORTED:
            if moments or not run.objects.unit:
                add(sums, LEFT, entry[j] & OBJECT, here)
            else:  # one value is looked up per entry
                k = np.int64(entry[j] >> TO_CLASS & CLASS)
                sums.weights[LEFT, k] += here.weight[entry[j] & OBJECT]
                sums.rows[LEFT, k] = sums.weights[LEFT, k]
                sums.tally[LEFT, k] += 1
            if not separated(entry[j], entry[j + 1], features.reach[column], features.close[column]):
                continue
            if inner and (entry[j] ^ entry[j + 1]) >> TO_CLASS & CLASS == 0 and alone(entry, j, known):
                left, right = rows_of(sums, LEFT), rows_of(sums, KNOWN)
                before, after = left - here.rows[entry[j] & OBJECT], right - left - here.rows[entry[j + 1] & OBJECT]
                if min(before, after) >= rules.min_leaf:
                    continue  # as in the kernel of subtrees: one of its neighbours is allowed, too, and scores no less
        else:
            test, n = at + j, entries(bins, j)
            if family == EQUALS:
                clear(sums, LEFT)
            for k in range(sums.weights.shape[1]):
                sums.weights[LEFT, k] += bins.weights[j, k]
            for k in range(sums.rows.shape[1]):
                sums.rows[LEFT, k] += bins.rows[j, k]
                sums.tally[LEFT, k] += bins.tally[j, k]
            done = entries(sums, LEFT)
            if done == 0 or done == n_known or (n == 0 and features.prices[test] == features.prices[test - 1]):
                continue
        subtract(sums, RIGHT, sums, KNOWN, sums, LEFT)
        to = -1
        if n_lost > 0 and how == OWN:
            to = 2
        elif n_lost > 0 and how == HEAVIEST:
            to = np.int64(mass_of(sums.weights, LEFT, moments) < mass_of(sums.weights, RIGHT, moments))
        put(sums, LEFT, 2, lost, to, (f, j), 0.0 if paid else features.prices[test], rules, block, ask, factor)
    settle(block, ask, factor)
    if how == OWN and n_lost > 0 and (family == SORTED or family == COUNTED):  # known against missing
        block.state[ARITY] = 2
        put(sums, KNOWN, 1, lost, 1, (f, known - 1 if family == SORTED else n_bins - 1), 0.0 if paid else features.prices[at], rules, block, ask, factor)
        settle(block, ask, factor)


@jit(inline=True, borrow=True)
def put(table, first, outcomes, lost, to, name, price, rules, block, ask, factor):
    """Write the table of a test, if it divides the node into branches that are large enough.

    table : rows ``first …`` are its outcomes.   lost : its row 0 joins outcome ``to``, or is one more.   name : feature, index.
    """
    width, count_width, arity = table.weights.shape[1], table.rows.shape[1], outcomes + (to == outcomes)
    if block.state[USED] >= min(BLOCK, max(1, 2 * BLOCK // arity)):
        settle(block, ask, factor)
    present, t = 0, block.state[USED]
    for o in range(arity):
        rows, mass, w, c = 0.0, 0.0, (t * arity + o) * width, (t * arity + o) * count_width
        for k in range(count_width):
            n = (table.rows[first + o, k] if o < outcomes else 0.0) + (lost.rows[0, k] if o == to else 0.0)
            rows += n
            block.counts[c + k] = np.int64(np.rint(n))
        for k in range(width):
            weight = (table.weights[first + o, k] if o < outcomes else 0.0) + (lost.weights[0, k] if o == to else 0.0)
            block.weights[w + k] = weight
            mass += weight if k == 0 or width == count_width else 0.0
        if rows > 0.0:
            present += 1
            if rows < rules.min_leaf - ROUNDED or mass < rules.min_weight:
                return
    if present > 1:
        named(t, name[0], name[1], to, price, block)


@jit(inner=True, borrow=True)
def settle(block, ask, factor):
    """Score the tables of the block, times ``factor``, and empty it.  A test replaces the best so far only if it beats it by more than ties differ."""
    state, n, top = block.state, block.state[USED], block.best[0]
    state[USED] = 0
    if n > 0:
        score(n, state[ARITY], block, ask)
    for t in range(n):
        s = block.scores[t] * factor
        if s != s:
            state[BROKEN] = 1
        if s > top and (state[FEATURE] < 0 or s > top + slack(top, ask.ties)):
            top = s
            state[FEATURE], state[INDEX], state[SIDE] = block.place[t, 0], block.place[t, 1], block.place[t, 2]
    block.best[0] = top


@jit(inner=True, borrow=True)
def divide(v, run, pool, progress, nodes, here, bins, block, free):
    """Ask the chosen test: describe the children, and put those that may be divided in the node's place in the pool; False without room."""
    features, state, goes, place, size = run.features, block.state, here.goes, here.place, here.size
    f, index, side, splits = state[FEATURE], state[INDEX], state[SIDE], run.how == SPLITS
    low, high, family, moments = nodes.segment[v, 0], nodes.segment[v, 1], features.family[f], len(here.y) > 0
    test, n_bins = 0 if family == SORTED else index, features.offset[f + 1] - features.offset[f] - features.has_missing[f]
    arity = n_bins if family == MULTIWAY else np.int64(2)
    arity += side == arity
    index, beyond = outcomes(features, pool, f, index, low, high, goes)
    for o in range(arity + 1):
        size[o] = 0
        here.lowest[o], here.highest[o] = np.inf, -np.inf
        clear(bins, o)
    for e in range(high - low):
        goes[e] = side if goes[e] < 0 else goes[e]
        o = arity if goes[e] < 0 else np.int64(goes[e])  # the last place is that of rows without an outcome
        place[e] = size[o]
        size[o] += 1
        add(bins, o, e, here)
        if moments:
            here.lowest[o], here.highest[o] = min(here.lowest[o], here.y[e]), max(here.highest[o], here.y[e])
    total, n, needed, split = 0.0, progress[0], np.int64(0), size[arity] if splits else np.int64(0)
    for o in range(arity):
        total += mass_of(bins.weights, o, moments)
    if n + arity > len(nodes.feature):
        return False
    for o in range(arity):
        here.part[o] = mass_of(bins.weights, o, moments) / total
        if size[o] == 0:
            continue
        if split > 0:
            join(bins, o, arity, here)
        nodes.feature[n], nodes.parent[n], nodes.branch[n], nodes.to[n], nodes.price[n], nodes.score[n] = -1, v, o, -1, 0.0, np.nan
        nodes.segment[n, 0], nodes.segment[n, 2] = high + needed, nodes.segment[v, 2] + 1
        here.start[o] = high + needed
        if describe(n, o, size[o] + split, bins, here, run, nodes):
            needed += size[o] + split
        else:
            here.start[o] = -1  # a leaf needs no entries
        nodes.segment[n, 1] = high + needed
        n += 1
    if high + needed > len(pool.who):
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
    hand_on(features, pool, (low, high, high + needed), here, arity, splits)
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
        if code >= n_bins:
            goes[e] = -1
        elif family == MULTIWAY:
            goes[e] = code
        else:
            goes[e] = np.int64(code != index) if family == EQUALS else np.int64(code > index)
            beyond = min(beyond, code) if goes[e] == 1 else beyond
    return index, beyond


@jit(inner=True, borrow=True)
def join(sums, o, lost, here):
    """Add to row o its part of row ``lost``."""
    for k in range(sums.weights.shape[1]):
        sums.weights[o, k] += here.part[o] * sums.weights[lost, k]
    for k in range(sums.rows.shape[1]):
        sums.rows[o, k] += here.part[o] * sums.rows[lost, k]
    here.lowest[o], here.highest[o] = min(here.lowest[o], here.lowest[lost]), max(here.highest[o], here.highest[lost])


@jit(inner=True, borrow=True)
def describe(c, o, n_entries, sums, here, run, nodes):
    """Start node c, row o of ``sums``, as a leaf; return whether it may be divided."""
    rules, rows, mass, classes = run.rules, 0.0, 0.0, 0
    for k in range(sums.rows.shape[1]):
        rows += sums.rows[o, k]
    for k in range(sums.weights.shape[1]):
        nodes.weights[c, k] = sums.weights[o, k]
        classes += sums.weights[o, k] > 0.0
    mass = mass_of(nodes.weights, c, len(here.y) > 0)
    nodes.rows[c], nodes.impurity[c] = rows, call_impurity(run.scorer.impurity, nodes.weights[c])
    pure = here.lowest[o] == here.highest[o] if len(here.y) > 0 else classes <= 1
    return not (
        pure or nodes.segment[c, 2] == rules.max_depth or rows < 2 * rules.min_leaf - ROUNDED or np.rint(rows) < rules.min_split
        or mass < 2.0 * rules.min_weight or mass <= rules.light or nodes.impurity[c] <= rules.mixed or n_entries < rules.min_objects
    )  # fmt: skip


@jit(inner=True, borrow=True)
def hand_on(features, pool, span, here, arity, splits):
    """Write the entries and runs of the children behind the node's, then move what lies there into the node's place.

    span : where the node's entries begin and end, and the children's end.   here.start : of each child, −1 where nothing is wanted.
    """
    low, high, top = span
    goes, place, size, start, ends = here.goes, here.place, here.size, here.start, here.ends
    for o in range(arity):
        ends[o] = start[o]
        start[o] = -1 if size[o] == 0 else start[o]
    for e in range(high - low):
        i, share, g = pool.who[low + e], pool.share[low + e], goes[e]
        if g >= 0 and start[g] >= 0:
            pool.who[start[g] + place[e]], pool.share[start[g] + place[e]] = i, share
        for o in range(arity if g < 0 and splits else 0):
            if start[o] >= 0:
                at = start[o] + size[o] + place[e]
                pool.who[at], pool.share[at] = i, share * here.part[o]
    for r in range(len(features.order)):
        run = pool.runs[r, low:high]
        if run[0] >> TO_RANK == run[high - low - 1] >> TO_RANK:  # of what is not scanned any more the rank is enough
            pool.runs[r, high:top] = run[0]
            continue
        for o in range(arity):
            ends[o] = start[o]
        for j in range(high - low):
            e = run[j] & OBJECT
            g, p = goes[e], np.uint64(place[e])
            if g >= 0 and start[g] >= 0:
                pool.runs[r, ends[g]] = run[j] & ~OBJECT | p
                ends[g] += 1
            for o in range(arity if g < 0 and splits else 0):
                if start[o] >= 0:
                    pool.runs[r, ends[o]] = run[j] & ~OBJECT | (np.uint64(size[o]) + p)
                    ends[o] += 1
    for j in range(high, top):
        pool.who[j - high + low], pool.share[j - high + low] = pool.who[j], pool.share[j]
    for r in range(len(features.order)):
        for j in range(high, top):
            pool.runs[r, j - high + low] = pool.runs[r, j]
