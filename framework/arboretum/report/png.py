"""A tree as a PNG file: the scene of the SVG, painted by matplotlib."""

from __future__ import annotations

import io
from os import PathLike
from typing import Any

from arboretum.model.tree import Tree
from arboretum.report.picture import tree_scene
from arboretum.report.scene import Box, Curve, Label, Scene

POINTS_PER_PIXEL = 0.72
"""At 100 dots per inch of figure, one pixel of the scene is 0.72 points of matplotlib."""


def tree_png(tree: Tree, path: str | PathLike[str] | None = None, *, scale: float = 2.0, **options: Any) -> bytes | None:
    """Write the tree to ``path``, or (None) return the file's bytes; options of :func:`arboretum.report.picture.tree_scene`.

    scale : pixels of the file per pixel of the SVG.  Raises OSError when the file cannot be written.
    """
    file = io.BytesIO() if path is None else path
    scene_png(tree_scene(tree, **options), file, scale)
    return file.getvalue() if path is None else None


def scene_png(scene: Scene, path: str | PathLike[str] | io.BytesIO, scale: float = 2.0) -> None:
    """Paint a scene into a PNG file; loads matplotlib, touches neither its backend nor its global figures."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(scene.width / 100, scene.height / 100), dpi=100 * scale, facecolor="white")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, scene.width), ylim=(scene.height, 0))
    axes.set_axis_off()
    for order, shape in enumerate(scene.shapes):
        _PAINTERS[type(shape)](axes, shape, order)
    canvas.print_png(path)


def _paint_box(axes: Any, box: Box, order: int) -> None:
    from matplotlib.patches import FancyBboxPatch

    axes.add_patch(
        FancyBboxPatch(
            (box.x, box.y),
            box.width,
            box.height,
            boxstyle=f"round,pad=0,rounding_size={min(box.radius, box.width / 2)}" if box.radius else "square,pad=0",
            facecolor=box.fill,
            edgecolor=box.stroke,
            linewidth=1.2 * POINTS_PER_PIXEL if box.stroke != "none" else 0,
            linestyle=(0, (4, 3)) if box.dashed else "solid",
            zorder=order,
        )
    )


def _paint_label(axes: Any, label: Label, order: int) -> None:
    from matplotlib.patheffects import withStroke

    axes.text(
        label.x,
        label.y,
        label.text.replace("$", r"\$"),
        fontsize=0.92 * label.size * POINTS_PER_PIXEL,  # DejaVu Sans, the face matplotlib brings, runs wide
        fontweight="bold" if label.bold else "normal",
        color=label.fill,
        ha={"start": "left", "middle": "center", "end": "right"}[label.anchor],
        va="baseline",
        path_effects=[withStroke(linewidth=4 * POINTS_PER_PIXEL, foreground="white")] if label.halo else None,
        zorder=order,
    )


def _paint_curve(axes: Any, curve: Curve, order: int) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    a, b, c, d = curve.bends()
    path = Path([(curve.x1, curve.y1), (a, b), (c, d), (curve.x2, curve.y2)], [1, 4, 4, 4])
    width = curve.width * POINTS_PER_PIXEL
    axes.add_patch(PathPatch(path, fill=False, edgecolor=curve.stroke, linewidth=width, zorder=order))


_PAINTERS = {Box: _paint_box, Label: _paint_label, Curve: _paint_curve}
