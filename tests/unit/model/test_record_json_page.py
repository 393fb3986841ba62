"""The page on record.json names every key that is written, and shows a record that is one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arboretum.model.record import Record

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "record-json.md"


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def example(page: str) -> str:
    return page.split("```json\n")[1].split("```")[0]


def test_the_example_is_a_record_and_is_written_as_shown(page):
    assert json.loads(Record.from_json(example(page)).to_json()) == json.loads(example(page))


def test_every_key_has_a_line(page):
    written = json.loads(Record.from_json(example(page)).to_json())
    one = written["certificate"]["complexities"]["depth"]
    for key in (*written, *one):
        assert f"| `{key}` |" in page
    assert set(written["certificate"]) == {"certifier", "leaf_rule", "complexities"}


@pytest.mark.parametrize("word", ["exact", "at most", "undefined", "unknown"])
def test_every_meaning_of_a_ratio_is_told(page, word):
    line = next(line for line in page.splitlines() if line.startswith("| `ratio_is` |"))
    assert f"`{word}`" in line
