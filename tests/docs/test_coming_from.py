"""What the tables of docs/coming-from say to type works."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import arboretum
from arboretum.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "coming-from").glob("*.md"))
OVERRIDES = re.compile(r"[a-z_.]+=\S")


def entries(page: Path) -> list[str]:
    """The code spans of the last cell of every row of its tables."""
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    return [span for row in rows[2:] for span in re.findall(r"`([^`]+)`", row.split(" | ")[-1])]


ALL = [(page.stem, entry) for page in PAGES for entry in entries(page)]


def test_there_are_tables():
    assert {stem for stem, _ in ALL} == {page.stem for page in PAGES} - {"index"}


@pytest.fixture(scope="module")
def rows():
    """Numbers in tenths, few enough for proofs; the same as truth values; what rows say besides."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    drug, followed = (X[:, 1] > 3).astype(int), np.zeros(len(y), [("seen", bool), ("time", float)])
    followed["seen"], followed["time"] = y > 0, X[:, 2]
    said = {"costs": 1 - np.eye(3)[y], "drug": drug, "gain": drug * (y - 1.0)}
    said |= {"likely": np.full(len(y), 0.5), "followed": followed}
    return {"X": X, "y": y, "binary": (np.median(X, axis=0) < X).astype(float), **said}


@pytest.fixture(scope="module")
def names(rows):
    """What an entry in Python may use."""
    from arboretum import TreeClassifier, TreeRegressor

    exact = TreeClassifier("gosdt", objective__lam=0.05, max_depth=2)
    return {
        **rows,
        "TreeClassifier": TreeClassifier,
        "TreeRegressor": TreeRegressor,
        "tree": TreeClassifier(max_depth=3).fit(rows["X"], rows["y"]),
        "exact": exact.fit(rows["X"], rows["y"]),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a run, a table and rows to predict on."""
    where = tmp_path_factory.mktemp("coming")
    arboretum.run(["dataset=iris", "method=cart", f"hydra.run.dir={where / 'RUN'}"])
    head = "sepal_length,sepal_width,petal_length,petal_width"
    lines = [f"5.{i},3.{i % 4},1.{i},0.{i % 7}" for i in range(8)]
    (where / "rows.csv").write_text("\n".join([head, *lines, ""]))
    classes = [f"{line},{'ab'[i % 2]}" for i, line in enumerate(lines)]
    (where / "data.csv").write_text("\n".join([f"{head},class", *classes, ""]))
    return where


@pytest.mark.slow
@pytest.mark.parametrize(("page", "entry"), ALL)
def test_what_is_typed_here_works(page, entry, names, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    if entry.startswith("arboretum "):
        assert main(shlex.split(entry)[1:]) == 0, capsys.readouterr().err
    elif OVERRIDES.match(entry):
        keys = shlex.split(entry)
        known = any(key.startswith("dataset=") for key in keys)
        assert arboretum.run([*([] if known else ["dataset=iris"]), *keys]).verified
    else:
        found = eval(entry, dict(names))
        if hasattr(found, "fit") and not hasattr(found, "tree_"):
            found.fit(names["X"], names["y"])
