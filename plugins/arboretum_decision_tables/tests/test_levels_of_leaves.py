"""A node of exactly θ of the weight, or of an impurity of exactly δ, is a leaf: greedy, compiled
or not, and exact.
"""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
import pytest
from decision_tables import GiniInNumpy, problem_from

from arboretum.api import Context, Family, grow
from arboretum.engine.certificate import breaks_rule
from arboretum.testing.tables import ToyGini
from arboretum_basics.stopping import ImpurityAtMost, MassAtMost
from arboretum_classic.criteria.criteria import Reduction
from arboretum_classic.criteria.impurities import Gini
from arboretum_decision_tables.complexities import ExpectedCost
from arboretum_decision_tables.exact.graph import build_graph
from arboretum_decision_tables.exact.search import minimise_complexity
from arboretum_decision_tables.exact.space import space_of
from arboretum_decision_tables.exact.values import Cost, values_of_nodes

MIXED = [(3, 7), (1, 9), (2, 3), (1, 4), (3, 17), (7, 13), (1, 99), (49, 51), (1, 999), (333, 667)]
"""Objects of two classes; for (3, 7) Gini's index is 0.42, and computed 0.42000000000000004."""


@pytest.mark.parametrize("impurity", [Gini(), ToyGini(), GiniInNumpy()], ids=lambda each: each.name)
@pytest.mark.parametrize(("first", "second"), MIXED)
def test_a_node_of_exactly_delta_is_a_leaf(first, second, impurity):
    label = np.repeat([0, 1], [first, second])
    delta = float(1 - Fraction(first**2 + second**2, (first + second) ** 2))
    rule = ImpurityAtMost(delta=delta)
    drawn = problem_from(
        label[:, None], label, [Family.multiway], rule=rule.leaf_rule(), impurity=impurity
    )
    with_rule = lambda stop: attrs.evolve(
        drawn, parts=attrs.evolve(drawn.parts, stopping=(stop,), criterion=Reduction())
    )
    below = with_rule(rule)
    space = space_of(below)
    assert space.is_leaf(np.arange(2)) and build_graph(space).n_nodes == 0
    for compiled in (True, False):
        tree = grow(below, Context(), compiled=compiled).tree
        assert tree.n_nodes == 1 and not breaks_rule(tree, below, rule.leaf_rule())
    barely = ImpurityAtMost(delta=delta * (1 - 1e-6))
    divided = with_rule(barely)
    assert build_graph(space_of(divided)).n_nodes > 0
    for compiled in (True, False):
        tree = grow(divided, Context(), compiled=compiled).tree
        assert tree.n_nodes == 3 and not breaks_rule(tree, divided, barely.leaf_rule())
        assert breaks_rule(tree, below, rule.leaf_rule())


@pytest.mark.parametrize("impurity", [ToyGini(), GiniInNumpy()], ids=lambda each: each.name)
@pytest.mark.parametrize(("first", "second"), MIXED)
def test_below_the_root_too(first, second, impurity):
    """The cheap test leaves a node of exactly δ, so that the dear one is asked of two objects in
    three only.
    """
    n, delta = first + second, float(1 - Fraction(first**2 + second**2, (first + second) ** 2))
    label = np.repeat([0, 1, 0, 1], [first, second, n, n])
    codes = np.stack([np.arange(3 * n) >= n, label], axis=1)
    rule = ImpurityAtMost(delta=delta).leaf_rule()
    problem = problem_from(
        codes, label, [Family.multiway] * 2, rule=rule, impurity=impurity, prices=[1, 100]
    )
    space, cost = space_of(problem), ExpectedCost()
    graph = build_graph(space)
    assert values_of_nodes(graph, Cost.of(cost))[0] == 3 * n + 200 * n
    if space.compiled_impurity:
        assert minimise_complexity(space, cost.form()).value == 3 * n + 200 * n


@pytest.mark.parametrize("theta", [0.5, 0.25])
def test_a_node_of_exactly_theta_is_a_leaf_however_many_weights_are_added_up(theta):
    """A million times 0.1, added one by one, is 100000.000001…"""
    n = 1 << 20
    few = int(n * theta)
    assert abs(np.add.accumulate(np.full(few, 0.1))[-1] / (0.1 * few) - 1) > 1e-12
    codes = np.stack([np.arange(n) < few, np.arange(n) % 2], axis=1).astype(np.uint8)
    problem = problem_from(
        codes, np.arange(n) % 2, [Family.multiway] * 2, weight=np.full(n, 0.1), impurity=ToyGini()
    )
    rule = MassAtMost(theta=theta)
    parts = attrs.evolve(problem.parts, stopping=(rule,), criterion=AskFirst())
    tree = grow(attrs.evolve(problem, parts=parts), Context()).tree
    assert tree.mass[0] > 0 and tree.rule(0).columns == ("x0",)
    of = {int(tree.counts[v]): bool(tree.is_leaf[v]) for v in tree.children(0)}
    assert of[few]


@attrs.frozen
class AskFirst:
    """Prefers the test with the lowest number."""

    kind = "criterion"
    name = "ask_first"

    def score(self, tables, node):
        return -tables.test.astype(np.float64)
