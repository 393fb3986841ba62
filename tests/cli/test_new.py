"""What ``arboretum new`` writes runs at once, passes its own tests, and overwrites nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from arboretum.api import Status
from arboretum.cli.new import EXAMPLES, FURTHER
from arboretum.runs.folder import read_run

TEMPLATES = [(kind, name) for kind, names in FURTHER.items() for name in names]


@pytest.mark.slow
def test_a_new_plugin_of_every_kind_passes_its_own_tests(call, here):
    for kind in EXAMPLES:
        assert call("new", f"brand-{kind}", "--kind", kind).status == 0
    for kind, template in TEMPLATES:
        words = ("--kind", kind, "--template", template)
        assert call("new", f"brand-{template}", *words).status == 0
    names = [*EXAMPLES, *(template for _, template in TEMPLATES)]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-W",
            "error",
            "--import-mode=importlib",
            here,
        ],
        cwd=here,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(here / f"brand-{name}") for name in names),
        },
    )
    assert done.returncode == 0, done.stdout


def test_a_new_plugin_once_installed_runs_in_a_sweep(call, command, here):
    assert call("new", "brand-new").status == 0
    folder = here / "brand-new"
    info = folder / "brand_new-0.1.0.dist-info"  # as an installer would leave it
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brand-new\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[arboretum]\nbrand_new = brand_new.plugin\n")
    arguments = (
        "dataset=toy",
        "-m",
        "criterion=brand_new,reduction",
        "seed=1,2",
        "tracker=none",
        "hydra.sweep.dir=s",
    )
    result = command.run("run", "--plugin", "toy.py", *arguments, env={"PYTHONPATH": str(folder)})
    assert result.status == 0, result.err
    assert "4 of 4" in result.out
    assert read_run(here / "s" / "0").versions["plugin brand_new"] == "brand-new 0.1.0"


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_new_component_runs_at_once_by_the_command_that_is_printed(kind, call, here):
    command = call("new", f"quick-{kind}", "--kind", kind).out.splitlines()[-1].split()
    verb = {"export": "export", "comparison": "compare", "measure": "compare"}.get(kind, "run")
    assert command[:2] == ["arboretum", verb]
    words = [word.strip("'") for word in command[1:]]
    if verb == "compare":
        sets = "dataset=iris,wine,play-tennis,monk1-full,monk2-full"
        sweep = ("method=cart,random", "tracker=none", "hydra.sweep.dir=quick")
        assert call("run", "-m", sets, *sweep).status == 0
        shown = {"comparison": "Sign test", "measure": "Error + price of leaves"}[kind]
        assert shown in call(*(word.replace("FOLDER", "quick") for word in words)).out
        return
    if kind == "export":
        assert call("run", "dataset=iris", "tracker=none", "hydra.run.dir=quick").status == 0
        assert "petal_width" in call(*(word.replace("RUN", "quick") for word in words)).out
        return
    assert call(*words, "tracker=none", "hydra.run.dir=quick").status == 0


@pytest.mark.parametrize(("kind", "template"), TEMPLATES)
def test_what_another_template_writes_runs_at_once_and_passes_its_test(kind, template, call, here):
    said = call("new", "quick-one", "--kind", kind, "--template", template).out
    words = [word.strip("'") for word in said.splitlines()[-1].split()[1:]]
    assert call(*words, "tracker=none", "hydra.run.dir=quick").status == 0
    assert read_run(here / "quick").solution.status is Status.optimal
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "quick-one"]
    path = {**os.environ, "PYTHONPATH": str(here / "quick-one")}
    run = {"cwd": here, "env": path, "capture_output": True, "text": True, "timeout": 240}
    done = subprocess.run([*command, "--import-mode=importlib"], check=False, **run)
    assert done.returncode == 0, done.stdout


def test_a_template_that_a_kind_has_not_is_refused(call):
    said = call("new", "x", "--kind", "objective", "--template", "sum").error
    assert "--template: unknown template 'sum'; did you mean 'sums'" in said
    said = call("new", "x", "--template", "sums").error
    assert "the kind 'criterion' has one template; leave it out, or say --kind of objective" in said


def test_new_overwrites_nothing_and_refuses_names_that_cannot_be(call, here):
    (here / "mine").mkdir()
    (here / "mine" / "thesis.txt").write_text("years of work")
    assert "nothing is overwritten" in call("new", "mine").error
    assert [path.name for path in (here / "mine").iterdir()] == ["thesis.txt"]
    assert "impurity 'gini' is installed already" in call("new", "gini", "--kind", "impurity").error
    assert "begin with a letter; got '2fast'" in call("new", "2fast").error
    for name in ("class", "Class", "true", "none"):
        said = call("new", name).error
        assert "it must be no keyword of Python and none of none, null," in said
        assert f"got {name!r}" in said
    assert "a Python package 'json' is installed already" in call("new", "json").error
    assert (
        "there is none for the kind 'tracker' yet; begin with its contract"
        in call("new", "x", "--kind", "tracker").error
    )
