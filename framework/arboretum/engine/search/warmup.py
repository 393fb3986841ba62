"""Compile what a growth will need, before its clock starts."""

import math
import time
from collections.abc import Callable

import attrs
import numpy as np

from arboretum.engine.monotone import asked_of
from arboretum.engine.search.fractional import without_gaps
from arboretum.engine.search.grow import grow
from arboretum.engine.search.growth import Growth
from arboretum.interfaces.method import Context, Problem
from arboretum.interfaces.stopping import Limits, Within
from arboretum.kernels.jit import compile_clock
from arboretum.kernels.plain import active_interpreter
from arboretum.model.encoded import Encoded

SAMPLE = 64  # objects that the rehearsal grows a tree on
SHALLOW = Within(Limits(max_depth=2))  # stops it early


def warm_up(problem: Problem, announce: Callable[[str], None] | None = None) -> float:
    """Grow a small tree with the problem's components and dtypes; return the seconds that took.

    That compiles every kernel the growth will call, or loads it from the cache.  ``announce`` is
    called once, before the first compilation, and not at all if everything is in the cache.
    Without a criterion there is nothing to do, nor where kernels are interpreted.
    """
    if problem.parts.criterion is None or active_interpreter():
        return 0.0
    start, problem = time.perf_counter(), without_gaps(problem)
    small = attrs.evolve(problem.parts, stopping=(SHALLOW,), pruner=None, tuner=None)
    rehearsal = attrs.evolve(problem, objects=sample(problem.objects), parts=small, valid=None)
    with compile_clock(announce):
        if any(asked_of(problem.parts)):
            Growth.of_run(rehearsal, Context()).run("depth")
            return time.perf_counter() - start
        if not grows_in_one_call(problem):
            grow(rehearsal, Context(), compiled=False)
            growth = Growth.of_run(rehearsal, Context())
            # where bins say too little, columns are sorted
            if growth.plan != growth.plan.without_bins:
                growth.plan = growth.plan.without_bins
                growth.run("depth")
        grow(rehearsal, Context())
    return time.perf_counter() - start


def grows_in_one_call(problem: Problem) -> bool:
    """Return whether the whole tree will be one subtree, so that the loop's kernels are not needed;
    with a deadline or without.
    """
    if problem.parts.fractional_rows:  # that loop has none
        return True
    growth = Growth.of_run(problem, Context(deadline=math.inf))
    growth.use_subtrees()
    root = growth.evaluate(growth.root())
    return growth.subtrees is not None and growth.subtrees.takes(root.cell, root.node)


def sample(objects: Encoded) -> Encoded:
    """Return some of the objects: evenly spaced, some of the first two classes, the extremes of the
    first columns, some without a value.
    """
    n = objects.n_objects
    rows = set(np.linspace(0, n - 1, min(n, SAMPLE)).astype(int).tolist())
    target = objects.label if objects.label is not None else objects.y
    rows.update((int(target.argmin()), int(target.argmax())))
    if objects.codes.shape[1]:
        rows.update((int(objects.codes[:, 0].argmin()), int(objects.codes[:, 0].argmax())))
    if objects.raw.shape[1] and not np.isnan(objects.raw[:, 0]).all():
        rows.update((int(np.nanargmin(objects.raw[:, 0])), int(np.nanargmax(objects.raw[:, 0]))))
    rows.update(np.flatnonzero(objects.lacking)[:2].tolist())
    odd = np.flatnonzero((objects.weight != 1.0) | (objects.count != 1))
    return objects.take(np.array(sorted(rows | set(odd[:2].tolist()))))
