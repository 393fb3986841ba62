"""``arboretum plugins`` and ``arboretum explain KIND.NAME``: what is installed, as a bibliography,
and one component of it.

Light enough to answer at once: declarations are read, nothing is compiled.
"""

import enum
import inspect
import re
import shlex
import typing
from collections import Counter
from collections.abc import Sequence

import attrs

from arboretum.cli import terminal
from arboretum.cli.terminal import Parser, paragraph, paragraphs
from arboretum.engine.search.reasons import KINDS, describe_way
from arboretum.errors import ConfigError, closest, unknown
from arboretum.interfaces.component import EVERY_KIND, MANY, STUDIES, Capability
from arboretum.interfaces.objective import Shape, minimised, shape_of
from arboretum.plugin.assemble import DEFAULT_CHOICES
from arboretum.plugin.build import default_of, field_types, fields_of
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import NONE, ONE_FILE, Entry, Preset, Registry, plugin_files

DESCRIPTION = """\
What is installed: papers first (year, authors, what they bring, one command each), then every
component by kind.
arboretum explain KIND.NAME tells more of one."""
EXPLAIN = (
    "One component: paper, meaning, parameters with type, default, unit and bounds, "
    "capabilities, owner."
)

CLASSES, TWO_CLASSES, NUMBERS = "iris", "monk1-full", "diabetes"  # data sets of examples
NOTHING = ("", (), NONE)  # default choices that leave a group empty
# components of a kind above which only their names are listed: data sets come by the dozen
NAMES_ONLY = 24


def main(argv: list[str]) -> int:
    """Print the bibliography; status 1 when a plugin could not be loaded and --strict is given."""
    parser = Parser("plugins", DESCRIPTION, plugin="a one-file plugin, too")
    parser.add_argument("kind", nargs="?", metavar="KIND", help="only components of this kind")
    parser.add_argument("--names", action="store_true", help="one KIND.NAME per line, for scripts")
    parser.add_argument(
        "--strict", action="store_true", help="exit with status 1 when a plugin does not load"
    )
    arguments = parser.parse_args(argv)
    if arguments.kind is not None and arguments.kind not in EVERY_KIND:
        raise ConfigError(unknown("kind", arguments.kind, EVERY_KIND))
    registry = load_installed(arguments.plugin)
    kinds = [arguments.kind] if arguments.kind else list(EVERY_KIND)
    if arguments.names:
        terminal.say("\n".join(f"{kind}.{name}" for kind in kinds for name in registry.names(kind)))
    else:
        terminal.say(bibliography(registry, kinds))
    return 1 if arguments.strict and registry.failures else 0


def explain_main(argv: list[str]) -> int:
    """Print what KIND.NAME is."""
    parser = Parser("explain", EXPLAIN, plugin="a one-file plugin, too")
    parser.add_argument(
        "component",
        metavar="KIND.NAME",
        help="as in criterion.reduction; KIND alone lists its options",
    )
    arguments = parser.parse_args(argv)
    terminal.say(explain(arguments.component, load_installed(arguments.plugin)))
    return 0


def load_installed(files: Sequence[str] = ()) -> Registry:
    """The registry with the given one-file plugins; what could not be loaded is told in a
    warning each.
    """
    registry = load_registry(plugin_files(files))
    for failure in registry.failures:
        terminal.warn(f"plugin {failure.plugin} is left out: {failure.reason}")
    return registry


# -- one command that uses a component, as it is printed beside it: it has to run ------------------


def command(item: Entry | Preset, registry: Registry) -> str:
    """A command that uses a component or preset: its ``example`` says what it needs besides;
    words in capitals are to be replaced.
    """
    if item.kind in STUDIES:
        verbs = {
            "export": "export RUN --to",
            "measure": "compare FOLDER --measure",
            "comparison": "compare FOLDER --test",
        }
        return f"arboretum {verbs.get(item.kind, 'reproduce')} {item.name}"
    file = ("--plugin", item.owner.path) if item.owner.distribution.startswith(ONE_FILE) else ()
    words = (f"{key}={value}" for key, value in _overrides(item, registry).items())
    return f"arboretum run {shlex.join([*file, *words])}"


