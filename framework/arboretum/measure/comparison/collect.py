"""From finished runs to scores."""

from collections.abc import Callable, Iterable

from arboretum.errors import DataError, unknown
from arboretum.measure.evaluate import better
from arboretum.model.record import Record
from arboretum.model.scores import Scores


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
        record: f"depth {record.config['stopping']['standard']['max_depth']}"``.

    A run without the metric is left out; NaN counts as missing.
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
