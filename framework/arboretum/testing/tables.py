"""Small things to test on: raw tables, encoded objects, and contingency tables counted row by row.

Nothing here shares code with the search loop: the tables are the slow truth that a component's author can read.
Everything is deterministic in its seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    Column, ColumnKind, Encoded, Equals, Family, Feature, Node, Parts, Prices, Problem, Table, Tables, Target, Task, Threshold, Values,
)  # fmt: skip
from arboretum.kernels import adds_by_class, impurity_kernel, mark_of
from arboretum.testing.scoring import coverage_of, gain_of, kernel_node

SEEDS = range(6)
"""Of the small tables every suite looks at."""


@attrs.frozen
class ToyFeature(Feature):
    """A coded feature whose tests are thresholds on ``edges``, or questions about ``categories``."""

    edges: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()

    def rule(self, index: int) -> Any:
        if self.family is Family.thresholds:
            return Threshold(self.column, self.edges[index])
        if self.family is Family.equals:
            return Equals(self.column, self.categories[index])
        return Values(self.column, self.categories)


@attrs.frozen
class TreeParts:
    """What may be asked of a small table."""

    multiclass: bool = True
    weighted: bool = True
    multiway: bool = True
    missing: bool = False
    task: Task = Task.classification


def toy_table(seed: int, n_rows: int = 24, kind: TreeParts = TreeParts()) -> Table:
    """A table with two continuous columns (with ties), a three-valued and a two-valued one; every class has a row.

    Half of the rows follow the columns, half are noise, so that there is something to learn and something to prune.
    """
    generator = np.random.default_rng([seed, n_rows])
    width, shade = generator.integers(0, 5, n_rows) / 2, generator.integers(0, 3, n_rows)
    height, lit = generator.normal(size=n_rows).round(1), generator.integers(0, 2, n_rows)
    if kind.missing:
        width[generator.random(n_rows) < 0.2] = np.nan
        shade[generator.random(n_rows) < 0.2] = -1
    columns = (
        Column("width", ColumnKind.continuous, width),
        Column("shade", ColumnKind.categorical, shade, ("dark", "light", "pale")),
        Column("height", ColumnKind.continuous, height),
        Column("lit", ColumnKind.categorical, lit, ("no", "yes")),
    )
    weights = generator.choice([0.5, 1.0, 2.0, 3.25], n_rows) if kind.weighted else None
    n_classes = 3 if kind.multiclass else 2
    signal = np.nan_to_num(width) * 2 + lit * 2 + shade
    noise = generator.random(n_rows) < 0.5
    if kind.task is Task.regression:
        values = np.where(noise, generator.normal(size=n_rows) * 3, signal).round(2)
        return Table(f"toy{seed}", columns, Target("y", kind.task, values=values), weights)
    codes = np.where(noise, generator.integers(0, n_classes, n_rows), signal.astype(int) % n_classes).astype(np.int32)
    codes[:n_classes] = np.arange(min(n_classes, n_rows))
    classes = ("red", "green", "blue")[:n_classes]
    return Table(f"toy{seed}", columns, Target("y", kind.task, codes, classes), weights)


def toy_objects(table: Table, *, multiway: bool = True) -> Encoded:
    """Encode a toy table: one object per row, thresholds at all midpoints, categories asked multiway or one by one."""
    features, codes = [], []
    for position, column in enumerate(table.columns):
        if column.kind is ColumnKind.continuous:
            seen = np.unique(column.values[~column.missing])
            edges = tuple(((seen[:-1] + seen[1:]) / 2).tolist())
            code = np.searchsorted(np.array(edges), column.values)
            feature = ToyFeature(column.name, position, Family.thresholds, len(seen), edges=edges)
        else:
            family = Family.multiway if multiway else Family.equals
            code = column.values.astype(np.int64)
            feature = ToyFeature(column.name, position, family, len(column.categories), categories=column.categories)
        if column.missing.any():
            feature, code = attrs.evolve(feature, has_missing=True), np.where(column.missing, feature.n_bins, code)
        features.append(feature)
        codes.append(code)
    return bare_objects(table, features=tuple(features), codes=np.array(codes, np.uint8).T.copy())


def bare_objects(table: Table, **given: Any) -> Encoded:
    """One object per row, without a test.   given : fields that are filled all the same."""
    n = table.n_rows
    nothing = {"features": (), "codes": np.empty((n, 0), np.uint8), "raw_features": (), "raw": np.empty((n, 0))}
    target = {"label": table.target.codes, "y": table.target.values}
    rows = {"weight": table.row_weights(), "count": np.ones(n, np.int64), "object_of_row": np.arange(n)}
    return Encoded(table, **{**nothing, **target, **rows, **given})


def prices_of(objects: Encoded, seed: int | None = None) -> Prices:
    """Price 1 for every test, or whole numbers from 1 to 9."""
    n = int(objects.test_offset[-1])
    prices = np.ones(n) if seed is None else np.random.default_rng([seed, n]).integers(1, 10, n).astype(float)
    return Prices(prices, np.ones(len(objects.raw_features)))


def row_of(table: Table, row: int) -> dict[str, float | str | None]:
    """One row as a mapping from column name to float, spelled category or None; an unseen code is spelled "?"."""
    found: dict[str, float | str | None] = {}
    for column in table.columns:
        value = column.values[row]
        if column.kind is ColumnKind.continuous:
            found[column.name] = None if np.isnan(value) else float(value)
        else:
            found[column.name] = None if value == -1 else "?" if value < 0 else column.categories[value]
    return found


def outcomes(objects: Encoded, test: int, rows: np.ndarray) -> np.ndarray:
    """int64[len(rows)]: outcome of each object under a fixed test, −1 where its value is missing."""
    offset = objects.test_offset
    f = int(np.searchsorted(offset, test, side="right")) - 1
    feature, k, codes = objects.features[f], test - int(offset[f]), objects.codes[rows, f].astype(np.int64)
    if feature.family is Family.multiway:
        found = codes
    elif feature.family is Family.thresholds:
        found = (codes > k).astype(np.int64)
    else:
        found = (codes != k).astype(np.int64)
    return np.where(codes == feature.n_bins, -1, found)


def added(objects: Encoded, rows: np.ndarray, count_objects: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """What each object adds to a table: float64[len(rows), classes] (or moments) to its weights, int64[len(rows), classes] (or 1)
    to its counts: the rows it stands for, or 1 if objects count."""
    w, n = objects.weight[rows], np.ones(len(rows), np.int64) if count_objects else objects.count[rows]
    if objects.task is Task.regression:
        y = objects.y[rows]
        return np.stack([w, w * y, w * y * y], axis=1), n[:, None]
    own = objects.label[rows][:, None] == np.arange(objects.n_classes)
    return w[:, None] * own, n[:, None] * own


def contingency(
    objects: Encoded,
    rows: np.ndarray | None = None,
    *,
    criterion: Any = None,
    impurity: Any = None,
    prices: Prices | None = None,
    depth: int = 0,
    coverage: Sequence[Any] = (),
) -> tuple[Tables, Node]:
    """Count the tables of all tests at the node that holds ``rows`` (all objects unless given), test by test.

    criterion : its ``columns`` or ``column``, if it has one, fill ``extra``; ``counts_objects`` and ``needs_gain`` are
    heeded.   impurity : a component with ``value``, or None.   coverage : the run's.
    Tests that are constant on the node are left out, as they are in the search.
    """
    rows = np.arange(objects.n_objects) if rows is None else np.asarray(rows)
    prices = prices_of(objects) if prices is None else prices
    as_objects = bool(getattr(criterion, "counts_objects", False))
    node = node_of(objects, rows, impurity=impurity, depth=depth, coverage=coverage, count_objects=as_objects)
    n_outcomes = max(feature.arity for feature in objects.features)
    found = {test: outcomes(objects, test, rows) for test in range(int(objects.test_offset[-1]))}
    groups = {test: [answer == k for k in range(n_outcomes)] for test, answer in found.items()}
    kept = [test for test, parts in groups.items() if sum(part.any() for part in parts) > 1]

    def summed(values: np.ndarray) -> np.ndarray:
        sums = [values[part].sum(axis=0) for test in kept for part in groups[test]]
        return np.array(sums, values.dtype).reshape(len(kept), n_outcomes, values.shape[1])

    gain = None
    if coverage and getattr(criterion, "needs_gain", False):
        outcome_of = [dict(zip(rows.tolist(), found[test], strict=True)) for test in kept]
        gain = np.array([gain_of(coverage, objects, rows, each, n_outcomes) for each in outcome_of]).reshape(-1, n_outcomes)
    weights, counts = map(summed, added(objects, rows, as_objects))
    return Tables(
        weights=weights,
        counts=counts,
        price=prices.tests[kept],
        extra=summed(own_columns(criterion, node, objects, rows, impurity, coverage)),
        test=np.arange(len(kept)),
        impurity_of=None if impurity is None else impurity.value,
        impurity_scale=getattr(impurity, "scale", "mean"),
        gain=gain,
    ), node


def own_columns(
    criterion: Any, node: Node, objects: Encoded, rows: np.ndarray, impurity: Any, coverage: Sequence[Any] = ()
) -> np.ndarray:
    """float64[len(rows), k]: what a criterion's ``columns`` answers, or its ``column``, called object by object."""
    from arboretum.engine.search.compiled_criterion import asked_columns, kernel_of

    if mark_of(getattr(criterion, "column", None)) == "column":
        seen = kernel_node(criterion, node, None if impurity is None else impurity.value)
        label = np.full(objects.n_objects, -1) if objects.label is None else objects.label
        values = [criterion.column(float(objects.weight[i]), int(label[i]), seen) for i in rows]
        found = np.array(values, float).reshape(len(rows), 1)
        by_class = adds_by_class(kernel_of(criterion, impurity, tuple(coverage)))
        return found * (label[rows][:, None] == np.arange(objects.n_classes)) if by_class else found
    if hasattr(criterion, "columns"):
        return np.asarray(asked_columns(criterion, node, objects, rows), float)
    return np.zeros((len(rows), 0))


