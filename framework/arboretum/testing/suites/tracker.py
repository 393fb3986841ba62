"""Conformance of trackers: who keeps the record?"""

import math
import pickle
from pathlib import Path
from typing import Any

import attrs
import pytest

from arboretum.api import Record, RunInfo, Solution, Status, TrackerError
from arboretum.interfaces.tracker import Tracker
from arboretum.model.plain import Facts
from arboretum.testing.suites.base import ComponentSuite, skip_if


def sample_record(seed: int = 0, **changes: Any) -> Record:
    """A small record as a run makes it (without a tree: trackers get the tree as text)."""
    choices = {
        "dataset": "iris",
        "method": "cart",
        "criterion": "reduction",
        "stopping": ["standard"],
    }
    fields = {"criterion": {"lam": 10.0}, "stopping": {"standard": {"max_depth": 3, "min_leaf": 1}}}
    versions = {
        "python": "3.12.0",
        "arboretum": "0.1.0",
        "plugin arboretum_classic": "arboretum 0.1.0",
        "git": "a" * 40,
    }
    timings = {"load": 0.01, "fit": 0.003, "verify": 0.004}
    data = {
        "name": "iris",
        "sha256": "c0ffee" * 10 + "abcd",
        "n_rows": 150,
        "n_objects": 105,
        "n_tests": 4,
        "n_classes": 3,
    }
    metrics = {
        "train_error": 0.01,
        "valid_error": 0.02 + 0.01 * seed,
        "depth": 3.0,
        "n_leaves": 5.0,
    }
    config = {"choices": choices, **fields, "seed": seed}
    record = Record(
        config,
        seed,
        versions,
        data,
        timings,
        metrics,
        None,
        verified=True,
        tree=None,
        fingerprint=f"fingerprint-{seed}",
    )
    return attrs.evolve(record, **changes)


def sample_run(folder: Path, seed: int = 0, sweep_id: str = "") -> RunInfo:
    """The run that :func:`sample_record` is the record of."""
    record = sample_record(seed)
    return RunInfo(f"cart iris seed={seed}", record.config, folder, sweep_id, record.fingerprint)


def sample_files(record: Record) -> dict[str, str]:
    """The artifacts of a run, with letters beyond ASCII."""
    return {
        "record.json": record.to_json(),
        "tree.json": '{"schema": "arboretum.tree/1"}',
        "tree.txt": "petal width ≤ 0.8\n├─ yes: setosa\n└─ no: virginica\n",
        "tree.svg": '<svg xmlns="http://www.w3.org/2000/svg"><text>petal width ≤ 0.8</text></svg>',
    }


