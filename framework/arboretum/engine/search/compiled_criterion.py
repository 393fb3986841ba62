"""The scorer of a run: criterion and impurity, prepared for scoring in either form."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import cast

import attrs
import numpy as np

from arboretum.engine.ground import Ground
from arboretum.engine.search.statistics import Statistics
from arboretum.errors import CapabilityError, ContractError, blaming
from arboretum.interfaces.coverage import Coverage
from arboretum.interfaces.criterion import Criterion, CriterionOptional
from arboretum.interfaces.impurity import Impurity
from arboretum.interfaces.method import Problem
from arboretum.kernels import class_sums
from arboretum.kernels.function_pointers import address_of, undefined_impurity
from arboretum.kernels.impurity_sums import form_of, of_sum
from arboretum.kernels.kernel_decorators import Kernel, adds_by_class, mark_of
from arboretum.kernels.scoring import impurity_of, pick_column, score_tables
from arboretum.kernels.tables import Scorer, Ties
from arboretum.model.encoded import Encoded, Node, Tables
from arboretum.model.reading import types_of_fields
from arboretum.model.real_numbers import real_numbers
from arboretum.model.table import frozen_array
from arboretum.model.tree import Tree

TIE_TOLERANCE = 1e-12
"""Scores count as equal when they differ by at most this times the larger of |score| and the node's
impurity.

