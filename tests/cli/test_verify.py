"""``arboretum verify``: a proof from the command line, replayed, and what is said of those that
are none.
"""

from __future__ import annotations

import hashlib
import json
import re

import numpy as np
import pytest

from arboretum.proof.format import DIGEST, MAGIC, read

RUN = (
    "run",
    "dataset=file",
    "dataset.path=table.csv",
    "dataset.target=y",
    "split=none",
    "tracker=none",
    "hydra.run.dir=r",
)


@pytest.fixture
def table(here):
    rng = np.random.default_rng(1)
    rows = [
        "a,b,c,y",
        *(
            f"{x[0]},{x[1]},{x[2]},{'yes' if x[0] ^ (x[1] & x[2]) else 'no'}"
            for x in rng.integers(0, 2, (30, 3))
        ),
    ]
    (here / "table.csv").write_text("\n".join(rows) + "\n")
    return here


@pytest.fixture
def proof(table, call):
    """A proof of the least number of nodes."""
    done = call(
        *RUN, "method=subtable_dp", "complexity=n_nodes", "encoder=multiway", "solver.proof=p.proof"
    )
    assert done.status == 0, done.err
    return table / "p.proof"


def test_a_proof_is_accepted_and_says_what_is_proven(proof, call):
    done = call("verify", str(proof))
    assert done.status == 0, done.err
    assert re.search(r"^accepted: \d+ records of subtable_dp checked in ", done.out)
    assert re.search(
        r"no tree is below \d+ \(n_nodes on table\), the tree's value is \d+ \(optimal\)$",
        done.out.strip(),
    )


def test_the_table_may_lie_elsewhere_but_must_be_the_same(proof, call, table):
    (table / "table.csv").rename(table / "moved.csv")
    said = call("verify", str(proof)).error
    assert "table.csv: no such file; say where it is now, dataset.path=FILE" in said
    assert call("verify", str(proof), "dataset.path=moved.csv").status == 0
    text = (table / "moved.csv").read_text()
    (table / "table.csv").write_text(text.replace("0,0,1", "0,0,0", 1))
    done = call("verify", str(proof))
    assert done.status == 1
    assert re.search(
        r"^rejected: the proof is of another table: sha256 is \w+, here it is \w+$", done.error
    )


def test_a_record_that_does_not_follow_is_named(proof, call):
    log, data = read(proof), proof.read_bytes()
    last, first = log.n_records - 1, data.index(b"\n", len(MAGIC)) + 1
    at = first + 4 * (int(log.start[last]) + 3)
    data = data[:at] + np.float64(99.0).tobytes() + data[at + 8 : -DIGEST]
    proof.write_bytes(data + hashlib.sha256(data).digest())
    done = call("verify", str(proof))
    assert done.status == 1
    assert re.search(
        rf"^rejected: record {last} \(root\) claims a bound of 99.0, but trees that begin "
        r"with test \d+ may cost \d+$",
        done.error,
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nowhere"], "the proof 'nowhere' cannot be read (No such file or directory)"),
        (["table.csv"], "'table.csv' is no proof: it does not begin as one"),
        (
            ["p.proof", "objective.lam=2"],
            "'objective.lam=2' would be another proof; only dataset.… and encoder.… may be given",
        ),
        ([], "the following arguments are required: PATH"),
    ],
)
def test_bad_input_is_one_line(proof, call, words, why):
    done = call("verify", *words)
    assert done.status == 1
    assert done.error.startswith(why)


def test_a_run_goes_on_from_its_proof(table, call):
    done = call(
        *RUN,
        "method=gosdt",
        "objective.lam=0.01",
        "solver.proof=g.proof",
        "solver.resumable=true",
        "budget.seconds=0",
    )
    assert done.status == 0, done.err
    assert read("g.proof").end["bound"] < read("g.proof").end["value"]
    begun = (table / "g.proof").read_bytes()
    done = call(
        "run", "--from", "g.proof", "solver.proof=h.proof", "tracker=none", "hydra.run.dir=again"
    )
    assert done.status == 0, done.err
    record = json.loads((table / "again" / "record.json").read_text())
    assert record["solution"]["status"] == "optimal"
    assert record["config"]["solver"]["resume"] == str(table / "g.proof")
    assert call("verify", "h.proof").out.strip().endswith("(optimal)")
    assert (table / "g.proof").read_bytes() == begun


def test_only_a_solver_that_can_goes_on_from_a_proof(proof, call):
    done = call("run", "--from", str(proof))
    assert done.status == 1
    assert (
        done.error
        == "solver subtable_dp cannot go on from a proof; --from RUN repeats a run, from its start"
    )


def test_a_proof_knows_the_class_weights_of_its_run(table, call):
    weights = ("class_weight={yes: 3, no: 0.5}", "encoder=onehot", "objective.lam=0.05")
    assert call(*RUN, "method=gosdt", *weights, "solver.proof=p.proof").status == 0
    done = call("verify", "p.proof")
    assert done.status == 0, done.err
    assert done.out.strip().endswith("(optimal)")


@pytest.mark.parametrize("drawn", ["train_fraction=0.5", "honest=0.4"])
def test_a_proof_knows_which_rows_were_drawn(table, call, drawn):
    more = ("encoder=onehot", "objective.lam=0.05")
    assert call(*RUN, "method=gosdt", drawn, *more, "solver.proof=p.proof").status == 0
    done = call("verify", "p.proof")
    assert done.status == 0, done.err
    assert done.out.strip().endswith("(optimal)")


@pytest.mark.parametrize("method", ["gosdt", "regression"])
def test_a_tree_whose_tests_take_more_digits_has_its_proof(here, call, method):
    """Its words are written anew when the run knows it; what the solver left to do was forgotten
    then, and no proof was there.
    """
    lines = [f"{1.53214 + k / 1e6:.6f},{int(7 < k < 15)}" for k in range(20)]
    (here / "table.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    words = ["dataset.task=regression"] if method == "regression" else []
    done = call(
        *RUN,
        *words,
        f"method={method}",
        "encoder=raw",
        "stopping.standard.max_depth=2",
        "objective.lam=0.01",
        "solver.proof=p.proof",
    )
    assert done.status == 0 and "x ≤ 1.532147" in done.out, done.err or done.out
    done = call("verify", "p.proof")
    assert done.status == 0 and done.out.startswith("accepted: "), done.err


def test_equal_targets_whose_mean_rounds_have_a_proof_that_is_accepted(here, call):
    (here / "table.csv").write_text("x,y\n0,0.1\n1,0.1\n2,0.1\n")
    words = "method=regression", "dataset.task=regression", "encoder=raw", "objective.lam=0.2"
    assert call(*RUN, *words, "stopping.standard.max_depth=1", "solver.proof=p.proof").status == 0
    assert call("verify", "p.proof").out.startswith("accepted: ")
