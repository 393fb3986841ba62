"""What exact solvers over fixed tests share: which problems they refuse, a problem of a few
objects, and trees of two-way tests.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TypeVar, cast

import attrs
import numpy as np

from arboretum.errors import CapabilityError, DataError, sure
from arboretum.interfaces.method import Context, Problem
from arboretum.interfaces.objective import CostsByObject
from arboretum.model.encoded import Encoded, Family, Prices
from arboretum.model.record import Solution
from arboretum.model.rules import TestRule
from arboretum.model.table import Task
from arboretum.model.tree import MISSING_STOPS, Tree
from arboretum.model.whole import common_unit, rational
from arboretum.solving.additive import (
    is_additive,
    label_costs,
    shares_of_costs,
    sum_by_group,
    whole_costs,
)
from arboretum.solving.attempt import Ended
from arboretum.solving.limits import TreeLimits

Part = TypeVar("Part")

PER_OUTCOME = 5
"""Steps for each outcome of a test of an object: told from the code, packed, laid out."""
AT_ONCE = 1 << 20
"""Outcomes of tests of objects that are laid out together: they fit into a cache."""
MOST = 1 << 60
"""All costs together stay below, so that sums of four of them fit into 63 bits."""


def refuse_unfit(
    solver: str,
    objects: Encoded,
    prices: Prices,
    *,
    raw: bool = False,
    two_way: bool = False,
    task: Task = Task.classification,
) -> None:
    """Raise CapabilityError or DataError, with the way out, but for objects of the task, fixed
    tests that all have an outcome, one price each.

    raw : columns may be.
    two_way : tests must be.
    """
    if objects.task is not task:
        raise CapabilityError(
            f"solver {solver} knows classes only, but the target is a number; make classes "
            "of it (dataset.task=classification)"
        )
    if objects.raw_features and not raw:
        name = objects.raw_features[0].column
        raise CapabilityError(
            f"solver {solver} needs fixed tests, but column {name!r} is raw; use "
            "encoder=multiway, midpoints or onehot"
        )
    if objects.n_objects == 0:
        raise DataError("no object to learn from; does the split leave any training row?")
    multiway = Family.multiway
    for feature in objects.features if two_way else ():
        if feature.n_bins > 2 and feature.family is multiway:
            raise CapabilityError(
                f"solver {solver} asks two-way tests, but column {feature.column!r} has "
                f"{feature.n_bins} branches; use "
                "encoder=onehot (a test per value), or encoder=midpoints"
            )
    if objects.incomplete:
        raise CapabilityError(
            f"solver {solver} needs an outcome of every test for every object, but column "
            f"{objects.incomplete[0].column!r} has missing values; use encoder.missing=category "
            "(or drop_rows)"
        )
    refuse_prices(solver, objects, prices)


def refuse_prices(solver: str, objects: Encoded, prices: Prices) -> None:
    """Raise CapabilityError, with the way out, where one number per test does not say what a
    path pays.
    """
    if not prices.fixed:
        raise CapabilityError(
            f"solver {solver} knows one price per test, and here it depends on the path or "
            "the outcome; choose cost=table or unit"
        )
    if not prices.once_per_column:
        return
    # a path may ask several thresholds
    columns = Counter({feature.column: 2 for feature in objects.raw_features})
    columns.update({feature.column: feature.n_tests for feature in objects.features})
    if several := [name for name, n in columns.items() if n > 1]:
        raise CapabilityError(
            f"solver {solver} knows prices of tests, but column {several[0]!r} is paid once for "
            "several tests; use encoder=multiway, or a cost that is paid per test (cost=table)"
        )


def spread(n: int, most: int = 16) -> np.ndarray:
    """Return int64[k]: so many of n objects, evenly; those on which kernels are loaded."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def few(problem: Problem, most: int = 16) -> Problem:
    """Return the same problem with at most ``most`` of its objects, as :func:`spread` takes them.

    Their labels are of all classes, since those of neighbours may ask for no search.
    """
    some = spread(problem.objects.n_objects, most)
    small = problem.objects.take(some)
    labels = np.random.default_rng(0).permutation(len(some)) % small.n_classes
    return attrs.evolve(
        problem, objects=attrs.evolve(small, label=labels.astype(small.label.dtype))
    )


