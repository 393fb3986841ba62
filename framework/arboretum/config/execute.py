"""One resolved configuration → one run: fitted and verified by the engine, kept in its folder,
given to the tracker.
"""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from arboretum.config.resolve import Resolved, components_of
from arboretum.engine.progress import Progress
from arboretum.errors import ArboretumError, StoreError, TrackerError, blaming
from arboretum.interfaces.complexity import Complexity
from arboretum.interfaces.component import Component
from arboretum.interfaces.method import Parts
from arboretum.interfaces.tracker import RunInfo, Tracker
from arboretum.lab import Lab
from arboretum.model.plain import Facts
from arboretum.model.record import Record
from arboretum.plugin.assemble import certified_complexities, certifier_of
from arboretum.plugin.build import component_values
from arboretum.plugin.discovery import PluginFile, load_registry
from arboretum.plugin.registry import ONE_FILE, Owner, Registry
from arboretum.runs.folder import (
    RECORD,
    RUN_DIR,
    SWEEP_DIR,
    TRACKED,
    Index,
    artifacts,
    changed_data,
    free_folder,
    is_own,
    is_taken,
    is_tracked,
    make_ready,
    names_of,
    read_run,
    remove_empty,
    write_files,
    write_run,
)
from arboretum.runs.sweeps import run_name
from arboretum.runs.tasks import Expected, is_drawn
from arboretum.runs.tracking import call_tracker, track, track_folder

if TYPE_CHECKING:
    from arboretum.engine.run import Request

# a tracker that failed after a longer wait is left alone; one that fails at once costs nothing to
# ask again
VAIN_SECONDS = 1.0


@attrs.frozen(eq=False)
class Outcome:
    """What became of a run that did not fail.

    folder : where it is kept, or None.
    skipped : it was finished before.

    tracker_error : why the tracker does not have it ("" when it has, or there is none).
    warnings : one line each.
    """

    record: Record
    folder: Path | None
    skipped: bool = False
    tracker_error: str = ""
    warnings: tuple[str, ...] = ()


@attrs.define
class Kept:
    """Where a run is kept, as often as more of it is known.

    folder : None where it is not.
    last : the record that was kept, with its files.
    """

    folder: Path | None
    last: tuple[Record, dict[str, str]] | None = None

    def early(self, record: Record) -> None:
        """Keep the record as it is so far, unless the folder holds the same run, finished."""
        if self.folder is not None and not is_taken(self.folder, record.fingerprint):
            self.write(record, drawn=False)

    def write(self, record: Record, drawn: bool = True) -> dict[str, str]:
        """Keep the record; returns its files.

        drawn : with the pictures of a front, which take seconds.
        """
        front = record.solution and record.solution.front
        if self.last is not None and self.last[0] is record and not (drawn and front):
            return self.last[1]
        files = artifacts(record, drawn)
        if self.folder is not None:
            # another process may have been faster
            self.folder = (
                free_folder(self.folder, record.fingerprint) if self.last is None else self.folder
            )
            self.last = record, files
            write_run(self.folder, files)
        return files


