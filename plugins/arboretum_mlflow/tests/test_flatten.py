"""Configurations become parameters that every MLflow store takes."""

from __future__ import annotations

import enum
import posixpath
import re

from hypothesis import given, strategies as st

from arboretum_mlflow.entry import clean_name, parameters, sanitised, shorten, text_of


def is_taken_by_mlflow(name: str) -> bool:
    """The rule of MLflow's documentation for names, with the resolving of paths that its error
    message speaks of.
    """
    resolves = posixpath.normpath(name)
    return (
        re.fullmatch(r"[/\w.\- ]+", name) is not None
        and resolves == name
        and name != "."
        and not name.startswith(("..", "/"))
        and len(name) <= 250
    )


class Order(enum.Enum):
    depth = "d"


def test_fields_are_flattened_under_the_name_of_their_component():
    config = {
        "choices": {"criterion": "regularized"},
        "criterion": {"lam": 10, "inner": {"base": 2.5}},
    }
    assert parameters(config) == {
        "criterion": "regularized",
        "criterion.lam": "10",
        "criterion.inner.base": "2.5",
    }


def test_the_name_of_a_component_is_said_once_unless_a_preset_has_another():
    config = {
        "choices": {"method": "cart", "encoder": "auto"},
        "method": {"name": "greedy"},
        "encoder": {"name": "auto"},
    }
    assert parameters(config) == {"method": "cart", "encoder": "auto", "method.name": "greedy"}


def test_groups_that_are_switched_off_are_no_parameters():
    config = {
        "choices": {
            "pruner": "none",
            "coverage": [],
            "solver": None,
            "dataset": "",
            "stopping": ["pure", "mass"],
        }
    }
    assert parameters(config) == {"stopping": "pure, mass"}


def test_a_password_in_the_tracker_s_uri_does_not_become_a_parameter():
    config = {
        "tracker": {"uri": "postgresql://me:secret@host/db"},
        "choices": {"tracker": "mlflow"},
        "seed": 1,
    }
    assert parameters(config) == {"seed": "1"}


def test_values_read_as_on_the_command_line():
    values = [None, True, 0.1, "text", Order.depth, ["a", "b"], (1, None), [], {}]
    assert [text_of(v) for v in values[:-1]] == [
        "none",
        "true",
        "0.1",
        "text",
        "depth",
        "a, b",
        "1, none",
        "",
    ]
    assert text_of([{"a": 1}]) == '[{"a": 1}]'


def test_a_long_value_is_cut_and_says_so():
    (value,) = parameters({"dataset": {"path": "p" * 7000}}).values()
    assert len(value) == 6000
    assert value.endswith("[7000 characters, whole in record.json]")
    assert shorten("p" * 6000, 6000) == "p" * 6000


@given(st.text(min_size=1, max_size=300))
def test_every_name_is_made_one_that_mlflow_takes(name):
    assert is_taken_by_mlflow(clean_name(name))


@given(st.text(alphabet="abc_ .-/", min_size=1, max_size=12).filter(is_taken_by_mlflow))
def test_a_name_that_mlflow_takes_is_left_alone(name):
    assert clean_name(name) == name


@given(
    st.lists(
        st.tuples(
            st.text(alphabet="a%€/.", min_size=1, max_size=4) | st.just("x" * 260), st.integers()
        )
    )
)
def test_no_item_is_lost_when_names_become_equal(items):
    kept = list(sanitised(items))
    assert [value for _, value in kept] == [value for _, value in items]
    assert len({name for name, _ in kept}) == len(items)
    assert all(is_taken_by_mlflow(name) for name, _ in kept)
