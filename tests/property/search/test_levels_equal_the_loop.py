"""Growth by levels over row stores against the loop over rows in memory: the same tree, in every
field, for weights and targets of any digits.
"""

from __future__ import annotations

import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import (
    Context,
    Encoded,
    Limits,
    Parts,
    Prices,
    Problem,
    Task,
    grow,
    rows_of_arrays,
)
from arboretum.interfaces.rows import RowStore
from arboretum.rows.reference import ReferenceRows
from arboretum.testing.effort import examples
from arboretum_classic.criteria.criteria import GainRatio, Reduction
from arboretum_classic.criteria.impurities import Entropy, Gini, Variance
from arboretum_classic.missing.rules import Ignore, Majority, OwnCategory, Stops

sys.path.insert(0, str(Path(__file__).parent))
from test_coded_subtrees_equal_the_loop import ByObjects, coded

RULES = [Ignore(), Majority(), OwnCategory(), Stops()]
WEIGHTS = {
    "units": [1.0],
    "quarters": [0.25, 1.0, 2.5],
    "any": [0.1, 1 / 3, 0.7, 1.0],
}
LIMITS = st.fixed_dictionaries(
    {
        "min_leaf": st.integers(1, 4),
        "max_depth": st.sampled_from([None, None, 1, 2, 4]),
        "max_leaves": st.sampled_from([None, None, 2, 3, 5]),
    }
)


@st.composite
def rows(draw: st.DrawFn, task: Task) -> Encoded:
    """Objects that are rows, of weights and targets with many digits or few."""
    objects = draw(coded(task))
    n = objects.n_objects
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weight = generator.choice(WEIGHTS[draw(st.sampled_from([*WEIGHTS]))], n)
    ones, raw = np.ones(n, np.int64), np.zeros((n, 0))
    found = attrs.evolve(objects, weight=weight, count=ones, raw=raw)
    if task is Task.regression and draw(st.booleans()):
        found = attrs.evolve(found, y=objects.y + generator.normal(size=n))
    return found


def stores(problem: Problem, chunk: int) -> list[RowStore]:
    """The slow one, and the one that counts chunks by kernels."""
    objects, reference = problem.objects, ReferenceRows.of(problem.objects)
    target = objects.y if objects.is_regression else objects.label
    codes = np.ascontiguousarray(objects.codes.T.astype(np.uint16))
    counted = rows_of_arrays(
        objects.features,
        objects.n_classes,
        codes,
        target,
        objects.weight,
        reference.shift,
        chunk,
    )
    return [reference, counted]


def check(problem: Problem, chunk: int, **how: object) -> None:
    known = grow(problem, Context(), order="breadth", **how).tree
    for store in stores(problem, chunk):
        found = grow(attrs.evolve(problem, store=store), Context(), order="breadth", **how).tree
        assert found == known


@pytest.mark.parametrize("task", Task, ids=lambda task: task.value)
@examples(150)
@given(st.data())
def test_the_tree_is_the_same_in_every_field(task: Task, data: st.DataObject) -> None:
    objects = data.draw(rows(task))
    limits = Limits(**data.draw(LIMITS))
    impurity = (
        Variance() if task is Task.regression else data.draw(st.sampled_from([Gini(), Entropy()]))
    )
    ratio = task is Task.classification and data.draw(st.booleans())
    prices = Prices(np.ones(int(objects.test_offset[-1])), np.ones(0))
    criterion = GainRatio() if ratio else Reduction()
    rules = (ByObjects(least=limits),)
    missing = data.draw(st.sampled_from([None, *RULES]))
    parts = Parts(None, criterion=criterion, impurity=impurity, stopping=rules, missing=missing)
    problem = Problem(objects, prices, parts)
    check(problem, data.draw(st.sampled_from([1, 3, 64])))
