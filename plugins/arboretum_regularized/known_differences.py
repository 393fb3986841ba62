"""Reasons why a published number does not come out here, each with what it predicts that number to be.

A prediction is computed from our own runs.  A cell is explained only where the published number lies inside it, within
two standard errors of a cell: half of what a cell itself is allowed, for these reasons were looked for afterwards.
"""

from __future__ import annotations

import numpy as np

from arboretum.api import Known
from arboretum_regularized.published import AUTHORS, UNIT
from arboretum_regularized.published import published as printed
from arboretum_regularized.results import Part, Results

NO_DROP = 0.01
"""What the paper's own rule calls no drop of a validation AUC."""
DRIFT = (
    "it holds for the score as printed; the program's impurity term, weighted by p(S_v) instead of p(S_v)/p(S), drifts to the "
    "cheapest test, useful or not, once prices differ"
)
"""Why a sentence about random prices fails by the authors' reading where it holds by the paper's."""
JUDGED = Part(UNIT, AUTHORS)


def known(found: Results, dataset: str, algorithm: str, measure: str, published: float) -> Known | None:
    """The reason for a difference in this cell: the first that explains it, else the first that was looked into."""
    if algorithm == "BAL":
        return _of_ties(found, dataset, measure)
    tuned = algorithm.removeprefix("p")
    choices = [("tried", f"α of {algorithm}")] * (tuned != algorithm)
    if tuned.startswith("E") and not _grew_as_without(dataset, tuned):  # a pruned tree inherits the λ of the one it is cut from
        choices.append(("tried" if tuned == algorithm else "lams", f"λ of {tuned}"))
    reasons = [reason for choice in choices if (reason := _of_choice(found, dataset, algorithm, *choice, measure))]
    return next((reason for reason in reasons if reason.explains(published)), reasons[0] if reasons else None)


def _grew_as_without(dataset: str, algorithm: str) -> bool:
    """Whether the published trees are those of ASR: then the λ that was kept is so small that it chose nothing."""
    cost = printed().results
    return cost[dataset, algorithm, "expected_cost"] == cost[dataset, "ASR", "expected_cost"]


def _of_ties(found: Results, dataset: str, measure: str) -> Known | None:
    """BAL has many tests that score alike: what other orders of the columns make of it, on the splits where they were tried."""
    shifts = [
        [row[_place(measure)] - one[measure] for row in one["orders"]]
        for one in found.found.get((JUDGED, dataset, "BAL"), ()) if "orders" in one
    ]  # fmt: skip
    if not shifts:
        return None
    by_order, values = [0.0, *np.mean(shifts, axis=0).tolist()], found.values(JUDGED, dataset, "BAL", measure)
    means = float(values.mean()) + min(by_order), float(values.mean()) + max(by_order)
    source = f"{len(by_order)} orders of the columns on {len(shifts)} splits"
    reason = "many tests are equally balanced, and which comes first depends on the order"
    return Known.widened(reason, means, (values, values), printed().runs, source)


def _place(measure: str) -> int:
    """Where a measure stands in the numbers of a tree: validation AUC, test AUC, expected cost."""
    return 1 if measure == "roc_auc" else 2


def _of_choice(found: Results, dataset: str, algorithm: str, noted: str, what: str, measure: str) -> Known | None:
    """λ and α are chosen by the AUC of few validation rows, so that another split keeps another value.

    noted : where the numbers of each value stand in what is noted of the algorithm's tree.   what : the choice, in words.

    The published mean then lies between what the values in reach give here, as means over our splits; a value is in reach
    when on one split its validation AUC is within :data:`NO_DROP` of the best.
    """
    by_value: dict[float, list[float]] = {}
    in_reach: set[float] = set()
    for one in found.found.get((JUDGED, dataset, algorithm), ()):
        numbers = one.get(noted, ())
        known_areas = [row[1] for row in numbers if row[1] is not None]
        for row in numbers:
            value, valid, number = row[0], row[1], row[1 + _place(measure)]
            if valid is not None and number is not None:
                by_value.setdefault(value, []).append(number)
                in_reach |= {value} if valid >= max(known_areas) - NO_DROP else set()
    means = {value: float(np.mean(by_value[value])) for value in sorted(in_reach)}
    if len(means) < 2:
        return None
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    reason = f"{what} is chosen on few rows and changes with the split: {low:g} gives {means[low]:.4g} here, {high:g} {means[high]:.4g}"
    source = f"{max(map(len, by_value.values()))} splits, ± {Known.REACH:g} standard errors"
    ends = np.array(by_value[low]), np.array(by_value[high])
    return Known.widened(reason, (means[low], means[high]), ends, printed().runs, source)
