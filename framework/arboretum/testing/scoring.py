"""Score candidate tests the slow way: in plain Python, whatever form the criterion has."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arboretum.api import Node, Tables
from arboretum.kernels import KernelNode, mark_of


def is_kernel(criterion: Any) -> bool:
    """Whether ``score`` is a scalar kernel rather than a NumPy batch function."""
    return mark_of(criterion.score) == "criterion"


def params_of(component: Any) -> np.ndarray:
    """float64[k]: the numeric fields in the order of declaration, as a kernel finds them in ``node.params``."""
    values = [getattr(component, field.name) for field in attrs.fields(type(component))]
    return np.array([float(value) for value in values if isinstance(value, int | float)])


def seeded(criterion: Any, seed: int) -> Any:
    """The criterion with the run's seed, if it is one that draws."""
    return criterion.with_seed(seed) if hasattr(criterion, "with_seed") else criterion


def kernel_node(criterion: Any, tables: Tables, node: Node) -> KernelNode:
    """The node as a scalar kernel sees it."""
    of = tables.impurity_of
    return KernelNode(
        mass=node.mass,
        total_mass=node.total_mass,
        impurity=node.impurity,
        depth=node.depth,
        coverage=node.coverage,
        params=params_of(criterion),
        impurity_of=(lambda weights: np.nan) if of is None else (lambda weights: float(of(weights))),
    )


def scores(criterion: Any, tables: Tables, node: Node, kernel: Callable | None = None) -> np.ndarray:
    """float64[tests]: what the criterion answers; a kernel (its own, or the one given) is called test by test."""
    kernel = kernel or (criterion.score if is_kernel(criterion) else None)
    if kernel is None:
        return criterion.score(tables, node)
    seen = kernel_node(criterion, tables, node)
    return np.array(
        [kernel(tables.weights[t], tables.counts[t], tables.price[t], tables.extra[t], seen) for t in range(tables.n_tests)],
        dtype=np.float64,
    )


def reference_of(kernel: Callable) -> Callable | None:
    """The slow twin: the function of the same name in the module ``reference`` beside the kernel's; None without one."""
    module = sys.modules.get(kernel.__module__)
    package = (getattr(module, "__package__", "") or kernel.__module__.rpartition(".")[0]) if module else ""
    if not package or not kernel.__module__.rpartition(".")[2].startswith("kernel"):
        return None
    try:
        twin = importlib.import_module(f"{package}.reference")
    except ModuleNotFoundError:
        return None
    return getattr(twin, kernel.__name__, None)