Rounding of sums over 10⁶ objects stays below 1e-13 of the impurity; tests that differ by less than
a tenth of an object in 10⁹ are not worth telling apart.
"""


@attrs.frozen(eq=False)
class CompiledCriterion:
    """Scores tables.

    kernel : the criterion's, or None.
    batch, impurity_at, prefix, column_at : addresses of the compiled criterion, impurity, prefix
        kernel, column; 0 where there is none.
    listing : the candidates of a node must be listed for NumPy (criterion without a kernel, or with
        ``finalise_scores``).
    by_class : the compiled column is summed per class.
    sum_form, sum_at : which sum the kernel scores (:mod:`arboretum.kernels.class_sums`), and its
        address as a function of it; 0 where tables are as cheap.
    wants_gain : the criterion reads ``tables.gain`` when it is asked in NumPy form, and the run has
        coverages.
    """

    criterion: Criterion
    impurity: Impurity | None
    kernel: Kernel | None
    batch: int
    impurity_at: int
    prefix: int
    column_at: int
    by_class: bool
    sum_form: int
    sum_at: int
    params: np.ndarray
    listing: bool
    wants_gain: bool
    concave: bool
    width: int
    _impurity_of: Callable[[np.ndarray], np.ndarray] | None

    @staticmethod
    def of(
        criterion: Criterion | None,
        impurity: Impurity | None,
        statistics: Statistics,
        seed: int,
        coverage: tuple[Coverage, ...] = (),
        fixed_prices: bool = True,
    ) -> CompiledCriterion:
        """Prepare the components of a run: compile their kernels, or load them from the cache.

        impurity : of the run, None without one.   seed : handed to a criterion that draws.
        coverage : the run's coverage components, for a criterion whose kernel depends on them.
        fixed_prices : one number per test says all; a criterion that reads ``tables.outcome_price``
            is asked in NumPy form elsewhere.

        Raises CapabilityError when there is no criterion, ContractError when a kernel cannot be
        compiled.
        """
        if criterion is None:
            raise CapabilityError("growing needs a criterion; choose one with criterion=NAME")
        if hasattr(criterion, "with_seed"):
            criterion = criterion.with_seed(seed)
        kernel = kernel_of(criterion, impurity, coverage)
        if not fixed_prices and getattr(criterion, "needs_outcome_prices", False):
            kernel = None
        gains = bool(coverage) and bool(getattr(criterion, "needs_gain", False))
        column = getattr(criterion, "column", None)
        if mark_of(column) != "column" or (gains and kernel is None):
            column = None
        by_class = column is not None and adds_by_class(kernel)
        if by_class and statistics.moments:
            raise CapabilityError(
                f"criterion {component_name(criterion)!r}: its kernel wants a column per class, "
                "and the target is a number"
            )
        many = statistics.n_classes > class_sums.FEW_CLASSES and not (
            statistics.moments or hasattr(criterion, "finalise_scores")
        )
        form = (
            form_of(kernel)
            if many and column is None and not hasattr(criterion, "columns")
            else class_sums.NO_SUMS
        )
        prefix = getattr(impurity, "prefix", None)
        own = getattr(impurity, "kernel", None)
        return CompiledCriterion(
            criterion=criterion,
            impurity=impurity,
            kernel=kernel,
            batch=compile_kernel(kernel, "criterion", criterion),
            impurity_at=compile_kernel(
                own if mark_of(own) == "impurity" else undefined_impurity, "impurity", impurity
            ),
            prefix=compile_kernel(prefix, "prefix", impurity),
            column_at=compile_kernel(column, "column", criterion),
            by_class=by_class,
            sum_form=form,
            sum_at=compile_kernel(of_sum(kernel) if form else None, "criterion", criterion),
            params=numeric_fields(criterion),
            listing=kernel is None or hasattr(criterion, "finalise_scores"),
            wants_gain=gains,
            concave=bool(kernel is not None and declares_concave(criterion, impurity)),
            width=statistics.width,
            impurity_of=getattr(impurity, "value", None),
        )

    @property
    def compiled_impurity(self) -> bool:
        """Whether ``impurity_at`` is the run's impurity."""
        return mark_of(getattr(self.impurity, "kernel", None)) == "impurity"

    @property
    def in_kernel_form(self) -> bool:
        """Whether criterion and impurity are kernels that look at one table at a time, with one
        column at most.
        """
        listed = (
            self.listing
            or (self.has_columns and not self.column_at)
            or self.prefix
            or self.by_class
        )
        return not listed and (self.impurity is None or self.compiled_impurity)

    @property
    def sums_gain(self) -> bool:
        """Whether ``tables.gain`` is summed up at every node, by the definition of the run's
        coverages.
        """
        return self.wants_gain and self.listing

    @property
    def has_columns(self) -> bool:
        """Whether tables carry columns of the criterion's own."""
        return self.column_at != 0 or hasattr(self.criterion, "columns")

    def node_impurity(self, weights: np.ndarray, statistics: Statistics, rows: np.ndarray) -> float:
        """Return the run's impurity of a node; NaN without one.

        weights : float64[width], the node's table as a whole.
        rows : int[k], its objects.
        """
        if self.impurity is None:
            return float("nan")
        if hasattr(self.impurity, "of_values"):
            return float(self.impurity.of_values(statistics.y[rows], statistics.weight[rows]))
        if self.compiled_impurity:
            return float(impurity_of(weights, self.impurity_at))
        return float(self.impurity.value(weights))

    def tables(
        self,
        weights: np.ndarray,
        counts: np.ndarray,
        price: np.ndarray,
        extra: np.ndarray,
        test: np.ndarray,
    ) -> Tables:
        """Return tables as the criterion is asked about them, with the run's impurity and its
        scale.

        weights, counts, price, extra, test : as in :class:`~arboretum.model.encoded.Tables`.
        """
        scale = "prefix" if self.prefix else getattr(self.impurity, "scale", "mean")
        return Tables(
            weights=weights,
            counts=counts,
            price=price,
            extra=extra,
            test=test,
            impurity_of=self._impurity_of,
            impurity_scale=scale,
        )

    def scalars(self, node: Node) -> np.ndarray:
        """Return float64[6] of a node for :func:`arboretum.kernels.function_pointers.make_node`;
        the last is the number of classes.
        """
        return np.array(
            [node.mass, node.total_mass, node.impurity, node.depth, node.coverage, self.width],
            dtype=np.float64,
        )

    def at(self, node: Node) -> Scorer:
        """Return what kernels score the tables of a node with."""
        return Scorer(
            self.batch, self.scalars(node), self.params, self.impurity_at, self.ties(node)
        )

    def ties(self, node: Node) -> Ties:
        """Return the tolerances by which scores of a node's tests count as equal."""
        return Ties(TIE_TOLERANCE, self.tie_floor(node))

    def tie_floor(self, node: Node) -> float:
        """Return the absolute part of the tolerance of ties at a node."""
        return self.floor * abs(node.impurity) if np.isfinite(node.impurity) else 0.0

    @property
    def floor(self) -> float:
        """The absolute part of the tolerance of ties per impurity of a node."""
        return 0.0 if getattr(self.criterion, "own_unit", False) else TIE_TOLERANCE

    def sums(self, n: int) -> class_sums.Sums:
        """Return what kernels score ``n`` rows by sums with."""
        return class_sums.sums_for(self.sum_form, self.sum_at, self.width, n)

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests], the scores of tables, checked for shape and dtype.

        NaN is left to the caller, who knows the test.  Raises ContractError.
        """
        name = component_name(self.criterion)
        if mark_of(self.criterion.score) == "criterion":
            return self.score_by_kernel(tables, node)
        with blaming(f"criterion {name!r}: score"):
            scores = self.criterion.score(freeze_tables(tables), node)
        return check_array(scores, tables.n_tests, f"criterion {name!r}: score")

    def score_by_kernel(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests], the scores of tables by the criterion's kernel, which it must
        have; what kernels that grow trees see.
        """
        scores = np.empty(tables.n_tests)
        score_tables(
            tables.weights,
            tables.counts,
            tables.price,
            tables.extra,
            self.batch,
            self.scalars(node),
            self.params,
            self.impurity_at,
            scores,
        )
        return scores

    def terms(self, tables: Tables, node: Node) -> Mapping[str, np.ndarray]:
        """Return the criterion's named terms, name → float64[tests]; empty if it has none.

        Raises ContractError where they are no mapping of float64[tests].
        """
        if not hasattr(self.criterion, "terms"):
            return {}
        name = component_name(self.criterion)
        with blaming(f"criterion {name!r}: terms"):
            found = self.criterion.terms(freeze_tables(tables), node)
        if not isinstance(found, Mapping):
            raise ContractError(
                f"criterion {name!r}: terms must be a mapping, name → float64[tests]; got "
                f"{type(found).__name__}"
            )
        return {
            k: check_array(v, tables.n_tests, f"criterion {name!r}: term {k!r}")
            for k, v in found.items()
        }

    def columns(self, node: Node, objects: Encoded, rows: np.ndarray) -> np.ndarray:
        """Return float64[len(rows), k]: the criterion's own columns, checked; asked for in any of
        their three forms.

        rows : int64, objects of the node.

        Raises ContractError for another shape or dtype.
        """
        name = component_name(self.criterion)
        if self.column_at:
            return self._run_column_kernel(node, objects, rows)
        with blaming(f"criterion {name!r}: columns"):
            answer = call_columns(self.criterion, node, objects, rows)
            if isinstance(answer, np.ma.MaskedArray):  # whose mask would be lost
                answer = real_numbers(answer, f"criterion {name!r}: columns")
            found = np.asarray(answer)
        if found.ndim != 2 or len(found) != len(rows):
            got = (
                "nothing"
                if found.dtype == object and not found.ndim
                else f"{found.dtype}{list(found.shape)}"
            )
            raise ContractError(
                f"criterion {name!r}: columns must have the shape [{len(rows)}, k], one row per "
                f"object of the node; got {got}"
            )
        if found.dtype != np.float64:
            raise ContractError(
                f"criterion {name!r}: columns must be of dtype float64; got {found.dtype}: "
                "add .astype(np.float64)"
            )
        return found

    def _run_column_kernel(self, node: Node, objects: Encoded, rows: np.ndarray) -> np.ndarray:
        """Return float64[len(rows), k], own columns by the criterion's ``column`` kernel: k is the
        number of classes where they are summed per class, else 1.

        Raises ContractError, naming an object, where a value is not finite.   rows : int64.
        """
        members = np.arange(len(rows), dtype=np.int32)
        label = np.zeros(0, np.int32) if objects.label is None else objects.label[rows]
        picked, values = np.empty(len(rows), np.int32), np.empty(len(rows))
        n = pick_column(  # copies of weights and labels: a pointer takes arrays that may be written
            members,
            objects.weight[rows],
            label,
            self.column_at,
            self.scalars(node),
            self.params,
            self.impurity_at,
            picked,
            values,
        )
        if n < 0:
            i = int(rows[picked[0]])
            of = "" if objects.label is None else f" and class {int(objects.label[i])}"
            raise ContractError(
                f"criterion {component_name(self.criterion)!r}: column must be finite; it is not "
                f"for an object of weight {objects.weight[i]:g}{of} in a node of mass {node.mass:g}"
            )
        found = np.zeros((len(rows), self.width if self.by_class else 1))
        found[picked[:n], label[picked[:n]] if self.by_class else 0] = values[:n]
        return found


