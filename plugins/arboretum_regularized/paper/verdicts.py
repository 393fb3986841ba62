"""The chapter of the twenty data sets: its pieces, and what their results say of the paper's
numbers, Figure 2 among them.

A published number that does not come out here may have a reason, with what the reason predicts that
number to be, computed from our own runs.  A cell is explained only where the published number lies
inside the prediction, within two standard errors of a cell: half of what a cell itself is allowed,
for these reasons were looked for afterwards.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from arboretum.api import (
    Axis,
    Cell,
    Chapter,
    Claim,
    Facts,
    Judgement,
    Key,
    Keyed,
    Known,
    Line,
    LineChart,
    Panels,
    Piece,
    Plain,
    Services,
    Verdict,
    csv_text,
    summarise,
)
from arboretum_regularized.paper.claims import claims
from arboretum_regularized.paper.means import REACH, cell_of_runs, known_between, standard_error
from arboretum_regularized.paper.reproduction import Regularized
from arboretum_regularized.paper.results import (
    ALGORITHMS,
    JUDGED,
    MEASURES,
    PAPER,
    PRICES,
    UNIT,
    VARIANTS,
    WORDS,
    Part,
    Results,
    called,
    published,
)
from arboretum_regularized.paper.showing import pictures_of, rank_tables

NO_DROP = 0.01
"""What the paper's own rule calls no drop of a validation AUC."""
PLACE = {"valid_roc_auc": 1, "roc_auc": 2, "expected_cost": 3, "n_nodes": 4}
"""Measure → its place in the numbers of a tree, after the value that was tried."""
SWEPT = ("EC4.5", "ECART")
SHOWN = {
    "valid_roc_auc": "validation ROC AUC",
    "expected_cost": "expected height",
    "n_nodes": "tree size (nodes)",
}
"""The panels of Figure 2."""


def pieces(paper: Regularized) -> list[Piece]:
    """Return one piece per data set, price setting, reading and split that ``paper`` asks for;
    those of one data set side by side.
    """
    return [
        Piece(
            {
                "dataset": name,
                "seed": seed,
                "prices": prices,
                "variant": variant,
                "times": paper.times,
            },
            paper.cost(name),
        )
        for name in sorted(filter(paper.wants, published().datasets), key=paper.cost)
        for seed in range(max(paper.seeds, paper.seeds_small, paper.seeds_judged))
        for prices in PRICES
        if prices in paper.prices
        for variant in VARIANTS
        if variant in paper.variants and seed < paper.splits(name, prices, variant)
    ]


def work(key: Key, seed: int, services: Services) -> Facts:
    """Return all algorithms on one split."""
    from arboretum_regularized.paper.study import study

    return study(services, key, seed)


def judge(results: Keyed) -> Judgement:
    """Return the twenty data sets: cells, sentences, tables and pictures, one chapter per part; and
    Figure 2.
    """
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
    return Judgement.joined([whole, judge_sweep(found)])


def cells(found: Results) -> list[Cell]:
    """Return one per published mean of five runs, with the results of the paper's reading in words.

    No cell where fewer splits than the paper's five (``fraction`` may cut a data set off after two)
    say nothing of the error.
    """
    printed, made = Part(UNIT, PAPER), []
    for measure in MEASURES:
        for place in (
            (name, a)
            for name in found.datasets(JUDGED)
            for a in ALGORITHMS
            if (name, a, measure) in published().results
        ):
            value = published().results[*place, measure]
            other = found.mean(printed, *place, measure)
            aside = (
                ""
                if math.isnan(other)
                else f"paper variant {other:.4g} ± {found.error(printed, *place, measure):.2g}"
            )
            reason = known(found, *place, measure, value)
            values = found.values(JUDGED, *place, measure)
            made.append(
                cell_of_runs(
                    WORDS[measure][0],
                    *place,
                    value,
                    values,
                    published().runs,
                    known=reason,
                    aside=aside,
                )
            )
    return [cell for cell in made if cell]


# -- reasons for differences -----------------------------------------------------------------------


