"""Parts of objects: an object may be in several nodes of a tree, by a rule for rows without a
value, with a share of it in each.

An *entry* of a node is a part of an object.  Of the node whose tests are scored the parts are known
by object, so that runs (see :mod:`arboretum.kernels.runs`) are divided as where objects are whole::

    load: weight[i], rows[i] ← what object i weighs and counts, times its share; WHOLE ← Σ of them
    for each feature listed for the node:
        LOST ← Σ of the entries without a value;  KNOWN ← WHOLE − LOST
        if LOST is not empty and the rule has no such test (LEFT_OUT; OWN without a form): next
        else, under SPLITS and STOPS: the node is KNOWN; scores count mass(KNOWN) / mass(WHOLE)
        for each cut of a run, in order, or each test of the bins:
            skip the next PIECE entries if no cut among them can be the best (hopeless)
            LEFT ← LEFT + the entry, or bin;  RIGHT ← KNOWN − LEFT
            put the table (LEFT, RIGHT): LOST joins the heavier one under HEAVIEST, is one more
            outcome under OWN, and is in none under the other rules
    hand_on: a child's share of an object is the node's; without an outcome, times the child's
        weight of objects with one / that of all children

A multiway test has one table, with a row per bin.  For EQUALS, LEFT is one bin.  Under OWN a number
has one test more: known against missing values.

Invariants:

- An object has at most one entry in a node.  ``share`` goes by place in ``rows``; ``of_object``,
  ``weight`` and ``rows`` go by object and hold for the node that was loaded last.
- The row NONE of the sums is 0.  Bin b of the feature at hand is the row FIRST + b, missing values
  behind its other bins; there are rows for as many bins as any feature has.
- ``tally`` counts entries exactly: where it is 0 the weights and rows are 0, whatever was rounded.
  Else sums of shares are inexact: numbers of rows are compared up to ROUNDED.
- ``put`` empties the block before it is full.  Entries without a value end a run.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.block import flush, named, reset, score
from arboretum.kernels.coded import COUNTED, EQUALS, MULTIWAY, SORTED
from arboretum.kernels.function_pointers import call_impurity, impurity_at
from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.kernel_decorators import KernelNode
from arboretum.kernels.runs import (
    CLASS,
    MISSING,
    MOST_CLASSES,
    OBJECT,
    TO_CLASS,
    TO_RANK,
    alone,
    separated,
)
from arboretum.kernels.tables import BLOCK, NodeScorer, Ties, add_moments, mass_of

SPLITS, HEAVIEST, OWN, LEFT_OUT, STOPS = range(5)
"""The rules, as ``SHARED`` of :mod:`arboretum.interfaces.missing` names them: where LOST is in a
table, and what the criterion sees as the node::

    SPLITS    in none (an entry goes on in all children)    KNOWN; scores · mass KNOWN / mass WHOLE
    STOPS     in none (an entry ends here)                  the same
    HEAVIEST  in the heavier side, or bin                   WHOLE
    OWN       an outcome more; no test without its form     WHOLE
    LEFT_OUT  no test of a feature that lacks values        WHOLE
"""
# rows of sums, ``FIRST`` that of a feature's first bin: a side may be any of them, so that they are
# numbers, and no fields
NONE, LEFT, RIGHT, KNOWN, LOST, BEFORE, WHOLE, FIRST = range(8)
ROUNDED = 1e-9  # what sums of shares may lack of a whole number of rows
PIECE = 32  # entries of a run that are bounded together

Fractions = namedtuple("Fractions", "how own_form impurity share of_object weight rows sums part")
"""how : the rule.

own_form : bool[F], whether a feature's tests have a form with an outcome for missing values.
impurity : its address.
share : float64[room], by place in the permutation.
of_object, weight, rows : float64[n], by object of the node looked at, its share, and what that
    weighs and counts; one array where all objects weigh 1.
