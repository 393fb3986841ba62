"""A grid of numbers as a heat map: darker is more, every number stands in its field."""

from __future__ import annotations

import math
from os import PathLike

from arboretum.model.grid import Grid
from arboretum.report.palette import mix
from arboretum.report.png import scene_png
from arboretum.report.scene import FAINT, INK, Box, Label, Scene, text_width
from arboretum.report.svg import scene_svg

MARGIN, GAP, BREAK = 28.0, 3.0, 12.0
ROW, ROW_TWO = 30.0, 42.0
STEPS = ("#f6f9fc", "#cfe0f1", "#7fb0d8", "#2f73ad", "#123f72")
"""From least to most; each step is darker also in grey."""
UNKNOWN = "#ececec"
FRAME = "#c2410c"
LIGHT, DARK = 0.25, 0.68
"""Shares of the scale below which grey, and above which white, can be read."""


def grid_svg(grid: Grid) -> str:
    """The heat map as an SVG document."""
    return scene_svg(grid_scene(grid))


def grid_png(grid: Grid, path: str | PathLike[str], scale: float = 2.0) -> None:
    """Write the heat map as a PNG file.  Raises OSError when it cannot be written."""
    scene_png(grid_scene(grid), path, scale)


def grid_scene(grid: Grid) -> Scene:
    """Compose the picture: headline, column labels, one row of fields per row, legend, notes."""
    height = ROW_TWO if grid.small else ROW
    left = MARGIN + max(text_width(label, 13) for label in grid.rows) + 14
    words = [text for line in grid.texts for text in line] + [text for line in grid.small for text in line]
    widest = max([text_width(text, 13) for text in words] + [text_width(label, 13, True) for label in grid.columns], default=0)
    field = max(84.0, widest + 22, *(text_width(note, 10.5) + 12 for note in grid.column_notes or ("",)))
    top = MARGIN + 18 + (20 if grid.subtitle else 0) + 34 + (14 if grid.column_notes else 0)
    shapes: list[Box | Label] = [Label(MARGIN, MARGIN + 10, grid.title, 18, bold=True)]
    if grid.subtitle:
        shapes.append(Label(MARGIN, MARGIN + 32, grid.subtitle, 12.5, fill=FAINT))
    for j, label in enumerate(grid.columns):
        middle = left + j * (field + GAP) + field / 2
        lift = 14 if grid.column_notes else 0
        shapes.append(Label(middle, top - 10 - lift, label, 13, bold=True, anchor="middle"))
        if grid.column_notes:
            shapes.append(Label(middle, top - 9, grid.column_notes[j], 10.5, fill=FAINT, anchor="middle"))
    y = top
    for i, label in enumerate(grid.rows):
        y += BREAK if i in grid.breaks else 0
        shapes.append(Label(left - 12, y + height / 2 + 4.5, label, 13, anchor="end"))
        for j in range(len(grid.columns)):
            shapes += _field(grid, i, j, left + j * (field + GAP), y, field, height)
        y += height + GAP
    width = left + len(grid.columns) * (field + GAP) - GAP + MARGIN
    y += 20
    if grid.legend:
        y = _legend(shapes, grid.legend, y, width)
    for note in grid.notes:
        for line in wrapped(note, width - 2 * MARGIN, 11.5):
            shapes.append(Label(MARGIN, y, line, 11.5, fill=FAINT))
            y += 17
    wide = max(width, 2 * MARGIN + text_width(grid.title, 18, True), 2 * MARGIN + text_width(grid.subtitle, 12.5))
    return Scene(wide, y + MARGIN - 14, shapes, grid.title)


def _field(grid: Grid, i: int, j: int, x: float, y: float, width: float, height: float) -> list[Box | Label]:
    share = _share(grid, i, j)
    fill = UNKNOWN if share is None else shade(share)
    dark = share is not None and share > DARK
    ink, small = ("#ffffff", "#ffffff") if dark else (INK, FAINT if share is None or share < LIGHT else INK)
    framed = (i, j) in grid.framed
    hint = f"{grid.rows[i]}, {grid.columns[j]}: {grid.texts[i][j]}" + (f" ({grid.small[i][j]})" if grid.small else "")
    shapes: list[Box | Label] = [Box(x, y, width, height, fill, FRAME if framed else "none", radius=4, hint=hint)]
    if framed:  # a frame of one stroke is lost beside a dark field
        shapes.append(Box(x + 1.2, y + 1.2, width - 2.4, height - 2.4, "none", FRAME, radius=3))
    middle, base = x + width / 2, y + height / 2 + (-2.0 if grid.small else 4.5)
    shapes.append(Label(middle, base, grid.texts[i][j], 13, bold=framed, fill=ink, anchor="middle"))
    if grid.small:
        shapes.append(Label(middle, base + 15, grid.small[i][j], 10, fill=small, anchor="middle"))
    return shapes


def _share(grid: Grid, i: int, j: int) -> float | None:
    """Where a value stands between the column's lightest (0) and darkest (1) colour; None for no value."""
    column = [row[j] for row in grid.values if math.isfinite(row[j])]
    value = grid.values[i][j]
    if not math.isfinite(value):
        return None
    low, high = grid.scales[j] if grid.scales else (min(column), max(column))
    return 0.5 if high <= low else min(max((value - low) / (high - low), 0.0), 1.0)


def shade(share: float) -> str:
    """The colour of a share between 0 and 1."""
    place = share * (len(STEPS) - 1)
    k = min(int(place), len(STEPS) - 2)
    return mix(STEPS[k], STEPS[k + 1], place - k)


def _legend(shapes: list[Box | Label], text: str, y: float, width: float) -> float:
    """A bar of all colours with its meaning beside it."""
    bar = 120.0
    steps = 24
    for k in range(steps):
        shapes.append(Box(MARGIN + k * bar / steps, y - 10, bar / steps + 0.4, 11, shade(k / (steps - 1))))
    for line in wrapped(text, width - 2 * MARGIN - bar - 12, 11.5):
        shapes.append(Label(MARGIN + bar + 12, y, line, 11.5, fill=INK))
        y += 17
    return y + 5


def wrapped(text: str, room: float, size: float) -> list[str]:
    """Lines of words that fit into ``room`` pixels."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
