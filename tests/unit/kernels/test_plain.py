"""Kernels interpreted: the same source, the same trees, and when they are compiled all the same."""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from numba import types
from numba.core.caching import NullCache

import arboretum
from arboretum.engine import interpreting as policy
from arboretum.engine.interpreting import interpret_small, or_compiled
from arboretum.errors import ConfigError, OnlyCompiled, blaming
from arboretum.interfaces.budget import Budget
from arboretum.kernels import disk_cache, plain as way
from arboretum.kernels.bits import lowest, popcount
from arboretum.kernels.function_pointers import address_of
from arboretum.kernels.jit import _kinds_of, jit
from arboretum.kernels.kernel_decorators import impurity_kernel
from arboretum.kernels.plain import kernel_at
from arboretum.kernels.solving import slices
from arboretum.kernels.stack_arrays import float_table, int_table


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """An interpreter of each test's own."""
    token = way._INTERPRETER.set(None)
    yield
    way._INTERPRETER.reset(token)


@pytest.fixture
def nothing_kept(monkeypatch):
    """A disk cache without kernels, also of tests that have run before."""
    monkeypatch.setattr(disk_cache, "is_kept", lambda kernel, kinds: False)


def kernel_of(function, **how):
    """A kernel that no cache has."""
    kernel = jit(function, **how)
    kernel.made._cache = NullCache()
    return kernel


def half(x):
    return x / 2


def added(values):
    found = values[0]
    for v in values[1:]:
        found += v
    return found


@impurity_kernel
def lightest(weights):
    return weights.min()


def test_what_is_compiled_nowhere_is_interpreted_within_a_block():
    kernel = kernel_of(half)
    with way.interpreted(1.0):
        assert kernel(3.0) == 1.5 and not kernel.overloads
        assert way.active_interpreter() is not None
    assert way.active_interpreter() is None
    assert kernel(3.0) == 1.5 and len(kernel.overloads) == 1


def test_what_is_compiled_is_not_interpreted():
    kernel = kernel_of(half)
    kernel(3.0)
    kernel.plain = None  # nobody calls it
    with way.interpreted(1.0):
        assert kernel(3.0) == 1.5


def test_what_this_process_has_compiled_is_kept_for_these_types_alone():
    kernel = kernel_of(half)
    kernel(3.0)
    assert disk_cache.is_kept(kernel, (types.float64,))
    assert not disk_cache.is_kept(kernel, (types.int64,))


def test_what_the_disk_cache_has_is_loaded(tmp_path, monkeypatch):
    file = tmp_path / "kept_kernels.py"
    file.write_text("def twice(x):\n    return 2 * x\n")
    scope: dict = {"__name__": "kept_kernels"}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    jit(scope["twice"])(3.0)
    again = jit(scope["twice"])
    with way.interpreted(1.0):
        assert again(3.0) == 6.0
        assert len(again.overloads) == 1 and again.stats.cache_hits
        assert again(3) == 6 and len(again.overloads) == 1  # kept for other types alone


def test_arguments_have_names_both_ways():
    kernel = kernel_of(half)
    with way.interpreted(1.0):
        assert kernel(x=3.0) == 1.5 and not kernel.overloads
    assert kernel(x=3.0) == 1.5
    with way.interpreted(1.0, head_start=1.0):
        assert jit(half)(x=3.0) == 1.5  # before there is a dispatcher


def test_slices_are_short_where_a_kernel_is_interpreted_and_only_there():
    new, known = kernel_of(half), kernel_of(half)
    known(3.0)
    assert way.fewer(1000, new) == 1000
    with way.interpreted(1.0):
        assert way.fewer(1000, new) == 5 and way.fewer(1000, known) == 1000
        new(3.0)
        assert way.fewer(1000, new) == 5
        known(3)  # other types: it is interpreted
        assert way.fewer(1000, known) == 5
    with way.interpreted(1e-9):  # patience has ended
        assert way.fewer(1000, new) == 1000


def test_a_slice_is_as_long_in_pieces():
    taken, kernel = [], kernel_of(half)

    def work(steps):
        taken.append(steps)
        return slices.FINISHED if len(taken) == 205 else slices.PAUSED

    with way.interpreted(1.0):
        assert slices.work_in_pieces(kernel, 1001, work) == slices.PAUSED
        assert sum(taken) == 1001 and max(taken) == 5
        assert slices.work_in_pieces(kernel, 1001, work) == slices.FINISHED
        assert len(taken) == 205
        taken.clear()
        assert slices.work_in_pieces(kernel, 3, work) == slices.PAUSED and taken == [1, 1, 1]
    taken.clear()
    assert slices.work_in_pieces(kernel, 1001, work) == slices.PAUSED and taken == [1001]


