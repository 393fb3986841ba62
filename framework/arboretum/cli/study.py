"""``arboretum study NAME``: many runs from one file, as one sweep: what is finished is not done
again, and a report says which method is best.
"""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from arboretum.cli import terminal
from arboretum.cli.compare import PAGE, Asked, document_of, files_of, listed
from arboretum.cli.compared import TIMED
from arboretum.cli.terminal import FAILED_STATUS, TRACKER_FAILED, Parser, add_launcher_options
from arboretum.config.study import AXES, Study, find_study, read_study
from arboretum.errors import ConfigError, DataError, StoreError, unknown
from arboretum.lab import current
from arboretum.measure.evaluate import direction
from arboretum.model.plain import Facts
from arboretum.runs.folder import study_folder, write_files
from arboretum.runs.gather import gather

if TYPE_CHECKING:
    from arboretum.config.launch import Jobs
    from arboretum.plugin.registry import Registry

DESCRIPTION = """\
Do a study: every combination of the methods, data sets, encoders, prices, fractions, seeds and
folds that a YAML file names.  Finished runs are not done again, whatever ended the command before:
the same command goes on, and one with more in the file does what is new.  At the end a report
compares the methods."""
REPORT = "report"  # folder of the comparison, in that of the study
AT_ONCE = 32
"""Runs that a launcher is given together where the first failure ends the study."""


def parser() -> Parser:
    """Return the options."""
    found = Parser(
        "study", DESCRIPTION, plugin="load a one-file plugin (may be given several times)"
    )
    found.add_argument("study", metavar="NAME|FILE", help="of conf/study or the lab's; or a file")
    found.add_argument(
        "words",
        nargs="*",
        metavar="KEY=VALUE",
        help="of every run, before what the file says of it; hydra.launcher.… of the launcher",
    )
    found.add_argument(
        "--launcher", metavar="NAME", help="who does the runs: joblib, ray, submitit_local, …"
    )
    found.add_argument("--out", metavar="FOLDER", help="where runs are kept (outputs/study/NAME)")
    found.add_argument(
        "--dry-run", action="store_true", help="check every run, say what there is, and do nothing"
    )
    found.add_argument(
        "--stop-at-first-failure",
        action="store_true",
        help=f"begin no run after one that failed; a launcher is given {AT_ONCE} at a time",
    )
    add_launcher_options(found, retries=1)
    return found


def main(argv: list[str]) -> int:
    """Do a study; returns the exit status, as ``arboretum run -m`` does."""
    from arboretum.cli.run import Application
    from arboretum.config.compose import OURS

    arguments = parser().parse_intermixed_args(argv)
    study = read_study(find_study(arguments.study, current(), OURS))
    folder = Path(arguments.out).expanduser() if arguments.out else study_folder(study.name)
    launcher = [f"hydra/launcher={arguments.launcher}"] if arguments.launcher else []
    words = [word for word in arguments.words if not word.startswith("hydra")]
    launcher += [word for word in arguments.words if word.startswith("hydra")]
    goal = [f"goal={study.every['goal']}"] if "goal" in study.every else []
    every = (*goal, *words, "skip_finished=true")
    where = "." if arguments.dry_run else f"'{folder}'"
    asked = Namespace(
        overrides=[*every, *launcher, f"hydra.sweep.dir={where}"],
        multirun=True,
        run=None,
        config_dir=None,
        cfg=None,
        resolve=False,
        plugin=arguments.plugin,
        retries=arguments.retries,
        runs_per_job=arguments.runs_per_job,
    )
    jobs = StudyJobs(study, every, arguments.stop_at_first_failure, arguments.dry_run)
    terminal.say(describe(study))
    app = Application(asked, jobs)
    check_report(study, app.registry)
    status = app.run()
    if not arguments.dry_run and status in (0, FAILED_STATUS, TRACKER_FAILED):
        report(study, folder, app.registry)
    return status


def check_report(study: Study, registry: Registry) -> None:
    """Raise ConfigError, naming the line, for a report that no runs of the study could have."""
    said = asked_of(study)
    methods = (
        [name for name, _ in study.axes["methods"]] if said.by == Asked().by else [said.control]
    )
    words = [
        *(("control", name, methods) for name in filter(None, [said.control])),
        *(("test", name, registry.names("comparison")) for name in listed(said.test)),
    ]
    for key, name, known in words:
        if name not in known:
            raise study.lines.fault(("compare", key), unknown(key, name, known))
    own = {*registry.names("measure"), *registry.names("complexity")}
    for name in listed(said.measure):
        try:
            if name not in own and not name.startswith(TIMED):
                direction(name)
        except ConfigError as error:
            raise study.lines.fault(("compare", "measure"), str(error)) from error


