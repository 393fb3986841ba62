"""Studies: many runs from one file, none done twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.tracker_lines import lines_of

from arboretum.runs.folder import read_run
from arboretum.runs.sweeps import locked

STUDY = """\
about: two kinds of trees
methods:
  cart: {}
  shallow: {method: cart, stopping.standard.max_depth: 1}
  exact:
    method: exact
    solver: gosdt
    objective: accuracy
    objective.lam: 0.05
datasets:
  toy: {}
prices:
  unit: {}
  dear: {cost: random, cost.high: 5}
seeds: [1, 2]
all: {split: holdout}
compare: {control: cart, measure: [test_error, expected_cost]}
"""


@pytest.fixture
def study(call, here: Path):
    """Do a study of a file's text in this process."""

    def do(text: str, *words: str):
        (here / "mine.yaml").write_text(text)
        return call("study", "mine.yaml", "--plugin", "toy.py", "--plugin", "lines.py", *words)

    return do


def records(here: Path, name: str = "mine") -> list[dict]:
    found = sorted((here / "outputs" / "study" / name).glob("*/record.json"))
    return [json.loads(path.read_text()) for path in found]


def test_families_are_mixed_and_every_combination_is_a_run(study, here):
    result = study(STUDY, "tracker=none")
    assert result.status == 0, result.err
    assert "12 of 12; " in result.out and "runs      12" in result.out
    found = records(here)
    named = {
        (r["config"]["study"]["method"], r["config"]["study"]["cost"], r["seed"]) for r in found
    }
    assert named == {
        (m, c, s) for m in ("cart", "shallow", "exact") for c in ("unit", "dear") for s in (1, 2)
    }
    by_name = {r["config"]["study"]["method"]: r["config"] for r in found}
    assert by_name["shallow"]["stopping"]["standard"]["max_depth"] == 1
    assert by_name["exact"]["objective"]["lam"] == 0.05 and "objective" not in by_name["cart"]


def test_names_of_the_file_are_what_tables_and_report_compare(study, call, here):
    result = study(STUDY, "tracker=none")
    rows = [line.split()[:3] for line in result.out.splitlines() if " toy " in line]
    assert sorted(rows) == sorted(
        [m, "toy", c] for m in ("cart", "shallow", "exact") for c in ("unit", "dear")
    )
    report = here / "outputs" / "study" / "mine" / "report"
    text = (report / "comparison.txt").read_text()
    assert "cart, exact and shallow on toy" in text and "Control: cart." in text
    assert "Expected cost" in text and (report / "comparison.html").is_file()
    listed = call("list", str(report.parent), "--where", "method=shallow and cost=dear")
    assert "2 of 12 runs" in listed.out and " shallow " in listed.out, listed.out


def test_what_is_finished_is_not_done_again_and_what_is_new_is_done(study, here):
    small = STUDY.replace("seeds: [1, 2]", "seeds: [1]")
    assert study(small, "tracker=lines").status == 0
    result = study(STUDY, "tracker=lines")
    assert "12 of 12, 6 finished before" in result.out, result.out
    assert len(records(here)) == 12
    stored = [line["folder"] for line in lines_of(here) if line["call"] == "store"]
    assert len(stored) == len(set(stored)) == 12
    parents = [line["name"] for line in lines_of(here) if line["call"].endswith("open_sweep")]
    assert parents == ["study mine"] * 2


def test_a_run_that_its_budget_cut_short_is_finished_under_that_budget(study, here):
    cut = STUDY.replace("seeds: [1, 2]", "seeds: [1]\nbudget: {seconds: 1.0e-9}")
    assert study(cut, "tracker=none").status == 0
    assert any("cut short" in " ".join(one["notes"]) for one in records(here))
    again = study(cut, "tracker=none")
    assert "6 of 6, 6 finished before" in again.out, again.out
    more = study(cut.replace("1.0e-9", "60"), "tracker=none")
    assert more.status == 0 and "finished before" not in more.out


def test_two_at_once_in_one_folder_are_refused_and_in_two_lose_nothing(study, command, here):
    small = STUDY.replace("seeds: [1, 2]", "seeds: [1]")
    words = ("--plugin", "toy.py", "--plugin", "lines.py", "tracker=lines")
    first = study(small, "tracker=lines")
    assert first.status == 0
    with locked(here / "outputs" / "study" / "mine"):
        refused = study(small, "tracker=lines").error
        assert refused.startswith(f"another command works in sweep folder '{here}/outputs/study/")
        assert refused.endswith("(of a study: --out FOLDER)")
        beside = command.run("study", "mine.yaml", *words, "--out", "beside")
    assert beside.status == 0 and "6 of 6, 6 finished before" in beside.out, beside.err
    assert study(small, "tracker=lines").status == 0, "it is held as long as somebody works"
    stored = [line["folder"] for line in lines_of(here) if line["call"] == "store"]
    assert len(stored) == len(set(stored)) == 12


