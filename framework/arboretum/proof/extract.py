"""From what a search remembers to a proof: only the sets that the bound of all objects needs, found
out by the checker's own rules.

A search in compiled code need not write while it works.  Afterwards its memo says what is true of
which set; here the tree of reasons is walked from the root, set by set: what counting shows is
taken, what the memo knows of a side is proven first, and where it knows too little the set is
searched.  So a proof is found for every bound that is true, and in little more time than checking
it takes.
"""

import time
from collections.abc import Callable, Sequence
from fractions import Fraction

import attrs
import numpy as np

from arboretum.interfaces.method import Problem
from arboretum.proof import finding
from arboretum.proof.additive import Additive
from arboretum.proof.ground import rows_as_bytes
from arboretum.proof.sets import NEVER
from arboretum.proof.writing import ProofWriter

SETS, SLICE_SECONDS = 2_000, 0.2
"""Sets between two reports of progress, at most; and the seconds that they are to take."""
FRAMES_REPORTED = 4
"""First frames, by whose open columns progress is told."""


@attrs.frozen(eq=False)
class Memo:
    """What a search remembers of sets of objects, without limits on leaves.

    has : bool[rows, log's tests], outcomes of the objects that the search knows.
    words : uint64[rows, 2], random; the sum over a set is its fingerprint, the first sum raised by
        ``turn`` for each test that may follow, or by ``unlimited``.
    slots, bound : its memo, see :mod:`arboretum.kernels.solving.fingerprints`.
    """

    has: np.ndarray
    words: np.ndarray
    slots: np.ndarray
    bound: np.ndarray
    turn: int
    unlimited: int


