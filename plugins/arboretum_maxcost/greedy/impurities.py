"""Admissible impurities: non-negative, 0 on pure sets, monotone and supermodular, with log F(S) =
O(log n) (section 3).

n_i is the weight of class i in a set.  All are totals, and exact on whole numbers as long as their
value is below 2⁵³; beyond, they are rounded to the 53 bits of a number, and refused where even
those do not hold it.  They are ultramodular in the class weights (their increments grow with the
set, whatever the steps), so that all this holds with object weights, too.

``pairs`` is another name of the impurity ``rt``: Σ_{i<j} n_i n_j (``presets/impurity/pairs.yaml``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from arboretum.api import CapabilityError, Encoded, param
from arboretum_maxcost.greedy import kernels

PAPER = "Nan, Wang & Saligrama 2015, section 3"


class Admissible:
    """What the impurities of this paper share.

    whole : values of whole class weights are whole numbers.
    """

    kind = "impurity"
    paper = PAPER
    capabilities = (
        "classification",
        "multiclass",
        "weights",
        "additive",
        "concave",
        "admissible",
    )
    name: ClassVar[str]
    scale = "total"

    if TYPE_CHECKING:

        def value(self, weights: np.ndarray) -> np.ndarray:
            """float64[…, classes] → float64[…]."""

    def for_objects(self, objects: Encoded) -> Admissible:
        """Return the impurity for these training objects; raises CapabilityError where it is too
        large for a number.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(self.value(class_weights(objects))):
                total = f"{float(objects.weight.sum()):g}"
                raise CapabilityError(
                    f"impurity {self.name}: {self} of n = {total} is beyond the largest "
                    "number (1.8e308); choose less"
                )
        return self


def class_weights(objects: Encoded) -> np.ndarray:
    """Return float64[classes]: weight of each class among the training objects."""
    return np.bincount(objects.label, objects.weight, objects.n_classes)


@attrs.frozen
class Powers(Admissible):
    """Power of the sum less sum of the powers: (Σ n_i)^l − Σ n_i^l (equation 9); l = 2 is twice
    the number of pairs.
    """

    name = "powers"
    whole = True

    l: int = param(2, "exponent; larger values look at the large nodes first", ge=2, le=64)

    @property
    def kernel(self) -> Callable[..., float]:
        """Equation 9 with this exponent as a kernel: float64[classes] → float64."""
        return kernels.powers_of(self.l)

    def value(self, weights: np.ndarray) -> np.ndarray:
        """Return float64[…, classes] → float64[…], weight^l; summed without subtraction, see the
        kernel.
        """
        before = np.maximum(np.cumsum(weights, axis=-1) - weights, 0.0)
        found, power = np.full(weights.shape, float(self.l)), np.ones(weights.shape)
        for j in range(self.l - 2, 0, -1):
            power = power * weights
            found = found * before + math.comb(self.l, j) * power
        made: np.ndarray = (before * weights * found).sum(axis=-1)
        return made


