"""Bad input: one line that names the rule, the value and the way out; status 1; nothing left
behind.
"""

from __future__ import annotations

import pytest

REFUSED = {
    # unknown names, with the closest match
    "dataset=tyo": "unknown dataset 'tyo'; did you mean 'toy' (toy)? installed:",
    "method=crat": "unknown method 'crat'; did you mean 'cart' (arboretum_classic)?",
    "criterion=reductin": "did you mean 'reduction' (arboretum_classic)?",
    "stopping=[standard,pur]": "unknown stopping 'pur'; did you mean 'pure' (arboretum_basics)?",
    "sed=1": "unknown key 'sed'; did you mean 'seed'?",
    "criteron.lam=1": "unknown key 'criteron.lam'; did you mean 'criterion'?",
    "method.ordr=best": "method 'greedy': unknown parameter 'ordr'; did you mean 'order'?",
    "+method.ordr=best": "method 'greedy': unknown parameter 'ordr'; did you mean 'order'?",
    "stopping.standard.max_dept=3": (
        "stopping 'standard': unknown parameter 'max_dept'; did you mean 'max_depth'?"
    ),
    "budget.second=3": "unknown parameter 'budget.second'; did you mean 'budget.seconds'?",
    "goal=valid_eror": "goal: unknown metric 'valid_eror'; did you mean 'valid_error'?",
    "hydra/launcher=joblob": "unknown hydra/launcher 'joblob'",
    "hydra/launcher=submitt_local": "did you mean 'submitit_local'?",
    "hydra/launcher=rayy": "arboretum[ray]",
    "hydra/launcher=zzz": "packages bring joblib, submitit_local",
    "criterion=gini": (
        "unknown criterion 'gini'; gini is an impurity: say impurity=gini; installed: "
    ),
    "dataset=titanic": "unknown dataset 'titanic'; installed: ",
    # wrong types and bounds: field, rule, value
    "seed=abc": "seed must be a whole number; got 'abc'",
    "seed=1.5": "seed must be a whole number; got 1.5",
    "seed=null": "seed must be a whole number; got None",
    "seed=-1": "seed must be ≥ 0; got -1",
    "theta=2": "theta must be ≥ 0 and ≤ 1; got 2.0",
    "budget.seconds=-1": "budget.seconds must be ≥ 0; got -1.0",
    "certify=perhaps": "certify must be true or false; got 'perhaps'",
    "goal=[a]": "goal must be text; got ['a']",
    "dataset.seconds=-1": "dataset.seconds must be ≥ 0; got -1.0",
    "stopping.standard.max_depth=-1": "stopping.standard.max_depth must be ≥ 0; got -1",
    "stopping.standard.min_leaf=many": (
        "stopping.standard.min_leaf must be a whole number; got 'many'"
    ),
    "method.order=bset": (
        "method.order: unknown value 'bset'; did you mean 'best'? known: best, breadth, depth"
    ),
    "stopping.standard.max_depth=inf": (
        "stopping.standard.max_depth must be a whole number; got inf"
    ),
    "budget.memory_mb=1e400": "budget.memory_mb must be a whole number; got inf",
    "seed=nan": "seed must be a whole number; got nan",
    "seed=99999999999999999999": (
        "seed must be a whole number of at most 64 bits; got 99999999999999999999"
    ),
    "budget.seconds=nan": "budget.seconds must be a number; got nan",
    "cost=table cost.default=nan": "cost.default must be a number; got nan",
    "plugins=null": "plugins must be a list [a, b]; got None",
    "goal=null": "goal must be text; got None",
    "certifier=nosuch": "certifier: unknown certifier 'nosuch'; known: fronts, gosdt,",
    # a parameter without its component
    "max_depth=3": (
        "unknown key 'max_depth': a parameter lives under its component; say "
        "stopping.standard.max_depth=VALUE"
    ),
    "lam=3 method=ec45": (
        "unknown key 'lam': a parameter lives under its component; say criterion.lam=VALUE"
    ),
    # words that are no names
    "criterion=true": "a group takes the name of an option",
    "criterion=1e3": "a group takes the name of an option",
    "criterion=nan": "a group takes the name of an option",
    # options of Hydra that would change nothing
    "--config-name=x": "unrecognized arguments: --config-name=x",
    "--config-path x": "unrecognized arguments: --config-path",
    "--experimental-rerun=x": "unrecognized arguments: --experimental-rerun=x",
    # grammar
    "seed": "cannot read 'seed'",
    "seed=[1": "cannot read 'seed=[1'",
    "seed=1,2": "seed=1,2 names several values; add -m to run each",
    "dataset=bad/mil": "unknown dataset 'bad/mil'; installed:",
    "stopping=[a/b]": "unknown stopping 'a/b'; installed:",
    "+x=a~b": (
        "cannot read '+x=a~b' (some of its characters have a meaning of their own); expected "
        "KEY=VALUE; quote text"
    ),
    "criterion=[reduction,random]": (
        "criterion takes one option, not a list; got [reduction,random]"
    ),
    "stopping.max_depth=3": (
        "a field lives under its rule's name; say stopping.standard.max_depth=VALUE"
    ),
    "stopping.mass.theta=0.1": (
        "mass is not among stopping=[standard]; add stopping=[standard,mass]"
    ),
    "pruner.alpha=1": "pruner.alpha has nothing to belong to: pruner=none; choose pruner=NAME",
    "criterion.name=random": (
        "criterion.name is no parameter; choose a criterion with criterion=random"
    ),
    "method=null": "a run needs a method",
    "dataset=null": "a run needs a dataset",
    "dataset.fails_at=???": "dataset.fails_at has no value; say dataset.fails_at=VALUE",
    "-x": "unrecognized arguments: -x",
    "-c": "argument -c/--cfg: expected one argument (usage: arboretum run [-h]",
    "cost=table cost.prices=[1,2]": "cost.prices must be a mapping {name: value}; got [1, 2]",
    "stopping.standard.max_depth=[1]": (
        "stopping.standard.max_depth must be a whole number; got [1]"
    ),
    "hydra.job.chdir=x": "hydra.job.chdir does not take x (Value 'x' is not a valid bool",
    "hydra.run.dir=": "hydra.run.dir names no folder; say hydra.run.dir=FOLDER",
    "-m hydra.sweep.dir= seed=1,2": "hydra.sweep.dir names no folder; say hydra.sweep.dir=FOLDER",
    "-m seed=1,1,2": "seed=1,1,2 names 1 twice; say each value once: seed=1,2",
    "-m dataset.seconds=0 stopping=[pure],[pure]": "stopping=[pure],[pure] names [pure] twice",
    "-m seed=glob(*)": (
        "seed=glob(*): glob(…) chooses among the options of a group; say the values: seed=A,B"
    ),
    "-m seed=range(0)": "seed=range(0) names no value; say at least one: seed=A,B",
    "-m seed=range(3,1)": "seed=range(3,1) names no value",
    "-m method=glob(zz*)": "method=glob(zz*) names no value; say at least one: method=A,B",
    "-m seed=range(0,3),7": (
        "seed=range(0,3),7: range(…) stands alone; say each value, separated by commas"
    ),
    # a shared value that nobody follows
    "theta=0.1": (
        "theta=0.1 changes nothing: no component of this run follows it; leave it out, or "
        "choose one that does"
    ),
    "-m theta=0.1,0.2": "stopping=mass)",
    # arbitrary code
    "+x._target_=os.system": "x._target_='os.system' is refused",
    "+criterion._target_=os.system": "criterion._target_='os.system' is refused",
    "+hydra.callbacks.x._target_=os.system": "hydra.callbacks.x._target_='os.system' is refused",
    "hydra.sweeper._target_=os.system": "hydra.sweeper._target_='os.system' is refused",
    "+hydra.callbacks.x._target_=hydra.utils.get_object": "is refused",
    "+hydra.callbacks.x._target_=arboretum.plugin.discovery.import_file": "is refused",
    "+hydra.job_logging.handlers.x={class:os.system}": "is refused",
    # combinations
    "criterion=none": "method greedy needs a criterion; add criterion=NAME",
    "encoder=none": "a run needs an encoder; add encoder=NAME",
    "cost=null": "a run needs a cost; add cost=NAME",
    "impurity=none": "criterion reduction needs an impurity; add impurity=NAME",
    "dataset=diabetes method=id3": (
        "impurity entropy does classification, but the target 'progression' of diabetes"
    ),
}


