"""A sparse search in several threads, each with a memo of its own; after every slice they tell one
another what they found::

    every search: a slice of its own (:mod:`.loop`), closed sets logged
    for each pair of searches, one with room for what the other closed:
        share_bounds: keep each set that was logged, with its bounds and test, in the other's memo
            for each level, down the path of nodes that both are in:
                the other's bounds ← the tighter ones;  the better of both tests is best
                the feature that this search has entered comes last in the other

All work on the whole problem, but a feature that one of them has entered comes last for the others,
and what one has proven of a set, or of the nodes that both are in, the others need not find again.
No memory is written by two threads.

Invariants: while slices run a search reads and writes its own arrays alone; ``share_bounds`` runs
between them, in one thread.  Two levels hold the same node if the nodes and sides above them are
equal, which the walk from the root sees to; only levels that are expanded have bounds by place.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np

from arboretum.api import OutOfTime
from arboretum.kernels.jit import jit
from arboretum.kernels.solving.slices import FINISHED
from arboretum_gosdt.sparse.loop import enter_in_memo
from arboretum_gosdt.sparse.node import EXPANDED_NODE, QUERIED, RANK
from arboretum_gosdt.sparse.search import SparseSearch

LOG = 1 << 14
"""Sets that are closed in a slice, at most."""


@jit(borrow=True)
def share_bounds(levels, memo, state, other_levels, other_memo, other_state):
    """Enter into another search's memo what was closed here, and tighten its bounds of the nodes
    that both are in.

    levels, memo, state : of the search that tells (``kernel_arguments``), with a log; read only.
    other_levels, other_memo, other_state : of the one that is told, written; its memo has room for
        all that is logged.
    Neither search may be running.
    """
    for r in range(state.logged):
        number = np.int64(memo.log[r, 2])
        enter_in_memo(
            other_memo,
            other_state,
            memo.log[r, 0],
            memo.log[r, 1],
            memo.lower[number],
            memo.upper[number],
            memo.test[number],
        )
    for d in range(min(state.level, other_state.level) + 1):
        node, other = levels.node[d], other_levels.node[d]
        if node.state != EXPANDED_NODE or other.state != EXPANDED_NODE:
            return
        for place in range(2 * node.stride):
            other_levels.upper[d, place] = min(other_levels.upper[d, place], levels.upper[d, place])
            other_levels.low[d, place] = max(other_levels.low[d, place], levels.low[d, place])
            other_levels.many[d, place] = max(other_levels.many[d, place], levels.many[d, place])
        for f in range(node.stride):
            other_levels.test_bound[d, f] = max(
                other_levels.test_bound[d, f], levels.test_bound[d, f]
            )
            other_levels.seen[d, f] &= ~np.uint16(QUERIED)
        other.least = max(other.least, node.least)
        if node.best < other.best:
            other.best, other.best_feature = node.best, node.best_feature
        if d == state.level:
            return
        other_levels.rank[d, node.child] %= RANK
        if d == other_state.level or node.child != other.child or node.side != other.side:
            return


class SparseTeam(SparseSearch):
    """A sparse search that others help.

    threads : of the whole team, at least 2.  Other arguments as of :class:`.search.SparseSearch`,
        ``memory_bytes`` of each of them; only this one looks for a greedy tree.
    """

    def __init__(self, threads: int, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._others = [
            SparseSearch(*arguments, **{**options, "greedy": False}) for _ in range(threads - 1)
        ]
        self._share: int | None = None
        self._pool: ThreadPoolExecutor | None = None
        for search in self._searches:
            search.log_closed_sets(LOG)
        # nothing yet, but its kernel is loaded
        share_bounds(*self.kernel_arguments(), *self._others[0].kernel_arguments())

    @property
    def _searches(self) -> list[SparseSearch]:
        return [self, *self._others]

    @property
    def subproblems(self) -> int:
        """Number of sets of rows that were expanded in all threads, as often as each was."""
        return super().subproblems + sum(search.subproblems for search in self._others)

    @property
    def bytes_used(self) -> int:
        """Bytes of the levels and memos of all threads."""
        return super().bytes_used + sum(search.bytes_used for search in self._others)

    def run(
        self,
        until: float | None,
        memory_bytes: int | None,
        report: Callable[[int, int], None],
        slices: float = math.inf,
    ) -> str:
        """Go on as one search does; each thread has the same share of the bytes.

        Arguments and answer are those of :meth:`.search.SparseSearch.run`; ``memory_bytes`` is of
        all threads together.
        """
        self._share = None if memory_bytes is None else memory_bytes // len(self._searches)
        with ThreadPoolExecutor(len(self._others)) as self._pool, ExitStack() as moved:
            for search in self._others:
                moved.enter_context(search.moved_by(until))
            return super().run(until, self._share, report, slices)

    def _run_slice(self) -> int:
        """Work for a slice in all threads, then hand what each has learnt to all others; returns
        FINISHED where one has finished, else how the slice of this one ended.

        The first slice is this search's alone.
        """
        if self._slices == 0 or self._pool is None:  # most problems are solved by one slice
            return super()._run_slice()
        helped = [
            self._pool.submit(search.run_slice_with_room, self._share) for search in self._others
        ]
        ended = [super()._run_slice()]
        wait(helped)
        with suppress(OutOfTime):  # of one that has no time left for more room
            ended += [each.result() for each in helped]
            for search in self._searches:
                for other in self._searches:
                    if other is not search and other.make_room(self._share, LOG):
                        share_bounds(*search.kernel_arguments(), *other.kernel_arguments())
        for search in self._searches:
            search.log_closed_sets(LOG)
        return FINISHED if FINISHED in ended else ended[0]
