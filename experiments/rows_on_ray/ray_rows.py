"""``rows=ray``: the rows of one growth in actors of a Ray cluster, each with codes of some parts.

    arboretum run --plugin experiments/rows_on_ray/ray_rows.py rows=ray rows.actors=4 \\
        dataset=file dataset.path=FILE.parquet dataset.target=Y split=none encoder=midpoints

Parts are read where their rows are to lie; the driver sees sketches, sums and splits, never a row.
(It reads the file once more, column by column, for the checksum, and to verify the tree.)  An actor
that is lost, with its node or alone, is made anew from its parts: they are coded again, and the
splits so far are asked of them once more.
"""

from __future__ import annotations

import functools
import math
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    CodedRows,
    InParts,
    NodeSplit,
    NodeTables,
    NodeTotals,
    Opened,
    Sketch,
    StoreError,
    checksum_of,
    param,
    rows_of_arrays,
)

TRIES = 3


class Holder:
    """What an actor does: it holds the codes of some parts."""

    def __init__(self, parts: Sequence[Any], schema: Any) -> None:
        self.parts, self.schema = parts, schema
        self.stores: list[CodedRows] = []

    def sketch(self, most: int) -> tuple[Sketch, list[float], float, bool, bool]:
        """What an encoder must know; Σwy by part; Σw; whether all weigh 1, and add up exactly."""
        from arboretum.rows.values import adds_exactly

        sketch, sums, total, units, exact = Sketch.of(self.schema, most), [], 0.0, True, True
        for part in self.parts:
            table = part.load()
            sketch.add(table)
            weight = table.row_weights()
            total += float(weight.sum())
            units &= bool((weight == 1.0).all())
            exact &= adds_exactly(weight)
            sums.append(float(weight @ table.target.values) if table.is_regression else 0.0)
        return sketch, sums, total, units, exact

    def code(self, features: Any, shift: float) -> int:
        """Code all parts; return their rows."""
        n_classes = self.schema.n_classes
        for part in self.parts:
            table = part.load()
            codes = np.stack([f.codes(table.column(f.column)) for f in features])
            kind = np.uint8 if max(f.n_bins + f.has_missing for f in features) <= 256 else np.uint16
            target = table.target.codes if n_classes else table.target.values
            self.stores.append(
                rows_of_arrays(
                    features, n_classes, codes.astype(kind), target, table.row_weights(), shift
                )
            )
        return sum(store.n_rows for store in self.stores)

    def totals(self, nodes: Sequence[int]) -> NodeTotals:
        """The sum of all parts' totals."""
        return functools.reduce(NodeTotals.add, [one.totals(nodes) for one in self.stores])

    def tables(self, nodes: Sequence[int], units: bool) -> NodeTables:
        """The sum of all parts' tables."""
        return functools.reduce(NodeTables.add, [one.tables(nodes, units) for one in self.stores])

    def split(self, splits: Sequence[NodeSplit]) -> None:
        """Send rows on."""
        for store in self.stores:
            store.split(splits)


@attrs.define(eq=False)
class RayStore:
    """The store that the driver asks.

    make : makes an actor of the parts with that number.
    past : all splits so far, for an actor that is made anew.
    sent, received, asked : bytes and messages, both ways, of the growth.
    """

    make: Callable[[int], Any]
    actors: list[Any]
    n_rows: int
    total_weight: float
    units: bool
    exact: bool
    shift: float
    features: Any
    past: list[Sequence[NodeSplit]] = attrs.field(factory=list)
    sent: int = 0
    received: int = 0
    asked: int = 0
    seconds: float = 0.0

    def ask(self, question: str, *words: Any) -> list[Any]:
        """The answer of every actor, those that are lost made anew."""
        import ray

        began = time.monotonic()
        waiting = [getattr(actor, question).remote(*words) for actor in self.actors]
        found = []
        for k, one in enumerate(waiting):
            for left in reversed(range(TRIES)):
                try:
                    found.append(ray.get(one))
                    break
                except ray.exceptions.RayActorError as error:
                    if not left:
                        raise StoreError(f"rows of actor {k} are lost again and again") from error
                    self.rebuild(k)
                    one = getattr(self.actors[k], question).remote(*words)
        self.asked += len(waiting)
        self.sent += len(waiting) * len(pickle.dumps(words))
        self.received += sum(len(pickle.dumps(answer)) for answer in found)
        self.seconds += time.monotonic() - began
        return found

    def rebuild(self, k: int) -> None:
        """Make an actor anew: its parts are read and coded again, and split as the others were."""
        import ray

        self.actors[k] = actor = self.make(k)
        ray.get(actor.code.remote(self.features, self.shift))
        for splits in self.past:
            ray.get(actor.split.remote(splits))

    def totals(self, nodes: Sequence[int]) -> NodeTotals:
        """What the rows of these nodes add up to."""
        return functools.reduce(NodeTotals.add, self.ask("totals", nodes))

    def tables(self, nodes: Sequence[int]) -> NodeTables:
        """Their rows by bin."""
        return functools.reduce(NodeTables.add, self.ask("tables", nodes, self.units))

    def split(self, splits: Sequence[NodeSplit]) -> None:
        """Send the rows of these nodes to the nodes below."""
        self.ask("split", splits)
        self.past.append(splits)


@attrs.frozen
class RayRows:
    """Codes in actors of a Ray cluster; an actor that is lost is made anew from its row groups."""

    kind = "rows"
    name = "ray"
    paper = ""
    capabilities = ()
    example = "dataset=iris split=none"
    whole = False

    actors: int = param(2, "actors that hold rows", ge=1)
    address: str | None = param(None, "of the cluster, host:port; one of its own if not given")
    most_values: int = param(
        255, "values of a numeric column, beyond which it is cut at so many quantiles", ge=2, le=255
    )

    def open(
        self,
        data: InParts,
        encoder: Any,
        seed: int,
        about: float | None,
        progress: Callable[[float, float | None, str], None],
    ) -> Opened:
        """Give each actor its parts, merge their sketches, and have them code their rows."""
        import ray

        # a plugin that is a file is none that a worker could import: it travels by value
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
        begun = not ray.is_initialized()
        if begun:
            ray.init(address=self.address, log_to_driver=False, include_dashboard=False)
        schema, n = data.schema, min(self.actors, len(data.parts))
        mine = [
            tuple(data.parts[i] for i in some) for some in np.array_split(range(len(data.parts)), n)
        ]
        remote = ray.remote(num_cpus=1, max_restarts=0)(Holder)

        def make(k: int) -> Any:
            return remote.options(scheduling_strategy="SPREAD").remote(mine[k], schema)

        progress(0, None, f"reading in {n} actors")
        actors = [make(k) for k in range(n)]
        found = ray.get([actor.sketch.remote(self.most_values) for actor in actors])
        sketch = Sketch.of(schema, self.most_values)
        for one, *_ in found:
            sketch.merge(one)
        objects = sketch.encode(encoder, seed)
        total = math.fsum(one[2] for one in found)
        shift = 0.0
        if schema.is_regression:
            mean = math.fsum(y for one in found for y in one[1]) / total
            shift = mean if about is None else about
        progress(0, None, f"coding in {n} actors")
        rows = sum(ray.get([actor.code.remote(objects.features, shift) for actor in actors]))
        units, exact = (all(one[k] for one in found) for k in (3, 4))
        store = RayStore(make, actors, rows, total, units, exact, shift, objects.features)

        def release() -> None:
            for actor in store.actors:
                ray.kill(actor)
            if begun:
                ray.shutdown()

        return Opened(store, objects, checksum_of(data), sketch.approximate(), release)