def node_of(
    objects: Encoded,
    rows: np.ndarray,
    *,
    impurity: Any = None,
    depth: int = 0,
    coverage: Sequence[Any] = (),
    count_objects: bool = False,
) -> Node:
    """The node that holds ``rows``."""
    weights, counts = (each.sum(axis=0) for each in added(objects, rows, count_objects))
    return Node(
        weights=weights,
        counts=counts,
        mass=float(objects.weight[rows].sum()),
        total_mass=float(objects.weight.sum()),
        impurity=np.nan if impurity is None else float(impurity.value(weights)),
        depth=depth,
        coverage=coverage_of(coverage, objects, rows),
        n_rows=int(objects.count[rows].sum()),
        n_objects=len(rows),
    )


def problem_of(table: Table, parts: Parts, *, multiway: bool = True, valid: Table | None = None) -> Problem:
    """A whole small problem, encoded and priced."""
    objects = toy_objects(table, multiway=multiway)
    return Problem(objects, prices_of(objects), parts, valid)


@attrs.frozen
class ToyGini:
    """Gini's index, to stand in where a criterion needs some impurity."""

    kind = "impurity"
    name = "toy_gini"
    paper = ""
    capabilities = ()
    scale = "mean"

    @staticmethod
    @impurity_kernel
    def kernel(weights):
        mass = squares = 0.0
        for c in range(weights.shape[0]):
            mass += weights[c]
            squares += weights[c] * weights[c]
        return 1.0 - squares / (mass * mass) if mass > 0.0 else 0.0

    def value(self, weights: np.ndarray) -> np.ndarray:
        mass = weights.sum(axis=-1)
        safe = np.where(mass > 0, mass, 1.0)
        share = weights / safe[..., None]
        return np.where(mass > 0, 1 - (share * share).sum(axis=-1), 0.0)


