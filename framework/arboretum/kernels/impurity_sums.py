"""Sums that kernels of several plugins are made of: plain Python, compiled with the kernel that calls them.

``weights`` is the table of one test, float64[outcomes, classes].  Loops are written out: a part of a part, a view or a node as
an argument each cost some percent of such a kernel's time.
"""

import math

from arboretum.kernels.kernel_decorators import kernel_part


@kernel_part
def entropy_after(weights):
    """Σ_v m(S_v) h(S_v), h the entropy in bits."""
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
    """Σ_v m(S_v) h(S_v), h Gini's index: m − Σ w_k² / m of each outcome."""
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
