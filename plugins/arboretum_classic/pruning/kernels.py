"""Error-based pruning with subtree raising, compiled; compiled at first use.
``tests/slow_raising.py`` is the slow, obvious twin.

The rows of a node are *entries* (row, share)::

    push the root with all rows
    while a node is on the stack, the last one next:
        if it is entered for the first time:
            a leaf: errors ← e(its class weights), and pop it
            divide its entries by its test; errors ← e(those that rest here, as the node's class)
            push its branches, each with its entries
        else, as its branches are pruned, pop it:
            errors ← errors + those of the branches
            as_leaf ← e(its class weights)
            as_branch ← errors of its largest branch, were all entries of the node sent down there
                (if that is a leaf: as_leaf)
            if as_leaf is no more than both others, up to the margin: it becomes a leaf
            else if as_branch is no more than errors, up to the margin:
                it takes over the branch's test, and is pushed and entered anew

e(weights) = E + extra_errors(N, E), where E of the weight N is not of the class that is predicted,
the heaviest if none is said; the upper limit of a binomial's rate, of confidence CF, adds the rest.

Invariants:

- A node's entries are one segment of the buffers.  Its test orders them by outcome in place, unless
  a missing value splits an entry: then those of the branches are written from ``top`` on, behind
  all segments that are still in use.  The buffers are made longer before entries are written.
- ``nodes.low``, ``high`` and ``known`` go by branch of the tree as grown, and are written whenever
  its test is asked.  ``goes`` holds for the entries that were asked last.
- ``origin`` is the node whose test is asked, −1 at a leaf.  ``child`` is −1 where an outcome has no
  branch; of a raised subtree such an outcome becomes a leaf when entries have it.
- Of a node whose rows are those of the tree ``weights`` are the tree's; where ``moved`` they are
  added up anew.  When its branches are pruned, ``errors`` is of its subtree as it is then.
"""

import math
from typing import NamedTuple

import numpy as np

from arboretum.api import MISSING_SPLITS, MISSING_STOPS
from arboretum.kernels.jit import inline, inner, jit

SMALL = 1e-6  # what two weights may differ by and still count as equal, as in Weka


class Limit(NamedTuple):
    """The upper limit of an error rate.

    confidence : CF.
    z : standard errors of the normal approximation.
    tail : what of the rows without error is added where hardly any is.
    exact : the binomial's own limit instead.
    """

    confidence: float
    z: float
    tail: float
    exact: bool


class Tests(NamedTuple):
    """The rules of a tree as tables.

    column : int64[rules], row of ``numbers`` or ``codes``.
    edges : of rule r those from ``edge_start[r]`` on, rising; the number of them below a value is
        its bin.
    outcome : of rule r from ``start[r]`` on, by bin or code, last the one of a missing value.
    coded : bool[rules].
    numbers : float64[rows, ·].
    codes : int32[rows, ·], negative: missing or never seen.
    """

    coded: np.ndarray
    column: np.ndarray
    edge_start: np.ndarray
    edges: np.ndarray
    start: np.ndarray
    outcome: np.ndarray
    numbers: np.ndarray
    codes: np.ndarray


class Shape(NamedTuple):
    """The nodes of a tree as grown: arrays of :class:`~arboretum.model.tree.Tree`, and
    its surrogates by node.

    to : what the outcomes of surrogate s stand for, from ``to_start[s]`` on.
    """

    test: np.ndarray
    first: np.ndarray
    child: np.ndarray
    missing: np.ndarray
    surrogate_start: np.ndarray
    surrogate: np.ndarray
    to_start: np.ndarray
    to: np.ndarray


class Nodes(NamedTuple):
    """What pruning knows of each node; nodes that raising makes for outcomes without a branch come
    behind those of the tree.

    origin : int64[nodes], the node of the tree whose test it asks, −1: a leaf.
    weights : float64[nodes, classes].
    rows, errors : float64[nodes], training rows, estimated errors of its subtree.
    size : int64[nodes], entries.
    split, deep : a missing value splits an entry at the node; at it or below.
    moved : its rows are others than in the tree.
    low, high, known : int64, int64, float64[edges], a branch's entries, and the weight of those
        whose outcome is known.
    """

    origin: np.ndarray
    weights: np.ndarray
    rows: np.ndarray
    errors: np.ndarray
    size: np.ndarray
    split: np.ndarray
    deep: np.ndarray
    moved: np.ndarray
    low: np.ndarray
    high: np.ndarray
    known: np.ndarray


