"""The run pipeline: load → split → encode → grow or solve (tune) → prune → verify → measure →
Record.

Reads data through the dataset component only and writes nothing; observers keep what it returns.
"""

import functools
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.engine import check, select
from arboretum.engine.interpreting import interpret_small, or_compiled
from arboretum.engine.interruptions import hold_signals, mark_interrupted, without_others
from arboretum.engine.mismatch import Seal
from arboretum.engine.monotone import asked_of, check_pruned
from arboretum.engine.progress import Progress, about
from arboretum.engine.row_costs import measure
from arboretum.engine.scale import Scale, check_costs, check_range
from arboretum.engine.training import merged_rows, one_value, training_rows
from arboretum.errors import (
    ArboretumError,
    BudgetError,
    ContractError,
    DataError,
    OnlyCompiled,
    VerificationError,
    blaming,
    sure,
)
from arboretum.interfaces.budget import Budget
from arboretum.interfaces.complexity import Complexity
from arboretum.interfaces.component import Capability, Component
from arboretum.interfaces.dataset import InParts
from arboretum.interfaces.method import Context, Parts, Problem
from arboretum.interfaces.rows import Opened
from arboretum.interfaces.solver import Solver
from arboretum.interfaces.split import Division
from arboretum.model.digits import legible_tree
from arboretum.model.encoded import Encoded
from arboretum.model.plain import Facts, Plain
from arboretum.model.record import RECOMPUTED, UNFINISHED, Checked, Record, Solution, Status
from arboretum.model.roles import check_role
from arboretum.model.table import Table
from arboretum.model.tree import Tree

if TYPE_CHECKING:
    from arboretum.engine.honest import Filled

VOLATILE = frozenset(
    {
        "choices",
        "tracker",
        "hydra",
        "plugins",
        "skip_finished",
        "goal",
        "study",
        "certifier",
        "budget",
    }
)
"""Configuration keys that do not change a finished result, and so are no part of its
fingerprint.
"""

_silent = Context().progress  # of a run nobody watches

CERTIFICATE_MB = 4000
"""Megabytes that a certificate may take where ``budget.memory_mb`` says nothing: nobody who asks
for a quick tree expects the proof beside it to fill the machine.  (Memory, not seconds: the same
bound on every machine.)
"""


@attrs.frozen(eq=False)
class Request:
    """One run.

    certify : put the tree beside the proven minima of ``complexities``, by ``certifier`` (a solver
        with ``minima``, or None).
    config : the composed configuration, kept in the record.
    versions : of packages and plugins, kept in the record.
    code : name → content hash of the framework and of each plugin that takes part (see
        :mod:`arboretum.engine.code`).
    """

    parts: Parts
    seed: int = 0
    budget: Budget = Budget()
    certify: bool = False
    certifier: Solver | None = None
    complexities: tuple[Complexity, ...] = ()
    config: Plain = attrs.field(factory=dict)
    versions: Mapping[str, str] = attrs.field(factory=dict)
    code: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen(eq=False)
class Prepared:
    """The data of a request: enough to know its fingerprint.

    table : the data; where rows lie in a store a few rows that show their values.
    data, opened : of such a run: what it is read from, and the store.
    subsets : of such a run with a split, uint8[rows of data]: 0 for a row that trains, 1 for one of
        ``valid``, 2 for one of ``test``; None: all train.
    parts : of such a run, with what they estimate of all rows that train.
    """

    table: Table
    sha256: str
    fingerprint: str
    load_seconds: float
    data: InParts | None = None
    opened: Opened | None = None
    subsets: np.ndarray | None = None
    parts: Parts | None = None

    def release(self) -> None:
        """Give back what a row store holds, where the run is not made after all."""
        if self.opened is not None:
            self.opened.release()


