"""The sixteen greedy algorithms build, node for node, the trees of a literal reading of V_I."""

from __future__ import annotations

import literal_greedy as literal
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import arboretum
from arboretum.api import ArboretumError, Context, DataError, Problem, bulk
from arboretum.interfaces.method import Parts
from arboretum.plugin.assemble import assemble
from arboretum.plugin.discovery import load_registry

PRESETS = [(kind, measure) for kind in literal.KINDS for measure in literal.MEASURES]


@pytest.fixture(scope="module")
def registry():
    return load_registry()


@pytest.fixture(scope="module")
def parts(registry) -> dict[tuple[str, str], Parts]:
    without = ("dataset", "split", "tracker")
    # in a table of three rows a column with three values is an attribute
    keep = {"encoder.keep_identifiers": True}
    return {
        (k, m): assemble(registry, {"method": f"{k}_{m}"}, keep, without=without)
        for k, m in PRESETS
    }


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
    names = table.columns[at].categories
    values = {rule.outcome_of({rule.columns[0]: names[value]}): value for value in present}
    children = enumerate(tree.children(node).tolist())
    return at, {
        values[outcome]: described(tree, table, child) for outcome, child in children if child >= 0
    }


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
    seed=st.integers(0, 10**6),
    n_rows=st.integers(2, 12),
    n_columns=st.integers(1, 4),
    n_values=st.integers(2, 4),
    n_classes=st.integers(2, 4),
)
def test_on_tiny_tables_which_are_full_of_ties(
    registry, parts, which, seed, n_rows, n_columns, n_values, n_classes
):
    try:
        table = table_of(registry, seed, n_rows, n_columns, n_values, n_classes)
    except DataError:  # one decision, or no row
        assume(False)
    assume(any(len(set(column.values.tolist())) > 1 for column in table.columns))
    check(parts, table, which)


# -- all sixteen at once ---------------------------------------------------------------------------


def judges_of(parts) -> bulk.Judges:
    return bulk.Judges.of([(parts[which].criterion, parts[which].impurity) for which in PRESETS], 3)


def nested(forest, k: int):
    """Tree k of a forest over plain values in the literal form, but for the labels: a leaf is
    its row of counts.
    """
    low, high = int(forest.start[k]), int(forest.start[k + 1])
    feature, _, _, parent, branch = (row[low:high].tolist() for row in forest.integers)
    built: list = [None] * (high - low)
    for v in range(high - low - 1, -1, -1):
        below = {branch[c]: built[c] for c in range(v + 1, high - low) if parent[c] == v}
        built[v] = (feature[v], below) if feature[v] >= 0 else int(forest.counts[low + v].argmax())
    return built[0]


def test_bulk_growth_of_all_sixteen_is_the_literal_reading_too(registry, parts):
    generator = registry.get("dataset", "random_table").cls()
    judges, layout = judges_of(parts), bulk.multiway_layout([3] * 10)
    for seed in range(3):
        cells, decisions = generator.cells(seed)
        objects = bulk.Objects(layout, cells, decisions, 3)
        forest = bulk.grow_many(objects, judges, parts["sum", "rt"].stopping)
        assert (bulk.check(forest, objects) == 0).all()
        table = [(tuple(row), d) for row, d in zip(cells.tolist(), decisions.tolist(), strict=True)]
        for k, which in enumerate(PRESETS):
            assert nested(forest, k) == literal.tree(table, *which), which


def test_bulk_growth_gives_the_trees_and_complexities_of_runs(registry, parts):
    table = table_of(registry, 5, 50, 10, 3, 3)
    own = parts["sum", "rt"]
    encoded = own.encoder.encode(table, table, raw_thresholds=False, seed=0)
    objects = bulk.Objects.of(encoded, own.cost.price_list(encoded, 0))
    forest = bulk.grow_many(objects, judges_of(parts), own.stopping)
    for k, (kind, measure) in enumerate(PRESETS):
        record = arboretum.run(
            ["dataset=random_table", "seed=5", "split=none", f"method={kind}_{measure}"]
        )
        assert record.tree == forest.tree(k, encoded, objects.layout)
        assert [record.metrics[name] for name in bulk.MEASURES] == forest.measures[k].tolist()


def test_the_criterion_takes_its_aggregation_as_kind_on_the_command_line():
    given = ["dataset=random_table", "seed=2", "split=none"]
    parts = [
        "encoder=multiway",
        "method=greedy",
        "criterion=aggregated",
        "criterion.kind=w_max",
        "impurity=gini",
    ]
    assert (
        arboretum.run([*given, *parts, "stopping=[pure]"]).tree
        == arboretum.run([*given, "method=w_max_gini"]).tree
    )
    with pytest.raises(
        ArboretumError, match="criterion.kind: unknown value 'wmax'; did you mean 'w_max'"
    ):
        arboretum.run([*given, *parts[:3], "criterion.kind=wmax"])
