"""Owns the arrays of the search for trees of bounded price, enlarges them, and puts the
questions to the whole table.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arboretum.api import (
    Capability,
    Context,
    Ended,
    Level,
    OutOfTime,
    Tree,
    laid_out,
    sure,
)
from arboretum.kernels.plain import fewer
from arboretum_maxcost.optimal.space import Space, has_kernel

if TYPE_CHECKING:
    from arboretum.interfaces.impurity import Impurity
    from arboretum_maxcost.optimal import search_kernels
    from arboretum_maxcost.optimal.parts import MaxCostTable, Memory, Task


SLICE = 2_000_000
"""Row visits between two looks at the clock: some tens of milliseconds."""
FIRST_NODES = 1 << 12
LIMITS = (8, 3, 1)
"""Shares of what is open that a limit rises by."""
MOST_CONFLICTS, CONFLICT_SHARE, CONFLICT_STEP = 5.0, 0.1, 2e7
"""Seconds for listing conflict sets at most; of those that are left; comparisons of codes between
two looks at the clock.
"""
BOUNDS = ("lemma", "ahead", "stars")
EVER = 1 << 60
"""A budget, and a loss, above all others."""


class KnownBounds(NamedTuple):
    """What is known of the least loss within a budget of path cost, in whole units.

    low, reach : no tree loses less, up to which budget that holds (EVER: any).
    up, path_cost : loss of the best tree known, and its maximum path cost.
    """

    low: int
    reach: int
    up: int
    path_cost: int


class MaxCostSearch:
    """What the least loss is within a budget, all in whole units of a space.

    without : names of ``BOUNDS`` that are not used; it changes no optimum.
    ended : how the last question did.
    """

    def __init__(self, space: Space, context: Context, without: tuple[str, ...] = ()) -> None:
        from arboretum.kernels.solving.arrays import Arrays
        from arboretum.kernels.solving.fingerprints import enter
        from arboretum_maxcost.optimal import parts, search_kernels

        self.space, self.context, self.kernels, self.ended = space, context, search_kernels, Ended()
        self.report: Callable[[int, int], None] = lambda low, value: None
        """Called with what is proven of the whole table: a lower bound, and the value of a tree
        or EVER.
        """
        n, tests = space.n_objects, max(1, len(space.price))
        self.task = self._make_task(without)
        self.state = np.zeros(1, search_kernels.STATE)
        self.arrays = Arrays(
            {
                "frames": np.zeros(64, search_kernels.FRAME),
                "rows": np.zeros(4 * n + 64, np.int32),
                "tests": np.zeros(16 * tests, search_kernels.LISTED),
                "slots": np.zeros((2 * FIRST_NODES, 2), np.uint64),
                "head": np.zeros(FIRST_NODES, np.int64),
                "facts": np.zeros(2 * FIRST_NODES + 2 * tests, parts.FACT),
            }
        )
        enter(self.arrays["slots"], *self.task.table.rows["words"].sum(axis=0, dtype=np.uint64), 0)
        self.arrays["head"][0], self.state["nodes"] = -1, 1
        self.equivalent_loss = 0 if space.without_error else int(space.equivalent_loss.sum())
        self.leaf = int(self._leaf_losses(Level.root(space))[0])
        """Loss of the tree that asks nothing; and of every tree, at least ``equivalent_loss``."""

    @property
    def stopped(self) -> str:
        """ "" or what ended it, "seconds", "bytes" or "interrupt"."""
        return self.ended.by

    @property
    def subproblems(self) -> int:
        """Distinct subtables visited."""
        return int(self.state["nodes"][0])

    def known_bounds(self, budget: int) -> KnownBounds:
        """Return what is known of the least loss of the whole table within a budget of path
        cost.
        """
        from arboretum_maxcost.optimal.parts import known_bounds

        known = known_bounds(self._memory(), 0, budget, self.equivalent_loss, self.leaf)
        return KnownBounds(*map(int, known[:4]))

    @property
    def out_of_budget(self) -> bool:
        """Whether the run's seconds or bytes ran out, or somebody stopped it."""
        return self.stopped in ("bytes", "interrupt") or self.context.late

    def search_within(self, budget: int, limit: int, seconds: float = math.inf) -> bool:
        """Search for trees within the budget of path cost that lose at most ``limit``, until the
        least such loss is known or none loses so little; returns False when something ran out
        before.

        budget, limit : whole prices and losses, EVER: any.
        seconds : for this question, within those of the run.
        What is found is kept (see ``known_bounds``), also where the question is not answered.
        """
        from arboretum.kernels.solving.slices import run_slices

        known = self.known_bounds(budget)
        if known.low >= known.up or known.low > limit:
            return True
        self._push_question(np.arange(self.space.n_objects), 0, budget, min(limit, self.leaf))
        until = min(
            time.monotonic() + seconds,
            math.inf if self.context.deadline is None else self.context.deadline,
        )
        ends = None if until == math.inf else until
        with self.arrays.moved_by(until):
            self.ended = Ended.of(
                lambda: run_slices(
                    self._work_for_a_slice, self._enlarge_arrays, ends, self._report_progress
                )
            )
        return not self.stopped

    def minimise_loss(self, budget: int) -> int:
        """Find the least loss within a budget; returns what no tree goes below: all that is known
        when something ran out.

        The limit of the question rises from what must be lost to what the best tree loses, so that
        the bound rises, too.
        """
        with suppress(OutOfTime):  # a leaf is a tree, too
            self.grow_greedy_tree(budget)
        low = self.bound_loss(budget)[0]
        for share in LIMITS:
            up = self.known_bounds(budget).up
            self.report(low, up)
            if low >= up or not self.search_within(budget, min(up - 1, low + (up - low) // share)):
                break
            low = max(low, self.known_bounds(budget).low)
        known = self.known_bounds(budget)
        low = min(known.up, max(low, known.low))
        self.report(low, known.up)
        return low

    def grow_greedy_tree(self, budget: int) -> None:
        """Grow a tree that takes the most promising test everywhere, and keep what it loses within
        the budget as a fact of each of its subtables.

        budget : whole prices.
        Raises OutOfTime where the latest moment for a first tree is over.
        """
        from arboretum_maxcost.optimal.parts import keep_fact

        self._latest = self.context.latest
        below = None
        for level, node, test, losses, lost, path_cost in reversed(self._grow_levels(budget)):
            if below is not None:
                sets, lost_below, path_cost_below = below
                asks = test >= 0
                lost[asks], path_cost[asks] = 0, 0
                np.add.at(lost, sets.parent, lost_below)
                np.maximum.at(path_cost, sets.parent, path_cost_below)
                path_cost[asks] += self.space.price[test[asks]]
                useless = asks & (lost >= losses)
                lost[useless], path_cost[useless] = losses[useless], 0
                for k in np.flatnonzero(asks & ~useless).tolist():
                    self._make_room_for_a_step()
                    keep_fact(self._memory(), node[k], path_cost[k], lost[k], test[k], self.state)
            below = level, lost, path_cost

    def values_found(self, most: int = EVER) -> list[tuple[int, int]]:
        """Return (path cost, loss) of the trees found so far that no other found tree beats in
        both, by rising path cost, which is at most ``most``.
        """
        from arboretum_maxcost.optimal.parts import LOWER

        at, found = int(self.arrays["head"][0]), [(0, self.leaf)]
        while at >= 0:
            budget, loss, test, at = self.arrays["facts"][at].tolist()
            if test != LOWER and budget <= most:
                found.append((budget, loss))
        found.sort()
        return [
            one
            for k, one in enumerate(found)
            if k == 0 or one[1] < min(loss for _, loss in found[:k])
        ]

    def least_path_cost_found(self, limit: int) -> int:
        """Return the path cost of the cheapest tree found that loses at most ``limit``, or EVER."""
        return min((price for price, loss in self.values_found() if loss <= limit), default=EVER)

    def best_tree(self, budget: int) -> Tree:
        """Return the best tree known within the budget, in whole prices; where no test is known to
        help, a leaf.
        """
        from arboretum.kernels.solving.fingerprints import find
        from arboretum_maxcost.optimal.parts import known_bounds

        space, memory = self.space, self._memory()

        def choose(
            level: Level, left: np.ndarray
        ) -> tuple[np.ndarray, Callable[[Level], np.ndarray]]:
            """Return the test of every set of a level, int64[sets] (−1: a leaf), and what budget
            each set below has left.

            left : int64[sets], the budgets of these; below 0 only a leaf is possible.
            """
            test, loss = np.full(len(level), -1), self._leaf_losses(level)
            asked = zip(
                level.sums(self.task.table.rows["words"]), left.tolist(), loss.tolist(), strict=True
            )
            for k, (words, budget, errs) in enumerate(asked):
                if budget >= 0:
                    *_, test[k] = known_bounds(
                        memory, int(find(memory.slots, *words)), budget, 0, errs
                    )
            return test, lambda below: (left - np.append(space.price, 0)[test])[below.parent]

        return laid_out(space, space.prices.tests, np.array([budget]), choose)

    def bound_loss(self, budget: int) -> tuple[int, int]:
        """Return (errors that no tree within the budget avoids, next budget worth a look), without
        a search.

        budget : whole prices.  Without conflict sets only the equivalent-points bound is known, and
            no other budget is worth a look (EVER).
        """
        if not self.task.setting.conflicts:
            return self.equivalent_loss, EVER
        n = self.space.n_objects
        self.arrays["rows"][:n] = np.arange(n)
        low, reach = self.kernels.bound_loss_of_table(
            self._task_now(), budget, self.leaf, self._stacks()
        )
        return max(int(low), self.equivalent_loss), int(reach)

    def _make_task(self, without: tuple[str, ...]) -> Task:
        """Return what the kernels read: the table (with conflict sets where the bound ``stars`` is
        used), the bounds that hold here, and scratch arrays.  ``_task_now`` adds the memory.

        A bound is used unless ``without`` names it, ``lemma`` only where the impurity is admissible
        or makes no leaves, ``stars`` only where it makes none.  An impurity without a kernel
        becomes ``self.from_python``, whose errors are raised after a slice.
        """
        from arboretum.kernels.function_pointers import address_in_python, address_of
        from arboretum_maxcost.optimal import parts

        space = self.space
        table = space.make_table()
        n = space.n_objects
        tests = max(1, len(space.price))
        impurity = space.impurity
        self.from_python = None if impurity is None or has_kernel(impurity) else impurity.value
        claimed = {Capability(claim) for claim in getattr(impurity, "capabilities", ())}
        admissible = space.without_error and Capability.admissible in claimed
        impurity_makes_leaves = not math.isnan(space.delta)
        address = 0
        if admissible or impurity_makes_leaves:
            address = (
                address_of(sure(getattr(impurity, "kernel", None)), "impurity")
                if has_kernel(impurity)
                else address_in_python(sure(impurity).value)
            )
        lemma, ahead, conflicts = (name not in without for name in BOUNDS)
        conflicts = conflicts and not impurity_makes_leaves
        most = max(
            self._largest_impurity_of_equal_objects(impurity if admissible else None),
            space.delta if impurity_makes_leaves else 0.0,
        )
        # hinged pairs say nothing of leaves that another impurity allows
        lemma = lemma and (admissible or not impurity_makes_leaves)
        setting = parts.Setting(
            without_error=space.without_error,
            delta=float(space.delta),
            unit=float(space.unit),
            least=int(space.price.min(initial=1 << 52)),
            most=float(most),
            rule=address,
            bound=address if admissible else 0,
            lemma=lemma,
            ahead=ahead,
            conflicts=conflicts,
        )
        if conflicts:
            table = _add_conflict_sets(table, space, self.context.deadline)
        return parts.Task(
            table=table,
            parts=parts.new_parts(space.n_bins, space.objects.n_classes),
            memory=None,
            setting=setting,
            mark=np.zeros(n, np.int64),
            used=np.zeros(n, np.int64),
            order=np.zeros(tests, np.int64),
        )

    def _largest_impurity_of_equal_objects(self, impurity: Impurity | None) -> float:
        """Return the largest value of the bound's impurity among objects that no test divides; 0.0
        where there are none of several classes.

        impurity : None: the mass of pairs of different classes.
        """
        space = self.space
        cells = space.cell[space.contradicting]
        mass = space.mass if impurity is None else space.weight
        most = 0.0
        for cell in np.unique(cells):
            rows = np.flatnonzero(space.cell == cell)
            weights = np.bincount(space.label[rows], mass[rows], space.objects.n_classes)
            most = max(
                most,
                (weights.sum() ** 2 - (weights**2).sum()) / 2
                if impurity is None
                else float(impurity.value(weights)),
            )
        return most

    def _leaf_losses(self, level: Level) -> np.ndarray:
        """Return int64[sets], the loss of each set as a leaf: 0 or 1 where no error is allowed."""
        space = self.space
        if not space.without_error:
            masses = level.by_class(space.mass)
            found: np.ndarray = (masses.sum(axis=1) - masses.max(axis=1)).astype(np.int64)
            return found
        purity = self.task.table.rows["purity"][level.rows]
        mixed = np.minimum.reduceat(purity, level.start) != np.maximum.reduceat(purity, level.start)
        for k in np.flatnonzero(mixed).tolist() if not math.isnan(space.delta) else ():
            mixed[k] = float(sure(space.impurity).value(level.weights[k])) > space.delta
        found = mixed.astype(np.int64)
        return found

    def _grow_levels(
        self, budget: int
    ) -> list[tuple[Level, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Grow the greedy tree, level by level, the root first; return per level the sets, and
        int64[sets] each: node (−1: was not looked at), test (−1: none), loss as a leaf, and loss
        and path cost as far as they are known of the node.

        budget : whole prices, of a path.
        """
        found, level, left = [], Level.root(self.space), np.array([budget])
        while len(level):
            losses, words = self._leaf_losses(level), level.sums(self.task.table.rows["words"])
            (node, test) = np.full((2, len(level)), -1)
            lost = losses.copy()
            path_cost = np.zeros(len(level), np.int64)
            for k in np.flatnonzero((losses > 0) & (left >= self.task.setting.least)).tolist():
                node[k], test[k], lost[k], path_cost[k] = self._most_promising_test(
                    level.of(k), words[k], int(left[k]), int(losses[k])
                )
            found.append((level, node, test, losses, lost, path_cost))
            _above, level = level, level.below(test)
            left = (left - np.append(self.space.price, 0)[test])[level.parent]
        return found

    def _most_promising_test(
        self, rows: np.ndarray, words: np.ndarray, left: int, loss: int
    ) -> tuple[int, int, int, int]:
        """Return (node, most promising test or −1, its loss and its path cost there as far as is
        known) of a set of objects.

        rows : int64, the objects; words : uint64[2], their fingerprint.
        left : budget below this set, in whole prices; loss : of a leaf.
        Raises OutOfTime where the latest moment for a first tree is over.
        """
        from arboretum.kernels.solving.fingerprints import enter
        from arboretum_maxcost.optimal.parts import known_bounds

        if self._latest is not None and time.monotonic() > self._latest:
            raise OutOfTime(
                "the budget of seconds ran out before there was any tree; raise budget.seconds"
            )
        self._make_room_for_a_step()
        fresh = self.subproblems
        node = int(enter(self.arrays["slots"], *words, fresh))
        if node == fresh:
            self.arrays["head"][node] = -1
            self.state["nodes"] += 1
        self._push_question(rows, node, left, EVER)
        self.kernels.answer_questions(self._task_now(), 0, self._stacks())  # no more than open it
        self.state["opened"] -= 1  # only the search counts them
        test = self.arrays["tests"]["test"][0] if self.arrays["frames"]["count"][0] > 0 else -1
        low, _, most, path_cost, _ = map(int, known_bounds(self._memory(), node, left, 0, loss))
        return node, -1 if low >= most else int(test), most, path_cost

    def _push_question(self, rows: np.ndarray, node: int, left: int, limit: int) -> None:
        """Put a question about rows on the stack, as the only one: whether some tree of path cost
        at most ``left`` loses at most ``limit`` on them.

        rows : int64, the objects; node : number of their subtable in the memory.
        """
        self._make_room_for_a_step()
        self.arrays["rows"][: len(rows)] = rows
        frame, state = self.arrays["frames"][0], self.state[0]
        frame["low"], frame["high"], frame["node"], frame["count"] = 0, len(rows), node, -1
        frame["left"], frame["limit"] = left, limit
        state["frames"], state["rows"], state["tests"] = 1, len(rows), 0

    def _task_now(self) -> Task:
        return self.task._replace(memory=self._memory())

    def _memory(self) -> Memory:
        from arboretum_maxcost.optimal.parts import Memory

        return Memory(*(self.arrays[name] for name in Memory._fields))

    def _stacks(self) -> search_kernels.Stacks:
        return self.kernels.Stacks(
            self.state, *(self.arrays[name] for name in self.kernels.Stacks._fields[1:])
        )

    def _work_for_a_slice(self) -> int:
        """Work for a slice, and return how it ended (:mod:`arboretum.kernels.solving.slices`).
        Raises what an impurity without a kernel has raised.
        """
        kernel = self.kernels.answer_questions
        end = int(kernel(self._task_now(), fewer(SLICE, kernel), self._stacks()))
        if self.from_python is not None:
            from arboretum.kernels.function_pointers import raise_from_python

            raise_from_python(self.from_python)
        return end

    def _report_progress(self) -> None:
        self.context.progress(0, None, f"{self.subproblems:,} subtables visited")

    def _make_room_for_a_step(self) -> None:
        """Make room for one step of a search, whatever the budget of bytes: used where something
        must finish, as the first tree.  Arrays may be moved.
        """
        tests, nodes = max(1, len(self.space.price)), self.subproblems + 2
        facts = int(self.state["facts"][0]) + tests + 2
        self.arrays.make_room(
            {"head": nodes, "slots": 2 * nodes, "facts": facts, "tests": 2 * tests}, None
        )

    def _enlarge_arrays(self) -> bool:
        """Make room for one more subtable; False when that exceeds the budget in bytes."""
        used, tests = self.state[0], len(self.space.price)
        top = self.arrays["frames"][used["frames"] - 1]
        nodes = int(used["nodes"]) + 1
        wanted = {
            "frames": int(used["frames"]) + 1,
            "rows": int(used["rows"] + top["high"] - top["low"]),
            "tests": int(used["tests"]) + tests + 1,
            "head": nodes,
            "slots": 2 * nodes,
            "facts": int(used["facts"]) + tests + 2,
        }
        return self.arrays.make_room(wanted, self.context.memory_bytes)


def _add_conflict_sets(table: MaxCostTable, space: Space, deadline: float | None) -> MaxCostTable:
    """Return the table with conflict sets (``conflict…``) of as many objects as there is time for:
    ``MOST_CONFLICTS`` seconds, or a share of those left; the others have none.

    deadline : ``time.monotonic()`` value; None: no limit.
    Objects that contradict others belong to no conflict set where errors are counted.
    """
    from arboretum_maxcost.optimal.conflict_kernels import LONGEST, list_conflicts

    n, start = space.n_objects, time.monotonic()
    until = start + (
        MOST_CONFLICTS
        if deadline is None
        else min(MOST_CONFLICTS, CONFLICT_SHARE * (deadline - start))
    )
    apart = np.zeros(n, np.bool_) if space.without_error else space.contradicting
    tests = len(space.price)
    room = min(LONGEST, max(1, tests)) * n
    used = np.full(tests, -1, np.int64)
    begin = np.zeros(tests + 2, np.int64)
    conflict = np.zeros(n + 1, np.int64)
    row = np.zeros(room, np.int32)
    price = np.zeros(room, np.int64)
    step = 1 + int(CONFLICT_STEP / (n * max(1, len(space.family))))
    for low in range(0, n, step):
        if time.monotonic() >= until:
            conflict[low + 1 :] = conflict[low]
            break
        list_conflicts(
            table,
            apart,
            used,
            *np.zeros((2, n), np.int64),
            begin,
            low,
            min(n, low + step),
            conflict,
            row,
            price,
        )
    return table._replace(
        conflict=conflict,
        conflict_row=row[: conflict[n]].copy(),
        conflict_price=price[: conflict[n]].copy(),
    )
