"""Coverage the slow way: object by object, from nothing but ``covered``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arboretum.api import Encoded, Tree

COVERED = 1e-12
"""An f_i that misses 1 by no more counts as 1 (the contract of a coverage)."""


def left_of(coverage: Sequence[Any], objects: Encoded, rows: Sequence[int]) -> dict[int, float]:
    """Object → Π (1 − f_i) over the coverages: how far it is from being covered, 0 where it is."""
    found = dict.fromkeys((int(i) for i in rows), 1.0)
    for part in coverage:
        values = part.covered(objects, np.array(list(found), np.int64))
        for i, value in zip(found, values.tolist(), strict=True):
            found[i] *= 0.0 if 1.0 - value <= COVERED else 1.0 - value
    return found


def coverage_of(coverage: Sequence[Any], objects: Encoded, rows: Sequence[int]) -> float:
    """``node.coverage``: the weighted mean of f_i, 0.0 without coverages."""
    if not coverage:
        return 0.0
    left = left_of(coverage, objects, rows)
    mass = sum(float(objects.weight[i]) for i in left)
    return sum(float(objects.weight[i]) * (1.0 - value) for i, value in left.items()) / mass


def covering_cost_of(coverage: Sequence[Any], objects: Encoded, tree: Tree) -> float:
    """c(T, F), object by object: each walks down alone and pays until the objects that came along with it cover it.

    Where a missing value splits it over branches, each share walks and pays on its own; along with it came the objects of
    which any share did.
    """
    visits: list[dict[int, float]] = []
    row_of = {int(i): row for row, i in enumerate(objects.object_of_row)}
    for i in range(objects.n_objects):
        row, waiting, shares = objects.table.take(np.array([row_of[i]])), [(0, 1.0)], {}
        while waiting:
            v, share = waiting.pop()
            shares[v] = share
            if tree.test[v] < 0:
                continue
            outcome = int(tree.rule(v).outcomes(row, np.array([0]))[0])
            child = {k: int(c) for k, c in enumerate(tree.children(v)) if c >= 0}
            heavy = {c: float(tree.mass[c]) for c in child.values() if tree.mass[c] > 0}
            if outcome < 0 and tree.missing_child[v] == -2:
                waiting += [(c, share * mass / sum(heavy.values())) for c, mass in heavy.items()]
                continue
            outcome = int(tree.missing_child[v]) if outcome < 0 else outcome
            waiting += [(child[outcome], share)] if outcome in child else []
        visits.append(shares)
    total = 0.0
    for v in range(tree.n_nodes):
        together = [i for i, shares in enumerate(visits) if v in shares]
        if tree.test[v] < 0 or not together:
            continue
        left, edge = left_of(coverage, objects, together), tree.child_offset[v]
        for i in (i for i in together if left[i] > 0.0):
            paid = float(tree.price[v]) * visits[i][v]  # less what the branches it takes cost less
            paid -= sum(float(tree.price[v] - tree.edge_price[edge + k]) * visits[i].get(c, 0.0) for k, c in enumerate(tree.children(v).tolist()))
            total += float(objects.weight[i]) * paid
    return total / float(objects.weight.sum())


def gain_of(
    coverage: Sequence[Any], objects: Encoded, rows: Sequence[int], outcome_of: Mapping[int, int], n_outcomes: int
) -> list[float]:
    """Per outcome Σ w_i (f_i(outcome) − f_i(node)) / (1 − f_i(node)) over its objects, covered ones left out."""
    before = left_of(coverage, objects, rows)
    gains = []
    for o in range(n_outcomes):
        part = [int(i) for i in rows if outcome_of.get(int(i)) == o]
        after = left_of(coverage, objects, part) if part else {}
        terms = (float(objects.weight[i]) * (before[i] - after[i]) / before[i] for i in part if before[i] > 0.0)
        gains.append(sum(terms))
    return gains
