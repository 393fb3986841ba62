"""The arrays of a sparse search: its levels and its scratch (:mod:`.node`), uninitialised."""

import numpy as np
from numpy.typing import DTypeLike

from arboretum.kernels.solving.arrays import Arrays
from arboretum_gosdt.sparse.masked_counts import KINDS
from arboretum_gosdt.sparse.node import NODE, PART, SparseScratch


def allocate_levels(
    kind: type,
    levels: int,
    stride: int,
    n_words: int,
    positions: int,
    n_planes: int,
    groups: int,
    priced: bool,
) -> Arrays:
    """Return the arrays of ``SparseLevels``, by name, uninitialised.

    kind : dtype of a lane, uint16 or uint32.
    levels : how many; 0 to see what one takes.
    stride : lanes of a level, a multiple of PART.
    n_words, positions : words of a feature, and rows that a level can hold.
    n_planes, groups : of the weights, see :mod:`.pair_counts`.
    priced : whether tests have prices; without them the arrays of prices are empty.
    """
    prices = stride if priced else 0

    def level(kind_of: DTypeLike, *shape: int) -> np.ndarray:
        return np.empty((levels, *shape), kind_of)

    return Arrays(
        {
            "words": level(kind, n_words * stride),
            "full": level(kind, n_words),
            "rows": level(np.uint32, stride // PART * positions),
            "sums": level(np.uint64, 2 * positions),
            "starts": level(np.int64, groups + 1),
            "features": level(np.int32, stride),
            "totals": level(kind, n_planes),
            "counts": level(kind, n_planes * stride),
            "both": level(kind, stride * n_planes * stride),
            "alive": level(kind, stride),
            "two": level(kind, 2 * stride),
            "upper": level(np.int64, 2 * stride),
            "low": level(np.int64, 2 * stride),
            "many": level(np.int64, 2 * stride),
            "test_bound": level(np.int64, stride),
            "test_cost": level(np.int64, prices),
            "mass": level(np.int64, 2 * prices),
            "more": level(np.int64, 2 * prices),
            "rank": level(np.int64, stride),
            "lane": level(np.int32, stride),
            "keys": level(np.uint64, stride, 2),
            "seen": level(np.uint16, stride),
            "node": level(NODE),
            "node_key": level(np.uint64, 2),
        },
        tables=(),
    )


def allocate_scratch(
    kind: type, lanes: int, stride: int, n_words: int, n_planes: int
) -> SparseScratch:
    """Return the arrays of ``SparseScratch``, uninitialised but for ``never``.

    lanes : of a vector; other arguments as of ``allocate_levels``.
    """
    return SparseScratch(
        row=np.empty(stride, kind),
        two=np.empty(2 * stride, kind),
        three=np.empty(2 * stride, kind),
        mask=np.empty(n_words, kind),
        child=np.empty(n_words, kind),
        some=np.empty(n_planes, kind),
        least=np.empty(2, kind),
        alive=np.empty(stride, kind),
        cells=np.empty(6 * stride, kind),
        gone=np.empty(2 * stride, np.int64),
        fits=np.empty(KINDS * stride // lanes, np.int64),
        never=np.array([np.iinfo(kind).max], kind),
        rest=np.empty(n_words, kind),
        totals=np.empty(n_planes, kind),
        left=np.empty(n_planes, kind),
        part=np.empty(6 * stride, kind),
        counts=np.empty(n_planes * stride, kind),
        counted=np.empty(n_planes * stride, kind),
        fitting=np.empty(KINDS * stride // lanes, np.int64),
        allowed=np.empty(2, kind),
    )
