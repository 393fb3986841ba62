"""The table that decides: a row per setting of a sweep, its goal first; as text, CSV and
picture.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.config.resolve import Settings
from arboretum.errors import ConfigError, unknown
from arboretum.measure.evaluate import (
    BEST,
    CONFIDENCE,
    HIGHER,
    LEAST_SHARED,
    TIED,
    better,
    direction,
    mean_and_error,
    pareto_front,
    places,
)
from arboretum.model.charts import Axis, Chart, LineChart, Panels
from arboretum.model.plain import Facts
from arboretum.model.record import Checked, Record, Status
from arboretum.report.table import csv_table, spell_cell, spell_means, text_table
from arboretum.runs.grouping import data_set_of
from arboretum.runs.sweeps import flatten, short_names, spell_choice

DEFAULT = Settings().goal
STAND_INS = ("valid_error", "valid_mse", "test_error", "test_mse", "train_error", "train_mse")
"""Looked for in this order when nobody chose a goal and the runs have no validation rows, or no
classes.
"""
HIDDEN = ("seed", "tracker", "plugins", "goal", "skip_finished")
JUDGING = ("valid_", "test_")
"""How metrics begin of rows that no tree has learned from."""
ERRORS = ("test_error", "valid_error", "train_error", "test_mse", "valid_mse", "train_mse")
MEANS = {"expected_cost": "expected cost", "depth": "depth", "n_leaves": "leaves"}
KEPT = "kept_"  # how the metrics begin that tell what a tuner or a pruner kept
MOST_KEPT = 4
MOST_DRAWN = 30  # settings of a data set in the picture, the best first


@attrs.frozen(eq=False)
class Setting:
    """Runs that differ in seed and fold only.

    names : column → value, as shown.
    goal : the metric they are judged by, "" where they have none.
    place : among the settings of the same data set.
    """

    names: Mapping[str, str]
    records: tuple[Record, ...]
    goal: str
    place: str = ""

    @property
    def dataset(self) -> str:
        """Name of the data set, as :func:`data_set_of` gives it."""
        return self.names["dataset"]

    def blocks(self) -> dict[Any, float]:
        """(seed, fold) → the goal's value, of the runs that have it; fold None: no folds."""
        judged = [record for record in self.records if self.goal in record.metrics]
        return {
            (r.seed, (r.config.get("split") or {}).get("fold")): r.metrics[self.goal]
            for r in judged
        }

    def mean(self, metric: str) -> tuple[float, float]:
        """Mean and standard error of a metric over the runs that have it; NaN where none has."""
        return mean_and_error(
            [record.metrics[metric] for record in self.records if metric in record.metrics]
        )

    def has(self, metric: str) -> bool:
        """Whether at least one of the runs has the metric."""
        return any(metric in record.metrics for record in self.records)

    def metrics(self) -> dict[str, float]:
        """Metric → its mean over the runs, of those metrics that all runs have."""
        shared = [
            name
            for name in self.records[0].metrics
            if all(name in record.metrics for record in self.records)
        ]
        return {name: self.mean(name)[0] for name in shared}

    def label(self, without: Iterable[str] = ()) -> str:
        """ "cart max_depth=4": what is shown of the setting, but columns in ``without``."""
        words = [(key, value) for key, value in self.names.items() if value and key not in without]
        short = short_names(self.names)
        return " ".join(
            value if key in ("method", "dataset") else f"{short[key]}={value}"
            for key, value in words
        )


