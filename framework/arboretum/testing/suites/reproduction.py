"""Conformance of reproductions: do the numbers that a paper reports come out?"""

import json
import math
import random
from typing import TypeVar

import attrs
import pytest

from arboretum import api
from arboretum.api import Chapter, Claim, Judgement, Piece, Verdict
from arboretum.model.plain import Keyed
from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.discovery import load_registry
from arboretum.testing.suites.base import ComponentSuite

T = TypeVar("T")


class ReproductionSuite(ComponentSuite):
    """Independent pieces, the same in every process and order; a judgement of whatever results
    there are.

    Override ``fraction`` with one that leaves two to ten pieces of a second or so, and ``services``
    for components that are not installed.
    """

    kind = "reproduction"
    fraction: float = 0.001
    seed: int = 1
    _found: str

    @pytest.fixture
    def services(self) -> RegistryFactory:
        return RegistryFactory(load_registry())

    @pytest.fixture
    def pieces(self, component) -> list[Piece]:
        return list(component.pieces(self.fraction))

    @pytest.fixture
    def results(self, component, pieces, services) -> Keyed:
        """Found once for all tests of a class, each of which reads them anew."""
        if "_found" not in vars(type(self)):
            type(self)._found = json.dumps(
                [
                    (piece.key, component.work(_plain(piece.key), self.seed, services))
                    for piece in pieces
                ],
                allow_nan=False,
            )
        return [(key, found) for key, found in json.loads(self._found)]

    def test_its_pieces_are_plain_distinct_cheapest_first_and_the_same_twice(
        self, component, pieces
    ):
        keys = [json.dumps(piece.key, sort_keys=True, allow_nan=False) for piece in pieces]
        assert keys and len(set(keys)) == len(keys)
        assert [_plain(piece.key) for piece in pieces] == [piece.key for piece in pieces], (
            "a key changes on its way through JSON"
        )
        assert list(component.pieces(self.fraction)) == pieces
        costs = [piece.cost for piece in pieces]
        assert all(math.isfinite(cost) and cost > 0 for cost in costs) and costs == sorted(costs)

    def test_a_larger_fraction_is_no_less_work(self, component):
        fractions = [self.fraction, min(1.0, 2 * self.fraction), 1.0]
        costs = [sum(piece.cost for piece in component.pieces(fraction)) for fraction in fractions]
        assert costs == sorted(costs)

    def test_results_depend_neither_on_the_order_of_the_work_nor_on_the_process(
        self, component, pieces, results, services
    ):
        """Three drawn pieces are done once more by a fresh copy of the component, which knows
        nothing of the others.
        """
        again = attrs.evolve(component)
        if hasattr(again, "warm_up"):
            again.warm_up(services)
        for i in random.Random(0).sample(range(len(pieces)), min(3, len(pieces))):
            assert _plain(again.work(_plain(pieces[i].key), self.seed, services)) == results[i][1]

    def test_judging_any_part_changes_no_result_and_says_the_same_twice(self, component, results):
        before = json.dumps(results)
        one, two = component.judge(results), component.judge(json.loads(before))
        assert json.dumps(results) == before
        # spelled out: a NaN in a chart (no result there) equals no other
        assert repr(one) == repr(two)
        assert component.judge([]) == Judgement()
        assert all(
            isinstance(component.judge(kept), Judgement)
            for kept in (results[:1], results[1:], results[::2])
        )

    def test_the_judgement_is_whole(self, component, results):
        found = component.judge(results)
        assert isinstance(found, Judgement) and (found.cells or found.claims)
        for cell in found.cells:
            assert (
                isinstance(cell.verdict, Verdict)
                and math.isfinite(cell.published)
                and math.isfinite(cell.ours)
            )
            assert math.isfinite(cell.error) and cell.error >= 0
            allowed = (
                (True,)
                if cell.verdict is Verdict.KNOWN
                else (False,)
                if cell.verdict is Verdict.PASS
                else (True, False)
            )
            assert bool(cell.reason) in allowed, f"{cell}: KNOWN needs a reason, PASS none"
        places = [(cell.table, cell.row, cell.column) for cell in found.cells]
        assert len(set(places)) == len(places)
        for claim in found.claims:
            assert isinstance(claim, Claim) and claim.sentence and claim.evidence
            assert bool(claim.reason) == (claim.verdict is Verdict.KNOWN)
        assert all(
            name.endswith(".csv") and text.count("\n") >= 2 for name, text in found.tables.items()
        )
        for name, picture in found.pictures.items():
            drawn = picture if isinstance(picture, str) else api.charts.chart_svg(picture)
            assert drawn.lstrip().startswith("<"), (
                f"the picture {name!r} is neither an SVG text nor a chart"
            )
        for chapter in found.chapters:
            assert isinstance(chapter, Chapter) and all(
                math.isfinite(v) for v in chapter.metrics.values()
            )
            assert set(chapter.pictures) <= set(found.pictures)


def _plain(value: T) -> T:
    """The value as it comes back from a file."""
    found: T = json.loads(json.dumps(value, allow_nan=False))
    return found
