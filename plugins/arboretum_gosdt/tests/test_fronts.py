"""F-score, areas under curves and monotone losses of other plugins: optima against every tree of
tiny tables, in floats of its own.
"""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
import pytest
from tiny_tables import Held, limited, tiny_problem

from arboretum.api import (
    CapabilityError,
    Column,
    ColumnKind,
    ConfusionObjective,
    Context,
    ContractError,
    Limits,
    Parts,
    Status,
    Table,
    Target,
    Task,
    exact_weights,
)
from arboretum.testing.effort import tries
from arboretum.testing.oracles import all_sketches, build_tree
from arboretum.testing.tables import problem_of
from arboretum_gosdt.all_trees import monotone
from arboretum_gosdt.all_trees.monotone import Line, MonotoneLoss
from arboretum_gosdt.all_trees.non_dominated import PartialSolutions, beats
from arboretum_gosdt.problem.prepared import all_tests
from arboretum_gosdt.problem.ranked import Auc, FScore, PartialAuc
from arboretum_gosdt.solvers.fronts import NonDominated, NonDominatedSearch


@attrs.frozen
class GMean(ConfusionObjective):
    """1 − √(sensitivity · specificity): best labels need not be a threshold on the share of
    positives.
    """

    name = "g_mean"

    def loss(self, fp, fn, positives, negatives):
        return 1 - np.sqrt(np.maximum(1 - fn / positives, 0) * np.maximum(1 - fp / negatives, 0))


@attrs.frozen
class Jaccard(ConfusionObjective):
    name = "jaccard"

    def loss(self, fp, fn, positives, negatives):
        return (fp + fn) / (positives + fp)


def leaf_sets(problem, depth, least):
    """The leaves of every tree, as tuples of (negatives, positives)."""
    tests, objects = all_tests(problem), problem.objects
    everything = np.arange(objects.n_objects)
    outcomes = [tests.outcome(test, everything) for test in range(len(tests.column))]

    def trees(rows, depth):
        held = tuple(float(objects.weight[rows][objects.label[rows] == k].sum()) for k in range(2))
        found = {(held,)}
        for outcome in outcomes if depth else ():
            sides = rows[outcome[rows]], rows[~outcome[rows]]
            if all(len(side) and objects.count[side].sum() >= least for side in sides):
                found |= {
                    tuple(sorted(a + b))
                    for a in trees(sides[0], depth - 1)
                    for b in trees(sides[1], depth - 1)
                }
        return found

    return trees(everything, depth)


def area_to(leaves, theta):
    """Area under the ROC curve up to θ by its points."""
    leaves = sorted(leaves, key=lambda leaf: leaf[1] / sum(leaf), reverse=True)
    n, p = (sum(leaf[k] for leaf in leaves) for k in range(2))
    x = y = area = 0.0
    for negative, positive in leaves:
        left, right, up = x, x + negative / n, y + positive / p
        end = min(right, theta)
        if end > left:
            area += (end - left) * (y + y + (up - y) * (end - left) / (right - left)) / 2
        x, y = right, up
    return area


def best(problem, objective, depth=9, leaves=99, least=1):
    found = np.inf
    for tree in leaf_sets(problem, depth, least):
        if len(tree) > leaves:
            continue
        n, p = (sum(leaf[k] for leaf in tree) for k in range(2))
        if isinstance(objective, ConfusionObjective):
            labels = itertools.product((0, 1), repeat=len(tree))
            wrong = (
                [
                    sum(leaf[1 - says] for leaf, says in zip(tree, one, strict=True) if says == k)
                    for k in (1, 0)
                ]
                for one in labels
            )
            loss = min(float(objective.loss(fp, fn, p, n)) for fp, fn in wrong)
        else:
            theta, unit = objective.false_positive_limit()
            loss = 1 - area_to(tree, theta) / unit
        found = min(found, loss + objective.lam * len(tree))
    return found


OBJECTIVES = [
    FScore,
    lambda lam: FScore(lam=lam, beta=0.5),
    Auc,
    lambda lam: PartialAuc(lam=lam, theta=0.3),
    lambda lam: PartialAuc(lam=lam, theta=0.5, normalised=True),
    GMean,
    Jaccard,
]


