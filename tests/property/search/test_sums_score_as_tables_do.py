"""Cuts of many classes by sums that rows keep up to date, against all their tables: the same
tree.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import Context, Task, grow
from arboretum.engine.search import subtree
from arboretum.engine.search.growth import Growth
from arboretum.kernels import class_sums
from arboretum.testing.effort import examples
from arboretum_classic.criteria.criteria import GainRatio, Reduction
from arboretum_classic.criteria.impurities import Entropy, Gini, Misclassification

sys.path.insert(0, str(Path(__file__).parent))
from problems import encode, problem_of

MANY_CLASSES = 1_000
WEIGHTS = {
    "units": None,
    "whole": (1.0, 2.0, 5.0),
    "parts": (0.125, 0.3, 1.0, 2.5),
    "apart": (1e-9, 0.1, 1.0, 1e6),
}


def table(seed, classes, weights="units", rows=60, lacking=0.0, values=12, float32=False):
    """Columns with ties, one of them constant, one that tells something; classes of which few or
    many occur.
    """
    draw = np.random.default_rng(seed)
    x = draw.integers(0, values, (rows, 4)) / 7.0
    x[:, 3] = 1.0
    told = draw.integers(0, 2, rows) + (x[:, 0] * 7 * classes / values).astype(np.int64)
    label = draw.integers(0, classes, rows) if seed % 2 else told % classes
    x[:, :3][draw.random((rows, 3)) < lacking] = np.nan
    weight = count = None
    if WEIGHTS[weights] is not None:
        weight, count = draw.choice(WEIGHTS[weights], rows), draw.integers(1, 4, rows)
    kind = np.float32 if float32 else np.float64
    return raw(x.astype(kind), label, weight, count, classes)


def raw(x, label, weight, count, classes):
    none = np.zeros((len(label), 0), np.uint8)
    return encode(none, [], [], x, label, Task.classification, weight, count, classes)


def both(problem, compiled):
    """The trees by sums, and with a table for every cut.

    Along sorted columns: weights that are counted by value are added up in another order.
    """
    found = []
    for few in (1, MANY_CLASSES):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(class_sums, "FEW_CLASSES", few)
            patch.setattr(subtree, "MOST_CODES", 0)
            found.append(grow(problem, Context(), compiled=compiled).tree)
    return found


@pytest.mark.parametrize("impurity", [Gini(), Entropy()], ids=lambda i: i.name)
@pytest.mark.parametrize("compiled", [False, True], ids=["loop", "subtrees"])
@examples(80)
@given(
    few=st.sampled_from([2, 3, 4, 7, 10]),
    many=st.sampled_from([0, 0, 40, 1_000]),
    kind=st.fixed_dictionaries(
        {
            "seed": st.integers(0, 10_000),
            "weights": st.sampled_from(sorted(WEIGHTS)),
            "rows": st.integers(2, 60),
            "lacking": st.sampled_from([0.0, 0.0, 0.1, 0.9]),
            "values": st.sampled_from([2, 5, 12, 1_000]),
            "float32": st.booleans(),
        }
    ),
    min_leaf=st.integers(1, 4),
    min_mass=st.sampled_from([0.0, 0.0, 0.05, 0.25]),
)
def test_sums_find_the_cut_that_tables_find(
    impurity, compiled, few, many, kind, min_leaf, min_mass
):
    # in the loop few classes are compiled for themselves
    classes = many or (few if compiled else 7)
    objects = table(classes=classes, **kind)
    problem = problem_of(objects, Reduction(), impurity, min_leaf=min_leaf, min_mass=min_mass)
    by_sums, by_tables = both(problem, compiled)
    assert by_sums.to_json() == by_tables.to_json()


@pytest.mark.parametrize("compiled", [False, True], ids=["loop", "subtrees"])
def test_a_plateau_of_equal_scores_goes_to_its_first_cut(compiled):
    """A cut is as good as that from the other end; with weights whose sums are rounded, too."""
    label, x = np.arange(16) % 8, np.arange(16.0)
    for weight in (None, np.full(16, 0.1)):
        count = None if weight is None else np.ones(16, np.int64)
        objects = raw(np.stack([x, -x, x], axis=1), label, weight, count, 8)
        by_sums, by_tables = both(problem_of(objects, Reduction(), Gini(), max_depth=1), compiled)
        assert by_sums.to_json() == by_tables.to_json() and by_sums.rules[0].column == "r0"


def form_of(classes, criterion, impurity):
    return Growth.of(
        problem_of(table(0, classes), criterion, impurity), Context(), False
    ).scorer.sum_form


def test_sums_are_for_more_than_three_classes_and_kernels_that_promise_them():
    gini, none = class_sums.GINI, class_sums.NO_SUMS
    assert [form_of(k, Reduction(), Gini()) for k in (2, 3, 4, 1_000)] == [none, none, gini, gini]
    assert form_of(5, Reduction(), Entropy()) == class_sums.ENTROPY
    assert form_of(5, Reduction(), Misclassification()) == form_of(5, GainRatio(), Gini()) == none
