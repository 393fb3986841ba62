"""All trees that cost at most so much by a line, as far as no other beats them: in false positives,
false negatives and leaves, or in their ROC curve and leaves.

C is what a tree may cost.  low(S) is a cost that no tree on the set S is below: that of a leaf or
of two leaves in which each object has its best answer, whichever is less, or what the records of
the line show::

    the set of all objects waits, with C
    from the largest set down, S waiting with the budget B:
        for each test that leaves enough rows on both sides, low(one) + low(rest) ≤ B:
            keep it; one waits with at least B − low(rest), rest with at least B − low(one)
    from the smallest set up:
        front(S) ← the leaf, and all pairs of a tree in front(one) and one in front(rest) of the
                   tests kept, those that cost at most B; of these such that no other beats
    front(all objects) is returned

A side has fewer objects than its set, so that B is final when S is taken.  A tree within C has
sides within their budgets; a side's tree that another beats costs no less (which whoever says what
beats has to show), and whatever stands beside it, the whole is no better with it than with the
other.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, Protocol

import attrs
import numpy as np

from arboretum.errors import VerificationError
from arboretum.proof import records
from arboretum.proof.additive import Additive, words_of

MOST_SETS, MOST_PAIRS = 3_000, 1 << 26
"""Sets that are gone through, and pairs of trees of two sides, so that a check ends, whatever
somebody made of a log.
"""


@attrs.frozen(eq=False)
class Side:
    """What the records of a line know of sides.   kept : bool[objects], those that they count."""

    rules: Additive
    kept: np.ndarray

    def known(self, members: np.ndarray, columns: np.ndarray, depth: int) -> np.ndarray:
        """int64[2, columns], of both sides of columns of a set: of the objects that have it, and of
        the others.   members : bool[objects].
        """
        ground, log = self.rules.ground, self.rules.log
        mask = words_of(members[None, self.kept].astype(np.uint8))[0]
        out = np.empty((2, len(columns)), np.int64)
        room = np.empty((2, len(mask)), np.uint64)
        records.known_of_sides(ground, log, mask, columns, depth, room, out)
        return out


@attrs.frozen(eq=False)
class Below:
    """Which trees are gone through.

    has : uint8[objects, columns].   weights : int64[objects, 3], of both classes, and rows.
    answers : int64[answers, 2], what a weight of each class costs in a leaf that says so.
    base : int64[objects], what each costs besides what records count.
    p : of a leaf.   budget : C.   depth : tests on a path; −1: any.   least : rows in a leaf.
    """

    has: np.ndarray
    weights: np.ndarray
    answers: np.ndarray
    base: np.ndarray
    p: int
    budget: int
    depth: int
    least: int
    side: Side


@attrs.define(eq=False)
class Waiting:
    """A set.

    members : bool[objects].   budget : B.   path : (column, side) from the root, one of them.
    sides : the keys of both sides of the tests kept.   leaf : int64[3], its weights.
    """

    members: np.ndarray
    depth: int
    budget: int
    path: tuple[tuple[int, int], ...]
    leaf: np.ndarray
    sides: list[tuple[bytes, bytes]]


Key = bytes
Asked = Callable[[Waiting, int, int, int], int]
"""What is known of a side of a column of a set, once more than so much was asked for."""


class Trees(Protocol):
    """How the trees of a set are kept: in something that has a length, their number."""

    def of_leaf(self, held: np.ndarray) -> Any:
        """Return the trees of one leaf.   held : int64[3], weights of both classes, and rows."""

    def of_sides(self, one: Any, rest: Any, budget: int) -> Any:
        """Return those of a test, of all pairs of trees of its sides; what costs more than the
        budget may be left out.
        """

    def front(self, found: list[Any], budget: int) -> Any:
        """Return those of several that cost at most the budget, but for such as others beat."""


def all_below(
    below: Below, trees: Trees, ask: Asked | None = None, most_sets: int = MOST_SETS
) -> Any:
    """Return the trees of all objects that cost at most the budget and that no other beats.

    ask : shows more of a side (:mod:`arboretum.proof.extract_lines`), before its set is taken.
    Raises VerificationError where more sets would be gone through than ``most_sets``.
    """
    return fronts_of(trees, sets_below(below, ask, most_sets))


def sets_below(below: Below, ask: Asked | None, most_sets: int) -> list[tuple[Key, Waiting]]:
    """The sets that trees within the budget meet, the largest first, with the tests kept."""
    everyone = np.ones(len(below.has), np.bool_)
    has, weights = below.has.astype(np.float64), below.weights
    cheapest = (weights[:, :2] @ below.answers.T).min(axis=1)
    numbers = np.column_stack([weights, cheapest, below.base]).astype(np.float64)
    first = Waiting(everyone, below.depth, below.budget, (), weights.sum(axis=0), [])
    sets: dict[Key, Waiting] = {key_of(everyone, below.depth): first}
    order = [(-len(everyone), next(iter(sets)))]
    taken: list[tuple[Key, Waiting]] = []
    while order:
        key = heapq.heappop(order)[1]
        here = sets[key]
        taken.append((key, here))
        if len(taken) > most_sets:
            raise VerificationError(f"its fronts go through more than {most_sets:,} sets")
        if here.depth == 0:
            continue
        rows = np.flatnonzero(here.members)
        mine = numbers[rows]
        inside = has[rows].T @ mine  # [columns, 5]
        sums = np.stack([inside, mine.sum(axis=0) - inside]).astype(np.int64)
        depth = here.depth - 1 if here.depth > 0 else -1
        low = lows_of(below, sums, depth)
        open_ = (sums[:, :, 2] >= below.least).all(axis=0) & (low.sum(axis=0) <= here.budget)
        columns = np.flatnonzero(open_)
        if not len(columns):
            continue
        low = low[:, columns]
        constant = sums[:, columns, 4]
        known = below.side.known(here.members, columns, depth) + constant
        low = np.maximum(low, known)
        seen = set()
        for i, column in enumerate(columns.tolist()):
            if low[0, i] + low[1, i] > here.budget:
                continue
            one = here.members & (below.has[:, column] == 1)
            rest = here.members & ~one
            keys = key_of(one, depth), key_of(rest, depth)
            if keys[0] in seen:
                continue  # another column divides the set so
            seen |= {*keys}
            if ask is not None:
                for side in (0, 1):
                    goal = here.budget - int(low[1 - side, i]) + 1
                    if low[side, i] < goal:
                        found = ask(here, column, 1 - side, goal - int(constant[side, i]))
                        low[side, i] = max(low[side, i], found + constant[side, i])
                if low[0, i] + low[1, i] > here.budget:
                    continue
            for side, members in enumerate((one, rest)):
                budget = here.budget - int(low[1 - side, i])
                other = sets.get(keys[side])
                if other is None:
                    path = (*here.path, (column, 1 - side))
                    leaf = sums[side, column, :3]
                    sets[keys[side]] = Waiting(members, depth, budget, path, leaf, [])
                    heapq.heappush(order, (-int(members.sum()), keys[side]))
                else:
                    other.budget = max(other.budget, budget)
            here.sides.append(keys)
    return taken


def key_of(members: np.ndarray, depth: int) -> Key:
    """Of a set and the tests that may follow."""
    return np.packbits(members).tobytes() + depth.to_bytes(8, "little", signed=True)


def lows_of(below: Below, sums: np.ndarray, depth: int) -> np.ndarray:
    """int64[…], what trees cost at least on sets of these sums, int64[…, 5]: weights of both
    classes, rows, what objects cost at least, and besides what records count.
    """
    leaf = (sums[..., :2] @ below.answers.T).min(axis=-1) + below.p
    found: np.ndarray = leaf if depth == 0 else np.minimum(leaf, 2 * below.p + sums[..., 3])
    return found


def fronts_of(trees: Trees, taken: list[tuple[Key, Waiting]]) -> Any:
    """The front of the first of these sets.  Raises VerificationError where more than MOST_PAIRS
    trees would be made.
    """
    front: dict[Key, Any] = {}
    pairs = 0
    for key, here in reversed(taken):
        found = [trees.of_leaf(here.leaf)]
        for one, rest in here.sides:
            pairs += len(front[one]) * len(front[rest])
            if pairs > MOST_PAIRS:
                raise VerificationError(f"its fronts have more than {MOST_PAIRS:,} pairs of trees")
            found.append(trees.of_sides(front[one], front[rest], here.budget))
        front[key] = trees.front(found, here.budget)
    return front[taken[0][0]]


@attrs.frozen(eq=False)
class CountedTrees:
    """Trees as int64[trees, 3]: false positives, false negatives and leaves.  One beats another
    that has no less of any; that costs no less, as no price is below 0.

    price : int64[3], what each of these costs.
    """

    price: np.ndarray

    def of_leaf(self, held: np.ndarray) -> np.ndarray:
        """By both answers."""
        return np.array([[held[0], 0, 1], [0, held[1], 1]])

    def of_sides(self, one: np.ndarray, rest: np.ndarray, budget: int) -> np.ndarray:
        """All sums of two."""
        found: np.ndarray = (one[:, None] + rest[None]).reshape(-1, 3)
        return found

    def front(self, found: list[np.ndarray], budget: int) -> np.ndarray:
        """Those within the budget that no other beats."""
        trees = np.concatenate(found)
        return unbeaten(trees[trees @ self.price <= budget])


def unbeaten(trees: np.ndarray) -> np.ndarray:
    """Those of int64[trees, 3] of which no other has no more of all three numbers."""
    trees = np.unique(trees, axis=0)
    kept = np.empty((0, 3), np.int64)
    for first in range(0, len(trees), 256):  # what beats a tree comes before it
        some = trees[first : first + 256]
        some = some[~np.any(np.all(kept[None] <= some[:, None], axis=2), axis=1)]
        beaten = np.all(some[None] <= some[:, None], axis=2)
        some = some[~np.any(np.tril(beaten, -1), axis=1)]
        kept = np.concatenate([kept, some])
    return kept
