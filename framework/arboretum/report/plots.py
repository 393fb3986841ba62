"""Points, lines and dots within axes: trade-offs, sweeps, running times."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import attrs

from arboretum.model.charts import Axis, DotChart, LineChart, Point, PointChart
from arboretum.report.axes import TICK, Scale, level_axis, room_of, upright_axis
from arboretum.report.canvas import WORD, Canvas, Entry, Style, axis_words
from arboretum.report.heatmap import MARGIN
from arboretum.report.palette import series_colour, series_form
from arboretum.report.scene import FAINT, INK, LINE, Dot, Label, Scene, Shape, Stroke, text_width

FRONT = "#656d76"
Rectangle = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def line_scene(chart: LineChart, style: Style | None = None) -> Scene:
    """Compose curves over one axis."""
    style = style or Style()
    colours = [place if line.colour is None else line.colour for place, line in enumerate(chart.lines)]
    values = [v for line in chart.lines for v in _with_errors(line.y, line.errors, chart.y.log)]
    canvas, across, up = _axes(chart, [x for line in chart.lines for x in line.x], values, style, legend_of_lines(chart))
    for line, colour in zip(chart.lines, colours, strict=True):
        paint = series_colour(colour)
        known = [(across.at(x), up.at(y)) if math.isfinite(y) else None for x, y in zip(line.x, line.y, strict=True)]
        if line.joined:
            for there, piece in itertools.groupby(known, key=lambda place: place is not None):
                if there:
                    canvas.shapes.append(Stroke(list(piece), 1.6 if line.dashed else 1.8, paint, line.dashed))
        for x, y, error in zip(line.x, line.y, line.errors, strict=False):
            canvas.shapes += _error_bar(across, up, x, y, error, paint)
        if line.marked:
            for place, x, y in zip(known, line.x, line.y, strict=True):
                if place is not None:
                    hint = f"{line.label}: {chart.x.label} {x:.6g}, {chart.y.label} {y:.6g}"
                    canvas.shapes.append(Dot(*place, 4.0, paint, form=series_form(colour), hint=hint))
    canvas.notes(chart.notes)
    return canvas.scene()


def legend_of_lines(chart: LineChart) -> list[Entry]:
    """What the legend of a chart of lines shows."""
    return [
        Entry(
            line.label,
            place if line.colour is None else line.colour,
            "dashed" if line.dashed and not line.marked else "line" if line.joined else "dot",
        )
        for place, line in enumerate(chart.lines)
        if not line.quiet
    ]


def _with_errors(values: Sequence[float], errors: Sequence[float], log: bool) -> list[float]:
    """The values, and where their error bars end (above 0 only, on a logarithmic axis)."""
    ends = [v + side * e for v, e in zip(values, errors, strict=False) if math.isfinite(v + e) for side in (-1, 1)]
    return [*values, *(end for end in ends if end > 0 or not log)]


def _error_bar(across: Scale, up: Scale, x: float, y: float, error: float, paint: str) -> list[Shape]:
    if not (math.isfinite(y) and math.isfinite(error) and error > 0):
        return []
    low = max(y - error, up.low)
    return [Stroke([(across.at(x), up.at(low)), (across.at(x), up.at(y + error))], 1.2, paint)]


def _axes(
    chart: LineChart | PointChart, xs: Iterable[float], ys: Iterable[float], style: Style, entries: Sequence[Entry] = ()
) -> tuple[Canvas, Scale, Scale]:
    """Headline, legend, and both axes of a plot; the canvas then stands below them."""
    width, height = style.plot
    around = 0.08 if isinstance(chart, PointChart) else 0.04  # for labels
    up = Scale.over(ys, height, 0.0, log=chart.y.log, room=around)
    room = room_of(up)
    half_a_label = 16.0  # of the last tick, which is centred on the end of the axis
    canvas = Canvas(chart.title, MARGIN + room + width + max(MARGIN, half_a_label), style)
    canvas.head(chart.subtitle)
    canvas.legend(entries)
    canvas.shapes.append(Label(MARGIN, canvas.y + 8, _axis_label(chart.y), WORD, fill=FAINT))
    top = canvas.y + 24
    up = Scale(up.low, up.high, top + height, top, up.log)
    count = 5 if style.small else 7
    across = Scale.over(xs, MARGIN + room, MARGIN + room + width, log=chart.x.log, count=count, room=around)
    canvas.shapes += upright_axis(up, across.start, across.end)
    canvas.shapes += level_axis(across, top, top + height)
    words = _axis_label(chart.x)
    middle = max((across.start + across.end) / 2, MARGIN + text_width(words, WORD) / 2)
    canvas.shapes.append(Label(middle, top + height + 35, words, WORD, fill=FAINT, anchor="middle"))
    canvas.y = top + height + 48
    return canvas, across, up


def _axis_label(axis: Axis) -> str:
    return axis_words(axis.label, axis.higher_is_better)


def point_scene(chart: PointChart, style: Style | None = None) -> Scene:
    """Compose labelled points, the staircase of the front under them; a legend where they lie too close for labels."""
    style = style or Style()
    labelled = _points(chart, style, legend=False)
    return labelled if labelled is not None else _points(chart, style, legend=True)


def _points(chart: PointChart, style: Style, *, legend: bool) -> Scene | None:
    """The picture; None where labels are asked for and do not all find a place."""
    shown = [i for i, p in enumerate(chart.points) if math.isfinite(p.x) and math.isfinite(p.y)]
    points = [chart.points[i] for i in shown]
    xs = _with_errors([p.x for p in points], [p.x_error for p in points], chart.x.log)
    ys = _with_errors([p.y for p in points], [p.y_error for p in points], chart.y.log)
    style = attrs.evolve(style, legend=True)  # it stands for labels, which no other panel has
    canvas, across, up = _axes(chart, xs, ys, style, [Entry(p.label, p.colour) for p in points] if legend else ())
    stairs = _staircase(chart, across, up)
    places = [(across.at(p.x), up.at(p.y)) for p in points]
    if stairs:
        canvas.shapes.append(Stroke(stairs, 1.4, FRONT, dashed=True))
    for p, (x, y) in zip(points, places, strict=True):
        canvas.shapes += _error_bar(across, up, p.x, p.y, p.y_error, LINE)
        if math.isfinite(p.x_error) and p.x_error > 0:
            canvas.shapes.append(Stroke([(across.at(max(p.x - p.x_error, across.low)), y), (across.at(p.x + p.x_error), y)], 1.2))
    labels: Sequence[tuple[Label, Stroke | None]] | None = ()
    if not legend:
        frame = (across.start, up.end, across.end, up.start)
        labels = place_labels(places, points, [i in set(chart.front) for i in shown], frame, stairs)
        if labels is None:
            return None
    canvas.shapes += [leader for _, leader in labels if leader]
    for (x, y), p in zip(places, points, strict=True):
        hint = f"{p.label}: {chart.x.label} {p.x:.6g}, {chart.y.label} {p.y:.6g}"
        canvas.shapes.append(Dot(x, y, 5.2, series_colour(p.colour), form=series_form(p.colour), hint=hint))
    canvas.shapes += [label for label, _ in labels]
    left_out = [p.label for i, p in enumerate(chart.points) if i not in shown]
    told = ["Dashed: the front; no method is as good as one on it in both, and better in one."] if stairs else []
    canvas.notes([*told, *([f"No result: {', '.join(left_out)}."] if left_out else []), *chart.notes])
    return canvas.scene()


def _staircase(chart: PointChart, across: Scale, up: Scale) -> list[tuple[float, float]]:
    """Around all that is dominated: from edge to edge of the plot, through the front and the corners between its points."""
    front = [(across.at(chart.points[i].x), up.at(chart.points[i].y)) for i in chart.front]
    if not front:
        return []
    worst_x = across.start if chart.x.higher_is_better else across.end
    worst_y = up.start if chart.y.higher_is_better else up.end
    begin, end = (front[0][0], worst_y), (worst_x, front[-1][1])
    if chart.x.higher_is_better:
        begin, end = (worst_x, front[0][1]), (front[-1][0], worst_y)
    corners = [begin, front[0]]
    for before, here in itertools.pairwise(front):
        corners += [(before[0], here[1]) if chart.x.higher_is_better else (here[0], before[1]), here]
    return [*corners, end]


def place_labels(
    places: Sequence[tuple[float, float]],
    points: Sequence[Point],
    bold: Sequence[bool],
    frame: Rectangle,
    stairs: Sequence[tuple[float, float]] = (),
) -> list[tuple[Label, Stroke | None]] | None:
    """A label beside every mark, over no other mark, label or line; further away, with a leader, where it is crowded.

    places : pixels of the marks.   stairs : corners of a line of level and upright pieces.   None where one finds no place.
    """
    taken: list[Rectangle] = [(x - 6, y - 6, x + 6, y + 6) for x, y in places]
    for (x1, y1), (x2, y2) in itertools.pairwise(stairs):
        taken.append((min(x1, x2) - 1, min(y1, y2) - 1, max(x1, x2) + 1, max(y1, y2) + 1))
    placed: list[tuple[Label, Stroke | None]] = []
    for (x, y), point, strong in zip(places, points, bold, strict=True):
        width = text_width(point.label, TICK, strong)
        for distance, (dx, dy) in itertools.product((0, 10, 22, 36, 52), _AROUND):
            left = x + dx * (9 + distance) - (width if dx < 0 else width / 2 if dx == 0 else 0)
            base = y + dy * (9 + distance) * 0.9 + 4 + 3 * dy
            box = (left - 2, base - TICK, left + width + 2, base + 3)
            inside = frame[0] <= box[0] and box[2] <= frame[2] and frame[1] <= box[1] and box[3] <= frame[3]
            if inside and not any(overlap(box, other) for other in taken):
                break
        else:
            return None
        taken.append(box)
        nearest = (min(max(x, box[0]), box[2]), min(max(y, box[1] + 2), box[3]))
        leader = Stroke([(x, y), nearest], 0.8, FRONT) if distance else None
        placed.append((Label(left, base, point.label, TICK, bold=strong, halo=True), leader))
    return placed


_AROUND = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))


def overlap(a: Rectangle, b: Rectangle) -> bool:
    """Whether two rectangles share an inner point."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def dot_scene(chart: DotChart, style: Style | None = None) -> Scene:
    """Compose a row of dots per method."""
    style = style or Style()
    step = 22.0 if style.small else 27.0
    names = MARGIN + max(text_width(row, WORD) for row in chart.rows) + 14
    words = max((text_width(text, WORD, True) for text in (*chart.texts, chart.heading)), default=0.0)
    width = names + style.plot[0] + (14 + words if words else 0) + MARGIN
    canvas = Canvas(chart.title, width, style)
    canvas.head(chart.subtitle)
    if chart.heading:
        canvas.shapes.append(Label(width - MARGIN, canvas.y + 8, chart.heading, TICK, fill=FAINT, anchor="end"))
        canvas.y += 16
    values = [value for row in chart.values for value in row]
    across = Scale.over([*values, *chart.middles], names, names + style.plot[0], log=chart.axis.log, count=7)
    top, bottom = canvas.y, canvas.y + step * len(chart.rows)
    canvas.shapes += level_axis(across, top, bottom)
    for i, row in enumerate(chart.rows):
        y = top + step * (i + 0.5)
        canvas.shapes.append(Label(names - 12, y + 4, row, WORD, anchor="end"))
        for j, value in enumerate(chart.values[i]):
            if math.isfinite(value):
                hint = f"{row}: {chart.hints[i][j] if chart.hints else f'{value:.6g}'}"
                canvas.shapes.append(Dot(across.at(value), y, 3.6, series_colour(i), hint=hint))
        if chart.middles and math.isfinite(chart.middles[i]):
            x = across.at(chart.middles[i])
            canvas.shapes.append(Stroke([(x, y - 0.42 * step), (x, y + 0.42 * step)], 2.6, INK))
        if chart.texts:
            canvas.shapes.append(Label(width - MARGIN, y + 4, chart.texts[i], WORD, anchor="end"))
    label = _axis_label(chart.axis)
    middle = max((across.start + across.end) / 2, MARGIN + text_width(label, WORD) / 2)
    canvas.shapes.append(Label(middle, bottom + 35, label, WORD, fill=FAINT, anchor="middle"))
    canvas.y = bottom + 48
    canvas.notes(chart.notes)
    return canvas.scene()
