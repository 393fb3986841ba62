"""What schema 2 adds, by hand: surrogates, degrees and prices of branches verify, and every lie
about them is refused.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from drawn_trees import Ramp, tables, trees
from hypothesis import HealthCheck, given, settings

from arboretum.engine.verify import verify
from arboretum.errors import CapabilityError, ContractError, VerificationError
from arboretum.interfaces.method import Parts, Problem
from arboretum.measure import complexities, costs_of_rows, evaluate
from arboretum.model.encoded import Encoded, Prices, RawFeature
from arboretum.model.record import Solution, Status
from arboretum.model.rules import Equals, Threshold
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import ColumnSpec, Surrogate, Tree

N = math.nan
COLUMNS = (
    Column("age", ColumnKind.continuous, np.array([20.0, 30.0, 40.0, 50.0, N, N, N, 35.0])),
    Column("work", ColumnKind.categorical, np.array([0, 0, 1, 1, 0, 1, -1, 1]), ("no", "yes")),
)
TABLE = Table(
    "toy",
    COLUMNS,
    Target(
        "ill", Task.classification, np.array([0, 0, 1, 1, 0, 1, 1, 0], np.int32), ("healthy", "ill")
    ),
)
FREE = Prices(np.zeros(0), np.array([1.0, 1.0]))


def stump(rule, rest: dict) -> Tree:
    return Tree(
        task=Task.classification,
        columns=tuple(map(ColumnSpec.of, COLUMNS)),
        classes=("healthy", "ill"),
        **{
            "rules": (rule,),
            "test": [0, -1, -1],
            "child_offset": [0, 2, 2, 2],
            "child": [1, 2],
            "missing_child": [-1, -1, -1],
            "value": [N] * 3,
            "price": [1.0, 0.0, 0.0],
            "impurity": [N] * 3,
            "score": [N] * 3,
            "label": [0, 0, 1],
            **rest,
        },
    )


def check(tree: Tree, prices: Prices = FREE) -> None:
    n = TABLE.n_rows
    objects = Encoded(
        table=TABLE,
        features=(),
        codes=np.zeros((n, 0), np.uint8),
        raw_features=(RawFeature("age", 0), RawFeature("work", 1)),
        raw=np.zeros((n, 2)),
        label=TABLE.target.codes,
        y=None,
        weight=np.ones(n),
        count=np.ones(n, np.int64),
        object_of_row=np.arange(n),
    )
    told = {**complexities(tree), **evaluate(tree, TABLE, "train")}
    verify(
        tree,
        Problem(objects, prices, Parts(method=None)),
        TABLE,
        told,
        Solution(tree, N, N, Status.feasible),
    )


def with_surrogate() -> Tree:
    """age ≤ 35, or of unknown age whether they work; the row that is known by neither stops."""
    return stump(
        Threshold("age", 35.0),
        {
            "rules": (Threshold("age", 35.0), Equals("work", "yes")),
            "surrogates": (Surrogate(0, 1, (1, 0)),),
            "weights": [[4, 4], [4, 0], [0, 3]],
            "counts": [8, 4, 3],
        },
    )


def fuzzy() -> Tree:
    """The ages from 30 to 50 go both ways: 40 by halves, 35 by quarters; those of unknown age go
    left.
    """
    return stump(
        Ramp("age", 30.0, 50.0),
        {
            "missing_child": [0, -1, -1],
            "weights": [[4, 4], [3.75, 2.5], [0.25, 1.5]],
            "counts": [8, 6.25, 1.75],
        },
    )


def priced() -> Tree:
    """The young pay 1, the old 4; who is of unknown age stops and pays the most."""
    return stump(
        Threshold("age", 35.0),
        {
            "price": [4.0, 0.0, 0.0],
            "branch_price": [1.0, 4.0],
            "weights": [[4, 4], [3, 0], [0, 2]],
            "counts": [8, 3, 2],
        },
    )


BY_OUTCOME = Prices.by_outcome(np.array([[1.0, 4.0], [2.0, 2.0]]), n_raw=2)


@pytest.mark.parametrize(
    ("tree", "prices"),
    [(with_surrogate(), FREE), (fuzzy(), FREE), (priced(), BY_OUTCOME)],
    ids=["surrogate", "fuzzy", "priced"],
)
def test_the_honest_trees_verify_and_survive_storage(tree, prices):
    check(tree, prices)
    again = Tree.from_json(tree.to_json())
    assert again == tree
    check(again, prices)
    assert tree.cut([0]).surrogates == ()
    assert (
        tree.cut([0]).branch_price is None or len(tree.cut([0]).branch_price) == 0
    ) and tree.cut([1, 2]) == tree


@pytest.mark.parametrize(
    ("tree", "change", "complaint"),
    [
        (with_surrogate(), {"surrogates": ()}, "weights"),
        (with_surrogate(), {"surrogates": (Surrogate(0, 1, (0, 1)),)}, "weights"),
        (with_surrogate(), {"surrogates": (Surrogate(0, 1, (1, -1)),)}, "weights"),
        (with_surrogate(), {"rules": (Threshold("age", 35.0), Equals("work", "no"))}, "weights"),
        (with_surrogate(), {"missing_child": [0, -1, -1]}, "weights"),
        (fuzzy(), {"rules": (Ramp("age", 30.0, 60.0),)}, "weights"),
        (fuzzy(), {"rules": (Threshold("age", 40.0),)}, "weights"),
        (fuzzy(), {"missing_child": [1, -1, -1]}, "weights"),
        (fuzzy(), {"weights": [[4, 4], [3.75, 2.5], [0.25, 1.5 + 1e-12]]}, "node 2: class weights"),
        (fuzzy(), {"counts": [8, 7, 2]}, "node 1: number of rows"),
        (priced(), {"branch_price": None}, "node 0: price"),
        (priced(), {"branch_price": [4.0, 1.0]}, "node 0: price"),
        (priced(), {"branch_price": [1.0, 3.0]}, "node 0: price"),
        (priced(), {"branch_price": [2.0, 4.0]}, "node 0: price"),
        (priced(), {"price": [5.0, 0.0, 0.0]}, "node 0: price"),
        (priced(), {"price": [3.0, 0.0, 0.0]}, "branch_price must lie"),
        (priced(), {"branch_price": [N, 4.0]}, "branch_price must lie"),
    ],
)
def test_a_changed_tree_is_refused(tree, change, complaint):
    with pytest.raises(VerificationError, match=complaint):
        check(attrs.evolve(tree, **change), BY_OUTCOME if tree.branch_price is not None else FREE)


@pytest.mark.parametrize("told", ["expected_cost", "max_cost", "train_error", "total_path_length"])
def test_a_cost_that_is_off_is_refused(told, monkeypatch):
    right = globals()["complexities"]
    monkeypatch.setitem(
        globals(),
        "complexities",
        lambda tree: {name: value + (name == told) for name, value in right(tree).items()},
    )
    if told == "train_error":
        monkeypatch.setitem(globals(), "evaluate", lambda tree, table, part: {"train_error": 0.9})
    with pytest.raises(VerificationError, match=told):
        check(priced(), BY_OUTCOME)


@pytest.mark.parametrize(
    "change",
    [
        {"surrogates": (Surrogate(1, 1, (1, 0)),)},
        {"surrogates": (Surrogate(0, 2, (1, 0)),)},
        {"surrogates": (Surrogate(0, 1, (1, 2)),)},
        {"surrogates": (Surrogate(0, 1, (1,)),)},
        {"branch_price": [1.0]},
    ],
)
def test_what_is_no_surrogate_and_no_list_of_prices_is_no_tree(change):
    with pytest.raises(ContractError):
        attrs.evolve(with_surrogate(), **change)


def test_rows_go_and_pay_as_the_tree_says():
    assert with_surrogate().rest(TABLE).tolist() == [1, 1, 2, 2, 1, 2, 0, 1]
    assert fuzzy().rest(TABLE).tolist() == [1, 1, -1, 2, 1, 1, 1, -1]
    assert fuzzy().predict_proba(TABLE)[2].tolist() == pytest.approx(
        [0.5 * 0.6 + 0.5 * 1 / 7, 0.5 * 0.4 + 0.5 * 6 / 7]
    )
    assert priced().prices_paid(TABLE).tolist() == [1.0, 1.0, 4.0, 4.0, 4.0, 4.0, 4.0, 1.0]
    assert (
        complexities(priced())["expected_cost"]
        == costs_of_rows(priced(), TABLE)["expected_cost"]
        == 23 / 8
    )


def test_pictures_and_exports_know_them():
    assert "asks work = yes" in with_surrogate().to_text() and "about 40" in fuzzy().to_text()
    assert "6.2 rows" in fuzzy().to_svg()
    for tree in (with_surrogate(), fuzzy()):
        with pytest.raises(CapabilityError):
            tree.to_sql()
        with pytest.raises(CapabilityError):
            tree.to_sklearn()


def test_a_price_may_depend_on_what_the_path_has_paid():
    """Work costs 2 after a path that paid 1, and 7 after one that paid more."""
    dear = {
        "rules": (Threshold("age", 35.0), Equals("work", "no")),
        "test": [0, 1, -1, -1, 1, -1],
        "child_offset": [0, 2, 4, 4, 4, 6, 6],
        "child": [1, 4, 2, 3, -1, 5],
        "missing_child": [-1] * 6,
        "weights": [[4, 4], [3, 0], [2, 0], [1, 0], [0, 2], [0, 2]],
        "counts": [8, 3, 2, 1, 2, 2],
        "label": [0, 0, 0, 0, 1, 1],
        "value": [N] * 6,
        "price": [4.0, 2.0, 0.0, 0.0, 7.0, 0.0],
        "impurity": [N] * 6,
        "score": [N] * 6,
        "branch_price": [1.0, 4.0, 2.0, 2.0, 7.0, 7.0],
    }

    def after(asked: frozenset[str], paid: float) -> Prices:
        return Prices.by_outcome(
            np.array([[0.0, 0.0], [2.0, 2.0] if paid <= 1.0 else [7.0, 7.0]]), n_raw=2
        )

    prices = attrs.evolve(
        Prices.by_outcome(np.array([[1.0, 4.0], [9.0, 9.0]]), n_raw=2), after=after
    )
    tree = stump(None, dear)
    check(tree, prices)
    for change in (
        {"price": [4.0, 7.0, 0.0, 0.0, 7.0, 0.0], "branch_price": [1.0, 4.0, 7.0, 7.0, 7.0, 7.0]},
        {"price": [4.0, 9.0, 0, 0, 7.0, 0]},
    ):
        with pytest.raises(VerificationError, match="node 1: price"):
            check(attrs.evolve(tree, **change), prices)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(tables().flatmap(lambda table: trees(table).map(lambda tree: (table, tree))))
def test_schema_1_is_read_as_before(case):
    table, tree = case
    text = tree.to_json()
    assert "branch_price" not in text and "surrogates" not in text
    old = Tree.from_json(text.replace("arboretum.tree/2", "arboretum.tree/1"))
    assert old == tree
    assert evaluate(old, table) == pytest.approx(evaluate(tree, table), rel=0, abs=0, nan_ok=True)
    assert complexities(old) == complexities(tree)
    assert np.array_equal(old.predict(table), tree.predict(table))


def test_a_file_of_schema_1_counts_a_split_row_in_every_branch_and_keeps_that_number():
    text = attrs.evolve(
        fuzzy(), rules=(Threshold("age", 35.0),), missing_child=[-2, -1, -1], counts=[8, 6, 5]
    ).to_json()
    assert Tree.from_json(text.replace("arboretum.tree/2", "arboretum.tree/1")).counts.tolist() == [
        8,
        6,
        5,
    ]