@pytest.mark.parametrize("overrides", REFUSED)
def test_it_is_refused_in_one_line_with_the_way_out_and_leaves_nothing_behind(overrides, toy, here):
    before = sorted(here.rglob("*"))
    result = toy(*overrides.split(" "))
    assert (result.status, result.out) == (1, "")
    assert REFUSED[overrides] in result.error
    assert [path for path in sorted(here.rglob("*")) if path not in before and path.is_file()] == []


def test_no_code_named_by_a_configuration_is_executed(toy, here):
    """Not even while Hydra starts: its callbacks are made before any job."""
    victim = here / "victim"
    callback = ["+hydra.callbacks.x._target_=os.mkdir", f"+hydra.callbacks.x.path={victim}"]
    for words in (
        callback,
        ["-m", "seed=1,2", *callback],
        ["-m", "seed=1,2", "+x._target_=os.mkdir,os.makedirs", f"+x.path={victim}"],
    ):
        assert "names no code" in toy(*words).error
        assert not victim.exists()


def test_a_folder_of_choices_cannot_name_code_either(call, here):
    (here / "conf" / "experiment").mkdir(parents=True)
    (here / "conf" / "experiment" / "evil.yaml").write_text(
        "# @package _global_\nhydra:\n  callbacks:\n    x:\n      _target_: os.mkdir\n      "
        "path: victim\n"
    )
    result = call(
        "run",
        "--plugin",
        "toy.py",
        "--config-dir",
        "conf",
        "+experiment=evil",
        "dataset=toy",
        "tracker=none",
    )
    assert result.status == 1
    assert "hydra.callbacks.x._target_='os.mkdir' is refused" in result.error
    assert not (here / "victim").exists()


