"""A lab of one's own: what it chooses, and that nothing of it runs before its user trusts it as
it stands.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arboretum import TreeClassifier, load, run
from arboretum.api import current_lab
from arboretum.cli.completion import next_words
from arboretum.errors import ConfigError
from arboretum.lab import current, read

SPLIT = '''
"""A split of a lab."""
from pathlib import Path
import attrs
import numpy as np
from arboretum.api import Division

Path("ran").touch()


@attrs.frozen
class Halves:
    """Every second row is for training."""

    kind, name, paper, capabilities = "split", "halves", "", ()

    def divide(self, table, seed):
        rows = np.arange(table.n_rows)
        return Division(rows[::2], rows[:0], rows[1::2])
'''
FILE = """
plugins: [halves.py]
conf: choices
data: home
store: sqlite:///kept/runs.db
defaults:
  {seed: 7, split: halves, stopping: [standard], stopping.standard.max_depth: 1, tracker: none}
"""


@pytest.fixture
def lab(here, monkeypatch):
    """A folder with a lab that nobody has trusted yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(here / "config"))
    monkeypatch.delenv("ARBORETUM_DATA", raising=False)
    (here / "halves.py").write_text(SPLIT)
    (here / "arboretum.yaml").write_text(FILE)
    (here / "choices/experiment").mkdir(parents=True)
    (here / "choices/experiment/deep.yaml").write_text(
        "# @package _global_\nstopping:\n  standard:\n    max_depth: 3\n"
    )
    (here / "home").mkdir()
    (here / "home/small.csv").write_text("")
    return here


@pytest.fixture
def trusted(lab, call):
    assert call("trust").status == 0
    return lab


def load_id(folder: str) -> str:
    """The id that the tracker gave a run."""
    return re.search(r"[0-9a-f]{32}", Path(folder, "tracked.json").read_text())[0]


def record(folder: str = "r") -> dict:
    return json.loads(Path(folder, "record.json").read_text())


@pytest.mark.parametrize(
    "argv",
    [
        ("run", "dataset=iris"),
        ("plugins",),
        ("explain", "split.halves"),
        ("reproduce",),
        ("show", "x" * 32),
    ],
)
def test_nothing_of_a_lab_runs_before_it_is_trusted(lab, call, argv):
    said = call(*argv)
    assert (
        said.status == 1
        and "is a lab that is not trusted" in said.error
        and "arboretum trust" in said.error
    )
    for python in (
        lambda: run(["dataset=iris"]),
        lambda: TreeClassifier().fit([[1.0], [2.0]], [0, 1]),
    ):
        with pytest.raises(ConfigError, match="is not trusted"):
            python()
    assert not Path("ran").exists()


def test_go_on_without_it(lab, call, monkeypatch):
    monkeypatch.setenv("ARBORETUM_LAB", "none")
    assert call("run", "dataset=iris", "tracker=none", "hydra.run.dir=r").status == 0
    assert record()["config"]["split"]["name"] == "holdout" and not Path("ran").exists()


@pytest.mark.parametrize(
    "file",
    ["arboretum.yaml", "halves.py", "choices/experiment/deep.yaml", "choices/experiment/new.yaml"],
)
def test_any_change_asks_again(trusted, call, file):
    assert current().folder == str(trusted)
    with Path(file).open("a") as stream:
        stream.write("# changed\n")
    said = call("plugins")
    word = "new" if file.endswith("new.yaml") else "changed"
    assert said.status == 1 and f"has changed since you trusted it ({word} {file})" in said.error
    again = call("trust")
    assert again.status == 0 and any(
        file in line and word in line for line in again.out.splitlines()
    )
    assert current().folder == str(trusted)


def test_a_file_that_is_gone_asks_again(trusted, call):
    Path("choices/experiment/deep.yaml").unlink()
    assert "(gone choices/experiment/deep.yaml)" in call("plugins").error


def test_the_same_files_elsewhere_are_another_lab(trusted, call, monkeypatch, tmp_path):
    shutil.copytree(
        trusted, tmp_path / "elsewhere", ignore=shutil.ignore_patterns("elsewhere", "config")
    )
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert "is not trusted" in call("plugins").error


