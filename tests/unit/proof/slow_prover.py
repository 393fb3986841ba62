"""A solver that is obviously right and writes everything it finds: the least cost of every set
that divisions lead to.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import attrs
import numpy as np

from arboretum.api import (
    Column,
    ColumnKind,
    Encoded,
    LeafRule,
    Limits,
    Parts,
    Problem,
    RawFeature,
    Table,
    Target,
    Task,
)
from arboretum.proof.writing import ProofWriter
from arboretum.testing.oracles import build_tree
from arboretum.testing.tables import prices_of, toy_objects


@attrs.frozen
class Prover:
    """Stands for the solver of a run."""

    kind, name, paper, capabilities = "solver", "slow_prover", "", ()


@attrs.frozen
class Within:
    """Limits of a run."""

    kind, name, paper, capabilities = "stopping", "within", "", ()
    max_depth: int | None = None
    max_leaves: int | None = None
    min_leaf: int = 1

    def limits(self):
        return Limits(self.max_depth, self.max_leaves, self.min_leaf)

    def leaf_rule(self):
        return LeafRule()


def problem_of(
    x: np.ndarray, label: np.ndarray, objective, weight=None, seed=3, **limits
) -> Problem:
    """x : int[n, columns], 0 and 1.

    label : int[n].
    seed : of the prices, where the objective counts them.
    """
    columns = [
        Column(f"x{f}", ColumnKind.categorical, values.astype(np.int32), ("a", "b"))
        for f, values in enumerate(x.T)
    ]
    target = Target(
        "y",
        Task.classification,
        label.astype(np.int32),
        tuple(f"c{k}" for k in range(max(2, label.max() + 1))),
    )
    objects = toy_objects(Table("drawn", tuple(columns), target, weight), multiway=False)
    return _problem(objects, objective, limits, seed)


def raw_problem_of(
    x: np.ndarray, raw: np.ndarray, label: np.ndarray, objective, weight=None, seed=3, **limits
) -> Problem:
    """The same with raw columns beside.   raw : float[n, columns]."""
    objects = problem_of(x, label, objective, weight).objects
    columns = [
        Column(f"z{g}", ColumnKind.continuous, values.astype(float))
        for g, values in enumerate(raw.T)
    ]
    table = attrs.evolve(objects.table, columns=(*objects.table.columns, *columns))
    features = tuple(RawFeature(column.name, x.shape[1] + g) for g, column in enumerate(columns))
    return _problem(
        attrs.evolve(objects, table=table, raw_features=features, raw=raw.astype(float)),
        objective,
        limits,
        seed,
    )


def _problem(objects: Encoded, objective, limits, seed) -> Problem:
    parts = Parts(method=None, objective=objective, solver=Prover(), stopping=(Within(**limits),))
    prices = prices_of(objects, seed if objective.mu else None)
    return Problem(objects, attrs.evolve(prices, raw=np.arange(2.0, 2.0 + len(prices.raw))), parts)


def costs_of(problem: Problem) -> list[list[Fraction]]:
    """What each object costs by the answer, as a value of the objective."""
    objects, objective = problem.objects, problem.parts.objective
    weight, label = [Fraction(repr(float(w))) for w in objects.weight], objects.label.tolist()
    total = [
        sum((w for w, y in zip(weight, label, strict=False) if y == k), Fraction(0))
        for k in range(objects.n_classes)
    ]
    factors, errors = objective.factors(total), objective.errors(objects.n_classes)
    return [
        [w * factors[y] * error for error in errors[y]] for w, y in zip(weight, label, strict=True)
    ]


def paid_of(problem: Problem) -> list[list[Fraction]]:
    """What each of the problem's tests costs for each object, as a value of the objective."""
    weight = [Fraction(repr(float(w))) for w in problem.objects.weight]
    mu, prices = (
        Fraction(repr(float(problem.parts.objective.mu))),
        (*problem.prices.tests.tolist(), *problem.prices.raw.tolist()),
    )
    return [[mu * Fraction(repr(price)) * w / sum(weight) for w in weight] for price in prices]


def unit_of(problem: Problem) -> Fraction:
    """The largest unit that divides λ, all costs and all prices."""
    values = {cost for row in (*costs_of(problem), *paid_of(problem)) for cost in row} | {
        Fraction(repr(float(problem.parts.objective.lam)))
    }
    below = math.lcm(*(value.denominator for value in values))
    return Fraction(math.gcd(*(int(value * below) for value in values)) or 1, below)


