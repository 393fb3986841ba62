"""The best test of a node, over all engines."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar, cast

import attrs
import numpy as np

from arboretum.engine.monotone import Monotone
from arboretum.engine.search.coded import better_candidate, nan_score_error
from arboretum.engine.search.compiled_criterion import (
    CompiledCriterion,
    check_array,
    component_name,
)
from arboretum.engine.search.contract import Block, Candidate, Cell, Engine, branch_prices
from arboretum.engine.search.coverage_state import CoverageState
from arboretum.engine.search.workspace import Workspace
from arboretum.errors import ContractError, sure
from arboretum.interfaces.criterion import CriterionOptional
from arboretum.kernels.tables import equal_from
from arboretum.model.encoded import Encoded, Node, Prices, Tables
from arboretum.model.rules import TestRule


def choose_candidate(
    engines: Sequence[Engine], cell: Cell, node: Node, scorer: CompiledCriterion, space: Workspace
) -> Candidate | None:
    """Return the admissible test with the highest score over all engines; among equal scores the
    lowest test; None if there is none.
    """
    prepare_columns(cell, node, scorer, space)
    if scorer.listing:
        return _choose_from_list(engines, cell, node, scorer, space)
    best, order = _choose_by_kernels(engines, cell, node, scorer), space.monotone
    # of all tests the best, so it is of those that are allowed
    if best is None or order is None or _keeps_order(best, cell, space, order):
        return best
    ordered = np.zeros(len(space.objects.table.columns), np.bool_)
    ordered[list(order.directions)] = True
    try:
        space.competing = ordered
        best = _choose_from_list(engines, cell, node, scorer, space)
        space.competing = ~ordered  # of these, any test is allowed
        other = _choose_by_kernels(engines, cell, node, scorer)
    finally:
        space.competing = None
    return best if other is None else better_candidate(best, other, scorer.tie_floor(node))


def _choose_by_kernels(
    engines: Sequence[Engine], cell: Cell, node: Node, scorer: CompiledCriterion
) -> Candidate | None:
    """Return the best test of all engines by a criterion in kernel form, None without any."""
    best: Candidate | None = None
    for engine in engines:
        found = engine.best(cell, node, scorer)
        if found is not None:
            _check_score_of(scorer, cell, found)
            best = better_candidate(best, found, scorer.tie_floor(node))
    return best


def _keeps_order(found: Candidate, cell: Cell, space: Workspace, order: Monotone) -> bool:
    """Return whether the branches of a test keep the order of predictions."""
    outcome, rows = found.engine.outcomes(cell, found), space.rows[cell.low : cell.high]
    arity = found.engine.arity(cell, found)
    weights = [space.statistics.totals(rows[outcome == k])[0] for k in range(arity)]
    position = np.array([found.engine.position(found.feature)])
    return bool(order.allows(np.array(weights)[None], position, cell.bounds)[0])


def _check_score_of(scorer: CompiledCriterion, cell: Cell, found: Candidate) -> None:
    check_scores(scorer, np.array([found.score]), lambda _: found.engine.rule(cell, found))


def prepare_columns(cell: Cell, node: Node, scorer: CompiledCriterion, space: Workspace) -> None:
    """Ask the criterion for its own columns of the node's objects, and keep them in ``space``; at
    the root twice, as the answer must be the same.
    """
    if scorer.has_columns and space.columns_of_rows:
        rows = space.rows[cell.low : cell.high].astype(np.int64)
        found = scorer.columns(node, space.objects, rows)
        if cell.depth == 0 and not scorer.column_at:
            check_repeatable(scorer, "columns", found, scorer.columns(node, space.objects, rows))
        space.set_own_columns(rows, found)


def list_candidates(
    engines: Sequence[Engine], cell: Cell, scorer: CompiledCriterion, space: Workspace
) -> Iterator[Block]:
    """Yield all candidates of a node with their tables, block by block, numbered through."""
    first = 0
    rows = space.rows[cell.low : cell.high].astype(np.int64)
    state = space.coverage_state if scorer.wants_gain else None
    before = rows if state is None else state.visit(rows)
    prices = (
        space.prices.at(cell.asked, cell.path_cost)
        if getattr(scorer.criterion, "needs_outcome_prices", False)
        else None
    )
    for engine in engines:
        size = 0
        for block in engine.blocks(cell, scorer, first):
            size += block.tables.n_tests
            if prices is not None:
                block = _add_outcome_prices(block, cell, prices)
            feature, of_test = np.unique(block.feature, return_inverse=True)
            position = np.array([engine.position(f) for f in feature.tolist()], np.int64)[of_test]
            block = attrs.evolve(block, tables=add_columns(block.tables, position, space.objects))
            yield block if state is None else _add_gain(block, cell, rows, before, state)
        first += size


def add_columns(tables: Tables, position: np.ndarray, objects: Encoded) -> Tables:
    """Return the tables with the raw column that each test reads; as they are where a predicate
    made the tests.

    position : int64[tests], of the columns in the raw table, −1: made by a predicate.
    """
    return (
        tables
        if (position < 0).any()
        else attrs.evolve(tables, column=position, levels=objects.levels)
    )


def _add_gain(
    block: Block, cell: Cell, rows: np.ndarray, before: np.ndarray, coverage_state: CoverageState
) -> Block:
    """Return the block with what each test adds to the coverage of its outcomes' objects.

    rows : int64[k], objects of the node.
    before : float64[k], 1 − coverage of each.
    """
    n_outcomes = block.tables.weights.shape[1]
    n_tests = block.tables.n_tests
    outcomes = (block.engine.outcomes(cell, block.candidate(i, np.nan)) for i in range(n_tests))
    gain = coverage_state.gains(rows, before, outcomes, n_tests, n_outcomes)
    return attrs.evolve(block, tables=attrs.evolve(block.tables, gain=gain))


def _add_outcome_prices(block: Block, cell: Cell, prices: Prices) -> Block:
    """Return the block with what each outcome of its tests costs."""
    tables = block.tables
    found = np.repeat(tables.price[:, None], tables.weights.shape[1], axis=1)
    for i in range(tables.n_tests) if prices.outcomes is not None else ():
        own = branch_prices(cell, block.candidate(i, np.nan), prices)
        found[i, : len(own)] = own
    return attrs.evolve(block, tables=attrs.evolve(tables, outcome_price=found))


def score_block(block: Block, cell: Cell, node: Node, scorer: CompiledCriterion) -> np.ndarray:
    """Return float64[tests], the criterion's scores of a block; raise ContractError on NaN, naming
    the test.
    """
    scores = scorer.score(block.tables, node)
    if cell.depth == 0 and 0 in block.tables.test[:1]:
        check_repeatable(scorer, "score", scores, scorer.score(block.tables, node))
    check_scores(scorer, scores, lambda i: block.engine.rule(cell, block.candidate(i, np.nan)))
    return scores


def check_scores(
    scorer: CompiledCriterion, scores: np.ndarray, rule_of: Callable[[int], TestRule]
) -> None:
    """Raise ContractError, naming the test, for NaN and +∞, which beats every test and is most
    often a division by zero.

    scores : float64[tests].
    """
    if not (scores < np.inf).all():
        if np.isnan(scores).any():
            raise nan_score_error(scorer, rule_of(int(np.isnan(scores).argmax())))
        rule = rule_of(int(scores.argmax()))
        raise ContractError(
            f"criterion {component_name(scorer.criterion)!r} scored {rule.describe()!r} with "
            "+inf; return a finite score, or −inf to refuse it"
        )


def check_repeatable(
    scorer: CompiledCriterion, method: str, first: np.ndarray, again: np.ndarray
) -> None:
    """Raise ContractError when the same question is answered in two ways.

    Asked once per growth, at its root.   first, again : the two answers of ``method``.
    """
    if not np.array_equal(first, again, equal_nan=True):
        raise ContractError(
            f"criterion {component_name(scorer.criterion)!r}: {method} answers the same question "
            "in two ways, so that no run could be repeated; draw by with_seed(seed) and "
            "tables.test alone, and keep nothing between calls"
        )


def score_candidates(
    engines: Sequence[Engine], cell: Cell, node: Node, scorer: CompiledCriterion, space: Workspace
) -> Iterable[tuple[Block, np.ndarray]]:
    """Score all candidates of a node; return (block, float64[tests]) pairs, finalised where the
    criterion has such a rule; −∞ for what would break the order of predictions.
    """
    found: Iterable[tuple[Block, np.ndarray]] = (
        (block, score_block(block, cell, node, scorer))
        for block in list_candidates(engines, cell, scorer, space)
    )
    if hasattr(scorer.criterion, "finalise_scores"):
        found = finalise_blocks(list(found), node, scorer)
    return found if (order := space.monotone) is None else _refuse_disorder(found, cell, order)


def _refuse_disorder(
    found: Iterable[tuple[Block, np.ndarray]], cell: Cell, order: Monotone
) -> Iterator[tuple[Block, np.ndarray]]:
    """Yield the blocks, with −∞ for tests that would break the order of predictions."""
    for block, scores in found:
        kept = order.allows(block.tables.weights, sure(block.tables.column), cell.bounds)
        yield block, np.where(kept, scores, -np.inf)


def _choose_from_list(
    engines: Sequence[Engine], cell: Cell, node: Node, scorer: CompiledCriterion, space: Workspace
) -> Candidate | None:
    """Return the best of all candidates by listing and scoring them, for criteria in NumPy form;
    None where each is refused (−∞), or there is none.
    """
    best: Candidate | None = None
    floor = scorer.tie_floor(node)
    for block, scores in score_candidates(engines, cell, node, scorer, space):
        if len(scores) == 0 or (highest := scores.max()) == -np.inf:
            continue
        # candidates of a block are in the order of the raw table: the first of the equals is the
        # lowest
        i = int(np.argmax(scores >= equal_from(highest, scorer.ties(node))))
        candidate = block.candidate(i, float(scores[i]))
        best = better_candidate(best, candidate, floor)
    return best


class HasTables(Protocol):
    """Tests with their tables."""

    @property
    def tables(self) -> Tables:
        """Numbered through at a node."""


T = TypeVar("T", bound=HasTables)


def finalise_blocks(
    found: list[tuple[T, np.ndarray]], node: Node, scorer: CompiledCriterion
) -> list[tuple[T, np.ndarray]]:
    """Let the criterion finalise all scores of a node at once, in the order of ``tables.test``;
    return the blocks with their new scores.

    found : (block, float64[tests]) pairs of the node.

    Raises ContractError for another shape, and NaN.
    """
    if not found:
        return found
    number = np.concatenate([block.tables.test for block, _ in found])
    scores = np.empty(len(number))
    scores[number] = np.concatenate([s for _, s in found])
    parts = [scorer.terms(block.tables, node) for block, _ in found]
    terms = {}
    for name in parts[0]:
        terms[name] = np.empty(len(number))
        terms[name][number] = np.concatenate([part[name] for part in parts])
    name = component_name(scorer.criterion)
    finalise = cast(CriterionOptional, scorer.criterion).finalise_scores
    scores = check_array(
        finalise(scores, terms, node), len(number), f"criterion {name!r}: finalise_scores"
    )
    if np.isnan(scores).any():
        raise ContractError(
            f"criterion {name!r}: finalise_scores returned NaN; return −inf to refuse a test"
        )
    return [(block, scores[block.tables.test]) for block, _ in found]