def test_runs_start_from_its_defaults_and_the_command_line_chooses(trusted, call):
    assert call("run", "dataset=iris", "hydra.run.dir=r").status == 0
    config = record()["config"]
    assert (
        config["seed"],
        config["split"]["name"],
        config["stopping"]["standard"]["max_depth"],
    ) == (7, "halves", 1)
    assert config["plugins"] == [str(trusted / "halves.py")]
    assert (
        call(
            "run", "dataset=iris", "seed=1", "split=none", "stopping=[pure]", "hydra.run.dir=s"
        ).status
        == 0
    )
    config = record("s")["config"]
    assert (config["seed"], config.get("split"), list(config["stopping"])) == (1, None, ["pure"])


def test_another_method_forgets_what_belongs_to_the_recipe(trusted, call):
    assert call("run", "dataset=iris", "method=id3", "hydra.run.dir=r").status == 0
    config = record()["config"]
    assert (
        config["stopping"].get("standard", {}).get("max_depth") is None
        and config["split"]["name"] == "halves"
    )


def test_its_folder_of_choices_is_searched_and_so_is_one_that_is_named(trusted, call):
    Path("more/experiment").mkdir(parents=True)
    Path("more/experiment/shallow.yaml").write_text(
        "# @package _global_\nstopping:\n  standard:\n    max_depth: 2\n"
    )
    for name, depth, more in (("deep", 3, ()), ("shallow", 2, ("--config-dir", "more"))):
        assert (
            call(
                "run", "dataset=iris", f"+experiment={name}", f"hydra.run.dir={name}", *more
            ).status
            == 0
        )
        assert record(name)["config"]["stopping"]["standard"]["max_depth"] == depth


def test_runs_are_sent_to_its_store(trusted, call):
    assert call("run", "dataset=iris", "tracker=mlflow", "hydra.run.dir=r").status == 0
    assert not Path("kept/runs.db").exists(), (
        "the lab's store is that of its own tracker, which is none"
    )
    Path("arboretum.yaml").write_text(FILE.replace(", tracker: none", ""))
    assert call("trust").status == 0
    assert call("run", "dataset=iris", "hydra.run.dir=s").status == 0
    assert Path("kept/runs.db").is_file()
    shown = call("show", load_id("s"))
    assert shown.status == 0 and "iris" in shown.out
    assert load(load_id("s")).metrics == load("s").metrics


def test_python_sees_its_plugins_its_defaults_and_its_choices(trusted):
    assert run(["dataset=iris"]).config["split"]["name"] == "halves"
    assert run(["dataset=iris", "+experiment=deep"]).metrics["depth"] == 3
    assert run(["dataset=iris"]).metrics["depth"] == 1
    assert run(["dataset=iris", "split=none", "seed=2"]).seed == 2


def test_an_estimator_sees_the_plugins_of_the_lab_that_holds_now(trusted, monkeypatch, tmp_path):
    Path("shy.py").write_text(
        SPLIT.replace("Halves", "Shy")
        .replace('"split", "halves"', '"pruner", "shy"')
        .replace(
            "    def divide(self, table, seed):\n        rows = np.arange(table.n_rows)\n    "
            "    return Division(rows[::2], rows[:0], rows[1::2])",
            "    needs_validation = False\n\n    def prune(self, tree, train, valid):\n      "
            "  return tree",
        )
    )
    Path("arboretum.yaml").write_text("plugins: [shy.py]\n")
    with pytest.raises(ConfigError, match="lab"):
        TreeClassifier(pruner="shy").fit([[1.0], [2.0]], [0, 1])
    read(trusted).trust()
    TreeClassifier(pruner="shy").fit([[1.0], [2.0]], [0, 1])
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    with pytest.raises(ConfigError, match="shy"):
        TreeClassifier(pruner="shy").fit([[1.0], [2.0]], [0, 1])


def test_it_holds_below_its_folder_and_its_data_home_is_the_data_home(trusted, call, monkeypatch):
    (trusted / "below/deeper").mkdir(parents=True)
    monkeypatch.chdir(trusted / "below/deeper")
    assert current_lab().data == str(trusted / "home")
    assert call("run", "dataset=iris", "hydra.run.dir=r").status == 0
    assert record()["config"]["split"]["name"] == "halves"


