"""Cost-complexity pruning against every pruned subtree of small trees, and the rule of the
authors' program read literally.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import attrs
import numpy as np
import pytest
from drawn_trees import tables, trees
from hypothesis import given, strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import arboretum
from arboretum.api import (
    CapabilityError,
    Column,
    ColumnKind,
    DataError,
    Table,
    Target,
    Task,
    Tree,
    ValidationScore,
)
from arboretum.measure import evaluate
from arboretum.sklearn import TreeClassifier, TreeRegressor
from arboretum.testing.effort import examples
from arboretum.testing.oracles import build_tree, slow_greedy
from arboretum.testing.tables import TreeParts, toy_objects, toy_table
from arboretum_classic.pruning.complexity_path import Subtrees, node_impurities
from arboretum_classic.pruning.cost_complexity import CostComplexity, PathTable

ALPHAS = (0.0, 1 / 64, 1 / 32, 3 / 64, 1 / 8, 1.0)


def grown(seed: int, n_rows: int = 64, depth: int = 4, **kind) -> tuple[Tree, Table]:
    """A tree over rows whose number is a power of two, so that shares of unit weights are exact."""
    table = toy_table(seed, n_rows=n_rows, kind=TreeParts(**{"weighted": False, **kind}))
    objects = toy_objects(table)
    return build_tree(objects, slow_greedy(objects, max_depth=depth)), table


def pruned_subtrees(tree: Tree, node: int = 0):
    """Every pruned subtree of the branch at ``node``, as the set of its leaves."""
    yield frozenset([node])
    if tree.test[node] >= 0:
        below = [
            list(pruned_subtrees(tree, int(child))) for child in tree.children(node) if child >= 0
        ]
        for choice in itertools.product(*below):
            yield frozenset().union(*choice)


def cost(risk, leaves, alpha) -> Fraction:
    return sum((Fraction(float(risk[t])) + Fraction(alpha) for t in leaves), Fraction(0))


def shares_of_errors(tree: Tree) -> np.ndarray:
    """R(t) of 64 rows for the error: sixty-fourths, exact in binary, so that ties are frequent
    and sums have no rounding.
    """
    return (tree.mass - tree.weights.max(axis=1)) / 64


def leaves_of_cut(tree: Tree, nodes) -> frozenset[int]:
    """The leaves that stand, by the numbers of the tree before."""
    nearest_kept = tree.nearest_kept(nodes)
    return frozenset(int(v) for v in np.unique(nearest_kept[tree.is_leaf]))


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(8))
def test_bottom_up_finds_the_smallest_of_the_cheapest_pruned_subtrees(seed, alpha):
    tree, _ = grown(seed, depth=3, multiway=False)
    risk = shares_of_errors(tree)
    every = list(pruned_subtrees(tree))
    least = min(cost(risk, leaves, alpha) for leaves in every)
    cheapest = [leaves for leaves in every if cost(risk, leaves, alpha) == least]
    smallest = min(cheapest, key=len)
    found = leaves_of_cut(tree, Subtrees.of(tree, "error").minimal(alpha))
    assert found == smallest
    assert all(
        any(leaf in [v for v, _ in tree.path(other)] + [other] for leaf in found)
        for c in cheapest
        for other in c
    ), "all other minimising subtrees contain it"


@examples(40)
@given(st.data())
def test_no_pruned_subtree_is_cheaper_whatever_the_weights_and_the_target(data):
    task = data.draw(st.sampled_from(list(Task)))
    tree, _ = grown(data.draw(st.integers(0, 99)), n_rows=16, depth=3, task=task, weighted=True)
    alpha = data.draw(st.sampled_from([0.0, 1e-3, 1e-2, 0.05, 0.3]))
    subtrees = Subtrees.of(tree, "impurity")
    assert subtrees.risk == pytest.approx(tree.mass / tree.mass[0] * tree.impurity)
    least = min(cost(subtrees.risk, leaves, alpha) for leaves in pruned_subtrees(tree))
    found = cost(subtrees.risk, leaves_of_cut(tree, subtrees.minimal(alpha)), alpha)
    # one slack per cut, and there are at most as many cuts as nodes
    assert float(found - least) <= subtrees.slack.sum() + subtrees._rounding(alpha).sum()


def literal_top_down(tree: Tree, risk, alpha: float, node: int = 0) -> set[int]:
    """The authors' rule as it is told: look at a node, make it a leaf or go on below."""
    if tree.test[node] < 0:
        return {node}
    below = [
        t for t in range(tree.n_nodes) if tree.is_leaf[t] and node in [v for v, _ in tree.path(t)]
    ]
    if Fraction(float(risk[node])) + Fraction(alpha) < cost(risk, below, alpha):
        return {node}
    return set().union(
        *(literal_top_down(tree, risk, alpha, int(c)) for c in tree.children(node) if c >= 0)
    )


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(8))
def test_top_down_is_the_authors_rule(seed, alpha):
    tree, _ = grown(seed, multiway=seed % 2 == 0)
    risk = shares_of_errors(tree)
    found = leaves_of_cut(tree, Subtrees.of(tree, "error").dearer_than_a_leaf(alpha))
    assert found == literal_top_down(tree, risk, alpha)


