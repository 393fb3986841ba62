"""The generated pages are those of the installed components."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import attrs

from arboretum.cli.new import FURTHER, plugin_files
from arboretum.plugin.discovery import load_registry

ROOT = Path(__file__).resolve().parents[2]


def _generator():
    spec = importlib.util.spec_from_file_location(
        "generate_reference", ROOT / "docs" / "reference" / "generate.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_of_components_is_up_to_date(examined_once):
    generator = _generator()
    expected = generator.render(generator.first_party(load_registry()))
    assert generator.PAGE.read_text(encoding="utf-8") == expected, "run: make docs"


def test_the_page_of_what_plugins_are_handed_is_up_to_date_and_names_every_field():
    from arboretum.kernels import KernelNode
    from arboretum.model.encoded import Node, Tables

    generator = _generator()
    text = generator.HANDED.read_text(encoding="utf-8")
    assert text == generator.handed(), "run: make docs"
    fields = [name for cls in (Node, Tables) for name in attrs.fields_dict(cls)] + list(
        KernelNode._fields
    )
    assert [
        name
        for name in fields
        if f"`{name}`" not in text and f"`{name}(" not in text and name != "impurity_of"
    ] == []


def test_the_pages_on_writing_a_component_show_what_the_command_writes(reading):
    pages = [page for page in reading.pages() if page.stem.startswith(("write-a", "export-a"))]
    shown = {
        block.file: block.text for page in pages for block in reading.blocks_of(page) if block.file
    }
    # pages that show more than the command writes
    trackers = ("my_tracker.py", "test_my_tracker.py")
    objectives = (
        "my_errors.py",
        "my_sums.py",
        "missed.py",
        "test_missed.py",
        "test_table_of_its_own.py",
    )
    further = [(kind, name) for kind, names in FURTHER.items() for name in names]
    for kind, name in further:
        written = plugin_files(f"my_{name}", f"my_{name}", kind, name)
        assert shown[f"my_{name}.py"] == written[f"my_{name}/{kind}.py"], (kind, name)
    rest = ("my_tests.py", "my_tuner.py", "my_solver.py", "test_my_solver.py", "payments.csv")
    for each in (*rest, *objectives, *trackers):
        del shown[each]
    kinds = [name.removeprefix("my_").removesuffix(".py") for name in shown]
    assert sorted(kinds) == sorted(
        (
            "impurity",
            "stopping",
            "cost",
            "complexity",
            "coverage",
            "encoder",
            "pruner",
            "export",
            "comparison",
            "measure",
            "missing",
            "objective",
            "rows",
        )
    )
    for kind in kinds:
        assert (
            shown[f"my_{kind}.py"]
            == plugin_files(f"my_{kind}", f"my_{kind}", kind)[f"my_{kind}/{kind}.py"]
        ), kind


def test_every_first_party_component_and_preset_has_an_anchor():
    generator = _generator()
    registry = generator.first_party(load_registry())
    text = generator.PAGE.read_text(encoding="utf-8")
    names = [(entry.kind, entry.name) for entry in (*registry.entries(), *registry.presets())]
    assert len(names) > 20
    assert [name for name in names if f'<a id="{name[0]}-{name[1]}"></a>' not in text] == []


def test_a_component_of_somebody_else_does_not_get_into_our_pages(tmp_path):
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        'import attrs\n@attrs.frozen\nclass Mine:\n    """Nobody\'s criterion."""\n'
        '    kind, name, paper, capabilities = "criterion", "nobodys", "", ()\n'
        "    def score(self, tables, node): ...\n"
    )
    generator = _generator()
    registry = load_registry([plugin])
    assert "nobodys" in registry.names("criterion")
    assert "nobodys" not in generator.first_party(registry).names("criterion")
