"""The table of a search for all trees, its objects and tests in the order that is good for it, and
room for its levels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import numpy as np
from numpy.typing import DTypeLike

from arboretum.api import sure
from arboretum_gosdt.all_trees.first_tests import FirstTests
from arboretum_gosdt.problem.prepared import MANY_THRESHOLDS, THRESHOLDS, unpack_bits

if TYPE_CHECKING:
    from arboretum_gosdt.problem.prepared import Merged, Tests
    from arboretum_gosdt.sparse.node import ClosedSets


@attrs.frozen(eq=False)
class Rows:
    """A table for :class:`~arboretum_gosdt.all_trees.enumeration.AllTrees`, its objects all
    different.

    outcome : uint8[objects, tests], 0 or 1, no test constant; without objects where tests are coded
        (``are_coded``).
    cost : int64[objects, answers], what an answer costs, in whole losses.
    rows, mass : int64[objects].
    price : int64[tests], of a unit of mass.
    column : int64[tests], equal for the thresholds of a column, ascending there; None: each is of
        its own.
    codes : int32[objects, columns], how many tests of each column, which are neighbours then, have
        outcome 1, the first ones; None: they are not known, or a side needs several rows.
    """

    outcome: np.ndarray
    cost: np.ndarray
    rows: np.ndarray
    mass: np.ndarray
    price: np.ndarray
    column: np.ndarray | None = None
    codes: np.ndarray | None = None

    @staticmethod
    def of_merged(
        merged: Merged,
        cost: np.ndarray | None = None,
        column: np.ndarray | None = None,
        codes: np.ndarray | None = None,
    ) -> Rows:
        """Return the objects of :class:`arboretum_gosdt.problem.prepared.Merged`.

        cost : other costs of other answers; None: its own.
        column, codes : as of the class.
        """
        cost = merged.weights.max(axis=1, keepdims=True) - merged.weights if cost is None else cost
        outcome = np.empty((0, len(merged.tests)), np.uint8)
        if not are_coded(len(merged.tests), codes):
            outcome = unpack_outcomes(merged)
        return Rows(outcome, cost, merged.rows, merged.mass, merged.price, column, codes)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return sum(getattr(one, "nbytes", 0) for one in attrs.astuple(self, recurse=False))

    @property
    def equivalent_loss(self) -> int:
        """Losses of the objects' best answers, which every tree has."""
        return int(self.cost.min(axis=1).sum())


FEW_THRESHOLDS = 8
"""Below so many tests of a column, on average, tests have no codes."""


def are_coded(tests: int, codes: np.ndarray | None) -> bool:
    """Return whether a search reads the codes of so many tests, and no outcomes.

    codes : as of :class:`Rows`.
    """
    return codes is not None and tests >= MANY_THRESHOLDS * codes.shape[1]


def codes_of_columns(tests: Tests, merged: Merged) -> tuple[np.ndarray, np.ndarray | None]:
    """Return ``column`` and ``codes`` of :class:`Rows` for the tests that divide merged objects:
    thresholds of a column together, any other test alone; no codes where thresholds are few, or
    tests have prices.
    """
    kept, family = merged.tests, tests.family[tests.column[merged.tests]]
    new = np.diff(tests.column[kept], prepend=-1) != 0
    column = np.cumsum(new | (family != THRESHOLDS)) - 1
    columns = int(column[-1]) + 1 if len(kept) else 0
    if len(kept) < FEW_THRESHOLDS * columns or merged.units.price_value or not columns:
        return column, None
    if merged.codes is not None:
        return column, merged.codes
    codes = np.empty((len(merged.first), columns), np.int32)
    for b, at in enumerate(np.flatnonzero(np.diff(column, prepend=-1))):
        if family[at] != THRESHOLDS:
            codes[:, b] = tests.outcome(int(kept[at]), merged.first)
            continue
        cuts = tests.index[kept[column == b]]
        codes[:, b] = np.searchsorted(cuts, tests.codes[tests.column[kept[at]], merged.first])
    return column, codes


def unpack_outcomes(merged: Merged) -> np.ndarray:
    """Return the outcomes of all tests, uint8[objects, tests], from the bits."""
    return unpack_bits(merged.bits, len(merged.tests))


