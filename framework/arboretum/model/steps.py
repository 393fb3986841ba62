"""How rows travel through a tree fast: what a kernel needs to know of a tree and a table, as
arrays.

A test of one column is a list of answers: to the numbers between its cuts, or to the codes of a
category.  It is asked for them, so that a kernel walks any such test, a plugin's too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import attrs
import numpy as np

import arboretum
from arboretum.model.missing import UNSEEN
from arboretum.model.rules import NO_OUTCOME, TestRule, Threshold
from arboretum.model.table import Column, Table, Target, Task
from arboretum.model.walk import SPLITS, Places, outcomes_of, places, policies

if TYPE_CHECKING:
    from arboretum.model.tree import Tree

LARGE = 20_000  # rows from which on they are worth the half second in which a kernel is loaded
# of values, by the kernel's numbers for them
FORMS = (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.int32))
# (cuts, outcomes): between the cuts, then of NaN; or of the codes −2, −1, 0, …
Answers = tuple[tuple[float, ...], Sequence[int]]
HALVES = (0, 1, NO_OUTCOME)


def fast_places(tree: Tree, table: Table) -> Places:
    """As :func:`arboretum.model.walk.places`; where rows are many, by a kernel, but for those that
    are split, ask surrogates, or meet a test that it does not know (of several columns, in
    degrees).
    """
    if table.n_rows < LARGE or tree.n_nodes == 1:
        return places(tree, table)
    columns = {name: table.column(name) for rule in tree.rules for name in rule.columns}
    codes = {
        name: _table_of_column(one, range(UNSEEN, len(one.categories)))
        for name, one in columns.items()
        if not one.is_continuous
    }
    answers = [_outcomes_of_values(rule, columns, codes) for rule in tree.rules]
    if answers[tree.test[0]] is None:
        return places(tree, table)
    values = {
        name: one.values if one.values.dtype in FORMS else one.values.astype(np.float64)
        for name, one in columns.items()
    }
    whole = arboretum.rest_of_rows(_make_steps(tree, values, answers), table.n_rows)
    left = np.flatnonzero(whole == tree.n_nodes)
    others = places(tree, table.take(left))
    whole[left] = others.whole
    return Places(whole, others.node, left[others.row], others.share)


def _table_of_column(column: Column, values: Sequence[float]) -> Table:
    """Return a table of one column, of these values."""
    return Table(
        "",
        (attrs.evolve(column, values=np.array(values)),),
        Target("", Task.regression, values=np.zeros(len(values))),
    )


def _outcomes_of_values(
    rule: TestRule, columns: Mapping[str, Column], codes: Mapping[str, Table]
) -> Answers | None:
    """Return what a test says to every value of its column; None where the kernel does not know it.

    codes : tables of all codes of a column.
    """
    column = columns[rule.columns[0]]
    numeric = column.is_continuous
    if type(rule) is Threshold and numeric:
        return (rule.threshold,), HALVES
    cuts = rule.cuts if numeric else ()
    if len(rule.columns) > 1 or rule.fuzzy or cuts is None:
        return None
    each = _table_of_column(column, [*cuts, np.inf, np.nan]) if numeric else codes[column.name]
    return cuts, outcomes_of(rule, each, np.arange(each.n_rows)).tolist()


def _make_steps(
    tree: Tree, values: Mapping[str, np.ndarray], answers: Sequence[Answers | None]
) -> tuple[np.ndarray, ...]:
    """Return what :class:`arboretum.kernels.walking.Steps` holds, in its order; a row that the
    kernel leaves rests at node number n_nodes.

    values : name → the column's numbers or codes, in one of FORMS; the steps hold their addresses,
        so that they must outlive these.
    answers : of each rule, None for one that the kernel leaves.
    """
    known = [one or ((), ()) for one in answers]
    # a leaf's test −1 reads the last
    size = np.array([len(outcomes) for _, outcomes in known] + [0])[tree.test]
    owner, first = np.repeat(np.arange(tree.n_nodes), size), np.cumsum(size) - size
    outcome = np.array([k for rule in tree.test[~tree.is_leaf].tolist() for k in known[rule][1]])
    policy = policies(tree)
    policy[[one.node for one in tree.surrogates]] = SPLITS  # left as those that are split
    outcome = np.where(outcome == NO_OUTCOME, policy[owner], outcome)
    child = np.where(
        outcome >= 0, tree.child[tree.child_offset[owner] + np.maximum(outcome, 0)], -1
    )
    rests = (child < 0) | tree.is_leaf[child]
    to = np.where(rests, ~np.where(child < 0, owner, child), child)
    to[(outcome == SPLITS) | ~rests & (size[child] == 0)] = ~tree.n_nodes
    start = np.cumsum([0, *(len(cuts) for cuts, _ in known)])
    cuts = np.array([cut for cuts, _ in known for cut in cuts], np.float64)
    place = {
        name: (one.ctypes.data, one.strides[0], FORMS.index(one.dtype))
        for name, one in values.items()
    }
    address, stride, form = np.array([*(place[rule.columns[0]] for rule in tree.rules), (0, 0, 0)])[
        tree.test
    ].T.copy()
    low, high = start[tree.test].astype(np.int32), start[tree.test + 1].astype(np.int32)
    return (
        address,
        stride,
        form.astype(np.int8),
        low,
        high,
        cuts,
        first.astype(np.int32),
        to.astype(np.int32),
    )
