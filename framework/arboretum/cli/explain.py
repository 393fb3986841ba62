"""``arboretum explain KIND.NAME``: one component or preset, from its own declaration."""

from __future__ import annotations

import enum
import inspect
import typing
from typing import Any

from arboretum.cli import terminal
from arboretum.cli.example import command, missing_part, runs_anywhere
from arboretum.cli.plugins import installed, reference
from arboretum.cli.terminal import Parser, paragraph, paragraphs
from arboretum.engine.search.reasons import KINDS, way_of
from arboretum.errors import ConfigError, closest
from arboretum.interfaces.component import EVERY_KIND, MANY, STUDIES
from arboretum.plugin.build import default_of, field_types, fields_of
from arboretum.plugin.registry import Entry, Preset, Registry

DESCRIPTION = "One component: paper, meaning, parameters with type, default, unit and bounds, capabilities, owner."


def main(argv: list[str]) -> int:
    """Print what KIND.NAME is."""
    parser = Parser("explain", DESCRIPTION)
    parser.add_argument("component", metavar="KIND.NAME", help="as in criterion.reduction; KIND alone lists its options")
    parser.add_argument("--plugin", action="append", default=[], metavar="FILE", help="a one-file plugin, too")
    arguments = parser.parse_args(argv)
    terminal.say(explain(arguments.component, installed(arguments.plugin)))
    return 0


def explain(text: str, registry: Registry) -> str:
    """The text for KIND.NAME (or KIND, or a NAME that only one kind has); raises ConfigError with the closest match."""
    kind, _, name = text.partition(".")
    if not name and kind in EVERY_KIND:
        names = registry.names(kind)
        return f"{kind}: {EVERY_KIND[kind]}\n\n" + ("\n".join(f"  {kind}.{n}" for n in names) or "  none installed")
    if kind not in EVERY_KIND:
        owners = [k for k in EVERY_KIND if text in registry.names(k)]
        if len(owners) == 1:
            kind, name = owners[0], text
        else:
            every = [f"{k}.{n}" for k in EVERY_KIND for n in registry.names(k)]
            near = closest(text, [*every, *EVERY_KIND])
            hint = f"; did you mean {near!r}?" if near else ";"
            raise ConfigError(f"unknown component {text!r}{hint} say KIND.NAME, kinds: {', '.join(EVERY_KIND)}")
    preset = registry.find_preset(kind, name)
    return _preset(preset, registry) if preset is not None else _component(registry.get(kind, name), registry)


def _preset(preset: Preset, registry: Registry) -> str:
    rows = [(f"  {preset.kind}", preset.recipe)]
    rows += [(f"  {group}", ", ".join(o) if isinstance(o, tuple) else o) for group, o in preset.select.items()]
    lines = [f"{preset.kind}.{preset.name}: a preset", "", paragraph(preset.summary), "", *_paper(preset.paper), "selects:"]
    lines += [terminal.columns(rows), "", *_foot(preset.owner, preset, registry)]
    return "\n".join(lines)


def _component(entry: Entry, registry: Registry) -> str:
    doc = inspect.cleandoc(entry.cls.__doc__ or "(no description)")
    lines = [paragraph(f"{entry.kind}.{entry.name}: {EVERY_KIND[entry.kind]}", rest="  "), "", paragraphs(doc), "", *_paper(entry.paper)]
    prefix = "--" if entry.kind == "reproduction" else f"{entry.kind}.{entry.name}." if entry.kind in MANY else f"{entry.kind}."
    rows = [(prefix + row[0], *row[1:]) for row in (_field(f, entry) for f in fields_of(entry.cls).values())]
    lines += [_fields(rows) if rows else "no parameters", ""]
    declared = sorted(c.value for c in entry.capabilities)
    if declared or entry.kind not in STUDIES:
        words = ", ".join(declared) or "none declared (classification, any number of classes, weights)"
        lines.append(paragraph("capabilities: " + words, rest="  "))
    if entry.kind in KINDS:
        lines.append(paragraph(f"growth: {way_of(entry.kind, entry.cls())}", rest="  "))
    needs = getattr(entry.cls, "needs", ())
    if needs:
        lines.append(f"needs: {', '.join(needs)}")
    return "\n".join([*lines, *_foot(entry.owner, entry, registry)])


HEAD = ("parameter", "type", "default", "bounds", "unit", "meaning")


def _fields(rows: list[tuple[str, ...]]) -> str:
    """A table where it keeps to the width, else one paragraph per parameter."""
    table = terminal.columns(rows, HEAD)
    if max(map(len, table.splitlines())) <= terminal.width():
        return table
    lines = ["parameters"]
    for name, type_, default, bounds, unit, meaning in rows:
        words = [type_, *([bounds] if bounds not in ("–", type_) else []), *([f"in {unit}"] if unit != "–" else [])]
        lines.append(paragraph(f"{name}={default}  ({'; '.join(words)})", "  ", "      "))
        lines.append(paragraph(meaning, "      "))
    return "\n".join(lines)


def _field(field: Any, entry: Entry) -> tuple[str, ...]:
    meta, default = field.metadata, default_of(field)
    follows = f" (follows {meta['shared']})" if meta.get("shared") else ""
    shown = "null" if default is None else str(getattr(default, "name", default)) or '""'
    bounds = (meta.get("bounds") or "–").replace("one of ", "")
    kind = type_text(field_types(entry.cls)[field.alias])
    return field.alias, kind, shown, bounds, meta.get("unit") or "–", meta.get("doc", "") + follows


def type_text(wanted: Any) -> str:
    """A field's type for people: "int or null", "list of float", the names of an enumeration."""
    origin, arguments = typing.get_origin(wanted), [a for a in typing.get_args(wanted) if a is not ...]
    if wanted is type(None):
        return "null"
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        return " | ".join(member.name for member in wanted)
    if origin in (tuple, list):
        return "list of " + (type_text(arguments[0]) if arguments else "anything")
    if origin is dict or wanted is dict:
        return "{name: " + (type_text(arguments[1]) if len(arguments) == 2 else "value") + "}"
    if arguments:
        return " or ".join(type_text(argument) for argument in arguments)
    return {str: "text", bool: "true | false"}.get(wanted, getattr(wanted, "__name__", str(wanted)))


def _paper(paper: str) -> list[str]:
    return [paragraph(f"paper: {text}", rest="  "), ""] if (text := reference(paper)) else []


def _foot(owner: Any, item: Entry | Preset, registry: Registry) -> list[str]:
    brought = f" ({owner.distribution} {owner.version})".replace("  ", " ") if owner.distribution else ""
    text = command(item, registry)
    if text is None:
        text = f"– (needs a {missing_part(item, registry)}; none is installed)"
    elif not runs_anywhere(item):
        note = "(reads a file: one you name, one of the data home ARBORETUM_DATA, or one it fetches)"
        text += "\n" + paragraph(note, " " * 7)
    return [f"owner: {owner.plugin}{brought}", f"try:   {text}"]
