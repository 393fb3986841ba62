"""What rows say besides, in actors: the run is that of rows in memory, to the last bit."""

from __future__ import annotations

import sys

import attrs
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import arboretum
from arboretum.errors import ContractError, DataError
from arboretum.rows.parts import table_in_parts
from arboretum.testing.suites.rows import ToyEncoder, outcomes_and_events
from arboretum.testing.tables import toy_table
from arboretum_ray.rows import RayRows, RayStore

pytestmark = [pytest.mark.slow, pytest.mark.cold, pytest.mark.usefixtures("local_ray")]

N, GROUP = 700, 150


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Costs of two labels, treatments with outcomes, times with events: numbers that round."""
    draw = np.random.default_rng(8)
    few, many = draw.integers(0, 9, N), draw.integers(0, 40, N)
    treated, span = draw.integers(0, 2, N), draw.exponential(1 + few, N)
    columns = {
        "few": np.where(draw.random(N) < 0.1, np.nan, few).tolist(),
        "many": many.tolist(),
        "colour": np.array(["red", "green", "blue"])[draw.integers(0, 3, N)].tolist(),
        "weight": (draw.integers(1, 9, N) / 4).tolist(),
        "odd": draw.random(N).tolist(),
        "label": np.array(["no", "yes"])[1 * ((few > 4) ^ (draw.random(N) < 0.2))].tolist(),
        "no_cost": (draw.random(N) + (few > 3)).round(2).tolist(),
        "yes_cost": (draw.random(N) + (few <= 3)).round(2).tolist(),
        "treated": np.array(["none", "drug"])[treated].tolist(),
        "outcome": (treated * (few > 4) + draw.normal(size=N)).tolist(),
        "chance": draw.uniform(0.3, 0.7, N).tolist(),
        "span": (span.round(1) + 0.1).tolist(),
        "died": np.array(["yes", "no"])[draw.integers(0, 2, N)].tolist(),
    }
    there = tmp_path_factory.mktemp("rows") / "rows.parquet"
    parquet.write_table(pa.table(columns), there, row_group_size=GROUP)
    return there


GROWN = {
    "costs": (
        "dataset.target=label",
        "dataset.costs={no: no_cost, yes: yes_cost}",
        "method=greedy",
        "criterion=cost_reduction",
        "objective=instance_cost",
    ),
    "policy": (
        "dataset.target=treated",
        "dataset.outcome=outcome",
        "dataset.propensity=chance",
        "method=policy_greedy",
        "objective.estimate=inverse_propensity",
    ),
    "survival": (
        "dataset.target=span",
        "dataset.event=died",
        "dataset.event_value=yes",
        "method=survival_greedy",
    ),
}
TELLING = ("few", "many", "colour")


def overrides(path, kind, rows, *more):
    """A run over three columns, and what its roles are made of."""
    names = parquet.read_schema(path).names
    given = " ".join((*GROWN[kind], *more))
    ignored = [name for name in names if name not in TELLING and name not in given]
    return [
        "dataset=file",
        f"dataset.path={path}",
        f"dataset.ignore=[{','.join(ignored)}]",
        "split=none",
        "encoder=midpoints",
        *GROWN[kind],
        "stopping=[standard]",
        "stopping.standard.max_depth=4",
        "tracker=none",
        f"rows={rows}",
        *more,
    ]


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("costs", ()),
        ("costs", ("dataset.weight=weight", "split=holdout")),
        ("costs", ("dataset.weight=odd",)),
        ("policy", ()),
        ("survival", ()),
        ("survival", ("dataset.weight=weight",)),
    ],
    ids=str,
)
def test_the_run_is_that_of_rows_in_memory(kind, more, path):
    known = arboretum.run(overrides(path, kind, "memory", *more))
    found = [arboretum.run(overrides(path, kind, "ray", f"rows.actors={n}", *more)) for n in (1, 3)]
    assert known.tree.n_leaves > 4
    for ours in found:
        assert ours.data == known.data
        assert ours.tree == known.tree
        assert ours.verified
        for metric, value in ours.metrics.items():
            assert known.metrics[metric] == pytest.approx(value, rel=1e-9, abs=1e-12), metric


def test_actors_take_turns_where_sums_round_and_else_do_not(path, monkeypatch):
    """Costs that are whole quarters add up in any order, where the rows are a power of two."""
    asked, given = set(), RayStore._ask_in_turn

    def seen(self, question, *words):
        asked.add(question)
        return given(self, question, *words)

    monkeypatch.setattr(RayStore, "_ask_in_turn", seen)
    arboretum.run(overrides(path, "costs", "ray"))
    assert asked == {"totals_after", "tables_after"}
    asked.clear()
    few = parquet.read_table(path).slice(0, 512).to_pydict()
    for name in ("no_cost", "yes_cost"):
        few[name] = (np.rint(np.array(few[name]) * 4) / 4).tolist()
    whole = path.with_name("whole.parquet")
    parquet.write_table(pa.table(few), whole, row_group_size=GROUP)
    ours, known = (arboretum.run(overrides(whole, "costs", rows)) for rows in ("ray", "memory"))
    assert ours.tree == known.tree and not asked


def refuse(table, share):
    """Columns of a criterion that finds out a false promise."""
    raise ContractError("objective own states what is not so")


def cannot_read(table, share):
    """Columns of a criterion that knows no such role."""
    raise DataError("the role is amiss")


@pytest.mark.parametrize(
    ("columns", "error", "said"),
    [
        (refuse, ContractError, "^objective own states what is not so$"),
        (cannot_read, DataError, r"^node \S+: part 0 of .*: the role is amiss$"),
    ],
)
def test_what_actors_find_out_of_roles_is_told(columns, error, said, local_ray):
    local_ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    data = attrs.evolve(table_in_parts(toy_table(0, n_rows=30), (12,)), columns=columns)
    with pytest.raises(error, match=said):
        RayRows().open(data, ToyEncoder(), 0, None, lambda *_: None)


def test_an_actor_that_is_lost_before_its_turn_is_made_anew(local_ray):
    data = table_in_parts(toy_table(0, n_rows=30), (12,))
    data = attrs.evolve(data, columns=outcomes_and_events)
    opened = RayRows(timeout=120).open(data, ToyEncoder(), 0, None, lambda *_: None)
    store = opened.store
    assert store.in_turn and store.n_columns == 2
    known = store.tables([0])
    for k in range(2):
        local_ray.kill(store.actors.held[k])
        found = store.tables([0])
        assert found.columns.tolist() == known.columns.tolist()
        assert found.counts.tolist() == known.counts.tolist()
    assert store.actors.lost == {0: 1, 1: 1}
    opened.release()
