"""What ``arboretum compare`` says, put together: means, tests, trade-offs, what is proven, what is
missing.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np

from arboretum.cli import terminal
from arboretum.cli.comparison import metrics_of_rows, without_rows
from arboretum.cli.proven import proven
from arboretum.errors import ConfigError, DataError, unknown
from arboretum.interfaces.comparison import ASKS, Terms
from arboretum.interfaces.component import Capability
from arboretum.measure import comparison
from arboretum.measure.evaluate import HIGHER, PARTS, direction, pareto_front
from arboretum.model.charts import Chart, Panels
from arboretum.model.document import Chapter, Document, Estimate, Listing, Section
from arboretum.model.plain import Facts
from arboretum.model.record import Record
from arboretum.model.scores import Repeats, Scores
from arboretum.plugin.build import build
from arboretum.plugin.registry import Registry
from arboretum.report.page import page_of
from arboretum.runs.gather import Gathered
from arboretum.runs.grouping import BLOCKED, DATASET, METHOD, Grouping, asked_of
from arboretum.runs.sweeps import spell_choice

DEFAULTS = (
    ("test_error", "test_mse"),
    ("valid_error", "valid_mse"),
    ("train_error", "train_mse"),
)
"""Looked for in this order when no measure is named: the first that any run has; both, where data
sets of both tasks are there.
"""
SHARES = frozenset(
    ("error", "accuracy", "balanced_accuracy", "precision", "recall", "f1", "roc_auc", "brier")
)
"""Measures between 0 and 1, for which the usual region of practical equivalence is meant."""
ROPE = 0.01
TRADED = {"expected_cost": "expected cost", "max_cost": "maximum cost", "n_leaves": "leaves"}
"""What is held against the first measure in pictures of trade-offs."""
TIMED = "timing."
WIDE = 9  # methods up to which tables have a column each
SHOWN_SETTINGS = 60
MOST_SETTINGS = 100
"""Settings of a sweep up to which it has a page."""
MANY_RUNS = 200
"""Runs of a sweep from which on its page has tests by ranks: what these import takes a second."""
SHOWN = 6


@attrs.frozen
class Measure:
    """One measure of runs.

    name : as asked for.
    words : as shown.
    value : of a run; None where it has none.
    """

    name: str
    words: str
    higher_is_better: bool
    value: Callable[[Record], float | None]

    @property
    def slug(self) -> str:
        """What its files begin with."""
        return re.sub(r"\W+", "_", self.name)

    @property
    def heading(self) -> str:
        """ "Test error (lower is better)"."""
        words = self.words[:1].upper() + self.words[1:]
        return f"{words} ({'higher' if self.higher_is_better else 'lower'} is better)"

    @property
    def rope(self) -> float:
        """The usual region of practical equivalence; 0 for what has a unit of its own."""
        base = self.name.partition("_")
        return ROPE if (base[2] if base[0] in PARTS else self.name) in SHARES else 0.0


def _metric(name: str) -> Callable[[Record], float | None]:
    """A function from a run to one of its metrics."""
    return lambda record: record.metrics.get(name)


def measure_of(
    name: str,
    records: Sequence[Record],
    registry: Registry,
    fields: Mapping[str, Facts] = MappingProxyType({}),
) -> Measure:
    """Return a measure by its name: a metric of the runs, a plugin's measure, or ``timing.PART``
    in seconds.

    fields : of plugins' measures, by name.
    Raises ConfigError with the closest name where no run has it, or it has no direction.
    """
    if name.startswith(TIMED):
        part = name.removeprefix(TIMED)
        parts = {one for record in records for one in record.timings}
        if part not in parts:
            raise ConfigError(unknown("timing of these runs", part, parts))
        return Measure(name, f"{part} time in seconds", False, lambda r: r.timings.get(part))
    known = {one for record in records for one in record.metrics}
    if name not in known and name in registry.names("measure"):
        own = build(registry.get("measure", name), dict(fields.get(name, {})))
        return Measure(name, own.words, own.higher_is_better, own.of)
    if name not in known:
        known |= set(registry.names("measure"))
        raise ConfigError(
            unknown("metric of these runs", name, metrics_of_rows(name, known))
            + without_rows(name, known)
        )
    try:
        higher = direction(name) == HIGHER
    except ConfigError:
        if name not in registry.names("complexity"):
            raise
        higher = False  # what a tree costs
    return Measure(name, TRADED.get(name, name.replace("_", " ")), higher, _metric(name))


def usual_measures(records: Sequence[Record]) -> list[str]:
    """Return the names that are compared when none is named; raises DataError where no run has
    any.
    """
    known = {one for record in records for one in record.metrics}
    for names in DEFAULTS:
        if found := [name for name in names if name in known]:
            return found
    raise DataError("the runs have no error to compare by; name another, --measure NAME")


@attrs.frozen(eq=False)
class Question:
    """What a comparison is asked to say.

    measures : by name; the first is what trade-offs are about.
    tests : names of comparisons; None: every installed one that is not left out by ``drawn``.
    fields : of comparisons, by name.
    ropes : measure → region; "" → that of all that are not named.
    drawn : also what draws random numbers, which takes seconds.
    """

    measures: Sequence[Measure]
    terms: Terms
    ropes: Mapping[str, float] = attrs.field(factory=dict)
    tests: Sequence[str] | None = None
    fields: Mapping[str, Facts] = attrs.field(factory=dict)
    drawn: bool = True

    def rope(self, measure: Measure) -> float:
        """The region of practical equivalence of a measure."""
        return self.ropes.get(measure.name, self.ropes.get("", measure.rope))


def compose(
    grouping: Grouping, gathered: Gathered, question: Question, registry: Registry
) -> Document:
    """Return all that is said of runs.   Raises DataError where there is one method only, or no
    run has a measure.
    """
    if len(grouping.methods) < 2:
        raise DataError(_one_method(grouping))
    if question.terms.control and question.terms.control not in grouping.methods:
        raise ConfigError(unknown("method", question.terms.control, grouping.methods))
    everything = {
        measure: grouping.repeats(
            measure.words, measure.value, higher_is_better=measure.higher_is_better
        )
        for measure in question.measures
    }
    chapters = [
        _judged(measure, repeats, question, registry) for measure, repeats in everything.items()
    ]
    chapters += [
        chapter
        for chapter in (
            _traded(grouping, question.measures[0], everything[question.measures[0]]),
            proven(grouping),
            _missing(grouping, gathered, everything),
            _settings(grouping),
        )
        if chapter is not None
    ]
    return Document(_title(grouping), chapters, _opening(grouping))


def _one_method(grouping: Grouping) -> str:
    """Why there is nothing to compare, and what could be."""
    asked = [asked_of(record) for record in grouping.records]
    keys = sorted({key for one in asked for key in one}, key=lambda key: (key != METHOD, key))
    several = {key for key in keys if len({repr(one[key]) for one in asked if key in one}) > 1}
    hidden = {DATASET, *BLOCKED, *grouping.by}
    # of a component that differs its fields differ, too
    varying = [
        key
        for key in keys
        if key in several - hidden
        and ((head := key.partition(".")[0]) == key or head not in several | {DATASET})
    ]
    way = (
        f"these vary: {', '.join(varying[:SHOWN])}; say --by {varying[0]}"
        if varying
        else "name the folders of another method, too"
    )
    return (
        f"all {len(grouping.records)} runs have the same {', '.join(grouping.by)} "
        f"({grouping.methods[0]}), and one method cannot be compared; {way}"
    )


def _title(grouping: Grouping) -> str:
    """ "cart, id3 and random on 8 data sets"."""
    *first, last = grouping.methods
    who = (
        f"{', '.join(first)} and {last}"
        if len(grouping.methods) <= SHOWN
        else f"{len(grouping.methods)} methods"
    )
    n = len(grouping.datasets)
    return f"{who} on {grouping.datasets[0] if n == 1 else f'{n} data sets'}"


def _opening(grouping: Grouping) -> list[str]:
    """What was compared, in sentences."""
    blocks = {block for cell in grouping.cells.values() for block in cell}
    seeds, folds = (len({block[i] for block in blocks}) for i in (0, 1))
    n = len(grouping.records)
    repeated = f"{seeds} {'seed' if seeds == 1 else 'seeds'}" + (
        f" × {folds} folds" if folds > 1 else ""
    )
    sentences = [
        f"{n} runs, compared by {', '.join(grouping.by)}, repeated over {repeated}. ±: standard "
        "error over the blocks (seeds and folds) of a data set."
    ]
    sentences += [
        f"Averaged over {key} ({', '.join(values)}), which every method has: --by "
        f"{','.join((*grouping.by, key))} compares each."
        for key, values in grouping.averaged.items()
    ]
    return [*sentences, *grouping.notes, *_unpaired(grouping)]


def _unpaired(grouping: Grouping) -> list[str]:
    """Which methods lack blocks that others have, as far as pairs go, in a sentence."""
    found = []
    for dataset in grouping.datasets:
        cells = {m: set(grouping.cells.get((dataset, m), {})) for m in grouping.methods}
        for a, b in itertools.combinations([m for m in cells if cells[m]], 2):
            if cells[a] != cells[b]:
                shared, every = len(cells[a] & cells[b]), len(cells[a] | cells[b])
                found.append(f"{a} and {b} on {dataset} share {shared} of {every}")
    if not found:
        return []
    more = f", and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return [
        "Blocks are paired by seed, fold and split; not all have a partner: "
        f"{'; '.join(found[:SHOWN])}{more}. Means are over what each method has, tests of blocks "
        "over what is shared."
    ]


# -- one measure -----------------------------------------------------------------------------------


def _judged(measure: Measure, repeats: Repeats, question: Question, registry: Registry) -> Chapter:
    """The means of one measure, and what every test says of them."""
    scores = repeats.scores()
    rope = question.rope(measure)
    here = attrs.evolve(question.terms, rope=rope)
    if here.control not in repeats.methods:
        here = attrs.evolve(here, control="")
    sections = [_means(measure, scores), _standings(measure, scores)]
    left_out = []
    for component in _tests(question, registry):
        if component.asks == "control" and not here.control:
            continue
        try:
            section = component.judge(repeats, here)
        except DataError as error:
            left_out.append(f"{component.name} is left out: {error}.")
            continue
        sections.append(_named(section, measure, component))
    if left_out:
        sections.append(Section("Tests that cannot be done", left_out))
    level = f"Level of significance {here.alpha:g}."
    control = [f"Control: {here.control}."] if here.control else []
    return Chapter(measure.heading, sections, [level, *control])


def _tests(question: Question, registry: Registry) -> list[Any]:
    """The comparisons that are asked, in the order of what they ask."""
    names = question.tests
    if names is None:
        entries = [
            entry
            for entry in registry.entries("comparison")
            if question.drawn or Capability.randomised not in entry.capabilities
        ]
    else:
        entries = [registry.get("comparison", name) for name in names]
    found = [build(entry, dict(question.fields.get(entry.name, {}))) for entry in entries]
    # what is exact stands before what draws
    return sorted(
        found,
        key=lambda one: (list(ASKS).index(one.asks), "randomised" in map(str, one.capabilities)),
    )


def _named(section: Section, measure: Measure, component: Any) -> Section:
    """A comparison's section with the measure in the names of its files, and its question."""
    return attrs.evolve(
        section,
        title=f"{section.title}: {ASKS[component.asks]}",
        tables=[attrs.evolve(one, name=f"{measure.slug}_{one.name}") for one in section.tables],
        pictures={f"{measure.slug}_{name}": chart for name, chart in section.pictures.items()},
    )


