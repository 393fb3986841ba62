"""One run folder: ``record.json``, ``tree.json``, ``tree.svg``, ``tree.txt``, each there whole
or not at all.
"""

import errno
import functools
import hashlib
import itertools
import json
import os
import re
import secrets
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs

from arboretum.errors import ArboretumError, DataError, StoreError
from arboretum.model.front import Front
from arboretum.model.plain import Facts, Plain
from arboretum.model.reading import parse
from arboretum.model.record import UNFINISHED, Record
from arboretum.model.tree import Tree

RECORD, TREE, PICTURE, TEXT = "record.json", "tree.json", "tree.svg", "tree.txt"
FRONTS = ("front.json", "front.svg", "front.html")
FURTHER = "tree-{}.json"  # further optimal trees, numbered from 2
ERROR = "error.txt"
# which tracker has the run, under which id; absent while no tracker has it
TRACKED = "tracked.json"
# how the folder of a run, of a sweep is chosen
RUN_DIR, SWEEP_DIR = "hydra.run.dir=FOLDER", "hydra.sweep.dir=FOLDER"
_OURS = (TREE, PICTURE, TEXT, *FRONTS)
# what a text file shows of a tree, at most, the heaviest branches: nobody reads a hundred thousand
# lines
LEAVES_IN_TEXT = 5_000
# what a disk must still take before a run starts; a record with its tree is seldom larger
PROBE_BYTES = 65_536


def artifacts(record: Record, drawn: bool = True) -> dict[str, str]:
    """File name → text of a finished run; the tree's files are absent when there is no tree.

    Further optimal trees that a solver listed lie beside it as ``tree-2.json``, ``tree-3.json``, …;
    a front as the files ``FRONTS``.

    drawn : False, as for a run that was interrupted: of a front the first file alone, since
        hundreds of trees take seconds (``Front.files`` draws them later).
    """
    tree, trees = record.tree, {}
    if tree is not None:
        trees = {
            TREE: tree.to_json(),
            TEXT: tree.to_text(max_leaves=LEAVES_IN_TEXT),
            PICTURE: tree.to_svg(title=record.title or None),
        }
    others = () if record.solution is None else record.solution.others
    trees |= {FURTHER.format(number): other.to_json() for number, other in enumerate(others, 2)}
    if record.solution is not None and (front := record.solution.front) is not None:
        trees |= (
            front.files(record.title)
            if drawn and not record.solution.interrupted
            else {FRONTS[0]: front.text()}
        )
    checksums = {name: checksum(text) for name, text in trees.items() if name.endswith(".json")}
    return {**trees, RECORD: attrs.evolve(record, checksums=checksums).to_json()}


def checksum(text: str) -> str:
    """SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@contextmanager
def _writing_into(folder: Path, temporary: Iterable[Path], option: str) -> Iterator[None]:
    """Make the folder, and take temporary files away at the end; raises StoreError naming
    folder, reason and way out.

    option : of the command, that chooses another folder, or "another FILE" where none does.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        what = {RUN_DIR: "run folder", SWEEP_DIR: "sweep folder"}.get(option, "folder")
        room = "make room, or " if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        way_out = option if option.startswith("another ") else f"another with {option}"
        raise StoreError(
            f"{what} {str(folder)!r} cannot be written ({error.strerror or error}); {room}choose "
            f"{way_out}"
        ) from error
    finally:
        for path in temporary:
            remove(path)


def make_ready(folder: Path, option: str = RUN_DIR) -> bool:
    """Make the folder and prove that it can be written; returns whether it was not there before.

    option : of the command, that chooses another.   Raises StoreError.
    """
    probe, fresh = folder / f".probe-{secrets.token_hex(4)}", not os.path.lexists(folder)
    try:
        with _writing_into(folder, [probe], option):
            probe.write_bytes(b"\0" * PROBE_BYTES)
    except StoreError:
        if fresh:
            remove_empty(folder)
        raise
    return fresh