class Session:
    """What the runs of one process share: the registry, one instance per tracker, the versions,
    the code's hash.
    """

    def __init__(self, registry: Registry) -> None:
        """Begin with no tracker made ready, and none given up."""
        self.registry = registry
        self._codes: dict[str, str] = {}
        self._checksums: dict[str, str] = {}
        self._prepared: dict[object, Tracker] = {}
        self._given_up: dict[object, str] = {}
        self._beside = ThreadPoolExecutor(1, "arboretum-tracker")
        self._handing: Future[str] | None = None

    def again(self) -> Session:
        """Return a session of the same code with trackers of its own: one that failed then may
        answer now.
        """
        other = Session(self.registry)
        other._codes, other.versions = self._codes, self.versions
        return other

    def prepare_tracker(self, component: Tracker) -> Tracker:
        """Return the session's instance of a tracker, whose connection equal components share, made
        ready once.  Raises TrackerError.
        """
        if component not in self._prepared:
            call_tracker(component, component.prepare)
            self._prepared[component] = component
        return self._prepared[component]

    def ask(
        self,
        component: Component,
        action: Callable[[], object],
        *,
        anew: bool = False,
        beside: bool = False,
    ) -> str:
        """Let a tracker act, once it is done with the action before; what went wrong, or "".

        anew : also one that made a run wait in vain, which is else left alone.
        beside : while the next run is computed, as storing may take longer than a fit; what went
            wrong the last time is returned then.
        """
        trouble, self._handing = self._handing.result() if self._handing else "", None
        if anew and self._given_up.pop(component, "") and hasattr(component, "close"):
            component.close()  # and opens again, however long it meant to rest
        if not beside:
            return self._ask_tracker(component, action)
        self._handing = self._beside.submit(self._ask_tracker, component, action)
        return trouble

    def _ask_tracker(self, component: Component, action: Callable[[], object]) -> str:
        """Ask a tracker for something, and return its trouble, "" where there is none. One that let
        us wait for nothing is not asked again.
        """
        start = time.monotonic()
        if component not in self._given_up:
            try:
                action()
            except (TrackerError, StoreError) as error:
                if time.monotonic() - start <= VAIN_SECONDS:
                    return str(error)
                self._given_up[component] = str(error)
        return self._given_up.get(component, "")

    @functools.cached_property
    def versions(self) -> Mapping[str, str]:
        """Package → version."""
        from arboretum.engine.code import versions

        return versions(self.registry.owners)

    def code(self, parts: Parts, more: Iterable[object] = ()) -> dict[str, str]:
        """Content hash of the framework and of each plugin whose components (``more`` ones, too,
        but no tracker) take part, by name.
        """
        from arboretum.engine.code import FRAMEWORK, code_hash, framework_folder

        owners = {(entry.kind, entry.cls): entry.owner for entry in self.registry.entries()}
        used = {(c.kind, type(c)) for c in (*components_of(parts), *more) if c.kind != "tracker"}
        chosen = {owners[key] for key in used if key in owners and owners[key].path} | {
            Owner(FRAMEWORK, path=str(framework_folder()))
        }
        for owner in chosen:
            # of a one-file plugin counts what was executed, whatever the file holds now
            if owner.path not in self._codes:
                self._codes[owner.path] = (
                    owner.version if owner.distribution == ONE_FILE else code_hash([owner.path])
                )
        return {
            owner.plugin: self._codes[owner.path]
            for owner in sorted(chosen, key=lambda owner: owner.plugin)
        }

    @blaming()
    def execute(
        self,
        resolved: Resolved,
        folder: Path | None = None,
        *,
        index: Index | None = None,
        sweep_id: str = "",
        sweep: Path | None = None,
        varied: tuple[str, ...] = (),
        beside: bool = False,
        progress: Progress | None = None,
        expected: Expected = Expected(),
    ) -> Outcome:
        """Do one run.  Raises ArboretumError; then nothing is kept.  A tracker that fails is no
        error: see ``Outcome.tracker_error``.

        folder : where to keep it; proved writable before any work.  One that holds another finished
            run is refused; in a multirun, "NAME-2" beside it is taken instead.
        index : of finished runs, asked when the settings say so, and told; None: nobody is.
        progress : hears how far the run is; None: nobody does.
        sweep_id : the tracker's id of the multirun.
        sweep : the multirun's folder.
        varied : the keys that it varies, with which names begin.
        beside : whether the tracker may store this run while the caller does the next one; its
            ``tracker_error`` is then that of the run before, and the caller looks once more.
        expected : what the run is made of elsewhere; a run of other data or code is refused.
        """
        from arboretum.engine import in_parts, run as engine

        request = self._request_of(resolved)
        prepared = None
        tracker = resolved.parts.tracker
        trouble = changed = ""
        report = progress or (lambda *what: None)
        if folder is not None:
            make_ready(folder, SWEEP_DIR if sweep else RUN_DIR)
            # whether by this very run is known once the data are loaded; a refusal is no failed run
            # to the tracker
            if is_taken(folder):
                prepared = in_parts.prepare_request(request, report)
                data = prepared.table.name, prepared.sha256
                changed = changed_data(folder, resolved.config, *data)
                try:
                    folder = free_folder(folder, prepared.fingerprint, refuse=sweep is None)
                except BaseException:
                    prepared.release()
                    raise
        # before other data are read, so that it can be told of what fails, and loads while the run
        # works
        if tracker is not None:
            report(0, None, f"opening tracker {tracker.name}")
            trouble = self._given_up.get(tracker, "")
            # else a run that is being handed in is not waited for
            if tracker not in self._prepared:
                trouble = self.ask(tracker, functools.partial(self.prepare_tracker, tracker))
        prepared = prepared or in_parts.prepare_request(request, report)
        try:
            expected.compare(prepared.sha256, prepared.table.name, request.code)
        except BaseException:
            prepared.release()
            raise
        if resolved.settings.skip_finished and index is not None:
            found = index.find(prepared.fingerprint, names_of(resolved.config))
            if found is not None:
                prepared.release()
                return self.reuse(found, folder, resolved, sweep_id, sweep, varied)
        kept = Kept(folder)
        record = in_parts.run_request(request, report, prepared, kept.early)
        files = kept.write(record) if folder is not None or tracker is not None else {}
        warnings = [changed, engine.kernel_trouble()]
        if folder is not None:
            folder = kept.folder
            if index is not None and folder is not None:
                warnings.append(index.add(record.fingerprint, folder))
        if tracker is not None and not trouble:
            report(0, None, f"giving the run to tracker {tracker.name}")
            tracker, name = self._prepared[tracker], run_name(resolved.config, varied)
            info = RunInfo(name, resolved.config, folder, sweep_id, record.fingerprint)
            send = functools.partial(track, tracker, info, record, files, tracker_fields(tracker))
            trouble = self.ask(tracker, send, beside=beside)
        return Outcome(
            record, folder, tracker_error=trouble, warnings=tuple(filter(None, warnings))
        )

    def expect(self, resolved: Resolved) -> Expected:
        """Return what a run is made of, here; each data set is read once.

        Its code alone where its data cannot be read, which is then the run's failure; where they
        are drawn for it, or lie in a row store, unless finished runs are skipped.
        """
        from arboretum.engine import in_parts, run as engine

        dataset, seed = resolved.parts.dataset, resolved.settings.seed
        request = self._request_of(resolved)
        dear = dataset is None or is_drawn(dataset) or in_parts.in_parts(request)
        if dataset is None or (dear and not resolved.settings.skip_finished):
            return Expected(code=request.code)
        values = {**component_values(dataset), "seed": seed if is_drawn(dataset) else 0}
        key = json.dumps([dataset.name, values], sort_keys=True, default=str)
        if key not in self._checksums:
            try:
                prepared = in_parts.prepare_request(request, lambda *what: None)
                self._checksums[key] = prepared.sha256
                prepared.release()
            except ArboretumError:
                return Expected(code=request.code)
        sha256 = self._checksums[key]
        return Expected(engine.fingerprint(request, sha256), sha256, request.code)

    def _request_of(self, resolved: Resolved) -> Request:
        """Return what the engine is asked to do: parts, budget, the certifier and what else is
        certified.
        """
        from arboretum.engine import run as engine

        settings, parts, certifier = resolved.settings, resolved.parts, None
        complexities: tuple[Complexity, ...] = ()
        if settings.certify:
            shared = {} if settings.theta is None else {"theta": settings.theta}
            certifier = certifier_of(self.registry, parts, settings.certifier, shared)
            complexities = certified_complexities(self.registry, parts, shared)
        code = self.code(parts, (*((certifier,) if certifier else ()), *complexities))
        asked = settings.seed, settings.budget, settings.certify, certifier, complexities
        return engine.Request(
            parts, *asked, config=resolved.config, versions=self.versions, code=code
        )

    def fail(
        self,
        resolved: Resolved,
        folder: Path | None,
        sweep_id: str,
        error: str,
        varied: tuple[str, ...] = (),
    ) -> str:
        """Tell the tracker of a failed run; returns what went wrong with that, or "", also where
        there is no tracker.

        folder : of the run, None where it has none.   error : in one line.
        sweep_id, varied : as of :meth:`execute`.
        """
        if (tracker := self._prepared.get(resolved.parts.tracker)) is None:
            return ""
        info = RunInfo(run_name(resolved.config, varied), resolved.config, folder, sweep_id)
        return self.ask(
            tracker, lambda: call_tracker(tracker, lambda: tracker.store_failure(info, error))
        )

    def reuse(
        self,
        found: Path,
        folder: Path | None,
        resolved: Resolved,
        sweep_id: str,
        sweep: Path | None,
        varied: tuple[str, ...],
    ) -> Outcome:
        """Return a finished run instead of a new one: its files are copied under this run's own
        names, and the tracker gets the copy.

        What lies in the sweep's own folder already (under another number, since the sweep grew)
        stays where it is.

        found : the finished run's folder.   folder : this run's own, None where nothing is kept.
        sweep_id, sweep, varied : as of :meth:`execute`.
        """
        record, kept, source, trouble = read_run(found), found, "", ""
        same = names_of(record.config) == names_of(resolved.config)
        if folder is not None and not (same and folder.resolve() == found.resolve()):
            if same and sweep is not None and found.resolve().is_relative_to(sweep.resolve()):
                remove_empty(folder)
            else:
                # names, goal and tracker are this run's own; only what was computed is the other's
                record = attrs.evolve(record, config=resolved.config)
                kept = folder
                source = str(found)
                # a sweep's parent has all its runs, copies too, also one that is opened later
                left_out = (TRACKED,) if sweep is not None or not same else ()
                names = [
                    path.name
                    for path in found.iterdir()
                    if is_own(path.name) and path.is_file() and path.name not in left_out
                ]
                files = {name: (found / name).read_text(encoding="utf-8") for name in names}
                write_files(folder, {**files, RECORD: record.to_json()})
                when = (found / RECORD).stat().st_mtime
                os.utime(folder / RECORD, (when, when))  # it was computed then
        tracker = resolved.parts.tracker
        if tracker is not None and not is_tracked(
            kept, fields := tracker_fields(tracker), sweep_id
        ):
            reported = fields, sweep_id, varied, source
            trouble = self.ask(
                tracker, lambda: track_folder(self.prepare_tracker(tracker), kept, *reported)
            )
        return Outcome(record, kept, skipped=True, tracker_error=trouble)


@functools.lru_cache(maxsize=1)
def session(files: tuple[PluginFile, ...]) -> Session:
    """Return the session of a worker process, which is handed one job after another; the command
    makes its own.  A lab is none of the worker's: what it chose has been composed.
    """
    return Session(load_registry(files, lab=Lab()))


def tracker_fields(tracker: Tracker) -> Facts:
    """Return a tracker's name and values, as configurations and run folders note them."""
    return {"name": tracker.name, **component_values(tracker)}
