"""A multirun: every configuration checked first, one line of progress, failures at the end, a
table to close.
"""

from __future__ import annotations

import functools
import math
import os
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Override, Sweep as Several, ValueType
from hydra.errors import HydraException
from omegaconf import DictConfig

from arboretum.cli import terminal
from arboretum.cli.comparison import Comparison, goal_of, reasons_without_certificate
from arboretum.cli.progress import REFRESH_SECONDS, Line, Watch, counts_of, say_waiting
from arboretum.cli.sync import Parent, close_dead
from arboretum.cli.terminal import (
    FAILED_STATUS,
    TRACKER_FAILED,
    error_text,
    fit,
    status_of,
    word_of,
)
from arboretum.config.compose import Loader
from arboretum.config.execute import Session, session
from arboretum.config.guard import contents
from arboretum.config.launch import asked, multirun, search_of
from arboretum.config.resolve import Resolved, component_from, resolve
from arboretum.engine.check import check_goal
from arboretum.errors import (
    ArboretumError,
    ConfigError,
    ContractError,
    StoreError,
    TrackerError,
    VerificationError,
)
from arboretum.interfaces.component import KINDS
from arboretum.model.plain import Facts
from arboretum.plugin.registry import SWEEPER
from arboretum.runs.folder import (
    ERROR,
    RECORD,
    SWEEP_DIR,
    Index,
    default_root,
    free_folder,
    holds_others,
    is_tracked,
    make_ready,
    remove,
    remove_empty,
    write_files,
)
from arboretum.runs.grouping import data_set_of
from arboretum.runs.listing import JOB
from arboretum.runs.sweeps import (
    BROKEN,
    DONE,
    ENDED,
    FAILED,
    KILLED,
    SKIPPED,
    SWEEP,
    Note,
    Notes,
    Sweep,
    owner,
    read_sweep,
    records_of,
    runs_of,
    write_sweep,
)

if TYPE_CHECKING:
    from arboretum.cli.run import Application


