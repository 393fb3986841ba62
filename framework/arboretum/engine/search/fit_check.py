"""Do the parts of a run fit together?  Asked before any work."""

from collections.abc import Iterator

import numpy as np

from arboretum.engine.check import capabilities_of, check_table, lacks
from arboretum.engine.ground import Ground
from arboretum.engine.search.compiled_criterion import CompiledCriterion, component_name
from arboretum.engine.search.kernel_check import check_kernels
from arboretum.engine.search.statistics import Statistics
from arboretum.errors import CapabilityError
from arboretum.interfaces.component import Capability
from arboretum.interfaces.method import Parts, Problem
from arboretum.model.encoded import Encoded, Family
from arboretum.model.table import ColumnKind


def check_parts(
    problem: Problem,
    scorer: CompiledCriterion,
    statistics: Statistics,
    allow_constant: bool = False,
    draws: bool = False,
) -> None:
    """Raise CapabilityError, naming the part and the way out, when the search cannot serve this
    combination.

    allow_constant, draws : tests with one outcome compete; columns are drawn at each node.
    Raises ContractError when a kernel reads beyond an array, or compiled answers something else
    than as plain Python.
    """
    # a criterion that declares nothing is taken at its word
    stated = Parts(
        None,  # the method is looked at elsewhere
        criterion=scorer.criterion if capabilities_of(scorer.criterion) else None,
        impurity=scorer.impurity,
    )
    check_table(stated, problem.objects.table)
    for fault in _find_faults(problem, scorer, statistics, allow_constant, draws):
        raise CapabilityError(fault)
    check_kernels(scorer, problem.objects, statistics, Ground.of(problem))


def scores_two_outcomes_only(scorer: CompiledCriterion) -> bool:
    """Whether the criterion declares capabilities, and multiway tests are not among them."""
    return lacks(scorer.criterion, Capability.multiway)


def _find_faults(
    problem: Problem,
    scorer: CompiledCriterion,
    statistics: Statistics,
    allow_constant: bool,
    draws: bool,
) -> Iterator[str]:
    """Yield a sentence for each part that does not fit the table or another part, with the way out.

    allow_constant, draws : as of :func:`check_parts`.
    """
    objects, parts = problem.objects, problem.parts
    criterion = f"criterion {component_name(scorer.criterion)!r}"
    impurity = f"impurity {component_name(scorer.impurity)!r}"
    if not objects.features and not objects.raw_features:
        yield "the encoder left no feature to test; choose another encoder"
    if hasattr(scorer.impurity, "of_values"):
        if objects.features:
            yield _explain_need_of_values(impurity, objects)
        if not getattr(scorer.criterion, "reads_prefix_costs", False):
            yield f"{criterion} cannot use {impurity}; choose criterion=reduction"
    if (missing := parts.missing) is not None and parts.fractional_rows:
        unknown = {
            "coverage": parts.coverage,
            "constant tests": allow_constant,
            "max_features": draws,
            "columns of a criterion's own": scorer.has_columns,
            "impurity of sorted values": hasattr(scorer.impurity, "of_values"),
        }
        for what in (what for what, there in unknown.items() if there):
            yield (
                f"missing {missing.name} grows by shares, which knows no {what}; leave it "
                "out, or use missing=better_side"
            )
        own = 2 in missing.placements(np.ones(2))
        if own and problem.prices.outcomes is not None:
            yield (
                f"missing {missing.name} gives rows an outcome of their own, which prices by "
                "outcome do not know; choose cost=table, or another rule"
            )
        if own and scores_two_outcomes_only(scorer):
            yield (
                f"{criterion} scores two outcomes only, and missing {missing.name} adds "
                "one; choose another of the two"
            )
    if parts.predicate:
        yield from _find_faults_of_predicate(problem, scorer, allow_constant)
        if draws:
            yield (
                f"predicate {component_name(parts.predicate[0])!r} makes its tests at the node, "
                "of columns of its own choice; leave method.max_features out"
            )
    if max(
        (f.arity for f in objects.features if f.family is Family.multiway), default=2
    ) > 2 and scores_two_outcomes_only(scorer):
        yield f"{criterion} scores two outcomes only; choose a binary encoder"
    # tables of objects cannot say how many rows a branch has
    if len(statistics.n_rows) and (least := parts.limits().min_leaf) > 1:
        yield (
            f"{criterion} counts objects, and some stand for several rows, so min_leaf={least} "
            "(rows) cannot be held; "
            "use stopping.standard.min_mass (a share of the weight), or encoder.coalesce=none"
        )
    if getattr(scorer.criterion, "divides_by_price", False):
        yield from _find_faults_of_prices(problem, criterion)


def _find_faults_of_predicate(
    problem: Problem, scorer: CompiledCriterion, allow_constant: bool
) -> Iterator[str]:
    """Yield what does not fit tests made at the node.

    They read raw values: those of an object must be one, and not be needed in sorted order.
    allow_constant : tests with one outcome compete.
    """
    objects, name = problem.objects, f"predicate {component_name(problem.parts.predicate[0])!r}"
    if scorer.prefix:
        yield (
            f"impurity {component_name(scorer.impurity)!r} is summed along sorted columns; with "
            f"{name} choose impurity=variance"
        )
    if allow_constant:
        yield (
            f"{name} makes its tests at the node, where constant ones never compete; leave "
            "method.allow_constant out"
        )
    if problem.prices.outcomes is not None:
        yield f"{name} makes tests that no list prices by outcome; choose cost=table"
    first = objects.row_of_object[objects.object_of_row]
    for column in objects.table.columns if objects.n_objects < objects.table.n_rows else ():
        if not np.array_equal(column.values, column.values[first], equal_nan=column.is_continuous):
            yield (
                f"{name} reads raw values, and rows that differ in column {column.name!r} became "
                "one object; choose encoder.coalesce=none"
            )


def _find_faults_of_prices(problem: Problem, criterion: str) -> Iterator[str]:
    """Yield what does not fit a score that divides by the price: prices must be above 0, also of
    tests that are asked again.
    """
    objects = problem.objects
    every = frozenset(feature.column for feature in objects.all_features)
    prices = problem.prices.at(every)  # the cheapest of a path
    owner = [feature.column for feature in objects.features for _ in range(feature.n_tests)]
    asked = [*zip(owner, prices.tests.tolist(), strict=True)]
    asked += zip(
        (feature.column for feature in objects.raw_features), prices.raw.tolist(), strict=True
    )
    column, least = min(asked, key=lambda pair: pair[1], default=("", 1.0))
    if not least > 0.0:
        yield (
            f"{criterion} divides by the price of a test, which must be > 0; "
            f"got {least:g} for column {column!r}: raise it, or leave the column out"
        )
    if prices.once_per_column:
        yield (
            f"{criterion} divides by the price of a test, and a column that was asked before is "
            "free; choose cost=table"
        )


def _explain_need_of_values(impurity: str, objects: Encoded) -> str:
    """Say why an impurity of values cannot be used, with the way out that fits: no encoder makes
    categories raw.
    """
    coded = list(dict.fromkeys(feature.column for feature in objects.features))
    categorical = [c for c in coded if objects.table.column(c).kind is ColumnKind.categorical]
    msg = f"{impurity} needs the values at the node, not tables: it works on raw columns only"
    if not categorical:
        return f"{msg} (encoder=raw)"
    out = ",".join(c if c.isidentifier() else f'"{c}"' for c in categorical)
    return (
        f"{msg}, and {categorical[0]!r} is categorical; choose impurity=variance or leave such "
        f"columns out ('dataset.ignore=[{out}]')"
    )
