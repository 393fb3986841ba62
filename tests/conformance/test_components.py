"""Every first-party component passes the suite of its kind: a new component is tested by
existing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arboretum.interfaces.component import EVERY_KIND
from arboretum.interfaces.method import Parts
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import Entry
from arboretum.testing import SUITES, suite_of
from arboretum.testing.tables import SEEDS, toy_objects, toy_table

FIRST_PARTY = "arboretum"
NEEDS_ITS_OWN_SUITE = {
    "dataset": (
        "needs a file, a network, or minutes: plugins/arboretum_data/tests choose what each "
        "one reads"
    ),
    "tracker": "needs a store: plugins/arboretum_mlflow/tests make one per test",
    "solver": "needs an objective to minimise: the plugin's tests say which",
    "reproduction": "takes its time: the plugin's tests choose what is small",
}
"""Kind → why its components are put through the suite in the plugin's own tests and not here."""

NEEDS_MORE = {("rows", "ray"): "needs Ray: plugins/arboretum_ray/tests (make test-ray)"}
"""Component → the same, of it alone."""


FIELDS = {
    ("split", "kfold"): {"folds": 4},
    ("split", "contiguous"): {"folds": 4},
    ("impurity", "polynomial"): {
        "gamma": (1.0, 1.0, 1.0),
        "exponents": ((1, 1, 0), (1, 0, 1), (0, 1, 1)),
    },
}
"""Component → fields that differ from the defaults: the suites' tables have too few rows for ten
folds, and a polynomial says what it does with each class, so that only some are symmetric.
"""


CLAIMS = {
    ("criterion", "reduction"): {"scale_free": True},
    ("criterion", "gain_ratio"): {"scale_free": True},
    ("criterion", "balance"): {"scale_free": True},
    # its terms name three classes, and a fourth is in none
    ("impurity", "polynomial"): {"symmetric": False},
    ("criterion", "cost_benefit"): {"scale_free": True},
    ("criterion", "impure_pairs"): {"scale_free": True},
    # B leaves out the outcome with the most objects, the first of several: the others may weigh
    # another amount
    **{
        ("criterion", name): {"scale_free": True, "outcome_symmetric": False}
        for name in ("regularized", "regularized_asr", "regularized_ec45", "regularized_ecart")
    },
}
"""Component → what its suite takes beyond its capabilities: claims (shares do not change when all
weights are multiplied; the order of outcomes does), parts.
"""


def of_depth(component: Any) -> Parts:
    """The parts of an objective that needs a complexity."""
    entry = next(
        entry
        for entry in load_registry().entries()
        if (entry.kind, entry.name) == ("complexity", "depth")
    )
    return Parts(method=None, objective=component, complexity=entry.cls())


CLAIMS[("objective", "zero_error")] = {"parts": staticmethod(of_depth)}
# refuses an impurity that is not admissible
CLAIMS[("criterion", "worst_case")] = {
    "impurity": pytest.fixture(lambda self: load_registry().get("impurity", "pairs").cls())
}

# part categories, and the suite's rows have numbers
for _name in ("subset", "categorical"):
    CLAIMS[("predicate", _name)] = {
        "cases": pytest.fixture(
            lambda self: [(toy_objects(toy_table(seed)), np.arange(24)) for seed in SEEDS]
        )
    }
# knows no numbers below 0
CLAIMS[("impurity", "poisson")] = {
    "samples": pytest.fixture(
        lambda self: [(np.array([3.0, 0.0, 1.5, 3.0]), np.array([1.0, 0.5, 2.0, 1.0]))]
    )
}


def first_party() -> list[Entry]:
    return [entry for entry in load_registry().entries() if entry.owner.distribution == FIRST_PARTY]


def is_tested_here(entry: Entry) -> bool:
    """Whether its suite needs nothing that a test must make first."""
    return entry.kind not in NEEDS_ITS_OWN_SUITE and (entry.kind, entry.name) not in NEEDS_MORE


def make_test_class(entry: Entry) -> type:
    """A subclass of the kind's suite about one component with its defaults, or the fields named
    above.
    """

    class Test(suite_of(entry.kind)):
        @pytest.fixture
        def component(self) -> Any:
            return entry.cls(**FIELDS.get((entry.kind, entry.name), {}))

    for claim, value in CLAIMS.get((entry.kind, entry.name), {}).items():
        setattr(Test, claim, value)
    Test.__name__ = Test.__qualname__ = (
        f"Test_{entry.kind}_{entry.name.replace('-', '_').replace('.', '_')}"
    )
    return Test


for _entry in first_party():
    if is_tested_here(_entry):
        _class = make_test_class(_entry)
        globals()[_class.__name__] = _class


def test_every_kind_has_a_suite():
    assert set(SUITES) == set(EVERY_KIND)
    assert [kind for kind in EVERY_KIND if suite_of(kind).kind != kind] == []


def test_every_first_party_plugin_loads():
    assert load_registry().failures == []


def test_every_first_party_component_is_put_through_its_suite():
    expected = {(entry.kind, entry.name) for entry in first_party() if is_tested_here(entry)}
    assert len(expected) >= 10
    found = {name for name in globals() if name.startswith("Test_")}
    assert len(found) == len(expected)