def known(found: Results, dataset: str, algorithm: str, measure: str, value: float) -> Known | None:
    """Return the reason for a difference from the published ``value`` of a measure: the first that
    explains it, else the first that was looked into; None without any.
    """
    if algorithm == "BAL":
        return _of_ties(found, dataset, measure)
    tuned, cost = algorithm.removeprefix("p"), published().results
    choices = [("tried", f"α of {algorithm}")] * (tuned != algorithm)
    # where the published trees are those of ASR, the λ that was kept is so small that it chose
    # nothing
    if (
        tuned.startswith("E")
        and cost[dataset, tuned, "expected_cost"] != cost[dataset, "ASR", "expected_cost"]
    ):
        # a pruned tree inherits its λ
        choices.append(("tried" if tuned == algorithm else "lams", f"λ of {tuned}"))
    reasons = [
        reason
        for choice in choices
        if (reason := _of_choice(found, dataset, algorithm, *choice, measure))
    ]
    return next(
        (reason for reason in reasons if reason.explains(value)), reasons[0] if reasons else None
    )


def _of_ties(found: Results, dataset: str, measure: str) -> Known | None:
    """Return what other orders of the columns make of a mean of BAL, which has many tests that
    score alike, on the splits where they were tried; None where they were not.
    """
    place = PLACE[measure] - 1
    tried = [one for one in found.found.get((JUDGED, dataset, "BAL"), ()) if "orders" in one]
    if not tried:
        return None
    shifts = np.mean(
        [[row[place] - one[measure] for row in one["orders"]] for one in tried], axis=0
    )
    by_order, values = [0.0, *shifts.tolist()], found.values(JUDGED, dataset, "BAL", measure)
    means = float(values.mean()) + min(by_order), float(values.mean()) + max(by_order)
    source = f"{len(by_order)} orders of the columns on {len(tried)} splits"
    reason = "many tests are equally balanced, and which comes first depends on the order"
    return known_between(reason, means, (values, values), published().runs, source)


def _of_choice(
    found: Results, dataset: str, algorithm: str, noted: str, what: str, measure: str
) -> Known | None:
    """Explain a mean by the choice of λ or α: both are chosen by the AUC of few validation rows, so
    that another split keeps another value.

    noted : where the numbers of each value stand in what is noted of the algorithm's tree.
    what : the choice, in words.

    The published mean then lies between what the values in reach give here, as means over our
    splits; a value is in reach when on one split its validation AUC is within :data:`NO_DROP` of
    the best.  None where fewer than two are.
    """
    by_value: dict[float, list[float]] = {}
    in_reach: set[float] = set()
    for one in found.found.get((JUDGED, dataset, algorithm), ()):
        numbers = [(row[0], row[1], row[PLACE[measure]]) for row in one.get(noted, ())]
        best = max((valid for _, valid, _ in numbers if valid is not None), default=0.0)
        for value, valid, number in numbers:
            if valid is not None and number is not None:
                by_value.setdefault(value, []).append(number)
                in_reach |= {value} if valid >= best - NO_DROP else set()
    means = {value: float(np.mean(by_value[value])) for value in sorted(in_reach)}
    if len(means) < 2:
        return None
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    reason = (
        f"{what} is chosen on few rows and changes with the split: {low:g} gives "
        f"{means[low]:.4g} here, {high:g} {means[high]:.4g}"
    )
    source = f"{max(map(len, by_value.values()))} splits, ± {REACH:g} standard errors"
    ends = np.array(by_value[low]), np.array(by_value[high])
    return known_between(reason, (means[low], means[high]), ends, published().runs, source)


# -- all algorithms of a data set together ---------------------------------------------------------


