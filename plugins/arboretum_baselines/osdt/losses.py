"""Losses of two classes as a search over sets of leaves reads them, by (FP, FN) or by an area;
and sums over leaves that are below them.
"""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    Problem,
    Shape,
    TwoWay,
    monotone_losses,
    shape_of,
    whole_numbers,
)

ENTRIES = 1 << 25
"""Of a table of losses, at most: 268 MB."""
AT_ONCE = 1 << 20
"""Entries of the table of which differences are held."""
STEP = 1e-12
"""Sums of a few numbers up to about 1 may be off by less."""
RUNGS = 128
"""Values for which it is known what trees below them cost at most; a bound is one of them."""


def class_weights(problem: Problem, solver: str) -> tuple[np.ndarray, int, Fraction]:
    """Return (costs int64[objects, 2], what all objects cost at least, unit), as
    :func:`~arboretum.api.two_way_problem` asks for them: each object costs its weight where the
    answer is the other class.

    solver : its name, for messages.

    Raises CapabilityError for more or fewer than two classes, and for weights of too many digits.
    """
    objects = problem.objects
    if objects.n_classes != 2:
        raise CapabilityError(
            f"solver {solver} knows two classes, and there are {objects.n_classes}; use "
            "solver=gosdt, or gosdt_reference"
        )
    found = whole_numbers(objects.weight, 1 << 31)
    if found is None:
        raise CapabilityError(
            f"weights do not fit into 31 bits for solver {solver}; give them fewer digits"
        )
    weight, unit = found
    return np.stack([weight * objects.label, weight * (1 - objects.label)], axis=1), 0, unit


