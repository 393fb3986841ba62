"""Pictures: well-formed, complete, nothing over anything else."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET

import attrs
import numpy as np
import pytest
from drawn_trees import tables, trees
from hypothesis import given, settings, strategies as st

from arboretum.model.rules import Interval, Threshold
from arboretum.model.table import ColumnKind, Task
from arboretum.model.tree import ColumnSpec, Tree
from arboretum.report.outline import outline
from arboretum.report.palette import ANSI_CODES, ANSI_OTHER, CLASS_COLOURS, class_colours
from arboretum.report.picture import BOX_HEIGHT, PADDING, tidy, tree_scene
from arboretum.report.scene import Box, Label, fit_text, text_width

SVG = "{http://www.w3.org/2000/svg}"


def chain(depth: int, column: str = "x", classes: tuple[str, ...] = ("a", "b")) -> Tree:
    """A tree that sends one row aside per level: depth + 1 leaves."""
    n = 2 * depth + 1
    test, child, offset = [], [], [0]
    for v in range(n):
        inner = v % 2 == 0 and v < n - 1
        test.append(v // 2 if inner else -1)
        child += [v + 1, v + 2] if inner else []
        offset.append(len(child))
    left = np.array([depth + 1 - v // 2 if v % 2 == 0 else 1 for v in range(n)], float)
    weights = np.zeros((n, len(classes)))
    weights[:, 0] = left
    return Tree(
        task=Task.classification,
        columns=(ColumnSpec(column, ColumnKind.continuous),),
        classes=classes,
        rules=tuple(Threshold(column, float(k)) for k in range(depth)),
        test=test,
        child_offset=offset,
        child=child,
        missing_child=[-1] * n,
        weights=weights,
        counts=left,
        label=np.zeros(n),
        value=np.full(n, np.nan),
        price=np.ones(n),
        impurity=np.zeros(n),
        score=np.zeros(n),
    )


def node_boxes(scene):
    return [shape for shape in scene.shapes if isinstance(shape, Box) and shape.hint]


@given(st.data(), st.sampled_from([True, False]))
@settings(deadline=None)
def test_no_box_lies_over_another_and_all_lie_on_the_picture(data, sideways):
    tree = data.draw(trees(data.draw(tables())))
    scene = tree_scene(tree, sideways=sideways)
    boxes = node_boxes(scene)
    for a, b in itertools.combinations(boxes, 2):
        apart = (
            a.x + a.width <= b.x
            or b.x + b.width <= a.x
            or a.y + BOX_HEIGHT <= b.y
            or b.y + BOX_HEIGHT <= a.y
        )
        assert apart, (a, b)
    for box in boxes:
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= scene.width
        assert box.y + box.height <= scene.height


@given(st.data())
@settings(deadline=None)
def test_the_svg_is_well_formed_and_shows_every_node(data):
    tree = data.draw(trees(data.draw(tables()), splits=False))
    root = ET.fromstring(tree.to_svg(title="<&> \x00 ]]>"))
    shown = [rect for rect in root.iter(SVG + "rect") if rect.find(SVG + "title") is not None]
    items = list(outline(tree).walk())
    assert len(shown) == len(items)
    assert sum(not item.children and not item.stays for item in items) == tree.n_leaves


@given(st.data())
def test_children_of_the_outline_add_up_to_their_parent(data):
    table = data.draw(tables())
    tree = data.draw(trees(table))
    for item in outline(tree, max_leaves=data.draw(st.integers(1, 6))).walk():
        if item.children:
            total = sum(child.weights for child in item.children)
            assert total == pytest.approx(item.weights, abs=1e-9)


@given(st.data(), st.integers(1, 8))
def test_folding_loses_no_leaf(data, budget):
    tree = data.draw(trees(data.draw(tables()), splits=False))
    items = list(outline(tree, max_leaves=budget).walk())
    ends = [item for item in items if not item.children and not item.stays]
    assert sum(item.folded or 1 for item in ends) == tree.n_leaves


def test_special_characters_are_escaped():
    svg = chain(2, '<script>"&\x07', ("a<b", "c&d")).to_svg()
    root = ET.fromstring(svg)
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    assert "a<b" in "".join(root.itertext())


def test_a_large_tree_is_summarised_and_says_so():
    tree = chain(200)
    svg = tree.to_svg()
    folded = re.search(r"(\d+) of the leaves are folded into (\d+) dashed boxes", svg)
    assert folded is not None
    shown = [box for box in node_boxes(tree_scene(tree)) if not box.dashed]
    assert len(shown) < 130
    full = tree.to_svg(max_leaves=None)
    assert "folded" not in full


def test_the_number_a_test_compares_with_is_never_cut():
    svg = chain(2, "a very long column name that no box can hold in full width").to_svg()
    assert "… ≤ 0" in svg
    assert "… ≤ 1" in svg


@pytest.mark.parametrize(
    "column", ["petal_width", "a very long column name that no box can hold in full width"]
)
def test_both_ends_of_an_interval_stand_in_its_box(column):
    scene = tree_scene(
        attrs.evolve(chain(1, column), rules=(Interval(column, -1000.66633, 1.2527913),))
    )
    words = [shape.text for shape in scene.shapes if isinstance(shape, Label)]
    asked = next(text for text in words if " in (" in text)
    assert asked.endswith(" in (-1000.67, 1.25279]") and asked.startswith(column[:4])
    root = next(box for box in node_boxes(scene) if " in (" in box.hint)
    assert text_width(asked, 12, bold=True) <= root.width - 2 * PADDING + 0.01, (
        "it stays within the box"
    )


def test_the_legend_names_the_heaviest_of_many_classes():
    tree = chain(3, classes=tuple(f"kind {k}" for k in range(30)))
    svg = tree.to_svg()
    assert "21 other classes" in svg
    assert "kind 0 4" in svg


def test_each_of_few_classes_and_the_heaviest_of_many_have_a_colour_of_their_own():
    assert class_colours(chain(3, classes=("a", "b", "c"))) == list(CLASS_COLOURS[:3])
    many = chain(3, classes=tuple(f"kind {k}" for k in range(30)))
    many = attrs.evolve(many, weights=np.roll(many.weights, -1, axis=1))  # the last is heaviest
    found = class_colours(many, ANSI_CODES, ANSI_OTHER)
    assert found.count(ANSI_OTHER) == 21 and len(set(found)) == 10
    assert ANSI_OTHER not in (found[0], found[29])


def test_the_layout_centres_parents_and_keeps_gaps():
    children = {
        "root": ["a", "b", "c"],
        "a": ["a1", "a2"],
        "b": [],
        "c": ["c1"],
        "a1": [],
        "a2": [],
        "c1": [],
    }
    names = {name: name for name in children}
    at = tidy("root", lambda k: [names[c] for c in children[k]], lambda k: 10.0, 2.0)
    place = {name: at[name] for name in names}
    assert place["root"] == pytest.approx((place["a"] + place["c"]) / 2)
    assert place["a"] == pytest.approx((place["a1"] + place["a2"]) / 2)
    assert place["a2"] - place["a1"] == pytest.approx(12)
    assert min(place.values()) == pytest.approx(5)
    level = [["a", "b", "c"], ["a1", "a2", "c1"]]
    for row in level:
        for left, right in itertools.pairwise(row):
            assert place[right] - place[left] >= 12 - 1e-9


def test_text_is_cut_to_fit():
    assert fit_text("short", 500, 12) == "short"
    assert text_width(fit_text("a rather long piece of text", 80, 12), 12) <= 80.01
    assert fit_text("a rather long piece of text", 80, 12).endswith("…")


def test_the_png_is_a_png(tmp_path):
    chain(3, "cost in $ per $").to_png(tmp_path / "tree.png", scale=1)
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_dot_escapes_and_lists_every_branch():
    dot = chain(2, 'a"b\\c').to_graphviz()
    assert dot.count("->") == 4
    assert r'"a\"b\\c ≤ 0\n3 rows\n[3, 0]"' in dot


def test_regression_trees_have_a_scale_instead_of_classes():
    leaf = chain(1)
    tree = attrs.evolve(
        leaf,
        task=Task.regression,
        classes=(),
        weights=[[2, 3, 5], [1, 1, 1], [1, 2, 4]],
        value=[1.5, 1, 2],
    )
    svg = tree.to_svg()
    assert "1 … 2 predicted" in svg
    assert "2 rows · 1.5 ± 0.5" in svg
