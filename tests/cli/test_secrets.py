"""The password of a store is used for the connection and stands nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SECRET = "s3cr/et@x"
URI = f"vault://me:{SECRET}@host/db"
VAULT = '''
"""A tracker that knows whether it got the password, and tells it to everybody when it fails."""
from pathlib import Path
import attrs
from arboretum.api import param


@attrs.frozen
class Vault:
    """Keeps nothing."""

    kind, name, paper, capabilities = "tracker", "vault", "", ()

    uri: str = param("vault://nobody", "address")
    fails: bool = param(False, "whether it fails")

    def _open(self, call):
        if self.uri != "vault://me:s3cr" + "/et@x@host/db":
            raise RuntimeError(f"wrong address {self.uri}")
        if self.fails:
            raise RuntimeError(f"{self.uri} does not answer")
        with Path("calls").open("a") as file:
            file.write(call + "\\n")

    def prepare(self):
        self._open("prepare")

    def open_sweep(self, name, config):
        Path("sweep.txt").write_text(f"{name} {config}")
        self._open("open")
        return "parent"

    def store(self, run, record, files):
        Path("stored.txt").write_text(f"{run} {record.config} {files} {record.notes}")
        self._open("store")
        return "1"

    def store_failure(self, run, error):
        Path("failure.txt").write_text(f"{run} {error}")
        return "2"

    def close_sweep(self, sweep_id, best, status):
        self._open("close")

    def fetch(self, run_id):
        raise KeyError(run_id)
'''
RUN = ("run", "--plugin", "toy.py", "--plugin", "vault.py", "dataset=toy", "tracker=vault")


@pytest.fixture
def vault(here, call, monkeypatch):
    """Calls the command and fails when anything that it prints or leaves behind holds the
    secret.
    """
    (here / "vault.py").write_text(VAULT)
    for name in [f"ARBORETUM_SECRET_{i}" for i in range(9)]:
        monkeypatch.setenv(name, "")  # so that what the command sets is taken back
        monkeypatch.delenv(name)

    def caller(*words: str):
        result = call(*words)
        texts = {"stdout": result.out, "stderr": result.err}
        texts |= {
            str(p): p.read_text()
            for p in here.rglob("*")
            if p.is_file() and p.suffix != ".py" and p.name != "lab.yaml"
        }
        assert [name for name, text in texts.items() if SECRET in text] == []
        return result

    return caller


def written(here: Path, how: str, monkeypatch) -> list[str]:
    """The words that name the store: on the command line, by the environment, or in a file of
    choices.
    """
    if how == "environment":
        monkeypatch.setenv("STORE", URI)
        return ["tracker.uri=${oc.env:STORE}"]
    if how == "parts":
        monkeypatch.setenv("PW", SECRET)
        return ["tracker.uri='vault://me:${oc.env:PW}@host/db'"]
    if how == "file":
        (here / "conf" / "experiment").mkdir(parents=True)
        (here / "conf" / "experiment" / "lab.yaml").write_text(
            f"# @package _global_\ntracker: {{uri: '{URI}'}}\n"
        )
        return ["--config-dir", "conf", "+experiment=lab"]
    return [f"tracker.uri={URI}"]


@pytest.mark.parametrize("how", ["command", "environment", "parts", "file"])
@pytest.mark.parametrize(
    "words", [("hydra.run.dir=r",), ("-m", "seed=1,2", "hydra.sweep.dir=s")], ids=["run", "sweep"]
)
def test_a_password_reaches_the_store_and_nothing_else(how, words, vault, here, monkeypatch):
    result = vault(*RUN, *written(here, how, monkeypatch), *words)
    assert result.status == 0, result.err
    assert "store" in (here / "calls").read_text().split()
    assert "vault://me:…@host/db" in (here / "stored.txt").read_text()


def test_a_store_that_fails_with_its_address_on_its_lips_is_told_without(vault, here):
    result = vault(*RUN, f"tracker.uri={URI}", "tracker.fails=true", "hydra.run.dir=r")
    assert result.status == 3 and "vault://me:…@host/db does not answer" in result.err
    assert vault(*RUN, f"tracker.uri={URI}", "tracker.fails=true", "-m", "seed=1,2").status == 3
    assert (
        vault(
            *RUN, f"tracker.uri={URI}", "dataset.crashes_at=1", "seed=1", "hydra.run.dir=q"
        ).status
        == 1
    )
    assert vault(*RUN, f"tracker.uri={URI}", "--cfg", "job", "--resolve").status == 0
    assert "vault://me:…@host/db" in vault(*RUN, f"tracker.uri={URI},{URI}/2", "-m").error


def test_sync_wants_the_secret_anew_and_a_repetition_the_address(vault, here, monkeypatch):
    assert vault(*RUN, f"tracker.uri={URI}", "tracker.fails=true", "hydra.run.dir=r").status == 3
    monkeypatch.delenv("ARBORETUM_SECRET_0")  # another day
    lacking = (
        "tracker.uri=vault://me:…@host/db lacks its secret, which records leave out: put the "
        "whole address into an environment"
    )
    again = (
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "vault.py",
        "--from",
        "r",
        "tracker.fails=false",
    )
    assert "not taken over from r: tracker.uri=vault://me:…@host/db;" in vault(*again).err
    assert lacking in vault("sync", "--plugin", "toy.py", "--plugin", "vault.py", "r").err
    assert vault("why", "r", "0", "--plugin", "toy.py", "--plugin", "vault.py").status == 0, (
        "it tells nobody"
    )
    assert (
        vault(*again, f"tracker.uri={URI}").status == vault(*again[:-1], "tracker=none").status == 0
    )
    monkeypatch.delenv("ARBORETUM_SECRET_0")
    monkeypatch.setenv("ANY_NAME", URI)
    sent = vault("sync", "--plugin", "toy.py", "--plugin", "vault.py", "r")
    assert "vault://me:…@host/db does not answer" in sent.err, (
        "the recorded tracker fails on purpose, with its secret"
    )


def test_a_recorded_text_is_no_interpolation(vault, here, monkeypatch):
    """A foreign record would read the environment, and could send it to the address that it
    names.
    """
    assert (
        vault("run", "--plugin", "toy.py", "dataset=toy", "tracker=none", "hydra.run.dir=r").status
        == 0
    )
    monkeypatch.setenv("STOLEN", SECRET)
    record = json.loads((here / "r" / "record.json").read_text())
    record["config"]["goal"] = "${oc.env:STOLEN}"
    (here / "r" / "record.json").write_text(json.dumps(record))
    assert "${oc.env:STOLEN}" in vault("run", "--plugin", "toy.py", "--from", "r").error