@attrs.define(eq=False, slots=False)
class Job:
    """Callable with a configuration; a sweep's launcher may also hand it what was resolved.

    files : one-file plugins, for workers that have no registry yet.
    index, notes, sweep : folders of the index of finished runs, of what jobs leave word of, of the
        sweep.
    constant : keys that all jobs have alike.
    varied : those with which the runs' names begin.
    sweep_id : the tracker's id of the sweep.
    goals : of a search, whose jobs return the values of these.
    """

    files: tuple[str, ...]
    index: Path
    notes: Path
    sweep: Path
    constant: frozenset[str] = frozenset()
    varied: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    sweep_id: str = ""
    own: Session | None = None
    progress: Callable[[float, float | None, str], None] | None = None
    finished: Index | None = None

    def __getstate__(self) -> Facts:  # what a worker process receives
        return {**self.__dict__, **dict.fromkeys(("own", "progress", "finished"))}

    def __call__(self, config: DictConfig) -> object:
        """Do one job of the sweep; what Hydra calls."""
        hydra, registry = HydraConfig.get(), self._session.registry
        resolved = functools.partial(resolve, config, registry, contents(hydra.runtime.choices))
        return self.do(
            resolved, hydra.job.num, hydra.overrides.task, Path(hydra.runtime.output_dir)
        )

    @property
    def _session(self) -> Session:
        return self.own or session(self.files)

    def label(self, overrides: Sequence[str]) -> str:
        """What tells a job of these overrides from the others of the sweep."""
        return " ".join(
            text
            for text in overrides
            if text.partition("=")[0] not in self.constant and not text.startswith("hydra.")
        )

    def do(
        self,
        resolve_job: Callable[[], Resolved],
        number: int,
        overrides: Sequence[str],
        folder: Path,
    ) -> Any:
        """Do one job, leave a note of it, and return the value of its goal; of a search, the list
        of its goals' values (NaN for one that the run lacks); None where the run failed.

        A failure becomes a note and is not raised, so that the other jobs go on.

        resolve_job : called here, so that its ConfigError is the job's failure.
        number, overrides : of the job.
        folder : absolute, for its record.
        """
        label, notes, resolved = self.label(overrides), Notes(self.notes), None
        self.finished = self.finished or Index(self.index, self.sweep)
        where: Facts = {
            "index": self.finished,
            "sweep_id": self.sweep_id,
            "sweep": self.sweep,
            "varied": self.varied,
        }
        try:
            resolved = resolve_job()
            outcome = self._session.execute(
                resolved, folder, **where, beside=self.own is not None, progress=self.progress
            )
        except Exception as error:
            label = label or (resolved.label if resolved else f"job {number}")
            return self._note_failure(
                resolved,
                Note(number, FAILED, label, str(free_folder(folder)), error=error_text(error)),
                error,
            )
        goal = resolved.settings.goal
        warnings = outcome.warnings
        metrics = outcome.record.metrics
        values = None
        try:
            goal = goal_of(goal, metrics)
            values = [metrics.get(goal_of(one, metrics), math.nan) for one in self.goals]
        except ConfigError as error:
            warnings = (*warnings, str(error))
        value = metrics.get(goal)
        status = SKIPPED if outcome.skipped else DONE
        dataset = data_set_of(outcome.record)
        note = Note(
            job=number,
            status=status,
            label=label or resolved.label,
            folder=str(outcome.folder),
            dataset=dataset,
            goal=goal,
            value=value,
        )
        notes.write(attrs.evolve(note, tracker_error=outcome.tracker_error, warnings=warnings))
        if outcome.record.solution is not None and outcome.record.solution.interrupted:
            raise outcome.record.solution.interrupted  # its best tree is kept; no other job begins
        return values if self.goals else value

    def _note_failure(self, resolved: Resolved | None, note: Note, error: Exception) -> None:
        """Leave word of a job that failed, and tell the tracker.   resolved : None where the
        configuration was refused; the tracker then hears nothing.
        """
        folder, trouble = Path(note.folder), ""
        terminal.report_traceback(error)
        if resolved is not None:
            trouble = self._session.fail(resolved, folder, self.sweep_id, note.error, self.varied)
        warnings = tuple(filter(None, [explain_failure(folder, error, note.label)]))
        Notes(self.notes).write(attrs.evolve(note, tracker_error=trouble, warnings=warnings))


def unforeseen(error: Exception) -> bool:
    """Whether code is at fault, a plugin's or ours, and not what the user asked for."""
    return not isinstance(error, ArboretumError) or isinstance(
        error, ContractError | VerificationError
    )


def explain_failure(folder: Path, error: Exception, label: str = "") -> str:
    """Leave ``error.txt`` in the folder, with the traceback where code is at fault; why that is
    not possible, or "".

    label : what tells the job from others of its sweep, for whoever looks for its result.
    """
    steps = fit("".join(traceback.format_exception(error))) if unforeseen(error) else ""
    if holds_others(folder) and os.path.lexists(folder / ERROR):
        return (
            f"{folder / ERROR} was there before and stays, so the traceback is not kept "
            "(ARBORETUM_DEBUG=1 prints it)"
        )
    try:
        asked = [fit(f"{JOB}{label}")] if label else []
        lines = (error_text(error), *asked, *steps.splitlines())
        write_files(folder, {ERROR: "\n".join(lines) + "\n"})
    except StoreError as problem:
        return str(problem)
    return ""


SHOWN_FAILURES = 20
DIED = (
    "a worker process ended before its run was done (killed, or out of memory: fewer workers may "
    "help)"
)
MULTIRUN = "multirun.yaml"  # what Hydra notes of a sweep in its folder