CLASS = "hydra.experimental.callbacks.logging.FileHandler"
# what a folder of choices says → what is refused; each made, or emptied, the file "victim" or a
# link to it
IN_FOLDERS = {
    f"callbacks: {{x: {{_target_: {CLASS}, filename: victim, mode: w}}}}": (
        f"hydra.callbacks.x._target_='{CLASS}' is refused"
    ),
    "callbacks: {x: {_target_: hydra.experimental.callbacks.logging.os.symlink, src: /, dst: "
    "victim}}": ("is refused"),
    f"callbacks: {{x: '${{oc.create:\"{{_target_: {CLASS}, filename: victim, mode: w}}\"}}'}}": (
        "hydra.callbacks.x="
    ),
    f"callbacks: {{x: '${{oc.decode:\"{{_target_: {CLASS}, filename: victim, mode: w}}\"}}'}}": (
        "it must be written out"
    ),
    f"callbacks: '${{oc.create:\"{{x: {{_target_: {CLASS}, filename: victim, mode: w}}}}\"}}'": (
        "is refused"
    ),
    "job_logging: {root: {handlers: [f]}, handlers: {f: {class: logging.FileHandler, "
    "filename: victim, mode: w}}}": ("log handlers"),
    "hydra_logging: {root: {handlers: [f]}, handlers: {f: {class: logging.FileHandler, "
    "filename: victim, mode: w}}}": ("log handlers"),
    "job_logging: {root: {level: 'ext://antigravity.x'}}": "hydra.job_logging=",
    "job_logging: {root: '${oc.decode:\"{level: INFO}\"}'}": "hydra.job_logging=",
    "output_subdir: ../victim": "hydra.output_subdir='../victim' is refused",
    "sweeper: {params: {+hydra.job.env_set.LD_PRELOAD: victim, seed: '1,2'}}, mode: MULTIRUN": (
        "hydra.job.env_set={'LD_PRELOAD': 'victim'} is"
    ),
    "overrides: {hydra: [+hydra.job.env_set.LD_PRELOAD=victim]}, mode: MULTIRUN": (
        "hydra.job.env_set={'LD_PRELOAD': 'victim'} is"
    ),
    "job: {env_set: {LD_PRELOAD: victim}}": "hydra.job.env_set={'LD_PRELOAD': 'victim'} is refused",
}


