"""The exact oblivious tree equals enumeration; the decision table says what the tree says."""

from __future__ import annotations

import itertools
import json
import time

import attrs
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import arboretum
from arboretum.api import CapabilityError, Context, Limits, Parts, Problem, Status, Task
from arboretum.testing.effort import examples
from arboretum.testing.suites.base import verify_solution
from arboretum.testing.tables import TreeParts, outcomes, prices_of, toy_objects, toy_table
from arboretum_classic.criteria.impurities import Gini
from arboretum_classic.oblivious.decision_table import DecisionTable
from arboretum_classic.oblivious.solver import ObliviousSolver


@attrs.frozen
class Deep:
    """A number of levels."""

    max_depth: int
    name = "standard"

    def limits(self):
        return Limits(max_depth=self.max_depth)

    def leaf_rule(self):
        from arboretum.api import LeafRule

        return LeafRule()

    def is_leaf(self, node):
        return False


@attrs.frozen
class Loss:
    """Share of the weight that is misclassified, + λ · leaves + μ · prices on the path."""

    lam: float = 0.0
    mu: float = 0.0
    kind = "objective"
    name = "accuracy"
    shape = "additive"

    def label_costs(self, weights, problem):
        return (weights.sum(axis=1, keepdims=True) - weights) / problem.objects.weight.sum()

    def value(self, tree, problem):
        rest = tree.weights[tree.is_leaf]
        wrong = self.label_costs(rest, problem).min(axis=1).sum()
        return float(
            wrong + self.lam * tree.n_leaves + self.mu * (tree.price_to[tree.is_leaf].max())
        )


def enumerated(problem, depth, objective):
    """The least value over all sets of at most so many tests."""
    objects, every = problem.objects, np.arange(problem.objects.n_objects)
    codes = [outcomes(objects, test, every) for test in range(int(objects.test_offset[-1]))]
    best = np.inf
    for size in range(depth + 1):
        for chosen in itertools.combinations(range(len(codes)), size):
            cell = np.zeros(len(every), np.int64)
            for test in chosen:
                cell = cell * 8 + codes[test]
            _, cell = np.unique(cell, return_inverse=True)
            weights = np.zeros((cell.max() + 1, objects.n_classes))
            np.add.at(weights, (cell, objects.label), objects.weight)
            loss = (weights.sum() - weights.max(axis=1).sum()) / weights.sum()
            best = min(
                best,
                loss
                + objective.lam * len(weights)
                + objective.mu * sum(problem.prices.tests[test] for test in chosen),
            )
    return best


@examples(60)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(3, 30),
    depth=st.integers(0, 3),
    weighted=st.booleans(),
    multiway=st.booleans(),
    objective=st.builds(
        Loss, lam=st.sampled_from([0.0, 0.01, 0.1]), mu=st.sampled_from([0.0, 0.02])
    ),
)
def test_the_optimum_equals_enumeration(seed, n, depth, weighted, multiway, objective):
    objects = toy_objects(toy_table(seed, n, TreeParts(weighted=weighted)), multiway=multiway)
    parts = Parts(
        None,
        solver=ObliviousSolver(),
        objective=objective,
        impurity=Gini(),
        stopping=(Deep(depth),),
    )
    problem = Problem(objects, prices_of(objects, seed), parts)
    solution = parts.solver.solve(problem, Context())
    verify_solution(solution, problem)
    assert solution.status is Status.optimal and solution.lower_bound == solution.value
    assert solution.value == pytest.approx(enumerated(problem, depth, objective), abs=1e-9)
    tree = solution.tree
    assert tree.depth_of.max() <= depth and set(tree.depth_of[tree.is_leaf].tolist()) == {
        int(tree.depth_of.max())
    }


@pytest.mark.parametrize("lam", [0.0, 0.02, 0.1, 0.3, 1.0])
def test_every_bound_on_the_way_holds_with_a_price_per_leaf(monkeypatch, lam):
    """No set that is not looked at yet is below what is told, whatever a leaf costs; at 1
    nothing beats the root.
    """
    monkeypatch.setattr("arboretum_classic.oblivious.solver.WORK", 1)
    objective, least, roots = Loss(lam), 0, 0
    for seed in range(6):
        objects = toy_objects(
            toy_table(seed, 6 + 3 * seed, TreeParts(weighted=seed % 2 == 1)), multiway=seed % 3 == 0
        )
        parts = Parts(
            None,
            solver=ObliviousSolver(),
            objective=objective,
            impurity=Gini(),
            stopping=(Deep(2),),
        )
        problem, told = Problem(objects, prices_of(objects, seed), parts), []
        solution = parts.solver.solve(
            problem, Context(proven=lambda low, value, told=told: told.append((low, value)))
        )
        best = enumerated(problem, 2, objective)
        assert all(low <= best + 1e-9 and best <= value + 1e-9 for low, value in told)
        assert solution.value == pytest.approx(best, abs=1e-9) and solution.status is Status.optimal
        least = least + sum(low < value for low, value in told)
        roots = roots + (solution.tree.n_leaves == 1)
    assert roots == 6 if lam == 1.0 else roots < 6
    assert least > 0 or lam == 1.0, "some bounds were told before the end"


