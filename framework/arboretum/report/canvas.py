"""What all charts share: headline, legend, notes, and the picture's size in the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from arboretum.report.heatmap import MARGIN, wrapped
from arboretum.report.palette import series_colour, series_form
from arboretum.report.scene import FAINT, Box, Dot, Label, Scene, Shape, Stroke, text_width

TITLE, SUBTITLE, NOTE, WORD = 18.0, 12.5, 11.5, 12.0
SMALL_TITLE = 14.0
"""Of a panel among others."""
PLOT = (560.0, 330.0)
"""Width and height of one plot, axes excepted."""
SMALL_PLOT = (370.0, 220.0)


@attrs.frozen
class Entry:
    """One line of a legend: a mark, a bar's swatch or a line, with its name."""

    label: str
    colour: int
    look: str = "dot"


@attrs.frozen
class Style:
    """How a chart is drawn: alone, or as a panel of several, smaller and with the legend elsewhere."""

    small: bool = False
    legend: bool = True

    @property
    def plot(self) -> tuple[float, float]:
        """Width and height of the plot."""
        return SMALL_PLOT if self.small else PLOT


@attrs.define
class Canvas:
    """A picture that grows downwards; ``y`` is where the next part may start."""

    title: str
    width: float
    style: Style = Style()
    shapes: list[Shape] = attrs.field(factory=list)
    y: float = MARGIN

    def head(self, subtitle: str) -> None:
        """Headline, and a line (or lines) under it."""
        size = SMALL_TITLE if self.style.small else TITLE
        room = self.width - 2 * MARGIN
        for line in wrapped(self.title, room, size * 1.07):  # bold
            self.shapes.append(Label(MARGIN, self.y + 10, line, size, bold=True))
            self.y += size + 5
        for line in wrapped(subtitle, room, SUBTITLE):
            self.shapes.append(Label(MARGIN, self.y + 9, line, SUBTITLE, fill=FAINT))
            self.y += 17
        self.y += 12

    def legend(self, entries: Sequence[Entry]) -> None:
        """The entries side by side, in as many lines as they need; nothing for fewer than two."""
        if len(entries) < 2 or not self.style.legend:
            return
        x = MARGIN
        for entry in entries:
            width = 20 + text_width(entry.label, WORD)
            if x > MARGIN and x + width > self.width - MARGIN:
                x, self.y = MARGIN, self.y + 19
            self.shapes += _sample(entry, x + 7, self.y + 4)
            self.shapes.append(Label(x + 18, self.y + 8.5, entry.label, WORD))
            x += width + 18
        self.y += 28

    def notes(self, notes: Iterable[str]) -> None:
        """Sentences at the bottom."""
        for note in notes:
            for line in wrapped(note, self.width - 2 * MARGIN, NOTE):
                self.shapes.append(Label(MARGIN, self.y + 10, line, NOTE, fill=FAINT))
                self.y += 17

    def scene(self) -> Scene:
        """The finished picture; wider than planned where a word did not fit."""
        right = max((label_box(shape)[2] for shape in self.shapes if isinstance(shape, Label)), default=0.0)
        return Scene(max(self.width, right + MARGIN / 2), self.y + MARGIN - 8, self.shapes, self.title)


def _sample(entry: Entry, x: float, y: float) -> list[Shape]:
    colour = series_colour(entry.colour)
    if entry.look == "bar":
        return [Box(x - 5, y - 5, 10, 10, colour, radius=1.5)]
    if entry.look == "dashed":
        return [Stroke([(x - 8, y), (x + 8, y)], 1.6, colour, dashed=True)]
    line = [Stroke([(x - 8, y), (x + 8, y)], 1.8, colour)] if entry.look == "line" else []
    return [*line, Dot(x, y, 4.2, colour, form=series_form(entry.colour))]


def label_box(label: Label) -> tuple[float, float, float, float]:
    """Left, top, right, bottom of a label, estimated on the safe side."""
    width = text_width(label.text, label.size, label.bold)
    left = label.x - {"start": 0.0, "middle": width / 2, "end": width}[label.anchor]
    return left, label.y - 0.78 * label.size, left + width, label.y + 0.22 * label.size


def axis_words(label: str, higher_is_better: bool | None) -> str:
    """An axis' label with its direction."""
    return label if higher_is_better is None else f"{label} ({'higher' if higher_is_better else 'lower'} is better)"
