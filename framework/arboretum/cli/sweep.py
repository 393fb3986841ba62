"""A multirun: every configuration checked first, one line of progress, failures at the end, a
table to close.
"""

from __future__ import annotations

import functools
import os
import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Override, Sweep as Several, ValueType
from hydra.errors import HydraException
from omegaconf import DictConfig

from arboretum.cli import terminal
from arboretum.cli.collector import Collector, LostError
from arboretum.cli.comparison import Comparison, reasons_without_certificate
from arboretum.cli.jobs import Job
from arboretum.cli.progress import REFRESH_SECONDS, Line, Watch, counts_of, say_waiting
from arboretum.cli.sync import Parent, close_dead
from arboretum.cli.terminal import (
    FAILED_STATUS,
    TRACKER_FAILED,
    status_of,
    word_of,
)
from arboretum.cli.worker import Command
from arboretum.config.compose import Loader
from arboretum.config.guard import contents
from arboretum.config.launch import asked, multirun, search_of
from arboretum.config.resolve import component_from
from arboretum.engine.check import check_goal
from arboretum.errors import (
    ArboretumError,
    ConfigError,
    StoreError,
    TrackerError,
    sure,
)
from arboretum.interfaces.component import KINDS
from arboretum.model.record import UNFINISHED
from arboretum.plugin.discovery import PluginFile
from arboretum.plugin.registry import SWEEPER
from arboretum.runs.folder import (
    RECORD,
    SWEEP_DIR,
    Index,
    default_root,
    identity_of,
    is_tracked,
    make_ready,
    remove,
    remove_empty,
)
from arboretum.runs.pieces import every
from arboretum.runs.sweeps import (
    BROKEN,
    ENDED,
    FAILED,
    KILLED,
    SWEEP,
    Note,
    Notes,
    Sweep,
    locked,
    owner,
    read_sweep,
    records_of,
    runs_of,
    write_sweep,
)

if TYPE_CHECKING:
    from arboretum.cli.run import Application


SHOWN_FAILURES = 20
TOGETHER = 50  # runs that the tracker is given at once
FOLLOW_SECONDS = 1.0  # between two looks for runs that the tracker lacks
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
    post = Post(app, folder, base, overrides, Line())
    fresh = make_ready(folder, SWEEP_DIR)
    with locked(folder) as trouble:
        if trouble:
            terminal.warn(trouble)
        return _work(post, loader, base, overrides, fresh)


