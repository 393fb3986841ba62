"""The least loss of all trees of a depth on binary tests: bounds at any time, a tree, slices, a
budget of bytes.
"""

import math
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from arboretum.kernels.solving.fingerprints import enter, find, random_words
from arboretum.kernels.solving.memo import MemoArrays
from arboretum.kernels.solving.slices import FINISHED, PAUSED, run_slices, work_in_pieces
from arboretum_gosdt.depth import arrays
from arboretum_gosdt.problem.prepared import unpack_bits
from arboretum_gosdt.problem.tree_kernels import best_test
from arboretum_gosdt.simd.lanes import VECTOR_BYTES

FIRST_SETS = 1 << 10
FIRST_CELLS = 1 << 14
SLICE = 12_000_000
"""Vectors · words between two looks at the clock: about 20 to 40 ms."""
MANY, COST_OF_TRIPLE = 50, 12
"""With more features triples are counted; what a vector of them costs besides its words, in words.

At depth 3 bounds leave few features out; triples take .48 of the time for splice (255 features),
.54 for dna (180), .61 for german-credit (86), 1.2 for anneal (49).
"""
CELLS_SHARE = 0.5
"""Share of the bytes left for losses of depth 2; without a budget they get CELLS_BYTES."""
CELLS_BYTES = 1 << 30


