"""Why a published number does not come out here: reasons that were looked into, not excuses for what fails."""

from __future__ import annotations

from arboretum_regularized.published import AUTHORS, UNIT
from arboretum_regularized.results import Part, Results

DATA: dict[str, str] = {
    "speed-dating": "the binned d_ columns of the data set are recomputed, and which columns the authors took is inferred from their number",
    "bioresponse": "5335 encoded columns, not 5333: some few-valued columns have one bin more or less",
    "default": "that PAY_0 to PAY_6 are binned is inferred from the number of columns",
    "shoppers": "which whole numbers are taken as categories is inferred from the number of columns",
    "diabetic": "which columns are left out is inferred from their number",
}
"""Data set → what may not be as the authors had it."""
TIES = "BAL has many equally balanced tests, useless ones among them; which comes first depends on the order of columns and on rounding"
CHOSEN = {"lam": "λ", "alpha": "α"}
NO_PLAIN = (
    "the paper shows no tree grown without regard to prices; its sentence compares with the enhanced trees, as the next one does"
)
CLAIMS: dict[tuple[str, str, str], str] = {
    ("unit", "CART", "pairs_behind"): "the published means do not show it either: 9.0 % at most, on covertype",
    ("unit", "C4.5", "slower"): "of the program's making: here the terms come from the sums that the impurity needs anyway",
    ("random", "C4.5", "no_saving"): NO_PLAIN,
    ("random", "CART", "no_saving"): NO_PLAIN,
}
"""(price setting, base, question) → why a sentence of the paper does not hold here."""


def known(found: Results, dataset: str, algorithm: str, measure: str, published: float) -> str:
    """The reason for a difference in this cell, "" where none is known."""
    if algorithm == "BAL":
        return TIES
    return _of_choice(found, dataset, algorithm, measure, published) or DATA.get(dataset, "")


def _of_choice(found: Results, dataset: str, algorithm: str, measure: str, published: float) -> str:
    """λ and α are chosen by the AUC of few validation rows, so that another split keeps another value; the reason holds where
    the published mean lies within what the values that were tried give here."""
    noted = found.found.get((Part(UNIT, AUTHORS), dataset, algorithm), ())
    name = next((name for name in ("alpha", "lam") if noted and name in noted[0]), "")
    if not name:
        return ""
    place = 2 if measure == "roc_auc" else 3
    by_value: dict[float, list[float]] = {}
    for one in noted:
        for tried in one["tried"]:
            if tried[place] is not None:
                by_value.setdefault(tried[0], []).append(tried[place])
    means = {value: sum(numbers) / len(numbers) for value, numbers in by_value.items()}
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    if not means[low] <= published <= means[high]:
        return ""
    what = CHOSEN[name]
    return (
        f"{what} is chosen on few rows and changes with the split: {what} = {low:g} gives {means[low]:.4g} here, "
        f"{what} = {high:g} {means[high]:.4g}"
    )
