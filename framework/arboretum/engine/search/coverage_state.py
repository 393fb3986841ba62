"""The run's coverages, at a node and over a whole tree: how much of the way each object has gone,
and what a test would add.

Literal and general: every quantity comes from ``covered``, called for the node and for every set of
objects that is an outcome of some test, or from ``covered_many``, which answers for many sets at
once.  Criteria in kernel form compute theirs from tables instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import attrs
import numpy as np

from arboretum.engine.search.compiled_criterion import check_array
from arboretum.errors import ContractError
from arboretum.interfaces.coverage import Coverage, PreparedCoverage
from arboretum.interfaces.method import Problem
from arboretum.kernels.counting import partition
from arboretum.model import walk
from arboretum.model.encoded import Encoded
from arboretum.model.table import Table
from arboretum.model.tree import Tree

COVERED = 1e-12
"""An f_i that misses 1 by no more counts as 1.  f_i is a ratio of sums over at most some 10⁶
objects, which rounding moves by less; the next value below 1 is 1 − p_min or 1 − 1/φ(X), which is
farther away up to 10⁶ objects.
"""

# by how much rounding may let an f_i fall, or start above 0: a ratio of sums over some 10⁶ objects
# is wrong by less
SLACK = 1e-9

BARELY = math.nextafter(1.0, 0.0)
"""Where not all are covered: one of 10⁵ objects that is still together with one other misses by
less than the rounding of 1.
"""

# objects of outcomes that are looked at together, each as often as it occurs: 2 MB per array
MOST_ROWS = 1 << 18


@attrs.frozen(eq=False)
class CoverageState:
    """The coverages of a run, bound to its objects.

    functions : values with ``covered(objects, rows)``.
    tick : called now and then while much is summed, to tell of progress.
    last : float64[functions, n_objects], 1 − f of each object at the last node on its path that was
        visited; NaN before.
    """

    functions: tuple[PreparedCoverage, ...]
    names: tuple[str, ...]
    objects: Encoded
    last: np.ndarray
    tick: Callable[[], None] = lambda: None

    @staticmethod
    def of(
        coverage: tuple[Coverage, ...], objects: Encoded, tick: Callable[[], None] = lambda: None
    ) -> CoverageState | None:
        """Bind the coverages to the objects (``prepare``, where they have it); None without any.

        tick : as of the class.
        """
        if not coverage:
            return None
        bound = tuple(
            part.prepare(objects) if hasattr(part, "prepare") else part for part in coverage
        )
        names = tuple(getattr(part, "name", None) or type(part).__name__ for part in coverage)
        return CoverageState(
            bound, names, objects, np.full((len(bound), objects.n_objects), np.nan), tick
        )

    def visit(self, rows: np.ndarray) -> np.ndarray:
        """Return ``left(rows)`` of a node, after those above it, and remember it for those below.

        Raises ContractError where an f_i starts above 0 or falls.

        rows : int64, the node's objects.
        """
        start = np.array([0, len(rows)])
        rest = self._uncovered_parts(rows, start)
        if len(rows) == self.objects.n_objects and np.isnan(self.last).all():
            few = rows[:64]
            self._uncovered_parts(few, np.arange(len(few) + 1))  # alone, they must be covered
            self._check_not_above(
                1.0 - rest,
                np.where(rest > 0.0, 0.0, 1.0),
                rows,
                start,
                "must be 0 (or 1) where all objects are together",
            )
        self._check_not_falling(rest, rows, start)
        self.last[:, rows] = rest
        left: np.ndarray = rest.prod(axis=0)
        return left

    def left(self, rows: np.ndarray) -> np.ndarray:
        """Return float64[len(rows)]: Π (1 − f), how far each object is from being covered; 0 where
        it is.

        rows : int64, the node's objects.
        Raises ContractError for another shape, NaN, or a value outside 0 … 1.
        """
        left: np.ndarray = self._uncovered_parts(rows, np.array([0, len(rows)])).prod(axis=0)
        return left

    def _uncovered_parts(self, rows: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return float64[functions, len(rows)]: 1 − f of each function for each set of objects.

        rows : int64, objects of all sets, one set after the other.
        start : int64[sets + 1]; set k is ``rows[start[k]:start[k + 1]]``, none empty.

        Raises ContractError for a value outside 0 … 1, and for an object that is alone and not
        covered.
        """
        left = np.empty((len(self.functions), len(rows)))
        alone = start[:-1][np.diff(start) == 1]
        for k, (name, part) in enumerate(zip(self.names, self.functions, strict=True)):
            found = self._ask_coverage(name, part, rows, start)
            if not ((found >= -COVERED) & (found <= 1 + COVERED)).all():
                raise ContractError(
                    f"coverage {name!r}: covered must lie between 0 and 1; got "
                    f"{found.min():g} … {found.max():g}"
                )
            rest = 1.0 - found
            left[k] = np.where(rest <= COVERED, 0.0, np.minimum(rest, 1.0))
            if left[k, alone].any():
                at = alone[np.argmax(left[k, alone])]
                raise ContractError(
                    f"coverage {name!r}: an object that is alone must be covered, f = 1; object "
                    f"{rows[at]} got {found[at]:.12g}"
                )
        return left

    def _check_not_falling(self, rest: np.ndarray, rows: np.ndarray, start: np.ndarray) -> None:
        """Raise ContractError where f falls on the way down.

        rest : float64[functions, len(rows)], 1 − f of objects below the node that they were last
            visited at.
        rows, start : as in :meth:`_uncovered_parts`.
        """
        self._check_not_above(
            1.0 - self.last[:, rows], 1.0 - rest, rows, start, "must not fall on the way down"
        )

    def _check_not_above(
        self, high: np.ndarray, low: np.ndarray, rows: np.ndarray, start: np.ndarray, rule: str
    ) -> None:
        """Raise ContractError where f above, or at the root, exceeds what it may be: f below, or 0.

        high, low : float64[functions, len(rows)], of which high must not exceed low.
        rows, start : as in :meth:`_uncovered_parts`.
        rule : what is broken, as the message says it.
        """
        off = high - low
        if (off > SLACK).any():  # NaN: not visited before
            k, i = np.unravel_index(np.nanargmax(off), off.shape)
            among = np.diff(start)[np.searchsorted(start, i, side="right") - 1]
            got, above = (
                (low[k, i], f", {high[k, i]:.12g} above")
                if among < self.objects.n_objects
                else (high[k, i], "")
            )
            raise ContractError(
                f"coverage {self.names[k]!r}: covered {rule}; object {rows[i]} got {got:.12g} "
                f"among {among} objects{above}"
            )

    def mean(self, rows: np.ndarray, left: np.ndarray) -> float:
        """Return the weighted mean of f over the objects of a node; 1.0 exactly where all are
        covered.

        rows : int64, the objects.
        left : float64[len(rows)], ``left(rows)``.
        """
        weight = self.objects.weight[rows]
        return min(1.0 - float((weight * left).sum() / weight.sum()), BARELY) if left.any() else 1.0

    def _ask_coverage(
        self, name: str, part: PreparedCoverage, rows: np.ndarray, start: np.ndarray
    ) -> np.ndarray:
        """Return float64[len(rows)]: what one function answers for each set, checked for its form.

        rows, start : as in :meth:`_uncovered_parts`.
        """
        if hasattr(part, "covered_many"):
            return check_array(
                part.covered_many(self.objects, rows, start),
                len(rows),
                f"coverage {name!r}: covered_many",
                "object",
            )
        found, what, covered = np.empty(len(rows)), f"coverage {name!r}: covered", part.covered
        for low, high in itertools.pairwise(start.tolist()):
            found[low:high] = check_array(
                covered(self.objects, rows[low:high]), high - low, what, "object"
            )
        return found

    def gains(
        self,
        rows: np.ndarray,
        before: np.ndarray,
        outcomes: Iterable[np.ndarray],
        n_tests: int,
        n_outcomes: int,
    ) -> np.ndarray:
        """Return float64[n_tests, n_outcomes]: Σ w_i (f_i(child) − f_i(node)) / (1 − f_i(node))
        over the objects of each outcome.

        rows : int64, objects of the node.
        before : float64[len(rows)], ``visit(rows)``.
        outcomes : int32[len(rows)] per test.
        """
        gains = np.zeros((n_tests, n_outcomes))
        waiting, step = iter(outcomes), max(1, MOST_ROWS // len(rows))
        for first in range(0, n_tests, step):
            self._fill_gains(
                rows, before, list(itertools.islice(waiting, step)), gains[first : first + step]
            )
            self.tick()
        return gains

    def _fill_gains(
        self,
        rows: np.ndarray,
        before: np.ndarray,
        outcomes: Sequence[np.ndarray],
        gains: np.ndarray,
    ) -> None:
        """Write the gains of some tests into ``gains``; a set of objects that is an outcome of
        several tests is looked at once.

        rows, before, outcomes : as in :meth:`gains`, which see.
        gains : float64[tests, outcomes], zeros.
        """
        places, number = np.arange(len(rows), dtype=np.int32), dict[bytes, int]()
        start, spare = np.empty(gains.shape[1] + 1, np.int64), np.empty(len(rows), np.int32)
        sets, which = list[np.ndarray](), np.full(gains.shape, -1)
        for t, outcome in enumerate(outcomes):
            order = places.copy()
            partition(order, outcome, start, spare)
            for o, (low, high) in enumerate(itertools.pairwise(start.tolist())):
                if high > low:
                    part = order[low:high]
                    which[t, o] = k = number.setdefault(part.tobytes(), len(sets))
                    if k == len(sets):
                        sets.append(part)
        first = np.cumsum([0, *map(len, sets)])
        at = np.concatenate(sets)
        was, who = before[at], rows[at]
        rest = self._uncovered_parts(who, first)
        self._check_not_falling(rest, who, first)
        share = np.divide(was - rest.prod(axis=0), was, out=np.zeros(len(at)), where=was > 0.0)
        found = np.add.reduceat(self.objects.weight[rows[at]] * share, first[:-1])
        gains[which >= 0] = found[which[which >= 0]]


def covering_cost_of(tree: Tree, problem: Problem, train: Table) -> dict[str, float]:
    """Return the metric ``covering_cost`` of a run with coverages; nothing without any."""
    objects = problem.objects
    coverage_state = CoverageState.of(problem.parts.coverage, objects)
    if coverage_state is None:
        return {}
    from arboretum.measure import covering_cost

    _, row = np.unique(objects.object_of_row, return_index=True)  # rows of an object are alike
    places = walk.places(tree, train.take(row))
    # the shares of an object go several ways, so that what is true of one need not be of the next
    left = coverage_state.left if len(places.row) else coverage_state.visit
    return {"covering_cost": covering_cost(tree, places.all(), objects.weight, left)}
