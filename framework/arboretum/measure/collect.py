"""Runs become scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from arboretum.errors import DataError, unknown
from arboretum.measure.evaluate import HIGHER, direction
from arboretum.model.record import Record
from arboretum.model.scores import Scores


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
