"""The search for everything: loss + λ · leaves + μ · price, under limits on depth, leaves and rows
of a leaf.

Branch and bound over sets of objects.  A fast search that does not know the limits bounds the
whole, and every set that is met, and often its tree keeps the limits (:mod:`.relaxed`); what is
left between bound and tree is searched here.  Bounds and trees are kept with the limits that they
hold for (:mod:`.known`), so that a limit on leaves costs little more than none.

Bounds: a leaf's loss is at least 0 after merging equal rows (equivalent points, B.9); a node that
is divided has two leaves (look-ahead, B.2, and B.6); a child's bound is at least that of a similar
set's, solved under the same limits, less what their difference can cost (similar support, B.10;
where neither rows nor prices count).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from arboretum.api import (
    Context,
    OutOfTime,
    sure,
)
from arboretum_gosdt.general.kernels import Setting, look_ahead, sum_by_feature, sum_by_pairs
from arboretum_gosdt.general.known import ANY, Bounds, Grown, Known
from arboretum_gosdt.general.leaf_limit import best_tree_of_leaves
from arboretum_gosdt.general.relaxed import Relaxed
from arboretum_gosdt.general.splits import COUNT, MASS, SIZE, Split, SplitRules
from arboretum_gosdt.general.trees import TreeBuilder
from arboretum_gosdt.problem.prepared import Merged, unpack_bits

if TYPE_CHECKING:
    from arboretum_gosdt.general.relaxed import Line

    Work = Iterator["Work"]


WIDE = 400
"""Features of which all pairs are looked at; their sums take megabytes."""
STEP, PATIENCE, RELAXED_BYTES = 3, 10_000, 1 << 30
"""Slices of a fast search for a set, and for all objects (a slice takes 1 to 5 ms), and its bytes.
They are counted, so that results do not depend on clocks.
"""
NODE_BYTES = 900
"""Bytes of what is known of a set, with its trees (measured, rounded up)."""


class GeneralSearch:
    """Exact, anytime: fast where a fast search's tree keeps the limits, else a millisecond per
    set of objects.
    """

    def __init__(self, merged: Merged, p: int, q: int, rules: SplitRules = SplitRules()) -> None:
        self.rules, self.p, self.q = rules, p, q
        n, self.n_features = len(merged.weights), len(merged.tests)
        most = merged.weights.max(axis=1)
        self._merged, self._held = merged, merged.nbytes
        self.own_cost = q * int((merged.weights.sum(axis=1) - most).sum())
        excess = most[:, None] - merged.weights
        self._classes = excess.shape[1]
        self._data = np.ascontiguousarray(
            np.column_stack(
                [excess, most, merged.rows, np.ones(n, np.int64), merged.mass, merged.members]
            )
        )
        self._outcome = unpack_bits(merged.bits, self.n_features)
        self._words = np.random.default_rng(5).integers(1, 1 << 64, (n, 2), np.uint64)
        self._price, self._priced = merged.price, bool(merged.price.any())
        self._cheapest = int(merged.price.min(initial=ANY)) if self.n_features else 0
        self._out = np.empty((self._data.shape[1], self.n_features), np.int64)
        self._known: dict[tuple[int, int], Known] = {}
        self._similar = (
            rules.least == 1
            and rules.split <= 2
            and rules.light == 0
            and rules.members <= 1
            and not self._priced
        )
        self.subproblems = 0
        everything = np.arange(n)
        deep, wide = rules.limits.depth < ANY, rules.limits.leaves < ANY
        self._trees = TreeBuilder(merged.price, rules.worst, deep, wide)
        self._root = self._known_of(everything)
        self._cap = rules.limits
        self._until: float | None = None
        self._report: Callable[[int, int], None] = lambda low, up: None
        self._reported: tuple[int, int] | None = None
        self._bytes: int | None = None
        self._stack: list[Work] = [self._solve_all_objects(everything)]
        self._relaxed, self._more = Relaxed(merged, p, q, rules.worst, rules.least), 0
        self._top: Split | None = None
        self._best = self._root.leaf
        self._lower = p

    # -- what every search has ---------------------------------------------------------------------

    @property
    def lower(self) -> int:
        """Lower bound on the cost of every tree; without ``base``."""
        low = self._lower
        if self._top is not None and self._stack:
            low = max(
                low, min(self._root.best(self._cap).cost, int(self._top.bound.min(initial=ANY)))
            )
        return self.own_cost + min(self._value(self._best), max(low, self._root.bound(self._cap)))

    @property
    def upper(self) -> int:
        """Value of the best tree known; without ``base``."""
        return self.own_cost + self._value(self._best)

    @property
    def bytes_used(self) -> int:
        """Bytes of the table and, at NODE_BYTES each, of the sets of objects that are known; those
        of the fast searches are not counted.
        """
        return (
            len(self._known) * NODE_BYTES
            + self._outcome.nbytes
            + self._data.nbytes
            + self._words.nbytes
            + self._held
        )

    def run(
        self, until: float | None, memory_bytes: int | None, report: Callable[[int, int], None]
    ) -> str:
        """Go on until it is finished (""), or "seconds" or "bytes" run out.

        until : ``time.monotonic()`` value at which it stops; None: no limit.
        memory_bytes : of ``bytes_used`` and the fast searches together, at most; None: no limit.
        report : called with (lower, upper) where one of them has changed.
        After KeyboardInterrupt, which is let through, or before a step that would take too long, it
        begins again with what it knows.
        """
        self._until, self._bytes, self._report = until, memory_bytes, report
        self._relaxed.memory_bytes = (
            None if memory_bytes is None else max(0, memory_bytes - self.bytes_used)
        )
        try:
            return self._go_on(until, memory_bytes)
        except OutOfTime:  # the next step would take longer
            self._stack = [self._solve_all_objects(np.arange(len(self._data)))]
            return "seconds"
        except BaseException:
            # Ctrl-C ends the step under way, and what is above takes it for done: what is known is
            # true all the same
            self._stack = [self._solve_all_objects(np.arange(len(self._data)))]
            raise

    def _go_on(self, until: float | None, memory_bytes: int | None) -> str:
        """Take step after step from the stack; returns "" when none is left, or what ran out.

        A step is a generator on ``_stack``; what it yields is to be done before it goes on.  The
        clock is looked at between steps.
        """
        while self._stack:
            if until is not None and time.monotonic() >= until:
                return "seconds"
            if memory_bytes is not None and self.bytes_used > memory_bytes:
                return "bytes"
            below = next(self._stack[-1], None)
            if below is None:
                self._stack.pop()
            else:
                self._stack.append(below)
            if len(self._stack) <= 2:
                self._report_news()
        return ""

    def _report_news(self) -> None:
        if (now := (self.lower, self.upper)) != self._reported:
            self._reported = now
            self._report(*now)

    def tree(self) -> np.ndarray:
        """Return int64[nodes, 4]: (feature or −1, 0, node of outcome 1, the other), root first."""
        nodes: list[list[int]] = []
        waiting: list[tuple[Grown, int, int]] = [(self._best, -1, 0)]
        while waiting:
            tree, above, side = waiting.pop()
            if above >= 0:
                nodes[above][side] = len(nodes)
            if tree.one is not None and tree.rest is not None:
                waiting += [(tree.rest, len(nodes), 3), (tree.one, len(nodes), 2)]
            nodes.append([tree.feature, 0, -1, -1])
        return np.array(nodes, np.int64)

    # -- the search; a step that needs another one done first yields it ----------------------------

    def _check_time(self, steps: int) -> None:
        Context(deadline=self._until).check_time(steps)

    def _value(self, tree: Grown) -> int:
        return tree.cost + (tree.path_cost if self.rules.worst else 0)

    def _keep_best(self) -> None:
        tree = self._root.best(self._cap)
        if self._value(tree) < self._value(self._best):
            self._best = tree

    def _solve_all_objects(self, rows: np.ndarray) -> Work:
        """Find the best of the trees whose costliest path costs at most a cap, for lower and lower
        caps (one cap where prices do not count by the costliest path).

        rows : int64, all objects.
        The fast searches come first; ``_lower`` and ``_best`` hold what is known at any moment.
        """
        if self._relaxed.usable:
            self._run_relaxed_searches(rows)
            if (
                self.rules.worst
                and (found := self._relaxed.begin_expected(self._depth(self._cap))) is not None
            ):
                self._run_fast(
                    *found, rows, lambda low: setattr(self, "_lower", max(self._lower, low))
                )
        while True:
            if self.lower >= self.upper or self._search_all_trees(rows):
                break
            yield self._solve_set(self._root, rows, self._cap, self._value(self._best) - 1)
            self._keep_best()
            low, self._top = self._root.bound(self._cap), None
            self._lower = max(self._lower, low)
            best = sure(self._root.best(self._cap))
            if (
                not self.rules.worst
                or best.path_cost == 0
                or self._lower >= self._value(self._best)
            ):
                break
            # trees of the same or a higher value are all that is left above what this one pays; a
            # lower one pays less
            self._cap = self._cap._replace(
                path_cost=min(best.path_cost, self._value(self._best) - low) - 1
            )
        self._lower = self._value(self._best)

    def _known_of(self, rows: np.ndarray) -> Known:
        """Return what is known of the set of ``rows`` (int64, objects); of a new one its leaf."""
        one, two = self._words[rows].sum(axis=0, dtype=np.uint64).tolist()
        found = self._known.get((one, two))
        if found is None:
            loss = int(self._data[rows, : self._classes].sum(axis=0).min())
            tree = self._trees.leaf(self.q * loss + self.p)
            found = self._known[one, two] = Known(tree)
            self.subproblems += 1
        return found

    def _run_relaxed_searches(self, rows: np.ndarray) -> None:
        """Bound all objects, and find trees of them, by the fast searches, for several prices of a
        leaf where leaves are limited.

        The price that bounds best is where a tree of fewer leaves than the limit costs as much as
        one of more (or there is a tree of just as many); it is used for the sets below, too.  High
        prices, whose searches are short, come first.

        rows : int64, all objects.
        At most a dozen prices are tried.  Sets ``_more``, what a leaf costs more in the searches of
        sets.
        """
        root, most, tried = self._root, self._cap.leaves, set[int]()
        few = root.leaf
        many = None
        more = 0 if most == ANY else max(root.leaf.cost // (2 * most) - self.p, 0)
        more = 0 if more < self.p else more  # it takes about as long
        while more not in tried and len(tried) < 12:
            tried.add(more)
            before = tuple(root.lines)
            found = self._relaxed.begin_search(rows, self._depth(self._cap), more)
            if found is None:
                break

            def record_bound(low: int, before: tuple[Line, ...] = before, more: int = more) -> None:
                root.lines[:] = [*before, self._relaxed.make_line(self._cap.depth, low, more)]

            tree = self._run_fast(*found, rows, record_bound)
            if (
                found[0].lower < found[0].upper
                or most == ANY
                or tree.leaves == most
                or (tree.leaves < most and more == 0)
            ):
                break
            few, many = (tree, many) if tree.leaves < most else (few, tree)
            if many is None:
                more = max((self.p + more) // 4 - self.p, 0)
            else:
                more = max(
                    ((few.cost - self.p * few.leaves) - (many.cost - self.p * many.leaves))
                    // (many.leaves - few.leaves)
                    - self.p,
                    0,
                )
        if root.lines and most < ANY:
            self._more = max(root.lines, key=lambda line: line.bound_for_leaves(most)).more

    def _search_all_trees(self, rows: np.ndarray) -> bool:
        """Find the best tree of a limited number of leaves among all that the price of a leaf
        leaves, if nothing else is limited but depth and rows; returns whether that is done.  Prices
        may count, but by the costliest path.

        rows : int64, all objects.
        """
        rules = self.rules
        limited = rules.limits.leaves < ANY and rules.split <= 2 and rules.members <= 2
        if rules.worst or not limited or rules.light or self.p + self._more == 0:
            return False
        done, sets, nodes = best_tree_of_leaves(
            self._merged,
            (self.p, self.q, self._more),
            rules,
            self._best.cost,
            self._until,
            RELAXED_BYTES if self._bytes is None else max(0, self._bytes - self.bytes_used),
            self._report_news,
        )
        self.subproblems += sets
        if nodes is not None:
            self._keep_allowed_trees(nodes, rows)
            self._keep_best()
        return done

    def _depth(self, limits: Bounds) -> int | None:
        return None if limits.depth == ANY else limits.depth

    def _run_fast(
        self,
        search: Any,
        read: Callable[[int], int],
        rows: np.ndarray,
        record_bound: Callable[[int], None],
    ) -> Grown:
        """Run a fast search for all objects, within half of the time that is left; keep its tree,
        and learn its bound.

        read : turns a bound of the search into one of this problem's costs.
        rows : int64, all objects.
        record_bound : called with such bounds, the last time with the search's final one.
        Returns what the rules leave of its tree.
        """

        def report_bounds(low: int, up: int) -> None:
            record_bound(read(low))
            self._report_news()

        try:
            self._run_some_slices(
                search,
                None if self._until is None else (time.monotonic() + self._until) / 2,
                PATIENCE,
                report_bounds,
            )
        finally:  # also where Ctrl-C ends it
            record_bound(read(search.lower))
            tree = self._keep_allowed_trees(search.tree(), rows)[-1]
            self._keep_best()
        return tree

    def _run_some_slices(
        self,
        search: Any,
        until: float | None,
        slices: int,
        report_bounds: Callable[[int, int], None] = lambda low, up: None,
    ) -> None:
        """Run a fast search so many slices long at most, within the bytes that are free.

        until : ``time.monotonic()`` value at which it stops; None: no limit.
        report_bounds : called with its (lower, upper) after every slice.
        """
        free = RELAXED_BYTES if self._bytes is None else max(0, self._bytes - self.bytes_used)
        search.run(until, free, report_bounds, slices)

    def _keep_allowed_trees(self, nodes: np.ndarray, rows: np.ndarray, at: int = 0) -> list[Grown]:
        """Keep the tree of a fast search for a set as far as the rules allow it, its subtrees, and
        where leaves are limited what pruning leaves of it.

        nodes : int64[nodes, 4], as ``tree`` returns it; at : its row that stands for the set.
        rows : int64, the objects of the set.
        A test with too few rows on one side is replaced by the subtree of the side with more.
        Returns the best tree of each number of leaves, the largest last.
        """
        known, k = self._known_of(rows), self._classes
        f, _, one, rest = nodes[at].tolist()
        if f < 0 or self.rules.must_be_leaf(self._data[rows, k + COUNT :].sum(axis=0)):
            return [known.leaf]
        mine = self._outcome[rows, f] == 1
        parts = rows[mine], rows[~mine]
        counts = [int(self._data[part, k + COUNT].sum()) for part in parts]
        if min(counts) < self.rules.least or not (len(parts[0]) and len(parts[1])):
            return self._keep_allowed_trees(nodes, rows, rest if counts[1] > counts[0] else one)
        test_cost = (
            0 if self.rules.worst else int(self._price[f]) * int(self._data[rows, k + MASS].sum())
        )
        best = {known.leaf.leaves: known.leaf}
        for two in itertools.product(
            self._keep_allowed_trees(nodes, parts[0], one),
            self._keep_allowed_trees(nodes, parts[1], rest),
        ):
            tree = self._trees.join(f, test_cost, *two)
            best[tree.leaves] = min(best.get(tree.leaves, tree), tree, key=lambda tree: tree.cost)
        for tree in best.values():
            known.keep_tree(tree)
        return [best[leaves] for leaves in sorted(best)]

    def _bound_by_fast_search(self, known: Known, rows: np.ndarray, limits: Bounds) -> None:
        """Bound a set, and find a tree of it, by a fast search, unless that was done.

        known : of the set of ``rows`` (int64), written.
        Nothing is done where a tree of few leaves decides anyway, or where the search of that depth
        was done.
        """
        if (
            not self._relaxed.usable
            or known.leaf.cost <= 4 * self.p
            or limits.depth < 3
            or limits.leaves < 4
        ):
            return
        if any(line.depth == limits.depth for line in known.lines):
            return
        found = self._relaxed.begin_search(rows, self._depth(limits), self._more)
        if found is None:
            return
        search, read = found
        self._run_some_slices(search, self._until, STEP)
        known.lines.append(self._relaxed.make_line(limits.depth, read(search.lower), self._more))
        self._keep_allowed_trees(search.tree(), rows)

    def _splits_of_set(self, rows: np.ndarray, limits: Bounds) -> Split | None:
        """Return the features that may divide these objects; None where the node must be a leaf.

        rows : int64, the objects.
        ``low`` of a child is the cost of a leaf or, if that is less, of two leaves and the cheapest
        test; ``bound`` has no pair of leaves, as ``stump_of_test`` knows these.
        """
        rules, k = self.rules, self._classes
        total = self._data[rows].sum(axis=0)
        mass = int(total[k + MASS])
        self._check_time(len(rows) * self.n_features * self._data.shape[1])
        if (
            rules.must_be_leaf(total[k + COUNT :])
            or limits.depth < 1
            or limits.leaves < 2
            or not self.n_features
        ):
            return None
        sum_by_feature(rows, self._outcome, self._data, self._out)
        sums = np.stack([self._out, total[:, None] - self._out])  # [2, columns, features]
        there = (sums[:, k + SIZE] > 0) & (sums[:, k + COUNT] >= rules.least)
        feature = np.flatnonzero(
            there.all(axis=0) & (self._price <= limits.path_cost if rules.worst else True)
        )
        if not len(feature):
            return None
        # one order, for which kernels are loaded
        sums, price = np.ascontiguousarray(sums[:, :, feature]), self._price[feature]
        test_cost = np.zeros(len(feature), np.int64) if rules.worst else price * mass
        leaf = self.q * sums[:, :k].min(axis=1) + self.p
        split_cost = self._least_cost_if_split(sums)
        must_be_leaf = split_cost >= ANY >> 2
        if limits.depth < 2 or limits.leaves < 3:
            split_cost[:] = ANY >> 2
        either = np.minimum(leaf, split_cost)
        bound = test_cost + np.minimum(either[0] + split_cost[1], split_cost[0] + either[1])
        return Split(feature, test_cost, leaf, either, bound, sums, must_be_leaf)

    def _look_ahead(self, known: Known, split: Split, rows: np.ndarray, limits: Bounds) -> None:
        """Sharpen the bounds of ``split`` by all pairs of tests, and keep the best tree of two
        levels of tests.

        known : of the set of ``rows`` (int64 objects), written.
        split : ``low``, ``bound`` and ``stump`` are written.
        Nothing is done where two levels are not allowed, or where features are more than WIDE.
        """
        m, rules = len(split.feature), self.rules
        if limits.depth < 2 or limits.leaves < 3 or m > WIDE:
            return
        self._check_time(len(rows) * m * m // 2 * self._data.shape[1])
        both = np.empty((self._data.shape[1], m, m), np.int64)
        costs = np.empty((5, 2, m), np.int64)
        floors = np.empty((2, m), np.int64)
        sum_by_pairs(rows, self._outcome, self._data, split.feature, np.empty(m, np.int64), both)
        cheapest = 0 if rules.worst else self._cheapest
        deep = limits.depth >= 3 and limits.leaves >= 4
        setting = Setting(
            p=self.p,
            q=self.q,
            classes=self._classes,
            least=rules.least,
            split=rules.split,
            light=int(rules.light),
            members=rules.members,
            cheapest=cheapest,
            worst=rules.worst,
            path_cost=limits.path_cost,
            deep=deep,
        )
        look_ahead(
            both,
            split.sums,
            self._price[split.feature],
            split.must_be_leaf,
            split.leaf,
            setting,
            costs,
            floors,
        )
        costs[1] = np.where(costs[1] < 0, -1, split.feature[costs[1]])
        np.maximum(split.low, floors, out=split.low)
        split.bound, split.stump = split.test_cost + split.low.sum(axis=0), costs
        best = np.minimum(costs[0], split.leaf)
        value = split.test_cost + (
            best.sum(axis=0)
            if limits.leaves > 3
            else np.minimum(best[0] + split.leaf[1], split.leaf[0] + best[1])
        )
        i = int(value.argmin())
        one, other = (self._trees.best_child(split, side, i) for side in range(2))
        if limits.leaves == 3:  # one of the two is a leaf
            first = best[0, i] + split.leaf[1, i] <= split.leaf[0, i] + best[1, i]
            one, other = (
                (one, self._trees.leaf(split.leaf[1, i]))
                if first
                else (self._trees.leaf(split.leaf[0, i]), other)
            )
        known.keep_tree(
            self._trees.join(int(split.feature[i]), int(split.test_cost[i]), one, other)
        )

    def _least_cost_if_split(self, sums: np.ndarray) -> np.ndarray:
        """Return the least that sets cost if they are split: two leaves and a test; far above all
        where they must be leaves.

        sums : int64[sets, columns, …].
        """
        k, rules = self._classes, self.rules
        return np.where(
            rules.must_be_leaf(np.moveaxis(sums[:, k + COUNT :], 1, 0)),
            ANY >> 2,
            2 * self.p + (0 if rules.worst else self._cheapest * sums[:, k + MASS]),
        )

    def _solve_set(self, known: Known, rows: np.ndarray, limits: Bounds, budget: int) -> Work:
        """Solve a set: afterwards its best tree within limits is known, or its value is proven to
        exceed the budget.

        rows : int64, the objects of the set that ``known`` is of.
        budget : a cost; trees that cost more do not matter.
        """
        depth = ANY if limits.depth >= len(rows) - 1 else limits.depth
        leaves = ANY if limits.leaves >= len(rows) else limits.leaves
        limits = Bounds(depth, leaves, limits.path_cost)  # no tree on so few objects uses more
        if known.bound(limits) >= min(known.best(limits).cost, budget + 1):
            return
        test_cost = (
            self._cheapest * int(self._data[rows, self._classes + MASS].sum())
            if self._priced and not self.rules.worst
            else 0
        )
        # a node that is divided has two leaves, and pays for a test
        if known.leaf.cost <= 2 * self.p + test_cost:
            known.keep_bound(Bounds(), known.leaf.cost)
            return
        self._bound_by_fast_search(known, rows, limits)
        if known.bound(limits) >= min(known.best(limits).cost, budget + 1):
            return
        split = self._splits_of_set(rows, limits)
        if split is None:
            known.keep_bound(limits, known.leaf.cost)
            return
        stumps = split.leaf.sum(axis=0) + split.test_cost
        known.keep_tree(self._trees.stump_of_test(split, int(stumps.argmin())))
        self._look_ahead(known, split, rows, limits)
        if split.stump is not None:
            stumps = np.minimum(split.stump[0], split.leaf).sum(axis=0) + split.test_cost
            if limits.depth == 2 or limits.leaves == 3:  # all trees have been looked at
                known.keep_bound(limits, known.best(limits).cost)
        if known is self._root:
            self._top = split
            self._keep_best()
        # balanced tests make children alike, whose bounds then serve each other; the best guess
        # comes before them
        balance = split.sums[:, self._classes].min(axis=0)
        balance[stumps.argmin()] = ANY
        for i in np.argsort(-balance, kind="stable").tolist():
            up = known.best(limits).cost
            if known.bound(limits) >= up:
                break
            if split.bound[i] <= min(budget, up - 1):
                yield from self._solve_children(known, rows, limits, split, i, min(budget, up - 1))
                if known is self._root:
                    self._keep_best()
        known.keep_bound(limits, min(known.best(limits).cost, int(split.bound.min())))

    def _solve_children(
        self, known: Known, rows: np.ndarray, limits: Bounds, split: Split, i: int, budget: int
    ) -> Work:
        """Solve the children of one test, in all ways to share the leaves between them.

        i : the test's place in ``split.feature``; ``split.bound[i]`` is raised.
        rows : int64, the objects of the set that ``known`` is of.
        budget : a cost; trees that cost more do not matter.
        The smaller child gets as many leaves as are allowed at first, then fewer than its best tree
        has, while the other gets what is left.
        """
        f, test_cost = int(split.feature[i]), int(split.test_cost[i])
        mine = self._outcome[rows, f] == 1
        parts = [rows[mine], rows[~mine]]
        small = int(len(parts[1]) < len(parts[0]))  # the smaller child first
        a, b = parts[small], parts[1 - small]
        left, right = self._known_of(a), self._known_of(b)
        most = self._trees.limits_below(limits, f)
        for child, side in ((left, small), (right, 1 - small)):
            child.keep_tree(self._trees.best_child(split, side, i))
            child.keep_bound(most, int(split.low[side, i]))
        far, low = max(right.bound(most), int(split.low[1 - small, i])), ANY
        share = min(most.leaves, len(a))
        while share >= 1:
            here = most._replace(leaves=share) if limits.leaves < ANY else most
            yield self._solve_set(left, a, here, budget - test_cost - far)
            best = left.best(here)
            if left.bound(here) < best.cost or best.cost + far + test_cost > budget:
                low = min(low, max(left.bound(here), int(split.low[small, i])) + far + test_cost)
                break
            rest = (
                most._replace(leaves=limits.leaves - best.leaves) if limits.leaves < ANY else most
            )
            yield self._solve_set(right, b, rest, budget - test_cost - best.cost)
            other = right.best(rest)
            low = min(
                low,
                best.cost + max(right.bound(rest), int(split.low[1 - small, i])) + test_cost,
            )
            one, two = (other, best) if small else (best, other)
            tree = self._trees.join(f, test_cost, one, two)
            known.keep_tree(tree)
            budget = min(budget, tree.cost - 1)
            if rest.leaves >= len(b):
                break
            share = best.leaves - 1
        split.bound[i] = max(split.bound[i], low)
        if self._similar:
            self._propagate_to_siblings(split, a, left.bound(most))
            self._propagate_to_siblings(split, b, right.bound(most))

    def _propagate_to_siblings(self, split: Split, rows: np.ndarray, low: int) -> None:
        """Raise the bounds of the children S of all features by R(S) ≥ R(T) − q · w(T ∖ S), where
        R(T) ≥ low under the limits that they have.

        rows : int64, the objects of T.
        low : a bound of T.

        Writes ``split.low`` and ``split.bound``; only where prices and rules on rows do not count
        (``_similar``).
        """
        if low <= 2 * self.p:
            return
        influence = self._data[:, self._classes : self._classes + 1]
        sums = self._out[:1]
        sum_by_feature(rows, self._outcome, influence, sums)
        one = sums[0, split.feature]
        rest = int(influence[rows].sum()) - one
        np.maximum(split.low[0], low - self.q * rest, out=split.low[0])
        np.maximum(split.low[1], low - self.q * one, out=split.low[1])
        np.maximum(split.bound, split.low.sum(axis=0) + split.test_cost, out=split.bound)