def write_files(folder: Path, files: Mapping[str, str | bytes], option: str = RUN_DIR) -> None:
    """Write all files or none: first all under temporary names, then renamed in order,
    ``record.json`` last.

    option : of the command, that chooses another folder.
    Raises StoreError: the folder cannot be written, the disk is full.
    """
    mark = secrets.token_hex(4)
    temporary = {
        name: folder / f".{name}.{mark}" for name in sorted(files, key=lambda name: name == RECORD)
    }
    with _writing_into(folder, temporary.values(), option):
        for name, path in temporary.items():
            with path.open("wb") as file:
                file.write(content.encode() if isinstance(content := files[name], str) else content)
                file.flush()
                os.fsync(file.fileno())
        for name, path in temporary.items():
            path.replace(folder / name)


def write_run(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Keep a finished run; what an earlier run left in the folder about failures and trackers is
    taken away.
    """
    foreign = holds_others(folder)
    write_files(folder, files)
    remove(folder / TRACKED)
    if not foreign:
        remove(folder / ERROR)


def holds_others(folder: Path) -> bool:
    """Return whether a folder is not a run's alone: an ``error.txt`` there may be anybody's."""
    return folder.is_dir() and not all(
        is_own(path.name) or path.name.startswith(".") for path in folder.iterdir()
    )


def is_own(name: str) -> bool:
    """Return whether runs write files of that name."""
    return (
        name in (RECORD, *_OURS, ERROR, TRACKED)
        or re.fullmatch(FURTHER.format(r"\d+"), name) is not None
    )


def read_files(folder: Path) -> dict[str, str]:
    """File name → text of what a run folder holds.  Raises StoreError when it is no run folder."""
    if not (folder / RECORD).is_file():
        if (folder / ERROR).is_file():
            reason = (
                (folder / ERROR).read_text(encoding="utf-8", errors="replace").partition("\n")[0]
            )
            raise StoreError(
                f"the run of {str(folder)!r} failed and has no {RECORD}; its {ERROR} says: {reason}"
            )
        hint = (
            " (a sweep's folder holds one run folder per job)"
            if any(folder.glob(f"*/{RECORD}"))
            else ""
        )
        raise StoreError(f"{str(folder)!r} holds no {RECORD}, so it is no run folder{hint}")
    try:
        # sync hands pictures and texts on unread: a link in a folder from elsewhere may name a file
        # of the reader's
        names = (
            RECORD,
            TREE,
            FRONTS[0],
            *(name for name in (PICTURE, TEXT, *FRONTS[1:]) if not (folder / name).is_symlink()),
        )
        return {
            name: (folder / name).read_text(encoding="utf-8")
            for name in names
            if (folder / name).is_file()
        }
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{str(folder)!r} cannot be read: {error}") from error


def record_from(files: Mapping[str, str], where: str) -> Record:
    """Rebuild a record with its tree, where there is one, from its files; raises StoreError naming
    ``where``.

    files : file name → text, as of :func:`read_files`.
    """
    if RECORD not in files:
        raise StoreError(f"{where} has no {RECORD}")
    try:
        written, tree = files[RECORD], files.get(TREE)
        record = Record.from_json(written)
        if tree is None:
            return record
        record = _compare_with_tree(Record.from_json(written, _read_tree(tree, record)), tree)
        if FRONTS[0] in files and record.solution is not None:
            front = Front.from_json(parse(files[FRONTS[0]]))
            record = _compare_with_tree(
                attrs.evolve(record, solution=attrs.evolve(record.solution, front=front)),
                files[FRONTS[0]],
                FRONTS[0],
            )
        return record
    except (ArboretumError, KeyError, TypeError) as error:
        reason = (
            error
            if isinstance(error, StoreError)
            else f"not a record of this version ({type(error).__name__}: {error})"
        )
        raise StoreError(f"{where}: {reason}") from error


def _compare_with_tree(record: Record, tree: str, name: str = TREE) -> Record:
    """Return the record, not verified any more where the tree (or the front) beside it is not the
    one that it has the checksum of.
    """
    if record.checksums.get(name) == checksum(tree) or not record.verified:
        return record
    note = (
        f"{name} is not the {name.partition('.')[0]} that was verified: its checksum differs "
        "from the record's"
    )
    return attrs.evolve(record, verified=False, notes=(*record.notes, note))


def _read_tree(text: str, record: Record) -> Tree:
    """Return the tree; a test of an installed plugin can be read once that is imported (files that
    a record names are not).

    Raises DataError for what is no tree, and, with the way out, for a test of a plugin file that is
    not loaded.
    """
    try:
        return Tree.from_json(text)
    except DataError:
        from arboretum.plugin.discovery import load_registry

        load_registry()
    try:
        return Tree.from_json(text)
    except DataError as error:
        files = record.config.get("plugins")
        if not files or "type of test" not in str(error):
            raise
        raise DataError(
            f"{error}; the run used the plugin file {files[0]!r}: look at it, then say --plugin "
            f"{shlex.quote(files[0])} (in Python: load(RUN, plugins=[FILE]))"
        ) from None


def read_run(folder: Path) -> Record:
    """Return the record of a run folder, with its tree.  Raises StoreError."""
    return record_from(read_files(folder), str(folder))


def read_json(path: Path) -> Facts:
    """Return what a small file of ours says; {} where it cannot be read, or holds no mapping."""
    try:
        data = parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def identity_of(folder: Path) -> tuple[str, str]:
    """Fingerprint and names (:func:`names_of`) of the finished and verified run in a folder;
    empty texts where there is none.
    """
    data = read_json(folder / RECORD)
    try:
        known = (data.get("checksums") or {}).get(TREE)
        whole = not known or known == checksum((folder / TREE).read_text(encoding="utf-8"))
        return (
            (data["fingerprint"], names_of(data.get("config") or {}))
            if whole and data["verified"] is True
            else ("", "")
        )
    except (OSError, ValueError, KeyError, AttributeError):
        return "", ""


def names_of(config: Plain) -> str:
    """Return the options that a run was asked for by, as text; no part of the fingerprint, as a
    preset and its parts are the same work.
    """
    choices = {
        kind: option for kind, option in (config.get("choices") or {}).items() if kind != "tracker"
    }
    if study := config.get("study"):
        choices["study"] = study
    return json.dumps(choices, sort_keys=True, default=str)


def asked_for(config: Plain) -> str:
    """Return what a run was asked for, as text: options and values, but for those that say how it
    is kept.
    """
    asked = {
        key: config.get(key)
        for key in config
        if key not in ("goal", "skip_finished", "tracker", "plugins")
    }
    return json.dumps([names_of(config), {**asked, "choices": 0}], sort_keys=True, default=str)


def changed_data(folder: Path, config: Plain, name: str, sha256: str) -> str:
    """Return what is said where the run in a folder was asked for alike and had other data, else
    "".

    config : of the run that is asked for now.   name, sha256 : of its data set.
    """
    kept = read_json(folder / RECORD)
    before = (kept.get("data") or {}).get("sha256")
    if before in (None, sha256) or asked_for(kept.get("config") or {}) != asked_for(config):
        return ""
    return (
        f"data set {name} has changed since its runs in {str(folder.parent)!r} (checksum "
        f"{before[:12]}, now {sha256[:12]}): they are done again, and the old ones are kept"
    )


def is_taken(folder: Path, fingerprint: str = "") -> bool:
    """Return whether a folder holds a finished run of another fingerprint (or a ``record.json``
    that cannot be read), or files of a run's names that no record tells of, and so are somebody's.
    One that was interrupted makes room for the same run, done to its end.
    """
    if (folder / RECORD).exists():
        same = fingerprint, UNFINISHED + fingerprint
        return not (fingerprint and identity_of(folder)[0] in same)
    return any(
        os.path.lexists(folder / name) for name in (RECORD, *_OURS, TRACKED, FURTHER.format(2))
    )


def free_folder(folder: Path, fingerprint: str = "", *, refuse: bool = False) -> Path:
    """Return the folder itself, or the first of "NAME-2", "NAME-3", … that holds no other finished
    run (the same again loses nothing).

    refuse : raise StoreError where the folder itself holds one: it would be lost.
    """
    if not is_taken(folder, fingerprint):
        return folder
    if refuse:
        what = (
            f"another finished run (arboretum show {folder}); it is"
            if (folder / RECORD).exists()
            else "files of a run's names; they are"
        )
        raise StoreError(
            f"run folder {str(folder)!r} holds {what} kept: choose another with {RUN_DIR}, "
            "or move that one away"
        )
    others = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    return next(other for other in others if not is_taken(other, fingerprint))


def is_tracked(folder: Path, tracker: Plain, sweep_id: str = "") -> bool:
    """Return whether that tracker (name and fields) has the run: below this parent, if one is
    named.
    """
    noted = read_json(folder / TRACKED)
    return noted.get("tracker") == dict(tracker) and sweep_id in ("", noted.get("sweep", ""))


def run_folders(root: Path) -> list[Path]:
    """Return every run folder at or below ``root``, sorted, without a tracker's copies."""
    found = sorted(path.parent for path in root.rglob(RECORD))
    return [folder for folder in found if folder == root or not is_copy(folder)]


def is_copy(folder: Path) -> bool:
    """Return whether a folder is a tracker's own copy of a run's files: MLflow's ID/artifacts."""
    return (
        folder.name == "artifacts" and re.fullmatch("[0-9a-f]{32}", folder.parent.name) is not None
    )


def remove(path: Path) -> None:
    """Take away a file of ours; what cannot be taken away stays."""
    with suppress(OSError):
        path.unlink()


def remove_empty(folder: Path) -> None:
    """Take away a folder that this process made, if nothing is in it; a link to a folder stays."""
    with suppress(OSError):
        folder.rmdir()


# environment variable: the folder of the index; default ``outputs`` where the command is run
HOME = "ARBORETUM_RUNS"


class Index:
    """What is finished below a root, fingerprint → run folder: one small file per run, whose name
    is the fingerprint.

    So there is nothing to lock: two processes that finish the same run write the same name, and
    either content is right.
    more : further folders to look through, once (a sweep folder moved here).
    """

    def __init__(self, root: Path, more: Path | None = None) -> None:
        self.root, self._more = root / ".finished", more

    def add(self, fingerprint: str, folder: Path) -> str:
        """Note a finished run; returns what went wrong ("" when nothing did): the run itself is
        kept either way.
        """
        try:
            write_files(self.root / fingerprint[:2], {fingerprint: f"{folder.resolve()}\n"})
        except StoreError as error:
            return f"not noted as finished, so skip_finished=true would repeat it: {error}"
        return ""

    def find(self, fingerprint: str, names: str = "") -> Path | None:
        """Return the folder of the finished run with that fingerprint, when it is still there and
        says the same; else None.

        One of the same names (:func:`~arboretum.runs.folder.names_of`) among ``more`` is preferred,
        then any.
        """
        seen = self._elsewhere
        folders = [
            seen.get((fingerprint, names)),
            *(path for (mark, _), path in seen.items() if mark == fingerprint),
        ]
        with suppress(OSError):  # not in the index: what lies among ``more`` may do
            folders.insert(
                1,
                Path(
                    (self.root / fingerprint[:2] / fingerprint).read_text(encoding="utf-8").strip()
                ),
            )
        return next(
            (path for path in folders if path is not None and identity_of(path)[0] == fingerprint),
            None,
        )

    @functools.cached_property
    def _elsewhere(self) -> dict[tuple[str, str], Path]:
        """Return the folder of each run that lies beneath the other root, by what identifies it."""
        return (
            {
                found: folder
                for folder in run_folders(self._more)
                if (found := identity_of(folder))[0]
            }
            if self._more
            else {}
        )


def study_folder(name: str) -> Path:
    """Return where the runs of a study are kept unless another folder is named."""
    return default_root() / "study" / name


def default_root() -> Path:
    """Return where the index is kept."""
    given = os.environ.get(HOME)
    return Path(given).expanduser() if given else Path.cwd() / "outputs"
