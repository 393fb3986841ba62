"""Rows in parts of which few are different, for components that look at targets and roles.

A component that states ``by_value = True`` makes of a row what its target, weight and roles say,
and nothing else, beside what it has estimated of all training rows (``fitted``).  So it is told of
all rows which targets and roles there are, and what they weigh; then it says of the rows of a part
what they add to its columns, or to the sums of a leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.engine import check
from arboretum.engine.row_costs import FEW, problem_without_tests
from arboretum.errors import CapabilityError, ContractError, sure
from arboretum.interfaces.component import Component
from arboretum.interfaces.dataset import InParts
from arboretum.interfaces.method import Parts, Problem
from arboretum.interfaces.sums import moments_of
from arboretum.model.encoded import Encoded, Node, Prices
from arboretum.model.real_numbers import real_numbers
from arboretum.model.table import Table, frozen_array
from arboretum.rows.parts import without_attributes
from arboretum.rows.values import adds_exactly

MOST = 1 << 16
"""Different targets with their roles, of all training rows: more are no longer few."""

NO_PRICES = Prices(np.zeros(0), np.zeros(0))


def components_by_value(parts: Parts) -> list[Component]:
    """Return criterion and objective, those that look at targets and roles of rows; a criterion
    that reads no role does so by the objective alone.
    """
    criterion, objective = parts.criterion, parts.objective
    if objective is None and not getattr(criterion, "reads", ()):
        criterion = None
    asked = (criterion, objective)
    return [one for one in asked if one is not None and getattr(one, "by_value", False)]


def roles_by_value(parts: Parts) -> tuple[str, ...]:
    """Return the roles that these read, each once."""
    read = [role for one in components_by_value(parts) for role in getattr(one, "reads", ())]
    return tuple(dict.fromkeys(read))


def group_rows(columns: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return int64[k], the first row of each group, and int64[n], the group of each row.

    columns : numbers[n] each; rows of a group agree in all of them, groups ascend by them.
    """
    first, group = np.unique(columns[0], return_index=True, return_inverse=True)[1:]
    for column in columns[1:]:
        own = np.unique(column, return_inverse=True)[1]
        both = group * (int(own.max(initial=0)) + 1) + own
        first, group = np.unique(both, return_index=True, return_inverse=True)[1:]
    return first, group


def values_of(table: Table) -> np.ndarray:
    """Return the target as numbers, or codes of classes."""
    return table.target.codes if table.is_classification else table.target.values


def fit_to_rows(parts: Parts, data: InParts) -> tuple[Parts, Table]:
    """Return the parts with what they estimate of all training rows, and a table of the different
    targets and roles of these, each of the weight of its rows.

    Raises CapabilityError where these are more than MOST, or where weights add up to other sums in
    another order and something is estimated of them.
    """
    read, roles = components_by_value(parts), roles_by_value(parts)
    merged: Table | None = None
    exact = True
    for _, part in data.starts():
        own = _only(without_attributes(part, data.schema), roles)
        exact = exact and adds_exactly(own.row_weights())
        merged = _merge(own if merged is None else _join(merged, own), roles)
        if merged.n_rows > MOST:
            what = ", ".join((data.schema.target.name, *roles))
            raise CapabilityError(
                f"{check.label(read[0])} looks at the values of {what}, of which rows in parts "
                f"keep {MOST} different ones, and there are more; round them, or use rows=memory"
            )
    merged = sure(merged)
    estimating = [one for one in read if hasattr(one, "fitted")]
    if estimating and not (exact and adds_exactly(np.array([merged.row_weights().sum()]))):
        raise CapabilityError(
            f"{check.label(estimating[0])} adds up weights by value, and these round otherwise in "
            "the order of parts; use weights that are whole numbers, or rows=memory"
        )
    known = {one.kind: one.fitted(merged) for one in estimating}
    return attrs.evolve(parts, **known), merged


def show_rows(objects: Encoded, merged: Table) -> Encoded:
    """Return objects that show the features of all rows with targets and roles that rows have."""
    some = np.resize(np.arange(merged.n_rows), objects.n_objects)
    table = attrs.evolve(
        objects.table,
        target=merged.target.take(some),
        roles={**objects.table.roles, **{name: v[some] for name, v in merged.roles.items()}},
    )
    if table.is_classification:
        return attrs.evolve(objects, table=table, label=table.target.codes)
    return attrs.evolve(objects, table=table, y=table.target.values)


