"""A multirun: every configuration checked first, one line of progress, failures at the end, a table to close."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Sweep
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from arboretum.cli import terminal
from arboretum.cli.comparison import Comparison, uncertified
from arboretum.cli.job import Job
from arboretum.cli.parent import Parent, tidy
from arboretum.cli.progress import QUIET_SECONDS, Line, Standing, Watch, waiting
from arboretum.cli.signals import FAILED as FAILED_STATUS
from arboretum.cli.signals import TRACKER_FAILED, status_of, word_of
from arboretum.config.compose import Composed, Loader
from arboretum.config.launch import multirun
from arboretum.config.resolve import component_from
from arboretum.config.search import NAME as SEARCH
from arboretum.config.search import STUDY, search_of
from arboretum.engine.check import check_goal
from arboretum.errors import ArboretumError, ConfigError, StoreError
from arboretum.interfaces.component import KINDS
from arboretum.runs.folder import RECORD, is_tracked, make_ready
from arboretum.runs.index import default_root
from arboretum.runs.notes import FAILED, Note, Notes
from arboretum.runs.sweeps import BROKEN, ENDED, KILLED, SWEEP, owner, read_sweep, records_of, write_sweep
from arboretum.runs.sweeps import Sweep as SweepNote

if TYPE_CHECKING:
    from arboretum.cli.run import Application

SHOWN_FAILURES = 20
CHECKING_SECONDS = 2.0
DIED = "a worker process ended before its run was done (killed, or out of memory: fewer workers may help)"
MULTIRUN = "multirun.yaml"
"""What Hydra notes of a sweep in its folder."""
LAST = ("seed", "split.fold")
"""Keys that end the varied part of a run's name."""


def sweep(app: Application, hydra: Any, loader: Loader, base: Any) -> int:
    """Run all jobs; returns the exit status: 1 when one failed, 3 when one is not tracked, 130 or 143 when it was ended."""
    folder = Path(str(base.hydra.sweep.dir))
    check_goal(str(base.goal))
    _refuse_repeats(app.arguments.overrides)
    _refuse_mixture(folder, base)
    post = Post(app, folder, base)
    _make_ready(folder)
    line, start = Line(), time.monotonic()
    post.open(line)
    notes = Notes.open(folder)
    job = Job(
        app.files,
        default_root(),
        own=app.session,
        notes=notes.folder.absolute(),
        sweep=folder.absolute(),
        constant=_constant_keys(app.arguments.overrides),
        varied=post.sweep.varied,
        goals=post.goals,
        sweep_id=post.parent.sweep.id if post.parent else "",
        progress=_compiling(line),
    )
    loader.checked = _checking(line)
    ended: KeyboardInterrupt | None = None
    broken: Exception | None = None
    try:
        with Watch(line, notes.read, lambda: loader.n_checked).watching():
            multirun(hydra, job, app.arguments.overrides)
    except KeyboardInterrupt as error:
        ended = error
    except HydraException as error:
        broken = _explained(error)
    except Exception as error:
        broken = error
    finally:
        loader.checked = _quiet
        notes.close()
    done = notes.read()
    records = records_of(folder)
    compared = Comparison.of(records, post.sweep.goal, post.sweep.traded)
    if not ended:
        done = post.hand_in(done, line)
    trouble = post.close(compared, KILLED if ended else BROKEN if broken else ENDED)
    if broken is not None and not done and (isinstance(broken, ArboretumError) or not records):
        _remove_leftovers(folder)
        raise broken
    if records:
        terminal.say("\n".join([compared.text(terminal.width() if terminal.is_terminal() else None), *uncertified(records)]))
    _present(done, loader.n_checked, time.monotonic() - start, folder, trouble)
    if ended is not None:
        terminal.tell(f"arboretum: {word_of(ended)}; {_kept(done, loader.n_checked, folder)}")
        return status_of(ended)
    if isinstance(broken, BrokenExecutor):
        raise StoreError(f"{DIED}; {_kept(done, loader.n_checked, folder)}") from broken
    if broken is not None:
        raise broken
    return _status(done, trouble)


def _explained(error: HydraException) -> ConfigError:
    hint = f"; hydra/sweeper={SEARCH} searches intervals" if "INTERVAL_SWEEP" in str(error) else ""
    return ConfigError(" ".join(str(error).split()) + hint)


