"""Both engines against plain Python: at every node of every tree, no test scores higher than the chosen one."""

from __future__ import annotations

import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arboretum.api import Context, Prices, Task, grow
from arboretum.engine.search import bounded
from arboretum.testing.naive import check_tree
from arboretum_classic.criteria import GainRatio, Reduction
from arboretum_classic.impurities import AbsoluteError, Entropy, Gini, Misclassification, Variance

sys.path.insert(0, str(Path(__file__).parent))
from problems import encodeds, problem_of  # noqa: E402

ORDERS = ("depth", "breadth", "best")
EXAMPLES = settings(max_examples=150, deadline=None)


@attrs.frozen
class NumpyOnly:
    """A criterion without a kernel: the same scores through the batch form."""

    inner: object = Reduction()

    def score(self, tables, node):
        return self.inner.score(tables, node)


def check(objects, criterion, impurity, order, min_leaf=1, prices=None):
    problem = problem_of(objects, criterion, impurity, prices=prices, min_leaf=min_leaf)
    tree = grow(problem, Context(), order=order).tree
    slow = criterion.inner if isinstance(criterion, NumpyOnly) else criterion
    check_tree(tree, objects, problem.prices, slow.score, impurity, min_leaf)
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
@given(objects=encodeds(task=Task.regression), order=st.sampled_from(ORDERS), min_leaf=st.integers(1, 3))
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
    trees = [grow(problem_of(objects, Reduction(), Gini()), Context(), order=order).tree for order in ORDERS]
    assert len({tree.to_json() for tree in trees}) == 1


@EXAMPLES
@given(objects=encodeds(missing=False), once=st.booleans(), data=st.data())
def test_prices_are_those_of_the_list_and_a_column_asked_before_is_free_where_it_is_paid_once(objects, once, data):
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


@attrs.frozen
class PerPrice:
    """Reduction per unit of price, plus one: sensitive to every price."""

    def score(self, tables, node):
        return Reduction().score(tables, node) / (1.0 + tables.price)


@pytest.mark.parametrize("impurity", [Gini(), Entropy(), Misclassification()], ids=lambda i: i.name)
@EXAMPLES
@given(
    objects=encodeds(raw_only=True, max_rows=24), edges=st.lists(st.sampled_from([-2.0, 0.1, 0.3, 1.0]), max_size=2),
    min_leaf=st.integers(1, 4),
)  # fmt: skip
def test_no_bin_that_is_not_searched_hides_a_better_threshold(impurity, objects, edges, min_leaf):
    """Few wide bins instead of 254, so that small tables have bins worth searching."""

    def few(raw):
        found = np.full((raw.shape[1], 256), np.inf, raw.dtype)
        found[:, : len(set(edges))] = sorted(set(edges))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded, "bin_edges", few)
        check(objects, Reduction(), impurity, "depth", min_leaf)
        check(objects, GainRatio(), impurity, "depth", min_leaf)
