"""The paper's protocol: data, tests, split, objects, threshold, prices; and what a tree costs and
how well it ranks on coded objects.

A data set is read and encoded once per process; a split only counts which of its distinct rows fall
where.  Objects come to rest in a kernel::

    for each object: v ← the root
        while v has a test, and a child for the object's outcome: v ← that child
        the object rests at v

Invariants: the child of outcome o of node v is child[offset[v] + o], −1 for none; no node is below
itself, so that a walk ends.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import (
    Encoded,
    Family,
    Prices,
    Services,
    Table,
    TestRule,
    Tree,
    VerificationError,
)
from arboretum.kernels.jit import jit
from arboretum_regularized.paper.results import UNIT, published

if TYPE_CHECKING:
    from arboretum.interfaces.cost import Cost


ENCODER = "onehot_kmeans5"
BINS = {"numeric": "kmeans_elkan"}
"""The k-means of the authors' time: on letter, bank-marketing and default today's ends in other
bins (whole numbers tie).
"""
TOLERANCE = 1e-7
"""A mass within this of θ counts as θ."""


@attrs.frozen(eq=False)
class Coded:
    """A data set with its tests.

    whole : all distinct rows as objects; bins and values are those of all rows, so every split has
        the same tests.
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
        """Return int64[objects, classes]: how many of these rows are each distinct row, by class.

        rows : int64, rows of the table.
        """
        n, k = self.whole.n_objects, self.table.n_classes
        pairs = self.whole.object_of_row[rows] * k + self.table.target.codes[rows]
        return np.bincount(pairs, minlength=n * k).reshape(n, k)


