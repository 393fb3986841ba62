"""A table of numbers as coloured fields, with the words that stand in each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from arboretum.api import (
    Facts,
    palette,
    scene,
    sheet as sheets,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


CONTROL = "#c2410c"
STEPS = ("#f6f9fc", "#cfe0f1", "#7fb0d8", "#2f73ad", "#123f72")
"""From least to most; each step is darker also in grey."""
UNKNOWN = "#ececec"
DARK = 0.68  # share of the scale above which white can be read
BREAK = 0.3  # between parts of the rows, as a share of a row


@attrs.frozen
class Grid:
    """A table that is shown as coloured fields, with the words that stand in each: a heat map.

    rows, columns : labels.
    values : float[rows][columns], what is coloured.
    texts : str[rows][columns], what stands in a field, in any number of lines, as a column's label.
    breaks : numbers of the rows before which a gap is left.
    scales : per column the values of the lightest and the darkest colour; () for the column's own
        least and largest.
    framed : (row, column) of fields with a frame around them.
    legend : what colours and frames mean.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]
    texts: Sequence[Sequence[str]]
    subtitle: str = ""
    breaks: Sequence[int] = ()
    scales: Sequence[tuple[float, float]] = ()
    framed: frozenset[tuple[int, int]] = frozenset()
    legend: str = ""
    notes: Sequence[str] = ()

    def drawn(self, sheet: sheets.Sheet) -> sheets.Block:
        """Return a field per number, labels around, the legend below."""
        words = [
            line
            for row in (*self.texts, self.columns)
            for text in row
            for line in text.splitlines()
        ]
        width = max(
            [60.0, *(scene.text_width(line, sheets.TEXT, bold=True) + 12 for line in words)]
        )
        height = max(text.count("\n") for row in self.texts for text in row)
        tops = [
            i + BREAK * sum(1 for at in self.breaks if 0 < at <= i) for i in range(len(self.rows))
        ]
        end = tops[-1] + 1
        axes = sheet.plot(width * len(self.columns), (23.0 + 12.0 * height) * end)
        axes.set(
            xlim=(0, len(self.columns)),
            ylim=(end, 0),
            xticks=[],
            yticks=[top + 0.5 for top in tops],
            yticklabels=self.rows,
        )
        axes.tick_params("y", labelsize=sheets.TEXT, labelcolor=scene.INK)
        axes.spines.bottom.set_visible(False)
        axes.grid(False)
        for j, label in enumerate(self.columns):
            axes.annotate(
                label,
                (j + 0.5, 0),
                (0, 4),
                "data",
                "offset points",
                ha="center",
                va="bottom",
                weight="bold",
            )
        for i, top in enumerate(tops):
            for j in range(len(self.columns)):
                self._field(axes, i, j, top)
        block = sheets.Block([axes])
        if self.legend:
            ends = block.extent()
            block.words(
                sheets.wrap_words(self.legend, max(ends.width, 220.0), sheets.TICK),
                ends.x0,
                ends.y0 - 7,
                fontsize=sheets.TICK,
                va="top",
            )
        return sheet.head(block, self)

    def _field(self, axes: Axes, i: int, j: int, top: float) -> None:
        """Draw the field in row i, column j, whose upper edge is ``top``, with its text and
        a hint.
        """
        from matplotlib.patches import Rectangle

        value, share = self.values[i][j], None
        if math.isfinite(value):
            column = [row[j] for row in self.values if math.isfinite(row[j])]
            share = palette.place_between(
                value, *(self.scales[j] if self.scales else (min(column), max(column)))
            )
        framed = (i, j) in self.framed
        edge = {"edgecolor": CONTROL, "lw": 1.8} if framed else {"lw": 0}
        box = axes.add_patch(
            Rectangle(
                (j + 0.02, top + 0.05),
                0.96,
                0.9,
                fc=UNKNOWN if share is None else shade(share),
                clip_on=False,
                **edge,
            )
        )
        sheets.hint(
            box, f"{self.rows[i]}, {' '.join(f'{self.columns[j]}: {self.texts[i][j]}'.split())}"
        )
        look: Facts = {
            "color": "#ffffff" if share is not None and share > DARK else scene.INK,
            "weight": "bold" if framed else "normal",
        }
        axes.text(j + 0.5, top + 0.5, self.texts[i][j], ha="center", va="center", **look)


def shade(share: float) -> str:
    """Return the colour of a share between 0 and 1."""
    place = share * (len(STEPS) - 1)
    k = min(int(place), len(STEPS) - 2)
    return palette.mix(STEPS[k], STEPS[k + 1], place - k)
