"""A problem as the compared systems see it: two-way tests as bits, rows that agree on all of
them as one, costs in whole numbers.
"""

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from arboretum.api import (
    BudgetError,
    Context,
    Ended,
    Problem,
    TwoWay,
    sure,
    within_bytes,
)

SETUP_STEPS = 4
"""So many times the steps of laying out the outcomes, until a search has divided a first set."""


def words_of(outcome: np.ndarray) -> np.ndarray:
    """Return uint64[tests + 1, words]: the groups that each test sends to outcome 1 as bits, in the
    last row all groups.

    outcome : bool[tests, groups].
    """
    (tests, groups), filled = outcome.shape, -(-outcome.shape[1] // 8)
    words = np.zeros((tests + 1, max(1, -(-groups // 64))), np.uint64)
    words.view(np.uint8)[:-1, :filled] = np.packbits(outcome, axis=1, bitorder="little")
    words.view(np.uint8)[-1, :filled] = np.packbits(np.ones(groups, bool), bitorder="little")
    return words


def room_of(context: Context, needed: int, what: str) -> int:
    """Return the bytes that a solver may allocate beside ``needed`` ones for ``what``, without
    which it cannot begin; raises BudgetError for too few.
    """
    most = sure(within_bytes(context).memory_bytes)
    if needed > most:
        ways = "raise budget.memory_mb, or ask fewer tests (encoder=bins)"
        raise BudgetError(
            f"{what} take {needed / 1e6:,.0f} MB, and the budget is {most / 1e6:,.0f} MB; {ways}"
        )
    return most - needed


def four_rows(problem: Problem, cost: int, leaf: int) -> TwoWay:
    """Two tests of four rows of two classes or more, to load kernels on.

    cost, leaf : of an error, and of a leaf.
    """
    outcome = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], bool)
    own = cost * (1 - np.eye(4, problem.objects.n_classes, dtype=np.int64))
    rows = np.arange(4), own, leaf, np.ones(4, np.int64)
    return TwoWay(problem, outcome, np.arange(2), *rows, Fraction(1))


class InSlices:
    """A search that is left and entered again, slice by slice
    (:mod:`arboretum.kernels.solving.slices`).

    A slice does little at first, then what takes some 50 ms.
    """

    SECONDS = 0.05
    _amount = 1

    def steps_of(self, amount: int) -> int:
        """Do about so much; FINISHED, PAUSED or NEED_ROOM."""
        raise NotImplementedError

    def make_room(self, memory_bytes: int) -> bool:
        """Room for the next slice; False where it would take more than so many bytes."""
        raise NotImplementedError

    def work(self) -> int:
        """Do a slice; returns how it ended."""
        from arboretum.kernels.solving.slices import PAUSED

        start = time.perf_counter()
        found = self.steps_of(self._amount)
        if found == PAUSED:
            spent = max(1e-9, time.perf_counter() - start)
            self._amount = max(1, int(self._amount * min(4.0, self.SECONDS / spent)))
        return found

    def run(self, room: int, context: Context, report: Callable[[], None] = lambda: None) -> Ended:
        """Work to the end, in ``room`` bytes; return how that ended.

        report : called after every stretch of work.
        """
        from arboretum.kernels.solving.slices import run_slices

        return Ended.of(
            lambda: run_slices(self.work, lambda: self.make_room(room), context.deadline, report)
        )
