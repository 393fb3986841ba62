"""Where is a numeric column cut?  Every rule returns edges; bin k holds ``edges[k−1] < value ≤ edges[k]``.

A rule sees the distinct values in ascending order.  Formulas that put a value on an edge into the upper bin are
translated: an edge always lies in ``[largest value of the lower bin, smallest of the upper bin)``, so codes and raw
tests agree on every row to the last bit.
"""

from __future__ import annotations

import numpy as np


def midpoints(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A number in ``[low, high)`` for each pair, the mean where it can be had; same dtype as the arguments.

    Raw tests compare in the dtype of the column, so the midpoint is taken in it: between neighbouring floats the mean
    may round up to ``high``, and then ``low`` itself is the cut.
    """
    with np.errstate(over="ignore"):
        mean = low + (high - low) / 2
    mean = np.where(np.isfinite(mean), mean, low / 2 + high / 2)
    return np.where((mean >= low) & (mean < high), mean, low).astype(low.dtype)


def edges_between(distinct: np.ndarray, bins: np.ndarray, nominal: np.ndarray) -> np.ndarray:
    """Edges that separate ascending ``bins`` of the values; a nominal edge where one fits, else a midpoint."""
    last = np.flatnonzero(np.diff(bins))
    low, high = distinct[last], distinct[last + 1]
    place = np.minimum(np.searchsorted(nominal, low, side="left"), len(nominal) - 1)
    wanted = nominal[place].astype(distinct.dtype)
    return np.where((wanted >= low) & (wanted < high), wanted, midpoints(low, high))


def all_midpoints(distinct: np.ndarray) -> np.ndarray:
    """Between all neighbouring values."""
    return midpoints(distinct[:-1], distinct[1:])


def bucketised(distinct: np.ndarray, class_counts: np.ndarray) -> np.ndarray:
    """Only between neighbours whose objects are not all of one and the same class.

    class_counts : int64[n_distinct, n_classes].  A tree limited in size or depth can need another cut: with these edges
    alone the optimum may be lost (Lin et al. 2020, Theorem 3.1).
    """
    pure = np.count_nonzero(class_counts, axis=1) == 1
    label = class_counts.argmax(axis=1)
    same = pure[:-1] & pure[1:] & (label[:-1] == label[1:])
    return all_midpoints(distinct)[~same]


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
    """``round((n − 1) · (v − min) / (max − min))``: n levels, the outer two half as wide (Nan et al. 2015, §5)."""
    low, width = distinct[0], distinct[-1] - distinct[0]
    bins = np.round((n_bins - 1) * (distinct - low) / width)
    return edges_between(distinct, bins, low + width * (np.arange(1, n_bins) - 0.5) / (n_bins - 1))