@attrs.frozen(eq=False, kw_only=True)
class Fit(select.Grown):
    """What growing returned, with everything it was grown from.

    timings : seconds: encode, compile, fit.   seal : on the data as loaded, where it was asked for.
    scale : what its table was divided by before, and its prices since.
    filled : the tree after other rows filled its leaves, where the run asks for honest ones.
    """

    division: Division
    train: Table
    timings: Mapping[str, float]
    seal: Seal
    scale: Scale
    filled: "Filled | None" = None

    @property
    def reported(self) -> Solution:
        """The solution with the trees that the run reports: filled, where it asks for that."""
        if (filled := self.filled) is None:
            return self.solution
        # a signal may have ended the wait for those beside
        others = filled.others[: len(self.solution.others)]
        return attrs.evolve(self.solution, tree=filled.tree, others=others)


@blaming()
def prepare(request: Request, progress: Progress | None = None) -> Prepared:
    """Check the parts, load the data, and compute the fingerprint.  Raises CapabilityError,
    DataError, …
    """
    progress = progress or _silent
    check.check_parts(request.parts)
    if request.parts.dataset is None:
        raise DataError(
            "no data set is chosen; add dataset=NAME (arboretum plugins lists them) or "
            "dataset=file dataset.path=…"
        )
    progress(0, None, "loading data")
    timings: dict[str, float] = {}
    with clock(timings, "load"):
        table = check.returned(
            request.parts.dataset.load(request.seed), Table, request.parts.dataset, "load"
        )
    check_usable(table)
    check_range(table, Scale.of(table, request.parts))
    check.check_table(request.parts, table)
    sha256 = table.sha256()
    return Prepared(table, sha256, fingerprint(request, sha256), timings["load"])


def check_usable(table: Table) -> None:
    """Refuse a table that no method can learn from: no rows, no columns, roles that are not of its
    rows.
    """
    if table.n_rows == 0:
        raise DataError(f"{table.name} has no rows")
    if not table.columns:
        raise DataError(
            f"{table.name} has no usable column besides the target {table.target.name!r}"
        )
    for role, values in table.roles.items():
        if values.shape != (table.n_rows,):
            raise DataError(
                f"{table.name} has {table.n_rows} rows, and its {role} is an array of the shape "
                f"{values.shape}; give one number for each row"
            )
        check_role(role, values, f"{table.name}: the {role}")


