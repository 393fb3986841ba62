"""Least loss + λ · leaves over trees of binary tests: the sparse search (Lin et al. 2020, and beyond)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from arboretum.kernels.solving.arrays import Arrays
from arboretum.kernels.solving.fingerprints import random_words
from arboretum.kernels.solving.slices import run_slices
from arboretum_gosdt.sparse_kernel import KNOWN, LEVEL, N_STATE, EXPANDED, Memo, search
from arboretum_gosdt.sparse_node import BEST, BUDGET, DEPTH, N_NODE, NEVER, UNLIMITED, WEIGHT, Data, Levels, Scratch

SLICE = 3_000_000
LEVELS = 12
SMALL = 65_534
"""Greatest total weight for lanes of 16 bits."""


def groups_of(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows by class and power of two: (rows, sizes of groups, class of group, shift of group)."""
    rows, sizes, of_class, shifts = [], [], [], []
    for k in range(weights.shape[1]):
        column = weights[:, k]
        for b in range(int(column.max(initial=0)).bit_length()):
            found = np.flatnonzero(column >> b & 1)
            if len(found):
                rows.append(found)
                sizes.append(len(found))
                of_class.append(k)
                shifts.append(b)
    return np.concatenate(rows), np.array(sizes), np.array(of_class), np.array(shifts)


class SparseSearch:
    """Minimise q · loss + p · leaves.

    bits : uint32[rows, ceil(features / 32)].   weights : int64[rows, classes], what a label saves; least of a row 0.
    depth : tests on a path, at most; None: any number.
    """

    def __init__(self, bits: np.ndarray, weights: np.ndarray, n_features: int, p: int, q: int, depth: int | None = None) -> None:
        self._bits, self._weights = bits, weights
        total, classes = int(weights.sum()), weights.shape[1]
        kind = np.uint16 if total <= SMALL else np.uint32
        word_bits, lanes = kind().itemsize * 8, 64 // kind().itemsize
        rows, sizes, group_class, shifts = groups_of(weights)
        parts = bits.shape[1]
        support = p // q + 1
        of_class = np.searchsorted(group_class, np.arange(classes + 1))
        saving = np.array([min(support, np.iinfo(kind).max)], kind)
        words_of = -(-sizes // word_bits)
        n_words, stride = int(words_of.sum()) + len(sizes), parts * 32
        positions = (n_words + 1) * word_bits
        numbers = np.array([parts, classes, word_bits, q, p, support, positions, lanes], np.int64)
        self._data = Data(of_class, shifts, saving, numbers)

        def level(kind_of: type, *shape: int) -> np.ndarray:
            return np.empty((LEVELS, *shape), kind_of)

        self._levels = Arrays({
            "words": level(kind, n_words * stride), "full": level(kind, n_words), "rows": level(np.uint32, parts * positions), "sums": level(np.uint64, 2 * positions),
            "starts": level(np.int64, len(sizes) + 1), "features": level(np.int32, n_features), "totals": level(kind, classes),
            "counts": level(kind, classes * stride), "both": level(kind, n_features * classes * stride), "alive": level(kind, stride),
            "upper": level(np.int64, 2 * stride), "low": level(np.int64, 2 * stride), "many": level(np.int64, 2 * stride),
            "pair": level(np.int64, stride), "rank": level(np.int64, stride), "keys": level(np.uint64, n_features, 2),
            "seen": level(np.int8, stride), "node": level(np.int64, N_NODE), "node_key": level(np.uint64, 2),
        }, tables=())  # fmt: skip
        self._memo = Arrays({"slots": np.zeros((2048, 2), np.uint64), "lower": np.empty(1024, np.int64), "upper": np.empty(1024, np.int64), "test": np.empty(1024, np.int32)})
        self._scratch = Scratch(
            np.empty(parts * 32, kind), np.empty(2 * stride + 1, kind), np.empty(2 * stride + 1, kind),
            np.empty(n_words, kind), np.empty(n_words, kind), np.empty(classes, kind), np.empty(6 * stride, kind), np.empty(2 * stride // lanes, np.int64),
        )  # fmt: skip
        levels = Levels(*self._levels.values())
        levels.starts[0] = np.concatenate([[0], np.cumsum(words_of)])
        place = np.concatenate([first * word_bits + np.arange(size) for first, size in zip(levels.starts[0], sizes)])
        levels.rows[0], levels.sums[0], levels.full[0] = 0, 0, 0
        levels.rows[0].reshape(parts, positions)[:, place] = bits[rows].T
        levels.sums[0].reshape(2, positions)[:, place] = random_words(len(rows)).T
        np.bitwise_or.at(levels.full[0], place // word_bits, (1 << place % word_bits).astype(kind))
        levels.totals[0] = weights.sum(axis=0)
        levels.node[0] = 0
        levels.node[0, WEIGHT], levels.node[0, BUDGET], levels.node[0, DEPTH] = total, NEVER, UNLIMITED if depth is None else depth
        levels.node_key[0] = 0
        self._state = np.zeros(N_STATE, np.int64)
        self._p, self._q = p, q
        self.lower, self.upper = 0, q * (total - int(weights.sum(axis=0).max())) + p

    @property
    def subproblems(self) -> int:
        return int(self._state[EXPANDED])

    @property
    def bytes_used(self) -> int:
        return self._levels.bytes_used() + self._memo.bytes_used()

    def run(self, until: float | None, memory_bytes: int | None, tell: Callable[[int, int], None]) -> str:
        def work() -> int:
            return search(self._data, Levels(*self._levels.values()), self._scratch, Memo(*self._memo.values()), self._state, SLICE)

        def make_room() -> bool:
            level = int(self._state[LEVEL])
            known = int(self._state[KNOWN]) + max(level + 3, len(self._levels["node"])) + 1
            wanted = {"slots": 2 * known, "lower": known, "upper": known, "test": known}
            left = None if memory_bytes is None else memory_bytes - self._levels.bytes_used()
            if not self._memo.make_room(wanted, left):
                return False
            left = None if memory_bytes is None else memory_bytes - self._memo.bytes_used()
            return self._levels.make_room(dict.fromkeys(self._levels._arrays, level + 3), left)

        def told() -> None:
            self.upper = min(self.upper, int(self._levels["node"][0, BEST])) if self._state[EXPANDED] else self.upper
            tell(self.lower, self.upper)

        ended = run_slices(work, make_room, until, told)
        if ended == "":
            self.lower = self.upper = int(self._levels["node"][0, BEST])
        return ended
