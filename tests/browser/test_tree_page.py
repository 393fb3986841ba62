"""The page on which one walks in a tree: a row goes where the tree sends it, a large tree costs no
more than a small one, and it is for everybody.

Pictures of it are kept in the folder that ARBORETUM_SCREENSHOTS names (default: the test's own).
"""

from __future__ import annotations

import csv
import io
import math
import os
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
from browser.answering import AGE, stump
from browser.chromium import NEEDED
from drawn_trees import Ramp, row_of, rows_like, tables, trees
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

import arboretum
from arboretum.model.rules import Bins, Equals, Interval, TestRule, Threshold, Values
from arboretum.model.table import ColumnKind, Table, Task
from arboretum.model.tree import MISSING_SPLITS, ColumnSpec, Tree
from arboretum_basics.tree_page import TreePage
from arboretum_data.named import canonical

pytestmark = NEEDED

DRIVER = """
(lines) => lines.map((text) => {
  document.getElementById("line").value = text;
  document.getElementById("read").click();
  const big = document.querySelector("#result .big");
  return {
    error: document.getElementById("error").textContent,
    label: big?.dataset.label, value: big?.dataset.value, paid: big?.dataset.paid,
    text: big?.textContent,
    path: [...document.querySelectorAll("#tree .path")].map((one) => Number(one.dataset.node)),
    shares: walked ? [...walked.share] : [],
    parts: walked ? walked.parts.map(({ node, share }) => [node, share]) : [],
  };
})
"""
"""Pastes lines, one after the other, and tells what the page showed of each."""
LARGE_NODES, DEEP = 5001, 30


def lines_of(table: Table) -> list[str]:
    """Every row of a table as a line of CSV below the header."""
    found = []
    for row in range(table.n_rows):
        cells = row_of(table, row)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(cells)
        writer.writerow(
            "" if value is None else repr(value) if isinstance(value, float) else value
            for value in cells.values()
        )
        found.append(text.getvalue())
    return found


def compare(page: Any, tree: Tree, table: Table) -> None:
    """Every row of the table goes on the page where the tree sends it, at its price."""
    found = page.evaluate(DRIVER, lines_of(table))
    places, answers = tree.places(table), tree.predict(table)
    paid = tree.prices_paid(table)
    node, row, share = places.all()
    for at, told in zip(range(table.n_rows), found, strict=True):
        assert told["error"] == ""
        expected = {
            int(v): float(part) for v, r, part in zip(node, row, share, strict=True) if r == at
        }
        parts: dict[int, float] = {}
        for v, part in told["parts"]:
            parts[v] = parts.get(v, 0.0) + part
        assert parts == pytest.approx(expected, rel=1e-12)
        assert float(told["paid"]) == pytest.approx(paid[at], rel=1e-12, abs=1e-12)
        if tree.is_regression:
            assert float(told["value"]) == pytest.approx(answers[at], rel=1e-12, abs=1e-12)
            continue
        shares = tree.predict_proba(table)[at]
        best = np.sort(shares)[::-1]
        tied = len(expected) > 1 and len(best) > 1 and best[0] - best[1] < 1e-12
        assert tied or int(told["label"]) == answers[at]
        assert told["text"] == tree.classes[int(told["label"])]


@attrs.frozen
class Sum(TestRule):
    """A test of two columns."""

    tag: ClassVar[str] = "sum"

    @property
    def columns(self):
        return "a", "b"

    def outcome_of(self, row):
        if row["a"] is None or row["b"] is None:
            return -1
        return 0 if row["a"] + row["b"] > 1 else 1

    def outcome_label(self, outcome):
        return "add up to more than 1" if outcome == 0 else "do not"


def test_every_row_of_iris_and_of_a_table_with_missing_values(opened, iris):
    compare(opened(iris, TreePage), iris, canonical("iris"))
    words = ["dataset=play-tennis", "split=none", "method=c45", "tracker=none"]
    tree = arboretum.run(words).tree
    compare(opened(tree, TreePage), tree, canonical("play-tennis"))


