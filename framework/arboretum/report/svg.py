"""A tree as an SVG document, written by hand: no font, no script, no other file is needed to show it."""

from __future__ import annotations

import re
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from arboretum.model.tree import Tree
from arboretum.report.picture import tree_scene
from arboretum.report.scene import Box, Curve, Label, Scene

FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 does not allow, not even escaped."""


def tree_svg(tree: Tree, **options: Any) -> str:
    """The tree's picture; options of :func:`arboretum.report.picture.tree_scene`.  Pointing at a node in a browser shows it in full."""
    return scene_svg(tree_scene(tree, **options))


def scene_svg(scene: Scene) -> str:
    """Write a scene as an SVG document."""
    width, height = (_number(size) for size in (scene.width, scene.height))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="{FONT}" role="img">'
    )
    body = [_SHAPES[type(shape)](shape) for shape in scene.shapes]
    ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{_text(scene.title)}</title>", ground, *body, "</svg>"]) + "\n"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(value: str) -> str:
    return escape(FORBIDDEN.sub("\ufffd", value))


def _box(box: Box) -> str:
    corner = f' rx="{_number(box.radius)}"' if box.radius else ""
    stroke = f' stroke="{box.stroke}" stroke-width="1.2"' if box.stroke != "none" else ""
    dashes = ' stroke-dasharray="4 3"' if box.dashed else ""
    place = f'x="{_number(box.x)}" y="{_number(box.y)}" width="{box.width:.2f}" height="{_number(box.height)}"'
    start = f'<rect {place}{corner} fill="{box.fill}"{stroke}{dashes}'
    return f"{start}><title>{_text(box.hint)}</title></rect>" if box.hint else f"{start}/>"


def _label(label: Label) -> str:
    weight = ' font-weight="600"' if label.bold else ""
    anchor = f" text-anchor={quoteattr(label.anchor)}" if label.anchor != "start" else ""
    halo = ' stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke"' if label.halo else ""
    place = f'x="{_number(label.x)}" y="{_number(label.y)}" font-size="{_number(label.size)}"'
    return f'<text {place}{weight}{anchor} fill="{label.fill}"{halo} pointer-events="none">{_text(label.text)}</text>'


def _curve(curve: Curve) -> str:
    a, b, c, d = (_number(value) for value in curve.bends())
    ends = [_number(value) for value in (curve.x1, curve.y1, curve.x2, curve.y2)]
    path = f"M{ends[0]} {ends[1]}C{a} {b} {c} {d} {ends[2]} {ends[3]}"
    return f'<path d="{path}" fill="none" stroke="{curve.stroke}" stroke-width="{_number(curve.width)}"/>'


_SHAPES = {Box: _box, Label: _label, Curve: _curve}
