"""The tree in the terminal, and the table beside it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from drawn_trees import tables, trees
from hypothesis import given, strategies as st

from arboretum.model.rules import Threshold
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import ColumnSpec, Tree, single_leaf
from arboretum.report.table import spell_cell, text_table
from arboretum.report.text import cut, display_width, percentage, tree_text

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def iris_like() -> Tree:
    nan = [np.nan] * 5
    return Tree(
        task=Task.classification,
        columns=(ColumnSpec("petal_width", ColumnKind.continuous),),
        classes=("setosa", "versicolor", "virginica"),
        rules=(Threshold("petal_width", 0.8), Threshold("petal_width", 1.75)),
        test=[0, -1, 1, -1, -1],
        child_offset=[0, 2, 2, 4, 4, 4],
        child=[1, 2, 3, 4],
        missing_child=[-1] * 5,
        weights=[[50, 50, 50], [50, 0, 0], [0, 50, 50], [0, 49, 5], [0, 1, 45]],
        counts=[150, 50, 100, 54, 46],
        label=[0, 0, 1, 1, 2],
        value=nan,
        price=[1, 0, 1, 0, 0],
        impurity=nan,
        score=nan,
    )


def test_a_small_tree_reads_like_this():
    assert iris_like().to_text() == (
        "3 leaves, depth 2, 150 rows, 3 classes: rows, share, weight of [setosa versicolor "
        "virginica]\n"
        "all rows                               150   33%  [50 50 50]\n"
        "├─ petal_width ≤ 0.8 ▸ setosa           50  100%  [50 0 0]\n"
        "└─ petal_width > 0.8                   100   50%  [0 50 50]\n"
        "   ├─ petal_width ≤ 1.75 ▸ versicolor   54   91%  [0 49 5]\n"
        "   └─ petal_width > 1.75 ▸ virginica    46   98%  [0 1 45]\n"
    )


def test_what_is_folded_is_counted():
    lines = iris_like().to_text(max_depth=1).splitlines()
    assert len(lines) == 4
    assert "petal_width > 0.8 ▸ versicolor (2 leaves folded)" in lines[3]


@given(st.data())
def test_every_leaf_and_every_row_is_accounted_for(data):
    table = data.draw(tables())
    tree = data.draw(trees(table, splits=False))
    lines = tree_text(tree, width=200).splitlines()[1:]
    leaves = [line for line in lines if "▸" in line]
    assert len(lines) >= tree.n_nodes - tree.n_leaves + 1
    counts = [int(re.search(r"  +(\d+)  ", line + "  ").group(1)) for line in leaves]
    assert sum(counts) == table.n_rows


@given(st.data(), st.integers(60, 140))
def test_lines_keep_to_the_width_and_colours_add_nothing_visible(data, width):
    tree = data.draw(trees(data.draw(tables())))
    plain = tree_text(tree, width=width).splitlines()
    assert max(display_width(line) for line in plain) <= max(width, 60)
    coloured = [
        ANSI.sub("", line).rstrip()
        for line in tree_text(tree, width=width, colour=True).splitlines()
    ]
    assert coloured == plain


def test_many_classes_are_named_instead_of_listed():
    codes = np.repeat(np.arange(9), [9, 1, 1, 1, 1, 1, 1, 1, 2])
    table = Table(
        "t",
        (Column("x", ColumnKind.continuous, np.zeros(18)),),
        Target("y", Task.classification, codes, tuple("abcdefghi")),
    )
    assert "a 9, i 2, b 1" in single_leaf(table).to_text()


@pytest.mark.parametrize(
    ("part", "text"),
    [(1.0, "100%"), (0.999, ">99%"), (0.5, "50%"), (0.001, "<1%"), (0.0, "0%"), (0.994, "99%")],
)
def test_a_share_says_all_or_nothing_only_where_it_is_so(part, text):
    assert percentage(part) == text


def test_text_is_cut_to_columns_not_to_characters():
    assert cut("日本語テキスト", 7) == "日本語…"
    assert cut("a\nb", 9) == "a b"
    assert display_width("日本") == 4


def test_tables_align_numbers_right_and_text_left():
    rows = [
        {"method": "cart", "error": 0.0421, "leaves": 12, "verified": True},
        {"method": "id3-style", "error": 0.3, "leaves": 1200},
    ]
    assert text_table(
        rows, {"method": "method", "error": "test error", "leaves": "leaves", "verified": "ok"}
    ) == (
        "method     test error  leaves  ok\n"
        "─────────  ──────────  ──────  ───\n"
        "cart           0.0421      12  yes\n"
        "id3-style      0.3000    1200  –\n"
    )


def test_a_wide_table_takes_room_from_its_text():
    lines = text_table([{"name": "x" * 80, "error": 0.5, "note": "y" * 40}], width=60).splitlines()
    assert all(display_width(line) <= 60 for line in lines)
    assert "0.5000" in lines[2]


def test_headings_of_numbers_give_way_before_text_and_numbers_never_do():
    rows = [
        {"name": "n" * 20, "a quite long heading": 1234567, "b": 0.5},
        {"name": "m" * 20, "a quite long heading": 2, "b": 0.25},
    ]
    lines = text_table(rows, width=40).splitlines()
    assert max(map(display_width, lines)) <= 40
    assert all(whole in "\n".join(lines) for whole in ("n" * 20, "m" * 20, "1234567", "a qui"))
    assert "a quite long heading" not in lines[0]


def test_texts_that_differ_still_differ_when_they_are_cut():
    names = [f"a_common_beginning_{end}_and_a_common_ending_that_is_long" for end in "xyz"]
    lines = text_table([{"name": name, "error": 0.5} for name in names], width=20).splitlines()[2:]
    assert len(set(lines)) == 3
    assert all(line.split()[0].endswith("…") for line in lines)


def test_without_a_width_nothing_is_cut():
    assert "x" * 300 in text_table([{"name": "x" * 300, "other": "y" * 200}], width=None)


def test_no_rows_are_still_a_table():
    assert text_table([], ["method"]) == "method\n──────\n"
    assert text_table([]) == "(nothing to compare)\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"),
        (0.12345, "0.1235"),
        (12.345, "12.35"),
        (1e-5, "1e-05"),
        (None, "–"),
        (float("nan"), "–"),
        (float("inf"), "inf"),
    ],
)
def test_cells_are_spelled_for_readers(value, text):
    assert spell_cell(value) == text
