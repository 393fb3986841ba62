"""Do the parts of a run fit together?  Asked before any work."""

from __future__ import annotations

from typing import Any

import numpy as np

from arboretum.engine.search.compiled_criterion import CompiledCriterion, component_name
from arboretum.engine.search.kernel_check import check_kernels
from arboretum.engine.search.statistics import Statistics
from arboretum.errors import CapabilityError
from arboretum.interfaces.capability import Capability, as_capabilities
from arboretum.interfaces.method import Problem
from arboretum.model.encoded import Encoded, Family
from arboretum.model.table import ColumnKind


def check_parts(problem: Problem, scorer: CompiledCriterion, statistics: Statistics, allow_constant: bool = False) -> None:
    """Raise CapabilityError, naming the part and the way out, when the search cannot serve this combination.

    Raises ContractError when a kernel reads beyond an array, or compiled answers something else than as plain Python.
    """
    objects = problem.objects
    if not objects.features and not objects.raw_features:
        msg = "the encoder left no feature to test; choose another encoder"
        raise CapabilityError(msg)
    for part in (scorer.criterion, scorer.impurity):
        _check_task(part, statistics)
    if hasattr(scorer.impurity, "of_values"):
        name = component_name(scorer.impurity)
        if objects.features:
            raise CapabilityError(_needs_raw(name, objects))
        if not getattr(scorer.criterion, "reads_prefix_costs", False):
            msg = f"criterion {component_name(scorer.criterion)!r} cannot use impurity {name!r}; choose criterion=reduction"
            raise CapabilityError(msg)
    if problem.parts.by_shares:
        _check_shares(problem, scorer, allow_constant)
    if problem.parts.predicate is not None:
        _check_predicate(problem, scorer, allow_constant)
    arity = max((f.arity for f in objects.features if f.family is Family.multiway), default=2)
    if arity > 2 and two_outcomes_only(scorer):
        msg = f"criterion {component_name(scorer.criterion)!r} scores two outcomes only; choose a binary encoder"
        raise CapabilityError(msg)
    _check_limits(problem, scorer, statistics)
    _check_prices(problem, scorer)
    check_kernels(scorer, objects, statistics)


def two_outcomes_only(scorer: CompiledCriterion) -> bool:
    """Whether the criterion declares capabilities, and multiway tests are not among them."""
    declared = _declared(scorer.criterion)
    return bool(declared) and Capability.multiway not in declared


def _check_shares(problem: Problem, scorer: CompiledCriterion, allow_constant: bool) -> None:
    """What only growth of whole rows knows."""
    parts = problem.parts
    unknown = {
        "coverage": parts.coverage, "predicate": parts.predicate, "constant tests": allow_constant,
        "columns of a criterion's own": scorer.has_columns, "criterion that settles scores": hasattr(scorer.criterion, "settle"),
        "impurity of sorted values": hasattr(scorer.impurity, "of_values"),
    }  # fmt: skip
    for what, there in unknown.items():
        if there:
            msg = f"missing {parts.missing.name} grows by shares, which knows no {what}; leave it out, or use missing=better_side"
            raise CapabilityError(msg)


def _check_predicate(problem: Problem, scorer: CompiledCriterion, allow_constant: bool) -> None:
    """Tests made at the node read raw values: those of an object must be one, and not be needed in sorted order."""
    objects, name = problem.objects, component_name(problem.parts.predicate)
    if scorer.prefix:
        msg = f"impurity {component_name(scorer.impurity)!r} is summed along sorted columns; with predicate {name!r} choose impurity=variance"
        raise CapabilityError(msg)
    if allow_constant:
        msg = f"predicate {name!r} makes its tests at the node, where constant ones never compete; leave method.allow_constant out"
        raise CapabilityError(msg)
    if problem.prices.outcomes is not None:
        msg = f"predicate {name!r} makes tests that no list prices by outcome; choose cost=table"
        raise CapabilityError(msg)
    if objects.n_objects == objects.table.n_rows:
        return
    first = objects.row_of_object[objects.object_of_row]
    for column in objects.table.columns:
        if not np.array_equal(column.values, column.values[first], equal_nan=column.kind is ColumnKind.continuous):
            msg = (
                f"predicate {name!r} reads raw values, and rows that differ in column {column.name!r} became one object; "
                "choose encoder.coalesce=none"
            )
            raise CapabilityError(msg)


