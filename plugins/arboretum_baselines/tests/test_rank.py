"""Branch and bound over sets of leaves: conformance, every tree of tiny tables with every bound
on or off, what is proven when it is stopped.
"""

from __future__ import annotations

import itertools
import time
from fractions import Fraction

import attrs
import numpy as np
import pytest
from drawn_tables import drawn_problem, leaf_sets

from arboretum.api import (
    CapabilityError,
    ConfusionObjective,
    Context,
    Parts,
    Prices,
    Status,
    two_way_problem,
)
from arboretum.testing import SolverSuite
from arboretum.testing.effort import tries
from arboretum.testing.suites.base import verify_solution
from arboretum_baselines.as_printed.solver import Rule
from arboretum_baselines.osdt.losses import class_weights, loss_of
from arboretum_baselines.osdt.solver import BOUNDS, Osdt, Rank
from arboretum_gosdt.problem.objectives import Accuracy, Balanced, CostMatrix, Weighted
from arboretum_gosdt.problem.ranked import Auc, FScore, PartialAuc
from arboretum_gosdt.solvers.fronts import NonDominated
from arboretum_gosdt.solvers.gosdt import Gosdt


class TestConformance(SolverSuite):
    tables = 6

    @pytest.fixture(params=[Rank(), Osdt()], ids=["rank", "osdt"])
    def component(self, request):
        return request.param

    @pytest.fixture
    def parts(self, component):
        return Parts(method=None, solver=component, objective=Accuracy(lam=0.02))


@attrs.frozen
class GMean(ConfusionObjective):
    """1 − √(sensitivity · specificity): best labels need not be a threshold on the share of
    positives.
    """

    name = "g_mean"

    def loss(self, fp, fn, positives, negatives):
        return 1 - np.sqrt((1 - fn / positives) * (1 - fp / negatives))


@attrs.frozen
class Jaccard(ConfusionObjective):
    name = "jaccard"

    def loss(self, fp, fn, positives, negatives):
        return (fp + fn) / (positives + fp)


def area_to(leaves, theta):
    """Area under the ROC curve up to θ, point by point, in fractions."""
    leaves = sorted(leaves, key=lambda leaf: Fraction(leaf[0], sum(leaf)), reverse=True)
    positives, negatives = (sum(leaf[k] for leaf in leaves) for k in range(2))
    x = y = area = Fraction(0)
    for p, n in leaves:
        right, up = x + Fraction(n, negatives), y + Fraction(p, positives)
        end = min(right, theta)
        if end > x:
            area += (end - x) * (2 * y + (up - y) * (end - x) / (right - x)) / 2
        x, y = right, up
    return area


def worth(objective, leaves, unit):
    """The loss of a tree, by its definition: the best of all labels, or the area."""
    if hasattr(objective, "false_positive_limit"):
        theta, divided = (Fraction(repr(one)) for one in objective.false_positive_limit())
        return float(1 - area_to(leaves, theta) / divided)
    positives, negatives = (sum(leaf[k] for leaf in leaves) for k in range(2))
    found = np.inf
    for says in itertools.product((0, 1), repeat=len(leaves)):
        fp, fn = (
            sum(leaf[1 - k] for leaf, one in zip(leaves, says, strict=True) if one != k)
            for k in (0, 1)
        )
        if hasattr(objective, "loss"):
            loss = float(objective.loss(fp * unit, fn * unit, positives * unit, negatives * unit))
        else:
            factor, errors = objective.factors([negatives, positives]), objective.errors(2)
            right = factor[0] * errors[0][0] * (negatives - fp) + factor[1] * errors[1][1] * (
                positives - fn
            )
            loss = float(factor[0] * errors[0][1] * fp + factor[1] * errors[1][0] * fn + right)
        found = min(found, loss)
    return found


OBJECTIVES = [
    lambda lam: Accuracy(lam=lam),
    lambda lam: Balanced(lam=lam),
    lambda lam: Weighted(lam=lam, omega=7.0),
    lambda lam: CostMatrix(lam=lam, costs=[[0.25, 1.5], [0.5, 0]]),
    lambda lam: FScore(lam=lam),
    lambda lam: Auc(lam=lam),
    lambda lam: PartialAuc(lam=lam, theta=0.1),
    lambda lam: PartialAuc(lam=lam, theta=0.5, normalised=True),
    lambda lam: GMean(lam=lam),
    lambda lam: Jaccard(lam=lam),
]