def chain(risks_below: tuple[float, float], middle: float) -> Tree:
    """Root (risk ½), a leaf without risk, and a branch of risk ``middle`` that has two leaves;
    gini-free: impurity is given.
    """
    table = Table(
        "t",
        (Column("x", ColumnKind.continuous, np.arange(4.0)),),
        Target("y", Task.classification, np.array([0, 1, 0, 1], np.int32), ("a", "b")),
    )
    objects = toy_objects(table)
    tree = build_tree(objects, (0, {0: None, 1: (1, {0: None, 1: None})}))
    share = tree.mass / tree.mass[0]
    return attrs.evolve(tree, impurity=np.array([0.5, 0.0, middle, *risks_below]) / share)


def test_the_two_directions_differ_where_a_subtree_needs_only_part_of_its_cuts():
    # whole subtree: 0 + 0.09 + 0.09 + 3α = 0.33 > leaf 0.4 + … no: with α = 0.2 it costs 0.78, the
    # root alone 0.70, but cut at the branch it costs 0 + 0.2 + 2α = 0.60
    tree = chain((0.09, 0.09), 0.2)
    bottom_up, top_down = (
        CostComplexity(alpha=0.2, direction=way).prune(tree, None, None)
        for way in ("bottom_up", "top_down")
    )
    assert bottom_up.n_leaves == 2
    assert top_down.n_leaves == 1


def test_equality_cuts_bottom_up_and_leaves_top_down():
    # the branch costs 0.25 + α as a leaf, 0.125 + 0 + 2α below: equal for α = 0.125
    tree = chain((0.125, 0.0), 0.25)
    assert CostComplexity(alpha=0.125).prune(tree, None, None).n_leaves == 2
    assert CostComplexity(alpha=0.125, direction="top_down").prune(tree, None, None).n_leaves == 3
    assert CostComplexity(alpha=0.124).prune(tree, None, None).n_leaves == 3


def test_equality_up_to_rounding_is_equality():
    # 0.1 + 0.2 is 0.30000000000000004: the same costs, were they not written in binary
    tree = chain((0.1, 0.2), 0.3)
    subtrees = Subtrees.of(tree, "impurity")
    assert subtrees.risk[2] + 0.0 < subtrees.risk[3] + subtrees.risk[4]
    assert CostComplexity(alpha=0.0, direction="top_down").prune(tree, None, None).n_leaves == 3
    less = chain((0.2, 0.1), 0.1 + 0.2)
    assert CostComplexity(alpha=0.0).prune(less, None, None).n_leaves == 2


def test_objects_that_stop_at_an_inner_node_are_paid_by_its_impurity():
    tree, _ = grown(1, depth=1, multiway=False)
    # two of the root's rows have no branch: the left child loses them
    left = tree.children(0)[0]
    weights, counts = tree.weights.copy(), tree.counts.copy()
    weights[left] *= 1 - 2 / counts[left]
    counts[left] -= 2
    stopping = attrs.evolve(tree, weights=weights, counts=counts)
    found = Subtrees.of(stopping, "gini")
    assert found.resting[0] == pytest.approx(2 / 64 * node_impurities(tree, "gini")[0])
    assert Subtrees.of(tree, "gini").resting[0] == 0.0