def asked_of(study: Study) -> Asked:
    """Return what a study's file asks of its report.  Raises ConfigError, naming the line, for a
    level that is no number.
    """
    words: Facts = {
        key: ",".join(map(str, value)) if isinstance(value, list) else str(value)
        for key, value in study.compare.items()
        if value is not None
    }
    try:
        return Asked(**{**words, "alpha": float(words.get("alpha", Asked().alpha))})
    except ValueError:
        raise study.lines.fault(
            ("compare", "alpha"), f"alpha must be a number in (0, 1); got {words['alpha']}"
        ) from None


def report(study: Study, folder: Path, registry: Registry) -> None:
    """Write the comparison of a study's methods into its folder, as the file asks for it; where the
    runs allow none, say why.
    """
    names = {json.dumps(dict(job.names), sort_keys=True) for job in study.jobs()}
    try:
        gathered = gather([str(folder)])
        mine = [
            i
            for i, record in enumerate(gathered.records)
            if json.dumps(record.config.get("study"), sort_keys=True) in names
        ]
        now = attrs.evolve(
            gathered,
            records=tuple(gathered.records[i] for i in mine),
            where=tuple(gathered.where[i] for i in mine),
        )
        document = document_of(now, asked_of(study), registry)
    except (ConfigError, DataError, StoreError) as error:
        terminal.warn(f"no report: {error}")
        return
    write_files(folder / REPORT, files_of(document))
    terminal.say(f"report: {folder / REPORT / PAGE} (arboretum compare {folder})")


def describe(study: Study) -> str:
    """Return what a study asks for: its axes, and how many runs there are."""
    rows = []
    for axis, values in study.axes.items():
        shown = ", ".join(name for name, _ in values)
        rows.append((f"  {axis}", str(len(values)), shown))
    n_runs = len(study.jobs())
    head = f"study {study.name}" + (f": {study.about}" if study.about else "")
    return f"{head}\n{terminal.aligned(rows, right=(1,))}\n  runs{n_runs:>8}"


@attrs.frozen
class StudyJobs:
    """What lists the jobs of a sweep that is a study, in the place of Hydra's sweeper.

    every : overrides of the command, for each run that does not set their keys itself.
    stop : no run begins after one that failed.
    dry : every job is checked, and none is done.
    """

    study: Study
    every: tuple[str, ...] = ()
    stop: bool = False
    dry: bool = False
    goals: tuple[str, ...] = ()

    @property
    def constant(self) -> frozenset[str]:
        """Keys that all runs have alike, and the names that the file has, which say no more."""
        return frozenset({"study", *self.study.every})

    @property
    def title(self) -> str:
        """What its tracker calls it."""
        return f"study {self.study.name}"

    @property
    def varied(self) -> tuple[str, ...]:
        """Keys with which the runs' names begin, seeds and folds last."""
        return tuple(AXES[axis] for axis in AXES if len(self.study.axes.get(axis, ())) > 1)

    def sweep(self, jobs: Jobs) -> None:
        """Check every job, then launch them.  Warns of those whose parts do not go together; raises
        ConfigError naming the file's line.
        """
        listed, asked = self.study.jobs(), []
        misfits: dict[str, list[Facts]] = {}
        for job in listed:
            said = {key_of(text): text for text in (*self.every, *job.overrides)}
            asked.append(tuple(said.values()))
            try:
                if why := jobs.check(asked[-1]):
                    misfits.setdefault(why, []).append(dict(job.names))
            except ConfigError as error:
                raise self.study.explain(job, error) from error
        for why, names in misfits.items():
            shared = [
                f"{key}={name}"
                for key, name in names[0].items()
                if key in self.varied and all(one[key] == name for one in names)
            ]
            terminal.warn(
                f"{len(names)} of {len(listed)} runs will fail: {' '.join(shared)}: {why}"
            )
        if self.dry:
            return
        jobs.expect(len(listed))
        size = len(asked) if not self.stop else 1 if jobs.one_by_one else AT_ONCE
        for first in range(0, len(asked), size):
            jobs.launch(asked[first : first + size], first)
            if self.stop and jobs.has_failed():
                return


def key_of(override: str) -> str:
    """Return the key of an override."""
    return override.partition("=")[0].lstrip("+")
