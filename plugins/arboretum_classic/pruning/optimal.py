"""The best of all pruned subtrees: least error within a price, least price within an error, or
their least sum.

A pruned subtree costs what its leaves and tests cost, added up.  Dynamic programming over Pareto
fronts (price, error): bottom up, a node's front is that of being a leaf, and of all sums of its
branches' points.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    Equals,
    Problem,
    Table,
    Tree,
    Values,
    param,
    sure,
    unbeaten,
)
from arboretum_classic.pruning.pruners import costs_by_node, rounding

PAIRS = 1 << 22  # sums of two fronts that are looked at together
ROUNDED = 1e-12  # relative: prices that are no further apart count as equal
SHOWN = 1e-9  # relative: of errors no further apart a note would print the same digits twice


@attrs.frozen
class OptimalSubtree:
    """The exact best pruned subtree: least error for at most so many leaves (or another price),
    or the least price for an error.
    """

    kind = "pruner"
    name = "optimal_subtree"
    paper = "Bohanec & Bratko 1994; Almuallim 1996; price=mdl: Quinlan & Rivest 1989"
    capabilities = ()

    price: str = param(
        "leaves",
        "what a tree costs: its leaves, nodes, the expected price of its tests (tests), or "
        "bits that say tree and classes (mdl)",
        choices=("leaves", "nodes", "tests", "mdl"),
    )
    max_price: float | None = param(None, "price that the tree may have", ge=0.0)
    max_error: float | None = param(
        None,
        "error that the tree may have (share of the weight; mean squared error for numbers): "
        "the least price within",
        ge=0.0,
    )
    alpha: float = param(
        0.0,
        "minimise error + alpha · price; 0: the error, of equals the least price (with "
        "price=mdl: the bits alone)",
        ge=0.0,
    )
    rows: str = param("training", "rows whose error counts", choices=("training", "validation"))

    def __attrs_post_init__(self) -> None:
        """Raise ValueError for fields that do not go together."""
        if self.alpha > 0.0 and self.max_error is not None:
            raise ValueError(
                "pruner.alpha and pruner.max_error both say what an error is worth; give one "
                "of them"
            )
        if (
            self.price in ("leaves", "nodes")
            and self.max_price is not None
            and self.max_price < 1.0
        ):
            raise ValueError(
                f"pruner.max_price={self.max_price:g} allows no tree: one leaf costs 1; give "
                "1 or more"
            )

    @property
    def needs_validation(self) -> bool:
        """Whether the errors that count are those of validation rows."""
        return self.rows == "validation"

    def check(self, problem: Problem) -> None:
        """Bits say classes."""
        if self.price == "mdl" and problem.objects.is_regression:
            raise CapabilityError(
                "pruner.price=mdl says classes in bits, and the target is a number; use "
                "price=leaves, nodes or tests"
            )

    def prune(self, tree: Tree, train: Table, valid: Table | None) -> Tree:
        """Cut.  Where no pruned subtree is as cheap as asked, to the cheapest; where none of
        those errs as little, to the least error.
        """
        leaf, rest, mass = costs_by_node(tree, sure(valid) if self.needs_validation else train)
        own_price, inner_price = prices_of_nodes(tree, train, self.price)
        bits_alone = self.price == "mdl" and self.alpha == 0.0
        if self.max_price is None and self.max_error is None:

            def priced(price: np.ndarray, error: np.ndarray) -> np.ndarray:
                return price if bits_alone else error / mass + self.alpha * price

            return tree.cut(
                least_sum(
                    tree, priced(own_price, leaf), priced(inner_price, rest), rounding(tree, 1.0)
                )
            )
        fronts = Fronts.of(
            tree, (own_price, leaf), (inner_price, rest), rounding(tree, mass), self.max_price
        )
        if not fronts.of_root().size:
            fronts = Fronts.of(
                tree, (own_price, leaf), (inner_price, rest), rounding(tree, mass), None
            )
            return tree.cut(fronts.cuts(0))  # prices rise
        price, error = fronts.of_root()
        slack = rounding(tree, 1.0)
        fits = error <= max(
            (math.inf if self.max_error is None else self.max_error + slack) * mass, error.min()
        )
        wanted = price if self.max_error is not None else error / mass + self.alpha * price
        return tree.cut(fronts.cuts(int(np.flatnonzero(fits)[np.argmin(wanted[fits])])))

    def notes(self, tree: Tree, train: Table, valid: Table | None) -> list[str]:
        """Return the limit that no pruned subtree keeps."""
        if self.max_price is None and self.max_error is None:
            return []
        leaf, rest, mass = costs_by_node(tree, sure(valid) if self.needs_validation else train)
        of_leaf, of_test = prices_of_nodes(tree, train, self.price)
        price, error = (
            float(np.where(tree.is_leaf, *both).sum())
            for both in ((of_leaf, of_test), (leaf / mass, rest / mass))
        )
        if self.max_price is not None and price > self.max_price * (1.0 + ROUNDED):
            return [
                f"no pruned subtree is as cheap as pruner.max_price={self.max_price:g}: this "
                f"one is the cheapest, with {price:.6g}"
            ]
        if self.max_error is not None and error > self.max_error + SHOWN * error:
            within = (
                "" if self.max_price is None else f" within pruner.max_price={self.max_price:g}"
            )
            return [
                f"no pruned subtree{within} errs as little as "
                f"pruner.max_error={self.max_error:g}: this one errs least, {error:.6g}"
            ]
        return []


def prices_of_nodes(tree: Tree, train: Table, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return what each node costs as a leaf, and what its test costs: two float64[n_nodes].

    mdl : a bit for leaf or test; at a leaf the classes by the code of Σ log2 (N + k − 1 over k − 1)
        and the multinomial coefficient; a test by its column and the tests of its kind there: log2
        of the thresholds between the column's values, of its categories, or a bit for each category
        of a set.
    """
    one = np.ones(tree.n_nodes)
    if name in ("leaves", "nodes"):
        return one, one * (name == "nodes")
    if name == "tests":
        paid = np.bincount(
            tree.owner, tree.mass[tree.child] * tree.edge_price * (tree.child >= 0), tree.n_nodes
        )
        below = np.bincount(tree.owner, tree.mass[tree.child] * (tree.child >= 0), tree.n_nodes)
        return 0.0 * one, np.where(
            tree.is_leaf, 0.0, paid + np.maximum(tree.mass - below, 0.0) * tree.price
        ) / tree.mass[0]
    from scipy.special import gammaln

    k, n = tree.weights.shape[1], tree.mass
    bits = (gammaln(n + k) - gammaln(k) - gammaln(tree.weights + 1.0).sum(axis=1)) / math.log(2.0)
    columns = {column.name: column for column in train.columns}
    values = {
        name: len(np.unique(columns[name].values[~columns[name].missing]))
        for name in {c for rule in tree.rules for c in rule.columns}
    }
    of_rule = np.zeros(len(tree.rules) + 1)
    for number, rule in enumerate(tree.rules):
        kinds = [len(columns[name].categories) for name in rule.columns]
        ways = [math.log2(max(values[name] - 1, 1)) * (rule.arity - 1) for name in rule.columns]
        if isinstance(rule, Values):
            ways = [0.0]
        elif kinds[0]:
            ways = [
                math.log2(kinds[0]) if isinstance(rule, Equals) else float(kind) for kind in kinds
            ]
        of_rule[number] = math.log2(len(columns)) * len(rule.columns) + sum(ways)
    return 1.0 + bits, 1.0 + of_rule[tree.test]


