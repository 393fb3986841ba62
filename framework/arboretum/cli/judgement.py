"""A judgement as text: every published number beside ours, 80 to 120 columns wide; the verdict comes last."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from arboretum.cli import terminal
from arboretum.cli.terminal import paragraph
from arboretum.model.judgement import Cell, Claim, Judgement, Verdict
from arboretum.runs.verdict import VerdictFacts

MOST_CELLS = 15
"""Cells that do not pass, on a page: what a page takes is limited, and the whole text lies beside it."""
MEANING = {Verdict.KNOWN: " (explained)", Verdict.OPEN: " (not shown)"}
HEADER = ("", "", "published", "ours", "std. error", "deviation", "verdict", "")


def judgement_text(facts: VerdictFacts, *, brief: bool = False) -> str:
    """The whole text.   brief : of the cells only those that do not pass."""
    judged, summary = facts.judgement, facts.facts
    scaled = "" if summary["fraction"] == 1.0 else f", fraction {summary['fraction']:g}"
    blocks = [paragraph(f"{summary['name']}: {summary['paper']}{scaled}", "")]
    for table, cells in groupby(judged.cells, key=lambda cell: cell.table):
        shown = [cell for cell in cells if not brief or cell.verdict is not Verdict.PASS]
        if shown:
            blocks.append(cell_table(table, shown))
    if judged.claims:
        blocks.append("\n".join(["claims", *(_claim(claim) for claim in judged.claims)]))
    reasons = dict.fromkeys(f"{cell.table}, {cell.row} {cell.column}: {cell.reason}" for cell in judged.cells if cell.reason)
    if reasons:
        blocks.append("\n".join(["differences and their reasons", *(paragraph(reason, "  ") for reason in reasons)]))
    if judged.notes:
        blocks.append("\n".join(paragraph(note, "") for note in judged.notes))
    blocks.append("\n".join(paragraph(line, "") for line in counts_and_verdict(judged)))
    return "\n\n".join(blocks)


def judgement_note(facts: VerdictFacts) -> str:
    """Markdown for a page of its own: the verdict first, then what does not simply pass."""
    judged = facts.judgement
    *counts, verdict = counts_and_verdict(judged)
    blocks = [f"**{verdict}**", "\n".join(f"- {line}" for line in counts), f"{facts.facts['paper']}."]
    missed = [cell for cell in judged.cells if cell.verdict is not Verdict.PASS]
    for table, cells in groupby(missed[:MOST_CELLS], key=lambda cell: cell.table):
        blocks.append(f"```\n{cell_table(table, list(cells))}\n```")
    if len(missed) > MOST_CELLS:
        blocks.append(f"… and {len(missed) - MOST_CELLS} more that do not pass.")
    blocks += [
        f"- {claim.verdict.value}: {claim.sentence}. {claim.evidence}{f'. Known: {claim.reason}' if claim.reason else ''}"
        for claim in judged.claims
    ]
    blocks.append("Every number is in the artifacts verdict.txt and cells.csv.")
    return "\n\n".join(block for block in blocks if block)


def cell_table(table: str, cells: Sequence[Cell]) -> str:
    """One table of the paper; a row's name stands once."""
    rows, last = [], None
    for cell in cells:
        name = cell.row if cell.row != last else ""
        last = cell.row
        numbers = (*(f"{x:.6f}" for x in (cell.published, cell.ours, cell.error)), f"{cell.deviation:+.2f}")
        rows.append((f"  {name}", cell.column, *numbers, cell.verdict.value, cell.aside))
    shown = len(HEADER) - (not any(cell.aside for cell in cells))
    return f"{table}\n" + terminal.columns([row[:shown] for row in rows], HEADER[:shown], right=(2, 3, 4, 5))


def counts_and_verdict(judged: Judgement) -> list[str]:
    """Counts, the largest deviation, and the verdict."""
    if not judged.cells and not judged.claims:
        return ["nothing can be judged yet: no piece is finished, or the fraction is too small"]
    lines = []
    if judged.cells:
        far = max(judged.cells, key=lambda cell: abs(cell.deviation))
        lines.append(
            f"{len(judged.cells)} cell{'s' * (len(judged.cells) > 1)}: {_counts(judged.cells)}; largest deviation "
            f"{abs(far.deviation):.2f} standard errors ({far.table}, {far.row} {far.column})"
        )
    if judged.claims:
        lines.append(f"{len(judged.claims)} claim{'s' * (len(judged.claims) > 1)}: {_counts(judged.claims)}")
    return [*lines, f"verdict: {judged.verdict.value}"]


def _counts(judged: Sequence[Cell | Claim]) -> str:
    return ", ".join(f"{n} {v.value}{MEANING.get(v, '')}" for v in Verdict if (n := sum(one.verdict is v for one in judged)))


def _claim(claim: Claim) -> str:
    lines = [paragraph(f"{claim.verdict.value:<5} {claim.sentence}", "  ", "        "), paragraph(claim.evidence, "        ")]
    return "\n".join([*lines, *([paragraph(f"known: {claim.reason}", "        ")] if claim.reason else [])])
