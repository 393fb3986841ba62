"""From what a command line names to records: run folders, folders of a sweep or a study, any folder
above, what a tracker keeps under a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import attrs

from arboretum.errors import StoreError, TrackerError
from arboretum.interfaces.tracker import Tracker
from arboretum.model.record import Record
from arboretum.runs.folder import ERROR, RECORD, record_from
from arboretum.runs.listing import JOB, folders_below
from arboretum.runs.sweeps import ENDED, SWEEP, read_sweep
from arboretum.runs.tracking import call_tracker


@attrs.frozen
class Failed:
    """A job without a record.

    where : its folder.
    reason : one line.
    asked : key → value of what the job was asked for, as far as its folder or its sweep says.
    """

    where: str
    reason: str
    asked: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen(eq=False)
class Gathered:
    """What was found.

    records : without trees.
    where : folder or id of each.
    damaged : "FOLDER: why it cannot be read", of those that were left out.
    failed : jobs that left an error and no record.
    """

    records: tuple[Record, ...]
    where: tuple[str, ...]
    damaged: tuple[str, ...] = ()
    failed: tuple[Failed, ...] = ()


def gather(folders: Sequence[str]) -> Gathered:
    """Return the runs at or below folders, each once.

    A study's results lie in a folder, so a folder is all that a word may name.   Raises StoreError
    for a word that is none, or where there is no run at all.
    """
    texts: dict[str, str] = {}
    damaged, failed = [], []
    for word in folders:
        for folder in _run_folders(word):
            try:
                if (path := folder / RECORD).is_file():
                    texts[str(folder.resolve())] = path.read_text(encoding="utf-8")
                else:
                    failed.append(_failure_in(folder))
            except (OSError, UnicodeDecodeError) as error:
                damaged.append(f"{folder}: {error}")
    found = _records_of(texts.items(), damaged)
    if not found.records:
        raise StoreError(_explain_nothing(folders, found.damaged, failed))
    return attrs.evolve(found, failed=tuple(failed))


def gather_from(tracker: Tracker) -> Gathered:
    """Return the finished runs that a tracker keeps.

    Raises TrackerError: it gives nothing back, or does not answer.   StoreError where it keeps no
    finished run.
    """
    if hasattr(tracker, "records"):
        texts: Mapping[str, str] = call_tracker(tracker, tracker.records)
    elif hasattr(tracker, "runs") and hasattr(tracker, "fetch"):
        kept = call_tracker(tracker, tracker.runs)
        ended = [one["id"] for one in kept if one["status"] == ENDED]
        fetched = {run: call_tracker(tracker, partial(tracker.fetch, run)) for run in ended}
        texts = {run: files.get(RECORD, "") for run, files in fetched.items()}
    else:
        raise TrackerError(
            f"tracker {tracker.name} does not give back what it keeps; name the runs' folders"
        )
    found = _records_of(texts.items(), [])
    if not found.records:
        why = found.damaged[0] if found.damaged else "arboretum list --store shows what it keeps"
        raise StoreError(f"tracker {tracker.name} keeps no finished run there; {why}")
    return found


def _run_folders(word: str) -> Iterator[Path]:
    """Yield the folders at or below one that hold a record or an error, in order of their names.
    Raises StoreError where it is none.
    """
    root = Path(word).expanduser()
    root = root.parent if root.name == RECORD and root.is_file() else root
    if not root.is_dir():
        raise StoreError(
            f"there is no folder {word!r}: name a run's folder, a sweep's, or one above them "
            "(--experiment NAME reads a tracker)"
        )
    for folder, names in folders_below(root):
        if RECORD in names or (ERROR in names and SWEEP not in names):
            yield Path(folder)


def _records_of(texts: Iterable[tuple[str, str]], damaged: list[str]) -> Gathered:
    """Return the records of texts, by where they are; what is none is added to ``damaged``."""
    found = []
    for where, text in texts:
        try:
            record = record_from({RECORD: text} if text else {}, where)
        except StoreError as error:
            damaged.append(str(error))
            continue
        if "reproduction" not in record.config.get("choices", {}):  # a chapter of one is no run
            found.append((record, where))
    records, places = zip(*found, strict=True) if found else ((), ())
    return Gathered(records, places, tuple(damaged))


def _failure_in(folder: Path) -> Failed:
    """Return what a folder with an error and no record tells."""
    lines = (folder / ERROR).read_text(encoding="utf-8", errors="replace").splitlines()
    reason = next((line for line in lines if line.strip()), "failed without a message")
    said = next((line for line in lines if line.startswith(JOB)), "").removeprefix(JOB)
    return Failed(str(folder), reason, {**_constants_of(folder), **_assignments(said.split())})


def _constants_of(folder: Path) -> dict[str, str]:
    """Return what every job of the sweep around a folder was asked for: overrides of one value."""
    sweep = next(filter(None, map(read_sweep, folder.parents[:2])), None)
    given = _assignments(sweep.overrides) if sweep is not None else {}
    return {
        key: value for key, value in given.items() if key not in (sweep.varied if sweep else ())
    }


def _assignments(words: Iterable[str]) -> dict[str, str]:
    """Return key → value of the words KEY=VALUE."""
    pairs = (word.lstrip("+").partition("=") for word in words)
    return {key: value for key, sign, value in pairs if sign}


def _explain_nothing(
    folders: Sequence[str], damaged: Sequence[str], failed: Sequence[Failed]
) -> str:
    """Return why no run was found, in one line."""
    where = ", ".join(map(repr, folders))
    if damaged:
        return f"of {len(damaged)} records in {where} none can be read; the first: {damaged[0]}"
    if failed:
        one = failed[0]
        return f"all {len(failed)} jobs in {where} failed; the first: {one.where}: {one.reason}"
    return f"there is no run in {where}; arboretum run -m … hydra.sweep.dir=FOLDER makes some"
