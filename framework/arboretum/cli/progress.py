"""One line of progress: rewritten in place on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

import attrs

from arboretum.cli.terminal import duration, fit, warn, width
from arboretum.measure import better
from arboretum.runs.sweeps import FAILED, SKIPPED, Note
from arboretum.runs.worker_pool import seconds_left

QUIET_SECONDS = 2.0
"""A run that is done by then says nothing of its progress."""
LINE_SECONDS = 5.0
"""Between two lines where no terminal can rewrite one."""
LOOK_SECONDS = 0.25
LEAST_SHARE, LEAST_JOBS, LONG_SECONDS = 0.05, 3, 30.0
"""What an estimate rests on: this share of the work, this number of jobs, or jobs that took that long together."""
SHOWN_BEST = 3
"""Data sets whose best run the line names."""


class Line:
    """A line that is rewritten on a terminal, and repeated at most every LINE_SECONDS elsewhere."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._rewrites = self._stream.isatty()
        self._clock = clock
        self._shown, self._last = "", -LINE_SECONDS

    def show(self, text: str, *, now: bool = False) -> None:
        """Show the text.   now : also where it is not yet time for a new line."""
        text = fit(text)
        if text == self._shown:
            return
        if self._rewrites:
            self._stream.write(f"\r\x1b[K{text[: width() - 1]}")
        elif now or self._clock() - self._last >= LINE_SECONDS:
            self._stream.write(text + "\n")
        else:
            return
        self._stream.flush()
        self._shown, self._last = text, self._clock()

    def clear(self) -> None:
        """Take the line away from a terminal; what stands in a log stays."""
        if self._rewrites and self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
        self._shown = ""


@contextmanager
def looking(one: RunProgress | Watch, line: Line) -> Iterator[None]:
    """Show now and then, from a thread, how something stands, until the block ends; then take the line away."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(LOOK_SECONDS):
            one.look()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(2.0)
        line.clear()


@contextmanager
def waiting(text: str, line: Line | None = None) -> Iterator[None]:
    """Say what is waited for, once that takes QUIET_SECONDS."""
    progress = RunProgress(line := line or Line())
    progress(0, None, text)
    with looking(progress, line):
        yield


class RunProgress:
    """What one run is doing: at once when it compiles, else once it takes longer than QUIET_SECONDS.

    Reports come from the work (calls) and from the clock (:meth:`look`), so that one long step is told, too.
    """

    def __init__(self, line: Line, clock: Callable[[], float] = time.monotonic) -> None:
        self._line, self._clock, self._start = line, clock, clock()
        self._message, self._kind, self._since, self._rest = "", "", clock(), ""

    def __call__(self, done: float, total: float | None, message: str) -> None:
        now, kind = self._clock(), re.sub(r"\d+", "#", message)
        if kind != self._kind:
            self._kind, self._since = kind, now
        share, worked = done / total if total else 0.0, now - self._since
        self._rest = f" {100 * share:.0f} %" if total else ""
        left = seconds_left(worked, share, 1 - share)
        if left is not None and share >= LEAST_SHARE:  # before, an estimate would mean nothing
            self._rest += f", {duration(left)} left"
        self._message = message
        self.look()

    def look(self) -> None:
        """Show the last message when it is time."""
        compiles = "compil" in self._message
        if self._message and (compiles or self._clock() - self._start >= QUIET_SECONDS):
            self._line.show(self._message + self._rest, now=compiles)


def counts(done: int, total: int, left: float | None, failed: int, skipped: int, what: str = "") -> str:
    """Compose "37 of 120, 2 min left, 1 failed, 3 finished before".   left : seconds, None if not known.   what : after the total."""
    words = [f"{done} of {max(total, done)}{what}"]
    words += [f"{duration(left)} left"] if left is not None and done < total else []
    words += [f"{failed} failed"] if failed else []
    return ", ".join(words + ([f"{skipped} finished before"] if skipped else []))


@attrs.frozen
class Standing:
    """How a sweep stands.   best : the best note of each data set, in the order of their first notes."""

    done: int
    failed: int
    skipped: int
    best: tuple[Note, ...]

    @staticmethod
    def of(notes: Sequence[Note]) -> Standing:
        """Count the notes and find the best per data set: errors on two data sets cannot be compared."""
        best: dict[str, Note] = {}
        for note in notes:
            if note.goal and note.value is not None:
                before = best.setdefault(note.dataset, note)
                if better(note.goal, note.value, before.value):
                    best[note.dataset] = note
        failed = sum(note.status == FAILED for note in notes)
        return Standing(len(notes), failed, sum(note.status == SKIPPED for note in notes), tuple(best.values()))

    def text(self, total: int, left: float | None = None) -> str:
        """Compose "37 of 120, 2 min left, best valid_error 0.04 method=cart seed=2".   left : seconds, None if not known."""
        words = [counts(self.done, total, left, self.failed, self.skipped)]
        if len(self.best) == 1:
            best = self.best[0]
            words.append(f"best {best.goal} {best.value:.4g} {best.label}")
        elif self.best:
            found = ", ".join(f"{note.dataset} {note.value:.4g}" for note in self.best[:SHOWN_BEST])
            words.append(f"best {self.best[0].goal}: {found}" + (", …" if len(self.best) > SHOWN_BEST else ""))
        return ", ".join(words)


class Pace:
    """How long the rest of a sweep takes, judged from the jobs after the first (which compiles and loads)."""

    def __init__(self) -> None:
        self._first: tuple[float, int] | None = None

    def left(self, now: float, worked: int, remaining: int) -> float | None:
        """Seconds left, None while too little is known.   worked : jobs done so far; now : seconds on any clock."""
        if worked == 0:
            return None
        if self._first is None:
            self._first = now, worked
        since, before = self._first
        jobs, seconds = worked - before, now - since
        known = jobs >= LEAST_SHARE * (jobs + remaining) or seconds >= LONG_SECONDS
        return seconds_left(seconds, jobs, remaining) if known and jobs >= LEAST_JOBS else None


class Watch:
    """Shows how a sweep stands while the launcher works; says at once, and once, when its tracker fails."""

    def __init__(
        self, line: Line, read: Callable[[], list[Note]], total: Callable[[], int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._line, self._read, self._total, self._clock = line, read, total, clock
        self._pace, self._start, self._warned = Pace(), clock(), False

    def look(self) -> None:
        """Show how it stands now."""
        notes, now, total = self._read(), self._clock(), self._total()
        if not notes:
            if total and now - self._start >= QUIET_SECONDS:
                self._line.show(f"configurations checked: {total}")
            return
        untracked = next((note.tracker_error for note in notes if note.tracker_error), "")
        if untracked and not self._warned and now - self._start >= LINE_SECONDS:  # a short sweep says it at its end
            self._warned = True
            self._line.clear()
            warn(f"{untracked}; the sweep goes on, its runs are kept for arboretum sync")
        standing = Standing.of(notes)
        worked = standing.done - standing.skipped  # those finished before tell nothing about how long the others take
        left = self._pace.left(now, worked, max(total - standing.done, 0))
        self._line.show(standing.text(total, left))
