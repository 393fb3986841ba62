"""How does an outsider prove conformance?

One suite per kind of component.  A subclass says which component it is about and inherits the
checks::

    from arboretum.testing import CriterionSuite

    class TestMine(CriterionSuite):
        component = Mine()

The names below are loaded on first use; importing this package needs no pytest.
"""

import importlib

from arboretum.interfaces.component import EVERY_KIND

# kind → name of its suite
SUITES: dict[str, str] = {kind: f"{kind.capitalize()}Suite" for kind in EVERY_KIND}
MODULES: dict[str, str] = {
    **dict.fromkeys(("dataset", "split"), "data"),
    **dict.fromkeys(("stopping", "predicate", "missing", "cost"), "growth"),
    **dict.fromkeys(("method", "solver", "objective", "complexity"), "solving"),
    **dict.fromkeys(("pruner", "tuner", "export"), "trees"),
}
"""Kind → module of :mod:`arboretum.testing.suites` that holds its suite, where it is not named
like the kind.
"""

__all__ = ["SUITES", "suite_of", *sorted(SUITES.values())]  # the names are loaded on first use


def suite_of(kind: str) -> type:
    """The conformance suite of a kind."""
    room = importlib.import_module(f"arboretum.testing.suites.{MODULES.get(kind, kind)}")
    suite: type = getattr(room, SUITES[kind])
    return suite


def __getattr__(name: str) -> type:
    kind = name.removesuffix("Suite").lower()
    if SUITES.get(kind) == name:
        return suite_of(kind)
    raise AttributeError(f"module 'arboretum.testing' has no attribute {name!r}")
