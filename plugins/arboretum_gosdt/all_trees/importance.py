"""How much the loss of a tree grows where the values of a column are those of any object instead of
an object's own (numba kernel).

With T the tests of the column that the tree asks, and w(v) the mass of object v::

    every leaf says the answer that loses least on its objects; own = the loss of the tree
    patterns = the objects that differ in outcomes of T, each with the mass of all that do not
    grown = Σ over patterns v of w(v) / w(all) · Σ over objects u of
                the loss of u in the leaf that it comes to with v's outcomes of T   − own

Invariants: a tree is its tests in preorder, −1 for a leaf, the side of outcome 1 first.  Where T
has more than BITS tests every object is a pattern of its own.  numba checks no index: ``room`` has
places for all nodes and all objects.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import inner, jit

BITS = 62
"""Bits of a code: so many tests of one column are told apart by it."""


class Compared(NamedTuple):
    """The table that trees are compared on.

    outcome : uint8[objects, tests].
    column : int64[tests], that each asks.
    loss : int64[objects, answers].
    mass : int64[objects].
    """

    outcome: np.ndarray
    column: np.ndarray
    loss: np.ndarray
    mass: np.ndarray


class Room(NamedTuple):
    """Room for a tree, written.

    second : int64[nodes], the node of outcome 0; answer : int64[nodes], of leaves.
    sums : int64[nodes, answers], what answers lose there.
    seen : int64[tests], the last column for which a test was met.
    waiting : int64[nodes].
    code, mass : int64[objects], of patterns; pattern : int64[objects], an object of each.
    """

    second: np.ndarray
    answer: np.ndarray
    sums: np.ndarray
    seen: np.ndarray
    waiting: np.ndarray
    code: np.ndarray
    mass: np.ndarray
    pattern: np.ndarray


def room_for(compared: Compared) -> Room:
    """Return room for the trees on a table."""
    (n, answers), kind = compared.loss.shape, np.int64
    return Room(
        second=np.empty(2 * n, kind),
        answer=np.empty(2 * n, kind),
        sums=np.empty((2 * n, answers), kind),
        seen=np.empty(len(compared.column), kind),
        waiting=np.empty(2 * n, kind),
        code=np.empty(n, kind),
        mass=np.empty(n, kind),
        pattern=np.empty(n, kind),
    )


@jit(borrow=True)
def grow_losses(tests, compared, room, grown):
    """Write by how much the loss of a tree grows to ``grown``, float64[columns], 0 for those that
    it does not ask.

    tests : int64[nodes], in preorder.
    """
    n, column = compared.loss.shape[0], compared.column
    lay_out(tests, room)
    room.sums[: tests.shape[0]] = 0
    for u in range(n):
        at = leaf_of(tests, compared, room.second, u, u, np.int64(-1))
        for c in range(compared.loss.shape[1]):
            room.sums[at, c] += compared.loss[u, c]
    own, total = np.int64(0), np.int64(0)
    for at in range(tests.shape[0]):
        if tests[at] < 0:
            room.answer[at] = 0
            for c in range(compared.loss.shape[1]):
                if room.sums[at, c] < room.sums[at, room.answer[at]]:
                    room.answer[at] = c
            own += room.sums[at, room.answer[at]]
    for v in range(n):
        total += compared.mass[v]
    grown[:] = 0.0
    room.seen[:] = -1
    for first in range(tests.shape[0]):
        if tests[first] < 0 or room.seen[tests[first]] >= 0:
            continue
        asked, loss = column[tests[first]], 0.0
        for k in range(group_objects(tests, compared, room, asked)):
            lost = np.int64(0)
            for u in range(n):
                at = leaf_of(tests, compared, room.second, u, room.pattern[k], asked)
                lost += compared.loss[u, room.answer[at]]
            loss += lost * (room.mass[k] / total)
        grown[asked] = loss - own


@inner
def lay_out(tests, room):
    """Find the node of outcome 0 of every inner node; that of outcome 1 is the next."""
    top = np.int64(0)
    for at in range(tests.shape[0]):
        if tests[at] >= 0:
            room.waiting[top] = at
            top += 1
        elif top > 0:
            top -= 1
            room.second[room.waiting[top]] = at + 1


@inner
def leaf_of(tests, compared, second, own, other, asked):
    """Return the leaf that object ``own`` comes to, with the outcomes of object ``other`` where the
    tests are those of the column ``asked``.
    """
    at = np.int64(0)
    while tests[at] >= 0:
        r = other if compared.column[tests[at]] == asked else own
        at = at + 1 if compared.outcome[r, tests[at]] == 1 else second[at]
    return at


@inner
def group_objects(tests, compared, room, asked):
    """Write an object of each pattern of the tree's tests of a column, and the mass of all alike;
    returns how many there are.

    ``seen`` of these tests becomes the column.
    """
    n, found, bits = compared.mass.shape[0], np.int64(0), np.int64(0)
    room.code[:n] = 0
    for at in range(tests.shape[0]):
        f = tests[at]
        if f >= 0 and compared.column[f] == asked and room.seen[f] < 0:
            room.seen[f] = asked
            bits += 1
            for v in range(n if bits <= BITS else 0):
                room.code[v] = room.code[v] << 1 | np.int64(compared.outcome[v, f])
    for v in range(n):
        code, k = room.code[v], np.int64(0)
        while bits <= BITS and k < found and room.code[room.pattern[k]] != code:
            k += 1
        k = found if bits > BITS else k
        if k == found:
            room.pattern[k], room.mass[k] = v, 0
            found += 1
        room.mass[k] += compared.mass[v]
    return found