@attrs.frozen
class ScorerTrial:
    """What the answers of a compiled criterion depend on; equal trials need no second look.

    batch, impurity_at, sum_form, sum_at : as of :class:`CompiledCriterion`.
    weights, prices : of a run, as :class:`~arboretum.engine.ground.Ground` has them.
    """

    batch: int
    impurity_at: int
    sum_form: int
    sum_at: int
    params: tuple[float, ...]
    width: int
    weights: tuple[float, ...]
    prices: tuple[float, ...]

    @staticmethod
    def of(scorer: CompiledCriterion, ground: Ground) -> ScorerTrial:
        """The trial of a criterion on the numbers of a run."""
        return ScorerTrial(
            batch=scorer.batch,
            impurity_at=scorer.impurity_at,
            sum_form=scorer.sum_form,
            sum_at=scorer.sum_at,
            params=tuple(scorer.params.tolist()),
            width=scorer.width,
            weights=ground.weights,
            prices=ground.prices,
        )


def collect_notes(problem: Problem, tree: Tree) -> tuple[str, ...]:
    """Collect what the criterion and the stopping rules of a run say about its tree.

    Raises ContractError, naming the part, when one cannot.
    """
    found: list[str] = []
    for part in (problem.parts.criterion, *problem.parts.stopping):
        if part is not None and hasattr(part, "notes"):
            with blaming(f"{part.kind} {component_name(part)!r}: notes"):
                found += part.notes(problem, tree)
    return tuple(found)


