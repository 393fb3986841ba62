"""Adaptive search: it finds what is best, goes on where it stopped, and says what it cannot
search.
"""

from __future__ import annotations

import json
import sys

import optuna
import pytest
from cli.fresh_launcher import LAUNCHER
from cli.tracker_lines import lines_of

from arboretum.config.execute import Session
from arboretum.runs.folder import read_run, run_folders

pytestmark = pytest.mark.slow  # starts searches with workers

SEARCH = ("-m", "hydra/sweeper=arboretum_optuna", "hydra.sweep.dir=s")
DEPTHS = "stopping.standard.max_depth=range(1,5)"
LEAVES = "stopping.standard.min_leaf=tag(log, int(interval(1,16)))"


def study_of(folder):
    return optuna.load_study(study_name="arboretum_optuna", storage=f"sqlite:///{folder}/study.db")


def settings_of(folder):
    """(number, state, parameters, values) of each trial."""
    return [(t.number, t.state.name, t.params, t.values) for t in study_of(folder).get_trials()]


def test_a_search_runs_its_trials_tells_the_mean_over_seeds_and_ends_with_the_table(toy, here):
    result = toy(
        *SEARCH, DEPTHS, LEAVES, "seed=1,2,3", "hydra.sweeper.n_trials=4", "goal=test_error"
    )
    assert result.status == 0, result.err
    assert "12 of 12" in result.out and "test error" in result.out.splitlines()[0]
    trials = study_of(here / "s").get_trials()
    assert [trial.number for trial in trials] == [0, 1, 2, 3]
    for trial in trials:
        records = [read_run(here / "s" / str(3 * trial.number + i)) for i in range(3)]
        assert [record.seed for record in records] == [1, 2, 3]
        limits = [record.config["stopping"]["standard"] for record in records]
        assert all(
            (one["max_depth"], one["min_leaf"]) == tuple(trial.params.values()) for one in limits
        )
        assert trial.value == pytest.approx(
            sum(record.metrics["test_error"] for record in records) / 3
        )


def test_a_search_finds_the_depth_at_which_a_tree_is_best(toy, here):
    found = toy(
        *SEARCH,
        "stopping.standard.max_depth=range(0,9)",
        "hydra.sweeper.n_trials=14",
        "goal=train_error",
        "split=none",
    )
    assert found.status == 0
    told = {
        trial.params["stopping.standard.max_depth"]: trial.value
        for trial in study_of(here / "s").get_trials()
    }
    assert study_of(here / "s").best_value == min(told.values()) == 0.0 and len(told) > 4


def test_a_search_that_was_interrupted_proposes_and_finds_what_it_would_have(
    toy, here, monkeypatch
):
    command = (*SEARCH, DEPTHS, LEAVES, "seed=1,2", "hydra.sweeper.n_trials=13")
    assert toy(*command, "hydra.sweep.dir=whole").status == 0
    done, execute = [], Session.execute

    def ended(self, resolved, *more, **options):
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(resolved.settings.seed)
        return execute(self, resolved, *more, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Session, "execute", ended)
        assert toy(*command).status == 130
    assert [state for _, state, _, _ in settings_of(here / "s")] == [
        "COMPLETE",
        "COMPLETE",
        "RUNNING",
    ]
    command = (*command, "skip_finished=true")  # as the line at the end says
    again = toy(*command)
    assert again.status == 0 and "22 of 22" in again.out, (
        "what was cut short, and what was not begun"
    )
    assert settings_of(here / "s") == settings_of(here / "whole")
    done_in = [
        {read_run(run).fingerprint for run in run_folders(here / name)} for name in ("s", "whole")
    ]
    assert done_in[0] == done_in[1], (
        "a setting that is proposed again is not run again, with skip_finished=true"
    )
    assert "0 of 0" in toy(*command).out
    more = toy(*command, "hydra.sweeper.n_trials=14")
    assert "2 of 2" in more.out and len(settings_of(here / "s")) == 14


