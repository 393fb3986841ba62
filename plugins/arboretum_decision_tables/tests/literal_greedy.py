"""The greedy algorithm V_I as the paper writes it, on lists of rows and in exact arithmetic: the
truth for tests.

Alkhalid, Chikalov & Moshkov 2011, sections 3 and 4; I is evaluated on the table of the node (the
text prints T for Θ). gini, me and rt are fractions.  Entropies are sums of logarithms, to 60
digits: values closer than 1e-50 count as equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

Row = tuple[int, ...]
Decided = list[tuple[Row, int]]
"""A decision table: rows of attribute values, each with its decision."""

DIGITS = 60
EQUAL = Decimal(10) ** -50


def gini(numbers: Sequence[int]) -> Fraction:
    """1 − Σ p_i², of the numbers of rows per decision."""
    n = sum(numbers)
    return 1 - sum((Fraction(k, n) ** 2 for k in numbers), Fraction(0))


def me(numbers: Sequence[int]) -> Fraction:
    """N − max N_i."""
    return Fraction(sum(numbers) - max(numbers))


def rt(numbers: Sequence[int]) -> Fraction:
    """Pairs of rows with different decisions: N² gini / 2."""
    return sum(numbers) ** 2 * gini(numbers) / 2


def ent(numbers: Sequence[int]) -> Decimal:
    """−Σ p_i log2 p_i."""
    n = Decimal(sum(numbers))
    shares = [Decimal(k) / n for k in numbers if k]
    return -sum((p * p.ln() for p in shares), Decimal(0)) / Decimal(2).ln()


MEASURES: dict[str, Callable] = {"ent": ent, "gini": gini, "me": me, "rt": rt}
KINDS = ("max", "sum", "w_max", "w_sum")


def aggregate(kind: str, measure: str, parts: Sequence[Decided]) -> Any:
    """I(T, f) for the tables T_1 … T_t into which f divides T."""
    number = Decimal if measure == "ent" else Fraction
    n = number(sum(len(part) for part in parts))
    values = [
        MEASURES[measure](list(Counter(decision for _, decision in part).values()))
        for part in parts
    ]
    if kind.startswith("w_"):
        values = [value * number(len(part)) / n for value, part in zip(values, parts, strict=True)]
    return max(values) if kind.endswith("max") else sum(values, number(0))


def divide(table: Decided, attribute: int) -> dict[int, Decided]:
    """The subtables of an attribute, by its values."""
    parts: dict[int, Decided] = {}
    for row, decision in table:
        parts.setdefault(row[attribute], []).append((row, decision))
    return parts


def tree(table: Decided, kind: str, measure: str) -> Any:
    """The tree V_I builds: a decision, or (attribute, {value: tree})."""
    decisions = {decision for _, decision in table}
    if len(decisions) == 1:
        return decisions.pop()
    with localcontext() as context:
        context.prec = DIGITS
        best, at = None, -1
        for attribute in range(len(table[0][0])):
            parts = divide(table, attribute)
            if len(parts) < 2:
                continue
            value = aggregate(kind, measure, list(parts.values()))
            slack = EQUAL if measure == "ent" else 0
            if best is None or value < best - slack:
                best, at = value, attribute
    return at, {value: tree(part, kind, measure) for value, part in divide(table, at).items()}