def freeze_tables(tables: Tables) -> Tables:
    """Return the same tables behind arrays that refuse to be written: scoring must not
    change them.
    """
    return attrs.evolve(
        tables,
        weights=frozen_array(tables.weights),
        counts=frozen_array(tables.counts),
        price=frozen_array(tables.price),
        extra=frozen_array(tables.extra),
        test=frozen_array(tables.test),
        gain=None if tables.gain is None else frozen_array(tables.gain),
    )


def call_columns(
    criterion: Criterion, node: Node, objects: Encoded, rows: np.ndarray
) -> np.ndarray:
    """Call the criterion's ``columns`` in whichever of its two forms it is written: (node, objects,
    rows) or (node, objects); return its answer, not yet checked.

    rows : int64, objects of the node.
    """
    columns: Callable[..., np.ndarray] = cast(CriterionOptional, criterion).columns
    takes_rows = len(inspect.signature(columns).parameters) > 2
    return columns(node, *((objects, rows) if takes_rows else (objects.take(rows),)))


def kernel_of(
    criterion: Criterion, impurity: Impurity | None, coverage: tuple[Coverage, ...] = ()
) -> Kernel | None:
    """Return the criterion's kernel for this impurity and these coverages, or None.

    It is ``criterion.kernel(impurity)`` or ``kernel(impurity, coverage)``, or a marked ``score``.
    """
    if hasattr(criterion, "kernel"):
        bound = criterion.kernel
        function = getattr(bound, "__func__", bound)
        more = _n_parameters(function) - (function is not bound) > 1
        found: Kernel | None = bound(impurity, coverage) if more else bound(impurity)
        return found
    return cast(Kernel, criterion.score) if mark_of(criterion.score) == "criterion" else None


@lru_cache(maxsize=256)
def _n_parameters(function: Callable[..., object]) -> int:
    return len(inspect.signature(function).parameters)


