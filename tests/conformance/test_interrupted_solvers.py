"""Every installed solver, interrupted: what it returns is verified, and neither its bound nor
its word "optimal" is wrong.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import attrs
import pytest

from arboretum.engine import interruptions
from arboretum.engine.run import Request, prepare, run
from arboretum.interfaces.budget import Budget
from arboretum.model.record import Status
from arboretum.plugin.assemble import assemble
from arboretum.plugin.discovery import load_registry

MOMENTS, LINES = 20, 7  # of signals, and of exceptions, which leave less to look at
SECONDS = 20.0  # for what would not end without: peers that are asked for their optimum
SLACK = 1e-9
SOLVERS = [
    entry for entry in load_registry(()).entries("solver") if not entry.name.startswith("peer_")
]
"""Peers are left out, also where they load: each answers once, from a process of its own, which a
signal ends before it has said anything; there is no tree to keep.
"""


def parts_of(entry):
    return assemble(
        load_registry(()),
        {},
        [*entry.cls.example.split(), f"solver={entry.name}"],
        without=("tracker",),
    )


def by_exception():
    raise KeyboardInterrupt


def by_signal():
    signal.raise_signal(signal.SIGINT)


@contextmanager
def interrupted(package: str, at: int, by: Callable[[], None]) -> Iterator[list[int]]:
    """Ctrl-C before the line, of those that the package's modules execute inside, with this
    number; yields [lines executed].
    """
    lines, before = [0], sys.gettrace()

    def trace(frame, event, arg):
        if frame.f_globals.get("__name__", "").partition(".")[0] != package:
            return None
        if event == "line":
            lines[0] += 1
            if lines[0] == at:
                sys.settrace(None)
                by()
        return trace

    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)


@attrs.frozen
class Interrupting:
    """A solver that is interrupted at a line of its own, whoever calls it."""

    kind, name, paper, capabilities = "solver", "interrupting", "", ()
    of: object
    at: int
    by: Callable[[], None] = by_exception
    lines: list = attrs.field(factory=list)

    def __getattr__(self, name):
        return getattr(self.of, name)

    def warm_up(self, problem, context):
        if hasattr(self.of, "warm_up"):
            self.of.warm_up(problem, context)

    def solve(self, problem, context):
        problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, solver=self.of))
        with interrupted(type(self.of).__module__.partition(".")[0], self.at, self.by) as lines:
            try:
                return self.of.solve(problem, context)
            finally:
                self.lines.append(lines[0])


@pytest.mark.slow
@pytest.mark.parametrize("by", [by_exception, by_signal])
@pytest.mark.parametrize("entry", SOLVERS, ids=lambda entry: entry.name)
def test_what_an_interrupted_solver_returns_is_true(entry, by, monkeypatch):
    """Raised at any line, nothing may be kept; of a signal, which waits until the solver looks
    up, something always is.
    """
    monkeypatch.setattr(interruptions, "PATIENCE_SECONDS", 1e6)
    parts = parts_of(entry)
    request = Request(parts, budget=Budget(seconds=SECONDS))
    prepared = prepare(request)
    whole = Interrupting(parts.solver, -1)
    best = run(
        attrs.evolve(request, parts=attrs.evolve(parts, solver=whole)), prepared=prepared
    ).solution
    kept, lines = 0, whole.lines[0]
    moments = MOMENTS if by is by_signal else LINES
    for moment in range(moments):
        solver = Interrupting(parts.solver, 1 + moment * lines // moments, by)
        try:
            # verified, or raises
            record = run(
                attrs.evolve(request, parts=attrs.evolve(parts, solver=solver)), prepared=prepared
            )
        except KeyboardInterrupt:
            continue
        # it may come when everything is done
        assert record.solution.interrupted is not None or by is by_exception
        kept, found = kept + 1, record.solution
        assert record.verified and found.lower_bound <= best.value + SLACK
        assert found.value >= best.lower_bound - SLACK
        assert found.status is not Status.optimal or abs(found.value - best.value) <= SLACK
    print(f"{entry.name} {by.__name__}: {kept} of {moments} kept")
    assert by is by_exception or kept == MOMENTS
