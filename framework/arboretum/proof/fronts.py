"""All trees that cost at most so much by a line, as far as no other beats them: in false positives,
false negatives and leaves, or in their ROC curve and leaves.

C is what a tree may cost.  low(S) is a cost that no tree on the set S is below: that of a leaf or
of two leaves in which each object has its best answer, whichever is less, or what the records of
the line show::

    the set of all objects waits, with C
    from the largest set down, S waiting with the budget B:
        for each test, of the price π, that leaves enough rows on both sides, low(one) + low(rest)
        + π ≤ B:
            keep it; one waits with at least B − π − low(rest), rest with at least B − π − low(one)
    from the smallest set up:
        front(S) ← the leaf, and all pairs of a tree in front(one) and one in front(rest) of the
                   tests kept, those that cost at most B; of these such that no other beats
    front(all objects) is returned

A side has fewer objects than its set, so that B is final when S is taken.  A tree within C has
sides within their budgets.  Whoever says what beats has to show that a tree which matters still
costs at most C, and is no worse, where a part of it is replaced by one that beats that part.
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
        the others.

        members : bool[objects].
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

    has : uint8[objects, columns].   cost : int64[objects, answers], in a leaf that says so.
    held : int64[objects, n], what trees are told of a leaf, as sums.   rows : int64[objects].
    base : int64[objects], what each costs besides what records count.
    mass : int64[objects].   price : int64[columns], of a unit of mass.
    p : of a leaf.   budget : C.   depth : tests on a path; −1: any.   least : rows in a leaf.
    """

    has: np.ndarray
    cost: np.ndarray
    held: np.ndarray
    rows: np.ndarray
    base: np.ndarray
    mass: np.ndarray
    price: np.ndarray
    p: int
    budget: int
    depth: int
    least: int
    side: Side


@attrs.define(eq=False)
class Waiting:
    """A set.

    members : bool[objects].   budget : B.   path : (column, side) from the root, one of them.
    sides : the keys of both sides of the tests kept, and what the test costs.
    leaf : int64[n], what it holds.
    alike : of the first of two such keys all columns that divide the set so, and whether the sides
        are the other way round.
    mass : of the set.
    """

    members: np.ndarray
    depth: int
    budget: int
    path: tuple[tuple[int, int], ...]
    leaf: np.ndarray
    sides: list[tuple[bytes, bytes, int]] = attrs.field(factory=list)
    alike: dict[bytes, list[tuple[int, bool]]] = attrs.field(factory=dict)
    mass: int = 0


Key = bytes
Asked = Callable[[Waiting, int, int, int], int]
"""What is known of a side of a column of a set, once more than so much was asked for."""


