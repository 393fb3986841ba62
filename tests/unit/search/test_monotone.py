"""Greedy trees whose predictions are monotone in some columns: as a function, whatever the tree is
grown by; the trees of scikit-learn where ties do not decide.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import arboretum
from arboretum import TreeClassifier, TreeRegressor
from arboretum.api import Column, ColumnKind, Context, Table, Target, Task, grow
from arboretum.engine import monotone as engine
from arboretum.engine.run import fit, measure
from arboretum.engine.search import choose, growth
from arboretum.engine.verify import verify
from arboretum.errors import CapabilityError, ConfigError, VerificationError
from arboretum.model.tree import Tree
from arboretum.plugin.assemble import assemble, exported
from arboretum.plugin.discovery import load_registry
from arboretum.testing.effort import examples

REGISTRY = load_registry()
ASKED = {"method.increasing": ["x0"], "method.decreasing": ["x1"]}
LIMITED = {"method.order": "best", "stopping.standard.max_leaves": 7}
PRUNED = {"pruner": "cost_complexity", "pruner.alpha": 0.01}


def _table(seed: int, n: int, regression: bool, gaps: bool) -> Table:
    """Four columns of few values; what is wanted goes against the target half of the time."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 7, (n, 4)).astype(float)
    y = x[:, 0] * rng.choice([1, -1]) - x[:, 1] * rng.choice([1, -1]) + 2 * rng.standard_normal(n)
    y += 2 * np.sin(x[:, 2])
    if gaps:
        x[rng.random((n, 4)) < 0.1] = np.nan
    columns = [Column(f"x{k}", ColumnKind.continuous, x[:, k]) for k in range(3)]
    codes = np.nan_to_num(x[:, 3], nan=-1).astype(np.int32)
    columns.append(Column("kind", ColumnKind.categorical, codes, tuple("abcdefg")))
    if regression:
        target = Target("y", Task.regression, values=y)
    else:
        codes = (y > np.median(y)).astype(np.int32)
        target = Target("y", Task.classification, codes, ("no", "yes"))
    weights = rng.integers(1, 5, n) / 3.0 if seed % 3 == 0 else None
    return Table("made", tuple(columns), target, weights)


def _pairs(table: Table, name: str, rng: np.random.Generator) -> tuple[Table, Table]:
    """Rows drawn anew, and the same with a greater value in one column alone."""
    n = 400
    rows = rng.integers(0, table.n_rows, n)
    # any combination of values, half steps among them
    low = [
        attrs.evolve(
            column,
            values=column.values[rng.integers(0, table.n_rows, n)]
            + (rng.integers(0, 2, n) / 2 if column.is_continuous else 0),
        )
        for column in table.columns
    ]
    place = next(k for k, column in enumerate(low) if column.name == name)
    start = np.nan_to_num(low[place].values, nan=3.0)
    low[place] = attrs.evolve(low[place], values=start)
    high = list(low)
    high[place] = attrs.evolve(low[place], values=start + rng.integers(1, 8, n) / 2)
    some = table.take(rows)
    return attrs.evolve(some, columns=tuple(low)), attrs.evolve(some, columns=tuple(high))


def _assert_monotone(tree: Tree, table: Table, seed: int) -> None:
    for name, way in (("x0", 1), ("x1", -1)):
        low, high = _pairs(table, name, np.random.default_rng(seed))
        assert (way * (tree.predict(high).astype(float) - tree.predict(low)) >= 0).all()
        if tree.is_classification:
            shares = (tree.predict_proba(one)[:, 1] for one in (low, high))
            before, after = shares
            assert (way * (after - before) >= 0).all()


