"""Honest leaves: some of the training rows choose the tests, the others alone say what leaves
predict, whatever the method.
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

import arboretum
from arboretum import TreeClassifier, TreeRegressor
from arboretum.api import Column, ColumnKind, Table, Target, Task
from arboretum.engine import honest as engine
from arboretum.engine.run import Fit, Request, fingerprint, fit, prepare
from arboretum.errors import CapabilityError, ConfigError, DataError, VerificationError
from arboretum.interfaces.method import Parts
from arboretum.model.rules import NO_OUTCOME
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS, Tree
from arboretum.plugin.assemble import assemble
from arboretum.plugin.build import configuration
from arboretum.plugin.discovery import load_registry
from arboretum.testing.effort import examples

REGISTRY = load_registry()


def _grow(words: dict[str, object], share: float = 0.5, seed: int = 1) -> tuple[Fit, Table]:
    """A fit of a data set, and its table.   words : "method" → …, as on the command line."""
    dataset = words.pop("dataset")
    if dataset == "gaps":
        parts = assemble(REGISTRY, {}, {**words, "honest": share}, without=("dataset", "split"))
        return fit(parts, _table(seed=2, n=90, regression=False), seed), _table(2, 90, False)
    words.setdefault("split", "holdout")
    parts = assemble(REGISTRY, {"dataset": dataset}, {**words, "honest": share})
    table = prepare(Request(parts, seed)).table
    return fit(parts, table, seed), table


def _values(table: Table, row: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for column in table.columns:
        value = column.values[row].item()
        if not column.is_continuous:
            value = column.categories[value] if value >= 0 else None
        found[column.name] = value
    return found


class SlowTruth:
    """The rows that fill, one by one, through the tree as it was grown: what passes each node.

    at : node → row → share of it (exact).
    """

    def __init__(self, tree: Tree, rows: Table) -> None:
        self.tree, self.rows = tree, rows
        self.weight = [Fraction(float(w)) for w in rows.row_weights()]
        self.at: dict[int, dict[int, Fraction]] = {}
        self._fill(0, dict.fromkeys(range(rows.n_rows), Fraction(1)))

    def _fill(self, node: int, shares: dict[int, Fraction]) -> None:
        tree = self.tree
        if not shares:
            return
        self.at[node] = shares
        if tree.is_leaf[node]:
            return
        rule, children = tree.rule(node), tree.children(node).tolist()
        below: list[dict[int, Fraction]] = [{} for _ in children]
        lost = []
        for row, share in shares.items():
            values = _values(self.rows, row)
            degrees = [Fraction(float(d)) for d in rule.degrees_of(values)] if rule.fuzzy else []
            outcome = NO_OUTCOME if any(degrees) or rule.fuzzy else rule.outcome_of(values)
            if any(degrees):
                for k, degree in enumerate(degrees):
                    if degree:
                        below[k][row] = share * degree
                continue
            for one in tree.surrogates if outcome == NO_OUTCOME else ():
                if one.node == node and outcome == NO_OUTCOME:
                    known = tree.rules[one.rule].outcome_of(values)
                    outcome = NO_OUTCOME if known == NO_OUTCOME else one.to[known]
            if outcome == NO_OUTCOME:
                outcome = int(tree.missing_child[node])
            if outcome == MISSING_SPLITS:
                lost.append(row)
            elif outcome != MISSING_STOPS:
                below[outcome][row] = share
        heavy = [
            sum(self.weight[row] * share for row, share in part.items()) if child >= 0 else 0
            for child, part in zip(children, below, strict=True)
        ]
        for row in lost if any(heavy) else ():
            for k, one in enumerate(heavy):
                if one:
                    below[k][row] = shares[row] * one / sum(heavy)
        for child, part in zip(children, below, strict=True):
            if child >= 0:
                self._fill(child, part)

    def weights(self, node: int) -> list[float]:
        """Class weights, or moments, of what passes a node."""
        target = self.rows.target
        if target.is_classification:
            found = [Fraction(0)] * len(target.classes)
            for row, share in self.at[node].items():
                found[target.codes[row]] += self.weight[row] * share
            return [float(one) for one in found]
        terms = [
            (self.weight[row] * share, Fraction(float(target.values[row])))
            for row, share in self.at[node].items()
        ]
        return [float(sum(w * y**k for w, y in terms)) for k in range(3)]


def _check(fitted: Fit) -> SlowTruth:
    """Compare the filled tree, node by node, with the slow truth."""
    filled, grown = fitted.filled, fitted.solution.tree
    assert filled is not None
    rows, tree = filled.problem.objects.table, filled.tree
    slow = SlowTruth(grown, rows)
    waiting, met = [(0, 0)], 0
    while waiting:
        node, old = waiting.pop()
        met += 1
        own = slow.weights(old)
        np.testing.assert_allclose(tree.weights[node], own, rtol=1e-9, atol=1e-9)
        count = float(sum(slow.at[old].values()))
        assert tree.counts[node] == pytest.approx(count, rel=1e-9)
        if not tree.is_leaf[node]:
            assert tree.rule(node).describe() == grown.rule(old).describe()
            assert tree.price[node] == grown.price[old] and tree.score[node] == pytest.approx(
                grown.score[old], nan_ok=True
            )
        branches = [] if tree.is_leaf[node] else tree.children(node).tolist()
        before = [] if grown.is_leaf[old] else grown.children(old).tolist()
        for k, child in enumerate(before):
            there = branches[k] if branches else -1
            assert (there >= 0) == (child >= 0 and child in slow.at)
            if there >= 0:
                waiting.append((there, child))
    assert met == tree.n_nodes == len(slow.at)
    return slow


METHODS = {
    "cart": {"dataset": "wine"},
    "pruned": {
        "dataset": "wine",
        "method": "cart",
        "pruner": "cost_complexity",
        "pruner.alpha": 0.02,
    },
    "id3 with categories": {"dataset": "tic-tac-toe", "method": "id3", "encoder": "multiway"},
    "c45 with missing values": {"dataset": "gaps", "method": "c45"},
    "surrogates": {"dataset": "gaps", "method": "cart", "missing": "surrogates"},
    "missing values stop": {"dataset": "gaps", "method": "cart", "missing": "stops"},
    "fuzzy": {"dataset": "iris", "method": "fuzzy", "stopping.standard.max_depth": 3},
    "oblivious": {"dataset": "iris", "method": "oblivious", "stopping.standard.max_depth": 3},
    "gosdt": {"dataset": "monk1-full", "method": "gosdt", "objective.lam": 0.02},
    "balanced": {"dataset": "monk1-full", "method": "gosdt", "objective": "balanced"},
    "class weights": {"dataset": "wine", "method": "cart", "class_weight": "balanced"},
    "priors": {
        "dataset": "wine",
        "method": "cart",
        "objective": "expected_loss",
        "objective.priors": [0.2, 0.3, 0.5],
    },
    "coverage": {"dataset": "tic-tac-toe", "method": "ec45"},
    "subtable_dp": {
        "dataset": "play-tennis",
        "encoder": "multiway",
        "method": "exact",
        "solver": "subtable_dp",
        "objective": "zero_error",
        "complexity": "average_depth",
    },
}


@pytest.mark.parametrize("name", METHODS)
def test_every_node_says_what_the_rows_that_fill_it_say(name):
    words = dict(METHODS[name])
    try:
        fitted, _ = _grow(words)
    except ConfigError as error:
        pytest.fail(f"{name}: {error}")
    filled, train = fitted.filled, fitted.train
    rows = filled.problem.objects.table
    if name == "priors":  # weights are altered by the priors: the labels are what is compared
        assert filled.tree.weights[0] / filled.tree.mass[0] == pytest.approx([0.2, 0.3, 0.5])
    else:
        _check(fitted)
    assert engine.verify_filled(filled, train, {}).startswith(f"every node, by the {rows.n_rows}")


def test_a_leaf_predicts_by_its_rows_and_above_an_empty_one_its_ancestor_does():
    fitted, table = _grow({"dataset": "wine", "method": "cart"}, share=0.05)
    slow = _check(fitted)
    grown, tree = fitted.solution.tree, fitted.filled.tree
    assert tree.n_nodes < grown.n_nodes, "with few rows that fill, some leaves stay empty"
    proba, label = tree.predict_proba(table), tree.predict(table)
    for row, leaf in enumerate(grown.apply(table).tolist()):
        path = [node for node, _ in grown.path(leaf)] + [leaf]
        deepest = [node for node in path if node in slow.at][-1]
        own = np.array(slow.weights(deepest))
        np.testing.assert_allclose(proba[row], own / own.sum())
        assert label[row] == own.argmax()


def test_growing_and_filling_rows_are_two_parts_and_each_does_one_thing():
    fitted, _ = _grow({"dataset": "wine", "method": "cart"}, share=0.4)
    rows, whole = fitted.filled.problem.objects.table, _grow({"dataset": "wine"}, share=0.0)[0]
    assert fitted.train.n_rows + rows.n_rows == whole.train.n_rows
    assert whole.filled is None and whole.reported is whole.solution
    # by class, as near to the share as whole rows allow
    classes = np.bincount(whole.train.target.codes)
    assert (np.abs(np.bincount(rows.target.codes) - 0.4 * classes) <= 0.5).all()
    # other labels of the rows that fill: the same tests
    changed = attrs.evolve(
        fitted.filled.problem.objects.table,
        target=attrs.evolve(rows.target, codes=(rows.target.codes + 1) % 3),
    )
    other = engine.fill(fitted.solution, fitted.problem, changed).tree
    assert other.rules == fitted.filled.tree.rules
    np.testing.assert_array_equal(other.weights, np.roll(fitted.filled.tree.weights, 1, axis=1))


def _table(seed: int, n: int, regression: bool) -> Table:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 5, (n, 3)).astype(float)
    x[rng.random((n, 3)) < 0.15] = np.nan
    columns = tuple(Column(f"x{k}", ColumnKind.continuous, x[:, k]) for k in range(3))
    noise = rng.integers(0, 3, n)
    if regression:
        target = Target("y", Task.regression, values=np.nan_to_num(x[:, 0]) + noise)
    else:
        codes = (np.nan_to_num(x[:, 0]) + noise > 3).astype(np.int32)
        target = Target("y", Task.classification, codes, ("no", "yes"))
    groups = rng.integers(0, n // 3, n) if seed % 2 else None
    return Table("made", columns, target, rng.integers(1, 4, n).astype(float), groups=groups)


@given(
    st.integers(0, 10**6),
    st.integers(12, 60),
    st.booleans(),
    st.sampled_from(["better_side", "fractional", "surrogates", "stops"]),
    st.floats(0.2, 0.8),
)
@examples(60)
def test_any_table_is_filled_as_the_slow_truth_fills_it(seed, n, regression, missing, share):
    table = _table(seed, n, regression)
    method = "cart_regression" if regression else "cart"
    choices = {"method": method, "missing": missing, "encoder": "midpoints"}
    parts = assemble(REGISTRY, choices, {"honest": share}, without=("dataset", "split"))
    try:
        fitted = fit(parts, table, seed)
    except (DataError, CapabilityError) as error:
        assert "none of the" in str(error) or "missing" in str(error)
        return
    slow = _check(fitted)
    engine.verify_filled(fitted.filled, fitted.train, {})
    if regression:
        root = slow.weights(0)
        assert fitted.filled.tree.value[0] == pytest.approx(root[1] / root[0])
    if table.groups is not None:
        there = set(fitted.filled.problem.objects.table.groups.tolist())
        assert not there & set(fitted.train.groups.tolist())


@pytest.mark.parametrize("impurity", ["variance", "absolute_error", "poisson"])
def test_numbers_are_what_the_impurity_makes_of_the_rows_that_fill(impurity):
    rng = np.random.default_rng(3)
    x, y = rng.random((80, 2)), rng.integers(0, 9, 80).astype(float)
    model = TreeRegressor(
        method="greedy", impurity=impurity, max_depth=3, honest=0.5, random_state=1, verify=True
    ).fit(x, y)
    parts = attrs.evolve(model._parts(), honest=0.5)
    columns = tuple(Column(f"x{k}", ColumnKind.continuous, x[:, k]) for k in range(2))
    table = Table("X", columns, Target("y", Task.regression, values=y))
    rows = fit(parts, table, 1).filled.problem.objects.table
    there = model.tree_.apply(rows)
    for leaf in np.unique(there):
        own = rows.target.values[there == leaf]
        expected = np.median(own) if impurity == "absolute_error" else own.mean()
        if impurity == "absolute_error" and len(own) % 2 == 0:
            low, high = np.sort(own)[[len(own) // 2 - 1, len(own) // 2]]
            assert low <= model.tree_.value[leaf] <= high
        else:
            assert model.tree_.value[leaf] == pytest.approx(expected)


# -- runs ------------------------------------------------------------------------------------------


def test_a_run_says_what_it_did_and_a_second_one_is_the_same():
    words = ["dataset=wine", "method=cart", "tracker=none", "honest=0.5", "seed=3"]
    record, again = arboretum.run(words), arboretum.run(words)
    assert record.verified and record.tree == again.tree and record.metrics == again.metrics
    assert record.fingerprint == again.fingerprint
    assert record.data["n_train"] + record.data["n_honest"] == 125 - record.data["n_test"] + 35
    assert record.tree.counts[0] == record.data["n_honest"]
    said = " ".join(record.notes)
    assert f"{record.data['n_train']} of the training rows chose the tests" in said
    assert record.checked["honest leaves"].startswith("every node, by the")
    assert record.config["honest"] == 0.5
    other = arboretum.run([*words, "seed=4"])
    assert other.tree != record.tree


def test_a_certificate_and_a_value_are_of_the_tree_as_it_was_grown():
    words = ["dataset=monk1-full", "method=gosdt", "tracker=none", "honest=0.4", "certify=true"]
    record = arboretum.run(words)
    fitted, _ = _grow({"dataset": "monk1-full", "method": "gosdt"}, share=0.4, seed=record.seed)
    value = fitted.problem.parts.objective.value(fitted.solution.tree, fitted.problem)
    assert record.solution.value == pytest.approx(value)
    assert record.solution.checked.value == "verified"
    (certified,) = record.certificate.complexities.values()
    assert certified.value == pytest.approx(value)
    assert any("those of the tree as it was grown" in note for note in record.notes)
    greedy = ["dataset=tic-tac-toe", "method=id3", "encoder=multiway", "tracker=none", "honest=0.5"]
    record = arboretum.run([*greedy, "certify=true"])
    assert any("of the certificate are those of the tree as" in note for note in record.notes)
    assert record.certificate.complexities["n_leaves"].value >= record.metrics["n_leaves"]


def test_trees_beside_are_filled_and_what_ends_a_search_is_kept():
    words = {"dataset": "monk1-full", "method": "rashomon", "objective.lam": 0.05}
    fitted, _ = _grow(words)
    others, filled = fitted.solution.others, fitted.filled
    assert len(others) == len(filled.others) > 0 and fitted.reported.others == filled.others
    for tree in filled.others:
        assert tree.counts[0] == filled.problem.objects.n_objects
    engine.verify_filled(filled, fitted.train, {})
    wrong = attrs.evolve(filled, others=others)
    with pytest.raises(VerificationError):
        engine.verify_filled(wrong, fitted.train, {})
    ended = attrs.evolve(fitted, solution=attrs.evolve(fitted.solution, others=(), finished=False))
    assert not ended.reported.finished and ended.reported.others == ()
    assert ended.reported.tree is filled.tree


def test_what_cannot_be_honest_is_refused_by_name():
    def refused(error: type[Exception], text: str, *words: str) -> None:
        with pytest.raises(error, match=text):
            arboretum.run(["tracker=none", "dataset=monk1-full", *words])

    refused(CapabilityError, "constrained chooses labels", "method=constrained", "honest=0.5")
    refused(CapabilityError, "f_score chooses the labels", "method=fronts", "honest=0.5")
    refused(CapabilityError, "honest needs the table", "rows=chunks", "honest=0.5")
    refused(DataError, "honest=0.001 leaves none of the", "method=cart", "honest=0.001")
    for wrong in ("1", "-0.1", "much"):
        refused(ConfigError, "honest", f"honest={wrong}")
    for wrong in (1.0, -0.5, math.nan, "half", True):
        with pytest.raises(ConfigError, match="honest must be a share"):
            TreeClassifier(honest=wrong).fit([[0], [1]], [0, 1])
    with pytest.raises(ConfigError, match="give honest=… itself"):
        TreeClassifier(overrides={"honest": 0.5}).fit([[0], [1]], [0, 1])


def test_zero_leaves_the_fingerprint_as_it_was_before_there_was_honesty():
    def of(**config):
        return fingerprint(Request(Parts(None), config={"method": "cart", **config}), "data")

    assert of() == of(honest=0.0) == of(honest=0)
    assert of() != of(honest=0.5)
    parts = assemble(REGISTRY, {"method": "cart"}, {"honest": 0.5})
    assert parts.honest == 0.5 and configuration(parts)["honest"] == 0.5
    assert "honest" not in configuration(attrs.evolve(parts, honest=0.0))


def test_an_estimator_is_the_run_and_its_solution_has_the_filled_tree():
    rng = np.random.default_rng(0)
    x = rng.random((120, 3))
    y = (x[:, 0] + 0.3 * rng.standard_normal(120) > 0.5).astype(int)
    model = TreeClassifier(honest=0.5, random_state=2, verify=True).fit(x, y)
    # by class, rounded: half of 57 and of 63 rows, or the like
    assert 59 <= model.tree_.counts[0] <= 61 and model.solution_.tree is model.tree_
    again = TreeClassifier(honest=0.5, random_state=2).fit(x, y)
    assert again.tree_ == model.tree_
    assert model.get_params()["honest"] == 0.5
    assert TreeClassifier(random_state=2).fit(x, y).tree_.counts[0] == 120


# -- verification that can fail --------------------------------------------------------------------


def _tampered(name: str, filled: engine.Filled) -> engine.Filled:
    tree = filled.tree
    leaf = int(np.flatnonzero(tree.is_leaf)[0])
    if name == "weights":
        changed = tree.weights.copy()
        changed[leaf] *= 2
        changed = attrs.evolve(tree, weights=changed)
    elif name == "label":
        label = tree.label.copy()
        label[leaf] = (label[leaf] + 1) % 3
        changed = attrs.evolve(tree, label=label)
    elif name == "impurity":
        changed = attrs.evolve(tree, impurity=tree.impurity + 0.1)
    elif name == "a leaf left out":
        stands = np.ones(tree.n_nodes, bool)
        stands[leaf] = False
        changed = tree.keep(stands, ~tree.is_leaf)
    elif name == "another test":
        score = np.where(tree.is_leaf, np.nan, 0.125)
        changed = attrs.evolve(tree, score=score)
    else:
        changed = filled.grown
    return attrs.evolve(filled, tree=changed)


@pytest.mark.parametrize(
    "name", ["weights", "label", "impurity", "a leaf left out", "another test", "not filled"]
)
def test_verification_finds_what_is_wrong(name):
    fitted, _ = _grow({"dataset": "wine", "method": "cart"})
    engine.verify_filled(fitted.filled, fitted.train, {})
    with pytest.raises(VerificationError):
        engine.verify_filled(_tampered(name, fitted.filled), fitted.train, {})


def test_a_wrong_metric_is_found():
    fitted, _ = _grow({"dataset": "wine", "method": "cart"})
    for name in ("train_error", "expected_cost", "n_leaves"):
        with pytest.raises(VerificationError, match=name):
            engine.verify_filled(fitted.filled, fitted.train, {name: 77.0})
