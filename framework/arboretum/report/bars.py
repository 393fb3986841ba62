"""Bars: a small panel per data set, a bar per method in the method's colour."""

from __future__ import annotations

import math
from collections.abc import Sequence

from arboretum.errors import DataError
from arboretum.model.charts import BarChart
from arboretum.report.axes import Scale, room_of, upright_axis
from arboretum.report.canvas import WORD, Canvas, Entry, Style, axis_words
from arboretum.report.heatmap import MARGIN
from arboretum.report.palette import series_colour
from arboretum.report.scene import FAINT, INK, LINE, Box, Label, Scene, Stroke, fit_text, text_width

BAR, GAP, HEIGHT = 13.0, 26.0, 120.0
LONGEST_NAME = 170.0
WIDEST = 1060.0
"""Pixels after which panels go on in the next row."""


def bar_scene(chart: BarChart, style: Style | None = None) -> Scene:
    """Compose the panels, in rows.  Raises DataError for values below the base of a logarithmic axis."""
    style = style or Style()
    if chart.axis.log and chart.base <= 0:
        raise DataError(f"bars on a logarithmic axis need a base above 0, not {chart.base:g}: base=1, or a linear axis")
    panel = max(BAR * len(chart.series) + 10, 64.0)
    scales = _scales(chart)
    room = max(room_of(scale) for scale in scales)
    # with a scale for all, only the first panel of a row has its labels
    names = max((text_width(name, WORD, True) for name in chart.groups), default=0.0) + 12
    step = max(panel + GAP + (room if chart.own_scales else 0.0), min(names, LONGEST_NAME))
    first = MARGIN + room
    per_row = max(1, min(len(chart.groups), int((WIDEST - first - MARGIN + GAP) // step)))
    legend = max((text_width(name, WORD) for name in chart.series), default=0.0) + 18
    width = max(first + per_row * step - GAP + MARGIN, 2 * MARGIN + legend, 420.0)
    canvas = Canvas(chart.title, width, style)
    canvas.head(chart.subtitle)
    canvas.legend(legend_of_bars(chart))
    canvas.shapes.append(Label(MARGIN, canvas.y + 8, axis_words(chart.axis.label, chart.axis.higher_is_better), WORD, fill=FAINT))
    canvas.y += 22
    for start in range(0, len(chart.groups), per_row):
        for place, g in enumerate(range(start, min(start + per_row, len(chart.groups)))):
            _panel(canvas, chart, g, scales[g], first + place * step, panel, labels=chart.own_scales or place == 0, room=step - 12)
        canvas.y += HEIGHT + 42
    canvas.y -= 8
    missing = any(not math.isfinite(value) for group in chart.values for value in group)
    canvas.notes([*(["–: no result."] if missing else []), *chart.notes])
    return canvas.scene()


def legend_of_bars(chart: BarChart) -> list[Entry]:
    """What the legend of a bar chart shows."""
    return [Entry(name, place, "bar") for place, name in enumerate(chart.series)]


def _scales(chart: BarChart) -> list[Scale]:
    """Per panel its scale, from pixel HEIGHT up to 0."""
    ends = [_ends(chart, g) for g in range(len(chart.groups))]
    everything = [end for group in ends for end in group]
    return [
        Scale.over(group if chart.own_scales else everything, HEIGHT, 0.0, log=chart.axis.log, count=4, keep=chart.base)
        for group in ends
    ]


def _ends(chart: BarChart, g: int) -> list[float]:
    """The values of a group, and where their error bars end."""
    values = list(chart.values[g])
    for value, error in zip(values[:], chart.errors[g] if chart.errors else (), strict=False):
        if math.isfinite(value + error):
            values += [value + error] if chart.axis.log or value - error < chart.base <= value else [value - error, value + error]
    return values


def _panel(
    canvas: Canvas, chart: BarChart, g: int, scale: Scale, left: float, width: float, *, labels: bool, room: float
) -> None:
    """One data set: its name, its axis, its bars."""
    top = canvas.y + 16
    scale = Scale(scale.low, scale.high, top + HEIGHT, top, scale.log, scale.count)
    name = fit_text(chart.groups[g], room, WORD, bold=True)
    canvas.shapes.append(Label(left, top - 8, name, WORD, bold=True))
    canvas.shapes += upright_axis(scale, left, left + width, labels=labels)
    ground = scale.at(chart.base)
    start = left + (width - BAR * len(chart.series)) / 2
    for s, value in enumerate(chart.values[g]):
        x = start + BAR * s
        error = chart.errors[g][s] if chart.errors else math.nan
        if not math.isfinite(value):
            canvas.shapes.append(Label(x + BAR / 2, ground - 4, "–", WORD, fill=FAINT, anchor="middle"))
            continue
        y = scale.at(value)
        spread = f" ± {error:.2g}" if math.isfinite(error) else ""
        hint = f"{chart.groups[g]}, {chart.series[s]}: {value:.6g}{spread}"
        fill = series_colour(s)
        canvas.shapes.append(Box(x + 1, min(y, ground), BAR - 2, max(abs(y - ground), 0.5), fill, radius=0.0, hint=hint))
        if math.isfinite(error) and error > 0:
            low = max(value - error, scale.low)
            canvas.shapes.append(Stroke([(x + BAR / 2, scale.at(low)), (x + BAR / 2, scale.at(value + error))], 1.2, INK))
    canvas.shapes.append(Stroke([(left, ground), (left + width, ground)], 1.0, LINE))


def shared(legends: Sequence[Sequence[Entry]]) -> Sequence[Entry]:
    """The entries that all of several legends have, if they are the same; else ()."""
    return legends[0] if legends and all(list(other) == list(legends[0]) for other in legends) else ()
