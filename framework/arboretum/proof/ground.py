"""What a proof is about, made again from the table: sets of merged objects, and costs in integers."""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np

from arboretum.errors import CapabilityError, VerificationError
from arboretum.interfaces.method import Problem
from arboretum.model.encoded import Encoded, Family

MOST = 2**53
"""What sums of costs must stay below: float64 adds integers exactly up to here."""


def decimal(number: float) -> Fraction:
    """A number as it was written down, not as it is stored: 0.1 is one tenth."""
    return Fraction(repr(float(number)))


def outcomes(objects: Encoded) -> np.ndarray:
    """int32[fixed tests, n_objects].  Raises CapabilityError where a test has no outcome for some object."""
    found = []
    for feature, codes in zip(objects.features, objects.codes.T.astype(np.int32), strict=True):
        if feature.has_missing and (codes == feature.n_bins).any():
            raise CapabilityError(f"column {feature.column!r} has missing values, of which proofs know nothing")
        if feature.family is Family.multiway:
            found.append(codes)
        else:
            found += [codes > k if feature.family is Family.thresholds else codes != k for k in range(feature.n_tests)]
    return np.array(found, np.int32).reshape(len(found), objects.n_objects)


@attrs.frozen(eq=False)
class Columns:
    """Every test with two outcomes as a cut of a column of ranks; a fixed test is a column of its own, with ranks 0 and 1.

    rank : int32[n, columns], of the merged objects.   group : int64[n_objects], the merged object that each became.
    column : int64[problem's tests], the column that stands for it, −1 for a constant one.   flip : bool[problem's tests], whether
        outcome 1 of a fixed test is rank 0.   n_fixed : number of fixed tests; raw columns count on.
    """

    rank: np.ndarray
    group: np.ndarray
    column: np.ndarray
    flip: np.ndarray
    n_fixed: int

    @staticmethod
    def of(objects: Encoded) -> Columns:
        """Equal columns, and complements, are one; merged are objects that are equal in all of them."""
        fixed = outcomes(objects)
        if fixed.size and fixed.max() > 1:
            raise CapabilityError("a test of the table has more than two outcomes; proofs of additive objectives know two")
        raw = [np.unique(values, return_inverse=True)[1].ravel() for values in objects.raw.T]
        if np.isnan(objects.raw).any():
            raise CapabilityError("raw columns have missing values, of which proofs know nothing")
        known: dict[bytes, int] = {}
        kept, column, flip = [], [], []
        for i, ranks in enumerate([*fixed, *raw]):
            turned = bool(i < len(fixed) and len(ranks) and ranks[0])
            ranks = ranks.astype(np.int32) ^ turned
            new = known.setdefault(ranks.tobytes(), len(kept)) == len(kept)
            constant = not ranks.any()
            column.append(-1 if constant else known[ranks.tobytes()])
            flip.append(turned)
            if new:
                kept.append(ranks)
        rank = np.array(kept, np.int32).reshape(len(kept), objects.n_objects).T
        merged, group = np.unique(rank, axis=0, return_inverse=True)
        return Columns(merged, group.ravel(), np.array(column, np.int64), np.array(flip, np.bool_), len(fixed))

    def literal(self, test: int | list[int], outcome: int) -> tuple[int, int, bool]:
        """Column, cut and whether ranks above it are meant, of a literal as a log has it."""
        if not isinstance(test, int):
            return int(self.column[test[0]]), test[1], outcome == 1
        if test < self.n_fixed:
            return int(self.column[test]), 0, (outcome == 1) != self.flip[test]
        return int(self.column[test]), outcome >> 1, not outcome & 1


@attrs.frozen(eq=False)
class Costs:
    """An additive objective in integers: Σ loss[u, label] over the merged objects + p · leaves, + what every tree pays.

    loss : int64[n, classes]; the least of an object is 0.   p : of a leaf.   unit : value of 1.   base : value of a cost of 0 in the log.
    more : int64[n], what the log's form of the loss counts besides for each object; 0 with two classes.
    scaled : int64[n_objects, classes], costs of single objects, ``scale`` times.
    """

    loss: np.ndarray
    p: int
    base: Fraction
    unit: Fraction
    more: np.ndarray
    scaled: np.ndarray
    scale: int

    @staticmethod
    def of(problem: Problem, group: np.ndarray, unit: Fraction) -> Costs:
        """Raises VerificationError where the unit does not divide λ and the costs, CapabilityError for an objective without them."""
        objective, objects = problem.parts.objective, problem.objects
        if not hasattr(objective, "factors") or getattr(objective, "mu", 0) != 0:
            raise CapabilityError("proofs know objectives that state what errors cost (factors, errors) and λ (lam), and no prices")
        if unit <= 0:
            raise VerificationError(f"the log's unit is {unit}; it must be above 0")
        lam, pairs = decimal(objective.lam), np.stack([objects.label, objects.weight], axis=1)
        pairs, which, times = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
        classes, weights = pairs[:, 0].astype(int).tolist(), list(map(decimal, pairs[:, 1].tolist()))
        total = [Fraction(0)] * objects.n_classes
        for y, weight, n in zip(classes, weights, times.tolist(), strict=True):
            total[y] += weight * n
        factors, errors = objective.factors(total), objective.errors(objects.n_classes)
        exact = [[weight * factors[y] * error / unit for error in errors[y]] for y, weight in zip(classes, weights, strict=True)]
        scale = math.lcm(*(cost.denominator for row in exact for cost in row))
        scaled = [[int(cost * scale) for cost in row] for row in exact]
        if max(map(max, scaled)) * objects.n_objects >= MOST:
            raise VerificationError(f"costs in units of {unit} exceed 2^53")
        own = np.array(scaled, np.int64)[which.ravel()]
        summed = np.zeros((int(group.max()) + 1, objects.n_classes), np.int64)
        np.add.at(summed, group, own)
        least = summed.min(axis=1)
        loss, p = summed - least[:, None], lam / unit
        if (loss % scale).any() or p.denominator != 1:
            raise VerificationError(f"the log's unit {unit} does not divide λ = {lam} and the losses of the table")
        loss //= scale
        if int(loss.max(axis=1).sum()) + 4 * p >= MOST:
            raise VerificationError(f"costs in units of {unit} exceed 2^53")
        saved = loss.max(axis=1, keepdims=True) - loss
        more = saved.sum(axis=1) - saved.max(axis=1)
        base = (Fraction(int(least.sum()), scale) - int(more.sum())) * unit
        return Costs(loss, int(p), base, unit, more, own, scale)
