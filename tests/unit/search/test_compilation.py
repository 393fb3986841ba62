"""Kernels are compiled once: a new process finds built-in and plugin kernels, and the core, in
the cache.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arboretum.api import Context, ContractError, Family, grow
from arboretum.kernels import criterion_kernel
from arboretum_classic.criteria.impurities import Gini

sys.path.insert(0, str(Path(__file__).parents[2] / "property" / "search"))
from problems import encode, problem_of

pytestmark = [pytest.mark.caches, pytest.mark.compiled]

PLUGIN = """
import attrs
from arboretum.kernels import criterion_kernel, impurity_kernel


@attrs.frozen
class Mine:
    factor: float = 2.0

    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        after = 0.0
        for o in range(weights.shape[0]):
            mass, top = 0.0, 0.0
            for k in range(weights.shape[1]):
                mass += weights[o, k]
                top = max(top, weights[o, k])
            after += mass - top
        return node.params[0] * (node.mass - after) / node.total_mass


@attrs.frozen
class MyImpurity:
    scale = "mean"
    capabilities = ("classification", "multiclass", "concave")

    @staticmethod
    @impurity_kernel
    def kernel(weights):
        mass, product = 0.0, 1.0
        for w in weights:
            mass += w
        for w in weights:
            product *= 1.0 - w / mass if mass > 0.0 else 1.0
        return product

    def value(self, weights):
        import numpy as np

        mass = weights.sum(axis=-1, keepdims=True)
        share = np.divide(weights, mass, out=np.zeros_like(weights), where=mass > 0)
        return np.prod(1.0 - share, axis=-1)
"""

SCRIPT = """
import json, sys
sys.path[:0] = [{problems!r}, {plugin!r}]
import numpy as np
from problems import encode, problem_of
from numba.core import event
from arboretum.api import Family
from arboretum.engine.search.warmup import warm_up
from arboretum_classic.criteria.criteria import Reduction
from arboretum_classic.criteria.impurities import Gini
from my_plugin import Mine, MyImpurity

class Count(event.Listener):
    n = 0
    def on_start(self, event):
        Count.n += 1
    def on_end(self, event):
        pass

told = []
x = np.random.default_rng(0).random((50, 2)).astype(np.float32)
families = [Family.thresholds, Family.equals]
objects = encode((x * 4).astype(np.uint8), [4, 4], families, x, np.arange(50) % 2)
pairs = ((Reduction(), Gini()), (Mine(), Gini()), (Reduction(), MyImpurity()))
with event.install_listener("numba:compile", Count()):
    for criterion, impurity in pairs:
        warm_up(problem_of(objects, criterion, impurity), told.append)
print(json.dumps(dict(compiled=Count.n, told=told)))
"""


@pytest.mark.slow
def test_a_new_process_compiles_nothing_that_an_earlier_one_has_compiled(tmp_path):
    # the plugin's file is new, so that the first process compiles its kernels, and of the house's
    # what no test has needed before
    (tmp_path / "my_plugin.py").write_text(PLUGIN)
    problems = str(Path(__file__).parents[2] / "property" / "search")
    script = SCRIPT.format(problems=problems, plugin=str(tmp_path))
    answers = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        answers.append(json.loads(done.stdout))
    first, second = answers
    assert first["compiled"] > 0 and len(first["told"]) >= 1
    assert "compiling" in first["told"][0]
    assert second["compiled"] == 0 and second["told"] == []


@pytest.fixture
def no_cache_folder(monkeypatch):
    """As if no folder of numba's cache could be written."""
    from numba.core.caching import CompileResultCacheImpl

    from arboretum.kernels.disk_cache import cache_trouble

    monkeypatch.setattr(CompileResultCacheImpl, "_locator_classes", [])
    cache_trouble.cache_clear()
    yield
    monkeypatch.undo()
    cache_trouble.cache_clear()


def told_by_a_compilation() -> list[str]:
    from arboretum.kernels.jit import compile_clock, jit

    told = []
    with compile_clock(told.append):
        assert jit(lambda x: x + 1)(2) == 3
    return told


def test_where_no_cache_folder_can_be_written_compilation_and_run_say_so_with_the_way_out(
    no_cache_folder,
):
    from arboretum.engine.run import kernel_trouble

    assert told_by_a_compilation() == [
        "compiling kernels (not kept, for want of a cache folder: set NUMBA_CACHE_DIR)"
    ]
    assert (
        "every start compiles them anew" in kernel_trouble()
        and "set NUMBA_CACHE_DIR to a folder" in kernel_trouble()
    )


def test_where_kernels_are_kept_nothing_is_said_of_their_cache(monkeypatch, tmp_path):
    from arboretum.engine.run import kernel_trouble

    # an earlier run left the kernel in the usual one
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    assert told_by_a_compilation() == [
        "compiling kernels (once; later runs load them from the cache)"
    ]
    assert told_by_a_compilation() == []
    assert kernel_trouble() == ""


def test_parameters_reach_a_kernel_in_the_order_of_declaration():
    import attrs

    @attrs.frozen
    class Weighted:
        name: str = "weighted"
        low: float = -1.0
        high: float = 3.0

        @staticmethod
        @criterion_kernel
        def score(weights, counts, price, extra, node):
            return node.params[1] * counts[0, 0] + node.params[0] * counts[1, 0]

    objects = encode(
        np.array([[0], [0], [1]], np.uint8),
        [2],
        [Family.equals],
        np.zeros((3, 0)),
        np.array([0, 1, 0]),
    )
    tree = grow(problem_of(objects, Weighted(), Gini(), max_depth=1), Context()).tree
    assert tree.score[0] == 3.0 * 1 - 1.0 * 1


def test_a_kernel_that_numba_cannot_compile_is_named_in_one_line():
    class Clever:
        name = "clever"

        @staticmethod
        @criterion_kernel
        def score(weights, counts, price, extra, node):
            return float(open("scores").read())

    objects = encode(
        np.array([[0], [1]], np.uint8), [2], [Family.equals], np.zeros((2, 0)), np.array([0, 1])
    )
    with pytest.raises(ContractError, match="kernel of 'clever'.*does not compile") as found:
        grow(problem_of(objects, Clever(), Gini()), Context())
    assert "\n" not in str(found.value)
