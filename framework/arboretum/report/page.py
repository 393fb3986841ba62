"""A document as one HTML page that needs no other file: tables that sort, pictures inside, readable
by eye, by ear, on paper and in the dark.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template

from arboretum import __version__
from arboretum.model.charts import Chart
from arboretum.model.document import Cell, Chapter, Document, Estimate, Listing, Section
from arboretum.model.shown import visible
from arboretum.report.charts import chart_svg
from arboretum.report.table import spell_cell

TEMPLATE = Path(__file__).with_name("page.html")
MOST_ROWS = 500
"""Rows of a table on the page; its CSV file holds all."""


def page_of(document: Document, pictures: Mapping[str, str] | None = None) -> str:
    """Return the page.

    pictures : file name without ending → SVG text, where they are drawn already.

    Raises DataError for a chart whose axes cannot show it.
    """
    drawn = pictures or {name: chart_svg(chart) for name, chart in document.pictures.items()}
    contents = "".join(
        f'<li><a href="#chapter-{k}">{_text(chapter.title)}</a></li>'
        for k, chapter in enumerate(document.chapters)
    )
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=_text(document.title),
        opening=_paragraphs(document.sentences),
        contents=contents,
        chapters="\n".join(
            _chapter(chapter, k, drawn) for k, chapter in enumerate(document.chapters)
        ),
        version=_text(__version__),
    )


def _text(text: str) -> str:
    return escape(visible(text))


def _paragraphs(sentences: Sequence[str], look: str = "") -> str:
    style = f' class="{look}"' if look else ""
    return "\n".join(f"<p{style}>{_text(sentence)}</p>" for sentence in sentences)


def _chapter(chapter: Chapter, number: int, drawn: Mapping[str, str]) -> str:
    name = f"chapter-{number}"
    inner = "\n".join(_section(section, drawn) for section in chapter.sections)
    return (
        f'<section aria-labelledby="{name}">\n<h2 id="{name}">{_text(chapter.title)}</h2>\n'
        f"{_paragraphs(chapter.sentences)}\n{inner}\n</section>"
    )


def _section(section: Section, drawn: Mapping[str, str]) -> str:
    parts = [f"<h3>{_text(section.title)}</h3>"] if section.title else []
    parts.append(_paragraphs(section.sentences))
    parts += [_figure(name, chart, drawn[name]) for name, chart in section.pictures.items()]
    parts += [f'<figure tabindex="0">{svg}</figure>' for svg in section.drawings]
    parts += map(_table, section.tables)
    parts.append(_paragraphs(section.notes, "note"))
    return "\n".join(filter(None, parts))


def _figure(name: str, chart: Chart, svg: str) -> str:
    """A picture inside the page, without what matplotlib says of its file; names within it get the
    picture's, so that no two are alike.
    """
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    seen: Counter[str] = Counter()

    def numbered(found: re.Match[str]) -> str:
        """A name that a picture has several times, such as that of its bars, with its number."""
        seen[found[1]] += 1
        return found[0] if seen[found[1]] == 1 else f'id="{found[1]}-{seen[found[1]]}"'

    svg = re.sub(r'\bid="([^"]*)"', numbered, svg)
    label = escape(chart.title, quote=True)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    return f"<figure>{svg}</figure>"


def _table(listing: Listing) -> str:
    columns, rows = listing.columns, listing.rows[:MOST_ROWS]
    numeric = {
        name
        for name in columns
        if any(isinstance(row.get(name), Estimate | int | float) for row in rows)
        and not any(isinstance(row.get(name), str | bool) for row in rows)
    }
    head = "".join(
        f'<th scope="col"{_look(name in numeric)}><button type="button">{_text(title)}</button>'
        "</th>"
        for name, title in columns.items()
    )
    body = "\n".join(
        "<tr>"
        + "".join(
            _cell(row.get(name), name in numeric, first=k == 0) for k, name in enumerate(columns)
        )
        + "</tr>"
        for row in rows
    )
    more = (
        f" (the first {len(rows)} of {len(listing.rows)} rows)"
        if len(rows) < len(listing.rows)
        else ""
    )
    caption = f"{_text(listing.caption)}{more}"
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption}"><table>'
        f"<caption>{caption}</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _look(numeric: bool, best: bool = False) -> str:
    words = " ".join(["n"] * numeric + ["best"] * best)
    return f' class="{words}"' if words else ""


def _cell(cell: Cell, numeric: bool, *, first: bool) -> str:
    """One cell; the first of a row is its heading.  What it is sorted by stands beside it where
    the text is no number.
    """
    value, best = cell, False
    text = spell_cell(cell) if not isinstance(cell, Estimate) else ""
    if isinstance(cell, Estimate):
        value, best = cell.value, cell.best
        text = spell_cell(cell.value)
        if not math.isnan(cell.error) and not math.isnan(cell.value):
            text += f" ± {spell_cell(cell.error)}"
    known = isinstance(value, int | float) and not isinstance(value, bool)
    number = repr(value).replace("inf", "Infinity")  # as scripts read it
    data = f' data-value="{number}"' if known and not math.isnan(float(value or 0)) else ""
    look = _look(numeric, best)
    if first:
        return f'<th scope="row"{look}{data}>{_text(text)}</th>'
    return f"<td{look}{data}>{_text(text)}</td>"
