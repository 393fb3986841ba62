"""What solvers are given and what is heard of them: warm-up before the budget starts, and a
curve of bounds and values.
"""

from __future__ import annotations

import math
import time

import attrs
import pytest

from arboretum.engine import progress
from arboretum.engine.check import broken_contract, check_parts
from arboretum.engine.progress import Curve
from arboretum.engine.run import Budget, Request, fit, run
from arboretum.errors import CapabilityError, VerificationError
from arboretum.interfaces.method import Context
from arboretum.model.record import Solution, Status
from arboretum.plugin.assemble import assemble
from arboretum.plugin.discovery import load_registry
from arboretum.testing.oracles import build_tree

CHOICES = {
    "dataset": "play-tennis",
    "method": "exact",
    "encoder": "multiway",
    "split": "none",
    "tracker": "none",
}
LOADING = 100.0
"""Seconds, on the test's own clock."""


@attrs.frozen(eq=False)
class Told:
    """Returns a leaf, and remembers how it was called."""

    kind, name, paper, capabilities = (
        "solver",
        "told",
        "",
        ("classification", "multiclass", "weights", "multiway", "exact"),
    )

    clock: list = attrs.field(factory=lambda: [0.0])
    deadlines: list = attrs.field(factory=list)
    told: tuple = ()
    refuses: bool = False

    def warm_up(self, problem, context):
        self.clock[0] += LOADING
        self.deadlines.append(("warm_up", context.deadline is not None))
        if self.refuses:
            raise CapabilityError("not this one")

    def solve(self, problem, context):
        self.deadlines.append(
            ("solve", None if context.deadline is None else context.deadline - self.clock[0])
        )
        for low, value in self.told:
            self.clock[0] += 1.0
            context.proven(low, value)
            context.progress(0, None, "working")
        return Solution(
            build_tree(problem.objects, None, problem.prices), 5.0, 2.0, Status.feasible
        )

    def minima(self, problem, complexities, context):
        self.deadlines.append(
            ("minima", None if context.deadline is None else context.deadline - self.clock[0])
        )
        raise CapabilityError("none")


@pytest.fixture
def solver(monkeypatch):
    told = Told()
    monkeypatch.setattr(time, "monotonic", lambda: told.clock[0])
    return told


def parts_with(solver, **choices):
    return attrs.evolve(assemble(load_registry(), {**CHOICES, **choices}), solver=solver)


def test_a_solver_loads_its_kernels_before_its_seconds_are_counted(solver):
    parts = parts_with(solver)
    fit(parts, parts.dataset.load(0), budget=Budget(seconds=3.0), warm=True)
    assert solver.deadlines == [("warm_up", True), ("solve", 3.0)]


@pytest.mark.parametrize("refuses", [False, True])
def test_a_certifier_loads_its_kernels_before_its_seconds_are_counted(solver, refuses):
    certifier = attrs.evolve(solver, refuses=refuses)
    parts = attrs.evolve(assemble(load_registry(), {**CHOICES, "method": "id3"}))
    complexity = load_registry().get("complexity", "depth").cls()
    record = run(
        Request(
            parts,
            budget=Budget(seconds=1000.0),
            certify=True,
            certifier=certifier,
            complexities=(complexity,),
        )
    )
    assert (
        solver.deadlines == [("warm_up", True), ("minima", 1000.0)] and record.certificate is None
    )


def test_what_a_solver_proves_is_kept_after_how_many_seconds_and_said(solver):
    said = []
    parts = parts_with(
        attrs.evolve(
            solver, told=((0.0, math.inf), (1.0, math.inf), (0.5, math.inf), (1.0, 6.0), (1.5, 7.0))
        )
    )
    solution = fit(
        parts, parts.dataset.load(0), progress=lambda done, total, text: said.append(text)
    ).solution
    assert solution.curve == ((1, 0, math.inf), (2, 1, math.inf), (4, 1, 6), (5, 1.5, 6), (5, 2, 5))
    assert said[-5:-3] == ["working; no tree is below 0", "working; no tree is below 1"]
    assert said[-1] == "working; no tree is below 1.5, the best one has 6"
    again = Solution.from_json(solution.to_json())
    assert again.curve == solution.curve and solution.to_json()["curve"][0] == [1.0, 0.0, None]


@pytest.mark.parametrize("told", [(5.1, math.inf), (0.0, 1.9)])
def test_a_bound_or_a_value_told_on_the_way_that_cannot_be_is_found_out(solver, told):
    parts = parts_with(attrs.evolve(solver, told=(told,)))
    with pytest.raises(
        VerificationError, match="solver told told a bound of .* on its way, and returned 2 and 5"
    ):
        fit(parts, parts.dataset.load(0))


def test_a_curve_of_any_length_is_kept_in_few_points(monkeypatch):
    monkeypatch.setattr(progress, "MOST", 10)
    clock = iter(range(10**6))
    curve = Curve(Context(), lambda: next(clock))
    for step in range(1, 1001):
        curve.proven(step / 1000, math.inf)
    points = curve.of(Solution(None, 2.0, 1.5, Status.feasible), "told").curve
    assert len(points) <= 11 and points[0][1:] == (0.001, math.inf) and points[-1][1:] == (1.5, 2.0)
    assert list(points) == sorted(points)


def test_an_objective_of_another_shape_than_the_solver_minimises_is_refused(solver):
    zero = load_registry().get("objective", "zero_error").cls()

    class Additive(Told):
        minimises = ("additive", "ranking")

    parts = attrs.evolve(parts_with(Additive()), objective=zero)
    with pytest.raises(
        CapabilityError,
        match=(
            "solver told minimises objectives of the shape additive or ranking, and "
            "objective zero_error is complexity"
        ),
    ):
        run(Request(parts))
    Additive.minimises = ("complexity",)
    check_parts(parts)


def test_a_solver_without_what_it_needs_is_refused_before_it_is_asked(solver):
    for entry in load_registry().entries("solver"):
        if "objective" in getattr(entry.cls, "needs", ()):
            with pytest.raises(
                CapabilityError, match=f"solver {entry.name} needs an objective; add objective=NAME"
            ):
                check_parts(attrs.evolve(parts_with(entry.cls()), objective=None))


@pytest.mark.parametrize(("kind", "attribute"), [("objective", "shape"), ("solver", "minimises")])
def test_a_shape_that_does_not_exist_is_refused_when_the_component_is_registered(kind, attribute):
    parts = {"value": lambda self, tree, problem: 0.0, "solve": lambda self, problem, context: None}
    assert broken_contract(kind, type("Made", (), parts)) is None
    made = type(
        "Made", (), {**parts, attribute: ("additive", "square") if kind == "solver" else "square"}
    )
    assert f".{attribute} holds 'square'; it must be 'additive' or '" in broken_contract(kind, made)
