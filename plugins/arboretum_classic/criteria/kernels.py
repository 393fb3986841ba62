"""Scalar kernels; compiled at first use.  The same names in ``reference.py`` are the slow, obvious
twins::

    impurities h: Gini's index 1 − Σ p_k², entropy −Σ p_k log2 p_k, 1 − max p_k, variance
    reduction(test) = (m h(S) − Σ_v m_v h(S_v)) / total mass;  of a total impurity h(S) − Σ_v h(S_v)
    gain ratio(test) = (H(S) − Σ_v m_v/m H(S_v)) / H(m_1/m, …), −∞ where that is divided by 0
    prefix kernels: out[i] = Σ w y log(y / mean), or Σ w |y − median|, of the objects 0 … i

Sums are written out here or in ``arboretum.kernels.impurity_sums``: a kernel must not allocate,
prefix kernels apart.

Invariants: ``weights[o]`` are the class weights of outcome o, or its moments (Σw, Σwy, Σwy²); an
outcome without weight adds nothing.  Variances and deviations that rounding could make negative are
cut at 0.  In ``absolute_deviations`` the trees hold the objects so far by rank, from 1 on.
"""

import math

import numpy as np

from arboretum.kernels import baked, criterion_kernel, impurity_kernel, prefix_kernel
from arboretum.kernels.impurity_sums import entropy_after, gini_after


@impurity_kernel
def gini(weights):
    """Return 1 − Σ p_k², 0 without weight.   weights : float64[classes]."""
    mass = 0.0
    squares = 0.0
    for w in weights:
        mass += w
        squares += w * w
    return 1.0 - squares / (mass * mass) if mass > 0.0 else 0.0


@impurity_kernel
def entropy(weights):
    """Return −Σ p_k log2 p_k, in bits, 0 without weight.   weights : float64[classes]."""
    mass = 0.0
    for w in weights:
        mass += w
    bits = 0.0
    for w in weights:
        if w > 0.0:
            p = w / mass
            bits -= p * math.log2(p)
    return bits


@impurity_kernel
def misclassification(weights):
    """Return 1 − max p_k, 0 without weight.   weights : float64[classes]."""
    mass = 0.0
    top = 0.0
    for w in weights:
        mass += w
        top = max(top, w)
    return 1.0 - top / mass if mass > 0.0 else 0.0


@impurity_kernel
def variance(weights):
    """Return Σwy²/Σw − (Σwy/Σw)², 0 without weight.   weights : moments (Σw, Σwy, Σwy²)."""
    w = weights[0]
    if w <= 0.0:
        return 0.0
    mean = weights[1] / w
    return max(weights[2] / w - mean * mean, 0.0)


@criterion_kernel(by_sums=True)
def reduction_gini(weights, counts, price, extra, node):
    """Return the impurity reduction with gini."""
    return (node.mass * node.impurity - gini_after(weights)) / node.total_mass


@criterion_kernel(by_sums=True)
def reduction_entropy(weights, counts, price, extra, node):
    """Return the impurity reduction with entropy."""
    return (node.mass * node.impurity - entropy_after(weights)) / node.total_mass


@criterion_kernel
def reduction_misclassification(weights, counts, price, extra, node):
    """Return the impurity reduction with misclassification: mass × impurity of an outcome is m −
    max w_k.
    """
    after = 0.0
    for o in range(weights.shape[0]):
        mass = 0.0
        top = 0.0
        for k in range(weights.shape[1]):
            mass += weights[o, k]
            top = max(top, weights[o, k])
        after += mass - top
    return (node.mass * node.impurity - after) / node.total_mass


@criterion_kernel
def reduction_variance(weights, counts, price, extra, node):
    """Return the impurity reduction with variance: mass × variance of an outcome is Σwy² − (Σwy)² /
    Σw.

    weights : float64[outcomes, 3], moments (Σw, Σwy, Σwy²).
    """
    after = 0.0
    for o in range(weights.shape[0]):
        if weights[o, 0] > 0.0:
            after += max(weights[o, 2] - weights[o, 1] * weights[o, 1] / weights[o, 0], 0.0)
    return (node.mass * node.impurity - after) / node.total_mass


@criterion_kernel
def reduction_mean(weights, counts, price, extra, node):
    """Return the impurity reduction with any mean impurity of classes that has a kernel: of mass ×
    impurity, as a share of the root's mass.
    """
    after = 0.0
    for o in range(weights.shape[0]):
        mass = 0.0
        for k in range(weights.shape[1]):
            mass += weights[o, k]
        if mass > 0.0:
            after += mass * node.impurity_of(weights[o])
    return (node.mass * node.impurity - after) / node.total_mass


