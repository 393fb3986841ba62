"""What a proof is about, made again from the table: sets of merged objects, and costs in
integers.
"""

from __future__ import annotations

import json
import math
import operator
from fractions import Fraction
from typing import Any, cast

import attrs
import numpy as np

from arboretum.errors import CapabilityError, VerificationError
from arboretum.interfaces.method import Problem
from arboretum.interfaces.objective import WeightedErrors, costs_by_object
from arboretum.model.encoded import Encoded, Family
from arboretum.model.reading import SHOWN
from arboretum.model.rules import TestRule
from arboretum.model.tree import Tree

MOST = 2**53
"""What sums of costs must stay below: float64 adds integers exactly up to here."""
MOST_PAID = 2**58
"""What prices must stay below, of all objects and as many tests; kernels add them as integers."""
MOST_CELLS = 2**31


class ProofRules:
    """What a kind of proof says of values, unless it says otherwise: costs are values."""

    def value(self, bound: Fraction | float) -> float:
        """As the objective is reported."""
        return float(bound)

    def value_of(self, tree: Tree, cost: Fraction | float) -> float:
        """The objective's value of a tree of this cost."""
        del tree
        return self.value(cost)


def decimal(number: float) -> Fraction:
    """A number as it was written down, not as it is stored: 0.1 is one tenth."""
    return Fraction(repr(float(number)))


def decimals(numbers: np.ndarray) -> list[Fraction]:
    """Numbers as they were written down, each different one read once."""
    listed = numbers.tolist()
    known = {one: decimal(one) for one in set(listed)}
    return [known[one] for one in listed]


def rational(number: float) -> Fraction:
    """A number as it was written down, or as it was divided, whichever is simpler: the float next
    to 138/6907 is that quotient, if the divisor is at most 10⁷; 0.1 is one tenth.
    """
    exact, quotient = decimal(number), Fraction(float(number)).limit_denominator(10**7)
    simpler = quotient.denominator < exact.denominator and float(quotient) == number
    return quotient if simpler else exact


def _spelled(unit: Fraction) -> str:
    """A unit as a message shows it."""
    text = str(unit)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def outcomes(objects: Encoded) -> np.ndarray:
    """int32[fixed tests, n_objects]: the outcome of each fixed test for each object.  Raises
    CapabilityError where a test has no outcome for some object.
    """
    found = []
    for feature, codes in zip(objects.features, objects.codes.T, strict=True):
        if feature in objects.incomplete:
            raise CapabilityError(
                f"column {feature.column!r} has missing values, of which proofs know nothing"
            )
        if feature.family is Family.multiway:
            found.append(codes)
        else:
            found += [
                codes > k if feature.family is Family.thresholds else codes != k
                for k in range(feature.n_tests)
            ]
    return np.array(found, np.int32).reshape(len(found), objects.n_objects)


def rows_as_bytes(packed: np.ndarray) -> list[bytes]:
    """The rows of uint8[n, bytes], each of one byte at least."""
    rows: list[bytes] = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}").ravel().tolist()
    return rows


