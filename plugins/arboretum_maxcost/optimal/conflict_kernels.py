"""Conflict sets: of every object some rivals, no two of which are divided from it by the same
test::

    for x in low … high − 1:
        number[y] ← how many tests divide y from x, 0 for one that is no rival
        for y by rising number (sorted by counting, ties in the order of the objects):
            number[y] > tests that divide no rival yet, LONGEST rivals, or no room: stop
            if no test that divides y from x is used:
                y is a rival, with the price of the cheapest such test; use all of them
        conflict[x + 1] ← end

Invariants: the rivals of x are conflict_row[conflict[x] : conflict[x + 1]], and ``conflict`` never
falls; conflict[low] is set by the call before (0 at first).  A test t is used in the conflict set
of x where used[t] = x, so that nothing is cleared between objects.  ``begin`` has a place for every
number from 0 to all tests, and one more.
"""

import numpy as np

from arboretum.kernels.jit import inner, jit
from arboretum.kernels.solving.rows import EQUALS, MULTIWAY

LONGEST = 64
"""Rivals of an object at most."""


@inner
def tests_dividing_pair(table, one, other, used, stamp, mark):
    """Return (number of tests that divide two objects, price of the cheapest), or (−1, ·) where one
    of these tests is used already.

    table : MaxCostTable; one, other : objects.
    used : int64[tests]; a test is used where it holds ``stamp``.
    mark : whether to use these tests now, that is, to write ``stamp`` there.
    """
    number, least = np.int64(0), np.int64(1) << 60
    for f in range(table.codes.shape[0]):
        a, b = np.int64(table.codes[f, one]), np.int64(table.codes[f, other])
        if a == b:
            continue
        first, family = table.features[f].first_test, table.features[f].family
        low, high, step = min(a, b), max(a, b), np.int64(1)
        if family == MULTIWAY:
            low, high = 0, 1
        elif family == EQUALS:
            high, step = high + 1, high - low
        for k in range(low, high, step):
            if used[first + k] == stamp:
                return np.int64(-1), least
            if mark:
                used[first + k] = stamp
            number += 1
            least = min(least, table.price[first + k])
    return number, least


@inner
def count_tests_dividing_from(table, x, apart, number):
    """Count how many tests divide each object from x; 0 for one that is no rival.

    apart : bool[n], objects that are nobody's rivals; nor are those of the same class.
    number : out, int64[n].
    """
    number[:] = 0
    for f in range(table.codes.shape[0]):
        column, family = table.codes[f], table.features[f].family
        here = np.int64(column[x])
        for y in range(len(number)):
            far = abs(np.int64(column[y]) - here)
            number[y] += (
                min(far, 1) if family == MULTIWAY else 2 * min(far, 1) if family == EQUALS else far
            )
    for y in range(len(number)):
        if apart[x] or apart[y] or table.rows[y].purity == table.rows[x].purity:
            number[y] = 0


@jit(borrow=True)
def list_conflicts(
    table, apart, used, number, order, begin, low, high, conflict, conflict_row, conflict_price
):
    """List the conflict sets of the objects low … high − 1, nearest rivals first.

    table : MaxCostTable, whose own ``conflict…`` are not read.
    apart : bool[n], objects that belong to no conflict set.
    used : int64[tests], −1 before the first call, stamps then.
    number, order : int64[n], begin : int64[tests + 2], overwritten.
    conflict, conflict_row, conflict_price : out, as in ``MaxCostTable``; a set ends where the last
        two are full.
    """
    end = conflict[low]
    for x in range(low, high):
        count_tests_dividing_from(table, x, apart, number)
        begin[:] = 0
        for y in range(len(number)):
            begin[number[y] + 1] += 1
        for k in range(1, len(begin)):
            begin[k] += begin[k - 1]
        first = begin[1]
        for y in range(len(number)):
            order[begin[number[y]]] = y
            begin[number[y]] += 1
        left = np.int64(len(used))  # tests that divide no rival of the conflict set
        for k in range(first, len(order)):
            y = order[k]
            if number[y] > left or end - conflict[x] == LONGEST or end == len(conflict_row):
                break
            count, price = tests_dividing_pair(table, x, y, used, np.int64(x), False)
            if count > 0:
                conflict_row[end], conflict_price[end] = y, price
                tests_dividing_pair(table, x, y, used, np.int64(x), True)
                left -= count
                end += 1
        conflict[x + 1] = end
