"""Stars: of every object some rivals, no two of which are divided from it by the same test."""

from __future__ import annotations

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.solving.rows import EQUALS, MULTIWAY

LONGEST = 64
"""Rivals of an object at most."""


@jit(inner=True, borrow=True)
def ways(table, x, y, used, stamp, mark):
    """(number of tests that divide two objects, price of the cheapest), or (−1, ·) where one of them is used; ``mark``: use them."""
    number, least = np.int64(0), np.int64(1) << 60
    for f in range(table.codes.shape[0]):
        a, b = np.int64(table.codes[f, x]), np.int64(table.codes[f, y])
        if a == b:
            continue
        first = table.first_test[f]
        family = table.family[f]
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


@jit
def list_stars(table, apart, used, number, low, high, star, star_row, star_price):
    """Fill ``star``, ``star_row``, ``star_price`` (see ``kernels_parts.Table``) of the objects low … high − 1, nearest rivals first.

    apart : bool[n], objects that belong to no star.   used : int64[tests], −1.   number : int64[n], scratch.
    """
    n, end = len(table.label), star[low]
    for x in range(low, high):
        for y in range(n):
            rival = not apart[x] and not apart[y] and table.purity[y] != table.purity[x]
            number[y] = ways(table, x, y, used, np.int64(-2), False)[0] if rival else 1 << 40
        for y in np.argsort(number, kind="mergesort"):
            if number[y] == 1 << 40 or end - star[x] == LONGEST or end == len(star_row):
                break
            if ways(table, x, y, used, np.int64(x), False)[0] > 0:
                star_price[end] = ways(table, x, y, used, np.int64(-3), False)[1]
                star_row[end] = y
                ways(table, x, y, used, np.int64(x), True)
                end += 1
        star[x + 1] = end
