"""What the documentation site says stays true of the code."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from arboretum.plugin.discovery import load_registry

DOCS = Path(__file__).resolve().parents[2] / "docs"
NAMED = re.compile(r"([^\W\d_]+)(?:,| &| et al\.| (?:19|20)\d\d)[^;]*?((?:19|20)\d\d)")


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()


def test_the_picture_of_the_start_page_is_what_its_five_lines_grow(reading):
    block = next(b for b in reading.blocks_of(DOCS / "index.md") if b.language == "python")
    assert len(block.text.splitlines()) == 5
    names: dict = {}
    exec(block.text, names)
    shown = (DOCS / "site" / "static" / "start.svg").read_text(encoding="utf-8")
    assert names["tree"].tree_.to_svg() == shown


def test_the_bibliography_has_the_paper_of_every_component():
    entries = re.split(r"\n(?=@)", _plain((DOCS / "papers" / "references.bib").read_text("utf-8")))
    registry = load_registry()
    papers = {one.paper for one in (*registry.entries(), *registry.presets())}
    named = {
        (found[0], year)
        for paper in papers
        if "lecture" not in paper
        for found in [re.findall(r"[^\W\d_]{3,}", paper.removeprefix("van der "))]
        for year in re.findall(r"\b(?:19|20)\d\d\b", paper)[:1]
    }
    assert len(named) > 20
    missing = [
        (author, year)
        for author, year in sorted(named)
        if not any(_plain(author) in one and f"year={{{year}}}" in one for one in entries)
    ]
    assert missing == []


def test_the_gallery_has_fifteen_pictures():
    examples = sorted((DOCS / "gallery").glob("plot_*.py"))
    assert len(examples) == 15
    drawing = re.compile(r"\.svg\"\)\.write_text\(|plt\.subplots")
    assert [e.name for e in examples if not drawing.search(e.read_text("utf-8"))] == []
