"""Two trees side by side: as one picture, and as a page with tables beside it."""

from collections.abc import Collection, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template

import attrs

from arboretum.model.plain import Plain
from arboretum.model.shown import visible
from arboretum.model.tree import Tree
from arboretum.report.picture import SIDEWAYS_ABOVE, tree_scene
from arboretum.report.scene import FORBIDDEN, Curve, Scene, Shape
from arboretum.report.table import spell_cell

GAP = 40.0  # pixels between the two trees


def pair_scene(
    trees: tuple[Tree, Tree],
    titles: tuple[str, str],
    marked: tuple[Collection[int], Collection[int]] = ((), ()),
) -> Scene:
    """Draw two trees beside each other, both growing down or both to the right.

    titles : headline of each.   marked : nodes of each that get a ring.
    """
    sideways = max(tree.n_leaves for tree in trees) > SIDEWAYS_ABOVE
    scenes = [
        tree_scene(tree, title=title, sideways=sideways, marked=nodes)
        for tree, title, nodes in zip(trees, titles, marked, strict=True)
    ]
    left, right = scenes
    moved = [_moved(shape, left.width + GAP) for shape in right.shapes]
    return Scene(
        left.width + GAP + right.width,
        max(left.height, right.height),
        [*left.shapes, *moved],
        " and ".join(titles),
    )


def _moved(shape: Shape, by: float) -> Shape:
    """Return a shape ``by`` pixels further to the right."""
    if isinstance(shape, Curve):
        return attrs.evolve(shape, x1=shape.x1 + by, x2=shape.x2 + by)
    return attrs.evolve(shape, x=shape.x + by)


@attrs.frozen
class Section:
    """A part of a report.

    title : its heading.
    lines : sentences before the table.
    rows : of the table, mappings from column to cell; none: no table.
    headings : column → heading, of the columns to show, in order.
    items : the rows in words, where a terminal is too narrow for the table; none: the table.
    """

    title: str
    lines: tuple[str, ...] = ()
    rows: Sequence[Plain] = ()
    headings: Mapping[str, str] = attrs.field(factory=dict)
    items: tuple[str, ...] = ()


def page(title: str, sections: Sequence[Section], picture: Scene | None = None) -> str:
    """Return one HTML page that needs no network and runs no script: headings, sentences, tables,
    the picture.
    """
    template = Template(Path(__file__).with_name("sections.html").read_text(encoding="utf-8"))
    drawn = "" if picture is None else f'<figure tabindex="0">{picture.svg()}</figure>'
    return template.substitute(
        title=_escaped(title), sections="\n".join(map(_section, sections)), picture=drawn
    )


def _section(section: Section) -> str:
    """Return a section in HTML."""
    lines = "".join(f"<p>{_escaped(line)}</p>" for line in section.lines)
    table = ""
    if section.rows:
        head = "".join(
            f'<th scope="col">{_escaped(name)}</th>' for name in section.headings.values()
        )
        body = "".join(
            f"<tr>{''.join(_cell(row.get(name)) for name in section.headings)}</tr>"
            for row in section.rows
        )
        table = (
            f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )
    return f"<section><h2>{_escaped(section.title)}</h2>{lines}{table}</section>"


def _cell(value: object) -> str:
    """Return one cell; numbers are aligned to the right."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    shown = value if value is None or isinstance(value, str | bool | int | float) else str(value)
    return f"<td{' class=number' if number else ''}>{_escaped(spell_cell(shown))}</td>"


def _escaped(text: str) -> str:
    return escape(FORBIDDEN.sub("\ufffd", visible(text)))
