"""The best cut of a sorted run of many classes, in a time that does not depend on how many.

A kernel that says ``by_sums`` scores a table by mass × impurity of its outcomes alone: Gini's index
and entropy make that of Σw and Σφ(w) over the classes, φ(w) = w² or w log₂ w, of which a row
changes one term.  So a walk along the run, and one back, tell it of every prefix and suffix; the
cuts that may be best are listed, and these alone become tables, which the kernel itself scores::

    costs ← mass × impurity of each prefix and each suffix (fill_costs)
    for each position j where there is room for a threshold, for each side of missing rows:
        cost ← that of its prefix + that of its suffix
        if a branch is too small, or cost ≥ lowest + 2 error: next
        list the cut; lowest ← min(lowest, cost), if the cut is surely allowed
    upper, lower ← score of (cost − error), score of (cost + error), for each listed cut
    start ← the last cut surely allowed whose lower beats the upper of all before it
    for each listed cut from start on, if its upper is above bar: score its table, keep the best

The chosen cut and its score are those that scoring every table gives, ties and the last digit
included.

Sums that grow row by row are rounded otherwise than those of a table.  With u = 2⁻⁵³, n rows of
mass m and k classes: a sum of n growing terms is off by at most 4 n u of itself, that of a table by
k u, and the weights of a table, which are differences from the node's, by 2 n u m together.  m −
Σw²/m changes by at most twice what weights change; m log₂ m − Σ w log₂ w by |log₂| of a share times
that, and of shares below 2⁻⁴⁸ by no more than they are.  All in all these are less than 32 (n + k +
8) u m, for entropy times log₂ k + |log₂ m| + 48: :func:`error_of`.  An outcome that weighs less
itself may have any cost: −∞ is written.  Squares of whole numbers are exact below 2⁵³.

Invariants: ``at`` is 0 between calls.  ``cut`` is the caller's, for the positions of the run at
hand.  Listed cuts are in the order of position and side, at most two per position, for which there
is room; ``upper`` holds their costs until it holds scores.  The table's left side grows along the
list, and is never taken back.
"""

import math
from collections import namedtuple

import numpy as np

from arboretum.kernels.function_pointers import call_batch
from arboretum.kernels.jit import inline, inner
from arboretum.kernels.tables import BLOCK, NO_SIDE, NOTHING, bar_of, enough_rows, enough_weight

FEW_CLASSES = 3  # up to which the tables of all cuts are cheaper
NO_SUMS, GINI, ENTROPY = range(3)
EXACT = 2.0**53
UNIT_ROUNDING = 2.0**-53

Keys = namedtuple("Keys", "to_class class_mask object_mask")
"""Where an entry of a run holds class and object."""

Moved = namedtuple("Moved", "weight count unit")
"""By object.   unit : all weigh 1 and count once."""

Sums = namedtuple(
    "Sums",
    "form address at costs cut place upper lower left_w left_c lost_w lost_c weights counts "
    "extra price "
    "given given_c given_e scores",
)
"""form : NO_SUMS, GINI or ENTROPY.

address : of the criterion's kernel as a function of its sum.

Then scratch.


at : float64[classes], 0 between calls.   costs : float64[4, m + 1], see :func:`fill_costs`.
cut : bool[m], whether there is room for a threshold behind an entry.
place : int32[2 m, 3], the cuts that may be best: position, side and whether they are surely
    allowed.
upper, lower : float64[2 m], their scores.

Then a table for the kernel, and a block of sums.
"""


