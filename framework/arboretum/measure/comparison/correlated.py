"""Two methods on one data set, by the blocks (folds, repeats) that both ran on.

Blocks share training rows, so their differences are correlated, and a plain t-test finds
differences where there are none.  Both tests here correct the variance of the mean:

    variance = s² · (1/n + ρ/(1 − ρ)),   ρ = rows that judge ÷ all rows,

s² the variance of the n differences by n − 1.  Sources: Nadeau & Bengio 2003, Inference for the
generalization error, Machine Learning 52, section 4 (ρ/(1 − ρ) = n₂/n₁, rows that judge ÷ rows
that teach); Corani & Benavoli 2015, A Bayesian approach for comparing cross-validated algorithms
on multiple data sets, Machine Learning 100, equation (8).  Rows kept for pruning and tuning count
among those that teach.
"""

import math

import attrs
import numpy as np

from arboretum.errors import DataError

LEAST_BLOCKS = 2


@attrs.frozen
class CorrectedT:
    """The corrected resampled t-test of the mean difference.

    mean : of the differences; positive where the first method is better.
    error : its corrected standard error.
    t : of ``n`` − 1 degrees of freedom; infinite where every block gives the same difference.
    p : two-sided.
    """

    mean: float
    error: float
    t: float
    p: float
    n: int


@attrs.frozen
class Posterior:
    """How probable it is that the first of two methods is better, practically alike, or worse.

    alike : their difference lies in the region of practical equivalence.
    error : standard error of a probability by drawing, at most; 0 where it is computed exactly.
    """

    better: float
    alike: float
    worse: float
    error: float = 0.0

    def verdict(self, level: float) -> str:
        """ "better", "alike" or "worse" where that is at least as probable as ``level``; else
        "".
        """
        words = ("better", "alike", "worse")
        return next((word for word in words if getattr(self, word) >= level), "")


def corrected_error(differences: np.ndarray, test_share: float) -> tuple[float, float]:
    """Return (mean, corrected standard error) of float64[n] differences.

    test_share : ρ, rows that judge ÷ all rows.
    Raises DataError for fewer than two blocks, or a share outside (0, 1) (NaN: not known).
    """
    n = len(differences)
    if n < LEAST_BLOCKS:
        raise DataError(
            f"a t-test needs {LEAST_BLOCKS} or more blocks that both methods have, not {n}; add "
            "seeds or folds"
        )
    if not 0.0 < test_share < 1.0:
        known = "is not known" if math.isnan(test_share) else f"is {test_share:g}"
        raise DataError(
            f"the share of the rows that judge {known}, and how far blocks are correlated "
            "follows from it; use split=holdout or split=kfold"
        )
    mean, largest = float(differences.mean()), float(np.abs(differences).max())
    rounding = 4 * float(np.finfo(float).eps) * largest
    mean = mean if abs(mean) > rounding else 0.0
    spread = float(differences.var(ddof=1))
    # equal differences differ by rounding alone: there is no spread to measure by
    if spread <= rounding**2:
        return mean, 0.0
    return mean, math.sqrt(spread * (1 / n + test_share / (1 - test_share)))


def corrected_t(differences: np.ndarray, test_share: float) -> CorrectedT:
    """Return the corrected resampled t-test (Nadeau & Bengio 2003) of float64[n] differences.

    test_share : ρ, rows that judge ÷ all rows.
    Where every block gives the same difference, p is 1 for 0 and 0 for any other: nothing is left
    to chance.  Raises DataError as :func:`corrected_error`.
    """
    from scipy.special import stdtr

    mean, error = corrected_error(differences, test_share)
    n = len(differences)
    certain = math.copysign(math.inf, mean) if mean else 0.0
    t = mean / error if error else certain
    return CorrectedT(mean, error, t, float(2 * stdtr(n - 1, -abs(t))), n)


def bayesian_t(differences: np.ndarray, test_share: float, rope: float) -> Posterior:
    """Return the Bayesian correlated t-test (Corani & Benavoli 2015) of float64[n] differences.

    The posterior of the mean difference is Student's t with n − 1 degrees of freedom around the
    mean, its scale the corrected standard error: that of the prior p(μ, ν) ∝ 1/ν, which knows
    nothing.  Computed exactly, without drawing.

    test_share : ρ, rows that judge ÷ all rows.
    rope : half the width of the region of practical equivalence, in the measure's unit; 0: none.
    Raises DataError as :func:`corrected_error`, and for a negative rope.
    """
    from scipy.special import stdtr

    check_rope(rope)
    mean, error = corrected_error(differences, test_share)
    if error == 0.0:
        # a mean on the edge is within: the region is closed; without a region a tie counts half
        if abs(mean) <= rope:
            return Posterior(0.0, 1.0, 0.0) if rope else Posterior(0.5, 0.0, 0.5)
        return Posterior(float(mean > 0), 0.0, float(mean < 0))
    degrees = len(differences) - 1
    worse = float(stdtr(degrees, (-rope - mean) / error))
    better = float(stdtr(degrees, (mean - rope) / error))
    return Posterior(better, max(1.0 - better - worse, 0.0) if rope else 0.0, worse)


def check_rope(rope: float) -> None:
    """Raise DataError for a region of practical equivalence that is none (negative, NaN, ∞)."""
    if not 0.0 <= rope < math.inf:
        raise DataError(
            f"rope={rope:g} is half the width of the region of practical equivalence: choose 0 "
            "(no such region) or more, such as 0.01"
        )
