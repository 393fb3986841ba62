"""Lets the tests of this folder share their small tables, and what is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.discovery import load_registry

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def services():
    return RegistryFactory(load_registry())