def least_sum(tree: Tree, leaf: np.ndarray, inner: np.ndarray, slack: float) -> list[int]:
    """Return the nodes that become leaves so that a sum over leaves and tests is least; of sums no
    further apart than ``slack`` that of fewer tests.

    leaf, inner : float64[n_nodes], what each node adds as a leaf, and what its test adds.
    """
    best, below, parent = leaf.tolist(), inner.tolist(), tree.parent.tolist()
    ends = [True] * tree.n_nodes
    for node in range(tree.n_nodes - 1, -1, -1):  # children come before their parent
        if not tree.is_leaf[node] and below[node] < best[node] - slack:
            best[node], ends[node] = below[node], False
        if node:
            below[parent[node]] += best[node]
    for node in range(1, tree.n_nodes):  # none below a leaf
        if ends[parent[node]]:
            ends[node], parent[node] = True, -1
    return [node for node in range(tree.n_nodes) if ends[node] and (node == 0 or parent[node] >= 0)]


@attrs.frozen(eq=False)
class Fronts:
    """The Pareto fronts of the branches of a tree.

    points : per node, float64[2, points]: prices, rising, and errors, falling.
    ways : per node and point the choice that makes it: −1 a leaf, else the place among the sums of
        its branches.
    steps : per node, for each of its branches (node, place of every sum among the sums so far,
        place in the branch's front).
    """

    tree: Tree
    points: list[np.ndarray]
    ways: list[np.ndarray]
    steps: list[list[tuple[int, np.ndarray, np.ndarray]]]

    @staticmethod
    def of(
        tree: Tree,
        leaf: tuple[np.ndarray, np.ndarray],
        inner: tuple[np.ndarray, np.ndarray],
        slack: float,
        most: float | None,
    ) -> Fronts:
        """leaf, inner : (price, error) by node, as a leaf and without what is below.

        most : prices above it are left out.

        slack : errors that are no further apart count as equal.
        """
        n, bound = tree.n_nodes, math.inf if most is None else most * (1.0 + ROUNDED)
        fronts = Fronts(
            tree, [np.zeros((2, 0))] * n, [np.zeros(0, np.int64)] * n, [[] for _ in range(n)]
        )
        alone, own = np.array(leaf), np.array(inner)
        for node in range(n - 1, -1, -1):  # children come before their parent
            sums = own[:, node : node + 1] if not tree.is_leaf[node] else np.zeros((2, 0))
            for child in tree.children(node).tolist():
                if child >= 0:
                    sums, left, right = _sum_of_fronts(sums, fronts.points[child], slack, bound)
                    fronts.steps[node].append((child, left, right))
            every = np.concatenate([alone[:, node : node + 1], sums], axis=1)
            kept = _affordable(every, slack, bound)
            fronts.points[node], fronts.ways[node] = every[:, kept], kept - 1
        return fronts

    def of_root(self) -> np.ndarray:
        """Return float64[2, points]: prices and errors of the whole tree's pruned subtrees."""
        return self.points[0]

    def cuts(self, point: int) -> list[int]:
        """Return the nodes that become leaves for a point of the root's front."""
        found, waiting = [], [(0, point)]
        while waiting:
            node, at = waiting.pop()
            way = int(self.ways[node][at])
            if way < 0:
                found.append(node)
                continue
            for child, left, right in reversed(self.steps[node]):
                waiting.append((child, int(right[way])))
                way = int(left[way])
        return found


