"""Losses of false positives and false negatives, bounded by additive costs.

Trees of H leaves with R(d) = loss + λ · leaves below some R lie below a step function of FP, where
loss(FP, FN) < R − λ H.  If the least a · FP + b · FN + p · leaves of all trees is known, no tree
lies where it would cost less.  Several such lines, each about as the loss falls where the others
leave most room, leave little or nothing of these regions.
"""

import itertools
import math
from typing import Any, ClassVar, NamedTuple

import attrs
import numpy as np

from arboretum.api import monotone_losses, real_numbers
from arboretum_gosdt.all_trees.few_leaves import most_leaves_listed, shapes_of_few_leaves
from arboretum_gosdt.problem.prepared import SMALL

PARTS, FEWEST = 1000, 30
"""The weights of a line are rounded to so many parts of the greater: what they bound stays true.
Fewer, but so many, where half a lane then holds all.
"""
CELLS, STRIDE = 6_000, 16
"""Steps of all step functions together, at most; false positives within a step count as its end."""
NEAR = 1e-4
"""Of a class: how far a loss is followed to see how fast it grows."""
TRIED = 200
"""Numbers of false positives, and of false negatives, at which it is tried that a loss is
monotone.
"""
PATIENT, BETTER = 3, 0.9
"""Lines are added as long as so many of them take a tenth off the room that is left."""
ENOUGH = 0.25
"""Of a leaf's price: where trees have less room than that, going through them takes no longer than
a line (fourclass: 0.1 takes 1.4 times as long, 0.35 2.4 times).
"""
MOST = 1 << 58
"""All costs together stay below, so that products with small numbers fit into 62 bits."""
ROUNDING = 1e-9
"""Of values of about 1: a tree is better by more."""


class Room(NamedTuple):
    """What a searched cost leaves to trees whose value is below some value; negative: no such tree
    exists.

    budget : the most that such a tree can cost by ``cost``.
    leaves : (budget − least cost) / p, in prices of a leaf.
    """

    cost: Any
    budget: int
    leaves: float


@attrs.frozen
class Line:
    """a · FP + b · FN + p · leaves.   of_class : int64[objects, 2], weights."""

    of_class: np.ndarray = attrs.field(repr=False, eq=False)
    a: int
    b: int
    p: int
    q: int = 1
    constant: ClassVar[int] = 0

    @property
    def name(self) -> tuple[int, int, int]:
        """As a proof names it."""
        return self.a, self.b, self.p

    @property
    def cost(self) -> np.ndarray:
        """int64[objects, 2], what an object costs by its answer."""
        return np.stack([self.b * self.of_class[:, 1], self.a * self.of_class[:, 0]], axis=1)


@attrs.frozen(eq=False)
class StepRegion:
    """Where trees lie that are below a value.

    leaves : int64[counts, 1].
    fp, end : int64[steps], a step's least and greatest FP.
    fn : int64[counts, steps], the most FN at ``fp``; −1: none.
    """

    leaves: np.ndarray
    fp: np.ndarray
    end: np.ndarray
    fn: np.ndarray

    def greatest_costs(self, line: Line) -> np.ndarray:
        """Return int64[counts, steps], the most that trees of a step cost."""
        found: np.ndarray = line.a * self.end + line.b * self.fn + line.p * self.leaves
        return found

    def room_below(self, lines: dict[Line, int]) -> np.ndarray:
        """Return float64[counts, steps]: by how many leaves' price a step's trees may cost more
        than the line's least that allows least; below 0: none are left.

        lines : searched lines, and what no tree costs less than by each.
        """
        found = np.where(self.fn < 0, -1.0, math.inf)
        for line, least in lines.items():
            np.minimum(found, (self.greatest_costs(line) - least) / max(line.p, 1), out=found)
        return found


