"""Lower bounds of ψ that need no search."""

from __future__ import annotations

import heapq
import math

import numpy as np

from arboretum.api import Family, Form
from arboretum_decision_tables.space import FAMILIES, Space


def root_bound(space: Space, form: Form) -> float:
    """A lower bound of ψ for the whole table, by its class weights alone.

    A tree for a table that is no leaf asks one test of all objects, and has two branches of at least ψ⁰ each.

    More is known unless an impurity makes leaves.  Where only one class does, a leaf has objects of one class, or objects with equal
    values that contradict each other; let each set of those be a class of its own, let c classes occur and let no test have
    more than a outcomes.  Every class has a leaf, so there are at least c leaves; an inner node adds at most a − 1 leaves, so
    there are at least ⌈(c − 1) / (a − 1)⌉ inner nodes, and a path of at least ⌈log_a c⌉ tests.  Σ mass over inner nodes =
    Σ over objects of tests asked.  Keep of each class its shallowest leaf and send all its weight there: no path gets
    longer, and what remains is an a-ary prefix code of the classes; its mean length is at least that of Huffman's.  Each
    test costs at least the cheapest one.

    Where light nodes are leaves, too, of weight at most t, the j heaviest leaves together weigh at most what the j first of
    the numbers (class weights above t, then t as often as the rest of the weight allows) do: those majorise the leaves'
    weights, and the length of the best code is Schur-concave.  So these numbers take the place of the class weights.
    """
    if space.is_leaf(np.arange(space.n_objects)) or not (space.codes != space.codes[:, :1]).any():
        return form.leaf
    least = float(space.price.min()) if form.priced else 1.0
    own = (form.per_node + form.per_mass * space.total_mass) * least
    one_test = own + form.leaf * (1 if form.combine == "max" else 2)
    free = space.light[0]
    if math.isinf(free):
        return one_test
    weights = capped(_class_weights(space), free)
    if len(weights) <= 2:
        return one_test
    multiway = space.family == FAMILIES[Family.multiway]
    arity = max(2, int(np.where(multiway, space.n_bins, 2).max()))
    if form.combine == "max":
        longest = 1
        while arity**longest < len(weights):
            longest += 1
        # every node of the path divides at least two objects, the first one all
        light = float(np.sort(space.weight)[:2].sum())
        return one_test + (longest - 1) * (form.per_node + form.per_mass * light) * least
    inner = math.ceil((len(weights) - 1) / (arity - 1))
    length = huffman_length(weights, arity)
    return form.leaf * len(weights) + (form.per_node * inner + form.per_mass * length) * least


def _class_weights(space: Space) -> list[float]:
    """Of the classes that occur, each set of contradicting objects being one."""
    _, group, times = np.unique(space.codes.T, axis=0, return_inverse=True, return_counts=True)
    own = times[group.ravel()] > 1
    label = np.where(own, space.objects.n_classes + group.ravel(), space.label)
    weights = np.bincount(label, space.weight)
    return weights[np.bincount(label) > 0].tolist()


def capped(weights: list[float], free: float) -> list[float]:
    """The weights above ``free``, and the rest in portions of ``free``."""
    heavy, rest = [w for w in weights if w > free], sum(w for w in weights if w <= free)
    while rest > free > 0.0:
        heavy.append(free)
        rest -= free
    return [*heavy, rest] if rest > 1e-9 * free else heavy


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
