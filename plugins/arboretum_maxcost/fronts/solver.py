"""The exact Pareto front of trees: the least error for every price, over all trees on the run's
tests.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import (
    WHOLE,
    CapabilityError,
    Choice,
    ConfigError,
    Context,
    Ended,
    Front,
    FrontPoint,
    OutOfTime,
    Problem,
    Solution,
    Status,
    Tree,
    assemble,
    param,
    sure,
    unbeaten,
)
from arboretum.kernels.plain import fewer
from arboretum_maxcost.fronts.curves import grow_greedy_curves
from arboretum_maxcost.fronts.trees import Trees
from arboretum_maxcost.optimal.space import Space, as_whole_numbers, space_of

if TYPE_CHECKING:
    from arboretum_maxcost.fronts import lists, search_kernels


AXES = {
    "expected_cost": (False, 0, 0, 1),
    "max_cost": (True, 0, 1, 0),
    "n_leaves": (False, 1, 0, 0),
    "depth": (True, 0, 1, 0),
}
"""Second axis → largest, leaf, per_node, per_mass of
:class:`arboretum_maxcost.fronts.lists.Form`.
"""
UNLIMITED = -(1 << 40)
SLICE = 2_000_000
"""Row visits between two looks at the clock: some tens of milliseconds."""
SEARCH_SHARE = 0.8
"""Of the seconds that are left; the rest is for points and trees."""
MOMENT = 0.1
"""Seconds in which further trees are laid out though the time is up."""
DEFAULT_BYTES = 2_000_000_000
"""Where the run sets no budget.memory_mb."""


def exact_space(problem: Problem, *, priced: bool, context: Context = Context()) -> Space:
    """Read a problem into whole numbers, every test at price 1 unless ``priced``.  Raises
    CapabilityError or DataError, with the way out, where sums are not exact or rows not told apart.
    """
    space = space_of(problem, without_error=False, priced=priced, solver="front", context=context)
    objects = problem.objects
    if objects.hides_rows:
        raise CapabilityError(
            "solver front counts the errors of rows, and merged objects hide some; use "
            "encoder.coalesce=none"
        )
    for what, values in (
        ("the weights of objects", objects.weight),
        ("prices", problem.prices.tests),
    ):
        if not space.exact and not as_whole_numbers(values)[2]:
            longest = max(map(repr, values.tolist()), key=len)
            raise CapabilityError(
                f"solver front adds up {what} exactly, and these have no common unit (such "
                f"as {longest}); round them"
            )
    if space.total * (1 + int(space.price.sum())) > WHOLE:
        raise CapabilityError(
            "solver front adds up weights times prices exactly, and here the sums exceed "
            "2^52; round prices or weights"
        )
    return space


class FrontSearch:
    """Owns the arrays of search_kernels and enlarges them.

    Rounds: in round D every test is tried at the first D levels, and below them the greedy one;
    what is not tried is bounded.  Each round leaves points (trees) and corners (no tree beats them)
    of the whole table; they meet when nothing was left out.

    form : the second axis and the limits.
    max_depth : tests on a path, at most; None: any number.
    stopped : "" when they have met, else what ran out, "seconds" or "bytes", or "interrupt"
        (Ctrl-C, a signal).
    rounds : number of the last one finished, −1 before the first.
    budget : bytes of the arrays, at most; None until the first round has left trees.
    """

    def __init__(self, space: Space, form: lists.Form, max_depth: int | None = None) -> None:
        from arboretum.kernels.solving.arrays import Arrays
        from arboretum_maxcost.fronts import search_kernels as kernels
        from arboretum_maxcost.fronts.lists import POINT, Buffers

        self.buffers = Buffers
        self.space, self.kernels, self.form, self.max_depth = space, kernels, form, max_depth
        table = self.table = space.make_table()
        n, tests = space.n_objects, max(1, len(table.price))
        self.counts = np.zeros(
            (int(space.n_bins.max(initial=1)) + 3, table.n_classes + 3), np.int64
        )
        self.state = np.zeros(1, kernels.STATE)
        lists = {name: np.zeros(256, POINT) for name in ("ups", "lows", "pool", *Buffers._fields)}
        self.arrays = Arrays(
            {
                "frames": np.zeros(64, kernels.FRAME),
                "rows": np.zeros(4 * n + 64, np.int32),
                "tests": np.zeros(8 * tests, kernels.CANDIDATE),
                "kids": np.zeros(256, np.int64),
                "nodes": np.zeros(1024, kernels.NODE),
                "slots": np.zeros((2048, 2), np.uint64),
                **lists,
            }
        )
        self.root, self.rounds, self.stopped = 0, -1, ""
        self.budget: int | None = None
        self.interrupt: Mapping[str, object] = {}
        self.corners = self.greedy = np.zeros(0, POINT)

    @property
    def subproblems(self) -> int:
        """Distinct subtables."""
        return int(self.state["nodes"][0])

    @property
    def opened(self) -> int:
        """Subtables opened, each as often as it was opened again."""
        return int(self.state["visits"][0])

    def points(self, node: int, corners: bool = False) -> np.ndarray:
        """Return POINT[·] of the trees known for the subtable ``node``, or of its ``corners``:
        bounds, of which every tree of it is at or above one.  Empty before the node is finished; a
        view of the pool, to be copied before the search goes on.
        """
        span = self.arrays["nodes"]["corners" if corners else "points"][node]
        return self.arrays["pool"][slice(*span)]

    def best_points(self) -> np.ndarray:
        """Return POINT[.] of the trees known for the whole table, with those of a round under
        way.
        """
        open_frames = int(self.state["frames"][0])
        if not open_frames:
            return self.points(self.root)
        begins = np.append(self.arrays["frames"]["ups"][:open_frames], self.state["ups"])
        return self.arrays["ups"][slice(*begins[:2])]

    def sum_of_fronts(self, one: np.ndarray, other: np.ndarray, cap: int) -> np.ndarray:
        """Return all sums of points of two lists with errors below ``cap``, but for those that are
        dominated, POINT[.].

        one, other : POINT[.].
        """
        from arboretum_maxcost.fronts.lists import sum_of_fronts

        while (n := sum_of_fronts(one, other, cap, self.form, buffers := self._buffers())) < 0:
            self.arrays.make_room(dict.fromkeys(self.buffers._fields, 2 * len(buffers.one)), None)
        return buffers.one[:n].copy()

    def run(self, context: Context) -> FrontSearch:
        """Work round after round, within the context's seconds and bytes; raises OutOfTime where
        the first, which leaves trees, takes longer.
        """
        depth, now = 0, time.monotonic()
        until = None if context.deadline is None else now + SEARCH_SHARE * (context.deadline - now)
        while self.max_depth is None or depth <= self.max_depth:
            self._run_round(depth, context, until)
            if self.stopped == "seconds" and depth == 0:
                raise OutOfTime(
                    "the budget of seconds ran out before there was any tree; raise budget.seconds"
                )
            if self.stopped and depth:
                break
            self.rounds, self.corners = depth, self.points(self.root, corners=True).copy()
            if depth == 0:
                self.greedy = self.points(self.root).copy()
                self.budget = context.memory_bytes or DEFAULT_BYTES
            if self.stopped or self.arrays["nodes"]["left"][self.root] == self.kernels.EXACT:
                break
            depth += 1
        return self

    def _run_round(self, depth: int, context: Context, until: float | None) -> None:
        """Work one round: try every test at the first ``depth`` levels, the greedy one below them.

        until : ``time.monotonic()`` value at which it stops, but for round 0; None: no limit.
        Sets ``root``, ``stopped`` and ``interrupt``.  Round 0, which leaves the first tree, has
        until the context's latest moment, and is finished even when it was interrupted once.
        """
        from arboretum.kernels.solving.slices import run_slices

        form = (
            self.form if self.max_depth is None else self.form._replace(stop=depth - self.max_depth)
        )
        self._make_room()
        self.root = int(
            self.kernels.begin_round(self.table, form, self._stacks(), self.space.n_objects, depth)
        )
        until = until if depth else context.latest  # now that the kernel is loaded

        def report() -> None:
            context.progress(0, None, f"{self.subproblems:,} subtables, round {depth}")

        def work(until: float | None) -> str:
            return run_slices(lambda: self._work_for_a_slice(form), self._make_room, until, report)

        with self.arrays.moved_by(until):
            ended = Ended.of(lambda: work(until))
        self.stopped, self.interrupt = ended.by, ended.details
        # there is no tree yet, and this round is short; a second interruption ends it
        if ended.details and depth == 0:
            work(None)

    def _stacks(self) -> search_kernels.Stacks:
        stacks, arrays = self.kernels.Stacks, self.arrays
        others = (arrays[name] for name in stacks._fields[1:-1])
        return stacks._make((self.state, *others, self.counts))

    def _work_for_a_slice(self, form: lists.Form) -> int:
        limit, stacks = fewer(SLICE, self.kernels.search_fronts), self._stacks()
        return int(self.kernels.search_fronts(self.table, form, limit, stacks, self._buffers()))

    def _buffers(self) -> lists.Buffers:
        return self.buffers(*(self.arrays[name] for name in self.buffers._fields))

    def _make_room(self) -> bool:
        """Make room for one more step; False when that exceeds the budget in bytes.

        The numbers added are what ``search_fronts`` asks for before it takes a branch (its tests
        for NEED_ROOM): with fewer it would ask again for ever.
        """
        used = dict(zip(sure(self.state.dtype.names), self.state.tolist()[0], strict=True))
        longest, n, tests = used["longest"], self.space.n_objects, len(self.space.price)
        more = {"frames": 2, "rows": 2 * n + 2, "tests": 2 * tests + 2, "kids": 2, "nodes": 2}
        wanted = {name: used[name] + one for name, one in more.items()} | {
            "slots": 2 * used["nodes"] + 4,
        }
        long_enough = all(length <= len(self.arrays[name]) for name, length in wanted.items())
        list_lengths = {
            name: used[name] + 2 * longest + 4 for name in ("ups", "lows", "pool")
        } | dict.fromkeys(self.buffers._fields, 2 * longest + 4)
        if long_enough and all(
            length <= len(self.arrays[name]) for name, length in list_lengths.items()
        ):  # a list grew beyond all before
            list_lengths = {name: 2 * len(self.arrays[name]) for name in list_lengths}
        return self.arrays.make_room({**wanted, **list_lengths}, self.budget)


def spread_evenly(n: int, most: int, first: int) -> list[int]:
    """Return up to ``most`` of the numbers 0 … n − 1, evenly spread, ``first`` among them and
    before the others, so that those of each beginning are spread, too (in the order of reversed
    bits).
    """
    bits = max(1, n - 1).bit_length()
    evenly = np.linspace(0, n - 1, min(most, n)).astype(int).tolist()
    return [*dict.fromkeys([first, *sorted(evenly, key=lambda number: f"{number:0{bits}b}"[::-1])])]


def undominated(points: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the points that no other beats in all values, ascending in the values after the first;
    less is better.
    """
    listed = list(points)
    return [listed[number] for number in unbeaten(listed)]