def _check_prices(problem: Problem, scorer: CompiledCriterion) -> None:
    """A score that divides by the price needs prices above 0, also of tests that are asked again."""
    if not getattr(scorer.criterion, "divides_by_price", False):
        return
    objects = problem.objects
    every = frozenset(feature.column for feature in (*objects.features, *objects.raw_features))
    name, prices = component_name(scorer.criterion), problem.prices.at(every)  # the cheapest of a path
    owner = [feature.column for feature in objects.features for _ in range(feature.n_tests)]
    asked = [*zip(owner, prices.tests.tolist(), strict=True)]
    asked += zip((feature.column for feature in objects.raw_features), prices.raw.tolist(), strict=True)
    column, least = min(asked, key=lambda pair: pair[1], default=("", 1.0))
    if not least > 0.0:
        msg = (
            f"criterion {name!r} divides by the price of a test, which must be > 0; got {least:g} for column {column!r}: "
            "raise it, or leave the column out"
        )
        raise CapabilityError(msg)
    if prices.once_per_column:
        msg = f"criterion {name!r} divides by the price of a test, and a column that was asked before is free; choose cost=table"
        raise CapabilityError(msg)


def _check_limits(problem: Problem, scorer: CompiledCriterion, statistics: Statistics) -> None:
    """Tables of objects cannot say how many rows a branch has; a limit must not change its meaning in silence."""
    least = problem.parts.limits().min_leaf
    if len(statistics.n_rows) and least > 1:
        msg = (
            f"criterion {component_name(scorer.criterion)!r} counts objects, and some stand for several rows, so min_leaf={least} "
            "(rows) cannot be held; use stopping.standard.min_mass (a share of the weight), or encoder.coalesce=none"
        )
        raise CapabilityError(msg)


def _needs_raw(name: str, objects: Encoded) -> str:
    """Why an impurity of values cannot be used, with the way out that fits: no encoder makes categories raw."""
    coded = list(dict.fromkeys(feature.column for feature in objects.features))
    categorical = [c for c in coded if objects.table.column(c).kind is ColumnKind.categorical]
    msg = f"impurity {name!r} needs the values at the node, not tables: it works on raw columns only"
    if not categorical:
        return f"{msg} (encoder=raw)"
    listed = ", ".join(repr(c) for c in categorical[:3]) + (f" and {len(categorical) - 3} more" if len(categorical) > 3 else "")
    out = ",".join(c if c.isidentifier() else f'"{c}"' for c in categorical)
    left = f" or leave them out ('dataset.ignore=[{out}]')" if len(categorical) <= 10 else ""
    return f"{msg}, and {listed} {'is' if len(categorical) == 1 else 'are'} categorical; choose impurity=variance{left}"


def _check_task(part: Any, statistics: Statistics) -> None:
    declared = _declared(part)
    if not declared:
        if statistics.moments and part is not None and getattr(part, "kind", "") == "impurity":
            msg = f"impurity {component_name(part)!r} is for classes; the target is a number: choose impurity=variance"
            raise CapabilityError(msg)
        return
    tasks = declared & {Capability.classification, Capability.regression}
    task = Capability.regression if statistics.moments else Capability.classification
    if tasks and task not in tasks:
        kind, name = getattr(part, "kind", "part"), component_name(part)
        msg = f"{kind} {name!r} is for {min(tasks, key=lambda t: t.value).value}; the target asks for {task.value}"
        raise CapabilityError(msg)
    if not statistics.moments and statistics.n_classes > 2 and tasks and Capability.multiclass not in declared:
        kind, name = getattr(part, "kind", "part"), component_name(part)
        msg = f"{kind} {name!r} handles two classes; the target has {statistics.n_classes}: choose dataset.positive=CLASS"
        raise CapabilityError(msg)


def _declared(part: Any) -> frozenset[Capability]:
    return as_capabilities(getattr(part, "capabilities", ()))
