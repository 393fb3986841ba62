"""Does a bound of an additive objective follow from the bounds before it?  By counting, and by
nothing else.

Write OPT(S, d, l) for the least cost, loss + p·leaves + prices as the log counts it, of a tree on
the set S with at most d tests on a path and l leaves; π_i(S) for what test i costs on S, its price
times the mass, and π(S) for the mass times what a path may cost.  What is relied on, each for the
limits of a record ("looser" limits allow all that tighter ones allow):

1. *A tree with the fewest leaves among the best.*  Its subtrees are such trees of their sets, for
   the limits that are left to them.  As none costs more than a leaf, S has at most loss(S) / p
   leaves besides one, and so many tests on a path: a path costs at most the costliest of these.
   Let w_u be the most that object u can cost, and save(L) = Σ w_u − loss(L) what the best label of
   a leaf saves.  Give a leaf's objects to its sibling's subtree instead: costs rise by at most save
   + π − p, no path and no count of leaves grows, no leaf gets smaller.  So **save(L) + π(L) > p for
   every leaf L of such a tree that is not its root**, and, as both grow with the set, for every set
   below the root.  A test with a side that has less ("idle") does not occur, here or further down.
   And a set with loss − e ≤ p is not divided, as two leaves cost 2p + e (rule 3) and the cheapest
   test at least.
2. *Division.*  OPT(S, d, l) is the leaf's cost loss(S) + p, or, over the tests i that are not idle,
   the least sum of π_i(S) and of what the sides cost with d − 1 and with numbers of leaves that add
   up to l.
3. *Few leaves.*  One and two leaves cost g₁ and g₂, counted over pairs of tests.  Let e(S) be what
   the objects of S cost apart, each by its own best label.  With three or more leaves, some test i
   of the set has either one leaf A beside a subtree of B: at least 3p + loss(A) + π_i(S) + e(B),
   and the cheapest test on B, which is divided; or two subtrees: at least 4p + π_i(S) + e(S), and
   the cheapest test on S.  A label has a leaf, or saves nothing: a tree costs, summed over the
   labels, the lesser of p and of what the label saves in all of S.  Where there are two labels and
   tests are free, trees of three and of four leaves are counted on a side as well: up to four tests
   on a path of S; of leaves of one label that may change places, with the largest one first.  What
   has five leaves costs 5p.
4. *Similarity.*  OPT(S) ≥ OPT(T) − w(T ∖ S) − π(T ∖ S): a tree for S serves T ∩ S, and then each
   object of T ∖ S costs w_u and a path at most.  Used between all sides of the tests of one set;
   and from a side of a larger set, which the path without one of its literals leads to, to the same
   side of this one.
5. *Split similarity*, without limits: for T = (i, s), S = (j, t) and D = T ∧ (j = 1 − t), OPT(S) ≥
   OPT(T) − (p + loss(D) + π_j(T)); so where S is T ∧ j, a literal of the path.  Monotone, without
   limits: OPT(S) is at least that of each part of it.

With a least size of leaves, counted in rows, tests with a smaller side are left out, and 4 and 5
are not used: a part of a leaf need not be a leaf.  Stricter leaf rules only raise what trees cost.
``docs/explanation/why-a-bound-follows.md`` tells the rules one by one, for trees without prices and
limits, and tries them.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import cast

import numpy as np

from arboretum.errors import VerificationError, sure
from arboretum.interfaces.method import Problem
from arboretum.interfaces.objective import WeightedErrors
from arboretum.model.tree import Tree
from arboretum.proof import counting, records, sets
from arboretum.proof.few_leaves import HALF
from arboretum.proof.format import NO_LIMITS, NO_PATH, Proof
from arboretum.proof.ground import Columns, Costs, rational, rule_key, tests_of_rules

PRECISION = 1e-9
"""Relative; to which an objective's value in floating point is the exact one."""
MANY = (
    f"there are {counting.MOST_KEPT:,} of its set before, under limits of which none is as loose "
    "as another's"
)
CHUNK = 256
"""Records that are checked between two looks at the clock."""


