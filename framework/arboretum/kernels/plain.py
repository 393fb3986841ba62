"""Kernels as the Python that they are: where work is small, compiling takes longer than doing it::

    with interpreted():
        kernel(…):  compiled in this process, or kept in the disk cache for these types: as always
                    else, until it has taken as long as patience lasts: in Python
                    else, where a kernel among its arguments is a Python function: begin anew
                    else: compile it

The source is the same, and so is what it computes: an integer that leaves the range of its type is
an error, where machine code might go on with another type or a wrapped number.  After an error the
caller begins anew with compiled kernels (:class:`~arboretum.errors.OnlyCompiled`).  What has no
source, an intrinsic, has a twin in Python (:func:`with_twin`), or is compiled alone.  In place of a
kernel's address (:mod:`arboretum.kernels.function_pointers`) stands a Python function, which no
compiled kernel takes for a number.

Invariants: what a kernel leaves in arrays and records is the same either way, so that one way may
take up what the other has begun.  Kernels of other threads are compiled.
"""

import builtins
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from arboretum.errors import OnlyCompiled

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher

SLOWER = 200
"""Times that Python takes longer for what a search does."""


class Interpreter:
    """Runs kernels in Python, each until it has taken as long as compiling it might.

    active : within a block.
    patience : processor seconds a kernel.
    head_start : processor seconds of all kernels, before which nothing is asked of numba, not even
        what its cache has.
    at : what lies at addresses that were taken within a block, in Python.
    """

    def __init__(self) -> None:
        self.active, self.patience, self.head_start = False, 0.0, 0.0
        self.at: dict[int, Callable] = {}
        self._kept: dict[object, bool] = {}
        self._elapsed: dict[object, float] = {}
        self._all_elapsed = 0.0

    def waits_with_numba(self) -> bool:
        """Whether any kernel is run here: within the head start, or with patience without end."""
        return self._all_elapsed < self.head_start or self.patience == math.inf

    def runs(self, kernel: "Dispatcher", kinds: tuple[object, ...]) -> bool:
        """Whether a kernel that this process has not compiled for these numba types is run here."""
        if self.waits_with_numba():
            return True
        key = (kernel, kinds)
        if key not in self._kept:
            from arboretum.kernels.disk_cache import is_kept  # with numba, which not all need

            self._kept[key] = is_kept(kernel, kinds)
        return not self._kept[key] and self._elapsed.get(kernel, 0.0) < self.patience

    def may_run(self, kernel: Any) -> bool:
        """Whether the next call of a kernel may be run here, for all that calls before it tell."""
        if (elapsed := self._elapsed.get(kernel)) is not None:
            return elapsed < self.patience
        return kernel.is_new

    def __call__(self, kernel: "Dispatcher") -> Callable:
        """The kernel as a Python function, under a clock."""
        function = as_python(kernel)

        def timed(*args: object, **named: object) -> object:
            start = time.thread_time()
            try:
                with np.errstate(over="raise", divide="ignore", invalid="ignore"):
                    fields = {name: _with_fields(value) for name, value in named.items()}
                    return function(*map(_with_fields, args), **fields)
            except Exception as error:  # machine code may know how: nothing is lost but time
                raise OnlyCompiled(f"{type(error).__name__}: {error}") from error
            finally:
                took = time.thread_time() - start
                self._elapsed[kernel] = self._elapsed.get(kernel, 0.0) + took
                self._all_elapsed += took

        return timed


_INTERPRETER: ContextVar[Interpreter | None] = ContextVar("interpreter", default=None)


@contextmanager
def interpreted(patience: float, head_start: float = 0.0) -> Iterator[None]:
    """Interpret kernels that are compiled nowhere, until so many processor seconds have gone into
    one; that is compiled.

    head_start : of these seconds of all kernels, those of the process before which it interprets
        also what the cache has, and does not import numba.
    """
    found = _INTERPRETER.get() or Interpreter()
    _INTERPRETER.set(found)
    before = found.active, found.patience, found.head_start
    found.active, found.patience, found.head_start = patience > 0.0, patience, head_start
    try:
        yield
    finally:
        found.active, found.patience, found.head_start = before


