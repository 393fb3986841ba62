"""A person answers the questionnaire of a tree: it asks, counts, answers and explains as the tree
does, whoever the person is.

Pictures of it are kept in the folder that ARBORETUM_SCREENSHOTS names (default: the test's own).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from browser.chromium import NEEDED, started
from drawn_trees import Ramp, row_of, rows_like, tables, trees
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

import arboretum
from arboretum.errors import CapabilityError, ConfigError
from arboretum.measure.complexity import complexities
from arboretum.model.rules import NO_OUTCOME, Bins, TestRule, Threshold, Values
from arboretum.model.table import Column, ColumnKind, Table, Task
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS, ColumnSpec, Tree
from arboretum.model.walk import policies
from arboretum_basics.questionnaire import Questionnaire
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


@pytest.fixture(scope="module")
def context() -> Iterator[Any]:
    """A browser without a network."""
    with started() as browser:
        yield browser.new_context(offline=True, viewport={"width": 1200, "height": 900})


@pytest.fixture(scope="module")
def opened(context, tmp_path_factory) -> Iterator[Any]:
    """Opens the page of a tree; in the end nothing was asked of the network, refused by the
    page's own policy, or raised.
    """
    page, folder, wrong = context.new_page(), tmp_path_factory.mktemp("pages"), []
    page.set_default_timeout(10_000)
    address = (folder / "page.html").as_uri()
    page.on(
        "request",
        lambda request: None if request.url in (address, "data:,") else wrong.append(request.url),
    )
    page.on(
        "console",
        lambda message: (
            wrong.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    page.on("pageerror", lambda error: wrong.append(str(error)))

    def show(tree: Tree, **fields: Any) -> Any:
        (folder / "page.html").write_text(Questionnaire(**fields).write(tree), encoding="utf-8")
        page.goto(address)
        return page

    show.wrong = wrong
    yield show
    assert wrong == []


@pytest.fixture(scope="module")
def tennis() -> Tree:
    words = "dataset.questions={outlook: What does the sky look like?}"
    run = [
        "dataset=play-tennis",
        "split=none",
        "method=id3",
        "cost=table",
        "cost.prices={outlook: 2, windy: 0.5}",
        words,
        "tracker=none",
    ]
    return arboretum.run(run).tree


@pytest.fixture(scope="module")
def iris() -> Tree:
    return arboretum.run(
        ["dataset=iris", "split=none", "method=cart", "cost=per_column", "tracker=none"]
    ).tree


# -- the numbers, once more in Python: by the slow form of every test, from what is known of the col


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
    for row, told in enumerate(found):
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


# -- back, change, stop, not known -----------------------------------------------------------------


def pick(page: Any, answer: str) -> None:
    page.get_by_label(answer, exact=True).check()
    page.get_by_role("button", name="Next").click()


def told(page: Any) -> tuple[str, str, list[str]]:
    """What is asked or answered, the costs, the conditions of the path."""
    asked = page.locator("#form").is_visible()
    heading = page.locator("#question" if asked else "#answer").text_content()
    return (
        heading,
        " | ".join(page.locator("#costs dd").all_text_contents()),
        page.locator("#path strong").all_text_contents(),
    )


def test_a_person_goes_back_changes_an_answer_and_starts_again(opened, tennis):
    page = opened(tennis)
    first = told(page)
    assert first == ("What does the sky look like?", "0 | 3 | 2.54", [])
    pick(page, "sunny")
    second = told(page)
    assert second == ("What is humidity?", "2 | 1 | 1", ["outlook = sunny"])
    pick(page, "high")
    assert told(page) == ("no", "3", ["outlook = sunny", "humidity = high"])

    page.get_by_role("button", name="Back").click()
    assert told(page) == second and page.get_by_label("high").is_checked(), (
        "the answer stands in its question"
    )
    page.get_by_role("button", name="Back").click()
    assert told(page) == first and page.get_by_label("sunny").is_checked()
    assert page.get_by_role("button", name="Back").is_disabled()

    pick(page, "sunny")
    pick(page, "high")
    page.get_by_role(
        "button", name="Change the answer to: \u2068What does the sky look like?\u2069"
    ).click()
    assert told(page) == first and page.get_by_label("sunny").is_checked()
    pick(page, "rainy")
    assert told(page) == ("What is windy?", "2 | 0.5 | 0.5", ["outlook = rainy"])
    page.get_by_role("button", name="Back").click()
    pick(page, "sunny")
    assert told(page) == ("no", "3", ["outlook = sunny", "humidity = high"]), (
        "an answer that matters again is not asked again"
    )
    page.get_by_role("button", name="Start again").click()
    assert told(page) == first and page.locator("#fields :checked").count() == 0


def test_a_person_stops_early_and_goes_on(opened, tennis):
    page = opened(tennis)
    pick(page, "sunny")
    page.get_by_role("button", name="Stop here").click()
    assert told(page) == ("no", "2 | 1 | 1", ["outlook = sunny"])
    assert "60 % of the 5 training rows" in page.locator("#why").text_content()
    assert "stopped before the last question" in page.locator("#why").text_content()
    assert page.locator("#status").text_content() == "Answer: \u2068no\u2069 (60 %). Spent 2."
    page.get_by_role("button", name="Go on asking").click()
    pick(page, "normal")
    assert told(page)[0] == "yes" and page.get_by_role("button", name="Stop here").is_hidden()


def stump(rule: TestRule, *columns: ColumnSpec, **changes: Any) -> Tree:
    """One test; its leaf k has k + 1 rows, of class k % 2."""
    n, weights = rule.arity, np.zeros((rule.arity + 1, 2))
    weights[np.arange(1, n + 1), np.arange(n) % 2] = np.arange(n) + 1
    weights[0] = weights.sum(axis=0)
    parts = {
        "task": Task.classification,
        "columns": columns,
        "classes": ("no", "yes"),
        "rules": (rule,),
        "test": [0] + [-1] * n,
        "child_offset": [0, n] + [n] * n,
        "child": range(1, n + 1),
        "missing_child": [-1] * (n + 1),
        "weights": weights,
        "counts": weights.sum(axis=1),
        "label": weights.argmax(axis=1),
        "value": [np.nan] * (n + 1),
        "price": [1.0] + [0.0] * n,
        "impurity": [np.nan] * (n + 1),
        "score": [np.nan] * (n + 1),
    }
    return Tree(**{**parts, **changes})


AGE = ColumnSpec("age", ColumnKind.continuous, question="How old are you?")


@pytest.mark.parametrize(
    ("policy", "answer", "said"),
    [
        (MISSING_STOPS, "yes", "the tree stops here"),
        (0, "no", "where the tree sends what is not known"),
        (MISSING_SPLITS, "yes", "every branch is followed"),
    ],
)
def test_what_is_not_known_goes_where_the_tree_sends_it(opened, policy, answer, said):
    page = opened(stump(Threshold("age", 37.5), AGE, missing_child=[policy, -1, -1]))
    page.get_by_role("button", name="Not known").click()
    assert told(page)[:2] == (answer, "1 test")
    assert said in page.locator("#path").text_content()
    shares = page.locator("#shares td").all_text_contents()
    assert shares == (["100 %", "0 %"] if policy == 0 else ["33.3 %", "66.7 %"])


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


def test_a_number_known_roughly_is_asked_again_only_where_that_does_not_decide(opened):
    page = opened(stump(Bins("age", (10, 20, 30)), AGE))
    assert page.locator("#fields label.option").all_text_contents() == [
        "≤ 10",
        "in (10, 20]",
        "in (20, 30]",
        "> 30",
    ]
    pick(page, "in (10, 20]")
    assert told(page) == ("yes", "1 test", ["age in (10, 20]"])

    chain = stump(
        Threshold("age", 37.5),
        AGE,
        rules=(Threshold("age", 37.5), Threshold("age", 20), Threshold("age", 50)),
        test=[0, 1, 2, -1, -1, -1, -1],
        child_offset=[0, 2, 4, 6, 6, 6, 6, 6],
        child=[1, 6, 2, 5, 3, 4],
        missing_child=[-1] * 7,
        weights=[[4, 3], [4, 2], [4, 1], [4, 0], [0, 1], [0, 1], [0, 1]],
        counts=[7, 6, 5, 4, 1, 1, 1],
        label=[0, 0, 0, 0, 1, 1, 1],
        value=[np.nan] * 7,
        price=[1, 1, 1, 0, 0, 0, 0],
        impurity=[np.nan] * 7,
        score=[np.nan] * 7,
    )
    page = opened(chain)
    assert page.locator("#costs dd").all_text_contents()[1] == "3 tests"
    pick(page, "≤ 37.5")
    assert page.locator("#fields label.option").all_text_contents() == ["≤ 20", "> 20"]
    pick(page, "≤ 20")
    assert told(page) == ("no", "3 tests", ["age ≤ 37.5", "age ≤ 20", "age ≤ 50"]), (
        "whoever is at most 20 is at most 50"
    )
    page.get_by_role("button", name="Back").click()
    page.get_by_role("button", name="Not known").click()
    assert told(page) == ("no", "2 tests", ["age ≤ 37.5", "age is not known"]), (
        "what was known roughly stays known"
    )
    page.get_by_role("button", name="Start again").click()
    page.get_by_role("spinbutton").fill("37.5")
    page.keyboard.press("Enter")
    assert told(page) == ("yes", "2 tests", ["age ≤ 37.5", "age > 20"])
    assert "known from above" in page.locator("#path li").nth(1).text_content()


def test_an_answer_that_is_none_is_refused_in_words(opened):
    page = opened(stump(Threshold("age", 37.5), AGE))
    page.get_by_role("button", name="Next").click()
    assert (
        page.get_by_role("alert").text_content()
        == "Write a number such as 2.5, or say that it is not known."
    )
    field = page.get_by_role("spinbutton")
    assert field.get_attribute("aria-invalid") == "true" and field.evaluate(
        "one => one === document.activeElement"
    )
    field.press_sequentially("1e")
    page.keyboard.press("Enter")
    assert page.locator("#form").is_visible()


# -- other kinds of questions ----------------------------------------------------------------------


@attrs.frozen
class Together(TestRule):
    """A test of two columns that only this module knows: do they add up to at most ``most``?"""

    tag = "together_in_a_test_of_the_questionnaire"
    first: str
    second: str
    most: float

    @property
    def columns(self):
        return self.first, self.second

    def outcome_of(self, row):
        values = [row[name] for name in self.columns]
        return NO_OUTCOME if None in values else int(sum(values) > self.most)

    def outcome_label(self, outcome):
        return f"{'≤' if outcome == 0 else '>'} {self.most:g}"

    def describe(self):
        return f"{self.first} + {self.second} {self.outcome_label(0)}"


def test_a_test_that_no_single_value_decides_is_asked_as_it_stands(opened):
    height = ColumnSpec("height", ColumnKind.continuous)
    page = opened(
        stump(Together("age", "height", 200.0), AGE, height),
        questions={"height": "How tall are you, in cm?"},
    )
    assert page.locator("#question").text_content() == "Is it true that age + height ≤ 200?"
    assert page.locator("#hint p").all_text_contents() == [
        "age: How old are you?",
        "height: How tall are you, in cm?",
    ]
    pick(page, "No")
    assert told(page) == ("yes", "1 test", ["age, height > 200"])


def test_a_long_list_of_values_is_folded(opened):
    towns = tuple(f"town {k}" for k in range(40))
    page = opened(stump(Values("town", towns), ColumnSpec("town", ColumnKind.categorical, towns)))
    page.get_by_role("combobox", name="Your answer").select_option("town 8")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Next").click()
    assert told(page)[2] == ["town = town 8"]
    page.get_by_role("button", name="Back").click()
    assert (
        page.get_by_role("combobox").evaluate("one => one.selectedOptions[0].textContent")
        == "town 8"
    )
    assert page.locator("#shares tr").count() == 2


@pytest.mark.parametrize(
    ("unit", "typed", "shown"),
    [
        ("days", "2020-03-01", "2020-03-01"),
        ("seconds", "2020-03-01T12:30:15", "2020-03-01 12:30:15"),
    ],
)
def test_dates_are_asked_as_dates(opened, unit, typed, shown):
    bound = Column("sold", ColumnKind.continuous, np.zeros(1), unit=unit)
    day = 18_322.0 if unit == "days" else 18_322.0 * 86_400 + 12 * 3600 + 30 * 60 + 15  # 2020-03-01
    page = opened(stump(Threshold("sold", day, unit=unit), ColumnSpec.of(bound)))
    field = page.get_by_label("A date")
    field.fill(typed)
    page.get_by_role("button", name="Next").click()
    assert told(page)[2] == [f"sold ≤ {shown}"] and page.locator("#path b").text_content() == shown
    page.get_by_role("button", name="Back").click()
    assert field.input_value() == typed


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


# -- for everybody: keyboard, screen reader, small and dark screens, hostile names -----------------


def test_the_keyboard_alone_is_enough(opened, tennis):
    page = opened(tennis)
    for _ in range(3):  # the first radio button, chosen by an arrow, then the next
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "radio":
            break
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.get_by_label("sunny").is_checked()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.name") == "option", (
        "the keyboard is at the next question"
    )
    assert (
        page.evaluate("getComputedStyle(document.activeElement.parentElement).outlineStyle")
        == "solid"
    ), "and one sees where it is"
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "result-title", (
        "a screen reader reads the answer next"
    )
    assert told(page)[0] == "no"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Back"
    page.keyboard.press("Enter")
    assert (
        page.evaluate("document.activeElement.value") == "0"
        and page.get_by_label("high").is_checked()
    )


def test_every_control_has_a_name_and_what_changes_is_announced(opened, context, tennis, iris):
    for tree in (tennis, iris):
        page = opened(tree)
        assert page.locator("html").get_attribute("lang") == "en"
        assert page.locator("#status").get_attribute("aria-live") == "polite"
        session = context.new_cdp_session(page)
        for answer in ("sunny" if tree is tennis else "> 2.45", None):
            nodes = session.send("Accessibility.getFullAXTree")["nodes"]
            roles = {
                "button",
                "radio",
                "spinbutton",
                "group",
                "combobox",
                "region",
                "radiogroup",
                "table",
            }
            shown = [
                one for one in nodes if not one.get("ignored") and one["role"]["value"] in roles
            ]
            assert len(shown) > 6
            nameless = [
                one["role"]["value"]
                for one in shown
                if not one.get("name", {}).get("value", "").strip()
            ]
            assert nameless == []
            groups = [one["name"]["value"] for one in shown if one["role"]["value"] == "group"]
            assert page.locator("#question").text_content() in groups, (
                "the question is the legend of its fields"
            )
            if answer:
                pick(page, answer)


def test_it_fits_a_narrow_phone(opened, iris):
    page = opened(
        attrs.evolve(
            iris, columns=tuple(attrs.evolve(c, question="Why? " + "w" * 300) for c in iris.columns)
        )
    )
    page.set_viewport_size({"width": 320, "height": 600})
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    small = page.evaluate(
        "[...document.querySelectorAll('button, label.option')].filter((one) => "
        "one.offsetHeight && one.offsetHeight < 32).length"
    )
    assert small == 0, "everything to touch is large enough"
    page.set_viewport_size({"width": 1200, "height": 900})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_their_ground(opened, tennis, scheme):
    page = opened(tennis)
    page.emulate_media(color_scheme=scheme)
    colours = page.evaluate(
        """() => {
            const style = getComputedStyle(document.documentElement);
            const names = "page card text soft strong on-strong wrong field focus".split(" ");
            return Object.fromEntries(names.map((name) =>
                [name, style.getPropertyValue("--" + name).trim()]));
        }"""
    )
    page.emulate_media(color_scheme="light")

    def light(name: str) -> float:  # relative luminance, WCAG 2
        parts = [int(colours[name][i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    def contrast(one: str, other: str) -> float:
        low, high = sorted((light(one), light(other)))
        return (high + 0.05) / (low + 0.05)

    pairs = [
        (text, ground) for text in ("text", "soft", "wrong") for ground in ("page", "card")
    ] + [("on-strong", "strong")]
    assert [pair for pair in pairs if contrast(*pair) < 4.5] == []
    assert [
        pair
        for pair in [("field", "card"), ("focus", "card"), ("focus", "page")]
        if contrast(*pair) < 3
    ] == []


def test_on_paper_there_are_answers_and_no_buttons(opened, tennis):
    page = opened(tennis)
    pick(page, "overcast")
    page.emulate_media(media="print")
    assert page.locator("button:visible").count() == 0
    assert page.locator("#answer").is_visible() and page.locator("#path").is_visible()
    page.emulate_media(media="screen")


HOSTILE = (
    "</script><script>document.title='robbed'</script>",
    "<img src=x onerror=\"document.title='robbed'\">",
    "<!--<script>",
    "\u202egnorw",
    "a\u2028b\u2029c",
    "'\"&amp;\\u003c",
    "${document.title='robbed'}",
    "x" * 5000,
    "\ud800",
    "__proto__",
)


def test_hostile_names_are_only_text(opened):
    columns = tuple(
        ColumnSpec(name, ColumnKind.categorical, HOSTILE, question=name) for name in HOSTILE
    )
    tree = stump(Values(HOSTILE[0], HOSTILE), *columns, classes=(HOSTILE[0], HOSTILE[1]))
    for name in HOSTILE:
        text = Questionnaire(title=name, unit=name).write(tree)
        text.encode()  # a lone half of a character is spelled out
        assert text.count("<script") == 2 and "\u2028" not in text
    page = opened(tree, title=HOSTILE[0], unit=HOSTILE[1])
    assert (
        page.title()
        == HOSTILE[0]
        == page.locator("h1").text_content()
        == page.locator("#question").text_content()
    )
    options = page.locator("#fields label.option").all_text_contents()
    assert [options[k] for k in (0, 1, 2, 5, 6, 7, 9)] == [
        HOSTILE[k] for k in (0, 1, 2, 5, 6, 7, 9)
    ]
    assert (options[3], options[4], options[8]) == ("\\u202egnorw", "a\\u2028b\\u2029c", "\\ud800")
    page.locator("#fields input").nth(1).check()
    page.get_by_role("button", name="Next").click()
    assert page.locator("#answer").text_content() == HOSTILE[1]
    assert page.locator("img, script").count() == 2 and page.title() == HOSTILE[0]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_policy_of_the_page_lets_nothing_else_run(opened, tennis):
    page = opened(tennis)
    policy = page.locator("meta[http-equiv]").get_attribute("content")
    assert (
        policy.startswith("default-src 'none'; ")
        and "unsafe" not in policy
        and "http" not in policy
    )
    inserted = (
        "const s = document.createElement('script'); s.textContent = 'window.robbed = 1'; "
        "document.body.append(s)"
    )
    assert page.evaluate(f"() => {{ {inserted}; return window.robbed }}") is None
    page.evaluate("fetch('https://example.invalid/').catch(() => {})")
    assert opened.wrong and all("Content Security Policy" in message for message in opened.wrong), (
        "no request left the page"
    )
    opened.wrong.clear()


# -- what is refused, and a large tree -------------------------------------------------------------


def test_a_test_that_gives_degrees_is_refused():
    with pytest.raises(
        CapabilityError, match="'age below about 30' sends a row down several branches by degrees"
    ):
        Questionnaire().write(stump(Ramp("age", 20, 40), AGE))


def test_questions_about_unknown_columns_are_refused(tennis):
    with pytest.raises(
        ConfigError, match="export.questions: unknown column 'outlok'; did you mean 'outlook'"
    ):
        Questionnaire(questions={"outlok": "?"}).write(tennis)


def test_the_words_of_the_export_come_before_those_of_the_data_set(opened, tennis):
    assert told(opened(tennis, questions={"outlook": "Sun?"}))[0] == "Sun?"


def test_a_tree_without_questions_answers_at_once(opened, tennis):
    page = opened(tennis.cut([0]))
    assert (
        told(page) == ("yes", "0 tests", [])
        and page.get_by_role("button", name="Stop here").is_hidden()
    )


@pytest.fixture
def album(tmp_path) -> Path:
    """Folder of the screenshots."""
    folder = Path(os.environ.get("ARBORETUM_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_pictures(opened, iris, album):
    page = opened(
        iris,
        title="Which iris is it?",
        unit="€",
        questions={"petal_length": "How long is the petal, in cm?"},
    )
    page.get_by_role("spinbutton").fill("4.8")
    page.get_by_role("button", name="Next").click()
    for name, width, scheme in [
        ("wide", 1200, "light"),
        ("dark", 1200, "dark"),
        ("phone", 375, "light"),
    ]:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=album / f"questionnaire-{name}.png", full_page=True)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(20, 24, 22)" if scheme == "dark" else "rgb(244, 245, 242)")
