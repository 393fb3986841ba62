"""Which runs are meant: ``dataset=iris and test_error<.1``, read by a small grammar of its own.

::

    either     = all ("or" all)*
    all        = one ("and" one)*
    one        = "not" one | "(" either ")" | KEY | KEY sign VALUE | KEY ["not"] "in" list
    sign       = "=" | "==" | "!=" | "<" | "<=" | ">" | ">="
    list       = "[" VALUE ("," VALUE)* "]"

A KEY is a name with dots in it, a VALUE a number, ``true``, ``false``, ``null``, a word, or a text
in quotes.  Nothing is executed.  A run that has no such key meets no comparison, not even ``!=``.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeGuard

import attrs

from arboretum.errors import ConfigError, unknown
from arboretum.model.plain import Plain

TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<sign><=|>=|==|!=|=|<|>|\(|\)|\[|\]|,)|(?P<word>[^\s"'()\[\],=<>!]+))"""
)
ORDER: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
)
SIGNS = ("=", "==", "!=", *ORDER)
CONSTANTS: Mapping[str, bool | None] = MappingProxyType(
    {"true": True, "false": False, "null": None, "none": None}
)
WORDS = ("and", "or", "not", "in")
DEEPEST = 50  # brackets and "not" in each other

Value = str | float | bool | None


@attrs.frozen
class Comparison:
    """A key beside values.

    sign : one of SIGNS, or "in".
    """

    key: str
    sign: str
    values: tuple[Value, ...]

    def keys(self) -> Iterator[str]:
        """Yield the keys that are asked."""
        yield self.key

    def comparisons(self) -> Iterator[Comparison]:
        """Yield the comparisons that are made."""
        yield self

    def holds(self, facts: Plain) -> bool:
        """Return whether a run meets it; it does not where it lacks the key."""
        if self.key not in facts:
            return False
        found, value = facts[self.key], self.values[0]
        if self.sign in ("=", "==", "in"):
            return any(_equal(found, one) for one in self.values)
        if self.sign == "!=":
            return not _equal(found, value)
        return _comparable(found, value) and ORDER[self.sign](found, value)


@attrs.frozen
class Joined:
    """Several expressions, of which all or any must hold.

    every : all of them.
    """

    parts: tuple[Expression, ...]
    every: bool

    def keys(self) -> Iterator[str]:
        """Yield the keys that are asked."""
        for part in self.parts:
            yield from part.keys()

    def comparisons(self) -> Iterator[Comparison]:
        """Yield the comparisons that are made."""
        for part in self.parts:
            yield from part.comparisons()

    def holds(self, facts: Plain) -> bool:
        """Return whether a run meets it."""
        return (all if self.every else any)(part.holds(facts) for part in self.parts)


@attrs.frozen
class Negated:
    """What must not hold."""

    part: Expression

    def keys(self) -> Iterator[str]:
        """Yield the keys that are asked."""
        yield from self.part.keys()

    def comparisons(self) -> Iterator[Comparison]:
        """Yield the comparisons that are made."""
        yield from self.part.comparisons()

    def holds(self, facts: Plain) -> bool:
        """Return whether a run meets it."""
        return not self.part.holds(facts)


Expression = Comparison | Joined | Negated


def read_where(text: str) -> Expression:
    """Read an expression; raises ConfigError that names the place where it is none."""
    return _Reader(text).whole()


def select(runs: Sequence[Plain], where: Expression) -> list[Plain]:
    """Return the runs that meet an expression, in order.

    runs : key → value of each.

    Raises ConfigError for a key that no run has (with the closest one), and for an order between
    what is no number and a number.
    """
    known = {key for facts in runs for key in facts}
    for key in dict.fromkeys(where.keys()) if runs else ():
        if key not in known:
            raise ConfigError(unknown("key", key, sorted(known)))
    for one in where.comparisons() if runs else ():
        values = [facts[one.key] for facts in runs if facts.get(one.key) is not None]
        if one.sign in ORDER and values and not any(_comparable(v, one.values[0]) for v in values):
            raise ConfigError(
                f"{one.key} {one.sign} {one.values[0]!r} orders what has no order: {one.key} is "
                f"{values[0]!r}; = and != compare any values"
            )
    return [facts for facts in runs if where.holds(facts)]


def _equal(found: object, value: Value) -> bool:
    """Return whether a run's value is the one named; of a list, whether it is in it."""
    if isinstance(found, list | tuple):
        return any(_equal(one, value) for one in found) or (not found and value is None)
    if isinstance(found, bool) or isinstance(value, bool):
        return found is value
    if _is_number(found) and _is_number(value):
        return float(found) == float(value)
    return found is None if value is None else str(found) == str(value)