def test_a_changed_plugin_is_another_run(study, here):
    study(STUDY, "tracker=none")
    source = (here / "toy.py").read_text()
    (here / "toy.py").write_text(source.replace("0.5 * x[:, 1]", "0.4 * x[:, 1]"))
    result = study(STUDY, "tracker=none")
    assert result.status == 0 and "finished before" not in result.out


def test_a_changed_file_of_data_is_said_and_done_again(study, here):
    (here / "t.csv").write_text("a,y\n" + "".join(f"{i},{'np'[i > 19]}\n" for i in range(40)))
    mine = "mine: {dataset: file, dataset.path: t.csv, dataset.target: y}"
    text = STUDY.replace("toy: {}", mine).replace("seeds: [1, 2]", "seeds: [1]")
    assert "changed" not in study(text, "tracker=none").err
    (here / "t.csv").write_text((here / "t.csv").read_text().replace("0,n", "0,p", 1))
    result = study(text, "tracker=none")
    assert result.status == 0 and "6 of 6; " in result.out
    (line,) = (line for line in result.err.splitlines() if "warning" in line)
    where = here / "outputs" / "study" / "mine"
    assert f"warning: data set t has changed since its runs in '{where}' (checksum " in line
    assert [row.split()[-2] for row in result.out.splitlines() if " mine " in row] == ["1"] * 6, (
        "the table is of the new data"
    )
    again = study(text, "tracker=none")
    assert "6 finished before" in again.out and "changed" not in again.err


def test_two_names_of_one_piece_of_work_are_kept_under_both(study, here):
    twice = STUDY.replace("  shallow: {", "  same: {method: cart, cost.name: unit}\n  shallow: {")
    twice = twice.replace(", cost.name: unit", ", stopping.standard.max_depth: null")
    assert study(twice, "tracker=none").status == 0
    found = [r for r in records(here) if r["config"]["study"]["method"] in ("cart", "same")]
    assert len(found) == 8


def test_a_dry_run_checks_every_run_and_does_nothing(study, here):
    result = study(STUDY, "--dry-run")
    assert result.status == 0 and "runs      12" in result.out
    assert not (here / "outputs").exists() and not (here / "mlflow.db").exists()
    wrong = study(STUDY.replace("objective.lam: 0.05", "objective.lam: -1"), "--dry-run")
    assert wrong.status == 1 and "mine.yaml, line 9: " in wrong.error


def test_what_will_be_refused_is_said_before_anything_is_done(study, here):
    text = STUDY.replace("cart: {}", "c45: {encoder.missing: category}").replace(
        "control: cart", "control: shallow"
    )
    result = study(text, "tracker=none", "--dry-run")
    assert result.status == 0 and not records(here)
    assert "4 of 12 runs will fail: method=c45: missing=fractional and enc" in result.err, (
        result.err
    )
    assert result.err.count("will fail") == 1


