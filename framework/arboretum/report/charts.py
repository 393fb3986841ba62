"""Charts of studies, and heat maps, as SVG and PNG: whoever has a picture as data needs one function."""

import itertools
import math
from os import PathLike
from typing import Any


from arboretum.errors import DataError
from arboretum.model.charts import BarChart, Chart, Grid, Line, LineChart, Panels, RankDiagram
from arboretum.report.palette import mix, place_between, series_colour
from arboretum.report.scene import FAINT, INK, text_width
from arboretum.report.sheet import GAP, TEXT, TICK, TITLE, Block, Sheet, hint, mark, sample, scale, styled, wrapped

CROWDED = 80  # points of a line from which on its marks are small
ROW = 19.0  # height of a named place on an upright axis
STEM, BAND, CONTROL = "#8a929c", "#f7d9c4", "#c2410c"


def chart_svg(chart: Chart) -> str:
    """The picture as an SVG document.  Raises DataError for what its axes cannot show."""
    return str(styled(lambda: chart_figure(chart), None))


def chart_png(chart: Chart, path: str | PathLike[str], scale: float = 2.0) -> None:
    """Write the picture as a PNG file.  Raises OSError when it cannot be written, DataError as :func:`chart_svg`."""
    styled(lambda: chart_figure(chart), path, scale)


def chart_figure(chart: Chart) -> Any:
    """The picture as a matplotlib Figure, in the style that is set."""
    if isinstance(chart, Panels):
        return _panels(chart)
    sheet = Sheet(chart.title)
    return sheet.finished(_DRAWN[type(chart)](chart, sheet))


def _panels(chart: Panels) -> Any:
    """The charts in rows of ``columns``; a legend they share stands above them."""
    legends = [[(h.get_label(), h.get_color() if hasattr(h, "get_color") else h.get_facecolor()) for h in _handles(part)] for part in chart.charts]
    common = bool(legends[0]) and all(legend == legends[0] for legend in legends)
    sheet = Sheet(chart.title, small=True, legends=not common)
    blocks = [_DRAWN[type(part)](part, sheet) for part in chart.charts]
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
        everything.legend(_handles(chart.charts[0]), room)
    everything.above(chart.subtitle, TEXT, room, gap=10.0)
    everything.above(chart.title, TITLE, room, bold=True)
    everything.below(chart.notes)
    return sheet.finished(everything)


def _handles(chart: Any) -> list[Any]:
    """What the legend of a chart shows."""
    if isinstance(chart, BarChart):
        return [sample(name, place, "bar") for place, name in enumerate(chart.series)]
    shown = [(line, number) for line, number in _coloured(chart) if not line.quiet] if isinstance(chart, LineChart) else []
    return [sample(one.label, number, "dashed" if one.dashed and not one.marked else "line" if one.joined else "dot") for one, number in shown]


def _coloured(chart: LineChart) -> list[tuple[Line, int]]:
    return [(line, place if line.colour is None else line.colour) for place, line in enumerate(chart.lines)]


def _lines(chart: LineChart, sheet: Sheet) -> Block:
    xs, ys = ([value for line in chart.lines for value in getattr(line, which)] for which in "xy")
    width, height = sheet.size
    axes = sheet.plot(*[1.25 * height] * 2 if chart.unit else (width, max(height, ROW * len(chart.y.names))))
    scale(axes, "x", chart.x, xs, 7)
    scale(axes, "y", chart.y, ys)
    axes.set(xlabel=chart.x.words, **dict.fromkeys(("xlim", "ylim"), (-0.03, 1.03)) if chart.unit else {})
    for line, number in _coloured(chart):
        if line.joined:
            steps = {"drawstyle": "steps-post"} if line.stairs else {}
            axes.plot(line.x, line.y, "--" if line.dashed else "-", color=series_colour(number), lw=1.3, **steps)
        for place, (x, y, error) in enumerate(itertools.zip_longest(line.x, line.y, line.errors, fillvalue=math.nan)):
            _error(axes, x, y, error, series_colour(number))
            if line.marked and math.isfinite(x) and math.isfinite(y) and not (line.links and line.links[place] is None):
                words = ", ".join([f"{line.label}: {chart.x.label} {x:.6g}", *([] if chart.y.names else [f"{chart.y.label} {y:.6g}"])])
                mark(axes, x, y, number, words, 6.0 if len(line.x) < CROWDED else 3.5, line.links[place] if line.links else "")
    return sheet.head(Block([axes]), chart, _handles(chart), chart.y.words)


