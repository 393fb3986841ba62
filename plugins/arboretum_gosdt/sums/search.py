"""The least sum of leaf costs + p · leaves over trees of binary tests, for any cost of sums.

Objects are rows that all tests see alike; M are their moments.  Kernels count sums
(:mod:`.pairs`) and keep bounds (:mod:`.sides`); the leaf cost c is the author's Python, asked of
some ten thousand leaves at once, whatever sets they belong to::

    for d = 3, 4, … as long as a deeper tree, of d + 2 leaves at least, may cost less than the best:
        solve(all objects, d, the best)
    solve(S, d, budget):                                  # trees of at most d tests on a path
        leaf = c(Σ M) + p;  none below 2p + Σ c(each object's M), where c is superadditive
        d = 0 or that is no better: the leaf
        count S; two[side, i] = the best of one and two leaves on each side of each test
        d ≤ 2: best over i of two[0, i] + two[1, i]
        else:  low, high of the sides of all tests                                 (bound_sides)
               while some low[0, i] + low[1, i] < min(upper of S, budget):
                   sides = the next open ones                                     (choose_sides)
                   of two levels: count them together; take their trees
                   of more: solve it, with what the other side leaves of the budget
                   upper of S = min over i of high[0, i] + high[1, i]

Invariants: low is only raised, upper only lowered.  A set that is remembered has a lower bound for
its depth, and a tree of no more than its depth.

What rounding does.  Sums are exact in two words (``exact_sums``), and c is asked of their floats,
whatever they were made of: a set has one cost, that of its definition.  Costs are added as floats:
of n leaves a sum is off by n · 2⁻⁵³ of itself, below half of TOLERANCE, or of n · 2⁻⁵², of what the
objects cost apart and together.  But c is superadditive as a real function, and what the author's
floats make of it may be less for a set than for its objects apart; a root of a difference near 0 is
off by 1e-8.  c's own rounding is taken to be that of sums moved by MOVED, as it is of a function
of some operations; a tree that is compared with its objects is off by the rounding of its leaves
and of these objects, and the leaves of one are taken to round no more than the root's or than all
objects apart.  Bounds are lowered by ``slack``, both together, and where that is more than a gap
that counts as none, a run is proven up to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import attrs
import numpy as np

from arboretum.api import ContractError
from arboretum.kernels.solving.fingerprints import random_words
from arboretum.kernels.solving.memo import MemoArrays
from arboretum_gosdt.sums.pairs import (
    POSITION,
    SumsBatch,
    SumsNode,
    SumsTable,
    count_node,
    fill_cells,
    open_node,
    open_sides,
    open_whole,
    take_cells,
)
from arboretum_gosdt.sums.sides import (
    NOTHING,
    Memo,
    Sides,
    bound_sides,
    choose_sides,
    enter_set,
    enter_side,
    keep_bounds,
    take_side,
    take_two_levels,
)

TOLERANCE = 1e-12
"""Share of the absolute costs of all objects as leaves, and of the root as a leaf, by which sums
may be off, at least; more where objects are many.
"""
MOVED = 2.0**-50
"""By this share a sum is moved to see what rounding makes of its leaf: some roundings of its own
operations.
"""
CELLS = 1 << 14
"""Leaves that are asked at once: their sums and what is made of them stay in a core's cache."""
MOST_SETS = 32
"""Sets that are counted together."""
DEEP = 1 << 20
"""Tests on a path: any number."""
FEW_LEVELS = 4
"""Trees of so many levels are looked for at once; deeper ones after those of one level less."""
MOST_COMPARED = 2000
"""Tests whose sides are compared in pairs, a byte each."""
PAIRS_BYTES = 1 << 28
"""Bytes for the sums of pairs that are kept on the way down."""


