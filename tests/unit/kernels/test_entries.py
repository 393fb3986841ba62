"""How much is compiled of a kernel that only kernels call."""

from __future__ import annotations

import numpy as np
import pytest

from arboretum.kernels.jit import jit


@jit(inner=True)
def scaled(values, factor):
    total = 0.0
    for value in values:
        total += value
    return total * factor


@jit
def both(values, factor):
    return scaled(values, factor) + scaled(values, 3)


VALUES = np.array([1.0, 2.0, 3.5])


@pytest.fixture(scope="module", autouse=True)
def _compiled_anew():
    """Kernels that come from the disk, where an earlier run left them, bring no helpers along."""
    both(VALUES, 2), by_a_kernel_that_counts_no_references(VALUES), by_one_that_does(VALUES)
    for kernel in (both, by_a_kernel_that_counts_no_references, by_one_that_does):
        kernel.recompile()


def test_an_inner_kernel_has_no_entry_for_python_and_no_kernel_one_for_c():
    assert both(VALUES, 2) == 32.5
    (inner,), (outer,) = scaled.overloads.values(), both.overloads.values()
    own = {
        name: compiled.library.get_llvm_str()
        for name, compiled in (("scaled", inner), ("both", outer))
    }
    wrapper = {
        "scaled": inner.fndesc.llvm_cpython_wrapper_name,
        "both": outer.fndesc.llvm_cpython_wrapper_name,
    }
    assert wrapper["both"] in own["both"]
    assert wrapper["scaled"] not in own["scaled"]
    assert outer.fndesc.llvm_cfunc_wrapper_name not in own["both"]


@jit(inner=True)
def sum_and_last(values, unread):
    return values.sum() + values[-1]


@jit(inner=True)
def sum_of_first(values, unread, n):
    """It cannot be merged into its caller, and floating sums have one order."""
    if n == 0:
        return 0.0
    return values[n - 1] + sum_of_first(values, unread, n - 1)


@jit(whole=True)
def twice(values):
    return sum_and_last(values, 1) + sum_of_first(values, values, 3) + values[-1]


def test_a_whole_kernel_shares_no_helper_with_others():
    assert twice(VALUES) == 20.0
    twice.recompile()
    (compiled,) = twice.overloads.values()
    shown = {one.name for one in compiled.library.get_defined_functions()}
    kept = [name for name in shown if "sum_and_last" in name or "sum_of_first" in name]
    linkage = [compiled.library.get_function(name).linkage.name for name in kept]
    assert kept and set(linkage) == {"internal"}
    # else the linker would take it, with its arguments dropped, for another kernel's helper
    (helper,) = sum_of_first.overloads.values()
    assert shown.isdisjoint(one.name for one in helper.library.get_defined_functions())
    assert twice(VALUES) == 20.0


def test_python_may_call_it_all_the_same():
    assert scaled(VALUES, 2) == 13.0
    assert scaled(VALUES, 2.0) == 13.0
    both(VALUES, 2)
    assert scaled(VALUES, 2) == 13.0


def test_a_number_that_is_written_out_in_a_call_makes_no_kernel_of_its_own():
    both(VALUES, 2)
    assert [str(arguments[1]) for arguments in scaled.overloads] == ["int64"]


@jit(inner=True)
def handed_on(values):
    return values, len(values)


@jit(borrow=True)
def by_a_kernel_that_counts_no_references(values):
    return handed_on(values)[0][0]


@jit
def by_one_that_does(values):
    return handed_on(values)[0][0]


def test_who_calls_a_helper_first_does_not_decide_whether_it_counts_references():
    """A caller that gives back what was never taken frees memory that is in use."""
    assert by_a_kernel_that_counts_no_references(VALUES) == by_one_that_does(VALUES) == 1.0
    (helper,) = handed_on.overloads.values()
    assert "NRT_incref" in helper.library.get_llvm_str()
