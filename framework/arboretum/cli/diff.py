"""``arboretum diff A B``: what two trees have in common, where they part, which rows they answer
differently, and how their runs differ.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs
import numpy as np

from arboretum.cli import terminal
from arboretum.cli.export import OPTIONS, READER
from arboretum.cli.show import OVERRIDES_HELP, PLUGIN_HELP, find_tree, load_again, write_out
from arboretum.cli.terminal import Parser
from arboretum.engine import run as engine
from arboretum.errors import ArboretumError, ConfigError, DataError, StoreError, unknown
from arboretum.measure.complexity import complexities
from arboretum.measure.difference import Difference, Disagreement
from arboretum.measure.evaluate import PARTS
from arboretum.model.document import Cell, Chapter, Document, Listing, Section
from arboretum.model.frame import spelled, table_like
from arboretum.model.plain import Facts, Plain
from arboretum.model.record import Record
from arboretum.model.table import ColumnKind, ColumnSpec, Table, Target, recode
from arboretum.model.tree import Tree
from arboretum.plugin.assemble import split_values
from arboretum.plugin.build import build
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import Registry, plugin_files
from arboretum.report.outline import headline
from arboretum.report.page import page_of
from arboretum.report.side_by_side import pair_scene
from arboretum.report.table import text_table
from arboretum.runs.folder import RECORD, TREE
from arboretum.runs.sweeps import flatten

DESCRIPTION = """\
Two trees of one table, side by side: the tests they share from the root on, the places where they
part, the rows that they answer differently and who is right there, and how their measures and
configurations differ.  A and B: run folders, a tracker's run ids, or files tree.json."""
LISTED = 20  # rows, places and keys that are printed


@attrs.frozen(eq=False)
class Side:
    """One of the two.

    name : as it was typed.   record : None where a tree alone was named.
    """

    name: str
    tree: Tree
    record: Record | None
    registry: Registry

    @property
    def title(self) -> str:
        """Headline: "leaving (cart on iris)"."""
        return f"{self.name} ({self.record.title})" if self.record is not None else self.name

    @property
    def measures(self) -> Plain:
        """The record's metrics; of a tree alone its complexities."""
        return complexities(self.tree) if self.record is None else self.record.metrics


@attrs.frozen
class Part:
    """A part of the report.

    title : its heading.
    lines : sentences before the table.
    rows : of the table, column → cell; none: no table.
    headings : column → heading, of the columns that are shown, in order.
    items : the rows in words, where a terminal is too narrow for the table; none: the table.
    """

    title: str
    lines: Sequence[str] = ()
    rows: Sequence[Mapping[str, Cell]] = ()
    headings: Mapping[str, str] = attrs.field(factory=dict)
    items: Sequence[str] = ()

    def chapter(self, number: int, drawings: Sequence[str] = ()) -> Chapter:
        """Return it for a page, where every part has a heading of its own."""
        caption = ", ".join(self.headings.values())
        table = Listing(f"table_{number}", caption, self.rows, self.headings)
        inner = Section("", tables=[table] if self.rows else [], drawings=drawings)
        return Chapter(self.title, [inner], self.lines)

    def text(self, most: int | None) -> Iterator[str]:
        """Yield its lines for a terminal.   most : rows of a table; None: all."""
        yield self.title
        yield from (f"  {line}" for line in self.lines)
        if self.items:
            yield from (f"  {line}" for item in self.items[:most] for line in item.splitlines())
        elif self.rows:
            width = max(terminal.width(), 100) - 2
            table = text_table(self.rows[:most], self.headings, width=width).rstrip()
            yield from (f"  {line}" for line in table.splitlines())
        if most is not None and len(self.rows) > most:
            yield f"  … and {len(self.rows) - most} more (--all lists them)"
        yield ""


