"""Rows without a value that stop at a node cost what a leaf for them alone would cost, in every
objective and every complexity.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest

from arboretum.interfaces.complexity import value_of
from arboretum.interfaces.method import Parts, Problem
from arboretum.interfaces.stopping import LeafRule, Limits
from arboretum.measure import complexities
from arboretum.model.encoded import Encoded, Prices, RawFeature
from arboretum.model.roles import EVENT, OUTCOME, PROPENSITY, cost_role
from arboretum.model.rules import Threshold
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import MISSING_STOPS, ColumnSpec, Tree
from arboretum.plugin.discovery import load_registry

X = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, np.nan, np.nan, np.nan])
Z = np.array([0.0, 1.0, 1.0, 0.0, 1.0, np.nan, 0.0, 1.0, 0.0, 1.0])
CLASS, NUMBER = (
    np.array([0, 0, 1, 1, 0, 1, 1, 0, 1, 1]),
    np.array([1.0, 2.0, 5.0, 6.0, 5.5, 9.0, 8.0, 3.0, 4.0, 7.0]),
)
WEIGHT = np.array([1.0, 2.0, 1.0, 1.0, 3.0, 1.0, 1.0, 2.0, 1.0, 1e-14])

ROLES = {
    EVENT: CLASS.astype(float),
    OUTCOME: NUMBER,
    PROPENSITY: np.full(10, 0.5),
    cost_role("no"): 2.0 * CLASS,
    cost_role("yes"): NUMBER * (1 - CLASS),
}


class Stands:
    """For a stopping rule and a solver."""

    kind, name = "stopping", "stands"

    def limits(self) -> Limits:
        return Limits()

    def leaf_rule(self) -> LeafRule:
        return LeafRule(min_split=100)


def problem_of(task: Task, parts: Parts) -> Problem:
    target = (
        Target("y", task, CLASS.astype(np.int32), ("no", "yes"))
        if task is Task.classification
        else Target("y", task, values=NUMBER)
    )
    table = Table(
        "toy",
        (Column("x", ColumnKind.continuous, X), Column("z", ColumnKind.continuous, Z)),
        target,
        WEIGHT,
        roles=ROLES,
    )
    n = len(X)
    objects = Encoded(
        table=table,
        features=(),
        codes=np.zeros((n, 0), np.uint8),
        raw_features=(RawFeature("x", 0), RawFeature("z", 1)),
        raw=np.stack([X, Z], 1),
        label=CLASS if target.classes else None,
        y=None if target.classes else NUMBER,
        weight=WEIGHT,
        count=np.ones(n, np.int64),
        object_of_row=np.arange(n),
    )
    return Problem(objects, Prices(np.zeros(0), np.array([2.0, 3.0])), parts)


def tree_of(task: Task, own_leaf: bool) -> Tree:
    """x ≤ 0.5, then z ≤ 0.5; rows without a value stop at the tests, or have leaves of their own
    that say what the tests' nodes say.
    """
    known, zs = ~np.isnan(X), ~np.isnan(Z)
    right = known & (X > 0.5)
    lost = [[~known], [right & ~zs]] if own_leaf else [[], []]
    held = [
        known | ~known,
        known & (X <= 0.5),
        right,
        right & (Z <= 0.5),
        right & (Z > 0.5),
        *lost[1],
        *lost[0],
    ]
    parent = [-1, 0, 0, 2, 2, *[2] * own_leaf, *[0] * own_leaf]
    rows = [np.flatnonzero(part) for part in held]
    y = NUMBER if task is Task.regression else CLASS
    says = [int(np.bincount(CLASS[part], WEIGHT[part], 2).argmax()) for part in rows]
    mean = [float(np.average(NUMBER[part], weights=WEIGHT[part])) for part in rows]
    if own_leaf:
        for leaf in (5, 6):
            says[leaf], mean[leaf] = says[parent[leaf]], mean[parent[leaf]]
    moments = [np.array([(WEIGHT[part] * y[part] ** k).sum() for k in range(3)]) for part in rows]
    n, rules = len(rows), (Threshold("x", 0.5), Threshold("z", 0.5))
    return Tree(
        task=task,
        columns=(ColumnSpec("x", ColumnKind.continuous), ColumnSpec("z", ColumnKind.continuous)),
        classes=("no", "yes") if task is Task.classification else (),
        rules=tuple(r.with_missing() if own_leaf else r for r in rules),
        test=[0, -1, 1, *[-1] * (n - 3)],
        child_offset=[
            0,
            *([3, 3, 6] if own_leaf else [2, 2, 4]),
            *[6 if own_leaf else 4] * (n - 3),
        ],
        child=[1, 2, 6, 3, 4, 5] if own_leaf else [1, 2, 3, 4],
        missing_child=[MISSING_STOPS] * n,
        weights=np.array(
            [np.bincount(CLASS[part], WEIGHT[part], 2) for part in rows]
            if task is Task.classification
            else moments
        ),
        counts=[len(part) for part in rows],
        label=says if task is Task.classification else [0] * n,
        value=mean if task is Task.regression else [np.nan] * n,
        price=[2.0, 0.0, 3.0, *[0.0] * (n - 3)],
        impurity=[np.nan] * n,
        score=[np.nan] * n,
    )


REGISTRY = load_registry()
OBJECTIVES, COMPLEXITIES = (list(REGISTRY.entries(kind)) for kind in ("objective", "complexity"))


@pytest.mark.parametrize("entry", OBJECTIVES, ids=lambda entry: entry.name)
def test_an_objective_charges_a_leaf_for_them(entry):
    objective, complexity = entry.cls(), COMPLEXITIES[0].cls()
    fields = {field.name for field in attrs.fields(entry.cls)}
    given = {"lam": 0.1} if "lam" in fields else {"error": 1.0} if "error" in fields else {}
    for more in ({}, {"mu": 0.2}, {"mu": 0.2, "price": "max"}) if "mu" in fields else ({},):
        if "price" in more:
            more = {**more, "price": type(objective.price)(more["price"])}
        objective = attrs.evolve(objective, **given, **more)
        task = Task.regression if "regression" in entry.cls.capabilities else Task.classification
        problem = problem_of(
            task,
            Parts(
                method=None,
                objective=objective,
                complexity=complexity,
                stopping=(Stands(),),
                solver=Stands(),
            ),
        )
        values = [objective.value(tree_of(task, own_leaf), problem) for own_leaf in (False, True)]
        assert math.isfinite(values[0])
        assert values[0] == pytest.approx(values[1], rel=1e-12)


@pytest.mark.parametrize("entry", COMPLEXITIES, ids=lambda entry: entry.name)
def test_a_complexity_charges_a_leaf_for_them(entry):
    trees = [tree_of(Task.classification, own_leaf) for own_leaf in (False, True)]
    values = [value_of(entry.cls(), tree) for tree in trees]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    assert complexities(trees[0]).get(entry.name, values[0]) == pytest.approx(values[0], rel=1e-12)
    assert complexities(trees[0]) == pytest.approx(complexities(trees[1]), rel=1e-12)
