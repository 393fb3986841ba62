"""Progress that is repeated while nothing new is said, so that whoever listens late still hears what is being done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[float, float | None, str], None]

REPEATED_SECONDS = 1.0


@contextmanager
def repeated(progress: Progress, subject: str, seconds: float = REPEATED_SECONDS) -> Iterator[Progress]:
    """A listener that passes every message on as "subject: message", and the last one again after ``seconds`` of silence.

    The command shows nothing of what is said in a run's first two seconds; a solver that then works without a word would look
    dead.  (A thread repeats; it is heard while compiled kernels run, because they release the lock.)
    """
    last: list[tuple[float, float | None, str]] = [(0, None, subject)]
    heard, done, lock = threading.Event(), threading.Event(), threading.Lock()

    def say() -> None:
        with lock:
            if not done.is_set():
                progress(*last[0])

    def listen(amount: float, total: float | None, message: str) -> None:
        last[0] = (amount, total, f"{subject}: {message}")
        heard.set()
        say()

    def repeat() -> None:
        while not done.is_set():
            if not heard.wait(seconds):
                say()
            heard.clear()

    say()
    thread = threading.Thread(target=repeat, name="arboretum-heartbeat", daemon=True)
    thread.start()
    try:
        yield listen
    finally:
        with lock:
            done.set()
        heard.set()
        thread.join()
