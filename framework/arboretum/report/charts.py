"""Charts of studies as SVG and PNG: whoever has a picture as data needs one function."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from arboretum.errors import DataError
from arboretum.model.charts import BarChart, Chart, Line, LineChart, Panels, RankDiagram
from arboretum.report.palette import series_colour
from arboretum.report.rank_diagram import draw_ranks
from arboretum.report.scene import FAINT, INK
from arboretum.report.sheet import (
    GAP,
    TEXT,
    TITLE,
    Block,
    Sheet,
    hint,
    mark,
    sample,
    save_in_style,
    scale,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

CROWDED = 80  # points of a line from which on its marks are small
ROW = 19.0  # height of a named place on an upright axis


def chart_svg(chart: Chart) -> str:
    """Return the picture as an SVG document.  Raises DataError for what its axes cannot show."""
    return str(save_in_style(lambda: chart_figure(chart), None))


def chart_png(chart: Chart, path: str | PathLike[str], scale: float = 2.0) -> None:
    """Write the picture as a PNG file.  Raises OSError when it cannot be written, DataError as
    :func:`chart_svg`.
    """
    save_in_style(lambda: chart_figure(chart), path, scale)


def chart_figure(chart: Chart) -> Figure:
    """Return the picture as a matplotlib Figure, in the style that is set."""
    if isinstance(chart, Panels):
        return _draw_panels(chart)
    sheet = Sheet(chart.title)
    return sheet.finish(_draw_chart(chart, sheet))


def _draw_chart(chart: object, sheet: Sheet) -> Block:
    """Return a chart drawn on the sheet: by its own ``drawn``, or as this module draws its type."""
    block: Block = (
        chart.drawn(sheet) if hasattr(chart, "drawn") else _DRAWN[type(chart)](chart, sheet)
    )
    return block


def _draw_panels(chart: Panels) -> Figure:
    """Return the charts in rows of ``columns``; a legend they share stands above them."""
    legends = [
        [
            (h.get_label(), h.get_color() if hasattr(h, "get_color") else h.get_facecolor())
            for h in _legend_handles(part)
        ]
        for part in chart.charts
    ]
    common = bool(legends[0]) and all(legend == legends[0] for legend in legends)
    sheet = Sheet(chart.title, small=True, legends=not common)
    blocks = [_draw_chart(part, sheet) for part in chart.charts]
    columns, ends = max(1, min(chart.columns, len(blocks))), [block.extent() for block in blocks]
    widths, y = [max(end.width for end in ends[c::columns]) for c in range(columns)], 0.0
    for at, (block, end) in enumerate(zip(blocks, ends, strict=True)):
        c = at % columns
        block.move(sum(widths[:c]) + GAP * c - end.x0, y - end.y1)
        if c == columns - 1:
            y -= max(end.height for end in ends[at - c : at + 1]) + GAP
    everything = Block([plot for block in blocks for plot in block.plots])
    room = everything.extent().x1
    if common:
        everything.legend(_legend_handles(chart.charts[0]), room)
    everything.above(chart.subtitle, TEXT, room, gap=10.0)
    everything.above(chart.title, TITLE, room, bold=True)
    everything.below(chart.notes)
    return sheet.finish(everything)


def _legend_handles(chart: object) -> list[Line2D | Patch]:
    """Return what the legend of a chart shows."""
    if isinstance(chart, BarChart):
        return [sample(name, place, "bar") for place, name in enumerate(chart.series)]
    shown = (
        [(line, number) for line, number in _coloured(chart) if not line.quiet]
        if isinstance(chart, LineChart)
        else []
    )
    return [
        sample(
            one.label,
            number,
            "dashed" if one.dashed and not one.marked else "line" if one.joined else "dot",
        )
        for one, number in shown
    ]


def _coloured(chart: LineChart) -> list[tuple[Line, int]]:
    """Return each line with the number of its colour: its own, else its place."""
    return [
        (line, place if line.colour is None else line.colour)
        for place, line in enumerate(chart.lines)
    ]


def _draw_lines(chart: LineChart, sheet: Sheet) -> Block:
    """Return a chart of lines: points, their errors, and what a pointer reads over each."""
    xs, ys = ([value for line in chart.lines for value in getattr(line, which)] for which in "xy")
    width, height = sheet.size
    axes = sheet.plot(
        *[1.25 * height] * 2 if chart.unit else (width, max(height, ROW * len(chart.y.names)))
    )
    scale(axes, "x", chart.x, xs, 7)
    scale(axes, "y", chart.y, ys)
    axes.set(
        xlabel=chart.x.words, **dict.fromkeys(("xlim", "ylim"), (-0.03, 1.03)) if chart.unit else {}
    )
    for line, number in _coloured(chart):
        if line.joined:
            axes.plot(
                line.x,
                line.y,
                "--" if line.dashed else "-",
                color=series_colour(number),
                lw=1.3,
                drawstyle="steps-post" if line.stairs else "default",
            )
        for place, (x, y, error) in enumerate(
            itertools.zip_longest(line.x, line.y, line.errors, fillvalue=math.nan)
        ):
            _draw_error(axes, x, y, error, series_colour(number))
            if (
                line.marked
                and math.isfinite(x)
                and math.isfinite(y)
                and not (line.links and line.links[place] is None)
            ):
                words = ", ".join(
                    [
                        f"{line.label}: {chart.x.label} {x:.6g}",
                        *([] if chart.y.names else [f"{chart.y.label} {y:.6g}"]),
                    ]
                )
                size = 6.0 if len(line.x) < CROWDED else 3.5
                link = (line.links[place] or "") if line.links else ""
                mark(axes, x, y, number, words, size, link)
    return sheet.head(Block([axes]), chart, _legend_handles(chart), chart.y.words)


def _draw_error(axes: Axes, x: float, y: float, error: float, colour: str) -> None:
    """Draw a bar of ``error`` up and down from a point; nothing for NaN or 0."""
    if math.isfinite(y) and math.isfinite(error) and error > 0:
        axes.errorbar(x, y, error, fmt="none", ecolor=colour, elinewidth=0.9, zorder=3)


BAR, PANEL = 9.4, 86.0  # width of a bar, and height of its plot


def _draw_bars(chart: BarChart, sheet: Sheet) -> Block:
    """Return a chart of bars from a base; raises DataError for base 0 on a logarithmic axis."""
    if chart.axis.log and chart.base <= 0:
        raise DataError(
            f"bars on a logarithmic axis need a base above 0, not {chart.base:g}: base=1, or "
            "a linear axis"
        )
    axes = sheet.plot(max(BAR * len(chart.series) + 8, 46.0), PANEL)
    scale(axes, "y", chart.axis, [chart.base, *chart.values, *chart.beside], 4)
    axes.update_datalim([(0, value) for value in chart.beside])
    axes.set(xlim=(-0.9, len(chart.series) - 0.1), xticks=[])
    axes.spines.bottom.set_position(("data", chart.base))
    for s, (value, error) in enumerate(
        itertools.zip_longest(chart.values, chart.errors, fillvalue=math.nan)
    ):
        if not math.isfinite(value):
            axes.annotate(
                "–", (s, chart.base), (0, 3), "data", "offset points", color=FAINT, ha="center"
            )
            continue
        (bar,) = axes.bar(s, value - chart.base, 0.85, chart.base, color=series_colour(s))
        hint(
            bar,
            f"{chart.title}, {chart.series[s]}: {value:.6g}"
            + (f" ± {error:.2g}" if math.isfinite(error) else ""),
        )
        _draw_error(axes, s, value, error, INK)
    return sheet.head(Block([axes]), chart, _legend_handles(chart), chart.axis.words)


_DRAWN: Mapping[type, Callable[[Any, Sheet], Block]] = {
    BarChart: _draw_bars,
    LineChart: _draw_lines,
    RankDiagram: draw_ranks,
}
