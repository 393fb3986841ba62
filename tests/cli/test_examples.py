"""Every command that is printed as an example runs, and what is printed keeps to the width of
the terminal.
"""

from __future__ import annotations

import shlex

import attrs
import pytest

from arboretum.api import CapabilityError, Encoded
from arboretum.cli.plugins import command, runs_anywhere
from arboretum.config.compose import compose_and_resolve
from arboretum.engine import check
from arboretum.engine.in_parts import run_request
from arboretum.engine.run import Request
from arboretum.interfaces.component import STUDIES
from arboretum.plugin.assemble import assemble
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import Owner, Registry

pytestmark = pytest.mark.slow  # runs the example of every component

REGISTRY = load_registry()
ITEMS = [*REGISTRY.entries(), *REGISTRY.presets()]
PARTS = [item for item in ITEMS if item.kind != "dataset" and item.kind not in STUDIES]
SETS = [item for item in ITEMS if item.kind == "dataset"]


def words_of(item, here) -> list[str]:
    """The overrides of the printed command, with a file in place of the words in capitals."""
    words = shlex.split(command(item, REGISTRY))
    assert words[:2] == ["arboretum", "run"]
    (here / "rows.csv").write_text("a,b\n" + "".join(f"{i},{'xy'[i % 2]}\n" for i in range(40)))
    return [
        word.replace("=FILE", f"={here / 'rows.csv'}").replace("=COLUMN", "=b")
        for word in words[2:]
    ]


@pytest.mark.parametrize("item", PARTS, ids=lambda item: f"{item.kind}.{item.name}")
def test_the_example_of_every_part_runs(item, here):
    if command(item, REGISTRY) is None:
        needs = REGISTRY.get(item.kind, getattr(item, "recipe", item.name)).cls.needs
        assert any(not REGISTRY.names(group) for group in needs), (
            "all it needs is installed: there is an example"
        )
        return
    words = words_of(item, here)
    off = [] if item.kind == "tracker" else ["tracker=none"]
    _, resolved = compose_and_resolve([*words, *off], REGISTRY)
    try:
        assert run_request(Request(resolved.parts, 1, config=resolved.config)).verified
    except CapabilityError as error:
        if "; install it (" not in str(error):
            raise
        pytest.skip(str(error))  # a solver, or a row store, in an extra


@pytest.mark.parametrize("item", [s for s in SETS if runs_anywhere(s)], ids=lambda item: item.name)
def test_the_example_of_every_data_set_that_needs_no_file_loads_and_fits_the_default_method(
    item, here
):
    words = dict(word.split("=", 1) for word in words_of(item, here))
    parts = assemble(REGISTRY, {"dataset": words.pop("dataset"), "tracker": "none"}, words)
    check.check_parts(parts)
    check.check_table(parts, parts.dataset.load(1))


@pytest.mark.parametrize(
    "item", [s for s in SETS if not runs_anywhere(s)], ids=lambda item: item.name
)
def test_the_example_of_every_other_data_set_is_one_the_configuration_accepts(item, here):
    words = dict(word.split("=", 1) for word in words_of(item, here))
    parts = assemble(REGISTRY, {"dataset": words.pop("dataset"), "tracker": "none"}, words)
    check.check_parts(parts)
    if item.name == "file":
        check.check_table(parts, parts.dataset.load(1))


def test_a_component_that_needs_a_part_gets_one_in_its_example():
    @attrs.frozen
    class Solves:
        """A solver."""

        kind, name, paper, capabilities, needs = "solver", "solves", "", (), ("objective",)
        example = "dataset=wine method=exact solver.gap=0"
        gap: float = 0.0

        def solve(self, problem, context): ...

    @attrs.frozen
    class Goal:
        """An objective."""

        kind, name, paper, capabilities = "objective", "goal", "", ()

        def value(self, tree, objects: Encoded): ...

    registry = Registry()
    solver = registry.add(Solves, Owner("shop"))
    assert (
        command(solver, registry)
        == "arboretum run dataset=wine solver=solves method=exact solver.gap=0"
    )
    registry.add(Goal, Owner("shop"))
    assert command(solver, registry) == (
        "arboretum run dataset=wine solver=solves method=exact solver.gap=0 objective=goal"
    )


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_plugins_and_explain_keep_to_the_width_of_the_terminal(columns, call, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    # read anew it takes as long as all the rest
    monkeypatch.setattr("arboretum.cli.plugins.load_registry", lambda files: REGISTRY)
    texts = [
        call("plugins").out,
        *(call("explain", f"{i.kind}.{i.name}").out for i in (*PARTS, *SETS[:5], *SETS[-3:])),
    ]
    texts.append(call("explain", "dataset.file").out)
    long = [line for text in texts for line in text.splitlines() if len(line) > columns]
    commands = [line for line in long if "arboretum run" in line or "arboretum explain" in line]
    assert long == commands, "only a command, which is there to be copied, may be wider"
    assert columns < 80 or not [line for line in commands if len(line) > 140]
