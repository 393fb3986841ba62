"""Kernel: where coded objects come to rest in a tree."""

from __future__ import annotations

import numpy as np

from arboretum.kernels.jit import jit


@jit
def walk(codes, family, feature, index, offset, child, rest):
    """Send every object down.

    codes : uint8, uint16 or uint32[n, features], C order.   family : int64[features], 0 multiway, 1 thresholds, 2 equals.
    feature (−1: leaf), index : int64[nodes].   offset : int64[nodes + 1], into ``child``, the child of each outcome (−1:
    none).   rest : int64[n], receives the node at which each object ends: a leaf, or a node without a branch for it.
    """
    for i in range(codes.shape[0]):
        node = 0
        while feature[node] >= 0:
            f = feature[node]
            code = np.int64(codes[i, f])
            if family[f] == 0:
                outcome = code
            elif family[f] == 1:
                outcome = 0 if code <= index[node] else 1
            else:
                outcome = 0 if code == index[node] else 1
            below = child[offset[node] + outcome]
            if below < 0:
                break
            node = below
        rest[i] = node
