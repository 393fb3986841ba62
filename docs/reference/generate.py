"""Write components.md from the registry and node-and-tables.md from the classes that plugins are
handed: ``make docs``.

A component's class is the only place that knows its name, paper, fields and capabilities; this page
is read off it, and a test fails when it is out of date.
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
import types
import typing
from pathlib import Path
from typing import Any

import attrs

from arboretum.api import GROUPS
from arboretum.config.resolve import Settings
from arboretum.engine.lint import KINDS as LINTED, lint
from arboretum.interfaces.component import EVERY_KIND, KINDS, MANY, Capability, summary_of
from arboretum.interfaces.contracts import REQUIRED
from arboretum.kernels.kernel_decorators import KernelNode
from arboretum.model.encoded import Encoded, Feature, Node, Prices, Tables
from arboretum.plugin.build import field_types
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import Entry, Preset, Registry
from arboretum.testing import MODULES, SUITES

PAGE = Path(__file__).with_name("components.md")
HANDED = PAGE.with_name("node-and-tables.md")
PLUGINS = PAGE.parents[2] / "plugins"
FIRST_PARTY = "arboretum"
MANY_ALIKE = 5
"""So many components with the same fields are listed in one table."""

HEAD = """\
# Components

Everything that is installed with Arboretum, by kind. This page is generated (`make docs`);
on your machine, `arboretum plugins` lists what *you* have installed, and
`arboretum explain KIND.NAME` prints one entry.

A kind is a group on the command line, a component is one of its options, a field is a parameter:
`arboretum run dataset=wine criterion=gain_ratio stopping.standard.max_depth=4`. Where one run
may hold several components of a kind ({many}), a field is written with the component's name in
between. A reproduction is no part of a run: its fields are options of
[`arboretum reproduce`](reproductions.md). Nor is an export, a form in which a tree
[leaves](../how-to/export-a-tree.md), nor a measure or a comparison,
what [`arboretum compare`](../how-to/compare-methods.md) compares many by, and a test of them.
"""


RUN = """\
## The run itself

Keys that belong to no component: `arboretum run dataset=wine seed=3 class_weight=balanced`.
"""

HANDED_HEAD = """\
# What a plugin is handed: `Node`, `Tables`, `KernelNode`

This page is generated (`make docs`) from the classes themselves; all but `KernelNode` (of
`arboretum.kernels`) are in `arboretum.api`. Arrays refuse to be written.

A criterion in NumPy form is asked `score(tables, node)`: every candidate test of one node at once.
In kernel form it is asked `score(weights, counts, price, extra, node)`: one test at a time, where
`weights` is `tables.weights[t]` and so on, and `node` is a `KernelNode`. Every test divides the
same node:

```python
import numpy as np
from arboretum.testing.oracles import contingency
from arboretum.testing.tables import toy_impurity, toy_objects, toy_table

objects = toy_objects(toy_table(0))
tables, node = contingency(objects, impurity=toy_impurity(objects.task))
n_tests, n_outcomes, n_classes = tables.weights.shape  # outcomes that a test does not have are zero
assert tables.counts.shape == tables.weights.shape
assert (n_tests, n_classes) == (tables.n_tests, objects.n_classes)
assert np.allclose(tables.weights.sum(axis=1), node.weights)
assert np.allclose(tables.mass.sum(axis=1), node.mass)
assert tables.price.shape == tables.test.shape == (tables.n_tests,)
decrease = node.impurity - (tables.mass * tables.impurity(tables.weights)).sum(axis=1) / node.mass
```
"""

IMPORTABLE = """\
## What a plugin may import

