"""A grid of numbers as a picture: complete, readable, nothing over anything else."""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ET

import attrs
import pytest

from arboretum.model.grid import Grid
from arboretum.report.heatmap import UNKNOWN, grid_png, grid_scene, grid_svg, shade, wrapped
from arboretum.report.scene import Box, Label, text_width

GRID = Grid(
    title="Errors & <costs>",
    subtitle="of two methods",
    rows=("one", "a method with a long name"),
    columns=("h_av", "L"),
    column_notes=("average depth", "nodes"),
    values=((1.0, 30.0), (2.0, 10.0)),
    texts=(("1.0 %", "30.0 %"), ("2.0 %", "10.0 %")),
    small=(("paper 1.1", "paper 31"), ("paper 2.1", "paper 12")),
    breaks=(1,),
    framed=frozenset({(0, 0)}),
    legend="light: best of the column, dark: worst",
    notes=("A note that is long enough to be broken into several lines because the picture is not as wide as it is long.",),
)


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.1)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_every_number_label_and_note_stands_in_the_svg():
    text = " ".join(element.text or "" for element in ET.fromstring(grid_svg(GRID)).iter())
    for line in (*GRID.texts, *GRID.small, (*GRID.rows, *GRID.columns, *GRID.column_notes, GRID.title, GRID.subtitle)):
        for words in line:
            assert words in text
    assert all(word in text for word in GRID.notes[0].split())


def test_more_is_darker_and_every_field_can_be_read():
    shades = [luminance(shade(k / 100)) for k in range(101)]
    assert all(a > b for a, b in itertools.pairwise(shades))
    for k in range(101):
        value = k / 100
        scene = grid_scene(Grid("t", ("r",), ("c",), ((value,),), (("1",),), small=(("2",),), scales=((0.0, 1.0),)))
        field = next(shape for shape in scene.shapes if isinstance(shape, Box))
        for label in (shape for shape in scene.shapes if isinstance(shape, Label) and shape.text in "12"):
            one, two = sorted((luminance(field.fill), luminance(label.fill)), reverse=True)
            assert (one + 0.05) / (two + 0.05) >= 3.8, f"{label.text} on a share of {value}"


def test_colours_go_by_column_and_what_is_no_number_is_grey():
    scene = grid_scene(attrs.evolve(GRID, values=((1.0, math.nan), (2.0, 10.0)), framed=frozenset()))
    fields = [shape.fill for shape in scene.shapes if isinstance(shape, Box) and shape.hint]
    assert fields == [shade(0.0), UNKNOWN, shade(1.0), shade(0.5)]


def test_labels_stay_within_the_picture_and_fields_do_not_overlap():
    scene = grid_scene(GRID)
    for label in (shape for shape in scene.shapes if isinstance(shape, Label)):
        width = text_width(label.text, label.size, label.bold)
        left = label.x - {"start": 0.0, "middle": width / 2, "end": width}[label.anchor]
        assert left >= 0 and left + width <= scene.width and 0 < label.y < scene.height
    fields = [shape for shape in scene.shapes if isinstance(shape, Box) and shape.hint]
    for a, b in itertools.combinations(fields, 2):
        apart = a.x + a.width <= b.x or b.x + b.width <= a.x or a.y + a.height <= b.y or b.y + b.height <= a.y
        assert apart, f"{a.hint} over {b.hint}"


def test_long_lines_are_broken_between_words():
    lines = wrapped(GRID.notes[0], 200, 11.5)
    assert " ".join(lines) == GRID.notes[0] and len(lines) > 2
    assert all(text_width(line, 11.5) <= 200 for line in lines)


def test_it_is_painted_as_a_png_file(tmp_path):
    grid_png(GRID, tmp_path / "grid.png", scale=1.0)
    assert (tmp_path / "grid.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with pytest.raises(OSError):
        grid_png(GRID, tmp_path / "missing" / "grid.png")
