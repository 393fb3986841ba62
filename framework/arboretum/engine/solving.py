"""What exact solvers over fixed tests share: which problems they refuse, and how their choices
become a tree.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.errors import CapabilityError, DataError
from arboretum.interfaces.impurity import Impurity
from arboretum.interfaces.method import Problem
from arboretum.interfaces.objective import Shape, shape_of
from arboretum.model.encoded import Encoded, Prices
from arboretum.model.record import Solution, Status
from arboretum.model.rules import TestRule
from arboretum.model.table import Task
from arboretum.model.tree import MISSING_STOPS, ColumnSpec, Tree


def refuse_unfit(solver: str, objects: Encoded, prices: Prices) -> None:
    """Raise CapabilityError or DataError, with the way out, but for objects of classes, fixed
    tests that all have an outcome, one price each.
    """
    if objects.task is not Task.classification:
        raise CapabilityError(
            f"solver {solver} knows classes only, but the target is a number; make classes "
            "of it (dataset.task=classification)"
        )
    if objects.raw_features:
        name = objects.raw_features[0].column
        raise CapabilityError(
            f"solver {solver} needs fixed tests, but column {name!r} is raw; use "
            "encoder=multiway, midpoints or onehot"
        )
    if objects.n_objects == 0:
        raise DataError("no object to learn from; does the split leave any training row?")
    for f, feature in enumerate(objects.features):
        if feature.has_missing and (objects.codes[:, f] == feature.n_bins).any():
            needs = (
                f"solver {solver} needs an outcome of every test for every object, but column "
                f"{feature.column!r} has missing values"
            )
            raise CapabilityError(f"{needs}; use encoder.missing=category (or drop_rows)")
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
        paid = (
            f"solver {solver} knows prices of tests, but column {several[0]!r} is paid once for "
            "several tests"
        )
        raise CapabilityError(
            f"{paid}; use encoder=multiway, or a cost that is paid per test (cost=table)"
        )


def best_leaf(problem: Problem, why: BaseException) -> Solution:
    """The leaf of least value, where a budget, or somebody, ended a search before it began; raises
    ``why`` where the objective allows no leaf.

    What is known of all trees is that none costs less than λ.
    """
    from arboretum.engine.search.statistics import Statistics

    objects, objective = problem.objects, problem.parts.objective
    if shape_of(objective) in (None, Shape.complexity):
        raise why
    sums, counts = Statistics.of(objects).totals(np.arange(objects.n_objects))
    tree = assemble(
        objects, problem.parts.impurity, None, lambda _: Choice(sums, float(counts.sum()))
    )
    if objects.task is Task.classification:
        # the heaviest class, where all are as good
        trees = [tree, *(attrs.evolve(tree, label=np.array([k])) for k in range(objects.n_classes))]
    else:
        trees = [
            attrs.evolve(tree, value=np.array([objective.leaf_value(objects.y, objects.weight)]))
        ]
    value, tree = min(
        ((float(objective.value(one, problem)), one) for one in trees), key=lambda found: found[0]
    )
    lam = float(getattr(objective, "lam", 0.0))
    return Solution(
        tree,
        value,
        min(value, lam),
        Status.feasible,
        0,
        finished=False,
        notes=(f"{why}; the tree is the best leaf, and no tree is below {min(value, lam):g}",),
    )


@attrs.frozen(eq=False)
class Choice:
    """A node.

    weights : float64[classes].
    count : of rows.
    rule : the test, None at a leaf.
    below : (outcome, place) of the outcomes that occur, ascending.
    missing : outcome that missing values follow, or MISSING_STOPS.
    """

    weights: np.ndarray
    count: float
    rule: TestRule | None = None
    price: float = 0.0
    below: Sequence[tuple[int, Any]] = ()
    missing: int = MISSING_STOPS


def assemble(
    objects: Encoded, impurity: Impurity, root: Any, choose: Callable[[Any], Choice]
) -> Tree:
    """Ask for the choice at every place, from the root down, and freeze the tree (preorder,
    children by outcome).
    """
    from arboretum.engine.search.assemble import Grown, to_tree
    from arboretum.engine.search.statistics import Statistics

    stack, top = [(root, None, 0)], None
    while stack:
        place, above, outcome = stack.pop()
        choice = choose(place)
        children = [None] * (0 if choice.rule is None else choice.rule.arity)
        node = Grown(
            choice.weights,
            choice.count,
            math.nan,
            math.nan,
            choice.rule,
            children,
            choice.missing,
            choice.price,
        )
        stack += [(below, node, outcome) for outcome, below in reversed(choice.below)]
        if above is None:
            top = node
        else:
            above.children[outcome] = node
    tree = to_tree(top, objects, Statistics.of(objects))
    return tree if impurity is None else attrs.evolve(tree, impurity=impurity.value(tree.weights))


def two_way_order(nodes: np.ndarray) -> np.ndarray:
    """The same tree, numbered depth first, the branch of outcome 0 before that of outcome 1.

    nodes : int64[nodes, 3], (test or −1 at a leaf, node of outcome 1, node of outcome 0), root
        first; what a leaf says there stays.
    """
    listed, found, waiting = nodes.tolist(), [], [(0, -1, 0)]
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
    """The tree of two-way tests.

    nodes : as :func:`two_way_order` gives them.
    rule : of a test.
    price : float64[tests].
    held : weights, counts, label and value, as in Tree.
    """
    n, inner, (weights, counts, label, value) = len(nodes), nodes[:, 0] >= 0, held
    rule_of: dict[int, int] = {}
    test = [
        rule_of.setdefault(one, len(rule_of)) if one >= 0 else -1 for one in nodes[:, 0].tolist()
    ]
    paid, nothing = np.zeros(n), np.full(n, np.nan)
    paid[inner] = price[nodes[inner, 0]]
    return Tree(
        task=objects.task,
        columns=tuple(ColumnSpec.of(column) for column in objects.table.columns),
        classes=objects.table.target.classes,
        rules=tuple(map(rule, rule_of)),
        test=test,
        child_offset=np.concatenate([[0], np.cumsum(2 * inner)]),
        child=nodes[inner][:, [2, 1]].ravel(),
        missing_child=np.full(n, MISSING_STOPS),
        weights=weights,
        counts=counts,
        label=label,
        value=value,
        price=paid,
        impurity=nothing,
        score=nothing,
    )
