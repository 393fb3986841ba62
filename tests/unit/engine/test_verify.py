"""Verification must catch every kind of lie a run could tell: each test tells one."""

from __future__ import annotations

import itertools

import attrs
import numpy as np
import pytest

from arboretum.engine.verify import verify
from arboretum.errors import VerificationError
from arboretum.interfaces.method import Parts, Problem
from arboretum.interfaces.stopping import Limits
from arboretum.measure import complexities, evaluate
from arboretum.model.encoded import Encoded, Prices, RawFeature
from arboretum.model.front import Front, Point
from arboretum.model.record import Solution, Status
from arboretum.model.rules import Equals, Threshold
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import MISSING_STOPS, ColumnSpec, Tree

AGE = np.array([20.0, 30.0, 40.0, 50.0, 60.0, np.nan])
WORK = np.array([0, 1, 0, 1, 1, 0])
LABEL = np.array([0, 0, 1, 0, 0, 1])


@pytest.fixture
def table() -> Table:
    return Table(
        name="toy",
        columns=(
            Column("age", ColumnKind.continuous, AGE),
            Column("work", ColumnKind.categorical, WORK, ("no", "yes")),
        ),
        target=Target("ill", Task.classification, LABEL.astype(np.int32), ("healthy", "ill")),
    )


@pytest.fixture
def objects(table: Table) -> Encoded:
    n = table.n_rows
    return Encoded(
        table=table,
        features=(),
        codes=np.zeros((n, 0), np.uint8),
        raw_features=(RawFeature("age", 0), RawFeature("work", 1)),
        raw=np.stack([AGE, WORK.astype(float)], axis=1),
        label=LABEL,
        y=None,
        weight=np.ones(n),
        count=np.ones(n, np.int64),
        object_of_row=np.arange(n),
    )


@pytest.fixture
def tree() -> Tree:
    """age ≤ 35 → healthy; else work = no → ill, or healthy.  The row of unknown age goes right."""
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
        missing_child=[1, -1, 0, -1, -1],
        weights=[[4, 2], [2, 0], [2, 2], [0, 2], [2, 0]],
        counts=[6, 2, 4, 2, 2],
        label=[0, 0, 0, 1, 0],
        value=[np.nan] * 5,
        price=[1.0, 0.0, 3.0, 0.0, 0.0],
        impurity=[np.nan] * 5,
        score=[np.nan] * 5,
    )


PRICES = Prices(tests=np.zeros(0), raw=np.array([1.0, 3.0]))


def check(
    tree: Tree,
    objects: Encoded,
    metrics: dict[str, float] | None = None,
    solution: Solution | None = None,
    parts: Parts | None = None,
    prices: Prices = PRICES,
) -> None:
    if metrics is None:
        metrics = {**complexities(tree), **evaluate(tree, objects.table, "train")}
    solution = solution or Solution(tree, np.nan, np.nan, Status.feasible)
    verify(
        tree,
        Problem(objects, prices, parts or Parts(method=None)),
        objects.table,
        metrics,
        solution,
    )


