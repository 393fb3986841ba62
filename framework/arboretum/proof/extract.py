"""From what a search remembers to a proof: only the sets that the bound of all objects needs, found out by the checker's own rules.

A search in compiled code need not write while it works.  Afterwards its memo says what is true of which set; here the tree of reasons
is walked from the root, set by set: what counting shows is taken, what the memo knows of a side is proven first, and where it knows
too little the set is searched.  So a proof is found for every bound that is true, and in little more time than checking it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arboretum.interfaces.method import Problem
from arboretum.proof.binary import Binary, Limits
from arboretum.proof.format import Proof, ProofWriter
from arboretum.proof.ground import Columns, Costs

Memo = Callable[[Sequence[tuple[int, int]], int], np.ndarray]
"""(path, depth that is left to the sides, −1: any) → int64[2, tests]: bounds of both sides of every test on the set of that path, 0
where nothing is known.  Paths and tests in the log's numbers; bounds as a log counts them."""


class Extraction:
    """Writes to a log what shows bounds of sets of objects that binary tests divide.   trouble : why it cannot, or ""."""

    def __init__(self, log: ProofWriter, problem: Problem, memo: Memo, progress: Callable[..., None]) -> None:
        columns, self.log, self.memo, self.progress = Columns.of(problem.objects), log, memo, progress
        blank = Proof(log.header, {}, np.empty(0, np.int32), np.zeros(1, np.int64))
        self.trouble = "raw columns have too many thresholds" if columns.rank.max(initial=0) > 1 else ""
        self.rules = Binary(problem, blank, columns, Costs.of(problem, columns.group, blank.unit))
        literals = [columns.literal(test, 1) for test in log.header["tests"]]
        self.test_of = {column: test for test, (column, _, _) in reversed(list(enumerate(literals)))}
        self.turned = {column: not literals[test][2] for column, test in self.test_of.items()}

    def show(self, goal: int, depth: int = -1) -> int:
        """Log what shows the bound of all objects, or the most that can be shown; returns that."""
        more = self.rules.more_of(self.rules.everything)
        return self._shown((), self.rules.everything, depth, goal - more) + more

    def _shown(self, path: tuple[tuple[int, int], ...], bits: np.ndarray, depth: int, goal: int) -> int:
        """The bound of a set that is logged: the goal, or less where that is not true."""
        rules, limits = self.rules, (depth, -1)
        if rules.follows(bits, limits, goal, None):
            return goal
        self.progress(0, None, f"writing the proof: {self.log.records:,} records")
        node = rules.count(bits)
        goal = min(goal, int(node.leaf))
        if depth != 0 and len(node.tests):
            goal = min(goal, self._divided(path, bits, node, limits, goal))
        rules.known.setdefault(bits.tobytes(), []).append((limits, goal))
        self.log.record(path, goal + rules.more_of(bits), depth)
        return goal

    def _divided(self, path: tuple[tuple[int, int], ...], bits: np.ndarray, node: Any, limits: Limits, goal: int) -> int:
        """Raise the bounds of sides until no test is open; the most balanced ones first, as they say most about others."""
        rules, below = self.rules, (max(limits[0] - 1, -1), -1)
        lower, unlimited = rules.sides(bits, node, *below), limits == (-1, -1)
        told, tried = np.zeros(lower.shape[1:]), np.zeros((3, len(node.tests)), np.bool_)
        balance = np.minimum(node.apart[0, 1].diagonal(), node.apart[1, 0].diagonal())
        for step in range(3 * len(node.tests) + 1):
            rules.spread(node, lower, unlimited)
            total = rules.joined(lower, -1)
            if unlimited and rules.min_leaf <= 1 and lower.max() >= goal:
                return goal
            open_ = np.flatnonzero(total < goal)
            if not len(open_):
                return goal
            if not step:
                told = self._told(path, node, below[0])
            reach = np.maximum(told, lower[0]).sum(axis=0) >= goal
            ways = (reach, np.full(len(reach), rules.decides(below[0])), np.ones(len(reach), np.bool_))
            way, able = next((w, found) for w in range(3) if len(found := open_[(ways[w] & ~tried[w])[open_]]) or w == 2)
            if not len(able):
                break
            at = int(able[balance[able].argmax()])
            tried[way, at] = True
            heavy = (node.apart[0, 1, at, at], node.apart[1, 0, at, at])
            alone = [way == 0 and told[s, at] + lower[0, 1 - s, at] >= goal for s in (0, 1)]
            for s in sorted((0, 1), key=lambda s: (not alone[s], heavy[s])):  # what suffices alone, then the smaller one
                need = goal - lower[0, 1 - s, at]
                if lower[0, s, at] >= need:
                    break
                part = rules.side(bits, int(node.tests[at]), s)
                if way == 1:
                    rules.expand(part, lower[:, s, at], *below)
                    continue
                wanted = int(told[s, at]) if way == 0 else int(need)
                if wanted > lower[0, s, at]:
                    column = int(node.tests[at])
                    literal = self.test_of[column], s ^ int(self.turned[column])
                    lower[0, s, at] = max(lower[0, s, at], self._shown((*path, literal), part, below[0], wanted))
        return int(rules.joined(lower, -1).min())

    def _told(self, path: tuple[tuple[int, int], ...], node: Any, depth: int) -> np.ndarray:
        """float64[2, F]: what the memo says of the sides."""
        known = self.memo(path, depth)
        tests = [self.test_of[column] for column in node.tests.tolist()]
        turned = np.array([self.turned[column] for column in node.tests.tolist()], np.intp)
        found = np.array([known[turned, tests], known[1 - turned, tests]], np.float64)
        if self.rules.k > 2:
            bits = self.rules.path_set(np.array(path, np.int64).reshape(-1, 2))
            parts = [[self.rules.more_of(self.rules.side(bits, column, s)) for column in node.tests.tolist()] for s in (0, 1)]
            found -= np.array(parts)
        return found
