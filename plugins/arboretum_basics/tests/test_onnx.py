"""The graph of a tree answers every row as the tree does, between neighbouring numbers too; what it
cannot say is refused.
"""

from __future__ import annotations

import json
import sys

import attrs
import numpy as np
import pytest
from drawn_trees import Ramp, rows_like, tables, trees
from hypothesis import HealthCheck, given, reject, settings, strategies as st

import arboretum
from arboretum.api import (
    MISSING_SPLITS,
    CapabilityError,
    ColumnKind,
    ColumnSpec,
    Equals,
    TestRule,
    Threshold,
    Values,
)
from arboretum.testing.tables import row_of
from arboretum_basics.exports import Onnx
from arboretum_basics.to_onnx import UNSEEN, drawn_rows, inputs_of

NEEDS = "the extra onnx is not installed: pip install 'arboretum[onnx]'"


@pytest.fixture(scope="module")
def runtime():
    pytest.importorskip("onnx", reason=NEEDS)
    return pytest.importorskip("onnxruntime", reason=NEEDS)


def answered(runtime, tree, rows) -> dict[str, np.ndarray]:
    """What the graph of a tree says of rows, by output."""
    session = runtime.InferenceSession(Onnx().write(tree), providers=["CPUExecutionProvider"])
    given_rows = inputs_of(tree, rows, session.get_modelmeta().custom_metadata_map)
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, given_rows), strict=True))


def compare(runtime, tree, rows) -> None:
    """The graph says of each row what the tree says, to the bit."""
    found, table = answered(runtime, tree, rows), list(rows)
    assert found["node"].tolist() == tree.apply(table).tolist()
    if tree.is_regression:
        assert found["value"].tolist() == tree.predict(table).tolist()
        return
    assert found["label"].tolist() == [tree.classes[code] for code in tree.predict(table)]
    assert np.array_equal(found["probabilities"], tree.predict_proba(table))


@pytest.mark.parametrize(
    "words",
    [
        ["dataset=iris", "method=cart"],
        ["dataset=play-tennis", "method=id3"],
        ["dataset=play-tennis", "method=cart"],
        ["dataset=wine", "method=id3"],
        ["dataset=iris", "method=rpart", "missing=surrogates"],
    ],
)
def test_trees_of_runs_leave_and_answer_as_before(runtime, words):
    tree = arboretum.run([*words, "split=none", "tracker=none"]).tree
    compare(runtime, tree, drawn_rows(tree, 400, seed=1))


@given(st.data())
@settings(
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture],
    max_examples=60,
    deadline=None,
)
def test_drawn_trees_with_surrogates_answer_drawn_rows(runtime, data):
    table = data.draw(tables(min_rows=4))
    tree = data.draw(
        trees(table, shares=True).filter(
            lambda one: one.n_nodes > 1 and not any(rule.fuzzy for rule in one.rules)
        )
    )
    try:
        Onnx().write(tree)
    except CapabilityError as error:
        assert "in shares" in str(error)
        reject()
    rows = data.draw(rows_like(table, max_rows=8, unseen=True))
    as_read = [
        {name: UNSEEN if value == "?" else value for name, value in row_of(rows, k).items()}
        for k in range(rows.n_rows)
    ]
    compare(runtime, tree, as_read)
    compare(runtime, tree, drawn_rows(tree, 60))


@pytest.mark.parametrize(
    "middle", [0.1, float(np.float32(0.1)), 16777217.0, 1e-300, -2.5, 1.7976931348623157e308]
)
def test_neighbouring_numbers_go_to_their_own_sides(runtime, middle):
    tree = arboretum.run(["dataset=iris", "method=cart", "split=none", "tracker=none"]).tree
    rules = tuple(
        Threshold(rule.column, middle) if rule.column == "petal_length" else rule
        for rule in tree.rules
    )
    tree = attrs.evolve(tree, rules=rules)
    rows = drawn_rows(tree, 200, seed=2)
    assert len({row["petal_length"] for row in rows}) > 4
    compare(runtime, tree, rows)


