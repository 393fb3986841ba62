"""What the sums over random tables say of the paper's Tables 1 to 5."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.api import Cell, Claim, Grid, Judgement, csv_text
from arboretum_decision_tables.published import ALGORITHMS, COST_NAMES, COSTS, GROUPS, TABLES_PER_GROUP, TYPES, published

TIED = 2.0
"""Two algorithms whose means differ by less, in standard errors of their paired difference, are called tied."""
MEANS = "means of Tables 1–4"


@attrs.frozen(eq=False)
class Sample:
    """Sums over some random tables.

    n, single, merged : tables studied, left out for their single decision, with equal rows.   sums : float64[5, 16].
    products : float64[5, 16, 16].   optimal : int64[5, 16].   minima : float64[5].
    """

    n: int
    single: int
    merged: int
    sums: np.ndarray
    products: np.ndarray
    optimal: np.ndarray
    minima: np.ndarray

    @staticmethod
    def of(results: Iterable[Any]) -> Sample:
        """Add up pieces, in their order."""
        results, k = list(results), len(ALGORITHMS)
        n, single, merged = (sum(result[name] for result in results) for name in ("tables", "single", "merged"))
        names = ("sums", "optimal", "minima", "products")
        sums, optimal, minima, lower = (np.sum([result[name] for result in results], axis=0) for name in names)
        products, (i, j) = np.zeros((len(COSTS), k, k)), np.tril_indices(k)
        products[:, i, j] = products[:, j, i] = lower
        return Sample(n, single, merged, sums, products, optimal, minima)

    @property
    def mean(self) -> np.ndarray:
        """float64[16, 5]: mean relative differences."""
        return self.sums.T / self.n

    @property
    def deviation(self) -> np.ndarray:
        """float64[16, 5]: standard deviations over the tables (n − 1)."""
        return np.sqrt(np.array([self._variance(p, s).diagonal() for p, s in zip(self.products, self.sums, strict=True)]).T)

    def _variance(self, products: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """float64[16, 16]: covariances; what cancels to less than rounding is 0."""
        found = products - np.outer(sums, sums) / self.n
        found[np.abs(found) < 1e-12 * np.abs(products)] = 0.0
        return found / (self.n - 1)

    def paired(self, cost: int, a: int, b: int) -> tuple[float, float]:
        """Mean difference of algorithms a − b on the same tables, and its standard error."""
        cov = self._variance(self.products[cost], self.sums[cost])
        variance = max(cov[a, a] + cov[b, b] - 2 * cov[a, b], 0.0)
        return float((self.sums[cost, a] - self.sums[cost, b]) / self.n), math.sqrt(variance / self.n)


def judge(results: Sequence[tuple[Mapping[str, Any], Any]]) -> Judgement:
    """See :class:`~arboretum_decision_tables.reproduction.DecisionTables`."""
    everything = Sample.of(result for _, result in results)
    if everything.n < 2:
        return Judgement()
    groups = {g: Sample.of(result for key, result in results if key["group"] == g) for g in range(1, GROUPS + 1)}
    groups = {g: sample for g, sample in groups.items() if sample.n}
    spread, tables = everything.deviation, published().tables
    parts = {f"Table {g}": (sample, tables[g - 1], TABLES_PER_GROUP) for g, sample in groups.items()}
    parts[MEANS] = everything, tables.mean(axis=0), GROUPS * TABLES_PER_GROUP
    chapters = {name: _chapter(name, *part, everything) for name, part in parts.items()}
    claims = [_best_two(everything, cost) for cost in range(len(COSTS))]
    told = Judgement(claims=claims, notes=_notes(everything, {name: chapter.cells for name, chapter in chapters.items()}, spread))
    return Judgement.joined([*chapters.values(), told])


def _chapter(name: str, sample: Sample, paper: np.ndarray, behind: int, everything: Sample) -> Judgement:
    """One of Tables 1 to 4, or their means with Table 5."""
    cells, group = _cells(name, sample, paper, behind, everything.deviation), "all" if name == MEANS else name[-1]
    tables = {f"{_file(name)}.csv": _table(cells)} | ({"table_5.csv": _table_5(everything)} if name == MEANS else {})
    return Judgement.of_chapter(
        f"group {group}" if name != MEANS else "all groups",
        {"group": group, "tables": sample.n},
        _metrics(sample),
        cells=cells,
        tables=tables,
        pictures={_file(name): _picture(name, sample, cells, everything)},
    )


def _file(name: str) -> str:
    return "means" if name == MEANS else name.lower().replace(" ", "_")


def _cells(name: str, sample: Sample, paper: np.ndarray, behind: int, spread: np.ndarray) -> list[Cell]:
    """One cell per algorithm and cost; none where all our tables gave the same number, so that no error is known.

    The error is s·√(1/n + 1/N), with N tables behind the published number and s over all of ours.
    """
    return [
        Cell.judged(
            name, algorithm, cost, float(paper[i, j]), float(sample.mean[i, j]),
            float(spread[i, j]) * math.sqrt(1 / sample.n + 1 / behind), n=sample.n,
        )
        for i, algorithm in enumerate(ALGORITHMS)
        for j, cost in enumerate(COSTS)
        if spread[i, j] > 0.0
    ]  # fmt: skip


def _metrics(sample: Sample) -> dict[str, float]:
    """``h_av/max_ent`` is a mean relative difference."""
    means = {
        f"{cost}/{algorithm.replace('/', '_')}": float(sample.mean[i, j])
        for j, cost in enumerate(COSTS)
        for i, algorithm in enumerate(ALGORITHMS)
    }
    counts = {"tables": float(sample.n), "tables_left_out": float(sample.single)}
    return {**means, **counts}


def ranked(sample: Sample, cost: int) -> list[int]:
    """Algorithms by their mean relative difference, best first; equal means in the order of the paper's tables."""
    return np.argsort(sample.mean[:, cost], kind="stable").tolist()


