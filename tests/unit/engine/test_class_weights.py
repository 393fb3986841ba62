"""One place weighs classes, for estimators and for runs: the rows count by their class wherever a
tree grows, is pruned, verified and certified.
"""

from __future__ import annotations

import json

import attrs
import numpy as np
import pandas as pd
import pytest

import arboretum
from arboretum import TreeClassifier
from arboretum.engine.check import check_table
from arboretum.engine.class_weights import weights_of_classes
from arboretum.engine.run import Request, pose, prepare
from arboretum.errors import ArboretumError, CapabilityError, ConfigError, DataError
from arboretum.interfaces.method import Parts
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.plugin.assemble import assemble
from arboretum.plugin.discovery import load_registry

ROWS = pd.DataFrame(
    {
        "a": list("xxyyzzxyzxyz"),
        "b": list("uvuvuvvuuvvv"),
        "class": ["yes", "no", "no", "no", "yes", "no", "no", "yes", "no", "no", "no", "no"],
    }
)
WEIGHTS = {"yes": 3, "no": 0.5}
TEXT = "class_weight={yes: 3, no: 0.5}"


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A run on the rows above, all of which train."""
    folder = tmp_path_factory.mktemp("weighed")
    ROWS.to_csv(folder / "rows.csv", index=False)
    weighed = ROWS.assign(w=ROWS["class"].map(WEIGHTS), v=range(1, 13))
    weighed.to_csv(folder / "weighed.csv", index=False)
    weighed.assign(w=weighed.w * weighed.v).to_csv(folder / "both.csv", index=False)

    def run(*words: str, file: str = "rows"):
        data = ["dataset=file", f"dataset.path={folder / file}.csv", "dataset.target=class"]
        return arboretum.run([*data, "split=none", *words])

    return run


def _rows(codes: list[int], classes: tuple[str, ...]) -> Target:
    return Target("y", Task.classification, np.array(codes, np.int32), classes)


@pytest.mark.parametrize("method", ["id3", "cart", "gosdt"])
@pytest.mark.parametrize("given", ["balanced", WEIGHTS])
def test_a_run_grows_the_tree_of_the_estimator(asked, method, given):
    limits = ["stopping=[standard]", "stopping.standard.max_depth=2"] if method == "gosdt" else []
    text = given if given == "balanced" else TEXT.partition("=")[2]
    record = asked(f"method={method}", *limits, f"class_weight={text}")
    model = TreeClassifier(method, class_weight=given, overrides=limits, verify=True)
    model.fit(ROWS[["a", "b"]].astype("category"), ROWS["class"])
    ours, theirs = (json.loads(tree.to_json()) for tree in (record.tree, model.tree_))
    same = ("nodes", "weights", "label", "counts", "rules")
    assert {k: ours.get(k) for k in same} == {k: theirs.get(k) for k in same}
    assert record.verified and record.config["class_weight"] == given


@pytest.mark.parametrize(
    "words",
    [
        ("method=id3",),
        ("method=id3", "certify=true"),
        ("method=gosdt", "objective.lam=0.05", "certify=true"),
        ("method=id3", "pruner=cost_complexity", "pruner.alpha=0.05"),
    ],
)
def test_class_weights_are_row_weights_for_measures_bounds_and_certificates(asked, words):
    by_class = asked(*words, TEXT)
    by_row = asked(*words, "dataset.weight=w", "dataset.ignore=[v]", file="weighed")
    assert by_class.metrics == by_row.metrics
    assert (by_class.certificate is None) == ("certify=true" not in words)
    if by_class.certificate is not None:
        mine, theirs = (attrs.asdict(one.certificate) for one in (by_class, by_row))
        assert mine == theirs
    if by_class.solution is not None:
        assert by_class.solution.value == by_row.solution.value
        assert by_class.solution.lower_bound == by_row.solution.lower_bound


def test_class_weights_multiply_the_weights_of_rows(asked):
    both = ("method=id3", "dataset.weight=v", "dataset.ignore=[w]")
    product = asked("method=id3", "dataset.weight=w", "dataset.ignore=[v]", file="both")
    assert asked(*both, TEXT, file="weighed").metrics == product.metrics


def test_balanced_rows_give_the_optimum_of_balanced_errors(asked):
    method = ("method=gosdt", "objective.lam=0.05", "stopping=[pure]")
    weighed = asked(*method, "class_weight=balanced")
    stated = asked(*method, "objective=balanced")
    assert weighed.solution.value == pytest.approx(stated.solution.value, abs=2**-30)


def test_balanced_knows_the_classes_that_training_rows_show():
    given = weights_of_classes("balanced", _rows([0, 0, 0, 2], ("a", "b", "c")))
    assert given.tolist() == [4 / 6, 1.0, 4 / 2], "as if there were two classes; of b no row learns"


def test_a_class_may_be_missing_in_the_training_rows_of_a_fold():
    @attrs.frozen
    class Fold:
        """The last rows validate."""

        kind, name, paper, capabilities = "split", "fold", "", ()

        def divide(self, table, seed):
            from arboretum.api import Division

            return Division(np.arange(4), np.arange(4, 6), np.arange(0))

    target = _rows([0, 0, 0, 1, 1, 2], ("a", "b", "c"))
    table = Table("six", (Column("x", ColumnKind.continuous, np.arange(6.0)),), target)
    parts = assemble(
        load_registry(), {"method": "cart"}, {"class_weight": "balanced"}, without=("tracker",)
    )
    problem = pose(attrs.evolve(parts, split=Fold()), table).problem
    assert problem.objects.table.weights.tolist() == [4 / 6, 4 / 6, 4 / 6, 2.0]
    assert problem.valid.weights.tolist() == [2.0, 1.0], "they weigh where a tree is chosen"


def test_rows_of_a_class_of_weight_0_are_no_training_rows(asked):
    record = asked("method=id3", "class_weight={no: 0}")
    assert record.data["n_train"] == 3 and record.tree.n_leaves == 1
    assert record.config["class_weight"] == {"no": 0.0}


def test_only_training_rows_must_weigh_something(tmp_path):
    """The validation rows are all of a class of weight 0; who chooses by them is told."""
    rows = pd.DataFrame({"x": range(12), "y": list("pppqpppqpppp")})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    asked = ["dataset=file", f"dataset.path={tmp_path}/rows.csv", "dataset.target=y", "method=cart"]
    weighed = [*asked, "pruner=none", "class_weight={p: 0}"]
    record = arboretum.run(weighed)
    assert "valid_error" in record.metrics and record.metrics["train_error"] == 0
    with pytest.raises(CapabilityError, match=r"the split leaves \(1\) weigh 0 by class_weight"):
        arboretum.run([*weighed, "pruner=reduced_error"])
    with pytest.raises(DataError, match="every row that fills leaves weighs 0 .* leave honest out"):
        arboretum.run([*weighed, "split=none", "honest=0.1"])


def test_classes_are_named_as_they_are_spelled():
    numbers, truth = _rows([0, 1], ("1", "2.5")), _rows([0, 1], ("false", "true"))
    assert weights_of_classes({"1.0": 3, "2.5": 2}, numbers).tolist() == [3, 2]
    assert weights_of_classes({"True": 3}, truth).tolist() == [1, 3]


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("{yess: 2}", DataError, "class_weight: unknown class 'yess'; did you mean 'yes'?"),
        ("{yes: -1}", ConfigError, "must be finite numbers ≥ 0; class yes has -1.0"),
        ("{yes: .nan}", ConfigError, "must be a"),
        ("{yes: 0, no: 0}", DataError, "every training row weighs 0"),
        ("{yes: 1e300}", DataError, "float64 cannot hold their squares"),
        ("{yes: much}", ConfigError, r"class_weight\[yes\] must be a number; got 'much'"),
        ("balancd", ConfigError, "must be balanced or {class: weight}; got 'balancd'"),
        ("[1, 2]", ConfigError, "class_weight must be a mapping"),
    ],
)
def test_what_is_no_class_weight_is_refused_in_one_line(asked, text, error, says):
    with pytest.raises(error, match=says) as found:
        asked("method=id3", f"class_weight={text}")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (np.array([1.0, 2.0]), r"must be balanced or {class: weight}; got array\(\[1., 2.\]\)"),
        (pd.Series({0: 1.0, 1: 2.0}), "must be balanced or {class: weight}; got 0 "),
        ({0: 10**400}, "must be finite numbers ≥ 0; class 0 has 1000"),
        ({"1": 2, "1.0": 3}, "'1' and '1.0' are one class, '1'; give it one weight"),
    ],
    ids=["array", "series", "huge", "twice"],
)
def test_an_estimator_names_class_weight_too(given, says):
    with pytest.raises(ConfigError, match=f"class_weight.* {says}"):
        TreeClassifier(class_weight=given).fit([[1.0], [2.0]], [0, 1])


def test_nothing_is_said_by_null_and_none(asked):
    assert asked("method=id3", "class_weight=none").config["class_weight"] is None


def test_numbers_have_no_classes():
    table = Table(
        "numbers",
        (Column("x", ColumnKind.continuous, np.arange(4.0)),),
        Target("y", Task.regression, values=np.arange(4.0)),
    )

    @attrs.frozen
    class Given:
        kind, name, paper, capabilities = "dataset", "given", "", ()

        def load(self, seed):
            return table

    parts = assemble(load_registry(), {"method": "cart_regression"}, without=("tracker",))
    parts = attrs.evolve(parts, dataset=Given(), class_weight="balanced")
    with pytest.raises(DataError, match="weighs classes, but the target 'y' is a number"):
        prepare(Request(parts))


def test_a_part_that_knows_no_weights_is_refused_by_name():
    @attrs.frozen
    class Unweighed:
        """It counts rows."""

        kind, name, paper, capabilities = "method", "unweighed", "", ("classification",)

    table = Table("two", (), _rows([0, 1], ("a", "b")))
    with pytest.raises(CapabilityError, match="object weights, but class_weight gives them"):
        check_table(Parts(Unweighed(), class_weight="balanced"), table)


def test_an_estimator_may_name_classes_that_its_rows_do_not_show():
    X, y = [[0.0], [1.0], [2.0]], ["a", "b", "b"]
    named = {"a": 2, "b": 1, "c": 5}
    assert TreeClassifier(class_weight=named).fit(X, y).tree_.weights[0].tolist() == [2, 2]
    with pytest.raises(ArboretumError, match="unknown class 'c'"):
        TreeClassifier(class_weight={"a": 2, "c": 5}).fit(X, y)
    with pytest.raises(ConfigError, match="give class_weight=… itself"):
        TreeClassifier(overrides={"class_weight": "balanced"}).fit(X, y)