@given(st.data())
# a browser takes minutes to make an example smaller
@settings(
    phases=[Phase.generate], suppress_health_check=[HealthCheck.filter_too_much], deadline=None
)
def test_rows_of_drawn_trees_go_where_the_trees_send_them(opened, data):
    table = data.draw(tables(min_rows=4))
    tree = data.draw(
        trees(table, shares=True).filter(lambda one: not any(rule.fuzzy for rule in one.rules))
    )
    rows = data.draw(rows_like(table, max_rows=8, unseen=True))
    page = opened(tree, TreePage)
    # a category that the tree does not know is spelled so that it is no missing value
    lines = [line.replace("?", "never seen") for line in lines_of(rows)]
    told = page.evaluate(DRIVER, lines)
    places = tree.places(rows)
    for at, one in enumerate(told):
        assert one["error"] == ""
        if places.whole[at] >= 0:
            assert [int(v) for v, _ in one["parts"]] == [places.whole[at]]
    compare(page, tree, data.draw(rows_like(table, max_rows=8, unseen=False)))


NEIGHBOURS = [0.1, float(np.float32(0.1)), 16777217.0, 1e-300, -2.5, 5e-324, 1.7976931348623157e308]


@pytest.mark.parametrize("middle", NEIGHBOURS)
def test_neighbouring_numbers_go_to_their_own_sides(opened, middle):
    around = [middle]
    for kind in (np.float64, np.float32):
        with np.errstate(over="ignore"):
            at = kind(middle)
            around += [float(at), float(np.nextafter(at, kind(-np.inf)))]
            around += [float(np.nextafter(at, kind(np.inf)))]
    around = [value for value in around if np.isfinite(value)] + [0.0, -0.0]
    rules = [
        Threshold("age", middle),
        Bins("age", (min(middle, 0.0) - 1.0, middle), missing_outcome=True),
        Interval("age", math.nextafter(middle, -math.inf), middle),
        Interval("age", None, middle, missing_is_other=True),
        Equals("age", None),
    ]
    for rule in rules:
        tree = stump(rule, AGE)
        told = opened(tree, TreePage).evaluate(DRIVER, [f"age\n{value!r}\n" for value in around])
        expected = [rule.outcome_of({"age": value}) + 1 for value in around]
        assert [int(one["parts"][0][0]) for one in told] == expected
        (lost,) = opened(tree, TreePage).evaluate(DRIVER, ['age\n""\n'])
        assert int(lost["parts"][0][0]) == max(rule.outcome_of({"age": None}) + 1, 0)


ODD = (
    "a,b",
    'say "a"',
    " blank ",
    "blank",
    "",
    "NA",
    "line\nbreak",
    "__proto__",
    "</script>",
    "\u202egnorw",
    "Ä",
    "A\u0308",
    "constructor",
    "0",
    "\0",
)


def test_categories_with_odd_names_are_matched_by_their_spelling(opened):
    column = ColumnSpec("colour", ColumnKind.categorical, ODD)
    tree = stump(Values("colour", ODD), column)
    lines = []
    for name in ODD:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([["colour"], [name]])
        lines.append(text.getvalue())
    told = opened(tree, TreePage).evaluate(DRIVER, lines)
    assert [one["error"] for one in told] == [""] * len(ODD)
    assert [int(one["parts"][0][0]) for one in told] == list(range(1, len(ODD) + 1))
    (unseen,) = opened(tree, TreePage).evaluate(DRIVER, ["colour\nnever seen\n"])
    assert int(unseen["parts"][0][0]) == 0, "it stops at the root, which answers"


@pytest.mark.parametrize(
    ("categories", "spellings"),
    [
        (("false", "true"), ["true", "True", "FALSE", "1", "0", "2", "yes"]),
        (("1", "2.5", "10"), ["1.0", "2.50", "10", "1e+01", "3", "01", "x"]),
        (("007", "10"), ["007", "7", "10", "10.0"]),
        (("true", "maybe"), ["True", "maybe", "1"]),
        (("2020-03-01", "2020-03-02"), ["2020-03-01 00:00:00", "2020-03-02", "2020-03-03"]),
    ],
)
def test_values_are_matched_as_predict_matches_them(opened, categories, spellings):
    column = ColumnSpec("colour", ColumnKind.categorical, categories)
    tree = stump(Values("colour", categories), column)
    told = opened(tree, TreePage).evaluate(DRIVER, [f"colour\n{one}\n" for one in spellings])
    expected = [int(tree.apply({"colour": [one]})[0]) for one in spellings]
    assert [int(one["parts"][0][0]) for one in told] == expected


