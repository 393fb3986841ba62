"""The table that decides: a row per setting of a sweep, its goal first; as text, CSV and picture."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.cli import terminal
from arboretum.cli.goal import DEFAULT, goal_of
from arboretum.cli.varied import varied_keys
from arboretum.errors import ConfigError
from arboretum.measure.evaluate import better
from arboretum.measure.pareto import pareto_front
from arboretum.measure.places import BEST, CONFIDENCE, LEAST_SHARED, TIED, mean_and_error, places
from arboretum.model.charts import Axis, Chart, DotChart, Line, LineChart, Panels
from arboretum.model.record import Record
from arboretum.report.table import csv_table, spell_cell, text_table

ERRORS = ("test_error", "valid_error", "train_error", "test_mse", "valid_mse", "train_mse")
MEANS = {"expected_cost": "expected cost", "depth": "depth", "n_leaves": "leaves"}
KEPT = "kept_"
"""How the metrics begin that tell what a tuner or a pruner kept."""
MOST_KEPT = 4
MOST_DRAWN = 30
"""Settings of a data set in the picture, the best first."""


@attrs.frozen(eq=False)
class Setting:
    """Runs that differ in seed and fold only.

    names : column → value, as shown.   goal : the metric they are judged by, "" where they have none.   place : among the
    settings of the same data set.
    """

    names: Mapping[str, str]
    records: tuple[Record, ...]
    goal: str
    place: str = ""

    @property
    def dataset(self) -> str:
        return self.names["dataset"]

    def values(self, metric: str) -> list[float]:
        """What its runs have of a metric."""
        return [record.metrics[metric] for record in self.records if metric in record.metrics]

    def blocks(self) -> dict[Any, float]:
        """Seed and fold → the goal's value."""
        found: dict[Any, float] = {}
        for record in self.records:
            if self.goal in record.metrics:
                found[record.seed, (record.config.get("split") or {}).get("fold")] = record.metrics[self.goal]
        return found

    def metrics(self) -> dict[str, float]:
        """The means of what all its runs have."""
        shared = [name for name in self.records[0].metrics if all(name in record.metrics for record in self.records)]
        return {name: mean_and_error(self.values(name))[0] for name in shared}

    def label(self, without: Iterable[str] = ()) -> str:
        """ "cart max_depth=4"."""
        words = [(key, value) for key, value in self.names.items() if value and key not in without]
        return " ".join(value if key in ("method", "dataset") else f"{key.rpartition('.')[2]}={value}" for key, value in words)