def sweep(app: Application, loader: Loader, base: DictConfig) -> int:
    """Run all jobs of a command (its Application); returns the exit status: 1 when one failed, 3
    when one is not tracked, 130 or 143 when it was ended.
    """
    folder = Path(str(base.hydra.sweep.dir))
    check_goal(str(base.goal))
    overrides = OverridesParser.create().parse_overrides(list(app.arguments.overrides))
    refuse_vain(asked(loader, base))
    _refuse_mixture(folder, base, app.arguments.overrides)
    line, start = Line(), time.monotonic()
    post = Post(app, folder, base, overrides, line)
    fresh = make_ready(folder, SWEEP_DIR)
    notes = Notes.open(folder)
    constant = frozenset(one.get_key_element() for one in overrides if not one.is_sweep_override())
    folders = default_root(), notes.folder.absolute(), folder.absolute()
    job = Job(app.files, *folders, constant, post.sweep.varied, post.goals, own=app.session)
    job.progress = lambda done, total, message: (
        line.show(message, now=True) if "compil" in message else None
    )
    ended: KeyboardInterrupt | None = None
    broken: Exception | None = None
    lost: list[Note] = []
    try:
        with line.shows(Watch(line, notes.read, lambda: loader.n_jobs)):
            jobs = multirun(loader, job, base, post.search, functools.partial(post.open, job))
        lost = find_lost_jobs(notes, jobs, job)
    except KeyboardInterrupt as error:
        ended = error
    except HydraException as error:
        broken = _explain_refusal(error, app.registry.names(SWEEPER))
    except Exception as error:
        broken = error
    finally:
        notes.close()
    heard = {note.job: note for note in notes.read()} | {note.job: note for note in lost}
    done, records = [heard[number] for number in sorted(heard)], records_of(folder)
    compared = Comparison.of(records, post.sweep.goal, post.sweep.traded)
    if not ended and post.begun:
        done = post.hand_in(done)
    trouble = post.close(KILLED if ended else BROKEN if broken else ENDED, compared)
    if broken is not None and not done and (isinstance(broken, ArboretumError) or not records):
        if not runs_of(folder) and post.before is None:
            for name in (MULTIRUN, SWEEP):
                remove(folder / name)
            if fresh:
                remove_empty(folder)
        raise broken
    if records:
        terminal.say(
            "\n".join(
                [
                    compared.text(terminal.width() if terminal.is_terminal() else None),
                    *reasons_without_certificate(records),
                ]
            )
        )
    _print_outcome(done, loader.n_jobs, time.monotonic() - start, folder, trouble)
    kept = (
        f"{sum(note.status != FAILED for note in done)} of {loader.n_jobs} runs are finished and "
        f"kept in {folder} "
    )
    kept += "(the same command with skip_finished=true does the others)"
    if ended is not None:
        terminal.report(f"arboretum: {word_of(ended)}; {kept}")
        return status_of(ended)
    if isinstance(broken, BrokenExecutor):
        raise StoreError(f"{DIED}; {kept}") from broken
    if broken is not None:
        raise broken
    if any(note.status == FAILED for note in done):
        return FAILED_STATUS
    return TRACKER_FAILED if trouble or any(note.tracker_error for note in done) else 0


def _explain_refusal(error: HydraException, names: Sequence[str]) -> ConfigError:
    """Hydra's refusal in one line, with the sweepers that search intervals where it is one."""
    hints = [
        f"; hydra/sweeper={name} searches intervals"
        for name in names
        if "INTERVAL_SWEEP" in str(error)
    ]
    return ConfigError("".join((" ".join(str(error).split()), *hints)))


LATE_SECONDS = 5.0  # a shared folder may show what another machine wrote some seconds later
UNHEARD = (
    "it left no word in {}: its worker ended, or does not see that folder; hydra.sweep.dir names "
    "one that all workers share"
)
UNSEEN = (
    "its record is not in {}: its worker writes elsewhere; hydra.sweep.dir names a folder that "
    "all workers share"
)


def find_lost_jobs(notes: Notes, jobs: Mapping[int, Sequence[str]], job: Job) -> list[Note]:
    """A failure for every job that was launched and of which nothing is here: no note, or no
    record where its note says.
    """
    end = time.monotonic() + LATE_SECONDS
    while True:
        heard = {note.job: note for note in notes.read()}
        silent = [number for number in jobs if number not in heard]
        unseen = [
            note
            for note in heard.values()
            if note.status != FAILED and not Path(note.folder, RECORD).is_file()
        ]
        if not (silent or unseen) or time.monotonic() >= end:
            break
        time.sleep(REFRESH_SECONDS)
    lost = [
        Note(number, FAILED, job.label(jobs[number]), error=UNHEARD.format(job.sweep))
        for number in silent
    ]
    return lost + [
        attrs.evolve(note, status=FAILED, error=UNSEEN.format(note.folder)) for note in unseen
    ]


