"""A front as a chart, and as one page on which every point opens its tree."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template

import numpy as np

from arboretum.model.charts import Axis, Line, LineChart
from arboretum.model.front import Front, Point, unbeaten
from arboretum.report.charts import chart_svg
from arboretum.report.table import spell_cell

PAGE, CHART = "front.html", "front.svg"  # the page has its template beside this module
STAIRS = 5  # at most so many step functions, where a third measure sets several
LEAVES = 40  # leaves that a tree on the page shows; larger ones are folded


def spell_axis(name: str) -> str:
    """Return a metric as a reader says it: "expected cost"."""
    return name.removeprefix("train_").removeprefix("n_").replace("_", " ")


def front_rows(front: Front, most: int | None = None) -> list[dict[str, float]]:
    """Return the points as a table, cheapest first.

    most : rows; of more points, that many from the first to the last; None: all.
    """
    points: Sequence[Point] = front.points
    n = len(points)
    if most is not None and n > most:
        points = [points[round(k * (n - 1) / (most - 1))] for k in range(most)]
    return [
        {spell_axis(axis): value for axis, value in zip(front.axes, point.values, strict=True)}
        for point in points
    ]


def step_function(points: Sequence[Sequence[float]], most: float | None = None) -> list[int]:
    """Numbers of the points that lower the error, from the cheapest on.

    points : (error, second measure, perhaps a third) of each.
    most : of the third measure; None: any.
    """
    within = [number for number, one in enumerate(points) if most is None or one[2] <= most]
    kept = unbeaten(np.array([points[number][:2] for number in within]).reshape(-1, 2))
    return [within[place] for place in kept]


def _corners(
    points: Sequence[Sequence[float]], kept: Sequence[int], right: float | None = None
) -> tuple[list[float], list[float]]:
    """x (second measure) and y (error) where a step function drops.

    points : as of :func:`step_function`.   kept : its answer.
    right : the last step goes on to this x, which is one corner more; None: it ends where it is.
    """
    x, y = ([points[number][axis] for number in kept] for axis in (1, 0))
    return (x, y) if right is None else ([*x, right], [*y, y[-1]])


def front_chart(front: Front, title: str = "") -> LineChart:
    """Error against the second measure, every point a link; of a third, step functions for several
    most values of it.

    ``point.values``, a curve's and a bound's points are (error, second measure, perhaps a third).
    """
    thirds = sorted({point.values[2] for point in front.points}) if len(front.axes) > 2 else [None]
    shown = (
        [thirds[round(k * (len(thirds) - 1) / (STAIRS - 1))] for k in range(STAIRS)]
        if len(thirds) > STAIRS
        else thirds
    )
    right = max(
        values[1]
        for values in (
            *(p.values for p in front.points),
            *(v for curve in front.curves.values() for v in curve),
        )
    )
    lines: list[Line] = []
    for name, curve in front.curves.items():
        x, y = _corners(curve, step_function(curve))
        colour = len(shown) + len(lines) + 1
        lines.append(Line(name, x, y, dashed=True, stairs=True, colour=colour))
    if front.gap > 0:
        x, y = _corners(front.bound, step_function(front.bound), right)
        lines.append(
            Line(
                "proven: no tree is below",
                x,
                y,
                marked=False,
                dashed=True,
                stairs=True,
                colour=len(shown),
            )
        )
    marked: set[int] = set()
    points = [point.values for point in front.points]
    for colour, most in enumerate(shown):
        kept = step_function(points, most)
        label = (
            "front" if most is None else f"at most {spell_cell(most)} {spell_axis(front.axes[2])}"
        )
        x, y = _corners(points, kept, right)
        links = [
            None
            if number in marked
            else ""
            if front.points[number].tree is None
            else f"#point-{number}"
            for number in kept
        ]
        lines.append(Line(label, x, y, stairs=True, links=[*links, None], colour=colour))
        marked.update(kept)
    proven = (
        "exact"
        if front.gap == 0.0
        else f"at most {front.gap:.4g} above the least error at any price"
    )
    across, up = (Axis(spell_axis(front.axes[axis]), higher_is_better=False) for axis in (1, 0))
    return LineChart(
        title or "Pareto front",
        lines,
        across,
        up,
        f"{len(front.points)} trees, none of which beats another; {proven}",
    )


def front_files(front: Front, title: str = "") -> dict[str, str]:
    """``front.json``, ``front.svg``, and ``front.html``: chart, trees and numbers on one page
    that needs no other file.
    """
    chart = (
        chart_svg(front_chart(front, title))
        .replace(' target="_blank"', "")
        .replace('xlink:href="#point-', 'href="#point-')
    )
    own = front.most_accurate
    rows, trees = front_rows(front), [n for n, p in enumerate(front.points) if p.tree is not None]
    spelled = [
        ", ".join(f"{name} {spell_cell(value)}" for name, value in row.items()) for row in rows
    ]
    sections = []
    for place, number in enumerate(trees):
        point = front.points[number]
        near = (*trees[max(place - 1, 0) : place], *trees[place + 1 : place + 2])
        steps = [
            f'<a href="#point-{other}">{"before" if other < number else "after"}: '
            f"{spelled[other]}</a>"
            for other in near
        ]
        steps.append('<a href="#chart">all points</a>')
        look = ' class="own"' if point is own else ""
        drawn = point.tree.to_svg(title=title, max_leaves=LEAVES) if point.tree else ""
        sections.append(
            f'<section id="point-{number}"{look}><h2>{spelled[number]}</h2>'
            f"<p>{' · '.join(steps)}</p>{drawn}</section>"
        )
    cells = [[escape(spell_cell(value)) for value in row.values()] for row in rows]
    links = {number: f'<a href="#point-{number}">{cells[number][0]}</a>' for number in trees}
    table = "".join(
        f"<tr><td>{'</td><td>'.join([links.get(number, one[0]), *one[1:]])}</td></tr>"
        for number, one in enumerate(cells)
    )
    head = "".join(f"<th>{name}</th>" for name in rows[0])
    parts = {
        "title": escape(title or "Pareto front"),
        "chart": chart,
        "head": head,
        "rows": table,
        "sections": "".join(sections),
    }
    page = Template(Path(__file__).with_name(PAGE).read_text(encoding="utf-8")).substitute(parts)
    return {
        "front.json": front.text(),
        CHART: chart.replace('href="#point-', f'href="{PAGE}#point-'),
        PAGE: page,
    }
