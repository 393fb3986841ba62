"""``rows=ray``: every actor reads, codes, counts and verifies its own span of the parts; the
driver sees sketches, sums and splits, and no row.  (It reads the file, column by column, for the
checksum, while actors look at their parts.)
"""

from __future__ import annotations

import functools
import itertools
import math
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    InParts,
    NodeSplit,
    NodeTables,
    NodeTotals,
    Opened,
    Sketch,
    adds_exactly,
    checksum_of,
    param,
)
from arboretum_ray.actor import PartSketches, Size, checksum_of_values, merged
from arboretum_ray.order import Span, add_up
from arboretum_ray.pool import (
    ActorPool,
    Question,
    connect,
    make_actor,
    processors,
    send_plugin_files,
)

if TYPE_CHECKING:
    from arboretum.interfaces.encoder import Encoder

T = TypeVar("T")


@attrs.frozen
class Traffic:
    """Messages to actors, the bytes of their content, and of the answers."""

    messages: int = 0
    sent: int = 0
    received: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(
            self.messages + other.messages,
            self.sent + other.sent,
            self.received + other.received,
        )


@attrs.define(eq=False)
class RayStore:
    """The store that growth asks.

    parts : all of them.
    joined : each actor has its parts as one.
    in_turn : sums round, and are those of rows in their order: each actor goes on from the sums of
        the one before.
    levels : traffic of each level so far, the last one unfinished.
    """

    actors: ActorPool
    parts: Span
    n_rows: int
    total_weight: float
    units: bool
    exact: bool
    shift: float
    joined: bool
    in_turn: bool
    n_columns: int
    levels: list[Traffic] = attrs.field(factory=lambda: [Traffic()])

    def totals(self, nodes: Sequence[int]) -> NodeTotals:
        """What the rows of these nodes add up to."""
        if self.in_turn:
            totals: NodeTotals = self._ask_in_turn("totals_after", list(nodes))
            return totals
        found: list[Mapping[Span, NodeTotals]] = self._ask("totals", list(nodes))
        return self._sum(found, NodeTotals.add)

    def tables(self, nodes: Sequence[int]) -> NodeTables:
        """Their rows by bin."""
        if self.in_turn:
            tables: NodeTables = self._ask_in_turn("tables_after", list(nodes), self.units)
            return tables
        found: list[Mapping[Span, NodeTables]] = self._ask("tables", list(nodes), self.units)
        return self._sum(found, NodeTables.add)

    def split(self, splits: Sequence[NodeSplit]) -> None:
        """Send the rows of these nodes to the nodes below."""
        self._weigh((list(splits),), self.actors.change("split", list(splits)))
        self.levels.append(Traffic())

    def visit(self, function: Callable[[T], Any], items: Sequence[T]) -> Iterator[Any]:
        """Call a function with every item, each actor with those of its parts."""
        self.actors.changes.clear()  # an actor that is made anew needs no codes now
        n = len(self.actors.spans)
        own = [items[len(items) * k // n : len(items) * (k + 1) // n] for k in range(n)]
        return itertools.chain.from_iterable(self.actors.ask("visit", function, own=own))

    def _ask(self, question: str, *words: Any) -> list[Any]:
        found = self.actors.ask(question, *words)
        self._weigh(words, found)
        return found

    def _ask_in_turn(self, question: str, *words: Any) -> Any:
        """The answer of the last actor, each of which is told that of the one before."""
        found = None
        for k in range(len(self.actors.spans)):
            told = (*words, found)
            asked = Question(question, told)
            found = self.actors.answers(asked, self.actors.start(asked, k))[0]
            self._weigh(told, [found])
        return found

    def _weigh(self, words: tuple[Any, ...], found: list[Any]) -> None:
        n, received = len(found), sum(len(pickle.dumps(answer)) for answer in found)
        self.levels[-1] += Traffic(n, n * len(pickle.dumps(words)), received)

    def _sum(self, found: list[Mapping[Span, T]], add: Callable[[T, T], T]) -> T:
        if self.joined:
            return functools.reduce(add, (one for answer in found for one in answer.values()))
        return sum_over(self.parts, found, add)


def sum_over(parts: Span, found: Sequence[Mapping[Span, T]], add: Callable[[T, T], T]) -> T:
    """The sum over all parts, of what the actors have of spans of them."""
    known = dict(itertools.chain.from_iterable(one.items() for one in found))
    return add_up(parts, known.get, add)


def total_and_mean(data: InParts, total: float) -> tuple[float, float]:
    """The weight of all rows, and the mean of their targets (0 of classes), to the last bit those
    of one array; of numbers, and weights, read once more, part by part.

    total : that weight but for rounding.
    """
    if data.schema.weights is None and data.schema.is_classification:
        return total, 0.0
    weights = None
    if data.schema.weights is not None:
        weights = np.concatenate([part.weights() for part in data.parts])
        total = float(weights.sum())
    if data.schema.is_classification:
        return total, 0.0
    targets = np.concatenate([part.target().values for part in data.parts])
    return total, float(np.average(targets, weights=weights))


@attrs.frozen
class RayRows:
    """Codes in actors of a Ray cluster: a tree on rows that several machines hold together.

    Of a Parquet file an actor holds a span of row groups.  One that is lost, alone or with its
    node, is made anew from them on what is left.  The number of actors changes no tree.
    """

    kind = "rows"
    name = "ray"
    paper = ""
    capabilities = ()
    example = "dataset=iris split=none"
    whole = False
    keeps_roles = True

    actors: int = param(2, "actors that hold rows, a processor each", ge=1)
    address: str | None = param(
        None, "of the cluster, host:port; one of its own on this machine if not given"
    )
    timeout: float = param(
        60.0, "how long to wait for the cluster, and for room in it", gt=0, unit="s"
    )
    most_values: int = param(
        255, "values of a numeric column, beyond which it is cut at so many quantiles", ge=2, le=255
    )

    def check_installed(self) -> None:
        """Raise CapabilityError where Ray is not."""
        if find_spec("ray") is None:
            raise CapabilityError("rows=ray needs Ray; install it (pip install 'arboretum[ray]')")

    def open(
        self,
        data: InParts,
        encoder: Encoder,
        seed: int,
        about: float | None,
        progress: Callable[[float, float | None, str], None],
    ) -> Opened:
        """Give each actor its parts, merge their sketches, and have them code their rows.

        Raises StoreError where no cluster answers, or has no room, or loses actors again and again.
        """
        import ray

        self.check_installed()
        Sketch.of(data.schema, self.most_values).check(encoder)
        progress(0, None, "connecting to Ray")
        begun = connect(self.address, self.timeout)
        actors: ActorPool | None = None

        def release() -> None:
            if actors is not None:
                actors.end()
            if begun and ray.is_initialized():
                ray.shutdown()

        try:
            send_plugin_files()
            actors = self._actors(data)
            return self._open(data, encoder, seed, about, progress, actors, release)
        except BaseException:
            release()
            raise

    def _actors(self, data: InParts) -> ActorPool:
        """As many as were asked for, parts and processors allow."""
        n = max(1, min(self.actors, len(data.parts), processors()))
        cuts = [len(data.parts) * k // n for k in range(n + 1)]
        spans = [Span(a, b) for a, b in itertools.pairwise(cuts)]
        whole = Span(0, len(data.parts))

        def make(k: int, own: bool) -> Any:
            return make_actor(data.parts, spans[k], whole, data.schema, own)

        return ActorPool(make, spans, self.timeout)

    def _open(
        self,
        data: InParts,
        encoder: Encoder,
        seed: int,
        about: float | None,
        progress: Callable[[float, float | None, str], None],
        actors: ActorPool,
        release: Callable[[], None],
    ) -> Opened:
        schema, n = data.schema, len(actors.spans)
        progress(0, None, f"waiting for {n} actors")
        nodes = {place.node for place in actors.begin()}
        progress(0, None, f"reading in {n} actors")
        question = Question("sketch", (self.most_values,))
        calls = actors.start(question)
        checksums = [0] * len(data.parts)

        def seen(part: int, values: np.ndarray) -> None:
            checksums[part] = checksum_of_values(values, checksums[part])

        sha256 = checksum_of(data, seen)
        sketched: list[PartSketches] = actors.answers(question, calls)
        whole = Span(0, len(data.parts))
        sketch = sum_over(whole, [one.sketches for one in sketched], merged)
        objects = sketch.encode(encoder, seed)
        moments = [each for one in sketched for each in one.moments]
        total = math.fsum(each.weight for each in moments)
        shift = 0.0
        if data.columns is not None:
            total, shift = total_and_mean(data, total)
        elif schema.is_regression:
            shift = math.fsum(each.target for each in moments) / total
        shift = shift if about is None or not schema.is_regression else about
        progress(0, None, f"coding in {n} actors")
        coded = actors.change("code", objects.features, shift, checksums, data.columns, total)
        sizes: list[Size] = [each for one in coded for each in one]
        exact = all(each.exact for each in sizes) and adds_exactly(np.array([total]))
        joined = exact and schema.is_classification
        own = np.array([math.fsum(each.columns for each in sizes)])
        in_turn = data.columns is not None and not (joined and adds_exactly(own))
        if joined or in_turn:
            actors.change("join")
        store = RayStore(
            actors,
            whole,
            n_rows=sum(each.n_rows for each in sizes),
            total_weight=total,
            units=all(each.units for each in sizes),
            exact=exact,
            shift=shift,
            joined=joined,
            in_turn=in_turn,
            n_columns=max(each.n_columns for each in sizes),
        )
        objects = attrs.evolve(objects, notes=(*objects.notes, *sketch.notes()))
        notes = functools.partial(self._notes, store, len(nodes))
        approximate = sketch.approximate()
        return Opened(store, objects, sha256, approximate, release, store.visit, notes)

    def _notes(self, store: RayStore, n_nodes: int) -> tuple[str, ...]:
        """What the rows cost on the way: messages and bytes, in all and by level."""
        n, levels = len(store.actors.spans), [one for one in store.levels if one.messages]
        total, k = sum(levels, Traffic()), max(1, len(levels))
        fewer = (
            "" if n == self.actors else f" ({self.actors} asked for: no more processors or parts)"
        )
        notes = [
            f"rows lay in {counted(n, 'actor')}{fewer} on {counted(n_nodes, 'node')}; growth sent "
            f"{total.messages} messages, {size_of(total.sent)}, in {counted(k, 'level')} and "
            f"received {size_of(total.received)}: {total.messages / k:.1f} messages and "
            f"{size_of((total.sent + total.received) / k)} a level"
        ]
        notes += [
            f"actor {k} was lost, and made anew from its parts, {counted(times, 'time')}"
            for k, times in sorted(store.actors.lost.items())
        ]
        return tuple(notes)


def counted(n: int, word: str) -> str:
    """ "1 actor", "2 actors"."""
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def size_of(n: float) -> str:
    """Bytes as a reader likes them."""
    return f"{n / 1e6:.2f} MB" if n >= 1e6 else f"{n / 1e3:.2f} kB"
