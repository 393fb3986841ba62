"""A problem as the compared systems see it: two-way tests as bits, rows that agree on all of
them as one, costs in whole numbers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction

import attrs
import numpy as np

from arboretum.api import (
    BudgetError,
    CapabilityError,
    Context,
    Encoded,
    Family,
    Problem,
    Solution,
    Status,
    Tree,
    refuse_unfit,
    two_way_order,
    two_way_tree,
)

DEFAULT_BYTES = 4_000_000_000
"""Of a solver's own, where the run sets no budget.memory_mb."""
PER_OUTCOME, MADE = 5, 4
"""Steps for each outcome of a test of an object: told from the code, packed, laid out; that many
times over until a search has divided a first set.
"""
MOST = 1 << 60
"""All costs together stay below, so that sums of four of them fit into 63 bits."""


Costs = Callable[[Problem, str], tuple[np.ndarray, int, Fraction]]


def decimal(number: float) -> Fraction:
    """The number as it is written, not as it is stored: 0.1 is 1/10."""
    return Fraction(repr(float(number)))


@attrs.frozen(eq=False)
class Binary:
    """What an exact search over two-way tests reads.

    outcome : bool[tests, groups], of the tests that divide the rows; of those that divide them
        alike, the first.
    tests : int64[tests], the problem's index of each.
    group : int64[objects], the group of each object: all that agree on every test.
    cost : int64[groups, classes], what a leaf pays for the group by the class that it predicts.
    leaf : what a leaf pays besides (λ).
    rows : int64[groups], training rows.
    unit : what cost 1 is worth in the objective.
    """

    problem: Problem
    outcome: np.ndarray
    tests: np.ndarray
    group: np.ndarray
    cost: np.ndarray
    leaf: int
    rows: np.ndarray
    unit: Fraction

    @property
    def inevitable(self) -> int:
        """What every tree pays for groups that hold several classes, one leaf not counted
        (equivalent points, B.9).
        """
        return int(self.cost.min(axis=1).sum())

    def value(self, cost: int) -> float:
        """In the objective's unit."""
        return float(cost * self.unit)

    def tree(self, nodes: np.ndarray) -> Tree:
        """The tree on the problem's objects, each label one of least cost.

        nodes : int64[nodes, 3], (test or −1 for a leaf, node of outcome 0, node of outcome 1), root
            first.
        """
        problem, objects = self.problem, self.problem.objects
        nodes, at, moved = (
            two_way_order(nodes[:, [0, 2, 1]]),
            np.zeros(objects.n_objects, np.int64),
            np.arange(objects.n_objects),
        )
        n, classes = len(nodes), objects.n_classes
        weights, counts = np.zeros((n, classes)), np.zeros(n)
        while len(moved):  # one level down
            here = at[moved]
            weights += np.bincount(
                here * classes + objects.label[moved], objects.weight[moved], n * classes
            ).reshape(n, classes)
            counts += np.bincount(here, objects.count[moved], n)
            inner = nodes[here, 0] >= 0
            moved, here = moved[inner], here[inner]
            at[moved] = np.where(
                self.outcome[nodes[here, 0], self.group[moved]], nodes[here, 1], nodes[here, 2]
            )
        costs = getattr(problem.parts.objective, "label_costs", None)
        label = weights.argmax(axis=1) if costs is None else costs(weights, problem).argmin(axis=1)
        inner = nodes[:, 0] >= 0
        nodes[inner, 0] = self.tests[nodes[inner, 0]]
        tree = two_way_tree(
            objects,
            nodes,
            objects.rule,
            problem.prices.tests,
            (weights, counts, label, np.full(n, np.nan)),
        )
        return (
            tree
            if problem.parts.impurity is None
            else attrs.evolve(tree, impurity=problem.parts.impurity.value(tree.weights))
        )

    def solution(
        self,
        tree: Tree,
        lower: float,
        stopped: str,
        steps: tuple[int, str],
        details: dict[str, object],
    ) -> Solution:
        """The answer of a search.

        lower : what is proven of every tree.
        stopped : "" where the search came to its end, else what ended it (of :func:`run`).
        steps : how many, and what they are called.
        """
        value = float(self.problem.parts.objective.value(tree, self.problem))
        bound = value if not stopped else min(value, lower)
        notes = ()
        if bound < value:
            ended = (
                "the search was interrupted"
                if stopped == "interrupt"
                else f"the budget of {stopped} ran out"
            )
            notes = (
                f"{ended} after {steps[0]:,} {steps[1]}: the value is that of the best tree "
                f"found, and no tree is below {bound:g}",
            )
        status = Status.optimal if bound == value else Status.feasible
        return Solution(
            tree, value, bound, status, steps[0], status is Status.optimal, notes, details
        )