@inner
def _binomial_at_most(n, e, p):
    """Return P(X ≤ e) for a binomial X of n trials, both real: the incomplete beta function I(1 −
    p; n − e, e + 1), by its continued fraction.

    Abramowitz & Stegun 1964, 26.5.8, evaluated by Lentz's method; of the two tails the one whose
    fraction converges fast.
    """
    a, b, x, y = n - e, e + 1.0, 1.0 - p, p
    swapped = x > (a + 1.0) / (a + b + 2.0)
    if swapped:
        a, b, x, y = b, a, y, x
    fraction, c, d = 1.0, 1.0, 0.0
    for j in range(1, 10_000):
        m = j // 2
        odd = -(a + m) * (a + b + m) / (a + 2 * m + 1.0)
        term = x / (a + 2 * m) * (odd if j % 2 else m * (b - m) / (a + 2 * m - 1.0))
        d = 1.0 / (1.0 + term * d)
        c = 1.0 + term / c
        fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    tail = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(y)
    ) / (a * fraction)
    return 1.0 - tail if swapped else tail


@inner
def extra_errors(n, e, limit):
    """Return how many errors more than the e among n rows are to be expected of later ones, at the
    confidence of ``limit``, a Limit.
    """
    if n <= SMALL or (limit.exact and e >= n):
        return 0.0
    if limit.exact:
        low, high = e / n, 1.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            if _binomial_at_most(n, e, middle) > limit.confidence:
                low = middle
            else:
                high = middle
        return n * 0.5 * (low + high) - e
    if e < 1.0:
        none = n * (1.0 - limit.confidence ** (1.0 / n))
        return none if e == 0.0 else none + e * (_by_normal(n, 1.0, limit) - none)
    return _by_normal(n, e, limit)


@inner
def _by_normal(n, e, limit):
    """Return the errors more than e, one at least, by the normal approximation with continuity
    correction.

    limit : Limit, whose ``z`` is the quantile.
    """
    if e + 0.5 >= n:
        return limit.tail * max(n - e, 0.0)
    square, seen = limit.z * limit.z, e + 0.5
    return (seen + square / 2.0 + limit.z * math.sqrt(seen * (1.0 - seen / n) + square / 4.0)) / (
        1.0 + square / n
    ) - e


@inline
def _outcome_of_row(rule, row, tests):
    """Return the outcome of a row under a rule, −1 for none.

    rule : its number in ``tests``, Tests; row : in the training rows.
    """
    first, last = tests.start[rule], tests.start[rule + 1] - 1
    if tests.coded[rule]:
        code = tests.codes[row, tests.column[rule]]
        return tests.outcome[first + code] if code >= 0 else tests.outcome[last]
    value = tests.numbers[row, tests.column[rule]]
    if value != value:
        return tests.outcome[last]
    low, high = tests.edge_start[rule], tests.edge_start[rule + 1]
    first -= low
    while low < high:  # edges before low are below the value, those from high on are not
        middle = (low + high) // 2
        if tests.edges[middle] < value:
            low = middle + 1
        else:
            high = middle
    return tests.outcome[first + low]


@inner
def _write_outcomes(node, low, high, entries, weight, tests, shape, nodes):
    """Write where the entries low … high go at a node of the tree as grown: outcomes of its test or
    of its surrogates, else what becomes of missing values; add up the branches.  Returns how
    many are split.

    entries : (row, share, outcome) of each; the outcomes are written.
    weight : float64[rows].
    nodes : Nodes, whose ``known`` receives what the node's branches weigh, ``high`` how many
        entries.
    """
    who, share, goes = entries
    first, rule, lost = shape.first[node], shape.test[node], 0
    for i in range(low, high):
        row = who[i]
        found = _outcome_of_row(rule, row, tests)
        if found < 0:
            for one in range(shape.surrogate_start[node], shape.surrogate_start[node + 1]):
                known = _outcome_of_row(shape.surrogate[one], row, tests)
                if found < 0 and known >= 0:
                    found = shape.to[shape.to_start[one] + known]
            if found < 0:
                found = shape.missing[node]
        goes[i] = found
        if found >= 0:
            nodes.known[first + found] += share[i] * weight[row]
            nodes.high[first + found] += 1
        lost += found == MISSING_SPLITS
    return lost


