"""A run folder from elsewhere: it is read, and never obeyed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arboretum.config.entry import load
from arboretum.errors import StoreError
from arboretum.runs.folder import read_run

pytestmark = pytest.mark.slow  # starts every verb on every foreign run

RULE = '''
"""A test of its own, and an encoder that is not needed to read it."""
from pathlib import Path
import attrs
import numpy as np
from arboretum.api import TestRule
from arboretum.model.rules import Threshold

Path(__file__).with_name("executed").touch()


@attrs.frozen
class Odd(Threshold):
    """A threshold by another name."""

    tag = Path(__file__).parent.name


@attrs.frozen
class Nothing:
    """Costs nothing."""

    kind, name, paper, capabilities = "cost", "nothing", "", ()

    def price_list(self, objects, seed):
        raise NotImplementedError
'''


@pytest.fixture
def run(toy, here) -> Path:
    """Folder of a finished run whose record names a file that leaves a mark when it is executed."""
    assert (
        toy("seed=7", "split=none", "stopping.standard.max_depth=2", "hydra.run.dir=r").status == 0
    )
    (here / "rule.py").write_text(RULE)
    change(
        here / "r",
        lambda record: record["config"].update(
            plugins=[str(here / "toy.py"), str(here / "rule.py")]
        ),
    )
    return here / "r"


def change(folder: Path, how, name: str = "record.json") -> None:
    data = json.loads((folder / name).read_text())
    how(data)
    (folder / name).write_text(json.dumps(data))


READING = (
    ("show", "r"),
    ("predict", "r", "rows.csv"),
    ("why", "r", "0"),
    ("run", "--from", "r"),
    ("sync", ".", "tracker=mlflow"),
    ("ui", "tracker=none"),
)


@pytest.mark.parametrize("words", READING, ids=lambda words: words[0])
@pytest.mark.parametrize("unknown_rule", [False, True], ids=["readable", "needs the plugin"])
def test_no_verb_executes_the_files_that_a_record_names(words, unknown_rule, call, run, here):
    (here / "rows.csv").write_text("a,b\n1,1\n")
    if unknown_rule:
        change(
            run, lambda tree: [rule.update(type=here.name) for rule in tree["rules"]], "tree.json"
        )
    call(*words)
    assert not (here / "executed").exists()


def test_what_needs_no_plugin_goes_on_and_what_does_says_what_to_type(call, run, here):
    (here / "rows.csv").write_text("a,b\n1,1\n")
    assert call("show", "r").status == call("predict", "r", "rows.csv").status == 0
    assert load(run).tree.n_nodes > 1
    change(run, lambda record: record["config"].update(plugins=[str(here / "toy.py")]))
    for words in (("why", "r", "0"), ("run", "--from", "r")):
        error = call(*words).error
        assert error.startswith(
            f"the run used the plugin file {str(here / 'toy.py')!r}, and a run's folder is "
            "not trusted"
        )
        assert error.endswith(f"say --plugin {here / 'toy.py'}")
        assert call(*words, "--plugin", "toy.py").status == 0


def test_a_tree_whose_tests_a_plugin_defines_is_read_with_the_plugin_named(call, run, here):
    change(run, lambda tree: [rule.update(type=here.name) for rule in tree["rules"]], "tree.json")
    change(run, lambda record: record["config"].update(plugins=[str(here / "rule.py")]))
    assert f"look at it, then say --plugin {here / 'rule.py'}" in call("show", "r").error
    with pytest.raises(StoreError, match="in Python: load.RUN, plugins"):
        load(run)
    assert call("show", "r", "--plugin", "rule.py").status == 0
    assert (here / "executed").exists()


def test_a_tree_that_the_plugin_of_today_cannot_read_is_told_with_the_plugin(call, run, here):
    change(run, lambda tree: [rule.update(type="gone") for rule in tree["rules"]], "tree.json")
    change(run, lambda record: record["config"].update(plugins=[str(here / "rule.py")]))
    versions = {"plugin rule": "(file) sha256:0"}
    change(run, lambda record: record["versions"].update(versions))
    error = call("show", "r", "--plugin", "rule.py").error
    assert error.endswith("with the content that the run used: plugin toy, plugin rule")


def test_a_plugin_file_with_another_content_than_the_runs_is_told(toy, call, here):
    (here / "toy.py").rename(here / "first.py")  # a module of a name is loaded once per process
    assert (
        call("run", "--plugin", "first.py", "dataset=toy", "tracker=none", "hydra.run.dir=r").status
        == 0
    )
    assert call("show", "r", "--plugin", "first.py").err == ""
    (here / "edited.py").write_text((here / "first.py").read_text() + "# more\n")
    warned = (
        "arboretum: warning: the file of plugin first is not what the run used: its content "
        "differs\n"
    )
    assert call("show", "r", "--plugin", "edited.py").err == warned
    assert call("run", "--from", "r", "--plugin", "edited.py").err == warned
    assert read_run(here / "r").versions["plugin first"].startswith("(file) sha256:")


def test_why_tells_when_todays_code_is_not_that_of_the_run(call, toy, here):
    assert (
        toy("seed=7", "split=none", "stopping.standard.max_depth=2", "hydra.run.dir=r").status == 0
    )
    words = ("why", "r", "0", "--plugin", "toy.py")
    assert "today's code" not in call(*words).out
    assert {"arboretum", "arboretum_classic", "toy"} <= read_run(here / "r").code.keys()
    change(here / "r", lambda record: record["code"].update(toy="other", arboretum_classic="other"))
    assert (
        "explained with today's code: that of arboretum_classic and toy differs from the run's"
        in call(*words).out
    )


def test_why_lists_the_chosen_test_with_its_rank_beyond_the_shown_ones(call, here):
    assert (
        call(
            "run",
            "dataset=iris",
            "method=random",
            "split=none",
            "tracker=none",
            "seed=3",
            "hydra.run.dir=r",
        ).status
        == 0
    )
    every = call("why", "r", "0", "--top", "0").out.splitlines()
    place = next(i for i, line in enumerate(every) if line.startswith("▸"))
    first = next(i for i, line in enumerate(every) if line.startswith("─")) + 1
    rank, listed = place - first + 1, every.index("", first) - first
    text = call("why", "r", "0", "--top", "1").out
    (chosen,) = [line for line in text.splitlines() if line.startswith("▸")]
    assert (
        chosen.split()[1] == str(rank) and f"the test marked ▸, number {rank} of {listed}" in text
    )
    change(
        here / "r",
        lambda tree: tree["rules"][tree["test"][0]].update(threshold=1000.0),
        "tree.json",
    )
    assert "divided by a test that is not among today's candidates" in call("why", "r", "0").out


def test_a_link_in_a_run_folder_hands_nothing_on(call, run, here):
    (here / "diary").write_text("dear diary")
    (run / "tree.txt").unlink()
    (run / "tree.txt").symlink_to(here / "diary")
    (here / "lines.jsonl").touch()
    change(run, lambda record: record["config"].update(plugins=[]))
    assert call("sync", "r", "--plugin", "lines.py", "tracker=lines").out.startswith("1 sent")
    sent = [json.loads(line) for line in (here / "lines.jsonl").read_text().splitlines()]
    assert [call["files"] for call in sent if call["call"] == "store"] == [
        ["record.json", "tree.json", "tree.svg"]
    ]


# -- names that a terminal would obey --------------------------------------------------------------


EVIL = "x\x1b[2J\x1b]0;owned\x07\u202e"


def test_no_name_of_a_file_reaches_the_terminal_as_a_command(call, here, capsys, monkeypatch):
    import csv

    rows = [[EVIL, "label"], *([str(i), EVIL + ("a" if i < 20 else "b")] for i in range(40))]
    with (here / f"t{EVIL}.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    (here / "rows.csv").write_bytes((here / f"t{EVIL}.csv").read_bytes())
    run = (
        "run",
        "dataset=file",
        f"dataset.path='t{EVIL}.csv'",
        "dataset.target=label",
        "tracker=none",
        "split=none",
        "hydra.run.dir=r",
    )
    said = [call(*run)]
    assert said[0].status == 0
    said += [
        call(*words.split(" "))
        for words in ("show r", "show r --numbers --config", "why r 0", "predict r nope.csv")
    ]
    said += [
        call("run", f"seed={EVIL}", "dataset=iris"),
        call("show", EVIL),
        call(f"verb{EVIL}"),
        call("run", "--cfg", "job", *run[1:]),
    ]
    texts = [text for result in said for text in (result.out, result.err)]
    assert "\\x1b[2J" in said[0].out and all(
        "\x1b" not in text and "\u202e" not in text for text in texts
    )
    assert "\x1b" not in (here / "r" / "tree.txt").read_text()
    assert f"\n{EVIL}a\n" in call("predict", "r", "rows.csv").out, "a file gets the class as it is"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    painted = call("show", "r").out
    assert "\x1b[" in painted and "\x1b[2J" not in painted and "\x1b]" not in painted
    assert "\x1b" not in call("predict", "r", "rows.csv").out


# -- what cannot be a tree or a record -------------------------------------------------------------


WRONG_TREES = {
    "label": [1.5] * 5,
    "counts": [-1] * 5,
    "price": [float("nan")] * 5,
    "weights": [[None, None]] * 5,
    "classes": ["no", "no"],
    "child_offset": [0.0] * 6,
    "child": [10**30] * 4,
    "test": [True] * 5,
    "columns": [{"name": "a", "kind": "continuous", "categories": "ab"}],
    "rules": [{"type": "ordinal_at_most", "column": "a", "categories": ["x"], "index": 4}],
    "impurity": ["1.5"] * 5,
}


@pytest.mark.parametrize("key", WRONG_TREES)
def test_a_tree_that_is_none_is_refused_in_one_line(key, call, run):
    change(run, lambda tree: tree.update({key: WRONG_TREES[key]}), "tree.json")
    assert call("show", "r").error.startswith("r: ")


WRONG_RECORDS = {
    "verified": "yes",
    "seed": 1.5,
    "metrics": {"train_error": "0.1"},
    "timings": {"fit": float("inf")},
    "notes": [1],
    "config": {"choices": []},
    "solution": {"value": "1", "lower_bound": 0, "status": "optimal", "subproblems": 0},
    "certificate": {"certifier": {}, "leaf_rule": {}, "complexities": {}},
    "versions": [],
}


@pytest.mark.parametrize("key", WRONG_RECORDS)
def test_a_record_that_is_none_is_refused_in_one_line(key, call, run):
    change(run, lambda record: record.update({key: WRONG_RECORDS[key]}))
    assert call("show", "r").error.startswith("r: not a record")


@pytest.mark.parametrize("name", ["record.json", "tree.json"])
def test_json_of_any_depth_is_refused_in_one_line(name, call, run):
    (run / name).write_text("[" * 100_000 + "]" * 100_000)
    assert "nested too deeply" in call("show", "r").error
    assert call("run", "dataset=iris", "tracker=none", "hydra.run.dir=r").status == 1, (
        "it is somebody's, and kept"
    )


def test_verified_is_said_of_the_tree_that_was_verified_only(call, toy, here):
    arguments = (
        "seed=7",
        "split=none",
        "stopping.standard.max_depth=2",
        "hydra.run.dir=r",
        "skip_finished=true",
    )
    assert toy(*arguments).status == 0
    assert ": verified, " in call("show", "r").out
    assert "finished before" in toy(*arguments[:3], arguments[4]).out
    change(
        here / "r", lambda tree: tree["rules"][tree["test"][0]].update(threshold=0.123), "tree.json"
    )
    text = call("show", "r").out
    assert (
        ": not verified, " in text
        and "tree.json is not the tree that was verified: its checksum differs" in text
    )
    assert not load(here / "r").verified
    assert "finished before" not in toy(*arguments[:3], arguments[4]).out, (
        "no other run is spared for it"
    )
    change(here / "r", lambda record: record.pop("checksums"))
    assert ": not verified, " in call("show", "r").out, (
        "a record without a checksum vouches for no tree"
    )
