"""Whole rows down a tree whose tests read one column each, all rows of a chunk one level at a
time::

    for each chunk of rows: all of them stand at the root
        while rows walk:
            for each of them, at a node v:
                slot ← number of v's cuts below the value, the last slot for NaN; or its code + 2
                to ← the answer in that slot of v
                rest[row] ← ~to;  if to ≥ 0, the row walks on from there

Invariants: rows that walk are the first of ``at``, in their order; a row that goes on is never
written behind the one at hand, so that none is lost.  ``rest`` is final once the row walks no more.
Addresses are those of columns that the caller keeps, and codes are −2 or more: nothing is checked.
"""

from collections.abc import Callable, Sequence
from ctypes import c_double, c_float, c_int32
from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.lazy import LazyIntrinsic

CHUNK = 1024  # rows that walk together: what they carry stays in the first cache
DOUBLE, SINGLE, CODE = range(3)


class Steps(NamedTuple):
    """What each node asks, and where the answers lead.

    address, stride, form : int64, int64, int8[n_nodes]: where the values of its column lie, in
        bytes, and whether they are float64, float32 or int32.
    low, high : int32[n_nodes], its part of ``cuts``.
    cuts : float64[], ascending within a node.
    first : int32[n_nodes], its part of ``to``.
    to : int32[], an inner node, or ~node (below 0) where a row comes to rest.  Of a number the
        places are those between the cuts ("≤" goes below), then NaN; of a code those of −2, −1, 0,
        ….
    """

    address: np.ndarray
    stride: np.ndarray
    form: np.ndarray
    low: np.ndarray
    high: np.ndarray
    cuts: np.ndarray
    first: np.ndarray
    to: np.ndarray


def _load(name: str, own: type[c_double | c_float | c_int32]) -> Callable:
    """An intrinsic (address) → the value of that type of numba's that lies there: columns of
    several types need no copy, and no kernel of their own.
    """

    def load(typingctx, address):
        from numba import types

        kind = getattr(types, name)

        def codegen(context, builder, signature, args):
            pointer = context.get_value_type(kind).as_pointer()
            return builder.load(builder.inttoptr(args[0], pointer))

        return kind(types.int64), codegen

    return LazyIntrinsic(load, lambda address: own.from_address(int(address)).value)


_double, _single, _code = (
    _load("float64", c_double),
    _load("float32", c_float),
    _load("int32", c_int32),
)


def rest_of_rows(steps: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
    """int64[n_rows]: the node where each row comes to rest.

    steps : as :class:`Steps`, of a root that asks; the caller keeps the columns.
    """
    rest, at = np.empty(n_rows, np.int64), np.empty((2, CHUNK), np.int64)
    _walk(Steps(*steps), at, rest)
    return rest


@jit(borrow=True)
def _walk(steps, at, rest):
    """at : int64[2, CHUNK], scratch: rows that still walk, and their nodes.

    Every row writes where it would rest at every level, and only those that go on are kept: there
    is no branch to be guessed wrong. Positions are unsigned, since numba's test for negative ones
    costs a third.
    """
    here, now = np.uintp(0), np.uintp(1)
    for start in range(0, len(rest), CHUNK):
        walking = min(CHUNK, len(rest) - start)
        for j in range(walking):
            at[here, np.uintp(j)], at[now, np.uintp(j)] = start + j, 0
        while walking > 0:
            kept = np.uintp(0)
            for j in range(walking):
                row, node = at[here, np.uintp(j)], np.uintp(at[now, np.uintp(j)])
                place = steps.address[node] + row * steps.stride[node]
                if steps.form[node] == CODE:
                    slot = np.int64(_code(place)) + 2
                else:
                    x = _double(place) if steps.form[node] == DOUBLE else np.float64(_single(place))
                    low, high = steps.low[node], steps.high[node]
                    slot = (high - low + 1) * (x != x)
                    for c in range(low, high):
                        slot += x > steps.cuts[np.uintp(c)]
                to = np.int64(steps.to[np.uintp(steps.first[node] + slot)])
                rest[np.uintp(row)] = ~to
                at[here, kept], at[now, kept] = row, to
                kept += np.uintp(to >= 0)
            walking = np.int64(kept)
