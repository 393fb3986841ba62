"""Where is a numeric column cut?  Every rule returns edges; bin k holds ``edges[k−1] < value ≤
edges[k]``.

A rule sees the distinct values in ascending order.  Formulas that put a value on an edge into the
upper bin are translated: an edge always lies in ``[largest value of the lower bin, smallest of the
upper bin)``, so codes and raw tests agree on every row to the last bit.
"""

import math
from collections.abc import Callable

import numpy as np

from arboretum.api import midpoints as between

MAX_PASSES = 300
RELATIVE_TOLERANCE = 1e-4
"""k-means centres that move less than this share of the variance (sum of squares) are final:
scikit-learn's defaults.
"""
NARROWEST_BIN = 1e-8
"""A bin narrower than this is merged with its neighbour, as scikit-learn does."""


def midpoints(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return float64[n]: a number in ``[low, high)`` for each pair: the threshold that greedy
    search would ask, to the last bit.
    """
    return between(np.stack([low, high], axis=1))


def edges_between(distinct: np.ndarray, bins: np.ndarray, nominal: np.ndarray) -> np.ndarray:
    """Return edges that separate ascending ``bins`` of the values; a nominal edge where one fits,
    else a midpoint.

    distinct : float[n], ascending; bins : of each.
    nominal : float[·], ascending, at least one.
    """
    last = np.flatnonzero(np.diff(bins))
    low, high = distinct[last], distinct[last + 1]
    place = np.minimum(np.searchsorted(nominal, low, side="left"), len(nominal) - 1)
    wanted = nominal[place].astype(distinct.dtype)
    return np.where((wanted >= low) & (wanted < high), wanted, midpoints(low, high))


def all_midpoints(distinct: np.ndarray) -> np.ndarray:
    """Between all neighbouring values."""
    return midpoints(distinct[:-1], distinct[1:])


def bucketised(distinct: np.ndarray, class_counts: np.ndarray) -> np.ndarray:
    """Return the midpoints only between neighbours whose objects are not all of one and the same
    class.

    distinct : float[n_distinct], ascending.
    class_counts : int64[n_distinct, n_classes].

    A tree limited in size or depth can need another cut: with these edges alone the optimum may be
    lost (Lin et al. 2020, Theorem 3.1).
    """
    pure = np.count_nonzero(class_counts, axis=1) == 1
    label = class_counts.argmax(axis=1)
    same = pure[:-1] & pure[1:] & (label[:-1] == label[1:])
    return np.asarray(all_midpoints(distinct)[~same])


def quantile(distinct: np.ndarray, counts: np.ndarray, n_bins: int) -> np.ndarray:
    """At the quantiles 1/n, …, (n − 1)/n (linear interpolation); equal edges become one."""
    wanted = np.unique(np.quantile(np.repeat(distinct, counts), np.arange(1, n_bins) / n_bins))
    bins = np.searchsorted(wanted, distinct, side="left")
    return edges_between(distinct, bins, wanted)


def equal_width_floor(distinct: np.ndarray, n_bins: int) -> np.ndarray:
    """``floor(n · (v − min) / (max − min))``, the maximum in the last bin."""
    low, width = distinct[0], distinct[-1] - distinct[0]
    bins = np.minimum(np.floor(n_bins * (distinct - low) / width), n_bins - 1)
    return edges_between(distinct, bins, low + width * np.arange(1, n_bins) / n_bins)


def equal_width_round(distinct: np.ndarray, n_bins: int) -> np.ndarray:
    """Return the edges of the bins ``round((n − 1) · (v − min) / (max − min))``: n levels, the
    outer two half as wide (Nan et al. 2015, §5).

    distinct : float[·], ascending, two values at least; n_bins : n.
    """
    low, width = distinct[0], distinct[-1] - distinct[0]
    bins = np.round((n_bins - 1) * (distinct - low) / width)
    return edges_between(distinct, bins, low + width * (np.arange(1, n_bins) - 0.5) / (n_bins - 1))


def kmeans(
    distinct: np.ndarray, counts: np.ndarray, rows: np.ndarray, n_bins: int, *, elkan: bool = False
) -> np.ndarray:
    """Edges half-way between the centres, started from those of equal-width bins: the bins of
    scikit-learn's ``KBinsDiscretizer``.

    In one dimension a cluster is a stretch of sorted values, so a pass costs one binary search per
    centre and prefix sums instead of a distance per row and centre, and the result does not depend
    on the number of threads.

    distinct : float[n], ascending.
    counts : int64[n], rows per value.
    rows : float[n_rows], the known values as they stand: the last bit of their mean decides where a
        value lies half-way between two of the first centres, and their order which of equally far
        rows fills an empty cluster.
    elkan : decide values half-way between two of the first centres (common where a column holds
        whole numbers) as Elkan's algorithm does, scikit-learn's default before 1.1, else as
        Lloyd's; where they go decides to which optimum the passes lead.
    """
    if len(distinct) <= n_bins:
        return all_midpoints(distinct)
    centres = kmeans_centres(
        distinct.astype(float),
        counts.astype(float),
        rows.astype(float),
        n_bins,
        elkan,
    )
    bounds = np.concatenate([distinct[:1], (centres[1:] + centres[:-1]) / 2, distinct[-1:]])
    inner = bounds[np.ediff1d(bounds, to_begin=np.inf) > NARROWEST_BIN][1:-1]
    bins = np.searchsorted(inner, distinct, side="right")
    return edges_between(distinct, bins, inner)


def kmeans_centres(
    values: np.ndarray, weight: np.ndarray, rows: np.ndarray, n_bins: int, elkan: bool
) -> np.ndarray:
    """Return float64[n_bins], ascending: the centres at which the passes stop.

    values : float64[n], ascending; weight : rows of each.
    rows, elkan : as of :func:`kmeans`.
    """
    mean = rows.mean()
    x = values - mean
    tolerance = RELATIVE_TOLERANCE * np.average(x**2, weights=weight)
    bounds = np.linspace(values[0], values[-1], n_bins + 1)
    centres = (bounds[1:] + bounds[:-1]) / 2 - mean
    mass, moment = np.append(0.0, np.cumsum(weight)), np.append(0.0, np.cumsum(x * weight))
    previous: np.ndarray = np.empty(0)
    for _ in range(MAX_PASSES):
        # loop invariant: cluster order[k] is the stretch [start[k], start[k + 1]) of x;
        # centres[order] ascends
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
    return np.asarray(np.sort(centres) + mean)


def nearer_by_lloyd(v: float, low: float, high: float) -> bool:
    """Is the upper centre nearer?  By c² − 2vc, which leaves out v²."""
    return low * low - 2.0 * (v * low) > high * high - 2.0 * (v * high)


def nearer_by_elkan(v: float, low: float, high: float) -> bool:
    """Return whether the upper of two centres, ``low`` and ``high``, is nearer to v.  By distances,
    and looked at only if the lower one is farther than half-way between them.
    """
    between = math.sqrt(max(-2.0 * (low * high) + low * low + high * high, 0.0))
    return abs(v - low) > between / 2.0 and abs(v - high) < abs(v - low)


def assign(
    x: np.ndarray, centres: np.ndarray, nearer_high: Callable[[float, float, float], bool]
) -> np.ndarray:
    """Return int64[n_bins + 1]: where each cluster's stretch of ``x`` starts; ``centres`` ascend.

    A value half-way between two centres is decided by floating-point numbers (``nearer_high(value,
    lower, upper)``), so that the choice is scikit-learn's; equal distances go to the lower centre.
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


def fill_empty(
    x: np.ndarray,
    value_of_row: np.ndarray,
    centres: np.ndarray,
    owner: np.ndarray,
    size: np.ndarray,
    total: np.ndarray,
) -> None:
    """Move the rows farthest from their centres, one each, into the empty clusters; changes
    ``size`` and ``total``.

    value_of_row : int64[n_rows], index into ``x``.
    owner : int64[len(x)], the cluster of each value.
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
    """Return float64[n_bins]: the new centres.

    size, total : float64[n_bins], weight and moment of each cluster.

    A cluster that is still empty takes the place of the largest one, as in scikit-learn 1.9, whose
    loop reaches clusters before the largest when that one's sum is not yet divided; kept so,
    because published bins came from it.
    """
    largest = int(np.argmax(size))
    moved: np.ndarray = np.divide(total, size, out=total.copy(), where=size > 0)
    for cluster in np.flatnonzero(size <= 0):
        moved[cluster] = total[largest] if cluster < largest else moved[largest]
    return moved


def mdl(distinct: np.ndarray, class_counts: np.ndarray) -> np.ndarray:
    """Edges of the recursive partition by entropy, stopped by description length (Fayyad & Irani
    1993); empty when not even the first cut pays for its description.

    distinct : float[n], ascending.
    class_counts : int64[n, n_classes], rows per value and class.
    """
    cumulative = np.vstack([np.zeros(class_counts.shape[1]), np.cumsum(class_counts, axis=0)])
    cuts: list[int] = []
    stretches = [(0, len(distinct))]
    while stretches:
        low, high = stretches.pop()
        cut = best_cut(cumulative[low : high + 1])
        if cut is not None:
            cuts.append(low + cut)
            stretches += [(low, low + cut), (low + cut, high)]
    at = np.sort(np.array(cuts, dtype=np.int64))
    return midpoints(distinct[at - 1], distinct[at])


def best_cut(cumulative: np.ndarray) -> int | None:
    """Return the number of values left of the cut with the lowest class entropy, or None when it is
    not accepted.

    cumulative : float64[n + 1, n_classes], class counts of the first 0 … n values of the stretch,
        up to a constant.

    Accepted (MDLPC): gain > (log2(N − 1) + log2(3^k − 2) − (k·Ent(S) − k1·Ent(S1) − k2·Ent(S2))) /
    N.
    """
    counts = cumulative - cumulative[0]
    total = counts[-1]
    left, right = counts[1:-1], total - counts[1:-1]
    n = total.sum()
    if len(left) == 0 or n < 2:
        return None
    entropy_left, entropy_right = entropy(left), entropy(right)
    mixed = (left.sum(axis=1) * entropy_left + right.sum(axis=1) * entropy_right) / n
    best = int(np.argmin(mixed))
    whole = float(entropy(total[None])[0])
    k, k1, k2 = (int(np.count_nonzero(c)) for c in (total, left[best], right[best]))
    choices = np.log2(3.0**k - 2) if k < 500 else k * np.log2(3.0)  # 3^k leaves float64 at k = 646
    delta = choices - (k * whole - k1 * entropy_left[best] - k2 * entropy_right[best])
    return best + 1 if whole - mixed[best] > (np.log2(n - 1) + delta) / n else None


def entropy(counts: np.ndarray) -> np.ndarray:
    """Return float64[n]: entropy in bits of each row of ``counts``, [n, classes]; 0 for an empty
    row.
    """
    total = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)
    bits = share * np.log2(share, out=np.zeros_like(share), where=share > 0)
    return np.asarray(-np.sum(bits, axis=1))
