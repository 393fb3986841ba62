"""The actors that hold rows, asked together: those that are lost are made anew and told all that
the others have been told since the beginning.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from arboretum.api import ArboretumError, StoreError
from arboretum_ray.actor import Place, RowActor, version_here
from arboretum_ray.order import Span

TRIES = 3
"""How often in a row an actor is made anew."""
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""How a client of gRPC begins: a server answers by a frame of the same kind, 4."""
FRAME, KIND, SETTINGS = 9, 3, 4
MOST_REASON = 120


@attrs.frozen(eq=False)
class Question:
    """What all actors are asked.

    name : of the method.   words : its arguments.   own : one more of each actor.
    """

    name: str
    words: tuple[Any, ...] = ()
    own: Sequence[Any] | None = None

    def to(self, actor: Any, k: int) -> Any:
        """Ask the actor with that number; returns what its answer is fetched by."""
        more = () if self.own is None else (self.own[k],)
        return getattr(actor, self.name).remote(*self.words, *more)


@attrs.define(eq=False)
class ActorPool:
    """Actors, each with a span of the parts.

    make : makes the actor with a number; on a processor of its own, or on any.
    timeout : seconds until all of them must have found their place.
    changes : questions that changed what actors hold, in order.
    lost : how often each was lost.
    """

    make: Callable[[int, bool], Any]
    spans: Sequence[Span]
    timeout: float
    held: list[Any] = attrs.field(factory=list)
    changes: list[Question] = attrs.field(factory=list)
    lost: dict[int, int] = attrs.field(factory=dict)

    def begin(self) -> list[Place]:
        """Make all actors, and wait until they have found their place.  Raises StoreError where
        the cluster has none for some of them, or another version of the laboratory.
        """
        import ray

        self.held = [self.make(k, True) for k in range(len(self.spans))]
        waiting = [actor.place.remote() for actor in self.held]
        there, late = ray.wait(waiting, num_returns=len(waiting), timeout=self.timeout)
        if late:
            free = ray.available_resources().get("CPU", 0.0)
            raise StoreError(
                f"the cluster had room for {len(there)} of {len(waiting)} actors within "
                f"{self.timeout:g} s ({processors()} processors, {free:g} free now); ask for fewer "
                "(rows.actors), or wait longer (rows.timeout)"
            )
        places: list[Place] = self.ask("place")
        for place in places:
            if place.version != version_here():
                raise StoreError(
                    f"node {place.node} has arboretum {place.version}, and the run began with "
                    f"{version_here()}; install the same on all nodes"
                )
        return places

    def ask(self, name: str, *words: Any, own: Sequence[Any] | None = None) -> list[Any]:
        """The answers of all actors.   own : one more argument for each."""
        question = Question(name, words, own)
        return self.answers(question, self.start(question))

    def change(self, name: str, *words: Any) -> list[Any]:
        """The same of a question that changes what actors hold: one that is made anew later is
        asked it, too.
        """
        found = self.ask(name, *words)
        self.changes.append(Question(name, words))
        return found

    def start(self, question: Question, only: int | None = None) -> dict[int, list[Any]]:
        """Ask all actors, or one; their answers are waited for by :meth:`answers`."""
        asked = range(len(self.held)) if only is None else [only]
        return {k: [question.to(self.held[k], k)] for k in asked}

    def answers(self, question: Question, calls: dict[int, list[Any]]) -> list[Any]:
        """What :meth:`start` has asked.  Raises StoreError where an actor is lost TRIES times more,
        and what one of them raises.
        """
        import ray

        gone = (
            ray.exceptions.RayActorError,
            ray.exceptions.ObjectLostError,
            ray.exceptions.NodeDiedError,
            ray.exceptions.WorkerCrashedError,
            ray.exceptions.OutOfMemoryError,
        )
        found, errors, asked = dict[int, Any](), dict[int, Exception](), list(calls)
        for turn in range(TRIES + 1):
            errors = {}
            for k, refs in calls.items():
                try:
                    found[k] = ray.get(refs)[-1]
                except gone as error:
                    errors[k] = error
                    self.lost[k] = self.lost.get(k, 0) + 1
                except ray.exceptions.RayTaskError as error:
                    raise error.cause if isinstance(error.cause, Exception) else error from None
            if not errors or turn == TRIES:
                break
            calls = {k: self._anew(k, question) for k in errors}
        if errors:
            k, last = next(iter(errors.items()))
            raise StoreError(
                f"actor {k} with {self.spans[k]} was lost {TRIES + 1} times in a row at "
                f"{question.name!r} ({reason(last)}); where memory is short, more actors hold "
                "fewer rows each (rows.actors)"
            ) from last
        return [found[k] for k in asked]

    def _anew(self, k: int, question: Question) -> list[Any]:
        """Make an actor anew, and ask it all that the others were asked, and this.

        It takes no processor of its own: what is left of the cluster may have none to give, and an
        actor that waits for one waits for ever.
        """
        end_actor(self.held[k])
        self.held[k] = actor = self.make(k, False)
        return [one.to(actor, k) for one in (*self.changes, question)]

    def end(self) -> None:
        """End them."""
        while self.held:
            end_actor(self.held.pop())


