"""Whose code raised?  One line that names component, method, file and line, whichever method it was."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from arboretum.errors import ArboretumError, ContractError


@contextmanager
def blaming(what: str = "", but: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Raise ContractError, naming the component, when the code of a plugin raises inside the block (or function).

    Also for SystemExit: a component that leaves has not done its work.  Passed on: the laboratory's own errors, Ctrl-C, want
    of memory, and what is raised where no component is at work.
    what : the component where a traceback cannot show it.   but : what the caller has words for itself.
    """
    try:
        yield
    except (ArboretumError, KeyboardInterrupt, MemoryError, *but):
        raise
    except BaseException as error:
        blamed = account(error, what)
        if blamed is None and isinstance(error, Exception):
            raise
        raise ContractError(blamed or f"unexpected {said(error)}{place(error)}") from error


def account(error: BaseException, what: str = "") -> str | None:
    """ "criterion 'mine': score raised KeyError: 'x' (mine.py:12)"; None where no component was at work."""
    found, inside, package, line, deeper = what, "", "", "", ""
    for frame, number in traceback.walk_tb(error.__traceback__):
        top = frame.f_globals.get("__name__", "").partition(".")[0]
        if top == "arboretum":
            inside, deeper = "", _place(frame, number)
            continue
        component, home = _component(frame)
        if component and component != inside:
            found, inside, package = f"{component}: {frame.f_code.co_name}", component, home
        if package and top == package and os.path.isfile(frame.f_code.co_filename):
            line, deeper = _place(frame, number), ""
    where = ", in ".join(filter(None, (line, deeper if line else "")))
    return f"{found} raised {said(error)}" + (f" ({where})" if where else "") if found else None


def said(error: BaseException) -> str:
    """Type and text of an exception, in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def place(error: BaseException, file: str = "") -> str:
    """ " (mine.py:12)": where an exception was raised, or "".   file : the last line of this file, if it had a part in it."""
    steps = [step for step in traceback.walk_tb(error.__traceback__) if os.path.isfile(step[0].f_code.co_filename)]
    mine = [step for step in steps if step[0].f_code.co_filename == file]
    return f" ({_place(*(mine or steps)[-1])})" if steps else ""


def _place(frame: FrameType, line: int) -> str:
    """File and line: from the working folder where the file lies below it."""
    file = frame.f_code.co_filename
    short = os.path.relpath(file)
    return f"{file if short.startswith(os.pardir) else short}:{line}"


def _component(frame: FrameType) -> tuple[str, str]:
    """ ("criterion 'mine'", its top package) for a method of a component; two empty texts for any other code."""
    owner = frame.f_locals.get("self", frame.f_locals.get("cls"))
    cls = owner if isinstance(owner, type) else type(owner)
    if owner is None:  # a static method
        cls = frame.f_globals.get(frame.f_code.co_qualname.partition(".")[0])
    kind, name = getattr(cls, "kind", None), getattr(cls, "name", None)
    known = isinstance(kind, str) and isinstance(name, str)
    return (f"{kind} {name!r}", cls.__module__.partition(".")[0]) if known else ("", "")
