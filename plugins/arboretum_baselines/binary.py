"""A problem as the compared systems see it: two-way tests as bits, rows that agree on all of
them as one, costs in whole numbers.
"""

import time
from collections.abc import Callable

import numpy as np

from arboretum.api import (
    BudgetError,
    Context,
    Ended,
    sure,
    within_bytes,
)

SETUP_STEPS = 4
"""So many times the steps of laying out the outcomes, until a search has divided a first set."""


def words_of(outcome: np.ndarray) -> np.ndarray:
    """uint64[tests + 1, words]: the groups that each test of bool[tests, groups] sends to
    outcome 1 as bits, in the last row all groups.
    """
    (tests, groups), filled = outcome.shape, -(-outcome.shape[1] // 8)
    words = np.zeros((tests + 1, max(1, -(-groups // 64))), np.uint64)
    words.view(np.uint8)[:-1, :filled] = np.packbits(outcome, axis=1, bitorder="little")
    words.view(np.uint8)[-1, :filled] = np.packbits(np.ones(groups, bool), bitorder="little")
    return words


def room_of(context: Context, needed: int, what: str) -> int:
    """Bytes that a solver may allocate beside ``needed`` ones for ``what``, without which it
    cannot begin; raises BudgetError for too few.
    """
    most = sure(within_bytes(context).memory_bytes)
    if needed > most:
        ways = "raise budget.memory_mb, or ask fewer tests (encoder=bins)"
        raise BudgetError(
            f"{what} take {needed / 1e6:,.0f} MB, and the budget is {most / 1e6:,.0f} MB; {ways}"
        )
    return most - needed


class Pace:
    """How much a slice of a kernel is to do: little at first, then what takes some 50 ms."""

    SECONDS = 0.05

    def __init__(self) -> None:
        self._amount = 1

    def timed(self, work: Callable[[int], int]) -> int:
        """A slice of ``work(amount)``; returns how it ended."""
        from arboretum.kernels.solving.slices import PAUSED

        start = time.perf_counter()
        found = work(self._amount)
        if found == PAUSED:
            self._amount = max(
                1,
                int(self._amount * min(4.0, self.SECONDS / max(1e-9, time.perf_counter() - start))),
            )
        return found


def run(
    work: Callable[[], int],
    make_room: Callable[[], bool],
    context: Context,
    report: Callable[[], None],
) -> Ended:
    """Work slice by slice (:mod:`arboretum.kernels.solving.slices`), and how that ended."""
    from arboretum.kernels.solving.slices import run_slices

    return Ended.of(lambda: run_slices(work, make_room, context.deadline, report))
