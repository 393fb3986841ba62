"""Rank tables and pictures of the study: critical-difference diagrams, bars, trade-offs, running
times.
"""

import contextlib

import numpy as np

import arboretum.api as api
from arboretum.api import (
    DataError,
    Facts,
    Panels,
    comparison,
    sure,
)
from arboretum_regularized.paper.results import (
    ALGORITHMS,
    BASES,
    FAMILY,
    GROWN,
    WORDS,
    Part,
    Results,
    called,
)

RANKED = ("roc_auc", "expected_cost", "n_nodes")
FEWEST = 2
"""Data sets that a rank test needs."""


def rank_tables(found: Results) -> dict[str, str]:
    """Return file name → CSV: average ranks of each family by each measure, with what the tests
    say.

    No heading names the measure or the control, so that rows of several tables fit together.
    """
    made = {}
    for part in (part for part in found.parts if len(found.datasets(part)) >= FEWEST):
        rows: list[Facts] = []
        for base, measure in ((base, measure) for base in BASES for measure in RANKED):
            scores = found.scores(part, measure, FAMILY[base])
            control = scores.methods[-1]
            first = {"family": called(base, part.prices), "measure": WORDS[measure][0]}
            compared = comparison.compare(scores, control=control)
            last = {
                "control": control,
                "Friedman chi-square": sure(compared.friedman).chi_square,
                "Friedman p": sure(compared.friedman).p,
            }
            renamed = {
                f"mean {scores.measure}": "mean",
                f"p against {control}": "p against control",
                "differs": "differs from control",
            }
            rows += [
                {**first, **{renamed.get(key, key): value for key, value in row.items()}, **last}
                for row in comparison.rank_rows(compared)
            ]
        made[f"ranks_{part.slug}.csv"] = api.table.csv_table(rows)
    return made


def pictures_of(found: Results) -> Facts:
    """Return name → chart: Figures 3 to 6 and 10 to 14.  What cannot be drawn from these results
    has no picture.
    """
    made: Facts = {}
    for part in found.parts:
        auc, cost, size = (found.scores(part, measure, ALGORITHMS) for measure in RANKED)
        if len(found.datasets(part)) >= FEWEST:
            for base in BASES:
                slug = called(base, part.prices).lower().replace(".", "")
                made[f"critical_difference_{slug}_{part.slug}"] = _rank_diagrams(
                    found, part, base, everyone=False
                )
                made[f"nemenyi_{slug}_{part.slug}"] = _rank_diagrams(
                    found, part, base, everyone=True
                )
        ways: tuple[Facts, ...] = ({"base": 0.5}, {"own_scales": True}, {"own_scales": True})
        for measure, scores, options in zip(RANKED, (auc, cost, size), ways, strict=True):
            title = f"{WORDS[measure][0]}, {part.words}"
            reported = "means over splits ± standard error"
            made[f"bars_{measure}_{part.slug}"] = comparison.bar_chart(
                scores, title, subtitle=reported, **options
            )
        with contextlib.suppress(DataError):  # no data set with all methods
            title = f"How well it ranks against what it costs, {part.words}"
            made[f"pareto_{part.slug}"] = comparison.pareto_chart(cost, auc, title, log_x=True)
        times = found.scores(part, "seconds", GROWN)
        with contextlib.suppress(DataError):  # too short to be measured
            if not np.isnan(times.values).all():
                made[f"times_{part.slug}"] = comparison.time_chart(
                    times, f"Seconds to grow a tree, {part.words}"
                )
    return made


def _rank_diagrams(found: Results, part: Part, base: str, *, everyone: bool) -> Panels:
    """Return Figures 3 and 4, or with ``everyone`` 12 and 13, with tree size beside.

    part : price setting and reading; base : the family, "C4.5" or "CART".
    everyone : everyone against everyone; else everyone against the pruned enhanced one.
    """
    charts = []
    for measure in RANKED:
        scores = found.scores(part, measure, FAMILY[base])
        test = (
            comparison.nemenyi(scores)
            if everyone
            else comparison.bonferroni_dunn(scores, scores.methods[-1])
        )
        charts.append(comparison.rank_diagram(test, WORDS[measure][0]))
    what = (
        "who differs from whom" if everyone else f"against {called(FAMILY[base][-1], part.prices)}"
    )
    title = f"Average ranks on {len(found.datasets(part))} data sets, {part.words}"
    return Panels(title, charts, 1, f"{what}; alpha = 0.05")
