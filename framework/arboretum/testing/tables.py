"""Small things to test on: raw tables, encoded objects, and components that stand in for the parts
a suite is not about.

Everything is deterministic in its seed; tables and objects are made once, for their arrays are
read-only.
"""

from functools import lru_cache

import attrs
import numpy as np

from arboretum.api import (
    EVENT,
    MISSING,
    NO_OUTCOME,
    OUTCOME,
    PROPENSITY,
    Column,
    ColumnKind,
    Encoded,
    Equals,
    Family,
    Feature,
    Node,
    Parts,
    Prices,
    Problem,
    RawFeature,
    Table,
    Tables,
    Target,
    Task,
    TestRule,
    Threshold,
    Values,
    cost_role,
)
from arboretum.interfaces.impurity import Impurity
from arboretum.kernels import KernelNode, criterion_kernel, impurity_kernel

SEEDS = range(6)  # of the small tables every suite looks at


@attrs.frozen
class ToyFeature(Feature):
    """A coded feature whose tests are thresholds on ``edges``, or questions about
    ``categories``.
    """

    edges: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()

    def codes(self, column: Column) -> np.ndarray:
        """ints[n]: the bin of each row of the column."""
        values = column.values
        found = np.searchsorted(np.array(self.edges), values) if column.is_continuous else values
        return np.where(column.missing, self.n_bins, found)

    def rule(self, index: int) -> TestRule:
        """The test with that index: a threshold, a question about one category, or about all."""
        if self.family is Family.thresholds:
            return Threshold(self.column, self.edges[index])
        if self.family is Family.equals:
            return Equals(self.column, self.categories[index])
        return Values(self.column, self.categories)


@attrs.frozen
class TreeParts:
    """What may be asked of a small table.

    multiclass, weighted, multiway : it has three classes, weights, categories asked all at once.
    missing : a fifth of some columns has no value.
    timed : numbers to predict lie above 0, as times and counts do.
    """

    multiclass: bool = True
    weighted: bool = True
    multiway: bool = True
    missing: bool = False
    task: Task = Task.classification
    timed: bool = False


@lru_cache(maxsize=256)
def toy_table(seed: int, n_rows: int = 24, kind: TreeParts = TreeParts()) -> Table:
    """A table with two continuous columns (with ties), a three-valued and a two-valued one; every
    class has a row.

    Half of the rows follow the columns, half are noise, so that there is something to learn and
    something to prune.
    """
    generator = np.random.default_rng([seed, n_rows])
    width, shade = generator.integers(0, 5, n_rows) / 2, generator.integers(0, 3, n_rows)
    height, lit = generator.normal(size=n_rows).round(1), generator.integers(0, 2, n_rows)
    if kind.missing:
        width[generator.random(n_rows) < 0.2] = np.nan
        shade[generator.random(n_rows) < 0.2] = -1
    number, word = ColumnKind.continuous, ColumnKind.categorical
    columns = (
        Column("width", number, width),
        Column("shade", word, shade, ("dark", "light", "pale")),
        Column("height", number, height),
        Column("lit", word, lit, ("no", "yes")),
    )
    weights = generator.choice([0.5, 1.0, 2.0, 3.25], n_rows) if kind.weighted else None
    n_classes = 3 if kind.multiclass else 2
    signal = np.nan_to_num(width) * 2 + lit * 2 + shade
    noise = generator.random(n_rows) < 0.5
    if kind.task is Task.regression:
        values = np.where(noise, generator.normal(size=n_rows) * 3, signal).round(2)
        target = Target("y", kind.task, values=np.abs(values) + 0.25 if kind.timed else values)
        return Table(f"toy{seed}", columns, target, weights, roles=_toy_roles(seed, n_rows))
    codes = np.where(
        noise, generator.integers(0, n_classes, n_rows), signal.astype(int) % n_classes
    ).astype(np.int32)
    codes[:n_classes] = np.arange(min(n_classes, n_rows))
    classes = ("red", "green", "blue")[:n_classes]
    target, roles = Target("y", kind.task, codes, classes), _toy_roles(seed, n_rows, classes)
    return Table(f"toy{seed}", columns, target, weights, roles=roles)


