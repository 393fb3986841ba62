"""What messages advise exists: every ``group=option`` and ``group.field`` in a text of the code
is one of the registry.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import arboretum
from arboretum.interfaces.component import KINDS, MANY
from arboretum.plugin.build import fields_of
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import Registry

ROOT = Path(arboretum.__file__).parents[2]
GROUP = "|".join(kind for kind in KINDS if kind != "dataset")
NAME = r"[a-z][a-z0-9_]*(?![\w.(=:…])"
CHOICE = re.compile(rf"(?<![\w.\[])({GROUP})=(\[?{NAME}(?:(?:, {NAME})* or {NAME}(?=[,;.)\]]|$))?)")
FIELD = re.compile(rf"(?<![\w.\[/])({GROUP})((?:\.[a-z_]+)+)=")
WORDS = {"none", "true", "false"}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


@cache
def texts(path: Path) -> list[str]:
    """The texts of a module that are no docstrings, formatted ones in their constant parts."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told
    ]


def sources() -> list[Path]:
    return [
        path
        for room in ("framework", "plugins")
        for path in sorted((ROOT / room).rglob("*.py"))
        if "tests" not in path.parts
    ]


def test_every_option_in_a_message_is_installed(registry):
    wrong, read = [], 0
    for path in sources():
        for text in texts(path):
            for kind, names in CHOICE.findall(text):
                advised = re.split(r",? or |, ", names.strip("[]"))
                read += len(advised)
                wrong += [
                    f"{path.relative_to(ROOT)}: {kind}={name}"
                    for name in advised
                    if name not in {*registry.names(kind), *WORDS}
                ]
    assert read > 20 and not wrong


def test_every_field_in_a_message_exists(registry):
    known = {kind: {e.name: fields_of(e.cls) for e in registry.entries(kind)} for kind in KINDS}
    wrong, read = [], 0
    for path in sources():
        for text in texts(path):
            for kind, names in FIELD.findall(text):
                read += 1
                one, *rest = names[1:].split(".")
                found = (
                    known[kind].get(one, {})
                    if kind in MANY and rest
                    else {name for each in known[kind].values() for name in each}
                )
                if (rest[0] if kind in MANY and rest else one) not in found:
                    wrong.append(f"{path.relative_to(ROOT)}: {kind}{names}")
    assert read > 20 and not wrong


def test_a_name_that_is_not_installed_is_found():
    assert CHOICE.findall("use encoder=multiway, thresholds or onehot") == [
        ("encoder", "multiway, thresholds or onehot")
    ]
    assert CHOICE.findall("; choose cost=table or unit") == [("cost", "table or unit")]
    assert FIELD.findall("set stopping.standard.max_depths=3") == [
        ("stopping", ".standard.max_depths")
    ]
