"""What stands for numba's objects until one is needed: numba takes as long to import as a small run
takes that interprets its kernels (:mod:`arboretum.kernels.plain`).

Invariants: each object is made once in a process; for numba, where it compiles a caller, it is of
the type of what it stands for.
"""

from collections.abc import Callable
from functools import partial, update_wrapper
from threading import RLock
from typing import Any

from arboretum.kernels.plain import active_interpreter

_MAKING = RLock()


class Lazy:
    """Stands for what numba makes of a function, by ``make``, when it is first needed."""

    def __init__(self, function: Callable, make: Callable[[], Any]) -> None:
        update_wrapper(self, function)
        self._make, self._made = make, None

    @property
    def made(self) -> Any:
        """Numba's own object."""
        if self._made is None:
            with _MAKING:
                if self._made is None:
                    self._made = self._make()
        return self._made

    def __reduce__(self) -> str:
        return self.__qualname__  # as functions are pickled and copied: by name


class LazyDispatcher(Lazy, partial):
    """A kernel: called from Python it is interpreted, or passed on to numba's dispatcher, which has
    all other attributes.  It is a partial function: that passes a call on in 10 ns, a method in
    100.

    py_func : its source.
    plain : the same for :mod:`arboretum.kernels.plain`, once that has asked.
    wraps : its unsigned integers leave their range on purpose.
    """

    plain: Callable | None = None
    wraps = False

    def __new__(cls, function: Callable, make: Callable[[], Any]) -> "LazyDispatcher":
        """Make a partial function, which takes nothing but a function."""
        return super().__new__(cls, function)

    def __init__(self, function: Callable, make: Callable[[], Any]) -> None:
        super().__init__(function, make)
        self.py_func = function
        self._set_function(self._first)

    @property
    def made(self) -> Any:
        """Numba's dispatcher, to which calls are passed on from now on."""
        if self._made is None:
            self._set_function(super().made)
        return self._made

    @property
    def is_new(self) -> bool:
        """Whether this process has compiled it, or read it from the cache, for no types yet."""
        return self._made is None or not self._made.overloads

    def _first(self, *args: object, **named: object) -> object:
        """Answer a call before there is a dispatcher."""
        interpreter = active_interpreter()
        if interpreter is not None and interpreter.waits_with_numba():
            return interpreter(self)(*args, **named)
        return self.made(*args, **named)

    def _set_function(self, function: Callable) -> None:
        self.__setstate__((function, (), {}, vars(self)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.made, name)


class LazyIntrinsic(Lazy):
    """What a kernel may call that is written in LLVM's instructions.

    plain : the same in Python.
    """

    def __init__(self, define: Callable, plain: Callable) -> None:
        super().__init__(define, lambda: _intrinsic_of(define))
        self.plain = plain

    @property
    def _numba_type_(self) -> Any:
        return self.made[1]


def lazy_intrinsic(plain: Callable) -> Callable[[Callable], LazyIntrinsic]:
    """Decorate ``define(typing context, *argument types) -> (signature, code generator)``, which
    numba's ``intrinsic`` takes and which alone imports numba.

    plain : does the same in Python.
    """
    return lambda define: LazyIntrinsic(define, plain)


def _intrinsic_of(define: Callable) -> tuple[Any, Any]:
    """Return numba's intrinsic and its type."""
    from numba import types
    from numba.core.typing.templates import make_intrinsic_template
    from numba.extending import intrinsic

    own: Any = intrinsic(define)
    return own, types.Function(make_intrinsic_template(own, define, define.__name__))