def _toy_roles(seed: int, n_rows: int, classes: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """What is known of the rows of a toy table besides, and a cost for each class."""
    generator = np.random.default_rng([seed, n_rows, 1])
    costs = {cost_role(c): generator.normal(1, 1, n_rows).round(2) for c in classes}
    return {
        EVENT: generator.integers(0, 2, n_rows).astype(np.float64),
        OUTCOME: generator.normal(size=n_rows).round(2),
        PROPENSITY: generator.choice([0.25, 0.5, 0.8], n_rows),
        **costs,
    }


@lru_cache(maxsize=256)
def toy_objects(table: Table, *, multiway: bool = True) -> Encoded:
    """Encode a toy table: one object per row, thresholds at all midpoints, categories asked
    multiway or one by one.
    """
    features, codes = [], []
    for position, column in enumerate(table.columns):
        if column.is_continuous:
            seen = np.unique(column.values[~column.missing])
            edges = tuple(((seen[:-1] + seen[1:]) / 2).tolist())
            code = np.searchsorted(np.array(edges), column.values)
            feature = ToyFeature(column.name, position, Family.thresholds, len(seen), edges=edges)
        else:
            family = Family.multiway if multiway else Family.equals
            code = column.values.astype(np.int64)
            feature = ToyFeature(
                column.name, position, family, len(column.categories), categories=column.categories
            )
        if column.has_missing:
            feature, code = (
                attrs.evolve(feature, has_missing=True),
                np.where(column.missing, feature.n_bins, code),
            )
        features.append(feature)
        codes.append(code)
    return bare_objects(table, features=tuple(features), codes=np.array(codes, np.uint8).T.copy())


def bare_objects(
    table: Table,
    features: tuple[Feature, ...] = (),
    codes: np.ndarray | None = None,
    raw_features: tuple[RawFeature, ...] = (),
    raw: np.ndarray | None = None,
) -> Encoded:
    """One object per row, without a test but those given.

    codes : unsigned[n, features], raw : float[n, raw_features]; None: of no features.
    """
    n = table.n_rows
    return Encoded(
        table=table,
        features=features,
        codes=np.empty((n, 0), np.uint8) if codes is None else codes,
        raw_features=raw_features,
        raw=np.empty((n, 0)) if raw is None else raw,
        label=table.target.codes,
        y=table.target.values,
        weight=table.row_weights(),
        count=np.ones(n, np.int64),
        object_of_row=np.arange(n),
    )


def prices_of(objects: Encoded, seed: int | None = None) -> Prices:
    """Price 1 for every test (no ``seed``), or whole numbers from 1 to 9."""
    n = objects.n_fixed
    prices = (
        np.ones(n)
        if seed is None
        else np.random.default_rng([seed, n]).integers(1, 10, n).astype(float)
    )
    return Prices(prices, np.ones(len(objects.raw_features)))


def row_of(table: Table, row: int) -> dict[str, float | str | None]:
    """One row as a mapping from column name to float, spelled category or None; an unseen code
    is spelled "?".
    """
    found: dict[str, float | str | None] = {}
    for column in table.columns:
        value = column.values[row]
        if column.is_continuous:
            found[column.name] = None if np.isnan(value) else float(value)
        else:
            found[column.name] = (
                None if value == MISSING else "?" if value < 0 else column.categories[value]
            )
    return found


def outcomes(objects: Encoded, test: int, rows: np.ndarray) -> np.ndarray:
    """int64[len(rows)]: outcome of each object under a fixed test, −1 where its value is
    missing.
    """
    offset = objects.test_offset
    f = int(np.searchsorted(offset, test, side="right")) - 1
    feature = objects.features[f]
    k = test - int(offset[f])
    codes = objects.codes[rows, f].astype(np.int64)
    return np.where(feature.missing(codes), NO_OUTCOME, feature.family.outcome(k, codes))


def problem_of(
    table: Table, parts: Parts, *, multiway: bool = True, valid: Table | None = None
) -> Problem:
    """A whole small problem, encoded and priced at 1 a test.   valid : validation rows, or None.
    multiway : as of :func:`toy_objects`.
    """
    objects = toy_objects(table, multiway=multiway)
    return Problem(objects, prices_of(objects), parts, valid)


@attrs.frozen
class ToyGini:
    """Gini's index, to stand in where a criterion needs some impurity."""

    kind, name, paper, capabilities, scale = "impurity", "toy_gini", "", (), "mean"

    @staticmethod
    @impurity_kernel
    def kernel(weights: np.ndarray) -> float:
        """1 − Σ p² of float64[classes]; 0 without mass."""
        mass = squares = 0.0
        for c in range(weights.shape[0]):
            mass += weights[c]
            squares += weights[c] * weights[c]
        return 1.0 - squares / (mass * mass) if mass > 0.0 else 0.0

    def value(self, weights: np.ndarray) -> np.ndarray:
        """float64[…, classes] → float64[…]: 1 − Σ p², 0 without mass."""
        mass = weights.sum(axis=-1)
        share = weights / np.where(mass > 0, mass, 1.0)[..., None]
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
    def kernel(weights: np.ndarray) -> float:
        """The variance from (Σw, Σwy, Σwy²), at least 0; 0 without mass."""
        if weights[0] <= 0.0:
            return 0.0
        mean = weights[1] / weights[0]
        return float(max(weights[2] / weights[0] - mean * mean, 0.0))

    def value(self, weights: np.ndarray) -> np.ndarray:
        """float64[…, 3] → float64[…]: the variance, at least 0; 0 without mass."""
        mass, total, squares = np.moveaxis(weights, -1, 0)
        safe = np.where(mass > 0, mass, 1.0)
        return np.where(mass > 0, np.maximum(squares / safe - (total / safe) ** 2, 0.0), 0.0)


def toy_impurity(task: Task) -> Impurity:
    """A mean impurity for that kind of target."""
    return ToyVariance() if task is Task.regression else ToyGini()


@attrs.frozen
class ToyReduction:
    """Weighted decrease of a mean impurity, in NumPy."""

    kind, name, paper = "criterion", "toy_reduction", ""
    capabilities = (
        "classification",
        "regression",
        "multiclass",
        "weights",
        "multiway",
        "missing",
        "additive",
    )

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """float64[tests]: the node's impurity less the weighted mean of the outcomes'."""
        mass = tables.mass
        below = (mass * tables.impurity(tables.weights)).sum(axis=1) / mass.sum(axis=1)
        return np.asarray(node.impurity - below)


@criterion_kernel
def reduction(
    weights: np.ndarray, counts: np.ndarray, price: float, extra: np.ndarray, node: KernelNode
) -> float:
    """One test's score: the node's impurity less the weighted mean of the outcomes'.

    weights, counts, extra : float64, int64 and float64[outcomes, ·]; the last two are not read.
    """
    below = mass = 0.0
    for v in range(weights.shape[0]):
        own = 0.0
        for k in range(weights.shape[1]):
            own += weights[v, k]
        mass += own
        below += own * node.impurity_of(weights[v])
    return node.impurity - below / mass


@attrs.frozen
class KernelReduction(ToyReduction):
    """The same for classes in kernel form, so that kernels grow whole trees."""

    name = "kernel_reduction"
    capabilities = (
        "classification",
        "multiclass",
        "weights",
        "multiway",
        "missing",
        "thresholds",
        "additive",
    )
    score = staticmethod(reduction)
