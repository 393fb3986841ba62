"""A person opens the MLflow UI on a real sweep: finds the sweep and its runs, opens a run and the
picture of its tree.

The pictures of what that person sees are kept in the folder that ARBORETUM_SCREENSHOTS names
(default: the test's own).
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from browser.chromium import NEEDED, started

UP_SECONDS = 120
"""A start took more than 33 s on a busy machine."""

pytestmark = NEEDED

RUNS = ("iris seed=1 cart", "iris seed=2 cart", "wine seed=1 cart", "wine seed=2 cart")


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> Path:
    """A folder in which a front was searched, and a sweep of four runs was done, as a user does
    it.
    """
    folder = tmp_path_factory.mktemp("lab")
    for words in (
        ["dataset=monk1-full", "method=front", "split=none"],
        ["-m", "dataset=iris,wine", "method=cart", "seed=1,2"],
    ):
        command = [sys.executable, "-m", "arboretum.cli", "run", *words]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=280, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def address(lab) -> Iterator[str]:
    """The address that ``arboretum ui`` prints for the sweep; ends it with Ctrl-C, and it must
    end cleanly.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "arboretum.cli", "ui", "--port", str(port)]
    server = subprocess.Popen(command, cwd=lab, stdout=subprocess.PIPE, text=True)
    try:
        _wait_until_up(server, f"http://127.0.0.1:{port}")
        said = server.stdout.readline()
        assert f"http://127.0.0.1:{port}/" in said, "the command says where the UI is"
        yield next(word for word in said.split() if word.startswith("http://"))
    finally:
        server.send_signal(signal.SIGINT)
        status = server.wait(30)
        server.stdout.close()
    assert status == 0
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0, "the server has ended with its command"


def _wait_until_up(server: subprocess.Popen, address: str) -> None:
    deadline = time.monotonic() + UP_SECONDS
    while time.monotonic() < deadline:
        assert server.poll() is None, "the server ended before it was up"
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return
        except OSError:  # not up yet
            time.sleep(0.5)
    pytest.fail(f"the UI was not up after {UP_SECONDS} s")


@pytest.fixture(scope="module")
def album(tmp_path_factory) -> Path:
    """Folder of the screenshots."""
    chosen = os.environ.get("ARBORETUM_SCREENSHOTS")
    folder = Path(chosen) if chosen else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def page(address) -> Iterator[object]:
    """A browser window; it may speak to the UI's own server only."""
    with started() as browser:
        window = browser.new_page(viewport={"width": 1500, "height": 950})
        window.set_default_timeout(60_000)
        strangers: list[str] = []
        window.on(
            "request", lambda r: strangers.append(r.url) if _is_stranger(r.url, address) else None
        )
        yield window
    assert strangers == [], "the UI spoke to somebody outside this machine"


def _is_stranger(url: str, address: str) -> bool:
    return not url.startswith((address.partition("#")[0], "data:", "blob:", "about:"))


