"""Methods over data sets by their ranks: all tests of them at once, and what these say."""

import string
from collections.abc import Callable
from typing import TypeVar

import attrs
import numpy as np

from arboretum.errors import DataError
from arboretum.measure.comparison.significance import (
    ALPHA,
    bonferroni_dunn,
    friedman,
    gap_notes,
    nemenyi,
    ranks,
    wilcoxon_holm,
)
from arboretum.model.plain import Facts
from arboretum.model.scores import AgainstControl, Friedman, Pairwise, Scores

T = TypeVar("T")

# data sets and methods above which Demšar trusts the χ² of Friedman's test
CHI_SQUARE_NEEDS = (10, 5)


@attrs.frozen(eq=False)
class RankTests:
    """What :func:`compare` found.

    ranks : float64[datasets, methods].
    average : float64[methods].   A test that cannot be done is None, and a note says why.
    dunn : None also where no control was named.
    """

    scores: Scores
    ranks: np.ndarray
    average: np.ndarray
    friedman: Friedman | None
    nemenyi: Pairwise
    wilcoxon: Pairwise | None
    dunn: AgainstControl | None
    alpha: float
    notes: tuple[str, ...]


def compare(scores: Scores, *, control: str | None = None, alpha: float = ALPHA) -> RankTests:
    """Rank the methods, test whether any differ, and which.

    control : the method that the others are held against (Bonferroni–Dunn); None: no such test.
    alpha : level of significance of all tests.

    A test that the scores cannot be given to is left out, with a note.  Raises DataError for fewer
    than two methods or data sets, an unknown control, or alpha outside (0, 1).
    """
    n, k = scores.values.shape
    everyone = nemenyi(scores, alpha)
    against = None if control is None else bonferroni_dunn(scores, control, alpha)
    notes = list(gap_notes(scores))

    def tried(test: Callable[[], T]) -> T | None:
        """Return the test's answer, or None and a note on why there is none."""
        try:
            return test()
        except DataError as error:
            notes.append(f"Left out: {error}.")
            return None

    overall = tried(lambda: friedman(scores))
    pairs = tried(lambda: wilcoxon_holm(scores, alpha))
    if pairs is not None:
        notes += pairs.notes
    if overall is not None and (n <= CHI_SQUARE_NEEDS[0] or k <= CHI_SQUARE_NEEDS[1]):
        notes.append(
            f"With {n} data sets and {k} methods the χ² of Friedman's test is rough; F is to "
            "be preferred."
        )
    if overall is not None and overall.f_p > alpha:
        notes.append(
            f"Friedman's test finds no difference at all (F: p = {overall.f_p:.3g}): a pair "
            "that differs may be chance."
        )
    placed = ranks(scores)
    return RankTests(
        scores,
        placed,
        placed.mean(axis=0),
        overall,
        everyone,
        pairs,
        dunn=against,
        alpha=alpha,
        notes=tuple(notes),
    )


def rank_rows(found: RankTests) -> list[Facts]:
    """Return one row per method, best average rank first, for tables.

    ``alike`` holds a letter per group of Nemenyi's test: methods that share a letter are not found
    different.  ``wins`` counts the data sets where nobody is better.  The mean is over the data
    sets on which every method has a result.  With a control, ``p`` is that of Bonferroni–Dunn and
    ``differs`` its answer.
    """
    letters = group_letters(found.nemenyi)
    best = found.ranks == found.ranks.min(axis=1, keepdims=True)
    whole = found.scores.values[~np.isnan(found.scores.values).any(axis=1)]
    rows = []
    for m in np.argsort(found.average, kind="stable").tolist():
        row: Facts = {
            "method": found.scores.methods[m],
            "average rank": float(found.average[m]),
            "alike": letters[m],
            "wins": int((best[:, m] & ~np.isnan(found.scores.values[:, m])).sum()),
            f"mean {found.scores.measure}": float(whole[:, m].mean()) if len(whole) else None,
        }
        if found.dunn is not None:
            control = m == found.dunn.control
            row[f"p against {found.scores.methods[found.dunn.control]}"] = (
                None if control else float(found.dunn.p[m])
            )
            row["differs"] = None if control else bool(found.dunn.different[m])
        rows.append(row)
    return rows


def group_letters(test: Pairwise) -> list[str]:
    """Return, per method of a test of all pairs, the letters of its groups ("a" holds the best); a
    method that differs from all has one of its own.
    """
    groups = test.groups()
    groups += [(m,) for m in range(len(test.methods)) if not any(m in group for group in groups)]
    groups.sort(key=lambda group: [float(test.ranks[m]) for m in group])
    names = [
        *string.ascii_lowercase,
        *(f"{letter}{i}" for i in range(1, 100) for letter in string.ascii_lowercase),
    ]
    return [
        "".join(name for name, group in zip(names, groups, strict=False) if m in group)
        for m in range(len(test.methods))
    ]


def verdict_lines(found: RankTests) -> list[str]:
    """Return what the tests say, a sentence each, notes last."""
    n, k = found.scores.values.shape

    def pairs(test: Pairwise) -> str:
        return f"{int(test.different.sum()) // 2} of {k * (k - 1) // 2} pairs differ"

    lines = [f"{k} methods on {n} data sets by {found.scores.measure}, alpha = {found.alpha:g}"]
    if found.friedman is not None:
        f = found.friedman
        lines.append(
            f"Friedman: chi-square {f.chi_square:.4g}, {k - 1} degrees of freedom, p = {f.p:.3g}; "
            f"F {f.f:.4g}, ({k - 1}, {(k - 1) * (n - 1)}) degrees of freedom, p = {f.f_p:.3g}"
        )
    lines.append(
        f"Nemenyi: critical difference {found.nemenyi.critical_difference:.4g}; "
        f"{pairs(found.nemenyi)}"
    )
    if found.dunn is not None:
        names = [
            name
            for name, other in zip(found.dunn.methods, found.dunn.different, strict=True)
            if other
        ]
        control = found.dunn.methods[found.dunn.control]
        answer = (
            f"differ from {control}: {', '.join(names)}"
            if names
            else f"none differs from {control}"
        )
        lines.append(
            f"Bonferroni–Dunn: critical difference {found.dunn.critical_difference:.4g}; {answer}"
        )
    if found.wilcoxon is not None:
        lines.append(f"Wilcoxon–Holm: {pairs(found.wilcoxon)}")
    return [*lines, *found.notes]
