"""Least loss + λ · leaves over trees of binary tests: the sparse search (Lin et al. 2020, and
beyond).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from functools import partial
from typing import Any

import attrs
import numpy as np

from arboretum.api import BudgetError, OutOfTime
from arboretum.kernels.solving.fingerprints import random_words
from arboretum.kernels.solving.memo import FIRST, MemoArrays
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED, run_slices, work_in_pieces
from arboretum_gosdt.problem.prepared import MEDIUM, SMALL, unpack_bits
from arboretum_gosdt.sparse.arrays import allocate_levels, allocate_scratch, shapes_of_level
from arboretum_gosdt.sparse.incumbent import Masses, SubProblem, find_first_tree
from arboretum_gosdt.sparse.loop import DEPTH_KEY, STATE, Memo, search
from arboretum_gosdt.sparse.node import (
    EXPANDED_NODE,
    FOUR,
    INHERIT,
    LABELS,
    LARGEST,
    MEMO,
    NEVER,
    NUMBERS,
    SELECT,
    SHAPE,
    SIMILAR,
    SPLIT_FIRST,
    SUPERSET,
    SUPPORT,
    THREE,
    UNLIMITED,
    ClosedSets,
    Data,
    SparseLevels,
)
from arboretum_gosdt.sparse.pair_counts import feature_of_lane
from arboretum_gosdt.sparse.rows import (
    BITS,
    count_rows_of_groups,
    stack_planes,
    sum_planes,
    write_root_rows,
)
from arboretum_gosdt.sparse.tree import (
    enter_bounds_between_prices,
    enter_proof_records,
    find_best_tree,
    sum_words_of_rows,
)

SLICE, SLICE_SECONDS = 500_000, 0.03
"""Work of a slice as long as work, or the number of slices, decides what is done next, so that
results do not depend on clocks; after that, the seconds of a slice.
"""
BOUNDS = {
    "similar": SIMILAR,
    "divided": SPLIT_FIRST,
    "parent": INHERIT,
    "superset": SUPERSET,
    "three": THREE,
    "four": FOUR,
    "shape": SHAPE,
    "memo": MEMO,
    "select": SELECT,
    "labels": LABELS,
    "largest": LARGEST,
    "support": SUPPORT,
}
"""Name → what it switches on.

similar : a bound of one child bounds its siblings (B.10, 4.1).
divided : also with the rows that only the one has as a leaf.  This one and ``superset`` do not
    hold where leaves have a least mass.
