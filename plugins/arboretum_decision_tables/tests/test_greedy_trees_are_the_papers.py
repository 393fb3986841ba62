"""The sixteen greedy algorithms build, node for node, the trees of a literal reading of V_I."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from arboretum.api import Context, DataError, Problem
from arboretum.interfaces.method import Parts
from arboretum.plugin.assemble import assemble
from arboretum.plugin.discovery import load_registry
from arboretum_decision_tables import literal

PRESETS = [(kind, measure) for kind in literal.KINDS for measure in literal.MEASURES]


@pytest.fixture(scope="module")
def registry():
    return load_registry()


@pytest.fixture(scope="module")
def parts(registry) -> dict[tuple[str, str], Parts]:
    without = ("dataset", "split", "tracker")
    keep = {"encoder.keep_identifiers": True}  # in a table of three rows a column with three values is an attribute
    return {(k, m): assemble(registry, {"method": f"{k}_{m}"}, keep, without=without) for k, m in PRESETS}


def table_of(registry, seed: int, n_rows: int, n_columns: int, n_values: int, n_classes: int):
    sizes = {"n_rows": n_rows, "n_columns": n_columns, "n_values": n_values, "n_classes": n_classes}
    return registry.get("dataset", "random_table").cls(**sizes).load(seed)


def rows_of(table) -> literal.Decided:
    cells = np.stack([column.values for column in table.columns], axis=1).tolist()
    return [(tuple(row), int(d)) for row, d in zip(cells, table.target.codes, strict=True)]


def described(tree, table, node: int = 0):
    """The tree in the literal form; outcomes are named by what the rows have there."""
    if tree.is_leaf[node]:
        return int(tree.label[node])
    rule = tree.rule(node)
    at = next(i for i, column in enumerate(table.columns) if column.name == rule.columns[0])
    present = sorted(set(table.columns[at].values.tolist()))
    values = {outcome: value for value in present for outcome in [rule.outcome_of({rule.columns[0]: table.columns[at].categories[value]})]}
    children = enumerate(tree.children(node).tolist())
    return at, {values[outcome]: described(tree, table, child) for outcome, child in children if child >= 0}


def check(parts, table, which):
    own = parts[which]
    objects = own.encoder.encode(table, table, raw_thresholds=False, seed=0)
    tree = own.method.fit(Problem(objects, own.cost.price_list(objects, 0), own), Context()).tree
    assert described(tree, table) == literal.tree(rows_of(table), *which)


@pytest.mark.parametrize("which", PRESETS, ids="/".join)
def test_on_the_tables_of_the_experiment(registry, parts, which):
    for seed in range(6):
        check(parts, table_of(registry, seed, 50, 10, 3, 3), which)


@pytest.mark.parametrize("which", PRESETS, ids="/".join)
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6), n_rows=st.integers(2, 12), n_columns=st.integers(1, 4), n_values=st.integers(2, 4),
    n_classes=st.integers(2, 4),
)  # fmt: skip
def test_on_tiny_tables_which_are_full_of_ties(registry, parts, which, seed, n_rows, n_columns, n_values, n_classes):
    try:
        table = table_of(registry, seed, n_rows, n_columns, n_values, n_classes)
    except DataError:  # one decision, or no row
        assume(False)
    assume(any(len(set(column.values.tolist())) > 1 for column in table.columns))
    check(parts, table, which)