def test_out_of_time_it_says_what_it_knows():
    objects = toy_objects(toy_table(1, 200))
    parts = Parts(None, solver=ObliviousSolver(), objective=Loss(), stopping=(Deep(4),))
    problem = Problem(objects, prices_of(objects), parts)
    best = attrs.evolve(problem, parts=attrs.evolve(parts, stopping=(Deep(2),)))
    known = parts.solver.solve(best, Context()).value
    solution = parts.solver.solve(problem, Context(deadline=time.monotonic()))
    verify_solution(solution, problem)
    assert not solution.finished and solution.status is Status.feasible
    assert solution.lower_bound <= known and solution.lower_bound <= solution.value


def test_interrupted_it_keeps_the_best_tree_and_what_it_knows(monkeypatch):
    table = toy_table(3, 40)
    objects = toy_objects(table)
    parts = Parts(
        None, objective=Loss(), impurity=Gini(), solver=ObliviousSolver(), stopping=(Deep(2),)
    )
    problem = Problem(objects, prices_of(objects), parts)
    monkeypatch.setattr("arboretum_classic.oblivious.solver.WORK", 1)

    def interrupt(bound, value):
        raise KeyboardInterrupt(15)

    solution = parts.solver.solve(problem, Context(proven=interrupt))
    proven = parts.solver.solve(problem, Context())
    assert (
        solution.interrupted.args == (15,)
        and not solution.finished
        and "the search was interrupted after" in solution.notes[0]
    )
    assert solution.lower_bound <= proven.value <= solution.value and solution.tree is not None
    verify_solution(solution, problem)


def test_greedy_is_never_better_and_monk1_needs_three_tests():
    levels = [
        "stopping=[standard]",
        "stopping.standard.max_depth=3",
        "split=none",
        "dataset=monk1-full",
    ]
    exact = arboretum.run(
        ["method=exact", "solver=oblivious", "objective=accuracy", "objective.lam=0", *levels]
    )
    greedy = arboretum.run(["method=oblivious", "encoder=onehot", *levels])
    assert exact.solution.status is Status.optimal
    assert (
        exact.solution.value == pytest.approx(1 / 6, abs=1e-12)
        and greedy.metrics["train_error"] >= exact.solution.value
    )
    multiway = arboretum.run(
        [
            "method=exact",
            "solver=oblivious",
            "objective=accuracy",
            "objective.lam=0",
            "encoder=multiway",
            *levels,
        ]
    )
    assert multiway.solution.value == 0.0 and len(multiway.tree.rules) == 3, "(a1 = a2) or a5 = 1"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["stopping=[pure]"], "needs a number of levels"),
        (["stopping.standard.max_depth=2", "stopping.standard.min_leaf=3"], "min_leaf"),
        (
            ["stopping.standard.max_depth=2", "stopping.standard.min_split=5"],
            "leave other leaf rules",
        ),
    ],
)
def test_what_the_solver_cannot_hold_is_refused(more, why):
    stopping = [] if more[0].startswith("stopping=") else ["stopping=[standard]"]
    with pytest.raises(CapabilityError, match=why):
        arboretum.run(
            [
                "dataset=monk1-full",
                "method=exact",
                "solver=oblivious",
                "objective=accuracy",
                *stopping,
                *more,
            ]
        )


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(4, 40), depth=st.integers(0, 3))
def test_the_table_has_a_row_per_combination_and_predicts_as_the_tree(seed, n, depth):
    objects = toy_objects(toy_table(seed, n))
    parts = Parts(
        None, solver=ObliviousSolver(), objective=Loss(), impurity=Gini(), stopping=(Deep(depth),)
    )
    tree = parts.solver.solve(Problem(objects, prices_of(objects), parts), Context()).tree
    lines = DecisionTable(form="csv").write(tree).strip().splitlines()
    levels = [tree.rule(node) for node, _ in tree.path(int(np.argmax(tree.depth_of)))]
    assert len(lines) - 1 == int(np.prod([rule.arity for rule in levels], dtype=int))
    shown = {
        tuple(word.removeprefix("'") for word in line.split(",")[: len(levels)]): line.split(",")[
            len(levels) : len(levels) + 2
        ]
        for line in lines[1:]
    }
    table = objects.table
    answers = [
        [rule.outcome_label(o) for o in rule.outcomes(table, np.arange(n))] for rule in levels
    ]
    predicted = (
        [tree.classes[k] for k in tree.predict(table)] if tree.task is Task.classification else []
    )
    for row in range(n):
        assert shown[tuple(answer[row] for answer in answers)][0] == predicted[row]
    assert sum(float(rows) for _, rows in shown.values()) == n


def test_the_table_in_its_three_forms_and_its_refusals():
    tree = arboretum.run(["dataset=iris", "method=oblivious", "split=none", "method.levels=2"]).tree
    text = DecisionTable().write(tree)
    assert (
        "Importance of the levels: 1: petal_length 0.333, 2: petal_width 0.26" in text
        and text.count("setosa") == 3
    )
    assert (
        DecisionTable(form="markdown")
        .write(tree)
        .startswith("| 1: petal_length | 2: petal_width | prediction |")
    )
    with pytest.raises(CapabilityError, match="more than most=3"):
        DecisionTable(most=3).write(tree)
    bushy = arboretum.run(["dataset=wine", "method=cart", "split=none"]).tree
    with pytest.raises(CapabilityError, match="one test per level"):
        DecisionTable().write(bushy)
    assert json.loads(tree.to_json())["rules"]
