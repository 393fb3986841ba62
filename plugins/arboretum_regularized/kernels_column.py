"""The one additive column of the scores; apart from the other kernels, because marking it must not load numba."""

from __future__ import annotations

from arboretum.kernels import column_kernel


@column_kernel
def heavy_objects(weight, label, node):
    """What an object adds to W_v = Σ_{i ∈ S_v} p_i / (p(S) − max(p_i, θ)) beyond p_i / (p(S) − θ).

    p (p − θ) / ((p(S) − p) (p(S) − θ)) for an object heavier than θ, and 0 for the others, so that they cost nothing.
    """
    theta = node.params[1] * node.total_mass
    room = node.mass - theta
    alone = node.mass - weight
    if weight <= theta or room <= 0.0 or alone <= 0.0:
        return 0.0
    return weight * (weight - theta) / (alone * room)
