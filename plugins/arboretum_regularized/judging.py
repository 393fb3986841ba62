"""The chapter of the twenty data sets: its pieces, and what their results say of the paper's numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arboretum.api import Cell, Chapter, Claim, House, Judgement, Piece, Verdict, csv_text, fared, standard_error
from arboretum_regularized import sweep
from arboretum_regularized.claims import claims
from arboretum_regularized.known_differences import known
from arboretum_regularized.published import ALGORITHMS, AUTHORS, MEASURES, PAPER, PRICES, UNIT, VARIANTS, called, published
from arboretum_regularized.results import WORDS, Part, Results
from arboretum_regularized.showing import pictures_of, rank_tables

def pieces(paper: Any) -> list[Piece]:
    """One per data set, price setting, reading and split; those of one data set side by side."""
    return [
        Piece({"dataset": name, "seed": seed, "prices": prices, "variant": variant, "times": paper.times}, paper.cost(name))
        for name in sorted(filter(paper.wants, published().datasets), key=paper.cost)
        for seed in range(max(paper.seeds, paper.seeds_small, paper.seeds_judged))
        for prices in PRICES if prices in paper.prices
        for variant in VARIANTS if variant in paper.variants and seed < paper.splits(name, prices, variant)
    ]  # fmt: skip


def work(key: Mapping[str, Any], seed: int, house: House) -> dict[str, Any]:
    """All algorithms on one split."""
    from arboretum_regularized.study import study

    return study(house, key, seed)


def judge(results: Sequence[tuple[Mapping[str, Any], Any]]) -> Judgement:
    """The twenty data sets: cells, sentences, tables and pictures, one chapter per part; and Figure 2."""
    found = Results.of(results)
    found_cells, pictures = cells(found), pictures_of(found)
    tables = {"results.csv": results_table(found)} | rank_tables(found)
    whole = Judgement(
        cells=found_cells,
        claims=[*claims(found), *one_sided(found, found_cells)],
        tables=tables,
        pictures=pictures,
        chapters=[chapter(found, part, found_cells, tables, pictures) for part in found.parts],
        notes=notes(found, found_cells),
    )
    return Judgement.joined([whole, sweep.judge(found)])


def cells(found: Results) -> list[Cell]:
    """One per published mean of five runs, with the results of the paper's reading in words.

    No cell where fewer splits than the paper's five (``fraction`` may cut a data set off after two) say nothing of the error.
    """
    ours, printed, runs = Part(UNIT, AUTHORS), Part(UNIT, PAPER), published().runs
    made = []
    for measure in MEASURES:
        for dataset in found.datasets(ours):
            for algorithm in ALGORITHMS:
                value = published().results.get((dataset, algorithm, measure))
                if value is None:
                    continue
                other = found.mean(printed, dataset, algorithm, measure)
                aside = "" if math.isnan(other) else f"paper variant {other:.4g} ± {found.error(printed, dataset, algorithm, measure):.2g}"
                reason = known(found, dataset, algorithm, measure, value)
                values = found.values(ours, dataset, algorithm, measure)
                made.append(Cell.of_runs(WORDS[measure][0], dataset, algorithm, value, values, runs, known=reason, aside=aside))
    return [cell for cell in made if cell]


def one_sided(found: Results, made: Sequence[Cell]) -> list[Claim]:
    """Whether the algorithms of a data set agree with the published means taken together, differences that are explained apart.

    Each algorithm's difference is divided by its standard deviation over our splits; the mean over the algorithms has an
    error of its own, from the same splits, which knows how far they go together.
    """
    told = []
    for measure in MEASURES:
        table, far, beyond = WORDS[measure][0], [], False
        judged = [c for c in made if c.table == table and c.verdict is not Verdict.KNOWN]
        rows = {name: [c for c in judged if c.row == name] for name in dict.fromkeys(c.row for c in judged)}
        for name, row in rows.items():
            values = [found.values(Part(UNIT, AUTHORS), name, cell.column, measure) for cell in row]
            together = np.mean([(v - cell.published) / v.std(ddof=1) for v, cell in zip(values, row, strict=True)], axis=0)
            deviation, above = float(together.mean()) / standard_error(together, published().runs), sum(cell.deviation > 0 for cell in row)
            beyond |= abs(deviation) > Cell.LIMIT
            if abs(deviation) > 2.0:
                far.append((-abs(deviation), f"{name} {deviation:+.2f} ({above} of {len(row)} above)"))
        if rows:
            words = f"standard errors of the mean over the algorithms, beyond two: {', '.join(text for _, text in sorted(far)) or 'none'}"
            sentence = f"Unit prices: taken together the algorithms of every data set ({len(rows)}) have the published {table}"
            told.append(Claim.judged(sentence, not beyond, words))
    return told


def results_table(found: Results) -> str:
    """Every mean with its standard error, of all parts, as CSV."""
    measures = [m for m in WORDS if any(m in one for noted in found.found.values() for one in noted)]
    rows: list[list[Any]] = [["prices", "variant", "dataset", "algorithm", "splits", *(m + e for m in measures for e in ("", "_error"))]]
    for part in found.parts:
        for dataset in found.datasets(part):
            algorithms = [a for at, name, a in found.found if (at, name) == (part, dataset)]
            for algorithm in algorithms:
                numbers = [f(part, dataset, algorithm, m) for m in measures for f in (found.mean, found.error)]
                n = len(found.found[part, dataset, algorithm])
                row = [part.prices, part.variant, dataset, called(algorithm, part.prices), n]
                rows.append([*row, *("" if math.isnan(x) else f"{x:.6g}" for x in numbers)])
    return csv_text(rows)


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
        metrics |= fared(made)
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
