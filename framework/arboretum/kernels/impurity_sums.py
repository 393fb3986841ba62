"""Sums that kernels of several plugins are made of: plain Python, compiled with the kernel that
calls them::

    entropy_after(weights) = Σ_v Σ_k −w_vk log2(w_vk / m_v)
    gini_after(weights) = Σ_v (m_v − Σ_k w_vk² / m_v)        m_v = Σ_k w_vk

Invariants: ``weights`` is the table of one test, float64[outcomes, classes], 0 or more everywhere.
It is read only; outcomes of no weight, and classes of none, add nothing.

Loops are written out: a part of a part, a view or a node as an argument each cost some percent of
such a kernel's time.
"""

import math
from functools import cache

from arboretum.kernels.kernel_decorators import Kernel, baked, kernel_part, scores_sums


@kernel_part
def entropy_after(weights):
    """Return Σ_v m(S_v) h(S_v), h the entropy in bits, of a test's table, float64[outcomes,
    classes].
    """
    found = 0.0
    for o in range(weights.shape[0]):
        mass = 0.0
        for k in range(weights.shape[1]):
            mass += weights[o, k]
        for k in range(weights.shape[1]):
            w = weights[o, k]
            if w > 0.0:
                found -= w * math.log2(w / mass)
    return found


@kernel_part
def gini_after(weights):
    """Return Σ_v m(S_v) h(S_v), h Gini's index, of a test's table, float64[outcomes, classes]: m −
    Σ w_k² / m of each outcome.
    """
    found = 0.0
    for o in range(weights.shape[0]):
        mass = 0.0
        squares = 0.0
        for k in range(weights.shape[1]):
            w = weights[o, k]
            mass += w
            squares += w * w
        if mass > 0.0:
            found += mass - squares / mass
    return found


@kernel_part
def given_sum(weights):
    """In place of one of them: it is known, and the table holds nothing else."""
    return weights[0, 0]


SUMS = (gini_after, entropy_after)
"""Those that rows keep up to date (:mod:`arboretum.kernels.class_sums`, which counts from 1)."""


def form_of(kernel: Kernel | None) -> int:
    """Return which of SUMS a kernel calls that says ``by_sums``, counted from 1; 0 for any other
    kernel, for none, and for one that calls both.
    """
    called = set(_sums_called(kernel).values()) if scores_sums(kernel) else ()
    return 1 + SUMS.index(*called) if len(called) == 1 else 0


@cache
def of_sum(kernel: Kernel) -> Kernel:
    """Return the same kernel as a function of its sum, which ``weights[0, 0]`` holds then.

    kernel : one of which :func:`form_of` is not 0.
    """
    own: Kernel = getattr(kernel, "py_func", kernel)
    return baked(
        own, f"{own.__qualname__}_of_sum", **dict.fromkeys(_sums_called(kernel), given_sum)
    )


def _sums_called(kernel: Kernel | None) -> dict[str, Kernel]:
    """Return the names by which a kernel calls functions of SUMS → which it is; empty for any other
    kernel.
    """
    own = getattr(kernel, "py_func", kernel)
    found = {name: own.__globals__.get(name) for name in own.__code__.co_names}
    return {name: part for name, part in found.items() if any(part is one for one in SUMS)}