def _best_two(sample: Sample, cost: int) -> Claim:
    """Table 5: the set of the best two.  Another set passes where the published one is within ``Cell.LIMIT`` paired errors of ours."""
    name = list(COSTS)[cost]
    order = ranked(sample, cost)
    ours, wanted = set(order[:2]), {ALGORITHMS.index(algorithm) for algorithm in published().best[name]}
    worst = []
    for missing in sorted(wanted - ours):
        difference, error = sample.paired(cost, missing, order[1])
        worst.append(difference <= Cell.LIMIT * error)
    words = [f"ours: {_named(sample, cost, order[0])}, {_named(sample, cost, order[1])}, then {_named(sample, cost, order[2])}"]
    words += [_difference(sample, cost, a, b) for a, b in ((order[0], order[1]), (order[1], order[2]))]
    words += [
        f"{ALGORITHMS[a]} of the paper's two is {_named(sample, cost, a).split()[1]} here, "
        + ("within" if good else "beyond") + f" {Cell.LIMIT:g} standard errors of our second"
        for a, good in zip(sorted(wanted - ours), worst, strict=True)
    ]  # fmt: skip
    words.append(_in_the_paper(sample, cost, *sorted(wanted)))
    pair = " and ".join(ALGORITHMS[a] for a in sorted(wanted))
    return Claim.judged(f"Table 5, {name} ({COST_NAMES[cost]}): the best two are {pair}", all(worst), "; ".join(words))


def _named(sample: Sample, cost: int, a: int) -> str:
    return f"{ALGORITHMS[a]} {sample.mean[a, cost]:.5f}"


def _difference(sample: Sample, cost: int, a: int, b: int) -> str:
    difference, error = sample.paired(cost, b, a)
    tied = ": tied" if difference <= TIED * error else ""
    return f"{ALGORITHMS[b]} − {ALGORITHMS[a]} = {difference:.5f} ± {error:.5f} on the same tables{tied}"


def _in_the_paper(sample: Sample, cost: int, a: int, b: int) -> str:
    """How far the published two are apart; their error is ours, for as many tables as the paper has."""
    means = published().tables.mean(axis=0)[:, cost]
    difference = abs(float(means[a] - means[b]))
    error = sample.paired(cost, a, b)[1] * math.sqrt(sample.n / (GROUPS * TABLES_PER_GROUP))
    tied = ", tied there by the same error" if difference <= TIED * error else ""
    return f"the paper's two differ by {difference:.5f}{tied}"


def _table(cells: Sequence[Cell]) -> str:
    """A table in the paper's layout, three numbers per cost: ours, published, deviation in standard errors."""
    at = {(cell.row, cell.column): cell for cell in cells}
    header = ["algorithm", *(f"{cost}{part}" for cost in COSTS for part in ("", "_published", "_deviation"))]
    rows = []
    for algorithm in ALGORITHMS:
        row = [algorithm]
        for cost in COSTS:
            cell = at.get((algorithm, cost))
            row += ["", "", ""] if cell is None else [f"{cell.ours:.6f}", f"{cell.published:.6f}", f"{cell.deviation:.2f}"]
        rows.append(row)
    return csv_text([header, *rows])