def test_numbers_truth_values_and_dates_are_read_as_predict_reads_them(opened):
    page = opened(stump(Threshold("age", 0.5), AGE), TreePage)
    told = page.evaluate(DRIVER, [f"age\n{t}\n" for t in ("true", "False", ".5", "1E3", "+1", "?")])
    assert [int(one["parts"][0][0]) for one in told] == [2, 1, 1, 2, 2, 0]
    wrong = ("old", "inf", "1e999", "0x10", "1_0", "--1", "1 2")
    for text, one in zip(
        wrong, page.evaluate(DRIVER, [f"age\n{text}\n" for text in wrong]), strict=True
    ):
        assert "must hold a number such as 2.5" in one["error"], text
    day = ColumnSpec("day", ColumnKind.continuous, unit="days")
    tree = stump(Threshold("day", 18322.0, unit="days"), day)  # 2020-03-01
    texts = [
        "2020-03-01",
        "2020-03-02",
        "2020-03-01 23:59:59.5",
        "1969-12-31",
        "2020-03-02T00:30+01:00",
        "0001-01-01",
        "9999-12-31",
    ]
    told = opened(tree, TreePage).evaluate(DRIVER, [f"day\n{text}\n" for text in texts])
    expected = [int(tree.apply({"day": [text]})[0]) for text in texts]
    assert [int(one["parts"][0][0]) for one in told] == expected
    no_dates = ["2020-02-30", "20200305", "5", "1.5"]
    for wrong in opened(tree, TreePage).evaluate(DRIVER, [f"day\n{one}\n" for one in no_dates]):
        assert "a date such as 2020-03-01" in wrong["error"]


def test_a_line_may_come_without_its_header_and_mistakes_are_said(opened, iris):
    page = opened(iris, TreePage)
    names = ",".join(column.name for column in iris.columns)
    texts = [
        "5.1,3.5,1.4,0.2",
        f"{names}\n5.1,3.5,1.4,0.2",
        "5.1;3.5;1.4;0.2",
        "5.1\t3.5\t1.4\t0.2",
    ]
    assert {one["text"] for one in page.evaluate(DRIVER, texts)} == {"setosa"}
    for text, message in {
        "": "Paste a line first",
        "1,2,3": "The line has 3 cells, the table 4 columns",
        "a,b\n1,2": "names the columns, but none of these is one",
        f"{names}\n1,2": "The header names 4 columns, the line has 2 cells",
    }.items():
        (told,) = page.evaluate(DRIVER, [text])
        assert message in told["error"]


def test_a_row_is_typed_into_the_form_and_its_path_is_lit(opened, iris):
    page = opened(iris, TreePage)
    page.get_by_label("petal_length", exact=True).fill("4.8")
    page.get_by_label("petal_width", exact=True).fill("1.2")
    page.get_by_role("button", name="Follow").click()
    assert page.locator("#result .big").text_content() == "versicolor"
    leaf = int(
        iris.apply(
            [{"petal_length": 4.8, "petal_width": 1.2, "sepal_length": None, "sepal_width": None}]
        )[0]
    )
    lit = [
        int(v) for v in page.locator(".node.path").evaluate_all("a => a.map(e => e.dataset.node)")
    ]
    assert lit == [node for node, _ in iris.path(leaf)] + [leaf]
    page.get_by_label("petal_length", exact=True).fill("long")
    page.get_by_role("button", name="Follow").click()
    assert "must hold a number" in page.locator("#error").text_content()
    assert page.get_by_label("petal_length", exact=True).get_attribute("aria-invalid") == "true"
    page.get_by_role("button", name="Clear").click()
    assert page.locator(".node.path").count() == 0 and page.locator("#error").text_content() == ""


def test_a_test_of_several_columns_is_asked_and_one_of_degrees_is_not_followed(opened):
    specs = [ColumnSpec(name, ColumnKind.continuous) for name in "ab"]
    page = opened(stump(Sum(), *specs), TreePage)
    page.get_by_label("a, b add up to more than 1", exact=True).select_option(index=2)
    page.get_by_role("button", name="Follow").click()
    assert page.evaluate("walked.parts[0].node") == 2
    page = opened(stump(Ramp("age", 20, 40), AGE), TreePage)
    assert page.locator("#form").is_hidden()
    assert "by degrees" in page.locator("#refused").text_content()


# -- size: what is drawn, and what a click does, does not grow with the tree -----------------------


