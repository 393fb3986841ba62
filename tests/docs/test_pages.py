"""Every code block of README and docs is executed, and what a page shows is what is printed."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PLUGIN_PAGES = sorted((ROOT / "plugins").glob("*/docs/*.md"))
LANGUAGES = {"bash", "python", "yaml", "toml", "json", "csv", "text", ""}
PARSERS = {
    "yaml": lambda text: list(yaml.safe_load_all(text)),
    "toml": tomllib.loads,
    "json": json.loads,
}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


FIRST = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
"""Pages that everybody reads; the others start the command some fifty times."""


@pytest.mark.parametrize(
    "page",
    [p if p in FIRST else pytest.param(p, marks=pytest.mark.slow) for p in PAGES + PLUGIN_PAGES],
    ids=_name,
)
def test_every_code_block_of(page, lab, reading, monkeypatch):
    monkeypatch.chdir(lab.folder)
    namespace: dict = {"__name__": f"page_{page.stem.replace('-', '_')}"}
    printed = None
    for block in reading.blocks_of(page):
        assert block.language in LANGUAGES, (
            f"{block.where}: say in tests/docs what to do with {block.language!r}"
        )
        if block.file:
            path = lab.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        if block.language == "bash" and not block.file:
            printed = _run(block, lab)
        elif block.language == "python" and not block.file:
            exec(compile(block.text, block.where, "exec"), namespace)  # our own page
        elif block.language in PARSERS:
            PARSERS[block.language](block.text)
        elif block.words == ("text", "output") and printed is not None:
            reading.assert_printed(block.text, printed, block.where)


def _run(block, lab) -> str | None:
    """What a bash block printed; None where another test runs it."""
    if "in=checkout" in block.words:
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        for line in block.text.splitlines():
            command = line.partition("#")[0].split()
            assert command[:1] == ["make"] and f"\n{command[1]}:" in makefile, (
                f"{block.where}: {line}"
            )
        return None
    done = lab.bash(block.text)
    if "fails" in block.words:
        assert done.returncode != 0, f"{block.where}: was to fail\n{done.stdout}"
        assert "Traceback" not in done.stdout, f"{block.where}\n{done.stdout}"
    else:
        assert done.returncode == 0, f"{block.where}\n{done.stdout}"
    return done.stdout


@pytest.mark.parametrize("page", PAGES + PLUGIN_PAGES, ids=_name)
def test_every_link_between_pages_leads_somewhere(page):
    broken = []
    for target in LINK.findall(
        re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    ):
        path = target.partition("#")[0]
        if path and "://" not in path and not (page.parent / path).exists():
            broken.append(target)
    assert broken == []


def test_every_page_can_be_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in reached or page.suffix != ".md" or not page.is_file():
            continue
        reached.add(page)
        links = LINK.findall(page.read_text(encoding="utf-8"))
        waiting += [
            page.parent / link.partition("#")[0]
            for link in links
            if "://" not in link and link.partition("#")[0]
        ]
    assert [_name(page) for page in PAGES + PLUGIN_PAGES if page.resolve() not in reached] == []
