"""The scan of every cut, with a criterion's kernel merged into it, against plain Python."""

from __future__ import annotations

import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import Context, ContractError, Prices, Task, grow
from arboretum.engine.search import raw
from arboretum.kernels import criterion_kernel
from arboretum.testing.effort import examples
from arboretum_classic.criteria.criteria import Reduction
from arboretum_classic.criteria.impurities import Gini, Variance

sys.path.insert(0, str(Path(__file__).parent))
from naive import check_tree
from problems import BRIEF, NUMBERS as DTYPES, encode, problem_of

EXAMPLES = examples(120)
NUMBERS = (-2.0, -0.0, 0.0, 0.1, 0.30000001, 0.30000004, 1.0, 5.0, 1e6, float("nan"))
MASSES = st.sampled_from([0.0, 0.0, 0.05, 0.25])


class Undeclared(Reduction):
    """A criterion that says nothing about bounds, so that every cut is scored."""

    def bounded_by_vertices(self, impurity) -> bool:
        return False


@criterion_kernel
def lopsided(weights, counts, price, extra, node):
    """Reads all that a kernel is given, and leaves from several places."""
    rows = 0
    for k in range(counts.shape[1]):
        rows += counts[0, k]
    if rows == 1:
        return -1.0
    mass = 0.0
    for w in weights[0]:
        mass += w
    if node.params[0] < 0.0:
        return mass if rows != 3 else np.nan
    gain = node.impurity - mass / node.mass * node.impurity_of(weights[0])
    return gain / price + 0.25 * weights[1, 0] / node.total_mass - 0.01 * node.depth


@attrs.frozen
class Lopsided:
    """The kernel above, and its twin for tables."""

    name = "lopsided"
    factor: float = 2.0

    score = staticmethod(lopsided)

    def twin(self, tables, node):
        mass = tables.weights.sum(axis=2)
        share = tables.weights[:, 0] / np.maximum(mass[:, :1], 1e-300)
        gini = np.where(mass[:, 0] > 0, 1.0 - (share**2).sum(axis=1), 0.0)
        gain = node.impurity - mass[:, 0] / node.mass * gini
        score = (
            gain / tables.price
            + 0.25 * tables.weights[:, 1, 0] / node.total_mass
            - 0.01 * node.depth
        )
        return np.where(tables.counts[:, 0].sum(axis=1) == 1, -1.0, score)


@st.composite
def tables(draw, dtype, classes):
    """Raw columns with ties, close neighbours and missing values; classes, or numbers where
    ``classes`` is 0.
    """
    n = draw(st.integers(2, 16))
    x = np.array(
        [
            draw(st.lists(st.sampled_from(NUMBERS), min_size=n, max_size=n))
            for _ in range(draw(st.integers(1, 3)))
        ]
    )
    weight = count = None
    if BRIEF or draw(st.booleans()):  # without weights the scan is compiled anew
        weight = np.array(
            draw(st.lists(st.sampled_from([0.125, 0.3, 1.0, 2.5]), min_size=n, max_size=n))
        )
        count = np.array(draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)), np.int64)
    if classes == 0:
        y = np.array(
            draw(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 3.0, 100.0]), min_size=n, max_size=n))
        )
        return encode(
            np.zeros((n, 0), np.uint8), [], [], x.T.astype(dtype), y, Task.regression, weight, count
        )
    y = np.array(draw(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n)))
    return encode(
        np.zeros((n, 0), np.uint8),
        [],
        [],
        x.T.astype(dtype),
        y,
        Task.classification,
        weight,
        count,
        classes,
    )


def check(objects, criterion, impurity, score, min_leaf, min_mass, prices=None):
    limits = {"min_leaf": min_leaf, "min_mass": min_mass, "prices": prices}
    problem = problem_of(objects, criterion, impurity, **limits)
    tree = grow(problem, Context(), compiled=False).tree
    check_tree(tree, objects, problem.prices, score, impurity, min_leaf, min_mass=min_mass)
    return tree


