"""A tree as an SQL expression, to predict where the rows are."""

from __future__ import annotations

from collections.abc import Callable

from arboretum.errors import CapabilityError
from arboretum.model.rules import Bins, Equals, Interval, OrdinalThreshold, TestRule, Threshold, Values, spell
from arboretum.model.table import Task
from arboretum.model.tree import MISSING_SPLITS, Tree
from arboretum.model.walk import policies


def tree_sql(tree: Tree) -> str:
    """Write the prediction of a row as a CASE expression: ``SELECT <it> FROM rows``.

    Categories are compared as text, dates as ISO text (2020-03-01), a missing value is NULL.  A row that no branch takes gets the prediction of the
    node where it stops.  Numbers are written in full, so that the database decides as the tree does (in double
    precision).

    Raises CapabilityError: a tree that splits rows with missing values over branches, a test that SQL cannot ask.
    """
    policy = policies(tree)
    if ((policy == MISSING_SPLITS) & ~tree.is_leaf).any():
        msg = "this tree splits rows with missing values over branches, which one SQL expression cannot do"
        raise CapabilityError(msg)
    depth = tree.depth_of
    text: dict[int, str] = {}
    for node in range(tree.n_nodes - 1, -1, -1):  # children come before their parents
        if tree.is_leaf[node]:
            text[node] = _answer(tree, node)
        else:
            text[node] = _case(tree, node, int(policy[node]), text, "  " * int(depth[node]))
    return text[0]


def _case(tree: Tree, node: int, lost: int, text: dict[int, str], indent: str) -> str:
    """Branches in order; at the end that which rows without an outcome follow (``lost``), else the node's own answer."""
    rule = tree.rule(node)
    if type(rule) not in _CONDITIONS:
        msg = f"the test {rule.describe()!r} ({rule.tag}) has no form in SQL"
        raise CapabilityError(msg)
    branches = [text.pop(int(child)) if child >= 0 else _answer(tree, node) for child in tree.children(node)]
    conditions = _CONDITIONS[type(rule)](rule)
    space = "\n" + indent + "  "
    lines = [
        f"WHEN {condition} THEN {branch}"
        for k, (condition, branch) in enumerate(zip(conditions, branches, strict=True))
        if k != lost
    ]
    if not lines:
        return branches[lost]
    if lost >= 0:  # the last branch is also that of rows without an outcome: written once, however deep the tree
        said = f"{', '.join(rule.columns)} {rule.outcome_label(lost)} or missing".replace("*/", "* /")
        lines.append(f"ELSE /* {said} */ {branches[lost]}")
    else:
        lines.append(f"ELSE {_answer(tree, node)}")
    return "CASE" + "".join(space + line for line in lines) + "\n" + indent + "END"


def _answer(tree: Tree, node: int) -> str:
    if tree.task is Task.regression:
        return repr(float(tree.value[node]))
    return _text(tree.classes[tree.label[node]])


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _threshold(rule: Threshold) -> list[str]:
    column, bound = _name(rule.column), _bound(rule.threshold, rule.unit)
    return [f"{column} <= {bound}", f"{column} > {bound}"]


def _bound(value: float, unit: str) -> str:
    """A number in full; of dates the ISO text, which databases compare with their dates and with text alike."""
    return _text(spell(value, unit)) if unit else repr(value)


def _among(column: str, categories: tuple[str, ...]) -> str:
    return f"{column} IN ({', '.join(_text(c) for c in categories)})" if categories else "1 = 0"


def _ordinal(rule: OrdinalThreshold) -> list[str]:
    column, cut = _name(rule.column), rule.index + 1
    return [_among(column, rule.categories[:cut]), _among(column, rule.categories[cut:])]


def _equals(rule: Equals) -> list[str]:
    column = _name(rule.column)
    if rule.category is None:
        return [f"{column} IS NULL", f"{column} IS NOT NULL"]
    other = f"{column} <> {_text(rule.category)}"
    return [f"{column} = {_text(rule.category)}", f"{other} OR {column} IS NULL" if rule.missing_is_other else other]


def _values(rule: Values) -> list[str]:
    column = _name(rule.column)
    return [f"{column} = {_text(c)}" for c in rule.categories] + [f"{column} IS NULL"] * rule.missing_outcome


def _bins(rule: Bins) -> list[str]:
    column, edges = _name(rule.column), [_bound(edge, rule.unit) for edge in rule.edges]
    bounds = list(zip([None, *edges], [*edges, None], strict=True))
    return [_between(column, low, high) for low, high in bounds] + [f"{column} IS NULL"] * rule.missing_outcome


def _between(column: str, low: str | None, high: str | None) -> str:
    parts = [f"{column} > {low}"] * (low is not None) + [f"{column} <= {high}"] * (high is not None)
    return " AND ".join(parts) if parts else f"{column} IS NOT NULL"


def _interval(rule: Interval) -> list[str]:
    column = _name(rule.column)
    low, high = (None if bound is None else _bound(bound, rule.unit) for bound in (rule.low, rule.high))
    inside = _between(column, low, high)
    outside = f"NOT ({inside})"
    return [inside, f"{outside} OR {column} IS NULL" if rule.missing_is_other else outside]


_CONDITIONS: dict[type[TestRule], Callable[..., list[str]]] = {
    Threshold: _threshold,
    OrdinalThreshold: _ordinal,
    Equals: _equals,
    Values: _values,
    Bins: _bins,
    Interval: _interval,
}