class OutOfBudget(Exception):
    """Seconds or bytes ran out below; ``what`` says which."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


@attrs.frozen
class Shown:
    """No tree of at most ``depth`` tests on a path costs less than ``bound`` on the set that a path
    of (test, outcome) leads to.
    """

    path: tuple[tuple[int, int], ...]
    bound: float
    depth: int


class SumsSearch:
    """Minimise Σ leaf(sums) + p · leaves.

    outcome : uint8[objects, tests], 0 or 1, no two alike.
    moments : float64[objects, k]; rows : int64[objects], training rows.
    leaf : float64[…, k] → float64[…].
    superadditive : whether a set costs no less than its objects, each a leaf.
    p : of a leaf, ≥ 0.   depth : tests on a path, at most.   least : rows in a leaf.
    group : None, or int64, the object that each row of ``moments`` is of.
    lower, upper : proven bound, cost of the best tree.
    sizes, slack : what objects cost apart and together, and what rounding may take from the bound.
    shown : None, or what is shown of sets, in the order in which it follows, once it is a list.
    subproblems : sets whose pairs were counted.
    """

    def __init__(
        self,
        outcome: np.ndarray,
        moments: np.ndarray,
        rows: np.ndarray,
        leaf: Callable[[np.ndarray], np.ndarray],
        *,
        superadditive: bool,
        p: float,
        depth: int = DEEP,
        least: int = 1,
        group: np.ndarray | None = None,
    ) -> None:
        n, self._k = len(outcome), moments.shape[1]
        self._leaf, self.p, self.depth, self.least = leaf, p, min(depth, n - 1), least
        counted = exact_sums(np.asarray(moments, np.float64), rows, group)
        self._low, self._digits = counted.low, counted.digits
        apart = self._rounded(counted.sums.T)
        alone = self._ask(apart)
        if superadditive:  # of NaN no bound could be made
            refuse_nan(alone, apart)
        self._floor = superadditive and bool(np.isfinite(alone).all())
        self._compare = self._floor and least <= 1 and bool((rows > 0).all())
        self._rows = counted.rows
        cost = self._cost_of(counted.sums.sum(axis=0))
        sizes = np.abs(alone[np.isfinite(alone)])  # of objects that may be leaves by themselves
        self.sizes = float(sizes.sum() + abs(cost))
        self.slack = max(TOLERANCE, n * 2.0**-52) * self.sizes
        if self._floor:
            whole = self._rounded(counted.sums.sum(axis=0)[:, None])
            self.slack += 2 * (self._own_rounding(apart) + self._own_rounding(whole))
        self._alone = float(alone.sum()) if self._floor else NOTHING
        self._negated = 2 * outcome.sum(axis=0, dtype=np.int64) > n
        inside = outcome.astype(bool) ^ self._negated
        self._table = table_of(inside, counted, alone if self._floor else np.zeros(n))
        self.subproblems, self._known = 0, 1
        self._batch = self._allocate()
        self._arrays = MemoArrays(
            {"lower": float, "upper": float, "first": np.int64, "one": np.int64, "rest": np.int64}
        )
        self._memo = Memo._make(self._arrays.values())
        own = self._table.words.sum(axis=0, dtype=np.uint64)
        enter_set(self._memo, own, self.depth, 0)
        self._memo.upper[0] = cost
        self._memo.lower[0] = min(cost, 2 * p + self._alone) if self.depth else cost
        self.shown: list[Shown] | None = None
        self._held, self._path = 0, list[tuple[int, int]]()
        self._until: float | None = None
        self._most_bytes: int | None = None
        self._report: Callable[[], None] = lambda: None

    def _cost_of(self, sums: np.ndarray) -> float:
        """Return what a leaf of these sums, float64[K], costs with its price; ∞ where rows are
        few.  Raises ContractError for NaN.
        """
        if sums[self._rows] < max(self.least, 0.5):
            return np.inf
        sums = self._rounded(sums[:, None])
        found = self._ask(sums)
        refuse_nan(found, sums)
        return float(found[0]) + self.p

    def _ask(self, sums: np.ndarray) -> np.ndarray:
        """Return float64[…], a copy: what leaves of these sums, float64[…, k], cost."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.array(self._leaf(sums), np.float64)

    def _rounded(self, words: np.ndarray) -> np.ndarray:
        """Return float64[…, k]: the floats next to sums in words, float64[K or more, …]."""
        if not len(self._low):
            return words[: self._k].T
        sums = words[: self._k].copy()
        sums[self._low] += words[self._digits : self._digits + len(self._low)]
        return sums.T

    def _own_rounding(self, sums: np.ndarray) -> float:
        """Return by how much leaves of these sums, float64[leaves, k], may be off together, as
        sums that are moved by MOVED of themselves show it.
        """
        found, costs = 0.0, self._ask(sums)
        for c in range(self._k):
            moved = np.stack([sums, sums])
            moved[:, :, c] *= [[1 - MOVED], [1 + MOVED]]
            off = np.abs(self._ask(moved) - costs).max(axis=0)
            found += float(off[np.isfinite(off)].sum())
        return found

    @property
    def lower(self) -> float:
        """What every tree costs at least."""
        return float(self._memo.lower[0]) if self._memo.lower[0] > NOTHING / 2 else -np.inf

    @property
    def upper(self) -> float:
        """What the best tree known costs."""
        return float(self._memo.upper[0])

    @property
    def best(self) -> list[int]:
        """The tests of the best tree known in preorder, −1 for a leaf, the side of outcome 1
        first.
        """
        tests, waiting = [], [0]
        while waiting:
            tree = waiting.pop()
            if tree < 0:
                tests += [-1] if tree == -1 else [-2 - tree, -1, -1]
                continue
            tests.append(int(self._memo.first[tree]))
            if tests[-1] >= 0:
                below = [int(self._memo.rest[tree]), int(self._memo.one[tree])]
                waiting += below[::-1] if self._negated[tests[-1]] else below
        return tests

    @property
    def bytes_used(self) -> int:
        """Bytes of the arrays of the search."""
        fixed = sum(np.asarray(one).nbytes for each in (self._table, self._batch) for one in each)
        return self._arrays.bytes_used() + fixed + self._held

    def run(
        self,
        until: float | None,
        memory_bytes: int | None = None,
        report: Callable[[], None] = lambda: None,
    ) -> str:
        """Search until it is finished (""), or "seconds" or "bytes" run out.

        until : ``time.monotonic()`` value; None: no limit.  A later call goes on with what is
            remembered.
        report : called as bounds improve.
        """
        self._until, self._most_bytes, self._report = until, memory_bytes, report
        depths = [*range(3, self.depth if self.depth > FEW_LEVELS else 0), self.depth]
        try:
            for depth in depths:
                if self._memo.lower[0] < self._memo.upper[0] and len(self._table.inside):
                    self._check_time()
                    self._solve_whole(depth)
        except OutOfBudget as ended:
            self._held = 0
            self._path.clear()
            return ended.what
        self._memo.lower[0] = self._memo.upper[0]
        report()
        return ""

    def _solve_whole(self, depth: int) -> None:
        """Solve the set of all objects within a depth, or show that no tree is below the best."""
        (tests, n), number = self._table.inside.shape, 0
        if depth < self.depth:
            own = self._table.words.sum(axis=0, dtype=np.uint64)
            number = enter_set(self._memo, own, depth, self._known)
            self._known = max(self._known, number + 1)
        try:
            budget = float(self._memo.upper[0])
            self._solve(np.arange(n), np.arange(tests), number, depth, budget)
        finally:
            self._show((), float(self._memo.lower[number]), depth)
        self._keep_whole(number, depth)

    def _keep_whole(self, number: int, depth: int) -> None:
        """Keep what is known of all objects within a depth, under its number: a tree that is deeper
        has two leaves more than that, at least.
        """
        memo = self._memo
        if memo.upper[number] < memo.upper[0]:
            for field in (memo.upper, memo.first, memo.one, memo.rest):
                field[0] = field[number]
        lower = float(memo.lower[number])
        if number:
            lower = min(lower, (depth + 2) * self.p + self._alone)
        memo.lower[0] = max(memo.lower[0], min(lower, memo.upper[0]))
        self._report()

    def _check_time(self) -> None:
        if self._until is not None and time.monotonic() >= self._until:
            raise OutOfBudget("seconds")

    def _solve(
        self, objects: np.ndarray, tests: np.ndarray, number: int, depth: int, budget: float
    ) -> None:
        """Solve the set with this number in the memo, or show that no tree is below the budget.

        objects : int64; tests : int64, those that may divide it.
        """
        self._make_room()
        self.subproblems += 1
        node = self._node(objects, tests, deep=depth > 2)
        m, table, memo = len(node.test), self._table, self._memo
        compared = m if depth > 2 and self._compare and m <= MOST_COMPARED else 0
        inside = np.zeros((compared, compared), np.uint8)
        open_whole(table, self._batch, node)
        self._ask_batch(node, self._batch._replace(inside=inside))
        memo.upper[number] = min(memo.upper[number], self._batch.cost[0])
        if depth <= 2:
            self._take_few_levels(node, number, depth)
            return
        sides = Sides(
            low=np.zeros((2, m)),
            high=np.zeros((2, m)),
            alone=np.zeros((2, m)),
            objects=np.zeros((2, m), np.int64),
            left=np.zeros((2, m), np.int64),
            tree=np.zeros((2, m), np.int64),
            inside=inside,
        )
        bound_sides(self._batch, node, memo, sides, depth, self.p, self._floor)
        held = node.both.nbytes + node.both_word.nbytes
        self._held += held
        self._search_tests(node, sides, number, depth, budget)
        self._held -= held

    def _search_tests(
        self, node: SumsNode, sides: Sides, number: int, depth: int, budget: float
    ) -> None:
        """Solve sides of a node's tests, by what both cost at least; tightens what the memo has of
        it.
        """
        table, batch, m = self._table, self._batch, len(node.test)
        most = max(1, min(len(batch.width), CELLS // max(1, 2 * m * (m - 1))))
        asked = np.zeros((2, most), np.int64)
        while True:
            keep_bounds(node, self._memo, sides, number)
            if not self._path:
                self._keep_whole(number, depth)
            limit = min(float(self._memo.upper[number]), budget)
            count = choose_sides(sides, limit, asked, len(batch.objects) - 1)
            if count == 0:
                return
            self._check_time()
            self._make_room()
            i, side = asked[:, 0].tolist()
            left = int(sides.left[side, i])
            if left <= 2:
                self.subproblems += count
                open_sides(table, batch, node, asked, count, self.least)
                self._ask_batch(node, batch)
                self._known = take_two_levels(
                    batch, node, self._memo, sides, asked, self._known, self._floor
                )
                self._show_sides(node, sides, asked[:, :count])
                continue
            child = enter_side(self._memo, node, i, side, left, self._known)
            self._known = max(self._known, child + 1)
            mine = node.objects[table.inside[node.test[i], node.objects] == side]
            rest = float(sides.low[1 - side, i])
            self._path.append(self._literal(node, i, side))
            self._solve(mine, node.test, child, left, limit - rest)
            self._show((*self._path,), float(self._memo.lower[child]), left)
            self._path.pop()
            take_side(self._memo, sides, i, side, child, self._floor)

    def _literal(self, node: SumsNode, i: int, side: int) -> tuple[int, int]:
        """The test that a side answers, and by which outcome."""
        test = int(node.test[i])
        return test, side ^ int(self._negated[test])

    def _show(self, path: tuple[tuple[int, int], ...], bound: float, depth: int) -> None:
        """Keep what was shown of a set, where it is asked for."""
        if self.shown is not None and bound > NOTHING / 2:
            self.shown.append(Shown(path, bound, depth))

    def _show_sides(self, node: SumsNode, sides: Sides, asked: np.ndarray) -> None:
        """Keep what was shown of sides of two levels, where it is asked for."""
        if self.shown is not None:
            for i, side in asked.T.tolist():
                path = (*self._path, self._literal(node, i, side))
                self._show(path, float(sides.low[side, i]), 2)

    def _take_few_levels(self, node: SumsNode, number: int, depth: int) -> None:
        """Keep the best tree of one or two levels of the root, which was counted."""
        batch, memo = self._batch, self._memo
        costs = batch.two if depth == 2 else batch.leaf
        both = costs[0, :, : batch.width[0]].sum(axis=0)
        if len(both) and both.min() < memo.upper[number]:
            at = int(both.argmin())
            second = batch.second[0, :, at].tolist() if depth == 2 else [-1, -1]
            trees = [-1 if place < 0 else -2 - int(node.test[place]) for place in second]
            memo.upper[number], memo.first[number] = both[at], node.test[at]
            memo.rest[number], memo.one[number] = trees

    def _node(self, objects: np.ndarray, tests: np.ndarray, *, deep: bool) -> SumsNode:
        """Return a set with its sums.

        objects : int64; tests : int64, those that may divide it.
        deep : whether its sides are to be solved, so that it keeps the sums of pairs.
        """
        many, k = len(tests), self._table.moments.shape[1]
        node = SumsNode(
            objects=objects,
            test=np.empty(many, np.int64),
            whole=np.empty(k),
            own=np.empty(2, np.uint64),
            alone=np.empty(1),
            one=np.empty((many, k)),
            word=np.empty((many, 2), np.uint64),
            alone_of=np.empty(many),
            objects_of=np.empty(many, np.int64),
            both=np.empty((0, k)),
            both_word=np.empty((0, 2), np.uint64),
        )
        m = open_node(self._table, self._batch, node, tests, self.least)
        names = ("test", "one", "word", "alone_of", "objects_of")
        node = node._replace(**{name: getattr(node, name)[:m] for name in names})
        pairs = m * (m - 1) // 2
        most = min(PAIRS_BYTES, (self._most_bytes or 2 * PAIRS_BYTES) // 2)
        if deep and pairs and self._held + 8 * pairs * (k + 2) <= most:
            both, word = np.empty((pairs, k)), np.empty((pairs, 2), np.uint64)
            node = node._replace(both=both, both_word=word)
            count_node(self._table, self._batch, node)
        return node

    def _ask_batch(self, node: SumsNode, batch: SumsBatch) -> None:
        """Count the pairs of all sets of a batch, and ask what their leaves cost."""
        table = self._table
        left = True
        while left:
            cells = fill_cells(table, batch, node)
            sums = self._rounded(batch.cells[:, :cells])
            costs = self._ask(sums)
            left = take_cells(table, batch, costs, self.p, self.least)
            if (cell := int(batch.position["undefined"][0])) >= 0:
                refuse_nan(costs[[cell]], sums[[cell]])
            self._check_time()

    def _make_room(self) -> None:
        """Make room for the sets of a batch in the memo.  Raises OutOfBudget."""
        if not self._arrays.room_for(self._known + MOST_SETS + 1, self._most_bytes):
            raise OutOfBudget("bytes")
        self._memo = Memo._make(self._arrays.values())

    def _allocate(self) -> SumsBatch:
        """Room for a batch."""
        (tests, n), k = self._table.inside.shape, self._table.moments.shape[1]
        sets = max(1, min(MOST_SETS, CELLS // (2 * tests + 1)))
        room = max(CELLS, 6 * tests + 2)
        return SumsBatch(
            objects=np.zeros(max(n, min(sets * n, CELLS)) + 1, np.int64),
            first=np.zeros(sets + 1, np.int64),
            kind=np.zeros(sets, np.int64),
            width=np.zeros(sets, np.int64),
            at=np.zeros((sets, tests), np.int64),
            whole=np.zeros((sets, k)),
            one=np.zeros((sets, tests, k)),
            own=np.zeros((sets, 2), np.uint64),
            cost=np.zeros(sets),
            leaf=np.zeros((sets, 2, tests)),
            two=np.zeros((sets, 2, tests)),
            second=np.zeros((sets, 2, tests), np.int64),
            inside=np.zeros((0, 0), np.uint8),
            cells=np.zeros((k, room)),
            both=np.zeros((room // 4 + 1, k)),
            sums=np.zeros((tests, k)),
            word=np.zeros((tests, 2), np.uint64),
            place=np.zeros(tests, np.int64),
            listed=np.zeros(tests, np.int64),
            slot=np.zeros(1 << (2 * tests).bit_length(), np.int64),
            position=np.zeros(1, POSITION),
        )


@attrs.frozen(eq=False)
class Counted:
    """What is summed of objects.

    sums : float64[objects, K], K a multiple of four; the last may be 0 for all.
    rows : the place of the number of rows.   asked : how many are not there to fill up.
    low : int64, the moments of which more digits are summed, in the places ``digits`` on.
    """

    sums: np.ndarray
    rows: int
    asked: int
    low: np.ndarray
    digits: int


def exact_sums(moments: np.ndarray, rows: np.ndarray, group: np.ndarray | None = None) -> Counted:
    """Return moments, float64[·, k], and the number of rows, int64[objects], among them or behind
    them; and behind these the digits of moments that one word does not hold.

    group : int64[·], the object that each row of moments is of; None: they are the objects.
    Each word is a multiple of a power of two that any sum of it is exact for, so that both words of
    a sum, added once, are the float next to it.  The second word has 2⁻¹⁰⁵ · n of the sum of all
    for its last digit, and what is below it is rounded, never to 0.
    """
    if group is None:
        group = np.arange(len(rows))
    high = whole_steps(moments)
    rest = moments - high
    low = np.flatnonzero(rest.any(axis=0))
    merged = np.zeros((len(rows), moments.shape[1] + len(low)))
    np.add.at(merged, group, np.hstack([high, whole_steps(rest[:, low], last=True)]))
    k = moments.shape[1]
    same = [c for c in range(k) if c not in low and (merged[:, c] == rows).all()]
    words = np.hstack([merged[:, :k], *([] if same else [rows[:, None]]), merged[:, k:]])
    asked = words.shape[1]
    sums = np.zeros((len(words), -(-asked // 4) * 4))
    sums[:, :asked] = words
    return Counted(sums, same[0] if same else k, asked, low, asked - len(low))


def whole_steps(numbers: np.ndarray, *, last: bool = False) -> np.ndarray:
    """Return float64[n, k], numbers rounded to multiples of a power of two, one for each of the k,
    that any sum of them is exact for: by 2⁻⁵³ of the sum of all at most.

    last : what is not 0 stays so.
    """
    total = np.abs(numbers).sum(axis=0)
    unit = np.exp2(np.ceil(np.log2(np.where(total > 0, total, 1.0))) - 52)
    unit = np.maximum(unit, np.finfo(float).smallest_subnormal)
    steps = np.rint(numbers / unit)
    if last:
        steps = np.where((steps == 0) & (numbers != 0), np.sign(numbers), steps)
    return np.asarray(steps * unit)


def table_of(inside: np.ndarray, counted: Counted, alone: np.ndarray) -> SumsTable:
    """Return the table of objects that are inside tests, bool[objects, tests].

    alone : float64[objects].
    """
    counts = inside.sum(axis=1, dtype=np.int64)
    return SumsTable(
        inside=np.ascontiguousarray(inside.T).astype(np.uint8),
        begin=np.concatenate([[0], np.cumsum(counts)]),
        tests=np.broadcast_to(np.arange(inside.shape[1], dtype=np.int32), inside.shape)[inside],
        moments=counted.sums,
        alone=alone,
        words=random_words(len(inside)),
        rows=counted.rows,
        asked=counted.asked,
    )


def load_kernels() -> None:
    """Compile, or load, all kernels of a search, on all objects of four tests."""
    from arboretum.kernels.solving.fingerprints import rehash

    outcome = (np.arange(16)[:, None] >> np.arange(4) & 1).astype(np.uint8)
    target = np.random.default_rng(0).normal(size=16)
    moments = np.stack([np.ones(16), target], axis=1)
    SumsSearch(
        outcome,
        moments,
        np.ones(16, np.int64),
        lambda sums: -(sums[..., 1] ** 2) / sums[..., 0],
        superadditive=True,
        p=0.1,
        depth=4,
    ).run(None)
    rehash(*np.zeros((2, 2, 2), np.uint64))  # so few sets never ask for a longer memo


def refuse_nan(costs: np.ndarray, sums: np.ndarray) -> None:
    """Raise ContractError for a cost of NaN.   sums : float64[…, k], of float64[…]."""
    if (amiss := np.isnan(costs)).any():
        raise ContractError(
            "leaf must return a cost, or ∞, for every sum of objects, also of one alone; got nan "
            f"for the sums {sums[amiss][0].tolist()}"
        )