def read(
    problem: Problem,
    solver: str,
    obeyed: Sequence[str] = (),
    costs: Costs | None = None,
    context: Context = Context(),
) -> Binary:
    """Bits, groups and costs of a problem; raises CapabilityError or DataError, with the way out,
    for one that is none for the solver; OutOfTime.

    obeyed : names of limits that the solver takes care of.
    costs : of a problem, for a solver: int64[objects, classes], that of a leaf, and what 1 is
        worth; None: the objective is one of weighted errors, as accuracy, balanced, weighted and
        cost_matrix are, with ``factors`` and ``errors``.
    """
    objects, objective = problem.objects, problem.parts.objective
    refuse_unfit(solver, objects, problem.prices)
    rule = problem.parts.leaf_rule(obeyed=obeyed)
    if rule.theta or rule.delta is not None or rule.min_split > 2:
        raise CapabilityError(
            f"solver {solver} divides any node; leave the leaf rules (min_split, mass, "
            "impurity) out, or use solver=gosdt"
        )
    if getattr(objective, "mu", 0.0) or not (costs or hasattr(objective, "factors")):
        raise CapabilityError(
            f"solver {solver} minimises weighted errors + λ · leaves; use objective=accuracy "
            "without objective.mu, or solver=gosdt"
        )
    for feature in objects.features:
        if feature.arity > 2:
            ways = "encoder=onehot (a test per value), or encoder=midpoints"
            raise CapabilityError(
                f"solver {solver} asks two-way tests, but column {feature.column!r} has "
                f"{feature.n_bins} branches; use {ways}"
            )
    outcome, tests = _tests(objects, context)
    context.look(PER_OUTCOME * outcome.size)
    keys = list(map(bytes, np.ascontiguousarray(np.packbits(outcome, axis=0).T)))
    place = {key: k for k, key in enumerate(sorted(set(keys)))}
    group = np.array([place[key] for key in keys], np.int64)
    first = np.unique(group, return_index=True)[1]
    loss, leaf, unit = (costs or _costs)(problem, solver)
    cost = np.zeros((len(first), objects.n_classes), np.int64)
    np.add.at(cost, group, loss)
    rows = np.bincount(group, objects.count, len(first)).astype(np.int64)
    return Binary(problem, columns_of(outcome, first), tests, group, cost, leaf, rows, unit)


def columns_of(
    outcome: np.ndarray, which: np.ndarray, order: np.ndarray | None = None
) -> np.ndarray:
    """``outcome[order][:, which]`` of bool[tests, groups], row by row, since one row fits into a
    cache.
    """
    found = np.empty((len(outcome), len(which)), bool)
    for k, into in zip(range(len(outcome)) if order is None else order, found, strict=True):
        into[:] = outcome[k][which]
    return found


