"""``arboretum compare``: what is compared, what is said, what is refused, what is written."""

from __future__ import annotations

import csv
import io
import json
import math
import xml.etree.ElementTree as ET

import pytest
from made_runs import DATASETS, keep, made_record, made_study

from arboretum.cli.compared import page_of_sweep
from arboretum.cli.main import main as arboretum_main
from arboretum.model.record import Certificate, Certified, Checked, Record, Solution, Status
from arboretum.plugin.discovery import load_registry


@pytest.fixture
def study(here):
    return made_study(here / "study")


def tables_of(text: str) -> dict[str, list[dict[str, str]]]:
    """Caption → rows, of what ``--format csv`` prints."""
    found = {}
    for part in text.split("\n# "):
        caption, _, rest = part.removeprefix("# ").partition("\n")
        found[caption] = list(csv.DictReader(io.StringIO(rest.strip() + "\n")))
    return found


def compared(call, *argv: str) -> dict[str, list[dict[str, str]]]:
    result = call("compare", *argv, "--format", "csv")
    assert result.status == 0, result.err
    return tables_of(result.out)


def test_a_study_is_told_in_means_ranks_tests_and_trade_offs(study, call):
    out = call("compare", "study", "--control", "cart").out
    assert out.startswith("cart, id3 and random on 8 data sets")
    assert "120 runs, compared by method, repeated over 5 seeds." in " ".join(out.split())
    titles = ("Friedman", "Nemenyi", "Wilcoxon–Holm", "Bayesian signed-rank", "Bonferroni–Dunn")
    for title in (*titles, "Corrected resampled t", "Bayesian correlated t"):
        assert f"\n{title}: which" in out or f"\n{title}: does" in out, title
    assert "Trade-offs" in out and "Some methods differ" in out
    assert all(len(line) <= 100 for line in out.splitlines())


def test_means_errors_ranks_and_wins_are_those_of_the_runs(study, call):
    tables = compared(call, "study")
    means = tables["Mean test error ± standard error; the best of a data set is marked"]
    assert [row["data set"] for row in means] == sorted(DATASETS)
    wins = {
        row["method"]: row
        for row in tables[
            "Data sets on which the method of the row is better/equal/worse, by means"
        ]
    }
    ranks = {row["method"]: row for row in tables["Methods by average rank over 8 data sets"]}
    better = sum(float(row["cart"]) < float(row["id3"]) for row in means)
    assert wins["cart"]["id3"] == f"{better}/0/{8 - better}" and wins["cart"]["random"] == "8/0/0"
    assert float(ranks["random"]["average rank"]) == 3.0
    assert float(ranks["cart"]["mean test error"]) == pytest.approx(
        math.fsum(float(row["cart"]) for row in means) / 8
    )
    assert all(0 < float(row["cart standard error"]) < 0.02 for row in means)


def test_the_tests_are_told_apart_that_find_something_from_those_that_do_not(study, call):
    tables = compared(call, "study", "--rope", "0.05")
    (ranks,) = [rows for caption, rows in tables.items() if "data set like these" in caption]
    said = {(row["first"], row["second"]): row for row in ranks}
    assert said["cart", "random"]["better"] == "cart"
    assert float(said["cart", "id3"]["P(alike)"]) > 0.95 and not said["cart", "id3"]["better"]
    counts = tables["Data sets on which one of a pair is significantly better"]
    assert {"first": "cart", "second": "random"}.items() <= counts[1].items()
    assert counts[1]["first better"] == "8"


def test_everything_is_written_to_a_folder_and_the_page_is_whole(study, call, here):
    more = ("--measure", "test_error,expected_cost", "--control", "cart")
    result = call("compare", "study", *more, "--out", "report")
    assert result.status == 0 and "kept in report" in result.err
    names = {path.name for path in (here / "report").iterdir()}
    assert {"comparison.html", "comparison.md", "comparison.txt", "test_error_means.csv"} <= names
    assert {"test_error_nemenyi.svg", "trade_offs.svg", "expected_cost_means.tex"} <= names
    assert result.out == (here / "report" / "comparison.txt").read_text()
    page = (here / "report" / "comparison.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org/", "") and "https://" not in page
    assert "src=" not in page and "@import" not in page and page.count("<svg") == 5
    ids = [part.partition('"')[0] for part in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids)), "no two elements have the same name"
    for name in names:
        if name.endswith(".svg"):
            ET.fromstring((here / "report" / name).read_text())
    table = (here / "report" / "test_error_means.tex").read_text()
    assert table.count("{") == table.count("}") and r"\toprule" in table and r"\textbf{" in table
    assert "](test_error_nemenyi.svg)" in (here / "report" / "comparison.md").read_text()