def _error(axes: Any, x: float, y: float, error: float, colour: str) -> None:
    if math.isfinite(y) and math.isfinite(error) and error > 0:
        axes.errorbar(x, y, error, fmt="none", ecolor=colour, elinewidth=0.9, zorder=3)


BAR, PANEL = 9.4, 86.0  # width of a bar, and height of its plot


def _bars(chart: BarChart, sheet: Sheet) -> Block:
    if chart.axis.log and chart.base <= 0:
        raise DataError(f"bars on a logarithmic axis need a base above 0, not {chart.base:g}: base=1, or a linear axis")
    axes = sheet.plot(max(BAR * len(chart.series) + 8, 46.0), PANEL)
    scale(axes, "y", chart.axis, [chart.base, *chart.values, *chart.beside], 4)
    axes.update_datalim([(0, value) for value in chart.beside])
    axes.set(xlim=(-0.9, len(chart.series) - 0.1), xticks=[])
    axes.spines.bottom.set_position(("data", chart.base))
    for s, (value, error) in enumerate(itertools.zip_longest(chart.values, chart.errors, fillvalue=math.nan)):
        if not math.isfinite(value):
            axes.annotate("–", (s, chart.base), (0, 3), "data", "offset points", color=FAINT, ha="center")
            continue
        (bar,) = axes.bar(s, value - chart.base, 0.85, chart.base, color=series_colour(s))
        hint(bar, f"{chart.title}, {chart.series[s]}: {value:.6g}" + (f" ± {error:.2g}" if math.isfinite(error) else ""))
        _error(axes, s, value, error, INK)
    return sheet.head(Block([axes]), chart, _handles(chart), chart.axis.words)


def _ranks(chart: RankDiagram, sheet: Sheet) -> Block:
    """scikit-posthocs' critical-difference diagram (after Demšar 2006, Figure 1), with the interval around a control."""
    from pandas import DataFrame
    from scikit_posthocs import critical_difference_diagram

    k = len(chart.methods)
    width = (300.0 if sheet.small else 375.0) + 7.0 * max(0, k - 8)
    axes = sheet.plot(width, 1.0)
    p = DataFrame(0.0, range(k), range(k))
    for group in chart.groups:
        p.loc[list(group), list(group)] = 1.0
    drawn = critical_difference_diagram(
        dict(enumerate(chart.ranks)), p, ax=axes, label_fmt_left="{label}", label_fmt_right="{label}", text_h_margin=0.02 * k,
        elbow_props={"color": STEM, "lw": 0.9}, marker_props={"s": 18},
        crossbar_props={"color": INK, "linewidth": 2.6, "marker": "", "solid_capstyle": "round", "gid": "bar"},
    )  # fmt: skip
    for mark_, elbow, label in zip(drawn["markers"], drawn["elbows"], drawn["labels"], strict=True):
        m = int(label.get_text())
        name, rank = chart.methods[m], f"{chart.ranks[m]:.2f}"
        label.set(text=f"{rank}  {name} " if label.get_ha() == "right" else f" {name}  {rank}", color=INK)
        hint(mark_, f"{name}: average rank {chart.ranks[m]:.4g}")
        if m == chart.control:
            label.set(color=CONTROL, weight="bold")
            elbow.set(color=CONTROL, lw=1.4)
            mark_.set_color(CONTROL)
    if chart.interval is not None:
        low, high = (min(max(edge, 1.0), max(k, 2.0)) for edge in chart.interval)
        axes.fill_between([low, high], -0.25, 0.25, color=BAND, zorder=0, lw=0, gid="interval")
    words, level = chart.test, 0.0
    if chart.critical_difference is not None:
        words = f"critical difference {chart.critical_difference:.2f}" + (f" ({chart.test})" if chart.test else "")
        if chart.critical_difference <= max(k, 2) - 1:
            level = 1.9
            axes.plot([1, 1 + chart.critical_difference], [level, level], "|-", color=INK, lw=1.4, ms=7, mew=1.1)
    axes.spines.top.set(visible=True, color=INK)
    axes.tick_params("x", color=INK, labelcolor=INK, labelsize=TEXT)
    axes.grid(False)
    low, high = min(label.get_position()[1] for label in drawn["labels"]) - 0.5, level + 0.5
    axes.set(xlim=(1, max(k, 2)), xticks=range(1, max(k, 2) + 1), ylim=(low, high))
    axes.set_position((0, 0, width / 72, 13.5 * (high - low) / 72))
    return sheet.head(Block([axes]), chart, (), words)


