"""What the sums over random tables say of the paper's Tables 1 to 5."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import attrs
import numpy as np

from arboretum.api import (
    Cell,
    Claim,
    Judgement,
    Keyed,
    Plain,
    csv_text,
)
from arboretum_decision_tables.paper.heat_map import Grid
from arboretum_decision_tables.paper.published import (
    ALGORITHMS,
    COST_NAMES,
    COSTS,
    GROUPS,
    TABLES_PER_GROUP,
    TYPES,
    published,
)

TIED = 2.0
"""Two algorithms whose means differ by less, in standard errors of their paired difference, are
called tied.
"""
MEANS = "means of Tables 1–4"


@attrs.frozen(eq=False)
class Sample:
    """Sums over some random tables.

    n, single, merged : tables studied, left out for their single decision, with equal rows.
    sums : float64[5, 16].
    products : float64[5, 16, 16].
    optimal : int64[5, 16].
    minima : float64[5].
    """

    n: int
    single: int
    merged: int
    sums: np.ndarray
    products: np.ndarray
    optimal: np.ndarray
    minima: np.ndarray

    @staticmethod
    def of(results: Iterable[Plain]) -> Sample:
        """Add up the results of pieces, in their order."""
        results, k = list(results), len(ALGORITHMS)
        n, single, merged = (
            sum(result[name] for result in results) for name in ("tables", "single", "merged")
        )
        names = ("sums", "optimal", "minima", "products")
        sums, optimal, minima, lower = (
            np.sum([result[name] for result in results], axis=0) for name in names
        )
        products, (i, j) = np.zeros((len(COSTS), k, k)), np.tril_indices(k)
        products[:, i, j] = products[:, j, i] = lower
        return Sample(n, single, merged, sums, products, optimal, minima=minima)

    @property
    def mean(self) -> np.ndarray:
        """float64[16, 5]: mean relative differences."""
        return self.sums.T / self.n

    @property
    def covariance(self) -> np.ndarray:
        """float64[5, 16, 16]: over the tables (n − 1); what cancels to less than rounding is 0."""
        found = self.products - self.sums[:, :, None] * self.sums[:, None, :] / self.n
        found[np.abs(found) < 1e-12 * np.abs(self.products)] = 0.0
        covariance: np.ndarray = found / (self.n - 1)
        return covariance

    @property
    def deviation(self) -> np.ndarray:
        """float64[16, 5]: standard deviations over the tables."""
        deviation: np.ndarray = np.sqrt(self.covariance.diagonal(axis1=1, axis2=2).T)
        return deviation

    def paired(self, cost: int, a: int, b: int) -> tuple[float, float]:
        """Return the mean difference of two algorithms, a − b, on the same tables, and its standard
        error.

        cost : place in COSTS; a, b : places in ALGORITHMS.
        """
        cov = self.covariance[cost]
        variance = max(cov[a, a] + cov[b, b] - 2 * cov[a, b], 0.0)
        return float((self.sums[cost, a] - self.sums[cost, b]) / self.n), math.sqrt(
            variance / self.n
        )

    def ranked(self, cost: int) -> list[int]:
        """Algorithms by their mean relative difference, best first; equal means in the order of
        the paper's tables.
        """
        return list(map(int, np.argsort(self.mean[:, cost], kind="stable")))


@attrs.frozen(eq=False)
class Held:
    """Our means of some tables held against published ones.

    name : of the published table.
    paper : float64[16, 5].
    error : float64[16, 5], s·√(1/n + 1/N), with N tables behind the published number and s over all
        of ours; 0 where all our tables gave the same number, so that no error is known.
    """

    name: str
    sample: Sample
    paper: np.ndarray
    error: np.ndarray

    @property
    def off(self) -> np.ndarray:
        """float64[16, 5]: ours minus the paper's, in standard errors; NaN where none is known."""
        off: np.ndarray = np.divide(
            self.sample.mean - self.paper,
            self.error,
            out=np.full(self.paper.shape, np.nan),
            where=self.error > 0.0,
        )
        return off

    def cells(self) -> list[Cell]:
        """Return one per algorithm and cost whose error is known."""
        return [
            Cell.judged(
                self.name,
                ALGORITHMS[i],
                list(COSTS)[j],
                float(self.paper[i, j]),
                float(self.sample.mean[i, j]),
                float(self.error[i, j]),
                n=self.sample.n,
            )
            for i, j in np.argwhere(self.error > 0.0)
        ]

    def table(self) -> str:
        """Return a table in the paper's layout, three numbers per cost: ours, published, deviation
        in standard errors.
        """
        header = [
            "algorithm",
            *(f"{cost}{part}" for cost in COSTS for part in ("", "_published", "_deviation")),
        ]
        numbers = np.stack([self.sample.mean, self.paper, self.off], axis=2)
        known = [
            [
                "" if math.isnan(z) else text
                for ours, paper, z in row
                for text in (f"{ours:.6f}", f"{paper:.6f}", f"{z:.2f}")
            ]
            for row in numbers
        ]
        return csv_text(
            [header, *([name, *row] for name, row in zip(ALGORITHMS, known, strict=True))]
        )

    def picture(self, everything: Sample) -> Grid:
        """Return the table as a heat map: how much dearer than the minimum, in percent.

        everything : the sample of all groups, of which the minima are said.
        """
        sample = self.sample
        lowest = everything.minima / everything.n
        each = len(ALGORITHMS) // len(TYPES)
        what = (
            "four groups together"
            if self.name == MEANS
            else f"group {self.name[-1]}, beside the paper's {self.name}"
        )
        beside = [
            zip(*three, strict=True)
            for three in zip(sample.mean, self.paper, self.off, strict=True)
        ]
        minima = (
            f"{name} {value:.2f}"
            for name, value in zip(("path length", *COST_NAMES[1:]), lowest, strict=True)
        )
        return Grid(
            title="How much dearer than the optimum is a greedy tree?",
            subtitle=(
                f"mean of (greedy − minimum) / minimum over {sample.n:,} random tables of 50 "
                f"× 10, {what}"
            ),
            rows=ALGORITHMS,
            columns=[f"{cost}\n{name}" for cost, name in zip(COSTS, COST_NAMES, strict=True)],
            values=sample.mean.tolist(),
            texts=[
                [
                    f"{100 * ours:.2f} %"
                    + ("" if math.isnan(z) else f"\npaper {100 * paper:.2f}, {_signed(z)} SE")
                    for ours, paper, z in row
                ]
                for row in beside
            ],
            breaks=range(each, len(ALGORITHMS), each),
            framed=frozenset(
                (a, cost) for cost in range(len(COSTS)) for a in sample.ranked(cost)[:2]
            ),
            legend="light: best of the column, dark: worst; framed: the best two of a cost",
            notes=(
                "Rows: type of impurity function / measure. Below: the paper's number in "
                "percent, and ours minus it in standard "
                "errors (SE) of the difference.",
                f"Mean of the minimum itself: {', '.join(minima)}.",
            ),
        )

    def chapter(self, everything: Sample) -> Judgement:
        """Return one of Tables 1 to 4, or their means with Table 5; ``h_av/max_ent`` is a mean
        relative difference.

        everything : the sample of all groups.
        """
        whole, mean = self.name == MEANS, self.sample.mean
        file, group = (
            ("means", "all") if whole else (self.name.lower().replace(" ", "_"), self.name[-1])
        )
        metrics = {
            f"{cost}/{a.replace('/', '_')}": float(mean[i, j])
            for j, cost in enumerate(COSTS)
            for i, a in enumerate(ALGORITHMS)
        }
        return Judgement.of_chapter(
            "all groups" if whole else f"group {group}",
            {"group": group, "tables": self.sample.n},
            {
                **metrics,
                "tables": float(self.sample.n),
                "tables_left_out": float(self.sample.single),
            },
            cells=self.cells(),
            tables={f"{file}.csv": self.table()}
            | ({"table_5.csv": _table_5(everything)} if whole else {}),
            pictures={file: self.picture(everything)},
        )


