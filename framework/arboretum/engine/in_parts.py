"""Runs whose rows lie in a row store: read, coded, grown on, verified and measured part by part.
The table as a whole is in memory at no time.

What verification and measures ask of rows adds up, too.  Once each part has walked down the tree,
row by row by its raw values, the rows of a class that rest at a node are one object of their summed
weight and count (of numbers: two, with the same moments), and everything else is the run's own
code on these objects.

Where there is a split, it says first which rows train; a store is handed parts that hold these
rows, and no others, so that no sketch, encoder or growth can look at the rest.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import attrs
import numpy as np

from arboretum.engine import check, run
from arboretum.engine.label_costs import has_own_labels, labelled
from arboretum.engine.mismatch import Seal, at_every_node, fail
from arboretum.engine.progress import Progress
from arboretum.engine.row_costs import columns_of_rows, linear_roles
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
from arboretum.errors import (
    BudgetError,
    CapabilityError,
    ContractError,
    DataError,
    blaming,
    sure,
)
from arboretum.interfaces.dataset import Dataset, InParts, Part
from arboretum.interfaces.method import Context, Parts, Problem
from arboretum.interfaces.rows import Opened
from arboretum.interfaces.split import Division, SplitInParts
from arboretum.model import walk
from arboretum.model.digits import with_all_digits
from arboretum.model.encoded import Encoded
from arboretum.model.plain import Facts
from arboretum.model.record import Record, Solution
from arboretum.model.roles import field_of_role
from arboretum.model.steps import LARGE
from arboretum.model.table import Table, Target, frozen_array
from arboretum.model.tree import Tree
from arboretum.rows.parts import rows_of_parts, table_in_parts
from arboretum.rows.sketch import checksum_of

NO_ROWS = np.zeros(0, np.int64)
Visit = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
Roles = Callable[[Table], Mapping[str, np.ndarray]]
TRAIN, TEST = 0, 2
"""Numbers of subsets; 1 is that of ``valid``."""
THERE = ", where its rows lie"


def _own_roles(table: Table) -> Mapping[str, np.ndarray]:
    return table.roles


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

    parts, store = request.parts, sure(request.parts.rows)
    rows = f"rows={store.name}"
    if hasattr(store, "check_installed"):
        store.check_installed()
    for fault in find_what_needs_rows(parts):
        raise CapabilityError(f"{fault}; use rows=memory")
    linear = getattr(parts.objective, "linear_in_roles", False) and _keeps_roles(parts)
    for reader, role in check.roles_read(parts):
        if reader is not parts.objective or not linear:
            why = getattr(reader, "needs_all_rows", "")
            raise CapabilityError(
                f"{check.label(reader)} reads the {role} of each row, and {rows} answers by tables "
                f"alone{why and ': it '}{why}; use rows=memory"
            )
    if parts.split is not None and not hasattr(parts.split, "assign_rows"):
        raise CapabilityError(
            f"{check.label(parts.split)} divides a table, and {rows} holds none: it has no "
            "assign_rows; use split=holdout, or split=none and another file (arboretum test)"
        )
    if parts.split is not None and getattr(parts.encoder, "reads_all_rows", False):
        raise CapabilityError(
            f"{check.label(parts.encoder)} looks at rows that do not train, and {rows} shows it "
            "those that train; use encoder.fit_on=train, or rows=memory"
        )
    if not getattr(parts.method, "asks_rows", False):
        raise CapabilityError(
            f"{check.label(parts.method)} looks at objects, and {rows} answers by tables alone; "
            "use method=greedy, a preset of it such as cart, or rows=memory"
        )
    objective = None if linear else parts.objective
    for part in (parts.pruner, parts.tuner, objective, parts.solver):
        if part is not None:
            raise CapabilityError(
                f"{check.label(part)} looks at objects, and {rows} answers by tables alone; leave "
                "it out, or use rows=memory"
            )
    for what, there in (
        ("class_weight", parts.class_weight),
        ("train_fraction", parts.train_fraction != 1),
        ("honest", parts.honest),
        ("certify", request.certify),
    ):
        if there:
            raise CapabilityError(f"{what} needs the table, and {rows} holds none; leave it out")


def _keeps_roles(parts: Parts) -> bool:
    """Whether the store of a run has the roles of rows."""
    return bool(getattr(parts.rows, "keeps_roles", False))


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
        data = _data_in_parts(parts, request.seed)
        if not data.n_rows:
            raise DataError(f"{data.schema.name} has no rows")
        subsets = _assign_rows(parts, data, request.seed, report)
        training = data if subsets is None else rows_of_parts(data, subsets == TRAIN)
        about = getattr(parts.impurity, "about", None)
        opened = sure(parts.rows).open(training, sure(parts.encoder), request.seed, about, report)
        check.returned(opened, Opened, sure(parts.rows), "open")
    try:
        check.check_table(parts, opened.objects.table)
        if not np.isfinite(opened.store.totals([0]).weights).all():
            raise DataError(
                "weights, or targets, are too large for sums of their squares; rows=memory brings "
                "them near 1"
            )
        sha256 = opened.sha256
        if subsets is not None:
            report(0, None, "taking the checksum of all rows")
            with clock(timings, "load"):
                sha256 = checksum_of(data)
    except BaseException:
        opened.release()
        raise
    return Prepared(
        opened.objects.table,
        sha256,
        fingerprint(request, sha256),
        timings["load"],
        data,
        opened,
        subsets,
    )


def _assign_rows(parts: Parts, data: InParts, seed: int, report: Progress) -> np.ndarray | None:
    """Let the split say which rows train: uint8[rows], 0, 1 or 2; None where all train."""
    if parts.split is None:
        return None
    if data.grouped:
        raise CapabilityError(
            f"{check.label(parts.split)} keeps rows of one group together, and groups are not "
            f"known part by part; leave dataset.group out, or use rows=memory, not "
            f"rows={sure(parts.rows).name}"
        )
    classes = None
    if data.schema.is_classification:
        kind = np.uint8 if data.schema.n_classes <= 256 else np.int32
        classes = np.empty(data.n_rows, kind)
        for start, part in data.starts():
            report(start, data.n_rows, f"reading the target of {part.name}")
            classes[start : start + part.n_rows] = part.target().codes
    subsets = cast(SplitInParts, parts.split).assign_rows(classes, data.n_rows, seed)
    subsets = check.returned(subsets, np.ndarray, parts.split, "assign_rows")
    if subsets.shape != (data.n_rows,) or subsets.dtype != np.uint8 or subsets.max() > TEST:
        raise ContractError(
            f"{check.label(parts.split)}: assign_rows must return uint8[{data.n_rows}] of 0, 1, 2; "
            f"got {subsets.dtype}{list(subsets.shape)}"
        )
    if (subsets != TRAIN).all():
        raise ContractError(f"{check.label(parts.split)}: assign_rows leaves no row to learn from")
    return frozen_array(subsets)


def _data_in_parts(parts: Parts, seed: int) -> InParts:
    """The parts of a run's data set; of one that is loaded at once, stretches of its table."""
    dataset: Dataset = sure(parts.dataset)
    if hasattr(dataset, "in_parts"):
        found = check.returned(dataset.in_parts(seed), InParts, dataset, "in_parts")
        for role in () if _keeps_roles(parts) else found.schema.roles:
            raise CapabilityError(
                f"rows={sure(parts.rows).name} keeps no {role}; use rows=chunks or rows=memory, or "
                f"leave dataset.{field_of_role(role)} out and ignore its column"
            )
        return _with_columns(found, parts)
    table = check.returned(dataset.load(seed), Table, dataset, "load")
    check_usable(table)
    note = f"{check.label(dataset)} is loaded at once, and only then read part by part"
    if table.roles and not _keeps_roles(parts):
        note += f"; what rows say besides ({', '.join(table.roles)}) is left out of its checksum"
        table = attrs.evolve(table, roles={})
    noted = attrs.evolve(table, notes={**table.notes, "parts": note})
    found = table_in_parts(noted, [LARGE] * (table.n_rows // LARGE))
    return _with_columns(found, parts)


def _with_columns(data: InParts, parts: Parts) -> InParts:
    """The same data, and what their rows add to the columns of a criterion that has such."""
    if parts.objective is None:
        return data
    linear_roles(parts.objective, data.schema)  # refuses roles that it cannot do without
    return attrs.evolve(data, columns=columns_of_rows(attrs.evolve(parts, criterion=None)))


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
        if (tree := solution.tree) is None:
            raise BudgetError(next(iter(solution.notes), "there is no tree"))
        with clock(timings, "verify"):
            few, shift = opened.objects, opened.store.shift
            subsets, visit = prepared.subsets, opened.visit
            roles = functools.partial(linear_roles, request.parts.objective)
            found = MergedRows.of(tree, data, few, shift, report, subsets, visit, roles)
        solution = attrs.evolve(solution, notes=(*solution.notes, *opened.notes()))
    finally:
        opened.release()
    ends = np.cumsum([0, *(part.n_rows for part in found.tables)])
    problem = attrs.evolve(problem, objects=found.objects, store=None)
    if has_own_labels(problem.parts):
        solution = attrs.evolve(solution, tree=labelled(sure(solution.tree), problem))
    fitted = Fit(
        solution,
        problem,
        {},
        division=Division(*(np.arange(a, b) for a, b in itertools.pairwise(ends))),
        train=found.objects.table,
        timings=timings,
        seal=Seal(),
        scale=Scale(),
    )
    record, _ = verify_and_record(
        request, prepared, _joined(found.tables), fitted, report, found.further()
    )
    n, (n_train, _, n_test) = data.n_rows, found.sizes
    walked = f"{found.walked} of them once more in plain Python"
    # rows that are one object have lost how far they lie from it
    metrics = {k: v for k, v in record.metrics.items() if not k.endswith("_mean_cost_error")}
    return attrs.evolve(
        record,
        metrics=metrics,
        data={
            **record.data,
            "n_rows": n,
            "n_train": n_train,
            "n_test": n_test,
            "n_objects": n_train,
        },
        checked={
            **record.checked,
            "data": "read again, part by part" + ("" if opened.visit is map else THERE),
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
class SplitPart:
    """A part, and which of its rows train and which judge.

    subsets : uint8[rows]; None: all train.
    """

    part: Part
    subsets: np.ndarray | None

    @staticmethod
    def all_of(data: InParts, subsets: np.ndarray | None) -> list[SplitPart]:
        """Those of a data set."""
        return [
            SplitPart(part, None if subsets is None else subsets[start : start + part.n_rows])
            for start, part in data.starts()
        ]


@attrs.frozen(eq=False)
class RestingRows:
    """What rows add up to where they rest, by class; a key is a node and a class.

    count : int64[keys], rows.
    moments : float64[keys, 1 or 3], Σ of weights (of weights times target, and its square).
    roles : float64[keys] of each role, Σ of weights times it.
    shown : int64[·], the keys that have a row.   rows : a row of each.
    deviation : Σ of weight times |target − predicted|, NaN for classes.
    """

    count: np.ndarray
    moments: np.ndarray
    roles: dict[str, np.ndarray]
    shown: np.ndarray
    rows: Table
    deviation: float

    @staticmethod
    def of(tree: Tree, shift: float, table: Table, node: np.ndarray) -> RestingRows:
        """Add them up.   shift : what numbers are taken less of.   node : int64[n], where each
        rests.
        """
        weight, width = table.row_weights(), len(tree.classes) or 1
        n, deviation = tree.n_nodes * width, np.nan
        if tree.is_classification:
            key = node * width + table.target.codes
            moments = np.bincount(key, weight, n)[:, None]
        else:
            key, y = node, table.target.values
            deviation = float((weight * np.abs(y - tree.value[node])).sum())
            sums = [np.bincount(key, weight * (y - shift) ** k, n) for k in range(3)]
            moments = np.stack(sums, axis=1)
        first = np.zeros(n, np.int64)
        first[key[::-1]] = np.arange(table.n_rows)[::-1]  # of several rows the last one written
        count = np.bincount(key, minlength=n)
        shown = np.flatnonzero(count)
        roles = {role: np.bincount(key, weight * own, n) for role, own in table.roles.items()}
        return RestingRows(count, moments, roles, shown, table.take(first[shown]), deviation)


@attrs.frozen(eq=False)
class VerifiedPart:
    """What a part adds up to, of each subset that has rows in it; and the rows of it that were
    walked in plain Python.
    """

    subsets: dict[int, RestingRows]
    walked: int

    @staticmethod
    def of(
        split_part: SplitPart, tree: Tree, shift: float, sample: int, roles: Roles
    ) -> VerifiedPart:
        """Let a part walk down the tree.  Raises VerificationError where walks disagree.

        shift : what numbers are taken less of.   sample : rows to walk in plain Python.
        roles : what is added up of the roles of rows.
        """
        from arboretum.engine.verify import check_sample

        part, table = split_part.part, split_part.part.load()
        places = walk.places(tree, table)
        if len(places.row):
            fail(f"{part.name}: every row rests at one node", int(places.row[0]))
        walked = check_sample(tree, table, places, sample)
        if table.n_rows >= LARGE and not (same := tree.rest(table) == places.whole).all():
            where = f"row {int(same.argmin())} of {part.name}"
            fail(f"{where} comes to rest where the kernel that predicts puts it")
        table = attrs.evolve(table, roles=roles(table))
        if split_part.subsets is None:
            return VerifiedPart({TRAIN: RestingRows.of(tree, shift, table, places.whole)}, walked)
        found = {}
        for number in np.unique(split_part.subsets).tolist():
            own = np.flatnonzero(split_part.subsets == number)
            found[number] = RestingRows.of(tree, shift, table.take(own), places.whole[own])
        return VerifiedPart(found, walked)


@attrs.frozen(eq=False)
class MergedRows:
    """All rows as few objects: those of a class that rest at a node are one.

    objects : those that train, with a table of their own, whose rows are rows of the data set, one
        for each.
    tables : of the rows that train, of ``valid``, of ``test``; of none where there are none.
    sizes : rows of the data set in each.
    walked : rows that were walked in plain Python.
    deviations : of each, Σ of weight times |target − predicted|, NaN for classes.
    """

    objects: Encoded
    tables: list[Table]
    sizes: list[int]
    walked: int
    deviations: list[float]

    @staticmethod
    def of(
        tree: Tree,
        data: InParts,
        few: Encoded,
        shift: float,
        report: Progress = Context().progress,
        subsets: np.ndarray | None = None,
        visit: Visit = map,
        roles: Roles = _own_roles,
    ) -> MergedRows:
        """Let all parts walk down the tree.  Raises VerificationError where walks disagree.

        few : of the features of all.   shift : what numbers are taken less of.
        visit : as of ``Opened``.
        subsets : uint8[rows], which train and which judge; None: all train.
        roles : of a table, what is added up of the roles of its rows.
        """
        from arboretum.engine.verify import ROWS_IN_PYTHON, check_structure

        tree, n = check_structure(tree), len(data.parts)
        sums = [_Sums(tree, shift) for _ in range(3)]
        sample = max(1, ROWS_IN_PYTHON // n)
        verified = functools.partial(
            VerifiedPart.of, tree=tree, shift=shift, sample=sample, roles=roles
        )
        found = visit(verified, SplitPart.all_of(data, subsets))
        walked = 0
        report(0, n, "verifying")
        for k, (part, own) in enumerate(zip(data.parts, found, strict=True)):
            report(k + 1, n, f"verifying; {part.name} is done")
            if (rows := sum(int(one.count.sum()) for one in own.subsets.values())) != part.n_rows:
                fail(f"{part.name}: all of its {part.n_rows} rows come to rest", rows)
            for number, resting in own.subsets.items():
                sums[number].take_in(resting)
            walked += own.walked
        objects = sums[TRAIN].objects(few)
        none = attrs.evolve(objects.table.take(NO_ROWS), notes=data.schema.notes)
        judging = [one.rows(data.schema.notes)[0] if one.n else none for one in sums[1:]]
        return MergedRows(
            objects,
            [objects.table, *judging],
            [one.n for one in sums],
            walked,
            [one.deviation for one in sums],
        )

    def further(self) -> dict[str, float]:
        """Metrics that are no matter of these objects: the mean absolute error of numbers."""
        named = zip(("train", "valid", "test"), self.tables, self.deviations, strict=True)
        return {
            f"{name}_mae": deviation / float(table.row_weights().sum())
            for name, table, deviation in named
            if table.is_regression and table.n_rows
        }


def verify_tree(tree: Tree, data: InParts | Table) -> int:
    """Check a tree that was made elsewhere against the rows that it says it was grown from: all
    walk down by their raw values, some once more in plain Python, and weights, counts, labels and
    means of every node are computed again.  Returns how many rows they are.

    Scores and impurities are not looked at.  Raises VerificationError, naming what disagrees.
    """
    from arboretum.engine.verify import CLOSE, check_tree

    if isinstance(data, Table):
        data = table_in_parts(data, [LARGE] * (data.n_rows // LARGE))
    schema = data.schema
    if not data.n_rows:
        raise DataError(f"{schema.name} has no rows")
    if schema.target.classes != tree.classes:
        fail(f"classes of the data are those of the tree: {tree.classes}", schema.target.classes)
    none = Encoded(
        table=schema,
        features=(),
        codes=np.zeros((0, 0), np.uint8),
        raw_features=(),
        raw=np.zeros((0, 0)),
        label=schema.target.codes,
        y=schema.target.values,
        weight=schema.row_weights(),
        count=NO_ROWS,
        object_of_row=NO_ROWS,
    )
    shift = float(tree.value[0]) if tree.is_regression else 0.0
    found = MergedRows.of(tree, data, none, shift)
    check_tree(tree, found.objects, found.objects.table)
    if tree.is_regression:
        mean = tree.weights[:, 1] / tree.weights[:, 0]
        near = np.abs(tree.value - mean) <= CLOSE * np.maximum(np.abs(mean), 1.0)
        at_every_node("a node predicts the mean of its rows", near, tree.value, mean)
    return data.n_rows


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
        self.roles = dict[str, np.ndarray]()
        self.n = 0
        self.keys: list[np.ndarray] = []
        self.shown: list[Table] = []

    def take_in(self, found: RestingRows) -> None:
        """Add the rows of a part."""
        fresh = np.flatnonzero(self.count[found.shown] == 0)
        if len(fresh):
            self.keys.append(found.shown[fresh])
            self.shown.append(found.rows.take(fresh))
        self.n += int(found.count.sum())
        self.count += found.count
        self.moments += found.moments
        for role, own in found.roles.items():
            self.roles[role] = self.roles.get(role, 0.0) + own
        self.deviation += found.deviation

    def rows(self, notes: Mapping[str, str]) -> tuple[Table, np.ndarray]:
        """A table of few rows that all rows have become, with their weights, and int64[·], how many
        each of them stands for.   notes : the table's.
        """
        keys = np.concatenate(self.keys)
        order = np.argsort(keys, kind="stable")
        keys, table = keys[order], _joined(self.shown).take(order)
        weight, count = self.moments[keys, 0], self.count[keys]
        target: Target = table.target
        roles = {role: own[keys] / weight for role, own in self.roles.items()}
        table = attrs.evolve(table, roles=roles)
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
        return attrs.evolve(table, target=target, weights=weight, notes=notes), count

    def objects(self, few: Encoded) -> Encoded:
        """The objects that all rows have become.   few : of the features of all."""
        table, count = self.rows(few.table.notes)
        target, classes = table.target, self.tree.is_classification
        labels: Facts = {
            "label": target.codes if classes else None,
            "y": None if classes else target.values,
        }
        codes = [feature.codes(table.column(feature.column)) for feature in few.features]
        return attrs.evolve(
            few,
            table=table,
            codes=np.stack(codes, axis=1).astype(few.codes.dtype)
            if codes
            else np.zeros((table.n_rows, 0), np.uint8),
            raw=np.zeros((table.n_rows, 0)),
            **labels,
            weight=table.row_weights(),
            count=count,
            object_of_row=np.arange(table.n_rows),
        )


def _joined(tables: list[Table]) -> Table:
    """Return the rows of several tables of the same columns, one after the other, with their
    weights.
    """
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
    weights = join([table.row_weights() for table in tables])
    roles = {role: join([table.roles[role] for table in tables]) for role in first.roles}
    return attrs.evolve(
        first, columns=columns, target=target, weights=weights, groups=None, roles=roles
    )