All of `arboretum.api`, by what you write. What stands under *inside* is for plugins of this
repository: it may change in any version. A name that leaves is found for one minor version more,
with a `DeprecationWarning` that says where it is."""

FIELD = re.compile(r"(?:^|(?<=   )|(?<=; ))([a-z_]+(?:, [a-z_]+)*) : ", re.MULTILINE)


def handed() -> str:
    """The page of the classes that methods of plugins receive."""
    return (
        "\n\n".join(
            [
                HANDED_HEAD.rstrip(),
                *(fields_of(cls) for cls in (Node, Tables, KernelNode, Encoded, Feature, Prices)),
                importable(),
            ]
        )
        + "\n"
    )


def importable() -> str:
    """What a plugin may import, by what its author writes."""
    rows = [
        f"| {kind} | {' '.join(f'`{name}`' for name in names.split())} |"
        for kind, names in GROUPS.items()
    ]
    return "\n".join([IMPORTABLE, "", "| for | names |", "|---|---|", *rows])


def fields_of(cls: type) -> str:
    """A class as its docstring tells it: summary, fields, and the properties and methods beside
    them.
    """
    summary, *told = FIELD.split(inspect.cleandoc(cls.__doc__ or ""))
    rows = [
        (", ".join(f"`{n}`" for n in names.split(", ")), text)
        for names, text in zip(told[::2], told[1::2], strict=True)
    ]
    for name, member in vars(cls).items():
        member = member.fget if isinstance(member, property) else member
        if not name.startswith("_") and inspect.isfunction(member) and member.__doc__:
            rows.append(
                (
                    f"`{name}`"
                    if isinstance(vars(cls)[name], property)
                    else f"`{name}{_call(member)}`",
                    inspect.cleandoc(member.__doc__),
                )
            )
    rows = [
        (name, re.sub(r":class:`[~.]?[a-z._]*([A-Z]\w*)`", r"`\1`", text)) for name, text in rows
    ]
    table = [f"| {name} | {cell(text)} |" for name, text in rows]
    return "\n".join([f"## {cls.__name__}", "", summary.strip(), "", "| | |", "|---|---|", *table])


def _call(method: Any) -> str:
    return "(" + ", ".join(list(inspect.signature(method).parameters)[1:]) + ")"


def first_party(registry: Registry) -> Registry:
    """The same registry without what others installed on this machine."""
    kept = Registry()
    for entry in registry.entries():
        if entry.owner.distribution == FIRST_PARTY:
            kept.add(entry.cls, entry.owner)
    for preset in registry.presets():
        if preset.owner.distribution == FIRST_PARTY:
            kept.put(preset)
    return kept


def render(registry: Registry) -> str:
    """The whole page."""
    many = ", ".join(f"`{kind}`" for kind in KINDS if kind in MANY)
    parts = [HEAD.format(many=many), RUN, "\n".join([*field_table(Settings), ""])]
    parts += [plugins(), matrix(registry)]
    parts.append(axioms(registry))
    parts += [section(registry, kind, question) for kind, question in EVERY_KIND.items()]
    return "\n".join(parts)


def plugins() -> str:
    """The first-party plugins and the pages they bring."""
    lines = ["## Plugins", "", "| plugin | what it brings | pages |", "|---|---|---|"]
    for folder in sorted(path.parent for path in PLUGINS.glob("*/plugin.py")):
        text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
        pages = [
            f"[{page.stem}](../../plugins/{folder.name}/docs/{page.name})"
            for page in sorted(folder.glob("docs/*.md"))
        ]
        summary = cell(summary_of(text).removeprefix("First-party plugin: "))
        lines.append(
            f"| `{folder.name}` | {summary[:1].upper()}{summary[1:]} | {', '.join(pages)} |"
        )
    return "\n".join(lines) + "\n"


def matrix(registry: Registry) -> str:
    """Components against what they say they can do."""
    entries = [entry for entry in registry.entries() if entry.capabilities]
    used = [c for c in Capability if any(c in entry.capabilities for entry in entries)]
    lines = [
        "## What copes with what",
        "",
        "A component that is not listed here makes no claim: where it judges objects, it",
    ]
    lines += [
        "handles classes, any number of them, and weights. The framework refuses "
        "combinations that nobody claims.",
        "",
    ]
    lines.append("| component | " + " | ".join(c.value for c in used) + " |")
    lines.append("|---|" + ":-:|" * len(used))
    for entry in entries:
        cells = ["●" if c in entry.capabilities else "" for c in used]
        lines.append(
            f"| [{entry.kind} {entry.name}](#{entry.kind}-{entry.name}) | "
            + " | ".join(cells)
            + " |"
        )
    return "\n".join(lines) + "\n"


def axioms(registry: Registry) -> str:
    """Impurities and coverages, with their defaults, against their axioms."""
    lines = [
        "## Who satisfies which axiom",
        "",
        "● no counterexample was found, ✗ there is one (`arboretum lint KIND.NAME` prints "
        "it), – does not apply.",
    ]
    for kind in LINTED:
        found = [lint(entry.cls()) for entry in registry.entries(kind)]
        names = list(found[0].found)
        lines += ["", f"| {kind} | " + " | ".join(names) + " |", "|---|" + ":-:|" * len(names)]
        for each in found:
            marks = (
                "●" if finding.holds else "–" if finding.holds is None else "✗"
                for finding in each.found.values()
            )
            lines.append(
                f"| [{each.component.name}](#{kind}-{each.component.name}) | "
                + " | ".join(marks)
                + " |"
            )
    return "\n".join(lines) + "\n"


def section(registry: Registry, kind: str, question: str) -> str:
    """One kind: its question, its components and presets."""
    contract = f"[contract](../../framework/{REQUIRED[kind].__module__.replace('.', '/')}.py)"
    suite = (
        "[conformance "
        f"suite](../../framework/arboretum/testing/suites/{MODULES.get(kind, kind)}.py) "
        f"`arboretum.testing.{SUITES[kind]}`"
    )
    lines = [
        f"## {kind}",
        "",
        f"*{question[0].upper()}{question[1:]}* Its {contract}, its {suite}.",
        "",
    ]
    entries, presets = list(registry.entries(kind)), list(registry.presets(kind))
    if not entries and not presets:
        return "\n".join([*lines, "Nothing of this kind is installed with Arboretum yet.", ""])
    alike: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        alike.setdefault(tuple(field_table(entry.cls)), []).append(entry)
    for table, group in alike.items():
        if len(group) >= MANY_ALIKE:
            lines += compact(group, table)
        else:
            for entry in group:
                lines += component(entry)
    for preset in presets:
        lines += recipe(preset)
    return "\n".join(lines)


def compact(group: list[Entry], table: tuple[str, ...]) -> list[str]:
    """Components with the same fields: one line each, the fields once."""
    lines = ["| name | what it is | paper |", "|---|---|---|"]
    for entry in group:
        row = (
            f'<a id="{entry.kind}-{entry.name}"></a>`{entry.name}`',
            cell(entry.summary),
            cell(entry.paper),
        )
        lines.append("| " + " | ".join(row) + " |")
    lines.append("")
    if table:
        lines += ["All of them have these fields:", "", *table, ""]
    return lines


def component(entry: Entry) -> list[str]:
    """Heading, meaning, paper, and a table of fields."""
    lines = [
        f'<a id="{entry.kind}-{entry.name}"></a>',
        f"### {entry.name}",
        "",
        cell(entry.summary),
        "",
    ]
    paper = f"Paper: {entry.paper}. " if entry.paper else ""
    lines += [f"{paper}Plugin: `{entry.owner.plugin}`.", ""]
    table = field_table(entry.cls)
    return [*lines, *table, ""] if table else lines


def field_table(cls: type) -> list[str]:
    """Name, type, default, rule and meaning of every field; empty without fields."""
    fields = [field for field in attrs.fields(cls) if field.init]
    if not fields:
        return []
    types_of = field_types(cls)
    lines = ["| field | type | default | rule | meaning |", "|---|---|---|---|---|"]
    for field in fields:
        unit = field.metadata.get("unit", "")
        meaning = field.metadata.get("doc", "") + (f" ({unit})" if unit else "")
        if field.metadata.get("shared"):
            meaning += f"; follows the top-level `{field.metadata['shared']}`"
        row = (
            f"`{field.alias}`",
            type_name(types_of[field.alias]),
            default(field),
            field.metadata.get("bounds", ""),
            meaning,
        )
        lines.append("| " + " | ".join(map(cell, row)) + " |")
    return lines


def recipe(preset: Preset) -> list[str]:
    """A preset: what it selects."""
    chosen = [
        f"{group}={'[' + ','.join(o) + ']' if isinstance(o, tuple) else o}"
        for group, o in preset.select.items()
    ]
    lines = [
        f'<a id="{preset.kind}-{preset.name}"></a>',
        f"### {preset.name} (preset)",
        "",
        cell(preset.summary),
        "",
    ]
    paper = f"Paper: {preset.paper}. " if preset.paper and preset.paper != "none" else ""
    lines += [
        f"{paper}Plugin: `{preset.owner.plugin}`. Stands for "
        f"`{' '.join([preset.kind + '=' + preset.recipe, *chosen])}`.",
        "",
    ]
    return lines


def cell(text: str) -> str:
    """Text that a table cell can hold."""
    return " ".join(str(text).replace("|", "\\|").replace("``", "`").split())


def default(field: Any) -> str:
    """How a field's default reads: code in Markdown, "none" for None, "empty" for an empty
    container.
    """
    value = field.default
    if isinstance(value, attrs.Factory):  # type: ignore[arg-type]
        value = value.factory()
    if isinstance(value, enum.Enum):
        return f"`{value.name}`"
    if value is None:
        return "none"
    return f"`{value!r}`" if value not in ("", (), [], {}) else "empty"


def type_name(wanted: Any) -> str:
    """How a type reads: "whole number or none", "list of text"."""
    words = {
        int: "whole number",
        float: "number",
        bool: "true or false",
        str: "text",
        type(None): "none",
        Any: "anything",
    }
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted in words:
        return words[wanted]
    if origin in (typing.Union, types.UnionType):
        return " or ".join(type_name(argument) for argument in arguments)
    if origin in (list, tuple):
        return f"list of {type_name(arguments[0])}" if arguments else "list"
    if origin is not None and arguments:
        return f"{type_name(arguments[0])} → {type_name(arguments[-1])}"
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        return " or ".join(f"`{member.name}`" for member in wanted)
    return getattr(wanted, "__name__", str(wanted))


if __name__ == "__main__":
    PAGE.write_text(render(first_party(load_registry())), encoding="utf-8")
    HANDED.write_text(handed(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
