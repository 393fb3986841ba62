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
            msg = f"cost.prices[{name}] must be a finite number ≥ 0; got {price!r}"
            raise DataError(msg)
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
            msg = f"cost.high must be ≥ cost.low; got high {self.high}, low {self.low}"
            raise ValueError(msg)

    def price_list(self, objects: Encoded, seed: int) -> Prices:
        generator = np.random.Generator(np.random.PCG64([seed, 0xC057]))
        n_fixed, n_raw = int(objects.test_offset[-1]), len(objects.raw_features)
        drawn = generator.integers(self.low, self.high, size=n_fixed + n_raw, endpoint=True).astype(np.float64)
        return Prices(drawn[:n_fixed], drawn[n_fixed:])


@attrs.frozen
class PerColumn:
    """A price per column, paid once per column and path: the value is known afterwards."""

    kind = "cost"
    name = "per_column"
    paper = ""
    capabilities = ()

    prices: dict[str, float] = param(attrs.Factory(dict), "column → price of its value")
    default: float = param(1.0, "price of a column that is not named", ge=0.0)

    def price_list(self, objects: Encoded, seed: int) -> Prices:
        return attrs.evolve(
            _by_column(objects, _column_prices(objects, self.prices, self.default)), once_per_column=True
        )
