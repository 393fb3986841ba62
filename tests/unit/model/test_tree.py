"""The tree against a walker that takes one row at a time and asks each test in plain Python."""

from __future__ import annotations

import pickle

import attrs
import numpy as np
import pytest
from drawn_trees import row_of, rows_like, tables, trees
from hypothesis import given, strategies as st

from arboretum import TreeClassifier
from arboretum.errors import ContractError, DataError
from arboretum.model import steps, walk
from arboretum.model.rules import Bins, Equals, Threshold, Values
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS, ColumnSpec, Tree


def naive_flow(
    tree: Tree, row: dict, node: int = 0, share: float = 1.0, paid: float = 0.0
) -> list[tuple[int, float, float]]:
    """Where one row comes to rest, with which shares, and what the share paid on its way."""
    if tree.test[node] < 0:
        return [(node, share, paid)]
    rule, children = tree.rule(node), tree.children(node)
    policy = tree.missing_child[node]
    parts = dict(enumerate(rule.degrees_of(row))) if rule.fuzzy else {rule.outcome_of(row): 1.0}
    if not any(parts.values()):
        parts = {-1: 1.0}
    for one in (one for one in tree.surrogates if one.node == node):
        if -1 in parts:
            parts = {(*one.to, -1)[tree.rules[one.rule].outcome_of(row)]: 1.0}
    if -1 in parts and policy == MISSING_SPLITS:
        mass = [
            tree.weights[c].sum() if tree.task is Task.classification else tree.weights[c, 0]
            for c in children
        ]
        parts = {
            k: m / sum(m for m, c in zip(mass, children, strict=True) if c >= 0)
            for k, m in enumerate(mass)
            if children[k] >= 0
        }
    elif -1 in parts and policy != MISSING_STOPS:
        parts = {policy: 1.0}
    places = []
    for outcome, part in parts.items():
        if part == 0.0:
            continue
        if outcome < 0 or children[outcome] < 0:
            places.append((node, share * part, paid + tree.price[node]))
        else:
            price = tree.edge_price[tree.child_offset[node] + outcome]
            places += naive_flow(tree, row, int(children[outcome]), share * part, paid + price)
    return places


@st.composite
def trees_and_rows(draw, **options):
    table = draw(tables(task=options.pop("task", None)))
    return draw(trees(table, **{"shares": options.get("splits", True), **options})), draw(
        rows_like(table)
    )


def places(tree, rows):
    """Per row (node, share)."""
    return [
        [(node, share) for node, share, _ in naive_flow(tree, row_of(rows, r))]
        for r in range(rows.n_rows)
    ]


@given(trees_and_rows())
def test_rows_come_to_rest_where_the_slow_walker_puts_them(case):
    tree, rows = case
    found = [dict() for _ in range(rows.n_rows)]
    for node, r, share in zip(*tree.places(rows).all(), strict=True):
        assert node not in found[r]
        found[r][node] = share
    for got, expected in zip(found, places(tree, rows), strict=True):
        together = dict.fromkeys((node for node, _ in expected), 0.0)
        for node, share in expected:
            together[node] += share
        assert got == pytest.approx(together)


@given(trees_and_rows())
def test_the_kernel_puts_rows_where_the_walk_by_numpy_does(case):
    tree, rows = case
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(steps, "LARGE", 0)
        found = steps.fast_places(tree, rows)
    for ours, theirs in zip(
        attrs.astuple(found), attrs.astuple(walk.places(tree, rows)), strict=True
    ):
        assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("by_column", [True, False])
def test_many_rows_are_walked_by_the_kernel_where_they_lie(dtype, by_column, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(steps.LARGE, 3)).astype(dtype)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = TreeClassifier(max_depth=6).fit(X[:200], rng.integers(0, 3, 200))
    table = Table(
        "X",
        tuple(Column(f"x{j}", ColumnKind.continuous, X[:, j]) for j in range(3)),
        Target("", Task.regression, values=X[:, 0]),
    )
    expected = walk.places(model.tree_, table)
    called = []
    monkeypatch.setattr(
        steps, "places", lambda tree, left: called.append(left.n_rows) or walk.places(tree, left)
    )
    found = (
        model.tree_.apply(table)
        if by_column
        else model.apply(np.asfortranarray(X) if dtype is np.float32 else X)
    )
    assert called == [0] and found.tolist() == expected.whole.tolist()


@given(trees_and_rows())
def test_the_fast_walk_agrees_with_the_slow_walker(case):
    tree, rows = case
    expected = [found[0][0] if len(found) == 1 else -1 for found in places(tree, rows)]
    assert tree.rest(rows).tolist() == expected