def test_a_head_start_asks_numba_nothing_until_it_is_over():
    kernel, other = jit(added), kernel_of(half)
    other(3.0)
    with way.interpreted(1.0, head_start=1e-9):
        assert kernel(np.ones(3)) == 3.0 and kernel._made is None
        assert not way.active_interpreter().waits_with_numba()
        other.plain = None  # nobody calls it: it is compiled, and the head start is over
        assert other(3.0) == 1.5


def test_a_small_run_does_without_numba(tmp_path):
    (tmp_path / "small.csv").write_text("x,y,z\n" + "1,2,a\n2,1,b\n3,2,a\n4,1,b\n" * 9)
    code = (
        "import sys\nfrom arboretum.cli.main import main\n"
        "status = main(['run', 'dataset=file', 'dataset.path=small.csv', 'dataset.target=z', "
        "'method=cart', 'tracker=none', 'hydra.run.dir=out'])\n"
        "print(status, [m for m in ('numba', 'scipy', 'pandas', 'mlflow') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "ARBORETUM_KERNELS": "auto"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "0 []", done


def test_patience_ends_with_one_kernel_at_a_time():
    kernel, other = kernel_of(added), kernel_of(half)
    with way.interpreted(1e-9):
        assert kernel(np.ones(3)) == 3.0 and not kernel.overloads
        assert kernel(np.ones(3)) == 3.0 and len(kernel.overloads) == 1
        assert other(3.0) == 1.5 and not other.overloads


def test_where_patience_ends_with_a_kernel_in_python_at_hand_work_begins_anew(nothing_kept):
    kernel, ways = kernel_of(lambda values, of: kernel_at(of)(values)), []

    def work():
        of = address_of(lightest, "impurity")
        ways.append(callable(of))
        if callable(of):
            kernel(np.ones(2), of)
            way.active_interpreter().patience = 1e-9
            return kernel(np.ones(2), of)
        return of

    with way.interpreted(1.0):
        assert isinstance(or_compiled(work), int)
    assert ways == [True, False]


def test_a_kernel_calls_the_sources_of_those_that_it_calls():
    inner = kernel_of(half, inner=True)

    def outer(x):
        return inner(x) + popcount(np.uint64(7))

    with way.interpreted(1.0):
        assert kernel_of(outer)(4.0) == 5.0
    assert not inner.overloads


def test_numbers_that_python_has_no_room_for_are_left_to_machine_code():
    kernel, ways = kernel_of(added), []

    def work():
        ways.append(way.active_interpreter() is not None)
        return kernel(np.array([200, 100], np.uint8))

    with way.interpreted(1.0):
        assert or_compiled(work) == 300  # in machine code the sum of two bytes is a word
    assert ways == [True, False]


def test_no_plugin_is_blamed_where_python_cannot_go_on():
    with pytest.raises(OnlyCompiled), blaming("criterion 'mine'"):
        raise OnlyCompiled("patience is at an end")


def test_at_address_0_is_no_kernel():
    assert kernel_at(0) is None


def test_fingerprints_wrap_around():
    def mixed(word):
        return word * np.uint64(0x9E3779B97F4A7C15)

    word = np.uint64(1 << 63 | 5)
    kernel = kernel_of(mixed, wraps=True)
    with way.interpreted(1.0):
        found = kernel(word)
    assert found == kernel(word) and len(kernel.overloads) == 1


NARROW = np.dtype([("best", np.int32)], align=True)
NODE = np.dtype([("best", np.int64), ("key", np.int64, (2,)), ("half", np.bool_)], align=True)


class Held(NamedTuple):
    """As solvers hand arrays over."""

    node: np.ndarray


def solved(held, state):
    for d in range(held.node.shape[0]):
        node = held.node[d]
        node.half = held.node[0].best == 0
        node.best, node.key[1] = node.best + d, d
        state.best += node.best


def test_records_have_fields_both_ways():
    def after(kernel):
        node, state = np.zeros(3, NODE), np.zeros(1, NODE)[0]
        kernel(Held(node), state)
        return node.tolist(), int(state["best"])

    with way.interpreted(1.0):
        found = str(after(kernel_of(solved)))
    assert found == str(after(kernel_of(solved)))


def own_records(n):
    nodes = np.zeros(n, NODE)
    for d in range(n):
        nodes[d].best = d
    return nodes[n - 1].best


def test_records_that_a_kernel_makes_have_fields_both_ways():
    kernel = kernel_of(own_records)
    with way.interpreted(1.0):
        assert kernel(3) == 2 and not kernel.overloads
    assert kernel(3) == 2


def test_types_that_are_remembered_are_those_of_numba():
    class Other(NamedTuple):
        node: np.ndarray

    table = np.zeros((4, 4))
    fixed = np.zeros(2)
    fixed.flags.writeable = False
    nodes = np.zeros(2, NODE)
    values = [
        *(table, table.T, table[::2], table[:, 0], table[0], fixed, np.zeros(2, np.float32)),
        *(
            table.view(np.int64),
            nodes,
            nodes.view(np.recarray),
            nodes[0],
            nodes.view(np.recarray)[0],
            np.zeros(1, NARROW)[0],
        ),
        *(np.frombuffer(bytes(17), np.uint8)[1:].view(np.float64)),
        *(1, -1, 1 << 31, (1 << 63) - 1, 1 << 63, 1.0, True, None, np.int8(1), np.uint64(1)),
        *(np.bool(True), np.float32(1), half, kernel_of(half).made, "text"),
        *((1, 1), (1, 1.0), (1.0, 1), (), (table,), Held(table), Held(table.T), Held(table[0])),
        *(Other(table), (Held(table), 1), (half, 1), (lightest, 1)),
    ]
    typeof = kernel_of(half).made.typeof_pyval
    kinds_of = partial(_kinds_of, typeof, {})
    for one, other in itertools.product(values, repeat=2):
        assert kinds_of((one, other)) == (typeof(one), typeof(other)), (one, other)


@pytest.mark.parametrize("word", [0, 1, 6, 1 << 63, (1 << 64) - 1])
def test_intrinsics_have_twins(word):
    both = kernel_of(lambda w: (popcount(w), lowest(w)))
    with way.interpreted(1.0):
        found = both(np.uint64(word))
    assert found == both(np.uint64(word))


def test_tables_on_the_stack_have_twins():
    assert way.as_python(float_table)(2, 3).shape == (2, 3)
    assert way.as_python(int_table)(2, 3).dtype == np.int64


def test_an_interpreted_kernel_has_no_address_that_machine_code_would_take(nothing_kept):
    with way.interpreted(1.0):
        found = address_of(lightest, "impurity")
    assert found(np.array([3.0, 2.0])) == 2.0
    assert isinstance(address_of(lightest, "impurity"), int)


TREES = {
    "cart": "dataset=iris method=cart",
    "cart with gaps": "dataset=file dataset.path={file} dataset.target=z method=cart split=none",
    "regression": "dataset=file dataset.path={file} dataset.target=x method=cart_regression",
    "id3": "dataset=play-tennis method=id3 split=none",
    "j48": "dataset=iris method=j48",
    "shares": "dataset=file dataset.path={file} dataset.target=z method=c45 split=none",
}


@pytest.mark.slow
@pytest.mark.parametrize("asked", TREES.values(), ids=TREES)
def test_both_ways_grow_the_same_tree(asked, monkeypatch, tmp_path):
    draw, found = np.random.default_rng(0), []
    lines = [
        f"{x:.2f},{'' if gap else round(y, 2)},{'ab'[int(x * y > 0.2)]},{'uvw'[int(3 * x)]}"
        for x, y, gap in zip(*draw.random((2, 60)), draw.random(60) < 0.2, strict=True)
    ]
    (tmp_path / "drawn.csv").write_text("\n".join(["x,y,z,c", *lines]))
    for kernels in ("python", "compiled"):
        monkeypatch.setenv("ARBORETUM_KERNELS", kernels)
        overrides = asked.format(file=tmp_path / "drawn.csv").split()
        record = arboretum.run([*overrides, "tracker=none"])
        found.append((json.loads(record.tree.to_json()), dict(record.metrics)))
    assert found[0] == found[1]


class Cells:
    """As much of a problem as decides."""

    def __init__(self, n_objects, n_tests, dtype=np.float64):
        self.objects = self
        self.n_objects, self.n_tests, self.raw_features = n_objects, n_tests, ()
        self.raw = np.zeros((n_objects, 0), dtype)


def test_small_problems_are_interpreted_unless_seconds_are_counted(monkeypatch):
    monkeypatch.setenv("ARBORETUM_KERNELS", "auto")

    def ways(problem, **budget):
        with interpret_small(problem, Budget(**budget)):
            return way.active_interpreter() is not None

    assert ways(Cells(1, policy.MOST_CELLS)) and not ways(Cells(2, policy.MOST_CELLS))
    assert not ways(Cells(1, 1), seconds=1.0) and not ways(Cells(1, 1, np.float32))
    monkeypatch.setenv("ARBORETUM_KERNELS", "compiled")
    assert not ways(Cells(1, 1))
    monkeypatch.setenv("ARBORETUM_KERNELS", "python")
    assert ways(Cells(1 << 20, 1 << 20), seconds=1.0)
    monkeypatch.setenv("ARBORETUM_KERNELS", "pyhton")
    with pytest.raises(ConfigError, match="choose auto, compiled or python"):
        ways(Cells(1, 1))


def test_a_block_within_a_block_has_a_way_and_a_patience_of_its_own():
    with way.interpreted(math.inf):
        with way.interpreted(1.0):
            assert way.active_interpreter().patience == 1.0
        with way.compiled():
            assert way.active_interpreter() is None
        assert way.active_interpreter().patience == math.inf