def large(nodes: int = LARGE_NODES, deep: int = DEEP) -> Tree:
    """A tree of that many nodes and that depth: a comb whose leaves were split at random."""
    below: dict[int, tuple[int, int]] = {}
    depth, leaves, made = {0: 0}, [0], 1
    random = np.random.default_rng(0)
    while made < nodes:  # first down to the bottom, then anywhere
        at = len(leaves) - 1 if made < 2 * deep else int(random.integers(len(leaves)))
        if depth[leaf := leaves[at]] == deep:
            continue
        leaves.pop(at)
        below[leaf] = made, made + 1
        for child in below[leaf]:
            depth[child] = depth[leaf] + 1
        leaves += [made, made + 1]
        made += 2
    order: list[int] = []
    stack = [0]
    while stack:
        order.append(stack.pop())
        stack.extend(reversed(below.get(order[-1], ())))
    place = {node: k for k, node in enumerate(order)}
    weights = np.zeros((made, 2))
    for node in reversed(order):  # children come after their parent
        kept = below.get(node, ())
        weights[place[node]] = (
            sum(weights[place[child]] for child in kept) if kept else [1 + node % 3, 1 + node % 2]
        )
    inner = [node in below for node in order]
    return Tree(
        task=Task.classification,
        columns=tuple(ColumnSpec(f"x{k}", ColumnKind.continuous) for k in range(12)),
        classes=("no", "yes"),
        rules=tuple(Threshold(f"x{k}", 0.5) for k in range(12)),
        test=[depth[node] % 12 if one else -1 for node, one in zip(order, inner, strict=True)],
        child_offset=np.concatenate([[0], np.cumsum([2 * one for one in inner])]),
        child=[place[child] for node in order for child in below.get(node, ())],
        missing_child=[MISSING_SPLITS if one else -1 for one in inner],
        weights=weights,
        counts=weights.sum(axis=1),
        label=weights.argmax(axis=1),
        value=[np.nan] * made,
        price=[float(one) for one in inner],
        impurity=[np.nan] * made,
        score=[np.nan] * made,
    )


COUNT = "document.querySelectorAll('*').length"
WATCH = """
() => {
  window.touched = 0;
  new MutationObserver((found) => {
    for (const one of found) window.touched += one.addedNodes.length + one.removedNodes.length;
  }).observe(document.body, { childList: true, subtree: true });
}
"""
MOST_ELEMENTS, MOST_TOUCHED = 1500, 400
"""Elements of the page, and elements that one click takes away or puts there with what hangs at
them, whatever the size of the tree.
"""


def test_a_tree_of_five_thousand_nodes_costs_no_more_than_what_is_seen(opened):
    tree = large()
    assert tree.n_nodes == LARGE_NODES and tree.depth_of.max() == DEEP
    page = opened(tree, TreePage)
    assert page.evaluate(COUNT) < MOST_ELEMENTS
    page.get_by_role("button", name="Unfold all").click()
    assert page.evaluate("shown.length") == LARGE_NODES
    assert page.evaluate(COUNT) < MOST_ELEMENTS
    page.evaluate(WATCH)

    def touched() -> int:
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        count = page.evaluate("window.touched")
        page.evaluate("window.touched = 0")
        return count

    touched()
    fold = "(node) => document.querySelector(`[data-node='${node}'] .fold`).click()"
    for node in (0, 0, 1, 1):  # all of it goes away, and comes again
        page.evaluate(fold, node)
        assert 0 < touched() < MOST_TOUCHED and page.evaluate(COUNT) < MOST_ELEMENTS
    for key in ("End", "Home", "PageDown", "ArrowDown", "ArrowLeft", "*"):
        page.locator("#tree").focus()
        page.keyboard.press(key)
        assert touched() < 2 * MOST_TOUCHED and page.evaluate(COUNT) < MOST_ELEMENTS
    page.evaluate("document.getElementById('tree').scrollTop = 60000")
    assert 0 < touched() < 2 * MOST_TOUCHED
    # a row that goes everywhere, one that goes to one leaf, and a column that many nodes ask
    page.evaluate(DRIVER, ['x0\n""', "x0,x1\n0,1"])
    assert page.evaluate(COUNT) < MOST_ELEMENTS
    page.get_by_label("Find a column").fill("x11")
    assert page.evaluate(COUNT) < MOST_ELEMENTS
    names = [tree.rule(node).columns[0] for node in tree.inner.tolist()]
    assert f"{names.count('x11')} nodes ask x11" in page.locator("#found").text_content()
    rows = np.random.default_rng(1).integers(0, 2, size=(8, 12)).astype(float)
    text = [",".join(map(str, row)) for row in rows.tolist()]
    told = page.evaluate(DRIVER, text)
    assert [int(one["parts"][0][0]) for one in told] == tree.apply(rows).tolist()


