"""The guarantee on real tables: greedy trees of Zhang & Gionis beside the least expected cost of any tree.

    python experiments/regularized/certified.py [TABLE …] [--seconds 10] [--memory-mb 1500]

The first split of the study (five k-means bins, one-hot, equal rows merged, θ as there), the presets with their own λ, unit and
random prices.  Compared are all trees on the same objects and tests whose leaves have one class or a share of at most θ; with
"program" also those of at most two objects, which the authors' program does not divide.  A tree of the program may ask tests that
divide nothing, which no cheapest tree does, so its minimum is the same.  Tables are those of the data home (ARBORETUM_DATA);
without names, all in TABLES.  Prints a block per table, prices and reading, and writes certified.csv beside this file (with names:
into --into).  Every tree is verified as a run verifies it.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import attrs

from arboretum.api import ArboretumError, Context, Parts, Prices, Problem, Solution
from arboretum.engine.certificate import certified, check_tree
from arboretum.engine.run import Budget
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.house import RegistryHouse
from arboretum_decision_tables.complexities import ExpectedCost
from arboretum_decision_tables.solver import SubtableDP
from arboretum_regularized.guarantee import guarantee_of
from arboretum_regularized.protocol import TOLERANCE, Lesson, lesson, price_list
from arboretum_regularized.published import AUTHORS, PAPER, RANDOM, UNIT

TABLES = ("monk1", "monk2", "monk3", "iris", "breast-w", "house-votes", "tic-tac-toe", "balance-scale", "car")
PRESETS = ("c45_ig", "ec45", "ecart", "asr", "ip", "cc45")
READINGS = {PAPER: "paper", AUTHORS: "program"}
LEGEND = """\
ratio: expected cost ÷ the least of any tree with the same leaf rule (from – to, where only a bound of the least is proven);
Theorem 1: 20γ, what it promises that the ratio does not exceed (– : nothing, for this method or reading)
"""
COLUMNS = (
    "table", "objects", "tests", "theta", "prices", "reading", "preset", "expected_cost", "lower_bound", "best_known", "proven",
    "ratio_at_least", "ratio_at_most", "theorem_1",
)  # fmt: skip


@attrs.frozen
class Line:
    """One tree.   best : the least expected cost known.   bound : proven of all trees.   promised : 20γ, NaN without one."""

    preset: str
    value: float
    bound: float
    best: float
    promised: float

    @property
    def proven(self) -> bool:
        return self.bound >= self.best


@attrs.frozen
class Block:
    """The trees of one table, price setting and reading."""

    table: str
    n_objects: int
    n_tests: int
    theta: float
    prices: str
    reading: str
    seconds: float
    lines: Sequence[Line]

    def text(self) -> str:
        """A headline, then a line per preset."""
        best = self.lines[0]
        least = f"least {best.best:.4f}" if best.proven else f"least between {best.bound:.4f} and {best.best:.4f}"
        head = (
            f"{self.table}: {self.n_objects} objects, {self.n_tests} tests, theta {self.theta:g}; {self.prices} prices, "
            f"{self.reading}; {least} ({self.seconds:.1f} s)"
        )
        rows = [f"  {'':7} {'expected cost':>13} {'ratio':>13} {'Theorem 1':>10}"]
        for line in self.lines:
            promised = "–" if math.isnan(line.promised) else f"{line.promised:,.0f}"
            rows.append(f"  {line.preset:7} {line.value:13.4f} {spoken(line):>13} {promised:>10}")
        return "\n".join([head, *rows, ""])

    def cells(self) -> list[list[str]]:
        head = [self.table, self.n_objects, self.n_tests, f"{self.theta:g}", self.prices, self.reading]
        return [
            [
                *map(str, head), line.preset, *(f"{x:.12g}" for x in (line.value, line.bound, line.best)),
                "yes" if line.proven else "no", f"{line.value / line.best:.6f}", f"{line.value / line.bound:.6f}",
                "" if math.isnan(line.promised) else f"{line.promised:.6g}",
            ]
            for line in self.lines
        ]  # fmt: skip


def spoken(line: Line) -> str:
    """A ratio: "1.250", or between which two it lies."""
    if line.proven:
        return "1" if line.value <= line.best else f"{line.value / line.best:.3f}"
    return f"{line.value / line.best:.3f} – {line.value / line.bound:.3f}"


def recipe(house: RegistryHouse, preset: str, reading: str, theta: float) -> Parts:
    """The parts of a preset, as it is or with all that the authors' program does otherwise (its pruned forms are left out)."""
    values = {"theta": theta, "stopping.mass.tolerance": TOLERANCE}
    if reading == AUTHORS:
        values |= {"method.allow_constant": True, "stopping": ["mass", "few_objects"]}
        values |= {"criterion.d_term": "authors"} if preset in ("ec45", "ecart") else {}
        values |= {"criterion.weighting": "authors"} if preset == "ip" else {}
    return house.parts({"method": preset}, values)


