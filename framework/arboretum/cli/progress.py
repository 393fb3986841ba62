"""One line of progress: rewritten in place on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from arboretum.cli.terminal import duration, fit, width
from arboretum.measure.evaluate import better
from arboretum.runs.pieces import every, seconds_left
from arboretum.runs.sweeps import FAILED, SKIPPED, Note

QUIET_SECONDS = 2.0  # a run that is done by then says nothing of its progress
LINE_SECONDS = 5.0  # between two lines where no terminal can rewrite one
REFRESH_SECONDS = 0.25


class Line:
    """A line that is rewritten on a terminal, and repeated at most every LINE_SECONDS elsewhere."""

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``stream`` : None: stderr."""
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
    def shows(self, one: RunProgress | Watch) -> Iterator[None]:
        """Show now and then how something stands, until the block ends; then take the line away."""
        try:
            with every(REFRESH_SECONDS, one.refresh):
                yield
        finally:
            self.clear()


@contextmanager
def say_waiting(text: str, line: Line | None = None) -> Iterator[None]:
    """Say what is waited for, once the block takes QUIET_SECONDS.   line : None: one of its own."""
    progress = RunProgress(line := line or Line())
    progress(0, None, text)
    with line.shows(progress):
        yield


class RunProgress:
    """What one run is doing: at once when it compiles, else once it takes longer than
    QUIET_SECONDS.

    Reports come from the work (calls) and from the clock (:meth:`refresh`), so that one long step
    is reported, too.
    """

    def __init__(self, line: Line, clock: Callable[[], float] = time.monotonic) -> None:
        self._line, self._clock, self._start, self._text = line, clock, clock(), ""

    def __call__(self, done: float, total: float | None, message: str) -> None:
        """Note a report, and show it as ``refresh`` does."""
        self._text = f"{message} {100 * done / total:.0f} %" if total else message
        self.refresh()

    def refresh(self) -> None:
        """Show the last report: at once if it tells of compilation, else after QUIET_SECONDS."""
        compiles = "compil" in self._text
        if self._text and (compiles or self._clock() - self._start >= QUIET_SECONDS):
            self._line.show(self._text, now=compiles)


def counts(
    done: int, total: int, left: float | None, failed: int, skipped: int, what: str = ""
) -> str:
    """Compose "37 of 120, 2 min left, 1 failed, 3 finished before".

    left : seconds, None if not known.
    what : after the total.
    done, total : runs.   failed : of those done.   skipped : of those done, finished before.
    """
    words = [f"{done} of {max(total, done)}{what}"]
    words += [f"{duration(left)} left"] if left is not None and done < total else []
    words += [f"{failed} failed"] if failed else []
    return ", ".join(words + ([f"{skipped} finished before"] if skipped else []))


def counts_of(notes: Sequence[Note], total: int, left: float | None = None) -> str:
    """The same of a sweep's notes; ``total`` : jobs of the sweep.   left : as of :func:`counts`."""
    failed, skipped = (sum(note.status == status for note in notes) for status in (FAILED, SKIPPED))
    return counts(len(notes), total, left, failed, skipped)


def standing(notes: Sequence[Note], total: int, left: float | None = None) -> str:
    """Compose "37 of 120, 2 min left, best valid_error 0.04 method=cart seed=2", with the best
    of each data set, where there are at most two.

    notes : of jobs that ended.   total : jobs.   left : seconds, None if not known.
    """
    found: dict[str, Note] = {}
    for note in notes:
        if (
            note.goal
            and note.value is not None
            and (least := found.setdefault(note.dataset, note).value) is not None
            and better(note.goal, note.value, least)
        ):
            found[note.dataset] = note
    best = "; ".join(f"{note.goal} {note.value:.4g} {note.label}" for note in found.values())
    return counts_of(notes, total, left) + (f", best {best}" if 0 < len(found) <= 2 else "")


class Watch:
    """Shows how a sweep stands while the launcher works."""

    def __init__(
        self,
        line: Line,
        read: Callable[[], list[Note]],
        total: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``read`` : the notes of jobs that ended; ``total`` : jobs, 0 while that is not known."""
        self._line, self._read, self._total, self._clock = line, read, total, clock
        self._start, self._first = clock(), (0.0, 0)

    def refresh(self) -> None:
        """Read the notes and show how the sweep stands (:func:`standing`).

        Before the first note only the number of configurations is shown, after QUIET_SECONDS.
        """
        notes, now, total = self._read(), self._clock(), self._total()
        if not notes:
            if total and now - self._start >= QUIET_SECONDS:
                self._line.show(f"configurations checked: {total}")
            return
        # those finished before tell nothing about how long the others take
        worked = sum(note.status != SKIPPED for note in notes)
        if not self._first[1]:
            self._first = now, worked  # the first job compiles and loads
        since, before = self._first
        self._line.show(
            standing(
                notes, total, seconds_left(now - since, worked - before, max(total - len(notes), 0))
            )
        )