STEPS = ("#f6f9fc", "#cfe0f1", "#7fb0d8", "#2f73ad", "#123f72")
"""From least to most; each step is darker also in grey."""
UNKNOWN = "#ececec"
DARK = 0.68  # share of the scale above which white can be read
BREAK = 0.3  # between parts of the rows, as a share of a row


def _heat_map(grid: Grid, sheet: Sheet) -> Block:
    """A field per number, labels around, the legend below."""
    words = [line for row in (*grid.texts, grid.columns) for text in row for line in text.splitlines()]
    width, height = max([60.0, *(text_width(line, TEXT, bold=True) + 12 for line in words)]), max(text.count("\n") for row in grid.texts for text in row)
    tops = [i + BREAK * sum(1 for at in grid.breaks if 0 < at <= i) for i in range(len(grid.rows))]
    end = tops[-1] + 1
    axes = sheet.plot(width * len(grid.columns), (23.0 + 12.0 * height) * end)
    axes.set(xlim=(0, len(grid.columns)), ylim=(end, 0), xticks=[], yticks=[top + 0.5 for top in tops], yticklabels=grid.rows)
    axes.tick_params("y", labelsize=TEXT, labelcolor=INK)
    axes.spines.bottom.set_visible(False)
    axes.grid(False)
    for j, label in enumerate(grid.columns):
        axes.annotate(label, (j + 0.5, 0), (0, 4), "data", "offset points", ha="center", va="bottom", weight="bold")
    for i, top in enumerate(tops):
        for j in range(len(grid.columns)):
            _field(axes, grid, i, j, top)
    block = Block([axes])
    if grid.legend:
        ends = block.extent()
        block.words(wrapped(grid.legend, max(ends.width, 220.0), TICK), ends.x0, ends.y0 - 7, fontsize=TICK, va="top")
    return sheet.head(block, grid)


def _field(axes: Any, grid: Grid, i: int, j: int, top: float) -> None:
    from matplotlib.patches import Rectangle

    value, share = grid.values[i][j], None
    if math.isfinite(value):
        column = [row[j] for row in grid.values if math.isfinite(row[j])]
        share = place_between(value, *(grid.scales[j] if grid.scales else (min(column), max(column))))
    framed = (i, j) in grid.framed
    edge = {"edgecolor": CONTROL, "lw": 1.8} if framed else {"lw": 0}
    box = axes.add_patch(Rectangle((j + 0.02, top + 0.05), 0.96, 0.9, fc=UNKNOWN if share is None else shade(share), clip_on=False, **edge))
    hint(box, f"{grid.rows[i]}, {' '.join(f'{grid.columns[j]}: {grid.texts[i][j]}'.split())}")
    look = {"color": "#ffffff" if share is not None and share > DARK else INK, "weight": "bold" if framed else "normal"}
    axes.text(j + 0.5, top + 0.5, grid.texts[i][j], ha="center", va="center", **look)


def shade(share: float) -> str:
    """The colour of a share between 0 and 1."""
    place = share * (len(STEPS) - 1)
    k = min(int(place), len(STEPS) - 2)
    return mix(STEPS[k], STEPS[k + 1], place - k)


_DRAWN = {RankDiagram: _ranks, BarChart: _bars, LineChart: _lines, Grid: _heat_map}