@attrs.frozen(eq=False)
class Loss:
    """table : float64[N⁻ + 1, N⁺ + 1], the loss by FP and FN in whole units of weight; without
    entries: 1 − area.

    theta, unit : up to which rate of false positives area counts, and what it is divided by.
    p, n : int64[groups], positives and negatives.
    lam : λ.
    """

    table: np.ndarray
    theta: float
    unit: float
    p: np.ndarray
    n: np.ndarray
    lam: float

    @property
    def steps(self) -> tuple[float, float, float, float]:
        """The greatest and the smallest that one FP more, one FN more adds: FP, FN, FP, FN;
        zeros for an area.
        """
        most = [-np.inf] * 2
        least = [np.inf] * 2
        few = max(1, AT_ONCE // max(1, self.table.shape[1]))
        for start in range(0, len(self.table), few):
            for axis in (0, 1):
                found = np.diff(self.table[start : start + few + 1], axis=axis)
                most[axis] = found.max(initial=most[axis])
                least[axis] = found.min(initial=least[axis])
        a, b, c, d = (float(one) if np.isfinite(one) else 0.0 for one in (*most, *least))
        return a, b, c, d

    @property
    def curved(self) -> bool:
        """Whether the loss is no sum over errors, and no area."""
        fp, fn, *smallest = self.steps
        return max(fp - smallest[0], fn - smallest[1]) > STEP * max(fp, fn)

    @property
    def least(self) -> float:
        """Of a tree without errors."""
        return float(self.table[0, 0]) if self.table.size else 1.0 - self.theta / self.unit

    def labels(self, leaves: np.ndarray) -> np.ndarray:
        """Return bool[leaves]: the best answers of leaves of so many (negatives, positives), as
        ``curve_kernels.labelled_loss`` finds them.
        """
        fronts = [np.where(np.arange(len(self.table)), np.iinfo(np.int64).max // 2, 0)]
        for n, p in leaves.tolist():
            yes = np.concatenate([np.full(n, fronts[-1].max()), fronts[-1][: len(fronts[-1]) - n]])
            fronts.append(np.minimum(fronts[-1] + p, yes))
        able = np.flatnonzero(fronts[-1] < self.table.shape[1])
        x, answers = int(able[self.table[able, fronts[-1][able]].argmin()]), []
        for (n, p), before, after in zip(
            leaves[::-1].tolist(), fronts[-2::-1], fronts[:0:-1], strict=False
        ):
            answers.append(bool(before[x] + p != after[x]))
            x -= n if answers[-1] else 0
        return np.array(answers[::-1])

    def beside(self, leaves: np.ndarray, reach: float = 0.1) -> tuple[np.ndarray, float]:
        """Return (pieces, const) of a sum over leaves that is never above R, and about R near a
        tree with these leaves.

        leaves : int64[leaves, 2], negatives and positives.
        """
        positives, negatives = int(self.p.sum()), int(self.n.sum())
        if self.table.size:
            yes = self.labels(leaves)
            x, y = int(leaves[yes, 0].sum()), int(leaves[~yes, 1].sum())
            right, up = (max(1, int(reach * k)) for k in (negatives, positives))
            x, y = max(0, min(x, negatives - right)), max(0, min(y, positives - up))
            a = (self.table[min(x + right, negatives), y] - self.table[x, y]) / right
            b = (self.table[x, min(y + up, positives)] - self.table[x, y]) / up
            return (
                (np.array([[b, a / b]]), b * positives + self.least)
                if b > 0
                else (np.zeros((1, 2)), self.least)
            )
        order = np.argsort(-leaves[:, 1] / leaves.sum(axis=1), kind="stable")
        n, p = leaves[order].T
        end = np.minimum(np.cumsum(n) / negatives, self.theta)
        start = np.concatenate([[0.0], end[:-1]])
        flat = end > start
        slope, width, middle = p[flat] / n[flat], (end - start)[flat], (start + end)[flat] / 2
        const = 1.0 - float((slope * negatives / positives * width * middle).sum()) / self.unit
        return np.column_stack([width / (positives * self.unit), slope]), const

    def most(
        self, pieces: np.ndarray, values: np.ndarray, leaves: int, step: int = 1
    ) -> np.ndarray:
        """Return float64[values]: the most that Σ_leaves (λ − g) may be for a tree of a lower
        value, of so many leaves at most; by a table.

        step : of FP that are taken together, which makes it more.
        """
        (b, w), lam = pieces[0], self.lam
        number = np.arange(
            1, 1 + (min(leaves, max(1, int((values.max() - self.least) / lam))) if lam else 1)
        )
        room = values[:, None] - lam * number
        cost = np.full(room.shape, -np.inf)
        for x in range(0, len(self.table), step):
            fn = np.searchsorted(self.table[x], room) - 1
            np.maximum(
                cost,
                np.where(fn >= 0, b * w * (x + step - 1) + b * fn + lam * number, -np.inf),
                out=cost,
            )
        return np.asarray(cost.max(axis=1) - b * (self.table.shape[1] - 1))

    def ladder(self, pieces: np.ndarray, value: float, leaves: int) -> np.ndarray:
        """Return ``leaf_kernels.Data.ladder``: rungs up to a value, for at most so many leaves.

        pieces : of g, as :meth:`beside` returns them.
        """
        values = np.linspace(self.least, value, RUNGS)
        return np.stack(
            [values, self.most(pieces, values, leaves, 1 + len(self.table) // RUNGS) + STEP]
        )


def loss_of(found: TwoWay, solver: str) -> Loss:
    """Return the objective of a problem.

    solver : its name, for messages.

    Raises CapabilityError for one without errors or a curve, not monotone, or of too much weight.
    """
    problem = found.problem
    objective: Any = problem.parts.objective
    shape, (p, n) = shape_of(objective), found.cost.T
    if hasattr(objective, "classes_of"):
        objective.classes_of(problem)
    none = np.empty((0, 0))
    if shape is Shape.ranking:
        theta, area = objective.false_positive_limit()
        return Loss(none, theta, area, p, n, objective.lam)
    positives, negatives, unit = int(p.sum()), int(n.sum()), float(found.unit)
    if (positives + 1) * (negatives + 1) > ENTRIES:
        kept = (
            f"solver {solver} keeps the loss of every (FP, FN), here {positives:,} · {negatives:,}"
        )
        other = "gosdt" if shape is Shape.additive else "fronts"
        raise CapabilityError(
            f"{kept}; use method={other}, or weights of fewer digits or fewer rows"
        )
    fp, fn = np.arange(negatives + 1), np.arange(positives + 1)
    if shape is Shape.confusion:
        table = monotone_losses(objective, fp * unit, fn * unit, positives * unit, negatives * unit)
    elif hasattr(objective, "factors") and not hasattr(objective, "costs"):
        factor = objective.factors([negatives * found.unit, positives * found.unit])
        errors = objective.errors(2)
        per = [float(factor[y] * (errors[y][1 - y] - errors[y][y]) * found.unit) for y in (0, 1)]
        right = factor[0] * errors[0][0] * negatives + factor[1] * errors[1][1] * positives
        table = per[0] * fp[:, None] + per[1] * fn
        table += float(right * found.unit)
        if min(per) < 0:
            raise CapabilityError(
                f"solver {solver} needs errors to cost no less than right answers; check "
                "objective.costs, or use solver=gosdt"
            )
    else:
        way_out = "use objective=accuracy, f_score or auc"
        raise CapabilityError(
            f"solver {solver} minimises weighted errors, a loss of (FP, FN) or an area; {way_out}"
        )
    return Loss(table, 1.0, 1.0, p, n, objective.lam)
