"""The scripts beyond the paper, on very small amounts of work: what they write is what a run
certifies.
"""

from __future__ import annotations

import csv

import pytest
from scripts import script

import arboretum


@pytest.mark.slow
def test_ratios_on_a_real_table_are_those_of_a_certified_run(tmp_path, capsys):
    study = script("real_tables")
    assert study.main(["monk1-full", "--into", str(tmp_path)]) == 0
    with (tmp_path / "real_tables.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 16 * 5 and all(row["proven"] == "yes" for row in rows)
    record = arboretum.run(
        ["dataset=monk1-full", "method=sum_ent", "split=none", "tracker=none", "certify=true"]
    )
    for row in (row for row in rows if row["algorithm"] == "sum/ent"):
        of_run = record.certificate.complexities[study.COSTS[row["cost"]]]
        assert (float(row["value"]), float(row["best_known"])) == (of_run.value, of_run.minimum)
        assert float(row["ratio_at_most"]) == pytest.approx(of_run.ratio, abs=1e-6)
    assert "monk1-full" in capsys.readouterr().out


@pytest.mark.slow
def test_small_and_large_solver_agree_on_the_shapes_that_both_can_do(monkeypatch):
    study = script("shapes")
    services = study.RegistryFactory(study.load_registry())
    bulk = study.study(services, 20, 5, 4, 1000)
    monkeypatch.setattr(study, "IN_BULK", 0)
    assert (study.study(services, 20, 5, 4, 1000).relative == bulk.relative).all()
    assert len(bulk.relative) == 4 and not bulk.left_out


def test_the_miner_prints_and_keeps_what_it_found(tmp_path, capsys):
    miner, file = script("miner"), tmp_path / "table.csv"
    assert (
        miner.main(["max/gini", "w_sum/gini", "n_nodes", "--tables", "100", "--csv", str(file)])
        == 0
    )
    assert "max/gini needs" in capsys.readouterr().out and file.read_text(
        encoding="utf-8"
    ).startswith("f1,")
    assert miner.main(["max/gini", "max/gini", "n_nodes", "--tables", "5"]) == 1
    assert miner.main(["max/gin", "max/gini", "n_nodes"]) == 2
    assert "did you mean 'max/gini'" in capsys.readouterr().err