def judge(results: Keyed) -> Judgement:
    """Return Tables 1 to 4 and their means beside the published ones, Table 5 as claims; nothing
    for fewer than two tables studied.

    See :class:`~arboretum_decision_tables.paper.reproduction.DecisionTables`.
    """
    everything = Sample.of(result for _, result in results)
    if everything.n < 2:
        return Judgement()
    groups = {
        g: Sample.of(result for key, result in results if key["group"] == g)
        for g in range(1, GROUPS + 1)
    }
    tables = published().tables
    parts = [
        (f"Table {g}", sample, tables[g - 1], TABLES_PER_GROUP)
        for g, sample in groups.items()
        if sample.n
    ]
    parts.append((MEANS, everything, tables.mean(axis=0), GROUPS * TABLES_PER_GROUP))
    spread = everything.deviation
    chapters = [
        Held(name, sample, paper, spread * math.sqrt(1 / sample.n + 1 / behind)).chapter(everything)
        for name, sample, paper, behind in parts
    ]
    claims = [_best_two(everything, cost) for cost in range(len(COSTS))]
    reported = Judgement(
        claims=claims,
        notes=_notes(
            everything, [chapter.cells for chapter in chapters], int((spread <= 0.0).sum())
        ),
    )
    return Judgement.joined([*chapters, reported])