def test_the_first_failure_ends_a_study_where_that_is_asked(study, here):
    failing = STUDY.replace("  toy: {}", "  toy: {dataset.fails_at: 1}")
    result = study(failing, "tracker=none", "--stop-at-first-failure")
    assert result.status == 1 and "1 of 12, 1 failed" in result.out
    assert "no report: " in result.err
    result = study(failing, "tracker=none")
    assert result.status == 1 and "12 of 12, 6 failed" in result.out
    assert "seed 1 was told to fail" in result.err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("datasets:", "datsets:", "line 10: unknown key of a study 'datsets'; did you mean 'datas"),
        ("max_depth: 1", "max_deph: 1", "line 4: "),
        ("solver: gosdt", "solver: godst", "line 7: "),
        ("  toy: {}", "  tou: {}", "line 11: "),
        ("seeds: [1, 2]", "seeds: [1, 1]", "line 15: seeds name 1 twice"),
        ("seeds: [1, 2]", "seeds: soon", "line 15: seeds must be how many there are"),
        ("seeds: [1, 2]", "seeds: 0", "line 15: seeds must be how many there are (1 and more)"),
        ("all: {", "all: {method: cart, ", "line 16: method is set by all and by methods; one of"),
        ("all: {", "goal: test_error\nall: {goal: depth, ", "goal is set by all and by goal; one"),
        ("all: {split: holdout}", "all: [holdout]", "line 16: all is KEY: VALUE"),
        ("control: cart", "controll: cart", "line 17: unknown option of compare 'controll'"),
        ("  dear: {cost: random,", "  dear: {seed: 3, cost: random,", "seed is set by "),
        ("about:", "about: [\nx:", "mine.yaml: while parsing"),
        ("prices:", "inner: 1\nprices:", "inner is how many folds"),
        ("  toy: {}", "  toy: {}\n  toy: {}", "line 12: toy stands in line 11, too"),
        ("prices:", "methods: {}\nprices:", "line 12: methods stands in line 2, too"),
        ("  shallow:", "  on:", "line 2: methods: YAML reads a name here as True; put it into"),
        ("all:", "budget: {second: 3}\nall:", "line 16: unknown parameter 'budget.second'; did"),
        ("all:", "budget: {seconds: 3 s}\nall:", "line 16: budget.seconds must be a number"),
        ("all:", "goal: test_eror\nall:", "line 16: goal: unknown metric 'test_eror'; did you"),
        ("all: {split: holdout}", "folds: 1", "line 16: split.folds must be ≥ 2; got 1"),
        (
            "control: cart",
            "control: carrt",
            "line 17: unknown control 'carrt'; did you mean 'cart'",
        ),
        ("test_error,", "test_eror,", "line 17: unknown metric 'test_eror'; did you mean 'test_e"),
        (
            "compare: {",
            "compare: {test: [nemeni], ",
            "unknown test 'nemeni'; did you mean 'nemenyi'",
        ),
        ("compare: {", "compare: {alpha: low, ", "line 17: alpha must be a number in (0, 1); got"),
    ],
)
def test_a_mistake_is_named_with_its_line(study, old, new, said):
    assert old in STUDY
    result = study(STUDY.replace(old, new), "--dry-run")
    assert result.status == 1 and said in result.error


def test_two_methods_that_are_the_same_runs_are_refused(study):
    result = study(STUDY.replace("  cart: {}", "  cart: {}\n  also: {method: cart}"), "--dry-run")
    assert result.status == 1 and "methods cart and also are the same runs" in result.error


def test_an_unknown_study_names_those_that_are_there(call):
    result = call("study", "first_lok")
    assert result.status == 1 and "did you mean 'first_look'" in result.error


def test_a_study_of_a_lab_is_found_and_compared_by_name(command, here):
    (here / "conf" / "study").mkdir(parents=True)
    (here / "conf" / "study" / "ours.yaml").write_text(
        "methods: [cart, id3]\ndatasets: [toy]\nseeds: 3\n"
    )
    (here / "arboretum.yaml").write_text("conf: conf\nplugins: [toy.py]\n")
    home = {"XDG_CONFIG_HOME": str(here / "config")}
    assert command.run("trust", env=home).status == 0
    result = command.run("study", "ours", "tracker=none", env=home)
    assert result.status == 0, result.err
    compared = command.run("compare", "ours", "--format", "csv", env=home)
    assert compared.status == 0 and "toy,cart" not in compared.err, compared.err
    assert "data set,cart,cart standard error,id3" in compared.out
    record = read_run(here / "outputs" / "study" / "ours" / "0")
    assert record.config["study"] == {"dataset": "toy", "method": "cart"}


LEARNING = """\
methods:
  tuned: {method: cart}
datasets: [toy]
fractions: [0.5, 1]
seeds: 2
folds: 2
inner: kfold 3
tune: {stopping.standard.max_depth: [1, 3]}
budget: {seconds: 60}
"""


def test_learning_curves_and_tuning_within_training_folds(study, here):
    result = study(LEARNING, "tracker=none")
    assert result.status == 0, result.err
    found = records(here)
    assert len(found) == 8 and "train_fraction" in result.out
    assert {r["config"]["train_fraction"]: r["data"]["n_train"] for r in found} == {
        0.5: 10,
        1.0: 20,
    }
    for record in found:
        assert record["config"]["tuner"]["inner"] == 3
        assert any("tuner grid" in note for note in record["notes"])
        assert record["config"]["budget"]["seconds"] == 60.0
    assert {record["metrics"]["kept_max_depth"] for record in found} <= {1.0, 3.0}


def test_a_curve_is_compared_share_by_share(study, call):
    study(LEARNING, "tracker=none")
    result = call("compare", "mine", "--by", "train_fraction")
    assert result.status == 0, result.err
    assert "0.5 and 1" in result.out
