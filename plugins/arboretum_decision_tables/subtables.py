"""Δ(T) as it is kept: the separable subtables in arrays."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arboretum_decision_tables.space import Space

BUILD_SHARE = 0.8
"""Of the seconds that are left: building Δ(T); the rest is for values and the tree."""


@attrs.define(eq=False)
class Graph:
    """Δ(T) in arrays.  Node 0 is T; leaves are no nodes.

    size : int32[n], objects.   mass : float64[n].   start : int64[n, 2], the node's bundles are ``stream[a:b]``;
    (−1, −1) where the budget ended before the node was expanded.
    stream : int32[·], bundle after bundle: test, number of leaves, number of edges, node numbers.
    order : int32[n], every node after the nodes that it leads to.
    finished : nothing is left to expand.   stopped : "" or what ran out, "seconds" or "bytes".
    leaves : number of distinct leaf subtables, if they were counted, else −1.
    index : finds nodes; by fingerprint (slots of kernels_rows) or a dict from sets of rows.
    """

    space: Space
    size: np.ndarray
    mass: np.ndarray
    start: np.ndarray
    stream: np.ndarray
    order: np.ndarray
    index: Any
    stopped: str = ""
    leaves: int = -1

    @property
    def n_nodes(self) -> int:
        return len(self.size)

    @property
    def finished(self) -> bool:
        return not self.stopped

    @property
    def widest(self) -> int:
        """Most branches that a bundle may have."""
        return int(max(2, self.space.n_bins.max(initial=2)))

    def node_of(self, rows: np.ndarray) -> int:
        """The node of a set of objects, −1 when it is none (a leaf, or never met)."""
        if isinstance(self.index, dict):
            return self.index.get(frozenset(rows.tolist()), -1)
        from arboretum_decision_tables.kernels_sets import find

        one, two = self.space.words[rows].sum(axis=0, dtype=np.uint64)
        return int(find(self.index, one, two))
