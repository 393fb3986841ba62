"""k-means bins of one column on sorted values, the same bins as scikit-learn's ``KBinsDiscretizer``.

In one dimension a cluster is a stretch of sorted values, so a pass costs one binary search per centre and prefix sums
instead of a distance per row and centre, and the result does not depend on the number of threads.

Values half-way between two of the first centres are common where a column holds whole numbers (on 0 to 15 the first five
centres have 3, 6, 9 and 12 between them), and where they go decides to which optimum the passes lead.  scikit-learn's two
algorithms take them differently: Lloyd's, its default since 1.1, and Elkan's, the one before.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from arboretum_data.encoding.cuts import all_midpoints, edges_between

MAX_PASSES = 300
RELATIVE_TOLERANCE = 1e-4
"""Centres that move less than this share of the variance (sum of squares) are final: scikit-learn's defaults."""
NARROWEST_BIN = 1e-8
"""A bin narrower than this is merged with its neighbour, as scikit-learn does."""


def kmeans(distinct: np.ndarray, counts: np.ndarray, rows: np.ndarray, n_bins: int, *, elkan: bool = False) -> np.ndarray:
    """Edges half-way between the centres; started from the centres of equal-width bins.

    distinct : float[n], ascending.   counts : int64[n], rows per value.   rows : float[n_rows], the known values as
        they stand: the last bit of their mean decides where a value lies half-way between two of the first centres, and
        their order which of equally far rows fills an empty cluster.
    elkan : decide half-way values as Elkan's algorithm does, else as Lloyd's.
    """
    if len(distinct) <= n_bins:
        return all_midpoints(distinct)
    centres = kmeans_centres(distinct.astype(np.float64), counts.astype(np.float64), rows.astype(np.float64), n_bins, elkan)
    bounds = np.concatenate([distinct[:1], (centres[1:] + centres[:-1]) / 2, distinct[-1:]])
    inner = bounds[np.ediff1d(bounds, to_begin=np.inf) > NARROWEST_BIN][1:-1]
    bins = np.searchsorted(inner, distinct, side="right")
    return edges_between(distinct, bins, inner)


def kmeans_centres(values: np.ndarray, weight: np.ndarray, rows: np.ndarray, n_bins: int, elkan: bool) -> np.ndarray:
    """float64[n_bins], ascending: the centres at which the passes stop."""
    mean = rows.mean()
    x = values - mean
    tolerance = RELATIVE_TOLERANCE * np.average(x**2, weights=weight)
    bounds = np.linspace(values[0], values[-1], n_bins + 1)
    centres = (bounds[1:] + bounds[:-1]) / 2 - mean
    mass, moment = np.append(0.0, np.cumsum(weight)), np.append(0.0, np.cumsum(x * weight))
    previous = np.empty(0)
    for _ in range(MAX_PASSES):
        # loop invariant: cluster order[k] is the stretch [start[k], start[k + 1]) of x; centres[order] ascends
        order = np.argsort(centres, kind="stable")
        start = assign(x, centres[order], nearer_by_elkan if elkan else nearer_by_lloyd)
        size, total = np.empty(n_bins), np.empty(n_bins)
        size[order], total[order] = np.diff(mass[start]), np.diff(moment[start])
        owner = np.repeat(order, np.diff(start))
        if np.any(size == 0):
            fill_empty(x, np.searchsorted(values, rows), centres, owner, size, total)
        moved = averages(size, total)
        shift, centres = ((moved - centres) ** 2).sum(), moved
        if np.array_equal(owner, previous) or shift <= tolerance:
            break
        previous = owner
    return np.sort(centres) + mean


def nearer_by_lloyd(v: float, low: float, high: float) -> bool:
    """Is the upper centre nearer?  By c² − 2vc, which leaves out v²."""
    return low * low - 2.0 * (v * low) > high * high - 2.0 * (v * high)


def nearer_by_elkan(v: float, low: float, high: float) -> bool:
    """Is the upper centre nearer?  By distances, and looked at only if the lower one is farther than half-way between them."""
    between = math.sqrt(max(-2.0 * (low * high) + low * low + high * high, 0.0))
    return abs(v - low) > between / 2.0 and abs(v - high) < abs(v - low)


def assign(x: np.ndarray, centres: np.ndarray, nearer_high: Callable[[float, float, float], bool]) -> np.ndarray:
    """int64[n_bins + 1]: where each cluster's stretch of ``x`` starts; ``centres`` ascend.

    A value half-way between two centres is decided by floating-point numbers (``nearer_high(value, lower, upper)``), so that
    the choice is scikit-learn's; equal distances go to the lower centre.
    """
    cut = np.searchsorted(x, (centres[1:] + centres[:-1]) / 2, side="right")
    for k in range(len(cut) - 1, -1, -1):
        low, high = centres[k], centres[k + 1]
        if low == high:  # the first of equal centres takes everything
            cut[k] = cut[k + 1] if k + 1 < len(cut) else len(x)
            continue
        if cut[k] > 0 and nearer_high(x[cut[k] - 1], low, high):
            cut[k] -= 1
        elif 0 < cut[k] < len(x) and not nearer_high(x[cut[k]], low, high):
            cut[k] += 1
    return np.concatenate([[0], np.maximum.accumulate(cut), [len(x)]])


def fill_empty(x, value_of_row, centres, owner, size, total) -> None:
    """Move the rows farthest from their centres, one each, into the empty clusters; changes ``size`` and ``total``.

    value_of_row : int64[n_rows], index into ``x``.   owner : int64[len(x)], the cluster of each value.
    """
    empty = np.flatnonzero(size == 0)
    distance = ((x - centres[owner]) ** 2)[value_of_row]
    if distance.max() == 0:
        return
    farthest = np.argpartition(distance, -len(empty))[: -len(empty) - 1 : -1]
    for cluster, far in zip(empty, value_of_row[farthest], strict=True):
        total[owner[far]] -= x[far]
        size[owner[far]] -= 1
        total[cluster], size[cluster] = x[far], 1.0


def averages(size: np.ndarray, total: np.ndarray) -> np.ndarray:
    """float64[n_bins]: the new centres.

    A cluster that is still empty takes the place of the largest one, as in scikit-learn 1.9, whose loop reaches
    clusters before the largest when that one's sum is not yet divided; kept so, because published bins came from it.
    """
    largest = int(np.argmax(size))
    moved = np.divide(total, size, out=total.copy(), where=size > 0)
    for cluster in np.flatnonzero(size <= 0):
        moved[cluster] = total[largest] if cluster < largest else moved[largest]
    return moved
