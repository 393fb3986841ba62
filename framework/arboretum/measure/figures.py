"""Charts of scores and tests, ready to be drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from arboretum.errors import DataError
from arboretum.measure.pareto import pareto_front, power_law
from arboretum.model.charts import Axis, BarChart, DotChart, Line, LineChart, Point, PointChart, RankDiagram
from arboretum.model.scores import AgainstControl, Pairwise, Scores


def rank_diagram(test: Pairwise | AgainstControl, title: str, *, subtitle: str = "", notes: Sequence[str] = ()) -> RankDiagram:
    """A critical-difference diagram: bars over groups that do not differ, or the interval around a control."""
    words = f"{test.test}, alpha = {test.alpha:g}"
    ranks = [float(rank) for rank in test.ranks]
    notes = (*test.notes, *notes)
    if isinstance(test, Pairwise):
        groups = test.groups()
        return RankDiagram(title, test.methods, ranks, subtitle, groups, test.critical_difference, words, notes=notes)
    middle, reach = ranks[test.control], test.critical_difference
    control = f"{words}, against {test.methods[test.control]}"
    around = (middle - reach, middle + reach)
    return RankDiagram(title, test.methods, ranks, subtitle, (), reach, control, test.control, around, notes)


def bar_chart(
    scores: Scores,
    title: str,
    *,
    base: float = 0.0,
    log: bool = False,
    own_scales: bool = False,
    subtitle: str = "",
    notes: Sequence[str] = (),
) -> BarChart:
    """Bars per data set with the standard errors.   base : where bars start, such as 0.5 for areas under a ROC curve."""
    axis = Axis(scores.measure, log, scores.higher_is_better)
    errors = () if scores.errors is None else scores.errors.tolist()
    return BarChart(
        title, scores.datasets, scores.methods, scores.values.tolist(), axis, errors, base, own_scales, subtitle, notes
    )


def pareto_chart(
    x: Scores, y: Scores, title: str, *, log_x: bool = False, log_y: bool = False, subtitle: str = "", notes: Sequence[str] = ()
) -> PointChart:
    """Two measures of the same methods, each the mean over the data sets where every method has both, and their front.

    Raises DataError where methods or data sets are not the same, or no data set is complete.
    """
    if (x.methods, x.datasets) != (y.methods, y.datasets):
        raise DataError(f"{x.measure} and {y.measure} are of different methods or data sets; give both the same, in the same order")
    whole = ~(np.isnan(x.values) | np.isnan(y.values)).any(axis=1)
    if not whole.any():
        raise DataError("no data set has results of all methods by both measures; leave a method out by Scores.only")
    means = np.column_stack([scores.values[whole].mean(axis=0) for scores in (x, y)])
    left_out = [name for name, kept in zip(x.datasets, whole, strict=True) if not kept]
    over = "One data set" if whole.sum() == 1 else f"Means over {int(whole.sum())} data sets"
    means_over = [over + (f", without {', '.join(left_out)} (not complete)." if left_out else ".")]
    points = [Point(name, float(a), float(b), colour=m) for m, (name, (a, b)) in enumerate(zip(x.methods, means, strict=True))]
    front = pareto_front(means, (x.higher_is_better, y.higher_is_better)).tolist()
    axes = Axis(x.measure, log_x, x.higher_is_better), Axis(y.measure, log_y, y.higher_is_better)
    return PointChart(title, points, *axes, front, subtitle, [*means_over, *notes])


def sweep_chart(
    values: Sequence[float], scores: Scores, title: str, *, axis: str, log: bool = True, subtitle: str = ""
) -> LineChart:
    """A line per data set over a swept value; the "methods" of ``scores`` are the swept values, in the same order.

    Raises DataError where their numbers differ.
    """
    if len(values) != len(scores.methods):
        raise DataError(f"{len(values)} swept values do not fit {len(scores.methods)} columns of scores")
    lines = [
        Line(name, values, scores.values[d].tolist(), () if scores.errors is None else scores.errors[d].tolist())
        for d, name in enumerate(scores.datasets)
    ]
    return LineChart(title, lines, Axis(axis, log), Axis(scores.measure, False, scores.higher_is_better), subtitle)


def time_chart(times: Scores, title: str, *, subtitle: str = "", notes: Sequence[str] = ()) -> DotChart:
    """Running times: a row per method, a dot per data set, the geometric mean as a mark and a number.

    Raises DataError for times of 0 or less.
    """
    if (times.values <= 0).any():
        raise DataError("running times are above 0; measure the short ones over many repeats")
    known = [column[~np.isnan(column)] for column in times.values.T]
    middles = [float(np.exp(np.log(column).mean())) if len(column) else float("nan") for column in known]
    hints = [[f"{name} {value:.4g}" for name, value in zip(times.datasets, column, strict=True)] for column in times.values.T]
    texts = [f"{value:.3g}" if np.isfinite(value) else "–" for value in middles]
    axis = Axis(times.measure, log=True)
    rows = times.values.T.tolist()
    return DotChart(title, times.methods, rows, axis, hints, middles, texts, "geometric mean", subtitle, notes)


def growth_chart(
    times: Scores, sizes: Mapping[str, float], title: str, *, axis: str, subtitle: str = "", notes: Sequence[str] = ()
) -> LineChart:
    """Running time against a size of the data set, both logarithmic, with a fitted power law per method.

    sizes : data set → its size.   The slope with its standard error stands in the legend; a method with results on fewer
    than two sizes has no line.   Raises DataError for a data set without a size.
    """
    absent = [name for name in times.datasets if name not in sizes]
    if absent:
        raise DataError(f"the data set {absent[0]!r} has no size; add it to sizes")
    n = np.array([sizes[name] for name in times.datasets], dtype=np.float64)
    lines = []
    for m, (method, column) in enumerate(zip(times.methods, times.values.T, strict=True)):
        known = ~np.isnan(column)
        dots = Line(method, n[known].tolist(), column[known].tolist(), colour=m, joined=False)
        if len(np.unique(n[known])) < 2:
            lines.append(dots)
            continue
        law = power_law(n[known], column[known])
        ends = np.array([n[known].min(), n[known].max()])
        spread = f" ± {law.error:.2f}" if np.isfinite(law.error) else ""
        fit = f"{method}: slope {law.exponent:.2f}{spread}"
        lines += [Line(fit, dots.x, dots.y, colour=m, joined=False)]
        lines += [Line(fit, ends.tolist(), law.at(ends).tolist(), colour=m, marked=False, dashed=True, quiet=True)]
    fitted = "Dashed: least squares of the logarithms; slope ± standard error."
    return LineChart(title, lines, Axis(axis, log=True), Axis(times.measure, log=True), subtitle, [fitted, *notes])