def main(argv: list[str]) -> int:
    """Print how the trees differ; the exit status is 0 whether they do or not."""
    parser = Parser("diff", DESCRIPTION, plugin=PLUGIN_HELP)
    for word in ("A", "B"):
        parser.add_argument(word, help="run folder, tracker run id, or tree.json")
    said = f"how FILE of --data is read: dataset.target=COLUMN, …; {OVERRIDES_HELP}"
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help=said)
    parser.add_argument(
        "--data", metavar="FILE", help="rows to predict, instead of those of the runs' data set"
    )
    parser.add_argument("--all", action="store_true", help=f"list more than {LISTED} of each")
    parser.add_argument("--svg", metavar="FILE", help="draw both trees, rings where they part")
    parser.add_argument("--html", metavar="FILE", help="all of it as one page, with the picture")
    given = parser.parse_intermixed_args(argv)
    own = [word for word in given.overrides if word.startswith("dataset.")]
    others = [word for word in given.overrides if not word.startswith("dataset.")]
    if own and given.data is None:
        raise ConfigError(f"{own[0]!r} says how a file is read; name it: --data FILE")
    first, second = (_side(name, others, given.plugin) for name in (given.A, given.B))
    found = Difference.of(first.tree, second.tree)
    parts = [
        _structure(found, (first, second)),
        *_rows_parts(found, (first, second), given.data, own),
        _measures(first, second),
        *_configuration(first, second),
    ]
    most = None if given.all else LISTED
    terminal.say("\n".join(line for part in parts for line in part.text(most)))
    if given.svg or given.html:
        scene = pair_scene((first.tree, second.tree), (first.title, second.title), found.only())
        if given.svg:
            write_out(given.svg, scene.svg())
        if given.html:
            title = f"{first.title} and {second.title}"
            drawn = [[scene.svg()], *[()] * (len(parts) - 1)]
            chapters = [
                part.chapter(k, drawings)
                for k, (part, drawings) in enumerate(zip(parts, drawn, strict=True))
            ]
            write_out(given.html, page_of(Document(title, chapters)))
    return 0


def _side(name: str, overrides: Sequence[str], plugins: Sequence[str]) -> Side:
    """Return what a word of the command line names.  Raises StoreError, DataError, …"""
    path = Path(name).expanduser()
    if path.is_file() and path.suffix == ".json" and path.name != RECORD:
        if path.name == TREE and (path.parent / RECORD).is_file():
            return Side(name, *_found(str(path.parent), overrides, plugins))
        registry = load_registry(plugin_files(plugins))  # a plugin's tests can be read then
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"{name!r} cannot be read: {error}") from error
        return Side(name, Tree.from_json(text), None, registry)
    return Side(name, *_found(name, overrides, plugins))


def _found(
    run: str, overrides: Sequence[str], plugins: Sequence[str]
) -> tuple[Tree, Record, Registry]:
    record, tree, registry = find_tree(run, overrides, plugins)
    return tree, record, registry


def _structure(found: Difference, sides: tuple[Side, Side]) -> Part:
    """Return what the trees share and where they part."""
    first, second = sides
    lines = [f"first:  {first.title}: {headline(first.tree)}"]
    lines.append(f"second: {second.title}: {headline(second.tree)}")
    n, sizes = len(found.shared), (first.tree.n_nodes, second.tree.n_nodes)
    if found.equal:
        return Part("The trees are equal in every field", tuple(lines))
    if found.unused_policies:
        nodes = f"{found.unused_policies} node{'s' * (found.unused_policies != 1)}"
        lines.append(
            f"at {nodes} rows without a value go elsewhere, though no training row lacked one there"
        )
    if not found.places:
        lines.append(f"same tests and answers; what differs: {', '.join(found.fields)}")
        return Part("The trees have the same structure", tuple(lines))
    lines.append(
        f"shared from the root on: {n} nodes, of {sizes[0]} of the first and {sizes[1]} of the "
        "second"
    )
    rows: list[Facts] = [
        {
            "change": place.change.value,
            "where": place.path,
            **{
                who: _node_in_words(node, words, size, moved, other)
                for who, node, words, size, moved, other in (
                    ("first", place.first, place.here, place.sizes[0], place.moved[0], "second"),
                    ("second", place.second, place.there, place.sizes[1], place.moved[1], "first"),
                )
            },
        }
        for place in found.places
    ]
    headings = {"where": "where", "change": "what differs", "first": "first", "second": "second"}
    items = [
        terminal.paragraph(f"{row['where']}: {row['change']}", rest="    ")
        + f"\n    first:  {row['first']}\n    second: {row['second']}"
        for row in rows
    ]
    title = f"The trees part at {len(found.places)} place{'s' * (len(found.places) != 1)}"
    return Part(title, tuple(lines), rows, headings, tuple(items))


