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

from collections.abc import Callable, Collection, Iterator, Sequence

import attrs
import numpy as np

from arboretum.errors import CapabilityError, VerificationError, sure
from arboretum.interfaces.method import Problem
from arboretum.interfaces.objective import Shape, shape_of
from arboretum.model.encoded import Family
from arboretum.model.tree import Tree
from arboretum.proof.format import NO_PATH, Proof
from arboretum.proof.ground import ProofRules, outcomes

EPS = float(np.finfo(np.float64).eps)
FEW, MORE = 1024, 4
"""Cuts of a column by which bounds are counted at first, and how many times more where they do not
suffice.
"""


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


class Grid:
    """Strips between some of the cuts that the log lists, of all columns.

    planes, whole, lam : of :class:`Deviations`.   kept : about how many cuts of a column.
    """

    def __init__(
        self, planes: np.ndarray, columns: list[Column], whole: float, lam: float, kept: int
    ) -> None:
        self.planes, self.columns, self.all, self.lam = planes, columns, whole, lam
        cuts = [column.cuts[:: max(1, -(-len(column.cuts) // max(1, kept)))] for column in columns]
        self.first = np.cumsum([0, *(len(some) + 1 for some in cuts)])
        self.strip_of = np.empty((planes.shape[1], len(columns)), np.int64)
        for g, (column, some) in enumerate(zip(columns, cuts, strict=True)):
            ends = np.concatenate([column.upto[some], column.upto[-1:]])
            self.strip_of[column.order, g] = self.first[g] + np.repeat(
                np.arange(len(ends)), np.diff(ends, prepend=0)
            )
        self.holds = np.concatenate(
            [column.holds(some) for column, some in zip(columns, cuts, strict=True)]
        )
        self.last = np.zeros(int(self.first[-1]), np.bool_)  # no cut is behind it
        self.last[self.first[1:] - 1] = True

    def sides(self, wanted: Collection[int]) -> Iterator[tuple[int, list[float]]]:
        """What trees of one test cost at least on both sides of some tests of the log."""
        everything = self.sums(np.arange(self.planes.shape[1]))
        for column in self.columns:
            below, start = np.zeros_like(everything), 0
            for cut, test in zip(column.cuts.tolist(), column.test.tolist(), strict=True):
                if test in wanted:
                    end = int(column.upto[cut])
                    below += self.sums(column.order[start:end])
                    start = end
                    yield test, [self.least(below), self.least(everything - below)]

    def sums(self, rows: np.ndarray) -> np.ndarray:
        """float64[3, strips], of some objects, strips of all columns one after another."""
        place, n = self.strip_of[rows].ravel(), len(self.columns)
        return np.array(
            [
                np.bincount(place, np.repeat(plane[rows], n), int(self.first[-1]))
                for plane in self.planes
            ]
        )

    def least(self, sums: np.ndarray) -> float:
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


class Deviations(ProofRules):
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
        if shape_of(objective) is not Shape.squares:
            raise CapabilityError("proofs of deviations know objective=squared_error")
        self.problem, self.lam = problem, float(objective.lam)  # type: ignore[union-attr]
        w, y = objects.weight, objects.y
        for _ in range(2):  # the mean of large numbers that differ little rounds by much
            y = y - np.average(y, weights=w)
        if np.ptp(objects.y) == 0.0:  # their mean rounds, and nothing deviates from it
            y = np.zeros_like(y)
        self.planes = np.array([w, w * y, w * y * y])
        self.all = float(self.planes[2].sum())
        far = 2 * float(np.abs(y).max()) * float(np.abs(self.planes[1]).sum())
        self.rounding = 8 * EPS * (len(y) + 8) * (1 + far / self.all) if self.all else 0.0
        self.columns = self._columns(tests)
        self.known: dict[tuple[int, int], float] = {}

    def _columns(self, tests: Sequence[int | list[int]]) -> list[Column]:
        """The columns of the problem, with the cuts that the log lists: those of thresholds, each
        other fixed test, which has two ranks, and raw ones.
        """
        objects, place, raw = self.problem.objects, dict[int, tuple[int, int]](), dict[int, int]()
        ranks: list[np.ndarray] = []
        fixed = outcomes(objects)
        for f, feature in enumerate(objects.features):
            first, end = objects.test_offset[f : f + 2].tolist()
            if feature.family is Family.thresholds:
                place |= {test: (len(ranks), test - first) for test in range(first, end)}
                ranks.append(objects.codes[:, f].astype(np.int64))
                continue
            for test in range(first, end):
                place[test] = len(ranks), 0
                ranks.append(fixed[test].astype(np.int64))
        for g, values in enumerate(objects.raw.T):
            raw[objects.n_fixed + g] = len(ranks)
            ranks.append(np.unique(values, return_inverse=True)[1])
        listed: list[list[tuple[int, int]]] = [[] for _ in ranks]
        most = [max(1, int(rank.max(initial=0))) for rank in ranks]
        for number, name in enumerate(tests):
            column, cut = (
                place.get(name, (-1, 0))
                if isinstance(name, int)
                else (raw.get(name[0], -1), name[1])
            )
            if column < 0 or not 0 <= cut < most[column]:
                raise VerificationError(f"the proof names a test that the table has not: {name}")
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
        claims: dict[int, list[float]] = {}
        for record in proof.records():
            if len(record.path) == 1 and record.path[0, 1] in (0, 1):
                test, side = record.path[0].tolist()
                claims.setdefault(test, [0.0, 0.0])
                claims[test][side] = max(claims[test][side], record.bound)
        low = self._low_of(claims, lambda share: report(int(share * proof.n_records)))
        for number, record in enumerate(proof.records()):
            path = record.path.tolist()
            if len(path) != 1 or record.depth not in (0, 1) or record.leaves != -1:
                yield number, "records of deviations are of one side of one test, within depth 1"
            elif path[0][0] not in low or path[0][1] not in (0, 1):
                yield number, NO_PATH
            elif not record.bound <= (shown := low[path[0][0]][path[0][1]]) + self.rounding:
                yield number, f"trees of one test may cost {shown:.12g} for all that is known"
            else:
                test, side = path[0]
                self.known[test, side] = max(self.known.get((test, side), 0.0), record.bound)

    def _low_of(
        self, claims: dict[int, list[float]], report: Callable[[float], None]
    ) -> dict[int, list[float]]:
        """What both sides of tests of the log cost at least, by as few cuts as show what is claimed
        of them, or by all.
        """
        low, known = dict[int, list[float]](), {int(t) for c in self.columns for t in c.test}
        wanted, most = known & set(claims), max((len(c.cuts) for c in self.columns), default=0)
        kept = FEW
        while wanted:
            grid = Grid(self.planes, self.columns, self.all, self.lam, kept)
            for test, bounds in grid.sides(wanted):
                low[test] = bounds
                report(len(low) / len(claims))
            if kept >= most:
                break
            wanted = {
                test
                for test in wanted
                if any(c > b + self.rounding for c, b in zip(claims[test], low[test], strict=True))
            }
            kept *= MORE
        return low

    def root_bound(self, limits: tuple[int, int]) -> float:
        """The bound that follows for all objects; ``limits`` are depth and leaves of the trees."""
        if not self.all:
            return self.lam
        leaf, depth = 1.0 + self.lam, limits[0]
        if depth == 0 or limits[1] == 1:
            return leaf
        if depth == 1:
            most = max(len(column.cuts) for column in self.columns)
            grid = Grid(self.planes, self.columns, self.all, self.lam, most)
            return grid.least(grid.sums(np.arange(self.planes.shape[1])))
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

    def cost_of(self, tree: Tree) -> float:
        """The objective of a tree, from where the objects come to rest.  Raises VerificationError
        where its objective says something else, or its answers are no means.
        """
        objects, (w, _, _) = self.problem.objects, self.planes
        at = tree.apply(objects.table)[objects.row_of_object]
        sums = np.zeros((tree.n_nodes, 3))
        np.add.at(sums, at, self.planes.T)
        mass, total, squares = sums[sums[:, 0] > 0].T
        left = float((squares - total**2 / mass).sum())
        off = objects.y - tree.predict(objects.table)[objects.row_of_object]
        # an answer is off its mean by what rounding a sum of targets may take
        answer = (len(w) + 8) * EPS * float(np.abs(objects.y).max())
        room = self.rounding * self.all + float(w.sum()) * answer**2
        if not float(w @ off**2) <= left + room:
            raise VerificationError("the tree's answers are not the means of its leaves")
        cost = (left / self.all if self.all else 0.0) + self.lam * int(tree.is_end.sum())
        said = float(sure(self.problem.parts.objective).value(tree, self.problem))
        if not abs(said - cost) <= self.rounding + 1e-9 * abs(said):
            raise VerificationError(
                f"the tree's value is {cost!r}, but its objective says {said!r}"
            )
        return cost