def one_sided(found: Results, made: Sequence[Cell]) -> list[Claim]:
    """Return whether the algorithms of a data set agree with the published means taken together,
    differences that are explained apart.

    made : the cells, of which those that are KNOWN are left out.

    Each algorithm's difference is divided by its standard deviation over our splits; the mean over
    the algorithms has an error of its own, from the same splits, which knows how far they go
    together.
    """
    reported = []
    for measure in MEASURES:
        table, far, beyond = WORDS[measure][0], [], False
        rows: dict[str, list[Cell]] = {}
        for cell in made:
            if cell.table == table and cell.verdict is not Verdict.KNOWN:
                rows.setdefault(cell.row, []).append(cell)
        for name, row in rows.items():
            values = [found.values(JUDGED, name, cell.column, measure) for cell in row]
            together = np.mean(
                [(v - cell.published) / v.std(ddof=1) for v, cell in zip(values, row, strict=True)],
                axis=0,
            )
            deviation = float(together.mean()) / standard_error(together, published().runs)
            above = sum(cell.deviation > 0 for cell in row)
            beyond |= abs(deviation) > Cell.LIMIT
            if abs(deviation) > 2.0:
                far.append(
                    (-abs(deviation), f"{name} {deviation:+.2f} ({above} of {len(row)} above)")
                )
        if rows:
            words = (
                "standard errors of the mean over the algorithms, beyond two: "
                f"{', '.join(text for _, text in sorted(far)) or 'none'}"
            )
            sentence = (
                f"Unit prices: taken together the algorithms of every data set ({len(rows)}) "
                f"have the published {table}"
            )
            reported.append(Claim.judged(sentence, not beyond, words))
    return reported


# -- tables, chapters, notes -----------------------------------------------------------------------


def results_table(found: Results) -> str:
    """Return every mean with its standard error, of all parts, as CSV."""
    measures = [
        m for m in WORDS if any(m in one for noted in found.found.values() for one in noted)
    ]
    rows: list[list[object]] = [
        [
            "prices",
            "variant",
            "dataset",
            "algorithm",
            "splits",
            *(m + e for m in measures for e in ("", "_error")),
        ]
    ]
    for part in found.parts:
        for place in (
            (part, name, a)
            for name in found.datasets(part)
            for at, other, a in found.found
            if (at, other) == (part, name)
        ):
            numbers = [f(*place, m) for m in measures for f in (found.mean, found.error)]
            row = [
                part.prices,
                part.variant,
                place[1],
                called(str(place[2]), part.prices),
                len(found.found[place]),
            ]
            rows.append([*row, *("" if math.isnan(x) else f"{x:.6g}" for x in numbers)])
    return csv_text(rows)


def chapter(
    found: Results,
    part: Part,
    made: Sequence[Cell],
    tables: Mapping[str, str],
    pictures: Plain,
) -> Chapter:
    """Return the run of the tracker for one part: means over data sets, how the cells fare, its
    tables and pictures.
    """
    metrics: dict[str, float] = {"datasets": float(len(found.datasets(part)))}
    for measure in ("roc_auc", "expected_cost", "n_nodes"):
        for algorithm in ALGORITHMS:
            means = np.array(
                [found.mean(part, name, algorithm, measure) for name in found.datasets(part)]
            )
            if not np.isnan(means).all():
                metrics[f"{measure}/{called(algorithm, part.prices)}"] = float(np.nanmean(means))
    if part == JUDGED:
        metrics |= summarise(made)
    mine = {
        name: text for name, text in tables.items() if part.slug in name or name == "results.csv"
    }
    shown = tuple(name for name in pictures if part.slug in name)
    return Chapter(
        f"{part.variant} variant, {part.prices} prices",
        {"prices": part.prices, "variant": part.variant},
        metrics,
        mine,
        shown,
    )


def notes(found: Results, made: Sequence[Cell]) -> list[str]:
    """Return how many there are, how far off, and what is missing."""
    trees, runs = sum(len(noted) for noted in found.found.values()), published().runs
    reported = [
        f"{trees:,} trees on {len(found.datasets())} of {len(published().datasets)} data "
        "sets; each was replayed on all its training "
        "objects, and its rows, class weights and prices counted anew (a tree that fails "
        "stops its piece)."
    ]
    if missing := [name for name in published().datasets if name not in found.datasets()]:
        reported.append(f"Without results, not asked for or not to be had: {', '.join(missing)}.")
    splits = {
        n: max(len(found.found.get((JUDGED, n, a), ())) for a in ALGORITHMS)
        for n in found.datasets(JUDGED)
    }
    if few := [name for name, n in splits.items() if 0 < n < runs]:
        reported.append(
            f"Not held against the published means, for they have fewer than {runs} splits "
            f"here: {', '.join(few)}."
        )
    for measure in MEASURES:
        z = np.array(
            [abs(c.deviation) for c in made if c.table == WORDS[measure][0] and c.error > 0]
        )
        if len(z):
            within = [int((z <= limit).sum()) for limit in (2, 4)]
            reported.append(
                f"{WORDS[measure][0]}: of {len(z)} published cells {within[0]} lie within "
                "two standard errors of the difference, "
                f"{within[1]} within four; median deviation {np.median(z):.2f}."
            )
    return reported


