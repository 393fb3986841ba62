"""What the search loop promises beside the choice of a test: limits, orders, ties, errors,
deadlines.
"""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path

import attrs
import numpy as np
import pytest

from arboretum.api import (
    CapabilityError,
    ConfigError,
    Context,
    ContractError,
    Family,
    Prices,
    Status,
    Task,
    grow,
)
from arboretum_classic.criteria.criteria import GainRatio, RandomChoice, Reduction
from arboretum_classic.criteria.impurities import AbsoluteError, Auto, Gini, Variance

sys.path.insert(0, str(Path(__file__).parents[2] / "property" / "search"))
from problems import encode, problem_of


def coded(codes, y, families, bins=None, task=Task.classification, **more):
    codes = np.asarray(codes, np.uint8)
    bins = bins or [int(c.max()) + 1 for c in codes.T]
    return encode(codes, bins, families, np.zeros((len(y), 0)), np.asarray(y), task, **more)


def random_objects(seed=0, n=200, columns=5, family=Family.thresholds, bins=6):
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, bins, (n, columns))
    y = (codes[:, 0] > 2).astype(int) + (codes[:, 1] > 3) + (generator.random(n) < 0.3)
    return coded(codes, y, [family] * columns, [bins] * columns)


def test_the_solution_is_feasible_and_claims_no_bound():
    solution = grow(problem_of(random_objects(), Reduction(), Gini()), Context())
    assert solution.status is Status.feasible
    assert math.isnan(solution.value) and math.isnan(solution.lower_bound)
    assert solution.subproblems == (~solution.tree.is_leaf).sum()


@pytest.mark.parametrize("order", ["depth", "breadth", "best"])
@pytest.mark.parametrize("most", [1, 2, 3, 7])
def test_the_leaf_budget_is_kept_in_every_order(order, most):
    solution = grow(
        problem_of(random_objects(), Reduction(), Gini(), max_leaves=most), Context(), order=order
    )
    tree, said = (
        solution.tree,
        sum(f"leaves were spent {order}-first" in note for note in solution.notes),
    )
    # a budget that is spent otherwise than by gain says so
    assert said == (order != "best" and most > 1)
    assert tree.n_leaves == most


@pytest.mark.parametrize("most", [4, 5, 6])
def test_a_multiway_test_that_would_exceed_the_leaf_budget_is_not_asked(most):
    objects = random_objects(family=Family.multiway, bins=3)
    tree = grow(
        problem_of(objects, Reduction(), Gini(), max_leaves=most), Context(), order="best"
    ).tree
    assert tree.n_leaves == (3 if most == 4 else 5)


def test_best_first_spends_the_leaf_budget_by_gain():
    full = grow(problem_of(random_objects(), Reduction(), Gini()), Context()).tree
    tree = grow(
        problem_of(random_objects(), Reduction(), Gini(), max_leaves=5), Context(), order="best"
    ).tree
    inner = np.sort(tree.score[~tree.is_leaf])[::-1]
    # greedy by gain: replay it on the full tree
    frontier, taken = [0], []
    while len(taken) < 4:
        best = max(frontier, key=lambda v: -math.inf if full.is_leaf[v] else full.score[v])
        frontier.remove(best)
        frontier += [int(c) for c in full.children(best)]
        taken.append(full.score[best])
    assert inner == pytest.approx(np.sort(taken)[::-1])


def test_min_decrease_refuses_a_test_whose_score_is_not_above_it():
    objects = coded([[0], [0], [1], [1]], [0, 0, 1, 1], [Family.equals])
    assert (
        grow(problem_of(objects, Reduction(), Gini(), min_decrease=0.499), Context()).tree.n_nodes
        == 3
    )
    assert (
        grow(problem_of(objects, Reduction(), Gini(), min_decrease=0.5), Context()).tree.n_nodes
        == 1
    )


def test_a_test_without_gain_is_asked_so_that_exclusive_or_is_learnt():
    objects = coded([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], [Family.multiway] * 2)
    tree = grow(problem_of(objects, Reduction(), Gini()), Context()).tree
    assert tree.n_leaves == 4 and tree.score[0] == 0.0


