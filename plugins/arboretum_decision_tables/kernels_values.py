"""Values of the nodes of Δ(T), from the smallest subtable up; and the part of Δ(T) that optimal trees use."""

from __future__ import annotations

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.function_pointers import call_complexity

MAX, LEAF, PER_NODE, PER_MASS, PRICED = range(5)
"""Columns of ``forms``: float64[k, 5], a closed form each (MAX and PRICED are 0 or 1)."""
INFINITE, AS_LEAF, ONE_TEST = 0, 1, 2


@jit
def order_by_size(size, order):
    """Sort nodes by size (counting sort; int32[n] both): children come before their parents."""
    largest = 0
    for i in range(len(order)):
        largest = max(largest, size[i])
    head = np.zeros(largest + 2, np.int64)
    for i in range(len(order)):
        head[size[i] + 1] += 1
    for s in range(largest + 1):
        head[s + 1] += head[s]
    for i in range(len(order)):
        order[head[size[i]]] = i
        head[size[i]] += 1


@jit
def values_of_forms(order, start, stream, mass, price, forms, least, bound, out):
    """ψ of every node for all ``forms`` in one pass over the bundles.

    order : int32[n].   start : int64[n, 2].   mass : float64[n].   price : float64[tests].   out : float64[n, k].
    Where a node was never expanded, by ``bound``: INFINITE; AS_LEAF, ψ⁰, which no tree undercuts; ONE_TEST, what a test at
    the ``least`` price costs with two leaves below it: no tree that divides undercuts that, as every form is monotone.
    """
    k = forms.shape[0]
    best, value = np.empty(k), np.empty(k)
    for i in order:
        at, end = start[i, 0], start[i, 1]
        if at < 0:
            for j in range(k):
                own = forms[j, PER_NODE] + forms[j, PER_MASS] * mass[i]
                one_test = own * (least if forms[j, PRICED] else 1.0) + forms[j, LEAF] * (1.0 if forms[j, MAX] else 2.0)
                out[i, j] = np.inf if bound == INFINITE else (forms[j, LEAF] if bound == AS_LEAF else one_test)
            continue
        best[:] = np.inf
        if at == end:
            best[:] = forms[:, LEAF]
        while at < end:
            test, leaves, edges = stream[at], stream[at + 1], stream[at + 2]
            at += 3
            for j in range(k):
                value[j] = forms[j, LEAF] * ((leaves > 0) if forms[j, MAX] else leaves)
            for q in range(at, at + edges):
                child = stream[q]
                for j in range(k):
                    value[j] = max(value[j], out[child, j]) if forms[j, MAX] else value[j] + out[child, j]
            at += edges
            for j in range(k):
                own = forms[j, PER_NODE] + forms[j, PER_MASS] * mass[i]
                best[j] = min(best[j], value[j] + (own * price[test] if forms[j, PRICED] else own))
        out[i] = best


@jit(inline=True)
def bundle_value(stream, at, form, address, mass, price, value, buffer):
    """F of one bundle; ``address`` ≠ 0 is that of a compiled F, else ``form`` says it."""
    test, leaves, edges = stream[at], stream[at + 1], stream[at + 2]
    if address == 0:
        total = form[LEAF] * ((leaves > 0) if form[MAX] else leaves)
        for q in range(at + 3, at + 3 + edges):
            total = max(total, value[stream[q]]) if form[MAX] else total + value[stream[q]]
        own = form[PER_NODE] + form[PER_MASS] * mass
        return total + (own * price[test] if form[PRICED] else own)
    buffer[:leaves] = form[LEAF]
    for q in range(edges):
        buffer[leaves + q] = value[stream[at + 3 + q]]
    return call_complexity(address, mass, price[test], buffer[: leaves + edges])


@jit
def values_of_one(order, start, stream, mass, price, form, address, widest, unknown, out):
    """ψ of every node for one complexity, given by form or address; ``unknown`` where a node was never expanded.

    Returns the first node at which F is NaN, or −1.
    """
    buffer = np.empty(widest)
    for i in order:
        at, end = start[i, 0], start[i, 1]
        best = np.inf if at < end else form[LEAF]
        if at < 0:
            best = unknown
        while 0 <= at < end:
            value = bundle_value(stream, at, form, address, mass[i], price, out, buffer)
            if np.isnan(value):
                return i
            best = min(best, value)
            at += 3 + stream[at + 2]
        out[i] = best
    return np.int64(-1)


@jit
def keep_optimal(order, start, stream, mass, price, form, address, widest, value, slack, kept_start, kept_stream):
    """Copy the bundles that optimal trees use: those of value at most ``slack`` above their node's, below the root.

    kept_start : int64[n, 2], (−1, −1) where no optimal tree comes by.   kept_stream : as long as ``stream``.
    Returns the length of the copied stream.
    """
    buffer = np.empty(widest)
    reached = np.zeros(len(start), np.bool_)
    reached[0] = True
    top = 0
    for j in range(len(order) - 1, -1, -1):
        i = order[j]
        if not reached[i]:
            continue
        at, end = start[i, 0], start[i, 1]
        kept_start[i, 0] = top
        while at < end:
            edges = stream[at + 2]
            found = bundle_value(stream, at, form, address, mass[i], price, value, buffer)
            if found <= value[i] + slack * abs(value[i]):
                for q in range(3 + edges):
                    kept_stream[top + q] = stream[at + q]
                for q in range(edges):
                    reached[stream[at + 3 + q]] = True
                top += 3 + edges
            at += 3 + edges
        kept_start[i, 1] = top
    return top