compiled = partial(interpreted, 0.0)
"""Compile what is compiled nowhere, also within a block of :func:`interpreted`."""


def active_interpreter() -> Interpreter | None:
    """Who interprets kernels that are compiled nowhere now."""
    found = _INTERPRETER.get()
    return found if found is not None and found.active else None


def fewer(steps: int, kernel: Any) -> int:
    """Steps that a kernel works before it looks at the clock again: fewer where it is interpreted,
    so that patience is looked at.
    """
    found = active_interpreter()
    return steps // SLOWER if found is not None and found.may_run(kernel) else steps


def kernel_at(address: int | Callable) -> Callable | None:
    """In Python what lies at an address, or stands in its place; None at 0, where no kernel is."""
    if address == 0:
        return None
    found = address if callable(address) else _INTERPRETER.get().at.get(address)
    if found is None:
        raise OnlyCompiled("Python does not know what lies at this address")
    return found


def with_twin(kernel: Any, twin: Callable) -> Any:
    """The same kernel, for which ``twin`` stands in Python."""
    kernel.plain = twin
    return kernel


def as_python(kernel: Any) -> Callable:
    """A kernel's source as a function that calls the sources of the kernels that it calls.

    Names are looked up once, so that none of its modules' is replaced later.
    """
    if getattr(kernel, "plain", None) is None:
        with_twin(
            kernel, _rebound_to_sources(kernel) if hasattr(kernel, "py_func") else _alone(kernel)
        )
    return kernel.plain


def _rebound_to_sources(kernel: "Dispatcher") -> Callable:
    """Return a copy of a kernel's source whose global names and closure lead to the sources of
    other kernels, and whose records have their fields as attributes.
    """
    python = kernel.py_func
    known = python.__globals__
    scope = {name: known[name] for name in {*_names(python.__code__)} & known.keys()}
    cells = [cell.cell_contents for cell in python.__closure__ or ()]
    copy = FunctionType(
        python.__code__,
        scope,
        python.__name__,
        python.__defaults__,
        tuple(CellType(as_python(one) if _is_kernel(one) else one) for one in cells),
    )
    found = np.errstate(over="ignore")(copy) if getattr(kernel, "wraps", False) else copy
    with_twin(kernel, found)  # before those that it calls: it may be among them
    scope |= {name: as_python(value) for name, value in scope.items() if _is_kernel(value)}
    scope |= {
        name: np.dtype((np.record, value))  # so that a kernel's own records have fields, too
        for name, value in scope.items()
        if isinstance(value, np.dtype) and value.names
    }
    scope |= {"__name__": python.__module__, "__builtins__": builtins}
    return found


def _alone(intrinsic: Any) -> "Dispatcher":
    """A kernel that does nothing but call an intrinsic, for what is interpreted; kept beside it."""
    python = intrinsic._defn
    import numba

    from arboretum.kernels.disk_cache import keep

    name, scope = f"alone_{python.__name__}", {"called": intrinsic, "__name__": python.__module__}
    file = str(sys.modules[python.__module__].__file__)
    exec(compile(f"def {name}(*args):\n    return called(*args)\n", file, "exec"), scope)
    keep(dispatcher := numba.njit(scope[name]))
    return dispatcher


def _with_fields(value: object) -> object:
    """An argument whose records have their fields as attributes, as kernels read them."""
    if isinstance(value, np.ndarray | np.void) and value.dtype.names:
        return np.asarray(value).view(np.recarray)[()]
    if isinstance(value, tuple):
        parts = map(_with_fields, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _is_kernel(value: object) -> bool:
    """Whether it is a dispatcher or an intrinsic, of numba's own or one that stands for it."""
    return (
        hasattr(value, "py_func") or hasattr(value, "plain") or type(value).__name__ == "_Intrinsic"
    )


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _names(one)
