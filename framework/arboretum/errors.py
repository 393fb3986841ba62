"""The one family of errors: every message is one line that names the rule, the value that broke it,
and the way out.

What is wrong with what was given is a ValueError, too, which is what scikit-learn's tools know.
And whose code raised: one line that names component, method, file and line, whichever method it
was.
"""

import difflib
import os
import re
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar


class ArboretumError(Exception):
    """Root of every error the laboratory raises on purpose."""


class ConfigError(ArboretumError, ValueError):
    """What the user asked for cannot be understood: unknown name, wrong type, value out of
    bounds.
    """


class PluginError(ArboretumError):
    """A plugin cannot be used: it cannot be imported, registered (its name is taken, say) or
    built.
    """


class DataError(ArboretumError, ValueError):
    """The table is unusable: missing file, ragged rows, absent target, infinite values."""


class CapabilityError(ArboretumError, ValueError):
    """The parts are fine but do not fit together (an impurity for classes on a regression
    target).
    """


class ContractError(ArboretumError):
    """A component returned something its contract forbids (a NaN score, a table of the wrong
    shape).
    """


class OnlyCompiled(BaseException):
    """No error, but a word to the laboratory: interpreted kernels cannot go on, and the work begins
    anew with compiled ones.
    """


class VerificationError(ArboretumError):
    """The slow reference disagrees with what the run reported."""


class BudgetError(ArboretumError):
    """A budget of seconds or bytes ran out before there was anything to return."""


class OutOfTime(BudgetError):
    """A search cannot begin within its seconds; method exact returns the best leaf in its place,
    where a leaf is allowed.
    """


class TrackerError(ArboretumError):
    """The run is finished and kept, but the tracker could not store it."""


class StoreError(ArboretumError):
    """A run folder or a store cannot be read or written."""


SHORTEST_PART = 3  # letters of a name that is looked for within longer ones
ALIKE, SHORT_ALIKE = 0.7, 0.6
"""Shares of equal letters from which on one name may be a slip of another, as :mod:`difflib` counts
them: of four letters one may be wrong, of three too; "titanic" is no slip of "tic-tac-toe".
"""


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that ``name`` may be a slip of, or None when nothing comes near;
    capitals count for little.

    Where nothing is alike, the shortest candidate that holds the name as a part ("ec45" in
    "regularized_ec45"), or the longest that is a word of it ("best" of "best-first").
    """
    names, key = list(candidates), name.casefold()
    if name in names:
        return name
    # of those that differ in capitals the first
    folded = {candidate.casefold(): candidate for candidate in reversed(names)}
    holding = sorted((one for one in folded if len(name) >= SHORTEST_PART and key in one), key=len)
    held = sorted(folded.keys() & set(re.split(r"[\W_]+", key)), key=len, reverse=True)
    alike = difflib.get_close_matches(
        key, folded, n=1, cutoff=SHORT_ALIKE if len(key) <= SHORTEST_PART else ALIKE
    )
    swapped = [one for one in folded if sorted(one) == sorted(key)]
    near = [*swapped, *alike, *holding, *held]
    return folded[near[0]] if near else None


# names that a message lists; of more it shows those that come nearest, and their number
T = TypeVar("T")
MOST_NAMES = 24


def listed(name: str, candidates: Iterable[str]) -> str:
    """The candidates in one short line: all in alphabetical order, or the six nearest and how
    many more there are.
    """
    names = sorted(candidates)
    if len(names) <= MOST_NAMES:
        return ", ".join(names) if names else "none"
    near = difflib.get_close_matches(name, names, n=6, cutoff=0.0)
    return f"{', '.join(near)} and {len(names) - len(near)} more"


def unknown(what: str, name: str, candidates: Iterable[str]) -> str:
    """Compose "unknown criterion 'ginii'; did you mean 'gini'? known: …" (one line)."""
    names = sorted(candidates)
    near = closest(name, names)
    hint = f"; did you mean {near!r}?" if near else ";"
    return f"unknown {what} {name!r}{hint} known: {listed(name, names)}"


def sure(found: T | None) -> T:
    """What was looked for before; raises ContractError where it is not there."""
    if found is None:
        raise ContractError("what was there before is gone; please report how it came to this")
    return found


@contextmanager
def blaming(what: str = "", but: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Raise ContractError, naming the component, when the code of a plugin raises inside the block
    (or function).

    Also for SystemExit: a component that leaves has not done its work.  Passed on: the laboratory's
    own errors and words, Ctrl-C, want of memory, and what is raised where no component is at work.
    what : the component where a traceback cannot show it.
    but : what the caller has words for itself.
    """
    passed: tuple[type[BaseException], ...] = (ArboretumError, OnlyCompiled, KeyboardInterrupt)
    passed += (MemoryError, *but)
    try:
        yield
    except passed:
        raise
    except BaseException as error:
        blamed = account(error, what)
        if blamed is None and isinstance(error, Exception):
            raise
        raise ContractError(blamed or f"unexpected {said(error)}{raised_at(error)}") from error


def account(error: BaseException, what: str = "") -> str | None:
    """ "criterion 'mine': score raised KeyError: 'x' (mine.py:12)"; None where no component was
    at work.
    """
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


def raised_at(error: BaseException, file: str = "") -> str:
    """Return " (mine.py:12)", where an exception was raised, or "" where no file is known.

    file : its last line that had a part in it, if one had.
    """
    steps = [
        step
        for step in traceback.walk_tb(error.__traceback__)
        if os.path.isfile(step[0].f_code.co_filename)
    ]
    mine = [step for step in steps if step[0].f_code.co_filename == file]
    return f" ({_place(*(mine or steps)[-1])})" if steps else ""


def _place(frame: FrameType, line: int) -> str:
    """File and line: from the working folder where the file lies below it."""
    file = frame.f_code.co_filename
    short = os.path.relpath(file)
    return f"{file if short.startswith(os.pardir) else short}:{line}"


def _component(frame: FrameType) -> tuple[str, str]:
    """("criterion 'mine'", its top package) for a method of a component; two empty texts for
    any other code.
    """
    owner = frame.f_locals.get("self", frame.f_locals.get("cls"))
    cls: object = owner if isinstance(owner, type) else type(owner)
    if owner is None:  # a static method
        cls = frame.f_globals.get(frame.f_code.co_qualname.partition(".")[0])
    kind, name = getattr(cls, "kind", None), getattr(cls, "name", None)
    known = isinstance(kind, str) and isinstance(name, str)
    return (f"{kind} {name!r}", cls.__module__.partition(".")[0]) if known else ("", "")
