"""A record in a notebook: a small table, and the tree."""

from __future__ import annotations

from html import escape

from arboretum.model.record import Record
from arboretum.report.table import spell_cell


def record_html(record: Record) -> str:
    """An HTML fragment: what was run, the few numbers to look at first, what is proven, notes, and the tree as SVG."""
    rows = [(name.replace("_", " "), spell_cell(value)) for name, value in record.highlights.items()]
    if record.solution is not None:
        rows += [(name, spell_cell(getattr(record.solution, name))) for name in ("value", "lower_bound", "gap")]
        rows.append(("status", record.solution.status.value))
    rows += [("fit", f"{record.timings['fit']:.3g} s")] if "fit" in record.timings else []
    rows += [("seed", str(record.seed)), ("verified", "yes" if record.verified else "no")]
    rows += [("note", note) for note in record.notes]
    body = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in rows
    )
    table = f"<table><caption>{escape(record.title)}</caption><tbody>{body}</tbody></table>"
    picture = "" if record.tree is None else record.tree.to_svg(title=record.title or None)
    return f"<div>{table}{picture}</div>"