def _overrides(item: Entry | Preset, registry: Registry) -> dict[str, str]:
    """Key → value of the example, as on the command line: what the item's own example says, its
    choice, a data set that it copes with, and an option of each group that it needs and no default
    fills.
    """
    preset = item if isinstance(item, Preset) else None
    cls = item.cls if isinstance(item, Entry) else registry.get(item.kind, item.recipe).cls
    examples = [
        _example_of(entry.cls)
        for entry in (_components_of(item, registry) if isinstance(item, Preset) else [item])
    ]
    own = next(
        (one for one in examples if isinstance(item, Entry) or one.get("method") == item.name), {}
    )
    if item.kind == "objective" and "method" not in own:
        own = {**_example_of_shape(cls, registry), **own}
    option = f"[{item.name}]" if item.kind in MANY else item.name
    data = (
        {}
        if item.kind == "dataset"
        else {"dataset": own.pop("dataset", _example_data_set(item, registry))}
    )
    chosen = {**data, item.kind: option, **own}
    if isinstance(item, Entry):
        preset = registry.find_preset("method", own.get("method", ""))
    selected = preset.select if preset is not None else {}
    if item.kind != "method" and selected.get(item.kind) == item.name:
        del chosen[item.kind]  # the preset brings it
    if item.kind == "solver" and "method" not in chosen:  # somebody has to ask it
        asks = [
            entry.name
            for entry in registry.entries("method")
            if "solver" in getattr(entry.cls, "needs", ())
        ]
        chosen |= {"method": asks[0], "encoder": "multiway"} if asks else {}
    wanted = list(getattr(cls, "needs", ()))
    while wanted:
        group = wanted.pop(0)
        names = registry.names(group)
        if group in (*chosen, *selected) or DEFAULT_CHOICES[group] not in NOTHING or not names:
            continue
        chosen[group] = f"[{names[0]}]" if group in MANY else names[0]
        if registry.find_preset(group, names[0]) is None:  # what was added may need parts itself
            added = registry.get(group, names[0]).cls
            wanted += getattr(added, "needs", ())
            if item.kind == "method":
                chosen = {**_example_of(added), **chosen}
    return chosen


def _example_of(cls: type) -> dict[str, str]:
    """Key → value of a class's example."""
    return dict(word.split("=", 1) for word in getattr(cls, "example", "").split())


def _example_of_shape(cls: type, registry: Registry) -> dict[str, str]:
    """Key → value of how an objective is minimised that has no example: by the method that most of
    its shape name, as the first of them; {} where there are none.
    """
    shape = shape_of(cls)
    others = [
        _example_of(entry.cls)
        for entry in registry.entries("objective")
        if shape is not None and shape_of(entry.cls) is shape
    ]
    methods = Counter(one["method"] for one in others if "method" in one)
    if not methods:
        return {}
    (method, _), *_ = methods.most_common(1)
    first = next(one for one in others if one.get("method") == method)
    return {key: value for key, value in first.items() if key.split(".")[0] != "objective"}


def _components_of(preset: Preset, registry: Registry) -> list[Entry]:
    """The components that a preset is made of."""
    return [
        entry
        for kind in EVERY_KIND
        if (options := preset.select.get(kind))
        for entry in registry.entries(kind)
        if entry.name in (options if isinstance(options, tuple) else (options,))
    ]


def _example_data_set(item: Entry | Preset, registry: Registry) -> str:
    """A data set with a target that the component copes with."""
    entries = _components_of(item, registry) if isinstance(item, Preset) else [item]
    for one in entries:  # what rows say besides, few data sets have
        if getattr(one.cls, "reads", ()) and (own := _example_of(one.cls).get("dataset")):
            return own
    numbers = (
        Capability.regression in one.capabilities
        and Capability.classification not in one.capabilities
        for one in entries
    )
    two = (
        bool(one.capabilities) and Capability.multiclass not in one.capabilities for one in entries
    )
    return NUMBERS if any(numbers) else TWO_CLASSES if any(two) else CLASSES


def runs_anywhere(item: Entry | Preset) -> bool:
    """Whether the example needs neither a file nor the network: False for data sets that do not
    say so.
    """
    return item.kind != "dataset" or (
        isinstance(item, Entry) and bool(getattr(item.cls, "offline", False))
    )


# -- the bibliography ------------------------------------------------------------------------------


def bibliography(registry: Registry, kinds: list[str]) -> str:
    """All of it: plugins, papers where ``kinds`` are several, then a paragraph of each kind."""
    owners = ", ".join(f"{owner.plugin} {owner.version}".strip() for owner in registry.owners)
    blocks = [paragraph(f"plugins: {owners}", rest="  ")]
    if len(kinds) > 1 and (papers := _papers(registry)):
        blocks.append("papers\n" + papers)
    return "\n\n".join(
        [*blocks, *(_describe_kind(kind, registry) for kind in kinds if registry.names(kind))]
    )


