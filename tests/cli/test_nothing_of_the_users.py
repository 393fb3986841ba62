"""What was there before a command stays: files named as folders, links, devices, empty folders,
files of the names that runs write.
"""

from __future__ import annotations

import json
import os
import stat

import pytest

FAILS = ("seed=3", "dataset.fails_at=3")
CRASHES = ("seed=3", "dataset.crashes_at=3")


def _file(place):
    place.write_text("mine")


def _link_to_file(place):
    place.with_name("behind").write_text("mine")
    place.symlink_to("behind")


def _link_to_nothing(place):
    place.symlink_to("nowhere")


def _link_to_folder(place):
    place.with_name("behind").mkdir()
    place.symlink_to("behind")


def _pipe(place):
    os.mkfifo(place)


def _empty_folder(place):
    place.mkdir()


THINGS = [_file, _link_to_file, _link_to_nothing, _link_to_folder, _pipe, _empty_folder]


def seen(folder):
    """Name → (kind and inode of what is there itself, content)."""
    found = {}
    for path in folder.rglob("*"):
        state = path.lstat()
        text = (
            path.read_text()
            if stat.S_ISREG(state.st_mode)
            else os.readlink(path)
            if path.is_symlink()
            else ""
        )
        found[str(path.relative_to(folder))] = stat.S_IFMT(state.st_mode), state.st_ino, text
    return found


@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize(
    "words",
    [("hydra.run.dir=d/r", *FAILS), ("-m", "hydra.sweep.dir=d/r", "seed=3,4", "method=absent")],
)
def test_a_command_that_fails_leaves_what_is_named_as_its_folder(toy, here, thing, words):
    (here / "d").mkdir()
    thing(here / "d" / "r")
    before = seen(here / "d")
    assert toy(*words).status == 1
    assert seen(here / "d") == before


def test_a_folder_that_a_failed_run_made_is_taken_away_if_nothing_is_in_it(toy, here):
    assert toy("hydra.run.dir=r", *FAILS).status == 1
    assert not (here / "r").exists()


@pytest.mark.parametrize(
    "name", ["tree.txt", "tree.json", "tree.svg", "front.html", "tree-2.json", "tracked.json"]
)
def test_files_of_a_runs_names_are_not_overwritten(toy, here, name):
    (here / "r").mkdir()
    (here / "r" / name).write_text("mine")
    assert "hydra.run.dir=FOLDER" in toy("hydra.run.dir=r").error
    assert {path.name: path.read_text() for path in (here / "r").iterdir()} == {name: "mine"}
    result = toy("-m", "seed=1", "hydra.sweep.dir=.", "hydra.sweep.subdir=r")
    assert result.status == 0 and (here / "r-2" / "record.json").exists()
    assert {path.name: path.read_text() for path in (here / "r").iterdir()} == {name: "mine"}