# -- for everybody ---------------------------------------------------------------------------------


def shown(page: Any) -> list[int]:
    return page.evaluate("shown")


def test_keys_fold_and_walk_as_in_any_tree(opened, iris):
    page = opened(iris, TreePage)
    page.locator("#tree").focus()

    def press(*keys: str) -> int:
        for key in keys:
            page.keyboard.press(key)
        named = page.locator("#tree").get_attribute("aria-activedescendant")
        node = int(named.removeprefix("node-"))
        assert page.locator(f"#{named}").get_attribute("aria-selected") == "true"
        return node

    n = iris.n_nodes
    assert shown(page) == list(range(n))
    assert press("ArrowDown", "ArrowDown") == 2
    assert press("ArrowLeft") == 2 and shown(page) == [0, 1, 2]
    assert press("ArrowLeft") == 0 and press("End") == 2
    assert press("ArrowRight") == 2 and shown(page) == list(range(n))
    assert press("ArrowRight") == 3 and press("Home") == 0
    assert press("Enter") == 0 and shown(page) == [0]
    assert press(" ") == 0 and shown(page) == list(range(n)), "what lay below is as it was"
    assert press("ArrowDown", "ArrowUp", "ArrowUp") == 0


def test_a_screen_reader_finds_a_tree_with_levels_and_names(opened, context, iris):
    page = opened(iris, TreePage)
    nodes = context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    items = [one for one in nodes if one.get("role", {}).get("value") == "treeitem"]
    assert len(items) == iris.n_nodes
    levels = [
        next(p["value"]["value"] for p in one["properties"] if p["name"] == "level")
        for one in items
    ]
    assert levels == (iris.depth_of + 1).tolist()
    assert all("rows" in one["name"]["value"] or "1 row" in one["name"]["value"] for one in items)
    wanted = {"button", "textbox", "searchbox", "tree", "combobox"}
    controls = [one for one in nodes if one.get("role", {}).get("value") in wanted]
    assert [one for one in controls if not one.get("name", {}).get("value", "").strip()] == []
    assert page.locator("#result").get_attribute("role") == "status"
    expanded = page.locator("[role=treeitem][aria-expanded=true]").count()
    assert expanded == len(iris.inner)


def test_the_pointer_and_the_keys_tell_of_a_node(opened):
    words = ["dataset=play-tennis", "split=none", "method=id3", "tracker=none"]
    tree = arboretum.run([*words, "cost=table", "cost.prices={outlook: 2, windy: 0.5}"]).tree
    page = opened(tree, TreePage, unit="€")

    def facts() -> dict[str, str]:
        names = page.locator("#about dt").all_text_contents()
        return dict(zip(names, page.locator("#about dd").all_text_contents(), strict=True))

    assert facts()["Price of the test"] == "2 €" and facts()["Paid until here"] == "0 €"
    assert facts()["Impurity"] == f"{tree.impurity[0]:.6g}"
    assert facts()["Score of the test"] == f"{tree.score[0]:.6g}"
    page.locator(".node").nth(1).hover()
    assert facts()["Paid until here"] == "2 €"
    weights = [row.split()[1] for row in page.locator("#about tr").all_inner_texts()]
    assert list(map(float, weights)) == tree.weights[1].tolist()
    page.mouse.move(1, 1)
    assert facts()["Paid until here"] == "0 €", "without a pointer it is the chosen node"


def test_what_else_might_have_been_asked_is_told_where_it_is_known(opened, iris):
    class Explained(TreePage):
        def write(self, tree):
            tests = [("petal_width ≤ 0.8", 0.5, False), ("petal_length ≤ 2.45", 0.25, True)]
            return self.write_explained(
                tree, {0: {"of": 9, "tests": [*tests, ("odd", None, False)]}}
            )

    page = opened(iris, Explained)
    rows = [" ".join(text.split()) for text in page.locator("#about tr").all_inner_texts()]
    assert rows[-3:] == ["petal_width ≤ 0.8 0.5", "▸ petal_length ≤ 2.45 0.25", "odd −∞"]
    assert "the best of 9" in page.locator("#about caption").last.text_content()
    page.locator(".node").nth(2).click()
    assert "might have been asked" not in page.locator("#about").text_content()


