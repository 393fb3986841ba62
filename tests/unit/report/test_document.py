"""A document as text, Markdown, LaTeX, CSV and as a page."""

from __future__ import annotations

import csv
import io
import itertools
import math
from html.parser import HTMLParser

import pytest

from arboretum.model.charts import Axis, BarChart, Line, LineChart
from arboretum.model.document import Chapter, Document, Estimate, Listing, Section
from arboretum.report.document import (
    csv_listing,
    csv_of,
    latex,
    latex_of,
    markdown_of,
    text_of,
)
from arboretum.report.page import page_of

ROWS = [
    {
        "data set": "a_b & <c>",
        "one": Estimate(0.05, 0.01, best=True),
        "two": Estimate(0.125),
        "n": 3,
    },
    {"data set": "100 %", "one": Estimate(math.nan), "two": Estimate(10.0, 2.0), "n": None},
]
CHART = LineChart("Lines & <points>", [Line("l", [1, 2], [3, 4])], Axis("x"), Axis("y"))
BARS = BarChart("Bars", ("u", "v"), (1.0, 2.0), Axis("z"))
DOCUMENT = Document(
    "One and two on 2 data sets",
    [
        Chapter(
            "Error",
            [
                Section(
                    "Means",
                    ["One is better."],
                    [Listing("means", "Mean error; ± standard error", ROWS)],
                    {"lines": CHART, "bars": BARS},
                    ["A note."],
                )
            ],
            ["Lower is better."],
        )
    ],
    ["Two runs."],
)


def test_text_aligns_estimates_marks_the_best_and_says_all_sentences():
    text = text_of(DOCUMENT)
    for words in ("One and two on 2 data sets", "Two runs.", "One is better.", "A note."):
        assert words in text
    lines = text.splitlines()
    signs = [line.index("±") for line in lines if "0.0500" in line or "10" in line.split()]
    assert "0.0500 ± 0.0100 *" in text and "–" in text and signs
    assert [line for line in lines if len(line) > 100] == []


def test_text_leaves_out_errors_before_it_cuts_numbers_and_shows_the_first_rows():
    rows = [{f"m{k}": Estimate(0.123, 0.011) for k in range(9)} for _ in range(20)]
    wide = Document("t", [Chapter("c", [Section("s", tables=[Listing("x", "rows", rows)])])])
    text = text_of(wide)
    assert "±" not in text and "0.1230" in text and "…" not in text.replace("… 8 rows more", "")
    assert "… 8 rows more" in text


def test_csv_has_numbers_in_full_and_errors_in_columns_of_their_own():
    (first, second) = csv.DictReader(io.StringIO(csv_listing(DOCUMENT.tables[0])))
    assert first == {
        "data set": "a_b & <c>",
        "one": "0.05",
        "one standard error": "0.01",
        "two": "0.125",
        "two standard error": "",
        "n": "3",
    }
    assert (second["one"], second["n"]) == ("", "")
    assert csv_of(DOCUMENT).startswith("# Mean error; ± standard error\ndata set,")


def test_latex_needs_booktabs_alone_and_escapes_what_it_would_obey():
    text = latex_of(DOCUMENT)
    assert r"a\_b \& \textless{}c\textgreater{}" in text and r"100 \%" in text
    assert r"\textbf{0.0500 $\pm$ 0.0100}" in text and r"\begin{tabular}{lrrr}" in text
    for opened, closed in ((r"\begin{table}", r"\end{table}"), ("{", "}")):
        assert text.count(opened) == text.count(closed)
    assert all(text.count(rule) == 1 for rule in (r"\toprule", r"\midrule", r"\bottomrule"))
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 3 and all(line.replace(r"\&", "").count("&") == 3 for line in rows)
    assert latex("~^\\") == r"\textasciitilde{}\textasciicircum{}\textbackslash{}"


def test_markdown_links_pictures_and_prints_the_best_bold():
    text = markdown_of(DOCUMENT)
    assert "| **0.0500 ± 0.0100** |" in text and "![Bars](bars.svg)" in text
    assert text.startswith("# One and two on 2 data sets\n") and "\n## Error\n" in text


class Elements(HTMLParser):
    """Open and closed elements, attributes, and text."""

    VOID = ("meta", "br", "link")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attrs for tag, attrs in self.found if tag == name]


def test_the_page_is_well_formed_whole_and_asks_for_nothing_else():
    page = page_of(DOCUMENT)
    elements = Elements(page)
    assert elements.all("html") == [{"lang": "en"}] and len(elements.all("svg")) == 2
    ids = [attrs["id"] for _, attrs in elements.found if attrs.get("id")]
    assert len(ids) == len(set(ids))
    targets = [attrs["href"][1:] for attrs in elements.all("a")]
    assert set(targets) <= set(ids)
    loads = [a for _, attrs in elements.found for a in attrs if a in ("src", "srcset", "data")]
    assert loads == [] and elements.all("link") == [] and "@import" not in page
    assert "<c>" not in page and "a_b &amp; &lt;c&gt;" in page


def test_the_page_can_be_heard_headings_captions_scopes_names():
    elements = Elements(page_of(DOCUMENT))
    levels = [int(tag[1]) for tag, _ in elements.found if tag in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1 and all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert len(elements.all("caption")) == len(elements.all("table")) == 1
    assert {attrs["scope"] for attrs in elements.all("th")} == {"col", "row"}
    assert all(attrs["aria-label"] for attrs in elements.all("svg"))
    assert all(attrs["role"] == "img" for attrs in elements.all("svg"))


def test_cells_sort_by_their_numbers_whatever_is_written():
    elements = Elements(page_of(DOCUMENT))
    values = [attrs["data-value"] for attrs in elements.all("td") if "data-value" in attrs]
    assert values == ["0.05", "0.125", "3", "10.0"]
    rows = [{"t": name, "p": p} for name, p in (("a", -math.inf), ("b", math.inf), ("c", 1.0))]
    listing = Listing("x", "rows", rows)
    infinite = Document("t", [Chapter("c", [Section("", tables=[listing])])])
    cells = Elements(page_of(infinite)).all("td")
    assert [one["data-value"] for one in cells] == ["-Infinity", "Infinity", "1.0"]


def test_a_long_table_is_cut_and_says_so():
    rows = [{"k": k} for k in range(600)]
    long = Document("t", [Chapter("c", [Section("", tables=[Listing("x", "rows", rows)])])])
    page = page_of(long)
    assert page.count("<tr>") == 501 and "the first 500 of 600 rows" in page


@pytest.mark.parametrize("hostile", ["</script><script>alert(1)</script>", "\x1b[31m", "$title"])
def test_hostile_names_are_shown_and_not_obeyed(hostile):
    named = Document(hostile, [Chapter(hostile, [Section(hostile, [hostile])])])
    page = page_of(named)
    assert page.count("<script>") == 1 and "\x1b" not in page and page.count("<h1>") == 1
