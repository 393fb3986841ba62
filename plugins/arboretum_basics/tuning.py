"""Tuning over a grid: every combination of the listed values, judged on validation rows, or by
cross-validation inside the training rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    Encoded,
    Facts,
    Selection,
    Solution,
    Table,
    Tree,
    ValidationScore,
    param,
    sure,
)

Fit = Callable[[Facts], Solution]
Grow = Callable[[Facts, np.ndarray], Tree]

FIELD, VALUES = "criterion.lam", (100.0, 10.0, 1.0, 0.1, 0.01)


def _listed(given: object) -> object:
    """A list as a tuple, a mapping as one of tuples; what is neither is refused later."""
    if isinstance(given, Mapping):
        return {str(key): _listed(values) for key, values in given.items()}
    return given if isinstance(given, str) or not hasattr(given, "__iter__") else tuple(given)


@attrs.frozen
class Grid:
    """Try every combination of the listed values and keep the best, the first of equals.

    Judged by ROC AUC (macro one-vs-rest; accuracy where some rows that judge show one class; R² for
    numbers) on the validation rows, or in ``inner`` folds of the training objects: a score is then
    the mean over the folds, weighted by their rows, of trees that have not seen them, and one tree
    grows on all training objects with the kept values.  Tests (cut points) are those that the
    encoder made of all training rows, without their labels.
    """

    kind = "tuner"
    name = "grid"
    paper = ""
    capabilities = ()
    example = "tuner.field=stopping.standard.max_depth tuner.values=[1,2,4]"
    measure = "roc_auc"

    field: str = param(FIELD, "what a list of values is of, as on the command line")
    values: tuple[Any, ...] | Mapping[str, tuple[Any, ...]] | None = param(
        None,  # no list: Hydra lets no mapping take its place
        "of field, tried in this order (none: 100, 10, 1, 0.1, 0.01); or {KEY: [A, B], …}: every "
        "combination, the last key fastest",
        converter=_listed,
    )
    inner: int = param(
        0,
        "0: judged on the validation rows; k ≥ 2: in k folds of the training objects, without "
        "validation rows",
        ge=0,
    )

    def __attrs_post_init__(self) -> None:
        """Raise ValueError for values, or a number of folds, that leave nothing to compare."""
        if self.inner == 1:
            raise ValueError("tuner.inner must be 0 or ≥ 2; got 1")
        if isinstance(self.values, Mapping):
            if self.field != FIELD:
                raise ValueError(
                    f"tuner.field={self.field} says what a list is of, and tuner.values names its "
                    "fields; leave tuner.field out"
                )
            if not self.values:
                raise ValueError("tuner.values must name at least one field; got {}")
        for key, values in self._lists().items():
            where = f"tuner.values[{key}]" if isinstance(self.values, Mapping) else "tuner.values"
            if not isinstance(values, tuple):
                raise ValueError(f"{where} must be a list [a, b]; got {values!r}")
            if not values:
                raise ValueError(f"{where} must hold at least one value; got an empty list")

    @property
    def needs_validation(self) -> bool:
        """Only where no folds judge."""
        return not self.inner

    def _lists(self) -> Mapping[str, tuple[Any, ...]]:
        """Field → its values."""
        if isinstance(self.values, Mapping):
            return self.values
        return {self.field: VALUES if self.values is None else self.values}

    def trials(self) -> list[Facts]:
        """Return what is tried, in order: the values of the last field change fastest."""
        lists = self._lists()
        return [
            dict(zip(lists, chosen, strict=True)) for chosen in itertools.product(*lists.values())
        ]

    def tune(self, fit: Fit, valid: Table) -> tuple[Selection, Solution]:
        """Return the first of the combinations with the best score on the validation rows; one that
        a budget left without a tree is never kept for another.

        fit : field → value ↦ the solution with it.
        """
        score = ValidationScore.on(valid)
        tried: list[tuple[Facts, float]] = []
        best: tuple[float, Facts, Solution] | None = None
        for asked in self.trials():
            solution = fit(asked)
            found = math.nan if solution.tree is None else score.of(solution.tree)
            tried.append((asked, found))
            if best is None or found > best[0] or (math.isnan(best[0]) and not math.isnan(found)):
                best = found, asked, solution
        _, kept, solution = sure(best)
        return Selection(kept, score.measure, tried, score.notes), solution

    def tune_by_growing(
        self, fit: Fit, grow: Grow, objects: Encoded, seed: int
    ) -> tuple[Selection, Solution]:
        """Return the first of the combinations with the best mean score over the inner folds (means
        that rounding alone parts are equal), and its solution on all objects.

        The standard error of a mean m of k fold scores s with shares of rows w (Σ w = 1) is
        √(k / (k − 1) · Σ w² (s − m)²): s.d. / √k for folds of one size.  Folds overlap in what they
        learn from, so it is rather too small.
        Raises CapabilityError for more folds than objects (or groups).
        """
        fold = deal_folds(objects, self.inner, seed)
        rows = [np.flatnonzero(fold[objects.object_of_row] == k) for k in range(self.inner)]
        scores = _scores_of([objects.table.take(held) for held in rows])
        n_rows = np.array([len(held) for held in rows])
        share = n_rows / n_rows.sum()
        tried, errors = [], []
        for asked in self.trials():
            found = np.array(
                [score.of(grow(asked, np.flatnonzero(fold != k))) for k, score in enumerate(scores)]
            )
            mean = math.fsum(n_rows * found) / objects.table.n_rows
            spread = float(share**2 @ (found - mean) ** 2) * self.inner / (self.inner - 1)
            tried.append((asked, mean))
            errors.append(math.sqrt(spread))
        means = np.array([score for _, score in tried])
        rounding = 4 * np.finfo(np.float64).eps * max(1.0, abs(means.max()))
        kept = tried[int(np.argmax(means >= means.max() - rounding))][0]
        notes = tuple(dict.fromkeys(note for score in scores for note in score.notes))
        measure = f"{scores[0].measure} in {self.inner} folds"
        return Selection(kept, measure, tried, notes, errors), fit(kept)


def deal_folds(objects: Encoded, n_folds: int, seed: int) -> np.ndarray:
    """Return int64[n_objects]: the fold of each object, 0 … n_folds − 1, in turn along the classes
    (or the sorted numbers), by chance (NumPy's PCG64, from the seed) within equal ones.

    Where the table has groups, whole groups are dealt, by the class of their first object (or its
    number); an object belongs to the group of its first row.
    Raises CapabilityError where a fold would be empty.
    """
    groups = objects.table.groups
    if groups is None:
        first = member = np.arange(objects.n_objects)
    else:
        _, first, member = np.unique(
            np.asarray(groups)[objects.row_of_object], return_index=True, return_inverse=True
        )
    if n_folds > len(first):
        what = "training objects" if groups is None else "groups of training rows"
        raise CapabilityError(
            f"tuner.inner={n_folds} are more folds than the {len(first)} {what}; choose fewer"
        )
    draw = np.random.Generator(np.random.PCG64(np.random.SeedSequence([abs(seed), n_folds])))
    chance = draw.permutation(len(first))
    target = objects.y if objects.label is None else objects.label
    dealt = np.empty(len(first), np.int64)
    dealt[np.lexsort((chance, target[first]))] = np.arange(len(first)) % n_folds
    return dealt[member]


def _scores_of(held: list[Table]) -> list[ValidationScore]:
    """Return what judges on each fold, by one measure: accuracy where a fold shows one class."""
    scores = [ValidationScore.on(rows) for rows in held]
    if len({score.measure for score in scores}) == 1:
        return [attrs.evolve(one, notes=_of_folds(one.notes)) for one in scores]
    note = "an inner fold shows one class: ROC AUC is undefined there, accuracy takes its place"
    return [ValidationScore(rows, "accuracy", (note,)) for rows in held]


def _of_folds(notes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(note.replace("the validation rows show", "an inner fold shows") for note in notes)
