"""``certify=true`` as a user meets it: the terminal, the record, the sweep's table, the tracker,
what cannot be certified.
"""

from __future__ import annotations

import json
import os
import re
import shutil

import pytest

from arboretum.model.tree import Tree

EIGHT = [
    "depth",
    "average_depth",
    "total_path_length",
    "n_nodes",
    "n_leaves",
    "n_internal",
    "expected_cost",
    "max_cost",
]
ONCE = ("split=none", "tracker=none", "hydra.run.dir=kept")


def record_in(folder) -> dict:
    return json.loads((folder / "record.json").read_text(encoding="utf-8"))


def row_of(out: str, name: str) -> list[str]:
    return next(line.split() for line in out.splitlines() if line.split()[:1] == [name])


def data_home_or_skip(name: str) -> None:
    if not os.environ.get("ARBORETUM_DATA"):
        pytest.skip(f"ARBORETUM_DATA names no data home with {name}")


@pytest.mark.parametrize("name", ["play-tennis", "monk1", "car"])
def test_a_greedy_tree_is_certified_from_the_command_line(call, here, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    if name in ("car", "monk1"):
        data_home_or_skip(name)
    done = call("run", f"dataset={name}", "method=id3", "certify=true", *ONCE)
    assert done.status == 0, done.err
    record = record_in(here / "kept")
    found = record["certificate"]["complexities"]
    assert list(found) == EIGHT
    for metric, one in found.items():
        assert one["ratio_is"] == "exact"
        assert one["value"] == pytest.approx(record["metrics"][metric], rel=1e-12)
        assert one["ratio"] == one["value"] / one["minimum"] >= 1
    assert record["timings"]["certify"] > 0
    head = (
        f"certified by subtable_dp against all trees on the same {record['data']['n_objects']} "
        "objects"
    )
    assert head in re.sub(r"\s+", " ", done.out)
    assert row_of(done.out, "complexity") == ["complexity", "this", "tree", "minimum", "ratio"]
    assert float(row_of(done.out, "depth")[2]) == found["depth"]["minimum"]
    assert all(len(line) <= 80 for line in done.out.partition("certified by")[2].splitlines()[:12])


@pytest.mark.parametrize("complexity", ["average_depth", "n_leaves", "depth"])
def test_the_exact_method_has_ratio_one_in_its_own_complexity(call, here, complexity):
    done = call(
        "run",
        "dataset=monk1-full",
        "method=exact",
        "solver=subtable_dp",
        "objective=zero_error",
        "encoder=multiway",
        f"complexity={complexity}",
        "stopping=[pure]",
        "certify=true",
        *ONCE,
    )
    assert done.status == 0, done.err
    found = record_in(here / "kept")["certificate"]["complexities"]
    assert found[complexity]["ratio"] == 1
    assert all(one["ratio"] >= 1 for one in found.values())


def test_show_prints_the_certificate_of_a_kept_run(call):
    first = call("run", "dataset=play-tennis", "method=id3", "certify=true", *ONCE)
    again = call("show", "kept")
    start, end = "certified by", "total_path_length"
    assert (
        first.out.partition(start)[2].partition(end)[0]
        == again.out.partition(start)[2].partition(end)[0]
        != ""
    )


def test_without_certify_the_record_has_no_certificate(call, here):
    call("run", "dataset=play-tennis", "method=id3", *ONCE)
    assert "certificate" not in record_in(here / "kept")


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (
            ["dataset=play-tennis", "method=id3", "stopping.standard.max_depth=1"],
            "solver gosdt asks two-way tests, but column 'outlook' has 3 branches; use "
            "encoder=onehot",
        ),
        (
            [
                "dataset=play-tennis",
                "method=id3",
                "stopping.standard.min_leaf=2",
                "certifier=subtable_dp",
            ],
            "no limit min_leaf",
        ),
        (
            ["dataset=play-tennis", "method=id3", "stopping.standard.min_decrease=0.1"],
            "no limit min_decrease",
        ),
        (
            ["dataset=iris", "method=cart"],
            "is raw, and its thresholds are found at each node; choose fixed tests: "
            "encoder=midpoints",
        ),
        (["dataset=diabetes", "method=cart"], "minima are known for classes only"),
        (
            [
                "dataset=file",
                "dataset.path=hole.csv",
                "dataset.target=y",
                "method=id3",
                "encoder.missing=keep",
            ],
            "missing values; use encoder.missing=category",
        ),
    ],
    ids=["depth", "leaf size", "least decrease", "raw columns", "regression", "missing values"],
)
def test_where_no_minimum_is_defined_the_run_says_why_and_goes_on(call, here, words, note):
    (here / "hole.csv").write_text("a,b,y\nr,s,no\nr,t,yes\n,s,yes\nu,t,no\nu,s,no\nr,t,yes\n")
    done = call("run", *words, "certify=true", *ONCE)
    assert done.status == 0, done.err
    said = [
        line for line in done.out.splitlines() if line.startswith("note: certify: not applicable: ")
    ]
    assert len(said) == 1
    assert note in said[0]
    assert "certificate" not in record_in(here / "kept")


