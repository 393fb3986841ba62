"""The printed algorithms once more, in plain Python on sets of rows as integers: the slow truth
of this plugin's kernels.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any


class Vertex:
    """A subproblem.

    lower, upper : its bounds.
    base : Algorithm 3's, what its leaf costs.
    parents : supports whose split it comes from.
    """

    def __init__(self, lower: int, upper: int) -> None:
        self.lower: float = lower
        self.upper: float = upper
        self.base = upper
        self.parents: list[int] = []


class PrintedGosdt:
    """Algorithms 1 to 6 on groups of rows.

    tests : of each the groups with outcome 1, as the bits of an integer.
    cost[u][k] : of group u where its leaf says k.
    leaf : λ.
    key : (vertex, support, pushes so far) → place in the queue, the least first.
    high : whether parents go to its head.
    """

    def __init__(
        self,
        tests: Sequence[int],
        cost: Sequence[Sequence[int]],
        leaf: int,
        key: Callable[[Vertex, int, int], float],
        high: bool = True,
    ) -> None:
        """Keep the problem; no support is in the graph.

        tests : of each the groups with outcome 1, as bits.
        cost : of each group by label; leaf : what a leaf costs.
        key : vertex, support, number of pushes → key in the queue, least first.
        high : whether parents are pushed before all others.
        """
        self.tests, self.cost, self.leaf, self.key, self.high = tests, cost, leaf, key, high
        self.root = (1 << len(cost)) - 1
        self.graph: dict[int, Vertex] = {}
        self.queue: list[tuple[float, int, int]] = []
        self.waiting: dict[int, tuple[float, int]] = {}
        self.pushes = self.iterations = 0

    def solve(self, seen: Callable[[], None] = lambda: None) -> Vertex:
        """Algorithm 1.   seen : called after every iteration."""
        root = self.find_or_create(self.root)
        self.push(self.root)
        while root.lower != root.upper:
            support = self.pop()
            self.step(support, self.graph[support])
            self.iterations += 1
            seen()
        return root

    def step(self, support: int, p: Vertex) -> None:
        """One iteration of Algorithm 1 on a support that was popped, whose vertex is ``p``.

        Its bounds follow from those of all splits; where they change, its parents are pushed; while
        they differ, the parts of every split that may still matter are pushed.
        """
        if p.lower == p.upper:
            return
        lower = upper = math.inf
        for left, right in self.splits(support):
            a, b = (self.find_or_create(part) for part in (left, right))
            for one in (a, b):
                if support not in one.parents:
                    one.parents.append(support)
            lower, upper = min(lower, a.lower + b.lower), min(upper, a.upper + b.upper)
        if p.lower < lower or p.upper > upper:
            p.upper = min(p.upper, upper)
            p.lower = min(p.upper, max(p.lower, lower))
            for parent in reversed(p.parents):  # the last first, as linked lists have them
                self.push(parent, high=self.high)
        if p.lower >= p.upper:
            return
        for left, right in self.splits(support):
            a, b = self.graph[left], self.graph[right]
            if a.lower + b.lower < a.upper + b.upper and a.lower + b.lower <= p.upper:
                self.push(left)
                self.push(right)

    def find_or_create(self, support: int) -> Vertex:
        """Return the vertex of a support; a new one has the bounds of Algorithms 2 and 3, which are
        equal where Algorithm 4 says that no split helps.
        """
        if support not in self.graph:
            self.graph[support] = p = Vertex(self.lower(support), self.upper(support)[0])
            if p.upper - p.lower <= self.leaf or p.upper <= 2 * self.leaf:  # Algorithm 4
                p.lower = p.upper
        return self.graph[support]

    def groups(self, support: int) -> list[int]:
        """Numbers of the groups in a support, ascending."""
        return [u for u in range(len(self.cost)) if support >> u & 1]

    def lower(self, support: int) -> int:
        """Algorithm 2: equivalent points."""
        return sum(min(self.cost[u]) for u in self.groups(support)) + self.leaf

    def upper(self, support: int) -> tuple[int, int]:
        """Return what a leaf costs, and its label (Algorithm 3), for groups as bits."""
        return min(
            (sum(self.cost[u][k] for u in self.groups(support)) + self.leaf, k)
            for k in range(len(self.cost[0]))
        )

    def splits(self, support: int) -> Iterator[tuple[int, int]]:
        """Algorithm 5."""
        for test in self.tests:
            if support & ~test and support & test:
                yield support & ~test, support & test

    def extract(self, support: int) -> int | tuple[int, Any, Any]:
        """Return the tree of a support, groups as bits (Algorithm 6): a label, or (test, tree of
        outcome 0, tree of outcome 1).
        """
        (base, label), best, test = self.upper(support), math.inf, -1
        for t, one in enumerate(self.tests):
            parts = support & ~one, support & one
            if (
                all(part in self.graph for part in parts)
                and sum(self.graph[part].upper for part in parts) < best
            ):
                best, test = sum(self.graph[part].upper for part in parts), t
        if base <= best:
            return label
        return (
            test,
            self.extract(support & ~self.tests[test]),
            self.extract(support & self.tests[test]),
        )

    def push(self, support: int, high: bool = False) -> None:
        """Give a support, groups as bits, a turn; one that waits already keeps its place, unless
        the new key is earlier.

        high : it comes before all others.
        """
        key = -math.inf if high else self.key(self.graph[support], support, self.pushes)
        if key < self.waiting.get(support, (math.inf, 0))[0]:
            self.waiting[support] = key, self.pushes
            heapq.heappush(self.queue, (key, self.pushes, support))
            self.pushes += 1

    def pop(self) -> int:
        """Take out the support that comes next, by the least key, then the first push; raises
        IndexError where none waits.
        """
        while True:
            key, turn, support = heapq.heappop(self.queue)
            if self.waiting.get(support) == (key, turn):
                del self.waiting[support]
                return support
