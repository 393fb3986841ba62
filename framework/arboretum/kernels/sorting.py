"""Sort a run of values together with the objects they belong to; divide objects, or entries of
sorted columns, by outcome::

    split_two, for each item: write it to items[left] and to spare[right]
        left ← left + 1 for outcome 0;  right ← right + 1 for outcome 1
    split_many, for each item, o its outcome: spare[start[o]] ← item;  start[o] ← start[o] + 1
    split_shared, for each outcome o that has items of its own:
        append the items of outcome o, and those of none, in their order

Invariants: division is stable.  ``goes`` has an outcome for each object among the items.  ``left``
never passes the item at hand, so that none is overwritten before it is read.  ``start`` holds first
places before and after a division; spare has room for all items that are written.
"""

import numpy as np

from arboretum.kernels.jit import inline, inner, jit


@jit(inner=True)
def sort_run(keys, rows):
    """Sort ``keys`` ascending and ``rows`` with them, stably, in place."""
    order = np.argsort(keys, kind="mergesort")
    keys[:], rows[:] = keys[order], rows[order]


@inline
def split_two(items, mask, goes, spare):
    """Move items of outcome 0 to the front, stably, and those of outcome 1 to ``spare``; return how
    many are left.

    items : integers, whose bits under ``mask`` are objects.
    goes : outcome 0 or 1 by object.
    spare : of the items' type, [≥ len(items)].

    What lies behind the items that are left is stale until :func:`take_back`.  There is no branch:
    nobody could predict it.
    """
    left, right = np.uintp(0), np.uintp(0)
    for j in range(len(items)):
        item = items[j]
        g = np.uintp(goes[np.uintp(item & mask)])
        spare[right] = item
        items[left] = item
        right += g
        left += np.uintp(1) - g
    return left


@inline
def take_back(items, left, spare):
    """Put what :func:`split_two` moved to ``spare`` behind the first ``left`` items."""
    for j in range(np.uintp(len(items)) - left):
        items[left + np.uintp(j)] = spare[j]


@inner
def split_many(items, mask, goes, start, spare):
    """Sort items stably by outcome, in place.

    mask : the bits of an item that are its object.
    goes : outcome by object, below arity.
    start : int64[arity + 1], first places of the outcomes, and the number of items.
    spare : scratch of the items' type, [≥ len(items)].
    """
    for j in range(len(items)):
        o = goes[np.uintp(items[j] & mask)]
        spare[start[o]] = items[j]
        start[o] += 1
    for o in range(len(start) - 1, 0, -1):  # each has moved on to the next one's first place
        start[o] = start[o - 1]
    start[0] = 0
    for j in range(len(items)):
        items[j] = spare[j]


@inner
def split_shared(items, m, mask, goes, start, spare):
    """Sort the first m items stably by outcome, in place; those of outcome ``arity``, which have
    none, go to every outcome that has others, in their order.

    items, spare : with room for all that are written, which may be more than m.
    mask, goes : as in :func:`split_many`.
    start : int64[arity + 1]; an outcome has items of its own where start[o + 1] > start[o].
    """
    arity, to = len(start) - 1, np.uintp(0)
    for o in range(arity):
        if start[o + 1] > start[o]:
            for j in range(m):
                item = items[j]
                g = np.int64(goes[np.uintp(item & mask)])
                spare[to] = item
                to += np.uintp((g == o) | (g == arity))
    for j in range(to):
        items[j] = spare[j]


@inline
def split(items, mask, goes, start, spare):
    """Sort items stably by outcome, in place, by the faster way for two outcomes or that for many.

    mask, goes, spare : as in :func:`split_many`.
    start : int64[arity + 1], first places; of two outcomes its length alone is read.
    """
    if len(start) == 3:
        take_back(items, split_two(items, mask, goes, spare), spare)
    else:
        split_many(items, mask, goes, start, spare)
