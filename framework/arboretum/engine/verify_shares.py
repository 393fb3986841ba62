"""Verification of trees that split rows with missing values over branches: every object is walked in plain Python."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np

from arboretum.errors import VerificationError
from arboretum.interfaces.method import Problem
from arboretum.model.rules import NO_OUTCOME
from arboretum.model.table import ColumnKind, Table
from arboretum.model.tree import LEAF, MISSING_SPLITS, Tree

COVERED = 1e-12
"""An f_i that misses 1 by no more counts as 1 (the contract of a coverage)."""


def check_covering_cost(tree: Tree, problem: Problem, train: Table, reported: float) -> None:
    """Walk share by share, exactly; a share pays at a node until some coverage says 1 of all that are there.

    Raises VerificationError.
    """
    objects = problem.objects
    passes = _shares(tree, train, objects.object_of_row)
    paid = 0.0
    for node, shares in passes.items():
        rows, covered = np.array(sorted(shares), np.int64), np.zeros(len(shares), np.bool_)
        for part in problem.parts.coverage:
            covered |= part.covered(objects, rows) >= 1.0 - COVERED
        for i in rows[~covered].tolist():
            paid += float(tree.price[node]) * float(objects.weight[i]) * float(shares[i])
    value = paid / float(objects.weight.sum())
    # each node adds a term per object; a share is a product of as many quotients as its path is long
    slack = 8 * (objects.n_objects + tree.n_nodes) * np.finfo(np.float64).eps
    if not abs(reported - value) <= slack * max(1.0, abs(value)):
        msg = f"verification failed: reported covering_cost: reported {reported}, recomputed {value}; please report this run's record"
        raise VerificationError(msg)


def _shares(tree: Tree, train: Table, object_of_row: np.ndarray) -> dict[int, dict[int, Fraction]]:
    """Inner node → object → the share of it that is asked there."""
    found: dict[int, dict[int, Fraction]] = defaultdict(dict)
    mass = [Fraction(float(weights.sum())) for weights in tree.weights]
    for i, row in enumerate(np.unique(object_of_row, return_index=True)[1].tolist()):
        values = {column.name: plain(column, row) for column in train.columns}
        waiting = [(0, Fraction(1))]
        while waiting:
            node, share = waiting.pop()
            if tree.test[node] == LEAF:
                continue
            found[node][i] = share
            children, outcome = tree.children(node).tolist(), tree.rule(node).outcome_of(values)
            if outcome == NO_OUTCOME and tree.missing_child[node] == MISSING_SPLITS:
                heavy = [child for child in children if child >= 0 and mass[child] > 0]
                waiting += [(child, share * mass[child] / sum(mass[c] for c in heavy)) for child in heavy]
                continue
            outcome = int(tree.missing_child[node]) if outcome == NO_OUTCOME else outcome
            if outcome >= 0 and children[outcome] >= 0:
                waiting.append((children[outcome], share))
    return found


def plain(column: Any, row: int) -> Any:
    """A cell as rules read it: a number, a category, or None for none."""
    if column.kind is ColumnKind.continuous:
        return float(column.values[row])
    code = int(column.values[row])
    return column.categories[code] if code >= 0 else None