def words_of(bits: np.ndarray) -> np.ndarray:
    """Pack ``bits``, uint8[n, m] of 0 and 1, into uint64[n, words], at least one word; bit k of a
    row is bit k % 64 of its word k // 64, and what is beyond m is 0.
    """
    found = np.zeros((len(bits), 8 * max(1, -(-bits.shape[1] // 64))), np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    found[:, : packed.shape[1]] = packed
    return found.view(np.uint64)


def _is_plain(planes: Sequence[np.ndarray], n_labels: int, p: int, unit: int) -> bool:
    """Whether a table has two labels, and nothing is counted but what they weigh, in 32 bits."""
    most = max(p // unit, unit, *(int(plane.sum()) for plane in planes))
    return n_labels == 2 and not any(plane.any() for plane in planes[2:]) and most < int(HALF)


class Additive:
    """Checks records about sets of merged objects, and keeps them.

    ground, log : see :mod:`.counting`.
    literals : of each test of the log, int64[outcomes], as in Columns.
    kept : bool[merged objects], those on which labels or prices differ.
    has : uint8[objects, columns], of these, by column.
    planes : how many numbers are counted of a set: per label, rows, mass, what objects cost apart.
    most_words : words that hold the members of all planes' powers of two.
    """

    slack = 0

    def __init__(
        self,
        problem: Problem,
        tests: Sequence[int | list[int]],
        unit: Fraction,
        columns: Columns | None = None,
        costs: Costs | None = None,
    ) -> None:
        """Merge the objects of a problem, and count its costs in integers.

        tests : of the log, as in its header.
        unit : what 1 of the log is worth in the objective.
        columns : of the problem's objects, where somebody has them.
        costs : others than those of the problem's objective.
        Raises what :class:`Columns` and :class:`Costs` raise.
        """
        columns = Columns.of(problem.objects) if columns is None else columns
        self.problem, self.tests, self.columns = problem, tests, columns
        if costs is None:
            costs = Costs.of(problem, columns.group, unit, paid_depth=True)
        self.costs = costs
        self.literals = [columns.literals(test) for test in tests]
        least, priced = problem.parts.limits().min_leaf, bool(costs.price.any())
        kept = np.ones(len(columns.has), np.bool_)
        if least <= 1 and not priced:
            kept = costs.saved.max(axis=1, initial=0) > 0
        self.kept = kept
        self.has, saved = np.ascontiguousarray(columns.has[kept]), costs.saved[kept]
        (n, n_columns), n_labels = self.has.shape, saved.shape[1]
        saving_unit = max(1, int(np.gcd.reduce(saved, axis=None)))
        rows = np.bincount(columns.group, problem.objects.count).astype(np.int64)[kept] * (
            least > 1
        )
        planes = [*(saved // saving_unit).T, rows, costs.mass[kept]]
        planes.append((saved.sum(axis=1) - saved.max(axis=1)) // saving_unit)
        groups = [
            (k, b)
            for k, plane in enumerate(planes)
            for b in range(int(plane.max(initial=0)).bit_length())
        ]
        members = words_of(
            np.array([planes[k] >> b & 1 for k, b in groups], np.uint8).reshape(len(groups), n)
        )
        plane, bit = np.array(groups, np.int64).reshape(-1, 2).T.copy()
        everything = words_of(np.ones((1, n), np.uint8))[0]
        nothing = np.zeros((1, len(everything)), np.uint64)
        packed = np.concatenate([words_of(np.ascontiguousarray(self.has.T)), nothing])
        # unknown to who writes a log, so that nobody can choose sets with the same fingerprint
        mixer = np.random.default_rng().integers(
            0, 1 << 63, len(everything), np.uint64
        ) * np.uint64(2) + np.uint64(1)
        price = np.full(n_columns + 1, sets.NEVER)
        np.minimum.at(price, columns.literal >> 1, np.repeat(costs.price, np.diff(columns.first)))
        max_path_cost = np.cumsum([0, *np.sort(price[:-1])[::-1][: max(0, n - 1)]])
        literal = np.concatenate([np.empty(0, np.int64), *self.literals])
        first = np.cumsum([0, *map(len, self.literals)])
        self.ground = sets.Ground(
            words_of(self.has),
            packed,
            everything,
            members,
            plane,
            bit,
            mixer,
            literal,
            first,
            price,
            max_path_cost,
            costs.p,
            saving_unit,
            n_labels,
            least if least > 1 else 0,
            bool(planes[-1].any()),
            not priced and _is_plain(planes, n_labels, costs.p, saving_unit),
        )
        self.planes = len(planes)
        self.most_words = sum(-(-int((planes[k] >> b & 1).sum()) // 64) for k, b in groups)
        self.scratch = self.new_scratch()
        self.log: records.Log

    def _room(self) -> int:
        """Columns for which there is room in a set."""
        columns: int = self.has.shape[1]
        return -(-columns // sets.LANES) * sets.LANES

    def new_scratch(self) -> sets.CountingScratch:
        """Room for the counting of one set at a time."""
        columns, width = self._room(), len(self.ground.everything)
        cells = [np.zeros(4 * columns, np.int64) for _ in range(5)]
        words = np.empty(self.most_words * columns, np.uint64)
        both = np.empty(self.planes * columns, np.int64)
        rows, block = np.empty(max(len(self.has), columns), np.int64), np.empty(64, np.uint64)
        of_columns = (*np.empty((3, columns), np.int64), np.empty(columns, np.uint64))
        of_labels = np.empty((5, 2 * columns), np.int32)
        masks = (np.empty(self.planes, np.int64), *np.empty((4, width), np.uint64))
        return sets.CountingScratch(
            rows, block, words, both, *cells, *of_columns, *masks, *of_labels
        )

    def new_nodes(self, n: int, most_leaves: int) -> sets.Node:
        """Room for so many sets.   most_leaves : of all limits; −1 where there is none."""
        columns = self._room()
        groups = len(self.ground.plane)
        width = len(self.ground.everything)
        sides = 2 * columns * max(1, min(most_leaves, len(self.has)) - 1)
        kept = columns if self.ground.plain and columns <= sets.KEPT else 1

        def room(length: int, kind: type = np.int64) -> np.ndarray:
            return np.empty((n, length), kind)

        words = room(self.most_words * columns, np.uint64)
        return sets.Node(
            room(width, np.uint64),
            room(columns),
            room(columns),
            words,
            room(groups),
            room(self.planes * columns),
            room(2 * columns, np.int32),
            room(self.planes),
            room(sides),
            room(sides),
            room(2 * columns),
            room(2 * columns),
            room(2 * columns),
            room(sides, np.uint8),
            room(columns),
            room(columns),
            np.empty((n, kept, 2 * columns), np.int32),
            np.empty(n, sets.NUMBERS),
        )

    def new_log(self, words: np.ndarray, start: np.ndarray, known: int = 0) -> None:
        """Take records in hand, of which the first ``known`` are in the log that they replace.

        words, start : as in Proof, or longer, where more records will follow.
        """
        n = max(1, len(start) - 1)
        mark = np.zeros(n, np.uint64) if not known else np.resize(self.log.mark, n)
        self.log = records.Log(
            words,
            start,
            mark,
            np.zeros((1 << (2 * n).bit_length(), 2), np.uint64),
            np.empty(n, np.int64),
        )
        records.learn(self.log, 0, known)

    def refusals(self, proof: Proof, report: Callable[[int], None]) -> Iterator[tuple[int, str]]:
        """The records that do not follow from those before them, and why; the others are known from
        then on.

        report : called with the number of records that were looked at.
        """
        words, number = np.ascontiguousarray(proof.words, np.int32).view(), 0
        words.flags.writeable = False  # as those of a file: kernels are compiled for either
        self.new_log(words, proof.start)
        room = self.new_nodes(1, int(words[proof.start[:-1] + 2].max(initial=-1)))
        node = type(room)(*(array[0] for array in room))
        while number < proof.n_records:
            report(number)
            number, why = counting.check_records(
                self.ground,
                self.log,
                node,
                self.scratch,
                number,
                min(number + CHUNK, proof.n_records),
            )
            if why != counting.FINE:
                bound, leaf = proof.record(number).bound, int(node.numbers["leaf"])
                reasons = {
                    counting.NO_PATH: NO_PATH,
                    counting.NO_LIMITS: NO_LIMITS,
                    counting.LEAF_COSTS: f"a leaf costs {bound - leaf} less",
                    counting.MANY: MANY,
                }
                yield number, reasons.get(why) or self._open(node, bound)
                number += 1

    def _open(self, node: sets.Node, bound: float) -> str:
        """Which test may cost less than a bound, as a message; ``node`` is counted."""
        cost, at = counting.cheapest(node, self.scratch)
        place = int(np.flatnonzero(self.columns.literal >> 1 == node.columns[at])[0])
        test = int(np.searchsorted(self.columns.first, place, side="right")) - 1
        return (
            f"trees that begin with test {test} of the table may cost {bound - cost} less "
            "for all that is known"
        )

    def root_bound(self, limits: tuple[int, int]) -> int:
        """The best bound that is known of all objects, 0 without one; ``limits`` are depth and
        leaves of the trees, −1: any.

        Where the depth is paid, a tree of depth j costs at least what is known within j, and j
        tests.  A tree that is deeper than the limits of all records costs at least what is known
        within the run's limit, and one test more than the greatest of these limits.
        """
        ground, per_level = self.ground, self.costs.per_level
        mark = (ground.everything * ground.mixer).sum(dtype=np.uint64)

        def known(depth: int) -> int:
            within = self.within(depth, limits[1])
            path = self.scratch.path
            return int(records.known_of(ground, self.log, ground.everything, mark, *within, path))

        if not per_level:
            return known(limits[0])
        saved, log = self.costs.saved, self.log
        leaf = int(saved.sum() - saved.sum(axis=0).max()) + self.costs.p
        root = log.start[:-1][log.words[log.start[:-1]] == 0]  # of no literal
        # no path has more tests than objects
        deepest = min(int(log.words[root + 1].max(initial=0)), len(self.has))
        levels = [known(depth) + per_level * depth for depth in range(1, deepest + 1)]
        if deepest != limits[0]:
            levels.append(known(limits[0]) + per_level * (deepest + 1))
        return min(leaf, *levels) if levels else leaf

    def within(self, depth: int, leaves: int) -> tuple[int, int]:
        """The limits of depth and leaves (−1: any), with as many leaves as there are objects at
        most.
        """
        return depth, min(leaves, max(1, len(self.has)))

    def value(self, cost: Fraction | float) -> float:
        """The objective's value of a cost as the log counts it."""
        return float(self.costs.base + cost * self.costs.unit)

    def cost_of(self, tree: Tree) -> Fraction:
        """The tree's cost as the log counts it: its answers for the raw rows, its leaves, and its
        tests for the rows that reach them.

        Raises VerificationError where its objective, in floating point, says something else, or
        where it asks what has no price.
        """
        objects, costs = self.problem.objects, self.costs
        answer = tree.predict(objects.table)[objects.row_of_object]
        lost = int(costs.scaled[np.arange(len(answer)), answer].sum())
        cost = (
            Fraction(lost, costs.scale)
            - costs.base / costs.unit
            + costs.p * int(tree.is_end.sum())
            + costs.per_level * int(tree.depth_of.max())
            + self._test_cost(tree)
        )
        said = float(sure(self.problem.parts.objective).value(tree, self.problem))
        if not abs(said - self.value_of(tree, cost)) <= PRECISION * max(1.0, abs(said)):
            raise VerificationError(
                f"the tree's value is {self.value_of(tree, cost)!r} exactly, but its objective "
                f"says {said!r}"
            )
        return cost

    def value_of(self, tree: Tree, cost: Fraction | float) -> float:
        """The objective's value of a tree of this cost; more than the cost is worth where costs
        were rounded down.
        """
        if not self.costs.rounded:
            return self.value(cost)
        objects = self.problem.objects
        answer = tree.predict(objects.table)[objects.row_of_object]
        loss = self.costs.exact_loss(self.problem, answer)
        lam = rational(cast(WeightedErrors, self.problem.parts.objective).lam)
        return float(loss + lam * int(tree.is_end.sum()))

    def _test_cost(self, tree: Tree) -> int:
        """What the tests of a tree cost, as the log counts it: price times the mass that reaches
        them.  Raises VerificationError for a test that is none of the table.
        """
        objects, costs = self.problem.objects, self.costs
        if not costs.price.any():
            return 0
        of_rule = tests_of_rules(objects)
        raw = {
            feature.column: g
            for g, feature in enumerate(objects.raw_features, self.columns.n_fixed)
        }
        # an object of each that are merged
        one_of = np.unique(self.columns.group, return_index=True)[1]
        mass, test_cost = np.zeros(tree.n_nodes + 1, np.int64), 0
        np.add.at(mass, tree.apply(objects.table)[objects.row_of_object[one_of]] + 1, costs.mass)
        before = mass.cumsum()
        for node in tree.inner.tolist():
            rule = tree.rule(node)
            test = of_rule.get(rule_key(rule), raw.get(next(iter(rule.columns), ""), -1))
            if test < 0:
                raise VerificationError(
                    f"node {node} of the tree asks what is no test of the table, and has no price"
                )
            test_cost += int(costs.price[test]) * int(before[tree.subtree_end[node]] - before[node])
        return test_cost