class Extraction:
    """Writes to a log what shows a bound of an additive objective.

    rules : the checker's; None: those of the log's problem.
    memo : None: nothing is remembered, and every set is searched.
    progress : called with (share done, 1.0, message).
    """

    def __init__(
        self,
        log: ProofWriter,
        problem: Problem,
        memo: Memo | None,
        progress: Callable[..., None],
        rules: Additive | None = None,
    ) -> None:
        self.writer, self.progress = log, progress
        if rules is None:
            rules = Additive(problem, log.header["tests"], Fraction(log.header["unit"]))
        self.rules = rules
        spelled = {
            int(side): (test, outcome)
            for test, sides in enumerate(rules.literals)
            for outcome, side in enumerate(sides)
        }
        columns = rules.has.shape[1]
        self.spelled = np.array(
            [spelled.get(side, (0, 0)) for side in range(2 * columns)], np.int32
        ).reshape(-1, 2)
        self.memory, self._sets = self._memory(memo), SETS // 10
        rules.new_log(np.empty(1 << 12, np.int32), np.zeros(1 << 8, np.int64))

    def _memory(self, memo: Memo | None) -> finding.Remembered:
        """The memo, with words of the checker's objects."""
        words = np.zeros((len(self.rules.has), 2), np.uint64)
        if memo is None:
            return finding.Remembered(
                words, np.zeros((1, 2), np.uint64), np.empty(0, np.int64), np.zeros(2, np.uint64)
            )
        with_test = np.array([sides[1] for sides in self.rules.literals])
        has = np.pad(self.rules.has, ((0, 0), (0, 1)))  # what no object has, for constant tests
        side = (with_test & 1).astype(np.uint8)
        mine = np.packbits(has.take(with_test >> 1, axis=1) == side, axis=1)
        number = {row: u for u, row in enumerate(rows_as_bytes(mine))}
        theirs = rows_as_bytes(np.packbits(memo.has, axis=1))
        at = np.array([number.get(row, -1) for row in theirs], np.int64)  # none, of one class
        words[at[at >= 0]] = memo.words[at >= 0]
        return finding.Remembered(
            words,
            memo.slots,
            memo.bound,
            np.array([memo.turn % 2**64, memo.unlimited % 2**64], np.uint64),
        )

    def show(self, goal: int, depth: int = -1, leaves: int = -1) -> int:
        """Log what shows the bound of all objects, or the most that can be shown; returns that.

        goal : the bound.   depth, leaves : limits of the trees; −1: any.
        """
        rules = self.rules
        depth, leaves = rules.within(depth, leaves)
        self._nodes = rules.new_nodes(8 if depth < 0 else min(8, depth + 2), leaves)
        self._frames = np.zeros(len(self._nodes.mask), finding.FRAME)
        self._state = np.zeros(1, finding.STATE)[0]
        self._nodes.mask[0], first = rules.ground.everything, self._frames[0]
        first["goal"], first["depth"], first["leaves"] = goal, depth, leaves
        self._walk()
        return int(self._frames[0]["goal"])

    def show_side(self, path: Sequence[tuple[int, int]], goal: int, depth: int) -> int:
        """Log what shows a bound of the set that a path leads to, or the most that can be shown;
        returns that.

        After :meth:`show`, without limits on leaves.   path : (column, side) from the root.
        depth : of the trees; −1: any.
        """
        bits, d = self.rules.ground.packed, len(path)
        while d + 2 >= len(self._frames):
            self._deepen()
        frames, nodes = self._frames, self._nodes
        nodes.mask[0] = self.rules.ground.everything
        for at, (column, side) in enumerate(path, 1):
            nodes.mask[at] = nodes.mask[at - 1] & (bits[column] if side else ~bits[column])
            frames[at]["literal"] = 2 * column + side
        here = frames[d]
        here["goal"], here["depth"], here["leaves"] = goal, depth, -1
        here["how"], here["step"] = finding.CLAIMED, finding.NEW
        self._state["at"] = self._state["end"] = d
        self._walk()
        return int(self._frames[d]["goal"])

    def keep(self, path: Sequence[tuple[int, int]]) -> None:
        """Log what is remembered of the sides of every test, on the sets of a path (tests of the
        log, outcomes) and of its beginnings.

        After :meth:`show`; without limits on leaves.
        """
        rules, bits = self.rules, self.rules.ground.packed
        for d in range(len(path) + 1):
            while d + 2 >= len(self._frames):
                self._deepen()
            frames, nodes = self._frames, self._nodes
            if d:
                literal = int(rules.literals[path[d - 1][0]][path[d - 1][1]])
                nodes.mask[d] = nodes.mask[d - 1] & (
                    bits[literal >> 1] if literal & 1 else ~bits[literal >> 1]
                )
                frames[d]["literal"], frames[d]["leaves"] = literal, -1
                frames[d]["depth"] = max(-1, frames[d - 1]["depth"] - 1)
            n = finding.report(
                rules.ground, rules.log, nodes, frames, rules.scratch, self.memory, d
            )
            columns, claimed = nodes.columns[d, :n].copy(), nodes.claimed[d, : 2 * n].copy()
            for place in np.flatnonzero(claimed > nodes.low[d, : 2 * n]).tolist():
                has, side = bits[columns[place % n]], place // n
                self._nodes.mask[d + 1] = self._nodes.mask[d] & (has if side else ~has)
                here = self._frames[d + 1]
                here["literal"], here["goal"] = 2 * columns[place % n] + side, claimed[place]
                here["depth"], here["leaves"] = max(-1, int(self._frames[d]["depth"]) - 1), -1
                here["how"], here["step"] = finding.CLAIMED, finding.NEW
                self._state["at"] = self._state["end"] = d + 1
                self._walk()

    def write(self) -> None:
        """Hand the records to the log."""
        end = int(self._state["records"])
        self.writer.append(self.rules.log.words[: self.rules.log.start[end]], end)

    def _walk(self) -> None:
        """Write the records of all sets, a slice of about ``SLICE_SECONDS`` at a time; the log and
        the stack grow where the kernel finds no room.
        """
        rules, state, ended = self.rules, self._state, finding.PAUSED
        while ended != finding.FINISHED:
            room = (rules.ground, rules.log, self._nodes, self._frames, rules.scratch)
            start = time.monotonic()
            ended = finding.walk(*room, self.memory, self.spelled, state, self._sets)
            slow = time.monotonic() - start > SLICE_SECONDS
            self._sets = (
                max(1, self._sets // 4) if slow else min(SETS, self._sets + self._sets // 4 + 1)
            )
            number = int(state["records"])
            done = 1.0 if ended == finding.FINISHED else self._share_done()
            self.progress(done, 1.0, "writing the proof")
            if ended == finding.NEED_ROOM:
                log, words = rules.log, 2 * int(rules.log.start[number]) + 10_000
                rules.new_log(
                    np.resize(log.words, words), np.resize(log.start, 2 * number + 1001), number
                )
                if state["at"] + 1 >= len(self._frames):
                    self._deepen()

    def _share_done(self) -> float:
        """About how much of the time of a walk is over, by the share of the columns that were open
        in the first frames and are no more.

        The first take longest, as what is shown of them closes others: on five tables half of the
        time was over when 5 to 38 % were closed, nine tenths at 26 to 60 %, so that the cube root
        says it best.
        """
        nodes, done, part_of = self._nodes, 0.0, 1.0
        for d in range(min(int(self._state["at"]), FRAMES_REPORTED)):
            n, leaves = int(nodes.numbers[d]["columns"]), int(nodes.numbers[d]["leaves"])
            levels = 1 if leaves < 0 else max(leaves - 1, 0)
            low = nodes.low[d, : 2 * levels * n].reshape(levels, 2, n)
            joined = (low[:, 0] + low[::-1, 1]).min(axis=0, initial=NEVER) + nodes.test_cost[d, :n]
            still = int((joined < self._frames[d]["goal"]).sum())
            first = max(still, int(self._frames[d]["open"]), 1)
            done, part_of = done + part_of * (1.0 - still / first), part_of / first
        return float(done ** (1 / 3))

    def _deepen(self) -> None:
        """Make room for twice as many frames; views of the old arrays are stale."""
        self._nodes = type(self._nodes)(*(np.concatenate([array, array]) for array in self._nodes))
        self._frames = np.concatenate([self._frames, self._frames])
