"""Significance of one table, compiled; ``least_p`` in ``tests/test_chi2.py`` is the NumPy and
SciPy twin::

    e_vk ← (rows of outcome v) · (rows of class k) / rows
    χ² ← Σ (n_vk − e_vk)² / e_vk, over the cells with e_vk > 0
        (Yates: |n − e| less ½, with one degree of freedom)
    p ← Q(degrees / 2, χ² / 2), degrees = (outcomes with rows − 1) · (classes with rows − 1)
        (exact, if some e_vk < FEW: Fisher's test, unless there are too many tables)
    significance = α / p

Invariants: weights times ``rows`` are numbers of rows; Fisher's test rounds them to whole ones.
While :func:`fisher` lists tables, ``left`` is what the rows of the table still need, and ``cell``
holds the choices so far: the cells before ``at`` fit the margins.
"""

import math

import numpy as np

from arboretum.kernels import baked, criterion_kernel, kernel_part

PLAIN, YATES, EXACT = range(3)
SMALL = PLAIN
FEW = 5.0  # expected rows of a cell below which χ² is a poor approximation (Cochran 1954)
MOST = 1 << 16  # tables with the same margins up to which the exact test lists them
# relative: tables whose probabilities differ by less are equally probable, as in R's fisher.test
CLOSE = 1e-7
LOG_FACTORIALS = np.array([math.lgamma(k + 1.0) for k in range(1024)])
SURE = 1e300  # in place of ∞, which a score may not be
ROUNDING = 1e-9
"""Relative; α is meant up to it.  p of Fisher's test can be α itself (1/20), and forms that add up
in another order must decide as one.  χ² of n cells is wrong by some n ε of itself (ε = 2⁻⁵²), p by
χ²/2 times as much: below 1e-12 where p is not below 1e-100.
"""


@criterion_kernel
def significance(weights, counts, price, extra, node):
    """Return α/p of a test, which is significant from 1 on.

    counts : the rows that the weights stand for; all 0: weights are rows.
    """
    rows, mass = 0, 0.0
    for v in range(weights.shape[0]):
        mass += weight_of_outcome(weights, v)
        for k in range(weights.shape[1]):
            rows += counts[v, k]
    p = p_value(weights, rows / mass if rows > 0 else 1.0, SMALL)
    enough = node.params[0] * (1.0 + ROUNDING)
    return SURE if p * SURE <= enough else enough / p


@kernel_part
def weight_of_outcome(weights, v):
    """Return the weight of outcome ``v`` of a table: float64[outcomes, classes], over all
    classes.
    """
    total = 0.0
    for k in range(weights.shape[1]):
        total += weights[v, k]
    return total


@kernel_part
def weight_of_class(weights, k):
    """Return the weight of class ``k`` of a table: float64[outcomes, classes], over all
    outcomes.
    """
    total = 0.0
    for v in range(weights.shape[0]):
        total += weights[v, k]
    return total


@kernel_part
def p_value(weights, rows, small):
    """p of a table; 1 where one row or column is not empty.

    weights : float64[outcomes, classes].
    rows : that a weight of 1 stands for.
    """
    total, outcomes, classes, statistic, least = 0.0, 0, 0, 0.0, math.inf
    for v in range(weights.shape[0]):
        outcomes += weight_of_outcome(weights, v) > 0.0
        total += weight_of_outcome(weights, v)
    for k in range(weights.shape[1]):
        classes += weight_of_class(weights, k) > 0.0
    degrees = (outcomes - 1) * (classes - 1)
    if degrees <= 0:
        return 1.0
    for v in range(weights.shape[0]):
        share = weight_of_outcome(weights, v) * rows / total
        for k in range(weights.shape[1]):
            expected = share * weight_of_class(weights, k)
            if expected > 0.0:
                apart = abs(weights[v, k] * rows - expected)
                if small == YATES and degrees == 1:
                    apart = max(apart - 0.5, 0.0)
                statistic += apart * apart / expected
                least = min(least, expected)
    if small == EXACT and least < FEW:
        p = fisher_of_four(weights, rows) if weights.size == 4 else fisher(weights, rows)
        if p == p:
            return p
    return chi2_tail(degrees, statistic)


