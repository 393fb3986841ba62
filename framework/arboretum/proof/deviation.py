"""Does a bound of squared errors within two levels follow?  By sums over the rows between
thresholds.

Write D(S) for Σ w (y − mean)² of a set S, as a share of that of all objects.  What is relied on:

1. *Parts.*  D(S) ≥ D(T) + D(U) for disjoint parts T, U of S, and so D(S) ≥ D(T).
2. *Strips.*  A threshold between two cuts of a column divides S into sets that have what is below
   the lower cut, and what is above the upper one.  So, by 1, the trees of one test on S deviate at
   least D(below c) + D(above c) for some cut c, or D(below) + D(above) of some strip between two
   neighbouring cuts that holds a threshold.  All cuts that the log lists are taken.
3. *Two levels.*  A tree whose first test is cut c costs what records show of both of its sides; one
   whose first test lies in a strip at least what they show of the side below its lower cut and of
   that above its upper cut, by 1, for trees of one test, too.

A record is about one side of one test, and trees of at most one test.  Stricter leaf rules only
raise what trees cost.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import attrs
import numpy as np

from arboretum.errors import CapabilityError, VerificationError, sure
from arboretum.interfaces.method import Problem
from arboretum.model.encoded import Family
from arboretum.model.tree import Tree
from arboretum.proof.format import NO_PATH, Proof
from arboretum.proof.ground import outcomes

EPS = float(np.finfo(np.float64).eps)


@attrs.frozen(eq=False)
class Column:
    """A column of ranks.

    order : int[n], objects by rank.   upto : int64[ranks], objects with at most so high a rank.
    cuts : int64[cuts], ascending, those that the log lists and that divide anything.
    test : int64[cuts], its numbers.
    """

    order: np.ndarray
    upto: np.ndarray
    cuts: np.ndarray
    test: np.ndarray

    def holds(self, cuts: np.ndarray) -> np.ndarray:
        """bool[cuts + 1]: whether the strip before each cut, and behind the last, holds a
        threshold.
        """
        found: np.ndarray = np.diff(cuts, prepend=-1, append=len(self.upto) - 1) > 1
        return found


class Deviations:
    """Checks records about sides of tests, and keeps them.

    planes : float64[3, n], w, w y and w y² of each object, y less its mean.
    rounding : what that of sums may take from a bound, as a share.
    known : (test of the log, outcome) → the bound shown of it.
    """

    def __init__(self, problem: Problem, tests: Sequence[int | list[int]]) -> None:
        """Raises CapabilityError for another objective, VerificationError for tests that the
        problem has not.

        tests : of the log.
        """
        objects, objective = problem.objects, problem.parts.objective
        if getattr(objective, "name", "") != "squared_error":
            raise CapabilityError("proofs of deviations know objective=squared_error")
        self.problem, self.lam = problem, float(objective.lam)  # type: ignore[union-attr]
        w, y = objects.weight, objects.y - np.average(objects.y, weights=objects.weight)
        self.planes = np.array([w, w * y, w * y * y])
        self.all = float(self.planes[2].sum())
        far = 2 * float(np.abs(y).max()) * float(np.abs(self.planes[1]).sum())
        self.rounding = 8 * EPS * (len(y) + 8) * (1 + far / self.all) if self.all else 0.0
        self.columns, self.n_tests = self._columns(tests), len(tests)
        strips = [len(column.cuts) + 1 for column in self.columns]
        self.first = np.concatenate([[0], np.cumsum(strips)]).astype(np.int64)
        self.strip_of = np.empty((len(y), len(self.columns)), np.int64)
        for g, column in enumerate(self.columns):
            ends = np.concatenate([column.upto[column.cuts], [len(y)]])
            self.strip_of[column.order, g] = self.first[g] + np.repeat(
                np.arange(len(ends)), np.diff(ends, prepend=0)
            )
        self.holds = np.concatenate([column.holds(column.cuts) for column in self.columns])
        self.last = np.zeros(int(self.first[-1]), np.bool_)  # no cut is behind it
        self.last[self.first[1:] - 1] = True
        self.known: dict[tuple[int, int], float] = {}

    def _columns(self, tests: Sequence[int | list[int]]) -> list[Column]:
        """The columns of the problem, with the cuts that the log lists: those of thresholds, each
        other fixed test, which has two ranks, and raw ones.
        """
        objects, place = self.problem.objects, dict[str, tuple[int, int]]()
        ranks: list[np.ndarray] = []
        fixed = outcomes(objects)
        for f, feature in enumerate(objects.features):
            first, end = objects.test_offset[f : f + 2].tolist()
            if feature.family is Family.thresholds:
                place |= {str(test): (len(ranks), test - first) for test in range(first, end)}
                ranks.append(objects.codes[:, f].astype(np.int64))
                continue
            for test in range(first, end):
                place[str(test)] = len(ranks), 0
                ranks.append(fixed[test].astype(np.int64))
        for g, values in enumerate(objects.raw.T):
            rank = np.unique(values, return_inverse=True)[1]
            place |= {str([objects.n_fixed + g, k]): (len(ranks), k) for k in range(rank.max())}
            ranks.append(rank)
        listed: list[list[tuple[int, int]]] = [[] for _ in ranks]
        for number, name in enumerate(map(str, tests)):
            if name not in place:
                raise VerificationError(f"the proof names a test that the table has not: {name}")
            column, cut = place[name]
            listed[column].append((cut, number))
        found = []
        for rank, numbers in zip(ranks, listed, strict=True):
            kept, dense = np.unique(rank, return_inverse=True)
            cuts, of_log = np.array(sorted(numbers), np.int64).reshape(-1, 2).T
            cuts = np.searchsorted(kept, cuts, side="right") - 1
            divides = (cuts >= 0) & (cuts < len(kept) - 1)
            upto = np.cumsum(np.bincount(dense))
            order = np.argsort(dense, kind="stable")
            found.append(Column(order, upto, cuts[divides], of_log[divides]))
        return found

    def refusals(self, proof: Proof, report: Callable[[int], None]) -> Iterator[tuple[int, str]]:
        """As of :class:`arboretum.proof.additive.Additive`."""
        literals: list[tuple[int, int] | None] = []
        for record in proof.records():
            path = record.path.tolist()
            literals.append(tuple(path[0]) if len(path) == 1 else None)
        low = self._low_of(sorted({one[0] for one in literals if one is not None}), report, proof)
        for number, (record, literal) in enumerate(zip(proof.records(), literals, strict=True)):
            if literal is None or record.depth not in (0, 1) or record.leaves != -1:
                yield number, "records of deviations are of one side of one test, within depth 1"
            elif literal[0] not in low or literal[1] not in (0, 1):
                yield number, NO_PATH
            elif not record.bound <= low[literal[0]][literal[1]] + self.rounding:
                shown = low[literal[0]][literal[1]]
                yield number, f"trees of one test may cost {shown:.12g} for all that is known"
            else:
                self.known[literal] = max(self.known.get(literal, 0.0), record.bound)

    def _low_of(
        self, tests: list[int], report: Callable[[int], None], proof: Proof
    ) -> dict[int, tuple[float, float]]:
        """What both sides of tests of the log cost at least."""
        wanted, low = set(tests), dict[int, tuple[float, float]]()
        everything = self._sums(np.arange(self.planes.shape[1]))
        for column in self.columns:
            below, start = np.zeros_like(everything), 0
            for cut, test in zip(column.cuts.tolist(), column.test.tolist(), strict=True):
                if test not in wanted:
                    continue
                end = int(column.upto[cut])
                below += self._sums(column.order[start:end])
                start = end
                low[test] = self._least(below), self._least(everything - below)
                report(proof.n_records * len(low) // len(wanted))
        return low

    def _sums(self, rows: np.ndarray) -> np.ndarray:
        """float64[3, strips], of some objects, strips of all columns one after another."""
        place, n = self.strip_of[rows].ravel(), len(self.columns)
        return np.array(
            [
                np.bincount(place, np.repeat(plane[rows], n), int(self.first[-1]))
                for plane in self.planes
            ]
        )

    def _least(self, sums: np.ndarray) -> float:
        """What trees of at most one test cost at least on a set, from its sums (rule 2)."""
        total = sums[:, : self.first[1]].sum(axis=1, keepdims=True)
        upto = np.cumsum(sums, axis=1)
        before = np.concatenate([np.zeros((3, 1)), upto[:, self.first[1:-1] - 1]], axis=1)
        upto -= np.repeat(before, np.diff(self.first), axis=1)
        above = self._deviation(total - upto)
        at_cut = (self._deviation(upto) + above)[~self.last].min(initial=np.inf)
        inside = (self._deviation(upto - sums) + above)[self.holds].min(initial=np.inf)
        leaf = float(self._deviation(total)[0])
        return min(leaf + self.lam, max(0.0, float(min(at_cut, inside))) + 2 * self.lam)

    def _deviation(self, sums: np.ndarray) -> np.ndarray:
        """D of sets, float64[·], from float64[3, ·]."""
        w, s, q = sums
        some = w > 0.5 * self.planes[0].min()  # what is left of nothing is rounding
        squares = np.divide(s * s, w, out=np.zeros_like(s), where=some)
        found: np.ndarray = np.maximum(np.where(some, q, 0.0) - squares, 0.0) / self.all
        return found

    def root_bound(self, limits: tuple[int, int]) -> float:
        """The bound that follows for all objects; ``limits`` are depth and leaves of the trees."""
        if not self.all:
            return self.lam
        leaf, depth = 1.0 + self.lam, limits[0]
        if depth == 0 or limits[1] == 1:
            return leaf
        if depth == 1:
            return self._least(self._sums(np.arange(self.planes.shape[1])))
        if depth != 2:
            return 0.0
        least = leaf
        for column in self.columns:
            shown = np.array(
                [[self.known.get((test, side), 0.0) for side in (0, 1)] for test in column.test]
            ).reshape(-1, 2)
            recorded = shown.any(axis=1)  # other cuts lie within strips
            nothing = np.full((1, 2), self.lam)  # a leaf
            sides = np.concatenate([nothing, np.maximum(shown[recorded], self.lam), nothing])
            strips = sides[:-1, 0] + sides[1:, 1]
            cuts = sides[1:-1].sum(axis=1)
            holds = column.holds(column.cuts[recorded])
            least = min([least, *cuts.tolist(), *strips[holds].tolist()])
        return float(least)

    @property
    def slack(self) -> float:
        """Relative: what rounding may take from the bound of the root."""
        limit = self.problem.parts.limits().max_depth
        return self.rounding / max(self.root_bound((-1 if limit is None else limit, -1)), EPS)

    def value(self, bound: Fraction | float) -> float:
        """As the objective is reported."""
        return float(bound)

    def value_of(self, tree: Tree, cost: Fraction | float) -> float:
        """The objective's value of a tree of this cost."""
        del tree
        return float(cost)

    def cost_of(self, tree: Tree) -> float:
        """The objective of a tree, from its answers.  Raises VerificationError where its objective
        says something else.
        """
        objects = self.problem.objects
        off = objects.y - tree.predict(objects.table)[objects.row_of_object]
        share = float(objects.weight @ off**2) / self.all if self.all else 0.0
        cost = share + self.lam * int(tree.is_end.sum())
        said = float(sure(self.problem.parts.objective).value(tree, self.problem))
        if not abs(said - cost) <= self.rounding + 1e-9 * abs(said):
            raise VerificationError(
                f"the tree's value is {cost!r}, but its objective says {said!r}"
            )
        return cost