def end_actor(actor: Any) -> None:
    """Kill an actor, dead or alive."""
    import ray

    if ray.is_initialized():
        ray.kill(actor)


def make_actor(parts: Sequence[Any], span: Span, all_parts: Span, schema: Any, own: bool) -> Any:
    """Start an actor with some parts, on whichever node has fewest.   own : a processor."""
    import ray

    remote = ray.remote(num_cpus=int(own), max_restarts=0)(RowActor)
    placed = remote.options(scheduling_strategy="SPREAD")
    return placed.remote(parts[span.first : span.stop], span, all_parts, schema)


def reason(error: Exception) -> str:
    """Why an actor was lost, in a few words of Ray's."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if "Error: " in line or "reason" in line or "because" in line]
    words = (told or lines or [type(error).__name__])[-1]
    return textwrap.shorten(words, MOST_REASON, placeholder=" …")


def processors() -> int:
    """Those of the cluster."""
    import ray

    return int(ray.cluster_resources().get("CPU", 0.0))


def connect(address: str | None, timeout: float) -> bool:
    """Connect to a cluster, or start one on this machine; returns whether this was done here, and
    not before.   Raises StoreError where no cluster answers.
    """
    import ray

    if ray.is_initialized():
        return False
    address = address or os.environ.get("RAY_ADDRESS") or None
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a run reports to nobody
    elif ":" in address and not os.environ.get("RAY_USE_TLS"):
        check_address(address, timeout)
    main = threading.current_thread() is threading.main_thread()
    heard = signal.getsignal(signal.SIGTERM)
    own = {"include_dashboard": False} if address is None else {}
    try:
        # without a word Ray looks for the last cluster of this machine, which may be gone
        ray.init(
            address=address or "local", log_to_driver=False, logging_level=logging.ERROR, **own
        )
    except ArboretumError:
        raise
    except Exception as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        if address is None:
            raise StoreError(f"Ray does not start on this machine ({first})") from error
        raise StoreError(f"rows.address={address}: Ray does not connect ({first})") from error
    finally:
        if main and heard is not None:
            signal.signal(signal.SIGTERM, heard)  # Ray puts its own in its place
    return True


def check_address(address: str, timeout: float) -> None:
    """Raise StoreError where nothing answers at an address as Ray does: Ray itself asks for a
    quarter of an hour.
    """
    host, _, port = address.rpartition("://")[2].rpartition(":")
    until = time.monotonic() + timeout
    try:
        with socket.create_connection((host, int(port)), timeout) as line:
            line.sendall(PREFACE)
            answer = b""
            while len(answer) < FRAME:
                line.settimeout(max(0.01, until - time.monotonic()))
                if not (more := line.recv(FRAME)):
                    break
                answer += more
    except (OSError, ValueError) as error:
        raise StoreError(
            f"rows.address={address}: no Ray cluster answers there ({str(error) or 'too late'}); "
            "give host:port as ray start --head prints it, or leave it out for one on this machine"
        ) from error
    if len(answer) < FRAME or answer[KIND] != SETTINGS:
        raise StoreError(
            f"rows.address={address}: what answers there is no Ray cluster; give host:port as ray "
            "start --head prints it"
        )


def send_plugin_files() -> None:
    """Let classes of one-file plugins travel by value: no actor could import them."""
    import ray

    for name, module in list(sys.modules.items()):
        if name.startswith("arboretum_file_"):
            ray.cloudpickle.register_pickle_by_value(module)
