"""Does a bound of an objective of sums by leaf follow from the bounds before it?  By sums over
tests and pairs of tests, and by what the objective declares.

Write c(S) for what ``leaf`` says of the sums of S, p for λ times the unit of costs, OPT(S, d) for
the least Σ c + p · leaves of a tree on S with at most d tests on a path.  What is relied on:

1. *Division.*  OPT(S, d) is c(S) + p, or the least sum, over the tests, of what both sides cost
   with d − 1.  A set of n objects has no more than n − 1 tests on a path.
2. *Two levels.*  OPT(S, 1) and OPT(S, 2) are counted, over tests and pairs of tests.
3. *Unions*, where the objective declares ``superadditive``: c(S ∪ T) ≥ c(S) + c(T).  So a tree of
   k leaves costs at least k p + Σ c of the objects, each alone, and one of more than d tests on a
   path has d + 2 leaves or more; and OPT(T, d) is at least OPT(S, d) + Σ c of the objects of T that
   are not in S, for S a part of T (without a least size of leaves: a part of a leaf need not be a
   leaf).

The declaration cannot be proven.  It is tried on every division that is counted: a test whose sides
cost more than their union refutes it, and the log.  Sums are exact in two words, and ``leaf`` is
asked of the floats next to them.  Its costs are floats: a bound may exceed what is counted by
``rounding``, 1e-10 of what all objects cost apart and together; where unions are relied on, and
twice what ``leaf`` makes of sums that are off by some units in the last place (2⁻⁵⁰), of the
objects apart and of all together: so much its own rounding is taken to do.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from arboretum.errors import VerificationError, sure
from arboretum.interfaces.method import Problem
from arboretum.interfaces.sums import leaf_costs, unit_of
from arboretum.model.real_numbers import real_numbers
from arboretum.model.tree import Tree
from arboretum.proof.format import NO_LIMITS, NO_PATH, Proof
from arboretum.proof.ground import Columns, ProofRules

ROUNDING = 1e-10
"""Share of what all objects cost apart and together: the bound shown of the root is so much less
than what is counted.
"""
MOVED = 2.0**-50
"""By this share a sum is moved to see what rounding makes of its leaf."""
CELLS = 1 << 14
"""Leaves that are asked at once."""


class Refuted(Exception):
    """Two leaves cost more than one of both, of a set of the log."""


class Sums(ProofRules):
    """Checks records about sets of merged objects, and keeps them.

    has : uint8[objects, columns], by column.
    literals : of each test of the log, int64[2], as in :class:`arboretum.proof.ground.Columns`.
    own, moments : float64[problem's objects, c], float64[objects, c], in columns: k moments to
        multiples of a power of two; what that leaves of those in ``low``; the number of rows.
    alone : float64[objects], what each costs as a leaf of its own, 0 where nothing is declared.
    known : members of a set → the bounds shown of it, by depth; −1: any.
    """

    def __init__(self, problem: Problem, tests: Sequence[int | list[int]]) -> None:
        """Raises what :class:`Columns` and ``moments`` raise, VerificationError for moments that
        are no finite numbers.
        """
        objects, objective = problem.objects, problem.parts.objective
        columns = Columns.of(objects)
        self.problem, self.objective, self.has = problem, objective, columns.has
        self.literals = [columns.literals(test) for test in tests]
        said: Any = objective
        moments = real_numbers(said.moments(objects), f"objective {said.name}: moments")
        if len(moments) != objects.n_objects or not np.isfinite(moments).all():
            raise VerificationError(f"moments of objective={said.name} are no finite numbers")
        self.k, whole = moments.shape[1], exact(moments)
        self.low = np.flatnonzero((whole != moments).any(axis=0))
        left = exact((moments - whole)[:, self.low])
        self.own = np.column_stack([whole, left, objects.count])
        self.moments = np.zeros((len(self.has), self.own.shape[1]))
        np.add.at(self.moments, columns.group, self.own)
        self.unit = unit_of(said, objects)
        self.p = float(getattr(objective, "lam", 0.0)) * self.unit
        self.least = max(1, problem.parts.limits().min_leaf)
        alone = self.costs(self.moments)
        self.declared = bool(getattr(objective, "superadditive", False))
        self.bounds = self.declared and bool(np.isfinite(alone).all())
        self.alone = alone if self.bounds else np.zeros(len(alone))
        everything = self.costs(self.moments.sum(axis=0))
        sizes = float(np.abs(alone[np.isfinite(alone)]).sum())
        self.rounding = ROUNDING * (sizes + float(np.abs(np.nan_to_num(everything, posinf=0.0))))
        if self.bounds:
            off = self._own_rounding(self.moments) + self._own_rounding(self.moments.sum(axis=0))
            self.rounding += 2 * off
        self.known: dict[bytes, dict[int, float]] = {}
        self._root: dict[int, float] = {}

    def costs(self, sums: np.ndarray) -> np.ndarray:
        """c of sets, float64[…], by their sums, float64[…, c].  Raises VerificationError for
        NaN, where there are rows.
        """
        said: Any = self.objective
        found = self._asked(self._floats(sums))
        if (np.isnan(found) & (sums[..., -1] > 0.5)).any():
            raise VerificationError(f"leaf of objective={said.name} costs NaN for some of the sets")
        return np.where(sums[..., -1] > 0.5, found, 0.0)

    def _floats(self, sums: np.ndarray) -> np.ndarray:
        """The floats next to exact sums: float64[…, k]."""
        if not len(self.low):
            return sums[..., : self.k]
        found = np.array(sums[..., : self.k], order="K")
        found[..., self.low] += sums[..., self.k : -1]
        return found

    def _asked(self, floats: np.ndarray) -> np.ndarray:
        said: Any = self.objective
        return leaf_costs(said, floats)

    def _own_rounding(self, sums: np.ndarray) -> float:
        """What ``leaf`` may be off for sets of these sums, together, by sums that are moved."""
        floats, found = self._floats(sums), 0.0
        costs = self._asked(floats)
        for column in range(self.k):
            off = np.zeros(costs.shape)
            for factor in (1 - MOVED, 1 + MOVED):
                there = floats.copy()
                there[..., column] *= factor
                changed = np.abs(self._asked(there) - costs)
                off = np.maximum(off, np.where(np.isfinite(changed), changed, 0.0))
            found += float(off.sum())
        return found

    def refusals(self, proof: Proof, report: Callable[[int], None]) -> Iterator[tuple[int, str]]:
        """As of :class:`arboretum.proof.additive.Additive`."""
        for number, record in enumerate(proof.records()):
            report(number)
            mask = self._mask(record.path)
            if mask is None:
                yield number, NO_PATH
                continue
            if record.leaves != -1 or record.depth < -1 or not mask.any():
                yield number, NO_LIMITS
                continue
            try:
                shown = self.shown(mask, record.depth)
            except Refuted as refuted:
                yield number, str(refuted)
                continue
            if not record.bound <= shown + self.rounding:
                yield number, f"trees may cost {shown:.12g} for all that is known"
                continue
            self._learn(mask, record.depth, min(record.bound, shown))

    def _mask(self, path: np.ndarray) -> np.ndarray | None:
        """bool[objects], those of a path; None where it names what there is not."""
        mask = np.ones(len(self.has), np.bool_)
        for test, outcome in path.tolist():
            if not (0 <= test < len(self.literals) and outcome in (0, 1)):
                return None
            literal = int(self.literals[test][outcome])
            column, side = literal >> 1, literal & 1
            has = self.has[:, column] if column < self.has.shape[1] else np.zeros(len(mask))
            mask &= has == side
        return mask

    def _depth(self, mask_size: int, depth: int) -> int:
        """A limit of depth, −1 where it is none for so many objects."""
        return -1 if depth < 0 or depth >= mask_size - 1 else depth

    def _learn(self, mask: np.ndarray, depth: int, bound: float) -> None:
        depth = self._depth(int(mask.sum()), depth)
        bounds = self.known.setdefault(np.packbits(mask).tobytes(), {})
        bounds[depth] = max(bound, bounds.get(depth, -np.inf))

    def _known_of(self, members: bytes, size: int, alone: float, depth: int) -> float:
        """The best bound that records have of a set, −∞ without one.

        size : its objects; alone : what they cost apart.
        """
        depth, found = self._depth(size, depth), -np.inf
        for most, bound in self.known.get(members, {}).items():
            if 0 <= most < depth or depth < 0 <= most:  # a deeper tree has as many leaves at least
                bound = min(bound, (most + 2) * self.p + alone) if self.bounds else -np.inf
            found = max(found, bound)
        return found

    def shown(self, mask: np.ndarray, depth: int) -> float:
        """What trees of a set cost at least, by counting and by the records of its sides.  Raises
        Refuted.

        mask : bool[objects].   depth : −1: any.
        """
        rows = np.flatnonzero(mask)
        mine, alone = self.moments[mask], float(self.alone[mask].sum())
        own = self._known_of(np.packbits(mask).tobytes(), len(rows), alone, depth)
        whole, few = mine.sum(axis=0), len(rows) - 1
        leaf = float(self._leaves(whole))
        depth = few if depth < 0 else min(depth, few)
        has = divisions(self.has[mask])
        inside = has.T @ mine
        sums = np.stack([whole - inside, inside])  # [side, tests, c]
        if self.declared:
            self._try_superadditive(sums, whole)
        kept = (sums[..., -1] > self.least - 0.5).all(axis=0)
        has, sums = has[:, kept], sums[:, kept]
        if depth == 0 or not has.shape[1]:
            return max(own, leaf)
        one = self._leaves(sums)
        if depth == 1:
            return max(own, min(leaf, float(one.sum(axis=0).min())))
        low = self._two(has, mine, sums, one)
        if depth > 2:
            low = self._sides(rows, has, low, depth - 1)
        return max(own, min(leaf, float(low.sum(axis=0).min())))

    def _leaves(self, sums: np.ndarray) -> np.ndarray:
        """What leaves of these sums cost, ∞ where rows are few."""
        return np.where(sums[..., -1] > self.least - 0.5, self.costs(sums) + self.p, np.inf)

    def _try_superadditive(self, sums: np.ndarray, whole: np.ndarray) -> None:
        """Raise Refuted where two sides cost more than their union."""
        with np.errstate(invalid="ignore"):
            more = self.costs(sums).sum(axis=0) - self.costs(whole)
        if (more > self.rounding).any():
            raise Refuted(
                f"objective={sure(self.objective).name} declares superadditive = True, "
                f"and two sides of a test cost {more.max():g} more than a leaf of both"
            )

    def _two(
        self, has: np.ndarray, mine: np.ndarray, sums: np.ndarray, one: np.ndarray
    ) -> np.ndarray:
        """float64[2, tests], the best of one and two leaves on each side."""
        found, tests, k = one.copy(), has.shape[1], mine.shape[1]
        weighted = [has * mine[:, [c]] for c in range(k)]
        parts = np.ascontiguousarray(sums[1].T)  # a moment in a row, as a leaf reads them
        for first in range(0, tests, step := max(1, CELLS // (4 * tests))):
            some = slice(first, min(tests, first + step))
            both = np.stack([one[:, some].T @ has[:, first:] for one in weighted])
            left, right = parts[:, some, None], parts[:, None, first:]
            whole = mine.sum(axis=0)[:, None, None]
            a, b, c, d = (
                self._leaves(np.moveaxis(cells, 0, -1))
                for cells in (both, left - both, right - both, whole - left - right + both)
            )
            behind = slice(first, tests)
            for side, rows, columns in ((1, a + b, a + c), (0, c + d, b + d)):
                found[side, some] = np.minimum(found[side, some], rows.min(axis=1))
                found[side, behind] = np.minimum(found[side, behind], columns.min(axis=0))
        return found

    def _sides(self, rows: np.ndarray, has: np.ndarray, two: np.ndarray, depth: int) -> np.ndarray:
        """float64[2, tests], what trees of the sides cost at least.

        rows : int64, the objects of the set; has : float64[rows, tests]; depth : of the sides.
        """
        tests, low = has.shape[1], two.copy()
        members = np.concatenate([has == 0, has == 1], axis=1).T  # [side · test, rows]
        sizes, alone = members.sum(axis=1), members @ self.alone[rows]
        packed = np.zeros((2 * tests, len(self.moments)), np.bool_)
        packed[:, rows] = members
        words, flat = np.packbits(packed, axis=1), low.reshape(-1)
        for at in np.flatnonzero(sizes > 2).tolist():  # of two objects all trees are counted
            floor = 3 * self.p + alone[at] if self.bounds else -np.inf
            known = self._known_of(words[at].tobytes(), int(sizes[at]), alone[at], depth)
            flat[at] = max(known, min(flat[at], floor))
        if self.bounds and self.least <= 1:
            mine = members.astype(np.float32)
            part = mine @ (1 - mine).T == 0  # [of, in]
            raised = np.where(part, (flat - alone)[:, None], -np.inf).max(axis=0) + alone
            flat[:] = np.maximum(flat, raised)
        return flat.reshape(2, tests)

    def root_bound(self, limits: tuple[int, int]) -> float:
        """The bound that follows for all objects, less ``rounding``; ``limits`` are depth and
        leaves of the trees.
        """
        depth = limits[0]
        if depth not in self._root:
            try:
                shown = self.shown(np.ones(len(self.has), np.bool_), depth)
                shown -= self.rounding
                self._root[depth] = max(shown, -sys.float_info.max)  # a number, as a log has it
            except Refuted as refuted:
                raise VerificationError(str(refuted)) from None
        return self._root[depth]

    @property
    def slack(self) -> float:
        """Relative: what rounding may take from the bound of the root."""
        depth = self.problem.parts.limits().max_depth
        shown = self.root_bound((-1 if depth is None else depth, -1))
        return float(max(1e-12, self.rounding / max(abs(shown), self.rounding or 1.0)))

    def value(self, bound: Fraction | float) -> float:
        """As the objective is reported."""
        return float(bound) / self.unit

    def cost_of(self, tree: Tree) -> float:
        """What a tree costs, from where the objects come to rest.  Raises VerificationError where
        its objective says something else.
        """
        objects = self.problem.objects
        at = tree.apply(objects.table)[objects.row_of_object]
        sums = np.zeros((tree.n_nodes, self.moments.shape[1]))
        np.add.at(sums, at, self.own)
        cost = float(self.costs(sums).sum()) + self.p * int(tree.is_end.sum())
        said = float(sure(self.objective).value(tree, self.problem)) * self.unit
        if not abs(said - cost) <= self.rounding + 1e-9 * abs(said):
            raise VerificationError(f"the tree costs {cost!r}, but its objective says {said!r}")
        return cost

    @property
    def assumed(self) -> str:
        """What is declared and not shown, as an accepted proof says it; "" where it is nothing."""
        if not self.declared:
            return ""
        return (
            "two leaves cost no more than one of both, as the objective declares "
            "(superadditive); no division that was counted refutes it"
        )


def exact(numbers: np.ndarray) -> np.ndarray:
    """Round float64[objects, k] to multiples of a power of two, one for each of the k, that any sum
    is exact for.
    """
    total = np.abs(numbers).sum(axis=0)
    unit = np.exp2(np.ceil(np.log2(np.where(total > 0, total, 1.0))) - 52)
    unit = np.maximum(unit, np.finfo(float).smallest_subnormal)
    return np.asarray(np.rint(numbers / unit) * unit)


def divisions(has: np.ndarray) -> np.ndarray:
    """float64[objects, tests], the columns that divide the objects, each division once.

    has : uint8[objects, columns].
    """
    turned = np.ascontiguousarray((has ^ has[:1]).T)
    keys = np.packbits(turned, axis=1)
    keys = np.ascontiguousarray(keys).view(f"V{max(1, keys.shape[1])}").ravel()
    first = np.unique(keys, return_index=True)[1] if len(keys) else np.zeros(0, np.int64)
    first = np.sort(first[turned[first].any(axis=1)])
    return turned[first].T.astype(np.float64)
