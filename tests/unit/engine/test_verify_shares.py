"""A tree that splits rows over branches is checked like any other: honest ones pass, every lie
is refused.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from drawn_trees import tables, trees
from hypothesis import HealthCheck, given, settings, strategies as st

from arboretum.engine.verify import verify
from arboretum.errors import VerificationError
from arboretum.interfaces.method import Parts, Problem
from arboretum.measure import complexities, evaluate
from arboretum.model.encoded import Encoded, Prices, RawFeature
from arboretum.model.record import Solution, Status
from arboretum.model.rules import Bins, Equals, Threshold
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import MISSING_SPLITS, ColumnSpec, Tree

N = math.nan


def problem_of(
    table: Table, raw: tuple[RawFeature, ...] = (), prices: tuple[float, ...] = ()
) -> Problem:
    """Every row is an object of its own."""
    n, classes = table.n_rows, table.task is Task.classification
    objects = Encoded(
        table=table,
        features=(),
        codes=np.zeros((n, 0), np.uint8),
        raw_features=raw,
        raw=np.zeros((n, len(raw))),
        label=table.target.codes if classes else None,
        y=None if classes else table.target.values,
        weight=table.row_weights(),
        count=np.ones(n, np.int64),
        object_of_row=np.arange(n),
    )
    return Problem(objects, Prices(np.zeros(0), np.array(prices)), Parts(method=None))


def check(tree: Tree, problem: Problem, metrics: dict[str, float] | None = None) -> None:
    table = problem.objects.table
    told = {**complexities(tree), **evaluate(tree, table, "train"), **(metrics or {})}
    verify(tree, problem, table, told, Solution(tree, N, N, Status.feasible))


@st.composite
def grown(draw):
    table = draw(tables())
    return draw(trees(table, shares=True)), problem_of(table)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(grown())
def test_trees_whose_weights_are_those_of_their_shares_pass(case):
    check(*case)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(grown(), st.data())
def test_a_weight_a_count_or_a_number_that_is_off_is_refused(case, data):
    tree, problem = case
    node = data.draw(st.integers(0, tree.n_nodes - 1))
    name = data.draw(
        st.sampled_from(["weights", "counts", *(["value"] if tree.task is Task.regression else [])])
    )
    changed = getattr(tree, name).copy()
    changed[node] += 1
    with pytest.raises(VerificationError, match=f"node {node}|comes to rest"):
        check(attrs.evolve(tree, **{name: changed}), problem)


AGE = np.array([20.0, 30.0, 40.0, 50.0, 60.0, N, N, 25.0])
WORK = np.array([0, 1, 0, 1, -1, 0, 1, 1])
ILL = np.array([0, 0, 1, 0, 1, 1, 0, 0], np.int32)


@pytest.fixture
def tree() -> Tree:
    """age ≤ 35 → healthy; else work = no → ill, or not; age and work are missing in some rows,
    which are split.
    """
    # at the root 3 rows go left, 3 right, 2 are halved; on the right the row of unknown work is
    # split 1.5 : 1.5
    return Tree(
        task=Task.classification,
        columns=(
            ColumnSpec("age", ColumnKind.continuous),
            ColumnSpec("work", ColumnKind.categorical, ("no", "yes")),
        ),
        classes=("healthy", "ill"),
        rules=(Threshold("age", 35.0), Equals("work", "no")),
        test=[0, -1, 1, -1, -1],
        child_offset=[0, 2, 2, 4, 4, 4],
        child=[1, 2, 3, 4],
        missing_child=[MISSING_SPLITS, -1, MISSING_SPLITS, -1, -1],
        weights=[[5, 3], [3.5, 0.5], [1.5, 2.5], [0, 2], [1.5, 0.5]],
        counts=[8, 4, 4, 2, 2],
        label=[0, 0, 1, 1, 0],
        value=[N] * 5,
        price=[1.0, 0.0, 3.0, 0.0, 0.0],
        impurity=[N] * 5,
        score=[N] * 5,
    )


@pytest.fixture
def problem() -> Problem:
    columns = (
        Column("age", ColumnKind.continuous, AGE),
        Column("work", ColumnKind.categorical, WORK, ("no", "yes")),
    )
    table = Table("toy", columns, Target("ill", Task.classification, ILL, ("healthy", "ill")))
    return problem_of(table, (RawFeature("age", 0), RawFeature("work", 1)), (1.0, 3.0))


def test_the_tree_of_the_lies_below_is_honest(tree, problem):
    check(tree, problem)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"rules": (Threshold("age", 45.0), Equals("work", "no"))}, "weights|rows"),
        ({"rules": (Threshold("age", 35.0), Equals("work", "yes"))}, "weights|rows"),
        ({"missing_child": [0, -1, MISSING_SPLITS, -1, -1]}, "weights|rows"),
        ({"missing_child": [MISSING_SPLITS, -1, -1, -1, -1]}, "weights|rows"),
        (
            {"weights": [[5, 3], [3.5, 0.5], [1.5, 2.5], [0, 2], [1.5, 0.5 + 1e-12]]},
            "node 4: class weights",
        ),
        (
            {"weights": [[5, 3], [3.5, 0.5], [1.5, 2.5], [0, N], [1.5, 0.5]]},
            "weights must be finite",
        ),
        ({"counts": [8, 4, 4, 2, 3]}, "node 4: number of rows"),
        ({"counts": [8, 4, 4 + 1e-12, 2, 2]}, "node 2: number of rows"),
        ({"label": [0, 0, 1, 0, 0]}, "node 3: the label"),
        ({"price": [2.0, 0.0, 3.0, 0.0, 0.0]}, "node 0: price"),
        ({"price": [1.0, 0.0, 3.0, 0.5, 0.0]}, "node 3: a leaf costs nothing"),
        ({"price": [1.0, 0.0, N, 0.0, 0.0]}, "price must be finite"),
        ({"child": [1, 2, 4, 3]}, "weights|rows"),
        ({"impurity": [0.4, 0.2, 0.2, math.inf, 0.1]}, "impurity"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_changed_tree_is_refused(tree, problem, change, complaint):
    from arboretum.testing.tables import ToyGini

    problem = attrs.evolve(problem, parts=Parts(method=None, impurity=ToyGini()))
    with pytest.raises(VerificationError, match=complaint):
        check(attrs.evolve(tree, **change), problem)


@pytest.mark.parametrize(
    "name",
    [
        "depth",
        "n_nodes",
        "n_leaves",
        "n_internal",
        "total_path_length",
        "average_depth",
        "expected_cost",
        "max_cost",
        "train_error",
    ],
)
@pytest.mark.parametrize("off", [1e-9, N, math.inf, -math.inf])
def test_a_changed_number_is_refused(tree, problem, name, off):
    value = {**complexities(tree), **evaluate(tree, problem.objects.table, "train")}[name]
    with pytest.raises(VerificationError, match=name):
        check(tree, problem, {name: value + off})


def test_where_no_row_has_a_missing_value_the_same_tree_is_refused_for_other_weights(tree, problem):
    table = problem.objects.table
    known = attrs.evolve(
        table,
        columns=tuple(
            attrs.evolve(c, values=np.where(c.missing, 1, c.values)) for c in table.columns
        ),
    )
    with pytest.raises(VerificationError, match="weights"):
        check(tree, attrs.evolve(problem, objects=attrs.evolve(problem.objects, table=known)))


def test_rows_of_one_object_must_have_the_same_shares(problem):
    """Rows 5 and 6 are split both, but over other leaves."""
    tree = Tree(
        task=Task.classification,
        columns=(
            ColumnSpec("age", ColumnKind.continuous),
            ColumnSpec("work", ColumnKind.categorical, ("no", "yes")),
        ),
        classes=("healthy", "ill"),
        rules=(Equals("work", "no"), Bins("age", (30.0,))),
        test=[0, 1, -1, -1, 1, -1, -1],
        child_offset=[0, 2, 4, 4, 4, 6, 6, 6],
        child=[1, 4, 2, 3, 5, 6],
        missing_child=[MISSING_SPLITS, MISSING_SPLITS, -1, -1, MISSING_SPLITS, -1, -1],
        weights=np.ones((7, 2)),
        counts=np.ones(7),
        label=np.zeros(7),
        value=[N] * 7,
        price=np.zeros(7),
        impurity=[N] * 7,
        score=[N] * 7,
    )
    objects = problem.objects
    merged = attrs.evolve(
        objects,
        object_of_row=np.array([0, 1, 2, 3, 4, 5, 5, 6]),
        label=objects.label[:7],
        weight=objects.weight[:7],
        count=objects.count[:7],
        codes=objects.codes[:7],
        raw=objects.raw[:7],
    )
    with pytest.raises(
        VerificationError, match="rows merged into one object share their path: row 6"
    ):
        check(tree, attrs.evolve(problem, objects=merged))
