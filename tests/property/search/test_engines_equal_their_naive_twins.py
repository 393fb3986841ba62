"""Both engines against plain Python: at every node of every tree, no test scores higher than the
chosen one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import Context, Family, Prices, Task, grow
from arboretum.engine.search import bounded
from arboretum.testing.effort import examples
from arboretum_classic.criteria.criteria import GainRatio, Reduction
from arboretum_classic.criteria.impurities import (
    AbsoluteError,
    Entropy,
    Gini,
    Misclassification,
    Variance,
)

sys.path.insert(0, str(Path(__file__).parent))
from naive import check_tree
from problems import BRIEF, encode, encodeds, problem_of

ORDERS = ("depth", "breadth", "best")
EXAMPLES = examples(150)


@attrs.frozen
class NumpyOnly:
    """A criterion without a kernel: the same scores through the batch form."""

    inner: object = Reduction()

    def score(self, tables, node):
        return self.inner.score(tables, node)


def check(
    objects, criterion, impurity, order, min_leaf=1, prices=None, min_mass=0.0, compiled=True
):
    problem = problem_of(
        objects, criterion, impurity, prices=prices, min_leaf=min_leaf, min_mass=min_mass
    )
    tree = grow(problem, Context(), order=order, compiled=compiled).tree
    slow = criterion.inner if isinstance(criterion, NumpyOnly) else criterion
    check_tree(tree, objects, problem.prices, slow.score, impurity, min_leaf, min_mass=min_mass)
    return tree


@pytest.mark.parametrize("impurity", [Gini(), Entropy(), Misclassification()], ids=lambda i: i.name)
@EXAMPLES
@given(objects=encodeds(), order=st.sampled_from(ORDERS), min_leaf=st.integers(1, 3))
def test_no_test_reduces_the_impurity_more_than_the_chosen_one(impurity, objects, order, min_leaf):
    check(objects, Reduction(), impurity, order, min_leaf)


@EXAMPLES
@given(objects=encodeds(), order=st.sampled_from(ORDERS))
def test_no_test_has_a_higher_gain_ratio_than_the_chosen_one(objects, order):
    check(objects, GainRatio(), Entropy(), order)


@EXAMPLES
@given(objects=encodeds(), order=st.sampled_from(ORDERS), min_leaf=st.integers(1, 3))
def test_a_criterion_in_numpy_chooses_as_well_as_a_kernel(objects, order, min_leaf):
    slow = check(objects, NumpyOnly(), Gini(), order, min_leaf)
    fast = check(objects, Reduction(), Gini(), order, min_leaf)
    assert slow.score[0] == pytest.approx(fast.score[0], abs=1e-12, nan_ok=True)


@EXAMPLES
@given(
    objects=encodeds(task=Task.regression),
    order=st.sampled_from(ORDERS),
    min_leaf=st.integers(1, 3),
)
def test_no_test_reduces_the_variance_more_than_the_chosen_one(objects, order, min_leaf):
    check(objects, Reduction(), Variance(), order, min_leaf)
    check(objects, NumpyOnly(), Variance(), order, min_leaf)


@EXAMPLES
@given(objects=encodeds(task=Task.regression, raw_only=True), min_leaf=st.integers(1, 3))
def test_no_threshold_reduces_the_absolute_error_more_than_the_chosen_one(objects, min_leaf):
    check(objects, Reduction(), AbsoluteError(), "depth", min_leaf)


@EXAMPLES
@given(objects=encodeds())
def test_the_order_of_growth_does_not_change_a_tree_without_a_leaf_budget(objects):
    trees = [
        grow(problem_of(objects, Reduction(), Gini()), Context(), order=order).tree
        for order in ORDERS
    ]
    assert len({tree.to_json() for tree in trees}) == 1


@EXAMPLES
@given(objects=encodeds(missing=False), once=st.booleans(), data=st.data())
def test_prices_are_those_of_the_list_and_a_column_asked_before_is_free_where_it_is_paid_once(
    objects, once, data
):
    n = int(objects.test_offset[-1])
    prices = Prices(
        np.array(data.draw(st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=n, max_size=n))),
        np.array([3.0] * len(objects.raw_features)),
        once,
    )
    tree = check(objects, PerPrice(), Gini(), "depth", prices=prices)
    for node in np.flatnonzero(~tree.is_leaf):
        above = {tree.rule(up).column for up, _ in tree.path(int(node))}
        free = once and tree.rule(node).column in above
        assert (tree.price[node] == 0.0) == free


MASSES = st.sampled_from([0.05, 0.1, 0.25, 0.3, 0.5])


@pytest.mark.parametrize("compiled", [True, False])
@EXAMPLES
@given(objects=encodeds(), min_mass=MASSES, min_leaf=st.integers(1, 3))
def test_every_branch_has_the_least_share_of_the_weight_and_no_better_test_was_passed_over(
    compiled, objects, min_mass, min_leaf
):
    tree = check(
        objects, Reduction(), Gini(), "depth", min_leaf, min_mass=min_mass, compiled=compiled
    )
    assert tree.n_nodes == 1 or tree.mass.min() >= min_mass * tree.mass[0] * (1 - 1e-12)


@EXAMPLES
@given(objects=encodeds(), min_mass=MASSES, min_leaf=st.integers(1, 3))
def test_a_criterion_in_numpy_sees_no_branch_that_is_too_light(objects, min_mass, min_leaf):
    check(objects, NumpyOnly(), Gini(), "depth", min_leaf, min_mass=min_mass)


@EXAMPLES
@given(objects=encodeds(task=Task.regression), min_mass=MASSES, compiled=st.booleans())
def test_every_branch_of_a_regression_tree_has_the_least_share_of_the_weight(
    objects, min_mass, compiled
):
    check(objects, Reduction(), Variance(), "depth", min_mass=min_mass, compiled=compiled)


@pytest.mark.parametrize("scale", [0.1, 1 / 3, 1e-9, 1e12])
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("raw", [True, False])
def test_a_branch_with_exactly_the_least_share_is_let_through_however_its_sum_is_rounded(
    scale, compiled, raw
):
    """Ten objects of weights that binary fractions cannot hold: three of them are 3/10, summed
    or left over.
    """
    label = np.array([0] * 3 + [1] * 7)
    values = np.arange(10.0).reshape(-1, 1)
    codes = np.arange(10, dtype=np.uint8).reshape(-1, 1)
    for mirror in (False, True):
        target = label[::-1].copy() if mirror else label
        objects = encode(
            codes[:, : 0 if raw else 1],
            [] if raw else [10],
            [] if raw else [Family.thresholds],
            values[:, : 1 if raw else 0],
            target,
            weight=np.full(10, scale),
        )
        assert (
            check(objects, Reduction(), Gini(), "depth", min_mass=0.3, compiled=compiled).n_leaves
            == 2
        )
        more = grow(
            problem_of(objects, Reduction(), Gini(), min_mass=0.301), Context(), compiled=compiled
        ).tree
        assert more.n_leaves == 2 and more.mass.min() == pytest.approx(4 * scale)


@attrs.frozen
class PerPrice:
    """Reduction per unit of price, plus one: sensitive to every price."""

    def score(self, tables, node):
        return Reduction().score(tables, node) / (1.0 + tables.price)


@pytest.mark.parametrize(
    "impurity",
    [Gini()] if BRIEF else [Gini(), Entropy(), Misclassification()],
    ids=lambda i: i.name,
)
@EXAMPLES
@given(
    objects=encodeds(raw_only=True, max_rows=24),
    edges=st.lists(st.sampled_from([-2.0, 0.0, 0.3, 1.0, 5.0]), max_size=4),
    crowd=st.sampled_from([0.0, 0.3, 2.0]),
    min_leaf=st.integers(1, 4),
    min_mass=st.sampled_from([0.0, 0.0, 0.1, 0.3]),
)
def test_no_bin_that_is_not_searched_hides_a_better_threshold(
    impurity, objects, edges, crowd, min_leaf, min_mass
):
    """Few wide bins instead of 254, so that small tables have bins worth searching, or too many
    of them.
    """

    def few(raw):
        found = np.full((raw.shape[1], 256), np.inf, raw.dtype)
        found[:, : len(set(edges))] = sorted(set(edges))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded, "bin_edges", few)
        patch.setattr(bounded, "CROWD", crowd)
        for compiled in (True, False):
            check(
                objects,
                Reduction(),
                impurity,
                "depth",
                min_leaf,
                min_mass=min_mass,
                compiled=compiled,
            )
            check(
                objects,
                GainRatio(),
                impurity,
                "depth",
                min_leaf,
                min_mass=min_mass,
                compiled=compiled,
            )
