"""Tables and problems that the greedy benchmarks share."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    Column,
    ColumnKind,
    Encoded,
    Equals,
    Family,
    Feature,
    LeafRule,
    Limits,
    Node,
    OrdinalThreshold,
    Parts,
    Prices,
    Problem,
    RawFeature,
    Table,
    Target,
    Task,
)


@attrs.frozen
class Depth:
    """A leaf rule: at most so many tests on a path."""

    max_depth: int

    def limits(self) -> Limits:
        return Limits(max_depth=self.max_depth)

    def is_leaf(self, node: Node) -> bool:
        return False

    def leaf_rule(self) -> LeafRule:
        return LeafRule()


@attrs.frozen
class CodeFeature(Feature):
    """Thresholds on codes."""

    def rule(self, index: int) -> OrdinalThreshold:
        return OrdinalThreshold(self.column, tuple(map(str, range(self.n_bins))), index)


@attrs.frozen
class AskedCode(Feature):
    """Codes asked one by one."""

    def rule(self, index: int) -> Equals:
        return Equals(self.column, str(index))


def two_ands(n: int, columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """float32[n, columns], labels: two ANDs of four thresholded columns in all, 10 % redrawn."""
    generator = np.random.default_rng(seed)
    x = generator.random((n, columns), dtype=np.float32)
    y = ((x[:, 0] > 0.5) & (x[:, 1] > 0.4)) | ((x[:, 2] > 0.6) & (x[:, 3] < 0.5))
    y = y.astype(np.int32)
    redrawn = generator.random(n) < 0.1
    y[redrawn] = generator.integers(0, 2, int(redrawn.sum()))
    return x, y


def one_and(n: int, columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """float32[n, columns], labels: an AND of two thresholded columns, 10 % redrawn; nothing is
    left to find below.
    """
    generator = np.random.default_rng(seed)
    x = generator.random((n, columns), dtype=np.float32)
    return x, _redrawn(((x[:, 0] > 0.5) & (x[:, 1] > 0.4)).astype(np.int32), 0.1, generator)


def noisy_xor(n: int, columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """float32[n, columns], labels: the XOR of two thresholded columns, 20 % redrawn; no column
    alone says anything.
    """
    generator = np.random.default_rng(seed)
    x = generator.random((n, columns), dtype=np.float32)
    return x, _redrawn(((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5)).astype(np.int32), 0.2, generator)


def pure_noise(
    n: int, columns: int, seed: int = 0, classes: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """float32[n, columns], labels drawn without looking."""
    generator = np.random.default_rng(seed)
    return generator.random((n, columns), dtype=np.float32), generator.integers(
        0, classes, n
    ).astype(np.int32)


def _redrawn(y: np.ndarray, share: float, generator: np.random.Generator) -> np.ndarray:
    redrawn = generator.random(len(y)) < share
    y[redrawn] = generator.integers(0, 2, int(redrawn.sum()))
    return y


def codes(
    n: int, columns: int, bins: int, classes: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """uint8[n, columns] uniform codes and labels that depend on the first columns, 20 % redrawn."""
    generator = np.random.default_rng(seed)
    x = generator.integers(0, bins, (n, columns), dtype=np.uint8)
    signal = x[:, :6].astype(np.int64) >= np.array(
        [bins // 2, bins // 3, bins // 4, bins // 2, bins // 3, bins // 2]
    )
    y = (signal @ np.array([1, 2, 1, 3, 1, 2]) % classes).astype(np.int32)
    redrawn = generator.random(n) < 0.2
    y[redrawn] = generator.integers(0, classes, int(redrawn.sum()))
    return x, y


def raw_problem(x: np.ndarray, y: np.ndarray, criterion: Any, impurity: Any, depth: int) -> Problem:
    """Exact thresholds on every column."""
    names = [f"x{j}" for j in range(x.shape[1])]
    columns = tuple(Column(name, ColumnKind.continuous, x[:, j]) for j, name in enumerate(names))
    features = tuple(RawFeature(name, j) for j, name in enumerate(names))
    return _problem(
        columns, y, (), np.zeros((len(y), 0), np.uint8), features, x, criterion, impurity, depth
    )


def coded_problem(
    x: np.ndarray, y: np.ndarray, bins: int, criterion: Any, impurity: Any, depth: int
) -> Problem:
    """Thresholds between the codes of every column; the raw columns are one and the same, so
    that memory is that of the codes.
    """
    names, blank = tuple(map(str, range(bins))), np.zeros(len(x), np.int32)
    columns = tuple(Column(f"x{j}", ColumnKind.ordinal, blank, names) for j in range(x.shape[1]))
    features = tuple(CodeFeature(f"x{j}", j, Family.thresholds, bins) for j in range(x.shape[1]))
    return _problem(columns, y, features, x, (), np.zeros((len(y), 0)), criterion, impurity, depth)


def mixed_problem(
    x: np.ndarray, codes: np.ndarray, y: np.ndarray, criterion: Any, impurity: Any, depth: int
) -> Problem:
    """Exact thresholds on the columns of x; in turn with them, codes that are asked one by one."""
    columns, features, raw_features = [], [], []
    for j in range(x.shape[1]):
        bins = int(codes[:, j].max()) + 1
        columns += [
            Column(f"x{j}", ColumnKind.continuous, x[:, j]),
            Column(
                f"c{j}",
                ColumnKind.categorical,
                codes[:, j].astype(np.int32),
                tuple(map(str, range(bins))),
            ),
        ]
        raw_features.append(RawFeature(f"x{j}", 2 * j))
        features.append(AskedCode(f"c{j}", 2 * j + 1, Family.equals, bins))
    return _problem(
        tuple(columns),
        y,
        tuple(features),
        codes,
        tuple(raw_features),
        x,
        criterion,
        impurity,
        depth,
    )


def _problem(columns, y, features, codes, raw_features, raw, criterion, impurity, depth) -> Problem:
    n = len(y)
    classes = tuple(map(str, range(int(y.max()) + 1)))
    table = Table("benchmark", columns, Target("y", Task.classification, y, classes))
    objects = Encoded(
        table,
        features,
        codes,
        raw_features,
        raw,
        y,
        None,
        np.ones(n),
        np.ones(n, np.int64),
        np.arange(n),
    )
    prices = Prices(np.ones(int(objects.test_offset[-1])), np.ones(len(raw_features)))
    parts = Parts(method=None, criterion=criterion, impurity=impurity, stopping=(Depth(depth),))
    return Problem(objects, prices, parts)


def seconds(run: Callable[[], Any], repeats: int) -> list[float]:
    """Wall seconds of each repeat."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return found


def interleaved(runs: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median wall seconds of each; the candidates take turns, so that a busy moment of the
    machine meets all alike.
    """
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            found[name] += seconds(run, 1)
    return {name: statistics.median(times) for name, times in found.items()}


def one_thread() -> None:
    """Keep every library on one thread; call before NumPy's first heavy work."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"
