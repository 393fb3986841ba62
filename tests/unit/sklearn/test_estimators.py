"""The estimators: scikit-learn's own checks, and what they add to them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from arboretum.errors import ArboretumError, CapabilityError, ConfigError, DataError
from arboretum.model.dates import date_number
from arboretum.model.frame import column_of_series, read_column
from arboretum.model.tree import ColumnSpec
from arboretum.sklearn import TreeClassifier, TreeRegressor

ESTIMATORS = [
    TreeClassifier(),
    TreeClassifier("id3"),
    TreeClassifier("random"),
    TreeRegressor(),
    TreeRegressor("cart", overrides={"encoder": "multiway"}),
    TreeRegressor("random"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_own_checks_hold(estimator, check):
    check(estimator)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_are_as_heavy_as_scikit_learns_trees_leave_them(share, weighted):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 3, 300)
    weight = rng.random(300) if weighted else None
    limits = {"min_weight_fraction_leaf": share, "random_state": 0}
    ours = TreeClassifier(**limits).fit(X, y, weight)
    theirs = DecisionTreeClassifier(**limits).fit(X, y, weight)
    # the leaves' cost, not their number: rounded weights let scikit-learn divide some pure nodes
    cost = float((ours.tree_.mass * ours.tree_.is_leaf * _gini(ours.tree_)).sum())
    leaf = theirs.tree_.children_left < 0
    assert cost == pytest.approx(
        float((theirs.tree_.weighted_n_node_samples * theirs.tree_.impurity)[leaf].sum())
    )
    assert ours.tree_.mass.min() >= share * ours.tree_.mass[0] * (1 - 1e-12)
    number = rng.normal(size=300)
    ours = TreeRegressor(**limits).fit(X, number, weight)
    theirs = DecisionTreeRegressor(**limits).fit(X, number, weight)
    assert ours.predict(X) == pytest.approx(theirs.predict(X))


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_a_share_of_weight_holds_for_two_classes_of_rows_that_weigh_one(gaps):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 2, 200)
    X[rng.random(X.shape) < gaps] = np.nan
    tree = TreeClassifier(min_weight_fraction_leaf=0.062).fit(X, y).tree_
    theirs = DecisionTreeClassifier(min_weight_fraction_leaf=0.062, random_state=0).fit(X, y).tree_
    assert tree.mass.min() >= 12.4
    assert sorted(tree.mass[tree.is_leaf]) == sorted(
        theirs.n_node_samples[theirs.children_left < 0]
    )


def test_whether_a_column_of_one_value_is_known_divides_as_in_scikit_learn():
    rng = np.random.default_rng(0)
    lost = rng.random(60) < 0.4
    X, y = (
        np.column_stack([rng.normal(size=60), np.where(lost, np.nan, 3.0)]),
        lost ^ (rng.random(60) < 0.1),
    )
    tree, theirs = (
        TreeClassifier(max_depth=1).fit(X, y).tree_,
        DecisionTreeClassifier(max_depth=1).fit(X, y).tree_,
    )
    assert (theirs.feature[0], theirs.threshold[0]) == (1, np.inf) and tree.rule(
        0
    ).describe() == "x1 is known"
    assert tree.counts.tolist() == theirs.n_node_samples.tolist()


def test_a_share_of_weight_that_two_leaves_cannot_have_is_refused(iris):
    with pytest.raises(
        ConfigError, match="stopping.standard.min_mass must be ≥ 0 and ≤ 0.5; got 0.7"
    ):
        TreeClassifier(min_weight_fraction_leaf=0.7).fit(*iris)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


MIXED = pd.DataFrame(
    {
        "age": [20.0, 25.0, 30.0, 40.0, np.nan, 50.0] * 4,
        "odor": ["almond", "foul", "almond", None, "foul", "almond"] * 4,
        "size": pd.Categorical(
            ["s", "m", "l", "s", "m", "l"] * 4, categories=["s", "m", "l"], ordered=True
        ),
        "sunny": [True, False, True, False, True, False] * 4,
    }
)
ANSWER = np.array(["no", "yes", "no", "yes", "yes", "no"] * 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cart_is_as_good_as_scikit_learns_tree(dtype):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)).astype(dtype), rng.integers(0, 3, 400)
    ours = TreeClassifier(max_depth=4, min_samples_leaf=3).fit(X, y)
    theirs = DecisionTreeClassifier(max_depth=4, min_samples_leaf=3, random_state=0).fit(X, y)
    cost = float((ours.tree_.mass * ours.tree_.is_leaf * _gini(ours.tree_)).sum())
    leaf = theirs.tree_.children_left < 0
    other = float((theirs.tree_.weighted_n_node_samples * theirs.tree_.impurity)[leaf].sum())
    assert cost == pytest.approx(other)
    assert ours.get_depth() == theirs.get_depth()
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X))


def _gini(tree):
    return 1 - ((tree.weights / tree.mass[:, None]) ** 2).sum(axis=1)


def test_regression_is_as_good_as_scikit_learns_tree():
    X, y = load_diabetes(return_X_y=True)
    ours, theirs = (
        TreeRegressor(max_depth=3).fit(X, y),
        DecisionTreeRegressor(max_depth=3).fit(X, y),
    )
    assert ours.predict(X) == pytest.approx(theirs.predict(X))
    assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_)


def test_frames_keep_their_kinds_of_columns():
    model = TreeClassifier().fit(MIXED, ANSWER)
    assert [c.kind.value for c in model.tree_.columns] == [
        "continuous",
        "categorical",
        "ordinal",
        "continuous",
    ]
    assert model.tree_.columns[2].categories == ("s", "m", "l")
    assert model.predict(MIXED).tolist() == ANSWER.tolist()
    assert list(model.feature_names_in_) == list(MIXED.columns)
    assert {name for rule in model.tree_.rules for name in rule.columns} <= set(MIXED.columns)


@pytest.mark.parametrize(
    "values",
    [
        list(range(24)),
        [float(i) for i in range(24)],
        [Decimal(i) for i in range(24)],
        [None if i == 5 else np.int64(i) for i in range(24)],
        [pd.NA if i == 5 else i + 0.5 for i in range(24)],
    ],
    ids=["int", "float", "decimal", "with None", "with NA"],
)
def test_objects_that_are_all_numbers_are_numbers(values):
    frame, answer = pd.DataFrame({"size": pd.Series(values, dtype=object)}), [0] * 12 + [1] * 12
    model = TreeClassifier().fit(frame, answer)
    assert [column.kind.value for column in model.tree_.columns] == ["continuous"]
    assert model.score(frame.drop(index=5), np.delete(answer, 5)) == 1
    assert model.get_n_leaves() == 2


@pytest.mark.parametrize(
    "values", [["1", "2"] * 12, [True, False] * 12, [1, "2"] * 12], ids=["text", "bool", "mixed"]
)
def test_objects_that_are_not_all_numbers_are_categories(values):
    model = TreeClassifier().fit(
        pd.DataFrame({"size": pd.Series(values, dtype=object)}), [0, 1] * 12
    )
    assert [column.kind.value for column in model.tree_.columns] == ["categorical"]
    assert model.tree_.columns[0].categories == tuple(
        sorted({str(value).lower() for value in values})
    )


DAYS = pd.Series(pd.date_range("2020-01-01", periods=24))


HOURS = pd.Series(pd.date_range("2020-01-01 06:30", periods=24, freq="h"))


@pytest.mark.parametrize(
    ("times", "test"),
    [
        (DAYS, "when ≤ 2020-01-12"),
        (DAYS.astype(object), "when ≤ 2020-01-12"),
        (DAYS.dt.date, "when ≤ 2020-01-12"),
        (DAYS.dt.tz_localize("UTC"), "when ≤ 2020-01-12"),
        (HOURS, "when ≤ 2020-01-01 18:00:00"),
        (HOURS.dt.tz_localize("Asia/Tokyo"), "when ≤ 2020-01-01 09:00:00"),
    ],
    ids=["days", "timestamps", "dates", "with zone", "hours", "hours with zone"],
)
def test_dates_are_days_or_seconds_and_read_aloud_as_dates(times, test):
    frame, answer = pd.DataFrame({"when": times}), [0] * 12 + [1] * 12
    model = TreeClassifier().fit(frame, answer)
    assert [rule.describe() for rule in model.tree_.rules] == [test]
    assert model.predict(frame).tolist() == answer
    assert model.predict(frame[::-1]).tolist() == answer[::-1]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_dates_of_every_unit_zone_and_age_are_read_as_single_values_are(unit, zone):
    texts = ["1960-01-01T00:00:00.250", "1969-12-31T23:59:59.500", "2020-03-01T12:30:00", "NaT"]
    if unit != "ns":
        texts.append("3960-01-01T00:00:00")  # nanoseconds end in 2262
    times = pd.Series(np.array(texts, f"datetime64[{unit}]")).dt.tz_localize(zone)
    column = column_of_series("when", times)
    fine = "seconds" if unit == "s" else "milliseconds"
    truth = [np.nan if value is pd.NaT else date_number(value, fine) for value in times]
    assert column.unit == fine
    assert column.values.tolist() == pytest.approx(truth, rel=0, abs=0, nan_ok=True)
    spec = ColumnSpec("when", column.kind, (), "days")
    days = [np.nan if value is pd.NaT else date_number(value, "days") for value in times]
    assert read_column(spec, times).values.tolist() == pytest.approx(
        days, rel=0, abs=0, nan_ok=True
    )


def test_a_date_that_is_missing_is_a_missing_value():
    frame, answer = (
        pd.DataFrame({"when": DAYS.where(DAYS.index % 5 != 0)}),
        np.array([0] * 12 + [1] * 12),
    )
    model = TreeClassifier().fit(frame, answer)
    known = frame["when"].notna()
    assert (model.predict(frame)[known] == answer[known]).all()
    assert "missing" in model.tree_.to_text()
    text = pd.DataFrame({"when": ["2020-01-03", None, "2020-01-20"]})
    assert model.predict(text)[[0, 2]].tolist() == [0, 1]


@pytest.mark.parametrize(
    "times",
    [DAYS - DAYS[0], DAYS.dt.to_period("D"), DAYS.dt.time],
    ids=["duration", "period", "time"],
)
def test_what_is_no_point_in_time_is_refused_by_name_with_the_way_out(times):
    with pytest.raises(DataError, match="column 'odor' holds dates or times .* days since a date"):
        TreeClassifier().fit(MIXED.assign(odor=times), ANSWER)


@pytest.mark.parametrize(
    "days", [DAYS, DAYS.dt.tz_localize("UTC"), DAYS - DAYS[0], DAYS.astype(object)]
)
def test_dates_where_the_tree_compares_numbers_are_refused(days):
    model = TreeClassifier().fit(MIXED, ANSWER)
    with pytest.raises(
        DataError,
        match="column 'age' holds dates or times .* where numbers or categories are asked for",
    ):
        model.predict(MIXED.assign(age=days))


def test_a_frame_with_a_value_never_seen_is_predicted():
    model = TreeClassifier().fit(MIXED, ANSWER)
    new = MIXED.iloc[:1].assign(odor="lavender", size="xxl")
    assert model.predict_proba(new).sum() == pytest.approx(1)


@pytest.mark.parametrize("method", ["cart", "id3"])
def test_missing_values_are_learned_from(method, iris):
    X, y = iris[0].copy(), iris[1]
    X[::7, 2] = np.nan
    model = TreeClassifier(method).fit(X, y)
    assert model.score(X, y) > 0.9


def test_infinite_values_are_refused(iris):
    X = iris[0].copy()
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        TreeClassifier().fit(X, iris[1])
    with pytest.raises(DataError, match="'age' holds an infinite value"):
        TreeClassifier().fit(MIXED.assign(age=np.inf), ANSWER)


@pytest.mark.parametrize("odd", [np.nan, None])
def test_a_row_without_a_number_to_learn_is_refused_by_its_row(odd):
    numbers = pd.Series([1.0, odd, *range(len(MIXED) - 2)], dtype=object)
    with pytest.raises(DataError, match="y has no number in row 2 .*leave such rows out"):
        TreeRegressor().fit(MIXED, numbers)


def test_a_frame_without_rows_is_refused_as_such():
    with pytest.raises(ValueError, match="X has 0 rows"):
        TreeClassifier().fit(MIXED[:0], ANSWER[:0])


def test_what_is_no_frame_of_single_values_is_refused():
    with pytest.raises(ValueError, match="Pass a DataFrame containing"):
        TreeClassifier().fit(MIXED["age"], ANSWER)
    lists, model = MIXED.assign(odor=[[1, 2]] * len(MIXED)), TreeClassifier().fit(MIXED, ANSWER)
    for ask in (lambda: TreeClassifier().fit(lists, ANSWER), lambda: model.predict(lists)):
        with pytest.raises(DataError, match=r"column 'odor' holds a list in a row, \[1, 2\]"):
            ask()
    with pytest.raises(DataError, match="column 'age' must hold numbers; setting an array"):
        model.tree_.predict(MIXED.assign(age=[[1]] * len(MIXED)))


def test_class_weights_are_row_weights(iris):
    X, y = iris
    weights = {0: 1.0, 1: 3.0, 2: 0.5}
    by_class = TreeClassifier(max_depth=2, class_weight=weights).fit(X, y)
    by_row = TreeClassifier(max_depth=2).fit(X, y, sample_weight=np.array([weights[c] for c in y]))
    assert by_class.tree_.to_json() == by_row.tree_.to_json()
    balanced = TreeClassifier(max_depth=1, class_weight="balanced").fit(X[:120], y[:120])
    assert balanced.tree_.weights[0] == pytest.approx([40, 40, 40])


@pytest.mark.parametrize("weight", [-1, -1e-300, float("nan"), float("inf"), -float("inf")])
def test_class_weights_that_are_no_weights_are_refused_by_name(weight, iris):
    X, y = iris
    with pytest.raises(ValueError, match="class_weight must be finite numbers ≥ 0; class 1 has"):
        TreeClassifier(class_weight={0: 1, 1: weight}).fit(X, y)


def test_rows_of_no_weight_are_no_rows(iris):
    X, y = iris
    weights = np.ones(150)
    weights[100:] = 0
    model = TreeClassifier().fit(X, y, weights)
    assert model.tree_.counts[0] == 100
    assert model.predict_proba(X).shape == (150, 3)
    with pytest.raises(ValueError, match="weight"):
        TreeClassifier().fit(X, y, np.zeros(150))


@pytest.mark.parametrize("light", [1e-3, 1e-7, 1e-12])
def test_a_light_row_teaches_as_it_teaches_scikit_learns_tree(light):
    X, y, weights = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 0], [1, 1, 1, light]
    ours, theirs = TreeClassifier().fit(X, y, weights), DecisionTreeClassifier().fit(X, y, weights)
    assert ours.predict(X).tolist() == theirs.predict(X).tolist() == y
    assert ours.tree_.counts[0] == 4


def test_decision_paths_lead_from_the_root_to_where_apply_says(iris):
    X, y = iris
    model = TreeClassifier(max_depth=3).fit(X, y)
    path, at = model.decision_path(X), model.apply(X)
    assert path.shape == (150, model.tree_.n_nodes)
    for row in range(0, 150, 10):
        expected = [node for node, _ in model.tree_.path(at[row])] + [at[row]]
        assert sorted(path[row].indices.tolist()) == expected


def test_prices_reach_the_tree_and_the_bill(iris):
    X, y = iris
    prices = {"x0": 1, "x1": 1, "x2": 10, "x3": 4}
    model = TreeClassifier(overrides={"cost": "table", "cost.prices": prices}).fit(X, y)
    tree = model.tree_
    for node in np.flatnonzero(~tree.is_leaf):
        assert tree.price[node] == prices[tree.rule(node).column]
    assert model.prices_paid(X) == pytest.approx(tree.price_to[model.apply(X)])


def test_overrides_read_as_mapping_and_as_on_the_command_line(iris):
    mapping = TreeClassifier(
        max_depth=2, overrides={"criterion": "gain_ratio", "impurity": "entropy"}
    ).fit(*iris)
    listed = TreeClassifier(
        max_depth=2, overrides=["criterion=gain_ratio", "impurity=entropy"]
    ).fit(*iris)
    assert mapping.tree_.to_json() == listed.tree_.to_json()


PLUGIN = '''
import attrs
from arboretum.testing.tables import ToyReduction


@attrs.frozen
class Mine(ToyReduction):
    """Weighted decrease of a mean impurity, from a file."""

    name = "criterion_of_a_file"
'''


def test_components_of_a_file_are_at_hand(tmp_path, iris):
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    plain = TreeClassifier(max_depth=2, overrides={"criterion": "reduction"}).fit(*iris)
    for plugins in ([str(file)], [file], str(file)):
        model = TreeClassifier(
            max_depth=2, overrides={"plugins": plugins, "criterion": "criterion_of_a_file"}
        )
        assert clone(model).fit(*iris).score(*iris) == pytest.approx(plain.score(*iris))
        assert type(model._parts().criterion).__name__ == "Mine"
    listed = TreeClassifier(overrides=[f"plugins=[{file}]", "criterion=criterion_of_a_file"])
    assert type(listed._parts().criterion).__name__ == "Mine"
    with pytest.raises(ConfigError, match="criterion_of_a_file"):
        TreeClassifier(overrides={"criterion": "criterion_of_a_file"}).fit(*iris)


def test_values_that_components_follow_are_still_taken(iris):
    assert TreeClassifier(overrides={"theta": 0.5}).fit(*iris).get_n_leaves() > 1


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"method": "crat"}, ConfigError, "did you mean 'cart'"),
        ({"max_depth": -1}, ConfigError, "max_depth"),
        ({"min_samples_leaf": 0}, ConfigError, "min_leaf"),
        ({"overrides": {"criterion.nope": 1}}, ConfigError, "nope"),
        (
            {"overrides": {"seed": 3}},
            ConfigError,
            "no 'seed' among its overrides: give random_state=",
        ),
        (
            {"overrides": ["seed=3"]},
            ConfigError,
            "no 'seed' among its overrides: give random_state=",
        ),
        ({"overrides": {"dataset": "iris"}}, ConfigError, "no 'dataset' .* rows are given to fit"),
        ({"overrides": {"split": "holdout"}}, ConfigError, "no 'split' .* cross_val_score"),
        ({"overrides": {"split.share": 0.5}}, ConfigError, r"no 'split\.share' .* cross_val_score"),
        ({"overrides": {"tracker": "none"}}, ConfigError, "no 'tracker' .* records nothing"),
        (
            {"overrides": {"budget.second": 3}},
            ConfigError,
            "budget: unknown field 'second'; did you mean 'seconds'",
        ),
        ({"budget__seconds": -1}, ConfigError, "budget.seconds must be"),
        ({"overrides": {"tetha": 0.5}}, ConfigError, "'tetha'.* did you mean 'theta'"),
        ({"overrides": {"plugins": 3}}, ConfigError, "plugins must be a list of files .* got 3"),
        ({"overrides": {"plugins": ["absent.py"]}}, ConfigError, r"absent\.py' does not exist"),
        ({"overrides": "criterion=gini"}, ConfigError, "overrides must be"),
        (
            {"overrides": {"impurity": "variance"}},
            CapabilityError,
            "impurity variance does regression.*choose another impurity .impurity=gini, or",
        ),
        ({"method": "exact"}, CapabilityError, "needs a solver"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(parameters, error, message, iris):
    with pytest.raises(error, match=message) as caught:
        TreeClassifier(**parameters).fit(*iris)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, ArboretumError)


def test_the_seed_is_the_random_state(iris):
    trees = [
        TreeClassifier("random", random_state=seed).fit(*iris).tree_.to_json() for seed in (1, 1, 2)
    ]
    assert trees[0] == trees[1]
    assert trees[0] != trees[2]


def test_a_verified_fit_is_the_same_fit(iris):
    assert (
        TreeClassifier(verify=True).fit(*iris).tree_.to_json()
        == TreeClassifier().fit(*iris).tree_.to_json()
    )


def test_what_a_solver_proves_and_its_other_trees_are_kept():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    y = X[:, 0] ^ X[:, 1]
    path = TreeClassifier("path", objective__lam=0.01).fit(X, y).solution_
    assert path.lower_bound == path.value == pytest.approx(0.04)
    assert [(point.values, point.tree.n_leaves) for point in path.front.points] == [
        ((0.5, 1.0), 1),
        ((0.0, 4.0), 4),
    ]
    good = TreeClassifier("rashomon", objective__lam=0.01).fit(X, y)
    assert good.solution_.tree is good.tree_ and int(good.solution_.details["trees"]) == 2
    assert pickle.loads(pickle.dumps(good)).solution_.tree == good.tree_
    assert TreeClassifier().fit(np.zeros((4, 2)), [0, 1, 1, 1]).solution_ is None


def test_they_work_inside_other_estimators(iris):
    X, y = iris
    assert (
        cross_val_score(
            make_pipeline(StandardScaler(), TreeClassifier(max_depth=3)), X, y, cv=3
        ).mean()
        > 0.9
    )
    search = GridSearchCV(
        TreeClassifier(), {"max_depth": [1, 3], "method": ["cart", "id3"]}, cv=3
    ).fit(X, y)
    assert search.best_score_ > 0.9
    assert (
        BaggingClassifier(TreeClassifier(max_depth=2), n_estimators=5, random_state=0)
        .fit(X, y)
        .score(X, y)
        > 0.9
    )
    boosted = AdaBoostClassifier(TreeClassifier(max_depth=1), n_estimators=20, random_state=0).fit(
        X, y
    )
    assert boosted.score(X, y) > TreeClassifier(max_depth=1).fit(X, y).score(X, y)


def test_they_survive_cloning_and_pickling(iris):
    model = TreeClassifier(max_depth=2, overrides={"impurity": "entropy"}).fit(*iris)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(iris[0]).tolist() == model.predict(iris[0]).tolist()


def test_text_and_picture_are_at_hand(iris):
    model = TreeClassifier(max_depth=2).fit(*iris)
    assert "x3 ≤ 1.75 ▸ 1" in model.tree_.to_text()
    assert model.tree_.to_svg().startswith("<svg")


def test_the_scikit_learn_tree_answers_with_the_classes_given_to_fit(iris):
    X, y = iris[0].astype(np.float32), iris[1]
    for labels in (y, np.array(["a", "b", "c"])[y], y * 10 - 5, y == 1):
        model = TreeClassifier(max_depth=4).fit(X, labels)
        theirs = model.to_sklearn()
        assert isinstance(theirs, DecisionTreeClassifier)
        assert theirs.predict(X).dtype == labels.dtype
        assert np.array_equal(theirs.predict(X), model.predict(X))
        assert theirs.predict_proba(X) == pytest.approx(model.predict_proba(X))
        assert np.array_equal(theirs.classes_, model.classes_)
        assert theirs.n_classes_ == len(np.unique(labels))
        assert theirs.score(X, labels) == model.score(X, labels)


def test_the_scikit_learn_tree_of_a_regressor_predicts_the_same_numbers():
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32)
    model = TreeRegressor(max_depth=3).fit(X, y)
    assert model.to_sklearn().predict(X) == pytest.approx(model.predict(X))
    with pytest.raises(NotFittedError):
        TreeRegressor().to_sklearn()


def test_labels_of_any_kind_come_back(iris):
    X, y = iris
    for labels in (np.array(["a", "b", "c"])[y], y - 5, y == 1, y.astype(float), (y * 10**12)):
        model = TreeClassifier().fit(X, labels)
        assert np.array_equal(model.predict(X), labels)
        assert model.classes_.dtype == labels.dtype


def test_a_frame_of_constants_has_a_tree_that_asks_nothing():
    frame = pd.DataFrame({"a": ["x"] * 4, "b": [1.0] * 4})
    model = TreeClassifier().fit(frame, [0, 1, 1, 1])
    assert model.get_n_leaves() == 1
    assert model.predict(frame).tolist() == [1] * 4
    assert model.feature_importances_.tolist() == [0, 0]


def test_float32_rows_reach_the_engine_as_float32_without_a_copy_per_column(monkeypatch):
    from arboretum.sklearn import base as module

    seen = []
    grow = module.grow_tree

    def watched(parts, table, *rest, **options):
        seen.append(table)
        return grow(parts, table, *rest, **options)

    monkeypatch.setattr(module, "grow_tree", watched)
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    TreeClassifier(max_depth=1).fit(X, X[:, 0] > 0)
    values = [column.values for column in seen[0].columns]
    assert all(v.dtype == np.float32 for v in values)
    assert (
        len(
            {
                v.base.base.ctypes.data if v.base.base is not None else v.base.ctypes.data
                for v in values
            }
        )
        == 1
    )


def test_importing_the_package_loads_no_scikit_learn():
    loaded = "print('sklearn' in sys.modules)"
    code = f"import sys, arboretum; {loaded}; arboretum.TreeClassifier; {loaded}"
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True
    )
    assert found.stdout.split() == ["False", "True"]
