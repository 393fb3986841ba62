"""Every kind is a parameter, every field of a component one below it: listed, set, searched,
cloned, refused by name.
"""

from __future__ import annotations

import inspect
import pickle

import attrs
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_no_attributes_set_in_init, check_set_params

from arboretum.errors import ConfigError
from arboretum.interfaces.component import KINDS
from arboretum.plugin.assemble import UNUSED
from arboretum.sklearn import TreeClassifier, TreeRegressor
from arboretum.sklearn.parameters import spell_limits
from arboretum.testing.tables import ToyReduction


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize("estimator", [TreeClassifier, TreeRegressor])
def test_every_kind_that_an_estimator_uses_is_a_parameter(estimator):
    assert set(KINDS) - set(UNUSED) <= set(inspect.signature(estimator).parameters)


def test_kinds_and_fields_say_what_overrides_say(iris):
    overrides = {
        "criterion": "regularized",
        "criterion.lam": 0.5,
        "stopping": ["standard", "mass"],
        "stopping.mass.theta": 0.2,
    }
    said = {
        "criterion": "regularized",
        "criterion__lam": 0.5,
        "stopping": ["standard", "mass"],
        "stopping__mass__theta": 0.2,
    }
    assert (
        TreeClassifier(**said).fit(*iris).tree_
        == TreeClassifier(overrides=overrides).fit(*iris).tree_
    )
    assert TreeClassifier(pruner="none", impurity="entropy").fit(*iris).get_n_leaves() > 1


def test_parameters_list_the_fields_of_what_the_method_chose():
    found = TreeClassifier(
        "cart", max_depth=4, criterion="regularized", criterion__lam=2
    ).get_params()
    assert (found["criterion"], found["criterion__lam"], found["criterion__theta"]) == (
        "regularized",
        2,
        0.0,
    )
    assert (found["stopping__standard__max_depth"], found["method__order"], found["stopping"]) == (
        4,
        "depth",
        None,
    )
    assert "criterion__theta" not in TreeClassifier(
        criterion="regularized", criterion__lam=2
    ).get_params(deep=False)
    again = TreeClassifier(**found)
    assert again.get_params() == found
    assert TreeClassifier(criterion="nosuch", criterion__q=1).get_params()["criterion__q"] == 1


def test_fields_are_searched_also_inside_a_pipeline(iris):
    grid = {
        "criterion__lam": [0.0, np.float64(50.0)],
        "max_depth": np.arange(1, 3),
        "method__order": ["depth", "best"],
    }
    model = TreeClassifier(criterion="regularized", criterion__lam=0.0)
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(*iris)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert (
        search.best_estimator_.get_params()["criterion__lam"]
        == search.best_params_["criterion__lam"]
    )
    pipe = make_pipeline(StandardScaler(), model).set_params(treeclassifier__criterion__lam=7)
    assert pipe[-1]._parts().criterion.lam == 7


def test_fields_survive_cloning_pickling_and_scikit_learns_checks(iris):
    model = TreeClassifier(
        criterion="regularized",
        criterion__lam=3,
        cost="table",
        cost__prices={"x0": 2.0},
        max_depth=2,
    )
    copied = clone(model).set_params(criterion__lam=4)
    assert (model.get_params()["criterion__lam"], copied.get_params()["criterion__lam"]) == (3, 4)
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()
    assert repr(model).startswith("TreeClassifier(cost='table', cost__prices=")
    for check in (check_no_attributes_set_in_init, check_set_params):
        check("TreeClassifier", model)


@attrs.frozen
class Scaled(ToyReduction):
    """A criterion of somebody's notebook, in no plugin."""

    name = "scaled"
    q: float = attrs.field(default=1.0, validator=attrs.validators.gt(0.0))


