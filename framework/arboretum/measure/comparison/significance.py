"""Which methods differ?  Ranks, Friedman's test; Nemenyi's, Bonferroni and Dunn's, and Wilcoxon's
with Holm's correction.

Source: Demšar 2006, Statistical comparisons of classifiers over multiple data sets, section 3.2.
"""

import itertools
import math

import numpy as np

from arboretum.errors import DataError
from arboretum.model.scores import AgainstControl, Friedman, Pairwise, Scores

ALPHA = 0.05
LEAST = 2  # methods and data sets below which nothing can be compared


def ranks(scores: Scores) -> np.ndarray:
    """Return float64[datasets, methods]: 1 is best; equal values share the mean of their ranks,
    methods without a result (NaN) the last.
    """
    toward = -scores.values if scores.higher_is_better else scores.values
    known = np.where(np.isnan(toward), np.inf, toward)
    # scipy.stats has a function for it, and takes half a second to import at the end of each sweep
    before = (known[:, None, :] < known[:, :, None]).sum(axis=2)
    equal = (known[:, None, :] == known[:, :, None]).sum(axis=2)
    return np.asarray(before + (equal + 1) / 2)


def average_ranks(scores: Scores) -> np.ndarray:
    """Return float64[methods]: the mean of :func:`ranks` over the data sets."""
    return np.asarray(ranks(scores).mean(axis=0))


def gap_notes(scores: Scores) -> tuple[str, ...]:
    """Return a sentence on results that are missing, or none."""
    shown = ", ".join(f"{method} on {dataset}" for dataset, method in scores.gaps[:4])
    more = f" and {len(scores.gaps) - 4} more" if len(scores.gaps) > 4 else ""
    return (f"No result, therefore ranked last there: {shown}{more}.",) if shown else ()


def friedman(scores: Scores, *, correct_ties: bool = True) -> Friedman:
    """Return the test whether the average ranks differ by more than chance (Friedman 1937; Iman and
    Davenport 1980).

    χ² = 12N/(k(k+1)) · (Σ R² − k(k+1)²/4) for N data sets and k methods of average ranks R, and F =
    (N−1)χ² / (N(k−1) − χ²), which is less conservative.

    correct_ties : divide χ² by 1 − Σ(t³−t)/(Nk(k²−1)) over ties of t values (scipy); False gives
        the plain form that Demšar (2006) and many papers print.

    Raises DataError for fewer than three methods or two data sets.
    """
    from scipy.stats import chi2, f, friedmanchisquare

    n, k = scores.values.shape
    if k < 3:
        raise DataError(
            f"Friedman's test compares three or more methods, not {k}; two are compared by "
            "wilcoxon_holm"
        )
    if n < 2:
        raise DataError(f"Friedman's test needs two or more data sets, not {n}")
    placed = ranks(scores)
    if (placed == (k + 1) / 2).all():  # every data set is one big tie: scipy would divide 0 by 0
        return Friedman(0.0, 1.0, 0.0, 1.0, k, n)
    if correct_ties:
        chi_square = float(friedmanchisquare(*placed.T).statistic)
    else:
        # = Σ R² − k(k+1)²/4, without its cancellation
        squares = ((placed.mean(axis=0) - (k + 1) / 2) ** 2).sum()
        chi_square = float(12 * n / (k * (k + 1)) * squares)
    rest = n * (k - 1) - chi_square
    ratio = (n - 1) * chi_square / rest if rest > 1e-12 * n * k else math.inf
    tail = 0.0 if math.isinf(ratio) else float(f.sf(ratio, k - 1, (k - 1) * (n - 1)))
    return Friedman(chi_square, float(chi2.sf(chi_square, k - 1)), ratio, tail, k, n)


def q_nemenyi(k: int, alpha: float = ALPHA) -> float:
    """Return the quantile of the studentized range of ``k`` methods with infinitely many degrees of
    freedom, divided by √2.

    alpha : level of significance.
    """
    from scipy.stats import studentized_range

    _check_level(k, alpha)
    return float(studentized_range.ppf(1 - alpha, k, np.inf)) / math.sqrt(2)