def _best_two(sample: Sample, cost: int) -> Claim:
    """Return the claim of Table 5 on one cost, a place in COSTS: the set of the best two.  Another
    set passes where the published one is within ``Cell.LIMIT`` paired errors of ours.
    """
    name, order, means = list(COSTS)[cost], sample.ranked(cost), sample.mean[:, cost]
    first, second, third = order[:3]
    named = [f"{algorithm} {mean:.5f}" for algorithm, mean in zip(ALGORITHMS, means, strict=True)]
    wanted = sorted(ALGORITHMS.index(algorithm) for algorithm in published().best[name])
    words = [f"ours: {named[first]}, {named[second]}, then {named[third]}"]
    for a, b in ((first, second), (second, third)):
        difference, error = sample.paired(cost, b, a)
        tied = ": tied" * (difference <= TIED * error)
        words.append(
            f"{ALGORITHMS[b]} − {ALGORITHMS[a]} = {difference:.5f} ± {error:.5f} on the same "
            f"tables{tied}"
        )
    holds = True
    for a in (a for a in wanted if a not in (first, second)):
        difference, error = sample.paired(cost, a, second)
        near = difference <= Cell.LIMIT * error
        holds &= near
        words.append(
            f"{ALGORITHMS[a]} of the paper's two is {means[a]:.5f} here, "
            f"{'within' if near else 'beyond'} {Cell.LIMIT:g} standard "
            "errors of our second"
        )
    # how far the published two are apart; their error is ours, for as many tables as the paper has
    paper = published().tables.mean(axis=0)[:, cost]
    apart, error = abs(float(paper[wanted[0]] - paper[wanted[1]])), sample.paired(cost, *wanted)[1]
    tied = ", tied there by the same error" * (
        apart <= TIED * error * math.sqrt(sample.n / (GROUPS * TABLES_PER_GROUP))
    )
    words.append(f"the paper's two differ by {apart:.5f}{tied}")
    pair = " and ".join(ALGORITHMS[a] for a in wanted)
    return Claim.judged(
        f"Table 5, {name} ({COST_NAMES[cost]}): the best two are {pair}", holds, "; ".join(words)
    )


def _table_5(sample: Sample) -> str:
    """Return all algorithms by cost, best first, with the paired difference to the one before."""
    rows: list[list[object]] = [
        [
            "cost",
            "rank",
            "algorithm",
            "mean",
            "optimal_share",
            "published_best_two",
            "difference",
            "standard_error",
            "tied",
        ]
    ]
    for cost, name in enumerate(COSTS):
        order = sample.ranked(cost)
        for rank, a in enumerate(order):
            before: list[str] = ["", "", ""]
            if rank:
                difference, error = sample.paired(cost, a, order[rank - 1])
                before = [
                    f"{difference:.6f}",
                    f"{error:.6f}",
                    "yes" if difference <= TIED * error else "no",
                ]
            best = "yes" if ALGORITHMS[a] in published().best[name] else "no"
            share = f"{sample.optimal[cost, a] / sample.n:.4f}"
            rows.append(
                [name, rank + 1, ALGORITHMS[a], f"{sample.mean[a, cost]:.6f}", share, best, *before]
            )
    return csv_text(rows)


def _signed(value: float) -> str:
    """Return a number to one digit with its sign, ±0 for what is rounded away."""
    return f"{round(value, 1) + 0.0:+.1f}".replace("-", "−").replace("+0.0", "±0")


def _notes(sample: Sample, cells: Sequence[Sequence[Cell]], unknown: int) -> list[str]:
    """Return what is to be said of the sample and of its deviations.

    cells : of each group, last those of the means.
    unknown : columns of which no error is known.
    """
    single = f"{sample.single} tables had a single decision and were left out"
    left_out = single if sample.single else "no table had a single decision"
    notes = [
        f"{sample.n:,} tables studied; {left_out}; {sample.merged:,} had equal rows, which "
        "were merged.",
        f"Verified: {sample.n * len(ALGORITHMS):,} greedy trees and "
        f"{sample.n * len(COSTS):,} optimal trees, replayed over "
        "their tables and measured anew; no greedy tree costs less than the minimum (a table "
        "that fails any of this stops "
        "its piece).",
    ]
    *groups, means = cells
    of_groups = [cell for group in groups for cell in group]
    for words, found in (
        (f"the {len(of_groups)} cells of the tables", of_groups),
        (f"the {len(means)} means", means),
    ):
        if found:
            z = np.array([cell.deviation for cell in found])
            largest, typical = np.abs(z).max(), np.sqrt((z * z).mean())
            notes.append(
                f"Deviations of {words}: largest {largest:.2f} standard errors, root mean "
                f"square {typical:.2f}."
            )
    if unknown:
        size = len(ALGORITHMS) * len(COSTS)
        notes.append(
            f"{unknown} of {size} columns are not judged: all our tables gave the same "
            "number, so its error is not known."
        )
    return notes