def test_the_way_out_for_raw_columns_leads_to_a_certificate(call, here):
    done = call("run", "dataset=iris", "method=cart", "encoder=multiway", "certify=true", *ONCE)
    assert done.status == 0, done.err
    assert set(record_in(here / "kept")["certificate"]["complexities"]) == set(EIGHT)


def test_a_certifier_is_chosen_by_name_and_a_wrong_name_is_refused(call):
    assert (
        call(
            "run",
            "dataset=play-tennis",
            "method=id3",
            "certify=true",
            "certifier=subtable_dp",
            *ONCE,
        ).status
        == 0
    )
    wrong = call(
        "run", "dataset=play-tennis", "method=id3", "certify=true", "certifier=subtable", *ONCE
    )
    assert wrong.status == 1
    assert "certifier: unknown certifier 'subtable'; did you mean 'subtable_dp'" in wrong.error


BY_BOUNDS = {
    "a greedy tree of bounded price": (
        ["method=greedytree_pairs", "certifier=max_cost"],
        "max_cost",
        ["depth", "max_cost"],
    ),
    "all complexities unless it is asked for": (["method=greedytree_pairs"], "subtable_dp", EIGHT),
    "the exact method beside its own": (["method=max_cost"], "subtable_dp", EIGHT),
    "the exact method by itself": (
        ["method=max_cost", "certifier=max_cost"],
        "max_cost",
        ["depth", "max_cost"],
    ),
    "a budget of a path": (
        ["method=portfolio", "stopping.max_cost.limit=1"],
        "max_cost",
        ["train_error"],
    ),
    "an objective of bounded error": (
        [
            "method=greedytree_pairs",
            "objective=max_cost",
            "objective.error=0.1",
            "certifier=max_cost",
        ],
        "max_cost",
        ["objective"],
    ),
}


@pytest.mark.parametrize("case", BY_BOUNDS)
def test_admissible_bounds_reach_a_certificate(call, here, case):
    words, certifier, names = BY_BOUNDS[case]
    done = call("run", "dataset=play-tennis", *words, "certify=true", *ONCE)
    assert done.status == 0, done.err
    certificate = record_in(here / "kept")["certificate"]
    assert (
        certificate["certifier"]["name"] == certifier and list(certificate["complexities"]) == names
    )
    assert all(
        one["ratio_is"] in ("exact", "undefined") for one in certificate["complexities"].values()
    )


def test_a_tree_that_the_objective_does_not_allow_has_no_certificate(call):
    words = (
        "dataset=play-tennis",
        "method=id3",
        "stopping.standard.max_depth=1",
        "objective=max_cost",
        "certifier=max_cost",
    )
    done = call("run", *words, "certify=true", *ONCE)
    assert done.status == 0, done.err
    assert "not applicable" in done.out


def test_a_finished_run_with_another_certifier_or_none_is_not_taken_for_this_one(call, here):
    command = (
        "run",
        "dataset=play-tennis",
        "method=id3",
        "split=none",
        "tracker=none",
        "skip_finished=true",
    )
    assert "finished before" not in call(*command, "certify=true", "hydra.run.dir=outputs/a").out
    assert "finished before" not in call(*command, "hydra.run.dir=outputs/b").out
    again = call(*command, "certify=true", "hydra.run.dir=outputs/c")
    assert "finished before" in again.out
    assert "certified by subtable_dp" in again.out


def test_a_sweep_shows_the_ratio_of_the_goal_where_it_is_certified(call):
    command = (
        "run",
        "-m",
        "dataset=monk1-full",
        "method=id3",
        "certify=true",
        "split=none",
        "tracker=none",
    )
    by_leaves = call(*command, "goal=n_leaves")
    assert "n leaves ÷ min" in by_leaves.out
    assert "expected cost ÷ min" in call(*command).out
    plain = call(*(word for word in command if word != "certify=true"))
    assert "÷ min" not in plain.out
    assert (
        call(*command, "stopping.standard.max_depth=1").out.count(
            "1 of 1 runs: certify: not applicable: solver gosdt"
        )
        == 1
    )
    titles, row = (
        next(re.split(" {2,}", line) for line in by_leaves.out.splitlines() if line.startswith(w))
        for w in ("method", "id3")
    )
    tree_leaves, ratio = (
        float(row[titles.index(title)]) for title in ("n leaves", "n leaves ÷ min")
    )
    # the ratio is shown to 4 digits
    assert tree_leaves / ratio == pytest.approx(round(tree_leaves / ratio), rel=1e-3)