def fingerprint(request: Request, sha256: str) -> str:
    """Content hash of configuration, data and code version: equal fingerprints mean equal results.

    What cannot change a finished result (tracker, folders, goal) is left out; a budget counts only
    where it is set, because a run that it cut short differs.  Who certifies what counts only where
    a certificate is asked for.
    """
    config = {key: value for key, value in request.config.items() if key not in VOLATILE}
    # what runs were before there were these
    for key, unset in (("train_fraction", 1), ("honest", 0)):
        if config.get(key) == unset:
            del config[key]
    spent = {key: value for key, value in attrs.asdict(request.budget).items() if value is not None}
    proof = (
        [*([request.certifier] if request.certifier else []), *request.complexities]
        if request.certify
        else []
    )
    certificate = [(part.kind, part.name, attrs.asdict(part)) for part in proof]
    parts = [config, request.seed, spent, request.certify, certificate, sha256, dict(request.code)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


@attrs.frozen
class Later:
    """What solvers leave to be done once their tree is kept: takes the place of
    ``Context.after``.
    """

    left: list[tuple[Solution, Callable[[], Solution]]] = attrs.field(factory=list)

    def __call__(self, found: Solution, work: Callable[[], Solution]) -> Solution:
        """Return the solution as it is, and keep the work for later."""
        self.left.append((found, work))
        return found

    def of(self, tree: Tree) -> list[tuple[Solution, Callable[[], Solution]]]:
        """What is left of the solution with that tree, of all that a tuner has tried."""
        # its tests may have been written anew, with more digits; its shape was not
        return [one for one in self.left if one[0].tree and one[0].tree.child is tree.child]


@blaming()
def run(
    request: Request,
    progress: Progress | None = None,
    prepared: Prepared | None = None,
    keep: Callable[[Record], None] = lambda record: None,
) -> Record:
    """Execute one run and return its verified record; raises ArboretumError on any failure.

    keep : is handed the record of a search while signals wait, and before what may take long, or
        fail, after the tree is known: its certificate and its proof.
    prepared : of the same request, where somebody wanted the fingerprint first; None: it is made.
    """
    progress, later = progress or _silent, Later()
    if request.parts.rows is not None and not request.parts.rows.whole:
        raise ContractError(f"{check.label(request.parts.rows)}: run it by engine.in_parts")
    prepared = prepared or prepare(request, progress)
    scale = Scale.of(prepared.table, request.parts)
    table = scale.table(prepared.table)
    with hold_signals(request.parts.solver is not None) as signals:
        how: Facts = {
            "listen": functools.partial(signals.heard_by, after=later),
            "over": signals.search_over,
            "scale": scale,
            "warm": True,
            "sealed": True,
        }
        fitted = fit(
            request.parts, table, request.seed, budget=request.budget, progress=progress, **how
        )
        ended = fitted.solution.interrupted
        # whoever sends a signal does not wait either
        if (sent := signals.first or ended) and (signals.waiting or sent.args):
            fitted = attrs.evolve(fitted, solution=without_others(fitted.solution, sent))
        try:
            record, metrics = verify_and_record(request, prepared, table, fitted, progress)
        except KeyboardInterrupt as error:
            if fitted.solution.front is None and not fitted.solution.others:
                raise
            fitted = attrs.evolve(fitted, solution=without_others(fitted.solution, error))
            record, metrics = verify_and_record(request, prepared, table, fitted, progress)
        left = later.of(sure(fitted.solution.tree))
        what = " and ".join(["certificate"] * request.certify + ["proof"] * bool(left))
        cut = attrs.evolve(
            record,
            fingerprint=_unfinished(prepared),
            notes=(*record.notes, f"the run was ended before it had its {what}"),
        )
        signals.keeping()
        if request.parts.solver is not None or what:
            keep(cut if what else record)
    if (ended := signals.ended) is not None:
        record, cut = (
            attrs.evolve(one, solution=mark_interrupted(sure(one.solution), ended))
            for one in (record, cut)
        )
    stopped = record.solution and record.solution.interrupted
    # whoever sends a signal does not wait for a certificate
    if what and (ended is not None or (stopped and stopped.args and request.certify)):
        return cut
    if request.certify:
        record = _add_certificate(request, fitted, record, metrics, progress)
    for found, work in left:
        record = _finish_work(record, prepared, found, work, keep)
    return record


def _unfinished(prepared: Prepared) -> str:
    """The fingerprint of a run that somebody ended."""
    return UNFINISHED + prepared.fingerprint


def _fingerprint_of(prepared: Prepared, solution: Solution) -> str:
    """The fingerprint of a run that its own budget cut short is that of its request, which has the
    budget in it: the result is what the method finds within that.  Ctrl-C and signals are in no
    request.
    """
    whole = solution.finished or not solution.interrupted
    return prepared.fingerprint if whole else _unfinished(prepared)


def _finish_work(
    record: Record,
    prepared: Prepared,
    found: Solution,
    work: Callable[[], Solution],
    keep: Callable[[Record], None],
) -> Record:
    """The record after what a solver had left to do; where that fails it is kept, and says so,
    before the error is raised.

    found : the solution that ``work`` completes; its notes are the first of those of the result.
    keep : is handed the record of a run whose work failed, which counts as unfinished.
    """
    try:
        done = work()
    except KeyboardInterrupt as error:
        done = attrs.evolve(
            mark_interrupted(found, error),
            finished=False,
            notes=(*found.notes, "no proof is written: it was interrupted"),
        )
    except ArboretumError as error:
        true = record.verified and not isinstance(error, VerificationError)
        keep(
            attrs.evolve(
                record,
                verified=true,
                fingerprint=_unfinished(prepared),
                notes=(*record.notes, f"no proof is written: {error}"),
            )
        )
        error.add_note("the tree is kept, without a proof")
        raise
    solution = sure(record.solution)
    solution = attrs.evolve(solution, details={**solution.details, **done.details})
    fingerprint = _fingerprint_of(prepared, done)
    return attrs.evolve(
        record,
        solution=solution,
        fingerprint=fingerprint,
        notes=(*record.notes, *done.notes[len(found.notes) :]),
    )


def verify_and_record(
    request: Request,
    prepared: Prepared,
    table: Table,
    fitted: Fit,
    progress: Progress,
    further: Mapping[str, float] = MappingProxyType({}),
) -> tuple[Record, dict[str, float]]:
    """The record of a tree that the slow reference has recomputed, and the metrics in the engine's
    units.

    table : in these, too.   further : metrics that are taken elsewhere.
    """
    from arboretum.engine.search.compiled_criterion import collect_notes
    from arboretum.engine.verify import verify

    parts = request.parts
    timings = {"load": prepared.load_seconds, **fitted.timings}
    tree, objects = fitted.solution.tree, fitted.problem.objects
    if tree is None:
        why = (
            "the budget ran out before there was any tree; raise budget.seconds or budget.memory_mb"
        )
        raise BudgetError(next(iter(fitted.solution.notes), why))
    progress(0, None, "verifying")
    with interpret_small(fitted.problem, request.budget):
        measured = or_compiled(functools.partial(measure, tree, fitted, table)) | dict(further)
        with clock(timings, "verify"):
            asked = (tree, fitted.problem, fitted.train, measured, fitted.solution, fitted.seal)
            checked = or_compiled(lambda: verify(*asked))
        notes = collect_notes(fitted.problem, tree)
        metrics = measured
        if (filled := fitted.filled) is not None:
            from arboretum.engine.honest import verify_filled

            tree = filled.tree
            metrics = or_compiled(functools.partial(measure, tree, fitted, table, filled.problem))
            with clock(timings, "verify"):
                filled = attrs.evolve(filled, others=fitted.reported.others)
                checked["honest leaves"] = verify_filled(filled, fitted.train, metrics)
            notes = (*notes, *filled.notes)
    solution = attrs.evolve(
        fitted.reported,
        checked=Checked.verified if checked["value"] == RECOMPUTED else Checked.claimed,
    )
    scale = fitted.scale
    metrics, tree, solution = scale.metrics(metrics), scale.tree(tree), scale.solution(solution)
    sizes = {
        "n_rows": table.n_rows,
        "n_train": fitted.train.n_rows,
        "n_test": len(fitted.division.test),
        "n_objects": objects.n_objects,
        "n_tests": objects.n_tests,
    }
    if filled is not None:
        sizes["n_honest"] = filled.problem.objects.n_objects
    proves = parts.solver is not None or fitted.solution.status is Status.optimal
    record = Record(
        config=request.config,
        seed=request.seed,
        versions=request.versions,
        data={"name": table.name, "sha256": prepared.sha256, **sizes, "n_classes": table.n_classes},
        timings=timings,
        metrics=metrics,
        solution=solution if proves else None,
        verified=True,
        tree=tree,
        fingerprint=_fingerprint_of(prepared, solution),
        notes=(
            *{**table.notes, **fitted.train.notes}.values(),
            *one_value(fitted.train, parts),
            *merged_rows(objects, parts),
            *objects.notes,
            *solution.notes,
            *_note_on_cuts(fitted),
            *notes,
            *scale.notes(),
        ),
        selections=fitted.selections,
        code=request.code,
        checked=checked,
    )
    return record, measured


def _note_on_cuts(fitted: Fit) -> tuple[str, ...]:
    """A note where an optimum is one of fewer tests than the columns allow, because the encoder
    made cuts of its own choice; () where it is not, or the solver makes its tests itself.
    """
    known, cuts = fitted.problem.objects.cuts
    if (
        known >= cuts
        or fitted.solution.status is not Status.optimal
        or hasattr(fitted.problem.parts.solver, "tests")
    ):
        return ()
    return (
        f"optimal for a restricted problem: tests know {known} of {cuts} cuts of "
        "continuous columns; encoder.numeric=midpoints has all",
    )


def _add_certificate(
    request: Request, fitted: Fit, record: Record, metrics: Mapping[str, float], progress: Progress
) -> Record:
    """The record with its certificate, and with notes on it; under a clock of its own, with the
    whole budget again.

    metrics : the engine's.

    A certificate that the budget cut short holds what is proven; the tree is the one that the
    request stands for, so the run is finished all the same.  (More budget makes another
    fingerprint, so ``skip_finished`` then certifies anew.)
    """
    from arboretum.engine.certificate import certify

    timings = dict(record.timings)
    listener = about(
        progress, f"certifying with {request.certifier.name}" if request.certifier else "certifying"
    )
    with clock(timings, "certify", progress):
        budget = (
            request.budget
            if request.budget.memory_mb
            else attrs.evolve(request.budget, memory_mb=CERTIFICATE_MB)
        )
        # what it refuses it refuses again, where that is noted
        certifier = request.certifier
        with interpret_small(fitted.problem, budget), suppress(ArboretumError, OnlyCompiled):
            warm_up(certifier, fitted.problem, budget.context(request.seed, listener))
        context = budget.context(request.seed, listener)
        asked = (
            certifier,
            request.complexities,
            sure(fitted.solution.tree),
            fitted.problem,
            fitted.solution,
            metrics,
        )
        with interpret_small(fitted.problem, request.budget):
            certificate, remarks = or_compiled(lambda: certify(*asked, context))
        fitted.seal.check("the certifier")
    if certificate is not None and fitted.filled is not None:
        remarks = (*remarks, fitted.filled.of_the_grown)
    return attrs.evolve(
        record, certificate=certificate, timings=timings, notes=(*record.notes, *remarks)
    )


@attrs.frozen(eq=False)
class Posed:
    """A problem, the rows that it was made from, and a seal on the data where it was asked for.

    honest : the training rows that only fill leaves, where the run asks for them.
    """

    problem: Problem
    division: Division
    seal: Seal
    scale: Scale
    honest: Table | None = None


@blaming()
def pose(
    parts: Parts,
    table: Table,
    seed: int = 0,
    *,
    progress: Progress | None = None,
    timings: dict[str, float] | None = None,
    sealed: bool = False,
    scale: Scale = Scale(),
) -> Posed:
    """Split and encode: what a method is handed.

    timings : takes the seconds of "encode".
    sealed, scale : as for :func:`fit`.
    """
    division = Division(*map(np.arange, (table.n_rows, 0, 0)))  # without a split all rows train
    if parts.split is not None:
        division = check.returned(parts.split.divide(table, seed), Division, parts.split, "divide")
    training = training_rows(parts, table, division, seed)
    train, division = training.train, training.division
    made = [one for one in (train, training.honest) if one is not None and one is not table]
    seal = Seal().over(table, *made) if sealed else Seal()
    check.check_validation(parts, training.valid, len(division.valid))
    with clock({} if timings is None else timings, "encode"):
        (progress or _silent)(0, None, "encoding")
        raw = Capability.thresholds in check.capabilities_of(parts.method)
        encoder, cost = sure(parts.encoder), sure(parts.cost)
        objects = encoder.encode(train, table, raw_thresholds=raw, seed=seed)
        check.check_weights(encoder, check.returned(objects, Encoded, encoder, "encode"))
        if (objective := parts.objective) is not None and hasattr(objective, "weigh"):
            objects = check.weigh(objective, objects)
        prices = check.check_prices(cost, cost.price_list(objects, seed), objects)
        scale = scale.of_prices(prices, parts)
        prices = check_costs(prices, objects, scale)
    check.check_objects(parts, objects)
    if sealed:
        seal = seal.over(objects, prices, *() if objects.table is train else (objects.table,))
    problem = Problem(objects, prices, parts, training.valid)
    if parts.pruner is not None and hasattr(parts.pruner, "check"):
        parts.pruner.check(problem)
    return Posed(problem, division, seal, scale, training.honest)


@blaming()
def fit(
    parts: Parts,
    table: Table,
    seed: int = 0,
    *,
    budget: Budget = Budget(),
    progress: Progress | None = None,
    warm: bool = False,
    sealed: bool = False,
    scale: Scale = Scale(),
    listen: Callable[[Context], Context] = lambda context: context,
    over: Callable[[], None] = lambda: None,
) -> Fit:
    """Split, encode, grow or solve (tuned), prune: the part of a run that estimators and bulk
    experiments share.

    warm : let the method load its kernels before the fit clock starts (``timings["compile"]``).
    sealed : take checksums, by which verification finds out whether a component has changed the
        data.
    scale : what the table was divided by before.
    listen : makes the context that the method is handed.
    over : called when the search is.
    """
    progress = progress or _silent
    timings: dict[str, float] = {}
    posed = pose(parts, table, seed, progress=progress, timings=timings, sealed=sealed, scale=scale)
    problem = posed.problem
    timings["compile"] = 0.0
    with interpret_small(problem, budget):
        if warm:
            with clock(timings, "compile"):
                or_compiled(lambda: warm_up(parts.method, problem, budget.context(seed, progress)))
        progress(0, None, f"growing with {sure(parts.method).name}")
        with clock(timings, "fit", progress):
            context = listen(budget.context(seed, progress))
            grown = or_compiled(lambda: select.grow_or_tune(problem, context))
            over()
            grown = or_compiled(lambda: select.prune(grown, context))
            if any(asked_of(parts)) and grown.solution.tree is not None:
                check_pruned(grown.solution.tree, grown.problem.parts, problem.objects.table)
            solution = legible_solution(grown.solution, problem.objects.table)
            filled = None
            if posed.honest is not None and solution.tree is not None:
                from arboretum.engine.honest import fill

                filled = fill(solution, grown.problem, posed.honest)
    reported: Facts = {
        "division": posed.division,
        "train": problem.objects.table,
        "timings": timings,
        "seal": posed.seal,
        "scale": posed.scale,
        "filled": filled,
    }
    return Fit(solution, grown.problem, grown.selections, **reported)


def legible_solution(solution: Solution, table: Table) -> Solution:
    """The same trees, whose tests are written so that they part the training rows."""

    def written(tree: Tree | None) -> Tree | None:
        return tree and legible_tree(tree, table)

    front = solution.front
    if front is not None:
        front = attrs.evolve(
            front, points=[attrs.evolve(point, tree=written(point.tree)) for point in front.points]
        )
    return attrs.evolve(
        solution,
        tree=written(solution.tree),
        others=tuple(legible_tree(tree, table) for tree in solution.others),
        front=front,
    )


def warm_up(component: Component | None, problem: Problem, context: Context) -> None:
    """Let a method or a solver load or compile its kernels (optional ``warm_up``)."""
    if component is not None and hasattr(component, "warm_up"):
        component.warm_up(problem, context)


def kernel_trouble() -> str:
    """What the user should know of the kernels of a run that is done, in a line: "" unless they
    cannot be kept.
    """
    if "numba" not in sys.modules:  # no kernel was needed
        return ""
    from arboretum.kernels.disk_cache import cache_trouble

    return cache_trouble()


@contextmanager
def clock(timings: dict[str, float], name: str, progress: Progress | None = None) -> Iterator[None]:
    """Add the seconds (wall) of the block to ``timings[name]``; with a listener, those of
    compilation to ``timings["compile"]`` instead.

    Kernels are compiled at first use and kept in a disk cache, so these are none but in the first
    run after an install.
    """
    start, compiled = time.perf_counter(), 0.0
    if progress is None:
        yield
    else:
        from arboretum.kernels.jit import compile_clock

        with compile_clock(lambda message: progress(0, None, message)) as compilation:
            yield
        compiled = compilation.seconds
        timings["compile"] += compiled
    timings[name] = timings.get(name, 0.0) + max(0.0, time.perf_counter() - start - compiled)
