"""Supervised discretisation by entropy with the minimum description length stop (Fayyad & Irani 1993)."""

from __future__ import annotations

import numpy as np

from arboretum_data.encoding.cuts import midpoints


def mdl(distinct: np.ndarray, class_counts: np.ndarray) -> np.ndarray:
    """Edges of the recursive partition; empty when not even the first cut pays for its description.

    distinct : float[n], ascending.   class_counts : int64[n, n_classes], rows per value and class.
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
    """Number of values left of the cut with the lowest class entropy, or None when it is not accepted.

    cumulative : float64[n + 1, n_classes], class counts of the first 0 … n values of the stretch, up to a constant.
    Accepted (eq. for MDLPC): gain > (log2(N − 1) + log2(3^k − 2) − (k·Ent(S) − k1·Ent(S1) − k2·Ent(S2))) / N.
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
    """float64[n]: entropy in bits of each row of counts; 0 for an empty row."""
    total = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)
    return -np.sum(share * np.log2(share, out=np.zeros_like(share), where=share > 0), axis=1)
