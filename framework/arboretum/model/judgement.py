"""What a reproduction says of a paper: numbers with their verdicts, sentences with theirs,
tables and pictures.
"""

from __future__ import annotations

import csv
import enum
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar, cast

import attrs

from arboretum.errors import ConfigError, ContractError, unknown
from arboretum.model.charts import Chart
from arboretum.model.plain import Facts, Key, Keyed, Plain


class Verdict(enum.Enum):
    """PASS, FAIL; KNOWN: explained by a reason whose prediction holds; OPEN: not shown.  FAIL
    alone sets the exit status.
    """

    PASS = "PASS"
    FAIL = "FAIL"
    KNOWN = "KNOWN"
    OPEN = "OPEN"


RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


def csv_text(rows: Iterable[Sequence[object]], *, inert: bool = True) -> str:
    """Return the rows, the headings first, as CSV text (RFC 4180, newline "\\n").

    inert : texts that a spreadsheet would run as formulas get a ' before them, numbers excepted.
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [map(_quote_formula, row) for row in rows] if inert else rows
    )
    return text.getvalue()


def _quote_formula(cell: object) -> object:
    """Return a cell that no spreadsheet takes for a formula: such text gets a quote."""
    if not isinstance(cell, str) or not cell.startswith(RUN_BY_SPREADSHEETS):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


@attrs.frozen
class Known:
    """A reason why a published number differs from ours; it counts only where that number lies
    between ``low`` and ``high``.

    source : what these are computed from, runs of ours or a text.

    Raises ContractError for a reason that could not be wrong.
    """

    reason: str
    low: float
    high: float
    source: str

    def __attrs_post_init__(self) -> None:
        """Raise ContractError for a reason without source or prediction."""
        if not (self.reason and self.source and -math.inf < self.low <= self.high < math.inf):
            raise ContractError(
                "a known difference needs a reason, a source, and finite low ≤ high that it "
                f"predicts; got {self}"
            )

    def explains(self, published: float) -> bool:
        """Return whether the prediction holds."""
        return self.low <= published <= self.high

    def __str__(self) -> str:
        return f"{self.reason}; predicts {self.low:.5g} to {self.high:.5g} ({self.source})"


@attrs.frozen
class Cell:
    """One published number beside ours, or one that an independent program computed.

    table, row, column : where the paper has it.
    error : standard error of ours − published.
    n : what ours is a mean of.
    reason : of a KNOWN difference, or one that was looked into in vain.
    aside : words beside the verdict.
    recomputed : the paper does not print ``published``, which follows from its text or data by a
        program that is not this one.
    """

    LIMIT = 4.0
    """A cell passes within so many standard errors of the difference."""

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
    recomputed: bool = False

    @property
    def deviation(self) -> float:
        """(ours − published) / error; 0 where both agree, ±∞ where they differ and no error is
        left.
        """
        difference = self.ours - self.published
        if difference == 0.0:
            return 0.0
        return difference / self.error if self.error > 0.0 else math.copysign(math.inf, difference)

    @staticmethod
    def judged(
        table: str,
        row: str,
        column: str,
        published: float,
        ours: float,
        error: float,
        *,
        n: int = 0,
        known: Known | None = None,
        aside: str = "",
        recomputed: bool = False,
    ) -> Cell:
        """PASS within :attr:`LIMIT` standard errors; beyond, KNOWN if the reason's prediction
        holds, else FAIL.

        known : a reason why the two differ, None without one.
        error, n, aside, recomputed : as of the cell.
        """
        verdict, reason = Verdict.PASS, ""
        if not abs(ours - published) <= Cell.LIMIT * error:
            verdict = Verdict.KNOWN if known and known.explains(published) else Verdict.FAIL
            failed = "no explanation: " * (verdict is Verdict.FAIL)
            reason = f"{failed}{known}, published is {published:.5g}" if known else ""
        return Cell(
            table,
            row,
            column,
            published,
            ours,
            error,
            verdict=verdict,
            n=n,
            reason=reason,
            aside=aside,
            recomputed=recomputed,
        )


@attrs.frozen
class Claim:
    """A sentence of the paper, whether it holds here, and by what.

    reason : of a KNOWN difference.
    """

    sentence: str
    verdict: Verdict
    evidence: str
    reason: str = ""

    @staticmethod
    def judged(sentence: str, holds: bool | None, evidence: str, reason: str = "") -> Claim:
        """The claim of a sentence that holds, does not, or (None) is not shown.

        reason : why it does not; kept where it does not.
        """
        verdict = {
            None: Verdict.OPEN,
            True: Verdict.PASS,
            False: Verdict.KNOWN if reason else Verdict.FAIL,
        }[holds]
        return Claim(sentence, verdict, evidence, reason if holds is False else "")


@attrs.frozen
class Chapter:
    """What a tracker keeps as one run below the reproduction's own.

    name : as listed.
    settings : parameters.
    metrics : flat name → number.
    files : artifact name → text; the pictures of the judgement that are named in ``pictures`` are
        added.
    """

    name: str
    settings: Plain
    metrics: Mapping[str, float]
    files: Mapping[str, str] = attrs.field(factory=dict)
    pictures: Sequence[str] = ()


def summarise(cells: Sequence[Cell]) -> dict[str, float]:
    """Metrics: the number of cells by verdict, and the largest deviation that is finite; none
    without cells.
    """
    counts = {
        f"cells_{verdict.value}": float(sum(cell.verdict is verdict for cell in cells))
        for verdict in Verdict
    }
    finite = [d for cell in cells if math.isfinite(d := abs(cell.deviation))]
    return {**counts, **({"largest_deviation": max(finite)} if finite else {})} if cells else {}


@attrs.frozen
class Judgement:
    """Everything that is known after the work; cells and claims in the order of the paper.

    tables : "name.csv" → text.   pictures : name without ending → a chart, or an SVG text.
    chapters : runs for the tracker.   notes : sentences for the reader.
    """

    cells: Sequence[Cell] = ()
    claims: Sequence[Claim] = ()
    tables: Mapping[str, str] = attrs.field(factory=dict)
    pictures: Mapping[str, Chart | str] = attrs.field(factory=dict)
    chapters: Sequence[Chapter] = ()
    notes: Sequence[str] = ()

    @staticmethod
    def of_chapter(
        name: str,
        settings: Plain,
        metrics: Mapping[str, float],
        *,
        cells: Sequence[Cell] = (),
        claims: Sequence[Claim] = (),
        tables: Mapping[str, str] | None = None,
        pictures: Mapping[str, Chart | str] | None = None,
        notes: Sequence[str] = (),
    ) -> Judgement:
        """Return one chapter with what belongs to it; how its cells fare is added to the
        metrics.

        tables, pictures : as of the judgement; None: none.   cells, claims, notes : its own.
        """
        chapter = Chapter(
            name, settings, {**metrics, **summarise(cells)}, tables or {}, tuple(pictures or ())
        )
        return Judgement(cells, claims, tables or {}, pictures or {}, [chapter], notes)

    @staticmethod
    def joined(parts: Sequence[Judgement]) -> Judgement:
        """Return what was judged one after the other, as one."""
        listed: Facts = {
            name: [one for part in parts for one in getattr(part, name)]
            for name in ("cells", "claims", "chapters", "notes")
        }
        mapped: Facts = {
            name: {key: v for part in parts for key, v in getattr(part, name).items()}
            for name in ("tables", "pictures")
        }
        return Judgement(**listed, **mapped) if parts else Judgement()

    def count(self, verdict: Verdict) -> int:
        """Return how many cells and claims have this verdict."""
        judged: list[Cell | Claim] = [*self.cells, *self.claims]
        return sum(item.verdict is verdict for item in judged)

    @property
    def verdict(self) -> Verdict:
        """FAIL if anything fails, else KNOWN if anything differs for a known reason, else PASS;
        OPEN if nothing is shown.
        """
        return next(
            (v for v in (Verdict.FAIL, Verdict.KNOWN, Verdict.PASS, Verdict.OPEN) if self.count(v)),
            Verdict.PASS,
        )


class Chaptered:
    """Base of reproductions whose work falls into chapters, each with pieces and a judgement of
    its own.
    """

    kind = "reproduction"
    capabilities = ()
    modules: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Chapters whose module has another name, with that name."""
    chapters: tuple[str, ...]
    datasets: tuple[str, ...]

    @staticmethod
    def listed(values: str | Iterable[str]) -> tuple[str, ...]:
        """Converter of a field that holds words; a word alone is one of them."""
        return (values,) if isinstance(values, str) else tuple(values)

    def refuse_unknown(self, **known: Iterable[str]) -> None:
        """Raise ConfigError where a field names none of the words known for it, or no word at all
        although it has some by default.
        """
        for field, words in known.items():
            given = getattr(self, field)
            for value in given:
                if value not in words:
                    raise ConfigError(
                        f"reproduction.{field}: "
                        + unknown(field.removesuffix("s"), str(value), words)
                    )
            if not given and self._default(field):
                raise ConfigError(
                    f"reproduction.{field} must name at least one of {', '.join(words)}"
                )

    def wants(self, dataset: str) -> bool:
        """Return whether it is one of those to study; none named: all."""
        return not self.datasets or dataset in self.datasets

    def parts(self) -> Plain:
        """Chapter → ``pieces(paper)``, paper being ``self``, a list; ``work(key, seed, services)``;
        and ``judge(results)`` of its own results.

        By default the modules beside the study's own that ``chapters`` names, in the order of its
        default.  A key that names no ``chapter`` is of the first one.
        """
        home, other = type(self).__module__.rpartition(".")[0], dict(self.modules)
        return {
            name: import_module(f"{home}.{other.get(name, name)}")
            for name in self._default("chapters")
            if name in self.chapters
        }

    def _default(self, field: str) -> tuple[str, ...]:
        study = cast(type[attrs.AttrsInstance], type(self))
        return cast(tuple[str, ...], attrs.fields_dict(study)[field].default)

    def pieces(self, fraction: float) -> Sequence[Any]:
        """Of every chapter ``fraction``, its cheapest, and at least one; all cheapest first.
        Raises ConfigError where the fields leave none.
        """
        found = []
        for part in self.parts().values():
            own = sorted(part.pieces(self), key=lambda piece: piece.cost)
            found += own[: max(1, round(fraction * len(own)))]
        if not found:
            raise ConfigError(
                f"nothing to do: these fields leave no piece of {', '.join(self.parts())}; "
                "choose others"
            )
        return sorted(found, key=lambda piece: piece.cost)

    def work(self, key: Key, seed: int, services: object) -> object:
        """Return what the chapter of the piece does."""
        parts = self.parts()
        return parts[key.get("chapter", next(iter(parts)))].work(key, seed, services)

    def judge(self, results: Keyed) -> Judgement:
        """Return what the chapters with results say, one after the other."""
        parts = self.parts()
        own: dict[str, list[tuple[Plain, object]]] = {name: [] for name in parts}
        for key, result in results:
            own[key.get("chapter", next(iter(parts)))].append((key, result))
        return Judgement.joined(
            [part.judge(own[name]) for name, part in parts.items() if own[name]]
        )