def _work(
    post: Post, loader: Loader, base: DictConfig, overrides: Sequence[Override], fresh: bool
) -> int:
    """Run all jobs in a folder that nobody else works in; all as of :func:`sweep`.

    overrides : of the command, by Hydra's parser.   fresh : the folder was not there before.
    """
    app, folder, line, start = post.app, post.folder, post.line, time.monotonic()
    notes = Notes.open(folder)
    constant = frozenset(one.get_key_element() for one in overrides if not one.is_sweep_override())
    constant |= getattr(app.search, "constant", frozenset())
    job = Job(
        tuple(map(PluginFile.read, app.files)),
        default_root(),
        folder.absolute(),
        Command.current(notes),
        constant=constant,
        varied=post.sweep.varied,
        goals=post.goals,
        own=app.session,
    )
    collector = post.collector = Collector(
        job,
        Index(default_root(), folder.absolute()),
        retries=app.arguments.retries,
        per_job=app.arguments.runs_per_job,
    )
    job.progress = lambda done, total, message: (
        line.show(message, now=True) if "compil" in message else None
    )
    ended: KeyboardInterrupt | None = None
    broken: Exception | None = None
    lost: list[Note] = []
    try:
        watch = Watch(line, notes.read, lambda: loader.n_jobs)
        with line.shows(watch), every(FOLLOW_SECONDS, post.follow):
            jobs = multirun(
                loader, job, base, post.search, functools.partial(post.open, job), collector
            )
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
    damaged: list[str] = []
    done, records = [heard[number] for number in sorted(heard)], records_of(folder, damaged)
    compared = Comparison.of(records, post.sweep.goal, post.sweep.traded)
    if not ended and post.begun:
        post.follow()
        done = post.hand_in(done)
    trouble = post.close(KILLED if ended else BROKEN if broken else ENDED, compared)
    refused = not done and (isinstance(broken, ArboretumError) or (broken and not records))
    unbegun = ended is not None and not post.begun
    if (refused or unbegun) and not runs_of(folder) and post.before is None:
        for name in (MULTIRUN, SWEEP):
            remove(folder / name)
        if fresh:
            remove_empty(folder)
    if broken is not None and refused:
        raise broken
    if ended is not None and unbegun:  # how many runs there are is not known, either
        terminal.report(
            f"arboretum: {word_of(ended)} while configurations were checked; no run had begun"
        )
        return status_of(ended)
    if records:
        terminal.say(
            "\n".join(
                [
                    compared.text(terminal.width() if terminal.is_terminal() else None),
                    *reasons_without_certificate(records),
                ]
            )
        )
    terminal.warn_left_out(damaged, f"arboretum list {shlex.quote(str(folder))} shows them")
    _print_outcome(done, loader.n_jobs, time.monotonic() - start, folder, trouble)
    finished = [note for note in done if note.status != FAILED]
    if ended is not None and finished:  # it may have ended the last one
        *finished, last = finished
        finished += [last] * (not identity_of(Path(last.folder))[0].startswith(UNFINISHED))
    kept = f"{len(finished)} of {loader.n_jobs} runs are finished and kept in {folder} "
    again = "" if base.get("skip_finished") is True else " with skip_finished=true"
    kept += f"(the same command{again} does the others)"
    if ended is not None:
        terminal.report(f"arboretum: {word_of(ended)}; {kept}")
        return status_of(ended)
    if isinstance(broken, LostError):
        raise StoreError(f"{broken}; {kept}") from broken.__cause__
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
        self.search = search = app.search or search_of(base, app.registry)
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
        if app.search is not None:
            keys = list(app.search.varied)
        varied = tuple(dict.fromkeys((*keys, *(before.varied if before else ()))))
        self.sweep = Sweep(
            tuple(app.arguments.overrides),
            varied,
            goal,
            owner=owner(),
            traded=tuple(traded),
            title=getattr(app.search, "title", ""),
        )
        self.parent: Parent | None = None
        self.collector: Collector | None = None
        self._reported: set[int] = set()
        self._at_work = threading.Lock()
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

    def follow(self) -> None:
        """Tell the tracker of the runs that others have done since it was told last; after trouble
        it is left alone until all is done.
        """
        collector = self.collector
        if self.parent is None or collector is None or not collector.asked:
            return
        with self._at_work:
            notes = [note for note in collector.job.notes.read() if note.job not in self._reported]
            done = [note for note in notes if note.status != FAILED]
            for first in range(0, len(done), TOGETHER):
                part = done[first : first + TOGETHER]
                self._report([*part], functools.partial(self._send, part))
            for note in notes:
                if note.status == FAILED and note.job in collector.asked:
                    self._report([note], functools.partial(self._fail, collector, note))

    def _report(self, notes: Sequence[Note], report: Callable[[], str]) -> None:
        """Report jobs to the tracker, unless it is in trouble."""
        if not self.trouble:
            self._reported |= {note.job for note in notes}
            self.trouble = report()

    def _send(self, notes: Sequence[Note]) -> str:
        """Give the tracker finished runs; what went wrong, or ""."""
        folders, parent = [Path(note.folder) for note in notes], sure(self.parent)
        return str(self.app.session.ask(self.component, lambda: parent.send_all(folders)))

    def _fail(self, collector: Collector, note: Note) -> str:
        """Tell the tracker of a run that failed; what went wrong, or ""."""
        known = Path(note.folder), sure(self.parent).sweep.id, note.error, self.sweep.varied
        return str(self.app.session.fail(collector.asked[note.job], *known))

    def hand_in(self, notes: list[Note]) -> list[Note]:
        """Ask a tracker that was in trouble once more, now that nothing waits for it; returns
        the notes as they then are.
        """
        if self.component is None:
            return notes
        self._at_work.acquire()  # whoever follows is at its last run

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
            if trouble:  # whoever closes it later says how it ended
                self._note(attrs.evolve(parent.sweep, status=status, pending=True))
            return self.trouble or trouble
        if self.begun:
            self._note(attrs.evolve(self.sweep, status=status))
        return self.trouble

    def _note(self, sweep: Sweep) -> None:
        """Note the sweep in its folder, as far as that can be written."""
        try:
            write_sweep(self.folder, sweep)
        except StoreError as error:
            terminal.warn(str(error))


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

    notes : of all jobs that ended.   total : jobs.
    trouble : what the tracker said, "" where nothing.
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
