"""Minimal cost-complexity pruning (Breiman, Friedman, Olshen & Stone 1984, chapter 3), as Zhang
& Gionis use it, and as rpart does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    Encoded,
    Problem,
    Selection,
    Table,
    Tree,
    ValidationScore,
    param,
)
from arboretum_classic.pruning.complexity_path import Path, Subtrees, node_impurities, refuse_risk

REPORTED = 12  # steps of the path that a note names


@attrs.frozen
class CostComplexity:
    """Minimal cost-complexity pruning: fewest leaves that minimise Σ (R + α), α given, or chosen
    on validation rows or by folds.
    """

    kind = "pruner"
    name = "cost_complexity"
    paper = "Breiman, Friedman, Olshen & Stone 1984, chapter 3; Zhang & Gionis 2023, section 6"
    capabilities = ()
    reads_costs = True

    alpha: float | None = param(
        None,
        "price of a leaf, on the scale of the root's impurity; none: the best of grid on "
        "validation rows",
        ge=0.0,
    )
    grid: tuple[float, ...] = param(
        (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0),
        "values of alpha to choose from; of equally good ones the smallest",
        ge=0.0,
        converter=tuple,
    )
    direction: str = param(
        "bottom_up",
        "bottom_up: the minimum itself; top_down: a node is cut when it is cheaper than its "
        "whole unpruned subtree; rpart: as that program",
        choices=("bottom_up", "top_down", "rpart"),
    )
    risk: str = param(
        "impurity",
        "h: the impurity the tree was grown with, or another (error: share outside the "
        "majority class, or mean squared error)",
        choices=("impurity", "error", "gini", "entropy", "variance"),
    )
    relative: bool = param(
        False, "whether alpha and grid are shares of the root's R, as rpart's cp"
    )
    path: bool = param(
        False,
        "choose among the weakest links of the tree instead of grid, by the error; of "
        "equally good ones the largest",
    )
    folds: int = param(
        0,
        "choose by cross-validation in so many folds, the run's method growing anew in each; "
        "implies path",
        ge=0,
    )
    one_se: float = param(
        0.0,
        "standard errors by which the error of the kept alpha, the largest such, may exceed "
        "the least; 1: the book's rule",
        ge=0.0,
    )

    def __attrs_post_init__(self) -> None:
        """Raise ValueError for fields that do not go together."""
        if not self.grid:
            raise ValueError("pruner.grid must hold at least one value; got an empty list")
        if not np.isfinite([*self.grid, 0.0 if self.alpha is None else self.alpha]).all():
            raise ValueError(
                f"pruner.alpha and pruner.grid must be finite; got {self.alpha!r} and {self.grid!r}"
            )
        if self.folds == 1 or not np.isfinite(self.one_se):
            raise ValueError(
                f"pruner.folds must be 0 or ≥ 2, and pruner.one_se finite; got {self.folds} "
                f"and {self.one_se!r}"
            )
        if self.direction != "bottom_up" and (self.path or self.folds):
            raise ValueError(
                "pruner.path and pruner.folds follow weakest links, which are cut "
                f"bottom_up; got pruner.direction={self.direction!r}"
            )

    @property
    def needs_validation(self) -> bool:
        """Only where α is to be chosen on them."""
        return self.alpha is None and not self.folds

    @property
    def reads_impurity(self) -> bool:
        """Whether h is the run's impurity."""
        return self.risk == "impurity"

    def check(self, problem: Problem) -> None:
        """The risk must fit the target, and each fold hold an object."""
        refuse_risk(self.risk, problem.objects.task)
        n = problem.objects.n_objects
        if self.alpha is None and self.folds > n:
            raise CapabilityError(
                f"pruner.folds={self.folds} are more than the {n} training objects; choose fewer"
            )

    def choose(self, tree: Tree, valid: Table, costs: np.ndarray | None = None) -> Selection:
        """Return the α with the best score on the validation rows; rows walk the tree once for all
        of them.

        costs : as for :func:`~arboretum_classic.pruning.complexity_path.node_impurities`; the rows
            of a class then weigh as those that taught.

        Raises CapabilityError for a tree without the impurity that is asked for, DataError without
        validation rows.
        """
        score = ValidationScore.on(valid)
        if self.path or self.one_se or costs is not None:
            path = Subtrees.of(tree, self.risk, costs).path()
            alphas = path.alpha / self._unit(path.root) if self.path else np.unique(self.grid)
            cuts = (
                map(path.cuts, range(len(alphas)))
                if self.path
                else map(self.cuts_of(tree, costs), alphas)
            )
            tally = Tally.of(tree, alphas, costs)
            losses = losses_of(tree, valid, costs)
            weight = valid.row_weights()
            if costs is not None:
                shown = np.bincount(valid.target.codes, weight, len(tree.classes))
                weight = (
                    weight * (tree.weights[0] / np.where(shown > 0, shown, 1.0))[valid.target.codes]
                )
            for k, nodes in enumerate(cuts):
                tally.add(k, losses(nodes, targets_of(valid)), weight)
            return tally.selection(self.one_se, path if self.path else None)
        cut, of_cuts = self.cuts_of(tree), score.of_cuts(tree)
        tried = [({"pruner.alpha": alpha}, of_cuts(cut(alpha))) for alpha in sorted(set(self.grid))]
        kept = max(tried, key=lambda one: one[1])[0]  # the first of the best
        return Selection(kept, score.measure, tried, score.notes)

    def choose_by_growing(
        self,
        tree: Tree,
        objects: Encoded,
        grow: Callable[[np.ndarray], Tree],
        seed: int,
        costs: np.ndarray | None = None,
    ) -> Selection | None:
        """Return the weakest link α_k whose trees err least on objects that they have not seen;
        None where α is chosen otherwise.

        tree : of all objects; grow : positions of some objects → the tree that they grow.
        costs : see :func:`losses_of`.

        Where α is given as a share nothing is chosen, and the note tells the path.  In each fold
        the tree of the other objects is cut at √(α_k α_k+1), the middle of the range in which
        T(α_k) is the cheapest.
        """
        if self.alpha is not None and self.relative and self.direction != "top_down":
            subtrees = Subtrees.of(tree, self.risk, costs)
            return Selection(
                {},
                notes=(
                    cp_table(
                        subtrees.path_by_sons() if self.direction == "rpart" else subtrees.path()
                    ),
                ),
            )
        if self.alpha is not None or not self.folds:
            return None
        path = Subtrees.of(tree, self.risk, costs).path()
        middle = np.append(np.sqrt(path.alpha[:-1] * path.alpha[1:]), np.inf)
        tally = Tally.of(tree, path.alpha / self._unit(path.root), costs)
        everyone = np.arange(objects.n_objects)
        fold = folds_of(objects, self.folds, seed)
        for number in range(self.folds):
            other = grow(everyone[fold != number])
            held = objects.take(everyone[fold == number])
            steps = Subtrees.of(other, self.risk, costs).path()
            losses = losses_of(other, held.table, costs)
            here = [steps.at(alpha) for alpha in middle]
            known = {
                k: losses(steps.cuts(k), held.y if held.label is None else held.label)
                for k in set(here)
            }
            for k, step in enumerate(here):
                tally.add(k, known[step], held.weight)
        return tally.selection(self.one_se, path, f" in {self.folds} folds")

    def prune(
        self, tree: Tree, train: Table, valid: Table | None, costs: np.ndarray | None = None
    ) -> Tree:
        """Return the tree cut at α, given or chosen on ``valid``; training rows are not read.

        costs : see :func:`losses_of`.
        Raises CapabilityError without validation rows where they are needed, or without the
        impurity.
        """
        alpha = self.alpha
        if alpha is None:
            if valid is None:
                raise CapabilityError(
                    "pruner cost_complexity chooses alpha on validation rows; use split=holdout, "
                    "or say pruner.alpha=VALUE"
                )
            alpha = self.choose(tree, valid, costs).kept["pruner.alpha"]
        return tree.cut(self.cuts_of(tree, costs)(alpha))

    def cuts_of(self, tree: Tree, costs: np.ndarray | None = None) -> Callable[[float], np.ndarray]:
        """Return α → int64[…], where the tree is cut, by ``direction``.

        α is on the scale of the root's R, or a share of it where ``relative`` says so.
        costs : see :func:`losses_of`.
        """
        subtrees = Subtrees.of(tree, self.risk, costs)
        ways = {
            "bottom_up": subtrees.minimal,
            "top_down": subtrees.dearer_than_a_leaf,
            "rpart": subtrees.son_by_son,
        }
        find, unit = ways[self.direction], self._unit(float(subtrees.risk[0]))
        return lambda alpha: find(alpha * unit)

    def _unit(self, root: float) -> float:
        """Return what an α of 1 is.   root : R of the root."""
        return root if self.relative and root > 0 else 1.0


