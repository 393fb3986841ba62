"""Grow a tree greedily: contingency tables → criterion → best test → stop or recurse."""

import math
from collections.abc import Sequence

import attrs

from arboretum.engine.monotone import Monotone
from arboretum.engine.search.assemble import to_tree
from arboretum.engine.search.fractional import MissingValueGrowth, place_later_rows, without_gaps
from arboretum.engine.search.growth import Growth
from arboretum.engine.search.levels import LevelGrowth, check_adds_up
from arboretum.engine.search.levels_missing import LevelColumnGrowth
from arboretum.engine.search.memory import check_memory
from arboretum.errors import ConfigError, unknown
from arboretum.interfaces.method import Context, Problem
from arboretum.interfaces.rows import RowStore
from arboretum.model.record import Solution, Status

ORDERS = ("depth", "breadth", "best")


def grow(
    problem: Problem,
    context: Context,
    *,
    order: str = "depth",
    allow_constant: bool = False,
    max_features: int | None = None,
    compiled: bool = True,
    increasing: Sequence[str] = (),
    decreasing: Sequence[str] = (),
) -> Solution:
    """Grow a tree greedily.

    order : ``depth`` (first), ``breadth`` (first), or ``best``: always the open node whose chosen
        test has the highest score, ties to the node found first; the gain of a node is that score
        and nothing else.
    allow_constant : tests with a single outcome at the node compete too; not with a predicate,
        whose tests are made at the node, so that nobody could tell whether one was asked before.
    max_features : columns that compete at a node, drawn anew at each by the run's seed, and one
        more at a time until there is a test; None: all.  Not with predicates, nor with shares of
        rows, whose tests are not of one column.
    compiled : subtrees of small nodes may be grown inside a kernel; the tree is the same.
    increasing, decreasing : columns of numbers in which what the tree predicts must not fall, or
        not rise: the number, or the share of the second of two classes
        (:mod:`arboretum.engine.monotone`).

    A leaf budget (``Limits.max_leaves``) is spent in that order: a node is divided only if the tree
    would keep at most so many leaves were all open nodes leaves.  ``min_decrease`` refuses a test
    whose score is not above it (by more than the tolerance of ties).  When the deadline passes,
    open nodes become leaves; the solution then is not ``finished`` and says so in a note.

    Missing values, unless the run's ``missing`` says otherwise (then growth goes by shares, where
    there are any): a two-outcome test is scored with the node's missing rows in outcome 0 and in
    outcome 1, and the better one is kept (ties: outcome 0); a multiway test sends them to its
    heaviest outcome.  A node without missing rows sends later ones to its heaviest outcome (ties:
    lowest).  Whether a test is constant is judged on known values; on a raw column "known or
    missing?" is a test.

    Returns a Solution with status feasible and value NaN: what matters is its tree.   Raises
    CapabilityError for parts that do not fit, ContractError when a component breaks its contract,
    BudgetError when the memory allowed is less than what growing is estimated to need.
    """
    if order not in ORDERS:
        raise ConfigError(unknown("order of growth", str(order), ORDERS))
    if problem.store is not None:
        Monotone.of(problem, increasing, decreasing)  # which a store refuses
        return grow_by_levels(
            problem,
            context,
            problem.store,
            order=order,
            allow_constant=allow_constant,
            max_features=max_features,
        )
    given, problem = problem, without_gaps(problem)
    growth = (MissingValueGrowth if problem.parts.fractional_rows else Growth).of(
        problem,
        context,
        allow_constant,
        order,
        max_features,
        increasing=increasing,
        decreasing=decreasing,
    )
    check_memory(growth.space, growth.scorer, growth.plan, compiled, context.memory_bytes)
    if compiled:
        growth.use_subtrees()
    root = growth.run(order)
    tree = to_tree(root, problem.objects, growth.space.statistics)
    tree = place_later_rows(tree, given) if given is not problem else tree
    if growth.space.monotone is not None and tree.is_classification:
        tree = attrs.evolve(tree, label=tree.distribution().argmax(axis=1))
    return Solution(
        tree=tree,
        value=math.nan,
        lower_bound=math.nan,
        status=Status.feasible,
        subproblems=growth.expanded,
        finished=not growth.stopped,
        notes=growth.notes(order, compiled),
    )


def grow_by_levels(
    problem: Problem,
    context: Context,
    store: RowStore,
    *,
    order: str = "breadth",
    allow_constant: bool = False,
    max_features: int | None = None,
) -> Solution:
    """Grow a tree greedily over a row store: the same tree, in every field, as
    :func:`~arboretum.engine.search.grow.grow` has of the same codes, breadth first.

    problem : its objects are a few of the store's kind, with the features of all
        (:class:`~arboretum.interfaces.rows.Opened`).
    order, allow_constant, max_features : as of ``grow``; order matters where leaves are counted.

    Raises CapabilityError, naming the part, for what does not add up over rows; ContractError where
    a component, or the store, breaks its contract.
    """
    given, problem = problem, without_gaps(problem)
    kind = LevelColumnGrowth if problem.parts.fractional_rows else LevelGrowth
    check_adds_up(given, order)
    growth = kind.over(problem, context, store, order, allow_constant, max_features)
    root = growth.run("breadth")
    tree = to_tree(root, problem.objects, growth.space.statistics)
    return Solution(
        tree=place_later_rows(tree, given) if given is not problem else tree,
        value=math.nan,
        lower_bound=math.nan,
        status=Status.feasible,
        subproblems=growth.expanded,
        finished=not growth.stopped,
        notes=growth.notes("breadth", compiled=False),
    )