class Exact:
    """The least cost of sets of objects by the definition: every test, every depth, every number
    of leaves.
    """

    def __init__(self, problem: Problem, unit: Fraction) -> None:
        from arboretum.testing.oracles import outcomes

        objects = problem.objects
        self.problem, self.min_leaf = problem, problem.parts.limits().min_leaf
        fixed, everything = int(objects.test_offset[-1]), np.arange(objects.n_objects)
        self.answers = [outcomes(objects, t, everything).tolist() for t in range(fixed)]
        self.literals = [((t, 0), (t, 1)) for t in range(fixed)]  # of outcome 0 and of outcome 1
        for g, values in enumerate(objects.raw.T):
            for cut, value in enumerate(np.unique(values)):
                self.answers.append((values <= value).astype(int).tolist())
                self.literals.append(((fixed + g, 2 * cut), (fixed + g, 2 * cut + 1)))
        self.tests = len(self.answers)
        paid = [[cost / unit for cost in row] for row in paid_of(problem)]
        self.price = [paid[literals[0][0]] for literals in self.literals]
        self.cost = [[cost / unit for cost in row] for row in costs_of(problem)]
        self.p = Fraction(repr(float(problem.parts.objective.lam))) / unit
        self.count = objects.count.tolist()
        self.least = functools.cache(self._least)
        groups: dict = {}
        for u in range(objects.n_objects):
            groups.setdefault(tuple(answer[u] for answer in self.answers), []).append(u)
        self.saved = []  # (an object, what each label saves) per merged object
        for group in groups.values():
            by_label = [sum(self.cost[u][k] for u in group) for k in range(objects.n_classes)]
            self.saved.append((group[0], [max(by_label) - cost for cost in by_label]))

    def leaf(self, rows: frozenset) -> Fraction:
        """As the log counts it."""
        saved = [each for u, each in self.saved if u in rows]
        return (
            sum(map(sum, saved), Fraction(0))
            - max(map(sum, zip(*saved, strict=True)), default=0)
            + self.p
        )

    def part(self, rows: frozenset, test: int, outcome: int) -> frozenset:
        return frozenset(u for u in rows if self.answers[test][u] == outcome)

    def divisions(self, rows: frozenset):
        for t in range(self.tests):
            one, zero = self.part(rows, t, 1), self.part(rows, t, 0)
            if (
                one
                and zero
                and min(sum(self.count[u] for u in side) for side in (one, zero)) >= self.min_leaf
            ):
                yield t, one, zero

    def _least(self, rows: frozenset, depth: int, leaves: int) -> tuple[Fraction, int]:
        """The least cost and the test of a best tree, −1 for a leaf."""
        best = (self.leaf(rows), -1)
        if depth == 0 or leaves == 1:
            return best
        for t, one, zero in self.divisions(rows):
            for here, there in self.shares(leaves):
                cost = (
                    self.paid(rows, t)
                    + self.least(one, max(depth - 1, -1), here)[0]
                    + self.least(zero, max(depth - 1, -1), there)[0]
                )
                best = min(best, (cost, t))
        return best

    def paid(self, rows: frozenset, test: int) -> Fraction:
        return sum((self.price[test][u] for u in rows), Fraction(0))

    @staticmethod
    def shares(leaves: int):
        return [(-1, -1)] if leaves < 0 else [(n, leaves - n) for n in range(1, leaves)]

    def sketch(self, rows: frozenset, depth: int, leaves: int):
        cost, test = self.least(rows, depth, leaves)
        if test < 0:
            return None
        one, zero, below = self.part(rows, test, 1), self.part(rows, test, 0), max(depth - 1, -1)
        for here, there in self.shares(leaves):
            if (
                self.paid(rows, test)
                + self.least(one, below, here)[0]
                + self.least(zero, below, there)[0]
                == cost
            ):
                return test, {1: self.sketch(one, below, here), 0: self.sketch(zero, below, there)}
        raise AssertionError


def closed_sets(exact: Exact, depth: int, leaves: int) -> list[tuple[list, frozenset, int, int]]:
    """(path, rows, depth, leaves) of every subproblem, each once, parts before what they are
    parts of.
    """
    seen, found = set(), []

    def visit(path, rows, depth, leaves):
        if (rows, depth, leaves) in seen:
            return
        seen.add((rows, depth, leaves))
        if depth != 0 and leaves != 1:
            for t, one, zero in exact.divisions(rows):
                for here, there in exact.shares(leaves):
                    visit([*path, exact.literals[t][1]], one, max(depth - 1, -1), here)
                    visit([*path, exact.literals[t][0]], zero, max(depth - 1, -1), there)
        found.append((path, rows, depth, leaves))

    visit([], frozenset(range(exact.problem.objects.n_objects)), depth, leaves)
    return found


def prove(problem: Problem, path, *, change=lambda record: record, keep=lambda number: True):
    """Solve, and write the log.

    change : of (path, bound, depth, leaves) before it is written.
    keep : which records.
    """
    unit, limits = unit_of(problem), problem.parts.limits()
    exact = Exact(problem, unit)
    depth, leaves = (
        -1 if value is None else value for value in (limits.max_depth, limits.max_leaves)
    )
    everything = frozenset(range(problem.objects.n_objects))
    cost = int(exact.least(everything, depth, leaves)[0])
    with ProofWriter(path, problem, tests=range(problem.objects.n_tests), unit=unit) as log:
        sets = closed_sets(exact, depth, leaves)
        for number, (literals, rows, d, n) in enumerate(sets):
            if keep(number) or number == len(sets) - 1:
                log.record(*change((literals, int(exact.least(rows, d, n)[0]), d, n)))
        if problem.objects.raw_features:
            log.close(cost, None, None)
            return exact, cost
        tree = build_tree(problem.objects, exact.sketch(everything, depth, leaves), problem.prices)
        best = (
            problem.parts.objective.label_costs(tree.weights, problem)
            .argmin(axis=1)
            .astype(np.int32)
        )
        log.close(cost, cost, attrs.evolve(tree, label=best))
    return exact, cost
