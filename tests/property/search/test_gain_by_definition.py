"""What tests add to coverages without a kernel: a call per set of objects, or one for many;
small blocks; and it is said.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from unittest import mock

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import Context, ContractError, Family, grow
from arboretum.engine.search import coverage_state
from arboretum.engine.search.growth import Growth
from arboretum.testing.effort import examples
from arboretum_classic.criteria.impurities import Gini

sys.path.insert(0, str(Path(__file__).parent))
from cover import ToyCover
from naive import check_tree
from problems import encode, encodeds, problem_of
from test_own_columns_and_coverage import drawn_prices, with_coverage
from toy_coverage import ToyExcluded

EXAMPLES = examples(100)


@attrs.frozen
class Counted(ToyExcluded):
    """Remembers which sets of objects it was asked about."""

    name = "counted"
    asked: list = attrs.field(factory=list, eq=False)

    def prepare(self, objects):
        return self

    def covered(self, objects, rows):
        self.asked.append(frozenset(rows.tolist()))
        return ToyExcluded().covered(objects, rows)


@attrs.frozen
class Many(Counted):
    """Answers for many sets in one call."""

    name = "many"
    wrong: bool = False

    def covered_many(self, objects, rows, start):
        parts = [ToyExcluded().covered(objects, part) for part in np.split(rows, start[1:-1])]
        return np.concatenate(parts)[: len(rows) - self.wrong]


@EXAMPLES
@given(
    objects=encodeds(max_rows=9),
    many=st.booleans(),
    most=st.sampled_from([1, 20, 1 << 18]),
    seed=st.integers(0, 99),
)
def test_the_tree_is_that_of_the_literal_sums_however_sets_are_asked_for(objects, many, most, seed):
    criterion, prices = ToyCover(0.01, 0.001), drawn_prices(objects, seed, False)
    coverage = (Many() if many else Counted(), Counted())
    problem = with_coverage(problem_of(objects, criterion, Gini(), prices), *coverage)
    with mock.patch.object(coverage_state, "MOST_ROWS", most):
        tree = grow(problem, Context()).tree
    assert not many or coverage[0].asked == []
    check_tree(
        tree, objects, prices, criterion.score, Gini(), criterion=criterion, coverage=coverage
    )


def twins(criterion=None, coverage=None):
    """Eight objects, a test that tells all apart, and one test twice."""
    codes = np.array([[i, i % 2, i % 2] for i in range(8)], np.uint8)
    objects = encode(codes, [8, 2, 2], [Family.multiway] * 3, np.zeros((8, 0)), np.arange(8) % 4)
    return with_coverage(
        problem_of(objects, criterion or ToyCover(0.5), Gini(), max_depth=1), coverage or Counted()
    )


def test_a_set_of_objects_that_is_an_outcome_of_several_tests_is_asked_about_once():
    problem = twins()
    grow(problem, Context())
    asked = Counter(problem.parts.coverage[0].asked)
    everyone, halves = frozenset(range(8)), (frozenset(range(0, 8, 2)), frozenset(range(1, 8, 2)))
    assert [asked[half] for half in halves] == [1, 1]
    # as an outcome, as a node, and at the start: alone it must be covered
    assert asked[frozenset([3])] <= 3
    assert asked[everyone] <= 2  # for node.coverage, and before the tests


def test_many_answers_of_another_length_are_refused_by_name():
    with pytest.raises(
        ContractError,
        match=(
            r"coverage 'many': covered_many must have the shape \[8\], one number per "
            r"object; got float64\[7\]"
        ),
    ):
        grow(twins(coverage=Many(wrong=True)), Context())


def test_a_growth_by_definition_says_so_while_it_works_and_in_a_note():
    said = []
    context = Context(progress=lambda done, total, text: said.append(text))
    problem = twins()
    growth = Growth.of(problem, context, False)
    growth.last_report = -1e9
    growth.run("depth")
    assert said == [
        "0 nodes divided, scoring by the definition of coverage, which has no kernel here"
    ]
    note = (
        "criterion toy_cover has no kernel for coverage=counted with impurity=gini: scored by "
        "its definition, object by object"
    )
    assert grow(problem, context).notes == (note,)
    assert grow(twins(coverage=ToyExcluded()), context).notes == ()