def test_a_small_budget_gives_a_bound_a_ratio_at_most_and_a_finished_run(call, here):
    data_home_or_skip("tic-tac-toe")
    # the budget is the certificate's too; a greedy tree on 958 rows needs far less
    done = call(
        "run", "dataset=tic-tac-toe", "method=id3", "certify=true", "budget.memory_mb=1", *ONCE
    )
    assert done.status == 0, done.err
    record = record_in(here / "kept")
    open_ = {
        name: one
        for name, one in record["certificate"]["complexities"].items()
        if one["ratio_is"] == "at most"
    }
    assert open_, record["notes"]
    assert not record["fingerprint"].startswith("unfinished")
    for one in open_.values():
        assert one["minimum"] is None
        assert 0 < one["lower_bound"] < one["best_known"] <= one["value"]
    assert "≥" in done.out
    assert "≤" in done.out
    assert "note: certify: only a lower bound" in done.out
    shutil.rmtree(here / "kept")


def test_what_a_solver_proved_besides_is_told_and_further_optimal_trees_are_kept(call, here):
    result = call(
        "run",
        "dataset=monk1-full",
        "method=subtable_dp",
        "complexity=n_nodes",
        "split=none",
        "tracker=none",
        "solver.count=true",
        "solver.enumerate=2",
        "solver.then=[depth]",
        "hydra.run.dir=two",
    )
    assert result.status == 0, result.err
    record = record_in(here / "two")
    details, metrics = record["solution"]["details"], record["metrics"]
    assert f"optimal trees: {details['optimal_trees']}" in result.out
    assert f"stages: n_nodes {metrics['n_nodes']:g}, depth {metrics['depth']:g}" in result.out
    kept = sorted(path.name for path in (here / "two").glob("tree*.json"))
    assert kept == (
        ["tree-2.json", "tree.json"] if int(details["optimal_trees"]) > 1 else ["tree.json"]
    )
    for name in kept:
        assert (
            Tree.from_json((here / "two" / name).read_text(encoding="utf-8")).n_nodes
            == metrics["n_nodes"]
        )


BY_VALUE = [
    (["method=cart", "stopping.standard.max_depth=2"], "train_error", "(max_depth 2):"),
    (
        [
            "method=cart",
            "stopping.standard.max_leaves=3",
            "stopping.standard.min_leaf=5",
            "stopping.standard.min_decrease=0.01",
        ],
        "train_error",
        "(max_leaves 3, min_leaf 5):",
    ),
    (
        [
            "method=cart",
            "objective=balanced",
            "objective.lam=0.02",
            "pruner=cost_complexity",
            "pruner.alpha=0.01",
        ],
        "objective",
        "4 tests:",
    ),
    (["method=gosdt", "stopping.standard.max_depth=2"], "objective", "(max_depth 2):"),
]


@pytest.mark.parametrize(
    ("words", "row", "head"), BY_VALUE, ids=["depth", "leaves", "objective", "exact"]
)
def test_limits_and_objectives_are_certified_by_value(call, here, words, row, head):
    done = call("run", "dataset=iris", *words, "certify=true", *ONCE)
    assert done.status == 0, done.err
    record = record_in(here / "kept")
    ((name, found),) = record["certificate"]["complexities"].items()
    assert name == row and found["ratio_is"] == "exact" and found["value"] >= found["minimum"] > 0
    if row == "train_error":
        assert found["value"] == pytest.approx(record["metrics"]["train_error"], rel=1e-12)
    elif words[0] == "method=gosdt":
        assert found["ratio"] == 1 and found["value"] == record["solution"]["value"]
    assert re.sub(r"\s+", " ", done.out.partition("certified by gosdt")[2]).startswith(
        " against all trees on the same 150 objects"
    )
    assert head in re.sub(r"\s+", " ", done.out)
    assert row_of(done.out, row)


def test_what_is_not_proven_in_time_is_a_bound(call, here):
    words = (
        "dataset=tic-tac-toe",
        "method=cart",
        "stopping.standard.max_depth=4",
        "certify=true",
        "budget.seconds=0.2",
    )
    done = call("run", *words, "certifier=gosdt", *ONCE)
    assert done.status == 0, done.err
    (found,) = record_in(here / "kept")["certificate"]["complexities"].values()
    assert found["ratio_is"] in ("unknown", "at most", "exact")
    assert ("only a lower bound is proven within the budget" in done.out) == (
        found["ratio_is"] != "exact"
    )


@pytest.mark.parametrize("coalesce", ["sum", "one", "none"])
def test_merged_rows_of_several_classes_have_no_certified_error(coalesce, call, here):
    words = (
        "dataset=monk1-full",
        "dataset.ignore=[a5]",
        "method=cart",
        "encoder=onehot",
        "stopping.standard.max_depth=2",
        "certify=true",
    )
    done = call("run", *words, f"encoder.coalesce={coalesce}", *ONCE)
    assert done.status == 0, done.err
    certificate = record_in(here / "kept").get("certificate")
    assert bool(certificate) == (coalesce == "none") and (
        "use encoder.coalesce=none" in done.out
    ) == (coalesce != "none")
