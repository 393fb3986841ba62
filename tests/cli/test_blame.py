"""Whatever method of a plugin raises, one line names component, method, file and line; the run
folder keeps the traceback.
"""

from __future__ import annotations

import shlex

import pytest

import arboretum

PLUGIN = """
import attrs
import numpy as np
from arboretum.api import Division, Encoded, LeafRule, Limits, Prices, Solution, Table, param
from arboretum.api import Context, Problem, grow, warm_up


def burn():
    raise BURNS


class Failing:
    paper, capabilities = "", ()


@attrs.frozen
class Rows(Failing):
    kind, name = "dataset", "burnt"
    def load(self, seed): burn()
@attrs.frozen
class Parts_(Failing):
    kind, name = "split", "burnt"
    def divide(self, table, seed): burn()
@attrs.frozen
class Tests(Failing):
    kind, name = "encoder", "burnt"
    def encode(self, train, table, *, raw_thresholds, seed): burn()
@attrs.frozen
class Price(Failing):
    kind, name = "cost", "burnt"
    def price_list(self, objects, seed): burn()
@attrs.frozen
class Mixed(Failing):
    kind, name, scale = "impurity", "burnt", "mean"
    def value(self, weights): burn()
@attrs.frozen
class Score(Failing):
    kind, name = "criterion", "burnt"
    def score(self, tables, node): burn()
@attrs.frozen
class Stop(Failing):
    kind, name = "stopping", "burnt"
    def limits(self): return Limits()
    def is_leaf(self, node): burn()
@attrs.frozen
class Recipe(Failing):
    kind, name, capabilities = "method", "burnt", ("classification", "multiclass", "thresholds")
    def fit(self, problem, context): burn()
@attrs.frozen
class Cold(Failing):
    kind, name, capabilities = "method", "cold", ("classification", "multiclass", "thresholds")
    def fit(self, problem, context): return grow(problem, context)
    def warm_up(self, problem, context): burn()
@attrs.frozen
class Solve(Failing):
    kind, name = "solver", "burnt"
    def solve(self, problem, context): burn()
@attrs.frozen
class Prune(Failing):
    kind, name, needs_validation = "pruner", "burnt", False
    def prune(self, tree, train, valid): burn()
@attrs.frozen
class Tune(Failing):
    kind, name = "tuner", "burnt"
    def tune(self, attempt, valid): attempt({}); burn()
@attrs.frozen
class Checked(Failing):
    kind, name = "criterion", "checked"
    field: int = param(0, "what a validator burns at")
    def __attrs_post_init__(self): self.field and burn()
    def score(self, tables, node): burn()
"""
WHERE = {
    "dataset=burnt": "dataset 'burnt': load",
    "split=burnt": "split 'burnt': divide",
    "encoder=burnt": "encoder 'burnt': encode",
    "cost=burnt": "cost 'burnt': price_list",
    "impurity=burnt": "impurity 'burnt': value",
    "criterion=burnt": "criterion 'burnt': score",
    "stopping=[burnt]": "stopping 'burnt': is_leaf",
    "method=burnt": "method 'burnt': fit",
    "method=cold": "method 'cold': warm_up",
    "method=exact solver=burnt encoder=multiway": "solver 'burnt': solve",
    "pruner=burnt": "pruner 'burnt': prune",
    "tuner=burnt": "tuner 'burnt': tune",
    "criterion=checked criterion.field=1": "criterion 'checked': __init__",
}
LINE = 1 + PLUGIN.split("\n").index("    raise BURNS")


def burning(call, here, words, what="KeyError('the key')"):
    (here / "burnt.py").write_text(PLUGIN.replace("BURNS", what))
    chosen = [] if words.startswith("dataset") else ["dataset=iris"]
    result = call(
        "run",
        "--plugin",
        "burnt.py",
        *chosen,
        "tracker=none",
        "hydra.run.dir=out",
        *words.split(" "),
    )
    assert "Traceback" not in result.err
    return result.status, result.err.splitlines()[-1].removeprefix("arboretum: error: ")


@pytest.mark.parametrize("words", WHERE)
def test_component_method_file_and_line_are_named_in_one_line(words, call, here):
    status, error = burning(call, here, words)
    assert status == 1
    assert error.startswith(f"{WHERE[words]} raised KeyError: 'the key' (burnt.py:{LINE}")
    if "checked" not in words:  # nothing is made before the components are
        told = (here / "out" / "error.txt").read_text()
        assert (
            told.startswith(f"{WHERE[words]} raised KeyError")
            and "Traceback" in told
            and "in burn" in told
        )
        assert error.endswith("out/error.txt")


