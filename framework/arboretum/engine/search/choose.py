"""The best test of a node, over all engines."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar, cast

import attrs
import numpy as np

from arboretum.engine.search.coded import better, nan_score
from arboretum.engine.search.compiled_criterion import (
    CompiledCriterion,
    checked_array,
    component_name,
)
from arboretum.engine.search.contract import Block, Candidate, Cell, Engine, branch_prices
from arboretum.engine.search.coverage_state import CoverageState
from arboretum.engine.search.workspace import Workspace
from arboretum.errors import ContractError
from arboretum.interfaces.criterion import CriterionOptional
from arboretum.kernels.tables import equal_from
from arboretum.model.encoded import Encoded, Node, Prices, Tables
from arboretum.model.rules import TestRule


def choose(
    engines: Sequence[Engine], cell: Cell, node: Node, scorer: CompiledCriterion, space: Workspace
) -> Candidate | None:
    """The admissible test with the highest score; among equal scores the lowest test; None if
    there is none.
    """
    prepare_columns(cell, node, scorer, space)
    if scorer.listing:
        return _choose_listed(engines, cell, node, scorer, space)
    best: Candidate | None = None
    for engine in engines:
        found = engine.best(cell, node, scorer)
        if found is not None:
            _check_one(scorer, cell, found)
            best = found if best is None else better(best, found, scorer.tie_floor(node))
    return best


def _check_one(scorer: CompiledCriterion, cell: Cell, found: Candidate) -> None:
    check_scores(scorer, np.array([found.score]), lambda _: found.engine.rule(cell, found))


def prepare_columns(cell: Cell, node: Node, scorer: CompiledCriterion, space: Workspace) -> None:
    """Ask the criterion for its own columns of the node's objects."""
    if scorer.has_columns:
        rows = space.rows[cell.low : cell.high].astype(np.int64)
        found = scorer.columns(node, space.objects, rows)
        if cell.depth == 0 and not scorer.column_at:
            check_steady(scorer, "columns", found, scorer.columns(node, space.objects, rows))
        space.set_extra(rows, found)


def listed(
    engines: Sequence[Engine], cell: Cell, scorer: CompiledCriterion, space: Workspace
) -> Iterator[Block]:
    """All candidates of a node with their tables, block by block, numbered through."""
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
                block = _with_prices(block, cell, prices)
            feature, of_test = np.unique(block.feature, return_inverse=True)
            position = np.array([engine.position(f) for f in feature.tolist()], np.int64)[of_test]
            block = attrs.evolve(block, tables=with_columns(block.tables, position, space.objects))
            yield block if state is None else _with_gain(block, cell, rows, before, state)
        first += size


def with_columns(tables: Tables, position: np.ndarray, objects: Encoded) -> Tables:
    """The same tables with the raw column that each test reads, by its position; −1: a predicate
    made the tests.
    """
    return (
        tables
        if (position < 0).any()
        else attrs.evolve(tables, column=position, levels=objects.levels)
    )


def _with_gain(
    block: Block, cell: Cell, rows: np.ndarray, before: np.ndarray, coverage_state: CoverageState
) -> Block:
    """The same tests with what each adds to the coverage of its outcomes' objects."""
    n_outcomes = block.tables.weights.shape[1]
    n_tests = block.tables.n_tests
    outcomes = (block.engine.outcomes(cell, block.candidate(i, np.nan)) for i in range(n_tests))
    gain = coverage_state.gains(rows, before, outcomes, n_tests, n_outcomes)
    return attrs.evolve(block, tables=attrs.evolve(block.tables, gain=gain))


def _with_prices(block: Block, cell: Cell, prices: Prices) -> Block:
    """The same tests with what each outcome costs."""
    tables = block.tables
    found = np.repeat(tables.price[:, None], tables.weights.shape[1], axis=1)
    for i in range(tables.n_tests) if prices.outcomes is not None else ():
        own = branch_prices(cell, block.candidate(i, np.nan), prices)
        found[i, : len(own)] = own
    return attrs.evolve(block, tables=attrs.evolve(tables, outcome_price=found))


