"""A multirun: every configuration checked first, one line of progress, failures at the end, a table to close."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Override, Sweep
from hydra.errors import HydraException
from omegaconf import OmegaConf

from arboretum.cli import terminal
from arboretum.cli.comparison import Comparison, uncertified
from arboretum.cli.job import Job
from arboretum.cli.parent import Parent, tidy
from arboretum.cli.progress import QUIET_SECONDS, Line, Standing, Watch, waiting
from arboretum.cli.signals import FAILED_STATUS, TRACKER_FAILED, status_of, word_of
from arboretum.config.compose import Composed, Loader
from arboretum.config.launch import multirun
from arboretum.config.resolve import component_from
from arboretum.config.search import NAME, STUDY, search_of
from arboretum.engine.check import check_goal
from arboretum.errors import ArboretumError, ConfigError, StoreError
from arboretum.interfaces.component import KINDS
from arboretum.runs.folder import RECORD, SWEEP_DIR, is_tracked, make_ready
from arboretum.runs.index import default_root
from arboretum.runs import sweeps
from arboretum.runs.sweeps import BROKEN, ENDED, FAILED, KILLED, SWEEP, Note, Notes, owner, read_sweep, records_of, write_sweep

if TYPE_CHECKING:
    from arboretum.cli.run import Application

SHOWN_FAILURES = 20
DIED = "a worker process ended before its run was done (killed, or out of memory: fewer workers may help)"
MULTIRUN = "multirun.yaml"
"""What Hydra notes of a sweep in its folder."""
LAST = ("seed", "split.fold")
"""Keys that end the varied part of a run's name."""


def sweep(app: Application, hydra: Any, loader: Loader, base: Any) -> int:
    """Run all jobs; returns the exit status: 1 when one failed, 3 when one is not tracked, 130 or 143 when it was ended."""
    folder = Path(str(base.hydra.sweep.dir))
    check_goal(str(base.goal))
    overrides = OverridesParser.create().parse_overrides(list(app.arguments.overrides))
    _refuse_repeats(overrides)
    _refuse_mixture(folder, base, app.arguments.overrides)
    post = Post(app, folder, base, _varied_keys(overrides, base))
    make_ready(folder, SWEEP_DIR)
    line, start = Line(), time.monotonic()
    post.open(line)
    notes = Notes.open(folder)
    job = Job(
        app.files,
        default_root(),
        own=app.session,
        notes=notes.folder.absolute(),
        sweep=folder.absolute(),
        constant=frozenset(one.get_key_element() for one in overrides if not one.is_sweep_override()),
        varied=post.sweep.varied,
        goals=post.goals,
        sweep_id=post.parent.sweep.id if post.parent else "",
        progress=lambda done, total, message: line.show(message, now=True) if "compil" in message else None,
    )
    ended = broken = None
    try:
        with Watch(line, notes.read, lambda: loader.n_checked).watching():
            multirun(hydra, job, app.arguments.overrides)
    except KeyboardInterrupt as error:
        ended = error
    except HydraException as error:
        hint = f"; hydra/sweeper={NAME} searches intervals" if "INTERVAL_SWEEP" in str(error) else ""
        broken = ConfigError(" ".join(str(error).split()) + hint)
    except Exception as error:
        broken = error
    finally:
        notes.close()
    done, records = notes.read(), records_of(folder)
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
    kept = f"{sum(note.status != FAILED for note in done)} of {loader.n_checked} runs are finished and kept in {folder} "
    kept += "(the same command with skip_finished=true does the others)"
    if ended is not None:
        terminal.tell(f"arboretum: {word_of(ended)}; {kept}")
        return status_of(ended)
    if isinstance(broken, BrokenExecutor):
        raise StoreError(f"{DIED}; {kept}") from broken
    if broken is not None:
        raise broken
    if any(note.status == FAILED for note in done):
        return FAILED_STATUS
    return TRACKER_FAILED if trouble or any(note.tracker_error for note in done) else 0


