"""What reproductions share: verdicts of sentences, chapters."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from arboretum.api import Cell, Chaptered, Claim, ConfigError, Judgement, Piece, csv_text


@pytest.mark.parametrize(
    ("holds", "reason", "verdict", "kept"),
    [
        (True, "why", "PASS", ""),
        (None, "why", "OPEN", ""),
        (False, "why", "KNOWN", "why"),
        (False, "", "FAIL", ""),
    ],
)
def test_a_sentence_keeps_its_reason_where_it_does_not_hold(holds, reason, verdict, kept):
    claim = Claim.judged("it is so", holds, "by this", reason)
    assert (claim.verdict.value, claim.reason) == (verdict, kept)


def part(name, costs):
    """A chapter: one piece per cost; its results are the sums of key and seed."""
    return SimpleNamespace(
        pieces=lambda paper: [
            Piece({"at": at} | ({"chapter": name} if name else {}), cost)
            for at, cost in enumerate(costs)
        ],
        work=lambda key, seed, services: [name, key["at"] + seed],
        judge=lambda results: Judgement.of_chapter(
            name or "first",
            {},
            {"n": len(results)},
            cells=[Cell.judged("Table 1", "iris", "ec45", 4.0, 3.0, 1.0, n=5)],
            tables={f"{name}.csv": csv_text([["a"], [results[0][1][1]]])},
        ),
    )


class Study(Chaptered):
    chosen = {"first": part("", [2.0, 3.0]), "second": part("second", [1.0, 2.0])}

    def parts(self):
        return self.chosen


def test_chapters_give_a_share_each_by_cost_and_the_judgement_in_their_order():
    study = Study()
    keys = [(piece.key.get("chapter", ""), piece.cost) for piece in study.pieces(1.0)]
    assert keys == [("second", 1.0), ("", 2.0), ("second", 2.0), ("", 3.0)]
    assert study.pieces(0.5) == study.pieces(0.01) == study.pieces(1.0)[:2]  # the cheapest of each
    results = [(piece.key, study.work(piece.key, 10, None)) for piece in study.pieces(1.0)]
    assert [result for _, result in results] == [["second", 10], ["", 10], ["second", 11], ["", 11]]
    found = study.judge(results)
    assert [chapter.name for chapter in found.chapters] == ["first", "second"] and len(
        found.cells
    ) == 2
    assert found.tables == {".csv": "a\n10\n", "second.csv": "a\n10\n"}
    assert found.chapters[0].metrics["cells_PASS"] == 1.0 and found.chapters[0].metrics["n"] == 2
    assert [chapter.name for chapter in study.judge(results[:1]).chapters] == ["second"]
    assert study.judge([]) == Judgement()


def test_fields_that_leave_no_piece_are_refused():
    study = Study()
    study.chosen = {"growth": part("growth", [])}
    with pytest.raises(ConfigError, match="nothing to do: these fields leave no piece of growth"):
        study.pieces(1.0)
