"""Marks for kernels: decorators that only mark.  Nothing is compiled, and numba is not imported,
before first use.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

import numpy as np

MARK = "__arboretum_kernel__"
BY_CLASS = "__arboretum_column_by_class__"
BY_SUMS = "__arboretum_by_sums__"
F = TypeVar("F", bound=Callable[..., object])
Kernel = Callable[..., float]
"""A scalar kernel of a component, or its form in plain Python."""


class KernelNode(NamedTuple):
    """The node as a scalar kernel sees it.

    mass, total_mass : weight in the node and at the root.
    impurity : of the node, NaN without one.
    depth : tests on the path.
    coverage : as :class:`arboretum.model.encoded.Node` says (0.0 unless a stopping rule looks).
    params : float64[k], the component's fields that are declared as numbers, in that order; NaN
        where the value is None.
    impurity_of : the run's impurity, ``float64[classes] -> float64``; returns NaN where it has no
        kernel form.
    """

    mass: float
    total_mass: float
    impurity: float
    depth: int
    coverage: float
    params: np.ndarray
    impurity_of: Callable[[np.ndarray], float]


def criterion_kernel(
    function: F | None = None, *, column_by_class: bool = False, by_sums: bool = False
) -> Any:
    """Mark ``score(weights, counts, price, extra, node) -> float64`` for one test as compilable.

    weights : float64[outcomes, classes] (or moments).
    counts : int64[outcomes, classes] (or [outcomes, 1]).
    price : float64.
    extra : float64[outcomes, k].
    node : :class:`KernelNode`.

    The kernel is called inside numba, and must not allocate.  Without numba it is ordinary Python,
    which is how it is tested.

    column_by_class : the criterion's ``column`` is summed per class: ``extra`` is float64[outcomes,
        classes].  Such trees are grown by the loop alone, node by node, never as a whole subtree.
    by_sums : of the table it reads nothing but ``gini_after(weights)`` or
        ``entropy_after(weights)`` (:mod:`arboretum.kernels.impurity_sums`), and scores no higher
        where that is more; then a cut costs the same whatever the number of classes.
    """
    if function is None:
        return lambda f: criterion_kernel(f, column_by_class=column_by_class, by_sums=by_sums)
    setattr(function, MARK, "criterion")
    if column_by_class:
        setattr(function, BY_CLASS, True)
    if by_sums:
        setattr(function, BY_SUMS, True)
    return function


def column_kernel(function: F) -> F:
    """Mark ``column(weight, label, node) -> float64`` of a criterion as compilable: what one object
    adds to the column.

    weight : float64 and label : int64, of the object.
    node : :class:`KernelNode`.   Called inside numba; must not allocate.
    """
    setattr(function, MARK, "column")
    return function


def impurity_kernel(function: F) -> F:
    """Mark ``kernel(weights: float64[classes]) -> float64`` as compilable; called inside numba,
    must not allocate.
    """
    setattr(function, MARK, "impurity")
    return function


def prefix_kernel(function: F) -> F:
    """Mark ``prefix(y, weight, out)``: impurity × mass of every prefix of a sequence of objects,
    for impurities that are not functions of an additive table.

    y, weight, out : float64[n];  ``out[i]`` receives the value for the objects 0 … i.

    Called inside numba; may allocate.
    """
    setattr(function, MARK, "prefix")
    return function


def complexity_kernel(function: F) -> F:
    """Mark ``node(mass, price, children: float64[t]) -> float64`` of a complexity as compilable;
    must not allocate.
    """
    setattr(function, MARK, "complexity")
    return function


def kernel_part(function: F) -> F:
    """Mark a function that kernels call, yours or one of :mod:`arboretum.kernels.impurity_sums`: it
    is compiled together with each of them.

    Unlike a helper under ``arboretum.kernels.jit.jit`` it can be imported where numba must not be
    loaded yet.
    """
    setattr(function, MARK, "part")
    return function


def baked(kernel: F, name: str, **names: object) -> F:
    """A copy of a kernel called ``name``, in which these global names have these values.

    So a family of kernels has one source: numba takes the values for constants and leaves out the
    branches that they exclude, and a name may stand for a helper.  The name tells the copies apart
    in numba's disk cache.  Marks go along.
    """
    copy = FunctionType(
        kernel.__code__,
        {**kernel.__globals__, **names},
        name,
        kernel.__defaults__,
        kernel.__closure__,
    )
    copy.__qualname__, copy.__module__, copy.__doc__ = name, kernel.__module__, kernel.__doc__
    vars(copy).update(vars(kernel))
    return copy


def adds_by_class(kernel: object) -> bool:
    """Whether a criterion kernel wants the criterion's ``column`` summed per class."""
    return bool(getattr(kernel, BY_CLASS, False))


def scores_sums(kernel: object) -> bool:
    """Whether a criterion kernel says ``by_sums``."""
    return bool(getattr(kernel, BY_SUMS, False))


def mark_of(function: object) -> str | None:
    """ "criterion", "column", "impurity", "prefix", "complexity", "part", or None for a function
    that carries no mark.
    """
    return getattr(function, MARK, None)
