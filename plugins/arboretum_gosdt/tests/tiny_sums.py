"""Objectives of sums that tests try, and the problems they are tried on."""

from __future__ import annotations

import math
from typing import ClassVar

import attrs
import numpy as np

from arboretum.api import Parts, Problem, SumsObjective, Task
from arboretum.testing.tables import TreeParts, prices_of, toy_objects, toy_table
from arboretum_basics.stopping import Standard
from arboretum_gosdt.sums.objectives import PoissonDeviance
from arboretum_gosdt.sums.solver import LeafSums


@attrs.frozen
class Squares(SumsObjective):
    """Mean squared error + λ · leaves."""

    name = "squares"

    def moments(self, objects):
        y, w = objects.y, objects.weight
        return np.stack([w, w * y, w * y * y], axis=1)

    def leaf(self, sums):
        return sums[..., 2] - sums[..., 1] ** 2 / sums[..., 0]

    def predicts(self, sums):
        return sums[..., 1] / sums[..., 0]


@attrs.frozen
class Huber(Squares):
    """No superadditive cost: the root of the deviation, which is dearer apart."""

    name = "rooted"
    superadditive: ClassVar[bool] = False

    def leaf(self, sums):
        return np.sqrt(np.maximum(super().leaf(sums), 0.0))


@attrs.frozen
class Liar(Huber):
    """Says that it is."""

    name = "liar"
    superadditive: ClassVar[bool] = True


@attrs.frozen
class Counts(PoissonDeviance):
    """Of toy targets, some of which lie below 0."""

    def moments(self, objects):
        return super().moments(attrs.evolve(objects, y=np.abs(objects.y)))


@attrs.frozen
class Spread(Squares):
    """Superadditive, and a root: how much it weighs times the standard deviation."""

    name = "spread"

    def leaf(self, sums):
        return np.sqrt(np.maximum(sums[..., 0] * sums[..., 2] - sums[..., 1] ** 2, 0.0))


NUMBERS = TreeParts(task=Task.regression)


def numbers(seed, objective, n_rows=24, **stopping):
    objects = toy_objects(toy_table(seed, n_rows, NUMBERS), multiway=False)
    parts = Parts(
        method=None, objective=objective, solver=LeafSums(), stopping=(Standard(**stopping),)
    )
    return Problem(objects, prices_of(objects), parts)


def added(moments):
    """float64[k]: the floats next to exact sums."""
    return np.array([math.fsum(column) for column in moments.T])


def clock():
    """A clock that ticks when it is read."""
    now = iter(range(1_000_000))
    return lambda: next(now)