# -- the choice of α -------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["bottom_up", "top_down"])
@pytest.mark.parametrize("task", list(Task))
@pytest.mark.parametrize("seed", range(3))
def test_the_chosen_alpha_has_the_best_score_and_is_the_smallest_of_equals(seed, task, direction):
    tree, table = grown(seed, n_rows=80, depth=6, task=task)
    valid = toy_table(seed + 50, n_rows=60, kind=TreeParts(weighted=False, task=task))
    pruner = CostComplexity(direction=direction, grid=(1.0, 0.1, 1e-3, 0.02, 1e-5, 1e-4))
    chosen = pruner.choose(tree, valid)
    measure = "r2" if task is Task.regression else "roc_auc"
    scores = {
        alpha: evaluate(attrs.evolve(pruner, alpha=alpha).prune(tree, table, None), valid)[measure]
        for alpha in sorted(pruner.grid)
    }
    assert chosen.measure == measure
    assert {values["pruner.alpha"]: score for values, score in chosen.tried} == pytest.approx(
        scores
    )
    kept = chosen.kept["pruner.alpha"]
    top = max(score for _, score in chosen.tried)
    assert kept == min(values["pruner.alpha"] for values, score in chosen.tried if score == top)
    assert pruner.prune(tree, table, valid) == attrs.evolve(pruner, alpha=kept).prune(
        tree, table, None
    )


def test_validation_rows_of_one_class_are_judged_by_accuracy_and_it_is_said():
    tree, table = grown(0)
    one = table.take(np.flatnonzero(table.target.codes == 1))
    chosen = CostComplexity().choose(tree, one)
    assert chosen.measure == "accuracy"
    assert "the validation rows show one class" in chosen.notes[0]


@examples(50)
@given(st.data())
def test_any_tree_can_be_pruned_also_one_that_splits_missing_values(data):
    table = data.draw(tables())
    tree = data.draw(trees(table))
    risk = (
        "variance"
        if tree.task is Task.regression
        else data.draw(st.sampled_from(["error", "gini", "entropy"]))
    )
    pruner = CostComplexity(
        risk=risk, direction=data.draw(st.sampled_from(["bottom_up", "top_down"]))
    )
    pruned = pruner.prune(tree, table, table)
    score = ValidationScore.on(table)
    assert score.of(pruned) == pytest.approx(max(s for _, s in pruner.choose(tree, table).tried))
    assert np.array_equal(pruned.weights[0], tree.weights[0]) and pruned.counts[0] == tree.counts[0]


# -- bad input -------------------------------------------------------------------------------------


def test_what_cannot_be_pruned_is_refused_with_the_way_out():
    tree, table = grown(0)
    with pytest.raises(
        CapabilityError,
        match="chooses alpha on validation rows; use split=holdout, or say pruner.alpha=VALUE",
    ):
        CostComplexity().prune(tree, table, None)
    with pytest.raises(DataError, match="no validation row"):
        CostComplexity().prune(tree, table, table.take(np.arange(0)))
    without = attrs.evolve(tree, impurity=np.full(tree.n_nodes, np.nan))
    with pytest.raises(CapabilityError, match="grown without; say pruner.risk=gini"):
        CostComplexity(alpha=0.1).prune(without, table, None)
    assert (
        CostComplexity(alpha=0.1, risk="gini").prune(without, table, None).n_nodes <= tree.n_nodes
    )
    with pytest.raises(
        CapabilityError, match="pruner.risk=variance does not fit a target of classification"
    ):
        CostComplexity(alpha=0.1, risk="variance").prune(tree, table, None)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"alpha": -1e-9}, "pruner.alpha must be ≥ 0"),
        ({"alpha": float("nan")}, "pruner.alpha must be ≥ 0"),
        ({"alpha": float("inf")}, "must be finite"),
        ({"grid": ()}, "pruner.grid must hold at least one value; got an empty list"),
        ({"grid": (0.1, -0.1)}, "pruner.grid must be ≥ 0"),
        (
            {"direction": "sideways"},
            "pruner.direction must be one of bottom_up, top_down, rpart; got 'sideways'",
        ),
        ({"folds": 1}, "pruner.folds must be 0 or ≥ 2"),
        ({"one_se": float("inf")}, "pruner.one_se finite"),
        ({"path": True, "direction": "top_down"}, "follow weakest links, which are cut bottom_up"),
        ({"risk": "ginii"}, "pruner.risk must be one of impurity, error, gini, entropy, variance"),
    ],
)
def test_impossible_fields_are_refused(fields, complaint):
    with pytest.raises(ValueError, match=complaint):
        CostComplexity(**fields)


