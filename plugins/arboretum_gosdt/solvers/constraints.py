"""What a constrained tree keeps: rates of groups that differ by little, and boxes of cells in an
order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import attrs
import numpy as np

from arboretum.api import CapabilityError, Problem, decimal, exact_weights
from arboretum_gosdt.problem.prepared import THRESHOLDS, Merged
from arboretum_gosdt.solvers.rashomon import TreeSet

FINEST, LARGEST, SHOWN = 1 << 12, 1 << 30, 1 << 51
"""Parts of a loss in Lagrangian costs, at most, and what all objects may cost together, in these
parts, and in 1/q of them, which is what a proof can hold.
"""
GROUPS = 10
"""Values that a sensitive column of numbers may have."""
MOST_WEIGHT = 1 << 30
"""Products of two weights fit into 62 bits."""
ROUNDING = 1e-9
"""Rates that are about as close as the limit are compared in whole numbers."""


@attrs.frozen(eq=False)
class Rates:
    """By how much rates of groups differ: of every group but the first, N₀ · positives − N ·
    positives₀, sums over leaves that say yes.

    per_object : int64[objects, groups − 1].
    held : int64[objects, groups], weights.
    sizes : of the groups, the first one first.
    most : what rates may differ.
    number : 0 of all rows, 1 of those of the second class.
    """

    number: int
    per_object: np.ndarray
    held: np.ndarray
    sizes: tuple[int, ...]
    most: Fraction

    @staticmethod
    def of_groups(number: int, held: np.ndarray, names: Sequence[str], most: float) -> Rates:
        """Build the rates of groups.  Raises CapabilityError for a group without weight.

        number : of the rate.
        held : int64[objects, groups], the weight of each group that counts.
        names : of the groups, for messages.
        most : what rates may differ, a share of a group.
        """
        sizes = held.sum(axis=0)
        if (sizes == 0).any():
            raise CapabilityError(
                f"group {names[int(sizes.argmin())]!r} has no row of the second class, so "
                "that its opportunity is undefined"
            )
        return Rates(
            number,
            held[:, 1:] * sizes[0] - held[:, :1] * sizes[1:],
            held,
            tuple(sizes.tolist()),
            decimal(most),
        )

    def apart(self, group: int, other: int) -> np.ndarray:
        """Return int64[objects], what each adds to the difference of two groups where its leaf says
        yes: of their yes y and y', n' y − n y'.
        """
        apart: np.ndarray = (
            self.held[:, group] * self.sizes[other] - self.held[:, other] * self.sizes[group]
        )
        return apart

    def room(self, group: int, other: int) -> int:
        """Return the most that a sum of such differences may be."""
        return int(self.most * self.sizes[group] * self.sizes[other])

    def keeps(self, sums: Sequence[int]) -> bool:
        """Return whether a tree with these sums, one per group but the first, keeps the limit;
        exactly.
        """
        rates = [
            Fraction(0),
            *(
                Fraction(one, size * self.sizes[0])
                for one, size in zip(sums, self.sizes[1:], strict=True)
            ),
        ]
        return max(rates) - min(rates) <= self.most

    def keeps_about(self, sums: np.ndarray) -> np.ndarray:
        """Return bool[trees]: what :meth:`keeps` says, where it is not close; else True.

        sums : int64[trees, groups − 1].
        """
        rates = np.column_stack(
            [np.zeros(len(sums)), sums / (np.array(self.sizes[1:], float) * self.sizes[0])]
        )
        found: np.ndarray = np.ptp(rates, axis=1) <= float(self.most) + ROUNDING
        return found


class Price(NamedTuple):
    """What it costs that two groups of a rate differ.

    multiplier : ≥ 0, in 1/q losses per unit of their difference, as ``Rates.apart`` has it.
    """

    rate: Rates
    group: int
    other: int
    multiplier: Fraction


def _scale_of(total: int, q: int) -> int:
    """Return the parts of a loss, a power of two, where all objects cost ``total`` losses."""
    most = min(FINEST, LARGEST // max(total, 1), SHOWN // max(q * total, 1))
    return 1 << max(most.bit_length() - 1, 0)


@attrs.frozen(eq=False)
class LagrangianCost:
    """The Lagrangian relaxation of rates, an additive cost that is never above that of a tree that
    keeps them: scale · cost + q · Σ ⌊scale · Σ multiplier · differences / q⌋, less scale · Σ
    multiplier · room, shifted.

    cost : int64[objects, answers], in losses · scale.
    p, q : of a leaf and a loss.
    least : what all trees cost besides, and free : what such trees cost more than their own, in
        their unit.
    name : as a proof names it, see :mod:`arboretum.proof.constrained`.
    """

    cost: np.ndarray
    p: int
    q: int
    scale: int
    least: int
    free: Fraction
    name: tuple[Any, ...]

    @staticmethod
    def of_prices(found: TreeSet, prices: Sequence[Price]) -> LagrangianCost:
        """Build the cost of limits that have a price; of none it is the plain cost.  A tree that
        keeps a limit differs by its room at most, so that the least cost of all trees bounds those
        from below.

        found : the problem in integers; its ``merged`` has the objects.
        """
        weights, units = found.merged.weights, found.units
        cost, scale = weights.max(axis=1, keepdims=True) - weights, 1
        if prices:
            shared = units.q * math.lcm(*(one.multiplier.denominator for one in prices))
            yes = sum(
                (
                    int(shared * one.multiplier / units.q)
                    * one.rate.apart(one.group, one.other).astype(object)
                    for one in prices
                ),
                np.zeros(len(cost), object),
            )
            scale = _scale_of(int(cost.sum()) + int(np.abs(yes).sum()) // shared, units.q)
            cost *= scale
            # rounded down, which lowers the bound
            cost[:, -1] += (scale * yes // shared).astype(np.int64)
        least = cost.min(axis=1, keepdims=True)
        rooms = (one.multiplier * one.rate.room(one.group, one.other) for one in prices)
        named = [
            [one.rate.number, one.group, one.other, *one.multiplier.as_integer_ratio()]
            for one in prices
        ]
        return LagrangianCost(
            cost - least,
            scale * units.p,
            units.q,
            scale,
            units.q * int(least.sum()),
            scale * sum(rooms, Fraction()),
            (scale, units.q, named),
        )

    def bound(self, cost: int) -> Fraction:
        """Return what trees that keep the rates cost at least, in 1/q losses, where none has a
        lower Lagrangian cost than ``cost``.
        """
        return (cost + self.least - self.free) / self.scale

    def budget(self, cost: int) -> int:
        """Return the Lagrangian cost, at most, of trees that keep the rates and cost at most
        ``cost``, in 1/q losses.
        """
        return math.floor(self.scale * cost - self.least + self.free)


def rates_of(
    problem: Problem, sensitive: str, limits: Sequence[float], group: np.ndarray, objects: int
) -> list[Rates]:
    """Return the rates that are limited, those with a limit below 1.  Raises CapabilityError for a
    sensitive column that has missing values, too many or one, and for weights of too many digits.

    limits : of the rates of all rows, and of those of the second class.
    group : int64[problem's objects], which one of ``objects`` each is in.
    sensitive : the column's name; nothing: no rate is limited.
    """
    if not sensitive:
        return []
    table = problem.objects.table
    column = next(one for one in table.columns if one.name == sensitive)
    if column.has_missing:
        raise CapabilityError(
            f"the sensitive column {column.name!r} has missing values; drop those rows"
        )
    values, of = np.unique(column.values, return_inverse=True)
    if len(values) > GROUPS and not column.categories:
        raise CapabilityError(
            f"the sensitive column {column.name!r} has {len(values):,} values; make a column "
            f"of at most {GROUPS} groups of it"
        )
    if len(values) < 2:
        raise CapabilityError(
            f"all rows have one value of the sensitive column {column.name!r}; there are no "
            "groups to compare"
        )
    mass, _, error = exact_weights(table.row_weights())
    if error or mass.sum() >= MOST_WEIGHT:
        raise CapabilityError(
            "solver constrained counts weights exactly, and these have too many digits; "
            "round them to fewer"
        )
    names = [column.categories[int(one)] if column.categories else f"{one:g}" for one in values]
    at = group[problem.objects.object_of_row]
    found = []
    positive = problem.objects.label[problem.objects.object_of_row] == 1
    counted = (np.ones_like(positive), positive)
    for number, (most, rows) in enumerate(zip(limits, counted, strict=True)):
        if most < 1:
            held = np.zeros((objects, len(values)), np.int64)
            np.add.at(held, (at[rows], of.ravel()[rows]), mass[rows])
            found.append(Rates.of_groups(number, held, names, most))
    return found


def with_all_tests(found: TreeSet, first: np.ndarray) -> Merged:
    """Return the objects with every test that divides them: those that divide training rows alike
    may divide cells in other ways.

    first : int64[objects], an object of the problem for each.
    """
    tests, merged = found.tests, found.merged
    outcome = np.empty((len(tests.column), len(first)), np.bool_)
    for test, row in enumerate(outcome):
        row[:] = tests.outcome(test, first)
    kept = np.flatnonzero(outcome.any(axis=1) & ~outcome.all(axis=1))
    bits = np.zeros((4 * max(1, -(-len(kept) // 32)), len(first)), np.uint8)
    bits[: -(-len(kept) // 8)] = np.packbits(outcome[kept], axis=0, bitorder="little")
    price = np.zeros(len(kept), np.int64)
    if found.units.price_value:
        price[:] = [
            int(found.units.price_value * decimal(one)) for one in tests.price[kept].tolist()
        ]
    packed = np.ascontiguousarray(bits.T).view("<u4")
    return attrs.evolve(merged, pack=lambda: packed, codes=None, tests=kept, price=price)


def bits_to_number(bits: np.ndarray) -> int:
    """Return bool[n] as the bits of a number, the first one lowest."""
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


class Space:
    """The cells that tests can tell apart, leaves as boxes of them: bits, one for every value of
    every column that some test tells apart.
    """

    def __init__(
        self, found: TreeSet, increasing: Sequence[str], decreasing: Sequence[str]
    ) -> None:
        tests, kept = found.tests, found.merged.tests
        names = [tests.rule(int(test)).columns[0] for test in kept]
        self.whole, self.sides, self.ordered = 0, [(0, 0)] * len(kept), []
        self.columns: list[int] = []
        for name in dict.fromkeys(names):
            mine = [f for f, one in enumerate(names) if one == name]
            coded = sorted({int(tests.column[kept[f]]) for f in mine})
            if len(coded) == 1:
                codes = np.arange(int(self._highest_code(tests, coded[0])) + 1)[:, None]
            else:
                codes = np.unique(tests.codes[coded].T, axis=0)
            if name in increasing or name in decreasing:
                if len(coded) > 1 or (tests.family[coded[0]] != THRESHOLDS and len(codes) > 2):
                    raise CapabilityError(
                        f"predictions can be monotone in numbers, but {name!r} is asked by "
                        "its categories; choose encoder=midpoints or bins"
                    )
                self.ordered.append((len(self.columns), name in increasing))
            first = self.whole.bit_length()
            mask = ((1 << len(codes)) - 1) << first
            for f in mine:
                code, k = codes[:, coded.index(int(tests.column[kept[f]]))], tests.index[kept[f]]
                one = code > k if tests.family[tests.column[kept[f]]] == THRESHOLDS else code != k
                self.sides[f] = bits_to_number(one) << first, bits_to_number(~one) << first
            self.whole |= mask
            self.columns.append(mask)

        def whole_of(side: int) -> int:
            return side | (self.whole & ~self.columns[self._column_of_side(side)])

        self.sides = [(whole_of(one), whole_of(other)) for one, other in self.sides]
        self._known: dict[tuple[int, int], tuple[bool, bool]] = {}

    def _highest_code(self, tests: Any, column: int) -> int:
        """Return the highest code of a column: of a raw one that tests have, of others that the
        encoder made.
        """
        features = tests.objects.features
        return (
            features[column].n_bins - 1
            if column < len(features)
            else int(tests.codes[column].max())
        )

    def _column_of_side(self, side: int) -> int:
        return next(c for c, mask in enumerate(self.columns) if side & mask)

    def order(self, a: int, b: int) -> tuple[bool, bool]:
        """Return whether box a must say no more than b, and b no more than a: some cells of theirs
        differ in one ordered column alone.

        a, b : boxes, as numbers whose bits are values of columns.
        """
        if (a, b) not in self._known:
            shared, up, down = [bool(a & b & mask) for mask in self.columns], False, False
            for c, rising in self.ordered:
                if all(shared[:c]) and all(shared[c + 1 :]):
                    x, y = a & self.columns[c], b & self.columns[c]
                    # the lowest value of one box lies below the highest of the other
                    less = x & -x < 1 << (y.bit_length() - 1)
                    more = y & -y < 1 << (x.bit_length() - 1)
                    up, down = up or (less if rising else more), down or (more if rising else less)
            self._known[a, b] = up, down
        return self._known[a, b]