def test_a_column_is_found_in_all_its_nodes_also_folded_ones(opened, iris):
    page = opened(iris, TreePage)
    names = [iris.rule(v).columns[0] if not iris.is_leaf[v] else "" for v in range(iris.n_nodes)]
    lit = [v for v, name in enumerate(names) if name == "petal_length"]
    page.get_by_label("Find a column").fill("petal_length")
    found = page.locator(".node.lit").evaluate_all("a => a.map(e => Number(e.dataset.node))")
    assert found == lit and (
        page.locator("#found").text_content() == f"{len(lit)} nodes ask petal_length"
    )
    page.get_by_role("button", name="Fold all", exact=True).click()
    assert f"{len(lit) - 1} found in it" in page.locator(".node").first.text_content()
    seen = []
    for _ in lit:
        page.get_by_role("button", name="Next").click()
        seen.append(page.evaluate("active"))
    assert seen == [*lit[1:], lit[0]], "folded ones are unfolded on the way"
    page.get_by_label("Find a column").fill("petal")
    assert "ask one of 2 columns" in page.locator("#found").text_content()
    page.get_by_label("Find a column").fill("nothing")
    assert page.locator("#found").text_content() == "There is no such column."


def test_hostile_names_are_only_text(opened):
    hostile = (
        "</script><script>document.title='robbed'</script>",
        "<img src=x onerror=\"document.title='robbed'\">",
        "<!--<script>",
        "\u202egnorw",
        "a\u2028b",
        "${document.title='robbed'}",
        "x" * 5000,
        "\ud800",
        "__proto__",
    )
    columns = [ColumnSpec(name, ColumnKind.categorical, hostile, question=name) for name in hostile]
    tree = stump(Values(hostile[0], hostile), *columns, classes=hostile[:2])
    text = TreePage(title=hostile[0], unit=hostile[1]).write(tree)
    text.encode()
    assert text.count("<script") == 2 and "\u2028" not in text
    page = opened(tree, TreePage, title=hostile[0], unit=hostile[1])
    page.locator("#fields select").first.select_option(index=2)
    page.get_by_role("button", name="Follow").click()
    assert page.locator("#result .big").text_content() == hostile[1]
    assert page.title() == hostile[0] and page.locator("img, script").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_fits_a_phone_and_paper_has_the_tree_without_controls(opened, iris):
    page = opened(iris, TreePage)
    page.set_viewport_size({"width": 320, "height": 600})
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    page.set_viewport_size({"width": 1200, "height": 300})
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("[role=treeitem]:visible").count() == iris.n_nodes
    assert page.locator("button:visible, input:visible").count() == 0
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.set_viewport_size({"width": 1200, "height": 900})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_their_grounds(opened, iris, scheme):
    page = opened(iris, TreePage)
    page.emulate_media(color_scheme=scheme)
    grounds = ("page", "card", "path", "lit")
    pairs = [(text, ground) for text in ("text", "soft") for ground in grounds]
    pairs += [("wrong", "card"), ("on-strong", "strong")]
    low = [pair for pair in pairs if contrast(page, *pair) < 4.5]
    page.emulate_media(color_scheme="light")
    assert low == []


def contrast(page: Any, one: str, other: str) -> float:
    """By WCAG 2, of two colours of the page's style."""

    def light(name: str) -> float:
        style = "getComputedStyle(document.documentElement)"
        colour = page.evaluate(f"{style}.getPropertyValue('--{name}').trim()")
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (
            p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_pictures(opened, iris, tmp_path):
    folder = Path(os.environ.get("ARBORETUM_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    page = opened(iris, TreePage, title="Irises")
    page.get_by_label("Find a column").fill("petal_length")
    page.get_by_label("petal_length", exact=True).last.fill("4.8")
    page.get_by_role("button", name="Follow").click()
    for name, width, scheme in [
        ("wide", 1300, "light"),
        ("dark", 1300, "dark"),
        ("phone", 375, "light"),
    ]:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=folder / f"tree-page-{name}.png", full_page=True)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(20, 24, 22)" if scheme == "dark" else "rgb(244, 245, 242)")
    page.emulate_media(color_scheme="light")
    page = opened(large(), TreePage, title="Large")
    page.set_viewport_size({"width": 1300, "height": 900})
    page.screenshot(path=folder / "tree-page-large.png")
