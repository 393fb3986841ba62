"""A tree as an SQL expression, to predict where the rows are."""

from collections.abc import Sequence

import numpy as np

from arboretum.api import (
    MISSING_SPLITS,
    Bins,
    CapabilityError,
    Equals,
    Interval,
    OrdinalThreshold,
    TestRule,
    Threshold,
    Tree,
    Values,
    policies,
    spell,
)

NESTED = 12
"""Levels of one CASE inside the other, at most: databases bound how deep an expression is nested
(some at 16 levels).
"""


def tree_sql(tree: Tree) -> str:
    """Write the prediction of a row as a CASE expression: ``SELECT <it> FROM rows``.

    Categories are compared as text, dates as ISO text (2020-03-01), a missing value is NULL.  A row
    that no branch takes gets the prediction of the node where it stops.  Numbers are written in
    full, so that the database decides as the tree does (in double precision).  In a tree of more
    than NESTED levels the deeper branch of a node continues the node's own list of WHENs, so that a
    chain of any length is one list, and n leaves are nested log2(n) levels at most.

    Raises CapabilityError: a tree that splits rows over branches or has surrogates, a test that SQL
    cannot ask.
    """
    policy = policies(tree)
    if ((policy == MISSING_SPLITS) & ~tree.is_leaf).any() or any(rule.fuzzy for rule in tree.rules):
        raise CapabilityError(
            "this tree splits rows with missing values over branches, or by degrees, which "
            "one SQL expression cannot do"
        )
    if tree.surrogates:
        raise CapabilityError(
            "this tree asks surrogates where a value is missing, which has no form in SQL "
            "yet; predict with the tree itself"
        )
    last = _deepest_outcomes(tree, policy) if tree.depth_of.max() > NESTED else None
    text: list[str] = []
    stack: list[str | tuple[int, int]] = [(0, 0)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            text.append(item)
        elif tree.is_leaf[item[0]]:
            text.append(_answer_of_leaf(tree, item[0]))
        else:
            stack.extend(reversed(_case_expression(tree, *item, policy, last)))
    return "".join(text)


def _deepest_outcomes(tree: Tree, policy: np.ndarray) -> list[int]:
    """Return, per node the outcome below which most CASEs are nested, ties to that of rows without
    an outcome; −1 at a leaf.

    policy : int[nodes], the outcome that rows without one follow.
    """
    levels = [0] * tree.n_nodes
    last = [-1] * tree.n_nodes
    edges = tree.child.tolist()
    start = tree.child_offset.tolist()
    for node in tree.inner[::-1].tolist():  # children come before their parents
        below = [
            levels[child] + 1 if child >= 0 else 0 for child in edges[start[node] : start[node + 1]]
        ]
        last[node] = end = max(range(len(below)), key=lambda k: (below[k], k == policy[node], -k))
        below[end] -= 1
        levels[node] = max(below)
    return last


def _case_expression(
    tree: Tree, node: int, level: int, policy: np.ndarray, last: list[int] | None
) -> list[str | tuple[int, int]]:
    """Return a CASE, piece by piece; a pair (node, level) stands for what is still to be written.

    level : how far it is indented.
    policy : int[nodes], the outcome that rows without one follow.
    last : per node the outcome that comes last, where the branches below it continue the list;
        None: the last is the branch of rows without an outcome, with a CASE of its own.
    """
    indent, parts = "\n" + "  " * level, []
    while True:
        lost = int(policy[node])
        end = lost if last is None else last[node]
        branches = [
            (int(c), level + 1) if c >= 0 else _answer_of_leaf(tree, node)
            for c in tree.children(node)
        ]
        tests = _outcome_conditions(tree.rule(node))
        for k, test in enumerate(tests):
            if k != end:
                parts += [
                    f"{indent}  WHEN {_none_of(tests, k) if k == lost else test} THEN ",
                    branches[k],
                ]
        if lost < 0 and end >= 0:
            parts += [f"{indent}  WHEN {_none_of(tests)} THEN ", _answer_of_leaf(tree, node)]
        below = branches[end] if end >= 0 else _answer_of_leaf(tree, node)
        if last is None or isinstance(below, str) or tree.is_leaf[below[0]]:
            break
        node = below[0]
    if not parts:
        return [below]
    comment = ""
    if end >= 0 and end == lost:  # the last branch is also that of rows without an outcome
        rule = tree.rule(node)
        branch = f"{rule.subject} {rule.outcome_label(end)}".replace("*/", "* /")
        comment = f"/* {branch}{'' if 'missing' in branch else ' or missing'} */ "
    return ["CASE", *parts, f"{indent}  ELSE {comment}", below, f"{indent}END"]


def _none_of(tests: Sequence[str], but: int = -1) -> str:
    """Return the condition that no test (``but`` one) is true, be it false or unknown."""
    others = "".join(f"WHEN {test} THEN 0 " for k, test in enumerate(tests) if k != but)
    return f"CASE {others}ELSE 1 END = 1" if others else "1 = 1"


def _outcome_conditions(rule: TestRule) -> list[str]:
    """Return, per outcome, the condition under which a row has it.  A rule that a plugin defines
    brings its own by ``sql_conditions(name, text)``, from functions that write a column's name
    and a category.

    Raises CapabilityError for a test without a form in SQL.
    """
    if hasattr(rule, "sql_conditions"):
        conditions: list[str] = rule.sql_conditions(_name, _text)
        return conditions
    unknown = CapabilityError(f"the test {rule.describe()!r} ({rule.tag}) has no form in SQL")
    if type(rule) not in (Threshold, OrdinalThreshold, Equals, Values, Bins, Interval):
        raise unknown
    column = _name(rule.columns[0])
    lost = f"{column} IS NULL"

    def between(edges: Sequence[float], rule: Threshold | Bins) -> list[str]:
        return [
            _interval_condition(column, low, high, rule)
            for low, high in zip([None, *edges], [*edges, None], strict=True)
        ]

    match rule:
        case Threshold():
            return between([rule.threshold], rule)
        case OrdinalThreshold():
            sides = rule.categories[: rule.index + 1], rule.categories[rule.index + 1 :]
            return [
                f"{column} IN ({', '.join(map(_text, side))})" if side else "1 = 0"
                for side in sides
            ]
        case Equals():
            if rule.category is None:
                return [lost, f"{column} IS NOT NULL"]
            other = f"{column} <> {_text(rule.category)}"
            return [
                f"{column} = {_text(rule.category)}",
                f"{other} OR {lost}" if rule.missing_is_other else other,
            ]
        case Values():
            return [f"{column} = {_text(c)}" for c in rule.categories] + [
                lost
            ] * rule.missing_outcome
        case Bins():
            return between(rule.edges, rule) + [lost] * rule.missing_outcome
        case Interval():
            inside = _interval_condition(column, rule.low, rule.high, rule)
            return [inside, f"NOT ({inside})" + f" OR {lost}" * rule.missing_is_other]
    raise unknown


def _interval_condition(
    column: str, low: float | None, high: float | None, rule: Threshold | Bins | Interval
) -> str:
    """Return the condition low < column ≤ high, None for no bound; without both the value is known.

    Numbers are written in full; dates as ISO text, which databases compare with their dates and
    with text alike.
    """
    spelled = (lambda bound: _text(spell(bound, rule.unit, rule.digits))) if rule.unit else repr
    parts = [] if low is None else [f"{column} > {spelled(low)}"]
    parts += [] if high is None else [f"{column} <= {spelled(high)}"]
    return " AND ".join(parts) if parts else f"{column} IS NOT NULL"


def _answer_of_leaf(tree: Tree, node: int) -> str:
    """Return what a node predicts, as a literal of SQL."""
    return (
        repr(float(tree.value[node]))
        if tree.is_regression
        else _text(tree.classes[tree.label[node]])
    )


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