@attrs.frozen(eq=False)
class TrainingSplit:
    """One split of a data set.

    objects : the coalesced training rows.
    origin : int64[objects], which distinct row of the data set each is.
    train, valid, test : int64[distinct rows of the data set, classes].
    theta : mass at which a node is a leaf.
    rows : int64[training rows], which rows of the data set train.
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
    """Return θ for so many training rows: 0.005, or on a small table the mass of two objects,
    rounded up to two decimals.

    (iris: 105 training rows, 2/105 = 0.0190… → 0.02, as the authors have it.)
    """
    least = published().theta
    return least if 2.0 / n_train <= least else math.ceil(200.0 / n_train) / 100.0


def read(services: Services, name: str) -> Table:
    """Return the data set with the kinds of columns that give the column counts of Table 1.  Raises
    DataError.
    """
    table: Table = services.component("dataset", name, published().adjusted.get(name, {})).load(0)
    return table


def filled(table: Table) -> Table:
    """Return the table with 0 for a missing number, as the program's stored trees of breast-w have
    it (to the row).
    """
    columns = (
        attrs.evolve(column, values=np.where(column.missing, 0.0, column.values))
        if column.is_continuous
        else column
        for column in table.columns
    )
    return attrs.evolve(table, columns=tuple(columns))


@lru_cache(maxsize=2)
def coded(services: Services, name: str) -> Coded:
    """Return the data set, read and encoded; kept, for the next pieces of this process are of the
    same one.  Raises DataError.
    """
    table = filled(read(services, name))
    whole = services.component("encoder", ENCODER, BINS).encode(
        table, table, raw_thresholds=False, seed=0
    )
    whole = attrs.evolve(whole, codes=np.ascontiguousarray(whole.codes))
    place = {
        feature.rule(i): (f, i)
        for f, feature in enumerate(whole.features)
        for i in range(feature.n_tests)
    }
    return Coded(table, whole, place)


@lru_cache(maxsize=2)
def training_split(services: Services, name: str, seed: int) -> TrainingSplit:
    """Return the split of that seed: 70/10/20, stratified, and the objects of its training rows.
    Raises DataError.
    """
    data = coded(services, name)
    division = services.component("split", "holdout").divide(data.table, seed)
    objects, origin = training_objects(data, division.train)
    train, valid, test = map(data.tally, (division.train, division.valid, division.test))
    return TrainingSplit(
        data,
        objects,
        origin,
        train,
        valid,
        test,
        theta=theta_of(len(division.train)),
        rows=division.train,
    )


def training_objects(data: Coded, rows: np.ndarray) -> tuple[Encoded, np.ndarray]:
    """Return the training rows as objects, and which distinct row of the data set each is
    (int64[objects]).

    rows : int64, rows of the table.

    They are what the encoder makes of these rows: distinct ones in order of appearance, with their
    summed weight and the majority's class, the smallest of equal ones.
    """
    whole, table = data.whole, data.table.take(rows)
    found, first, member = np.unique(
        whole.object_of_row[rows], return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    member = np.argsort(order)[member]
    weights = table.row_weights()
    n = len(found)
    k = table.n_classes
    votes = np.bincount(member * k + table.target.codes, weights=weights, minlength=n * k).reshape(
        n, k
    )
    objects = Encoded(
        table=table,
        features=whole.features,
        codes=np.asfortranarray(whole.codes[found[order]]),
        raw_features=(),
        raw=np.empty((n, 0)),
        label=votes.argmax(axis=1).astype(np.int32),
        y=table.target.values,
        weight=np.bincount(member, weights=weights, minlength=n),
        count=np.bincount(member, minlength=n),
        object_of_row=member,
        notes=whole.notes,
    )
    return objects, found[order]


def price_list(services: Services, objects: Encoded, prices: str, seed: int) -> Prices:
    """Return 1 per test, or whole numbers from 1 to 10 drawn for each test on its own."""
    prices_of: Cost = services.component("cost", "unit" if prices == UNIT else "random")
    return prices_of.price_list(objects, seed)


@attrs.frozen(eq=False)
class Measured:
    """A tree with its rows.

    rest : int64[distinct rows of the data set], the node at which each comes to rest.
    asked : bool[nodes] or None: the nodes that still ask their test, where ``rest`` is that of the
        tree cut back; None: all inner nodes.
    """

    tree: Tree
    training_split: TrainingSplit
    rest: np.ndarray
    asked: np.ndarray | None = None

    @staticmethod
    def of(tree: Tree, training_split: TrainingSplit, prices: Prices) -> Measured:
        """Send all distinct rows of the data set down the tree, once, and verify the tree by them.

        Raises VerificationError when rows and class weights of the nodes are not those that the
        rows give, or prices not those of the tests.
        """
        found = Measured(tree, training_split, rests(tree, training_split.coded))
        found.verify(prices)
        return found

    def verify(self, prices: Prices) -> None:
        """Compare the tree with the training objects that its nodes received, and with the prices
        of its tests.

        Sums of n weights, in whatever order, differ by at most n ε of their sum.
        """
        tree, training_split = self.tree, self.training_split
        objects = training_split.objects
        own = self.rest[training_split.origin]
        offset = training_split.coded.whole.test_offset
        n, k, parent = tree.n_nodes, objects.n_classes, tree.parent
        weights = np.bincount(own * k + objects.label, objects.weight, n * k).reshape(n, k)
        arrived = np.column_stack([weights, np.bincount(own, objects.count, n)])
        stopped = ~tree.is_leaf & (arrived[:, -1] != 0)
        for node in range(n - 1, 0, -1):
            arrived[parent[node]] += arrived[node]
        slack = 4.0 * objects.n_objects * 2.0**-52 * float(objects.weight.sum())
        place = [training_split.coded.place[rule] for rule in tree.rules]
        due = (
            prices.tests[[offset[f] + index for f, index in place]][tree.test]
            if place
            else tree.price
        )
        for wrong, what in (
            (stopped, "at node {} a training object has no branch"),
            (arrived[:, -1] != tree.counts, "node {} reports another number of rows than arrive"),
            (
                (np.abs(arrived[:, :-1] - tree.weights) > slack).any(axis=1),
                "class weights of node {} are not those of the objects that arrive",
            ),
            (~tree.is_leaf & (tree.price != due), "node {} reports a price that is not its test's"),
        ):
            if wrong.any():
                raise VerificationError("verification failed: " + what.format(int(wrong.argmax())))
        # the expected cost by nodes is the weighted mean of what each training object pays on its
        # path
        paid = float((tree.price_to[own] * objects.weight).sum() / objects.weight.sum())
        if abs(self.expected_cost - paid) > 4.0 * objects.n_objects * 2.0**-52 * max(1.0, paid):
            raise VerificationError(
                f"verification failed: prices by nodes add up to {self.expected_cost!r}, along "
                f"the paths to {paid!r}"
            )

    @property
    def expected_cost(self) -> float:
        """Price paid by a training row on average: Σ price · mass over the nodes, by the mass of
        the root.
        """
        paid = self.tree.price * self.tree.mass
        return math.fsum(paid if self.asked is None else paid[self.asked]) / float(
            self.tree.mass[0]
        )

    @property
    def pure(self) -> float:
        """Share of the training rows that end where all objects have one class."""
        tree = self.tree
        return float(
            tree.mass[tree.is_leaf & (np.count_nonzero(tree.weights, axis=1) == 1)].sum()
            / tree.mass[0]
        )

    @property
    def useless(self) -> float:
        """What a training row pays on average for tests that leave all objects of their node
        together.
        """
        tree, present = self.tree, np.flatnonzero(self.tree.child >= 0)
        branches = np.bincount(
            np.searchsorted(tree.child_offset, present, side="right") - 1, minlength=tree.n_nodes
        )
        alone = branches == 1
        return float((tree.price[alone] * tree.mass[alone]).sum() / tree.mass[0])

    def auc(self, tally: np.ndarray, *, trained: bool = False) -> float:
        """Return the area under the ROC curve on the rows tallied, NaN where there is none; see
        :func:`area`.

        tally : int64[distinct rows, classes], how often each occurs.
        trained : leave out classes that no training object is labelled with, as the authors'
            program does: its trees do not know that such a class exists (on firewall, 54 of 65,532
            rows, never the majority among equal rows).
        """
        used = np.flatnonzero(tally.sum(axis=1))
        nodes, group = np.unique(self.rest[used], return_inverse=True)
        counts = np.zeros((len(nodes), tally.shape[1]))
        np.add.at(counts, group, tally[used])
        classes = np.flatnonzero(self.tree.weights[0]) if trained else np.arange(tally.shape[1])
        return roc_auc_of_groups(self.tree.distribution()[nodes], counts, classes)


def rests(tree: Tree, data: Coded) -> np.ndarray:
    """Return int64[distinct rows]: the node at which each row of a data set comes to rest."""
    place = np.array([data.place[rule] for rule in tree.rules] or [(-1, 0)], np.int64)
    feature, index = np.where(tree.is_leaf, -1, place[tree.test, 0]), place[tree.test, 1]
    rest = np.empty(data.whole.n_objects, np.int64)
    child = np.append(np.asarray(tree.child, np.int64), -1)
    walk(
        data.whole.codes,
        data.family,
        feature,
        index,
        np.asarray(tree.child_offset, np.int64),
        child,
        rest,
    )
    return rest


@jit
def walk(codes, family, feature, index, offset, child, rest):
    """Send every object down.

    codes : uint8, uint16 or uint32[n, features], C order.
    family : int64[features], 0 multiway, 1 thresholds, 2 equals. feature (−1: leaf), index :
        int64[nodes].
    offset : int64[nodes + 1], into ``child``, the child of each outcome (−1: none).
    rest : int64[n], receives the node at which each object ends: a leaf, or a node without a branch
        for it.
    """
    for i in range(codes.shape[0]):
        node = 0
        while feature[node] >= 0:
            f = feature[node]
            code = np.int64(codes[i, f])
            if family[f] == 0:
                outcome = code
            elif family[f] == 1:
                outcome = 0 if code <= index[node] else 1
            else:
                outcome = 0 if code == index[node] else 1
            below = child[offset[node] + outcome]
            if below < 0:
                break
            node = below
        rest[i] = node


def roc_auc_of_groups(
    scores: np.ndarray, counts: np.ndarray, classes: np.ndarray | None = None
) -> float:
    """Area under the ROC curve: of the second class for two, else the mean over ``classes`` of each
    against the rest.

    scores : float64[groups, classes], the same for all rows of a group.
    That is the share of pairs, a row of the class and one of another, in which the first has the
    higher score; equal ones count half (Mann & Whitney's U).

    counts : float64[groups, classes], rows. A class without rows, or without rows of another class,
        is left out; NaN when all are.
    """
    total, areas = counts.sum(axis=1), []
    for c in (
        [1]
        if counts.shape[1] == 2
        else range(counts.shape[1])
        if classes is None
        else classes.tolist()
    ):
        positive, negative = counts[:, c], total - counts[:, c]
        pairs = positive.sum() * negative.sum()
        if pairs > 0.0:
            _, group = np.unique(scores[:, c], return_inverse=True)
            up, down = np.bincount(group, positive), np.bincount(group, negative)
            areas.append(float((up * (np.cumsum(down) - down / 2.0)).sum() / pairs))
    return sum(areas) / len(areas) if areas else math.nan
