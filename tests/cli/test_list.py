"""``arboretum list``, and ``show`` on a folder of sweeps."""

from __future__ import annotations

import csv
import io
import json

import pytest

from arboretum.cli.list import default_columns
from arboretum.runs.folder import RECORD
from arboretum.runs.listing import runs_in


@pytest.fixture
def runs(toy, here):
    """Four runs of a sweep, one that failed, and one alone."""
    assert toy("-m", "method=cart,id3", "seed=1,2,3", "dataset.fails_at=3").status == 1
    assert toy("seed=7", "stopping.standard.max_depth=1", "hydra.run.dir=outputs/one").status == 0
    return here


def listed(call, *argv) -> list[dict]:
    result = call("list", *argv, "--format", "json")
    assert result.status == 0, result.err
    return json.loads(result.out)


def test_runs_of_the_usual_folders_are_listed_with_what_tells_them_apart(runs, call):
    out = call("list").out
    assert out.splitlines()[-1] == "7 of 7 runs"
    head = out.splitlines()[0].split()
    assert head[:3] == ["run", "method", "dataset"] and "max_depth" in head
    assert "test_error" in head and "failed" in out and "outputs/one" in out


def test_where_chooses_by_options_fields_metrics_and_status(runs, call):
    everything = listed(call)
    for where, holds in {
        "method=cart": lambda f: f.get("method") == "cart",
        "test_error<=.3 and seed=1": lambda f: f.get("test_error", 1) <= 0.3 and f["seed"] == 1,
        "stopping.standard.max_depth=1": lambda f: f.get("stopping.standard.max_depth") == 1,
        "status=failed": lambda f: f["status"] == "failed",
        "n_leaves > 1 and not method in [cart]": lambda f: (
            f.get("n_leaves", 0) > 1 and f.get("method") != "cart"
        ),
    }.items():
        expected = [facts["run"] for facts in everything if holds(facts)]
        assert [facts["run"] for facts in listed(call, "--where", where)] == expected
        assert expected, where


def test_a_failed_run_says_why(runs, call):
    (one, two) = listed(call, "--where", "status=failed")
    assert "seed 3 was told to fail" in one["error"] and two["status"] == "failed"
    assert {one["method"], two["method"]} == {"cart", "id3"} and one["seed"] == 3


def test_order_columns_and_forms(runs, call):
    rows = listed(call, "--sort", "n_leaves", "--columns", "run,n_leaves")
    leaves = [row.get("n_leaves") for row in rows]
    known = [number for number in leaves if number is not None]
    assert known == sorted(known) and leaves[len(known) :] == [None] * 2, "failed runs come last"
    falling = listed(call, "--sort", "n_leaves", "--reverse", "--columns", "n_leaves")
    assert [row.get("n_leaves") for row in falling] == [*reversed(known), None, None]
    out = call("list", "--columns", "run,seed", "--format", "csv", "--most", "2").out
    rows = list(csv.reader(io.StringIO(out)))
    assert len(rows) == 3 and rows[0] == ["run", "seed"]
    assert "7 runs, 2 shown" in call("list", "--most", "2").out.splitlines()[-1]
    assert "must be a whole number ≥ 0; got -1" in call("list", "--most", "-1").error


def test_mistakes_have_their_way_out(runs, call):
    for words, message in {
        ("--where", "tset_error<1"): "did you mean 'test_error'",
        ("--sort", "tset_error"): "did you mean 'test_error'",
        ("--columns", "run,sed"): "did you mean 'seed'",
        ("--where", "seed="): "expected a value",
        ("nowhere",): "there is no folder 'nowhere'",
        ("--store", "outputs"): "the tracker or folders, not both",
        ("tracker.uri=sqlite:///x.db",): "is for --store",
        ("--store", "tracker=none"): "tracker=none keeps nothing",
        ("--store", "--plugin", "lines.py", "tracker=lines"): "does not list what it keeps",
    }.items():
        result = call("list", *words)
        assert result.status == 1 and message in result.err, result.err


def test_where_there_are_no_runs_the_message_says_what_to_name(here, call):
    result = call("list")
    assert result.status == 1 and "name a FOLDER, or --store" in result.err


def test_broken_and_hostile_records_are_rows_too(runs, call):
    folder = runs / "outputs" / "odd"
    for number, text in enumerate(
        ("", "[]", "{", '{"config": 3}', '{"config": {"choices": 1}, "metrics": [], "data": 2}')
    ):
        (folder / str(number)).mkdir(parents=True)
        (folder / str(number) / RECORD).write_text(text)
    found = runs_in([folder])
    assert [facts["status"] for facts in found] == ["unreadable"] * 4 + ["unverified"]
    assert call("list").status == 0
    assert default_columns(found)


def test_a_run_below_two_folders_that_are_named_is_listed_once(runs, call):
    assert len(listed(call, "outputs", "outputs", "outputs/one")) == 1


def test_a_folder_of_sweeps_has_a_row_for_each(runs, toy, call):
    assert toy("-m", "seed=5,6").status == 0
    out = call("show", "multirun").out
    head, _, *rows = out.splitlines()
    assert head.split() == ["sweep", "state", "finished", "failed", "best", "what", "was", "asked"]
    assert len(rows) == 2
    (first,) = (row for row in rows if "method=cart,id3" in row)
    (second,) = (row for row in rows if "seed=5,6" in row)
    assert " ".join(first.split()[1:4]) == "finished 4 2" and "valid_error" in first
    assert " ".join(second.split()[1:4]) == "finished 2 0"
    whole = call("show", ".").out
    assert "besides 1 runs of no sweep" in whole
    single = next((runs / "multirun").glob("*/*"))
    shown = call("show", str(single))
    assert "what was asked" not in shown.out, "a sweep is shown by settings"
    assert "left out" not in shown.err
    (damaged := next(single.glob("*/record.json"))).write_text("{")
    again = call("show", str(single))
    assert again.status == 0 and f"warning: left out: {damaged.parent}: not a record" in again.err