@kernel_part
def chi2_tail(degrees, statistic):
    """Return how probable a χ² of so many degrees of freedom is above ``statistic``: Q(degrees/2,
    χ²/2) of the incomplete gamma function, a finite sum for whole degrees (Abramowitz & Stegun
    26.4.4 and 26.4.5), of positive terms.
    """
    half, a = statistic / 2.0, 0.5 * (degrees % 2)
    if half <= 0.0:
        return 1.0
    tail = math.erfc(math.sqrt(half)) if degrees % 2 else 0.0
    while a < degrees / 2.0:
        tail += math.exp(a * math.log(half) - half - math.lgamma(a + 1.0))
        a += 1.0
    return min(tail, 1.0)


@kernel_part
def log_factorial(k):
    """Natural logarithm of k! for a whole number k ≥ 0, int or float; looked up below 1024."""
    return LOG_FACTORIALS[int(k)] if k < len(LOG_FACTORIALS) else math.lgamma(k + 1.0)


@kernel_part
def fisher_of_four(weights, rows):
    """Return p as :func:`fisher` does, of two by two, without its memory: from the table itself to
    those of a larger, then of a smaller first cell; NaN where they are MOST or more.

    weights : float64[2, 2]; times ``rows`` they are counts.
    """
    a, b = np.rint(weights[0, 0] * rows), np.rint(weights[0, 1] * rows)
    c, d = np.rint(weights[1, 0] * rows), np.rint(weights[1, 1] * rows)
    part, whole = 1.0, 1.0
    for _ in range(2 if min(a, d) + min(b, c) < MOST else 0):
        e, f, g, h, probability = a, b, c, d, 1.0
        while f > 0.0 and g > 0.0:
            probability *= f * g / ((e + 1.0) * (h + 1.0))
            e, f, g, h = e + 1.0, f - 1.0, g - 1.0, h + 1.0
            whole += probability
            part += probability if probability <= 1.0 + CLOSE else 0.0
        a, b, c, d = b, a, d, c
    return part / whole if min(a, d) + min(b, c) < MOST else np.nan


@kernel_part
def fisher(weights, rows):
    """Return p of Fisher's exact test, of Freeman and Halton for more than two by two: how probable
    are the tables of the same margins that are no more probable; NaN where they are more than
    MOST.

    weights : float64[outcomes, classes]; times ``rows`` they are counts, up to rounding.

    They are listed cell by cell, column by column; the last column has the rest.  Of each cell: how
    many of its column are left to it and to those below, how many it has, and −Σ log cell! before
    it.
    """
    outcomes, free = weights.shape[0], weights.shape[0] * (weights.shape[1] - 1)
    left = np.zeros(outcomes)
    need = np.empty(free + 1)
    cell = np.empty(free + 1)
    logs = np.zeros(free + 1)
    own, part, whole, n, at, fresh = 0.0, 0.0, 0.0, 0, 0, True
    for v in range(outcomes):
        for k in range(weights.shape[1]):
            here = np.rint(weights[v, k] * rows)
            left[v] += here
            own -= log_factorial(here)
    while at >= 0:
        if at == free:
            found = logs[at] - own
            for v in range(outcomes):
                found -= log_factorial(left[v])
            found, n, at, fresh = math.exp(found), n + 1, at - 1, False
            whole += found
            part += found if found <= 1.0 + CLOSE else 0.0
            if n > MOST:
                return np.nan
            continue
        v = at % outcomes
        if fresh:
            need[at] = need[at - 1] - cell[at - 1]
            if v == 0:
                need[at] = np.rint(weights[:, at // outcomes] * rows).sum()
            cell[at] = max(need[at] - left[v + 1 :].sum(), 0.0)
            left[v] -= cell[at]
        else:
            cell[at] += 1.0
            left[v] -= 1.0
        fresh = left[v] >= 0.0 and cell[at] <= need[at]
        if fresh:
            logs[at + 1], at = logs[at] - log_factorial(cell[at]), at + 1
        else:
            left[v] += cell[at]
            at -= 1
    return part / whole


SIGNIFICANCE = {
    "plain": significance,
    "yates": baked(significance, "significance_yates", SMALL=YATES),
    "exact": baked(significance, "significance_exact", SMALL=EXACT),
}
