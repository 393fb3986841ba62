"""The one compilation policy of the house.

Every kernel is compiled at first use, without the GIL, with NumPy's rules for division by zero,
without fast-math (sums must not be reordered: ties depend on them), and kept in numba's disk cache.
numba itself falls back from the package folder to a user-wide cache folder when the first is not
writable; where neither is, the kernel works uncached, and :func:`cache_trouble` says so.
"""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import event
from numba.core.compiler import Compiler

from arboretum.kernels.plain import OnlyCompiled, active_interpreter

LOADING = "arboretum:loading"
"""Event of numba's: a kernel is compiled, or read from the disk cache."""

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
        numba.njit(_nothing).enable_caching()  # any function of this folder
    except RuntimeError:
        why = f"neither {Path(__file__).parent} nor numba's cache folder of the user can be written"
        return (
            f"compiled kernels are not kept, so that every start compiles them anew: {why}; set "
            "NUMBA_CACHE_DIR to a folder that can"
        )
    return ""


def jit(
    function: Callable | None = None,
    *,
    inner: bool = False,
    inline: bool = False,
    borrow: bool = False,
    pointer: bool = False,
    wraps: bool = False,
) -> Any:
    """Decorate a kernel (see the module's docstring for the policy).

    inner : only kernels call it, so that no entry for Python is compiled: taking tuples of arrays
        apart is more code than most helpers have, half of what is compiled for a subtree.  A call
        from Python compiles it anew, and does not keep it.
    inline : inner, and merged into its callers, for helpers called once per table or row: as a
        call, passing the dozen words of each array argument costs more than what such a helper
        does.
    borrow : count no references to arrays: an atomic addition for each view and each array argument
        is a third of the time of a kernel that does little with many arrays, and half of its
        compilation.  Such a kernel neither allocates nor returns arrays (also in tuples), and calls
        only such kernels; its caller keeps the arrays alive.
    pointer : it has an entry for C, whose address :mod:`arboretum.kernels.function_pointers` takes.
    wraps : its unsigned integers leave their range on purpose, as sums of fingerprints do.
    """
    if function is None:
        return lambda f: jit(
            f, inner=inner, inline=inline, borrow=borrow, pointer=pointer, wraps=wraps
        )
    inner = inner or inline
    options = {
        "nogil": True,
        "error_model": "numpy",
        "forceinline": inline,
        "no_cpython_wrapper": inner,
        "no_cfunc_wrapper": not pointer,
    }
    # always said: numba would take it from whichever kernel happens to call this one first
    options["_nrt"] = not borrow
    dispatcher = numba.njit(**options, **{"pipeline_class": _Part} if inner else {})(function)
    if inner:
        with_entry = lru_cache(maxsize=1)(
            lambda: numba.njit(**options | {"no_cpython_wrapper": False})(function)
        )
        dispatcher._insert, compile_for = _nothing, lambda *_, **__: with_entry()
    else:
        compile_for = dispatcher._compile_for_args

    typeof_pyval = dispatcher.typeof_pyval

    def missed(*args: Any, **named: Any) -> Any:
        """What answers a call that no version answers which this process has compiled."""
        if (interpreter := active_interpreter()) is not None:
            kinds = tuple(map(typeof_pyval, args))
            if interpreter.runs(dispatcher, kinds):
                return interpreter(dispatcher)
            if types.pyobject in kinds:
                raise OnlyCompiled("patience is at an end")
        with event.trigger_event(LOADING):
            return compile_for(*args, **named)

    dispatcher._compile_for_args = missed
    dispatcher.wraps = wraps
    template = dispatcher.get_call_template
    # a number that is written out in a call would make a kernel of its own
    dispatcher.get_call_template = lambda args, kws: template(
        tuple(types.unliteral(a) for a in args), kws
    )
    try:
        dispatcher.enable_caching()
    except RuntimeError:
        # no folder of the cache is writable (see cache_trouble), or the source is not in a file
        pass
    else:
        _stamp(dispatcher, stamp_of(function.__code__.co_filename))
    return dispatcher


class _Unused:
    """numba's own, but that the environment of a function without machine code, for errors in
    Python's words, is not set.
    """

    def __init__(self, codegen: Any) -> None:
        self._own = codegen

    def __getattr__(self, name: str) -> Any:
        return _nothing if name == "set_env" else getattr(self._own, name)


class _Part(Compiler):
    """Compiles what only kernels call: it is optimised and made machine code in each of them
    anyway, so not for itself.
    """

    def _compile_core(self) -> Any:
        library = self.state.library = self.state.targetctx.codegen().create_library(
            self.state.func_id.func_qualname
        )
        library.enable_object_caching()
        library._optimize_final_module = _nothing
        library._finalize_final_module = lambda: vars(library).update(
            _finalized=True, _codegen=_Unused(library.codegen)
        )
        library.serialize_using_object_code = library.serialize_using_bitcode
        return super()._compile_core()


def _nothing(*_: Any) -> None:
    """In place of handing Python the entry of a compiled function, which would be a null
    pointer.
    """


def alone(intrinsic: Any) -> Any:
    """A kernel that does nothing but call an intrinsic, for what is interpreted; kept beside it."""
    python = intrinsic._defn
    name, scope = f"alone_{python.__name__}", {"called": intrinsic, "__name__": python.__module__}
    file = str(sys.modules[python.__module__].__file__)
    exec(compile(f"def {name}(*args):\n    return called(*args)\n", file, "exec"), scope)
    dispatcher = numba.njit(scope[name])
    if not cache_trouble():
        dispatcher.enable_caching()
        _stamp(dispatcher, stamp_of(file))
    return dispatcher


def merged(function: Callable) -> Any:
    """Decorate a helper whose *source* is merged into its callers before anything is compiled.

    Arguments that are constants there are constants inside, and loops over them are unrolled;
    ``jit(inline=True)`` merges code that has been optimised for any argument already.  It costs
    compile time at every call, and serves compiled callers alone.
    """
    return numba.njit(inline="always", error_model="numpy")(function)


def _stamp(dispatcher: Any, stamp: Any) -> None:
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


class CompileClock(event.Listener):
    """Adds up the seconds that kernels take to be compiled or loaded; says once that some are
    compiled.
    """

    def __init__(self, announce: Callable[[str], None] | None = None) -> None:
        self.seconds = 0.0
        self.kernels = 0
        self._announce = announce
        self._depth = 0
        self._start = 0.0

    def on_start(self, event: Any) -> None:
        """Count a compilation that begins, also one within another, and announce the first."""
        if self._depth == 0:
            self._start = time.perf_counter()
        self._depth += 1
        if event.kind == LOADING:
            return
        if self.kernels == 0 and self._announce is not None:
            lost = "not kept, for want of a cache folder: set NUMBA_CACHE_DIR"
            kept = "once; later runs load them from the cache"
            self._announce(f"compiling kernels ({lost if cache_trouble() else kept})")
        self.kernels += 1

    def on_end(self, event: Any) -> None:
        """Add the seconds of a compilation that ends, unless it was within another."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._start


@contextmanager
def compile_clock(announce: Callable[[str], None] | None = None) -> Iterator[CompileClock]:
    """Watch compilation: ``announce`` is called before the first kernel is compiled, never when
    all come from the cache.
    """
    clock = CompileClock(announce)
    with event.install_listener("numba:compile", clock), event.install_listener(LOADING, clock):
        yield clock
