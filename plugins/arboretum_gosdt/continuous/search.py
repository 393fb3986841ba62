"""Depth-limited least loss over all thresholds of continuous columns, exactly.

At depth 2 a cut is *measured*: one vector pass tells what is lost on both sides with one more split
each.  Above, a cut is judged by solving its sides.  What is known at two cuts of a column bounds
all cuts between them, so that most are never looked at (Mazumder, Meng & Wang, Quant-BnB, ICML
2022, and Briţa, van der Linden & Demirović, ConTree, AAAI 2025, bound intervals of cuts, too); the
bounds that a set of rows leaves at the cuts of its own columns are handed to the sets between which
it lies (see :mod:`.lists`).  What rows between two cuts lose by themselves is known of many of
them, and more is closed by it (see :mod:`.strips`).
"""

import math
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import attrs
import numpy as np

from arboretum.api import sure

STEPS = 1 << 21
"""Steps of vectors between two looks at the clock: some 10 milliseconds."""
LISTS = 1 << 22
"""Numbers that the lists of bounds of a level may take; sets beyond leave none."""
STRIPS = 128
"""Strips of a column, at most; a power of 2 up to 256."""
ROWS_OF_STRIP = 48
"""Rows in a strip of all rows, at least, on average."""
STEPS_WITHOUT_STRIPS = 1 << 10
"""Where a pass has fewer, it costs no more than what strips save."""
PATIENCE = 1.0
"""How long passes take before strips are made, by what making them takes, of two classes."""
PATIENCE_OF_MANY = 8.0
"""The same of more classes, where strips save less."""
LINE_BYTES = 64
"""Bytes of a line of the cache."""
STRIP_BYTES = 1 << 27
"""Bytes for strips, where no budget is given."""
SETS_OF_FAMILY, MEASURED_OF_FAMILY = 1 << 10, 1 << 7
"""Sets that are remembered of a family, where they are solved and where they are measured."""
LONG_PASS = 1000
"""Steps of vectors of a pass that takes longer than to look its sides up."""
FAMILY_BYTES = 1 << 26
"""Bytes for families of two and of three cuts each, where no budget is given."""
RANK_BYTES = 1 << 29
"""Bytes for ranks of one column in the order of another, where no budget is given."""


@attrs.frozen
class _Strips:
    """What strips take (see :mod:`.strips`); without them everything is 0.

    fine, coarse : blocks of a column.
    ends : of the parts of ``Tables.strips`` at a level, see there.
    sums : for ``Tables.strip_sums``, with the sides of coarse blocks.
    bytes : of all levels.
    """

    fine: int
    coarse: int
    ends: list[int]
    sums: np.ndarray
    bytes: int


@attrs.frozen
class _Shape:
    """What rows, columns and depth say of the arrays.

    sign, word : of weights, and of ranks, in lanes.
    vectors, ends : of a step, and of a pass by class.
    levels, tables : that have nodes, and rows of their own.
    starts : int64[columns + 1], the first of each column's ranks among those of all.
    most : ranks of a column, at most.
    nodes : of each level.
    """

    rows: int
    columns: int
    classes: int
    sign: np.dtype
    word: np.dtype
    blocks: int
    lanes: int
    vectors: int
    ends: int
    levels: int
    tables: int
    starts: np.ndarray
    most: int
    nodes: list[int]

    @property
    def places(self) -> int:
        """Places of a table: a lane for each row of each column."""
        return self.ends * self.lanes

    @property
    def ranks(self) -> int:
        """Ranks of all columns."""
        return int(self.starts[-1])


@attrs.frozen
class _Room:
    """What parts of the memory are for.

    families : bytes of sets that two, and that three cuts make, each.
    lists : numbers in the lists of a level.
    slots : columns whose ranks are held at once.
    """

    strips: _Strips
    families: int
    lists: int
    slots: int


