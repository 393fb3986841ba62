"""The questionnaire of a tree asks, counts and answers as the tree does: every number on its page
is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import numpy as np
import pytest
from browser.answering import stump
from browser.chromium import NEEDED
from drawn_trees import row_of, rows_like, tables, trees
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

import arboretum
from arboretum.measure.complexity import complexities
from arboretum.model.rules import NO_OUTCOME, Threshold
from arboretum.model.table import ColumnKind, Table
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS, ColumnSpec, Tree
from arboretum.model.walk import policies
from arboretum_data.file import FileDataset
from arboretum_data.named import canonical

pytestmark = NEEDED

DRIVER = """
(people) => people.map((answers) => {
  const seen = [], $ = (id) => document.getElementById(id);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const value = (dt) => dt.nextSibling.querySelector("data")?.value;
  const said = () => Object.fromEntries(all("dt").map((dt) => [dt.textContent, value(dt)]));
  $("again").click();
  while (!$("form").hidden) {
    const question = $("question").textContent, answer = answers[question];
    if (answer === undefined) throw new Error(`nobody thought of the question ${question}`);
    seen.push({ question, ...said() });
    const options = [...document.querySelectorAll("#fields select option, #fields label.option")];
    if (answer === null) { $("unknown").click(); continue; }
    if (typeof answer === "number") $("value").value = answer;
    else {
      const option = options.find((one) => one.textContent === answer);
      if (option.tagName === "OPTION") option.selected = true;
      else option.querySelector("input").checked = true;
    }
    $("form").requestSubmit();
    if ($("error").textContent) throw new Error($("error").textContent);
  }
  const share = (row) =>
    [row.querySelector("bdi")?.textContent, row.querySelector("td").textContent];
  const shares = all("#shares tr").map(share);
  const path = all("#path strong").map((one) => one.textContent);
  const answer = $("answer").textContent;
  return { seen, answer, shares: Object.fromEntries(shares), path, ...said() };
})
"""
"""Answers the page for several people (question → number, option or null) and tells what it
showed at each question and in the end.
"""


# -- the numbers, once more in Python: by the slow form of every test, of what is known ------------


def decided(tree: Tree, node: int, known: Mapping[str, Any]) -> int | None:
    """Outcome, MISSING_STOPS or MISSING_SPLITS; None while something must still be asked."""
    for rule, to in [
        (tree.rule(node), None),
        *((tree.rules[one.rule], one.to) for one in tree.surrogates if one.node == node),
    ]:
        if not set(rule.columns) <= set(known):
            return None
        outcome = rule.outcome_of(known)
        outcome = outcome if to is None or outcome < 0 else to[outcome]
        if outcome != NO_OUTCOME:
            return outcome
    return int(policies(tree)[node])


def ways(
    tree: Tree, node: int, known: Mapping[str, Any]
) -> list[tuple[float, int | None, float]] | None:
    """(share, child or None, price) of where a decided node leads; None for one that is not
    decided.
    """
    outcome, children = decided(tree, node, known), tree.children(node).tolist()
    edge = tree.edge_price[tree.child_offset[node] : tree.child_offset[node + 1]].tolist()
    if outcome is None:
        return None
    if outcome == MISSING_SPLITS:
        mass = [tree.mass[child] if child >= 0 else 0.0 for child in children]
        return [
            (m / sum(mass), child, price)
            for m, child, price in zip(mass, children, edge, strict=True)
            if m > 0
        ]
    if outcome == MISSING_STOPS or children[outcome] < 0:
        return [(1.0, None, float(tree.price[node]))]
    return [(1.0, children[outcome], edge[outcome])]


def rest(tree: Tree, node: int, known: Mapping[str, Any]) -> tuple[float, float]:
    """(most, mean) of what is still to be paid from a node on."""
    if tree.is_leaf[node]:
        return 0.0, 0.0
    if (told := ways(tree, node, known)) is not None:
        below = [
            (share, price, *(rest(tree, child, known) if child is not None else (0.0, 0.0)))
            for share, child, price in told
        ]
        return sum(s * (p + most) for s, p, most, _ in below), sum(
            s * (p + mean) for s, p, _, mean in below
        )
    price, most, paid, came = float(tree.price[node]), float(tree.price[node]), 0.0, 0.0
    edges = tree.edge_price[tree.child_offset[node] : tree.child_offset[node + 1]].tolist()
    for child, edge in zip(tree.children(node).tolist(), edges, strict=True):
        if child >= 0:
            more, mean = rest(tree, child, known)
            most, paid, came = (
                max(most, edge + more),
                paid + tree.mass[child] * (edge + mean),
                came + tree.mass[child],
            )
    return most, (paid + max(0.0, tree.mass[node] - came) * price) / tree.mass[node] if tree.mass[
        node
    ] > 0 else price


def costs(tree: Tree, known: Mapping[str, Any]) -> tuple[float, float, float]:
    """(spent, the rest at most, on average) with some columns known."""
    spent = most = mean = 0.0
    standing = [(0, 1.0)]
    while standing:
        node, share = standing.pop()
        told = None if tree.is_leaf[node] else ways(tree, node, known)
        if told is None:
            more, average = rest(tree, node, known)
            most, mean = most + share * more, mean + share * average
        for part, child, price in told or ():
            spent += share * part * price
            standing += [] if child is None else [(child, share * part)]
    return spent, most, mean


# -- it asks, counts and answers as the tree does --------------------------------------------------


def answers_of(table: Table, row: int, words: Mapping[str, str] = {}) -> dict[str, Any]:
    return {
        words.get(name, f"What is {name}?"): value for name, value in row_of(table, row).items()
    }


def compare(page: Any, tree: Tree, table: Table, words: Mapping[str, str] = {}) -> None:
    """Every row of the table, answered on the page, gets the tree's answer at the tree's price;
    every number on the way is right.
    """
    found = page.evaluate(DRIVER, [answers_of(table, row, words) for row in range(table.n_rows)])
    paid, predicted = tree.prices_paid(table), tree.predict(table)
    names = {
        words.get(column.name, f"What is {column.name}?"): column.name for column in tree.columns
    }
    for row, told in zip(range(table.n_rows), found, strict=True):
        known: dict[str, Any] = {}
        for step in told["seen"]:
            shown = [
                float(step[name]) for name in ("Spent", "The rest, at most", "The rest, on average")
            ]
            assert shown == pytest.approx(costs(tree, known), rel=1e-9, abs=1e-12)
            known[names[step["question"]]] = row_of(table, row)[names[step["question"]]]
        assert len(known) == len(told["seen"]), "no column is asked for twice"
        assert float(told["Spent"]) == pytest.approx(paid[row], rel=1e-9, abs=1e-12)
        if tree.classes:
            assert told["answer"] == tree.classes[predicted[row]]
            for name, share in zip(tree.classes, tree.predict_proba(table)[row], strict=True):
                assert float(re.sub("[<>% ]", "", told["shares"][name])) == pytest.approx(
                    100 * share, abs=0.11
                )
        else:
            assert float(told["answer"]) == pytest.approx(predicted[row], rel=1e-5, abs=1e-9)


def costs_shown(page: Any) -> dict[str, str]:
    return dict(
        zip(
            page.locator("#costs dt").all_text_contents(),
            page.locator("#costs dd").all_text_contents(),
            strict=True,
        )
    )


def test_every_row_of_play_tennis_and_iris(opened, tennis, iris):
    words = {"outlook": "What does the sky look like?"}
    compare(opened(tennis), tennis, canonical("play-tennis"), words)
    compare(opened(iris), iris, canonical("iris"))


def test_before_the_first_question_the_costs_are_those_of_the_tree(opened, tennis):
    shown, whole = costs_shown(opened(tennis, unit="€")), complexities(tennis)
    assert shown == {"Spent": "0 €", "The rest, at most": "3 €", "The rest, on average": "2.54 €"}
    assert whole["max_cost"] == 3 and whole["expected_cost"] == pytest.approx(35.5 / 14)


@pytest.mark.parametrize("cost", ["unit", "per_column", "random"])
def test_a_table_with_missing_values_and_prices(opened, cost, tmp_path):
    """Every seventh cell of tic-tac-toe is not known."""
    whole = canonical("tic-tac-toe")
    cells = {
        column.name: np.append(column.categories, "")[column.values] for column in whole.columns
    }
    for i, column in enumerate(cells.values()):
        column[i::7] = ""
    cells["won"] = np.array(whole.target.classes)[whole.target.codes]
    np.savetxt(
        tmp_path / "t.csv",
        np.array(list(cells.values())).T,
        "%s",
        ",",
        header=",".join(cells),
        comments="",
    )
    file = FileDataset(path=str(tmp_path / "t.csv"), target="won")
    words = [
        "dataset=file",
        f"dataset.path={file.path}",
        "dataset.target=won",
        "split=none",
        "method=cart",
        "tracker=none",
    ]
    tree = arboretum.run([*words, f"cost={cost}", "stopping.standard.max_depth=6"]).tree
    table = file.load(0)
    assert any(column.missing.any() for column in table.columns)
    compare(opened(tree), tree, table.take(np.arange(0, table.n_rows, 5)))


@pytest.mark.parametrize(
    "cost",
    [
        ["by_outcome", "cost.prices={outlook: {sunny: 3, rainy: 1}, humidity: {high: 0.5}}"],
        ["discount", "cost.groups={outlook: air, humidity: air, windy: air}", "cost.share=0.25"],
        ["set_up", "cost.groups={humidity: meter, windy: meter}", "cost.set_up={meter: 4}"],
    ],
)
def test_prices_of_the_real_world(opened, cost):
    tree = arboretum.run(
        [
            "dataset=play-tennis",
            "split=none",
            "method=id3",
            f"cost={cost[0]}",
            *cost[1:],
            "tracker=none",
        ]
    ).tree
    assert len(set(tree.edge_price.tolist())) > 1
    compare(opened(tree), tree, canonical("play-tennis"))


@given(st.data())
# a browser takes minutes to make an example smaller
@settings(
    phases=[Phase.generate], suppress_health_check=[HealthCheck.filter_too_much], deadline=None
)
def test_drawn_trees_with_surrogates_shares_and_prices_by_outcome(opened, data):
    table = data.draw(tables(min_rows=4))
    tree = data.draw(
        trees(table, shares=True).filter(
            lambda one: one.n_nodes > 3 and not any(rule.fuzzy for rule in one.rules)
        )
    )
    page, rows = opened(tree), data.draw(rows_like(table, max_rows=6, unseen=False))
    compare(page, tree, rows)
    compare(
        page,
        tree,
        without_values(rows, [name for name in row_of(rows, 0) if data.draw(st.booleans())]),
    )
    compare(page, tree, without_values(rows, row_of(rows, 0)).take(np.arange(1)))


def without_values(table: Table, names: Iterable[str]) -> Table:
    """The table with columns of which no value is known."""
    gone = {
        c.name: np.full(
            len(c.values), np.nan if c.kind is ColumnKind.continuous else -1, c.values.dtype
        )
        for c in table.columns
    }
    return attrs.evolve(
        table,
        columns=tuple(
            attrs.evolve(c, values=gone[c.name] if c.name in names else c.values)
            for c in table.columns
        ),
    )


def test_tests_of_price_1_are_counted_as_tests(opened):
    page = opened(
        arboretum.run(["dataset=play-tennis", "split=none", "method=id3", "tracker=none"]).tree
    )
    assert costs_shown(page) == {
        "Spent": "0 tests",
        "The rest, at most": "2 tests",
        "The rest, on average": "1.71 tests",
    }
    page.get_by_label("rainy").check()
    page.get_by_role("button", name="Next").click()
    assert costs_shown(page) == {
        "Spent": "1 test",
        "The rest, at most": "1 test",
        "The rest, on average": "1 test",
    }


def test_a_part_that_stopped_has_no_more_to_pay(opened):
    """One branch of a split stops at its second test, whose price counted as spent and as rest."""
    columns = [ColumnSpec(name, ColumnKind.continuous) for name in "xyz"]
    weights = np.array([[2, 2], [1, 1], [1, 0], [0, 1], [1, 1], [1, 0], [0, 1]], float)
    tree = stump(
        Threshold("x", 0.5),
        *columns,
        rules=[Threshold(name, 0.5) for name in "xyz"],
        test=[0, 1, -1, -1, 2, -1, -1],
        child_offset=[0, 2, 4, 4, 4, 6, 6, 6],
        child=[1, 4, 2, 3, 5, 6],
        missing_child=[MISSING_SPLITS] + [MISSING_STOPS] * 6,
        weights=weights,
        counts=weights.sum(axis=1),
        label=weights.argmax(axis=1),
        value=[np.nan] * 7,
        price=[1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        impurity=[np.nan] * 7,
        score=[np.nan] * 7,
    )
    page = opened(tree)
    for _ in "xy":
        page.get_by_role("button", name="Not known").click()
    assert page.locator("#costs dd").all_text_contents() == ["1.5 tests", "0.5 tests", "0.5 tests"]


def test_a_regression_tree_tells_mean_and_range(opened):
    tree = arboretum.run(
        [
            "dataset=diabetes",
            "split=none",
            "method=cart",
            "stopping.standard.max_depth=3",
            "tracker=none",
        ]
    ).tree
    page, table = opened(tree), canonical("diabetes")
    shown = dict(
        zip(
            page.locator("#shares dt").all_text_contents(),
            page.locator("#shares dd").all_text_contents(),
            strict=True,
        )
    )
    y, leaves = table.target.values, tree.value[tree.is_leaf]
    assert float(shown["Mean"]) == pytest.approx(y.mean(), rel=1e-5)
    assert float(shown["Standard deviation"]) == pytest.approx(y.std(), rel=1e-5)
    assert [float(x) for x in shown["The answer lies between"].split(" and ")] == pytest.approx(
        [leaves.min(), leaves.max()], rel=1e-5
    )
    compare(page, tree, table.take(np.arange(0, table.n_rows, 20)))


WORDS_IN_PIECES = """
() => [...document.querySelectorAll("#shares dt")].flatMap((dt) => {
  const range = document.createRange(), text = dt.firstChild;
  return [...text.data.matchAll(/\\S+/g)].filter((word) => {
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    return range.getClientRects().length > 1;
  }).map((word) => word[0]);
})
"""


@pytest.mark.parametrize("factor", [1e-290, 1.0, 1e300])
def test_numbers_of_any_size_have_a_deviation_and_leave_words_whole(opened, tmp_path, factor):
    y = np.array([-1.2345671, 0.1, 0.3, 1.0]) * factor
    lines = [f"{x},{value!r}" for x, value in enumerate(y.tolist())]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *lines, ""]), encoding="utf-8")
    data = ["dataset=file", f"dataset.path={tmp_path / 't.csv'}", "dataset.target=y"]
    data.append("dataset.task=regression")  # even where all numbers are whole
    page = opened(arboretum.run([*data, "split=none", "method=cart", "tracker=none"]).tree)
    spread = page.locator("#shares dd").all_text_contents()[1]
    assert float(spread) == pytest.approx(np.std(y / factor) * factor, rel=1e-5)
    assert page.evaluate(WORDS_IN_PIECES) == []
