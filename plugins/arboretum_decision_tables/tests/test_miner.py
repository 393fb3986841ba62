"""Counterexamples are what a run finds on them, as small as they are said to be, and the same
every time.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from scripts import script

import arboretum
from arboretum.api import ConfigError, VerificationError
from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.discovery import load_registry
from arboretum_decision_tables.paper.study import MINIMA as COSTS

miner = script("miner")
Search, mine, report, csv_of = miner.Search, miner.mine, miner.report, miner.csv_of

SEARCHES = [
    Search("max/gini", "w_sum/gini", "n_nodes", tables=150),
    Search("w_sum/ent", "max/rt", "depth", tables=300, n_values=3, n_classes=3),
    Search("sum/me", "w_max/ent", "total_path_length", tables=150, seed=3),
]


@pytest.fixture(scope="module")
def services() -> RegistryFactory:
    return RegistryFactory(load_registry())


@pytest.fixture(scope="module", params=SEARCHES, ids=lambda search: search.complexity)
def found(request, services):
    answer = mine(request.param, services)
    assert answer is not None and answer.factor > 1
    return answer


def as_found(table) -> tuple[np.ndarray, np.ndarray]:
    """Codes and label of a table as the search sees them."""
    return np.stack([c.values for c in table.columns], axis=1).astype(
        np.uint8
    ), table.target.codes.astype(np.uint8)


def test_a_run_on_the_file_of_the_table_finds_the_same_costs_and_the_same_minimum(
    found, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "table.csv"
    file.write_text(csv_of(found.table), encoding="utf-8")
    for algorithm, cost in zip((found.search.loser, found.search.winner), found.costs, strict=True):
        data = [
            "dataset=file",
            f"dataset.path={file}",
            "dataset.target=decision",
            "split=none",
            "tracker=none",
        ]
        record = arboretum.run([f"method={miner.preset(algorithm)}", *data, "certify=true"])
        of_run = record.certificate.complexities[found.search.complexity]
        assert (of_run.value, of_run.minimum) == (cost, found.minimum)


def test_no_row_and_no_attribute_can_be_left_out(found, services):
    trial, (codes, label) = miner._Trial(found.search, services), as_found(found.table)
    whole = trial.measure(codes, label)
    assert whole.costs == found.costs
    parts = [(np.delete(codes, row, axis=0), np.delete(label, row)) for row in range(len(codes))]
    parts += [(np.delete(codes, f, axis=1), label) for f in range(codes.shape[1])]
    for part, decisions in parts:
        if part.shape[1] and len(np.unique(part, axis=0)) == len(part):
            smaller = trial.measure(np.ascontiguousarray(part), decisions)
            assert smaller is None or smaller.factor < found.factor


def test_the_answer_is_at_least_as_good_as_every_table_drawn(services):
    search = SEARCHES[0]
    trial, best = miner._Trial(search, services), mine(search, services)
    drawn = [table for table in map(trial.draw, range(search.tables)) if table is not None]
    assert best.losses == sum(table.factor > 1 for table in drawn) > 0
    rank = (best.factor, -best.table.n_rows, -len(best.table.columns))
    assert all(rank >= table.rank for table in drawn)


def test_the_same_search_gives_the_same_report_and_says_how_far_it_is(services):
    search, seen = attrs.evolve(SEARCHES[0], tables=30), []
    first, second = (
        report(mine(search, services, lambda done, message: seen.append((done, message))))
        for _ in range(2)
    )
    assert first == second
    assert [done for done, _ in seen] == [30, 30] and seen[0][1].startswith("factor ")
    assert "max/gini needs" in first and "an optimal tree:" in first


def test_an_algorithm_never_loses_to_itself(services):
    assert mine(Search("sum/rt", "sum/rt", "depth", tables=50), services) is None


def test_a_wrong_cost_is_not_believed(services):
    best = mine(SEARCHES[0], services)
    codes, label = as_found(best.table)
    for wrong in ((best.costs[0] + 2, best.costs[1]), (best.costs[0], best.costs[1] + 2)):
        with pytest.raises(VerificationError, match="was said to cost"):
            miner._verified(
                SEARCHES[0], miner.Candidate(codes, label, wrong), codes.shape, 1, services
            )


def test_files_keep_rows_values_and_decisions():
    table = miner.table_of(np.array([[0, 2], [1, 0]], np.uint8), np.array([1, 0], np.uint8))
    assert csv_of(table) == "f1,f2,decision\na,c,B\nb,a,A\n"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loser": "sum/gin"}, "sum/gini"),
        ({"complexity": "dept"}, "depth"),
        ({"n_rows": 65}, "at most 64"),
        ({"tables": 0}, "at least 1"),
        ({"n_values": 27}, "at most 26"),
    ],
)
def test_searches_that_cannot_be_done_are_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        attrs.evolve(SEARCHES[0], **change)


def test_every_cost_of_the_paper_can_be_searched():
    assert {Search("sum/rt", "sum/me", cost).complexity for cost in COSTS} == set(COSTS)