@attrs.frozen(eq=False)
class Comparison:
    """The settings of a sweep, data set by data set, the best first."""

    settings: tuple[Setting, ...]
    traded: tuple[str, ...] = ()

    @staticmethod
    def of(records: Iterable[Record], goal: str = DEFAULT, traded: tuple[str, ...] = ()) -> Comparison:
        """Group the runs by what varies besides seed and fold, and judge the settings of each data set by the goal.

        traded : metrics besides the goal, for the front of those that no other beats in all of them.
        """
        records = list(records)
        varied = varied_keys(records)
        groups: dict[tuple[str, ...], list[Record]] = {}
        for record in records:
            groups.setdefault(tuple(read(record) for read in varied.values()), []).append(record)
        settings = [
            Setting(dict(zip(varied, key, strict=True)), tuple(group), _goal(goal, group)) for key, group in sorted(groups.items())
        ]
        found: list[Setting] = []
        for dataset in sorted({setting.dataset for setting in settings}):
            found += _judged([setting for setting in settings if setting.dataset == dataset])
        return Comparison(tuple(found), traded)

    @property
    def best(self) -> list[Setting]:
        """The best setting of each data set."""
        return [setting for setting in self.settings if setting.place == BEST]

    @property
    def goals(self) -> list[str]:
        """The metrics they are judged by: one, unless data sets of different tasks meet."""
        return list(dict.fromkeys(setting.goal for setting in self.settings if setting.goal))

    def text(self, width: int | None = None, most: int | None = None) -> str:
        """The aligned table and what its words mean.   width : of the terminal; None: uncut.   most : rows."""
        shown = self.settings[:most]
        rows, headings = self._rows(shown)
        for name in ("goal", "missed"):
            for row, cell in zip(rows, _with_errors([(row[name], row[f"{name} error"]) for row in rows]), strict=True):
                row[name] = cell
        headings = {name: title for name, title in headings.items() if not name.endswith(" error")}
        table = text_table(rows, headings, width=width)
        if len(shown) < len(self.settings):
            table += f"… and {len(self.settings) - len(shown)} settings more\n"
        return table + "".join(f"{line}\n" for line in (*self.legend(), *self.front()))

    def front(self) -> list[str]:
        """The settings that no other of their data set beats in the goal and all that is traded off against it, as a table."""
        judged = [s for s in self.settings if s.goal and all(s.values(name) for name in self.traded)]
        if not self.traded or not judged:
            return []
        rows = []
        for dataset in dict.fromkeys(setting.dataset for setting in judged):
            mine = [setting for setting in judged if setting.dataset == dataset]
            metrics = (mine[0].goal, *self.traded)
            points = [[mean_and_error(setting.values(name))[0] for name in metrics] for setting in mine]
            for i in pareto_front(np.array(points), tuple(better(name, 1.0, 0.0) for name in metrics)):
                rows.append({"setting": mine[i].label(), **dict(zip(metrics, points[i], strict=True))})
        headings = {name: name.replace("_", " ") for name in rows[0]} | {"setting": "no other is better in all"}
        return ["", text_table(rows, headings).rstrip("\n")]

    def legend(self) -> list[str]:
        """What "best", "tied" and "±" stand for, where the table says them."""
        if not self.goals or len(self.settings) == len(self.best):
            return []
        lines = [f"best: best mean {_words(self.goals)} of a data set; ±: standard error over seeds and folds"]
        told = max(len(setting.records) for setting in self.settings) >= LEAST_SHARED
        if any(setting.place == TIED for setting in self.settings):
            lines[0] += "; tied: " + (f"not worse at {CONFIDENCE:.0%} (paired t)" if told else "the same mean")
        if not told:
            lines.append(f"(fewer than {LEAST_SHARED} runs per setting do not tell a difference from chance: add seeds or folds)")
        return lines

    def csv(self) -> str:
        """Every setting, numbers in full; a standard error in a column of its own."""
        rows, headings = self._rows(self.settings)
        return csv_table(rows, headings)

    def _rows(self, settings: Sequence[Setting]) -> tuple[list[dict[str, Any]], dict[str, str]]:
        """Rows and headings, in this order: what varies, place, goal, error, cost and shape, ratio, runs, time."""
        records = [record for setting in settings for record in setting.records]
        proven = certified_name(records)
        chosen = sorted({name for record in records for name in record.metrics if name.startswith(KEPT)})
        short = [name.rpartition(".")[2] for name in settings[0].names] if settings else []
        names = {n: s if short.count(s) == 1 else n for n, s in zip(settings[0].names if settings else (), short, strict=True)}
        missed = {setting: next((name for name in ERRORS if setting.values(name)), "") for setting in settings}
        errors = [name for name in dict.fromkeys(missed.values()) if name]
        rows = []
        for setting in settings:
            goal, goal_error = mean_and_error(setting.values(setting.goal))
            error, error_error = mean_and_error(setting.values(missed[setting]))
            rows.append(
                {
                    **setting.names,
                    "place": setting.place,
                    "goal": goal,
                    "goal error": goal_error,
                    "missed": error,
                    "missed error": error_error,
                    **{name: _distinct(setting.records, name) for name in chosen},
                    **{name: mean_and_error(setting.values(name))[0] for name in MEANS},
                    "ratio": mean_ratio(setting.records, proven),
                    "runs": len(setting.records),
                    "time": sum(r.timings.get("fit", math.nan) for r in setting.records) / len(setting.records),
                }
            )
        headings = dict(names)
        if any(setting.place != BEST for setting in settings):
            headings["place"] = "best"
        if self.goals:
            headings |= {"goal": _words(self.goals), "goal error": "standard error"}
        if errors and errors != self.goals:
            headings |= {"missed": _words(errors), "missed error": "standard error"}
        headings |= {name: name.replace("_", " ") for name in chosen}
        headings |= {name: title for name, title in MEANS.items() if name not in self.goals}
        if proven:
            headings["ratio"] = f"{proven.replace('_', ' ')} ÷ min"
        return rows, {**headings, "runs": "runs", "time": "fit s"}

    def chart(self, title: str) -> Chart | None:
        """The goal of every setting: curves where one numeric parameter varies, else a row of dots per setting.

        None where there is nothing to compare.
        """
        judged = [setting for setting in self.settings if setting.blocks()]
        if len(judged) < 2 or len(self.goals) != 1:
            return None
        axis = Axis(_words(self.goals), higher_is_better=better(self.goals[0], 1.0, 0.0))
        swept = _swept(judged)
        if swept:
            lines = [
                Line(label or self.goals[0], *zip(*sorted((x, *mean_and_error(s.values(s.goal))) for x, s in points), strict=True))
                for label, points in swept[1].items()
            ]
            return LineChart(title, lines, Axis(swept[0].rpartition(".")[2]), axis, "mean ± standard error over seeds and folds")
        return Panels(title, [_dots(judged, name, axis) for name in dict.fromkeys(s.dataset for s in judged)], columns=1)


