"""``arboretum reproduce``: what it prints, what it keeps, and that it goes on where it was."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arboretum.api import Claim, ContractError, Judgement, Known, Verdict
from arboretum.cli.reproduce import counts_and_verdict
from arboretum.plugin.discovery import load_registry
from arboretum.runs.pieces import code_of
from arboretum.runs.tracking import VerdictFacts

pytestmark = pytest.mark.slow  # starts studies with workers

COINS = '''
"""A study of coins."""
import time
import attrs
import numpy as np
from arboretum.api import Axis, BarChart, Cell, Chapter, Claim, DataError, Judgement, Known, Piece
from arboretum.api import Verdict, param


@attrs.frozen
class Coins:
    """The mean of many numbers between 0 and 1."""

    kind, name, paper, capabilities = "reproduction", "coins", "Nobody 1999: On coins", ()

    sides: tuple[int, ...] = param((2, 6), "numbers of sides")
    published: float = param(0.5, "what the paper says")
    known: str = param("", "why it may differ")
    predicted: tuple[float, ...] = param((0.55, 0.65), "where it puts the published number")
    aside: str = param("", "words beside the verdict")
    seconds: float = param(0.0, "how long a piece takes", ge=0.0, unit="s")

    def pieces(self, fraction):
        throws, parts = round(1000 * fraction), range(3)
        return [
            Piece({"sides": s, "throws": throws, "part": i}, s)
            for s in sorted(self.sides) for i in parts
        ]

    def work(self, key, seed, services):
        time.sleep(self.seconds)
        if key["sides"] == 13:
            raise DataError("no coin has 13 sides")
        if key["sides"] == 14:
            raise RuntimeError("a bug")
        x = np.random.default_rng([seed, key["sides"], key["part"]]).random(key["throws"])
        return {"sum": float(x.sum()), "squares": float((x * x).sum())}

    def judge(self, results):
        cells = []
        for s in self.sides:
            found = [(key["throws"], value) for key, value in results if key["sides"] == s]
            n = sum(throws for throws, _ in found)
            if n:
                mean = sum(value["sum"] for _, value in found) / n
                error = ((sum(value["squares"] for _, value in found) / n - mean**2) / n) ** 0.5
                place, words = ("Table 1", f"{s} sides", "mean"), {"aside": self.aside}
                if self.known:
                    words["known"] = Known(self.known, *self.predicted, "a look at them")
                cells.append(Cell.judged(*place, self.published, mean, error, n=n, **words))
        if not cells:
            return Judgement()
        rows, ours = [cell.row for cell in cells], [cell.ours for cell in cells]
        bars = BarChart("Coins", rows, ours, Axis("mean"))
        files = {"coins.csv": "a,b\\n1,2\\n"}
        means = {"mean": cells[0].ours}
        chapter = Chapter("all coins", {"coins": len(cells)}, means, files, ("coins",))
        claim = Claim("coins are fair", Verdict.PASS, "it was seen")
        return Judgement(cells, (claim,), files, {"coins": bars}, (chapter,), ("a note",))
'''


@pytest.fixture
def reproduce(call, here, monkeypatch):
    """Call it; the hash of the code is the same throughout a test, also while somebody edits the
    code.
    """
    (here / "coins.py").write_text(COINS)
    monkeypatch.setattr("arboretum.cli.reproduce.code_of", lambda registry: "the same code")
    return lambda *argv: call("reproduce", "--plugin", "coins.py", "--workers", "1", *argv)


@pytest.fixture
def coins(reproduce):
    return lambda *argv: reproduce("coins", "tracker=none", *argv)


OUT = Path("outputs/reproduce/coins")


def cells(folder: Path = OUT) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "cells.csv").read_text().splitlines()))


def piece_files(folder: Path = OUT) -> list[Path]:
    return sorted(folder.glob("pieces/*/*.json"))


def test_alone_it_lists_what_can_be_reproduced(reproduce):
    found = reproduce()
    assert found.status == 0
    assert "coins\n  Nobody 1999: On coins\n" in found.out
    assert "arboretum reproduce coins" in found.out


def test_an_unknown_name_is_answered_with_the_closest(reproduce):
    assert "did you mean 'coins' (coins)?" in reproduce("coin").error


def test_what_agrees_passes(coins):
    found = coins()
    assert found.status == 0
    row = next(line for line in found.out.splitlines() if "6 sides" in line).split()
    assert row[2:4] == ["mean", "0.500000"] and row[-1] == "PASS"
    assert "2 cells: 2 PASS" in found.out and "verdict: PASS\n" in found.out
    assert max(len(line) for line in found.out.splitlines() if not line.startswith("kept: ")) <= 120


@pytest.mark.parametrize(
    ("asked", "of"),
    [
        (("--fraction", "0.5"), "6 of 6 pieces, fraction 0.5"),
        (("--sides", "6"), "3 of 6 pieces"),
        (("--sides", "6,13"), "3 of 6 pieces"),
    ],
)
def test_a_verdict_on_a_part_of_the_study_says_so(coins, asked, of):
    assert f"verdict: PASS of what was asked ({of})\n" in coins(*asked).out


def test_a_verdict_with_sentences_that_are_not_shown_says_how_many_are():
    judged = Judgement(claims=(Claim("a", Verdict.PASS, "seen"), Claim("b", Verdict.OPEN, "?")))
    facts = VerdictFacts({"finished": 6, "planned": 6, "fraction": 1.0}, judged, {})
    assert (
        counts_and_verdict(facts)[-1] == "verdict: PASS of what is shown (1 of 2 cells and claims)"
    )


def test_what_differs_fails_and_sets_the_exit_status(coins):
    found = coins("--published", "0.6")
    assert found.status == 1
    assert "2 cells: 2 FAIL" in found.out and "verdict: FAIL" in found.out


def test_a_known_difference_prints_its_reason_and_sets_no_exit_status(coins):
    found = coins("--published", "0.6", "--known", "the coins are bent")
    assert found.status == 0
    assert "2 cells: 2 KNOWN (explained)" in found.out and "verdict: KNOWN" in found.out
    assert (
        "the coins are bent; predicts 0.55 to 0.65 (a look at them), published is 0.6"
        in " ".join(found.out.split())
    )


def test_a_reason_that_predicts_something_else_is_no_explanation(coins):
    found = coins("--published", "0.6", "--known", "the coins are bent", "--predicted", "0.61,0.65")
    assert found.status == 1
    assert "2 cells: 2 FAIL" in found.out and "no explanation: the coins are bent" in " ".join(
        found.out.split()
    )


@pytest.mark.parametrize(
    ("reason", "low", "high", "source"),
    [
        ("", 0, 1, "runs"),
        ("ties", 0, 1, ""),
        ("ties", 1, 0, "runs"),
        ("ties", -math.inf, math.inf, "runs"),
        ("ties", 0, math.nan, "runs"),
    ],
)
def test_a_reason_that_could_not_be_wrong_is_refused(reason, low, high, source):
    with pytest.raises(ContractError, match="needs a reason, a source, and finite low ≤ high"):
        Known(reason, low, high, source)


def test_what_is_only_open_is_not_passed():
    shown, open_ = (
        Claim("coins are fair", verdict, "it was seen") for verdict in (Verdict.PASS, Verdict.OPEN)
    )
    assert Judgement(claims=[open_]).verdict is Verdict.OPEN
    assert Judgement(claims=[open_, shown]).verdict is Verdict.PASS


def test_words_beside_a_verdict_are_printed_and_kept(coins):
    found = coins("--aside", "bent 0.61")
    assert next(line for line in found.out.splitlines() if "6 sides" in line).endswith(
        "PASS     bent 0.61"
    )
    assert {row["aside"] for row in cells()} == {"bent 0.61"}


def test_everything_is_kept_in_one_folder(coins):
    coins("--out", "kept", "--fraction", "0.5")
    names = {path.name for path in Path("kept").iterdir()}
    assert {
        "cells.csv",
        "claims.csv",
        "coins.csv",
        "coins.svg",
        "reproduction.json",
        "pieces",
    } <= names
    assert [row["verdict"] for row in cells(Path("kept"))] == ["PASS", "PASS"]
    assert cells(Path("kept"))[0]["n"] == "1500"
    facts = json.loads(Path("kept/reproduction.json").read_text())
    assert facts["verdict"] == "PASS" and facts["fraction"] == 0.5 and facts["pieces"] == 6


def test_what_is_finished_is_not_done_again(coins):
    first = coins()
    before = {path: path.stat().st_mtime_ns for path in piece_files()}
    second = coins()
    assert len(before) == 6 and "6 finished before" in second.out
    assert {path: path.stat().st_mtime_ns for path in piece_files()} == before
    table = "\n".join(first.out.splitlines()[:8])
    assert table in second.out


def test_fresh_does_everything_again_and_another_seed_is_other_work(coins):
    coins()
    assert "finished before" not in coins("--fresh").out
    assert "finished before" not in coins("--seed", "1").out
    assert len(piece_files()) == 12


def test_changed_code_is_other_work(coins, monkeypatch):
    coins()
    monkeypatch.setattr("arboretum.cli.reproduce.code_of", lambda registry: "other code")
    assert "6 of 6 pieces" in coins().out


def test_the_code_of_a_study_is_the_framework_and_what_it_may_use(here):
    (here / "coins.py").write_text(COINS)
    before = code_of(load_registry(["coins.py"]))
    assert code_of(load_registry(["coins.py", "lines.py"])) == before, "trackers do not count"
    assert code_of(load_registry(["coins.py", "toy.py"])) != before
    (here / "coins.py").write_text(COINS + "# changed")
    assert code_of(load_registry(["coins.py"])) != before


def test_fields_of_the_reproduction_are_options_that_choose_pieces(coins):
    coins("--sides", "2")
    found = coins("--sides", "2,8")
    assert "3 of 6 pieces" in found.out and "3 finished before" in found.out


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:40],
        lambda text: "[]",
        lambda text: text.replace("sum", "gum"),
        lambda text: "",
    ],
)
def test_a_damaged_piece_is_done_again(coins, damage):
    coins()
    whole = cells()
    file = piece_files()[2]
    good = json.loads(file.read_text())
    file.write_text(damage(file.read_text()))
    found = coins()
    assert "5 finished before" in found.out
    again = json.loads(file.read_text())
    assert again["result"] == good["result"] and again["sha256"] == good["sha256"]
    assert cells() == whole


def test_a_piece_of_another_fingerprint_is_not_taken(coins):
    coins()
    one, two = piece_files()[:2]
    one.write_text(two.read_text())
    assert "5 finished before" in coins().out


def test_a_piece_that_fails_stops_no_other_and_is_named(coins):
    found = coins("--sides", "2,13,14")
    assert found.status == 1
    assert [row["row"] for row in cells()] == ["2 sides"]
    assert (
        'piece {"sides": 13, "throws": 1000, "part": 0} and 2 more: no coin has 13 sides'
        in found.err
    )
    assert (
        found.err.count("reproduction 'coins': work raised RuntimeError: a bug (coins.py:") == 1
        and "Traceback" not in found.err
    )
    assert len(piece_files()) == 3


def test_results_do_not_depend_on_the_number_of_workers(command):
    (command.cwd / "coins.py").write_text(COINS)
    kept = []
    argv = ("reproduce", "coins", "--plugin", "coins.py", "tracker=none")
    for workers in ("1", "2"):
        found = command.run(*argv, "--workers", workers, "--out", workers)
        assert found.status == 0, found.err
        kept.append((command.cwd / workers / "cells.csv").read_text())
    assert kept[0] == kept[1]


def test_where_no_launcher_is_installed_this_process_works(call, here, monkeypatch):
    monkeypatch.setattr("arboretum.cli.reproduce.JOBLIB_PACKAGE", "not_installed.launcher")
    (here / "coins.py").write_text(COINS)
    argv = ("reproduce", "coins", "--plugin", "coins.py", "tracker=none")
    assert call(*argv).status == 0
    refused = call(*argv, "--workers", "2", "--out", "two")
    assert refused.status != 0 and "pip install 'arboretum[joblib]'" in refused.error


@pytest.mark.cold
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupted_reproduction_keeps_what_is_finished_and_goes_on(command, workers):
    (command.cwd / "coins.py").write_text(COINS)
    argv = ("reproduce", "coins", "--plugin", "coins.py", "tracker=none", "--workers", workers)
    process = command.start(*argv, "--seconds", "1.5")
    until = time.monotonic() + 60
    while len(piece_files(command.cwd / OUT)) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    stopped = command.finish(process)
    assert stopped.status == 130
    kept = len(piece_files(command.cwd / OUT))
    assert 2 <= kept < 6
    assert f"interrupted; {kept} of 6 pieces are finished and kept" in stopped.err
    assert "the same command goes on" in stopped.err and "Traceback" not in stopped.err
    resumed = command.run(*argv)
    assert resumed.status == 0 and f"{kept} finished before" in resumed.out


def test_a_script_without_a_guard_may_call_it(command):
    """Workers do not import the script that started them."""
    (command.cwd / "coins.py").write_text(COINS)
    argv = ["reproduce", "coins", "--plugin", "coins.py", "tracker=none", "--workers", "2"]
    script = (
        f"from arboretum.cli.main import main\nprint('once')\nraise SystemExit(main({argv!r}))\n"
    )
    (command.cwd / "script.py").write_text(script)
    words = [sys.executable, "script.py"]
    done = subprocess.run(
        words, cwd=command.cwd, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("once") == 1 and "verdict: PASS" in done.stdout


@pytest.mark.cold
def test_a_worker_that_dies_is_reported_in_one_line(command):
    (command.cwd / "coins.py").write_text(
        COINS.replace('raise RuntimeError("a bug")', "import os; os._exit(9)")
    )
    found = command.run(
        "reproduce",
        "coins",
        "--plugin",
        "coins.py",
        "tracker=none",
        "--workers",
        "2",
        "--sides",
        "14,2",
    )
    assert found.status == 1
    assert "a worker process ended before its pieces were done" in found.error


@pytest.mark.cold
def test_workers_end_when_the_command_is_killed(command):
    source = COINS.replace(
        "    def work(self",
        "    def warm_up(self, services):\n        import os\n        "
        "open(f'worker-{os.getpid()}', 'w').close()\n\n    def work(self",
    )
    (command.cwd / "coins.py").write_text(source)
    argv = (
        "reproduce",
        "coins",
        "--plugin",
        "coins.py",
        "tracker=none",
        "--workers",
        "2",
        "--seconds",
        "600",
    )
    process = command.start(*argv)
    until = time.monotonic() + 60
    while len(workers := list(command.cwd.glob("worker-*"))) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(workers) == 2
    process.kill()
    command.finish(process)
    alive = {int(path.name.removeprefix("worker-")) for path in workers}
    while alive and time.monotonic() < until:
        alive = {number for number in alive if _runs(number)}
        time.sleep(0.05)
    assert not alive


def _runs(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_study_that_cannot_begin_says_so_once(command, workers):
    """What it needs is not installed."""
    source = (
        COINS
        + "\n    def warm_up(self, services):\n        services.component('impurity', 'entropie')\n"
    )
    (command.cwd / "coins.py").write_text(source)
    found = command.run(
        "reproduce", "coins", "--plugin", "coins.py", "tracker=none", "--workers", workers
    )
    assert found.status == 1
    assert "and 5 more: unknown impurity 'entropie'; did you mean 'entropy'" in found.error
    assert "nothing can be judged yet" in found.out


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--fraction", "0", "--fraction must be > 0 and ≤ 1; got 0"),
        ("--fraction", "1.5", "--fraction must be > 0 and ≤ 1; got 1.5"),
        ("--workers", "0", "--workers must be ≥ 1; got 0"),
        ("--seed", "-1", "--seed must be ≥ 0; got -1"),
        ("--published", "much", "reproduction.published must be a number; got 'much'"),
        ("--seconds", "-1", "reproduction.seconds must be ≥ 0; got -1.0"),
        ("--sides", "[2, ", "--sides cannot be read: '[2, '"),
        ("--sidez", "2", "did you mean '--sides'?"),
    ],
)
def test_bad_options_are_refused_in_one_line(coins, option, value, words):
    found = coins(f"{option}={value}")
    assert found.status == 1 and words in found.error


def test_only_trackers_can_be_chosen_by_override(reproduce):
    assert "'dataset' has no place here" in reproduce("coins", "dataset=iris").error


def test_a_field_named_like_an_option_of_the_command_is_refused(call, here):
    (here / "coins.py").write_text(
        COINS.replace("known: str", "out: str").replace("self.known", "self.out")
    )
    assert (
        "field 'out', which is an option of the command"
        in call("reproduce", "--plugin", "coins.py", "coins").error
    )


def test_a_folder_that_cannot_be_written_is_said_before_any_work(coins):
    Path("file").write_text("")
    error = coins("--out", "file/below").error
    assert "cannot be written" in error and "choose another with --out FOLDER" in error


def test_a_folder_with_other_things_in_it_is_refused_before_any_work(coins):
    Path("mine").mkdir()
    (Path("mine") / "cells.csv").write_text("mine")
    assert "choose another with --out FOLDER" in coins("--out", "mine").error
    assert (Path("mine") / "cells.csv").read_text() == "mine"


def test_the_first_paper_in_small_says_the_same_with_one_worker_and_two(command):
    """Alkhalid, Chikalov & Moshkov: 50 tables of each group; every cell passes."""
    texts = []
    for workers in ("1", "2"):
        argv = (
            "decision_tables",
            "--fraction",
            "0.005",
            "tracker=none",
            "--workers",
            workers,
            "--out",
            workers,
        )
        found = command.run("reproduce", *argv)
        assert found.status == 0, found.err + found.out
        texts.append(
            {
                path.name: path.read_text()
                for path in sorted((command.cwd / workers).glob("*.[cs]*v*"))
            }
        )
    assert texts[0] == texts[1]
    assert {
        "cells.csv",
        "claims.csv",
        "table_4.csv",
        "table_5.csv",
        "means.csv",
        "means.svg",
    } <= set(texts[0])
    assert "400 cells: 400 PASS" in found.out and "5 claims: 5 PASS" in found.out
    assert max(len(line) for line in found.out.splitlines() if not line.startswith("kept: ")) <= 120


class TestTracker:
    """One run per chapter under one parent; a tracker that fails loses nothing."""

    def _track(self, reproduce, *argv):
        return reproduce("coins", "--plugin", "lines.py", "tracker=lines", *argv)

    def _calls(self) -> list[dict]:
        return [json.loads(line) for line in Path("lines.jsonl").read_text().splitlines()]

    def test_chapters_are_kept_under_one_parent(self, reproduce):
        assert self._track(reproduce).status == 0
        calls = {call["call"]: call for call in self._calls()}
        assert calls["open_sweep"]["name"] == "reproduce coins"
        assert calls["store"]["sweep"] == "parent" and calls["store"]["name"] == "all coins"
        assert {"coins.csv", "coins.svg", "record.json"} <= set(calls["store"]["files"])
        assert (
            calls["close_sweep"]["best"]["verdicts_PASS"] == 3.0
            and calls["close_sweep"]["status"] == "FINISHED"
        )

    def test_the_same_judgement_is_sent_once(self, reproduce):
        self._track(reproduce)
        assert "has it already" in self._track(reproduce).out
        assert sum(call["call"] == "open_sweep" for call in self._calls()) == 1
        self._track(reproduce, "--published", "0.500001")
        assert sum(call["call"] == "open_sweep" for call in self._calls()) == 2

    @pytest.mark.parametrize("step", ["prepare", "open_sweep", "store"])
    def test_a_failing_tracker_loses_nothing_and_is_sent_again(self, reproduce, step):
        found = self._track(reproduce, f"tracker.fails={step}")
        assert (
            found.status == 3 and f"no {step} today" in found.err and "verdict: PASS" in found.out
        )
        assert len(cells()) == 2
        again = self._track(reproduce)
        assert again.status == 0 and "tracked: lines parent" in again.out

    def test_sync_names_the_command_that_sends_a_reproduction_and_it_does(self, reproduce, call):
        fields = ("--sides", "2", "--fraction", "0.5", "--out", "outputs/my coins")
        assert self._track(reproduce, *fields, "tracker.fails=store").status == 3
        told = call("sync")
        assert told.status == 1 and "1 not sent" in told.out
        command = told.err.partition("by its own command: ")[2].strip()
        assert command.startswith(
            "arboretum reproduce --plugin coins.py --workers 1 coins --plugin lines.py "
        )
        assert command.endswith(" --sides 2 --fraction 0.5 --out 'outputs/my coins'"), (
            "as it was given, but for the tracker"
        )
        assert self._track(reproduce, *fields).status == 0
        assert call("sync").out == "0 sent, 0 there already, 0 not sent\n"
        assert reproduce("coins", "tracker=none", "--fresh").status == 0
        assert call("sync").status == 0, "who wanted no tracker is not asked"

    def test_mlflow_has_one_parent_and_one_run_per_chapter(self, reproduce):
        assert reproduce("coins", "tracker.uri=sqlite:///store.db").status == 0
        with contextlib.closing(sqlite3.connect("store.db")) as store:
            names = dict(store.execute("select name, run_uuid from runs"))
            tags = dict(
                store.execute(
                    "select key, value from tags where run_uuid = ?", (names["all coins"],)
                )
            )
            of_chapter = (names["all coins"],)
            metrics = dict(
                store.execute("select key, value from metrics where run_uuid = ?", of_chapter)
            )
            of_parent = dict(
                store.execute(
                    "select key, value from tags where run_uuid = ?", (names["reproduce coins"],)
                )
            )
        assert set(names) == {"reproduce coins", "all coins"}
        assert (
            tags["mlflow.source.name"]
            == of_parent["mlflow.source.name"]
            == "arboretum reproduce coins"
        )
        assert tags["mlflow.parentRunId"] == names["reproduce coins"]
        assert metrics["mean"] == float(cells()[0]["ours"])
        artifacts = {
            path.name for path in Path("mlruns").rglob("*.*") if names["all coins"] in path.parts
        }
        assert {"coins.csv", "coins.svg", "record.json"} <= artifacts

        assert of_parent["mlflow.note.content"].startswith("**verdict: PASS**\n\n- 2 cells: 2 PASS")
        assert "PASS  coins are fair" in of_parent["mlflow.note.content"]
        beside = {
            path.name: path
            for path in Path("mlruns").rglob("*.*")
            if names["reproduce coins"] in path.parts
        }
        assert {"cells.csv", "claims.csv", "reproduction.json", "coins.csv", "verdict.txt"} <= set(
            beside
        )
        assert "coins.svg" not in beside, "it is the chapter's"
        assert "verdict: PASS" in beside["verdict.txt"].read_text()
