"""From runs to scores, and all tests of them at once: ranks, Friedman, and who differs from whom."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable
from typing import Any

import attrs
import numpy as np

from arboretum.errors import DataError, unknown
from arboretum.measure.evaluate import HIGHER, direction
from arboretum.measure.significance import ALPHA, bonferroni_dunn, friedman, gap_notes, nemenyi, ranks, wilcoxon_holm
from arboretum.model.record import Record
from arboretum.model.scores import AgainstControl, Friedman, Pairwise, Scores

CHI_SQUARE_NEEDS = (10, 5)
"""Data sets and methods above which Demšar trusts the χ² of Friedman's test."""


def scores_of(
    records: Iterable[Record], metric: str, *, measure: str = "", name: Callable[[Record], str] | None = None
) -> Scores:
    """The ``metric`` of finished runs: a column per method, a row per data set, the mean over runs that share both.

    metric : of the records, such as ``test_error``; or ``timing.PART``, such as ``timing.fit``, in seconds.   measure : its
    name in tables and pictures.   name : what a run's column is called, where it is not its method but, say, its depth:
    ``lambda record: f"depth {record.config['stopping']['standard']['max_depth']}"``.   A run without the metric is left out; NaN counts as missing.
    Raises DataError where no run has it, ConfigError for a name that is no metric.
    """
    records = list(records)
    known = sorted({*(name for r in records for name in r.metrics), *(f"timing.{name}" for r in records for name in r.timings)})
    if metric not in known:
        raise DataError(unknown("metric of these runs", metric, known))
    part = metric.removeprefix("timing.")
    timed = part != metric
    rows = []
    for record in records:
        source = record.timings if timed else record.metrics
        if part in source:
            rows.append((str(record.data["name"]), name(record) if name else record.method, source[part]))
    higher = not timed and direction(metric) == HIGHER
    words = measure or (f"{part} time in seconds" if timed else metric.replace("_", " "))
    return Scores.of_rows(words, rows, higher_is_better=higher)


@attrs.frozen(eq=False)
class Comparison:
    """What :func:`compare` found.

    ranks : float64[datasets, methods].   average : float64[methods].   A test that cannot be done is None, and a note says
    why.   dunn : None also where no control was named.
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


def compare(scores: Scores, *, control: str | None = None, alpha: float = ALPHA) -> Comparison:
    """Rank the methods, test whether any differ, and which.

    control : the method that the others are held against (Bonferroni–Dunn).   Raises DataError for fewer than two methods
    or data sets, an unknown control, or alpha outside (0, 1).
    """
    n, k = scores.values.shape
    everyone = nemenyi(scores, alpha)
    against = None if control is None else bonferroni_dunn(scores, control, alpha)
    notes = list(gap_notes(scores))
    overall = _tried(lambda: friedman(scores), notes)
    pairs = _tried(lambda: wilcoxon_holm(scores, alpha), notes)
    if pairs is not None:
        notes += pairs.notes
    if overall is not None and (n <= CHI_SQUARE_NEEDS[0] or k <= CHI_SQUARE_NEEDS[1]):
        notes.append(f"With {n} data sets and {k} methods the χ² of Friedman's test is rough; F is to be preferred.")
    if overall is not None and overall.f_p > alpha:
        notes.append(f"Friedman's test finds no difference at all (F: p = {overall.f_p:.3g}): a pair that differs may be chance.")
    placed = ranks(scores)
    return Comparison(scores, placed, placed.mean(axis=0), overall, everyone, pairs, against, alpha, tuple(notes))


def _tried(test: Callable[[], Any], notes: list[str]) -> Any:
    """The test's answer, or None and a note on why there is none."""
    try:
        return test()
    except DataError as error:
        notes.append(f"Left out: {error}.")
        return None


def rank_rows(found: Comparison) -> list[dict[str, Any]]:
    """One row per method, best average rank first, for tables.

    ``alike`` holds a letter per group of Nemenyi's test: methods that share a letter are not found different.  ``wins``
    counts the data sets where nobody is better.  The mean is over the data sets on which every method has a result.  With a control, ``p`` is that of Bonferroni–Dunn and ``differs`` its answer.
    """
    letters = group_letters(found.nemenyi)
    best = found.ranks == found.ranks.min(axis=1, keepdims=True)
    whole = found.scores.values[~np.isnan(found.scores.values).any(axis=1)]
    rows = []
    for m in np.argsort(found.average, kind="stable").tolist():
        row: dict[str, Any] = {
            "method": found.scores.methods[m],
            "average rank": float(found.average[m]),
            "alike": letters[m],
            "wins": int((best[:, m] & ~np.isnan(found.scores.values[:, m])).sum()),
            f"mean {found.scores.measure}": float(whole[:, m].mean()) if len(whole) else None,
        }
        if found.dunn is not None:
            control = m == found.dunn.control
            row[f"p against {found.scores.methods[found.dunn.control]}"] = None if control else float(found.dunn.p[m])
            row["differs"] = None if control else bool(found.dunn.different[m])
        rows.append(row)
    return rows


def group_letters(test: Pairwise) -> list[str]:
    """Per method the letters of its groups ("a" holds the best); a method that differs from all has one of its own."""
    groups = test.groups()
    inside = {m for group in groups for m in group}
    groups += [(m,) for m in range(len(test.methods)) if m not in inside]
    groups.sort(key=lambda group: [float(test.ranks[m]) for m in group])
    names = [*string.ascii_lowercase, *(f"{letter}{i}" for i in range(1, 100) for letter in string.ascii_lowercase)]
    return ["".join(name for name, group in zip(names, groups, strict=False) if m in group) for m in range(len(test.methods))]


def verdict_lines(found: Comparison) -> list[str]:
    """What the tests say, a sentence each, notes last."""
    n, k = found.scores.values.shape
    lines = [f"{k} methods on {n} data sets by {found.scores.measure}, alpha = {found.alpha:g}"]
    if found.friedman is not None:
        f = found.friedman
        lines.append(
            f"Friedman: chi-square {f.chi_square:.4g}, {k - 1} degrees of freedom, p = {f.p:.3g}; "
            f"F {f.f:.4g}, ({k - 1}, {(k - 1) * (n - 1)}) degrees of freedom, p = {f.f_p:.3g}"
        )
    lines.append(f"Nemenyi: critical difference {found.nemenyi.critical_difference:.4g}; {_pairs(found.nemenyi)}")
    if found.dunn is not None:
        names = [name for name, other in zip(found.dunn.methods, found.dunn.different, strict=True) if other]
        control = found.dunn.methods[found.dunn.control]
        answer = f"differ from {control}: {', '.join(names)}" if names else f"none differs from {control}"
        lines.append(f"Bonferroni–Dunn: critical difference {found.dunn.critical_difference:.4g}; {answer}")
    if found.wilcoxon is not None:
        lines.append(f"Wilcoxon–Holm: {_pairs(found.wilcoxon)}")
    return [*lines, *found.notes]


def _pairs(test: Pairwise) -> str:
    """ "3 of 6 pairs differ"."""
    count = len(test.methods) * (len(test.methods) - 1) // 2
    return f"{int(test.different.sum()) // 2} of {count} pairs differ"