def test_a_run_that_fails_is_a_failed_trial_and_stops_nothing(toy, here):
    result = toy(*SEARCH, "dataset.fails_at=2", "seed=1,2", DEPTHS, "hydra.sweeper.n_trials=2")
    assert result.status == 1 and "4 of 4, 2 failed" in result.out
    assert [state for _, state, _, _ in settings_of(here / "s")] == ["FAIL", "FAIL"]
    result = toy(
        *SEARCH,
        "impurity=variance,gini",
        "hydra.sweeper.sampler=random",
        "hydra.sweeper.n_trials=6",
        "hydra.sweep.dir=g",
    )
    states = {p["impurity"]: state for _, state, p, _ in settings_of(here / "g")}
    assert states == {"gini": "COMPLETE", "variance": "FAIL"}
    assert result.status == 1 and "variance" in result.err


def test_several_goals_are_traded_off_in_the_table_and_on_the_parent(call, here):
    result = call(
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "tracker=lines",
        *SEARCH,
        "split=none",
        "stopping.standard.max_depth=0,1,2,3",
        "hydra.sweeper.n_trials=4",
        "hydra.sweeper.goals=[train_error,expected_cost]",
    )
    assert result.status == 0, result.err
    study = study_of(here / "s")
    assert len(study.directions) == 2 and len(study.get_trials()) == 4
    best = {trial.params["stopping.standard.max_depth"] for trial in study.best_trials}
    shown = result.out[result.out.index("no other is better in all") :].splitlines()[2:]
    assert {
        line.split()[2].removeprefix("max_depth=") for line in shown if "max_depth=" in line
    } == best
    (page,) = [line["text"] for line in lines_of(here) if line["call"] == "annotate"]
    assert "no other is better in all" in page
    assert [line["call"] for line in lines_of(here)].count("open_sweep") == 1
    assert json.loads((here / "s" / "sweep.json").read_text())["traded"] == ["expected_cost"]
    assert "tracker" not in study.user_attrs["search"], "its fields may hold a password"


def test_both_samplers_are_seeded(toy, here):
    goals = "hydra.sweeper.goals=[valid_error,expected_cost]"
    for sampler in ("tpe", "random"):
        for folder in ("a", "b"):
            arguments = (
                DEPTHS,
                goals,
                f"hydra.sweeper.sampler={sampler}",
                "hydra.sweeper.n_trials=3",
                f"hydra.sweep.dir={sampler}{folder}",
            )
            assert toy(*SEARCH, *arguments).status == 0
        assert settings_of(here / f"{sampler}a") == settings_of(here / f"{sampler}b")


def test_a_launcher_gets_as_many_jobs_at_a_time_as_asked(command, here):
    package = here / "path" / "hydra_plugins" / "hydra_joblib_launcher"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "joblib_launcher.py").write_text(
        LAUNCHER.replace(
            "        returns = []\n",
            "        returns = []\n        print('batch of', len(job_overrides))\n",
            1,
        )
    )
    result = command.run(
        "run",
        "--plugin",
        "toy.py",
        "dataset=toy",
        "tracker=none",
        "hydra/launcher=fresh",
        *SEARCH,
        DEPTHS,
        "seed=1,2",
        "dataset.fails_at=2",
        "hydra.sweeper.n_trials=3",
        "hydra.sweeper.n_jobs=2",
        env={"PYTHONPATH": str(here / "path")},
    )
    assert result.status == 1, result.err
    assert [line for line in result.out.splitlines() if "batch" in line] == [
        "batch of 4",
        "batch of 2",
    ]
    assert [state for _, state, _, _ in settings_of(here / "s")] == ["FAIL"] * 3