sums : Sums, scratch.
part : float64[·], scratch, by outcome.
"""

Sums = namedtuple("Sums", "weights rows tally")
"""What some entries add up to, one row each, row NONE nothing: float64[·, width], float64[·,
count width], and int64[·, count width], how many they are.
"""


@inner
def load(rows, low, high, objects, shares):
    """Write what the entries of a node weigh and count, by object, and their sum to the row WHOLE;
    set the row NONE to 0.

    rows : int32[room], the node's objects at low … high − 1.
    shares : Fractions, of which ``of_object``, ``weight``, ``rows`` and ``sums`` are written.
    """
    clear(shares.sums, WHOLE)
    clear(shares.sums, NONE)
    for j in range(low, high):
        i, share = np.uintp(rows[j]), shares.share[j]
        shares.of_object[i] = share
        shares.weight[i] = objects.weight[i] * share
        shares.rows[i] = objects.count[i] * share
        add(
            shares.sums,
            WHOLE,
            i,
            objects.label[i] if len(objects.label) > 0 else 0,
            objects,
            shares,
        )


@inner
def lacking(rows, outcomes, goes):
    """Whether one of the rows has no outcome, which is written as outcome ``outcomes``."""
    found = False
    for i in rows:
        found |= goes[i] == outcomes
    return found


@inner
def hand_on(rows, low, outcomes, goes, start, shares):
    """Write the shares of the children's entries to ``shares.share``; rows without an outcome are
    divided as the others weigh.

    rows : divided by outcome from ``low`` on, those without an outcome in each.
    outcomes : number of outcomes, which is also that of rows without one in ``goes``.
    start : int64[≥ outcomes + 1], first places from ``low``.
    """
    part, total = shares.part, 0.0
    for o in range(outcomes):
        part[o] = 0.0
        for i in rows[low + start[o] : low + start[o + 1]]:
            part[o] += 0.0 if goes[i] == outcomes else shares.weight[i]
        total += part[o]
    for o in range(outcomes):
        for j in range(low + start[o], low + start[o + 1]):
            i = rows[j]
            shares.share[j] = shares.of_object[i] * (
                part[o] / total if goes[i] == outcomes else 1.0
            )


@inline
def clear(sums, row):
    """Set a row of the sums to 0."""
    for k in range(sums.weights.shape[1]):
        sums.weights[row, k] = 0.0
    for k in range(sums.rows.shape[1]):
        sums.rows[row, k], sums.tally[row, k] = 0.0, 0


@inline
def add(sums, row, i, k, objects, shares):
    """Add the entry of object i, of class k, or of a number, k = 0, to a row of the sums."""
    if len(objects.y) > 0:
        add_moments(sums.weights, row, shares.weight[i], objects.y[i])
    else:
        sums.weights[row, k] += shares.weight[i]
    sums.rows[row, k] += shares.rows[i]
    sums.tally[row, k] += 1


@inline
def add_word(sums, row, word, by_units, objects, shares):
    """Add an entry of a run to a row of the sums.

    by_units : all objects weigh 1 and have a class, so that one value is looked up.
    """
    i, k = word & OBJECT, np.int64(word >> TO_CLASS & CLASS)
    if by_units:
        sums.weights[row, k] += shares.weight[i]
        sums.rows[row, k] = sums.weights[row, k]
        sums.tally[row, k] += 1
    else:
        add(sums, row, i, k, objects, shares)


@inline
def add_row(sums, to, other):
    """Add the row ``other`` of the sums to the row ``to``."""
    for k in range(sums.weights.shape[1]):
        sums.weights[to, k] += sums.weights[other, k]
    for k in range(sums.rows.shape[1]):
        sums.rows[to, k] += sums.rows[other, k]
        sums.tally[to, k] += sums.tally[other, k]


@inline
def subtract(sums, to, whole, part):
    """Make row ``to`` of the sums row ``whole`` without row ``part``; 0 and not 1e-17 where no
    entry is left.
    """
    width, count_width = sums.weights.shape[1], sums.rows.shape[1]
    for k in range(count_width):
        sums.tally[to, k] = sums.tally[whole, k] - sums.tally[part, k]
        sums.rows[to, k] = (
            sums.rows[whole, k] - sums.rows[part, k] if sums.tally[to, k] > 0 else 0.0
        )
    for k in range(width):
        sums.weights[to, k] = (
            sums.weights[whole, k] - sums.weights[part, k]
            if sums.tally[to, k if width == count_width else 0] > 0
            else 0.0
        )


@inner
def score_shared(features, lists, segment, rows, objects, shares, rules, free, block, scoring):
    """Score all tests of a node whose objects are in parts, as
    :func:`arboretum.kernels.subtree.score_all` does where they are whole.

    lists : int32[·], the node's features at segment[3] … segment[4] − 1; those that may divide
        nodes further down are written behind them, where there is room for fewer.
    segment : int64[5], of ``Nodes``.
    shares : Fractions, after :func:`load`.
    free : bool[F], columns that cost nothing here.

    Returns how many features may divide nodes further down; all, without room for a list.
    """
    first, stop = segment[3], segment[4]
    reset(block)
    kept, room = np.int64(0), 2 * stop - first <= len(lists)
    for at in range(first, stop):
        f = lists[at]
        if (
            scan_feature(
                f,
                features,
                rows,
                (segment[0], segment[1]),
                objects,
                shares,
                rules,
                free[f],
                scoring,
                block,
            )
            and room
        ):
            lists[stop + kept] = f
            kept += 1
    return kept if room else stop - first


@inline
def scan_feature(f, features, rows, span, objects, shares, rules, paid, scoring, block):
    """Score the tests of feature f; the best so far stands in the block.

    span : first place of the node's objects in ``rows``, and that behind them.
    shares : Fractions, after :func:`load`; rows of its sums are overwritten.
    paid : the column costs nothing here.
    scoring : of the node as a whole; where rows without a value are in no table, the criterion sees
        the others as the node.

    Returns whether the feature may divide a node further down.
    """
    sums, (low, high) = shares.sums, span
    family, column, moments = features.family[f], features.column[f], len(objects.y) > 0
    n_bins = features.offset[f + 1] - features.offset[f] - features.has_missing[f]
    known = high - low
    by_units = objects.unit and not moments
    if family == SORTED:
        entry = features.order[column, low:high]
        if entry[0] >> TO_RANK == entry[known - 1] >> TO_RANK:
            return False
        clear(sums, LOST)
        while entry[known - 1] >> TO_RANK == MISSING:
            known -= 1
            add_word(sums, LOST, entry[known], by_units, objects, shares)
    else:
        base = np.uintp(column) * np.uintp(features.column_stride)
        for b in range(n_bins + 1):
            clear(sums, FIRST + b)
        for row in rows[low:high]:
            i = np.uintp(row)
            b = features.codes[base + i * np.uintp(features.row_stride)]
            add(sums, FIRST + b, i, 0 if moments else objects.label[i], objects, shares)
        subtract(sums, LOST, FIRST + n_bins, NONE)
    return scan_sums_of(f, features, span, known, objects, shares, rules, paid, scoring, block)


@inline
def scan_sums_of(f, features, span, known, objects, shares, rules, paid, scoring, block):
    """Score the tests of feature f whose entries are added up: rows WHOLE and LOST of the sums, and
    of its bins, unless it is sorted.

    known : entries of a sorted feature that have a value, the first of ``span``.
    objects : whether they have classes, and are units; of a sorted feature all of them.
    f, features, span, shares, rules, paid, scoring, block, and what is returned : as in
    :func:`scan_feature`.
    """
    how, sums = shares.how, shares.sums
    family, moments = features.family[f], len(objects.y) > 0
    n_bins = features.offset[f + 1] - features.offset[f] - features.has_missing[f]
    subtract(sums, KNOWN, WHOLE, LOST)
    n_known, n_lost = mass_of(sums.tally, KNOWN, False), mass_of(sums.tally, LOST, False)
    if n_known == 0 or (
        n_lost > 0 and (how == LEFT_OUT or (how == OWN and not shares.own_form[f]))
    ):
        return n_known > 0
    # in no table: the criterion sees the others as the node
    if n_lost > 0 and (how == SPLITS or how == STOPS):
        mass, node = mass_of(sums.weights, KNOWN, moments), scoring.node
        factor, impurity = mass / node.mass, call_impurity(shares.impurity, sums.weights[KNOWN])
        seen = KernelNode(
            mass, node.total_mass * factor, impurity, node.depth, 0.0, node.params, node.impurity_of
        )
        scoring = NodeScorer(seen, scoring.batch, scoring.ties, factor)
    own = how == OWN and n_lost > 0
    block.state[0].arity = (n_bins if family == MULTIWAY else 2) + own
    price = 0.0 if paid else features.prices[features.price_offset[f]]
    if family == MULTIWAY:
        to = -1
        if n_lost > 0 and how == HEAVIEST:
            to = largest_bin(sums, n_bins, moments)
        elif own:
            to = n_bins
        put(sums, FIRST, n_bins, to, (f, 0), price, rules, block, scoring)
    elif family == SORTED:
        put_cuts(f, features, span, known, n_lost, objects, shares, rules, price, scoring, block)
    else:
        put_bins(f, features, n_bins, n_lost, moments, shares, rules, paid, scoring, block)
    flush(block, scoring)
    if own and (family == SORTED or family == COUNTED):  # known against missing
        block.state[0].arity = 2
        last = known - 1 if family == SORTED else n_bins - 1
        put(sums, KNOWN, 1, 1, (f, last), price, rules, block, scoring)
        flush(block, scoring)
    return True


@inline
def largest_bin(sums, n_bins, moments):
    """Return the bin that weighs most, the first of them where several do."""
    heaviest = FIRST
    for b in range(FIRST + 1, FIRST + n_bins):
        if mass_of(sums.weights, b, moments) > mass_of(sums.weights, heaviest, moments):
            heaviest = b
    return heaviest - FIRST


@inline
def put_cuts(f, features, span, known, n_lost, objects, shares, rules, price, scoring, block):
    """Put the tables of a sorted feature's cuts, but for pieces and single cuts none of which can
    be the best.

    n_lost : entries without a value, in the row LOST of the sums.
    """
    how, sums, moments = shares.how, shares.sums, len(objects.y) > 0
    column, (low, high), by_units = features.column[f], span, objects.unit and not moments
    entry = features.order[column, low:high]
    # between two objects of one class, where a neighbour is allowed, too, and scores no less
    inner = (
        rules.vertices
        and rules.min_weight == 0.0
        and not moments
        and (n_lost == 0 or how != HEAVIEST)
        and not features.close[column]
    )
    # a table is of its left side and the rest of the known
    apart = n_lost == 0 or how == SPLITS or how == STOPS
    bounded = rules.vertices and apart and by_units and sums.weights.shape[1] <= MOST_CLASSES
    clear(sums, LEFT)
    after = np.int64(0)
    for j in range(known - 1):
        if j < after:
            continue
        if (
            bounded
            and j % PIECE == 0
            and j + PIECE < known
            and hopeless(entry, j, shares.weight, sums, rules.min_leaf, block, scoring)
        ):
            after = j + PIECE
            continue
        add_word(sums, LEFT, entry[j], by_units, objects, shares)
        if not separated(entry[j], entry[j + 1], features.reach[column], features.close[column]):
            continue
        if inner and (entry[j] ^ entry[j + 1]) >> TO_CLASS & CLASS == 0 and alone(entry, j, known):
            left, right = mass_of(sums.rows, LEFT, False), mass_of(sums.rows, KNOWN, False)
            before = left - shares.rows[entry[j] & OBJECT]
            rest = right - left - shares.rows[entry[j + 1] & OBJECT]
            if min(before, rest) >= rules.min_leaf:
                continue
        put_sides(f, j, n_lost, moments, shares, rules, price, scoring, block)


@inline
def put_bins(f, features, n_bins, n_lost, moments, shares, rules, paid, scoring, block):
    """Put the tables of a feature's bins: each against the others (EQUALS), or those up to it.

    An empty bin makes no other table than the one before, and is put where its price differs.
    """
    sums, family, at = shares.sums, features.family[f], features.price_offset[f]
    n_known = mass_of(sums.tally, KNOWN, False)
    clear(sums, LEFT)
    for j in range(n_bins if family == EQUALS else n_bins - 1):
        test, b = at + j, FIRST + j
        if family == EQUALS:
            clear(sums, LEFT)
        add_row(sums, LEFT, b)
        done = mass_of(sums.tally, LEFT, False)
        if (
            done == 0
            or done == n_known
            or (
                mass_of(sums.tally, b, False) == 0
                and features.prices[test] == features.prices[test - 1]
            )
        ):
            continue
        price = 0.0 if paid else features.prices[test]
        put_sides(f, j, n_lost, moments, shares, rules, price, scoring, block)


@inline
def put_sides(f, index, n_lost, moments, shares, rules, price, scoring, block):
    """Put the table of a test of two outcomes: the row LEFT of the sums, and the other known."""
    sums = shares.sums
    subtract(sums, RIGHT, KNOWN, LEFT)
    to = -1
    if n_lost > 0 and shares.how == OWN:
        to = 2
    elif n_lost > 0 and shares.how == HEAVIEST:
        right = mass_of(sums.weights, RIGHT, moments)
        to = np.int64(mass_of(sums.weights, LEFT, moments) < right)
    put(sums, LEFT, 2, to, (f, index), price, rules, block, scoring)


@jit(borrow=True)
def score_bins(features, bins, whole, objects, shares, rules, free, scorer, node, block):
    """Score all tests of a node whose rows are counted elsewhere, every row whole; the best stands
    in the block.

    features : none of them sorted, and none of their codes read.
    bins : (float64[bins, width], int64[bins, count width]), what is in each bin.
    whole : (float64[1, width], int64[1, count width]), of the node.
    objects : Members, of which it is read whether there are classes, and whether all weigh 1.
    free : bool[F], columns that cost nothing here.
    scorer : :class:`arboretum.kernels.subtree.SubtreeScorer`.
    node : (impurity, depth).
    """
    sums, moments, (impurity, depth) = shares.sums, len(objects.y) > 0, node
    clear(sums, NONE)
    put_row(sums, WHOLE, whole, 0)
    seen = KernelNode(
        mass_of(whole[0], 0, moments),
        rules.total,
        impurity,
        depth,
        0.0,
        scorer.params,
        impurity_at(scorer.impurity),
    )
    floor = scorer.floor * abs(impurity) if np.isfinite(impurity) else 0.0
    scoring = NodeScorer(seen, scorer.batch, Ties(scorer.relative, floor), 1.0)
    reset(block)
    for f in range(len(features.family)):
        first, n = features.offset[f], features.offset[f + 1] - features.offset[f]
        for b in range(n):
            put_row(sums, FIRST + b, bins, first + b)
        if features.has_missing[f]:
            put_row(sums, LOST, bins, first + n - 1)
        else:
            clear(sums, LOST)
        scan_sums_of(f, features, (0, 0), 0, objects, shares, rules, free[f], scoring, block)


@inline
def put_row(sums, row, bins, b):
    """Set a row of the sums to what is in bin b."""
    weights, counts = bins
    for k in range(weights.shape[1]):
        sums.weights[row, k] = weights[b, k]
    for k in range(counts.shape[1]):
        sums.rows[row, k], sums.tally[row, k] = counts[b, k], counts[b, k]


@inline
def hopeless(entry, first, weight, sums, min_leaf, block, scoring):
    """Whether no cut among the next PIECE entries of a run, all of weight 1, can be the best; if so
    they have been added to LEFT, else LEFT is as it was.

    The class weights left of such a cut lie in the box between those before the piece and those
    after it, and the criterion is quasi-convex, so that its highest score over the box is at a
    vertex.

    entry : uint64[·], the node's part of the run.
    first : where the piece begins, with PIECE entries behind it.
    weight : float64[n], by object, of its share.
    block : emptied, and overwritten; its best test stays.
    """
    width = sums.weights.shape[1]
    if block.state[0].used > 0:
        flush(block, scoring)
    subtract(sums, BEFORE, LEFT, NONE)
    a, b, c, n, m = 0.0, 0.0, 0.0, np.uint64(0), np.uint64(0)
    # without a branch, and without a sum in memory: MOST_CLASSES of them
    for word in entry[first : first + PIECE]:
        w, k = weight[np.uintp(word & OBJECT)], word >> TO_CLASS & CLASS
        one, two = k == np.uint64(1), k == np.uint64(2)
        a, b, c = a + (0.0 if one or two else w), b + (w if one else 0.0), c + (w if two else 0.0)
        n, m = n + np.uint64(one), m + np.uint64(two)
    for k in range(width):
        sums.weights[LEFT, k] += (a, b, c)[k]
        sums.rows[LEFT, k] = sums.weights[LEFT, k]
        sums.tally[LEFT, k] += np.int64((np.uint64(PIECE) - n - m, n, m)[k])
    small = (
        min(
            mass_of(sums.rows, LEFT, False),
            mass_of(sums.rows, KNOWN, False) - mass_of(sums.rows, BEFORE, False),
        )
        < min_leaf - ROUNDED
    )
    for mask in range(0 if small else 1 << width):
        block.price[mask] = 0.0
        for k in range(width):
            side, at = LEFT if mask >> k & 1 else BEFORE, 2 * mask * width + k
            block.weights[at] = sums.weights[side, k]
            block.weights[at + width] = sums.weights[KNOWN, k] - sums.weights[side, k]
            block.counts[at] = np.rint(sums.rows[side, k])
            block.counts[at + width] = np.rint(sums.rows[KNOWN, k] - sums.rows[side, k])
    if not small:
        score(1 << width, 2, block, scoring)
    for mask in range(0 if small else 1 << width):
        if not block.scores[mask] * scoring.factor <= block.state[0].best:
            subtract(sums, LEFT, BEFORE, NONE)
            return False
    return True


@inline
def put(sums, first, outcomes, to, name, price, rules, block, scoring):
    """Write the table of a test, if it divides the node into branches that are large enough.

    first : its outcomes are rows ``first …`` of the sums, ``outcomes`` of them.
    to : LOST joins that outcome; ``outcomes``: it is one more; −1: it is in none.
    name : feature, index.
    rules : SubtreeRules, of which the least rows and weight of a branch are read.
    """
    width = sums.weights.shape[1]
    count_width = sums.rows.shape[1]
    arity = outcomes + (to == outcomes)
    if block.state[0].used >= min(BLOCK, max(1, 2 * BLOCK // arity)):
        flush(block, scoring)
    present, t = 0, block.state[0].used
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
