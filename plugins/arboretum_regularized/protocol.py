"""The paper's protocol up to the first tree: data, tests, split, objects, threshold, prices.

A data set is read and encoded once per process; a split only counts which of its distinct rows fall where.
"""

from __future__ import annotations

import math
from functools import lru_cache

import attrs
import numpy as np

from arboretum.api import ColumnKind, Encoded, Family, House, Prices, Table, TestRule
from arboretum_regularized.published import UNIT, published

ENCODER = "onehot_kmeans5"
BINS = {"numeric": "kmeans_elkan"}
"""The k-means of the authors' time: on letter, bank-marketing and default today's ends in other bins (whole numbers tie)."""
TOLERANCE = 1e-7
"""A mass within this of θ counts as θ."""


@attrs.frozen(eq=False)
class Coded:
    """A data set with its tests.

    whole : all distinct rows as objects; bins and values are those of all rows, so every split has the same tests.
    place : test → (feature, index within the feature).
    """

    table: Table
    whole: Encoded
    place: dict[TestRule, tuple[int, int]]

    @property
    def family(self) -> np.ndarray:
        """int64[features]: 0 multiway, 1 thresholds, 2 equals."""
        order = [Family.multiway, Family.thresholds, Family.equals]
        return np.array([order.index(feature.family) for feature in self.whole.features], np.int64)

    def tally(self, rows: np.ndarray) -> np.ndarray:
        """int64[objects, classes]: how many of these rows are each distinct row, by class."""
        n, k = self.whole.n_objects, self.table.n_classes
        pairs = self.whole.object_of_row[rows] * k + self.table.target.codes[rows]
        return np.bincount(pairs, minlength=n * k).reshape(n, k)


@attrs.frozen(eq=False)
class Lesson:
    """One split of a data set.

    objects : the coalesced training rows.   origin : int64[objects], which distinct row of the data set each is.
    train, valid, test : int64[distinct rows of the data set, classes].   theta : mass at which a node is a leaf.
    rows : int64[training rows], which rows of the data set teach.
    """

    coded: Coded
    objects: Encoded
    origin: np.ndarray
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray
    theta: float
    rows: np.ndarray


def theta_of(n_train: int) -> float:
    """0.005, or on a small table the mass of two objects, rounded up to two decimals.

    (iris: 105 training rows, 2/105 = 0.0190… → 0.02, as the authors have it.)
    """
    least = published().theta
    return least if 2.0 / n_train <= least else math.ceil(200.0 / n_train) / 100.0


def read(house: House, name: str) -> Table:
    """The data set with the kinds of columns that give the column counts of Table 1.  Raises DataError."""
    return house.component("dataset", name, published().adjusted.get(name, {})).load(0)


def filled(table: Table) -> Table:
    """The table with 0 for a missing number, as the program's stored trees of breast-w have it (to the row)."""
    columns = (
        attrs.evolve(column, values=np.where(column.missing, 0.0, column.values)) if column.kind is ColumnKind.continuous else column
        for column in table.columns
    )
    return attrs.evolve(table, columns=tuple(columns))


@lru_cache(maxsize=2)
def coded(house: House, name: str) -> Coded:
    """The data set, read and encoded; kept, for the next pieces of this process are of the same one.  Raises DataError."""
    table = filled(read(house, name))
    whole = house.component("encoder", ENCODER, BINS).encode(table, table, raw_thresholds=False, seed=0)
    whole = attrs.evolve(whole, codes=np.ascontiguousarray(whole.codes))
    place = {feature.rule(i): (f, i) for f, feature in enumerate(whole.features) for i in range(feature.n_tests)}
    return Coded(table, whole, place)


@lru_cache(maxsize=2)
def lesson(house: House, name: str, seed: int) -> Lesson:
    """The split of that seed: 70/10/20, stratified, and the objects it teaches.  Raises DataError."""
    data = coded(house, name)
    division = house.component("split", "holdout").divide(data.table, seed)
    objects, origin = taught(data, division.train)
    tallies = [data.tally(rows) for rows in (division.train, division.valid, division.test)]
    return Lesson(data, objects, origin, *tallies, theta_of(len(division.train)), division.train)


def taught(data: Coded, rows: np.ndarray) -> tuple[Encoded, np.ndarray]:
    """The training rows as objects, and which distinct row of the data set each is (int64[objects]).

    They are what the encoder makes of these rows: distinct ones in order of appearance, with their summed weight and the
    majority's class, the smallest of equal ones.
    """
    whole, table = data.whole, data.table.take(rows)
    found, first, member = np.unique(whole.object_of_row[rows], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    member, weights, n, k = rank[member], table.row_weights(), len(found), table.n_classes
    votes = np.bincount(member * k + table.target.codes, weights=weights, minlength=n * k).reshape(n, k)
    objects = Encoded(
        table=table,
        features=whole.features,
        codes=np.asfortranarray(whole.codes[found[order]]),
        raw_features=(),
        raw=np.empty((n, 0)),
        label=votes.argmax(axis=1).astype(np.int32),
        y=None,
        weight=np.bincount(member, weights=weights, minlength=n),
        count=np.bincount(member, minlength=n),
        object_of_row=member,
        notes=whole.notes,
    )
    return objects, found[order]


def price_list(house: House, objects: Encoded, prices: str, seed: int) -> Prices:
    """1 per test, or whole numbers from 1 to 10 drawn for each test on its own."""
    return house.component("cost", "unit" if prices == UNIT else "random").price_list(objects, seed)
