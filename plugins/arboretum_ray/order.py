"""In which order answers of parts are added up: by a fixed tree over the parts, halves of halves.

Sums of weights such as 1/10 depend on the order.  The tree does not know who holds which part, so
neither do they.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import attrs

T = TypeVar("T")


@attrs.frozen
class Span:
    """The parts ``first`` … ``stop − 1``."""

    first: int
    stop: int

    def __str__(self) -> str:
        return f"parts {self.first} to {self.stop - 1}"

    @property
    def halves(self) -> tuple[Span, Span]:
        """Its two children in the tree over all parts."""
        middle = (self.first + self.stop) // 2
        return Span(self.first, middle), Span(middle, self.stop)

    def largest_within(self, other: Span) -> list[Span]:
        """The largest spans of the tree below this one that lie within another, in order."""
        if other.first <= self.first and self.stop <= other.stop:
            return [self]
        if other.stop <= self.first or self.stop <= other.first:
            return []
        left, right = self.halves
        return [*left.largest_within(other), *right.largest_within(other)]


def add_up(span: Span, known: Callable[[Span], T | None], add: Callable[[T, T], T]) -> T:
    """Return the sum over a span.   known : of smaller ones; None: add its halves."""
    if (found := known(span)) is not None:
        return found
    left, right = span.halves
    return add(add_up(left, known, add), add_up(right, known, add))
