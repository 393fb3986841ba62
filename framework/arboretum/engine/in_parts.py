"""Runs whose rows lie in a row store: read, coded, grown on, verified and measured part by part.
The table as a whole is in memory at no time.

What verification and measures ask of rows adds up, too.  Once each part has walked down the tree,
row by row by its raw values, the rows of a class that rest at a node are one object of their summed
weight and count (of numbers: two, with the same moments), and everything else is the run's own
code on these objects.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import attrs
import numpy as np

from arboretum.engine import check, run
from arboretum.engine.mismatch import Seal, fail
from arboretum.engine.progress import Progress
from arboretum.engine.run import (
    Fit,
    Prepared,
    Request,
    check_usable,
    clock,
    fingerprint,
    legible_solution,
    verify_and_record,
)
from arboretum.engine.scale import Scale
from arboretum.errors import BudgetError, CapabilityError, DataError, blaming, sure
from arboretum.interfaces.dataset import Dataset, InParts
from arboretum.interfaces.method import Context, Parts, Problem
from arboretum.interfaces.rows import Opened
from arboretum.interfaces.split import Division
from arboretum.model import walk
from arboretum.model.digits import with_all_digits
from arboretum.model.encoded import Encoded
from arboretum.model.plain import Facts
from arboretum.model.record import Record, Solution
from arboretum.model.steps import LARGE
from arboretum.model.table import Table, Target, frozen_array
from arboretum.model.tree import Tree
from arboretum.rows.parts import table_in_parts

NO_ROWS = np.zeros(0, np.int64)


def prepare_request(request: Request, progress: Progress) -> Prepared:
    """Prepare a run: its table, or the row store that its rows lie in."""
    return (prepare_in_parts if in_parts(request) else run.prepare)(request, progress)


def run_request(
    request: Request,
    progress: Progress = Context().progress,
    prepared: Prepared | None = None,
    keep: Callable[[Record], None] = lambda record: None,
) -> Record:
    """Execute a run, wherever its rows lie; all as of :func:`arboretum.engine.run.run`."""
    if in_parts(request):
        return run_in_parts(request, progress, prepared)
    return run.run(request, progress, prepared, keep)


def in_parts(request: Request) -> bool:
    """Whether the rows of a run lie in a row store."""
    return request.parts.rows is not None and not request.parts.rows.whole


def refuse_unfit(request: Request) -> None:
    """Raise CapabilityError, naming the part, for what needs the table as a whole."""
    from arboretum.engine.search.levels import find_what_needs_rows

    parts = request.parts
    rows = f"rows={sure(parts.rows).name}"
    for fault in find_what_needs_rows(parts):
        raise CapabilityError(f"{fault}; use rows=memory")
    if parts.split is not None:
        raise CapabilityError(
            f"{check.label(parts.split)} divides a table, and {rows} holds none: all rows train "
            "with split=none; judge on another file (arboretum test)"
        )
    if not getattr(parts.method, "asks_rows", False):
        raise CapabilityError(
            f"{check.label(parts.method)} looks at objects, and {rows} answers by tables alone; "
            "use method=greedy, a preset of it such as cart, or rows=memory"
        )
    for part in (parts.pruner, parts.tuner, parts.objective, parts.solver):
        if part is not None:
            raise CapabilityError(
                f"{check.label(part)} looks at objects, and {rows} answers by tables alone; leave "
                "it out, or use rows=memory"
            )
    for what, there in (
        ("class_weight", parts.class_weight),
        ("train_fraction", parts.train_fraction != 1),
        ("certify", request.certify),
    ):
        if there:
            raise CapabilityError(f"{what} needs the table, and {rows} holds none; leave it out")


@blaming()
def prepare_in_parts(request: Request, report: Progress) -> Prepared:
    """Check the parts, read the data part by part, code it, and compute the fingerprint."""
    parts = request.parts
    check.check_parts(parts)
    if parts.dataset is None:
        raise DataError(
            "no data set is chosen; add dataset=file dataset.path=FILE.parquet dataset.target=…"
        )
    refuse_unfit(request)
    timings: dict[str, float] = {}
    report(0, None, "looking through the data")
    with clock(timings, "load"):
        data = _data_in_parts(parts.dataset, request.seed)
        if not data.n_rows:
            raise DataError(f"{data.schema.name} has no rows")
        about = getattr(parts.impurity, "about", None)
        opened = sure(parts.rows).open(data, sure(parts.encoder), request.seed, about, report)
        check.returned(opened, Opened, sure(parts.rows), "open")
    try:
        check.check_table(parts, opened.objects.table)
        if not np.isfinite(opened.store.totals([0]).weights).all():
            raise DataError(
                "weights, or targets, are too large for sums of their squares; rows=memory brings "
                "them near 1"
            )
    except BaseException:
        opened.release()
        raise
    sha256 = opened.sha256
    return Prepared(
        opened.objects.table,
        sha256,
        fingerprint(request, sha256),
        timings["load"],
        data,
        opened,
    )


def _data_in_parts(dataset: Dataset, seed: int) -> InParts:
    """The parts of a data set; of one that is loaded at once, stretches of its table."""
    if hasattr(dataset, "in_parts"):
        return check.returned(dataset.in_parts(seed), InParts, dataset, "in_parts")
    table = check.returned(dataset.load(seed), Table, dataset, "load")
    check_usable(table)
    note = f"{check.label(dataset)} is loaded at once, and only then read part by part"
    noted = attrs.evolve(table, notes={**table.notes, "parts": note})
    return table_in_parts(noted, [LARGE] * (table.n_rows // LARGE))


@blaming()
def run_in_parts(request: Request, report: Progress, prepared: Prepared | None) -> Record:
    """Execute a run whose rows lie in a store; return its verified record."""
    prepared = prepared or prepare_in_parts(request, report)
    opened, data = sure(prepared.opened), sure(prepared.data)
    try:
        timings: dict[str, float] = {"compile": 0.0}
        with clock(timings, "encode"):
            problem = _pose(request.parts, opened, request.seed)
        report(0, None, f"growing with {sure(request.parts.method).name}")
        with clock(timings, "fit", report):
            context = request.budget.context(request.seed, report)
            solution = check.returned(
                sure(request.parts.method).fit(problem, context),
                Solution,
                sure(request.parts.method),
                "fit",
            )
        solution = _legible(solution, opened)
    finally:
        opened.release()
    if (tree := solution.tree) is None:
        raise BudgetError(next(iter(solution.notes), "there is no tree"))
    with clock(timings, "verify"):
        found = MergedRows.of(tree, data, opened, report)
    fitted = Fit(
        solution,
        attrs.evolve(problem, objects=found.objects, store=None),
        {},
        division=Division(NO_ROWS, NO_ROWS, NO_ROWS),
        train=found.objects.table,
        timings=timings,
        seal=Seal(),
        scale=Scale(),
    )
    record, _ = verify_and_record(
        request, prepared, found.objects.table, fitted, report, found.further(tree)
    )
    n = data.n_rows
    walked = f"{found.walked} of them once more in plain Python"
    return attrs.evolve(
        record,
        data={**record.data, "n_rows": n, "n_train": n, "n_objects": n},
        checked={
            **record.checked,
            "data": "read again, part by part",
            "rows": f"{n} by their raw values, {walked}",
        },
    )


def _pose(parts: Parts, opened: Opened, seed: int) -> Problem:
    """What the method is handed: a few objects that show the features of all, and the store."""
    objects, cost = opened.objects, sure(parts.cost)
    if (meant := getattr(parts.impurity, "for_objects", None)) is not None:
        # what depends on the weight of all objects is told that
        share = opened.store.total_weight / objects.n_objects
        weight = frozen_array(np.full(objects.n_objects, share))
        parts = attrs.evolve(parts, impurity=meant(attrs.evolve(objects, weight=weight)))
    prices = check.check_prices(cost, cost.price_list(objects, seed), objects)
    check.check_objects(parts, objects)
    return Problem(objects, prices, parts, store=opened.store)


def _legible(solution: Solution, opened: Opened) -> Solution:
    """The same tree, its tests written so that they part the rows; in full where not all values of
    a column are known.
    """
    solution = legible_solution(solution, opened.objects.table)
    if solution.tree is None or not opened.approximate:
        return solution
    rules = with_all_digits(solution.tree.rules, opened.approximate)
    return attrs.evolve(solution, tree=attrs.evolve(solution.tree, rules=rules))


@attrs.frozen(eq=False)
class MergedRows:
    """All rows as few objects: those of a class that rest at a node are one.

    objects : with a table of their own, whose rows are rows of the data set, one for each.
    walked : rows that were walked in plain Python.
    deviation : Σ of weight times |target − predicted|, NaN for classes.
    """

    objects: Encoded
    walked: int
    deviation: float

    @staticmethod
    def of(tree: Tree, data: InParts, opened: Opened, report: Progress) -> MergedRows:
        """Let all parts walk down the tree.  Raises VerificationError where walks disagree."""
        from arboretum.engine.verify import ROWS_IN_PYTHON, check_sample, check_structure

        tree = check_structure(tree)
        sums = _Sums(tree, opened.store.shift)
        rows, walked = max(1, ROWS_IN_PYTHON // len(data.parts)), 0
        for k, part in enumerate(data.parts):
            report(k, len(data.parts), f"verifying {part.name}")
            table = part.load()
            places = walk.places(tree, table)
            if len(places.row):
                fail(f"{part.name}: every row rests at one node", int(places.row[0]))
            walked += check_sample(tree, table, places, rows)
            if table.n_rows >= LARGE and not (same := tree.rest(table) == places.whole).all():
                where = f"row {int(same.argmin())} of {part.name}"
                fail(f"{where} comes to rest where the kernel that predicts puts it")
            sums.take_in(table, places.whole)
        return MergedRows(sums.objects(opened.objects), walked, sums.deviation)

    def further(self, tree: Tree) -> dict[str, float]:
        """Metrics that are no matter of these objects: the mean absolute error of numbers."""
        if tree.is_classification:
            return {}
        return {"train_mae": self.deviation / float(self.objects.weight.sum())}


class _Sums:
    """What rows add up to where they rest, by class; and a row of each."""

    def __init__(self, tree: Tree, shift: float) -> None:
        """shift : what numbers are taken less of."""
        self.tree, self.shift = tree, shift
        self.width = len(tree.classes) or 1
        n = tree.n_nodes * self.width
        self.count = np.zeros(n, np.int64)
        self.moments = np.zeros((n, 1 if tree.is_classification else 3))
        self.deviation = np.nan if tree.is_classification else 0.0
        self.keys: list[np.ndarray] = []
        self.shown: list[Table] = []

    def take_in(self, table: Table, node: np.ndarray) -> None:
        """Add the rows of a part.   node : int64[n], where each rests."""
        weight, n = table.row_weights(), len(self.count)
        if self.tree.is_classification:
            key = node * self.width + table.target.codes
            self.moments[:, 0] += np.bincount(key, weight, n)
        else:
            key, y = node, table.target.values
            self.deviation += float((weight * np.abs(y - self.tree.value[node])).sum())
            for k in range(3):
                self.moments[:, k] += np.bincount(key, weight * (y - self.shift) ** k, n)
        here = np.bincount(key, minlength=n)
        fresh = np.flatnonzero((here > 0) & (self.count == 0))
        if len(fresh):
            seen, first = np.unique(key, return_index=True)
            self.keys.append(fresh)
            self.shown.append(table.take(first[np.searchsorted(seen, fresh)]))
        self.count += here

    def objects(self, few: Encoded) -> Encoded:
        """The objects that all rows have become.   few : of the features of all."""
        keys = np.concatenate(self.keys)
        order = np.argsort(keys, kind="stable")
        keys, table = keys[order], _joined(self.shown).take(order)
        weight, count = self.moments[keys, 0], self.count[keys]
        target: Target = table.target
        if self.tree.is_regression:
            # two targets, as far below the mean as above it, have the same moments
            mean = self.moments[keys, 1] / weight
            spread = np.sqrt(np.maximum(self.moments[keys, 2] / weight - mean * mean, 0.0))
            pairs = np.flatnonzero(count > 1)
            twice = np.concatenate([np.arange(len(keys)), pairs])
            sign = np.ones(len(twice))
            sign[: len(keys)][count > 1] = -1.0
            halved = np.where(count > 1, 0.5, 1.0)
            counts = np.concatenate([count - count // 2, count[pairs] // 2])
            single = np.concatenate([count == 1, np.zeros(len(pairs), np.bool_)])
            table, weight, count = table.take(twice), (weight * halved)[twice], counts
            moved = np.where(single, 0.0, sign * spread[twice])
            target = attrs.evolve(target, values=self.shift + mean[twice] + moved)
        table = attrs.evolve(table, target=target, weights=weight, notes=few.table.notes)
        classes = self.tree.is_classification
        labels: Facts = {
            "label": target.codes if classes else None,
            "y": None if classes else target.values,
        }
        codes = [feature.codes(table.column(feature.column)) for feature in few.features]
        return attrs.evolve(
            few,
            table=table,
            codes=np.stack(codes, axis=1).astype(few.codes.dtype),
            raw=np.zeros((table.n_rows, 0)),
            **labels,
            weight=weight,
            count=count,
            object_of_row=np.arange(table.n_rows),
        )


def _joined(tables: list[Table]) -> Table:
    """Return the rows of several tables of the same columns, one after the other."""
    first = tables[0]
    join = functools.partial(np.concatenate, axis=0)
    columns = tuple(
        attrs.evolve(column, values=join([table.columns[k].values for table in tables]))
        for k, column in enumerate(first.columns)
    )
    target = first.target
    if target.is_classification:
        target = attrs.evolve(target, codes=join([table.target.codes for table in tables]))
    else:
        target = attrs.evolve(target, values=join([table.target.values for table in tables]))
    return attrs.evolve(first, columns=columns, target=target, weights=None, groups=None)