def _table_5(sample: Sample) -> str:
    """All algorithms by cost, best first, with the paired difference to the one before."""
    header = ["cost", "rank", "algorithm", "mean", "optimal_share", "published_best_two", "difference", "standard_error", "tied"]
    rows = []
    for cost, name in enumerate(COSTS):
        order = ranked(sample, cost)
        for rank, a in enumerate(order):
            before: list[Any] = ["", "", ""]
            if rank:
                difference, error = sample.paired(cost, a, order[rank - 1])
                before = [f"{difference:.6f}", f"{error:.6f}", "yes" if difference <= TIED * error else "no"]
            best = "yes" if ALGORITHMS[a] in published().best[name] else "no"
            share = f"{sample.optimal[cost, a] / sample.n:.4f}"
            rows.append([name, rank + 1, ALGORITHMS[a], f"{sample.mean[a, cost]:.6f}", share, best, *before])
    return csv_text([header, *rows])


def _picture(name: str, sample: Sample, cells: Sequence[Cell], everything: Sample) -> Grid:
    """The table as a heat map: how much dearer than the minimum, in percent."""
    at = {(cell.row, cell.column): cell for cell in cells}
    below = [[at.get((algorithm, cost)) for cost in COSTS] for algorithm in ALGORITHMS]
    what = "four groups together" if name == MEANS else f"group {name[-1]}, beside the paper's {name}"
    lowest = everything.minima / everything.n
    return Grid(
        title="How much dearer than the optimum is a greedy tree?",
        subtitle=f"mean of (greedy − minimum) / minimum over {sample.n:,} random tables of 50 × 10, {what}",
        rows=ALGORITHMS,
        columns=list(COSTS),
        column_notes=COST_NAMES,
        values=sample.mean.tolist(),
        texts=[[f"{100 * value:.2f} %" for value in row] for row in sample.mean],
        small=[["" if c is None else f"paper {100 * c.published:.2f}, {_signed(c.deviation)} SE" for c in row] for row in below],
        breaks=range(len(ALGORITHMS) // len(TYPES), len(ALGORITHMS), len(ALGORITHMS) // len(TYPES)),
        framed=frozenset((a, cost) for cost in range(len(COSTS)) for a in ranked(sample, cost)[:2]),
        legend="light: best of the column, dark: worst; framed: the best two of a cost",
        notes=(
            "Rows: type of impurity function / measure. Small: the paper's number in percent, and ours minus it in standard "
            "errors (SE) of the difference.",
            "Mean of the minimum itself: "
            + ", ".join(f"{name} {value:.2f}" for name, value in zip(("path length", *COST_NAMES[1:]), lowest, strict=True))
            + ".",
        ),
    )


def _signed(value: float) -> str:
    return f"{round(value, 1) + 0.0:+.1f}".replace("-", "−").replace("+0.0", "±0")


def _notes(sample: Sample, cells: Mapping[str, Sequence[Cell]], spread: np.ndarray) -> list[str]:
    single = f"{sample.single} tables had a single decision and were left out"
    left_out = single if sample.single else "no table had a single decision"
    notes = [f"{sample.n:,} tables studied; {left_out}; {sample.merged:,} had equal rows, which were merged."]
    notes.append(
        f"Verified: {sample.n * len(ALGORITHMS):,} greedy trees and {sample.n * len(COSTS):,} optimal trees, replayed over "
        "their tables and measured anew; no greedy tree costs less than the minimum (a table that fails any of this stops "
        "its piece)."
    )
    means, groups = cells[MEANS], [cell for name, found in cells.items() if name != MEANS for cell in found]
    for words, found in ((f"the {len(groups)} cells of the tables", groups), (f"the {len(means)} means", means)):
        if found:
            z = np.array([cell.deviation for cell in found])
            largest, typical = np.abs(z).max(), np.sqrt((z * z).mean())
            notes.append(f"Deviations of {words}: largest {largest:.2f} standard errors, root mean square {typical:.2f}.")
    unknown = int((spread <= 0.0).sum())
    if unknown:
        notes.append(
            f"{unknown} of {spread.size} columns are not judged: all our tables gave the same number, so its error is not known."
        )
    return notes