def tiny(seed, kind, **limits):
    """A problem of two classes, both there, and two-way tests; None where the seed draws
    another.
    """
    lam = [0.0, 0.005, 0.02, 0.05, 0.2][seed % 5]
    rows = seed % 8 + 2
    problem = drawn_problem(
        seed, OBJECTIVES[kind](lam), solver=Rank(), n_rows=rows, n_columns=1 + seed % 3, **limits
    )
    objects = problem.objects
    if (
        objects.n_classes != 2
        or len(np.unique(objects.label)) != 2
        or any(feature.arity > 2 for feature in objects.features)
    ):
        return None
    return problem


@pytest.mark.parametrize(
    "seeds",
    [range(tries(200)), pytest.param(range(1000, 1000 + tries(150)), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
@pytest.mark.parametrize("kind", range(len(OBJECTIVES)))
def test_the_optimum_is_that_of_all_trees_whichever_bounds_are_used(kind, seeds):
    tried = 0
    for seed in seeds:
        rng = np.random.default_rng([seed, kind])
        depth, leaves, least = (
            int(rng.integers(1, 4)) if rng.random() < 0.3 else default for default in (99, 99, 1)
        )
        problem = tiny(
            seed,
            kind,
            max_depth=None if depth == 99 else depth,
            max_leaves=None if leaves == 99 else leaves,
            min_leaf=least,
        )
        if problem is None:
            continue
        without = tuple(name for name in BOUNDS if rng.random() < 0.4)
        solver = (
            Rank(
                without=without,
                rule=Rule(int(rng.integers(len(Rule)))),
                ahead=int(rng.integers(1, 4)),
            )
            if rng.random() < 0.7
            else Rank()
        )
        solution = solver.solve(problem, Context(seed=seed))
        verify_solution(solution, problem)
        objective = problem.parts.objective
        found = two_way_problem(problem, "it", solver.limits, class_weights)
        trees = [tree for tree in leaf_sets(found, depth, least) if len(tree) <= leaves]
        best = min(
            worth(objective, tree, float(found.unit)) + objective.lam * len(tree) for tree in trees
        )
        # values are sums of some dozens of numbers up to about 1; better by less than 1e-12 is not
        # looked for
        assert solution.status is Status.optimal and solution.value == pytest.approx(
            best, abs=2e-12
        ), (seed, solver)
        assert solution.tree.n_leaves <= leaves and solution.tree.depth_of.max() <= depth
        tried += 1
    assert tried > len(seeds) / 4


def noise(seed, objective, n_rows=40, n_columns=5, **limits):
    """Random labels, two classes."""
    problem = drawn_problem(
        seed, objective, n_rows=n_rows, n_columns=n_columns, solver=Rank(), **limits
    )
    objects = problem.objects
    codes = np.minimum(objects.codes, 1)
    features = tuple(
        attrs.evolve(feature, n_bins=2, categories=feature.categories[:2], edges=feature.edges[:1])
        for feature in objects.features
    )
    objects = attrs.evolve(objects, codes=codes, features=features, label=objects.label % 2)
    return attrs.evolve(
        problem, objects=objects, prices=Prices(np.ones(int(objects.test_offset[-1])), np.ones(0))
    )


def test_the_certified_solvers_find_the_same():
    for seed, objective in enumerate(
        [
            Accuracy(lam=0.03),
            Weighted(lam=0.02, omega=7.0),
            FScore(lam=0.03),
            Auc(lam=0.03),
            PartialAuc(lam=0.02),
        ]
    ):
        problem = noise(seed, objective)
        other = (Gosdt() if seed < 2 else NonDominated()).solve(problem, Context())
        for solver in (Rank(), Osdt()) if seed == 0 else (Rank(),):
            solution = solver.solve(problem, Context(deadline=time.monotonic() + 30))
            verify_solution(solution, problem)
            assert (
                solution.status is other.status is Status.optimal
                and solution.value == pytest.approx(other.value, abs=1e-9)
            )


@pytest.mark.parametrize("objective", [FScore(lam=0.001), Auc(lam=0.001)], ids=["f_score", "auc"])
def test_a_budget_leaves_a_tree_and_a_bound_and_so_does_ctrl_c(objective):
    def press(lower, value):
        raise KeyboardInterrupt

    problem = noise(4, objective, n_rows=60, n_columns=5)
    best = Rank().solve(problem, Context())
    assert best.status is Status.optimal
    for context in (
        Context(deadline=time.monotonic()),
        Context(memory_bytes=1_500_000),
        Context(proven=press),
    ):
        solution = Rank(ahead=1).solve(problem, context)
        verify_solution(solution, problem)
        assert (
            solution.status is Status.feasible
            and solution.lower_bound <= best.value <= solution.value
        )


def test_the_bound_never_falls_and_never_passes_the_optimum():
    problem = noise(5, FScore(lam=0.02))
    best, told = Rank().solve(problem, Context()).value, []
    Rank(ahead=1, without=("equivalent",)).solve(
        problem, Context(proven=lambda lower, value: told.append((lower, value)))
    )
    assert len(told) > 3 and all(lower <= best <= value for lower, value in told)
    assert all(a[0] <= b[0] and a[1] >= b[1] for a, b in itertools.pairwise(told))


@attrs.frozen
class Falling(ConfusionObjective):
    name = "falling"

    def loss(self, fp, fn, positives, negatives):
        return (fp + fn) / (positives + 3 * fp)


@attrs.frozen
class Undefined(ConfusionObjective):
    name = "undefined"

    def loss(self, fp, fn, positives, negatives):
        with np.errstate(divide="ignore", invalid="ignore"):
            return fp / (fp + positives - fn)


def test_what_is_no_problem_of_sets_of_leaves_is_refused_with_the_way_out():
    for objective, message in [
        (
            Falling(),
            r"falling is not monotone: loss\(fp=0, fn=.*\) = .* is greater than loss\(fp=.*; "
            r"let it grow with both",
        ),
        (Undefined(), r"undefined: loss\(fp=0, fn=.*\) = nan must be a number"),
    ]:
        with pytest.raises(CapabilityError, match=message):
            Rank().solve(noise(1, objective), Context())
    with pytest.raises(ValueError, match="names bounds out of fixed, .*; got 'suport'"):
        Rank(without=("suport",))
    three = next(
        p for p in (drawn_problem(k, Accuracy()) for k in range(99)) if p.objects.n_classes == 3
    )
    with pytest.raises(CapabilityError, match="knows two classes, and there are 3"):
        Rank().solve(three, Context())


def test_a_loss_is_the_objective_s_and_its_best_labels_are_those_of_all():
    for seed, kind in itertools.product(range(30), range(len(OBJECTIVES))):
        problem = tiny(seed, kind)
        if problem is not None and not hasattr(problem.parts.objective, "false_positive_limit"):
            found = two_way_problem(problem, "it", (), class_weights)
            loss = loss_of(found, "it")
            for tree in itertools.islice(leaf_sets(found), 5):
                says = loss.labels(np.array(tree)[:, ::-1])
                fp, fn = (
                    sum(leaf[1 - k] for leaf, one in zip(tree, says, strict=True) if one != k)
                    for k in (0, 1)
                )
                assert loss.table[fp, fn] == pytest.approx(
                    worth(problem.parts.objective, tree, float(found.unit)), abs=2e-12
                )


@pytest.mark.parametrize(
    ("objective", "other"), [(Accuracy(), "gosdt"), (FScore(), "fronts")], ids=["sum", "f"]
)
def test_too_many_losses_are_refused_with_a_solver_that_knows_the_objective(objective, other):
    problem = drawn_problem(1, objective, n_rows=8, solver=Rank())
    label, weight = np.arange(8, dtype=np.int32) % 2, np.where(np.arange(8) < 4, 1.0, 100_003.0)
    heavy = attrs.evolve(problem, objects=attrs.evolve(problem.objects, label=label, weight=weight))
    with pytest.raises(CapabilityError, match=f"use method={other}, or weights"):
        Rank().solve(heavy, Context())