class LimitedSearch:
    """Minimise the loss over all trees of depth ≤ ``depth``.

    bits : uint32[rows, ⌈features / 32⌉], bit f % 32 of word f // 32 is outcome 1 of feature f.
    weights : int64[rows, classes] ≥ 0, what a row's label saves; the loss of a leaf is the sum of
        all weights less that of its label.

    Switches, which change the time and nothing else: similarity (bounds between literals of a set),
    cells (losses of depth 2 are remembered), greedy (a first tree, by the best first feature of
    depth 2), ring (windows of pairs half way round, see pair_counts; None: whichever is shorter),
    triples (depth 3 by counts of all triples, which needs windows that end at the last feature;
    None: where they are few enough for one slice, and features more than MANY), word (bits of a
    lane: 16, 32 or 64; None: the least that holds all weights).

    lower, upper : proven bound, loss of ``tree()``.
    subproblems : sets whose pairs have been counted.
    """

    def __init__(
        self,
        bits: np.ndarray,
        weights: np.ndarray,
        features: int,
        depth: int,
        *,
        similarity: bool = True,
        cells: bool = True,
        greedy: bool = True,
        ring: bool | None = None,
        triples: bool | None = None,
        word: int | None = None,
    ) -> None:
        self.bits = np.ascontiguousarray(bits, np.uint32)
        self.features = features
        self.depth = min(depth, features)
        self.weights = weights = np.ascontiguousarray(weights, np.int64)
        sizes = np.zeros((weights.shape[1], 63), np.int64)
        totals = np.zeros(weights.shape[1], np.int64)
        arrays.count_rows_of_bits(weights, sizes, totals)
        total = sum(totals.tolist())
        sizes = sizes[:, : total.bit_length()]
        self.lower, self.upper = 0, total - max(totals.tolist(), default=0)
        self._opened, self._small = 0, None
        self._task: Any = None
        depth = self.depth
        if depth <= 1 or self.upper == 0:
            self._opened = int(depth > 0 and self.features > 0 and self.upper > 0)
            self._tree, self.lower = self._best_split(depth)
            self.upper = self.lower
            return
        self._cells_kept = cells and depth > 3 and total < (1 << 32) - 1
        self._similarity = similarity
        self._ring, self._greedy, self._triples = ring, greedy and depth > 3, triples
        self._allocate(total, sizes, word)

    def memo_for_proof(self) -> tuple[Any, ...] | None:
        """Return the memo as :class:`arboretum.api.Memo` has it; None without a search."""
        if self._task is None:
            return None
        memory, words = self._task.memory, np.zeros((len(self.bits), 2), np.uint64)
        hashes = self.table.hashes
        if not len(hashes):  # the search has remembered all rows alone
            hashes = random_words(len(self._rows)).reshape(-1)
            enter(memory.slots, *_key_of_set(hashes, self.depth), 0)
        np.add.at(words, self._rows, hashes.reshape(-1, 2))
        has = unpack_bits(self.bits, self.features).astype(bool)
        return has, words, memory.slots, memory.lower, int(arrays.TURN), 0

    @property
    def subproblems(self) -> int:
        """Number of sets of rows whose pairs of features were counted, each side of a split being a
        set; 1 where a single test was looked for, 0 where nothing was.
        """

        return self._opened if self._task is None else int(self._task.state["opened"][0])

    @property
    def bytes_used(self) -> int:
        """Bytes of the arrays of the search (levels, scratch, memory of sets and of losses of depth
        2); 0 where no search is needed.
        """
        if self._task is None:
            return 0
        held: int = self._fixed_bytes + self._arrays.bytes_used() + self._cells.nbytes
        return held

    def run(
        self,
        until: float | None = None,
        memory_bytes: int | None = None,
        report: Callable[[int, int], None] | None = None,
        slices: float = math.inf,
    ) -> str:
        """Search until ``time.monotonic()`` is ``until``; returns "" when finished, else what ran
        out, "seconds", "bytes" or "slices".

        report : called with (lower, upper) after every slice.
        slices : at most so many.
        until, memory_bytes : None: no limit; bytes are of all arrays of the search.
        """
        report = report or (lambda _lower, _upper: None)
        if self._task is None or self.lower == self.upper:
            report(self.lower, self.upper)
            return ""
        if memory_bytes is not None and self.bytes_used > memory_bytes:
            return "bytes"

        def work() -> int:
            found = self._run_slice()
            self._enlarge_cells(memory_bytes)
            return found

        with self._arrays.moved_by(until):
            return run_slices(
                work,
                lambda: self._make_room_for_sets(memory_bytes),
                until,
                lambda: report(self.lower, self.upper),
                slices,
            )

    def _run_slice(self) -> int:
        """Work for a slice, take over what is proven at the root, and begin the full pass where the
        greedy one has ended.  Returns how the slice ended
        (:mod:`arboretum.kernels.solving.slices`).
        """
        from arboretum_gosdt.depth import loop as kernels

        task = self._task
        kernel = kernels.search_limited
        found = work_in_pieces(kernel, SLICE, lambda steps: int(kernel(task, steps)))
        frame, low = task.levels.frame[0], task.levels.low[0]
        self.upper = min(self.upper, int(frame["ub"]), int(task.memory.upper[0]))
        if found == FINISHED and task.state["mode"][0] == arrays.FULL:
            self.lower = self.upper
            return found
        inside = task.levels.total[0, : self.features]
        splits = (inside > 0) & (inside < frame["weight"])
        if frame["phase"] >= arrays.CHOOSE and not frame["solved"] and splits.any():
            self.lower = max(
                self.lower, min(self.upper, int(low[:, : self.features].sum(axis=0)[splits].min()))
            )
        if found == FINISHED and self.lower < self.upper:
            task.state["mode"] = arrays.FULL
            self._restart_at_root()
            return PAUSED
        return found

    def _allocate(self, total: int, sizes: np.ndarray, word: int | None) -> None:
        """Allocate the arrays of the search, enter the set of all rows, and stand at the root.

        total : of all weights.
        sizes : int64[classes, bits], rows of a class whose weight has bit b.
        word : bits of a lane; None: the least that holds all weights.
        """
        from arboretum_gosdt.depth.pair_counts import choose_layout

        two = self.weights.shape[1] == 2
        self.word = word or next(bits for bits in (16, 32, 64) if total < 1 << (bits - two))
        triples = self.depth == 3 and self._ring is not True and self._counts_triples(sizes)
        self.layout = layout = choose_layout(
            self.features, self.word, False if triples else self._ring
        )
        self.table = table = self._build_table(two, sizes)
        setting = arrays.Setting(
            depth=self.depth,
            classes=1 if two else self.weights.shape[1],
            two=int(two),
            similarity=int(self._similarity),
            keep_cells=int(self._cells_kept),
            triples=int(triples),
            width=self.word,
            groups=len(table.power),
        )
        levels, scratch = arrays.allocate(table, layout, setting, max(1, self.depth - 2))
        sets = FIRST_SETS if self.depth > 3 else 1
        fields = {"lower": np.int64, "upper": np.int64, "feature": np.int32}
        self._arrays = MemoArrays(fields, sets)
        self._cells = np.zeros((FIRST_CELLS if self._cells_kept else arrays.WAYS, 2), np.uint64)
        self._fixed_bytes = levels.rows.base.nbytes  # which they all share
        memory = arrays.Memory._make([*self._arrays.values(), self._cells])
        state = np.zeros(1, arrays.STATE)
        self._task = arrays.Task(
            table=table,
            layout=layout,
            levels=levels,
            scratch=scratch,
            memory=memory,
            setting=setting,
            state=state,
        )
        if len(table.hashes):
            levels.own[0] = _key_of_set(table.hashes)
            enter(memory.slots, *_key_of_set(table.hashes, self.depth), 0)
        memory.upper[0], memory.feature[0] = int(arrays.HUGE), arrays.LEAF
        state["nodes"], state["mode"] = 1, arrays.GREEDY if self._greedy else arrays.FULL
        self._restart_at_root()

    def _counts_triples(self, sizes: np.ndarray) -> bool:
        """Return whether a search of depth 3 counts all triples at once.

        sizes : as in ``_allocate``.
        """
        if self._triples is not None:
            return self._triples
        # of each f a third of the rows, or less, with half of the pairs
        words = int(sizes.sum()) / (3 * self.word) + COST_OF_TRIPLE
        vectors = self.features**2 / 2 * (1 + self.features * self.word / (24 * VECTOR_BYTES))
        return self.features > MANY and words * vectors < SLICE

    def _restart_at_root(self) -> None:
        """Begin again at the root: level 0 holds all rows, and no feature has been tried; the
        memory of sets and losses stays.  Called before the first pass, and between the greedy one
        and the full one.
        """
        levels, n = self._task.levels, len(self.table.group)
        levels.rows[0, :n] = np.arange(n)
        levels.low[0], levels.up[0] = 0, arrays.HUGE
        levels.frame[0] = arrays.START[0]
        levels.frame["rows"][0] = n
        self._task.state["level"] = 0

    def _build_table(self, two: bool, sizes: np.ndarray) -> Any:
        """Return the DepthTable: rows of one class and one weight 2ᵇ each, in groups; groups of two
        classes take turns.

        two : whether there are two classes.
        sizes : int64[classes, bits], rows of a class whose weight has bit b.
        """
        bits_of = sizes.tolist()
        highest = [
            max([b + 1 for b, number in enumerate(row) if number], default=0) for row in bits_of
        ]
        if two:
            groups = [(b, k) for b in reversed(range(max(highest))) for k in (0, 1)]
            first = [0, len(groups)]
        else:
            groups = [(b, k) for k, top in enumerate(highest) for b in reversed(range(top))]
            first = [0, *accumulate(highest)]
        begin, at = np.zeros(sizes.shape, np.int64), 0
        for b, k in groups:
            begin[k, b] = at
            at += bits_of[k][b]
        chunks, empty = self.bits.shape[1], self.bits.size
        bits = np.zeros(empty + chunks, np.int32)
        bits[:empty] = self.bits.reshape(-1).view(np.int32)
        power, kind = np.array(groups, np.int64).T.copy()
        table = arrays.DepthTable(
            bits=bits,
            place=np.empty(at + 1, np.int32),
            group=np.empty(at, np.int32),
            power=power,
            kind=kind,
            first=np.array(first),
            mixed=np.array([0, len(groups) // 2]),
            hashes=random_words(at if self.depth > 3 else 0).reshape(-1),
        )
        table.place[at] = empty
        self._rows = np.empty(at, np.int32)
        arrays.fill_rows(self.weights, begin, chunks, table, self._rows)
        return table

    def _make_room_for_sets(self, budget: int | None) -> bool:
        """Make room for one more set in the memory; False when that, with all other arrays, exceeds
        the budget in bytes.

        budget : None: no limit.  Arrays may be moved; ``self._task`` is replaced then.
        """
        sets = int(self._task.state["nodes"][0]) + 1
        if budget is not None:
            budget -= self._fixed_bytes + self._cells.nbytes
        if not self._arrays.room_for(sets, budget):
            return False
        names = ("slots", "lower", "upper", "feature")
        self._task = self._task._replace(
            memory=self._task.memory._replace(**{name: self._arrays[name] for name in names})
        )
        return True

    def _enlarge_cells(self, budget: int | None) -> None:
        """Make the memory of losses of depth 2 four times as large when it is half full, while that
        takes a part of the budget only.

        budget : of all bytes, of which CELLS_SHARE of what the other arrays leave; None:
            CELLS_BYTES.
        """
        from arboretum_gosdt.depth import loop as kernels

        task = self._task
        if 2 * task.state["cells"][0] < len(self._cells):
            return
        most = (
            CELLS_BYTES
            if budget is None
            else CELLS_SHARE * (budget - self._fixed_bytes - self._arrays.bytes_used())
        )
        if 5 * self._cells.nbytes > most:  # the old and four times as many are held at once
            return
        cells = np.zeros((4 * len(self._cells), 2), np.uint64)
        task.state["cells"] = kernels.move_cells(self._cells, cells)
        self._cells, self._task = cells, task._replace(memory=task.memory._replace(cells=cells))

    def tree(self) -> np.ndarray:
        """Return the best tree known: int64[nodes, 4] of (feature or −1, 0, node of outcome 1, node
        of outcome 0), root first.
        """
        if self._task is None:
            return self._tree
        from arboretum_gosdt.depth import last_tests, loop
        from arboretum_gosdt.depth.pair_counts import Packed

        task, nodes = self._task, list[list[int]]()
        self._add_first_tests(nodes, None, self.depth, 0, 0)
        levels, scratch, table, setting = task.levels, task.scratch, task.table, task.setting
        if levels.frame["phase"][0] == arrays.OPEN:  # the search begins by packing all rows
            loop.search_limited(task, 0)
        packed = Packed(
            levels.words[0], scratch.flip, levels.start[0], table.first, setting.classes, 0
        )
        made = np.array([tuple(node) for node in nodes], last_tests.NODE)
        parts = np.full((self.depth, len(scratch.flip)), ~levels.words.dtype.type(0))
        whole = np.empty((len(nodes), setting.classes), levels.whole.dtype)
        whole[0] = levels.whole[0]
        last_tests.find_last_tests(
            *(task.layout, setting, packed, made, parts, whole),
            *(np.empty_like(scratch.margins), self.features),
        )
        return _nodes_of_tree(made["test"].tolist(), nodes)

    def _best_split(self, depth: int) -> tuple[np.ndarray, int]:
        """Return the best tree of at most so many tests on a path, 0 or 1, as ``tree`` does, and
        its loss.
        """
        leaf = [-1, 0, -1, -1]
        feature, right, total = best_test(
            self.bits, self.weights, np.arange(len(self.weights)), self.features if depth else 0
        )
        nodes = [leaf] if feature < 0 else [[int(feature), 0, 1, 2], leaf, leaf]
        return np.array(nodes, np.int64), int(total - right)

    def _add_first_tests(
        self,
        nodes: list[list[int]],
        rows: np.ndarray | None,
        depth: int,
        level: int,
        above: int,
        feature: int = arrays.PAIR,
    ) -> None:
        """Add the best tree known of that depth on these rows to ``nodes``, but for the last tests
        on its paths.

        nodes : as :func:`.last_tests.find_last_tests` reads them, appended to.
        rows : int32, rows of the table, ascending; None: all.
        level, above : tests above, and the node that has the last of them.
        feature : the first one; PAIR: it is not known.
        """
        at = len(nodes)
        nodes.append([arrays.LAST, above, 0, level, 0])
        if depth <= 1:
            nodes[at][0] = arrays.LAST if depth else arrays.LEAF
            return
        known, one, other = feature != arrays.PAIR, arrays.PAIR, arrays.PAIR
        if known:
            depth -= 1
        else:
            if rows is not None:
                kinds = self.table.kind[self.table.group[rows]]
                if not len(kinds) or kinds.min() == kinds.max():
                    nodes[at][0] = arrays.LEAF
                    return
            feature, depth = self._first_feature(rows, depth)
            if feature >= 0 and rows is None and depth == 2:
                one, other = self._task.levels.frame[["one", "other"]][0].tolist()
        nodes[at][0] = feature
        if feature < 0:
            return
        sides: list[np.ndarray | None] = [None, None]
        if depth > 1 and arrays.PAIR in (one, other):
            table = self.table
            rows = np.arange(len(table.group), dtype=np.int32) if rows is None else rows
            inside = (table.bits[table.place[rows] + feature // 32] >> feature % 32 & 1).astype(
                bool
            )
            sides = [rows[inside], rows[~inside]]
        self._add_first_tests(nodes, sides[0], depth, level + 1, at, one)
        nodes[at][2] = len(nodes)
        self._add_first_tests(nodes, sides[1], depth, level + 1, at, other)

    def _first_feature(self, mine: np.ndarray | None, depth: int) -> tuple[int, int]:
        """Return (feature, −1 for a leaf; depth of what is below it) of the best tree known of that
        depth on these rows.

        What the memory does not have, depth 2 among it, is counted anew; that changes neither
        ``subproblems`` nor what a search that goes on has on its levels.
        mine : int32, rows of the table, ascending; None: all.   depth : at least 2.
        """
        from arboretum_gosdt.depth import loop as kernels

        task = self._task
        levels, finished = task.levels, task.state["level"][0] < 0
        if finished and depth == self.depth == 2:  # these pairs were counted last
            return int(task.scratch.key[: self.features].argmax()), 1
        if depth >= 3:
            node, feature = 0, arrays.PAIR  # the number of all rows
            if mine is not None:
                hashes = task.table.hashes.reshape(-1, 2)[mine].reshape(-1)
                node = int(find(task.memory.slots, *_key_of_set(hashes, depth)))
            if node == 0 and levels.frame["ub"][0] < task.memory.upper[0]:
                feature = int(levels.frame["feature"][0])
            elif node >= 0 and task.memory.upper[node] < arrays.HUGE:
                feature = int(task.memory.feature[node])
            if feature != arrays.PAIR:
                return feature, depth - 1
        if finished:  # the words of all rows stay, unless these are all
            small = task._replace(levels=levels._make(one[-1:] for one in levels))
        else:  # the search is to go on with its arrays
            setting = task.table, task.layout, task.setting
            self._small = small = self._small or task._replace(
                **dict(zip(("levels", "scratch"), arrays.allocate(*setting, 1), strict=True))
            )
        opened = task.state["opened"][0]
        if mine is None:
            mine = np.arange(len(task.table.group), dtype=np.int32)
        small.levels.rows[0, : len(mine)], small.levels.frame["rows"][0] = mine, len(mine)
        kernels.search_limited(small, -1)
        task.state["opened"] = opened
        return int(small.scratch.key[: self.features].argmax()), 1


def _nodes_of_tree(tests: list[int], asked: list[list[int]]) -> np.ndarray:
    """Return nodes as ``LimitedSearch.tree`` does.

    tests, asked : those that :func:`.last_tests.find_last_tests` found of the nodes that it was
        given.
    """
    nodes, places = list[list[int]](), list[int]()
    leaf = [arrays.LEAF, 0, -1, -1]
    for number, (test, (before, above, *_)) in enumerate(zip(tests, asked, strict=True)):
        place = len(nodes)
        if number:
            up = places[above]
            if up < 0 or nodes[up][0] < 0:  # below what became a leaf
                places.append(-1)
                continue
            nodes[up][2 if number == above + 1 else 3] = place
        places.append(place)
        nodes.append([test, 0, -1, -1])
        if test >= 0 and before == arrays.LAST:
            nodes[place][2:] = place + 1, place + 2
            nodes += [leaf, leaf]
    return np.array(nodes, np.int64)


def _key_of_set(hashes: np.ndarray, depth: int = 0) -> tuple[np.uint64, np.uint64]:
    """Return the key of a set together with the depth of its trees; of depth 0, its fingerprint.

    hashes : uint64[2 · rows], of its rows.
    """
    one, two = int(hashes[::2].sum()), hashes[1::2].sum()
    return np.uint64((one + depth * int(arrays.TURN)) % 2**64), two
