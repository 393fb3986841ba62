"""What are the tables of a run like?  What its components promise is tried on small tables of
that kind.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from arboretum.interfaces.method import Problem
from arboretum.model.table import Task


@attrs.frozen
class Ground:
    """Equal grounds need no second trial.

    weights, prices : the least and the greatest of an object and of a test, as :func:`rounded`,
        ascending; one number where they are the same.
    """

    task: Task = Task.classification
    n_classes: int = 2
    weights: tuple[float, ...] = (1.0,)
    prices: tuple[float, ...] = (1.0,)

    @staticmethod
    def of(problem: Problem) -> Ground:
        """Read it off a problem: task, classes (2 at least), weights of objects, prices."""
        objects, prices = problem.objects, problem.prices
        listed = [each for each in (prices.tests, prices.raw) if len(each)]
        return Ground(
            objects.task, max(2, objects.n_classes), _reach([objects.weight]), _reach(listed)
        )

    @property
    def numbers(self) -> bool:
        """Whether the target is a number."""
        return self.task is Task.regression


def rounded(x: float) -> float:
    """One and a half times a power of two, or once, at or below x: few numbers stand for all,
    and sums of them are exact.
    """
    if not 0.0 < x < math.inf:
        return 0.0
    fraction, power = math.frexp(x)
    return math.ldexp(0.75 if fraction >= 0.75 else 0.5, power)


def _reach(arrays: list[np.ndarray]) -> tuple[float, ...]:
    """The least and the greatest of all numbers, as :func:`rounded`; (1.0,) without any."""
    ends = {
        rounded(float(end)) for array in arrays if len(array) for end in (array.min(), array.max())
    }
    return tuple(sorted(ends)) or (1.0,)