@pytest.mark.parametrize("form", ["text", "csv", "latex", "markdown", "html"])
def test_each_form_is_printed_and_names_of_methods_cannot_break_it(form, here, call):
    made_study(here / "odd", {"a_b & <i>": 0.1, "100%|x": 0.2}, DATASETS[:3], 2)
    result = call("compare", "odd", "--format", form)
    assert result.status == 0, result.err
    shown = {
        "latex": r"a\_b \& \textless{}i\textgreater{}",
        "html": "a_b &amp; &lt;i&gt;",
        "markdown": "100%\\|x",
    }
    assert shown.get(form, "a_b & <i>") in result.out
    if form == "html":
        assert "<i>" not in result.out


def test_another_key_is_compared_and_what_else_varies_is_averaged_and_said(here, call):
    for number, (method, depth, seed) in enumerate(
        (m, d, s) for m in ("cart", "id3") for d in (2, 4) for s in (1, 2)
    ):
        config = {"stopping": {"standard": {"max_depth": depth}}}
        error = 0.1 * depth + 0.01 * seed
        keep(here / "s" / str(number), made_record(method, "iris", seed, error, config=config))
    said = " ".join(call("compare", "s").out.split())
    assert "Averaged over stopping.standard.max_depth (2, 4), which every method has" in said
    by = call("compare", "s", "--by", "stopping.standard.max_depth")
    assert "2 and 4 on iris" in by.out and "Averaged over method (cart, id3)" in by.out
    both = call("compare", "s", "--by", "method,stopping.standard.max_depth")
    assert both.out.startswith("cart max_depth=2, cart max_depth=4, id3 max_depth=2")


def test_a_plugin_brings_a_test_and_fields_of_tests_are_given_by_name(study, call, here):
    (here / "mine.py").write_text(
        "import attrs\nfrom arboretum.api import Section, param\n"
        '@attrs.frozen\nclass Mine:\n    """Says how many draws it was given."""\n'
        '    kind, name, paper, capabilities = "comparison", "mine", "", ()\n'
        '    asks = "overall"\n    most: int = param(1, "a number")\n'
        "    def judge(self, repeats, terms):\n"
        '        return Section("Mine", [f"most {self.most}, alpha {terms.alpha}."])\n'
    )
    argv = ("compare", "study", "--plugin", "mine.py", "--alpha", "0.01")
    assert "most 1, alpha 0.01." in call(*argv).out
    alone = call(*argv, "--test", "mine", "comparison.mine.most=7").out
    assert "most 7" in alone and "Friedman" not in alone
    assert "did you mean 'most'" in call(*argv, "comparison.mine.mots=7").error


# -- what is not as it should be -------------------------------------------------------------------


def test_what_is_missing_is_said_with_the_reason(here, call):
    study = made_study(here / "study", seeds=2)
    for number, folder in enumerate(sorted(study.iterdir(), key=lambda path: int(path.name))):
        if number in (2, 5):  # random on iris
            (folder / "record.json").unlink()
            (folder / "error.txt").write_text(
                "kernel 'x' died\njob: method=random dataset=iris seed=0\n"
            )
        if number == 6:
            (folder / "record.json").write_text("{")
    result = call("compare", "study")
    assert result.status == 0
    assert "arboretum: warning: left out: " in result.err and "/6" in result.err
    said = " ".join(result.out.split())
    assert "no run: kernel 'x' died" in said and "What is missing" in said
    assert "cart and id3 on wine share 1 of 2" in said
    assert "ranked last there: random on iris" in said


def test_runs_of_two_tasks_are_compared_by_a_measure_each(here, call):
    made_study(here / "s", datasets=DATASETS[:3], seeds=2)
    for number, (method, seed) in enumerate((m, s) for m in ("cart", "id3") for s in (0, 1)):
        record = made_record(method, "cars", seed, 0.1, metrics={"test_mse": 2.0 + seed})
        del record.metrics["test_error"]
        keep(here / "s" / f"r{number}", record)
    out = call("compare", "s").out
    assert "Test error (lower is better)" in out and "Test mse (lower is better)" in out
    assert "test error is not measured in 2 of 2 runs" in out


