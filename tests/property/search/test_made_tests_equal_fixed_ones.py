"""A predicate that proposes what encoder and thresholds offer grows the tree that the engines of
fixed tests grow.
"""

from __future__ import annotations

import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from arboretum.api import Context, Family, Prices, Task, grow
from arboretum.engine.search.raw import gap_of, midpoints
from arboretum.engine.verify import check_prices, check_tree as replay
from arboretum.testing.effort import examples
from arboretum_classic.criteria.criteria import GainRatio, Reduction
from arboretum_classic.criteria.impurities import Entropy, Gini, Variance

sys.path.insert(0, str(Path(__file__).parent))
import itertools

from problems import encodeds, problem_of
from test_engines_equal_their_naive_twins import NumpyOnly

EXAMPLES = examples(250)


@attrs.frozen
class Everything:
    """All fixed tests, and all midpoints at the node and whether a value is known, in the order
    in which ties are broken.
    """

    kind = "predicate"
    name = "everything"

    def candidates(self, objects, rows, seed):
        found = [feature.rule(i) for feature in objects.features for i in range(feature.n_tests)]
        for feature, values in zip(objects.raw_features, objects.raw[rows].T, strict=True):
            known = np.unique(values[~np.isnan(values)])
            pairs = itertools.pairwise(known)
            found += [
                feature.rule(midpoints(np.array([[a, b]]))[0])
                for a, b in pairs
                if b > a + gap_of(objects)
            ]
            found += [feature.rule(np.inf)] * bool(0 < np.isnan(values).sum() < len(values))
        return found


def both(objects, criterion, impurity, order, **limits):
    """The tree of fixed tests and the one of tests made at its nodes, which stands the replay of
    its rows and prices.
    """
    # a multiway test of two outcomes is a two-outcome test once it is made at a node: missing rows
    # may go either way
    assume(
        not any(
            f.family is Family.multiway and f.n_bins == 2 and f.has_missing
            for f in objects.features
        )
    )
    fixed = problem_of(objects, criterion, impurity, **limits)
    made = attrs.evolve(fixed, parts=attrs.evolve(fixed.parts, predicate=Everything()))
    one = grow(fixed, Context(), order=order, compiled=False).tree
    two = grow(made, Context(), order=order).tree
    replay(two, objects, objects.table)
    check_prices(two, objects, fixed.prices)
    return one, two


def alike(one, two) -> bool:
    """The same counts, scores and columns; among equal scores the lowest test is chosen, and which
    one that is may depend on the order of summation alone.
    """
    scores = np.allclose(one.score, two.score, rtol=1e-12, atol=1e-12, equal_nan=True)
    return (
        scores
        and one.counts.tolist() == two.counts.tolist()
        and [r.columns for r in one.rules] == [r.columns for r in two.rules]
    )


@pytest.mark.parametrize(
    "criterion", [Reduction(), NumpyOnly(), GainRatio()], ids=["kernel", "numpy", "ratio"]
)
@EXAMPLES
@given(
    objects=encodeds(),
    order=st.sampled_from(["depth", "breadth", "best"]),
    min_leaf=st.integers(1, 3),
)
def test_of_classes(criterion, objects, order, min_leaf):
    assert alike(
        *both(
            objects,
            criterion,
            Entropy() if isinstance(criterion, GainRatio) else Gini(),
            order,
            min_leaf=min_leaf,
        )
    )


@EXAMPLES
@given(objects=encodeds(task=Task.regression), min_leaf=st.integers(1, 3))
def test_of_numbers(objects, min_leaf):
    assert alike(*both(objects, Reduction(), Variance(), "depth", min_leaf=min_leaf))


@EXAMPLES
@given(objects=encodeds(), data=st.data(), once=st.booleans())
def test_prices_are_those_of_the_columns_read(objects, data, once):
    """One price per column: then the costliest test of a column is any of them."""
    price = {
        f.column: data.draw(st.sampled_from([1.0, 2.0, 5.0]))
        for f in (*objects.features, *objects.raw_features)
    }
    tests = [price[f.column] for f in objects.features for _ in range(f.n_tests)]
    prices = Prices(
        np.array(tests, float), np.array([price[f.column] for f in objects.raw_features]), once
    )
    for budget in (None, data.draw(st.integers(0, 9))):
        assert alike(*both(objects, Reduction(), Gini(), "depth", prices=prices, max_cost=budget))
