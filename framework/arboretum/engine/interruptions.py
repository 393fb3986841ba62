"""Signals while a solver works: heard where it looks up from its work, so that a search leaves
no half-made tree, and no finished one is lost.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import attrs

from arboretum.errors import sure
from arboretum.interfaces.method import Context
from arboretum.model.record import Solution

PATIENCE_SECONDS, FOUND_SECONDS = 1.0, 2.0
"""Until a signal interrupts wherever the work stands (a second one does so at once): a search,
and what is done to keep what it has found.
"""
BUSY = 2
"""So many times as long at most, where the machine gives the process less than these seconds."""
HEARD = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@attrs.define(eq=False)
class Held:
    """Signals that are hold_signals back.

    ended : what the handler raised of one that came when nobody looked up any more.
    found : whether the search is over.
    kept : whether what it found is being written down, which no first signal breaks off.
    """

    before: dict[int, Callable[[int, FrameType | None], object]] = attrs.field(factory=dict)
    waiting: list[tuple[int, FrameType | None]] = attrs.field(factory=list)
    timer: threading.Timer = attrs.field(factory=lambda: threading.Timer(0.0, lambda: None))
    ended: KeyboardInterrupt | None = None
    found: bool = False
    kept: bool = False

    @property
    def first(self) -> KeyboardInterrupt | None:
        """The first of the signals that wait, as the command raises it."""
        numbers = [number for number, _ in self.waiting[:1]]
        return KeyboardInterrupt(*filter(signal.SIGINT.__ne__, numbers)) if numbers else None

    def note(self, number: int, frame: FrameType | None) -> None:
        """The handler while signals are hold_signals back."""
        if self.waiting:
            self.deliver()
        self.waiting.append((number, frame))
        self._begin()

    def search_over(self) -> None:
        """What comes now is done to keep what was found, and what waits has the patience with
        that.
        """
        self.found = True
        self._begin()

    def keeping(self) -> None:
        """What was found is written down now."""
        self.kept = True
        self._begin()

    def _begin(self) -> None:
        """Have patience from now on with the signal that waits, if one does."""
        self.timer.cancel()
        if self.waiting and not self.kept:
            self._wait(
                self.waiting[0][0],
                FOUND_SECONDS if self.found else PATIENCE_SECONDS,
                time.process_time(),
                BUSY,
            )

    def _wait(self, number: int, patience: float, since: float, turns: int) -> None:
        """Send the signal again after ``patience`` seconds, which a busy machine lengthens: as long
        as the process has not had them since then, some turns more.

        since : processor seconds of the process at the start.
        """

        def act() -> None:
            if time.process_time() - since < patience and turns > 1:
                self._wait(number, patience, since, turns - 1)
            elif self.waiting:
                signal.pthread_kill(sure(threading.main_thread().ident), number)

        self.timer = threading.Timer(patience, act)
        self.timer.daemon = True
        self.timer.start()

    def deliver(self) -> None:
        """Let the handler that was there before act on what has come (Ctrl-C: raise
        KeyboardInterrupt).
        """
        while self.waiting:
            number, frame = self.waiting.pop()
            self.timer.cancel()
            self.before[number](number, frame)

    def heard_by(
        self, context: Context, after: Callable[[Solution, Callable[[], Solution]], Solution]
    ) -> Context:
        """The context of a solver: its progress is when it looks up.

        after : takes the place of its own.
        """

        def progress(done: float, total: float | None, message: str) -> None:
            context.progress(done, total, message)
            self.deliver()

        return attrs.evolve(context, progress=progress, after=after)


@contextmanager
def hold_signals(wanted: bool) -> Iterator[Held]:
    """Hold signals back inside the block, in the main thread.

    wanted : False leaves them as they are.
    """
    found = Held()
    if wanted and threading.current_thread() is threading.main_thread():
        found.before = {
            number: handler for number in HEARD if callable(handler := signal.getsignal(number))
        }
    for number in found.before:
        signal.signal(number, found.note)
    try:
        yield found
    finally:
        for number, handler in found.before.items():
            # else the handler has put others in their place: the command is ending
            if signal.getsignal(number) == found.note:
                signal.signal(number, handler)
    try:
        found.deliver()
    except KeyboardInterrupt as error:
        found.ended = error


def mark_interrupted(solution: Solution, error: KeyboardInterrupt) -> Solution:
    """A solution that says what ended its run: the number of the signal, or True for Ctrl-C."""
    return attrs.evolve(
        solution, details={**solution.details, "interrupted": (*error.args, True)[0]}
    )


def without_others(solution: Solution, error: KeyboardInterrupt) -> Solution:
    """The solution with its own tree alone, for there is no time to verify more; of a front the
    points stay.

    error : what ended the run.
    """
    if solution.front is None and not solution.others:
        return solution
    note = "the other trees are left out: the run was ended before they were verified"
    front = solution.front and attrs.evolve(
        solution.front, points=[attrs.evolve(point, tree=None) for point in solution.front.points]
    )
    cut = attrs.evolve(
        solution, front=front, others=(), finished=False, notes=(*solution.notes, note)
    )
    return mark_interrupted(cut, error)