def test_a_person_finds_the_sweep_a_run_and_the_picture_of_its_tree(page, address, album):
    page.goto(address)
    sweep = page.locator(".ag-row").get_by_role("link", name="dataset=iris,wine").first
    sweep.wait_for()
    _close_the_assistant(page)
    for column in ("valid_error", "test_error", "n_leaves"):
        page.get_by_role("columnheader", name=column, exact=True).first.wait_for()
    for name in RUNS:
        page.get_by_role("link", name=name, exact=True).first.wait_for()
    cells = "[col-id='tags.`valid_error`'][role=gridcell]"
    shown = page.locator(cells).evaluate_all(
        "all => all.map(one => [+one.closest('[row-index]').getAttribute('row-index'), "
        "one.textContent])"
    )
    errors = [text for _, text in sorted(shown) if text != "-"]
    assert len(errors) >= len(RUNS) and errors == sorted(errors, key=float), "the best first"
    assert all(len(text) <= len("0.01234") for text in errors), errors
    page.screenshot(path=album / "1-runs.png")

    sweep.click()
    page.get_by_role("heading", name="dataset=iris,wine").first.wait_for()
    page.get_by_text("4 runs", exact=True).first.wait_for()  # the summary
    page.get_by_text("Show more").first.click()
    page.locator("img[src*='path=comparison.svg']").first.wait_for()
    page.wait_for_function(
        "() => [...document.images].some(i => i.src.includes('comparison.svg') && "
        "i.naturalWidth > 200)"
    )
    page.get_by_text("valid_error").first.wait_for()  # the best results
    page.screenshot(path=album / "2-sweep.png")

    page.get_by_role("link", name="wine seed=2 cart", exact=True).first.click()
    page.get_by_role("heading", name="wine seed=2 cart").first.wait_for()
    page.get_by_text("wine, verified", exact=False).first.wait_for()
    # MLflow's mode for models, not for language models
    page.get_by_role("link", name="Model registry").first.wait_for()
    assert page.get_by_text("Evaluation runs").count() == 0
    page.screenshot(path=album / "3-run.png")

    page.get_by_role("tab", name="Artifacts").click()
    page.get_by_text("tree.svg").first.click()
    picture = page.locator("img[src^='blob:']").first
    picture.wait_for()
    page.wait_for_function(
        "() => [...document.images].some(i => i.src.startsWith('blob:') && i.naturalWidth > 200)"
    )
    page.screenshot(path=album / "4-tree.png")


def test_a_click_on_a_point_of_a_front_shows_its_tree(page, address, album):
    page.goto(address)
    page.locator(".ag-row").get_by_role("link", name="front monk1-full").first.click()
    _close_the_assistant(page)
    page.get_by_text("front.gap").first.wait_for()
    page.get_by_role("tab", name="Artifacts").click()
    page.get_by_text("front.html").first.click()
    front = page.frame_locator("iframe").first
    front.locator(".chart a").first.wait_for()
    assert front.locator("section:visible").count() == 1, "the most accurate tree is shown at first"
    front.locator(".chart a").nth(1).click()
    front.locator("#point-1").wait_for()
    assert front.locator("section:visible").evaluate_all("all => all.map(one => one.id)") == [
        "point-1"
    ]
    assert front.locator("#point-1 svg text", has_text="a5").count(), "its tree asks for a5"
    page.screenshot(path=album / "7-front.png")


def test_the_experiment_s_note_leads_to_the_sweeps_alone(page, address, album):
    page.goto(address)
    # it opens in a window of its own
    target = page.get_by_role("link", name="All sweeps").first.get_attribute("href")
    page.goto("about:blank")
    page.goto(urljoin(address, target))
    page.wait_for_function(
        "() => [...document.querySelectorAll('input')].some(i => "
        "i.value.includes('arboretum.role'))"
    )
    page.locator(".ag-row").get_by_role("link", name="dataset=iris,wine").first.wait_for()
    for name in RUNS:
        assert page.get_by_role("link", name=name, exact=True).count() == 0
    page.screenshot(path=album / "6-sweeps.png")


def test_charts_compare_the_runs_of_the_sweep(page, address, album):
    page.goto(f"{address}&compareRunsMode=CHART")
    page.locator(".ag-row").get_by_role("link", name="dataset=iris,wine").first.wait_for()
    _close_the_assistant(page)
    # what is judged comes first, whatever other metrics are called
    page.get_by_text("Goal").first.wait_for()
    page.get_by_role("link", name=RUNS[0], exact=True).first.wait_for()
    page.locator(".js-plotly-plot").first.wait_for()
    page.wait_for_timeout(1500)  # bars grow
    page.screenshot(path=album / "5-charts.png")


def _close_the_assistant(page) -> None:
    """MLflow opens a chat panel at the first visit."""
    panel = page.get_by_role("button", name="Close")
    try:
        panel.first.click(timeout=5000)
    except Exception as error:  # only the wait's own error, whose class needs playwright
        if type(error).__name__ != "TimeoutError":
            raise
