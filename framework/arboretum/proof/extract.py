"""From what a search remembers to a proof: only the sets that the bound of all objects needs, found out by the checker's own rules.

A search in compiled code need not write while it works.  Afterwards its memo says what is true of which set; here the tree of reasons
is walked from the root, set by set: what counting shows is taken, what the memo knows of a side is proven first, and where it knows
too little the set is searched.  So a proof is found for every bound that is true, and in little more time than checking it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from arboretum.interfaces.method import Problem
from arboretum.proof.additive import Limits
from arboretum.proof.binary import Binary
from arboretum.proof.cuts import Cuts
from arboretum.proof.format import ProofWriter
from arboretum.proof.ground import Columns, Costs

Path = tuple[tuple[int, int], ...]
Memo = Callable[[Sequence[tuple[int, int]], int], np.ndarray]
"""(path, depth that is left to the sides, −1: any) → int64[2, tests]: bounds of both sides of every test on the set of that path, 0
where nothing is known.  Paths and tests in the log's numbers; bounds as a log counts them, without limits on leaves."""


class Extraction:
    """Writes to a log what shows a bound of an additive objective.   rules : the checker's.

    Of raw columns and under limits of leaves no memo is asked.
    """

    def __init__(self, log: ProofWriter, problem: Problem, memo: Memo | None, progress: Callable[..., None]) -> None:
        columns, self.log, self.memo, self.progress = Columns.of(problem.objects), log, memo, progress
        costs, tests = Costs.of(problem, columns.group, Fraction(log.header["unit"])), log.header["tests"]
        self.rules = (Binary if columns.rank.max(initial=0) <= 1 else Cuts)(problem, tests, columns, costs)
        self.raw: dict[int, int] = {}
        self.spelled: dict[tuple[int, int, bool], tuple[int, int]] = {}
        for number, test in reversed(list(enumerate(tests))):
            if isinstance(test, int) and test >= columns.n_fixed:
                self.raw[int(columns.column[test])] = number
            else:
                self.spelled.update((columns.literal(test, outcome), (number, outcome)) for outcome in (0, 1))

    def show(self, goal: int, depth: int = -1, leaves: int = -1) -> int:
        """Log what shows the bound of all objects, or the most that can be shown; returns that."""
        everything = self.rules.everything
        more = self.rules.more_of(everything)
        return self._shown((), everything, (depth, leaves), goal - more) + more

    def _shown(self, path: Path, bits: np.ndarray, limits: Limits, goal: int) -> int:
        """The bound of a set that is logged: the goal, or less where that is not true."""
        rules = self.rules
        self.progress(0, None, f"writing the proof: {self.log.records:,} records")
        if rules.known_of(bits, limits) < goal:
            goal = self._on_cuts(path, bits, limits, goal) if isinstance(rules, Cuts) else self._on_bits(path, bits, limits, goal)
            rules.learn(bits, limits, goal)
        elif isinstance(rules, Binary):
            return goal
        self.log.record(path, goal + rules.more_of(bits), *limits)  # of cuts, once more: sides are known by their paths
        return goal

    def _literal(self, column: int, cut: int, above: bool) -> tuple[int, int]:
        """As the log spells it."""
        return (self.raw[column], 2 * cut + (not above)) if column in self.raw else self.spelled[column, cut, above]

    def _on_cuts(self, path: Path, bits: np.ndarray, limits: Limits, goal: int) -> int:
        below = max(limits[0] - 1, -1), -1

        def prove(column: int, cut: int, above: bool, wanted: int) -> int:
            literal = column, cut, above
            found = self._shown((*path, self._literal(*literal)), bits & self.rules.side_of(*literal), below, wanted)
            self.rules.learn_side(bits, literal, below, found)
            return found

        return self.rules.least(bits, limits, goal, prove)[0]

    def _on_bits(self, path: Path, bits: np.ndarray, limits: Limits, goal: int) -> int:
        """Raise the bounds of sides until no test is open; the most balanced ones first, as they say most about others."""
        rules, node, (depth, leaves) = self.rules, self.rules.count(bits), limits
        goal = min(goal, int(node.leaf))
        if depth == 0 or leaves == 1 or not len(node.tests):
            return goal
        below, unlimited = (max(depth - 1, -1), leaves), limits == (-1, -1)
        lower, told, tried = rules.sides(bits, node, *below), None, np.zeros((3, len(node.tests)), np.bool_)
        heavy = np.array([node.apart[0, 1].diagonal(), node.apart[1, 0].diagonal()])
        while True:
            rules.spread(node, lower, unlimited)
            still_open = rules.joined(lower, leaves) < goal
            if not still_open.any() or (unlimited and rules.min_leaf <= 1 and lower.max() >= goal):
                return goal
            told = self._told(path, bits, node, *below) if told is None else told
            reached = (np.maximum(told, lower[-1]).sum(axis=0) >= goal) & (leaves < 0)
            ways = still_open & ~tried & np.array([reached, np.full(len(reached), rules.decides(below[0])), np.ones(len(reached), np.bool_)])
            if not ways.any():
                return min(goal, int(rules.joined(lower, leaves).min()))
            way = int(ways.any(axis=1).argmax())
            at = int(np.where(ways[way], heavy.min(axis=0), -1).argmax())
            tried[way, at] = True
            if way == 1:
                for s in (0, 1):
                    rules.expand(rules.side(bits, int(node.tests[at]), s), lower[:, s, at], *below)
                continue
            for levels in [(0, 0)] if leaves < 0 else [(n, leaves - 2 - n) for n in range(leaves - 1)]:
                alone = [way == 0 and told[s, at] + lower[levels[1 - s], 1 - s, at] >= goal for s in (0, 1)]
                for s in sorted((0, 1), key=lambda s: (not alone[s], heavy[s, at])):  # what suffices alone, then the smaller one
                    need, level = goal - lower[levels[1 - s], 1 - s, at], lower[: levels[s] + 1, s, at]
                    wanted = int(told[s, at] if way == 0 else need)
                    if level[-1] >= need:
                        break
                    if wanted > level[-1]:
                        column, few = int(node.tests[at]), -1 if leaves < 0 else levels[s] + 1
                        longer = (*path, self._literal(column, 0, bool(s)))
                        level[:] = np.maximum(level, self._shown(longer, rules.side(bits, column, s), (below[0], few), wanted))

    def _told(self, path: Path, bits: np.ndarray, node: Any, depth: int, leaves: int) -> np.ndarray:
        """float64[2, F]: what the memo says of the sides."""
        tests = node.tests.tolist()
        if self.memo is None or leaves >= 0:
            return np.zeros((2, len(tests)))
        known, rules = self.memo(path, depth), self.rules
        spelled = [[self._literal(column, 0, bool(s)) for column in tests] for s in (0, 1)]
        more = [[rules.more_of(rules.side(bits, column, s)) if rules.k > 2 else 0 for column in tests] for s in (0, 1)]
        return np.array([[known[outcome, test] for test, outcome in row] for row in spelled], np.float64) - np.array(more)