def _papers(registry: Registry) -> str:
    """Three lines a paper, oldest first: year and authors, what of it is installed, and a command
    that uses it.
    """
    found: dict[tuple[str, str], list[Entry | Preset]] = {}
    items: list[Entry | Preset] = [*registry.entries(), *registry.presets()]
    for item in items:
        if paper := item.paper:
            year = re.search(r"\b(1[89]\d\d|20\d\d)\b", paper)
            authors = paper[: year.start()] if year else paper
            found.setdefault(
                (year[1] if year else "–", authors.split(":")[0].strip(" ,(;:")), []
            ).append(item)
    blocks = []
    for (when, who), items in sorted(found.items()):  # "–" sorts after the digits
        names = [f"{item.kind}.{item.name}" for item in items if item.kind != "dataset"]
        data = [item.name for item in items if item.kind == "dataset"]
        names += (
            [f"{len(data)} data sets ({data[0]}, …)" if len(data) > 1 else f"dataset.{data[0]}"]
            if data
            else []
        )
        best = max(filter(runs_anywhere, items), key=_rank_as_example, default=None)
        text = (
            command(best, registry)
            if best is not None
            else f"arboretum explain {items[0].kind}.{items[0].name}"
        )
        blocks += [
            paragraph(who, f"  {when}  "),
            paragraph(", ".join(names), " " * 8),
            " " * 8 + text,
        ]
    return "\n".join(blocks)


def _rank_as_example(item: Entry | Preset) -> tuple[bool, ...]:
    """What a paper's command is chosen by: rather the whole study or a recipe than a part, a
    data set only if need be.
    """
    return (
        item.kind == "reproduction",
        item.kind not in ("dataset", "export", "comparison", "measure"),
        isinstance(item, Preset),
        item.kind == "method",
    )


def _describe_kind(kind: str, registry: Registry) -> str:
    """Return the paragraph of a kind: what it is for, then its presets and components with summary,
    owner and capabilities; names only where there are many.
    """
    entries = list(registry.entries(kind))
    presets = registry.presets(kind)
    chosen = DEFAULT_CHOICES.get(kind, "")
    head = paragraph(
        f"{kind}: {EVERY_KIND[kind]}"
        + (f" (default {_join_options(chosen)})" if chosen not in NOTHING else ""),
        rest="  ",
    )
    if len(entries) > NAMES_ONLY:
        return head + "\n" + paragraph(", ".join(entry.name for entry in entries), "  ")
    room = max(len(name) for name in registry.names(kind)) + 4
    rows = []
    for preset in presets:
        selected = (
            ", ".join(f"{group}={_join_options(option)}" for group, option in preset.select.items())
            or "defaults"
        )
        rows.append((preset.name, f"= {preset.recipe} with {selected}", "preset", preset.owner))
    rows += [
        (e.name, e.summary, ", ".join(sorted(c.value for c in e.capabilities)), e.owner)
        for e in entries
    ]
    lines = [head]
    for name, summary, declared, owner in rows:
        lines.append(paragraph(summary or "–", f"  {name}".ljust(room)))
        lines.append(paragraph(f"[{owner.plugin}] {declared}", " " * room))
    return "\n".join(lines)


def _join_options(option: object) -> str:
    """An option as on the command line; several joined by commas."""
    return ",".join(option) if isinstance(option, tuple) else str(option)


# -- one component ---------------------------------------------------------------------------------


def explain(text: str, registry: Registry) -> str:
    """The text for KIND.NAME, or KIND; raises ConfigError with the closest match."""
    kind, _, name = text.partition(".")
    if not name and kind in EVERY_KIND:
        names = registry.names(kind)
        return f"{kind}: {EVERY_KIND[kind]}\n\n" + (
            "\n".join(f"  {kind}.{n}" for n in names) or "  none installed"
        )
    if kind not in EVERY_KIND:
        every = [f"{k}.{n}" for k in EVERY_KIND for n in registry.names(k)]
        near = closest(text, [*every, *EVERY_KIND])
        hint = f"; did you mean {near!r}?" if near else ";"
        raise ConfigError(
            f"unknown component {text!r}{hint} say KIND.NAME, kinds: {', '.join(EVERY_KIND)}"
        )
    preset = registry.find_preset(kind, name)
    if preset is None:
        return _describe_component(registry.get(kind, name), registry)
    rows = [
        (f"  {group}", ", ".join(o) if isinstance(o, tuple) else o)
        for group, o in {kind: preset.recipe, **preset.select}.items()
    ]
    lines = [
        f"{kind}.{name}: a preset",
        "",
        paragraph(preset.summary),
        "",
        *_paper_lines(preset.paper),
        "selects:",
    ]
    return "\n".join([*lines, terminal.aligned(rows), "", *_owner_and_command(preset, registry)])


