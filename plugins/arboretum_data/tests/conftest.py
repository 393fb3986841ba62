"""Shared by the tests of this plugin: a folder of files, and the data home where there is one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PAPERS_HOME = Path(os.environ.get("ARBORETUM_DATA", ""))  # read once: tests change the variable


@pytest.fixture
def data_home() -> Path:
    """The folder ARBORETUM_DATA names; tests that read it are skipped where it does not hold the
    papers' data.
    """
    if not (PAPERS_HOME / "manifest.json").exists():
        pytest.skip("ARBORETUM_DATA does not name a data home with the papers' data sets")
    return PAPERS_HOME


@pytest.fixture
def no_home(tmp_path, monkeypatch) -> Path:
    """An empty data home."""
    monkeypatch.setenv("ARBORETUM_DATA", str(tmp_path / "home"))
    return tmp_path / "home"