def test_validation_rows_are_needed_only_to_choose():
    assert CostComplexity().needs_validation and not CostComplexity(alpha=0.0).needs_validation
    assert CostComplexity().reads_impurity and not CostComplexity(risk="error").reads_impurity


# -- the path of the weakest links -----------------------------------------------------------------


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_diabetes])
def test_the_path_by_impurity_is_scikit_learns(load):
    """scikit-learn's path has an entry per node cut; of equal α the last is the step of the
    book.
    """
    X, y = load(return_X_y=True)
    X, numbers = X.astype(np.float32), load is load_diabetes
    theirs = (DecisionTreeRegressor if numbers else DecisionTreeClassifier)(random_state=0).fit(
        X, y
    )
    found = theirs.cost_complexity_pruning_path(X, y)
    unit = found.impurities[-1]
    last = np.append(np.diff(found.ccp_alphas) > 1e-12 * unit, True)
    tree = (TreeRegressor if numbers else TreeClassifier)(method="cart").fit(X, y).tree_
    path = Subtrees.of(tree, "impurity").path()
    assert path.alpha / unit == pytest.approx(found.ccp_alphas[last] / unit, rel=0, abs=1e-12)
    assert path.risk / unit == pytest.approx(found.impurities[last] / unit, rel=0, abs=1e-12)
    for k in range(0, len(path.alpha), 7):
        theirs.set_params(ccp_alpha=path.alpha[k] * (1 + 1e-9)).fit(X, y)
        assert theirs.get_n_leaves() == path.n_leaves[k] == tree.cut(path.cuts(k)).n_leaves


@examples(60)
@given(st.data())
def test_every_step_of_the_path_is_the_smallest_cheapest_tree(data):
    table = data.draw(tables())
    tree = data.draw(trees(table))
    subtrees = Subtrees.of(
        tree,
        data.draw(
            st.sampled_from(["error", "variance" if tree.task is Task.regression else "gini"])
        ),
    )
    path = subtrees.path()
    assert (np.diff(path.alpha) > 0).all() and (np.diff(path.n_leaves) < 0).all()
    for k, alpha in enumerate(path.alpha.tolist()):
        assert leaves_of_cut(tree, path.cuts(k)) == leaves_of_cut(tree, subtrees.minimal(alpha))
        between = 0.5 * (alpha + path.alpha[k + 1]) if k + 1 < len(path.alpha) else 2 * alpha + 1
        assert leaves_of_cut(tree, path.cuts(path.at(between))) == leaves_of_cut(
            tree, subtrees.minimal(between)
        )


RPART = {
    "iris": [
        (0.5, 0, 1.0),
        (0.44, 1, 0.5),
        (0.02, 2, 0.06),
        (0.01, 3, 0.04),
        (0.005, 6, 0.01),
        (0.0, 8, 0.0),
    ],
    "wine": [
        (0.495327, 0, 1.0),
        (0.317757, 1, 0.504673),
        (0.056075, 2, 0.186916),
        (0.037383, 3, 0.130841),
        (0.018692, 4, 0.093458),
        (0.009346, 7, 0.037383),
        (0.0, 11, 0.0),
    ],
}
"""The cp tables that rpart 4.1 prints for trees with cp=0, minsplit=2, minbucket=1."""


@pytest.mark.parametrize("name", RPART)
def test_the_path_by_errors_is_the_table_that_rpart_prints(name):
    tree = arboretum.run([f"dataset={name}", "method=cart", "split=none", "tracker=none"]).tree
    subtrees = Subtrees.of(tree, "error")
    for path in (subtrees.path(), subtrees.path_by_sons()):
        assert np.array(path.cp_table()) == pytest.approx(np.array(RPART[name]), abs=1e-6)


