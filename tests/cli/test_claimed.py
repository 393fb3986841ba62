"""A value that nothing recomputes is the solver's word, and the record, the terminal and the
table of a sweep say so; a leaf left out is none.
"""

from __future__ import annotations

import json

import pytest

HASTY = '''
import attrs
from arboretum.api import Solution, Status, param
from arboretum.testing.oracles import build_tree
from arboretum.model.tree import Tree

@attrs.frozen
class Hasty:
    """The first test is called the optimum."""
    kind, name, paper = "solver", "hasty", ""
    capabilities = ("classification", "multiclass", "weights", "prices")

    drops: bool = param(False, "whether a leaf is left out")

    def solve(self, problem, context):
        tree = build_tree(problem.objects, (0, {0: None, 1: None}), problem.prices)
        value = problem.parts.objective.value(tree, problem) if problem.parts.objective else 0.0
        if self.drops:
            kept = [0, 2]
            names = "test missing_child weights counts label value price impurity score".split()
            arrays = {name: getattr(tree, name)[kept] for name in names}
            tree = attrs.evolve(tree, child=[-1, 1], child_offset=[0, 2, 2], **arrays)
            value -= 0.01
        return Solution(tree, value, value, Status.optimal)
'''
RUN = (
    "run",
    "--plugin",
    "hasty.py",
    "dataset=file",
    "dataset.path=t.csv",
    "dataset.target=y",
    "split=none",
    "tracker=none",
    "method=exact",
    "solver=hasty",
    "encoder=multiway",
)
ONE = ("hydra.run.dir=kept",)


@pytest.fixture
def plugged(here):
    (here / "hasty.py").write_text(HASTY)
    (here / "t.csv").write_text(
        "a,b,y\n"
        + "".join(f"{i % 2},{i % 3},{'no' if i % 2 or i % 4 else 'yes'}\n" for i in range(24))
    )
    return here


def test_a_solver_without_an_objective_only_claims(plugged, call):
    done = call(*RUN, *ONE, "objective=none")
    assert done.status == 0, done.err
    record = json.loads((plugged / "kept" / "record.json").read_text())
    assert record["solution"]["status"] == "optimal" and record["solution"]["checked"] == "claimed"
    assert record["checked"]["value"].startswith("not: ")
    assert "optimal (claimed): value 0, claimed bound 0, gap 0" in done.out
    assert "optimal (claimed): value 0" in call("show", "kept").out


def test_with_an_objective_its_value_is_verified(plugged, call):
    done = call(*RUN, *ONE, "objective=accuracy")
    assert done.status == 0, done.err
    assert (
        json.loads((plugged / "kept" / "record.json").read_text())["solution"]["checked"]
        == "verified"
    )
    assert (
        "optimal: value " in done.out and "proven bound" in done.out and "claimed" not in done.out
    )


def test_the_table_of_a_sweep_says_so(plugged, call):
    done = call(*RUN, "-m", "hydra.sweep.dir=kept", "objective=none,accuracy")
    assert done.status == 0, done.err
    assert "optimal (claimed)" in done.out and " optimal  " in done.out


def test_a_leaf_that_is_left_out_is_no_tree(plugged, call):
    done = call(*RUN, *ONE, "objective=accuracy", "solver.drops=true")
    assert done.status == 1
    assert "rests at node 0, whose test 'a' it can answer: a leaf is left out there" in done.error