def two_way_order(nodes: np.ndarray) -> np.ndarray:
    """Return the same tree, numbered depth first, the branch of outcome 0 before that of outcome 1.

    nodes : int64[nodes, 3], (test or −1 at a leaf, node of outcome 1, node of outcome 0), root
        first; what a leaf says there stays.
    """
    listed, found, waiting = nodes.tolist(), list[list[int]](), [(0, -1, 0)]
    while waiting:
        old, above, side = waiting.pop()
        if above >= 0:
            found[above][side] = len(found)
        test, one, rest = listed[old]
        if test >= 0:
            waiting += [(one, len(found), 1), (rest, len(found), 2)]
        found.append([test, -1, -1] if test >= 0 else [test, one, rest])
    return np.array(found, np.int64)


def two_way_tree(
    objects: Encoded,
    nodes: np.ndarray,
    rule: Callable[[int], TestRule],
    price: np.ndarray,
    held: tuple[np.ndarray, ...],
) -> Tree:
    """Return the tree of two-way tests.

    nodes : as :func:`two_way_order` gives them.
    rule : of a test.
    price : float64[tests].
    held : weights, counts, label and value, as in Tree.
    """
    n, (weights, counts, label, value) = len(nodes), held
    rule_of: dict[int, int] = {}
    test, paid, child, offset = [], list[float](), list[int](), [0]
    # without numpy, which takes twice as long for the few nodes that most trees have
    for asked, one, rest in nodes.tolist():
        inner = asked >= 0
        test.append(rule_of.setdefault(asked, len(rule_of)) if inner else -1)
        paid.append(price[asked] if inner else 0.0)
        child += [rest, one] if inner else []
        offset.append(len(child))
    nothing = np.full(n, np.nan)
    return Tree(
        task=objects.task,
        columns=tuple(column.spec for column in objects.table.columns),
        classes=objects.table.target.classes,
        rules=tuple(map(rule, rule_of)),
        test=np.array(test, np.int32),
        child_offset=np.array(offset, np.int64),
        child=np.array(child, np.int32),
        missing_child=np.full(n, MISSING_STOPS, np.int32),
        weights=weights,
        counts=counts,
        label=label,
        value=value,
        price=np.array(paid),
        impurity=nothing,
        score=nothing,
    )


Costs = Callable[[Problem, str], tuple[np.ndarray, int, Fraction]]


