"""The solvers ``rank`` and ``osdt``: branch and bound over sets of leaves, the bounds of their
papers each a switch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import attrs
import numpy as np

from arboretum.api import (
    PER_OUTCOME,
    Context,
    Facts,
    Problem,
    Shape,
    Solution,
    Tree,
    TwoWay,
    columns_of,
    few,
    param,
    shape_of,
    two_way_problem,
)
from arboretum_baselines.as_printed.solver import Rule
from arboretum_baselines.binary import SETUP_STEPS, InSlices, room_of, words_of
from arboretum_baselines.osdt.losses import ENTRIES, Loss, class_weights, loss_of

BOUNDS = (
    "fixed",
    "lookahead",
    "equivalent",
    "splitting",
    "progress",
    "permutations",
    "support",
    "subtrees",
)
"""Bits of ``settings.used``."""
MANY = 1 << 20
"""Leaves; where looking ahead from the root meets more, two levels must do."""
ROUNDS = 8
"""Of sums over leaves that touch the loss at the best tree, and of best trees by that sum."""


def bounds(names: Iterable[str]) -> tuple[str, ...]:
    """Checked names; raises ValueError for one that does not exist."""
    for name in names:
        if name not in BOUNDS:
            raise ValueError(
                f"solver.without names bounds out of {', '.join(BOUNDS)}; got {name!r}"
            )
    return tuple(names)


PER_LOSS = 30
"""Steps for each pair of false positives and negatives, whose losses are told and looked at."""


@attrs.frozen
class Rank:
    """Least F, AUC, pAUC or any monotone loss + λ · leaves: branch and bound over sets of leaves
    (PyGOSDT), of two classes.

    A set's leaves stay, or must be divided; a leaf at a time is divided by every test.  ``without``
    leaves bounds out: fixed (theorems 2.1, B.1), lookahead (B.2, B.5), equivalent (B.9, C.3),
    splitting (B.6, C.2), progress (B.7), permutations (B.8), support (of OSDT), subtrees (not in
    the paper).
    """

    kind = "solver"
    name = "rank"
    paper = "Lin, Zhong, Hu, Rudin & Seltzer 2020"
    capabilities = ("classification", "weights", "exact", "anytime")
    needs = ("objective",)
    minimises: ClassVar[tuple[str, ...]] = ("additive", "confusion", "ranking")
    limits = ("max_depth", "max_leaves", "min_leaf")
    example = "dataset=monk1-full method=rank objective=auc objective.lam=0.02"

    rule: Rule = param(Rule.bound, "which set of leaves comes next, the least value first")
    ahead: int = param(
        64,
        "levels of tests that the bound of subtrees looks ahead, until a million leaves were "
        "met: then two",
        ge=1,
        le=64,
    )
    without: tuple[str, ...] = param(
        (),
        "bounds that are not used, which changes no optimum; a wrong name lists them",
        converter=bounds,
    )

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Minimise the run's objective.  Raises CapabilityError or DataError with the way out."""
        found = two_way_problem(problem, self.name, self.limits, class_weights, context)
        context.check_time(PER_OUTCOME * found.outcome.size)
        found = in_order(found)
        losses = (
            int(np.prod(found.cost.sum(axis=0) + 1.0))
            if shape_of(problem.parts.objective) is not Shape.ranking
            else 0
        )
        context.check_time(
            SETUP_STEPS * PER_OUTCOME * found.outcome.size + PER_LOSS * min(losses, ENTRIES)
        )
        losses = losses if losses <= ENTRIES else 0  # of more it is refused below
        what = f"{len(found.tests):,} tests and the losses of {losses:,} (FP, FN)"
        # an outcome as a mask, as a bit and itself
        room = room_of(context, 8 * losses + 10 * found.outcome.size, what)
        search = self._search(problem, context.seed, found, loss_of(found, self.name))

        def report() -> None:
            context.proven(search.lower, search.value)
            context.progress(0, None, f"{search.sets:,} sets of {search.leaves:,} leaves")

        ended = search.run(room, context, report)
        details = {"sets": search.sets, "divided": search.divided, "leaves": search.leaves}
        return found.solution(
            search.tree(), search.lower, ended, (search.sets, "sets of leaves"), details
        )

    def _search(self, problem: Problem, seed: int, found: TwoWay, loss: Loss) -> OsdtSearch:
        """Return the search on a problem, with the limits of the run and the bounds that are not
        left out.
        """
        limits = problem.parts.limits()
        settings = (limits.min_leaf, limits.max_depth, limits.max_leaves)
        used = sum(
            1 << k for k, name in enumerate(BOUNDS) if name not in (*self.without, *self._unused)
        )
        return OsdtSearch(found, loss, settings, self.rule, seed, self.ahead, used=used)

    _unused: ClassVar[tuple[str, ...]] = ()

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Load the kernels, on a few objects, of both classes."""
        small = few(problem, 6)
        found = in_order(two_way_problem(small, self.name, self.limits, class_weights))
        search = self._search(small, 0, found, loss_of(found, self.name))
        search.run(10**8, Context())
        search.tree()


@attrs.frozen
class Osdt(Rank):
    """OSDT: least error + λ · leaves by branch and bound over sets of leaves, of two classes;
    the bounds of its paper and no others.
    """

    name = "osdt"
    paper = "Hu, Rudin & Seltzer 2019"
    minimises = ("additive",)
    example = "dataset=monk1-full method=osdt objective.lam=0.03"
    _unused = ("subtrees",)

    rule: Rule = param(Rule.curiosity, "which set of leaves comes next, the least value first")


def in_order(found: TwoWay) -> TwoWay:
    """Return the same, tests by what they lower Gini's index of all rows, the most first, and
    groups by falling share of positives.
    """
    (p, n), whole = found.cost.T, found.cost.sum(axis=0)
    one = np.array([found.cost[row].sum(axis=0) for row in found.outcome]).reshape(-1, 2)
    sides = np.stack([one, whole - one])
    left = (sides.prod(axis=2) / np.maximum(sides.sum(axis=2), 1)).sum(axis=0)
    tests = np.argsort(left, kind="stable")
    groups = np.argsort(-p / np.maximum(p + n, 1), kind="stable")
    outcome, group = columns_of(found.outcome, groups, tests), np.argsort(groups)[found.group]
    return attrs.evolve(
        found,
        outcome=outcome,
        tests=found.tests[tests],
        group=group,
        cost=found.cost[groups],
        rows=found.rows[groups],
    )


class OsdtSearch(InSlices):
    """The search on a problem, to be left and entered again: a greedy tree, sums over leaves
    that touch the loss near it, sets of leaves.
    """

    def __init__(
        self,
        found: TwoWay,
        loss: Loss,
        limits: tuple[int | None, ...],
        rule: Rule,
        seed: int,
        ahead: int,
        used: int,
    ) -> None:
        """Allocate leaves and sets, and enter the tree of one leaf.

        limits : (least rows of a branch, depth, most leaves), None for no limit.
        rule : of scheduling; seed : of the rule that draws.
        ahead : levels of tests that are looked ahead.
        used : bits by place in BOUNDS.
        """
        from arboretum.kernels.solving.fingerprints import random_words
        from arboretum_baselines.osdt import first_kernels, leaf_kernels, set_kernels

        self.found, self.loss = found, loss
        self.kernels, self.first, self.floor = set_kernels, first_kernels, leaf_kernels
        groups, (least, depth, most) = found.outcome.shape[1], limits
        # no tree has more leaves than groups, nor is deeper; depths have 16 bits
        depth = 0 if depth is None or depth >= min(groups - 1, 1 << 16) else depth
        self._alone = limits[1] == 0
        settings = least, depth, min(groups, most or groups), rule, seed, ahead, used
        self._settings = np.array(
            [(*settings, loss.lam, *loss.steps, loss.theta, loss.unit)], leaf_kernels.SETTINGS
        )[0]
        self._state = np.zeros(1, leaf_kernels.STATE)[0]
        bits = words_of(found.outcome)
        mask = np.multiply(found.outcome.T, np.int64(-1), order="C")
        self._data = leaf_kernels.Data(
            mask,
            bits[:-1],
            loss.p.astype(np.int64),
            loss.n.astype(np.int64),
            found.rows,
            random_words(groups),
            loss=loss.table,
            pieces=np.ones((1, 2)),
            ladder=np.empty((2, 0)),
        )
        self._allocate(bits.shape[1])
        self._enter_root(bits[-1])
        self._state["best"] = self._leaf_value()
        self._lower = min(self.value, loss.least + loss.lam)
        self._phase, self._round, self._reported = self._greedy, 0, np.inf

    def _allocate(self, words: int) -> None:
        """Allocate leaves, sets and scratch memory.   words : of a set of groups as bits."""
        from arboretum.kernels.solving.arrays import Arrays
        from arboretum_baselines.osdt.curve_kernels import Room

        tests, groups = self.found.outcome.shape
        self._sums = self.floor.Sums._make(
            [
                *np.zeros((3, tests), np.int64),
                np.zeros(tests),
                *np.zeros((2, tests), np.uint64),
                *np.zeros((2, 66), np.int64),
            ]
        )
        lengths = groups + 4, groups + 4, max(1, len(self.loss.table))
        segments = [np.zeros(length, np.int64) for length in lengths]
        self._room = Room._make(
            [
                *segments,
                np.zeros(words, np.uint64),
                *np.zeros((2, groups + 4), np.int64),
            ]
        )
        own: Facts = dict.fromkeys(("share", "all", "least", "split", "bound", "key"), ((), float))
        own |= {"rows": ((words,), np.uint64), "slots": ((2,), np.uint64)}
        self._leaves, self._sets = (
            Arrays(
                {
                    name: np.zeros((1024, *shape), kind)
                    for name in fields
                    for shape, kind in [own.get(name, ((), np.int64))]
                }
            )
            for fields in (self.floor.Leaves._fields, self.kernels.Sets._fields)
        )

    def _enter_root(self, rows: np.ndarray) -> None:
        """Enter the leaf of all groups, and the set of this leaf alone.

        rows : uint64[words], all groups as bits.
        """
        from arboretum.kernels.solving.fingerprints import enter

        p, n = self._data.p.sum(), self._data.n.sum()
        first = {
            "rows": rows,
            "p": p,
            "n": n,
            "count": self._data.rows.sum(),
            "share": p / (p + n),
            "start": -1,
        }
        for name, value in first.items():
            self._leaves[name][0] = value
        with np.errstate(over="ignore"):
            enter(self._leaves["slots"], *self._data.words.sum(axis=0), 0)
        self._state["leaves"] = self._state["sets"] = self._state["items"] = 1
        for name, value in {"parent": -1, "via": -1, "test": -1, "size": 1}.items():
            self._sets[name][0] = value

    def _leaf_value(self) -> float:
        """R of a tree of one leaf."""
        if not self.loss.table.size:
            theta = self.loss.theta
            return 1.0 - theta * theta / 2 / self.loss.unit + self.loss.lam
        return float(min(self.loss.table[-1, 0], self.loss.table[0, -1])) + self.loss.lam

    value = property(lambda self: float(self._state["best"]), doc="R of the best tree known.")
    sets = property(lambda self: int(self._state["popped"]), doc="Sets popped.")
    divided = property(
        lambda self: int(self._state["divided"]), doc="Sets of which a leaf was divided."
    )
    leaves = property(lambda self: int(self._state["leaves"]), doc="Different leaves.")

    @property
    def lower(self) -> float:
        """No tree has a lower value: the least bound in the queue."""
        queue = self._sets["queue"][: self._state["queued"]]
        if self._phase == self._branch:
            found: float = min(self.value, float(self._sets["bound"][queue].min(initial=np.inf)))
            return found
        found = min(self.value, self._lower)
        return found

    def steps_of(self, amount: int) -> int:
        """Divide about ``amount`` leaves or sets; return how that ended: FINISHED, PAUSED or
        NEED_ROOM.
        """
        from arboretum.kernels.solving.slices import FINISHED, PAUSED

        if self._alone or not len(self.found.tests):
            self._lower = self.value
            return FINISHED
        self._state["until"] = self._state["work"] + amount
        ended = self._phase()
        return PAUSED if ended == FINISHED and self._begin_next_part() else ended

    def _arrays(self) -> tuple[Any, ...]:
        """Return what kernels read and write, in the order in which they take it."""
        leaves = self.floor.Leaves(*self._leaves.values())
        sets = self.kernels.Sets(*self._sets.values())
        return (
            self._data,
            leaves,
            sets,
            self._sums,
            self._room,
            self._state,
            self._settings,
        )

    def _greedy(self) -> int:
        found: int = self.first.greedy(*self._arrays())
        return found

    def _look_ahead(self) -> int:
        """Bound all leaves by looking ahead from the root, by fewer levels where leaves are
        many.
        """
        if self.leaves > MANY:
            self._settings["ahead"] = min(self._settings["ahead"], 2)
        data, leaves, _, sums, _, *rest = self._arrays()
        found: int = self.first.prepare(data, leaves, sums, *rest, self._settings["ahead"])
        return found

    def _branch(self) -> int:
        if self.value < self._reported and self._data.ladder.shape[1]:
            self._tighten_limit()
        found: int = self.kernels.search(*self._arrays())
        return found

    def _begin_next_part(self) -> bool:
        """Go on to the next part, if there is one."""
        if self._phase == self._branch:
            return False
        self._amount = 1  # what was quick in one part may be slow in the next
        used = self._settings["used"]
        if self._phase == self._look_ahead:
            before = self.value
            self._restart_from_leaf()
            self.first.follow(*self._arrays())
            self._round = (
                self._round + 1 if self.value < before - self.kernels.NO_BETTER else ROUNDS
            )
        if used & self.kernels.SUBTREES and self._round < ROUNDS:
            self._aim_bound()
            self._phase = self._look_ahead
            return True
        self._tighten_limit()
        data, leaves, sets, _, room, *rest = self._arrays()
        self.kernels.begin(data, leaves, sets, room, *rest)
        self._phase = self._branch  # last: what interrupts before that finds no queue to bound by
        return True

    def _restart_from_leaf(self) -> None:
        """The set of one leaf once more, from which a tree is grown."""
        self.make_room(None)
        state, sets = self._state, self._sets
        for name, value in {
            "parent": -1,
            "via": -1,
            "test": -1,
            "size": 1,
            "start": state["items"],
        }.items():
            sets[name][state["sets"]] = value
        sets["item"][state["items"]] = 0
        state["sets"] += 1
        state["items"] += 1

    def _aim_bound(self) -> None:
        """A sum over leaves that touches the loss at the best tree."""
        pieces, const = self.loss.beside(self._best_leaves())
        self._data = self._data._replace(pieces=pieces, ladder=np.empty((2, 0)))
        self._state["const"] = const
        data, leaves, _, sums, _, *rest = self._arrays()
        self.first.prepare(data, leaves, sums, *rest, 0)

    def _tighten_limit(self) -> None:
        """What a better tree may cost, now."""
        self._reported = self.value
        if not self.loss.curved:
            self._state["most"] = self.value - self._state["const"]
            return
        most = int(self._settings["most_leaves"])
        ladder = self.loss.ladder(self._data.pieces, self.value, most)
        self._data = self._data._replace(ladder=ladder)
        self._state["most"] = self.loss.most(
            self._data.pieces, np.array([self.value - self.kernels.NO_BETTER]), most
        )[0]

    def _best_leaves(self) -> np.ndarray:
        """Return int64[leaves, 2], (negatives, positives) of those of the best tree."""
        s = int(self._state["best_set"])
        start, size = int(self._sets["start"][s]), int(self._sets["size"][s])
        leaf = self._sets["item"][start : start + size] & self.kernels.LEAF
        return np.column_stack([self._leaves["n"][leaf], self._leaves["p"][leaf]])

    def make_room(self, memory_bytes: int | None) -> bool:
        """Make the arrays long enough to divide one more leaf and one more set; False where leaves
        and sets would take more than ``memory_bytes``.

        With None the sets alone grow, without a limit.
        """
        tests, state, floor = len(self.found.tests), self._state, self.floor
        leaves = int(state["leaves"]) + 2 * tests
        divided = (int(state["expanded"]) + 1) * 2 * tests
        wanted = dict.fromkeys(floor.Leaves._fields, leaves) | {
            "slots": 2 * leaves,
            "child": divided,
        }
        new = self.kernels.PER_TEST * tests
        sets = int(state["sets"]) + new + 1
        more = dict.fromkeys(self.kernels.Sets._fields, sets)
        more |= {
            "slots": 2 * sets,
            "item": int(state["items"]) + new * (int(self._settings["most_leaves"]) + 2),
        }
        if memory_bytes is None:
            return self._sets.make_room(more, None)
        enough = self._leaves.make_room(wanted, memory_bytes - self._sets.bytes_used())
        return enough and self._sets.make_room(more, memory_bytes - self._leaves.bytes_used())

    def tree(self) -> Tree:
        """Return the best tree."""
        tests, s = {}, int(self._state["best_set"])
        while self._sets["parent"][s] >= 0:
            tests[int(self._sets["via"][s])] = int(self._sets["test"][s])
            s = int(self._sets["parent"][s])

        def divided(leaf: int) -> tuple[int, int, int] | None:
            """Return the test of a leaf that the best tree divides, and both parts; None where it
            does not.
            """
            if (test := tests.get(leaf, -1)) < 0:
                return None
            start = int(self._leaves["start"][leaf]) + 2 * test
            zero, other = self._leaves["child"][start : start + 2].tolist()
            return test, zero, other

        tree = self.found.tree(TwoWay.nodes_of(0, divided))
        if not hasattr(self.found.problem.parts.objective, "loss"):
            return tree
        held = np.rint(tree.weights[tree.is_leaf] / float(self.found.unit)).astype(np.int64)
        label = tree.weights.argmax(axis=1)
        label[tree.is_leaf] = self.loss.labels(held)
        return attrs.evolve(tree, label=label)