SLOW = pytest.mark.slow  # each dtype, and more than three classes, are compiled for themselves
KINDS = pytest.mark.parametrize(
    "dtype, classes", [(np.float64, 3), pytest.param(np.float32, 5, marks=SLOW)]
)


@KINDS
@EXAMPLES
@given(data=st.data(), min_leaf=st.integers(1, 3), min_mass=MASSES)
def test_no_cut_scores_higher_than_the_chosen_one(dtype, classes, data, min_leaf, min_mass):
    check(
        data.draw(tables(dtype, classes)),
        Undeclared(),
        Gini(),
        Reduction().score,
        min_leaf,
        min_mass,
    )


@EXAMPLES
@given(objects=tables(DTYPES[-1], 0), min_leaf=st.integers(1, 3), min_mass=MASSES)
def test_no_cut_reduces_the_variance_more_than_the_chosen_one(objects, min_leaf, min_mass):
    check(objects, Reduction(), Variance(), Reduction().score, min_leaf, min_mass)


@pytest.mark.slow
@KINDS
@EXAMPLES
@given(data=st.data(), min_leaf=st.integers(1, 3), min_mass=MASSES)
def test_a_kernel_may_read_all_it_is_given_and_leave_from_several_places(
    dtype, classes, data, min_leaf, min_mass
):
    objects = data.draw(tables(dtype, classes))
    prices = Prices(np.zeros(0), np.array([1.0, 2.0, 0.5])[: objects.raw.shape[1]])
    check(objects, Lopsided(), Gini(), Lopsided().twin, min_leaf, min_mass, prices)


@SLOW
@EXAMPLES
@given(objects=tables(np.float32, 5))
def test_entries_of_eight_bytes_say_the_same_as_those_of_four(objects):
    problem = problem_of(objects, Undeclared(), Gini())
    short = grow(problem, Context(), compiled=False).tree
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw, "entry_type", lambda bits: np.uint64)
        assert grow(problem, Context(), compiled=False).tree.to_json() == short.to_json()


def test_many_rows_and_classes_need_entries_of_eight_bytes():
    assert raw.entry_type(32) is np.uint32
    assert raw.entry_type(33) is np.uint64


@pytest.mark.slow
def test_a_cut_that_scores_nan_is_named():
    x = np.arange(6, dtype=float).reshape(-1, 1)
    objects = encode(np.zeros((6, 0), np.uint8), [], [], x, np.array([0, 1, 2, 1, 0, 1]))
    with pytest.raises(ContractError, match=r"lopsided.*r0 ≤ 2\.5"):
        grow(problem_of(objects, Lopsided(factor=-1.0), Gini()), Context(), compiled=False)


def information(factor):
    """A kernel that closes over a number, calls a compiled helper, and leaves a loop from
    within.
    """
    import math

    import numba

    @numba.njit
    def mass_of(row):
        mass = 0.0
        for w in row:
            mass += w
        return mass

    @criterion_kernel
    def score(weights, counts, price, extra, node):
        after, o = 0, 0
        while True:
            mass = mass_of(weights[o])
            for k in range(weights.shape[1]):
                if weights[o, k] <= 0.0:
                    continue
                after -= factor * weights[o, k] * math.log2(weights[o, k] / mass)
            o += 1
            if o == weights.shape[0]:
                break
        return -after

    return score


@pytest.mark.slow
def test_a_kernel_merged_as_source_scores_as_the_same_kernel_behind_a_pointer():
    classes = 3
    x = np.random.default_rng(0).random((40, 2))
    objects = encode(
        np.zeros((40, 0), np.uint8), [], [], x, np.arange(40) % classes, n_classes=classes
    )

    class Information:
        name = "information"
        score = staticmethod(information(2.0))

    problem = problem_of(objects, Information(), Gini())
    merged, behind_a_pointer = (
        grow(problem, Context(), compiled=compiled).tree for compiled in (False, True)
    )
    assert merged.to_json() == behind_a_pointer.to_json()
    assert merged.n_nodes > 5