def _affordable(points: np.ndarray, slack: float, bound: float) -> np.ndarray:
    """Return int64[…]: the points that no other beats, by price, up to the bound; of equals the
    first.

    points : float64[2, n], price and error.
    slack : by what an error may differ and count as equal.
    """
    some = np.flatnonzero(points[0] <= bound)
    return np.asarray(some[unbeaten(points[::-1, some].T, slack)])


def _sum_of_fronts(
    left: np.ndarray, right: np.ndarray, slack: float, bound: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the front of all sums of two fronts, float64[2, n], and the places of both parts of
    each.

    left, right : float64[2, ·], price and error.
    slack, bound : as in :func:`_affordable`.
    """
    step = max(1, PAIRS // max(right.shape[1], 1))
    points, at = np.zeros((2, 0)), np.zeros(0, np.int64)
    for first in range(0, left.shape[1], step):
        some = left[:, first : first + step]
        sums = (some[:, :, None] + right[:, None, :]).reshape(2, -1)
        points = np.concatenate([points, sums], axis=1)
        at = np.append(at, first * right.shape[1] + np.arange(sums.shape[1]))
        kept = _affordable(points, slack, bound)
        points, at = points[:, kept], at[kept]
    return points, *np.divmod(at, max(right.shape[1], 1))