class TrackerSuite(ComponentSuite):
    """Keeps what it is given, once, whole, whatever the numbers; says in one line when it has
    nothing.

    What is kept is read back by ``fetch``; of a tracker that only writes, and has none, everything
    else is held to.

    Override ``component`` with a fixture that returns a tracker of a store of the tests' own; one
    store may serve them all (``scope="class"``).
    """

    kind = "tracker"

    @pytest.fixture
    def tracker(self, component: Tracker) -> Tracker:
        component.prepare()
        return component

    @staticmethod
    def kept(
        tracker: Tracker, folder: Path, seed: int = 0, sweep_id: str = ""
    ) -> tuple[str, dict[str, str]]:
        """Store a run; its number and its files."""
        record = sample_record(seed)
        files = sample_files(record)
        return tracker.store(sample_run(folder, seed, sweep_id), record, files), files

    @staticmethod
    def holds(tracker: Tracker, run_id: str, files: dict[str, str]) -> bool:
        """Whether these files come back; of a tracker that only writes nobody knows."""
        return (
            not hasattr(tracker, "fetch")
            or {name: tracker.fetch(run_id).get(name) for name in files} == files
        )

    def test_what_is_stored_comes_back_whole_also_where_a_prepared_store_is_prepared_again(
        self, tracker, tmp_path
    ):
        run_id, files = self.kept(tracker, tmp_path)
        assert isinstance(run_id, str) and run_id
        tracker.prepare()
        if hasattr(tracker, "fetch"):
            assert dict(tracker.fetch(run_id)) == files
            assert (
                Record.from_json(tracker.fetch(run_id)["record.json"]).metrics
                == sample_record().metrics
            )

    def test_the_same_run_is_stored_once_and_one_that_nothing_identifies_each_time(
        self, tracker, tmp_path
    ):
        first, again, elsewhere = (self.kept(tracker, tmp_path / name)[0] for name in "aab")
        assert first == again != elsewhere
        run, record = RunInfo("anonymous", {}), sample_record(fingerprint="")
        assert tracker.store(run, record, {}) != tracker.store(run, record, {})

    def test_numbers_that_are_not_finite_odd_names_and_long_values_do_not_lose_the_run(
        self, tracker, tmp_path
    ):
        config: Facts = {
            "dataset": {
                "kinds": {"prix (€) / m²": "continuous", "../x": "text", "a" * 400: "b"},
                "path": "p" * 9000,
            }
        }
        config["many"] = {f"field{i}": i for i in range(350)}
        odd: Facts = {
            "config": config,
            "metrics": {f"error_of class {i}%": 0.1 for i in range(1200)},
            "notes": ("n" * 9000,),
        }
        numbers = {
            "test_roc_auc": math.nan,
            "gain": math.inf,
            "loss": -math.inf,
            "huge": 1e308,
            "train_error": 0.0,
        }
        solution = Solution(None, 0.5, -math.inf, Status.feasible)
        for place, record in enumerate(
            (sample_record(metrics=numbers, solution=solution), sample_record(**odd))
        ):
            run_id = tracker.store(
                sample_run(tmp_path / str(place)), record, {"record.json": record.to_json()}
            )
            assert run_id and self.holds(tracker, run_id, {"record.json": record.to_json()})

    def test_a_run_that_failed_is_kept_with_its_error_also_when_it_finishes_later(
        self, tracker, tmp_path
    ):
        run, error = sample_run(tmp_path), "DataError: column 'x' holds infinite values; …"
        failure = tracker.store_failure(run, error)
        assert failure != self.kept(tracker, tmp_path)[0]
        assert tracker.store_failure(run, error) == failure
        assert not hasattr(tracker, "fetch") or any(
            "infinite values" in text for text in tracker.fetch(failure).values()
        )

    def test_a_sweep_can_end_in_each_way_without_a_run_too_and_keeps_its_runs(
        self, tracker, tmp_path
    ):
        for status in ("FINISHED", "FAILED", "KILLED"):
            tracker.close_sweep(tracker.open_sweep("nothing", {}), {}, status)
            sweep = tracker.open_sweep("cart on iris", {"sweep": ["seed=0,1"], "seed": 0})
            assert isinstance(sweep, str) and sweep
            found = [
                self.kept(tracker, tmp_path / status / str(seed), seed, sweep)[0] for seed in (0, 1)
            ]
            tracker.close_sweep(sweep, {"valid_error": 0.02, "undefined": math.nan}, status)
            assert len({*found, sweep}) == 3
            assert not hasattr(tracker, "fetch") or all(
                "record.json" in tracker.fetch(run_id) for run_id in found
            )

    def test_what_is_put_on_a_sweep_is_found_there_again(self, tracker):
        skip_if(
            not hasattr(tracker, "annotate"), "this tracker takes no words and files for a sweep"
        )
        sweep = tracker.open_sweep("a study", {})
        tracker.annotate(sweep, "**verdict: PASS**", {"cells.csv": "a,b\n1,2\n"})
        tracker.close_sweep(sweep, {}, "FINISHED")
        assert self.holds(tracker, sweep, {"cells.csv": "a,b\n1,2\n"})

    def test_a_run_that_is_not_there_is_refused_in_one_line(self, tracker):
        skip_if(not hasattr(tracker, "fetch"), "this tracker only writes")
        with pytest.raises(TrackerError, match=r"^[^\n]*no-such-run[^\n]*$"):
            tracker.fetch("no-such-run")

    def test_the_records_of_finished_runs_are_given_back_together(self, tracker, tmp_path):
        skip_if(not hasattr(tracker, "records"), "this tracker gives no records back together")
        sweep = tracker.open_sweep("two", {})
        kept = {
            run_id: files["record.json"]
            for run_id, files in (self.kept(tracker, tmp_path, seed, sweep) for seed in (4, 5))
        }
        failure = tracker.store_failure(sample_run(tmp_path / "f", 6, sweep), "DataError: …")
        tracker.close_sweep(sweep, {}, "FINISHED")
        found = tracker.records()
        assert {run_id: found.get(run_id) for run_id in kept} == kept
        assert failure not in found and sweep not in found

    def test_runs_are_listed_with_what_they_were_asked_for_and_without_parents(
        self, tracker, tmp_path
    ):
        skip_if(not hasattr(tracker, "runs"), "this tracker lists no runs")
        sweep = tracker.open_sweep("one", {})
        run_id, _ = self.kept(tracker, tmp_path, 7, sweep)
        failure = tracker.store_failure(sample_run(tmp_path / "f", 8, sweep), "DataError: …")
        tracker.close_sweep(sweep, {}, "FINISHED")
        found = {one["id"]: one for one in tracker.runs()}
        assert sweep not in found
        assert [found[one]["status"] for one in (run_id, failure)] == ["FINISHED", "FAILED"]
        assert found[run_id]["sweep"] == sweep and found[run_id]["start"] > 0
        assert found[run_id]["params"]["method"] == "cart"
        assert found[run_id]["metrics"]["depth"] == 3.0

    def test_runs_given_together_are_kept_as_each_alone(self, tracker, tmp_path):
        skip_if(not hasattr(tracker, "store_all"), "this tracker takes one run at a time")
        first, files = self.kept(tracker, tmp_path / "0", 0)
        others = [
            (sample_run(tmp_path / str(seed), seed), sample_record(seed), dict(files))
            for seed in (0, 1, 2)
        ]
        found = list(tracker.store_all(others))
        assert found[0] == first and len(set(found)) == 3
        assert tracker.store_all(others) == found
        assert all(self.holds(tracker, run_id, files) for run_id in found[1:])

    def test_a_worker_s_copy_writes_to_the_same_store(self, tracker, tmp_path):
        copy = pickle.loads(pickle.dumps(tracker))
        run_id, files = self.kept(copy, tmp_path, 3)
        assert self.holds(tracker, run_id, files)
        if hasattr(copy, "close"):
            copy.close()
