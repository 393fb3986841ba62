"""Charts of studies as SVG and PNG; also heat maps, so that whoever has a picture as data needs one function."""

from __future__ import annotations

from os import PathLike

from arboretum.model.charts import BarChart, Chart, DotChart, LineChart, Panels, PointChart, RankDiagram
from arboretum.model.grid import Grid
from arboretum.report.bars import bar_scene, legend_of_bars, shared
from arboretum.report.canvas import Canvas, Entry, Style
from arboretum.report.heatmap import MARGIN, grid_scene
from arboretum.report.plots import dot_scene, legend_of_lines, line_scene, point_scene
from arboretum.report.png import scene_png
from arboretum.report.rank_diagram import rank_scene
from arboretum.report.scene import Scene, moved
from arboretum.report.svg import scene_svg


def chart_svg(chart: Chart | Grid) -> str:
    """The picture as an SVG document.  Raises DataError for what its axes cannot show."""
    return scene_svg(chart_scene(chart))


def chart_png(chart: Chart | Grid, path: str | PathLike[str], scale: float = 2.0) -> None:
    """Write the picture as a PNG file.  Raises OSError when it cannot be written, DataError as :func:`chart_svg`."""
    scene_png(chart_scene(chart), path, scale)


def chart_scene(chart: Chart | Grid) -> Scene:
    """Compose the picture."""
    if isinstance(chart, Grid):
        return grid_scene(chart)
    if isinstance(chart, Panels):
        return _panels(chart)
    return _COMPOSERS[type(chart)](chart, Style())


_COMPOSERS = {RankDiagram: rank_scene, BarChart: bar_scene, PointChart: point_scene, LineChart: line_scene, DotChart: dot_scene}


def _panels(chart: Panels) -> Scene:
    """The charts in rows of ``columns``, each row as high as its highest; a legend they share stands above them."""
    legends = [_legend(part) for part in chart.charts]
    common = shared([legend for legend in legends if legend]) if all(legends) else ()
    style = Style(small=True, legend=not common)
    scenes = [_COMPOSERS[type(part)](part, style) for part in chart.charts]
    columns = max(1, min(chart.columns, len(scenes)))
    widths = [max(scene.width for scene in scenes[c::columns]) for c in range(columns)]
    overlap = MARGIN  # two margins meet between panels; one is enough
    canvas = Canvas(chart.title, max(sum(widths) - overlap * (columns - 1), 420.0))
    canvas.head(chart.subtitle)
    canvas.legend(common)
    for start in range(0, len(scenes), columns):
        row = scenes[start : start + columns]
        for c, scene in enumerate(row):
            dx = sum(widths[:c]) - overlap * c
            canvas.shapes += [moved(shape, dx, canvas.y - overlap) for shape in scene.shapes]
        canvas.y += max(scene.height for scene in row) - overlap
    canvas.notes(chart.notes)
    return canvas.scene()


def _legend(part: object) -> list[Entry]:
    if isinstance(part, LineChart):
        return legend_of_lines(part)
    return legend_of_bars(part) if isinstance(part, BarChart) else []
