"""Prices of tests."""

from collections.abc import Iterable, Mapping, Sequence

import attrs
import numpy as np

from arboretum.api import DataError, Encoded, Prices, TestRule, param, unknown

SIGNS = {"≤": "at_most", ">": "above", "≠": "other"}
"""First letter of an outcome's label → its name in a price list, where no sign can be written."""


def _names(label: str) -> tuple[str | None, ...]:
    """Return the names of an outcome in a price list, of one alone first."""
    return label, label.removeprefix("= "), SIGNS.get(label[0])


def _by_column(objects: Encoded, price_of: dict[str, float]) -> Prices:
    """Return the list of prices per column, spread over the tests that read it."""
    tests = [np.full(f.n_tests, price_of[f.column], float) for f in objects.features]
    return Prices(
        tests=np.concatenate(tests) if tests else np.zeros(0),
        raw=np.array([price_of[f.column] for f in objects.raw_features], float),
    )


def _known_columns(objects: Encoded, columns: Iterable[str], field: str) -> None:
    """Raise DataError on a name that is no column of the table; ``field`` is where it was given."""
    names = [column.name for column in objects.table.columns]
    for name in columns:
        if name not in names:
            raise DataError(f"cost.{field}: " + unknown("column", name, names))


def _check_price(where: str, price: float) -> None:
    if not 0 <= price < np.inf:
        raise DataError(f"cost.{where} must be a finite number ≥ 0; got {price!r}")


def _column_prices(objects: Encoded, prices: dict[str, float], default: float) -> dict[str, float]:
    """Return the price of every column that has tests, ``default`` where ``prices`` name none;
    raises DataError on a name that is no column of the table, and for a price that is no finite
    number ≥ 0.
    """
    _known_columns(objects, prices, "prices")
    for name, price in prices.items():
        _check_price(f"prices[{name}]", price)
    used = {f.column for f in objects.all_features}
    return {name: float(prices.get(name, default)) for name in used}


@attrs.frozen
class Unit:
    """Every test costs 1."""

    kind = "cost"
    name = "unit"
    paper = ""
    capabilities = ()

    def price_list(self, objects: Encoded, seed: int) -> Prices:
        """Return a price of 1 for every test, fixed or on a raw column."""
        return Prices(np.ones(objects.n_fixed), np.ones(len(objects.raw_features)))


@attrs.frozen
class TablePrices:
    """A price per column; each test on a path is paid."""

    kind = "cost"
    name = "table"
    paper = ""
    capabilities = ()

    prices: dict[str, float] = param(
        attrs.Factory(dict), "column → price of each test that reads it"
    )
    default: float = param(1.0, "price of a column that is not named", ge=0.0)

    def price_list(self, objects: Encoded, seed: int) -> Prices:
        """Return the price of its column for every test.

        Raises DataError for an unknown column, and for a price that is no finite number ≥ 0.
        """
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
        """Return the prices drawn by the seed, each of low … high alike: one per fixed test, then
        one per raw column, for all its thresholds.
        """
        generator = np.random.Generator(np.random.PCG64([seed, 0xC057]))
        n_fixed, n_raw = objects.n_fixed, len(objects.raw_features)
        drawn = generator.integers(self.low, self.high, size=n_fixed + n_raw, endpoint=True).astype(
            np.float64
        )
        return Prices(drawn[:n_fixed], drawn[n_fixed:])


@attrs.frozen
class PerColumn(TablePrices):
    """A price per column, paid once per column and path: the value is known afterwards."""

    name = "per_column"

    def price_list(self, objects: Encoded, seed: int) -> Prices:
        """Return the prices of ``table``, each paid once per column and path; raises what that
        raises.
        """
        return attrs.evolve(super().price_list(objects, seed), once_per_column=True)


@attrs.frozen
class SetUp(TablePrices):
    """A price per test, and a set-up that the columns of a group share: paid once per path, with
    the first of them.
    """

    name = "set_up"

    groups: dict[str, str] = param(
        attrs.Factory(dict), "column → its group; a column without one needs no set-up"
    )
    set_up: dict[str, float] = param(attrs.Factory(dict), "group → price of its set-up")

    def price_list(self, objects: Encoded, seed: int) -> Prices:
        """Return the price of its column for every test; the set-up of the column's group is added
        as long as the path has asked no column of that group.

        Raises DataError for an unknown column, and for a price, or the set-up of a group that is
        used, that is no finite number ≥ 0.
        """
        own = _column_prices(objects, self.prices, self.default)
        _known_columns(objects, self.groups, "groups")
        for column, group in self.groups.items():
            if not 0 <= self.set_up.get(group, np.nan) < np.inf:
                msg = (
                    f"cost.set_up.{group} must be a finite number ≥ 0, because column {column!r} "
                    "is of that group"
                )
                raise DataError(f"{msg}; got {self.set_up.get(group)!r}")

        def after(asked: frozenset[str], paid: float = 0.0) -> Prices:
            """Return the prices below a path that has asked these columns; what it paid does not
            matter.
            """
            ready = {self.groups.get(column) for column in asked}
            group = {
                column: self.groups[column]
                for column in own
                if self.groups.get(column, None) not in (None, *ready)
            }
            more = {column: self.set_up[name] for column, name in group.items()}
            return _by_column(
                objects, {column: price + more.get(column, 0.0) for column, price in own.items()}
            )

        return attrs.evolve(after(frozenset()), after=after)


