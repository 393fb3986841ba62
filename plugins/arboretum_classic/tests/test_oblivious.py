"""Oblivious trees: the test of every level is the best there is by brute force, whatever the
columns; the shape is what the name says.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

import arboretum
from arboretum.api import CapabilityError, Context, Parts, Problem, RawFeature, Task, Threshold
from arboretum.sklearn import TreeClassifier
from arboretum.testing.effort import examples
from arboretum.testing.suites.base import verify_solution
from arboretum.testing.tables import TreeParts, prices_of, toy_objects, toy_table
from arboretum_classic.criteria.criteria import GainRatio, Reduction
from arboretum_classic.criteria.impurities import Entropy, Gini, Variance
from arboretum_classic.oblivious.decision_table import importances
from arboretum_classic.oblivious.method import Oblivious


class Standard:
    """Limits of a run."""

    name = "held"

    def __init__(self, **limits):
        from arboretum.api import Limits

        self._limits = Limits(**limits)

    def limits(self):
        return self._limits

    def is_leaf(self, node):
        return False


class Plain(Reduction):
    """The same criterion without a kernel."""

    def kernel(self, impurity):
        return None


def problem_of(table, criterion, impurity, *, raw=True, multiway=True, **limits) -> Problem:
    """Continuous columns raw or coded, categories coded."""
    objects = toy_objects(table, multiway=multiway)
    if raw:
        kept = [
            f for f, feature in enumerate(objects.features) if feature.column in ("shade", "lit")
        ]
        values = np.array([table.column(name).values for name in ("width", "height")]).T.copy()
        features = tuple(objects.features[f] for f in kept)
        raw_features = (RawFeature("width", 0), RawFeature("height", 2))
        objects = attrs.evolve(
            objects,
            features=features,
            codes=objects.codes[:, kept].copy(),
            raw=values,
            raw_features=raw_features,
        )
    return Problem(
        objects,
        prices_of(objects),
        Parts(Oblivious(), criterion=criterion, impurity=impurity, stopping=(Standard(**limits),)),
    )


def entropy(w):
    p = w[w > 0] / w.sum()
    return -(p * np.log2(p)).sum()


def gini(w):
    return 1 - ((w / w.sum()) ** 2).sum()


def impurity(table, weight, rows, kind):
    if table.task is Task.regression:
        mean = np.average(table.target.values[rows], weights=weight[rows])
        return np.average((table.target.values[rows] - mean) ** 2, weights=weight[rows])
    return kind(np.bincount(table.target.codes[rows], weight[rows], table.n_classes))


def level_score(problem, nodes, outcome, kind, ratio, min_leaf):
    """The sum over nodes of several classes (or values) that the outcomes divide; −inf where it
    may not compete.
    """
    table, total, divided = problem.objects.table, 0.0, 0
    weight = table.row_weights()
    target = table.target.values if table.task is Task.regression else table.target.codes
    for rows in nodes:
        parts = [rows[outcome[rows] == o] for o in range(outcome.max() + 1)]
        parts = [part for part in parts if len(part)]
        if any(len(part) < min_leaf for part in parts) and len(parts) > 1:
            return -np.inf
        if len(parts) < 2 or len(set(target[rows].tolist())) < 2 or len(rows) < 2 * min_leaf:
            continue
        divided += 1
        share = np.array([weight[part].sum() for part in parts]) / weight[rows].sum()
        gain = impurity(table, weight, rows, kind) - sum(
            s * impurity(table, weight, part, kind) for s, part in zip(share, parts, strict=True)
        )
        total += weight[rows].sum() / weight.sum() * (gain / entropy(share) if ratio else gain)
    return total if divided else -np.inf


def best_by_brute_force(problem, nodes, kind, ratio, min_leaf):
    """The highest score of all tests, with rows without a value in either outcome (multiway: the
    heaviest).
    """
    objects, table = problem.objects, problem.objects.table
    every, weight, best = np.arange(table.n_rows), table.row_weights(), -np.inf
    rules = [objects.rule(k) for k in range(int(objects.test_offset[-1]))]
    for f, feature in enumerate(objects.raw_features):
        seen = np.unique(objects.raw[~np.isnan(objects.raw[:, f]), f])
        # the last: is it known?
        rules += [feature.rule(t) for t in (seen[:-1] + seen[1:]) / 2] + [feature.rule(np.inf)]
    for rule in rules:
        outcome = rule.outcomes(table, every)
        known = outcome >= 0
        heaviest = int(np.bincount(outcome[known], weight[known], rule.arity).argmax())
        for side in (0, 1) if rule.arity == 2 and type(rule).__name__ != "Values" else (heaviest,):
            best = max(
                best,
                level_score(problem, nodes, np.where(known, outcome, side), kind, ratio, min_leaf),
            )
    return best


def nodes_by_level(tree, table):
    """Rows at the nodes of each level, following the tree's tests."""
    levels = {0: [(0, np.arange(table.n_rows))]}
    for depth in range(int(tree.depth_of.max())):
        levels[depth + 1] = []
        for node, rows in levels[depth]:
            outcome = tree.rule(node).outcomes(table, rows)
            outcome = np.where(outcome < 0, tree.missing_child[node], outcome)
            levels[depth + 1] += [
                (int(c), rows[outcome == o]) for o, c in enumerate(tree.children(node)) if c >= 0
            ]
    return levels