class Ordered(NamedTuple):
    """A table as kernels read it.

    table : a ``GraphTable``.
    order : int64[objects], which of those given each of its objects is.
    """

    table: Any
    order: np.ndarray


def make_table(
    table: Rows,
    p: int,
    q: int,
    least: int,
    known: ClosedSets | None,
    bounds: FirstTests | None = None,
) -> Ordered:
    """Return the table as kernels read it; arguments are those of ``AllTrees``.

    Mass and rows are no numbers of it where neither prices nor a least leaf ask for them.
    """
    from arboretum.kernels.solving.fingerprints import random_words
    from arboretum_gosdt.all_trees.graph import NUMBERS, GraphTable
    from arboretum_gosdt.all_trees.planes import order_table
    from arboretum_gosdt.all_trees.stumps import BITS

    n, tests, kind = len(table.cost), table.outcome.shape[1], np.int64
    excess = table.cost - table.cost.min(axis=1, keepdims=True)
    free, answers = not table.price.any(), excess.shape[1]
    # answers, the greatest excess, mass, rows
    numbers = np.zeros((n, answers + 3), kind)
    numbers[:, :answers] = excess
    if answers > 2:  # of two excesses one is 0: their sum is the greatest
        excess.max(axis=1, out=numbers[:, answers])
    if not free:
        numbers[:, answers + 1] = table.mass
    if least > 1:
        numbers[:, answers + 2] = table.rows
    coded = are_coded(tests, table.codes)
    if bounds is None:
        first = np.zeros(tests, kind) if known is None else known.first
        bounds = FirstTests(0, first, np.full((2, tests), -1))
    # objects of like numbers are neighbours
    used = numbers[:, numbers.any(axis=0)]
    order = np.lexsort(used.T[::-1]) if used.size else np.arange(n)
    amount, number, shift = numbers[order], *_binary_digits(numbers)
    lanes = _lanes(tests)
    outcome = np.zeros((0 if coded else n, lanes + _lanes(len(number))), np.uint8)
    planes = np.empty((0 if coded else tests, -(-n // 64)), np.uint64)
    codes, start = np.empty((n, 0), np.int32), np.zeros(1, kind)
    if coded:
        codes = np.ascontiguousarray(sure(table.codes)[order], np.int32)
        start = np.flatnonzero(np.diff(sure(table.column), prepend=-1, append=-1)).astype(kind)
    else:
        order_table(table.outcome, order, outcome, planes, np.empty(lanes, np.uint64))
        outcome[:, lanes : lanes + len(number)] = amount[:, number] >> shift & 1
    # one number holds how many objects there are, and both excesses
    packed = coded and answers == 2 and max(n, *excess.sum(axis=0).tolist()) < 1 << BITS
    similar = least <= 1 and free
    found = GraphTable(
        planes=planes,
        packed=outcome.view(np.uint64),
        packed_amount=amount[:, 0] << BITS | amount[:, 1] << 2 * BITS | 1 if packed else start[:0],
        codes=codes,
        start=start,
        amount=amount,
        excess=np.ascontiguousarray(excess[order], kind),
        keys=(random_words(n) if known is None else known.words).view(kind)[order],
        first_kind=np.searchsorted(number, np.arange(answers + 4)),
        shift=shift,
        price=np.ascontiguousarray(table.price, kind),
        numbers=np.array(
            [(p, q, least if least > 1 else 0, free, coded, packed, similar)],
            np.dtype((np.record, NUMBERS)),
        )[0],
        first=bounds.first.copy(),
        sides=bounds.sides.copy(),
        turn=_middle_first(table.column, tests),
    )
    return Ordered(found, order)


def bytes_of_levels(table: Any, levels: int) -> int:
    """Return about how many bytes the levels of a search take, for a ``GraphTable``."""
    words, (n, answers) = table.planes.shape[1], table.excess.shape
    if table.numbers.coded:
        words = 0
    of_tests: int = 8 * (words + answers + 21) * _lanes(len(table.price))
    of_objects: int = 24 * words * len(table.shift) + table.codes.nbytes + 8 * n
    return levels * (of_tests + of_objects)


def make_levels(table: Any, levels: int) -> tuple[Any, Any]:
    """Return ``GraphLevels``, of so many, and ``GraphScratch`` for a ``GraphTable``."""
    from arboretum_gosdt.all_trees.codes import CodeLevels
    from arboretum_gosdt.all_trees.graph import NODE, GraphLevels, GraphScratch
    from arboretum_gosdt.all_trees.planes import PlaneLevels

    words, (n, answers) = table.planes.shape[1], table.excess.shape
    packed = 0 if table.numbers.coded else words
    terms = packed * len(table.shift) + 1  # what is behind the last one is written
    lanes, kind = _lanes(len(table.price)), np.int64

    def level(*shape: int, of: DTypeLike = kind) -> np.ndarray:
        return np.zeros((levels, *shape), of)

    def room(*shape: int) -> np.ndarray:
        """Return an array that is written before it is read."""
        return np.empty((levels, *shape), kind)

    made = GraphLevels(
        objects=np.empty(n * (levels + 1) + 64, kind),
        first=np.empty(levels + 1, kind),
        bits=np.zeros(words, np.uint64),
        by_codes=CodeLevels(
            codes=level(*table.codes.shape, of=np.int32),
            column=level(lanes),
            lane_first=level(len(table.start)),
        ),
        by_planes=PlaneLevels(
            planes=level(packed, lanes, of=np.uint64),
            mask=level(terms, of=np.uint64),
            place=level(terms),
            shift=level(terms),
            end=level(answers + 4),
        ),
        node=level(of=NODE),
        test=level(lanes),
        test_cost=room(lanes),
        bound=room(lanes),
        known_bound=room(lanes),
        low=room(2, lanes),
        high=room(2, lanes),
        leaf=room(2, lanes),
        several=room(2, lanes),
        side_key=room(2, lanes, 2),
        keyed=level(lanes, of=np.bool_),
        weight=room(2, lanes),
        paired=level(lanes, of=np.bool_),
        sums=level(answers + 3, lanes),
        total=level(answers + 3),
    )
    together = np.zeros(table.packed.shape[1], np.uint64)
    scratch = GraphScratch(
        both=np.zeros((answers + 1, lanes), kind),
        side=np.zeros(words + 2, np.uint64),
        packed=np.zeros(len(table.price) + len(table.start) - 1, kind),
        objects=np.zeros(lanes, kind),
        place=np.zeros(lanes, kind),
        masks=np.zeros((packed, len(table.shift)), np.uint64),
        mask=np.zeros(terms, np.uint64),
        at=np.zeros(terms, kind),
        shift=np.zeros(terms, kind),
        given=np.zeros(8, kind),
        together=together,
        says=together.view(np.uint8),
    )
    return made, scratch


def _lanes(tests: int) -> int:
    """Return the number of tests, rounded up to a multiple of LANES."""
    from arboretum_gosdt.all_trees.codes import LANES

    return -(-tests // LANES) * LANES


def _middle_first(column: np.ndarray | None, tests: int) -> np.ndarray:
    """Return int64[tests], the order in which tests are bounded: of every column the one in the
    middle, then those in the middle of both halves, and so on.

    column : as of :class:`Rows`.
    """
    if column is None or not tests:
        return np.arange(tests)
    if (column[1:] != column[:-1]).all():  # of every column one
        return np.arange(tests)
    sizes = np.unique(column, return_counts=True)[1]
    return np.argsort(np.concatenate([_halves(size) for size in sizes.tolist()]), kind="stable")


def _halves(n: int) -> np.ndarray:
    """Return int64[n], after how many halvings of the n places each is in the middle."""
    place = np.arange(1, n + 1)
    # of n = 2^k - 1 places the k-th halving has the odd ones
    twos = np.bitwise_count((place & -place) - 1)
    made: np.ndarray = n.bit_length() - twos.astype(np.int64)
    return made


def _binary_digits(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the kinds of objects (see :mod:`arboretum_gosdt.all_trees.planes`): ``number`` and
    ``shift``, as ``GraphTable`` has them.

    numbers : int64[objects, numbers], ≥ 0.
    """
    digits = [int(most).bit_length() for most in numbers.max(axis=0, initial=0).tolist()]
    number = np.repeat(np.arange(len(digits)), digits)
    return number, np.arange(len(number)) - np.repeat(np.cumsum(digits) - digits, digits)
