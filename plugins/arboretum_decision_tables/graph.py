"""Δ(T): the separable subtables that trees for T can meet, each once, with the bundles of edges that divide it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from arboretum.api import Context
from arboretum_decision_tables.slow import graph_in_python
from arboretum_decision_tables.space import Space
from arboretum_decision_tables.subtables import BUILD_SHARE, Graph

SLICE = 4_000_000
"""Row visits between two looks at the clock: some tens of milliseconds."""
FIRST_NODES, FIRST_STREAM = 1 << 12, 1 << 16


def build(space: Space, context: Context = Context(), *, count_leaves: bool = False, values: int = 1) -> Graph:  # noqa: B008
    """Expand every subtable, within the budget.   values : how many numbers per node will be wanted (bytes are kept free)."""
    if not space.compiled_impurity:
        return graph_in_python(space, context)
    return _Builder(space, count_leaves, values).run(context)


class _Builder:
    """Owns the arrays of kernels_rows and enlarges them."""

    def __init__(self, space: Space, count_leaves: bool, values: int) -> None:
        from arboretum_decision_tables import kernels_sets as kernels

        self.space, self.kernels, self.track = space, kernels, count_leaves
        self.per_node = 8 * values + 12
        n = space.n_objects
        self.state = np.zeros(10, np.int64)
        self.arrays = {
            "size": np.zeros(FIRST_NODES, np.int32),
            "mass": np.zeros(FIRST_NODES),
            "start": np.full((FIRST_NODES, 2), -1, np.int64),
            "stream": np.zeros(FIRST_STREAM, np.int32),
            "slots": np.zeros((2 * FIRST_NODES, 2), np.uint64),
            "leaf_slots": np.zeros((2 * FIRST_NODES if count_leaves else 2, 2), np.uint64),
            "frames": np.zeros((64, 4), np.int64),
            "pending": np.zeros((1024, 4), np.int64),
            "rows": np.zeros(4 * n + 64, np.int32),
        }
        if not space.is_leaf(np.arange(n)):
            self._enter_root()

    def _enter_root(self) -> None:
        kernels, arrays, n = self.kernels, self.arrays, self.space.n_objects
        arrays["size"][0], arrays["mass"][0] = n, self.space.weight.sum()
        arrays["rows"][:n] = np.arange(n)
        one, two = self.space.words.sum(axis=0, dtype=np.uint64)
        slot = int(one) & (len(arrays["slots"]) - 1)
        arrays["slots"][slot] = one, (two & kernels.UPPER) | np.uint64(1)
        arrays["frames"][0] = 0, n, 0, 0
        arrays["pending"][0] = 0, -1, 0, 0
        self.state[[kernels.NODES, kernels.FRAMES, kernels.PENDING]] = 1
        self.state[kernels.ROWS] = n

    def run(self, context: Context) -> Graph:
        stopped, until = "", None
        if context.deadline is not None:
            now = time.monotonic()
            until = now + BUILD_SHARE * (context.deadline - now)
        while True:
            if context.memory_bytes is not None and self.bytes_used() > context.memory_bytes:
                stopped = "bytes" if self.state[self.kernels.FRAMES] else ""
                break
            if until is not None and time.monotonic() >= until:
                stopped = "seconds" if self.state[self.kernels.FRAMES] else ""
                break
            found = self._slice()
            if found == self.kernels.FINISHED:
                break
            if found == self.kernels.NEED_ROOM and not self._enlarge(context.memory_bytes):
                stopped = "bytes"
                break
            done, known = int(self.state[self.kernels.EXPANDED]), int(self.state[self.kernels.NODES])
            context.progress(done, None, f"{done:,} of {known:,} subtables known so far expanded")
        return self._graph(stopped)

    def _slice(self) -> int:
        from arboretum_decision_tables.kernels_rows import build_rows

        space = self.space
        return int(
            build_rows(
                space.codes, space.family, space.n_bins, space.first_test, space.price, space.even, space.label,
                space.weight, space.counted, space.words, space.rule_array, impurity_address(space), self.track,
                self.state, *self.arrays.values(), SLICE, scratch_for(space),
            )
        )  # fmt: skip

    def _enlarge(self, budget: int | None) -> bool:
        """Make room for the next subtable, doubling what is too short; False when that exceeds the budget in bytes."""
        kernels, state = self.kernels, self.state
        need = int(state[kernels.NEED])
        nodes = int(state[kernels.NODES]) + need
        wanted = {
            "size": nodes, "mass": nodes, "start": nodes, "stream": int(state[kernels.STREAM]) + need,
            "slots": 2 * nodes, "leaf_slots": 2 * (int(state[kernels.LEAVES]) + need) if self.track else 0,
            "frames": int(state[kernels.FRAMES]) + 1, "pending": int(state[kernels.PENDING]) + need,
            "rows": int(state[kernels.ROWS]) + int(state[kernels.NEED_ROWS]),
        }  # fmt: skip
        for name, length in wanted.items():
            old = self.arrays[name]
            if length <= len(old):
                continue
            longer = 1 << (length - 1).bit_length()
            # while an array moves, both copies are there
            bytes_then = self.bytes_used() + old.nbytes // len(old) * longer
            if budget is not None and bytes_then > budget:
                return False
            # NumPy asks for huge pages where it allocates without zeros
            new = np.empty((longer, *old.shape[1:]), old.dtype)
            if name in ("slots", "leaf_slots"):
                new.fill(0)
                kernels.rehash(old, new)
            else:
                new[: len(old)] = old
            self.arrays[name] = new
        return True

    def bytes_used(self) -> int:
        """Of the arrays, and of the values per node that will be asked for."""
        return sum(array.nbytes for array in self.arrays.values()) + self.per_node * int(self.state[self.kernels.NODES])

    def _graph(self, stopped: str) -> Graph:
        from arboretum_decision_tables.kernels_values import order_by_size

        n = int(self.state[self.kernels.NODES])
        arrays = self.arrays
        order = np.zeros(n, np.int32)
        if n:
            order_by_size(arrays["size"][:n], order)
        return Graph(
            self.space, arrays["size"][:n], arrays["mass"][:n], arrays["start"][:n],
            arrays["stream"][: int(self.state[self.kernels.STREAM])], order, arrays["slots"], stopped,
            int(self.state[self.kernels.LEAVES]) if self.track else -1,
        )  # fmt: skip


def scratch_for(space: Space) -> tuple[np.ndarray, ...]:
    """Memory of ``build_rows`` besides what it hands over, in the order in which the kernel names it."""
    from arboretum_decision_tables.kernels_sets import BASE, NEAR_BITS

    n, n_features = space.n_objects, len(space.n_bins)
    widest, classes = int(space.n_bins.max(initial=0)), int(space.label.max(initial=0)) + 1
    late = 3 * n_features + 5 * int(np.minimum(space.n_bins, BASE).sum()) + 1
    masks = (n_features, BASE)
    return (
        np.zeros(widest, np.int64), np.zeros(widest, np.int64), np.zeros(widest, np.uint64), np.zeros(widest, np.uint64),
        np.zeros(widest), np.zeros(widest, np.int64), np.zeros(classes), np.zeros(widest + 1, np.int64),
        np.zeros(max(widest, classes), np.int64), np.zeros(masks, np.uint64), np.zeros(masks, np.uint64),
        np.zeros(masks, np.int64), np.zeros(n_features, np.int64), np.zeros(BASE, np.uint64),
        np.zeros((1 << NEAR_BITS, 2), np.uint64), np.zeros(late, np.int64), np.zeros((late, 3), np.uint64),
        np.zeros(max(widest, classes), np.uint64), np.zeros((BASE, 2), np.uint64), np.zeros((n, 2), np.uint64),
        np.zeros(n, np.int64),
    )  # fmt: skip


def impurity_address(space: Space) -> int:
    """Of the compiled impurity that the leaf rule asks for; 0 where it asks for none."""
    from arboretum.kernels import pointers

    used = not np.isnan(space.rule_array[2])
    return pointers.impurity_address(space.impurity.kernel) if used else 0