@inner
def _order_by_outcome(node, low, high, top, lost, entries, shape, nodes):
    """Order asked entries by outcome, behind ``top``; back to where they were, if none is split.

    low, high : where they lie; lost : how many are split.
    nodes : ``low`` and ``high`` receive where each branch's entries lie.

    Returns whether one is split, and from where to where lie those that rest at the node.
    """
    who, share, goes = entries
    first, last = shape.first[node], shape.first[node + 1]
    total, heavy, at = 0.0, 0, top
    for edge in range(first, last):
        total += nodes.known[edge]
        heavy += nodes.known[edge] > 0.0
        nodes.low[edge] = at
        at += nodes.high[edge] + (lost if nodes.known[edge] > 0.0 else 0)
        nodes.high[edge] = nodes.low[edge]
    rest = end = at
    for i in range(low, high):
        to = goes[i]
        if to >= 0:
            place = nodes.high[first + to]
            nodes.high[first + to] = place + 1
            who[place], share[place] = who[i], share[i]
        elif to == MISSING_STOPS or heavy == 0:
            who[end], share[end] = who[i], share[i]
            end += 1
        else:
            for edge in range(first, last):
                if nodes.known[edge] > 0.0:
                    place = nodes.high[edge]
                    nodes.high[edge] = place + 1
                    who[place], share[place] = who[i], share[i] * (nodes.known[edge] / total)
    split = lost > 0 and heavy > 1
    if not split:  # as many as before
        for i in range(top, end):
            who[low + i - top], share[low + i - top] = who[i], share[i]
        for edge in range(first, last):
            nodes.low[edge] -= top - low
            nodes.high[edge] -= top - low
        rest, end = rest - (top - low), high
    return split, rest, end


@jit(inner=True)
def _split_rows(node, low, high, top, weight, tests, shape, nodes, entries):
    """Order the entries low … high by the outcomes at ``node`` of the tree as grown; those that
    rest there come last.

    top : where the buffers are free.
    weight : float64[rows].
    nodes : ``known`` of the node's branches holds what they weigh already, and is added to; ``low``
        and ``high`` receive where their entries lie.

    Returns the buffers (they may have grown), whether an entry was split, and from where to where
    entries rest.
    """
    first, last = shape.first[node], shape.first[node + 1]
    nodes.high[first:last] = 0  # entries of each branch
    lost = _write_outcomes(node, low, high, entries, weight, tests, shape, nodes)
    entries = _enlarge_buffers(top + high - low + lost * max(last - first - 1, 0), entries)
    split, rest, end = _order_by_outcome(node, low, high, top, lost, entries, shape, nodes)
    return entries, split, rest, end


@jit(inner=True)
def _enlarge_buffers(need, entries):
    """Return the buffers (row, share, outcome), twice as long as ``need`` where they hold less than
    so many entries.
    """
    if need <= len(entries[0]):
        return entries
    longer = np.empty(2 * need, np.int64), np.empty(2 * need), np.empty(2 * need, np.int64)
    for i in range(len(entries[0])):
        longer[0][i], longer[1][i], longer[2][i] = entries[0][i], entries[1][i], entries[2][i]
    return longer


@inner
def _add(low, high, entries, label, weight, found):
    """Add the class weights of entries to ``found``."""
    who, share, _ = entries
    for i in range(low, high):
        found[label[who[i]]] += share[i] * weight[who[i]]


@inner
def _estimate_errors(weights, label, limit):
    """Return the errors to be expected where a class (−1: the heaviest) is predicted for these
    class weights.

    weights : float64[classes].
    limit : Limit, the confidence.
    """
    total, right = 0.0, 0.0
    for k in range(len(weights)):
        total += weights[k]
        right = max(right, weights[k]) if label < 0 else right
    errors = total - (right if label < 0 else weights[label])
    return errors + extra_errors(total, errors, limit) if total > SMALL else 0.0


