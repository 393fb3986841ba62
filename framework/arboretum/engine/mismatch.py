"""What verification says where something does not come out; and whether the data was changed
while components worked on it.
"""

from __future__ import annotations

import math
import zlib
from typing import NoReturn

import attrs
import numpy as np

from arboretum.errors import VerificationError
from arboretum.model.encoded import Encoded, Prices
from arboretum.model.table import Table


def fail(rule: str, recomputed: object = None) -> NoReturn:
    """Raise VerificationError.   rule : what must hold, and what is reported instead."""
    found = "" if recomputed is None else f", recomputed {recomputed}"
    raise VerificationError(f"verification failed: {rule}{found}; please report this run's record")


def at_every_node(
    rule: str, holds: np.ndarray, reported: np.ndarray, own: np.ndarray | None = None
) -> None:
    """Fail for the first node where it does not hold.

    rule : what must hold, and what is shown of ``reported``: "max_depth is 3: depth".
    holds : bool[n_nodes].
    reported, own : [n_nodes, …]; own None: nothing is recomputed, so nothing else is shown.
    """
    if not holds.all():
        node = int(np.argmin(holds))
        fail(
            f"node {node}: {rule}: reported {reported[node].tolist()}",
            None if own is None else own[node].tolist(),
        )


def equal(what: str, reported: float, own: float, slack: float) -> None:
    """Fail unless both are the same number.   slack : relative, absolute below 1."""
    if not (math.isfinite(own) and abs(reported - own) <= slack * max(1.0, abs(own))):
        fail(f"{what}: reported {reported}", own)


def at_most(rule: str, low: float, high: float, slack: float) -> None:
    """Fail unless ``low`` is at most ``high``, which is finite; ``slack`` as of :func:`equal`."""
    if not (math.isfinite(high) and low <= high + slack * max(1.0, abs(high))):
        fail(f"{rule}: {low} is above {high}")


@attrs.frozen(eq=False)
class Seal:
    """Checksums of all that components may read, taken before and compared after.

    Arrays are handed out read-only, but whoever holds one can switch its flag back, and encoders
    keep arrays of their own.  A copy would double the memory; a CRC-32 of 1 GB takes less than a
    second, and misses a change once in 2³² times. ``sums[i]`` are those of ``values[i]``, name of
    an array → number.
    """

    values: tuple[Table | Encoded | Prices, ...] = ()
    sums: tuple[dict[str, int], ...] = ()

    def over(self, *values: Table | Encoded | Prices) -> Seal:
        """This seal, and one on what the values hold now."""
        return Seal((*self.values, *values), (*self.sums, *map(_checksums_of_arrays, values)))

    def check(self, who: str) -> None:
        """Raise VerificationError unless everything is as it was sealed.

        who : had it in the meantime.
        """
        for value, sums in zip(self.values, self.sums, strict=True):
            now = _checksums_of_arrays(value)
            changed = [name for name in sums if now.get(name) != sums[name]]
            if changed:
                raise VerificationError(
                    f"verification failed: {', '.join(changed[:3])} changed while {who} had them, "
                    "so its result is not that of the data loaded; a component must copy what it "
                    "changes"
                )


def _checksums_of_arrays(value: Table | Encoded | Prices) -> dict[str, int]:
    """Return the CRC-32 of each array of a table, of encoded objects or of prices, by its name."""
    arrays: dict[str, np.ndarray | None]
    if isinstance(value, Table):
        arrays = {f"column {column.name!r}": column.values for column in value.columns}
        arrays |= {"target codes": value.target.codes, "target values": value.target.values}
        arrays |= {"row weights": value.weights, "groups": value.groups, **value.roles}
    else:
        room = "objects" if isinstance(value, Encoded) else "prices"
        arrays = {
            f"{room}.{field.name}": getattr(value, field.name)
            for field in attrs.fields(type(value))
        }
    # in the order of memory, so that nothing is copied
    kept = {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}
    return {
        name: zlib.crc32(np.ravel(array, order="K").view(np.uint8).data)
        for name, array in kept.items()
    }