def test_a_search_may_be_written_down(toy, here):
    (here / "conf" / "experiment").mkdir(parents=True)
    (here / "conf" / "experiment" / "depth.yaml").write_text(
        "# @package _global_\ndefaults:\n  - override /hydra/sweeper: arboretum_optuna\n"
        "hydra:\n  sweeper:\n    n_trials: 2\n    params:\n      "
        "stopping.standard.max_depth: range(1,5)\n      seed: 1,2\n"
    )
    result = toy("-m", "--config-dir", "conf", "+experiment=depth", "hydra.sweep.dir=s")
    assert result.status == 0, result.err
    assert "4 of 4" in result.out and len(settings_of(here / "s")) == 2


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["seed=1,2"], "has nothing to search; give a key several values"),
        ([DEPTHS, "dataset=toy,iris"], "errors on two data sets cannot be compared"),
        (
            ["stopping.standard.max_depth=range(-1,5)"],
            "stopping.standard.max_depth must be ≥ 0; got -1",
        ),
        (["stopping.standard.max_depht=range(1,5)"], "did you mean 'max_depth'?"),
        (["stopping.standard.max_depth=interval(1,3)"], "must be a whole number; got 1.6"),
        (["stopping.standard.max_depth=interval(1,3)"], "int(interval(…)) proposes whole numbers"),
        (["stopping.standard.max_depth=int(interval(5,1))"], "`low <= high` must hold"),
        (["stopping.standard.min_decrease=tag(log, interval(0,1))"], "low"),
        (["stopping.standard.max_depth=range(5,5)"], "names no value"),
        (
            [DEPTHS, "hydra.sweeper.sampler=annealing"],
            "must be one of tpe, random; got 'annealing'",
        ),
        ([DEPTHS, "hydra.sweeper.goals=[test_eror]"], "did you mean 'test_error'?"),
        ([DEPTHS, "hydra.sweeper.n_trials=0"], "hydra.sweeper.n_trials must be ≥ 1; got 0"),
        ([DEPTHS, "+hydra.sweeper._target_=os.system"], "names no code"),
        (["stopping.standard.max_depth=1,1"], "names 1 twice"),
    ],
)
def test_what_cannot_be_searched_is_said_in_one_line_before_anything_is_run(
    arguments, rule, toy, here
):
    result = toy(*SEARCH, *arguments)
    assert result.status == 1 and rule in result.error
    assert not (here / "s").exists()


def test_a_folder_keeps_the_study_it_holds(toy, here):
    # a study without any record
    assert toy(*SEARCH, DEPTHS, "hydra.sweeper.n_trials=1", "dataset.fails_at=0").status == 1
    before = settings_of(here / "s")
    other = toy(*SEARCH, LEAVES, "hydra.sweeper.n_trials=1", "skip_finished=true")
    assert other.status == 1 and "holds another search; it is kept" in other.error
    assert settings_of(here / "s") == before


def test_one_process_at_a_time_searches_in_a_folder(toy, here):
    command = (*SEARCH, DEPTHS, "hydra.sweeper.n_trials=1")
    assert toy(*command).status == 0
    note = json.loads((here / "s" / "sweep.json").read_text())
    other = {**note, "owner": f"elsewhere 1 {note['owner'].split()[2]} boot", "status": "RUNNING"}
    (here / "s" / "sweep.json").write_text(json.dumps(other))
    assert (
        "another process searches in 's' (elsewhere 1"
        in toy(*command, "hydra.sweeper.n_trials=2").error
    )
    assert len(settings_of(here / "s")) == 1


def test_without_optuna_the_extra_is_named(toy, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert "install it with pip install 'arboretum[optuna]'" in toy(*SEARCH, DEPTHS).error
    assert "hydra/sweeper=arboretum_optuna searches intervals" in toy("-m", LEAVES).error


def test_without_the_plugin_its_sweeper_is_an_unknown_name(toy, monkeypatch):
    monkeypatch.setenv("ARBORETUM_DISABLE", "arboretum_optuna")
    assert (
        "unknown hydra/sweeper 'arboretum_optuna'; known: basic; a plugin brings others "
        "(arboretum plugins" in toy(*SEARCH, DEPTHS).error
    )
    assert "searches intervals" not in toy("-m", LEAVES).error
    assert toy("-m", "stopping.standard.max_depth=1,2", "hydra.sweep.dir=grid").status == 0