@pytest.mark.parametrize("words", [(), CRASHES])
def test_an_error_file_beside_other_things_is_the_users(toy, here, words):
    (here / "error.txt").write_text("mine")
    assert toy("hydra.run.dir=.", *words).status == (1 if words else 0)
    assert (here / "error.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["sweep.json", "multirun.yaml"])
def test_a_sweeps_own_notes_are_not_put_in_place_of_others(toy, here, name):
    (here / name).write_text("mine")
    assert "hydra.sweep.dir=FOLDER" in toy("-m", "seed=1,2", "hydra.sweep.dir=.").error
    assert (here / name).read_text() == "mine"


def test_what_is_exported_goes_through_links_and_into_pipes(toy, call, here):
    assert toy("hydra.run.dir=r").status == 0
    (here / "behind").write_text("old")
    (here / "link").symlink_to("behind")
    for name in ("link", os.devnull):
        assert call("export", "r", "--to", "text", "--out", name).status == 0
    assert (here / "link").is_symlink() and (here / "behind").read_text().startswith("6 leaves")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


SEARCH = (
    "run",
    "--plugin",
    "toy.py",
    "dataset=toy",
    "tracker=none",
    "method=gosdt",
    "objective.lam=0.1",
    "hydra.run.dir=r",
)


@pytest.mark.parametrize("key", ["solver.proof", "solver.page"])
def test_a_file_that_a_solver_writes_replaces_only_its_own_kind(call, here, key):
    words = [word.replace("gosdt", "rashomon") if key == "solver.page" else word for word in SEARCH]
    (here / "data.csv").write_text("mine")
    (here / "link").symlink_to("data.csv")
    os.mkfifo(here / "pipe")
    for name in ("data.csv", "link", "pipe", os.devnull, "r.py"):
        (here / "r.py").mkdir(exist_ok=True)
        error = call(*words, f"{key}={name}").err.splitlines()[-1]
        assert f"{key}='{name}' is there already" in error and error.endswith(
            f"name another file with {key}"
        )
    assert (here / "data.csv").read_text() == "mine" and (here / "link").is_symlink()
    for _ in range(2):
        assert call(*words, f"{key}=out").status == 0


def test_a_record_from_elsewhere_does_not_say_where_anything_is_written(toy, call, here):
    """What it names is the user's: a proof, a tracker's store, Hydra's folders; the line says
    how to give it.
    """
    words = ("method=gosdt", "objective.lam=0.1", "hydra.run.dir=r", "solver.proof=p.proof")
    assert toy(*words).status == 0 and (here / "p.proof").exists()
    record = json.loads((here / "r" / "record.json").read_text())
    record["config"]["solver"]["proof"] = str(here / "other.proof")
    record["config"]["tracker"] = {"name": "lines", "file": str(here / "other.jsonl")}
    record["config"]["hydra"] = {"run": {"dir": str(here / "other")}}
    (here / "r" / "record.json").write_text(json.dumps(record))
    again = ("run", "--plugin", "toy.py", "--plugin", "lines.py", "--from", "r")
    done = call(*again, "hydra.run.dir=again")
    assert done.status == 0, done.err
    assert (
        f"not taken over from r: hydra, solver.proof={here / 'other.proof'}, "
        f"tracker.file={here / 'other.jsonl'}; " in done.err
    )
    assert "add hydra=…" not in done.err and "add solver.proof=…" in done.err
    assert [
        name for name in ("other.proof", "other.jsonl", "other") if (here / name).exists()
    ] == []
    assert (here / "lines.jsonl").exists(), (
        "the tracker itself is the record's, and its store the usual one"
    )
    given = call(*again, "solver.proof=q.proof", "tracker=none", "hydra.run.dir=third")
    assert given.status == 0 and "solver.proof" not in given.err and (here / "q.proof").exists()
    assert call("why", "r", "0", "--plugin", "toy.py", "--plugin", "lines.py").status == 0
    assert not (here / "other.proof").exists()


def test_what_is_given_with_from_stays(toy, call, here):
    words = (
        "method=gosdt",
        "objective.lam=0.1",
        "hydra.run.dir=r",
        "solver.proof=p.proof",
        "budget.seconds=0",
    )
    assert toy(*words).status == 0
    before = (here / "p.proof").read_bytes(), (here / "r" / "record.json").read_bytes()
    proof, run = (
        ("run", "--plugin", "toy.py", "--from", "p.proof"),
        ("run", "--plugin", "toy.py", "--from", "r", "tracker=none"),
    )
    assert call(*proof, "tracker=none", "hydra.run.dir=a").status == 0
    assert (
        "is the proof that the search goes on from; it is kept"
        in call(*proof, "tracker=none", "solver.proof=./p.proof", "hydra.run.dir=b").err
    )
    assert call(*proof, "tracker=none", "solver.proof=q.proof", "hydra.run.dir=c").status == 0
    assert "it is kept: choose another folder" in call(*run, "hydra.run.dir=r").err
    assert ((here / "p.proof").read_bytes(), (here / "r" / "record.json").read_bytes()) == before
