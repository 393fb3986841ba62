"""Does a class have the methods its kind asks for, in the form the framework calls them?  Asked when it is registered."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from arboretum.errors import closest
from arboretum.interfaces.contracts import INSTEAD, KERNELS, OPTIONAL, REQUIRED
from arboretum.interfaces.solving import Shape
from arboretum.kernels.kernel_decorators import MARK, mark_of


def broken_contract(kind: str, cls: type) -> str | None:
    """What is wrong with the methods of a class, as the end of a sentence that names it; None if nothing is.

    Looks at names, forms (method, static method, kernel) and numbers of arguments; what they return is seen when they run.
    """
    return next(_faults(kind, cls), None)


def _faults(kind: str, cls: type) -> Iterator[str]:
    kernels = KERNELS.get(kind, {})
    for name, (mark, signature) in kernels.items():
        if fault := _kernel_fault(cls, name, mark, signature):
            yield fault
    instead = any(all(_has(cls, name) for name in _methods(other)) for other in INSTEAD.get(kind, ()))
    for contract, required in ((REQUIRED[kind], not instead), *((p, False) for p in OPTIONAL.get(kind, ()))):
        for name, wanted in _methods(contract).items():
            if not _has(cls, name):
                if required:
                    yield _missing(kind, cls, name, wanted)
            elif name not in kernels or mark_of(getattr(cls, name)) is None:
                if fault := _method_fault(kind, cls, name, wanted):
                    yield fault
    stated = getattr(cls, {"objective": "shape", "solver": "minimises"}.get(kind, ""), ())
    shapes = [shape.value for shape in Shape]
    for one in stated if isinstance(stated, tuple) else (stated,):
        if one not in (*Shape, *shapes):
            yield f".{'shape' if kind == 'objective' else 'minimises'} holds {one!r}; it must be {' or '.join(map(repr, shapes))}"
    if kind == "impurity" and (scale := getattr(cls, "scale", "mean")) not in ("mean", "total"):
        yield f".scale is {scale!r}; it must be 'mean' or 'total'"


def guess_kind(cls: type) -> str | None:
    """The one kind whose required methods a class has."""
    found = [kind for kind, contract in REQUIRED.items() if all(_has(cls, name) for name in _methods(contract))]
    return found[0] if len(found) == 1 else None


def _methods(contract: type) -> dict[str, Any]:
    return {n: f for n, f in vars(contract).items() if inspect.isfunction(f) and not n.startswith("_")}


def _has(cls: type, name: str) -> bool:
    """Whether a class has a method of its own, not the empty one of a protocol it inherits from."""
    found = getattr(cls, name, None)
    return found is not None and not getattr(found, "__module__", "").startswith("arboretum.interfaces.")


def _missing(kind: str, cls: type, name: str, wanted: Any) -> str:
    near = closest(name, [n for n in vars(cls) if inspect.isfunction(vars(cls)[n]) and not n.startswith("__")])
    hint = f" (is {near!r} meant for it?)" if near else ""
    return f" has no method {name!r}{hint}; {_wants(kind, name, wanted)}"


def _method_fault(kind: str, cls: type, name: str, wanted: Any) -> str | None:
    stated = inspect.getattr_static(cls, name)
    if isinstance(stated, property) or not callable(getattr(cls, name)):
        return f".{name} is no method; {_wants(kind, name, wanted)}"
    try:
        signature = inspect.signature(getattr(cls, name))
    except (TypeError, ValueError):  # compiled, or wrapped beyond recognition
        return None
    asked = list(inspect.signature(wanted).parameters.values())[1:]
    positional = [None] * sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in asked)
    keywords = {p.name: None for p in asked if p.kind is p.KEYWORD_ONLY}
    first = () if isinstance(stated, staticmethod | classmethod) else (None,)
    shorter = kind == "criterion" and name in ("columns", "kernel")
    if any(_takes(signature, (*first, *form), keywords) for form in ([positional, positional[:-1]] if shorter else [positional])):
        return None
    shown = "(" + ", ".join(str(p).split(":")[0] for p in signature.parameters.values()) + ")"
    return f".{name} takes {shown}; {_wants(kind, name, wanted)}"


def _takes(signature: inspect.Signature, positional: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    try:
        signature.bind(*positional, **keywords)
    except TypeError:
        return False
    return True


def _kernel_fault(cls: type, name: str, mark: str, signature: str) -> str | None:
    """What is wrong with a kernel among the methods of a class; None where there is no kernel."""
    if not _has(cls, name):
        return None
    stated = inspect.getattr_static(cls, name)
    static = isinstance(stated, staticmethod)
    function = stated.__func__ if static else stated
    if name == "column" and not callable(function):
        return None  # a field of that name
    carried = mark_of(function)
    if static and carried is None and MARK in getattr(stated, "__dict__", {}):
        return f".{name}: its decorators are in the wrong order; @staticmethod stands above @{mark}_kernel"
    if carried is None:
        if mark in ("criterion", "complexity"):
            return None  # a NumPy form, an ordinary method
        return f".{name} carries no mark; put @staticmethod and, below it, @{mark}_kernel above {signature}"
    if carried != mark:
        return f".{name} is marked as {carried} kernel; it must be marked by @{mark}_kernel"
    if not static:
        return f".{name} is a kernel, hence a static method; put @staticmethod above @{mark}_kernel, without self: {signature}"
    taken = inspect.signature(getattr(function, "py_func", function))
    if not _takes(taken, (None,) * (signature.count(",") + 1), {}):
        return f".{name} takes {taken}; a kernel has the form {signature}"
    return None


def _wants(kind: str, name: str, wanted: Any) -> str:
    """What a contract states of a method."""
    article = "an" if kind[0] in "aeiou" else "a"
    return f"{article} {kind} needs {name}{inspect.signature(wanted)}".replace("'", "")