def merge_rows(packed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different rows of uint8[n, bytes], in their order as bytes, and int64[n], which
    each is.
    """
    n, width = packed.shape
    padded = np.zeros((n, -(-max(1, width) // 8) * 8), np.uint8)
    padded[:, :width] = packed
    words = padded.view(">u8").astype(np.uint64)  # 64 outcomes at once
    order = np.lexsort(words.T[::-1])
    ordered, new = words[order], np.ones(n, np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    group = np.empty(n, np.int64)
    group[order] = new.cumsum() - 1
    return packed[order[new]], group


def one_price_each(problem: Problem) -> bool:
    """Whether each test has one price, whatever was asked before; a raw column has many."""
    prices, objects = problem.prices, problem.objects
    columns = [feature.column for feature in objects.features for _ in range(feature.n_tests)]
    columns += [feature.column for feature in objects.raw_features for _ in range(2)]
    return prices.fixed and (not prices.once_per_column or len(columns) == len(set(columns)))


def rule_key(rule: TestRule) -> str:
    """Equal for tests that ask the same."""
    return json.dumps(rule.to_json(), sort_keys=True)


def tests_of_rules(objects: Encoded) -> dict[str, int]:
    """Key of a rule → number of the fixed test that asks it."""
    return {rule_key(objects.rule(test)): test for test in range(objects.n_fixed)}


@attrs.frozen(eq=False)
class Columns:
    """The different tests with two outcomes, every threshold of a raw column among them, over the
    merged objects.

    has : uint8[n, columns].
    group : int64[n_objects], the merged object that each became.
    literal : int64[·], for outcomes of tests 2 · column + 1 where they are those of the objects
        that have the column, 2 · column where of the others; one column more, which no object has,
        stands for constant tests.
    first : int64[problem's tests + 1], where the outcomes of a test begin.
    n_fixed : number of fixed tests; raw columns count on.
    """

    has: np.ndarray
    group: np.ndarray
    literal: np.ndarray
    first: np.ndarray
    n_fixed: int

    @staticmethod
    def of(objects: Encoded, without: str | None = None) -> Columns:
        """Equal columns, and complements, are one; merged are objects that are equal in all of
        them.

        without : a column of the table; tests that ask it are as good as constant.
        Raises CapabilityError for tests of more outcomes, missing values, and more tests of objects
        than MOST_CELLS.
        """
        fixed = outcomes(objects)
        if fixed.size and fixed.max() > 1:
            raise CapabilityError(
                "a test of the table has more than two outcomes; proofs of additive "
                "objectives know two"
            )
        if np.isnan(objects.raw).any():
            raise CapabilityError("raw columns have missing values, of which proofs know nothing")
        ranks = [np.unique(values, return_inverse=True)[1].ravel() for values in objects.raw.T]
        n_tests = len(fixed) + sum(int(rank.max()) for rank in ranks)
        if n_tests * objects.n_objects > MOST_CELLS:
            raise CapabilityError(
                f"proofs keep a byte for each test of each object, and here are {n_tests:,} tests "
                f"of {objects.n_objects:,} objects; ask fewer tests (encoder=bins)"
            )
        known: dict[bytes, int] = {}
        literal, kept = list[int](), list[np.ndarray]()
        lengths = [0, *[2] * len(fixed), *(2 * int(rank.max()) + 2 for rank in ranks)]
        for number, rank in enumerate([None, *ranks]):
            tests: np.ndarray = (
                np.equal(fixed, 1)
                if rank is None
                else np.greater(rank, np.arange(int(rank.max()) + 1)[:, None])
            )
            has, new = tests ^ tests[:, :1], list[int]()
            if without is not None:
                asks = (
                    [without in objects.rule(test).columns for test in range(len(fixed))]
                    if rank is None
                    else objects.raw_features[number - 1].column == without
                )
                has &= np.reshape(np.logical_not(asks), (-1, 1))
            some, rows = has.any(axis=1).tolist(), rows_as_bytes(np.packbits(has, axis=1))
            for test, turned in enumerate(tests[:, 0].tolist()):
                column = known.get(rows[test], len(known)) if some[test] else -1
                if column == len(known):
                    known[rows[test]] = column
                    new.append(test)
                sides = [2 * column + turned, 2 * column + (not turned)]  # without, with
                literal += sides if rank is None else sides[::-1]
            kept.append(has[new])
        has = np.ascontiguousarray(np.concatenate(kept).T)  # bits are packed row by row
        merged, group = merge_rows(np.packbits(has, axis=1))
        numbers = np.array(literal, np.int64)
        numbers[numbers < 0] += 2 * (len(known) + 1)
        return Columns(
            np.unpackbits(merged, axis=1, count=len(known)),
            group,
            numbers,
            np.cumsum(lengths),
            len(fixed),
        )

    def literals(self, test: int | list[int]) -> np.ndarray:
        """int64[outcomes], of a test as a log names it.  Raises VerificationError where there is
        no such test.
        """
        number, cut = (test, 0) if isinstance(test, int) else test
        raw = number != test
        outcomes = (
            self.first[number + 1] - self.first[number] if 0 <= number < len(self.first) - 1 else 0
        )
        if not 0 <= 2 * cut < outcomes or (raw and number < self.n_fixed):
            raise VerificationError(
                f"the proof names tests that the table has not: {test}; it has "
                f"{len(self.first) - 1}"
            )
        found = self.literal[self.first[number] : self.first[number + 1]]
        return found[[2 * cut + 1, 2 * cut]] if raw else found


@attrs.frozen(eq=False)
class Costs:
    """An additive objective in integers, as a log counts it, and what every tree pays besides.

    saved : int64[n, classes], what each label saves of the worst one's cost, over the merged
        objects.
    mass : int64[n], their weight without common divisor; 0 where tests cost nothing.
    price : int64[problem's tests], of a unit of mass.
    p : of a leaf.
    unit : value of 1.
    base : value of a cost of 0.
    scaled : int64[n_objects, classes], costs of single objects, ``scale`` times.
    rounded : whether costs and λ were rounded down.
    per_level : of each test on the costliest path, where that is paid and all tests have one price.
    """

    saved: np.ndarray
    mass: np.ndarray
    price: np.ndarray
    p: int
    base: Fraction
    unit: Fraction
    scaled: np.ndarray
    scale: int
    rounded: bool
    per_level: int = 0

    @staticmethod
    def of(
        problem: Problem, group: np.ndarray, unit: Fraction, *, paid_depth: bool = False
    ) -> Costs:
        """Count the costs of a problem in units of a log.

        group : int64[n_objects], the merged object of each, as in :class:`Columns`.
        unit : what 1 of the log is worth in the objective.
        paid_depth : whether the caller adds ``per_level``; if not, the costliest path is refused.
        Raises VerificationError where the unit does not divide λ, the costs of classes and prices,
        CapabilityError for an objective without costs.
        """
        objective: Any = problem.parts.objective
        objects = problem.objects
        if unit <= 0:
            raise VerificationError(f"the log's unit is {_spelled(unit)}; it must be above 0")
        if hasattr(objective, "costs"):
            own, scale, rounded = _costs_of_objects(problem, unit)
        elif hasattr(objective, "factors"):
            (own, scale), rounded = _costs_of_classes(problem, unit), False
        else:
            raise CapabilityError(
                "proofs know objectives that state what labels cost, by object (costs) or by class "
                "(factors, errors), and λ (lam)"
            )
        lam, by_object = rational(objective.lam), hasattr(objective, "costs")
        p = Fraction(lam // unit) if by_object else lam / unit
        rounded = rounded or p != lam / unit
        summed = np.zeros((own.shape[1], int(group.max()) + 1), np.int64)  # label by label
        for of_label, cost in zip(summed, own.T, strict=True):
            np.add.at(of_label, group, cost)
        least = summed.min(axis=0)
        loss = summed - least
        if (loss % scale).any() or p.denominator != 1:
            raise VerificationError(
                f"the log's unit {_spelled(unit)} does not divide λ = {lam} and the losses "
                "of the table"
            )
        by_label = (loss.max(axis=0) - loss) // scale
        saved = np.ascontiguousarray(by_label.T)
        mass, price = np.zeros(len(saved), np.int64), np.zeros(objects.n_tests, np.int64)
        mu, per_level = rational(getattr(objective, "mu", 0)), 0
        if mu and paid_depth:
            per_level = _price_of_level(problem, mu, unit)
        if mu and not per_level:
            own_mass, price = _whole_prices(problem, mu, unit)
            np.add.at(mass, group, own_mass)
        if (
            int(saved.sum()) + 4 * p >= MOST
            or int(mass.sum()) * int(price.max(initial=0)) * len(saved) >= MOST_PAID
        ):
            raise VerificationError(
                f"costs in units of {_spelled(unit)} exceed 2^53, or prices 2^58"
            )
        more = int(saved.sum() - by_label.max(axis=0).sum())
        return Costs(
            saved=saved,
            mass=mass,
            price=price,
            p=int(p),
            base=(Fraction(int(least.sum()), scale) - more) * unit,
            unit=unit,
            scaled=own,
            scale=scale,
            rounded=rounded,
            per_level=per_level,
        )

    def exact_loss(self, problem: Problem, answer: np.ndarray) -> Fraction:
        """What answers (int[n_objects]) cost, not rounded, as a value of the objective."""
        at = np.arange(len(answer)), answer
        if not self.rounded:
            return Fraction(int(self.scaled[at].sum()), self.scale) * self.unit
        weights = decimals(problem.objects.weight)
        lost = map(Fraction, costs_by_object(problem)[at].tolist())
        return sum(map(operator.mul, weights, lost), Fraction()) / sum(weights)


def _costs_of_classes(problem: Problem, unit: Fraction) -> tuple[np.ndarray, int]:
    """(int64[n_objects, classes], scale): what objects cost by label, in units of a log, scale
    times.  Raises VerificationError where they exceed 2^53.
    """
    objective, objects = cast(WeightedErrors, problem.parts.objective), problem.objects
    # objects of one class and weight cost the same
    different, weighs = np.unique(objects.weight, return_inverse=True)
    pairs, which, times = np.unique(
        objects.label * np.int64(len(different)) + weighs, return_inverse=True, return_counts=True
    )
    classes = (pairs // len(different)).tolist()
    weights = decimals(different[pairs % len(different)])
    total = [Fraction(0)] * objects.n_classes
    for y, weight, n in zip(classes, weights, times.tolist(), strict=True):
        total[y] += weight * n
    factors, errors = objective.factors(total), objective.errors(objects.n_classes)
    exact = [
        [weight * factors[y] * error / unit for error in errors[y]]
        for y, weight in zip(classes, weights, strict=True)
    ]
    scaled, scale = _scaled(exact, objects.n_objects, unit)
    return scaled[which], scale


def _costs_of_objects(problem: Problem, unit: Fraction) -> tuple[np.ndarray, int, bool]:
    """(int64[n_objects, labels], scale, rounded): what objects cost by label, in units of a log,
    scale times: as the decimals that they are, where the unit divides them; else each cost rounded
    down, as the number that is stored, to a multiple of unit · weights without their divisor.

    A tree's cost is no lower than its rounded one, so that a bound of this holds.
    """
    costs, weights = costs_by_object(problem), decimals(problem.objects.weight)
    total = sum(weights)
    exact = [
        [weight * decimal(cost) / total / unit for cost in row]
        for weight, row in zip(weights, costs.tolist(), strict=True)
    ]
    if all(cost.denominator == 1 for row in exact for cost in row):
        return *_scaled(exact, 1, unit), False
    shared = common_divisor(weights)
    mass, grain = [weight / shared for weight in weights], unit * total / shared
    whole = [
        [m * (Fraction(cost) // grain) for cost in row]
        for m, row in zip(mass, costs.tolist(), strict=True)
    ]
    return *_scaled(whole, 1, unit), True


def _scaled(exact: list[list[Fraction]], times: int, unit: Fraction) -> tuple[np.ndarray, int]:
    """(int64[n, labels], scale): scale times the costs, as whole numbers.

    times : how often a row may count.  Raises VerificationError where they exceed 2^53 together.
    """
    scale = math.lcm(*(cost.denominator for row in exact for cost in row))
    scaled = [[int(cost * scale) for cost in row] for row in exact]
    if max(abs(cost) for row in scaled for cost in row) * times >= MOST:
        raise VerificationError(f"costs in units of {_spelled(unit)} exceed 2^53")
    found = np.array(scaled, np.int64)
    if np.abs(found.astype(np.float64)).max(axis=1).sum() >= MOST:
        raise VerificationError(f"costs in units of {_spelled(unit)} exceed 2^53")
    return found, scale


def common_divisor(weights: list[Fraction]) -> Fraction:
    """The greatest number that all weights are whole multiples of."""
    below = math.lcm(*(weight.denominator for weight in weights))
    return Fraction(math.gcd(*(int(weight * below) for weight in weights)), below)


def _price_of_level(problem: Problem, mu: Fraction, unit: Fraction) -> int:
    """What each test on the costliest path costs in units of the log; 0 where that path is not what
    is paid, or tests have several prices.  Raises VerificationError where the unit does not divide
    it, or where it exceeds 2^53.

    mu : the objective's price of a price.
    """
    prices, priced = problem.prices, getattr(problem.parts.objective, "price", None)
    distinct = {*prices.tests.tolist(), *prices.raw.tolist()}
    paid = getattr(priced, "value", "") == "max" and one_price_each(problem)
    if not paid or len(distinct) != 1:
        return 0
    exact = mu * decimal(distinct.pop()) / unit
    if exact.denominator != 1 or not 0 <= exact < MOST / max(1, problem.objects.n_objects):
        raise VerificationError(
            f"the log's unit {_spelled(unit)} does not divide μ = {mu} and the price of the tests, "
            "or they exceed 2^53"
        )
    return int(exact)


def _whole_prices(problem: Problem, mu: Fraction, unit: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """(int64[weights], the weights without common divisor; int64[problem's tests], what each test
    costs for 1 of them in units of the log).

    mu : the objective's price of an expected price.
    Raises CapabilityError for other prices, VerificationError where the unit does not divide them.
    """
    prices, weights = problem.prices, decimals(problem.objects.weight)
    priced = getattr(problem.parts.objective, "price", None)
    if getattr(priced, "value", "") != "expected" or not one_price_each(problem):
        raise CapabilityError(
            "proofs know expected prices, one for each test whatever was asked before; and of the "
            "costliest path, of trees that are limited by rows and depth alone, one for all tests"
        )
    shared, total = common_divisor(weights), sum(weights)
    exact = [
        mu * decimal(price) * shared / total / unit
        for price in (*prices.tests.tolist(), *prices.raw.tolist())
    ]
    if any(price.denominator != 1 or price < 0 for price in exact):
        raise VerificationError(
            f"the log's unit {_spelled(unit)} does not divide μ = {mu} and the prices of the tests"
        )
    return np.array([int(weight / shared) for weight in weights], np.int64), np.array(
        list(map(int, exact)), np.int64
    )