def declares_concave(criterion: Criterion, impurity: Impurity | None) -> bool:
    """Whether the best cut inside a bin can be bounded by the vertices of the bin's class weights.

    A criterion says so by ``bounded_by_vertices(impurity)``.
    """
    ask = getattr(criterion, "bounded_by_vertices", None)
    return bool(ask is not None and ask(impurity))


def numeric_fields(component: object) -> np.ndarray:
    """Return float64[k]: the fields of a component that are declared as numbers, in that order; NaN
    where there is none (None).
    """
    names = _numeric_names(type(component))  # type: ignore[arg-type]  # classes are hashable
    values = [getattr(component, name) for name in names]
    return np.array(
        [float(v) if isinstance(v, int | float) else np.nan for v in values], dtype=np.float64
    )


@lru_cache(maxsize=256)
def _numeric_names(cls: type) -> tuple[str, ...]:
    """Return the names of a class's fields that are declared as numbers.

    By declared types, so that a field's place does not depend on the values of those before it.
    """
    declared = types_of_fields(cls) if attrs.has(cls) else {}
    unions = (typing.Union, types.UnionType)
    members = {
        name: typing.get_args(kind) if typing.get_origin(kind) in unions else (kind,)
        for name, kind in declared.items()
    }
    numeric = {
        name
        for name, kinds in members.items()
        if any(isinstance(k, type) and issubclass(k, int | float) for k in kinds)
    }
    return tuple(f.name for f in attrs.fields(cls) if f.name in numeric) if attrs.has(cls) else ()


def component_name(component: object) -> str:
    """Return the registered name of a component, or that of its class."""
    return getattr(component, "name", None) or type(component).__name__


def check_array(values: object, n: int, what: str, per: str = "test") -> np.ndarray:
    """Return ``values`` as float64[n], or raise a ContractError that says what came instead.

    what : who answered, as the message begins.
    per : what there is a number of each of.
    """
    if values is None:
        raise ContractError(
            f"{what} returned nothing; return float64[{n}], one number per {per} (is a "
            "'return' missing?)"
        )
    if isinstance(values, np.ma.MaskedArray):  # whose mask would be lost
        values = real_numbers(values, what)
    array = np.asarray(values)
    if array.shape != (n,):
        got = f"{array.dtype}{list(array.shape)}" if array.ndim else f"one {type(values).__name__}"
        raise ContractError(
            f"{what} must have the shape [{n}], one number per {per}; got "
            f"{got}{_explain_shape(array, n)}"
        )
    if array.dtype != np.float64:
        way = "add .astype(np.float64)" if array.dtype.kind in "biuf" else "return numbers"
        raise ContractError(f"{what} must be of dtype float64; got {array.dtype}: {way}")
    return array


def _explain_shape(array: np.ndarray, n: int) -> str:
    """Say how to repair a result that was not summed up; "" where its first axis has not n entries.

    array : of any shape but [n].
    """
    return (
        ": sum over outcomes and classes, axes 1 and 2"
        if array.ndim > 1 and array.shape[0] == n
        else ""
    )


def compile_kernel(kernel: Kernel | None, mark: str, component: object) -> int:
    """Return the address of a kernel's loop, 0 where there is no kernel.

    Raises ContractError, numba's many lines made one, where it does not compile.

    mark : the kind of kernel: "criterion", "impurity", "prefix" or "column".
    component : whose it is, for the message.
    """
    if kernel is None:
        return 0
    try:
        address: int = address_of(kernel, mark)
    except Exception as error:
        from numba.core.errors import NumbaError  # not imported before a kernel is compiled

        if not isinstance(error, NumbaError):
            raise
        line = next(
            (
                text.strip()
                for text in str(error).splitlines()
                if text.strip() and "Failed in" not in text
            ),
            "",
        )
        where = inspect.getsourcefile(kernel) or "?"
        called = re.search(r"Untyped global name '(\w+)'.*function", line)
        way = (
            f"write @kernel_part above {called[1]}, which it calls"
            if called
            else "write it in NumPy form instead"
        )
        raise ContractError(
            f"kernel of {component_name(component)!r} ({where}) does not compile: {line}; {way}"
        ) from None
    return address
