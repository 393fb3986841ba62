"""What a sweep's folder says of the sweep: its parent in the tracker, what varies in it, how each
job ended, who works on it.

And what its runs are called: what the sweep varies, then method, data set and seed.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs

from arboretum.errors import StoreError
from arboretum.model.plain import Facts, Plain
from arboretum.model.record import Record
from arboretum.model.shown import masked_values
from arboretum.plugin.registry import NONE
from arboretum.runs.folder import (
    RECORD,
    SWEEP_DIR,
    asked_for,
    make_ready,
    read_json,
    record_from,
    run_folders,
    write_files,
)

SWEEP = "sweep.json"
TOKEN = "token"  # file in a folder of notes
RUNNING, ENDED, BROKEN, KILLED = "RUNNING", "FINISHED", "FAILED", "KILLED"
"""How a sweep stands, in the words of the tracker's contract."""
DONE, SKIPPED, FAILED = "finished", "skipped", "failed"  # how a job of a sweep ended
UNSAID = ("tracker", "skip_finished", "plugins")


@attrs.frozen
class Sweep:
    """One sweep: the commands that were given for one folder.

    overrides : of the last command.
    varied : keys that differ, with which names begin.
    goal : what is best.
    tracker : its name and fields, {} without one.
    id : the parent's there, "" where none could be opened.
    owner : of the process that works on it (:func:`owner`).
    status : RUNNING, then how it ended.
    traded : metrics that a search trades off against the goal.
    pending : the tracker has not heard the status yet.
    title : of a study, "study kinds"; "" of other sweeps.
    """

    overrides: tuple[str, ...] = ()
    varied: tuple[str, ...] = ()
    goal: str = ""
    tracker: Plain = attrs.field(factory=dict)
    id: str = ""
    owner: str = ""
    status: str = RUNNING
    traded: tuple[str, ...] = ()
    pending: bool = False
    title: str = ""

    @property
    def name(self) -> str:
        """The title, or the overrides that say what is done, as in the runs' names: what varies
        first, nothing of how it is kept.
        """
        if self.title:
            return self.title
        given = [text.lstrip("+").partition("=")[::2] for text in self.overrides]
        named = [
            one
            for one in given
            if one[0] not in UNSAID and not one[0].startswith(("hydra.", "hydra/", "tracker."))
        ]
        order = {key: place for place, key in enumerate(self.varied)}
        named.sort(key=lambda one: order.get(one[0], len(order)))
        short = short_names(key for key, _ in named)
        return " ".join(f"{short[key]}={value}" for key, value in masked_values(named)) or "sweep"

    def asks(self, overrides: Sequence[str]) -> bool:
        """Return whether a command asks for the same runs; Hydra's own keys say how and where they
        are done.
        """
        ours, theirs = (
            [text for text in said if not text.startswith("hydra")]
            for said in (self.overrides, masked_values(overrides))
        )
        return ours == theirs

    def is_of(self, tracker: Plain) -> bool:
        """Return whether the parent is in that tracker (name and fields), as far as what is noted
        tells.
        """
        return bool(self.id) and masked_values(dict(self.tracker)) == masked_values(dict(tracker))

    @property
    def is_running(self) -> bool:
        """Whether the sweep's status is RUNNING and its process is not known to have ended."""
        return self.status == RUNNING and not is_dead(self.owner)


def write_sweep(folder: Path, sweep: Sweep) -> None:
    """Note the sweep in its folder, without secrets.  Raises StoreError."""
    write_files(
        folder, {SWEEP: json.dumps(masked_values(attrs.asdict(sweep)), indent=2)}, SWEEP_DIR
    )


def read_sweep(folder: Path) -> Sweep | None:
    """Return the sweep that a folder holds; None where it is none, or nothing can be read.  What a
    later version adds is left aside.
    """
    data = read_json(folder / SWEEP)
    known = {name: data[name] for name in attrs.fields_dict(Sweep) if name in data}
    try:
        lists: Facts = {
            name: tuple(known[name]) for name in ("overrides", "varied", "traded") if name in known
        }
    except TypeError:
        return None
    return Sweep(**{**known, **lists}) if known else None


def runs_of(folder: Path) -> list[Path]:
    """Return the run folders of a sweep, as deep as ``hydra.sweep.subdir`` puts them, without those
    of a sweep that lies within.
    """
    inner = [path.parent for path in folder.rglob(SWEEP) if path.parent != folder]
    return [
        run
        for run in run_folders(folder)
        if run != folder and not any(run.is_relative_to(sweep) for sweep in inner)
    ]


def records_of(folder: Path, damaged: list[str] | None = None) -> list[Record]:
    """Return the finished runs of a sweep's folder, as far as they can be read, without trees: of
    those asked for alike, the newest.

    damaged : a list, to which "FOLDER: why it cannot be read" is added of each that is left out.
    """
    found: dict[str, Record] = {}
    for path in sorted(
        (run / RECORD for run in runs_of(folder)), key=lambda path: path.stat().st_mtime
    ):
        try:
            record = record_from({RECORD: path.read_text(encoding="utf-8")}, str(path.parent))
        except (StoreError, OSError, UnicodeDecodeError) as error:
            if damaged is not None:
                known = isinstance(error, StoreError)
                damaged.append(str(error) if known else f"{path.parent}: {error}")
            continue
        found[asked_for(record.config)] = record
    return list(found.values())


def owner() -> str:
    """Return this process, as a parent run names who works on it: "HOST PID STARTED"."""
    return f"{socket.gethostname()} {os.getpid()} {_start_of_process(os.getpid())}"


