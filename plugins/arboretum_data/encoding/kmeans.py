"""k-means bins of one column: Lloyd's algorithm on sorted values, the same bins as scikit-learn's ``KBinsDiscretizer``.

In one dimension a cluster is a stretch of sorted values, so a pass costs one binary search per centre and prefix sums
instead of a distance per row and centre, and the result does not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np

from arboretum_data.encoding.cuts import all_midpoints, edges_between

MAX_PASSES = 300
RELATIVE_TOLERANCE = 1e-4
"""Centres that move less than this share of the variance (sum of squares) are final: scikit-learn's defaults."""
NARROWEST_BIN = 1e-8
"""A bin narrower than this is merged with its neighbour, as scikit-learn does."""


def kmeans(distinct: np.ndarray, counts: np.ndarray, n_bins: int) -> np.ndarray:
    """Edges half-way between the centres; started from the centres of equal-width bins.

    distinct : float[n], ascending.   counts : int64[n], rows per value.
    """
    if len(distinct) <= n_bins:
        return all_midpoints(distinct)
    centres = kmeans_centres(distinct.astype(np.float64), counts.astype(np.float64), n_bins)
    bounds = np.concatenate([distinct[:1], (centres[1:] + centres[:-1]) / 2, distinct[-1:]])
    inner = bounds[np.ediff1d(bounds, to_begin=np.inf) > NARROWEST_BIN][1:-1]
    bins = np.searchsorted(inner, distinct, side="right")
    return edges_between(distinct, bins, inner)


def kmeans_centres(values: np.ndarray, weight: np.ndarray, n_bins: int) -> np.ndarray:
    """float64[n_bins], ascending: the centres at which Lloyd's algorithm stops."""
    mean = np.average(values, weights=weight)
    x = values - mean
    tolerance = RELATIVE_TOLERANCE * np.average(x**2, weights=weight)
    bounds = np.linspace(values[0], values[-1], n_bins + 1)
    centres = (bounds[1:] + bounds[:-1]) / 2 - mean
    mass, moment = np.append(0.0, np.cumsum(weight)), np.append(0.0, np.cumsum(x * weight))
    previous = None
    for _ in range(MAX_PASSES):
        # loop invariant: centres ascending; cluster k is the stretch [start[k], start[k + 1]) of x
        start = np.concatenate([[0], np.searchsorted(x, (centres[1:] + centres[:-1]) / 2, side="right"), [len(x)]])
        size, total = np.diff(mass[start]), np.diff(moment[start])
        if np.any(size == 0):
            size, total = _fill_empty(x, weight, centres, start, size, total)
        moved = np.sort(np.divide(total, size, out=np.zeros_like(total), where=size > 0))
        shift, centres = ((moved - centres) ** 2).sum(), moved
        if (previous is not None and np.array_equal(start, previous)) or shift <= tolerance:
            break
        previous = start
    return centres + mean


def _fill_empty(x, weight, centres, start, size, total):
    """Move the rows farthest from their centres, one each, into the empty clusters (scikit-learn's rule)."""
    empty = np.flatnonzero(size == 0)
    owner = np.repeat(np.arange(len(centres)), np.diff(start))
    distance = (x - centres[owner]) ** 2
    size, total = size.copy(), total.copy()
    left = weight.copy()
    for cluster in empty:
        far = int(np.argmax(np.where(left > 0, distance, -1.0)))
        if distance[far] == 0:
            break
        left[far] -= 1
        total[owner[far]] -= x[far]
        size[owner[far]] -= 1
        total[cluster], size[cluster] = x[far], 1.0
    return size, total
