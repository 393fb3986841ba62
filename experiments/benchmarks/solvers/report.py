"""What is said of a race: a line per result, totals, contradictions, files."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from suites import Question

from arboretum.api import table

CLOSE = 1e-7
"""Half of the least difference of two objectives is more: tables have fewer than a million rows."""


@attrs.frozen
class Result:
    """seconds : of the fit.

    value : of its tree, counted again where ``counted``, else what it says.
    lower : no tree is below.
    memory : bytes by which its process has grown.
    own : bytes that it says it holds.
    first : value after a second.
    """

    question: Question
    who: str
    seconds: float | None = None
    value: float | None = None
    lower: float | None = None
    proven: bool = False
    errors: int | None = None
    leaves: int | None = None
    counted: bool = False
    note: str = ""
    memory: int | None = None
    own: int | None = None
    first: float | None = None
    subproblems: int | None = None

    def line(self) -> str:
        """As it is printed."""
        if self.seconds is None:
            return f"{self.question.name:32} {self.who:20} {'–':>10}   {self.note}"
        low = "?" if self.lower is None else f"{self.lower:.6f}"
        size = f"{self.errors} errors, {self.leaves} leaves" if self.counted else "not counted"
        known = "proven" if self.proven else f"open, bound {low}"
        grown = f"{(self.memory or 0) / 1e6:.0f} MB"
        value = f"{math.nan if self.value is None else self.value:.6f}"
        return (
            f"{self.question.name:32} {self.who:20} {self.seconds:10.5f} s {value} {size:24} "
            f"{known:22} {grown:>8} {self.note}".rstrip()
        )

    def row(self) -> dict[str, Any]:
        """As it is written."""
        shown = {
            name: getattr(self, name)
            for name in ("seconds", "value", "lower", "proven", "errors", "leaves")
        }
        grown = None if self.memory is None else self.memory / 1e6
        return {
            "problem": self.question.name,
            "who": self.who,
            **shown,
            "MB": grown,
            "after 1 s": self.first,
            "note": self.note,
        }


def mean(numbers: Sequence[float]) -> float:
    """Geometric mean."""
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def contradictions(results: Sequence[Result]) -> list[str]:
    """Who proves a bound above what another's tree has (integers, so ties are exact), and who
    contradicts itself.
    """
    found = [
        f"{one.question.name}: {one.who} {one.note}"
        for one in results
        if one.note.startswith("WRONG")
    ]
    for _, group in itertools.groupby(results, lambda one: one.question):
        known = [one for one in group if one.seconds is not None]
        trees = [one for one in known if one.counted]
        if not trees:
            trees = [one for one in known if one.value is not None]
        if trees:
            best = min(trees, key=lambda one: one.value)
            for one in known:
                if one.lower is not None and one.lower > best.value + CLOSE:
                    found.append(
                        f"{one.question.name}: {one.who} proves {one.lower:.6f}, but "
                        f"{best.who} has a tree of {best.value:.6f}"
                    )
                elif one.proven and one.value < best.value - CLOSE:
                    found.append(
                        f"{one.question.name}: {one.who} says {one.value:.6f} without a "
                        f"tree, the best tree has {best.value:.6f}"
                    )
    return found


Answers = Mapping[tuple[str, Question], Result]


def closing(
    results: Sequence[Result], contestants: Sequence[str], seconds: float
) -> tuple[str, list[str]]:
    """(totals, ratios and what contradicts what, as text; the contradictions)."""
    of = {(one.who, one.question): one for one in results}
    asked = list(dict.fromkeys(one.question for one in results))
    totals = _totals(of, asked, contestants, seconds)
    lines = ["", table.text_table(totals, width=None).rstrip("\n")]
    lines += _ratios_by_depth(of, asked, contestants)
    lines += _behind(of, asked, contestants)
    wrong = contradictions(results)
    agreed = (
        "no contradiction: every proven optimum is the value of every other proof, and no tree "
        "is below a bound"
    )
    lines += [f"CONTRADICTION: {text}" for text in wrong] or [agreed]
    return "\n".join(lines), wrong


def _totals(
    of: Answers, asked: Sequence[Question], contestants: Sequence[str], seconds: float
) -> list[dict[str, Any]]:
    """A row per contestant: what it proved, how fast, and how much slower than the first one."""
    totals, first = [], contestants[0]
    for who in contestants:
        ran = [of[who, q] for q in asked if not of[who, q].note.startswith("knows no")]
        if not ran:
            continue
        times = [one.seconds if one.proven else seconds for one in ran]
        row = {
            "who": who,
            "proven": f"{sum(one.proven for one in ran)} of {len(ran)}",
            "geometric mean s": mean(times),
        }
        peaks = [one.memory / 1e6 for one in ran if one.memory]
        row["most MB"] = max(peaks, default=math.nan)
        both = [
            (of[first, q], of[who, q]) for q in asked if of[first, q].proven and of[who, q].proven
        ]
        if who != first and both:
            ratios = sorted(theirs.seconds / mine.seconds for mine, theirs in both)
            row |= {
                "both prove": len(both),
                f"÷ {first}": mean(ratios),
                "least": ratios[0],
                "most": ratios[-1],
            }
            mine = [of[first, one.question] for one in ran]
            row["all of its, failures at the limit"] = mean(times) / mean(
                [one.seconds if one.proven else seconds for one in mine]
            )
        totals.append(row)
    return totals


def _ratios_by_depth(
    of: Answers, asked: Sequence[Question], contestants: Sequence[str]
) -> Iterator[str]:
    """By depth, how many times as fast as each other contestant the first one is."""
    first = contestants[0]
    for depth in sorted({q.depth for q in asked if q.depth is not None}):
        for who in contestants[1:]:
            pairs = [(of[first, q], of[who, q]) for q in asked if q.depth == depth]
            ratios = [
                theirs.seconds / mine.seconds
                for mine, theirs in pairs
                if mine.proven and theirs.proven
            ]
            if ratios:
                on = f"on {len(ratios)} that both prove (least {min(ratios):.2f})"
                yield f"depth {depth}: {first} {mean(ratios):.2f} times as fast as {who} {on}"


def _behind(of: Answers, asked: Sequence[Question], contestants: Sequence[str]) -> Iterator[str]:
    """Where the first contestant is behind: trees worse than another's, open gaps, and trees that
    after a second are worse than another's at its end.
    """
    mine = [of[contestants[0], q] for q in asked]
    pairs = [
        (one, other)
        for one in mine
        for who in contestants[1:]
        if (other := of[who, one.question]).value is not None
    ]
    for one, other in pairs:
        if one.value is not None and one.value > other.value + CLOSE:
            who = f"{one.who} {one.value:.6f}, {other.who} {other.value:.6f}"
            yield f"worse: {one.question.name}: {who}"
    for one in mine:
        if not one.proven and one.value is not None:
            yield f"open: {one.question.name}: [{one.lower or 0.0:.4f}, {one.value:.4f}]"
    for one, other in pairs:
        if not one.proven and one.first is not None and one.first > other.value + CLOSE:
            who = f"{one.who} {one.first:.6f}, {other.who} at its end {other.value:.6f}"
            yield f"after 1 s: {one.question.name}: {who}"


def write(folder: Path, suite: str, results: Sequence[Result], text: str) -> None:
    """SUITE.csv, a row per result, and SUITE.md, the table and what was said at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [one.row() for one in results]
    (folder / f"{suite}.csv").write_text(table.csv_table(rows), encoding="utf-8")
    page = f"# {suite}\n\n```text{text}\n```\n\n{table.markdown_table(rows)}"
    (folder / f"{suite}.md").write_text(page, encoding="utf-8")