def test_a_component_itself_is_a_value(iris):
    model = TreeClassifier(criterion=Scaled(q=2.0), max_depth=2)
    assert model.get_params()["criterion__q"] == 2.0
    assert clone(model).set_params(criterion__q=3)._parts().criterion == Scaled(q=3.0)
    assert (
        model.fit(*iris).tree_.n_leaves
        == TreeClassifier(criterion="reduction", max_depth=2).fit(*iris).tree_.n_leaves
    )
    search = GridSearchCV(
        model, {"criterion": [Scaled(), "gain_ratio"]}, cv=2, error_score="raise"
    ).fit(*iris)
    assert search.best_score_ > 0.5
    method, rule = model._parts().method, model._parts().stopping[0]
    given = TreeClassifier(
        method, stopping=[attrs.evolve(rule, max_depth=1), "pure"], stopping__standard__min_leaf=60
    )
    assert given.fit(*iris).tree_.counts[1:].min() >= 50 and given.get_depth() <= 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"criterion": "regularised"}, "did you mean 'regularized'"),
        (
            {"criterion": "regularized", "criterion__lamb": 3},
            "unknown parameter 'lamb'; did you mean 'lam'",
        ),
        ({"fields": {"criterion.lam": 3}}, "unknown override 'fields'"),
        ({"criterion": 3}, "criterion must be a name .* or a component of that kind; got 3"),
        ({"impurity": Scaled()}, "impurity must be .* got a criterion"),
        ({"criterion": Scaled(), "criterion__q": -1}, "must be > 0.0"),
        ({"stopping__mass__theta": 3}, "unknown stopping rule 'mass'"),
        (
            {"max_depth": 3, "overrides": ["stopping.standard.max_depth=4"]},
            "max_depth is asked for twice, as 3 and as 4",
        ),
        (
            {"max_depth": 3, "stopping": "pure"},
            r"unknown stopping rule 'standard'.* \(max_depth is stopping.standard.max_depth\)",
        ),
        (
            {"max_depth": 3, "method": "rpart"},
            r"known: rpart; say .*stopping__rpart__maxdepth \(max_depth is "
            r"stopping.standard.max_depth\)",
        ),
        ({"max_leaf_nodes": 3, "method__order": "depth"}, "method.order is asked for twice"),
        (
            {"max_leaf_nodes": 3, "method": "exact"},
            r"unknown parameter 'order'.*\(max_leaf_nodes grows best-first",
        ),
    ],
)
def test_what_is_unknown_or_contradicts_itself_is_refused_by_fit(parameters, message, iris):
    with pytest.raises(ConfigError, match=message) as told:
        TreeClassifier(**parameters).fit(*iris)
    assert isinstance(told.value, ValueError)


def test_names_that_no_parameter_has_are_refused_at_once():
    with pytest.raises(
        TypeError, match="TreeClassifier has no 'splitter': every node takes its best test"
    ):
        TreeClassifier(splitter="random")
    for name in ("max_dept", "criteron__lam", "verify__x", "dataset__path"):
        with pytest.raises(TypeError, match=f"TreeClassifier: unknown parameter '{name}'"):
            TreeClassifier(**{name: 1})
        with pytest.raises(ValueError, match=f"TreeClassifier: unknown parameter '{name}'"):
            TreeClassifier().set_params(**{name: 1})


@pytest.mark.parametrize("leaves", [2, 3, 5, 9])
def test_leaves_are_spent_best_first_as_scikit_learn_spends_them(leaves):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    ours, theirs = (
        TreeClassifier(max_leaf_nodes=leaves).fit(X, y),
        DecisionTreeClassifier(max_leaf_nodes=leaves).fit(X, y),
    )
    assert ours.get_n_leaves() == theirs.get_n_leaves() == leaves
    assert np.array_equal(ours.predict_proba(X), theirs.predict_proba(X))