class Trees(Protocol):
    """How the trees of a set are kept: in something that has a length, their number."""

    def of_leaf(self, held: np.ndarray) -> Any:
        """Return the trees of one leaf.   held : int64[n], the sums of what objects hold."""

    def of_sides(self, one: Any, rest: Any, budget: int, paid: int) -> Any:
        """Return those of a test, of all pairs of trees of its sides; what costs more than the
        budget may be left out.

        paid : for the test.
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
    has, n = below.has.astype(np.float64), below.cost.shape[1]
    known = (below.rows, below.cost.min(axis=1), below.base, below.mass, below.held)
    numbers = np.column_stack([below.cost, *known]).astype(np.float64)
    first = Waiting(everyone, below.depth, below.budget, (), below.held.sum(axis=0))
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
        here.mass = int(below.mass[here.members].sum())
        columns, low, price, sums = open_columns(below, here, has, numbers)
        constant, depth = sums[:, columns, n + 2], here.depth - 1 if here.depth > 0 else -1
        seen = set()
        for i in np.argsort(price, kind="stable").tolist():
            column = int(columns[i])
            room = here.budget - int(price[i])
            if low[0, i] + low[1, i] > room:
                continue
            one = here.members & (below.has[:, column] == 1)
            rest = here.members & ~one
            keys = key_of(one, depth), key_of(rest, depth)
            if keys[0] in seen:  # another column divides the set so, and costs no more
                for key, turned in ((keys[0], False), (keys[1], True)):
                    if key in here.alike:
                        here.alike[key].append((column, turned))
                continue
            seen |= {*keys}
            if ask is not None:
                for side in (0, 1):
                    goal = room - int(low[1 - side, i]) + 1
                    if low[side, i] < goal:
                        found = ask(here, column, 1 - side, goal - int(constant[side, i]))
                        low[side, i] = max(low[side, i], found + constant[side, i])
                if low[0, i] + low[1, i] > room:
                    continue
            for side, members in enumerate((one, rest)):
                budget = room - int(low[1 - side, i])
                other = sets.get(keys[side])
                if other is None:
                    path = (*here.path, (column, 1 - side))
                    leaf = sums[side, column, n + 4 :]
                    sets[keys[side]] = Waiting(members, depth, budget, path, leaf)
                    heapq.heappush(order, (-int(members.sum()), keys[side]))
                else:
                    other.budget = max(other.budget, budget)
            here.sides.append((*keys, int(price[i])))
            here.alike[keys[0]] = [(column, False)]
    return taken


def open_columns(
    below: Below, here: Waiting, has: np.ndarray, numbers: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Columns whose tests may be within the budget of a set, as counting shows, what their sides
    cost at least, int64[2, these], what the tests cost, int64[these], and the sums of both sides
    of all columns, int64[2, columns, numbers].

    has, numbers : of all objects, as floats.
    """
    rows, n = np.flatnonzero(here.members), below.cost.shape[1]
    mine = numbers[rows]
    inside = has[rows].T @ mine  # [columns, numbers]
    sums = np.stack([inside, mine.sum(axis=0) - inside]).astype(np.int64)
    depth = here.depth - 1 if here.depth > 0 else -1
    low = lows_of(below, sums, depth)
    price = below.price * here.mass
    open_ = (sums[:, :, n] >= below.least).all(axis=0)
    open_ &= low.sum(axis=0) + price <= here.budget
    columns = np.flatnonzero(open_)
    low = low[:, columns]
    if len(columns):
        known = below.side.known(here.members, columns, depth)
        low = np.maximum(low, known + sums[:, columns, n + 2])
    return columns, low, price[columns], sums


def key_of(members: np.ndarray, depth: int) -> Key:
    """The key of a set with so many tests that may follow."""
    return np.packbits(members).tobytes() + depth.to_bytes(8, "little", signed=True)


def lows_of(below: Below, sums: np.ndarray, depth: int) -> np.ndarray:
    """int64[…], what trees cost at least on sets of these sums, int64[…, numbers]: what they cost
    by answer, rows, what objects cost at least, and more.
    """
    n = below.cost.shape[1]
    leaf = sums[..., :n].min(axis=-1) + below.p
    found: np.ndarray = leaf if depth == 0 else np.minimum(leaf, 2 * below.p + sums[..., n + 1])
    return found


def fronts_of(trees: Trees, taken: list[tuple[Key, Waiting]]) -> Any:
    """The front of the first of these sets.  Raises VerificationError where more than MOST_PAIRS
    trees would be made.
    """
    front: dict[Key, Any] = {}
    pairs = 0
    for key, here in reversed(taken):
        found = [trees.of_leaf(here.leaf)]
        for one, rest, paid in here.sides:
            pairs += len(front[one]) * len(front[rest])
            if pairs > MOST_PAIRS:
                raise VerificationError(f"its fronts have more than {MOST_PAIRS:,} pairs of trees")
            found.append(trees.of_sides(front[one], front[rest], here.budget, paid))
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
        """A tree of one leaf for either answer."""
        return np.array([[held[0], 0, 1], [0, held[1], 1]])

    def of_sides(self, one: np.ndarray, rest: np.ndarray, budget: int, paid: int) -> np.ndarray:
        """All sums of a tree of the one side and a tree of the other."""
        found: np.ndarray = (one[:, None] + rest[None]).reshape(-1, 3)
        return found

    def front(self, found: list[np.ndarray], budget: int) -> np.ndarray:
        """Those within the budget that no other beats."""
        trees = np.concatenate(found)
        return unbeaten(trees[trees @ self.price <= budget])


def unbeaten(trees: np.ndarray) -> np.ndarray:
    """The rows of int64[trees, 3] without those that another row does not exceed in any number."""
    trees = np.unique(trees, axis=0)
    kept = np.empty((0, 3), np.int64)
    for first in range(0, len(trees), 256):  # what beats a tree comes before it
        some = trees[first : first + 256]
        some = some[~np.any(np.all(kept[None] <= some[:, None], axis=2), axis=1)]
        beaten = np.all(some[None] <= some[:, None], axis=2)
        some = some[~np.any(np.tril(beaten, -1), axis=1)]
        kept = np.concatenate([kept, some])
    return kept
