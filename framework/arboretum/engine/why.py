"""Why this test at that node?  Every candidate's contingency table, score and named terms: a
criterion author's debugger.
"""

from collections.abc import Mapping

import attrs
import numpy as np

from arboretum.engine.check import label
from arboretum.engine.search.choose import prepare_columns, score_candidates
from arboretum.engine.search.fractional import without_gaps
from arboretum.engine.search.growth import Growth, Open
from arboretum.errors import CapabilityError, ContractError, DataError, blaming, sure
from arboretum.interfaces.method import Context, Problem
from arboretum.model.digits import legible
from arboretum.model.encoded import Node
from arboretum.model.rules import TestRule
from arboretum.model.tree import Tree


@attrs.frozen(eq=False)
class ScoredTest:
    """One candidate test.

    weights : float64[outcomes, classes], or moments.
    counts : int64[outcomes, classes], or int64[outcomes, 1].
    score : −inf where the criterion refuses the test.
    terms : name → number.
    chosen : the loop took it.
    """

    rule: TestRule
    weights: np.ndarray
    counts: np.ndarray
    price: float
    score: float
    terms: Mapping[str, float]
    chosen: bool


@attrs.frozen(eq=False)
class Reasons:
    """A node as the search loop saw it.

    plan : which way the whole tree was grown, and why not a faster one, a line each.
    reason_to_stop : why it is a leaf although tests compete ("" when it was divided).
    candidates : by score, highest first; equal scores in the order of the tests.
    """

    node: Node
    plan: tuple[str, ...]
    reason_to_stop: str
    candidates: tuple[ScoredTest, ...]


@blaming()
def reasons(problem: Problem, tree: Tree, node: int, seed: int) -> Reasons:
    """Grow again along the path to a node and score all its candidates.

    problem : what the tree was grown from.
    node : number in the tree.

    Raises DataError (no such node), CapabilityError (not grown by a criterion), ContractError when
    the growth takes another test on the way: then code or data are not what they were.
    """
    if not 0 <= node < tree.n_nodes:
        raise DataError(f"node must be 0 … {tree.n_nodes - 1} (0 is the root); got {node}")
    if problem.parts.criterion is None:
        raise CapabilityError(
            f"{label(problem.parts.method)} has no criterion; why explains greedy growth only"
        )
    problem = without_gaps(problem)
    if problem.parts.fractional_rows:
        raise CapabilityError(
            f"the tree was grown by shares (missing={sure(problem.parts.missing).name}); why "
            "explains missing=better_side only"
        )
    if not getattr(problem.parts.method, "by_node", True):
        raise CapabilityError(
            f"{label(problem.parts.method)} chooses no test by its node's table alone; "
            "why explains greedy growth only"
        )
    growth = Growth.of_run(problem, Context(seed=seed))
    plan = growth.plan  # engines that list every candidate: bounds would skip those that cannot win
    growth.plan = plan.without_bins
    item = growth.evaluate(growth.root())
    for above, outcome in tree.path(node):
        item = _grow_child(growth, item, tree, above, outcome)
    chosen = None if tree.is_leaf[node] else tree.rule(node)
    if chosen is not None:
        growth.score(item)  # where columns are drawn, as many compete as it took
    return Reasons(
        item.node,
        plan.lines,
        "" if chosen else _explain_leaf(growth, item),
        _score_all_tests(growth, item, chosen),
    )


def _grow_child(growth: Growth, item: Open, tree: Tree, above: int, outcome: int) -> Open:
    """Grow one level further, to the child of node ``above`` with that outcome; raises
    ContractError where growing again divides the node by another test than the tree's.
    """
    growth.score(item)
    expected, cell, candidate = tree.rule(above), item.cell, item.candidate
    if candidate is None or (found := candidate.engine.rule(cell, candidate)) != expected:
        got = "none" if candidate is None else found.describe()
        raise ContractError(
            f"node {above} was divided by {expected.describe()!r}, but growing again takes "
            f"{got!r}; code or data have changed"
        )
    # an outcome without objects has no child
    present = np.unique(candidate.engine.outcomes(cell, candidate))
    return growth.split_node(item)[int((present < outcome).sum())]


def _explain_leaf(growth: Growth, item: Open) -> str:
    """Return why a node is a leaf: the stopping rule, the limit or the budget, as a sentence."""
    if rule := growth.reason_to_stop(item):
        return rule
    growth.score(item)
    if item.candidate is None:
        if rule := growth.reason_to_refuse(item):
            return rule
        limits = growth.limits
        cell = item.cell
        prices = growth.space.prices.at(item.cell.asked, item.cell.path_cost)
        if np.isinf(
            growth.space.payable_prices(np.concatenate([prices.tests, prices.raw]), cell)
        ).any():
            left = max(0.0, sure(limits.max_cost) - cell.path_cost)
            return f"max_cost {limits.max_cost:g} leaves {left:g}, and no test costs that little"
        return (
            "no admissible test is left"
            if limits.min_decrease is None
            else "no test's score is above min_decrease"
        )
    return "the budget of leaves was spent elsewhere, or it was pruned"


def _score_all_tests(growth: Growth, item: Open, chosen: TestRule | None) -> tuple[ScoredTest, ...]:
    """Return all tests of a node with their tables, prices, scores and terms, the best first.

    chosen : the tree's test there, None at a leaf.
    """
    cell, node, scorer = item.cell, item.node, growth.scorer
    prepare_columns(cell, node, scorer, growth.space)
    if scorer.wants_gain:
        rows = growth.space.rows[cell.low : cell.high].astype(np.int64)
        state = sure(growth.space.coverage_state)
        node = attrs.evolve(node, coverage=state.mean(rows, state.left(rows)))
    found = []
    for block, scores in score_candidates(growth.engines, cell, node, scorer, growth.space):
        tables, terms = block.tables, scorer.terms(block.tables, node)
        for i, score in enumerate(scores.tolist()):
            rule = block.engine.rule(cell, block.candidate(i, score))
            reported = {name: float(values[i]) for name, values in terms.items()}
            found.append(
                ScoredTest(
                    rule=rule,
                    weights=tables.weights[i],
                    counts=tables.counts[i],
                    price=float(tables.price[i]),
                    score=score,
                    terms=reported,
                    chosen=rule == chosen,
                )
            )
    rules = legible([one.rule for one in found], growth.space.objects.table)
    return tuple(
        sorted(
            map(lambda one, rule: attrs.evolve(one, rule=rule), found, rules),
            key=lambda one: -one.score,
        )
    )
