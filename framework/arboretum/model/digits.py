"""How the numbers of tests are written: as short as a reader likes them, and as long as they must
be to part the same rows.

A threshold lies half-way between two values, so it has more digits than either.  Six are shown, and
more only where six would move it across a value of the training rows, or make two thresholds of one
column look alike.  A test holds the number of digits (``digits``), since its tree does not hold the
rows; it is no part of what the test asks, and tests that differ in it alone are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from arboretum.model.dates import date_number, spell_date
from arboretum.model.plain import Plain

if TYPE_CHECKING:
    from arboretum.model.rules import TestRule
    from arboretum.model.table import Table
    from arboretum.model.tree import Tree

SIX = 6
"""Significant digits that are shown where they suffice."""
ALL = 17
"""Significant digits that tell any two numbers of 64 bits apart."""
SORTED = 16
"""Cuts of a column above which its values are sorted once rather than counted for each cut."""


def spell(value: float, unit: str = "", digits: int = SIX) -> str:
    """Write a number the way a reader would: six significant digits, whole numbers in full, no
    trailing ``.0``.

    unit : of dates ("days", "seconds", … since 1970-01-01): the number is a bound on them and is
        written as one.
    digits : significant ones, where more than six are needed; those that change nothing are left
        out.
    """
    if unit:
        return spell_date(value, unit, digits)
    short = f"{value:.{SIX}g}"
    if digits > SIX:
        wanted = float(f"{value:.{digits}g}")
        short = next(
            text for k in range(SIX, digits + 1) if float(text := f"{value:.{k}g}") == wanted
        )
    return f"{value:.15g}" if "e+" in short and abs(value) < 1e15 else short


def digits_shown() -> Any:
    """Return the field ``digits`` of a test: significant digits in which its words show its
    numbers.
    """
    within = [attrs.validators.instance_of(int), attrs.validators.ge(SIX), attrs.validators.le(ALL)]
    return attrs.field(default=SIX, eq=False, kw_only=True, validator=within)


def as_shown(value: float, unit: str, digits: int) -> float:
    """Return the number that :func:`spell` writes."""
    text = spell(value, unit, digits)
    date = date_number(text, unit) if unit else None
    return float(text.split()[0]) if date is None else date


def legible(rules: Sequence[TestRule], table: Table | None = None) -> tuple[TestRule, ...]:
    """Return the same tests, each with so many digits that its words, read back, part the rows of a
    table as the test does.

    table : the training rows; None: only different cuts of a column are kept from looking alike.
        Tests of plugins are looked at where they have the field ``digits``; those that give degrees
        by which side has the larger one.
    """
    digits = [getattr(rule, "digits", SIX) for rule in rules]
    by_column: dict[str, list[int]] = {}
    for number, rule in enumerate(rules):
        if hasattr(rule, "digits") and rule.cuts:
            by_column.setdefault(rule.columns[0], []).append(number)
        elif hasattr(rule, "digits") and rule.cuts is None and table is not None:
            digits[number] = _digits_that_replay(rule, table)
    for name, numbers in by_column.items():
        values = np.empty(0) if table is None else table.column(name).values
        for number, found in zip(
            numbers, _column_digits([rules[number] for number in numbers], values), strict=True
        ):
            digits[number] = found
    return _with_given_digits(rules, digits)


def legible_tree(tree: Tree, table: Table) -> Tree:
    """Return the tree, the given one itself where that is so, with its tests made
    :func:`legible`.
    """
    rules = legible(tree.rules, table)
    return tree if digits_of(rules) == digits_of(tree.rules) else attrs.evolve(tree, rules=rules)


def _with_given_digits(rules: Sequence[Any], digits: Sequence[int]) -> tuple[TestRule, ...]:
    """The tests with so many digits each; one without the field stays as it is."""
    return tuple(
        rule if n == getattr(rule, "digits", n) else attrs.evolve(rule, digits=n)
        for rule, n in zip(rules, digits, strict=True)
    )


def _column_digits(rules: Sequence[Any], values: np.ndarray) -> list[int]:
    """Digits of each test on one continuous column: the fewest with which every cut has the same
    values below it as before, and no two cuts look alike.

    values : of the column, NaN = missing.
    """
    unit = getattr(rules[0], "unit", "")
    owner = np.repeat(np.arange(len(rules)), [len(rule.cuts) for rule in rules])
    cuts, digits = np.array([cut for rule in rules for cut in rule.cuts]), np.full(len(rules), SIX)
    rank = _rank_function(values, len(cuts))
    shown, below = np.array([as_shown(cut, unit, SIX) for cut in cuts.tolist()]), rank(cuts)
    longer = np.unique(owner[(rank(shown) != below) | _shown_alike(shown, cuts)])
    while len(longer):
        digits[longer] += 1
        at = np.flatnonzero(np.isin(owner, longer))
        shown[at] = [as_shown(float(cuts[i]), unit, int(digits[owner[i]])) for i in at]
        amiss = _shown_alike(shown, cuts)
        amiss[at] |= rank(shown[at]) != below[at]
        longer = np.unique(owner[amiss])
        longer = longer[digits[longer] < ALL]
    return digits.tolist()


def _shown_alike(shown: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Return bool[cuts]: whether another cut is shown as the same number."""
    order, found = np.lexsort((cuts, shown)), np.zeros(len(cuts), bool)
    shown, cuts = shown[order], cuts[order]  # differences may exceed float64
    same = np.flatnonzero((shown[1:] == shown[:-1]) & (cuts[1:] != cuts[:-1]))
    found[order[same]] = found[order[same + 1]] = True
    return found