def _describe_component(entry: Entry, registry: Registry) -> str:
    """Return all that is told of a component: meaning, paper, parameters, capabilities, owner and a
    command that uses it.
    """
    doc = inspect.cleandoc(entry.cls.__doc__ or "(no description)")
    lines = [
        paragraph(f"{entry.kind}.{entry.name}: {EVERY_KIND[entry.kind]}", rest="  "),
        "",
        paragraphs(doc),
        "",
        *_paper_lines(entry.paper),
    ]
    prefix = (
        "--"
        if entry.kind == "reproduction"
        else f"{entry.kind}.{entry.name}."
        if entry.kind in MANY or entry.kind in ("comparison", "measure")
        else f"{entry.kind}."
    )
    fields = fields_of(entry.cls)
    lines.append("parameters" if fields else "no parameters")
    for name, field in fields.items():
        lines += _describe_field(f"{prefix}{name}", field, type_text(field_types(entry.cls)[name]))
    lines.append("")
    declared = sorted(c.value for c in entry.capabilities)
    if declared or entry.kind not in STUDIES:
        said = ", ".join(declared) or (
            "none declared (classification, any number of classes, weights)"
        )
        lines.append(paragraph("capabilities: " + said, rest="  "))
    if entry.kind in KINDS:
        lines.append(paragraph(f"growth: {describe_way(entry.kind, entry.cls())}", rest="  "))
    needs = getattr(entry.cls, "needs", ())
    return "\n".join(
        [
            *lines,
            *([f"needs: {', '.join(needs)}"] if needs else []),
            *_minimised(entry, registry),
            *_owner_and_command(entry, registry),
        ]
    )


def _minimised(entry: Entry, registry: Registry) -> list[str]:
    """Return lines on which objectives a solver minimises within which limits, and which solvers an
    objective; [] for other kinds.
    """
    if entry.kind == "solver":
        shapes = [Shape(one).value for one in getattr(entry.cls, "minimises", ())]
        limits = getattr(entry.cls, "limits", ())
        said = {
            "minimises objectives of the shape": " or ".join(shapes),
            "limits that it knows": ", ".join(limits),
        }
        return [paragraph(f"{what}: {names}", rest="  ") for what, names in said.items() if names]
    shape = shape_of(entry.cls) if entry.kind == "objective" else None
    if shape is None:
        return []
    solvers = [
        one.name for one in registry.entries("solver") if minimised(shape, one.cls) is not None
    ]
    text = f"shape: {shape.value}, minimised by solver={', '.join(solvers) or 'none that is here'}"
    return [paragraph(text, rest="  ")]


def _describe_field(key: str, field: "attrs.Attribute[object]", type_: str) -> list[str]:
    """Return a parameter by its key: default, type, bounds and unit, and below it what it means."""
    meta = field.metadata
    default = default_of(field)
    shown = "null" if default is None else str(getattr(default, "name", default)) or '""'
    bounds = (meta.get("bounds") or type_).replace("one of ", "")
    words = dict.fromkeys((type_, bounds, *([f"in {meta['unit']}"] if meta.get("unit") else [])))
    shared = f" (follows {meta['shared']})" if meta.get("shared") else ""
    return [
        paragraph(f"{key}={shown}  ({'; '.join(words)})", "  ", "      "),
        paragraph(meta.get("doc", "") + shared, "      "),
    ]


def type_text(wanted: type) -> str:
    """A field's type for people: "int or null", "list of float", the names of an enumeration."""
    origin = typing.get_origin(wanted)
    arguments = [a for a in typing.get_args(wanted) if a is not ...]
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        return " | ".join(member.name for member in wanted)
    if origin in (tuple, list):
        return "list of " + (type_text(arguments[0]) if arguments else "anything")
    if origin is dict or wanted is dict:
        return "{name: " + (type_text(arguments[1]) if len(arguments) == 2 else "value") + "}"
    if arguments:
        return " or ".join(type_text(argument) for argument in arguments)
    return {str: "text", bool: "true | false", type(None): "null"}.get(
        wanted, getattr(wanted, "__name__", str(wanted))
    )


def _paper_lines(paper: str) -> list[str]:
    """The paper and an empty line; nothing where there is none."""
    return [paragraph(f"paper: {paper}", rest="  "), ""] if paper else []


def _owner_and_command(item: Entry | Preset, registry: Registry) -> list[str]:
    """Return the last two lines: the owner, and a command that uses the component or preset."""
    owner, text = item.owner, command(item, registry)
    brought = (
        f" ({owner.distribution} {owner.version})".replace("  ", " ") if owner.distribution else ""
    )
    if not runs_anywhere(item):
        note = (
            "(reads a file: one you name, one of the data home ARBORETUM_DATA, or one it fetches)"
        )
        text += "\n" + paragraph(note, " " * 7)
    return [f"owner: {owner.plugin}{brought}", f"try:   {text}"]
