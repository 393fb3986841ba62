"""Call a compiled criterion kernel from Python, the way the search loop does: through an address."""

from __future__ import annotations

from typing import Any

import numpy as np

from arboretum.api import Node, Tables
from arboretum.kernels import pointers
from arboretum.kernels.jit import jit
from arboretum.testing.scoring import params_of


@jit
def call_batch(address, weights, counts, price, extra, scalars, params, impurity, out):
    """Fill ``out`` with the scores of a block of tables."""
    node = pointers.make_node(scalars, params, impurity)
    pointers.batch_at(address)(weights, counts, price, extra, node, out)


def compiled_scores(criterion: Any, tables: Tables, node: Node) -> tuple[np.ndarray, bool]:
    """float64[tests], and whether the run's impurity had a kernel form (where not, the kernel sees NaN)."""
    owner = getattr(tables.impurity_of, "__self__", None)
    kernel = getattr(owner, "kernel", None)
    impurity = pointers.impurity_address(kernel or pointers.undefined_impurity)
    out = np.full(tables.n_tests, np.nan)
    scalars = np.array([node.mass, node.total_mass, node.impurity, node.depth, node.coverage], float)
    arrays = [np.ascontiguousarray(a) for a in (tables.weights, tables.counts, tables.price, tables.extra)]
    call_batch(pointers.batch_address(criterion.score), *arrays, scalars, params_of(criterion), impurity, out)
    return out, kernel is not None