def test_a_table_whose_weakest_links_are_not_rparts_complexities():
    """The cp table of rpart 4.1 with cp=0, minsplit=5, minbucket=2: its complexity 1.5/39 is
    1.75/39 as a weakest link.
    """
    random = np.random.default_rng(15)
    x = random.integers(0, 20, (3, 80))
    y = random.normal(size=80) + x[0] / 10 - x[1] * x[2] / 100 > 0
    limits = {"stopping__rpart__minsplit": 5, "stopping__rpart__minbucket": 2, "pruner__alpha": 0.0}
    tree = TreeClassifier(method="rpart", **limits).fit(x.T.astype(float), y).tree_
    theirs = [(18, 0, 39), (3, 1, 21), (1.5, 2, 18), (1, 6, 11), (2 / 3, 9, 8), (0, 12, 6)]
    for direction, third in (("rpart", 1.5), ("bottom_up", 1.75)):
        lines = PathTable(direction=direction).write(tree).splitlines()[:0:-1]
        told = np.array([[float(cell) for cell in line.split(",")[3:]] for line in lines]) * [
            39,
            1,
            39,
        ]
        assert told == pytest.approx(np.array([*theirs[:2], (third, 2, 18), *theirs[3:]]))


FOLDS = {
    "iris": [0.12, 0.1, 0.11, 0.1, 0.5, 1.0],
    "wine": [0.1589, 0.1776, 0.1589, 0.1776, 0.2617, 0.4299, 1.0],
}
"""The column xerror of rpart 4.1 (cp=0, minsplit=2, minbucket=1), told by ``xval`` the ten folds
of seed 3, from the whole tree on.
"""


@pytest.mark.parametrize("name", FOLDS)
def test_errors_by_folds_are_rparts_xerror(name):
    ways = [
        f"dataset={name}",
        "method=cart",
        "split=none",
        "tracker=none",
        "seed=3",
        "pruner=cost_complexity",
        "pruner.risk=error",
    ]
    found = arboretum.run([*ways, "pruner.folds=10", "pruner.relative=true"])
    root = 1 - found.tree.weights[0].max() / found.tree.mass[0]
    assert [(1 - score) / root for _, score in found.selections["pruner"].tried] == pytest.approx(
        FOLDS[name], abs=5e-5
    )
    assert [values["pruner.alpha"] for values, _ in found.selections["pruner"].tried][
        ::-1
    ] == pytest.approx([row[0] for row in RPART[name]], abs=1e-6)


def test_the_path_leaves_as_a_table():
    tree = arboretum.run(["dataset=iris", "method=cart", "split=none", "tracker=none"]).tree
    head, *rows = PathTable().write(tree).splitlines()
    assert head == "alpha,leaves,risk,CP,nsplit,rel_error" and rows[0].startswith("0.0,9,")
    assert np.array([row.split(",")[3:] for row in rows[::-1]], float) == pytest.approx(
        np.array(RPART["iris"]), abs=1e-12
    )


def test_cross_validation_keeps_a_weakest_link_by_the_rule_of_standard_errors():
    ways = [
        "dataset=wine",
        "method=cart",
        "split=none",
        "tracker=none",
        "pruner=cost_complexity",
        "pruner.risk=error",
        "pruner.folds=5",
    ]
    best = arboretum.run(ways).selections["pruner"]
    within = arboretum.run([*ways, "pruner.one_se=1"])
    chosen = within.selections["pruner"]
    score = np.array([one for _, one in chosen.tried])
    assert chosen.measure == "accuracy in 5 folds" and best.tried == chosen.tried
    alphas = [values["pruner.alpha"] for values, _ in chosen.tried]
    assert best.kept["pruner.alpha"] == alphas[np.flatnonzero(score >= score.max() - 1e-12)[-1]]
    wrong = 1 - score.max()
    allowed = score >= score.max() - np.sqrt(wrong * (1 - wrong) / 178) - 1e-12
    assert (
        chosen.kept["pruner.alpha"]
        == alphas[np.flatnonzero(allowed)[-1]]
        > best.kept["pruner.alpha"]
    )
    assert any("complexity path (CP nsplit rel_error xerror xstd" in note for note in within.notes)
    assert (
        within.tree.n_leaves
        == arboretum.run([*ways[:-1], f"pruner.alpha={within.metrics['kept_alpha']}"]).tree.n_leaves
    )


