"""All trees of a problem whose cost is at most a budget: how many of each cost, each of them,
and what they have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from arboretum.api import DEFAULT_BYTES, BudgetError, OutOfTime
from arboretum.kernels.plain import fewer
from arboretum.kernels.solving.arrays import Arrays
from arboretum.kernels.solving.memo import FIRST, MemoArrays
from arboretum.kernels.solving.slices import PAUSED, run_slices
from arboretum_gosdt.all_trees.first_tests import FirstTests
from arboretum_gosdt.all_trees.table import Rows, bytes_of_levels, make_levels, make_table
from arboretum_gosdt.problem.prepared import refuse_many_pairs, run_slices_of_steps

if TYPE_CHECKING:
    from arboretum_gosdt.sparse.node import ClosedSets


SLICE, PAIRS = 20_000_000, 2_000_000
"""Work between looks at the clock."""
EXACT = 2.0**53
"""Counts below are exact as floats."""
PRIMES = (
    2147483647,
    2147483629,
    2147483587,
    2147483579,
    2147483563,
    2147483549,
    2147483543,
    2147483497,
    2147483489,
    2147483477,
)
"""The greatest below 2³¹, for numbers of trees up to 10⁹³."""


class AllTrees:
    """The trees that cost at most ``budget``: q · losses + p · leaves + prices; it can be stopped,
    and goes on.

    depth : tests on a path, at most; None: any number.
    least : rows in every leaf.
    memory_bytes : of its arrays; None: DEFAULT_BYTES.
    known : what a search for the least cost within the same depth, of two answers, remembers; None:
        nothing.
    bounds : what trees cost by their first test, costs without ``equivalent_cost``; None: it is not
        known, or of ``known``.

    Raises BudgetError for tests whose pairs do not fit.
    """

    def __init__(
        self,
        table: Rows,
        p: int,
        q: int,
        budget: int,
        depth: int | None = None,
        least: int = 1,
        memory_bytes: int | None = None,
        known: ClosedSets | None = None,
        bounds: FirstTests | None = None,
    ) -> None:
        from arboretum_gosdt.all_trees import graph as kernels
        from arboretum_gosdt.sparse.node import NEVER, UNLIMITED

        self._kernels = kernels
        self.equivalent_cost = q * table.equivalent_loss
        made = make_table(table, p, q, least, known, bounds)
        self._table, self._order = made.table, made.order
        self._bounds, self._bounded = bounds, budget
        self._depth = int(UNLIMITED) if depth is None else depth
        self._bytes = DEFAULT_BYTES if memory_bytes is None else memory_bytes
        # in place of these what is known is taken over
        first = FIRST if known is None else 1
        self._memo = MemoArrays(dict.fromkeys(kernels.Memo._fields[1:], np.int64), first)
        self._levels: Any = None
        self._graph: Any = None
        self._counted: Any = None
        self._finished = False
        self.least_cost = 0
        self._clock: tuple[float | None, Callable[[], None]] = None, lambda: None
        n_known = 0
        if known is not None:
            n_known = len(known.lower)
            # that search knows no least leaf
            upper = known.upper if least <= 1 else np.full(n_known, NEVER)
            place = np.empty(n_known, np.int64)
            self._memo.take(slots=known.slots, lower=known.lower, upper=upper, place=place)
        self._begin(budget, n_known)

    def restart(self, budget: int) -> None:
        """Ask for the trees of another budget; what is known of least costs is kept, after
        :meth:`find_least` also what was bounded on the way.
        """
        levels, solved = self._levels, self._state.least > 0
        self._begin(budget, int(self._state.known))
        if solved and levels is self._levels:  # the set of all objects is taken as it is
            node, graph, state = levels.node[0], self._graph, self._state
            node["budget"], node["every"] = graph["set"]["most"][0], True
            node["child"] = self._kernels.AGAIN
            graph["set"]["first_edge"][0], graph["order"][0] = 0, 0
            graph["waiting"][-1] = -1
            state.level, state.taken = 0, 1

    def asked_for(self, budget: int) -> bool:
        """Return whether all trees of just this budget are asked for."""
        most = int(self._graph["set"]["most"][0]) + self.equivalent_cost
        return bool(self._state.every) and most == budget

    def find_least(
        self, until: float | None = None, report: Callable[[], None] = lambda: None
    ) -> str:
        """Find the least cost, which the budget must reach (``least_cost``); returns "", or what
        ran out; then ``restart``.  Arguments: of :meth:`run`.
        """
        self._state.every = False
        ended = self.run(until, report)
        self.least_cost = int(self._state.least) + self.equivalent_cost
        return ended

    def _begin(self, budget: int, known: int) -> None:
        """Begin with the set of all objects and an empty graph.

        known : sets in the memo.   Raises BudgetError for tests whose pairs do not fit.
        """
        kernels, kind, table = self._kernels, np.int64, self._table
        tests, words = len(table.price), table.planes.shape[1]
        budget, n, p = budget - self.equivalent_cost, len(self._table.excess), self._table.numbers.p
        # no path has more tests than objects, or than the budget pays leaves for
        levels = min(n, self._depth, max(budget, 0) // int(p) if p else n) + 3
        if self._levels is None or levels > len(self._levels.node):
            refuse_many_pairs(tests, levels, bytes_of_levels(self._table, levels), self._bytes)
            self._levels, self._scratch = make_levels(self._table, levels)
        if self._graph is None:
            self._graph = Arrays(
                {
                    "bits": np.empty((1024, words), np.uint64),
                    "set": np.empty(1024, kernels.SET),
                    "waiting": np.empty(n + 1, kind),
                    "order": np.empty(1024, kind),
                    "edge": np.empty(1024, kernels.EDGE),
                },
                tables=(),
            )
        whole, rest = self._graph["bits"][0], n & 63
        whole[:] = ~np.uint64(0)
        if rest:
            whole[-1] = (1 << rest) - 1
        self._graph["waiting"][:] = -1
        self._graph["waiting"][n] = 0
        self._memo["place"][:known] = -1
        self._finished, self._counted = False, None
        # of sets of two levels all pairs say as much
        asks = 2 if self._bounds is not None and self._table.numbers.packed else kernels.NEVER
        given = asks > 2 or budget <= self._bounded - self.equivalent_cost
        state = np.array(
            [(-1, known, 1, 0, 0, n, True, 0, asks, given)], np.dtype((np.record, kernels.STATE))
        )
        self._state = state[0]
        if self._bounds is not None:
            self._table.first[:], self._table.sides[:] = self._bounds.first, self._bounds.sides
        key = self._table.keys.sum(axis=0)
        least = 0 if self._bounds is None else self._bounds.least
        first = (budget, least, kernels.NEVER, 0, self._depth, -1, key, kernels.WAITS, 0)
        self._graph["set"][0] = first

    def run(self, until: float | None = None, report: Callable[[], None] = lambda: None) -> str:
        """Find the graph; returns "" when it is whole, else what ran out, "seconds" or "bytes".

        until : ``time.monotonic()`` value at which it stops; None: no limit.  Counting keeps to it
            as well.
        report : called after every slice.
        """

        def work(most: int) -> int:
            """Search for a slice, no step above ``most`` simple ones; returns how it ended."""
            memo = self._kernels.Memo(*self._memo.values())
            found: int = self._kernels.search(
                self._table,
                self._levels,
                self._scratch,
                memo,
                self.graph,
                self._state,
                fewer(SLICE, self._kernels.search),
                most,
            )
            if found == self._kernels.NEED_BOUNDS:
                self._bound_first_tests(until)
                return PAUSED
            return found

        self._clock = until, report
        if self._finished:
            return ""
        with self._memo.moved_by(until), self._graph.moved_by(until):
            ended = run_slices_of_steps(work, self._make_room, until, report)
        self._finished = not ended
        return ended

    def _bound_first_tests(self, until: float | None) -> None:
        """Bound the trees of the set that is taken by their first tests.

        Its thresholds are many, and each would have to be solved by this search alone: ct_bank at
        depth 4, of 142 first tests, did not come to its end in 40 seconds, and takes three so.
        """
        from arboretum_gosdt.all_trees.first_tests import bound_first_tests_of_set

        table, levels, node = self._table, self._levels, self._levels.node[0]
        taken = self._graph["set"][self._graph["order"][self._state.taken - 1]]
        objects = levels.objects[: levels.first[1]]
        found = bound_first_tests_of_set(
            table.codes[objects],
            # what one of two answers saves is the other one's excess: as good
            int(table.numbers.q) * table.excess[objects],
            int(table.numbers.p),
            int(min(node["depth"], len(objects) - 1)),
            int(taken["most"] - taken["least"]) + 1,
            until,
        )
        table.first[:], table.sides[:] = 0, -1
        if found is not None:
            for begin, tests, first, sides in zip(table.start, *found, strict=False):
                table.first[begin + tests], table.sides[:, begin + tests] = first, sides
        self._state.given = True

    def _make_room(self) -> bool:
        """Make room for the next set; False when that exceeds the budget in bytes.

        Of the search's memo and of the graph, together; arrays may be moved.
        """
        tests = len(self._table.price)
        known = int(self._state.known) + 2 * tests + len(self._levels.node) + 3
        left = self._bytes - self._graph.bytes_used()
        if not self._memo.room_for(known, left):
            return False
        sets = int(self._state.sets) + 2 * tests + 1
        left = self._bytes - self._memo.bytes_used()
        made: bool = self._graph.make_room(
            {
                **dict.fromkeys(("bits", "set", "order"), sets),
                "edge": int(self._state.edges) + tests + 1,
            },
            left,
        )
        return made

    @property
    def graph(self) -> Any:
        """The sets and edges (:class:`arboretum_gosdt.all_trees.graph.Graph`)."""
        return self._kernels.Graph(*self._graph.values())

    @property
    def n_sets(self) -> int:
        """Sets of objects whose trees within the budget are known."""
        return int(self._state.taken)

    def count_trees_of_sets(self, without: np.ndarray | None = None, modulus: int = 0) -> Any:
        """Return how many trees of each cost every set has
        (:class:`arboretum_gosdt.all_trees.counting.TreeCounts`).  In the seconds of :meth:`run`.

        without : bool[tests], only trees that ask none of these.
        modulus : numbers of trees are taken mod this, below 2³¹; 0: as floats.

        Raises BudgetError where bytes are too few, OutOfTime where seconds are.
        """
        from arboretum_gosdt.all_trees import counting as kernels

        sets, kind = len(self._graph["set"]), np.int64 if modulus else np.float64
        kept = Arrays({"cost": np.empty(4 * sets, np.int64), "count": np.empty(4 * sets, kind)}, ())
        first = np.empty(sets, np.int64)
        last = np.empty(sets, np.int64)
        state = np.array([self.n_sets, 0])
        plain = without is None and not modulus
        if plain and self._counted is not None:
            return self._counted
        without = np.zeros(len(self._table.price), bool) if without is None else without
        bag = kernels.CostTable(
            np.full(1 << 12, kernels.FREE), np.zeros(1 << 12, kind), np.empty(1 << 12, np.int64)
        )

        def make_room() -> bool:
            """Double the bag of one set, emptied, and make room for what it may hold; False when
            that exceeds the budget in bytes.
            """
            nonlocal bag
            room = 2 * len(bag.slots)
            bag = kernels.CostTable(
                np.full(room, kernels.FREE), np.zeros(room, kind), np.empty(room, np.int64)
            )
            return kept.make_room(
                dict.fromkeys(("cost", "count"), int(state[1]) + room), self._bytes
            )

        def work() -> int:
            """Count for a slice; returns how it ended (:mod:`arboretum.kernels.solving.slices`)."""
            found: int = kernels.count_trees(
                self.graph,
                kernels.TreeCounts(first, last, *kept.values()),
                bag,
                state,
                without,
                modulus,
                PAIRS,
            )
            return found

        ended = run_slices(work, make_room, *self._clock)
        if ended == "seconds":
            raise OutOfTime(
                "the budget of seconds ran out while trees were counted; lower the budget of "
                "cost, as solver.epsilon, or raise budget.seconds"
            )
        if ended:
            raise BudgetError(
                f"the costs of the trees of {sets:,} sets take more than "
                f"{self._bytes / 1e6:,.0f} MB; lower the budget of cost, as solver.epsilon"
            )
        counted = kernels.TreeCounts(first, last, *kept.values())
        if plain:
            self._counted = counted
        return counted

    def costs_and_counts(self, counted: Any) -> tuple[np.ndarray, list[int]]:
        """Return the costs of the trees of all objects, int64, ascending, with what every tree has,
        and how many trees have each; numbers that floats do not hold by remainders.

        counted : of ``count_trees_of_sets``.
        """
        root = slice(counted.first[0], counted.last[0])
        cost, count = counted.cost[root] + self.equivalent_cost, counted.count[root]
        most = float(count.max(initial=0.0))
        if most < EXACT:
            return cost, [int(one) for one in count]
        whole, product = [0] * len(cost), 1
        for prime in PRIMES:
            if product > most * (1 + 1e-6):
                break
            rest = self.count_trees_of_sets(modulus=prime).count[root].tolist()
            inverse = pow(product, -1, prime)
            whole = [
                x + product * ((r - x) * inverse % prime) for x, r in zip(whole, rest, strict=True)
            ]
            product *= prime
        return cost, whole

    def shares_of_answers(self, counted: Any) -> np.ndarray:
        """Return float64[objects, answers], the share of the trees that give each object each
        answer.

        counted : of ``count_trees_of_sets``.
        """
        from arboretum_gosdt.all_trees import counting as kernels

        graph, taken, found = self.graph, self.n_sets, np.zeros_like(self._table.excess, float)
        above = np.empty(len(counted.cost))
        kernels.count_trees_above_sets(graph, counted, np.array([taken]), above)
        sums = np.empty(found.shape[1], np.int64)
        kernels.add_answers(graph, counted, self._table.excess, taken, above, sums, found)
        made = np.empty_like(found)
        made[self._order] = found / max(found[0].sum(), 1e-300)
        return made

    def trees(self, counted: Any) -> Iterator[np.ndarray]:
        """Yield the trees, cheapest first, each as its tests in preorder (int64; −1: a leaf; the
        side of outcome 1 comes first).

        counted : of ``count_trees_of_sets``.
        """
        from arboretum_gosdt.all_trees import counting as kernels

        graph, state = self.graph, np.array([0, counted.first[0]])
        nodes = np.empty(2 * len(self._table.excess) + 1, kernels.NODE)
        starts = np.empty(1 << 6, np.int64)  # often the first tree is all that is asked
        tests = np.empty(max(1 << 18, 4 * len(nodes)), np.int64)
        while made := kernels.list_trees(graph, counted, nodes, state, tests, starts):
            part, begin = tests[: starts[made]].copy(), starts[: made + 1].tolist()
            yield from (part[a:b] for a, b in pairwise(begin))
            starts = np.empty(1 << 14, np.int64)

    def fronts(
        self,
        columns: np.ndarray,
        *,
        curves: bool = False,
        equal: tuple[bool, ...] = (),
        price_of_leaf: int | None = None,
    ) -> Fronts:
        """Return, not begun, the trees of every set that no other beats, by what objects add to the
        numbers of a tree.

        columns : int64[objects, answers, width], of a leaf that gives that answer; less is better,
            or ``equal`` is comparable.  Of curves int64[objects, 1, 2], positives and negatives.
        curves : whether values are ROC curves, else vectors of numbers.
        equal : of every number, whether trees beat each other only where it is the same; (): of
            none.
        price_of_leaf : in the costs of these trees, at most p; None: p.
        """
        # a curve has a segment for each leaf, and a depth has room for two to its power
        width = self._most_leaves() + 1 if curves else columns.shape[2]
        numbers = self._table.numbers
        return Fronts(
            self.graph,
            self.n_sets,
            columns[self._order],
            numbers.q * self._table.excess,
            numbers.p if price_of_leaf is None else price_of_leaf,
            width,
            self._bytes,
            curves,
            equal,
        )

    def _most_leaves(self) -> int:
        """Return how many leaves a tree may have, by its objects, its depth and the budget."""
        n, p = len(self._table.excess), int(self._table.numbers.p)
        most = int(self._graph["set"]["most"][0]) // p if p else n
        return max(1, min(n, most, 1 << min(self._depth, n.bit_length())))


def load_kernels() -> None:
    """Compile all kernels, or load them from the cache: their types are the same for every
    table.
    """
    from arboretum_gosdt.all_trees.few_leaves import sum_pairs
    from arboretum_gosdt.all_trees.importance import Compared, grow_losses, room_for

    outcome, ones = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.uint8), np.ones(4, np.int64)
    all_trees = AllTrees(
        Rows(
            outcome, np.array([[0, 1], [1, 0], [1, 0], [0, 1]]), ones, ones, np.zeros(2, np.int64)
        ),
        1,
        1,
        8,
    )
    all_trees.run()
    counted = all_trees.count_trees_of_sets()
    first = next(iter(all_trees.trees(counted)))
    all_trees.shares_of_answers(counted)
    table = Compared(outcome, np.zeros(2, np.int64), np.array([[0, 1]] * 4), ones)
    grow_losses(first, table, room_for(table), np.empty(1))
    fronts = all_trees.fronts(np.ones((4, 2, 2), np.int64))
    fronts.run()
    list(fronts.trees())
    sum_pairs(outcome, np.ones((4, 2), np.int64))


class Fronts:
    """Partial solutions (:mod:`arboretum_gosdt.all_trees.non_dominated`) of the sets of a graph.

    taken : sets of the graph, those that were taken.
    columns, curves, equal : as of ``AllTrees.fronts``.
    excess : int64[objects, answers], what an answer costs more than the best one.
    width : rows that a value may have.
    memory_bytes : of the arrays, at most.
    """

    def __init__(
        self,
        graph: Any,
        taken: int,
        columns: np.ndarray,
        excess: np.ndarray,
        price_of_leaf: int,
        width: int,
        memory_bytes: int,
        curves: bool,
        equal: tuple[bool, ...],
    ) -> None:
        from arboretum_gosdt.all_trees import non_dominated as kernels

        self._bytes = memory_bytes
        self._kernels = kernels
        self._graph = graph
        self._curves = curves
        self._same = np.array(equal or (False,) * width, np.bool_)
        self._numbers, self._state = (columns, excess, price_of_leaf), np.array([taken, 0])
        self._first = np.empty(len(graph.set), np.int64)
        self._last = np.empty(len(graph.set), np.int64)

        def allocate(n: int) -> Arrays:
            """Return arrays for n partial solutions, whose value is int64[n, width, 2]."""
            whole = {name: np.empty(n, np.int64) for name in ("size", "leaves", "cost")}
            return Arrays(
                {
                    "value": np.empty((n, width, 2), np.int64),
                    **whole,
                    "origin": np.empty((n, 3), np.int64),
                },
                (),
            )

        self._kept, self._own = allocate(1 << 12), allocate(1 << 10)

    def run(self, until: float | None = None, report: Callable[[], None] = lambda: None) -> str:
        """Find the partial solutions of all sets but that of all objects; returns "" when they are
        found, else "seconds" or "bytes".

        until, report : as of :meth:`AllTrees.run`.
        """
        names = self._kernels.PartialSolutions._fields

        def work() -> int:
            """Find partial solutions for a slice; returns how it ended."""
            own = self._kernels.PartialSolutions(*self._own.values())
            kept = self._partial_solutions()
            found: int = self._kernels.find_partial_solutions(
                self._graph,
                self._first,
                self._last,
                kept,
                own,
                *self._numbers,
                self._state,
                self._curves,
                self._same,
                fewer(SLICE, self._kernels.find_partial_solutions),
            )
            return found

        def make_room() -> bool:
            """Make room for twice as many partial solutions of one set; False when that, or what is
            kept of all sets, exceeds the budget in bytes.
            """
            longer = 2 * len(self._own["size"])
            fits = self._own.make_room(dict.fromkeys(names, longer), self._bytes)
            return fits and self._kept.make_room(
                dict.fromkeys(names, int(self._state[1]) + longer), self._bytes
            )

        with self._own.moved_by(until), self._kept.moved_by(until):
            return run_slices(work, make_room, until, report)

    def _partial_solutions(self) -> Any:
        return self._kernels.PartialSolutions(*self._kept.values())

    def trees(self) -> Iterator[Any]:
        """Yield trees of all objects, many at a time, as partial solutions; all that no other beats
        are among them.  Valid until the next are taken.

        Trees above the limits of a run are among them: the caller picks.
        """
        state, (begin, end) = (
            np.array([-1, -1]),
            self._graph.set[["first_edge", "end_edge"]][0].tolist(),
        )
        sides = self._graph.edge["rest"][begin:end]
        # as many come at a time
        widest = int((self._last[sides] - self._first[sides]).max(initial=0))
        self._own.make_room(
            dict.fromkeys(self._kernels.PartialSolutions._fields, max(widest + 4, 1 << 14)), None
        )
        while True:
            own = self._kernels.PartialSolutions(*self._own.values())
            n = self._kernels.write_whole_trees(
                self._graph,
                self._first,
                self._last,
                self._partial_solutions(),
                own,
                *self._numbers,
                state,
                self._curves,
            )
            if n == 0:
                return
            yield self._kernels.PartialSolutions(*(one[:n] for one in own))

    def nodes_of_tree(self, origin: np.ndarray) -> list[tuple[int, int]]:
        """Return (test, −1) of every inner node and (−1, answer) of every leaf of a tree, in
        preorder, the side of outcome 1 first.

        origin : int64[3], of its partial solution.
        """
        found, waiting = [], [origin.tolist()]
        while waiting:
            edge, a, b = waiting.pop()
            found.append((-1, a) if edge < 0 else (int(self._graph.edge["test"][edge]), -1))
            waiting += [] if edge < 0 else [self._kept["origin"][one].tolist() for one in (b, a)]
        return found
