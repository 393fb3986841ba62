"""A critical-difference diagram: a line of ranks, a name per method on a line of its own, bars over those alike.

Form after Demšar 2006, Figure 1.  Names stand left and right of the line, in rows as far apart as a name is high, so that no
two touch, however close their ranks are.
"""

from __future__ import annotations

from collections.abc import Sequence

from arboretum.model.charts import RankDiagram
from arboretum.report.axes import Scale
from arboretum.report.canvas import SUBTITLE, WORD, Canvas, Style
from arboretum.report.heatmap import MARGIN
from arboretum.report.scene import FAINT, INK, Box, Dot, Label, Scene, Shape, Stroke, text_width

ROW, BAR_STEP = 21.0, 9.0
BAR = "#1f2328"
STEM = "#8a929c"
BAND = "#f7d9c4"
CONTROL = "#c2410c"


def rank_scene(chart: RankDiagram, style: Style | None = None) -> Scene:
    """Compose the diagram."""
    style = style or Style()
    order = sorted(range(len(chart.methods)), key=lambda m: (chart.ranks[m], m))
    left_side, right_side = order[: (len(order) + 1) // 2], order[(len(order) + 1) // 2 :][::-1]
    names = max(text_width(chart.methods[m], WORD, True) for m in order) + text_width("00.00", WORD) + 12
    line = (420.0 if style.small else 520.0) + 10.0 * max(0, len(order) - 8)
    width = 2 * (MARGIN + names + 24) + line
    canvas = Canvas(chart.title, width, style)
    canvas.head(chart.subtitle)
    scale = Scale(1.0, float(max(len(order), 2)), MARGIN + names + 24, MARGIN + names + 24 + line)
    _ruler(canvas, chart, scale)
    top = canvas.y + 20
    bars = _bar_rows(chart)
    depth = 12 + BAR_STEP * (max((row for row, *_ in bars), default=-1) + 1)
    _line(canvas, chart, scale, top, depth)
    rows = 0
    for side, sign, edge in ((left_side, -1, scale.start), (right_side, 1, scale.end)):
        for row, m in enumerate(side):
            canvas.shapes += _stem(chart, m, scale.at(chart.ranks[m]), top, top + depth + 10 + ROW * row, edge + sign * 14, sign)
        rows = max(rows, len(side))
    for row, first, last, members in bars:
        canvas.shapes += _bar(chart, scale, top + 12 + BAR_STEP * row, first, last, members)
    canvas.y = top + depth + 10 + ROW * rows + 6
    canvas.notes(chart.notes)
    return canvas.scene()


def _ruler(canvas: Canvas, chart: RankDiagram, scale: Scale) -> None:
    """The critical difference as a length, above the line, with the test in words."""
    if chart.critical_difference is None and not chart.test:
        return
    x, words = scale.start, chart.test
    if chart.critical_difference is not None:
        length = scale.at(1 + chart.critical_difference) - scale.at(1)
        words = f"critical difference {chart.critical_difference:.2f}" + (f" ({chart.test})" if chart.test else "")
        if length <= scale.end - scale.start:
            y = canvas.y + 4
            canvas.shapes.append(Stroke([(x, y), (x + length, y)], 2, INK))
            canvas.shapes += [Stroke([(end, y - 4), (end, y + 4)], 1.4, INK) for end in (x, x + length)]
            x += length + 12
    if x + text_width(words, SUBTITLE) > canvas.width - MARGIN:  # no room beside the length: under it
        x, canvas.y = MARGIN, canvas.y + 17
    canvas.shapes.append(Label(x, canvas.y + 8, words, SUBTITLE, fill=FAINT))
    canvas.y += 22


def _line(canvas: Canvas, chart: RankDiagram, scale: Scale, top: float, depth: float) -> None:
    """The line of ranks with its ticks, over the band around the control."""
    k = round(scale.high)
    if chart.interval is not None:
        low, high = (min(max(edge, scale.low), scale.high) for edge in chart.interval)
        x = scale.at(low)
        canvas.shapes.append(Box(x, top - 5, scale.at(high) - x, 10, BAND, radius=2))
    canvas.shapes.append(Stroke([(scale.start, top), (scale.end, top)], 1.4, INK))
    for rank in range(1, k + 1):
        x = scale.at(rank)
        canvas.shapes.append(Stroke([(x, top - 6), (x, top)], 1.2, INK))
        canvas.shapes.append(Label(x, top - 10, str(rank), WORD, anchor="middle"))


def _stem(chart: RankDiagram, m: int, x: float, top: float, y: float, end: float, sign: int) -> list[Shape]:
    """From the rank down to the row of its name, and out to the name, with the rank as a number."""
    control = m == chart.control
    colour = CONTROL if control else STEM
    name, rank = chart.methods[m], f"{chart.ranks[m]:.2f}"
    anchor = "end" if sign < 0 else "start"
    beyond = end + sign * (6 + text_width(name, WORD, control) + 6)
    return [
        Stroke([(x, top), (x, y), (end, y)], 1.6 if control else 1.1, colour),
        Dot(x, top, 3.4, colour, hint=f"{name}: average rank {chart.ranks[m]:.4g}"),
        Label(end + sign * 6, y + 4, name, WORD, bold=control, anchor=anchor, fill=CONTROL if control else INK),
        Label(beyond, y + 4, rank, 10.5, fill=FAINT, anchor=anchor),
    ]


def _bar_rows(chart: RankDiagram) -> list[tuple[int, float, float, Sequence[int]]]:
    """(row, from, to, members) of every group, in as few rows as keep bars apart."""
    ends: list[float] = []
    placed = []
    for group in sorted(chart.groups, key=lambda group: min(chart.ranks[m] for m in group)):
        first, last = (edge(chart.ranks[m] for m in group) for edge in (min, max))
        gap = 0.03 * len(chart.methods)
        row = next((row for row, end in enumerate(ends) if end + gap < first), len(ends))
        ends[row : row + 1] = [last]
        placed.append((row, first, last, group))
    return placed


def _bar(chart: RankDiagram, scale: Scale, y: float, first: float, last: float, members: Sequence[int]) -> list[Shape]:
    """A group's bar; where it runs over a method that is not of the group, its members are dotted."""
    hint = "not different: " + ", ".join(chart.methods[m] for m in members)
    x = scale.at(first) - 4
    shapes: list[Shape] = [Box(x, y - 2, scale.at(last) + 4 - x, 4, BAR, radius=2, hint=hint)]
    if any(first <= rank <= last and m not in members for m, rank in enumerate(chart.ranks)):
        shapes += [Dot(scale.at(chart.ranks[m]), y, 3.6, BAR) for m in members]
    return shapes
