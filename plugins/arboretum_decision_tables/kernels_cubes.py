"""A lower bound from the sets of objects that can be leaves at all.

A leaf at depth d is a *cube*: what at most d literals (outcomes of tests) have in common, of one class, or light enough.  Listing all such
cubes of at most D literals gives for every object r, and every d ≤ D, the largest value G_r(d) of mass · Π arity over the
cubes of d literals that hold r (0 if there is none); a deeper one is at most the mass of r's class (or the
greatest of a light leaf) · Π arity.  Now

- an object at depth d needs G_r(d) > 0;
- leaves obey Kraft's equation Σ over leaves of Π 1 / arity = 1, the product being over the tests above a leaf.  A leaf's share
  spread over its objects by weight is w_r / (mass · Π arity) ≥ w_r / G_r(d_r) each, so Σ_r w_r / G_r(d_r) ≤ 1.

So the total path length is at least min Σ w_r d_r over depths with Σ w_r / G_r(d_r) ≤ 1; by Lagrange, for every λ ≥ 0, at
least Σ_r w_r min_d (d + λ / G_r(d)) − λ.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.bits import lowest
from arboretum.kernels.jit import jit
from arboretum.kernels.solving.rows import MULTIWAY
from arboretum_decision_tables.kernels_ahead import NONE, ONE, fill_bits, new_literals, weight_if_light
from arboretum_decision_tables.kernels_part_bounds import ARITY, FEW, FREE, LEAST, LIGHT, SHARE
from arboretum_decision_tables.kernels_table import Table
from arboretum_decision_tables.kernels_values import LEAF, MAX, PER_MASS, PER_NODE, PRICED

DEEPEST = 6
BEYOND = 64
"""Depths up to which objects may lie in the minimum over d; Π arity has long made λ / G vanish there."""


@jit(borrow=True)
def fitting_depth(literals, words, work):
    """The most literals per cube, up to ``DEEPEST``, such that all cubes are listed within about ``work`` words."""
    depth, cubes = 0, 1.0
    while depth < DEEPEST:
        cubes *= literals / (depth + 1.0)
        if cubes * words > work:
            break
        depth += 1
    return depth


@jit
def list_cubes(n, depth, family, ahead, setting, most):
    """Fill most : float64[n, depth + 1] with G_r(d) of the rows that may be a leaf (see the module); 0 where there is none."""
    base, bits, same, kind, heavy, words = ahead
    literals = base[-1]
    test, arity = np.zeros(literals, np.int64), np.zeros(literals)
    number, lighter = 0, setting[SHARE] > 0.0 or setting[FEW] > 0.0
    for f in range(len(family)):
        each = base[f + 1] - base[f] if family[f] == MULTIWAY else 2
        for first in range(base[f], base[f + 1], max(1, each)):
            occur = 0.0
            for o in range(first, first + each):
                for q in range(words):
                    if bits[o, q] != NONE:
                        occur += 1.0
                        break
            for o in range(first, first + each):
                test[o], arity[o] = number, occur
            number += 1
    stack, product, at = np.zeros((depth + 1, words), np.uint64), np.ones(depth + 1), np.zeros(depth + 1, np.int64)
    for k in range(n):
        stack[0, k >> 6] |= ONE << np.uint64(k & 63)
    d = 0
    while d >= 0:
        o = at[d]
        if o >= literals or d >= depth:
            d -= 1
            if d >= 0:
                at[d] += 1
            continue
        at[d] += 1
        if arity[o] < 2.0 or (d > 0 and test[o] == test[at[d - 1]]):
            continue
        first, mixed, narrower = -1, False, False
        for q in range(words):
            x = stack[d, q] & bits[o, q]
            stack[d + 1, q] = x
            narrower |= x != stack[d, q]
            if x == NONE:
                continue
            if first < 0:
                first = (q << 6) + lowest(x)
            of = kind[first]
            if of < 0:
                mixed |= x != ONE << np.uint64(first & 63) or q != first >> 6
            else:
                mixed |= x & ~same[of, q] != NONE
        if first < 0 or not narrower:
            continue
        product[d + 1] = product[d] * arity[o]
        if mixed and lighter:
            mixed = weight_if_light(stack[d + 1], stack[d + 1], ahead, setting) < 0.0
        if mixed:
            if d + 1 < depth:
                at[d] -= 1
                at[d + 1] = o + 1
                d += 1
            continue
        mass = 0.0
        for again in range(2):
            for q in range(first >> 6, words):
                x = stack[d + 1, q]
                while x != NONE:
                    k = (q << 6) + lowest(x)
                    x &= x - ONE
                    if again == 0:
                        mass += heavy[k]
                    else:
                        most[k, d + 1] = max(most[k, d + 1], mass * product[d + 1])


@jit
def cube_bound(n, depth, family, ahead, form, setting, most):
    """A lower bound of ψ of the n rows that the literals ``ahead`` are of, by the cubes of at most ``depth`` literals.

    For maxima: the object that lies in no cube of less than k literals is asked k tests, each of at least two objects.
    """
    kind, heavy = ahead.kind, ahead.heavy
    most[:n] = 0.0
    list_cubes(n, depth, family, ahead, setting, most)
    arity, least = setting[ARITY], setting[LEAST] if form[PRICED] else 1.0
    if form[MAX]:
        deepest = 1
        for k in range(n):
            d = 1
            while d <= depth and most[k, d] == 0.0:
                d += 1
            deepest = max(deepest, d)
        return form[LEAF] + deepest * (form[PER_NODE] + form[PER_MASS] * setting[LIGHT]) * least
    of_class, total = np.zeros(len(ahead.same)), 0.0
    for k in range(n):
        total += heavy[k]
        if kind[k] >= 0:
            of_class[kind[k]] += heavy[k]
        for d in range(2, depth + 1):
            # a cube of fewer literals may be reached by a longer path
            most[k, d] = max(most[k, d], most[k, d - 1] * arity)
    best, factor, step = 0.0, total / arity**2, 4.0
    found = length_at(0.0, n, depth, kind, heavy, of_class, arity, setting[FREE], most)
    best = max(best, found)
    for _ in range(3):  # the bound is concave in λ: climb with a shrinking step
        while True:
            up = length_at(factor * step, n, depth, kind, heavy, of_class, arity, setting[FREE], most)
            if up <= best:
                break
            best, factor = up, factor * step
        while factor > 1e-9 * total:
            down = length_at(factor / step, n, depth, kind, heavy, of_class, arity, setting[FREE], most)
            if down <= best:
                break
            best, factor = down, factor / step
        step = np.sqrt(step)
    # sums of n terms, rounded
    length = best * (1.0 - 1e-15 * (n + 64))
    return (form[PER_NODE] + form[PER_MASS] * length) * least + 2.0 * form[LEAF]


@jit(borrow=True)
def length_at(factor, n, depth, kind, heavy, of_class, arity, free, most):
    """Σ w_r min_d (d + λ / G_r(d)) − λ."""
    total = 0.0
    for k in range(n):
        best = np.inf
        for d in range(1, depth + 1):
            if most[k, d] > 0.0:
                best = min(best, d + factor / most[k, d])
        mass, power = max(of_class[kind[k]] if kind[k] >= 0 else heavy[k], free), arity ** (depth + 1.0)
        for d in range(depth + 1, BEYOND):
            if d >= best:
                break
            best = min(best, d + (factor / (mass * power) if mass > 0.0 else 0.0))
            power *= arity
        total += heavy[k] * best
    return total - factor


def cube_bound_of_all(table: Table, form: np.ndarray, setting: np.ndarray, depth: int) -> float:
    """The same for all objects of a table."""
    n = len(table.weight)
    room, rows = new_literals(table, n, int(table.label.max()) + 1), np.arange(n, dtype=np.int32)
    ahead = room._replace(words=fill_bits(table, rows, 0, n, room))
    return cube_bound(n, depth, table.family, ahead, form, setting, np.zeros((n, depth + 1)))
