"""A suite takes its component as a plain class attribute, too, and says in one sentence what it
cannot take.
"""

from __future__ import annotations

import pytest

from arboretum.errors import ContractError
from arboretum.testing import suite_of
from arboretum.testing.tables import ToyReduction

CriterionSuite = suite_of("criterion")


class TestAnInstanceAsAttribute(CriterionSuite):
    component = ToyReduction()

    def test_the_suite_tests_that_instance(self, component):
        assert component == ToyReduction()


class TestAnInheritedAttribute(TestAnInstanceAsAttribute):
    """A subclass without one of its own has its parent's."""


class TestAFixtureAsBefore(CriterionSuite):
    @pytest.fixture
    def component(self):
        return ToyReduction()


@pytest.mark.parametrize(
    "given", [ToyReduction, lambda self: ToyReduction(), property(lambda self: ToyReduction())]
)
def test_what_is_neither_instance_nor_fixture_is_refused_once(given):
    with pytest.raises(
        ContractError,
        match="Mine.component must be an instance .* or a function under @pytest.fixture",
    ):
        type("Mine", (CriterionSuite,), {"component": given})
