"""The arrays of a sparse search: its levels and its scratch (:mod:`.node`), uninitialised."""

import numpy as np
from numpy.typing import DTypeLike

from arboretum.kernels.solving.arrays import Arrays
from arboretum_gosdt.sparse.masked_counts import KINDS
from arboretum_gosdt.sparse.node import NODE, PART, SparseScratch


def shapes_of_level(
    kind: type,
    stride: int,
    n_words: int,
    positions: int,
    n_planes: int,
    groups: int,
    priced: bool,
) -> dict[str, tuple[DTypeLike, tuple[int, ...]]]:
    """Return dtype and shape of a level's part of each array of ``SparseLevels``, by name.

    kind : dtype of a lane, uint16, uint32 or int64.
    stride : lanes of a level, a multiple of PART.
    n_words, positions : words of a feature, and rows that a level can hold.
    n_planes, groups : of the weights, see :mod:`.pair_counts`.
    priced : whether tests have prices; without them the arrays of prices are empty.
    """
    prices = stride if priced else 0
    return {
        "words": (kind, (n_words * stride,)),
        "full": (kind, (n_words,)),
        "rows": (np.uint32, (stride // PART * positions,)),
        "sums": (np.uint64, (2 * positions,)),
        "starts": (np.int64, (groups + 1,)),
        "features": (np.int32, (stride,)),
        "totals": (kind, (n_planes,)),
        "counts": (kind, (n_planes * stride,)),
        "both": (kind, (stride * n_planes * stride,)),
        "alive": (kind, (stride,)),
        "two": (kind, (2 * stride,)),
        "upper": (np.int64, (2 * stride,)),
        "low": (np.int64, (2 * stride,)),
        "many": (np.int64, (2 * stride,)),
        "test_bound": (np.int64, (stride,)),
        "test_cost": (np.int64, (prices,)),
        "mass": (np.int64, (2 * prices,)),
        "more": (np.int64, (2 * prices,)),
        "rank": (np.int64, (stride,)),
        "lane": (np.int32, (stride,)),
        "keys": (np.uint64, (stride, 2)),
        "seen": (np.uint16, (stride,)),
        "node": (NODE, ()),
        "node_key": (np.uint64, (2,)),
    }


def allocate_levels(levels: int, shapes: dict[str, tuple[DTypeLike, tuple[int, ...]]]) -> Arrays:
    """Return the arrays of ``SparseLevels``, by name, uninitialised.

    levels : how many.   shapes : of a level (:func:`shapes_of_level`).
    """
    return Arrays(
        {name: np.empty((levels, *shape), dtype) for name, (dtype, shape) in shapes.items()},
        tables=(),
    )


def allocate_scratch(
    kind: type, lanes: int, stride: int, n_words: int, n_planes: int
) -> SparseScratch:
    """Return the arrays of ``SparseScratch``, uninitialised but for ``never``.

    lanes : of a vector; other arguments as of :func:`shapes_of_level`.
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
        sides=np.empty(2, kind),
        numbers=np.empty(2 * stride, np.int64),
    )