@attrs.frozen(eq=False)
class Comparison:
    """The settings of a sweep, data set by data set, the best first."""

    settings: tuple[Setting, ...]
    traded: tuple[str, ...] = ()

    @staticmethod
    def of(
        records: Iterable[Record], goal: str = DEFAULT, traded: tuple[str, ...] = ()
    ) -> Comparison:
        """Group the runs by what varies besides seed and fold, and judge the settings of each data
        set by the goal.

        traded : metrics besides the goal, for the front of those that no other beats in all of
            them.
        """
        records = list(records)
        groups: dict[tuple[str, ...], list[Record]] = {}
        for names, record in zip(rows := shown_names(records), records, strict=True):
            groups.setdefault(tuple(names.values()), []).append(record)
        settings = [
            Setting(dict(zip(rows[0], key, strict=True)), tuple(group), _common_goal(goal, group))
            for key, group in sorted(groups.items())
        ]
        return Comparison(
            tuple(setting for _, mine in _by_data_set(settings) for setting in _with_places(mine)),
            traded,
        )

    @property
    def best(self) -> list[Setting]:
        """The settings with the best mean goal, one of each data set that can be judged."""
        return [setting for setting in self.settings if setting.place == BEST]

    @property
    def goals(self) -> list[str]:
        """The metrics they are judged by: one, unless data sets of different tasks meet."""
        return list(dict.fromkeys(setting.goal for setting in self.settings if setting.goal))

    def text(self, width: int | None = None, most: int | None = None) -> str:
        """The aligned table and what its words mean.   most : rows; None: all.

        width : of the terminal; None: uncut.
        """
        shown = self.settings[:most]
        rows, headings = self._rows(shown)
        for name in ("goal", "missed"):
            for row, cell in zip(
                rows, spell_means([(row[name], row[f"{name} error"]) for row in rows]), strict=True
            ):
                row[name] = cell
        headings = {name: title for name, title in headings.items() if not name.endswith(" error")}
        table = text_table(rows, headings, width=width)
        if len(shown) < len(self.settings):
            table += f"… and {len(self.settings) - len(shown)} settings more\n"
        return table + "".join(f"{line}\n" for line in (*self._legend(), *self._front_lines()))

    def _front_lines(self) -> list[str]:
        """The settings that no other of their data set beats in the goal and all that is traded
        off against it, as a table.
        """
        judged = [s for s in self.settings if s.goal and all(map(s.has, self.traded))]
        if not self.traded or not judged:
            return []
        rows = []
        for _, mine in _by_data_set(judged):
            metrics = (mine[0].goal, *self.traded)
            points = [[setting.mean(name)[0] for name in metrics] for setting in mine]
            for i in pareto_front(
                np.array(points), tuple(direction(name) == HIGHER for name in metrics)
            ):
                rows.append(
                    {"setting": mine[i].label(), **dict(zip(metrics, points[i], strict=True))}
                )
        headings = {name: _spell_metrics([name]) for name in rows[0]} | {
            "setting": "no other is better in all"
        }
        return ["", text_table(rows, headings).rstrip("\n")]

    def _legend(self) -> list[str]:
        """What "best", "tied" and "±" stand for, where the table says them."""
        if not self.goals or len(self.settings) == len(self.best):
            return []
        lines = [
            f"best: best mean {_spell_metrics(self.goals)} of a data set; ±: standard error over "
            "seeds and folds"
        ]
        enough = max(len(setting.records) for setting in self.settings) >= LEAST_SHARED
        if any(setting.place == TIED for setting in self.settings):
            lines[0] += "; tied: " + (
                f"not worse at {CONFIDENCE:.0%} (paired t)" if enough else "the same mean"
            )
        if not enough:
            lines.append(
                f"(fewer than {LEAST_SHARED} runs per setting do not tell a difference from "
                "chance: add seeds or folds)"
            )
        return lines

    def csv(self) -> str:
        """Every setting, numbers in full; a standard error in a column of its own."""
        rows, headings = self._rows(self.settings)
        return csv_table(rows, headings)

    def _rows(self, settings: Sequence[Setting]) -> tuple[list[Facts], dict[str, str]]:
        """A row per setting, column → cell, and column → heading of those that are shown, in this
        order: what varies, place, goal, error, cost and shape, ratio, runs, time.
        """
        records = [record for setting in settings for record in setting.records]
        known = [
            name
            for record in records
            if record.certificate
            for name in record.certificate.complexities
        ]
        wanted = (*(record.config.get("goal") for record in records[:1]), *SHOWN_RATIOS, *known)
        proven = next((name for name in wanted if name in known), "")
        chosen = sorted(
            {name for record in records for name in record.metrics if name.startswith(KEPT)}
        )
        names = short_names(settings[0].names if settings else ())
        missed = {setting: next(filter(setting.has, ERRORS), "") for setting in settings}
        errors = [name for name in dict.fromkeys(missed.values()) if name]
        rows = []
        for setting in settings:
            row: Facts = {
                **setting.names,
                "place": setting.place,
                "runs": len(setting.records),
            }
            row["goal"], row["goal error"] = setting.mean(setting.goal)
            row["missed"], row["missed error"] = setting.mean(missed[setting])
            row |= {name: _spell_kept_values(setting.records, name) for name in chosen}
            row |= {name: setting.mean(name)[0] for name in MEANS}
            row["ratio"] = _mean_ratio(setting.records, proven)
            row |= _summarise_solutions(setting.records)
            row["time"] = sum(r.timings.get("fit", math.nan) for r in setting.records) / len(
                setting.records
            )
            rows.append(row)
        headings = dict(names)
        if any(setting.place != BEST for setting in settings):
            headings["place"] = "best"
        for name, shown in (
            ("goal", self.goals),
            ("missed", errors if errors != self.goals else []),
        ):
            headings |= (
                {name: _spell_metrics(shown), f"{name} error": "standard error"} if shown else {}
            )
        headings |= {name: _spell_metrics([name]) for name in chosen}
        headings |= {name: title for name, title in MEANS.items() if name not in self.goals}
        if proven:
            headings["ratio"] = f"{_spell_metrics([proven])} ÷ min"
        if any(row["status"] for row in rows):
            headings |= {name: name for name in ("value", "bound", "status")}
        return rows, {**headings, "runs": "runs", "time": "fit s"}

    def chart(self, title: str) -> Chart | None:
        """The goal of every setting: a row of dots each, in panels by data set; None where there
        is nothing to compare.
        """
        judged = [setting for setting in self.settings if setting.blocks()]
        if len(judged) < 2 or len(self.goals) != 1:
            return None
        axis = Axis(_spell_metrics(self.goals), higher_is_better=better(self.goals[0], 1.0, 0.0))
        return Panels(
            title, [_draw_dots(mine, name, axis) for name, mine in _by_data_set(judged)], columns=1
        )


