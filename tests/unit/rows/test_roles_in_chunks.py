"""What rows say besides, in parts: trees of policies and of times are those of rows in memory."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import arboretum
from arboretum.engine import distinct_rows
from arboretum.errors import CapabilityError, ContractError, DataError
from arboretum_policy.objective import PolicyValue
from arboretum_survival.objective import Survival

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


@pytest.fixture
def lifetimes():
    """Times of events and of last looks, some of which several rows share."""
    draw = np.random.default_rng(9)
    dose, stage = draw.integers(0, 10, N), draw.integers(0, 2, N)
    hazard = np.where(dose > 6, 3.0, np.where(stage == 0, 1.0, 0.3))
    happens, lost = draw.exponential(1 / hazard), draw.random(N) < 0.3
    return {
        "dose": [None if k % 19 == 0 else float(v) for k, v in enumerate(dose)],
        "stage": np.array(["early", "late"])[stage].tolist(),
        "noise": draw.integers(0, 30, N).tolist(),
        "time": np.maximum((happens * np.where(lost, 0.6, 1)).round(2), 0.01).tolist(),
        "seen": (~lost).tolist(),
        "weight": (draw.integers(1, 5, N) / 2).tolist(),
        "thirds": (draw.integers(1, 5, N) / 3).tolist(),
        "visits": draw.poisson(hazard * 2).tolist(),
        "other": draw.normal(size=N).tolist(),
    }


def of_times(path, target="time"):
    def given(rows, *more):
        named = " ".join(more)
        rest = {"time", "seen", "weight", "thirds", "visits", "other"} - {target}
        if target == "time":
            rest -= {"seen"}
        event = ["dataset.event=seen"] if target == "time" else ["dataset.task=regression"]
        ignore = sorted(one for one in rest if f"={one}" not in named and f": {one}" not in named)
        return [
            "dataset=file",
            f"dataset.path={path}",
            f"dataset.target={target}",
            f"dataset.ignore=[{','.join(ignore)}]",
            *event,
            "split=none",
            "encoder=midpoints",
            "method=greedy",
            "stopping=[standard]",
            "stopping.standard.max_depth=3",
            "tracker=none",
            f"rows={rows}",
            *more,
        ]

    return given


LOG_RANK = ("criterion=log_rank", "objective=survival")
SURVIVAL = {
    "log-rank": LOG_RANK,
    "all times": ("criterion=log_rank", "criterion.times=1000", "objective=survival"),
    "weights": (*LOG_RANK, "dataset.weight=weight"),
    "split": (*LOG_RANK, "split=holdout", "seed=4"),
    "events on both sides": (*LOG_RANK, "criterion.least_events=40"),
    "mean time": ("criterion=log_rank",),
    "deviance": ("criterion=sums_reduction", "objective=survival"),
    "deviance of weights": (
        "criterion=sums_reduction",
        "objective=survival",
        "dataset.weight=weight",
        "split=holdout",
    ),
    "variance": ("criterion=reduction", "impurity=variance", "objective=survival"),
    "a role that nobody reads": (*LOG_RANK, "dataset.roles={own: other}"),
}


@pytest.mark.parametrize("name", SURVIVAL)
def test_a_tree_of_times_in_parts_is_that_of_rows_in_memory(name, tmp_path, lifetimes):
    path = write(tmp_path / "times.parquet", lifetimes)
    ours, known = alike(of_times(path), *SURVIVAL[name])
    if "objective=survival" in SURVIVAL[name]:
        assert {"train_concordance", "train_integrated_brier"} <= ours.metrics.keys()
        assert ours.tree.value.tolist() == known.tree.value.tolist()


@pytest.mark.parametrize("more", [(), ("dataset.weight=thirds",), ("split=holdout",)], ids=str)
def test_a_tree_of_counts_in_parts_is_that_of_rows_in_memory(more, tmp_path, lifetimes):
    path = write(tmp_path / "visits.parquet", lifetimes)
    alike(of_times(path, "visits"), "criterion=sums_reduction", "objective=poisson", *more)


def test_squares_need_no_objective_and_few_values_neither(tmp_path, lifetimes, monkeypatch):
    monkeypatch.setattr(distinct_rows, "MOST", 20)
    path = write(tmp_path / "other.parquet", lifetimes)
    alike(of_times(path, "other"), "criterion=sums_reduction")


def test_what_rows_in_parts_cannot_say_of_times_is_refused_with_the_way_out(
    tmp_path, lifetimes, monkeypatch
):
    path = write(tmp_path / "times.parquet", lifetimes)
    given = of_times(path)
    with pytest.raises(CapabilityError, match=r"log_rank adds up weights.*whole numbers, or rows="):
        arboretum.run(given("chunks", *LOG_RANK, "dataset.weight=thirds"))
    with pytest.raises(CapabilityError, match=r"squares about the median.*impurity=variance"):
        of_squares = ("criterion=sums_reduction", "objective=squared_error")
        arboretum.run(of_times(path, "visits")("chunks", *of_squares))
    monkeypatch.setattr(distinct_rows, "MOST", 50)
    with pytest.raises(CapabilityError, match=r"values of time, event.*50 different.*round them"):
        arboretum.run(given("chunks", *LOG_RANK))


def test_times_and_counts_that_cannot_be_are_named(tmp_path, lifetimes):
    lifetimes["visits"][450] = -1
    lifetimes["time"][450] = 0.0
    path = write(tmp_path / "wrong.parquet", lifetimes)
    with pytest.raises(DataError, match=r"times lie above 0, and one is 0; leave rows out"):
        arboretum.run(of_times(path)("chunks", *LOG_RANK))
    counts = ("criterion=sums_reduction", "objective=poisson")
    with pytest.raises(DataError, match=r"row group 2 of .*rows from 1 on:.*row 51 has -1"):
        arboretum.run(of_times(path, "visits")("chunks", *counts))
    with pytest.raises(CapabilityError, match="does regression, but the target 'visits' of wrong"):
        arboretum.run(of_times(path, "visits")("chunks", *counts, "dataset.task=classification"))
    lifetimes["time"][450], lifetimes["seen"] = 1.0, [0] * N
    path = write(tmp_path / "unseen.parquet", lifetimes)
    with pytest.raises(DataError, match="no row to learn from has an event"):
        arboretum.run(of_times(path)("chunks", *LOG_RANK))


def test_moments_that_depend_on_other_rows_are_found_out(tmp_path, lifetimes, monkeypatch):
    path = write(tmp_path / "times.parquet", lifetimes)
    monkeypatch.delattr(Survival, "fitted")
    with pytest.raises(ContractError, match=r"states by_value = True, but.*other rows"):
        arboretum.run(of_times(path)("chunks", *SURVIVAL["deviance"]))


def test_rows_in_groups_are_those_of_a_plain_count():
    draw = np.random.default_rng(3)
    columns = [draw.integers(0, 3, 200), draw.choice([0.5, -1.0, 2.0], 200), draw.random(200) < 0.5]
    first, group = distinct_rows.group_rows(columns)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    known = sorted(set(rows))
    assert [rows[k] for k in first] == known and first.tolist() == [rows.index(k) for k in known]
    assert [known[k] for k in group] == rows