def columns_by_value(parts: Parts) -> Callable[[Table, np.ndarray], np.ndarray] | None:
    """Return a function that says what rows add to the criterion's own columns, as
    ``InParts.columns``; None where the criterion has none of rows in parts.  It raises
    ContractError where that depends on what other rows are there.

    parts : of :func:`fit_to_rows`.
    """
    if parts.criterion not in components_by_value(parts):
        return None
    asked = attrs.evolve(parts, impurity=None)

    def columns_of(table: Table) -> np.ndarray:
        problem = problem_without_tests(table, asked, NO_PRICES)
        criterion: Any = problem.parts.criterion
        rows = np.arange(table.n_rows)
        found = criterion.columns(_no_node(problem), problem.objects, rows)
        return real_numbers(found, f"{check.label(criterion)}: columns")

    def find(table: Table, share: np.ndarray) -> np.ndarray:
        found = columns_of(table)
        few = min(FEW, table.n_rows)
        if not np.array_equal(found[:few], columns_of(table.take(np.arange(few)))):
            raise ContractError(
                f"{check.label(sure(parts.criterion))} states by_value = True, but what a row adds "
                "to its columns depends on other rows; what is estimated of all rows is made by "
                "fitted(table), or state False"
            )
        return found

    return find


def sums_of_leaves(parts: Parts) -> Callable[[Table], np.ndarray] | None:
    """Return a function that says what rows add to the sums of their leaf, float64[n, k]; None
    where the objective has none.

    parts : of :func:`fit_to_rows`.
    """
    if not hasattr(parts.objective, "moments"):
        return None
    asked, roles = attrs.evolve(parts, criterion=None, impurity=None), roles_by_value(parts)

    def find(table: Table) -> np.ndarray:
        return moments_of(problem_without_tests(_only(table, roles), asked, NO_PRICES))

    return find


def merge_at_nodes(
    table: Table, node: np.ndarray, count: np.ndarray, roles: Sequence[str]
) -> tuple[Table, np.ndarray, np.ndarray]:
    """Return the rows that differ in node, target or roles, with their weights and no other roles;
    int64[k] each, the node of each and how many rows it stands for.

    node, count : int64[n].
    """
    first, group = group_rows([node, values_of(table), *(table.roles[role] for role in roles)])
    weight = np.bincount(group, table.row_weights())
    found = attrs.evolve(_only(table.take(first), roles, attributes=True), weights=weight)
    rows = np.zeros(len(first), np.int64)
    np.add.at(rows, group, count)
    return found, node[first], rows


def _merge(table: Table, roles: Sequence[str]) -> Table:
    """Return the rows that differ; of equal ones the weights are added up in their order."""
    zero = np.zeros(table.n_rows, np.int64)
    return merge_at_nodes(table, zero, zero, roles)[0]


def _only(table: Table, roles: Sequence[str], *, attributes: bool = False) -> Table:
    """Return a table with some of its roles, with or without its columns."""
    columns = table.columns if attributes else ()
    kept = {role: table.role(role) for role in roles}
    return attrs.evolve(table, columns=columns, roles=kept, groups=None)


def _join(merged: Table, own: Table) -> Table:
    """Return the rows of both, tables without attributes."""
    values = np.concatenate([values_of(merged), values_of(own)])
    if own.is_classification:
        target = attrs.evolve(own.target, codes=values)
    else:
        target = attrs.evolve(own.target, values=values)
    roles = {role: np.concatenate([one, own.roles[role]]) for role, one in merged.roles.items()}
    weights = np.concatenate([merged.row_weights(), own.row_weights()])
    return attrs.evolve(own, target=target, weights=weights, roles=roles)


def _no_node(problem: Problem) -> Node:
    """Return a node that says nothing: columns by value are the same at every one."""
    none, mass = frozen_array(np.zeros(0)), float(problem.objects.weight.sum())
    return Node(none, frozen_array(np.zeros(0, np.int64)), mass, mass, float("nan"), 0)