class Post:
    """What a sweep has to do with its tracker, which may be in trouble at any time and never loses a run."""

    def __init__(self, app: Application, folder: Path, base: Any) -> None:
        composed = Composed(base)
        self.app, self.folder = app, folder
        self.component = component_from(composed.task, composed.choices, "tracker", app.registry)
        self.config = OmegaConf.to_container(composed.task, resolve=False)
        before = read_sweep(folder)
        varied = dict.fromkeys((*_varied_keys(app.arguments.overrides, base), *(before.varied if before else ())))
        overrides, search = tuple(app.arguments.overrides), search_of(base)
        self.goals = search.goals if search else ()
        if search and before is not None and before.is_running and before.owner != owner():
            msg = f"another process searches in {str(folder)!r} ({before.owner.rsplit(' ', 2)[0]}); wait for it, or choose another folder"
            raise StoreError(f"{msg} with hydra.sweep.dir=FOLDER")
        goals = self.goals or (str(base.goal),)
        self.sweep = SweepNote(overrides, tuple(varied), goals[0], owner=owner(), traded=goals[1:])
        self.parent: Parent | None = None
        self.trouble = ""

    def open(self, line: Line) -> None:
        """Make the tracker ready and open the parent run, before any worker starts."""
        if self.component is None:
            write_sweep(self.folder, self.sweep)
            return
        start = time.monotonic()
        with waiting(f"opening tracker {self.component.name}", line):
            self.trouble = self.app.session.ask(self.component, self._open)
        if self.parent is None:
            write_sweep(self.folder, self.sweep)
        if self.trouble and time.monotonic() - start > QUIET_SECONDS:  # else it is said at the end
            terminal.warn(f"{self.trouble}; the sweep goes on, its runs are kept and sent at its end")

    def _open(self) -> None:
        tracker = self.app.session.prepare_tracker(self.component)
        tidy(tracker)
        self.parent = Parent.open(self.folder, self.sweep, tracker, self.config)

    def hand_in(self, notes: Sequence[Note], line: Line) -> list[Note]:
        """Ask a tracker that was in trouble once more, now that nothing waits for it; returns the notes as they then are."""
        if self.component is None:
            return list(notes)
        self.app.session.forgive(self.component)

        def send() -> None:
            if self.parent is None:
                self._open()
            self.parent.send(self.app.registry)

        with waiting(f"handing in runs to tracker {self.component.name}", line):
            self.trouble = self.app.session.ask(self.component, send)
        return [note if note.status == FAILED else attrs.evolve(note, tracker_error=self._lacks(note)) for note in notes]

    def _lacks(self, note: Note) -> str:
        """Why the tracker does not have a finished run, or ""."""
        if self.parent is None or not self.trouble:
            return self.trouble
        return "" if is_tracked(Path(note.folder), self.parent.sweep.tracker, self.parent.sweep.id) else self.trouble

    def close(self, compared: Comparison, status: str) -> str:
        """End the parent; returns what went wrong so far, or ""."""
        if self.parent is None:
            try:
                write_sweep(self.folder, attrs.evolve(self.sweep, status=status))
            except StoreError as error:
                terminal.warn(str(error))
        else:
            with waiting(f"closing the sweep in tracker {self.component.name}"):
                trouble = self.app.session.ask(self.component, lambda: self.parent.close(compared, status))
            self.trouble = self.trouble or trouble
        return self.trouble


def _kept(notes: Sequence[Note], total: int, folder: Path) -> str:
    kept = sum(note.status != FAILED for note in notes)
    others = "the same command with skip_finished=true does the others"
    return f"{kept} of {total} runs are finished and kept in {folder} ({others})"


def _parsed(overrides: Sequence[str]) -> list[Any]:
    return OverridesParser.create().parse_overrides(list(overrides))


def _varied_keys(overrides: Sequence[str], base: Any) -> list[str]:
    """What differs from job to job, in the order in which it was said, seed and fold last."""
    keys = [override.get_key_element() for override in _parsed(overrides) if override.is_sweep_override()]
    keys = [*keys, *(base.hydra.sweeper.get("params") or {})]
    return sorted((key.lstrip("+") for key in keys if not key.startswith("hydra")), key=lambda key: key in LAST)


def _constant_keys(overrides: Sequence[str]) -> frozenset[str]:
    """Keys that every job of the sweep has alike: they tell no job from another."""
    return frozenset(override.get_key_element() for override in _parsed(overrides) if not override.is_sweep_override())


