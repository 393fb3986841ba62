"""Tuning of one field on validation rows: the paper's descending rule, and the best of a list.

Values are compared by ROC AUC (macro one-vs-rest; accuracy where the validation rows show one
class; R² for numbers).
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    Facts,
    Selection,
    Solution,
    Table,
    ValidationScore,
    param,
    sure,
)

Fit = Callable[[Facts], Solution]
Trial = tuple[Facts, float]

LAMBDAS = (100.0, 10.0, 1.0, 0.1, 0.01)


class _Tuner:
    """What both tuners share: trying a value, and telling of it."""

    kind = "tuner"
    capabilities = ()
    measure = "roc_auc"

    field: str
    values: tuple[Any, ...]

    def __attrs_post_init__(self) -> None:
        if not self.values:
            raise ValueError("tuner.values must hold at least one value; got an empty list")

    def _trials(self, fit: Fit, score: ValidationScore) -> Iterator[tuple[Facts, float, Solution]]:
        """Yield (values, score, solution), the score being NaN where a budget left no tree."""
        for value in self.values:
            asked = {self.field: value}
            solution = fit(asked)
            yield asked, math.nan if solution.tree is None else score.of(solution.tree), solution


@attrs.frozen
class Descending(_Tuner):
    """Go down the listed values until the validation ROC AUC drops by more than a step, and keep
    the value before.
    """

    name = "descending"
    paper = "Zhang & Gionis 2023, section 6"
    example = "method=ec45 theta=0.02"

    field: str = param("criterion.lam", "what is tuned, as on the command line")
    values: tuple[Any, ...] = param(
        LAMBDAS, "tried in this order; the paper goes from large to small", converter=tuple
    )
    drop: float = param(
        0.01, "a value whose score is lower by more than this ends the search", ge=0.0
    )
    against: str = param(
        "best",
        "what the score is compared with: the best so far, or the one before",
        choices=("best", "previous"),
    )
    relative: bool = param(
        False, "whether drop is a share of what it is compared with, not a difference"
    )

    @property
    def slack(self) -> float:
        """How far below the best that was tried the kept tree's score may be (scores of at most
        1).
        """
        return self.drop if self.against == "best" else self.drop * (len(self.values) - 1)

    def tune(self, fit: Fit, valid: Table) -> tuple[Selection, Solution]:
        """Return the last value before the drop, the last of all where there is none.

        Equality is no drop: scores are compared up to the rounding of three numbers.
        """
        score = ValidationScore.on(valid)
        tried: list[Trial] = []
        kept: tuple[Facts, Solution] | None = None
        reference = -math.inf
        for asked, found, solution in self._trials(fit, score):
            tried.append((asked, found))
            if kept is not None and self.drops(found, reference):
                break
            kept = asked, solution
            if solution.tree is None:  # the budget ran out at the first value
                break
            reference = max(reference, found) if self.against == "best" else found
        values, solution = sure(kept)
        return Selection(values, score.measure, tried, score.notes), solution

    def drops(self, found: float, reference: float) -> bool:
        """Return whether a score, ``found``, is lower than the ``reference`` by more than ``drop``;
        NaN, a tree that is missing, is.
        """
        if math.isnan(found):
            return True
        allowed = self.drop * abs(reference) if self.relative else self.drop
        rounding = 2 * np.finfo(np.float64).eps * max(1.0, abs(reference), abs(found))
        return bool(reference - found > allowed + rounding)


@attrs.frozen
class Grid(_Tuner):
    """Try every listed value and keep the one with the best validation ROC AUC, the first of
    equals.
    """

    name = "grid"
    paper = ""
    example = "tuner.field=stopping.standard.max_depth tuner.values=[1,2,4]"

    field: str = param("criterion.lam", "what is tuned, as on the command line")
    values: tuple[Any, ...] = param(LAMBDAS, "tried in this order", converter=tuple)

    def tune(self, fit: Fit, valid: Table) -> tuple[Selection, Solution]:
        """Return the first of the values with the best score; a value that a budget left without a
        tree is never kept for another.

        fit : field → value ↦ the solution with it.
        """
        score = ValidationScore.on(valid)
        tried: list[Trial] = []
        best: tuple[float, Facts, Solution] | None = None
        for asked, found, solution in self._trials(fit, score):
            tried.append((asked, found))
            if best is None or found > best[0] or (math.isnan(best[0]) and not math.isnan(found)):
                best = found, asked, solution
        _, values, solution = sure(best)
        return Selection(values, score.measure, tried, score.notes), solution


TUNERS = [Descending, Grid]