def test_results_that_are_not_numbers_and_ties_everywhere_are_no_errors(here, call):
    for number, (method, dataset, seed) in enumerate(
        (m, d, s) for m in ("cart", "id3", "c45") for d in DATASETS for s in (0, 1)
    ):
        error = math.nan if (method, dataset) == ("c45", "iris") else 0.25
        keep(here / "s" / str(number), made_record(method, dataset, seed, error))
    result = call("compare", "s", "--control", "cart")
    assert result.status == 0
    said = " ".join(result.out.split())
    assert "No difference is found" in said and "test error is not a number in 2 of 2 runs" in said
    assert "none" in said and "0 of" in said


def test_too_little_for_a_test_is_said_and_the_others_go_on(here, call):
    made_study(here / "one", datasets=("iris",), seeds=1)
    out = " ".join(call("compare", "one").out.split())
    assert "Tests that cannot be done" in out
    assert "wilcoxon_holm is left out" in out and "add seeds or folds" in out
    assert "cart, id3 and random on iris" in out


def test_different_folds_per_method_are_unpaired_and_said(here, call):
    for seed in (1, 2, 3):
        keep(here / "s" / f"a{seed}", made_record("cart", "iris", seed, 0.1 * seed))
        keep(here / "s" / f"b{seed}", made_record("id3", "iris", seed + 10, 0.2 * seed))
    out = " ".join(call("compare", "s").out.split())
    assert "cart and id3 on iris share 0 of 6" in out
    assert "2 or more blocks that both methods have, not 0" in out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("study", "--measure", "test_eror"), "did you mean 'test_error'"),
        (("study", "--measure", "timing.fitt"), "did you mean 'fit'"),
        (("study", "--measure", "valid_error"), "unknown metric of these runs 'valid_error'"),
        (("study", "--control", "crat"), "did you mean 'cart'"),
        (("study", "--by", "methd"), "did you mean 'method'"),
        (("study", "--by", "split"), "one method cannot be compared; these vary: method"),
        (("study", "--test", "nemeny"), "did you mean 'nemenyi'"),
        (("study", "--alpha", "2"), "--alpha 2 is no level of significance"),
        (("study", "--rope", "wide"), "'wide' is no number"),
        (("study", "--rope", "max_cost=1"), "'max_cost' is not compared"),
        (("study", "--rope", "-1"), "a width is 0 or more"),
        (("study", "tracker.uri=x"), "is for --experiment"),
        (("study", "--experiment", "x"), "not both"),
        ((), "name the folders of runs"),
        (("nowhere",), "there is no folder 'nowhere'"),
        (("study/0",), "name the folders of another method"),
        (("--experiment", "x", "tracker=none"), "tracker=none keeps nothing"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(argv, words, study, call):
    result = call("compare", *argv)
    assert result.status == 1 and words in result.error, result.err


def test_a_folder_without_runs_is_refused(here, call):
    (here / "empty").mkdir()
    assert "there is no run in 'empty'" in call("compare", "empty").error


# -- what is proven --------------------------------------------------------------------------------


def proven(method: str, value: float, bound: float, seed: int = 0, lam: float = 0.01):
    """A run of a solver, with its proven bound."""
    status = Status.optimal if bound >= value else Status.feasible
    solution = Solution(None, value, bound, status, checked=Checked.verified)
    choices = {"method": method, "dataset": "iris", "objective": "accuracy", "split": "holdout"}
    config = {"choices": choices, "objective": {"name": "accuracy", "lam": lam}}
    return made_record(method, "iris", seed, 0.1, config=config, solution=solution)


def test_what_is_provably_better_is_told_apart_from_what_is_significantly_better(here, call):
    keep(here / "s" / "0", proven("gosdt", 0.20, 0.20))
    keep(here / "s" / "1", proven("shallow", 0.30, 0.25))
    keep(here / "s" / "2", proven("rounded", 0.20 + 1e-15, 0.10))
    out = call("compare", "s").out
    assert "Proven on these rows" in out and "is not being significantly better" in " ".join(
        out.split()
    )
    tables = compared(call, "s")
    ratios = {
        row["method"]: row
        for row in tables["How far trees are from the proven minimum (ratio: mean, worst)"]
    }
    assert ratios["gosdt"]["proven optimal"] == "1" and ratios["shallow"]["proven optimal"] == "0"
    assert float(ratios["shallow"]["worst ratio at most"]) == pytest.approx(1.2)
    pairs = {
        (row["first"], row["second"]): row
        for caption, rows in tables.items()
        if caption.startswith("Runs on the same rows")
        for row in rows
    }
    best = pairs["gosdt", "shallow"]
    assert (best["better/equal/worse"], best["beyond reach"]) == ("1/0/0", "1/0")
    tie = pairs["gosdt", "rounded"]
    assert (tie["better/equal/worse"], tie["beyond reach"]) == ("0/1/0", "0/0")


def test_other_objectives_seeds_and_rows_are_not_held_against_each_other(here, call):
    keep(here / "s" / "0", proven("gosdt", 0.20, 0.20))
    keep(here / "s" / "1", proven("gosdt", 0.10, 0.10, seed=1))
    keep(here / "s" / "2", proven("other", 0.30, 0.30, lam=0.1))
    keep(here / "s" / "3", proven("other", 0.30, 0.30, seed=1, lam=0.1))
    out = call("compare", "s").out
    assert "How far trees are" in out and "beyond reach" not in out


def test_certified_complexities_are_compared_where_the_leaf_rule_is_the_same(here, call):
    for number, (method, value, delta) in enumerate(
        [("cart", 3.0, 0.0), ("id3", 2.5, 0.0), ("loose", 1.0, 0.5)]
    ):
        rule = {"min_split": 2, "theta": 0.0, "delta": delta, "min_objects": 0}
        one = Certificate(
            {"name": "subtable_dp"}, rule, {"expected_cost": Certified(value, 2.5, 2.5)}
        )
        if method == "loose":
            one = Certificate({"name": "x"}, rule, {"expected_cost": Certified(1.0, 1.0, 1.0)})
        keep(here / "s" / str(number), made_record(method, "iris", certificate=one))
    tables = compared(call, "s")
    (rows,) = [rows for caption, rows in tables.items() if caption.startswith("Runs on the same")]
    assert [(row["first"], row["second"], row["better/equal/worse"]) for row in rows] == [
        ("cart", "id3", "0/0/1")
    ]


def test_the_help_names_every_option(capsys):
    with pytest.raises(SystemExit):
        arboretum_main(["compare", "--help"])
    out = capsys.readouterr().out
    assert all(word in out for word in ("--by", "--measure", "--control", "--rope", "--out"))


# -- of sweeps -------------------------------------------------------------------------------------


def test_a_job_of_a_sweep_that_failed_is_found_again_by_what_it_was_asked_for(call, here):
    argv = ("--plugin", "toy.py", "dataset=toy", "tracker=none", "hydra.sweep.dir=s")
    more = ("-m", "method=cart,id3", "seed=1,2", "dataset.fails_at=2")
    assert call("run", *argv, *more).status == 1
    said = " ".join(call("compare", "s").out.split())
    assert "Jobs that failed" in said and "seed 2 was told to fail" in said
    assert (here / "s" / "1" / "error.txt").read_text().splitlines() == [
        "seed 2 was told to fail",
        "job: method=cart seed=2",
    ]


def test_the_parent_of_a_sweep_gets_the_report_where_settings_meet(call, here):
    argv = ("--plugin", "toy.py", "--plugin", "lines.py", "dataset=toy", "tracker=lines", "-m")
    assert call("run", *argv, "method=cart,id3", "seed=1,2,3", "hydra.sweep.dir=s").status == 0
    assert call("run", *argv, "seed=1,2", "hydra.sweep.dir=alone").status == 0
    calls = [json.loads(line) for line in (here / "lines.jsonl").read_text().splitlines()]
    first, second = (one["files"] for one in calls if one["call"] == "annotate")
    assert first == ["comparison.csv", "comparison.html", "comparison.svg"]
    assert "comparison.html" not in second


def test_runs_that_a_tracker_keeps_are_compared_as_those_of_folders(here, call):
    made_study(here / "study", {"cart": 0.1, "id3": 0.2}, ("iris", "wine"), 2)
    assert call("sync", "study", "tracker=mlflow", "tracker.experiment=a study").status == 0
    kept = call("compare", "--experiment", "a study")
    assert kept.status == 0, kept.err
    assert kept.out == call("compare", "study").out
    assert "keeps no finished run there" in call("compare", "--experiment", "another").error


def test_measures_of_plugins_are_compared_as_metrics_are(here, call):
    for number, (method, error, cost) in enumerate([("cart", 0.1, 3.0), ("id3", 0.2, 1.0)]):
        one = Certified(2.0 + error, 2.0, 2.0)
        rule = {"min_split": 2, "theta": 0.0, "delta": None, "min_objects": 0}
        proof = Certificate({"name": "x"}, rule, {"expected_cost": one, "depth": one})
        metrics = {"test_expected_cost": cost}
        keep(
            here / "s" / str(number),
            made_record(method, "iris", 0, error, metrics=metrics, certificate=proof),
        )
    asked = ("--measure", "total_cost,certified_ratio", "measure.total_cost.error_price=30")
    tables = compared(call, "s", *asked)
    best = " ± standard error; the best of a data set is marked"
    (costs,) = tables[f"Mean cost of tests + 30 per error{best}"]
    assert (float(costs["cart"]), float(costs["id3"])) == pytest.approx((6.0, 7.0))
    (ratios,) = tables[f"Mean expected cost ÷ proven bound{best}"]
    assert (float(ratios["cart"]), float(ratios["id3"])) == pytest.approx((1.05, 1.1))
    assert "did you mean 'total_cost'" in call("compare", "s", "--measure", "totl_cost").error


def test_what_a_tree_costs_by_a_complexity_of_a_plugin_is_a_measure_where_less_is_better(
    here, call
):
    (here / "mine.py").write_text(
        "import attrs\n@attrs.frozen\nclass Mine:\n"
        '    """Nobody\'s cost of a whole tree."""\n'
        '    kind, name, paper, capabilities = "complexity", "my_cost", "", ()\n'
        "    def leaf(self): return 1.0\n"
        "    def node(self, mass, price, children): return 1.0\n"
    )
    for number, (method, cost) in enumerate([("cart", 2.0), ("id3", 1.0)]):
        keep(here / "s" / str(number), made_record(method, "iris", metrics={"my_cost": cost}))
    argv = ("compare", "s", "--measure", "my_cost")
    assert "My cost (lower is better)" in call(*argv, "--plugin", "mine.py").out
    assert "unknown metric 'my_cost'" in call(*argv).error


def test_a_plugin_s_test_with_a_bug_is_named_and_keeps_no_sweep_from_being_closed(here, call):
    (here / "bug.py").write_text(
        "import attrs\n@attrs.frozen\nclass Bug:\n"
        '    """A test that divides by nothing."""\n'
        '    kind, name, paper, capabilities, asks = "comparison", "bug", "", (), "datasets"\n'
        "    def judge(self, repeats, terms): return 1 / 0\n"
    )
    argv = ("--plugin", "toy.py", "--plugin", "lines.py", "--plugin", "bug.py", "dataset=toy")
    more = ("tracker=lines", "-m", "method=cart,id3", "seed=1,2", "hydra.sweep.dir=s")
    result = call("run", *argv, *more)
    assert result.status == 0 and "the sweep has no report: " in result.err
    calls = [json.loads(line) for line in (here / "lines.jsonl").read_text().splitlines()]
    assert calls[-1]["call"] == "close_sweep" and calls[-1]["status"] == "FINISHED"
    alone = call("compare", "s", "--plugin", "bug.py")
    assert alone.status == 1 and "ZeroDivisionError" in alone.error and "bug" in alone.error


def test_a_search_with_a_setting_per_trial_has_no_report_of_hundreds_of_methods():
    def trial(number: int) -> Record:
        config = {"stopping": {"standard": {"max_depth": number}}}
        return made_record("cart", "iris", 0, 0.001 * number, config=config)

    registry, varied = load_registry(), ["stopping.standard.max_depth", "seed"]
    assert page_of_sweep([trial(n) for n in range(3)], varied, registry) is not None
    assert page_of_sweep([trial(n) for n in range(101)], varied, registry) is None
    assert page_of_sweep([trial(n) for n in range(3)], ["seed"], registry) is None
    assert page_of_sweep([], varied, registry) is None


def test_a_password_in_an_error_is_in_no_file(here, call):
    study = made_study(here / "study", seeds=2)
    (study / "0" / "record.json").unlink()
    error = "no answer from postgresql://me:opensesame@host/db"
    (study / "0" / "error.txt").write_text(f"{error}\njob: method=cart dataset=iris seed=0\n")
    result = call("compare", "study", "--out", "report")
    assert result.status == 0 and "no answer from" in result.out
    told = [result.out, *(path.read_text() for path in (here / "report").iterdir())]
    assert not any("opensesame" in text for text in told)
