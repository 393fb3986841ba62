"""Everything to compare methods over data sets, in one place: from runs to scores, all tests of
them at once, trade-offs, and charts ready to be drawn.

Of any study: ``from arboretum_regularized import comparing``.
"""

import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import attrs
import numpy as np

from arboretum.api import (
    Axis,
    DataError,
    Facts,
    Line,
    LineChart,
    Panels,
    Record,
    better,
    pareto_front,
    sure,
    unknown,
)
from arboretum_regularized.rank_diagram import RankDiagram
from arboretum_regularized.scores import AgainstControl, Friedman, Pairwise, Scores
from arboretum_regularized.significance import (
    ALPHA,
    bonferroni_dunn,
    friedman,
    gap_notes,
    nemenyi,
    ranks,
    wilcoxon_holm,
)

T = TypeVar("T")


@attrs.frozen
class PowerLaw:
    """y ≈ factor · x^exponent.   error : standard error of the exponent, NaN for two points."""

    factor: float
    exponent: float
    error: float

    def at(self, x: np.ndarray) -> np.ndarray:
        """Return float64[…] of the curve at x > 0."""
        return self.factor * np.asarray(x, dtype=float) ** self.exponent


def power_law(x: np.ndarray, y: np.ndarray) -> PowerLaw:
    """Return the least squares of ln y on ln x: the slope of the line in a picture with two
    logarithmic axes.

    x, y : float64[n] > 0, with two different x at least.   Raises DataError otherwise.
    """
    x, y = (np.asarray(values, dtype=float) for values in (x, y))
    if x.shape != y.shape or x.ndim != 1:
        raise DataError(f"a power law needs as many x as y, not shapes {x.shape} and {y.shape}")
    if not ((x > 0) & (y > 0) & np.isfinite(x) & np.isfinite(y)).all():
        raise DataError("a power law needs finite x and y above 0; leave the other points out")
    if len(np.unique(x)) < 2:
        raise DataError(f"a power law needs two different x, not {len(np.unique(x))}")
    u, v = np.log(x), np.log(y)
    fit, covariance = np.polyfit(u, v, 1, cov="unscaled")
    variance = ((v - np.polyval(fit, u)) ** 2).sum() / (len(u) - 2) if len(u) > 2 else np.nan
    return PowerLaw(
        float(np.exp(fit[1])), float(fit[0]), float(np.sqrt(covariance[0, 0] * variance))
    )


# data sets and methods above which Demšar trusts the χ² of Friedman's test
CHI_SQUARE_NEEDS = (10, 5)


def scores_of(
    records: Iterable[Record],
    metric: str,
    *,
    measure: str = "",
    name: Callable[[Record], str] | None = None,
) -> Scores:
    """Return the ``metric`` of finished runs: a column per method, a row per data set, the mean
    over runs that share both.

    metric : of the records, such as ``test_error``; or ``timing.PART``, such as ``timing.fit``, in
        seconds.
    measure : its name in tables and pictures.
    name : what a run's column is called, where it is not its method but, say, its depth: ``lambda
        record: f"depth {record.config['stopping']['standard']['max_depth']}"``.   A run without the
        metric is left out; NaN counts as missing.
    Raises DataError where no run has it, ConfigError for a name that is no metric.
    """
    records = list(records)
    found = [
        {**r.metrics, **{f"timing.{part}": seconds for part, seconds in r.timings.items()}}
        for r in records
    ]
    if not any(metric in values for values in found):
        raise DataError(
            unknown("metric of these runs", metric, {known for values in found for known in values})
        )
    known = [
        (r, values[metric]) for r, values in zip(records, found, strict=True) if metric in values
    ]
    rows = [(str(r.data["name"]), name(r) if name else r.method, value) for r, value in known]
    timed = metric.startswith("timing.")
    words = measure or (
        f"{metric.removeprefix('timing.')} time in seconds" if timed else metric.replace("_", " ")
    )
    return Scores.of_rows(words, rows, higher_is_better=not timed and better(metric, 1.0, 0.0))


@attrs.frozen(eq=False)
class Comparison:
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


