"""Where a compiled loop says that it stands: numba reads that source, and caches by it."""

from __future__ import annotations

import inspect
import subprocess
import sys

from arboretum.kernels.kernel_decorators import criterion_kernel


@criterion_kernel
def first_class(weights, counts, price, extra, node):
    """Weight of the first class in the first outcome."""
    return weights[0, 0]


def test_a_compiled_loop_stands_where_its_kernel_stands():
    """Anywhere else, inspect would start to read in the middle of something; Python 3.13 raises
    on half a docstring.
    """
    from arboretum.kernels.function_pointers import compiled

    loop = compiled(first_class).py_func
    assert inspect.getsourcefile(loop) == inspect.getsourcefile(first_class)
    assert inspect.getsourcelines(loop) == inspect.getsourcelines(first_class)


KERNEL = """
from arboretum.kernels import criterion_kernel

@criterion_kernel
def second_class(weights, counts, price, extra, node):
    return weights[0, 1]
"""


def test_a_file_may_be_imported_by_its_test_and_then_loaded_as_a_plugin(tmp_path):
    """Cached code names the module it was compiled for: under another name it must not be found."""
    file, elsewhere = tmp_path / "mine.py", tmp_path / "elsewhere"
    file.write_text(KERNEL)
    elsewhere.mkdir()
    compile_it = (
        "from arboretum.kernels.function_pointers import address_of; assert "
        "address_of(module.second_class, 'criterion') > 0"
    )
    load = (
        "from pathlib import Path; from arboretum.plugin.discovery import import_file; module = "
        f"import_file(Path({str(file)!r}))"
    )
    for found, folder in (
        ("import mine as module", tmp_path),
        (load, elsewhere),
        ("import mine as module", tmp_path),
    ):
        done = subprocess.run(
            [sys.executable, "-c", f"{found}; {compile_it}"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
