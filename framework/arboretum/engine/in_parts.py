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
from collections.abc import Callable
from typing import cast

import attrs
import numpy as np

from arboretum.engine import check, run
from arboretum.engine.distinct_rows import (
    columns_by_value,
    components_by_value,
    fit_to_rows,
    roles_by_value,
    show_rows,
    sums_of_leaves,
)
from arboretum.engine.label_costs import has_own_labels, labelled
from arboretum.engine.merged_rows import TRAIN, MergedRows, MergeRule, joined
from arboretum.engine.mismatch import Seal
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
from arboretum.engine.scale import Scale, check_costs
from arboretum.errors import (
    BudgetError,
    CapabilityError,
    ContractError,
    DataError,
    blaming,
    sure,
)
from arboretum.interfaces.dataset import Dataset, InParts
from arboretum.interfaces.method import Context, Parts, Problem
from arboretum.interfaces.rows import Opened
from arboretum.interfaces.split import Division, SplitInParts
from arboretum.interfaces.sums import SumsByLeaf, leaf_answers
from arboretum.model.digits import with_all_digits
from arboretum.model.record import Record, Solution
from arboretum.model.roles import field_of_role
from arboretum.model.steps import LARGE
from arboretum.model.table import Table, frozen_array
from arboretum.model.walk import sum_subtrees
from arboretum.rows.parts import rows_of_parts, table_in_parts
from arboretum.rows.sketch import checksum_of

TEST = 2
"""Number of a subset; 1 is that of ``valid``."""
THERE = ", where its rows lie"


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
    by_value = components_by_value(parts) if _keeps_roles(parts) else []
    for reader, role in check.roles_read(parts):
        if not ((reader is parts.objective and linear) or reader in by_value):
            why = getattr(reader, "needs_all_rows", "")
            if kept := not _keeps_roles(parts) and _reads_parts(reader):
                why = "keeps no roles"
            way = "rows=chunks, or rows=memory" if kept else "rows=memory"
            raise CapabilityError(
                f"{check.label(reader)} reads the {role} of each row, and {rows} answers by tables "
                f"alone{why and ': it '}{why}; use {way}"
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
    objective = None if linear or parts.objective in by_value else parts.objective
    for part in (parts.pruner, parts.tuner, objective, parts.solver):
        if part is not None:
            why = getattr(part, "needs_all_rows", "")
            raise CapabilityError(
                f"{check.label(part)} looks at objects, and {rows} answers by tables "
                f"alone{why and ': it '}{why}; leave it out, or use rows=memory"
            )
    for what, there in (
        ("class_weight", parts.class_weight),
        ("train_fraction", parts.train_fraction != 1),
        ("honest", parts.honest),
        ("certify", request.certify),
    ):
        if there:
            raise CapabilityError(f"{what} needs the table, and {rows} holds none; leave it out")


def _reads_parts(reader: object) -> bool:
    """Whether roles of rows in parts are enough for what reads them."""
    return any(getattr(reader, one, False) for one in ("linear_in_roles", "by_value"))


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
        merged = None
        if components_by_value(parts):
            check.check_table(parts, data.schema)
            report(0, None, "looking through targets and roles")
            parts, merged = fit_to_rows(parts, training)
            training = attrs.evolve(training, columns=columns_by_value(parts))
        about = getattr(parts.impurity, "about", None)
        opened = sure(parts.rows).open(training, sure(parts.encoder), request.seed, about, report)
        check.returned(opened, Opened, sure(parts.rows), "open")
        if merged is not None:
            opened = attrs.evolve(opened, objects=show_rows(opened.objects, merged))
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
        parts,
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
    if not hasattr(parts.objective, "costs"):
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
            problem = _pose(sure(prepared.parts), opened, request.seed)
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
            merge_rule = _merge_rule(request.parts, sure(prepared.parts))
            found = MergedRows.of(tree, data, few, shift, report, subsets, visit, merge_rule)
        solution = attrs.evolve(solution, notes=(*solution.notes, *opened.notes()))
    finally:
        opened.release()
    ends = np.cumsum([0, *(part.n_rows for part in found.tables)])
    # estimates are made again, of the rows as they came to rest
    criterion, objective = request.parts.criterion, request.parts.objective
    parts = attrs.evolve(problem.parts, criterion=criterion, objective=objective)
    problem = attrs.evolve(problem, objects=found.objects, store=None, parts=parts)
    if found.leaf_sums is not None:
        sums = sum_subtrees(found.leaf_sums, tree)
        said = leaf_answers(cast(SumsByLeaf, sure(prepared.parts).objective), sums)
        solution = attrs.evolve(solution, tree=attrs.evolve(tree, value=said))
    elif has_own_labels(problem.parts):
        solution = attrs.evolve(solution, tree=labelled(tree, problem))
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
        request, prepared, joined(found.tables), fitted, report, found.further()
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


def _merge_rule(parts: Parts, fitted: Parts) -> MergeRule:
    """How rows become few objects.   fitted : the parts, with what they estimate of all rows."""
    if components_by_value(parts):
        return MergeRule(by_value=roles_by_value(parts), sums=sums_of_leaves(fitted))
    return MergeRule(functools.partial(linear_roles, parts.objective))


def _pose(parts: Parts, opened: Opened, seed: int) -> Problem:
    """What the method is handed: a few objects that show the features of all, and the store."""
    objects, cost = opened.objects, sure(parts.cost)
    if (meant := getattr(parts.impurity, "for_objects", None)) is not None:
        # what depends on the weight of all objects is told that
        share = opened.store.total_weight / objects.n_objects
        weight = frozen_array(np.full(objects.n_objects, share))
        parts = attrs.evolve(parts, impurity=meant(attrs.evolve(objects, weight=weight)))
    prices = check.check_prices(cost, cost.price_list(objects, seed), objects)
    prices = check_costs(prices, objects, Scale())
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
