"""Losses that are no sums over leaves: functions of false positives and false negatives, and areas
under the ROC curve.

The second class is the positive one (``dataset.positive=CLASS`` chooses).  A tree costs its loss +
λ · leaves (section 2, R(d)).
"""

import math

import attrs
import numpy as np

from arboretum.api import ConfusionObjective, Problem, Tree, TwoClassObjective, param
from arboretum_gosdt.problem.objectives import PAPER


@attrs.frozen
class FScore(ConfusionObjective):
    """1 − F_β, (FP + β² FN) / (N⁺ (1 + β²) + FP − FN), + λ · leaves (equation 39, where β = 1)."""

    name = "f_score"
    paper = PAPER
    example = "dataset=monk1-full method=fronts objective=f_score"

    beta: float = param(1.0, "β, how much more recall counts than precision", gt=0.0, lt=math.inf)

    def loss(
        self, fp: np.ndarray, fn: np.ndarray, positives: float, negatives: float
    ) -> np.ndarray:
        """Return 1 − F_β = (FP + β² FN) / (N⁺ (1 + β²) + FP − FN), from 0 to 1: 1 where all
        positives are missed.

        fp, fn, positives, negatives : as of :meth:`ConfusionObjective.loss`.
        """
        # in the unit of the dearer error: β² may be more than a float holds
        alarm, miss = (1.0, self.beta**2) if self.beta <= 1 else ((1 / self.beta) ** 2, 1.0)
        # so that fn = positives gives 1, however small β is
        loss = alarm * fp + miss * fn
        most = np.asarray(alarm * (positives - fn) + (alarm * fp + miss * positives))
        return np.divide(loss, most, out=np.ones(most.shape), where=most > 0)


@attrs.frozen
class Ranking(TwoClassObjective):
    """A loss of the ROC curve: leaves from the greatest share of positives down, joined by
    straight lines.
    """

    shape = "ranking"
    paper = PAPER

    def value(self, tree: Tree, problem: Problem) -> float:
        """Return the loss, + λ · leaves.  Raises CapabilityError without two classes."""
        self.classes_of(problem)
        return self.ranked_loss(tree.resting[:, 1], tree.resting[:, 0]) + self.lam * int(
            tree.is_end.sum()
        )

    def false_positive_limit(self) -> tuple[float, float]:
        """Return the false-positive rate up to which area counts, and the area's divisor."""
        return 1.0, 1.0

    def ranked_loss(self, positive: np.ndarray, negative: np.ndarray) -> float:
        """Return 1 − area of the curve of some leaves.

        positive, negative : float64[leaves], weights that each holds, in any order.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.argsort(-np.nan_to_num(positive / (positive + negative)), kind="stable")
        return float(self.curve_loss(positive[order], negative[order]))

    def curve_loss(self, rise: np.ndarray, run: np.ndarray) -> np.ndarray:
        """Return 1 − area of curves, float64[…].

        rise, run : float64[…, segments], positives and negatives, the steepest first; segments of
            nothing may follow.
        """
        theta, unit = self.false_positive_limit()
        x, y = np.cumsum(run, axis=-1), np.cumsum(rise, axis=-1)
        width, height = run / x[..., -1:], rise / y[..., -1:]
        before, below = x / x[..., -1:] - width, y / y[..., -1:] - height
        part = np.clip(theta - before, 0.0, width)
        up = np.divide(height * part, width, out=np.zeros_like(width), where=width > 0)
        found: np.ndarray = 1.0 - (part * (below + up / 2)).sum(axis=-1) / unit
        return found


@attrs.frozen
class Auc(Ranking):
    """1 − area under the ROC curve, which is its own convex hull, + λ · leaves (equation 2)."""

    name = "auc"
    example = "dataset=monk1-full method=fronts objective=auc"


@attrs.frozen
class PartialAuc(Ranking):
    """1 − area up to a false-positive rate of θ, + λ · leaves; at least 1 − θ, unless it is
    ``normalised``.
    """

    name = "pauc"
    example = "dataset=monk1-full method=fronts objective=pauc"

    theta: float = param(0.1, "θ, the greatest false-positive rate that counts", gt=0.0, le=1.0)
    normalised: bool = param(
        False, "whether the area is divided by θ, so that a perfect ranking loses nothing"
    )

    def false_positive_limit(self) -> tuple[float, float]:
        """Return θ, and θ if ``normalised``, else 1."""
        return self.theta, self.theta if self.normalised else 1.0