def _rank_function(values: np.ndarray, n_bounds: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of bounds, float64[bounds], none NaN: int64[bounds], how many values are at
    or below each; NaN among the values counts nowhere.

    n_bounds : how many a call asks for; above SORTED the values are sorted once.
    """
    if n_bounds > SORTED:
        ordered = np.sort(values).astype(np.float64)  # NaN comes last
        return lambda bounds: np.searchsorted(ordered, bounds, side="right")
    return lambda bounds: np.array(
        [np.count_nonzero(values <= _largest_at_most(bound, values.dtype)) for bound in bounds],
        np.int64,
    )


def _largest_at_most(bound: float, dtype: np.dtype) -> Any:
    """Return the largest number of a type that is at most ``bound``: to compare with it is to
    compare with the bound, without a copy of the values.
    """
    with np.errstate(over="ignore"):
        near = dtype.type(bound)
        return np.nextafter(near, dtype.type(-math.inf)) if np.float64(near) > bound else near


def _digits_that_replay(rule: TestRule, table: Table) -> int:
    """Digits of a test that reads several columns, or of degrees: as many as send every row
    where the test does.
    """
    rows = np.arange(table.n_rows)
    sent = _where_rows_go(rule, table, rows)
    return next(
        (
            n
            for n in range(SIX, ALL)
            if np.array_equal(_where_rows_go(_round_numbers(rule, n), table, rows), sent)
        ),
        ALL,
    )


def _where_rows_go(rule: TestRule, table: Table, rows: np.ndarray) -> np.ndarray:
    """int32[n] outcomes of rows; of a test of degrees bool[n, arity], which side has the most."""
    return rule.degrees(table, rows) > 0.5 if rule.fuzzy else rule.outcomes(table, rows)


def _round_numbers(rule: TestRule, digits: int) -> TestRule:
    """Return the test whose numbers are those that its words would hold."""
    unit = getattr(rule, "unit", "")

    def shown(value: object) -> object:
        """A field with its numbers, those of a tuple too, as they are shown."""
        if isinstance(value, tuple):
            return tuple(map(shown, value))
        return as_shown(value, unit, digits) if isinstance(value, float) else value

    return attrs.evolve(
        rule, **{field.name: shown(getattr(rule, field.name)) for field in attrs.fields(type(rule))}
    )


def with_all_digits(rules: Sequence[TestRule], columns: Container[str]) -> tuple[TestRule, ...]:
    """Return the tests with the numbers of these columns written in full."""
    wanted = [
        ALL if any(name in columns for name in rule.columns) else getattr(rule, "digits", SIX)
        for rule in rules
    ]
    return _with_given_digits(rules, wanted)


def digits_of(rules: Sequence[object]) -> list[int]:
    """Digits of each test, for storage; [] where all show six."""
    found = [getattr(rule, "digits", SIX) for rule in rules]
    return [] if set(found) <= {SIX} else found


def with_digits(rules: Sequence[TestRule], stored: Plain) -> tuple[TestRule, ...]:
    """Return the tests of a stored tree, which says under "digits" how they are shown; what an
    older one does not say is made up for without its rows.

    Raises ValueError for another number of them than tests.
    """
    if "digits" not in stored:
        return legible(rules)
    if len(stored["digits"]) != len(rules):
        raise ValueError(
            f"digits must have one number per test, {len(rules)}; got {len(stored['digits'])}"
        )
    return _with_given_digits(rules, stored["digits"])
