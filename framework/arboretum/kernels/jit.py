"""The one compilation policy of the house.

Every kernel is compiled at first use, without the GIL, with NumPy's rules for division by zero,
without fast-math (sums must not be reordered: ties depend on them), and kept in numba's disk cache
(:mod:`arboretum.kernels.disk_cache`).
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache, partial
from types import FunctionType
from typing import Any

import numpy as np

from arboretum.errors import OnlyCompiled
from arboretum.kernels.lazy import LazyDispatcher
from arboretum.kernels.plain import active_interpreter

LOADING = "arboretum:loading"
"""Event of numba's: a kernel is compiled, or read from the disk cache."""


def jit(
    function: Callable | None = None,
    *,
    inner: bool = False,
    inline: bool = False,
    borrow: bool = False,
    pointer: bool = False,
    wraps: bool = False,
    whole: bool = False,
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
    whole : its helpers are compiled for it alone: arguments that a helper does not read are
        dropped, and helpers called from one place are merged into it.  Else a call hands on every
        word of every array, 350 cycles for fifty arrays.  It takes two to four times as long to
        optimise, and gains nothing where helpers do much in a call.
    """
    if function is None:
        return lambda f: jit(
            f, inner=inner, inline=inline, borrow=borrow, pointer=pointer, wraps=wraps, whole=whole
        )
    inner = inner or inline
    options = {
        "nogil": True,
        "error_model": "numpy",
        "forceinline": inline,
        "no_cpython_wrapper": inner,
        "no_cfunc_wrapper": not pointer,
        # always said: numba would take it from whichever kernel happens to call this one first
        "_nrt": not borrow,
    }
    compiler = _part if inner else _whole if whole else None
    kernel = LazyDispatcher(function, lambda: _dispatcher_of(kernel, options, compiler))
    kernel.wraps = wraps
    return kernel


def _dispatcher_of(
    kernel: LazyDispatcher, options: dict[str, bool | str], compiler: Callable[[], type] | None
) -> Any:
    """Return numba's dispatcher, kept in the disk cache, which asks the interpreter before it
    compiles.

    compiler : returns the class that compiles it; None: numba's own.
    """
    from arboretum.kernels.disk_cache import compiling_once, keep

    numba = _import_numba()
    function, inner = kernel.py_func, options["no_cpython_wrapper"]
    dispatcher: Any = numba.njit(**options, **{"pipeline_class": compiler()} if compiler else {})(
        function
    )
    if inner:
        with_entry = lru_cache(maxsize=1)(
            lambda: numba.njit(**options | {"no_cpython_wrapper": False})(function)
        )
        dispatcher._insert, compile_for = _nothing, lambda *_, **__: with_entry()
    else:
        compile_for = dispatcher._compile_for_args

    kinds_of = partial(_kinds_of, dispatcher.typeof_pyval, {})

    def missed(*args: object, **named: object) -> object:
        """What answers a call that no version answers which this process has compiled."""
        if (interpreter := active_interpreter()) is not None:
            kinds = kinds_of(args)
            if interpreter.runs(kernel, kinds):
                return interpreter(kernel)
            if numba.types.pyobject in kinds:
                raise OnlyCompiled("patience is at an end")
        with compiling_once(dispatcher), numba.core.event.trigger_event(LOADING):
            return compile_for(*args, **named)

    dispatcher._compile_for_args = missed
    template = dispatcher.get_call_template
    # a number that is written out in a call would make a kernel of its own
    dispatcher.get_call_template = lambda args, kws: template(
        tuple(numba.types.unliteral(a) for a in args), kws
    )
    keep(dispatcher)
    return dispatcher


def _kinds_of(
    type_of: Callable[[object], object],
    known: dict[tuple[object, ...], tuple[object, ...]],
    args: tuple[object, ...],
) -> tuple[object, ...]:
    """Return numba's types of a call's arguments.

    type_of : numba's own, which takes longer than a short kernel that is interpreted.
    known : the types of calls so far, by what tells them apart.
    """
    look = tuple(map(_look_of, args))
    if look not in known:
        kinds = tuple(map(type_of, args))
        if None in look:
            return kinds
        known[look] = kinds
    return known[look]


def _look_of(value: Any) -> object:
    """Return what an argument's type depends on; None where that is not known here."""
    kind = type(value)
    if kind is np.ndarray or kind is np.recarray:
        return kind, value.dtype, value.ndim, value.flags.num
    if isinstance(value, tuple):
        looks = tuple(map(_look_of, value))
        return None if None in looks else (kind, looks)
    if kind is int:
        return kind, max(63, value.bit_length())
    if kind is np.void or kind is np.record:
        return kind, value.dtype
    whole = (float, bool, type(None), FunctionType, np.number, np.bool)
    return kind if isinstance(value, whole) else None


inner = partial(jit, inner=True, borrow=True)
"""Decorates what most helpers are: only kernels call it, and it neither allocates nor returns
arrays (``jit(inner=True, borrow=True)``).
"""
inline = partial(jit, inline=True, borrow=True)
"""The same, merged into its callers (``jit(inline=True, borrow=True)``)."""


class _Unused:
    """numba's own, but that the environment of a function without machine code, for errors in
    Python's words, is not set.
    """

    def __init__(self, codegen: object) -> None:
        self._own = codegen

    def __getattr__(self, name: str) -> object:
        return _nothing if name == "set_env" else getattr(self._own, name)


@cache
def _part() -> type:
    """Return the compiler of what only kernels call: it is optimised and made machine code in each
    of them anyway, so not for itself.
    """
    from numba.core.compiler import Compiler

    class Part(Compiler):
        def _compile_core(self) -> object:
            """Compile without the passes that optimise and emit machine code."""
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

    return Part


@cache
def _whole() -> type:
    """Return the compiler of a kernel whose helpers are its own: what was linked into it from them
    is hidden from other kernels before it is optimised.
    """
    from numba.core.compiler import Compiler

    class Whole(Compiler):
        def _compile_core(self) -> object:
            """Compile with the helpers' functions internal to the kernel's module."""
            library = self.state.library = self.state.targetctx.codegen().create_library(
                self.state.func_id.func_qualname
            )
            library.enable_object_caching()
            optimize = library._optimize_final_module

            def optimize_alone() -> None:
                for function in library.get_defined_functions():
                    if function.linkage.name == "linkonce_odr":
                        function.linkage = "internal"
                        # else the linker gives it to others that call a helper of this name
                        function.name = f"{function.name}.{library.name}"
                optimize()

            library._optimize_final_module = optimize_alone
            return super()._compile_core()

    return Whole


def _nothing(*_: object) -> None:
    """In place of handing Python the entry of a compiled function, which would be a null
    pointer.
    """


def merged(function: Callable) -> Callable:
    """Decorate a helper whose *source* is merged into its callers before anything is compiled.

    Arguments that are constants there are constants inside, and loops over them are unrolled;
    ``jit(inline=True)`` merges code that has been optimised for any argument already.  It costs
    compile time at every call, and serves compiled callers alone.
    """
    return LazyDispatcher(
        function, lambda: _import_numba().njit(inline="always", error_model="numpy")(function)
    )


class CompileClock:
    """Adds up the seconds that kernels take to be compiled or loaded; says once that some are
    compiled.
    """

    def __init__(self, announce: Callable[[str], None] | None = None) -> None:
        self.seconds = 0.0
        self.kernels = 0
        self._announce = announce
        self._depth = 0
        self._start = 0.0

    def begin(self, kind: str) -> None:
        """Count a compilation that begins, also one within another, and announce the first."""
        if self._depth == 0:
            self._start = time.perf_counter()
        self._depth += 1
        if kind == LOADING:
            return
        if self.kernels == 0 and self._announce is not None:
            from arboretum.kernels.disk_cache import cache_trouble

            lost = "not kept, for want of a cache folder: set NUMBA_CACHE_DIR"
            kept = "once; later runs load them from the cache"
            self._announce(f"compiling kernels ({lost if cache_trouble() else kept})")
        self.kernels += 1

    def end(self) -> None:
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
    with ExitStack() as stack:
        listen = cache(partial(_listen, clock, stack))
        waiting = _WAITING.set((*_WAITING.get(), listen))
        stack.callback(_WAITING.reset, waiting)
        if "numba" in sys.modules:
            listen()
        yield clock


_WAITING: ContextVar[tuple[Callable[[], None], ...]] = ContextVar("waiting", default=())
"""What clocks do once numba is imported."""


def _listen(clock: CompileClock, stack: ExitStack) -> None:
    """Let numba tell a clock of compilations until ``stack`` is closed."""
    from numba.core.event import Event, Listener, install_listener

    class Telling(Listener):
        def on_start(self, event: Event) -> None:
            clock.begin(event.kind)

        def on_end(self, event: Event) -> None:
            clock.end()

    for kind in ("numba:compile", LOADING):
        stack.enter_context(install_listener(kind, Telling()))


def _import_numba() -> Any:
    """Return numba, whose compilations are told to clocks that have begun before it was there."""
    import numba
    import numba.core.event

    for listen in _WAITING.get():
        listen()
    return numba
