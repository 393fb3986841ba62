"""Runs as methods × data sets × blocks: what is averaged, what is refused, what is missing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from arboretum.errors import ConfigError, DataError
from arboretum.model.record import Record
from arboretum.runs.gather import Failed
from arboretum.runs.grouping import Grouping, share_that_judges


def run(
    method: str, dataset: str, seed: int = 0, error: float | None = 0.1, sha: str = "", **asked
) -> Record:
    """A run; asked : fields of the configuration, ``split`` and ``choices`` among them."""
    choices = {"method": method, "dataset": dataset, **asked.pop("choices", {})}
    return Record(
        config={"choices": choices, "seed": seed, **asked},
        seed=seed,
        versions={},
        data={"name": dataset, "sha256": sha or dataset},
        timings={},
        metrics={} if error is None else {"test_error": error},
        solution=None,
        verified=True,
        tree=None,
    )


def values(grouping: Grouping) -> dict[str, list[list[float]]]:
    repeats = grouping.repeats("test error", lambda record: record.metrics.get("test_error"))
    return {
        name: np.round(array, 12).tolist()
        for name, array in zip(repeats.datasets, repeats.values, strict=True)
    }


def test_runs_are_paired_by_seed_and_fold():
    runs = [
        run(method, "iris", seed, error, split={"name": "kfold", "fold": fold})
        for method, shift in (("cart", 0.0), ("id3", 0.5))
        for seed in (1, 2)
        for fold, error in ((0, shift + seed / 100), (1, shift + seed / 10))
    ]
    grouping = Grouping.of(runs[::-1])
    assert (grouping.methods, grouping.datasets) == (("cart", "id3"), ("iris",))
    repeats = grouping.repeats("e", lambda record: record.metrics["test_error"])
    assert list(repeats.blocks[0]) == [
        "seed 1, fold 0",
        "seed 1, fold 1",
        "seed 2, fold 0",
        "seed 2, fold 1",
    ]
    assert repeats.values[0][:, 0].tolist() == [0.01, 0.1, 0.02, 0.2]
    assert np.allclose(repeats.differences(0, 0, 1), 0.5)


def test_rows_that_were_split_otherwise_are_no_pairs():
    runs = [
        run("cart", "iris", 1, split={"name": "holdout", "test": 0.2}),
        run("id3", "iris", 1, split={"name": "holdout", "test": 0.3}),
    ]
    repeats = Grouping.of(runs).repeats("e", lambda record: record.metrics["test_error"])
    assert len(repeats.differences(0, 0, 1)) == 0
    assert [block.rpartition(", ")[2] for block in repeats.blocks[0]] == ["split 1", "split 2"]


def test_what_varies_besides_is_averaged_over_the_values_that_every_method_has():
    def with_depth(method: str, depth: int, error: float) -> Record:
        return run(method, "iris", 1, error, stopping={"standard": {"max_depth": depth}})

    crossed = [
        with_depth("cart", 2, 0.1),
        with_depth("cart", 4, 0.3),
        with_depth("id3", 2, 0.5),
        with_depth("id3", 4, 0.7),
    ]
    grouping = Grouping.of(crossed)
    assert dict(grouping.averaged) == {"stopping.standard.max_depth": ("2", "4")}
    assert values(grouping) == {"iris": [[0.2, 0.6]]}
    each = Grouping.of(crossed, ("method", "stopping.standard.max_depth"))
    assert each.methods == (
        "cart max_depth=2",
        "cart max_depth=4",
        "id3 max_depth=2",
        "id3 max_depth=4",
    )
    assert values(each) == {"iris": [[0.1, 0.3, 0.5, 0.7]]}
    depths = Grouping.of(crossed, ("stopping.standard.max_depth",))
    assert depths.methods == ("2", "4") and dict(depths.averaged) == {"method": ("cart", "id3")}
    fewer = Grouping.of(crossed[:3])
    assert dict(fewer.averaged) == {"stopping.standard.max_depth": ("2",)}
    assert values(fewer) == {"iris": [[0.1, 0.5]]} and len(fewer.records) == 2
    (note,) = fewer.notes
    assert "those that all have (2), 1 run is left out; --by method,stopping" in note
    with pytest.raises(ConfigError) as error:
        Grouping.of([*crossed[:2], with_depth("id3", 8, 0.5)])
    assert "stopping.standard.max_depth varies" in str(error.value)
    assert "--by method,stopping.standard.max_depth" in str(error.value)


def test_a_block_that_lacks_one_of_what_is_averaged_has_no_value():
    runs = [
        run(method, "iris", seed, error=0.1 * depth, depth=depth)
        for method in ("cart", "id3")
        for seed in (1, 2)
        for depth in (1, 2)
    ]
    grouping = Grouping.of(runs[:-1])  # id3, seed 2 at depth 2 is not there
    found = values(grouping)["iris"]
    assert found[0] == [0.15, 0.15] and found[1][0] == 0.15 and math.isnan(found[1][1])


def test_names_are_ordered_by_the_numbers_in_them():
    names = ["m10", "m2", "m1", "0.5", "10", "2", "a"]
    grouping = Grouping.of([run(name, f"d{k}") for k, name in enumerate(names, 8)])
    assert grouping.methods == ("0.5", "2", "10", "a", "m1", "m2", "m10")
    assert grouping.datasets[:3] == ("d8", "d9", "d10")


def test_a_key_that_older_records_lack_does_not_vary():
    runs = [run("cart", "iris", 1), run("cart", "iris", 2, missing={"kept": 1}), run("id3", "iris")]
    assert Grouping.of(runs).averaged == {}


def test_a_record_that_is_older_than_a_setting_has_what_it_did():
    runs = [run("cart", "iris", 1), run("cart", "iris", 1, train_fraction=0.5)]
    assert Grouping.of(runs, by=("train_fraction",)).methods == ("0.5", "1.0")


def test_what_belongs_to_a_method_or_a_data_set_is_no_matter():
    runs = [
        run("cart", "iris", criterion={"lam": 1}, cost={"low": 1}),
        run("id3", "iris", criterion={"lam": 2}),
        run("cart", "wine", criterion={"lam": 3}, cost={"low": 2}),
        run("id3", "wine", criterion={"lam": 4}),
    ]
    assert Grouping.of(runs).averaged == {}


def test_one_name_with_two_contents_is_two_data_sets():
    grouping = Grouping.of(
        [run("cart", "iris", sha="aaaaaaaa"), run("id3", "iris", sha="bbbbbbbb")]
    )
    assert grouping.datasets == ("iris@aaaaaa", "iris@bbbbbb")
    assert "iris has 2 contents" in grouping.notes[0]


def test_a_data_set_that_every_seed_draws_anew_is_one():
    runs = [
        run(method, "random_table", seed, sha=f"{seed}") for method in "ab" for seed in (1, 2, 3)
    ]
    grouping = Grouping.of(runs)
    assert grouping.datasets == ("random_table",) and "drawn anew" in grouping.notes[0]
    changed = [run("a", "file", seed, sha=sha) for seed, sha in ((1, "x"), (2, "x"), (3, "y"))]
    assert len(Grouping.of(changed).datasets) == 2


def test_the_same_run_twice_counts_once_and_is_said():
    grouping = Grouping.of([run("cart", "iris", error=0.5), run("cart", "iris", error=0.1)])
    assert values(grouping) == {"iris": [[0.1]]} and "more than once" in grouping.notes[0]


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ("methd", "did you mean 'method'"),
        ("dataset", "methods are compared on data sets"),
        ("seed", "repeated over seeds and folds"),
        ("split.fold", "repeated over seeds and folds"),
        ("goal", "unknown key of these runs"),
    ],
)
def test_a_key_that_cannot_name_methods_is_refused(by, words):
    with pytest.raises(ConfigError) as error:
        Grouping.of([run("cart", "iris", goal="x", split={"fold": 1})], (by,))
    assert words in str(error.value) and "\n" not in str(error.value)


def test_what_is_missing_is_named_with_the_error_of_the_job_that_failed():
    grouping = Grouping.of(
        [
            run("cart", "iris", 1),
            run("cart", "iris", 2),
            run("id3", "iris", 1),
            run("cart", "wine", 1),
        ]
    )
    failed = [
        Failed("s/3", "out of memory", {"method": "id3", "dataset": "wine", "seed": "1"}),
        Failed("s/4", "somebody else's", {"method": "c45", "dataset": "wine"}),
        Failed("s/5", "nobody knows", {}),
    ]
    rows = grouping.missing(failed)
    assert rows == [
        {"data set": "iris", "method": "id3", "reason": "1 of 2 blocks have no run"},
        {"data set": "wine", "method": "id3", "reason": "no run: out of memory (s/3)"},
    ]
    depths = [("iris", 2), ("iris", 4), ("wine", 2)]
    by_depth = Grouping.of([run("cart", d, 1, depth=n) for d, n in depths], ("method", "depth"))
    why = Failed("s/6", "a kernel died", {"method": "cart", "depth": "4", "dataset": "wine"})
    assert by_depth.missing([why])[0]["reason"] == "no run: a kernel died (s/6)"


def test_a_measure_that_some_lack_leaves_out_data_sets_and_methods():
    grouping = Grouping.of(
        [
            run("cart", "iris"),
            run("id3", "iris", error=math.nan),
            run("cart", "cars", error=None),
            run("id3", "cars", error=None),
        ]
    )
    repeats = grouping.repeats("e", lambda record: record.metrics.get("test_error"))
    assert (repeats.datasets, repeats.methods) == (("iris",), ("cart",))
    with pytest.raises(DataError, match="no run has test mse"):
        grouping.repeats("test mse", lambda record: record.metrics.get("test_mse"))


@pytest.mark.parametrize(
    ("data", "split", "share"),
    [
        ({"n_rows": 150, "n_test": 30}, {}, 0.2),
        ({"n_rows": 150}, {"name": "kfold", "folds": 5}, 0.2),
        ({"n_rows": 150}, {"name": "holdout", "test": 0.25}, 0.25),
        ({"n_rows": 150}, {"name": "mine"}, math.nan),
        ({"n_rows": 0, "n_test": 0}, None, math.nan),
    ],
)
def test_the_share_of_the_rows_that_judge_is_counted_or_as_the_split_was_asked_for(
    data, split, share
):
    record = Record(
        {"choices": {}, "split": split}, 0, {}, data, {}, {}, None, verified=True, tree=None
    )
    assert share_that_judges(record) == pytest.approx(share, nan_ok=True)
