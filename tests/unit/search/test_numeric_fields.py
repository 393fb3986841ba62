"""What a kernel finds in ``node.params``: one place per field that is declared as a number."""

from __future__ import annotations

import enum

import attrs
import numpy as np
import pytest

from arboretum.engine.search.compiled_criterion import numeric_fields


class Sort(enum.IntEnum):
    first = 0
    second = 1


@attrs.frozen
class Component:
    """Fields of every sort."""

    word: str = "5"
    least: float | None = None
    sort: Sort = Sort.second
    on: bool = True
    several: tuple[float, ...] = (1.0,)
    most: int | None = 7


@attrs.frozen
class Heir(Component):
    """One more."""

    last: float = 0.25


@pytest.mark.parametrize(
    "component, params",
    [
        (Component(), [np.nan, 1.0, 1.0, 7.0]),
        (Component(least=2.5, most=None), [2.5, 1.0, 1.0, np.nan]),
        (Heir(word="0", on=False), [np.nan, 1.0, 0.0, 7.0, 0.25]),
        (object(), []),
    ],
)
def test_a_field_keeps_its_place_whatever_the_values_of_others(component, params):
    np.testing.assert_array_equal(numeric_fields(component), params)