@given(trees_and_rows(splits=False))
def test_apply_names_the_resting_node_when_no_row_is_split(case):
    tree, rows = case
    assert tree.apply(rows).tolist() == [found[0][0] for found in places(tree, rows)]


@given(trees_and_rows(task=Task.classification))
def test_class_shares_are_the_weighted_shares_of_the_resting_nodes(case):
    tree, rows = case
    proba, label = tree.predict_proba(rows), tree.predict(rows)
    for r, found in enumerate(places(tree, rows)):
        expected = sum(
            share * tree.weights[node] / tree.weights[node].sum() for node, share in found
        )
        assert proba[r] == pytest.approx(expected)
        if len(found) == 1:
            assert label[r] == tree.label[found[0][0]]
        else:
            assert proba[r, label[r]] == proba[r].max()


@given(trees_and_rows(task=Task.regression))
def test_predicted_numbers_are_weighted_means_of_the_resting_nodes(case):
    tree, rows = case
    expected = [
        sum(share * tree.value[node] for node, share in found) for found in places(tree, rows)
    ]
    assert tree.predict(rows) == pytest.approx(np.array(expected), abs=1e-9)


@given(trees_and_rows())
def test_each_test_on_the_path_is_paid_and_counted_once(case):
    tree, rows = case

    def asked(node):
        steps = [v for v, _ in tree.path(node)]
        return [*steps, node] if tree.test[node] >= 0 else steps

    for r, found in enumerate(places(tree, rows)):
        price = sum(share * paid for _, share, paid in naive_flow(tree, row_of(rows, r)))
        tests = sum(share * len(asked(node)) for node, share in found)
        assert tree.prices_paid(rows)[r] == pytest.approx(price)
        assert tree.tests_asked(rows)[r] == pytest.approx(tests)


@given(trees_and_rows())
def test_json_gives_the_same_tree_back(case):
    tree, rows = case
    again = Tree.from_json(tree.to_json())
    assert again.to_json() == tree.to_json()
    assert again.rules == tree.rules
    assert again.columns == tree.columns
    assert np.array_equal(again.predict(rows), tree.predict(rows))


@given(trees_and_rows())
def test_training_rows_add_up_to_the_weights_of_the_nodes(case):
    tree, _ = case
    children = np.zeros(tree.n_nodes)
    parent = tree.parent
    for node in range(1, tree.n_nodes):
        children[parent[node]] += tree.mass[node]
    assert (children <= tree.mass + 1e-9).all()


@given(trees_and_rows())
def test_depth_price_and_path_agree_with_each_other(case):
    tree, _ = case
    for node in range(tree.n_nodes):
        path = tree.path(node)
        assert len(path) == tree.depth_of[node]
        assert tree.price_to[node] == pytest.approx(
            sum(tree.edge_price[tree.child_offset[v] + k] for v, k in path)
        )
        for (v, outcome), follower in zip(path, [*(v for v, _ in path), node][1:], strict=True):
            assert tree.children(v)[outcome] == follower


def stump(**changes) -> Tree:
    """A tree with two leaves over one number."""
    parts = {
        "task": Task.classification,
        "columns": (ColumnSpec("age", ColumnKind.continuous),),
        "classes": ("no", "yes"),
        "rules": (Threshold("age", 26.5),),
        "test": [0, -1, -1],
        "child_offset": [0, 2, 2, 2],
        "child": [1, 2],
        "missing_child": [-1, -1, -1],
        "weights": [[3, 2], [3, 0], [0, 2]],
        "counts": [5, 3, 2],
        "label": [0, 0, 1],
        "value": [np.nan] * 3,
        "price": [1, 0, 0],
        "impurity": [0.48, 0, 0],
        "score": [0.48, np.nan, np.nan],
    }
    return Tree(**{**parts, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"child": [2, 1]}, None),  # any order of the children is a preorder of two leaves
        ({"missing_child": [-1, 0, 0]}, None),  # of a leaf it says nothing
        ({"child": [1, 1]}, "child of exactly one node"),
        ({"child": [1, -1]}, "child of exactly one node"),
        ({"child": [0, 2]}, "child of exactly one node"),
        ({"child": [1, 3]}, "child of exactly one node"),
        ({"child_offset": [0, 1, 2, 2]}, "child_offset"),
        ({"child_offset": [1, 2, 2, 2]}, "child_offset"),
        ({"child": [1, 2, -1]}, "more slots"),
        ({"child_offset": [0, 2, 2]}, "child_offset has the shape"),
        ({"test": [1, -1, -1]}, "test must be"),
        ({"test": [-2, -1, -1]}, "test must be"),
        ({"missing_child": [2, -1, -1]}, "missing_child"),
        ({"missing_child": [-3, -1, -1]}, "missing_child"),
        ({"label": [0, 0, 2]}, "label must lie"),
        ({"weights": [[3], [3], [0]]}, "weights has the shape"),
        ({"price": [1, 0]}, "price has the shape"),
        ({"columns": (ColumnSpec("height", ColumnKind.continuous),)}, "does not list"),
    ],
)
def test_arrays_that_are_not_a_tree_are_refused(changes, message):
    if message is None:
        assert stump(**changes).n_leaves == 2
        return
    with pytest.raises(ContractError, match=message):
        stump(**changes)


