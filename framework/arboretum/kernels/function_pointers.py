"""Function pointers: one compiled core serves every plugin::

    def loop(weights, counts, price, extra, node, out):     # compiled with a fixed signature
        for each table t: out[t] = kernel(weights[t], counts[t], price[t], extra[t], node)

    address ← that of the loop, as an integer
    in the core: call_batch(address, a block of tables, node, scores)

A marked scalar kernel is wrapped into a loop over a block of tables and compiled with a fixed
signature; the search receives the address of that loop.  So the core is compiled once for all
plugins, the plugin's kernel is inlined into its loop (an indirect call per *block* of tables, not
per table), and both are found in numba's disk cache by every process. Closures and dispatcher
arguments would miss that cache.

Invariants:

- An address is valid as long as :func:`compiled` remembers the loop, which it does to the end of
  the process; it means nothing in another one.  0 stands for no kernel, and must not be called.
- Arrays are the caller's, C-contiguous and of the types of the signature; loops write ``out``, or
  ``picked`` and ``values``, and keep nothing.
- No exception passes through a kernel: a call back to Python that fails answers NaN.
"""

import hashlib
import inspect
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from arboretum.kernels.jit import jit, merged
from arboretum.kernels.kernel_decorators import KernelNode, mark_of
from arboretum.kernels.lazy import LazyDispatcher, LazyIntrinsic, lazy_intrinsic
from arboretum.kernels.plain import active_interpreter, as_python, kernel_at


@cache
def signatures() -> dict[str, Any]:
    """Mark of a kernel → the signature of the loop around it (:data:`FORMS`), in numba's types."""
    from numba import types

    floats, codes = types.Array(types.float64, 1, "C"), types.Array(types.int32, 1, "C")
    tables, counts = types.Array(types.float64, 3, "C"), types.Array(types.int64, 3, "C")
    impurity = types.float64(floats)
    fields = (
        *3 * (types.float64,),
        types.int64,
        types.float64,
        floats,
        types.FunctionType(impurity),
    )
    node = types.NamedTuple(fields, KernelNode)
    return {
        "criterion": types.int64(tables, counts, floats, tables, node, floats),
        "impurity": impurity,
        "column": types.int64(codes, floats, codes, node, codes, floats),
        "prefix": types.int64(floats, floats, floats),
        "complexity": types.float64(types.float64, types.float64, floats),
    }


_BATCH = """
def {name}(weights, counts, price, extra, node, out):
    for t in range(out.shape[0]):
        out[t] = kernel(weights[t], counts[t], price[t], extra[t], node)
    return 0
"""
_IMPURITY = """
def {name}(weights):
    return float(kernel(weights))
"""
_COLUMN = """
def {name}(rows, weight, label, node, picked, values):
    n = 0
    for j in range(len(rows)):
        i = rows[j]
        value = float(kernel(weight[i], int(label[i]) if len(label) > 0 else -1, node))
        if value != 0.0:
            if not abs(value) < float("inf"):
                picked[0] = i
                return -1
            picked[n] = i
            values[n] = value
            n += 1
    return n
"""
_PREFIX = """
def {name}(y, weight, out):
    kernel(y, weight, out)
    return 0
"""
_COMPLEXITY = """
def {name}(mass, price, children):
    return float(kernel(mass, price, children))
"""

FORMS = {
    "criterion": _BATCH,
    "impurity": _IMPURITY,
    "column": _COLUMN,
    "prefix": _PREFIX,
    "complexity": _COMPLEXITY,
}
"""Mark of a kernel → the loop around it.

A column's loop, over the rows of a node: ``loop(rows, weight, label, node, picked, values) -> n``.

rows : int32[m].
weight, label : float64[·], int32[·], by row; ``label`` is empty for regression.
picked, values : int32[≥ m], float64[≥ m], receive the rows whose value is not 0, and these values.
n : how many these are, or −1 when a value is not finite; then picked[0] is its row.
"""


def address_of(kernel: Callable, mark: str) -> Any:
    """Address of the loop around a kernel of that mark, compiled now, or read from the cache; the
    loop itself, in Python, where kernels are interpreted (:mod:`arboretum.kernels.plain`).
    """
    return _address_of_loop(compiled(kernel, FORMS[mark], True), mark)


def _address_of_loop(loop: LazyDispatcher, mark: str) -> Any:
    """Compile the loop around a kernel of that mark, and return the address of its C entry; where
    kernels are interpreted, the Python function that stands in its place.
    """
    interpreter = active_interpreter()
    if interpreter is not None and interpreter.waits_with_numba():
        return as_python(loop)
    signature = signatures()[mark]
    if interpreter is not None and interpreter.runs(loop, signature.args):
        return as_python(loop)
    loop.compile(signature)
    result = loop.overloads[signature.args]
    # the C entry of a first-class function; its library lives as long as the dispatcher, which its
    # maker remembers
    address = result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)
    if interpreter is not None:
        interpreter.at[address] = as_python(loop)
    return address


def address_in_python(value: Callable) -> Any:
    """Address of an impurity that has no kernel: each call comes back to Python, some 20 µs.

    value : of the component.

    An exception cannot pass through a kernel: the call answers NaN, and :func:`raise_from_python`
    raises it afterwards.
    """
    return _address_of_loop(_wrap_python_impurity(value)[0], "impurity")


def raise_from_python(value: Callable) -> None:
    """Raise what a call from a kernel has raised since this was last asked, Ctrl-C included."""
    failures = _wrap_python_impurity(value)[1]
    if failures:
        first = failures[0]
        failures.clear()
        raise first