def best_leaf_solution(problem: Problem, names: tuple[str, ...], why: str) -> Solution:
    """Return what is known without any work: the best leaf as the only tree, and that no tree has
    fewer leaves, or costs or errs less than nothing.

    names : of the axes, ``train_error`` first.
    why : the note.
    """
    objects = problem.objects
    weights = np.bincount(objects.label, objects.weight, objects.n_classes)
    tree = assemble(
        objects, problem.parts.impurity, None, lambda _: Choice(weights, float(objects.count.sum()))
    )
    error = float(1 - weights.max() / weights.sum())
    others = tuple(float(name == "n_leaves") for name in names[1:])
    front = Front(names, [FrontPoint((error, *others), tree)], [(0.0, *others)])
    return Solution(tree, error, 0.0, Status.feasible, 0, finished=False, notes=(why,), front=front)


@attrs.frozen
class FrontSolver:
    """Exact Pareto fronts: for every price the least error, with a tree for each point.

    Dynamic programming over subtables: a subtable's front is made of the sums of its branches'
    fronts, test by test, without the points that another beats.  In rounds, so that it may stop at
    any time with trees and a proven bound; ``gap`` says how far the front may lie above the truth.
    Any tree that asks the run's tests counts, wherever it stops; stopping rules say which nodes are
    leaves.
    """

    kind = "solver"
    name = "front"
    paper = ""
    capabilities = (
        "classification",
        "multiclass",
        "weights",
        "prices",
        "multiway",
        "exact",
        "anytime",
    )
    example = "dataset=monk1-full method=front"
    minimises = ()

    axes: tuple[str, ...] = param(
        ("error", "expected_cost"),
        "error, then expected_cost, max_cost, n_leaves or depth; after the first two also n_leaves",
        converter=tuple,
    )
    trees: int = param(
        500, "points that get their tree, spread evenly over a front that has more (0: all)", ge=0
    )
    curves: bool = param(
        False,
        "also grow greedy trees by powers and hinged pairs, for all δ and α, and draw them "
        "beside the front",
    )

    def __attrs_post_init__(self) -> None:
        """Raise ConfigError for axes that are no front of this solver."""
        names = self.names
        third = names[2:] in ((), ("n_leaves",)) and len(set(names)) == len(names)
        if len(names) < 2 or names[0] != "train_error" or names[1] not in AXES or not third:
            way = (
                "say [error, expected_cost], [error, max_cost], [error, n_leaves], [error, "
                "depth], or one of the first two with n_leaves"
            )
            raise ConfigError(f"solver.axes=[{','.join(self.axes)}]: {way}")

    @property
    def names(self) -> tuple[str, ...]:
        """The axes by the metrics' names."""
        return tuple(
            {"error": "train_error", "leaves": "n_leaves"}.get(name, name) for name in self.axes
        )

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Find the whole front; of a budget that ends before any tree, the best leaf.  Raises
        CapabilityError or DataError with the way out.
        """
        try:
            search, units = self._make_search(problem, context)
            found = self.solution(search.run(context), units, context)
        except OutOfTime as why:
            return best_leaf_solution(problem, self.names, f"{why}; the front is the best leaf")
        if not self.curves or found.interrupted:
            return found
        curves = {**sure(found.front).curves, **dict(grow_greedy_curves(problem, self.names))}
        return attrs.evolve(found, front=attrs.evolve(sure(found.front), curves=curves))

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Load the kernels: solve the problem as far as greedy trees go."""
        from arboretum.api import sample

        context.progress(0, None, "loading the kernels of front")
        search, _ = self._make_search(
            attrs.evolve(problem, objects=sample(problem.objects)), context
        )
        self._build_trees(
            search.run(attrs.evolve(context, deadline=time.monotonic())), len(self.names), context
        )
        if self.curves:
            list(grow_greedy_curves(problem, self.names))

    def _make_search(
        self, problem: Problem, context: Context
    ) -> tuple[FrontSearch, tuple[Fraction | int, ...]]:
        """Return the search, not begun, and per axis the number by which its integers are divided.
        Raises CapabilityError for a leaf rule by impurity.
        """
        from arboretum_maxcost.fronts.lists import Form

        names = self.names
        rule = problem.parts.leaf_rule(obeyed=("max_depth", "max_leaves", "min_leaf"))
        limits = problem.parts.limits()
        if rule.delta is not None:
            raise CapabilityError(
                "solver front knows no leaf rule by impurity; use stopping=[pure], or limits"
            )
        space = exact_space(
            problem, priced=names[1] in ("expected_cost", "max_cost"), context=context
        )
        largest, leaf, per_node, per_mass = AXES[names[1]]
        counts = int("n_leaves" in names[2:] or limits.max_leaves is not None)
        light, _ = rule.levels(space.total)
        form = Form(
            largest=largest,
            leaf=leaf,
            per_node=per_node,
            per_mass=per_mass,
            counts=counts,
            most_leaves=limits.max_leaves or 1 << 30,
            min_leaf=limits.min_leaf,
            min_split=rule.min_split,
            light=math.floor(light),
            stop=UNLIMITED,
            cheapest=int(space.price.min(initial=0)),
        )
        scale = {"expected_cost": space.total / space.coin, "max_cost": 1 / space.coin}.get(
            names[1], 1
        )
        return FrontSearch(space, form, limits.max_depth), (space.total, scale, 1)[: len(names)]

    def _build_trees(
        self, search: FrontSearch, axes: int, context: Context
    ) -> tuple[dict[tuple[int, ...], Tree | None], bool]:
        """Return the tree of each point, None for those that get none, and whether these are more
        than asked for: only few are laid out once the time is up.

        axes : how many values a point has here, error, cost and, where leaves are an axis, these.
        A tree may be better than its point; its own values are the key then.
        """
        trees, known, cut = Trees(search), search.best_points(), False
        ends = context.deadline or math.inf
        found: dict[tuple[int, ...], Tree | None] = {}
        points = {point[:axes]: point[:3] for point in known.tolist()}
        kept = undominated(points)
        for done, number in enumerate(
            wanted := spread_evenly(len(kept), self.trees or len(kept), kept.index(min(kept)))
        ):
            now = time.monotonic()
            ends = min(ends, now) if search.interrupt else ends
            if cut := done > 0 and now > ends + MOMENT:
                break
            telling = partial(context.progress, done, len(wanted), "trees of the front")
            search.interrupt = Ended.of(telling).details or search.interrupt
            # of a round cut short, it may be better than what was known of it
            own, tree = trees.build_tree(known, points[kept[number]])
            found[own[:axes]] = found.get(own[:axes]) or tree
        return {**{values[:axes]: None for values in kept}, **found}, cut

    def solution(
        self, search: FrontSearch, units: tuple[Fraction | int, ...], context: Context = Context()
    ) -> Solution:
        """Return trees of all points, or of few where the time is up; what is proven, and how the
        search ended.

        units : per axis, the number by which its integers are divided.
        """
        axes, found, cut = len(units), *self._build_trees(search, len(units), context)
        shown = sum(tree is not None for tree in found.values())
        kept = undominated(found)
        exact = not search.stopped
        corners = kept if exact else [one[:axes] for one in search.corners.tolist()]

        def scaled(values: Sequence[int]) -> tuple[float, ...]:
            return tuple(
                value * unit.denominator / unit.numerator
                for value, unit in zip(values, units, strict=True)
            )

        greedy = tuple(
            sorted(
                (scaled(one[:axes]) for one in search.greedy.tolist()),
                key=lambda values: values[1:],
            )
        )
        front = Front(
            self.names,
            [FrontPoint(scaled(one), found[one]) for one in kept],
            [*map(scaled, corners)],
            {"greedy, cut back": greedy},
        )
        best = front.most_accurate
        status = Status.optimal if front.gap == 0.0 else Status.feasible
        details = {"rounds": search.rounds, "opened": search.opened, **search.interrupt}
        notes: tuple[str, ...] = (
            (
                f"{shown} of {len(kept)} points have their tree (solver.trees=0: all that "
                "there is time for)",
            )
            if shown < len(kept)
            else ()
        )
        if status is not Status.optimal:
            ended = Ended("interrupt" if search.interrupt else search.stopped)
            why = (
                f"{ended.why} in round {search.rounds + 1}, after {search.opened:,} subtables were "
                "opened"
            )
            notes += (
                f"{why}: at no price is the front's error more than {front.gap:.4g} above "
                "the least",
            )
        bound = (
            best.values[0] if status is Status.optimal else min(corner[0] for corner in front.bound)
        )
        return Solution(
            tree=best.tree,
            value=best.values[0],
            lower_bound=bound,
            status=status,
            subproblems=search.subproblems,
            finished=exact and not cut,
            notes=notes,
            details=details,
            front=front,
        )
