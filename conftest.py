"""What every test relies on, wherever it is started from."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import Context
from functools import cache, partial
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings
from warm.interpreter import warmed_up

from arboretum.engine.interpreting import PATIENCE, or_compiled
from arboretum.kernels.plain import interpreted

# Steady profiles say the same of the same code every time, also on a busy machine; `make explore`
# draws new examples, and more. `make test` is brief: tables of one dtype where every other dtype is
# compiled for itself. Loops over drawn tables go as far as the profile does
# (arboretum.testing.effort): of the thousands that each shape has, `make test-all` draws every
# seventh, and `make test-thorough` goes all the way.
CALM = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("thorough", max_examples=100, derandomize=True, **CALM)
settings.register_profile("steady", max_examples=15, derandomize=True, **CALM)
settings.register_profile("brief", max_examples=15, derandomize=True, **CALM)
settings.register_profile("explore", derandomize=False, max_examples=300, print_blob=True, **CALM)
settings.load_profile("steady")

COLD = sys.executable
"""The interpreter that runs the tests."""
WARM = "WARM_PYTHON"
"""Variable that names the one that stands in for it (tests/warm) to all processes that run
tests.
"""
KERNELS = os.environ.get("ARBORETUM_KERNELS")
"""How all tests are to run kernels, where somebody says so."""
ROOMS = (
    {
        "property",
        "search",
        "kernels",
        "arboretum_classic",
        "arboretum_decision_tables",
        "arboretum_regularized",
        "arboretum_gosdt",
        "arboretum_maxcost",
        "arboretum_baselines",
    },
    {"conformance", "engine", "proof", "sklearn", "arboretum_basics"},
    {
        "architecture",
        "config",
        "measure",
        "model",
        "plugin",
        "report",
        "arboretum_data",
        "arboretum_mlflow",
        "arboretum_peers",
    },
    {"browser", "cli", "docs", "runs", "arboretum_optuna", "arboretum_ray"},
)
"""Folders of tests: what compiles most kernels, what compiles some, what needs none, and
commands.
"""


def pytest_addoption(parser) -> None:
    parser.addoption("--turn", metavar="K/N", help="of the slow tests the Kth of N parts, by name")


def pytest_configure(config) -> None:
    """Commands that tests start obey Ctrl-C and a closed terminal, also where this process was told
    to ignore them.

    A shell starts what runs in its background so, and ``nohup`` does; what is ignored stays ignored
    in children.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if hasattr(os, "pidfd_open") and WARM not in os.environ:
        opened = ExitStack()
        os.environ[WARM] = opened.enter_context(warmed_up())
        config.add_cleanup(opened.close)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items: list[pytest.Item]) -> None:
    """Slow tests that have no turn are left out.  Of two processes each begins with a half: one
    with what compiles most, the other with what needs no kernels, so that commands find them
    compiled.  The long ones come first, and short tests last, so that no process is left alone at
    the end.
    """
    if turn := config.getoption("turn"):
        k, n = map(int, turn.split("/"))
        left_out = {item for item in items if _is_slow(item) and _part_of(item, n) != k}
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]
    groups: list[list[pytest.Item]] = [[] for _ in ROOMS]
    for item in items:
        groups[
            next((i for i, rooms in enumerate(ROOMS) if not rooms.isdisjoint(item.path.parts)), -1)
        ].append(item)
    for group in groups:
        group.sort(key=lambda item: not _is_slow(item))
    compiling, half = [*groups[0], *groups[1]], len(items) // 2
    items[:] = [*compiling[:half], *groups[2], *groups[3], *compiling[half:]]


def _is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


def _part_of(item: pytest.Item, n: int) -> int:
    """Which of n parts, from 1 on, a test is in, with all its parameters."""
    return 1 + crc32(item.nodeid.partition("[")[0].encode()) % n


def pytest_collection_finish() -> None:
    """What is imported is never garbage, and to look for some every 700 objects takes a fifth of
    the time of a compilation.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Commands that tests start are copies of a warmed-up process, which saves seconds each; those
    of ``cold`` tests are not.  Commands interpret kernels of small problems, as those of users do.
    """
    if KERNELS is None:
        os.environ["ARBORETUM_KERNELS"] = "compiled" if _compiles(item) else "auto"
    sys.executable = COLD if item.get_closest_marker("cold") else os.environ.get(WARM, COLD)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Tests of what kernels are for interpret those that are compiled nowhere, until one has taken
    as long as compiling it might: most tables of tests are tiny.  Each file has patience anew: a
    kernel that others have compiled takes no function of a new criterion that is not compiled, too.
    """
    commands = not ROOMS[3].isdisjoint(pyfuncitem.path.parts)  # which say so themselves
    if KERNELS is None and not commands and not _compiles(pyfuncitem):
        own = _context_of(pyfuncitem.path)
        pyfuncitem.obj = partial(_interpreting, own, pyfuncitem.obj)


@cache
def _context_of(file: Path) -> Context:
    """Where no kernel has been interpreted before the first test of a file."""
    return Context()


def _interpreting(own: Context, test: Callable[..., None], /, **given: object) -> None:
    def call() -> None:
        with interpreted(PATIENCE):
            or_compiled(lambda: test(**given))

    own.run(call)


def _compiles(item: pytest.Item) -> bool:
    """Whether a test is about kernels themselves: it compiles them."""
    return "kernels" in item.path.parts or item.get_closest_marker("compiled") is not None