def test_validation_rows_choose_a_weakest_link_too():
    tree, _table = grown(0, n_rows=80, depth=6)
    valid = toy_table(50, n_rows=60, kind=TreeParts(weighted=True))
    chosen = CostComplexity(path=True, risk="error").choose(tree, valid)
    links = Subtrees.of(tree, "error").path()
    assert [values["pruner.alpha"] for values, _ in chosen.tried] == links.alpha.tolist()
    for k, (_, score) in enumerate(chosen.tried):
        assert score == pytest.approx(evaluate(tree.cut(links.cuts(k)), valid)["accuracy"])
    simple = CostComplexity(risk="error", one_se=100.0).choose(tree, valid)
    assert simple.kept["pruner.alpha"] == 1.0, (
        "whatever is within a hundred standard errors: the largest of the grid"
    )


def test_alpha_may_be_a_share_of_the_roots_risk():
    tree, table = grown(2)
    root = Subtrees.of(tree, "error").risk[0]
    for share in (0.01, 0.1, 0.5):
        as_share = CostComplexity(alpha=share, risk="error", relative=True).prune(tree, table, None)
        assert as_share == CostComplexity(alpha=share * root, risk="error").prune(tree, table, None)


def test_more_folds_than_objects_are_refused():
    with pytest.raises(
        CapabilityError, match="pruner.folds=20 are more than the 14 training objects"
    ):
        arboretum.run(
            [
                "dataset=play-tennis",
                "method=cart",
                "split=none",
                "tracker=none",
                "pruner=cost_complexity",
                "pruner.folds=20",
            ]
        )


def test_on_a_chain_both_ways_to_compare_agree():
    """Root (R = 1) and a chain below, which gains .2, .3 and .1: the last link goes at .1, and
    the two others together at .25.
    """
    parent = np.array([-1, 0, 0, 2, 2, 4, 4])
    is_leaf = np.array([False, True, False, True, False, True, True])
    risk = np.array([1.0, 0.0, 0.8, 0.0, 0.5, 0.2, 0.2])
    chain = Subtrees(
        parent, is_leaf, risk, np.zeros(7), np.array([4, 1, 3, 1, 2, 1, 1]), np.full(7, 1e-15)
    )
    assert chain.path().alpha == pytest.approx([0.0, 0.1, 0.25])
    for alpha, standing in ((0.05, 4), (0.15, 3), (0.24, 3), (0.26, 1)):
        assert len(standing_leaves(chain, chain.minimal(alpha))) == standing
    assert (
        len(standing_leaves(chain, chain.son_by_son(0.15))) == 3
        and len(standing_leaves(chain, chain.son_by_son(0.26))) == 1
    )
    # rpart loses nothing there
    resting = attrs.evolve(chain, resting=np.array([0.1, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0]))
    assert (
        len(standing_leaves(resting, resting.son_by_son(0.2))) == 3
        and len(standing_leaves(resting, resting.minimal(0.2))) == 1
    )


@pytest.mark.parametrize("rows", [29, 30, 39, 58, 268])
def test_a_son_of_equal_complexity_stands_as_in_rpart(rows):
    """15 errors of so many; a chain below gains 0, 0, 2 and 2 of them, so that the last two
    links tie: rpart's complexity of the root is 1 error.
    """
    parent = np.array([-1, 0, 1, 2, 2, 4, 4, 1, 0])
    errors = np.array([15, 15, 15, 2, 11, 1, 8, 0, 0])
    leaves, is_leaf = np.array([5, 4, 3, 1, 2, 1, 1, 1, 1]), np.isin(np.arange(9), [3, 5, 6, 7, 8])
    chain = Subtrees(parent, is_leaf, errors / rows, np.zeros(9), leaves, np.full(9, 1e-15))
    assert not len(chain.son_by_son(0.9 / rows)) and 0 in chain.son_by_son(1.1 / rows)


def standing_leaves(subtrees, cuts) -> set[int]:
    """Leaves that stand once ``cuts`` are made."""
    marked, found = set(cuts.tolist()), set()
    for leaf in np.flatnonzero(subtrees.is_leaf).tolist():
        path = [leaf]
        while subtrees.parent[path[-1]] >= 0:
            path.append(int(subtrees.parent[path[-1]]))
        found.add(next((node for node in path[::-1] if node in marked), leaf))
    return found
