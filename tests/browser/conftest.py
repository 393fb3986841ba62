"""The pages of trees, opened in a browser, and the trees that several files of tests open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browser.chromium import started

import arboretum
from arboretum.model.tree import Tree
from arboretum_basics.questionnaire import Questionnaire


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

    def show(tree: Tree, export: Any = Questionnaire, **fields: Any) -> Any:
        (folder / "page.html").write_text(export(**fields).write(tree), encoding="utf-8")
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