class Post:
    """What a sweep has to do with its tracker, which may be in trouble at any time and never
    loses a run.
    """

    def __init__(
        self,
        app: Application,
        folder: Path,
        base: DictConfig,
        overrides: Sequence[Override],
        line: Line,
    ) -> None:
        """Find out what the sweep is for its tracker.  Raises StoreError where another process
        searches in the folder.

        base : the composed configuration.   overrides : of the command, by Hydra's parser.
        """
        self.app, self.folder, self.line = app, folder, line
        self.component = component_from(base, "tracker", app.registry)
        self.config = {key: value for key, value in contents(base).items() if key != "hydra"}
        self.before = before = read_sweep(folder)
        self.search = search = search_of(base, app.registry)
        if search and before is not None and before.is_running and before.owner != owner():
            raise StoreError(
                f"another process searches in {str(folder)!r} ({before.owner.rsplit(' ', 2)[0]}); "
                "wait for it, or choose another folder with hydra.sweep.dir=FOLDER"
            )
        self.goals = search.goals if search else ()
        goal, *traded = self.goals or (str(base.goal),)
        keys = [one.get_key_element().lstrip("+") for one in overrides if one.is_sweep_override()]
        keys = [
            key
            for key in (*keys, *(base.hydra.sweeper.get("params") or {}))
            if not key.startswith("hydra")
        ]
        keys.sort(key=lambda key: key in ("seed", "split.fold"))  # names end with them
        varied = tuple(dict.fromkeys((*keys, *(before.varied if before else ()))))
        self.sweep = Sweep(
            tuple(app.arguments.overrides), varied, goal, owner=owner(), traded=tuple(traded)
        )
        self.parent: Parent | None = None
        self.begun = False  # a sweep that is refused leaves no parent
        self.trouble = ""

    def _ask(self, what: str, action: Callable[[], object], *, anew: bool = False) -> str:
        """What went wrong when the tracker was asked, "" where nothing did, or there is none.

        what : is done, as the line says while it is waited for.
        anew : also a tracker that was in trouble before.
        """
        if self.component is None:
            return ""
        with say_waiting(f"{what} tracker {self.component.name}", self.line):
            return str(self.app.session.ask(self.component, action, anew=anew))

    def open(self, job: Job) -> None:
        """Make the tracker ready and open the parent run, before any worker starts; the jobs
        learn of it.
        """
        self.begun = True
        self.trouble = self._ask("opening", self._open)
        if self.parent is None:
            write_sweep(self.folder, self.sweep)
        else:
            job.sweep_id = self.parent.sweep.id

    def _open(self) -> Parent:
        """Open the sweep's parent run in the tracker, after closing those that dead sweeps left
        open.
        """
        tracker = self.app.session.prepare_tracker(self.component)
        with suppress(TrackerError, StoreError):  # what is in trouble is told by what comes next
            close_dead(tracker)
        self.parent = Parent.open(self.folder, self.sweep, tracker, self.config)
        self.parent.registry = self.app.registry
        return self.parent

    def hand_in(self, notes: list[Note]) -> list[Note]:
        """Ask a tracker that was in trouble once more, now that nothing waits for it; returns
        the notes as they then are.
        """
        if self.component is None:
            return notes

        def send() -> None:
            parent = self.parent or self._open()
            for run in runs_of(self.folder):
                parent.send(run)

        def lacking(note: Note) -> str:
            """Why the tracker does not have a note's run; "" where it has it."""
            has = self.parent is not None and is_tracked(
                Path(note.folder), self.parent.sweep.tracker, self.parent.sweep.id
            )
            return "" if has else self.trouble

        self.trouble = self._ask("handing in runs to", send, anew=True)
        return [
            note if note.status == FAILED else attrs.evolve(note, tracker_error=lacking(note))
            for note in notes
        ]

    def close(self, status: str, compared: Comparison) -> str:
        """End the parent; returns what went wrong so far, or ""."""
        if (parent := self.parent) is not None:
            trouble = self._ask("closing the sweep in", lambda: parent.close(status, compared))
            return self.trouble or trouble
        if not self.begun:
            return ""
        try:
            write_sweep(self.folder, attrs.evolve(self.sweep, status=status))
        except StoreError as error:
            terminal.warn(str(error))
        return self.trouble