@jit
def estimates(weights, label, limit):
    """Return float64[n]: errors to be expected of each row of class weights.

    weights : float64[n, classes].
    label : int32[n], the class predicted, −1 for the heaviest.
    limit : Limit, the confidence.
    """
    found = np.empty(len(weights))
    for v in range(len(weights)):
        found[v] = _estimate_errors(weights[v], label[v], limit)
    return found


@jit(inner=True)
def _branch_errors(
    branch, span, whole, most, label, weight, tests, shape, nodes, child, limit, entries
):
    """Return the errors to be expected were a node's entries sent down one of its branches,
    infinity where more than ``most`` are sure; and the buffers, which may have grown.

    span : from where to where the entries lie, the last ones in the buffers; of these only such as
        are not in the branch, unless it is to be counted anew (``whole``: a missing value splits an
        entry of the node or below).
    label, weight, tests, shape, limit : as in :func:`prune_and_raise`.
    child : int64[edges], as pruned so far.
    entries : the buffers; what lies behind span is overwritten.
    """
    own, width = 0.0 if whole else 1.0, nodes.weights.shape[1]
    stack, waiting, total = np.empty((len(nodes.origin), 3), np.int64), 1, 0.0
    stack[0] = branch, span[0], span[1]
    while waiting > 0 and total <= most:
        waiting -= 1
        node, low, high = stack[waiting]  # all segments that wait lie before this one
        if low == high and not whole:
            total += nodes.errors[node]
            continue
        here = own * nodes.weights[node]
        _add(low, high, entries, label, weight, here)
        asked = nodes.origin[node]
        if asked < 0:
            total += _estimate_errors(here, -1, limit)
            continue
        first, last = shape.first[asked], shape.first[asked + 1]
        resting = own * nodes.weights[node]
        for edge in range(first, last):
            nodes.known[edge] = own * nodes.weights[child[edge]].sum() if child[edge] >= 0 else 0.0
            if child[edge] >= 0:
                resting -= own * nodes.weights[child[edge]]
        entries, _, rest, end = _split_rows(
            asked, low, high, high, weight, tests, shape, nodes, entries
        )
        _add(rest, end, entries, label, weight, resting)
        total += _estimate_errors(resting, here.argmax(), limit)
        for edge in range(first, last):
            if child[edge] >= 0:
                stack[waiting] = child[edge], nodes.low[edge], nodes.high[edge]
                waiting += 1
            elif nodes.high[edge] > nodes.low[edge]:  # an outcome that no row had becomes a leaf
                alone = np.zeros(width)
                _add(nodes.low[edge], nodes.high[edge], entries, label, weight, alone)
                total += _estimate_errors(alone, -1, limit)
    return total if waiting == 0 else np.inf, entries


