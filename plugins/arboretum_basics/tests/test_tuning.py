"""The grid: on given scores, against folds dealt and judged by hand, and in whole runs."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import arboretum
from arboretum.api import (
    CapabilityError,
    Column,
    ColumnKind,
    ConfigError,
    Context,
    Selection,
    Solution,
    Status,
    Table,
    Target,
    Task,
)
from arboretum.engine.run import fit, pose
from arboretum.engine.select import with_fields
from arboretum.plugin.assemble import assemble
from arboretum.plugin.discovery import load_registry
from arboretum.testing import TunerSuite
from arboretum.testing.tables import TreeParts, toy_objects, toy_table
from arboretum_basics import tuning
from arboretum_basics.tuning import VALUES, Grid, deal_folds

DEPTH, LEAF = "stopping.standard.max_depth", "stopping.standard.min_leaf"
BOTH = {DEPTH: [1, 2, 4], LEAF: [1, 5]}
VALID = Table(
    "v",
    (Column("x", ColumnKind.continuous, np.arange(4.0)),),
    Target("y", Task.classification, np.array([0, 1, 0, 1], np.int32), ("a", "b")),
)


class TestInner(TunerSuite):
    """The grid that judges in folds keeps what the contract promises, as the plain one does."""

    @pytest.fixture
    def component(self):
        return Grid(values={DEPTH: (0.0, 0.2, 0.3, 0.2), LEAF: (0.0, 1.0)}, inner=3)


@attrs.frozen
class Given:
    """A score that a tree brings with it."""

    measure: str = "roc_auc"
    notes: tuple = ()

    def of(self, tree):
        return tree


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ((0.5, 0.7, 0.7, 0.6, 0.1), 10.0),
        ((None, 0.5, None, 0.6, None), 0.1),
        ((None,) * 5, 100.0),
        ((0.0, None, 0.0, 0.0, 0.0), 100.0),
    ],
)
def test_the_grid_keeps_the_first_of_the_best(monkeypatch, scores, kept):
    monkeypatch.setattr(tuning.ValidationScore, "on", staticmethod(lambda table: Given()))
    by_value, asked = dict(zip(VALUES, scores, strict=True)), []

    def grown(values):
        asked.append(values["criterion.lam"])
        return Solution(by_value[asked[-1]], 0.0, 0.0, Status.feasible)

    selection, solution = Grid().tune(grown, VALID)
    assert isinstance(selection, Selection) and asked == list(VALUES)
    assert selection.kept == {"criterion.lam": kept} and solution.tree == by_value[kept]
    told = [math.nan if one is None else one for one in scores]
    assert str([score for _, score in selection.tried]) == str(told)  # as text: NaN is NaN


def test_combinations_come_with_the_last_field_fastest():
    found = [tuple(one.values()) for one in Grid(values=BOTH).trials()]
    assert found == [(1, 1), (1, 5), (2, 1), (2, 5), (4, 1), (4, 5)]
    assert all(list(one) == [DEPTH, LEAF] for one in Grid(values=BOTH).trials())


def _parts(inner: int, values=BOTH, more=(), **choices):
    registry = load_registry()
    fields = {"tuner.values": values, "tuner.inner": inner, **dict(more)}
    chosen = {"method": "cart", "split": "none", "tracker": "none", "tuner": "grid", **choices}
    return assemble(registry, chosen, fields)


def slow_folds(label: list, n_folds: int, seed: int) -> list[int]:
    """Deal objects in turn, class by class, by chance within a class."""
    bits = np.random.PCG64(np.random.SeedSequence([seed, n_folds]))
    chance = np.random.Generator(bits).permutation(len(label)).tolist()
    queue = sorted(range(len(label)), key=lambda i: (label[i], chance[i]))
    return [queue.index(i) % n_folds for i in range(len(label))]


@pytest.mark.parametrize(
    ("seed", "n_folds", "coalesce"), [(0, 2, "none"), (1, 3, "sum"), (2, 5, "none")]
)
def test_the_folds_are_what_one_deals_grows_and_judges_by_hand(seed, n_folds, coalesce):
    table, more = toy_table(seed + 5, n_rows=90), {"encoder.coalesce": coalesce}
    if coalesce == "sum":  # rows that become one object, of several classes
        table = attrs.evolve(
            table.take(np.arange(90) // 2),
            target=attrs.evolve(table.target, codes=table.target.codes.copy()),
        )
    parts = _parts(n_folds, more=more)
    fitted = fit(parts, table, seed)
    problem = pose(parts, table, seed).problem
    objects = problem.objects
    assert (objects.n_objects < table.n_rows) == (coalesce == "sum")
    fold = slow_folds(objects.label.tolist(), n_folds, seed)
    assert deal_folds(objects, n_folds, seed).tolist() == fold
    means, errors = [], []
    for depth in BOTH[DEPTH]:
        for leaf in BOTH[LEAF]:
            changed = with_fields(problem.parts, {DEPTH: depth, LEAF: leaf})
            scores, sizes = [], []
            for k in range(n_folds):
                learn = np.array([i for i in range(len(fold)) if fold[i] != k])
                some = attrs.evolve(problem, parts=changed, objects=objects.take(learn))
                tree = changed.method.fit(some, Context(seed)).tree
                of_row = [fold[i] for i in objects.object_of_row]
                held = objects.table.take(np.array([r for r, f in enumerate(of_row) if f == k]))
                proba = tree.predict_proba(held)
                truth = np.eye(table.n_classes)[held.target.codes]
                scores.append(roc_auc_score(truth, proba, sample_weight=held.row_weights()))
                sizes.append(held.n_rows)
            mean = sum(n * s for n, s in zip(sizes, scores, strict=True)) / sum(sizes)
            square = sum(
                (n / sum(sizes)) ** 2 * (s - mean) ** 2 for n, s in zip(sizes, scores, strict=True)
            )
            means.append(mean)
            errors.append(math.sqrt(square * n_folds / (n_folds - 1)))
    chosen = fitted.selections["tuner"]
    assert [score for _, score in chosen.tried] == pytest.approx(means, abs=1e-12)
    assert list(chosen.standard_errors) == pytest.approx(errors, abs=1e-9)
    best = next(i for i, mean in enumerate(means) if mean >= max(means) - 1e-12)
    assert chosen.kept == chosen.tried[best][0]
    whole = attrs.evolve(_parts(0, more=more), tuner=None)
    assert fitted.solution.tree == fit(with_fields(whole, chosen.kept), table, seed).solution.tree


def test_inner_folds_need_no_validation_rows_and_the_record_keeps_errors(tmp_path):
    words = ["dataset=iris", "method=cart", "split=none", "tuner=grid", "tracker=none"]
    words.append("tuner.values={stopping.standard.max_depth: [1, 2, 6]}")
    with pytest.raises(CapabilityError, match="tuner grid needs validation rows"):
        arboretum.run(words)
    record = arboretum.run([*words, "tuner.inner=5", f"hydra.run.dir={tmp_path / 'r'}"])
    chosen = record.selections["tuner"]
    assert record.verified and chosen.measure == "roc_auc in 5 folds"
    assert len(chosen.standard_errors) == 3 and record.data["n_train"] == 150
    assert record.metrics["kept_max_depth"] == chosen.kept[DEPTH]
    again = arboretum.load(tmp_path / "r").selections["tuner"]
    assert again.to_json() == chosen.to_json()
    assert "standard_error" in again.to_json()["tried"][0]


def test_validation_rows_judge_nothing_where_folds_do():
    table, parts = toy_table(7, n_rows=120), _parts(3, split="holdout")
    division = pose(parts, table, 0).division
    codes = table.target.codes.copy()
    codes[division.valid] = codes[division.valid][::-1]
    other = attrs.evolve(table, target=attrs.evolve(table.target, codes=codes))
    one, two = (fit(parts, rows, 0).selections["tuner"].to_json() for rows in (table, other))
    assert len(division.valid) and one == two


def test_an_estimator_tunes_inside_the_rows_that_it_is_given():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(80, 3))
    y = (X[:, 0] + draw.normal(size=80) > 0).astype(int)
    model = arboretum.TreeClassifier(
        "cart",
        tuner="grid",
        overrides={"tuner.values": {DEPTH: [0, 3]}, "tuner.inner": 4},
        random_state=0,
    ).fit(X, y)
    assert model.tree_.depth_of.max() == 3


def test_numbers_are_judged_by_r2():
    table = toy_table(3, n_rows=80, kind=TreeParts(task=Task.regression))
    chosen = fit(_parts(4), table, 0).selections["tuner"]
    assert chosen.measure == "r2 in 4 folds" and len(chosen.tried) == 6


def test_groups_are_dealt_whole():
    table = attrs.evolve(toy_table(4, n_rows=60), groups=np.arange(60) // 5)
    fold = deal_folds(toy_objects(table), 3, 1)
    assert all(len(set(fold[i : i + 5])) == 1 for i in range(0, 60, 5))
    assert np.bincount(fold).tolist() == [20, 20, 20]
    with pytest.raises(CapabilityError, match="13 are more folds than the 12 groups"):
        deal_folds(toy_objects(table), 13, 1)


def test_a_class_with_one_object_is_judged_by_those_who_never_saw_it():
    table = toy_table(5, n_rows=60)
    codes = np.where(table.target.codes == 2, 0, table.target.codes).astype(np.int32)
    codes[7] = 2
    rare = attrs.evolve(table, target=attrs.evolve(table.target, codes=codes))
    fitted = fit(_parts(3), rare, 0)
    chosen = fitted.selections["tuner"]
    assert chosen.measure == "roc_auc in 3 folds"
    assert any("an inner fold shows no object of class" in note for note in chosen.notes)
    codes = np.zeros(60, np.int32)
    codes[7] = 1
    lone = attrs.evolve(table, target=attrs.evolve(table.target, codes=codes))
    chosen = fit(_parts(3), lone, 0).selections["tuner"]
    assert chosen.measure == "accuracy in 3 folds"
    assert any("an inner fold shows one class" in note for note in chosen.notes)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"values": ()}, "tuner.values must hold at least one value; got an empty list"),
        ({"values": {}}, "tuner.values must name at least one field; got {}"),
        ({"values": {DEPTH: []}}, "max_depth] must hold at least one value; got an empty list"),
        ({"values": {DEPTH: 3}}, "max_depth] must be a list"),
        ({"values": 3}, "tuner.values must be a list"),
        ({"inner": 1}, "tuner.inner must be 0 or ≥ 2; got 1"),
        ({"inner": -1}, "tuner.inner must be ≥ 0; got -1"),
        ({"field": LEAF, "values": BOTH}, "leave tuner.field out"),
    ],
)
def test_impossible_fields_are_refused(fields, complaint):
    with pytest.raises(ValueError, match="tuner") as found:
        Grid(**fields)
    assert complaint in str(found.value)


@pytest.mark.parametrize(
    ("values", "inner", "error", "complaint"),
    [
        ({"stopping.standard.max_dept": [1]}, 3, ConfigError, "did you mean 'stopping.standard"),
        ({DEPTH: [2, -1]}, 3, ConfigError, "cannot tune .*max_depth must be ≥ 0; got -1"),
        ({DEPTH: [2]}, 31, CapabilityError, "31 are more folds than the 30 training objects"),
        ({"pruner.alpha": [0.1]}, 3, ConfigError, "pruners choose for themselves"),
    ],
)
def test_what_cannot_be_tuned_is_refused_by_name(values, inner, error, complaint):
    with pytest.raises(error, match=complaint):
        fit(_parts(inner, values), toy_table(5, n_rows=30), 0)


def test_one_value_alone_is_judged_too():
    chosen = fit(_parts(3, {DEPTH: [2]}), toy_table(5, n_rows=60), 0).selections["tuner"]
    assert chosen.kept == {DEPTH: 2} and len(chosen.tried) == len(chosen.standard_errors) == 1