def compare(scores: Scores, *, control: str | None = None, alpha: float = ALPHA) -> Comparison:
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
    return Comparison(
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


def rank_rows(found: Comparison) -> list[Facts]:
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


def verdict_lines(found: Comparison) -> list[str]:
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


def rank_diagram(test: Pairwise | AgainstControl, title: str, *, subtitle: str = "") -> RankDiagram:
    """Return a critical-difference diagram: bars over groups that do not differ, or the interval
    around a control.

    test : of all pairs, or against a control.
    """
    words, notes = f"{test.test}, alpha = {test.alpha:g}", test.notes
    ranks, reach = [float(rank) for rank in test.ranks], test.critical_difference
    if isinstance(test, Pairwise):
        return RankDiagram(
            title, test.methods, ranks, subtitle, test.groups(), reach, test=words, notes=notes
        )
    around = (ranks[test.control] - sure(reach), ranks[test.control] + sure(reach))
    words = f"{words}, against {test.methods[test.control]}"
    return RankDiagram(
        title,
        test.methods,
        ranks,
        subtitle,
        (),
        reach,
        test=words,
        control=test.control,
        interval=around,
        notes=notes,
    )


def bar_chart(
    scores: Scores,
    title: str,
    *,
    base: float = 0.0,
    log: bool = False,
    own_scales: bool = False,
    **words: str | Sequence[str],
) -> Panels:
    """Return bars per data set with standard errors.

    base : where bars start, such as 0.5 for areas.
    log : of the scale of the scores.
    own_scales : each data set has a scale of its own.
    words : ``subtitle`` and ``notes``.
    """
    axis = Axis(scores.measure, log, scores.higher_is_better)
    errors = () if scores.errors is None else scores.errors.tolist()
    shown: Facts = {"errors": errors, "base": base, "own_scales": own_scales, **words}
    return Panels.of_bars(
        title, scores.datasets, scores.methods, scores.values.tolist(), axis, **shown
    )


def pareto_chart(x: Scores, y: Scores, title: str, *, log_x: bool = False) -> LineChart:
    """Return two measures of the same methods, each the mean over the data sets where every method
    has both, and their front.

    log_x : the scale of x is logarithmic.
    Raises DataError where methods or data sets are not the same, or no data set is complete.
    """
    if (x.methods, x.datasets) != (y.methods, y.datasets):
        raise DataError(
            f"{x.measure} and {y.measure} are of different methods or data sets; give both "
            "the same, in the same order"
        )
    whole = ~(np.isnan(x.values) | np.isnan(y.values)).any(axis=1)
    if not whole.any():
        raise DataError(
            "no data set has results of all methods by both measures; leave a method out"
        )
    means = np.column_stack([scores.values[whole].mean(axis=0) for scores in (x, y)])
    left_out = [name for name, kept in zip(x.datasets, whole, strict=True) if not kept]
    over = "One data set" if whole.sum() == 1 else f"Means over {int(whole.sum())} data sets"
    means_over = [over + (f", without {', '.join(left_out)} (not complete)." if left_out else ".")]
    points = [(name, float(a), float(b)) for name, (a, b) in zip(x.methods, means, strict=True)]
    front = pareto_front(means, (x.higher_is_better, y.higher_is_better)).tolist()
    axes = (
        Axis(x.measure, log_x, x.higher_is_better),
        Axis(y.measure, higher_is_better=y.higher_is_better),
    )
    return LineChart.of_points(title, points, *axes, front, notes=means_over)


def sweep_chart(values: Sequence[float], scores: Scores, title: str, *, axis: str) -> LineChart:
    """Return a line per data set over swept ``values``, which ``axis`` names; they are the
    "methods" of ``scores``, in the same order.

    Raises DataError where their numbers differ.
    """
    if len(values) != len(scores.methods):
        raise DataError(
            f"{len(values)} swept values do not fit {len(scores.methods)} columns of scores"
        )
    errors = [()] * len(scores.datasets) if scores.errors is None else scores.errors.tolist()
    lines = [
        Line(name, values, *found)
        for name, *found in zip(scores.datasets, scores.values.tolist(), errors, strict=True)
    ]
    return LineChart(
        title,
        lines,
        Axis(axis, log=True),
        Axis(scores.measure, higher_is_better=scores.higher_is_better),
    )


def time_chart(times: Scores, title: str) -> LineChart:
    """Return running times in seconds: a row per method, a dot per data set, the geometric mean as
    a mark and a number.

    Raises DataError for times of 0 or less.
    """
    if (times.values <= 0).any():
        raise DataError("running times are above 0; measure the short ones over many repeats")
    known = [column[~np.isnan(column)] for column in times.values.T]
    middles = [
        float(np.exp(np.log(column).mean())) if len(column) else float("nan") for column in known
    ]
    names = [
        f"{name} {value:.3g}" if np.isfinite(value) else f"{name} –"
        for name, value in zip(times.methods, middles, strict=True)
    ]
    found = [dict(zip(times.datasets, column, strict=True)) for column in times.values.T.tolist()]
    return LineChart.of_rows(
        title,
        [*zip(names, found, middles, strict=True)],
        Axis(times.measure, log=True),
        "geometric mean",
    )


def growth_chart(times: Scores, sizes: Mapping[str, float], title: str, *, axis: str) -> LineChart:
    """Return running time against a size of the data set, both logarithmic, with a fitted power law
    per method.

    sizes : data set → its size, which ``axis`` names.
    The slope with its standard error stands in the legend; a method with results on fewer than two
    sizes has no line.   Raises DataError for a data set without a size.
    """
    if absent := [name for name in times.datasets if name not in sizes]:
        raise DataError(f"the data set {absent[0]!r} has no size; add it to sizes")
    n = np.array([sizes[name] for name in times.datasets], dtype=float)
    lines = []
    for m, (method, column) in enumerate(zip(times.methods, times.values.T, strict=True)):
        x, y, label, fitted = n[~np.isnan(column)], column[~np.isnan(column)], method, []
        if len(np.unique(x)) > 1:
            law, ends = power_law(x, y), np.array([x.min(), x.max()])
            label = f"{method}: slope {law.exponent:.2f}" + (
                f" ± {law.error:.2f}" if np.isfinite(law.error) else ""
            )
            fitted = [
                Line(
                    label,
                    ends.tolist(),
                    law.at(ends).tolist(),
                    colour=m,
                    marked=False,
                    dashed=True,
                    quiet=True,
                )
            ]
        lines += [Line(label, x.tolist(), y.tolist(), colour=m, joined=False), *fitted]
    dashed = "Dashed: least squares of the logarithms; slope ± standard error."
    return LineChart(
        title, lines, Axis(axis, log=True), Axis(times.measure, log=True), notes=[dashed]
    )
