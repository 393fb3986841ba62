"""Call a compiled criterion kernel from Python, the way the search loop does: through an address."""

from __future__ import annotations

import numpy as np

from arboretum.api import Node, Tables
from arboretum.engine.search.compiled_criterion import CompiledCriterion
from arboretum.kernels.scoring import score_tables


def compiled_scores(scorer: CompiledCriterion, tables: Tables, node: Node) -> np.ndarray:
    """float64[tests]: what the compiled kernel of the run's criterion answers (``scorer.batch`` is its address)."""
    out = np.full(tables.n_tests, np.nan)
    arrays = [np.ascontiguousarray(a) for a in (tables.weights, tables.counts, tables.price, tables.extra)]
    score_tables(*arrays, scorer.batch, scorer.scalars(node), scorer.params, scorer.impurity_at, out)
    return out
