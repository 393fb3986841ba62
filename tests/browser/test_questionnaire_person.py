"""A person answers the questionnaire of a tree: goes back, changes an answer, stops, does not know,
in whatever kind of field, by the keyboard alone.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from browser.answering import AGE, pick, stump, told
from browser.chromium import NEEDED

from arboretum.model.rules import NO_OUTCOME, Bins, TestRule, Threshold, Values
from arboretum.model.table import Column, ColumnKind
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS, ColumnSpec

pytestmark = NEEDED

# -- back, change, stop, not known -----------------------------------------------------------------


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
    page.get_by_role("textbox").fill("37.5")
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
    field = page.get_by_role("textbox")
    assert field.get_attribute("aria-invalid") == "true" and field.evaluate(
        "one => one === document.activeElement"
    )
    for text in ("1e", "1,5", "1 5", "0x10", "1_5", "1e400", "NaN", "∞"):
        field.fill("")
        field.press_sequentially(text)
        page.keyboard.press("Enter")
        assert page.locator("#form").is_visible() and field.input_value() == text


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


# -- without a mouse -------------------------------------------------------------------------------


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
