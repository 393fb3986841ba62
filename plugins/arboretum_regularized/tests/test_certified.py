"""Trees of the paper and of its authors' program beside the proven minimum, in runs."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import arboretum
import pytest

PRESETS = ("ec45", "ecart", "asr", "ip", "bal", "cc45")
AUTHORS = ["stopping=[mass,few_objects]", "stopping.mass.tolerance=1e-7", "method.allow_constant=true"]
OWN = {"ec45": ["criterion.d_term=authors"], "ecart": ["criterion.d_term=authors"], "ip": ["criterion.weighting=authors"]}
RUN = ["dataset=iris", "theta=0.02", "certify=true", "tracker=none", "budget.seconds=20"]
SCRIPT = Path(__file__).resolve().parents[3] / "experiments" / "regularized" / "certified.py"


def certified(name: str, *choices: str):
    return arboretum.run([*RUN, f"method={name}", *choices])


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_certified_as_the_paper_and_as_the_program_has_it(name):
    paper, program = certified(name), certified(name, *AUTHORS, *OWN.get(name, []))
    assert program.certificate.leaf_rule["min_objects"] == 3
    costs = [record.certificate.complexities["expected_cost"] for record in (paper, program)]
    for one in costs:
        assert one.proven and one.value >= one.minimum > 0
    assert costs[1].minimum <= costs[0].minimum, "the program divides less, so its least is at most the paper's"
    promised = name in ("ec45", "ecart", "asr")
    assert (costs[0].promised is not None) == promised and costs[1].promised is None
    if promised:
        assert 1 <= costs[0].ratio <= costs[0].promised
        assert any("proved for" in note for note in program.notes)


def test_the_run_says_what_the_theorem_promises_and_from_what():
    note = next(note for note in certified("ec45").notes if note.startswith("guarantee"))
    for word in ("expected cost at most 20γ = ", "times the least", "Theorem 1", "n = 41", "p_min = 0.00952", "Δ ≥", "ε_h ≤ 6.7"):
        assert word in note


@pytest.mark.skipif(not os.environ.get("ARBORETUM_DATA"), reason="ARBORETUM_DATA names no data home with monk1")
def test_the_experiment_says_what_a_certified_run_says(tmp_path, capsys):
    if not SCRIPT.exists():
        pytest.skip("experiments belong to the repository, not to the installed plugin")
    spec = importlib.util.spec_from_file_location("experiment_certified", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.main(["monk1", "--into", str(tmp_path)]) == 0
    lines = (tmp_path / "certified.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 2 * 2 * len(script.PRESETS)
    cells = dict(zip(lines[0].split(","), lines[2].split(","), strict=True))
    assert (cells["preset"], cells["prices"], cells["reading"], cells["proven"]) == ("ec45", "unit", "paper", "yes")
    run = certified("ec45", "dataset=monk1", "theta=0.03", "split=holdout")
    one = run.certificate.complexities["expected_cost"]
    assert (float(cells["expected_cost"]), float(cells["best_known"])) == pytest.approx((one.value, one.minimum), rel=1e-12)
    assert "least 2.9310" in capsys.readouterr().out
