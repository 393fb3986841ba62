"""Brute force over every tree of a tiny table: the slow truth of this plugin.  Shares no code
with any search.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import attrs


@attrs.frozen
class TreeProblem:
    """What is minimised, and over which trees: loss + lam · leaves + mu · price.

    worst : the costliest path counts, else the mean price over the mass.
    depth, leaves : at most, None: any.
    least : objects in every branch.
    split : objects that a node needs to be divided.
    """

    lam: Any = 0
    mu: Any = 0
    worst: bool = False
    depth: int | None = None
    leaves: int | None = None
    least: int = 1
    split: int = 2


def minimum(
    outcome: Sequence[Sequence[int]],
    cost: Sequence[Sequence[Any]],
    task: TreeProblem,
    *,
    price: Sequence[Any] = (),
    mass: Sequence[Any] = (),
    count: Sequence[int] = (),
) -> Any:
    """Return the least value over all trees, by trying them all.

    outcome[u][f] : of object u under test f, 0 or 1.
    cost[u][k] : what u adds to the loss where its leaf says k.
    price[f], mass[u], count[u] : 0, 1 and 1 where nothing is given.
    Numbers may be of any exact kind, as Fraction; the answer is of that kind.
    """
    n, tests = len(outcome), range(len(outcome[0]) if outcome else 0)
    price = list(price) or [0] * len(tests)
    mass = list(mass) or [1] * n
    count = list(count) or [1] * n
    total = sum(mass)

    @cache
    def trees(objects: frozenset[int], depth: int) -> frozenset[tuple[Any, int, Any]]:
        """Return (loss and expected price, leaves, maximum path cost) of every tree on these
        objects, of at most so many tests on a path.
        """
        found = {(min(sum(cost[u][k] for u in objects) for k in range(len(cost[0]))), 1, 0)}
        if depth == 0 or sum(count[u] for u in objects) < task.split:
            return frozenset(found)
        for f in tests:
            one = frozenset(u for u in objects if outcome[u][f])
            parts = [one, objects - one]
            if any(not part or sum(count[u] for u in part) < task.least for part in parts):
                continue
            paid = (
                0
                if task.worst
                else task.mu * price[f] * Fraction(sum(mass[u] for u in objects)) / total
            )
            for a, leaves_a, way_a in trees(parts[0], depth - 1):
                for b, leaves_b, way_b in trees(parts[1], depth - 1):
                    found.add((a + b + paid, leaves_a + leaves_b, price[f] + max(way_a, way_b)))
        return frozenset(found)

    every = trees(
        frozenset(range(n)), len(tests) if task.depth is None else min(task.depth, len(tests))
    )
    lawful = [tree for tree in every if task.leaves is None or tree[1] <= task.leaves]
    return min(
        loss + task.lam * leaves + (task.mu * way if task.worst else 0)
        for loss, leaves, way in lawful
    )