@attrs.frozen(eq=False)
class TwoWay:
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

    @cached_property
    def inevitable(self) -> int:
        """What every tree pays for groups that hold several classes, one leaf not counted."""
        return int(self.cost.min(axis=1).sum())

    @property
    def logged(self) -> np.ndarray:
        """int64[groups]: what a proof log counts for a group beside its cost."""
        most = (self.cost.shape[1] - 1) * self.cost.max(axis=1)
        more: np.ndarray = most - self.cost.sum(axis=1)
        return more

    def value(self, cost: int) -> float:
        """In the objective's unit, rounded once."""
        return int(cost) * self.unit.numerator / self.unit.denominator

    def grown(self, test_of: Callable[[np.ndarray], int]) -> Tree:
        """Return the tree that asks every set the test that is said of it.

        test_of : of bool[groups], the place of a test, −1 for a leaf.
        """

        def divided(rows: np.ndarray) -> tuple[int, np.ndarray, np.ndarray] | None:
            if (test := test_of(rows)) < 0:
                return None
            return test, rows & ~self.outcome[test], rows & self.outcome[test]

        return self.tree(self.nodes_of(np.ones(len(self.cost), bool), divided))

    @staticmethod
    def nodes_of(
        root: Part, divided: Callable[[Part], tuple[int, Part, Part] | None]
    ) -> np.ndarray:
        """Return the nodes as :meth:`tree` reads them.

        divided : of a part of the rows, the test and the parts of its outcomes; None for a leaf.
        """
        nodes: list[list[int]] = []

        def grow(part: Part) -> int:
            """Append the nodes of a part, depth first; returns the number of its top."""
            at, found = len(nodes), divided(part)
            nodes.append([-1, -1, -1])
            if found is not None:
                test, *below = found
                nodes[at] = [test, *map(grow, below)]
            return at

        grow(root)
        return np.array(nodes)

    def tree(self, nodes: np.ndarray) -> Tree:
        """Return the tree on the problem's objects, each label one of least cost.

        nodes : int64[nodes, 3], (test or −1 for a leaf, node of outcome 0, node of outcome 1), root
            first.
        """
        problem, objects = self.problem, self.problem.objects
        nodes = two_way_order(nodes[:, [0, 2, 1]])
        n, classes = len(nodes), objects.n_classes
        weights, counts = np.zeros((n, classes)), np.zeros(n)
        own = shares_of_costs(problem)
        costs = None if own is None else np.zeros((n, classes))
        test, below = nodes[:, 0].copy(), nodes[:, [2, 1]]
        moved = np.arange(objects.n_objects)
        here = np.zeros(len(moved), np.int64)
        while len(moved):  # one level down
            if own is not None:
                costs += sum_by_group(own[moved], here, n)
            weights += np.bincount(
                here * classes + objects.label[moved], objects.weight[moved], n * classes
            ).reshape(n, classes)
            counts += np.bincount(here, objects.count[moved], n)
            inner = test[here] >= 0
            moved, here = moved[inner], here[inner]
            here = below[here, self.outcome[test[here], self.group[moved]].view(np.int8)]
        label = label_costs(problem, weights, costs).argmin(axis=1)
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
        ended: Ended,
        steps: tuple[int, str],
        details: Mapping[str, object],
    ) -> Solution:
        """Return the answer of a search.

        tree : the best found.   ended : what ended the search.
        lower : what is proven of every tree.
        steps : how many, and what they are called.
        """
        value = float(sure(self.problem.parts.objective).value(tree, self.problem))
        after = f"after {steps[0]:,} {steps[1]}"
        return ended.solution(tree, value, lower, steps[0], after, details=details)


def two_way_problem(
    problem: Problem,
    solver: str,
    obeyed: Sequence[str] = (),
    costs: Costs | None = None,
    context: Context = Context(),
) -> TwoWay:
    """Bits, groups and costs of a problem; raises CapabilityError or DataError, with the way out,
    for one that is none for the solver; OutOfTime.

    obeyed : names of limits that the solver takes care of.
    costs : of a problem, for a solver: int64[objects, classes], that of a leaf, and what 1 is
        worth; None: the objective is a sum over objects, as accuracy, balanced, weighted and
        cost_matrix are, with ``costs``, or ``factors`` and ``errors``.
    """
    objects, objective = problem.objects, problem.parts.objective
    refuse_unfit(solver, objects, problem.prices, two_way=True)
    TreeLimits.of(solver, problem, obeyed).refuse_rules(solver, obeyed)
    if getattr(objective, "mu", 0.0) or not (costs or is_additive(objective)):
        raise CapabilityError(
            f"solver {solver} minimises sums over objects + λ · leaves; use objective=accuracy "
            "without objective.mu, or another solver"
        )
    outcome, tests = _distinct_tests(objects, context)
    context.check_time(PER_OUTCOME * outcome.size)
    group, first = _equal_objects(outcome)
    loss, leaf, unit = (costs or _whole_costs)(problem, solver)
    cost = np.zeros((len(first), objects.n_classes), np.int64)
    np.add.at(cost, group, loss)
    rows = np.bincount(group, objects.count, len(first)).astype(np.int64)
    return TwoWay(
        problem,
        columns_of(outcome, first),
        tests,
        group,
        cost=cost,
        leaf=leaf,
        rows=rows,
        unit=unit,
    )