def _node_in_words(node: int, words: str, size: int, moved: int, other: str) -> str:
    """Return what a tree has at a place: "node 5 asks x ≤ 3, 7 nodes that the second has not".

    node : −1 for none.   size, moved : of :class:`~arboretum.measure.difference.Place`.
    """
    if node < 0:
        return words
    said = f"node {node} {words}"
    if size and moved >= 0:
        return f"{said}; the same subtree is node {moved} of the {other}"
    return f"{said}; {size} node{'s' * (size != 1)} here alone" if size else said


# -- rows ------------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Rows:
    """Rows of a part.

    known : whether their target is known.
    numbers : of the rows in the whole table, None: counted as they come.
    """

    part: str
    table: Table
    known: bool = True
    numbers: Sequence[int] | None = None


def _rows_parts(
    found: Difference,
    sides: tuple[Side, Side],
    data: str | None,
    overrides: Sequence[str],
) -> list[Part]:
    """Return on which rows the trees disagree.   data : file to read instead of the runs' data."""
    if found.equal and data is None:
        return []  # equal trees answer every row alike
    if data is not None:
        lines, parts = _rows_of_file(sides, data, overrides)
    else:
        lines, parts = _rows_of_runs(sides)
    if not parts:
        return [Part("Rows on which they disagree: not known", tuple(lines))]
    totals: list[Facts] = []
    listed: list[Facts] = []
    numbers = found.first.is_regression
    for rows in parts:
        one = Disagreement.of(found.first, found.second, rows.table, rows.known)
        known = bool(len(one.rows)) and "" not in one.right
        counts = {
            who: one.count(who) if known or not len(one.rows) else None
            for who in ("first", "second", "both" if numbers else "neither")
        }
        totals.append({"part": rows.part, "rows": one.n_rows, "disagree": len(one.rows), **counts})
        listed += [
            {
                "part": rows.part,
                "row": int(at) if rows.numbers is None else int(rows.numbers[at]),
                "true": true,
                "a": a,
                "b": b,
                "right": right or None,
            }
            for at, true, a, b, right in zip(
                one.rows.tolist(), one.true, one.first, one.second, one.right, strict=True
            )
        ]
    better = "nearer" if numbers else "right"
    headings = {"part": "part", "rows": "rows", "disagree": "disagree"}
    headings |= {who: f"{who} {better}" for who in ("first", "second")}
    headings |= {"both": "as near"} if numbers else {"neither": "neither right"}
    if not listed:
        return [Part("They answer every row alike", tuple(lines), totals, headings)]
    heads = {"part": "part", "row": "row", "true": "target", "a": "first", "b": "second"}
    title = f"They disagree on {len(listed)} of {sum(one['rows'] for one in totals)} rows"
    counted = ("counted from 0, as in the data set",)
    return [
        Part(title, tuple(lines), totals, headings),
        Part("These rows", counted, listed, {**heads, "right": better}),
    ]


def _rows_of_runs(sides: tuple[Side, Side]) -> tuple[list[str], list[Rows]]:
    """Return remarks, and the rows of the first of the runs whose data can be loaded again."""
    lines: list[str] = []
    for number, side in enumerate(sides):
        if side.record is None:
            lines.append(f"{side.name} is a tree alone, which does not say what data it is of")
            continue
        try:
            resolved, prepared, _ = load_again(side.record, side.registry)
            division = engine.pose(resolved.parts, prepared.table, side.record.seed).division
        except ArboretumError as error:
            lines.append(f"the data of {side.name} cannot be had: {error}")
            continue
        name, checksum = side.record.data["name"], prepared.sha256[:12]
        lines.append(f"rows of {name} (checksum {checksum}…, as recorded), parts of {side.name}")
        lines += _other_rows(side.record, sides[1 - number])
        return lines, [
            Rows(part, prepared.table.take(at), numbers=at)
            for part in PARTS
            if len(at := getattr(division, part))
        ]
    return [*lines, "name a file with the rows: --data FILE dataset.target=COLUMN"], []


def _other_rows(record: Record, other: Side) -> list[str]:
    """Return remarks on what the other run saw of other rows."""
    if other.record is None:
        return [f"{other.name} is a tree alone: it may have been trained on any of them"]
    if other.record.data["sha256"] != record.data["sha256"]:
        return [f"{other.name} is of other data: {other.record.data['name']}, another checksum"]
    drawn = [(one.seed, one.config.get("split")) for one in (record, other.record)]
    if drawn[0] != drawn[1]:
        return [f"{other.name} divided them otherwise, so it may have trained on any of them"]
    return []


