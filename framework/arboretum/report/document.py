"""A document (sections of sentences, tables, pictures) as text, Markdown, LaTeX and CSV."""

import math
import textwrap
from collections.abc import Mapping, Sequence

from arboretum.model.document import Cell, Document, Estimate, Listing
from arboretum.model.plain import Facts
from arboretum.report.table import csv_table, markdown_table, spell_cell, spell_means, text_table
from arboretum.report.text import display_width

BEST = "*"
MOST_ROWS = 12
"""Rows of a table that text shows; files hold all."""
LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "±": r"$\pm$",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "÷": r"$\div$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "χ": r"$\chi$",
    "λ": r"$\lambda$",
    "θ": r"$\theta$",
    "²": r"$^2$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
"""Characters that LaTeX reads as commands or has no letter for → how they are written."""


def text_of(document: Document, width: int | None = None, most: int = MOST_ROWS) -> str:
    """Return it as text for a terminal; pictures are left out.

    width : columns; None: tables are not cut, sentences have 100.
    most : rows of a table.
    """
    lines = [document.title, "═" * min(len(document.title), width or 100)]
    room = width or 100
    lines += [line for sentence in document.sentences for line in wrapped(sentence, room)]
    for chapter in document.chapters:
        lines += ["", "", chapter.title, "─" * min(len(chapter.title), room)]
        lines += [line for sentence in chapter.sentences for line in wrapped(sentence, room)]
        for section in chapter.sections:
            lines += ["", section.title] if section.title else []
            for sentence in section.sentences:
                lines += wrapped(sentence, room, "  ")
            for listing in section.tables:
                lines += ["", *wrapped(f"{listing.caption}:", room, "  ")]
                shown = list(listing.rows)[:most]
                lines += [f"  {line}" for line in _fitting(shown, listing, room - 2)]
                if len(listing.rows) > len(shown):
                    lines.append(f"  … {len(listing.rows) - len(shown)} rows more")
            for note in section.notes:
                lines += wrapped(note, room, "  ")
    return "\n".join(lines).rstrip() + "\n"


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Return the lines of a sentence, all of them indented."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _fitting(rows: Sequence[Mapping[str, Cell]], listing: Listing, room: int) -> list[str]:
    """Return the lines of a table; where estimates would be cut, without their errors."""
    for errors in (True, False):
        cells = _aligned(rows, listing, errors=errors)
        lines = text_table(cells, listing.columns, width=None).splitlines()
        if max(map(display_width, lines)) <= room:
            return lines
    return text_table(cells, listing.columns, width=room).splitlines()


def _aligned(
    rows: Sequence[Mapping[str, Cell]], listing: Listing, *, errors: bool = True
) -> list[Facts]:
    """Return rows with estimates as text, the signs of a column under each other, and a mark at the
    best of each row.

    errors : also those.
    """
    found: list[Facts] = [dict(row) for row in rows]
    for name in listing.columns:
        cells = [row.get(name) for row in rows]
        if not any(isinstance(cell, Estimate) for cell in cells):
            continue
        pairs = [
            (cell.value, cell.error if errors else math.nan)
            if isinstance(cell, Estimate)
            else (math.nan if cell is None or isinstance(cell, str) else float(cell), math.nan)
            for cell in cells
        ]
        for row, cell, text in zip(found, cells, spell_means(pairs), strict=True):
            marked = isinstance(cell, Estimate) and cell.best
            row[name] = cell if isinstance(cell, str) else text and f"{text} {BEST * marked}"
    return found


def markdown_of(document: Document) -> str:
    """Return it as Markdown, with links to the pictures' files beside it ("NAME.svg")."""
    lines = [f"# {document.title}", "", *_paragraphs(document.sentences)]
    for chapter in document.chapters:
        lines += [f"## {chapter.title}", "", *_paragraphs(chapter.sentences)]
        for section in chapter.sections:
            lines += [f"### {section.title}", ""] if section.title else []
            lines += _paragraphs(section.sentences)
            for listing in section.tables:
                lines += [f"{listing.caption}:", "", markdown_listing(listing)]
            for name, chart in section.pictures.items():
                lines += [f"![{chart.title}]({name}.svg)", ""]
            lines += _paragraphs(section.notes)
    return "\n".join(lines).rstrip() + "\n"


def _paragraphs(sentences: Sequence[str]) -> list[str]:
    return [line for sentence in sentences for line in (sentence, "")]


def markdown_listing(listing: Listing) -> str:
    """Return a table in Markdown, the best of a row in bold."""
    rows = [
        {
            name: _spelled(cell, "**", "**") if isinstance(cell, Estimate) else cell
            for name, cell in row.items()
        }
        for row in listing.rows
    ]
    return markdown_table(rows, listing.columns)


def _spelled(cell: Estimate, before: str, after: str, sign: str = " ± ") -> str | None:
    """Return "0.05 ± 0.01", between marks where it is the best; None for no value."""
    if math.isnan(cell.value):
        return None
    error = "" if math.isnan(cell.error) else f"{sign}{spell_cell(cell.error)}"
    text = f"{spell_cell(cell.value)}{error}"
    return f"{before}{text}{after}" if cell.best else text


def csv_listing(listing: Listing) -> str:
    """Return a table as CSV, numbers in full; a standard error has a column of its own."""
    headings: dict[str, str] = {}
    for name, title in listing.columns.items():
        headings[name] = title
        if any(isinstance(row.get(name), Estimate) for row in listing.rows):
            headings[f"{name}\0error"] = f"{title} standard error"
    rows: list[Facts] = []
    for row in listing.rows:
        plain: Facts = {}
        for name, cell in row.items():
            plain[name] = cell.value if isinstance(cell, Estimate) else cell
            plain[f"{name}\0error"] = cell.error if isinstance(cell, Estimate) else None
        rows.append(plain)
    return csv_table(rows, headings)


def latex_listing(listing: Listing) -> str:
    """Return a table in LaTeX, which needs the package booktabs and no other."""
    columns = listing.columns
    right = [
        any(cell is not None for cell in cells)
        and all(cell is None or not isinstance(cell, str | bool) for cell in cells)
        for cells in ([row.get(name) for row in listing.rows] for name in columns)
    ]
    body = [
        " & ".join(_latex_cell(row.get(name)) for name in columns) + r" \\" for row in listing.rows
    ]
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{latex(listing.caption)}}}\label{{tab:{listing.name}}}",
            rf"  \begin{{tabular}}{{{''.join('r' if number else 'l' for number in right)}}}",
            r"    \toprule",
            f"    {' & '.join(latex(title) for title in columns.values())} \\\\",
            r"    \midrule",
            *(f"    {line}" for line in body),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _latex_cell(cell: Cell) -> str:
    if isinstance(cell, Estimate):
        text = _spelled(cell, r"\textbf{", "}", r" $\pm$ ")
        return "--" if text is None else text
    return latex(spell_cell(cell))


def latex(text: str) -> str:
    """Return a text as LaTeX prints it."""
    return "".join(LATEX.get(sign, sign) for sign in text)


def latex_of(document: Document) -> str:
    """Return all tables in LaTeX, one after the other."""
    head = f"% {' '.join(document.title.split())}\n% needs \\usepackage{{booktabs}}\n\n"
    return head + "\n".join(map(latex_listing, document.tables))


def csv_of(document: Document) -> str:
    """Return all tables as CSV, each under a line with its caption, blank lines between."""
    return "\n".join(f"# {one.caption}\n{csv_listing(one)}" for one in document.tables)