def _means(measure: Measure, scores: Scores) -> Section:
    """Means with standard errors, the best of each data set marked."""
    sign = -1.0 if scores.higher_is_better else 1.0
    best = [np.nanmin(sign * row) if not np.isnan(row).all() else math.nan for row in scores.values]
    errors = np.full_like(scores.values, np.nan) if scores.errors is None else scores.errors
    cells = [
        [
            Estimate(float(value), float(error), bool(sign * value == least))
            for value, error in zip(row, spread, strict=True)
        ]
        for row, spread, least in zip(scores.values, errors, best, strict=True)
    ]
    caption = f"Mean {measure.words} ± standard error; the best of a data set is marked"
    if len(scores.methods) <= WIDE:
        rows: list[Facts] = [
            {"data set": name, **dict(zip(scores.methods, row, strict=True))}
            for name, row in zip(scores.datasets, cells, strict=True)
        ]
    else:
        rows = [
            {
                "method": scores.methods[m],
                **{name: row[m] for name, row in zip(scores.datasets, cells, strict=True)},
            }
            for m in np.argsort(comparison.average_ranks(scores), kind="stable").tolist()
        ]
    return Section("Means", tables=[Listing(f"{measure.slug}_means", caption, rows)])


def _standings(measure: Measure, scores: Scores) -> Section:
    """Average ranks, means over whole data sets, and wins, ties and losses of every pair."""
    ranks = comparison.ranks(scores)
    average = ranks.mean(axis=0)
    whole = scores.values[~np.isnan(scores.values).any(axis=1)]
    order = np.argsort(average, kind="stable").tolist()
    best = ranks == ranks.min(axis=1, keepdims=True)
    known = ~np.isnan(scores.values)
    rows: list[Facts] = [
        {
            "method": scores.methods[m],
            "average rank": float(average[m]),
            "best on": int((best & known)[:, m].sum()),
            "results": int(known[:, m].sum()),
            f"mean {measure.words}": float(whole[:, m].mean()) if len(whole) else None,
        }
        for m in order
    ]
    n = len(scores.datasets)
    over = f"Methods by average rank over {n} {'data set' if n == 1 else 'data sets'}"
    tables = [Listing(f"{measure.slug}_ranks", over, rows)]
    if len(order) <= WIDE:
        tables.append(
            Listing(
                f"{measure.slug}_wins",
                "Data sets on which the method of the row is better/equal/worse, by means",
                [
                    {
                        "method": scores.methods[a],
                        **{scores.methods[b]: _win_tie_loss(scores, a, b) for b in order},
                    }
                    for a in order
                ],
            )
        )
    missing = len(scores.datasets) - len(whole)
    those = "one data set" if len(whole) == 1 else f"{len(whole)} data sets"
    notes = (
        [f"Means are over the {those} on which every method has a result."]
        if missing and len(whole)
        else []
    )
    return Section("Standings", tables=tables, notes=notes)