def _rows_of_file(
    sides: tuple[Side, Side], file: str, overrides: Sequence[str]
) -> tuple[list[str], list[Rows]]:
    """Return remarks, and the rows of a file; with their target where its column is known.

    overrides : ``dataset.FIELD=VALUE``.   Raises ConfigError, DataError.
    """
    first = next((side for side in sides if side.record is not None), sides[0])
    fields = split_values({}, list(overrides))[1].get("dataset", {})
    for key in fields:
        if key not in (*OPTIONS, "target"):
            raise ConfigError(f"dataset.{key}: {unknown('option', key, (*OPTIONS, 'target'))}")
    config = {} if first.record is None else first.record.config
    of_file = (config.get("choices") or {}).get("dataset") == READER
    own = config.get("dataset") if of_file else None
    kept = {key: own[key] for key in (*OPTIONS, "target") if key in own} if own else {}
    kept |= fields
    target, tree, path = str(kept.pop("target", "")), sides[0].tree, Path(file).expanduser()
    reader = build(first.registry.get("dataset", READER), kept)
    kind = ColumnKind.continuous if tree.is_regression else ColumnKind.categorical
    asked = (*tree.columns, *([ColumnSpec(target, kind)] if target else ()))
    try:
        values = dict(reader.rows(path, asked))
        if target and target not in values:
            raise DataError(f"no column {target!r}, which dataset.target names")
        truth = values.pop(target, None)
        table = table_like(tree, values)
    except DataError as error:
        raise DataError(str(error) if file in str(error) else f"{file}: {error}") from error
    if truth is None:
        remark = "whose target is not known (dataset.target=COLUMN names it)"
        return [f"rows of {file}, {remark}"], [Rows("file", table, known=False)]
    return [f"rows of {file}"], [Rows("file", attrs.evolve(table, target=_target(tree, truth)))]


def _target(tree: Tree, truth: np.ndarray) -> Target:
    """Return the target that a file holds: numbers, or names of classes (None: not known)."""
    if tree.is_regression:
        return Target("target", tree.task, values=truth)
    names, codes = spelled(truth)
    classes = (*tree.classes, *(name for name in names if name not in tree.classes))
    return Target("target", tree.task, codes=recode(codes, tuple(names), classes), classes=classes)


# -- measures and configurations -------------------------------------------------------------------


def _measures(first: Side, second: Side) -> Part:
    """Return every measure in which they differ."""
    one, other = first.measures, second.measures
    if first.record is None or second.record is None:  # a tree alone has no rows
        one, other = complexities(first.tree), complexities(second.tree)
    names = list(dict.fromkeys((*one, *other)))
    rows: list[Facts] = []
    for name in names:
        a, b = one.get(name), other.get(name)
        if a == b or (a is not None and b is not None and math.isnan(a) and math.isnan(b)):
            continue
        change = None if a is None or b is None else b - a
        rows.append({"measure": name, "a": a, "b": b, "change": change})
    if not rows:
        return Part(f"All {len(names)} measures are equal")
    same = len(names) - len(rows)
    headings = {"measure": "measure", "a": "first", "b": "second", "change": "second − first"}
    title = f"{len(rows)} measures differ" if len(rows) > 1 else "1 measure differs"
    title += f", {same} are equal" if same else ""
    return Part(title, (), rows, headings)


def _configuration(first: Side, second: Side) -> list[Part]:
    """Return the keys of the configuration that differ; nothing unless both are runs."""
    if first.record is None or second.record is None:
        return []
    one, other = (dict(flatten(side.record.config)) for side in (first, second) if side.record)
    keys = [key for key in dict.fromkeys((*one, *other)) if one.get(key) != other.get(key)]
    if not keys:
        return [Part("The configurations are equal")]
    rows = [
        {
            "key": key,
            "a": _spelled(one[key]) if key in one else None,
            "b": _spelled(other[key]) if key in other else None,
        }
        for key in keys
    ]
    title = f"{len(keys)} keys of the configuration differ"
    title = title if len(keys) > 1 else "1 key of the configuration differs"
    return [Part(title, (), rows, {"key": "key", "a": "first", "b": "second"})]


def _spelled(value: object) -> str:
    """Return a value as the command line takes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