def scored(block: Block, cell: Cell, node: Node, scorer: CompiledCriterion) -> np.ndarray:
    """float64[tests]: the criterion's scores of a block; raises ContractError on NaN, naming the
    test.
    """
    scores = scorer.score(block.tables, node)
    if cell.depth == 0 and 0 in block.tables.test[:1]:
        check_steady(scorer, "score", scores, scorer.score(block.tables, node))
    check_scores(scorer, scores, lambda i: block.engine.rule(cell, block.candidate(i, np.nan)))
    return scores


def check_scores(
    scorer: CompiledCriterion, scores: np.ndarray, rule_of: Callable[[int], TestRule]
) -> None:
    """Raise ContractError, naming the test, for NaN and +∞, which beats every test and is most
    often a division by zero.
    """
    if not (scores < np.inf).all():
        if np.isnan(scores).any():
            raise nan_score(scorer, rule_of(int(np.isnan(scores).argmax())))
        rule = rule_of(int(scores.argmax()))
        msg = (
            f"criterion {component_name(scorer.criterion)!r} scored {rule.describe()!r} with "
            "+inf; return a finite score, or −inf to refuse it"
        )
        raise ContractError(msg)


def check_steady(
    scorer: CompiledCriterion, method: str, first: np.ndarray, again: np.ndarray
) -> None:
    """Raise ContractError when the same question is answered in two ways.  Asked once per
    growth, at its root.
    """
    if not np.array_equal(first, again, equal_nan=True):
        msg = (
            f"criterion {component_name(scorer.criterion)!r}: {method} answers the same question "
            "in two ways"
        )
        way = "draw by with_seed(seed) and tables.test alone, and keep nothing between calls"
        raise ContractError(f"{msg}, so that no run could be repeated; {way}")


def every_score(
    engines: Sequence[Engine], cell: Cell, node: Node, scorer: CompiledCriterion, space: Workspace
) -> Iterable[tuple[Block, np.ndarray]]:
    """All candidates of a node with their scores, finalised where the criterion has such a rule."""
    found = (
        (block, scored(block, cell, node, scorer)) for block in listed(engines, cell, scorer, space)
    )
    return (
        finalised(list(found), node, scorer)
        if hasattr(scorer.criterion, "finalise_scores")
        else found
    )


def _choose_listed(
    engines: Sequence[Engine], cell: Cell, node: Node, scorer: CompiledCriterion, space: Workspace
) -> Candidate | None:
    best: Candidate | None = None
    floor = scorer.tie_floor(node)
    for block, scores in every_score(engines, cell, node, scorer, space):
        if len(scores) == 0 or (highest := scores.max()) == -np.inf:
            continue
        # candidates of a block are in the order of the raw table: the first of the equals is the
        # lowest
        i = int(np.argmax(scores >= equal_from(highest, scorer.ties(node))))
        candidate = block.candidate(i, float(scores[i]))
        best = candidate if best is None else better(best, candidate, floor)
    return best


class Tabled(Protocol):
    """Tests with their tables."""

    @property
    def tables(self) -> Tables:
        """Numbered through at a node."""


T = TypeVar("T", bound=Tabled)


def finalised(
    found: list[tuple[T, np.ndarray]], node: Node, scorer: CompiledCriterion
) -> list[tuple[T, np.ndarray]]:
    """Let the criterion look at all scores of the node at once, in the order of ``tables.test``."""
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
    scores = checked_array(
        finalise(scores, terms, node), len(number), f"criterion {name!r}: finalise_scores"
    )
    if np.isnan(scores).any():
        raise ContractError(
            f"criterion {name!r}: finalise_scores returned NaN; return −inf to refuse a test"
        )
    return [(block, scores[block.tables.test]) for block, _ in found]