def test_a_sweep_with_worker_processes_knows_its_plugins(trusted, command):
    done = command.run(
        "run",
        "-m",
        "dataset=iris",
        "seed=1,2",
        "hydra/launcher=joblib",
        "hydra.launcher.n_jobs=2",
        "hydra.sweep.dir=s",
    )
    if "unknown hydra/launcher" in done.err:
        pytest.skip("hydra-joblib-launcher is not installed")
    assert done.status == 0 and record("s/1")["config"]["split"]["name"] == "halves"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("plugin: [a.py]", "unknown key 'plugin'; did you mean 'plugins'?"),
        ("plugins: a.py", "plugins must be a list of files"),
        ("plugins: [gone.py]", "gone.py, which is no file"),
        ("conf: gone", "conf must name a folder"),
        ("defaults: [seed=1]", "defaults must be KEY: VALUE"),
        ("defaults: {sed: 1}", "unknown key 'sed'; did you mean 'seed'?"),
        ("defaults: {criterion: {penalty: 1}}", "criterion takes the name of an option"),
        ("{", "cannot be read"),
        ("3", "must hold the keys plugins, conf, data, store, defaults"),
    ],
)
def test_what_is_wrong_in_the_file_is_said_in_one_line(here, call, monkeypatch, text, words):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(here / "config"))
    (here / "arboretum.yaml").write_text(text)
    told = [call("trust"), call("run", "dataset=iris", "tracker=none")]
    assert words in "".join(one.error for one in told if one.status)
    assert told[-1].status == 1


def test_new_lab_writes_one_that_works_at_once(here, call, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(here / "config"))
    assert call("new", "lab", "clear-cuts").status == 0
    monkeypatch.chdir(here / "clear-cuts")
    assert (
        call(
            "run", "dataset=iris", "criterion=clear_cuts", "tracker=none", "hydra.run.dir=r"
        ).status
        == 0
    )
    assert record()["config"]["split"]["name"] == "kfold"
    monkeypatch.setenv("ARBORETUM_LAB", "none")
    assert "nothing is overwritten" in call("new", "lab", "clear-cuts", "--into", str(here)).error
    monkeypatch.delenv("ARBORETUM_LAB")
    swept = call(
        "run",
        "-m",
        "+experiment=first",
        "dataset=iris",
        "criterion=clear_cuts",
        "tracker=none",
        "hydra.sweep.dir=s",
    )
    assert swept.status == 0 and len(list(Path("s").glob("*/record.json"))) == 3


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("arboretum re", {"reproduce "}),
        ("arboretum completion f", {"fish"}),
        ("arboretum explain criterion.gain", {"criterion.gain_ratio"}),
        ("arboretum reproduce lec", {"lecture"}),
        ("arboretum run --conf", {"--config-dir"}),
        ("arboretum run dataset=iris crit", {"criterion.", "criterion="}),
        ("arboretum run criterion=gain", {"criterion=gain_ratio"}),
        ("arboretum run -m seed=1,2 method=cart,ec4", {"method=cart,ec45"}),
        ("arboretum run dataset=iris stopping.standard.max_d", {"stopping.standard.max_depth="}),
        ("arboretum run dataset=iris split=ha", {"split=halves"}),
        ("arboretum run dataset=wrong wrong=1 criterion.x", set()),
        ("arboretum export r --to mlf", {"mlflow_model"}),
        ("arboretum li", {"list ", "lint "}),
        ("arboretum show out", set()),
    ],
)
def test_words_that_may_come_next(trusted, line, expected):
    found = set(next_words(line))
    assert found >= expected and (expected or not found)


@pytest.mark.cold
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_by_its_script(trusted, command, shell, tmp_path):
    if not (program := shutil.which(shell)):
        pytest.skip(f"{shell} is not installed")
    script = command.run("completion", shell).out
    (tmp_path / "script").write_text(script)
    ask = {
        "bash": (
            'source ./script; COMP_LINE="arboretum repro"; COMP_POINT=${#COMP_LINE}; '
            '_arboretum; echo "${COMPREPLY[@]}"'
        ),
        "zsh": "source ./script; whence -w _arboretum",
        "fish": 'source ./script; complete -C "arboretum repro"',
    }[shell]
    bin_ = Path(sys.executable).parent
    done = subprocess.run(
        [program, "-c", ask],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}"},
    )
    assert ("reproduce" if shell != "zsh" else "_arboretum: function") in done.stdout, done.stderr
