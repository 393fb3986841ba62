"""Tables as CSV and as Markdown hold what the table of the terminal holds."""

from __future__ import annotations

import csv
import io
import math

import numpy as np

from arboretum.report.table import csv_table, markdown_table, text_table

ROWS = [
    {"method": "a, b", "rank": np.float64(1.25), "differs": True, "wins": 3, "p": None},
    {"method": "c | d", "rank": 2.0 / 3.0, "differs": False, "wins": 0, "p": math.nan},
    {"method": "e", "rank": 1e-7, "p": 0.5},
]


def test_csv_is_read_back_with_every_digit():
    found = list(csv.DictReader(io.StringIO(csv_table(ROWS))))
    assert [row["method"] for row in found] == ["a, b", "c | d", "e"]
    assert [float(row["rank"]) for row in found] == [row["rank"] for row in ROWS]
    assert [row["differs"] for row in found] == ["true", "false", ""]
    assert [row["p"] for row in found] == ["", "", "0.5"]


def test_markdown_has_a_cell_per_value_and_aligns_numbers_to_the_right():
    lines = markdown_table(ROWS).splitlines()
    assert lines[1] == "| :-- | --: | :-- | --: | --: |"
    assert lines[2] == "| a, b | 1.250 | yes | 3 | – |"
    assert lines[3] == r"| c \| d | 0.6667 | no | 0 | – |"
    assert len(lines) == 5


def test_columns_are_chosen_and_named_alike_in_every_form():
    columns = {"wins": "won", "method": "who"}
    assert csv_table(ROWS, columns).splitlines()[:2] == ["won,who", '3,"a, b"']
    assert markdown_table(ROWS, columns).startswith("| won | who |\n")
    assert text_table(ROWS, columns).splitlines()[0].split() == ["won", "who"]
