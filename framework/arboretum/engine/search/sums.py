"""Does a kernel score sums alone, as it promises by ``by_sums``?  Tried before cuts are scored so.

A score has to lie between those of the sum that is more, and less, by what rounding may be: the
search leaves out what is below.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from arboretum.engine.ground import Ground
from arboretum.engine.search.compiled_criterion import (
    CompiledCriterion,
    ScorerTrial,
    component_name,
)
from arboretum.errors import ContractError
from arboretum.kernels.class_sums import GINI, error_of
from arboretum.kernels.impurity_sums import entropy_after, gini_after
from arboretum.kernels.kernel_decorators import Kernel
from arboretum.kernels.scoring import impurity_of, score_tables

TABLES = 12  # of few rows, which a branch of a deep tree has, and of many
SHARES = (0.0, 0.01, 0.3, 0.6, 0.9, 1.0)
"""Of the mass, as sums that no table need have: scores must not rise along them."""


def check_sums(scorer: CompiledCriterion, ground: Ground) -> None:
    """Raise ContractError with a table, of those tried, that scores otherwise than its sum.

    ground : of the run.
    """
    if found := find_broken_sum(ScorerTrial.of(scorer, ground)):
        name = component_name(scorer.criterion)
        raise ContractError(
            f"criterion {name}: its kernel promises by_sums, but {found}; "
            "leave by_sums out (every cut is then scored by its table)"
        )


@lru_cache(maxsize=256)
def find_broken_sum(trial: ScorerTrial) -> str:
    """Return a table that scores otherwise than its sum, as a sentence; "" where none was found."""
    sum_of: Kernel = gini_after if trial.sum_form == GINI else entropy_after
    for counts, weight, price in draw_tables(trial):
        weights = weight * counts
        mass, cost = float(weights.sum()), sum_of(weights)
        mixed = impurity_of(weights.sum(axis=0), trial.impurity_at)
        # NaN where the impurity has no kernel: any number does
        mixed = mixed if mixed == mixed else 0.5
        node = np.array([mass, 2.0 * mass, mixed, 1.0, 0.0, trial.width])
        table = weights[None], counts[None].astype(np.int64)
        score = _score_tables(trial, *table, price, node, trial.batch)[0]
        rows, unit = int(counts.sum()), weight == 1.0
        error = error_of.py_func(trial.sum_form, rows, trial.width, mass, unit)
        sums = np.array([cost + error, cost - error, *(mass * share for share in SHARES)])
        given = sums[:, None, None], np.zeros((len(sums), 1, 1), np.int64)
        low, high, *along = _score_tables(trial, *given, price, node, trial.sum_at)
        if not low <= score <= high and score == score:
            sides = (", ".join(f"{w:g}" for w in side[side > 0]) for side in weights)
            return (
                f"a table of the class weights ({') | ('.join(sides)}) scores {score:.9g}, and its "
                f"{sum_of.__name__} alone {low:.9g}"
            )
        if (np.diff(along) > 0).any():
            k = int((np.diff(along) > 0).argmax())
            return (
                f"with {sum_of.__name__} from {sums[k + 2]:g} to {sums[k + 3]:g} its score rises "
                f"from {along[k]:.9g} to {along[k + 1]:.9g}"
            )
    return ""


def draw_tables(trial: ScorerTrial) -> Iterator[tuple[np.ndarray, float, float]]:
    """Yield float64[2, classes] of rows, no side empty; what a row weighs; a price."""
    draw = np.random.default_rng(trial.width)
    for k in range(TABLES):
        some = draw.permutation(trial.width)[: (3, 8, trial.width)[k % 3]]
        counts = np.zeros((2, trial.width))
        counts[:, some] = draw.integers(0, (3, 40)[k % 2], (2, len(some)))
        counts[0] *= k % 4 > 0  # a branch of one row
        counts[[0, 1], some[:2]] += 1.0
        yield counts, (1.0, trial.weights[0], trial.weights[-1])[k % 3], trial.prices[-(k % 2)]


def _score_tables(
    trial: ScorerTrial,
    weights: np.ndarray,
    counts: np.ndarray,
    price: float,
    node: np.ndarray,
    address: int,
) -> np.ndarray:
    """Return float64[tables], scores by the compiled kernel at an address.

    weights : float64[tables, ·, ·].
    counts : int64[tables, ·, ·].
    node : float64[6], scalars of the node.
    """
    out = np.empty(len(weights))
    more = np.full(len(out), price), np.zeros((len(out), weights.shape[1], 0))
    given = np.ascontiguousarray(weights), counts, *more
    score_tables(*given, address, node, np.array(trial.params), trial.impurity_at, out)
    return out