def refuse_vain(overrides: Sequence[Override]) -> None:
    """Raise ConfigError when a swept key names no value, or one twice: the same run twice weighs
    double in every average.
    """
    for override in (one for one in overrides if one.is_sweep_override()):
        key = override.get_key_element()
        if (
            override.value_type == ValueType.GLOB_CHOICE_SWEEP
            and override.key_or_group not in KINDS
            and "/" not in override.key_or_group
        ):
            raise ConfigError(
                f"{override.input_line}: glob(…) chooses among the options of a group; say "
                f"the values: {key}=A,B"
            )
        value = override.value()
        if isinstance(value, ChoiceSweep) and any(isinstance(item, Several) for item in value.list):
            raise ConfigError(
                f"{override.input_line}: range(…) stands alone; say each value, separated by commas"
            )
        if override.is_discrete_sweep() and next(override.sweep_string_iterator(), None) is None:
            raise ConfigError(f"{override.input_line} names no value; say at least one: {key}=A,B")
        if override.value_type not in (ValueType.CHOICE_SWEEP, ValueType.SIMPLE_CHOICE_SWEEP):
            continue
        values = list(override.sweep_string_iterator())
        twice = [value for i, value in enumerate(values) if value in values[:i]]
        if twice:
            once = ",".join(dict.fromkeys(values))
            raise ConfigError(
                f"{override.input_line} names {twice[0]} twice; say each value once: {key}={once}"
            )


def _refuse_mixture(folder: Path, base: DictConfig, overrides: Sequence[str]) -> None:
    """Raise StoreError when the folder holds runs of another sweep: nobody could tell them apart
    any more.

    The same command again, and going on with ``skip_finished=true``, belong there; no run of theirs
    overwrites another's.
    """
    held, before = len(runs_of(folder)), read_sweep(folder)
    if foreign := [
        name
        for name in (SWEEP, MULTIRUN)
        if not held and before is None and os.path.lexists(folder / name)
    ]:
        raise StoreError(
            f"sweep folder {str(folder)!r} holds a {foreign[0]} of something else; it is "
            "kept: choose another folder with hydra.sweep.dir=FOLDER"
        )
    if (
        not held
        or base.get("skip_finished") is True
        or (before is not None and before.asks(overrides))
    ):
        return
    msg = (
        f"sweep folder {str(folder)!r} holds {held} finished runs of another sweep; they are "
        "kept: choose another folder "
    )
    raise StoreError(
        msg
        + "with hydra.sweep.dir=FOLDER, add to that sweep with skip_finished=true, or move it away"
    )


def _print_outcome(
    notes: Sequence[Note], total: int, seconds: float, folder: Path, trouble: str
) -> None:
    """Print the last lines of a sweep: what ran and failed, warnings, and what the tracker did not
    take.

    notes : of all jobs that ended.   total : jobs.   trouble : what the tracker said, "" where
        nothing.
    """
    failures = [note for note in notes if note.status == FAILED]
    terminal.say(f"{counts_of(notes, total)}; {terminal.duration(seconds)}; kept in {folder}")
    for note in failures[:SHOWN_FAILURES]:
        terminal.report(f"arboretum: failed: {note.label}: {note.error}")
    if len(failures) > SHOWN_FAILURES:
        terminal.report(
            f"arboretum: {len(failures) - SHOWN_FAILURES} more failed; each folder below "
            f"{folder} holds error.txt"
        )
    for warning in dict.fromkeys(text for note in notes for text in note.warnings):
        terminal.warn(warning)
    untracked = [note for note in notes if note.tracker_error]
    if trouble or untracked:
        count = (
            f"{len(untracked)} runs are kept, but not tracked"
            if untracked
            else "the sweep's parent run is not tracked"
        )
        reason = untracked[0].tracker_error if untracked else trouble
        terminal.warn(f"{count}: {reason} (arboretum sync {folder} sends them later)")
