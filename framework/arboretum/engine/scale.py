"""Extreme common factors: weights, targets and prices are brought near 1 by powers of two before
trees grow, and reported as given.

Growth sums squares of weights and targets and divides by prices; far from 1 those leave float64,
and another tree would be grown.  A power of two changes no digit, so tests, shares and metrics are
those of the numbers as given.  Who measures in the unit of these numbers (a pruner, a solver, a
certificate, δ, ``min_decrease``, ``max_cost``) gets them as they are: :func:`check_range` then
refuses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs
import numpy as np

from arboretum.errors import DataError
from arboretum.interfaces.method import Parts
from arboretum.interfaces.objective import Shape, shape_of
from arboretum.model.encoded import Encoded, Prices
from arboretum.model.record import Solution
from arboretum.model.table import Table
from arboretum.model.tree import Tree

NEAR = 256
"""Numbers between 2⁻²⁵⁶ and 2²⁵⁶ stay as they are: their squares, and sums of a billion of them,
are far from the ends of float64.
"""
_SQUARED = ("mse",)
_PRICED = ("expected_cost", "max_cost", "covering_cost")
_WEIGHED = ("total_path_length",)


@attrs.frozen
class Scale:
    """Exponents: what is given is what the engine sees times 2^exponent."""

    weight: int = 0
    target: int = 0
    price: int = 0

    @staticmethod
    def of(table: Table, parts: Parts) -> Scale:
        """The scale of the weights and targets of a run; 1 where a part measures in their unit."""
        if parts.pruner is not None or parts.solver is not None or _in_units(parts):
            return Scale()
        weight = 0 if table.weights is None else _exponent(table.weights)
        if table.is_classification:
            return Scale(weight)
        return Scale(weight, _exponent(table.target.values, NEAR if not weight else 0))

    def of_prices(self, prices: Prices, parts: Parts) -> Scale:
        """The same, with that of the prices, unless a part reads them as they are given."""
        if (
            parts.solver is not None
            or prices.after is not None
            or parts.limits().max_cost is not None
        ):
            return self
        return attrs.evolve(self, price=_exponent(np.concatenate([prices.tests, prices.raw])))

    def table(self, table: Table) -> Table:
        """The rows as the engine sees them."""
        if not (self.weight or self.target):
            return table
        target = table.target
        if self.target:
            target = attrs.evolve(target, values=np.ldexp(target.values, -self.target))
        return attrs.evolve(
            table,
            target=target,
            weights=None if table.weights is None else np.ldexp(table.weights, -self.weight),
        )

    def prices(self, prices: Prices) -> Prices:
        """The price list as the engine sees it."""
        names = (
            ("tests", "raw", *(["outcomes"] if prices.outcomes is not None else []))
            if self.price
            else ()
        )
        return attrs.evolve(
            prices, **{name: np.ldexp(getattr(prices, name), -self.price) for name in names}
        )

    def tree(self, tree: Tree) -> Tree:
        """The tree in the units of what was given.   Raises DataError where the weight of all
        rows is no number of 64 bits.
        """
        if self == Scale():
            return tree
        with np.errstate(over="ignore"):
            weights = np.ldexp(tree.weights, self.weight)
            price = {
                name: np.ldexp(values, self.price)
                for name in ("price", "branch_price")
                if (values := getattr(tree, name)) is not None
            }
            value = np.ldexp(tree.value, self.target)
        if not np.isfinite(weights).all():
            raise DataError(
                "the weights of all rows together are more than float64 can hold; divide "
                "them by a constant"
            )
        return attrs.evolve(tree, weights=weights, value=value, exponent=self.target, **price)

    def solution(self, solution: Solution) -> Solution:
        """The solution with its tree as given."""
        return (
            solution
            if self == Scale() or solution.tree is None
            else attrs.evolve(solution, tree=self.tree(solution.tree))
        )

    def metrics(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Reported numbers in the units of what was given; one that no float64 holds is ∞."""
        by_name = dict.fromkeys(_PRICED, self.price) | dict.fromkeys(_WEIGHED, self.weight)
        by_name |= dict.fromkeys(_SQUARED, 2 * self.target) | {"mae": self.target}
        with np.errstate(over="ignore"):
            return {
                name: float(
                    np.ldexp(
                        value,
                        next(
                            (
                                by_name[end]
                                for end in by_name
                                if name == end or name.endswith(f"_{end}")
                            ),
                            0,
                        ),
                    )
                )
                for name, value in metrics.items()
            }

    def notes(self) -> list[str]:
        """What the user should know."""
        found = {"weights": self.weight, "targets": self.target, "prices": self.price}
        return [
            f"{what} are far from 1: the tree was grown with them divided by 2^{e}, and is "
            "reported as given"
            for what, e in found.items()
            if e
        ]


def _in_units(parts: Parts) -> bool:
    """Whether a stopping rule compares with an impurity or a score, or an objective says what
    leaves predict, in a unit of its own: a ratio of hazards has none.
    """
    if hasattr(parts.objective, "moments") and shape_of(parts.objective) is not Shape.squares:
        return True
    rules = [rule.leaf_rule() for rule in parts.stopping if hasattr(rule, "leaf_rule")]
    return parts.limits().min_decrease is not None or any(rule.delta is not None for rule in rules)


def _exponent(values: np.ndarray, near: int = NEAR) -> int:
    """e with 2^(e−1) ≤ the largest size < 2^e; 0 where it is near 1, or nothing."""
    size = float(np.abs(values).max(initial=0.0))
    exponent = math.frexp(size)[1] if 0 < size < math.inf else 0
    return exponent if abs(exponent) > near else 0


def check_range(given: Table, scale: Scale) -> Table:
    """The rows as the engine sees them; raises DataError for weights and targets whose squares,
    which every impurity sums, are no numbers of 64 bits.
    """
    table, name = scale.table(given), given.name
    least, most = np.finfo(np.float64).tiny, np.finfo(np.float64).max
    weight = table.row_weights()
    way = "multiply the whole column by a constant that brings it near 1"
    with np.errstate(over="ignore", under="ignore"):
        if weight.min() ** 2 < least or weight.sum() ** 2 > most:
            raise DataError(
                f"the weights of {name} reach from {given.row_weights().min():g} to "
                f"{given.row_weights().max():g}, and float64 cannot hold their squares; {way}"
            )
        if table.is_regression:
            y, total = table.target.values, weight.sum()
            far = np.abs(y - y[0]).max()
            if (total * np.abs(y).max()) ** 2 > most or (far > 0 and far**2 * weight.min() < least):
                raise DataError(
                    f"target {given.target.name!r} of {name} reaches from "
                    f"{given.target.values.min():g} to {given.target.values.max():g}, and float64 "
                    f"cannot hold the squares that its variance sums; {way}"
                )
    return table


def check_costs(prices: Prices, objects: Encoded, scale: Scale) -> Prices:
    """The price list as the engine sees it; raises DataError where what a path may cost, or all
    rows may pay, is no number of 64 bits.
    """
    seen = scale.prices(prices)
    with np.errstate(over="ignore"):
        # a path asks a fixed test once, and a raw column at most once for every object
        path = seen.tests.sum() + seen.raw.sum() * objects.n_objects
        finite = np.isfinite([path * objects.weight.sum(), np.ldexp(path, scale.price)])
    if not finite.all():
        most = np.concatenate([prices.tests, prices.raw]).max()
        raise DataError(
            f"prices of up to {most:g} may add up to more than float64 can hold; divide all of "
            "them by a constant"
        )
    return seen