def sums_for(form: int, address: int, classes: int, n: int) -> Sums:
    """Allocate memory for runs of at most n entries; next to none where ``form`` is NO_SUMS.

    address : of the criterion's kernel as a function of its sum.
    """
    k, n = (classes, n) if form else (0, 0)
    return Sums(
        form,
        address,
        np.zeros(k),
        np.empty((4, n + 1)),
        np.empty(n, np.bool_),
        np.empty((2 * n, 3), np.int32),
        *np.empty((2, 2 * n)),
        np.empty(k),
        np.empty(k, np.int64),
        np.empty(k),
        np.empty(k, np.int64),
        np.empty((1, 2, k)),
        np.empty((1, 2, k), np.int64),
        np.empty((1, 2, 0)),
        np.empty(BLOCK),
        np.empty((BLOCK, 1, 1)),
        np.empty((BLOCK, 1, 1), np.int64),
        np.empty((BLOCK, 1, 0)),
        np.empty(BLOCK),
    )


@inline
def error_of(form, n, classes, mass, unit):
    """Return by how much mass × impurity of both outcomes may differ from the table's; see the
    module.

    form : GINI or ENTROPY.
    n : entries of the run, all of mass ``mass``.
    unit : all weigh 1 and count once, so that squares are whole numbers.
    """
    if form == GINI and unit and mass * mass < EXACT:
        return 0.0
    error = 32.0 * (n + classes + 8) * UNIT_ROUNDING * mass
    if form == GINI:
        return error
    return error * (math.log2(classes) + abs(math.log2(mass)) + 48.0)


@inline
def term(form, w):
    """φ(w): w² for GINI, w log₂ w for ENTROPY, 0 at w = 0."""
    if form == GINI:
        return w * w
    return w * math.log2(w) if w > 0.0 else 0.0


@inner
def add_entries(form, run, span, sums, keys, moved, least, at, out):
    """Add entries one after the other; return mass and Σφ.

    span : first position, number, step (1 or −1).
    sums : mass and Σφ of what was added before.
    keys, moved : Keys, Moved.
    at : float64[classes], weight by class so far; added to.
    out : receives by position mass × impurity of those so far, −∞ up to the mass ``least``, which
        may be mere rounding in a table.
    """
    (j, n, step), (mass, terms) = span, sums
    for _ in range(n):
        entry = np.uint64(run[j])
        k = np.uintp(entry >> keys.to_class & keys.class_mask)
        old, w = at[k], 1.0 if moved.unit else moved.weight[np.uintp(entry & keys.object_mask)]
        new = old + w
        at[k] = new
        mass += w
        terms += term(form, new) - term(form, old)
        cost = mass - terms / mass if form == GINI else mass * math.log2(mass) - terms
        out[j] = cost if mass > least else -np.inf
        j += step
    return mass, terms


@inner
def fill_costs(form, run, known, keys, moved, least, at, out):
    """Write mass × impurity of every prefix and suffix of a run, whose first ``known`` entries have
    a value.

    least : mass up to which −∞ is written.
    at : float64[classes], 0 before and after.
    out : float64[4, ≥ len(run) + 1]: with the others left, out[0, j] of the entries 0 … j and
        out[1, j] of j … known − 1; out[2], out[3]: the same with the others right, out[3, known] of
        these alone.  Where all have a value out[0] and out[1] alone are written.
    """
    m = len(run)
    for f in range(4 if known < m else 2):
        sums, span = (0.0, 0.0), (known - 1, known, -1) if f % 2 else (0, known, 1)
        if known < m and (f == 0 or f == 3):
            before = (m - 1, m - known, -1)
            sums = add_entries(form, run, before, sums, keys, moved, least, at, out[f])
        add_entries(form, run, span, sums, keys, moved, least, at, out[f])
        for entry in run:
            at[np.uintp(np.uint64(entry) >> keys.to_class & keys.class_mask)] = 0.0


