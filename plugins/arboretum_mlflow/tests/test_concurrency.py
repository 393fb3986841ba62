"""Several processes at once: a fresh store is made once, and no run is lost."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # starts processes that meet in one store

PREPARE = """
import sys
from arboretum_mlflow.tracker import MLflowTracker
MLflowTracker(uri=sys.argv[1], timeout=60.0).prepare()
"""

STORE = """
import sys, pathlib
from arboretum_mlflow.tracker import MLflowTracker
from arboretum.testing.suites.tracker import sample_files, sample_record, sample_run
tracker = MLflowTracker(uri=sys.argv[1], timeout=60.0)
tracker.prepare()
for seed in range(int(sys.argv[2]), int(sys.argv[3])):
    record, folder = sample_record(seed), pathlib.Path(sys.argv[4]) / str(seed)
    tracker.store(sample_run(folder, seed), record, sample_files(record))
"""


def together(commands: list[list[str]]) -> None:
    """Run all at the same time; every one must succeed and print nothing."""
    # what they start, they start as this process does
    same = f"import sys; sys.executable = {sys.executable!r}\n"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", same + code, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for code, *words in commands
    ]
    said = [process.communicate(timeout=240)[0] for process in running]
    assert [process.returncode for process in running] == [0] * len(running), said
    assert said == [""] * len(running)


def ask(database: Path, sql: str) -> list[tuple]:
    with contextlib.closing(sqlite3.connect(database)) as base:
        return base.execute(sql).fetchall()


def test_four_processes_that_find_no_store_make_one(tmp_path):
    together([[PREPARE, f"sqlite:///{tmp_path}/lab/mlflow.db"]] * 4)
    database = tmp_path / "lab" / "mlflow.db"
    assert ask(database, "SELECT name FROM experiments ORDER BY name") == [
        ("Default",),
        ("arboretum",),
    ]
    assert len(ask(database, "SELECT version_num FROM alembic_version")) == 1
    assert sorted(path.name for path in database.parent.iterdir()) == [
        ".mlflow.db.arboretum",
        "mlflow.db",
    ]


def test_two_processes_that_write_at_once_lose_no_run(fresh_store, tmp_path):
    together(
        [
            [STORE, fresh_store, str(20 * k), str(20 * k + 20), str(tmp_path / "runs")]
            for k in range(2)
        ]
    )
    found = ask(tmp_path / "mlflow.db", "SELECT name, status FROM runs")
    assert sorted(found) == sorted((f"cart iris seed={seed}", "FINISHED") for seed in range(40))


def test_preparing_leaves_mlflow_out_of_the_process(fresh_store):
    code = (
        f"{PREPARE}\nimport sys; assert not {{'mlflow', 'sqlalchemy', 'alembic', 'pandas'}} & "
        "set(sys.modules)"
    )
    together([[code, fresh_store]])


MAKE_OLDER = """
import logging, sys, warnings
warnings.simplefilter("ignore"); logging.disable(logging.CRITICAL)
from alembic import command
from alembic.script import ScriptDirectory
from mlflow.store.db.utils import InitialBase, _get_alembic_config, create_sqlalchemy_engine
config = _get_alembic_config(sys.argv[1])
script = ScriptDirectory.from_config(config)
older = script.get_revision(script.get_current_head()).down_revision
engine = create_sqlalchemy_engine(sys.argv[1])
InitialBase.metadata.create_all(engine)
with engine.begin() as connection:
    config.attributes["connection"] = connection
    command.upgrade(config, older)
engine.dispose()
"""


def test_an_older_store_is_copied_and_then_migrated(template, tmp_path):
    """The older store is made by MLflow's own scripts, all but the last."""
    database = tmp_path / "mlflow.db"
    subprocess.run(
        [sys.executable, "-c", MAKE_OLDER, f"sqlite:///{database}"],
        check=True,
        capture_output=True,
        timeout=240,
    )
    ((older,),) = ask(database, "SELECT version_num FROM alembic_version")
    ((newest,),) = ask(template, "SELECT version_num FROM alembic_version")
    assert older != newest
    together([[PREPARE, f"sqlite:///{database}"]] * 2)
    assert ask(database, "SELECT version_num FROM alembic_version") == [(newest,)]
    assert ask(
        tmp_path / f"mlflow.db.before-{older}", "SELECT version_num FROM alembic_version"
    ) == [(older,)]