@pytest.mark.parametrize("text", IN_FOLDERS)
@pytest.mark.parametrize("words", [(), ("-m", "seed=1,2")], ids=["run", "sweep"])
def test_what_a_folder_of_choices_says_of_hydra_makes_no_file(text, words, call, here):
    (here / "conf" / "experiment").mkdir(parents=True)
    (here / "conf" / "experiment" / "evil.yaml").write_text(
        f"# @package _global_\nhydra: {{{text}}}\n"
    )
    (here / "victim").write_text("kept")
    before = sorted(path for path in here.rglob("*") if path.is_file())
    result = call(
        "run",
        "--plugin",
        "toy.py",
        "--config-dir",
        "conf",
        "+experiment=evil",
        "dataset=toy",
        "tracker=none",
        *words,
    )
    assert result.status == 1
    assert IN_FOLDERS[text] in result.error
    assert (
        sorted(path for path in here.rglob("*") if path.is_file()),
        (here / "victim").read_text(),
    ) == (before, "kept")


BASIC = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
LAUNCHERS = {  # an option that a folder brings
    f"_target_: {CLASS}\nfilename: victim\nmode: w": (
        f"hydra.launcher._target_='{CLASS}' is refused"
    ),
    "_target_: [a]": "hydra.launcher._target_=['a'] is refused",
    f"_target_: {BASIC}\nextra: {{_target_: {CLASS}, filename: victim, mode: w}}": (
        "hydra.launcher.extra._target_="
    ),
    f"_target_: {BASIC}\nextra: [{{_target_: {CLASS}, filename: victim, mode: w}}]": (
        "hydra.launcher.extra[0]._target_="
    ),
    f"_target_: {BASIC}\nextra: ['${{oc.decode:\"{{_target_: {CLASS}, filename: victim, "
    "mode: w}\"}']": ("hydra.launcher.extra.0="),
    f"_target_: {BASIC}\nextra: ${{nosuch:1}}": (
        "hydra.launcher.extra='${nosuch:1}' is refused: it must be written out"
    ),
    f"_target_: {BASIC}\nsetup: [touch victim]": "hydra.launcher.setup=['touch victim'] is refused",
}


@pytest.mark.parametrize("text", LAUNCHERS)
def test_an_option_of_hydra_that_a_folder_of_choices_brings_names_no_code(text, call, here):
    (here / "conf" / "hydra" / "launcher").mkdir(parents=True)
    (here / "conf" / "hydra" / "launcher" / "mine.yaml").write_text(f"{text}\n")
    (here / "victim").write_text("kept")
    result = call(
        "run",
        "--config-dir",
        "conf",
        "-m",
        "hydra/launcher=mine",
        "dataset=iris",
        "seed=1,2",
        "tracker=none",
    )
    assert LAUNCHERS[text] in result.error
    assert (here / "victim").read_text() == "kept"


def test_a_folder_of_choices_cannot_stand_for_the_primary_configuration(call, here):
    """There, and only there, Hydra would import the packages of hydra.searchpath."""
    (here / "conf").mkdir()
    (here / "conf" / "arboretum.yaml").write_text("hydra: {searchpath: ['pkg://antigravity']}\n")
    assert "holds arboretum.yaml" in call("run", "--config-dir", "conf", "dataset=iris").error


@pytest.mark.slow
def test_the_command_line_may_set_the_environment_of_its_jobs(toy, here):
    for words in ([], ["-m", "seed=1,2"]):
        result = toy("+hydra.job.env_set.OMP_NUM_THREADS=1", *words)
        assert result.status == 0, result.err


def test_a_run_without_a_data_set_says_how_to_name_one(call):
    result = call("run")
    assert (
        "a run needs a dataset; say dataset=iris (or dataset=file dataset.path=PATH" in result.error
    )


def test_a_run_folder_that_cannot_be_written_is_found_before_the_fit(toy, here):
    (here / "file").write_text("in the way")
    result = toy("dataset.seconds=30", "hydra.run.dir=file/run")
    assert "run folder 'file/run' cannot be written" in result.error.replace(f"{here}/", "")
    assert "hydra.run.dir=FOLDER" in result.error
    result = toy("-m", "seed=1,2", "dataset.seconds=30", "hydra.sweep.dir=file/sweep")
    assert "sweep folder 'file/sweep' cannot be written" in result.error
    assert "hydra.sweep.dir=FOLDER" in result.error


@pytest.mark.cold
def test_a_full_disk_leaves_nothing_half_written(command, here):
    """A limit on the size of files stands for the disk: the probe, or the largest of the run's
    files, does not fit.
    """
    arguments = ("run", "--plugin", "toy.py", "dataset=toy", "tracker=none", "hydra.run.dir=full")
    result = command.run(*arguments, before="ulimit -f 20")
    assert result.status == 1
    assert "run folder" in result.error and "cannot be written" in result.error
    assert not (here / "full").exists()


