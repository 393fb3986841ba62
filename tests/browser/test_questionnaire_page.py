"""The page of a tree's questionnaire is for everybody: screen readers, small and dark screens,
paper, hostile names; and what is refused is refused before there is a page.

Pictures of it are kept in the folder that ARBORETUM_SCREENSHOTS names (default: the test's own).
"""

from __future__ import annotations

import os
from pathlib import Path

import attrs
import pytest
from browser.answering import AGE, pick, stump, told
from browser.chromium import NEEDED
from drawn_trees import Ramp

from arboretum.errors import CapabilityError, ConfigError
from arboretum.model.rules import Values
from arboretum.model.table import ColumnKind
from arboretum.model.tree import ColumnSpec
from arboretum_basics.questionnaire import Questionnaire

pytestmark = NEEDED

# -- for everybody: screen reader, small and dark screens, hostile names ---------------------------


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
                "textbox",
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


# -- what is refused, and pages of odd trees -------------------------------------------------------


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
    page.get_by_role("textbox").fill("4.8")
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