def test_categories_with_odd_names_and_outputs_named_as_columns(runtime):
    odd = ("a,b", " blank ", "", "NA", "line\nbreak", "__proto__", "Ä", "A\u0308", "\u202egnorw")
    tree = arboretum.run(["dataset=play-tennis", "method=id3", "split=none", "tracker=none"]).tree
    spec = ColumnSpec("label", ColumnKind.categorical, odd)
    root = Values("label", odd)
    leaves = len(odd)
    weights = np.zeros((leaves + 1, 2))
    weights[np.arange(1, leaves + 1), np.arange(leaves) % 2] = 1.0
    weights[0] = weights.sum(axis=0)
    whole = attrs.evolve(
        tree,
        columns=(spec, ColumnSpec("tree_1", ColumnKind.continuous)),
        rules=(root,),
        test=[0] + [-1] * leaves,
        child_offset=[0, leaves] + [leaves] * leaves,
        child=np.arange(1, leaves + 1),
        missing_child=[-1] * (leaves + 1),
        weights=weights,
        counts=weights.sum(axis=1),
        label=weights.argmax(axis=1),
        value=[np.nan] * (leaves + 1),
        price=[1.0] + [0.0] * leaves,
        impurity=[np.nan] * (leaves + 1),
        score=[np.nan] * (leaves + 1),
    )
    found = answered(runtime, whole, [{"label": name} for name in (*odd, None, UNSEEN)])
    assert found["node"].tolist() == [*range(1, leaves + 1), 0, 0]
    assert set(found) == {"_tree_label", "probabilities", "node"}


def test_a_graph_of_a_tree_of_numbers_keeps_doubles(runtime, tmp_path):
    rows = [f"{x},{x / 3}" for x in range(40)]
    (tmp_path / "thirds.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    given_words = ["dataset=file", f"dataset.path={tmp_path}/thirds.csv", "dataset.target=y"]
    tree = arboretum.run([*given_words, "method=cart", "tracker=none", "split=none"]).tree
    assert tree.is_regression
    compare(runtime, tree, drawn_rows(tree, 200))


def test_equal_trees_have_equal_graphs_that_onnx_finds_well_formed(runtime):
    import onnx

    tree = arboretum.run(["dataset=iris", "method=cart", "split=none", "tracker=none"]).tree
    written = Onnx().write(tree)
    assert written == Onnx().write(tree)
    model = onnx.load_from_string(written)
    onnx.checker.check_model(model, full_check=True)
    props = {one.key: one.value for one in model.metadata_props}
    assert set(json.loads(props["columns"])) == {
        name for rule in tree.rules for name in rule.columns
    }


# -- what is refused -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def iris():
    return arboretum.run(["dataset=iris", "method=cart", "split=none", "tracker=none"]).tree


@attrs.frozen
class Sum(TestRule):
    """A test of two columns."""

    tag = "onnx_sum"

    @property
    def columns(self):
        return "petal_length", "petal_width"

    def outcome_of(self, row):
        return 0

    def outcome_label(self, outcome):
        return "add up" if outcome == 0 else "do not"


def test_what_a_graph_cannot_say_is_refused_with_the_reason(runtime, iris):
    for rule, message in [
        (Ramp("petal_length", 1.0, 2.0), "sends a row down several branches by degrees"),
        (Sum(), "reads several columns"),
    ]:
        with pytest.raises(CapabilityError, match=message):
            Onnx().write(attrs.evolve(iris, rules=(rule, *iris.rules[1:])))
    with pytest.raises(CapabilityError, match="asks nothing"):
        Onnx().write(iris.cut([0]))
    split = np.where(iris.is_leaf, -1, MISSING_SPLITS)
    with pytest.raises(CapabilityError, match="goes down every branch in shares"):
        Onnx().write(attrs.evolve(iris, missing_child=split))
    whole = tuple(
        attrs.evolve(spec, name="\ud800") if k == 2 else spec for k, spec in enumerate(iris.columns)
    )
    rules = tuple(
        attrs.evolve(rule, column="\ud800") if rule.column == iris.columns[2].name else rule
        for rule in iris.rules
    )
    with pytest.raises(CapabilityError, match="is none that ONNX can hold"):
        Onnx().write(attrs.evolve(iris, columns=whole, rules=rules))
    lost = attrs.evolve(iris, rules=(Equals("petal_length", None), *iris.rules[1:]))
    compare(runtime, lost, drawn_rows(lost, 50))


def test_a_runtime_that_answers_otherwise_is_not_believed(runtime, iris, monkeypatch):
    session = runtime.InferenceSession

    class Wrong:
        def __init__(self, *given, **named):
            self.own = session(*given, **named)

        def __getattr__(self, name):
            return getattr(self.own, name)

        def run(self, names, rows):
            return [*self.own.run(names, rows)[:-1], np.zeros(len(rows["petal_length"]), np.int64)]

    monkeypatch.setattr(runtime, "InferenceSession", Wrong)
    with pytest.raises(CapabilityError, match="leads the row .* to node 0, the tree to"):
        Onnx().write(iris)


def test_without_the_packages_the_message_names_the_extra(iris, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(CapabilityError, match=r"needs onnx; pip install 'arboretum\[onnx\]'"):
        Onnx().write(iris)
