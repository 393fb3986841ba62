"""Ranks of methods over data sets, and Friedman's test of them."""

from __future__ import annotations

import math

import numpy as np

from arboretum.errors import DataError
from arboretum.model.scores import Friedman, Scores


def ranks(scores: Scores) -> np.ndarray:
    """float64[datasets, methods]: 1 is best; equal values share the mean of their ranks.

    A method without a result (NaN) is ranked after all that have one; several such share the last ranks.
    :func:`gap_notes` says so in words.
    """
    from scipy.stats import rankdata

    toward = -scores.values if scores.higher_is_better else scores.values
    return rankdata(np.where(np.isnan(toward), np.inf, toward), axis=1)


def average_ranks(scores: Scores) -> np.ndarray:
    """float64[methods]: the mean of :func:`ranks` over the data sets."""
    return ranks(scores).mean(axis=0)


def gap_notes(scores: Scores) -> tuple[str, ...]:
    """A sentence on results that are missing, or none."""
    gaps = scores.gaps
    if not gaps:
        return ()
    shown = ", ".join(f"{method} on {dataset}" for dataset, method in gaps[:4])
    more = f" and {len(gaps) - 4} more" if len(gaps) > 4 else ""
    return (f"No result, therefore ranked last there: {shown}{more}.",)


def friedman(scores: Scores, *, correct_ties: bool = True) -> Friedman:
    """Test whether the average ranks differ by more than chance (Friedman 1937; Iman and Davenport 1980).

    χ² = 12N/(k(k+1)) · (Σ R² − k(k+1)²/4) for N data sets and k methods of average ranks R, and
    F = (N−1)χ² / (N(k−1) − χ²), which is less conservative.   correct_ties : divide χ² by 1 − Σ(t³−t)/(Nk(k²−1)) over
    ties of t values (scipy); False gives the plain form that Demšar (2006) and many papers print.
    Raises DataError for fewer than three methods or two data sets.
    """
    from scipy.stats import chi2, f, friedmanchisquare

    n, k = scores.values.shape
    if k < 3:
        raise DataError(f"Friedman's test compares three or more methods, not {k}; two are compared by wilcoxon_holm")
    if n < 2:
        raise DataError(f"Friedman's test needs two or more data sets, not {n}")
    placed = ranks(scores)
    if (placed == (k + 1) / 2).all():  # every data set is one big tie: scipy would divide 0 by 0
        return Friedman(0.0, 1.0, 0.0, 1.0, k, n)
    if correct_ties:
        chi_square = float(friedmanchisquare(*placed.T).statistic)
    else:
        squares = ((placed.mean(axis=0) - (k + 1) / 2) ** 2).sum()  # = Σ R² − k(k+1)²/4, without its cancellation
        chi_square = float(12 * n / (k * (k + 1)) * squares)
    rest = n * (k - 1) - chi_square
    ratio = (n - 1) * chi_square / rest if rest > 1e-12 * n * k else math.inf
    tail = 0.0 if math.isinf(ratio) else float(f.sf(ratio, k - 1, (k - 1) * (n - 1)))
    return Friedman(chi_square, float(chi2.sf(chi_square, k - 1)), ratio, tail, k, n)
