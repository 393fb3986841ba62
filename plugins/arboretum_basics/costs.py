"""Prices of tests."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.api import DataError, Encoded, Prices, param, unknown


def _by_column(objects: Encoded, price_of: dict[str, float]) -> Prices:
    """Spread prices per column over the tests that read it."""
    tests = [np.full(f.n_tests, price_of[f.column], np.float64) for f in objects.features]
    return Prices(
        tests=np.concatenate(tests) if tests else np.zeros(0),
        raw=np.array([price_of[f.column] for f in objects.raw_features], np.float64),
    )


def _column_prices(objects: Encoded, prices: dict[str, float], default: float) -> dict[str, float]:
    """Price of every column; raises DataError on a name that is no column of the table."""
    names = [column.name for column in objects.table.columns]
    for name, price in prices.items():
        if name not in names:
            raise DataError("cost.prices: " + unknown("column", name, names))
        if not 0 <= price < np.inf:
            raise DataError(f"cost.prices[{name}] must be a finite number ≥ 0; got {price!r}")
    used = {f.column for f in (*objects.features, *objects.raw_features)}
    return {name: float(prices.get(name, default)) for name in used}


@attrs.frozen
class Unit:
    """Every test costs 1."""

    kind = "cost"
    name = "unit"
    paper = ""
    capabilities = ()

    def price_list(self, objects: Encoded, seed: int) -> Prices:
        return Prices(np.ones(int(objects.test_offset[-1])), np.ones(len(objects.raw_features)))


@attrs.frozen
class TablePrices:
    """A price per column; each test on a path is paid."""

    kind = "cost"
    name = "table"
    paper = ""
    capabilities = ()

    prices: dict[str, float] = param(attrs.Factory(dict), "column → price of each test that reads it")
    default: float = param(1.0, "price of a column that is not named", ge=0.0)

    def price_list(self, objects: Encoded, seed: int) -> Prices:
        return _by_column(objects, _column_prices(objects, self.prices, self.default))


@attrs.frozen
class RandomIntegers:
    """Independent uniform integers per test (Zhang & Gionis, section 6: 1 to 10)."""

    kind = "cost"
    name = "random"
    paper = "Zhang & Gionis 2023, section 6"
    capabilities = ("randomised",)

    low: int = param(1, "smallest price", ge=0)
    high: int = param(10, "largest price", ge=0)

    def __attrs_post_init__(self) -> None:
        if self.high < self.low:
            raise ValueError(f"cost.high must be ≥ cost.low; got high {self.high}, low {self.low}")

    def price_list(self, objects: Encoded, seed: int) -> Prices:
        generator = np.random.Generator(np.random.PCG64([seed, 0xC057]))
        n_fixed, n_raw = int(objects.test_offset[-1]), len(objects.raw_features)
        drawn = generator.integers(self.low, self.high, size=n_fixed + n_raw, endpoint=True).astype(np.float64)
        return Prices(drawn[:n_fixed], drawn[n_fixed:])


@attrs.frozen
class PerColumn(TablePrices):
    """A price per column, paid once per column and path: the value is known afterwards."""

    name = "per_column"

    def price_list(self, objects: Encoded, seed: int) -> Prices:
        return attrs.evolve(super().price_list(objects, seed), once_per_column=True)


@attrs.frozen
class SetUp(TablePrices):
    """A price per test, and a set-up that the columns of a group share: paid once per path, with the first of them."""

    name = "set_up"

    groups: dict[str, str] = param(attrs.Factory(dict), "column → its group; a column without one needs no set-up")
    set_up: dict[str, float] = param(attrs.Factory(dict), "group → price of its set-up")

    def price_list(self, objects: Encoded, seed: int) -> Prices:
        own = _column_prices(objects, self.prices, self.default)
        names = [column.name for column in objects.table.columns]
        for column, group in self.groups.items():
            if column not in names:
                raise DataError("cost.groups: " + unknown("column", column, names))
            if not 0 <= self.set_up.get(group, np.nan) < np.inf:
                msg = f"cost.set_up.{group} must be a finite number ≥ 0, because column {column!r} is of that group"
                raise DataError(f"{msg}; got {self.set_up.get(group)!r}")

        def after(asked: frozenset[str], paid: float = 0.0) -> Prices:
            ready = {self.groups.get(column) for column in asked}
            group = {column: self.groups[column] for column in own if self.groups.get(column, None) not in (None, *ready)}
            more = {column: self.set_up[name] for column, name in group.items()}
            return _by_column(objects, {column: price + more.get(column, 0.0) for column, price in own.items()})

        return attrs.evolve(after(frozenset()), after=after)
