"""The scripts beyond the paper, as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[3] / "experiments" / "decision_tables"


def script(name: str):
    """The script as a module."""
    if not (SCRIPTS / f"{name}.py").exists():
        pytest.skip(
            "experiments belong to the repository, not to the installed plugin",
            allow_module_level=True,
        )
    spec = importlib.util.spec_from_file_location(f"experiment_{name}", SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
