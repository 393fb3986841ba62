"""What is said of a printed optimum, beside ours."""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import attrs

from arboretum.api import Cell, Known, Plain, Verdict
from arboretum_peers.paper.tables import Question

EXACT = 1e-9
"""Up to which numbers are the same that are printed with all their digits."""


class Word(enum.Enum):
    """What becomes of a printed optimum."""

    CONFIRMED = "confirmed"
    ROUNDING = "rounding"
    IMPROVED = "improved"
    REFUTED = "refuted"
    NOT_PROVEN = "not proven"
    TABLE_DIFFERS = "table differs"
    NOT_AT_HAND = "not at hand"


MEANING = {
    Word.CONFIRMED: "ours is proven, and the same",
    Word.ROUNDING: "ours is proven, and the same to the decimals that are printed",
    Word.IMPROVED: "printed as the best that was known when time ran out; ours is better",
    Word.REFUTED: "printed as an optimum, and it is none",
    Word.NOT_PROVEN: "ours is not proven within the budget",
    Word.TABLE_DIFFERS: "the table at hand has other rows or columns",
    Word.NOT_AT_HAND: "the table is not at hand",
}
SHOWN = {
    Word.CONFIRMED: Verdict.PASS,
    Word.ROUNDING: Verdict.PASS,
    Word.IMPROVED: Verdict.KNOWN,
    Word.REFUTED: Verdict.FAIL,
    Word.NOT_PROVEN: Verdict.OPEN,
}
UNITS = ("errors", "accuracy", "objective", "squared_error", "survival_error")
"""What is printed.  objective: accuracy − λ · splits."""


@lru_cache(maxsize=1)
def published() -> Plain:
    """Return ``published.json``.

    sources: name → paper, where it was read, decimals where they are fewer than the number has.
    nothing_found: paper → what was looked for in vain.
    tables: those at hand, by name (see :func:`.tables.load_table`), with the rows and columns that
        the source has.
    records: by source; ``proven`` is false where it was the best known when time ran out.
    """
    found: Plain = json.loads(
        Path(__file__).with_name("published.json").read_text(encoding="utf-8")
    )
    return found


@attrs.frozen
class Record:
    """A printed optimum.

    unit : one of UNITS.   decimals : that are printed; None: all there are.
    proven : printed as an optimum, not as the best known when time ran out.
    """

    source: str
    table: str
    question: Question
    unit: str
    printed: float
    decimals: int | None
    proven: bool

    @property
    def column(self) -> str:
        """What is asked, in words."""
        asked = self.question
        words = [] if asked.depth is None else [f"depth {asked.depth}"]
        words += [f"λ = {asked.lam:g}"] if asked.lam else []
        words += [f"{asked.least} rows per leaf"] if asked.least > 1 else []
        return f"{', '.join(words)}: {self.unit.replace('_', ' ')}"

    @property
    def tolerance(self) -> float:
        """Half a unit of the last decimal that is printed."""
        return EXACT if self.decimals is None else 0.5 * 10.0**-self.decimals + EXACT

    @property
    def grows(self) -> bool:
        """Whether more is better."""
        return self.unit in ("accuracy", "objective")

    def in_unit(self, value: float, rows: int) -> float:
        """Return errors / n + λ · leaves as the record prints it."""
        if self.unit == "errors":
            return value * rows
        return 1 - value + self.question.lam  # a tree has one leaf more than splits

    def judged(self, found: Plain) -> Word:
        """Return the word for what was found (see :func:`.tables.solve`)."""
        value, bound = (self.in_unit(found[name], found["rows"]) for name in ("value", "bound"))
        sign = -1.0 if self.grows else 1.0
        above = sign * (self.printed - value)  # by how much ours is better
        if found["proven"] and abs(above) <= EXACT * max(1.0, abs(value)):
            return Word.CONFIRMED
        if found["proven"] and self.decimals is not None and abs(above) <= self.tolerance:
            return Word.ROUNDING
        below = sign * (bound - self.printed)  # by how much it is better than can be
        if below > self.tolerance or (self.proven and above > self.tolerance):
            return Word.REFUTED
        if above > self.tolerance:
            return Word.IMPROVED
        return Word.NOT_PROVEN

    def cell(self, title: str, found: Plain) -> Cell:
        """Return the cell of a record that was looked into.   title : of its source."""
        word = self.judged(found)
        value, bound = (self.in_unit(found[name], found["rows"]) for name in ("value", "bound"))
        ours = round(value) if self.unit == "errors" else value
        aside = word.value if found["proven"] else f"{word.value}, bound {bound:.6g}"
        if word is Word.CONFIRMED:
            ours = self.printed  # but for the last bit
            aside += "" if self.proven else ", not proven there"
        ends = (0.0, bound) if self.grows else (bound, float(found["rows"]))
        known = Known(MEANING[Word.IMPROVED], *ends, "the bound that is proven here")
        cell = Cell.judged(
            title,
            self.table,
            self.column,
            self.printed,
            float(ours),
            self.tolerance / Cell.LIMIT if word is Word.ROUNDING else 0.0,
            n=1,
            known=known if word is Word.IMPROVED else None,
            aside=aside,
        )
        return cell if cell.verdict is SHOWN[word] else attrs.evolve(cell, verdict=SHOWN[word])


def records() -> Iterator[Record]:
    """Yield all printed optima, in the order of ``published.json``."""
    for source, described in published()["sources"].items():
        for one in published()["records"][source]:
            (unit,) = (unit for unit in UNITS if unit in one)
            question = Question(one.get("depth"), float(one.get("lam", 0)), one.get("least", 1))
            yield Record(
                source,
                one["table"],
                question,
                unit,
                float(one[unit]),
                described.get("decimals") if unit != "errors" else None,
                one.get("proven", True),
            )


def difference(table: Any, described: Plain) -> str:
    """Return in what a table differs from the one that a source describes, "" where in nothing."""
    here = {"rows": table.n_rows, "columns": len(table.columns)}
    return ", ".join(
        f"{here[name]:,} {name} here, {described[name]:,} there"
        for name in here
        if here[name] != described[name]
    )


def shown(number: float) -> str:
    """Return a number as it is written, "" where there is none."""
    return "" if math.isnan(number) else f"{number:.15g}"
