"""numba's disk cache of compiled kernels: what makes its code stale, and whether it has a kernel.

numba itself falls back from the package folder to a user-wide cache folder when the first is not
writable; where neither is, a kernel works uncached, and :func:`cache_trouble` says so.
"""

import fcntl
import re
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path

import numba
from numba.core.dispatcher import Dispatcher

IMPORT = re.compile(r"^[ \t]*(?:from|import)\b[^\n(]*(?:\([^)]*\))?", re.MULTILINE)
"""An import statement, also one that goes on in parentheses."""


def sources(file: Path) -> frozenset[Path]:
    """What code compiled from a file may be made of: all kernel modules of the house, the file, and
    what it imports from its own folder, and so on: a kernel keeps a copy of the helpers and
    constants that it uses.
    """
    found, waiting = set(Path(__file__).parent.rglob("*.py")), [file]
    while waiting:
        one = waiting.pop()
        if one not in found and one.is_file():
            found.add(one)
            words = {
                word
                for line in IMPORT.findall(one.read_text(encoding="utf-8"))
                for word in re.findall(r"\w+", line)
            }
            waiting += [one.with_name(f"{word}.py") for word in words]
    return frozenset(found)


@cache
def stamp_of(file: str) -> tuple[tuple[str, int, int], ...]:
    """Name, time of change (ns) and size (bytes) of each of a file's :func:`sources`, by path.

    Read once per file and process.
    """
    return tuple(
        (p.name, p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(sources(Path(file)))
    )


@lru_cache(maxsize=1)
def cache_trouble() -> str:
    """Why compiled kernels are not kept for later starts, and the way out; "" where they are."""
    try:
        numba.njit(_or_nothing).enable_caching()  # any function of this folder
    except RuntimeError:
        why = f"neither {Path(__file__).parent} nor numba's cache folder of the user can be written"
        return (
            f"compiled kernels are not kept, so that every start compiles them anew: {why}; set "
            "NUMBA_CACHE_DIR to a folder that can"
        )
    return ""


def keep(dispatcher: Dispatcher) -> None:
    """Keep what a dispatcher compiles, until one of its :func:`sources` changes."""
    try:
        dispatcher.enable_caching()
    except RuntimeError:
        # no folder of the cache is writable (see cache_trouble), or the source is not in a file
        return
    _stamp(dispatcher, stamp_of(dispatcher.py_func.__code__.co_filename))


def is_kept(dispatcher: Dispatcher, kinds: tuple[object, ...]) -> bool:
    """Whether there is code for arguments of these numba types, in this process or on disk."""
    if kinds in dispatcher.overloads:
        return True
    file = getattr(dispatcher._cache, "_cache_file", None)  # numba offers no public way
    key = dispatcher._cache._index_key(kinds, dispatcher.targetctx.codegen()) if file else None
    return file is not None and key in file._load_index()


LOCKS = ".compiling"
"""File beside the kernels of a cache folder; a process that compiles one holds a byte of it."""
MOST_LOCKS = 1 << 30
LONGEST_WAIT, WAIT_STEP = 300.0, 0.1
"""Seconds that a process waits for another one that compiles, which may hang; and seconds between
two tries of the lock.
"""


@contextmanager
def compiling_once(dispatcher: Dispatcher) -> Iterator[None]:
    """Hold the lock of a kernel while it is compiled or loaded.

    So of several processes of a machine that need it at once, one compiles it and the others load
    what that one has kept.  Without a cache folder, or where its file system has no locks, each
    compiles for itself.
    """
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    with ExitStack() as stack:
        if file is not None:
            with suppress(OSError):
                folder, name = Path(file._cache_path), file._index_name
                folder.mkdir(parents=True, exist_ok=True)
                lock = stack.enter_context((folder / LOCKS).open("ab"))
                _wait_for_byte(lock.fileno(), zlib.crc32(name.encode()) % MOST_LOCKS)
        yield


def _wait_for_byte(descriptor: int, place: int) -> None:
    """Lock a byte of an open file until it is closed.  Raises OSError where the file system has
    no locks.
    """
    end = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < end:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            break
        except (BlockingIOError, PermissionError):  # another process holds it
            time.sleep(WAIT_STEP)


def _stamp(dispatcher: Dispatcher, stamp: object) -> None:
    """Make the cached code stale when ``stamp`` changes.

    numba looks at the file of the kernel alone, so that a kernel would keep an old copy of a helper
    from another file.  And it reads a whole index before it compares: one that names a class which
    has moved since is stale, not an error.
    """
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if file is not None and hasattr(file, "_source_stamp"):
        read = file._load_index  # numba offers no public way
        file._source_stamp = (file._source_stamp, stamp)
        file._load_index = lambda: _or_nothing(read)


def _or_nothing(read: Callable[[], dict]) -> dict:
    try:
        return read()
    except (ImportError, AttributeError):  # what pickle raises where a module or a class is gone
        return {}