def _by_data_set(settings: Iterable[Setting]) -> list[tuple[str, list[Setting]]]:
    """Return the settings of each data set, by its name, in the order in which they came."""
    ordered = sorted(settings, key=lambda setting: setting.dataset)
    return [
        (name, list(mine))
        for name, mine in itertools.groupby(ordered, lambda setting: setting.dataset)
    ]


def _with_places(settings: Sequence[Setting]) -> list[Setting]:
    """The settings of one data set with their places, the best first."""
    goals = {setting.goal for setting in settings}
    if len(goals) != 1 or not (goal := goals.pop()):
        return list(settings)
    found = places(goal, [setting.blocks() for setting in settings])
    placed = [
        attrs.evolve(setting, place=place) for setting, place in zip(settings, found, strict=True)
    ]
    sign = 1.0 if better(goal, 0.0, 1.0) else -1.0
    return sorted(
        placed, key=lambda s: (s.place != BEST, math.isnan(mean := s.mean(goal)[0]), sign * mean)
    )


def _common_goal(goal: str, records: Sequence[Record]) -> str:
    """What the goal means for these runs; "" where one has no such metric."""
    try:
        found = {goal_of(goal, record.metrics) for record in records}
    except ConfigError:
        return ""
    return found.pop() if len(found) == 1 else ""


def _spell_metrics(metrics: Sequence[str]) -> str:
    """ "test error / test mse", as headings name metrics."""
    return " / ".join(name.replace("_", " ") for name in metrics)


def _draw_dots(mine: Sequence[Setting], dataset: str, axis: Axis) -> LineChart:
    """Return the chart of a data set's best settings: a dot a run, by seed and fold, with mean and
    standard error.
    """
    drawn = mine[:MOST_DRAWN]
    means = [setting.mean(setting.goal) for setting in drawn]
    names = [
        " ".join(filter(None, (s.label(("dataset",)) or dataset, cell)))
        for s, cell in zip(drawn, spell_means(means), strict=True)
    ]
    found = [
        {
            f"seed {seed}" + ("" if fold is None else f", fold {fold}"): x
            for (seed, fold), x in s.blocks().items()
        }
        for s in drawn
    ]
    rest = f"the best {len(drawn)} of {len(mine)} settings" if len(drawn) < len(mine) else ""
    return LineChart.of_rows(
        dataset,
        [*zip(names, found, (mean for mean, _ in means), strict=True)],
        axis,
        "mean ± standard error",
        rest,
    )


def _spell_kept_values(records: Sequence[Record], name: str) -> str | None:
    """What the runs kept, the most frequent first: "1, 10", at most MOST_KEPT; None where no run
    has the metric.  A mean of such values would be none of them.
    """
    found = Counter(record.metrics[name] for record in records if name in record.metrics)
    shown = [f"{value:g}" for value, _ in sorted(found.items(), key=lambda one: (-one[1], one[0]))]
    return (
        ", ".join(shown[:MOST_KEPT]) + (" …" if len(shown) > MOST_KEPT else "") if shown else None
    )


SHOWN_RATIOS = ("expected_cost", "average_depth", "depth")
"""The complexities whose ratio a comparison shows, the goal before all; else the first one that
is certified.
"""


def reasons_without_certificate(records: Sequence[Record]) -> list[str]:
    """Why runs of a sweep have no certificate that was asked for, a line per reason."""
    reasons = [
        note
        for record in records
        if record.certificate is None
        for note in record.notes
        if note.startswith("certify: ")
    ]
    return [f"{reasons.count(why)} of {len(records)} runs: {why}" for why in dict.fromkeys(reasons)]


def _mean_ratio(records: Sequence[Record], name: str) -> float | str | None:
    """Mean ratio to the minimum; "≤ 1.2" when one of them is only bounded, None unless all runs
    have one.

    name : of the complexity, "" where none is certified.
    """
    found = [
        record.certificate.complexities.get(name) if record.certificate else None
        for record in records
    ]
    ratios = [one.ratio for one in found if one is not None and one.ratio is not None]
    if not name or len(ratios) < len(found):
        return None
    mean = sum(ratios) / len(ratios)
    return mean if all(one is not None and one.proven for one in found) else f"≤ {spell_cell(mean)}"


