"""The report of a comparison in a browser: tables sort by mouse and keyboard, nothing is asked of a
network, it stays readable in the dark, on a small screen and on paper.
"""

from __future__ import annotations

import re

import pytest
from browser.chromium import NEEDED
from made_runs import made_study

from arboretum.cli.compared import Question, compose, measure_of
from arboretum.interfaces.comparison import Terms
from arboretum.plugin.discovery import load_registry
from arboretum.report.page import page_of
from arboretum.runs.gather import gather
from arboretum.runs.grouping import Grouping

pytestmark = NEEDED


@pytest.fixture(scope="module")
def page(context, tmp_path_factory):
    folder, registry = tmp_path_factory.mktemp("report"), load_registry()
    gathered = gather([str(made_study(folder / "study"))])
    measures = [measure_of("test_error", gathered.records, registry)]
    question = Question(measures, Terms(control="cart"))
    document = compose(Grouping.of(gathered.records), gathered, question, registry)
    (folder / "comparison.html").write_text(page_of(document), encoding="utf-8")
    address, wrong = (folder / "comparison.html").as_uri(), []
    opened = context.new_page()
    opened.set_default_timeout(10_000)
    opened.on("request", lambda one: None if one.url == address else wrong.append(one.url))
    opened.on("console", lambda one: wrong.append(one.text) if one.type == "error" else None)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.goto(address)
    yield opened
    opened.close()
    assert wrong == []


def column(page, number: int) -> list[str]:
    """What a column of the table of means shows, from top to bottom."""
    return page.locator("table").first.locator(f"tbody tr > :nth-child({number})").all_inner_texts()


def numbers(texts: list[str]) -> list[float]:
    return [float(re.match(r"[-\d.e]+", text)[0]) for text in texts]


def test_a_click_and_the_keyboard_sort_a_table_up_and_down(page):
    heading = page.locator("table").first.get_by_role("button", name="cart")
    cell = heading.locator("..")
    before = column(page, 1)
    heading.click()
    assert numbers(column(page, 2)) == sorted(numbers(column(page, 2)))
    assert cell.get_attribute("aria-sort") == "ascending"
    heading.focus()
    page.keyboard.press("Enter")
    assert numbers(column(page, 2)) == sorted(numbers(column(page, 2)), reverse=True)
    assert cell.get_attribute("aria-sort") == "descending"
    page.locator("table").first.get_by_role("button", name="data set").click()
    assert column(page, 1) == before and cell.get_attribute("aria-sort") is None


def test_every_control_has_a_name_and_tables_are_reached_by_keyboard(page, context):
    session = context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "link", "table", "image", "region", "navigation"}
    shown = [one for one in nodes if not one.get("ignored") and one["role"]["value"] in roles]
    assert len(shown) > 20
    nameless = [one["role"]["value"] for one in shown if not one.get("name", {}).get("value")]
    assert nameless == []


def luminance(colour: str) -> float:
    """Of "rgb(r, g, b)", as WCAG 2 has it."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_in_the_light_and_in_the_dark(page, scheme):
    """WCAG 2 asks for a contrast of 4.5."""
    page.emulate_media(color_scheme=scheme)
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for selector in ("body", ".note", "caption", "a", "td.best"):
        look = page.evaluate(
            "s => { const e = getComputedStyle(document.querySelector(s));"
            " return [e.color, e.backgroundColor] }",
            selector,
        )
        behind = back if look[1] == "rgba(0, 0, 0, 0)" else look[1]
        high, low = sorted((luminance(look[0]), luminance(behind)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, (scheme, selector)
    page.emulate_media(color_scheme="light")


def test_a_small_screen_scrolls_tables_and_not_the_page(page):
    page.set_viewport_size({"width": 380, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    captions = "[...document.querySelectorAll('caption')]"
    assert page.evaluate(f"Math.max(...{captions}.map(one => one.offsetWidth))") <= 380
    page.set_viewport_size({"width": 1200, "height": 900})


def test_on_paper_nothing_is_cut_and_there_is_no_menu(page):
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    cut = page.evaluate(
        "[...document.querySelectorAll('.wide')].filter(e => e.scrollHeight > e.clientHeight + 1)"
        ".length"
    )
    assert cut == 0
    page.emulate_media(media="screen")
