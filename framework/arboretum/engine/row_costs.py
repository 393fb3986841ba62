"""Rows that judge a tree, or fill it, as a problem of their own; every number of a tree on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.engine import check
from arboretum.errors import ContractError, DataError, sure
from arboretum.interfaces.method import Parts, Problem
from arboretum.interfaces.objective import costs_by_object
from arboretum.model.encoded import Encoded, Prices
from arboretum.model.plain import Facts
from arboretum.model.table import Table
from arboretum.model.tree import Tree

if TYPE_CHECKING:
    from arboretum.engine.run import Fit

FEW, LINEAR = 12, 1e-9
"""Rows of each part on which a promise of costs is tried; how far off, relative, rounding is."""


def problem_of_rows(problem: Problem, rows: Table) -> Problem:
    """Return the problem whose objects are these rows, one each, with the parts of another."""
    return problem_without_tests(rows, problem.parts, problem.prices)


def problem_without_tests(rows: Table, parts: Parts, prices: Prices) -> Problem:
    """Return the problem whose objects are these rows, one each, of which nothing is asked."""
    target, n = rows.target, rows.n_rows
    per_row: Facts = {
        "codes": np.zeros((n, 0), np.uint8),
        "raw": np.zeros((n, 0)),
        "label": target.codes if rows.is_classification else None,
        "y": target.values if rows.is_regression else None,
        "weight": rows.row_weights(),
        "count": np.ones(n, np.int64),
        "object_of_row": np.arange(n),
    }
    objects = Encoded(table=rows, features=(), raw_features=(), **per_row)
    if (objective := parts.objective) is not None and hasattr(objective, "weigh"):
        objects = check.weigh(objective, objects)
    return Problem(objects, prices, attrs.evolve(parts, predicate=()))


def columns_of_rows(parts: Parts) -> Callable[[Table, np.ndarray], np.ndarray]:
    """Return a function that says what rows cost by label, float64[n, labels], of a table without
    attributes, and of their shares of the weight.  It raises ContractError where the costs of some
    of its rows are not linear in the roles, as the objective states.

    parts : without a criterion.
    """
    none = Prices(np.zeros(0), np.zeros(0))

    def costs_of(table: Table) -> np.ndarray:
        # a part need not have rows of every label, which some objectives ask of all rows
        padded = _with_every_label(table)
        return costs_by_object(problem_without_tests(padded, parts, none))[: table.n_rows]

    def find(table: Table, share: np.ndarray) -> np.ndarray:
        found = costs_of(table)
        if table.n_rows:
            _try_linear(parts, table.take(np.arange(min(FEW, table.n_rows))), found, costs_of)
        return np.asarray(found * share[:, None])

    return find


def linear_roles(objective: object, table: Table) -> Mapping[str, np.ndarray]:
    """Return the roles that costs of rows of one class are a linear function of: those that the
    objective makes of a table's (``linear_roles``), else these.
    """
    own = getattr(objective, "linear_roles", None)
    return table.roles if own is None else own(table)


def _with_every_label(table: Table) -> Table:
    """Return the rows, and behind them one of every class, whose weight and roles are 1."""
    codes, more = table.target.codes, np.arange(table.n_classes, dtype=np.int32)
    ones = np.ones(len(more))
    return attrs.evolve(
        table,
        target=attrs.evolve(table.target, codes=np.concatenate([codes, more])),
        weights=None if table.weights is None else np.concatenate([table.weights, ones]),
        roles={role: np.concatenate([values, ones]) for role, values in table.roles.items()},
    )


def _try_linear(
    parts: Parts, few: Table, found: np.ndarray, costs_of: Callable[[Table], np.ndarray]
) -> None:
    """Raise ContractError where the mean of what rows of one class cost is not what a row of their
    mean roles costs.

    found : float64[rows, labels], what ``costs_of`` said of them, first of all.
    """
    label = few.target.codes
    kinds, of = np.unique(label, return_inverse=True)
    share = (of == np.arange(len(kinds))[:, None]) / np.bincount(of)[:, None]
    roles = linear_roles(parts.objective, few)
    mean = {role: share @ values for role, values in roles.items()}
    first = few.take(np.array([int((label == kind).argmax()) for kind in kinds]))
    off = share @ found[: few.n_rows] - costs_of(attrs.evolve(first, roles=mean))
    if not np.abs(off).max(initial=0.0) <= LINEAR * (1 + np.abs(found).max(initial=0.0)):
        raise ContractError(
            f"{check.label(sure(parts.objective))} states linear_in_roles = True, but rows of one "
            "class cost on average something else than a row of their mean roles; state False, "
            "and use rows=memory"
        )


def mean_costs(tree: Tree, problem: Problem, rows: Table) -> dict[str, float]:
    """Return what a tree's answers for rows cost on average by the run's objective, and the
    standard error of that; nothing where the objective does not tell by object, or these rows do
    not show it (an action that nobody took).
    """
    if not hasattr(problem.parts.objective, "costs"):
        return {}
    alone = attrs.evolve(problem.parts, criterion=None)
    objects = (whole := problem_of_rows(attrs.evolve(problem, parts=alone), rows)).objects
    try:
        costs = costs_by_object(whole)
    except DataError:
        return {}
    own = costs[np.arange(objects.n_objects), tree.predict(rows)]
    # by a power of two, exactly: squares of large costs are more than a float holds
    size = 2.0 ** (int(np.frexp(np.abs(own).max(initial=0.0))[1]) - 1)
    own = own / size
    share = objects.weight / objects.weight.sum()
    mean = float(share @ own)
    error = float(np.sqrt(share**2 @ (own - mean) ** 2))
    return {"mean_cost": mean * size, "mean_cost_error": error * size}


def measures_on(tree: Tree, problem: Problem, rows: Table, train: Table) -> dict[str, float]:
    """Return how well a tree answers some rows, by name: quality, what its answers cost, and what
    the run's objective measures besides.

    train : rows from which an objective estimates what rows do not say.
    """
    from arboretum.measure import evaluate

    found = evaluate(tree, rows) | mean_costs(tree, problem, rows)
    if (measures := getattr(problem.parts.objective, "metrics", None)) is not None:
        found |= measures(tree, rows, train)
    return found


def measure(
    tree: Tree, fitted: Fit, table: Table, problem: Problem | None = None
) -> dict[str, float]:
    """Every reported number of a tree: quality per part, and the complexities over the training
    objects.

    problem : of the rows that the tree's numbers are of; None: of those that grew it.
    """
    problem = problem or fitted.problem
    from arboretum.engine.search.coverage_state import covering_cost_of
    from arboretum.measure import complexities

    metrics = {**complexities(tree), **covering_cost_of(tree, problem, problem.objects.table)}
    judging = {
        prefix: table.take(rows)
        for prefix, rows in (("valid", fitted.division.valid), ("test", fitted.division.test))
        if len(rows)
    }
    for prefix, rows in ({"train": fitted.train} | judging).items():
        found = measures_on(tree, fitted.problem, rows, fitted.train)
        metrics.update({f"{prefix}_{name}": value for name, value in found.items()})
    for chosen in fitted.selections.values():
        metrics.update(chosen.numbers())
    return {name: float(value) for name, value in metrics.items()}
