"""Kernels that can be left and entered again: they work for some tens of milliseconds, then the
clock is looked at::

    until the time is over:
        found ← work()
        if FINISHED: done;  if NEED_ROOM: make arrays longer, or give up

Invariant: whatever a kernel returns, its arrays hold all that it needs to go on; the next call
resumes there.  NEED_ROOM is returned before anything is written for which there is no room.
"""

import math
import time
from collections.abc import Callable

from arboretum.errors import OutOfTime
from arboretum.kernels.plain import fewer

FINISHED, NEED_ROOM, PAUSED = 0, 1, 2
"""What a slice returns: nothing is left to do; an array is too short for the next step; it has
worked long enough.
"""


def work_in_pieces(kernel: Callable, steps: int, work: Callable[[int], int]) -> int:
    """Work so many steps long, and return how that ended.  A kernel that is interpreted takes them
    piece by piece, between which patience is looked at, so that slices are as long for who counts
    them.

    work : calls ``kernel`` for so many steps, and returns FINISHED, NEED_ROOM or PAUSED.
    """
    found, left = PAUSED, steps
    while found == PAUSED and left > 0:
        piece = min(left, max(1, fewer(steps, kernel)))
        found, left = work(piece), left - piece
    return found


def run_slices(
    work: Callable[[], int],
    make_room: Callable[[], bool],
    until: float | None,
    report: Callable[[], None],
    most: float = math.inf,
) -> str:
    """Work slice by slice; return "" when finished, else what ran out, "seconds", "bytes" or
    "slices".  To go on, call it again.

    work : works for some tens of milliseconds and returns FINISHED, NEED_ROOM or PAUSED.
    make_room : called after NEED_ROOM; False where there are no bytes for it.  It may raise
        OutOfTime.
    until : ``time.monotonic()`` value, or None.
    report : called after every slice.
    most : slices.
    """
    done = 0
    while until is None or time.monotonic() < until:
        if done >= most:
            return "slices"
        found, done = work(), done + 1
        report()
        if found == FINISHED:
            return ""
        try:
            if found == NEED_ROOM and not make_room():
                return "bytes"
        except OutOfTime:
            return "seconds"
    return "seconds"
