"""The pieces of a study: who does them is the caller's choice; each result is kept as it comes, in
a small file of its own.

As with finished runs the name of a file is its content's fingerprint, so there is nothing to lock,
and a piece that was done once, by whatever command with whatever fraction, is not done again.
"""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs

from arboretum.errors import ArboretumError, ContractError, blaming, raised_at, said
from arboretum.interfaces.reproduction import Piece, Reproduction
from arboretum.model.plain import Facts, Key, Plain
from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.build import build
from arboretum.plugin.discovery import PluginFile, load_registry
from arboretum.plugin.registry import Registry
from arboretum.runs.folder import checksum, read_json, write_files

SCHEMA = "arboretum.piece/1"
OUT = "--out FOLDER"  # how a study's folder is chosen
# between two reports of how the work stands, and two checks that the command still lives
POLL_SECONDS = 0.5
LEAST_SECONDS = 2.0  # of work, before what is left is estimated from it


@attrs.frozen
class Job:
    """What the pieces of one study share; hashable, and sent to workers as it is.

    name : of the reproduction.
    fields : its fields, as JSON.
    plugins : one-file plugins.
    code : hash of all code that may take part.
    """

    name: str
    seed: int = 0
    fields: str = "{}"
    plugins: tuple[PluginFile, ...] = ()
    code: str = ""

    def _file(self, folder: Path, key: Key) -> tuple[str, Path]:
        """Content hash of a piece, the seed and the code version (equal ones mean equal results),
        and the file of that name.

        Fields are left out: they choose pieces, and a piece's key says all that matters.
        """
        fingerprint = checksum(
            json.dumps([SCHEMA, self.name, key, self.seed, self.code], sort_keys=True)
        )
        return fingerprint, folder / fingerprint[:2] / f"{fingerprint}.json"

    def find(self, folder: Path, key: Key) -> Done | None:
        """Return the piece that was kept; None where it is not finished, or its file is not what
        was written.
        """
        fingerprint, file = self._file(folder, key)
        data = read_json(file)
        result, seconds = data.get("result"), data.get("seconds")
        return (
            Done(key, result, float(seconds))
            if isinstance(result, str)
            and data.get("sha256") == checksum(result)
            and isinstance(seconds, int | float)
            and data.get("fingerprint") == fingerprint
            else None
        )

    def keep(self, folder: Path, done: Done) -> None:
        """Keep a finished piece, whole or not at all.  Raises StoreError."""
        fingerprint, path = self._file(folder, done.key)
        known = {
            "schema": SCHEMA,
            "reproduction": self.name,
            "piece": done.key,
            "seed": self.seed,
            "fingerprint": fingerprint,
        }
        data = {
            **known,
            "seconds": done.seconds,
            "sha256": checksum(done.result),
            "result": done.result,
        }
        write_files(path.parent, {path.name: json.dumps(data, indent=1)}, OUT)


@attrs.frozen
class Done:
    """A finished piece.

    result : JSON text.
    seconds : processor time it took when it was done.
    """

    key: Key
    result: str
    seconds: float


def seconds_left(seconds: float, done: float, rest: float) -> float | None:
    """Return what the rest takes at the pace of what is done; None where too little is done to
    tell.
    """
    return seconds / done * rest if done > 0 and seconds >= LEAST_SECONDS else None


@contextmanager
def every(seconds: float, action: Callable[[], object]) -> Iterator[None]:
    """Do something again and again in a thread, until the block ends.

    action : what is done, every so many ``seconds``; the first time after them.
    """
    done = threading.Event()

    def repeat() -> None:
        while not done.wait(seconds):
            action()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(2.0)


@attrs.define
class Work:
    """How the pieces of a study stand, and what came of them.

    reused : finished before.
    ended : in this call.
    cost, total_cost : of what was to be done in this call, as the pieces state it.
    seconds : since the call.
    begun : seconds after the call when the first piece that has ended was begun; before, processes
        were started and kernels compiled, which tells nothing of the pieces to come.
    found, failures : place among the pieces → what came of it, or (key, one line).
    interrupted : by Ctrl-C; what is finished is kept.
    """

    total: int
    reused: int = 0
    ended: int = 0
    cost: float = 0.0
    total_cost: float = 0.0
    seconds: float = 0.0
    begun: float | None = None
    found: dict[int, Done] = attrs.field(factory=dict)
    failures: dict[int, tuple[Plain, str]] = attrs.field(factory=dict)
    interrupted: bool = False

    @property
    def left(self) -> float | None:
        """Seconds that are probably left; None before pieces were done for ``LEAST_SECONDS``."""
        return (
            None
            if self.begun is None
            else seconds_left(self.seconds - self.begun, self.cost, self.total_cost - self.cost)
        )

    @property
    def results(self) -> list[tuple[Facts, object]]:
        """Key and value of the finished pieces, in the order of the pieces."""
        return [(dict(done.key), json.loads(done.result)) for _, done in sorted(self.found.items())]

    @property
    def busy(self) -> float:
        """Processor time spent in pieces, over all workers, whenever they were done."""
        return sum(done.seconds for done in self.found.values())