def columns_of(
    outcome: np.ndarray, which: np.ndarray, order: np.ndarray | None = None
) -> np.ndarray:
    """``outcome[order][:, which]`` of bool[tests, groups], row by row where not all of it fits into
    a cache.

    which : int, groups; order : int, tests, None: all in their order.
    """
    if outcome.size <= AT_ONCE:
        return (outcome if order is None else outcome[order]).take(which, axis=1)
    found = np.empty((len(outcome), len(which)), bool)
    for k, into in zip(range(len(outcome)) if order is None else order, found, strict=True):
        into[:] = outcome[k][which]
    return found


def _distinct_tests(objects: Encoded, context: Context) -> tuple[np.ndarray, np.ndarray]:
    """Return bool[tests, objects] and int64[tests]; without constant tests, repeated ones and
    complements.
    """
    found: dict[bytes, tuple[int, bool]] = {}
    n, tests = objects.n_objects, objects.n_tests
    ends, at_once = pairwise(objects.test_offset.tolist()), max(1, AT_ONCE // max(1, n))
    asked = (
        (feature.family, code, test)
        for feature, code, (begin, end) in zip(objects.features, objects.codes.T, ends, strict=True)
        for test in range(end - begin)
    )
    for start in range(0, tests, at_once):
        context.check_time(PER_OUTCOME * n * (tests - start))
        outcome = np.empty((min(at_once, tests - start), n), bool)
        for into, (family, code, test) in zip(outcome, asked, strict=False):
            np.greater(family.outcome(test, code), 0, out=into)
        first = outcome[:, 0].tolist() if n else [False] * len(outcome)
        bits = np.packbits(outcome ^ outcome[:, :1], axis=1)
        for k in np.flatnonzero(bits.any(axis=1)).tolist():
            found.setdefault(bits[k].tobytes(), (start + k, first[k]))
    # and of groups of them
    context.room(2 * len(found) * n, f"the outcomes of {len(found):,} tests of {n:,} objects")
    kept = np.array([test for test, _ in found.values()], np.int64)
    if len(found) and tests <= at_once:  # all of them are still there
        return outcome[kept], kept
    outcomes = np.empty((len(found), n), bool)
    for into, (key, (_, one)) in zip(outcomes, found.items(), strict=True):
        into[:] = np.unpackbits(np.frombuffer(key, np.uint8), count=n) != one
    return outcomes, kept


def _equal_objects(outcome: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return int64[objects], the group of equal ones that each is in, in the order of their
    outcomes, and int64[groups], the first of each.

    outcome : bool[tests, objects].
    """
    packed = np.ascontiguousarray(np.packbits(outcome, axis=0).T)
    if packed.shape[1] <= 8:  # as numbers, the first byte the highest
        wide = np.zeros((len(packed), 8), np.uint8)
        wide[:, : packed.shape[1]] = packed
        numbers = wide.view(">u8")[:, 0].astype(np.uint64)
        _, first, group = np.unique(numbers, return_index=True, return_inverse=True)
        return group.astype(np.int64), first
    keys = list(map(bytes, packed))
    place = {key: k for k, key in enumerate(sorted(set(keys)))}
    of_objects = np.array([place[key] for key in keys], np.int64)
    return of_objects, np.unique(of_objects, return_index=True)[1]


def _whole_costs(problem: Problem, solver: str) -> tuple[np.ndarray, int, Fraction]:
    """Return int64[objects, classes] costs, that of a leaf, and what 1 is worth: all as the
    decimals that were written down.   Raises CapabilityError, for ``solver``, for too many digits.
    """
    found, lam = whole_costs(problem), rational(cast(CostsByObject, problem.parts.objective).lam)
    if not (found.slack or found.more):
        unit = common_unit({found.unit, lam})
        times = int(found.unit / unit)
        if int(np.abs(found.costs).sum()) * times + lam / unit < MOST:
            return found.costs * times, int(lam / unit), unit
    raise CapabilityError(
        f"weights, costs and objective.lam do not fit into 60 bits for solver {solver}; "
        "give them fewer digits"
    )