def test_equal_scores_go_to_the_lowest_column_and_the_lowest_test():
    copies = np.repeat(np.array([[0], [1], [2], [3]]), 3, axis=1)
    objects = coded(copies, [0, 0, 1, 1], [Family.thresholds] * 3)
    assert grow(problem_of(objects, Reduction(), Gini()), Context()).tree.rules[0].column == "c0"
    both = encode(
        copies[:, :1].astype(np.uint8),
        [4],
        [Family.thresholds],
        copies[:, :1].astype(float),
        np.array([0, 0, 1, 1]),
    )
    assert grow(problem_of(both, Reduction(), Gini()), Context()).tree.rules[0].column == "c0"
    symmetric = coded([[0], [1], [2]], [0, 1, 0], [Family.thresholds])
    assert grow(problem_of(symmetric, Reduction(), Gini()), Context()).tree.rule(0).index == 0


def test_equal_classes_go_to_the_smallest_label():
    objects = coded([[0], [0]], [1, 0], [Family.equals])
    assert grow(problem_of(objects, Reduction(), Gini()), Context()).tree.label.tolist() == [0]


def test_missing_rows_go_where_the_impurity_falls_most_and_multiway_to_the_heaviest_outcome():
    codes = [[0], [0], [1], [1], [1], [2]]  # 2 is missing
    binary = coded(codes, [0, 0, 1, 1, 1, 0], [Family.equals], [2])
    tree = grow(problem_of(binary, Reduction(), Gini()), Context()).tree
    assert tree.missing_child[0] == 0 and tree.n_leaves == 2
    multiway = coded(codes, [0, 0, 1, 1, 1, 0], [Family.multiway], [2])
    assert grow(problem_of(multiway, Reduction(), Gini()), Context()).tree.missing_child[0] == 1


def test_constant_tests_compete_only_when_allowed_and_each_once_per_path():
    objects = coded([[0, 0], [0, 1]], [0, 1], [Family.multiway] * 2, [2, 2])

    @attrs.frozen
    class Contrary:
        def score(self, tables, node):
            return -tables.mass.min(axis=1)  # likes constant tests

    strict = grow(problem_of(objects, Contrary(), Gini()), Context()).tree
    assert [rule.column for rule in strict.rules] == ["c1"]
    free = grow(problem_of(objects, Contrary(), Gini()), Context(), allow_constant=True).tree
    assert [free.rule(v).column for v in np.flatnonzero(~free.is_leaf)] == ["c0", "c1"]


def test_the_same_seed_grows_the_same_random_tree_in_every_order_and_another_seed_another():
    problem = problem_of(random_objects(), RandomChoice(), Auto())
    trees = {
        order: grow(problem, Context(seed=3), order=order).tree.to_json()
        for order in ("depth", "breadth", "best")
    }
    assert len(set(trees.values())) == 1
    assert grow(problem, Context(seed=4)).tree.to_json() != trees["depth"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda t: np.full(t.n_tests, np.nan), "returned NaN for the test 'c"),
        (
            lambda t: np.zeros(t.n_tests + 1),
            r"score must have the shape \[\d+\], one number per test; got float64\[\d+\]",
        ),
        (lambda t: np.zeros(t.n_tests, np.int64), r"must be of dtype float64; got int64"),
    ],
)
def test_a_criterion_that_breaks_its_contract_is_named(answer, words):
    class Broken:
        name = "broken"

        def score(self, tables, node):
            return answer(tables)

    with pytest.raises(ContractError, match=f"criterion 'broken'.*{words}"):
        grow(problem_of(random_objects(), Broken(), Gini()), Context())


def test_minus_infinity_is_not_admissible():
    class Never:
        def score(self, tables, node):
            return np.full(tables.n_tests, -np.inf)

    assert grow(problem_of(random_objects(), Never(), Gini()), Context()).tree.n_nodes == 1


def test_without_an_impurity_nodes_have_none():
    class Balance:
        def score(self, tables, node):
            return tables.mass.min(axis=1)

    tree = grow(problem_of(random_objects(), Balance(), None), Context()).tree
    assert tree.n_nodes > 1 and np.isnan(tree.impurity).all()


def test_finalise_scores_sees_all_scores_of_a_node_with_its_terms():
    seen = []

    class Settling(Reduction):
        def finalise_scores(self, scores, terms, node):
            seen.append((len(scores), sorted(terms), scores == pytest.approx(terms["decrease"])))
            return np.where(scores == scores.max(), -np.inf, scores)  # refuse the best

    objects = random_objects()
    best = grow(problem_of(objects, Reduction(), Gini(), max_depth=1), Context()).tree
    tree = grow(problem_of(objects, Settling(), Gini(), max_depth=1), Context()).tree
    assert tree.score[0] < best.score[0]
    assert seen == [(25, ["after", "decrease", "impurity"], True)]


