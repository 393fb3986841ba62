"""SIGTERM and SIGHUP end a command as Ctrl-C does: what is finished is kept, a sweep is closed, then the status says why."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FAILED_STATUS, TRACKER_FAILED = 1, 3
"""Exit statuses; 0: done, 130 and 143: see :func:`status_of`."""
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended(KeyboardInterrupt):
    """Somebody asked the command to end.   number : of the signal."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def status_of(error: KeyboardInterrupt) -> int:
    """Exit status as shells count it: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + (error.number if isinstance(error, Ended) else signal.SIGINT)


def word_of(error: KeyboardInterrupt) -> str:
    """ "interrupted" for Ctrl-C, "ended by SIGTERM" for a signal."""
    return f"ended by {signal.Signals(error.number).name}" if isinstance(error, Ended) else "interrupted"


@contextmanager
def ending_like_ctrl_c() -> Iterator[None]:
    """Raise Ended in the main thread at the first such signal; more of them do not disturb the closing.

    What the caller of the command ignores (``nohup``) stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: Any) -> None:
        for each in before:
            signal.signal(each, lambda number, frame: None)  # the command is ending already
        raise Ended(number)

    before = {number: signal.getsignal(number) for number in ENDING if signal.getsignal(number) != signal.SIG_IGN}
    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