@given(
    st.integers(0, 10**6),
    st.integers(10, 120),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["mixed", "midpoints", "bins", "auto"]),
    st.sampled_from([{}, LIMITED, PRUNED, {"stopping.standard.max_depth": 4}]),
    st.sampled_from(["reduction", "gain_ratio"]),
)
@examples(150)
def test_of_two_rows_the_one_with_more_is_predicted_no_less(
    seed, n, regression, gaps, encoder, more, criterion
):
    table = _table(seed, n, regression, gaps)
    choices = {"method": "greedy", "encoder": encoder}
    if not regression:
        choices |= {"criterion": criterion, "impurity": "entropy"}
    parts = assemble(REGISTRY, choices, {**ASKED, **more}, without=("dataset", "split"))
    fitted = fit(parts, table, 0)
    tree = fitted.solution.tree
    _assert_monotone(tree, table, seed)
    verify(tree, fitted.problem, fitted.train, measure(tree, fitted, table), fitted.solution)
    _check_by_hand(tree)


def _check_by_hand(tree: Tree) -> None:
    """At each test of an ordered column the means (shares) of its branches are in order."""
    amount = tree.weights[:, 1] / tree.mass
    for node in tree.inner.tolist():
        (name,), (low, high) = tree.rule(node).columns, tree.children(node)[:2]
        if name in ("x0", "x1"):
            assert (amount[high] - amount[low]) * (1 if name == "x0" else -1) >= -1e-12


@pytest.mark.parametrize("encoder", ["auto", "midpoints", "mixed"])
@pytest.mark.parametrize("regression", [True, False])
def test_kernels_and_lists_choose_the_tests_that_lists_alone_choose(
    encoder, regression, monkeypatch
):
    def rules(seed: int) -> list[str]:
        table = _table(seed, 150, regression, gaps=seed % 2 == 0)
        values = {**ASKED, "stopping.standard.max_depth": 6}
        choices = {"method": "greedy", "encoder": encoder}
        parts = assemble(REGISTRY, choices, values, without=("dataset", "split"))
        tree = fit(parts, table, 0).solution.tree
        return [tree.rule(node).describe() for node in tree.inner]

    quick = [rules(seed) for seed in range(8)]
    monkeypatch.setattr(growth, "choose_candidate", choose._choose_from_list)
    assert [rules(seed) for seed in range(8)] == quick


@pytest.mark.parametrize("seed", range(12))
def test_numbers_are_those_of_scikit_learn_where_nothing_ties(seed):
    rng = np.random.default_rng(seed)
    x = rng.random((int(rng.integers(30, 250)), 4)).astype(np.float32)
    y = 2 * x[:, 0] - x[:, 1] + np.sin(6 * x[:, 2]) + 0.7 * rng.standard_normal(len(x))
    theirs = DecisionTreeRegressor(monotonic_cst=[1, -1, 0, 0], max_depth=4, random_state=0)
    ours = TreeRegressor(
        max_depth=4, method__increasing=["x0"], method__decreasing=["x1"], verify=True
    )
    theirs.fit(x, y), ours.fit(x, y)
    assert ours.tree_.n_nodes == theirs.tree_.node_count
    np.testing.assert_allclose(ours.predict(x), theirs.predict(x), rtol=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_shares_are_those_of_scikit_learn_where_nothing_ties(seed):
    rng = np.random.default_rng(seed)
    x = rng.random((int(rng.integers(30, 250)), 4)).astype(np.float32)
    y = 2 * x[:, 0] - x[:, 1] + np.sin(6 * x[:, 2]) + 0.7 * rng.standard_normal(len(x))
    label, weight = (y > np.median(y)).astype(int), rng.random(len(x)) + 0.5
    theirs = DecisionTreeClassifier(monotonic_cst=[1, -1, 0, 0], max_depth=4, random_state=0)
    ours = TreeClassifier(
        max_depth=4, method__increasing=["x0"], method__decreasing=["x1"], verify=True
    )
    theirs.fit(x, label, weight), ours.fit(x, label, weight)
    # sums of weights leave it 1e-17 of impurity at some pure nodes, which it divides to no effect
    assert ours.tree_.n_nodes <= theirs.tree_.node_count
    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), rtol=1e-9)