class Post:
    """What a sweep has to do with its tracker, which may be in trouble at any time and never loses a run."""

    def __init__(self, app: Application, folder: Path, base: Any, varied: Sequence[str]) -> None:
        composed = Composed(base)
        self.app, self.folder = app, folder
        self.component = component_from(composed.task, composed.choices, "tracker", app.registry)
        self.config = OmegaConf.to_container(composed.task, resolve=False)
        before, search = read_sweep(folder), search_of(base)
        varied = tuple(dict.fromkeys((*varied, *(before.varied if before else ()))))
        self.goals = search.goals if search else ()
        if search and before is not None and before.is_running and before.owner != owner():
            msg = f"another process searches in {str(folder)!r} ({before.owner.rsplit(' ', 2)[0]}); wait for it, or choose another folder"
            raise StoreError(f"{msg} with hydra.sweep.dir=FOLDER")
        goals = self.goals or (str(base.goal),)
        self.sweep = sweeps.Sweep(tuple(app.arguments.overrides), varied, goals[0], owner=owner(), traded=goals[1:])
        self.parent: Parent | None = None
        self.trouble = ""

    def _ask(self, what: str, action: Callable[[], Any], line: Line | None = None) -> str:
        if self.component is None:
            return ""
        with waiting(f"{what} tracker {self.component.name}", line):
            return self.app.session.ask(self.component, action)

    def open(self, line: Line) -> None:
        """Make the tracker ready and open the parent run, before any worker starts."""
        start = time.monotonic()
        self.trouble = self._ask("opening", self._open, line)
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

        self.trouble = self._ask("handing in runs to", send, line)
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
            trouble = self._ask("closing the sweep in", lambda: self.parent.close(compared, status))
            self.trouble = self.trouble or trouble
        return self.trouble


def _varied_keys(overrides: Sequence[Override], base: Any) -> list[str]:
    """What differs from job to job, in the order in which it was said, seed and fold last."""
    keys = [override.get_key_element() for override in overrides if override.is_sweep_override()]
    keys = [*keys, *(base.hydra.sweeper.get("params") or {})]
    return sorted((key.lstrip("+") for key in keys if not key.startswith("hydra")), key=lambda key: key in LAST)


def _refuse_repeats(overrides: Sequence[Override]) -> None:
    """Raise ConfigError when a swept key names a value twice: the same run twice weighs double in every average."""
    for override in overrides:
        key = override.get_key_element()
        if not override.is_choice_sweep():
            continue
        if not isinstance(override.value(), ChoiceSweep):  # glob(…)
            if override.key_or_group not in KINDS and "/" not in override.key_or_group:
                raise ConfigError(f"{override.input_line}: glob(…) chooses among the options of a group; say the values: {key}=A,B")
            continue
        if any(isinstance(item, Sweep) for item in override.value().list):
            raise ConfigError(f"{override.input_line}: range(…) stands alone; say each value, separated by commas")
        values = list(override.sweep_string_iterator())
        twice = [value for i, value in enumerate(values) if value in values[:i]]
        if twice:
            once = ",".join(dict.fromkeys(values))
            raise ConfigError(f"{override.input_line} names {twice[0]} twice; say each value once: {key}={once}")


def _refuse_mixture(folder: Path, base: Any, overrides: Sequence[str]) -> None:
    """Raise StoreError when the folder holds runs of another sweep: nobody could tell them apart any more.

    The same command again, and going on with ``skip_finished=true``, belong there; no run of theirs overwrites another's.
    """
    held, before = sum(1 for _ in folder.glob(f"*/{RECORD}")), read_sweep(folder)
    if not held or base.get("skip_finished") is True or (before is not None and before.asks(overrides)):
        return
    msg = f"sweep folder {str(folder)!r} holds {held} finished runs of another sweep; they are kept: choose another folder "
    raise StoreError(msg + "with hydra.sweep.dir=FOLDER, add to that sweep with skip_finished=true, or move it away")


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