def _win_tie_loss(scores: Scores, a: int, b: int) -> str:
    """ "5/1/2" of a pair of methods, by their numbers; "" for one with itself."""
    if a == b:
        return ""
    apart = scores.values[:, a] - scores.values[:, b]
    apart = (apart if scores.higher_is_better else -apart)[~np.isnan(apart)]
    return f"{(apart > 0).sum()}/{(apart == 0).sum()}/{(apart < 0).sum()}"


# -- trade-offs ------------------------------------------------------------------------------------


def _traded(grouping: Grouping, first: Measure, repeats: Repeats) -> Chapter | None:
    """The first measure against costs and leaves: means, fronts, a picture each."""
    quality = repeats.scores()
    found: dict[str, Scores] = {}
    for name, words in TRADED.items():
        known = any(not _is_undefined(record.metrics.get(name)) for record in grouping.records)
        if known and name != first.name:
            found[name] = grouping.repeats(words, _metric(name)).scores()
    shared = [d for d in quality.datasets if all(d in scores.datasets for scores in found.values())]
    methods = [m for m in quality.methods if all(m in s.methods for s in found.values())]
    if not found or not shared or len(methods) < 2:
        return None
    narrowed = {name: _narrow(scores, shared, methods) for name, scores in found.items()}
    base = _narrow(quality, shared, methods)
    charts: list[Chart] = []
    notes: Sequence[str] = ()
    whole = ~np.isnan(np.stack([base.values, *(s.values for s in narrowed.values())])).any((0, 2))
    if not whole.any():
        return None
    for scores in narrowed.values():
        title = f"{first.words} against {scores.measure}"
        drawn = comparison.pareto_chart(scores, base, title[:1].upper() + title[1:])
        notes = drawn.notes[-1:]  # once, below all of them
        charts.append(attrs.evolve(drawn, notes=()))
    means = {
        first.words: base.values[whole].mean(axis=0),
        **{scores.measure: scores.values[whole].mean(axis=0) for scores in narrowed.values()},
    }
    fronts = {
        scores.measure: set(
            pareto_front(
                np.column_stack([means[scores.measure], means[first.words]]),
                (False, first.higher_is_better),
            ).tolist()
        )
        for scores in narrowed.values()
    }
    rows: list[Facts] = [
        {
            "method": method,
            **{words: float(values[m]) for words, values in means.items()},
            "on the front with": ", ".join(w for w, front in fronts.items() if m in front) or None,
        }
        for m, method in enumerate(methods)
    ]
    n = int(whole.sum())
    caption = f"Means over the {n} data sets on which every method has all of these"
    listing = Listing("trade_offs", caption if n != 1 else "On one data set", rows)
    dashed = "Dashed: the front."
    picture = Panels("Trade-offs", charts, columns=2, notes=[dashed, *notes])
    sentence = (
        "On a front: no other method is as good in both, and better in one. Costs and leaves are "
        "those of the trees on their training rows."
    )
    return Chapter(
        "Trade-offs", [Section("", tables=[listing], pictures={"trade_offs": picture})], [sentence]
    )