def test_a_numbering_that_is_not_preorder_is_refused():
    """Node 3 belongs to node 1, but node 2 (its uncle) stands between."""
    five = {
        "rules": (Threshold("age", 26.5), Threshold("age", 10.0)),
        "test": [0, 1, -1, -1, -1],
        "child_offset": [0, 2, 4, 4, 4, 4],
        "missing_child": [-1] * 5,
        "weights": np.ones((5, 2)),
        "counts": [1] * 5,
        "label": [0] * 5,
    }
    five |= {name: np.zeros(5) for name in ("value", "price", "impurity", "score")}
    assert stump(child=[1, 4, 2, 3], **five).n_nodes == 5
    with pytest.raises(ContractError, match="preorder"):
        stump(child=[1, 2, 3, 4], **five)


def test_a_child_that_is_no_node_is_refused():
    two = {"test": [0, -1], "child_offset": [0, 2, 2], "missing_child": [-1, -1]}
    two |= {"weights": np.ones((2, 2)), "counts": [2, 2], "label": [0, 0]}
    two |= {name: np.zeros(2) for name in ("value", "price", "impurity", "score")}
    assert stump(child=[1, -1], **two).n_nodes == 2
    with pytest.raises(ContractError, match="do not exist"):
        stump(child=[1, 2], **two)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a tree"),
        ("[]", "schema 'list'"),
        ('{"schema": "arboretum.tree/0"}', "schema 'arboretum.tree/0'"),
        ('{"schema": "arboretum.tree/1"}', "absent"),
    ],
)
def test_text_that_is_not_a_tree_is_refused_in_one_line(text, message):
    with pytest.raises(DataError, match=message) as error:
        Tree.from_json(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"threshold": 26.5', '"thresold": 26.5'),
        ('"threshold": 26.5', '"threshold": "tall"'),
        ('"type": "threshold"', '"type": "treshold"'),
        ('"test": [0, -1, -1]', '"test": [0, -1]'),
        ('"task": "classification"', '"task": "clustering"'),
        ('"child": [1, 2]', '"child": [1, 1]'),
        ('"kind": "continuous"', '"kind": "smooth"'),
        ('"counts": [5, 3, 2]', '"counts": [5, 3, null]'),
    ],
)
def test_a_damaged_tree_is_refused_as_data(old, new):
    text = stump().to_json()
    assert old in text
    with pytest.raises(DataError):
        Tree.from_json(text.replace(old, new))


def test_infinite_scores_survive_json_as_words():
    again = Tree.from_json(stump(score=[np.inf, np.nan, -np.inf]).to_json())
    assert again.score[0] == np.inf
    assert np.isnan(again.score[1])
    assert again.score[2] == -np.inf


def test_a_threshold_between_neighbouring_float32_values_separates_them():
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2.0))
    tree = stump(rules=(Threshold("age", (float(low) + float(high)) / 2),))
    column = Column("age", ColumnKind.continuous, np.array([low, high], np.float32))
    rows = Table("", (column,), Target("", Task.classification, np.zeros(2), ("no", "yes")))
    assert tree.apply(rows).tolist() == [1, 2]
    assert tree.places(rows).all()[2].tolist() == [1.0, 1.0]


def test_apply_refuses_a_row_that_is_split_over_leaves():
    tree = stump(missing_child=[MISSING_SPLITS, -1, -1])
    column = Column("age", ColumnKind.continuous, np.array([np.nan]))
    rows = Table("", (column,), Target("", Task.classification, np.zeros(1), ("no", "yes")))
    assert tree.predict_proba(rows)[0] == pytest.approx([0.6, 0.4])
    with pytest.raises(DataError, match="predict_proba"):
        tree.apply(rows)