@criterion_kernel
def reduction_total(weights, counts, price, extra, node):
    """Return the impurity reduction with any total impurity that has a kernel: not weighted by
    mass.
    """
    after = 0.0
    for o in range(weights.shape[0]):
        after += node.impurity_of(weights[o])
    return node.impurity - after


@criterion_kernel
def reduction_prefix(weights, counts, price, extra, node):
    """Return the impurity reduction where ``extra[:, 0]`` holds mass × impurity of each outcome."""
    after = 0.0
    for o in range(extra.shape[0]):
        after += extra[o, 0]
    return (node.mass * node.impurity - after) / node.total_mass


@criterion_kernel
def gain_ratio(weights, counts, price, extra, node):
    """Return the information gain over split information, both in bits; −inf if the split
    information is 0, as with one branch.
    """
    total = 0.0
    within = 0.0
    split = 0.0
    for o in range(weights.shape[0]):
        mass = 0.0
        for k in range(weights.shape[1]):
            mass += weights[o, k]
        total += mass
        if mass > 0.0:
            split -= mass * math.log2(mass)
        for k in range(weights.shape[1]):
            w = weights[o, k]
            if w > 0.0:
                within -= w * math.log2(w / mass)
    before = 0.0
    for k in range(weights.shape[1]):
        w = 0.0
        for o in range(weights.shape[0]):
            w += weights[o, k]
        if w > 0.0:
            before -= w * math.log2(w / total)
    branches = 0
    for o in range(weights.shape[0]):
        for k in range(weights.shape[1]):
            if weights[o, k] > 0.0:
                branches += 1
                break
    if branches < 2:
        return -np.inf
    split += total * math.log2(total)
    return (before - within) / split if split > 0.0 else -np.inf


@impurity_kernel
def squared_pairs(weights):
    """Return Σ_i Σ_j ½ (y_i − y_j)² = Σw · Σwy² − (Σwy)², from moments."""
    return max(weights[0] * weights[2] - weights[1] * weights[1], 0.0)


OF_ZEROS = math.inf  # the deviance where all y are 0


@prefix_kernel
def poisson_deviances(y, weight, out):
    """Write Σ w y log(y / mean) of every prefix to ``out``; OF_ZEROS where all y are 0.

    y, weight, out : float64[n], y ≥ 0.
    """
    mass = 0.0
    total = 0.0
    logs = 0.0
    for i in range(len(y)):
        mass += weight[i]
        total += weight[i] * y[i]
        if y[i] > 0.0:
            logs += weight[i] * y[i] * math.log(y[i])
        out[i] = max(logs - total * math.log(total / mass), 0.0) if total > 0.0 else OF_ZEROS


poisson_deviances_with_zeros = baked(
    poisson_deviances, "poisson_deviances_with_zeros", OF_ZEROS=0.0
)


@prefix_kernel
def absolute_deviations(y, weight, out):
    """Write Σ w |y − median| of every prefix to ``out``.

    y, weight, out : float64[n].

    Two Fenwick trees over the ranks of y keep Σw and Σwy; the median is found by descent, O(log n)
    per object.
    """
    n = len(y)
    order = np.argsort(y)
    rank = np.empty(n, np.int64)
    for position in range(n):
        rank[order[position]] = position + 1
    top = 1
    while top * 2 <= n:
        top *= 2
    sum_w = np.zeros(n + 1)
    sum_wy = np.zeros(n + 1)
    total_w = 0.0
    total_wy = 0.0
    for i in range(n):
        w = weight[i]
        total_w += w
        total_wy += w * y[i]
        at = rank[i]
        while at <= n:
            sum_w[at] += w
            sum_wy[at] += w * y[i]
            at += at & -at
        # the largest position with less than half of the weight before it; the next one is a median
        position, below_w, below_wy = 0, 0.0, 0.0
        step = top
        while step > 0:
            ahead = position + step
            if ahead <= n and below_w + sum_w[ahead] < 0.5 * total_w:
                position = ahead
                below_w += sum_w[ahead]
                below_wy += sum_wy[ahead]
            step //= 2
        median = y[order[min(position, n - 1)]]
        out[i] = max(
            median * below_w - below_wy + (total_wy - below_wy) - median * (total_w - below_w), 0.0
        )
