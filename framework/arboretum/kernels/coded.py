"""Tests on coded features: which ones compete at a node, their contingency tables, and the best of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.tables import BLOCK, NO_SIDE, NOTHING, ask_of, bar_of, mass_of, score_block

MULTIWAY, THRESHOLDS, EQUALS, SORTED = 0, 1, 2, 3
"""Families of features; a sorted one is a raw column with a test at every cut."""

NAN_SCORE = -2
"""In place of a position: the criterion returned NaN."""


class Counted(NamedTuple):
    """Features of a node, counted: weights float64[bins, width], counts int64[bins, count width], extra float64[bins, k].

    family, offset, has_missing, price_offset, free : by feature; the price of test t of feature f is ``prices[price_offset[f] + t]``, or 0
    where ``free`` (its column has been paid for).
    """

    weights: np.ndarray
    counts: np.ndarray
    extra: np.ndarray
    family: np.ndarray
    offset: np.ndarray
    has_missing: np.ndarray
    prices: np.ndarray
    price_offset: np.ndarray
    free: np.ndarray


@jit
def list_tests(counted, least, used, allow_constant, feature, index, side):
    """List the tests that may compete, in the order of features and indices; return their number.

    used : int64[:], tests asked before on the path, as positions in ``prices``; they matter with ``allow_constant`` only.
    feature, index : int32[room].   side : int32[room], where missing rows go (−1: there are none).
    A test competes if at least two outcomes receive rows with a known value (or ``allow_constant``) and every outcome
    that receives rows has what it must have (``least``).  Room: twice the number of tests.
    """
    weights, counts, _, family, offset, has_missing, prices, price_offset, _ = counted
    moments, min_leaf, min_weight = counts.shape[1] != weights.shape[1], least.rows, least.weight
    n = 0
    for f in range(len(family)):
        start, stop = offset[f], offset[f + 1]
        missing = np.int64(0)
        if has_missing[f]:
            stop -= 1
            missing = counts[stop].sum()
        if family[f] == MULTIWAY:
            banned = allow_constant and _contains(used, price_offset[f])
            at = NO_SIDE
            if not banned:
                at = _multiway(weights, counts, moments, start, stop, missing, min_leaf, min_weight, allow_constant)
            if at >= 0:
                feature[n], index[n], side[n] = f, 0, (at if missing > 0 else NO_SIDE)
                n += 1
            continue
        known = np.int64(0)
        for b in range(start, stop):
            for k in range(counts.shape[1]):
                known += counts[b, k]
        heavy = known_mass = lost_mass = 0.0  # weights: left of the cut, of known and of missing values
        if min_weight > 0.0:
            for b in range(start, stop):
                known_mass += mass_of(weights, b, moments)
            lost_mass = mass_of(weights, stop, moments) if missing > 0 else 0.0
        left = np.int64(0)
        last = stop - 1 if family[f] == THRESHOLDS else stop
        for b in range(start, last):
            here = np.int64(0)
            for k in range(counts.shape[1]):
                here += counts[b, k]
            left = left + here if family[f] == THRESHOLDS else here
            if min_weight > 0.0:
                mass = mass_of(weights, b, moments)
                heavy = heavy + mass if family[f] == THRESHOLDS else mass
            at = price_offset[f] + b - start
            if allow_constant:
                if _contains(used, at):
                    continue
            elif left == 0 or left == known:
                continue
            elif here == 0 and prices[at] == prices[at - 1]:
                continue  # the same division at the same price as the test before it: ties go to the lowest
            for s in range(2 if missing > 0 else 1):
                a = left + (missing if s == 0 else 0)
                c = known + missing - a
                if (0 < a < min_leaf) or (0 < c < min_leaf):
                    continue
                if min_weight > 0.0:
                    mass = heavy + (lost_mass if s == 0 else 0.0)
                    if (a > 0 and mass < min_weight) or (c > 0 and known_mass + lost_mass - mass < min_weight):
                        continue
                feature[n], index[n], side[n] = f, b - start, (s if missing > 0 else NO_SIDE)
                n += 1
    return n


@jit(inline=True)
def _contains(values, value):
    for v in values:
        if v == value:
            return True
    return False


@jit(inner=True)
def _multiway(weights, counts, moments, start, stop, missing, min_leaf, min_weight, allow_constant):
    """The heaviest outcome of a multiway test, which receives the missing rows, or −1 if it must not compete."""
    present = 0
    heaviest = -1.0
    at = 0
    for b in range(start, stop):
        if counts[b].sum() == 0:
            continue
        mass = weights[b, 0] if moments else weights[b].sum()
        if mass > heaviest:
            heaviest, at = mass, b - start
        present += 1
    if present < 2 and not allow_constant:
        return -1
    for b in range(start, stop):
        here = counts[b].sum()
        if b - start == at:
            here += missing
        if 0 < here < min_leaf:
            return -1
        if here > 0 and min_weight > 0.0:
            mass = mass_of(weights, b, moments)
            if b - start == at and missing > 0:
                mass += mass_of(weights, stop, moments)
            if mass < min_weight:
                return -1
    return at


@jit
def fill_tables(counted, feature, index, side, out_weights, out_counts, out_extra, out_price):
    """Write the contingency tables of the listed tests (``feature``, ``index``, ``side``: one entry per table).

    out_weights : float64[tests, outcomes, classes], outcomes ≥ the largest arity; out_counts, out_extra alike.
    out_price : float64[tests].
    """
    weights, counts, extra, family, offset, has_missing, prices, price_offset, free = counted
    n_outcomes, n_classes = out_weights.shape[1], weights.shape[1]
    n_counts, n_extra = counts.shape[1], extra.shape[1]
    by_class = n_counts == n_classes
    left_w, all_w = np.zeros(n_classes), np.zeros(n_classes)
    left_c, all_c = np.zeros(n_counts, np.int64), np.zeros(n_counts, np.int64)
    left_e, all_e = np.zeros(n_extra), np.zeros(n_extra)
    at_feature, at_bin = -1, 0
    for t in range(len(feature)):
        f = feature[t]
        start = offset[f]
        stop = offset[f + 1] - (1 if has_missing[f] else 0)
        out_price[t] = 0.0 if free[f] else prices[price_offset[f] + index[t]]
        if family[f] == MULTIWAY:
            bins = min(n_outcomes, stop - start)
            for o in range(bins):
                for k in range(n_classes):
                    out_weights[t, o, k] = weights[start + o, k]
                for k in range(n_counts):
                    out_counts[t, o, k] = counts[start + o, k]
                for k in range(n_extra):
                    out_extra[t, o, k] = extra[start + o, k]
            _clear_outcomes(out_weights, out_counts, out_extra, t, bins)
        else:
            if f != at_feature:
                at_feature, at_bin = f, start
                left_w[:] = 0.0
                left_c[:] = 0
                left_e[:] = 0.0
                for k in range(n_classes):
                    all_w[k] = 0.0
                    for b in range(start, stop):
                        all_w[k] += weights[b, k]
                for k in range(n_counts):
                    all_c[k] = 0
                    for b in range(start, stop):
                        all_c[k] += counts[b, k]
                for k in range(n_extra):
                    all_e[k] = 0.0
                    for b in range(start, stop):
                        all_e[k] += extra[b, k]
            if family[f] == EQUALS:
                left_w[:] = 0.0
                left_c[:] = 0
                left_e[:] = 0.0
                at_bin = start + index[t]
            if by_class and n_extra == 0 and n_outcomes == 2:
                # the common case in one loop: with two or three classes the loops cost more than what they do
                while at_bin < start + index[t]:
                    for k in range(n_classes):
                        left_w[k] += weights[at_bin, k]
                        left_c[k] += counts[at_bin, k]
                    at_bin += 1
                for k in range(n_classes):
                    w, c = left_w[k], left_c[k]
                    if at_bin == start + index[t]:
                        w, c = w + weights[at_bin, k], c + counts[at_bin, k]
                    left_w[k], left_c[k] = w, c
                    c_rest = all_c[k] - c
                    out_weights[t, 0, k], out_counts[t, 0, k] = w, c
                    out_weights[t, 1, k], out_counts[t, 1, k] = all_w[k] - w if c_rest > 0 else 0.0, c_rest
                at_bin = max(at_bin, start + index[t] + 1)
                s = side[t]
                if s >= 0:
                    for k in range(n_classes):
                        out_weights[t, s, k] += weights[stop, k]
                        out_counts[t, s, k] += counts[stop, k]
                continue
            while at_bin <= start + index[t]:
                for k in range(n_classes):
                    left_w[k] += weights[at_bin, k]
                for k in range(n_counts):
                    left_c[k] += counts[at_bin, k]
                for k in range(n_extra):
                    left_e[k] += extra[at_bin, k]
                at_bin += 1
            # where no row is left the difference is set to 0, so that rounding cannot leave 1e-17 of a class behind
            rest = np.int64(0)
            for k in range(n_counts):
                c = all_c[k] - left_c[k]
                out_counts[t, 0, k], out_counts[t, 1, k] = left_c[k], c
                rest += c
            for k in range(n_classes):
                gone = out_counts[t, 1, k] == 0 if by_class else rest == 0
                out_weights[t, 0, k] = left_w[k]
                out_weights[t, 1, k] = 0.0 if gone else all_w[k] - left_w[k]
            for k in range(n_extra):
                out_extra[t, 0, k] = left_e[k]
                out_extra[t, 1, k] = 0.0 if rest == 0 else all_e[k] - left_e[k]
            if n_outcomes > 2:
                _clear_outcomes(out_weights, out_counts, out_extra, t, 2)
        s = side[t]
        if s >= 0:
            for k in range(n_classes):
                out_weights[t, s, k] += weights[stop, k]
            for k in range(n_counts):
                out_counts[t, s, k] += counts[stop, k]
            for k in range(n_extra):
                out_extra[t, s, k] += extra[stop, k]


@jit(inner=True)
def _clear_outcomes(weights, counts, extra, t, first):
    for o in range(first, weights.shape[1]):
        for k in range(weights.shape[2]):
            weights[t, o, k] = 0.0
        for k in range(counts.shape[2]):
            counts[t, o, k] = 0
        for k in range(extra.shape[2]):
            extra[t, o, k] = 0.0


@jit
def best_test(counted, feature, index, side, arity, scorer):
    """Score the listed tests through a function pointer; return (position of the best, its score).   arity : int32[tests]."""
    ask = ask_of(scorer)
    n_classes, n_counts, n_extra = counted.weights.shape[1], counted.counts.shape[1], counted.extra.shape[1]
    n = len(feature)
    best, best_score = NOTHING, -np.inf
    room = 2 * BLOCK
    for t in range(n):
        room = max(room, arity[t])
    block_w = np.empty(room * n_classes)
    block_c = np.empty(room * n_counts, np.int64)
    block_e = np.empty(room * n_extra)
    block_p = np.empty(BLOCK)
    scores = np.empty(BLOCK)
    t = 0
    while t < n:
        a = arity[t]
        most = min(BLOCK, room // a)
        stop = t + 1
        while stop < n and stop - t < most and arity[stop] == a:
            stop += 1
        m = stop - t
        w = block_w[: m * a * n_classes].reshape(m, a, n_classes)
        c = block_c[: m * a * n_counts].reshape(m, a, n_counts)
        e = block_e[: m * a * n_extra].reshape(m, a, n_extra)
        fill_tables(counted, feature[t:stop], index[t:stop], side[t:stop], w, c, e, block_p)
        score_block(m, w, c, block_p, e, ask, scores)
        for j in range(m):
            s = scores[j]
            if s != s:
                return NAN_SCORE, np.float64(t + j)
            if s > bar_of(best_score, ask.ties):
                best, best_score = t + j, s
        t = stop
    return best, best_score


@jit
def outcomes_of(codes, row_stride, base, rows, family, index, n_bins, side, out):
    """Outcome of each row under a test; rows in the missing bin (code ``n_bins``) follow ``side``."""
    down, start = np.uintp(row_stride), np.uintp(base)
    for j in range(len(rows)):
        code = np.int64(codes[start + np.uintp(rows[j]) * down])
        if family == MULTIWAY:
            outcome = code
        elif family == THRESHOLDS:
            outcome = np.int64(code > index)
        else:
            outcome = np.int64(code != index)
        out[j] = side if code >= n_bins else outcome
