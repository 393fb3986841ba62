"""A picture as a list of shapes, in pixels, y downwards; each writes itself as SVG.

The SVG is written by hand: no font, no script, no other file is needed to show it.
"""

import bisect
import re
import unicodedata
from collections.abc import Callable, Sequence
from html import escape

import attrs

INK = "#1f2328"
FAINT = "#656d76"
LINE = "#b6bdc6"
FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 does not allow, not even escaped."""


def _number(value: float) -> str:
    """A coordinate with one decimal, or none."""
    return f"{value:.1f}".removesuffix(".0")


def _text(value: str) -> str:
    return escape(FORBIDDEN.sub("\ufffd", value), quote=False)


@attrs.frozen
class Box:
    """A rectangle, perhaps with round corners; ``hint`` is shown where a viewer can point at it."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    stroke: str = "none"
    radius: float = 0.0
    dashed: bool = False
    hint: str = ""

    def svg(self) -> str:
        """Return the SVG element ``rect``; a hint becomes its title."""
        corner = f' rx="{_number(self.radius)}"' if self.radius else ""
        stroke = f' stroke="{self.stroke}" stroke-width="1.2"' if self.stroke != "none" else ""
        dashes = ' stroke-dasharray="4 3"' if self.dashed else ""
        place = (
            f'x="{_number(self.x)}" y="{_number(self.y)}" width="{self.width:.2f}" '
            f'height="{_number(self.height)}"'
        )
        start = f'<rect {place}{corner} fill="{self.fill}"{stroke}{dashes}'
        return f"{start}><title>{_text(self.hint)}</title></rect>" if self.hint else f"{start}/>"


@attrs.frozen
class Label:
    """One line of text; (x, y) is the baseline's start, middle or end by ``anchor``; ``halo``
    puts white around it.
    """

    x: float
    y: float
    text: str
    size: float = 12.0
    bold: bool = False
    fill: str = INK
    anchor: str = "start"
    halo: bool = False

    def svg(self) -> str:
        """Return the SVG element ``text``, escaped; a pointer reaches what lies below it."""
        weight = ' font-weight="600"' if self.bold else ""
        anchor = f' text-anchor="{self.anchor}"' if self.anchor != "start" else ""
        halo = (
            ' stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke"'
            if self.halo
            else ""
        )
        return (
            "<text "
            f'x="{_number(self.x)}" y="{_number(self.y)}" font-size="{_number(self.size)}"'
            f'{weight}{anchor} fill="{self.fill}"{halo} '
            f'pointer-events="none">{_text(self.text)}</text>'
        )


@attrs.frozen
class Curve:
    """A branch from (x1, y1) to (x2, y2) that leaves and arrives upright, or level."""

    x1: float
    y1: float
    x2: float
    y2: float
    width: float
    stroke: str = LINE
    level: bool = False

    def points(self) -> tuple[tuple[float, float], ...]:
        """Return both ends of its cubic, and the two control points between."""
        x, y = (self.x1 + self.x2) / 2, (self.y1 + self.y2) / 2
        bends = ((x, self.y1), (x, self.y2)) if self.level else ((self.x1, y), (self.x2, y))
        return (self.x1, self.y1), *bends, (self.x2, self.y2)

    def svg(self) -> str:
        """Return the SVG element ``path``: the cubic of :meth:`points`."""
        start, *rest = (" ".join(map(_number, point)) for point in self.points())
        return (
            '<path d="'
            f"M{start}C{' '.join(rest)}"
            f'" fill="none" stroke="{self.stroke}" '
            f'stroke-width="{_number(self.width)}"/>'
        )


Shape = Box | Label | Curve


@attrs.frozen
class Scene:
    """Shapes in drawing order on a white ground of ``width`` × ``height`` pixels."""

    width: float
    height: float
    shapes: Sequence[Shape]
    title: str

    def svg(self) -> str:
        """Return an SVG document; pointing at a box in a browser shows its hint."""
        width, height = _number(self.width), _number(self.height)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" '
            f'font-family="{FONT}" role="img">'
        )
        ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
        body = [shape.svg() for shape in self.shapes]
        return (
            "\n".join([head, f"<title>{_text(self.title)}</title>", ground, *body, "</svg>"]) + "\n"
        )


_NARROW = frozenset("iljtfIr.,:;'|!()[]{} `/\\-\"")
_WIDE = frozenset("mwMW@%&<>=≤≥≠→…")


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Pixels that a line takes in a common sans-serif face, estimated on the safe side (no font is
    read).

    size : of the font, in pixels.
    """
    total = 0.0
    for char in text:
        if char in _NARROW:
            total += 0.36
        elif char in _WIDE:
            total += 0.88
        elif char.isascii():
            total += 0.70 if char.isupper() else 0.59
        else:
            total += 1.05 if unicodedata.east_asian_width(char) in "WF" else 0.68
    return total * size * (1.07 if bold else 1.0)


def fit_text(text: str, room: float, size: float, bold: bool = False) -> str:
    """Return the text, cut with "…" where it would take more than ``room`` pixels."""
    # rounding apart
    return shorten(" ".join(text.split()), room + 0.01, lambda part: text_width(part, size, bold))


def shorten(text: str, room: float, width: Callable[[str], float]) -> str:
    """Return the text, its end replaced by "…" where it is wider than ``room``."""
    if width(text) <= room:
        return text
    fitting = (
        bisect.bisect_right(range(len(text)), room, key=lambda end: width(text[:end] + "…")) - 1
    )
    return text[: max(fitting, 0)].rstrip() + "…"
