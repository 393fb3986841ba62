"""Arrays by name that grow within a budget of bytes."""

from collections.abc import Mapping

import numpy as np


class Arrays:
    """Arrays that are doubled where they are too short; hash tables of :mod:`.fingerprints` are entered anew.

    tables : which are hash tables.   peak : most bytes held at once, both copies of an array that moved among them.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], tables: tuple[str, ...] = ("slots",)) -> None:
        self._arrays, self._tables = dict(arrays), tables
        self.peak = self.bytes_used()

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def values(self) -> tuple[np.ndarray, ...]:
        """All of them, in the order in which they were given."""
        return tuple(self._arrays.values())

    def bytes_used(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())

    def make_room(self, wanted: Mapping[str, int], budget: int | None) -> bool:
        """Make every array at least so long; False, with all that is there kept, when that exceeds the budget in bytes."""
        for name, length in wanted.items():
            old = self._arrays[name]
            if length <= len(old):
                continue
            longer = 1 << (length - 1).bit_length()
            then = self.bytes_used() + old.nbytes // len(old) * longer
            if budget is not None and then > budget:
                return False
            self.peak = max(self.peak, then)
            new = np.empty((longer, *old.shape[1:]), old.dtype)  # without zeros NumPy asks for huge pages
            if name in self._tables:
                from arboretum.kernels.solving.fingerprints import rehash

                new.fill(0)
                rehash(old, new)
            else:
                new[: len(old)] = old
            self._arrays[name] = new
        return True