class IntervalSearch:
    """Least loss of trees of at most ``depth`` levels whose tests are "rank <= cut" in any column.

    ranks : int32[rows, columns], dense or not, >= 0; kept column by column, and not copied where
        it lies so.
    weights : int64[rows, classes], >= 0: what a label saves in a row.
    price : what every split costs besides.
    margin : of the trees that begin with the same cut the least loss is found, too, wherever it is
        less than so much more than that of all trees; 0: of the best alone.

    lower, upper : no tree loses less; ``tree()`` loses that.
    subproblems : sets of rows that were looked into.
    measured : passes over all columns.
    bytes_used : held now.
    layout : what rows' weights are held as, and blocks of a column.
    """

    def __init__(
        self,
        ranks: np.ndarray,
        weights: np.ndarray,
        depth: int,
        price: int = 0,
        margin: int = 0,
    ) -> None:
        self.columns = np.ascontiguousarray(ranks.T, np.int32)
        self.weights = np.ascontiguousarray(weights, np.int64)
        self.depth, self.price, self.margin = depth, price, margin
        highest = self.columns.max(1, initial=0)
        lowest = self.columns.min(1) if len(ranks) else highest
        used = np.flatnonzero(highest > lowest)
        self.used, self.highest = used, highest[used].tolist()
        # a unit for every class in which a row weighs something
        self.unit, self.label = self.weights.nonzero()
        self.each = self.weights[self.unit, self.label]
        self.total = int(self.each.sum())
        if self.total > 2**31 - 2:
            raise OverflowError(
                f"the weights sum to {self.total:,}, more than lanes of 32 bits hold; give "
                "the objective in coarser units"
            )
        # sums of whole numbers below 2^53
        self.leaf = self.total - int(np.bincount(self.label, self.each).max(initial=0))
        self.plain = depth < 2 or self.leaf == 0 or len(used) == 0
        self.layout = (
            None
            if self.plain
            else _choose_layout(len(used), self.each, self.weights.shape[1], self.highest)
        )
        self.plan: Any = None
        self.lower, self.upper, self._finished = 0, self.leaf, False
        self.bytes_used = 0
        self.subproblems = self.measured = 0

    def run(
        self, until: float | None, memory_bytes: int | None, report: Callable[[int, int], None]
    ) -> str:
        """Search until it is finished, "", or something runs out, "seconds" or "bytes"; then it
        may be called again.

        until : ``time.monotonic()`` value at which it stops; None: no limit.
        memory_bytes : of the arrays, at most; None: no limit.
        report : called with (lower, upper) after every slice.
        """
        from arboretum.kernels.solving.slices import run_slices

        if self._finished:
            return ""
        if self.plain:
            self._finished = True
            column, cut = self.tree()[0, :2]
            self._finish(self.leaf if column < 0 else self._loss_of_cut(column, cut))
            report(self.lower, self.upper)
            return ""
        if (self.plan is None and not self._allocate(memory_bytes)) or (
            memory_bytes is not None and self.bytes_used > memory_bytes
        ):
            return "bytes"
        from arboretum_gosdt.continuous import loop as kernels

        def run_slice() -> int:
            found = kernels.search_intervals(self.plan, self.tables, self.state, STEPS)
            self._read_bounds()
            made: int = found
            return made

        return run_slices(run_slice, lambda: False, until, lambda: report(self.lower, self.upper))

    def _read_bounds(self) -> None:
        """Take over the counts, the proven bound and the best value from the kernels' state; where
        no frame is left, both are the optimum.
        """
        now = self.state.now[0]
        self.subproblems, self.measured = int(now["sets"]), int(now["measured"])
        if now["top"] < 0:
            self._finish(int(now["value"]))
        else:
            self.upper = min(self.upper, int(self._best_frame()[0]))
            self.lower = min(self.upper, int(now["floor"]))

    def _finish(self, value: int) -> None:
        self.lower = self.upper = value
        self._finished = True

    def _best_frame(self) -> tuple[int, int]:
        """Return the least loss known of all rows, and the frame that has its tree: one with one
        level less may still be at work; or -1.
        """
        from arboretum_gosdt.continuous import parts

        best = (self.leaf, -1)
        for top, frame in enumerate(self.state.frames):
            phase, least = frame["phase"], int(frame["least"]) + self.price
            if phase not in (parts.ENTER, parts.WHOLE_DONE) and least < best[0]:
                best = least, top
            if phase != parts.WHOLE_DONE:
                break
        return best

    def tree(self) -> np.ndarray:
        """Return int64[nodes, 4]: column or -1 for a leaf, cut, node of rank <= cut, node of the
        rest; root first.
        """
        heap, at = np.full((1, 2), -1, np.int64), 0 if self.depth > 0 and self._finished else -1
        if self.plan is not None:
            _, top = self._best_frame()
            heap, at = (self.state.best[top], 0) if top >= 0 else (heap, -1)
        nodes: list[list[int]] = []
        self._add_subtree(nodes, heap, at, np.arange(len(self.weights)))
        return np.array(nodes, np.int64)

    def _add_subtree(
        self, nodes: list[list[int]], heap: np.ndarray, at: int, rows: np.ndarray
    ) -> int:
        """Add the part of the tree below a place of the heap to ``nodes``; returns its row there.

        nodes : rows as ``tree`` returns them, appended to.
        heap : int64[places, 2], column (−1: no split is named here) and cut.
        at : place of the heap; one that names no split, or lies behind it, has the best split and
            two leaves; below 0: a leaf.
        rows : int64, numbers of the rows.
        """
        from arboretum_gosdt.problem.tree_kernels import best_cut

        place = len(nodes)
        column, cut = heap[at] if 0 <= at < len(heap) else (-1, 0)
        below = 2 * at + 1
        if column >= 0:
            column = self.used[column]
        elif at >= 0:
            # −3: the places of both sides are below 0, so these are leaves
            below, (column, cut) = -3, best_cut(self.columns, self.weights, rows)
            # a leaf where the split is not worth its price
            if self.price and column >= 0:
                weights = self.weights[rows]
                loss = int(weights.sum() - weights.sum(0).max(initial=0))
                column = column if self._loss_of_cut(column, cut, rows) < loss else -1
        nodes.append([column, cut if column >= 0 else 0, 0, 0])
        if column >= 0:
            left = self.columns[column, rows] <= cut
            nodes[place][2:] = (
                self._add_subtree(nodes, heap, below, rows[left]),
                self._add_subtree(nodes, heap, below + 1, rows[~left]),
            )
        return place

    def _loss_of_cut(self, column: int, cut: int, rows: np.ndarray | slice = slice(None)) -> int:
        """Return what a split of some rows into two leaves loses, with its price."""
        weights, left = self.weights[rows], self.columns[column, rows] <= cut
        saved = sum(int(weights[side].sum(0).max(initial=0)) for side in (left, ~left))
        return self.price + int(weights.sum()) - saved

    def root_cuts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return int64[cuts] twice, column and cut of those that were looked at first, and
        int64[2, cuts], what the rows up to the cut, and the rest, lose at least.
        """
        if self.plan is None:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty((2, 0), np.int64)
        nodes = self.state.nodes[: self.state.frames[0]["nodes"]]
        inner = (nodes["cut"] >= 0) & (nodes["cut"] < np.array(self.highest)[nodes["column"]])
        nodes = nodes[inner]
        low = np.array([nodes["low_left"], nodes["low_right"]], np.int64)
        return self.used[nodes["column"]], nodes["cut"].astype(np.int64), low

    def bounds_of_cuts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return int64[cuts], of the cuts of all used columns, ascending: what trees lose at least
        that begin with each; and int64[2, cuts]: what the rest, and the rows up to it, lose, where
        both are less than ``margin`` more than the least loss together, else −1.

        After the search is finished.
        """
        frame, ends = self.state.frames[0], np.cumsum(self.highest)
        within, cuts = int(frame["ub"]), int(ends[-1])
        bounds, sides = np.full(cuts, within + self.price), np.full((2, cuts), -1)
        nodes = self.state.nodes[: frame["nodes"]]
        inner = (nodes["cut"] >= 0) & (nodes["cut"] < np.array(self.highest)[nodes["column"]])
        nodes = nodes[inner]
        place = (ends - self.highest)[nodes["column"]] + nodes["cut"]
        both = nodes["low_left"] + nodes["low_right"]
        bounds[place] = both + self.price
        solved = both < within
        for side, name in enumerate(("low_right", "low_left")):
            sides[side, place[solved]] = nodes[name][solved]
        return bounds, sides

    def _plan_strips(self, rows: int, steps: int, most_bytes: int) -> _Strips:
        """Return what strips take, as many as there are rows for; without any where a pass is
        short, or there is no room.

        steps : of vectors in a pass.
        """
        strip = np.dtype(np.int16 if self.total < 2**15 else np.int32)
        if self.depth < 3 or steps < STEPS_WITHOUT_STRIPS:
            return _Strips(0, 0, [0] * 5, np.zeros(0, strip), 0)
        columns, classes = len(self.used), self.weights.shape[1]
        coarse, fine = 32 // strip.itemsize, STRIPS
        while fine > 2 and ROWS_OF_STRIP * fine > rows:
            fine //= 2
        sides = np.arange(coarse)
        member = np.hstack([sides[:, None] <= sides, sides <= sides[:, None]])
        room = 2 * coarse * (3 * fine if classes <= 2 else (classes + 2) * fine + rows)
        sizes = [
            sum(self.highest) + columns,
            columns * fine,
            columns * columns * 2 * coarse * (fine + 1),
            columns * rows,
            2 * rows + fine + 2 * coarse * fine,
        ]
        needed = 4 * (self.depth - 2) * sum(sizes) + strip.itemsize * (room + member.size)
        if needed > most_bytes:
            return _Strips(0, 0, [0] * 5, np.zeros(0, strip), 0)
        sums = np.concatenate([-member.astype(strip).ravel(), np.zeros(room, strip)])
        return _Strips(fine, coarse, list(accumulate(sizes)), sums, needed)

    def _allocate(self, memory_bytes: int | None) -> bool:
        """Make the arrays, with the ranks of as many columns at once as there is room for; False
        where there is no room for one.

        memory_bytes : of all arrays, at most; None: RANK_BYTES of ranks, and what the others take.
        Writes ``plan``, ``tables``, ``state`` and ``bytes_used``, and lays out the first table.
        """
        from arboretum_gosdt.continuous import tables as layouts

        shape = self._shape()
        room = self._divide_room(shape, memory_bytes)
        if room is None:
            return False
        self.plan = self._make_plan(shape, room)
        self.tables, self.state = self._make_tables(shape, room), self._make_state(shape, room)
        state = self.state
        held = (*self.tables, *state[:-3], *state.pairs, *state.triples)
        self.bytes_used = sum(array.nbytes for array in held)
        rows, columns, tables = shape.rows, shape.columns, self.tables
        ranks = self.columns if columns == len(self.columns) else self.columns[self.used]
        tables.label[0], tables.weight[0] = self.label, self.each
        tables.rank[0].reshape(columns, rows + 1)[:, :rows] = ranks.take(self.unit, axis=1)
        layouts.write_layout(self.plan, tables, 0, rows, state.order)
        return True

    def _shape(self) -> _Shape:
        """Return what the rows, the columns and the depth say of the arrays."""
        columns, rows, (sign, blocks) = len(self.used), len(self.each), sure(self.layout)
        lanes = 64 // sign.itemsize
        vectors = -(-columns // (lanes // blocks))
        counts = [rank + 1 for rank in self.highest]
        levels, most = self.depth - 1, max(counts)
        return _Shape(
            rows=rows,
            columns=columns,
            classes=self.weights.shape[1],
            sign=sign,
            word=np.dtype(np.int32 if sign.itemsize == 4 else np.int16),
            blocks=blocks,
            lanes=lanes,
            vectors=vectors,
            ends=vectors * -(-rows // blocks),
            levels=levels,
            tables=max(1, self.depth - 2),
            starts=np.array([0, *accumulate(counts)]),
            most=most,
            nodes=[most + 2 if top else sum(counts) + 2 * columns for top in range(levels)],
        )

    def _divide_room(self, shape: _Shape, memory_bytes: int | None) -> _Room | None:
        """Return what strips, families, lists and ranks may take; None where there is no room for
        the ranks of one column.
        """
        places, item, tables = shape.places, shape.word.itemsize, shape.tables
        fixed = tables * (
            shape.columns * (shape.rows + 1) * 4
            + shape.rows * 12
            + places * (8 + 2 * item)
            + shape.ranks * 4
        ) + places * (4 + item)
        # as they came, of different objects, of used columns
        fixed += sum(shape.nodes) * 112 + 64 * shape.ranks + 3 * self.columns.nbytes
        strips = self._plan_strips(
            shape.rows,
            shape.ends * shape.classes,
            STRIP_BYTES if memory_bytes is None else (memory_bytes - fixed) // 8,
        )
        fixed += strips.bytes
        if memory_bytes is None:
            slots = min(shape.columns, RANK_BYTES // max(1, places * item * tables))
            return _Room(strips, FAMILY_BYTES, LISTS, max(1, slots))
        left = memory_bytes - fixed
        slots = min(shape.columns, left * 3 // 4 // max(1, places * item * tables))
        if slots < 1:
            return None
        families = min(FAMILY_BYTES, max(0, left) // 16)
        return _Room(strips, families, min(LISTS, left // 16 // shape.levels), slots)

    def _make_plan(self, shape: _Shape, room: _Room) -> Any:
        """Return the numbers that kernels go by."""
        from arboretum_gosdt.continuous.tables import Plan

        two, sign, span = shape.classes <= 2, shape.sign, shape.rows
        if sign.itemsize == 1:
            span = _steps_that_fit(np.cumsum(np.sort(self.each)[::-1]), sign)
        return Plan(
            columns=shape.columns,
            classes=shape.classes,
            lanes=shape.lanes,
            blocks=shape.blocks,
            vectors=shape.vectors,
            two=int(two),
            depth=self.depth,
            slots=room.slots,
            span=span,
            fine=room.strips.fine,
            coarse=room.strips.coarse,
            patience=PATIENCE if two else PATIENCE_OF_MANY,
            long=LONG_PASS,
            price=self.price,
            margin=self.margin,
            finals=room.strips.ends[0],
            losses=room.strips.ends[1],
            sorted=room.strips.ends[2],
            keys=room.strips.ends[3],
        )

    def _make_tables(self, shape: _Shape, room: _Room) -> Any:
        """Return the arrays of the rows of each level, and the sums of a pass."""
        from arboretum_gosdt.continuous.class_passes import FOUR
        from arboretum_gosdt.continuous.tables import Tables

        two, sign = shape.classes <= 2, shape.sign
        rows, places, tables = shape.rows, shape.places, shape.tables
        padded = -(-shape.classes // FOUR) * FOUR
        narrow = sign.itemsize == 1 and self.total < 2**15
        total = np.dtype(np.int16 if narrow else np.int32) if two else sign
        return Tables(
            starts=shape.starts,
            shape=np.zeros((tables, 2), np.int64),
            rank=np.empty((tables, shape.columns * (rows + 1)), np.int32),
            weight=np.empty((tables, rows), np.int64),
            label=np.empty((tables, rows), np.int32),
            row=np.empty((tables, places), np.int32),
            ends=np.empty((tables, shape.ends), np.uint64),
            last=np.empty((tables, shape.ranks), np.int32),
            ranks=np.empty((tables * room.slots, places), shape.word),
            slot=np.empty((tables, shape.columns), np.int64),
            owner=np.empty((tables, room.slots + 1), np.int64),
            signs=np.empty((tables + 1, places), sign),
            counts=np.empty((tables + 1, places), np.int32),
            labels=np.empty((1 if two else tables, 1 if two else places), shape.word),
            room=np.zeros(2 * shape.lanes, np.int32),
            sums=_zeros_in_lines((2 + 3 * padded) * shape.lanes, total),
            mine=np.empty(0 if two else rows, np.int64),
            totals=np.zeros(2 * padded, np.int64),
            chosen=np.zeros(2 * padded, np.int64),
            strips=np.empty((tables, room.strips.ends[-1]), np.int32),
            strip_sums=room.strips.sums,
            spent=np.zeros((tables, 2), np.int64),
        )

    def _make_state(self, shape: _Shape, room: _Room) -> Any:
        """Return the search before its first step."""
        from arboretum_gosdt.continuous import parts
        from arboretum_gosdt.continuous.similar import FAR

        levels, nodes, heap = shape.levels, sum(shape.nodes), 1 << max(1, self.depth - 1)
        most_bytes = 0 if self.total >= FAR // 2 else room.families
        pairs, triples = (
            _room_for_families(self.depth, cuts, shape.columns, most_bytes) for cuts in (2, 3)
        )
        state = parts.State(
            frames=np.zeros(levels, parts.FRAME),
            nodes=np.empty(nodes, parts.NODE),
            open=np.empty(nodes, parts.INTERVAL),
            lists=np.empty((max(1, levels - 1), room.lists if levels > 1 else 0), np.int32),
            seeds=np.empty(2 * shape.most + 2, parts.SEED),
            parts=np.empty(room.strips.fine + 1, parts.PART),
            best=np.full((levels, heap, 2), -1, np.int64),
            sides=np.full((levels, 2, heap, 2), -1, np.int64),
            now=np.zeros(1, parts.NOW),
            out=np.zeros(6, np.int64),
            order=np.empty(shape.rows, np.int32),
            pairs=pairs,
            triples=triples,
            weights=np.empty(4, np.int32),
        )
        state.frames["first_node"] = [0, *accumulate(shape.nodes[:-1])]
        now = state.now[0]
        now["top"], now["value"] = parts.UNBORN, self.leaf + self.margin + 1
        return state


def _room_for_families(depth: int, cuts: int, columns: int, most_bytes: int) -> Any:
    """Return room for sets that so many cuts make (see :mod:`.similar`); none where a tree of that
    depth has no such sets to look up.

    most_bytes : that they may take.
    """
    from arboretum_gosdt.continuous.similar import Families

    sets = SETS_OF_FAMILY if depth > cuts + 1 else MEASURED_OF_FAMILY
    places = min((2 * columns) ** cuts, most_bytes // (20 * sets + 16)) if depth > cuts else 0
    return Families(
        sets=np.empty((places, 5, sets), np.int32),
        key=np.full(places, -1, np.int64),
        count=np.zeros(places, np.int64),
    )


def _zeros_in_lines(size: int, dtype: np.dtype) -> np.ndarray:
    """Return zeros that begin where a line of the cache does: a vector that was just written is
    read again without a wait.
    """
    room = np.zeros(size + LINE_BYTES // dtype.itemsize, dtype)
    first = -room.ctypes.data % LINE_BYTES // dtype.itemsize
    return room[first : first + size]


def _steps_that_fit(sums: np.ndarray, sign: np.dtype) -> int:
    """Return of how many rows the weights fit into a lane together, whichever they are; at least 1.

    sums : int64[rows], of the greatest weights.
    """
    return max(1, int(np.searchsorted(sums, np.iinfo(sign).max, "right")))


def _choose_layout(
    columns: int, each: np.ndarray, classes: int, highest: list[int]
) -> tuple[np.dtype, int]:
    """Return the dtype that rows' weights are held as, and the blocks of a column: those with which
    a pass costs least.

    Narrow lanes serve where neither ranks nor, of two classes, the weights of any block (of more,
    all weights) are too many.
    each : int64[rows], the weights.
    highest : greatest rank of every column.
    """
    rows, heaviest = len(each), np.cumsum(np.sort(each)[::-1])
    total = int(heaviest[-1])
    span = _steps_that_fit(heaviest, np.dtype(np.int8))
    found: tuple[float, np.dtype, int] = (math.inf, np.dtype(np.int32), 1)
    signs: list[np.dtype] = [np.dtype(kind) for kind in (np.int8, np.int16, np.int32)]
    for sign in signs:
        most, lanes, blocks = np.iinfo(sign).max, 64 // sign.itemsize, 1
        if (sign.itemsize < 4 and max(highest) >= 2**15 - 1) or (
            sign.itemsize == 1 and classes > 2
        ):
            continue
        while blocks <= lanes:
            vectors = -(-columns // (lanes // blocks))
            steps = -(-rows // blocks)
            rounds = blocks.bit_length() - 1
            # of 8 bits, sums are put into wider lanes before they could be more
            heavy = heaviest[0] if sign.itemsize == 1 else heaviest[steps - 1]
            if (heavy if classes <= 2 else total) <= most:
                if classes <= 2:
                    cost = vectors * (
                        steps * (1.3 + 16 / span if sign.itemsize == 1 else 1.0)
                        + (8 + 4 * rounds) * 2
                    )
                else:
                    four = -(-classes // 4)
                    # cycles: both sides; sums of classes, before blocks or row by row
                    cost = vectors * steps * (24 + 8 * four * (blocks > 1)) + 4 * rows * (
                        blocks == 1
                    )
                    cost += vectors * four * (32 + 16 * rounds)
                found = min(found, (cost, sign, blocks), key=lambda one: one[0])
            blocks *= 2
    return found[1], found[2]
