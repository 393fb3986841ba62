"""The suite of reproductions tells a sound study from a broken one."""

from __future__ import annotations

import inspect
import json
from typing import Any

import attrs
import pytest

from arboretum.api import Cell, Judgement, Piece, Verdict, param
from arboretum.testing import suite_of


def passes(component: Any, test: str) -> bool:
    """Whether one test of the suite accepts a component; fixtures are computed as the suite
    does.
    """
    suite = suite_of("reproduction")()
    given: dict[str, Any] = {"component": component, "services": None}
    method = getattr(suite, test)
    try:
        for name in inspect.signature(method).parameters:
            if name in ("pieces", "results"):
                given.setdefault("pieces", list(component.pieces(suite.fraction)))
            if name == "results":
                found = [
                    (plain(p.key), plain(component.work(plain(p.key), suite.seed, None)))
                    for p in given["pieces"]
                ]
                given["results"] = found
        method(**{name: given[name] for name in inspect.signature(method).parameters})
    except Exception:  # whatever a broken component raises is a failure
        return False
    return True


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


@attrs.frozen
class Halves:
    """Counts the even numbers of stretches."""

    kind, name, paper, capabilities = "reproduction", "halves", "Nobody 1999", ()

    most: int = param(1000, "numbers in all", ge=10)

    def pieces(self, fraction) -> list[Piece]:
        size = max(1, round(self.most * fraction))
        return [Piece({"first": first, "size": size}, size) for first in range(0, 3 * size, size)]

    def work(self, key, seed, services) -> Any:
        return {
            "even": sum(
                (seed + i) % 2 == 0 for i in range(key["first"], key["first"] + key["size"])
            ),
            "n": key["size"],
        }

    def judge(self, results) -> Judgement:
        n = sum(value["n"] for _, value in results)
        if not n:
            return Judgement()
        share = sum(value["even"] for _, value in results) / n
        return Judgement(
            (Cell.judged("Table 1", "numbers", "even", 0.5, share, 0.5 / n**0.5, n=n),)
        )


COUNTER = {"calls": 0}


@attrs.frozen
class Remembers(Halves):
    """A piece's result depends on how many were done before."""

    def work(self, key, seed, services):
        COUNTER["calls"] += 1
        return {"even": COUNTER["calls"], "n": key["size"]}


@attrs.frozen
class NotPlain(Halves):
    """Returns what no file can hold."""

    def work(self, key, seed, services):
        return {"even": {1, 2}, "n": 1}


@attrs.frozen
class TupleKeys(Halves):
    """A key that a file gives back as something else."""

    def pieces(self, fraction):
        return [Piece({"first": (i,), "size": 1}) for i in range(2)]

    def work(self, key, seed, services):
        return {"even": 1, "n": 1}


@attrs.frozen
class Twice(Halves):
    """The same piece twice."""

    def pieces(self, fraction):
        return [*super().pieces(fraction), super().pieces(fraction)[0]]


@attrs.frozen
class DearestFirst(Halves):
    """Begins with what takes longest."""

    def pieces(self, fraction):
        return [
            attrs.evolve(piece, cost=10.0 - i) for i, piece in enumerate(super().pieces(fraction))
        ]


@attrs.frozen
class NeedsAll(Halves):
    """Judges complete results only."""

    def judge(self, results):
        if len(results) != 3:
            raise KeyError("a piece is missing")
        return super().judge(results)


@attrs.frozen
class Sorts(Halves):
    """Changes the results that it is given."""

    def judge(self, results):
        for _, value in results:
            value["n"] = 7
        return super().judge(results)


@attrs.frozen
class NoReason(Halves):
    """A known difference, and nobody knows why."""

    def judge(self, results):
        found = super().judge(results)
        return attrs.evolve(
            found, cells=[attrs.evolve(cell, verdict=Verdict.KNOWN) for cell in found.cells]
        )


@attrs.frozen
class LessForMore(Halves):
    """A larger fraction is less work."""

    def pieces(self, fraction):
        return super().pieces(1.001 - fraction)


@pytest.mark.parametrize(
    ("broken", "found_by"),
    [
        (Remembers, "test_results_depend_neither_on_the_order_of_the_work_nor_on_the_process"),
        (NotPlain, "test_the_judgement_is_whole"),
        (TupleKeys, "test_its_pieces_are_plain_distinct_cheapest_first_and_the_same_twice"),
        (Twice, "test_its_pieces_are_plain_distinct_cheapest_first_and_the_same_twice"),
        (DearestFirst, "test_its_pieces_are_plain_distinct_cheapest_first_and_the_same_twice"),
        (NeedsAll, "test_judging_any_part_changes_no_result_and_says_the_same_twice"),
        (Sorts, "test_judging_any_part_changes_no_result_and_says_the_same_twice"),
        (NoReason, "test_the_judgement_is_whole"),
        (LessForMore, "test_a_larger_fraction_is_no_less_work"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_the_suite_finds_a_reproduction_that(broken, found_by):
    assert not passes(broken(), found_by)


def test_the_suite_accepts_a_sound_one():
    tests = [name for name in dir(suite_of("reproduction")) if name.startswith("test_")]
    assert len(tests) >= 7
    assert [name for name in tests if not passes(Halves(), name)] == []