def q_bonferroni_dunn(k: int, alpha: float = ALPHA) -> float:
    """Return the quantile of the normal distribution for k − 1 two-sided comparisons with a
    control (Demšar 2006, table 5b).

    k : methods, the control among them.
    alpha : level of significance of all comparisons together.
    Raises DataError for k < 2, or alpha outside (0, 1).
    """
    from scipy.stats import norm

    _check_level(k, alpha)
    return float(norm.isf(alpha / (2 * (k - 1))))


def critical_difference(q: float, k: int, n: int) -> float:
    """Return q·√(k(k+1)/(6N)): average ranks of k methods over N data sets (n) that are further
    apart differ.

    q : quantile of the test, such as :func:`q_nemenyi`.
    Raises DataError unless k ≥ 2 and n ≥ 1.
    """
    if k < LEAST or n < 1:
        raise DataError(
            f"a critical difference needs k ≥ 2 methods and N ≥ 1 data sets, not k={k}, N={n}"
        )
    return q * math.sqrt(k * (k + 1) / (6 * n))


def nemenyi(scores: Scores, alpha: float = ALPHA) -> Pairwise:
    """Return all pairs by average ranks: different where they are further apart than the critical
    difference.

    alpha : level of significance.

    p by scikit-posthocs, of the same statistic.  Raises DataError for fewer than two methods or
    data sets, or alpha outside (0, 1).
    """
    from scikit_posthocs import posthoc_nemenyi_friedman

    n, k = _size_of_comparison(scores, alpha)
    average = average_ranks(scores)
    limit = critical_difference(q_nemenyi(k, alpha), k, n)
    p = np.minimum(posthoc_nemenyi_friedman(ranks(scores)).to_numpy(), 1.0)
    different = np.abs(average[:, None] - average[None, :]) > limit
    return Pairwise(
        "Nemenyi",
        scores.methods,
        average,
        p,
        different,
        alpha,
        critical_difference=limit,
        notes=gap_notes(scores),
    )


def bonferroni_dunn(scores: Scores, control: str, alpha: float = ALPHA) -> AgainstControl:
    """Return every method against ``control`` by average ranks.

    alpha : level of significance of all comparisons together.

    p = min(1, (k−1) · 2·(1 − Φ(|R − R_control| / √(k(k+1)/(6N))))).  Raises DataError as
    :func:`nemenyi`, and for an unknown control.
    """
    from scipy.stats import norm

    n, k = _size_of_comparison(scores, alpha)
    place = scores.method(control)
    average = average_ranks(scores)
    apart = np.abs(average - average[place])
    limit = critical_difference(q_bonferroni_dunn(k, alpha), k, n)
    p = np.minimum((k - 1) * 2 * norm.sf(apart / critical_difference(1.0, k, n)), 1.0)
    p[place] = 1.0
    different, notes = apart > limit, gap_notes(scores)
    return AgainstControl(
        "Bonferroni–Dunn",
        scores.methods,
        place,
        average,
        p,
        different,
        alpha=alpha,
        critical_difference=limit,
        notes=notes,
    )