def _refuse_repeats(overrides: Sequence[str]) -> None:
    """Raise ConfigError when a swept key names a value twice: the same run twice weighs double in every average."""
    for override in _parsed(overrides):
        if not override.is_choice_sweep():
            continue
        if not isinstance(override.value(), ChoiceSweep):  # glob(…)
            if override.key_or_group not in KINDS and "/" not in override.key_or_group:
                key = override.get_key_element()
                raise ConfigError(f"{override.input_line}: glob(…) chooses among the options of a group; say the values: {key}=A,B")
            continue
        if any(isinstance(item, Sweep) for item in override.value().list):
            raise ConfigError(f"{override.input_line}: range(…) stands alone; say each value, separated by commas")
        values = list(override.sweep_string_iterator())
        twice = [value for i, value in enumerate(values) if value in values[:i]]
        if twice:
            once = ",".join(dict.fromkeys(values))
            key = override.get_key_element()
            raise ConfigError(f"{override.input_line} names {twice[0]} twice; say each value once: {key}={once}")


def _make_ready(folder: Path) -> None:
    try:
        make_ready(folder)
    except StoreError as error:
        raise StoreError(str(error).replace("run folder", "sweep folder").replace("hydra.run.dir", "hydra.sweep.dir")) from error


def _refuse_mixture(folder: Path, base: Any) -> None:
    """Raise StoreError when the folder holds runs of another sweep: nobody could tell them apart any more.

    The same command again, and going on with ``skip_finished=true``, belong there; no run of theirs overwrites another's.
    """
    held = sum(1 for _ in folder.glob(f"*/{RECORD}")) if folder.is_dir() else 0
    if not held or base.get("skip_finished") is True or _overrides_of(folder) == list(base.hydra.overrides.task):
        return
    msg = f"sweep folder {str(folder)!r} holds {held} finished runs of another sweep; they are kept: choose another folder "
    raise StoreError(msg + "with hydra.sweep.dir=FOLDER, add to that sweep with skip_finished=true, or move it away")


def _overrides_of(folder: Path) -> list[str] | None:
    """The overrides of the sweep that a folder holds, as Hydra noted them; None where that cannot be read."""
    try:
        return list(OmegaConf.load(folder / MULTIRUN).hydra.overrides.task)
    except (OSError, YAMLError, OmegaConfBaseException, AttributeError, TypeError):
        return None


def _remove_leftovers(folder: Path) -> None:
    """A sweep that was refused leaves no folder behind."""
    if any(folder.glob(f"*/{RECORD}")) or (folder / STUDY).exists():
        return
    try:
        for name in (MULTIRUN, SWEEP):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()
    except OSError:
        return  # something else is in it: it stays


def _quiet(n_checked: int) -> None:
    """Nobody watches."""


def _checking(line: Line) -> Any:
    """Says how many configurations are checked, once that takes a while."""
    start = time.monotonic()

    def checked(n_checked: int) -> None:
        if time.monotonic() - start > CHECKING_SECONDS:
            line.show(f"checking configuration {n_checked}")

    return checked


def _compiling(line: Line) -> Any:
    def progress(done: float, total: float | None, message: str) -> None:
        if "compil" in message:
            line.show(message, now=True)

    return progress


def _present(notes: Sequence[Note], total: int, seconds: float, folder: Path, trouble: str) -> None:
    count = attrs.evolve(Standing.of(notes), best=()).text(max(total, len(notes)))
    terminal.say(f"{count}; {terminal.duration(seconds)}; kept in {folder}")
    failures = [note for note in notes if note.status == FAILED]
    for note in failures[:SHOWN_FAILURES]:
        terminal.tell(f"arboretum: failed: {note.label}: {note.error}")
    if len(failures) > SHOWN_FAILURES:
        terminal.tell(f"arboretum: {len(failures) - SHOWN_FAILURES} more failed; each folder below {folder} holds error.txt")
    for warning in dict.fromkeys(text for note in notes for text in note.warnings):
        terminal.warn(warning)
    untracked = [note for note in notes if note.tracker_error]
    if trouble or untracked:
        count = f"{len(untracked)} runs are kept, but not tracked" if untracked else "the sweep's parent run is not tracked"
        reason = untracked[0].tracker_error if untracked else trouble
        terminal.warn(f"{count}: {reason} (arboretum sync {folder} sends them later)")


def _status(notes: Sequence[Note], trouble: str) -> int:
    if any(note.status == FAILED for note in notes):
        return FAILED_STATUS
    return TRACKER_FAILED if trouble or any(note.tracker_error for note in notes) else 0


