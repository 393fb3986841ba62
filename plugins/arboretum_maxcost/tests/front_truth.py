"""The slow truth: the values of all trees, one by one, and those that none beats."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import attrs
import numpy as np

from arboretum.api import (
    Column,
    ColumnKind,
    Encoded,
    Family,
    LeafRule,
    Limits,
    Parts,
    Prices,
    Problem,
    Table,
    Target,
    Task,
)
from arboretum.testing.tables import ToyFeature, outcomes

Values = tuple[float, ...]


@attrs.frozen
class Held:
    """A stopping rule that is what it is given."""

    rule: LeafRule = LeafRule()
    held: Limits = Limits()
    kind = "stopping"
    name = "held"

    def limits(self) -> Limits:
        return self.held

    def is_leaf(self, node) -> bool:
        return self.rule.holds(
            node.mass, node.total_mass, node.count, node.impurity, node.n_objects
        )

    def leaf_rule(self) -> LeafRule:
        return self.rule


def all_values(
    problem: Problem, second: str, rows: np.ndarray | None = None, depth: int | None = None
) -> Iterator[tuple[float, float, int]]:
    """(errors, second axis, leaves) of every tree over the rows, by weight and not divided by
    it; many come many times.
    """
    objects = problem.objects
    rule = problem.parts.leaf_rule(obeyed=("max_depth", "max_leaves", "min_leaf"))
    limits = problem.parts.limits()
    rows, depth = (
        (np.arange(objects.n_objects), limits.max_depth) if rows is None else (rows, depth)
    )
    weight = np.bincount(objects.label[rows], objects.weight[rows], objects.n_classes)
    mass = float(weight.sum())
    yield mass - float(weight.max()), float(second == "n_leaves"), 1
    forced = rule.holds(mass, float(objects.weight.sum()), int(objects.count[rows].sum()), np.inf)
    if depth == 0 or forced or np.count_nonzero(weight) == 1:
        return
    for test in range(int(objects.test_offset[-1])):
        outcome = outcomes(objects, test, rows)
        parts = [rows[outcome == one] for one in np.unique(outcome)]
        if (
            len(parts) < 2
            or min(int(objects.count[part].sum()) for part in parts) < limits.min_leaf
        ):
            continue
        price = float(problem.prices.tests[test])
        below = [
            front(all_values(problem, second, part, None if depth is None else depth - 1))
            for part in parts
        ]
        for chosen in itertools.product(*below):
            error, leaves = sum(one[0] for one in chosen), sum(one[2] for one in chosen)
            paid = [one[1] for one in chosen]
            cost = {
                "expected_cost": mass * price + sum(paid),
                "max_cost": price + max(paid),
                "depth": 1 + max(paid),
                "n_leaves": sum(paid),
            }
            yield error, cost[second], leaves


def front(values) -> list[tuple]:
    """Those that no other is at or below.  (A tree of beaten branches is beaten, as all axes
    grow with those of the branches.)
    """
    found: list[tuple] = []
    for one in sorted(set(values)):
        if not any(all(a <= b for a, b in zip(other, one, strict=True)) for other in found):
            found.append(one)
    return found


def true_front(problem: Problem, second: str, axes: int) -> list[tuple]:
    """The front on error and the second axis, and on leaves where ``axes`` is 3; in the order of
    a Front.
    """
    most, total = problem.parts.limits().max_leaves, float(problem.objects.weight.sum())
    unit = (total, total if second == "expected_cost" else 1.0, 1)
    kept = (one for one in all_values(problem, second) if most is None or one[2] <= most)
    values = front(tuple(round(v, 9) for v in one[:axes]) for one in kept)
    return sorted(
        (tuple(v / u for v, u in zip(one, unit, strict=False)) for one in values),
        key=lambda one: one[1:],
    )


def feature_and_column(position: int, family: Family, n_bins: int, codes: np.ndarray):
    name = f"x{position}"
    if family is Family.thresholds:
        edges = tuple(k + 0.5 for k in range(n_bins - 1))
        return ToyFeature(name, position, family, n_bins, edges=edges), Column(
            name, ColumnKind.continuous, codes.astype(float)
        )
    categories = tuple("abcdef"[:n_bins])
    return ToyFeature(name, position, family, n_bins, categories=categories), Column(
        name, ColumnKind.categorical, codes, categories
    )


def random_problem(
    seed: int, most_rows: int = 7, rule: LeafRule = LeafRule(), held: Limits = Limits()
) -> Problem:
    """A tiny table of any families, with ties, contradictions, weights and prices (also 0)."""
    random = np.random.default_rng(seed)
    n, m, values = random.integers(1, most_rows + 1), random.integers(1, 4), random.integers(2, 4)
    codes, label = random.integers(0, values, (n, m)), random.integers(0, random.integers(2, 4), n)
    families = random.choice(list(Family), m)
    bins = [max(2, int(codes[:, f].max()) + 1) for f in range(m)]
    pairs = [feature_and_column(f, families[f], bins[f], codes[:, f]) for f in range(m)]
    target = Target("y", Task.classification, label.astype(np.int32), ("a", "b", "c"))
    weight = random.choice([0.1, 0.5, 1.0, 2.25], n) if random.random() < 0.5 else None
    table = Table(f"tiny{seed}", tuple(column for _, column in pairs), target, weight)
    objects = Encoded(
        table=table,
        features=tuple(feature for feature, _ in pairs),
        codes=codes.astype(np.uint8),
        raw_features=(),
        raw=np.empty((n, 0)),
        label=target.codes,
        y=None,
        weight=table.row_weights(),
        count=np.ones(n, np.int64),
        object_of_row=np.arange(n),
    )
    tests = int(objects.test_offset[-1])
    price = (
        random.choice([0.0, 0.1, 1.0, 1.0, 2.5], tests) if random.random() < 0.6 else np.ones(tests)
    )
    return Problem(
        objects, Prices(price, np.empty(0)), Parts(method=None, stopping=(Held(rule, held),))
    )
