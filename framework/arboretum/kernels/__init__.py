"""Where do the cycles go?  numba and NumPy only; arrays in, arrays out.  Importing this package loads no numba."""

from arboretum.kernels.marks import (
    KernelNode,
    adds_by_class,
    column_kernel,
    complexity_kernel,
    criterion_kernel,
    impurity_kernel,
    mark_of,
    prefix_kernel,
)

__all__ = [
    "KernelNode",
    "adds_by_class",
    "column_kernel",
    "complexity_kernel",
    "criterion_kernel",
    "impurity_kernel",
    "mark_of",
    "prefix_kernel",
]
