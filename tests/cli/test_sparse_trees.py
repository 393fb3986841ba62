"""``solver=gosdt`` as a user meets it: presets, limits, budgets, Ctrl-C."""

from __future__ import annotations

import json
import signal
import time

import pytest

ONCE = ("split=none", "tracker=none", "hydra.run.dir=kept")


def record_in(folder) -> dict:
    return json.loads((folder / "record.json").read_text(encoding="utf-8"))


def test_the_preset_and_its_parts_say_the_same(call, here):
    parts = ("method=exact", "solver=gosdt", "objective=accuracy", "objective.lam=0.02")
    assert call("run", "dataset=iris", "method=gosdt", "objective.lam=0.02", *ONCE).status == 0
    preset = record_in(here / "kept")
    done = call("run", "dataset=iris", *parts, "split=none", "tracker=none", "hydra.run.dir=parts")
    assert done.status == 0, done.err
    record = record_in(here / "parts")
    assert "optimal: value 0.1, proven bound 0.1, gap 0" in done.out
    assert record["solution"]["value"] == preset["solution"]["value"] == pytest.approx(0.1)
    assert (
        record["solution"]["status"] == "optimal"
        and record["checked"]["value"] == "by the objective"
    )
    assert [point[1:] for point in record["solution"]["curve"]][-1] == [
        record["solution"]["lower_bound"],
        record["solution"]["value"],
    ]


@pytest.mark.parametrize("encoder", ["raw", "midpoints", "auto"])
def test_all_thresholds_are_asked_whatever_they_are_called(call, here, encoder):
    words = ("objective.lam=0", "stopping.standard.max_depth=2", f"encoder={encoder}")
    done = call("run", "dataset=iris", "method=gosdt", *words, *ONCE)
    assert done.status == 0, done.err
    assert record_in(here / "kept")["solution"]["value"] == pytest.approx(6 / 150)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["objective=balanced", "stopping.standard.max_leaves=2"], 1 / 3 + 0.02),
        (
            [
                "objective=cost_matrix",
                "objective.costs=[[0,1,1],[4,0,1],[4,1,0]]",
                "stopping.standard.max_leaves=1",
            ],
            2 / 3 + 0.01,
        ),
        (
            ["objective=accuracy", "objective.mu=0.5", "objective.price=max", "cost=table"],
            2 / 3 + 0.01,
        ),
    ],
)
def test_every_objective_is_minimised_and_verified(call, here, words, value):
    done = call("run", "dataset=iris", "method=gosdt", *words, *ONCE)
    assert done.status == 0, done.err
    assert record_in(here / "kept")["solution"]["value"] == pytest.approx(value)


def test_without_time_the_best_leaf_and_its_gap(call, here):
    done = call("run", "dataset=iris", "method=gosdt", "budget.seconds=0", *ONCE)
    assert done.status == 0, done.err
    solution = record_in(here / "kept")["solution"]
    assert solution["value"] == pytest.approx(2 / 3 + 0.01) and solution[
        "lower_bound"
    ] == pytest.approx(0.01)
    assert (
        "the budget of seconds ran out" in done.out
        and record_in(here / "kept")["metrics"]["n_leaves"] == 1
    )


@pytest.mark.parametrize(
    ("number", "status", "told"), [(signal.SIGINT, 130, True), (signal.SIGTERM, 143, 15)]
)
def test_ctrl_c_and_sigterm_keep_the_best_tree(call, here, monkeypatch, number, status, told):
    from arboretum_gosdt.general.search import GeneralSearch

    run = GeneralSearch.run

    def interrupted(self, until, memory_bytes, report):
        if until is None and len(self._data) > 100:  # not while it warms up
            run(self, time.monotonic(), memory_bytes, report)
            signal.raise_signal(number)
        return run(self, until, memory_bytes, report)

    monkeypatch.setattr(GeneralSearch, "run", interrupted)
    words = ("dataset=tic-tac-toe", "method=gosdt", "solver.search=general")
    done = call("run", *words, *ONCE)
    assert done.status == status, done.err
    record = record_in(here / "kept")
    assert record["verified"] and record["solution"]["details"] == {"interrupted": told}
    assert "the search was interrupted" in done.out and record["fingerprint"].startswith(
        "unfinished-"
    )
    swept = call(
        "run",
        "-m",
        *words,
        "objective.lam=0.01,0.02",
        "split=none",
        "tracker=none",
        "hydra.sweep.dir=swept",
    )
    assert swept.status == status
    assert (here / "swept" / "0" / "record.json").exists() and not (here / "swept" / "1").exists()
    assert "0 of 2 runs are finished and kept in swept" in swept.err


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["objective.lam=-0.1"], "objective.lam must be ≥ 0 and < inf; got -0.1"),
        (["objective.lam=.nan"], "objective.lam must be"),
        (
            ["objective=zero_error", "complexity=depth"],
            "solver gosdt minimises objectives of the shape additive",
        ),
        (
            ["encoder=multiway"],
            "asks two-way tests, but column 'sepal_length' has 5 branches; use encoder=onehot",
        ),
        (["objective=weighted"], "objective weighted handles two classes, but iris has 3"),
        (
            ["objective=cost_matrix", "objective.costs=[[0,1],[1,0]]"],
            "a table for 2 classes, but there are 3",
        ),
        (["stopping=[standard,impurity]"], "leave stopping=impurity out"),
        (["stopping.standard.min_decrease=0.1"], "know no limit min_decrease"),
        (["objective=none"], "solver gosdt"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(call, words, error):
    done = call("run", "dataset=iris", "method=gosdt", *words, *ONCE)
    assert done.status == 1
    assert error in done.error
