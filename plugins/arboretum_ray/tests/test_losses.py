"""ActorPool that are killed, at whatever they do, are made anew, and the tree is the same in every
field; those that are lost again and again end the run in one line.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import attrs
import pytest

from arboretum.api import Context, Parts, Problem, StoreError, Table, grow
from arboretum.engine.merged_rows import MergedRows
from arboretum.rows.parts import TablePart, table_in_parts
from arboretum.testing.suites.rows import ToyEncoder
from arboretum.testing.tables import ToyGini, ToyReduction, TreeParts, prices_of, toy_table
from arboretum_ray.pool import ActorPool, Question
from arboretum_ray.rows import RayRows

pytestmark = [pytest.mark.slow, pytest.mark.cold]


@attrs.frozen(eq=False)
class MortalPart(TablePart):
    """A part that kills the process that loads it, at the loads that it was told.

    log : a file with a byte for each load so far, of whatever process.
    deaths : numbers of loads, from 0.
    """

    log: Path
    deaths: tuple[int, ...]

    def load(self) -> Table:
        with self.log.open("ab") as file:
            number = file.tell()
            file.write(b"x")
        if number in self.deaths:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.table


@pytest.fixture
def rows(local_ray):
    """Two actors; classes of this file travel to them."""
    local_ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    return RayRows(timeout=120)


@pytest.fixture
def data():
    table = toy_table(2, n_rows=60, kind=TreeParts(missing=True))
    return table_in_parts(table, (11, 20, 9))


def mortal(data, folder: Path, *deaths: int):
    """The same data; the second part kills."""
    parts = list(data.parts)
    parts[1] = MortalPart(parts[1].table, parts[1].name, folder / "loads", deaths)
    return attrs.evolve(data, parts=tuple(parts))


def grown(rows, data):
    """Tree, what verification has counted, checksum, notes: of a whole run on these rows."""
    silent = lambda done, total, message: None
    opened = rows.open(data, ToyEncoder(), 0, None, silent)
    try:
        parts = Parts(None, criterion=ToyReduction(), impurity=ToyGini())
        problem = Problem(opened.objects, prices_of(opened.objects), parts, store=opened.store)
        tree = grow(problem, Context(), order="breadth").tree
        shift = opened.store.shift
        seen = MergedRows.of(tree, data, opened.objects, shift, visit=opened.visit).objects
        return (tree, seen.count.tolist(), seen.weight.tolist(), opened.sha256), opened.notes()
    finally:
        opened.release()


def in_memory(data):
    """The tree of rows in memory."""
    from arboretum_data.rows import MemoryRows

    return grown(MemoryRows(), data)[0]


@pytest.mark.parametrize(
    ("deaths", "lost"),
    [
        pytest.param((0,), 1, id="while it looks at its parts"),
        pytest.param((1,), 1, id="while it codes them"),
        pytest.param((2,), 1, id="while the tree is verified"),
        pytest.param((1, 2, 3), 3, id="while it codes them, and twice while it is made anew"),
        pytest.param((0, 2, 4), 3, id="once in each step"),
    ],
)
def test_an_actor_that_dies_reading_is_made_anew(rows, data, deaths, lost, tmp_path):
    found, notes = grown(rows, mortal(data, tmp_path, *deaths))
    assert found == in_memory(data)
    times = "1 time" if lost == 1 else f"{lost} times"
    assert f"actor 0 was lost, and made anew from its parts, {times}" in notes


@pytest.fixture
def kill_at(monkeypatch):
    """kill_at(question, turn, *numbers): kill these actors once they were asked that so often."""
    begin, start, pids, asked = ActorPool.begin, ActorPool.start, [], []

    def begin_and_note(self):
        places = begin(self)
        question = Question("visit", (lambda item: os.getpid(),), [[0], [1]])
        pids.extend(found[0] for found in self.answers(question, start(self, question)))
        return places

    def patch(question, turn, *numbers):
        def start_and_kill(self, what):
            calls = start(self, what)
            asked.append(what.name)
            if what.name == question and asked.count(question) == turn:
                for k in numbers:
                    os.kill(pids[k], signal.SIGKILL)
            return calls

        monkeypatch.setattr(ActorPool, "begin", begin_and_note)
        monkeypatch.setattr(ActorPool, "start", start_and_kill)

    return patch


@pytest.mark.parametrize(
    ("question", "turn"),
    [("totals", 1), ("tables", 1), ("tables", 3), ("split", 1), ("split", 3), ("visit", 1)],
)
def test_an_actor_that_is_killed_during_growth_is_made_anew(rows, data, kill_at, question, turn):
    kill_at(question, turn, 1)
    found, notes = grown(rows, data)
    assert found == in_memory(data)
    assert "actor 1 was lost, and made anew from its parts, 1 time" in notes


def test_all_actors_at_once_are_made_anew(rows, data, kill_at):
    kill_at("split", 2, 0, 1)
    found, notes = grown(rows, data)
    assert found == in_memory(data)
    assert sum("was lost" in note for note in notes) == 2


def test_an_actor_that_is_lost_again_and_again_ends_the_run_in_one_line(
    rows, data, tmp_path, local_ray
):
    told = r"^actor 0 with parts 0 to 1 was lost 4 times in a row at 'code' \([^\n]+\); [^\n]*$"
    with pytest.raises(StoreError, match=told) as raised:
        grown(rows, mortal(data, tmp_path, *range(1, 99)))
    print(raised.value)
    assert (tmp_path / "loads").stat().st_size == 5, "bounded: sketched at once, coded four times"
