"""The browser that tests drive: the machine's own Chromium, without a word to anybody outside."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

NEEDED = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None, reason="no Chromium on this machine (apt-get install chromium)"
    ),
]
"""Marks of a module of tests."""


@contextmanager
def started() -> Iterator[Any]:
    """The browser."""
    sync = pytest.importorskip(
        "playwright.sync_api", reason="Python's playwright drives the browser"
    )
    with sync.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
