"""Δ(T): the separable subtables that trees for T can meet, each once, with the bundles of edges
that divide it.
"""

import time

import attrs
import numpy as np

from arboretum.api import (
    Context,
    Level,
    sure,
)
from arboretum.kernels.plain import fewer
from arboretum_decision_tables.exact.space import Space

SLICE = 4_000_000
"""Row visits between two looks at the clock: some tens of milliseconds."""
FIRST_NODES, FIRST_STREAM = 1 << 12, 1 << 16
BUILD_SHARE = 0.8
"""Share of the seconds left for building Δ(T); the rest is for values and the tree."""


@attrs.define(eq=False)
class Graph:
    """Δ(T) in arrays.  Node 0 is T; leaves are no nodes.

    size : int32[n], objects.
    mass : float64[n].
    start : int64[n, 2], the node's bundles are ``stream[a:b]``; (−1, −1) where the budget ended
        before the node was expanded.
    stream : int32[·], bundle after bundle: test, number of leaves, number of edges, node numbers.
    order : int32[n], every node after the nodes that it leads to.
    finished : nothing is left to expand.
    stopped : "" or what ran out, "seconds" or "bytes", or "interrupt".
    leaves : number of distinct leaf subtables, if they were counted, else −1.
    slots : find nodes by fingerprint (see :mod:`arboretum.kernels.solving.fingerprints`).
    """

    space: Space
    size: np.ndarray
    mass: np.ndarray
    start: np.ndarray
    stream: np.ndarray
    order: np.ndarray
    slots: np.ndarray
    stopped: str = ""
    leaves: int = -1

    @property
    def n_nodes(self) -> int:
        """Number of subtables that are nodes; leaves are none."""
        return len(self.size)

    @property
    def finished(self) -> bool:
        """Whether every node was expanded: neither budget nor interrupt ended the work."""
        return not self.stopped

    @property
    def widest(self) -> int:
        """Most branches that a bundle may have."""
        return int(max(2, self.space.n_bins.max(initial=2)))

    def node_of(self, rows: np.ndarray) -> int:
        """Return the node of a set of objects, int64[·]; −1 when it is none (a leaf, or never
        met).
        """
        from arboretum.kernels.solving.fingerprints import find

        return int(find(self.slots, *self.space.words[rows].sum(axis=0, dtype=np.uint64)))

    def nodes_of(self, level: Level) -> list[int]:
        """Return the node of each set of objects, as :meth:`node_of`."""
        from arboretum.kernels.solving.fingerprints import find

        return [int(find(self.slots, *words)) for words in level.sums(self.space.words)]


def build_graph(
    space: Space, context: Context = Context(), *, count_leaves: bool = False, values: int = 1
) -> Graph:
    """Build Δ(T): expand every subtable, within the budget.

    count_leaves : whether distinct leaf subtables are counted, too.
    values : how many numbers per node will be wanted (bytes are kept free).
    """
    return Builder(space, count_leaves=count_leaves, values=values).run(context)