def promise(parts: Parts, split: Lesson, reading: str) -> float:
    """Theorem 1's factor; NaN for criteria, and for the program's rules and D term, of which it says nothing."""
    if reading == AUTHORS or not parts.coverage:
        return math.nan
    return guarantee_of(split.objects, parts.coverage, split.theta, parts.criterion.lam, parts.impurity).ratio


def study(split: Lesson, table: str, prices: str, reading: str, house: RegistryHouse, budget: Budget) -> Block:
    """Grow, verify and certify the trees of all presets; one search for the minimum serves them all."""
    price: Prices = price_list(house, split.objects, prices, 0)
    all_parts = {preset: recipe(house, preset, reading, split.theta) for preset in PRESETS}
    problems = {preset: Problem(split.objects, price, parts) for preset, parts in all_parts.items()}
    start = time.perf_counter()
    answer: Solution = SubtableDP().minima(problems["ec45"], [ExpectedCost()], budget.context(0, lambda *_: None))[0]
    seconds, found = time.perf_counter() - start, {}
    for preset, problem in problems.items():
        rule, tree = problem.parts.leaf_rule(counting_objects=True), problem.parts.method.fit(problem, Context()).tree
        check_tree(tree, problem, rule)
        found[preset] = certified(ExpectedCost(), tree, answer, problem, rule, {})
    best = min(one.best_known for one in found.values())
    bound = min(best, max(one.lower_bound for one in found.values()))
    lines = [Line(preset, one.value, bound, best, promise(all_parts[preset], split, reading)) for preset, one in found.items()]
    n_tests = int(split.objects.n_tests)
    return Block(table, split.objects.n_objects, n_tests, split.theta, prices, READINGS[reading], seconds, lines)


def said(blocks: Sequence[Block]) -> str:
    """Per prices, reading and preset: the geometric mean ratio over the minima that are proven, and the largest."""
    rows = [f"{'':26} {'minima':>6} {'optimal':>7} {'mean ratio':>10} {'largest':>8} {'least bound of Theorem 1':>25}"]
    for prices, reading in dict.fromkeys((block.prices, block.reading) for block in blocks):
        of = [block for block in blocks if (block.prices, block.reading) == (prices, reading)]
        for k, preset in enumerate(PRESETS):
            lines = [block.lines[k] for block in of if block.lines[k].proven]
            ratios = [line.value / line.best for line in lines]
            mean = math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
            least = min((line.promised for line in lines), default=math.nan)
            promised = "–" if math.isnan(least) else f"{least:,.0f}"
            optimal = sum(line.value <= line.best for line in lines)
            rows.append(
                f"{prices + ', ' + reading:16} {preset:9} {len(lines):6} {optimal:7} {mean:10.3f} {max(ratios, default=math.nan):8.3f} "
                f"{promised:>25}"
            )
    return "\n".join(rows)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="of the data home; default: all in TABLES")
    parser.add_argument("--seconds", type=float, default=10.0, help="for a minimum (default 10)")
    parser.add_argument("--memory-mb", type=int, default=1500, help="for a minimum (default 1500)")
    parser.add_argument("--into", type=Path, help="folder of certified.csv; default: this one if all tables are done, else none")
    a = parser.parse_args(arguments)
    house, budget, blocks = RegistryHouse(load_registry()), Budget(a.seconds, a.memory_mb), []
    print(LEGEND)
    try:
        for name in a.tables or TABLES:
            split = lesson(house, name, 0)
            for prices in (UNIT, RANDOM):
                for reading in READINGS:
                    blocks.append(study(split, name, prices, reading, house, budget))
                    print(blocks[-1].text(), flush=True)
    except ArboretumError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("Where the minimum is proven: geometric mean and largest ratio\n")
    print(said(blocks))
    into = a.into or (None if a.tables else Path(__file__).parent)
    if into is not None:
        with (into / "certified.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([COLUMNS, *(cells for block in blocks for cells in block.cells())])
    return 0


if __name__ == "__main__":
    sys.exit(main())