def _narrow(scores: Scores, datasets: Sequence[str], methods: Sequence[str]) -> Scores:
    """Scores of some data sets and methods, in this order."""
    rows = [scores.datasets.index(name) for name in datasets]
    columns = [scores.methods.index(name) for name in methods]
    at = np.ix_(rows, columns)
    errors = None if scores.errors is None else scores.errors[at]
    return attrs.evolve(
        scores, methods=methods, datasets=datasets, values=scores.values[at], errors=errors
    )


# -- what is missing, and what was compared --------------------------------------------------------


def _missing(
    grouping: Grouping, gathered: Gathered, everything: Mapping[Measure, Repeats]
) -> Chapter | None:
    """What has no result, with the reason where one is known; None where nothing is missing."""
    rows = grouping.missing(gathered.failed)
    for measure, repeats in everything.items():
        there = {(name, m) for name in repeats.datasets for m in repeats.methods}
        for dataset, method in itertools.product(grouping.datasets, grouping.methods):
            runs = [record for _, record in grouping.runs(dataset, method)]
            without = sum(_is_undefined(measure.value(record)) for record in runs)
            if without and runs:
                why = "is not a number" if (dataset, method) in there else "is not measured"
                rows.append(
                    {
                        "data set": dataset,
                        "method": method,
                        "reason": f"{measure.words} {why} in {without} of {len(runs)} runs",
                    }
                )
    sections = []
    if rows:
        caption = "Results that are not there; ranks put a method without one last"
        sections.append(Section("", tables=[Listing("missing", caption, rows)]))
    if gathered.failed:
        failures = [{"folder": one.where, "reason": one.reason} for one in gathered.failed]
        sections.append(Section("", tables=[Listing("failed", "Jobs that failed", failures)]))
    if gathered.damaged:
        shown = [{"record": text} for text in gathered.damaged]
        caption = "Records that cannot be read, and are left out"
        sections.append(Section("", tables=[Listing("damaged", caption, shown)]))
    return Chapter("What is missing", sections) if sections else None


