"""A table as the exact searches of this plugin see it: merged objects, and weights and prices as
whole numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import (
    WHOLE,
    CapabilityError,
    Context,
    Encoded,
    Family,
    Prices,
    Problem,
    refuse_unfit,
    sure,
    whole_numbers,
)
from arboretum.kernels import mark_of

if TYPE_CHECKING:
    from arboretum.interfaces.impurity import Impurity
    from arboretum_maxcost.optimal.parts import MaxCostTable


FAMILIES = {Family.multiway: 0, Family.thresholds: 1, Family.equals: 2}
"""As in arboretum.kernels.solving.rows."""
GRID = 1 << 34
"""Where decimals are too long to be whole numbers, steps of the mean."""


@attrs.frozen(eq=False)
class Space:
    """Objects, tests and the leaf rule of solver=max_cost.  Objects with equal codes and class are
    merged: no test can tell them apart.

    codes : uint8, uint16 or uint32[F, n].
    family, n_bins, first_test : int64[F].
    label : int32[n].
    count : int64[n], rows.
    weight : float64[n].
    mass : int64[n], weight = mass · unit.
    price : int64[tests], the price asked = price · coin.
    exact : no number was rounded.
    cell : int64[n], equal for objects with equal codes.
    equivalent_loss : int64[n], mass that errs in every tree (the equivalent-points bound): of the
        objects with these codes all but the majority class.
    without_error : a leaf has one class, or an impurity of at most ``delta`` (NaN: never for that
        reason), or holds objects that no test divides; otherwise every node may be a leaf, and
        errors are counted.
    impurity : component that the leaf rule asks for, or None.
    """

    objects: Encoded
    prices: Prices
    codes: np.ndarray
    family: np.ndarray
    n_bins: np.ndarray
    first_test: np.ndarray
    label: np.ndarray
    count: np.ndarray
    weight: np.ndarray
    mass: np.ndarray
    unit: Fraction
    price: np.ndarray
    coin: Fraction
    exact: bool
    cell: np.ndarray
    equivalent_loss: np.ndarray
    without_error: bool
    delta: float
    impurity: Impurity | None

    def make_table(self) -> MaxCostTable:
        """Return the table as the kernels read it, without conflict sets."""
        from arboretum.kernels.solving.fingerprints import random_words
        from arboretum_maxcost.optimal.parts import FEATURE, ROW, MaxCostTable

        n, features = self.n_objects, np.zeros(len(self.family), FEATURE)
        rows = np.zeros(n, ROW)
        for name in sure(FEATURE.names):
            features[name] = getattr(self, name)
        for name in ("label", "purity", "mass", "equivalent_loss", "count"):
            rows[name] = getattr(self, name)
        rows["words"] = random_words(n)
        return MaxCostTable(
            codes=self.codes,
            features=features,
            price=self.price,
            rows=rows,
            n_classes=self.objects.n_classes,
            conflict=np.zeros(n + 1, np.int64),
            conflict_row=np.zeros(0, np.int32),
            conflict_price=np.zeros(0, np.int64),
        )

    @property
    def n_objects(self) -> int:
        """Number of objects after merging."""
        return len(self.label)

    @property
    def total(self) -> int:
        """Mass of all objects: their weight in units of ``unit``."""
        return int(self.mass.sum())

    @property
    def contradicting(self) -> np.ndarray:
        """bool[n]: whether an object of another class has the same codes, whatever they weigh."""
        return np.asarray(np.bincount(self.cell)[self.cell] > 1)

    @property
    def purity(self) -> np.ndarray:
        """int64[n]: objects of equal purity may share a leaf without error; contradicting ones
        have a class of their own.
        """
        own = self.objects.n_classes + self.cell
        return np.where(self.contradicting, own, self.label).astype(np.int64)

    def whole_budget(self, budget: float) -> int:
        """Return the most that whole prices may add up to within a budget in the unit of prices, up
        to 1e-9 of it.
        """
        return int(min(WHOLE, math.floor(Fraction(budget) * (1 + Fraction(1, 10**9)) / self.coin)))


PER_ROW, PER_CODE, BYTES = 600, 5, 20
"""Steps for each row and each code, and bytes for each code, while equal rows are found."""


def space_of(
    problem: Problem,
    *,
    without_error: bool,
    priced: bool = True,
    solver: str = "max_cost",
    context: Context = Context(),
) -> Space:
    """Read a problem into whole numbers, equal objects of one class merged.

    without_error : as of :class:`Space`.
    priced : else every test has price 1.
    solver : the name in messages; of another than max_cost the leaf rule is left aside.
    Raises CapabilityError or DataError, with the way out, where the problem is none for the solver,
    BudgetError or OutOfTime where the context leaves too little for equal rows to be found.
    """
    objects, prices = problem.objects, problem.prices
    refuse_unfit(solver, objects, prices)
    context.check_time(2 * (PER_ROW * objects.n_objects + PER_CODE * objects.codes.size))
    context.room(
        BYTES * objects.codes.size,
        f"equal rows among {objects.n_objects:,} objects of {len(objects.features):,} columns",
    )
    labelled = np.concatenate(
        [objects.codes, objects.label[:, None]], axis=1, dtype=np.uint32, casting="unsafe"
    )
    _, index, merged = np.unique(labelled, axis=0, return_index=True, return_inverse=True)
    merged, n = merged.ravel(), len(index)
    codes = objects.codes[index]
    cell = (
        np.unique(codes, axis=0, return_inverse=True)[1].ravel()
        if codes.shape[1]
        else np.zeros(n, np.int64)
    )
    each, unit, exact = as_whole_numbers(objects.weight)
    mass = np.zeros(n, np.int64)
    np.add.at(mass, merged, each)
    price, coin, exact_prices = as_whole_numbers(
        prices.tests if priced else np.ones(len(prices.tests))
    )
    most = max((feature.n_bins for feature in objects.features), default=0)
    return Space(
        objects=objects,
        prices=prices,
        codes=np.ascontiguousarray(
            codes.T.astype(np.uint8 if most <= 256 else np.uint16 if most <= 65536 else np.uint32)
        ),
        family=np.array([FAMILIES[feature.family] for feature in objects.features], np.int64),
        n_bins=np.array([feature.n_bins for feature in objects.features], np.int64),
        first_test=objects.test_offset[:-1].astype(np.int64),
        label=np.ascontiguousarray(objects.label[index], np.int32),
        count=np.bincount(merged, objects.count, n).astype(np.int64),
        weight=np.bincount(merged, objects.weight, n),
        mass=mass,
        unit=unit,
        price=price,
        coin=coin,
        exact=exact and exact_prices,
        cell=cell.astype(np.int64),
        equivalent_loss=_equivalent_losses(cell, mass),
        without_error=without_error,
        delta=_impurity_limit_of_leaves(problem, without_error)
        if solver == "max_cost"
        else math.nan,
        impurity=problem.parts.impurity,
    )


def as_whole_numbers(numbers: np.ndarray) -> tuple[np.ndarray, Fraction, bool]:
    """Return (whole, unit, exact): int64[n] with numbers = whole · unit, for the decimals as they
    are written (0.1 is a tenth).

    numbers : float64[n].
    exact : False where they have too many digits; they are rounded down to a grid of 1 / GRID of
        their mean then.
    """
    if found := whole_numbers(numbers):
        return *found, True
    unit = Fraction(float(numbers.mean())) / GRID
    return np.floor(numbers / float(unit)).astype(np.int64), unit, False


def has_kernel(impurity: Impurity | None) -> bool:
    """Return whether an impurity has a marked kernel, which compiled searches can call."""
    return mark_of(getattr(impurity, "kernel", None)) == "impurity"


def _impurity_limit_of_leaves(problem: Problem, without_error: bool) -> float:
    """Return the impurity at or below which a node is a leaf, NaN without one.  Raises
    CapabilityError for rules that the search does not know.
    """
    rule = problem.parts.leaf_rule(
        counting_objects=True, obeyed=() if without_error else ("max_cost", "max_depth")
    )
    if rule.min_split > 2 or rule.min_objects > 2 or rule.theta > 0:
        raise CapabilityError(
            "solver max_cost knows leaf rules of purity and impurity; use stopping=[pure], "
            "stopping=[impurity], or solver=subtable_dp"
        )
    if rule.delta is None or problem.parts.impurity is None:
        return math.nan
    if not without_error:
        raise CapabilityError(
            "solver max_cost counts errors, and knows no leaf rule beside; leave "
            "stopping=[impurity] out, or use objective=zero_error"
        )
    return rule.levels(1.0)[1]


def _equivalent_losses(cell: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return int64[n]: the mass of an object where a heavier one (ties: a later one) has the same
    codes, which every tree misclassifies; else 0.

    cell : int64[n], equal for objects with equal codes.   mass : int64[n].
    """
    order = np.lexsort((mass, cell))
    last = np.append(cell[order][1:] != cell[order][:-1], True)
    found = mass.copy()
    found[order[last]] = 0
    return found
