"""Trade-off curves of greedy trees: error against what the costliest path pays, by early stopping
or over the hinge α.

Nan, Wang & Saligrama 2015, section 4: a tree may stop at F ≤ δ, or grow by an F that leaves out
classes of at most α objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

import attrs
import numpy as np

from arboretum import api
from arboretum.api import (
    CapabilityError,
    LeafRule,
    Problem,
    Tree,
    csv_text,
    param,
    sure,
    unbeaten,
)
from arboretum_maxcost.greedy import hinge_kernels
from arboretum_maxcost.greedy.exact import as_floats, path_costs_to_nodes

if TYPE_CHECKING:
    from arboretum.interfaces.criterion import Criterion


HINGED = "worst_case", "hinged_pairs"
CHUNK = 32
"""Trees that are grown in one call: their memory is taken at once."""


@attrs.frozen(eq=False)
class Curve:
    """Trees by one setting, an entry each.

    setting : what varies: delta (smallest of those that give the tree), alpha, or budget.
    at : float64[k], its values.
    max_cost : float64[k], maximum path cost.
    error : float64[k], share of the weight.
    expected_cost : float64[k].
    n_leaves : int64[k].
    """

    setting: str
    at: np.ndarray
    max_cost: np.ndarray
    error: np.ndarray
    expected_cost: np.ndarray
    n_leaves: np.ndarray

    def __len__(self) -> int:
        return len(self.at)

    def lowest(self) -> np.ndarray:
        """Return int64[·]: the entries with less error than every one whose costliest path pays no
        more; by that price, of equals the first.
        """
        return unbeaten(np.column_stack([self.error, self.max_cost]))

    def error_within(self, budgets: Sequence[float]) -> np.ndarray:
        """Return float64[budgets]: the lowest error of an entry whose costliest path pays at most
        so much; NaN where there is none.

        budgets : prices.
        """
        kept = self.lowest()
        place = np.searchsorted(self.max_cost[kept], np.asarray(budgets, float), side="right") - 1
        return np.where(place >= 0, self.error[kept][place], np.nan)

    def to_csv(self) -> str:
        """Return the curve as CSV, a row per entry."""
        columns = self.at, self.max_cost, self.error, self.expected_cost, self.n_leaves
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return csv_text(
            [
                [self.setting, "max_cost", "error", "expected_cost", "n_leaves"],
                *([f"{x:.17g}" for x in row] for row in rows),
            ]
        )


def curve_over_delta(tree: Tree) -> Curve:
    """Return what stopping at F ≤ δ makes of a tree, for all δ that differ, largest first: one pass
    over its nodes.  Raises CapabilityError for a tree of numbers or without impurity.

    tree : grown to the end, or by a smaller δ, with F; the greedy choice at a node does not look at
        δ, so that each entry is the tree that ``stopping=[impurity] stopping.impurity.delta=δ``
        grows.
    """
    if not tree.classes or np.isnan(tree.impurity[~tree.is_leaf]).any():
        raise CapabilityError(
            "a trade-off curve needs a classification tree that was grown with an impurity; "
            "choose one: impurity=pairs"
        )
    key, inner = tree.impurity, tree.inner
    deltas = np.unique([0.0, *key[inner]])[::-1]
    return _curve_of_stopping("delta", tree, key, deltas, deltas * (1.0 + LeafRule.ROUNDING))


def curve_over_budget(tree: Tree) -> Curve:
    """Return what is left of a tree that stops before a test whose costliest branch cannot be paid
    any more, for all budgets that differ, from 0 on.
    """
    due = np.full(tree.n_nodes, -np.inf)
    np.maximum.at(due, tree.parent[1:], as_floats(path_costs_to_nodes(tree, asked=False))[1:])
    budgets = np.unique([0.0, *due[~tree.is_leaf]])
    return _curve_of_stopping("budget", tree, -due, budgets, -np.nextafter(budgets, np.inf))


def _curve_of_stopping(
    setting: str, tree: Tree, key: np.ndarray, at: np.ndarray, level: np.ndarray
) -> Curve:
    """Return, per level, descending, what is left of the tree where nodes are divided whose key,
    and that of all above them, is above it.

    setting : name of the curve's setting.
    key : float64[nodes].
    at, level : float64[k], the values of the setting, and the levels of the key.
    """
    parent, wrong = tree.parent, tree.mass - tree.weights[np.arange(tree.n_nodes), tree.label]
    reach = key.tolist()
    # a parent comes before its children
    for node, above in enumerate(parent.tolist()[1:], start=1):
        reach[node] = min(reach[node], reach[above])
    inner = tree.inner
    order = inner[np.argsort(-np.array(reach)[inner], kind="stable")]
    down, due, price_to = (
        -wrong,
        np.zeros(tree.n_nodes),
        as_floats(path_costs_to_nodes(tree, asked=False)),
    )
    leaves, paid = np.full(tree.n_nodes, -1), np.zeros(tree.n_nodes)
    np.add.at(down, parent[1:], wrong[1:])
    np.add.at(leaves, parent[1:], 1)
    np.add.at(paid, parent[1:], tree.edge_price[tree.edge_to[1:]] * tree.mass[1:])
    np.maximum.at(due, parent[1:], price_to[1:])
    stays = np.flatnonzero(tree.is_end & ~tree.is_leaf)  # rows without an outcome stop there
    rest, mass_there = tree.resting[stays], tree.resting[stays].sum(axis=1)
    down[stays] += mass_there - rest[np.arange(len(stays)), tree.label[stays]]
    leaves[stays] += 1
    paid[stays] += mass_there * tree.price[stays]
    due[stays] = np.maximum(due[stays], as_floats(path_costs_to_nodes(tree))[stays])
    # how many nodes lie above each level
    n_split = np.searchsorted(-np.array(reach)[order], -level, side="left")

    def total(amount: np.ndarray) -> np.ndarray:
        return np.concatenate([[0.0], np.cumsum(amount[order])])[n_split]

    max_cost = np.concatenate([[0.0], np.maximum.accumulate(due[order])])[n_split]
    mass = tree.mass[0]
    return Curve(
        setting,
        at,
        max_cost,
        (wrong[0] + total(down)) / mass,
        total(paid) / mass,
        1 + total(leaves).astype(np.int64),
    )


def stop_at_impurity(tree: Tree, delta: float) -> Tree:
    """Return the tree that stopping at F ≤ δ leaves."""
    return tree.cut(np.flatnonzero(tree.impurity <= delta * (1.0 + LeafRule.ROUNDING)))


def hinge_values(
    weights: np.ndarray, steps: int | None = None, *, subtract_square: bool = True
) -> np.ndarray:
    """Return float64[·]: values of α from 0 to n/2, whole numbers, or so many steps.

    weights : float64[classes] at the root.

    Left out are those with no pair above them, n_i n_j ≤ α (n_i + n_j) for all i, j (without − α²:
    min(n_i, n_j) ≤ α): their trees are single leaves; the first of these stays.
    """
    n, present = float(weights.sum()), weights[weights > 0]
    grid = np.arange(0.0, n // 2 + 1) if steps is None else np.linspace(0.0, n / 2, steps + 1)
    low, high = np.sort(present)[-2:] if len(present) > 1 else (0.0, n)
    last = int(np.searchsorted(grid, low * high / (low + high) if subtract_square else low))
    return grid[: last + 1]


@attrs.frozen
class Hinged:
    """The criterion ``worst_case`` with impurity ``hinged_pairs``, in one: α is a field of the
    criterion, F(G) = 0 a leaf.
    """

    name = "worst_case"
    score = staticmethod(hinge_kernels.worst_case_hinged)
    own_unit = True

    alpha: float = param(0.0, "α, the hinge, as an amount", ge=0.0)
    subtract_square: float = param(1.0, "1: α² is subtracted from each pair, 0: it is not")


def grow_for_hinges(
    problem: Problem, alphas: Sequence[float] | np.ndarray
) -> Iterator[tuple[api.bulk.Forest, np.ndarray]]:
    """Yield the trees that GREEDYTREE grows with hinged Pairs for these α, and the share of the
    weight that each has wrong, float64[trees], replayed.  Raises CapabilityError for another
    criterion, and for prices or columns that the compiled growth of many trees does not take.

    problem : of the run; its criterion is ``worst_case`` and its impurity ``hinged_pairs`` without
        ε, whose α is not looked at.
    alphas : float64[·], amounts of weight; a forest for some of them at a time, in their order.
    """
    parts = problem.parts
    if (sure(parts.criterion).name, getattr(parts.impurity, "name", "")) != HINGED:
        raise CapabilityError(
            "a curve over α is grown by criterion=worst_case with impurity=hinged_pairs; "
            "choose both"
        )
    objects = api.bulk.Objects.of(problem.objects, problem.prices)
    squared = float(getattr(parts.impurity, "subtract_square", 1.0))
    for first in range(0, len(alphas), CHUNK):
        judges = api.bulk.Judges.of(
            # kernels alone read this criterion
            [
                (cast("Criterion", Hinged(float(alpha), squared)), None)
                for alpha in alphas[first : first + CHUNK]
            ],
            objects.n_classes,
        )
        forest = api.bulk.grow_many(objects, judges)
        yield forest, api.bulk.check(forest, objects)


def curve_over_alpha(problem: Problem, alphas: Sequence[float] | np.ndarray) -> Curve:
    """Return the curve of the trees of :func:`grow_for_hinges`, in the order of ``alphas``,
    float64[·].
    """
    return curve_of_forests(alphas, list(grow_for_hinges(problem, alphas)))


def curve_of_forests(
    alphas: Sequence[float] | np.ndarray, forests: Sequence[tuple[api.bulk.Forest, np.ndarray]]
) -> Curve:
    """Return the curve of what :func:`grow_for_hinges` found for these α, in their order."""
    measures = np.concatenate([forest.measures for forest, _ in forests])
    max_cost, expected, leaves = (
        measures[:, api.bulk.MEASURES.index(name)]
        for name in ("max_cost", "expected_cost", "n_leaves")
    )
    errors = np.concatenate([wrong for _, wrong in forests])
    return Curve(
        "alpha", np.asarray(alphas, float), max_cost, errors, expected, leaves.astype(np.int64)
    )


@attrs.frozen
class TradeOff:
    """What early stopping makes of the tree: δ, maximum path cost, error, expected cost,
    leaves; a line per δ that differs.
    """

    kind, name, suffix = "export", "tradeoff", ".csv"
    paper = "Nan, Wang & Saligrama 2015, section 4.1"
    capabilities = ("classification",)

    def write(self, tree: Tree) -> str:
        """CSV.  Raises CapabilityError for a tree without impurities, or of numbers."""
        return curve_over_delta(tree).to_csv()
