"""Different values are different, however close and of whatever type; ``encoder.gap=sklearn``
leaves close ones together, and says so.
"""

from __future__ import annotations

import numpy as np
import pytest

import arboretum
from arboretum import TreeClassifier, TreeRegressor
from arboretum.errors import CapabilityError

STAIRS = [0, 0, 1, 1, 0, 0, 1, 1]
CLOSE = {
    "1e-8": np.arange(1, 9) * 1e-8,
    "1e-40": np.arange(1, 9) * 1e-40,
    "neighbouring floats": 1.0 + np.arange(8) * 2.0**-23,
    "large": 1e8 + 8.0 * np.arange(8),
    "around zero": (np.arange(8) - 4) * 1e-9,
}


@pytest.mark.parametrize("values", CLOSE.values(), ids=CLOSE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "parts",
    [{}, {"missing": "fractional"}, {"method": "oblivious"}, {"criterion": "gain_ratio"}],
    ids=str,
)
def test_greedy_growth_tells_all_values_apart(values, dtype, parts):
    X = values.astype(dtype)[:, None]
    assert TreeClassifier(random_state=0, **parts).fit(X, STAIRS).score(X, STAIRS) == 1.0


@pytest.mark.parametrize("values", CLOSE.values(), ids=CLOSE)
def test_trees_of_either_type_are_the_same_and_so_is_a_regression_tree(values):
    single, double = (
        values.astype(np.float32)[:, None].astype(dtype) for dtype in (np.float32, np.float64)
    )
    trees = [TreeClassifier(random_state=0).fit(X, STAIRS).tree_ for X in (single, double)]
    assert trees[0] == trees[1]
    assert TreeRegressor(random_state=0).fit(single, STAIRS).score(single, STAIRS) == 1.0


@pytest.mark.parametrize("values", CLOSE.values(), ids=CLOSE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_exact_solver_asks_the_tests_of_greedy_search(values, dtype):
    X = values.astype(dtype)[:, None]
    greedy = TreeClassifier(random_state=0).fit(X, STAIRS).tree_
    exact = (
        TreeClassifier(method="gosdt", random_state=0, overrides={"objective.lam": 0.01})
        .fit(X, STAIRS)
        .tree_
    )
    assert set(exact.rules) == set(greedy.rules)


def test_the_gap_of_scikit_learn_is_a_choice_that_the_record_notes(tmp_path):
    path = tmp_path / "close.csv"
    path.write_text(
        "x,y\n" + "\n".join(f"{x:.3g},{y}" for x, y in zip(CLOSE["1e-8"], STAIRS, strict=True)),
        encoding="utf-8",
    )
    data = ["dataset=file", f"dataset.path={path}", "dataset.target=y", "split=none", "method=cart"]
    plain, merged = arboretum.run(data), arboretum.run([*data, "encoder.gap=sklearn"])
    assert plain.metrics["train_error"] == 0.0 and not [
        note for note in plain.notes if "gap" in note
    ]
    assert merged.metrics["train_error"] == 0.5
    assert (
        "column 'x': 7 of 7 cuts lie between values at most 1e-07 apart and are left out "
        "(encoder.gap)" in merged.notes
    )


def test_solvers_refuse_the_gap(tmp_path):
    X = CLOSE["1e-8"][:, None]
    with pytest.raises(CapabilityError, match="solver gosdt tells all values of raw columns apart"):
        TreeClassifier(method="gosdt", encoder="raw", encoder__gap="sklearn").fit(X, STAIRS)
