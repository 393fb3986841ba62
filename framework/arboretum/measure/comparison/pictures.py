"""Charts of whole studies, as data: ranks, bars, trade-offs, sweeps, times."""

from collections.abc import Sequence

import numpy as np

from arboretum.errors import DataError, sure
from arboretum.measure.evaluate import pareto_front
from arboretum.model.charts import Axis, Line, LineChart, Panels, RankDiagram
from arboretum.model.plain import Facts
from arboretum.model.scores import AgainstControl, Pairwise, Scores


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
