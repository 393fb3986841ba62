"""Where two trees part, on trees small enough to read; and on drawn ones what must hold of any."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from drawn_trees import tables, trees
from hypothesis import given, strategies as st

from arboretum.errors import DataError
from arboretum.measure.difference import Change, Difference, Disagreement
from arboretum.model.rules import Equals, Threshold, Values
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import ColumnSpec, Tree

SPECS = (
    ColumnSpec("x", ColumnKind.continuous),
    ColumnSpec("y", ColumnKind.continuous),
    ColumnSpec("colour", ColumnKind.categorical, ("red", "blue")),
)
CLASSES = ("no", "yes")
LOW, HIGH, RED = Threshold("x", 1.0), Threshold("y", 2.0), Equals("colour", "red")


def tree(spec, classes=CLASSES, columns=SPECS, **changes) -> Tree:
    """A tree from ``"no"`` or ``(test, branch, branch)``; a branch None is not there."""
    rules, rows = [], []

    def add(one) -> int:
        node = len(rows)
        rows.append(None)
        if isinstance(one, str):
            rows[node] = (-1, (), classes.index(one))
            return node
        test, *branches = one
        if test not in rules:
            rules.append(test)
        below = [-1 if branch is None else add(branch) for branch in branches]
        rows[node] = (rules.index(test), below, 0)
        return node

    add(spec)
    n, weights = len(rows), np.zeros((len(rows), len(classes)))
    for node in range(n - 1, -1, -1):
        _, below, label = rows[node]
        weights[node, label] += not below
        for child in below:
            weights[node] += weights[child] if child >= 0 else 0
    arrays = {
        "test": [test for test, _, _ in rows],
        "child_offset": np.concatenate([[0], np.cumsum([len(below) for _, below, _ in rows])]),
        "child": [child for _, below, _ in rows for child in below],
        "missing_child": [-1] * n,
        "weights": weights,
        "counts": weights.sum(axis=1),
        "label": weights.argmax(axis=1),
        "value": [np.nan] * n,
        "price": [float(test >= 0) for test, _, _ in rows],
        "impurity": [np.nan] * n,
        "score": [np.nan] * n,
    }
    whole = {"task": Task.classification, "columns": columns, "classes": classes}
    return Tree(**{**whole, "rules": tuple(rules), **arrays, **changes})


def seen(first: Tree, second: Tree) -> list[tuple]:
    """(change, node, node, path) of every place."""
    found = Difference.of(first, second)
    return [(one.change, one.first, one.second, one.path) for one in found.places]


def test_equal_trees_are_equal_and_all_of_them_is_shared():
    one = tree((LOW, "no", (HIGH, "no", "yes")))
    found = Difference.of(one, tree((LOW, "no", (HIGH, "no", "yes"))))
    assert found.equal and found.places == () and found.fields == ()
    assert found.shared == tuple((k, k) for k in range(5))


def test_a_test_that_is_another_ends_the_shared_prefix_there():
    first, second = tree((LOW, "no", (HIGH, "no", "yes"))), tree((LOW, "no", (RED, "yes", "no")))
    assert seen(first, second) == [(Change.test, 2, 2, "x > 1")]
    found = Difference.of(first, second)
    assert found.shared == ((0, 0), (1, 1))
    assert found.places[0].sizes == (3, 3) and found.only() == ([2], [2])
    assert (found.places[0].here, found.places[0].there) == ("asks y ≤ 2", "asks colour = red")


def test_a_cut_that_moved_is_said_and_the_walk_goes_on_below():
    first = tree((LOW, "no", (HIGH, "no", "yes")))
    second = tree((Threshold("x", 1.5), "no", (HIGH, "yes", "yes")))
    assert seen(first, second) == [
        (Change.cut, 0, 0, "all rows"),
        (Change.answer, 3, 3, "x > 1 and y ≤ 2"),
    ]
    assert Difference.of(first, second).shared == (), "what stands below other tests is not shared"


def test_a_subtree_that_one_tree_has_is_named_from_either_side():
    first, second = tree((LOW, "no", (HIGH, "no", "yes"))), tree((LOW, "no", "yes"))
    assert seen(first, second) == [(Change.cut_back, 2, 2, "x > 1")]
    assert seen(second, first) == [(Change.grown, 2, 2, "x > 1")]
    assert Difference.of(first, second).places[0].sizes == (3, 0)
    assert Difference.of(second, first).places[0].sizes == (0, 3)


def test_a_subtree_that_stands_elsewhere_is_found_there():
    below = (HIGH, "no", "yes")
    first, second = tree((LOW, below, "yes")), tree((RED, "no", below))
    (place,) = Difference.of(first, second).places
    assert place.moved == (-1, -1)
    first, second = tree((LOW, below, (RED, "no", "yes"))), tree((LOW, (RED, "no", "yes"), below))
    found = Difference.of(first, second)
    assert [one.moved for one in found.places] == [(4, 4), (1, 1)]


def test_a_branch_that_one_tree_has_not_and_rows_that_go_elsewhere_without_a_value():
    colours = Values("colour", ("red", "blue"))
    first, second = tree((colours, "no", "yes")), tree((colours, "no", None))
    assert seen(first, second) == [(Change.branch, 2, -1, "colour = blue")]
    sent = attrs.evolve(first, missing_child=np.array([1, -1, -1]))
    unused_policies = Difference.of(first, sent)
    assert (unused_policies.places, unused_policies.unused_policies, unused_policies.fields) == (
        (),
        1,
        ("missing_child",),
    )
    lacking = tuple(attrs.evolve(spec, missing=spec.name == "colour") for spec in SPECS)
    (place,) = Difference.of(first, attrs.evolve(sent, columns=lacking)).places
    assert (place.change, place.here, place.there) == (
        Change.missing,
        "stops",
        "goes to = blue",
    )


def test_trees_of_one_structure_may_differ_in_their_numbers():
    first = tree((LOW, "no", "yes"))
    found = Difference.of(first, attrs.evolve(first, price=[2.0, 0.0, 0.0]))
    assert found.places == () and found.fields == ("price", "branch_price") and not found.equal


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": ("no", "maybe")}, "only the first tree knows the class 'yes'"),
        ({"columns": SPECS[:2]}, "only the first tree knows the column 'colour'"),
        (
            {"columns": (*SPECS[:2], ColumnSpec("colour", ColumnKind.continuous))},
            "column 'colour' is categorical in the first tree and continuous in the second",
        ),
    ],
)
def test_trees_of_other_tables_are_refused_with_the_way_out(changes, message):
    answers = changes.get("classes", CLASSES)
    first, second = tree((LOW, "no", "yes")), tree((LOW, *answers), **changes)
    with pytest.raises(DataError, match=f"{message}; diff takes two trees of one table"):
        Difference.of(first, second)


def test_classes_may_come_in_another_order():
    first = tree((LOW, "no", "yes"))
    second = tree((LOW, "no", "yes"), classes=("yes", "no"))
    assert Difference.of(first, second).places == ()
    columns = tuple(
        Column(spec.name, spec.kind, np.zeros(3, np.int32), spec.categories)
        if spec.categories
        else Column(spec.name, spec.kind, np.array([0.0, 1.0, 2.0]))
        for spec in SPECS
    )
    target = Target("t", Task.classification, np.array([0, 1, 1], np.int32), CLASSES)
    rows = Table("rows", columns, target)
    assert len(Disagreement.of(first, second, rows).rows) == 0
    found = Disagreement.of(first, tree((HIGH, "no", "yes")), rows)
    assert (found.rows.tolist(), found.first, found.second) == ([2], ("yes",), ("no",))
    assert found.right == ("first",) and found.count("second") == 0


@given(data=st.data())
def test_of_any_two_trees_each_node_is_shared_different_or_below_a_difference(data):
    table = data.draw(tables())
    first, second = data.draw(trees(table, shares=True)), data.draw(trees(table, shares=True))
    found = Difference.of(first, second)
    assert Difference.of(first, first).equal
    assert found.equal == (first == second)
    shared = dict(found.shared)
    for a, b in found.shared:
        path, other = first.path(a), second.path(b)
        assert [(first.rule(v), k) for v, k in path] == [(second.rule(v), k) for v, k in other]
        assert first.is_leaf[a] == second.is_leaf[b]
    # every node of the first above no difference of structure is shared, in its own place
    apart = [one.first for one in found.places if one.change is not Change.missing]
    for node in range(first.n_nodes):
        path = [v for v, _ in first.path(node)] + [node]
        below_branch = any(one.first == -1 for one in found.places)
        if not set(path) & set(apart):
            assert node in shared or below_branch, (node, found.places)
    rows = Disagreement.of(first, second, table)
    one, other = first.predict(table), second.predict(table)
    assert rows.rows.tolist() == [k for k in range(table.n_rows) if one[k] != other[k]]
    if rows.n_rows and table.task is Task.classification:
        truth = table.target.codes
        right = {"first": one, "second": other}
        for at, who in zip(rows.rows, rows.right, strict=True):
            assert all((answer[at] == truth[at]) == (who == name) for name, answer in right.items())