def test_an_order_that_the_data_have_changes_nothing_and_none_leaves_kernels_on():
    x = np.arange(40.0)[:, None]
    free, held = TreeRegressor(), TreeRegressor(method__increasing=["x0"], verify=True)
    one, other = free.fit(x, x[:, 0] ** 2).tree_, held.fit(x, x[:, 0] ** 2).tree_
    assert one.rules == other.rules and (one.test == other.test).all()
    np.testing.assert_allclose(one.value, other.value)
    against = TreeRegressor(method__decreasing=["x0"], verify=True).fit(x, x[:, 0] ** 2)
    assert against.tree_.n_nodes == 1


def test_a_run_keeps_it_says_so_and_why_explains_it(tmp_path):
    words = ["dataset=diabetes", "method=cart", "stopping.standard.max_depth=3", "tracker=none"]
    record = arboretum.run([*words, "method.increasing=[bmi]", "method.decreasing=[s3]"])
    assert record.verified and record.config["method"]["increasing"] == ["bmi"]
    assert any("monotone predictions need the bounds" in note for note in record.notes)
    from arboretum.cli.show import reasons_at

    tree = record.tree
    _, (found,) = reasons_at(record, [int(tree.inner[-1])], REGISTRY)
    assert sum(one.chosen for one in found.candidates) == 1
    asked = {one.rule.columns[0]: one.score for one in found.candidates}
    assert set(asked) <= {column.name for column in tree.columns}
    best = max(found.candidates, key=lambda one: one.score)
    assert best.chosen, "refused tests score −∞"


def _parts(**values):
    choices = {name: values.pop(name) for name in ("encoder", "missing") if name in values}
    return assemble(REGISTRY, {"method": "cart", **choices}, values, without=("dataset", "split"))


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        ({"method.increasing": ["X0"]}, ConfigError, "method.increasing: unknown column 'X0'"),
        (
            {"method.increasing": ["x0"], "method.decreasing": ["x0"]},
            ConfigError,
            "column 'x0' is in method.increasing and in method.decreasing",
        ),
        ({"method.increasing": ["kind"]}, CapabilityError, "'kind' is asked by its categories"),
        (
            {"method.increasing": ["x0"], "encoder": "multiway"},
            CapabilityError,
            "'x0' is asked by its categories; choose encoder=midpoints or bins",
        ),
        (
            {"method.increasing": ["x0"], "missing": "fractional"},
            CapabilityError,
            "missing fractional moves rows in a way of its own",
        ),
        (
            {"method.increasing": ["x0"], "predicate": "pair"},
            CapabilityError,
            "predicate .* makes tests of its own",
        ),
        (
            {"method.increasing": ["x0"], "honest": 0.5},
            CapabilityError,
            "honest leaves say what other rows do",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(values, error, text):
    table = _table(1, 60, regression=False, gaps=True)
    if "predicate" in values:
        values = {**values, "predicate": REGISTRY.names("predicate")[0]}
    with pytest.raises(error, match=text):
        fit(_parts(**values), table, 0)


def test_more_classes_and_medians_are_refused_and_rows_in_chunks():
    words = ["dataset=iris", "method=cart", "tracker=none", "method.increasing=[petal_width]"]
    with pytest.raises(CapabilityError, match="two classes, but there are 3; make two"):
        arboretum.run(words)
    with pytest.raises(CapabilityError, match="rows=memory"):
        arboretum.run([*words, "dataset.positive=virginica", "encoder=bins", "rows=chunks"])
    x, y = np.arange(8.0)[:, None], np.arange(8.0)
    with pytest.raises(CapabilityError, match="impurity absolute_error predicts from the values"):
        TreeRegressor(impurity="absolute_error", method__increasing=["x0"]).fit(x, y)
    with pytest.raises(CapabilityError, match="objective squared_error says what leaves predict"):
        TreeRegressor(objective="squared_error", method__increasing=["x0"]).fit(x, y)
    with pytest.raises(TypeError, match="name columns: method__increasing"):
        TreeRegressor(monotonic_cst=[1])


def test_a_tree_of_held_shares_is_stored_exported_and_cut_as_it_predicts():
    rng = np.random.default_rng(4)
    x = rng.random((150, 3)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] + 0.6 * rng.standard_normal(150) > 1).astype(int)
    model = TreeClassifier(max_depth=5, method__increasing=["x0"], verify=True).fit(x, y)
    tree, shares = model.tree_, model.predict_proba(x)
    own = tree.weights / tree.mass[:, None]
    assert not np.allclose(own, tree.distribution()), "some leaf is held to its bounds"
    assert Tree.from_json(tree.to_json()) == tree
    np.testing.assert_allclose(model.to_sklearn().predict_proba(x), shares)
    np.testing.assert_array_equal(model.to_sklearn().predict(x), model.predict(x))
    np.testing.assert_array_equal(model.predict(x), shares.argmax(axis=1))
    for form in ("page", "questionnaire"):
        assert '"held":[' in exported(tree, form)
        free = TreeClassifier(max_depth=2).fit(x, y).tree_
        assert '"held"' not in exported(free, form)
    columns = tuple(Column(f"x{k}", ColumnKind.continuous, x[:, k]) for k in range(3))
    target = Target("y", Task.classification, y.astype(np.int32), tree.classes)
    cut = tree.cut(tree.inner[3:])
    assert engine.find_fault(cut, model._parts(), Table("X", columns, target)) == ""


