"""Paragraphs and tables that keep to the width of the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from arboretum.cli import terminal


def paragraph(text: str, first: str = "", rest: str | None = None) -> str:
    """Wrapped text.   first, rest : what the first line and the others begin with (``rest``: by default as wide in spaces)."""
    rest = " " * len(first) if rest is None else rest
    lines = textwrap.wrap(
        text, terminal.width(), initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )
    return "\n".join(lines) or first.rstrip()


def paragraphs(text: str, indent: str = "") -> str:
    """Paragraphs, wrapped one by one; lists and indented lines stay as they are where they fit."""
    blocks = []
    for block in text.split("\n\n"):
        lines = block.splitlines()
        plain = not any(line.startswith((" ", "*", "-")) for line in lines)
        blocks.append(paragraph(" ".join(lines), indent, indent) if plain else textwrap.indent(block, indent))
    return "\n\n".join(blocks)


def fits(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows as aligned columns keep to the width."""
    sizes = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return sum(sizes) + 2 * (len(sizes) - 1) <= terminal.width()