CASES = [
    (Reduction(), Gini(), gini, False),
    (GainRatio(), Entropy(), entropy, True),
    (Plain(), Gini(), gini, False),
]


@pytest.mark.slow
@examples(38)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(8, 30),
    case=st.sampled_from(CASES),
    raw=st.booleans(),
    multiway=st.booleans(),
    kind=st.builds(TreeParts, missing=st.booleans(), task=st.sampled_from(Task)),
    min_leaf=st.sampled_from([1, 1, 3]),
)
def test_the_test_of_every_level_is_the_best_by_brute_force(
    seed, n, case, raw, multiway, kind, min_leaf
):
    criterion, measure, plain, ratio = case
    # a criterion is compiled anew without weights, which the tests below have
    kind = attrs.evolve(kind, weighted=not ratio)
    if kind.task is Task.regression:
        criterion, measure, ratio = criterion if not ratio else Reduction(), Variance(), False
    table = toy_table(seed, n, kind)
    problem = problem_of(
        table, criterion, measure, raw=raw, multiway=multiway, max_depth=3, min_leaf=min_leaf
    )
    solution = problem.parts.method.fit(problem, Context())
    tree, told = solution.tree, solution.details["levels"]
    verify_solution(solution, problem)
    levels = nodes_by_level(tree, table)
    for depth, here in levels.items():
        best = best_by_brute_force(problem, [rows for _, rows in here], plain, ratio, min_leaf)
        if depth == len(told):  # a leaf rule, or nothing that divides an open node
            assert depth == 3 or best == -np.inf
            break
        assert len({tree.rule(node) for node, _ in here}) == 1, "one test for all nodes of a level"
        assert len({int(tree.missing_child[node]) for node, _ in here}) == 1
        assert told[depth]["score"] == pytest.approx(best, abs=1e-9)
    assert all(rows.size >= min_leaf for _, rows in levels[len(told)])
    assert set(tree.depth_of[tree.is_leaf].tolist()) == {len(told)}, (
        "every leaf lies below all levels"
    )


