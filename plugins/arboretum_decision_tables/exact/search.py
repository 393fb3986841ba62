"""Anytime branch and bound where Δ(T) does not fit: one complexity, a tree, and a bound that no
tree undercuts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from arboretum.api import Context, Family, Form, Level, OutOfTime, Tree, laid_out
from arboretum.kernels.plain import fewer
from arboretum_decision_tables.exact.space import FAMILIES, Space
from arboretum_decision_tables.exact.trees import greedy_test, hand_down_nothing

if TYPE_CHECKING:
    from arboretum_decision_tables.exact.parts import Table


SLICE = 2_000_000
"""Row visits between two looks at the clock: some tens of milliseconds."""
FIRST_NODES = 1 << 12
EASE = 0.02
"""How far above the second best test the best one is followed; values from 0 to 0.1 were
measured, see the benchmark.
"""

CONJUNCTION_SHARE, LONGEST_LIST, WORDS_PER_SECOND = 0.1, 6.0, 1.2e8
"""Share of the seconds left for the conjunctions of the whole table, at most so many seconds, and
the speed at which they are listed.
"""


def minimise_complexity(
    space: Space,
    form: Form,
    context: Context = Context(),
    *,
    ease: float = EASE,
    widths: bool = True,
    ahead: bool = True,
) -> SubtableSearch:
    """Minimise ψ over the trees that the leaf rule allows, within the context's seconds and bytes;
    return the search after its run.  The solver, which goes on with one search several times,
    builds :class:`SubtableSearch` itself.

    ease : the best test is followed until its bound is above (1 + ease) times the second best's.
    widths : whether searches of few tests a subtable take turns with those that raise the bound.
    ahead : whether bounds look one test further.

    Raises OutOfTime where even the greedy tree, which is found first, takes longer than the seconds
    and a moment.
    """
    return SubtableSearch(space, form, ease=ease, ahead=ahead).run(context, widths=widths)


def load_kernels(space: Space, form: Form) -> None:
    """Load the kernels of :func:`minimise_complexity`, or compile them: a search on a table of the
    same dtypes.
    """
    from arboretum.kernels.solving.fingerprints import rehash

    minimise_complexity(space, form)
    slots = np.zeros((4, 2), np.uint64)
    rehash(slots, slots.copy())


class SubtableSearch:
    """Owns the arrays of search_kernels and enlarges them.  It may run again, with more of a
    budget, and goes on where it stopped.

    form : of the complexity.
    ease, ahead : as of :func:`minimise_complexity`.

    What is known when a run ends, values of ψ not divided by the total weight:

    value : ψ of ``best_tree()`` is at most that (less where the search was cut short just below an
        improved part).
    lower_bound : no tree is below it.
    stopped : "" when the minimum is proven, else what ran out, "seconds" or "bytes".
    """

    def __init__(self, space: Space, form: Form, *, ease: float = EASE, ahead: bool = True) -> None:
        from arboretum.kernels.solving.arrays import Arrays
        from arboretum_decision_tables.exact import search_kernels as kernels
        from arboretum_decision_tables.exact.bound_kernels import Setting
        from arboretum_decision_tables.exact.parts import closed_form_of

        self.space, self.kernels, self.context, self.plain_form = space, kernels, Context(), form
        self.table = table = _merge_contradicting_objects(space)
        multiway = space.family == FAMILIES[Family.multiway]
        arity = max(2, int(np.where(multiway, space.n_bins, 2).max(initial=2)))
        least = float(space.price.min(initial=math.inf)) if len(space.price) else 0.0
        light = float(np.sort(table.rows["weight"])[:2].sum())
        self.form = closed_form_of(form)
        free, share, few = space.light
        looks = ahead and math.isfinite(free)
        self.setting = Setting(
            least=least,
            arity=arity,
            free=float(free),
            light=light,
            slack=space.slack,
            ease=ease,
            ahead=looks,
            share=float(share),
            few=few,
        )
        self.task = kernels.new_task(table, self.form, self.setting)
        self.state = np.zeros(1, kernels.STATE)
        n, tests = len(table.rows), max(1, len(space.price))
        self.arrays = Arrays(
            {
                "frames": np.zeros(64, kernels.FRAME),
                "rows": np.zeros(4 * n + 64, np.int32),
                "tests": np.zeros(16 * tests, kernels.LISTED),
                "slots": np.zeros((2 * FIRST_NODES, 2), np.uint64),
                "low": np.zeros(FIRST_NODES),
                "other": np.zeros(FIRST_NODES),
                "up": np.full(FIRST_NODES, math.inf),
                "best": np.full(FIRST_NODES, -1, np.int64),
                "wide": np.zeros(FIRST_NODES, np.bool_),
            }
        )
        self.bound = 0.0
        self.stopped = ""
        self.width = 1
        self.value = math.inf
        self.lower_bound = 0.0
        self.budget: int | None = None

    @property
    def solved(self) -> bool:
        """Whether the minimum is proven."""
        return not self.stopped

    @property
    def subproblems(self) -> int:
        """Distinct subtables visited."""
        return int(self.state["nodes"][0])

    @property
    def opened(self) -> int:
        """Subtables opened, each as often as it was opened again."""
        return int(self.state["visits"][0])

    @property
    def peak_bytes(self) -> int:
        """Most bytes that the arrays of the search held at once."""
        return self.arrays.peak

    def best_tree(self) -> Tree:
        """Return the best tree known: below every subtable the test that the search kept for it,
        and ``greedy_test`` where it kept none.
        """
        from arboretum.kernels.solving.fingerprints import find

        space, slots, best = self.space, self.arrays["slots"], self.arrays["best"]

        def choose(level: Level, token: None) -> tuple[np.ndarray, Callable[[Level], None]]:
            """Return the test of every set of a level, int64[sets] (−1: a leaf), and what is handed
            down: nothing.
            """
            test = np.full(len(level), -1)
            inner = np.flatnonzero(~space.are_leaves(level))
            for k, words in zip(inner.tolist(), level.sums(space.words)[inner], strict=True):
                node = int(find(slots, *words))
                # two objects of which no record is kept: any test that divides them is as good
                test[k] = best[node] if node >= 0 else greedy_test(space, level.of(k))
            return test, hand_down_nothing

        return laid_out(space, space.price, None, choose)

    def run(self, context: Context, *, widths: bool = True) -> SubtableSearch:
        """Minimise within the context's seconds and bytes; what an earlier run found of subtables
        is known.

        widths : as of :func:`minimise_complexity`.
        Raises OutOfTime where there is not even a greedy tree by the context's latest moment.
        """
        space, start = self.space, time.monotonic()
        self.context, self.stopped, deadline = context, "", context.deadline
        everything = np.arange(space.n_objects)
        if space.is_leaf(everything) or not (space.codes != space.codes[:, :1]).any():
            self.value = self.lower_bound = self.plain_form.leaf
            return self
        others: Sequence[int] = ()
        if self.width == 1:
            self._enter_root()
            first, *others = self._ordered_heuristics()
            if (
                not self._search_few_tests(
                    1, first, math.inf if context.latest is None else context.latest
                )
                and self.stopped != "bytes"
            ):
                raise OutOfTime(
                    "the budget of seconds ran out before there was a tree that obeys the "
                    "leaf rule; raise budget.seconds"
                )
        self.budget = context.memory_bytes  # there is a tree now
        if self.budget is not None and self.arrays.bytes_used() > self.budget:
            self.stopped = "bytes"
        for heuristic in others:
            if not self.stopped:
                self._search_few_tests(1, heuristic, math.inf if deadline is None else deadline)
        if self.width == 1:
            self._raise_bound_by_conjunctions(
                min(LONGEST_LIST, CONJUNCTION_SHARE * self._seconds_left())
            )
            self.width = 2
        left = self._seconds_left()
        quick = min(1.0, 0.1 * left)
        solved = not self.stopped and self._raise_lower_bound(time.monotonic() + quick)
        until = time.monotonic() + 0.5 * (left - quick) if left < math.inf else math.inf
        while widths and not solved and not self.stopped:
            limit = (
                until if until < math.inf else time.monotonic() + 2.0 * (time.monotonic() - start)
            )
            limit = min(limit, until)
            ended = self._search_few_tests(self.width, self._ordered_heuristics()[0], limit)
            if not ended or self.width >= len(space.price) or time.monotonic() >= until:
                break
            self.width += max(1, self.width // 2)
            solved = self._raise_lower_bound(
                time.monotonic() + (min(1.0, 0.05 * left) if left < math.inf else 1.0 * self.width)
            )
        if not solved and not self.stopped:
            solved = self._raise_lower_bound(math.inf if deadline is None else deadline)
            if not solved and not self.stopped:
                self.stopped = "seconds"
        self.lower_bound, self.value = self._root_bounds()
        if solved:
            self.stopped, self.lower_bound = "", self.value
        return self

    def _root_bounds(self) -> tuple[float, float]:
        """Return (lower, upper) bound of ψ of the whole table, the lower one less what rounding may
        have added.
        """
        low, value = float(self.arrays["low"][0]), float(self.arrays["up"][0])
        return min(value, max(low, self.bound) * (1 - self.space.slack)), value

    def _ordered_heuristics(self) -> tuple[int, ...]:
        """Return the numbers by which tests are ordered, the most promising first: for maxima
        (depth, max cost) pairs of classes lead, for sums entropy.
        """
        from arboretum_decision_tables.exact import bound_kernels as bounds

        if self.plain_form.combine == "max":
            return bounds.PAIRS, bounds.WORST_PAIRS, bounds.WORST_ENTROPY, bounds.ENTROPY
        return bounds.ENTROPY, bounds.PAIRS, bounds.GINI

    def _enter_root(self) -> None:
        """Make the whole table subtable 0, with the lower bound that its class weights prove."""
        from arboretum.kernels.solving.fingerprints import enter

        arrays = self.arrays
        enter(arrays["slots"], *self.space.words.sum(axis=0, dtype=np.uint64), 0)
        self.bound = self._bound_by_classes()
        arrays["low"][0] = arrays["other"][0] = self.bound
        self.state["nodes"] = 1

    def _bound_by_classes(self) -> float:
        """Return a lower bound of ψ of the whole table by its class weights
        (``lower_bound_of_part``); objects that share a leaf with no other count as classes of their
        own.
        """
        from arboretum_decision_tables.exact.bound_kernels import lower_bound_of_part

        group, weight = self.table.rows["group"], self.table.rows["weight"]
        several = group >= 0
        class_weight = np.append(np.bincount(group[several], weight[several]), weight[~several])
        return float(
            lower_bound_of_part(
                self.space.total_mass,
                class_weight,
                0,
                0.0,
                self.form,
                self.setting,
                np.zeros(len(class_weight)),
            )
        )

    def _seconds_left(self) -> float:
        """Return the seconds until the deadline, at least 0."""
        deadline = self.context.deadline
        return math.inf if deadline is None else max(0.0, deadline - time.monotonic())

    def _raise_bound_by_conjunctions(self, seconds: float) -> None:
        """Raise the root's bound by the conjunctions of as many literals as are listed in about
        that time; of sums only where mass counts, and not where an impurity makes leaves.
        """
        from arboretum_decision_tables.exact.bound_kernels import (
            conjunction_bound_of_table,
            fitting_depth,
        )

        form = self.plain_form
        if not self.setting.ahead or not (form.combine == "max" or form.per_mass > 0):
            return
        literals = int(
            np.where(self.space.family == 0, self.space.n_bins, 2 * self.space.n_bins).sum()
        )
        n = len(self.table.rows)
        depth = fitting_depth(literals, (n + 63) // 64, seconds * WORDS_PER_SECOND)
        if depth > 0:
            self.bound = max(
                self.bound,
                float(conjunction_bound_of_table(self.table, self.form, self.setting, depth)),
            )
            for name in ("low", "other"):
                self.arrays[name][0] = max(self.arrays[name][0], self.bound)

    def _push_root(self) -> None:
        """Put the whole table on the stack as the only open subtable; what is known of subtables
        stays.
        """
        arrays, state, n = self.arrays, self.state[0], len(self.table.rows)
        arrays["frames"][0] = 0, n, 0, 0, -1, -1, math.inf
        arrays["rows"][:n] = np.arange(n)
        state["frames"], state["rows"], state["tests"] = 1, n, 0

    def _search_few_tests(self, width: int, heuristic: int, until: float) -> bool:
        """Search for the best tree that uses ``width`` tests per subtable only; return False when
        that was not finished by ``until``, or for lack of bytes.

        width : at least 1.
        heuristic : what ranks the tests, of bound_kernels.
        until : ``time.monotonic()`` value; ∞: no limit.
        """
        n = int(self.state["nodes"][0])
        self.arrays["other"][:n] = self.arrays["low"][:n]
        return self._search_from_root(width, heuristic, until, "other", "low")

    def _raise_lower_bound(self, until: float) -> bool:
        """Raise the lower bound of the root; True when it has met the upper one.

        until : ``time.monotonic()`` value; ∞: no limit.
        """
        return self._search_from_root(0, -1, until, "low", "other")

    def _search_from_root(
        self, width: int, heuristic: int, until: float, low: str, other: str
    ) -> bool:
        """Search from the root slice by slice, and return whether that was finished.

        Where it was not, the tree under way is closed up to the root with what is known, and
        ``stopped`` is "bytes" where there was no room; it says nothing of seconds.

        width : tests per subtable, 0: all.
        heuristic : what ranks tests, of bound_kernels; −1: none.
        until : ``time.monotonic()`` value; ∞: no limit.
        low, other : names of the arrays with this search's lower bounds, and the other way's.
        """
        from arboretum.kernels.solving.slices import run_slices

        self._push_root()
        with self.arrays.moved_by(until):
            spent = run_slices(
                lambda: self._work_for_a_slice(width, heuristic, False, low, other),
                self._enlarge_arrays,
                None if until == math.inf else until,
                self._report,
            )
        if spent:
            self.stopped = "bytes" if spent == "bytes" else self.stopped
            self._work_for_a_slice(width, heuristic, True, low, other)
            self._report()
        return not spent

    def _report(self) -> None:
        self.context.proven(*self._root_bounds())
        self.context.progress(0, 0, f"{self.subproblems:,} subtables visited")

    def _work_for_a_slice(
        self, width: int, heuristic: int, unwind: bool, low: str, other: str
    ) -> int:
        """Work for a slice, and return how it ended (:mod:`arboretum.kernels.solving.slices`).

        Raises what an impurity without a kernel has raised.

        width, heuristic, low, other : as of ``_search_from_root``.
        unwind : open nothing any more, and take what is known up to the root.
        """
        kernels, arrays = self.kernels, self.arrays
        stacks = kernels.Stacks(self.state, *(arrays[name] for name in kernels.Stacks._fields[1:]))
        memory = kernels.Memory(
            arrays["slots"],
            arrays[low],
            arrays[other],
            arrays["up"],
            arrays["best"],
            arrays["wide"],
        )
        end = int(
            kernels.search_subtables(
                self.task._replace(memory=memory, heuristic=heuristic),
                width,
                unwind,
                fewer(SLICE, kernels.search_subtables),
                stacks,
            )
        )
        self.space.raise_from_impurity()
        return end

    def _enlarge_arrays(self) -> bool:
        """Make room for one more subtable; False when that exceeds the budget in bytes."""
        used, arrays = self.state[0], self.arrays
        nodes, frames = int(used["nodes"]) + 1, int(used["frames"]) + 1
        top = arrays["frames"][frames - 2]
        wanted = {
            "frames": frames,
            "rows": int(used["rows"] + top["high"] - top["low"]),
            "tests": int(used["tests"]) + len(self.space.price) + 1,
            "low": nodes,
            "other": nodes,
            "up": nodes,
            "best": nodes,
            "wide": nodes,
            "slots": 2 * nodes,
        }
        return arrays.make_room(wanted, self.budget)


def _merge_contradicting_objects(space: Space) -> Table:
    """Return the table of a space for the search, in which objects that contradict each other are
    one object with a class of its own (``group`` −1).

    No test divides them, so they end in one leaf, wherever that is.  They stay apart when the leaf
    rule looks at impurities, which need their classes.
    """
    table = space.make_table()
    if not space.inconsistent:
        return table
    rows, classes = table.rows.copy(), space.objects.n_classes
    _, first, cell, times = np.unique(
        space.codes.T, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    cell = cell.ravel()
    if not math.isnan(table.rule.impurity):
        rows["purity"] = np.where(times[cell] == 1, rows["label"], classes + cell)
        rows["group"] = rows["label"][first[cell]]
        return table._replace(rows=rows)
    order = np.argsort(first)
    cell, first, alone = np.argsort(order)[cell], first[order], times[order] > 1
    merged = rows[first]
    merged["purity"] = np.where(alone, classes + np.arange(len(first)), merged["label"])
    merged["group"] = np.where(alone, -1, merged["label"])
    for name in ("weight", "count", "words"):
        merged[name] = 0
        np.add.at(merged[name], cell, rows[name])
    codes = np.ascontiguousarray(table.codes[:, first])
    return table._replace(codes=codes, rows=merged)