@pytest.mark.parametrize(
    "what", ["SystemExit(0)", "SystemExit('enough')", "GeneratorExit()", "BaseException('odd')"]
)
def test_a_component_that_leaves_the_program_has_failed(what, call, here):
    status, error = burning(call, here, "criterion=burnt", what)
    name = what.partition("(")[0]
    assert status == 1
    assert (
        error.startswith(f"criterion 'burnt': score raised {name}") and f"burnt.py:{LINE}" in error
    )
    assert (here / "out" / "error.txt").exists()


def test_a_sweep_keeps_the_traceback_of_each_job_that_code_failed(call, here):
    (here / "burnt.py").write_text(PLUGIN.replace("BURNS", "KeyError('the key')"))
    chosen = ("dataset=iris", "tracker=none", "criterion=reduction,burnt", "hydra.sweep.dir=s")
    result = call("run", "-m", "--plugin", "burnt.py", *chosen)
    assert (
        result.status == 1
        and f"criterion 'burnt': score raised KeyError: 'the key' (burnt.py:{LINE})" in result.err
    )
    assert (
        "Traceback" in (here / "s" / "1" / "error.txt").read_text()
        and "Traceback" not in result.err
    )


@pytest.mark.parametrize("call_of", ["prepare", "store"])
def test_a_tracker_that_fails_is_named_with_its_line_and_the_run_is_kept(call_of, call, here):
    result = call(
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "tracker=lines",
        f"tracker.fails={call_of}",
    )
    assert result.status == 3
    assert (
        f"tracker 'lines': {call_of} raised RuntimeError: no {call_of} today (lines.py:"
        in result.err
    )


def test_what_fails_on_import_is_named_with_its_line(call, here):
    (here / "broken.py").write_text("x = 1\n\nimport no_such_module\n")
    assert (
        "No module named 'no_such_module' (broken.py:3)"
        in call("run", "--plugin", "broken.py", "dataset=iris").error
    )
    (here / "hook.py").write_text(
        "from arboretum.api import hookimpl\n@hookimpl\ndef arboretum_components():\n    "
        "raise SystemExit(0)\n"
    )
    result = call("run", "--plugin", "hook.py", "dataset=iris")
    assert (
        result.status == 1
        and "arboretum_components() raised SystemExit: 0 (hook.py:4)" in result.error
    )


def test_estimators_and_python_name_the_component_too(here):
    (here / "burnt.py").write_text(PLUGIN.replace("BURNS", "SystemExit(0)"))
    with pytest.raises(
        arboretum.ArboretumError,
        match=rf"criterion 'burnt': score raised SystemExit: 0 \(burnt.py:{LINE}\)",
    ):
        arboretum.run(["dataset=iris", "criterion=burnt"], plugins=["burnt.py"])


RETURNS = """
import attrs
from arboretum.api import Encoded, Prices


@attrs.frozen
class Nothing:
    paper, capabilities, needs_validation = "", (), False
def class_of(kind, **methods):
    members = {"kind": kind, "name": "nothing", **methods}
    return attrs.frozen(type(kind.title(), (Nothing,), members))
Rows = class_of("dataset", load=lambda self, seed: None)
Divides = class_of("split", divide=lambda self, table, seed: None)
Encodes = class_of("encoder", encode=lambda self, table, whole, *, raw_thresholds, seed: None)
Costs = class_of("cost", price_list=lambda self, objects, seed: None)
Solves = class_of("solver", solve=lambda self, problem, context: None)
Prunes = class_of("pruner", prune=lambda self, tree, train, valid: None)
Tunes = class_of("tuner", tune=lambda self, fit, valid: None)
"""


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (
            "dataset=nothing",
            "dataset 'nothing': load must return a Table; got NoneType (is a 'return' missing?)",
        ),
        ("split=nothing", "split 'nothing': divide must return a Division; got NoneType"),
        ("encoder=nothing", "encoder 'nothing': encode must return a Encoded; got NoneType"),
        ("cost=nothing", "cost 'nothing': price_list must return a Prices; got NoneType"),
        (
            "method=exact solver=nothing encoder=multiway",
            "solver 'nothing': solve must return a Solution; got NoneType",
        ),
        ("pruner=nothing", "pruner 'nothing': prune must return a Tree; got NoneType"),
        ("tuner=nothing", "tuner 'nothing': tune must return a tuple; got NoneType"),
        (
            "cost=table cost.default=inf",
            "cost table: Prices.raw must hold 2 finite numbers ≥ 0; got inf",
        ),
    ],
)
def test_a_component_that_returns_nothing_of_use_is_named(words, rule, call, here):
    (here / "nothing.py").write_text(RETURNS)
    chosen = [] if words.startswith("dataset") else ["dataset=toy"]
    result = call(
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "nothing.py",
        *chosen,
        "tracker=none",
        *words.split(" "),
    )
    assert result.status == 1 and rule in result.err and "Traceback" not in result.err