def _comparable(found: object, value: Value) -> bool:
    """Return whether two values have an order: two numbers, or two texts (dates, versions)."""
    return (_is_number(found) and _is_number(value)) or (
        isinstance(found, str) and isinstance(value, str)
    )


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def typed(text: str) -> Value:
    """Return what a word means: a number, true, false, null (none), or the word itself."""
    if (word := text.lower()) in CONSTANTS:
        return CONSTANTS[word]
    try:
        number = float(text)
    except ValueError:
        return text
    if math.isnan(number):
        return text
    return int(number) if re.fullmatch(r"[+-]?\d{1,15}", text) else number


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at = text, list(_tokens(text)), 0
        self.depth = 0

    def whole(self) -> Expression:
        """Return the whole text as an expression."""
        found = self.either()
        if self.at < len(self.tokens):
            raise self.wrong("and, or, or the end")
        return found

    def either(self) -> Expression:
        """alternatives"""
        parts = [self.all()]
        while self.takes("or"):
            parts.append(self.all())
        return parts[0] if len(parts) == 1 else Joined(tuple(parts), every=False)

    def all(self) -> Expression:
        """conjunctions"""
        parts = [self.one()]
        while self.takes("and"):
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else Joined(tuple(parts), every=True)

    def one(self) -> Expression:
        """a comparison, what is in brackets, or its contrary"""
        self.depth += 1
        if self.depth > DEEPEST:
            raise ConfigError(f"--where: more than {DEEPEST} brackets or “not” in each other")
        try:
            if self.takes("not"):
                return Negated(self.one())
            if self.takes("("):
                found = self.either()
                self.expect(")")
                return found
            return self.comparison()
        finally:
            self.depth -= 1

    def comparison(self) -> Expression:
        """KEY sign VALUE, or KEY alone for what is true"""
        kind, key = self.next("a key")
        if kind != "word" or key in WORDS:
            self.at -= 1
            raise self.wrong("a key")
        if self.takes("in"):
            return Comparison(key, "in", self.values())
        if self.takes("not"):
            self.expect("in")
            listed = Comparison(key, "in", self.values())
            return Joined((_has(key), Negated(listed)), every=True)
        if self.at < len(self.tokens) and self.tokens[self.at][1] in SIGNS:
            _, sign = self.next("a sign")
            return Comparison(key, sign, (self.value(),))
        return Comparison(key, "=", (True,))

    def values(self) -> tuple[Value, ...]:
        """a list in square brackets"""
        self.expect("[")
        found = [self.value()]
        while self.takes(","):
            found.append(self.value())
        self.expect("]")
        return tuple(found)

    def value(self) -> Value:
        """a number, a word, or a text in quotes"""
        kind, text = self.next("a value")
        if kind == "quoted":
            return re.sub(r"\\(.)", r"\1", text[1:-1])
        if kind != "word":
            self.at -= 1
            raise self.wrong("a value")
        return typed(text)

    def next(self, wanted: str) -> tuple[str, str]:
        """the next token: its kind and its text"""
        if self.at >= len(self.tokens):
            raise self.wrong(wanted)
        self.at += 1
        return self.tokens[self.at - 1][:2]

    def takes(self, text: str) -> bool:
        """whether the next token is that one, which is then behind"""
        here = self.tokens[self.at][:2] if self.at < len(self.tokens) else ("", "")
        found = here[0] != "quoted" and here[1] == text
        self.at += found
        return found

    def expect(self, text: str) -> None:
        """the next token must be that one"""
        if not self.takes(text):
            raise self.wrong(repr(text))

    def wrong(self, wanted: str) -> ConfigError:
        """what is expected, and where"""
        if self.at < len(self.tokens):
            _, token, place = self.tokens[self.at]
            return ConfigError(
                f"--where {self.text!r}: expected {wanted}, got {token!r} at character {place + 1}"
            )
        return ConfigError(f"--where {self.text!r}: expected {wanted}, but it ends there")


def _has(key: str) -> Expression:
    """Return what every run with the key meets."""
    return Joined((Comparison(key, "=", (None,)), Comparison(key, "!=", (None,))), every=False)


def _tokens(text: str) -> Iterable[tuple[str, str, int]]:
    """Yield (kind, text, place) of every token; raises ConfigError for what is none."""
    at = 0
    while text[at:].strip():
        found = TOKEN.match(text, at)
        if found is None:
            raise ConfigError(
                f"--where {text!r}: cannot read {text[at:].strip()[:20]!r}; texts with signs in "
                'them go into quotes: name="a (b)"'
            )
        kind = str(found.lastgroup)
        yield kind, found[kind], found.start(kind)
        at = found.end()