parent : what is known of a literal's rows above bounds them here.
superset : more rows cost no less.
three : the best trees of three leaves of a child, before it is entered.
four : the same of four leaves.
shape : three leaves cost at least the cheapest leaf beside a divided cell.
memo : sets of rows met again.
select : only pairs of features that may be asked first.
labels : a label has a leaf, or saves nothing.
largest : of leaves of one label that may change places, the largest comes first.
support : leaves that save less than they cost are not in an optimum (B.6), nor tests beside them.
"""
LEVELS, LEAST_LEVELS, LEVELS_BYTES = 12, 3, 1 << 27
"""Levels at first, at most and at least, and bytes from which there are fewer than at most."""
LAID = 168
"""Bytes a row that a tree takes while it is laid out."""
LONGEST = 5_000_000
"""Work on trees of three leaves below one child: some tenths of a second."""
EASY = 60
"""Slices of a search that is over before a good tree would help it."""
GIVEN = -2
"""Test of the root where the best tree does not come from the search."""


def number_of_levels(level_bytes: int, subproblem: SubProblem, memory_bytes: int | None) -> int:
    """Return how many levels a search begins with: no more than a tree can have, nor, but for the
    fewest, than take half of the bytes.  Raises BudgetError where the fewest take more than all.

    level_bytes : of one level.
    memory_bytes : of levels and memo; None: no limit.
    """
    if memory_bytes is not None and LEAST_LEVELS * level_bytes > memory_bytes:
        raise BudgetError(
            f"{LEAST_LEVELS} levels of {len(subproblem.bits):,} objects and "
            f"{subproblem.n_features:,} tests take {LEAST_LEVELS * level_bytes / 1e6:,.0f} MB; "
            "raise budget.memory_mb, or ask fewer tests (encoder=bins)"
        )
    return max(
        LEAST_LEVELS,
        min(
            LEVELS,
            subproblem.depth + 2,
            min(LEVELS_BYTES, (memory_bytes or 2 * LEVELS_BYTES) // 2) // level_bytes,
        ),
    )


class SparseSearch:
    """Minimise q · loss + p · leaves + what the tests cost.

    bits : uint32[rows, ceil(features / 32)].
    weights : int64[rows, classes], what a label saves; least of a row 0.
    depth : tests on a path, at most; None: any number.
    without : bounds of ``BOUNDS`` that are not used.
    greedy : whether a search that is not easy first looks for a good tree (:mod:`.incumbent`).
    masses : rows of mass may have no weight.  None: tests cost nothing, and leaves may have any
        mass.
    word : bits of a lane, 16, 32 or 64 (of part of a table as of the whole, so that one kernel
        serves both); None: as the weights ask for.
    memory_bytes : of which its levels take half; the fewest may take all that the table leaves, and
        more raises BudgetError.
    """

    def __init__(
        self,
        bits: np.ndarray,
        weights: np.ndarray,
        n_features: int,
        p: int,
        q: int,
        depth: int | None = None,
        without: Collection[str] = (),
        greedy: bool = True,
        masses: Masses | None = None,
        word: int | None = None,
        memory_bytes: int | None = None,
    ) -> None:
        mass, price, least = masses or (None, None, 1)
        self.subproblem = SubProblem(
            bits=bits,
            weights=weights,
            n_features=n_features,
            p=p,
            q=q,
            depth=int(UNLIMITED) if depth is None else depth,
            masses=masses,
        )
        classes = weights.shape[1]
        totals, shared = np.zeros((2, classes), np.int64)
        self._total = total = int(sum_planes(weights, totals, shared))
        self._class_totals: list[int] = totals.tolist()
        planes, summed, own = stack_planes(weights, mass, total)
        if planes is not weights:
            totals, shared = np.zeros((2, planes.shape[1]), np.int64)
            sum_planes(planes, totals, shared)
        price = np.empty(0, np.int8) if price is None else price
        most = max(total, int(totals[classes:].sum()))
        self.word = word or (16 if most <= SMALL else 32 if most <= MEDIUM else 64)
        kind: Any = {16: np.uint16, 32: np.uint32, 64: np.int64}[self.word]
        word_bits, lanes = kind().itemsize * 8, 64 // kind().itemsize
        sizes = np.zeros((planes.shape[1], BITS), np.int64)
        shared = np.maximum(shared, 1)
        if (shared > 1).any():
            planes = planes // shared
        count_rows_of_groups(planes, sizes)
        group_class, shifts = map(np.ascontiguousarray, np.nonzero(sizes))
        sizes, parts = sizes[group_class, shifts], bits.shape[1]
        self._greedy = greedy
        self._timed = True
        self._pace = SLICE / SLICE_SECONDS
        self._bytes = memory_bytes
        use = sum(bit for name, bit in BOUNDS.items() if name not in without)
        if least > 1:  # a part of a leaf need not be a leaf
            use &= ~(SPLIT_FIRST | SUPERSET)
        n_planes = planes.shape[1]
        of_class = np.searchsorted(group_class, np.arange(n_planes + 1))
        words_of = -(-sizes // word_bits)
        n_words, stride = int(words_of.sum()) + len(sizes), parts * 32
        positions = (n_words + 1) * word_bits
        sizes_of = classes, summed, n_planes, word_bits, positions, lanes
        asked = *sizes_of, 0, 0, 0, least, own, use, LONGEST
        numbers = np.array([asked], NUMBERS).view(np.recarray)[0]
        # no path asks more than there are rows
        max_path_cost = np.zeros(1 + min(len(price), len(bits)), np.int64)
        if len(price):
            np.cumsum(np.sort(price)[::-1][: len(bits)], out=max_path_cost[1:])
        shapes = shapes_of_level(
            kind, stride, n_words, positions, n_planes, len(sizes), bool(len(price))
        )
        level = sum(math.prod(shape) * np.dtype(dtype).itemsize for dtype, shape in shapes.values())
        self._random = random_words(int(sizes.sum()))
        self._virtual = np.empty(int(sizes.sum()), np.int64)
        levels = number_of_levels(level, self.subproblem, self._bytes_left(memory_bytes))
        self._data = Data(
            of_class=of_class,
            factors=shared[group_class] << shifts,
            saving=np.empty(1, kind),
            price=price,
            max_path_cost=max_path_cost,
            numbers=numbers,
        )
        self._levels = allocate_levels(levels, shapes)
        self._scratch = allocate_scratch(kind, lanes, stride, n_words, n_planes)
        made = SparseLevels(*self._levels.values())
        lanes_of = feature_of_lane(np.arange(stride), lanes)
        made.features[0] = lanes_of
        if len(price):  # lanes are to ascend with it, so that bits move instead
            moved = np.zeros((len(bits), stride), np.uint8)
            moved[:, lanes_of] = unpack_bits(bits, stride)
            bits = np.packbits(moved, axis=1, bitorder="little").view(np.uint32)
            made.features[0] = np.arange(stride)
        made.starts[0, 0] = 0
        np.cumsum(words_of, out=made.starts[0, 1:])
        next_row = np.zeros((n_planes, BITS, 2), np.int64)
        next_row[group_class, shifts, 0] = sizes.cumsum() - sizes
        next_row[group_class, shifts, 1] = made.starts[0, :-1] * word_bits
        level_0 = made.rows[0], made.sums[0], made.full[0]
        write_root_rows(bits, planes, next_row, word_bits, self._random, level_0, self._virtual)
        made.totals[0] = totals
        self._restart_with_costs(p, q)

    def _restart_with_costs(self, p: int, q: int) -> None:
        """Forget all work, and let a leaf cost p and a unit of loss q.

        The arrays stay, the root's rows among them; memo, log, state and bounds begin anew.
        """
        total, weight, data = self._total, sum(self._class_totals), self._data
        stride = self._levels["features"].shape[1]
        numbers, node = data.numbers.copy(), self._levels["node"][0]
        # by name in brackets: attributes of records take a hundred times as long
        support = p // q + 1 if int(numbers["bounds"]) & SUPPORT else 1
        numbers["q"], numbers["p"], numbers["support"] = q, p, support
        saving = np.array([min(support, int(self._scratch.never[0]))], data.saving.dtype)
        self._data = data._replace(numbers=numbers, saving=saving)
        self._laid: np.ndarray | None = None
        self._slices = 0
        self._given = np.empty((0, 4), np.int64)
        self._log = np.empty((0, 3), np.uint64)
        self._memo = self._new_memo()
        self._state = np.zeros(1, STATE).view(np.recarray)[0]
        self._levels["node"][0], self._levels["node_key"][0] = 0, 0
        node["n_features"] = self.subproblem.n_features if len(data.price) else stride
        node["stride"], node["weight"], node["budget"] = stride, total, NEVER
        node["depth"] = self.subproblem.depth
        self._equivalent_loss = q * (weight - total)  # by every tree; bounds do without
        self.lower = self._equivalent_loss
        self.upper = q * (weight - max(self._class_totals)) + p

    def _new_memo(self, known: int = 0) -> MemoArrays:
        """Return an empty memo with room for so many sets and the first nodes."""
        room = known + 2 * len(self._levels["node"])
        return MemoArrays(
            {"lower": np.int64, "upper": np.int64, "test": np.int32},
            max(FIRST, 1 << room.bit_length()),
        )

    def copy_with_leaf_price(self, p: int, q: int) -> SparseSearch:
        """Return a search of the same table at another price, before any work; this one keeps what
        it found, and cannot go on.
        """
        other = copy(self)
        other.subproblem = attrs.evolve(self.subproblem, p=p, q=q)
        other._restart_with_costs(p, q)
        return other

    @property
    def subproblems(self) -> int:
        """Number of sets of rows that were expanded, as often as each was."""
        return int(self._state["expanded"])

    @property
    def bytes_used(self) -> int:
        """Bytes of the levels and of the memo; the table is not counted."""
        return self._levels.bytes_used() + self._memo.bytes_used()

    def run(
        self,
        until: float | None,
        memory_bytes: int | None,
        report: Callable[[int, int], None],
        slices: float = math.inf,
    ) -> str:
        """Go on until it is finished (""), or "seconds", "bytes" or "slices" run out.

        until : ``time.monotonic()`` value at which it stops, or None.
        memory_bytes : of all that it holds, the table and a tree among it, or None.
        report : called with (lower, upper) after every slice.
        slices : at most so many, each of the same work then, whatever the clock says.

        KeyboardInterrupt is let through; ``lower``, ``upper`` and ``tree`` hold what is known then.
        """
        self._timed = slices == math.inf
        memory_bytes = self._bytes_left(memory_bytes)

        def report_bounds() -> None:
            """Read the bounds; after ``EASY`` slices look once for a first tree, as long as at most
            half of the bytes are used; then report.
            """
            self._read_bounds()
            if (
                self._greedy
                and self._slices >= EASY
                and (memory_bytes is None or 2 * self.bytes_used <= memory_bytes)
            ):
                # which masks of rows are part of
                left = (
                    None
                    if memory_bytes is None
                    else memory_bytes - self.bytes_used - self.subproblem.bits.nbytes
                )
                small = partial(SparseSearch, word=self.word, memory_bytes=left)
                self.start_from_tree(
                    find_first_tree(
                        self.subproblem, small, until, lambda: report(self.lower, self.upper)
                    )
                )
            report(self.lower, self.upper)

        ended = "interrupt"
        try:
            with self.moved_by(until):
                ended = run_slices(
                    self._run_slice,
                    lambda: self.make_room(memory_bytes),
                    until,
                    report_bounds,
                    slices,
                )
        finally:  # also where Ctrl-C ends it
            self._read_bounds(finished=ended == "")
            if ended and self.subproblems:
                nodes = self.tree(hurry=True)
                # which may cost less than is known, or more, where the best one takes long to be
                # laid out
                cost = self.start_from_tree(nodes)
                if cost > self.upper:
                    self._laid, self.upper = nodes, cost
        return ended

    def _bytes_left(self, memory_bytes: int | None) -> int | None:
        """Return the bytes that remain for levels and memo.

        The table, its random words and the tree that is laid out take the rest.
        """
        held = (self.subproblem.bits, self.subproblem.weights, self._random, self._virtual)
        laid = LAID * len(self.subproblem.bits)
        return (
            None
            if memory_bytes is None
            else max(0, memory_bytes - sum(array.nbytes for array in held) - laid)
        )

    def work_slices(
        self, most: int, until: float | None = None, report: Callable[[], None] = lambda: None
    ) -> int:
        """Work some slices long, until the end or a ``time.monotonic()`` value; returns how
        many.

        most : number of slices at which it ends, those worked before included.
        until : ``time.monotonic()`` value; None: no limit.
        report : called after every slice.
        It ends early where ``memory_bytes`` leaves no room.  ``lower`` and ``upper`` are read then.
        """
        found, memory_bytes = PAUSED, self._bytes_left(self._bytes)
        with suppress(OutOfTime), self.moved_by(until):
            while (
                self._slices < most
                and found != FINISHED
                and (until is None or time.monotonic() < until)
            ):
                self._pace = SLICE / SLICE_SECONDS
                found = self._run_slice()
                report()
                if found == NEED_ROOM and not self.make_room(memory_bytes):
                    break
        self._read_bounds(finished=found == FINISHED)
        return self._slices

    def _run_slice(self) -> int:
        """Work for a slice, and return how it ended (:mod:`arboretum.kernels.solving.slices`).

        A slice is of ``SLICE_SECONDS`` at the pace of the last one; of the same work always where
        slices are counted, or before a first tree was looked for.
        """
        self._slices, self._laid, start = self._slices + 1, None, time.perf_counter()
        timed = self._timed and not self._greedy
        work = int(self._pace * SLICE_SECONDS) if timed else SLICE
        levels, memo, state = self.kernel_arguments()

        def search_on(steps: int) -> int:
            found: int = search(self._data, levels, self._scratch, memo, state, steps)
            return found

        found = search_on(work) if timed else work_in_pieces(search, work, search_on)
        if found == PAUSED:
            self._pace = work / max(1e-9, time.perf_counter() - start)
        return found

    @contextmanager
    def moved_by(self, until: float | None) -> Iterator[None]:
        """Inside, no array is moved that would still be moving at this ``time.monotonic()``
        value (:class:`arboretum.kernels.solving.arrays.Arrays`).

        until : None: they may be moved at any time.  An array that must grow raises OutOfTime
            instead.
        """
        with self._memo.moved_by(until), self._levels.moved_by(until):
            yield

    def run_slice_with_room(self, memory_bytes: int | None) -> int:
        """Work for a slice, and make room; returns how it ended
        (:mod:`arboretum.kernels.solving.slices`).

        memory_bytes : of levels and memo together, at most; None: no limit.  Where there is no more
            room, NEED_ROOM comes again the next time.
        """
        found = self._run_slice()
        if found == NEED_ROOM:
            self.make_room(memory_bytes)
        return found

    def kernel_arguments(self) -> tuple[SparseLevels, Memo, np.record]:
        """Return its levels, memo (with the log) and state, as kernels take them.

        They are views: a kernel that writes them moves this search on.  They are valid until room
        is made.
        """
        return (
            SparseLevels(*self._levels.values()),
            Memo._make([*self._memo.values(), self._log]),
            self._state,
        )

    def log_closed_sets(self, sets: int) -> None:
        """Keep a log of so many sets that were closed last (0: none); it is empty now."""
        self._state.logged = 0
        self._log = np.empty((sets, 3), np.uint64)

    def make_room(self, memory_bytes: int | None, more: int = 0) -> bool:
        """Make room for the next expansion, and for ``more`` sets in the memo; False where that
        takes more bytes.

        memory_bytes : of levels and memo together, at most; None: no limit.  Arrays may be moved,
            so that ``kernel_arguments`` of before are stale.
        """
        level = int(self._state["level"])
        known = int(self._state["known"]) + max(level + 3, len(self._levels["node"])) + 1 + more
        left = None if memory_bytes is None else memory_bytes - self._levels.bytes_used()
        if not self._memo.room_for(known, left):
            return False
        left = None if memory_bytes is None else memory_bytes - self._memo.bytes_used()
        return self._levels.make_room(dict.fromkeys(SparseLevels._fields, level + 3), left)

    def _read_bounds(self, finished: bool = False) -> None:
        """Set ``lower`` and ``upper`` from the root's bounds.

        finished : whether the search is at its end, so that the bound is the best cost, or what the
            budget (``search_below``) proves.
        Until then ``lower`` never falls.  Before the root is expanded nothing changes.
        """
        if not self._state["expanded"]:
            return
        node = self._levels["node"][0]
        best = int(node["best"])
        self.upper = best + self._equivalent_loss
        if node["state"] != EXPANDED_NODE:
            return
        bound = self._levels["test_bound"][0, : node["n_features"]].min(initial=NEVER)
        self.lower = (
            min(self.upper, int(node["budget"]) + 1 + self._equivalent_loss)
            if finished
            else max(
                self.lower, min(max(int(bound), int(node["least"])), best) + self._equivalent_loss
            )
        )

    def start_from_tree(self, nodes: np.ndarray) -> int:
        """Go on with a tree that was found otherwise, where it is better than the best one so far;
        returns what it costs.

        nodes : int64[nodes, 4], as ``tree`` returns it, within the limits of this search.
        From then on no greedy tree is looked for.
        """
        self._greedy = False
        cost = self.subproblem.build_subtree(nodes).recompute_cost() - self._equivalent_loss
        node = self._levels["node"][0]
        if cost < node["best"]:
            node["best"], node["best_feature"], self._given = cost, GIVEN, nodes
            self._read_bounds()
        return cost + self._equivalent_loss

    def tree(self, hurry: bool = False) -> np.ndarray:
        """Return the tree, int64[nodes, 4]: feature (−1: a leaf), 0, node of outcome 1, node of
        outcome 0; its cost is ``upper`` after ``run``.

        hurry : a tree that costs more, where the best one takes long to be laid out.
        """
        if not self.subproblems:
            return np.array([[-1, 0, -1, -1]])
        if self._laid is not None:
            return self._laid
        best, feature = self._levels["node"][["best", "best_feature"]][0].tolist()
        if feature == GIVEN:
            return self._given
        return find_best_tree(
            self.subproblem,
            self._virtual,
            self._random,
            self._memo,
            (best + self._equivalent_loss, feature),
            partial(SparseSearch, word=self.word),
            hurry,
        )

    def _words_of_rows(self) -> np.ndarray:
        """Return uint64[rows, 2], of the rows' fingerprints."""
        words = np.zeros((len(self.subproblem.bits), 2), np.uint64)
        sum_words_of_rows(self._virtual, self._random, words)
        return words

    def memo_for_proof(self) -> tuple[Any, ...]:
        """Return the memo as :class:`arboretum.api.Memo` has it."""
        turn = int(DEPTH_KEY)
        return (
            self.subproblem.feature_matrix(),
            self._words_of_rows(),
            self._memo["slots"],
            self._memo["lower"],
            turn,
            turn * int(UNLIMITED),
        )

    def bounds_of_closed_sets(
        self,
        beyond: int,
        until: float | None,
        memory_bytes: int | None,
        report: Callable[[], None] = lambda: None,
    ) -> ClosedSets:
        """Return what is known of the sets that were closed, and of every first test, for proofs
        and for all trees near the best.

        beyond : a cost: the search, which has ended before, goes on to trees that cost so much
            more, for what their first tests leave.  Where the pairs that were counted do not reach
            so far, more than a quarter of a leaf, it does not.
        until : ``time.monotonic()`` value at which it stops; None: no limit.
        memory_bytes : of levels and memo, at most; None: no limit.
        """
        self._state.beyond = (
            beyond if beyond <= self.subproblem.p // 4 else 0
        )  # as ``expand`` has it
        with self.moved_by(until):
            run_slices(self._run_slice, lambda: self.make_room(memory_bytes), until, report)
        words, slots = self._words_of_rows(), self._memo["slots"]
        end, (levels, memo, _) = int(self._state["known"]), self.kernel_arguments()
        n, stride = (
            levels.node[["n_features", "stride"]][0].tolist() if self.subproblems else (0, 0)
        )
        # of others nothing is known
        first = np.zeros(32 * self.subproblem.bits.shape[1], np.int64)
        tested = np.flatnonzero(levels.alive[0, :n])
        test_bound = levels.test_bound[0, tested]
        solved, seen = (
            side[0, tested] + side[0, stride + tested] for side in (levels.low, levels.upper)
        )
        # ``test_bound`` is of trees that were not seen
        first[levels.features[0, tested]] = np.minimum(
            np.where(test_bound < NEVER, test_bound, solved), seen
        )
        return ClosedSets(
            words=words,
            slots=slots.copy(),
            lower=memo.lower[:end].copy(),
            upper=memo.upper[:end].copy(),
            first=first,
        )

    def search_below(self, cost: int) -> None:
        """Seek only trees that cost less, before any work; where there are none, the bound is
        ``cost`` at the end, and no tree is known.
        """
        self._levels["node"]["budget"][0] = cost - 1 - self._equivalent_loss

    def start_between_prices(self, cheap: SparseSearch, dear: SparseSearch | None) -> None:
        """Take bounds from searches of the same table, with a lower and a higher price of a
        leaf, before any work.

        cheap : with the lower price, which has run.
        dear : with the higher one; None: there is none.  Nothing is taken where the products of
            prices and costs might not fit int64.
        """
        sides = [one for one in (cheap, dear) if one is not None]
        known = sum(int(one._state.known) for one in sides)
        none = (np.zeros((1, 2), np.uint64), np.empty(0, np.int64))
        prices = np.array(
            [(one.subproblem.p, one.subproblem.q) for one in (cheap, dear or self, self)]
        )
        if known and int(prices[:, 0].max()) * int(prices[:, 1].max()) * cheap.upper < NEVER:
            self._memo = self._new_memo(known)
            held = [(one._memo["slots"], one._memo["lower"]) for one in sides] + [none]
            self._state.known = enter_bounds_between_prices(
                held[0], held[1], prices, self._memo.values()
            )

    def literals_to_node(self) -> list[tuple[int, int]]:
        """Return the literals (feature, outcome) from the root to where the search stands."""
        levels = range(int(self._state["level"]))
        node, features = self._levels["node"], self._levels["features"]
        return [(int(features[d, node[d]["child"]]), int(node[d]["side"])) for d in levels]

    def resume_from_proof(self, words: np.ndarray, start: np.ndarray, nodes: np.ndarray) -> None:
        """Take bounds from the records of a proof, tests being features, and a tree for the first,
        before any work.

        words, start : as in :mod:`arboretum.proof.format`.
        nodes : int64[nodes, 4], the tree, as ``tree`` returns it.
        """
        subproblem = self.subproblem
        self._memo.room_for(len(start) + 2 * len(self._levels["node"]), None)
        self._state.known = enter_proof_records(
            subproblem.bits,
            subproblem.weights,
            self._words_of_rows(),
            words,
            start,
            *self._memo.values(),
            np.array([subproblem.p, subproblem.q]),
        )
        levels, memo, state = self.kernel_arguments()
        search(self._data, levels, self._scratch, memo, state, 0)  # the root is there
        self.start_from_tree(nodes)
