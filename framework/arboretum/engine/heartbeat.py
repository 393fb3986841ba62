"""Progress that is repeated while nothing new is said, so that whoever listens late still hears what is being done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[float, float | None, str], None]

REPEATED_SECONDS = 1.0


@contextmanager
def repeated(progress: Progress, subject: str, seconds: float = REPEATED_SECONDS) -> Iterator[Progress]:
    """A listener that passes every message on as "subject: message", and the last one again every ``seconds``.

    The command shows nothing of what is said in a run's first two seconds; a solver that then works without a word would look
    dead.  (A thread repeats; it is heard while compiled kernels run, because they release the lock.)
    """
    last: tuple[float, float | None, str] = (0, None, subject)
    done, lock = threading.Event(), threading.Lock()

    def say() -> None:
        with lock:
            progress(*last)

    def listen(amount: float, total: float | None, message: str) -> None:
        nonlocal last
        last = (amount, total, f"{subject}: {message}")
        say()

    def repeat() -> None:
        while not done.wait(seconds):
            say()

    say()
    thread = threading.Thread(target=repeat, name="arboretum-heartbeat", daemon=True)
    thread.start()
    try:
        yield listen
    finally:
        done.set()
        thread.join()
