"""The page on tree.json names every key that is written, every type of test, and shows a tree
that is one.
"""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest

from arboretum.model import rules
from arboretum.model.tree import Tree

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "tree-json.md"
RULES = [
    rules.Threshold,
    rules.OrdinalThreshold,
    rules.Equals,
    rules.Values,
    rules.Bins,
    rules.Interval,
]


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def example(page: str) -> str:
    return page.split("```json\n")[1].split("```")[0]


def test_the_example_is_a_tree_and_is_written_as_shown(page):
    tree = Tree.from_json(example(page))
    assert tree.n_leaves == 2
    assert json.loads(tree.to_json()) == json.loads(example(page))


def test_every_key_has_a_line(page):
    for key in json.loads(Tree.from_json(example(page)).to_json()):
        assert f"| `{key}` |" in page


@pytest.mark.parametrize("cls", RULES)
def test_every_built_in_test_has_a_line_with_its_fields(page, cls):
    line = next(line for line in page.splitlines() if line.startswith(f"| `{cls.tag}` |"))
    for field in attrs.fields(cls):
        # how it is shown stands beside the rules
        assert field.name in ("column", "digits") or f"`{field.name}`" in line
