"""Which methods differ?  Nemenyi's, Bonferroni and Dunn's, and Wilcoxon's test with Holm's correction.

Source: Demšar 2006, Statistical comparisons of classifiers over multiple data sets, section 3.2.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from arboretum.errors import DataError
from arboretum.measure.ranks import average_ranks, gap_notes
from arboretum.model.scores import AgainstControl, Pairwise, Scores

ALPHA = 0.05
LEAST = 2
"""Methods and data sets below which nothing can be compared."""


def q_nemenyi(k: int, alpha: float = ALPHA) -> float:
    """Quantile of the studentized range of k methods with infinitely many degrees of freedom, divided by √2."""
    from scipy.stats import studentized_range

    _check(k, alpha)
    return float(studentized_range.ppf(1 - alpha, k, np.inf)) / math.sqrt(2)


def q_bonferroni_dunn(k: int, alpha: float = ALPHA) -> float:
    """Quantile of the normal distribution for k − 1 two-sided comparisons with a control."""
    from scipy.stats import norm

    _check(k, alpha)
    return float(norm.isf(alpha / (2 * (k - 1))))


def critical_difference(q: float, k: int, n: int) -> float:
    """q·√(k(k+1)/(6N)): average ranks of k methods over N data sets that are further apart differ.

    Raises DataError unless k ≥ 2 and n ≥ 1.
    """
    if k < LEAST or n < 1:
        raise DataError(f"a critical difference needs k ≥ 2 methods and N ≥ 1 data sets, not k={k}, N={n}")
    return q * math.sqrt(k * (k + 1) / (6 * n))


def nemenyi(scores: Scores, alpha: float = ALPHA) -> Pairwise:
    """All pairs by average ranks: different where they are further apart than the critical difference.

    p by scikit-posthocs, of the same statistic.  Raises DataError for fewer than two methods or data sets, or alpha
    outside (0, 1).
    """
    from scikit_posthocs import posthoc_nemenyi_friedman

    from arboretum.measure.ranks import ranks

    n, k = _shape(scores, alpha)
    average = average_ranks(scores)
    limit = critical_difference(q_nemenyi(k, alpha), k, n)
    p = np.minimum(posthoc_nemenyi_friedman(ranks(scores)).to_numpy(), 1.0)
    different = np.abs(average[:, None] - average[None, :]) > limit
    return Pairwise("Nemenyi", scores.methods, average, p, different, alpha, limit, gap_notes(scores))


def bonferroni_dunn(scores: Scores, control: str, alpha: float = ALPHA) -> AgainstControl:
    """Every method against ``control`` by average ranks.

    p = min(1, (k−1) · 2·(1 − Φ(|R − R_control| / √(k(k+1)/(6N)))).  Raises DataError as :func:`nemenyi`, and for an unknown
    control.
    """
    from scipy.stats import norm

    n, k = _shape(scores, alpha)
    place = scores.method(control)
    average = average_ranks(scores)
    apart = np.abs(average - average[place])
    limit = critical_difference(q_bonferroni_dunn(k, alpha), k, n)
    p = np.minimum((k - 1) * 2 * norm.sf(apart / critical_difference(1.0, k, n)), 1.0)
    p[place] = 1.0
    return AgainstControl(
        "Bonferroni–Dunn", scores.methods, place, average, p, apart > limit, alpha, limit, gap_notes(scores)
    )


def wilcoxon_holm(scores: Scores, alpha: float = ALPHA) -> Pairwise:
    """All pairs by Wilcoxon's signed-rank test of the values themselves, p adjusted by Holm's step-down procedure.

    Unlike the tests of average ranks, what other methods reach does not matter for a pair (Benavoli, Corani and Mangili
    2016).  Two-sided; exact for up to 50 differences without ties; pairs of equal values are left out (Wilcoxon's rule);
    of each pair, data sets on which one has no result are left out, and a note says so.
    Raises DataError where a pair shares so few data sets that its least possible p, 2^(1−N), is above ``alpha``: six are
    needed for 0.05.
    """
    _, k = _shape(scores, alpha)
    pairs = list(itertools.combinations(range(k), 2))
    raw, least = np.empty(len(pairs)), math.ceil(1 - math.log2(alpha) - 1e-12)
    for at, (i, j) in enumerate(pairs):
        difference = scores.values[:, i] - scores.values[:, j]
        difference = difference[~np.isnan(difference)]
        if len(difference) < least:
            raise DataError(
                f"Wilcoxon's test cannot find {scores.methods[i]!r} and {scores.methods[j]!r} different at alpha={alpha:g}: "
                f"they share {len(difference)} data sets, and {least} are the least; add data sets, or use nemenyi"
            )
        raw[at] = _signed_rank(difference)
    p, different = np.ones((k, k)), np.zeros((k, k), dtype=bool)
    for (i, j), value in zip(pairs, holm(raw), strict=True):
        p[i, j] = p[j, i] = value
        different[i, j] = different[j, i] = value <= alpha
    return Pairwise("Wilcoxon–Holm", scores.methods, average_ranks(scores), p, different, alpha, None, _limits(scores, alpha))


def _signed_rank(difference: np.ndarray) -> float:
    """Two-sided p; 1 where all values agree (scipy has no answer there)."""
    from scipy.stats import wilcoxon

    return float(wilcoxon(difference).pvalue) if difference.any() else 1.0


def _limits(scores: Scores, alpha: float) -> tuple[str, ...]:
    notes = []
    n, k = scores.values.shape
    count = k * (k - 1) // 2
    if count * 2.0 ** (1 - n) > alpha:
        notes.append(
            f"With {n} data sets the least possible p is {2.0 ** (1 - n):.2g}, and Holm's procedure over {count} pairs asks "
            f"for {alpha / count:.2g} at first: no pair can be found different."
        )
    if scores.gaps:
        notes.append("Of each pair, data sets on which one of the two has no result are left out; ranks put it last there.")
    return tuple(notes)


def holm(p: np.ndarray) -> np.ndarray:
    """Adjust probabilities of m tests (float64[m]) by Holm 1979: the i-th smallest times m − i + 1, made monotone, at most 1."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _shape(scores: Scores, alpha: float) -> tuple[int, int]:
    n, k = scores.values.shape
    _check(k, alpha)
    if n < LEAST:
        raise DataError(f"methods are compared over two or more data sets, not {n}")
    return n, k


def _check(k: int, alpha: float) -> None:
    if k < LEAST:
        raise DataError(f"a comparison needs two or more methods, not {k}")
    if not 0.0 < alpha < 1.0:
        raise DataError(f"alpha={alpha} is no level of significance: choose one in (0, 1), such as 0.05")
