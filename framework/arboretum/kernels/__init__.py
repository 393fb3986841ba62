"""Where do the cycles go?  numba and NumPy only; arrays in, arrays out.  Importing this package loads no numba."""

from arboretum.kernels.marks import KernelNode, criterion_kernel, impurity_kernel, mark_of, prefix_kernel

__all__ = ["KernelNode", "criterion_kernel", "impurity_kernel", "mark_of", "prefix_kernel"]
