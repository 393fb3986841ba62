"""Discovery of plugins and presets: what is found, what is broken, what is read anew."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from arboretum.api import PluginError
from arboretum.plugin.discovery import import_file, load_registry
from arboretum.plugin.registry import Owner

OWNER = Owner("shop")


# -- discovery -------------------------------------------------------------------------------------


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module and returns its entry point."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name: str, source: str) -> EntryPoint:
        (tmp_path / f"{name}.py").write_text(source)
        return EntryPoint(name, name, "arboretum")

    return write


GOOD = """
import attrs
from arboretum.api import hookimpl

@attrs.frozen
class Good:
    kind, name, paper, capabilities = "cost", "good", "", ()

    def price_list(self, objects, seed): ...

@hookimpl
def arboretum_components():
    return [Good]
"""


@pytest.mark.parametrize(
    ("name", "source", "reason"),
    [
        ("raises", "raise ValueError('no')", "does not import: ValueError: no"),
        ("leaves", "import sys; sys.exit(3)", "does not import: SystemExit: 3"),
        ("typo", "def arboretum_component(): ...", "arboretum_component"),
        (
            "raising_hook",
            GOOD.replace("return [Good]", "return 1 / 0"),
            r"arboretum_components\(\) raised ZeroDivisionError",
        ),
        ("wrong_class", GOOD.replace('"cost"', '"kost"'), "kind is 'kost'"),
    ],
)
def test_a_broken_plugin_is_named_and_the_rest_keeps_working(name, source, reason, module):
    import re

    if name == "typo":
        source = (
            "import pluggy\nhookimpl = pluggy.HookimplMarker('arboretum')\n@hookimpl\n" + source
        )
    registry = load_registry(
        entry_points=[module(f"broken_{name}", source), module("good_one", GOOD)]
    )
    assert registry.names("cost") == ["good"]
    assert [failure.plugin for failure in registry.failures] == [f"broken_{name}"]
    assert re.search(reason, registry.failures[0].reason), registry.failures[0].reason
    assert "\n" not in registry.failures[0].reason


def test_a_plugin_can_be_left_out_by_the_environment(module, monkeypatch):
    monkeypatch.setenv("ARBORETUM_DISABLE", "good_two, another")
    assert load_registry(entry_points=[module("good_two", GOOD)]).names("cost") == []


def test_a_one_file_plugin_keeps_its_module_name_and_is_imported_once(tmp_path):
    file = tmp_path / "my idea.py"
    file.write_text(GOOD.replace('"good"', '"mine"'))
    registry = load_registry([file], entry_points=[])
    cls = registry.get("cost", "mine").cls
    assert import_file(file).Good is cls
    assert load_registry([file], entry_points=[]).get("cost", "mine").cls is cls
    assert registry.owners[0].path == str(file)


def test_a_plugin_loaded_twice_is_named_in_one_short_line(module, tmp_path):
    point = module("good_six", GOOD)
    registry = load_registry(entry_points=[point, point])
    assert registry.names("cost") == ["good"]
    (failure,) = registry.failures
    assert (
        failure.reason
        == f"a plugin of that name is loaded already ({tmp_path / 'good_six.py'}); rename one "
        "entry point, or uninstall one"
    )
    again = EntryPoint("good_seven", "good_six", "arboretum")
    (failure,) = load_registry(entry_points=[point, again]).failures
    assert {failure.plugin, *failure.reason.split()} >= {
        "good_six",
        "good_seven",
    } or "good_seven" in failure.reason
    assert "keep one of the two entry points" in failure.reason
    file = tmp_path / "there" / "good_six.py"
    file.parent.mkdir()
    file.write_text(GOOD)
    with pytest.raises(
        PluginError,
        match=f"plugin good_six: a plugin of that name is loaded already .*; rename {file}",
    ):
        load_registry([file], entry_points=[point])


@pytest.mark.parametrize(
    ("stated", "rule"),
    [
        (
            'kind, name = "criterium", "x"',
            "plugin near: Near.kind is 'criterium'; did you mean 'criterion'?",
        ),
        ('kind = "cost"', 'plugin near: Near states no name; add name = "…", the word after cost='),
        ('name = "x"', 'plugin near: Near states no kind; add kind = "cost"'),
        ("paper = ''", 'plugin near: Near states no kind; add kind = "cost"'),
        (
            'kind, name, capabilities = "cost", "x", ("flying",)',
            "'flying' is not a valid Capability",
        ),
    ],
)
def test_a_one_file_plugin_that_comes_near_is_told_what_it_lacks(stated, rule, tmp_path):
    file = tmp_path / "near.py"
    file.write_text(
        GOOD.split("@hookimpl")[0]
        .replace('kind, name, paper, capabilities = "cost", "good", "", ()', stated)
        .replace("Good", "Near")
    )
    with pytest.raises(PluginError, match=rule):
        load_registry([file], entry_points=[])


def test_a_one_file_plugin_needs_no_hook(tmp_path):
    file = tmp_path / "bare.py"
    file.write_text(GOOD.split("@hookimpl")[0].replace('"good"', '"bare"'))
    assert load_registry([file], entry_points=[]).names("cost") == ["bare"]


# -- presets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("defaults: [greedy@method]\nx: 1\n", "holds a list 'defaults' and no values"),
        ("defaults: []\n", "no recipe; expected a line '- NAME@method'"),
        ("defaults: [greedy@method, criterion: x]\n", "expected 'override /GROUP: OPTION'"),
        (
            "defaults:\n- greedy@method\n- override /criteria: x\n",
            "expected 'override /GROUP: OPTION'",
        ),
        (
            "defaults:\n- greedy@method\n- override /criterion: [a, b]\n",
            "criterion takes one option, not a list",
        ),
        ("a: [", "while parsing"),
    ],
)
def test_a_preset_that_is_none_is_refused_with_its_file_and_the_rule(text, rule, tmp_path):
    from arboretum.plugin.discovery import read_preset

    file = tmp_path / "method" / "mine.yaml"
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(PluginError, match="plugin shop: preset method/mine.yaml: ") as caught:
        read_preset(file, OWNER)
    assert rule in str(caught.value) and "\n" not in str(caught.value)


def test_a_preset_states_recipe_selection_summary_and_paper(tmp_path):
    from arboretum.plugin.discovery import read_preset

    (tmp_path / "method").mkdir()
    (tmp_path / "method" / "mine.yaml").write_text(
        "# @package _global_\n# My method.  paper: me2020\ndefaults:\n- greedy@method\n- "
        "override /stopping: [pure]\n- override /cost: unit\n"
    )
    preset = read_preset(tmp_path / "method" / "mine.yaml", OWNER)
    assert (preset.kind, preset.name, preset.recipe, preset.paper) == (
        "method",
        "mine",
        "greedy",
        "me2020",
    )
    assert (
        preset.select == {"stopping": ("pure",), "cost": "unit"} and preset.summary == "My method."
    )


def test_a_file_that_was_edited_is_read_anew_and_no_byte_code_is_left_beside_it(tmp_path):
    """An edit of the same length within the same second is invisible to Python's cache of byte
    code.
    """
    file = tmp_path / "idea.py"
    code = "from pathlib import Path; from arboretum.plugin.discovery import import_file; "
    code += f"print(import_file(Path({str(file)!r})).ANSWER)"
    answers = []
    for number in (1, 2):
        file.write_text(f"ANSWER = {number}\n")
        os.utime(file, (1_700_000_000, 1_700_000_000))
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
        )
        answers.append(done.stdout.strip())
    assert answers == ["1", "2"]
    assert [path.name for path in tmp_path.iterdir()] == ["idea.py"]
