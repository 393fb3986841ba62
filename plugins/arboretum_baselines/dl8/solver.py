"""DL8 and DL8.5: the least error of a tree of limited depth, from a cache of itemsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import (
    PER_OUTCOME,
    Context,
    Problem,
    Solution,
    TwoWay,
    few,
    param,
    two_way_problem,
)
from arboretum_baselines.binary import InSlices, four_rows, room_of

if TYPE_CHECKING:
    from arboretum_baselines.dl8.kernels import Cache


FIRST_WORDS = 1 << 20
"""Words that the first slice reads, at about those of all tests for every itemset: less than a
millisecond.
"""


@attrs.frozen
class Dl85:
    """DL8.5: least error within a depth, depth first, with a cache of itemsets and an upper bound
    handed down.

    An itemset (the outcomes on a path, in any order) is searched for a tree of less error than the
    best one above leaves to it; else that much is kept as its lower bound.  As published with
    ``objective.lam=0`` and ``stopping.standard.max_depth``; λ is paid for every leaf, and
    ``stopping.standard.min_leaf`` is the least support.  Tests are tried in the order of the
    columns.
    """

    kind = "solver"
    name = "dl85"
    paper = "Aglin, Nijssen & Schaus 2020"
    capabilities = ("classification", "multiclass", "weights", "exact", "anytime")
    needs = ("objective",)
    minimises = ("additive",)
    limits = ("max_depth", "min_leaf")
    example = "dataset=monk1-full method=dl85 objective.lam=0 stopping.standard.max_depth=3"

    row_sets: bool = param(
        False,
        "count the different sets of rows among the itemsets: what a cache of sets would "
        "save (details.row_sets)",
    )

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Minimise the run's objective.  Raises CapabilityError or DataError with the way out."""
        depth, least = problem.parts.limits().max_depth, problem.parts.limits().min_leaf
        found = two_way_problem(problem, self.name, self.limits, context=context)
        n_tests, n_groups = found.outcome.shape  # no path asks more
        context.check_time(PER_OUTCOME * found.outcome.size)
        search = self._search(
            found, min(n_tests, n_groups - 1, n_tests if depth is None else depth), least
        )
        room = room_of(
            context,
            search.fixed_bytes + found.outcome.nbytes,
            f"{n_tests:,} tests of {n_groups:,} groups of rows",
        )
        ended = search.run(room, context, lambda: self._report(found, search, context))
        details = {"itemsets": search.known} | (
            {"row_sets": search.row_sets} if self.row_sets else {}
        )
        return found.solution(
            found.tree(search.tree()),
            found.value(found.inevitable + found.leaf),
            ended,
            (search.steps, "itemsets"),
            details,
        )

    def _search(self, found: TwoWay, depth: int, least: int) -> Dl8Search:
        return Dl8Search(found, depth, least, self.row_sets)

    @staticmethod
    def _report(found: TwoWay, search: Dl8Search, context: Context) -> None:
        context.proven(
            found.value(found.inevitable + found.leaf), found.value(search.error + found.inevitable)
        )
        context.progress(0, None, f"{search.known:,} itemsets")

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Load the kernels, on four rows."""
        two_way_problem(few(problem), self.name, self.limits)
        search = self._search(four_rows(problem, 1, 0), 2, 1)
        search.run(10**6, Context())
        search.tree()


@attrs.frozen
class Dl8(Dl85):
    """DL8: least error within a depth, bottom-up over all frequent itemsets.

    All itemsets of at least ``stopping.standard.min_leaf`` rows are listed, and the best tree of
    each is joined from those of one outcome more; depth by depth, so that a budget leaves the
    optimum of a smaller depth.  Numeric columns by the MDL principle: ``encoder=bins
    encoder.numeric=mdl``.
    """

    name = "dl8"
    paper = "Nijssen & Fromont 2007"
    example = (
        "dataset=iris method=dl8 encoder=bins encoder.numeric=mdl objective.lam=0 "
        "stopping.standard.max_depth=3"
    )

    def _search(self, found: TwoWay, depth: int, least: int) -> Dl8Search:
        return BottomUp(found, depth, least, self.row_sets)


class Dl8Search(InSlices):
    """DL8.5 on a problem; costs are counted beyond what every tree makes."""

    def __init__(self, found: TwoWay, depth: int, least: int, row_sets: bool) -> None:
        """Allocate the levels and the cache, which knows no itemset.

        depth : tests on a path, at most; least : rows in every branch.
        row_sets : whether different sets of rows are counted.
        """
        from arboretum.kernels.solving.fingerprints import random_words
        from arboretum.kernels.solving.memo import MemoArrays
        from arboretum_baselines.dl8 import kernels
        from arboretum_baselines.dl8.planes import planes_of

        lanes = found.cost - found.cost.min(axis=1, keepdims=True)
        self._settings = np.array([(depth, least, lanes.shape[1], found.leaf)], kernels.SETTINGS)[0]
        self._state = np.zeros(1, kernels.STATE)[0]
        lanes = np.column_stack([lanes, found.rows]) if least > 1 else lanes
        self.kernels = kernels
        self._planes = planes_of(found.outcome, lanes)
        self._words = random_words(2 * len(found.outcome))
        self._leaf = int(lanes[:, : self._settings["labels"]].sum(axis=0).min()) + found.leaf
        self._state["level"] = -1
        n, numbers = depth + 2, np.zeros((6, depth + 2), np.int64)
        sums = np.zeros((2, n, lanes.shape[1]), np.int64)
        self._levels = kernels.Dl8Levels._make(
            [
                np.zeros((n, len(self._planes.full)), np.uint64),
                *sums,
                np.zeros((n, 2), np.uint64),
                *numbers,
            ]
        )
        self._levels.rows[0] = self._planes.full
        self._amount = max(1, FIRST_WORDS // max(1, self._planes.bits.size))
        self._memo = MemoArrays(
            {
                "key": (np.uint64, 2),
                **dict.fromkeys(("size", "error", "bound", "feature"), np.int64),
            },
            tables=("slots", "row_sets"),
            row_sets=np.zeros((2048 if row_sets else 1, 2), np.uint64),
        )

    @property
    def known(self) -> int:
        """Number of itemsets in the cache."""
        return int(self._state["known"])

    @property
    def steps(self) -> int:
        """Number of itemsets looked at, as often as each was met."""
        return int(self._state["steps"])

    @property
    def row_sets(self) -> int:
        """Number of different sets of rows among the itemsets; 0 if nobody asked for it."""
        return int(self._state["row_sets"])

    @property
    def error(self) -> int:
        """Of the best tree known, with its leaves."""
        return int(self._memo["error"][0]) if self.known else self._leaf

    @property
    def cache(self) -> Cache:
        """The itemsets, as kernels read them."""
        return self.kernels.Cache(*self._memo.values())

    @property
    def fixed_bytes(self) -> int:
        """Of the bits."""
        return int(self._planes.bits.nbytes)

    def steps_of(self, work: int) -> int:
        """Look at about ``work`` itemsets; return how that ended: FINISHED, PAUSED or NEED_ROOM."""
        found: int = self.kernels.search(
            self._planes, self._words, self.cache, self._levels, self._state, self._settings, work
        )
        return found

    def make_room(self, memory_bytes: int) -> bool:
        """Make the cache long enough for 1,024 itemsets more; False where it would take more than
        ``memory_bytes``.
        """
        wanted = self.known + 1024
        sets = {"row_sets": 2 * wanted} if len(self._memo["row_sets"]) > 1 else {}
        return self._memo.room_for(wanted, memory_bytes, **sets)

    def tree(self) -> np.ndarray:
        """As :meth:`TwoWay.tree` reads it."""
        most = 64
        while True:
            nodes, room = np.empty((most, 3), np.int64), np.empty((most, 2), np.uint64)
            made = self.kernels.read_tree(self._words, self.cache, room, nodes)
            if made > 0:
                found: np.ndarray = nodes[:made]
                return found
            most *= 8


class BottomUp(Dl8Search):
    """DL8 on a problem, depth by depth."""

    def __init__(self, found: TwoWay, depth: int, least: int, row_sets: bool) -> None:
        super().__init__(found, depth, least, row_sets)
        self._deepest, self._settings["depth"] = depth, min(depth, 1)
        self._order: np.ndarray | None = None

    def steps_of(self, work: int) -> int:
        """List, or join, about ``work`` itemsets of the depth at hand; return FINISHED after the
        greatest depth, else PAUSED or NEED_ROOM.
        """
        kernels, state = self.kernels, self._state
        if self._order is None:
            ended = kernels.enumerate_itemsets(
                self._planes, self._words, self.cache, self._levels, state, self._settings, work
            )
            if ended != kernels.FINISHED:
                found: int = ended
                return found
            size = self._memo["size"][: self.known]
            inner = np.flatnonzero(size < self._settings["depth"])
            self._order = inner[np.argsort(-size[inner], kind="stable")]
            state["next"] = 0
        if kernels.join(self._words, self.cache, state, self._order, work) != kernels.FINISHED:
            found = kernels.PAUSED
            return found
        if self._settings["depth"] == self._deepest:
            found = kernels.FINISHED
            return found
        self._settings["depth"] += 1
        self._order = None
        found = kernels.PAUSED
        return found
