"""Arrays by name that grow within a budget of bytes::

    for each array that is too short:
        length ← the next power of two
        if all arrays together, old and new, exceed the budget: False, with all that is there kept
        if it would still be moving at the end of the time: OutOfTime, with all kept
        copy the old one to the front of the new one; a hash table is entered anew

Invariants: what lies behind the part that was copied is not initialised; hash tables are filled
with 0.  An array that was handed out before it moved is stale: take it again after ``make_room``.
"""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from arboretum.errors import OutOfTime

FRESH_BYTES = 4e8
"""Bytes that are written for the first time in a second, page faults included: 2.5 to 3.8
seconds per GB were measured, filled or copied.
"""


class Arrays:
    """Arrays that are doubled where they are too short; hash tables of :mod:`.fingerprints` are
    entered anew.

    tables : which are hash tables.
    peak : most bytes held at once, both copies of an array that moved among them.
    """

    def __init__(
        self, arrays: Mapping[str, np.ndarray], tables: tuple[str, ...] = ("slots",)
    ) -> None:
        self._arrays, self._tables, self._until = dict(arrays), tables, math.inf
        self.peak = self.bytes_used()

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def values(self) -> tuple[np.ndarray, ...]:
        """All of them, in the order in which they were given."""
        return tuple(self._arrays.values())

    def bytes_used(self) -> int:
        """Bytes that all arrays hold together."""
        return sum(array.nbytes for array in self._arrays.values())

    @contextmanager
    def moved_by(self, until: float | None) -> Iterator[None]:
        """Inside, raise OutOfTime instead of moving an array that would still be moving at this
        ``time.monotonic()`` value.

        until : None for no such time, as outside.
        """
        self._until = math.inf if until is None else until
        try:
            yield
        finally:
            self._until = math.inf

    def make_room(self, wanted: Mapping[str, int], budget: int | None) -> bool:
        """Make every array at least so long; False, with all that is there kept, when that exceeds
        the budget in bytes.

        wanted : name → length of its first axis.
        budget : bytes of all arrays together; None without one.

        Raises OutOfTime, with all kept, inside :meth:`moved_by`, since no clock is looked at while
        an array moves.
        """
        for name, length in wanted.items():
            old = self._arrays[name]
            if length <= len(old):
                continue
            longer = 1 << (length - 1).bit_length()
            then = self.bytes_used() + old.nbytes // len(old) * longer
            if budget is not None and then > budget:
                return False
            written = (longer if name in self._tables else len(old)) * (old.nbytes // len(old))
            if time.monotonic() + written / FRESH_BYTES > self._until:
                raise OutOfTime(
                    f"the budget of seconds ends before {written / 1e6:,.0f} MB are moved; "
                    "raise budget.seconds"
                )
            self.peak = max(self.peak, then)
            # without zeros NumPy asks for huge pages
            new = np.empty((longer, *old.shape[1:]), old.dtype)
            if name in self._tables:
                from arboretum.kernels.solving.fingerprints import rehash

                new.fill(0)
                rehash(old, new)
            else:
                new[: len(old)] = old
            self._arrays[name] = new
        return True
