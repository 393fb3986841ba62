"""The documentation site, as ``make site`` has built it, in a browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from browser.chromium import NEEDED, started

SITE = Path(__file__).resolve().parents[2] / "build" / "site" / "html"
pytestmark = [
    *NEEDED,
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="make site has not built it"),
]
PHONE = {"width": 390, "height": 844}
SHOWN = (
    "docs/index.html",
    "gallery/index.html",
    "gallery/plot_certified_tree.html",
    "docs/reference/components.html",
    "docs/reference/api/arboretum.sklearn.estimators.TreeClassifier.html",
    "docs/papers/regularized.html",
    "docs/coming-from/scikit-learn.html",
)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the site is served, on this machine alone."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with started() as found:
        yield found


class Links(HTMLParser):
    """The places that a page has, and those that it leads to or needs."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.wanted: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        self.places |= {told[key] for key in ("id", "name") if told.get(key)}
        self.wanted += [told[key] for key in ("href", "src") if told.get(key)]


def test_no_link_within_the_site_is_dead():
    pages = {
        path: Links(path.read_text("utf-8"))
        for path in SITE.rglob("*.html")
        if "_static" not in path.parts
    }
    assert len(pages) > 200

    @cache  # most links of a page are those of the pages beside it
    def is_dead(folder: Path, link: str) -> bool:
        address, place = urldefrag(link)
        if urlsplit(address).scheme or address.startswith("//"):
            return False
        target = (folder / unquote(address.partition("?")[0])).resolve()
        known = pages.get(target)
        return not target.is_file() or bool(known and place and unquote(place) not in known.places)

    dead = []
    for page, links in pages.items():
        for link in links.wanted:
            own = link == "" or link[0] in "#?"
            if is_dead(page.parent, page.name + link if own else link):
                dead.append(f"{page.relative_to(SITE)}: {link}")
    assert dead == []


def test_the_search_finds_gain_ratio(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/search.html?q=GainRatio")
    page.wait_for_selector("#search-results li a")
    found = page.eval_on_selector_all("#search-results li a", "all => all.map(a => a.textContent)")
    assert found
    page.close()


@pytest.mark.parametrize("shown", SHOWN)
def test_a_page_fits_a_phone_and_asks_nobody_outside(browser, address, shown):
    page, asked = browser.new_page(viewport=PHONE), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}/{shown}")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert [url for url in asked if not url.startswith((address, "data:"))] == []
    assert page.locator(".site-version").first.count() == 1
    page.close()