@pytest.mark.parametrize(
    "seeds",
    [range(40), pytest.param(range(40, 40 + tries(560)), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
@pytest.mark.parametrize("kind", range(len(OBJECTIVES)))
def test_the_optimum_is_that_of_all_trees(kind, seeds):
    tried = 0
    for seed in seeds:
        rng = np.random.default_rng([seed, kind])
        objective = OBJECTIVES[kind](lam=float(rng.choice([0.005, 0.02, 0.05, 0.2])))
        problem = limited(tiny_problem(seed, raw=seed % 5 == 0), objective=objective)
        if len(np.unique(problem.objects.label)) != 2 or problem.objects.n_classes != 2:
            continue
        limits = {}
        if seed % 3 == 0:
            limits["max_depth"] = int(rng.integers(1, 4))
        if seed % 4 == 1:
            limits["max_leaves"] = int(rng.integers(1, 4))
        if seed % 4 == 2:
            limits["min_leaf"] = int(rng.integers(1, 4))
        if limits.get("min_leaf", 1) > 1 and seed % 8 == 2:
            objective = attrs.evolve(objective, lam=0.0)
        problem = limited(problem, objective=objective, stopping=(Held(Limits(**limits)),))
        found = NonDominated().solve(problem, Context())
        expected = best(
            problem,
            objective,
            limits.get("max_depth", 9),
            limits.get("max_leaves", 99),
            limits.get("min_leaf", 1),
        )
        assert found.value == pytest.approx(expected, abs=1e-8), (seed, limits)
        assert found.status is Status.optimal
        tried += 1
    assert tried > len(seeds) / 5


def test_a_value_is_of_the_weights_that_are_written():
    """0.1 + (0.2 + 0.3) is one float less than (0.1 + 0.2) + 0.3, of which a root makes 10⁻⁸."""
    table = Table(
        "tenths",
        (Column("x", ColumnKind.categorical, np.array([0, 1, 1, 1]), ("a", "b")),),
        Target("y", Task.classification, np.array([0, 0, 0, 1], np.int32), ("no", "yes")),
        np.array([0.1, 0.2, 0.3, 1.0]),
    )
    objective = GMean(lam=0.0)
    problem = problem_of(table, Parts(method=None, objective=objective))
    tree = build_tree(problem.objects, (0, {0: None, 1: None}))
    assert objective.value(attrs.evolve(tree, label=np.ones_like(tree.label)), problem) == 1.0


@pytest.mark.parametrize("kind", [FScore, GMean, Jaccard])
def test_the_value_of_a_tree_is_to_the_bit_what_the_search_counts(kind):
    tried = 0
    for seed in range(max(40, tries(300))):
        objective = kind(lam=0.02)
        problem = limited(tiny_problem(seed, n_columns=1 + seed % 2), objective=objective)
        objects = problem.objects
        if len(np.unique(objects.label)) != 2 or objects.n_classes != 2:
            continue
        search, mass = NonDominatedSearch(problem, Context()), objects.exact_weights[0]
        for sketch in itertools.islice(all_sketches(objects), 20):
            tree = build_tree(objects, sketch)
            for label in (tree.label, 1 - tree.label, np.ones_like(tree.label)):
                tree = attrs.evolve(tree, label=label)
                says = tree.predict(objects.table)[objects.row_of_object]
                fp, fn = (mass[(says == k) & (objects.label != k)].sum() for k in (1, 0))
                assert objective.value(tree, problem) == float(
                    search.loss.loss(fp, fn)
                ) + objective.lam * int(tree.is_end.sum()), (seed, sketch)
                tried += 1
    assert tried > 100


def test_who_runs_out_of_time_proves_no_more_than_there_is(monkeypatch):
    worse = 0
    for seed in range(12):
        problem = limited(
            tiny_problem(seed, n_rows=40, n_columns=4), objective=OBJECTIVES[0](lam=0.005)
        )
        if len(np.unique(problem.objects.label)) != 2 or problem.objects.n_classes != 2:
            continue
        whole = NonDominated().solve(problem, Context())
        with monkeypatch.context() as patch:
            patch.setattr(NonDominatedSearch, "_minimise_costs", lambda self: "seconds")
            found = NonDominated().solve(problem, Context())
        assert whole.lower_bound == whole.value
        assert found.lower_bound <= whole.value + 1e-9
        worse += found.value > whole.value + 1e-6
    assert worse


@pytest.mark.parametrize("kind", range(len(OBJECTIVES)))
def test_trees_below_a_value_cost_no_more_than_is_said(kind):
    tried, seeds = 0, range(max(16, tries(40)))  # of a dozen few have two classes
    for seed in seeds:
        objective = OBJECTIVES[kind](lam=0.02)
        problem = limited(tiny_problem(seed), objective=objective)
        if len(np.unique(problem.objects.label)) != 2 or problem.objects.n_classes != 2:
            continue
        loss = NonDominatedSearch(problem, Context()).loss
        unit = float(exact_weights(problem.objects.weight)[1])
        trees = [
            np.rint(np.array(tree) / unit).astype(np.int64) for tree in leaf_sets(problem, 9, 1)
        ]
        values, answers = zip(*map(loss.value_of_leaves, trees), strict=True)
        worst = int(np.argmax(values))
        searched = []
        while (cost := loss.next_cost(trees[worst], values[worst] + 0.01)) is not None and len(
            searched
        ) < 8:
            searched.append(cost)
            below = values[worst] + 0.01
            if not loss.curves:
                loss._trees = trees
                expected = loss._room_expected(loss._cells_below(below), [cost])[0]
            loss.record_least_cost(
                cost,
                min(
                    cost_of(cost, tree, says)
                    for tree in trees
                    for says in itertools.product(range(2), repeat=len(tree))
                ),
            )
            if not loss.curves:  # what was kept for ``next_cost`` is of one line less
                kept, loss._last = loss._cells_below(below), (math.nan, None)
                assert kept.room.max(initial=-1.0) == max(expected, -1.0) or expected < 0
                assert bool(len(kept.room)) == (expected >= 0)
                for one, anew in zip(kept, loss._cells_below(below), strict=True):
                    np.testing.assert_array_equal(one, anew)
            assert loss.lower_bound(9.0) <= min(values) + 1e-8
            for value in values:
                chosen, most, room = loss.tightest_room(value + 1e-6)
                assert chosen in searched
                assert room >= 0
                cheaper = [
                    cost_of(chosen, tree, says)
                    for tree, says, one in zip(trees, answers, values, strict=True)
                    if one <= value
                ]
                assert max(cheaper) <= most
                tried += 1
        assert searched
    assert tried > 7.5 * len(seeds)


@pytest.mark.parametrize("kind", [0, 1, 5, 6])
@pytest.mark.parametrize("value", [0.9, 0.41, 0.2])
def test_stairs_end_where_the_loss_reaches_the_value(kind, value):
    of_class = np.random.default_rng(kind).integers(0, 30, (9, 2))
    loss = MonotoneLoss(OBJECTIVES[kind](lam=0.07), of_class, 0.5, 9)
    cells, (n, p) = loss._cells_below(value), of_class.sum(axis=0)
    assert cells.fp.tolist() == cells.end.tolist()
    losses = loss.loss(*np.broadcast_arrays(np.arange(n + 1.0)[:, None], np.arange(p + 1.0)))
    below = [(losses + 0.07 * leaves < value - 1e-9).sum(axis=1) for leaves in range(1, 11)]
    there = np.argwhere(below)
    assert there.tolist() == np.stack([cells.leaves - 1, cells.fp], axis=1).tolist()
    assert cells.fn.tolist() == [below[row][fp] - 1 for row, fp in there]


@pytest.mark.parametrize("kind", [0, 1, 5, 6])
@pytest.mark.parametrize("cells", [6_000, 90])
@pytest.mark.parametrize("seed", range(8))
def test_the_bound_is_the_least_loss_that_the_lines_allow(kind, seed, cells, monkeypatch):
    """Or, in steps of several false positives, no more."""
    monkeypatch.setattr(monotone, "CELLS", cells)
    rng = np.random.default_rng([kind, seed])
    of_class = rng.integers(0, 30, (9, 2))
    loss = MonotoneLoss(OBJECTIVES[kind](lam=0.07), of_class, 0.5, 9)
    n, p = of_class.sum(axis=0)
    fp, fn, leaves = np.meshgrid(
        np.arange(n + 1), np.arange(p + 1), np.arange(1, 10), indexing="ij"
    )
    allowed = np.ones(fp.shape, bool)
    for a, b, c in rng.integers(1, 9, (seed % 4, 3)).tolist():
        least = int(rng.integers(0, a * n // 2 + b * p // 2))
        loss.record_least_cost(Line(of_class, a, b, c), least)
        allowed &= a * fp + b * fn + c * leaves >= least
    values = np.where(allowed, loss.loss(fp, fn) + 0.07 * leaves, np.inf)
    for value in (0.9, 0.41, values.min() + 1e-7, values.min() / 2):
        truth, bound = min(value, values.min()), loss.lower_bound(value)
        assert bound <= truth + 2e-9
        assert cells == 90 or bound == pytest.approx(truth, abs=2e-9)


@pytest.mark.parametrize("kind", [0, 2])
@pytest.mark.parametrize("lam", [1e9, 1e300])
def test_a_leaf_of_any_price_is_the_best_tree(kind, lam):
    problem = limited(tiny_problem(0), objective=OBJECTIVES[kind](lam=lam))
    assert NonDominated().solve(problem, Context()).tree.n_leaves == 1


def cost_of(cost, tree, answers):
    return cost.q * additive(cost, tree, np.array(answers)) + cost.p * len(tree)


def additive(cost, leaves, answers):
    """What a tree pays without leaves' prices, each leaf with its best answer, by the formula of
    the cost's class.
    """
    if hasattr(cost, "a"):
        return int(
            sum(
                cost.a * n if says else cost.b * p
                for (n, p), says in zip(leaves.tolist(), answers.tolist(), strict=True)
            )
        )
    steps = range(len(cost.lengths) + 1)
    gains = [
        [p * sum(cost.lengths[k:]) - n * sum(cost.gains[k:]) for k in steps]
        for n, p in leaves.tolist()
    ]
    objects = [
        [p * sum(cost.lengths[k:]) - n * sum(cost.gains[k:]) for k in steps]
        for n, p in cost.loss.of_class.tolist()
    ]
    return sum(map(max, objects)) - sum(map(max, gains))


def test_a_curve_beats_another_where_it_lies_nowhere_below():
    rng = np.random.default_rng(2)
    for _ in range(400):
        curves = [
            sorted(
                rng.integers(0, 5, (int(rng.integers(1, 4)), 2)).tolist(), key=slope, reverse=True
            )
            for _ in range(2)
        ]
        whole = np.sum([np.sum(one, axis=0) for one in curves], axis=0)
        # of the same ends
        curves = [
            sorted([*one, (whole - np.sum(one, axis=0)).tolist()], key=slope, reverse=True)
            for one in curves
        ]
        size = max(map(len, curves))
        value = np.array([one + [[0, 0]] * (size - len(one)) for one in curves])
        zeros = np.zeros(2, np.int64)
        partial = PartialSolutions(
            value, np.array([len(one) for one in curves]), zeros, zeros, np.zeros((2, 3), np.int64)
        )
        xs = [Fraction(k, 6) for k in range(6 * int(whole[1]) + 1)] + np.cumsum(
            value[:, :, 1], axis=1
        ).ravel().tolist()
        expected = all(height(curves[0], x) >= height(curves[1], x) for x in xs)
        assert beats(partial, 0, 1, True, np.zeros(1, bool)) == expected


def slope(segment):
    rise, run = segment
    return (1, 0) if run == 0 and rise else (0, Fraction(rise, run)) if run else (0, -1)


def height(curve, x):
    up = Fraction(0)
    for rise, run in curve:
        part = Fraction(1) if run <= x else Fraction(x) / run
        up, x = up + part * rise, x - part * run
    return up


@pytest.mark.parametrize("beta", [1e-200, 1e-6, 1e-3, 1.0, 1e3, 1e200])
def test_f_is_monotone_in_floats_whatever_beta_is(beta):
    fp = np.array([0.0, 0.01, 0.05, 0.1, 1.2, 1.6])[:, None]
    fn = np.array([0.0, 0.1, 0.8, 1.5, 1.6])
    loss = FScore(beta=beta).loss(fp, fn, 1.6, 1.6)
    assert (np.diff(loss, axis=0) >= -1e-15).all() and (np.diff(loss, axis=1) >= -1e-15).all()
    assert (loss[:, -1] == 1).all()


@pytest.mark.parametrize("theta", [1e-320, 1e-300])
@pytest.mark.parametrize("normalised", [False, True])
def test_a_rate_near_0_is_searched_without_a_word_of_numpy(theta, normalised):
    objective = PartialAuc(lam=0.02, theta=theta, normalised=normalised)
    problem = limited(tiny_problem(1), objective=objective)
    both = np.arange(problem.objects.n_objects) % 2
    problem = attrs.evolve(problem, objects=attrs.evolve(problem.objects, label=both))
    found = NonDominated().solve(problem, Context())
    assert found.lower_bound <= found.value


def test_one_class_is_refused():
    problem = limited(tiny_problem(1), objective=Auc())
    one = attrs.evolve(problem.objects, label=np.zeros_like(problem.objects.label))
    with pytest.raises(CapabilityError, match="undefined without a positive row"):
        NonDominated().solve(attrs.evolve(problem, objects=one), Context())


@attrs.frozen
class Falling(ConfusionObjective):
    """Falls with false positives."""

    name = "falling"

    def loss(self, fp, fn, positives, negatives):
        return (fp + fn) / (positives + 3 * fp)


def test_a_loss_that_falls_is_refused_with_the_counterexample():
    problem = limited(tiny_problem(1), objective=Falling())
    both = attrs.evolve(
        problem.objects, label=np.arange(problem.objects.n_objects, dtype=np.int32) % 2
    )
    with pytest.raises(
        CapabilityError,
        match=r"falling is not monotone: loss\(fp=0, fn=.*\) = .* is greater than loss\(fp=",
    ):
        NonDominated().solve(attrs.evolve(problem, objects=both), Context())


@pytest.mark.parametrize(
    ("loss", "error", "said"),
    [
        (lambda fp, fn: [0.0], ContractError, r"one number for each pair .*; got \(1,\)"),
        (lambda fp, fn: np.add(fp, fn, out=fp), ValueError, "read-only"),
    ],
)
def test_a_loss_of_another_shape_or_that_writes_is_refused(loss, error, said):
    @attrs.frozen
    class Odd(Falling):
        def loss(self, fp, fn, positives, negatives):
            return loss(fp, fn)

    problem = limited(tiny_problem(1), objective=Odd())
    label = np.arange(problem.objects.n_objects, dtype=np.int32) % 2
    both = attrs.evolve(problem, objects=attrs.evolve(problem.objects, label=label))
    with pytest.raises(error, match=said):
        NonDominated().solve(both, Context())


FRONTS = """
from test_proof import problem_from
from arboretum_gosdt.problem.ranked import FScore
from arboretum_gosdt.solvers.fronts import NonDominated
rng = np.random.default_rng(3)
x = rng.integers(0, 2, (90, 5))
y = ((x[:, 0] & x[:, 1]) ^ (rng.random(90) < 0.2)).astype(int)
problem = problem_from(x, y, FScore(lam=LAM), max_depth=3)
solver = NonDominated()
"""
GOOD_TREES = """
from tiny_tables import Held, limited, tiny_problem
from arboretum.api import Limits
from arboretum_gosdt.problem.objectives import Accuracy
from arboretum_gosdt.solvers.rashomon import Rashomon
problem = tiny_problem(3, n_rows=1200, n_columns=2, raw=True, most_values=900)
stopping = (Held(Limits(max_depth=2)),)
problem = limited(problem, objective=Accuracy(lam=0.01), stopping=stopping)
solver = Rashomon(epsilon=0.01)
"""


@pytest.mark.compiled
@pytest.mark.parametrize(
    "made", [FRONTS.replace("LAM", "0.01"), FRONTS.replace("LAM", "0"), GOOD_TREES]
)
def test_every_kernel_of_a_solve_is_loaded_before_it(made):
    """In a process of its own, as this one has loaded most of them."""
    asked = f"""
import numpy as np
from numba.core import event
from arboretum.api import Context
from arboretum.kernels.jit import LOADING
{made}
loaded = []
class Loads(event.Listener):
    def on_start(self, one): loaded.append(one)
    def on_end(self, one): pass
with event.install_listener(LOADING, Loads()):
    solver.warm_up(problem, Context())
    before = len(loaded)
    solver.solve(problem, Context())
print(before > 5, len(loaded) - before)
"""
    shown = subprocess.run(
        [sys.executable, "-c", asked],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.split() == ["True", "0"]
