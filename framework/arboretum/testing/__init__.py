"""How does an outsider prove conformance?

One suite per kind of component.  A subclass says which component it is about and inherits the checks::

    import pytest
    from arboretum.testing import CriterionSuite

    class TestMine(CriterionSuite):
        @pytest.fixture
        def component(self):
            return Mine()

The names below are loaded on first use; importing this package needs no pytest.
"""

from __future__ import annotations

import importlib
from typing import Any

SUITES: dict[str, str] = {
    "dataset": "DatasetSuite",
    "split": "SplitSuite",
    "encoder": "EncoderSuite",
    "predicate": "PredicateSuite",
    "impurity": "ImpuritySuite",
    "coverage": "CoverageSuite",
    "criterion": "CriterionSuite",
    "stopping": "StoppingSuite",
    "missing": "MissingSuite",
    "cost": "CostSuite",
    "complexity": "ComplexitySuite",
    "objective": "ObjectiveSuite",
    "solver": "SolverSuite",
    "pruner": "PrunerSuite",
    "tuner": "TunerSuite",
    "method": "MethodSuite",
    "tracker": "TrackerSuite",
    "reproduction": "ReproductionSuite",
    "export": "ExportSuite",
}
"""Kind → name of its suite; the suite of a kind lives in ``arboretum.testing.suites.<kind>``."""

__all__ = [  # noqa: PLE0604 - the names are loaded on first use
    "SUITES",
    "suite_of",
    *sorted(SUITES.values()),
]


def suite_of(kind: str) -> type:
    """The conformance suite of a kind."""
    return getattr(importlib.import_module(f"arboretum.testing.suites.{kind}"), SUITES[kind])


def __getattr__(name: str) -> Any:
    for kind, suite in SUITES.items():
        if suite == name:
            return suite_of(kind)
    msg = f"module 'arboretum.testing' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted(__all__)