def wilcoxon_holm(scores: Scores, alpha: float = ALPHA) -> Pairwise:
    """Return all pairs by Wilcoxon's signed-rank test of the values themselves, p adjusted by
    Holm's step-down procedure.

    Unlike the tests of average ranks, what other methods reach does not matter for a pair
    (Benavoli, Corani and Mangili 2016).  Two-sided; exact for up to 50 differences without ties;
    pairs of equal values are left out (Wilcoxon's rule); of each pair, data sets on which one has
    no result are left out, and a note says so.   Raises DataError where a pair shares so few data
    sets that its least possible p, 2^(1−N), is above ``alpha``: six are needed for 0.05.
    """
    n, k = _size_of_comparison(scores, alpha)
    pairs = list(itertools.combinations(range(k), 2))
    raw, least = np.empty(len(pairs)), math.ceil(1 - math.log2(alpha) - 1e-12)
    for at, (i, j) in enumerate(pairs):
        difference = scores.values[:, i] - scores.values[:, j]
        difference = difference[~np.isnan(difference)]
        if len(difference) < least:
            both = f"{scores.methods[i]!r} and {scores.methods[j]!r}"
            sets = f"{len(difference)} data set{'s' * (len(difference) != 1)}"
            share = f"they share {sets}, and {least} are the least; add data sets, or use nemenyi"
            raise DataError(
                f"Wilcoxon's test cannot find {both} different at alpha={alpha:g}: {share}"
            )
        raw[at] = signed_rank_p(difference)
    p, different = np.ones((k, k)), np.zeros((k, k), dtype=bool)
    for (i, j), value in zip(pairs, holm(raw), strict=True):
        p[i, j] = p[j, i] = value
        different[i, j] = different[j, i] = value <= alpha
    notes, possible = [], 2.0 ** (1 - len(scores.datasets))
    if len(pairs) * possible > alpha:
        asked = (
            f"Holm's procedure over {len(pairs)} pairs asks for {alpha / len(pairs):.2g} at first"
        )
        notes.append(
            f"With {n} data sets the least possible p is {possible:.2g}, and {asked}: no "
            "pair can be found different."
        )
    if scores.gaps:
        notes.append(
            "Of each pair, data sets on which one of the two has no result are left out; "
            "ranks put it last there."
        )
    return Pairwise(
        "Wilcoxon–Holm",
        scores.methods,
        average_ranks(scores),
        p,
        different,
        alpha,
        critical_difference=None,
        notes=tuple(notes),
    )


ENUMERATED = 13
"""Differences up to which scipy, too, tries all signs where some are tied."""


def signed_rank_p(differences: np.ndarray) -> float:
    """Return the two-sided p of Wilcoxon's signed-rank test of float64[n] differences, zeros left
    out; 1 where all are zero.

    Exact by all 2^n signs up to ENUMERATED, which is what scipy does there in half a second where
    two are tied, as errors often are; beyond that scipy's: exact up to 50 without ties, else the
    normal approximation.
    """
    from scipy.stats import rankdata, wilcoxon

    if not differences.any():
        return 1.0  # scipy has no answer
    if len(differences) > ENUMERATED:
        return float(wilcoxon(differences).pvalue)
    known = differences[differences != 0]
    # twice the ranks are whole numbers
    ranks = np.rint(2 * rankdata(np.abs(known))).astype(np.int64)
    sums = np.zeros(1, np.int64)
    for rank in ranks:
        sums = np.concatenate([sums, sums + rank])
    seen = ranks[known > 0].sum()
    return float(min(1.0, 2 * min((sums <= seen).mean(), (sums >= seen).mean())))


def holm(p: np.ndarray) -> np.ndarray:
    """Adjust probabilities of m tests (float64[m]) by Holm 1979: the i-th smallest times m − i +
    1, made monotone, at most 1.
    """
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _size_of_comparison(scores: Scores, alpha: float) -> tuple[int, int]:
    """Return (data sets, methods); raises DataError where a comparison has too few of either."""
    n, k = scores.values.shape
    _check_level(k, alpha)
    if n < LEAST:
        raise DataError(f"methods are compared over two or more data sets, not {n}")
    return n, k


def _check_level(k: int, alpha: float) -> None:
    """Raise DataError for fewer than two methods (k), or a level of significance outside (0, 1)."""
    if k < LEAST:
        raise DataError(f"a comparison needs two or more methods, not {k}")
    if not 0.0 < alpha < 1.0:
        raise DataError(
            f"alpha={alpha} is no level of significance: choose one in (0, 1), such as 0.05"
        )