def test_an_honest_tree_passes(tree, objects):
    check(tree, objects)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"rules": (Threshold("age", 45.0), Equals("work", "no"))}, "weights|rows"),
        ({"missing_child": [0, -1, 0, -1, -1]}, "weights|rows"),
        ({"weights": [[4, 2], [2, 0], [2, 2], [0, 2], [2, 1]]}, "node 4: class weights"),
        ({"counts": [6, 2, 4, 3, 2]}, "node 3: number of rows"),
        ({"label": [0, 1, 0, 1, 0]}, "node 1: the label"),
        ({"price": [2.0, 0.0, 3.0, 0.0, 0.0]}, "node 0: price"),
        ({"price": [1.0, 0.0, 0.0, 0.0, 0.0]}, "node 2: price"),
        ({"price": [1.0, 0.0, np.nan, 0.0, 0.0]}, "price must be finite"),
        ({"price": [1.0, 0.0, np.inf, 0.0, 0.0]}, "price must be finite"),
        ({"price": [1.0, 0.0, 3.0, 0.0, 5.0]}, "node 4: a leaf costs nothing"),
        ({"weights": [[4, 2], [2, 0], [2, 2], [0, np.nan], [2, 0]]}, "weights must be finite"),
        ({"weights": [[4, np.inf], [2, 0], [2, 2], [0, 2], [2, 0]]}, "weights must be finite"),
        ({"score": [0.1, np.nan, 0.1, np.nan, 7.0]}, "node 4: a leaf asks nothing"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_changed_tree_is_refused(tree, objects, change, complaint):
    honest = {**complexities(tree), **evaluate(tree, objects.table, "train")}
    with pytest.raises(VerificationError, match=complaint):
        check(attrs.evolve(tree, **change), objects, honest)


def without_leaf(tree: Tree, leaf: int) -> Tree:
    """The leaf is left out, and its parent answers for the rows that come there."""
    kept = np.arange(tree.n_nodes) != leaf
    arrays = {
        name: getattr(tree, name)[kept]
        for name in (
            "test",
            "missing_child",
            "weights",
            "counts",
            "value",
            "price",
            "impurity",
            "score",
        )
    }
    label = tree.label.copy()
    label[tree.parent[leaf]] = tree.label[leaf]
    child = np.where(tree.child == leaf, -1, tree.child - (tree.child > leaf))
    offset = np.delete(tree.child_offset, leaf + 1)
    return attrs.evolve(tree, **arrays, label=label[kept], child=child, child_offset=offset)


class Ways:
    """A rule for rows without a value."""

    kind, name = "missing", "ways"

    def __init__(self, *places: int) -> None:
        self.placements = lambda known: places


@pytest.mark.parametrize("leaf", [1, 3, 4])
@pytest.mark.parametrize("missing", [None, Ways(0), Ways(MISSING_STOPS)])
def test_a_leaf_that_is_left_out_is_refused(tree, objects, leaf, missing):
    """Whatever becomes of rows without a value: these have one."""
    phantom, parts = without_leaf(tree, leaf), Parts(method=None, missing=missing)
    assert phantom.n_leaves == 2
    with pytest.raises(
        VerificationError,
        match=r"row \d rests at node \d, whose test .* it can answer: a leaf is left out",
    ):
        check(phantom, objects, parts=parts)
    front = Front(("train_error", "n_leaves"), [Point((0.0, 2.0), phantom)], [(0.0, 1.0)])
    for told in ({"front": front}, {"others": (phantom,)}):
        with pytest.raises(VerificationError, match="a leaf is left out"):
            check(
                tree,
                objects,
                solution=Solution(tree, np.nan, np.nan, Status.feasible, **told),
                parts=parts,
            )


def test_rows_without_a_value_stop_only_where_a_rule_lets_them_and_count_as_a_leaf(tree, objects):
    """The row of unknown age rests at the root."""
    stops = attrs.evolve(
        tree,
        missing_child=[-1] * 5,
        weights=[[4, 2], [2, 0], [2, 1], [0, 1], [2, 0]],
        counts=[6, 2, 3, 1, 2],
    )
    found = complexities(stops)
    assert (found["n_leaves"], found["n_nodes"], found["n_internal"], found["max_cost"]) == (
        4,
        6,
        2,
        4.0,
    )
    check(stops, objects, parts=Parts(method=None, missing=Ways(MISSING_STOPS)))
    with pytest.raises(VerificationError, match="n_leaves: reported 3"):
        check(
            stops,
            objects,
            {**found, "n_leaves": 3.0},
            parts=Parts(method=None, missing=Ways(MISSING_STOPS)),
        )
    with pytest.raises(
        VerificationError,
        match="row 5 rests at node 0, .* it cannot answer, but missing=ways lets no row stop",
    ):
        check(stops, objects, parts=Parts(method=None, missing=Ways(0, 1)))
    cheap = attrs.evolve(stops, branch_price=[0.5, 1.0, 0.0, 0.0], price=[9.0, 0.0, 3.0, 0.0, 0.0])
    assert complexities(cheap)["max_cost"] == 9.0, "what stops pays the most"


def test_a_kernel_that_predicts_otherwise_is_refused(tree, objects, monkeypatch):
    monkeypatch.setattr("arboretum.engine.verify.LARGE", 6)
    check(tree, objects)
    monkeypatch.setattr(Tree, "rest", lambda tree, table: np.array([1, 1, 3, 4, 4, 4]))
    with pytest.raises(
        VerificationError,
        match="row 5 comes to rest where the kernel that predicts puts it, recomputed 3",
    ):
        check(tree, objects, {})


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
@pytest.mark.parametrize("off", [1e-9, np.nan, np.inf, -np.inf])
def test_a_changed_number_is_refused(tree, objects, name, off):
    metrics = {**complexities(tree), **evaluate(tree, objects.table, "train")}
    metrics[name] += off
    with pytest.raises(VerificationError, match=name):
        check(tree, objects, metrics)


def test_a_column_asked_twice_is_free_the_second_time_when_columns_are_paid_once(tree, objects):
    again = attrs.evolve(
        tree,
        rules=(Threshold("age", 35.0), Threshold("age", 45.0)),
        missing_child=[1, -1, 0, -1, -1],
        weights=[[4, 2], [2, 0], [2, 2], [0, 2], [2, 0]],
        price=[1.0, 0.0, 1.0, 0.0, 0.0],
    )
    check(again, objects)
    once = attrs.evolve(PRICES, once_per_column=True)
    with pytest.raises(VerificationError, match="node 2: price"):
        check(again, objects, prices=once)
    check(attrs.evolve(again, price=[1.0, 0.0, 0.0, 0.0, 0.0]), objects, prices=once)


def test_rows_merged_into_one_object_must_share_their_path(tree, objects):
    merged = attrs.evolve(
        objects,
        object_of_row=np.array([0, 0, 1, 2, 2, 0]),
        weight=np.array([3.0, 1.0, 2.0]),
        count=[3, 1, 2],
        label=np.array([0, 1, 0]),
        codes=np.zeros((3, 0), np.uint8),
        raw=objects.raw[:3],
    )
    with pytest.raises(VerificationError, match="share their path"):
        check(tree, merged)


@pytest.mark.parametrize(
    ("holds", "refused", "complaint"),
    [
        ({"max_depth": 2}, {"max_depth": 1}, "node 3: max_depth is 1: depth: reported 2"),
        ({"max_leaves": 3}, {"max_leaves": 2}, "max_leaves is 2: the tree has 3"),
        ({"min_leaf": 2}, {"min_leaf": 3}, "node 1: min_leaf is 3: rows: reported 2.0"),
        ({"min_mass": 1 / 3}, {"min_mass": 0.34}, "node 1: min_mass is 0.34: weight: reported 2.0"),
        ({"max_cost": 4}, {"max_cost": 3.9}, "node 3: no path pays more than max_cost"),
    ],
)
def test_a_tree_beyond_a_limit_is_refused(tree, objects, holds, refused, complaint):
    class Limiting:
        kind = "stopping"

        def __init__(self, **limits):
            self._limits = Limits(**limits)

        def limits(self):
            return self._limits

    check(tree, objects, parts=Parts(method=None, stopping=(Limiting(**holds),)))
    with pytest.raises(VerificationError, match=complaint):
        check(tree, objects, parts=Parts(method=None, stopping=(Limiting(**refused),)))


class Claims:
    """A solver (or an objective) that exists; its value is what the test says."""

    kind, name = "solver", "claims"

    def __init__(self, value: float) -> None:
        self._value = value

    def value(self, tree: Tree, objects: Encoded) -> float:
        return self._value


@pytest.mark.parametrize(
    ("value", "bound", "status", "complaint"),
    [
        (2.0, 3.0, Status.feasible, "lower bound"),
        (2.0, 1.0, Status.optimal, "no gap"),
        (1.0, 1.0, Status.optimal, "objective's value"),
        (2.0, 3.0, Status.optimal, "lower bound"),
        *(
            (value, bound, status, "are finite")
            for value, bound, status in itertools.product(
                [2.0, np.nan, np.inf, -np.inf],
                [2.0, np.nan, np.inf, -np.inf],
                [Status.optimal, Status.feasible],
            )
            if not np.isfinite([value, bound]).all()
        ),
    ],
)
def test_a_solution_that_contradicts_itself_is_refused(
    tree, objects, value, bound, status, complaint
):
    parts = Parts(method=None, solver=Claims(2.0), objective=Claims(2.0))
    check(tree, objects, solution=Solution(tree, 2.0, 2.0, Status.optimal), parts=parts)
    with pytest.raises(VerificationError, match=complaint):
        check(tree, objects, solution=Solution(tree, value, bound, status), parts=parts)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_objective_that_answers_no_number_is_refused(tree, objects, value):
    parts = Parts(method=None, solver=Claims(2.0), objective=Claims(value))
    with pytest.raises(VerificationError, match="objective's value"):
        check(tree, objects, solution=Solution(tree, 2.0, 2.0, Status.optimal), parts=parts)


def test_a_method_without_solver_that_calls_its_tree_optimal_is_held_to_it(tree, objects):
    claimed = Solution(tree, np.nan, np.nan, Status.optimal)
    with pytest.raises(VerificationError, match="are finite"):
        check(tree, objects, solution=claimed)
    with pytest.raises(VerificationError, match="objective's value"):
        check(
            tree,
            objects,
            solution=attrs.evolve(claimed, value=1.0, lower_bound=1.0),
            parts=Parts(method=None, objective=Claims(2.0)),
        )


@pytest.mark.parametrize("weight", [np.nan, np.inf, -1.0, 0.0])
def test_objects_without_a_proper_weight_are_refused(tree, objects, weight):
    with pytest.raises(VerificationError, match="every object has a finite weight above 0"):
        check(tree, attrs.evolve(objects, weight=np.array([1, 1, 1, 1, 1, weight])))


def test_regression_moments_are_recomputed(table):
    y = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    numbers = attrs.evolve(table, target=Target("y", Task.regression, values=y))
    objects = Encoded(
        table=numbers,
        features=(),
        codes=np.zeros((6, 0), np.uint8),
        raw_features=(RawFeature("age", 0),),
        raw=AGE[:, None],
        label=None,
        y=y,
        weight=np.ones(6),
        count=np.ones(6, np.int64),
        object_of_row=np.arange(6),
    )

    def moments(rows: list[int]) -> list[float]:
        return [len(rows), float(y[rows].sum()), float((y[rows] ** 2).sum())]

    rows = [[0, 1, 2, 3, 4, 5], [0, 1], [2, 3, 4, 5]]
    tree = Tree(
        task=Task.regression,
        columns=(ColumnSpec("age", ColumnKind.continuous),),
        classes=(),
        rules=(Threshold("age", 35.0),),
        test=[0, -1, -1],
        child_offset=[0, 2, 2, 2],
        child=[1, 2],
        missing_child=[1, -1, -1],
        weights=[moments(r) for r in rows],
        counts=[6, 2, 4],
        label=[0, 0, 0],
        value=[3.5, 1.5, 4.5],
        price=[1.0, 0, 0],
        impurity=[np.nan] * 3,
        score=[np.nan] * 3,
    )
    prices = Prices(np.zeros(0), np.ones(1))
    check(tree, objects, prices=prices)
    wrong = tree.weights.copy()
    wrong[2, 2] += 1e-6
    with pytest.raises(VerificationError, match="moments"):
        check(attrs.evolve(tree, weights=wrong), objects, prices=prices)
    with pytest.raises(VerificationError, match="node 2: value"):
        check(attrs.evolve(tree, value=[3.5, 1.5, 4.5 + 1e-6]), objects, prices=prices)
    metrics = evaluate(tree, numbers, "train")
    with pytest.raises(VerificationError, match="train_mse"):
        check(tree, objects, {"train_mse": metrics["train_mse"] + 1e-9}, prices=prices)