def test_rows_that_a_node_needs_and_the_complexity_of_pruning_are_scikit_learns():
    rng = np.random.default_rng(5)
    # one column: the small nodes of several have ties, among which scikit-learn draws
    X, y, weight = rng.normal(size=(300, 1)), rng.integers(0, 3, 300), rng.uniform(0.5, 2.0, 300)
    for given in (
        {"min_samples_split": 40},
        {"ccp_alpha": 0.004},
        {"ccp_alpha": 0.0},
        {"min_samples_split": 20, "ccp_alpha": 0.008},
    ):
        ours, theirs = (
            kind(min_samples_leaf=4, **given).fit(X, y, weight)
            for kind in (TreeClassifier, DecisionTreeClassifier)
        )
        assert ours.get_n_leaves() == theirs.get_n_leaves(), given
        assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-12)
    with pytest.raises(ConfigError, match="pruner is asked for twice"):
        TreeClassifier(ccp_alpha=0.1, pruner="reduced_error").fit(X, y)


@pytest.mark.parametrize(
    ("asked", "columns"), [(2, 2), (0.5, 3), ("sqrt", 2), ("log2", 2), (1.0, 6), (99, 99)]
)
def test_columns_that_compete_at_a_node_are_counted_as_scikit_learn_counts_them(asked, columns):
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(60, 6)), rng.integers(0, 2, 60)
    ours = TreeClassifier(max_features=asked, random_state=3, verify=True).fit(X, y)
    assert np.array_equal(ours.predict(X), y)
    same = TreeClassifier(method__max_features=columns, random_state=3).fit(X, y)
    assert same.tree_ == ours.tree_
    if columns < 99:
        assert DecisionTreeClassifier(max_features=asked).fit(X, y).max_features_ == columns


@pytest.mark.parametrize("asked", [0, -1, 0.0, 1.5, float("nan"), "all", True, [2]])
def test_no_such_number_of_columns_is_refused(asked, iris):
    with pytest.raises(ConfigError, match="max_features must be a number of columns"):
        TreeClassifier(max_features=asked).fit(*iris)
    with pytest.raises(ConfigError, match="max_features: method exact looks at all columns"):
        TreeClassifier("gosdt", max_features=2).fit(*iris)


def test_a_budget_ends_a_solver_with_what_it_has():
    rng = np.random.default_rng(6)
    X, y = rng.integers(0, 2, (200, 12)).astype(float), rng.integers(0, 2, 200)
    for given in ({"budget__seconds": 0.0}, {"overrides": {"budget.seconds": 0.0}}):
        model = TreeClassifier(method="gosdt", objective__lam=0.001, **given).fit(X, y)
        assert not model.solution_.finished and model.solution_.lower_bound <= model.solution_.value
    assert TreeClassifier(budget__seconds=60.0).fit(X, y).solution_.finished


def test_leaves_limit_an_exact_solver(iris):
    model = TreeClassifier(method="gosdt", max_leaf_nodes=2, objective__lam=0.001).fit(*iris)
    assert model.get_n_leaves() == 2 and model.solution_.status.value == "optimal"


def test_missing_values_are_taken_where_the_encoder_makes_them_a_category():
    X, y = np.array([[1.0], [np.nan], [1.0], [np.nan], [2.0], [2.0]]), [0, 1, 0, 1, 0, 0]
    model = TreeClassifier(method="gosdt", objective__lam=0.01, encoder__missing="category").fit(
        X, y
    )
    assert model.score(X, y) == 1.0
    with pytest.raises(ValueError, match="NaN"):
        TreeClassifier(method="gosdt", objective__lam=0.01).fit(X, y)


def test_tags_say_whether_an_objective_knows_more_than_two_classes():
    several = [
        TreeClassifier("exact", objective=objective, solver=solver)
        .__sklearn_tags__()
        .classifier_tags.multi_class
        for objective, solver in (("f_score", "rank"), ("accuracy", "gosdt"))
    ]
    assert several == [False, True]


def test_limits_are_explained_where_a_message_speaks_of_them_by_whole_words():
    limits = {"max_leaf_nodes": 3}
    assert "stopping.standard.max_leaves" in spell_limits(limits, "stopping.standard.max_leaves")
    assert "method.order=best" in spell_limits(limits, "method.order must be best")
    assert spell_limits(limits, "the border of a standard_error") == ""
