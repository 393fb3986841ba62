"""The picture of a tree in pixels: the shapes of its scene, painted by matplotlib."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from arboretum.api import Facts, Tree, picture, scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# at 100 dots per inch of figure, one pixel of the scene is 0.72 points of matplotlib
POINTS_PER_PIXEL = 0.72


def tree_png(tree: Tree, scale: float, **options: Any) -> bytes:
    """Return the bytes of the file.

    scale : pixels of it per pixel of the SVG.
    options : of ``picture.tree_scene``.

    Touches neither matplotlib's backend nor its global figures.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown, file = picture.tree_scene(tree, **options), io.BytesIO()
    figure = Figure(
        figsize=(shown.width / 100, shown.height / 100), dpi=100 * scale, facecolor="white"
    )
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, shown.width), ylim=(shown.height, 0))
    axes.set_axis_off()
    paint: dict[type, Callable[..., None]] = {
        scene.Box: _draw_box,
        scene.Label: _draw_label,
        scene.Curve: _draw_curve,
    }
    for order, shape in enumerate(shown.shapes):
        paint[type(shape)](shape, axes, order)
    FigureCanvasAgg(figure).print_png(file)
    return file.getvalue()


def _draw_box(box: scene.Box, axes: Axes, order: int) -> None:
    """Draw a box on ``axes``.   order : what is drawn on top has a higher one."""
    from matplotlib.patches import FancyBboxPatch

    corner = (
        f"round,pad=0,rounding_size={min(box.radius, box.width / 2)}"
        if box.radius
        else "square,pad=0"
    )
    line: Facts = {
        "lw": 1.2 * POINTS_PER_PIXEL if box.stroke != "none" else 0,
        "ls": (0, (4, 3)) if box.dashed else "solid",
    }
    place = ((box.x, box.y), box.width, box.height)
    axes.add_patch(
        FancyBboxPatch(
            *place, boxstyle=corner, facecolor=box.fill, edgecolor=box.stroke, zorder=order, **line
        )
    )


def _draw_label(label: scene.Label, axes: Axes, order: int) -> None:
    """Draw a label on ``axes``.   order : what is drawn on top has a higher one."""
    from matplotlib.patheffects import withStroke

    axes.text(
        label.x,
        label.y,
        label.text.replace("$", r"\$"),
        color=label.fill,
        zorder=order,
        va="baseline",
        # DejaVu Sans, the face matplotlib brings, runs wide
        fontsize=0.92 * label.size * POINTS_PER_PIXEL,
        fontweight="bold" if label.bold else "normal",
        ha={"start": "left", "middle": "center", "end": "right"}[label.anchor],
        path_effects=[withStroke(linewidth=4 * POINTS_PER_PIXEL, foreground="white")]
        if label.halo
        else None,
    )


def _draw_curve(curve: scene.Curve, axes: Axes, order: int) -> None:
    """Draw a curve on ``axes``.   order : what is drawn on top has a higher one."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    path = Path(curve.points(), [Path.MOVETO, *[Path.CURVE4] * 3])
    axes.add_patch(
        PathPatch(
            path,
            fill=False,
            edgecolor=curve.stroke,
            linewidth=curve.width * POINTS_PER_PIXEL,
            zorder=order,
        )
    )
