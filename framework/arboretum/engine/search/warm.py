"""Warming up: kernels are compiled, or read from the disk cache, before the fit clock starts."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.engine.search.grow import grow
from arboretum.interfaces.method import Context, Problem
from arboretum.model.encoded import Encoded

ENOUGH = 64
"""Objects that the trial growth sees: enough to meet every kernel that small nodes use, a millisecond of work."""


def warm_up(problem: Problem, context: Context, *, order: str) -> None:
    """Grow a tree from a few objects and forget it: a few milliseconds once the kernels are there.

    Kernels that only large nodes need are still loaded inside the fit; their compilation is timed apart all the same.
    """
    few = attrs.evolve(problem, objects=some_objects(problem.objects, ENOUGH))
    grow(few, attrs.evolve(context, deadline=None), order=order)


def some_objects(objects: Encoded, k: int) -> Encoded:
    """The same features with at most ``k`` objects, evenly spaced so that several classes are among them."""
    rows = np.unique(np.linspace(0, objects.n_objects - 1, min(k, objects.n_objects)).astype(np.int64))
    pick = {name: None if (a := getattr(objects, name)) is None else a[rows] for name in _PER_OBJECT}
    return attrs.evolve(objects, **pick, object_of_row=np.arange(len(rows)))


_PER_OBJECT = ("codes", "raw", "label", "y", "weight", "count")
