"""Deep trees are measured and verified in steps that grow with nodes and rows × depth, and
without recursion.
"""

from __future__ import annotations

import cProfile
import math
import pstats

import numpy as np

from arboretum.engine.verify import verify
from arboretum.interfaces.method import Parts, Problem
from arboretum.measure import complexities, evaluate
from arboretum.model.encoded import Encoded, Prices, RawFeature
from arboretum.model.record import Solution, Status
from arboretum.model.rules import Threshold
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import ColumnSpec, Tree


def chain(n: int) -> tuple[Tree, Problem]:
    """n rows whose classes alternate, and the tree that cuts them off one by one; the column is
    paid for once.
    """
    x, y = np.arange(n, dtype=np.float64), np.arange(n, dtype=np.int32) % 2
    table = Table(
        "rows",
        (Column("x", ColumnKind.continuous, x),),
        Target("y", Task.classification, y, ("even", "odd")),
    )
    objects = Encoded(
        table=table,
        features=(),
        codes=np.zeros((n, 0), np.uint8),
        raw_features=(RawFeature("x", 0),),
        raw=x[:, None],
        label=y,
        y=None,
        weight=np.ones(n),
        count=np.ones(n, np.int64),
        object_of_row=np.arange(n),
    )
    # node 2k asks x ≤ k, node 2k + 1 is the leaf of row k
    inner, size = np.arange(n - 1), 2 * n - 1
    test = np.full(size, -1)
    test[::2][:-1] = inner
    weights = np.zeros((size, 2))
    after = np.cumsum(np.eye(2)[y][::-1], axis=0)[::-1]
    weights[::2], weights[1::2] = after, np.eye(2)[y[:-1]]
    price = np.zeros(size)
    price[0] = 2.0
    tree = Tree(
        task=Task.classification,
        columns=(ColumnSpec("x", ColumnKind.continuous),),
        classes=("even", "odd"),
        rules=tuple(Threshold("x", k + 0.5) for k in inner),
        test=test,
        child_offset=np.cumsum([0, *np.where(test >= 0, 2, 0)]),
        child=np.stack([2 * inner + 1, 2 * inner + 2], axis=1).ravel(),
        missing_child=np.where(test >= 0, 0, -1),
        weights=weights,
        counts=weights.sum(axis=1),
        label=weights.argmax(axis=1),
        value=np.full(size, math.nan),
        price=price,
        impurity=np.full(size, math.nan),
        score=np.full(size, math.nan),
    )
    return tree, Problem(
        objects, Prices(np.zeros(0), np.array([2.0]), once_per_column=True), Parts(method=None)
    )


def checked(tree: Tree, problem: Problem) -> dict[str, float]:
    table = problem.objects.table
    metrics = {**complexities(tree), **evaluate(tree, table, "train")}
    verify(tree, problem, table, metrics, Solution(tree, math.nan, math.nan, Status.feasible))
    return metrics


def test_a_chain_of_thousands_of_tests_is_measured_verified_and_read_back():
    n = 4_000
    tree, problem = chain(n)
    metrics = checked(Tree.from_json(tree.to_json()), problem)
    assert (
        metrics["depth"] == n - 1 and metrics["train_error"] == 0.0 and metrics["max_cost"] == 2.0
    )
    assert metrics["total_path_length"] == n * (n + 1) / 2 - 1


def test_twice_the_nodes_take_twice_the_calls(monkeypatch):
    # the sample has a limit of its own
    monkeypatch.setattr("arboretum.engine.verify.ROWS_IN_PYTHON", 1)
    calls = []
    for n in (500, 1000):
        case, profile = chain(n), cProfile.Profile()
        profile.runcall(checked, *case)
        calls.append(pstats.Stats(profile).total_calls)
    assert calls[1] < 2.2 * calls[0]
