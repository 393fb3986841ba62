"""Who does the pieces of a study?  Processes; the parent keeps each result as it comes, in a small
file of its own.

As with finished runs the name of a file is its content's fingerprint, so there is nothing to lock,
and a piece that was done once, by whatever command with whatever fraction, is not done again.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import attrs

from arboretum.errors import ArboretumError, ContractError, StoreError, blaming, raised_at, said
from arboretum.interfaces.reproduction import Piece, Reproduction
from arboretum.model.plain import Facts, Key, Plain
from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.build import build
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import Registry
from arboretum.runs.folder import checksum, read_json, write_files

SCHEMA = "arboretum.piece/1"
OUT = "--out FOLDER"  # how a study's folder is chosen
# between two reports of how the work stands, and two checks that the command still lives
POLL_SECONDS = 0.5
LEAST_SECONDS = 2.0  # of work, before what is left is estimated from it
DIED = (
    "a worker process ended before its piece was done (killed, or out of memory?); what is "
    "finished is kept: say the same again, perhaps with fewer --workers"
)


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
    plugins: tuple[str, ...] = ()
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


def perform(
    job: Job,
    pieces: Sequence[Piece],
    folder: Path,
    *,
    workers: int = 1,
    fresh: bool = False,
    watch: Callable[[Work], None] = lambda work: None,
) -> Work:
    """Do what is not done yet, and return what came of all pieces.

    folder : where pieces are kept.
    workers : processes; 1 works in this one.
    fresh : do everything again.
    watch : told twice a second.   A piece that raises is a failure and stops no other.
    Raises StoreError when results cannot be kept, or a worker dies.
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

    def poll() -> None:
        """Tell the watcher how long the work takes by now."""
        work.seconds = time.perf_counter() - start
        watch(work)

    try:
        with (
            every(POLL_SECONDS, poll),
            closing(_run_pieces(job, waiting, min(workers, len(waiting)))) as outcomes,
        ):
            for i, (result, seconds, error) in outcomes:
                if error:
                    work.failures[i] = pieces[i].key, error
                else:
                    work.found[i] = Done(pieces[i].key, result, seconds)
                    job.keep(folder, work.found[i])
                if work.begun is None:
                    work.begun = max(time.perf_counter() - start - seconds, 0.0)
                work.ended += 1
                work.cost += pieces[i].cost
    except KeyboardInterrupt:
        work.interrupted = True
    work.seconds = time.perf_counter() - start
    return work


def _run_pieces(
    job: Job, keys: Mapping[int, str], workers: int
) -> Generator[tuple[int, tuple[str, float, str]], None, None]:
    """Yield what becomes of each piece, (its place, what :func:`attempt` says), as it comes.

    keys : place → key of the piece, as JSON.   workers : processes; 1 or less: this one works.
    On any way out the processes end, in the middle of a piece if need be.  They are loky's: unlike
    those of :mod:`multiprocessing` they do not import the user's main script again, and a killed
    one is noticed.

    Raises StoreError where a process dies.
    """
    if workers <= 1:
        yield from ((i, attempt(job, key)) for i, key in keys.items())
        return
    from joblib.externals.loky import FIRST_COMPLETED, BrokenProcessPool, ProcessPoolExecutor, wait

    pool = ProcessPoolExecutor(workers, initializer=_begin_worker, initargs=(os.getpid(),))
    try:
        left = iter(keys.items())
        futures: dict[object, int] = {}
        # no more at a time than loky hands on at once: of what waits longer it prints a traceback
        # when its processes are ended
        while True:
            futures |= {
                pool.submit(attempt, job, key): i
                for i, key in itertools.islice(left, 2 * workers - len(futures))
            }
            if not futures:
                return
            for future in wait(futures, return_when=FIRST_COMPLETED).done:
                yield futures.pop(future), future.result()
    except BrokenProcessPool as error:
        raise StoreError(DIED) from error
    finally:
        pool.shutdown(wait=True, kill_workers=True)


def _begin_worker(parent: int) -> None:
    """In a new process: Ctrl-C is for the command, which then ends its workers; what a library
    prints is no result.
    """

    def end_with_it() -> None:  # however the command ended; loky would wait for more work for ever
        while os.getppid() == parent:
            time.sleep(POLL_SECONDS)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)
    threading.Thread(target=end_with_it, daemon=True).start()


@functools.lru_cache(maxsize=1)
def bench(job: Job) -> tuple[Reproduction, RegistryFactory]:
    """Return the reproduction and its services in this process, warmed up."""
    registry = load_registry(job.plugins)
    component = build(registry.get("reproduction", job.name), json.loads(job.fields))
    services = RegistryFactory(registry)
    if hasattr(component, "warm_up"):
        component.warm_up(services)
    return component, services


def attempt(job: Job, key: str) -> tuple[str, float, str]:
    """Do one piece: (result as JSON, seconds of processor time, "") or ("", seconds, why not).

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
            return json.dumps(value, allow_nan=False), time.process_time() - start, ""
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
        return "", time.process_time() - start, text


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
