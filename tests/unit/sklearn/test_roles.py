"""What rows say besides their target, told to ``fit``: read and refused as in ``dataset=file``."""

from __future__ import annotations

import attrs
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import arboretum
from arboretum import TreeClassifier, TreeRegressor
from arboretum.api import AdditiveObjective
from arboretum.errors import CapabilityError, ConfigError, DataError

N = 120
INSTANCE = {"method": "gosdt", "objective": "instance_cost", "objective__lam": 0.02}


@pytest.fixture(scope="module")
def rows():
    """Rows with everything that is known of some."""
    rng = np.random.default_rng(5)
    age, marker = rng.integers(20, 80, N).astype(float), rng.choice(["high", "low"], N)
    drug = rng.choice(["a", "b"], N)
    got = np.where((age > 50) & (marker == "high"), 1, -0.5) * (drug == "a") + 0.01 * age
    return pd.DataFrame(
        {
            "age": age,
            "marker": marker,
            "drug": drug,
            "got": got.round(3),
            "chance": 0.5,
            "time": (rng.exponential(1 + (age > 60), N) + 0.01).round(3),
            "seen": rng.integers(0, 2, N),
            "of_a": rng.integers(0, 9, N) / 4,
            "of_b": rng.integers(0, 9, N) / 4,
        }
    )


def features(rows):
    return rows[["age", "marker"]]


def costs_of(rows):
    return rows[["of_a", "of_b"]].set_axis(["a", "b"], axis=1)


