"""What the results say of the paper's numbers: cells, tables, chapters; claims and pictures have modules of their own."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arboretum.api import Cell, Chapter, Judgement, Verdict
from arboretum_regularized.claims import claims
from arboretum_regularized.known_differences import known
from arboretum_regularized.published import ALGORITHMS, AUTHORS, MEASURES, PAPER, UNIT, called, published
from arboretum_regularized.results import WORDS, Part, Results
from arboretum_regularized.showing import pictures_of, rank_tables

LIMIT = 4.0
"""Standard errors within which a cell passes."""


def judge(results: Sequence[tuple[Mapping[str, Any], Any]]) -> Judgement:
    """See :class:`~arboretum_regularized.reproduction.Regularized`."""
    found = Results.of(results)
    if not found.found:
        return Judgement()
    found_cells, pictures = cells(found), pictures_of(found)
    tables = {"results.csv": results_table(found)} | rank_tables(found)
    if found_cells:
        tables["unit_prices.csv"] = beside(found_cells)
    return Judgement(
        cells=found_cells,
        claims=claims(found),
        tables=tables,
        pictures=pictures,
        chapters=[chapter(found, part, found_cells, tables, pictures) for part in found.parts],
        notes=notes(found, found_cells),
    )


def cells(found: Results) -> list[Cell]:
    """One per published mean of five runs, with the results of the paper's reading in words.

    The error is s·√(1/r + 1/5), s the standard deviation of our r splits.  No cell where fewer splits than the paper's five
    (``fraction`` may cut a data set off after two), or splits that all agree, say nothing of s.
    """
    ours, printed, runs = Part(UNIT, AUTHORS), Part(UNIT, PAPER), published().runs
    made = []
    for measure in MEASURES:
        for dataset in found.datasets(ours):
            for algorithm in ALGORITHMS:
                value = published().results.get((dataset, algorithm, measure))
                values = found.values(ours, dataset, algorithm, measure)
                spread = float(values.std(ddof=1)) if len(values) >= runs else 0.0
                if value is None or spread <= 0.0:
                    continue
                error = spread * math.sqrt(1.0 / len(values) + 1.0 / runs)
                other = found.mean(printed, dataset, algorithm, measure)
                aside = "" if math.isnan(other) else f"paper variant {other:.4g} ± {found.error(printed, dataset, algorithm, measure):.2g}"
                made.append(
                    Cell.judged(
                        WORDS[measure][0], dataset, algorithm, value, float(values.mean()), error, n=len(values), limit=LIMIT,
                        known=known(found, dataset, algorithm, measure, value), aside=aside,
                    )
                )  # fmt: skip
    return made


def results_table(found: Results) -> str:
    """Every mean with its standard error, of all parts, as CSV."""
    measures = [m for m in WORDS if any(m in one for noted in found.found.values() for one in noted)]
    rows = [["prices", "variant", "dataset", "algorithm", "splits", *(m + e for m in measures for e in ("", "_error"))]]
    for part in found.parts:
        for dataset in found.datasets(part):
            algorithms = [a for at, name, a in found.found if (at, name) == (part, dataset)]
            for algorithm in algorithms:
                numbers = [f(part, dataset, algorithm, m) for m in measures for f in (found.mean, found.error)]
                n = len(found.found[part, dataset, algorithm])
                row = [part.prices, part.variant, dataset, called(algorithm, part.prices), n]
                rows.append([*row, *("" if math.isnan(x) else f"{x:.6g}" for x in numbers)])
    return as_csv(rows)


def beside(made: Sequence[Cell]) -> str:
    """The judged cells: published, ours, deviation."""
    head = ["measure", "dataset", "algorithm", "published", "authors_variant", "error", "deviation", "verdict", "paper_variant"]
    rows = [
        [c.table, c.row, c.column, f"{c.published:.6g}", f"{c.ours:.6g}", f"{c.error:.3g}", f"{c.deviation:.2f}", c.verdict.value,
         c.aside.removeprefix("paper variant ")]
        for c in made
    ]  # fmt: skip
    return as_csv([head, *rows])


def as_csv(rows: Sequence[Sequence[Any]]) -> str:
    """Rows as text."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def chapter(
    found: Results, part: Part, made: Sequence[Cell], tables: Mapping[str, str], pictures: Mapping[str, Any]
) -> Chapter:
    """The run of the tracker for one part: means over data sets, how the cells fare, its tables and pictures."""
    algorithms = [a for a in ALGORITHMS if any((part, name, a) in found.found for name in found.datasets(part))]
    metrics: dict[str, float] = {"datasets": float(len(found.datasets(part)))}
    for measure in ("roc_auc", "expected_cost", "n_nodes"):
        for algorithm in algorithms:
            means = np.array([found.mean(part, name, algorithm, measure) for name in found.datasets(part)])
            if not np.isnan(means).all():
                metrics[f"{measure}/{called(algorithm, part.prices)}"] = float(np.nanmean(means))
    if part == Part(UNIT, AUTHORS):
        metrics |= {f"cells_{verdict.value}": float(sum(c.verdict is verdict for c in made)) for verdict in Verdict}
    mine = {name: text for name, text in tables.items() if part.slug in name or name == "results.csv"}
    shown = tuple(name for name in pictures if part.slug in name)
    return Chapter(f"{part.variant} variant, {part.prices} prices", {"prices": part.prices, "variant": part.variant}, metrics, mine, shown)


def notes(found: Results, made: Sequence[Cell]) -> list[str]:
    """How many there are, how far off, and what is missing."""
    trees = sum(len(noted) for noted in found.found.values())
    told = [
        f"{trees:,} trees on {len(found.datasets())} of {len(published().datasets)} data sets; each was replayed on all its training "
        "objects, and its rows, class weights and prices counted anew (a tree that fails stops its piece)."
    ]
    missing = [name for name in published().datasets if name not in found.datasets()]
    if missing:
        told.append(f"Without results, not asked for or not to be had: {', '.join(missing)}.")
    ours, runs = Part(UNIT, AUTHORS), published().runs
    few = [n for n in found.datasets(ours) if 0 < max(len(found.found.get((ours, n, a), ())) for a in ALGORITHMS) < runs]
    if few:
        told.append(f"Not held against the published means, for they have fewer than {runs} splits here: {', '.join(few)}.")
    for measure in MEASURES:
        z = np.array([abs(c.deviation) for c in made if c.table == WORDS[measure][0] and c.error > 0])
        if len(z):
            within = [int((z <= limit).sum()) for limit in (2, 4)]
            told.append(
                f"{WORDS[measure][0]}: of {len(z)} published cells {within[0]} lie within two standard errors of the difference, "
                f"{within[1]} within four; median deviation {np.median(z):.2f}."
            )
    return told
