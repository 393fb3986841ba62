"""The run's coverages, at a node and over a whole tree: how much of the way each object has gone, and what a test would add.

Literal and general: every quantity comes from ``covered``, called for the node and for every outcome of every test.
Criteria in kernel form compute theirs from tables instead.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arboretum.errors import ContractError
from arboretum.interfaces.method import Problem
from arboretum.model.encoded import Encoded
from arboretum.model.table import Table
from arboretum.model.tree import MISSING_SPLITS, Tree

COVERED = 1e-12
"""An f_i that misses 1 by no more counts as 1.  f_i is a ratio of sums over at most some 10⁶ objects, which rounding moves
by less; the next value below 1 is 1 − p_min or 1 − 1/φ(X), which is farther away up to 10⁶ objects."""


@attrs.frozen(eq=False)
class Covering:
    """The coverages of a run, bound to its objects.   functions : values with ``covered(objects, rows)``."""

    functions: tuple[Any, ...]
    names: tuple[str, ...]
    objects: Encoded

    @staticmethod
    def of(coverage: tuple[Any, ...], objects: Encoded) -> Covering | None:
        """Bind them (``prepare``, where they have it); None without any."""
        if not coverage:
            return None
        bound = tuple(part.prepare(objects) if hasattr(part, "prepare") else part for part in coverage)
        names = tuple(getattr(part, "name", None) or type(part).__name__ for part in coverage)
        return Covering(bound, names, objects)

    def left(self, rows: np.ndarray) -> np.ndarray:
        """float64[len(rows)]: Π (1 − f), how far each object (int64 ``rows``) is from being covered; 0 where it is.

        Raises ContractError for another shape, NaN, or a value outside 0 … 1.
        """
        product = np.ones(len(rows))
        for name, part in zip(self.names, self.functions, strict=True):
            found = np.asarray(part.covered(self.objects, rows))
            if found.shape != product.shape or found.dtype != np.float64:
                got = f"{found.dtype}{list(found.shape)}"
                msg = f"coverage {name!r}: covered must be float64[{len(rows)}], one number per object; got {got}"
                raise ContractError(msg)
            if not ((found >= -COVERED) & (found <= 1 + COVERED)).all():
                msg = f"coverage {name!r}: covered must lie between 0 and 1; got {found.min():g} … {found.max():g}"
                raise ContractError(msg)
            rest = 1.0 - found
            product *= np.where(rest <= COVERED, 0.0, np.minimum(rest, 1.0))
        return product

    def mean(self, rows: np.ndarray) -> float:
        """Weighted mean of f over the objects of a node; exactly 1.0 where all are covered."""
        weight = self.objects.weight[rows]
        return 1.0 - float((weight * self.left(rows)).sum() / weight.sum())

    def gain(self, rows: np.ndarray, before: np.ndarray, outcome: np.ndarray, n_outcomes: int) -> np.ndarray:
        """float64[n_outcomes]: Σ w_i (f_i(child) − f_i(node)) / (1 − f_i(node)) over each outcome's objects.

        before : ``left(rows)``.   outcome : int[len(rows)].
        """
        gains = np.zeros(n_outcomes)
        for o in np.unique(outcome):
            at = np.flatnonzero(outcome == o)
            was = before[at]
            share = np.divide(was - self.left(rows[at]), was, out=np.zeros(len(at)), where=was > 0.0)
            gains[o] = float((self.objects.weight[rows[at]] * share).sum())
        return gains


def covering_cost_of(tree: Tree, problem: Problem, train: Table) -> dict[str, float]:
    """The metric ``covering_cost`` of a run with coverages; nothing without any, and where the tree splits rows."""
    covering = Covering.of(problem.parts.coverage, problem.objects)
    if covering is None or (tree.missing_child == MISSING_SPLITS).any():
        return {}
    from arboretum.measure import covering_cost

    rest = np.zeros(problem.objects.n_objects, np.int64)
    rest[problem.objects.object_of_row] = tree.apply(train)
    return {"covering_cost": covering_cost(tree, rest, problem.objects.weight, covering.left)}
