"""The tracker's side of a run: it observes, its failure never loses what is in the run folder, and
it may be read again.

Of a reproduction it gets one run per chapter under one parent.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import attrs

from arboretum.errors import ArboretumError, StoreError, TrackerError, account, said
from arboretum.interfaces.tracker import RunInfo, Tracker
from arboretum.model.judgement import Chapter, Judgement, Verdict, csv_text
from arboretum.model.plain import Facts, Plain
from arboretum.model.record import Record
from arboretum.model.shown import masked
from arboretum.runs.folder import (
    RECORD,
    TRACKED,
    checksum,
    is_tracked,
    read_files,
    read_json,
    read_run,
    record_from,
    write_files,
)
from arboretum.runs.sweeps import owner, run_name

Result = TypeVar("Result")


def call_tracker(tracker: Tracker, action: Callable[[], Result]) -> Result:
    """Run one call of a tracker; whatever it raises becomes a TrackerError of one line."""
    try:
        return action()
    except ArboretumError as error:
        raise TrackerError(masked(str(error))) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise TrackerError(
            masked(account(error, f"tracker {tracker.name!r}") or said(error))
        ) from error


def track(
    tracker: Tracker, info: RunInfo, record: Record, files: Mapping[str, str], fields: Plain
) -> str:
    """Give a finished run to the tracker and note it in the run folder; returns the run's id.

    fields : the tracker's name and values, as noted.   Raises TrackerError.
    """
    run_id: str = call_tracker(tracker, lambda: tracker.store(info, record, files))
    if info.folder is not None:
        _note(tracker, info.folder, fields, run_id, info.sweep_id)
    return run_id


def _note(tracker: Tracker, folder: Path, fields: Plain, run_id: str, within: str) -> None:
    """Note which tracker has what lies in a folder, and below which parent (has a study, and which
    judgement).

    within : the parent's id, or the judgement's checksum.

    Raises TrackerError where the folder cannot be written.
    """
    try:
        write_files(
            folder,
            {TRACKED: json.dumps({"tracker": fields, "id": run_id, "sweep": within}, indent=2)},
        )
    except StoreError as error:
        raise TrackerError(f"tracker {tracker.name} has it as {run_id}, but {error}") from error


def track_folder(
    tracker: Tracker,
    folder: Path,
    fields: Plain,
    sweep_id: str = "",
    varied: Sequence[str] = (),
    copy_of: str = "",
) -> str:
    """Give the run of a folder to the tracker; returns its id, or "" when that tracker has it
    already (in that sweep).

    varied : keys with which its name begins.
    copy_of : see :class:`RunInfo`. Raises StoreError (no run there) and TrackerError.
    """
    if is_tracked(folder, fields, sweep_id):
        return ""
    info, record, files = _read_for(folder, sweep_id, varied, copy_of)
    return track(tracker, info, record, files, fields)


def _read_for(
    folder: Path, sweep_id: str, varied: Sequence[str], copy_of: str = ""
) -> tuple[RunInfo, Record, dict[str, str]]:
    """Return the run of a folder, as trackers take it; all as of :func:`track_folder`."""
    record = record_from(files := read_files(folder), str(folder))
    name, mark = run_name(record.config, varied), record.fingerprint
    return RunInfo(name, record.config, folder, sweep_id, mark, copy_of), record, files


def track_folders(
    tracker: Any,
    folders: Sequence[Path],
    fields: Plain,
    sweep_id: str,
    varied: Sequence[str] = (),
) -> None:
    """Give the runs of folders to a tracker that takes many at once, as :func:`track_folder` gives
    one.  Raises StoreError and TrackerError; then it has none of them.
    """
    waiting = [folder for folder in folders if not is_tracked(folder, fields, sweep_id)]
    if not waiting:
        return
    runs = [_read_for(folder, sweep_id, varied) for folder in waiting]
    ids = call_tracker(tracker, lambda: tracker.store_all(runs))
    for folder, run_id in zip(waiting, ids, strict=True):
        _note(tracker, folder, fields, run_id, sweep_id)


def load_run(run: str | Path, tracker: Tracker | None = None) -> Record:
    """Return the record of a finished run, with its tree.

    run : a run folder (or its record.json), or a run id of ``tracker``.
    Raises StoreError (neither) and TrackerError (the store does not answer, or has no such run).
    """
    path = Path(run).expanduser()
    path = path.parent if path.name == RECORD and path.is_file() else path
    if path.exists() or tracker is None or "/" in str(run):
        if not path.is_dir():
            raise StoreError(f"there is no run folder {str(run)!r}")
        return read_run(path)
    if not hasattr(tracker, "fetch"):
        raise TrackerError(
            f"{str(run)!r} is no run folder here, and tracker {tracker.name} does not give "
            "back what it keeps; name a run folder"
        )
    try:
        files = call_tracker(tracker, lambda: tracker.fetch(str(run)))
    except TrackerError as error:
        raise TrackerError(f"{str(run)!r} is no run folder here, and {error}") from error
    return record_from(files, f"run {run}")


SUMMARY, CELLS, CLAIMS = "reproduction.json", "cells.csv", "claims.csv"
PRINTED = "verdict.txt"


@attrs.frozen(eq=False)
class VerdictFacts:
    """A judgement with where it comes from.

    facts : name, paper, fields, seed, fraction, pieces, versions, timings …, as written to
        ``reproduction.json``.
    pictures : name without ending → SVG text.
    """

    facts: Plain
    judgement: Judgement
    pictures: Mapping[str, str]

    def files(self) -> dict[str, str]:
        """File name → text of everything that is kept."""
        judged = self.judgement
        header = (
            "table",
            "row",
            "column",
            "published",
            "ours",
            "standard_error",
            "deviation",
            "n",
            "verdict",
            "reason",
            "aside",
            "source",
        )
        numbers = [
            [repr(float(x)) for x in (c.published, c.ours, c.error, c.deviation)]
            for c in judged.cells
        ]
        words = [
            (c.n, c.verdict.value, c.reason, c.aside, "recomputed" if c.recomputed else "published")
            for c in judged.cells
        ]
        cells = [
            (c.table, c.row, c.column, *digits, *rest)
            for c, digits, rest in zip(judged.cells, numbers, words, strict=True)
        ]
        claims = [(c.sentence, c.verdict.value, c.evidence, c.reason) for c in judged.claims]
        counts = {verdict.value: judged.count(verdict) for verdict in Verdict}
        summary = {
            **self.facts,
            "verdict": judged.verdict.value,
            "counts": counts,
            "notes": list(judged.notes),
        }
        return {
            CELLS: csv_text([header, *cells]),
            CLAIMS: csv_text([("claim", "verdict", "evidence", "reason"), *claims]),
            SUMMARY: json.dumps(summary, indent=2, ensure_ascii=False) + "\n",
            **judged.tables,
            **{f"{name}.svg": text for name, text in self.pictures.items()},
        }


def track_verdict(
    tracker: Tracker,
    facts: VerdictFacts,
    folder: Path,
    fields: Plain,
    *,
    note: str = "",
    text: str = "",
) -> str:
    """Give it to the tracker and return the parent's id; "" when that tracker has this very
    judgement from this folder.

    fields : the tracker's name and values.
    note : Markdown for the parent's page.
    text : what was printed; kept on the parent with the tables and with the pictures of no chapter.

    Raises TrackerError.
    """
    judged, name, files = facts.judgement, facts.facts["name"], facts.files()
    # not times, nor what was reused
    same = {key: facts.facts[key] for key in ("name", "fields", "seed", "fraction", "code")}
    mark = _hash([same, {name: content for name, content in files.items() if name != SUMMARY}])
    if is_tracked(folder, fields, mark):
        return ""
    parent: str = call_tracker(
        tracker, lambda: tracker.open_sweep(f"reproduce {name}", {**facts.facts, "owner": owner()})
    )
    try:
        for chapter in judged.chapters:
            _track_chapter(tracker, facts, chapter, folder, parent)
        if hasattr(tracker, "annotate"):  # with everything but the pictures that a chapter has
            shown = {f"{name}.svg" for chapter in judged.chapters for name in chapter.pictures}
            whole = {name: content for name, content in files.items() if name not in shown} | (
                {PRINTED: text} if text else {}
            )
            call_tracker(tracker, lambda: tracker.annotate(parent, note, whole))
    except TrackerError:
        call_tracker(tracker, lambda: tracker.close_sweep(parent, {}, "FAILED"))
        raise
    best = {f"verdicts_{verdict.name}": float(judged.count(verdict)) for verdict in Verdict}
    deviations = [abs(cell.deviation) for cell in judged.cells if math.isfinite(cell.deviation)]
    best |= {"cells": float(len(judged.cells)), "claims": float(len(judged.claims))}
    best |= {"largest_deviation": max(deviations)} if deviations else {}
    call_tracker(tracker, lambda: tracker.close_sweep(parent, best, "FINISHED"))
    _note(tracker, folder, fields, parent, mark)
    return parent


def _track_chapter(
    tracker: Tracker, facts: VerdictFacts, chapter: Chapter, folder: Path, parent: str
) -> None:
    """Send a chapter of a reproduction to the tracker, as a run below its parent."""
    summary = facts.facts
    choices = {
        "choices": {"reproduction": summary["name"]},
        "reproduction": dict(summary["fields"]),
    }
    config = {
        **choices,
        "seed": summary["seed"],
        "fraction": summary["fraction"],
        **chapter.settings,
    }
    files = {**chapter.files, **{f"{name}.svg": facts.pictures[name] for name in chapter.pictures}}
    fingerprint = _hash([summary["code"], config, chapter.name, dict(chapter.metrics), files])
    known: Facts = {
        "metrics": chapter.metrics,
        "verified": True,
        "fingerprint": fingerprint,
        "notes": tuple(facts.judgement.notes),
    }
    record = Record(
        config,
        summary["seed"],
        summary["versions"],
        data={},
        timings={},
        solution=None,
        tree=None,
        **known,
    )
    # one fingerprint and one folder make one run: chapters of one folder differ in their names, and
    # so in the fingerprint
    info = RunInfo(chapter.name, config, folder, parent, fingerprint)
    call_tracker(tracker, lambda: tracker.store(info, record, {**files, RECORD: record.to_json()}))


def _hash(content: object) -> str:
    """Checksum of content of JSON's types."""
    return checksum(json.dumps(content, sort_keys=True, default=str))


def unsent(root: Path) -> list[Facts]:
    """Return the facts of every finished reproduction at or below ``root`` that wanted a tracker
    and reached none.
    """
    found = (
        read_json(path)
        for path in sorted(root.rglob(SUMMARY))
        if not (path.parent / TRACKED).exists()
    )
    return [facts for facts in found if facts.get("tracker")]
