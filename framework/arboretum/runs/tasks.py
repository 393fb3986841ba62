"""What a job of a sweep is told and what it sends home, so that its machine need not have anything
but the installed packages: no folder of the sweep, no lab, no file of a plugin.

A job that sees the sweep's folder keeps its run there as soon as it is done, and a note of it; what
it sends home is then the note alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import attrs

from arboretum.errors import DataError, PluginError, StoreError
from arboretum.interfaces.component import Capability, Component, as_capabilities
from arboretum.interfaces.method import Parts
from arboretum.model.plain import Facts, Plain
from arboretum.runs.folder import free_folder, is_own, write_files, write_run
from arboretum.runs.sweeps import FAILED, Note


@attrs.frozen
class Expected:
    """What a run is made of where the sweep was started; all empty where that is not known.

    fingerprint : of the run.
    sha256 : of its data set's canonical content.
    code : name of the framework and of each plugin that takes part → content hash.
    """

    fingerprint: str = ""
    sha256: str = ""
    code: Plain = attrs.field(factory=dict)

    def compare(self, sha256: str, name: str, code: Plain) -> None:
        """Compare with what a worker has; raises DataError and PluginError where that is another.

        name : of the data set.   sha256, code : as the worker has them.
        """
        if self.sha256 not in ("", sha256):
            raise DataError(
                f"the data set {name} of this worker is another than the sweep's (checksums "
                f"{sha256[:12]} and {self.sha256[:12]}); give both machines the same file"
            )
        for plugin in sorted(self.code):
            if code.get(plugin) != self.code[plugin]:
                raise PluginError(
                    f"{plugin} of this worker is another than the sweep's (code "
                    f"{str(code.get(plugin))[:12]} and {str(self.code[plugin])[:12]}); install the "
                    "same version on both machines"
                )


def is_drawn(dataset: Component) -> bool:
    """Return whether a data set's content depends on the seed of the run."""
    return Capability.randomised in as_capabilities(getattr(dataset, "capabilities", ()))


@attrs.frozen
class Task:
    """One run of a sweep, for whoever does it.

    number : of the job.
    label : what tells it from the others.
    folder : for its record, absolute, where the sweep was started.
    config : the composed values; ``${oc.env:NAME}`` stands as it was written.
    choices : group → option.
    """

    number: int
    label: str
    folder: str
    config: Facts
    choices: Facts
    expected: Expected = Expected()

    @staticmethod
    def read(data: Mapping[str, object]) -> Task:
        """Rebuild a task from what its JSON holds."""
        fields: Facts = dict(data)
        return Task(**{**fields, "expected": Expected(**fields["expected"])})


def message_of(tasks: list[Task]) -> str:
    """Return tasks as one text, which launchers pass on as a value of a configuration: without
    ``$``, or Hydra would read ``${theta}`` in it as its own.
    """
    return json.dumps([attrs.asdict(task) for task in tasks]).replace("$", "\\u0024")


def read_message(text: str) -> list[Task]:
    """Return the tasks of a message."""
    return [Task.read(data) for data in json.loads(text)]


@attrs.frozen
class JobResult:
    """What a job sends home of one run.

    note : how it ended; its folder is the sweep's where the worker saw that, else the task's.
    values : of the goals of a search, or of the one goal; None where the run failed.
    fingerprint : of a finished run, "" where it failed.
    files : name → content of what belongs into the run's folder; none where it is there already.
    written : path, as configured → content of what components wrote besides (a proof, a page).
    """

    note: Note
    values: object = None
    fingerprint: str = ""
    files: Mapping[str, bytes] = attrs.field(factory=dict)
    written: Mapping[str, bytes] = attrs.field(factory=dict)

    def unpack(self) -> Note:
        """Write what is not there yet; returns the note with the folder where the run is now, a
        failure where it could not be written.
        """
        if not self.files and not self.written:
            return self.note
        folder = Path(self.note.folder)
        try:
            if self.note.status == FAILED:
                write_files(folder, self.files)
                return self.note
            folder = free_folder(folder, self.fingerprint)
            for path, content in self.written.items():
                place = Path(path).expanduser().absolute()
                write_files(place.parent, {place.name: content})
            write_run(folder, self.files)
        except StoreError as error:
            return attrs.evolve(self.note, status=FAILED, value=None, error=str(error))
        return attrs.evolve(self.note, folder=str(folder))


def files_of(folder: Path) -> dict[str, bytes]:
    """Return name → content of the files of a run in its folder."""
    if not folder.is_dir():
        return {}
    return {path.name: path.read_bytes() for path in folder.iterdir() if is_own(path.name)}


def parts_that_write(parts: Parts, folder: Path) -> tuple[Parts, dict[Path, str]]:
    """Let the components of a run write into a folder what they write by name.

    Returns the parts so changed, and place → path as it was configured.
    """
    places: dict[Path, str] = {}
    changed: Facts = {}
    for field in attrs.fields(Parts):
        component = getattr(parts, field.name)
        if not attrs.has(type(component)):
            continue
        for one in attrs.fields(type(component)):
            path = getattr(component, one.name)
            if one.metadata.get("writes") and path:
                place = folder / f"{len(places)}-{Path(path).name}"
                places[place] = str(path)
                component = attrs.evolve(component, **{one.alias: str(place)})
        changed[field.name] = component
    return (attrs.evolve(parts, **changed) if places else parts), places
