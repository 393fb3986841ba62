"""A finished search is kept before its proof is written: whatever becomes of the proof, record
and tree are there and say so.
"""

from __future__ import annotations

import json
import signal
import time

import attrs
import pytest

from arboretum.api import Context, StoreError, VerificationError
from arboretum.engine import interruptions
from arboretum.runs.folder import read_run
from arboretum_gosdt.problem import proving

WORDS = ("method=gosdt", "objective.lam=0.1", "seed=3", "hydra.run.dir=r")


@pytest.fixture
def solved(toy, monkeypatch):
    """Solves with a proof whose writing does something else."""

    def solver(action, *words):
        monkeypatch.setattr(
            proving, "_write_proof", lambda path, attempt, found, *rest: action() or found
        )
        return toy(*WORDS, "solver.proof=p.proof", *words)

    return solver


def raising(error):
    def action():
        raise error

    return action


def test_when_the_proof_is_begun_record_and_tree_are_there(solved, here):
    """So kill −9 loses no more than the proof."""
    seen = []
    done = solved(lambda: seen.append(read_run(here / "r")))
    assert done.status == 0, done.err
    assert (
        seen[0].verified and seen[0].tree.n_nodes and seen[0].fingerprint.startswith("unfinished-")
    )
    assert "the run was ended before it had its proof" in seen[0].notes
    after = read_run(here / "r")
    assert not after.fingerprint.startswith("unfinished-") and not any(
        "proof" in note for note in after.notes
    )
    assert [path.name for path in here.glob("r*")] == ["r"]


def test_a_disk_that_is_full_costs_the_proof_alone(solved, here):
    done = solved(
        raising(StoreError("the proof 'p.proof' cannot be written (No space left on device)"))
    )
    assert (
        done.status == 1
        and "No space left on device" in done.err
        and "the tree is kept, without a proof" in done.err
    )
    kept = read_run(here / "r")
    assert (
        kept.verified
        and "no proof is written: the proof 'p.proof' cannot be written (No space left on device)"
        in kept.notes
    )
    assert kept.fingerprint.startswith("unfinished-"), "with skip_finished=true it is done again"


def test_a_bound_that_is_not_true_is_not_kept_as_verified(solved, here):
    assert solved(raising(VerificationError("the proof shows less"))).status == 1
    assert not read_run(here / "r").verified


PATIENCE = 0.5
"""Seconds, twice as many where a machine is busy."""


def raise_after_the_search(monkeypatch):
    from arboretum.engine import select

    def pruned(grown, context, own=select.prune):
        signal.raise_signal(signal.SIGTERM)
        return own(grown, context)

    monkeypatch.setattr(select, "prune", pruned)


def test_a_signal_costs_the_proof_alone(solved, here):
    assert solved(raising(KeyboardInterrupt(signal.SIGTERM))).status == 143
    assert "no proof is written: it was interrupted" in read_run(here / "r").notes


def test_the_same_run_again_does_not_give_its_finished_record_away_for_a_while(solved, here):
    assert solved(lambda: None).status == 0
    seen = []
    assert (
        solved(lambda: seen.append(json.loads((here / "r" / "record.json").read_text()))).status
        == 0
    )
    assert not seen[0]["fingerprint"].startswith("unfinished-") and [
        path.name for path in here.glob("r*")
    ] == ["r"]


def test_a_certificate_comes_after_the_tree_is_kept_too(solved, here, monkeypatch):
    from arboretum.engine import certificate

    monkeypatch.setattr(
        certificate,
        "certify",
        lambda *how: (_ for _ in ()).throw(KeyboardInterrupt(signal.SIGTERM)),
    )
    done = solved(lambda: None, "certify=true")
    assert done.status == 143 and "what is known is kept in" in done.err
    assert "the run was ended before it had its certificate and proof" in read_run(here / "r").notes