@inner
def list_cuts(run, known, lost, whole, keys, moved, least, error, scratch):
    """List the cuts that may be best: none before costs less, by more than sums may be off.

    lost : number and weight of the rows without a value.
    whole : of all.
    least : :class:`arboretum.kernels.tables.Least`.
    error : see :func:`error_of`.
    scratch : Sums; ``place`` is written, and ``upper``, which holds costs until there are scores.

    Where it is not sure that a branch is heavy enough, a cut is listed, and rules none out.
    Returns how many are listed.
    """
    (total, mass), (n_lost, lost_mass) = whole, lost
    costs, cut, place, cost_of = scratch.costs, scratch.cut, scratch.place, scratch.upper
    left, light, n, lowest = np.int64(0), 0.0, np.int64(0), np.inf
    for j in range(known if n_lost > 0 else known - 1):
        if moved.unit:
            left, light = j + 1, j + 1.0
        else:
            i = np.uintp(np.uint64(run[j]) & keys.object_mask)
            left += moved.count[i]
            light += moved.weight[i]
        if not cut[j]:
            continue
        for s in range(2 if n_lost > 0 else 1):
            if not enough_rows(left + n_lost if s == 0 else left, total, least):
                continue
            cost = costs[2 * s, j] + costs[2 * s + 1, j + 1]
            if cost >= lowest + 2.0 * error:
                continue
            sure = cost > -np.inf
            if least.weight > 0.0:
                here = light + lost_mass if s == 0 else light
                lighter = min(here, mass - here)
                if lighter < least.weight - error:
                    continue
                sure &= lighter >= least.weight + error
            place[n, 0], place[n, 1], place[n, 2], cost_of[n] = j, s, sure, cost
            n += 1
            if sure:
                lowest = min(lowest, cost)
    return n


@inner
def score_sums(n, shift, costs, price, scoring, scratch, out):
    """Score n sums, each greater by ``shift``, into ``out``, which may be ``costs`` itself.

    costs, out : float64[≥ n].
    price : of the test, the same for all.
    scratch : Sums; the block of sums in it is overwritten.
    """
    given = scratch.given
    given_c = scratch.given_c
    given_e = scratch.given_e
    scores = scratch.scores
    for first in range(0, n, BLOCK):
        m = min(BLOCK, n - first)
        for t in range(m):
            given[t, 0, 0], scratch.price[t] = costs[first + t] + shift, price
        prices = scratch.price[:m]
        call_batch(
            scratch.address,
            given[:m],
            given_c[:m],
            prices,
            given_e[:m],
            scoring.node,
            scores[:m],
        )
        for t in range(m):
            out[first + t] = scores[t]


@inner
def first_that_counts(n, best, scoring, scratch):
    """Return the last listed cut that beats all before it whatever was rounded, so that these do
    not matter, and the highest score that a listed one may have.

    n : listed cuts; scratch : Sums, with ``upper`` and ``lower`` scored.
    best : the score to beat, −inf without one.
    """
    start, top = np.int64(0), best
    for t in range(n):
        upper = scratch.upper[t]
        if not upper <= top:
            if scratch.place[t, 2] and scratch.lower[t] > bar_of(top, scoring.ties):
                start = np.int64(t)
            top = upper
    return start, top


@inner
def best_cut(run, known, keys, moved, whole, least, price, scoring, best, scratch):
    """Return the best cut of a run, its missing entries, which end it, once left, then right, at
    last alone: (position, side, score).

    known : entries with a value, 1 at least.
    whole : the node's table, its number of rows and its mass.
    least : :class:`arboretum.kernels.tables.Least`.
    best : the score to beat, −inf without one.
    scratch : Sums, whose ``cut`` says where there is room; the rest is overwritten.

    The position is NOTHING if none beats ``best``; the side is NO_SIDE where all have a value.  A
    score that is NaN is returned at once.
    """
    (all_w, all_c, total, mass), m = whole, len(run)
    lost, lost_mass = np.int64(0), 0.0
    for j in range(known, m):
        i = np.uintp(np.uint64(run[j]) & keys.object_mask)
        lost += 1 if moved.unit else moved.count[i]
        lost_mass += 1.0 if moved.unit else moved.weight[i]
    error = error_of(scratch.form, m, len(all_w), mass, moved.unit)
    fill_costs(scratch.form, run, known, keys, moved, error, scratch.at, scratch.costs)
    gone = lost, lost_mass
    n = list_cuts(run, known, gone, (total, mass), keys, moved, least, error, scratch)
    score_sums(n, error, scratch.upper, price, scoring, scratch, scratch.lower)
    score_sums(n, -error, scratch.upper, price, scoring, scratch, scratch.upper)
    start, top = first_that_counts(n, best, scoring, scratch)
    if n == 0 or top <= bar_of(best, scoring.ties):
        return np.int64(NOTHING), np.int64(NO_SIDE), best
    table = all_w, all_c
    return score_listed(
        start, n, run, known, keys, moved, table, least, price, scoring, best, scratch
    )


