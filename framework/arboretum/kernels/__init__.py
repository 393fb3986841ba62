"""Where do the cycles go?  numba and NumPy only; arrays in, arrays out.  Importing this package
loads no numba.
"""

from arboretum.kernels.identify_impurity import known_impurity
from arboretum.kernels.kernel_decorators import (
    KernelNode,
    adds_by_class,
    baked,
    column_kernel,
    complexity_kernel,
    criterion_kernel,
    impurity_kernel,
    kernel_part,
    mark_of,
    prefix_kernel,
)

__all__ = [
    "KernelNode",
    "adds_by_class",
    "baked",
    "column_kernel",
    "complexity_kernel",
    "criterion_kernel",
    "impurity_kernel",
    "kernel_part",
    "known_impurity",
    "mark_of",
    "prefix_kernel",
]
