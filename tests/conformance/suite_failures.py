"""What a suite says of a component: the names of the tests that fail."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from arboretum.testing import suite_of


def failures(kind: str, component: Any, only: str = "test_", **fixtures: Any) -> list[str]:
    """Run the tests of a kind's suite whose name starts with ``only``, and return the names of
    those that fail.

    The suite's methods are called directly; a fixture's value is computed from the suite's own
    fixture functions.
    """
    suite = suite_of(kind)()
    given = {"component": component, **fixtures}
    failed = []
    for name, test in inspect.getmembers(suite, inspect.ismethod):
        if not name.startswith(only):
            continue
        try:
            for values in _arguments(suite, test, given):
                test(**values)
        except pytest.skip.Exception:
            continue
        except (Exception, pytest.fail.Exception):
            # whatever a broken component raises is a failure
            failed.append(name)
    return failed


def _arguments(suite: Any, test: Any, given: dict[str, Any]) -> list[dict[str, Any]]:
    """One set of arguments per parameter of the fixtures that the test asks for."""
    wanted = list(inspect.signature(test).parameters)
    marked = {
        mark.args[0]: mark.args[1]
        for mark in getattr(test, "pytestmark", ())
        if mark.name == "parametrize"
    }
    cases: list[dict[str, Any]] = [{}]
    for name in wanted:
        cases = [
            {**case, name: value}
            for case in cases
            for value in marked.get(name) or _values(suite, name, given)
        ]
    return cases


def _values(suite: Any, name: str, given: dict[str, Any]) -> list[Any]:
    if name in given:
        return [given[name]]
    fixture = getattr(type(suite), name)
    marker = getattr(fixture, "_fixture_function_marker", None)
    function = getattr(fixture, "_fixture_function", None) or fixture.__wrapped__
    found = []
    for param_value in getattr(marker, "params", None) or [None]:
        request = type("Request", (), {"param": param_value})()
        for values in _arguments(suite, _Bound(function, suite), {**given, "request": request}):
            found.append(function(suite, **values))
    return found


class _Bound:
    """A fixture function without its ``self``, for its signature."""

    def __init__(self, function: Any, suite: Any) -> None:
        parameters = list(inspect.signature(function).parameters.values())[1:]
        self.__signature__ = inspect.Signature(parameters)

    def __call__(self) -> None: ...
