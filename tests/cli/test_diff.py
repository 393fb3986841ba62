"""``arboretum diff``: two runs, or two files of trees, and the rows on which they disagree."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from arboretum import load, run
from arboretum.cli.show import load_again
from arboretum.engine import run as engine
from arboretum.model.table import Table
from arboretum.model.tree import Tree
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import plugin_files


@pytest.fixture
def pair(toy, here):
    """Two runs of one table: a tree of depth 3, and one of depth 1."""
    for name, depth in (("deep", 3), ("flat", 1)):
        limit = f"stopping.standard.max_depth={depth}"
        assert toy("seed=7", "method=cart", limit, f"hydra.run.dir={name}").status == 0
    return here


def diff(call, *argv):
    result = call("diff", "--plugin", "toy.py", *argv)
    assert result.status == 0, result.err
    return result.out


def test_a_run_is_equal_to_itself(pair, call):
    out = diff(call, "deep", "deep")
    assert out.startswith("The trees are equal in every field")
    assert "All " in out and "measures are equal" in out and "configurations are equal" in out


def test_rows_of_each_part_are_counted_as_both_trees_answer_them(pair, call):
    out = diff(call, "deep", "flat")
    deep, flat = load(pair / "deep", plugins=["toy.py"]), load(pair / "flat", plugins=["toy.py"])
    assert f"of {deep.tree.n_nodes} of the first and {flat.tree.n_nodes} of the second" in out
    registry = load_registry(plugin_files(["toy.py"]))
    resolved, prepared, _ = load_again(deep, registry)
    division = engine.pose(resolved.parts, prepared.table, 7).division
    total = 0
    for part in ("train", "valid", "test"):
        rows: Table = prepared.table.take(getattr(division, part))
        one, other = deep.tree.predict(rows), flat.tree.predict(rows)
        apart, truth = one != other, rows.target.codes
        total += apart.sum()
        expected = (
            f"{part} {rows.n_rows} {apart.sum()} {(apart & (one == truth)).sum()} "
            f"{(apart & (other == truth)).sum()} 0"
        )
        assert expected in re.sub(" +", " ", out)
    assert total > 0 and f"They disagree on {total} of 40 rows" in out
    for name, value in deep.metrics.items():
        same = value == flat.metrics[name] or np.isnan(value)
        assert same or name in out or "more (--all lists them)" in out
    assert "stopping.standard.max_depth  3      1" in out
    more = re.search(r"… and (\d+) more", out)
    whole = diff(call, "deep", "flat", "--all")
    assert "--all lists them" not in whole
    assert len(whole.splitlines()) == len(out.splitlines()) + int(more[1]) - 1


def test_trees_alone_do_not_say_their_data_and_a_file_does(pair, call):
    (pair / "deep" / "tree.json").rename(pair / "one.json")
    (pair / "flat" / "tree.json").rename(pair / "two.json")
    out = diff(call, "one.json", "two.json")
    assert "Rows on which they disagree: not known" in out
    assert "one.json is a tree alone, which does not say what data it is of" in out
    assert "--data FILE dataset.target=COLUMN" in out
    trees = [Tree.from_json((pair / name).read_text()) for name in ("one.json", "two.json")]
    cells = np.random.default_rng(0).normal(size=(30, 2)).round(3)
    lines = [f"{a},{b},{'yes' if a > 0 else 'other'}" for a, b in cells.tolist()]
    (pair / "rows.csv").write_text("a,b,truth\n" + "\n".join(lines) + "\n")
    one, other = (
        np.array(tree.classes)[tree.predict([{"a": a, "b": b} for a, b in cells.tolist()])]
        for tree in trees
    )
    apart, truth = one != other, np.array([line.rpartition(",")[2] for line in lines])
    assert apart.any()
    out = diff(call, "one.json", "two.json", "--data", "rows.csv")
    assert f"They disagree on {apart.sum()} of 30 rows" in out and "target is not known" in out
    out = diff(call, "one.json", "two.json", "--data", "rows.csv", "dataset.target=truth")
    right = [(apart & (answer == truth)).sum() for answer in (one, other)]
    neither = (apart & (one != truth) & (other != truth)).sum()
    assert f"file 30 {apart.sum()} {right[0]} {right[1]} {neither}" in re.sub(" +", " ", out)
    result = call("diff", "one.json", "two.json", "--data", "rows.csv", "dataset.target=truht")
    assert result.status == 1 and "no column 'truht'" in result.err
    assert "They answer every row alike" in diff(call, "one.json", "one.json", "--data", "rows.csv")
    result = call("diff", "one.json", "one.json", "--data", "absent.csv")
    assert result.status == 1 and "absent.csv: no such file" in result.err
    result = call("diff", "one.json", "two.json", "dataset.target=truth")
    assert result.status == 1 and "name it: --data FILE" in result.err


def test_data_that_changed_are_not_taken_for_the_runs(pair, call):
    record = pair / "deep" / "record.json"
    data = json.loads(record.read_text())
    data["data"]["sha256"] = "0" * 64
    record.write_text(json.dumps(data))
    out = diff(call, "deep", "flat")
    assert "the data of deep cannot be had: the data set toy is not what it was" in out
    assert "parts of flat" in out and "deep is of other data" in out


def test_a_plugin_file_that_a_folder_names_is_not_run(pair, call):
    result = call("diff", "deep", "flat")
    assert result.status == 0
    assert "cannot be had: the run used the plugin file" in result.out


def test_another_division_is_said(pair, toy, call):
    assert toy("seed=7", "method=cart", "split=none", "hydra.run.dir=whole").status == 0
    assert "whole divided them otherwise" in diff(call, "deep", "whole")


def test_both_trees_are_drawn_and_a_page_holds_all(pair, call):
    out = diff(call, "deep", "flat", "--svg", "two.svg", "--html", "two.html")
    drawn, page = (pair / "two.svg").read_text(), (pair / "two.html").read_text()
    assert drawn.count("<svg ") == 1 and drawn.count("#c8102e") >= 2, "a ring in either tree"
    assert drawn in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    for line in out.splitlines():
        if line and not line.startswith(" "):
            assert f">{line}</h2>" in page


def test_trees_of_numbers_are_compared_by_who_is_nearer(here, call):
    lines = [f"{x},{x * x}" for x in range(40)]
    (here / "squares.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
    common = ["dataset=file", "dataset.path=squares.csv", "dataset.target=y", "method=cart"]
    for name, depth in (("deep", 4), ("flat", 1)):
        limit = f"stopping.standard.max_depth={depth}"
        folder = f"hydra.run.dir={name}"
        assert call("run", *common, limit, "tracker=none", "split=none", folder).status == 0
    out = call("diff", "deep", "flat").out
    assert "nearer" in out and "as near" in out
    assert re.search(r"train +40 +40 +\d+ +\d+ +\d+", out)


def test_trees_of_other_tables_and_words_that_are_no_run_are_refused(here, call):
    folder = "hydra.run.dir=iris"
    assert call("run", "dataset=iris", "tracker=none", folder).status == 0
    assert call("run", "dataset=wine", "tracker=none", "hydra.run.dir=wine").status == 0
    result = call("diff", "iris", "wine")
    assert result.status == 1 and "only the first tree knows the class 'setosa'" in result.err
    (here / "odd.json").write_text("{}")
    result = call("diff", "iris", "odd.json")
    assert result.status == 1 and "not a tree" in result.err
    result = call("diff", "iris", "no/where")
    assert result.status == 1 and "there is no run folder" in result.err


def test_a_tree_in_memory_and_its_file_agree(here, call):
    record = run(["dataset=iris", "method=cart", "tracker=none"])
    (here / "a.json").write_text(record.tree.to_json())
    assert call("diff", "a.json", "a.json").out.startswith("The trees are equal")
