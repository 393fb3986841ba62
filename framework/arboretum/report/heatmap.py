"""A grid of numbers as a heat map: darker is more, every number stands in its field."""

from __future__ import annotations

import math
from typing import Any

from arboretum.model.charts import Grid
from arboretum.report.palette import mix
from arboretum.report.scene import FAINT, INK, text_width
from arboretum.report.sheet import TEXT, TICK, Block, Sheet, hint, wrapped

STEPS = ("#f6f9fc", "#cfe0f1", "#7fb0d8", "#2f73ad", "#123f72")
"""From least to most; each step is darker also in grey."""
UNKNOWN = "#ececec"
FRAME = "#c2410c"
LIGHT, DARK = 0.25, 0.68
"""Shares of the scale below which grey, and above which white, can be read."""
BREAK = 0.3
"""Between parts of the rows, as a share of a row."""


def heat_map(grid: Grid, sheet: Sheet) -> Block:
    """A field per number, labels around, the legend below."""
    words = [text for lines in (grid.texts, grid.small, [grid.columns], [grid.column_notes]) for line in lines for text in line]
    field = max([60.0, *(text_width(text, TEXT, bold=True) + 12 for text in words)])
    tops = [i + BREAK * sum(1 for at in grid.breaks if 0 < at <= i) for i in range(len(grid.rows))]
    end = tops[-1] + 1
    axes = sheet.plot(field * len(grid.columns), (31.0 if grid.small else 23.0) * end)
    axes.set(xlim=(0, len(grid.columns)), ylim=(end, 0), xticks=[], yticks=[top + 0.5 for top in tops], yticklabels=grid.rows)
    axes.tick_params("y", labelsize=TEXT, labelcolor=INK)
    axes.spines.bottom.set_visible(False)
    axes.grid(False)
    lift = 12 if grid.column_notes else 0
    for j, label in enumerate(grid.columns):
        axes.annotate(label, (j + 0.5, 0), (0, 4 + lift), "data", "offset points", ha="center", weight="bold")
        if lift:
            axes.annotate(grid.column_notes[j], (j + 0.5, 0), (0, 4), "data", "offset points", ha="center", fontsize=TICK, color=FAINT)
    for i, top in enumerate(tops):
        for j in range(len(grid.columns)):
            _field(axes, grid, i, j, top)
    block = Block([axes])
    if grid.legend:
        _legend(block, grid.legend)
    return sheet.head(block, grid)


def _field(axes: Any, grid: Grid, i: int, j: int, top: float) -> None:
    from matplotlib.patches import Rectangle

    share = _share(grid, i, j)
    dark = share is not None and share > DARK
    ink, small = ("#ffffff", "#ffffff") if dark else (INK, FAINT if share is None or share < LIGHT else INK)
    framed = (i, j) in grid.framed
    colour = UNKNOWN if share is None else shade(share)
    edge = {"edgecolor": FRAME, "lw": 1.8} if framed else {"lw": 0}
    box = axes.add_patch(Rectangle((j + 0.02, top + 0.05), 0.96, 0.9, facecolor=colour, clip_on=False, **edge))
    hint(box, f"{grid.rows[i]}, {grid.columns[j]}: {grid.texts[i][j]}" + (f" ({grid.small[i][j]})" if grid.small else ""))
    weight = "bold" if framed else "normal"
    axes.text(j + 0.5, top + (0.36 if grid.small else 0.5), grid.texts[i][j], color=ink, weight=weight, ha="center", va="center")
    if grid.small:
        axes.text(j + 0.5, top + 0.73, grid.small[i][j], color=small, fontsize=7, ha="center", va="center")


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


def _legend(block: Block, text: str) -> None:
    """All colours from least to most under the fields, their meaning below."""
    ends = block.extent()
    block.words(wrapped(text, max(ends.width - 100, 220.0), TICK), ends.x0 + 98, ends.y0 - 7, fontsize=TICK, va="top")
    for k in range(24):
        block.words(" ", ends.x0 + 3.7 * k, ends.y0 - 14, fontsize=4, bbox={"fc": shade(k / 23), "lw": 0, "boxstyle": "square,pad=0.55"})
