"""A coverage that starts above 0, falls on the way down or never reaches 1 is noticed while a
tree grows, and named.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import attrs
import numpy as np
import pytest
from definition_oracle import Instance
from instances import problem

from arboretum.api import Context, ContractError, Parts, grow
from arboretum.engine.search.coverage_state import covering_cost_of
from arboretum_classic.criteria.criteria import Reduction
from arboretum_classic.criteria.impurities import Gini
from arboretum_regularized.coverages import Covered, OthersExcluded, Probability, UnlikePairs
from arboretum_regularized.criteria import Regularized

N = 8


@attrs.frozen
class OfSize:
    """f by how many objects are together: ``values[k]`` for k + 1 of the eight."""

    kind: ClassVar[str] = "coverage"
    name: ClassVar[str] = "of_size"
    capabilities: ClassVar[tuple] = ()
    values: tuple[float, ...]

    def covered(self, objects, rows):
        return np.full(len(rows), self.values[len(rows) - 1])


GOOD = (1.0, 0.9, 0.8, 0.7, 0.6, 0.4, 0.2, 0.0)
BAD = {
    "covered must be 0 (or 1) where all objects are together; object 0 got 0.1 among 8 objects": (
        *GOOD[:7],
        0.1,
    ),
    "covered must not fall on the way down; object 0 got 0.1 among 2 objects, 0.7 above": (
        1.0,
        0.1,
        *GOOD[2:],
    ),
    "an object that is alone must be covered, f = 1; object 0 got 0.99": (0.99, *GOOD[1:]),
}


def asked(values, criterion, stopping=(), others=()):
    """Eight objects by three bits; parity is the class, so that a tree must go down to single
    objects.
    """
    bits = [[i >> bit & 1 for i in range(N)] for bit in (2, 1, 0)]
    label = [sum(column[i] for column in bits) % 2 for i in range(N)]
    x = Instance([Fraction(1, N)] * N, label, bits, [Fraction(1)] * 3)
    coverage = (*others, OfSize(values))
    return problem(
        x,
        Parts(
            method=None,
            criterion=criterion,
            impurity=Gini(),
            coverage=coverage,
            stopping=tuple(stopping),
        ),
    )


@pytest.mark.parametrize("others", [(), (UnlikePairs(),)], ids=["alone", "joined"])
@pytest.mark.parametrize("message", BAD)
def test_a_criterion_that_scores_by_it_meets_it(message, others):
    with pytest.raises(ContractError) as told:
        grow(asked(BAD[message], Regularized(), others=others), Context())
    assert str(told.value) == f"coverage 'of_size': {message}"


@pytest.mark.parametrize("message", BAD)
def test_so_does_a_leaf_rule_that_looks_at_it(message):
    with pytest.raises(ContractError) as told:
        grow(asked(BAD[message], Reduction(), [Covered()]), Context())
    assert str(told.value) == f"coverage 'of_size': {message}"


@pytest.mark.parametrize("message", BAD)
def test_and_the_covering_cost_where_nothing_else_asks(message):
    bad = asked(BAD[message], Reduction())
    with pytest.raises(ContractError, match="coverage 'of_size': "):
        covering_cost_of(grow(bad, Context()).tree, bad, bad.objects.table)


@pytest.mark.parametrize(
    "coverage", [(), (Probability(), UnlikePairs()), (OthersExcluded(),)], ids=len
)
@pytest.mark.parametrize("allow_constant", [False, True])
@pytest.mark.parametrize("order", ["depth", "breadth", "best"])
def test_one_that_keeps_its_contract_passes_whatever_the_order(order, allow_constant, coverage):
    for criterion in (Regularized(), Reduction()):
        good = asked(GOOD, criterion, [Covered()], coverage)
        tree = grow(good, Context(), order=order, allow_constant=allow_constant).tree
        assert tree.n_leaves == N and covering_cost_of(tree, good, good.objects.table) == {
            "covering_cost": 3.0
        }


def test_a_root_where_all_are_covered_is_no_complaint():
    root = asked((1.0,) * N, Reduction(), [Covered()])
    assert grow(root, Context()).tree.n_nodes == 1
