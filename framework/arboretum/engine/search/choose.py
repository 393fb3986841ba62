"""The best test of a node, over all engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import numpy as np

from arboretum.engine.search.coded import better, nan_score
from arboretum.engine.search.contract import Block, Candidate, Cell, Engine, branch_prices
from arboretum.engine.search.coverage_state import CoverageState
from arboretum.engine.search.compiled_criterion import TIE_TOLERANCE, CompiledCriterion, checked_array, component_name
from arboretum.engine.search.workspace import Workspace
from arboretum.errors import ContractError
from arboretum.model.encoded import Node, Prices


def choose(engines: Sequence[Engine], cell: Cell, node: Node, scorer: CompiledCriterion, space: Workspace) -> Candidate | None:
    """The admissible test with the highest score; among equal scores the lowest test; None if there is none."""
    prepare_columns(cell, node, scorer, space)
    if scorer.listing:
        return _choose_listed(engines, cell, node, scorer, space)
    best: Candidate | None = None
    for engine in engines:
        found = engine.best(cell, node, scorer)
        if found is not None:
            best = found if best is None else better(best, found, scorer.tie_floor(node))
    if best is not None and best.score == np.inf:
        raise infinite_score(scorer, best.engine.rule(cell, best).describe())
    return best


def prepare_columns(cell: Cell, node: Node, scorer: CompiledCriterion, space: Workspace) -> None:
    """Ask the criterion for its own columns of the node's objects."""
    if scorer.has_columns:
        rows = space.rows[cell.low : cell.high].astype(np.int64)
        found = scorer.columns(node, space.objects, rows)
        if cell.depth == 0 and not scorer.column_at:
            check_steady(scorer, "columns", found, scorer.columns(node, space.objects, rows))
        space.set_extra(rows, found)


MERGED_ENTRIES = 1 << 16
"""Table entries up to which the blocks of neighbouring columns become one: half a megabyte of weights.

A NumPy criterion costs some 50 µs per call whatever the number of tests; a small node has few tests per column.
"""


def listed(engines: Sequence[Engine], cell: Cell, scorer: CompiledCriterion, space: Workspace) -> Iterator[Block]:
    """All candidates of a node with their tables, block by block, numbered through."""
    first = 0
    rows = space.rows[cell.low : cell.high].astype(np.int64) if scorer.wants_gain else None
    before = None if rows is None else space.coverage_state.visit(rows)
    prices = space.prices.at(cell.asked, cell.paid) if getattr(scorer.criterion, "needs_outcome_prices", False) else None
    for engine in engines:
        size = 0
        for block in merged(engine.blocks(cell, scorer, first)):
            size += block.tables.n_tests
            if prices is not None:
                block = _with_prices(block, cell, prices)
            yield block if rows is None else _with_gain(block, cell, rows, before, space.coverage_state)
        first += size


def _with_gain(block: Block, cell: Cell, rows: np.ndarray, before: np.ndarray, coverage_state: CoverageState) -> Block:
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


def merged(blocks: Iterator[Block]) -> Iterator[Block]:
    """The same candidates in fewer blocks, in the order of the raw table within each."""
    waiting: list[Block] = []
    entries = 0
    for block in blocks:
        size = block.tables.weights.size
        if waiting and not (entries + size <= MERGED_ENTRIES and _continues(waiting[-1], block)):
            yield _joined(waiting)
            waiting, entries = [], 0
        if block.tables.n_tests:
            waiting.append(block)
            entries += size
    if waiting:
        yield _joined(waiting)


def _continues(block: Block, other: Block) -> bool:
    """Whether tables of the same form follow, further on in the raw table."""
    if block.tables.weights.shape[1:] != other.tables.weights.shape[1:] or not other.tables.n_tests:
        return False
    return block.candidate(-1, 0.0).place <= other.candidate(0, 0.0).place


def _joined(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    join = lambda name, items: np.concatenate([getattr(item, name) for item in items])  # noqa: E731
    tables = [block.tables for block in blocks]
    names = ("weights", "counts", "price", "extra", "test")
    whole = attrs.evolve(tables[0], **{name: join(name, tables) for name in names})
    return Block(blocks[0].engine, whole, *(join(name, blocks) for name in ("feature", "index", "side")))


def scored(block: Block, cell: Cell, node: Node, scorer: CompiledCriterion) -> np.ndarray:
    """float64[tests]: the criterion's scores of a block; raises ContractError on NaN, naming the test."""
    scores = scorer.score(block.tables, node)
    if cell.depth == 0 and 0 in block.tables.test[:1]:
        check_steady(scorer, "score", scores, scorer.score(block.tables, node))
    bad = np.flatnonzero(np.isnan(scores))
    if len(bad):
        raise nan_score(scorer, block.engine.rule(cell, block.candidate(int(bad[0]), np.nan)))
    if np.isposinf(scores).any():
        rule = block.engine.rule(cell, block.candidate(int(scores.argmax()), np.inf))
        raise infinite_score(scorer, rule.describe())
    return scores


def check_steady(scorer: CompiledCriterion, method: str, first: np.ndarray, again: np.ndarray) -> None:
    """Raise ContractError when the same question is answered in two ways.  Asked once per growth, at its root."""
    if not np.array_equal(first, again, equal_nan=True):
        msg = (
            f"criterion {component_name(scorer.criterion)!r}: {method} answers the same question in two ways, so that no run could be "
            "repeated; draw by with_seed(seed) and tables.test alone, and keep nothing between calls"
        )
        raise ContractError(msg)


def infinite_score(scorer: CompiledCriterion, test: str) -> ContractError:
    """+∞ beats every test and ties with itself only: it is a mistake, most often a division by zero."""
    msg = f"criterion {component_name(scorer.criterion)!r} scored {test!r} with +inf; return a finite score, or −inf to refuse it"
    return ContractError(msg)


def _choose_listed(
    engines: Sequence[Engine], cell: Cell, node: Node, scorer: CompiledCriterion, space: Workspace
) -> Candidate | None:
    found = ((block, scored(block, cell, node, scorer)) for block in listed(engines, cell, scorer, space))
    if hasattr(scorer.criterion, "settle"):
        found = _settled(list(found), node, scorer)
    best: Candidate | None = None
    floor = scorer.tie_floor(node)
    for block, scores in found:
        if len(scores) == 0 or (highest := scores.max()) == -np.inf:
            continue
        # candidates of a block are in the order of the raw table: the first of the equals is the lowest
        equal = scores >= highest - max(TIE_TOLERANCE * abs(highest), floor)
        i = int(np.argmax(equal))
        candidate = block.candidate(i, float(scores[i]))
        best = candidate if best is None else better(best, candidate, floor)
    return best


def _settled(found: list[tuple[Block, np.ndarray]], node: Node, scorer: CompiledCriterion) -> list[tuple[Block, np.ndarray]]:
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
    scores = checked_array(scorer.criterion.settle(scores, terms, node), len(number), f"criterion {name!r}: settle")
    if np.isnan(scores).any():
        msg = f"criterion {name!r}: settle returned NaN; return −inf to refuse a test"
        raise ContractError(msg)
    return [(block, scores[block.tables.test]) for block, _ in found]