@attrs.frozen
class Attempt:
    """What became of a piece.

    place : among the pieces.
    result : JSON text, "" where it failed.
    seconds : of processor time.
    error : why it failed, "" where it did not.
    """

    place: int
    result: str
    seconds: float
    error: str = ""


Launch = Callable[[Mapping[int, str]], Iterable[Attempt]]
"""Does pieces, place → key as JSON, elsewhere; raises StoreError where not all come home."""


def perform(
    job: Job,
    pieces: Sequence[Piece],
    folder: Path,
    *,
    launch: Launch | None = None,
    fresh: bool = False,
    watch: Callable[[Work], None] = lambda work: None,
) -> Work:
    """Do what is not done yet, and return what came of all pieces.

    folder : where pieces are kept.
    launch : lets others do the pieces; what those have kept in the folder is seen as it comes.
        None: this process does them.
    fresh : do everything again.
    watch : told twice a second.   A piece that raises is a failure and stops no other.
    Raises StoreError when results cannot be kept, or not all come home.
    """
    start = time.perf_counter()
    found = (
        {}
        if fresh
        else {
            i: done
            for i, piece in enumerate(pieces)
            if (done := job.find(folder, piece.key)) is not None
        }
    )
    waiting = {i: json.dumps(piece.key) for i, piece in enumerate(pieces) if i not in found}
    work = Work(
        len(pieces), len(found), total_cost=sum(pieces[i].cost for i in waiting), found=found
    )
    taking = threading.Lock()

    def take(attempt: Attempt) -> None:
        """Count and keep what became of a piece, once."""
        i = attempt.place
        with taking:
            if i in work.failures or i in work.found:
                return
            if attempt.error:
                work.failures[i] = pieces[i].key, attempt.error
            else:
                work.found[i] = Done(pieces[i].key, attempt.result, attempt.seconds)
                job.keep(folder, work.found[i])
            if work.begun is None:
                work.begun = max(time.perf_counter() - start - attempt.seconds, 0.0)
            work.ended += 1
            work.cost += pieces[i].cost

    def poll() -> None:
        """See what others have kept, and tell the watcher how the work stands."""
        for i in waiting if launch is not None and not fresh else ():
            if i not in work.found and (done := job.find(folder, pieces[i].key)) is not None:
                take(Attempt(i, done.result, done.seconds))
        work.seconds = time.perf_counter() - start
        watch(work)

    try:
        with every(POLL_SECONDS, poll):
            for one in launch(waiting) if launch and waiting else _do_here(job, waiting):
                take(one)
    except KeyboardInterrupt:
        poll()
        work.interrupted = True
    work.seconds = time.perf_counter() - start
    return work


def _do_here(job: Job, keys: Mapping[int, str]) -> Iterator[Attempt]:
    """Yield what becomes of each piece, as it comes.   keys : place → key, as JSON."""
    for place, key in keys.items():
        yield attempt(job, place, key)


@functools.lru_cache(maxsize=1)
def bench(job: Job) -> tuple[Reproduction, RegistryFactory]:
    """Return the reproduction and its services in this process, warmed up."""
    registry = load_registry(job.plugins)
    component = build(registry.get("reproduction", job.name), json.loads(job.fields))
    services = RegistryFactory(registry)
    if hasattr(component, "warm_up"):
        component.warm_up(services)
    return component, services


def attempt(job: Job, place: int, key: str) -> Attempt:
    """Do one piece.

    place : among the pieces.
    key : of the piece, as JSON.  What compiles and loads before the piece is no part of its
        seconds.
    """
    start = time.process_time()
    try:
        with blaming():
            component, services = bench(job)
            start = time.process_time()
            value = component.work(json.loads(key), job.seed, services)
        try:
            return Attempt(place, json.dumps(value, allow_nan=False), time.process_time() - start)
        except (TypeError, ValueError) as error:
            raise ContractError(
                f"reproduction {component.name}: work returned what is no plain JSON value "
                f"({error})"
            ) from error
    except Exception as error:
        ours = isinstance(error, ArboretumError)
        text = (
            " ".join(str(error).split()) if ours else f"unexpected {said(error)}{raised_at(error)}"
        )
        return Attempt(place, "", time.process_time() - start, text)


def code_of(registry: Registry) -> str:
    """Content hash of the framework and of every plugin that brings more than trackers: a study
    may use any of them.
    """
    from arboretum.engine.code import code_hash, framework_folder

    used = {
        entry.owner.path
        for entry in registry.entries()
        if entry.kind != "tracker" and entry.owner.path
    }
    return code_hash({str(framework_folder()), *used})
