"""``arboretum plugins``: what is installed, as a bibliography; light enough to answer at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from arboretum.cli import terminal
from arboretum.cli.example import command, runs_anywhere
from arboretum.cli.terminal import Parser, paragraph
from arboretum.errors import ConfigError, unknown
from arboretum.interfaces.component import EVERY_KIND, STUDIES
from arboretum.plugin.assemble import DEFAULT_CHOICES
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import Entry, Preset, Registry

DESCRIPTION = """\
What is installed: papers first (year, authors, what they bring, one command each), then every component by kind.
arboretum explain KIND.NAME tells more of one."""


def main(argv: list[str]) -> int:
    """Print the bibliography; status 1 when a plugin could not be loaded and --strict is given."""
    parser = Parser("plugins", DESCRIPTION)
    parser.add_argument("kind", nargs="?", metavar="KIND", help="only components of this kind")
    parser.add_argument("--plugin", action="append", default=[], metavar="FILE", help="a one-file plugin, too")
    parser.add_argument("--names", action="store_true", help="one KIND.NAME per line, for scripts")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 when a plugin does not load")
    arguments = parser.parse_args(argv)
    if arguments.kind is not None and arguments.kind not in EVERY_KIND:
        raise ConfigError(unknown("kind", arguments.kind, EVERY_KIND))
    registry = installed(arguments.plugin)
    kinds = [arguments.kind] if arguments.kind else list(EVERY_KIND)
    if arguments.names:
        terminal.say("\n".join(f"{kind}.{name}" for kind in kinds for name in registry.names(kind)))
    else:
        terminal.say(bibliography(registry, kinds))
    return 1 if arguments.strict and registry.failures else 0


def installed(files: Sequence[str] = ()) -> Registry:
    """The registry with the given one-file plugins; what could not be loaded is told in a warning each."""
    registry = load_registry(plugin_files(files))
    for failure in registry.failures:
        terminal.warn(f"plugin {failure.plugin} is left out: {failure.reason}")
    return registry


def plugin_files(given: Sequence[str]) -> list[str]:
    """One-file plugins as absolute paths; a file that is named twice is one."""
    return list(dict.fromkeys(str(Path(file).expanduser().resolve()) for file in given))


def bibliography(registry: Registry, kinds: list[str]) -> str:
    """The whole text."""
    owners = ", ".join(f"{owner.plugin} {owner.version}".strip() for owner in registry.owners)
    blocks = [paragraph(f"plugins: {owners}", rest="  ")]
    if len(kinds) > 1 and (papers := _papers(registry)):
        blocks.append("papers\n" + papers)
    return "\n\n".join([*blocks, *(_kind(kind, registry) for kind in kinds if registry.names(kind))])


def _papers(registry: Registry) -> str:
    """Year and authors, what of it is installed, and a command that uses it; oldest first."""
    found: dict[tuple[str, str], list[Entry | Preset]] = {}
    for item in (*registry.entries(), *registry.presets()):
        if paper := reference(item.paper):
            year = re.search(r"\b(1[89]\d\d|20\d\d)\b", paper)
            authors = paper[: year.start()] if year else paper
            found.setdefault((year[1] if year else "–", authors.split(":")[0].strip(" ,(;:")), []).append(item)
    blocks = []
    for (year, authors), items in sorted(found.items()):  # "–" sorts after the digits
        blocks.append(paragraph(authors, f"  {year}  "))
        blocks.append(paragraph(_brought(items), " " * 8))
        blocks.append(" " * 8 + _command_of(items, registry))
    return "\n".join(blocks)


def _command_of(items: list[Entry | Preset], registry: Registry) -> str:
    """The command for a paper: rather a method than a part, and one that needs neither file nor network."""
    runnable = [item for item in items if runs_anywhere(item) and command(item, registry)]
    if not runnable:
        return f"arboretum explain {items[0].kind}.{items[0].name}"
    # the whole study, then a recipe; a data set only if need be
    best = max(runnable, key=lambda i: (i.kind in STUDIES, i.kind != "dataset", isinstance(i, Preset), i.kind == "method"))
    return command(best, registry) or ""


def _brought(items: list[Entry | Preset]) -> str:
    """What of a paper is installed; its data sets only by number."""
    names = [f"{item.kind}.{item.name}" for item in items if item.kind != "dataset"]
    data = [item for item in items if item.kind == "dataset"]
    if len(data) == 1:
        names.append(f"dataset.{data[0].name}")
    elif data:
        names.append(f"{len(data)} data sets ({data[0].name}, …)")
    return ", ".join(names)


def reference(paper: str) -> str:
    """A paper as stated by a component; "" for none.  Compact keys ("breiman1984") read as authors and year."""
    text = paper.strip()
    if text.lower() in ("", "none"):
        return ""
    found = re.fullmatch(r"([a-z_]+?)_?(\d{4})", text)
    if found:
        return f"{found[1].replace('_', ' & ').title()} {found[2]}"
    return text.replace("_", " & ").title() if re.fullmatch(r"[a-z]+(_[a-z]+)*", text) else text


def _kind(kind: str, registry: Registry) -> str:
    entries, presets = list(registry.entries(kind)), list(registry.presets(kind))
    chosen = DEFAULT_CHOICES.get(kind, "")
    head = paragraph(f"{kind}: {EVERY_KIND[kind]}" + (f" (default {_listed(chosen)})" if chosen not in ("", (), "none") else ""), rest="  ")
    if len(entries) > 24:  # data sets by the dozen: names only
        return head + "\n" + paragraph(", ".join(entry.name for entry in entries), "  ")
    room = max(len(name) for name in registry.names(kind)) + 4
    rows = [(p.name, f"= {p.recipe} with {_selection(p)}", "preset", p.owner) for p in presets]
    rows += [(e.name, e.summary, ", ".join(sorted(c.value for c in e.capabilities)), e.owner) for e in entries]
    lines = [head]
    for name, summary, declared, owner in rows:
        lines.append(paragraph(summary or "–", f"  {name}".ljust(room)))
        lines.append(paragraph(f"[{owner.plugin}] {declared}", " " * room))
    return "\n".join(lines)


def _selection(preset: Preset) -> str:
    return ", ".join(f"{group}={_listed(option)}" for group, option in preset.select.items()) or "defaults"


def _listed(option: object) -> str:
    return ",".join(option) if isinstance(option, tuple) else str(option)