def words_of(outcome: np.ndarray) -> np.ndarray:
    """uint64[tests + 1, words]: the groups that each test of bool[tests, groups] sends to
    outcome 1 as bits, in the last row all groups.
    """
    (tests, groups), filled = outcome.shape, -(-outcome.shape[1] // 8)
    words = np.zeros((tests + 1, max(1, -(-groups // 64))), np.uint64)
    words.view(np.uint8)[:-1, :filled] = np.packbits(outcome, axis=1, bitorder="little")
    words.view(np.uint8)[-1, :filled] = np.packbits(np.ones(groups, bool), bitorder="little")
    return words


def _tests(objects: Encoded, context: Context) -> tuple[np.ndarray, np.ndarray]:
    """bool[tests, objects] and int64[tests]; without constant tests, repeated ones and
    complements.
    """
    found: dict[bytes, tuple[int, bool]] = {}
    for f, feature in enumerate(objects.features):
        code = objects.codes[:, f]
        for k in range(feature.n_tests):
            context.look(
                PER_OUTCOME
                * objects.n_objects
                * (objects.n_tests - int(objects.test_offset[f]) - k)
            )
            outcome = (
                code > k
                if feature.family is Family.thresholds
                else code != k
                if feature.family is Family.equals
                else code > 0
            )
            key = np.packbits(outcome ^ outcome[:1]).tobytes()
            if key.strip(b"\0"):
                found.setdefault(key, (int(objects.test_offset[f]) + k, bool(outcome[0])))
    # and of groups of them
    context.room(
        2 * len(found) * objects.n_objects,
        f"the outcomes of {len(found):,} tests of {objects.n_objects:,} objects",
    )
    outcomes = np.empty((len(found), objects.n_objects), bool)
    for into, (key, (_, first)) in zip(outcomes, found.items(), strict=True):
        into[:] = np.unpackbits(np.frombuffer(key, np.uint8), count=objects.n_objects) != first
    return outcomes, np.array([test for test, _ in found.values()], np.int64)


def _costs(problem: Problem, solver: str) -> tuple[np.ndarray, int, Fraction]:
    """int64[objects, classes] costs, that of a leaf, and what 1 is worth: all as the decimals
    that were written down.
    """
    objects, objective, classes = (
        problem.objects,
        problem.parts.objective,
        problem.objects.n_classes,
    )
    values, which = np.unique(objects.weight, return_inverse=True)
    kinds, member = np.unique(which.reshape(-1) * classes + objects.label, return_inverse=True)
    weight, label, number = (
        [decimal(one) for one in values[kinds // classes]],
        (kinds % classes).tolist(),
        np.bincount(member.reshape(-1)).tolist(),
    )
    total = [
        sum((w * n for w, y, n in zip(weight, label, number, strict=True) if y == k), Fraction(0))
        for k in range(classes)
    ]
    factor, errors, lam = (
        objective.factors(total),
        objective.errors(classes),
        decimal(objective.lam),
    )
    loss = [[w * factor[y] * one for one in errors[y]] for w, y in zip(weight, label, strict=True)]
    unit = unit_of({one for row in loss for one in row} | {lam})
    if (sum(max(row) * n for row, n in zip(loss, number, strict=True)) + lam) / unit >= MOST:
        raise CapabilityError(
            f"weights, costs and objective.lam do not fit into 60 bits for solver {solver}; "
            "give them fewer digits"
        )
    whole = np.array([[int(one / unit) for one in row] for row in loss], np.int64)
    return whole[member.reshape(-1)], int(lam / unit), unit


def unit_of(numbers: Collection[Fraction]) -> Fraction:
    """The greatest that they all are whole multiples of."""
    below = math.lcm(*(one.denominator for one in numbers))
    return Fraction(
        math.gcd(*(one.numerator * (below // one.denominator) for one in numbers)) or 1, below
    )


def room_of(context: Context, needed: int, what: str) -> int:
    """Bytes that a solver may allocate beside ``needed`` ones for ``what``, without which it
    cannot begin; raises BudgetError for too few.
    """
    most = DEFAULT_BYTES if context.memory_bytes is None else context.memory_bytes
    if needed > most:
        ways = "raise budget.memory_mb, or ask fewer tests (encoder=bins)"
        raise BudgetError(
            f"{what} take {needed / 1e6:,.0f} MB, and the budget is {most / 1e6:,.0f} MB; {ways}"
        )
    return most - needed


class Pace:
    """How much a slice of a kernel is to do: little at first, then what takes some 50 ms."""

    SECONDS = 0.05

    def __init__(self) -> None:
        self._amount = 1

    def timed(self, work: Callable[[int], int]) -> int:
        """A slice of ``work(amount)``; returns how it ended."""
        from arboretum.kernels.solving.slices import PAUSED

        start = time.perf_counter()
        found = work(self._amount)
        if found == PAUSED:
            self._amount = max(
                1,
                int(self._amount * min(4.0, self.SECONDS / max(1e-9, time.perf_counter() - start))),
            )
        return found


def run(
    work: Callable[[], int],
    make_room: Callable[[], bool],
    context: Context,
    tell: Callable[[], None],
) -> tuple[str, dict[str, object]]:
    """Work slice by slice (:mod:`arboretum.kernels.solving.slices`); "" or what ended it before
    its end, and what the details say of that.
    """
    from arboretum.kernels.solving.slices import run_slices

    try:
        return run_slices(work, make_room, context.deadline, tell), {}
    except KeyboardInterrupt as error:
        return "interrupt", {"interrupted": (*error.args, True)[0]}


def few(problem: Problem, most: int = 16) -> Problem:
    """The same problem with a few of its objects, on which kernels are loaded."""
    n = problem.objects.n_objects
    return attrs.evolve(
        problem,
        objects=problem.objects.take(
            np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))
        ),
    )
