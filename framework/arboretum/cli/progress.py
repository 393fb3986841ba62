"""One line of progress: rewritten in place on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

import attrs

from arboretum.cli.terminal import duration, width
from arboretum.measure import better
from arboretum.runs.notes import FAILED, SKIPPED, Note

QUIET_SECONDS = 2.0
"""A run that is done by then says nothing of its progress."""
LINE_SECONDS = 5.0
"""Between two lines where no terminal can rewrite one."""


class Line:
    """A line that is rewritten on a terminal, and repeated at most every LINE_SECONDS elsewhere."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._rewrites = self._stream.isatty()
        self._clock = clock
        self._shown, self._last = "", -LINE_SECONDS

    def show(self, text: str, *, now: bool = False) -> None:
        """Show the text.   now : also where it is not yet time for a new line."""
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


class RunProgress:
    """What one run is doing: at once when it compiles, else once it takes longer than QUIET_SECONDS."""

    def __init__(self, line: Line, clock: Callable[[], float] = time.monotonic) -> None:
        self._line, self._clock, self._start = line, clock, clock()

    def __call__(self, done: float, total: float | None, message: str) -> None:
        seconds = self._clock() - self._start
        compiles = "compil" in message
        if seconds < QUIET_SECONDS and not compiles:
            return
        share = f" {100 * done / total:.0f} %" if total else ""
        left = f", {duration(seconds * (total - done) / done)} left" if total and done > 0 else ""
        self._line.show(f"{message}{share}{left}", now=compiles)


@attrs.frozen
class Standing:
    """How a sweep stands.   best : the best note so far, or None."""

    done: int
    failed: int
    skipped: int
    best: Note | None

    @staticmethod
    def of(notes: list[Note]) -> Standing:
        """Count the notes and find the best."""
        best: Note | None = None
        for note in notes:
            if note.goal and note.value is not None and (best is None or better(note.goal, note.value, best.value)):
                best = note
        failed = sum(note.status == FAILED for note in notes)
        return Standing(len(notes), failed, sum(note.status == SKIPPED for note in notes), best)

    def text(self, total: int, seconds: float) -> str:
        """Compose "37 of 120, 2 min left, best valid_error 0.04 method=cart dataset=iris"."""
        words = [f"{self.done} of {max(total, self.done)}"]
        worked = self.done - self.skipped
        if 0 < worked and self.done < total:
            words.append(f"{duration(seconds / worked * (total - self.done))} left")
        if self.failed:
            words.append(f"{self.failed} failed")
        if self.skipped:
            words.append(f"{self.skipped} finished before")
        if self.best is not None:
            words.append(f"best {self.best.goal} {self.best.value:.4g} {self.best.label}")
        return ", ".join(words)


class Watch:
    """A thread that shows how a sweep stands while the launcher works."""

    def __init__(self, line: Line, read: Callable[[], list[Note]], total: Callable[[], int]) -> None:
        self._line, self._read, self._total = line, read, total
        self._start = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="arboretum-progress", daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join(2.0)
        self._line.clear()

    def _watch(self) -> None:
        while not self._stop.wait(0.25):
            notes = self._read()
            if notes:
                standing = Standing.of(notes)
                self._line.show(standing.text(self._total(), time.monotonic() - self._start))