def test_a_search_that_a_signal_ended_has_little_time_for_its_proof(monkeypatch):
    found = attrs.make_class("Found", ["interrupted", "notes", "finished", "details"])(
        KeyboardInterrupt(signal.SIGTERM), (), False, {}
    )
    monkeypatch.setattr(proving, "GRACE_SECONDS", -1.0)
    monkeypatch.setattr(proving, "_unprovable", lambda attempt: "")
    monkeypatch.setattr(
        proving,
        "_write_proof",
        lambda path, attempt, found, context, resumable: context.progress(0, None, "writing"),
    )
    assert proving.prove("p", None, found, Context()).notes == (
        "no proof is written: it was interrupted",
    )
    monkeypatch.setattr(proving, "GRACE_SECONDS", 100.0)
    assert proving.prove("p", None, found, Context()) is None


def test_a_signal_while_the_trees_of_a_front_are_verified_costs_these_alone(toy, here, monkeypatch):
    from arboretum.engine import verify

    def check_front(*how, own=verify.check_front):
        monkeypatch.setattr(verify, "check_front", own)
        raise KeyboardInterrupt(signal.SIGTERM)

    monkeypatch.setattr(verify, "check_front", check_front)
    assert toy("method=front", "seed=3", "hydra.run.dir=r").status == 143
    kept = read_run(here / "r")
    assert (
        kept.verified
        and not any(point.tree for point in kept.solution.front.points)
        and kept.fingerprint.startswith("unfinished-")
    )
    assert "the other trees are left out: the run was ended before they were verified" in kept.notes


def test_a_signal_after_the_search_waits_until_its_record_is_kept(toy, here, monkeypatch):
    from arboretum.config import execute

    def written(folder, files, own=execute.write_run):
        signal.raise_signal(signal.SIGINT)
        own(folder, files)

    monkeypatch.setattr(execute, "write_run", written)
    assert toy("method=gosdt", "objective.lam=0.1", "seed=3", "hydra.run.dir=r").status == 130
    assert read_run(here / "r").verified


def test_nobody_s_patience_ends_while_the_record_is_written(toy, here, monkeypatch):
    from arboretum.config import execute

    def written(folder, files, own=execute.write_run):
        time.sleep(3 * PATIENCE)
        own(folder, files)

    monkeypatch.setattr(execute, "write_run", written)
    for name in ("PATIENCE_SECONDS", "FOUND_SECONDS"):
        monkeypatch.setattr(interruptions, name, PATIENCE)
    raise_after_the_search(monkeypatch)
    assert toy("method=gosdt", "objective.lam=0.1", "seed=3", "hydra.run.dir=r").status == 143
    assert read_run(here / "r").verified


def test_where_a_signal_waits_when_the_search_is_over_its_tree_alone_is_verified(
    toy, here, monkeypatch
):
    raise_after_the_search(monkeypatch)
    assert toy("method=front", "seed=3", "hydra.run.dir=r").status == 143
    kept = read_run(here / "r")
    assert (
        kept.verified and kept.tree and not any(point.tree for point in kept.solution.front.points)
    )
    assert not (here / "r" / "front.html").exists(), "nobody waits until it is drawn"
    assert "the other trees are left out: the run was ended before they were verified" in kept.notes


@pytest.mark.parametrize("ended_by", [(signal.SIGTERM,), ()])
def test_the_front_of_a_run_that_was_interrupted_is_kept_but_not_drawn(
    ended_by, toy, here, monkeypatch
):
    """Two hundred trees take seconds to be drawn."""
    from arboretum_maxcost.fronts import solver as front

    def spread(*how, own=front.spread_evenly):
        monkeypatch.setattr(interruptions.Held, "deliver", look)
        return own(*how)

    def look(held):
        if held.found:
            return
        monkeypatch.undo()
        raise KeyboardInterrupt(*ended_by)

    monkeypatch.setattr(front, "spread_evenly", spread)
    assert (
        toy("method=front", "seed=3", "hydra.run.dir=r").status
        == 128 + (*ended_by, signal.SIGINT)[0]
    )
    kept = read_run(here / "r")
    assert kept.verified and len(kept.solution.front.points) > 1
    assert (here / "r" / "front.json").exists() and not (here / "r" / "front.html").exists()
    assert set(kept.solution.front.files()) == {"front.json", "front.svg", "front.html"}