def is_dead(named: str) -> bool:
    """Return whether the process that :func:`owner` named is known to have ended: on this machine,
    and gone, or another by now.
    """
    host, pid, started = ([*named.split(" ", 2), "", ""])[:3]
    if host != socket.gethostname() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        pass  # somebody else's process
    return _start_of_process(int(pid)) != started


def _start_of_process(pid: int) -> str:
    """When a process began (ticks since the machine did, which has an id); "" where /proc does
    not tell, or the process has ended and nobody has asked how.
    """
    try:
        known = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        machine = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
        return "" if known[0] == "Z" else f"{known[19]} {machine}"
    except (OSError, IndexError):
        return ""


@contextmanager
def locked(folder: Path) -> Iterator[str]:
    """Hold a sweep's folder for this command alone; the system lets it go however that ends.

    Yields "", or on a file system that knows no such locks, which refuses nobody, a sentence that
    says so.  Raises StoreError where another command holds it.
    """
    handle, trouble = os.open(folder, os.O_RDONLY), ""
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found = read_sweep(folder)
            who = f" ({found.owner.rsplit(' ', 2)[0]})" if found and found.is_running else ""
            raise StoreError(
                f"another command works in sweep folder {str(folder)!r}{who}; wait for it, or "
                f"choose another folder with {SWEEP_DIR} (of a study: --out FOLDER)"
            ) from None
        except OSError as error:
            trouble = (
                f"sweep folder {str(folder)!r} cannot be locked ({error.strerror}): see that no "
                "other command works in it"
            )
        yield trouble
    finally:
        os.close(handle)


@attrs.frozen
class Note:
    """How one job ended.

    job : its number.
    status : DONE, SKIPPED or FAILED.
    label : "method=cart dataset=iris seed=1".
    folder : where the run is kept.
    dataset : its name, "" where the job failed.
    goal : the metric looked at, "" where there is none.
    value : its value, or None.
    """

    job: int
    status: str
    label: str
    folder: str = ""
    dataset: str = ""
    goal: str = ""
    value: float | None = None
    error: str = ""
    tracker_error: str = ""
    warnings: tuple[str, ...] = ()


class Notes:
    """The folder of a sweep's notes; it lives as long as the sweep runs.

    By a token in it a worker knows whether it sees the sweep's own folder, and not another of that
    name on its own disk.
    """

    def __init__(self, folder: Path, token: str = "") -> None:
        """``folder`` : absolute for workers; ``token`` : what the folder's file of it holds."""
        self.folder, self.token = folder, token
        self._read: dict[str, Note] = {}

    def __getstate__(self) -> Facts:  # what a worker receives
        return {**self.__dict__, "_read": {}}

    def is_seen(self) -> bool:
        """Return whether the folder is here."""
        try:
            return (self.folder / TOKEN).read_text(encoding="utf-8") == self.token
        except (OSError, UnicodeDecodeError):
            return False

    @staticmethod
    def open(sweep: Path) -> Notes:
        """Make the folder inside a sweep's folder, under a name of its own.  Raises StoreError."""
        notes = Notes((sweep / f".notes-{secrets.token_hex(4)}").absolute(), secrets.token_hex(16))
        make_ready(notes.folder, SWEEP_DIR)
        write_files(notes.folder, {TOKEN: notes.token}, SWEEP_DIR)
        return notes

    def write(self, note: Note) -> None:
        """Leave a note.  Raises StoreError."""
        write_files(self.folder, {f"{note.job}.json": json.dumps(attrs.asdict(note))}, SWEEP_DIR)

    def find(self, job: int) -> Note | None:
        """Return the note of a job, None where there is none."""
        data = read_json(self.folder / f"{job}.json")
        return Note(**{**data, "warnings": tuple(data["warnings"])}) if data else None

    def read(self) -> list[Note]:
        """Return all notes so far, by job; each file is read once."""
        for path in self.folder.glob("[!.]*.json"):
            if path.name not in self._read and (note := self.find(int(path.stem))) is not None:
                self._read[path.name] = note
        return sorted(self._read.values(), key=lambda note: note.job)

    def close(self) -> None:
        """Read what is left and take the folder away."""
        self.read()
        shutil.rmtree(self.folder, ignore_errors=True)


def run_name(config: Plain, varied: Sequence[str] = ()) -> str:
    """Compose "max_depth=3 seed=1 cart iris".

    config : a record's.
    varied : keys that come first, as lists cut names at their end.
    """
    choices = config.get("choices", {})
    words = {key: str(choices[key]) for key in ("method", "dataset") if choices.get(key)}
    words["seed"] = f"seed={config.get('seed', 0)}"
    named = config.get("study") or {}
    values = {**dict(flatten(config)), **choices, **named}
    words |= {key: str(named[key]) for key in words if key in named}
    short = short_names(varied)
    first = [
        words.pop(key, "") or f"{short[key]}={spell_choice(values.get(key))}" for key in varied
    ]
    return " ".join([*first, *words.values()])


# keys of the run itself: a component's field of that name is another thing
OF_RUNS = ("seed", "theta")


def short_names(keys: Iterable[str]) -> dict[str, str]:
    """Key → its last word, or all of it where that word would say another key, too: "max_depth",
    "criterion.seed".
    """
    last = {key: key.rpartition(".")[2] for key in keys}
    words = Counter(last.values())
    return {key: key if words[word] > 1 or word in OF_RUNS else word for key, word in last.items()}


def flatten(config: Plain, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield ("stopping.standard.max_depth", 4), …; a list is one value."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def spell_choice(value: object) -> str:
    """Return a choice or a value, as names and tables have it: "gain_ratio", "pure+mass",
    "none".
    """
    if isinstance(value, list | tuple):
        return "+".join(spell_choice(item) for item in value) or NONE
    if isinstance(value, bool):
        return str(value).lower()
    return NONE if value is None else str(getattr(value, "name", value))
