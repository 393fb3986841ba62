"""The two open recipes."""

from __future__ import annotations

import attrs
import pytest

from arboretum.api import ConfigError, Context, Parts, Solution, Status
from arboretum.testing.oracles import build_tree
from arboretum.testing.tables import ToyGini, ToyReduction, problem_of, toy_table
from arboretum_basics.methods import Exact, Greedy, Order
from arboretum_basics.stopping import Standard


def parts(method, **others):
    return Parts(method=method, criterion=ToyReduction(), impurity=ToyGini(), **others)


def test_the_order_does_not_matter_without_a_leaf_budget():
    trees = {
        order: Greedy(order=order).fit(problem_of(toy_table(4), parts(None)), Context()).tree
        for order in Order
    }
    assert len({tree.to_json() for tree in trees.values()}) == 1


def test_with_a_leaf_budget_best_first_divides_the_node_of_the_highest_score():
    chosen = parts(None, stopping=(Standard(max_leaves=3),))
    problem = problem_of(toy_table(4, n_rows=60), chosen, multiway=False)
    tree = Greedy(order=Order.best).fit(problem, Context()).tree
    stump = (
        Greedy(order=Order.best)
        .fit(attrs.evolve(problem, parts=parts(None, stopping=(Standard(max_depth=1),))), Context())
        .tree
    )
    full = Greedy().fit(attrs.evolve(problem, parts=parts(None)), Context()).tree
    below = [full.score[child] for child in full.children(0) if not full.is_leaf[child]]
    assert tree.n_leaves == 3 and stump.n_leaves == 2
    assert max(tree.score[1:][~tree.is_leaf[1:]]) == max(below)


def test_exact_without_a_solver_says_what_to_add():
    with pytest.raises(ConfigError, match="method exact needs a solver; add solver=NAME"):
        Exact().fit(problem_of(toy_table(0), parts(Exact())), Context())


def test_exact_hands_over_to_the_solver():
    @attrs.frozen
    class Leaf:
        """Returns a leaf."""

        def solve(self, problem, context):
            return Solution(
                build_tree(problem.objects, None), float(context.seed), 0.0, Status.feasible
            )

    solution = Exact().fit(problem_of(toy_table(0), parts(Exact(), solver=Leaf())), Context(seed=9))
    assert solution.value == 9.0 and solution.tree.n_nodes == 1
