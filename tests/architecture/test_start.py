"""The lean start, and a component that arrives from outside."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.caches

HEAVY = (
    "numba",
    "mlflow",
    "sklearn",
    "hydra",
    "omegaconf",
    "pandas",
    "scipy",
    "matplotlib",
    "optuna",
    "sqlite3",
    "ssl",
)
"""What a start does without: `arboretum plugins` is to answer in half a second, and modules are
counted, not seconds.
"""
LIGHT_MODULES = (
    "arboretum, arboretum.api, arboretum.interfaces.hooks, arboretum.testing, "
    "arboretum.plugin.discovery"
)


def _python(code: str, *, path: Path | None = None) -> str:
    environment = dict(os.environ)
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _loaded_after(code: str) -> list[str]:
    return _python(
        f"{code}\nimport sys\nprint(*[m for m in {HEAVY!r} if m in sys.modules])"
    ).split()


def test_importing_the_package_and_the_api_loads_nothing_heavy():
    assert _loaded_after(f"import {LIGHT_MODULES}") == []


def test_discovering_every_plugin_loads_nothing_heavy_and_compiles_nothing():
    code = (
        "from arboretum.plugin.discovery import load_registry\nr = load_registry()\nassert not "
        "r.failures, r.failures"
    )
    assert _loaded_after(code) == []


def test_the_verbs_that_only_tell_load_nothing_heavy():
    for arguments in (["plugins"], ["explain", "criterion.reduction"], ["--version"]):
        code = "import contextlib, io\nfrom arboretum.cli.main import main\n"
        code += (
            f"with contextlib.redirect_stdout(io.StringIO()):\n    assert main({arguments!r}) == 0"
        )
        assert _loaded_after(code) == [], arguments


def test_importing_any_kernel_module_compiles_nothing(house):
    """Marking is all that a decorator does at import: no dispatcher is made."""
    names = [m.name for m in house.modules if m.room == "kernels" or "kernel" in m.path.stem]
    code = f"""
import importlib
from arboretum.kernels.lazy import LazyDispatcher
for name in {names!r}:
    module = importlib.import_module(name)
    for value in vars(module).values():
        if isinstance(value, LazyDispatcher) and value._made is not None:
            print(name, value.__name__)
"""
    assert _python(code) == ""


def test_kernel_modules_of_the_framework_import_no_numba(house):
    """All but the module that looks into numba's cache, which those import that compile."""
    names = sorted(
        m.name for m in house.modules if m.room == "kernels" and not m.name.endswith("disk_cache")
    )
    assert len(names) > 20 and _loaded_after(f"import {', '.join(names)}") == []


PLUGIN = '''
"""A criterion from outside."""
import attrs, numpy as np
from arboretum.api import hookimpl

@attrs.frozen
class Outsider:
    """Likes the first test."""
    kind, name, paper, capabilities = "criterion", "outsider", "", ()
    def score(self, tables, node):
        return -np.arange(tables.n_tests, dtype=float)

@hookimpl
def arboretum_components():
    return [Outsider]
'''


def test_a_plugin_from_another_folder_appears_without_an_edit_of_the_framework(tmp_path):
    (tmp_path / "outsider.py").write_text(PLUGIN)
    info = tmp_path / "outsider-1.2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outsider\nVersion: 1.2.3\n")
    (info / "entry_points.txt").write_text("[arboretum]\noutsider = outsider\n")
    code = (
        "from arboretum.plugin.discovery import load_registry\n"
        "entry = load_registry().get('criterion', 'outsider')\n"
        "print(entry.owner.plugin, entry.owner.distribution, entry.owner.version)"
    )
    assert _python(code, path=tmp_path).split() == ["outsider", "outsider", "1.2.3"]
