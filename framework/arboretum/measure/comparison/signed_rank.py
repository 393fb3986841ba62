"""Two methods over many data sets: the Bayesian signed-rank test.

Source: Benavoli, Corani, Demšar & Zaffalon 2017, Time for a change: a tutorial for comparing
multiple classifiers through Bayesian analysis, JMLR 18(77), section 4.2 (after Benavoli, Mangili,
Corani, Zaffalon & Ruggeri 2014).  With the differences z₁ … z_N of N data sets and z₀ = 0, and
weights (w₀, …, w_N) drawn from Dirichlet(s, 1, …, 1), a draw gives each region the share

    θ_better = Σ_ij w_i w_j [z_i + z_j > 2·rope],   θ_worse = Σ_ij w_i w_j [z_i + z_j < −2·rope],

θ_alike the rest; the probability of a region is the share of draws in which it is the largest.
A sum on the edge of a region counts half, and so do draws without a largest region.
"""

import functools
import math

import numpy as np

from arboretum.errors import DataError
from arboretum.measure.comparison.correlated import Posterior, check_rope

SAMPLES = 50_000
PRIOR = 0.5
"""Strength s of the prior, a data set of difference 0 that weighs half of one."""
SEED = 0


def bayesian_signed_rank(
    differences: np.ndarray,
    rope: float,
    *,
    prior: float = PRIOR,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> Posterior:
    """Return how probable it is that the first of two methods is better, alike, or worse on a data
    set like these.

    differences : float64[datasets], of their means; positive where the first is better.
    rope : half the width of the region of practical equivalence, in the measure's unit; 0: none.
    prior : strength s.
    samples : draws; a probability p is within √(p(1 − p)/samples), one standard error, of what
        infinitely many would give: at most 0.0022 for 50,000.
    Raises DataError for fewer than two data sets, or a negative rope.
    """
    check_rope(rope)
    n = len(differences)
    if n < 2:
        raise DataError(
            f"the Bayesian signed-rank test needs two or more data sets that both have, not {n}"
        )
    weights = _draw_weights(n, prior, samples, seed)
    z = np.concatenate([[0.0], differences])
    sums = z[:, None] + z[None, :]
    better = _share(weights, sums, 2 * rope)
    worse = _share(weights, -sums, 2 * rope) if rope else 1.0 - better
    regions = np.column_stack([better, 1.0 - better - worse if rope else 0.0 * better, worse])
    # shares of equal rights differ by rounding
    largest = regions >= regions.max(axis=1, keepdims=True) - 1e-12
    found = (largest / largest.sum(axis=1, keepdims=True)).mean(axis=0)
    error = math.sqrt(float((found * (1 - found)).max()) / samples)
    first, alike, second = map(float, found)
    return Posterior(first, alike, second, error)


@functools.lru_cache(maxsize=2)
def _draw_weights(n: int, prior: float, samples: int, seed: int) -> np.ndarray:
    """Return float64[samples, n + 1] from Dirichlet(prior, 1, …, 1); the pairs of a study share
    them, which are a quarter of the work.
    """
    draw = np.random.default_rng(seed)
    weights = draw.dirichlet(np.concatenate([[prior], np.ones(n)]), samples)
    weights.setflags(write=False)
    return weights


def _share(weights: np.ndarray, sums: np.ndarray, limit: float) -> np.ndarray:
    """Return float64[samples]: Σ_ij w_i w_j [sums_ij > limit], an equal sum counting half."""
    above = (sums > limit) + 0.5 * (sums == limit)
    return np.asarray(np.einsum("ij,ij->i", weights @ above, weights))
