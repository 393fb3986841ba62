"""``arboretum lint KIND.NAME``: which axioms an impurity or a coverage satisfies, whether it
declares them, and which theorems follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from arboretum.cli import terminal
from arboretum.cli.plugins import load_installed
from arboretum.cli.terminal import Parser, aligned, paragraph
from arboretum.errors import ConfigError, unknown
from arboretum.plugin.assemble import read_assignment
from arboretum.plugin.build import build
from arboretum.plugin.registry import Entry, Registry

if TYPE_CHECKING:
    from arboretum.engine.lint import Lint

DESCRIPTION = """\
Try the axioms of impurities and coverages on all small sets of objects and on random ones (seeded:
the same every time), and print the smallest counterexample.  Without names: one table of all that
are installed.
Exit status 0: nothing that a component declares was found false; 1: something was."""
FOUND = {True: "holds", False: "broken", None: "–"}
MARKS = {True: "●", False: "✗", None: "–"}


def main(argv: list[str]) -> int:
    """Print what was found; status 1 where a component declares what is not so."""
    parser = Parser("lint", DESCRIPTION, plugin="a one-file plugin, too")
    parser.add_argument(
        "words",
        nargs="*",
        metavar="KIND.NAME | FIELD=VALUE",
        help="as in impurity.entropy; fields of the one that is named",
    )
    arguments = parser.parse_intermixed_args(argv)
    registry = load_installed(arguments.plugin)
    from arboretum.engine.check import tasks_of
    from arboretum.engine.lint import KINDS, lint

    names = [word for word in arguments.words if "=" not in word]
    fields = dict(read_assignment(word) for word in arguments.words if "=" in word)
    if fields and len(names) != 1:
        raise ConfigError(
            f"{next(iter(fields))}=… is a field of one component; name one, as in arboretum "
            "lint impurity.NAME FIELD=VALUE"
        )
    entries = [entry_of(name, registry, KINDS) for name in names] or [
        entry for kind in KINDS for entry in registry.entries(kind)
    ]
    components = [build(entry, fields) for entry in entries]
    found = [
        lint(component, task)
        for component in components
        for task in tasks_of(component)[: None if hasattr(component, "for_objects") else 1]
    ]
    terminal.say(
        "\n\n".join(map(describe_lint, found))
        if names
        else "\n\n".join(filter(None, (overview(found, kind) for kind in KINDS)))
    )
    false = [sentence for each in found for sentence in each.false]
    for sentence in false:
        terminal.report(f"arboretum: error: {sentence}")
    return 1 if false else 0


def entry_of(text: str, registry: Registry, kinds: Sequence[str]) -> Entry:
    """The component KIND.NAME, or the one that a preset of that name stands for.

    kinds : those that have axioms.
    Raises ConfigError for another kind, and for an unknown name.
    """
    kind, _, name = text.partition(".")
    if kind not in kinds:
        raise ConfigError(f"{unknown('kind', kind, kinds)}; say KIND.NAME, as in impurity.entropy")
    if not name:
        raise ConfigError(
            f"{kind} which? say {kind}.NAME; known: "
            f"{', '.join(entry.name for entry in registry.entries(kind))}"
        )
    preset = registry.find_preset(kind, name)
    return registry.get(kind, preset.recipe if preset else name)


def describe_lint(lint: Lint) -> str:
    """One component: every axiom, every claim, every theorem."""
    component = lint.component
    lines = [
        paragraph(
            f"{component!r}: {component.kind} {component.name}, {lint.task.value}", rest="  "
        ),
        "",
        *_axiom_lines(lint),
    ]
    verdicts = {True: "true", False: "FALSE", None: "hint"}
    lines += [
        "",
        "declared",
        *(
            paragraph(claim.note, f"  {claim.name:13} {verdicts[claim.true]:6} ")
            for claim in lint.claims
        ),
    ]
    lines += ["", "theorems"]
    for theorem in lint.theorems:
        unmet = theorem.unmet(lint.found)
        lines.append(
            paragraph(
                f"{theorem.name}: "
                + (f"not known, as it is not {unmet[0]}" if unmet else theorem.then),
                f"  {MARKS[not unmet]} ",
                "    ",
            )
        )
    return "\n".join(lines)


def _axiom_lines(lint: Lint) -> list[str]:
    """A line per axiom, under a heading, and how far an impurity was tried."""
    from arboretum.engine.axioms import EXHAUSTIVE, LARGEST, TARGETS, TOLERANCE

    found = lint.found.values()
    names, tries = (
        max(map(len, column))
        for column in zip(
            *((each.axiom, each.tried) for each in found), ("axiom", "cases tried"), strict=True
        )
    )
    lines = [
        f"{'axiom':{names}}  found   {'cases tried':{tries}}  note",
        "─" * (names + tries + 16),
        *(
            paragraph(
                each.note or each.says,
                f"{each.axiom:{names}}  {FOUND[each.holds]:6}  {each.tried:{tries}}  ",
            )
            for each in found
        ),
    ]
    if lint.component.kind == "impurity":
        small = ", ".join(f"{most} of {k}" for k, most in EXHAUSTIVE.items())
        how = (
            f"tried: all cases of at most {small} classes + random ones, up to 10^{LARGEST} "
            "objects per class, half of them with fractional weights"
        )
        points = (
            f"; F(n0, n1, …): n objects each of the values {', '.join(f'{y:g}' for y in TARGETS)}"
            if lint.task.value == "regression"
            else ""
        )
        lines += [
            "",
            paragraph(
                f"{how}; {TOLERANCE:g} of the largest term counts as rounding{points}", rest="  "
            ),
        ]
    return lines


def overview(found: Sequence[Lint], kind: str) -> str:
    """All components of a kind against its axioms; "" where none is installed."""
    of_kind = [each for each in found if each.component.kind == kind]
    if not of_kind:
        return ""
    axioms = list(of_kind[0].found.values())
    rows = [
        (
            f"{each.component.name} ({each.task.value})",
            *(MARKS[finding.holds] for finding in each.found.values()),
        )
        for each in of_kind
    ]
    legend = [
        paragraph(f"{each.axiom}: {each.says}", f"{number:>2} ")
        for number, each in enumerate(axioms, 1)
    ]
    return "\n".join(
        [
            aligned(rows, (kind, *map(str, range(1, len(axioms) + 1)))),
            "",
            *legend,
            "",
            "● holds as far as tried, ✗ broken, – does not apply",
        ]
    )
