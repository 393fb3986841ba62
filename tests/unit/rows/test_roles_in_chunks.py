"""What rows say besides, in parts: trees of policies and of times are those of rows in memory."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import arboretum
from arboretum.errors import CapabilityError, ContractError, DataError
from arboretum_policy.objective import PolicyValue

N, GROUP = 900, 200
NOTED = "grown node by node"


def write(path, columns):
    parquet.write_table(pa.table(columns), path, row_group_size=GROUP)
    return path


@pytest.fixture
def trial():
    """Rows of three actions, the third of which no row of the second group took."""
    draw = np.random.default_rng(8)
    age, site = draw.integers(20, 80, N), draw.integers(0, 3, N)
    likely = np.stack([0.5 - age / 200, 0.3 + age / 400, 0.2 + age / 400], axis=1)
    taken = (draw.random((N, 1)) > likely.cumsum(axis=1)).sum(axis=1)
    taken[GROUP : 2 * GROUP] %= 2
    gain = np.stack([np.zeros(N), np.where(age > 50, 1.0, -0.5), np.where(site == 1, 1.2, -1)])
    return {
        "age": [None if k % 17 == 0 else float(v) for k, v in enumerate(age)],
        "site": np.array(["a", "b", "c"])[site].tolist(),
        "action": np.array(["wait", "treat", "cut"])[taken].tolist(),
        "gain": (gain[taken, np.arange(N)] + draw.normal(0, 0.5, N)).round(3).tolist(),
        "likely": likely[np.arange(N), taken].tolist(),
    }


def policy(path, rows, *more):
    return [
        "dataset=file",
        f"dataset.path={path}",
        "dataset.treatment=action",
        "dataset.outcome=gain",
        "dataset.propensity=likely",
        "split=none",
        "encoder=midpoints",
        "method=policy_greedy",
        "objective.estimate=inverse_propensity",
        "stopping.standard.max_depth=3",
        "tracker=none",
        f"rows={rows}",
        *more,
    ]


def alike(overrides, *more):
    """Run rows in chunks, and in memory; assert that they agree, and return both records."""
    ours, known = (arboretum.run(overrides(rows, *more)) for rows in ("chunks", "memory"))
    assert ours.data == known.data
    assert list(ours.notes) == [note for note in known.notes if NOTED not in note]
    assert ours.tree == known.tree and ours.tree.n_leaves > 3
    lost = {name for name in known.metrics if name.endswith("_mean_cost_error")}
    assert ours.metrics.keys() == known.metrics.keys() - lost
    for metric, value in ours.metrics.items():
        assert known.metrics[metric] == pytest.approx(value, rel=1e-9, abs=1e-12), metric
    assert ours.verified
    return ours, known


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("split=holdout", "seed=3"),
        ("stopping.standard.max_depth=5",),
        ("criterion=reduction", "impurity=gini"),
        ("encoder.categorical=multiway", "stopping.standard.min_leaf=30"),
    ],
    ids=str,
)
def test_a_policy_of_rows_in_parts_is_that_of_rows_in_memory(more, tmp_path, trial):
    path = write(tmp_path / "trial.parquet", trial)
    ours, _ = alike(lambda *given: policy(path, *given), *more)
    assert len(set(ours.tree.label[ours.tree.is_leaf].tolist())) > 1
    assert "train_mean_cost" in ours.metrics


def test_what_must_be_estimated_from_all_rows_is_refused_with_the_way_out(tmp_path, trial):
    path = write(tmp_path / "trial.parquet", trial)
    for estimate in ("doubly_robust", "direct"):
        with pytest.raises(CapabilityError, match=r"fits models.*=inverse_propensity.*rows=memory"):
            arboretum.run(policy(path, "chunks", f"objective.estimate={estimate}"))
    unknown = [one for one in policy(path, "chunks") if "propensity=likely" not in one]
    with pytest.raises(CapabilityError, match=r"estimates propensities.*name dataset\.propensity"):
        arboretum.run([*unknown, "dataset.ignore=[likely]"])


def test_an_action_that_no_training_row_took_is_named_wherever_rows_lie(tmp_path, trial):
    trial["action"] = [None if one == "cut" else one for one in trial["action"]]
    path = write(tmp_path / "trial.parquet", trial)
    orders = "dataset.orders={action: [wait, treat, cut]}"
    for rows in ("chunks", "memory"):
        with pytest.raises(DataError, match=r"'cut' was taken in no row, so that nobody knows"):
            arboretum.run(policy(path, rows, orders))


def test_roles_that_make_rows_cost_something_else_are_found_out(tmp_path, trial, monkeypatch):
    path = write(tmp_path / "trial.parquet", trial)
    monkeypatch.setattr(PolicyValue, "linear_roles", lambda self, table: table.roles)
    with pytest.raises(ContractError, match="policy_value states linear_in_roles = True, but"):
        arboretum.run(policy(path, "chunks"))