@inner
def score_listed(start, n, run, known, keys, moved, whole, least, price, scoring, best, scratch):
    """Score the tables of the cuts listed from ``start`` on that may be best; return (position,
    side, score) as :func:`best_cut` does.

    whole : weights float64[classes] and counts int64[classes] of the node.
    scratch : Sums; ``left_*``, ``lost_*``, ``weights`` and ``counts`` are overwritten.
    """
    left_w, left_c, lost_w, lost_c = scratch.left_w, scratch.left_c, scratch.lost_w, scratch.lost_c
    weights, counts, scores = scratch.weights, scratch.counts, scratch.scores
    for k in range(len(left_w)):
        left_w[k], left_c[k], lost_w[k], lost_c[k] = 0.0, 0, 0.0, 0
    for j in range(len(run) - 1, known - 1, -1):
        add_entry(run[j], keys, moved, lost_w, lost_c)
    at, side, done = np.int64(NOTHING), np.int64(NO_SIDE), np.int64(0)
    bar, prices = bar_of(best, scoring.ties), scratch.price[:1]
    prices[0] = price
    for t in range(start, n):
        if scratch.upper[t] <= bar:
            continue
        position, s = np.int64(scratch.place[t, 0]), scratch.place[t, 1]
        while done <= position:
            add_entry(run[done], keys, moved, left_w, left_c)
            done += 1
        put_table(whole, left_w, left_c, lost_w, lost_c, s == 0, weights, counts)
        if least.weight > 0.0 and not enough_weight(weights[0], False, least):
            continue
        call_batch(scoring.batch, weights, counts, prices, scratch.extra, scoring.node, scores[:1])
        if not scores[0] <= bar:
            at, side, best = position, np.int64(s if known < len(run) else NO_SIDE), scores[0]
            if best != best:
                break
            bar = bar_of(best, scoring.ties)
    return at, side, best


@inline
def add_entry(entry, keys, moved, w, c):
    """Add an entry to a row of a table, as every scan does, one object after the other.

    w : float64[classes], c : int64[classes].
    """
    k = np.uintp(np.uint64(entry) >> keys.to_class & keys.class_mask)
    i = np.uintp(np.uint64(entry) & keys.object_mask)
    c[k] += 1 if moved.unit else moved.count[i]
    w[k] = float(c[k]) if moved.unit else w[k] + moved.weight[i]


@inline
def put_table(whole, left_w, left_c, lost_w, lost_c, with_missing, weights, counts):
    """Write the table of a cut to ``weights`` and ``counts``, both [1, 2, classes]; missing rows
    are left of it if ``with_missing``.

    whole : (weights, counts) of the node.
    left_*, lost_* : of the rows left of the cut, and of those without a value.
    """
    all_w, all_c = whole
    for k in range(len(all_w)):
        w = left_w[k] + (lost_w[k] if with_missing else 0.0)
        c = left_c[k] + (lost_c[k] if with_missing else 0)
        rest = all_c[k] - c
        weights[0, 0, k], counts[0, 0, k], counts[0, 1, k] = w, c, rest
        # where no row of a class is left its weight is 0 and not 1e-17
        weights[0, 1, k] = 0.0 if rest == 0 else all_w[k] - w
