"""Random tiny problems, random trees over them, and the least cost by plain recursion over sets
of rows.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from arboretum.api import (
    Column,
    ColumnKind,
    Family,
    Parts,
    Prices,
    Problem,
    Table,
    Target,
    Task,
    TwoWay,
)
from arboretum.testing.tables import ToyFeature, bare_objects
from arboretum_basics.stopping import Standard


def drawn_problem(
    seed: int,
    objective,
    *,
    n_rows: int | None = None,
    n_columns: int | None = None,
    solver=None,
    **limits,
) -> Problem:
    """2 to 12 rows, 1 to 4 columns of 2 or 3 values, 2 or 3 classes; rows repeat, with the same
    labels and with others; weights, ties.
    """
    generator = np.random.default_rng([seed, 13])
    n, width = n_rows or int(generator.integers(2, 13)), n_columns or int(generator.integers(1, 5))
    classes = (
        3
        if len(getattr(objective, "table", ())) == 3
        or (not hasattr(objective, "omega") and generator.random() < 0.3)
        else 2
    )
    features, columns, codes = [], [], []
    for f in range(width):
        bins = int(generator.integers(2, 4))
        family = (
            Family.thresholds
            if generator.random() < 0.5
            else Family.equals
            if bins == 3
            else Family.multiway
        )
        code, names = generator.integers(0, bins, n), tuple("abc"[:bins])
        numbers = family is Family.thresholds
        features.append(
            ToyFeature(
                f"x{f}",
                f,
                family,
                bins,
                edges=tuple(k + 0.5 for k in range(bins - 1)),
                categories=names,
            )
        )
        columns.append(
            Column(f"x{f}", ColumnKind.continuous, code.astype(float))
            if numbers
            else Column(f"x{f}", ColumnKind.categorical, code, names)
        )
        codes.append(code)
    weights = [None, generator.choice([1.0, 2.0, 3.0], n), generator.choice([0.5, 0.1, 1.25], n)][
        generator.integers(0, 3)
    ]
    label = generator.integers(0, classes, n).astype(np.int32)
    table = Table(
        f"drawn{seed}",
        tuple(columns),
        Target("y", Task.classification, label, tuple("uvw"[:classes])),
        weights,
    )
    objects = bare_objects(
        table, features=tuple(features), codes=np.asfortranarray(np.array(codes, np.uint8).T)
    )
    prices = Prices(np.ones(int(objects.test_offset[-1])), np.ones(0))
    return Problem(
        objects,
        prices,
        Parts(method=None, objective=objective, solver=solver, stopping=(Standard(**limits),)),
    )


def drawn_nodes(seed: int, found: TwoWay) -> tuple[np.ndarray, list[np.ndarray]]:
    """A random tree as :meth:`TwoWay.tree` reads it, and the groups of each leaf (bool[groups])."""
    generator, nodes, leaves = np.random.default_rng(seed), [], []

    def grow(rows: np.ndarray) -> int:
        at = len(nodes)
        able = [
            t
            for t in range(len(found.tests))
            if found.outcome[t][rows].any() and not found.outcome[t][rows].all()
        ]
        nodes.append([-1, -1, -1])
        if not able or generator.random() < 0.3:
            leaves.append(rows)
        else:
            test = int(generator.choice(able))
            nodes[at] = [test, grow(rows & ~found.outcome[test]), grow(rows & found.outcome[test])]
        return at

    grow(np.ones(found.outcome.shape[1], bool))
    return np.array(nodes), leaves


def brute_force(
    found: TwoWay, depth: int | None = None, least: int = 1
) -> dict[frozenset[int], int]:
    """The least cost of every set of groups that tests can make, by trying all trees.

    least : training rows in every branch.
    """
    n, tests = found.outcome.shape[1], found.outcome.tolist()

    @cache
    def best(rows: frozenset[int], left: int) -> int:
        cost = int(found.cost[list(rows)].sum(axis=0).min()) + found.leaf
        for outcome in tests if left else ():
            one = frozenset(u for u in rows if outcome[u])
            parts = one, rows - one
            if all(part and found.rows[list(part)].sum() >= least for part in parts):
                cost = min(cost, sum(best(part, left - 1) for part in parts))
        seen[rows] = min(cost, seen.get(rows, cost))
        return cost

    seen: dict[frozenset[int], int] = {}
    best(frozenset(range(n)), n if depth is None else depth)
    return seen


def leaf_sets(found: TwoWay, depth: int = 99, least: int = 1) -> set[tuple[tuple[int, int], ...]]:
    """The leaves of every tree, as (positives, negatives) each, where an object costs its weight
    (``losses.class_weights``).
    """
    outcomes = found.outcome.tolist()

    @cache
    def trees(rows: frozenset[int], left: int) -> frozenset[tuple[tuple[int, int], ...]]:
        made = {(tuple(found.cost[list(rows)].sum(axis=0).tolist()),)}
        for outcome in outcomes if left else ():
            one = frozenset(u for u in rows if outcome[u])
            parts = one, rows - one
            if all(part and found.rows[list(part)].sum() >= least for part in parts):
                made |= {
                    tuple(sorted(a + b))
                    for a in trees(parts[0], left - 1)
                    for b in trees(parts[1], left - 1)
                }
        return frozenset(made)

    return set(trees(frozenset(range(found.outcome.shape[1])), min(depth, found.outcome.shape[1])))
