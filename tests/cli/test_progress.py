"""One line of progress, rewritten on a terminal, repeated now and then elsewhere."""

from __future__ import annotations

import io
import signal
import time

import attrs
import pytest

from arboretum.cli.progress import (
    LINE_SECONDS,
    QUIET_SECONDS,
    Line,
    RunProgress,
    Watch,
    say_waiting,
    standing,
)
from arboretum.cli.terminal import duration
from arboretum.runs.sweeps import DONE, FAILED, SKIPPED, Note


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def note(
    job: int, value: float | None = None, status: str = DONE, goal: str = "valid_error"
) -> Note:
    return Note(job, status, f"seed={job}", goal=goal, value=value)


def test_a_terminal_shows_one_line_that_is_rewritten_and_taken_away():
    stream = Terminal()
    line = Line(stream)
    line.show("1 of 3")
    line.show("2 of 3")
    line.clear()
    assert stream.getvalue() == "\r\x1b[K1 of 3\r\x1b[K2 of 3\r\x1b[K"


def test_elsewhere_a_line_is_written_every_few_seconds_and_never_twice():
    stream, clock = io.StringIO(), Clock()
    line = Line(stream, clock)
    for second in range(11):
        clock.now = 100.0 + second
        line.show(f"{second} of 10")
    line.show("10 of 10")
    assert LINE_SECONDS == 5.0
    assert stream.getvalue().splitlines() == ["0 of 10", "5 of 10", "10 of 10"]


def test_a_short_run_says_nothing_but_a_compilation_is_told_at_once():
    stream, clock = io.StringIO(), Clock()
    progress = RunProgress(Line(stream, clock), clock)
    progress(0, None, "loading data")
    clock.now += QUIET_SECONDS - 0.1
    progress(5, 10, "growing")
    progress.refresh()
    assert stream.getvalue() == ""
    progress(0, None, "compiling kernels")
    assert stream.getvalue().splitlines() == ["compiling kernels"]


def test_one_long_step_is_told_although_it_reports_nothing_meanwhile():
    stream, clock = io.StringIO(), Clock()
    progress = RunProgress(Line(stream, clock), clock)
    progress(0, None, "loading data")
    for _ in range(4):
        clock.now += QUIET_SECONDS / 2
        progress.refresh()
    assert stream.getvalue().splitlines() == ["loading data"]


def test_a_run_says_what_it_does_and_which_share_is_done():
    stream, clock = Terminal(), Clock()
    progress = RunProgress(Line(stream, clock), clock)
    progress(0, None, "compiling kernels")
    clock.now += QUIET_SECONDS
    progress(250, 1000, "40 nodes divided")
    assert stream.getvalue().split("\r\x1b[K")[1:] == ["compiling kernels", "40 nodes divided 25 %"]


def test_waiting_is_told_once_it_takes_a_while_and_taken_away():
    stream = Terminal()
    with say_waiting("asking", Line(stream)):
        pass
    assert stream.getvalue() == ""


def test_a_sweep_says_how_many_how_long_and_what_is_best():
    notes = [
        note(0, 0.2),
        note(1, status=FAILED),
        note(2, 0.04),
        note(3, status=SKIPPED, value=0.5),
    ]
    assert (
        standing(notes, 10, left=60.0)
        == "4 of 10, 60 s left, 1 failed, 1 finished before, best valid_error 0.04 seed=2"
    )
    assert (
        standing(notes, 10) == "4 of 10, 1 failed, 1 finished before, best valid_error 0.04 seed=2"
    )
    assert standing(
        [note(0, 0.2, goal="valid_accuracy"), note(1, 0.9, goal="valid_accuracy")], 2
    ).endswith("0.9 seed=1")
    assert standing([note(0, float("nan")), note(1, 0.5)], 2).endswith(
        "best valid_error 0.5 seed=1"
    )
    assert standing([], 2) == "0 of 2"


def test_what_is_best_is_said_per_data_set():
    values = {"iris": (0.1, 0.04), "wine": (0.3, 0.2)}
    notes = [
        attrs.evolve(note(i, v), dataset=name)
        for name, found in values.items()
        for i, v in enumerate(found)
    ]
    assert standing(notes, 9) == "4 of 9, best valid_error 0.04 seed=1; valid_error 0.2 seed=1"
    third = attrs.evolve(note(4, 0.1), dataset="zoo")
    assert standing([*notes, third], 9) == "5 of 9", "a line of many would be none to read"


def test_the_watch_shows_a_line_every_few_seconds_where_no_terminal_rewrites_it():
    stream, clock, notes = io.StringIO(), Clock(), []
    watch = Watch(Line(stream, clock), lambda: list(notes), lambda: 30, clock)
    for job in range(30):  # a job a second
        clock.now += 1.0
        notes.append(note(job, 0.1 + job))
        watch.refresh()
    assert stream.getvalue().splitlines() == [
        "1 of 30, best valid_error 0.1 seed=0",
        *(f"{n} of 30, {30 - n} s left, best valid_error 0.1 seed=0" for n in (6, 11, 16, 21)),
        "26 of 30, 4 s left, best valid_error 0.1 seed=0",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.042, "0.042 s"),
        (3.14, "3.1 s"),
        (37.4, "37 s"),
        (300, "5 min"),
        (7799, "2 h 10 min"),
        (3599, "1 h 00 min"),
    ],
)
def test_durations_are_short_and_carry_over(seconds, text):
    assert duration(seconds) == text


@pytest.mark.cold
@pytest.mark.parametrize(
    ("number", "status", "words"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "ended by SIGTERM")],
)
def test_a_signal_in_a_single_run_leaves_nothing_and_sets_the_status(
    number, status, words, command, here
):
    process = command.start(
        "run",
        "--plugin",
        "toy.py",
        "dataset=toy",
        "dataset.seconds=30",
        "tracker=none",
        "hydra.run.dir=r",
    )
    deadline = time.monotonic() + 60
    while not (here / "r").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(number)
    result = command.finish(process)
    assert (result.status, result.err) == (status, f"arboretum: {words}\n")
    assert not (here / "r").exists()


def test_two_runs_at_once_into_one_folder_leave_one_whole_record(command, here):
    arguments = (
        "run",
        "--plugin",
        "toy.py",
        "dataset=toy",
        "tracker=none",
        "hydra.run.dir=r",
        "seed=1",
    )
    results = [command.finish(process) for process in [command.start(*arguments) for _ in range(2)]]
    assert [result.status for result in results] == [0, 0], [result.err for result in results]
    assert sorted(path.name for path in (here / "r").iterdir()) == [
        "record.json",
        "tree.json",
        "tree.svg",
        "tree.txt",
    ]
    assert "cart on toy" in command.run("show", "r").out


@pytest.mark.cold
def test_an_interruption_inside_code_executed_as_text_sets_the_status_too(command, here):
    (here / "interrupted.py").write_text('exec("raise KeyboardInterrupt")\n')
    result = command.run("plugins", "--plugin", "interrupted.py")
    assert (result.status, result.err) == (130, "arboretum: interrupted\n")
