"""The slow truth of the search: least losses by trying every test, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from arboretum.api import Family
from arboretum_maxcost.optimal.space import Space


def least_loss(space: Space) -> Callable[[int], int]:
    """budget → the least loss of a tree whose paths cost no more.  Errors in units of mass, or
    leaves that break the leaf rule.
    """

    @cache
    def least(rows: tuple[int, ...], left: int) -> int:
        found = leaf_loss(space, np.array(rows))
        for test in range(len(space.price)):
            parts = parts_of(space, rows, test)
            if space.price[test] <= left and len(parts) > 1 and found:
                found = min(
                    found, sum(least(part, left - int(space.price[test])) for part in parts)
                )
        return found

    return lambda budget: least(tuple(range(space.n_objects)), budget)


def least_price(space: Space, limit: int) -> int:
    """The least budget at which some tree loses at most ``limit``."""

    @cache
    def least(rows: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
        """(price, loss) of the trees that no other undercuts in both."""
        found = {(0, leaf_loss(space, np.array(rows)))}
        for test in range(len(space.price)):
            parts = parts_of(space, rows, test)
            if len(parts) > 1:
                sums = {(0, 0)}
                for part in parts:
                    sums = {(max(a, c), b + d) for a, b in sums for c, d in least(part)}
                found |= {(a + int(space.price[test]), b) for a, b in sums}
        return tuple(
            (a, b)
            for a, b in found
            if not any(c <= a and d <= b and (c, d) != (a, b) for c, d in found)
        )

    return min(
        (price for price, loss in least(tuple(range(space.n_objects))) if loss <= limit), default=-1
    )


def parts_of(space: Space, rows: tuple[int, ...], test: int) -> list[tuple[int, ...]]:
    """The rows of each outcome, by outcome; test by test as a rule of the table has it."""
    f = max(f for f, first in enumerate(space.first_test) if first <= test)
    codes = space.codes[f].tolist()
    k = test - int(space.first_test[f])
    family = space.objects.features[f].family
    outcome = {
        row: codes[row]
        if family is Family.multiway
        else codes[row] > k
        if family is Family.thresholds
        else codes[row] != k
        for row in rows
    }
    return [
        tuple(row for row in rows if outcome[row] == one) for one in sorted(set(outcome.values()))
    ]


def leaf_loss(space: Space, rows: np.ndarray) -> int:
    """What a leaf of these objects loses."""
    if not space.without_error:
        masses = [
            int(space.mass[rows][space.label[rows] == c].sum())
            for c in range(space.objects.n_classes)
        ]
        return sum(masses) - max(masses)
    pure = len(set(space.label[rows].tolist())) == 1
    divisible = len(set(space.cell[rows].tolist())) > 1
    if pure or not divisible:
        return 0
    return int(
        math.isnan(space.delta)
        or float(
            space.impurity.value(
                np.bincount(space.label[rows], space.weight[rows], space.objects.n_classes)
            )
        )
        > space.delta
    )