def test_rows_of_one_class_have_nothing_to_order():
    x = np.arange(9.0)[:, None]
    model = TreeClassifier(method__increasing=["x0"], verify=True).fit(x, np.zeros(9, int))
    assert model.tree_.n_nodes == 1


def test_an_objective_that_relabels_is_refused():
    words = ["dataset=iris", "dataset.positive=virginica", "method=cart", "tracker=none"]
    with pytest.raises(CapabilityError, match="objective expected_loss says what leaves predict"):
        arboretum.run([*words, "objective=expected_loss", "method.increasing=[petal_width]"])


# -- a check that can fail -------------------------------------------------------------------------


def _grown() -> tuple[object, Tree, Table]:
    table = _table(6, 100, regression=True, gaps=False)
    parts = _parts(**ASKED, **{"stopping.standard.max_depth": 3}, encoder="midpoints")
    fitted = fit(parts, table, 0)
    return fitted, fitted.solution.tree, table


def test_a_tree_grown_without_the_order_breaks_it_and_is_found():
    fitted, tree, table = _grown()
    assert engine.find_fault(tree, fitted.problem.parts, table) == ""
    free = grow(fitted.problem, Context()).tree
    assert "do not keep the order" in engine.find_fault(free, fitted.problem.parts, table)
    solution = attrs.evolve(fitted.solution, tree=free)
    with pytest.raises(VerificationError, match="value|predictions are monotone"):
        verify(free, fitted.problem, fitted.train, {}, solution)


def test_a_pruner_that_moves_rows_is_named():
    fitted, _, table = _grown()
    free = grow(fitted.problem, Context()).tree
    pruner = assemble(REGISTRY, {"method": "cart", "pruner": "cost_complexity"}, {}).pruner
    parts = attrs.evolve(fitted.problem.parts, pruner=pruner)
    with pytest.raises(CapabilityError, match="pruner cost_complexity moved rows"):
        engine.check_pruned(free, parts, table)


@pytest.mark.parametrize("asked", [True, False])
def test_a_share_that_no_bound_explains_is_found(asked):
    table = _table(6, 100, regression=False, gaps=False)
    words = ASKED if asked else {}
    parts = _parts(**words, **{"stopping.standard.max_depth": 3}, encoder="midpoints")
    fitted = fit(parts, table, 0)
    tree = fitted.solution.tree
    said = tree.distribution()[:, 1].copy()
    said[0] += 0.01
    wrong = attrs.evolve(tree, value=said)
    with pytest.raises(VerificationError, match="share of the second|the weights say what"):
        verify(wrong, fitted.problem, fitted.train, {}, fitted.solution)


def test_a_number_beyond_its_bounds_is_found():
    fitted, tree, _ = _grown()
    value = tree.value.copy()
    value[int(np.flatnonzero(tree.is_leaf)[0])] += 100
    with pytest.raises(VerificationError):
        verify(attrs.evolve(tree, value=value), fitted.problem, fitted.train, {}, fitted.solution)
