"""How the choices of a search become a tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import numpy as np

from arboretum.engine.label_costs import labelled
from arboretum.errors import sure
from arboretum.interfaces.impurity import Impurity
from arboretum.interfaces.method import Problem
from arboretum.interfaces.objective import Shape, shape_of
from arboretum.model.encoded import Encoded
from arboretum.model.record import Solution, Status
from arboretum.model.rules import TestRule
from arboretum.model.table import Table
from arboretum.model.tree import MISSING_STOPS, Tree

if TYPE_CHECKING:
    from arboretum.engine.search.assemble import Grown

Place = TypeVar("Place")


def best_leaf(problem: Problem, why: BaseException) -> Solution:
    """The leaf of least value, where a budget, or somebody, ended a search before it began; raises
    ``why`` where the objective allows no leaf.

    What is known of all trees is that none costs less than λ.
    """
    from arboretum.engine.search.statistics import Statistics

    objects = problem.objects
    if shape_of(problem.parts.objective) in (None, Shape.complexity):
        raise why
    objective = sure(problem.parts.objective)
    sums, counts = Statistics.of(objects).totals(np.arange(objects.n_objects))
    tree = assemble(
        objects, problem.parts.impurity, None, lambda _: Choice(sums, float(counts.sum()))
    )
    if objects.is_classification:
        # the majority class, where all are as good
        trees = [tree, *(attrs.evolve(tree, label=np.array([k])) for k in range(objects.n_classes))]
    elif hasattr(objective, "moments"):
        trees = [labelled(tree, problem)]
    else:
        leaf_value = sure(getattr(objective, "leaf_value", None))
        trees = [attrs.evolve(tree, value=np.array([leaf_value(objects.y, objects.weight)]))]
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

    weights : float64[classes]; with a table of numbers Σw, Σwy, Σwy².
    count : of rows.
    rule : the test, None at a leaf.
    price : of asking it.
    below : (outcome, place) of the outcomes that occur, ascending.
    missing : outcome that missing values follow, or MISSING_STOPS.
    score : of the test, by the criterion that chose it; NaN: none did.
    """

    weights: np.ndarray
    count: float
    rule: TestRule | None = None
    price: float = 0.0
    below: Sequence[tuple[int, Any]] = ()
    missing: int = MISSING_STOPS
    score: float = math.nan


def assemble(
    objects: Encoded | Table,
    impurity: Impurity | None,
    root: Place,
    choose: Callable[[Place], Choice],
) -> Tree:
    """Ask for the choice at every place, from the root down, and freeze the tree (preorder,
    children by outcome).

    objects : or a table, with or without rows, whose columns and classes the tree knows.
    root : a place, whatever ``choose`` knows nodes by.
    impurity : what nodes state; None: NaN.
    """
    from arboretum.engine.search.assemble import Grown, to_tree

    by_moments = isinstance(objects, Table) and objects.is_regression
    stack: list[tuple[Place, Grown | None, int]] = [(root, None, 0)]
    top: Grown | None = None
    while stack:
        place, above, outcome = stack.pop()
        choice = choose(place)
        children: list[Grown | None] = [None] * (0 if choice.rule is None else choice.rule.arity)
        node = Grown(
            choice.weights,
            choice.count,
            value=choice.weights[1] / choice.weights[0] if by_moments else math.nan,
            impurity=math.nan,
            rule=choice.rule,
            children=children,
            missing_child=choice.missing,
            price=choice.price,
            score=choice.score,
        )
        stack += [(below, node, outcome) for outcome, below in reversed(choice.below)]
        if above is None:
            top = node
        else:
            above.children[outcome] = node
    tree = to_tree(sure(top), objects)
    return tree if impurity is None else attrs.evolve(tree, impurity=impurity.value(tree.weights))
