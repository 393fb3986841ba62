"""The framework in one file: it stays short, it runs, and it agrees with the real one."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arboretum.testing.tables import toy_objects

FILE = Path(__file__).resolve().parents[2] / "docs" / "tutorial" / "one_file_framework.py"


@pytest.fixture(scope="module")
def twin():
    spec = importlib.util.spec_from_file_location("one_file_framework", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_it_is_shorter_than_150_lines_blank_ones_apart():
    lines = FILE.read_text(encoding="utf-8").splitlines()
    assert sum(bool(line.strip()) for line in lines) < 150


def test_it_runs_and_verifies_its_trees():
    done = subprocess.run(
        [sys.executable, FILE], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.count("verified") == 2


def test_its_verification_finds_a_tree_that_lies(twin):
    tree = twin.grow(twin.ROWS, "play", twin.build("criterion", "gain"))
    liar = twin.Tree(tree.weights, tree.test, (tree.children[1], tree.children[0]))
    with pytest.raises(AssertionError, match="other weights"):
        twin.verify(liar, twin.ROWS, "play")


def test_an_unknown_or_a_taken_name_is_refused(twin):
    with pytest.raises(ValueError, match="unknown criterion 'gian'; known: clean_cut, gain"):
        twin.build("criterion", "gian")
    with pytest.raises(ValueError, match="is claimed by"):
        twin.component(twin.Gain)


@pytest.mark.parametrize("seed", range(5))
def test_its_best_test_gains_what_the_best_test_of_the_framework_gains(twin, seed):
    """Gain in bits over the same rows and tests; which of tied tests is taken may differ."""
    from arboretum.api import Column, ColumnKind, Context, Parts, Problem, Table, Target, Task, grow
    from arboretum.testing.tables import prices_of
    from arboretum_classic.criteria.criteria import Reduction
    from arboretum_classic.criteria.impurities import Entropy

    generator = np.random.default_rng(seed)
    values = generator.integers(0, 3, (30, 3))
    labels = ((values[:, 0] + generator.integers(0, 2, 30)) % 2).astype(np.int32)
    columns = tuple(
        Column(f"x{i}", ColumnKind.categorical, values[:, i], ("a", "b", "c")) for i in range(3)
    )
    objects = toy_objects(
        Table("t", columns, Target("y", Task.classification, labels, ("no", "yes"))), multiway=False
    )
    parts = Parts(method=None, criterion=Reduction(), impurity=Entropy())
    tree = grow(Problem(objects, prices_of(objects), parts), Context()).tree
    rows = [
        {f"x{i}": "abc"[values[r, i]] for i in range(3)} | {"y": ("no", "yes")[labels[r]]}
        for r in range(30)
    ]
    small = twin.grow(rows, "y", twin.build("criterion", "gain"))
    twin.verify(small, rows, "y")
    gain = twin.Gain().score([child.weights for child in small.children], small.weights)
    assert gain == pytest.approx(tree.score[0], rel=1e-12)
