"""Losses of false positives and false negatives, bounded by additive costs.

Trees of H leaves with R(d) = loss + λ · leaves below some R lie below a step function of FP, where
loss(FP, FN) < R − λ H.  If the least a · FP + b · FN + p · leaves of all trees is known, no tree
lies where it would cost less.  Several such lines, each about as the loss falls where the others
leave most room, leave little or nothing of these regions.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, ClassVar, NamedTuple

import attrs
import numpy as np

from arboretum.api import monotone_losses, real_numbers
from arboretum_gosdt.all_trees.few_leaves import most_leaves_listed, shapes_of_few_leaves
from arboretum_gosdt.problem.prepared import SMALL

PARTS, FEWEST, WIDE, LEAST = 1000, 30, 64, 8
"""The weights of a line are rounded to so many parts of the greater: what they bound stays true.
Fewer, but so many, where half a lane then holds all; in wider lanes ``WIDE``, as rows are counted
in groups by the binary digits of their weights: with 1000, fico took 1.4 times as long at λ = .01,
compas 1.6 times.  The lesser weight has ``LEAST`` parts, up to ``PARTS`` of the greater.
"""
CELLS = 6_000
"""Steps of all step functions together, at most; false positives within a step count as its end."""
NEAR = 1e-4
"""Of a class: how far a loss is followed to see how fast it grows."""
TRIED = 200
"""Numbers of false positives, and of false negatives, at which it is tried that a loss is
monotone.
"""
LAID, CLEARLY = 9, 0.5
"""Lines are laid along so many cells, from the widest on; it is left for another that leaves half
as much room to trees as it, by the trees that are known (fourclass: 2 lines in place of 3, at λ =
.01 of 4; without the half monk2 takes up to three times as long).
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

    def least_false_negatives(self, fp: np.ndarray, leaves: np.ndarray, least: int) -> np.ndarray:
        """Return int64, of both shapes: with how many a tree costs ``least``, or more."""
        found: np.ndarray = -((self.a * fp + self.p * leaves - least) // self.b)
        return found

    @property
    def cost(self) -> np.ndarray:
        """int64[objects, 2], what an object costs by its answer."""
        return np.stack([self.b * self.of_class[:, 1], self.a * self.of_class[:, 0]], axis=1)


class Cells(NamedTuple):
    """Numbers of leaves, and steps of FP, where trees may lie that are below a value.

    leaves, fp, end : int64[cells], a step's least and greatest FP.
    floor, fn : int64[cells], the least FN that all lines allow, and the most at ``fp``.
    room : float64[cells], ≥ 0, by how many leaves' price trees may cost more than the line's least
        that allows least; ∞ without lines.
    """

    leaves: np.ndarray
    fp: np.ndarray
    end: np.ndarray
    floor: np.ndarray
    fn: np.ndarray
    room: np.ndarray

    def greatest_costs(self, line: Line) -> np.ndarray:
        """Return int64[cells], the most that trees of a cell cost."""
        found: np.ndarray = line.a * self.end + line.b * self.fn + line.p * self.leaves
        return found

    def left_by(self, line: Line, least: int) -> Cells:
        """Return the cells in which trees may lie of which none costs less than ``least``."""
        room = np.minimum(self.room, (self.greatest_costs(line) - least) / max(line.p, 1))
        floor = np.maximum(self.floor, line.least_false_negatives(self.end, self.leaves, least))
        return Cells(*(one[room >= 0] for one in self._replace(floor=floor, room=room)))


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
        self._parts = self._parts if self._parts >= FEWEST else WIDE
        self._seen = 0  # trees of so many leaves have been gone through
        self.lines: dict[Line, int] = {}
        self._last: tuple[float, Any] = (math.nan, None)
        self._widest: list[float] = []
        self._trees = [of_class.sum(axis=0)[None]]

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

        table : :class:`arboretum_gosdt.all_trees.table.Rows`.
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
        """Return the line to search next: where trees better than ``value`` have most room, or
        another that is expected to leave clearly less; None: there is none, or no other line.

        best : leaves of a tree.
        """
        self._trees += [best] if all(one is not best for one in self._trees) else []
        # at first in the middle of those of as many leaves as the best tree
        about = None if self.lines else max(len(best), self._seen + 1)
        cells = self._cells_below(value, about)
        if about is not None and not len(cells.fp):
            cells = self._cells_below(value)
        self._widest.append(float(cells.room.max(initial=-1.0)))
        if self._widest[-1] < ENOUGH or (
            len(self._widest) > PATIENT and self._widest[-1] > BETTER * self._widest[-PATIENT]
        ):
            return None
        if about is not None:
            at = np.array([len(cells.fp) // 2 if cells.leaves[0] == about else 0])
            return self._lines_at(cells.fp[at], cells.fn[at])[0]
        order = np.argsort(-cells.room, kind="stable")
        at = order[np.linspace(0, len(order) - 1, LAID).astype(int)]
        laid = dict.fromkeys(self._lines_at(cells.fp[at], cells.fn[at]))
        lines = [line for line in laid if line not in self.lines]
        if not lines:
            return None
        room = self._room_expected(cells, lines)
        least = int(room.argmin())
        return lines[least if room[least] < CLEARLY * room[0] else 0]

    def _room_expected(self, cells: Cells, lines: list[Line]) -> np.ndarray:
        """Return float64[lines], the most room of a cell if each were searched and none of the
        trees that are known cost more than its least.
        """
        a, b, p = np.array([line.name for line in lines]).T[:, :, None]
        least = np.min(
            [
                np.minimum(a * tree[:, 0], b * tree[:, 1]).sum(axis=1) + p[:, 0] * len(tree)
                for tree in self._trees
            ],
            axis=0,
        )
        most = a * cells.end + b * cells.fn + p * cells.leaves
        room = np.minimum(cells.room, (most - least[:, None]) / np.maximum(p, 1))
        found: np.ndarray = room.max(axis=1)
        return found

    def cost_near(self, leaves: np.ndarray, wrong: np.ndarray) -> Line:
        """Return the line that weighs errors as the loss grows at a tree.

        leaves : not needed.   wrong : int64[2], its false positives and false negatives.
        A leaf costs 1 where λ is less, so that paths end: in a line it may cost too much.
        """
        (line,) = self._lines_at(*wrong[:, None])
        return attrs.evolve(line, p=max(line.p, 1)) if self.objective.lam else line

    def _lines_at(self, fp: np.ndarray, fn: np.ndarray) -> list[Line]:
        """Return the lines that weigh false positives and false negatives about as the loss grows
        with each of them at these numbers, int64[lines].

        Every line bounds truly, whatever its weights, which only say how tightly.  Where the loss
        falls, or grows infinitely, or not at all, each error counts one over the size of its class.
        """
        dx, dy = NEAR * self.negatives, NEAR * self.positives
        with np.errstate(divide="ignore", invalid="ignore"):
            here = self.loss(fp, fn)
            more = (self.loss(fp + dx, fn) - here) / dx, (self.loss(fp, fn + dy) - here) / dy
        lines = []
        for grows in np.stack(np.broadcast_arrays(*more, fp)[:2], axis=1).tolist():
            if not all(0 <= one < math.inf for one in grows) or not any(grows):
                grows = 1 / self.negatives, 1 / self.positives
            parts = LEAST * max(grows) / max(min(grows), NEAR * max(grows))
            scale = max(self._parts, min(parts, PARTS)) / max(grows)
            p = min(round(self.objective.lam * scale), MOST // (4 * len(self.of_class)))
            a, b = (max(1, round(one * scale)) for one in grows)
            lines.append(Line(self.of_class, a, b, p))
        return lines

    def record_least_cost(self, line: Line, least: int, leaves: np.ndarray | None = None) -> None:
        """Record that no tree costs less than ``least`` by the line.

        leaves : of the tree that costs so much.
        """
        self._trees += [] if leaves is None else [leaves]
        self.lines[line] = max(least, self.lines.get(line, 0))
        value, cells = self._last
        self._last = value, None if cells is None else cells.left_by(line, least)

    def lower_bound(self, value: float) -> float:
        """Return a bound that no tree's value is below; at most ``value``.

        In a step, the lines leave so many false negatives at least, and the loss grows with them.
        """
        cells = self._cells_below(value)
        losses = self.loss(cells.fp, cells.floor) + self.objective.lam * cells.leaves
        return max(0.0, float(np.min(losses, initial=value)))

    def tightest_room(self, value: float) -> Room:
        """Return the searched line that leaves the least room to trees whose value is below
        ``value``; negative room: no such tree exists.
        """
        if not self.lines:  # a leaf costs so much that nothing was left before any line
            return Room(Line(self.of_class, 1, 1, 1), -1, -1.0)
        cells = self._cells_below(value)
        most = {line: int(cells.greatest_costs(line).max(initial=-1)) for line in self.lines}
        room = {line: (most[line] - least) / max(line.p, 1) for line, least in self.lines.items()}
        line = min(room, key=room.__getitem__)
        return Room(line, most[line], room[line])

    def _cells_below(self, value: float, about: int | None = None) -> Cells:
        """Return where trees may lie that are better than ``value``, by more than rounding; those
        of the last value are kept.

        about : leaves of the trees; None: any.
        """
        if self._last[0] == value and self._last[1] is not None:
            kept: Cells = self._last[1]
            return kept
        leaves, fp, end = self._steps_below(value)
        if about is not None:
            leaves = leaves[leaves[:, 0] == about]
        floor = np.zeros((len(leaves), len(fp)), np.int64)
        for line, least in self.lines.items():
            np.maximum(floor, line.least_false_negatives(end, leaves, least), out=floor)
        room = value - ROUNDING - self.objective.lam * leaves
        losses = self.loss(np.broadcast_to(fp, floor.shape), np.minimum(floor, self.positives))
        row, step = np.nonzero((floor <= self.positives) & (losses < room))
        leaves, floor, room = leaves[row, 0], floor[row, step], room[row, 0]
        fn = self._most_false_negatives(fp[step], room, floor)
        found = Cells(leaves, fp[step], end[step], floor, fn, np.full(len(fn), math.inf))
        for line, least in self.lines.items():
            found = found.left_by(line, least)
        if about is None:
            self._last = value, found
        return found

    def _steps_below(self, value: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return int64[numbers, 1], of leaves that trees may have, and the least and greatest false
        positives of each step, int64[steps] each.
        """
        lam, least = self.objective.lam, float(self.loss(0.0, 0.0))
        leaves = np.arange(
            1 + self._seen, 2 + (max(0, min(self.most, int((value - least) / lam))) if lam else 0)
        )[:, None]
        steps = min(self.negatives + 1, CELLS // max(len(leaves), 1) + 1)
        fp = np.linspace(0, self.negatives, steps).astype(np.int64)
        return leaves, fp, np.append(fp[1:] - 1, self.negatives)

    def _most_false_negatives(
        self, fp: np.ndarray, room: np.ndarray, low: np.ndarray
    ) -> np.ndarray:
        """Return int64[cells]: the most false negatives, at least ``low``, with a loss below
        ``room``.

        fp, low : int64[cells].   room : float64[cells].
        """
        high = np.full(len(low), self.positives)
        while (low < high).any():
            middle = (low + high + 1) // 2
            below = self.loss(fp, middle) < room
            low, high = np.where(below, middle, low), np.where(below, high, middle - 1)
        return low