class Builder:
    """Owns the arrays of row_kernels and enlarges them.  It may run again, with more of a budget,
    and goes on where it stopped.

    count_leaves, values : as of :func:`build_graph`.
    """

    def __init__(self, space: Space, *, count_leaves: bool = False, values: int = 1) -> None:
        from arboretum.kernels.solving.arrays import Arrays
        from arboretum_decision_tables.exact import set_kernels as kernels
        from arboretum_decision_tables.exact.parts import new_parts

        self.space, self.kernels, self.track = space, kernels, count_leaves
        self.table = space.make_table()
        self.scratch = (
            new_parts(self.table, class_weights=False),
            kernels.new_base(self.table),
        )
        self.per_node = 8 * values + 12
        n = space.n_objects
        self.state = np.zeros(1, kernels.STATE)
        self.arrays = Arrays(
            {
                "size": np.zeros(FIRST_NODES, np.int32),
                "mass": np.zeros(FIRST_NODES),
                "start": np.full((FIRST_NODES, 2), -1, np.int64),
                "stream": np.zeros(FIRST_STREAM, np.int32),
                "slots": np.zeros((2 * FIRST_NODES, 2), np.uint64),
                "leaf_slots": np.zeros((2 * FIRST_NODES if count_leaves else 2, 2), np.uint64),
                "frames": np.zeros(64, kernels.FRAME),
                "pending": np.zeros(1024, kernels.CHILD),
                "rows": np.zeros(4 * n + 64, np.int32),
            },
            tables=("slots", "leaf_slots"),
        )
        if not space.is_leaf(np.arange(n)):
            self._enter_root()

    def _enter_root(self) -> None:
        """Make the whole table node 0, and put it on the stack as the only one to expand."""
        from arboretum.kernels.solving.fingerprints import enter

        arrays, n = self.arrays, self.space.n_objects
        arrays["size"][0], arrays["mass"][0] = n, self.space.weight.sum()
        arrays["rows"][:n] = np.arange(n)
        enter(arrays["slots"], *self.space.words.sum(axis=0, dtype=np.uint64), 0)
        arrays["frames"][0] = 0, n, 0, False
        arrays["pending"][0] = 0, -1, 0, 0, 0
        state = self.state[0]
        state["nodes"] = state["frames"] = state["pending"] = 1
        state["rows"] = n

    def run(self, context: Context) -> Graph:
        """Expand subtables until none is left or the budget ends; return what is known.

        Goes on where an earlier run stopped, and takes at most BUILD_SHARE of the seconds left.
        ``stopped`` of the graph says what ended the work.
        """
        from arboretum.kernels.solving.slices import run_slices

        now, until, budget = time.monotonic(), None, context.memory_bytes
        if context.deadline is not None:
            until = now + BUILD_SHARE * (context.deadline - now)

        def report() -> None:
            done, known = self.state["expanded"][0], self.state["nodes"][0]
            context.progress(done, None, f"{done:,} of {known:,} subtables known so far expanded")

        # the values per node that will be asked for count, too
        over = (
            budget is not None
            and self.arrays.bytes_used() + self.per_node * int(self.state["nodes"][0]) > budget
        )
        with self.arrays.moved_by(until):
            spent = (
                "bytes"
                if over
                else run_slices(
                    self._work_for_a_slice, lambda: self._enlarge_arrays(budget), until, report
                )
            )
        return self.make_graph(spent if self.state["frames"][0] else "")

    def _work_for_a_slice(self) -> int:
        """Expand subtables for a slice, and return how it ended
        (:mod:`arboretum.kernels.solving.slices`).  Raises what an impurity without a kernel has
        raised.
        """
        from arboretum_decision_tables.exact.row_kernels import expand_subtables

        graph = self.kernels.Graph(self.state, *self.arrays.values())
        end = int(
            expand_subtables(
                self.table, self.track, graph, fewer(SLICE, expand_subtables), *self.scratch
            )
        )
        self.space.raise_from_impurity()
        return end

    def _enlarge_arrays(self, budget: int | None) -> bool:
        """Make room for the next subtable, as much as the kernel has asked for; False when that
        exceeds the budget in bytes.

        budget : of the arrays and the values that will be asked for; None: no limit.
        """
        used = dict(zip(sure(self.state.dtype.names), self.state.tolist()[0], strict=True))
        need = used["need"]
        nodes = used["nodes"] + need
        wanted = {
            "size": nodes,
            "mass": nodes,
            "start": nodes,
            "stream": used["stream"] + need,
            "slots": 2 * nodes,
            "leaf_slots": 2 * (used["leaves"] + need) if self.track else 0,
            "frames": used["frames"] + 1,
            "pending": used["pending"] + need,
            "rows": used["rows"] + used["need_rows"],
        }
        free = None if budget is None else budget - self.per_node * used["nodes"]
        return self.arrays.make_room(wanted, free)

    def make_graph(self, stopped: str) -> Graph:
        """Return what is known so far, with the nodes in the order of their size.

        stopped : what ran out, or "interrupt"; "" when the graph is whole.
        """
        n, arrays = int(self.state["nodes"][0]), self.arrays
        # few bits sort fastest
        size = arrays["size"][:n].astype(np.uint16 if self.space.n_objects < 1 << 16 else np.int32)
        order = np.argsort(size, kind="stable").astype(np.int32)
        return Graph(
            space=self.space,
            size=arrays["size"][:n],
            mass=arrays["mass"][:n],
            start=arrays["start"][:n],
            stream=arrays["stream"][: int(self.state["stream"][0])],
            order=order,
            slots=arrays["slots"],
            stopped=stopped,
            leaves=int(self.state["leaves"][0]) if self.track else -1,
        )
