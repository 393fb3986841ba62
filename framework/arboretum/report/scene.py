"""A picture as a list of shapes, in pixels, y downwards: what the SVG writer and the PNG painter both draw."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import attrs

INK = "#1f2328"
FAINT = "#656d76"
LINE = "#b6bdc6"


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


@attrs.frozen
class Label:
    """One line of text; (x, y) is the baseline's start, middle or end by ``anchor``; ``halo`` puts white around it."""

    x: float
    y: float
    text: str
    size: float = 12.0
    bold: bool = False
    fill: str = INK
    anchor: str = "start"
    halo: bool = False


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

    def bends(self) -> tuple[float, float, float, float]:
        """The two control points of its cubic."""
        if self.level:
            middle = (self.x1 + self.x2) / 2
            return middle, self.y1, middle, self.y2
        middle = (self.y1 + self.y2) / 2
        return self.x1, middle, self.x2, middle

    def at(self, t: float) -> tuple[float, float]:
        """The point a share ``t`` of the way along the cubic."""
        a, b, c, d = self.bends()
        s = 1 - t
        x = s**3 * self.x1 + 3 * s * s * t * a + 3 * s * t * t * c + t**3 * self.x2
        y = s**3 * self.y1 + 3 * s * s * t * b + 3 * s * t * t * d + t**3 * self.y2
        return x, y


Shape = Box | Label | Curve


@attrs.frozen
class Scene:
    """Shapes in drawing order on a white ground of ``width`` × ``height`` pixels."""

    width: float
    height: float
    shapes: Sequence[Shape]
    title: str


_NARROW = frozenset("iljtfIr.,:;'|!()[]{} `/\\-\"")
_WIDE = frozenset("mwMW@%&<>=≤≥≠→…")


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Pixels that a line takes in a common sans-serif face, estimated on the safe side (no font is read)."""
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
    """The text, cut with "…" where it would take more than ``room`` pixels."""
    text = " ".join(text.split())
    if text_width(text, size, bold) <= room + 0.01:  # a box made for the text holds it, rounding apart
        return text
    low, high = 0, len(text)
    while low < high:  # the longest beginning that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text_width(text[:middle] + "…", size, bold) <= room else (low, middle - 1)
    return text[:low].rstrip() + "…"