# -- Figure 2 --------------------------------------------------------------------------------------


Sweeps = Mapping[tuple[str, str, float], Mapping[str, np.ndarray]]
"""Algorithm, data set, λ → measure → float64[splits]."""


def judge_sweep(found: Results) -> Judgement:
    """Return validation AUC, expected height and tree size over λ, of EC4.5 and ECART; EC4.5's
    means beside the published ones.

    Cells, a table and the six panels; empty where nothing was swept, no cell where splits are too
    few or all agree.
    """
    swept = _results_by_lam(found)
    if not swept:
        return Judgement()
    head = [
        "algorithm",
        "dataset",
        "lambda",
        "splits",
        *(m + e for m in PLACE for e in ("", "_sd")),
    ]
    rows = [
        [
            *place,
            len(own["n_nodes"]),
            *(
                f"{x:.6g}"
                for v in own.values()
                for x in (v.mean(), v.std(ddof=1) if len(v) > 1 else 0.0)
            ),
        ]
        for place, own in swept.items()
    ]
    made = [
        cell_of_runs(
            f"{title} of EC4.5 by λ",
            dataset,
            f"{lam:g}",
            published().sweep[dataset, lam, name],
            own[measure][~np.isnan(own[measure])],
            published().runs,
        )
        for title, measure, name in (
            ("validation AUC", "valid_roc_auc", "roc_auc"),
            ("expected cost", "expected_cost", "expected_cost"),
        )
        for (algorithm, dataset, lam), own in swept.items()
        if algorithm == "EC4.5"
    ]
    return Judgement.of_chapter(
        "trade-off λ (Figure 2)",
        {"prices": JUDGED.prices, "variant": JUDGED.variant},
        {},
        cells=[cell for cell in made if cell],
        tables={"lambda_sweep.csv": csv_text([head, *rows])},
        pictures={"lambda_sweep": _draw_sweep(swept)},
    )


def _results_by_lam(found: Results) -> Sweeps:
    """Return what was noted of each λ, on the splits where λ was swept.

    The rows of a sweep are in the order of the published ``sweep_lambdas``, their numbers those of
    PLACE.
    """
    swept = {}
    for dataset in found.datasets(JUDGED):
        for algorithm in SWEPT:
            rows = [
                one["sweep"]
                for one in found.found.get((JUDGED, dataset, algorithm), ())
                if "sweep" in one
            ]
            for at, lam in enumerate(published().sweep_lambdas if rows else ()):
                numbers = np.array([row[at] for row in rows], float)
                swept[algorithm, dataset, lam] = {
                    measure: numbers[:, place] for measure, place in PLACE.items()
                }
    return swept


def _draw_sweep(sweeps: Sweeps) -> Panels:
    """Return a panel per algorithm and measure, with a line per data set over λ."""
    lambdas = published().sweep_lambdas
    names, panels = list(dict.fromkeys(name for _, name, _ in sweeps)), []
    for algorithm, (measure, label) in ((a, shown) for a in SWEPT for shown in SHOWN.items()):
        lines = [
            Line(
                name,
                lambdas,
                [float(np.mean(sweeps[algorithm, name, lam][measure])) for lam in lambdas],
                colour=number,
            )
            for number, name in enumerate(names)
            if (algorithm, name, lambdas[0]) in sweeps
        ]
        panels.append(
            LineChart(algorithm, lines, Axis("λ", log=True), Axis(label, log=measure == "n_nodes"))
        )
    return Panels(
        "The trade-off λ: validation AUC, expected height and tree size", panels, columns=3
    )