CASES = {
    "policy": (
        TreeClassifier("policy_tree", objective__lam=0.05),
        lambda r: {"treatment": r["drug"], "outcome": r["got"], "propensity": r["chance"]},
        "method=policy_tree objective.lam=0.05 dataset.treatment=drug dataset.outcome=got "
        "dataset.propensity=chance dataset.ignore=[time,seen,of_a,of_b]",
    ),
    "survival": (
        TreeRegressor("survival_tree", objective__lam=0.02, max_depth=2),
        lambda r: {"y": r["time"], "event": r["seen"].astype(bool)},
        "method=survival_tree objective.lam=0.02 stopping.standard.max_depth=2 dataset.target=time "
        "dataset.event=seen dataset.ignore=[drug,got,chance,of_a,of_b]",
    ),
    "costs": (
        TreeClassifier(**INSTANCE),
        lambda r: {"y": r["drug"], "costs": costs_of(r)},
        "method=gosdt objective=instance_cost objective.lam=0.02 dataset.target=drug "
        "dataset.costs={a:of_a,b:of_b} dataset.ignore=[got,chance,time,seen]",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_tree_is_that_of_a_run_on_a_file_with_the_same_columns(case, rows, tmp_path):
    estimator, known, words = CASES[case]
    fitted = estimator.fit(features(rows), **known(rows))
    rows.to_csv(tmp_path / "rows.csv", index=False)
    record = arboretum.run(
        ["dataset=file", f"dataset.path={tmp_path / 'rows.csv'}", "split=none", *words.split()]
    )
    assert fitted.tree_.to_text() == record.tree.to_text()
    assert fitted.solution_.value == record.solution.value
    assert fitted.solution_.status is record.solution.status
    assert fitted.get_n_leaves() > 1
    measured = fitted.measures(features(rows), **known(rows))
    assert {"mean_cost", "concordance"} & measured.keys()
    reported = {f"train_{name}": pytest.approx(value) for name, value in measured.items()}
    kept = record.metrics
    assert {name: kept[name] for name in kept if name.startswith("train_")} == reported


def test_other_rows_are_measured_by_what_is_said_of_them(rows):
    X, costs = features(rows), costs_of(rows)
    model = TreeClassifier(**INSTANCE).fit(X[:80], rows["drug"][:80], costs=costs[:80])
    found = model.measures(X[80:], rows["drug"][80:], costs=costs[80:])
    paid = np.where(model.predict(X[80:]) == "a", costs["a"][80:], costs["b"][80:])
    assert found["mean_cost"] == pytest.approx(paid.mean())
    assert found["mean_cost_error"] == pytest.approx(paid.std() / len(paid) ** 0.5)
    large = {name: values * 1e300 for name, values in costs.items()}
    more = model.measures(X[80:], rows["drug"][80:], costs={k: v[80:] for k, v in large.items()})
    assert more["mean_cost_error"] == pytest.approx(found["mean_cost_error"] * 1e300)
    assert found["error"] == pytest.approx(1 - model.score(X[80:], rows["drug"][80:]))
    weight = np.arange(40) % 2.0
    weighed = model.measures(X[80:], rows["drug"][80:], weight, costs=costs[80:])
    assert weighed["mean_cost"] == pytest.approx(paid[1::2].mean())
    # numbers alone are read without a frame's kinds
    numbers = TreeRegressor("survival_tree", max_depth=1).fit(
        rows[["age"]].to_numpy(), rows["time"], event=rows["seen"]
    )
    half = numbers.measures(
        rows[["age"]].to_numpy()[:60], rows["time"][:60], event=rows["seen"][:60]
    )
    assert 0 <= half["concordance"] <= 1


def structured(rows, **types):
    """Events and times as scikit-survival has them."""
    types = types or {"seen": bool, "time": float}
    given = zip(*(rows[name].astype(one) for name, one in types.items()), strict=True)
    return np.array(list(given), dtype=list(types.items()))


def test_times_and_events_in_one_array_are_read_and_divided(rows):
    X, y = features(rows), structured(rows)
    model = TreeRegressor("survival_tree", max_depth=1)
    assert model.fit(X, y).tree_ == model.fit(X, rows["time"], event=rows["seen"]).tree_
    assert model.fit(X, y[["time", "seen"]]).tree_ == model.tree_

    def concordance(fitted, X, y):
        return fitted.measures(X, y)["concordance"]

    scores = cross_val_score(model, X, y, scoring=concordance, cv=3)
    assert ((scores > 0) & (scores < 1)).all()


@pytest.mark.parametrize(
    "types", [{"time": float}, {"time": float, "got": float}, {"time": float, "drug": "U1"}]
)
def test_an_array_of_something_else_is_refused(types, rows):
    with pytest.raises(ConfigError, match=f"array of {', '.join(types)}; give one truth value"):
        TreeRegressor("survival_tree").fit(features(rows), structured(rows, **types))
    with pytest.raises(ConfigError, match="array of seen, time beside event=; give one"):
        TreeRegressor("survival_tree").fit(features(rows), structured(rows), event=rows["seen"])


def test_what_cannot_be_measured_is_refused_by_name(rows):
    X, y, costs = features(rows), rows["drug"], costs_of(rows)
    model = TreeClassifier(**INSTANCE).fit(X, y, costs=costs)
    with pytest.raises(DataError, match=r"measures is not told the cost of a; say measures\(X, y"):
        model.measures(X, y)
    with pytest.raises(DataError, match="y has the class 'c', which no training row has"):
        model.measures(X, y.replace("b", "c"), costs=costs)
    with pytest.raises(DataError, match="X has 120 rows, but y has 7"):
        model.measures(X, y[:7], costs=costs)
    with pytest.raises(ValueError, match="TreeClassifier.measures requires y, or a treatment"):
        model.measures(X, costs=costs)
    with pytest.raises(DataError, match="y has the class 0, which"):
        TreeClassifier().fit(X, rows["seen"] + 1).measures(X, rows["seen"])
    with pytest.raises(NotFittedError):
        TreeClassifier().measures(X, y)


def test_costs_are_read_by_label_or_by_the_place_of_a_class(rows):
    X, y, costs = features(rows), rows["drug"], costs_of(rows)
    model = TreeClassifier(**INSTANCE)
    known = model.fit(X, y, costs=costs).tree_
    assert model.fit(X, y, costs=costs[["b", "a"]]).tree_ == known
    assert model.fit(X, y, costs=dict(costs)).tree_ == known
    assert model.fit(X, y, costs=costs.to_numpy()).tree_ == known
    swapped = model.fit(X, y, costs=costs.to_numpy()[:, ::-1]).tree_
    assert swapped.to_text() != known.to_text()
    # labels are of_any type, as classes are
    numbers = model.fit(X, (y == "b").astype(int), costs={1: costs["b"], 0: costs["a"]})
    assert numbers.solution_.value == model.fit(X, y, costs=costs).solution_.value


def test_rows_of_no_weight_take_what_is_known_of_them_along(rows):
    X, y, costs = features(rows), rows["drug"], costs_of(rows)
    weight = np.arange(N) % 3 > 0
    model = TreeClassifier(**INSTANCE)
    some = model.fit(X, y, weight.astype(float), costs=costs).tree_
    assert some == model.fit(X[weight], y[weight], costs=costs[weight]).tree_


def test_a_column_of_constants_gets_the_leaf_of_the_objective(rows):
    X = pd.DataFrame({"x": np.ones(N)})
    costs = {"a": np.full(N, 2.0), "b": np.ones(N)}
    model = TreeClassifier(**INSTANCE).fit(X, np.where(rows.index < 100, "a", "b"), costs=costs)
    assert model.predict(X[:1]).tolist() == ["b"]
    hazard = TreeRegressor("survival_tree").fit(X, rows["time"], event=rows["seen"])
    assert hazard.predict(X[:1]) == pytest.approx([1.0])
    median = TreeRegressor(impurity="absolute_error").fit(X[:3], [0.0, 1.0, 8.0])
    assert median.predict(X[:1]).tolist() == [1.0]


@attrs.frozen
class Amount(AdditiveObjective):
    """A wrong answer costs the amount."""

    name = "amount"
    reads = ("amount",)

    def costs(self, problem):
        objects = problem.objects
        wrong = objects.label[:, None] != np.arange(objects.n_classes)
        return wrong * objects.role("amount")[:, None]


def test_a_role_of_a_component_s_own_is_told_by_its_name(rows):
    X, y = features(rows), rows["drug"]
    model = TreeClassifier("gosdt", objective=Amount(lam=0.05))
    found = model.fit(X, y, roles={"amount": rows["of_a"]})
    wrong = found.predict(X) != y
    assert found.solution_.value == pytest.approx(
        (wrong * rows["of_a"]).mean() + 0.05 * found.get_n_leaves()
    )
    assert model.fit(X, y, roles=rows[["of_a"]].set_axis(["amount"], axis=1)).tree_ == found.tree_
    with pytest.raises(DataError, match=r"not told the amount; say fit\(X, y, roles=\{'amount'"):
        model.fit(X, y)


def test_cross_validation_divides_arrays_and_frames(rows):
    X, y, costs = features(rows), rows["drug"], costs_of(rows)
    model = TreeClassifier(**INSTANCE)
    scores = cross_val_score(model, X, y, params={"costs": costs}, cv=3)
    assert len(scores) == 3 and np.isfinite(scores).all()
    search = GridSearchCV(model, {"objective__lam": [0.02, 0.2]}, cv=3).fit(X, y, costs=costs)
    assert search.best_estimator_.tree_.n_leaves >= 1
    with pytest.raises(DataError, match="divides arrays and frames, but no mapping of them"):
        cross_val_score(model, X, y, params={"costs": dict(costs)}, cv=3, error_score="raise")


def test_roles_are_routed_through_a_pipeline(rows):
    with sklearn.config_context(enable_metadata_routing=True):
        tree = TreeRegressor("survival_tree", max_depth=1).set_fit_request(event=True)
        model = make_pipeline(StandardScaler(), tree)
        assert (
            len(
                cross_val_score(
                    model, rows[["age"]], rows["time"], params={"event": rows["seen"]}, cv=2
                )
            )
            == 2
        )


WRONG = [
    ("event", 2.0, "0 (censored) or 1 (the event) in every row; row 4 has 2"),
    ("event", np.nan, "0 (censored) or 1 (the event) in every row; row 4 has nan"),
    ("propensity", 0.0, "a probability above 0, up to 1, in every row; row 4 has 0"),
    ("propensity", 1.5, "a probability above 0, up to 1, in every row; row 4 has 1.5"),
    ("outcome", np.nan, "a finite number in every row; row 4 has nan"),
    ("outcome", "much", "a finite number in every row; row 4 has 'much'"),
]


@pytest.mark.parametrize("role, value, words", WRONG)
def test_files_and_estimators_refuse_the_same_numbers_in_the_same_words(
    role, value, words, rows, tmp_path
):
    column = {"event": "seen", "propensity": "chance", "outcome": "got"}[role]
    changed = rows.astype({column: object})
    changed.loc[3, column] = value
    with pytest.raises(DataError) as told:
        TreeClassifier("policy_tree").fit(features(rows), rows["drug"], **{role: changed[column]})
    assert str(told.value).startswith(f"{role} must hold {words}"[:-6])
    changed.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(DataError) as read:
        arboretum.run(
            [
                "dataset=file",
                f"dataset.path={tmp_path / 'rows.csv'}",
                "dataset.target=drug",
                f"dataset.{role}={column}",
                "method=cart",
            ]
        )
    assert str(read.value).endswith(f"must hold {words}")


@pytest.mark.parametrize(
    "estimator, arguments, error, words",
    [
        (
            TreeRegressor("survival_tree"),
            lambda r: {"y": r["time"]},
            DataError,
            r"objective survival reads the event .* say fit\(X, y, event=VALUES\)",
        ),
        (
            TreeRegressor("survival_tree"),
            lambda r: {"y": r["time"] - 1, "event": r["seen"]},
            DataError,
            r"times lie above 0, and that of row \d+ is -0",
        ),
        (
            TreeRegressor("survival_tree"),
            lambda r: {"y": r["time"], "event": r["seen"][:5]},
            DataError,
            r"event is of the shape \(5,\), and X has 120 rows",
        ),
        (
            TreeRegressor("cart"),
            lambda r: {"treatment": r["drug"]},
            ConfigError,
            "TreeRegressor predicts numbers; use TreeClassifier",
        ),
        (
            TreeClassifier("policy_tree"),
            lambda r: {"y": r["drug"]},
            DataError,
            r"reads the outcome .* say fit\(X, y, outcome=VALUES\)",
        ),
        (
            TreeClassifier("policy_tree"),
            lambda r: {"y": r["drug"], "treatment": r["drug"], "outcome": r["got"]},
            ConfigError,
            "treatment is the target; leave y out",
        ),
        (
            TreeClassifier("policy_tree"),
            lambda r: {"y": r["drug"], "outcome": r["got"], "sample_weight": r["age"]},
            CapabilityError,
            "does not handle object weights",
        ),
        (
            TreeClassifier(**INSTANCE),
            lambda r: {"y": r["drug"], "costs": costs_of(r)[["b"]]},
            DataError,
            r"not told the cost of a; say fit\(X, y, costs=FRAME, a column for each class\)",
        ),
        (
            TreeClassifier(**INSTANCE),
            lambda r: {"y": r["drug"], "costs": r["of_a"].to_numpy()},
            DataError,
            r"costs is an array of the shape \(120,\), and y has the classes a, b; give",
        ),
        (
            TreeClassifier(**INSTANCE),
            lambda r: {
                "y": r["drug"],
                "costs": costs_of(r) / np.where(r["age"] > 50, 0, 1)[:, None],
            },
            DataError,
            r"costs\['a'\] must hold a finite number in every row; row \d+ has ",
        ),
        (
            TreeClassifier(**INSTANCE),
            lambda r: {"y": r["drug"], "costs": costs_of(r).set_axis(["a", "a"], axis=1)},
            DataError,
            "the column 'a' occurs twice; give every column one name",
        ),
        (
            TreeClassifier(**INSTANCE),
            lambda r: {"y": r["seen"], "costs": dict.fromkeys([0, 1, "1"], r["of_a"])},
            DataError,
            "costs names the class '1' twice; give every class one column",
        ),
        (
            TreeClassifier(**INSTANCE),
            lambda r: {"y": r["drug"], "costs": {"a": r["drug"], "b": r["of_b"]}},
            DataError,
            r"costs\['a'\] must hold a finite number in every row; row 1 has '[ab]'",
        ),
        (
            TreeRegressor(),
            lambda r: {"y": r["time"], "costs": costs_of(r)},
            ConfigError,
            "costs are of labels, and TreeRegressor has none; use TreeClassifier",
        ),
        (
            TreeClassifier("policy_tree"),
            lambda r: {"treatment": r["drug"].where(r.index != 3, None), "outcome": r["got"]},
            DataError,
            r"y has no class in row 4 .*leave such rows out",
        ),
        (
            TreeClassifier(),
            lambda r: {"y": r["drug"], "roles": {"propensity": r["chance"]}},
            ConfigError,
            r"'propensity' has a parameter of its own; say fit\(X, y, propensity=VALUES\)",
        ),
        (
            TreeClassifier(),
            lambda r: {"y": r["drug"], "roles": r["got"].to_numpy()},
            ConfigError,
            "roles is a mapping from names to values, or a frame; got ndarray",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(estimator, arguments, error, words, rows):
    with pytest.raises(error, match=words):
        estimator.fit(features(rows), **arguments(rows))