def _judged(settings: Sequence[Setting]) -> list[Setting]:
    """The settings of one data set with their places, the best first."""
    goals = {setting.goal for setting in settings}
    if len(goals) != 1 or not (goal := goals.pop()):
        return list(settings)
    told = places(goal, [setting.blocks() for setting in settings])
    placed = [attrs.evolve(setting, place=place) for setting, place in zip(settings, told, strict=True)]
    sign = 1.0 if better(goal, 0.0, 1.0) else -1.0
    means = {setting: mean_and_error(setting.values(goal))[0] for setting in placed}
    return sorted(placed, key=lambda s: (s.place != BEST, math.isnan(means[s]), sign * means[s]))


def _goal(goal: str, records: Sequence[Record]) -> str:
    """What the goal means for these runs; "" where one has no such metric."""
    try:
        found = {goal_of(goal, record.metrics) for record in records}
    except ConfigError:
        return ""
    return found.pop() if len(found) == 1 else ""


def _words(metrics: Sequence[str]) -> str:
    return " / ".join(name.replace("_", " ") for name in metrics)


def _with_errors(cells: Sequence[tuple[float, float]]) -> list[str | None]:
    """ "0.0533 ± 0.0082", the signs under each other."""
    means = [None if math.isnan(mean) else spell_cell(mean) for mean, _ in cells]
    errors = ["" if math.isnan(error) else f" ± {spell_cell(error)}" for _, error in cells]
    left, right = (max(map(len, (text or "" for text in column)), default=0) for column in (means, errors))
    return [None if mean is None else mean.rjust(left) + error.ljust(right) for mean, error in zip(means, errors, strict=True)]


def _swept(settings: Sequence[Setting]) -> tuple[str, dict[str, list[tuple[float, Setting]]]] | None:
    """The one numeric parameter that takes three values or more, and per curve its (value, setting); None without one."""
    several = [key for key in settings[0].names if key != "dataset" and len({s.names[key] for s in settings}) > 2]
    if len(several) != 1 or not all(map(_is_number, (s.names[several[0]] for s in settings))):
        return None
    curves: dict[str, list[tuple[float, Setting]]] = {}
    alike = {key for key in settings[0].names if len({s.names[key] for s in settings}) == 1}
    for setting in settings:
        curves.setdefault(setting.label({*alike, several[0]}), []).append((float(setting.names[several[0]]), setting))
    return several[0], curves


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _dots(settings: Sequence[Setting], dataset: str, axis: Axis) -> DotChart:
    mine = [setting for setting in settings if setting.dataset == dataset]
    drawn = mine[:MOST_DRAWN]
    told = [mean_and_error(setting.values(setting.goal)) for setting in drawn]
    texts = [cell or "" for cell in _with_errors(told)]
    values = [list(setting.blocks().values()) for setting in drawn]
    hints = [[f"seed {seed}" + ("" if fold is None else f", fold {fold}") for seed, fold in s.blocks()] for s in drawn]
    rest = f"the best {len(drawn)} of {len(mine)} settings" if len(drawn) < len(mine) else ""
    rows = [setting.label(("dataset",)) or dataset for setting in drawn]
    return DotChart(dataset, rows, values, axis, hints, [mean for mean, _ in told], texts, "mean ± standard error", rest)


def _distinct(records: Sequence[Record], name: str) -> str | None:
    """What the runs kept, the most frequent first: "1, 10"; a mean of such values would be none of them."""
    found = Counter(record.metrics[name] for record in records if name in record.metrics)
    shown = [f"{value:g}" for value, _ in sorted(found.items(), key=lambda one: (-one[1], one[0]))]
    return ", ".join(shown[:MOST_KEPT]) + (" …" if len(shown) > MOST_KEPT else "") if shown else None


SHOWN_RATIOS = ("expected_cost", "average_depth", "depth")
"""The complexities whose ratio a comparison shows, the goal before all; else the first one that is certified."""


def certified_name(records: Sequence[Record]) -> str:
    """The complexity whose ratio to the minimum a comparison shows, "" when no run is certified."""
    known = {name: 0 for record in records if record.certificate for name in record.certificate.complexities}
    wanted = [str(record.config.get("goal", "")) for record in records[:1]] + [*SHOWN_RATIOS, *known]
    return next((name for name in wanted if name in known), "")


def uncertified(records: Sequence[Record]) -> list[str]:
    """Why runs of a sweep have no certificate that was asked for, a line per reason."""
    reasons = [note for record in records if record.certificate is None for note in record.notes if note.startswith("certify: ")]
    return [f"{reasons.count(why)} of {len(records)} runs: {why}" for why in dict.fromkeys(reasons)]


def mean_ratio(records: Sequence[Record], name: str) -> float | str | None:
    """Mean ratio to the minimum; "≤ 1.2" when one of them is only bounded, None unless all runs have one."""
    found = [record.certificate.complexities.get(name) if record.certificate else None for record in records]
    ratios = [one.ratio for one in found if one is not None and one.ratio is not None]
    if not name or len(ratios) < len(found):
        return None
    mean = sum(ratios) / len(ratios)
    return mean if all(one.proven for one in found) else f"≤ {spell_cell(mean)}"
