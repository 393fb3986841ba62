"""What the nodes of a tree hold: every object walks down once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.solving.rows import THRESHOLDS


class Objects(NamedTuple):
    """int32[n] label, float64[n] weight, int64[n] rows and losses."""

    label: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    loss: np.ndarray


class Held(NamedTuple):
    """Zeros, filled per node: float64[nodes, classes] weights, int64[nodes] rows, int64[nodes, classes] losses."""

    weights: np.ndarray
    rows: np.ndarray
    losses: np.ndarray


@jit
def walk(coded, nodes, objects, held):
    """Add every object to the nodes on its path.

    coded : kernels_prepare.Coded.   nodes : int64[nodes, 3], (test or −1, node of outcome 1, node of outcome 0), root first.
    """
    for r in range(objects.label.shape[0]):
        node = np.int64(0)
        while True:
            k = objects.label[r]
            held.weights[node, k] += objects.weight[r]
            held.rows[node] += objects.count[r]
            held.losses[node, k] += objects.loss[r]
            t = nodes[node, 0]
            if t < 0:
                break
            column = coded.column[t]
            code, index = coded.codes[column, r], coded.index[t]
            one = code > index if coded.family[column] == THRESHOLDS else code != index
            node = nodes[node, 1] if one else nodes[node, 2]
