"""A grid of numbers as a picture: complete, readable, nothing over anything else."""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ET

import attrs
import matplotlib
import matplotlib.colors
import pytest

from arboretum.report.charts import chart_figure, chart_png, chart_svg
from arboretum.report.sheet import HINT, STYLE
from arboretum_decision_tables.paper.heat_map import UNKNOWN, Grid, shade

GRID = Grid(
    title="Errors & <costs>",
    subtitle="of two methods",
    rows=("one", "a method with a long name"),
    columns=("h_av\naverage depth", "L\nnodes"),
    values=((1.0, 30.0), (2.0, 10.0)),
    texts=(("1.0 %\npaper 1.1", "30.0 %\npaper 31"), ("2.0 %\npaper 2.1", "10.0 %\npaper 12")),
    breaks=(1,),
    framed=frozenset({(0, 0)}),
    legend="light: best of the column, dark: worst",
    notes=(
        "A note that is long enough to be broken into several lines because the picture is "
        "not as wide as it is long.",
    ),
)


def drawn(grid: Grid):
    with matplotlib.rc_context(fname=STYLE):
        figure = chart_figure(grid)
        figure.canvas.draw()
    return figure


def fields(figure) -> list:
    return [patch for patch in figure.axes[0].patches if str(patch.get_gid()).startswith(HINT)]


def luminance(colour) -> float:
    """Relative luminance (WCAG 2.1)."""
    parts = matplotlib.colors.to_rgb(colour)
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_every_number_label_and_note_stands_in_the_svg():
    text = " ".join(element.text or "" for element in ET.fromstring(chart_svg(GRID)).iter())
    for line in (*GRID.texts, (*GRID.rows, *GRID.columns, GRID.title, GRID.subtitle)):
        for words in line:
            assert all(part in text for part in words.splitlines())
    assert all(word in text for word in GRID.notes[0].split())


def test_more_is_darker_and_every_field_can_be_read():
    shades = [luminance(shade(k / 100)) for k in range(101)]
    assert all(a > b for a, b in itertools.pairwise(shades))
    for value in (0.0, 0.1, 0.24, 0.26, 0.4, 0.5, 0.6, 0.67, 0.69, 0.8, 1.0):
        figure = drawn(Grid("t", ("r",), ("c",), ((value,),), (("1",),), scales=((0.0, 1.0),)))
        (field,) = fields(figure)
        for label in (text for text in figure.axes[0].texts if text.get_text() == "1"):
            one, two = sorted(
                (luminance(field.get_facecolor()), luminance(label.get_color())), reverse=True
            )
            assert (one + 0.05) / (two + 0.05) >= 3.8, f"{label.get_text()} on a share of {value}"


def test_colours_go_by_column_and_what_is_no_number_is_grey():
    figure = drawn(attrs.evolve(GRID, values=((1.0, math.nan), (2.0, 10.0)), framed=frozenset()))
    found = [matplotlib.colors.to_hex(field.get_facecolor()) for field in fields(figure)]
    assert found == [shade(0.0), UNKNOWN, shade(1.0), shade(0.5)]


def test_labels_stay_within_the_picture_and_fields_do_not_overlap():
    figure = drawn(GRID)
    for label in figure.axes[0].texts:
        box = label.get_window_extent()
        assert (
            box.x0 >= 0
            and box.x1 <= figure.bbox.width
            and box.y0 >= 0
            and box.y1 <= figure.bbox.height
        )
    for a, b in itertools.combinations(fields(figure), 2):
        assert not a.get_bbox().overlaps(b.get_bbox()), f"{a.get_gid()} over {b.get_gid()}"


def test_it_is_painted_as_a_png_file(tmp_path):
    chart_png(GRID, tmp_path / "grid.png", scale=1.0)
    assert (tmp_path / "grid.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with pytest.raises(OSError):
        chart_png(GRID, tmp_path / "missing" / "grid.png")
