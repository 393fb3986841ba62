"""What is made of a peer's answer, by stand-ins that run as peers do."""

from __future__ import annotations

import math
import os
import re
import sys
import time
from pathlib import Path

import attrs
import numpy as np
import pytest

from arboretum.api import (
    ArboretumError,
    CapabilityError,
    Context,
    LeafRule,
    Limits,
    Parts,
    Problem,
    Status,
)
from arboretum.testing import SolverSuite
from arboretum.testing.suites.solving import tiny_table
from arboretum.testing.tables import TreeParts, prices_of, toy_objects, toy_table
from arboretum_peers.matrix import Matrix
from arboretum_peers.process import INTERPRETER
from arboretum_peers.solvers import (
    DL85,
    FastSmallTree,
    LicketySplit,
    Odtlearn,
    Peer,
    Pystreed,
    Pytrees,
    PytreesContree,
)


@attrs.frozen
class Accuracy:
    """As in the plugin that owns it."""

    kind = "objective"
    name = "accuracy"
    paper = ""
    capabilities = ()
    shape = "additive"

    lam: float = 0.05
    mu: float = 0.0

    def value(self, tree, problem):
        labels = problem.objects.label
        leaf = tree.rest(problem.objects.table)[problem.objects.row_of_object]
        wrong = problem.objects.weight[tree.label[leaf] != labels].sum()
        return float(wrong / problem.objects.weight.sum() + self.lam * tree.n_leaves)


@attrs.frozen
class StandIn(Peer):
    """Tries all trees."""

    name = "peer_stand_in"
    paper = ""
    distribution = "honest"
    script = Path(__file__).with_name("stand_in.py")


def stand_in(manners: str, **claims) -> StandIn:
    return type("Other", (StandIn,), {"distribution": manners, **claims})()


@attrs.frozen
class Rule:
    """A leaf rule with limits."""

    name = "rule"
    found: Limits = Limits()

    def limits(self):
        return self.found

    def leaf_rule(self):
        return LeafRule()


def problem_of(seed: int = 0, lam: float = 0.05, table=None, **parts) -> Problem:
    objects = toy_objects(tiny_table(seed) if table is None else table, multiway=False)
    return Problem(
        objects, prices_of(objects), Parts(method=None, objective=Accuracy(lam), **parts)
    )


class TestConformance(SolverSuite):
    tables = 2
    component = StandIn()

    @pytest.fixture
    def parts(self, component):
        return Parts(method=None, solver=component, objective=Accuracy())


@pytest.mark.parametrize("ordinals", [False, True])
@pytest.mark.parametrize("seed", (0, 2))
def test_numeric_columns_go_as_one_or_as_a_column_per_threshold_and_mean_the_same(seed, ordinals):
    table = toy_table(seed, 10, TreeParts(multiway=False, weighted=False))
    problem = problem_of(lam=0.1, table=attrs.evolve(table, columns=table.columns[:1]))
    solution = stand_in("honest", ordinals=ordinals).solve(problem, Context())
    wide, narrow = (Matrix.of(problem, ordinals=one) for one in (False, True))
    assert narrow.x.shape[1] == 1 < wide.x.shape[1] and wide.greatest_depth == narrow.greatest_depth
    assert solution.status is Status.optimal and solution.value == problem.parts.objective.value(
        solution.tree, problem
    )
    assert math.isclose(solution.value, stand_in("honest").solve(problem, Context()).value)


def test_whole_weights_are_rows_and_others_are_refused():
    problem = problem_of(3)
    heavy = attrs.evolve(problem, objects=attrs.evolve(problem.objects, weight=np.arange(1.0, 9.0)))
    matrix = Matrix.of(heavy, ordinals=False)
    assert [len(part) for part in matrix.rows] == [36, 36]
    solution = StandIn().solve(heavy, Context())
    assert solution.status is Status.optimal and math.isclose(
        solution.value, heavy.parts.objective.value(solution.tree, heavy)
    )
    with pytest.raises(CapabilityError, match="whole numbers"):
        StandIn().solve(
            attrs.evolve(problem, objects=attrs.evolve(problem.objects, weight=np.full(8, 0.5))),
            Context(),
        )


@pytest.mark.parametrize(
    ("manners", "said"),
    [
        ("boaster", "claims .* but its own tree has"),
        ("mislabelled", "claims .* but its own tree has"),
        ("modest", "proved nothing"),
    ],
)
def test_what_a_peer_says_of_its_tree_must_be_true_or_nothing_is_proven(manners, said):
    problem = problem_of(1)
    solution = stand_in(manners).solve(problem, Context())
    assert (solution.status, solution.lower_bound, solution.finished) == (
        Status.feasible,
        0.0,
        False,
    )
    assert solution.value == problem.parts.objective.value(solution.tree, problem)
    assert re.search(said, "; ".join(solution.notes))


def test_a_tree_that_is_too_deep_is_not_returned():
    problem = problem_of(1, 0.0, stopping=(Rule(Limits(max_depth=1)),))
    honest, deep = (stand_in(manners).solve(problem, Context()) for manners in ("honest", "deep"))
    assert honest.status is Status.optimal and honest.tree.depth_of.max() == 1
    assert (
        deep.status is Status.feasible
        and deep.tree.n_leaves == 1
        and "not allowed" in deep.notes[-1]
    )


@pytest.mark.parametrize("warm", [False, True])
def test_a_peer_that_does_not_end_is_killed_and_a_leaf_stands_in(warm, monkeypatch):
    monkeypatch.setattr("arboretum_peers.solvers.GRACE", 0.1)
    peer, problem = stand_in("sleeper"), problem_of(1)
    if warm:
        peer.warm_up(problem, Context())
    solution = peer.solve(problem, Context(deadline=time.monotonic() + (0.3 if warm else 1.5)))
    assert (solution.status, solution.tree.n_leaves, solution.lower_bound) == (
        Status.feasible,
        1,
        0.0,
    )
    assert "within the budget of seconds" in solution.notes[0]


