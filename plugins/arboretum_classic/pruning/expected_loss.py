"""Priors and losses of CART (Breiman, Friedman, Olshen & Stone 1984, section 4.4), as rpart has
them: by altered priors.
"""

import math

import attrs
import numpy as np

from arboretum.api import CapabilityError, DataError, Encoded, Problem, Tree, param


@attrs.frozen
class ExpectedLoss:
    """The mean loss where classes come with given priors; greedy trees grow by altered priors, and
    predict the class of least loss.

    L(i, j) is lost where j is said of an object of class i, π_i its prior.  Training objects of
    class i weigh π_i Λ_i / n_i, with Λ_i = Σ_j L(i, j) and n_i the class's weight, times what keeps
    the total: every criterion, leaf rule and pruner sees them so.  For two classes the heaviest
    class is then that of least loss; for more, the loss matters to the labels beyond its row sums.
    """

    kind = "objective"
    name = "expected_loss"
    paper = "Breiman, Friedman, Olshen & Stone 1984, section 4.4"
    capabilities = ("classification", "multiclass", "weights")
    example = "dataset=monk1-full method=cart"

    priors: tuple[float, ...] = param(
        (),
        "π > 0 by the order of the classes, in any unit; nothing: the classes' shares",
        gt=0.0,
        converter=tuple,
    )
    table: tuple[tuple[float, ...], ...] = param(
        (),
        "loss[true][said] ≥ 0 by the order of the classes, 0 on the diagonal; nothing: every "
        "error costs 1",
        alias="loss",
        converter=lambda rows: tuple(map(tuple, rows)),
    )

    def __attrs_post_init__(self) -> None:
        """Raise ValueError for fields that do not go together."""
        if not all(math.isfinite(prior) for prior in self.priors):
            raise ValueError(f"objective.priors must be finite; got {self.priors}")
        for k, row in enumerate(self.table):
            if len(row) != len(self.table):
                raise ValueError(
                    f"objective.loss must have as many columns as rows; row {k} has "
                    f"{len(row)} in a matrix of {len(self.table)} rows"
                )
            if not all(0 <= cost < math.inf for cost in row) or row[k] != 0 or not any(row):
                raise ValueError(
                    "objective.loss must be finite, ≥ 0, 0 on the diagonal, and above 0 "
                    f"somewhere in each row; got row {k} {list(row)}"
                )

    def losses(self, n_classes: int) -> np.ndarray:
        """Return float64[classes, classes]: L.  Raises CapabilityError for a matrix, or priors, of
        another number of classes.
        """
        for what, given in (("loss", self.table), ("priors", self.priors)):
            if given and len(given) != n_classes:
                raise CapabilityError(
                    f"objective.{what} is for {len(given)} classes, but there are "
                    f"{n_classes}; give a {'row' if what == 'loss' else 'number'} per class"
                )
        return np.array(self.table, float) if self.table else 1.0 - np.eye(n_classes)

    def weigh(self, objects: Encoded) -> np.ndarray:
        """Return float64[n_objects]: what they weigh by the altered priors.  Raises DataError where
        the target is a number.
        """
        if objects.label is None:
            raise DataError(
                "objective expected_loss knows classes only, but the target "
                f"{objects.table.target.name!r} is a number; leave it out"
            )
        total = np.bincount(objects.label, objects.weight, objects.n_classes)
        altered = self.losses(objects.n_classes).sum(axis=1) * (
            np.array(self.priors) if self.priors else total
        )
        factor = np.divide(altered, total, out=np.zeros(len(total)), where=total > 0)
        return np.asarray(
            objects.weight * (factor * (total.sum() / (factor @ total)))[objects.label]
        )

    def label_costs(self, weights: np.ndarray, problem: Problem) -> np.ndarray:
        """Return float64[nodes, classes]: what nodes with these altered class weights lose by the
        class they predict, in the unit of the weights.

        Costs that only rounding tells from the least are the least, so that the first of equally
        good classes is said, as in rpart.
        """
        losses = self.losses(weights.shape[1])
        costs = weights / losses.sum(axis=1) @ losses
        least = costs.min(axis=1, keepdims=True)
        return np.asarray(np.where(costs <= least * (1 + 1e-12), least, costs))

    def value(self, tree: Tree, problem: Problem) -> float:
        """Return the mean loss over the training objects, in shares of what is lost where every
        object is an error of the mean cost.
        """
        return float(
            self.label_costs(tree.resting, problem)[np.arange(tree.n_nodes), tree.label].sum()
            / tree.mass[0]
        )
