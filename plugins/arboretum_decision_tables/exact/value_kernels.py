"""Values of the nodes of Δ(T), from the smallest subtable up; and the part of Δ(T) that optimal
trees use::

    values_of_nodes:  for every expanded Θ of Δ(T), the smallest first:
                          ψ(Θ) ← min over its bundles of F(N(Θ), price, ψ of the parts)
                                 (ψ⁰ where it has no bundle)
    copy_optimal_bundles:
                      reached ← {T};  for every reached Θ, the largest first:
                          keep the bundles with F ≤ ψ(Θ) + slack · |ψ(Θ)|; their nodes are reached

Invariants:

- ``order`` has every node after the nodes that its bundles lead to, so T comes last.
- A bundle is (test, leaves, edges, edges node numbers); those of node i are the entries
  start[i, 0] … start[i, 1] − 1 of ``stream``, and (−1, −1) says that it was never expanded.
- ``buffer`` holds the values of one bundle's branches, leaves first, at most ``widest``.
- ``kept_stream`` is written from the front, node by node; it never needs more than ``stream`` has.
"""

import numpy as np

from arboretum.kernels.function_pointers import call_complexity
from arboretum.kernels.jit import inline, jit


@inline
def bundle_value(stream, at, form, address, mass, price, value, buffer):
    """Return F of the bundle that begins at ``stream[at]``.

    form : ClosedForm; only ``leaf`` counts where F is compiled.
    address : of a compiled F; 0: ``form`` says it.
    mass : of the node; price : float64[tests].
    value : float64[nodes], ψ of the nodes below.
    buffer : float64[widest], overwritten by a compiled F's arguments.
    """
    test, leaves, edges = stream[at], stream[at + 1], stream[at + 2]
    if address == 0:
        total = form.leaf * ((leaves > 0) if form.largest else leaves)
        for q in range(at + 3, at + 3 + edges):
            total = max(total, value[stream[q]]) if form.largest else total + value[stream[q]]
        own = form.per_node + form.per_mass * mass
        return total + (own * price[test] if form.priced else own)
    buffer[:leaves] = form.leaf
    for q in range(edges):
        buffer[leaves + q] = value[stream[at + 3 + q]]
    return call_complexity(address, mass, price[test], buffer[: leaves + edges])


@jit(borrow=True)
def values_of_nodes(order, start, stream, mass, price, form, address, buffer, out):
    """Write ψ of every node for one complexity, given by form or address, to ``out``; returns the
    first node at which F is NaN, or −1.

    order : int32[n]; start : int64[n, 2]; stream : int32.
    mass : float64[n].
    price : float64[tests].
    form, address, buffer : as of ``bundle_value``.
    out : float64[n]; what stands there stays where a node was never expanded, and is read as its ψ.
    """
    for i in order:
        at, end = start[i, 0], start[i, 1]
        if at < 0:
            continue
        best = np.inf if at < end else form.leaf
        while at < end:
            value = bundle_value(stream, at, form, address, mass[i], price, out, buffer)
            if np.isnan(value):
                return i
            best = min(best, value)
            at += 3 + stream[at + 2]
        out[i] = best
    return np.int64(-1)


@jit(borrow=True)
def copy_optimal_bundles(
    order, start, stream, mass, price, form, address, buffer, value, slack, kept_start, kept_stream
):
    """Copy the bundles that optimal trees use: those of value at most ``slack`` above their node's,
    below the root.  Returns the length of the copied stream.

    order, start, stream, mass, price, form, address, buffer : as of ``values_of_nodes``.
    value : float64[n], ψ of every node.
    slack : relative.
    kept_start : out, int64[n, 2] of −1, which stays where no optimal tree comes by.
    kept_stream : out, as long as ``stream``.
    """
    kept_start[0, 0] = top = 0  # 0 or more: it is reached
    for j in range(len(order) - 1, -1, -1):
        i = order[j]
        if kept_start[i, 0] < 0:
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
                    kept_start[stream[at + 3 + q], 0] = 0
                top += 3 + edges
            at += 3 + edges
        kept_start[i, 1] = top
    return top