def test_regression_has_no_class_shares():
    tree = stump(
        task=Task.regression,
        classes=(),
        weights=np.ones((3, 3)),
        label=[0, 0, 0],
        value=[1.0, 2.0, 3.0],
    )
    column = Column("age", ColumnKind.continuous, np.array([1.0, 30.0]))
    rows = Table("", (column,), Target("", Task.regression, values=np.zeros(2)))
    assert tree.predict(rows).tolist() == [2.0, 3.0]
    with pytest.raises(DataError, match="call predict"):
        tree.predict_proba(rows)


def test_a_test_of_the_wrong_kind_of_column_is_refused_by_name():
    column = Column("age", ColumnKind.categorical, np.zeros(1, np.int32), ("old",))
    rows = Table("", (column,), Target("", Task.classification, np.zeros(1), ("no", "yes")))
    with pytest.raises(DataError, match="'age' is categorical"):
        stump().predict(rows)
    number = attrs.evolve(rows, columns=(Column("age", ColumnKind.continuous, np.zeros(1)),))
    for rule in (Values("age", ("old", "new")), Equals("age", "old")):
        with pytest.raises(DataError, match="'age' is continuous"):
            stump(rules=(rule,)).predict(number)


@pytest.mark.parametrize("outcome", [2, -2])
@pytest.mark.parametrize("large", [1, 10**9])  # by the kernel, by NumPy
def test_an_outcome_that_a_test_does_not_have_is_refused(outcome, large, monkeypatch):
    @attrs.frozen
    class Changed(Threshold):
        tag = ""

        def outcomes(self, table, rows):
            return np.full(len(rows), outcome)

    monkeypatch.setattr(steps, "LARGE", large)
    with pytest.raises(
        ContractError, match=f"the outcomes 0 to 1, and -1 for none; it says {outcome}"
    ):
        stump(rules=(Changed("age", 26.5),)).predict([{"age": 1.0}])


def test_a_tree_survives_pickling():
    tree = stump()
    assert pickle.loads(pickle.dumps(tree)).to_json() == tree.to_json()


def test_one_bin_is_a_test_with_one_outcome():
    rule = Bins("age", ())
    assert rule.arity == 1
    assert rule.outcome_label(0) == "is known"


@given(trees_and_rows())
def test_trees_are_equal_by_their_fields(case):
    tree, _ = case
    again = Tree.from_json(tree.to_json())
    assert again == tree
    assert hash(again) == hash(tree)
    assert len({again, tree}) == 1
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert tree != tree.to_json()


@given(
    trees_and_rows(),
    st.sampled_from(["weights", "counts", "value", "price", "impurity", "score", "missing_child"]),
)
def test_a_tree_with_one_other_number_is_another_tree(case, name):
    tree, _ = case
    values = getattr(tree, name).copy()
    values.flat[0] = (
        -1 if name == "missing_child" else 7.0 if np.isnan(values.flat[0]) else values.flat[0] + 1
    )
    if np.array_equal(values, getattr(tree, name)):
        return
    try:
        other = attrs.evolve(tree, **{name: values})
    except ContractError:  # the number was bound by another
        return
    assert other != tree


def test_trees_that_read_other_columns_or_ask_other_tests_are_other_trees():
    column = ColumnSpec("age", ColumnKind.continuous)
    tree = _stump((column,), Threshold("age", 1.0))
    assert tree == _stump((column,), Threshold("age", 1.0))
    assert tree != _stump((column,), Threshold("age", 2.0))
    assert tree != _stump(
        (column, ColumnSpec("size", ColumnKind.continuous)), Threshold("age", 1.0)
    )
    assert tree != attrs.evolve(tree, classes=("no", "maybe"))


def _stump(columns, rule):
    nan = [np.nan] * 3
    return Tree(
        task=Task.classification,
        columns=columns,
        classes=("no", "yes"),
        rules=(rule,),
        test=[0, -1, -1],
        child_offset=[0, 2, 2, 2],
        child=[1, 2],
        missing_child=[-1] * 3,
        weights=[[1, 2], [1, 0], [0, 2]],
        counts=[3, 1, 2],
        label=[1, 0, 1],
        value=nan,
        price=[1, 0, 0],
        impurity=nan,
        score=nan,
    )


def test_the_picture_comes_as_bytes_or_goes_into_a_file(tmp_path):
    tree = _stump((ColumnSpec("age", ColumnKind.continuous),), Threshold("age", 1.0))
    data = tree.to_png(scale=1)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert tree.to_png(tmp_path / "tree.png", scale=1) == data
    assert (tmp_path / "tree.png").read_bytes() == data
