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
        ("ec45", ("regularized_ec45", "regularized_ecart", "reduction"), "regularized_ec45"),
        ("width", ("sepal_length", "petal_width", "a_much_longer_width"), "petal_width"),
        ("x", ("a_column_with_x_in_it", "b"), None),
        ("zzz", ("gini", "entropy"), None),
        ("", (), None),
        ("toy_", ("tyo", "play-tennis"), None),
        ("tyo", ("toy", "iris"), "toy"),
        ("best-first", ("best", "breadth", "depth"), "best"),
        ("titanic", ("tic-tac-toe", "diabetic"), None),
        ("adult", ("default", "dota2"), None),
        ("heart", ("default",), None),
        ("data", ("dota2",), None),
        ("lymphography", ("mammography",), None),
    ],
)
def test_what_was_meant_is_found_whatever_its_capitals(name, known, meant):
    assert closest(name, known) == meant


def test_the_message_names_the_value_the_guess_and_what_is_known():
    assert unknown("column", "Y", ["y", "a"]) == "unknown column 'Y'; did you mean 'y'? known: a, y"