@jit
def prune_and_raise(label, weight, tests, shape, nodes, child, limit, margin):
    """Prune bottom up: a subtree becomes a leaf, or its largest branch, where that is expected to
    err as little.

    label, weight : int32, float64[rows].
    tests, shape, limit : Tests, Shape, Limit.
    nodes : ``origin`` and ``weights`` as grown, ``split`` where it can be, the rest zeros, with
        room for a leaf per branch more.
    child : int64[edges], changed.
    margin : errors by which leaf or branch may be worse.

    Returns the number of nodes in use.
    """
    n_nodes, n = len(shape.test), len(weight)
    entries = (np.arange(n), np.ones(n), np.empty(n, np.int64))
    bound = margin + SMALL
    # node, its entries: from, to, where the buffers are free, whether rows are others than in the
    # tree: 0 no, 1 below the node, 2 there, too; and whether the node's entries are those of before
    # and perhaps more
    stack, waiting = np.empty((len(nodes.origin), 6), np.int64), 1
    stack[0] = 0, 0, n, n, 0, 0
    entered = np.zeros(len(nodes.origin), np.bool_)
    while waiting > 0:
        node, low, high, top, moved, kept = stack[waiting - 1]
        asked = nodes.origin[node]
        first, last = (shape.first[asked], shape.first[asked + 1]) if asked >= 0 else (0, 0)
        if not entered[node]:
            entered[node] = True
            nodes.size[node] = high - low
            if moved == 2:
                nodes.weights[node, :] = 0.0
                nodes.rows[node] = entries[1][low:high].sum()
                nodes.moved[node] = True
                _add(low, high, entries, label, weight, nodes.weights[node])
            if asked < 0:
                nodes.errors[node] = _estimate_errors(nodes.weights[node], -1, limit)
                waiting -= 1
                continue
            resting = np.zeros(nodes.weights.shape[1])
            # what the leaves weigh is known: no rows are sent
            if moved == 0 and (nodes.origin[shape.child[first:last]] < 0).all():
                resting += nodes.weights[node]
                for one in child[first:last]:
                    if one >= 0:
                        nodes.errors[one] = _estimate_errors(nodes.weights[one], -1, limit)
                        nodes.size[one] = -1
                        resting -= nodes.weights[one]
                nodes.errors[node] = _estimate_errors(resting, nodes.weights[node].argmax(), limit)
                nodes.deep[node] = nodes.split[node]
                continue
            nodes.known[first:last] = 0.0
            entries, split, rest, end = _split_rows(
                asked, low, high, top, weight, tests, shape, nodes, entries
            )
            kept = 0 if split or nodes.split[node] else kept
            nodes.split[node] = nodes.deep[node] = split
            _add(rest, end, entries, label, weight, resting)
            top = end if split else top
            for edge in range(first, last):
                size = nodes.high[edge] - nodes.low[edge]
                # an outcome that no row had becomes a leaf
                if child[edge] < 0 and size > 0 and moved > 0:
                    child[edge], n_nodes = n_nodes, n_nodes + 1
                if child[edge] < 0:
                    _add(nodes.low[edge], nodes.high[edge], entries, label, weight, resting)
                elif not (kept and size == nodes.size[child[edge]]):
                    entered[child[edge]] = False
                    stack[waiting] = (
                        child[edge],
                        nodes.low[edge],
                        nodes.high[edge],
                        top,
                        2 * (moved > 0),
                        kept,
                    )
                    waiting += 1
            nodes.errors[node] = _estimate_errors(resting, nodes.weights[node].argmax(), limit)
            continue
        waiting -= 1  # all branches are pruned
        largest, most, inside = -1, 0.0, 0
        for edge in range(first, last):
            if child[edge] >= 0:
                nodes.errors[node] += nodes.errors[child[edge]]
                nodes.deep[node] |= nodes.deep[child[edge]]
                mass = nodes.weights[child[edge]].sum()
                if mass > most - SMALL:  # the last of equals
                    largest, most, inside = child[edge], mass, edge
        as_leaf = as_branch = _estimate_errors(nodes.weights[node], -1, limit)
        if largest >= 0 and nodes.origin[largest] >= 0:
            ceiling = nodes.errors[node] + bound
            # with more errors the branch is not chosen
            ceiling = as_leaf - bound if as_leaf <= ceiling else ceiling
            whole = nodes.split[node] or nodes.deep[largest]
            skip, until = (high, high) if whole else (nodes.low[inside], nodes.high[inside])
            entries, end = _copy_entries(low, high, skip, until, top, entries)
            as_branch, entries = _branch_errors(
                largest,
                (top, end),
                whole,
                ceiling,
                label,
                weight,
                tests,
                shape,
                nodes,
                child,
                limit,
                entries,
            )
        if as_leaf <= nodes.errors[node] + bound and as_leaf <= as_branch + bound:
            nodes.origin[node] = -1
            nodes.errors[node] = as_leaf
            nodes.split[node] = False
            nodes.deep[node] = False
        elif as_branch <= nodes.errors[node] + bound:
            nodes.origin[node] = nodes.origin[largest]
            nodes.split[node] |= nodes.split[largest]
            entered[node] = False
            stack[waiting] = node, low, high, top, max(moved, 1), 1
            waiting += 1
    return n_nodes


@jit(inner=True)
def _copy_entries(low, high, skip, until, top, entries):
    """Copy the entries low … high but skip … until to the buffers from ``top`` on; return the
    buffers (they may have grown) and the end of the copy.
    """
    entries = _enlarge_buffers(top + high - low, entries)
    end = top
    for i in range(low, high):
        if i < skip or i >= until:
            entries[0][end], entries[1][end] = entries[0][i], entries[1][i]
            end += 1
    return entries, end