@attrs.frozen
class Discount(TablePrices):
    """A price per test that falls once a column of the same group was asked on the path: what
    was prepared or drawn serves again.
    """

    name = "discount"

    groups: dict[str, str] = param(
        attrs.Factory(dict), "column → its group; a column without one keeps its price"
    )
    share: float = param(
        0.5, "what a test costs then, of its price", ge=0.0, le=1.0, unit="share of the price"
    )
    later: dict[str, float] = param(
        attrs.Factory(dict), "column → what its tests cost then, in place of the share"
    )

    def price_list(self, objects: Encoded, seed: int) -> Prices:
        """Return the price of its column for every test; once the path has asked a column of the
        same group, the column's ``later`` price, or ``share`` of the first one.

        Raises DataError for an unknown column, a price that is no finite number ≥ 0, and a later
        price of a column without a group or above its first one.
        """
        own = _column_prices(objects, self.prices, self.default)
        _known_columns(objects, self.groups, "groups")
        for column, price in self.later.items():
            if column not in self.groups:
                raise DataError("cost.later: " + unknown("column of a group", column, self.groups))
            _check_price(f"later[{column}]", price)
            if price > own.get(column, np.inf):
                raise DataError(
                    f"cost.later[{column}] must be at most its first price, {own[column]:g}; "
                    f"got {price:g}"
                )

        def after(asked: frozenset[str], paid: float = 0.0) -> Prices:
            """Return the prices below a path that has asked these columns; what it paid does not
            matter.
            """
            ready = {self.groups[column] for column in asked if column in self.groups}
            fallen = {
                column: self.later.get(column, self.share * price)
                for column, price in own.items()
                if self.groups.get(column) in ready
            }
            return _by_column(objects, own | fallen)

        return attrs.evolve(_by_column(objects, own), after=after)


@attrs.frozen
class ByOutcome:
    """A price per outcome: a finding that has to be confirmed costs more than none.

    An outcome is named by a value of its column, by ``at_most``, ``above`` or ``other`` (of all
    tests "≤", ">", "≠" of the column), or as trees print it ("≤ 2.5").  One that holds several
    values and is not named itself costs as much as the costliest of them. Thresholds that are found
    at the nodes know ``at_most`` and ``above`` alone.
    """

    kind = "cost"
    name = "by_outcome"
    paper = ""
    capabilities = ()

    prices: dict[str, dict[str, float]] = param(
        attrs.Factory(dict), "column → outcome → price of each test that ends so"
    )
    default: float = param(1.0, "price of an outcome that is not named", ge=0.0)

    def price_list(self, objects: Encoded, seed: int) -> Prices:
        """Return a price for every outcome of every test; where all outcomes of each test cost the
        same, one price per test.

        Raises DataError for an unknown column or outcome, and for a price that is no finite number
        ≥ 0.
        """
        _known_columns(objects, self.prices, "prices")
        own = {
            column: {str(outcome): float(price) for outcome, price in each.items()}
            for column, each in self.prices.items()
        }
        for column, each in own.items():
            for outcome, price in each.items():
                _check_price(f"prices[{column}][{outcome}]", price)
        values = {c.name: () if c.is_continuous else c.categories for c in objects.table.columns}
        named: dict[str, set[str]] = {
            feature.column: {SIGNS["≤"], SIGNS[">"]} for feature in objects.raw_features
        }
        rows = []
        for feature in objects.features:
            for test in range(feature.n_tests):
                rule = feature.rule(test)
                labels = [rule.outcome_label(k) for k in range(feature.arity)]
                known = named.setdefault(feature.column, set(values[feature.column]))
                known.update(name for label in labels for name in _names(label) if name)
                rows.append(
                    self._branches(
                        rule, labels, own.get(feature.column, {}), values[feature.column]
                    )
                )
        rows += [
            [own.get(feature.column, {}).get(SIGNS[sign], self.default) for sign in "≤>"]
            for feature in objects.raw_features
        ]
        for column, each in own.items():
            for outcome in each:
                if outcome not in named.get(column, each):  # the encoder may leave a column out
                    raise DataError(
                        f"cost.prices[{column}]: " + unknown("outcome", outcome, named[column])
                    )
        n, most = len(objects.raw_features), max(map(len, rows), default=1)
        listed = Prices.by_outcome(
            np.array([[*row, *[np.nan] * (most - len(row))] for row in rows], float), n
        )
        # then exact solvers and kernels know the list, too
        alike = all(len(set(row)) == 1 for row in rows)
        return attrs.evolve(listed, outcomes=None) if alike else listed

    def _branches(
        self, rule: TestRule, labels: Sequence[str], own: Mapping[str, float], values: Sequence[str]
    ) -> list[float]:
        """Return the price of each outcome of a fixed test.

        own : of its column, by name.
        values : of its column, where they are categories.
        """
        if not own:
            return [self.default] * len(labels)
        held: list[list[float]] = [[] for _ in labels]
        for value in values:
            if (outcome := rule.outcome_of({rule.columns[0]: value})) >= 0:
                held[outcome].append(own.get(value, self.default))
        reported = (
            next((own[name] for name in _names(label) if name and name in own), None)
            for label in labels
        )
        return [
            max(some, default=self.default) if price is None else price
            for price, some in zip(reported, held, strict=True)
        ]