def _solver_of(record: Record) -> str:
    """The solver whose word the record's solution is; "" where it has none."""
    return (
        str(record.config.get("choices", {}).get("solver") or "")
        if record.solution is not None
        else ""
    )


def _summarise_solutions(records: Sequence[Record]) -> Facts:
    """Mean value and bound of runs with a solver, and how many are proven: "optimal", "2 of 3
    optimal", "optimal (claimed)".
    """
    found = [record.solution for record in records if record.solution and _solver_of(record)]
    if not found:
        return {"value": None, "bound": None, "status": None}
    value, bound = (
        sum(getattr(one, name) for one in found) / len(found) for name in ("value", "lower_bound")
    )
    states = Counter(one.word for one in found)
    claimed = sum(one.checked is Checked.claimed for one in found)
    proven = sum(one.status is Status.optimal for one in found)
    status = (
        next(iter(states))
        if len(states) == 1
        else f"{proven} of {len(found)} optimal{f', {claimed} claimed' * (claimed > 0)}"
    )
    return {"value": value, "bound": bound, "status": status}


def shown_names(records: Sequence[Record]) -> list[dict[str, str]]:
    """Per run, column → value: method, data set, and every other choice or parameter that differs,
    but the seed and folds.

    What differs only because the method (for parameters of a data set or a solver: that) differs
    needs no column.
    """
    if records and all(record.config.get("study") for record in records):
        return _names_of_study(records)
    flat = [dict(flatten(record.config)) for record in records]
    rows = [
        {"method": str(r.config.get("choices", {}).get("method", "")), "dataset": data_set_of(r)}
        for r in records
    ]
    methods, datasets = ([row[name] for row in rows] for name in ("method", "dataset"))
    solvers = [
        repr((method, one.get("choices.solver"))) for method, one in zip(methods, flat, strict=True)
    ]
    for key in sorted(
        {key for one in flat for key in one}, key=lambda key: (not key.startswith("choices."), key)
    ):
        name = key.removeprefix("choices.")  # which criterion comes before its parameters
        group, _, rest = name.partition(".")
        if name in rows[0] or group in HIDDEN or key == "split.fold" or rest == "name":
            continue  # a component's own name says no more than the choice
        owners = (
            datasets if group == "dataset" else solvers if group == "solver" and rest else methods
        )
        if len(
            {(owner, repr(one.get(key))) for owner, one in zip(owners, flat, strict=True)}
        ) > len(set(owners)):
            for row, one in zip(rows, flat, strict=True):
                row[name] = spell_choice(one.get(key))
    return rows


def _names_of_study(records: Sequence[Record]) -> list[dict[str, str]]:
    """Per run of a study, column → value: method and data set, and of the other axes those that
    vary, by the names that its file has for them.
    """
    named = [{**record.config["study"], **_share_of(record)} for record in records]
    keys = dict.fromkeys(key for one in named for key in one)
    shown = [
        key
        for key in keys
        if key in ("method", "dataset") or len({str(one.get(key)) for one in named}) > 1
    ]
    first = ["method", "dataset", *(key for key in shown if key not in ("method", "dataset"))]
    return [{key: str(one.get(key, "")) for key in first} for one in named]


def _share_of(record: Record) -> dict[str, str]:
    """The shares of the training rows that teach, where it is not all, and that only fill leaves,
    where some do.
    """
    unset = {"train_fraction": 1.0, "honest": 0.0}
    asked = {key: record.config.get(key, value) for key, value in unset.items()}
    return {key: f"{share:g}" for key, share in asked.items() if share != unset[key]}


def goal_of(goal: str, metrics: Mapping[str, float]) -> str:
    """The metric of this run that the goal means; raises ConfigError when the run has none of
    that name.
    """
    if goal in metrics:
        return goal
    if goal == DEFAULT:
        return next((name for name in STAND_INS if name in metrics), "")
    raise ConfigError(
        f"goal: this run has no {goal}{without_rows(goal, metrics)}; "
        + unknown("metric", goal, metrics_of_rows(goal, metrics))
    )


def metrics_of_rows(name: str, metrics: Collection[str]) -> list[str]:
    """The metrics of the rows that the one of this name is of, or all where none are."""
    part = name.partition("_")[0] + "_"
    return [one for one in metrics if part in JUDGING and one.startswith(part)] or list(metrics)


def without_rows(name: str, metrics: Collection[str]) -> str:
    """Why there is no metric of this name, in brackets, where it is of rows that there are none
    of; "" elsewhere.
    """
    part = name.partition("_")[0] + "_"
    if part not in JUDGING or any(one.startswith(part) for one in metrics):
        return ""
    return f" (the split leaves no {part[:-1]} rows to judge on)"
