"""What a search over intervals of cuts leaves for a proof: bounds of the sides of the cuts that it
looked at first.

A proof shows what it takes from here, so that a wrong bound would cost time and nothing else.  Of
two levels below a side it counts the rest by itself; of three it has to search there, and bounds of
the sides' own cuts, found the same way, did not help: ct_raisin within 4 levels, λ = .05, was
written as fast without them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.solving.fingerprints import enter, random_words
from arboretum_gosdt.continuous.search import IntervalSearch

WORD = 1 << 64


class Sides(NamedTuple):
    """A memo of sets of rows.

    words : uint64[rows, 2], random; slots : see :mod:`arboretum.kernels.solving.fingerprints`.
    bound : int64, by number, what trees cost at least, a price of every leaf included.
    """

    words: np.ndarray
    slots: np.ndarray
    bound: np.ndarray


def sides_of_cuts(search: IntervalSearch, turn: int) -> Sides:
    """Return what is known of the sides of the cuts of a search.

    turn : what the first sum is raised by for each test that may follow.
    """
    words, known = random_words(len(search.weights)), dict[tuple[int, int], int]()
    column, cut, low = search.root_cuts()
    raised = (search.depth - 1) * turn
    for at, k, *lows in zip(column.tolist(), cut.tolist(), *low.tolist(), strict=True):
        left = search.columns[at] <= k
        for side, least in zip((left, ~left), lows, strict=True):
            one, two = words[side].sum(axis=0, dtype=np.uint64).tolist()
            key = (one + raised) % WORD, two
            known[key] = max(known.get(key, 0), least + search.price)
    slots = np.zeros((1 << (2 * len(known) + 1).bit_length(), 2), np.uint64)
    for number, (one, two) in enumerate(known):
        enter(slots, np.uint64(one), np.uint64(two), number)
    return Sides(words, slots, np.array([*known.values(), 0], np.int64))
