"""Lower bounds of ψ that need no search."""

from __future__ import annotations

import heapq
import math

import numpy as np

from arboretum.api import Family, Form
from arboretum_decision_tables.space import FAMILIES, Space


def root_bound(space: Space, form: Form) -> float:
    """A lower bound of ψ for the whole table, by its class weights alone.

    Where the leaf rule is more than "one class", or objects contradict each other, leaves need not be pure and only this
    holds: ψ of a tree is at least ψ⁰.

    Otherwise let c classes occur and let no test have more than a outcomes.  Every class has a leaf, so there are at least
    c leaves; an inner node adds at most a − 1 leaves, so there are at least ⌈(c − 1) / (a − 1)⌉ inner nodes, and a path of
    at least ⌈log_a c⌉ tests.  Σ mass over inner nodes = Σ over objects of tests asked.  Keep of each class its shallowest
    leaf and send all its weight there: no path gets longer, and what remains is an a-ary prefix code of the classes; its
    mean length is at least that of Huffman's.  Each test costs at least the cheapest one.
    """
    present = np.unique(space.label)
    c = len(present)
    if c == 1 or not space.plain_rule or space.inconsistent:
        return form.leaf
    multiway = space.family == FAMILIES[Family.multiway]
    arity = max(2, int(np.where(multiway, space.n_bins, 2).max(initial=2)))
    least = float(space.price.min(initial=0.0)) if form.priced else 1.0
    if form.combine == "max":
        longest = 1
        while arity**longest < c:
            longest += 1
        # the mass at the last node of a path is at least that of two objects
        light = float(np.sort(space.weight)[:2].sum())
        return form.leaf + longest * (form.per_node + form.per_mass * light) * least
    weights = np.bincount(space.label, space.weight)[present]
    inner = math.ceil((c - 1) / (arity - 1))
    length = huffman_length(weights.tolist(), arity)
    return form.leaf * c + (form.per_node * inner + form.per_mass * length) * least


def huffman_length(weights: list[float], arity: int) -> float:
    """Σ weight × length of the best prefix code of ``arity`` letters."""
    heap = sorted(weights)
    while len(heap) > 1 and (len(heap) - 1) % (arity - 1):
        heapq.heappush(heap, 0.0)  # Huffman merges full groups; words of no weight fill the first
    total = 0.0
    while len(heap) > 1:
        merged = sum(heapq.heappop(heap) for _ in range(min(arity, len(heap))))
        total += merged
        heapq.heappush(heap, merged)
    return total