@attrs.frozen
class ToyVariance:
    """Variance of a regression target, from its moments."""

    kind = "impurity"
    name = "toy_variance"
    paper = ""
    capabilities = ("regression", "weights")
    scale = "mean"

    @staticmethod
    @impurity_kernel
    def kernel(weights):
        if weights[0] <= 0.0:
            return 0.0
        mean = weights[1] / weights[0]
        return max(weights[2] / weights[0] - mean * mean, 0.0)

    def value(self, weights: np.ndarray) -> np.ndarray:
        mass = weights[..., 0]
        safe = np.where(mass > 0, mass, 1.0)
        mean = weights[..., 1] / safe
        return np.where(mass > 0, np.maximum(weights[..., 2] / safe - mean * mean, 0.0), 0.0)


def toy_impurity(task: Task) -> Any:
    """A mean impurity for that kind of target."""
    return ToyVariance() if task is Task.regression else ToyGini()


def small_vectors(task: Task = Task.classification, n_classes: int = 3) -> Iterator[np.ndarray]:
    """float64[n_classes] (or moments [3]): class-weight vectors of small sets, empty and pure ones included."""
    if task is Task.regression:
        for seed in SEEDS:
            generator = np.random.default_rng(seed)
            y, w = generator.integers(-3, 4, 5) * 0.5, generator.choice([0.5, 1.0, 2.0], 5)
            yield np.array([w.sum(), (w * y).sum(), (w * y * y).sum()])
        return
    for weights in np.ndindex(*(4,) * n_classes):
        yield np.array(weights, float)
    for seed in SEEDS:
        yield np.random.default_rng(seed).gamma(1.0, 3.0, n_classes)