@attrs.frozen
class HingedPairs(Admissible):
    """Pairs of the classes with more than α objects: Σ_{i<j} [[n_i − α]₊ [n_j − α]₊ − α²]₊
    (equation 10, each pair once).

    A leaf with the value 0 makes at most k (k − 1) α errors (k classes).  ``subtract_square=false``
    leaves α² out, as the figures of the paper's appendix do.  ``epsilon`` is α as a share of the
    weight of the training objects; where it is given, ``alpha`` must not be.
    """

    name = "hinged_pairs"

    alpha: float = param(
        0.0,
        "α, the hinge, as an amount",
        ge=0.0,
        lt=math.inf,
        unit="weight of objects",
        converter=float,
    )
    epsilon: float | None = param(
        None, "α as a share, instead of alpha", ge=0.0, le=1.0, unit="share of the total weight"
    )
    subtract_square: bool = param(True, "subtract α² from each pair, as equation 10 does")

    def __attrs_post_init__(self) -> None:
        if self.epsilon is not None and self.alpha:
            raise ValueError(
                f"impurity.alpha ({self.alpha:g}) and impurity.epsilon ({self.epsilon:g}) "
                "both say what α is; give one"
            )

    @property
    def whole(self) -> bool:
        """Whether whole class weights have whole values: α is a whole amount, not a share."""
        return self.epsilon is None and self.alpha == round(self.alpha)

    @property
    def kernel(self) -> Callable[..., float]:
        """Equation 10 with this α, or without − α², as a kernel: float64[classes] → float64."""
        return kernels.hinged_pairs_of(self.alpha, self.subtract_square)

    def for_objects(self, objects: Encoded) -> HingedPairs:
        """Return itself with α as an amount of the objects' weight; a share whose amount is a whole
        number but for rounding is that number.
        """
        total, meant = float(objects.weight.sum()), self
        if self.epsilon is not None:
            alpha = self.epsilon * total
            alpha = (
                float(round(alpha)) if math.isclose(alpha, round(alpha), rel_tol=1e-12) else alpha
            )
            meant = attrs.evolve(self, alpha=alpha, epsilon=None)
        # α beyond the weight is no mistake here: kernels are tried on a few of the objects first
        return meant

    def value(self, weights: np.ndarray) -> np.ndarray:
        """Return float64[…, classes] → float64[…], square of weight."""
        if self.epsilon is not None:
            raise CapabilityError(
                "impurity.epsilon is a share of the training objects, which are not known "
                "here; give impurity.alpha"
            )
        over, total = np.maximum(weights - self.alpha, 0.0), np.zeros(weights.shape[:-1])
        for i in range(1, weights.shape[-1]):
            a, b, both = weights[..., i, None], weights[..., :i], over[..., i, None] * over[..., :i]
            found = (
                np.where(both > 0, a * b - self.alpha * (a + b), 0.0)
                if self.subtract_square and self.alpha
                else both
            )
            total += np.where(found > kernels.ZERO * a * b, found, 0.0).sum(axis=-1)
        return total

    def error_bound(self, mass: np.ndarray, n_classes: int) -> float:
        """Return the share of the weight that a tree whose leaves all have the value 0 may
        misclassify (Lemma 4.4, for the best η).

        mass : float64[leaves].
        n_classes : k.

        The l heaviest leaves make k (k − 1) α errors each, the others (k − 1)/k of their weight.
        """
        heaviest, k = np.sort(mass)[::-1], n_classes
        share = np.concatenate([[0.0], np.cumsum(heaviest)]) / mass.sum()
        each = k * (k - 1) * self.alpha / mass.sum()
        return float(
            (each * np.arange(len(share)) + (k - 1) / k * np.maximum(1.0 - share, 0.0)).min()
        )

    def least_positive(self, weights: np.ndarray) -> float:
        """Return a number below no positive value of whole class weights up to these:
        float64[classes] → the least of a single pair.
        """
        sizes = [np.arange(1.0, n + 1) for n in weights]
        pairs = [
            np.stack(np.broadcast_arrays(a[:, None], b), axis=-1)
            for i, a in enumerate(sizes)
            for b in sizes[:i]
        ]
        found = np.concatenate([np.asarray(self.value(pair)).ravel() for pair in pairs])
        return float(found[found > 0].min(initial=math.inf))


@attrs.frozen
class Polynomial(Admissible):
    """Polynomial of the class weights without singleton terms: Σ_t γ_t Π_k n_k^p_tk (equation
    8), for that number of classes.
    """

    name = "polynomial"
    example = "dataset=play-tennis"

    gamma: tuple[float, ...] = param((1.0,), "coefficient of each term", ge=0.0, lt=math.inf)
    exponents: tuple[tuple[int, ...], ...] = param(
        ((1, 1),), "for each term the exponent of every class, in the order of the classes"
    )

    def __attrs_post_init__(self) -> None:
        if (
            not self.gamma
            or len(self.gamma) != len(self.exponents)
            or len(set(map(len, self.exponents))) != 1
        ):
            got = (
                f"{len(self.gamma)} coefficients and rows of "
                f"{[len(row) for row in self.exponents]} exponents"
            )
            raise ValueError(
                "impurity.exponents must have a row for each of impurity.gamma, all of one "
                f"length; got {got}"
            )
        for t, row in enumerate(self.exponents):
            if min(row, default=0) < 0 or sum(p > 0 for p in row) < 2:
                raise ValueError(
                    f"impurity.exponents: term {t}, {self.gamma[t]:g} · n^{list(row)}, must "
                    "have exponents ≥ 0, above 0 for two classes or more: "
                    "otherwise a pure set would not have the value 0"
                )

    @property
    def whole(self) -> bool:
        """Whether whole class weights have whole values: all coefficients are whole numbers."""
        return all(g == round(g) for g in self.gamma)

    @property
    def kernel(self) -> Callable[..., float]:
        """Equation 8 with these terms as a kernel: float64[classes] → float64."""
        return kernels.polynomial_of(self.gamma, self.exponents)

    def for_objects(self, objects: Encoded) -> Admissible:
        """Return itself; raises CapabilityError where the exponents are for another number of
        classes, or the value of all objects is too large for a number.
        """
        if len(self.exponents[0]) != objects.n_classes:
            has = f"{objects.table.name} has {objects.n_classes} classes"
            raise CapabilityError(
                f"impurity polynomial has exponents for {len(self.exponents[0])} classes, "
                f"but {has}; set impurity.exponents"
            )
        return super().for_objects(objects)

    def value(self, weights: np.ndarray) -> np.ndarray:
        """Return float64[…, classes] → float64[…]; a class beyond the exponents counts in no term,
        one that is not there is empty.
        """
        found = np.zeros(weights.shape[:-1])
        for g, row in zip(self.gamma, self.exponents, strict=True):
            there = (
                weights[..., k] ** p if k < weights.shape[-1] else 0.0
                for k, p in enumerate(row)
                if p
            )
            found = found + math.prod(there, start=g)
        return found


IMPURITIES = [Powers, HingedPairs, Polynomial]