def _is_undefined(value: float | None) -> bool:
    return value is None or math.isnan(value)


def _settings(grouping: Grouping) -> Chapter | None:
    """In what the methods differ, besides their names."""
    first = {m: grouping.runs(d, m) for d in reversed(grouping.datasets) for m in grouping.methods}
    asked = {m: asked_of(runs[0][1]) for m, runs in first.items() if runs}
    asked |= {
        m: asked_of(grouping.runs(d, m)[0][1])
        for m in grouping.methods
        if m not in asked
        for d in grouping.datasets
        if grouping.runs(d, m)
    }
    hidden = ("dataset", "seed", "split.fold", *grouping.by, *grouping.averaged)
    rows: list[Facts] = []
    for key in sorted({key for one in asked.values() for key in one}):
        if key in hidden or key.startswith("dataset."):
            continue
        spelled = {m: spell_choice(one[key]) if key in one else "–" for m, one in asked.items()}
        if len(set(spelled.values())) > 1:
            rows.append({"setting": key, **spelled})
    if not rows or len(grouping.methods) > WIDE:
        return None
    caption = "In what else the methods differ (of their first runs)"
    listing = Listing("settings", caption, rows[:SHOWN_SETTINGS])
    return Chapter("What the methods are", [Section("", tables=[listing])])


def page_of_sweep(
    records: Sequence[Record], varied: Sequence[str], registry: Registry
) -> str | None:
    """Return the report of a sweep as a page, without the tests that draw, which take seconds; of
    fewer than MANY_RUNS with tests of blocks alone.  None where fewer than two settings meet, more
    than MOST_SETTINGS (a search has one a trial), or they cannot be compared fairly.

    varied : keys that the sweep varies.
    """
    by = [key for key in varied if key != DATASET and key not in BLOCKED]
    if not by or not records:
        return None
    try:
        grouping = Grouping.of(records, by)
        if len(grouping.methods) > MOST_SETTINGS:
            return None
        names = usual_measures(records)
        measures = [measure_of(name, records, registry) for name in names]
        entries = registry.entries("comparison")
        quick = [one.name for one in entries if getattr(one.cls, "asks", "") == "datasets"]
        tests = quick if len(records) < MANY_RUNS else None
        question = Question(measures, Terms(), tests=tests, drawn=False)
        return page_of(compose(grouping, Gathered(tuple(records), ()), question, registry))
    except (ConfigError, DataError):
        return None  # the sweep's own table stands without it
    except Exception as error:  # of a plugin's test: a sweep is closed whatever it does
        terminal.warn(f"the sweep has no report: {terminal.error_text(error)}")
        return None
