"""Whatever method of a plugin raises, one line names component, method, file and line; the run folder keeps the traceback."""

from __future__ import annotations

import pytest

import arboretum

PLUGIN = '''
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
'''
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
    result = call("run", "--plugin", "burnt.py", *chosen, "tracker=none", "hydra.run.dir=out", *words.split(" "))
    assert "Traceback" not in result.err
    return result.status, result.err.splitlines()[-1].removeprefix("arboretum: error: ")


@pytest.mark.parametrize("words", WHERE)
def test_component_method_file_and_line_are_named_in_one_line(words, call, here):
    status, error = burning(call, here, words)
    assert status == 1
    assert error.startswith(f"{WHERE[words]} raised KeyError: 'the key' (burnt.py:{LINE}")
    if "checked" not in words:  # nothing is made before the components are
        told = (here / "out" / "error.txt").read_text()
        assert told.startswith(f"{WHERE[words]} raised KeyError") and "Traceback" in told and "in burn" in told
        assert error.endswith("out/error.txt")


@pytest.mark.parametrize("what", ["SystemExit(0)", "SystemExit('enough')", "GeneratorExit()", "BaseException('odd')"])
def test_a_component_that_leaves_the_program_has_failed(what, call, here):
    status, error = burning(call, here, "criterion=burnt", what)
    name = what.partition("(")[0]
    assert status == 1
    assert error.startswith(f"criterion 'burnt': score raised {name}") and f"burnt.py:{LINE}" in error
    assert (here / "out" / "error.txt").exists()


def test_a_sweep_keeps_the_traceback_of_each_job_that_code_failed(call, here):
    (here / "burnt.py").write_text(PLUGIN.replace("BURNS", "KeyError('the key')"))
    chosen = ("dataset=iris", "tracker=none", "criterion=reduction,burnt", "hydra.sweep.dir=s")
    result = call("run", "-m", "--plugin", "burnt.py", *chosen)
    assert result.status == 1 and f"criterion 'burnt': score raised KeyError: 'the key' (burnt.py:{LINE})" in result.err
    assert "Traceback" in (here / "s" / "1" / "error.txt").read_text() and "Traceback" not in result.err


@pytest.mark.parametrize("call_of", ["prepare", "store"])
def test_a_tracker_that_fails_is_named_with_its_line_and_the_run_is_kept(call_of, call, here):
    result = call("run", "--plugin", "toy.py", "--plugin", "lines.py", "dataset=toy", "tracker=lines", f"tracker.fails={call_of}")
    assert result.status == 3
    assert f"tracker 'lines': {call_of} raised RuntimeError: no {call_of} today (lines.py:" in result.err


def test_what_fails_on_import_is_named_with_its_line(call, here):
    (here / "broken.py").write_text("x = 1\n\nimport no_such_module\n")
    assert "No module named 'no_such_module' (broken.py:3)" in call("run", "--plugin", "broken.py", "dataset=iris").error
    (here / "hook.py").write_text(
        "from arboretum.api import hookimpl\n@hookimpl\ndef arboretum_components():\n    raise SystemExit(0)\n"
    )
    result = call("run", "--plugin", "hook.py", "dataset=iris")
    assert result.status == 1 and "arboretum_components() raised SystemExit: 0 (hook.py:4)" in result.error


def test_estimators_and_python_name_the_component_too(here):
    (here / "burnt.py").write_text(PLUGIN.replace("BURNS", "SystemExit(0)"))
    with pytest.raises(arboretum.ArboretumError, match=rf"criterion 'burnt': score raised SystemExit: 0 \(burnt.py:{LINE}\)"):
        arboretum.run(["dataset=iris", "criterion=burnt"], plugins=["burnt.py"])