def test_extra_columns_are_added_up_by_outcome_at_every_node():
    class Extra:
        def columns(self, node, objects, rows):
            return np.stack([rows.astype(float), np.ones(len(rows))], axis=1)

        def score(self, tables, node):
            assert tables.extra.shape[2] == 2
            assert (tables.extra[..., 1] == tables.counts.sum(axis=2)).all()
            return tables.extra[:, 0, 0]

    x = np.random.default_rng(0).random((60, 2))
    objects = encode(
        np.random.default_rng(1).integers(0, 4, (60, 2)).astype(np.uint8),
        [4, 4],
        [Family.multiway, Family.equals],
        x,
        np.arange(60) % 2,
    )
    assert grow(problem_of(objects, Extra(), None, max_depth=3), Context()).tree.n_nodes > 3


def test_a_passed_deadline_leaves_a_tree_and_says_so():
    told = []
    context = Context(
        deadline=time.monotonic() - 1, progress=lambda done, total, message: told.append(message)
    )
    assert grow(problem_of(random_objects(), Reduction(), Gini()), context).tree.n_nodes == 1
    assert any("time is up" in message for message in told)


def test_prices_paid_once_per_column_are_free_below():
    objects = random_objects()
    prices = Prices(np.full(int(objects.test_offset[-1]), 2.0), np.zeros(0), once_per_column=True)
    tree = grow(problem_of(objects, Reduction(), Gini(), prices=prices), Context()).tree
    for node in np.flatnonzero(~tree.is_leaf):
        above = {tree.rule(up).column for up, _ in tree.path(int(node))}
        assert tree.price[node] == (0.0 if tree.rule(node).column in above else 2.0)


@pytest.mark.slow
@pytest.mark.compiled
def test_a_column_of_a_million_values_needs_no_more_memory_than_its_rows():
    import tracemalloc

    n = 20_000
    codes = np.arange(n, dtype=np.uint32)[:, None] * 50
    for family in Family:
        objects = encode(codes, [1_000_000], [family], np.zeros((n, 0)), np.arange(n) % 2)
        # all tests are scored, none is asked
        problem = problem_of(objects, Reduction(), Gini(), min_decrease=10.0)
        grow(problem, Context())
        tracemalloc.start()
        grow(problem, Context())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # 2 classes × (8 + 8) bytes per value that occurs, for the table, the block and their
        # copies; not 10⁶ × …
        assert peak < 40 * n * 32, family


def test_an_unknown_order_shows_the_known_ones():
    with pytest.raises(
        ConfigError, match="unknown order of growth 'best-first'; did you mean 'best'"
    ):
        grow(problem_of(random_objects(), Reduction(), Gini()), Context(), order="best-first")


def test_an_impurity_of_values_is_refused_on_fixed_tests():
    objects = coded([[0], [1], [1]], [0.0, 1.0, 2.0], [Family.equals], task=Task.regression)
    with pytest.raises(CapabilityError, match="'absolute_error' needs the values at the node"):
        grow(problem_of(objects, Reduction(), AbsoluteError()), Context())


@pytest.mark.parametrize(
    ("criterion", "impurity"), [(Reduction(), Gini()), (GainRatio(), Variance())]
)
def test_a_part_for_classes_is_refused_on_numbers(criterion, impurity):
    objects = coded([[0], [1], [1]], [0.0, 1.0, 2.0], [Family.equals], task=Task.regression)
    with pytest.raises(CapabilityError, match="does classification, but the target"):
        grow(problem_of(objects, criterion, impurity), Context())


@pytest.mark.parametrize("way_out", ["impurity=variance", "dataset.ignore=[c]"])
def test_what_the_refusal_of_categorical_columns_advises_works(way_out, tmp_path):
    """encoder=raw does not: it leaves categories coded, so the message must not send there."""
    import arboretum

    rows = "".join(f"{'abc'[i % 3]},{i % 7},{i * i % 11 + 0.5}\n" for i in range(40))
    (tmp_path / "t.csv").write_text(f"c,x,y\n{rows}")
    base = [
        "dataset=file",
        f"dataset.path={tmp_path / 't.csv'}",
        "dataset.target=y",
        "split=none",
        "impurity=absolute_error",
    ]
    with pytest.raises(CapabilityError, match="'c' is categorical") as caught:
        arboretum.run(base)
    assert way_out in str(caught.value) and "encoder=raw" not in str(caught.value)
    assert arboretum.run([*base, way_out]).verified
