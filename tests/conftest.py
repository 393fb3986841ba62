"""What tests of several folders share."""

from __future__ import annotations

from functools import lru_cache

import pytest


@pytest.fixture(scope="session")
def examinations():
    """The functions that try all axioms of a component, each component once."""
    from arboretum.engine.axioms import examine
    from arboretum.engine.axioms_of_coverages import examine_coverage

    return {
        "examine": lru_cache(maxsize=None)(examine),
        "examine_coverage": lru_cache(maxsize=None)(examine_coverage),
    }


@pytest.fixture
def examined_once(examinations, monkeypatch):
    """To try all axioms of all components takes a quarter of a minute, and what is found of one
    is always the same.
    """
    for name, once in examinations.items():
        monkeypatch.setattr(f"arboretum.engine.lint.{name}", once)