def test_showing_a_failed_run_says_that_it_failed_and_why(call, here):
    (here / "burnt.py").write_text(PLUGIN.replace("BURNS", "KeyError('the key')"))
    assert (
        call(
            "run", "--plugin", "burnt.py", "dataset=burnt", "tracker=none", "hydra.run.dir=out"
        ).status
        == 1
    )
    shown = call("show", "./out")
    assert shown.status == 1
    assert (
        "the run of 'out' failed and has no record.json; its error.txt says: dataset "
        "'burnt': load raised KeyError" in shown.error
    )


def test_the_command_that_explain_prints_for_a_file_names_the_file_and_runs(call, here):
    (here / "burnt.py").write_text(PLUGIN.replace("BURNS", "KeyError('the key')"))
    for name, beside in (("split.burnt", "split=burnt"), ("solver.burnt", "method=exact")):
        text = call("explain", "--plugin", "burnt.py", name).out
        command = text.partition("try:   arboretum ")[2].split("\n")[0]
        assert f"--plugin {here / 'burnt.py'}" in command and beside in command
        assert "raised KeyError" in call(*shlex.split(command), "tracker=none").err


OBJECTIVES = """
import attrs
import numpy as np
from arboretum.api import AdditiveObjective, SumsObjective

@attrs.frozen
class Twice(AdditiveObjective):
    name = "twice"
    def costs(self, problem):
        objects = problem.objects
        return 2.0 * (objects.label[:, None] != np.arange(objects.n_classes))

@attrs.frozen
class Squares(SumsObjective):
    name = "squares"
    def moments(self, objects):
        y, w = objects.y, objects.weight
        return np.stack([w, w * y, w * y * y], axis=1)
    def leaf(self, sums):
        return sums[..., 2] - sums[..., 1] ** 2 / sums[..., 0]
    def predicts(self, sums):
        return sums[..., 1] / sums[..., 0]
"""


@pytest.mark.parametrize(("name", "method"), [("twice", "gosdt"), ("squares", "leaf_sums")])
def test_an_objective_without_an_example_is_minimised_as_others_of_its_shape(
    call, here, name, method
):
    (here / "objectives.py").write_text(OBJECTIVES)
    text = call("explain", "--plugin", "objectives.py", f"objective.{name}").out
    command = text.partition("try:   arboretum ")[2].split("\n")[0]
    assert f"method={method}" in command and "objective.lam" not in command
    assert "optimal" in call(*shlex.split(command), "objective.lam=0.1", "tracker=none").out


@pytest.mark.parametrize(
    ("column", "words", "rule"),
    [
        (
            ("1e153", "-2e153", "3"),
            "dataset.target=v pruner=cost_complexity",
            "target 'v' of t reaches from -2e+153 to 1e+153, and float64 cannot hold the squares",
        ),
        (
            ("1e-170", "2e-170", "3e-170"),
            "dataset.target=v pruner=cost_complexity",
            "target 'v' of t reaches from 1e-170 to 3e-170, and float64",
        ),
        (
            ("1e-170", "1", "2"),
            "dataset.target=c dataset.weight=v",
            "the weights of t reach from 1e-170 to 2, and float64 cannot hold",
        ),
        (
            ("1e160", "1", "2"),
            "dataset.target=c dataset.weight=v",
            "the weights of t reach from 1 to 1e+160, and float64 cannot",
        ),
        (
            ("1", "2", "3"),
            "dataset.target=c dataset.ignore=[c]",
            "dataset.ignore: 'c' is the target, which is learnt",
        ),
    ],
)
def test_numbers_that_float64_cannot_square_are_refused_by_column(column, words, rule, call, here):
    rows = [f"{i},{value},{'ab'[i % 2]}" for i, value in enumerate(column * 5)]
    (here / "t.csv").write_text("\n".join(("x,v,c", *rows)) + "\n")
    task = (
        ["dataset.task=regression", "criterion=reduction", "impurity=auto"]
        if "target=v" in words
        else []
    )
    error = call(
        "run", "dataset=file", "dataset.path=t.csv", *words.split(" "), *task, "tracker=none"
    ).error
    assert rule in error and ("criterion" not in error)