@pytest.mark.parametrize("manners", ["hungry", "aborting"])
def test_a_peer_without_memory_leaves_a_leaf(manners):
    solution = stand_in(manners).solve(problem_of(1), Context(memory_bytes=200_000_000))
    assert solution.status is Status.feasible and "within the budget of memory" in solution.notes[0]


def test_a_peer_without_a_tree_leaves_a_leaf():
    assert stand_in("treeless").solve(problem_of(1), Context()).tree.n_leaves == 1


def test_a_peer_that_fails_says_why():
    with pytest.raises(ArboretumError, match="failing failed: ZeroDivisionError: division by zero"):
        stand_in("failing").solve(problem_of(1), Context())
    with pytest.raises(ArboretumError, match="aborting failed: it ended with status -6"):
        stand_in("aborting").solve(problem_of(1), Context())


def test_a_peer_that_is_not_installed_is_refused_before_the_clock_starts(monkeypatch):
    with pytest.raises(
        CapabilityError,
        match=r"No module named 'nothing'\); install it .pip install 'arboretum\[peers\]'",
    ):
        stand_in("absent").warm_up(problem_of(1), Context())
    monkeypatch.setenv(INTERPRETER, "/nowhere/python")
    with pytest.raises(CapabilityError, match="does not start"):
        StandIn().warm_up(problem_of(1), Context())


@pytest.fixture
def lacking(tmp_path):
    """The path of an interpreter that has no peer."""
    script = tmp_path / "python-without"
    script.write_text(f'#!/bin/sh\nSTAND_IN_LACKS=1 exec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_the_first_interpreter_that_has_a_peer_runs_it(lacking, monkeypatch):
    problem = problem_of(1)
    for named in ([lacking, sys.executable], [lacking, lacking, "", sys.executable, "/nowhere"]):
        monkeypatch.setenv(INTERPRETER, os.pathsep.join(named))
        peer = StandIn()
        peer.warm_up(problem, Context())
        assert peer.solve(problem, Context()).status is Status.optimal
        # no warm up: the first answer to come is that of the one that has it
        assert StandIn().solve(problem, Context()).status is Status.optimal
    monkeypatch.setenv(INTERPRETER, os.pathsep.join([lacking, lacking]))
    with pytest.raises(CapabilityError, match=r"'nothing'\); install it"):
        StandIn().warm_up(problem, Context())
    monkeypatch.setenv(INTERPRETER, os.pathsep.join([lacking, "/nowhere/python"]))
    with pytest.raises(CapabilityError, match="/nowhere/python does not start"):
        StandIn().warm_up(problem, Context())


def test_a_near_optimal_peer_is_never_optimal_whatever_it_says():
    problem = problem_of(1)
    near, exact = (stand_in("honest", proves=proves) for proves in (False, True))
    solution = near.solve(problem, Context())
    assert (solution.status, solution.lower_bound) == (Status.feasible, 0.0)
    assert solution.value == exact.solve(problem, Context()).value
    assert "near-optimal: it proves nothing" in solution.notes[0]
    pure = attrs.evolve(  # not even where it is not asked
        problem, objects=attrs.evolve(problem.objects, label=np.zeros(8, np.int32))
    )
    assert near.solve(pure, Context()).status is Status.feasible
    assert exact.solve(pure, Context()).status is Status.optimal
    assert "exact" not in LicketySplit.capabilities and not LicketySplit.proves


@pytest.mark.parametrize(
    ("peer", "changed", "said"),
    [
        (StandIn(), {"stopping": (Rule(Limits(max_leaves=3)),)}, "no limit max_leaves"),
        (StandIn(), {"objective": attrs.evolve(Accuracy(), mu=0.5)}, "knows no objective.mu"),
        (
            StandIn(),
            {"objective": type("Other", (Accuracy,), {"name": "balanced"})()},
            "use objective=accuracy instead of balanced",
        ),
        (DL85(), {}, "charges nothing for leaves; say objective.lam=0"),
        (Pytrees(), {}, "charges nothing for leaves; say objective.lam=0"),
        (PytreesContree(), {}, "charges nothing for leaves; say objective.lam=0"),
        (Odtlearn(), {"stopping": (Rule(Limits(max_leaves=3)),)}, "no limit max_leaves"),
        (LicketySplit(), {"objective": attrs.evolve(Accuracy(), mu=0.5)}, "knows no objective.mu"),
        (FastSmallTree(), {"stopping": (Rule(Limits(max_depth=1)),)}, "knows no limit max_depth"),
    ],
)
def test_what_a_peer_cannot_do_is_refused_with_the_reason(peer, changed, said):
    problem = problem_of(1)
    with pytest.raises(CapabilityError, match=said):
        peer.solve(attrs.evolve(problem, parts=attrs.evolve(problem.parts, **changed)), Context())


def test_a_proof_for_trees_of_some_depth_is_none_for_all():
    problem = problem_of(1, 0.0)
    shallow = stand_in("honest", most_depth=1).solve(problem, Context())
    assert shallow.status is Status.feasible and "not excluded" in shallow.notes[-1]
    assert stand_in("honest", most_depth=5).solve(problem, Context()).status is Status.optimal
    # 3 of 8 rows wrong at the root: with λ = 0.3, one split at most can pay
    assert Pystreed()._question_for_peer(problem_of(1, 0.3))[1]["depth"] == 1
