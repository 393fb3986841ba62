"""Printed optima: their words on tables where all trees are tried, their encodings, their data."""

from __future__ import annotations

import gzip
import os

import attrs
import numpy as np
import pytest
import stand_in

from arboretum.api import ConfigError, DataError, Judgement, Verdict
from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.discovery import load_registry
from arboretum.testing import ReproductionSuite
from arboretum_peers.paper import published as printed_optima, verdicts
from arboretum_peers.paper.published import Record, Word, difference, published, records
from arboretum_peers.paper.reproduction import SOURCES, Records
from arboretum_peers.paper.tables import BENCH, Question, load_table
from arboretum_peers.process import INTERPRETER


@pytest.fixture
def services():
    return RegistryFactory(load_registry())


@attrs.frozen
class Timeless(Records):
    """The same, without the seconds of a fit, which are never the same."""

    def work(self, key, seed, services):
        return {**super().work(key, seed, services), "seconds": 0.0}


class TestContract(ReproductionSuite):
    component = Timeless(sources=("pydl85", "branches"), datasets=("monk1", "vote", "audiology"))
    fraction = 1.0


def tiny(seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    x = draw.integers(2, size=(14, 4))
    x[:2] = [[0] * 4, [1] * 4]  # no column is constant
    return x, draw.integers(2, size=14)


@pytest.fixture
def printed(tmp_path, monkeypatch):
    """(x, y, records) → they are what is published, of a table that is at hand."""
    monkeypatch.setenv(BENCH, str(tmp_path))

    def publish(x, y, told, **described):
        lines = [",".join([*(f"c{i}" for i in range(x.shape[1])), "label"])]
        lines += [",".join(map(str, [*row, label])) for row, label in zip(x, y, strict=True)]
        with gzip.open(tmp_path / "tiny.csv.gz", "wt") as file:
            file.write("\n".join(lines) + "\n")
        shape = {"rows": x.shape[0], "columns": x.shape[1]}
        table = {"file": "tiny", "home": "bench", "encoding": "binary", **shape, **described}
        found = {
            "sources": {name: {"paper": f"{name} 2020", "where": "a test"} for name in SOURCES},
            "nothing_found": {},
            "tables": {"tiny": table},
            "records": {name: told if name == "murtree" else [] for name in SOURCES},
        }
        for module in (printed_optima, verdicts):
            monkeypatch.setattr(module, "published", lambda: found)

    return publish


def judged(services, **fields) -> Judgement:
    study = Records(sources=("murtree",), **{"seconds": 20.0, **fields})
    return study.judge([(one.key, study.work(one.key, 0, services)) for one in study.pieces(1.0)])


@pytest.mark.parametrize("seed", range(4))
def test_what_all_trees_tried_have_is_confirmed_and_what_they_have_not_is_refuted(
    seed, printed, services
):
    x, y = tiny(seed)
    least = round(stand_in.best(x, y, 0.0, 2)[0])
    lam = 0.05
    value = stand_in.best(x, y, lam * len(y), 4)[0] / len(y)
    told = [
        {"table": "tiny", "depth": 2, "errors": least},
        {"table": "tiny", "depth": 2, "errors": least + 1},
        {"table": "tiny", "depth": 2, "errors": least + 1, "proven": False},
        {"table": "tiny", "depth": 2, "errors": least, "proven": False},
        {"table": "tiny", "depth": 2, "accuracy": 1 - least / len(y)},
        {"table": "tiny", "lam": lam, "objective": 1 - value + lam},
        {"table": "tiny", "lam": lam, "objective": 1 - value + lam + 0.001},
        {"table": "tiny", "lam": lam, "objective": 1 - value + lam - 0.001, "proven": False},
        {"table": "elsewhere", "depth": 2, "errors": 1},
    ]
    if least:
        told.append({"table": "tiny", "depth": 2, "errors": least - 1, "proven": False})
    printed(x, y, told)
    found = judged(services)
    asides = [cell.aside for cell in found.cells]
    assert asides[:8] == [
        "confirmed",
        "refuted",
        "improved",
        "confirmed, not proven there",
        "confirmed",
        "confirmed",
        "refuted",
        "improved",
    ]
    assert asides[8:] == ["refuted"] * bool(least)  # no tree has fewer errors
    shown = [cell.verdict for cell in found.cells]
    assert shown[:3] == [Verdict.PASS, Verdict.FAIL, Verdict.KNOWN] and found.verdict is (
        Verdict.FAIL
    )
    assert [claim.evidence for claim in found.claims] == ["elsewhere"]
    rows = found.tables["records.csv"].splitlines()
    assert len(rows) == 1 + len(told) and rows[9].endswith(",not at hand,")


def test_a_table_that_is_another_or_missing_has_no_verdict(printed, services, tmp_path):
    x, y = tiny(0)
    told = [{"table": "tiny", "depth": 2, "errors": 3}]
    printed(x, y, told, rows=15)
    found = judged(services)
    assert not found.cells and found.claims[0].verdict is Verdict.OPEN
    assert found.claims[0].evidence == "tiny (14 rows here, 15 there)"
    assert ",table differs," in found.tables["records.csv"]
    (tmp_path / "tiny.csv.gz").unlink()
    found = judged(services)
    assert not found.cells and f"name its folder in {BENCH}" in found.claims[0].evidence


def test_less_than_a_proof_says_so_but_refutes_what_cannot_be():
    record = Record("s", "t", Question(2, 0.0, 1), "errors", 10.0, None, True)
    found = {"rows": 100, "value": 0.12, "bound": 0.05, "proven": False}

    def word(printed, **more):
        changed = attrs.evolve(record, printed=printed, **more)
        assert changed.cell("title", found).aside == f"{changed.judged(found).value}, bound 5"
        return changed.judged(found)

    assert [word(printed) for printed in (12.0, 10.0, 5.0)] == [Word.NOT_PROVEN] * 3
    assert word(4.0) is Word.REFUTED and word(13.0) is Word.REFUTED
    assert word(13.0, proven=False) is Word.IMPROVED and word(4.0, proven=False) is Word.REFUTED
    rounded = Record("s", "t", Question(2, 0.0, 1), "accuracy", 0.88, 2, True)
    exact = {"rows": 1000, "value": 0.124, "bound": 0.124, "proven": True}
    assert rounded.judged(exact) is Word.ROUNDING
    assert rounded.cell("title", exact).verdict is Verdict.PASS
    assert attrs.evolve(rounded, decimals=None).judged(exact) is Word.REFUTED
    assert attrs.evolve(rounded, printed=0.87).judged(exact) is Word.REFUTED


def test_a_peer_that_is_not_there_is_no_opinion_and_one_that_errs_is_told(
    printed, services, monkeypatch
):
    monkeypatch.setenv(INTERPRETER, os.devnull)
    x, y = tiny(1)
    printed(x, y, [{"table": "tiny", "depth": 2, "errors": 3}])
    found = judged(services, peers=("peer_odtlearn",))
    assert "peer_odtlearn: not asked (" in found.tables["records.csv"]
    assert [claim.verdict for claim in found.claims] == [Verdict.OPEN]
    own = {"errors": 3, "leaves": 4, "value": 0.3, "bound": 0.3, "proven": True}
    key = {"table": "tiny", "depth": 2, "lam": 0.0}
    for theirs, verdict in (
        (own, Verdict.PASS),
        ({**own, "value": 0.4, "errors": 4}, Verdict.FAIL),
        ({**own, "value": 0.4, "errors": 4, "proven": False}, Verdict.OPEN),
        ({**own, "value": 0.2, "errors": 2, "proven": False}, Verdict.FAIL),
    ):
        (claim,) = verdicts.claims_of_peers([(key, {**own, "peers": {"peer": theirs}})])
        assert claim.verdict is verdict, theirs


def test_unknown_sources_and_tables_that_could_not_be_had_are_refused():
    with pytest.raises(ConfigError, match="reproduction.sources: unknown source 'murtee'"):
        Records(sources=("murtee",))
    with pytest.raises(ConfigError, match="at least one"):
        Records(sources=())
    with pytest.raises(ConfigError, match="none of the tables audiology is one that could be had"):
        Records(datasets=("audiology",)).pieces(1.0)


def test_the_printed_numbers_do_not_contradict_each_other():
    assert set(published()["records"]) == set(published()["sources"]) == set(SOURCES)
    least: dict[tuple, float] = {}
    for one in records():
        asked = one.question
        described = published()["tables"].get(one.table)
        if one.unit == "accuracy" and one.decimals is None and described:
            wrong = (1 - one.printed) * described["rows"]
            assert abs(wrong - round(wrong)) < 1e-6, one  # a share of so many rows
        if one.unit == "errors" and asked.least == 1 and one.proven:
            assert least.setdefault((one.table, asked.depth), one.printed) == one.printed, one
    for (table, depth), errors in least.items():
        assert errors <= least.get((table, depth - 1), errors), (table, depth)


@pytest.mark.parametrize("name", published()["tables"])
def test_tables_have_the_rows_and_columns_that_their_sources_have(name, services):
    described = published()["tables"][name]
    if described["home"] == "bench" and not os.environ.get(BENCH):
        pytest.skip(f"{BENCH} is not set")
    try:
        table = load_table(services, described)
    except DataError as error:
        pytest.skip(str(error))
    expected = "10,888 rows here, 13,611 there" if name == "bean" else ""
    assert difference(table, described) == expected
    if described["encoding"] != "numbers":
        assert all(column.categories == ("0", "1") for column in table.columns)
        assert all(len(set(column.values.tolist())) <= 2 for column in table.columns)
