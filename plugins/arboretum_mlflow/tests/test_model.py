"""A run's tree as a model of MLflow: loaded in a process of its own, served, and equal to the tree
in what it predicts.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import attrs
import numpy as np
import pytest

import arboretum
from arboretum.api import CapabilityError, ColumnKind, ColumnSpec, DataError, TestRule, Threshold
from arboretum.cli.main import main
from arboretum.testing.suites.tracker import sample_record, sample_run
from arboretum_mlflow.model import TreeModel, _load_pyfunc
from arboretum_mlflow.model_files import MLflowModel, example, requirements
from arboretum_mlflow.tracker import MLflowTracker

TENNIS = ["dataset=play-tennis", "method=id3", "split=none", "tracker=none"]


@pytest.fixture(scope="module")
def tennis():
    return arboretum.run(TENNIS).tree


@pytest.fixture(scope="module")
def iris():
    return arboretum.run(["dataset=iris", "method=cart", "split=none", "tracker=none"]).tree


LOAD = """
import json, sys, warnings
warnings.simplefilter("ignore")
import mlflow, pandas as pd
mlflow.set_tracking_uri(sys.argv[1])
model = mlflow.pyfunc.load_model(sys.argv[2])
rows = pd.DataFrame(json.loads(sys.argv[3]))
found = model.predict(rows, params=json.loads(sys.argv[4]))
names = [one.name for one in model.metadata.get_input_schema().inputs]
pickled = [name for name in sys.modules if name in ("cloudpickle", "dill")]
print(json.dumps({
    "answers": found.to_dict("list") if hasattr(found, "columns") else list(found),
    "names": names, "example": model.input_example.to_dict("list"),
}, default=float))
"""


def loaded(uri: str, store: str, rows: list, **params) -> dict:
    """What a fresh process loads and predicts."""
    command = [sys.executable, "-c", LOAD, store, uri, json.dumps(rows), json.dumps(params)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_run_that_keeps_its_model_is_loaded_from_the_store(
    fresh_store, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    store = [f"tracker.uri={fresh_store}", "tracker.model=true", "hydra.run.dir=kept"]
    assert main(["run", "dataset=iris", "method=cart", "split=none", *store]) == 0
    run_id = json.loads(Path("kept/tracked.json").read_text())["id"]
    tree = arboretum.load("kept").tree
    rows = [
        {"petal_length": 1, "petal_width": 0.2, "sepal_length": 5, "sepal_width": None},
        {"petal_length": 5.1, "petal_width": None, "sepal_length": 6, "sepal_width": 3},
        {"petal_length": None, "petal_width": 1.9, "sepal_length": 6, "sepal_width": 3},
    ]
    found = loaded(f"runs:/{run_id}/model", fresh_store, rows)
    assert found["answers"] == [tree.classes[code] for code in tree.predict(rows)]
    assert found["names"] == [spec.name for spec in tree.columns]
    assert set(found["example"]) == set(found["names"])
    shares = loaded(f"runs:/{run_id}/model", fresh_store, rows, proba=True)["answers"]
    assert list(shares) == list(tree.classes)
    assert np.array_equal(np.array(list(shares.values())).T, tree.predict_proba(rows))
    nodes = loaded(f"runs:/{run_id}/model", fresh_store, rows, node=True)["answers"]
    assert nodes == tree.apply(rows).tolist()
    assert arboretum.load("kept").config["tracker"]["model"] is True


def test_without_the_option_no_model_is_kept(fresh_store, tmp_path):
    tracker = MLflowTracker(uri=fresh_store)
    record = sample_record()
    run_id = tracker.store(sample_run(tmp_path), record, {"tree.json": "{}"})
    assert "model" not in str(sorted((tmp_path / "mlruns").rglob("*")))
    tracker.close()
    assert run_id


def test_a_tree_that_makes_no_model_is_kept_without_one_and_says_why(fresh_store, tmp_path):
    tracker = MLflowTracker(uri=fresh_store, model=True)
    run_id = tracker.store(sample_run(tmp_path), sample_record(), {"tree.json": "{}"})
    assert [one["status"] for one in tracker.runs()] == ["FINISHED"]
    tracker.close()
    asked = "SELECT value FROM tags WHERE run_uuid = ? AND key = 'arboretum.no_model'"
    with contextlib.closing(sqlite3.connect(tracker.location.database)) as base:
        ((why,),) = base.execute(asked, (run_id,)).fetchall()
    assert "not a tree" in why


def test_the_files_are_the_same_for_equal_trees_and_hold_no_pickle(tennis):
    files, again = MLflowModel().files(tennis), MLflowModel().files(tennis)
    assert files == again and MLflowModel().write(tennis) == MLflowModel().write(tennis)
    assert files["requirements.txt"].splitlines()[1:] == [f"arboretum=={arboretum.__version__}"]
    assert not [name for name in files if name.endswith((".pkl", ".pickle"))]
    assert arboretum.Tree.from_json(files["data/tree.json"]) == tennis
    described = files["MLmodel"]
    assert "loader_module: arboretum_mlflow.model" in described and "utc_time" not in described


def test_a_loaded_model_reads_rows_as_the_tree_does(tennis, iris, tmp_path):
    import pandas as pd

    (tmp_path / "tree.json").write_text(tennis.to_json())
    for path in (tmp_path, tmp_path / "tree.json"):
        model = _load_pyfunc(str(path))
        rows = pd.DataFrame(
            {
                "outlook": pd.Categorical(["sunny", "rainy", "overcast", None, "hail"]),
                "humidity": ["high", "normal", "high", "high", "high"],
                "windy": [True, False, True, False, False],
            }
        )
        expected = [tennis.classes[code] for code in tennis.predict(rows)]
        assert model.predict(rows).tolist() == expected
    whole = pd.DataFrame({spec.name: [1, 2, 5] for spec in iris.columns})
    assert TreeModel(iris).predict(whole).tolist() == ["setosa", "setosa", "virginica"]
    with pytest.raises(DataError, match="columns that are absent"):
        TreeModel(iris).predict(pd.DataFrame({"petal_length": [1.0]}))
    columns = example(iris)
    assert list(columns) == [spec.name for spec in iris.columns] and len(columns) == 1


def test_a_tree_of_numbers_and_a_leaf_alone_are_models_too(iris):
    rows = [f"{x},{x * x}" for x in range(30)]
    import pandas as pd

    Path("squares.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    given = ["dataset=file", "dataset.path=squares.csv", "dataset.target=y"]
    tree = arboretum.run([*given, "method=cart", "tracker=none", "split=none"]).tree
    assert tree.is_regression
    frame = pd.DataFrame({"x": [0, 10, None]})
    assert TreeModel(tree).predict(frame).tolist() == tree.predict(frame).tolist()
    with pytest.raises(DataError, match="needs classes"):
        TreeModel(tree).predict(frame, {"proba": True})
    for one in (tree, tree.cut([0]), iris.cut([0])):
        assert "MLmodel" in MLflowModel().files(one)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@attrs.frozen
class OfAFile(TestRule):
    """A test that no installed distribution has."""

    tag = "of_a_file"
    column: str

    def outcome_of(self, row):
        return 0

    def outcome_label(self, outcome):
        return "is odd" if outcome == 0 else "is even"


def test_a_test_that_nobody_could_load_again_is_refused(iris):
    rules = (OfAFile("petal_length"), *iris.rules[1:])
    with pytest.raises(CapabilityError, match="'petal_length is odd' is of a plugin in a file"):
        requirements(attrs.evolve(iris, rules=rules))
    rules = (Threshold("petal_length", 1.0), *iris.rules[1:])
    assert requirements(attrs.evolve(iris, rules=rules))[0].startswith("arboretum==")


def test_dates_have_an_example_that_the_tree_reads(iris):
    day = ColumnSpec("petal_length", ColumnKind.continuous, unit="days")
    columns = tuple(day if spec.name == day.name else spec for spec in iris.columns)
    rules = tuple(
        Threshold("petal_length", 18322.0, unit="days") if "petal_length" in rule.columns else rule
        for rule in iris.rules
    )
    dated = attrs.evolve(iris, columns=columns, rules=rules)
    assert example(dated)["petal_length"].tolist() == ["2020-03-01"]
    assert len(TreeModel(dated).predict(example(dated))) == 1


def test_the_command_writes_a_folder_or_an_archive(iris, capsys):
    assert main(["run", *TENNIS, "hydra.run.dir=r"]) == 0
    assert main(["export", "r", "--to", "mlflow_model", "--out", "model"]) == 0
    held = {path.relative_to("model").as_posix() for path in Path("model").rglob("*.*")}
    assert {"data/tree.json", "requirements.txt", "input_example.json"} <= held
    assert main(["export", "r", "--to", "mlflow_model", "--out", "model"]) == 0, "again, the same"
    assert main(["export", "r", "--to", "mlflow_model", "--out", "model.zip"]) == 0
    assert Path("model.zip").read_bytes()[:2] == b"PK"
    Path("mine").mkdir()
    Path("mine/requirements.txt").write_text("numpy")
    capsys.readouterr()
    assert main(["export", "r", "--to", "mlflow_model", "--out", "mine"]) == 1
    assert "holds other files" in capsys.readouterr().err
    assert Path("mine/requirements.txt").read_text() == "numpy"


def _free_port() -> int:
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        return int(line.getsockname()[1])


@pytest.mark.slow
def test_mlflow_serves_it_on_this_machine(tennis, tmp_path):
    for name, text in MLflowModel().files(tennis).items():
        path = tmp_path / "model" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    port = _free_port()
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", str(tmp_path / "model")]
    command += ["--env-manager", "local", "-h", "127.0.0.1", "-p", str(port)]
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
    # the server starts uvicorn by its name: that of this interpreter
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "uvicorn"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m uvicorn "$@"\n')
    script.chmod(0o755)
    path = f"{script.parent}{os.pathsep}{os.environ['PATH']}"
    paths = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, **quiet, "PATH": path, "PYTHONPATH": paths}
    with (tmp_path / "said").open("w") as said:
        process = subprocess.Popen(
            command, stdout=said, stderr=said, env=environment, start_new_session=True
        )
    try:
        answers = _asked(process, port, tmp_path / "said")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 15)  # the group that this test started
        process.wait(30)
    expected = [tennis.classes[code] for code in tennis.predict(ROWS)]
    assert answers["plain"] == expected
    assert [list(row) for row in answers["proba"]] == [list(tennis.classes)] * len(ROWS)
    shares = [[row[name] for name in tennis.classes] for row in answers["proba"]]
    assert np.allclose(shares, tennis.predict_proba(ROWS), rtol=0, atol=1e-15)


ROWS = [
    {"outlook": "sunny", "humidity": "high", "windy": "true", "temperature": "hot"},
    {"outlook": "overcast", "humidity": None, "windy": "false", "temperature": "mild"},
    {"outlook": "rainy", "humidity": "high", "windy": True, "temperature": "mild"},
]


def _asked(process: subprocess.Popen, port: int, said: Path) -> dict:
    """What the server answers, once it is there."""
    answers = {}
    deadline = time.monotonic() + 120
    for name, params in {"plain": {}, "proba": {"proba": True}}.items():
        body = json.dumps({"dataframe_records": ROWS, "params": params}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/invocations", body, {"Content-Type": "application/json"}
        )
        while True:
            assert process.poll() is None and time.monotonic() < deadline, said.read_text()
            try:
                with urllib.request.urlopen(request, timeout=30) as reply:
                    answers[name] = json.loads(reply.read())["predictions"]
                break
            except urllib.error.HTTPError as error:
                raise AssertionError(error.read().decode()) from error
            except OSError:
                time.sleep(0.5)
    return answers
