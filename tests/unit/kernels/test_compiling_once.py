"""Of several processes that need a kernel at once, one compiles it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.compiled, pytest.mark.slow]


def kernel_of_two_arrays() -> str:
    """Source of a module with a kernel that takes a while to compile."""
    return (
        "from arboretum.kernels.jit import jit\n\n"
        "@jit\ndef added(a, b):\n    total = 0.0\n"
        + "".join(
            f"    for i in range(len(a)):\n        total += a[i] * {k}.0 + b[i]\n"
            for k in range(40)
        )
        + "    return total\n"
    )


def test_processes_that_start_together_compile_a_kernel_once(tmp_path):
    (tmp_path / "slow_kernel.py").write_text(kernel_of_two_arrays())
    work = (
        "import json, numpy as np\n"
        "from numba.core import event\n"
        "import slow_kernel\n"
        "found = []\n"
        "class Count(event.Listener):\n"
        "    def on_start(self, one): found.append(one.data['dispatcher'].py_func.__name__)\n"
        "    def on_end(self, one): pass\n"
        "with event.install_listener('numba:compile', Count()):\n"
        "    slow_kernel.added(np.ones(3), np.ones(3))\n"
        "print(json.dumps(found.count('added')))\n"
    )
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)]),
    }
    children = [
        subprocess.Popen(
            [sys.executable, "-c", work], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    compiled = [json.loads(child.communicate()[0]) for child in children]
    assert sum(compiled) == 1, compiled