class MonotoneLoss:
    """The loss of (FP, FN), in whole units of weight.

    of_class : int64[objects, 2], weights of both classes.
    unit : of a weight.
    most_leaves : of any tree.  Raises CapabilityError, with the counterexample, where the loss is
        found not to be monotone.
    """

    curves = False

    def __init__(self, objective: Any, of_class: np.ndarray, unit: float, most_leaves: int) -> None:
        self.objective, self.of_class, self.unit, self.most = objective, of_class, unit, most_leaves
        self.negatives, self.positives = of_class.sum(axis=0).tolist()
        tried = [
            np.unique(np.linspace(0, most, TRIED).astype(np.int64)) * unit
            for most in (self.negatives, self.positives)
        ]
        fp, fn = tried
        monotone_losses(objective, fp, fn, self.positives * unit, self.negatives * unit)
        self._parts = min(PARTS, SMALL // (self.negatives + self.positives))
        self._parts = self._parts if self._parts >= FEWEST else PARTS
        self._seen = 0  # trees of so many leaves have been gone through
        self.lines: dict[Line, int] = {}
        self._last_region: tuple[float, Any] = (math.nan, None)
        self._last_room: tuple[float, Any] = (math.nan, None)
        self._widest: list[float] = []

    @property
    def columns(self) -> np.ndarray:
        """int64[objects, 2, 2]: (FP, FN) of an object by the answer."""
        found = np.zeros((len(self.of_class), 2, 2), np.int64)
        found[:, 1, 0], found[:, 0, 1] = self.of_class[:, 0], self.of_class[:, 1]
        return found

    def loss(self, fp: Any, fn: Any) -> np.ndarray:
        """Return float64, of the arguments' shape: the objective's loss, without λ, at false
        positives and false negatives in whole units of weight (numbers, or arrays of one shape).
        """
        return real_numbers(
            self.objective.loss(
                fp * self.unit,
                fn * self.unit,
                self.positives * self.unit,
                self.negatives * self.unit,
            ),
            f"objective {self.objective.name}: loss",
        )

    def values_of_trees(self, trees: Any) -> np.ndarray:
        """Return float64[trees], R of each, of trees as ``Fronts.trees`` hands them over."""
        found: np.ndarray = (
            self.loss(trees.value[:, 0, 0], trees.value[:, 1, 0])
            + self.objective.lam * trees.leaves
        )
        return found

    def value_of_leaves(self, leaves: np.ndarray) -> tuple[float, np.ndarray]:
        """Return R of a tree whose leaves hold so much of each class (int64[leaves, 2]), and their
        answers, by the best threshold on the share of positives.
        """
        order = np.argsort(-leaves[:, 1] / np.maximum(leaves.sum(axis=1), 1), kind="stable")
        fp, tp = (np.concatenate([[0], np.cumsum(leaves[order, k])]) for k in range(2))
        losses = self.loss(fp, self.positives - tp)
        return float(losses.min()) + self.objective.lam * len(leaves), (
            np.argsort(order) < losses.argmin()
        ).astype(np.int64)

    def best_small_tree(
        self, table: Any, limits: Any
    ) -> tuple[float, list[tuple[int, int]], np.ndarray] | None:
        """Return the best tree of two leaves, or of three where that is quick: its R, its nodes as
        (test, −1) or (−1, answer) in preorder, and its leaves, int64[leaves, 2], weights of both
        classes.

        table : :class:`arboretum_gosdt.all_trees.enumeration.Rows`.
        limits : :class:`arboretum.api.TreeLimits`.
        None: no tree is allowed, or leaves cost nothing.  From then on no tree of so few leaves is
        sought.
        """
        most = most_leaves_listed(table.outcome, limits.leaves, limits.depth)
        if not self.objective.lam or most < 2:
            return None
        self._seen = most
        found: tuple[float, list[tuple[int, int]], np.ndarray] = (
            math.inf,
            [],
            np.empty((0, 2), np.int64),
        )
        for shape in shapes_of_few_leaves(
            table.outcome, np.column_stack([self.of_class, table.rows]), most
        ):
            allowed = np.min([leaf[2] for leaf in shape.leaves], axis=0) >= max(1, limits.least)
            for answers in itertools.product((0, 1), repeat=len(shape.leaves)):
                if answers[shape.last] == answers[shape.last + 1]:  # as without the last test
                    continue
                fp, fn = (
                    sum(
                        leaf[k] for leaf, one in zip(shape.leaves, answers, strict=True) if one != k
                    )
                    for k in range(2)
                )
                value = np.where(allowed, self.loss(fp, fn), math.inf) + self.objective.lam * len(
                    answers
                )
                at = np.unravel_index(int(value.argmin()), value.shape)
                there: tuple[slice | np.intp, ...] = (slice(2), *at)
                if value[at] < found[0]:
                    each = iter(answers)
                    nodes = [
                        (test, -1 if test >= 0 else next(each)) for test in shape.tests_of_tree(at)
                    ]
                    found = (
                        float(value[at]),
                        nodes,
                        np.array([leaf[there] for leaf in shape.leaves]).astype(np.int64),
                    )
        return found

    def next_cost(self, best: np.ndarray, value: float) -> Line | None:
        """Return the line to search next: where trees better than ``value`` have most room; None:
        there is none, or no other line.

        best : leaves of a tree.
        """
        region = self._region_below(value)
        room = self._room_below(value)
        steps = np.flatnonzero(room.ravel() >= 0)
        self._widest.append(float(room.max(initial=-1.0)))
        if self._widest[-1] < ENOUGH or (
            len(self._widest) > PATIENT and self._widest[-1] > BETTER * self._widest[-PATIENT]
        ):
            return None
        if not self.lines:  # in the middle of those of as many leaves as the best tree
            about = max(len(best), self._seen + 1)
            steps = (
                np.flatnonzero(
                    (room >= 0).ravel() & (region.leaves == about).repeat(len(region.fp))
                )
                if about in region.leaves
                else steps
            )
            steps = (
                steps[len(steps) // 2 :][:1]
                if len(steps)
                else np.flatnonzero(room.ravel() >= 0)[:1]
            )
        steps = steps[np.argsort(-room.ravel()[steps], kind="stable")]
        for at in steps[np.linspace(0, len(steps) - 1, 5).astype(int)]:
            line = self._line_along_slope(region, *divmod(int(at), len(region.fp)))
            if line not in self.lines:
                return line
        return None

    def _line_along_slope(self, region: StepRegion, row: int, step: int) -> Line:
        """Return the line that weighs false positives and false negatives about as the loss grows
        with each of them at the top of a step.

        Every line bounds truly, whatever its weights, which only say how tightly.  Where the loss
        falls, or grows infinitely, or not at all, each error counts one over the size of its class.

        row : of the region, of trees of ``region.leaves[row]`` leaves.
        step : of the region's steps.
        """
        return self._line_at(float(region.fp[step]), float(region.fn[row, step]))

    def cost_near(self, leaves: np.ndarray, wrong: np.ndarray) -> Line:
        """Return the line that weighs errors as the loss grows at a tree.

        leaves : not needed.   wrong : int64[2], its false positives and false negatives.
        """
        return self._line_at(*wrong.astype(float).tolist())

    def _line_at(self, fp: float, fn: float) -> Line:
        dx, dy, here = NEAR * self.negatives, NEAR * self.positives, float(self.loss(fp, fn))
        grows = (
            (float(self.loss(fp + dx, fn)) - here) / dx,
            (float(self.loss(fp, fn + dy)) - here) / dy,
        )
        grows = (
            grows
            if min(grows) >= 0 and 0 < max(grows) < math.inf
            else (1 / self.negatives, 1 / self.positives)
        )
        scale = self._parts / max(grows)
        p = min(round(self.objective.lam * scale), MOST // (4 * len(self.of_class)))
        return Line(
            self.of_class, max(1, round(grows[0] * scale)), max(1, round(grows[1] * scale)), p
        )

    def record_least_cost(self, line: Line, least: int, leaves: np.ndarray | None = None) -> None:
        """Record that no tree costs less than ``least`` by the line.

        leaves : of the tree that costs so much; not used.
        """
        self.lines[line] = max(least, self.lines.get(line, 0))
        self._last_room = math.nan, None

    def lower_bound(self, value: float) -> float:
        """Return a bound that no tree's value is below; at most ``value``.

        In a step, the lines leave so many false negatives at least, and the loss grows with them.
        """
        leaves, fp, end = self._steps_below(value)
        fn = np.zeros((len(leaves), len(fp)), np.int64)
        for line, least in self.lines.items():
            np.maximum(fn, -((line.a * end + line.p * leaves - least) // line.b), out=fn)
        some = self.loss(np.broadcast_to(fp, fn.shape), np.minimum(fn, self.positives))
        some = np.where(fn <= self.positives, some + self.objective.lam * leaves, math.inf)
        found = float(some.min(initial=math.inf))
        return value if found >= value - ROUNDING else max(0.0, found)

    def _room_below(self, value: float) -> np.ndarray:
        """Return ``StepRegion.room_below`` of trees better than ``value``, by all lines; that of
        the last value is kept until a line is searched.
        """
        if self._last_room[0] != value:
            self._last_room = value, self._region_below(value).room_below(self.lines)
        found: np.ndarray = self._last_room[1]
        return found

    def tightest_room(self, value: float) -> Room:
        """Return the searched line that leaves the least room to trees whose value is below
        ``value``; negative room: no such tree exists.
        """
        region, left = self._region_below(value), self._room_below(value) >= 0
        if not self.lines:  # a leaf costs so much that nothing was left before any line
            return Room(Line(self.of_class, 1, 1, 1), -1, -1.0)
        most = {line: int(region.greatest_costs(line)[left].max(initial=-1)) for line in self.lines}
        room = {line: (most[line] - least) / max(line.p, 1) for line, least in self.lines.items()}
        line = min(room, key=room.__getitem__)
        return Room(line, most[line], room[line])

    def _region_below(self, value: float) -> StepRegion:
        """Return the region of trees better than ``value``, by more than rounding; that of
        the last value is kept.
        """
        if self._last_region[0] == value:
            found: StepRegion = self._last_region[1]
            return found
        leaves, fp, end = self._steps_below(value)
        room, none = value - ROUNDING - self.objective.lam * leaves, np.full((len(leaves), 1), -1)
        few = fp[::STRIDE]  # the others are searched between their neighbours here
        rough = self._most_false_negatives(
            few,
            room,
            np.repeat(none, len(few), axis=1),
            np.full((len(leaves), len(few)), self.positives),
        )
        high, low = (
            np.repeat(one, STRIDE, axis=1)[:, : len(fp)]
            for one in (rough, np.append(rough[:, 1:], none, axis=1))
        )
        low = self._most_false_negatives(fp, room, low, high)
        self._last_region = value, StepRegion(leaves, fp, end, low)
        return self._last_region[1]

    def _steps_below(self, value: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ``leaves``, ``fp`` and ``end`` of a region (:class:`StepRegion`)."""
        lam, least = self.objective.lam, float(self.loss(0.0, 0.0))
        leaves = np.arange(
            1 + self._seen, 2 + (max(0, min(self.most, int((value - least) / lam))) if lam else 0)
        )[:, None]
        steps = min(self.negatives + 1, CELLS // max(len(leaves), 1) + 1)
        fp = np.linspace(0, self.negatives, steps).astype(np.int64)
        return leaves, fp, np.append(fp[1:] - 1, self.negatives)

    def _most_false_negatives(
        self, fp: np.ndarray, room: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> np.ndarray:
        """Return int64[counts, steps]: the most false negatives, from ``low`` to ``high``, with a
        loss below ``room``; −1: none.

        fp : int64[steps].
        room : float64[counts, 1].
        low, high : int64[counts, steps].
        """
        while (low < high).any():
            middle = (low + high + 1) // 2
            below = (
                self.loss(np.broadcast_to(fp, low.shape).astype(float), middle.astype(float)) < room
            )
            low, high = np.where(below, middle, low), np.where(below, high, middle - 1)
        return low