def test_what_does_not_exist_is_named(call, here):
    (here / "broken.py").write_text("import no_such_module\n")
    (here / "empty.py").write_text("x = 1\n")
    assert (
        "nope.py' does not exist; give the path of a .py file"
        in call("run", "--plugin", "nope.py", "dataset=iris").error
    )
    (here / "words.txt").write_text("x = 1")
    assert (
        "'words.txt' is no Python file; its name must end in .py"
        in call("run", "--plugin", "words.txt", "dataset=iris").error
    )
    assert "does not import: ModuleNotFoundError: No module named 'no_such_module'" in (
        call("run", "--plugin", "broken.py", "dataset=iris").error
    )
    assert "defines no component" in call("run", "--plugin", "empty.py", "dataset=iris").error
    assert "argument --plugin: expected one argument" in call("run", "--plugin").error
    assert (
        "configuration folder 'nope' does not exist"
        in call("run", "--config-dir", "nope", "dataset=iris").error
    )
    assert (
        "unrecognized arguments: --plugins; did you mean '--plugin'?"
        in call("run", "--plugins", "x", "dataset=iris").error
    )
    assert "there is no run folder './nope'" in call("run", "--from", "./nope").error
    assert (
        "plugins names"
        in call(
            "run", "--config-dir", str(_config_with_plugin(here)), "+extra=p", "dataset=iris"
        ).error
    )


def _config_with_plugin(here):
    """A configuration file is no consent: only the command line loads a plugin file."""
    (here / "conf" / "extra").mkdir(parents=True)
    (here / "conf" / "extra" / "p.yaml").write_text("# @package _global_\nplugins: [toy.py]\n")
    return here / "conf"


def test_two_plugins_that_claim_one_name_are_both_named(call, here):
    (here / "mine.py").write_text(
        "import attrs\n@attrs.frozen\nclass Gini:\n    kind, name, paper, capabilities = "
        "'impurity', 'gini', '', ()\n"
        "    scale = 'mean'\n"
        "    def value(self, weights): ...\n"
    )
    error = call("run", "--plugin", "mine.py", "dataset=iris").error
    assert (
        f"impurity 'gini' is claimed by two plugins: arboretum_classic and {here / 'mine.py'}"
        in error
    )
    assert "ARBORETUM_DISABLE=arboretum_classic" in error


def test_an_installed_plugin_that_fails_to_import_is_named_and_the_rest_keeps_working(
    command, here
):
    (here / "broken_one.py").write_text("raise RuntimeError('no licence')\n")
    info = here / "broken_one-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-one\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[arboretum]\nbroken_one = broken_one\n")
    result = command.run(
        "run", "--plugin", "toy.py", "dataset=toy", "tracker=none", env={"PYTHONPATH": str(here)}
    )
    assert result.status == 0
    warning = (
        "arboretum: warning: plugin broken_one is left out: does not import: RuntimeError: no "
        "licence (broken_one.py:1)"
    )
    assert warning in result.err.splitlines()


def test_a_bug_in_a_plugin_is_one_line_unless_asked_for_more(toy, monkeypatch):
    error = toy("dataset.crashes_at=0").error
    assert error.startswith(
        "dataset 'toy': load raised RuntimeError: a bug (toy.py:24); traceback in "
    )
    monkeypatch.setenv("ARBORETUM_DEBUG", "1")
    result = toy("dataset.crashes_at=0")
    assert "Traceback" in result.err and "in load" in result.err


def test_a_path_in_the_home_folder_needs_no_quotes(call, here, monkeypatch):
    monkeypatch.setenv("HOME", str(here))
    for name in ("a", "b c"):
        (here / f"{name}.csv").write_text("x,y\n" + "1,n\n2,n\n3,y\n4,y\n" * 5)
    chosen = ("run", "dataset=file", "dataset.target=y", "tracker=none")
    for spelling in ("dataset.path=~/a.csv", "dataset.path=~/b c.csv", "dataset.path='~/a.csv'"):
        result = call(*chosen, spelling)
        assert result.status == 0, result.err
    assert call(*chosen, "-m", "dataset.path=~/a.csv,~/b c.csv").status == 0
    assert call(*chosen, "dataset.path=~/nope.csv").error.startswith(str(here / "nope.csv"))