@pytest.mark.slow
def test_bins_rule_nothing_out_that_is_best():
    """1,100 rows: cuts are bounded by bins; the twin in NumPy looks at every cut.  Ties of
    values, three classes, weights, missing.
    """
    generator = np.random.default_rng(3)
    n = 1100
    x = generator.normal(size=(n, 3))
    x[:, 1] = np.round(x[:, 1], 1)
    x[generator.random(n) < 0.05, 2] = np.nan
    y = (
        (x[:, 0] > 0.3).astype(int)
        + (np.nan_to_num(x[:, 2]) * x[:, 1] > 0.2)
        + (generator.random(n) < 0.1)
    ).astype(np.int32) % 3
    from arboretum.api import Column, ColumnKind, Table, Target
    from arboretum.testing.tables import bare_objects

    for weights in (None, generator.choice([0.5, 1.0, 3.0], n)):
        columns = tuple(Column(f"x{f}", ColumnKind.continuous, x[:, f]) for f in range(3))
        table = Table(
            "bins", columns, Target("y", Task.classification, y, ("a", "b", "c")), weights
        )
        objects = bare_objects(
            table, raw=x, raw_features=tuple(RawFeature(f"x{f}", f) for f in range(3))
        )
        found = {}
        for criterion in (Reduction(), Plain()):
            problem = Problem(
                objects,
                prices_of(objects),
                Parts(Oblivious(levels=2), criterion=criterion, impurity=Gini()),
            )
            found[type(criterion)] = solution = problem.parts.method.fit(problem, Context())
            verify_solution(solution, problem)
        fast, slow = (
            [one["score"] for one in found[kind].details["levels"]] for kind in (Reduction, Plain)
        )
        assert fast == pytest.approx(slow, abs=1e-12) and len(fast) == 2
        assert found[Reduction].tree.test.tolist() == found[Plain].tree.test.tolist()


def test_a_stump_is_the_stump_of_cart():
    table = toy_table(5, 60, TreeParts(missing=True))
    problem = problem_of(table, Reduction(), Gini(), max_depth=1)
    from arboretum.api import grow

    mine, cart = Oblivious().fit(problem, Context()).tree, grow(problem, Context()).tree
    assert mine == cart


def test_levels_and_leaves_are_limited():
    table = toy_table(2, 80)
    for limits, most in (
        ({"max_leaves": 5}, 5),
        ({"max_depth": 0}, 1),
        ({"min_decrease": 10.0}, 1),
    ):
        assert (
            Oblivious()
            .fit(problem_of(table, Reduction(), Gini(), **limits), Context())
            .tree.n_leaves
            <= most
        )
    assert (
        Oblivious(levels=2)
        .fit(problem_of(table, Reduction(), Gini()), Context())
        .tree.depth_of.max()
        == 2
    )


def test_exclusive_or_is_learnt_though_no_single_test_gains():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (96, 3))
    y = np.where(x[:, 2] == 1, 2, x[:, 0] ^ x[:, 1])
    model = TreeClassifier(method="oblivious", overrides=["method.levels=3"]).fit(
        x.astype(float), y
    )
    assert (model.predict(x.astype(float)) == y).all()


def test_the_preset_runs_and_every_level_has_its_importance():
    record = arboretum.run(["dataset=iris", "method=oblivious", "split=none", "method.levels=3"])
    by_level = np.bincount(
        record.tree.depth_of[~record.tree.is_leaf], record.tree.score[~record.tree.is_leaf]
    )
    assert by_level == pytest.approx([1 / 3, 0.2598, 0.0316], abs=1e-4)
    assert [
        note
        for note in record.notes
        if note.startswith("level 1: petal_length ≤ 2.45, score 0.3333")
    ]
    assert importances(record.tree) == pytest.approx(by_level, abs=1e-12)
    rest = (record.tree.mass * record.tree.impurity)[record.tree.is_leaf].sum() / record.tree.mass[
        0
    ]
    assert by_level.sum() == pytest.approx(record.tree.impurity[0] - rest, abs=1e-12), (
        "levels share what the tree gains"
    )


@pytest.mark.parametrize(
    ("override", "why"),
    [("criterion=random", "which draws"), ("impurity=absolute_error", "no function of sums")],
)
def test_what_cannot_be_added_up_is_refused(override, why):
    data = "dataset=iris" if "random" in override else "dataset=diabetes"
    with pytest.raises(CapabilityError, match=why):
        arboretum.run([data, "method=oblivious", override])


def test_a_test_reads_as_any_other():
    tree = arboretum.run(["dataset=iris", "method=oblivious", "split=none", "method.levels=1"]).tree
    assert isinstance(tree.rule(0), Threshold)


def test_why_says_that_no_node_chooses_for_itself():
    from arboretum.engine.why import reasons

    problem = problem_of(toy_table(2, 30), Reduction(), Gini())
    with pytest.raises(CapabilityError, match="chooses no test by its node's table alone"):
        reasons(problem, Oblivious().fit(problem, Context()).tree, 0, 0)
