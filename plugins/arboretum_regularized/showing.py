"""Rank tables and pictures of the study: critical-difference diagrams, bars, trade-offs, running times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from arboretum.api import DataError, Panels, Scores
from arboretum_regularized.published import ALGORITHMS, BASES, GROWN, called
from arboretum_regularized.results import FAMILY, WORDS, Part, Results

RANKED = ("roc_auc", "expected_cost", "n_nodes")
FEWEST = 2
"""Data sets that a rank test needs."""


def rank_tables(found: Results) -> dict[str, str]:
    """File name → CSV: average ranks of each family by each measure, with what the tests say."""
    from arboretum.api import study, table

    made = {}
    for part in found.parts:
        if len(found.datasets(part)) < FEWEST:
            continue
        rows: list[dict[str, Any]] = []
        for base in BASES:
            for measure in RANKED:
                scores = found.scores(part, measure, FAMILY[base])
                compared = study.compare(scores, control=scores.methods[-1])
                overall = {"Friedman chi-square": compared.friedman.chi_square, "Friedman p": compared.friedman.p}
                rows += [
                    {"family": called(base, part.prices), "measure": WORDS[measure][0], **_same_names(row, scores), **overall}
                    for row in study.rank_rows(compared)
                ]
        made[f"ranks_{part.slug}.csv"] = table.csv_table(rows)
    return made


def _same_names(row: Mapping[str, Any], scores: Scores) -> dict[str, Any]:
    """The row with headings that do not name the measure or the control, so that rows of several tables fit together."""
    control = scores.methods[-1]
    renamed = {f"mean {scores.measure}": "mean", f"p against {control}": "p against control", "differs": "differs from control"}
    return {renamed.get(key, key): value for key, value in row.items()} | {"control": control}


def pictures_of(found: Results) -> dict[str, Any]:
    """Name → chart.  What cannot be drawn from these results has no picture."""
    made: dict[str, Any] = {}
    for part in found.parts:
        if len(found.datasets(part)) >= FEWEST:
            for base in BASES:
                slug = called(base, part.prices).lower().replace(".", "")
                made[f"critical_difference_{slug}_{part.slug}"] = _rank_diagrams(found, part, base, everyone=False)
                made[f"nemenyi_{slug}_{part.slug}"] = _rank_diagrams(found, part, base, everyone=True)
        made |= _bars(found, part)
        made |= _trade_off(found, part)
        made |= _times(found, part)
    return made


def _rank_diagrams(found: Results, part: Part, base: str, *, everyone: bool) -> Panels:
    """Figures 3 and 4 (against the pruned enhanced one), 12 and 13 (everyone against everyone), with tree size beside."""
    from arboretum.api import study

    charts = []
    for measure in RANKED:
        scores = found.scores(part, measure, FAMILY[base])
        test = study.nemenyi(scores) if everyone else study.bonferroni_dunn(scores, scores.methods[-1])
        charts.append(study.rank_diagram(test, WORDS[measure][0]))
    n = len(found.datasets(part))
    what = "who differs from whom" if everyone else f"against {called(FAMILY[base][-1], part.prices)}"
    return Panels(f"Average ranks on {n} data sets, {part.words}", charts, 1, f"{what}; alpha = 0.05")


def _bars(found: Results, part: Part) -> dict[str, Any]:
    """Figures 5, 6, 10 and 11: bars per data set."""
    from arboretum.api import study

    made = {}
    for measure, options in (
        ("roc_auc", {"base": 0.5}),
        ("expected_cost", {"own_scales": True}),
        ("n_nodes", {"own_scales": True}),
    ):
        title = f"{WORDS[measure][0]}, {part.words}"
        chart = study.bar_chart(found.scores(part, measure, ALGORITHMS), title, subtitle="means over splits ± standard error", **options)
        made[f"bars_{measure}_{part.slug}"] = chart
    return made


def _trade_off(found: Results, part: Part) -> dict[str, Any]:
    """AUC against expected cost, with the front."""
    from arboretum.api import study

    cost, auc = (found.scores(part, measure, ALGORITHMS) for measure in ("expected_cost", "roc_auc"))
    title = f"How well it ranks against what it costs, {part.words}"
    return _unless_impossible(f"pareto_{part.slug}", lambda: study.pareto_chart(cost, auc, title, log_x=True))


def _times(found: Results, part: Part) -> dict[str, Any]:
    """Figure 14: seconds to grow, per data set; Figure 15 is a chapter of its own."""
    from arboretum.api import study

    times = found.scores(part, "seconds", GROWN)
    if np.isnan(times.values).all():
        return {}
    return _unless_impossible(f"times_{part.slug}", lambda: study.time_chart(times, f"Seconds to grow a tree, {part.words}"))


def _unless_impossible(name: str, make: Any) -> dict[str, Any]:
    """The picture, or none where the results are too few for it (no data set with all methods)."""
    try:
        return {name: make()}
    except DataError:
        return {}
