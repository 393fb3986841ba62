"""Score candidate tests the slow way: in plain Python, whatever form the criterion has; and coverage, from nothing but ``covered``."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from arboretum.api import Encoded, Node, Tables
from arboretum.kernels import KernelNode, mark_of

COVERED = 1e-12
"""An f_i that misses 1 by no more counts as 1 (the contract of a coverage)."""


def is_kernel(criterion: Any) -> bool:
    """Whether ``score`` is a scalar kernel rather than a NumPy batch function."""
    return mark_of(criterion.score) == "criterion"


def params_of(component: Any) -> np.ndarray:
    """float64[k]: the numeric fields in the order of declaration, as a kernel finds them in ``node.params``."""
    from arboretum.engine.search.compiled_criterion import numeric_fields

    return numeric_fields(component)


def seeded(criterion: Any, seed: int) -> Any:
    """The criterion with the run's seed, if it is one that draws."""
    return criterion.with_seed(seed) if hasattr(criterion, "with_seed") else criterion


def kernel_node(criterion: Any, node: Node, impurity_of: Callable | None) -> KernelNode:
    """The node as a scalar kernel sees it.   impurity_of : class weights → impurity, or None."""
    of = (lambda _: np.nan) if impurity_of is None else (lambda weights: float(impurity_of(weights)))
    return KernelNode(node.mass, node.total_mass, node.impurity, node.depth, node.coverage, params_of(criterion), of)


def scores(criterion: Any, tables: Tables, node: Node, kernel: Callable | None = None) -> np.ndarray:
    """float64[tests]: what the criterion answers; a kernel (its own, or the one given) is called test by test."""
    kernel = kernel or (criterion.score if is_kernel(criterion) else None)
    if kernel is None:
        return criterion.score(tables, node)
    seen = kernel_node(criterion, node, tables.impurity_of)
    each = zip(tables.weights, tables.counts, tables.price, tables.extra, strict=True)
    return np.array([kernel(*table, seen) for table in each], dtype=np.float64)


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


def compiled_scores(scorer: Any, tables: Tables, node: Node) -> np.ndarray:
    """float64[tests]: what the compiled kernel of a run's criterion answers, called as the search does (``scorer.batch`` is its address)."""
    from arboretum.kernels.scoring import score_tables

    out = np.full(tables.n_tests, np.nan)
    arrays = [np.ascontiguousarray(a) for a in (tables.weights, tables.counts, tables.price, tables.extra)]
    score_tables(*arrays, scorer.batch, scorer.scalars(node), scorer.params, scorer.impurity_at, out)
    return out


def left_of(coverage: Sequence[Any], objects: Encoded, rows: Sequence[int]) -> dict[int, float]:
    """Object → Π (1 − f_i) over the coverages: how far it is from being covered, 0 where it is."""
    found = dict.fromkeys((int(i) for i in rows), 1.0)
    for part in coverage:
        values = part.covered(objects, np.array(list(found), np.int64))
        for i, value in zip(found, values.tolist(), strict=True):
            found[i] *= 0.0 if 1.0 - value <= COVERED else 1.0 - value
    return found


def coverage_of(coverage: Sequence[Any], objects: Encoded, rows: Sequence[int]) -> float:
    """``node.coverage``: the weighted mean of f_i, 0.0 without coverages."""
    if not coverage:
        return 0.0
    left = left_of(coverage, objects, rows)
    mass = sum(float(objects.weight[i]) for i in left)
    return sum(float(objects.weight[i]) * (1.0 - value) for i, value in left.items()) / mass


def gain_of(
    coverage: Sequence[Any], objects: Encoded, rows: Sequence[int], outcome_of: Mapping[int, int], n_outcomes: int
) -> list[float]:
    """Per outcome Σ w_i (f_i(outcome) − f_i(node)) / (1 − f_i(node)) over its objects, covered ones left out."""
    before = left_of(coverage, objects, rows)
    gains = []
    for o in range(n_outcomes):
        part = [int(i) for i in rows if outcome_of.get(int(i)) == o]
        after = left_of(coverage, objects, part) if part else {}
        terms = (float(objects.weight[i]) * (before[i] - after[i]) / before[i] for i in part if before[i] > 0.0)
        gains.append(sum(terms))
    return gains