def targets_of(table: Table) -> np.ndarray:
    """Return int32[n_rows] classes, or float64[n_rows] numbers."""
    return table.target.values if table.is_regression else table.target.codes


def losses_of(
    tree: Tree, table: Table, costs: np.ndarray | None = None
) -> Callable[[Sequence[int] | np.ndarray, np.ndarray], np.ndarray]:
    """Return a function from nodes and the targets of the rows to what each row loses by
    ``tree.cut(nodes)``, float64[n_rows]: 1 for another class (or its cost), the square of the
    difference for numbers.  Rows walk the tree once, but those in shares.

    costs : float64[classes, classes], of a class (row) by the predicted one; None: an error is
        worth 1.
    """
    rest, per_node = tree.rest(table), tree.value if tree.is_regression else tree.label
    parted = np.flatnonzero(rest < 0)

    def losses(nodes: Sequence[int] | np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return what each row loses.

        nodes : where the tree is cut.   targets : codes or numbers of the rows.
        """
        found = per_node[tree.nearest_kept(nodes)[rest]]
        if len(parted):
            found[parted] = tree.cut(nodes).predict(table.take(parted))
        if costs is not None:
            made: np.ndarray = costs[targets, found]
            return made
        made = (found - targets) ** 2 if tree.is_regression else (found != targets).astype(float)
        return made

    return losses


def folds_of(objects: Encoded, n_folds: int, seed: int) -> np.ndarray:
    """Return int64[n_objects]: the fold of each object, 0 … n_folds − 1, in turn along the classes
    (or the sorted numbers), by chance within equal ones.
    """
    chance = np.random.default_rng(seed).permutation(objects.n_objects)
    fold = np.empty(objects.n_objects, np.int64)
    fold[np.lexsort((chance, objects.y if objects.label is None else objects.label))] = (
        np.arange(objects.n_objects) % n_folds
    )
    return fold


def cp_table(path: Path, *seen: np.ndarray) -> str:
    """Return the path as rpart prints it, the root first.

    seen : float64[k] each, xerror and xstd, where they are known.
    """
    rows = zip(path.cp_table(), *(column[::-1].tolist() for column in seen), strict=True)
    lines = [" ".join(f"{value:.4g}" for value in (*row, *more)) for row, *more in rows]
    names = "CP nsplit rel_error xerror xstd" if seen else "CP nsplit rel_error"
    return f"complexity path ({names}, shares of the root's): {'; '.join(lines[:REPORTED])}" + (
        f"; and {len(lines) - REPORTED} more" if len(lines) > REPORTED else ""
    )


@attrs.frozen
class PathTable:
    """The path of weakest links of a tree as CSV: α, leaves, Σ R, and rpart's CP, nsplit and rel
    error; the whole tree first.
    """

    kind = "export"
    name = "complexity_path"
    paper = "Breiman, Friedman, Olshen & Stone 1984, section 3.3"
    capabilities = ("classification", "regression", "multiclass")
    suffix = ".csv"

    risk: str = param(
        "error",
        "R, as of pruner=cost_complexity",
        choices=("impurity", "error", "gini", "entropy", "variance"),
    )
    direction: str = param(
        "bottom_up",
        "bottom_up: the weakest links; rpart: the complexities of that program",
        choices=("bottom_up", "rpart"),
    )

    def write(self, tree: Tree) -> str:
        """Return one line per step.  Raises CapabilityError for a tree without the impurity that is
        asked for.
        """
        subtrees = Subtrees.of(tree, self.risk)
        path = subtrees.path_by_sons() if self.direction == "rpart" else subtrees.path()
        steps = zip(
            path.alpha.tolist(),
            path.n_leaves.tolist(),
            path.risk.tolist(),
            path.cp_table()[::-1],
            strict=True,
        )
        lines = [
            ",".join(map(repr, (alpha, leaves, risk, *row))) for alpha, leaves, risk, row in steps
        ]
        return "\n".join(["alpha,leaves,risk,CP,nsplit,rel_error", *lines, ""])


@attrs.frozen(eq=False)
class Tally:
    """What rows lose that trees have not seen, for each α.

    alpha : float64[k].
    sums : float64[k, 3], Σw·l, Σw²·l, Σw²·l² of losses l.
    weight : float64[k, 2], Σw, Σw².
    root : what the training rows lose by the root's prediction, mean.
    measure : what 1 − the mean loss is called.
    """

    alpha: np.ndarray
    sums: np.ndarray
    weight: np.ndarray
    root: float
    measure: str

    @staticmethod
    def of(tree: Tree, alpha: np.ndarray, costs: np.ndarray | None) -> Tally:
        """Return a tally of no rows yet, for each of ``alpha`` (float64[k]).

        Its measure is "r2" for numbers, "accuracy" for classes, "1 − mean loss" with ``costs``.
        costs : float64[classes, classes], what a unit of weight of a class (row) loses by each
            label, or None.
        """
        measure = "r2" if tree.is_regression else "accuracy" if costs is None else "1 − mean loss"
        return Tally(
            alpha,
            np.zeros((len(alpha), 3)),
            np.zeros((len(alpha), 2)),
            float(node_impurities(tree, "error", costs)[0]),
            measure,
        )

    def add(self, k: int, loss: np.ndarray, weight: np.ndarray) -> None:
        """Rows with what they lose at the k-th α."""
        self.sums[k] += weight @ loss, weight**2 @ loss, weight**2 @ loss**2
        self.weight[k] += weight.sum(), (weight**2).sum()

    @property
    def mean(self) -> np.ndarray:
        """float64[k]: mean loss."""
        found: np.ndarray = self.sums[:, 0] / self.weight[:, 0]
        return found

    @property
    def error(self) -> np.ndarray:
        """float64[k]: standard error of the mean, √(Σ w²(l − mean)²) / Σw; √(p(1 − p)/n) for n
        rows of weight 1, p of which are wrong.
        """
        spread = (
            self.sums[:, 2] - 2 * self.mean * self.sums[:, 1] + self.mean**2 * self.weight[:, 1]
        )
        found: np.ndarray = np.sqrt(np.maximum(spread, 0.0)) / self.weight[:, 0]
        return found

    def selection(self, one_se: float, path: Path | None, how: str = "") -> Selection:
        """Return the largest α whose mean loss is within so many standard errors of the least (the
        smallest of a grid, where there is none).

        how : of the rows that judged, after "accuracy" or "r2".
        """
        mean, best = self.mean, int(self.mean.argmin())
        level = mean[best] + one_se * self.error[best]
        within = np.flatnonzero(mean <= level * (1 + 1e-12))
        kept = int(within[-1] if path is not None or one_se else within[0])
        unit = self.root or 1.0
        score = 1.0 - mean / (unit if self.measure == "r2" else 1.0)
        tried = [
            ({"pruner.alpha": alpha}, s)
            for alpha, s in zip(self.alpha.tolist(), score.tolist(), strict=True)
        ]
        notes = () if path is None else (cp_table(path, mean / unit, self.error / unit),)
        return Selection(
            {"pruner.alpha": float(self.alpha[kept])}, self.measure + how, tried, notes
        )
