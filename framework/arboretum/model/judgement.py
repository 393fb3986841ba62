"""What a reproduction says of a paper: numbers with their verdicts, sentences with theirs, tables and pictures."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from arboretum.errors import ContractError
from arboretum.model.charts import Chart
from arboretum.model.grid import Grid

LIMIT = 4.0
"""A cell passes within so many standard errors of the difference, unless its paper's page says otherwise."""


class Verdict(enum.Enum):
    """PASS, FAIL; KNOWN: explained by a reason whose prediction holds; OPEN: not shown.  FAIL alone sets the exit status."""

    PASS = "PASS"
    FAIL = "FAIL"
    KNOWN = "KNOWN"
    OPEN = "OPEN"


@attrs.frozen
class Known:
    """A reason why a published number differs from ours; it counts only where that number lies between ``low`` and ``high``.

    source : what these are computed from, runs of ours or a text.   Raises ContractError for a reason that could not be wrong.
    """

    reason: str
    low: float
    high: float
    source: str

    def __attrs_post_init__(self) -> None:
        if not (self.reason and self.source and -math.inf < self.low <= self.high < math.inf):
            raise ContractError(f"a known difference needs a reason, a source, and finite low ≤ high that it predicts; got {self}")

    def explains(self, published: float) -> bool:
        """Whether the prediction holds."""
        return self.low <= published <= self.high

    def __str__(self) -> str:
        return f"{self.reason}; predicts {self.low:.5g} to {self.high:.5g} ({self.source})"


@attrs.frozen
class Cell:
    """One published number beside ours.

    table, row, column : where the paper has it.   error : standard error of ours − published.   n : what ours is a mean of.
    reason : of a KNOWN difference, or one that was looked into in vain.   aside : words beside the verdict.
    """

    table: str
    row: str
    column: str
    published: float
    ours: float
    error: float
    verdict: Verdict
    n: int = 0
    reason: str = ""
    aside: str = ""

    @property
    def deviation(self) -> float:
        """(ours − published) / error; 0 where both agree, ±∞ where they differ and no error is left."""
        difference = self.ours - self.published
        if difference == 0.0:
            return 0.0
        return difference / self.error if self.error > 0.0 else math.copysign(math.inf, difference)

    @staticmethod
    def judged(
        table: str, row: str, column: str, published: float, ours: float, error: float,
        *, n: int = 0, limit: float = LIMIT, known: Known | None = None, aside: str = "",
    ) -> Cell:  # fmt: skip
        """PASS within ``limit`` standard errors; beyond, KNOWN if the reason's prediction holds, else FAIL."""
        if abs(ours - published) <= limit * error:
            return Cell(table, row, column, published, ours, error, Verdict.PASS, n, "", aside)
        verdict = Verdict.KNOWN if known and known.explains(published) else Verdict.FAIL
        failed = "no explanation: " * (verdict is Verdict.FAIL)
        reason = f"{failed}{known}, published is {published:.5g}" if known else ""
        return Cell(table, row, column, published, ours, error, verdict, n, reason, aside)


@attrs.frozen
class Claim:
    """A sentence of the paper, whether it holds here, and by what.   reason : of a KNOWN difference."""

    sentence: str
    verdict: Verdict
    evidence: str
    reason: str = ""


@attrs.frozen
class Chapter:
    """What a tracker keeps as one run below the reproduction's own.

    name : as listed.   settings : parameters.   metrics : flat name → number.   files : artifact name → text; the pictures of
    the judgement that are named in ``pictures`` are added.
    """

    name: str
    settings: Mapping[str, Any]
    metrics: Mapping[str, float]
    files: Mapping[str, str] = attrs.field(factory=dict)
    pictures: Sequence[str] = ()


@attrs.frozen
class Judgement:
    """Everything that is known after the work; cells and claims in the order of the paper.

    tables : "name.csv" → text.   pictures : name without ending → a grid that is drawn as a heat map, a chart, or an SVG text.
    chapters : runs for the tracker.   notes : sentences for the reader.
    """

    cells: Sequence[Cell] = ()
    claims: Sequence[Claim] = ()
    tables: Mapping[str, str] = attrs.field(factory=dict)
    pictures: Mapping[str, Grid | Chart | str] = attrs.field(factory=dict)
    chapters: Sequence[Chapter] = ()
    notes: Sequence[str] = ()

    def count(self, verdict: Verdict) -> int:
        """How many cells and claims have this verdict."""
        return sum(item.verdict is verdict for item in (*self.cells, *self.claims))

    @property
    def verdict(self) -> Verdict:
        """FAIL if anything fails, else KNOWN if anything differs for a known reason, else PASS; OPEN if nothing is shown."""
        return next((v for v in (Verdict.FAIL, Verdict.KNOWN, Verdict.PASS, Verdict.OPEN) if self.count(v)), Verdict.PASS)
