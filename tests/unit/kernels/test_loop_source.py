"""Where a compiled loop says that it stands: numba reads that source, and caches by it."""

from __future__ import annotations

import inspect

from arboretum.kernels.marks import criterion_kernel


@criterion_kernel
def first_class(weights, counts, price, extra, node):
    """Weight of the first class in the first outcome."""
    return weights[0, 0]


def test_a_compiled_loop_stands_where_its_kernel_stands():
    """Anywhere else, inspect would start to read in the middle of something; Python 3.13 raises on half a docstring."""
    from arboretum.kernels.pointers import compiled

    loop = compiled(first_class).py_func
    assert inspect.getsourcefile(loop) == inspect.getsourcefile(first_class)
    assert inspect.getsourcelines(loop) == inspect.getsourcelines(first_class)


def test_the_loops_of_one_file_under_two_module_names_do_not_share_cached_code():
    from types import FunctionType

    from arboretum.kernels.pointers import compiled

    twin = FunctionType(first_class.__code__, {**first_class.__globals__, "__name__": "another_module"}, "first_class")
    twin.__module__ = "another_module"
    assert compiled(twin).py_func.__name__ != compiled(first_class).py_func.__name__
