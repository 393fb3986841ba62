"""A memo of bounds: an entry for each set that is known, which its fingerprint finds.

``slots`` is the hash table of :mod:`.fingerprints`; the fields are arrays by the number of the set.
What lies behind the last known set is not initialised.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from arboretum.kernels.solving.arrays import Arrays

FIRST = 1 << 10


class MemoArrays(Arrays):
    """Arrays that grow with the number of sets that are known.

    fields : type of each.
    first : sets that there is room for at the beginning.
    others : further arrays, which are enlarged by name.
    """

    def __init__(
        self,
        fields: Mapping[str, npt.DTypeLike],
        first: int = FIRST,
        tables: tuple[str, ...] = ("slots",),
        **others: np.ndarray,
    ) -> None:
        """Allocate room for ``first`` sets, 0 in all fields; a field's type may have a length per
        set.
        """
        made = {name: np.zeros(first, kind) for name, kind in fields.items()}
        slots = np.zeros((2 * first, 2), np.uint64)
        super().__init__({"slots": slots, **made, **others}, tables)
        self._fields = tuple(fields)

    def take(self, **arrays: np.ndarray) -> None:
        """Hold these arrays from now on, in place of those of the same names."""
        self._arrays.update(arrays)

    def room_for(self, known: int, budget: int | None, **others: int) -> bool:
        """Make room for so many sets, and such lengths of other arrays; False, with all that is
        there kept, where that exceeds the budget in bytes.

        known : sets; the hash table is made twice as long.
        budget : None without one.
        others : name → length.
        Raises OutOfTime as :meth:`make_room` does.
        """
        lengths = dict.fromkeys(self._fields, known)
        return self.make_room({"slots": 2 * known, **lengths, **others}, budget)