@cache
def _wrap_python_impurity(value: Callable) -> tuple[LazyDispatcher, list[BaseException]]:
    """Return a kernel that calls a Python impurity, ``float64[classes] -> float64``, and the list
    of what it raised: there is no way for an exception through compiled code, so it returns NaN
    then.
    """
    failures: list[BaseException] = []

    def guarded(weights):
        try:
            return float(value(weights))
        except BaseException as error:
            failures.append(error)
            return float("nan")

    def make():
        from numba import njit, objmode

        def impurity(weights):
            with objmode(found="float64"):
                found = guarded(weights)
            return found

        return njit(impurity)

    dispatcher = LazyDispatcher(guarded, make)
    dispatcher.plain = guarded
    return dispatcher, failures


def undefined_impurity(weights: np.ndarray) -> float:
    """Stands in where the run's impurity has no kernel form."""
    return weights[0] * 0.0 + float("nan")


@cache
def compiled(
    kernel: Callable,
    template: str = _BATCH,
    pointer: bool = False,
    names: tuple[tuple[str, object], ...] = (),
) -> Any:
    """The loop around ``kernel``, compiled at its first call.

    pointer : it has an entry for C; else the kernel is merged as source
        (:func:`arboretum.kernels.jit.merged`).
    names : what else the template refers to.

    The loop's source pretends to lie in the kernel's file, so that numba caches it beside the
    plugin and drops it when the plugin changes; a change of the loop itself changes its name.
    """
    python = getattr(kernel, "py_func", kernel)
    inner = _with_parts(python, _inlined if pointer else merged)
    # the module's name, too: cached code refers to it, and a file may be loaded as a plugin and
    # imported by its test
    tag = hashlib.sha256((template + python.__module__).encode()).hexdigest()[:8]
    name = (
        f"{'_'.join(python.__qualname__.replace('<', '').replace('>', '').split('.'))}_loop_{tag}"
    )
    try:
        file = inspect.getsourcefile(python) or "<unknown>"
    except TypeError:
        file = "<unknown>"
    scope = {"__name__": python.__module__, "kernel": inner, **dict(names)}
    # the loop starts on the kernel's own line: numba reads the source that stands there, and Python
    # 3.13 refuses to tokenize from the middle of a docstring
    above = "\n" * (python.__code__.co_firstlineno - 2)
    exec(compile(above + template.format(name=name), file, "exec"), scope)  # our own template
    return jit(scope[name], pointer=pointer)


def _inlined(python: Callable) -> Callable:
    """By force: as a call, passing a dozen words per array costs five times what a kernel itself
    does.
    """

    def make():
        import numba

        return numba.njit(nogil=True, error_model="numpy", forceinline=True)(python)

    return LazyDispatcher(python, make)


@cache
def _with_parts(python: Callable, decorate: Callable[[Callable], Callable]) -> Callable:
    """The decorated function, with functions under the mark ``part`` that it calls decorated,
    too.
    """
    known = python.__globals__
    parts = {
        name: known[name] for name in python.__code__.co_names if mark_of(known.get(name)) == "part"
    }
    if not parts:
        return decorate(python)
    scope = {**known, **{name: _with_parts(part, decorate) for name, part in parts.items()}}
    copy = FunctionType(
        python.__code__, scope, python.__name__, python.__defaults__, python.__closure__
    )
    copy.__qualname__, copy.__module__ = python.__qualname__, python.__module__
    return decorate(copy)


def _caller(mark: str, n_arguments: int) -> Callable:
    """An intrinsic (address, *arguments) that calls the C entry of the loop around a kernel of that
    mark.

    An address is passed to the core as an integer because numba needs 20 µs to find the type of a
    function object; and the call of a first-class function is compiled together with a call to
    Python in case there is no entry, a thousand instructions each time.
    """

    def call(typingctx, address, *arguments):
        from llvmlite import ir
        from numba import types

        signature = signatures()[mark]

        def codegen(context, builder, _, values):
            argument_types = [context.get_value_type(a) for a in signature.args]
            entry = ir.FunctionType(
                context.get_value_type(signature.return_type), argument_types
            ).as_pointer()
            return builder.call(builder.inttoptr(values[0], entry), values[1:])

        return signature.return_type(types.int64, *signature.args), codegen

    names = ["typingctx", "address", *(f"argument_{i}" for i in range(n_arguments))]
    call.__signature__ = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    )
    return LazyIntrinsic(call, lambda address, *arguments: kernel_at(address)(*arguments))


call_batch = _caller("criterion", 6)
call_impurity = _caller("impurity", 1)
call_column = _caller("column", 6)
call_prefix = _caller("prefix", 3)
call_complexity = _caller("complexity", 3)


@lazy_intrinsic(plain=kernel_at)
def impurity_at(typingctx, address):
    """An impurity's address as a first-class function, which is what kernels of criteria are
    given.
    """
    from numba import types
    from numba.core import cgutils

    kind = types.FunctionType(signatures()["impurity"])

    def codegen(context, builder, _, values):
        function = cgutils.create_struct_proxy(kind)(context, builder)
        function.c_addr = builder.inttoptr(values[0], cgutils.voidptr_t)
        function.py_addr = cgutils.voidptr_t(None)
        if hasattr(function, "jit_addr"):  # not in the oldest numba that is served
            function.jit_addr = cgutils.voidptr_t(None)
        return function._getvalue()

    return kind(types.int64), codegen


@jit(inner=True)
def make_node(scalars, params, impurity):
    """Build the KernelNode from float64[5] (mass, total mass, impurity, depth, coverage),
    parameters and an address.
    """
    return KernelNode(
        scalars[0],
        scalars[1],
        scalars[2],
        int(scalars[3]),
        scalars[4],
        params,
        impurity_at(impurity),
    )
