"""A kernel without its mark is named, with the mark that it wants."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from arboretum import TreeClassifier
from arboretum.errors import ContractError
from arboretum.kernels import baked, impurity_kernel, kernel_part
from arboretum_classic.criteria.impurities import Gini

pytestmark = pytest.mark.compiled

X, Y = np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 0, 1, 1]


def unmarked(weights):
    return 0.0


def squared(x):
    return x * x


@kernel_part
def squared_part(x):
    return x * x


@impurity_kernel
def asks_an_unmarked_one(weights):
    mass, total = 0.0, 0.0
    for w in weights:
        mass += w
        total += squared(w)
    return max(1.0 - total / (mass * mass), 0.0) if mass > 0.0 else 0.0


@attrs.frozen
class FromFields(Gini):
    """Gini, whose kernel is made and carries no mark."""

    name = "from_fields"

    @property
    def kernel(self):
        return baked(unmarked, "unmarked_2")


@attrs.frozen
class AsksAnother(Gini):
    """Gini, whose kernel calls a function."""

    name = "asks_another"
    kernel = staticmethod(asks_an_unmarked_one)


@attrs.frozen
class AsksAPart(Gini):
    """Gini, whose kernel calls a function that carries the mark."""

    name = "asks_a_part"
    kernel = staticmethod(baked(asks_an_unmarked_one, "asks_a_part_of_it", squared=squared_part))


def test_one_that_is_made_from_fields_is_named_before_growth():
    with pytest.raises(
        ContractError,
        match=(
            "impurity from_fields: its kernel, 'unmarked_2', carries no mark of a kernel; "
            "write @impurity_kernel above it"
        ),
    ):
        TreeClassifier(impurity=FromFields()).fit(X, Y)


def test_a_function_that_a_kernel_calls_is_named_and_serves_once_it_is_marked():
    with pytest.raises(ContractError, match="write @kernel_part above squared, which it calls"):
        TreeClassifier(impurity=AsksAnother()).fit(X, Y)
    assert TreeClassifier(impurity=AsksAPart()).fit(X, Y).score(X, Y) == 1.0
