"""Which way a growth takes, and why not a faster one: decided here alone, and told by the run.

The loop asks engines node by node; a kernel grows whole subtrees, with the same tree, in a tenth of
the time.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from arboretum.engine.search import bounded
from arboretum.engine.search.coded import WIDE
from arboretum.engine.search.compiled_criterion import CompiledCriterion, component_name
from arboretum.engine.search.reasons import reasons_for_no_kernel
from arboretum.engine.search.workspace import Workspace
from arboretum.errors import sure
from arboretum.interfaces.method import Parts, Problem
from arboretum.interfaces.stopping import LeafRule, tightest
from arboretum.kernels.plain import active_interpreter
from arboretum.kernels.runs import OBJECT_BITS

# bins of all features beyond which their tables are too many to be cleared at every node
MOST_BINS = 1 << 16

CODED = "histograms of coded columns"
BINNED = "exact thresholds within bins of raw columns"
SORTED = "exact thresholds along sorted raw columns"
NODE_TESTS = "tests made at the node"
MONOTONE = "monotone predictions need the bounds of every node"
SHARED = "tables of fractions of rows"
"""The engines."""


@attrs.frozen
class Plan:
    """How trees of a problem are grown.

    engines : of the nodes that the loop looks at.   kernel : whether one grows subtrees.
    no_kernel : why there is none.   no_bins : why raw columns are sorted.
    """

    engines: tuple[str, ...]
    kernel: bool
    no_kernel: tuple[str, ...]
    no_bins: tuple[str, ...]

    @staticmethod
    def of(
        problem: Problem, space: Workspace, scorer: CompiledCriterion, order: str, timed: bool
    ) -> Plan:
        """Decide which engines and which kernel grow a problem's trees.

        timed : there is a deadline.
        """
        objects, parts = problem.objects, problem.parts
        made = [
            reason for one in parts.predicate for reason in reasons_for_no_kernel("predicate", one)
        ]
        if parts.fractional_rows:
            no_kernel = (
                *reasons_for_no_kernel("missing", parts.missing),
                *made,
                *_reasons_for_no_kernel(problem, space, scorer, order, timed),
            )
            return Plan((SHARED,), not no_kernel, no_kernel, ())
        every = (
            f"stopping rule {rule.name} looks at every test"
            for rule in parts.stopping
            if hasattr(rule, "is_leaf_among")
        )
        no_bins = (*_reasons_for_no_bins(space, scorer), *every) if objects.raw_features else ()
        raw = [SORTED if no_bins else BINNED] if objects.raw_features else []
        if parts.predicate:
            beside = raw if parts.beside_raw else []
            return Plan((NODE_TESTS, *beside), False, tuple(made), no_bins if beside else ())
        engines = ([CODED] if objects.features else []) + raw
        no_kernel = tuple(_reasons_for_no_kernel(problem, space, scorer, order, timed))
        return Plan(tuple(engines), not no_kernel, no_kernel, no_bins)

    @property
    def without_bins(self) -> Plan:
        """The same plan, but that raw columns are sorted."""
        return attrs.evolve(
            self, engines=tuple(SORTED if name == BINNED else name for name in self.engines)
        )

    @property
    def note(self) -> str:
        """What a reader of the result should know: nothing where kernels grow."""
        return (
            ""
            if self.kernel
            else f"grown node by node, for want of a kernel: {'; '.join(self.no_kernel)}"
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """The way taken, and a line per reason why it is not the faster one."""
        way = (
            "kernels grow subtrees of small nodes; larger nodes by "
            if self.kernel
            else "grown node by node, by "
        )
        slower = [f"no kernel for subtrees: {reason}" for reason in self.no_kernel]
        small = "the problem is small: kernels that are not compiled yet are interpreted"
        return (
            way + " and ".join(self.engines),
            *([small] if active_interpreter() else ()),
            *slower,
            *(f"no bins: {reason}" for reason in self.no_bins),
        )


def _reasons_for_no_kernel(
    problem: Problem, space: Workspace, scorer: CompiledCriterion, order: str, timed: bool
) -> Iterator[str]:
    """Yield why no kernel grows subtrees; nothing where one does.   timed : there is a deadline."""
    objects, parts, limits = problem.objects, problem.parts, problem.parts.limits()
    criterion = f"criterion {component_name(scorer.criterion)}"
    impurity = f"impurity {component_name(scorer.impurity)}"
    yield from reasons_for_no_kernel("criterion", scorer.criterion)
    if scorer.kernel is None and hasattr(scorer.criterion, "kernel") and space.prices.fixed:
        yield f"{criterion} has no kernel for {impurity}"
    if (
        scorer.kernel
        and scorer.has_columns
        and (objects.raw_features or not scorer.column_at or scorer.by_class)
    ):
        yield f"{criterion} adds up columns of its own"
    if scorer.impurity is not None:
        yield from reasons_for_no_kernel("impurity", scorer.impurity)
    if not space.prices.fixed:
        yield "prices depend on the path or on the outcome"
    if limits.max_leaves is not None:
        yield "stopping.standard.max_leaves counts leaves over the whole tree"
    if timed and order == "best":
        yield "budget.seconds with method.order=best"
    if space.draw is not None:
        yield "method.max_features draws columns at each node"
    if space.monotone is not None:
        yield MONOTONE
    for stopping in parts.stopping:
        yield from reasons_for_no_kernel("stopping", stopping)
    judges = [rule.name for rule in parts.stopping if hasattr(rule, "significance")]
    if len(judges) > 1 or (judges and (parts.fractional_rows or len(space.statistics.n_rows))):
        yield (
            f"stopping rule {judges[-1]} has no kernel beside another one, for shares of rows, "
            "or for merged objects"
        )
    rule = combine_leaf_rules(parts)
    if rule is not None and rule.delta is not None and scorer.impurity is None:
        yield "a leaf rule asks for an impurity, and the run has none"
    if parts.fractional_rows and (
        len(space.statistics.n_rows) or objects.n_objects >= 1 << OBJECT_BITS
    ):
        yield f"{criterion} counts objects, or they are too many"
    whole = [raw.column for raw in objects.raw_features if raw.rule(0.5).with_missing() is None]
    if parts.fractional_rows and sure(parts.missing).kernel == "own_outcome" and whole:
        yield f"tests of raw column {whole[0]} have no outcome for missing values"
    if objects.raw_features:
        if len(space.statistics.n_rows):
            yield f"{criterion} counts objects"
        if space.allow_constant:
            yield "method.allow_constant"
    if objects.features:
        if max(f.n_bins for f in objects.features) > WIDE:
            yield f"a column has more than {WIDE} codes"
        if sum(f.n_bins + f.has_missing for f in objects.features) > MOST_BINS:
            yield f"the columns have more than {MOST_BINS} codes together"


def _reasons_for_no_bins(space: Workspace, scorer: CompiledCriterion) -> Iterator[str]:
    """Yield why the best threshold cannot be bounded bin by bin, or why sorting is cheaper."""
    stats, (n, width) = space.statistics, space.objects.raw.shape
    criterion = f"criterion {component_name(scorer.criterion)}"
    if space.monotone is not None:
        yield MONOTONE
    if stats.moments:
        yield "bounds are known for classes, and the target is a number"
    elif not scorer.concave:
        yield (
            f"{criterion} does not declare bounded_by_vertices for impurity "
            f"{component_name(scorer.impurity)}"
        )
    if stats.n_classes > bounded.MOST_CLASSES:
        yield f"{stats.n_classes} classes give a bin too many vertices"
    # 256 bins of a column would take more memory than its rows
    if width >= bounded.MANY_COLUMNS and n <= bounded.FEW_ROWS:
        yield "many columns of few rows are cheaper to sort"
    if scorer.listing or scorer.has_columns or scorer.prefix:
        yield f"{criterion} needs more than the tables of classes"
    if space.allow_constant:
        yield "method.allow_constant"


def combine_leaf_rules(parts: Parts) -> LeafRule | None:
    """Return the combination of leaf rules that look at a node's objects alone, beside such as have
    a kernel; None when one of them is of another sort.
    """
    others = [rule for rule in parts.stopping if not hasattr(rule, "significance")]
    rules: list[LeafRule] = [rule.leaf_rule() for rule in others if hasattr(rule, "leaf_rule")]
    return tightest(LeafRule, rules) if len(rules) == len(others) else None
