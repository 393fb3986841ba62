"""Which name was meant, and how a message says so."""

from __future__ import annotations

import pytest

from arboretum.errors import closest, unknown


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("ginii", ("gini", "entropy"), "gini"),
        ("Y", ("a", "y"), "y"),
        ("IRIS", ("iris", "iris-setosa", "wine"), "iris"),
        ("Target", ("TARGET", "target_2"), "TARGET"),
        ("PETAL_LENGHT", ("petal_length", "petal_width"), "petal_length"),
        ("y", ("Y", "y"), "y"),
        ("zzz", ("gini", "entropy"), None),
        ("", (), None),
    ],
)
def test_what_was_meant_is_found_whatever_its_capitals(name, known, meant):
    assert closest(name, known) == meant


def test_the_message_names_the_value_the_guess_and_what_is_known():
    assert unknown("column", "Y", ["y", "a"]) == "unknown column 'Y'; did you mean 'y'? known: a, y"
