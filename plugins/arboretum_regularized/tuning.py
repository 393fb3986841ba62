"""Tuning of one field on validation rows: the paper's descending rule.

Values are compared by ROC AUC (macro one-vs-rest; accuracy where the validation rows show one
class; R² for numbers).
"""

import math
from collections.abc import Callable
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


@attrs.frozen
class Descending:
    """Go down the listed values until the validation ROC AUC drops by more than a step, and keep
    the value before.
    """

    kind = "tuner"
    name = "descending"
    paper = "Zhang & Gionis 2023, section 6"
    capabilities = ()
    example = "method=ec45 theta=0.02"
    measure = "roc_auc"

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

    def __attrs_post_init__(self) -> None:
        if not self.values:
            raise ValueError("tuner.values must hold at least one value; got an empty list")

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
        for value in self.values:
            asked = {self.field: value}
            solution = fit(asked)
            found = math.nan if solution.tree is None else score.of(solution.tree)
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
