"""A kernel that reads beyond an array, or answers otherwise than as plain Python, is refused
before the growth.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
from pathlib import Path

import attrs
import numba
import numpy as np
import pytest

from arboretum.api import Context, ContractError, Encoded, Family, Task, grow
from arboretum.engine.search import kernel_check
from arboretum.engine.search.compiled_criterion import CompiledCriterion
from arboretum.engine.search.statistics import Statistics
from arboretum.kernels import column_kernel, criterion_kernel, impurity_kernel
from arboretum.testing.tables import toy_objects, toy_table
from arboretum_classic.criteria.criteria import GainRatio, Reduction
from arboretum_classic.criteria.impurities import AbsoluteError, Entropy, Gini, Variance

sys.path.insert(0, str(Path(__file__).parents[2] / "property" / "search"))
from problems import encode, problem_of

pytestmark = pytest.mark.compiled

X, LABELS = np.arange(12.0).reshape(-1, 1), np.array([0, 1] * 6)


@numba.njit
def third(numbers):
    return numbers[2]


@attrs.frozen
class Scores:
    """A criterion around one kernel."""

    lam: float = 0.5
    word: str = "not a number"

    name = "mine"


class ThirdParameter(Scores):
    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        return node.params[0] + node.params[1]


class ThirdClass(Scores):
    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        return weights[0, 0] + weights[1, 2]


class ThroughHelper(Scores):
    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        return third(weights[0])


class Overflows(Scores):
    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        power = 1
        for _ in range(50):
            power *= 3
        return float(power)


class OneOutcomeMore(Scores):
    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        return weights[0, 0] + weights[2, 0]


class DividesByZero(Scores):
    """Inf − inf and logarithms of zero are nothing that Python could compare."""

    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        empty = 1.0
        for k in range(weights.shape[1]):
            empty *= weights[0, k]
        return -1.0 / empty if node.depth < 0 else 1.0 / (1.0 + weights[0, 0])


@attrs.frozen
class ThirdShare:
    """An impurity that takes three classes for granted."""

    name, scale, capabilities = "thirds", "mean", ()

    @staticmethod
    @impurity_kernel
    def kernel(weights):
        return weights[2]

    def value(self, weights):
        return weights[..., 0]


def objects_of(target: np.ndarray, family: Family | None = None) -> Encoded:
    task = Task.classification if target.dtype.kind == "i" else Task.regression
    if family is None:
        return encode(np.zeros((len(target), 0), np.uint8), [], [], X, target, task)
    return encode(X.astype(np.uint8), [12], [family], np.zeros((len(target), 0)), target, task)


def grown(criterion, impurity=None, family=None):
    return grow(problem_of(objects_of(LABELS, family), criterion, impurity), Context()).tree


@pytest.mark.parametrize("family", [None, Family.thresholds])
@pytest.mark.parametrize(
    ("criterion", "complaint"),
    [
        (
            ThirdParameter(),
            r"criterion 'mine'.* in test_kernel_check.py:\d+, "
            r".*node.params\[1\].*node.params holds 1 \(lam\)",
        ),
        (ThirdClass(), r"criterion 'mine'.*weights\[1, 2\].*weights is \[2, 2\]"),
        (ThroughHelper(), r"criterion 'mine'.*numbers\[2\].*index 2 is out of bounds"),
        (OneOutcomeMore(), r"criterion 'mine'.*weights\[2, 0\].*index 2 is out of bounds"),
    ],
)
def test_a_criterion_that_reads_beyond_an_array_is_refused_with_its_line(
    family, criterion, complaint
):
    with pytest.raises(ContractError, match=complaint) as caught:
        grown(criterion, Gini(), family)
    assert "\n" not in str(caught.value)


def test_an_impurity_that_reads_beyond_an_array_is_refused_with_its_line():
    with pytest.raises(
        ContractError, match=r"impurity 'thirds'.*return weights\[2\].*weights holds 2"
    ):
        grown(Reduction(), ThirdShare())


def test_a_kernel_whose_compiled_form_computes_something_else_is_refused_with_both_values():
    with pytest.raises(
        ContractError,
        match=r"criterion 'mine'.*answers .* compiled and 7.17897988e\+23 as plain Python",
    ):
        grown(Overflows(), Gini())


def test_what_python_refuses_to_divide_is_left_to_the_compiled_form():
    assert grown(DividesByZero(), Gini()).n_nodes > 1


@pytest.mark.parametrize(
    "criterion, impurity",
    [(Reduction(), Gini()), (Reduction(), Entropy()), (GainRatio(), Entropy())],
)
def test_the_first_look_is_cheap_and_the_second_free(criterion, impurity):
    objects = toy_objects(toy_table(0))
    statistics = Statistics.of(objects)
    scorer = CompiledCriterion.of(criterion, impurity, statistics, 1)
    kernel_check.check_kernels(scorer, objects, statistics)

    def calls(forget):
        if forget:
            kernel_check._check_criterion.cache_clear(), kernel_check._check_impurity.cache_clear()
        profile = cProfile.Profile()
        profile.runcall(kernel_check.check_kernels, scorer, objects, statistics)
        return pstats.Stats(profile).total_calls

    assert calls(forget=True) < 1_000
    assert calls(forget=False) < 200


def test_components_of_the_house_pass():
    numbers = objects_of(np.linspace(0, 1, 12) ** 2)
    for impurity in (Variance(), AbsoluteError()):
        assert grow(problem_of(numbers, Reduction(), impurity), Context()).tree.n_nodes > 1


@attrs.frozen
class ColumnBeyond:
    """Reads a parameter that it has not."""

    name = "column_beyond"

    @staticmethod
    @column_kernel
    def column(weight, label, node):
        return weight * node.params[1]

    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        return extra[0, 0]


@attrs.frozen
class ColumnOverflows(ColumnBeyond):
    """Python's integers have no end, numba's have 64 bits."""

    name = "column_overflows"

    @staticmethod
    @column_kernel
    def column(weight, label, node):
        return float((int(weight) + 3_000_000_000) * 4_000_000_000 + 10**18)


@pytest.mark.parametrize(
    ("criterion", "said"),
    [
        (ColumnBeyond(), "'column_beyond': column: its kernel reads beyond"),
        (ColumnOverflows(), "'column_overflows': column: its kernel .*64 bits"),
    ],
    ids=["beyond", "overflows"],
)
def test_a_column_kernel_is_tried_as_plain_python_first(criterion, said):
    with pytest.raises(ContractError, match=said):
        grow(problem_of(toy_objects(toy_table(0)), criterion, Gini()), Context())


# -- memory, chance, and the other form ------------------------------------------------------------


class TakesMemory(Scores):
    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        shares = weights[0] / (1.0 + weights[0].sum())
        return -(shares * shares).sum()


class Draws(Scores):
    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        return np.random.random()


@criterion_kernel
def without_price(weights, counts, price, extra, node):
    return -weights[0, 0]


class TwoFormulas(Scores):
    """The kernel forgets the price."""

    def kernel(self, impurity):
        return without_price

    def score(self, tables, node):
        return -tables.weights[:, 0, 0] / tables.price


@attrs.frozen
class GreedyShare:
    name, scale, capabilities = "share", "mean", ()

    @staticmethod
    @impurity_kernel
    def kernel(weights):
        return (weights * weights).sum()

    def value(self, weights):
        return (weights**2).sum(axis=-1)


class OtherShare(GreedyShare):
    @staticmethod
    @impurity_kernel
    def kernel(weights):
        return weights[0]


class ColumnTakesMemory(Scores):
    @staticmethod
    @column_kernel
    def column(weight, label, node):
        return np.full(2, weight)[0]

    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        return -extra[0, 0]


HERE = r"\(test_kernel_check.py:\d+\)"


@pytest.mark.parametrize(
    ("criterion", "impurity", "rule"),
    [
        (
            TakesMemory(),
            None,
            f"criterion 'mine': its kernel {HERE} takes memory each time it is called, .*; "
            "loop over numbers",
        ),
        (Reduction(), GreedyShare(), f"impurity 'share': its kernel {HERE} takes memory each time"),
        (
            ColumnTakesMemory(),
            None,
            f"criterion 'mine': column: its kernel {HERE} takes memory each time",
        ),
        (
            Draws(),
            None,
            f"criterion 'mine': its kernel {HERE} scores one table in two ways; a kernel "
            "must not draw",
        ),
        (
            TwoFormulas(),
            None,
            f"criterion 'mine': its kernel {HERE} answers .* compiled and .* by score, in "
            "NumPy form .* one formula",
        ),
        (
            Reduction(),
            OtherShare(),
            f"impurity 'share': its kernel {HERE} answers .* by value, in NumPy form",
        ),
    ],
)
def test_a_kernel_that_takes_memory_draws_or_differs_from_the_numpy_form_is_refused(
    criterion, impurity, rule
):
    with pytest.raises(ContractError, match=rule):
        grown(criterion, impurity)


class Remembers(Scores):
    """Draws without a seed, in NumPy form."""

    def score(self, tables, node):
        return np.random.default_rng().random(tables.n_tests)


class OwnColumnDrawn(Scores):
    def columns(self, node, objects):
        return np.random.default_rng().random((objects.n_objects, 1))

    def score(self, tables, node):
        return -tables.weights[:, 0, 0]


@pytest.mark.parametrize(
    ("criterion", "method"), [(Remembers(), "score"), (OwnColumnDrawn(), "columns")]
)
@pytest.mark.parametrize("family", [None, Family.thresholds])
def test_a_criterion_that_answers_in_two_ways_is_refused_at_the_root(criterion, method, family):
    with pytest.raises(
        ContractError,
        match=rf"'mine': {method} answers the same question in two ways.*with_seed\(seed\)",
    ):
        grown(criterion, None, family)


def test_shipped_kernels_take_no_memory_and_the_count_can_tell():
    """The count is switched on, and what the tests above refuse is not refused by chance."""
    assert grown(Reduction(), Gini(), Family.thresholds).n_leaves > 1
    assert grown(GainRatio(), Entropy(), Family.multiway).n_leaves > 1
