"""What makes compiled code stale: every file that it may hold a copy of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import arboretum_decision_tables
from arboretum.kernels import disk_cache, jit

FILES = {
    "kernels.py": (
        "from plugin.helpers import half\nfrom plugin import (\n    limits,\n    other as o,\n)\n"
    ),
    "helpers.py": "    from .deep import *\nX = 'import plugin.told'\n",
    "deep.py": "import kernels\n",
    "limits.py": "",
    "other.py": "",
    "told.py": "",
    "criteria.py": "from plugin.kernels import score\n",
}


def names(file: Path) -> set[str]:
    return {path.name for path in disk_cache.sources(file) if path.parent == file.parent}


def test_the_sources_of_a_kernel_are_what_it_imports_from_its_folder_and_so_on(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert names(tmp_path / "kernels.py") == {
        "kernels.py",
        "helpers.py",
        "deep.py",
        "limits.py",
        "other.py",
    }
    assert Path(jit.__file__) in disk_cache.sources(tmp_path / "kernels.py")


def test_helpers_of_kernels_in_a_plugin_are_among_them():
    folder = Path(arboretum_decision_tables.__file__).parent
    assert "parts.py" in names(folder / "exact" / "search_kernels.py")


def test_a_changed_helper_changes_the_stamp(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    file = str(tmp_path / "kernels.py")
    before = disk_cache.stamp_of(file)
    (tmp_path / "told.py").write_text("Y = 1\n")
    assert disk_cache.stamp_of.__wrapped__(file) == before
    (tmp_path / "deep.py").write_text("import kernels\nY = 1\n")
    assert disk_cache.stamp_of.__wrapped__(file) != before


@pytest.mark.parametrize("file", ["<unknown>", "/nowhere/at.py"])
def test_code_without_a_file_depends_on_the_house(file):
    assert {name for name, *_ in disk_cache.stamp_of(file)} == {
        path.name for path in Path(jit.__file__).parent.rglob("*.py")
    }


def test_a_cache_that_names_a_class_which_has_moved_is_stale_and_no_error(tmp_path, monkeypatch):
    """numba unpickles all of an index before it compares stamps; a named tuple among the types
    is found by its module.
    """
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "shapes.py").write_text(
        "from typing import NamedTuple\nclass Pair(NamedTuple):\n    one: float\n    two: float\n"
    )
    (tmp_path / "adding.py").write_text(
        "from arboretum.kernels.jit import jit\n@jit\ndef add(pair):\n    return pair.one + "
        "pair.two\n"
    )
    start = [sys.executable, "-c"]
    subprocess.run(
        [*start, "import shapes, adding; assert adding.add(shapes.Pair(1.0, 2.0)) == 3.0"],
        check=True,
        cwd=tmp_path,
    )
    assert list(tmp_path.rglob("*.nbi"))
    (tmp_path / "shapes.py").rename(tmp_path / "forms.py")
    subprocess.run(
        [*start, "import forms, adding; assert adding.add(forms.Pair(1.0, 2.0)) == 3.0"],
        check=True,
        cwd=tmp_path,
    )
